"""May one more query be paid? Privacy filters: exact sums of public charges and one test per accountant.

A filter decides before the release, from public numbers alone, while the analyst is free to choose every next
query and price after having seen all earlier answers. Its state is three sums and a flag, so a decision costs
the same after ten queries and after a million.

Everything is an exact rational. Two things are rounded, upwards: a Renyi divergence to a multiple of 2**-64,
and a number whose denominator has more than a thousand bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, PrivacyLoss, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, BudgetExceededError

Exact = Fraction | int
_RENYI_BITS = 64
_LONGEST = 1024  # bits of a denominator; keeps sums short when prices are thirds, sevenths, elevenths, ...


@dataclass(frozen=True)
class Charge:
    """The public triple of one query.

    Outside an event of probability `delta` the privacy loss is at most `epsilon` (None: not bounded, Gaussian
    noise) and the Renyi divergence of the filter's order at most `renyi`, both for the same event. The pure
    filter does not count `renyi` and leaves it 0.
    """

    epsilon: Fraction | None
    renyi: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        least = 0 if self.epsilon is None else self.epsilon.numerator
        if least < 0 or self.renyi.numerator < 0 or self.delta.numerator < 0:
            raise ArgumentValueError("a charge cannot be negative: nothing is ever paid back")

    def to_text(self) -> str:
        """Write it exactly, for the ledger."""
        return f"{'inf' if self.epsilon is None else self.epsilon} {self.renyi} {self.delta}"

    @classmethod
    def from_text(cls, text: str) -> Charge:
        """Read what `to_text` wrote."""
        epsilon, renyi, delta = text.split(" ")
        return cls(None if epsilon == "inf" else Fraction(epsilon), Fraction(renyi), Fraction(delta))


@dataclass(frozen=True)
class State:
    """Sums over every admitted charge, whichever test admitted it.

    `epsilon` sums the finite ones; once a charge had none, `unbounded` is set and that sum bounds nothing.
    """

    epsilon: Fraction
    unbounded: bool
    renyi: Fraction
    delta: Fraction

    @classmethod
    def zero(cls) -> State:
        """Nothing spent."""
        return cls(Fraction(0), False, Fraction(0), Fraction(0))

    def plus(self, charge: Charge) -> State:
        """Add a charge to all sums."""
        return State(
            self.epsilon if charge.epsilon is None else _shorten(self.epsilon + charge.epsilon),
            self.unbounded or charge.epsilon is None,
            self.renyi + charge.renyi if charge.renyi else self.renyi,
            _shorten(self.delta + charge.delta) if charge.delta else self.delta,
        )

    def to_text(self) -> str:
        """Write it exactly, for the ledger."""
        return f"{self.epsilon} {self.unbounded:d} {self.renyi} {self.delta}"

    @classmethod
    def from_text(cls, text: str) -> State:
        """Read what `to_text` wrote."""
        epsilon, unbounded, renyi, delta = text.split(" ")
        return cls(Fraction(epsilon), unbounded == "1", Fraction(renyi), Fraction(delta))


@dataclass(frozen=True)
class Budget:
    """What was opened: the promised total and how it is counted. Made by `Budget.of`, which checks the terms.

    `delta_reserved` is the part of `delta` that queries may be charged (key discovery, smooth noise); the
    rest belongs to the conversion of the Renyi divergence. `accountant` is ``"pure"`` or ``"hybrid"``.
    """

    epsilon: Fraction
    delta: Fraction
    delta_reserved: Fraction
    accountant: str

    @classmethod
    def of(
        cls, epsilon: Exact, delta: Exact = 0, delta_reserved: Exact | None = None, accountant: str = "auto"
    ) -> Budget:
        """Check the terms of a budget and fill in the defaults.

        Parameters
        ----------
        epsilon : Fraction or int
            Total, positive and at most 1,000,000.
        delta : Fraction or int, default 0
            Total, in [0, 1).
        delta_reserved : Fraction or int, optional
            Between 0 and delta, both excluded; default delta / 10, which costs 1 % of the Renyi budget.
        accountant : {"auto", "pure", "hybrid"}
            ``auto``: pure when delta is 0, else hybrid.

        Raises
        ------
        ArgumentValueError, ArgumentTypeError
            With the line to type instead.
        """
        total, slack = _exact(epsilon, "epsilon"), _exact(delta, "delta")
        reserved = slack / 10 if delta_reserved is None else _exact(delta_reserved, "delta_reserved")
        if not 0 < total <= LARGEST_EPSILON:
            raise ArgumentValueError(f"epsilon= must lie above 0, up to {LARGEST_EPSILON}: type epsilon=3")
        if not 0 <= slack < 1:
            raise ArgumentValueError("delta= must be at least 0 and below 1: type delta=1e-6")
        if accountant not in ("auto", "pure", "hybrid"):
            raise ArgumentValueError("accountant= is not a known one: type 'auto', 'pure' or 'hybrid'")
        if accountant == "pure" and slack > 0:
            raise ArgumentValueError("accountant='pure' has no use for a delta: type delta=0, or 'hybrid'")
        if accountant == "hybrid" and slack == 0:
            raise ArgumentValueError("accountant='hybrid' needs a delta: type delta=1e-6, or 'pure'")
        if slack == 0 and reserved != 0:
            raise ArgumentValueError("delta_reserved= is a part of delta, and delta is 0: type delta=1e-6")
        if slack > 0 and not 0 < reserved < slack:
            raise ArgumentValueError(
                f"delta_reserved= must lie between 0 and delta: type delta_reserved={_say(slack / 10)}"
            )
        return cls(total, slack, reserved, "hybrid" if slack else "pure")


class PureFilter:
    """Admit as long as the epsilons sum to at most the total.

    Notes
    -----
    Everything admitted is (epsilon, 0)-differentially private. Proof: fix neighbouring tables. The density of
    a transcript is a product over its rounds of the density of the answer given the past; what the analyst
    does in between depends on the past alone and cancels in the ratio. The factor of round i is at most
    exp(epsilon_i), and on every transcript these sum to at most the total, for a query beyond it is refused,
    which is again a function of the past. (Rogers, Roth, Ullman, Vadhan 2016.)
    """

    order: Fraction | None = None

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def charge(self, loss: PrivacyLoss) -> Charge:
        """Turn the loss of a query into its public charge."""
        epsilon = loss.epsilon
        return Charge(None if epsilon is None else _shorten(epsilon), Fraction(0), _shorten(loss.delta))

    def admit(self, state: State, charge: Charge) -> State | None:
        """Return the state after the charge, or None when the budget does not pay it."""
        after = state.plus(charge)
        fits = not after.unbounded and after.epsilon <= self.budget.epsilon and after.delta == 0
        return after if fits else None

    def refusal(self, state: State, asked: str, charge: Charge) -> BudgetExceededError:
        """Build the error for a charge that was not admitted; `asked` is its price as typed."""
        rest = self.budget.epsilon - state.epsilon
        currency, fits = "epsilon", _would_fit([f"epsilon={_say(rest)}"] if rest >= SMALLEST_EPSILON else [])
        if charge.epsilon is None or charge.delta > 0:
            currency = "delta"
            fits = (
                "This session has delta=0, so Gaussian noise and key discovery cannot be paid: leave out delta= "
                f"and rho= ({fits}), or give it a delta: df.dp.session.extend(to_delta=1e-6, reason='...')"
            )
        return BudgetExceededError(asked, self.spent(state), self.left(state), currency, fits)

    def spent(self, state: State) -> str:
        """Say what is spent."""
        return _sum(state)

    def left(self, state: State) -> str:
        """Say what is left."""
        return _tell("epsilon", self.budget.epsilon - state.epsilon)


class HybridFilter:
    """Admit while the deltas fit and either the epsilons or the Renyi divergences do.

    When the budget is opened, delta is split into d (``delta_reserved``) and the rest z, and one Renyi order
    a > 1 is fixed. The budget of Renyi divergence is

        L = epsilon + ln(a / (a - 1)) + ln(a z) / (a - 1).

    A charge (e, r, t) says: outside an event of probability t the loss is at most e and the Renyi divergence
    of order a at most r. E, R, T are the sums over *every* admitted charge; e, E may be infinite. The rule:

        admit  iff  T + t <= d  and  (E + e <= epsilon  or  R + r <= L).

    Parameters
    ----------
    budget : Budget
        With a positive delta.
    order : Fraction, optional
        The order that was fixed at the opening. None: about the one that pays for the most Gaussian noise.

    Notes
    -----
    *Claim.* For all adaptive choices of queries, of prices and of the moment to stop, everything admitted is
    together (epsilon, delta)-differentially private. *Proof.* Fix neighbouring tables x, x'. We bound
    P_x(S) - exp(epsilon) P_x'(S) for all sets S of transcripts; exchanging the tables gives the other side.

    1. *One draw per admitted query.* By the meaning of a charge the answer is distributed, given the past, as
       a function of one draw from (1 - t) U + t V under x and from (1 - t) U' + t V' under x', where
       ln(dU/dU') <= e everywhere and D_a(U || U') <= r; V and V' may reveal the whole table. This also holds
       for a query that goes on interactively, if it has a finite epsilon: it is a post-processing of one draw
       at its opening (Vadhan, Wang 2021; Lyu 2022), so it is charged in full there. All else, the analyst's
       choices and the refusals, is a function of earlier answers and of coins that do not look at the table.
    2. *Set the reveals aside.* Round i reveals with probability t_i given the past, and on every path the t_i
       sum to at most d, so the paths with a reveal have mass at most d under x. On the others both densities
       are those of the run without reveals (always U, or U') times the product of the (1 - t_i), the same
       public number in [0, 1]. Hence P_x(S) - exp(epsilon) P_x'(S) <= d + H, where p and p' are the densities
       of the run without reveals and H integrates the positive part of p - exp(epsilon) p'. To show: H <= z.
    3. *Transcripts that end with R > L.* The charge that carried R past L was refused by the second test, so
       the first admitted it. R never falls, so the second test refuses all later charges too, and the first
       admitted them. So E, which counts every charge from the beginning, ended at most epsilon, and there
       p / p' <= exp(E) <= exp(epsilon) pointwise: these transcripts add nothing to H.
    4. *All other transcripts.* On them R never passed L, so their densities are those of another run, which
       halts where the next charge would carry R past L; call them q and q'. In that run the process
       (q / q')^(a - 1) exp(-(a - 1) R), looked at after each round, is a supermartingale under q: given the
       past, the factor of a round has expectation exp((a - 1) D_a(U || U')) exp(-(a - 1) r) <= 1. It starts
       at 1, and R ends at most L, so (q / q')^(a - 1) has expectation at most exp((a - 1) L).
    5. *From order a to (epsilon, z).* For all y > 0, 1 - exp(epsilon) / y <= c y^(a - 1) with
       c = (1/a) (1 - 1/a)^(a - 1) exp(-(a - 1) epsilon): the left side times y^(1 - a) is largest at
       y = exp(epsilon) a / (a - 1). With y = q / q', these transcripts add at most c exp((a - 1) L) to H,
       which is z by the choice of L. Steps 2 to 5 give d + z = delta.

    Two filters joined by "or" are not a filter in general. It works here because E bounds the loss pointwise
    and because each sum counts all charges: if R left out those admitted by the first test, step 4 would
    fail; if E left out those without a finite epsilon, step 3 would; if z were what the queries happen to
    leave of delta, L would not be a constant.

    Every order gives a valid filter, but it must stay what it was at the first charge, for divergences of two
    orders do not add up: the ledger records it. (Conversion: Canonne, Kamath, Steinke 2020. One fixed order
    as a filter: Feldman, Zrnic 2021.)
    """

    def __init__(self, budget: Budget, order: Fraction | None = None) -> None:
        conversion = budget.delta - budget.delta_reserved
        self.budget = budget
        self.order = best_order(budget.epsilon, conversion) if order is None else order
        self.limit = renyi_limit(budget.epsilon, conversion, self.order)

    def charge(self, loss: PrivacyLoss) -> Charge:
        """Turn the loss of a query into its public charge at this filter's order."""
        epsilon, renyi = loss.epsilon, loss.renyi(self.order)
        up = Fraction(-(-(renyi.numerator << _RENYI_BITS) // renyi.denominator), 1 << _RENYI_BITS)
        return Charge(None if epsilon is None else _shorten(epsilon), up, _shorten(loss.delta))

    def admit(self, state: State, charge: Charge) -> State | None:
        """Return the state after the charge, or None when the budget does not pay it."""
        after = state.plus(charge)
        if after.delta > self.budget.delta_reserved:
            return None
        by_sum = not after.unbounded and after.epsilon <= self.budget.epsilon
        return after if by_sum or after.renyi <= self.limit else None

    def refusal(self, state: State, asked: str, charge: Charge) -> BudgetExceededError:
        """Build the error for a charge that was not admitted; `asked` is its price as typed."""
        rest, gaussian = self.budget.delta_reserved - state.delta, charge.epsilon is None
        rho, epsilon = _three_digits((self.limit - state.renyi) / self.order), self._largest_epsilon(state)
        offers = [f"rho={_say(rho)}"] if gaussian and rho > 0 else []
        if epsilon >= SMALLEST_EPSILON:
            offers.append(f"epsilon={_say(epsilon)}" + (" without delta= and rho=" if gaussian else ""))
        fits = _would_fit(offers)
        currency = "Renyi divergence" if gaussian or state.unbounded else "epsilon"
        if charge.delta > rest:
            currency = "delta"
            fits += " in a query that needs no delta" if offers else ""
            fits += f"; of the delta reserved for key discovery and smooth noise {_say(rest)} is left"
        return BudgetExceededError(asked, self.spent(state), self.left(state), currency, fits)

    def spent(self, state: State) -> str:
        """Say what is spent."""
        more = [("Renyi divergence", state.renyi), ("delta", state.delta)]
        return ", ".join([_sum(state), *(_tell(name, x) for name, x in more if x)])

    def left(self, state: State) -> str:
        """Say what is left: of the epsilons or of the Renyi divergence, and of the reserved delta."""
        by_sum = "" if state.unbounded else _tell("epsilon", self.budget.epsilon - state.epsilon) + " or "
        delta = _tell("reserved delta", self.budget.delta_reserved - state.delta)
        return f"{by_sum}{_tell('Renyi divergence', self.limit - state.renyi)}, {delta}"

    def _largest_epsilon(self, state: State) -> Fraction:
        """Largest epsilon that a pure query may still ask, as one would type it; 0 when none."""
        by_sum = Fraction(0) if state.unbounded else self.budget.epsilon - state.epsilon
        rest, low, high = self.limit - state.renyi, float(SMALLEST_EPSILON) / 2, float(LARGEST_EPSILON)
        for _ in range(64):
            middle = math.sqrt(low * high)
            fits = self.charge(PrivacyLoss.pure(Fraction(middle))).renyi <= rest
            low, high = (middle, high) if fits else (low, middle)
        return max(by_sum, _three_digits(Fraction(low)))


Filter = PureFilter | HybridFilter


@lru_cache(maxsize=256)
def filter_for(budget: Budget, order: Fraction | None = None) -> Filter:
    """Return the filter of a budget; `order` is the one on record when the budget was opened earlier."""
    return PureFilter(budget) if budget.accountant == "pure" else HybridFilter(budget, order)


def renyi_limit(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """Largest Renyi divergence of this order that implies (epsilon, delta), rounded down; never below 0.

    For all orders above 1: epsilon - ln(1 - 1/order) + ln(order delta) / (order - 1). (Divergence 0 means
    equal distributions, so 0 is sound where the formula is negative.)
    """
    with localcontext(Context(prec=50, Emin=MIN_EMIN, Emax=MAX_EMAX)):
        per_order = 1 / _decimal(order - 1)
        logs = -_decimal((order - 1) / order).ln(), _decimal(order * delta).ln() * per_order
        terms = (_decimal(epsilon), *logs)
        # Fewer than ten roundings, each below 1e-49 of its term, or (in a logarithm) of 1 or 1/(order-1).
        slack = (sum(abs(term) for term in terms) + 1 + per_order) * Decimal("1e-45")
        limit = Fraction(sum(terms) - slack)
    return max(Fraction(0), Fraction(math.floor(limit * 2**_RENYI_BITS), 2**_RENYI_BITS))


def best_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find an order at which renyi_limit / order, the budget of zCDP, is about largest.

    Floats only propose: every order is valid, and the limit is computed exactly for the one returned.
    """
    total, log_delta = float(epsilon), math.log(delta.numerator) - math.log(delta.denominator)

    def rho(exponent: float) -> float:  # at the order 1 + t
        t = math.exp2(exponent)
        return (total + math.log1p(1 / t) + (math.log1p(t) + log_delta) / t) / (1 + t)

    coarse = max(range(-20, 61), key=rho)
    mantissa, power = math.frexp(math.exp2(max((coarse + step / 64 for step in range(-64, 65)), key=rho)))
    return 1 + round(mantissa * 2**16) * Fraction(2) ** (power - 16)  # 16 digits: short on record


def _exact(x: Fraction | int, argument: str) -> Fraction:
    if isinstance(x, bool) or not isinstance(x, int | Fraction):
        raise ArgumentTypeError(f"{argument}= must be exact here: type Fraction('0.1') for 0.1")
    if Fraction(x).denominator.bit_length() > _LONGEST:
        raise ArgumentValueError(f"{argument}= has too many digits: type at most 300 decimals")
    return Fraction(x)


def _shorten(x: Fraction) -> Fraction:
    """Return x itself, or, when its denominator is very long, the next multiple of 2**-1024 above."""
    if x.denominator.bit_length() <= _LONGEST:
        return x
    return Fraction(-(-(x.numerator << _LONGEST) // x.denominator), 1 << _LONGEST)


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def _three_digits(x: Fraction) -> Fraction:
    """Round down to three significant digits, which one would type; 0 for what is negative."""
    down = Context(prec=3, rounding=ROUND_FLOOR)
    return Fraction(down.divide(Decimal(x.numerator), Decimal(x.denominator))) if x > 0 else Fraction(0)


def _say(x: Fraction) -> str:
    """Write a rational as a decimal: exactly when it has at most 12 places, else rounded down to 3 digits."""
    y = x if x >= 0 and 10**12 % x.denominator == 0 else _three_digits(x)
    return show(y) if y == 0 or y >= Fraction(1, 10**4) else f"{float(y):.12g}"


def _tell(name: str, x: Fraction) -> str:
    """Write a sum honestly: exactly as a short decimal or fraction, else rounded down and saying so."""
    if x > 0 and x.denominator < 1000:
        return f"{name}={show(x)}"
    return name + ("=" if x <= 0 or 10**12 % x.denominator == 0 else " about ") + _say(x)


def _sum(state: State) -> str:
    return _tell("epsilon", state.epsilon) + (" beside Gaussian noise" if state.unbounded else "")


def _would_fit(offers: list[str]) -> str:
    return " or ".join(offers) + " would fit" if offers else "nothing fits any more"

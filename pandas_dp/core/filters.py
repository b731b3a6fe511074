"""May one more query be paid? Privacy filters: exact sums of public charges and one test per accountant.

A filter decides before the release, from public numbers alone, while the analyst is free to choose every next
query and price after having seen all earlier answers. Its state is three sums and a flag, so a decision costs
the same after ten queries and after a million.

Everything is an exact rational. Two things are rounded, upwards: a divergence to a multiple of 2**-64,
and a number whose denominator has more than a thousand bits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from pandas_dp.core.budget import Budget, Charge, State, say, shorten, three_digits
from pandas_dp.core.mechanisms.gaussian import gaussian_delta
from pandas_dp.core.plans import DeclaredPlan
from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, GaussianLoss, PrivacyLoss, show
from pandas_dp.errors import ArgumentValueError, BudgetExceededError

DIVERGENCE_BITS = 64  # divergences are multiples of 2**-64


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
    return max(Fraction(0), Fraction(math.floor(limit * 2**DIVERGENCE_BITS), 2**DIVERGENCE_BITS))


def gdp_limit(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest mu^2 of a Gaussian mechanism that is (epsilon, delta (1 - 1e-5))-private, rounded down."""
    low, high = 0.0, 1.0
    target = float(delta) * (1 - 1e-5)
    while gaussian_delta(float(epsilon), high) <= target:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and gaussian_delta(float(epsilon), middle) <= target else (low, middle)
    return Fraction(math.floor(Fraction(low * (1 - 1e-9)) ** 2 * (1 << DIVERGENCE_BITS)), 1 << DIVERGENCE_BITS)


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


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


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
    _no_delta = (
        "this budget has no delta, so there is no Gaussian noise and no key discovery: list keys= and leave out delta= and "
        "rho= ({fits}), or give it a delta: df.dp.session.extend(to_delta=1e-6, reason='...')"
    )

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def charge(self, loss: PrivacyLoss) -> Charge:
        """Turn the loss of a query into its public charge."""
        epsilon = loss.epsilon
        return Charge(None if epsilon is None else shorten(epsilon), Fraction(0), shorten(loss.delta))

    def admit(self, state: State, charge: Charge) -> State | None:
        """Return the state after the charge, or None when the budget is too small."""
        after = state.plus(charge)
        fits = not after.unbounded and after.epsilon <= self.budget.epsilon and after.delta == 0
        return after if fits else None

    def refusal(self, state: State, asked: str, charge: Charge) -> BudgetExceededError:
        """Build the error for a charge that was not admitted; `asked` is its price as typed."""
        currency, fits = "epsilon", _would_fit(self._offers(state))
        if charge.epsilon is None or charge.delta > 0:
            currency, fits = "delta", self._no_delta.format(fits=fits)
        return BudgetExceededError(asked, self.spent(state), self.left(state), currency, fits)

    def _offers(self, state: State) -> list[str]:
        """Prices that are left."""
        rest = self.budget.epsilon - state.epsilon
        return [f"epsilon={say(rest)}"] if rest >= SMALLEST_EPSILON else []

    def spent(self, state: State) -> str:
        """Say what is spent."""
        return _sum(state)

    def left(self, state: State) -> str:
        """Say what is left."""
        return _tell("epsilon", self.budget.epsilon - state.epsilon)


class PlanFilter(PureFilter):
    """Admit what a plan declared, and beside it as long as the other epsilons sum to at most what the plan leaves.

    Notes
    -----
    The prices of the plan were fixed before the first answer, and all else that is admitted is one mechanism whose epsilon,
    `beside`, was fixed then too: a `PureFilter` of that total. Together they are (epsilon, delta)-private by `Plan`, whichever
    order they are asked in, for queries that depend on answers. A price that the plan still has is taken from the plan.
    """

    _no_delta = "a plan allows plain epsilons only: list keys=, leave out delta= and rho= ({fits})"

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.beside = DeclaredPlan(budget.plan).beside(budget.epsilon, budget.delta) or Fraction(0)

    def admit(self, state: State, charge: Charge) -> State | None:
        """Return the state after the charge, or None when neither the plan nor what it leaves pays it."""
        after = state.plus(charge)
        if after.unbounded or after.delta > 0:
            return None
        planned = state.planned or (0,) * len(self.budget.plan)
        prices = [epsilon for epsilon, _ in self.budget.plan]
        if charge.epsilon in prices:
            at = prices.index(charge.epsilon)
            if planned[at] < self.budget.plan[at][1]:
                planned = (*planned[:at], planned[at] + 1, *planned[at + 1 :])
        after = replace(after, planned=planned)
        return after if self._others(after) <= self.beside else None

    def _offers(self, state: State) -> list[str]:
        """Prices that are left of the plan and beside it."""
        prices = [f"epsilon={show(e)}" for (e, n), used in self._pots(state) if used < n]
        rest = self.beside - self._others(state)
        return prices + ([f"epsilon={say(rest)}"] if rest >= SMALLEST_EPSILON else [])

    def spent(self, state: State) -> str:
        """Say what is spent of the plan and beside it."""
        pots = [f"{used:,} of {n:,} planned calls at epsilon={show(e)}" for (e, n), used in self._pots(state)]
        return ", ".join([*pots, _tell("epsilon", self._others(state), ROUND_CEILING) + " beside the plan"])

    def left(self, state: State) -> str:
        """Say what is left of the plan and beside it."""
        pots = [f"{n - used:,} of {n:,} planned calls at epsilon={show(e)}" for (e, n), used in self._pots(state)]
        return ", ".join([*pots, _tell("epsilon", self.beside - self._others(state)) + " beside the plan"])

    def _pots(self, state: State) -> list[tuple[tuple[Fraction, int], int]]:
        return list(zip(self.budget.plan, state.planned or (0,) * len(self.budget.plan), strict=True))

    def _others(self, state: State) -> Fraction:
        """Sum of the epsilons that were not planned."""
        return state.epsilon - sum((e * used for (e, _), used in self._pots(state)), Fraction(0))


class RenyiFilter:
    """Admit while the deltas fit and the Renyi divergences of one order do.

    The rule of `HybridFilter` without its sum of epsilons: T + t <= d and R + r <= L. Its proof holds without step 3.

    Parameters
    ----------
    budget : Budget
        With a positive delta.
    order : Fraction, optional
        The order that was fixed at the opening. None: about the one that pays for the most Gaussian noise.
    """

    currency = "Renyi divergence"

    def __init__(self, budget: Budget, order: Fraction | None = None) -> None:
        conversion = budget.delta - budget.delta_reserved
        self.budget = budget
        self.order = best_order(budget.epsilon, conversion) if order is None else order
        self.limit = renyi_limit(budget.epsilon, conversion, self.order)
        self.rho_worth = self.order  # what a rho of 1 costs

    def measure(self, loss: PrivacyLoss) -> Fraction:
        """What is summed."""
        return loss.renyi(self.order)

    def charge(self, loss: PrivacyLoss) -> Charge:
        """Turn the loss of a query into its public charge."""
        epsilon, measured = loss.epsilon, self.measure(loss)
        up = Fraction(-(-(measured.numerator << DIVERGENCE_BITS) // measured.denominator), 1 << DIVERGENCE_BITS)
        return Charge(None if epsilon is None else shorten(epsilon), up, shorten(loss.delta))

    def by_sum(self, state: State) -> Fraction | None:
        """How much epsilon the sum of epsilons leaves; None where it admits nothing."""
        return None

    def admit(self, state: State, charge: Charge) -> State | None:
        """Return the state after the charge, or None when the budget is too small."""
        after = state.plus(charge)
        if after.delta > self.budget.delta_reserved:
            return None
        left = self.by_sum(after)
        return after if after.renyi <= self.limit or (left is not None and left >= 0) else None

    def refusal(self, state: State, asked: str, charge: Charge) -> BudgetExceededError | ArgumentValueError:
        """Build the error for a charge that was not admitted; `asked` is its price as typed."""
        rest, gaussian = self.budget.delta_reserved - state.delta, charge.epsilon is None
        rho, epsilon = three_digits((self.limit - state.renyi) / self.rho_worth), self._largest_epsilon(state)
        offers = [f"rho={say(rho)}"] if gaussian and rho > 0 else []
        if epsilon >= SMALLEST_EPSILON:
            offers.append(f"epsilon={say(epsilon)}" + (" without delta= and rho=" if gaussian else ""))
        fits = _would_fit(offers)
        currency = self.currency if gaussian or self.by_sum(state) is None else "epsilon"
        if charge.delta > rest:
            currency = "delta"
            fits += " in a query that needs no delta" if offers else ""
            fits += (
                f"; of the delta reserved for finding keys and smooth noise (a tenth by default) {say(rest)} is left"
            )
            less = replace(charge, delta=rest)
            fits += f": delta={say(rest)} would fit" if rest and self.admit(state, less) is not None else ""
        return BudgetExceededError(asked, self.spent(state), self.left(state), currency, fits)

    def spent(self, state: State) -> str:
        """Say what is spent."""
        noise = " (Gaussian noise)" * state.unbounded
        divergence = [_tell(self.currency, state.renyi, ROUND_CEILING) + noise] if state.renyi else []
        summed = [] if state.unbounded and not state.epsilon else [_tell("epsilon", state.epsilon, ROUND_CEILING)]
        return ", ".join([*summed, *divergence, *([_tell("delta", state.delta, ROUND_CEILING)] if state.delta else [])])

    def left(self, state: State) -> str:
        """Say what is left: of the epsilons or of the divergence, and of the reserved delta."""
        left = self.by_sum(state)
        by_sum = "" if left is None else _tell("epsilon", left) + " by addition or "
        reserved = self.budget.delta_reserved
        delta = ", " + _tell("delta", reserved - state.delta) + " for finding keys" if reserved else ""
        better = " (whichever allows more)" if by_sum else ""
        return f"{by_sum}{_tell(self.currency, self.limit - state.renyi)}{better}{delta}"

    def _largest_epsilon(self, state: State) -> Fraction:
        """Largest epsilon that a pure query may still ask, as one would type it; 0 when none."""
        by_sum = self.by_sum(state) or Fraction(0)
        rest, low, high = self.limit - state.renyi, float(SMALLEST_EPSILON) / 2, float(LARGEST_EPSILON)
        for _ in range(64):
            middle = math.sqrt(low * high)
            fits = self.charge(PrivacyLoss.pure(Fraction(middle))).renyi <= rest
            low, high = (middle, high) if fits else (low, middle)
        return max(by_sum, three_digits(Fraction(low)))


class HybridFilter(RenyiFilter):
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

    def by_sum(self, state: State) -> Fraction | None:
        """How much epsilon is left, unless a charge had none."""
        return None if state.unbounded else self.budget.epsilon - state.epsilon


class ZCDPFilter(RenyiFilter):
    """Admit while the deltas fit and the rhos of zero-concentrated differential privacy do.

    The divergence of every order a is at most a times the sum of the rhos (Bun, Steinke 2016), so this admits a part of
    what `RenyiFilter` admits at its order, for L / order. Its sums convert to other orders.
    """

    currency = "rho"

    def __init__(self, budget: Budget, order: Fraction | None = None) -> None:
        super().__init__(budget, order)
        self.limit = Fraction(math.floor(self.limit / self.order * (1 << DIVERGENCE_BITS)), 1 << DIVERGENCE_BITS)
        self.rho_worth = Fraction(1)

    def measure(self, loss: PrivacyLoss) -> Fraction:
        """Rho."""
        return loss.rho


class GDPFilter(RenyiFilter):
    """Admit Gaussian noise alone, while the squares of mu = sensitivity / deviation sum to at most a limit.

    Adaptively chosen Gaussian mechanisms whose mu^2 sum to at most a limit are together as private as one Gaussian
    mechanism of that mu^2 (Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023), whose (epsilon, delta) is exact
    (Balle, Wang 2018). That is proved for continuous noise. Ours is drawn on a lattice with at least 2**10 steps in the
    deviation and in the sensitivity; its exact delta was computed for up to 16 fixed steps, and exceeds the continuous one's
    by less than the hundred-thousandth of delta that is kept back.
    """

    currency = "mu^2"

    def __init__(self, budget: Budget, order: Fraction | None = None) -> None:
        self.budget, self.order, self.rho_worth = budget, Fraction(1), Fraction(2)  # the order plays no part
        self.limit = gdp_limit(budget.epsilon, budget.delta)

    def measure(self, loss: PrivacyLoss) -> Fraction:
        """mu^2 = 2 rho; more than there ever is for what is not Gaussian."""
        gaussian = all(isinstance(part, GaussianLoss) for part, _ in loss.parts)
        return 2 * loss.rho if gaussian and not loss.delta else self.limit + 1

    def refusal(self, state: State, asked: str, charge: Charge) -> BudgetExceededError | ArgumentValueError:
        """Also for what is not Gaussian."""
        if charge.renyi <= self.limit or (charge.epsilon is None and not charge.delta):
            return super().refusal(state, asked, charge)
        return ArgumentValueError(
            "accountant='gdp' allows Gaussian noise only: ask counts, sums, means and histograms of listed "
            f"keys with rho= or delta=, such as df.dp(rho=0.01), instead of {asked}; nothing was charged"
        )


Filter = PureFilter | RenyiFilter
_FILTERS = {"hybrid": HybridFilter, "rdp": RenyiFilter, "zcdp": ZCDPFilter, "gdp": GDPFilter}


@lru_cache(maxsize=256)
def filter_for(budget: Budget, order: Fraction | None = None) -> Filter:
    """Return the filter of a budget; `order` is the one on record when the budget was opened earlier."""
    if budget.pure:
        return PlanFilter(budget) if budget.plan else PureFilter(budget)
    return _FILTERS[budget.accountant](budget, order)


def _tell(name: str, x: Fraction, rounding: str = ROUND_FLOOR) -> str:
    """Write a sum honestly: exactly as a short decimal or fraction, else rounded (what is spent upwards) and saying so."""
    exact = x <= 0 or x.denominator < 1000 or 10**12 % x.denominator == 0
    return f"{name}={show(max(x, Fraction(0)))}" if exact else f"{name} about {show(three_digits(x, rounding))}"


def _sum(state: State) -> str:
    return _tell("epsilon", state.epsilon, ROUND_CEILING) + " and Gaussian noise" * state.unbounded


def _would_fit(offers: list[str]) -> str:
    return " or ".join(offers) + " would fit" if offers else "nothing fits any more"

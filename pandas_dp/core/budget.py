"""What is counted: public charges, their sums, and the terms of a budget. Everything is an exact rational."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pandas_dp.core.plans import MOST_PLANNED, DeclaredPlan, Parts
from pandas_dp.core.privacy import LARGEST_EPSILON, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

Exact = Fraction | int
LONGEST = 1024  # bits of a denominator; keeps sums short when prices are thirds, sevenths, elevenths, ...
ACCOUNTANTS = ("pure", "hybrid", "rdp", "zcdp", "gdp")  # beside "plan", which a plan= says


@dataclass(frozen=True)
class Charge:
    """The public triple of one query.

    Outside an event of probability `delta` the privacy loss is at most `epsilon` (None: not bounded, Gaussian
    noise) and the divergence that the filter sums at most `renyi`, both for the same event: the Renyi divergence of its
    order, or rho (that of all orders, each divided by the order), or for Gaussian noise mu^2 = 2 rho. The pure filter
    counts none and leaves it 0.

    `periods` are the first and the last of those that pay it, each in full, where a budget has sums for each period.
    """

    epsilon: Fraction | None
    renyi: Fraction
    delta: Fraction
    periods: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        least = 0 if self.epsilon is None else self.epsilon.numerator
        if least < 0 or self.renyi.numerator < 0 or self.delta.numerator < 0:
            raise ArgumentValueError("a charge cannot be negative: nothing is ever paid back")

    def to_text(self) -> str:
        """Write it exactly, for the ledger."""
        amounts = "inf" if self.epsilon is None else self.epsilon, self.renyi, self.delta
        return " ".join(map(str, (*amounts, *(self.periods or ()))))

    @classmethod
    def from_text(cls, text: str) -> Charge:
        """Read what `to_text` wrote."""
        epsilon, renyi, delta, *periods = text.split(" ")
        amounts = None if epsilon == "inf" else Fraction(epsilon), Fraction(renyi), Fraction(delta)
        return cls(*amounts, (int(periods[0]), int(periods[1])) if periods else None)


@dataclass(frozen=True)
class State:
    """Sums over every admitted charge, whichever test admitted it.

    `epsilon` sums the finite ones; once a charge had none, `unbounded` is set and that sum bounds nothing. `planned` counts
    what was taken from each price of a plan.
    """

    epsilon: Fraction
    unbounded: bool
    renyi: Fraction
    delta: Fraction
    planned: tuple[int, ...] = ()

    @classmethod
    def zero(cls) -> State:
        """Nothing spent."""
        return cls(Fraction(0), False, Fraction(0), Fraction(0))

    def plus(self, charge: Charge) -> State:
        """Add a charge to all sums."""
        return State(
            self.epsilon if charge.epsilon is None else shorten(self.epsilon + charge.epsilon),
            self.unbounded or charge.epsilon is None,
            self.renyi + charge.renyi if charge.renyi else self.renyi,
            shorten(self.delta + charge.delta) if charge.delta else self.delta,
            self.planned,
        )

    def to_text(self) -> str:
        """Write it exactly, for the ledger."""
        return " ".join(map(str, (self.epsilon, int(self.unbounded), self.renyi, self.delta, *self.planned)))

    @classmethod
    def from_text(cls, text: str) -> State:
        """Read what `to_text` wrote."""
        epsilon, unbounded, renyi, delta, *planned = text.partition(";")[0].split(" ")  # behind it: see `period_sums`
        return cls(Fraction(epsilon), unbounded == "1", Fraction(renyi), Fraction(delta), tuple(map(int, planned)))


@dataclass(frozen=True)
class Budget:
    """What was opened: the promised total and how it is counted. Made by `Budget.of`, which checks the terms.

    `delta_reserved` is the part of `delta` that queries may be charged (key discovery, smooth noise); the
    rest belongs to the conversion of the divergence. `accountant` is one of `ACCOUNTANTS`. `plan` holds
    prices that were declared beforehand, each with its count. `lifetime` is what the epsilons of a unit that is in every
    period may add up to, where the budget is for each period and that has a cap: see `period_sums`.
    """

    epsilon: Fraction
    delta: Fraction
    delta_reserved: Fraction
    accountant: str
    plan: tuple[tuple[Fraction, int], ...] = ()
    lifetime: Fraction | None = None

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
        accountant : {"auto", "pure", "hybrid", "rdp", "zcdp", "gdp"}
            ``auto``: pure when delta is 0, else hybrid. ``gdp`` reserves no delta.

        Raises
        ------
        ArgumentValueError, ArgumentTypeError
            With the line to type instead.
        """
        total, slack = _exact(epsilon, "epsilon"), _exact(delta, "delta")
        if accountant not in ("auto", *ACCOUNTANTS):
            raise ArgumentValueError(
                f"accountant= is not a known one: type 'auto' or one of {', '.join(map(repr, ACCOUNTANTS))}"
            )
        share = Fraction(0) if accountant == "gdp" else slack / 10
        reserved = share if delta_reserved is None else _exact(delta_reserved, "delta_reserved")
        if not 0 < total <= LARGEST_EPSILON:
            raise ArgumentValueError(f"epsilon= must lie above 0, up to {LARGEST_EPSILON}: type epsilon=3")
        if not 0 <= slack < 1:
            raise ArgumentValueError("delta= must be at least 0 and below 1: type delta=1e-6")
        if accountant == "pure" and slack > 0:
            raise ArgumentValueError("accountant='pure' has no use for a delta: type delta=0, or 'hybrid'")
        if accountant not in ("auto", "pure") and slack == 0:
            raise ArgumentValueError(f"accountant={accountant!r} needs a delta: type delta=1e-6, or 'pure'")
        if slack == 0 and reserved != 0:
            raise ArgumentValueError("delta_reserved= is a part of delta, and delta is 0: type delta=1e-6")
        if accountant == "gdp" and reserved != 0:
            raise ArgumentValueError("accountant='gdp' allows Gaussian noise only: leave delta_reserved= out")
        if slack > 0 and accountant != "gdp" and not 0 < reserved < slack:
            raise ArgumentValueError(
                f"delta_reserved= must lie between 0 and delta: type delta_reserved={show(slack / 10)}"
            )
        default = "hybrid" if slack else "pure"
        return cls(total, slack, reserved, default if accountant == "auto" else accountant)

    @property
    def pure(self) -> bool:
        """Whether only pure epsilons are counted."""
        return self.accountant in ("pure", "plan")

    def planned(self, plan: Parts) -> Budget:
        """Return this total with prices declared beforehand, each with its count.

        Raises
        ------
        ArgumentValueError
            They cost more than the total, or the budget has no delta, without which they just add up.
        """
        parts = tuple(sorted((_exact(price, "plan"), times) for price, times in plan))
        if self.delta == 0:
            raise ArgumentValueError("plan= needs a delta, without which prices just add up: type delta=1e-6")
        if self.accountant != "hybrid":
            raise ArgumentValueError("plan= is an accountant of its own: leave accountant= out")
        if not parts or any(price <= 0 or times < 1 for price, times in parts):
            raise ArgumentValueError("plan= must hold positive prices and counts: type plan={0.1: 40}")
        if sum(times for _, times in parts) > MOST_PLANNED:
            raise ArgumentValueError(f"plan= may hold at most {MOST_PLANNED:,} questions")
        if DeclaredPlan(parts).beside(self.epsilon, self.delta) is None:
            raise ArgumentValueError(
                f"plan= costs more than epsilon={show(self.epsilon)} at this delta: plan fewer questions or lower prices; "
                "pandas_dp.accounting.queries_for(epsilon=0.1, total=(3, 1e-6)) says how many fit"
            )
        return Budget(self.epsilon, self.delta, Fraction(0), "plan", parts)


def _exact(x: Fraction | int, argument: str) -> Fraction:
    if isinstance(x, bool) or not isinstance(x, int | Fraction):
        raise ArgumentTypeError(f"{argument}= must be exact here: type Fraction('0.1') for 0.1")
    if Fraction(x).denominator.bit_length() > LONGEST:
        raise ArgumentValueError(f"{argument}= has too many digits: type at most 300 decimals")
    return Fraction(x)


def shorten(x: Fraction) -> Fraction:
    """Return x itself, or, when its denominator is very long, the next multiple of 2**-1024 above."""
    if x.denominator.bit_length() <= LONGEST:
        return x
    return Fraction(-(-(x.numerator << LONGEST) // x.denominator), 1 << LONGEST)

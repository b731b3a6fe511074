"""What a budget has spent and has left: a text for people, and exact decimals for programs, from public sums alone."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from pandas_dp.books.what_fits import left_text
from pandas_dp.core.budget import Budget, Charge, State, three_digits
from pandas_dp.core.filters import Filter, GDPFilter, PureFilter, RenyiFilter, ZCDPFilter
from pandas_dp.core.mechanisms.gaussian import gaussian_delta
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.release.text import COUNTED

PLACES = 12  # decimals of an epsilon, and digits of a delta
MOST_DIGITS = 400  # of either, a delta of the smallest float included


class Odometer(str):
    """A text that says what is spent or left in every currency, and carries the two that have the same meaning everywhere.

    Attributes
    ----------
    epsilon, delta : Decimal
        Of what is spent: what the answers so far come to, above the total only where answers from before the budget was opened
        were charged to it. Where the budget counts divergences that is the smaller of their sum, converted, and of the sum of
        the epsilons. Of what is left: the total without that, at least 0. Rounded at the 12th decimal, deltas at the 12th digit
        of the total one, spent ones up, left ones down.
    guarantee : str
        What the budget promises: its total, whatever is asked in which order. The amounts are for display.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="odometer example")
    >>> _ = df.dp(epsilon=0.1).count(), df.dp(epsilon=0.2).count("age")
    >>> session.spent, session.spent.epsilon, session.left.epsilon
    ('epsilon=0.3', Decimal('0.3'), Decimal('2.7'))
    >>> session.left.guarantee
    'all answers of this budget together: epsilon=3, for one row more or less, also where questions depend on answers'
    """

    __slots__ = ("delta", "epsilon", "guarantee")
    epsilon: Decimal
    delta: Decimal
    guarantee: str

    def __new__(cls, text: str, epsilon: Decimal, delta: Decimal, guarantee: str) -> Odometer:
        """Attach the amounts to the text."""
        self = super().__new__(cls, text)
        self.epsilon, self.delta, self.guarantee = epsilon, delta, guarantee
        return self

    def __getnewargs__(self) -> tuple[str, Decimal, Decimal, str]:  # type: ignore[override]
        """Let pickle and copy keep the amounts."""
        return str(self), self.epsilon, self.delta, self.guarantee


def spent(rule: Filter, state: State, unit: PrivacyUnit) -> Odometer:
    """Say what is spent; where divergences are counted, first the epsilon that all answers come to."""
    epsilon, delta = _proved(rule, state)
    words = rule.spent(state) + (f", above the total of {show(rule.budget.epsilon)}" if is_over(rule, state) else "")
    if not isinstance(rule, PureFilter):
        together = f"epsilon={show(three_digits(epsilon, ROUND_CEILING))}"
        words = together if state == State.zero() else f"{together}{COUNTED}{words}"
    return Odometer(
        words,
        _decimal(epsilon, ROUND_CEILING),
        _decimal(delta, ROUND_CEILING, _delta_places(rule)),
        promise(rule, unit, state),
    )


def is_over(rule: Filter, state: State) -> bool:
    """Whether more was charged than the total: answers from before the budget was opened. It then pays nothing more."""
    return rule.admit(state, Charge(Fraction(0), Fraction(0), Fraction(0))) is None


def promised(rule: Filter, state: State) -> Budget:
    """The total, or what was spent where that is more."""
    return replace(rule.budget, epsilon=_proved(rule, state)[0]) if is_over(rule, state) else rule.budget


def left(rule: Filter, state: State, unit: PrivacyUnit, like: tuple[str, PrivacyLoss] | None) -> Odometer:
    """Say what is left, and where divergences are counted, how many calls like one that is."""
    epsilon, delta = _proved(rule, state)
    rest, slack = max(rule.budget.epsilon - epsilon, Fraction(0)), rule.budget.delta - delta
    return Odometer(
        left_text(rule, state, like),
        _decimal(rest, ROUND_FLOOR),
        _decimal(slack, ROUND_FLOOR, _delta_places(rule)),
        promise(rule, unit, state),
    )


def promise(rule: Filter, unit: PrivacyUnit, state: State | None = None) -> str:
    """Say what a budget guarantees, for whom, and that it does so for questions that depend on answers."""
    total = f"epsilon={show((rule.budget if state is None else promised(rule, state)).epsilon)}"
    if rule.budget.delta:
        total += f", delta={show(rule.budget.delta)}"
    whose = "row" if unit.column is None else f"unit of {unit.column!r}"
    change = "more or less" if unit.add_remove else "with other content"
    return f"all answers of this budget together: {total}, for one {whose} {change}, also where questions depend on answers"


def _proved(rule: Filter, state: State) -> tuple[Fraction, Fraction]:
    """The least epsilon that holds for what was answered by sum or by divergence, and its delta.

    It is at most the total, but where more was charged than that.
    """
    budget = rule.budget
    total = budget.epsilon, budget.delta
    if is_over(rule, state):  # what the filter let in keeps the total, and the rest has a finite epsilon
        total = budget.epsilon + state.epsilon, budget.delta
    summed = (state.epsilon, state.delta) if not state.unbounded else total
    if isinstance(rule, PureFilter):
        return min(summed, total)
    slack = budget.delta - budget.delta_reserved  # what the conversion takes
    return min(summed, total, (max(_converted(rule, state, slack), Fraction(0)), slack + state.delta))


def _converted(rule: RenyiFilter, state: State, slack: Fraction) -> Fraction:
    """Epsilon of the divergence so far, rounded up.

    At one order it differs from the total by as much as the divergence from its limit, which was rounded down: see
    `renyi_limit`. For sums of mu^2 it is the exact curve of one Gaussian mechanism, by bisection.
    """
    rest = rule.limit - state.renyi
    if not isinstance(rule, GDPFilter):
        return rule.budget.epsilon - rest * (rule.order if isinstance(rule, ZCDPFilter) else 1)
    mu, low, high = math.sqrt(state.renyi) * (1 + 1e-9), 0.0, float(rule.budget.epsilon)
    for _ in range(60):
        middle = (low + high) / 2
        small = not mu or gaussian_delta(middle, mu) <= float(slack) * (1 - 1e-5)
        low, high = (low, middle) if small else (middle, high)
    return Fraction(high)


def _delta_places(rule: Filter) -> int:
    """Decimals that show the total delta with 12 digits: with 12 decimals a small one would round up to many times itself."""
    delta = rule.budget.delta
    return PLACES - math.floor(math.log10(delta)) if delta else PLACES


def _decimal(x: Fraction, rounding: str, places: int = PLACES) -> Decimal:
    """A rational with at most so many decimals, rounded in the direction that promises less."""
    scaled = x * 10**places
    whole = math.ceil(scaled) if rounding == ROUND_CEILING else math.floor(scaled)
    # of text, and with digits enough: what the caller's decimal context says rounds nothing here
    return Context(prec=MOST_DIGITS).normalize(Decimal(f"{whole}e{-places}")) if whole else Decimal(0)

"""Which total pays for some queries together: as each accountant counts, with the cheapest noise of each query for it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

from pandas_dp.core.budget import Budget
from pandas_dp.core.filters import PureFilter, filter_for
from pandas_dp.core.plans import MOST_PLANNED, DeclaredPlan
from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON
from pandas_dp.queries.pricing import Choice, up

Choices = Sequence[Sequence[Choice]]
"""Of each query the prices that will do."""
Found = TypeVar("Found")
CLOSE = 1e-4  # of logarithms, to which a least number is found
SURELY = 1 - 1e-9  # share of a delta that floats may use


class Terms(NamedTuple):
    """How a total is counted; `delta` and `reserved` are as ``protect`` takes them."""

    accountant: str
    delta: Fraction = Fraction(0)
    reserved: Fraction | None = None

    def budget(self, epsilon: Fraction, chosen: Sequence[Choice]) -> Budget:
        """The budget of a total."""
        if self.accountant != "plan":
            return Budget.of(epsilon, self.delta, self.reserved, self.accountant)
        return Budget.of(epsilon, self.delta).planned(
            list(Counter(one.loss.epsilon or Fraction(0) for one in chosen).items())
        )


class Paid(NamedTuple):
    """A total, how it is counted, and the price of each query."""

    epsilon: Fraction
    terms: Terms
    chosen: list[Choice]


def accounts(delta: Fraction) -> list[Terms]:
    """All accountants that a new budget with this delta can have; the simplest first."""
    return [Terms("pure"), *(Terms(name, delta) for name in ("hybrid", "plan", "gdp") if delta)]


def within(total: Fraction, terms: Terms, choices: Choices) -> Paid | None:
    """The queries at the prices that are cheapest under a total, if that pays for all of them."""
    if terms.accountant in ("pure", "plan"):
        cheapest = _plain(choices)
        if cheapest is None:
            return None
        spent = sum((one.loss.epsilon or Fraction(0) for one in cheapest), Fraction(0))
        if spent <= total:
            return Paid(spent if terms.accountant == "pure" else total, terms, cheapest)
        return (
            Paid(total, terms, cheapest) if terms.accountant == "plan" and _declared(terms, cheapest)(total) else None
        )
    rule = filter_for(terms.budget(total, []))
    if isinstance(rule, PureFilter):
        return None
    if terms.accountant == "hybrid" and (summed := within(total, Terms("pure"), choices)) is not None:
        return Paid(total, terms, summed.chosen)
    charges = {loss: rule.charge(loss) for some in choices for _, loss in some}
    chosen = [min(some, key=lambda one: charges[one.loss].renyi) for some in choices]
    delta = sum((charges[one.loss].delta for one in chosen), Fraction(0))
    renyi = sum((charges[one.loss].renyi for one in chosen), Fraction(0))
    fits = renyi <= rule.limit and delta <= rule.budget.delta_reserved
    return Paid(total, terms, chosen) if fits else None


def least(terms: Terms, choices: Choices) -> Paid | None:
    """The least total that pays for all queries, rounded up; None where none does."""
    if terms.accountant == "pure":
        return within(LARGEST_EPSILON, terms, choices)
    if terms.accountant == "plan":
        cheapest = _plain(choices)
        if cheapest is None or not 0 < len(cheapest) <= MOST_PLANNED:
            return None
        total = lowest(_declared(terms, cheapest), SMALLEST_EPSILON, LARGEST_EPSILON)
        return None if total is None else Paid(total, terms, cheapest)
    total = lowest(lambda epsilon: within(epsilon, terms, choices) is not None, SMALLEST_EPSILON, LARGEST_EPSILON)
    return None if total is None else within(total, terms, choices)


def lowest(fits: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> Fraction | None:
    """The least number between two, rounded up, for which something holds that stays true once it is; None for none."""
    if not fits(high):
        return None
    below, above = math.log(low), math.log(high)
    while above - below > CLOSE:
        middle = (below + above) / 2
        below, above = (below, middle) if fits(up(Fraction(math.exp(middle)))) else (middle, above)
    return up(Fraction(math.exp(above)))


def _plain(choices: Choices) -> list[Choice] | None:
    """The smallest plain epsilon of each query, if all have one."""
    plain = [[one for one in some if one.loss.epsilon is not None and not one.loss.delta] for some in choices]
    return [min(some, key=lambda one: one.loss.epsilon or 0) for some in plain] if all(plain) else None


def _declared(terms: Terms, chosen: Sequence[Choice]) -> Callable[[Fraction], bool]:
    """Whether a total pays for prices that are declared beforehand."""
    prices = Counter(one.loss.epsilon for one in chosen if one.loss.epsilon)
    if not prices:
        return lambda total: True
    declared = DeclaredPlan([(epsilon, times) for epsilon, times in prices.items() if epsilon])
    goal = float(terms.delta) * SURELY**2
    return lambda total: declared.delta(float(total)) <= goal * SURELY

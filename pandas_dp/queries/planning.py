"""How a plan is found: the least total for what some queries want, or what a total buys of it.

Which total pays for some queries together is asked of each accountant, with the cheapest noise of each query for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeVar

from pandas_dp.core.budget import Budget
from pandas_dp.core.filters import PureFilter, filter_for
from pandas_dp.core.plans import MOST_PLANNED, DeclaredPlan
from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, Price
from pandas_dp.errors import ArgumentValueError
from pandas_dp.queries.pricing import Choice, Put, over, up
from pandas_dp.queries.together import Together

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


NO_DELTA = Fraction(1, 100)  # of a total: what a promise without a delta is worth
MOST = 1024  # times a wanted error, or a part of it, that a total may buy
TOO_LITTLE = (
    "epsilon is too small for errors 1,000 times as large as the queries want: leave epsilon= out to see what they "
    "cost: pandas_dp.plan(queries, frame=df)"
)
UNPAID = (
    "no total with accountant={!r} pays for these queries: prices with delta= or rho= need a delta, accountant='gdp' allows "
    "Gaussian noise alone, and declared prices are plain epsilons: pandas_dp.plan(queries, frame=df, delta=1e-6)"
)


class Way(NamedTuple):
    """Of each query the prices that will do, and which tables are reconciled then."""

    choices: Choices
    groups: Sequence[Together]


class Wanted(NamedTuple):
    """What shall be planned.

    Attributes
    ----------
    puts : sequence of Put
    groups : sequence of Together
        Tables that will be reconciled.
    terms : sequence of Terms
        What the total may be counted by.
    """

    puts: Sequence[Put]
    groups: Sequence[Together]
    terms: Sequence[Terms]

    @property
    def gaussian(self) -> bool:
        """Whether Gaussian noise can be paid for."""
        return self.terms[-1].delta > 0

    def alone(self, factor: Fraction = Fraction(1)) -> list[list[Choice]]:
        """Of each query the prices that will do for so many times the error that it wants, where nothing is reconciled."""
        return [put.choices(factor, self.gaussian) for put in self.puts]

    def ways(self) -> list[Way]:
        """The prices that will do; where tables are reconciled with Laplace noise in all of them, or with Gaussian.

        Those of which that would not be cheaper, as noise of few steps has errors that no price comes near to, stand alone.
        """
        choices = self.alone()
        found = [Way(choices, [])]
        for noise in range(1 + self.gaussian if self.groups else 0):
            made, groups = list(choices), []
            for group in self.groups:
                single = [choices[at][min(noise, len(choices[at]) - 1)] for at in group.places]
                together = group.cheapest(single, bool(noise))
                if together is not None and _amount(together) < _amount(single):
                    groups.append(group)
                    for at, one in zip(group.places, together, strict=True):
                        made[at] = [one]
            if groups:
                found.append(Way(made, groups))
        return found

    def scaled(self, way: Way, factor: Fraction) -> Choices:
        """The prices of a way for so many times the errors."""
        if not way.groups:
            return self.alone(factor)
        pairs = zip(self.puts, way.choices, strict=True)
        return [[put.at(over(one.price, factor)) for one in some] for put, some in pairs]

    def cheapest(
        self, ways: Sequence[Way], factor: Fraction = Fraction(1)
    ) -> tuple[Paid, Way, dict[str, Fraction | None]]:
        """The least total for so many times the errors, its way, and the least one by each accountant.

        One without a delta counts as if it were a little less.

        Raises
        ------
        ArgumentValueError
        """
        found, totals = list[tuple[Paid, Way]](), dict[str, Fraction | None]()
        choices = [way.choices if factor == 1 else self.scaled(way, factor) for way in ways]
        for terms in self.terms:
            paid = [
                (one, way) for some, way in zip(choices, ways, strict=True) if (one := least(terms, some)) is not None
            ]
            totals[terms.accountant] = min((one.epsilon for one, _ in paid), default=None)
            found += paid
        if not found:
            raise ArgumentValueError(UNPAID.format(self.terms[0].accountant))
        best, way = min(found, key=lambda one: one[0].epsilon * (1 if one[0].terms.delta else 1 - NO_DELTA))
        return best, way, totals


def _amount(chosen: Sequence[Choice]) -> Fraction:
    """Sum of prices."""
    return sum((one.loss.rho if one.loss.epsilon is None else one.loss.epsilon for one in chosen), Fraction(0))


# prices and the total that pays for them; what every accountant would need; which tables are reconciled
Planned = tuple[Paid, dict[str, Fraction | None], Sequence[Together]]


def for_errors(wanted: Wanted) -> Planned:
    """The least total.

    Raises
    ------
    ArgumentValueError
    """
    paid, way, totals = wanted.cheapest(wanted.ways())
    return paid, totals, way.groups


def for_total(wanted: Wanted, total: Fraction) -> Planned:
    """All errors times the least common factor that a total pays for, in the way that is cheapest about there.

    Raises
    ------
    ArgumentValueError
    """
    if len(wanted.terms) == 1 and not wanted.gaussian and all(put.plain for put in wanted.puts):  # exact shares
        summed = sum((put.plain for put in wanted.puts), Fraction(0))
        chosen = [put.at(Price(put.plain * total / summed)) for put in wanted.puts]
        return Paid(total, wanted.terms[0], chosen), {wanted.terms[0].accountant: total}, wanted.groups
    ways = wanted.ways()
    about = wanted.cheapest(ways)[0].epsilon / total
    best, way, _ = wanted.cheapest(ways, up(min(max(about, Fraction(1, MOST)), Fraction(MOST))))

    def paid(factor: Fraction) -> Paid | None:
        return within(total, best.terms, wanted.scaled(way, factor))

    factor = lowest(lambda factor: paid(factor) is not None, Fraction(1, MOST), Fraction(MOST))
    found = None if factor is None else paid(factor)
    if found is None:
        raise ArgumentValueError(TOO_LITTLE)
    return found, {found.terms.accountant: found.epsilon}, way.groups

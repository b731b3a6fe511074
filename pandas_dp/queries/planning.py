"""How a plan is found: the least total for what some queries want, or what a total buys of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from pandas_dp.core.privacy import Price
from pandas_dp.errors import ArgumentValueError
from pandas_dp.queries.accounts import Choices, Paid, Terms, least, lowest, within
from pandas_dp.queries.pricing import Choice, Put, over, up
from pandas_dp.queries.together import Together

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


class Planned(NamedTuple):
    """Prices and the total that pays for them; what every accountant would need; which tables are reconciled."""

    paid: Paid
    totals: dict[str, Fraction | None]
    groups: Sequence[Together]


def for_errors(wanted: Wanted) -> Planned:
    """The least total.

    Raises
    ------
    ArgumentValueError
    """
    paid, way, totals = wanted.cheapest(wanted.ways())
    return Planned(paid, totals, way.groups)


def for_total(wanted: Wanted, total: Fraction) -> Planned:
    """All errors times the least common factor that a total pays for, in the way that is cheapest about there.

    Raises
    ------
    ArgumentValueError
    """
    if len(wanted.terms) == 1 and not wanted.gaussian and all(put.plain for put in wanted.puts):  # exact shares
        summed = sum((put.plain for put in wanted.puts), Fraction(0))
        chosen = [put.at(Price(put.plain * total / summed)) for put in wanted.puts]
        return Planned(Paid(total, wanted.terms[0], chosen), {wanted.terms[0].accountant: total}, wanted.groups)
    ways = wanted.ways()
    about = wanted.cheapest(ways)[0].epsilon / total
    best, way, _ = wanted.cheapest(ways, up(min(max(about, Fraction(1, MOST)), Fraction(MOST))))

    def paid(factor: Fraction) -> Paid | None:
        return within(total, best.terms, wanted.scaled(way, factor))

    factor = lowest(lambda factor: paid(factor) is not None, Fraction(1, MOST), Fraction(MOST))
    found = None if factor is None else paid(factor)
    if found is None:
        raise ArgumentValueError(TOO_LITTLE)
    return Planned(found, {found.terms.accountant: found.epsilon}, way.groups)

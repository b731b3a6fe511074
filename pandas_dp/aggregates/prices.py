"""The revenue-maximising price, and public grids of prices to choose from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.base import Guarantee
from pandas_dp.aggregates.choices import Choice, Gap
from pandas_dp.core.measurement import Noisy
from pandas_dp.core.privacy import show
from pandas_dp.core.statistics.scores import MOST_STEPS, Revenue
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import exact_number

MOST_PRICES = 10**6
GRID = 1 << 16


@dataclass(frozen=True)
class BestPrice(Choice):
    """The price with the highest revenue, of prices in steps of one public unit."""

    column: str
    prices: Sequence[int]
    step: Fraction
    supply: int | None = None

    name = "best_price"

    @property
    def statistic(self) -> Revenue:
        """Revenue at each price."""
        return Revenue(self.column, self.prices, self.step, self.supply)

    @property
    def gap(self) -> Gap:
        """Of the revenue."""
        return Gap("revenue", len(self.prices), self.step)

    def chosen(self, picks: Noisy) -> float:
        """Return the price."""
        return self.price(self.prices[picks[0]])

    def notes(self, error: Guarantee) -> tuple[str, ...]:
        """Return how far the revenue is below the largest in expectation.

        Notes
        -----
        For choices of probability p_i = exp(rate s_i) / Z, ln Z = rate E[s] + H(p), where ln Z >= rate OPT and the entropy
        H(p) <= ln(prices): E[s] >= OPT - ln(prices) / rate. Permute-and-flip expects no less: McKenna, Sheldon 2020.
        """
        average = error.make(error.log_candidates / error.rate, 0.0)  # its words leave the level out
        return (f"on average {average.words}",)

    def price(self, steps: int) -> float:
        """Return the price of a number of steps, as the nearest float."""
        return steps * self.step.numerator / self.step.denominator


def on_one_unit(prices: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], Fraction]:
    """Positive prices, as pairs of numerator and denominator, in whole numbers of their largest common unit; that unit.

    Returns
    -------
    prices : tuple of int
        Rising.
    unit : Fraction

    Raises
    ------
    ArgumentValueError
        Where the highest is more than 2**31 units.
    """
    bottom = math.lcm(*{denominator for _, denominator in prices})
    whole = sorted(numerator * (bottom // denominator) for numerator, denominator in prices)
    common = math.gcd(*whole)
    if whole[-1] > MOST_STEPS * common:
        raise ArgumentValueError(
            f"prices must be whole numbers of one unit of at least highest / 2**31: round them, as in "
            f"prices=[round(p, 2) for p in prices]; their unit is {show(Fraction(common, bottom))}"
        )
    return tuple(price // common for price in whole), Fraction(common, bottom)


@example("pandas_dp.geometric_prices(1, 4, ratio=1.1)", typed=True)
def geometric_prices(lowest: Any, highest: Any, ratio: Any) -> list[Decimal]:
    """Public prices of which each is at most `ratio` times the one before: a grid for ``best_price``.

    Parameters
    ----------
    lowest, highest : number
        The first and the last price, positive. They must not come from the data.
    ratio : number
        Above 1.

    Returns
    -------
    list of Decimal
        Rising; prices between the ends are rounded down to a power of ten of about a tenth of the first gap.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For ends that are not positive and rising, a ratio that is not above 1, more than 1,000,000 prices, or prices of
        more than 2**31 of their common unit.

    Notes
    -----
    For each price r between the ends there is a g <= r on the grid with r <= ratio g. All who buy at r buy at g, so the
    best revenue on the grid is at least 1 / ratio of the best one at any price between the ends.

    Examples
    --------
    >>> [str(price) for price in geometric_prices(1, 2, 1.2)]
    ['1', '1.2', '1.44', '1.72', '2']
    """
    first, last, factor = (
        exact_number(value, name) for value, name in ((lowest, "lowest"), (highest, "highest"), (ratio, "ratio"))
    )
    line = "geometric_prices(1, 1000, 1.05)"
    if not 0 < first < last:
        raise ArgumentValueError(f"lowest must be positive and below highest: {line}")
    if factor <= 1:
        raise ArgumentValueError(f"ratio must be above 1: {line}")
    if _log(last / first) > MOST_PRICES / 2 * math.log1p(float(factor - 1)):
        raise ArgumentValueError(f"a grid has at most {MOST_PRICES:,} prices; raise ratio or lowest: {line}")
    digits = math.ceil(-_log(first * (factor - 1)) / math.log(10)) + 1
    unit = Fraction(10) ** -digits
    grid = [first]
    while grid[-1] * factor < last:
        grid.append(grid[-1] * factor // unit * unit)
    grid.append(last)
    on_one_unit([price.as_integer_ratio() for price in grid])
    return [_decimal(price) for price in grid]


def _decimal(price: Fraction) -> Decimal:
    """The price as a decimal; exact for prices that are decimals of at most 28 digits."""
    digits = Context(prec=28, Emin=-999999, Emax=999999)
    return digits.add(digits.normalize(digits.divide(Decimal(price.numerator), Decimal(price.denominator))), 0)


def _log(x: Fraction) -> float:
    """Logarithm of a fraction that float64 may not hold."""
    return math.log(x.numerator) - math.log(x.denominator)

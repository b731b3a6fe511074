"""One or several of listed candidates, chosen by exact scores: the most common keys, the price that earns most, own scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, cast

import pandas as pd

from pandas_dp.aggregates.base import NO_SIZE, Answer, ExpectedError, Guarantee, Guaranteed, SingleLook, Terms, Unit
from pandas_dp.aggregates.uncertainty import ScoreGap
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy, Statistic
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PartByPart, PermuteAndFlip
from pandas_dp.core.partition import Cross, Keys
from pandas_dp.core.privacy import show
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.scores import MOST_STEPS, FrameScores, Revenue, RowScores
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.labels import Labels

Weights = tuple[int, ...]
UNITS = {"count": Unit("rows"), "score": Unit("in score"), "revenue": Unit("of revenue")}
FINENESS = 1 << 20  # steps of a score of the whole table within its sensitivity


@dataclass(frozen=True)
class Gap:
    """What the guarantee of a choice is about.

    Attributes
    ----------
    what, best : str
        Words of a `ScoreGap`.
    candidates : float
        1 / the smallest share that the base measure gives to a candidate: their number where all are alike.
    step : Fraction
        What one step of the statistic's scores is worth.
    """

    what: str
    candidates: float
    step: Fraction = Fraction(1)
    best: str = "the largest"


class Choice(SingleLook, Guaranteed):
    """Picks by permute-and-flip, or by the exponential mechanism.

    A session that counts pure epsilons uses permute-and-flip, never worse than the exponential mechanism; one with
    delta > 0 uses the exponential mechanism, whose Renyi divergence is four times smaller, and so does a base measure.

    Notes
    -----
    A pick of score s out of candidates whose best has score OPT satisfies P(s < OPT - (ln(1/m) + t) / rate) <= exp(-t), m
    the share of the base measure that the best candidate has: McSherry, Talwar 2007, Lemma 7; permute-and-flip has the
    same tail with m = 1 / candidates: McKenna, Sheldon 2020. For k picks t grows by ln k (union bound), each compared
    with the best of those not picked before, which is at least the true one of its rank.
    """

    name: ClassVar[str]  # of the question, for errors

    @property
    @abstractmethod
    def statistic(self) -> Statistic:
        """Exact integer scores, one for each candidate."""

    @property
    @abstractmethod
    def gap(self) -> Gap:
        """What the guarantee is about."""

    @abstractmethod
    def chosen(self, picks: Noisy) -> Any:
        """Return the answer from the places of the picks."""

    picks = 1
    each = ""  # of several "each: "
    weights: Weights | None = None

    def drawn(self, terms: Terms) -> tuple[str, ...]:
        """By another mechanism where a budget counts more than pure epsilons."""
        return () if terms.pure else ("not pure",)

    def assumed(self, terms: Terms) -> str | None:
        """Return what the guarantee takes on the caller's word."""
        return None

    def notes(self, error: Guarantee) -> tuple[str, ...]:
        """Return what else is known of the choice, from public facts."""
        return ()

    def look(self, terms: Terms) -> Measurement:
        """One place for each pick."""
        statistic = self.statistic
        epsilon, sensitivity = terms.epsilon(f"{self.name}()"), statistic.sensitivity(terms.unit)
        if terms.pure and self.weights is None:
            return Measurement(statistic, PermuteAndFlip.calibrate(epsilon, sensitivity, self.picks))
        return Measurement(statistic, ExponentialMechanism.calibrate(epsilon, sensitivity, self.picks, self.weights))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return what was picked."""
        error = self._error(look)
        return Answer(self.chosen(noisy), _picking(look).name, error, self.notes(error), assumes=self.assumed(terms))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the gap."""
        look, assumed = self.look(terms), self.assumed(terms)
        error = self._error(look)
        notes = self.notes(error) if assumed is None else (*self.notes(error), f"assumes {assumed}")
        found = error.expected(_picking(look).name, UNITS[self.gap.what], notes)
        return replace(found, error=self.each + found.error)

    def guarantee(self, terms: Terms) -> Guarantee:
        """The bound on the gap."""
        return self._error(self.look(terms))

    def _error(self, look: Measurement) -> Guarantee:
        gap = self.gap
        make = partial(ScoreGap, what=gap.what, best=gap.best)
        log_candidates = math.log(gap.candidates) + math.log(self.picks)
        return Guarantee(make, log_candidates, float(_picking(look).rate / gap.step))


class AmongKeys(Choice):
    """One among listed keys, by how many rows have each; in groups among those of each."""

    by: Keys | Cross
    buying = NO_SIZE

    @property
    def statistic(self) -> RowCounts:
        """Rows of each key."""
        return RowCounts(by=self.by)


def _picking(look: Measurement) -> PermuteAndFlip | ExponentialMechanism:
    mechanism = look.mechanism.choice if isinstance(look.mechanism, PartByPart) else look.mechanism
    return cast("PermuteAndFlip | ExponentialMechanism", mechanism)


@dataclass(frozen=True)
class TopK(AmongKeys):
    """The k most common of the listed keys, the most common first."""

    by: Keys
    labels: Labels
    k: int

    name = "top_k"
    each = "each: "

    @property
    def picks(self) -> int:  # type: ignore[override]  # a number where it is no argument
        """One pick for each rank."""
        return self.k

    @property
    def gap(self) -> Gap:
        """Of each key's count, below that of its rank."""
        return Gap("count", self.by.count, best="the true one of its rank")

    def chosen(self, picks: Noisy) -> pd.Series[Any]:
        """Keys by rank; their dtype is that of all listed keys."""
        ranks = pd.RangeIndex(1, self.k + 1, name="rank")
        return pd.Series(self.labels.index().take(picks), index=ranks, name=self.by.column)


@dataclass(frozen=True)
class SelectByRows(Choice):
    """A candidate with a high total of scores per row."""

    candidates: tuple[Hashable, ...]
    expressions: tuple[Any, ...]
    lattice: Lattice
    weights: Weights | None = None

    name = "select"

    @property
    def statistic(self) -> RowScores:
        """Total score of each candidate."""
        return RowScores(self.expressions, self.lattice)

    @property
    def gap(self) -> Gap:
        """Of totals of scores, each cut to its range and rounded to the lattice."""
        return Gap("score", _least_share(self.candidates, self.weights), self.lattice.step)

    def chosen(self, picks: Noisy) -> Hashable:
        """Return the candidate itself."""
        return self.candidates[picks[0]]


@dataclass(frozen=True)
class SelectByFrame(Choice):
    """A candidate with a high score that a user's function gives it. The function has no identity: nothing is stored."""

    candidates: tuple[Hashable, ...]
    score: Callable[[Any, Any], Any]
    sensitivity: Fraction
    weights: Weights | None = None
    tried: tuple[str, ...] = ()

    name = "select"
    stored = False

    @property
    def statistic(self) -> FrameScores:
        """Score of each candidate."""
        return FrameScores(self.score, self.candidates, self.sensitivity / FINENESS, FINENESS)

    @property
    def gap(self) -> Gap:
        """Of scores rounded to 2**-20 of their sensitivity."""
        return Gap("score", _least_share(self.candidates, self.weights), self.sensitivity / FINENESS)

    def assumed(self, terms: Terms) -> str:
        """The caller's word; where rows are replaced a step may also filter the new one, or only the old one."""
        rows = "one row more or fewer" if terms.unit.add_remove else "one row more, fewer or changed"
        return f"{rows} changes each score by at most {show(self.sensitivity)}"

    def notes(self, error: Guarantee) -> tuple[str, ...]:
        """What a trial of the function on made-up rows showed."""
        return self.tried

    def chosen(self, picks: Noisy) -> Hashable:
        """Return the candidate itself."""
        return self.candidates[picks[0]]


def _least_share(candidates: tuple[Hashable, ...], weights: Weights | None) -> float:
    return len(candidates) if weights is None else sum(weights) / min(weights)


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
            f"prices must be whole multiples of one unit of at least highest / 2**31: round them, as in "
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

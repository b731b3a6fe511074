"""Error bars: what can honestly be said about the noise of a release, from public numbers alone.

Every model answers ``bounds(value, level)``: lower and upper ends for the noiseless statistic, scalars for a
scalar and Series on the same index for a Series, each entry by itself. An interval always contains the value.
Where no interval is known for free a `RankBound` or `ScoreGap` says what is known instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import groupby
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import pandas as pd

from pandas_dp.aggregates.rotated import Law, mean_of_two, variances
from pandas_dp.core.lattice import Lattice
from pandas_dp.facts.kinds import Kind

LEVEL = 0.95  # of what is said of an answer, unless another one is wanted
ENOUGH = 6  # standard deviations of a noisy number of rows, from which something is told of the population
Ends = tuple[Any, Any]
NUMBER = Kind("number")
MOST_NANOSECONDS = Fraction(9 * 10**18)  # dates and durations beyond it do not fit into pandas' 64 bits
MOST_INTEGER = 2**62
UNITS: tuple[Any, ...] = ("days", "h", "min", "s", "ms", "µs", "ns")
DURATION_UNITS = tuple((name, pd.Timedelta(1, unit=name)) for name in UNITS)


class HalfWidth(Protocol):
    """Symmetric noise in whole steps."""

    def half_width(self, level: float) -> int:
        """Steps within which it stays with this probability."""


class Interval(tuple[Any, Any]):
    """Lower and upper end of a confidence interval for the noiseless statistic: ``lower, upper = count.interval()``.

    Attributes
    ----------
    lower, upper : number, Timestamp or Timedelta
    level : float
        Confidence; not one of the two items.

    Examples
    --------
    >>> lower, upper = Interval(3, 5, 0.95)
    >>> Interval(3, 5, 0.95)
    Interval(lower=3, upper=5, level=0.95)
    """

    level: float

    def __new__(cls, lower: Any, upper: Any, level: float) -> Interval:
        """Make a pair that knows its confidence."""
        self = super().__new__(cls, (lower, upper))
        self.level = level
        return self

    @property
    def lower(self) -> Any:
        """The lower end."""
        return self[0]

    @property
    def upper(self) -> Any:
        """The upper end."""
        return self[1]

    def __getnewargs__(self) -> tuple[Any, ...]:  # copies and pickles keep the level
        return *self, self.level

    def __repr__(self) -> str:
        """Show the ends and the confidence."""
        return f"Interval(lower={self.lower!r}, upper={self.upper!r}, level={self.level!r})"


@dataclass(frozen=True)
class RankBound:
    """How many rows may lie between the answer and the true quantile: the guarantee of a private quantile.

    Attributes
    ----------
    rows : float
        For all data; block results where there are `blocks`.
    level : float
    typical : float or None
        Where values are spread, so that a rank farther away is a value farther away: exceeded with ties and wide gaps.
    blocks : int or None
        How many results of blocks the rank is one among; None: among rows.
    of : str
        What these results are.
    what : str
        ``"median"``, or ``"quantile"`` of a level that the bound does not know.
    """

    rows: float
    level: float
    typical: float | None = None
    blocks: int | None = None
    of: str = "block results"
    what: str = "quantile"

    @property
    def words(self) -> str:
        """The bound in words, without its level."""
        off = math.ceil(self.rows)
        typical = "" if self.typical is None else f", typically within {math.ceil(self.typical):,}"
        if self.blocks is None:
            return f"within {off:,} row{'s' * (off != 1)} of the true {self.what}{typical}"
        return f"within {off:,} place{'s' * (off != 1)} of the {self.what} of the {self.blocks:,} sorted {self.of}{typical}"

    @property
    def places(self) -> str:
        """What that means, told of a number of rows that is no fact of the data, or of the public number of blocks.

        Examples
        --------
        >>> RankBound(29.4, 0.95).places
        'rank: position among the sorted rows; of 1,000 rows 30 are 3 %, a median between percentiles 47 and 53'
        """
        off = math.ceil(self.rows)
        if self.blocks is not None:
            share = min(100 * off / self.blocks, 50)
            percentiles = f"{50 - share:.3g} and {50 + share:.3g}"
            return (
                f"rank: position among the {self.blocks:,} sorted {self.of}; a median between percentiles {percentiles}"
            )
        rows = 10 ** max(len(f"{off:d}") + 1, 3)
        share = 100 * off / rows
        return (
            f"rank: position among the sorted rows; of {rows:,} rows {off:,} are {share:.3g} %, a median between percentiles "
            f"{50 - share:.3g} and {50 + share:.3g}"
        )

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.words} ({percent(self.level)})"


@dataclass(frozen=True)
class ScoreGap:
    """How far the score of the choice may be below the best: the guarantee of a private selection."""

    score: float
    level: float
    what: str = "count"
    best: str = "the largest"

    @property
    def words(self) -> str:
        """The bound in words, without its level."""
        shown = f"{math.ceil(self.score):,}" if self.what == "count" else rounded_up(self.score)
        return f"its {self.what} is within {shown} of {self.best}"

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.words} ({percent(self.level)})"


@dataclass(frozen=True)
class NoError:
    """An exact public number; `typed` where the owner's word was never compared with the table."""

    typed: bool = False

    def bounds(self, value: Any, level: float) -> Ends:
        """Return the value itself."""
        return value, value


@dataclass(frozen=True)
class Additive:
    """Symmetric integer noise times a public step.

    A value that was cut to a public range keeps the same interval around it: cutting brings an answer no
    further from a statistic in that range. With the range in `within` the interval is cut to it as well.
    """

    noise: HalfWidth
    step: Fraction = Fraction(1)
    kind: Kind = NUMBER
    within: tuple[Fraction, Fraction] | None = None

    def bounds(self, value: Any, level: float) -> Ends:
        """Value minus and plus the half-width, inside the public range of the statistic; all of it where there is no value."""
        lower, upper = self._around(value, level)
        if self.within is None:
            return lower, upper
        least, most = map(self.kind.value, self.within)
        if isinstance(value, pd.Series):
            return lower.clip(lower=least).fillna(least), upper.clip(upper=most).fillna(most)
        return (least, most) if pd.isna(value) else (max(lower, least), min(upper, most))

    def _around(self, value: Any, level: float) -> Ends:
        half = self.noise.half_width(level) * self.step
        if not isinstance(value, pd.Series):
            return self._ends(value, half)
        if value.dtype.kind == "f":
            return value - float(half), value + float(half)
        if value.dtype.kind == "i" and half.denominator == 1 and _fits(value, half):
            return value - int(half), value + int(half)
        return series_of([self._ends(entry, half) for entry in value.tolist()], value)

    def _ends(self, value: Any, half: Fraction) -> Ends:
        if isinstance(value, pd.Timestamp | pd.Timedelta) and value is not pd.NaT:
            exact = self.kind.number(value, "value")
            lower, upper = max(exact - half, -MOST_NANOSECONDS), min(exact + half, MOST_NANOSECONDS)
            return self.kind.value(lower), self.kind.value(upper)
        if isinstance(value, int) and half.denominator == 1:
            return value - int(half), value + int(half)
        return value - float(half), value + float(half)


@dataclass(frozen=True)
class Ratio:
    """A rotated mean: noisy features F1, F2 >= 0 in exact data, mean = lower + width F1 / (F1 + F2); see `mean_of_two`.

    What the features of a row add up to is told for `population`; 0 of answers that were pickled earlier.
    """

    features: tuple[tuple[int, ...], ...]
    noise: Law
    lattice: Lattice
    kind: Kind = NUMBER
    scalar: bool = True
    row: int = 0

    def bounds(self, value: Any, level: float) -> Ends:
        """Ends for each mean."""
        if self.scalar:
            return self.each([value], level)[0]
        return series_of(self.each(value.tolist(), level), value)

    def each(self, values: list[Any], level: float) -> list[Ends]:
        """Ends for each mean of a list."""
        low, high = mean_of_two(self.features, self.noise).bounds(level)
        rounding, whole = 0.5 / self.lattice.cells, (self._at(0), self._at(1))  # the former of each row
        ends = zip((low - rounding).tolist(), (high + rounding).tolist(), values, strict=True)
        return [around(self._at(lower), self._at(upper), value, whole) for lower, upper, value in ends]

    def _at(self, share: float) -> Any:
        """Return lower + width * share, the share cut to [0, 1]: one quotient of integers, as fractions are slow."""
        part, whole = min(max(share, 0.0), 1.0).as_integer_ratio()
        top, bottom = self.lattice.step.as_integer_ratio()
        return self.kind.ratio(top * (self.lattice.low * whole + self.lattice.cells * part), bottom * whole)


@dataclass(frozen=True)
class Spread:
    """Rotated variances or standard deviations, of three noisy features each; see `variances`.

    Rows lie within half a step of the lattice, which moves the standard deviation by as much at most, and the mean of their
    squares is rounded by 2 / T of (width / 2)^2, T what the features of `Moments` add up to. Answers that were pickled before
    the lattice was told have one of as many cells as the root of what a row adds.
    """

    features: tuple[Any, ...]
    row_total: int
    noise: Law
    scale: float
    ddof: int
    root: bool
    scalar: bool = True
    lattice: Lattice | None = None

    def bounds(self, value: Any, level: float) -> Ends:
        """Ends within the possible range."""
        row, most = float(self.row_total), 1.0 + self.ddof
        features = np.array(self.features, dtype=np.float64).reshape(-1, 3)
        rows = np.maximum(features.sum(axis=-1) / row, 2)
        more = rows / (rows - 1) if self.ddof else np.ones(len(rows))
        low, high = variances(features, row, self.ddof, self.noise, level)
        cells = self.lattice.cells if self.lattice else math.isqrt(self.row_total)
        total = cells * self.lattice.parts if self.lattice else self.row_total
        squares, steps = 2 * more / total, np.sqrt(more) / cells
        low = np.maximum(np.sqrt(np.maximum(low - squares, 0)) - steps, 0) ** 2
        found = low, np.minimum((np.sqrt(high + squares) + steps) ** 2, most)
        lower, upper = (self._sized(x).tolist() for x in found)
        whole = 0.0, float(self._sized(most))
        values = [value] if self.scalar else value.tolist()
        ends = [around(*each, whole) for each in zip(lower, upper, values, strict=True)]
        return ends[0] if self.scalar else series_of(ends, value)

    def _sized(self, variance: Any) -> Any:
        return np.sqrt(self.scale * variance) if self.root else self.scale * variance


class ErrorModel(Protocol):
    """What every model answers."""

    def bounds(self, value: Any, level: float) -> Ends:
        """Lower and upper ends for the noiseless statistic, in the form of the value."""


@dataclass(frozen=True)
class EachOf:
    """One model for each entry of a vector."""

    models: tuple[ErrorModel, ...]

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each entry; of means with one noise at once."""
        ends: list[Ends] = []
        for _, run in groupby(zip(self.models, value.tolist(), strict=True), key=lambda one: _of_one_noise(one[0])):
            models, values = zip(*run, strict=True)
            if isinstance(models[0], Ratio):
                features = tuple(feature for model in models for feature in model.features)
                ends += replace(models[0], features=features).each(list(values), level)
            else:
                ends += [model.bounds(entry, level) for model, entry in zip(models, values, strict=True)]
        return series_of(ends, value)


def _of_one_noise(model: ErrorModel) -> tuple[Any, ...] | None:
    return (model.noise, model.lattice, model.kind) if isinstance(model, Ratio) else None


def around(lower: Any, upper: Any, value: Any, whole: Ends) -> Ends:
    """Ends that contain the value, which noise can carry to where no data lies; all there is where there is no value."""
    return whole if pd.isna(value) else (min(lower, value), max(upper, value))


def narrowed(
    holds: Callable[[float], bool], low: float, high: float, rounds: int = 60, ratio: bool = False
) -> tuple[float, float]:
    """From where on something holds: between these two places, whose distance, or ratio, is halved so often."""
    for _ in range(rounds):
        middle = math.sqrt(low * high) if ratio else (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def normal(level: float) -> float:
    """Within which a standard normal number stays with this probability."""
    return NormalDist().inv_cdf(0.5 + level / 2)


def percent(level: float) -> str:
    """Write a level as people do: ``95 %``, ``99.9 %``."""
    return f"{100 * float(level):.12g} %"


def rounded_up(x: float) -> str:
    """Write a positive number with three digits, or all those before the point, never a smaller one."""
    exact = Decimal(str(x))
    plain = -9 < exact.adjusted() < 15
    digits = max(3, exact.adjusted() + 1) if plain else 3
    cut = Context(prec=digits, rounding=ROUND_CEILING).plus(exact)
    return f"{cut:,f}" if plain else str(cut)


def duration_unit(length: pd.Timedelta) -> tuple[str, pd.Timedelta]:
    """Return the largest unit that is not longer than a duration."""
    return next((unit for unit in DURATION_UNITS if length >= unit[1]), DURATION_UNITS[-1])


def _fits(value: pd.Series[Any], half: Fraction) -> bool:
    """Whether the ends are int64 for sure."""
    return half < MOST_INTEGER and bool(value.between(-MOST_INTEGER, MOST_INTEGER).all())


def holding(value: pd.Series[Any], lower: Any, upper: Any) -> Ends:
    """Ends as they are told: an interval contains its value."""
    own = value.to_numpy(dtype=np.float64)
    ends = (pd.Series(end, index=value.index, name=value.name) for end in (np.fmin(lower, own), np.fmax(upper, own)))
    return next(ends), next(ends)


def series_of(ends: list[Ends], like: pd.Series[Any]) -> Ends:
    """Two Series on the index of another one."""
    every = [end for pair in ends for end in pair]
    whole = all(isinstance(end, int) and abs(end) < MOST_INTEGER for end in every)
    numbers = all(isinstance(end, float | int) for end in every)
    dtype = np.int64 if whole else np.float64 if numbers else None
    lower, upper = (
        pd.Series([pair[side] for pair in ends], index=like.index, name=like.name, dtype=dtype) for side in (0, 1)
    )
    return lower, upper

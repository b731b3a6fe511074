"""Error bars of quantiles: half of the price draws the points, half counts the rows between public cuts around them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.base import (
    BAR_NOTE,
    BAR_SHARE,
    Answer,
    Caution,
    ExpectedError,
    Guarantee,
    Steps,
    Terms,
    noise_of,
    noised,
    once,
    pure_epsilon,
)
from pandas_dp.aggregates.quantiles import QuantileOf
from pandas_dp.aggregates.rotated import Floats
from pandas_dp.aggregates.uncertainty import LEVEL, EachOf, Ends, RankBound, around
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.mechanisms.quantiles import Ladder, cuts
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.core.statistics.lattice_counts import Grid
from pandas_dp.facts.kinds import Kind

MANY = 100  # cells, beyond which the law of their sums is nearly normal
FINE, NOTHING = 16, 1e-15  # steps in a standard deviation, and chances that are left out
HIGHEST, CLOSE = 1 - 1e-9, 1e-3  # level of half-widths by convolution, and how close they are, in steps
# an empty group shows a number with about 1 %; of those with few rows that do, more than the wanted share would be wrong at the
# level itself, as large noise carries them there
SHOWN, FEW, SHARE_OF_FEW = 0.99, 0.999, 0.04
UNKNOWN = Caution(
    "no value where the interval at 99 % is the whole of the bounds: too few rows to tell; a larger epsilon"
)


@lru_cache(maxsize=1024)
def half_widths(q: Fraction, cells: int, noise: Noise, level: float) -> Floats:
    """Of the noise of D at each cut: 1 - q times each cell up to it, -q times each one beyond; shape (cells - 1,).

    By the law of single draws, convolved; of many cells by the normal law, a hundredth wider (computed, not proved: for levels
    up to 95 % and no draw that dominates); otherwise by a bound for all weighted sums.
    """
    upto = np.arange(cells)[:, None] < np.arange(1, cells)  # shape (cells, cuts)
    weights = np.where(upto, float(1 - q), float(-q))
    bound = noise.half_widths(weights, level)
    if level <= HIGHEST and cells <= MANY:
        found = np.array([by_convolution(q, cut, cells - cut, noise, level) for cut in range(1, cells)])
    elif level <= LEVEL:
        length = np.sqrt((weights**2).sum(axis=0))
        normal = 1.01 * NormalDist().inv_cdf(0.5 + level / 2) * noise.standard_deviation * length
        found = np.where(np.abs(weights).max(axis=0) <= length / 4, normal, bound)
    else:
        return bound
    return np.asarray(np.minimum(found, bound))


def by_convolution(q: Fraction, before: int, after: int, noise: Noise, level: float) -> float:
    """The half-width of (1 - q) X - q Y, X and Y sums of so many draws."""
    step, transform = law_of(noise)
    (most, one), (least, other) = sorted(((float(1 - q), before), (float(q), after)), reverse=True)
    first, second = (np.fft.fftshift(np.fft.irfft(transform**draws)) for draws in (one, other))
    beyond = np.append(np.cumsum(first[::-1])[::-1], 0)  # P(first >= x), x from the lowest one on
    at, middle = np.flatnonzero(second > NOTHING), len(first) // 2
    rest, chances = (at - middle) * least, second[at]
    low, high = 0.0, noise.tail(level) * (before + after) / step + 1
    while high - low > CLOSE:
        tried = (low + high) / 2
        above = np.floor((tried - rest) / most).astype(np.int64) + 1 + middle
        more = chances @ beyond[above.clip(0, len(first))] > (1 - level) / 2
        low, high = (tried, high) if more else (low, tried)
    return (high + CLOSE) * step


@lru_cache(maxsize=64)
def law_of(noise: Noise) -> tuple[int, NDArray[np.complex128]]:
    """A step, and the transform of a law of one draw in such steps, on as many as sums of `MANY` draws need.

    A step is one of the noise, or so many of them that a standard deviation has `FINE`: then draws are rounded to the nearest
    one. That the tails of sums are no smaller for it is computed, not proved.
    """
    step = max(1, int(noise.standard_deviation / FINE))
    tails = [1.0]  # P(|Z| >= k steps)
    while tails[-1] > NOTHING:
        tails.append(min(2 * float(noise.lifting(((2 * len(tails) - 1) * step + 1) // 2, 64)), 1.0))
    law = np.zeros(1 << (8 * len(tails)).bit_length())
    each = -np.diff(tails)  # |Z| = 0, 1, ...
    law[0] = each[0]
    law[1 : len(each)] = law[-1 : -len(each) : -1] = each[1:] / 2
    return step, np.fft.rfft(law)


@dataclass(frozen=True)
class Rungs:
    """What noisy counts of cells say of the quantile Q, the smallest lattice point with at least q n rows at or below it.

    With D(x) = (1 - q) (rows at or below x) - q (rows above x), Q <= x where D(x) >= 0, and only there. From the first cut on
    those are passed where D is surely negative, from the last one back those where it is surely positive; each test errs with
    half of 1 - level, as the noise of D is symmetric. The lower end is above Q only if the test at the first cut that is not
    below Q errs, however many cuts there are, as all before it had to be passed; so for the upper end.
    Of q = 1 the upper end, and of q = 0, for which Q is the smallest value, the lower one is the bound itself: one row decides.

    Parameters
    ----------
    q : Fraction
    cuts : tuple of int
        Rising offsets after which a cell ends.
    cells : tuple of int
        Noisy rows of each cell, one more than there are cuts.
    noise : Noise
    lattice : Lattice or Grid
    kind : Kind
    held : bool
        Whether every value within the bounds is a lattice point; others lie half a step away from theirs at most.
    """

    q: Fraction
    cuts: tuple[int, ...]
    cells: tuple[int, ...]
    noise: Noise
    lattice: Lattice | Grid
    kind: Kind
    held: bool

    def _tests(self, level: float) -> tuple[Floats, Floats]:
        """D at each cut, and the half-width of its noise."""
        upto = np.cumsum(self.cells, dtype=np.float64)
        return upto[:-1] - float(self.q) * upto[-1], half_widths(self.q, len(self.cells), self.noise, level)

    @property
    def known(self) -> bool:
        """Whether a value is shown."""
        return not self._whole(SHOWN)

    def _whole(self, level: float) -> bool:
        return self._passed(level) == (0, self.lattice.cells)

    def _level(self, level: float) -> float:
        """A higher one where there are few rows."""
        return 1 - (1 - level) * SHARE_OF_FEW if self._whole(FEW) else level

    def ends(self, level: float) -> tuple[int, int]:
        """Offsets of the lower and the upper end."""
        return self._passed(self._level(level))

    def _passed(self, level: float) -> tuple[int, int]:
        surplus, half = self._tests(level)
        below = np.append(surplus >= -half, True).argmax() if self.q > 0 else 0  # cuts that are passed
        above = np.append((surplus <= half)[::-1], True).argmax() if self.q < 1 else 0
        return self.cuts[below - 1] + 1 if below else 0, self.cuts[-above] if above else self.lattice.cells

    def bounds(self, value: Any, level: float) -> Ends:
        """Values of both ends, beside a point those that are nearer to it than to the next one."""
        (lower, upper), last = self.ends(level), self.lattice.cells
        beside = (lower, upper) if self.held else (max(lower - 1, 0), min(upper + 1, last))
        least, most = self._middle(lower, beside[0]), self._middle(upper, beside[1])
        return around(least, most, value, (self._middle(0, 0), self._middle(last, last)))

    def _middle(self, one: int, other: int) -> Any:
        return self.kind.value((self.lattice.point(one) + self.lattice.point(other)) / 2)

    def rank(self, offset: int, level: float) -> RankBound:
        """How far q n is from the ranks of a point that cuts were made around."""
        surplus, half = self._tests(self._level(level))
        at = bisect_left(self.cuts, offset)  # of the cut after the point, where there is one
        over = surplus[at - 1] + half[at - 1] if at else 0.0
        under = half[at] - surplus[at] if at < len(self.cuts) else 0.0
        return RankBound(max(over, under, 0.0), level)


def rungs_around(
    points: Sequence[int], counts: Iterator[int], levels: Sequence[Fraction], *public: Any
) -> list[tuple[int, Rungs]]:
    """Of each level the point, cut to its interval, none below that of a lower level, and what the next counts say of it."""
    at = tuple(cuts(points, public[1].cells))
    cells = tuple(islice(counts, len(at) + 1))
    rungs = [Rungs(q, at, cells, *public) for q in levels]
    ends = [each.ends(LEVEL) for each in rungs]
    cut = sorted(min(max(o, lower), upper) for o, (lower, upper) in zip(points, ends, strict=True))
    return list(zip(cut, rungs, strict=True))


@dataclass(frozen=True)
class QuantileWithBar(QuantileOf):
    """Quantiles as of `QuantileOf` at half of the price, each with an interval from counts around the points.

    Parameters
    ----------
    unit : Fraction or None
        What all values of the column are multiples of, where its dtype says.
    """

    unit: Fraction | None = None

    @once
    def _half(self, terms: Terms) -> Terms:
        """What the points are drawn for, and the counts."""
        pure_epsilon(terms.price, "a quantile")
        return replace(terms, price=terms.price.share(1 - BAR_SHARE))

    @once
    def _ladder(self, terms: Terms) -> Ladder:
        half = self._half(terms)
        return Ladder(self._mechanisms(half), noise_of(noised(self._statistic, half.price, terms.unit)))

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Of both."""
        return self._ladder(terms).loss(self._statistic.sensitivity(terms.unit))

    def steps(self, terms: Terms) -> Steps:
        """One look for the points and the counts, which see the same rows."""
        ladder = self._ladder(terms)
        noisy = yield Measurement(self._statistic, ladder)
        return self.answer(noisy, ladder)

    def answer(self, noisy: Noisy, ladder: Ladder) -> Answer:
        """Points, each cut to its interval, and missing where nothing is known."""
        groups, levels = 1 if self.by is None else self.by.count, tuple(sorted(self.q))
        rest, found = iter(noisy[groups * len(levels) :]), []
        for place in range(groups):
            points = noisy[place * len(levels) : (place + 1) * len(levels)]
            each = rungs_around(points, rest, levels, ladder.noise, self.lattice, self.kind, self._held)
            found += [each[levels.index(q)] for q in self.q]
        known = np.array([rungs.known for _, rungs in found])
        notes = (BAR_NOTE,) if known.all() else (UNKNOWN, BAR_NOTE)
        values = [self.kind.value(self.lattice.point(offset)) for offset, _ in found]
        if not self.scalar or self.labels is not None:
            series = pd.Series(values, index=self._index(), name=self.column).where(known)
            return Answer(series, ladder.name, EachOf(tuple(rungs for _, rungs in found)), notes)
        ((offset, rungs),) = found
        if not rungs.known:
            missing = pd.NaT if isinstance(values[0], pd.Timestamp | pd.Timedelta) else math.nan
            return Answer(missing, ladder.name, rungs, notes)
        ranks = (str(rungs.rank(offset, LEVEL)),) if offset == noisy[0] else ()
        return Answer(values[0], ladder.name, rungs, (*ranks, *notes))

    @property
    def _held(self) -> bool:
        """Whether all values of the column within the bounds are lattice points."""
        if self.unit is None or not isinstance(self.lattice, Lattice):
            return False
        return (self.unit / self.lattice.step).denominator == 1

    def guarantee(self, terms: Terms) -> Guarantee:
        """That of the points, at half of the price."""
        return super().guarantee(self._half(terms))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the rank."""
        found = super().expected(terms, rows)
        error = f"{found.error}; in values not known in advance"
        return replace(found, mechanism=self._ladder(terms).name, error=error, half_width=None, notes=(BAR_NOTE,))

"""Error bars of quantiles: counts of the rows between public cuts around the points, for a share of the price."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import (
    BAR_NOTE,
    BAR_SHARE,
    WHOLE,
    Answer,
    Caution,
    ExpectedError,
    Guarantee,
    Guaranteed,
    Steps,
    Terms,
    noise_of,
    once,
)
from pandas_dp.aggregates.ladder_noise import half_widths, widest
from pandas_dp.aggregates.quantiles import SIZE_SHARE, Extreme, QuantileOf, level_of, nearest_rank
from pandas_dp.aggregates.rotated import Floats
from pandas_dp.aggregates.uncertainty import ENOUGH, LEVEL, EachOf, Ends, RankBound, around, normal
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.mechanisms.quantiles import Ladder, cuts
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.core.statistics.lattice_counts import Grid, LatticeCounts
from pandas_dp.facts.kinds import Kind

# an empty group shows a number with about 1 %; of those with few rows that do, more than the wanted share would be wrong at the
# level itself, as large noise carries them there
SHOWN, FEW, SHARE_OF_FEW = 0.99, 1 - 1e-6, 0.01
UNKNOWN = Caution(
    "no value where the 99 % interval covers the whole range between the bounds: too few rows to tell; try a larger epsilon"
)
SPLIT = Caution(
    "an interval as wide as the bounds, with a value: there are rows near both ends and few between, so the answer may "
    "lie anywhere between"
)
SURE = 4  # half-widths that the rows on the smaller side must be, for them to be there: of no rows one in a million


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
    of_sample : bool
        Whether the ends are those for the population of which the rows are a sample. The rows at or below its quantile are
        then a binomial number, so half-widths are the root of two squares: wider than needed at 95 % and above, and below that
        the ends are those of 95 %.
    """

    q: Fraction
    cuts: tuple[int, ...]
    cells: tuple[int, ...]
    noise: Noise
    lattice: Lattice | Grid
    kind: Kind
    held: bool
    of_sample: bool = False

    @property
    def population(self) -> Rungs | None:
        """The same for the population; of its largest and smallest value nothing is known."""
        return replace(self, of_sample=True) if 0 < self.q < 1 else None

    @property
    def _surplus(self) -> Floats:
        """D at each cut."""
        upto = np.cumsum(self.cells, dtype=np.float64)
        return np.asarray(upto[:-1] - float(self.q) * upto[-1])

    @property
    def known(self) -> bool:
        """Whether a value is shown."""
        return not self._whole(SHOWN) or self.enough

    @property
    def enough(self) -> bool:
        """Whether there are surely so many rows that a cut would be passed if they were on one side of it."""
        smaller = sum(self.cells) * min(float(self.q or 1), float(1 - self.q or 1))
        return bool(smaller > SURE * half_widths(self.q, len(self.cells), self.noise, SHOWN).max())

    def _whole(self, level: float) -> bool:
        """Whether no cut is passed: mostly some is even by bounds that are quickly computed."""
        terms, whole = (self.q, len(self.cells), self.noise, level), (0, self.lattice.cells)
        return self._passed(widest(*terms)) == whole and self._passed(half_widths(*terms)) == whole

    def _level(self, level: float) -> float:
        """A higher one where there are few rows."""
        return 1 - (1 - level) * SHARE_OF_FEW if self._whole(FEW) else level

    def ends(self, level: float) -> tuple[int, int]:
        """Offsets of the lower and the upper end."""
        return self._passed(self._half(level))

    def _half(self, level: float) -> Floats:
        terms = self.q, len(self.cells), self.noise
        if not self.of_sample:
            return half_widths(*terms, self._level(level))
        higher = self._level(max(level, LEVEL))
        sampling = normal(higher) * math.sqrt(max(sum(self.cells), 0) * self.q * (1 - self.q))
        return np.hypot(half_widths(*terms, higher), sampling)

    def _passed(self, half: Floats) -> tuple[int, int]:
        surplus = self._surplus
        below = np.append(surplus >= -half, True).argmax() if self.q > 0 else 0  # cuts that are passed
        above = np.append((surplus <= half)[::-1], True).argmax() if self.q < 1 else 0
        return self.cuts[below - 1] + 1 if below else 0, self.cuts[-above] if above else self.lattice.cells

    def bounds(self, value: Any, level: float) -> Ends:
        """Values of both ends, beside a point those that are nearer to it than to the next one."""
        if self.of_sample and sum(self.cells) <= ENOUGH * math.sqrt(len(self.cells)) * self.noise.standard_deviation:
            missing = pd.NaT if self.kind.name in ("datetime", "timedelta") else math.nan
            return missing, missing
        (lower, upper), last = self.ends(level), self.lattice.cells
        beside = (lower, upper) if self.held else (max(lower - 1, 0), min(upper + 1, last))
        least, most = self._middle(lower, beside[0]), self._middle(upper, beside[1])
        return around(least, most, value, (self._middle(0, 0), self._middle(last, last)))

    def _middle(self, one: int, other: int) -> Any:
        return self.kind.value((self.lattice.point(one) + self.lattice.point(other)) / 2)

    def shown(self, offset: int) -> Any:
        """Value of a point; missing where nothing is known."""
        value = self._middle(offset, offset)
        missing = pd.NaT if isinstance(value, pd.Timestamp | pd.Timedelta) else math.nan
        return value if self.known else missing

    def rank(self, offset: int, level: float) -> RankBound:
        """How far q n is from the ranks of a point that cuts were made around."""
        surplus, half = self._surplus, self._half(level)
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


def told(rungs: Iterable[Rungs]) -> tuple[Caution, ...]:
    """Of quantiles whose interval is the whole of the bounds: why."""
    every = list(rungs)
    whole = [one for one in every if 0 < one.q < 1 and one.known and one.ends(LEVEL) == (0, one.lattice.cells)]
    said = (
        (UNKNOWN, not all(one.known for one in every)),
        (SPLIT, any(one.enough for one in whole)),
        (WHOLE, not all(one.enough for one in whole)),
    )
    return tuple(caution for caution, due in said if due)


def held(unit: Fraction | None, lattice: Lattice | Grid) -> bool:
    """Whether all values of a column within the bounds are lattice points, where they are multiples of a unit."""
    return unit is not None and isinstance(lattice, Lattice) and (unit / lattice.step).denominator == 1


class WithBar(Guaranteed):
    """Choices of ranks at what `BAR_SHARE` leaves of the price; the rest buys counts around them."""

    version = 4  # above that of moments: of several questions together the largest counts

    @once
    def _for_point(self, terms: Terms) -> Terms:
        """At what the points are drawn for."""
        terms.epsilon("a quantile")
        return terms.share(1 - BAR_SHARE)

    def guarantee(self, terms: Terms) -> Guarantee:
        """That of the points, at their share of the price."""
        return super().guarantee(self._for_point(terms))  # type: ignore[safe-super]  # of the class beside this one


@dataclass(frozen=True)
class QuantileWithBar(WithBar, QuantileOf):
    """Quantiles as of `QuantileOf` at what `BAR_SHARE` leaves of the price, each with an interval from counts around them.

    Parameters
    ----------
    unit : Fraction or None
        What all values of the column are multiples of, where its dtype says.
    """

    unit: Fraction | None = None

    @once
    def _ladder(self, terms: Terms) -> Ladder:
        counts = terms.share(BAR_SHARE).noised(self._statistic)
        return Ladder(self._mechanisms(self._for_point(terms)), noise_of(counts))

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
            each = rungs_around(
                points, rest, levels, ladder.noise, self.lattice, self.kind, held(self.unit, self.lattice)
            )
            found += [each[levels.index(q)] for q in self.q]
        known = np.array([rungs.known for _, rungs in found])
        notes = (*told(rungs for _, rungs in found), BAR_NOTE)
        values = [self.kind.value(self.lattice.point(offset)) for offset, _ in found]
        if not self.scalar or self.labels is not None:
            series = pd.Series(values, index=self._index(), name=self.column).where(known)
            return Answer(series, ladder.name, EachOf(tuple(rungs for _, rungs in found)), notes)
        ((offset, rungs),) = found
        ranks = (str(rungs.rank(offset, LEVEL)),) if rungs.held and rungs.known and offset == noisy[0] else ()
        return Answer(rungs.shown(offset), ladder.name, rungs, (*ranks, *notes))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the rank."""
        found = super().expected(terms, rows)
        error = f"{found.error}; in values not known in advance"
        return replace(found, mechanism=self._ladder(terms).name, error=error, half_width=None, notes=(BAR_NOTE,))


@dataclass(frozen=True)
class ExtremeWithBar(WithBar, Extreme):
    """The value of `Extreme` at its share of the price, with what counts around it say of the smallest or largest value itself.

    One row decides that, so one end of its interval is the bound. The other is that of the quantile 0 or 1, see `Rungs`, and
    the value is moved to it where it lies before it.
    """

    unit: Fraction | None = None

    def _ladder(self, terms: Terms, q: Fraction) -> tuple[LatticeCounts, Ladder]:
        """The counts of all points, and the choice of a level with the counts of cells."""
        counts = LatticeCounts(self.column, self.lattice)
        choice = self._quantile(q)._mechanisms(self._for_point(terms).share(1 - SIZE_SHARE))
        return counts, Ladder(choice, noise_of(terms.share(BAR_SHARE).noised(counts)))

    def loss(self, terms: Terms) -> PrivacyLoss:
        """The number of rows, the choice and the counts."""
        size, (counts, ladder) = self._size(self._for_point(terms)), self._ladder(terms, Fraction(1, 2))
        return terms.loss(size) + ladder.loss(counts.sensitivity(terms.unit))

    def steps(self, terms: Terms) -> Steps:
        """The number of rows, then the point and the counts."""
        first, largest = self._for_point(terms), self.largest
        (rows,) = yield self._size(first)
        rank = nearest_rank(self.lattice, first.share(1 - SIZE_SHARE).epsilon("a quantile"), terms.unit)
        q = level_of(rank, rows)
        counts, ladder = self._ladder(terms, 1 - q if largest else q)
        point, *cells = yield Measurement(counts, ladder)
        of_end = Fraction(int(largest)), ladder.noise, self.lattice, self.kind, held(self.unit, self.lattice)
        ((offset, rungs),) = rungs_around([point], iter(cells), of_end[:1], *of_end[1:])
        name, bound = ("largest", "upper") if largest else ("smallest", "lower")
        ends = Caution(
            f"the {name} value belongs to one row, so this is a value near it, and the interval reaches to the {bound} bound"
        )
        notes = (ends, BAR_NOTE) if rungs.known else (UNKNOWN, BAR_NOTE)  # `ends` says that it is nearly all
        return Answer(rungs.shown(offset), ladder.name, rungs, notes)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the rank of the point."""
        name = self._ladder(terms, Fraction(1, 2))[1].name
        found = self.guarantee(terms).expected(name, notes=(BAR_NOTE,))
        return replace(found, error=f"{found.error}; in values not known in advance", half_width=None)

"""Quantiles: lattice points chosen by the exponential mechanism on their rank, alone or by recursion, and rows around them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Fill, random_bytes, random_words
from pandas_dp.core.samplers.scalar import bernoulli_exp, uniform_below
from pandas_dp.core.samplers.selection import exponential_mechanism
from pandas_dp.core.statistics.lattice_counts import Points

Ints = NDArray[np.int64]

NEAR = 40  # farther points weigh less than exp(-40), each: they are looked at together
FARTHEST = 1 << 60  # beyond all ranks
TIES = 16  # random bits that spread the rows of one lattice point
FINEST = 10**6  # largest denominator of a level: ranks in units of its inverse stay far below 2**63


class Intervals(NamedTuple):
    """Occupied runs of points, ascending: where each starts, its points, and its rows.

    Each row stands at a uniformly random point of its cell, drawn when somebody looks: `placed` makes cells of one point.
    """

    starts: Ints
    sizes: Ints
    counts: Ints


@dataclass(frozen=True)
class Quantile:
    """Chooses a lattice point 0..cells by the exponential mechanism on its distance in rank from q n.

    The score of point o is minus the distance of q n from [rows below o, rows at or below o], which handles ties: a
    value held by many rows is a good answer, not an interval of length zero.

    Notes
    -----
    Let any count of rows move by at most k = `linf`. Under add/remove (`score_range` = k) adding rows moves q n by q and
    the interval's ends by 0 or 1 each a row, so the score moves by at most k max(q, 1 - q); under replace-one by at
    most k. For q = 0 and q = 1 a score is minus the number of rows on one side of its point, so the changes of two scores
    differ by that of the rows between the points, at most k. So with D the bound above the loss is pure
    2 rate D (rate k for q in {0, 1}), in each part of the data, bounded-range. For all data, also without any rows,
    exactly one point of the lattice is returned for each part.

    In several parts, one row that comes or goes moves the scores of the two points of its part apart by at most
    s = `spread_of_row`, so it costs rate s, bounded-range, and rows of which `l1` come or go in all cost at most rate s l1,
    however they are distributed: the choices of different parts are independent, and the ranges of their losses add up.
    The smaller one of this and the bound part by part is charged.
    Source: Smith 2011, Algorithm 2, with the exponent halved as replacement needs; McSherry, Talwar 2007.
    """

    q: Fraction
    rate: Fraction
    cells: int

    name = "exponential mechanism on ranks"

    @classmethod
    def calibrate(cls, q: Fraction, cells: int, epsilon: Fraction, sensitivity: Sensitivity) -> Quantile:
        """Return the sharpest choice whose loss in all touched parts together is epsilon."""
        return cls(q, epsilon / cls(q, Fraction(1), cells)._ranges(sensitivity)[1], cells)

    def _ranges(self, sensitivity: Sensitivity) -> tuple[Fraction, Fraction]:
        """That of one touched part, and those of all touched parts together."""
        k, spread = sensitivity.linf, spread_of_row(self.q)
        one = k * spread if sensitivity.score_range == k or self.q in (0, 1) else Fraction(2 * k)
        return one, min(one * sensitivity.touched, spread * sensitivity.l1)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure rate * range in each touched part, or that of all rows together."""
        in_part, in_all = (self.rate * each for each in self._ranges(sensitivity))
        if in_part * sensitivity.touched == in_all:
            return PrivacyLoss.pure(in_part, bounded_range=True).times(sensitivity.touched)
        return PrivacyLoss.pure(in_all, bounded_range=True)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One lattice offset for each part."""
        return [self.point(part, fill) for part in exact.open()]

    def point(self, points: Points, fill: Fill) -> int:
        """One lattice offset, for the rows of one part."""
        cells = Intervals(points.offsets, np.ones_like(points.offsets), points.counts)
        return self.choose(cells, 0, self.cells, fill)[0]

    def choose(self, cells: Intervals, low: int, high: int, fill: Fill) -> tuple[int, Intervals]:
        """One point low..high, and the cells with the places of all rows that were drawn for it.

        Candidates are near cells, the free runs between them, and all points on either side whose rows are far from the
        target: their bound is the score of the nearest rank. Hardly ever one of these is chosen. Then a uniform point of
        them is accepted with probability exp(rate (its score - bound)), or else no cell counts as far. For all data and all
        places of rows this is the exponential mechanism on single points, by rejection from bounds, whatever they are.
        """
        top, bottom = self.q.numerator, self.q.denominator  # ranks are counted in units of 1 / bottom
        reach = min(int(NEAR * bottom / self.rate), FARTHEST)
        while True:
            ends = bottom * np.concatenate(([0], np.cumsum(cells.counts)))  # ranks between cells, shape (cells + 1,)
            target = top * (int(ends[-1]) // bottom)
            first = int(ends[1:].searchsorted(target - reach))
            last = int(ends[:-1].searchsorted(target + reach, "right"))
            if (cells.sizes[first:last] > 1).any():
                cells = placed(cells, first, last, fill)
                continue
            # the near cells, and one for all points up to them and one for all beyond them, where there are cells
            near, beyond = cells.starts[first:last], cells.starts[last : last + 1]  # beyond, upto: shape (0 or 1,)
            upto = cells.starts[first - 1 : first] + cells.sizes[first - 1 : first]
            starts = np.concatenate((np.full_like(upto, low), near, beyond))
            stops = np.concatenate((upto, near + 1, np.full_like(beyond, high + 1)))
            ranks = np.concatenate((0 * upto, ends[first : last + 1], np.full_like(beyond, ends[-1])))
            # distance of the target from [below, below + count] at occupied points, and from the one rank of free runs
            distances = np.concatenate((_distance(target, ranks[:-1], ranks[1:]), _distance(target, ranks, ranks)))
            from_, to = np.concatenate((starts, [low], stops)), np.concatenate((stops, starts, [high + 1]))
            sizes = to - from_  # shape (2 * occupied + 1,)
            chosen = exponential_mechanism(-distances, self.rate / bottom, counts=sizes, fill=fill)
            point = int(from_[chosen]) + (uniform_below(int(sizes[chosen]), fill=fill) if sizes[chosen] > 1 else 0)
            if chosen >= starts.size or sizes[chosen] == 1:
                return point, cells
            k = max(int(cells.starts.searchsorted(point, "right")) - 1, 0)
            cells = placed(cells, k, k + 1, fill)
            split = cells.starts.searchsorted([point, point + 1])  # cells before the point, and up to it
            below, at = (bottom * cells.counts[:i].sum() for i in split)
            farther = int(_distance(target, below, at) - distances[chosen])
            if bernoulli_exp(farther * self.rate / bottom, fill=fill):
                return point, cells
            reach = FARTHEST


@dataclass(frozen=True)
class RecursiveQuantiles:
    """Chooses a lattice point for each level: the middle one first, then the others among the rows on its two sides.

    ``levels`` rise strictly within [0, 1]. After the answer v for level p the rows below v answer the levels q < p, the
    others those above, each on its own side of v, so the answers rise by construction. A side asks for the level
    relative to its rows: q / p, or (q - p) / (1 - p). Before all this every row gets `TIES` random bits after its
    lattice point, so that v also splits the rows of a heavy point where p asks for; the answers drop the bits again.
    Several parts of the data are answered one by one.

    Notes
    -----
    The bits of a row are independent of everything else, so it does not matter that they are drawn only when a choice looks
    at the row, and for any fixed bits neighbouring tables stay neighbours of rows
    that move as many counts as before, and a mixture over the bits loses no more. Given all earlier answers each
    row counts in one of the choices of its depth. One row that comes or goes moves the scores of that choice, of
    relative level r, by amounts that differ by at most `spread_of_row(r)`, and the choice has rate
    ``rate / spread_of_row(r)``. So a unit that moves counts by l1 in all (k rows under add/remove, k out and k in under
    replace-one) costs every depth rate * l1 in all, bounded-range, however its rows are distributed; choices of one
    depth are independent given the earlier answers, depths are composed: pure and bounded-range rate * l1, m.bit_length()
    = ceil(log2(m + 1)) times for m levels.
    Source: Kaplan, Schnapp, Stemmer 2022, Algorithm 1.
    """

    levels: tuple[Fraction, ...]
    rate: Fraction
    cells: int

    name = "exponential mechanism on ranks, recursive"

    @classmethod
    def calibrate(
        cls, levels: tuple[Fraction, ...], cells: int, epsilon: Fraction, sensitivity: Sensitivity
    ) -> RecursiveQuantiles:
        """Return the sharpest choices whose losses sum to epsilon."""
        return cls(levels, epsilon / (sensitivity.l1 * len(levels).bit_length()), cells)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure rate * l1 for each depth."""
        return PrivacyLoss.pure(self.rate * sensitivity.l1, bounded_range=True).times(len(self.levels).bit_length())

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One lattice offset for each level, rising, of one part after the other."""
        last, chosen = ((self.cells + 1) << TIES) - 1, []
        for offsets, counts in exact.open():
            cells = Intervals(offsets << TIES, np.full_like(offsets, 1 << TIES), counts)
            chosen += self._choose(self.levels, Fraction(0), Fraction(1), cells, 0, last, fill)
        return [point >> TIES for point in chosen]

    def _choose(
        self,
        levels: tuple[Fraction, ...],
        first: Fraction,
        last: Fraction,
        cells: Intervals,
        low: int,
        high: int,
        fill: Fill,
    ) -> list[int]:
        """Answers within low..high for levels between first and last, of the rows that lie between those two's answers."""
        if not levels:
            return []
        middle = len(levels) // 2
        level = levels[middle]
        answer, cells = self.choice(level, first, last, high - low).choose(cells, low, high, fill)
        cut = int(np.searchsorted(cells.starts, answer))  # no cell lies on both sides: its rows would have been placed
        left, right = Intervals(*(each[:cut] for each in cells)), Intervals(*(each[cut:] for each in cells))
        below = self._choose(levels[:middle], first, level, left, low, answer, fill)
        return [*below, answer, *self._choose(levels[middle + 1 :], level, last, right, answer, high, fill)]

    def choice(self, level: Fraction, first: Fraction, last: Fraction, cells: int) -> Quantile:
        """One choice, among the rows between the answers for the levels first and last: public."""
        relative = ((level - first) / (last - first)).limit_denominator(FINEST)
        return Quantile(relative, self.rate / spread_of_row(relative), cells)


@dataclass(frozen=True)
class Ladder:
    """Chooses points, then counts the rows of each part between cut points around its own: `cuts`, with noise on each count.

    Drawn are all points, in order in each part, then the noisy counts of the cells of one part after the other: rows up to the
    first cut, from there to the next one, ..., beyond the last.

    Notes
    -----
    For all data the cuts are a function of the points drawn before. Given them, each row counts in one cell of its part, so the
    counts of cells are sums of counts at disjoint sets of points: they move by no more than `LatticeCounts` states, whose
    bounds hold with all rows of a unit at one point, too, nor than `BlockPoints` states, as a value that changes leaves one
    cell and enters another. So the counts have the loss of their noise whatever the points are,
    and both draws together lose at most the sum (adaptive composition). Both see the same rows of a unit with many, as the
    exact counts are made once: for any choice of these rows neighbours are as far apart as stated.
    """

    choices: tuple[Quantile, ...] | tuple[RecursiveQuantiles, ...]
    noise: Noise

    @property
    def name(self) -> str:
        """Both."""
        return f"{self.choices[0].name}, {self.noise.name}"

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Sum over the choices and the counts."""
        return sum((choice.loss(sensitivity) for choice in self.choices), self.noise.loss(sensitivity))

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """See the class."""
        chosen = [choice.draw(exact, fill) for choice in self.choices]
        parts, cells = exact.open(), []
        each = [np.reshape(points, (len(parts), -1)) for points in chosen]  # shape (parts, points of the choice)
        points = np.sort(np.concatenate(each, axis=1), axis=1).tolist()
        for (offsets, counts), own in zip(parts, points, strict=True):
            ends = np.concatenate(([0], np.cumsum(counts)))  # rows up to each occupied point
            upto = ends[np.searchsorted(offsets, cuts(own, self.choices[0].cells), side="right")]
            cells += np.diff(upto, prepend=0, append=ends[-1]).tolist()
        return [*chain.from_iterable(points), *self.noise.draw(Exact(cells), fill)]


def cuts(points: Iterable[int], cells: int) -> list[int]:
    """Points after which a cell ends: each of these ones, the one before it, and others farther and farther away, rising."""
    steps = [1 << power for power in range((cells + 1).bit_length())]
    near = {cut for o in points for cut in (o - 1, o, *(o + step for step in steps), *(o - 1 - step for step in steps))}
    return sorted(cut for cut in near if 0 <= cut < cells)


@lru_cache(maxsize=256)
def spread_of_row(q: Fraction) -> Fraction:
    """How far one more row moves the scores of two points of a quantile apart: see `Quantile`."""
    return Fraction(1) if q in (0, 1) else 2 * max(q, 1 - q)


def placed(cells: Intervals, first: int, last: int, fill: Fill) -> Intervals:
    """The same, but that each row of the cells first..last - 1 has a uniformly random point of its cell for itself."""
    starts, sizes, counts = (each[first:last] for each in cells)
    rows = np.repeat(starts, counts)
    rows |= random_words(rows.size, fill, np.uint16) & np.repeat(sizes - 1, counts)  # sizes are powers of two
    points, rows_there = np.unique(rows, return_counts=True)  # shape (occupied points,)
    own = points, np.ones_like(points), rows_there
    return Intervals(*(np.concatenate((a[:first], b, a[last:])) for a, b in zip(cells, own, strict=True)))


def _distance(target: int, below: Ints, upto: Ints) -> Ints:
    """How far the target lies from [below, upto]."""
    return np.maximum(np.maximum(below - target, target - upto), 0)

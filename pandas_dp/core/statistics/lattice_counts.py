"""Counts on a public lattice, or on a grid that grows without bounds: what every quantile needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_rows, owners
from pandas_dp.core.lattice import Lattice, integer_info, present_mask
from pandas_dp.core.measurement import AddsUp, Exact, View
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.counts import rows_in_parts

SKEW = 7
ROWS = 1 << 20  # whose offsets are held at once: more where a table is longer, which is added for each time
MOST_TABLE = 1 << 22  # points of a table that adds up parts
GROWTH = 1.01


class Points(NamedTuple):
    """Occupied lattice points of one part, ascending, and the rows at each."""

    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Grid:
    """Points whose distance from a public start grows by 1 %: start + step (1.01^i - 1) / 0.01, i = 0, 1, ...

    Attributes
    ----------
    start, step : Fraction
        The first points are one step apart, in the column's unit.
    below, above : bool
        On which sides of the start they lie.
    bits : int
        The last distance is at least 2**bits, the one before it less.
    """

    start: Fraction
    step: Fraction
    below: bool
    above: bool
    bits: int

    @cached_property
    def candidates(self) -> NDArray[np.float64]:
        """The points as floats, strictly rising: only products and sums, which come out alike on every machine."""
        distances, step, most = [0.0], float(self.step), 2.0**self.bits
        while distances[-1] < most:
            distances.append(distances[-1] * GROWTH + step)
        up = np.array(distances)
        sides = ([-up] if self.below else []) + ([up] if self.above else [])
        return np.unique(np.concatenate(sides) + float(self.start))

    @property
    def cells(self) -> int:
        """Number of points but one."""
        return self.candidates.size - 1

    def point(self, i: int) -> Fraction:
        """The value of offset i."""
        return Fraction(float(self.candidates[i]))

    def offsets(self, values: NDArray[np.generic]) -> NDArray[np.int64]:
        """Number of the nearest point of each row, 0..cells; values beyond the ends count there.

        For all inputs an entry depends on its own row only and never falls as the value rises: it counts the middles
        between neighbouring points at or below the value (the first integers from there on for integers), which rise.
        """
        points = self.candidates
        cuts = points[:-1] + np.diff(points) / 2  # rounding keeps each between its two points
        if values.dtype.kind != "f":
            info = integer_info(values.dtype)
            # no value reaches a cut above the dtype, and every value is past one below it
            whole = [max(math.ceil(cut), info.min) for cut in cuts.tolist() if cut <= info.max]
            values, cuts = values.view(info.dtype), np.array(whole, dtype=info.dtype)
        return np.searchsorted(cuts, values, side="right").astype(np.int64, copy=False)


@dataclass(frozen=True)
class LatticeCounts(AddsUp):
    """Rows at each lattice point of a column, in all or by part; rows without a value count nowhere.

    Notes
    -----
    Each unit keeps at most k random rows. Any count of rows at, below or above a point moves by at most k; under
    add/remove all of them move in one direction (`linf` and `range` say so).

    By part rows are sampled so that a unit has at most c rows in each of at most m parts and k in all: within a part the
    same holds with min(c, k), and the rows that come and go in all parts together are at most `l1`, min(k, m c) for each
    side. Add/remove changes at most min(m, k) parts, replace-one twice as many.
    """

    column: str
    lattice: Lattice | Grid
    by: Partition | None = None

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        k, sides = unit.rows, 1 if unit.add_remove else 2
        if self.by is None:
            return Sensitivity(l1=sides * k, l2_squared=sides * k * k, linf=k, range=sides * k)
        c = min(unit.rows_per_group, k)
        l1, squared = sides * unit.rows_in_parts, sides * unit.squared_rows_in_parts
        touched = min(sides * min(unit.groups, k), self.by.count)
        return Sensitivity(l1=l1, l2_squared=squared, linf=c, range=sides * c, touched=touched)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact counts, as a list with the `Points` of each part, or of the one part."""
        values, present = view.column(self.column)
        mask = present_mask(values, present)
        if self.by is not None:
            parts, rows = rows_in_parts(view, unit, self.by, mask)
            points = self.lattice.cells + 1
            place = parts * points + self.lattice.offsets(values if rows is None else values[rows])
            occupied, counts = np.unique(place, return_counts=True)
            part, at = np.divmod(occupied, points)  # shape (occupied points of all parts,)
            edges = np.searchsorted(part, np.arange(self.by.count + 1)).tolist()
            return Exact([Points(at[i:j], counts[i:j].astype(np.int64)) for i, j in pairwise(edges)])
        if unit.column is not None:
            units, count = owners(view, unit)
            kept = units >= 0 if mask is None else (units >= 0) & mask
            positions = np.flatnonzero(kept)
            values = values[positions[bound_rows(units[positions], count, unit, view.fill)]]
        elif mask is not None:
            values = values[mask]
        if values.size * 4 < self.lattice.cells:  # few rows: sorting beats a table of all points
            occupied, counts = np.unique(self.lattice.offsets(values), return_counts=True)
            return Exact([Points(occupied, counts.astype(np.int64))])
        step = max(ROWS, self.lattice.cells)
        starts = range(0, max(values.size, 1), step)
        table = reduce(np.add, (self._skewed_counts(values[at : at + step]) for at in starts))
        skewed = np.flatnonzero(table)
        return Exact([Points(skewed - skewed // ((1 << SKEW) + 1), table[skewed])])

    def _skewed_counts(self, values: NDArray[np.generic]) -> NDArray[np.int64]:
        """Rows at each point o, at place o + o // 128, shape (cells * 129 // 128 + 1,).

        Whole numbers meet a fine lattice at a power-of-two stride, where all points share one set of the processor's cache;
        such places rise with o and break the stride.
        """
        offsets = self.lattice.offsets(values)  # shape (rows,)
        offsets *= (1 << SKEW) + 1
        offsets >>= SKEW
        return np.bincount(offsets, minlength=self.lattice.cells * ((1 << SKEW) + 1) // (1 << SKEW) + 1)

    def merge(self, parts: Iterator[Exact]) -> Exact:
        """The same for `Points`: counts at the same point of the same part are added."""
        if self.by is None and self.lattice.cells < MOST_TABLE:
            table = np.zeros(self.lattice.cells + 1, dtype=np.int64)
            for part in parts:
                ((offsets, counts),) = part.open()
                table[offsets] += counts  # no offset is listed twice
            occupied = np.flatnonzero(table)
            return Exact([Points(occupied, table[occupied])])
        total: list[Points] = next(parts).open()
        for part in parts:
            total = [_added(one, other) for one, other in zip(total, part.open(), strict=True)]
        return Exact(total)


def _added(one: Points, other: Points) -> Points:
    """Points of the rows of both, ascending; none is listed twice on one side."""
    merged = np.sort(np.concatenate((one.offsets, other.offsets)), kind="stable")  # merges two rising runs
    offsets = merged[np.diff(merged, prepend=-1) > 0]  # shape (points occupied on either side,)
    counts = np.zeros(offsets.size, dtype=np.int64)
    for side in (one, other):
        counts[np.searchsorted(offsets, side.offsets)] += side.counts
    return Points(offsets, counts)

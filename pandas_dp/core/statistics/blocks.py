"""Sample and aggregate: one value for each block of each group; one unit changes one block of a group it is in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_groups
from pandas_dp.core.lattice import Lattice, present_mask
from pandas_dp.core.measurement import Exact, View
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.randomness import random_words
from pandas_dp.core.statistics.lattice_counts import Points
from pandas_dp.core.statistics.sums import group_sum


@dataclass(frozen=True)
class BlockMeans:
    """Mean of a column in each of K random blocks of each group, as lattice offsets.

    Every row, or every unit where units own several rows, is put into one of K blocks by a random draw of its own.
    A block without rows has the middle of the lattice.

    Notes
    -----
    Couple two neighbouring tables by giving shared units the same blocks. A unit lies in one block of each group that
    it is in, and in at most m groups (enforced by sampling groups), so under add/remove at most m block values
    change, each anywhere in 0..cells; under replace-one at most 2 m, since the unit may leave m groups and enter m
    others; never more than there are groups.
    K is public, so for one group this is replace-one on a table of K rows whatever the session's relation.
    Where each row is its own unit, adding one moves its block's mean by at most cells / 2: from the middle if the block
    was empty, else by at most cells / (rows + 1); rounding adds at most 1/2 at either end, so an integer moves by at
    most cells // 2 + 1. Replacing one is a removal and an addition, within one block at most cells in all.
    Source: Nissim, Raskhodnikova, Smith 2007, Section 4; McSherry 2009 for the groups.
    """

    column: str
    lattice: Lattice
    by: Partition
    blocks: int

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """Of the sums of block values of each group; for one group's values see `touched`."""
        sides, cells = 1 if unit.add_remove else 2, self.lattice.cells
        touched = min(sides * min(unit.groups, unit.rows), self.by.count)
        if unit.column is None:
            half = cells // 2 + 1
            squared = half**2 if unit.add_remove else max(cells**2, 2 * half**2)
            return Sensitivity(l1=sides * half, l2_squared=squared, linf=cells, touched=touched)
        return Sensitivity(l1=touched * cells, l2_squared=touched * cells**2, linf=cells, touched=touched)

    def values(self, view: View, unit: PrivacyUnit) -> NDArray[np.int64]:
        """Exact block values, shape (groups, blocks)."""
        values, present = view.column(self.column)
        parts = view.parts(self.by)
        counted = parts >= 0
        mask = present_mask(values, present)
        if mask is not None:
            counted &= mask
        if unit.column is None:
            if not counted.all():
                parts, values = parts[counted], values[counted]
            block = _random_blocks(parts.size, self.blocks)
        else:
            units, count = view.units(unit.column)
            positions = np.flatnonzero(counted & (units >= 0))
            kept = bound_groups(units[positions], count, parts[positions], self.by.count, _groups(unit))
            positions = positions[kept]
            parts, values = parts[positions], values[positions]
            block = _random_blocks(count, self.blocks)[units[positions]]
        cell = parts * self.blocks + block  # shape (rows that count,)
        size = self.by.count * self.blocks
        rows = np.bincount(cell, minlength=size)
        sums = group_sum(self.lattice.offsets(values), cell, size, self.lattice.cells)
        means = (2 * sums + rows) // np.maximum(2 * rows, 1)  # floor(mean + 1/2), within 0..cells
        means = np.where(rows == 0, self.lattice.cells // 2, means)
        return means.astype(np.int64).reshape(self.by.count, self.blocks)


@dataclass(frozen=True)
class BlockResults:
    """What a user's function makes of each of K random blocks of the whole table, as lattice offsets; one group.

    A result that is no finite number, or an exception, counts as the middle of the lattice; other results are clipped to
    it. What the function does beside returning a number cannot be controlled here.

    Notes
    -----
    Couple as in `BlockMeans`: a row, or a unit, lies in one block, and a block is rebuilt without index labels, categories
    or dtypes that could tell of rows in other blocks. So one of K values changes, under either relation.
    """

    function: Callable[[Any], Any]
    lattice: Lattice
    blocks: int

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """One block value moves by at most `cells`."""
        cells = self.lattice.cells
        return Sensitivity(l1=cells, l2_squared=cells**2, linf=cells)

    def values(self, view: View, unit: PrivacyUnit) -> NDArray[np.int64]:
        """Exact block values, shape (1, blocks)."""
        if unit.column is None:
            block = _random_blocks(view.rows, self.blocks)
        else:
            units, count = view.units(unit.column)
            block = np.append(_random_blocks(count, self.blocks), -1).take(units)
        results = view.block_results(self.function, block, self.blocks)
        numbers = np.array([_number(result) for result in results])
        offsets = self.lattice.offsets(numbers)
        offsets[np.isnan(numbers)] = self.lattice.cells // 2
        return offsets.reshape(1, self.blocks)


def _number(result: Any) -> float:
    """A user's result as a float; NaN for whatever is not one finite real number."""
    if isinstance(result, bool | np.bool_) or not isinstance(result, int | float | np.integer | np.floating):
        return np.nan
    try:
        number = float(result)
    except Exception:  # noqa: BLE001 - a result of a class of the user's own
        return np.nan
    return number if np.isfinite(number) else np.nan


@dataclass(frozen=True)
class BlockSums:
    """Sum of the block values of each group."""

    means: BlockMeans | BlockResults

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """One block value of each touched group moves by at most `cells`."""
        return self.means.sensitivity(unit)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact sums: one Python int for each group."""
        values = self.means.values(view, unit)
        return Exact(values.sum(axis=1).tolist())  # int64: blocks * cells < 2**62


@dataclass(frozen=True)
class BlockPoints:
    """The block values of each group as counts on the lattice, for a quantile of each group."""

    means: BlockMeans | BlockResults

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """Within a group any rank moves by at most 1, in either direction (replace-one on K values)."""
        touched = self.means.sensitivity(unit).touched
        return Sensitivity(l1=2 * touched, l2_squared=2 * touched, linf=1, touched=touched)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """`Points` of each group."""
        parts = []
        for row in self.means.values(view, unit):
            offsets, counts = np.unique(row, return_counts=True)
            parts.append(Points(offsets, counts.astype(np.int64)))
        return Exact(parts)


def _groups(unit: PrivacyUnit) -> PrivacyUnit:
    """The unit with m <= k: blocks hold whole groups of a unit, so its rows are not bounded any further."""
    return PrivacyUnit(unit.column, unit.rows, min(unit.groups, unit.rows), unit.rows_per_group, unit.relation)


def _random_blocks(count: int, blocks: int) -> NDArray[np.intp]:
    """A block 0..blocks-1 for each item, drawn without looking at any value.

    16 random bits an item where blocks are few: their sizes then differ in expectation by at most 1 in 64, which matters
    neither to privacy (any law that ignores the data will do) nor to the estimate.
    """
    bits = 16 if blocks <= 1 << 10 else 32
    words = random_words(count, dtype=np.uint16 if bits == 16 else np.uint32)
    block = words.astype(np.intp)
    block *= blocks
    block >>= bits
    return block

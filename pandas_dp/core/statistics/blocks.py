"""Sample and aggregate: one value for each block of each group; one unit changes one block of a group it is in."""

from __future__ import annotations

from collections.abc import Callable, Hashable
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
    """Mean of a column in each of K random blocks of each group (of the whole table without groups), as lattice offsets.

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
    by: Partition | None
    blocks: int

    @property
    def parts(self) -> int:
        """Number of groups."""
        return 1 if self.by is None else self.by.count

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """Of the sums of block values of each group; for one group's values see `touched`."""
        sides, cells = 1 if unit.add_remove else 2, self.lattice.cells
        touched = min(sides * min(unit.groups, unit.rows), self.parts)
        if unit.column is None:
            half = cells // 2 + 1
            squared = half**2 if unit.add_remove else max(cells**2, 2 * half**2)
            return Sensitivity(l1=sides * half, l2_squared=squared, linf=cells, touched=touched)
        return Sensitivity(l1=touched * cells, l2_squared=touched * cells**2, linf=cells, touched=touched)

    def values(self, view: View, unit: PrivacyUnit) -> NDArray[np.int64]:
        """Exact block values, shape (groups, blocks)."""
        values, present = view.column(self.column)
        parts = np.zeros(view.rows, dtype=np.intp) if self.by is None else view.parts(self.by)
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
            kept = bound_groups(units[positions], count, parts[positions], self.parts, _groups(unit))
            positions = positions[kept]
            parts, values = parts[positions], values[positions]
            block = _random_blocks(count, self.blocks)[units[positions]]
        cell = parts * self.blocks + block  # shape (rows that count,)
        size = self.parts * self.blocks
        rows = np.bincount(cell, minlength=size)
        sums = group_sum(self.lattice.offsets(values), cell, size, self.lattice.cells)
        means = (2 * sums + rows) // np.maximum(2 * rows, 1)  # floor(mean + 1/2), within 0..cells
        means = np.where(rows == 0, self.lattice.cells // 2, means)
        return means.astype(np.int64).reshape(self.parts, self.blocks)


@dataclass(frozen=True)
class BlockResults:
    """What a user's function makes of each of K random blocks of the whole table, as lattice offsets.

    One number, or a tuple of `outputs` numbers, all on one lattice. A number that is not finite counts as the middle of
    the lattice, so does every output where the function raises or returns anything else; other numbers are clipped to the
    lattice. What the function does beside returning, above all remembering rows from one call to the next, cannot be
    controlled here.

    Parameters
    ----------
    columns : tuple of str or None
        What a block shows; None: all columns.

    Notes
    -----
    Couple as in `BlockMeans`: a row, or a unit, lies in one block, and a block is rebuilt without index labels, categories
    or dtypes that could tell of rows in other blocks. So the result of one of K blocks changes, under either relation, and
    with it at most one value of each output, by at most `cells`: `touched` is the number of outputs.
    """

    function: Callable[[Any], Any]
    lattice: Lattice
    blocks: int
    outputs: int = 1
    columns: tuple[str, ...] | None = None

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """One value of each output moves by at most `cells`."""
        cells, outputs = self.lattice.cells, self.outputs
        return Sensitivity(l1=outputs * cells, l2_squared=outputs * cells**2, linf=cells, touched=outputs)

    def values(self, view: View, unit: PrivacyUnit) -> NDArray[np.int64]:
        """Exact block values, shape (outputs, blocks)."""
        results = _block_results(
            view, unit, lambda block: self._numbers(self.function(block)), self.blocks, self.columns
        )
        nothing = (np.nan,) * self.outputs
        numbers = np.array([nothing if result is None else result for result in results])  # shape (blocks, outputs)
        offsets = self.lattice.offsets(numbers.ravel())
        offsets[np.isnan(numbers.ravel())] = self.lattice.cells // 2
        return np.ascontiguousarray(offsets.reshape(numbers.shape).T)

    def _numbers(self, result: Any) -> tuple[float, ...] | None:
        """A result as `outputs` floats, None for what has another shape; run, and guarded, as the function itself."""
        parts = result if type(result) is tuple else (result,)
        return tuple(map(_number, parts)) if len(parts) == self.outputs else None


def _number(result: Any) -> float:
    """A result as a float; NaN for whatever is not one finite real number."""
    if isinstance(result, bool | np.bool_) or not isinstance(result, int | float | np.integer | np.floating):
        return np.nan
    number = float(result)
    return number if np.isfinite(number) else np.nan


def _block_results(
    view: View,
    unit: PrivacyUnit,
    function: Callable[[Any], Any],
    blocks: int,
    columns: tuple[str, ...] | None = None,
) -> list[Any]:
    """Results of a function on random blocks: each row, or unit where units own several rows, in one of them."""
    if unit.column is None:
        block = _random_blocks(view.rows, blocks)
    else:
        units, count = view.units(unit.column)
        block = np.append(_random_blocks(count, blocks), -1).take(units)
    return view.block_results(function, block, blocks, columns)


@dataclass(frozen=True)
class BlockVotes:
    """How many of K random blocks have each public key as the result of a user's function; others count nowhere.

    Notes
    -----
    As in `BlockResults` one block result changes, under either relation: one count falls by at most 1 and one rises by at
    most 1, so the changes of two counts differ by up to 2.
    """

    function: Callable[[Any], Any]
    keys: tuple[Hashable, ...]
    blocks: int

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """One vote moves."""
        return Sensitivity(l1=2, l2_squared=2, linf=1, range=2)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact counts: one Python int for each key."""
        places = {key: i for i, key in enumerate(self.keys)}
        # what cannot be looked up raises inside the guard, like the function itself: None
        results = _block_results(view, unit, lambda block: places.get(self.function(block)), self.blocks)
        votes = np.array([-1 if place is None else place for place in results])  # shape (blocks,)
        return Exact(np.bincount(votes[votes >= 0], minlength=len(self.keys)).tolist())


@dataclass(frozen=True)
class BlockSums:
    """Sum of the block values of each group or output."""

    means: BlockMeans | BlockResults

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """One block value of each touched group or output moves by at most `cells`."""
        return self.means.sensitivity(unit)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact sums: one Python int for each group or output."""
        values = self.means.values(view, unit)
        return Exact(values.sum(axis=1).tolist())  # int64: blocks * cells < 2**62


@dataclass(frozen=True)
class BlockPoints:
    """The block values of each group or output as counts on the lattice, for a quantile of each."""

    means: BlockMeans | BlockResults

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """Within a group or output any rank moves by at most 1, in either direction (replace-one on K values)."""
        touched = self.means.sensitivity(unit).touched
        return Sensitivity(l1=2 * touched, l2_squared=2 * touched, linf=1, touched=touched)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """`Points` of each group or output."""
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

"""Sample and aggregate: one value for each block of each group; one unit changes one block of a group it is in."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_groups, owners, random_order
from pandas_dp.core.lattice import Lattice, present_mask
from pandas_dp.core.measurement import AddsUp, Exact, View, computed
from pandas_dp.core.partition import Partition, decoded, places, uncoded
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.randomness import Fill, random_words
from pandas_dp.core.statistics.lattice_counts import Points
from pandas_dp.core.statistics.sums import sums_by_place

MOST_UNLISTED = 1 << 8  # codes beside those of groups that a table has room for
FAIR_BITS = 4  # random bits beside those of a block's number


@dataclass(frozen=True)
class BlockMeans:
    """Mean of a column in each of K random blocks of each group (of the whole table without groups), as lattice offsets.

    Every row, or every unit where units own several rows, is put into one of K blocks by a random draw of its own; all rows
    of a table may be dealt to `equal` blocks, see `dealt`. A block without rows has the middle of the lattice.

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
    equal: bool = False

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """Of the sums of block values of each group; for one group's values see `touched`."""
        cells, touched = self.lattice.cells, _touched(unit, self.by, self.equal)
        if unit.column is None:
            half, sides = cells // 2 + 1, 1 if unit.add_remove else 2
            squared = half**2 if unit.add_remove else max(cells**2, 2 * half**2)
            return Sensitivity(l1=sides * half, l2_squared=squared, linf=cells, touched=touched)
        return Sensitivity(l1=touched * cells, l2_squared=touched * cells**2, linf=cells, touched=touched)

    def values(self, view: View, unit: PrivacyUnit) -> NDArray[np.int64]:
        """Exact block values, shape (groups, blocks)."""
        # shape (groups, blocks), of what is no statistic
        held, sums = computed(BlockTotals(self), view, unit).open().swapaxes(0, 1)  # type: ignore[arg-type]
        means = (2 * sums + held) // np.maximum(2 * held, 1)  # floor(mean + 1/2), within 0..cells
        return np.where(held == 0, self.lattice.cells // 2, means).astype(np.int64)


@dataclass(frozen=True)
class BlockTotals(AddsUp):
    """What block means are made of, part by part. No statistic: it states no sensitivity, so no measurement can release it."""

    of: BlockMeans

    def adds_up(self, unit: PrivacyUnit) -> bool:
        """Where each row, or unit, is put into a block by itself."""
        return not self.of.equal

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Rows, and their sum of offsets, in each block of each group: an array of shape (groups, 2, blocks)."""
        of, blocks, groups = self.of, self.of.blocks, _count(self.of.by)
        values, present = view.column(of.column)
        if unit.column is None and not of.equal:
            codes, parts = uncoded(np.zeros(view.rows, dtype=np.int8), 1) if of.by is None else view.coded(of.by)
            if parts.size > 4 * groups + MOST_UNLISTED:  # many unlisted categories: no table of all of them by block
                codes, parts = uncoded(decoded(codes, parts), groups)
        else:
            rows, cell = _blocks_of_rows(of, view, unit, present_mask(values, present))
            values, present, parts = values[rows], None, np.arange(groups)

        def place(rows: slice) -> NDArray[np.int64]:
            if unit.column is not None or of.equal:
                return cell[rows].copy()
            chosen = places(codes[rows]) * blocks
            return chosen + _random_blocks(chosen.size, blocks, view.fill)

        by_code = sums_by_place(of.lattice, (values, present), place, parts.size * blocks, 1).reshape(2, -1, blocks)
        totals = np.zeros((groups + 1, 2, blocks), dtype=by_code.dtype)  # the last: in no group
        np.add.at(totals, parts, by_code.swapaxes(0, 1))
        return Exact(totals[:-1])


@dataclass(frozen=True)
class BlockResults:
    """What a user's function makes of each of K random blocks of each group (the whole table without), as lattice offsets.

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
    Couple as in `BlockMeans`: a row lies in one block of one group or in none, a unit in one block of each of at most m
    groups, and a block is rebuilt without index labels, categories or dtypes that could tell of rows in other blocks, or
    in none. So under add/remove the results of at most m blocks change, one of each group that the unit is in; under
    replace-one at most 2 m, one of each group that it is in before or after, since its block has the same number in both
    tables; never more than one a group. With each result up to `outputs` values change, one of each part (a group's values of
    one output), anywhere in 0..cells: `touched` is the number of changed results times `outputs`, the L1 norm at most that
    times `cells`, the squared L2 norm that times `cells` squared. For the whole table that is one result, under either
    relation.
    """

    function: Callable[[Any], Any]
    lattice: Lattice
    blocks: int
    outputs: int = 1
    columns: tuple[str, ...] | None = None
    by: Partition | None = None
    equal: bool = False

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """One value of each output of each touched group moves by at most `cells`."""
        cells, touched = self.lattice.cells, _touched(unit, self.by, self.equal) * self.outputs
        return Sensitivity(l1=touched * cells, l2_squared=touched * cells**2, linf=cells, touched=touched)

    def values(self, view: View, unit: PrivacyUnit) -> NDArray[np.int64]:
        """Exact block values, shape (groups * outputs, blocks): of each group its outputs."""
        results = _block_results(self, view, unit, lambda block: self._numbers(self.function(block)))
        nothing = (np.nan,) * self.outputs
        numbers = np.array([nothing if result is None else result for result in results])
        flat = numbers.ravel()  # shape (groups * blocks * outputs,)
        offsets = self.lattice.offsets(flat)
        offsets[np.isnan(flat)] = self.lattice.cells // 2
        by_block = offsets.reshape(-1, self.blocks, self.outputs)  # shape (groups, blocks, outputs)
        return np.ascontiguousarray(by_block.swapaxes(1, 2)).reshape(-1, self.blocks)

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
    of: BlockResults | BlockVotes, view: View, unit: PrivacyUnit, function: Callable[[Any], Any]
) -> list[Any]:
    """Results of a function on the random blocks of each group, those of the first group first."""
    rows, cell = _blocks_of_rows(of, view, unit)
    block = np.full(view.rows, -1, dtype=np.intp)
    block[rows] = cell
    return view.block_results(function, block, _count(of.by) * of.blocks, of.columns)


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
    equal: bool = False

    by, columns = None, None

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """One vote moves."""
        moved = 2 * _touched(unit, None, self.equal)
        return Sensitivity(l1=moved, l2_squared=moved, linf=1, range=moved)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact counts: one Python int for each key."""
        places = {key: i for i, key in enumerate(self.keys)}
        # what cannot be looked up raises inside the guard, like the function itself: None
        results = _block_results(self, view, unit, lambda block: places.get(self.function(block)))
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
        return Exact(self.means.values(view, unit).sum(axis=1).tolist())  # int64: blocks * cells < 2**62


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
        found = (np.unique(row, return_counts=True) for row in self.means.values(view, unit))
        return Exact([Points(offsets, counts.astype(np.int64)) for offsets, counts in found])


def _count(by: Partition | None) -> int:
    """Number of groups; the whole table is one."""
    return 1 if by is None else by.count


def _touched(unit: PrivacyUnit, by: Partition | None, equal: bool) -> int:
    """Groups of which one unit can change a block, see `BlockMeans`; equal blocks are refused where `dealt` has no proof."""
    if equal and (unit.add_remove or unit.column is not None or by is not None):
        raise ValueError("equal blocks are for all rows of a table of which one is replaced")
    return min((1 if unit.add_remove else 2) * _groups(unit).groups, _count(by))


def _groups(unit: PrivacyUnit) -> PrivacyUnit:
    """The unit with m <= k: blocks hold whole groups of a unit, so its rows are not bounded any further."""
    return PrivacyUnit(unit.column, unit.rows, min(unit.groups, unit.rows), unit.rows_per_group, unit.relation)


def _blocks_of_rows(
    of: BlockMeans | BlockResults | BlockVotes, view: View, unit: PrivacyUnit, held: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.intp] | slice, NDArray[np.intp]]:
    """Which rows lie in a block, and in which: group * blocks + a number drawn for each row, or unit of several rows.

    For all inputs: the rows of a unit that are kept lie in at most m groups, and in one block of each of them.

    Parameters
    ----------
    of : BlockMeans, BlockResults or BlockVotes
    held : ndarray of bool, shape (rows,), or None
        Rows that may count; None: all.

    Returns
    -------
    rows : ndarray of intp, or slice where all rows count
    block : ndarray of intp, shape (rows that count,)
    """
    groups = np.zeros(view.rows, dtype=np.intp) if of.by is None else view.parts(of.by)
    counted = groups >= 0
    if held is not None:
        counted &= held
    if unit.column is None:
        rows = slice(None) if counted.all() else np.flatnonzero(counted)
        # also for rows that do not count
        own = dealt(view.rows, of.blocks) if of.equal else _random_blocks(view.rows, of.blocks, view.fill)
        return rows, (groups * of.blocks + own)[rows]
    units, count = owners(view, unit)
    rows = np.flatnonzero(counted & (units >= 0))
    rows = rows[bound_groups(units[rows], count, groups[rows], _count(of.by), _groups(unit), view.fill)]
    return rows, groups[rows] * of.blocks + _random_blocks(count, of.blocks, view.fill)[units[rows]]


def dealt(rows: int, blocks: int) -> NDArray[np.intp]:
    """A block for each row, their sizes as equal as they can be: rows in a uniformly random order are dealt in turn.

    For all tables under replace-one, a row a unit, of all of their rows: one block changes. The order is drawn from the number
    of rows alone, which neighbours share, so all partitions of the rows into blocks of these sizes are equally likely, in
    whatever order rows are listed. Map the row that is replaced to the one that replaces it, and every other row to itself:
    a uniform partition of one table becomes one of the other, in which only the block with that row is another one. All rows
    are dealt before any is looked at, so a missing value moves no row. Where one row decides how many are dealt, one that
    comes or goes moves others to other blocks: under add/remove, behind a filter, with missing values left out before, in
    groups, and of units of several rows, one of which may come to own none. There each item is put into a block by itself.
    """
    return random_order(rows) % blocks


def _random_blocks(count: int, blocks: int, fill: Fill) -> NDArray[np.intp]:
    """A block 0..blocks-1 for each item, drawn without looking at any value.

    Each item has random bits of its own, four more than a block's number takes: the sizes of blocks then differ in expectation
    by at most 1 in 16, which matters neither to privacy (any law that ignores the data will do) nor to the estimate. As many
    items share a word as find room, for the operating system takes longer to give it than all else takes.
    """
    bits = FAIR_BITS + (blocks - 1).bit_length()
    each = 64 // bits  # items of a word
    block = random_words(-(-count // each), fill) >> np.arange(0, each * bits, bits, dtype=np.uint64)[:, np.newaxis]
    block &= (1 << bits) - 1  # shape (each, words)
    block *= blocks
    block >>= bits
    return block.reshape(-1)[:count].view(np.int64).astype(np.intp, copy=False)

"""Public partitions of rows: which released part each row counts in.

A partition is a list of parts fixed before any data is read: listed keys, or bins between listed edges, with
an optional part for other values and one for missing ones. A row counts in exactly one part or in none.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.lattice import CHUNK, Lattice, integer_info

FEW_ROWS = 1000  # below, a table costs more than a search
MOST_GRID_BITS = 16
SMALLEST_SPACING = 1e-250


@dataclass(frozen=True)
class Keys:
    """One part for each listed key of a column, in this order, then `other`, then `null` where wanted."""

    column: str
    keys: tuple[Hashable, ...]
    other: bool = False
    null: bool = False

    @property
    def count(self) -> int:
        """Number of parts."""
        return len(self.keys) + self.other + self.null

    def codes(self, position: NDArray[np.intp], present: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Part of each row.

        Parameters
        ----------
        position : ndarray of intp, shape (rows,)
            Place of the row's value among the keys, -1 where it is not listed.
        present : ndarray of bool, shape (rows,), or None
            False where the value is missing; None when no value is.

        Returns
        -------
        ndarray of intp, shape (rows,)
            0..count-1, or -1 for a row that counts in no part.
        """
        if self.other:
            position = np.where(position < 0, len(self.keys), position)
        if present is not None:
            position = np.where(present, position, self.count - 1 if self.null else -1)
        return position


@dataclass(frozen=True)
class Bins:
    """One part for each bin [e_i, e_{i+1}) of a numeric column, the last one closed, as in numpy.histogram.

    With `other`, values outside the edges have a part; with `null`, missing ones have. ``edges`` are plain
    numbers in the unit of the raw column (nanoseconds for dates and durations).
    """

    column: str
    edges: tuple[int | float, ...]
    other: bool = False
    null: bool = False

    @property
    def bins(self) -> int:
        """Number of bins without `other` and `null`."""
        return len(self.edges) - 1

    @property
    def count(self) -> int:
        """Number of parts."""
        return self.bins + self.other + self.null

    def codes(self, values: NDArray[np.generic], present: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Part of each row; see `Keys.codes`. Infinite values lie outside the edges.

        Integers are compared with the exact edges, whatever their size; floats with the edges as float64.
        """
        parts = np.arange(-1, self.bins + 1)  # by the number of edges at or below the value
        parts[0] = parts[-1] = self.bins if self.other else -1
        cuts = self._cuts(values.dtype)
        # equal cuts, left by rounding, count as one
        last = np.append(np.flatnonzero(cuts[1:] != cuts[:-1]), cuts.size - 1) if cuts.size else np.arange(0)
        out = _parts_between(values, cuts[last], parts[np.append(0, last + 1)])
        if present is not None:
            np.copyto(out, self.count - 1 if self.null else -1, where=~present)
        return out

    def _cuts(self, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
        """Edges as numbers of one dtype; the last moved up to the next, since the last bin is closed."""
        if dtype.kind == "f":
            cuts = np.array(self.edges, dtype=np.float64)
            cuts[-1] = np.nextafter(cuts[-1], np.inf)
            return cuts
        info = integer_info(dtype)
        whole = [math.ceil(edge) for edge in self.edges[:-1]] + [math.floor(self.edges[-1]) + 1]
        # no value reaches an edge above the dtype, and every value is past one below it
        return np.array([max(cut, info.min) for cut in whole if cut <= info.max], dtype=info.dtype)


Partition = Keys | Bins


def _parts_between(
    values: NDArray[np.generic], cuts: NDArray[np.generic], parts: NDArray[np.intp]
) -> NDArray[np.intp]:
    """parts[number of cuts at or below the value] of each row; `cuts` rises strictly.

    A lattice map never falls as the value rises, so where the offsets of a value and a cut differ, they tell
    which of the two is larger. Where no two cuts share an offset, one comparison therefore decides each row,
    whatever rounding happens.
    """
    lattice = _grid(values.dtype, cuts)
    at_cuts = None if lattice is None else lattice.offsets(cuts)
    if values.size < FEW_ROWS or lattice is None or at_cuts is None or (at_cuts[1:] == at_cuts[:-1]).any():
        return parts.take(np.searchsorted(cuts, values, side="right"))
    nearest = np.searchsorted(at_cuts, np.arange(lattice.cells + 1), side="right") - 1
    np.maximum(nearest, 0, out=nearest)
    cut_at = cuts.take(nearest)  # shape (cells + 1,): the one cut that values of an offset are compared with
    # shape (2 cells + 2,): for each offset the part below that cut, then the part not below it
    sides = np.stack((parts.take(nearest), parts.take(nearest + 1)), axis=1).ravel()
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    out = np.empty(values.size, dtype=np.int64)
    write = lattice.rule(values.dtype)
    with np.errstate(all="ignore"):
        for at in range(0, values.size, CHUNK):
            part, cells = values[at : at + CHUNK], out[at : at + CHUNK]
            write(part, cells)
            not_below = np.greater_equal(part, cut_at.take(cells, mode="clip"))
            cells *= 2
            cells += not_below
            cells[:] = sides.take(cells, mode="clip")
    return out.astype(np.intp, copy=False)


def _grid(dtype: np.dtype[np.generic], cuts: NDArray[np.generic]) -> Lattice | None:
    """A lattice over the cuts, fine enough to tell them apart if 2**16 to 2**17 cells can do it."""
    if cuts.size < 2:
        return None
    points = cuts.astype(np.float64)
    with np.errstate(all="ignore"):
        spacing, width = float(np.diff(points).min()), float(points[-1] - points[0])
    if not SMALLEST_SPACING < spacing <= width < math.inf:
        return None
    bits = min(math.ceil(math.log2(2 * width / spacing)), MOST_GRID_BITS)
    return Lattice.between(Fraction(cuts[0].item()), Fraction(cuts[-1].item()), bits)

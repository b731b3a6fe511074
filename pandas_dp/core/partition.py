"""Public partitions of rows: which released part each row counts in.

A partition is a list of parts fixed before any data is read: listed keys, or bins between listed edges, with an
optional part for other values and one for missing ones. A row counts in exactly one part or in none.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Keys:
    """One part for each listed key of a column, in the listed order, then `other`, then `null` where wanted."""

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
    """One part for each bin [e_i, e_{i+1}) of a numeric column, the last one closed, as numpy.histogram has it.

    With `other`, values outside the edges have a part; with `null`, missing ones have. ``edges`` are plain numbers in
    the unit of the raw column (nanoseconds for dates and durations).
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
        """Part of each row; see `Keys.codes`. Infinite values lie outside the edges."""
        edges = np.asarray(self.edges, dtype=np.int64 if values.dtype.kind in "iub" and self._whole else np.float64)
        if values.dtype.kind == "u":  # compared as signed: larger values are outside any signed edge
            values = np.minimum(values, np.uint64(np.iinfo(np.int64).max)).astype(np.int64)
        elif values.dtype.kind == "b":
            values = values.astype(np.int64)
        outside = self.bins if self.other else -1
        missing = self.count - 1 if self.null else -1
        # two more cells than bins: below the first edge, and above the last
        guess = _cells(values, edges)  # shape (rows,), 0..bins+1
        parts = np.empty(self.bins + 2, dtype=np.intp)
        parts[1:-1] = np.arange(self.bins)
        parts[0] = parts[-1] = outside
        out = parts.take(guess)
        out[values == edges[-1]] = self.bins - 1
        if present is not None:
            out[~present] = missing
        return out

    @property
    def _whole(self) -> bool:
        return all(isinstance(edge, int) for edge in self.edges)


Partition = Keys | Bins


def _cells(values: NDArray[np.generic], edges: NDArray[np.generic]) -> NDArray[np.intp]:
    """Number of edges at or below each value, by comparison with the edges themselves.

    For nearly equal spacing the cell is guessed by arithmetic and then corrected by two comparisons, so the result
    is that of searchsorted in any case.
    """
    spacing = np.diff(edges.astype(np.float64))
    uneven = spacing.max() - spacing.min() > spacing.max() * 1e-9
    # the guess must be off by one cell at most: far from zero, float64 does not resolve narrow bins
    blurred = np.abs(edges.astype(np.float64)).max() > spacing.min() * 2.0**40
    if values.size < 1000 or uneven or blurred:
        return np.searchsorted(edges, values, side="right").astype(np.intp, copy=False)
    bins = edges.size - 1
    first, width = float(edges[0]), float(edges[-1] - edges[0]) / bins
    out = np.empty(values.size, dtype=np.intp)
    # sentinels so that each cell has a lower and an upper edge: cell j holds lows[j] <= value < lows[j + 1]
    low_end, high_end = _ends(edges.dtype)
    lows = np.concatenate(([low_end], edges, [high_end])).astype(edges.dtype)
    chunk = 1 << 14
    for at in range(0, values.size, chunk):
        part = values[at : at + chunk]
        with np.errstate(all="ignore"):
            x = part.astype(np.float64)
            x -= first
            x *= 1 / width
            x += 1
            np.fmax(x, 0.0, out=x)
            np.fmin(x, float(bins + 1), out=x)
        cell = x.astype(np.intp)
        cell -= part < lows.take(cell)
        cell += part >= lows.take(cell + 1, mode="clip")
        np.clip(cell, 0, bins + 1, out=out[at : at + chunk])
    return out


def _ends(dtype: np.dtype[np.generic]) -> tuple[float, float]:
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    return -np.inf, np.inf

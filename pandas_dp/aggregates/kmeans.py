"""k-means by sample and aggregate: each block has its own centres, which are combined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.vectors import VectorOfBlocks

Floats = NDArray[np.float64]
STARTS, ROUNDS = 8, 25


@dataclass(frozen=True)
class Centres:
    """The centres of one block by Lloyd's algorithm, from public starts: a function of its rows alone.

    Columns are clipped to their bounds and scaled to 0..1; rows with a missing value are left out. Lloyd's rounds run from
    `STARTS` public sets of centres at once, and the set with the least sum of squared distances is kept. A centre without
    rows stays where it is.

    Parameters
    ----------
    columns : tuple of str
    lower, upper : tuple of float
        Public bounds of each column.
    k : int
    """

    columns: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    k: int

    def __call__(self, block: pd.DataFrame) -> tuple[float, ...]:
        """Return k centres of d coordinates, sorted by the first, then the next; nothing for a block without rows."""
        points = block[list(self.columns)].to_numpy(dtype=np.float64)
        points = points[~np.isnan(points).any(axis=1)]  # shape (rows, d)
        if not len(points):
            return ()
        lower, upper = np.array(self.lower), np.array(self.upper)
        scaled = (np.clip(points, lower, upper) - lower) / (upper - lower)
        centres = lloyd(scaled, starts(self.k, len(self.columns)))
        return tuple(centres[np.lexsort(centres.T[::-1])].ravel().tolist())


def starts(k: int, d: int) -> Floats:
    """Sets of k public points spread evenly over the unit cube, shape (STARTS, k, d).

    The sequence of multiples of 1/g, 1/g^2, ... modulo 1, with g the positive root of g^(d + 1) = g + 1: the golden ratio's
    generalisation to d dimensions, whose points are well apart from each other.
    """
    g = 2.0
    for _ in range(60):
        g = (1 + g) ** (1 / (d + 1))
    steps = g ** -np.arange(1.0, d + 1)  # shape (d,)
    points: Floats = (0.5 + np.outer(np.arange(STARTS * k), steps)) % 1
    return points.reshape(STARTS, k, d)


def lloyd(points: Floats, centres: Floats) -> Floats:
    """Return the best centres, shape (k, d), that Lloyd's algorithm finds for points of shape (rows, d) from some starts."""
    clusters = np.arange(centres.shape[1])
    for _ in range(ROUNDS):
        nearest = _distances(points, centres).argmin(axis=2)
        member = (nearest[:, :, None] == clusters).astype(np.float64)  # shape (starts, rows, k)
        size = member.sum(axis=1)[:, :, None]  # shape (starts, k, 1)
        sums = np.matmul(member.transpose(0, 2, 1), points)  # shape (starts, k, d)
        moved = np.where(size > 0, sums / np.maximum(size, 1), centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    best = _distances(points, centres).min(axis=2).sum(axis=1).argmin()
    chosen: Floats = centres[best]
    return chosen


def _distances(points: Floats, centres: Floats) -> Floats:
    """Squared distances, shape (starts, rows, k)."""
    squares: Floats = (points**2).sum(axis=1)[None, :, None] + (centres**2).sum(axis=2)[:, None, :]
    squares -= 2 * np.matmul(points, centres.transpose(0, 2, 1))
    return squares


@dataclass(frozen=True)
class KMeans(VectorOfBlocks):
    """k centres of some columns."""

    k: int

    name = "kmeans"

    @property
    def repeats(self) -> int:
        """One for each centre."""
        return self.k

    @property
    def shown_columns(self) -> tuple[str, ...]:
        """Those of the centres alone."""
        return self.names

    def function(self, lower: tuple[float, ...], upper: tuple[float, ...]) -> Centres:
        """See `Centres`."""
        return Centres(self.names, lower, upper, self.k)

    def shown(self, values: dict[str, list[Any]]) -> tuple[Any, tuple[str, ...]]:
        """Return a table with one row for each centre."""
        note = "centres of blocks are matched by their order in the first column: clusters close in it are mixed up"
        return pd.DataFrame(values), (note,)

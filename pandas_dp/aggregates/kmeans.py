"""k-means by sample and aggregate: each block has its own centres, which are combined coordinate by coordinate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.base import Answer, Terms, pure_epsilon
from pandas_dp.aggregates.blocks import REMEDY, FromBlocks, choose, combined, known_rows, look_at, size_note
from pandas_dp.core.lattice import RANK_BITS, Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.statistics.blocks import BlockResults
from pandas_dp.kinds import Kind
from pandas_dp.uncertainty import Additive, Ends

Floats = NDArray[np.float64]
Range = tuple[Fraction, Fraction]
NUMBER = Kind("number")
UNIT = Lattice.between(Fraction(0), Fraction(1), RANK_BITS)
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
class KMeans(FromBlocks):
    """k centres of some columns, each coordinate combined at a k d-th of the price.

    One unit changes one block and so all of that block's k d coordinates: they are parts that are all touched.
    """

    columns: tuple[str, ...]
    ranges: tuple[Range, ...]
    k: int
    blocks: int | None = None
    rows: int | None = None

    name = "kmeans"

    def number(self, terms: Terms) -> int:
        """How many blocks."""
        return self._chosen(terms)[0]

    def look(self, terms: Terms) -> Measurement:
        """One look at the blocks."""
        epsilon = pure_epsilon(terms.price, "kmeans()")
        return look_at(self._results(terms), self._chosen(terms)[1], epsilon, terms.unit)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a table with one row for each centre."""
        blocks, aggregator = self._chosen(terms)
        found = combined(self._results(terms), look, noisy, NUMBER, REMEDY)
        values = {}
        for i, (column, (lower, upper)) in enumerate(zip(self.columns, self.ranges, strict=True)):
            scaled = [min(max(point, Fraction(0)), Fraction(1)) for point in found.points[i :: len(self.columns)]]
            values[column] = [NUMBER.value(lower + (upper - lower) * point) for point in scaled]
        notes = (
            f"{blocks:,} blocks, {aggregator} of each coordinate at 1/{self._outputs} of the price",
            "centres of blocks are matched by their order in the first column: clusters close in it are mixed up",
        )
        error = self._by_column(found.error) if isinstance(found.error, Additive) else found.error
        sizes = size_note(blocks, known_rows(self.rows, terms))
        return Answer(pd.DataFrame(values), found.mechanism, error, (*notes, *found.notes, *sizes))

    @property
    def _outputs(self) -> int:
        return self.k * len(self.columns)

    def _chosen(self, terms: Terms) -> tuple[int, str]:
        epsilon = pure_epsilon(terms.price, "kmeans()") / self._outputs
        return choose(self.blocks, "auto", epsilon, known_rows(self.rows, terms))

    def _results(self, terms: Terms) -> BlockResults:
        lower, upper = (tuple(float(ends[side]) for ends in self.ranges) for side in (0, 1))
        function = Centres(self.columns, lower, upper, self.k)
        return BlockResults(function, UNIT, self._chosen(terms)[0], self._outputs, self.columns)

    def _by_column(self, error: Additive) -> ByColumn:
        """The same noise in the units of each column."""
        scaled = {
            column: replace(error, step=error.step * (ends[1] - ends[0]), within=ends)
            for column, ends in zip(self.columns, self.ranges, strict=True)
        }
        return ByColumn(scaled)


@dataclass(frozen=True)
class ByColumn:
    """Error of a table whose columns have units of their own."""

    models: dict[str, Additive]

    def bounds(self, value: pd.Series[float], level: float) -> Ends:
        """Ends for one column."""
        return self.models[str(value.name)].bounds(value, level)

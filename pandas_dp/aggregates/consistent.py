"""Noisy tables of counts of the same rows, made consistent by weighted least squares; and what each cell then errs by.

Every table counts the same rows by some columns, each cell with independent noise of a known variance. The tables that add up
and lie nearest to the noisy ones, each cell weighted by 1 / variance, are linear in the noisy cells. Of all linear estimates
that are right on average they have the smallest variance, whatever the law of the noise (Gauss-Markov).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.aggregates.weighted_noise import CellNoise, Law

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Columns = tuple[int, ...]
SINGULAR = 1e-10  # of the largest eigenvalue: zero, as the numbers are rounded
DIGITS = 12  # to which weights are compared
ROUNDS, CLOSE = 20_000, 1e-7  # of the search for tables without negative cells; left below 0, as a share of the total
MOST_WORK = 2 * 10**8  # cells of all rounds together


class Noisy(NamedTuple):
    """One noisy table.

    Attributes
    ----------
    columns : tuple of int
        Numbers of its columns, rising, one for each axis.
    counts : array
    groups : tuple of array
        For each axis: in which place each of the finest parts of the column counts.
    noise : CellNoise
        Of each cell, independent.
    """

    columns: Columns
    counts: Floats
    groups: tuple[Codes, ...]
    noise: CellNoise

    def margin(self, kept: Columns) -> Floats:
        """Sums over all columns but some."""
        beside = tuple(axis for axis, column in enumerate(self.columns) if column not in kept)
        return self.counts.sum(axis=beside)


def subsets(columns: Sequence[int]) -> Iterator[Columns]:
    """All of them, the empty one first."""
    return chain.from_iterable(combinations(columns, size) for size in range(len(columns) + 1))


@dataclass(frozen=True, eq=False)
class Residuals:
    """Tables whose columns have the same parts everywhere: a closed form, as all normal equations have common eigenspaces.

    The residual of a table for a set U of columns is its margin on U less the mean along every axis of U. Residuals of one
    table are uncorrelated, and the same residual of two tables estimates one thing: their mean is weighted by w = 1 / (v N),
    v the variance of a cell, N the number of cells that were added up. A table is the sum of its residuals, each spread evenly
    over the other columns. So the best estimate is made of the mean residuals, and the variance of a cell is the sum over U of
    prod (1 - 1/n) / (W N^2), W the sum of the weights, N the number of cells that the residual is spread over.
    Source: Barak et al. 2007; Xiao, He, Zhang, Kifer 2023.
    """

    tables: tuple[Noisy, ...]
    sizes: tuple[int, ...]

    @cached_property
    def parts(self) -> dict[Columns, tuple[float, Floats, list[float]]]:
        """By set of columns: the sum of the weights, the mean residual, and the share of each table in it."""
        found: dict[Columns, list[tuple[int, float, Floats]]] = {}
        for place, table in enumerate(self.tables):
            for kept in subsets(table.columns):
                residual = table.margin(kept)
                for axis in range(len(kept)):
                    residual = residual - residual.mean(axis=axis, keepdims=True)
                added = table.counts.size / max(residual.size, 1)
                weight = 1 / (table.noise.variance * added) if table.noise.variance else math.inf
                found.setdefault(kept, []).append((place, weight, residual))
        return {kept: self._mean(members) for kept, members in found.items()}

    def _mean(self, members: list[tuple[int, float, Floats]]) -> tuple[float, Floats, list[float]]:
        total = sum(weight for _, weight, _ in members)
        exact = sum(math.isinf(weight) for _, weight, _ in members)  # numbers without noise decide alone
        shares, mean = [0.0] * len(self.tables), np.zeros(members[0][2].shape)
        for place, weight, residual in members:
            shares[place] = math.isinf(weight) / exact if exact else weight / total
            mean += shares[place] * residual
        return total, mean, shares

    @cached_property
    def fitted(self) -> list[Floats]:
        """The consistent tables."""
        return [self._table(table.columns) for table in self.tables]

    def nearest(self, counts: Sequence[Floats]) -> list[Floats]:
        """The same of other counts with the same noise."""
        tables = tuple(table._replace(counts=other) for table, other in zip(self.tables, counts, strict=True))
        return Residuals(tables, self.sizes).fitted

    def _table(self, columns: Columns) -> Floats:
        out = np.zeros([self.sizes[j] for j in columns])
        for part in subsets(columns):
            residual = self.parts[part][1]
            out += residual.reshape([self.sizes[j] if j in part else 1 for j in columns]) * (residual.size / out.size)
        return out

    def laws(self, table: int, kept: Columns) -> list[Law]:
        """Of the errors of a table's margin on some columns, cell by cell: here that of all cells is one.

        The weight of a noisy cell depends on the columns in which it agrees with the cell that is made of it: prod (n - 1) over
        the others that both have do so, times the cells of the columns that are summed over.
        """
        weights: Counter[tuple[float, CellNoise]] = Counter()
        for place, other in enumerate(self.tables):
            common = tuple(j for j in kept if j in other.columns)
            beside = math.prod(self.sizes[j] for j in other.columns if j not in kept)
            parts = [
                (part, self.parts[part][2][place] / math.prod(self.sizes[j] for j in kept if j not in part))
                for part in subsets(common)
            ]
            for agree in subsets(common):
                weight = sum(h * math.prod((j in agree) - 1 / self.sizes[j] for j in part) for part, h in parts)
                times = beside * math.prod(self.sizes[j] - 1 for j in common if j not in agree)
                if times:
                    weights[weight, other.noise] += times
        return [Law.of(weights)] * math.prod(self.sizes[j] for j in kept)

    @property
    def freedom(self) -> int:
        """By how many independent equations the noisy cells were checked."""
        cells = sum(table.counts.size for table in self.tables if table.noise.variance)
        told = (part for part, (weight, *_) in self.parts.items() if weight < math.inf)
        return cells - sum(math.prod(self.sizes[j] - 1 for j in part) for part in told)


@dataclass(frozen=True, eq=False)
class Equations:
    """Any tables: the noisy cells are moved by as little as makes them fulfil all equations between them.

    How many of the finest cells two cells share is a matrix G whose columns span all tables that add up; its null space holds
    the equations, B y = 0, whatever the noise is. With the variances on a diagonal V the nearest consistent cells are
    y - V B' (B V B')^-1 B y.
    """

    tables: tuple[Noisy, ...]
    sizes: tuple[int, ...]

    @cached_property
    def solved(self) -> tuple[Floats, int]:
        """What makes consistent cells of noisy ones, shape (cells, cells), and the number of equations with noise in them.

        With B V^(1/2) = R' Q' the correction is V^(1/2) Q R'^-1 B. Cells go from the noisiest on into the decomposition, which
        keeps the digits of those with little noise.
        """
        equations = self._equations()
        variances = np.concatenate([np.full(table.counts.size, table.noise.variance) for table in self.tables])
        order = np.argsort(-variances, kind="stable")
        roots, told = np.sqrt(variances[order]), equations[:, order]
        orthogonal, triangular = np.linalg.qr((told * roots).T)
        noisy = np.abs(np.diag(triangular)) > 0
        corrected: Floats = np.linalg.solve(triangular.T, told) if noisy.all() else np.linalg.pinv(triangular.T) @ told
        moved = np.eye(len(variances))
        moved[np.ix_(order, order)] -= roots[:, None] * (orthogonal @ corrected)
        return moved, int(noisy.sum())

    def _equations(self) -> Floats:
        """Equations that consistent cells fulfil, shape (equations, cells).

        Where there are no more finest parts than cells, as with bins of one column, mostly by a decomposition of which cell has
        which part, which takes a fraction of the time.
        """
        cells = sum(table.counts.size for table in self.tables)
        if math.prod(self.sizes) <= cells:
            told = np.concatenate([self._parts(table) for table in self.tables])
            told = np.unique(told[:, told.any(axis=0)], axis=1)
            orthogonal, triangular = np.linalg.qr(told, mode="complete")
            lengths = np.abs(np.diag(triangular))
            if lengths.min() > SINGULAR * lengths.max():
                return orthogonal.T[told.shape[1] :].astype(np.float64)
        shared = np.block([[self._shared(one, other) for other in self.tables] for one in self.tables])
        scale = np.sqrt(np.maximum(np.diag(shared), 1))  # a place in which no part counts is 0
        values, vectors = np.linalg.eigh(shared / np.outer(scale, scale))
        return (vectors / scale[:, None]).T[values < SINGULAR * values[-1]]

    def _parts(self, table: Noisy) -> Floats:
        """Which of the finest cells each cell of a table has, shape (cells, finest cells)."""
        parts: Floats = np.ones((1, 1))
        for column, size in enumerate(self.sizes):
            parts = np.kron(parts, self._places(table, column, size).T).astype(np.float64)
        return parts

    def _shared(self, one: Noisy, other: Noisy) -> Floats:
        """How many of the finest cells each cell of one table shares with each of another, shape (cells, cells)."""
        shared: Floats = np.ones((1, 1))
        for column, size in enumerate(self.sizes):
            sides = [self._places(table, column, size) for table in (one, other)]
            shared = np.kron(shared, sides[0].T @ sides[1]).astype(np.float64)
        return shared

    def _places(self, table: Noisy, column: int, size: int) -> Floats:
        """Which finest part of a column counts where, shape (parts, places)."""
        if column not in table.columns:
            return np.ones((size, 1))
        axis = table.columns.index(column)
        places = np.zeros((size, table.counts.shape[axis]))
        places[np.arange(size), table.groups[axis]] = 1
        return places

    @cached_property
    def fitted(self) -> list[Floats]:
        """See `Residuals`."""
        return self.nearest([table.counts for table in self.tables])

    def nearest(self, counts: Sequence[Floats]) -> list[Floats]:
        """See `Residuals`."""
        cells = self.solved[0] @ np.concatenate([table.ravel() for table in counts])
        ends = np.cumsum([table.size for table in counts])[:-1]
        return [part.reshape(table.shape) for part, table in zip(np.split(cells, ends), counts, strict=True)]

    def laws(self, table: int, kept: Columns) -> list[Law]:
        """See `Residuals`: of each cell its own."""
        first = sum(other.counts.size for other in self.tables[:table])
        asked = self.tables[table]
        rows = self.solved[0][first : first + asked.counts.size].reshape(*asked.counts.shape, -1)
        beside = tuple(axis for axis, column in enumerate(asked.columns) if column not in kept)
        weights: Floats = rows.sum(axis=beside).reshape(-1, rows.shape[-1]).round(DIGITS)
        ends = np.cumsum([other.counts.size for other in self.tables])[:-1]
        found = []
        for row in np.abs(weights):
            terms: Counter[tuple[float, CellNoise]] = Counter()
            for other, some in zip(self.tables, np.split(row, ends), strict=True):
                different, times = np.unique(some, return_counts=True)
                for weight, count in zip(different.tolist(), times.tolist(), strict=True):
                    terms[weight, other.noise] += count
            found.append(Law.of(terms))
        return found

    @property
    def freedom(self) -> int:
        """See `Residuals`."""
        return self.solved[1]


Fit = Residuals | Equations


def fit(tables: Sequence[Noisy], sizes: Sequence[int]) -> Fit:
    """The consistent tables nearest to noisy ones; `sizes` are the numbers of finest parts of the columns."""
    plain = all(
        np.array_equal(group, np.arange(places))
        for table in tables
        for group, places in zip(table.groups, table.counts.shape, strict=True)
    )
    return (Residuals if plain else Equations)(tuple(tables), tuple(sizes))


def misfit(found: Fit, zero: Sequence[tuple[Floats, CellNoise]] = ()) -> tuple[float, float, float]:
    """The sum of squared corrections over their variances, its mean, and what it exceeds in one of some hundred healthy cases.

    `zero` are further noisy cells that must be 0. The variance of the sum is at most that of all squared errors together.
    """
    total, mean, spread = 0.0, float(found.freedom), 0.0
    for table, fitted in zip(found.tables, found.fitted, strict=True):
        if table.noise.variance:
            total += float(((table.counts - fitted) ** 2).sum()) / table.noise.variance
            spread += table.counts.size * table.noise.excess
    for counts, noise in zero:
        total += float((counts**2).sum()) / noise.variance
        mean += counts.size
        spread += counts.size * noise.excess
    return total, mean, mean + 3 * math.sqrt(spread)


def without_negative(found: Fit) -> tuple[list[Floats], bool]:
    """The nearest consistent tables without a negative cell, with the total as it is (Dykstra 1983); whether they were found.

    What is left below 0 after the last round, if little enough, is cut: then sums agree to as many digits.
    """
    total = max(float(found.fitted[0].sum()), 0.0)
    exact = Noisy((), np.array(total), (), CellNoise())
    with_total = type(found)((*found.tables, exact), found.sizes)
    cells = with_total.fitted
    below = [np.zeros(table.shape) for table in cells]
    enough = -CLOSE * (1 + total) / max(table.size for table in cells)
    for _ in range(min(ROUNDS, MOST_WORK // sum(table.size for table in cells))):
        if min(table.min() for table in cells) >= enough:
            break
        moved = [cell + left for cell, left in zip(cells, below, strict=True)]
        kept = [np.maximum(cell, 0) for cell in moved]
        below = [cell - cut for cell, cut in zip(moved, kept, strict=True)]
        cells = with_total.nearest([*kept[:-1], exact.counts])
    done = min(table.min() for table in cells) >= enough
    return [np.maximum(cell, 0) for cell in cells[:-1]], bool(done)

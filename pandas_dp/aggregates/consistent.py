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
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Columns = tuple[int, ...]
SINGULAR = 1e-10  # of the largest eigenvalue: zero, as the numbers are rounded
POINTS, FARTHEST, HALVINGS = 1200, 90.0, 60  # of the integral over a characteristic function, and of the search in it
SCALE_OF_ONE = 1.84  # variance of discrete Laplace noise of scale 1
HIGHEST = 0.999  # level above which the bound is taken that holds for all weights
FEW = 1e-4  # of the variance: such a term counts as normal
ROUNDING = 1 / 12  # variance of the rounding of Gaussian noise to whole numbers
COARSE_SHARE = 0.3  # the same for noise of a scale below 1
CORRECTION_SHARE = 0.05  # of the error probability, spent on what is discrete about the noise
DIGITS = 12  # to which weights are compared
ROUNDS, CLOSE = 2000, 1e-6  # of the search for tables without negative cells, and what may be left below 0


class Noisy(NamedTuple):
    """One noisy table.

    Attributes
    ----------
    columns : tuple of int
        Numbers of its columns, rising, one for each axis.
    counts : array
    groups : tuple of array
        For each axis: in which place each of the finest parts of the column counts.
    variance : float
        Of the noise of each cell; 0 of an exact number.
    laplace : bool
        Whether the noise is Laplace noise; else it is normal.
    """

    columns: Columns
    counts: Floats
    groups: tuple[Codes, ...]
    variance: float
    laplace: bool

    def margin(self, kept: Columns) -> Floats:
        """Sums over all columns but some."""
        beside = tuple(axis for axis, column in enumerate(self.columns) if column not in kept)
        summed: Floats = self.counts.sum(axis=beside)
        return summed

    @property
    def excess(self) -> float:
        """Of a squared error over its variance: kurtosis less 1 (discrete Laplace noise has 6 + 1 / v)."""
        return 5 + 1 / self.variance if self.laplace else 2.0


class Law(NamedTuple):
    """Of a sum of independent errors.

    Attributes
    ----------
    laplace : tuple of (float, int)
        Variances of Laplace terms, and how many there are of each.
    normal : float
        Variance of the normal part.
    squares : float
        Sum of the squared weights of all terms, in steps of the counts.
    coarse : float
        The same over Laplace noise with a scale below 1 alone, which is far from continuous.
    """

    laplace: tuple[tuple[float, int], ...] = ()
    normal: float = 0.0
    squares: float = 0.0
    coarse: float = 0.0

    @property
    def variance(self) -> float:
        """Of the sum."""
        return self.normal + sum(variance * times for variance, times in self.laplace)

    @classmethod
    def of(cls, weights: dict[tuple[float, float, bool], int]) -> Law:
        """Of weighted cells: weight, variance of the noise and whether it is Laplace noise, and how many there are."""
        laplace: Counter[float] = Counter()
        normal = squares = coarse = 0.0
        for (weight, variance, of_laplace), times in weights.items():
            part = weight**2 * variance
            coarse += weight**2 * times * (of_laplace and 0 < variance < SCALE_OF_ONE)
            squares += weight**2 * times * (variance > 0)
            if of_laplace:
                laplace[part] += times
            else:
                normal += part * times
        return cls(tuple(sorted(laplace.items(), reverse=True)), normal, squares, coarse)


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
                weight = 1 / (table.variance * added) if table.variance else math.inf
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
        weights: Counter[tuple[float, float, bool]] = Counter()
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
                    weights[weight, other.variance, other.laplace] += times
        return [Law.of(weights)] * math.prod(self.sizes[j] for j in kept)

    @property
    def freedom(self) -> int:
        """By how many independent equations the noisy cells were checked."""
        cells = sum(table.counts.size for table in self.tables if table.variance)
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
        """What makes consistent cells of noisy ones, shape (cells, cells), and the number of equations with noise in them."""
        shared = np.block([[self._shared(one, other) for other in self.tables] for one in self.tables])
        scale = np.sqrt(np.maximum(np.diag(shared), 1))  # a place in which no part counts is 0
        values, vectors = np.linalg.eigh(shared / np.outer(scale, scale))
        equations = (vectors / scale[:, None]).T[values < SINGULAR * values[-1]]
        variances = np.concatenate([np.full(table.counts.size, table.variance) for table in self.tables])
        spread = (equations * variances) @ equations.T
        corrections, _, rank, _ = np.linalg.lstsq(spread, equations, rcond=None)
        corrected: Floats = equations.T @ corrections
        return np.eye(len(variances)) - variances[:, None] * corrected, int(rank)

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
        noise = [(other.variance, other.laplace) for other in self.tables for _ in range(other.counts.size)]
        return [
            Law.of(Counter((abs(h), *of) for h, of in zip(row, noise, strict=True) if h)) for row in weights.tolist()
        ]

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


def misfit(found: Fit) -> tuple[float, float]:
    """The sum of squared corrections over their variances, and what it exceeds in one of some hundred cases where all is well.

    Its mean is `freedom`. Its variance is at most the sum of those of the squared errors.
    """
    total = spread = 0.0
    for table, fitted in zip(found.tables, found.fitted, strict=True):
        if table.variance:
            total += float(((table.counts - fitted) ** 2).sum()) / table.variance
            spread += table.counts.size * table.excess
    return total, found.freedom + 3 * math.sqrt(spread)


def without_negative(found: Fit) -> list[Floats]:
    """The nearest consistent tables without a negative cell, with the total as it is (Dykstra 1983)."""
    total = max(float(found.fitted[0].sum()), 0.0)
    exact = Noisy((), np.array(total), (), 0.0, laplace=False)
    with_total = type(found)((*found.tables, exact), found.sizes)
    cells = with_total.fitted
    below = [np.zeros(table.shape) for table in cells]
    for _ in range(ROUNDS):
        if min(table.min() for table in cells) >= -CLOSE * (1 + total):
            break
        moved = [cell + left for cell, left in zip(cells, below, strict=True)]
        kept = [np.maximum(cell, 0) for cell in moved]
        below = [cell - cut for cell, cut in zip(moved, kept, strict=True)]
        cells = with_total.nearest([*kept[:-1], exact.counts])
    return [np.maximum(cell, 0) for cell in cells[:-1]]


@lru_cache(maxsize=4096)
def half_width(law: Law, level: float) -> float:
    """Within which the sum stays with this probability.

    By its characteristic function: P(|E| <= t) = 2/pi times the integral of sin(ut) / u phi(u), of noise on the integers as if
    it were continuous. What noise of a scale below 1 lacks to that moves the sum farther than r with q = exp(-3 r^2 / |h|^2) at
    most, |h| the length of its weights: see `DiscreteLaplace.combined`, also for the bound for all weights at the highest
    levels, where the integral has too few digits. Continuous noise has a variance that is larger by at most 1/6.
    """
    variance = law.variance + law.coarse / 6
    if variance <= 0:
        return 0.0
    if level > HIGHEST:
        spread = math.sqrt((variance + law.squares / 6) / 2)
        rounding = math.sqrt(law.squares * math.log(2 / (CORRECTION_SHARE * (1 - level))) / 2)
        return spread * DiscreteLaplace(Fraction(1)).combined(1 - (1 - level) * (1 - CORRECTION_SHARE)) + rounding
    if law.coarse:
        share = law._replace(coarse=0.0, normal=law.normal + law.coarse / 6)
        moved = math.sqrt(-math.log(COARSE_SHARE) * law.coarse / 3)
        return half_width(share, 1 - (1 - level) * (1 - COARSE_SHARE)) + moved
    deviation = math.sqrt(variance)
    u = (np.arange(POINTS) + 0.5) * (FARTHEST / POINTS) / deviation
    large = [(part, times) for part, times in law.laplace if part > FEW * variance]
    small = sum(part * times for part, times in law.laplace if part <= FEW * variance)
    logs = -(law.normal + small) * u**2 / 2
    for part, times in large:
        logs -= times * np.log1p(part * u**2 / 2)
    waves = np.exp(logs) / u * (2 / math.pi) * (u[1] - u[0])
    low, high = 0.0, 12 * deviation
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = float((np.sin(u * middle) * waves).sum())
        low, high = (middle, high) if inside < level else (low, middle)
    return high

"""Covariances and correlations of several columns, from one noisy look at the products of every pair."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import IN_ROWS, PLAIN, Answer, Caution, ExpectedError, SingleLook, Terms, noise_of
from pandas_dp.aggregates.covariance_bars import Covariances, Sums
from pandas_dp.aggregates.moments import few_rows_of
from pandas_dp.aggregates.rotated import Floats
from pandas_dp.aggregates.uncertainty import LEVEL, Ends, holding
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.statistics.products import ROW_TOTAL, Products

FAR = 3  # half-widths of a variance that it must lie above 0, for what is divided by it
ALL = Caution(
    "no interval, since it would contain every possible value: take more rows, a larger epsilon or narrower bounds"
)


@dataclass(frozen=True)
class Linearised:
    """Intervals to the first order in the noise, for the columns of a table or one Series.

    Every estimate is a smooth function of sums of independent noise with known weights; to the first order its error is
    again such a sum, with weights of length `lengths`. Where the noise is too large for that, by `most`, the interval is the
    whole of the possible values, `ends`.

    Attributes
    ----------
    noise : Noise
    columns : tuple
        Names of the columns; the following tables hold one tuple for each.
    centres : estimates as they follow from the noisy sums, before they were made fit to each other
    lengths : of the weights, in the unit of the answer for one step of the noise
    most : largest `Noise.combined` at which the first order is enough
    ends : least and largest possible value
    breaks : that at which what is divided by may be nothing: what is left of it then widens the intervals
    """

    noise: Noise
    columns: tuple[Any, ...]
    centres: tuple[tuple[float, ...], ...]
    lengths: tuple[tuple[float, ...], ...]
    most: tuple[tuple[float, ...], ...]
    ends: tuple[tuple[tuple[float, float], ...], ...]
    breaks: float = math.inf

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each entry of one column, known by its name."""
        place = self.columns.index(value.name)
        unit = self.noise.combined(level)
        centre, length, most = (np.array(table[place]) for table in (self.centres, self.lengths, self.most))
        least, largest = np.array(self.ends[place]).T
        known = unit <= most  # shape (entries,)
        half = np.full(known.shape, np.inf)
        half[known] = unit * length[known] / (1 - unit / self.breaks)
        return holding(value, np.maximum(centre - half, least), np.minimum(centre + half, largest))


@dataclass(frozen=True)
class Correlations:
    """Intervals to the first order, and of few rows those that three covariances leave, each at a third of what may fail."""

    first: Linearised
    covariances: Covariances

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each entry of one column, known by its name."""
        lower, upper = self.first.bounds(value, level)
        place, unit = self.first.columns.index(value.name), self.first.noise.combined(level)
        for i, most in enumerate(self.first.most[place]):
            if unit > most:
                low, high = self._of_few(i, place, 1 - (1 - level) / 3)
                lower.iloc[i], upper.iloc[i] = np.fmin(low, value.iloc[i]), np.fmax(high, value.iloc[i])
        return lower, upper

    def _of_few(self, i: int, j: int, level: float) -> tuple[float, float]:
        (a, more), (b, most), (low, high) = (self.covariances.ends(*pair, level) for pair in ((i, i), (j, j), (i, j)))
        if min(a, b) <= 0:
            return -1.0, 1.0
        low /= math.sqrt(more * most if low > 0 else a * b)
        high /= math.sqrt(a * b if high > 0 else more * most)
        return max(low, -1.0), min(high, 1.0)


@dataclass(frozen=True)
class Together(SingleLook):
    """A statistic of several columns that follows from the sums of their products; rows with a missing value are left out."""

    columns: tuple[str, ...]
    lattices: tuple[Lattice, ...]

    weighs = True

    def look(self, terms: Terms) -> Measurement:
        """Nine integers for each pair."""
        return terms.noised(Products(self.columns, self.lattices))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Sums from the features, the statistic from the sums; of few rows it has no value."""
        noise = noise_of(look)
        sums = Sums(len(self.columns), tuple(noisy), noise)
        found = self.from_sums(sums, noise)
        return replace(found, value=found.value * math.nan, notes=(few_rows_of(sums.least),)) if sums.few else found

    @abstractmethod
    def from_sums(self, sums: Sums, noise: Noise) -> Answer:
        """Turn noisy sums into the answer."""

    by_data: ClassVar[str]

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise of the sums, and what else the error depends on."""
        noise = noise_of(self.look(terms))
        return ExpectedError(
            noise.name, _scale(noise), f"not known in advance: it is the error of the covariances {self.by_data}"
        )

    @property
    def halves(self) -> Floats:
        """Half the distance of the bounds of each column: what 1 in y is worth."""
        return np.array([float(lattice.width / 2) for lattice in self.lattices])


@dataclass(frozen=True)
class Covariance(Together):
    """Covariance matrix of the rows that hold a value in every column.

    Released is the nearest matrix without negative eigenvalues, its variances cut to what the bounds allow.
    """

    ddof: int = 1
    version = 4

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of the widest entry, to the first order, at the most that its weights can have in length."""
        noise, halves = noise_of(self.look(terms)), self.halves
        apart, alone = largest_lengths(len(halves))
        worst = np.outer(halves, halves) * np.where(np.eye(len(halves)) > 0, alone, apart)
        size = noise.combined(LEVEL) * float(worst.max())
        return PLAIN.over_rows(noise.name, _scale(noise), size, terms.about(rows), about="the widest at most about")

    def from_sums(self, sums: Sums, noise: Noise) -> Answer:
        """Return a DataFrame on the columns, symmetric."""
        halves = self.halves
        scale = np.outer(halves, halves)  # shape (columns, columns)
        if self.ddof:
            rows = max(sums.rows, 2.0)
            scale = scale * (rows / (rows - 1))
        table = _table(fitted(sums.covariances) * scale, self.columns)
        cells = tuple(lattice.cells for lattice in self.lattices)
        error = Covariances(sums, self.columns, tuple(halves.tolist()), cells, self.ddof)
        pairs = combinations_with_replacement(range(len(cells)), 2)
        whole = any(error.ends(i, j, LEVEL) == error.whole(i, j) for i, j in pairs)
        return Answer(table, noise.name, error, (ALL,) if whole else ())


@dataclass(frozen=True)
class Correlation(Together):
    """Correlation matrix of the rows that hold a value in every column; no number where no variance is above the noise."""

    by_data = "divided by the variances"
    version = 4

    def from_sums(self, sums: Sums, noise: Noise) -> Answer:
        """Return a DataFrame on the columns, symmetric, within [-1, 1], 1 on the diagonal."""
        d = len(self.columns)
        found = fitted(sums.covariances)
        with np.errstate(all="ignore"):
            table = np.clip(correlated(found), -1, 1)
            raw = np.nan_to_num(np.clip(correlated(sums.covariances), -1, 1))
        np.fill_diagonal(table, np.where(np.diag(found) > 0, 1.0, np.nan))
        table_of = _table(table, self.columns)
        spread = np.diag(sums.covariances)
        rows = sums.enough_rows()
        lengths, most = np.zeros((d, d)), np.full((d, d), np.inf)
        for i, j in combinations_with_replacement(range(d), 2):
            if i != j:
                lengths[i, j] = lengths[j, i] = _of_correlation(sums, i, j, float(raw[i, j]))
                most[i, j] = most[j, i] = min(rows, above_noise(sums, i), above_noise(sums, j))
        ones = np.ones((d, d))
        first = linearised(noise, self.columns, raw + np.diag(1 - np.diag(raw)), lengths, most, -ones, ones)
        cells = tuple(lattice.cells for lattice in self.lattices)
        error = Correlations(first, Covariances(sums, self.columns, (1.0,) * d, cells, 0))
        lost = [name for name, v in zip(self.columns, spread, strict=True) if v <= 0]
        known = (error.bounds(table_of[name], LEVEL) for name in self.columns)
        notes = [ALL] if any(((lower <= -1) & (upper >= 1)).any() for lower, upper in known) else []
        notes += [
            Caution(f"no variance of {name!r} is above the noise: try narrower bounds or a larger epsilon")
            for name in lost
        ]
        return Answer(table_of, noise.name, error, tuple(notes))


def largest_lengths(columns: int) -> tuple[float, float]:
    """Most that the weights of a covariance, and of a variance, can have in length, in units of 1 / rows; from nothing noisy.

    The length is a convex function of the means and of what multiplies the error of the number of rows, so it is largest
    where the means are -1 or 1 or in between, and that -1 or 1.
    """
    empty = Sums(columns, (0,) * (9 * columns * (columns - 1) // 2), DiscreteLaplace(Fraction(1)))
    found = {False: 0.0, True: 0.0}
    for (i, j), a, b, c in product(((0, 1), (0, 0)), (-1, 0, 1), (-1, 0, 1), (-1, 1)):
        moved = np.zeros(empty.all.size)
        moved[empty.at(i, j)], moved[0] = 1, c
        moved[1 + i] -= b if i != j else a
        moved[1 + j] -= a
        found[i == j] = max(found[i == j], empty.length(moved))
    return found[False], found[True]


def above_noise(sums: Sums, i: int) -> float:
    """Largest half-width of the noise at which a variance is `FAR` times larger than its own."""
    return max(float(sums.covariances[i, i]), 0.0) / (FAR * sums.length(sums.gradient(i, i)))


def fitted(matrix: Floats) -> Floats:
    """The nearest symmetric matrix without negative eigenvalues, then rows and columns scaled for a diagonal of at most 1."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < 0:
        matrix = (vectors * np.maximum(values, 0)) @ vectors.T
        matrix = (matrix + matrix.T) / 2
    shrink = np.sqrt(np.minimum(1, 1 / np.maximum(np.diag(matrix), 1e-300)))  # shape (columns,)
    shrunk: Floats = matrix * np.outer(shrink, shrink)
    np.fill_diagonal(shrunk, np.maximum(np.diag(shrunk), 0))
    return shrunk


def correlated(matrix: Floats) -> Floats:
    """Covariances over the roots of the variances; no number where there is none."""
    spread = np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), np.nan))
    return matrix / np.outer(spread, spread)


def linearised(
    noise: Noise, columns: tuple[Any, ...], centres: Floats, lengths: Floats, most: Floats, least: Floats, ends: Floats
) -> Linearised:
    """The error of the columns of a table."""

    def rows(table: Floats) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(column) for column in table.T.tolist())

    pairs = tuple(tuple(zip(*pair, strict=True)) for pair in zip(rows(least), rows(ends), strict=True))
    return Linearised(noise, columns, rows(centres), rows(lengths), rows(most), pairs)


def _scale(noise: Noise) -> str:
    return f"{IN_ROWS.scale(noise, Fraction(1, ROW_TOTAL))}, on nine sums for each pair of columns"


def _of_correlation(sums: Sums, i: int, j: int, r: float) -> float:
    """Length of the weights of the noise of a correlation, to the first order."""
    a, b = sums.covariances[i, i], sums.covariances[j, j]
    if min(a, b) <= 0:
        return math.inf
    moved = sums.gradient(i, j) / math.sqrt(a * b)
    moved -= r / 2 * (sums.gradient(i, i) / a + sums.gradient(j, j) / b)
    return sums.length(moved)


def _table(matrix: Floats, columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(matrix, index=list(columns), columns=list(columns))

"""Intervals of covariances by tests of each possible value: they hold for few rows as for many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.rotated import EMPTY, Floats
from pandas_dp.aggregates.uncertainty import Ends, holding
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.statistics.products import ONE, ROW_TOTAL

SIGNS = np.array([1, -1, 0])  # of the shares p^2, q^2, 2 p q in y = p - q
SQUARES = np.array([1, 1, -1])  # and in y^2
MANY = 20  # half-widths of the number of rows that rows must be for the first order to tell the error
OF_MEANS = 0.05  # of what may fail


@dataclass(frozen=True)
class Sums:
    """What is known of the sums 1, y_i and y_i y_j over the complete rows, y in [-1, 1] between the bounds of a column.

    The number of rows is the mean of what the pairs say, and so are the sums of each column.

    Parameters
    ----------
    columns : int
    noisy : tuple of int
        Features of `Products`.
    noise : Noise
    """

    columns: int
    noisy: tuple[int, ...]
    noise: Noise

    @cached_property
    def weights(self) -> Floats:
        """How the sums follow from the features, in rows: shape (1 + columns + products, pairs * 9)."""
        d, pairs = self.columns, len(self.noisy) // 9
        rows = np.zeros((1 + d + d * (d + 1) // 2, pairs, 3, 3))
        rows[0] = 1 / pairs
        for pair, (i, j) in enumerate(combinations(range(d), 2)):
            for place, sign in ((i, SIGNS[:, None]), (j, SIGNS[None, :])):
                rows[1 + place, pair] = sign / (d - 1)
            for place, sign in ((i, SQUARES[:, None]), (j, SQUARES[None, :])):
                rows[self.at(place, place), pair] = sign / (d - 1)
            rows[self.at(i, j), pair] = np.outer(SIGNS, SIGNS)
        return rows.reshape(rows.shape[0], -1) / ROW_TOTAL

    @cached_property
    def all(self) -> Floats:
        """The sums: shape (1 + columns + products,)."""
        return self.weights @ np.array(self.noisy, dtype=np.float64)

    @cached_property
    def rows(self) -> float:
        """Number of rows, at least one."""
        return max(float(self.all[0]), 1.0)

    @cached_property
    def least(self) -> float:
        """What the noisy number of rows does not exceed without rows with 99 %: of so few nothing is shown."""
        return float(self.noise.half_widths(self.weights[0], EMPTY))

    @property
    def few(self) -> bool:
        """Whether there may be no rows."""
        return float(self.all[0]) <= self.least

    @cached_property
    def means(self) -> Floats:
        """Means of y, shape (columns,)."""
        return np.clip(self.all[1 : 1 + self.columns] / self.rows, -1, 1)

    @cached_property
    def covariances(self) -> Floats:
        """E y_i y_j - E y_i E y_j as they follow, shape (columns, columns)."""
        d = self.columns
        second = np.array([[self.all[self.at(i, j)] for j in range(d)] for i in range(d)]) / self.rows
        return second - np.outer(self.means, self.means)

    def at(self, i: int, j: int) -> int:
        """Place of the sum of y_i y_j."""
        low, high = min(i, j), max(i, j)
        return 1 + self.columns + low * self.columns - low * (low - 1) // 2 + high - low

    def gradient(self, i: int, j: int) -> Floats:
        """How a covariance moves with each sum, to the first order; shape (1 + columns + products,)."""
        moved = np.zeros(self.all.size)
        moved[self.at(i, j)] = 1
        moved[1 + i] -= self.means[j]
        moved[1 + j] -= self.means[i]
        moved[0] = self.means[i] * self.means[j] - self.covariances[i, j]
        return moved / self.rows

    def mean_gradient(self, i: int) -> Floats:
        """How the mean of y_i moves with each sum."""
        moved = np.zeros(self.all.size)
        moved[1 + i], moved[0] = 1, -self.means[i]
        return moved / self.rows

    def length(self, gradient: Floats) -> float:
        """Length of the weights with which the noise comes in."""
        return math.sqrt(max(float(gradient @ self.products @ gradient), 0.0))

    @cached_property
    def products(self) -> Floats:
        """Products of the weights of any two sums, shape (sums, sums)."""
        return self.weights @ self.weights.T

    def enough_rows(self) -> float:
        """Largest half-width of the noise at which there are `MANY` times more rows."""
        first = np.zeros(self.all.size)
        first[0] = 1
        return max(float(self.all[0]), 0.0) / (MANY * self.length(first))


@dataclass(frozen=True)
class Covariances:
    """Covariances of the columns of a table, in units of half their widths times each other; variances on the diagonal.

    Of true means a and b, with A = S_ij - a S_j - b S_i + a b N, S the noisy sums and N the noisy number of rows, and the true
    covariance v, A - v (N - ddof) is noise alone, of the weights of A - v N. So v is a possible value where that is within a
    half-width for some a and b that their own tests, |S_i - a N| within a half-width, leave. For each a and b, v lies between
    the roots of a quadratic, or anywhere if N - ddof may be noise. Half-widths are convex in weights, and A and the weights
    linear in a and in b, so the least and the largest v are found at corners of the rectangle of a and b. Of a
    variance a and b are the same number, and are two here, which leaves more.

    `OF_MEANS` of what may fail is left to the tests of the means. What rounding to the lattice and of shares moves a
    covariance by at most is added: the sums of y and of y y' are those of rows whose y is moved by at most 1 / M + 1 / `ONE`.
    So a covariance is moved by that of the one column and that of the other; a variance by 2 / `ONE` more, for the sum of y^2.

    Parameters
    ----------
    sums : Sums
    names : tuple
        Of the columns.
    halves : tuple of float
        Half the width of each.
    cells : tuple of int
        M of each.
    ddof : int
    """

    sums: Sums
    names: tuple[Any, ...]
    halves: tuple[float, ...]
    cells: tuple[int, ...]
    ddof: int

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each entry of one column, known by its name."""
        place = self.names.index(value.name)
        found = np.array([self.ends(i, place, level) for i in range(len(self.names))])
        scale = np.array(self.halves) * self.halves[place]
        return holding(value, scale * found[:, 0], scale * found[:, 1])

    def whole(self, i: int, j: int) -> tuple[float, float]:
        """All that is possible."""
        return (0.0 if i == j else -1.0 - self.ddof), 1.0 + self.ddof

    def ends(self, i: int, j: int, level: float) -> tuple[float, float]:
        """Least and largest possible covariance of two columns."""
        failing, (least, most), rows = 1 - level, self.whole(i, j), self._rows
        unit = self.sums.noise.combined(1 - (1 - OF_MEANS) * failing)
        means = [self._mean(k, self.sums.noise.combined(1 - OF_MEANS * failing / 2)) for k in (i, j)]
        corners = [self._roots(self._moved(i, j, a, b), rows, unit, self.ddof) for a, b in product(*means)]
        rounding = (1 + self.ddof) * (1 / self.cells[i] + 1 / self.cells[j] + 4 / ONE)
        low, high = min(corner[0] for corner in corners), max(corner[1] for corner in corners)
        return max(low - rounding, least), min(high + rounding, most)

    def line(self, level: float) -> tuple[tuple[float, float], ...]:
        """Of the first column on the second one: its value at the middle of that one's bounds, and the slope.

        Of true means and the true slope v, A_01 - v A_11 is noise alone; the mean of the second column comes in three times, as
        three numbers. With v and both means the value follows. All there is where the slope may be any.
        """
        failing, noise = 1 - level, self.sums.noise
        a, b = (self._mean(k, noise.combined(1 - OF_MEANS * failing / 2)) for k in (0, 1))
        unit = noise.combined(1 - (1 - OF_MEANS) * failing)
        corners = [
            self._roots(self._moved(0, 1, *at[:2]), self._moved(1, 1, *at[2:]), unit) for at in product(a, b, b, b)
        ]
        slope = min(corner[0] for corner in corners), max(corner[1] for corner in corners)
        if not all(map(math.isfinite, slope)):
            return (-math.inf, math.inf), (-math.inf, math.inf)
        values = [at - v * x for at, v, x in product(a, slope, b)]
        return (min(values), max(values)), slope

    def _moved(self, i: int, j: int, a: float, b: float) -> Floats:
        """Weights of the sums in A."""
        weights = np.zeros(self.sums.all.size)
        weights[self.sums.at(i, j)] = 1
        weights[1 + j] -= a
        weights[1 + i] -= b
        weights[0] += a * b
        return weights

    def _mean(self, i: int, unit: float) -> tuple[float, float]:
        """Least and largest possible mean."""
        weights = np.zeros(self.sums.all.size)
        weights[1 + i] = 1
        low, high = self._roots(weights, self._rows, unit)
        return max(low, -1.0), min(high, 1.0)

    @property
    def _rows(self) -> Floats:
        """Weights of the sums in N."""
        weights = np.zeros(self.sums.all.size)
        weights[0] = 1
        return weights

    def _roots(self, weights: Floats, of: Floats, unit: float, ddof: int = 0) -> tuple[float, float]:
        """All v with |A - v (B - ddof)| within `unit` times the length of the weights of A - v B."""
        lengths = self.sums.products
        total, under = float(weights @ self.sums.all), float(of @ self.sums.all) - ddof
        square = under**2 - unit**2 * float(of @ lengths @ of)
        if under <= 0 or square <= 0:
            return -math.inf, math.inf
        middle = total * under - unit**2 * float(weights @ lengths @ of)
        apart = math.sqrt(max(middle**2 - square * (total**2 - unit**2 * float(weights @ lengths @ weights)), 0.0))
        return (middle - apart) / square, (middle + apart) / square

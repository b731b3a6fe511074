"""Least squares on noisy covariances."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Answer, Caution
from pandas_dp.aggregates.covariance import Linearised, Together, fitted, linearised
from pandas_dp.aggregates.covariance_bars import Covariances, Sums
from pandas_dp.aggregates.population import student
from pandas_dp.aggregates.rotated import Floats
from pandas_dp.aggregates.uncertainty import LEVEL, Ends, holding
from pandas_dp.core.mechanisms.noise import Noise

FAR_ENOUGH = 3.0  # half-widths of its noise that the variance of the explaining column must be, to tell of a population
NEAR = 0.8  # of the least eigenvalue, which the half-width of the noise must stay below
INTERCEPT = "intercept"


@dataclass(frozen=True)
class OfFew:
    """A line on one column where the first order does not tell its error: see `Covariances.line`.

    Parameters
    ----------
    covariances : Covariances
        Of both columns.
    middles : tuple of float
        Of their bounds.
    """

    covariances: Covariances
    middles: tuple[float, ...]

    @property
    def known(self) -> bool:
        """Whether something is."""
        return math.isfinite(self.covariances.line(LEVEL)[1][0])

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for the intercept and the slope."""
        at, slope = self.covariances.line(level)
        half, other = self.covariances.halves
        slopes = [half / other * v for v in slope]
        values = [self.middles[0] + half * y - v * self.middles[1] for y, v in product(at, slopes)]
        if not all(map(math.isfinite, values)):  # all there is, as of the slope
            values = [-math.inf, math.inf]
        return holding(value, [min(values), slopes[0]], [max(values), slopes[1]])


@dataclass(frozen=True)
class LineOfPopulation:
    """Intercept and slope of the population that the rows are a random sample of; residuals spread as much everywhere.

    With S rows, x their mean, c the variance of x and s^2 = (c_yy - b^2 c) S / (S - 2), not below 0 and half the standard
    deviation of its noise added, sampling moves the slope b by s / sqrt(S c) and the intercept by s sqrt(1/S + x^2 / (S c)).
    Noise and sampling are independent, so their half-widths are added as squares, the second one by Student's t of S - 2
    degrees of freedom. Nothing is known where the noise of S c is above a third of it.

    Parameters
    ----------
    noise : Linearised
        The error of both for these rows.
    sampling : tuple of float
        Standard deviations of intercept and slope.
    freedom : float
    """

    noise: Linearised
    sampling: tuple[float, float]
    freedom: float

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for the intercept and the slope."""
        low, high = (end.to_numpy(dtype=np.float64) for end in self.noise.bounds(value, level))
        known = self.noise.noise.combined(level) <= self.noise.breaks / FAR_ENOUGH
        sampling = student(self.freedom, level) * np.array(self.sampling) if known else np.inf
        own = value.to_numpy(dtype=np.float64)
        ends = own - np.hypot(own - low, sampling), own + np.hypot(high - own, sampling)
        lower, upper = (pd.Series(end, index=value.index, name=value.name) for end in ends)
        return lower, upper


@dataclass(frozen=True)
class Line(Linearised):
    """The error of intercept and slope on one column, with what tells that for the population.

    ``constant_residuals`` is claimed by who asks for it, so it is no `population` that tables show beside the noise.
    """

    sampling: tuple[float, float] = (math.inf, math.inf)
    freedom: float = 1.0

    @property
    def constant_residuals(self) -> LineOfPopulation:
        """For the population, where the residuals spread as much everywhere."""
        return LineOfPopulation(self, self.sampling, self.freedom)


@dataclass(frozen=True)
class LinearRegression(Together):
    """Coefficients of the least-squares line of the first column on the others, with an intercept.

    In positions y between the bounds they solve C b = c, C the covariances of the explanatory columns and c those with the
    first one. Eigenvalues of C below the standard deviation s of the noise of C are raised to s: a direction in which the
    columns vary less than the noise says nothing about the slope, which is thereby pulled to 0 (a ridge where one is needed,
    and none elsewhere). s follows from the noise and the noisy number of rows.

    Notes
    -----
    Error of the slopes b, exactly: e = C^-1 (dc - dC b) + C^-1 dC e, all but the true e as they came out. The first term is
    noise of known weights; with r the half-width of all of dC over the least eigenvalue of C, e is no longer than 1 / (1 - r)
    times it, by which each interval is widened. None is given for r above `NEAR`. Checked by simulation with 1 to 3 explaining
    columns, of which two were much alike, and 100 to 5,000 rows at epsilon 1: 96 to 100 % covered, at r below 0.3 intervals
    1.1 to 1.4 times as wide as the error, at r = 0.5 2.5 times.
    """

    mixed = True
    version = 5
    by_data = "divided by how much the explanatory columns vary"

    def from_sums(self, sums: Sums, noise: Noise) -> Answer:
        """Return a Series: the intercept, then a coefficient for each explanatory column."""
        d = len(self.columns)
        matrix = fitted(sums.covariances)
        size = float(np.linalg.norm([[sums.length(sums.gradient(i, j)) for j in range(1, d)] for i in range(1, d)]))
        values, vectors = np.linalg.eigh(matrix[1:, 1:])
        least = min(noise.standard_deviation * size, 1.0)
        inverse = (vectors / np.maximum(values, least)) @ vectors.T  # shape (d - 1, d - 1)
        slopes = inverse @ matrix[1:, 0]
        coefficients, gradients = self._in_units(sums, inverse, slopes)
        names = (INTERCEPT, *self.columns[1:])
        found = pd.Series(coefficients, index=list(names), name=self.columns[0])
        breaks = float(max(values[0], 0.0)) / size
        most, notes = min(sums.enough_rows(), NEAR * breaks), []
        if values[0] < least:
            notes.append(
                "the explanatory columns vary too little for this noise, or are too strongly correlated: slopes are "
                "pulled towards 0"
            )
        if noise.combined(LEVEL) > most and d == 2:
            cells = tuple(lattice.cells for lattice in self.lattices)
            few = OfFew(Covariances(sums, self.columns, tuple(self.halves.tolist()), cells, 0), self._middles)
            if few.known:
                return Answer(found, noise.name, few, tuple(map(Caution, notes)))
        if noise.combined(LEVEL) > most:
            notes.append(
                "no interval, as the noise is too large: take more rows, a larger epsilon, narrower bounds or "
                "fewer columns"
            )
            return Answer(found, noise.name, None, tuple(map(Caution, notes)))
        column = np.ones((d, 1))
        lengths = np.array([[sums.length(gradient)] for gradient in gradients])
        error = linearised(
            noise, self.columns[:1], coefficients[:, None], lengths, column * most, column * -np.inf, column * np.inf
        )
        error = replace(error, breaks=breaks)
        if d == 2:
            error = Line(
                **vars(error), sampling=self._sampling(sums, float(slopes[0])), freedom=max(sums.rows - 2, 1.0)
            )
        return Answer(found, noise.name, error, tuple(map(Caution, notes)))

    def _sampling(self, sums: Sums, slope: float) -> tuple[float, float]:
        """Standard deviations of intercept and slope, in the columns' units, that sampling brings; see `LineOfPopulation`."""
        (y, x), rows, c = self.halves.tolist(), sums.rows, sums.covariances
        own = sums.gradient(0, 0) - 2 * slope * sums.gradient(0, 1) + slope**2 * sums.gradient(1, 1)
        left = max(float(c[0, 0] - 2 * slope * c[0, 1] + slope**2 * c[1, 1]), 0.0)
        left += sums.noise.standard_deviation * sums.length(own) / 2
        residual = y * math.sqrt(left * rows / max(rows - 2, 1.0))
        apart = x * math.sqrt(max(float(c[1, 1]), 1e-300) * rows)
        middle = self._middles[1] + x * float(sums.means[1])
        return residual * math.hypot(1 / math.sqrt(rows), middle / apart), residual / apart

    @property
    def _middles(self) -> tuple[float, ...]:
        """Of the bounds."""
        return tuple(float(lattice.lower + lattice.width / 2) for lattice in self.lattices)

    def _in_units(self, sums: Sums, inverse: Floats, slopes: Floats) -> tuple[Floats, list[Floats]]:
        """Coefficients in the columns' units, intercept first, and how each moves with the sums."""
        d, halves = len(self.columns), self.halves
        means = np.array(self._middles) + halves * sums.means
        ratios = halves[0] / halves[1:]
        residual = []  # how dc - dC b moves with the sums, for each explanatory column
        for k in range(1, d):
            moved = sums.gradient(k, 0)
            for slope, other in zip(slopes, range(1, d), strict=True):
                moved = moved - slope * sums.gradient(k, other)
            residual.append(moved)
        of_slopes = ratios[:, None] * (inverse @ np.array(residual))  # shape (d - 1, sums)
        own = ratios * slopes
        of_means = np.array([halves[i] * sums.mean_gradient(i) for i in range(d)])
        of_intercept = of_means[0] - own @ of_means[1:] - means[1:] @ of_slopes
        intercept = means[0] - own @ means[1:]
        return np.array([intercept, *own]), [of_intercept, *of_slopes]

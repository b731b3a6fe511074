"""Least squares on noisy covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Answer, Caution
from pandas_dp.aggregates.covariance import Floats, Sums, Together, fitted, linearised
from pandas_dp.core.mechanisms.noise import Noise

CLEAR = 3  # half-widths of the noise that the least eigenvalue must be, for the first order to tell the error
INTERCEPT = "intercept"


@dataclass(frozen=True)
class LinearRegression(Together):
    """Coefficients of the least-squares line of the first column on the others, with an intercept.

    In positions y between the bounds they solve C b = c, C the covariances of the explaining columns and c those with the
    first one. Eigenvalues of C below the standard deviation s of the noise of C are raised to s: a direction in which the
    columns vary less than the noise says nothing about the slope, which is thereby pulled to 0 (a ridge where one is needed,
    and none elsewhere). s follows from the noise and the noisy number of rows.

    Notes
    -----
    Error of the slopes to the first order in the noise: C^-1 (dc - dC b). It is used where the least eigenvalue is `CLEAR`
    times larger than the half-width of all of dC; elsewhere nothing is known of the slopes.
    """

    mixed = True
    by_data = "over how much the explaining columns vary"

    def from_sums(self, sums: Sums, noise: Noise) -> Answer:
        """Return a Series: the intercept, then a coefficient for each explaining column."""
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
        most = min(sums.enough_rows(), float(max(values[0], 0.0)) / (CLEAR * size))
        column = np.ones((d, 1))
        lengths = np.array([[sums.length(gradient)] for gradient in gradients])
        error = linearised(
            noise, self.columns[:1], coefficients[:, None], lengths, column * most, column * -np.inf, column * np.inf
        )
        notes: tuple[Caution, ...] = ()
        if values[0] < least:
            text = "the explaining columns vary too little, or too much alike, for the noise: slopes are pulled to 0"
            notes = (Caution(text),)
        return Answer(found, noise.name, error, notes)

    def _in_units(self, sums: Sums, inverse: Floats, slopes: Floats) -> tuple[Floats, list[Floats]]:
        """Coefficients in the columns' units, intercept first, and how each moves with the sums."""
        d, halves = len(self.columns), self.halves
        middles = np.array([float(lattice.lower + lattice.width / 2) for lattice in self.lattices])
        means = middles + halves * sums.means
        ratios = halves[0] / halves[1:]
        residual = []  # how dc - dC b moves with the sums, for each explaining column
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

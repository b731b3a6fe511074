"""Coverage of intervals by fresh noise on fixed rows, and places of means and variances that are hard."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

LEVEL, DRAWS, LEAST = 0.95, 4000, 0.945
# mean and variance in units of half the width: spread out, half at each bound, near one, at one, ages, incomes
PLACES = [(0, 1 / 3), (0, 1), (0.9, 0.19), (-1, 0), (-0.24, 0.075), (0.5, 0.1), (-0.97, 0.01)]


def enough(draws: int, level: float = LEAST) -> int:
    return int(binom.ppf(1e-9, draws, level))


def drawn(noise, size, seed=1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if isinstance(noise, DiscreteLaplace):
        return np.rint(rng.laplace(0, float(noise.scale), size))
    return np.rint(rng.normal(0, noise.standard_deviation, size))


def hits(lower, upper, truth) -> int:
    return int(((lower <= truth + 1e-9) & (upper >= truth - 1e-9)).sum())  # the truth is a float, too

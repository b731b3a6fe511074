"""Intervals of keys that are listed for their noisy counts hold for keys that are listed: by the exact law, for all sizes."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

from pandas_dp.aggregates.key_selections import OfListed
from pandas_dp.aggregates.uncertainty import Additive
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

NOISES = {
    "fine": (DiscreteLaplace(F(1, 3)), 5),
    "Laplace": (DiscreteLaplace(F(1)), 15),
    "wide": (DiscreteLaplace(F(20)), 280),
    "low threshold": (DiscreteLaplace(F(20)), 30),
    "Gaussian": (DiscreteGaussian(F(16 * 4**10), 10), 22),
    "low, Gaussian": (DiscreteGaussian(F(100 * 4**10), 10), 8),
}


def law(noise, reach: int) -> np.ndarray:
    """P(Z = z), z from -reach to reach."""
    z = np.arange(-reach, reach + 1)
    if isinstance(noise, DiscreteLaplace):
        p = math.exp(-1 / float(noise.scale))
        return (1 - p) / (1 + p) * p ** np.abs(z)
    above = [math.erfc((k - 0.5) / noise.standard_deviation / math.sqrt(2)) / 2 for k in range(-reach, reach + 2)]
    return -np.diff(above)


def covered(model, noise, threshold: int, n: int, level: float) -> float:
    """Of keys of n rows that are listed."""
    reach = int(60 * noise.standard_deviation) + 60
    chances = law(noise, reach)
    x = np.arange(n - reach, n + reach + 1)
    seen = x >= threshold
    lower, upper = model.bounds(pd.Series(x[seen]), level)
    inside = (lower <= n) & (n <= upper)
    assert ((lower <= np.maximum(x[seen], 0)) & (x[seen] <= upper)).all()
    assert (lower >= 0).all()
    return float(chances[seen][inside.to_numpy()].sum() / chances[seen].sum())


@pytest.mark.one_in(6)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("kind", NOISES)
def test_they_hold_for_every_size(kind, level):
    noise, threshold = NOISES[kind]
    spread = max(1, int(noise.standard_deviation))
    sizes = {0, 1, 2, *range(max(1, threshold - 12 * spread), threshold + 12 * spread, max(1, spread // 2)), 10_000}
    for n in sizes:
        if threshold - n < 15 * spread:  # else the law of what is listed is below what a float sum can tell
            assert covered(OfListed(noise, threshold), noise, threshold, n, level) >= level - 1e-9, n


@pytest.mark.parametrize("kind", ["Laplace", "wide", "Gaussian"])
def test_the_noise_alone_does_not(kind):
    """Of a key well below the threshold the interval of the noise seldom holds the size."""
    noise, threshold = NOISES[kind]
    n = threshold - 4 * int(noise.standard_deviation)
    assert covered(Additive(noise), noise, threshold, n, 0.95) < 0.1


@pytest.mark.parametrize("kind", NOISES)
def test_far_above_they_are_those_of_the_noise(kind):
    noise, threshold = NOISES[kind]
    value = pd.Series([threshold + 10**6, 10**15], index=["a", "b"], name="count")
    for found, of_noise in zip(
        OfListed(noise, threshold).bounds(value, 0.95), Additive(noise).bounds(value, 0.95), strict=True
    ):
        assert found.index.tolist() == ["a", "b"]
        assert (found - of_noise).abs().max() <= 1


def test_close_to_it_nothing_is_known_of_the_lower_end():
    lower, upper = OfListed(DiscreteLaplace(F(1)), 15).bounds(pd.Series([15, 18, 19, 30]), 0.95)
    assert lower.tolist() == [0, 0, 16, 27]
    assert upper.max() <= 33

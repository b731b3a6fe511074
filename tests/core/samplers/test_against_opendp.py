"""Our samplers and OpenDP's have one law: two-sample tests that reject equal laws with probability below 1e-6.

Power: a scale 4 % off and the other one of both choices are refused with p < 1e-8, as the last test shows; it misses
either with a chance below 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from functools import cache

import numpy as np
import pytest

from pandas_dp.core.samplers.scalar import discrete_laplace
from pandas_dp.core.samplers.selection import exponential_mechanism, permute_and_flip
from pandas_dp.core.samplers.vector import discrete_gaussian_vector, discrete_laplace_vector

from .laws import FALSE_ALARM, same_law

dp = pytest.importorskip("opendp.prelude")
pytestmark = pytest.mark.slow

SCORES = [3, 0, 7, 7, 5, -20]


@pytest.fixture(scope="module", autouse=True)
def _features() -> None:
    dp.enable_features("contrib")


def opendp_noise(make: Callable[..., object], distance: object, scale: float, n: int) -> list[int]:
    space = dp.vector_domain(dp.atom_domain(T=int)), distance
    return make(*space, scale=scale)([0] * n)


@cache
def opendp_choices(measure: str, scale: float, n: int) -> list[int]:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    choose = dp.m.make_noisy_max(*space, getattr(dp, measure)(), scale=scale)
    return [choose(SCORES) for _ in range(n)]


@pytest.mark.parametrize("scale", [0.5, 20.0])
def test_discrete_laplace(scale: float) -> None:
    theirs = opendp_noise(dp.m.make_laplace, dp.l1_distance(T=int), scale, 100_000)
    assert same_law(discrete_laplace_vector(F(scale), 100_000), theirs) > FALSE_ALARM
    assert same_law((discrete_laplace(F(scale)) for _ in range(100_000)), theirs) > FALSE_ALARM


@pytest.mark.parametrize("sigma", [0.5, 30.0])
def test_discrete_gaussian(sigma: float) -> None:
    theirs = opendp_noise(dp.m.make_gaussian, dp.l2_distance(T=float), sigma, 100_000)
    assert same_law(discrete_gaussian_vector(F(sigma) ** 2, 100_000), theirs) > FALSE_ALARM


def test_permute_and_flip_is_noisy_max_with_exponential_noise() -> None:
    theirs = opendp_choices("max_divergence", 2.5, 20_000)
    ours = [permute_and_flip(np.array(SCORES), F(2, 5)) for _ in range(20_000)]
    assert same_law(ours, theirs) > FALSE_ALARM


def test_exponential_mechanism_is_noisy_max_with_gumbel_noise() -> None:
    theirs = opendp_choices("zero_concentrated_divergence", 2.5, 10_000)
    ours = [exponential_mechanism(np.array(SCORES), F(2, 5)) for _ in range(10_000)]
    assert same_law(ours, theirs) > FALSE_ALARM


def test_a_wrong_law_is_refused() -> None:
    theirs = opendp_noise(dp.m.make_laplace, dp.l1_distance(T=int), 3.5, 200_000)
    assert same_law(discrete_laplace_vector(F(35, 10) * F(96, 100), 1_000_000), theirs) < FALSE_ALARM
    theirs = opendp_choices("max_divergence", 2.5, 20_000)
    chosen = [exponential_mechanism(np.array(SCORES), F(2, 5)) for _ in range(60_000)]
    assert same_law(chosen, theirs) < FALSE_ALARM

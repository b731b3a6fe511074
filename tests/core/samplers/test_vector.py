"""The vector samplers follow their laws, with 64-bit tables and tables so coarse that many draws are exact.

Every test of a law rejects a right sampler with probability below 1e-6. At 1e6 draws a scale that is 3 % too small
is refused with p < 1e-8 (shown below), as are the other broken twins.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction as F
from itertools import combinations

import numpy as np
import pytest
from scipy import special

from pandas_dp.core.samplers import tables, vector
from pandas_dp.core.samplers.scalar import discrete_gaussian, discrete_laplace
from pandas_dp.core.samplers.vector import discrete_gaussian_vector, discrete_laplace_vector
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

from .laws import (
    FALSE_ALARM,
    chi_squared,
    discrete_gaussian_law,
    discrete_laplace_law,
    same_law,
    seeded,
    wide_cells,
)

MILLION = 1_000_000
HUGE = F(10**60 + 7, 10**59 + 9)  # about 10, in 60 digits


def coarse_laplace(scale: F, n: int, digit_bits: int, guide: int, full: int) -> np.ndarray:
    numerator, denominator, noise = scale.numerator, scale.denominator, []
    sign = vector.cut_table(range(denominator, 2 * denominator + 1, denominator), numerator, guide, full)
    for at in range(0, n, tables.CHUNK):
        size, fill = min(tables.CHUNK, n - at), seeded(at)
        part = vector.geometric_vector(numerator, denominator, size, fill, digit_bits, guide, full)
        noise.append(part ^ -sign.draw(size, fill))
    return np.concatenate(noise)


def coarse_gaussian(variance: F, n: int, cells: int, guide: int = 16, full: int = 64) -> np.ndarray:
    noise = np.empty(n, dtype=np.int64)
    fill = seeded(cells + guide)
    return vector._fill_gaussian(noise, variance.numerator, variance.denominator, cells, fill, guide, full)


# --------------------------------------------------------------------------------------------- full precision
@pytest.mark.one_in(2)
@pytest.mark.parametrize("scale", [F(1, 1000), F(1, 2), F(10), HUGE, F(1000, 3)])
def test_discrete_laplace(scale: F) -> None:
    draws = discrete_laplace_vector(scale, MILLION)
    assert draws.dtype == np.int64
    assert chi_squared(draws, discrete_laplace_law(scale)) > FALSE_ALARM


@pytest.mark.parametrize("variance", [F(1, 1000), F(1, 3), F(100), HUGE, F(90_000)])
def test_discrete_gaussian(variance: F) -> None:
    draws = discrete_gaussian_vector(variance, MILLION)
    assert draws.dtype == np.int64
    assert chi_squared(draws, discrete_gaussian_law(variance)) > FALSE_ALARM


@pytest.mark.parametrize("scale", [10**6, 10**12, 2**50 - 1])
def test_wide_discrete_laplace(scale: int) -> None:
    p = math.exp(-1 / scale)

    def below(z: int) -> float:
        return math.exp((z - 1) / scale) / (1 + p) if z <= 0 else 1 - math.exp(-z / scale) / (1 + p)

    def quantile(u: float) -> float:
        return scale * math.log(2 * u) if u < 0.5 else -scale * math.log(2 - 2 * u)

    draws = discrete_laplace_vector(F(scale), MILLION)
    assert wide_cells(draws, quantile, below) > FALSE_ALARM


@pytest.mark.parametrize("sigma", [10**5, 10**12, 2**50 - 1])
def test_wide_discrete_gaussian(sigma: int) -> None:
    draws = discrete_gaussian_vector(F(sigma**2), MILLION)
    p = wide_cells(
        draws,
        lambda u: sigma * float(special.ndtri(u)),
        lambda z: float(special.ndtr((z - 0.5) / sigma)),  # exact to 1e-11 here
    )
    assert p > FALSE_ALARM


@pytest.mark.parametrize("n", [0, 1, 255, 256, 8191, 8192, 32767, 32768, tables.CHUNK + 1])
def test_every_size_has_its_shape_and_spread(n: int) -> None:
    """The number of draws decides which tables are used."""
    for draws in (discrete_laplace_vector(F(10**6), n), discrete_gaussian_vector(F(10**12), n)):
        assert draws.shape == (n,)
        if n >= 256:  # an eighth of the spread is 17 standard errors at 256 (Laplace: kurtosis 6)
            spread = float(np.mean(np.abs(draws.astype(float)))) / 10**6
            assert 0.6 < spread < 1.4


def test_few_draws_at_a_time_follow_the_law() -> None:
    """Below 256 draws tables are searched without a look-up."""
    laplace = np.concatenate([discrete_laplace_vector(F(7, 2), 200) for _ in range(500)])
    assert chi_squared(laplace, discrete_laplace_law(F(7, 2))) > FALSE_ALARM
    gaussian = np.concatenate([discrete_gaussian_vector(F(2000), 200) for _ in range(500)])
    assert chi_squared(gaussian, discrete_gaussian_law(F(2000))) > FALSE_ALARM


def test_vectors_and_scalars_have_one_law() -> None:
    n = 50_000
    assert same_law(discrete_laplace_vector(F(7, 2), n), (discrete_laplace(F(7, 2)) for _ in range(n))) > FALSE_ALARM
    assert same_law(discrete_gaussian_vector(F(12), n), (discrete_gaussian(F(12)) for _ in range(n))) > FALSE_ALARM


def test_threads_that_meet_at_cold_tables_have_the_law() -> None:
    """Each of four threads finds no table, or one without its look-up, or a ready one; all draws are different ones."""
    vector._geometric_tables.cache_clear()
    vector.cut_table.cache_clear()
    vector._gaussian_tables.cache_clear()
    barrier = threading.Barrier(4)

    def draw(_: int) -> tuple[np.ndarray, np.ndarray]:
        barrier.wait()
        return discrete_laplace_vector(F(60), 25_000), discrete_gaussian_vector(F(90_001), 25_000)

    with ThreadPoolExecutor(4) as pool:
        laplace, gaussian = zip(*pool.map(draw, range(4)), strict=True)
    assert chi_squared(np.concatenate(laplace), discrete_laplace_law(F(60))) > FALSE_ALARM
    assert chi_squared(np.concatenate(gaussian), discrete_gaussian_law(F(90_001))) > FALSE_ALARM
    assert not any(np.array_equal(one, other) for one, other in combinations(laplace + gaussian, 2))


# ---------------------------------------------------------------------------------------------- coarse tables
@pytest.mark.slow
@pytest.mark.parametrize(("guide", "full", "n"), [(3, 8, 250_000), (4, 12, MILLION)])
@pytest.mark.parametrize(("scale", "digit_bits"), [(F(1, 2), 1), (F(7, 2), 1), (F(7, 2), 4), (F(60), 2)])
def test_discrete_laplace_in_coarse_tables(scale: F, digit_bits: int, guide: int, full: int, n: int) -> None:
    draws = coarse_laplace(scale, n, digit_bits, guide, full)
    assert chi_squared(draws, discrete_laplace_law(scale)) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(("guide", "full", "n"), [(3, 8, 250_000), (4, 12, MILLION)])
@pytest.mark.parametrize(("variance", "cells"), [(F(1, 3), 4), (F(9), 4), (F(1000), 4), (F(1000), 16)])
def test_discrete_gaussian_in_coarse_tables(variance: F, cells: int, guide: int, full: int, n: int) -> None:
    draws = coarse_gaussian(variance, n, cells, guide, full)
    assert chi_squared(draws, discrete_gaussian_law(variance)) > FALSE_ALARM


@pytest.mark.parametrize("cells", [pytest.param(2, marks=pytest.mark.slow), 16])
def test_a_million_of_the_discrete_gaussian_by_few_cells(cells: int) -> None:
    """Few cells: the comparison of weights decides every tenth draw."""
    draws = coarse_gaussian(F(1000), MILLION, cells)
    assert chi_squared(draws, discrete_gaussian_law(F(1000))) > FALSE_ALARM


# ----------------------------------------------------------------------------------------------- broken twins
def test_three_percent_too_little_noise_is_refused() -> None:
    draws = discrete_laplace_vector(F(97, 10), MILLION)
    assert chi_squared(draws, discrete_laplace_law(F(10))) < FALSE_ALARM
    draws = discrete_gaussian_vector(F(97**2, 100), MILLION)
    assert chi_squared(draws, discrete_gaussian_law(F(100))) < FALSE_ALARM
    sigma = 10**12 * 97 // 100
    draws = discrete_gaussian_vector(F(sigma**2), MILLION)
    p = wide_cells(draws, lambda u: 10**12 * float(special.ndtri(u)), lambda z: float(special.ndtr((z - 0.5) / 10**12)))
    assert p < FALSE_ALARM


def test_a_truncating_sampler_is_refused() -> None:
    draws = np.clip(discrete_laplace_vector(F(10), MILLION), -69, 69)  # P(|Z| > 69) is 0.001
    assert chi_squared(draws, discrete_laplace_law(F(10))) < FALSE_ALARM
    draws = np.clip(discrete_gaussian_vector(F(100), MILLION), -33, 33)
    assert chi_squared(draws, discrete_gaussian_law(F(100))) < FALSE_ALARM


def test_tables_without_the_exact_path_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tables.CodeTable, "_exact", lambda table, leading, bits: int((table.thresholds <= leading).sum())
    )
    draws = coarse_laplace(F(7, 2), 60_000, 4, 3, 8)
    assert chi_squared(draws, discrete_laplace_law(F(7, 2))) < FALSE_ALARM
    draws = coarse_gaussian(F(9), 60_000, 4, 3, 8)
    assert chi_squared(draws, discrete_gaussian_law(F(9))) < FALSE_ALARM


def test_keeping_every_proposal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector, "below_exp", lambda u, numerator, denominator: True)
    draws = coarse_gaussian(F(1000), 100_000, 4)
    assert chi_squared(draws, discrete_gaussian_law(F(1000))) < FALSE_ALARM


# -------------------------------------------------------------------------------------------------- arguments
@pytest.mark.parametrize("draw", [discrete_laplace_vector, discrete_gaussian_vector])
def test_arguments_that_cannot_be_used(draw: Callable[..., object]) -> None:
    with pytest.raises(ArgumentTypeError, match="Fraction"):
        draw(0.5, 10)
    for value in (F(0), F(-1), F(2) ** 100):
        with pytest.raises(ArgumentValueError, match="type"):
            draw(value, 10)
    with pytest.raises(ArgumentValueError, match="n is negative"):
        draw(F(1), -1)


def test_the_widest_scale_is_the_last_one_served() -> None:
    assert discrete_laplace_vector(F(2**50) - F(1, 3), 3).shape == (3,)
    assert discrete_gaussian_vector(F(2**100) - F(1, 3), 3).shape == (3,)
    with pytest.raises(ArgumentValueError, match=r"discrete_laplace\(scale\)"):
        discrete_laplace_vector(F(2**50), 3)
    with pytest.raises(ArgumentValueError, match=r"discrete_gaussian\(variance\)"):
        discrete_gaussian_vector(F(2**100), 3)

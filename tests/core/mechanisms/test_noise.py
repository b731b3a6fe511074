"""Noise added to vectors: rounding on a finer lattice, many entries at a time, and noise wider than 64 bits.

Every test of a law rejects a right mechanism with probability below 1e-6 and is shown to reject a broken twin.
"""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
from core.samplers.laws import FALSE_ALARM, chi_squared, discrete_gaussian_law, seeded, wide_cells
from scipy import special

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms import noise
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.samplers.vector import discrete_gaussian_vector, discrete_laplace_vector

MECHANISMS = (DiscreteLaplace(F(10**6)), DiscreteGaussian(F(10**12), 3))
REACH = 2**62  # of int64 noise


def nearest(x: F) -> int:
    """The nearest integer, halves up."""
    return math.floor(x + F(1, 2))


# --------------------------------------------------------------------------------------------------- rounding
def test_rounding_the_noise_rounds_the_sum() -> None:
    """All noise of up to 70 steps and at the ends of its range, as ints and as int64s, on lattices of all widths."""
    ends = [sign * (REACH - k) for sign in (1, -1) for k in range(4)]
    for refine, z in product((*range(7), 30, 61, 62), (*range(-70, 71), *ends)):
        rounded = noise._rounded(z, refine)
        assert noise._rounded(np.array([z], dtype=np.int64), refine).tolist() == [rounded]
        for x in (0, 5, -(10**30)):
            assert x + rounded == nearest(F((x << refine) + z, 1 << refine))


def rounded_law(variance: F, refine: int) -> dict[int, float]:
    law: dict[int, float] = {}
    for z, p in discrete_gaussian_law(variance).items():
        at = nearest(F(z, 1 << refine))
        law[at] = law.get(at, 0.0) + p
    return law


@pytest.mark.one_in(2)
@pytest.mark.parametrize("entries", [noise.FEWEST_FOR_TABLES - 1, 100_000])
def test_rounded_noise_has_its_law(entries: int) -> None:
    """One lattice step in half a standard deviation: the scalar sampler and the tables."""
    gaussian = DiscreteGaussian(F(230), 3)
    draws = [z for _ in range(100_000 // entries) for z in gaussian.draw(Exact([0] * entries))]
    assert chi_squared(draws, rounded_law(F(230), 3)) > FALSE_ALARM


@pytest.mark.parametrize("twin", [lambda z, r: z >> r, lambda z, r: np.sign(z) * (abs(z) + (1 << r >> 1) >> r)])
def test_other_roundings_are_refused(twin: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Down, and halves away from zero."""
    monkeypatch.setattr(noise, "_rounded", twin)
    draws = DiscreteGaussian(F(230), 3).draw(Exact([0] * 100_000))
    assert chi_squared(draws, rounded_law(F(230), 3)) < FALSE_ALARM


# ---------------------------------------------------------------------------------------- many entries at once
@pytest.mark.parametrize("entries", [0, 1, 31, 32, 63, 64, 65, 128, 200])
def test_every_entry_gets_the_next_draw(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bytes of the samplers called piece by piece: entry plus noise, whatever the entry's size."""
    monkeypatch.setattr(noise, "CHUNK", 64)
    exact = [(-1) ** k * k * 10**25 for k in range(entries)]
    kept = list(exact)
    for mechanism in MECHANISMS:
        drawn = mechanism.draw(Exact(exact), seeded(7))
        assert exact == kept
        assert len(drawn) == entries
        assert all(type(y) is int for y in drawn)
        if entries < noise.FEWEST_FOR_TABLES:
            continue
        fill, expected = seeded(7), []
        for at in range(0, entries, 64):
            n = min(64, entries - at)
            if isinstance(mechanism, DiscreteLaplace):
                expected += discrete_laplace_vector(mechanism.scale, n, fill=fill).tolist()
            else:
                expected += [nearest(F(z, 8)) for z in discrete_gaussian_vector(F(10**12), n, fill=fill).tolist()]
        assert [y - x for x, y in zip(exact, drawn, strict=True)] == expected


@pytest.mark.parametrize("entries", [1, 31, 32, 200])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_arrays_get_the_noise_of_lists(
    mechanism: DiscreteLaplace | DiscreteGaussian, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where entry and noise together leave int64, and of arrays of Python ints."""
    monkeypatch.setattr(noise, "CHUNK", 64)
    ends = [2**63 - 1, -(2**63), 2**62 + 5, 0, -7] * entries
    for held in (np.array(ends[:entries]), np.array(ends[:entries], dtype=object) * 10**9):
        kept = held.tolist()
        drawn = mechanism.draw(Exact(held), seeded(7))
        assert drawn == mechanism.draw(Exact(kept), seeded(7))
        assert {*map(type, drawn)} == {int}
        assert held.tolist() == kept


def repeats(drawn: list[int]) -> int:
    return len(drawn) - len(set(drawn))


def test_pieces_share_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise a million wide: 6400 draws of it repeat about 5 to 10 values; 200 repeats are beyond a chance of 1e-100."""
    monkeypatch.setattr(noise, "CHUNK", 64)
    scale = F(10**6)
    assert repeats(DiscreteLaplace(scale).draw(Exact([0] * 6400))) < 200
    one = discrete_laplace_vector(scale, 64)
    twin = noise.add_noise([0] * 6400, scale, scale, int, lambda scale, n, fill: one[:n], seeded(1))
    assert repeats(twin) >= 6336


def peak(mechanism: DiscreteLaplace | DiscreteGaussian, exact: Exact) -> float:
    """Most memory at once in units of the answer's."""
    mechanism.draw(Exact([0] * 1000))  # not the tables
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        drawn = mechanism.draw(exact)
        after, most = tracemalloc.get_traced_memory()
        assert len(drawn) == len(exact.open())
        return (most - before) / (after - before)
    finally:
        tracemalloc.stop()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_memory_is_that_of_the_answer(
    mechanism: DiscreteLaplace | DiscreteGaussian, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the list that is returned, of 40 bytes an entry, there is only one piece; in one go there would be two lists."""
    exact = Exact([1000] * 100_000)
    monkeypatch.setattr(noise, "CHUNK", 1 << 13)
    assert peak(mechanism, exact) < 1.4
    monkeypatch.setattr(noise, "CHUNK", 1 << 30)
    assert peak(mechanism, exact) > 1.6


# ------------------------------------------------------------------------------------------------- wide noise
WIDE = 2**70
CUT = 24  # draws are counted in units of 2**CUT, so that they fit 64 bits


def wide_laplace(draws: list[int]) -> float:
    """p-value of noise of scale 2**70; what the continuous law makes of z >> CUT is exact to 1e-13."""
    scale = WIDE >> CUT

    def below(z: int) -> float:
        return math.exp(z / scale) / 2 if z <= 0 else 1 - math.exp(-z / scale) / 2

    def quantile(u: float) -> float:
        return scale * math.log(2 * u) if u < 0.5 else -scale * math.log(2 - 2 * u)

    return wide_cells(np.array([z >> CUT for z in draws], dtype=np.int64), quantile, below)


def wide_gaussian(draws: list[int]) -> float:
    sigma = WIDE >> CUT
    cut = np.array([z >> CUT for z in draws], dtype=np.int64)
    return wide_cells(cut, lambda u: sigma * float(special.ndtri(u)), lambda z: float(special.ndtr(z / sigma)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("widest", [noise.WIDEST_FOR_TABLES, noise.WIDEST_FOR_TABLES + 1])
def test_noise_about_the_widest_of_the_tables(widest: F) -> None:
    """Draws beyond 2**53 on both sides of the border, and sums beyond 2**63, keep their last bit."""
    exact = [2**63 - 1, -(2**63)] * 20_000
    for mechanism in (DiscreteLaplace(widest), DiscreteGaussian((widest - 1) ** 2)):
        drawn = mechanism.draw(Exact(exact))
        noises = np.array([y - x for x, y in zip(exact, drawn, strict=True)], dtype=np.int64)
        assert max(map(abs, drawn)) > 2**63  # else all 40,000 draws are below 0: chance 2**-40000
        low = dict.fromkeys(range(64), 1 / 64)
        assert chi_squared(noises & 63, low) > FALSE_ALARM
        floats = np.array([int(float(y)) - x & 63 for x, y in zip(exact, drawn, strict=True)])
        assert chi_squared(floats, low) < FALSE_ALARM


@pytest.mark.slow
def test_noise_beyond_64_bits_has_its_law() -> None:
    """40,000 draws of a scale of 2**70; a fifth too little noise is refused."""
    zeros = Exact([0] * 40_000)
    for by, test in ((F(1), lambda p: p > FALSE_ALARM), (F(4, 5), lambda p: p < FALSE_ALARM)):
        draws = DiscreteLaplace(WIDE * by).draw(zeros)
        assert max(map(abs, draws)) > 2**70
        assert test(wide_laplace(draws))
        assert test(wide_gaussian(DiscreteGaussian((WIDE * by) ** 2).draw(zeros)))


# ------------------------------------------------------------------------------------------------------- time
@pytest.mark.parametrize("mechanism", [DiscreteLaplace(F(10**12)), DiscreteGaussian(F(10**12) ** 2, 3)])
def test_long_vectors_are_drawn_by_tables(
    mechanism: DiscreteLaplace | DiscreteGaussian, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPU time of an entry, least of seven turns: one at a time takes 11 times (Laplace) and 24 times (Gaussian) as long."""
    least = [math.inf, math.inf]
    for _ in range(7):
        for way, (fewest, entries) in enumerate(((32, 100_000), (10**9, 5000))):
            monkeypatch.setattr(noise, "FEWEST_FOR_TABLES", fewest)
            exact, start = Exact([0] * entries), time.process_time()
            mechanism.draw(exact)
            least[way] = min(least[way], (time.process_time() - start) / entries)
    assert 3 * least[0] < least[1]

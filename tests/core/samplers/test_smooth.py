"""Rounded continuous noise follows its law cell by cell, also when words are so short that ties decide most draws.

Every test of a law rejects a right sampler with probability below 1e-6; a scale that is 5 % off is refused at 1e6 draws,
and a tail that is cut off (both shown below).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest
from scipy import integrate, stats

from pandas_dp.core.randomness import Bits, random_bytes
from pandas_dp.core.samplers import smooth

from .laws import FALSE_ALARM, chi_squared, seeded

Cdf = Callable[[float], float]


def upper_quartic(z: float) -> float:
    """P(Z > z) for density proportional to 1 / (1 + z**4), z >= 0; its integral over the line is pi / sqrt(2)."""
    return integrate.quad(lambda t: 1 / (1 + t**4), z, math.inf, epsabs=1e-13)[0] * math.sqrt(2) / math.pi


def upper_cubic(z: float) -> float:
    total = 2 * math.pi / (3 * math.sqrt(3))  # over the half line
    return integrate.quad(lambda t: 1 / (1 + t**3), z, math.inf, epsabs=1e-13)[0] / (2 * total)


LAWS: dict[str, tuple[Callable[..., int], Cdf]] = {
    "cauchy": (partial(smooth.draw_polynomial, 2), stats.cauchy.sf),
    "cubic": (partial(smooth.draw_polynomial, 3), upper_cubic),
    "quartic": (partial(smooth.draw_polynomial, 4), upper_quartic),
    "student_t": (smooth.draw_student3, stats.t(3).sf),
    "polynomial_laplace": (smooth.draw_polynomial_laplace, lambda z: (1 + z) ** -3 / 2),
    "laplace": (smooth.draw_laplace, lambda z: math.exp(-z) / 2),
    "gaussian": (smooth.draw_gaussian, stats.norm.sf),
}


def cells(upper: Cdf, scale: float, most: int = 400) -> dict[int, float]:
    """P(round(scale Z) = k) for |k| <= most."""
    tails = [float(upper((k + 0.5) / scale)) for k in range(most + 1)]
    half = [tails[k - 1] - tails[k] for k in range(1, most + 1)]
    return {0: 1 - 2 * tails[0]} | {sign * k: p for k, p in enumerate(half, 1) for sign in (1, -1)}


def draws(name: str, scale: F, count: int, bits: Bits) -> np.ndarray:
    draw, (top, bottom) = LAWS[name][0], scale.as_integer_ratio()
    found = (draw(top, bottom, bits) for _ in range(count))
    return np.fromiter((min(max(z, -(10**6)), 10**6) for z in found), dtype=np.int64, count=count)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("width", "scale"), [(1, F(2, 3)), (3, F(7, 2)), (64, F(10**40 + 1, 10**40))])
def test_laws_with_short_words(name, width, scale):
    found = draws(name, scale, 10_000, Bits(seeded(width), width=width, size=4096))
    assert chi_squared(found, cells(LAWS[name][1], float(scale))) > FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(pytest.param(name, 400_000, marks=pytest.mark.slow) for name in ("cauchy", "student_t")),
        *(pytest.param(name, 10**6, marks=pytest.mark.nightly) for name in LAWS if name != "cubic"),
    ],
)
def test_many_draws(name, count):
    """A scale 5 % off is refused: of Cauchy noise, whose scale shows least, 400,000 draws miss it in one of 1e8 cases.

    Its statistic has 330 degrees of freedom and a noncentrality of 476: mean 806, standard deviation 51, limit 494.
    """
    scale = F(9, 4)
    found = draws(name, scale, count, Bits(random_bytes, size=512))
    law = cells(LAWS[name][1], float(scale), most=2000)
    assert chi_squared(found, law) > FALSE_ALARM
    assert chi_squared(found, cells(LAWS[name][1], 1.05 * float(scale), most=2000)) < FALSE_ALARM


def test_a_cut_tail_is_refused():
    """Cauchy noise that never goes beyond 64 steps, as if its uniforms had few bits."""
    found = draws("cauchy", F(9, 4), 20_000, Bits(random_bytes, size=512))
    law = cells(LAWS["cauchy"][1], 2.25)
    assert chi_squared(found, law) > FALSE_ALARM
    assert chi_squared(found[np.abs(found) < 64], law) < FALSE_ALARM


@pytest.mark.parametrize("name", LAWS)
def test_far_beyond_any_fixed_width(name):
    """A scale of 2**200 steps: the low bits of the noise are as random as the high ones."""
    found = [LAWS[name][0](1 << 200, 1, Bits(random_bytes)) for _ in range(2000)]
    assert len(set(found)) == 2000
    assert chi_squared([z & 7 for z in found], dict.fromkeys(range(8), 1 / 8)) > FALSE_ALARM

"""Each public sampler, as the mechanisms call it, against its exact law at a million draws, by night.

A right sampler is rejected with probability below 1e-6. A scale that is 1 % off is rejected with probability 0.85 (Laplace),
above 0.999 (Gaussian) and 0.52 (a rate of permute-and-flip), one that is 2 % off above 0.999 each. By day the tests "with
the bytes of the system" of scalar and selection ask the same of 200,000 draws, which reject 3 % with probability 0.95 and
more. The twins beside them show rejection.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F

import numpy as np
import pytest

from pandas_dp.core.samplers.scalar import bernoulli_exp, discrete_gaussian, discrete_laplace, uniform_below
from pandas_dp.core.samplers.selection import exponential_mechanism, permute_and_flip

from .laws import chi_squared, discrete_gaussian_law, discrete_laplace_law

MILLION = 1_000_000
SCORES = np.array([5, 3, 4, 0, 5, 1], dtype=np.int64)
RATE = F(1, 2)


def softmax_law() -> dict[int, float]:
    weights = np.exp(SCORES * float(RATE))
    return dict(enumerate(weights / weights.sum()))


def permute_and_flip_law() -> dict[int, float]:
    """P(r) = p_r integral_0^1 prod_{s != r} (1 - p_s t) dt, the integral by exact polynomial arithmetic in floats."""
    keep = np.exp((SCORES - SCORES.max()) * float(RATE))
    law = {}
    for r, p in enumerate(keep):
        polynomial = np.poly1d([1.0])
        for s, q in enumerate(keep):
            if s != r:
                polynomial *= np.poly1d([-q, 1.0])
        law[r] = float(p * (polynomial.integ()(1.0) - polynomial.integ()(0.0)))
    return law


CASES: dict[str, tuple[Callable[[], int], dict[int, float]]] = {
    "discrete_laplace": (lambda: discrete_laplace(F(10, 3)), discrete_laplace_law(F(10, 3))),
    "discrete_gaussian": (lambda: discrete_gaussian(F(50, 3)), discrete_gaussian_law(F(50, 3))),
    "permute_and_flip": (lambda: permute_and_flip(SCORES, RATE), permute_and_flip_law()),
    "bernoulli_exp": (lambda: int(bernoulli_exp(F(5, 4))), {1: float(np.exp(-1.25)), 0: float(-np.expm1(-1.25))}),
    "uniform_below": (lambda: uniform_below(7), dict.fromkeys(range(7), 1 / 7)),
    "exponential_mechanism": (lambda: exponential_mechanism(SCORES, RATE), softmax_law()),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_law(name: str) -> None:
    draw, law = CASES[name]
    assert chi_squared([draw() for _ in range(MILLION)], law) > 1e-7

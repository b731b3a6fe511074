"""Shift and dilation together cost at most epsilon: numerically, over a grid, and at the noise that is really drawn."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize, stats

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.smooth import DRAWS, NEED_DELTA, SmoothNoise, admissible, hyperbolic_alpha
from pandas_dp.core.privacy import Sensitivity
from pandas_dp.core.statistics.smooth import FLOOR, LOG_BITS, SmoothSensitivity
from pandas_dp.errors import ArgumentValueError

EPSILONS = [0.01, 0.1, 1, 5, 10, 30]
PURE = [law for law in DRAWS if law not in NEED_DELTA]
Long = np.longdouble


def log_density(law: str, z: np.ndarray, gamma: float = 4) -> np.ndarray:
    """Up to a constant."""
    z = np.abs(z)
    if law == "student_t":
        return -2 * np.log1p(z * z / 3)
    if law == "polynomial_laplace":
        return -5 * np.log1p(z)
    return -np.logaddexp(Long(0), (2 if law == "cauchy" else Long(gamma)) * np.log(np.maximum(z, Long(1e-300))))


def worst_loss(law: str, alpha: float, beta: float, gamma: float = 4) -> float:
    """Largest loss over ratios of scales, shifts and outputs, in long doubles."""
    far = np.geomspace(Long(1e-4), Long(1e8), 400)
    grid, worst = np.concatenate([-far[::-1], [Long(0)], far]), -math.inf
    for log_ratio in np.linspace(-1, 1, 7, dtype=Long) * Long(beta):
        ratio = np.exp(log_ratio)
        for shift in np.linspace(0, 1, 5, dtype=Long) * Long(alpha) * min(Long(1), 1 / ratio):
            y = np.concatenate([grid, grid - shift])
            loss = log_density(law, y, gamma) - log_ratio - log_density(law, ratio * (y + shift), gamma)
            worst = max(worst, float(loss.max()))
    return worst


@pytest.mark.parametrize("epsilon", [*EPSILONS, 50])
@pytest.mark.parametrize("law", PURE)
def test_pure_losses(law, epsilon):
    alpha, beta = admissible(law, F(epsilon), F(0))
    worst = worst_loss(law, float(alpha), float(beta))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst > 0.99 * epsilon or law == "polynomial"  # nothing is left over


@pytest.mark.parametrize("law", ["cauchy", "student_t"])
def test_every_beta(law):
    """Where the loss is a hyperbolic distance, the constant is tight however epsilon is split."""
    for epsilon in EPSILONS:
        for share in (F(1, 50), F(3, 10), F(7, 10), F(49, 50)):
            if law == "cauchy":
                beta = share * F(epsilon)
                alpha = hyperbolic_alpha(F(epsilon), F(epsilon), beta, 1)
            else:
                beta = share * F(epsilon) / 3
                alpha = hyperbolic_alpha(F(epsilon) / 2, (F(epsilon) - beta) / 2, beta, 3)
            worst = worst_loss(law, float(alpha), float(beta))
            assert 0.99 * epsilon < worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("gamma", [1.1, 1.5, 2, 3, 4, 8, 12])
def test_every_gamma(gamma):
    """alpha (g - 1)**((g - 1)/g) + beta max(1, g - 1) <= epsilon does for all, epsilon / 4g and epsilon / g not."""
    slope, dilation = (gamma - 1) ** ((gamma - 1) / gamma), max(1, gamma - 1)
    for epsilon in (0.01, 1, 10):
        for share in (0.1, 0.5, 0.9):
            worst = worst_loss("polynomial", (1 - share) * epsilon / slope, share * epsilon / dilation, gamma)
            assert worst <= epsilon * (1 + 1e-9)
    loose = worst_loss("polynomial", 0.1 / (4 * gamma), 0.1 / gamma, gamma)
    assert (loose > 0.1 * (1 + 1e-3)) == (gamma in (1.1, 8, 12))


def exact_delta(law: str, epsilon: float, alpha: float, beta: float) -> float:
    """Largest delta over ratios and shifts: the mass beyond each root of loss = epsilon, by the distribution function."""
    noise = stats.laplace if law == "laplace" else stats.norm
    reach, worst = (80 if law == "laplace" else 14), 0.0

    def mass(low: float, high: float) -> float:
        return noise.cdf(high) - noise.cdf(low) if high < 0 else noise.sf(low) - noise.sf(high)

    for log_ratio in np.linspace(-1, 1, 5) * beta:
        ratio = math.exp(log_ratio)
        for shift in np.linspace(0, 1, 5) * alpha * min(1, 1 / ratio):

            def excess(y, ratio=ratio, shift=shift, log_ratio=log_ratio):
                return noise.logpdf(y) - log_ratio - noise.logpdf(ratio * (y + shift)) - epsilon

            y = np.linspace(-reach, reach, 1001)
            above = excess(y) > 0
            roots = [optimize.brentq(excess, y[i], y[i + 1], xtol=1e-14) for i in np.flatnonzero(np.diff(above))]
            edges, total, inside = [-math.inf, *roots, math.inf], 0.0, bool(above[0])
            for low, high in pairwise(edges):
                if inside:
                    there = mass(ratio * (low + shift), ratio * (high + shift))
                    total += mass(low, high) - math.exp(epsilon) * there
                inside = not inside
            worst = max(worst, total)
    return worst


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("law", NEED_DELTA)
def test_deltas(law, delta):
    for epsilon in EPSILONS:
        alpha, beta = admissible(law, F(epsilon), F(delta))
        assert exact_delta(law, epsilon, float(alpha), float(beta)) <= delta
    for epsilon in (1, 10):
        alpha, beta = admissible(law, F(epsilon), F(delta))
        assert exact_delta(law, epsilon, 1.1 * float(alpha), 1.1 * float(beta)) > delta


def test_two_step_proof_fails_for_large_epsilon():
    """beta = epsilon / (2 ln(2 / delta)) for Laplace noise is not enough at epsilon = 20."""
    assert exact_delta("laplace", 20, 10, 20 / (2 * math.log(2e6))) > 3e-6


@pytest.mark.parametrize("law", DRAWS)
@pytest.mark.parametrize("epsilon", [F(1, 10**4), F(1), F(10**6)])
def test_any_epsilon(law, epsilon):
    delta = F(1, 10**6) if law in NEED_DELTA else F(0)
    noise = SmoothNoise(law, epsilon, delta)
    alpha, beta = admissible(law, epsilon, delta)
    assert alpha > 0
    assert 0 < beta <= epsilon
    declared = SmoothSensitivity(l1=2, l2_squared=2, linf=1, touched=2, beta=beta)
    assert noise.loss(declared).epsilon == 2 * epsilon
    assert noise.loss(declared).delta == 2 * delta
    largest, least = 22 << LOG_BITS, FLOOR
    drawn = noise.draw(Exact([(5, largest), (5, least)]))
    assert all(type(x) is int for x in drawn)


def test_refusals():
    noise = SmoothNoise("cauchy", F(1))
    for rough in (Sensitivity(1, 1, 1), SmoothSensitivity(1, 1, 1, beta=noise.beta * 2)):
        with pytest.raises(TypeError, match="smooth"):
            noise.loss(rough)
    for law, delta in (("cauchy", F(1, 10)), ("laplace", F(0))):
        with pytest.raises(ArgumentValueError, match="delta"):
            admissible(law, F(1), delta)
    with pytest.raises(ArgumentValueError, match="1e-5"):
        admissible("gaussian", F(1, 10**6), F(1, 100))


def test_scale_is_what_was_promised():
    """The spread of the answers is S / alpha times that of the law, for tiny and for huge S."""
    noise = SmoothNoise("laplace", F(2), F(1, 10**6))  # alpha = 1: mean of |Z| is 1
    for log_scale in (3.0, 20.0):
        drawn = noise.draw(Exact([(7, int(log_scale * 2**LOG_BITS))] * 4000))
        mean = np.mean(np.abs(np.array(drawn) - 7.0)) / math.exp(log_scale)
        assert 0.9 < mean < 1.1  # more than six standard errors on either side

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
        return -4 * np.log1p(z)
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


@pytest.mark.one_in(2)
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


@pytest.mark.one_in(4)
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


@pytest.mark.one_in(2)
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


def worst_loss_in_space(law: str, alpha: float, beta: float, d: int, pieces: int = 24) -> float:
    """Largest loss over ratios of scales, over outputs, and over all ways to split the shift in pieces among d values."""
    far = np.geomspace(Long(1e-4), Long(1e8), 300)
    grid, worst = np.concatenate([-far[::-1], [Long(0)], far]), -math.inf
    for log_ratio in np.linspace(-1, 1, 5, dtype=Long) * Long(beta):
        ratio = np.exp(log_ratio)
        each = []
        for shift in np.linspace(0, 1, pieces + 1, dtype=Long) * Long(alpha) * min(Long(1), 1 / ratio):
            y = np.concatenate([grid, grid - shift])
            loss = log_density(law, y) - log_ratio - log_density(law, ratio * (y + shift))
            each.append(float(loss.max()))
        total = np.zeros(1)
        for _ in range(d):  # the best split of k pieces among one value more
            sums = np.add.outer(total, each)
            total = np.array([np.diag(sums[:, ::-1], pieces - k).max() for k in range(pieces + 1)])
        worst = max(worst, float(total.max()))
    return worst


@pytest.mark.one_in(6)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("law", PURE)
def test_pure_losses_in_space(law, d):
    for epsilon in (0.01, 1, 30):
        alpha, beta = (float(x) for x in admissible(law, F(epsilon), F(0), d))
        assert worst_loss_in_space(law, alpha, beta, d) <= epsilon * (1 + 1e-9)
    if d > 1:  # the constants of one value are not enough for several
        alone = (float(x) for x in admissible(law, F(1), F(0)))
        assert worst_loss_in_space(law, *alone, d) > 1


def laplace_delta_in_space(epsilon: float, alpha: float, beta: float, d: int) -> float:
    """A bound: the loss is at most (r - 1) G + alpha - d ln r, G the sum of d exponentials; none above epsilon for r < 1."""
    assert alpha + d * beta <= epsilon
    worst = 0.0
    for b in np.linspace(0.02, 1, 50) * beta:
        g = (epsilon - alpha + d * b) / math.expm1(b)
        worst = max(worst, stats.gamma.sf(g, d) - math.exp(epsilon - alpha) * stats.gamma.sf(math.exp(b) * g, d))
    return worst


def gaussian_delta_in_space(epsilon: float, alpha: float, beta: float, d: int) -> float:
    """Exact: the loss exceeds epsilon outside (or, where the scale grows, inside) a ball."""
    worst = 0.0
    for b in np.append(np.linspace(0.02, 1, 20), np.linspace(-1, -0.02, 20)) * beta:
        r = math.exp(b)
        a = r * r - 1
        for share in np.linspace(0, 1, 5):
            shift = share * alpha * min(1, 1 / r)
            radius = (2 * (epsilon + d * b) - (r * shift) ** 2) / a + (r * r * shift / a) ** 2
            if radius <= 0:
                assert b < 0  # nothing is that unlikely
                continue
            inside = stats.ncx2.cdf if b < 0 else stats.ncx2.sf
            here, there = (r * r * shift / a) ** 2, (r * shift / a) ** 2
            worst = max(worst, inside(radius, d, here) - math.exp(epsilon) * inside(r * r * radius, d, there))
    return worst


@pytest.mark.one_in(3)
@pytest.mark.parametrize("law", NEED_DELTA)
@pytest.mark.parametrize("d", [2, 5, 50])
def test_deltas_in_space(law, d):
    exact = laplace_delta_in_space if law == "laplace" else gaussian_delta_in_space
    for epsilon in (0.1, 1, 8, 30):
        for delta in (1e-3, 1e-6, 1e-9):
            alpha, beta = (float(x) for x in admissible(law, F(epsilon), F(delta), d))
            assert exact(min(epsilon, 8), alpha, beta, d) <= delta / 100
    if law == "laplace":  # the constants of one value are not enough for ten
        beta = float(admissible(law, F(1), F(1, 10**6))[1])
        assert laplace_delta_in_space(1, 0, beta, 10) > 1e-6  # dilation alone, where the bound is exact


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
    with pytest.raises(TypeError, match="move together"):
        noise.loss(SmoothSensitivity(1, 1, 1, beta=noise.beta, dimension=2))
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

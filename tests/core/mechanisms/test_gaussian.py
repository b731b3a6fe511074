"""The delta of the discrete Gaussian noise that is drawn, summed integer by integer: at most the one claimed, and hardly less.

The noise is z / 2**refine with P(z) proportional to exp(-z^2 / (2 V)), so a change by d moves z by D = d 2**refine, and the
loss of z is the linear L(z) = (2 z D + D^2) / (2 V). Hence

    delta = sum over z with L(z) > epsilon of P(z) (1 - exp(epsilon - L(z))).

All of it in long floats (64 bits of precision), which err by less than 1e-15 of each term; noise of a standard deviation of
sigma steps has the total mass sigma sqrt(2 pi), up to a factor 1 + 2 exp(-2 pi^2 sigma^2) (Poisson's summation formula).
"""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.gaussian import FINE, DiscreteGaussian, analytic_variance
from pandas_dp.core.privacy import Sensitivity

EPSILONS = ["0.01", "0.1", "1", "3", "10", "30"]
DELTAS = ["1e-3", "1e-6", "1e-12"]
LONG = np.longdouble
CHUNK = 1 << 13


def exact_delta(epsilon: F, variance: F, shift: int) -> float:
    """Sum of P(z) (1 - exp(epsilon - L(z))) over L(z) > epsilon, rounded up by the mass that is left out."""
    e, v = (LONG(x.numerator) / LONG(x.denominator) for x in (epsilon, variance))
    first = math.floor((2 * variance * epsilon - shift * shift) / (2 * shift)) + 1  # the least z with L(z) > epsilon
    total = LONG(0)
    while True:
        z = first + np.arange(CHUNK).astype(LONG)
        loss = (2 * z * shift + LONG(shift) ** 2) / (2 * v)
        weights = np.exp(-z * z / (2 * v))
        total += (weights * -np.expm1(np.minimum(e - loss, 0))).sum()
        first += CHUNK
        # beyond z > 0 weights fall by exp(-z / V) at least from each to the next
        beyond = np.exp(-(LONG(first) ** 2) / (2 * v)) / -np.expm1(-LONG(first) / v) if first > 0 else LONG(math.inf)
        if beyond < total * LONG(1e-8):
            return float((total + beyond) / np.sqrt(2 * LONG(np.pi) * v))


def integers(distance: int) -> Sensitivity:
    return Sensitivity(distance, distance**2, distance)


def test_the_sum_against_one_in_whole_integers():
    """A law of a few steps, with its own normalization: sum of (P(z) - e^epsilon P(z - D))+."""
    for epsilon, variance, shift in ((F(1), F(9), 2), (F("0.1"), F(40), 3), (F(3), F(30), 11)):
        z = np.arange(-400, 401)
        law = np.exp(-(z**2) / (2 * float(variance)))
        moved = np.exp(-((z - shift) ** 2) / (2 * float(variance)))
        direct = np.maximum(0, law - math.exp(epsilon) * moved).sum() / law.sum()
        assert exact_delta(epsilon, variance, shift) == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize(
    "distance",
    [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 1000)), pytest.param(10, marks=pytest.mark.nightly)],
)
def test_delta_of_the_noise_that_is_drawn(distance):
    """Above 0.9999 of the claim and never above it; a smaller change reaches less."""
    sensitivity = integers(distance)
    for epsilon, delta in ((F(e), F(d)) for e in EPSILONS for d in DELTAS):
        noise = DiscreteGaussian.calibrate(sensitivity, epsilon, delta, None)
        reached = exact_delta(epsilon, noise.variance, distance << noise.refine)
        assert 0.9999 * float(delta) < reached <= float(delta), (epsilon, delta)
        if distance > 1 and epsilon >= 1:
            assert exact_delta(epsilon, noise.variance, (distance - 1) << noise.refine) < reached
        assert min(noise.variance, (distance << noise.refine) ** 2) >= 4**FINE
        assert noise.loss(sensitivity).rho == F((distance << noise.refine) ** 2) / (2 * noise.variance)


def test_a_draw_has_that_law():
    """The drawn integers are rounded from the lattice on which the variance is counted; 10 standard errors, a false alarm in
    1e22; a lattice of half or double the width would be off by hundreds."""
    noise = DiscreteGaussian.calibrate(integers(10), F(1), F("1e-6"), None)
    count = 40_000
    drawn = np.array(noise.draw(Exact([0] * count)), dtype=np.float64)
    sigma = noise.standard_deviation
    assert abs(drawn.mean()) < 10 * sigma / math.sqrt(count)
    assert abs((drawn**2).mean() - sigma**2 - 1 / 12) < 10 * sigma**2 * math.sqrt(2 / count)


@pytest.mark.parametrize("twin", ["coarse", "less noise"])
def test_twins_exceed_the_claim(twin):
    """The continuous variance on the integers themselves; a hundred-thousandth less variance on the fine lattice."""
    epsilon, delta = F(1), F("1e-5")
    if twin == "coarse":
        variance, refine = analytic_variance(epsilon, delta), 0
    else:
        noise = DiscreteGaussian.calibrate(integers(1), epsilon, delta, None)
        variance, refine = noise.variance * F("0.99999"), noise.refine
    assert exact_delta(epsilon, variance, 1 << refine) > float(delta) * (1.03 if twin == "coarse" else 1)

"""Discrete Gaussian noise, calibrated to (epsilon, delta) or to rho."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.mechanisms.noise import Noise, add_noise
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Fill, random_bytes
from pandas_dp.core.samplers.scalar import draw_discrete_gaussian, exp_bounds
from pandas_dp.core.samplers.vector import discrete_gaussian_vector

SMALLEST_GAUSSIAN_EPSILON = Fraction(1, 10**8)
FINE = 10  # the noise lattice has at least 2**10 steps in the standard deviation and in the sensitivity
ROUNDING_SHARE = 0.1  # of the error probability, spent on the rounding of weighted sums
TWO_PI = Fraction(314159265358979, 50 * 10**12)  # rounded down


@dataclass(frozen=True)
class DiscreteGaussian(Noise):
    """Adds Z / 2**refine with P(Z = z) proportional to exp(-z^2 / (2 variance)), then rounds to an integer.

    The noise lives on a lattice 2**refine times finer than the integers, so that the law is as good as the
    continuous one and the (epsilon, delta) of the calibration holds; the rounding is post-processing.

    Notes
    -----
    For all integer vectors at L2 distance at most d, a draw is exactly rho-zCDP with rho = d^2 4**refine /
    (2 variance) (Canonne, Kamath, Steinke 2020, Theorem 4; shifts are integers on the fine lattice).
    """

    variance: Fraction
    refine: int = 0

    name = "discrete Gaussian"

    @classmethod
    def calibrate(
        cls, sensitivity: Sensitivity, epsilon: Fraction | None, delta: Fraction, rho: Fraction | None
    ) -> DiscreteGaussian:
        """Return the least noise for rho, or for (epsilon, delta)."""
        squared = Fraction(sensitivity.l2_squared)
        unit_variance = 1 / (2 * rho) if rho is not None else analytic_variance(epsilon or Fraction(0), delta)
        variance = squared * unit_variance
        smaller = min(float(squared), float(variance))
        refine = max(0, FINE + 1 - math.floor(math.log2(smaller) / 2))
        return cls(Fraction(math.ceil(variance * 4**refine)), refine)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return rho = L2^2 / (2 sigma^2), exactly."""
        return PrivacyLoss.gaussian(Fraction(sensitivity.l2_squared * 4**self.refine) / (2 * self.variance))

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One noisy integer for each entry."""
        width = Fraction(math.isqrt(int(self.variance)) + 1)
        draws = draw_discrete_gaussian, discrete_gaussian_vector
        return add_noise(exact.held(), self.variance, width, *draws, fill, self.refine)

    @property
    def standard_deviation(self) -> float:
        """At most this, before rounding to integers."""
        return math.sqrt(float(self.variance / 4**self.refine))

    def half_width(self, level: float) -> int:
        """Smallest integer at least sigma z, plus the rounding; z the normal quantile."""
        return math.ceil(self.standard_deviation * NormalDist().inv_cdf(0.5 + level / 2) + 0.5)

    def tail(self, level: float) -> float:
        """Return sigma z: any combination with weights of squared sum at most 1 stays within it."""
        return self.standard_deviation * NormalDist().inv_cdf(0.5 + level / 2)

    def combined(self, level: float) -> float:
        """See `Noise`.

        Notes
        -----
        The normal quantile for the noise on its fine lattice, and Hoeffding's bound for its rounding, which moves each entry
        by at most 1/2 independently (halves go up, which shifts an entry by less than a thousandth of its noise).
        """
        if self.refine == 0:
            return self.tail(level)
        q = ROUNDING_SHARE * (1 - level)
        return self.standard_deviation * NormalDist().inv_cdf(1 - (1 - level - q) / 2) + math.sqrt(math.log(2 / q) / 2)

    def half_widths(self, weights: NDArray[np.float64], level: float) -> NDArray[np.float64]:
        """See `Noise`: the normal law, which is that of every weighted sum."""
        found: NDArray[np.float64] = self.combined(level) * np.sqrt((weights**2).sum(axis=0))
        return found

    def lifting(self, steps: int, bits: int) -> Fraction:
        """See `Noise`; computed in integers.

        Notes
        -----
        From t steps of the fine lattice on a draw is rounded up to `steps`. With the variance V of that lattice
        P(Z >= t) <= exp(-t^2 / 2V) / ((1 - exp(-t / V)) sqrt(2 pi V)) for t > 0, since (t + i)^2 >= t^2 + 2 t i, and since the
        sum of exp(-z^2 / 2V) over the integers is at least sqrt(2 pi V) (Poisson summation).
        """
        t = (steps << self.refine) - (1 << self.refine >> 1)
        if t <= 0:
            return Fraction(1)
        above, below = self.variance.as_integer_ratio()
        bits += above.bit_length()
        density = exp_bounds(-t * t * below, 2 * above, bits)[1]
        ratio = exp_bounds(-t * below, above, bits)[1]
        # 2**bits sqrt(2 pi V), cut
        root = math.isqrt((above * TWO_PI.numerator << 2 * bits) // (below * TWO_PI.denominator))
        return Fraction(density << bits, ((1 << bits) - ratio) * root)


@lru_cache(maxsize=256)
def analytic_variance(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Variance of Gaussian noise for L2 sensitivity 1, rounded up (Balle and Wang 2018, Theorem 8).

    The smallest sigma with delta(epsilon) <= delta, by bisection. The target is delta (1 - 1e-5): the discrete noise
    on a fine lattice differs from the continuous one by less than that, and so do the rounding errors here. That is
    computed, not proved: the sum of the discrete law stays below delta at epsilon 1e-6 to 1e5 and delta 0.1 to 1e-99. Budgets,
    but for those of the accountant "gdp", count rho, which is proved for all parameters.
    """
    e, target = float(epsilon), float(delta) * (1 - 1e-5)
    low = high = 1.0
    while gaussian_delta(e, 1 / high) > target:
        high *= 2
    while gaussian_delta(e, 1 / low) <= target:
        low /= 2
    for _ in range(100):
        middle = math.sqrt(low * high)
        if gaussian_delta(e, 1 / middle) > target:
            low = middle
        else:
            high = middle
    return Fraction(high * (1 + 1e-9)) ** 2


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(epsilon) of the Gaussian mechanism with mu = sensitivity / sigma.

    Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), written with erfcx(x) = exp(x^2) erfc(x) so that nothing
    overflows and, for u >= 0, the common factor exp(-u^2) is taken out.
    """
    u = (epsilon / mu - mu / 2) / math.sqrt(2)
    v = (epsilon / mu + mu / 2) / math.sqrt(2)
    if u >= 0:
        return math.exp(-u * u) * (erfcx(u) - erfcx(v)) / 2
    return math.erfc(u) / 2 - math.exp(-u * u) * erfcx(v) / 2


def erfcx(x: float) -> float:
    """exp(x^2) erfc(x) for x >= 0: directly while erfc has all its digits, then by its continued fraction."""
    if x < 5:
        return math.exp(x * x) * math.erfc(x)
    tail = 0.0
    for k in range(60, 0, -1):  # x + (1/2)/(x + (2/2)/(x + ...)), converged far below 1e-16 for x >= 5
        tail = (k / 2) / (x + tail)
    return 1 / (math.sqrt(math.pi) * (x + tail))

"""Discrete Laplace noise: pure differential privacy for integer vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.mechanisms.noise import Noise, add_noise
from pandas_dp.core.privacy import LaplaceLoss, PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Fill, random_bytes
from pandas_dp.core.samplers.scalar import draw_discrete_laplace, exp_bounds
from pandas_dp.core.samplers.vector import discrete_laplace_vector

ALL_BUT_CONTINUOUS = 1024  # steps: with more the divergence is less, by a millionth at most
MOST_APART, HIGHEST_APART = 4, 0.9999  # draws and level for which partial fractions keep their digits
GAP, LEAST_OF_LARGEST = 1e-3, 1e-3
STEPS_OF_NEWTON = 3
FRACTION_SHARE = 0.05  # of the error probability, spent on the fractions between discrete and continuous noise


@dataclass(frozen=True)
class DiscreteLaplace(Noise):
    """Adds Z with P(Z = z) proportional to exp(-|z| / scale) to every entry.

    Notes
    -----
    For all integer vectors x, x' with |x - x'|_1 <= l1 the ratio of output probabilities is at most
    exp(l1 / scale), because it is a product of factors exp((|y_i - x'_i| - |y_i - x_i|) / scale) and the triangle
    inequality bounds the exponent. So the loss is exactly l1 / scale, a rational.
    Source: Ghosh, Roughgarden, Sundararajan 2009; sampler: Canonne, Kamath, Steinke 2020.
    """

    scale: Fraction

    name = "discrete Laplace"
    told = "scale"

    @classmethod
    def calibrate(cls, epsilon: Fraction, sensitivity: Sensitivity) -> DiscreteLaplace:
        """Return the least noise whose loss is epsilon."""
        return cls(Fraction(sensitivity.l1) / epsilon)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure l1 / scale, by the law of the noise."""
        steps = min(max(sensitivity.l1, 1), ALL_BUT_CONTINUOUS)
        return PrivacyLoss(((LaplaceLoss(Fraction(sensitivity.l1) / self.scale, steps=steps), 1),))

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One noisy integer for each entry."""
        return add_noise(exact.held(), self.scale, self.scale, draw_discrete_laplace, discrete_laplace_vector, fill)

    def half_width(self, level: float) -> int:
        """Smallest t with P(|Z| > t) <= 1 - level: 2 p^(t+1) / (1 + p) <= 1 - level, p = exp(-1/scale).

        For display, like all floats here: they decide no draw.
        """
        scale = float(self.scale)
        log_tail = math.log(1 - level) - math.log(2) + math.log1p(math.exp(-1 / scale))
        return max(0, math.ceil(-log_tail * scale - 1 + 1e-9))

    def tail(self, level: float) -> float:
        """Return b ln(1/a): any convex combination of independent draws stays within it with probability `level`."""
        return -float(self.scale) * math.log(1 - level)

    def combined(self, level: float) -> float:
        """See `Noise`.

        Notes
        -----
        With Exp(b) = G + F, G geometric and F < 1 its independent fraction, discrete Laplace noise R of scale b and an
        independent symmetric D, the difference of two such F, add up to continuous Laplace noise. So S' = sum a_i (R_i + D_i)
        has a symmetric log-concave density with variance 2 b^2. The logarithm of G(x) = P(|S'| > x) is concave, so G lies
        above the chord a^(x/t) up to the t with G(t) = a, and 2 b^2 >= integral 2 x G(x) >= t^2 m(a), m(a) = 2 (1 - a (1 -
        ln a)) / (ln a)^2. And E exp(sum a_i D_i u) <= exp(u^2 / 12) (ln(sinh x / x) has second derivative at most 1/3), so
        P(sum a_i D_i < -r) <= exp(-3 r^2) = q and P(|S| > t + r) (1 - q) <= P(|S'| > t).
        """
        q = FRACTION_SHARE
        return float(self.scale) * _longest((1 - level) * (1 - q)) + math.sqrt(-math.log(q) / 3)

    @np.errstate(under="ignore")
    def half_widths(self, weights: NDArray[np.float64], level: float) -> NDArray[np.float64]:
        """See `Noise`.

        Notes
        -----
        Of continuous Laplace noise with scales a_i = scale |w_i|, all different, the tail is sum c_i exp(-x / a_i), c_i = prod
        over j of a_i^2 / (a_i^2 - a_j^2): partial fractions of its characteristic function. Weights that are equal or nearly so
        are moved apart upwards, which makes the tail of a sum of symmetric unimodal noise larger (Birnbaum 1948). Discrete
        noise is continuous noise without fractions below 1, see `combined`, so a step for each weight is added. With more than
        `MOST_APART` draws, or at higher levels, the terms cancel too far. Two bounds that hold for all weights are taken
        wherever they are less. The logarithm of the tail is concave, so each of Newton's steps ends where the tail is small
        enough.
        """
        sizes, level = np.abs(weights), max(level, 1e-6)  # narrower ones would be rounding alone
        added, length, largest = np.add.reduce(sizes), np.sqrt(np.add.reduce(sizes**2)), np.maximum.reduce(sizes)
        bound: NDArray[np.float64] = np.minimum(self.combined(level) * length, (self.tail(level) + 1) * added)
        if len(sizes) > MOST_APART or level > HIGHEST_APART:
            return bound
        largest = largest + (largest == 0)
        apart = np.maximum(sizes / largest, LEAST_OF_LARGEST)
        apart.sort(axis=0)
        for i in range(1, len(apart)):
            apart[i] = np.maximum(apart[i], apart[i - 1] * (1 + GAP))
        squares, shares = apart**2, np.ones_like(apart)
        for i, j in permutations(range(len(apart)), 2):
            shares[i] *= squares[i] / (squares[i] - squares[j])
        x = _longest(1 - level) * length / largest
        for _ in range(STEPS_OF_NEWTON):
            terms = shares * np.exp(-x / apart)
            chance = np.add.reduce(terms)
            x = x + np.log(chance / (1 - level)) * chance / np.add.reduce(terms / apart)
        found: NDArray[np.float64] = np.minimum(bound, x * largest * float(self.scale) + added)
        return found

    def lifting(self, steps: int, bits: int) -> Fraction:
        """P(Z >= steps) = p^steps / (1 + p) for steps >= 0, p = exp(-1/scale); computed in integers, rounded up."""
        above, below = self.scale.as_integer_ratio()
        power, p = exp_bounds(-steps * below, above, bits)[1], exp_bounds(-below, above, bits)[0]
        return Fraction(power, (1 << bits) + p) if steps >= 0 else Fraction(1)

    @property
    def standard_deviation(self) -> float:
        """Square root of 2 p / (1 - p)^2 = 1 / (2 sinh(1/(2 scale))^2)."""
        x = 1 / (2 * float(self.scale))
        return 0.0 if x > 300 else math.sqrt(0.5) / math.sinh(x)


@lru_cache
def _longest(chance: float) -> float:
    """The t of `DiscreteLaplace.combined`, for continuous noise of scale 1, beyond which a sum lies with this probability."""
    decay = -math.log(chance)
    return math.sqrt(decay**2 / (1 - math.exp(-decay) * (1 + decay)))

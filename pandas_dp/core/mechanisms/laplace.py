"""Discrete Laplace noise: pure differential privacy for integer vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.mechanisms.noise import add_noise
from pandas_dp.core.privacy import LaplaceLoss, PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Fill, random_bytes
from pandas_dp.core.samplers import discrete_laplace_vector
from pandas_dp.core.samplers.scalar import draw_discrete_laplace

ALL_BUT_CONTINUOUS = 1024  # steps: with more the divergence is less, by a millionth at most


@dataclass(frozen=True)
class DiscreteLaplace:
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
        return add_noise(exact.open(), self.scale, self.scale, draw_discrete_laplace, discrete_laplace_vector, fill)

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

    @property
    def standard_deviation(self) -> float:
        """Square root of 2 p / (1 - p)^2 = 1 / (2 sinh(1/(2 scale))^2)."""
        x = 1 / (2 * float(self.scale))
        return 0.0 if x > 300 else math.sqrt(0.5) / math.sinh(x)

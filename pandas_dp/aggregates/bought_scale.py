"""Error bars of noise that fits the data, from a noisy scale that was paid for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.samplers.smooth import POWER
from pandas_dp.core.statistics.smooth import LOG_BITS, SCALE_SHIFT


@dataclass(frozen=True)
class BoughtScale:
    """Noise (S / alpha) Z in lattice steps, of which a noisy ln S was bought: another part of the price.

    Half of what may fail is left to the noise of ln S, half to Z.

    Parameters
    ----------
    law : str
        Of Z.
    alpha : float
    log_scale : int
        Noisy ln S in units of 2**(SCALE_SHIFT - LOG_BITS).
    noise : DiscreteLaplace or DiscreteGaussian
        Of `log_scale`.
    cells : int
        S is never larger.
    """

    law: str
    alpha: float
    log_scale: int
    noise: Noise
    cells: int

    def half_width(self, level: float) -> int:
        """Steps within which the answer lies with this probability, its rounding included."""
        log = (self.log_scale + self.noise.tail(level) + 1) * 2.0 ** (
            SCALE_SHIFT - LOG_BITS
        )  # one-sided: half of 1 - level
        scale = math.exp(min(log, math.log(self.cells) + 0.001)) / self.alpha
        return min(math.ceil(scale * quantile_of_law(self.law, (1 - level) / 2)) + 1, self.cells)


def quantile_of_law(law: str, tail: float) -> float:
    """The z at which P(|Z| > z) is at most `tail`, by bisection of its exponent."""
    low, high = -40.0, 80.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if TAILS[law](math.exp(middle)) <= tail else (middle, high)
    return math.exp(high)


TAILS: dict[str, Callable[[float], float]] = {
    "polynomial_laplace": lambda z: (1 + z) ** -POWER,
    "polynomial": lambda z: 2 * math.sqrt(2) / math.pi / (3 * z**3),  # a bound: 1 / (1 + z^4) < z^-4
    "cauchy": lambda z: 2 / math.pi * math.atan(1 / z),
    "student_t": lambda z: 2 / math.pi * (math.atan(math.sqrt(3) / z) - z / math.sqrt(3) / (1 + z * z / 3)),
    "laplace": lambda z: math.exp(-z),
    "gaussian": lambda z: math.erfc(z / math.sqrt(2)),
}

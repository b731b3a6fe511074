"""What noisy counts say of exact ones where they are seen only because they are high enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.population import Floats, erfcx
from pandas_dp.aggregates.uncertainty import Ends
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.noise import Noise

FARTHEST = 2.0**52  # of counts, that their differences are exact


@dataclass(frozen=True)
class OfListed:
    """Noisy counts of keys that are listed where these reach a threshold: the interval holds for keys that are listed.

    Given that a key of n rows is, its noisy count X is x or more with probability P(Z >= x - n) / P(Z >= t - n), t the
    threshold. That never falls with n, as the laws of the noise are log-concave. So the n at which neither so high nor so
    low a count has half of 1 - level at most lie between two ends. Close to the threshold the lower one is 0: of Laplace noise
    the counts of all rarer keys that are listed have one law. Far above it both are the ends of the noise alone.
    """

    noise: Noise
    threshold: int

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each count, by bisection of all at once."""
        rest, most = math.log((1 - level) / 2), math.log1p((level - 1) / 2)
        x = np.minimum(value.to_numpy(dtype=np.float64), FARTHEST)
        least = np.minimum(x, self.threshold)
        known, half = self._log_beyond, float(self.noise.half_width(level) + 1)

        def high(n: Floats) -> Any:
            return known(x - n) - known(least - n) > rest

        def low(n: Floats) -> Any:
            return known(x + 1 - n) - known(least - n) < most

        below, lower = np.full_like(x, -1.0), np.maximum(x, 0)  # no n below 0 is one
        upper, above = x.copy(), x + half
        while (np.maximum(lower - below, above - upper) > 1).any():
            first, last = np.floor((below + lower) / 2), np.floor((upper + above) / 2)
            enough, few = high(first) & (first >= 0), low(last)
            below, lower = np.where(enough, below, first), np.where(enough, first, lower)
            upper, above = np.where(few, last, upper), np.where(few, above, last)
        ends = (pd.Series(end.astype(np.int64), index=value.index, name=value.name) for end in (lower, upper))
        return next(ends), next(ends)

    def _log_beyond(self, steps: Floats) -> Floats:
        """Logarithm of P(Z >= steps)."""
        far = np.maximum(steps, 1 - steps)  # P(Z >= steps) = 1 - P(Z >= 1 - steps)
        if isinstance(self.noise, DiscreteLaplace):
            rate = 1 / float(self.noise.scale)
            tail = -rate * far - math.log1p(math.exp(-rate))
        else:
            z = (far - 0.5) / (self.noise.standard_deviation * math.sqrt(2))
            tail = np.log(erfcx(z) / 2) - z**2
        return np.where(steps >= 1, tail, np.log1p(-np.exp(tail)))

"""Which selection lists keys at a price, and which keys it sees: from public numbers alone.

And what noisy counts say of exact ones where they are seen only because they are high enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Caution
from pandas_dp.aggregates.population import erfcx
from pandas_dp.aggregates.rotated import Floats
from pandas_dp.aggregates.uncertainty import Ends
from pandas_dp.core.measurement import Interactive, Measurement, Mechanism
from pandas_dp.core.mechanisms.gaussian import SMALLEST_GAUSSIAN_EPSILON, DiscreteGaussian
from pandas_dp.core.mechanisms.key_selection import NoisyThreshold, OptimalSelection, chance_bounds, least
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import Price, PrivacyUnit
from pandas_dp.core.statistics.counts import WHOLE, KeyCounts, KeySensitivity
from pandas_dp.errors import ArgumentTypeError

WORTH = 2  # Gaussian noise, after which a budget adds up no epsilons, is taken where it does with one in so many
RARE = "how many keys are left out, and which, is not released"


def listing_of(
    columns: tuple[str | Partition, ...], epsilon: Fraction, delta: Fraction, unit: PrivacyUnit
) -> Measurement:
    """Return the look that lists keys.

    Each of those that a unit can touch gets an equal part of epsilon and delta. Of many, little is left for each: where units
    in as many keys as count would have to be more than `WORTH` times as many as with Gaussian noise on what they share, that is
    taken, and half of delta goes to its threshold.
    """
    units, shares = (KeyCounts(columns, distinct=True, shared=shared) for shared in (False, True))
    touched = units.sensitivity(unit).touched
    look = Measurement(units, OptimalSelection(epsilon / touched, delta / touched))
    if epsilon < SMALLEST_GAUSSIAN_EPSILON or touched <= 2:  # of one or two it lists fewer
        return look
    by_threshold = Measurement(shares, _gaussian(shares.sensitivity(unit), epsilon, delta))
    return by_threshold if _half(look, unit) >= WORTH * _half(by_threshold, unit) else look


def shared(look: Measurement) -> tuple[str, ...]:
    """What tells apart stored answers where a unit's keys share what it counts."""
    return ("shares",) if isinstance(look.mechanism, NoisyThreshold) else ()


def told(mechanism: Mechanism | Interactive) -> str:
    """The name of what lists keys."""
    if isinstance(mechanism, NoisyThreshold):
        return f"{mechanism.noise.name}, keys by threshold"
    return OptimalSelection.name


def chances(look: Measurement, unit: PrivacyUnit) -> tuple[str]:
    """Say which keys are seen: from the price alone."""
    of = "rows" if unit.column is None else f"different {unit.column!r}"
    if isinstance(look.mechanism, NoisyThreshold):
        most = min(unit.groups, unit.rows)
        of += f" with {most:,} keys each (of {_half(look, replace(unit, groups=1)):,} with one)"
    return (
        Caution(f"a key of {_half(look, unit):,} {of} is listed with probability 1/2, rarer keys less often; {RARE}"),
    )


def _half(look: Measurement, unit: PrivacyUnit) -> int:
    """How many units, in as many keys as count, a key needs to be listed with probability 1/2."""
    mechanism = look.mechanism
    if isinstance(mechanism, OptimalSelection):
        return listed_half_the_time(mechanism)
    return -(-cast("NoisyThreshold", mechanism).threshold // math.isqrt(WHOLE**2 // min(unit.groups, unit.rows)))


def listed_half_the_time(selection: OptimalSelection) -> int:
    """Least number of units of a key that is listed with probability at least 1/2."""

    def often(n: int) -> bool:
        return chance_bounds(selection.epsilon, selection.delta, n, 64)[0] >= 1 << 63

    return least(often)


def epsilon_of(price: Price) -> Fraction:
    """Return the epsilon of a price that finds keys."""
    if price.epsilon is None or not price.delta:
        raise ArgumentTypeError("finding keys needs a delta: df.dp(epsilon=1, delta=1e-6)")
    return price.epsilon


def lowest_threshold(statistic: KeyCounts, price: Price, unit: PrivacyUnit) -> NoisyThreshold:
    """Return the selection that sees the most keys, of those that an epsilon and a delta buy."""
    sensitivity, epsilon = statistic.sensitivity(unit), epsilon_of(price)
    laplace = NoisyThreshold.calibrate(DiscreteLaplace.calibrate(epsilon, sensitivity), sensitivity, price.delta)
    if epsilon < SMALLEST_GAUSSIAN_EPSILON:
        return laplace
    gaussian = _gaussian(sensitivity, epsilon, price.delta)
    return gaussian if gaussian.threshold < laplace.threshold else laplace


def _gaussian(sensitivity: KeySensitivity, epsilon: Fraction, delta: Fraction) -> NoisyThreshold:
    """Return the selection of Gaussian noise, which shares delta with its threshold."""
    noise = DiscreteGaussian.calibrate(sensitivity, epsilon, delta / 2, None)
    return NoisyThreshold.calibrate(noise, sensitivity, delta / 2)


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

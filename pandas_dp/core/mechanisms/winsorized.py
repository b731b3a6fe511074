"""Winsorized means: two private quartiles of K values, then the noisy sum of the values clipped around them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.quantiles import Quantile
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Fill, random_bytes
from pandas_dp.core.statistics.lattice_counts import Points

LOWER, UPPER = Fraction(1, 4), Fraction(3, 4)


@dataclass(frozen=True)
class WinsorizedSum:
    """Draws three integers for each part: a private lower and upper quartile, and a sum that is clipped around them.

    With a <= b the two quartiles (in order, whichever was drawn first) and w = b - a, the values are clipped to
    l = a - ceil(reach w) and u = b + ceil(reach w), both cut to 0..cells. Released are a, b and the sum of (value - l) with
    discrete Laplace noise of scale 2 (u - l) / epsilon. With l = u that sum is 0 and needs no noise.

    Parameters
    ----------
    epsilon : Fraction
        Of one part: a quarter for each quartile, half for the sum.
    reach : Fraction
        How far beyond the quartiles values count as they are, in units of w: any public number is private.
    cells : int

    Notes
    -----
    Let any count of values at, below or above a point move by at most `linf` in either direction while their number stays.
    The quartiles are `Quantile`s of rate epsilon / 8. Given them l and u are fixed, and the sum of (value - l) is the sum
    over l <= x < u of the number of values above x, so it moves by at most linf (u - l) and its loss is linf epsilon / 2,
    whatever l and u are. The three draws compose adaptively: epsilon in each touched part where one value changes.
    Source: Smith 2011, Algorithms 1 and 2, with the exponent of the quartiles halved as replacing a value needs. A noise
    of scale (u - l) / (2 epsilon), as it is also found, would cost 2 epsilon.
    """

    epsilon: Fraction
    reach: Fraction
    cells: int

    name = "private quartiles and a clipped mean with discrete Laplace noise"

    @classmethod
    def calibrate(cls, epsilon: Fraction, reach: Fraction, cells: int, sensitivity: Sensitivity) -> WinsorizedSum:
        """Return the mechanism whose loss in all touched parts together is epsilon."""
        return cls(epsilon / (sensitivity.linf * sensitivity.touched), reach, cells)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Two quartiles and a sum in each touched part."""
        quartiles = self._quartile(LOWER).loss(sensitivity) + self._quartile(UPPER).loss(sensitivity)
        return quartiles + PrivacyLoss.pure(sensitivity.linf * self.epsilon / 2).times(sensitivity.touched)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """Lower quartile, upper quartile and noisy sum of each part."""
        drawn: Noisy = []
        for part in exact.open():
            a, b = sorted(self._quartile(q).point(part, fill) for q in (LOWER, UPPER))
            drawn += [a, b, *self._sum(part, a, b, fill)]
        return drawn

    def ends(self, a: int, b: int) -> tuple[int, int]:
        """Where values are clipped, for two quartiles a <= b."""
        beyond = math.ceil(self.reach * (b - a))
        return max(a - beyond, 0), min(b + beyond, self.cells)

    def noise(self, a: int, b: int) -> DiscreteLaplace | None:
        """Noise of the sum for two quartiles a <= b; None where all values are clipped to one point."""
        low, high = self.ends(a, b)
        return DiscreteLaplace(2 * (high - low) / self.epsilon) if low < high else None

    def _quartile(self, q: Fraction) -> Quantile:
        return Quantile(q, self.epsilon / 8, self.cells)

    def _sum(self, part: Points, a: int, b: int, fill: Fill) -> list[int]:
        """Noisy sum of clipped values; int64: fewer than 2**31 values, each below 2**31."""
        low, high = self.ends(a, b)
        noise = self.noise(a, b)
        if noise is None:
            return [0]
        return noise.draw(Exact([int(((part.offsets.clip(low, high) - low) * part.counts).sum())]), fill)

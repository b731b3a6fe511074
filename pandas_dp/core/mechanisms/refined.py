"""A better draw of integers of which a worse one is public, which costs together what the better one costs alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from pandas_dp.core.measurement import Exact, Mechanism, Noisy
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Bits, Fill, random_bytes
from pandas_dp.core.samplers.scalar import draw_geometric


@dataclass(frozen=True)
class RefinedLaplace(Mechanism):
    """Draws what `DiscreteLaplace` of scale `better` would have drawn, given what one of scale `worse` drew.

    Parameters
    ----------
    worse, better : Fraction
        Scales; better < worse.
    base : tuple of int
        What is public: the integers plus discrete Laplace noise of scale `worse`, one for each entry.

    Notes
    -----
    Write p1 = exp(-1/worse) > p2 = exp(-1/better), r = p2/p1, q = p1 p2, s = p1^2, and DL(p) for the law P(z) = (1 - p)/(1 + p)
    p^|z|. *Identity.* With Z2 ~ DL(p2) and an independent W that is 0 with probability r ((1-p1)/(1-p2))^2 and else DL(p1),
    Z1 = Z2 + W ~ DL(p1): the characteristic function of DL(p) is (1-p)^2 / (1 - 2p cos t + p^2), and 1 - 2 p2 cos t + p2^2 =
    r (1 - 2 p1 cos t + p1^2) + (1 - r)(1 - q); divide. So a worse draw is a better one plus noise that no data touch.
    *The draw.* Of the exact x, with z = base - x, it is x + k where k has the law of Z2 given Z1 = z. For z >= 0 and c =
    (1-r)(1-q)/(1-p2^2) that is c q^|k| below 0, c r^k from 0 to z, c r^z q^(k-z) above z, and r^(z+1)(1-p1^2)/(1-p2^2) more at
    z; for z < 0 its mirror image. With D = Geom(r) - Geom(q), P(Geom(g) >= j) = g^j: it is D where D <= z; else the excess
    D - z - 1 is Geom(r) again and below Geom(s) with probability s(1-r)/(1-q), as s r = q; there z + 1 + Geom(q) has the law
    above z, and what is left is the further mass at z. All four are drawn always.
    *The loss.* P(y1) P(y2 | y1) = P(Z2 = y2 - x) P(W = y1 - y2): y1 is a function of y2 and of noise without data, for whatever
    chain of draws. So on all neighbours both together have loss l1/better exactly, for a unit and relation of which
    DiscreteLaplace takes l1. The step *alone* can tell more than the difference, l1/better + l1/worse: the difference may be
    charged only where the factors of the draw before are in the same product, which is in `PureFilter` alone. And it holds for
    one better draw of each base, of the same rows, and where the statistic draws nothing itself: see `Ledger.refine`.
    Source: Koufogiannis, Han, Pappas 2016 (continuous noise); the discrete kernel is derived here.
    """

    worse: Fraction
    better: Fraction
    base: tuple[int, ...] = field(repr=False)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """The difference, for a pure budget that has paid the worse draw."""
        return PrivacyLoss.pure(sensitivity.l1 / self.better - sensitivity.l1 / self.worse)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One better integer for each entry."""
        first, second = 1 / self.worse, 1 / self.better
        rates = second - first, second + first, 2 * first, second + first
        scales = [(rate.denominator, rate.numerator) for rate in rates]
        bits = Bits(fill, size=512)
        noisy = []
        for x, y in zip(exact.open(), self.base, strict=True):
            up, down, further, over = (draw_geometric(*scale, bits) for scale in scales)
            size, difference = abs(y - x), up - down
            if difference > size:
                difference = size + 1 + over if further > difference - size - 1 else size
            noisy.append(x - difference if y < x else x + difference)  # also at y = x one law: that for z >= 0
        return noisy

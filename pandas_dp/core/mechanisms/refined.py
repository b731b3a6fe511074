"""A better draw of integers of which a worse one is public, which costs together what the better one costs alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from operator import sub

import numpy as np

from pandas_dp.core.measurement import Exact, Mechanism, Noisy
from pandas_dp.core.mechanisms.noise import FEWEST_FOR_TABLES, WIDEST_FOR_TABLES
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Bits, Fill, random_bytes
from pandas_dp.core.samplers.scalar import draw_geometric
from pandas_dp.core.samplers.tables import CHUNK
from pandas_dp.core.samplers.vector import cut_table, geometric_vector


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
    z; for z < 0 its mirror image. Of an exponential variable below 2/better, being above 1/worse + 1/better has probability
    (q - rq)/(1 - rq), as rq = p2^2: there k = -1 - B, P(B >= j) = q^j, the law below 0. Else k = A, P(A >= j) = r^j, if that is
    at most z. Of A beyond z, which has probability r^(z+1), one above 2/worse makes k = z + 1 + B, in all s (1-r)/(1-rq)
    r^(z+1) (1-q) q^(k-z-1), the law above z as s r = q, and one below it k = z: the further mass (1-s)/(1-rq) r^(z+1). All
    three are drawn always, and put together without a branch.
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
        values, (a, b), (c, d) = exact.open(), self.worse.as_integer_ratio(), self.better.as_integer_ratio()
        one, rates, noisy = a * c, (a * d - b * c, a * d + b * c), list[int]()  # of A and of B, over one
        table = cut_table((2 * b * c, rates[1], 2 * a * d), one)
        if len(values) < FEWEST_FOR_TABLES or max(self.worse, Fraction(one, rates[0])) > WIDEST_FOR_TABLES:
            bits = Bits(fill, size=min(40 * len(values), 512))
            for x, y in zip(values, self.base, strict=True):
                which, (up, down) = table.pick(bits), [draw_geometric(one, rate, bits) for rate in rates]
                k = ~down if which == 2 else up if up <= abs(y - x) else abs(y - x) + (1 + down) * which
                noisy.append(x - k if y < x else x + k)  # also at y = x one law: that for z >= 0
        for at in range(len(noisy), len(values), CHUNK):
            part, base = values[at : at + CHUNK], self.base[at : at + CHUNK]
            z = np.fromiter(map(sub, base, part), np.int64, len(part))  # below 2**62: it was drawn from tables as well
            ups, downs = (geometric_vector(one, rate, z.size, fill) for rate in rates)
            places, better = table.draw(z.size, fill), np.abs(z)
            better = np.where(ups <= better, ups, better + (1 + downs) * places)
            np.copyto(better, ~downs, where=places == 2)
            np.negative(better, out=better, where=z < 0)
            noisy += [x + k for x, k in zip(part, better.tolist(), strict=True)]
        return noisy

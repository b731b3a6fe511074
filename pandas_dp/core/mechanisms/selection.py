"""Choosing one of finitely many public candidates: permute-and-flip, the exponential mechanism, quantiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Fill, random_bytes
from pandas_dp.core.samplers import exponential_mechanism, permute_and_flip, uniform_below
from pandas_dp.core.statistics.lattice_counts import Points


@dataclass(frozen=True)
class PermuteAndFlip:
    """Chooses candidates by permute-and-flip: one kept with probability exp(-rate (best - score)) in random order.

    With several ``picks`` it chooses again among those that are left.

    Notes
    -----
    For all integer score vectors whose changes differ by at most `score_range` between any two candidates the loss is
    pure rate * score_range for each pick (the picks before are public). It is not bounded-range, so no smaller zCDP
    parameter is claimed. Source: McKenna, Sheldon 2020, Theorems 1-3.
    """

    rate: Fraction
    picks: int = 1

    name = "permute-and-flip"

    @classmethod
    def calibrate(cls, epsilon: Fraction, sensitivity: Sensitivity, picks: int = 1) -> PermuteAndFlip:
        """Return the sharpest choice whose loss is epsilon."""
        return cls(epsilon / (sensitivity.score_range * picks), picks)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure rate * score_range for each pick."""
        return PrivacyLoss.pure(self.rate * sensitivity.score_range).times(self.picks)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """Indexes of the chosen candidates, in the order of their choice."""
        return _peel(permute_and_flip, exact, self.rate, self.picks, fill)


@dataclass(frozen=True)
class ExponentialMechanism:
    """Chooses candidate i with probability proportional to exp(rate score_i).

    With several ``picks`` it chooses again among those that are left.

    Notes
    -----
    For all integer score vectors whose changes differ by at most `score_range` between any two candidates the loss is
    pure rate * score_range for each pick (the picks before are public), and bounded-range with the same parameter.
    Source: McSherry, Talwar 2007, Theorem 6; Dong, Durfee, Rogers 2020.
    """

    rate: Fraction
    picks: int = 1

    name = "exponential mechanism"

    @classmethod
    def calibrate(cls, epsilon: Fraction, sensitivity: Sensitivity, picks: int = 1) -> ExponentialMechanism:
        """Return the sharpest choice whose loss is epsilon."""
        return cls(epsilon / (sensitivity.score_range * picks), picks)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure rate * score_range for each pick, bounded-range."""
        return PrivacyLoss.pure(self.rate * sensitivity.score_range, bounded_range=True).times(self.picks)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """Indexes of the chosen candidates, in the order of their choice."""
        return _peel(exponential_mechanism, exact, self.rate, self.picks, fill)


def _peel(choose: Callable[..., int], exact: Exact, rate: Fraction, picks: int, fill: Fill) -> Noisy:
    scores = np.asarray(exact.open(), dtype=np.int64)
    left, chosen = np.arange(scores.size), []
    for _ in range(picks):
        place = choose(scores[left], rate, fill=fill)
        chosen.append(int(left[place]))
        left = np.delete(left, place)
    return chosen


@dataclass(frozen=True)
class Quantile:
    """Chooses a lattice point 0..cells by the exponential mechanism on its distance in rank from q n.

    The score of point o is minus the distance of q n from [rows below o, rows at or below o], which handles ties: a
    value held by many rows is a good answer, not an interval of length zero.

    Notes
    -----
    Let any count of rows move by at most k = `linf`. Under add/remove (`score_range` = k) adding rows moves q n by q and
    the interval's ends by 0 or 1 each a row, so the score moves by at most k max(q, 1 - q); under replace-one by at
    most k. For q = 0 and q = 1 the scores of all points move one way. So with D that bound the loss is pure
    2 rate D (rate k for q in {0, 1}), in each part of the data, bounded-range. For all data, also without any rows,
    exactly one point of the lattice is returned for each part.
    Source: Smith 2011, Algorithm 2, with the exponent halved as replacement needs; McSherry, Talwar 2007.
    """

    q: Fraction
    rate: Fraction
    cells: int

    name = "exponential mechanism on ranks"

    @classmethod
    def calibrate(cls, q: Fraction, cells: int, epsilon: Fraction, sensitivity: Sensitivity) -> Quantile:
        """Return the sharpest choice whose loss in all touched parts together is epsilon."""
        unit_rate = cls(q, Fraction(1), cells)
        return cls(q, epsilon / (unit_rate._range(sensitivity) * sensitivity.touched), cells)

    def _range(self, sensitivity: Sensitivity) -> Fraction:
        k = sensitivity.linf
        if self.q in (0, 1):
            return Fraction(k)
        largest = max(self.q, 1 - self.q) if sensitivity.score_range == k else Fraction(1)
        return 2 * k * largest

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure rate * range in each touched part."""
        loss = PrivacyLoss.pure(self.rate * self._range(sensitivity), bounded_range=True)
        return loss.times(sensitivity.touched)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One lattice offset for each part."""
        return [self._point(part, fill) for part in exact.open()]

    def _point(self, points: Points, fill: Fill) -> int:
        """Group lattice points of equal score: each occupied point, and each run of free points between them."""
        values, counts = points
        top, bottom = self.q.numerator, self.q.denominator  # ranks are counted in units of 1 / bottom
        below = np.concatenate(([0], np.cumsum(counts)))  # rows below each occupied point, then all rows
        target = top * int(below[-1])
        ends = below * bottom
        # occupied points: distance of the target from [below, below + count]; free runs: from their one rank
        at_value = np.maximum(np.maximum(ends[:-1] - target, target - ends[1:]), 0)
        in_run = np.abs(ends - target)
        edges = np.concatenate(([-1], values, [self.cells + 1]))
        free = np.diff(edges) - 1  # points in each run, shape (occupied + 1,)
        scores = -np.concatenate((at_value, in_run))
        sizes = np.concatenate((np.ones(values.size, dtype=np.int64), free))
        chosen = exponential_mechanism(scores, self.rate / bottom, counts=sizes, fill=fill)
        if chosen < values.size:
            return int(values[chosen])
        run = chosen - values.size
        return int(edges[run]) + 1 + uniform_below(int(free[run]), fill=fill)

    def rank_error(self, level: float) -> float:
        """Rows by which the answer's rank may miss, with probability at least `level`.

        P(score <= best - (ln(points) + t) / rate) <= exp(-t), with at most cells + 1 points and best score 0.
        """
        return (math.log(self.cells + 1) - math.log(1 - level)) / float(self.rate)

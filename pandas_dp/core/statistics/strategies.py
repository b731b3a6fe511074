"""Counts from which sums over parts come out accurate: trees (Hay et al. 2010), Haar (Xiao et al. 2011), any whole weights.

For all tables a unit has v >= 0 rows in the parts, at most K = `rows_in_parts` in all and c_j = min(K, c b^j) in a run
of b^j neighbours, so the squares of its counts in these runs add up to at most K c_j. So do those of d = v under
add/remove; under replace-one, d = v' - v with sums t and s, to at most twice that. C is the sum of the c_j over the h
lengths of runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import AddsUp, Exact, View
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.counts import count_parts

MOST_SUMS, MOST_WEIGHT = 1 << 12, 1 << 16


@dataclass(frozen=True)
class Tree(AddsUp):
    """Counts of runs of b^j neighbouring parts, j < levels; under replace-one the count of all parts as well.

    Each of the h levels moves by K at most: L1 h K, squared L2 K C. Replace-one: a level moves by s + t, the count of all by
    |t - s|: L1 h (s + t) + |t - s| <= 2 h K; squared L2, for s <= t, (s + K) C + (K - s)^2 <= K C + K max(K, C) (convex).
    """

    by: Partition
    branching: int = 2
    levels: int = 1

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        k, h, sides = unit.rows_in_parts, self.levels, 1 if unit.add_remove else 2
        runs = sum(min(k, unit.rows_per_group * self.branching**j) for j in range(h))
        return Sensitivity(l1=sides * h * k, l2_squared=k * (runs + (sides - 1) * max(k, runs)), linf=k)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Level by level from the single parts up, each from left to right; the count of all parts last."""
        levels = _levels(view, unit, self.by, self.branching, self.levels)
        return Exact(np.concatenate([*levels, *[levels[0].sum(keepdims=True)] * (not unit.add_remove)]))


@dataclass(frozen=True)
class Haar(AddsUp):
    """Differences of neighbouring runs of 2^j parts, j < h = ceil(log2 parts), and the count of all parts.

    L1 is (h + 1) K; replace-one: h (s + t) + |t - s| <= 2 h K, for h = 0 K. Squared L2, with Q_j the squares of d in runs of
    2^j: sum_j (2 Q_j - Q_(j+1)) + Q_h = Q_0 + sum_j Q_j, as (l - r)^2 = 2 l^2 + 2 r^2 - (l + r)^2: K (c_0 + C), or twice that.
    """

    by: Partition

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        k, h, sides = unit.rows_in_parts, (self.by.count - 1).bit_length(), 1 if unit.add_remove else 2
        runs = sum(min(k, unit.rows_per_group * 2**j) for j in (0, *range(h)))
        return Sensitivity(l1=max(sides * h, h + 1) * k, l2_squared=sides * k * runs, linf=sides * k)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Differences of single parts first, each length from left to right; the count of all parts last."""
        *levels, total = _levels(view, unit, self.by, 2, (self.by.count - 1).bit_length() + 1)
        return Exact(np.concatenate([*(-np.diff(level)[::2] for level in levels), total]))


@dataclass(frozen=True)
class Weighted(AddsUp):
    """Sums of the counts of all parts, each with whole weights of its own: a row of `weights` for each sum.

    Write a_j for what one row in part j adds to the sums, a_0 = 0 for one in no part. What a unit adds is the sum of K such
    columns, some of them a_0. So under add/remove the sums move by at most K columns, under replace-one by at most K
    differences of two columns: in each norm by at most K times the largest one. Weights are small enough that nothing wraps.
    Source: Li, Hay, Rastogi, Miklau, McGregor 2010.
    """

    by: Partition
    weights: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        """Refuse weights whose squares, or whose sums of counts, could wrap in int64."""
        if len(self.weights) > MOST_SUMS or any(abs(w) > MOST_WEIGHT for row in self.weights for w in row):
            raise ValueError("weights are of 2**16 at most")

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        k, columns = unit.rows_in_parts, np.insert(np.array(self.weights, dtype=np.int64), 0, 0, axis=1)
        others = columns[:, :1] if unit.add_remove else columns
        moved = (np.abs(columns - other[:, None]) for other in others.T)
        sizes = [(d.sum(axis=0).max(), (d**2).sum(axis=0).max(), d.max()) for d in moved]
        l1, squared, largest = np.max(sizes, axis=0).tolist()
        return Sensitivity(l1=k * l1, l2_squared=k * k * squared, linf=k * largest)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """One sum for each row of weights; of fewer than 2**46 rows in int64."""
        return Exact(np.array(self.weights, dtype=np.int64) @ count_parts(view, unit, self.by, None))


def _levels(view: View, unit: PrivacyUnit, by: Partition, branching: int, levels: int) -> list[NDArray[np.int64]]:
    """Exact counts of runs of b^j parts, for each j < levels; the last run of a length may be shorter."""
    counts = [count_parts(view, unit, by, None)]
    while len(counts) < levels:
        counts.append(np.add.reduceat(counts[-1], np.arange(0, counts[-1].size, branching)))
    return counts

"""Trees over neighbouring parts: the best estimate of every part from noisy counts of runs, and its exact variance.

Only public shapes and noisy integers come here. All measured entries carry independent noise of one variance, which is
the unit of every variance below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOST_SAMPLED = 4096  # prefixes that the mean error of a strategy is taken over


@dataclass(frozen=True)
class Hierarchy:
    """Runs of 1, b, b^2, ... neighbouring parts, measured as `Tree` or `Haar` of the statistics do.

    Parameters
    ----------
    size : int
        Number of parts.
    branching : int
        b; 2 for differences.
    levels : int
        Number of lengths of runs; those of the greatest length lie below one root, the run of all parts.
    root : bool
        Whether the count of all parts is measured as well.
    differences : bool
        Whether each two neighbouring runs show their difference alone (Haar), not their counts.

    Notes
    -----
    The least-squares estimates of the children of a run are x_c = r_c x + e_c, where x is the estimate of the run itself,
    s_c the variance of a child's estimate from the measurements within the child, r_c = s_c / sum s, and e has covariance
    diag(s) - s s' / sum s, uncorrelated with x and with the e of all other runs. So the variance of a weighted sum of parts
    adds up run by run. For differences the same holds with s_c = 1/2: e = +-(noise of the difference) / 2.
    Source: Hay, Rastogi, Miklau, Suciu 2010, Section 4; Xiao, Wang, Gehrke 2011; Li et al. 2010.
    """

    size: int
    branching: int = 2
    levels: int = 1
    root: bool = False
    differences: bool = False

    def __str__(self) -> str:
        """Say what was measured."""
        if self.differences:
            return "the Haar transform"
        if self.levels == 1:
            return "the counts" + (" and their sum" if self.root else "")
        lengths = ", ".join(str(self.branching**level) for level in range(self.levels))
        return f"counts of runs of {lengths}" + (" and all parts" if self.root else " parts")

    @property
    def plain(self) -> bool:
        """Whether nothing but the single parts is measured."""
        return self.levels == 1 and not self.root and not self.differences

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of runs of each length."""
        sizes = [self.size]
        while len(sizes) < self.levels:
            sizes.append(-(-sizes[-1] // self.branching))
        return tuple(sizes)

    @cached_property
    def spreads(self) -> tuple[Floats, ...]:
        """Variance s of each run's estimate from the measurements within it, level by level."""
        spreads = [np.ones(self.size)]  # shape (parts,)
        for level in range(1, self.levels):
            below = self._sums(spreads[-1], level - 1)  # shape (runs of this length,)
            spreads.append(below / (1 + below))
        return tuple(np.full(size, 0.5) for size in self.sizes) if self.differences else tuple(spreads)

    @cached_property
    def root_variance(self) -> float:
        """Variance of the estimate of all parts together."""
        below = float(self.spreads[-1].sum())
        if self.differences:
            return 1.0
        return below / (1 + below) if self.root else below

    def _starts(self, level: int) -> NDArray[np.intp]:
        """First child of each parent."""
        return np.arange(0, self.sizes[level], self._children(level))

    def _children(self, level: int) -> int:
        """Children of one parent: b, or all runs of the greatest length for the root."""
        return self.branching if level < self.levels - 1 else self.sizes[level]

    def _sums(self, values: Floats, level: int) -> Floats:
        """Sums over the children of each parent."""
        return np.add.reduceat(values, self._starts(level))

    def _spread_out(self, values: Floats, level: int) -> Floats:
        """The value of its parent for each child."""
        return np.repeat(values, self._children(level))[: self.sizes[level]]

    def estimates(self, noisy: Sequence[int]) -> Floats:
        """Least-squares estimates of the parts from all measured entries, shape (parts,), in two linear passes."""
        measured = np.array(noisy, dtype=np.float64)
        return self._from_differences(measured) if self.differences else self._from_counts(measured)

    def _from_differences(self, measured: Floats) -> Floats:
        values, end = measured[-1:], measured.size - 1
        for size in self.sizes[::-1]:
            pairs = size // 2
            gaps = values.copy()  # a run without a neighbour is its parent
            gaps[:pairs] = measured[end - pairs : end]
            values, end = np.stack(((values + gaps) / 2, (values - gaps) / 2), axis=1).ravel()[:size], end - pairs
        return values

    def _from_counts(self, measured: Floats) -> Floats:
        parts = np.split(measured, np.cumsum(self.sizes))  # one array for each level, then the root or nothing
        found = [parts[0]]
        for level in range(1, self.levels):  # upwards: from the measurements within each run
            below = self._sums(found[-1], level - 1)
            weight = self.spreads[level]  # of the run's own count, var / (1 + var), against the sum of its children
            found.append(below + weight * (parts[level] - below))
        values = self._sums(found[-1], self.levels - 1)  # shape (1,)
        if self.root:
            values = values + self.root_variance * (parts[-1] - values)
        # downwards: what the parent knows better is shared out by variance
        for level in range(self.levels - 1, -1, -1):
            short = values - self._sums(found[level], level)
            values = found[level] + self._shares(level) * self._spread_out(short, level)
        return values

    def _shares(self, level: int) -> Floats:
        """Share r of each child in its parent's variance."""
        spread = self.spreads[level]
        return spread / self._spread_out(self._sums(spread, level), level)

    def variance(self, weights: Floats) -> float:
        """Variance of a weighted sum of the estimates; weights of shape (parts,)."""
        total = 0.0
        for level, spread in enumerate(self.spreads):
            inside, all_of = self._sums(spread * weights, level), self._sums(spread, level)
            total += float((spread * weights**2).sum() - (inside**2 / all_of).sum())
            weights = inside / all_of
        return max(0.0, total) + float(weights[0]) ** 2 * self.root_variance

    @cached_property
    def variances(self) -> Floats:
        """Variance of the estimate of each part, shape (parts,)."""
        values = np.array([self.root_variance])
        for level in range(self.levels - 1, -1, -1):
            shares = self._shares(level)
            values = self.spreads[level] * (1 - shares) + shares**2 * self._spread_out(values, level)
        return values

    def prefixes(self, ends: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Sums of the first parts, for each number of parts in `ends`, all in 1..size - 1.

        Returns
        -------
        inner, share : ndarray, shape (ends,)
            The sum has variance inner + share^2 `root_variance`; after f times the sum of all parts is taken off, it has
            inner + (share - f)^2 `root_variance`.
        """
        run, share, inner = ends, np.zeros(ends.size), np.zeros(ends.size)  # run that the end cuts, its share before it
        for level, spread in enumerate(self.spreads):
            sums, children = np.concatenate(([0.0], np.cumsum(spread))), self._children(level)
            first = run // children * children
            all_of = sums[np.minimum(first + children, spread.size)] - sums[first]
            before, cut = sums[run] - sums[first], spread[run]
            inside = before + cut * share
            inner += before + cut * share**2 - inside**2 / all_of
            run, share = run // children, inside / all_of
        return np.maximum(inner, 0), share

    @cached_property
    def mean_variances(self) -> dict[str, float]:
        """Mean variance over all ranges of neighbouring parts, and over all prefixes.

        With P_i the sum of the first i of n parts, P_0 = 0, the sum over i < j of Var(P_j - P_i) is (n + 1) sum_i Var(P_i)
        - Var(sum_i P_i). Beyond 4,096 parts the prefixes are sampled evenly: strategies are chosen by it, no error stated.
        """
        n = self.size
        ends = np.unique(np.linspace(1, n - 1, min(n - 1, MOST_SAMPLED)).astype(np.intp))
        prefixes = self.root_variance  # of P_n
        if n > 1:
            inner, share = self.prefixes(ends)
            prefixes += float((inner + share**2 * self.root_variance).mean()) * (n - 1)
        ramp = np.arange(n, 0, -1, dtype=np.float64)  # part i is in n - i prefixes
        ranges = 2 / (n * (n + 1)) * ((n + 1) * prefixes - self.variance(ramp))
        return {"ranges": ranges, "prefixes": prefixes / n}

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the shape alone."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

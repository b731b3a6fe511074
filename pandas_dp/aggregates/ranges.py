"""Counts whose sums over ranges of neighbouring bins are accurate, and cumulative shares made from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import AT, IN_ROWS, PLAIN, Answer, ExpectedError, SingleLook, Terms, noise_of
from pandas_dp.aggregates.hierarchy import Hierarchy
from pandas_dp.aggregates.moments import few_rows_of
from pandas_dp.aggregates.rotated import EMPTY, level_of_few
from pandas_dp.aggregates.tidy import isotonic
from pandas_dp.aggregates.uncertainty import LEVEL, Additive, Ends, holding
from pandas_dp.core.measurement import Measurement, Noisy, Statistic
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Bins, Partition
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.strategies import Haar, Tree
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.numbers import Accuracy

MOST_BRANCHING = 16
MANY_PARTS = 1 << 16  # beyond it only two branchings are tried


@dataclass(frozen=True)
class Combination:
    """A weighted sum of independent noise, of which only the length |a|_2 of its weights matters."""

    noise: Noise
    length: float

    def bounds(self, value: Any, level: float) -> Ends:
        """Value minus and plus the half-width; see `Noise.combined`."""
        half = self.noise.combined(level) * self.length
        return value - half, value + half


@dataclass(frozen=True)
class PartsError:
    """Estimates of the parts of a hierarchy, each with the variance it has in it."""

    noise: Noise
    hierarchy: Hierarchy

    @property
    def name(self) -> str:
        """Of the mechanism, and what it measured."""
        return f"{self.noise.name} on {self.hierarchy}"

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each part."""
        half = self.half_widths(level)
        return value - half, value + half

    def half_widths(self, level: float) -> Any:
        """Half-width for each part, shape (parts,); one whole number for all where the parts alone were measured."""
        if self.hierarchy.plain:
            return self.noise.half_width(level)
        return self.noise.combined(level) * np.sqrt(self.hierarchy.variances)

    def between(self, first: int, last: int) -> Additive | Combination:
        """Error of the sum of parts first..last - 1."""
        if self.hierarchy.plain and last - first == 1:
            return Additive(self.noise)
        inside = np.zeros(self.hierarchy.size)
        inside[first:last] = 1
        return Combination(self.noise, math.sqrt(self.hierarchy.variance(inside)))


@dataclass(frozen=True)
class SharesError:
    """Shares P_i / P_n of noisy prefix sums.

    For the true share f the sum P_i - f P_n is noise alone, of weights of length l(f), l(f)^2 = l_i^2 + (s_i - f)^2 r: those f
    whose |P_i - f P_n| is within a half-width of l(f) are between two roots, or all where P_n may be noise. With
    negative rows before or after the edge taken for none no |P_i - f P_n| grows, as in `mean_of_two`. Where P_n may be noise
    alone nothing is known, and close to that the level is higher: see `Accepted`.

    Answers that were pickled earlier have no `shares`, and lengths for the worst f.

    Parameters
    ----------
    noise : Noise
    prefixes : tuple of float
        P_i.
    lengths : tuple of float
        l_i.
    shares : tuple of float
        s_i, with which the noise of all parts together comes in.
    root : float
        r, its variance.
    """

    noise: Noise
    prefixes: tuple[float, ...]
    lengths: tuple[float, ...]
    shares: tuple[float, ...] = ()
    root: float = 0.0

    @property
    def least(self) -> float:
        """What P_n does not exceed without rows with 99 %."""
        return self.noise.combined(EMPTY) * math.sqrt(self.root)

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each edge, cut to [0, 1]; the first and the last share are 0 and 1 by definition."""
        level = level_of_few(self.prefixes[-1], self.least, level)
        prefixes, shares = np.array(self.prefixes), np.array(self.shares or np.zeros(len(self.prefixes)))
        before, h = np.maximum(prefixes, 0), self.noise.combined(level)  # shape (edges,)
        total = prefixes[-1] + (before - prefixes) + np.maximum(prefixes - prefixes[-1], 0)
        known = (prefixes[-1] > self.least) & (total > 0) & (total**2 > h**2 * self.root)
        total = np.where(known, total, np.inf)
        lengths = np.array(self.lengths) ** 2
        inside = lengths * (1 - h**2 * self.root / total**2) + self.root * (before / total - shares) ** 2
        middle, under = before - h**2 * self.root * shares / total, total - h**2 * self.root / total
        half = h * np.sqrt(np.maximum(inside, 0))
        low, high = (np.clip((middle + side * half) / under, 0, 1) for side in (-1, 1))
        low, high = np.where(known, low, 0), np.where(known, high, 1)
        low[-1], high[0] = 1, 0
        return holding(value, low, high)  # a fitted share may lie outside


@dataclass(frozen=True)
class RangeLook(SingleLook):
    """Counts of bins, measured by the strategy with the least expected error for a workload.

    Parameters
    ----------
    by : Bins
    labels : Labels
        Index of the answer.
    """

    by: Bins
    labels: Labels

    workload = "ranges"

    def look(self, terms: Terms) -> Measurement:
        """Noisy integers in the form of the chosen strategy."""
        return terms.noised(strategy(self.by, terms.unit, terms.price.gaussian, self.workload))


@dataclass(frozen=True)
class RangeCounts(RangeLook):
    """Number of rows in each bin, so that sums over neighbouring bins are accurate.

    The answer holds the least-squares estimates: floats, whatever the strategy was.
    """

    counting = frozenset({"count"})

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a Series over all bins."""
        error = parts_error(look, terms.unit)
        series = pd.Series(error.hierarchy.estimates(noisy), index=self.labels.index(), name="count")
        return Answer(series, error.name, error)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of the bin with the widest interval."""
        error = parts_error(self.look(terms), terms.unit)
        half = self._widest(error, LEVEL)
        words = f"each bin at most ± {IN_ROWS.text(half)} {AT}; sums over bins: .range_sum() of the answer"
        return ExpectedError(error.name, IN_ROWS.scale(error.noise), words, half)

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the widest of the bins' half-widths."""
        return terms.least(lambda at: self._widest(parts_error(self.look(at), at.unit), wanted.level), wanted)

    def _widest(self, error: PartsError, level: float) -> float:
        return float(np.max(error.half_widths(level)))


@dataclass(frozen=True)
class Ecdf(RangeLook):
    """Share of the rows within the edges that lie below each edge; `labels` are the edges."""

    workload = "prefixes"
    drawing = "steps"
    version = 3

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the monotone fit of the prefix sums, cut to [0, total], over the total; of few rows nothing but its ends."""
        error = parts_error(look, terms.unit)
        noise, hierarchy = error.noise, error.hierarchy
        prefixes = np.concatenate(([0.0], np.cumsum(hierarchy.estimates(noisy))))  # shape (edges,)
        total = float(prefixes[-1])
        inner, parts = hierarchy.prefixes(np.arange(1, hierarchy.size))
        lengths, of_all = (0.0, *np.sqrt(inner).tolist(), 0.0), (0.0, *parts.tolist(), 1.0)
        known = SharesError(noise, tuple(prefixes.tolist()), lengths, of_all, hierarchy.root_variance)
        few, shares = total <= known.least, np.full(prefixes.size, math.nan)
        if not few:
            shares = np.clip(isotonic(prefixes) / total, 0, 1)
        shares[0], shares[-1] = 0, 1
        series = pd.Series(shares, index=self.labels.index(), name="ecdf")
        return Answer(series, error.name, known, (few_rows_of(known.least),) if few and shares.size > 2 else ())

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of the share with the widest interval; see `SharesError`."""
        error = parts_error(self.look(terms), terms.unit)
        scale = IN_ROWS.scale(error.noise)
        inner, share = error.hierarchy.prefixes(np.arange(1, error.hierarchy.size))
        squares = inner + np.maximum(share, 1 - share) ** 2 * error.hierarchy.root_variance
        half = error.noise.combined(LEVEL) * math.sqrt(float(np.max(squares, initial=0)))
        return PLAIN.over_rows(error.name, scale, half, terms.about(rows), about="each share at most about")


def parts_error(look: Measurement, unit: PrivacyUnit) -> PartsError:
    """Error of the parts' estimates from a look of a `RangeLook`."""
    return PartsError(noise_of(look), hierarchy_of(cast("Tree | Haar", look.statistic), unit))


def hierarchy_of(statistic: Tree | Haar, unit: PrivacyUnit) -> Hierarchy:
    """What a statistic measures, in the words of the estimates."""
    size = statistic.by.count
    if isinstance(statistic, Haar):
        return Hierarchy(size, 2, (size - 1).bit_length(), root=True, differences=True)
    return Hierarchy(size, statistic.branching, statistic.levels, root=not unit.add_remove)


@lru_cache(maxsize=64)
def strategy(by: Bins, unit: PrivacyUnit, gaussian: bool, workload: str) -> Tree | Haar:
    """Return the strategy with the least mean variance over a workload, from public facts alone.

    Candidates are the plain counts, trees of 2..16 children whose greatest runs are at least two (beyond 65,536 parts of 8
    and 16 children), and with Gaussian noise the Haar transform. With Laplace noise the variance grows with the square of
    the L1 sensitivity, with Gaussian noise with that of the L2 sensitivity. The first of equals is taken.
    """

    def error(candidate: Tree | Haar) -> float:
        return hierarchy_of(candidate, unit).mean_variances[workload] * moved(candidate, unit, gaussian)

    return min(fixed(by, haar=gaussian), key=error)


def fixed(by: Partition, haar: bool = True) -> list[Tree | Haar]:
    """Plain counts, trees, Haar."""
    forms: list[Tree | Haar] = [Tree(by), *(Tree(by, *shape) for shape in shapes(by.count))]
    return [*forms, Haar(by)] if haar and by.count > 1 else forms


def moved(statistic: Statistic, unit: PrivacyUnit, gaussian: bool) -> float:
    """Square of the sensitivity by which noise grows."""
    known = statistic.sensitivity(unit)
    return float(known.l2_squared if gaussian else known.l1**2)


def shapes(size: int) -> Iterator[tuple[int, int]]:
    """Numbers of children and of levels of the trees that are tried."""
    for branching in range(2, MOST_BRANCHING + 1) if size <= MANY_PARTS else (8, MOST_BRANCHING):
        levels, top = 2, -(-size // branching)
        while top > 1:
            yield branching, levels
            levels, top = levels + 1, -(-top // branching)


def places_between(index: pd.Index[Any], left: Any, right: Any) -> tuple[int, int]:
    """Positions of the bins between two edges."""
    bins = [label for label in index if isinstance(label, pd.Interval)]
    edges = [bins[0].left, *(bin_.right for bin_ in bins)]
    edges = [edge.item() if isinstance(edge, np.generic) else edge for edge in edges]
    given = [edges[0] if left is None else left, edges[-1] if right is None else right]
    try:
        first, last = (edges.index(pd.Timestamp(e) if isinstance(edges[0], pd.Timestamp) else e) for e in given)
        if any(isinstance(e, bool | np.bool_) for e in given):  # which equal 0 and 1
            first, last = 0, -1
    except (TypeError, ValueError, ArithmeticError):  # what cannot be compared is no edge
        first, last = 0, -1
    if first > last:
        shown = ", ".join(repr(e) if isinstance(e, int | float) else repr(str(e)) for e in (edges[0], edges[-1]))
        raise ArgumentValueError(f"left and right must be edges of the bins in their order, such as range_sum({shown})")
    return first, last

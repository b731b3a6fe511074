"""Number of distinct values, and the shares of listed ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import IN_ROWS, PLAIN, Answer, Counts, ExpectedError, SingleLook, Terms, Unit, noise_of
from pandas_dp.aggregates.count import CountBy, int64s
from pandas_dp.aggregates.moments import none_seen
from pandas_dp.aggregates.rotated import Floats, level_of_few, threshold
from pandas_dp.aggregates.uncertainty import ENOUGH, LEVEL, Additive, Ends, normal
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Partition
from pandas_dp.core.statistics.counts import Distinct, DistinctBy
from pandas_dp.facts.labels import CrossLabels, Labels

TRANSITIVE = "that of three cells whose first equals the second and that the third, the first equals the third"


@dataclass(frozen=True)
class DistinctCount(Counts):
    """Number of distinct values of a column; of the unit's own column the number of units.

    `mixed` says that the column's dtype holds Python objects, whose equality is their own affair.
    """

    column: str
    mixed: bool = False

    each = ""
    unit = Unit("values")
    own_unit = True

    def look(self, terms: Terms) -> Measurement:
        """One integer."""
        return terms.noised(Distinct(self.column))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the noisy integer as it is, also below zero."""
        noise = noise_of(look)
        return Answer(noisy[0], noise.name, Additive(noise), assumes=TRANSITIVE if self.mixed else None)


@dataclass(frozen=True)
class DistinctCounts(Counts):
    """Number of distinct values of a column in each public part; see `DistinctCount`."""

    column: str
    by: Partition
    labels: Labels | CrossLabels
    mixed: bool = False

    version = 3
    unit = Unit("values")

    def look(self, terms: Terms) -> Measurement:
        """One integer for each part."""
        return terms.noised(DistinctBy(self.column, self.by))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a Series over all parts, in their order."""
        noise = noise_of(look)
        series = pd.Series(int64s(noisy), index=self.labels.index(), name=self.column)
        return Answer(series, noise.name, Additive(noise), assumes=TRANSITIVE if self.mixed else None)


@dataclass(frozen=True)
class SumOf:
    """Noise of a sum of `terms` cells, or of a weighted one of no greater length."""

    noise: Noise
    terms: int

    def half_width(self, level: float) -> int:
        """Steps within which it stays with this probability."""
        return self.noise.half_width(level) if self.terms == 1 else math.ceil(self.tail(level))

    def tail(self, level: float) -> float:
        """The same as a real number."""
        if self.terms == 1:
            return self.noise.tail(level)
        return self.noise.combined(level) * math.sqrt(self.terms)

    def half_widths(self, weights: Floats, level: float) -> Floats:
        """See `Noise`."""
        return self.noise.half_widths(np.repeat(weights, self.terms, axis=0), level)


def quotient_ends(
    parts: Floats, total: Floats, h: float, a: Any, b: Any, c: Any, ends: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Intervals for true quotients t in `ends`, from noisy parts F and a noisy total N of each.

    F - t N is noise alone, of weights with squared length a - 2 b t + c t^2, and h the half-width for weights of length 1. So
    the t with (F - t N)^2 <= h^2 (a - 2 b t + c t^2) hold the true one with the confidence of h: they lie between the roots of
    (N^2 - h^2 c) t^2 - 2 (F N - h^2 b) t + F^2 - h^2 a, or nothing is known where N^2 <= h^2 c. Source: Fieller 1954.
    """
    square = total**2 - h**2 * c
    known = (total > 0) & (square > 0)
    middle = parts * total - h**2 * b
    inside = a * total**2 - 2 * b * parts * total + c * parts**2 - h**2 * (a * c - b * b)
    root = h * np.sqrt(np.maximum(inside, 0))
    low, high = (
        np.clip(np.divide(middle + side * root, square, out=np.full(parts.shape, float(end)), where=known), *ends)
        for side, end in zip((-1, 1), ends, strict=True)
    )
    return low, high


def sampled_shares(
    parts: Floats, total: Floats, noise: Noise, cells: tuple[int, int], level: float
) -> tuple[Floats, Floats]:
    """Shares p of a population, from sums F of n noisy counts in sums N of m, those n among them.

    Of a random sample of N rows F - p N also has the variance N p (1 - p): those p for which its square is within that times
    z^2 and the square of the half-width of the noise (after Wilson 1927), which is more than needed at 95 % and above; below
    that the ends are those of 95 %. Missing where N is below six standard deviations of its noise.
    """
    higher, (n, m) = max(level, LEVEL), cells
    h, z = noise.combined(higher), normal(higher)
    sampling = z**2 * np.maximum(total, 1)
    low, high = quotient_ends(parts, total, 1, h**2 * n, h**2 * n - sampling / 2, h**2 * m - sampling, (0, 1))
    enough = total > ENOUGH * math.sqrt(m) * noise.standard_deviation
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)


@dataclass(frozen=True)
class Proportions:
    """Shares of noisy counts F_i in their sum N, of which the true share t makes F_i - t N noise alone.

    Its weights are 1 - t for one count and -t for the G - 1 others, of squared length 1 - 2 t + G t^2: see `quotient_ends`.
    A count, or a sum of the others, below 0 counts as 0, which makes that noise no larger: see `mean_of_two`. Of no rows to
    speak of there are no shares, and close to that the level is higher: see `Accepted`.
    """

    noise: Noise
    counts: tuple[int, ...]
    of_sample: bool = False

    @property
    def population(self) -> Proportions:
        """Shares in the population of which the rows are a sample: see `sampled_shares`."""
        return replace(self, of_sample=True)

    @property
    def whole(self) -> SumOf:
        """The noise of the sum."""
        return SumOf(self.noise, len(self.counts))

    @property
    def known(self) -> bool:
        """Whether there are rows to speak of."""
        return sum(self.counts) > threshold(self.whole, 1)

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each share, cut to [0, 1]."""
        level = level_of_few(sum(self.counts), threshold(self.whole, 1), level)
        h, counts = self.noise.combined(level), np.array(self.counts, dtype=np.float64)
        parts, others = np.maximum(counts, 0), np.maximum(float(sum(self.counts)) - counts, 0)
        total = (parts + others) * self.known
        low, high = quotient_ends(parts, total, h, 1, 1, len(self.counts), (0, 1))
        if self.of_sample:
            wider = sampled_shares(parts, total, self.noise, (1, len(self.counts)), level)
            low, high = np.minimum(low, wider[0]), np.maximum(high, wider[1])
        own = value.to_numpy()
        # by rounding; missing ones change nothing
        ends = np.where(own < low, own, low), np.where(own > high, own, high)
        lower, upper = (pd.Series(end, index=value.index, name=value.name) for end in ends)
        return lower, upper


@dataclass(frozen=True)
class Shares(SingleLook):
    """Share of each listed part in the noisy number of rows of all of them, cut to [0, 1]."""

    counts: CountBy

    version = 2

    def look(self, terms: Terms) -> Measurement:
        """The counts."""
        return self.counts.look(terms)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a Series over all listed parts, in the order of the counts."""
        found = self.counts.answer(noisy, look, terms)
        counts = tuple(found.value.tolist())
        error, whole = Proportions(noise_of(look), counts), sum(counts)
        shares = [min(max(count / whole, 0.0), 1.0) if error.known else math.nan for count in counts]
        series = pd.Series(shares, index=found.value.index, name="proportion", dtype=np.float64)
        notes = () if error.known else (none_seen(error.whole, 1, 1, grouped=False),)
        return Answer(series, found.mechanism, error, (*notes, *found.notes))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Error of F_i - t N over the number of rows, for weights of the largest length; see `Proportions`."""
        noise = noise_of(self.look(terms))
        size = noise.combined(LEVEL) * math.sqrt(max(1, self.counts.by.count - 1))
        scale = f"{IN_ROWS.scale(noise)}, on the counts"
        return PLAIN.over_rows(noise.name, scale, size, terms.about(rows), about="each share at most about")

"""Questions whose bounds are bought first: a coarse private histogram, then the question itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Aggregate, Answer, Caution, ExpectedError, Steps, Terms, as_question, noise_of
from pandas_dp.aggregates.moments import Mean, Sum, Variance, none_seen
from pandas_dp.aggregates.quantiles import QuantileOf
from pandas_dp.aggregates.rotated import Floats, half_width, known
from pandas_dp.aggregates.uncertainty import LEVEL, Ends, ErrorModel, Ratio, percent
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.gaussian import analytic_variance
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Bins
from pandas_dp.core.privacy import Price, PrivacyLoss, show
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.facts.checks import MOST_WHOLE

SHARE = Fraction(3, 20)  # of the price, for the bounds
CHANCE = 1e-6  # that any bin without rows is taken for one with rows
BESIDE = 0.90  # two-sided: an empty bin beside those that are found passes with 5 %, and doubles the noise
CUT = 0.95  # two-sided: where no row is cut, the caution that some are comes with 5 % (4.5 % seen), 2.5 % a side
FIRST, LAST = -10, 40  # exponents of the bins
POWERS = tuple(2.0**exponent for exponent in range(FIRST, LAST + 2))
EDGES = (*(-power for power in reversed(POWERS)), 0.0, *POWERS)
WHOLE_EDGES = tuple(edge for edge in EDGES if edge.is_integer())  # no whole number lies between two of them below 1
WIDEST = Fraction(POWERS[-1])
TYPE_THEM = "type bounds=(lower, upper)"
FARTHEST = 2.0**1023  # beyond it, values count in no bin

Pair = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class PrivateBounds(Aggregate):
    """A question about a numeric column whose bounds nobody knows, asked on the bounds that a first look finds.

    The first look is a noisy histogram of the column over 0, the powers of two from 2**-10 to 2**41 and their
    negatives (for whole numbers from 2**0), at `SHARE` of the price; what lies beyond counts in the end bins, but for
    infinities and what is as far (`FARTHEST`), which count in none and are cut to the bounds that are found. Of a unit with
    several rows one of them counts, chosen at random. A bin passes when its noisy count exceeds
    the least t with P(noise > t) <= `CHANCE` / bins, so that an empty bin passes anywhere with probability at most
    `CHANCE`. The bounds reach from the first bin that passes to the last, and on from there bin by bin as long as the next one
    exceeds what an empty one does with 5 %. Without any the answer is missing.
    The bounds are a function of noisy counts, so the two looks compose: the price is paid in full, whatever is found.
    What is then answered, and what the interval is about, is the statistic of the values cut to these bounds: no private
    interval of finite length holds for all columns without bounds. How many rows are cut a mean tells where each row
    is a unit: of others a look by whether rows are cut would keep other rows than the mean does.
    Source: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020, Section 5; bounds that grow after Biswas, Dong,
    Kamath, Ullman 2020.

    Parameters
    ----------
    question : Sum, Mean, Variance or QuantileOf
        On the widest lattice.
    bits : int
        Fineness of the lattice, as in `Lattice.between`.
    whole : bool
        Whether the column's dtype holds whole numbers alone.
    """

    question: Sum | Mean | Variance | QuantileOf
    bits: int
    whole: bool = False

    by_rows, sums, weighs, buying, own_unit = map(as_question, ("by_rows", "sums", "weighs", "buying", "own_unit"))

    @property
    def version(self) -> int:  # type: ignore[override]
        """That of its question, after 10 of the first look's: since the first one bounds grow, and a unit counts once."""
        return 10 + self.question.version

    @property
    def edges(self) -> tuple[float, ...]:
        """Edges of the bins, the ends of which also hold what lies beyond."""
        return WHOLE_EDGES if self.whole else EDGES

    def _look(self, terms: Terms) -> Measurement:
        bins = Bins(self.question.column, (-FARTHEST, *self.edges[1:-1], FARTHEST))
        return terms.share(SHARE).noised(RowCounts(by=bins, once=True))

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Both looks. Gaussian noise is rounded up by lattice, so the declared loss is that without any rounding."""
        first, rest = terms.loss(self._look(terms)), terms.share(1 - SHARE)
        second = self.question.loss(rest)
        return first + (PrivacyLoss.gaussian(_most_rho(rest.price)) if rest.price.gaussian else second)

    def steps(self, terms: Terms) -> Steps:
        """The histogram, then the question."""
        look = self._look(terms)
        noisy = yield look
        least, beside = threshold(look, len(noisy)), noise_of(look).half_width(BESIDE)
        found = bounds(noisy, least, beside, self.edges)
        share, unseen = f"{show(100 * SHARE)} % of the price", _unseen(found, least, beside, self.edges, terms)
        if found is None:
            answer = yield from self.question.steps(terms.share(1 - SHARE))
            none = Caution(f"no value, as {share} found no bounds: too few rows for the noise; {TYPE_THEM}")
            return Answer(answer.value * math.nan, answer.mechanism, None, (none, unseen), found="no bounds found")
        # a quantile steps from whole number to whole number, where they are few enough
        one_by_one = self.whole and isinstance(self.question, QuantileOf) and found[1] - found[0] <= MOST_WHOLE
        step = Fraction(1) if one_by_one else None
        question = replace(self.question, lattice=Lattice.between(*found, self.bits, step))
        ends = f"[{show(found[0])}, {show(found[1])}]"
        if isinstance(question, Mean) and question.by is None and terms.unit.column is None:
            answer = yield from _mean_and_cut(question, found, terms.share(1 - SHARE))
        else:
            answer = yield from question.steps(terms.share(1 - SHARE))
        told = f"of values clipped to {ends}; {share} found these bounds"
        return replace(answer, notes=(*answer.notes, told, unseen), found=f"of values clipped to {ends}")

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of a quantile, but for the number of points in the bounds; of others it depends on the bounds."""
        found = self.question.expected(terms.share(1 - SHARE), rows)
        ranks = isinstance(self.question, QuantileOf)
        error = f"about: {found.error}" if ranks else "not known in advance: it depends on the bounds that are bought"
        return ExpectedError(found.mechanism, None, error, None, (f"{show(100 * SHARE)} % of the price buys bounds",))


def threshold(look: Measurement, bins: int) -> int:
    """Least integer that the noise of one bin exceeds with probability at most `CHANCE` / bins."""
    return noise_of(look).half_width(1 - 2 * CHANCE / bins)  # of which one side is half


def bounds(noisy: Noisy, least: int, beside: int, edges: tuple[float, ...] = EDGES) -> Pair | None:
    """Pair of the bins above a threshold, and of those beside them one by one above a lower one; None without any."""
    passed = [i for i, count in enumerate(noisy) if count > least]
    if not passed:
        return None
    first, last = passed[0], passed[-1]
    while first > 0 and noisy[first - 1] > beside:
        first -= 1
    while last < len(noisy) - 1 and noisy[last + 1] > beside:
        last += 1
    return Fraction(edges[first]), Fraction(edges[last + 1])


def _unseen(found: Pair | None, least: int, beside: int, edges: tuple[float, ...], terms: Terms) -> str:
    """What the search cannot have seen, from public numbers and the bounds that were found: facts, also as cautions."""
    what = "rows" if terms.unit.column is None else "units"
    rare = f"fewer than {least:,} {what} between two powers of two"
    if found is None and terms.public_rows is not None and terms.public_rows <= least:
        return Caution(
            f"useless: at this price {rare} may go unseen, and there are {terms.public_rows:,} in all; {TYPE_THEM}"
        )
    if found == (Fraction(0), Fraction(min(edge for edge in edges if edge > 0))):
        return Caution(f"these bounds contain little besides 0, perhaps because {rare} may go unseen; {TYPE_THEM}")
    return f"{rare} may go unseen, or {beside:,} next to bounds that are found"


@dataclass(frozen=True)
class Twice:
    """The noise of sums of two draws each, as `Law`."""

    noise: Noise

    def tail(self, level: float) -> float:
        """See `Noise`."""
        return 2 * self.noise.tail(level)

    def half_widths(self, weights: Floats, level: float) -> Floats:
        """See `Noise`."""
        return self.noise.half_widths(np.concatenate([weights, weights]), level)


def _mean_and_cut(mean: Mean, found: Pair, terms: Terms) -> Steps:
    """The mean of values clipped to bounds, and how many rows were cut, in one look.

    A row within adds (v, M - v, 0, 0), one below (0, 0, 0, M), one at the upper end or beyond (0, 0, M, 0): the features of
    `Moments` by whether a row is within, so with its sensitivities. The mean is that of F1 + F3 and F2 + F4.
    """
    by = Bins(mean.column, (float(found[0]), float(found[1])), other=True)
    look = replace(mean, by=by).look(terms)
    first, second, above, below = yield look
    noise, cells = noise_of(look), mean.lattice.cells
    pair, law = (first + above, second + below), Twice(noise)
    cut, most = above + below, half_width((1.0, 1.0), noise, 2 * LEVEL - 1)  # of which one side is half of the rest
    rows = [f"{max(0, round(number / cells)):,}" for number in (cut, cut + most)]
    note: str = f"about {rows[0]} (at most {rows[1]}, {percent(LEVEL)}) rows were clipped"
    if max(above, below) > noise.half_width(CUT):  # falsely, where none was cut, with 4.4 to 5.0 % as measured
        note = Caution(f"{note}: the mean of all values may differ; {TYPE_THEM}")
    if not known([pair], law)[0]:
        return Answer(math.nan, noise.name, None, (none_seen(law, 2, cells, grouped=False), note))
    return Answer(mean.of_cell(pair), noise.name, Ratio((pair,), law, mean.lattice, mean.kind), (note,))


def _most_rho(price: Price) -> Fraction:
    """The most that Gaussian noise for a price costs, on any lattice."""
    return (
        price.rho if price.rho is not None else 1 / (2 * analytic_variance(price.epsilon or Fraction(0), price.delta))
    )


@dataclass(frozen=True)
class Scaled:
    """The error of a vector whose entries were each scaled and shifted by public numbers of their own."""

    model: ErrorModel
    shifts: tuple[float, ...]
    scales: tuple[float, ...]

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends in the unit of each entry, which contain it."""
        shifts, scales = np.array(self.shifts), np.array(self.scales)
        lower, upper = (end * scales + shifts for end in self.model.bounds((value - shifts) / scales, level))
        return lower.where(value.isna() | (lower < value), value), upper.where(value.isna() | (upper > value), value)


@dataclass(frozen=True)
class InOwnBounds(Aggregate):
    """Sum or mean by listed key, each group clipped to public bounds [a_g, b_g] of its own.

    The rows that are asked hold y = (x - a_g) / (b_g - a_g) for a mean, and y = x / B_g with x clipped to [a_g, b_g] and
    B_g = max(|a_g|, |b_g|) for a sum: a step computes it of a row's own value and key, and public numbers. `question` is asked
    of y, and its answers are scaled by public numbers, at no price.

    So the sensitivity is that of `question`, as `Moments` and `Total` derive it for any column and any partition: on one
    lattice for all groups, [0, 1] of a mean, [min a_g / B_g, max b_g / B_g] within [-1, 1] of a sum. It holds whatever y is,
    as the lattice ends in a clip of integers: neither rounding in the step nor a key that it finds elsewhere than the
    partition does can move it. Add/remove: a row lies in one group and moves its features by one lattice, whichever group
    that is. Replace-one: a row may leave one group and enter another, each of which moves by its own y, at most 1; in the unit
    of x that is b_g - a_g in the one and b_h - a_h in the other. Noise in y is b_g - a_g (or B_g) times as large in x.
    """

    question: Mean | Sum
    ends: tuple[Pair, ...]

    @property
    def version(self) -> int:  # type: ignore[override]
        """That of its question, after 10 of its own."""
        return 10 + self.question.version

    sums, weighs, own_unit = map(as_question, ("sums", "weighs", "own_unit"))

    def loss(self, terms: Terms) -> PrivacyLoss:
        """As its question."""
        return self.question.loss(terms)

    def steps(self, terms: Terms) -> Steps:
        """Its question, and each answer in the unit of its group."""
        answer = yield from self.question.steps(terms)
        summed = isinstance(self.question, Sum)
        shifts = tuple(0.0 if summed else float(lower) for lower, _ in self.ends)
        scales = tuple(float(largest(pair) if summed else pair[1] - pair[0]) for pair in self.ends)
        value = answer.value * np.array(scales) + np.array(shifts)
        if not summed:
            lower, upper = (np.array([float(pair[side]) for pair in self.ends]) for side in (0, 1))
            value = value.clip(lower, upper)
        error = None if answer.error is None else Scaled(answer.error, shifts, scales)  # type: ignore[arg-type]  # no guarantee
        return replace(answer, value=value, error=error)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of its question, in the unit of the bounds of a group."""
        known = self.question.expected(terms, rows)
        what = "the larger of its bounds" if isinstance(self.question, Sum) else "the width of its bounds"
        return replace(known, scale=None, error=f"of each group, times {what}: {known.error}", half_width=None)


def largest(ends: Pair) -> Fraction:
    """The size of the bound that lies farther from 0."""
    return max(map(abs, ends))

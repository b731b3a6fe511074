"""Count, sum, mean, variance and standard deviation of one column from one noisy look, so that they agree."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import (
    AT,
    IN_ROWS,
    OF_GROUP,
    PLAIN,
    Answer,
    ExpectedError,
    SingleLook,
    Terms,
    noise_of,
    noised,
    over_rows,
    unit_of,
)
from pandas_dp.aggregates.count import Count, CountBy
from pandas_dp.aggregates.moments import Mean, Sum, Variance, of_known
from pandas_dp.aggregates.rotated import half_width, mean_of_three
from pandas_dp.aggregates.uncertainty import LEVEL, Additive, Ends, ErrorModel, Ratio, around, series_of
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Partition
from pandas_dp.core.statistics.sums import Moments
from pandas_dp.facts.kinds import Kind

Moment = Count | CountBy | Sum | Mean | Variance
Features = tuple[int, ...]
SLACK = 1.001  # of standard deviations: the noise is rounded up by less


@dataclass(frozen=True)
class Weighted:
    """A weighted sum of independent noise."""

    noise: Noise
    weights: tuple[float, ...]

    @property
    def length(self) -> float:
        """Of the weights: the standard deviation, in those of the noise."""
        return math.hypot(*self.weights)

    def half_width(self, level: float) -> int:
        """Steps of the noise within which it stays with this probability."""
        return int(half_width(self.weights, self.noise, level)) + 1


@dataclass(frozen=True)
class RotatedMean:
    """Means from the three sums of a variance, F1 - F2 over N = F1 + F2 + F3 from the middle of the bounds."""

    noise: Noise
    difference: int | tuple[int, ...]  # of one mean, or of each
    total: int | tuple[int, ...]
    middle: float
    half: float
    rounding: float = 0.0  # of each row

    def bounds(self, value: Any, level: float) -> Ends:
        """Ends inside the bounds."""
        difference, total = (np.array(x, dtype=np.float64).reshape(-1) for x in (self.difference, self.total))
        # as good as those of the look
        features = np.stack([(total + difference) / 2, (total - difference) / 2, np.zeros(len(total))], axis=-1)
        low, high = self.middle + self.half * mean_of_three(features, self.noise).bounds(level)
        whole = self.middle - self.half, self.middle + self.half
        lower, upper = np.clip(low - self.rounding, *whole).tolist(), np.clip(high + self.rounding, *whole).tolist()
        scalar = isinstance(self.total, int)
        values = [value] if scalar else value.tolist()
        ends = [around(*each, whole) for each in zip(lower, upper, values, strict=True)]
        return ends[0] if scalar else series_of(ends, value)


@dataclass(frozen=True)
class SharedMoments(SingleLook):
    """Moments of one column, in all or by the same groups, made of the two sums of `Mean`, or the three of `Variance`.

    Its answer has one answer for each question as value.

    Notes
    -----
    A row adds features to F1, F2 (and F3) that add up to T, see `Moments`, and F1 - F2 to its position in [-1, 1] times T
    between the bounds a and b. So N = (F1 + F2 + F3) / T counts the rows, and (b F1 + a F2 + (a + b) / 2 F3) / T is the sum of
    their values, both without bias. The mean is the quotient of these two as they are shown, cut to the bounds, and the
    variance the square of the standard deviation as shown. Everything is computed from the noisy integers of one look, whose
    loss is that of `Moments`.
    A unit with more rows than count is scaled as a whole: it adds as many rows as count, at the mean of its values. Its total,
    which a sum counts, is another number, so sums are made here only where each row is a unit, see `sharing`.

    Parameters
    ----------
    questions : tuple of Count, CountBy, Sum, Mean or Variance
        About the same column, bounds and groups; at least one with bounds.
    """

    questions: tuple[Moment, ...]

    totals = True

    @property
    def degree(self) -> int:
        """Of the moments: 2 with a variance among them."""
        return 2 if any(isinstance(question, Variance) for question in self.questions) else 1

    @cached_property
    def _bounded(self) -> Sum | Mean | Variance:
        """A question on the lattice of the look."""
        return next(question for question in self.questions if isinstance(question, Sum | Mean | Variance))

    @property
    def lattice(self) -> Lattice:
        """Of the look."""
        return self._bounded.lattice

    @property
    def kind(self) -> Kind:
        """Of the column."""
        return self._bounded.kind

    @property
    def by(self) -> Partition | None:
        """The groups."""
        return self._bounded.by

    @property
    def _row(self) -> int:
        """What the features of one row add up to."""
        return self._moments.row_total

    @property
    def _moments(self) -> Moments:
        return Moments(self._bounded.column, self.lattice, self.degree, self.by)

    @property
    def _weights(self) -> tuple[int, ...]:
        """Of the features in a sum of values, in half steps times T: upper and lower end, and the middle."""
        low, cells = self.lattice.low, self.lattice.cells
        return (2 * (low + cells), 2 * low, 2 * low + cells)[: self.degree + 1]

    def look(self, terms: Terms) -> Measurement:
        """Two or three integers, or as many for each group."""
        return noised(self._moments, terms.price, terms.unit)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a tuple of answers."""
        noise, size = noise_of(look), self.degree + 1
        parts = [tuple(noisy[at : at + size]) for at in range(0, len(noisy), size)]
        return Answer(tuple(self._answer(question, parts, noise) for question in self.questions), noise.name)

    def _answer(self, question: Moment, parts: list[Features], noise: Noise) -> Answer:
        """The answer to one question from the features of all groups, or of all rows."""
        if isinstance(question, Count | CountBy):
            sums, model = [sum(f) for f in parts], self.linear_error(question, noise)
            said = question.notes(sums, model.noise) if isinstance(question, CountBy) else ()
            return self._shaped([n / self._row for n in sums], noise, model, said)
        if isinstance(question, Sum):
            return self._shaped([self._sum(f) for f in parts], noise, self.linear_error(question, noise))
        labels, column = question.labels, question.column
        if isinstance(question, Variance):
            roots = [replace(question, root=True).spread(*f) for f in parts]
            values = roots if question.root else [x * x for x in roots]
            found = of_known(values, parts, self._row, noise, labels, column)
            return replace(found, error=question.error(tuple(parts), noise))
        found = of_known(list(map(self._mean, parts)), parts, self._row, noise, labels, column)
        notes: tuple[str, ...] = (*found.notes, *question.notes(parts, noise))
        return replace(found, error=self._mean_error(parts, noise), notes=notes)

    def _sum(self, f: Features) -> Any:
        top, bottom = self.lattice.step.as_integer_ratio()
        weighted = sum(w * x for w, x in zip(self._weights, f, strict=True))
        return self.kind.ratio(top * weighted, bottom * 2 * self._row)

    def _mean(self, f: Features) -> Any:
        """The quotient of sum and count as shown; cut to the bounds, and with at least one row below it."""
        low, cells, n = self.lattice.low, self.lattice.cells, max(sum(f), self._row)
        inside = min(max(f[0] - f[1], -n), n)
        if self.kind.name in ("number", "bool") and (n, inside) == (sum(f), f[0] - f[1]):
            total, least, most = self._sum(f), float(self.lattice.lower), float(self.lattice.upper)
            if abs(total) < sys.float_info.max:
                return min(max(total / (n / self._row), least), most)  # rounded, it could leave them
        top, bottom = self.lattice.step.as_integer_ratio()
        return self.kind.ratio(top * ((2 * low + cells) * n + cells * inside), bottom * 2 * n)

    def _weighted(self, question: Count | CountBy | Sum, noise: Noise) -> Weighted:
        """Noise of a count or sum, a fixed combination of the features."""
        weights = self._weights if isinstance(question, Sum) else (1,) * (self.degree + 1)
        return Weighted(noise, tuple(map(float, weights)))

    def linear_error(self, question: Count | CountBy | Sum, noise: Noise) -> Additive:
        """Error of a count or sum."""
        weighted = self._weighted(question, noise)
        if isinstance(question, Sum):
            return Additive(weighted, self.lattice.step / (2 * self._row), self.kind)
        return Additive(weighted, Fraction(1, self._row))

    def _mean_error(self, parts: list[Features], noise: Noise) -> ErrorModel:
        scalar = self._bounded.labels is None
        if self.degree == 1:
            return Ratio(tuple((f[0], f[1]) for f in parts), noise, self.lattice, self.kind, scalar)
        half = self.lattice.width / 2
        middle, rounding = self.lattice.lower + half, self.lattice.step / 2
        differences, totals = tuple(f[0] - f[1] for f in parts), tuple(map(sum, parts))
        difference, total = (differences[0], totals[0]) if scalar else (differences, totals)
        return RotatedMean(noise, difference, total, float(middle), float(half), float(rounding))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Of all its questions."""
        known = self.each_expected(terms, rows)
        return replace(known[0], error="; ".join(found.error for found in known), half_width=None)

    def each_expected(self, terms: Terms, rows: int | None) -> tuple[ExpectedError, ...]:
        """Of each question; of a variance as much as of one asked alone at this price."""
        noise = noise_of(self.look(terms))
        return tuple(self._expected(question, noise, terms, rows) for question in self.questions)

    def _expected(self, question: Moment, noise: Noise, terms: Terms, rows: int | None) -> ExpectedError:
        grouped = self.by is not None
        if isinstance(question, Count | CountBy | Sum):
            unit = unit_of(question.kind) if isinstance(question, Sum) else IN_ROWS
            model = self.linear_error(question, noise)
            half = float(model.noise.half_width(LEVEL) * model.step)
            words = f"{'each ' if grouped else ''}± {unit.text(half)} {AT}"
            return ExpectedError(noise.name, None, words, unit.value(half))
        if isinstance(question, Variance) or self.degree == 1:
            return question.expected(terms, rows)
        # a quotient of three sums, with the noise of `RotatedMean`, which is largest at an end
        size = half_width((0.0, 2.0, 1.0), noise, LEVEL) / self._row * float(self.lattice.width / 2)
        known, of = (rows, OF_GROUP) if grouped else (terms.about(rows), "")
        return over_rows(noise.name, None, size, known, PLAIN, of, "at most about")

    def _shaped(self, values: list[Any], noise: Noise, error: ErrorModel, notes: tuple[str, ...] = ()) -> Answer:
        """One number, or a Series by group."""
        labels = self._bounded.labels
        if labels is None:
            return Answer(values[0], noise.name, error, notes)
        return Answer(pd.Series(values, index=labels.index(), name=self._bounded.column), noise.name, error, notes)

    def deviation(self, question: Moment, noise: Noise) -> float:
        """Standard deviation of an answer to the first order, at its worst over the data, but for a public factor.

        That of a mean is (width / 2) |w| / N for the weights w = (1 - t, -1 - t, -t) of `RotatedMean`, longest at |t| = 1.
        That of a variance depends on the noise of each feature alone, in the same way whatever else is made of them.
        """
        if isinstance(question, Count | CountBy | Sum):
            length, step = self._weighted(question, noise).length, self.linear_error(question, noise).step
            return noise.standard_deviation * length * float(step)
        return noise.standard_deviation / self._row * (math.sqrt(self.degree + 3) if isinstance(question, Mean) else 1)


def sharing(asked: Sequence[tuple[Moment, Fraction]], terms: Terms) -> tuple[int, ...]:
    """Which of some moments of one column are better made of one look at the sum of their shares of the price.

    None gets a larger standard deviation than alone at its own share, those that would are left out. So are sums where units
    own several rows: `Total` counts of a unit what `Moments` does not.

    Parameters
    ----------
    asked : sequence of (question, share)
    terms : Terms
        With the price of which the shares are.

    Returns
    -------
    tuple of int
        Places; none, or two and more.
    """
    kept = tuple(i for i, (one, _) in enumerate(asked) if terms.unit.column is None or not isinstance(one, Sum))
    while len(kept) > 1 and any(not isinstance(asked[i][0], Count | CountBy) for i in kept):
        together = SharedMoments(tuple(asked[i][0] for i in kept))
        noise = _noise(together, sum((asked[i][1] for i in kept), Fraction(0)), terms)
        better = tuple(i for i in kept if together.deviation(asked[i][0], noise) <= SLACK * _alone(*asked[i], terms))
        if better == kept:
            return kept
        kept = better
    return ()


def _alone(question: Moment, share: Fraction, terms: Terms) -> float:
    """What `SharedMoments.deviation` is compared with."""
    noise = _noise(question, share, terms)
    if isinstance(question, Mean | Variance):
        return SharedMoments((question,)).deviation(question, noise)
    return noise.standard_deviation * float(question.lattice.step if isinstance(question, Sum) else 1)


def _noise(question: SingleLook, share: Fraction, terms: Terms) -> Noise:
    return noise_of(question.look(replace(terms, price=terms.price.share(share))))

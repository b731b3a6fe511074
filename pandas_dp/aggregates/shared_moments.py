"""Count, sum, mean, variance and standard deviation of one column from one noisy look, so that they agree."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import AT, IN_ROWS, Answer, ExpectedError, SingleLook, Terms, Unit, as_question, noise_of
from pandas_dp.aggregates.count import Count, CountBy
from pandas_dp.aggregates.forms import Form, form_of
from pandas_dp.aggregates.moments import Mean, Sum, Variance, of_known
from pandas_dp.aggregates.rotated import Law, half_width, known, mean_of_three
from pandas_dp.aggregates.uncertainty import LEVEL, NUMBER, Additive, Ends, ErrorModel, Ratio, around, series_of
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.statistics.sums import Moments
from pandas_dp.facts.kinds import Kind

Moment = Count | CountBy | Sum | Mean | Variance
Features = tuple[int, ...]
Found = tuple[Any, ErrorModel, tuple[str, ...]]
SLACK = 1.001  # of standard deviations: the noise is rounded up by less


@dataclass(frozen=True)
class Weighted:
    """A weighted sum of the noise of features."""

    noise: Law
    weights: tuple[float, ...]

    def half_width(self, level: float) -> int:
        """Steps of the noise within which it stays with this probability; 0 of a public number."""
        half = half_width(self.weights, self.noise, level)
        return int(half) + 1 if half else 0


@dataclass(frozen=True)
class RotatedMean:
    """Means from the three sums of a variance, F1 - F2 over N = F1 + F2 + F3 from the middle of the bounds.

    The features, and what those of a row add up to, are told for `population`; not of answers that were pickled earlier.
    """

    noise: Law
    difference: int | tuple[int, ...]  # of one mean, or of each
    total: int | tuple[int, ...]
    middle: float
    half: float
    rounding: float = 0.0  # of each row
    features: tuple[Features, ...] = ()
    row: int = 0
    kind: Kind = NUMBER

    def bounds(self, value: Any, level: float) -> Ends:
        """Ends inside the bounds."""
        difference, total = (np.array(x, dtype=np.float64).reshape(-1) for x in (self.difference, self.total))
        # as good as those of the look
        features = np.stack([(total + difference) / 2, (total - difference) / 2, np.zeros(len(total))], axis=-1)
        low, high = self.middle + self.half * mean_of_three(features, self.noise).bounds(level)
        whole = self.middle - self.half, self.middle + self.half
        lower, upper = (shown(np.clip(end, *whole), self.kind) for end in (low - self.rounding, high + self.rounding))
        scalar = isinstance(self.total, int)
        values, (least, most) = [value] if scalar else value.tolist(), shown(np.array(whole), self.kind)
        ends = [around(*each, (least, most)) for each in zip(lower, upper, values, strict=True)]
        return ends[0] if scalar else series_of(ends, value)


def shown(numbers: Any, kind: Kind) -> list[Any]:
    """Numbers as values of a kind: of dates and durations a number is so many nanoseconds."""
    found: list[Any] = numbers.tolist()
    return found if kind.name in ("number", "bool") else [kind.value(Fraction(x)) for x in found]


@dataclass(frozen=True)
class SharedMoments(SingleLook):
    """Moments of one column, in all or by the same groups, made of the two sums of `Mean`, or the three of `Variance`.

    Its answer has one answer for each question as value.

    Notes
    -----
    A row adds features to F1, F2 (and F3) that add up to T, see `Form`, and F1 - F2 to its position in [-1, 1] times T
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

    @property
    def degree(self) -> int:
        """Of the moments: 2 with a variance among them."""
        return 2 if any(isinstance(question, Variance) for question in self.questions) else 1

    @cached_property
    def question(self) -> Sum | Mean | Variance:
        """A question on the lattice of the look."""
        return next(question for question in self.questions if isinstance(question, Sum | Mean | Variance))

    lattice, kind, by = map(as_question, ("lattice", "kind", "by"))  # of the look

    @property
    def by_rows(self) -> bool:  # type: ignore[override]
        """As its questions."""
        return any(question.by_rows for question in self.questions)

    @property
    def weighs(self) -> bool:  # type: ignore[override]
        """As its look."""
        return self.by is None

    def form(self, terms: Terms) -> Form:
        """What is released."""
        full = any(question.full for question in self.questions if isinstance(question, Mean | Variance))
        return form_of(Moments(self.question.column, self.lattice, self.degree, self.by), terms, full)

    @property
    def _weights(self) -> tuple[int, ...]:
        """Of the features in a sum of values, in half steps times T: upper and lower end, and the middle."""
        low, cells = self.lattice.low, self.lattice.cells
        return (2 * (low + cells), 2 * low, 2 * low + cells)[: self.degree + 1]

    def look(self, terms: Terms) -> Measurement:
        """One, two or three integers, or as many for each group."""
        return self.form(terms).look(terms)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a tuple of answers."""
        form, noise = self.form(terms), noise_of(look)
        parts, law = form.features(noisy), form.law(noise)
        found = (self._answer(question, parts, form.row, law) for question in self.questions)
        return Answer(tuple(Answer(value, noise.name, error, notes) for value, error, notes in found), noise.name)

    def _answer(self, question: Moment, parts: Sequence[Features], row: int, law: Law) -> Found:
        """The answer to one question from the features of all groups, or of all rows."""
        if isinstance(question, Count | CountBy):
            sums, model = [sum(f) for f in parts], self.linear_error(question, row, law)
            said = question.notes(sums, model.noise) if isinstance(question, CountBy) else ()
            return self._shaped([n / row for n in sums]), model, said
        if isinstance(question, Sum):
            return self._shaped([self._sum(f, row) for f in parts]), self.linear_error(question, row, law), ()
        labels, column = question.labels, question.column
        if isinstance(question, Variance):
            roots = [replace(question, root=True).spread(f, row) for f in parts]
            values = roots if question.root else [x * x for x in roots]
            value, notes = of_known(values, parts, row, law, labels, column, known(parts, law))
            return value, question.error(tuple(parts), law, row), notes
        seen = known(parts, law)
        value, notes = of_known([self._mean(f, row) for f in parts], parts, row, law, labels, column, seen)
        return value, self._mean_error(parts, row, law), (*notes, *question.notes(parts, row, law, seen))

    def _sum(self, f: Features, row: int) -> Any:
        top, bottom = self.lattice.step.as_integer_ratio()
        weighted = sum(w * x for w, x in zip(self._weights, f, strict=True))
        return self.kind.ratio(top * weighted, bottom * 2 * row)

    def _mean(self, f: Features, row: int) -> Any:
        """The quotient of sum and count as shown; cut to the bounds, and with at least one row below it."""
        low, cells, n = self.lattice.low, self.lattice.cells, max(sum(f), row)
        inside = min(max(f[0] - f[1], -n), n)
        if self.kind.name in ("number", "bool") and (n, inside) == (sum(f), f[0] - f[1]):
            total, least, most = self._sum(f, row), float(self.lattice.lower), float(self.lattice.upper)
            if abs(total) < sys.float_info.max:
                return min(max(total / (n / row), least), most)  # rounded, it could leave them
        top, bottom = self.lattice.step.as_integer_ratio()
        return self.kind.ratio(top * ((2 * low + cells) * n + cells * inside), bottom * 2 * n)

    def linear_error(self, question: Count | CountBy | Sum, row: int, law: Law) -> Additive:
        """Error of a count or sum."""
        weights, step = self._linear(question, row)
        return Additive(Weighted(law, weights), step, self.kind if isinstance(question, Sum) else NUMBER)

    def _linear(self, question: Count | CountBy | Sum, row: int) -> tuple[tuple[float, ...], Fraction]:
        """Weights of the features in a count or sum, and the step that one of them stands for."""
        if isinstance(question, Sum):
            return tuple(map(float, self._weights)), self.lattice.step / (2 * row)
        return (1.0,) * (self.degree + 1), Fraction(1, row)

    def _mean_error(self, parts: Sequence[Features], row: int, noise: Law) -> ErrorModel:
        scalar = self.question.labels is None
        if self.degree == 1:
            return Ratio(tuple((f[0], f[1]) for f in parts), noise, self.lattice, self.kind, scalar, row)
        half = self.lattice.width / 2
        middle, rounding = self.lattice.lower + half, self.lattice.step / 2
        differences, totals = tuple(f[0] - f[1] for f in parts), tuple(map(sum, parts))
        difference, total = (differences[0], totals[0]) if scalar else (differences, totals)
        known = tuple(map(tuple, parts)), row, self.kind
        return RotatedMean(noise, difference, total, float(middle), float(half), float(rounding), *known)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Of all its questions."""
        known = self.each_expected(terms, rows)
        return replace(known[0], error="; ".join(found.error for found in known), half_width=None)

    def each_expected(self, terms: Terms, rows: int | None) -> tuple[ExpectedError, ...]:
        """Of each question; of a variance as much as of one asked alone at this price."""
        return tuple(self._expected(question, self.form(terms), terms, rows) for question in self.questions)

    def _expected(self, question: Moment, form: Form, terms: Terms, rows: int | None) -> ExpectedError:
        grouped, noise = self.by is not None, noise_of(form.look(terms))
        law = form.law(noise)
        if isinstance(question, Count | CountBy | Sum):
            unit = Unit.of(question.kind) if isinstance(question, Sum) else IN_ROWS
            model = self.linear_error(question, form.row, law)
            half = float(model.noise.half_width(LEVEL) * model.step)
            words = f"{'each ' if grouped else ''}± {unit.text(half)} {AT}"
            return ExpectedError(noise.name, None, words, unit.value(half))
        if isinstance(question, Variance) or self.degree == 1:
            return question.expected(terms, rows)
        # a quotient of three sums, with the noise of `RotatedMean`, which is largest at an end
        size = half_width((0.0, 2.0, 1.0), law, LEVEL) / form.row * float(self.lattice.width / 2)
        return Unit.of(self.kind).over_rows(noise.name, None, size, *terms.known(rows, self.by))

    def _shaped(self, values: list[Any]) -> Any:
        """One number, or a Series by group."""
        labels = self.question.labels
        return values[0] if labels is None else pd.Series(values, index=labels.index(), name=self.question.column)

    def deviation(self, question: Moment, terms: Terms) -> float:
        """Standard deviation of an answer to the first order, at its worst over the data, but for a public factor.

        That of a mean is (width / 2) |w| / N for the weights w = (1 - t, -1 - t, -t) of `RotatedMean`, longest at |t| = 1.
        That of a variance depends on the noise of each feature alone, in the same way whatever else is made of them.
        """
        form = self.form(terms)
        noise = noise_of(form.look(terms))
        if isinstance(question, Count | CountBy | Sum):
            weights, step = self._linear(question, form.row)
            return form.deviation(weights, noise) * float(step)
        if isinstance(question, Mean):
            return form.deviation((0, -2, -1)[: self.degree + 1], noise) / form.row
        return noise.standard_deviation / form.moments.row_total


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
        paid = terms.share(sum((asked[i][1] for i in kept), Fraction(0)))
        better = tuple(i for i in kept if together.deviation(asked[i][0], paid) <= SLACK * _alone(*asked[i], terms))
        if better == kept:
            return kept
        kept = better
    return ()


def _alone(question: Moment, share: Fraction, terms: Terms) -> float:
    """What `SharedMoments.deviation` is compared with."""
    paid = terms.share(share)
    if isinstance(question, Mean | Variance):
        return SharedMoments((question,)).deviation(question, paid)
    noise = noise_of(question.look(paid))
    return noise.standard_deviation * float(question.lattice.step if isinstance(question, Sum) else 1)

"""Sums, means, variances and standard deviations; by rotated moments the whole price buys every coordinate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import (
    AT,
    PLAIN,
    SAY,
    WHOLE,
    Answer,
    Caution,
    ExpectedError,
    SingleLook,
    Terms,
    Unit,
    noise_of,
)
from pandas_dp.aggregates.forms import Form, form_of
from pandas_dp.aggregates.rotated import FEW, Bools, Law, at_ends, known, least_seen
from pandas_dp.aggregates.uncertainty import LEVEL, Additive, HalfWidth, Ratio, Spread
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Partition
from pandas_dp.core.statistics.sums import Moments, Total
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.facts.numbers import Accuracy

# false with 2.5 % at most, of all groups together, where means are 1 % of the bounds or more away from both: `at_ends`
TOO_FEW = "too few rows for a value"
EMPTY = Caution("no group has a value, as where the keys are spelt differently or the bins miss the data")
AT_END = (
    "within 1 % of the {} bound: values lie at this bound, or they lie beyond it and are clipped (intervals do not cover "
    "that), or the bounds are far too wide"
)

CUT = Caution(
    "a value at an end of the bounds may come from noise alone, or from values beyond the bounds: rely on its interval"
)


@dataclass(frozen=True)
class Mean(SingleLook):
    """Mean of a column clipped to [a, b], in all or by group.

    Released are F1 = sum (x - a) and F2 = sum (b - x), which together move by exactly b - a a row, so neither the
    sum nor the count needs a share of the price: mean = a + (b - a) F1 / (F1 + F2), and (F1 + F2)/(b - a) counts
    the rows (Kulesza, Suresh, Wang 2024). Under replace-one, but not in groups, they are made of centred sums: `form_of`, which
    also says what `full` is for, whether all rows hold a value.
    """

    column: str
    lattice: Lattice
    kind: Kind
    by: Partition | None = None
    labels: Labels | CrossLabels | None = None
    full: bool = False

    version = 3

    @property
    def weighs(self) -> bool:  # type: ignore[override]
        """In groups rows are drawn."""
        return self.by is None

    @property
    def by_rows(self) -> bool:  # type: ignore[override]
        """In groups it is always drawn alike."""
        return self.by is None

    def form(self, terms: Terms) -> Form:
        """What is released."""
        return form_of(Moments(self.column, self.lattice, 1, self.by), terms, self.full)

    def look(self, terms: Terms) -> Measurement:
        """One or two integers, or two for each group."""
        return self.form(terms).look(terms)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the ratio, within the public bounds whatever the noise was."""
        form, noise = self.form(terms), noise_of(look)
        pairs, law = form.features(noisy), form.law(noise)
        error = Ratio(pairs, law, self.lattice, self.kind, self.labels is None, form.row)
        values = [self.of_cell(pair, form.row) for pair in pairs]
        seen = known(pairs, law)
        value, notes = of_known(values, pairs, form.row, law, self.labels, self.column, seen)
        return Answer(value, noise.name, error, (*notes, *self.notes(pairs, form.row, law, seen)))

    def notes(self, features: Sequence[Sequence[int]], row: int, noise: Law, seen: Bools) -> tuple[Caution, ...]:
        """What means with rows to speak of say: that one is, or may be, at an end of the bounds, or nothing is known of any."""
        known_of = [one for one, enough in zip(features, seen, strict=True) if enough]
        if self.kind.name == "bool" or not known_of:
            return ()
        lower, upper, whole = at_ends(known_of, noise, LEVEL)  # falsely, 1 % off a bound, with 2.2 to 2.9 % as measured
        if whole.all():
            return (WHOLE,)
        named = " and ".join(name for at, name in ((lower.any(), "lower"), (upper.any(), "upper")) if at)
        sums = [(one[0] + sum(one[2:]) / 2, max(sum(one), row)) for one in known_of]  # from the lower bound, and all
        cut = any(part <= 0 or part >= all_of for part, all_of in sums)
        return (Caution(AT_END.format(named)),) if named else (CUT,) * cut

    def none_seen(self, noise: Law) -> Caution:
        """What is said of groups that have no mean."""
        return none_seen(noise, 2, self.lattice.cells, grouped=True)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of one row over the number of rows."""
        form, unit = self.form(terms), Unit.of(self.kind)
        noise, step = noise_of(form.look(terms)), form.step_of_sum * self.lattice.step
        what = "the sum over the public number of rows" if form.public else "two sums, with the mean as their ratio"
        scale, size = f"{unit.scale(noise, step)}, on {what}", self.error_of_one_row(terms, LEVEL)
        return unit.over_rows(noise.name, scale, size, *terms.known(rows, self.by))

    def error_of_one_row(self, terms: Terms, level: float) -> float:
        """Error of a mean of one row at an end of the bounds, where it is largest; with n rows an n-th of it, see `Ratio`."""
        form = self.form(terms)
        return (form.law(noise_of(form.look(terms))).tail(level) + 1) * float(self.lattice.width / form.row)

    def epsilon_over_rows(self, wanted: Accuracy, terms: Terms, rows: int) -> Fraction:
        """Least epsilon for a wanted error with about so many rows that hold a value, a public number."""
        of_sum, duration = replace(wanted, within=wanted.within * rows), self.kind.name in ("datetime", "timedelta")
        return terms.least(lambda at: self.error_of_one_row(at, wanted.level), of_sum, duration)

    def of_cell(self, cell: Sequence[int], row: int | None = None) -> Any:
        """Return lower + width F1 / max(n, 1 row), the quotient cut to [0, 1]: one quotient of integers."""
        low, cells = self.lattice.low, self.lattice.cells
        n = max(sum(cell), row or cells)
        inside = min(max(cell[0], 0), n)
        top, bottom = self.lattice.step.as_integer_ratio()
        return self.kind.ratio(top * (low * n + cells * inside), bottom * n)

    def error_of_cell(self, cell: Sequence[int], noise: Law) -> Ratio:
        """That of the mean of one part; of several together nothing is told of a population."""
        row = self.lattice.cells if isinstance(noise, Noise) else 0
        return Ratio(((cell[0], cell[1]),), noise, self.lattice, self.kind, row=row)


@dataclass(frozen=True)
class Variance(SingleLook):
    """Variance, or its square root, of a column clipped to [a, b], in all or by group.

    With y in [-1, 1] the rescaled value, the features (1+y)^2/4, (1-y)^2/4 and (1-y^2)/2 are non-negative and add up
    to 1 a row (Fitzsimons, Honaker, Shoemate, Singhal 2024). From their noisy sums F1, F2, F3: n = F1 + F2 + F3,
    sum y = F1 - F2, sum y^2 = F1 + F2 - F3. With ddof = 1 the factor n/(n - 1) uses the noisy n. Where n is public and the
    column `full` they are made of the two sums: see `form_of`.
    """

    column: str
    lattice: Lattice
    kind: Kind
    ddof: int = 1
    root: bool = False
    by: Partition | None = None
    labels: Labels | CrossLabels | None = None
    full: bool = False

    version = 3

    @property
    def weighs(self) -> bool:  # type: ignore[override]
        """In groups rows are drawn."""
        return self.by is None

    @property
    def by_rows(self) -> bool:  # type: ignore[override]
        """In groups it is always drawn alike."""
        return self.by is None

    @property
    def own_unit(self) -> bool:  # type: ignore[override]
        """Squares of it."""
        return not self.root

    def form(self, terms: Terms) -> Form:
        """What is released."""
        return form_of(Moments(self.column, self.lattice, 2, self.by), terms, self.full)

    def look(self, terms: Terms) -> Measurement:
        """Two or three integers, or three for each group."""
        return self.form(terms).look(terms)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the variance within [0, (b - a)^2/4] (with ddof = 1 at most twice that)."""
        form, noise = self.form(terms), noise_of(look)
        triples, law = form.features(noisy), form.law(noise)
        values = [self.spread(triple, form.row) for triple in triples]
        value, notes = of_known(values, triples, form.row, law, self.labels, self.column, known(triples, law))
        return Answer(value, noise.name, self.error(triples, law, form.row), notes)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Error of at most t' step^2 / n to the first order, t' the noise of a feature, or of a convex combination of them.

        With shares p = F3 / n and d = (F1 - F2) / n the derivatives of the f of `Spread` are 2 (p - d + d^2) / n,
        2 (p + d + d^2) / n and -2 (1 - p - d^2) / n; as |d| <= 1 - p the sum of their sizes is at most 4 / n. A variance is
        f (width / 2)^2, and a row adds T steps of the noise.
        """
        form = self.form(terms)
        noise, square = noise_of(form.look(terms)), self.lattice.width**2
        step = square / form.moments.row_total
        scale = f"{PLAIN.scale(noise, step)}, on the sums that give the variance"
        size = (form.law(noise).tail(LEVEL) + 1) * float(square / form.row)
        known, of, groups = terms.known(rows, self.by)
        if not self.root:
            return PLAIN.over_rows(noise.name, scale, size, known, of, groups)
        # the error of a root is that of the variance over twice the root itself, which only the answer tells
        if known:
            half = size / 2 / known
            all_of = PLAIN.in_all(half, known, groups).replace(" with", " / standard deviation with")
            error = f"at most about ± {PLAIN.text(half)} / standard deviation, with {known:,} rows{of}{all_of} {AT}"
        else:
            error = f"at most about ± {PLAIN.text(size / 2)} / (rows{of} × standard deviation) {AT}; {SAY}"
        return ExpectedError(noise.name, scale, error)

    def error(self, triples: tuple[Any, ...], noise: Law, row: int) -> Spread:
        """Of the answers from three noisy features each."""
        scale, scalar = float((self.lattice.width / 2) ** 2), self.labels is None
        return Spread(triples, row, noise, scale, self.ddof, self.root, scalar, self.lattice)

    def spread(self, features: Sequence[int], row: int) -> float:
        """The answer from three noisy features."""
        f1, f2, f3 = features
        n = max(f1 + f2 + f3, row)
        share = Fraction(f1 + f2 - f3, n) - Fraction(f1 - f2, n) ** 2
        value = min(max(share, Fraction(0)), Fraction(1)) * (self.lattice.width / 2) ** 2
        if self.ddof:
            rows = max(Fraction(n, row), Fraction(2))
            value *= rows / (rows - 1)
        return math.sqrt(value) if self.root else float(value)


@dataclass(frozen=True)
class Sum(SingleLook):
    """Sum of a column clipped to the public bounds, in all or by group; rows without a value add nothing.

    Of a unit's rows the total counts, which is cut: see `Total`.
    The answer is the noisy integer sum on the lattice, scaled back: a float (a Timedelta for durations).
    """

    column: str
    lattice: Lattice
    kind: Kind
    by: Partition | None = None
    labels: Labels | CrossLabels | None = None

    sums = True
    own_unit = True

    @property
    def version(self) -> int:  # type: ignore[override]
        """By group a unit's total counts since the third."""
        return 1 if self.by is None else 3

    def look(self, terms: Terms) -> Measurement:
        """One integer, or one for each group."""
        return terms.noised(Total(self.column, self.lattice, self.by))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Scale the noisy integers back."""
        noise = noise_of(look)
        values, error = [self.of_cell([total]) for total in noisy], self.error_of_cell([], noise)
        if self.labels is None:
            return Answer(values[0], noise.name, error)
        return Answer(pd.Series(values, index=self.labels.index(), name=self.column), noise.name, error)

    def of_cell(self, cell: Noisy) -> Any:
        """The sum of one part."""
        top, bottom = self.lattice.step.as_integer_ratio()
        return self.kind.ratio(cell[0] * top, bottom)

    def error_of_cell(self, cell: Noisy, noise: HalfWidth) -> Additive:
        """That of every part alike."""
        return Additive(noise, self.lattice.step, self.kind)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise of each sum."""
        each = "" if self.labels is None else "each "
        return Unit.of(self.kind).noisy(noise_of(self.look(terms)), self.lattice.step, each)

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the noise's half-width."""
        step, duration = self.lattice.step, self.kind.name == "timedelta"
        return terms.least(lambda offer: noise_of(self.look(offer)).half_width(wanted.level) * step, wanted, duration)


def of_known(
    values: list[Any],
    features: Sequence[Sequence[int]],
    row: int,
    noise: Law,
    labels: Labels | CrossLabels | None,
    name: str,
    seen: Bools,
) -> tuple[Any, tuple[Caution, ...]]:
    """One value, or a Series by group, missing where there are too few rows to be `seen`, and a note that says so.

    `row` is what the features of a row add up to.
    """
    notes = () if seen.all() else (none_seen(noise, len(features[0]), row, labels is not None),)
    if labels is not None and not seen.any():
        notes = (*notes, EMPTY)
    if labels is not None:  # with the dtype of the values, also where all are missing
        return pd.Series(values, index=labels.index(), name=name).where(seen), notes
    missing = pd.NaT if isinstance(values[0], pd.Timestamp | pd.Timedelta) else math.nan
    return values[0] if seen[0] else missing, notes


def none_seen(noise: Law, features: int, row: int, grouped: bool) -> Caution:
    """Say of missing values what is known of their rows."""
    rows = least_seen(noise, features, row)
    return few_rows_of(rows / FEW, "no value where a group has too few rows" if grouped else TOO_FEW)


def few_rows_of(least: float, what: str = TOO_FEW) -> Caution:
    """Say it where no value is shown unless a noisy number of rows exceeds `least`."""
    return Caution(f"{what}: {math.ceil(FEW * least):,} or more would have given one with 99 % probability")

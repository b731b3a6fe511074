"""Counts, sums and means by two columns as a table: what is paid for are the cells, all else is computed from them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.base import PLAIN, Answer, ExpectedError, SingleLook, Terms, as_question, noise_of
from pandas_dp.aggregates.count import CountBy
from pandas_dp.aggregates.distinct import SumOf, quotient_ends, sampled_shares
from pandas_dp.aggregates.moments import EMPTY, Mean, Sum, none_seen
from pandas_dp.aggregates.rotated import known, level_of_few, threshold
from pandas_dp.aggregates.uncertainty import LEVEL, Additive, EachOf, Ends, ErrorModel
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.facts.kinds import is_missing
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.facts.numbers import Accuracy

ALL = "All"  # as pandas calls its margins
Cells = NDArray[Any]


@dataclass(frozen=True)
class Share:
    """Share of a sum C of n noisy cells in the sum T of m cells, those n among them.

    For the true share p the sum C - p T is noise alone: n cells with weight 1 - p and m - n with weight -p. So
    (C / T - p)^2 <= t^2 (n (1 - p)^2 + (m - n) p^2) with the wanted probability, t that of `Noise.combined` over T: a
    quadratic inequality in p, whose solutions are an interval if t^2 m < 1. Where not, nothing is known of the share.
    Source: Fieller 1954. A part, or the rest of the whole, below 0 counts as 0: see `mean_of_two`. Of a whole without rows to
    speak of there is no share, and close to that the level is higher: see `Accepted`.
    """

    part: int
    whole: int
    terms: tuple[int, int]
    noise: Noise
    of_sample: bool = False

    @property
    def population(self) -> Share:
        """The share in the population of which the rows are a sample: see `sampled_shares`."""
        return replace(self, of_sample=True)

    @property
    def value(self) -> float:
        """The quotient of the noisy sums; NaN where the whole has no rows to speak of."""
        if self.terms[0] == self.terms[1]:
            return 1.0
        return float(Fraction(self.part, self.whole)) if self.known else math.nan

    @property
    def known(self) -> bool:
        """Whether the whole has rows to speak of."""
        return self.whole > self._least

    @property
    def _least(self) -> float:
        return threshold(SumOf(self.noise, self.terms[1]), 1)

    def bounds(self, value: Any, level: float) -> Ends:
        """Ends of the interval, within [0, 1] unless the value is not."""
        n, m = self.terms
        if n == m:
            return value, value
        low, high = 0.0, 1.0
        part, level = max(self.part, 0), level_of_few(self.whole, self._least, level)
        whole = part + max(self.whole - self.part, 0)
        if self.known:  # as shares of the whole, which may be larger than any float
            unit = float(Fraction(self.noise.combined(level)) / whole)
            ends = quotient_ends(np.array([part / whole]), np.ones(1), unit, n, n, m, (0, 1))
            (low,), (high,) = (end.tolist() for end in ends)
        if self.of_sample:
            sums = np.array([float(part)]), np.array([float(whole)])
            (least,), (most,) = sampled_shares(*sums, self.noise, self.terms, level)
            low, high = np.fmin(low, least) + 0 * least, np.fmax(high, most) + 0 * most  # missing where these are
        return (low, high) if math.isnan(value) else (min(low, value), max(high, value))


@dataclass(frozen=True)
class CellErrors:
    """One model for each cell of a table, by column."""

    columns: tuple[Hashable, ...]
    models: tuple[tuple[ErrorModel, ...], ...]

    @classmethod
    def of(cls, columns: pd.Index[Any], rows: Sequence[Sequence[ErrorModel]]) -> CellErrors:
        """Of a table of models, row by row."""
        return cls(tuple(columns), tuple(zip(*rows, strict=True)))

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {None if is_missing(label) else label: place for place, label in enumerate(self.columns)}

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for one column of the table, which its name tells."""
        place = self._places[None if is_missing(value.name) else value.name]
        return EachOf(self.models[place]).bounds(value, level)


@dataclass(frozen=True, repr=False)
class CrossTable(SingleLook):
    """The answers of a question about all cells of two columns, as a table.

    Margins are sums of the noisy cells, so they agree with them, and normalised cells are shares of such sums: both are
    computed from what was released, at no price. So the name under which the answer is stored is that of the question: the
    same noisy integers, bought once, are shown in every way, also as the answer by groups.

    Parameters
    ----------
    question : CountBy, Sum or Mean
        By a `Cross` of two columns, all of whose combinations are parts.
    margins : bool
        One more row and column for the sums of the others, as pandas.crosstab has them.
    normalize : {"all", "index", "columns"} or None
        Counts as shares of all, of their row or of their column.
    """

    question: CountBy | Sum | Mean
    margins: bool = False
    normalize: str | None = None

    def __repr__(self) -> str:
        """That of the question: see above."""
        return repr(self.question)

    @property
    def counts_rows(self) -> bool:  # type: ignore[override]
        """As its question; shares are none."""
        return self.question.counts_rows and self.normalize is None

    version, sums = as_question("version"), as_question("sums")

    @property
    def drawing(self) -> str:  # type: ignore[override]
        """Margins are sums of the other cells."""
        return "cells and sums" if self.margins else "cells"

    @property
    def rows(self) -> Labels:
        """Labels of the first column."""
        return self._labels[0]

    @property
    def columns(self) -> Labels:
        """Labels of the second column."""
        return self._labels[1]

    @property
    def _labels(self) -> tuple[Labels, ...]:
        return cast("tuple[Labels, ...]", cast("CrossLabels", self.question.labels).factors)

    def look(self, terms: Terms) -> Measurement:
        """That of the question."""
        return self.question.look(terms)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the cells as a DataFrame."""
        found, noise = self.question.answer(noisy, look, terms), noise_of(look)
        shape = len(self.rows), len(self.columns)
        sums = np.array(noisy, dtype=object).reshape(*shape, -1)  # shape (rows, columns, numbers of a cell)
        counts = np.ones((*shape, 1), dtype=object)  # cells that each sum is made of
        sums, counts = _with_margins(sums, self._summed), _with_margins(counts, self._summed)
        rows, columns = (self._index(axis, labels) for axis, labels in enumerate((self.rows, self.columns)))
        if self.normalize is not None:
            shares = self._shares(sums[:, :, 0], counts[:, :, 0], noise)
            values, error = [[s.value for s in row] for row in shares], CellErrors.of(columns, shares)
            of = [s.terms[1] for row in shares for s in row if not s.known]  # cells of each whole with too few rows
            few = () if not of else (none_seen(SumOf(noise, max(of)), 1, 1, grouped=self.normalize != "all"),)
            return Answer(_table(values, rows, columns), noise.name, error, (*few, *found.notes))
        table = _table([[self.question.of_cell(cell) for cell in row] for row in sums.tolist()], rows, columns)
        pairs = [list(zip(*row, strict=True)) for row in zip(sums.tolist(), counts.tolist(), strict=True)]
        notes = found.notes
        if isinstance(self.question, Mean):
            seen = np.array([[bool(known([cell], SumOf(noise, terms))[0]) for cell, (terms,) in row] for row in pairs])
            table = table.where(seen)
            if self.margins and not seen.all():  # that of the margin of the most cells, which has the largest noise
                told = (self.question.none_seen(noise), *(EMPTY,) * bool(seen.any()))
                kept = (note for note in notes if note not in told)
                notes = (self.question.none_seen(SumOf(noise, int(counts.max()))), *kept)
        if not self.margins and isinstance(found.error, Additive):  # of every cell alike
            return Answer(table, noise.name, found.error, notes)
        models = [
            [self.question.error_of_cell(cell, noise if terms == 1 else SumOf(noise, terms)) for cell, (terms,) in row]
            for row in pairs
        ]
        return Answer(table, noise.name, CellErrors.of(columns, models), notes)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Errors of cells; of shares to the first order, see `Share`: its weights have a length of at most sqrt(m) there."""
        found = self.question.expected(terms, rows)
        if self.normalize is not None:
            height, width = len(self.rows), len(self.columns)
            of_all = (height * width, "")
            cells, of = {"index": (width, " of a row"), "columns": (height, " of a column")}.get(self.normalize, of_all)
            size = noise_of(self.look(terms)).combined(LEVEL) * math.sqrt(cells)
            known = rows if of else terms.about(rows)
            found = PLAIN.over_rows(found.mechanism, found.scale, size, known, of, about="each share at most about")
        notes = ("All: sums of noisy cells, with a larger error",) if self.margins else ()
        return replace(found, notes=(*found.notes, *notes))

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """That of the question: each cell is as accurate as wanted."""
        return super().epsilon_for(wanted, terms) if self.normalize else self.question.epsilon_for(wanted, terms)

    def cells(self, table: pd.DataFrame, error: Any) -> tuple[NDArray[np.int64], Noise] | None:
        """Counts of an answer without its margins, and their noise; None of what are no counts."""
        if self.normalize is not None or not isinstance(self.question, CountBy):
            return None
        first: Any = error.models[0][0] if isinstance(error, CellErrors) else error
        if not isinstance(first, Additive):  # of a table that was reconciled
            return None
        noise: Any = first.noise
        body = table.iloc[: len(self.rows), : len(self.columns)].to_numpy(dtype=np.int64)
        return body, noise.noise if isinstance(noise, SumOf) else noise

    @property
    def _summed(self) -> tuple[int, ...]:
        """Axes along which there are margins: as in pandas, shares of rows have no column of them, since it would be 1."""
        if not self.margins:
            return ()
        return {"index": (0,), "columns": (1,)}.get(self.normalize or "all", (0, 1))

    def _index(self, axis: int, labels: Labels) -> pd.Index[Any]:
        index = labels.index()
        if axis not in self._summed:
            return index
        dtype = index.dtype if isinstance(index.dtype, pd.StringDtype) else object
        return pd.Index([*index, ALL], dtype=dtype, name=index.name, tupleize_cols=False)

    def _shares(self, sums: Cells, counts: Cells, noise: Noise) -> list[list[Share]]:
        """Each cell, and each margin, in the sum of its row, of its column or of all."""
        body = slice(0, len(self.rows)), slice(0, len(self.columns))
        axis = {"index": 1, "columns": 0}.get(self.normalize or "all")
        whole, of = (np.broadcast_to(_total(cells, body, axis), cells.shape) for cells in (sums, counts))
        cells = zip(*(part.tolist() for part in (sums, whole, counts, of)), strict=True)
        return [[Share(c, t, (n, m), noise) for c, t, n, m in zip(*row, strict=True)] for row in cells]


def _table(rows: list[list[Any]], index: pd.Index[Any], columns: pd.Index[Any]) -> pd.DataFrame:
    """A DataFrame whose dtypes follow from the values alone, column by column."""
    table = pd.concat([pd.Series(column, index=index) for column in zip(*rows, strict=True)], axis=1)
    table.columns = columns
    return table


def _with_margins(cells: Cells, axes: tuple[int, ...]) -> Cells:
    """Append the sums along each axis."""
    for axis in axes:
        cells = np.concatenate((cells, cells.sum(axis=axis, keepdims=True)), axis=axis)
    return cells


def _total(cells: Cells, body: tuple[slice, slice], axis: int | None) -> Cells:
    """Sums along an axis, or of all, of the cells that are no margins."""
    if axis is None:
        return np.asarray(cells[body].sum(), dtype=object)
    inner = cells[:, body[1]] if axis == 1 else cells[body[0]]
    return np.asarray(inner.sum(axis=axis, keepdims=True))

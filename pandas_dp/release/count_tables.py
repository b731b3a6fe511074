"""Answers that are counts of the same rows by some columns, and what makes them consistent; see `reconcile`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.aggregates import consistent
from pandas_dp.aggregates.consistent import Fit, Floats, Noisy
from pandas_dp.aggregates.count import Count, CountBy
from pandas_dp.aggregates.cross_tables import CrossTable
from pandas_dp.aggregates.uncertainty import Additive, Ends, NoError
from pandas_dp.aggregates.weighted_noise import CellNoise, Law, half_width
from pandas_dp.aggregates.whole_numbers import whole as whole_numbers
from pandas_dp.core.partition import Bins, Cross, Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.release.base import Release
from pandas_dp.release.values import Vector

LINE = "pandas_dp.reconcile([by_sex, by_sex_and_income])"
TABLES = "count(), histogram(...), value_counts(keys=[...]), groupby(..., keys=...).size(), crosstab(...)"
OTHER, NULL = ("other",), ("null",)  # parts of a column beside its keys or bins
MOST_CELLS = 1500  # of tables whose parts differ, which are solved as a whole
MOST_COLUMNS = 8  # of one table: all sets of them are gone through


@dataclass(frozen=True)
class Settled:
    """The error of one cell.

    Attributes
    ----------
    law : Law
    unbiased : float or None
        Where the value was moved so that no cell is negative: what it was before, which its interval is around, cut at 0.
    """

    law: Law
    unbiased: float | None = None

    def bounds(self, value: Any, level: float) -> Ends:
        """Ends of the interval."""
        half = half_width(self.law, level)
        if self.unbiased is None:
            return value - half, value + half
        return max(self.unbiased - half, 0.0), max(self.unbiased + half, 0.0)


def ends_of(values: Floats, errors: Sequence[Settled], level: float) -> Floats:
    """Ends of the intervals of many cells, shape (cells, 2); often they have one law."""
    halves = {id(law): half_width(law, level) for law in {id(error.law): error.law for error in errors}.values()}
    half = np.array([halves[id(error.law)] for error in errors])
    before = np.array([math.nan if error.unbiased is None else error.unbiased for error in errors])
    around = np.where(np.isnan(before), values, before)
    ends: Floats = np.column_stack([around - half, around + half])
    ends[~np.isnan(before)] = np.maximum(ends[~np.isnan(before)], 0)
    return ends


@dataclass(frozen=True, eq=False)
class Table:
    """One of the answers, as counts by columns: keys, or bins, and the labels of each."""

    release: Release
    by: dict[str, Keys | Bins]
    labels: dict[str, Labels]
    counts: Floats
    noise: CellNoise

    @property
    def draw(self) -> tuple[Any, ...]:
        """The same for two answers that hold one draw of noise: a question asked again, or shown in another way."""
        origin = self.release._provenance
        return origin.entry, repr(origin.query.aggregate), self.counts.tobytes()

    def incomplete(self, complete: Iterable[str]) -> frozenset[tuple[Any, ...]]:
        """Columns by which rows may count nowhere, with the parts in which they count."""
        return incomplete(self.by, complete, (self.release._provenance.content or ((),))[-1])


def incomplete(by: dict[str, Keys | Bins], complete: Iterable[str], nulls: Iterable[Any]) -> frozenset[tuple[Any, ...]]:
    """Columns by which rows may count nowhere; `nulls` are the schema's rules, by which what is missing counts as a value."""
    filled = {name for name, _ in nulls}
    every = {name: part for name, part in by.items() if name not in complete}
    some = {name: part for name, part in every.items() if not (part.other and (part.null or name in filled))}
    return frozenset((name, frozenset(parts_of(part))) for name, part in some.items())


@dataclass(frozen=True, eq=False)
class Group:
    """Tables of the same rows, and what fits them."""

    columns: tuple[str, ...]
    tables: list[Table]
    places: list[int]  # of the tables in the fit, where one draw stands once
    used: list[tuple[NDArray[np.intp], ...]]  # by axis, where rows can count at all: there are no others in the fit
    fit: Fit
    cells: list[Floats]
    zero: list[tuple[Floats, CellNoise]]  # the others
    apart: int  # columns by which rows may count nowhere
    found: bool  # whether tables without negative cells were, where these were asked for
    whole: bool  # whether cells are whole numbers

    @property
    def moved(self) -> bool:
        """Whether cells were moved so that none is negative."""
        return self.cells is not self.fit.fitted

    def margin(self, table: Table, kept: Sequence[str]) -> tuple[Floats, list[Settled]]:
        """Values by some columns, one axis for each, and the errors of the cells in their order."""
        place = self.places[self.tables.index(table)]
        own = self.fit.tables[place].columns
        rising = tuple(sorted(self.columns.index(name) for name in kept))
        order = [rising.index(self.columns.index(name)) for name in kept]
        beside = tuple(axis for axis, column in enumerate(own) if column not in rising)
        fitted, unbiased = (made[place].sum(axis=beside) for made in (self.cells, self.fit.fitted))
        moved = self.moved
        laws, around = self.fit.laws(place, rising), unbiased.ravel().tolist()
        shape = [len(table.labels[self.columns[column]]) for column in rising]
        every = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        counted = every[np.ix_(*(self.used[place][own.index(column)] for column in rising))].ravel().tolist()
        values: Any = np.zeros(every.size)
        errors = [Settled(Law())] * every.size
        values[counted] = fitted.ravel()
        made = {id(law): Settled(law) for law in laws}  # often all cells have one
        for at, law, x in zip(counted, laws, around, strict=True):
            errors[at] = Settled(law, x) if moved else made[id(law)]
        values = values.astype(np.int64 if self.whole else np.float64)
        return values.reshape(shape).transpose(order), [errors[at] for at in every.transpose(order).ravel()]


def table_of(place: int, release: Release) -> Table:
    """An answer as a table of counts."""
    asked, error = release.query.aggregate, release._provenance.error
    question = question_of(asked)
    if question is None:
        raise ArgumentTypeError(f"answer {place} is no table of counts by listed keys or bins: ask {TABLES}")
    if isinstance(error, NoError) and error.typed:
        raise ArgumentTypeError(f"answer {place} is a number that was typed, rows=, and never counted: leave it out")
    by, labels = factors_of(question), [] if isinstance(question, Count) else _factors(question.labels)
    counts, noise = _cells(release, asked, error)
    if by is None or counts is None:
        raise ArgumentTypeError(
            f"answer {place} is not as it was released, or counts combinations that were listed one by one: reconcile the "
            f"answers themselves, by keys of each column: {LINE}"
        )
    names = [factor.column for factor in by]
    if len({*names}) < len(names) or len(names) > MOST_COLUMNS:
        raise ArgumentTypeError(f"answer {place} must be by at most {MOST_COLUMNS} different columns: {LINE}")
    shaped = np.asarray(counts, dtype=np.float64).reshape([factor.count for factor in by])
    factors, known = dict(zip(names, by, strict=True)), dict(zip(names, labels, strict=True))
    return Table(release, factors, known, shaped, CellNoise.of(noise))


def question_of(asked: Any) -> Count | CountBy | None:
    """The question about counts of rows that an aggregate is; None for all others."""
    question = asked.question if isinstance(asked, CrossTable) and asked.normalize is None else asked
    return question if isinstance(question, Count | CountBy) and question.column is None else None


def factors_of(question: Count | CountBy) -> Any:
    """Its columns, each with its keys or bins; None where not all combinations are parts."""
    return [] if isinstance(question, Count) else _factors(question.by)


def _factors(by: Any) -> Any:
    """The columns of a partition, or of its labels; None where not all combinations are parts."""
    if not isinstance(by, Cross | CrossLabels):
        return [by]
    factors = [_factors(factor) for factor in by.factors]
    return None if by.allowed is not None or None in factors else [one for some in factors for one in some]


def _cells(release: Release, asked: Any, error: Any) -> tuple[Any, Any]:
    """The noisy counts of an answer in the order of its parts, and their noise: None for none."""
    value = release.value
    if isinstance(release, Vector) and release._changed():
        return None, None
    if isinstance(asked, CrossTable):
        return asked.cells(value, error) or (None, None)
    if isinstance(error, NoError):
        return value, None
    if not isinstance(error, Additive):
        return None, None
    if isinstance(asked, CountBy):
        places = value.index.get_indexer(asked.labels.index())
        value = value.to_numpy()[places] if (places >= 0).all() else None
    return value, error.noise


def promised_of(complete: Any, tables: Sequence[dict[str, Keys | Bins]]) -> frozenset[str]:
    """Columns that the caller promises to be complete."""
    if not isinstance(complete, list | tuple | set | frozenset) or not all(isinstance(name, str) for name in complete):
        raise ArgumentTypeError("complete is a list of columns: complete=['sex']")
    for name in complete:
        factors = [by[name] for by in tables if name in by]
        if not factors:
            raise ArgumentValueError(f"no table is by {name!r}: leave it out of complete=")
        covered = {frozenset(by.keys if isinstance(by, Keys) else by.edges[:: by.bins]) for by in factors}
        if len(covered) > 1:
            raise ArgumentValueError(
                f"complete={[name]}: the tables list different keys of {name!r}, or bins with other ends, so rows outside of "
                "one lie in another: ask them with other=True and null=True"
            )
    return frozenset(complete)


def parts_of(by: Keys | Bins) -> list[Any]:
    """What tells two partitions of a column apart: keys, or edges; then the parts beside them."""
    own: tuple[Any, ...] = by.edges if isinstance(by, Bins) else tuple(("key", key) for key in by.keys)
    return [*own, *[OTHER] * by.other, *[NULL] * by.null]


def _finest(name: str, tables: list[Table], promised: frozenset[str]) -> list[Any]:
    """The finest parts of a column; where all rows lie in parts of each table, those beside its keys are in all of them."""
    factors = [table.by[name] for table in tables if name in table.by]
    if len({isinstance(by, Bins) for by in factors}) > 1:
        raise ArgumentTypeError(
            f"{name!r} is listed by keys in one table and by bins in another: ask both in the same way"
        )
    some = all if name in promised else any
    beside = [part for part in (OTHER, NULL) if some(part in parts_of(by) for by in factors)]
    own = dict.fromkeys(part for by in factors for part in parts_of(by) if part not in (OTHER, NULL))
    return [*(pairwise(sorted(own)) if isinstance(factors[0], Bins) else own), *beside]


def _places(by: Keys | Bins, finest: list[Any]) -> NDArray[np.intp]:
    """Where each of the finest parts of a column counts in one table."""
    if isinstance(by, Bins):
        known: dict[Any, int] = {}
        for part in finest:
            if part not in (OTHER, NULL) and by.edges[0] <= part[0] < by.edges[-1]:
                known[part] = int(np.searchsorted(by.edges, part[0], side="right")) - 1
        size = by.bins
    else:
        known, size = {("key", key): place for place, key in enumerate(by.keys)}, len(by.keys)
    known[NULL] = by.count - 1
    return np.array([known.get(part, size) for part in finest], dtype=np.intp)


def _whole(fit: Fit, cells: list[Floats]) -> list[Floats]:
    """The same as whole numbers."""
    if isinstance(fit, consistent.Equations):
        raise ArgumentValueError(
            "whole= takes tables that have the same keys or bins wherever they share a column: leave the others out"
        )
    found = whole_numbers(list(zip((one.columns for one in fit.tables), cells, strict=True)))
    if found is None:
        raise ArgumentValueError(
            "whole numbers with equal margins need not exist for these tables: three or more of them share columns in a ring, "
            "as (a, b), (b, c), (a, c) do within (a, b, c). Leave whole= out, or one of them"
        )
    return found


def group_of(tables: list[Table], promised: frozenset[str], nonnegative: bool, whole: bool) -> Group:
    """Fit tables of the same rows; a draw that two of them show counts once."""
    columns = tuple(dict.fromkeys(name for table in tables for name in table.by))
    finest = {name: _finest(name, tables, promised) for name in columns}
    draws = list(dict.fromkeys(table.draw for table in tables))
    fitted, used, zero = [], [], []
    for table in (next(t for t in tables if t.draw == draw) for draw in draws):
        names = sorted(table.by, key=columns.index)
        counts = table.counts.transpose([[*table.by].index(name) for name in names])
        groups = [_places(table.by[name], finest[name]) for name in names]
        # in the order of the finest parts, where each has a place of its own
        own = [group if len(np.unique(group)) == len(group) else np.unique(group) for group in groups]
        groups = [
            np.argsort(mine)[np.searchsorted(np.sort(mine), group)] for mine, group in zip(own, groups, strict=True)
        ]
        numbers = tuple(columns.index(name) for name in names)
        fitted.append(Noisy(numbers, counts[np.ix_(*own)], tuple(groups), table.noise))
        rest = np.ones(counts.shape, dtype=bool)
        rest[np.ix_(*own)] = False
        if rest.any():
            zero.append((counts[rest], table.noise))
        used.append(tuple(own))
    exact = {float(one.counts.sum()) for one in fitted if not one.noise.variance}
    if len(exact) > 1:
        raise ArgumentValueError("two public numbers of rows differ: leave one out")
    fit = consistent.fit(fitted, [len(finest[name]) for name in columns])
    if isinstance(fit, consistent.Equations) and sum(one.counts.size for one in fitted) > MOST_CELLS:
        raise ArgumentValueError(
            f"tables with different keys or bins of one column can have {MOST_CELLS:,} cells together: reconcile fewer, or ask "
            "them with the same keys and bins"
        )
    cells, found = consistent.without_negative(fit) if nonnegative else (fit.fitted, True)
    if whole:
        cells = _whole(fit, cells)
    apart = len(tables[0].incomplete(promised))
    places = [draws.index(table.draw) for table in tables]
    return Group(columns, tables, places, used, fit, cells, zero, apart, found, whole)

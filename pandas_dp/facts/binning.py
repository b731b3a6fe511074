"""Checking bins of a column: edges that are listed, or equal ones between bounds. Nothing here sees a row."""

from __future__ import annotations

from collections.abc import Sized
from fractions import Fraction
from functools import lru_cache
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.core.partition import Bins
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.as_text import of_dates, of_text
from pandas_dp.facts.call import QUESTION
from pandas_dp.facts.checks import BINS, GROUPS, KEYS, MOST_KEPT, MOST_PARTS, REVERSED, ends
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.numbers import flag, positive_int
from pandas_dp.facts.public_only import PERIODS, entries, listed, plain_entries
from pandas_dp.facts.schema import ColumnFacts

COUNTED = (QUESTION, "histogram")
NO_BOUNDS = (("bounds", ""), ("range", ""))


def bins(
    edges: Any, other: bool, null: bool, kind: Kind, call: str, column: str, line: Line | None = None
) -> tuple[Bins, Labels]:
    """Bins between edges, or those that are the index of an answer; `line` is what to type instead."""
    other, null = flag(other, "other"), flag(null, "null")
    example = BINS.get(kind.name, BINS["number"])
    if not kind.numeric:
        if of_dates(edges):
            raise ArgumentTypeError(f"bins of dates need a column of dates{of_text(kind, column, edges)}")
        moved: tuple[tuple[str, str], ...] = (("bins", ""), ("keys", "=bins"), *NO_BOUNDS)
        if not listed(edges) or any(isinstance(edge, Number) for edge in entries(edges, "bins")):
            moved = (("bins", ""), ("keys", KEYS["key"]), *NO_BOUNDS)
        if call == "ecdf":  # there is no order among texts
            moved = (COUNTED, *moved)
        keyed = Line(f"histogram({column!r}, keys=[...])", moved if line is None else (), of_text(kind, column))
        raise keyed.refuse("bins need a column of numbers or dates, other columns need keys")
    line = line or Line(f"{call}({column!r}, bins={example})", (("bins", example),))
    if isinstance(edges, pd.PeriodIndex):
        raise Line(f"groupby({column!r}, bins={PERIODS}).size()", GROUPS).refuse("periods are bins of groups")
    edges = edges_of(edges)
    if isinstance(edges, pd.IntervalIndex):
        raise line.refuse(
            "intervals as bins must be closed on the left, and each must begin where the one before it ends"
        )
    if not listed(edges):
        raise line.refuse("bins must be the list of public edges, not their number")
    if isinstance(edges, Sized) and len(edges) > MOST_PARTS + 1:
        raise ArgumentValueError("bins may hold at most 10,000,001 edges, for 10,000,000 bins")
    given = plain_entries(edges)
    if len(given) < 2:
        raise line.refuse("bins needs at least two edges", ArgumentValueError)
    rising = np.asarray(_raw_edges(given, kind))  # of integers or float64: there may be millions
    if not (rising[:-1] < rising[1:]).all():
        raise line.refuse("bins must be in strictly ascending order", ArgumentValueError)
    raw = tuple(rising.tolist())
    make = _binned if len(raw) <= MOST_KEPT else _binned.__wrapped__
    return make(column, raw, isinstance(raw[0], int), other, null, kind)


def equal(bins: Any, bounds: Any, kind: Kind, facts: ColumnFacts, call: str, column: str) -> Any:
    """Edges of a number of equal bins between public bounds; edges that are listed, as they are."""
    line = Line(f"{call}({column!r}, bins=10, bounds=(0, 100))", (("bounds", "(lower, upper)"),))
    if not kind.numeric and of_dates(bounds):
        raise ArgumentTypeError(f"bounds of dates need a column of dates{of_text(kind, column, bounds)}")
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool):
        if bounds is None or (bins is not None and not kind.numeric):
            return bins
        if bins is not None:
            raise Line("leave bounds= out", NO_BOUNDS).refuse("bounds= goes with a number of equal bins")
        if kind.numeric:
            raise Line(line.text, (("bins", "10"),)).refuse("bounds= goes with a number of equal bins")
        keyed = Line(f"histogram({column!r}, keys=[...])", (*NO_BOUNDS, ("keys", KEYS["key"])), of_text(kind, column))
        raise keyed.refuse("bounds need a column of numbers or dates, other columns need keys")
    count = positive_int(bins, "bins")
    if count > MOST_KEPT:
        raise ArgumentValueError(f"at most {MOST_KEPT:,} equal bins can be made from bounds; for more, list the edges")
    lower, upper = ends(bounds, kind, facts, call, line) if kind.numeric else (Fraction(0), Fraction(1))
    if lower >= upper:
        raise line.refuse(REVERSED, ArgumentValueError)
    edges = [lower + (upper - lower) * i / count for i in range(count + 1)]
    made = edges if kind.name in ("number", "bool") else [kind.value(edge) for edge in edges]
    if kind.name != "bool" and len(set(_raw_edges(made, kind))) <= count:
        raise ArgumentValueError(f"{count:,} bins between these bounds are too narrow to tell apart: make fewer")
    return made


def edges_of(bins: Any) -> Any:
    """Edges of intervals [a, b), [b, c), ..., the index of a histogram; anything else as it is."""
    if not isinstance(bins, pd.IntervalIndex) or bins.closed != "left" or not len(bins):
        return bins
    return bins.left.append(bins.right[-1:]) if (bins.left[1:] == bins.right[:-1]).all() else bins


def _raw_edges(given: Any, kind: Kind) -> Any:
    """Edges in the raw unit of the column: all int where all are whole, else all float."""
    types = set() if isinstance(given, np.ndarray) else set(map(type, given))
    if kind.name == "number" and (not types or types in ({int}, {float})):
        # there may be millions, and a fraction of each takes ten times as long; NaN is in no range
        numbers = np.asarray(given)
        if numbers.dtype.kind in "iu" and -(2**63) < numbers.min() <= numbers.max() < 2**63:
            return numbers
        if numbers.dtype.kind == "f" and (np.abs(numbers) < 2**53).all():
            return numbers.astype(np.int64) if (numbers % 1 == 0).all() else numbers + 0.0  # no -0.0
    given = given.tolist() if isinstance(given, np.ndarray) else given
    if kind.name == "number" and types == {int, float} and all(-(2**53) < edge < 2**53 for edge in given):
        whole = all(edge % 1 == 0 for edge in given)
        return tuple(map(int, given)) if whole else tuple(edge + 0.0 for edge in given)
    exact = [kind.number(edge, "bins") for edge in given]
    raw = tuple(int(e) if e.denominator == 1 and abs(e) < 2**63 else float(e) for e in exact)
    return raw if all(isinstance(e, int) for e in raw) else tuple(map(float, raw))


@lru_cache(maxsize=64)
def _binned(
    column: str, raw: tuple[int | float, ...], whole: bool, other: bool, null: bool, kind: Kind
) -> tuple[Bins, Labels]:
    """Partition and labels of checked edges, all int where `whole`, else all float; kept like those of keys."""
    shown = raw if kind.name == "number" else tuple(kind.value(Fraction(edge)) for edge in raw)
    more = (("other",) if other else ()) + ((None,) if null else ())
    return Bins(column, raw, other, null), Labels(column, more, shown)

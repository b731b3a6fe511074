"""Checking arguments against public facts. Nothing here sees a row; every refusal says what to type instead."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.core.lattice import MOST_CELLS, Lattice
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.as_text import of_dates, of_text
from pandas_dp.facts.kinds import DAY, OWN_KEYS, PARTS_OF_A_DAY, Kind, is_missing
from pandas_dp.facts.labels import Labels, one_day
from pandas_dp.facts.numbers import flag, positive_int
from pandas_dp.facts.public_only import entries, listed, plain_entries, python
from pandas_dp.facts.schema import ColumnFacts

MOST_PARTS = 10_000_000
REVERSED = "bounds must have the lower end first and below the upper"
MOST_KEPT = 10_000  # longer lists of keys or edges are not kept from call to call
KEYS = {"key": "['A', 'B']", "number": "[0, 1, 2]", "bool": "[False, True]", "datetime": "['2013-01-31']"}
BINS = {
    "number": "range(0, 101, 10)",
    "datetime": "pd.date_range('2013-01-01', '2014-01-01', freq='MS')",
    "timedelta": "pd.timedelta_range('0h', '24h', freq='1h')",
}
MOST_WHOLE = 1 << 20  # whole numbers between bounds that are all candidates of a quantile
NARROWEST = Fraction(1, 10**250)


def lattice(
    bounds: Any,
    step: Any,
    bits: int,
    kind: Kind,
    facts: ColumnFacts,
    call: str,
    column: str,
    line: Line | None = None,
    unit: Fraction | None = None,
) -> Lattice:
    """Public lattice from bounds=, or the schema's, or the natural ones of a bool column; `line` is what to type instead.

    Without a step its points are multiples of `unit`, which those values are that the column can hold: see `held_step`.
    """
    line = line or Line(f"{call}({column!r}, bounds=(lower, upper))", (("bounds", "(lower, upper)"),))
    lower, upper = ends(bounds, kind, facts, call, line)
    step = step if step is not None else facts.step if bits == RANK_STEP_BITS else None
    if step is None and unit is not None:
        lower, upper, exact_step = held_step(lower, upper, unit, kind)
    else:
        exact_step = None if step is None else Kind.number(_step_kind(kind), step, "step")
    return _lattice(lower, upper, exact_step, bits, line)


def ends(bounds: Any, kind: Kind, facts: ColumnFacts, call: str, line: Line) -> list[Fraction]:
    """Exact ends of bounds=, or of the schema's, or of the natural ones of a bool column."""
    if bounds is None:
        bounds = facts.bounds if facts.bounds is not None else (0, 1) if kind.name == "bool" else None
    if bounds is None or isinstance(bounds, str):
        bought = kind.name == "number" and call in ("sum", "mean", "var", "std", "median", "quantile")
        line = line._replace(
            otherwise=", or let part of this epsilon estimate them: bounds='private'" if bought else ""
        )
        raise line.refuse(f"{call}() needs public bounds, which must not come from the data")
    pair = listed(bounds) and isinstance(bounds, Sequence)
    if not pair or len(bounds) != 2:
        raise line.refuse("bounds must be a pair of numbers", ArgumentValueError if pair else ArgumentTypeError)
    if any(bound is None for bound in bounds):
        raise line.refuse(f"{call}() needs both bounds; median() and quantile() take None for an end")
    return _ends(bounds, kind, line)


def held_step(
    lower: Fraction, upper: Fraction, unit: Fraction, kind: Kind
) -> tuple[Fraction, Fraction, Fraction | None]:
    """Bounds and step for answers that the column can hold, such as whole numbers or days; None where they allow none.

    Whole numbers go one by one up to `MOST_WHOLE`, beyond it in a power of two. Dates and durations go in a part of a day that
    clocks show, not longer than that power of two: midnights are points. Steps in a time zone divide a quarter of an hour.
    """
    if lower >= upper:  # which is refused
        return lower, upper, None
    if kind.name == "number":
        low, high = Fraction(math.ceil(lower)), Fraction(math.floor(upper))
        fits = 1 <= high - low <= MOST_WHOLE and max(abs(low), abs(high)) <= 2**53
        return (low, high, unit) if fits else (lower, upper, None)
    longest = min(Lattice.between(lower, upper, RANK_STEP_BITS).step, 900 * 10**9 if kind.tz is not None else DAY)
    step = max((unit, *(Fraction(part) for part in PARTS_OF_A_DAY if part <= longest)))
    return (lower, upper, step) if step < upper - lower else (lower, upper, None)


def _ends(bounds: Iterable[Any], kind: Kind, line: Line) -> list[Fraction]:
    """Exact ends of bounds."""
    ends = list(bounds)
    if kind.name in ("number", "bool") and any(isinstance(end, str) for end in ends):
        text = line.text.replace("(lower, upper)", "(0, 100)")
        needs = tuple((name, typed.replace("(lower, upper)", "(0, 100)")) for name, typed in line.needs)
        raise line._replace(text=text, needs=needs).refuse("bounds must be a pair of numbers, not of text")
    return [kind.number(end, "bounds") for end in ends]


@lru_cache(maxsize=256)
def _lattice(lower: Fraction, upper: Fraction, exact_step: Fraction | None, bits: int, line: Line) -> Lattice:
    """Check ends and step, all exact, and make the lattice; kept, since a session asks with few of them."""
    if not lower < upper:
        raise line.refuse(REVERSED, ArgumentValueError)
    if upper - lower < max(NARROWEST, max(abs(lower), abs(upper)) / 2**40):
        raise ArgumentValueError("bounds lie too close together; round them outwards")
    if exact_step is not None and (exact_step <= 0 or (upper - lower) / exact_step > MOST_CELLS):
        raise ArgumentValueError("step must be positive and at least 1/2**31 of the distance between the bounds")
    made = Lattice.between(lower, upper, bits, exact_step)
    if made.cells < 1:
        raise ArgumentValueError("step must be smaller than the distance of the bounds")
    return made


RANK_STEP_BITS = 16


def _step_kind(kind: Kind) -> Kind:
    return Kind("timedelta") if kind.name in ("datetime", "timedelta") else Kind("number")


def keys(
    given: Any,
    other: bool,
    null: bool,
    kind: Kind,
    facts: ColumnFacts,
    call: str,
    column: str,
    line: Line | None = None,
) -> tuple[Keys, Labels]:
    """Public keys of a column as partition and as labels; `line` is what to type instead.

    Whether text may be keyed by numbers is not asked: that a column is text alone, and none of objects, follows from its cells.
    """
    other, null = flag(other, "other"), flag(null, "null")
    given = facts.keys if given is None else given
    example = KEYS.get(kind.name, KEYS["key"])
    line = line or Line(f"{call}({column!r}, keys={example})", (("keys", example),))
    if given is None:
        natural = (False, True) if kind.name == "bool" else None
        if natural is None and call == "histogram" and kind.name != "key":
            shown, more = f"{call}({column!r}, bins={BINS[kind.name]})", "; keys=[...] counts single values"
            binned = Line(shown, (("bins", BINS[kind.name]),), more)
            raise binned.refuse(f"{call}() of numbers or dates needs public bins")
        if natural is None:
            raise line.refuse(f"{call}() needs the public list of keys, which must not come from the data")
        given = natural
    if isinstance(given, Mapping) or not listed(given):
        raise line.refuse("keys must be a list")
    given, own = tuple(entries(given, "keys")), OWN_KEYS.get(kind.name, set())
    known = given if own.issuperset(map(type, given)) else tuple(plain(key, kind) for key in given)
    if not known:
        raise line.refuse("keys must not be empty", ArgumentValueError)
    if len(known) > MOST_PARTS:
        raise ArgumentValueError("keys may hold at most 10,000,000 values")
    if len(set(known)) != len(known):
        raise line.refuse("keys must not hold a value twice", ArgumentValueError)
    if other and "other" in known:
        raise ArgumentValueError(
            "keys already hold 'other', the name that other=True gives to the rest: rename that key"
        )
    # equal texts, and equal ints, are the same key; equal values of mixed types are not
    kept = len(known) <= MOST_KEPT and set(map(type, known)) in ({str}, {int})
    return (_keyed if kept else _keyed.__wrapped__)(column, known, other, null)


@lru_cache(maxsize=64)
def _keyed(column: str, known: tuple[Hashable, ...], other: bool, null: bool) -> tuple[Keys, Labels]:
    """Partition and labels of checked keys; kept with the index that the labels make."""
    labels = known + (("other",) if other else ()) + ((None,) if null else ())
    return Keys(column, known, other, null), Labels(column, labels)


def plain(key: Any, kind: Kind) -> Hashable:
    """Return one key as a plain hashable value of the column's kind."""
    if type(key) in OWN_KEYS.get(kind.name, ()):
        return key  # type: ignore[no-any-return]
    key = python(key)
    try:
        hash(key)
    except (TypeError, ValueError):  # the latter of memory that can be written to
        raise ArgumentTypeError("keys must be plain values such as text or whole numbers") from None
    if is_missing(key):
        raise ArgumentValueError(
            "keys must not hold a missing value; null=True counts the missing ones. Keys are listed from public knowledge, "
            "keys=['A', 'B']: those of df['x'].unique() would give the data away"
        )
    if kind.name in ("datetime", "timedelta"):
        return kind.key(one_day(key), "keys")  # type: ignore[no-any-return]
    if kind.name != "key" and isinstance(key, str):
        wanted = "True and False" if kind.name == "bool" else "numbers"
        raise ArgumentTypeError(f"keys of this column must be {wanted}, not text: keys={KEYS[kind.name]}")
    return key  # type: ignore[no-any-return]


def check_facts(facts: ColumnFacts, kind: Kind, column: str) -> None:
    """Refuse facts of a schema that no question about a column of this kind could use."""
    if not kind.numeric and (facts.bounds is not None or facts.step is not None):
        raise ArgumentTypeError(f"bounds and step need numbers or dates; name its keys: {{'keys': {KEYS['key']}}}")
    step = None if facts.step is None else Kind.number(_step_kind(kind), facts.step, "step")
    if step is not None and step <= 0:
        raise ArgumentValueError("step must be positive, such as {'step': 1}")
    if facts.bounds is not None:
        if len(facts.bounds) != 2:
            raise ArgumentValueError("bounds must be a pair: {'bounds': (lower, upper)}")
        ends = [bound for bound in facts.bounds if bound is not None]
        known = iter(_ends(ends, kind, Line("{'bounds': (lower, upper)}")))
        lower, upper = (None if bound is None else next(known) for bound in facts.bounds)
        if lower is not None and upper is not None:
            _lattice(lower, upper, step, RANK_STEP_BITS, Line("{'bounds': (lower, upper)}"))
    if facts.keys is not None:
        keys(facts.keys, False, False, kind, facts, "histogram", column)
    if not isinstance(facts.nulls, str) or facts.nulls != "drop":
        if not kind.numeric:
            raise ArgumentTypeError("nulls must be 'drop': missing keys are counted with null=True")
        kind.number(facts.nulls, "nulls")


def bins(
    edges: Any, other: bool, null: bool, kind: Kind, call: str, column: str, line: Line | None = None
) -> tuple[Bins, Labels]:
    """Bins between edges, or those that are the index of an answer; `line` is what to type instead."""
    other, null = flag(other, "other"), flag(null, "null")
    example = BINS.get(kind.name, BINS["number"])
    if not kind.numeric:
        if of_dates(edges):
            raise ArgumentTypeError(f"bins of dates need a column of dates{of_text(kind, column, edges)}")
        moved = (("bins", ""), ("keys", "=bins")) if line is None else ()
        keyed = Line(f"{call}({column!r}, keys=[...])", moved, of_text(kind, column))
        raise keyed.refuse("bins need a column of numbers or dates, other columns need keys")
    line = line or Line(f"{call}({column!r}, bins={example})", (("bins", example),))
    if isinstance(edges, pd.PeriodIndex):
        raise ArgumentTypeError(f"periods are bins of groups: groupby({column!r}, bins=pd.period_range(...)).size()")
    edges = edges_of(edges)
    if isinstance(edges, pd.IntervalIndex):
        raise line.refuse(
            "intervals as bins must be closed on the left, and each must begin where the one before it ends"
        )
    if not listed(edges):
        raise line.refuse("bins must be the list of public edges, not their number")
    if isinstance(edges, Sized) and len(edges) > MOST_PARTS + 1:
        raise ArgumentValueError("bins may hold at most 10,000,001 edges, those of 10,000,000 bins")
    given = plain_entries(edges)
    if len(given) < 2:
        raise line.refuse("bins needs at least two edges", ArgumentValueError)
    raw = _raw_edges(given, kind)
    rising = np.array(raw)  # int64 or float64: there may be millions
    if not (rising[:-1] < rising[1:]).all():
        raise line.refuse("bins must rise from edge to edge", ArgumentValueError)
    make = _binned if len(raw) <= MOST_KEPT else _binned.__wrapped__
    return make(column, raw, isinstance(raw[0], int), other, null, kind)


def equal(bins: Any, bounds: Any, kind: Kind, facts: ColumnFacts, call: str, column: str) -> Any:
    """Edges of a number of equal bins between public bounds; edges that are listed, as they are."""
    line = Line(f"{call}({column!r}, bins=10, bounds=(0, 100))", (("bounds", "(lower, upper)"),))
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool):
        if bounds is not None:
            raise ArgumentTypeError(f"bounds= goes with a number of equal bins: {line.text}")
        return bins
    count = positive_int(bins, "bins")
    if count > MOST_KEPT:
        raise ArgumentValueError(f"at most {MOST_KEPT:,} equal bins can be made from bounds; for more, list the edges")
    lower, upper = ends(bounds, kind, facts, call, line) if kind.numeric else (Fraction(0), Fraction(1))
    if lower >= upper:
        raise line.refuse(REVERSED, ArgumentValueError)
    edges = [lower + (upper - lower) * i / count for i in range(count + 1)]
    return edges if kind.name in ("number", "bool") else [kind.value(edge) for edge in edges]


def edges_of(bins: Any) -> Any:
    """Edges of intervals [a, b), [b, c), ..., the index of a histogram; anything else as it is."""
    if not isinstance(bins, pd.IntervalIndex) or bins.closed != "left" or not len(bins):
        return bins
    return bins.left.append(bins.right[-1:]) if (bins.left[1:] == bins.right[:-1]).all() else bins


def _raw_edges(given: tuple[Any, ...], kind: Kind) -> tuple[int | float, ...]:
    """Edges in the raw unit of the column: all int where all are whole, else all float."""
    types = set(map(type, given)) if kind.name == "number" else set()
    if types == {int} and -(2**63) < min(given) <= max(given) < 2**63:
        return given
    # there may be millions, and a fraction of each takes ten times as long; NaN is in no range
    if types == {float}:
        floats = np.array(given) + 0.0  # no -0.0
        if (np.abs(floats) < 2**53).all():
            return tuple((floats.astype(np.int64) if (floats % 1 == 0).all() else floats).tolist())
    if types and types <= {int, float} and all(-(2**53) < edge < 2**53 for edge in given):
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

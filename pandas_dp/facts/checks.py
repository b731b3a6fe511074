"""Checking arguments against public facts. Nothing here sees a row; every refusal says what to type instead."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pandas as pd

from pandas_dp.core.lattice import MOST_CELLS, Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.as_text import of_dates
from pandas_dp.facts.call import QUESTION
from pandas_dp.facts.kinds import DAY, OWN_KEYS, PARTS_OF_A_DAY, Kind, is_missing
from pandas_dp.facts.labels import Labels, one_day
from pandas_dp.facts.numbers import flag
from pandas_dp.facts.public_only import PERIODS, entries, listed, python
from pandas_dp.facts.schema import ColumnFacts
from pandas_dp.facts.written import code_of

MOST_PARTS = 10_000_000
GROUPS = (QUESTION, "groupby.size"), ("normalize", ""), ("sort", ""), ("workload", "")
REVERSED = "bounds must be a lower end and a larger upper one, in this order"
MOST_KEPT = 10_000  # longer lists of keys or edges are not kept from call to call
KEYS = {"key": "['A', 'B']", "number": "[0, 1, 2]", "bool": "[False, True]", "datetime": "['2026-01-31']"}
BINS = {
    "number": "range(0, 101, 10)",
    "datetime": "pd.date_range('2026-01-01', '2027-01-01', freq='MS')",
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
        raise ArgumentValueError("step must be smaller than the distance between the bounds")
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
    example, several = KEYS.get(kind.name, KEYS["key"]), line is not None
    line = line or Line(f"{call}({column!r}, keys={example})", (("keys", example),))
    if kind.name == "datetime" and periods(given):
        needs: tuple[tuple[str, str], ...] = (("keys", ""), ("bins", "=keys"))
        if several:
            follows = isinstance(given, pd.PeriodIndex) and follow(given)
            typed = (follows and code_of("keys", column)) or PERIODS
            needs = (("keys", f"{{{column!r}: None}}"), ("bins", f"{{{column!r}: {typed}}}"))
        elif call != "groupby":
            needs = (*GROUPS, *needs)
        raise Line(f"groupby({column!r}, bins={PERIODS})", needs).refuse("keys must be single dates; periods are bins")
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
        own_keys = code_of("keys", column) if isinstance(given, Mapping) and column in given else None
        raise (line._replace(needs=(("keys", own_keys),)) if own_keys else line).refuse("keys must be a list")
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
        dates = f"; if it holds dates, before df.dp.protect(...): df[{column!r}] = pd.to_datetime(df[{column!r}])"
        raise ArgumentTypeError(
            f"bounds and step need numbers or dates; name its keys: {{'keys': {KEYS['key']}}}{dates * of_dates(facts.bounds)}"
        )
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


def months(facts: ColumnFacts) -> str:
    """Months as bins, as they are typed: those within the bounds of the schema, or those of some year."""
    if facts.bounds is None or None in facts.bounds:
        return PERIODS
    first, last = pd.Timestamp(facts.bounds[0]), pd.Timestamp(facts.bounds[1]) - pd.Timedelta(1, "ns")
    return f"pd.period_range('{first:%Y-%m}', '{last:%Y-%m}', freq='M')"


def follow(periods: pd.PeriodIndex) -> bool:
    """Whether periods follow one upon another."""
    return bool(len(periods) and not periods.hasnans and (periods[1:] == periods[:-1] + 1).all())


def periods(given: Any) -> bool:
    """Whether what stands for keys are periods."""
    several = isinstance(given, list | tuple | pd.Index) and len(given) > 0
    return several and all(isinstance(entry, pd.Period) for entry in given)

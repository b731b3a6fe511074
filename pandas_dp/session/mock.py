"""Made-up tables to practise on: the questions of a real one, at no cost and about nobody."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Answer, Caution
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.randomness import random_words
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import DATE, Kind
from pandas_dp.facts.numbers import positive_int
from pandas_dp.facts.public_only import legible
from pandas_dp.facts.schema import ColumnFacts, Schema, has_dtype
from pandas_dp.release.values import Release
from pandas_dp.session import opening, periods, registry
from pandas_dp.session.session import Session
from pandas_dp.tables.frames import SessionTables
from pandas_dp.tables.schema_checks import check_schema

NAME = "practice"
MARK = Caution("practice: made-up data")
TOTAL = Budget.of(Fraction(10**6), Fraction(1, 2))
WIDTHS = {"number": 100, "datetime": 100 * 24 * 3600 * 10**9, "timedelta": 24 * 3600 * 10**9}  # where one bound is open


class OneTable(SessionTables):
    """The made-up table alone: with this budget another one would be released as it is."""

    def hold(self, *args: Any, **options: Any) -> bool:
        """Answer for a first table."""
        if self.by_name:
            raise ArgumentValueError(
                "a session for practice answers for its made-up table alone; protect a real one by itself: "
                "df.dp.protect(epsilon=3, name='visits')"
            )
        return super().hold(*args, **options)


class PracticeSession(Session):
    """The session of one made-up table: all its answers, and those of its parts and streams, say so."""

    _holds = OneTable

    def _wrap(self, answer: Answer, *where: Any) -> Release:
        """Mark an answer in its notes, its text and its JSON."""
        return super()._wrap(replace(answer, notes=(*answer.notes, MARK)), *where)


@example("pandas_dp.mock({'age': {'bounds': (0, 100)}}, rows=500)")
def mock(
    schema: Schema | Mapping[str, Mapping[str, Any]],
    rows: int = 1000,
    *,
    unit: str | None = None,
    max_rows: int | None = None,
    neighbors: str = "add_remove",
    period: str | None = None,
    time: str | None = None,
    zone: str | None = None,
) -> pd.DataFrame:
    """Make up a table that fits a schema, on a practice budget of its own: write the analysis before the data are there.

    Parameters
    ----------
    schema : Schema or dict
        Bounds or keys of every column. Values are drawn uniformly between the bounds, whole numbers where both bounds are
        (or multiples of ``step``), or from the keys, and take the column's ``dtype`` where one is said.
    rows : int
    unit, max_rows, neighbors, period, time, zone : optional
        As for ``df.dp.protect``. A unit that the schema does not name becomes a column of whole numbers; on average a unit
        has half of ``max_rows`` rows. The schema has the column of time, with dates for its bounds.

    Returns
    -------
    DataFrame
        Protected by a session named ``"practice"`` of epsilon 1,000,000 and delta 0.5, in a ledger of its own in memory. All
        its answers carry the note "practice: made-up data".

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    Only the schema, which is public, goes in: answers say nothing about anybody, and nothing about the real table. Columns
    are independent of each other and nothing is missing, so real answers will look otherwise; error bars of added noise will
    be the same.

    Examples
    --------
    >>> import pandas_dp
    >>> df = pandas_dp.mock({"age": {"bounds": (0, 100)}, "sex": {"keys": ["F", "M"]}}, rows=500)
    >>> df.shape
    (500, 2)
    >>> df.dp(epsilon=50).count()
    500 ± 0 (95 %), epsilon 50
      practice: made-up data
    """
    facts, number = Schema.of(schema), positive_int(rows, "rows")
    bounded = opening.privacy_unit(unit, max_rows, None, None, neighbors)
    columns = {column: _typed(column, facts[column].dtype, _column(column, facts[column], number)) for column in facts}
    if unit is not None and unit not in columns:
        columns[unit] = pd.Series(_below(2 * number // bounded.rows + 1, number))
    if not all(map(legible, columns)):
        raise ArgumentTypeError("mock names columns by text: mock({'age': {'bounds': (0, 100)}})")
    if not columns:
        raise ArgumentValueError("mock needs a schema with columns: mock({'age': {'bounds': (0, 100)}})")
    frame = pd.DataFrame(columns)
    check_schema(facts, frame)
    when = periods.opened(frame, period, time, zone, neighbors)
    bounded = bounded if when is None else replace(bounded, periods=when.text())
    ledger = Ledger(None)
    ledger.open(NAME, TOTAL, bounded)
    session = registry.enter(PracticeSession(ledger, NAME, bounded))
    session._tables.attach(session, frame, facts, rows=unit is None and not bounded.add_remove)
    return frame


def _typed(name: str, dtype: str | None, values: pd.Series[Any]) -> pd.Series[Any]:
    """Made-up values in the dtype that the schema says."""
    if dtype is None or has_dtype(values.dtype, dtype):
        return values
    try:
        return pd.Series(values.astype(pd.api.types.pandas_dtype(dtype)))
    except (TypeError, ValueError, NotImplementedError, OverflowError):  # no such dtype, or one for other values
        raise ArgumentValueError(
            f"schema of {name!r}: made-up values cannot have dtype {dtype!r}; leave it out: {{'bounds': (0, 100)}}"
        ) from None


def _column(name: str, facts: ColumnFacts, rows: int) -> pd.Series[Any]:
    """Made-up values of one column."""
    if facts.keys:
        return pd.Series([facts.keys[place] for place in _below(len(facts.keys), rows)])
    if facts.bounds is None:
        raise ArgumentValueError(
            f"mock needs bounds or keys of every column, and {name!r} has none: {{{name!r}: {{'bounds': (0, 100)}}}}"
        )
    given = [bound for bound in facts.bounds if bound is not None]
    if len(facts.bounds) != 2 or not given:
        raise ArgumentValueError(f"schema of {name!r}: bounds must be a pair: {{'bounds': (lower, upper)}}")
    kind = _kind(given[0])
    lower, upper = (None if bound is None else kind.number(bound, "bounds") for bound in facts.bounds)
    first = lower if lower is not None else (upper or 0) - WIDTHS[kind.name]
    last = upper if upper is not None else first + WIDTHS[kind.name]
    if not first < last:
        raise ArgumentValueError(f"schema of {name!r}: the lower bound must lie below the upper one")
    whole = kind.name != "number" or all(isinstance(bound, int | np.integer) for bound in given)
    step = _step(kind, facts.step, whole)
    if step is None:
        shares = random_words(rows) / 2.0**64  # shape (rows,)
        return pd.Series((float(first) + shares * float(last - first)).clip(float(first), float(last)))
    places = _below((last - first) // step + 1, rows)  # shape (rows,)
    if first.denominator == step.denominator == 1:
        raw: pd.Series[Any] = pd.Series([int(first) + int(place) * int(step) for place in places], dtype="int64")
    else:
        raw = pd.Series([float(first + int(place) * step) for place in places])
    if kind.name == "datetime":
        return pd.to_datetime(raw, unit="ns", utc=kind.tz is not None)
    return pd.to_timedelta(raw, unit="ns") if kind.name == "timedelta" else raw


def _step(kind: Kind, step: Any, whole: bool) -> Fraction | None:
    """Distance of possible values in raw units; None for real numbers."""
    if step is None:
        return Fraction(1) if whole else None
    exact = (Kind("timedelta") if kind.name == "datetime" else kind).number(step, "step")
    if exact <= 0:
        raise ArgumentValueError("step must be positive, such as {'step': 1}")
    return exact


def _kind(bound: Any) -> Kind:
    """The kind of a column with this bound: the dtype, which would decide it, is not there yet."""
    if isinstance(bound, dt.timedelta | np.timedelta64) or (isinstance(bound, str) and not DATE.fullmatch(bound)):
        return Kind("timedelta")
    if isinstance(bound, str | np.datetime64 | dt.date):
        zone = None
        with contextlib.suppress(ValueError):  # what is no date says so where it is read
            zone = pd.Timestamp(bound).tzinfo
        return Kind("datetime", None if zone is None else "UTC")
    return Kind("number")


def _below(count: int, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Whole numbers from 0 to count - 1, nearly uniform, which made-up values may be; shape (size,)."""
    return (random_words(size) % np.uint64(min(count, 2**63))).astype(np.int64)

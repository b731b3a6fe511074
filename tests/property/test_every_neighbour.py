"""One row more, first or last, leaves what is said of every other row as it was: every step, every question, every dtype.

Pandas keeps facts of a column that follow from all of its rows: the list of a category column most of all, which holds one of
several equal cells, in a dtype that suits them all. Hostile rows are made to move such facts. Steps are taken from the package's
own tables and questions from `support.questions`, so that new ones are here by themselves. Of a question the view is compared:
whatever it reads of a table is read again with one row more, and told of the other rows alike.
"""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from support.dtypes import DECIMALS, NUMBERS, TEXTS, TIMES
from support.frames import fresh
from support.questions import BY_UNIT, EVERY, FOUND, ROW_BY_ROW, table

from pandas_dp.core.measurement import View
from pandas_dp.engines import canonical as canonical_module
from pandas_dp.engines import encode
from pandas_dp.engines import pandas as view_module
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps import categories, steps
from pandas_dp.steps.expression import OPERATIONS, Column, Constant, Expression, IsIn, Operation
from pandas_dp.steps.functions import METHODS, PROPERTIES
from tests.steps.tables import BOOLEAN_STORAGE, DATE_STORAGE, NUMBER_STORAGE, TEXT_STORAGE, stored

DTYPES = {
    str(dtype): dtype
    for registry in (NUMBERS, DECIMALS, TIMES, TEXTS, *map(dict.values, (NUMBER_STORAGE, TEXT_STORAGE)))
    for dtype in registry
} | {str(dtype): dtype for registry in (BOOLEAN_STORAGE, DATE_STORAGE) for dtype in registry.values()}
REFUSED = (ArgumentTypeError, ArgumentValueError)
DAY, HUGE = pd.Timestamp("2020-01-01"), 2**53


class Text(enum.StrEnum):
    A = "a"


class Number(enum.IntEnum):
    ONE = 1


class Named(str):
    __slots__ = ()


class Pair(NamedTuple):
    number: Any
    text: Any


class Same:
    """Equal to the number one by code of its own."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)

    def __hash__(self) -> int:
        return hash(1)


BASES: dict[str, list[Any]] = {  # what the other rows hold
    "whole": [0, 1, 2, 5, 1],
    "truth": [True, False, True],
    "floats": [0.5, 1.0, 0.1, 0.0],
    "huge": [HUGE + 1, HUGE, 1, 2**63, 2**70],
    "texts": ["a", "b", "", "a"],
    "days": [DAY, DAY + pd.Timedelta(1, "D"), DAY],
    "instants": [DAY.tz_localize("UTC"), DAY.tz_localize("UTC") + pd.Timedelta(1, "h")],
    "dates": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    "spans": [pd.Timedelta(1, "D"), pd.Timedelta(1, "h")],
    "tuples": [(1, "a"), (0, ("b", 1.0)), (HUGE + 1, "a"), (float("nan"), 1)],
    "sets": [frozenset({1, "a"}), frozenset()],
    "others": [b"a", uuid.UUID(int=1), pd.Interval(0, 1), pd.Period("2020", "Y"), 1j, Decimal("0.1"), Fraction(1, 3)],
    "mixed": [1, "a", "1", 0.5, DAY, None, pd.Timedelta(1, "D"), (1, "a")],
}
HOSTILE: list[Any] = [
    *(None, float("nan"), pd.NA, pd.NaT, float("inf"), -0.0, 0.25, -1, 300, HUGE, HUGE + 1, 2**63 - 1, -(2**63), 2**64 - 1),
    *(2**70, 1e300, 1j, True, Number.ONE, Decimal(1), Decimal("0.5"), Fraction(1), np.int64(1), np.bool_(False)),
    *(np.float64(1), np.uint8(5), complex(1), np.longdouble("0.1"), Decimal("0.10"), Same()),
    *(Text.A, np.str_("a"), Named("b"), "", "zz", "\ud800", "1", b"a", np.bytes_(b"a"), memoryview(b"a")),
    *(dt.datetime(2020, 1, 1), dt.date(2020, 1, 1), np.datetime64("2020-01-01", "ns"), pd.Timestamp(2020, 1, 1, nanosecond=1)),
    *(dt.datetime(2020, 1, 1, fold=1), dt.datetime(9999, 12, 31), pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin")),
    *(dt.datetime(2020, 1, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")), dt.timedelta(1), np.timedelta64(24, "h"), dt.timedelta.max),
    *((True, "a"), Pair(1.0, np.str_("a")), (np.int64(1), Text.A), (False, ("b", Number.ONE)), (float("nan"), True)),
    *(frozenset({True, "a"}), frozenset({"a", Decimal(1)}), pd.Interval(0.0, 1.5), pd.Interval(False, True), [1], {"k": 1}),
]
CONSTANTS: list[Any] = [1, 0.5, 0.1, "a", True, HUGE + 1, DAY, DAY.tz_localize("UTC"), pd.Timedelta(1, "D")]
X, Y = Column("x"), Column("y")


# Columns, and the same with one row more


def columns(dtype: Any, cells: list[Any]) -> Iterator[tuple[Any, bool, pd.Series]]:
    """A column of a dtype with one hostile cell more, whether that comes first, and what it is; as many as pandas makes."""
    for cell in HOSTILE:
        for first in (True, False):
            listed = np.empty(len(cells) + 1, dtype=object)
            for place, held in enumerate([cell, *cells] if first else [*cells, cell]):
                listed[place] = held
            made = column(dtype, listed)
            if made is not None:
                yield cell, first, made


def column(dtype: Any, cells: Any) -> pd.Series | None:
    """A column of cells, or None where pandas makes none of this dtype."""
    try:
        made = stored(cells, dtype)
    except Exception:  # noqa: BLE001 - before anything is protected
        return None
    return made if dtype == "category" or made.dtype == stored(cells[:0], dtype).dtype else None


def told(column: pd.Series) -> Any:
    """What can be told of a column's cells: those of categories as blocks show them, and whether they are missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        seen: list[Any] = []
        frame = pd.DataFrame({"x": column})
        PandasView(frame, {}).block_results(lambda part: seen.append(written(part)), np.zeros(len(frame), int), 1)
        return seen, column.isna().tolist()
    return str(column.dtype), [(type(cell).__name__, repr(cell)) for cell in column.array]


def written(part: pd.DataFrame) -> list[Any]:
    """All that a function can see of the cells of a block."""
    return [
        (name, str(part[name].dtype), [(type(cell).__name__, repr(cell)) for cell in part[name].array]) for name in part
    ]


# Steps

ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {  # of methods that need some; of the others none
    "isin": [(CONSTANTS,), (["a", "b"],), ([1, 0.5, HUGE + 1],), ([DAY],), ([pd.Timedelta(1, "D")],)],
    "between": [(0, 1), ("a", "b"), (DAY, DAY)],
    "clip": [(0, 1)],
    "fillna": [(constant,) for constant in CONSTANTS],
    "astype": [("float64",), ("int64",), ("bool",), ("string",)],
    "where": [(Operation("isna", (Y,)), constant) for constant in CONSTANTS] + [(Operation("not", (Operation("isna", (Y,)),)), Y)],
    "mask": [(Operation("isna", (Y,)),), (Operation("isna", (Y,)), Y)],
    "case_when": [([(Operation("isna", (Y,)), constant), (Operation("isna", (X,)), Y)],) for constant in CONSTANTS],
    "cut": [([0, 1, 9],), ([DAY, DAY + pd.Timedelta(1, "D")],), ([pd.Timedelta(0), pd.Timedelta(1, "D")],)],
    "map": [({"a": 1, "b": 2},), ({1: "p", 0.5: "q", HUGE + 1: "r"},), ({"a": 1.0, 1: 2.0},), ({DAY: True},)],
    **dict.fromkeys(["str.startswith", "str.endswith", "str.contains"], [("a",)]),
    "str.slice": [(0, 1)],
}


def trees() -> Iterator[tuple[str, Expression]]:
    """Every operation, method and property there is, on a column of any kind, on two and beside constants of every kind."""
    for op in OPERATIONS:
        shapes = [(X,), (X, X), (X, Y), *((X, Constant(constant)) for constant in CONSTANTS)]
        yield from ((op, Operation(op, shape)) for shape in shapes)
    truth = Operation("==", (X, X))
    yield from ((op, Operation(op, shape)) for op, shape in (("and", (truth, truth)), ("or", (truth, truth)), ("not", (truth,))))
    for name, method in METHODS.items():
        yield from ((name, method(X, *given)) for given in ARGUMENTS.get(name, [()]))
    yield from ((name, tree(X)) for name, tree in PROPERTIES.items())


STEPS: dict[str, Callable[[pd.DataFrame], tuple[steps.Step, ...]]] = {
    "query": lambda empty: steps.query("x == 'a' or x == 1", empty),
    "filter_": lambda empty: steps.filter_(lambda d: (d.x == 1) | (d.x == d.y), empty),
    "assign": lambda empty: steps.assign(empty, z=lambda d: d.x.map({1: 1, "a": 2})),
    "eval_": lambda empty: steps.eval_("z = x.fillna('new')", empty),
    "clip": lambda empty: steps.clip(0, 1, empty, columns="x"),
    "fillna": lambda empty: steps.fillna({"x": "a"}, empty),
    "dropna": lambda empty: steps.dropna("x", empty),
    "drop": lambda empty: steps.drop("y", empty),
    "rename": lambda empty: steps.rename({"y": "z"}, empty),
    "merge": lambda empty: steps.merge({"x": ["a", "b"], "z": [1, 2]}, "x", "left", empty),
    "explode": lambda empty: steps.explode("x", 2, empty),
}


def table_of(column: pd.Series, other: pd.Series, first: bool | None = None) -> pd.DataFrame:
    """Rows of a column, of another one without the row more, and their numbers, that one's -1."""
    numbers = np.arange(len(other))
    if first is not None:
        gap = pd.Series([None], dtype=object)
        other = pd.concat([gap, other] if first else [other, gap], ignore_index=True)
        numbers = np.r_[-1, numbers] if first else np.r_[numbers, -1]
    return pd.DataFrame({"x": column.array, "y": other.astype("category").array, "row": numbers})


def accepted(made: Any, frame: pd.DataFrame) -> bool:
    try:
        made(frame.iloc[:0])
    except REFUSED:
        return False
    return True


def moved_by_steps(dtype: Any, cells: list[Any]) -> tuple[set[str], list[Any]]:
    """Names of what was accepted, and what changed: the step, the hostile cell, and whether it came first."""
    plain = column(dtype, objects(cells))
    if plain is None:
        return set(), []
    other = pd.Series(objects(cells[1:] + cells[:1]), dtype=object)
    base = table_of(plain, other)
    asked = [(name, tree.evaluate) for name, tree in trees() if accepted(tree.evaluate, base)]
    asked += [(name, partial_step(step)) for name, step in STEPS.items() if accepted(partial_step(step), base)]
    expected = [rows_told(made(base), base) for _, made in asked]
    found = []
    for cell, first, more in columns(dtype, cells):
        frame = table_of(more, other, first)
        for (name, made), wanted in zip(asked, expected, strict=True):
            if rows_told(made(frame), frame) != wanted:
                found.append((name, cell, first))
    return {name for name, _ in asked}, found


def partial_step(step: Callable[[pd.DataFrame], tuple[steps.Step, ...]]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def apply(frame: pd.DataFrame) -> pd.DataFrame:
        for each in step(frame.iloc[:0]):
            frame = each.apply(frame)
        return frame

    return apply


def rows_told(result: pd.Series | pd.DataFrame, frame: pd.DataFrame) -> Any:
    """What is told of the rows that are not the one more."""
    if isinstance(result, pd.Series):
        return told(result[(frame["row"] >= 0).to_numpy()])
    result = result[(result["row"] >= 0).to_numpy()]
    return [(name, told(result[name])) for name in result]


def objects(cells: list[Any]) -> np.ndarray:
    listed = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        listed[place] = cell
    return listed


CASES = [pytest.param(name, base, id=f"{base} as {name}") for name in DTYPES for base in BASES if column(DTYPES[name], objects(BASES[base])) is not None]


@pytest.mark.parametrize(("name", "base"), CASES)
def test_a_row_more_changes_no_other_row_of_a_step(name, base):
    assert moved_by_steps(DTYPES[name], BASES[base])[1] == []

"""One row more, first or last, leaves what is said of every other row as it was: every step, every question, every dtype.

Pandas keeps facts of a column that follow from all of its rows: the list of a category column most of all, which holds one of
several equal cells, in a dtype that suits them all. Hostile rows are made to move such facts. Steps are taken from the package's
own tables and questions from `support.questions`, so that new ones are here by themselves. Of a question the view is compared:
whatever it reads of a table is read again with one row more, and told of the other rows alike.
"""

from __future__ import annotations

import contextlib
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
from support.questions import BY_UNIT, EVERY, FOUND, ROW_BY_ROW, STREAMS, table

from pandas_dp.core.measurement import View
from pandas_dp.core.partition import decoded
from pandas_dp.engines import encode
from pandas_dp.engines import pandas as view_module
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps import categories, steps
from pandas_dp.steps.expression import OPERATIONS, Column, Constant, Expression, Operation
from pandas_dp.steps.functions import METHODS, PROPERTIES
from tests.steps.tables import BOOLEAN_STORAGE, DATE_STORAGE, NUMBER_STORAGE, TEXT_STORAGE, stored

DTYPES = {
    str(dtype): dtype
    for registry in (NUMBERS, DECIMALS, TIMES, TEXTS, *map(dict.values, (NUMBER_STORAGE, TEXT_STORAGE)))
    for dtype in registry
} | {str(dtype): dtype for registry in (BOOLEAN_STORAGE, DATE_STORAGE) for dtype in registry.values()}
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


ID = uuid.UUID(int=1)
BASES: dict[
    str, list[Any]
] = {  # what the other rows of a category column hold: lists that pandas gives a dtype, and one of objects
    "whole": [0, 1, 2, 5, 1, HUGE + 1, HUGE, 2**63],
    "truth": [True, False, True],
    "days": [DAY, DAY + pd.Timedelta(1, "D"), DAY],
    "spans": [pd.Timedelta(1, "D"), pd.Timedelta(1, "h")],
    "texts": ["a", "b", "", "a", None],
    "objects": [
        *(
            1,
            "a",
            "1",
            0.5,
            0.1,
            DAY,
            None,
            pd.Timedelta(1, "D"),
            (1, "a"),
            (0, ("b", 1.0)),
            (HUGE + 1, "a"),
            HUGE + 1,
            2**70,
        ),
        *(
            DAY.tz_localize("UTC"),
            dt.date(2020, 1, 2),
            frozenset({1, "a"}),
            b"a",
            ID,
            pd.Interval(0, 1),
            pd.Period("2020", "Y"),
        ),
        *(1j, Decimal("0.1"), Fraction(1, 3), 0, "b"),
    ],
}
CELLS = [*BASES.values(), [0.5, 1.0, 0.0]]  # of other columns, the first that a dtype can hold
HOSTILE: list[Any] = [
    *(
        None,
        float("nan"),
        pd.NA,
        pd.NaT,
        float("inf"),
        -0.0,
        0.25,
        -1,
        300,
        HUGE,
        HUGE + 1,
        2**63 - 1,
        -(2**63),
        2**64 - 1,
    ),
    *(2**70, 1e300, 1j, True, Number.ONE, Decimal(1), Decimal("0.5"), Fraction(1), np.int64(1), np.bool_(False)),
    *(np.float64(1), np.uint8(5), complex(1), np.longdouble("0.1"), Decimal("0.10"), Same()),
    *(Text.A, np.str_("a"), Named("b"), "", "zz", "\ud800", "1", b"a", np.bytes_(b"a"), memoryview(b"a")),
    *(
        dt.datetime(2020, 1, 1),
        dt.date(2020, 1, 1),
        np.datetime64("2020-01-01", "ns"),
        pd.Timestamp(2020, 1, 1, nanosecond=1),
    ),
    *(dt.datetime(2020, 1, 1, fold=1), dt.datetime(9999, 12, 31), pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin")),
    *(
        dt.datetime(2020, 1, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")),
        dt.timedelta(1),
        np.timedelta64(24, "h"),
        dt.timedelta.max,
    ),
    *((True, "a"), Pair(1.0, np.str_("a")), (np.int64(1), Text.A), (False, ("b", Number.ONE)), (float("nan"), True)),
    *(frozenset({True, "a"}), frozenset({"a", Decimal(1)}), pd.Interval(0.0, 1.5), [1], {"k": 1}),
]
KINDS: list[Any] = [1, "a", DAY, DAY.tz_localize("UTC"), pd.Timedelta(1, "D")]  # a constant of each kind
CONSTANTS: list[Any] = [*KINDS, 0.5, 0.1, True, HUGE + 1]
X, Y = Column("x"), Column("y")
MISSING = Operation("isna", (Y,))


# Columns, and the same with one row more


def columns(dtype: Any, cells: list[Any]) -> Iterator[tuple[Any, list[Any], pd.Series]]:
    """Hostile cells, those that come first, and a column that holds them beside others: of lists one at a time, else all.

    Where a dtype has no list of its values, no more than their number and what fits beside them could follow from a cell.
    """
    if dtype == "category":
        alone = [[cell] for cell in HOSTILE]
    else:
        alone = [[cell for cell in HOSTILE if column(dtype, objects([cell, *cells])) is not None]]
    for more in alone:
        for first, last in ((more, []), ([], more)):
            made = column(dtype, objects([*first, *cells, *last]))
            if made is not None:
                yield more, np.repeat([False, True, False], [len(first), len(cells), len(last)]), made


def column(dtype: Any, cells: Any) -> pd.Series | None:
    """A column of cells, or None where pandas makes none of this dtype."""
    try:
        made = stored(cells, dtype)
    except Exception:
        return None
    return made if dtype == "category" or made.dtype == stored(cells[:0], dtype).dtype else None


def told(column: pd.Series, others: np.ndarray) -> Any:
    """What can be told of some rows of a column: of categories what a block shows of them, and what is missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return seen(pd.DataFrame({"x": column}), others), column.isna().to_numpy()[others].tolist()
    return str(column.dtype), cells_of(column.array[others])


def seen(frame: pd.DataFrame, others: np.ndarray) -> list[Any]:
    """All that a function can see of the cells of a block of some rows, its only one."""
    blocks: list[Any] = []

    def look(block: pd.DataFrame) -> None:
        blocks.append([(name, str(block[name].dtype), cells_of(block[name].array)) for name in block])

    PandasView(frame, {}).block_results(look, np.where(others, 0, 1), 1)
    return blocks


def cells_of(cells: Any) -> list[Any]:
    return [(type(cell).__name__, repr(cell)) for cell in cells]


def facts(column: pd.Series, others: np.ndarray) -> str:
    """What pandas keeps for some rows of a category column: the dtype of the list, and what it holds for them."""
    listed = column.cat.categories
    return repr((listed.dtype, [None if c < 0 else (type(listed[c]), listed[c]) for c in column.cat.codes[others]]))


# Steps

ARGUMENTS: dict[str, list[tuple[Any, ...]]] = {  # of methods that need some; of the others none
    "isin": [(["a", "b"],), ([1, 0.5, HUGE + 1],), ([DAY],), ([pd.Timedelta(1, "D")],)],
    "between": [(0, 1), ("a", "b"), (DAY, DAY)],
    "clip": [(0, 1)],
    "fillna": [(constant,) for constant in KINDS],
    "astype": [("float64",), ("int64",), ("bool",), ("string",)],
    "where": [(MISSING, constant) for constant in KINDS[:3]],
    "mask": [(MISSING,), (MISSING, Y)],
    "case_when": [([(Operation("isna", (X,)), constant), (MISSING, Y)],) for constant in KINDS[:3]],
    "cut": [([0, 1, 9],), ([DAY, DAY + pd.Timedelta(1, "D")],), ([pd.Timedelta(0), pd.Timedelta(1, "D")],)],
    "map": [({"a": 1, "b": 2},), ({1: "p", 0.5: "q", HUGE + 1: "r"},), ({"a": 1.0, 1: 2.0},), ({DAY: True},)],
    **dict.fromkeys(["str.startswith", "str.endswith", "str.contains"], [("a",)]),
    "str.slice": [(0, 1)],
}


def trees() -> Iterator[tuple[str, Expression]]:
    """Every operation, method and property there is, on a column of any kind, on two and beside constants of every kind."""
    for op in OPERATIONS:
        beside = CONSTANTS if op == "==" else KINDS
        shapes = [(X,), (X, Y), *((X, Constant(constant)) for constant in beside)]
        yield from ((op, Operation(op, shape)) for shape in shapes)
    truth = Operation("==", (X, X))
    yield from (
        (op, Operation(op, shape)) for op, shape in (("and", (truth, truth)), ("or", (truth, truth)), ("not", (truth,)))
    )
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


def table_of(dtype: Any, made: pd.Series, cells: list[Any], others: np.ndarray) -> pd.DataFrame:
    """Rows of a column, those of another one without hostile cells, and which are not hostile."""
    other = objects([cells[0]] * len(others))
    other[others] = objects(cells[1:] + cells[:1])
    return pd.DataFrame({"x": made.array, "y": column(dtype, other).array, "other": others})


def accepted(made: Any, frame: pd.DataFrame) -> bool:
    """Whether something can be made of a table like this at all; some shapes nobody can write."""
    try:
        made(frame.iloc[:0])
    except Exception:
        return False
    return True


def moved_by_steps(dtype: Any, cells: list[Any]) -> list[Any]:
    """What changed other rows: the step, and the hostile cells. Of lists that hold the same for the others one is all asked."""
    base = table_of(dtype, column(dtype, objects(cells)), cells, np.ones(len(cells), dtype=bool))
    asked = [(name, tree.evaluate) for name, tree in trees() if accepted(tree.evaluate, base)]
    asked += [(name, applied(make(base.iloc[:0]))) for name, make in STEPS.items() if accepted(make, base)]
    expected = [rows_told(made(base), base) for _, made in asked]
    found, known = [], set()
    for hostile, others, more in columns(dtype, cells):
        frame = table_of(dtype, more, cells, others)
        held = facts(more, others) if dtype == "category" else len(known)
        some = 7 if held in known else 1
        known.add(held)
        for (name, made), wanted in list(zip(asked, expected, strict=True))[::some]:
            if rows_told(made(frame), frame) != wanted:
                found.append((name, hostile))
    return found


def applied(made: tuple[steps.Step, ...]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Steps as one function of a table."""

    def apply(frame: pd.DataFrame) -> pd.DataFrame:
        for step in made:
            frame = step.apply(frame)
        return frame

    return apply


def rows_told(result: pd.Series | pd.DataFrame, frame: pd.DataFrame) -> Any:
    """What is told of the rows that are not hostile."""
    if isinstance(result, pd.Series):
        return told(result, frame["other"].to_numpy())
    others = result["other"].to_numpy()
    return [(name, told(result[name], others)) for name in result if name not in ("y", "other")]


def objects(cells: list[Any]) -> np.ndarray:
    listed = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        listed[place] = cell
    return listed


def base_of(dtype: Any) -> list[Any]:
    """Ordinary cells of a dtype."""
    return next(cells for cells in CELLS if column(dtype, objects(cells)) is not None)


PLAIN = {name: dtype for name, dtype in DTYPES.items() if name != "category"}


@pytest.mark.parametrize("base", BASES)
def test_a_row_more_changes_no_other_row_of_a_step_on_categories(base):
    assert moved_by_steps("category", BASES[base]) == []


@pytest.mark.parametrize("name", PLAIN)
def test_rows_more_change_no_other_row_of_a_step(name):
    assert moved_by_steps(PLAIN[name], base_of(PLAIN[name])) == []


def test_every_step_is_asked():
    """A new one without arguments here is refused everywhere, and fails this."""
    taken = set()
    for name in ("float64", "str", "bool", "datetime64[us]", "timedelta64[ns]", "object", "category"):
        cells = base_of(DTYPES[name])
        base = table_of(DTYPES[name], column(DTYPES[name], objects(cells)), cells, np.ones(len(cells), dtype=bool))
        taken |= {made for made, tree in trees() if accepted(tree.evaluate, base)}
        taken |= {made for made, make in STEPS.items() if accepted(make, base)}
    assert taken == {*OPERATIONS, *METHODS, *PROPERTIES, *STEPS}
    assert set(STEPS) == {made for made in steps.__all__ if made.islower() and made != "touches"}


# Questions

READS = [name for name, value in vars(View).items() if callable(value) and not name.startswith("_")]
TABLE = table().iloc[:15]
PRICE = {"epsilon": 10**5}


def reads(question: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Any, ...]]:
    """What a question reads of a view, by its text."""
    seen: dict[str, tuple[Any, ...]] = {}

    def logged(name: str, original: Any) -> Any:
        def read(view: Any, *args: Any) -> Any:
            if name != "block_results":
                seen[f"{name}{args}"] = (name, *args)
            else:
                seen[name] = (name,)
            return original(view, *args)

        return read

    unit = {"unit": "uid", "max_rows": 4} if question in BY_UNIT else {}
    neighbors = "replace_one" if question in ROW_BY_ROW else "add_remove"
    frame = table()
    frame.dp.protect(epsilon=10**6, delta=0.5, delta_reserved=0.4, neighbors=neighbors, name=fresh(), **unit)
    with monkeypatch.context() as patch:
        for name in [*READS, "keys"]:
            patch.setattr(PandasView, name, logged(name, getattr(PandasView, name)))
        answer = (EVERY | FOUND)[question](frame.dp(**PRICE, **({"delta": 1e-6} if question in FOUND else {})))
        if question in STREAMS:
            ask_streams(answer)
    return seen


def ask_streams(stream: Any) -> None:
    """One question to a stream, of the kind that it takes."""
    for asked in (lambda: stream.ask("cost > 50"), lambda: stream.count("ward == 'A'")):
        with contextlib.suppress(AttributeError, TypeError):
            asked()


@cache
def every_read() -> dict[str, tuple[Any, ...]]:
    """What all questions read."""
    with pytest.MonkeyPatch.context() as patch:
        return {text: read for question in EVERY | FOUND for text, read in reads(question, patch).items()}


def again(read: tuple[Any, ...], frame: pd.DataFrame, others: np.ndarray) -> Any:
    """What a view says of rows that are not hostile; codes by what they stand for, or by the rows that share one."""
    name, *args = read
    view = PandasView(frame, {})
    try:
        if name == "block_results":
            return seen(frame, others)
        found = getattr(view, name)(*args)
    except ArgumentTypeError:
        return "refused"
    if name in ("keys", "combinations"):
        codes, _, names = found
        return [None if code < 0 else repr(names(np.array([code]))) for code in codes[others].tolist()]
    if name == "units":
        codes = found[0][others].tolist()
        return [code if code < 0 else codes.index(code) for code in codes]
    if name == "coded":
        return decoded(*found)[others].tolist()
    if name in ("column", "computed"):
        values, present = found
        mask = np.ones(len(values), dtype=bool) if present is None else present
        return [repr(value) if there else None for value, there in zip(values[others], mask[others], strict=True)]
    return (
        None
        if found is None and others.all()
        else (np.ones(len(others), bool) if found is None else found)[others].tolist()
    )


def moved_by_questions(name: str) -> list[Any]:
    """What a view says otherwise of a column beside hostile cells: the read, and these."""
    dtype, moved = DTYPES[name], []
    for place in TABLE:
        cells = TABLE[place].tolist()
        plain = column(dtype, objects(cells))
        if plain is None:
            continue
        asked = [read for text, read in every_read().items() if repr(place) in text or read[0] == "block_results"]
        all_of = np.ones(len(cells), dtype=bool)
        base = TABLE.assign(**{place: plain.array})
        expected = [again(read, base, all_of) for read in asked]
        known: set[Any] = set()
        for hostile, others, more in columns(dtype, cells):
            held = facts(more, others) if dtype == "category" else len(known)
            if held in known and hostile[:1] != HOSTILE[:1]:
                continue
            known.add(held)
            rows = np.where(others, np.cumsum(others) - 1, 0)
            frame = TABLE.iloc[rows].reset_index(drop=True).assign(**{place: more.array})
            for read, wanted in zip(asked, expected, strict=True):
                if again(read, frame, others) != wanted:
                    moved.append((read, hostile))
    return moved


@pytest.mark.parametrize("name", DTYPES)
def test_rows_more_change_nothing_that_a_question_reads_of_others(name):
    assert moved_by_questions(name) == []


def test_questions_read_all_that_a_view_shows():
    assert {read[0] for read in every_read().values()} == {*READS, "keys"} - {"rows"}


# The same with faults


def raw(column: pd.Categorical) -> Any:
    """Categories as they are listed."""
    return column.codes, column.categories.astype(object).to_numpy()


@pytest.mark.parametrize("fault", ["steps", "engine", "blocks"])
def test_a_planted_fault_is_found(fault, monkeypatch):
    if fault == "steps":
        monkeypatch.setattr(categories, "forms", raw)
        monkeypatch.setattr(categories, "_key", lambda cell: (type(cell).__name__, cell))
        assert {name for name, _ in moved_by_steps("category", BASES["texts"])} >= {"str.len", "isin", "map", "=="}
        return
    if fault == "engine":
        monkeypatch.setattr(encode, "forms", raw)
        wanted = {"units", "keys"}
    else:
        monkeypatch.setattr(view_module, "shown", lambda cell: cell)
        wanted = {"block_results"}
    assert {read[0] for read, _ in moved_by_questions("category")} >= wanted

"""Every step and expression, on the edges of every dtype, against exact Python; and against pandas, where pandas is exact.

Trees are made of the tables of operations, methods and properties, so a new one is here by itself: `exactly` has to know what
it gives, or this fails.
"""

from __future__ import annotations

import contextlib
import datetime
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support import exactly, method_arguments
from support.exactly import NA, NAN, NEVER, Cells, Refused, expected
from support.frames import fresh
from support.hostile_rows import DTYPES

import pandas_dp.dask
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.accessors import PROPERTIES
from pandas_dp.steps.changes import applied
from pandas_dp.steps.expression import OPERATIONS, ROWWISE, Column, Constant, Expression, Operation
from pandas_dp.steps.functions import METHODS
from pandas_dp.steps.parse import parse_expression
from pandas_dp.steps.trace import TracedColumn
from pandas_dp.steps.values import Kind, Values, booleans, nulls_of, numbers, write
from tests.support import steps

BIG, TEN = 2**53 + 1, 10**18 + 3
WHOLE = [0, 1, -1, 2, 3, -7, 15, 25, TEN, BIG, -BIG, 2**62, -(2**63), 2**63 - 1, 2**63, 2**64 - 1]
REAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 15.0, 0.1, 2.0**53, 1e300, -5e-324, 3.0]
TEXT = ["", "a", "A b ", "é", "ß", "12", " -2.5 ", str(BIG), f"{BIG}.75", "1e3", "x"]
TEXT += [
    "2024-02-29",
    "2023-02-29",
    "0001-01-01 00:00:00.000001",
    "29.02.2024 23:59",
    "Feb 3, 99 12AM",
    "2024-01-01 00:30-0130",
]
FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59)
MOMENTS = [FIRST, LAST, datetime.datetime(1970, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59)]
MOMENTS += [datetime.datetime(2000, 2, 29, 12, 30, 15), datetime.datetime(2024, 12, 31), datetime.datetime(1, 1, 2)]
MOMENTS += [datetime.datetime(2024, 10, 27, 0, 30), datetime.datetime(2262, 4, 11), datetime.datetime(1677, 9, 22)]
BETWEEN = [
    1_700_000_000_123_456_789,
    1_700_000_000_123_456_000,
    -1,
    -1_000,
    1_711_846_800 * 10**9,
]  # clocks put forward
SPANS = [0, -1, 1_500_000_000, 1_800 * 10**9, 10**9, -(10**9), 86_400 * 10**9, -(2**62) // 10**9 * 10**9]
EXACTLY = Context(prec=100)
EVERY: dict[str, Any] = DTYPES | {
    "UInt64": "UInt64",
    "decimal128(38, 0)": pd.ArrowDtype(pa.decimal128(38, 0)),
    "decimal256(50, 10)": pd.ArrowDtype(pa.decimal256(50, 10)),
    "duration[ns][pyarrow]": pd.ArrowDtype(pa.duration("ns")),
    "timestamp[us, UTC][pyarrow]": pd.ArrowDtype(pa.timestamp("us", "UTC")),
    "list[pyarrow]": pd.ArrowDtype(pa.list_(pa.int64())),
    "list of texts[pyarrow]": pd.ArrowDtype(pa.large_list(pa.string())),
    "struct[pyarrow]": pd.ArrowDtype(pa.struct([("a", pa.int64()), ("b", pa.string())])),
    "category of integers": pd.CategoricalDtype([0, 1, 3]),
}


@cache
def column(name: str) -> tuple[pd.Series, Cells]:
    """The edges of a dtype, each once, and what they are to Python."""
    dtype = pd.api.types.pandas_dtype(EVERY[name])
    held = pa.array(pd.Series([], dtype=dtype)).type
    held = held.value_type if pa.types.is_dictionary(held) else held
    unit, zone, scale = getattr(held, "unit", "s"), getattr(held, "tz", None), 0
    objects = dtype == np.dtype(object)
    if isinstance(dtype, pd.CategoricalDtype) or objects:
        cells = [0, 1, 3] if name == "category of integers" else TEXT
        form = "o" if objects else "c"
    elif pa.types.is_struct(held):
        form, cells = "s", [{"a": BIG, "b": "x"}, {"a": None, "b": ""}]
    elif pa.types.is_list(held) or pa.types.is_large_list(held):
        form, cells = "l", [[], [BIG], [1, None, -3]] if held.value_type == pa.int64() else [["a"], [], ["", "b", None]]
    elif pa.types.is_string(held) or pa.types.is_large_string(held):
        form, cells = "t", TEXT
    elif pa.types.is_boolean(held):
        form, cells = "b", [True, False]
    elif pa.types.is_decimal(held):
        most = 10**held.precision - 1
        unscaled = [0, 1, -25, 3 * 10**held.scale, min(BIG, most - 1), most, -most]
        form, cells, scale = "w", [Fraction(x, 10**held.scale) for x in unscaled], held.scale
    elif pa.types.is_timestamp(held) or pa.types.is_date(held):
        form = "Z" if zone else "D"
        counts = [int((m - exactly.EPOCH) / datetime.timedelta(seconds=1)) * 10**9 for m in MOMENTS]
        counts += BETWEEN
        counts = [count // (86_400 * 10**9) * (86_400 * 10**9) if pa.types.is_date(held) else count for count in counts]
        cells = [c for c in dict.fromkeys(counts) if exactly.within(c, unit) is not None]
    elif pa.types.is_duration(held):
        form, cells = "T", [c for c in SPANS if exactly.within(c, unit) is not None]
    elif pa.types.is_floating(held):
        code = held.to_pandas_dtype()
        with np.errstate(all="ignore"):
            form, cells = "f", [float(code(x)) for x in REAL]
    else:
        limits = np.iinfo(held.to_pandas_dtype())
        ends = dict.fromkeys((*WHOLE, limits.min, limits.max))
        form, cells = "u" if held == pa.uint64() else "i", [x for x in ends if limits.min <= x <= limits.max]
    plain = isinstance(dtype, np.dtype) and dtype.kind in "iub"
    series = series_of(cells, dtype, held, unit, form, plain)
    cells = [*cells] if plain else [*cells, None]
    # as pandas has it, but of Arrow's halves of a float
    unknown = form in "ls" or (not plain and pd.isna((series != series).iloc[-1]))
    unknown |= pa.types.is_float16(held)
    nulls, inner = NEVER if plain else NA if unknown else NAN, "i" if name == "list[pyarrow]" else ""
    return series, Cells(cells, form, nulls, zone=zone, unit=unit, scale=scale, inner=inner)


def series_of(cells: list[Any], dtype: Any, held: Any, unit: str, form: str, plain: bool) -> pd.Series:
    """A column of a dtype, with a missing cell at its end where there can be one."""
    cells = cells if plain else [*cells, None]
    if form in "DZT":
        counts = [None if c is None else c // exactly.UNITS[unit] for c in cells]
        if isinstance(dtype, pd.ArrowDtype):
            array = pa.array([c if c is None or not pa.types.is_date32(held) else c // 86_400 for c in counts])
            if pa.types.is_date64(held):
                array = pa.array([None if c is None else c // 10**6 for c in cells])
            array = array.cast(pa.int32()) if pa.types.is_date32(held) else array
            return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array.cast(held)])))
        code = "m8" if form == "T" else "M8"
        ticks = np.array([-(2**63) if c is None else c for c in counts]).view(f"{code}[{unit}]")
        return pd.Series(ticks) if form != "Z" else pd.Series(ticks).dt.tz_localize("UTC").dt.tz_convert(dtype.tz)
    if isinstance(dtype, pd.ArrowDtype):
        if form == "w":
            cells = [
                None if c is None else Decimal(int(c * 10**held.scale)).scaleb(-held.scale, EXACTLY) for c in cells
            ]
        if pa.types.is_float16(held):
            cells = [None if c is None else np.float16(c) for c in cells]
        array = pa.array(cells, held)
        array = array.dictionary_encode() if pa.types.is_dictionary(dtype.pyarrow_dtype) else array
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array.cast(dtype.pyarrow_dtype)])))
    return pd.Series(pd.array(cells, dtype=dtype)) if not isinstance(dtype, np.dtype) else pd.Series(cells, dtype=dtype)


def pairs(first: str, second: str) -> tuple[pd.DataFrame, dict[str, Cells]]:
    """All pairs of edges of two dtypes."""
    (x, xs), (y, ys) = column(first), column(second)
    left, right = np.repeat(np.arange(len(x)), len(y)), np.tile(np.arange(len(y)), len(x))
    frame = pd.DataFrame({"x": x.take(left).reset_index(drop=True), "y": y.take(right).reset_index(drop=True)})

    def spread(cells: Cells, places: np.ndarray) -> Cells:
        return replace(cells, cells=[cells.cells[p] for p in places])

    return frame, {"x": spread(xs, left), "y": spread(ys, right)}


def edges(name: str) -> tuple[pd.DataFrame, dict[str, Cells]]:
    """Edges of a dtype, each beside the next one."""
    x, cells = column(name)
    turned = np.roll(np.arange(len(x)), 1)
    frame = pd.DataFrame({"x": x, "y": x.take(turned).reset_index(drop=True)})
    return frame, {"x": cells, "y": replace(cells, cells=[cells.cells[place] for place in turned])}


X, Y = Column("x"), Column("y")
DAY, HOUR = pd.Timestamp("2024-02-29 12:00"), pd.Timedelta("1h")
NUMBERS: list[Any] = [0, 1, -1, 3, -10, BIG, TEN, -TEN, 2**63, 2**64 - 1, 0.5, 3.0, 0.1, -0.0]
CONSTANTS: list[Any] = [*NUMBERS, True, "a", DAY, DAY.tz_localize("UTC"), HOUR]
TRUE, MISSING = Operation("==", (X, X)), Operation("isna", (Y,))
EQUAL, OTHER = Operation("==", (X, Y)), Operation("!=", (X, Y))
ARGUMENTS: dict[str, list[tuple[Any, ...]]] = method_arguments.ARGUMENTS | {
    "isin": [(["a", "x"],), ([1, 0.5, BIG, 3.0, 2**64 - 1],), ([DAY],), ([HOUR],), ([],)],
    "between": [(0, BIG), (-1, 0.5, "neither"), ("a", "b"), (DAY, DAY, "left"), (HOUR, HOUR)],
    "clip": [(0, 1), (BIG, None), (None, TEN), (0.5, 2.5), (-5, 2**64 - 1), (None, 1e300), (-np.inf, 3.0)],
    "round": [(), (1,), (-1,), (-2,), (-18,), (-19,)],
    "fillna": [(value,) for value in (0, BIG, 0.5, 2.0, 2**63, "a", DAY, DAY.tz_localize("UTC"), HOUR, True)],
    "astype": [("float64",), ("int64",), ("bool",), ("string",)],
    "where": [
        (TRUE,),
        (TRUE, Y),
        *((EQUAL, value) for value in (BIG, 0.5, 2.0)),
        *((OTHER, value) for value in ("a", HOUR)),
    ],
    "mask": [(TRUE,), (MISSING, Y), (Operation(">", (X, Y)), Y)],
    "case_when": [
        ([(TRUE, BIG), (MISSING, Y)],),
        ([(OTHER, Y), (True, BIG)],),
        ([(TRUE, "a"), (True, "b")],),
    ],
    "cut": [([-1, 0, BIG],), ([0, 0.5, TEN], False), ([DAY, DAY + HOUR],), ([pd.Timedelta(0), HOUR, HOUR * 24],)],
    "map": [({"a": 1, "x": 2},), ({1: "p", 0.5: "q", BIG: "r"},), ({0: True},), ({DAY: BIG},), ({HOUR: DAY},)],
    "str.startswith": [("a",), (["a", ""], False)],
    "str.endswith": [("x",), (["a", "5"], False)],
    "str.contains": [("a",), ("é", False), (".", True, 0, False, False)],
    "str.slice": [(0, 1), (None, None, -1)],
    "str.strip": [(), ("a5",)],
    "str.lstrip": [(), ("a5",)],
    "str.rstrip": [(), ("a5",)],
}


def accepted(build: Callable[[], Expression]) -> list[Expression]:
    """The tree, where there is one of these arguments."""
    try:
        return [build()]
    except (ArgumentTypeError, ArgumentValueError):
        return []


ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")


def takes(function: Callable[..., Any], operands: int) -> bool:
    """Whether an operation is one of so many operands."""
    try:
        inspect.signature(function).bind(*range(operands))
    except TypeError:
        return False
    return True


def trees(other: bool) -> Iterator[tuple[str, Expression]]:
    """Every operation, method and property, of one column and beside constants; or of two columns alone."""
    for op, operation in OPERATIONS.items():
        shapes: list[tuple[Expression, ...]] = [(X,), *((X, Constant(value)) for value in CONSTANTS)]
        shapes += [(Constant(value), X) for value in (7, TEN, 0.5, DAY, HOUR) if op in ARITHMETIC]
        if other:
            shapes = [(X, Y), *((Operation(cmp, (X, Y)), Operation("<", (Y, X))) for cmp in ("==", "!="))]
        wanting = op in ("round", "case_when") or (other and op in ("fillna", "at_least", "at_most"))
        for shape in shapes:
            if takes(operation, len(shape)) and not wanting:
                yield op, Operation(op, shape)
    if other:
        for op in ("==", "!=", "<"):
            yield "not", Operation("not", (Operation(op, (X, Y)),))
        yield "case_when", Operation("case_when", (X, Operation("<", (X, Y)), Y, Operation("!=", (X, Y)), X))
        return
    for name, method in METHODS.items():
        for given in ARGUMENTS.get(name, [()]):
            yield from ((name, tree) for tree in accepted(lambda method=method, given=given: method(X, *given)))
    yield from method_arguments.parts_of_text(METHODS)
    yield from ((name, build(X)) for name, build in PROPERTIES.items())


def cells_of(values: Values, length: int) -> list[Any]:
    """Cells of what an expression computed."""
    data = np.broadcast_to(np.array(values.data, dtype=object), (length,)).tolist()
    missing = np.broadcast_to(values.missing, (length,))
    far = np.zeros(length) if values.infinite is None else np.broadcast_to(values.infinite, (length,))
    if values.kind is Kind.NUMBER and values.data.dtype.kind == "O":
        data = [Fraction(int(cell), 10**values.scale) for cell in data]
    if values.rest is not None:
        rest = np.broadcast_to(values.rest, (length,)).tolist()
        data = [int(cell) + more if more else cell for cell, more in zip(data, rest, strict=True)]
    if values.unit:
        data = [int(cell) * exactly.UNITS[values.unit] for cell in data]
    return [None if gone else float(end) if end else cell for cell, gone, end in zip(data, missing, far, strict=True)]


def alike(found: Any, wanted: Any) -> bool:
    """One cell, of numbers in every digit; a float result of the same float."""
    if found is None or wanted is None or isinstance(wanted, bool):
        return found is wanted or (
            found is not None and wanted is not None and bool(found) == wanted and found in (0, 1)
        )
    return bool(found == wanted)


def wrong(tree: Expression, frame: pd.DataFrame, columns: dict[str, Cells]) -> str | None:
    """What is wrong with an expression: with the cells, those that are written, the rows that a filter keeps, or a refusal."""
    try:
        answer = expected(tree, columns)
    except Refused:
        answer = None
    try:
        found, empty = tree.values(frame), tree.evaluate(frame.iloc[:0])
    except (ArgumentTypeError, ArgumentValueError):
        return None if answer is None else "refused"
    if answer is None:
        return "not refused"
    length = len(frame)
    wanted = answer.cells * length if len(answer.cells) != length else answer.cells
    cells = cells_of(found, length)
    bad = [place for place in range(length) if not alike(cells[place], wanted[place])]
    if bad:
        row = {name: column.cells[bad[0]] for name, column in columns.items()}
        return f"{len(bad)} of {length} cells: {row} gives {cells[bad[0]]!r}, not {wanted[bad[0]]!r}"
    if (found.nulls == NA) != (answer.nulls == NA):
        return f"a missing cell of it means {found.nulls.name}"
    column = write(found, frame.index)
    if column.dtype != empty.dtype:
        return "the dtype follows from cells"
    if answer.form in "iuwf":
        again = ["gone" if gone else cell for cell, gone in zip(column.tolist(), column.isna(), strict=True)]
        floats = str(column.dtype) in ("float64", "Float64")
        most = np.inf if column.dtype not in ("int64", "uint64") else np.nextafter(float(np.iinfo(column.dtype).max), 0)
        told = answer.kept if isinstance(answer.kept, list) else [answer.kept] * length
        kept = [
            "gone" if c is None else c if not floats and (k or answer.nulls == NA) else min(exactly.near(c), most)
            for c, k in zip(wanted, told, strict=True)
        ]
        if [
            c if c == "gone" else Fraction(c) if not isinstance(c, float) or math.isfinite(c) else c for c in again
        ] != kept:
            return f"what is written as {column.dtype} is not what was computed"
    if answer.form == "b" and tree.condition(frame).tolist() != [cell is True for cell in wanted]:
        return "the rows that a filter keeps"
    return None


def faults(first: str, second: str | None) -> dict[str, list[str]]:
    """What is wrong by operation: of one column, or of two."""
    frame, columns = edges(first) if second is None else pairs(first, second)
    found: dict[str, list[str]] = {}
    for name, tree in trees(second is not None):
        said = wrong(tree, frame, columns)
        if said is not None:
            found.setdefault(name, []).append(f"{tree}: {said}")
    return found


FAST = ["int64", "Int64", "float64", "boolean", "string[pyarrow]", "datetime64[us]"]
EACH = [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in EVERY]


def said(found: dict[str, list[str]]) -> str:
    """Faults, some of each operation."""
    return "\n".join(f"{name}: {len(lines)}, {lines[0]}" for name, lines in found.items())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", EACH)
def test_an_expression_gives_what_python_gives_on_the_edges_of_a_dtype(name):
    found = faults(name, None)
    assert not found, said(found)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", EACH)
def test_an_expression_of_two_columns_gives_what_python_gives(name):
    found = faults(name, name)
    assert not found, said(found)


MIXED = ["int64", "uint64", "Int64", "UInt64", "uint8", "float64", "Float64", "bool", "boolean", "decimal128(38, 0)"]
MIXED += ["decimal128(12, 2)[pyarrow]", "int64[pyarrow]", "str", "string", "object", "category", "datetime64[s]"]
MIXED += ["timestamp[us][pyarrow]", "datetime64[ns]", "timedelta64[ns]", "duration[ms][pyarrow]"]


@pytest.mark.slow
@pytest.mark.parametrize("first", MIXED)
def test_an_expression_of_columns_of_two_dtypes_gives_what_python_gives(first):
    found = {second: faults(first, second) for second in MIXED if second != first}
    assert not any(found.values()), "\n".join(f"{second}: {said(lines)}" for second, lines in found.items() if lines)


def test_every_operation_is_asked_and_known():
    """A new one that `exactly` does not know, or that no tree here is made of, fails this."""
    asked = {name for other in (False, True) for name, _ in trees(other)}
    assert asked == {*OPERATIONS, *METHODS, *PROPERTIES}
    assert {*exactly.OPERATIONS} == {*OPERATIONS}
    assert {*exactly.METHODS} == {*ROWWISE}
    answered = set()
    for name in (
        "float64",
        "str",
        "bool",
        "datetime64[us]",
        "datetime64[us, Europe/Berlin]",
        "timedelta64[ns]",
        "struct[pyarrow]",
    ):
        columns = edges(name)[1]
        for op, tree in (*trees(False), *trees(True)):
            with contextlib.suppress(Refused):
                expected(tree, columns)
                answered.add(op)
    assert answered == asked


Made = dict[str, Expression]
STEPS: dict[str, Callable[[pd.DataFrame], tuple[tuple[steps.Step, ...], Expression | None, Made]]] = {
    "query": lambda e: (steps.query("not (x == y)", e), Operation("not", (EQUAL,)), {}),
    "filter": lambda e: (steps.filter_(lambda d: d.x != d.y, e), OTHER, {}),
    "dropna": lambda e: (steps.dropna("x", e), Operation("not", (Operation("isna", (X,)),)), {}),
    "assign": lambda e: (
        steps.assign(e, z=lambda d: d.x.where(d.x != d.y)),
        None,
        {"z": Operation("where", (X, OTHER))},
    ),
    "eval": lambda e: (steps.eval_("z = x.fillna(9007199254740993)", e), None, {"z": METHODS["fillna"](X, BIG)}),
    "clip": lambda e: (steps.clip(3, BIG, e, columns="x"), None, {"x": METHODS["clip"](X, 3, BIG)}),
    "fillna": lambda e: (steps.fillna({"x": BIG}, e), None, {"x": METHODS["fillna"](X, BIG)}),
    "merge": lambda e: (
        steps.merge({"x": [0, BIG], "z": [1, 2]}, "x", "left", e),
        None,
        {"z": METHODS["map"](X, {0: 1, BIG: 2})},
    ),
}


@pytest.mark.parametrize("name", EACH)
def test_a_step_does_what_python_does(name):
    """Drop and rename compute nothing, and explode has its own tests."""
    assert {*STEPS, "drop", "rename", "explode"} == {step for step in vars(steps.RowSteps) if not step.startswith("_")}
    frame, columns = edges(name)
    for step, build in STEPS.items():
        try:
            done, kept, made = build(frame.iloc[:0])
        except (ArgumentTypeError, ArgumentValueError):
            continue  # refused as the expression is, which has to agree above
        rows = range(len(frame)) if kept is None else np.flatnonzero([c is True for c in expected(kept, columns).cells])
        result = applied(done, frame)
        assert result.index.tolist() == [*rows], step
        for column_name, tree in made.items():
            pd.testing.assert_series_equal(result[column_name], tree.evaluate(frame), check_names=False)
            assert wrong(tree, frame, columns) is None, step


SMALL = [0, 1, 2, 3, -1, -7, 15, 25, 100, 2**31]
# which floats and integers hold
FAR = [
    2**53 - 1,
    -(2**53),
    2**53 + 2,
    TEN - 3,
    2**62,
    -(2**62) - 2**30,
    2**63 - 1024,
    -(2**63),
    -(2**63) + 1024,
    2**63,
    2**64 - 2048,
]


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("int8", "int32", "uint8", "uint32", "uint64")]


def told_apart(one: pd.DataFrame, other: pd.DataFrame, kept: int) -> list[str]:
    """Expressions that say another thing of the first rows of two tables, or write another thing."""
    found = []
    for _, tree in (*trees(False), *trees(True)):
        for asked in (tree, *accepted(lambda tree=tree: Operation("/", (Constant(1), tree)))):
            try:
                values = [asked.values(frame) for frame in (one, other)]
            except (ArgumentTypeError, ArgumentValueError):
                continue
            first, second = (cells_of(v, len(f))[:kept] for v, f in zip(values, (one, other), strict=True))
            if first != second:
                found.append(str(asked))
            columns = [write(v, f.index)[:kept] for v, f in zip(values, (one, other), strict=True)]
            first, second = ([None if pd.isna(cell) else cell for cell in column.tolist()] for column in columns)
            if first != second:
                found.append(f"written: {asked}")
    return found


@pytest.mark.parametrize("name", ["int64", *OTHERS])
def test_a_missing_cell_in_another_row_changes_no_row(name):
    """NumPy makes floats of integers beside a missing one: rows say the same then, of each cell that both can hold."""
    limits = np.iinfo(name)
    cells = [x for x in (*SMALL, *FAR) if limits.min <= x <= limits.max]
    assert all(int(float(cell)) == cell for cell in cells)
    x, y = (np.array(part, dtype=name) for part in (np.repeat(cells, len(cells)), np.tile(cells, len(cells))))
    whole = pd.DataFrame({"x": x, "y": y})
    floats = pd.concat([whole, pd.DataFrame({"x": [np.nan], "y": [np.nan]})], ignore_index=True)
    assert set(floats.dtypes) == {np.dtype("float64")}
    assert told_apart(whole, floats, len(whole)) == []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("turned", ["x", "y"])
def test_a_missing_cell_in_another_column_changes_no_cell_that_floats_do_not_hold(turned):
    cells = [x for x in (*SMALL, *FAR) if x < 2**63]
    sides = {turned: cells, "xy".replace(turned, ""): [0, 3, BIG, TEN, -(2**60) - 1, 2**63 - 1]}
    pairs = [*itertools.product(*sides.values())]
    whole = pd.DataFrame({name: [pair[place] for pair in pairs] for place, name in enumerate(sides)})
    assert told_apart(whole, whole.astype({turned: "float64"}), len(whole)) == []


# Pandas, where it is exact

SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">=": operator.ge,
}
LOGIC: dict[str, Callable[[Any, Any], Any]] = {
    "alone": lambda d, sign: sign(d.x, d.y),
    "not": lambda d, sign: ~sign(d.x, d.y),
    "and": lambda d, sign: sign(d.x, d.y) & sign(d.y, d.x),
    "or": lambda d, sign: sign(d.x, d.y) | ~sign(d.y, d.x),
    "not and": lambda d, sign: ~(sign(d.x, d.y) & (d.x == d.x)),
    "not missing": lambda d, sign: sign(d.x, d.y) & d.y.notna(),
}
KEPT = [
    case
    for case in EACH
    if case.values[0] not in ("halffloat[pyarrow]", "object") and not case.values[0].startswith(("list", "struct"))
]  # of which pandas is of another mind


@pytest.mark.parametrize("name", KEPT)
def test_a_filter_keeps_the_rows_that_pandas_keeps(name):
    frame = pairs(name, name)[0]
    for sign in ("==", "!=") if name.startswith("category") else SIGNS:
        for logic, condition in LOGIC.items():
            (step,) = steps.filter_(lambda d, c=condition, s=sign: c(d, SIGNS[s]), frame.iloc[:0])
            wanted = frame[condition(frame, SIGNS[sign])].index.tolist()
            assert step.apply(frame).index.tolist() == wanted, (sign, logic)


INTEGERS = ["int64", "uint64", "Int64", "UInt64", "int64[pyarrow]"]
PYTHON = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}


@pytest.mark.parametrize("op", PYTHON)
@pytest.mark.parametrize("name", INTEGERS)
def test_arithmetic_of_integers_is_that_of_pandas_where_that_is_exact(name, op):
    """Where the result has the dtype, and nothing is divided by zero; Arrow has no remainders."""
    if (name, op) == ("int64[pyarrow]", "%"):
        op = "-"
    frame, columns = pairs(name, name)
    limits = exactly.FITS[columns["x"].form]
    exact = [
        None if x is None or y is None or (not y and op in "//%") else PYTHON[op](x, y)
        for x, y in zip(columns["x"].cells, columns["y"].cells, strict=True)
    ]
    least, most = limits
    floats = name in ("int64", "uint64") and op in "+-*"  # of NumPy's, which become floats
    if floats:
        least, most = max(-(2**53), limits[0]), 2**53
    both = zip(columns["x"].cells, columns["y"].cells, strict=True)
    small = [not floats or all(least <= cell <= most for cell in pair) for pair in both]
    kept = [few and result is not None and least <= result <= most for few, result in zip(small, exact, strict=True)]
    frame = frame[kept].reset_index(drop=True)
    assert len(frame) > 20
    found = Operation(op, (X, Y)).evaluate(frame)
    assert [int(cell) for cell in found] == PYTHON[op](frame.x, frame.y).tolist() or found.dtype.kind == "f"
    assert cells_of(Operation(op, (X, Y)).values(frame), len(frame)) == PYTHON[op](frame.x, frame.y).tolist()


# Pandas has none of text, or gives lists, or multiplies nanoseconds by a rounded factor.
OWN = {"str.to_datetime", "list.len", "str.split", "str.rsplit", "dt.total_seconds"}


def of_pandas(name: str, column: pd.Series, frame: pd.DataFrame, given: tuple[Any, ...]) -> pd.Series:
    """What pandas makes of a column by a method or an attribute of an accessor."""
    space, _, member = name.partition(".")
    found = getattr(getattr(column, space), member)
    given = tuple(
        frame.y if isinstance(part, Column) else tuple(part) if isinstance(part, list) else part for part in given
    )
    words: dict[str, Any] = {"str.contains": {"regex": False}, "str.extract": {"expand": False}}.get(name, {})
    if name == "str.contains" and len(given) == 5:
        words = {}
    if name == "dt.tz_localize":
        given, words = given or (None,), {"ambiguous": "NaT", "nonexistent": "NaT"}
    return found(*given, **words) if callable(found) else found


def plain(cell: Any) -> Any:
    """A cell in one form, whatever dtype held it; unknown truth is False."""
    if pd.isna(cell):
        return None
    return float(cell) if isinstance(cell, int | float | np.number) and not isinstance(cell, bool) else cell


@pytest.mark.parametrize(
    "name", ["str", "object", "datetime64[us]", "datetime64[us, Europe/Berlin]", "timedelta64[ns]"]
)
@pytest.mark.filterwarnings("ignore:Series.dt.*deprecated")
def test_methods_of_text_and_dates_are_those_of_pandas(name):
    """But for texts that grow without end, and dates that leave what nanoseconds hold, which are missing."""
    x, _ = column(name)
    lost = pd.Timestamp.min.ceil("us"), pd.Timestamp.max.floor("us")
    if "datetime" in name:  # of which pandas knows all that it can write with a time zone
        x = x[x.isna() | ((x > pd.Timestamp("1700", tz=x.dt.tz)) & (x < pd.Timestamp("2200", tz=x.dt.tz)))].reset_index(
            drop=True
        )
    frame = pd.DataFrame({"x": x, "y": x.iloc[::-1].reset_index(drop=True)})
    asked, wrong = 0, []
    for method in (*METHODS, *PROPERTIES):
        space, _, member = method.partition(".")
        if not space or method in OWN or not hasattr(getattr(x, space, None), member):
            continue
        for given in ARGUMENTS.get(method, [()]):
            built = accepted(lambda m=method, g=given: PROPERTIES[m](X) if m in PROPERTIES else METHODS[m](X, *g))
            try:
                found = [plain(cell) for cell in built[0].evaluate(frame).astype(object)] if built else None
            except (ArgumentTypeError, ArgumentValueError):
                continue
            wanted = [plain(cell) for cell in of_pandas(method, frame.x, frame, given).astype(object)] if found else []
            asked += 1
            for mine, theirs in zip(found or [], wanted, strict=True):
                grown = isinstance(theirs, str) and len(theirs) > 10_000
                unknown = {mine, theirs} == {None, False}
                if isinstance(theirs, pd.Timestamp) and mine is None:
                    unknown = not lost[0] <= theirs.tz_localize(None) <= lost[1]
                if mine != theirs and not grown and not unknown:
                    wrong.append(f"{method}{given}: {mine!r:.40} for {theirs!r:.40}"[:150])
    assert wrong == []
    assert asked >= 9


# Frames, scans and Dask go through the same

ASKED = ["x == y", "x != y", "not (x == y)", "not (x < y) and not y.isna()"]
OF_INTEGERS = [
    "x not in [1, 3]",
    "x % 10 == 3",
    "x - 9007199254740992 == 1",
    "not (x // 2 == 0)",
    "x.clip(5, 9007199254740993) == 2 ** 53 + 1",
]
SCANNED = ["int64", "Int64", "uint64", "float64", "boolean", "str", "datetime64[us]", "decimal128(12, 2)[pyarrow]"]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in ("Int64", "str") else [pytest.mark.slow]) for n in SCANNED]
)
def test_frames_and_scans_count_what_python_counts(name, tmp_path):
    """A scan reads integers with a place for missing ones, so its conditions know three truth values."""
    frame, columns = pairs(name, name)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=7)
    scanned = pandas_dp.scan_parquet(tmp_path / "rows.parquet")
    asked = ["~x", "x & y", "x | y"] if name == "boolean" else ASKED + (OF_INTEGERS if "int" in name.lower() else [])
    for held, known in ((frame, columns), (scanned, {key: replace(cells, nulls=NA) for key, cells in columns.items()})):
        held.dp.protect(epsilon=1e6, name=f"{SCANNED.index(name)} of {type(held).__name__}")
        for text in asked:
            wanted = expected(parse_expression(text, ["x", "y"]), known).cells.count(True)
            assert held.dp.query(text).dp(epsilon=1e4, fresh=True).count() == wanted, (text, type(held))


def conditions(tree: Expression, columns: dict[str, Cells]) -> list[Expression]:
    """The truth of it; or that it is missing, and that it is at most one of its values."""
    answer = expected(tree, columns)
    if answer.form == "b":
        return [tree]
    kinds: Any = str if answer.form in "to" else int | float
    cells = sorted(c for c in answer.cells if isinstance(c, kinds)) if answer.form in "iufto" else []
    # an integer that is larger than a constant may be is written as a float
    cells = [float(c) if isinstance(c, int) and not -(2**63) <= c < 2**64 else c for c in cells]
    sign = (
        "==" if tree.columns() and {columns[name].form for name in tree.columns()} & {"c"} else "<="
    )  # which have no order
    return [
        Operation("isna", (tree,)),
        *(Operation(sign, (tree, Constant(cell))) for cell in cells[len(cells) // 2 :][:1]),
    ]


def as_held(cells: Cells, dtype: Any, was: Any, elsewhere: bool) -> Cells:
    """What a scan or Dask declares of a column: Dask's whole numbers of NumPy may have been floats in another part of them."""
    forms = {"str": "t", "string": "t", "object": "o", "category": "c"} | ({"int64": "i"} if cells.form == "c" else {})
    form = forms.get(str(dtype).split("[")[0], cells.form)
    if elsewhere and isinstance(was, np.dtype) and was.kind in "iu":  # beside a missing cell they are floats
        form, cells = "f", replace(cells, cells=[None if c is None else float(c) for c in cells.cells])
    return replace(cells, form=form, nulls=int(nulls_of(dtype)))


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "Int64" else [pytest.mark.slow]) for n in EVERY])
def test_scans_and_dask_compute_every_step_as_frames_do(name, tmp_path):
    """Half of the operations with each dtype, by turns on one of them: each of them meets each operation and each dtype."""
    frame, columns = edges(name)
    tried: dict[str, list[Expression]] = {}
    for op, tree in trees(False):
        with contextlib.suppress(Refused):
            expected(tree, columns)
            tried.setdefault(op, []).append(tree)
    turn, found = sorted(EVERY).index(name), []
    with dask.config.set(scheduler="sync"):
        for place, held in enumerate((scanned(frame, tmp_path), dd.from_pandas(frame, npartitions=3, sort=False))):
            held.dp.protect(epsilon=1e6, name=fresh())
            dtypes = held.dp._empty().dtypes
            known = {key: as_held(c, dtypes[key], frame.dtypes[key], place == 1) for key, c in columns.items()}
            for number, (_, listed) in enumerate(sorted(tried.items())):
                if (number + turn) % 4 != 2 * place:
                    continue
                tree = listed[(number + turn) // 2 % len(listed)]
                for asked in conditions(tree, known) if answered(tree, known) else []:
                    wanted = expected(asked, known).cells.count(True)
                    count = (
                        held.dp.filter(lambda _, asked=asked: TracedColumn(asked, ""))
                        .dp(epsilon=1e3, fresh=True)
                        .count()
                    )
                    if count != wanted:
                        found.append(f"{type(held).__name__}: {asked} of {count} rows, not {wanted}")
    assert found == []


def answered(tree: Expression, columns: dict[str, Cells]) -> bool:
    """Whether an expression is taken of columns of these kinds: a scan has text where pandas has categories of them."""
    try:
        return bool(expected(tree, columns).cells)
    except Refused:
        return False


def scanned(frame: pd.DataFrame, folder: Path) -> Any:
    frame.to_parquet(folder / "rows.parquet", row_group_size=5)
    return pandas_dp.scan_parquet(folder / "rows.parquet")


# The test of the test


def test_what_it_is_there_for_is_found(monkeypatch):
    """Arithmetic in floats, truth of two values, and a calendar without its last day: as it was once."""
    arithmetic, compare, part = OPERATIONS["%"], OPERATIONS["!="], OPERATIONS["dt.year"]

    def two_valued(left: Values, right: Values) -> Values:
        found = compare(left, right)
        return booleans(found.data | found.missing)

    def days_but_the_last(dates: Values) -> Values:
        found = part(dates).floats()
        return numbers(np.where(found == 9999, np.nan, found))

    monkeypatch.setitem(OPERATIONS, "%", lambda x, y: arithmetic(numbers(x.floats(), x.nulls), y))
    monkeypatch.setitem(OPERATIONS, "!=", two_valued)
    monkeypatch.setitem(OPERATIONS, "dt.year", days_but_the_last)
    assert {"%"} <= faults("int64", None).keys() & faults("Int64", None).keys()
    assert "!=" in faults("Int64", "Int64")
    assert "dt.year" in faults("datetime64[us]", None)

"""Tables for the tests of steps: the same cells in every storage, drawn tables, and drawn expressions over them."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from pandas_dp.steps.dates import PARTS
from pandas_dp.steps.expression import Column, Constant, Expression, IsIn, Map, Method, Operation

NUMBER_STORAGE = {
    "float64": "float64",
    "float32": "float32",
    "Int64": "Int64",
    "Int16": "Int16",
    "Float64": "Float64",
    "int64[pyarrow]": pd.ArrowDtype(pa.int64()),
    "double[pyarrow]": pd.ArrowDtype(pa.float64()),
    "halffloat[pyarrow]": pd.ArrowDtype(pa.float16()),
    "decimal[pyarrow]": pd.ArrowDtype(pa.decimal128(12, 2)),
    "dictionary[pyarrow]": pd.ArrowDtype(pa.dictionary(pa.int8(), pa.int64())),
}
TEXT_STORAGE = {
    "str": "str",
    "str python": pd.StringDtype("python", na_value=np.nan),
    "string": pd.StringDtype("pyarrow"),
    "string python": pd.StringDtype("python"),
    "string[pyarrow]": pd.ArrowDtype(pa.string()),
    "large_string[pyarrow]": pd.ArrowDtype(pa.large_string()),
    "dictionary[pyarrow]": pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())),
    "object": "object",
}
BOOLEAN_STORAGE = {"boolean": "boolean", "bool[pyarrow]": pd.ArrowDtype(pa.bool_())}
DATE_STORAGE = {
    "s": "datetime64[s]",
    "us": "datetime64[us]",
    "ns": "datetime64[ns]",
    "timestamp[ms][pyarrow]": pd.ArrowDtype(pa.timestamp("ms")),
    "date32[pyarrow]": pd.ArrowDtype(pa.date32()),
    "date64[pyarrow]": pd.ArrowDtype(pa.date64()),
}


def nullable(storage: object) -> bool:
    """Whether a comparison with a missing cell is unknown in a dtype of these lists."""
    text = isinstance(storage, pd.StringDtype) and storage.na_value is pd.NA
    return text or isinstance(storage, pd.ArrowDtype) or str(storage)[0] in "IFb"


def plain(result: pd.Series) -> list[object]:
    """Cells as Python's own, None where missing, whatever stores them."""
    return [None if missing else cell for cell, missing in zip(result.tolist(), result.isna(), strict=True)]


def floats(result: pd.Series) -> list[float]:
    """Numbers as Python's floats, NaN where missing, whatever stores them."""
    return [math.nan if cell is None else float(cell) for cell in plain(result)]


def stored(cells: list[object], dtype: object) -> pd.Series:
    """A column of these cells, None where missing."""
    if dtype == "object":
        return pd.Series(cells, dtype=object)
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
        if pa.types.is_decimal(kind):
            cells = [None if cell is None else Decimal(cell) for cell in cells]
        if pa.types.is_date(kind):
            cells = [None if cell is None else cell.date() for cell in cells]
        if pa.types.is_float16(kind):
            cells = [None if cell is None else np.float16(cell) for cell in cells]
        plain = pa.array(cells, kind.value_type if pa.types.is_dictionary(kind) else kind)
        array = plain.dictionary_encode() if pa.types.is_dictionary(kind) else plain
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array.cast(kind)])))
    return pd.Series(cells, dtype="object").astype(dtype)


# Drawn tables: extreme cells, repeated labels, every kind of column

_floats = st.floats(width=64) | st.sampled_from([0.0, -0.0, 1.0, 1e308, -1e308, 5e-324, 2.0**53])
_integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
_texts = st.text(max_size=3) | st.sampled_from(["a", "b", "", "\x00", "\ud800", "Z", "1", " -2.5e3"])
_clean_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3) | st.sampled_from(["a", "b", "", "Z"])
_counts = st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-(10**6), 10**6)


def _optional(cells: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | cells


def _times(draw: st.DrawFn, n: int, code: str, unit: str) -> np.ndarray:
    counts = draw(st.lists(_counts | st.just(-(2**63)), min_size=n, max_size=n))  # the least one is NaT
    return np.array(counts, dtype=np.int64).view(f"{code}[{unit}]")


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 5) -> pd.DataFrame:
    """A table with columns of every kind; dtypes are always the same, cells are anything."""
    n = draw(st.integers(0, max_rows))

    def column(cells: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(cells, min_size=n, max_size=n))

    objects = st.sampled_from(
        [None, 3, 2**70, "a", "b", float("nan"), Decimal("sNaN"), [1], {"k": 1}, pd.NaT, "\ud800"]
    )
    cell_lists = np.empty(n, dtype=object)
    cell_lists[:] = column(objects)
    frame = pd.DataFrame(
        {
            "f": np.array(column(_floats), dtype="float64"),
            "i": np.array(column(_integers), dtype="int64"),
            "u": np.array(column(st.integers(0, 2**64 - 1)), dtype="uint64"),
            "ni": pd.array(column(_optional(_integers)), dtype="Int64"),
            "ai": pd.array(column(_optional(_integers)), dtype=pd.ArrowDtype(pa.int64())),
            "nb": pd.array(column(_optional(st.booleans())), dtype="boolean"),
            "b": np.array(column(st.booleans()), dtype=bool),
            "s": pd.array(column(_optional(_clean_texts)), dtype="str"),
            "sp": pd.array(column(_optional(_texts)), dtype=pd.StringDtype("python", na_value=np.nan)),
            "o": pd.Series(cell_lists, dtype=object),
            "c": pd.Categorical(column(_optional(st.sampled_from(["a", "b", "zz"])))),
            "ci": pd.Categorical(column(_optional(st.integers(0, 3))), categories=[0, 1, 2, 3]),
            "d": _times(draw, n, "M8", "us"),
            "ds": _times(draw, n, "M8", "s"),
            "t": _times(draw, n, "m8", "us"),
            "tn": _times(draw, n, "m8", "ns"),
        }
    )
    zoned = pd.Series(_times(draw, n, "M8", "ns") if n else np.array([], "M8[ns]"))
    frame["z"] = zoned.dt.tz_localize("UTC").array
    frame.index = pd.Index(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype="int64")
    return frame


# Drawn expressions, always of kinds that fit


def _operation(op: str, *operands: Expression) -> Expression:
    return Operation(op, operands)


_number_constants = st.one_of(
    st.floats(allow_nan=False), st.integers(-(2**63), 2**64 - 1), st.sampled_from([0, 1, 2, -1, 0.5])
).map(Constant)
_columns = {
    "number": ["f", "i", "u", "ni", "ai", "b", "nb"],
    "text": ["s", "sp", "o"],
    "date": ["d", "ds"],
    "duration": ["t", "tn"],
}


@cache
def numbers(depth: int = 3) -> st.SearchStrategy[Expression]:
    """Expressions that give numbers."""
    leaves = st.sampled_from(_columns["number"]).map(Column) | _number_constants
    if not depth:
        return leaves
    inner = numbers(depth - 1)
    functions = ["negative", "abs", "sqrt", "exp", "log", "log1p", "expm1", "floor", "ceil"]
    plain = st.sampled_from(["f", "i", "u", "ni", "ai"]).map(Column)
    return st.one_of(
        leaves,
        st.builds(_operation, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), inner, inner),
        st.builds(_operation, st.sampled_from(functions), inner),
        st.builds(_operation, st.just("round"), inner, st.integers(-30, 30).map(Constant)),
        st.builds(_operation, st.sampled_from(["at_least", "at_most"]), plain, _number_constants),
        st.builds(_operation, st.just("fillna"), plain, _number_constants),
        st.builds(_operation, st.just("/"), durations(depth - 1), durations(depth - 1)),
        changed_texts().map(lambda changed: Method("str.len", (changed,))),
        st.builds(
            lambda name, dtype: Method("astype", (Column(name),), (("dtype", dtype),)),
            st.sampled_from(["f", "i", "u", "ni", "ai", "b", "nb", "s", "sp", "o", "c", "ci"]),
            st.sampled_from(["float64", "int64"]),
        ),
        st.builds(_operation, st.sampled_from([f"dt.{name}" for name in PARTS]), dates(0) | st.just(Column("z"))),
    )


_moments = st.datetimes(datetime.datetime(1677, 9, 22), datetime.datetime(2262, 4, 11))


@cache
def durations(depth: int = 2) -> st.SearchStrategy[Expression]:
    """Expressions that give durations."""
    longest = datetime.timedelta(days=106_751)  # farther ones can only be compared
    constants = st.timedeltas(-longest, longest).map(Constant)
    leaves = st.sampled_from(_columns["duration"]).map(Column) | constants
    if not depth:
        return leaves
    inner = durations(depth - 1)
    return st.one_of(
        leaves,
        st.builds(_operation, st.just("-"), dates(depth - 1), dates(depth - 1)),
        st.builds(_operation, st.sampled_from(["+", "-"]), inner, inner),
        st.builds(_operation, st.sampled_from(["negative", "abs"]), inner),
        st.builds(_operation, st.just("fillna"), inner, constants),
    )


@cache
def dates(depth: int = 2) -> st.SearchStrategy[Expression]:
    """Expressions that give dates."""
    leaves = st.sampled_from(_columns["date"]).map(Column) | _moments.map(Constant)
    if not depth:
        return leaves
    return leaves | st.builds(_operation, st.sampled_from(["+", "-"]), dates(depth - 1), durations(depth - 1))


@cache
def changed_texts() -> st.SearchStrategy[Expression]:
    """Text made from text, objects and categories."""
    column = st.sampled_from([*_columns["text"], "c", "ci"]).map(lambda name: (Column(name),))
    bounds = st.none() | st.integers(-3, 3)
    steps = st.sampled_from([None, 1, 2, -1])
    return st.one_of(
        st.builds(Method, st.sampled_from(["str.lower", "str.upper", "str.strip"]), column),
        st.builds(Method, st.just("str.rstrip"), column, st.just((("to_strip", "ab"),))),
        st.sampled_from(["f", "i", "u", "ni", "nb", "o", "sp", "c", "ci"]).map(
            lambda name: Method("astype", (Column(name),), (("dtype", "string"),))
        ),
        st.builds(
            lambda x, *cut: Method("str.slice", x, tuple(zip(("start", "stop", "step"), cut, strict=True))),
            column,
            bounds,
            bounds,
            steps,
        ),
    )


@cache
def text_tests() -> st.SearchStrategy[Expression]:
    """Truth values of text."""
    column = st.one_of(
        st.sampled_from([*_columns["text"], "c", "ci"]).map(lambda name: (Column(name),)),
        changed_texts().map(lambda changed: (changed,)),
    )
    searched = st.builds(
        lambda pat, case: (("pat", pat), ("case", case), ("regex", False)), _clean_texts, st.booleans()
    )
    begun = st.builds(lambda pat: (("pat", pat),), _clean_texts | st.lists(_clean_texts, max_size=2).map(tuple))
    return st.builds(Method, st.just("str.contains"), column, searched) | st.builds(
        Method, st.sampled_from(["str.startswith", "str.endswith"]), column, begun
    )


_some_numbers = st.integers(-3, 3) | st.sampled_from([0.5, 2.0**53, -1e308, np.inf, 2**63])
_edges = st.lists(st.integers(-9, 9), min_size=2, max_size=4, unique=True).map(sorted).map(tuple)


def _pairs(keys: st.SearchStrategy[object], values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple]:
    return st.dictionaries(keys, values, min_size=1, max_size=4).map(lambda pairs: tuple(pairs.items()))


def _cut(column: str, edges: tuple, right: bool, lowest: bool, numbered: bool) -> Expression:
    labels = tuple(range(len(edges) - 1)) if numbered else tuple(f"from {low}" for low in edges[:-1])
    options = (("bins", edges), ("right", right), ("labels", labels), ("include_lowest", lowest))
    return Method("cut", (Column(column),), options)


@cache
def choices(depth: int = 1) -> st.SearchStrategy[Expression]:
    """Values chosen by conditions, intervals and maps."""
    condition = conditions(depth)
    several = {
        "number": st.one_of(
            st.sampled_from(["f", "i", "u", "ni", "ai"]).map(Column),
            _number_constants,
            st.builds(_operation, st.sampled_from(["+", "*"]), numbers(0), numbers(0)),
        ),
        "text": st.sampled_from([*_columns["text"], "c", "ci"]).map(Column) | _clean_texts.map(Constant),
        "arrow": st.just(Column("s")),
        "date": st.sampled_from(_columns["date"]).map(Column) | _moments.map(Constant),
        "duration": st.sampled_from(_columns["duration"]).map(Column),
        "truth": st.sampled_from(["b", "nb"]).map(Column),
    }
    number = st.sampled_from(["f", "i", "u", "ni", "ai", "b", "nb", "c", "ci"])
    text = st.sampled_from([*_columns["text"], "c", "ci"])
    values = [_clean_texts, _some_numbers, st.booleans(), st.datetimes().map(pd.Timestamp)]
    maps = [_pairs(keys, value) for keys in (_some_numbers, _clean_texts) for value in values]
    chosen = [
        st.one_of(
            st.builds(_operation, st.just("where"), st.sampled_from(columns).map(Column), condition, value),
            st.builds(_operation, st.just("where"), st.sampled_from(columns).map(Column), condition),
            st.builds(
                _operation,
                st.just("case_when"),
                st.sampled_from(columns).map(Column),
                condition,
                value,
                condition,
                value,
            ),
        )
        for value, columns in zip(
            several.values(),
            [["f", "i", "u", "ni"], ["s", "sp", "o", "c", "ci"], ["s"], ["d", "ds"], ["t", "tn"], ["b", "nb"]],
            strict=True,
        )
    ]
    return st.one_of(
        *chosen,
        st.builds(
            _cut, st.sampled_from(["f", "i", "u", "ni", "ai"]), _edges, st.booleans(), st.booleans(), st.booleans()
        ),
        *(st.builds(lambda c, p: Map((Column(c),), p), number, pairs) for pairs in maps[:4]),
        *(st.builds(lambda c, p: Map((Column(c),), p), text, pairs) for pairs in maps[4:]),
    )


@cache
def conditions(depth: int = 3) -> st.SearchStrategy[Expression]:
    """Expressions that give truth values."""
    order = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    equal = st.sampled_from(["==", "!="])
    text = st.sampled_from(_columns["text"]).map(Column) | _clean_texts.map(Constant)
    category = st.sampled_from(["c", "ci"]).map(Column)
    anything = st.sampled_from(["f", "ni", "s", "o", "c", "d", "z", "t", "nb"]).map(Column)
    text_list = st.lists(_clean_texts.map(Constant), max_size=3).map(tuple)
    number_list = st.lists(_number_constants, max_size=3).map(tuple)
    leaves = st.one_of(
        st.sampled_from(["b", "nb"]).map(Column),
        st.builds(_operation, order, text, text),
        st.builds(_operation, equal, category, _clean_texts.map(Constant) | _number_constants | category | text),
        st.builds(_operation, order, st.just(Column("z")), st.just(Constant("2024-03-31 12:00"))),
        st.builds(_operation, st.just("isna"), anything),
        st.builds(IsIn, st.tuples(st.sampled_from(["s", "sp", "o", "c", "ci"]).map(Column)), text_list),
        text_tests(),
        st.builds(IsIn, st.tuples(st.sampled_from(["f", "i", "u", "ni", "ci"]).map(Column)), number_list),
    )
    if not depth:
        return leaves
    inner = conditions(depth - 1)
    return st.one_of(
        leaves,
        st.builds(_operation, order, numbers(depth - 1), numbers(depth - 1)),
        st.builds(_operation, order, dates(depth - 1), dates(depth - 1)),
        st.builds(_operation, order, durations(depth - 1), durations(depth - 1)),
        st.builds(_operation, st.sampled_from(["and", "or"]), inner, inner),
        st.builds(_operation, st.just("not"), inner),
    )


@cache
def expressions() -> st.SearchStrategy[Expression]:
    """Expressions of every kind that fit the drawn tables."""
    filled = st.one_of(
        st.builds(
            _operation,
            st.just("fillna"),
            st.sampled_from(["s", "sp", "o", "c"]).map(Column),
            _clean_texts.map(Constant),
        ),
        st.builds(_operation, st.just("fillna"), st.just(Column("ci")), _number_constants),
        st.builds(_operation, st.just("fillna"), st.just(Column("nb")), st.booleans().map(Constant)),
        st.builds(_operation, st.just("fillna"), st.just(Column("z")), st.just(Constant("2024-03-31 12:00"))),
    )
    return numbers() | durations() | dates() | changed_texts() | conditions() | filled | choices()

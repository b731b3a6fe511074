"""Faults that a review of the row-wise steps found, each kept from coming back."""

from __future__ import annotations

import datetime
import inspect
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.cells import arrow, column, objects

import pandas_dp  # noqa: F401
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.expression import Column, Constant, IsIn, Map, Method, Operation
from pandas_dp.steps.functions import METHODS
from tests.support import steps

X = (Column("x"),)
FUNCTIONS = ("exp", "log", "log2", "log10", "log1p", "expm1", "sqrt")


# An option that no method takes made the step fail exactly where a row was left


@pytest.mark.parametrize("name", ["lower", "upper", "len"])
def test_text_methods_without_options_refuse_any(name):
    frame = column(["a", "b"])
    with pytest.raises(ArgumentTypeError, match="foo"):
        steps.assign(frame.iloc[:0], y=lambda d: getattr(d.x.str, name)(foo=1))
    with pytest.raises(ArgumentTypeError, match="foo"):
        steps.eval_(f"y = x.str.{name}(foo=1)", frame.iloc[:0])


def test_no_method_takes_arguments_without_a_name_of_their_own():
    open_ended = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    for name, method in METHODS.items():
        assert not open_ended & {p.kind for p in inspect.signature(method).parameters.values()}, name


def test_slices_are_bounded_by_numbers_that_can_be_written_down():
    empty = column(["a"]).iloc[:0]
    with pytest.raises(ArgumentValueError, match="2\\*\\*63"):
        steps.assign(empty, y=lambda d: d.x.str.slice(0, 10**30))
    (step,) = steps.assign(empty, y=lambda d: d.x.str.slice(-(2**63), 2**63 - 1))
    assert "9223372036854775807" in str(step)


# A missing cell copied a column that else was read backwards, and numpy's functions differ by a bit between the two


@pytest.mark.parametrize("dtype", ["float64", "Float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_missing_cell_changes_no_other_row_whatever_the_layout(name, dtype):
    cells = np.exp(np.linspace(-3, 6, 4000))
    forwards = column(pd.array(cells, dtype=dtype))
    one_missing = column(pd.array(np.r_[np.nan, cells[1:]], dtype=dtype))
    tree = Operation(name, X)
    wanted = tree.evaluate(forwards).to_numpy()[1:]
    for frame in (forwards.iloc[::-1], one_missing.iloc[::-1], one_missing):
        found = tree.evaluate(frame).sort_index().to_numpy()[1:]
        assert np.array_equal(found, wanted)


def test_columns_are_contiguous_wherever_they_come_from():
    wide = pd.DataFrame(np.ones((9, 4)), columns=list("xabc"))
    masked = column(pd.array(np.ones(9), dtype="Float64"))
    packed = np.zeros(9, dtype=[("a", "i1"), ("x", "f8")])
    for frame in (wide, wide.iloc[::-1], masked.iloc[::-1], masked.iloc[::2], column(pd.Series(packed["x"]))):
        flags = Column("x").values(frame).floats().flags
        assert flags.c_contiguous
        assert flags.aligned


# Arrow says of a dictionary that lists a null what that null is by whether another cell is missing


@pytest.mark.parametrize("values", [pa.array(["a", None], pa.string_view()), pa.array([[1], None])])
def test_nulls_in_a_dictionary_are_missing_by_themselves(values):
    listed = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), values)
    other = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), values)
    tree = Operation("isna", X)
    assert tree.evaluate(column(arrow(listed))).tolist() == [False, True]
    assert tree.evaluate(column(arrow(listed, other))).tolist() == [False, True, True]


@pytest.mark.parametrize("values", [pa.array(["a", None], pa.string_view()), pa.array([[1], None])])
def test_dictionaries_that_arrow_cannot_unfold_are_refused_by_their_dtype(values):
    frame = column(arrow(pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), values)))
    for rows in (frame, frame.iloc[:0]):
        with pytest.raises(ArgumentTypeError):
            Operation("==", (*X, Constant("a"))).evaluate(rows)


# Bytes that are no UTF-8, as a Parquet file may hold them


def latin(kind: pa.DataType, offsets: type) -> pa.Array:
    ends = pa.py_buffer(np.array([0, 1, 2], dtype=offsets).tobytes())
    return pa.Array.from_buffers(kind, 2, [None, ends, pa.py_buffer(b"a\xff")])


@pytest.mark.parametrize(
    "cells",
    [
        arrow(latin(pa.string(), np.int32)),
        pd.Series(
            pd.arrays.ArrowStringArray(
                latin(pa.large_string(), np.int64), dtype=pd.StringDtype("pyarrow", na_value=np.nan)
            )
        ),
    ],
    ids=["string[pyarrow]", "str"],
)
def test_bytes_that_are_no_text_make_nothing_fail(cells):
    frame = column(cells)
    upper = Method("str.upper", X).evaluate(frame)
    assert upper.tolist() == ["A", "\ufffd"]
    assert Method("str.upper", X).evaluate(frame.iloc[:1]).tolist() == ["A"]
    assert Method("str.len", X).evaluate(frame).tolist() == [1, 1]
    assert Method("astype", X, (("dtype", "float64"),)).evaluate(frame).isna().all()
    chosen = Operation("where", (*X, Operation("isna", X), Constant("b")))
    assert chosen.evaluate(frame).tolist() == ["b", "b"]
    assert Map(X, (("a", "first"),)).evaluate(frame).tolist()[0] == "first"


# Classes of cells and categories with code of their own


class EvilText(str):
    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        raise RuntimeError


class EvilInteger(int):
    def __le__(self, _: object) -> bool:
        raise RuntimeError

    __ge__ = __lt__ = __gt__ = __int__ = __le__


class EvilFloat(np.float64):
    def __ne__(self, _: object) -> bool:
        raise RuntimeError

    __eq__ = __ne__
    __hash__ = None


class EvilDecimal(Decimal):
    def is_nan(self) -> bool:
        raise RuntimeError


class EvilZone(datetime.tzinfo):
    def utcoffset(self, _: object) -> datetime.timedelta:
        raise RuntimeError


EVIL = [EvilText("a"), EvilInteger(3), EvilDecimal("1"), datetime.datetime(2024, 1, 1, tzinfo=EvilZone())]
ANYWHERE = [
    Operation("isna", X),
    Operation("==", (*X, Constant("a"))),
    IsIn(X, (Constant("a"), Constant("b"))),
    Method("str.lower", X),
    Method("astype", X, (("dtype", "float64"),)),
    Method("astype", X, (("dtype", "string"),)),
    Operation("fillna", (*X, Constant("a"))),
    Operation("where", (*X, Operation("isna", X), Constant("a"))),
    Map(X, (("a", 1),)),
]


@pytest.mark.parametrize("tree", ANYWHERE, ids=str)
@pytest.mark.parametrize("cell", [*EVIL, EvilFloat("nan")], ids=lambda cell: type(cell).__name__)
def test_no_cell_runs_code_of_its_own(cell, tree):
    frame = column(objects("a", cell, None))
    assert tree.evaluate(frame).dtype == tree.evaluate(frame.iloc[:0]).dtype
    if isinstance(cell, EvilFloat):
        return  # pandas lists no such category
    levels = pd.Index(objects(cell), dtype=object)
    categories = column(pd.Categorical.from_codes([0, -1], categories=levels))
    assert tree.evaluate(categories).dtype == tree.evaluate(categories.iloc[:0]).dtype


def test_dates_and_numbers_in_a_list_of_categories_still_equal_constants():
    stamp = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    levels = pd.Index(objects("a", 2, 2.5, np.float32(0.5), Decimal("1.5"), stamp, pd.Timestamp("2024-01-02")))
    frame = column(pd.Categorical.from_codes(range(len(levels)), categories=levels))
    for place, wanted in enumerate(["a", 2, 2.5, 0.5, 1.5, stamp, pd.Timestamp("2024-01-02")]):
        found = Operation("==", (*X, Constant(wanted))).evaluate(frame)
        assert found.tolist() == [row == place for row in range(len(levels))]


def test_signalling_nans_warn_nowhere():
    wide = np.array([0x7FF0000000000001, 0x7FF8000000000123], dtype=np.uint64).view(np.float64)
    narrow = np.array([0x7F800001, 0x7FC00123], dtype=np.uint32).view(np.float32)
    masked = [pd.arrays.FloatingArray(cells, np.zeros(2, bool)) for cells in (wide, narrow)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cells in (wide, narrow, *masked, objects(wide[0], narrow[0])):
            for target in ("float64", "int64"):
                assert Method("astype", X, (("dtype", target),)).evaluate(column(cells)).isna().all()


# Names of columns: what they are recorded by


class OtherText(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "'other'"


@pytest.mark.parametrize("kind", [OtherText, np.str_], ids=["subclass", "numpy"])
def test_a_name_is_recorded_by_its_own_text(kind):
    empty = pd.DataFrame({"x": [1.0], "other": [2.0]}).iloc[:0]
    name = kind("x")
    lookup = pd.DataFrame({"x": [1.0], kind("z"): [2.0]})
    pairs = [
        (steps.filter_(lambda d: d[name] > 0, empty), steps.filter_(lambda d: d["x"] > 0, empty)),
        (steps.assign(empty, **{kind("z"): 1}), steps.assign(empty, z=1)),
        (steps.drop([name], empty), steps.drop(["x"], empty)),
        (steps.rename({name: kind("z")}, empty), steps.rename({"x": "z"}, empty)),
        (steps.rename(lambda n: kind(n + "z"), empty), steps.rename({"x": "xz", "other": "otherz"}, empty)),
        (steps.fillna({name: 1}, empty), steps.fillna({"x": 1}, empty)),
        (steps.clip(0, 1, empty, columns=[name]), steps.clip(0, 1, empty, columns=["x"])),
        (steps.dropna([name], empty), steps.dropna(["x"], empty)),
        (steps.merge(lookup, name, "left", empty), steps.merge({"x": [1.0], "z": [2.0]}, "x", "left", empty)),
    ]
    for odd, plain in pairs:
        assert repr(odd) == repr(plain)


# Text constants in three quotes


@pytest.mark.parametrize("text", ["it's & x", 'a "b" | c', "`a` @ &", "'&'x"])
@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_texts_in_three_quotes_are_kept_as_they_are(text, quotes):
    empty = column(["a"]).iloc[:0]
    (step,) = steps.query(f"x == {quotes}{text}{quotes} & x != ''", empty)
    assert step.expression.operands[0] == Operation("==", (*X, Constant(text)))


# What is said of a column is not said of what replaces it

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

import pandas_dp  # noqa: F401
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.schema import ColumnFacts, Schema
from pandas_dp.steps import steps
from pandas_dp.steps.expression import Column, Constant, IsIn, Map, Method, Operation
from pandas_dp.steps.functions import METHODS
from pandas_dp.steps.known import known_values

X = (Column("x"),)
FUNCTIONS = ("exp", "log", "log2", "log10", "log1p", "expm1", "sqrt")


def column(array: object) -> pd.DataFrame:
    return pd.DataFrame({"x": array})


def objects(*cells: object) -> pd.Series:
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return pd.Series(array, dtype=object)


def arrow(*chunks: pa.Array) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks)))


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


SCHEMA = Schema(
    {"x": {"bounds": (0, 9), "keys": [1, 2], "step": 1, "nulls": 0}, "w": {"keys": ["A", "B"]}, "z": {"keys": ["q"]}}
)
EMPTY = pd.DataFrame({"x": [1.0], "w": ["A"], "z": ["q"]}).iloc[:0]


def after(*made: tuple[steps.Step, ...]) -> Schema:
    return SCHEMA.after([step for group in made for step in group])


def test_replaced_columns_have_no_keys_bounds_or_null_rules_of_the_old_ones():
    replaced = after(steps.assign(EMPTY, x=lambda d: d.x * 1000, w=lambda d: d.w.str.lower()))
    assert replaced["x"] == replaced["w"] == ColumnFacts()
    assert after(steps.drop("w", EMPTY), steps.rename({"x": "w"}, EMPTY.drop(columns="w")))["w"] == SCHEMA["x"]
    moved = after(steps.drop("w", EMPTY), steps.assign(EMPTY, y=1.0), steps.rename({"z": "w"}, EMPTY.drop(columns="w")))
    assert moved["w"].keys == ("q",)
    assert moved["z"] == ColumnFacts()
    bare = Schema({"w": {"keys": ["A"]}}).after(
        (*steps.drop("w", EMPTY), *steps.rename({"z": "w"}, EMPTY.drop(columns="w")))
    )
    assert bare["w"] == ColumnFacts()
    doubled = after(steps.assign(EMPTY, k=lambda d: d.w.map({"A": 1})), steps.assign(EMPTY, k=lambda d: d.x * 2))
    assert doubled["k"] == ColumnFacts()


def test_filled_columns_have_the_constant_among_their_keys_and_clipped_ones_none():
    assert after(steps.fillna({"w": "none", "x": 2}, EMPTY))["w"].keys == ("A", "B", "none")
    assert after(steps.fillna({"x": 2}, EMPTY))["x"] == SCHEMA["x"]
    dated = Schema({"d": {"keys": [pd.Timestamp("2024-01-01")]}})
    empty = pd.DataFrame({"d": [pd.Timestamp(0)]}).iloc[:0]
    assert dated.after(steps.fillna({"d": "2024-01-01"}, empty))["d"].keys is None
    clipped = after(steps.clip(0, 1.5, EMPTY, columns="x"))["x"]
    assert clipped.keys is None
    assert clipped.bounds == (0, 9)


def test_rows_of_replaced_columns_are_not_lost_to_the_old_keys():
    frame = pd.DataFrame({"w": ["A", "B"] * 500, "x": np.arange(1000) % 7})
    frame.dp.protect(epsilon=10_000, name="step review", schema={"w": {"keys": ["A", "B"]}, "x": {"nulls": 0}})
    with pytest.raises(ArgumentTypeError, match="keys"):
        frame.dp(epsilon=50).assign(w=lambda d: d.w.str.lower()).histogram("w")
    named = frame.dp(epsilon=50).assign(x=lambda d: d.w.map({"A": "u"})).histogram("x", null=True)
    assert named.tolist() == [500, 500]  # each is off with a probability below 1e-20


def test_whole_numbers_that_float64_does_not_tell_apart_are_one_key():
    mapped = Map(X, (("a", 2**53), ("b", 2**53 + 1), ("c", 3)))
    assert sorted(known_values(mapped)) == [3, 2**53]
    frame = column(["a", "b", "c"])
    assert set(mapped.evaluate(frame)) <= set(known_values(mapped))


# Faults that were planted in the steps and that no test had noticed


def evaluated(tree: object, **columns: object) -> list[object]:
    return tree.evaluate(pd.DataFrame(columns)).tolist()


def test_dates_of_other_units_are_ordered_within_a_second():
    days = pd.Series(pd.to_datetime(["2024-01-01 00:00:00.250", "2024-01-01 00:00:00.750"])).astype("M8[ms]")
    for op, wanted in (("<", [True, False]), (">", [False, True]), ("<=", [True, False]), (">=", [False, True])):
        tree = Operation(op, (*X, Constant(pd.Timestamp("2024-01-01 00:00:00.5"))))
        assert evaluated(tree, x=days) == wanted


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_the_ends_of_integers_can_be_looked_for(dtype):
    ends = np.iinfo(dtype)
    cells = np.array([ends.min, 5, ends.max], dtype=dtype)
    wanted = (ends.min, ends.max)
    assert evaluated(IsIn(X, tuple(map(Constant, wanted))), x=cells) == [True, False, True]
    found = evaluated(Map(X, tuple((key, 1.0) for key in wanted)), x=cells)
    assert found[0] == found[2] == 1.0
    assert np.isnan(found[1])


def test_cells_that_are_no_text_equal_no_empty_text_on_either_side():
    columns = {"x": pd.array(["", "", ""], dtype="str"), "o": objects(3, "", None)}
    for pair in ((*X, Column("o")), (Column("o"), *X)):
        assert evaluated(Operation("==", pair), **columns) == [False, True, False]
        assert evaluated(Operation(">=", pair), **columns) == [False, True, False]


def test_of_keys_that_one_cell_equals_the_first_by_its_text_counts():
    tree = Map(X, ((2**53 + 1, 2.0), (2**53, 1.0)))
    assert evaluated(tree, x=np.array([2.0**53])) == [1.0]
    assert evaluated(tree, x=np.array([2**53, 2**53 + 1])) == [1.0, 2.0]


def test_a_mapped_date_outside_of_the_unit_is_missing():
    far, fine = pd.Timestamp("9000-01-01"), pd.Timestamp("2024-01-01 00:00:00.000000001")
    found = Map(X, (("a", fine), ("b", far))).evaluate(column(["a", "b"]))
    assert found[0] == fine
    assert found[1] is pd.NaT


def test_dates_before_the_range_of_a_finer_unit_are_missing():
    days = np.array([-(10**12), 10**12, 0], dtype="M8[s]")
    moved = Operation("+", (*X, Constant(pd.Timedelta(1, unit="ns"))))
    assert evaluated(Operation("isna", (moved,)), x=days) == [True, True, False]


def test_a_sum_that_is_the_count_of_no_date_is_missing():
    least = np.array([-(2**63) + 1, 0], dtype=np.int64).view("M8[us]")
    moved = Operation("-", (*X, Constant(pd.Timedelta(1, unit="us"))))
    assert evaluated(Operation("isna", (moved,)), x=least) == [True, False]
    assert evaluated(Operation("<", (moved, Constant(pd.Timestamp("2024-01-01")))), x=least) == [False, True]


@pytest.mark.parametrize("kind", ["M8[s]", "M8[us]"])
def test_parts_of_dates_end_with_the_last_day_that_every_zone_has(kind):
    days = np.array(["0001-01-01 23:59:59", "0001-01-02", "9999-12-30 23:59:59", "9999-12-31"], dtype=kind)
    found = Operation("dt.year", X).evaluate(column(days))
    assert found.isna().tolist() == [True, False, False, True]
    assert found[1:2].tolist() == [1]


def test_filled_objects_and_categories_stay_incomparable_where_they_are_no_text():
    text, number = (Operation("fillna", (*X, Constant(value))) for value in ("a", 1))
    cells = objects("a", 3, None, [1])
    assert evaluated(Operation("==", (text, Constant("a"))), x=cells) == [True, False, True, False]
    assert evaluated(Operation(">=", (text, Constant(""))), x=cells) == [True, False, True, False]
    assert np.isnan(evaluated(Method("str.len", (text,)), x=cells)[1])
    levels = pd.Categorical(["a", None, "b"])
    assert evaluated(Operation("==", (text, Constant("a"))), x=levels) == [True, True, False]
    assert evaluated(Operation(">=", (number, Constant(""))), x=levels) == [True, False, True]
    assert np.isnan(evaluated(Method("str.len", (number,)), x=levels)[1])


def test_missing_categories_equal_nothing():
    full, gap = pd.Categorical(["a", "b"], ["a", "b"]), pd.Categorical([None, None], ["a", "b"])
    tree = Operation("==", (*X, Column("y")))
    assert evaluated(tree, x=full, y=gap) == evaluated(tree, x=gap, y=full) == [False, False]
    assert evaluated(tree, x=gap, y=gap) == [False, False]
    assert evaluated(tree, x=full, y=full) == [True, True]


def test_long_maps_are_recorded_by_all_of_their_content():
    keys = range(60)
    stamp = pd.Timestamp("2024-01-01")
    maps = [Map(X, tuple((key, value) for key in keys)) for value in (1, 1.0, True, "1", str(stamp), stamp)]
    maps += [Map(X, tuple((key, float(key == odd)) for key in keys)) for odd in keys]
    maps += [Map(X, tuple((key, number) for key in keys)) for number in range(2, 1000)]
    assert len({repr(tree) for tree in maps}) == len(maps)
    again = Map(X, tuple((key, 1) for key in reversed(keys)))
    assert repr(again) == repr(maps[0])


def test_durations_of_other_units_are_other_keys():
    micro, nano = pd.Timedelta(1, unit="us"), pd.Timedelta(1, unit="ns")
    (step,) = steps.assign(column(np.array([0], "m8[ns]")).iloc[:0], y=lambda d: d.x.map({micro: 1, nano: 2}))
    assert step.apply(column(np.array([1000, 1, 0], "m8[ns]")))["y"].tolist()[:2] == [1, 2]
    listed = pd.Categorical.from_codes([0, 1], categories=pd.Index(objects(micro, nano), dtype=object))
    assert evaluated(Operation("==", (*X, Constant(nano))), x=listed) == [False, True]


def test_all_parts_of_dates_are_known():
    days = pd.Series(pd.date_range("2024-01-01", "2024-12-31 23:59:59", periods=20_000))
    last = pd.Series(pd.to_datetime(["2024-12-31 23:59:59", "2023-12-31 00:00:00"]))
    for part in ("quarter", "month", "day", "day_of_week", "day_of_year", "hour", "minute", "second"):
        tree = Operation(f"dt.{part}", X)
        cells = tree.evaluate(column(pd.concat([days, last], ignore_index=True)))
        assert set(cells) <= set(known_values(tree))
        assert {cells.min(), cells.max()} == {min(known_values(tree)), max(known_values(tree))}


def test_a_condition_that_never_holds_ends_no_list_of_cases():
    never, positive, always = Constant(False), Operation(">", (*X, Constant(9))), Constant(True)
    tree = Operation("case_when", (*X, never, Constant(1), positive, Constant(3), always, Constant(2)))
    assert known_values(tree) == (1, 3, 2)
    assert evaluated(tree, x=np.array([5.0])) == [2.0]
    assert known_values(Operation("case_when", (*X, Constant(False), Constant(1)))) is None

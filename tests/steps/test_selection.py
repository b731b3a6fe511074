"""where, case_when, cut and map: pandas' values on whole columns, and what becomes publicly known of the result."""

from __future__ import annotations

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.schema import ColumnFacts, Schema
from pandas_dp.steps.choices import known_values
from pandas_dp.steps.expression import Column, Map
from pandas_dp.steps.parse import parse_expression
from tests.steps.tables import DATE_STORAGE, NUMBER_STORAGE, TEXT_STORAGE, nullable, plain, stored
from tests.support import steps

NAN = np.nan
UNKNOWN = object()  # a truth value that is missing in nullable and Arrow dtypes, and False in NumPy's


def value(source: object, frame: pd.DataFrame) -> list[object]:
    tree = parse_expression(source, frame.columns)
    result = tree.evaluate(frame)
    assert tree.evaluate(frame.iloc[:0]).dtype == result.dtype
    return plain(result)


NUMBER_CASES = {
    "x.where(x > 1)": [None, 2.0, None, 4.0],
    "x.where(x > 1, 0)": [0.0, 2.0, 0.0, 4.0],
    "x.where(x > 1, -x)": [-1.0, 2.0, None, 4.0],
    "x.mask(x > 1)": [1.0, None, None, None],
    "x.mask(x.isna(), 9)": [1.0, 2.0, 9.0, 4.0],
    "x.case_when([(x < 2, 'low'), (x >= 2, 'high'), (True, 'unknown')])": ["low", "high", "unknown", "high"],
    "x.case_when([(x < 2, 0), (x < 4, x * 10)])": [0.0, 20.0, None, 4.0],
    "x.case_when([(x < 2, True), (True, x == 4)])": [True, False, UNKNOWN, True],
    "x.cut([1, 2, 4])": [None, "(1, 2]", None, "(2, 4]"],
    "x.cut([1, 2, 4], include_lowest=True)": ["[1, 2]", "[1, 2]", None, "(2, 4]"],
    "x.cut([1, 2, 4], right=False)": ["[1, 2)", "[2, 4)", None, None],
    "x.cut([0, 1.5, 9], labels=['a', 'b'])": ["a", "b", None, "b"],
    "x.cut([0, 2, 3], labels=[10, 20])": [10.0, 10.0, None, None],
    "x.map({1: 'one', 4.0: 'four', 2.5: 'no'})": ["one", None, None, "four"],
    "x.map({1: 10, 2: 0.5}).fillna(0)": [10.0, 0.5, 0.0, 0.0],
    "x.map({1: True, 2: False})": [True, False, UNKNOWN, UNKNOWN],
}
TEXT_CASES = {
    "t.where(t != 'b')": ["a", None, None, "zz"],
    "t.where(t != 'b', 'other')": ["a", "other", None, "zz"],
    "t.mask(t == 'a', t.str.upper())": ["A", "b", None, "zz"],
    "t.case_when([(t == 'a', 'first'), (t.isna(), 'none')])": ["first", "b", "none", "zz"],
    "t.map({'a': 1, 'b': 2, 'c': 3})": [1.0, 2.0, None, None],
    "t.map({'a': 'x', 'zz': 'y'})": ["x", None, None, "y"],
    "t.map({'a': 'x'}).isna()": [False, True, True, True],
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("storage", NUMBER_STORAGE.values(), ids=NUMBER_STORAGE)
@pytest.mark.parametrize("text", NUMBER_CASES)
def test_choices_by_numbers_are_the_same_in_every_storage(text, storage):
    unknown = None if nullable(storage) else False
    expected = [unknown if cell is UNKNOWN else cell for cell in NUMBER_CASES[text]]
    assert value(text, pd.DataFrame({"x": stored([1, 2, None, 4], storage)})) == expected


@pytest.mark.parametrize("storage", [*TEXT_STORAGE.values(), "category"], ids=[*TEXT_STORAGE, "category"])
@pytest.mark.parametrize("text", TEXT_CASES)
def test_choices_by_text_are_the_same_in_every_storage(text, storage):
    expected = TEXT_CASES[text].copy()
    if nullable(storage) and text == "t.where(t != 'b', 'other')":  # as pandas has it: what is unknown does not hold
        expected[2] = "other"
    assert value(text, pd.DataFrame({"t": stored(["a", "b", None, "zz"], storage)})) == expected


@pytest.mark.parametrize("storage", DATE_STORAGE.values(), ids=DATE_STORAGE)
def test_choices_by_dates_are_the_same_in_every_storage(storage):
    days = [pd.Timestamp("2024-01-01"), None, pd.Timestamp("2024-03-01")]
    frame = pd.DataFrame({"d": stored(days, storage)})
    late = pd.Timestamp("2024-02-01")
    edges = [pd.Timestamp("2024-01-01"), late, pd.Timestamp("2025-01-01")]
    assert value(lambda d: d.d.cut(edges, labels=["a", "b"]), frame) == [None, None, "b"]
    assert value("d.cut(['2024-01-01', '2024-02-01'], right=False, labels=[0])", frame) == [0.0, None, None]
    assert value(lambda d: d.d.map({days[2]: 1, late: 2, pd.Timestamp("2024-01-01 00:00:00.5"): 3}), frame) == [
        None,
        None,
        1.0,
    ]
    assert value("d.where(d < '2024-02-01', '2024-02-01')", frame) == [days[0], late, late]
    assert value("d.mask(d < '2024-02-01')", frame) == [None, None, days[2]]


def test_the_finest_unit_and_the_columns_zone_stay():
    frame = pd.DataFrame({"s": pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"])).astype("datetime64[s]")})
    frame["n"] = frame.s.astype("datetime64[ns]") + pd.Timedelta(1, "ns")
    frame["z"] = frame.s.dt.tz_localize("Europe/Berlin")
    chosen = parse_expression("s.where(s > '2024-01-01', n)", frame.columns).evaluate(frame)
    assert chosen.tolist() == [frame.n[0], frame.s[1]]
    zoned = parse_expression("z.where(z > '2024-01-01', '2020-06-01')", frame.columns).evaluate(frame)
    assert zoned.tolist() == [pd.Timestamp("2020-06-01", tz="Europe/Berlin"), frame.z[1]]
    assert str(zoned.dtype.tz) == "Europe/Berlin"


def test_objects_stay_what_they_are_and_are_no_text():
    cells = [[1], "a", None, 3]
    frame = pd.DataFrame({"o": pd.Series(cells, dtype=object), "x": [1, 2, 3, 4]})
    assert value("o.where(x < 4, 'b')", frame) == [[1], "a", None, "b"]
    assert value("o.where(x < 4, 'b') == 'b'", frame) == [False, False, False, True]
    assert value("o.map({'a': 1})", frame) == [None, 1.0, None, None]


def test_integers_are_looked_up_exactly():
    big = 2**60
    frame = pd.DataFrame({"i": [big, big + 1, 3], "u": np.array([2**64 - 1, 1, 2**63], "uint64")})
    assert value(lambda d: d.i.map({big: "a", big + 1: "b", 0.5: "c", 1e300: "d", -np.inf: "e"}), frame) == [
        "a",
        "b",
        None,
    ]
    assert value(lambda d: d.u.map({2**64 - 1: "a", -1: "b", 2**63: "c"}), frame) == ["a", None, "c"]
    assert value(f"i.cut([{big - 1}, {big}, {big + 1}], labels=['a', 'b'])", frame) == ["a", "b", None]


@given(
    st.lists(st.none() | st.integers(-5, 5) | st.floats(-5, 5), max_size=8),
    st.lists(st.integers(-5, 5), min_size=2, max_size=5, unique=True).map(sorted),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_cut_is_that_of_pandas(cells, edges, right, lowest):
    frame = pd.DataFrame({"x": pd.Series(cells, dtype="float64")})
    result = parse_expression(lambda d: d.x.cut(edges, right, False, include_lowest=lowest), ["x"]).evaluate(frame)
    expected = pd.cut(frame.x, edges, right=right, labels=False, include_lowest=lowest).astype("float64")
    pd.testing.assert_series_equal(result, expected, check_names=False)


@given(
    st.lists(st.none() | st.integers(-4, 4), max_size=8), st.dictionaries(st.integers(-4, 4), st.text("ab"), min_size=1)
)
@settings(max_examples=60, deadline=None)
def test_map_is_that_of_pandas(cells, table):
    for dtype in ("float64", "Int64", pd.ArrowDtype(pa.int16())):
        frame = pd.DataFrame({"x": pd.Series(cells, dtype=dtype)})
        result = parse_expression(lambda d: d.x.map(table), ["x"]).evaluate(frame)
        expected = frame.x.astype("float64").map(table).astype("str" if dtype == "float64" else "string")
        pd.testing.assert_series_equal(result, expected, check_names=False)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("x.where(x, 0)", "condition"),
        ("x.where(x > 0, 'a')", "one kind, not numbers and text"),
        ("x.where(x > 0, True)", "one kind, not numbers and true/false"),
        ("x.case_when([(x > 0, 'a')])", r"one kind.*end the list with \(True, value\)"),
        ("x.case_when([(True, 1)])", "needs a column"),
        ("x.cut([0, 1, 1])", r"ascending order, as in \.cut\(\[0, 18, 65, 120\]\)"),
        ("t.cut([0, 1])", "cut needs numbers, dates or durations, not text"),
        ("x.cut(['2024-01-01', '2024-02-01'])", "numbers and text"),
        ("x.map({'a': 1})", "text cannot be looked for in numbers"),
        ("t.map({1: 1})", "numbers cannot be looked for in text"),
        ("(3).map({1: 1})", "needs a column"),
    ],
)
def test_refusals(text, advice):
    frame = pd.DataFrame({"x": [1.0], "t": pd.Series(["a"], dtype="str")})
    for table in (frame, frame.iloc[:0]):
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match=advice):
            parse_expression(text, frame.columns).evaluate(table)


def test_two_keys_that_are_equal_are_refused():
    with pytest.raises(ArgumentValueError, match="two keys are equal"):
        parse_expression(lambda d: d.x.map({0.1: 1, Decimal("0.1"): 2}), ["x"])


# Long maps


@pytest.mark.slow
def test_a_long_map_is_named_by_its_content():
    table = {f"code {i}": i for i in range(5_000)}

    def mapped(pairs: dict[str, int]) -> Map:
        return parse_expression(lambda d: d.x.map(pairs), ["x"])  # type: ignore[return-value]

    one, same, other = map(mapped, (table, dict(reversed(table.items())), table | {"code 7": 8}))
    assert one == same != other
    assert repr(one) == repr(same) == repr(pickle.loads(pickle.dumps(one))) != repr(other)
    assert "5,000 pairs, sha256 " in str(one)
    assert len(str(one)) < 150
    frame = pd.DataFrame({"x": [f"code {i}" for i in range(0, 10_000, 7)]})
    assert one.evaluate(frame).sum() == sum(range(0, 5_000, 7))


def test_constants_of_different_types_are_different_maps():
    maps = [Map((Column("x"),), ((key, val),)) for key in (1, 1.0, True, "1") for val in (2, 2.0, "2")]
    stamp = pd.Timestamp("2024-01-01")
    maps += [Map((Column("x"),), ((key, 1),)) for key in (stamp, str(stamp), stamp.tz_localize("UTC"))]
    assert len({repr(node) for node in maps}) == len(set(maps)) == len(maps)


# What is publicly known


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("x.cut([0, 1, 2], labels=['b', 'a'])", ("b", "a")),
        ("x.cut([0, 1, 2], labels=False)", (0, 1)),
        ("t.map({'b': 2, 'a': 1, 'c': 2})", (1, 2)),
        ("t.map({'b': 2, 'a': 1}).fillna(0)", (1, 2, 0)),
        ("d.dt.month", tuple(range(1, 13))),
        ("d.dt.day_of_week", tuple(range(7))),
        ("d.dt.year", None),
        ("x.case_when([(x > 0, 'a'), (True, 'b'), (x > 3, 'c')])", ("a", "b")),
        ("x.case_when([(x > 0, 1)])", None),
        ("x.map({1: 2}).where(x > 0, 0)", (2, 0)),
        ("x.where(x > 0, 0)", None),
        ("t.map({'a': True})", None),
        ("x > 0", None),
        ("t", None),
    ],
)
def test_values_known_of_a_column_are_all_it_can_hold(text, known):
    tree = parse_expression(text, ["x", "t", "d"])
    assert known_values(tree) == known
    if known is not None:
        days = pd.date_range("2024-01-01", periods=400, freq="31h").to_series(index=range(400))
        frame = pd.DataFrame({"x": np.linspace(-1, 3, 400), "t": ["a", "b", "c", "d"] * 100, "d": days})
        assert set(tree.evaluate(frame).dropna()) <= set(known)


def test_the_schema_after_steps_knows_labels_maps_and_months():
    empty = pd.DataFrame({"age": [1.0], "d": [pd.Timestamp(0)], "ward": ["a"]}).iloc[:0]
    schema = Schema({"age": {"bounds": (0, 99), "nulls": 5}, "ward": {"keys": ["a"]}})
    done = steps.assign(
        empty,
        band=lambda d: d.age.cut([0, 18, 65], labels=["child", "adult"]),
        age=lambda d: d.age.cut([0, 18], labels=[1]),
        month=lambda d: d.d.dt.month,
        double=lambda d: d.age * 2,
    )
    after = schema.after((*done, *steps.rename({"band": "group"}, empty.assign(band="a"))))
    assert after["group"] == ColumnFacts(keys=("child", "adult"))
    assert after["age"] == ColumnFacts(keys=(1,))  # what was said of the ages is not said of the bands
    assert after["month"] == ColumnFacts(bounds=(1, 12), keys=tuple(range(1, 13)))
    assert after["ward"] == ColumnFacts(keys=("a",))
    assert after["double"] == ColumnFacts()
    assert after.null_rules == () != schema.null_rules
    assert schema["age"].bounds == (0, 99)

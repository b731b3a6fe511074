import datetime as dt
import json
import os

import numpy as np
import pandas as pd
import pytest

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, Schema, mock

NOTE = "practice: made-up data"
DAYS = (pd.Timestamp("2013-01-01"), pd.Timestamp("2014-01-01"))
SCHEMA = {
    "age": {"bounds": (0, 100), "nulls": 50},
    "cost": {"bounds": (0.5, 9), "keys": None},
    "half": {"bounds": (-1, 1), "step": 0.5},
    "sex": {"keys": ["F", "M"]},
    "smokes": {"keys": [True, False]},
    "day": {"bounds": DAYS},
    "date": {"bounds": ("2013-01-01", dt.date(2014, 1, 1)), "step": pd.Timedelta("1D")},
    "moment": {"bounds": (pd.Timestamp("2013-01-01", tz="UTC"), None)},
    "wait": {"bounds": ("0 h", pd.Timedelta("5h"))},
    "above": {"bounds": (10, None)},
    "below": {"bounds": (None, 0.5)},
}


def test_values_fit_the_schema():
    df = mock(SCHEMA, rows=2000)
    assert df.shape == (2000, len(SCHEMA))
    assert not df.isna().any(axis=None)
    kinds = "".join(df.drop(columns="sex")[name].dtype.kind for name in SCHEMA if name != "sex")
    assert kinds == "iffbMMMmif"
    assert str(df["moment"].dt.tz) == "UTC"
    assert set(df["sex"]) == {"F", "M"}  # all of them but for a chance of 2 ** -1999
    assert set(df["smokes"]) == {True, False}
    assert set(df["half"]) == {-1, -0.5, 0, 0.5, 1}
    assert (df["date"] == df["date"].dt.normalize()).all()
    for name, (lower, upper) in {
        "age": (0, 100),
        "cost": (0.5, 9),
        "day": DAYS,
        "date": DAYS,
        "wait": (pd.Timedelta(0), pd.Timedelta("5h")),
        "above": (10, 110),
        "below": (-99.5, 0.5),
    }.items():
        assert df[name].between(lower, upper).all()
        width = upper - lower  # no value in an outer tenth: a chance of 0.9 ** 2000
        assert df[name].min() < lower + width / 10
        assert df[name].max() > upper - width / 10
    assert df.dp.session.schema == Schema(SCHEMA)


def test_no_two_are_alike_and_every_draw_is_fresh(monkeypatch):
    one, two = (mock({"age": {"bounds": (0, 10**9)}}, rows=50) for _ in range(2))
    assert not one["age"].equals(two["age"])
    np.random.seed(0)
    asked = []
    drawn = os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or drawn(count))
    mock({"age": {"bounds": (0, 100)}}, rows=50)
    assert sum(asked) >= 400


def test_the_session_is_one_for_practice():
    df = mock({"age": {"bounds": (0, 100)}})
    session = df.dp.session
    assert session.name == "practice"
    assert (session.budget.epsilon, float(session.budget.delta)) == (10**6, 0.5)
    assert session._ledger.path is None
    other = mock({"age": {"bounds": (0, 100)}})
    assert other.dp.session is not session
    other.dp(epsilon=5).count()
    assert session.spent.epsilon == 0


ANSWERS = {
    "number": lambda df: df.dp(epsilon=1).mean("age"),
    "whole number": lambda df: df.dp(epsilon=1).count(),
    "text": lambda df: df.dp(epsilon=1).mode("sex"),
    "date": lambda df: df.dp(epsilon=1).median("day"),
    "vector": lambda df: df.dp(epsilon=1).value_counts("sex"),
    "after steps": lambda df: df.dp.query("age > 20").dp(epsilon=1).count(),
    "of a part": lambda df: df.dp.allot("nightly", epsilon=5).dp(epsilon=1).count(),
    "stored": lambda df: [df.dp(epsilon=2).count() for _ in range(2)][1],
    "from a query": lambda df: pandas_dp.query(epsilon=1).count()(df),
    "of a stream": lambda df: df.dp(epsilon=5).oracle("pmw", domain={"sex": ["F", "M"]}).ask("sex == 'F'"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_marked(name):
    answer = ANSWERS[name](mock({name: SCHEMA[name] for name in ("age", "sex", "day")}))
    assert f"\n  {NOTE}" in repr(answer)
    assert NOTE in answer.notes
    assert NOTE in json.loads(answer.to_json())["notes"]
    assert NOTE in answer._repr_html_()


def test_parts_of_a_partition_are_marked():
    df = mock({"sex": {"keys": ["F", "M"]}})
    for part in df.dp.partition("sex", ["F", "M"], epsilon=5).values():
        assert NOTE in part.dp(epsilon=1).count().notes


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_units(neighbors):
    df = mock({"age": {"bounds": (0, 100)}}, unit="pid", max_rows=6, neighbors=neighbors)
    assert list(df) == ["age", "pid"]
    assert df["pid"].between(0, 333).all()
    assert df.dp.session.unit.column == "pid"
    assert df.dp.session.unit.relation == neighbors
    answer = df.dp(epsilon=100).rows_per_unit(limit=10)
    assert repr(answer).endswith(NOTE)
    assert answer.sum() == df["pid"].nunique()
    named = mock({"pid": {"keys": ["a", "b"]}}, unit="pid", max_rows=6)
    assert set(named["pid"]) == {"a", "b"}


def test_no_other_table_gets_this_budget():
    df, real = mock({"age": {"bounds": (0, 100)}}), pd.DataFrame({"age": [1, 2, 3]})
    with pytest.raises(ArgumentValueError, match="answers for its made-up table alone"):
        real.dp.protect(session=df.dp.session)
    with pytest.raises(ArgumentValueError, match="answers for its made-up table alone"):
        df.dp.session.adopt(real, reason="a mistake")
    assert not hasattr(real.dp, "session")
    real.dp.protect(epsilon=1, name="practice")
    assert real.dp.session is not df.dp.session
    assert NOTE not in real.dp(epsilon=0.1).count().notes


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({}, "needs a schema with columns"),
        ({"age": {}}, "needs bounds or keys of every column, and 'age' has none"),
        ({"age": {"keys": []}}, "needs bounds or keys"),
        ({"age": {"bounds": (None, None)}}, "bounds must be a pair"),
        ({"age": {"bounds": (1, 2, 3)}}, "bounds must be a pair"),
        ({"age": {"bounds": (2, 1)}}, "the lower bound must lie below"),
        ({"age": {"bounds": (0, 1), "step": -1}}, "step must be positive"),
        ({"age": {"bounds": (0, "a")}}, "bounds must be a number"),
        ({"day": {"bounds": ("2013-13-01", "2014-01-01")}}, "not a calendar date"),
        ({"wait": {"bounds": ("5", "6")}}, "durations with their unit"),
        ({"sex": {"keys": ["F"], "bounds": (0, 1)}}, "schema of 'sex': bounds and step need numbers"),
        ({"age": {"bounds": (True, False)}}, "bounds must be a number"),
    ],
)
def test_what_cannot_be_made_up_is_refused(schema, said):
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
        mock(schema)
    assert said in str(caught.value)


@pytest.mark.parametrize("rows", [0, -1, 1.5, "many", None])
def test_rows_are_a_whole_number(rows):
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="such as rows=10"):
        mock({"age": {"bounds": (0, 100)}}, rows=rows)


def test_a_unit_needs_max_rows():
    with pytest.raises(ArgumentTypeError, match="unit needs max_rows"):
        mock({"age": {"bounds": (0, 100)}}, unit="pid")


def test_made_up_columns_have_the_dtypes_of_the_schema():
    dtypes = {"a": "float32", "b": "Int64", "c": "category", "d": "double[pyarrow]", "e": "datetime64[s]"}
    facts = {"a": (0, 9), "b": (0, 9), "d": (0.5, 1.5), "e": ("2013-01-01", "2014-01-01")}
    schema = {name: {"bounds": bounds, "dtype": dtypes[name]} for name, bounds in facts.items()}
    df = mock(schema | {"c": {"keys": ["x", "y"], "dtype": "category"}}, rows=20)
    assert {name: str(dtype) for name, dtype in df.dtypes.items()} == dtypes


@pytest.mark.parametrize("dtype", ["no such dtype", "bool[pyarrow", "datetime64[us, Europe/Vienna]"])
def test_a_dtype_that_made_up_values_cannot_have_is_refused(dtype):
    with pytest.raises(ArgumentValueError, match="schema of 'age': made-up values cannot have dtype"):
        mock({"age": {"keys": ["x", "y"], "dtype": dtype}}, rows=20)


def test_a_made_up_table_with_a_budget_for_each_day():
    schema = {"at": {"bounds": ("2026-11-23", "2026-11-29")}, "cost": {"bounds": (0, 50)}}
    df = mock(schema, rows=600, unit="who", max_rows=4, period="D", time="at")
    answer = df.dp.period("2026-11-24").dp(epsilon=50).count()
    assert 20 < answer < 300
    assert "practice: made-up data" in answer.notes
    assert df.dp.session.unit.period == "day"
    with pytest.raises(ArgumentValueError, match="this budget is per day: say which days count"):
        df.dp(epsilon=1).count()
    with pytest.raises(ArgumentValueError, match="a table without a column 'when' has no day"):
        mock(schema, period="D", time="when")

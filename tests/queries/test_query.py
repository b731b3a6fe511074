"""Queries without a frame: every question, put later, is the same question."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected
from support.questions import BY_UNIT, EVERY, ROW_BY_ROW, STREAMS, middle, table

import pandas_dp
from pandas_dp import (
    ArgumentTypeError,
    ArgumentValueError,
    BudgetExceededError,
    Query,
    UnverifiedFrameError,
)
from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.release.values import Release
from pandas_dp.session.streams import Stream

IN_CODE = {  # with a function or a table among their arguments
    "after steps",
    "mean of blocks",
    "means of blocks",
    "select by table",
    "own function",
    "own numbers",
    "vote",
    "median of blocks",
    "smooth blocks",
    "winsorized blocks",
    "means of a function of groups",
    "medians of a function of groups",
    "function of groups by noisy size",
    "median oracle",
}
PLAIN = sorted(EVERY.keys() - IN_CODE)


def terms_of(name: str) -> dict[str, object]:
    """Terms of a session that answers this question."""
    if name in BY_UNIT:
        return {"unit": "uid", "max_rows": 4}
    return {"neighbors": "replace_one", "rows": True} if name in ROW_BY_ROW else {}


def start(**price) -> Query:
    return pandas_dp.query(**({"epsilon": 1} | price))


@pytest.mark.one_in(16)
@pytest.mark.parametrize("name", EVERY)
def test_a_query_is_the_question_typed_on_the_frame(name):
    df = protected(table(), epsilon=10**4, **terms_of(name))
    session, ask = df.dp.session, EVERY[name]
    query = ask(start())
    assert isinstance(query, Query)
    typed = ask(df.dp.preview(epsilon=1))
    assert query.preview(df) == typed
    answer = query(df)
    assert isinstance(answer, Stream if name in STREAMS else Release)
    assert isinstance(answer.query, AskedQuery)
    assert session.releases["query"].iloc[-1] == typed.call
    spent = session.spent
    again = df.dp.pipe(query)
    if typed.call in list(session.releases["query"][:-1]):  # streams and users' functions are not stored
        assert not answer.query.aggregate.stored
    else:
        assert session.spent == spent
        assert again.to_json() == answer.to_json()
        assert ("answered before" in repr(again)) == (answer.spent != "nothing")


@pytest.mark.parametrize("name", EVERY)
def test_equal_by_what_is_asked(name):
    ask = EVERY[name]
    query = ask(start())
    if name not in IN_CODE:
        assert query == ask(start())
        assert hash(query) == hash(ask(start()))
        assert query == ask(start(epsilon=Fraction(1)))
    others = {
        ask(start(epsilon=2)),
        ask(start(fresh=True)),
        ask(pandas_dp.query(rho=1)),
        ask(start().query("cost > 1")),
    }
    assert len(others | {query}) == 5
    assert query != ask


def test_what_makes_queries_equal_and_what_does_not():
    ask = start()
    assert (
        ask.mean("x", bounds=(0, 1)) == ask.mean("x", bounds=[0, 1.0]) == ask.mean(bounds=np.array([0, 1]), column="x")
        or True
    )
    assert ask.mean("x", bounds=(0, 1)) == ask.mean("x", bounds=[0, 1.0]) == ask.mean("x", bounds=np.array([0, 1]))
    assert ask.histogram("x", bins=range(3)) == ask.histogram("x", bins=[0, 1, 2])
    assert ask.histogram("x", bins=[0, 1], null=True) == ask.histogram("x", null=True, bins=[0, 1])
    assert ask.assign(a=1, b=2).count() != ask.assign(b=2, a=1).count()
    assert ask.mode("x", keys=[True]) != ask.mode("x", keys=[1])
    assert ask.sample_and_aggregate(middle, bounds=(0, 1)) == ask.sample_and_aggregate(middle, bounds=(0, 1))
    assert ask.filter(lambda d: d.x > 1).count() != ask.filter(lambda d: d.x > 1).count()
    assert ask.filter(pd.col("x") > 1).count() != ask.filter(pd.col("x") > 2).count()
    assert ask["x"].count() != ask.count("x")
    assert pandas_dp.query(within=5).count() != pandas_dp.query(within=5, confidence=0.9).count()
    assert pandas_dp.query(0.1).count() == pandas_dp.query(Decimal("0.1")).count()


def test_a_query_keeps_its_arguments():
    keys, edges, bounds = ["a", "b"], np.array([0, 1]), {"x": [0, 1]}
    queries = [
        start().mode("x", keys=keys),
        start().histogram("x", bins=edges),
        start().kmeans(["x"], k=2, bounds=bounds),
    ]
    shown = [repr(query) for query in queries]
    keys.append("c")
    edges[0] = -1
    bounds["x"].append(2)
    assert [repr(query) for query in queries] == shown


@pytest.mark.parametrize("name", PLAIN)
def test_shown_as_typed(name):
    query = EVERY[name](start())
    text = repr(query)
    assert text.startswith("pandas_dp.query(epsilon=1)")
    assert "\n" not in text
    if "values]" not in text:
        assert eval(text, {"pandas_dp": pandas_dp, "pd": pd}) == query


def test_expressions_are_shown_as_typed():
    query = start().filter((pd.col("age") > 30) & pd.col("sex").isin(["f"])).assign(old=pd.col("age") > 65).count()
    assert repr(query).endswith(
        ".filter((pd.col('age') > 30) & pd.col('sex').isin(['f'])).assign(old=pd.col('age') > 65).count()"
    )
    assert ".filter(pd.col(...))" in repr(start().filter(pd.col("age").isin(list(range(1000)))))
    with pytest.raises(ArgumentTypeError, match="a Series, Index or array from outside"):
        start().filter(pd.col("age") > pd.Series([1, 2]))
    with pytest.raises(
        ArgumentTypeError, match=r"filter\(\): an expression of pd.col is none.*as \.query\('age > 30'\)"
    ):
        query.to_dict()


def test_functions_tables_and_long_lists_are_shown_short():
    assert repr(start().sample_and_aggregate(middle, bounds=(0, 1))) == (
        "pandas_dp.query(epsilon=1).sample_and_aggregate(middle, bounds=(0, 1))"
    )
    assert "candidates=[DataFrame, DataFrame]" in repr(EVERY["median oracle"](start()))
    assert repr(start()["x"].histogram(bins=list(range(1000)))).endswith("['x'].histogram(bins=[... 1,000 values])")
    assert "bounds=(pd.Timestamp('2013-01-01 00:00:00'), " in repr(EVERY["mean day"](start()))


@pytest.mark.parametrize("name", EVERY)
def test_pickles_where_its_arguments_do(name):
    query = EVERY[name](start(within=None, fresh=True))
    if name == "after steps":
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(query)
        return
    again = pickle.loads(pickle.dumps(query))
    assert repr(again) == repr(query)
    assert name == "median oracle" or again == query


@pytest.mark.parametrize("name", PLAIN)
def test_plans(name):
    query = EVERY[name](start(delta=1e-7, fresh=True))
    plan = json.loads(json.dumps(query.to_dict(), allow_nan=False))
    again = Query.from_dict(plan)
    assert again == query
    assert again.to_dict() == plan


def test_a_plan_reads_as_a_person_would_write_it():
    plan = {
        "price": {"epsilon": 0.5},
        "calls": [
            {"call": "query", "args": ["age > 20"]},
            {"call": "groupby", "args": ["sex"], "options": {"keys": ["f", "m"]}},
            {"column": "pay"},
            {"call": "mean", "options": {"bounds": [0, 5000]}},
        ],
    }
    query = Query.from_dict(plan)
    assert query == pandas_dp.query(epsilon=0.5).query("age > 20").groupby("sex", keys=["f", "m"])["pay"].mean(
        bounds=(0, 5000)
    )
    assert query.to_dict() == plan
    assert list(query(protected()).index) == ["f", "m"]


@pytest.mark.parametrize("name", sorted(IN_CODE))
def test_a_query_with_code_or_tables_is_kept_in_code(name):
    with pytest.raises(ArgumentTypeError, match=r"keep this query in code.*query\('age > 30'\)"):
        EVERY[name](start()).to_dict()


def test_expressions_are_no_plan_either():
    with pytest.raises(ArgumentTypeError, match="argument of filter"):
        start().filter(pd.col("age") > 3).count().to_dict()
    with pytest.raises(ArgumentTypeError, match="bounds= of mean"):
        start().mean("x", bounds=(0, float("nan"))).to_dict()


@pytest.mark.parametrize(
    "plan",
    [
        None,
        [],
        {},
        {"price": {"epsilon": 1}},
        {"price": 1, "calls": []},
        {"price": {"epsilon": 1}, "calls": {}},
        {"price": {"epsilon": 1}, "calls": ["count"]},
        {"price": {"epsilon": 1}, "calls": [{"call": "count", "arguments": []}]},
        {"price": {"epsilon": 1}, "calls": [{"call": "count", "args": "x"}]},
        {"price": {"epsilon": 1}, "calls": [{"column": "x", "call": "count"}]},
        {"price": {"epsilon": 1}, "calls": [{"call": "count"}], "more": 1},
        {"price": {"epsilonn": 1}, "calls": [{"call": "count"}]},
        {"price": {"epsilon": -1}, "calls": [{"call": "count"}]},
        {"price": {"epsilon": 1}, "calls": [{"call": "mode", "args": [{"date": "yesterday"}]}]},
        {"price": {"epsilon": 1}, "calls": [{"column": 3}]},
    ],
)
def test_plans_that_are_none(plan):
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as refused:
        Query.from_dict(plan)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("name", ["__class__", "_put", "to_dict", "preview", "__reduce__", "meen", None, "count.x"])
def test_a_plan_calls_nothing_but_steps_and_questions(name):
    with pytest.raises(AttributeError):
        Query.from_dict({"price": {"epsilon": 1}, "calls": [{"call": name}]})


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda q: q.meen, "did you mean 'mean'"),
        (lambda q: q.plot, "type .plot() after the answer"),
        (lambda q: q["age"].head, "rows are never released"),
        (lambda q: q.query("age > 1").head, "rows are never released"),
        (lambda q: q.groupby("sex", keys=["f"]).skewed, "There are: agg, count, histogram, mean, median"),
        (lambda q: q.count().count, "steps come before it"),
    ],
)
def test_names_are_checked_at_once_and_hinted_as_by_the_frame(ask, text):
    with pytest.raises(AttributeError) as refused:
        ask(start())
    assert text in str(refused.value)
    if "before" not in text and "There are" not in text:  # groups speak of their own column
        with pytest.raises(AttributeError) as typed:
            ask(protected().dp(epsilon=1))
        known = str(refused.value).replace("'column'", "'age'")  # of a frame its own columns are known
        assert str(typed.value) == known


def test_keywords_and_prices_are_checked_at_once():
    for ask in (lambda q: q.mean("age", bound=(0, 1)), lambda q: q.mean(), lambda q: q["age"].mean((0, 1))):
        with pytest.raises(TypeError) as refused:
            ask(start())
        with pytest.raises(TypeError) as typed:
            ask(protected().dp(epsilon=1))
        assert str(typed.value).partition(": ")[0] == str(refused.value).partition(": ")[0]
    with pytest.raises(ArgumentTypeError, match="price"):
        pandas_dp.query()
    with pytest.raises(ArgumentValueError):
        pandas_dp.query(epsilon=1, within=3)
    for chosen in (start().count(), start()["age"]):
        with pytest.raises(ArgumentTypeError, match="no column to select"):
            chosen["age"]
    with pytest.raises(ArgumentTypeError, match="by name"):
        start()[0]


def test_other_arguments_are_checked_when_it_is_asked():
    query = start().mean("csot", bounds=(0, 1))
    df = protected(people())
    for ask in (query, query.preview):
        with pytest.raises(ArgumentValueError, match="no column named 'csot'"):
            ask(df)
    with pytest.raises(BudgetExceededError):
        start(epsilon=100).count()(df)
    assert not start(epsilon=100).count().preview(df).affordable
    assert df.dp.session.spent == "epsilon=0"


def test_frames_that_cannot_be_asked():
    df, query = protected(), start().count()
    with pytest.raises(ArgumentTypeError, match="query\\(df\\)"):
        query(df["age"])
    for unfinished in (start(), start()["age"], start().query("age > 1"), start().groupby("sex", keys=["f"])):
        with pytest.raises(ArgumentTypeError, match="no question yet"):
            unfinished(df)
    with pytest.raises(UnverifiedFrameError, match=r"type query\(df\), or df\.dp\.pipe\(query\)"):
        df.pipe(query)
    with pytest.raises(ArgumentTypeError, match="pipe"):
        df.dp.pipe("count")
    assert df.dp.session.spent == "epsilon=0"


def test_completion_and_help_show_the_methods():
    names = dir(start())
    assert {"mean", "query", "groupby", "preview", "to_dict"} <= set(names)
    assert "query" not in dir(start()["age"])
    assert "mean" not in dir(start().count())
    assert start().mean.__doc__.startswith("Mean of a column")
    assert not hasattr(start(), "_anything")


def test_prices_of_all_kinds():
    df = protected(delta=1e-6)
    assert pandas_dp.query(within=50).count()(df).epsilon == df.dp.preview(within=50, fresh=True).count().epsilon
    assert pandas_dp.query(rho=0.01).count()(df).rho == 0.01
    assert pandas_dp.query(0.1, 1e-7).count()(df).delta == 1e-7
    assert repr(pandas_dp.query(within=pd.Timedelta("1h"), confidence=0.9).count()) == (
        "pandas_dp.query(within=pd.Timedelta('0 days 01:00:00'), confidence=0.9).count()"
    )


def test_the_module_does_not_hide_the_function():
    import pandas_dp.aggregates.asked
    import pandas_dp.queries.query

    assert callable(pandas_dp.query)
    assert pandas_dp.query is pandas_dp.queries.query.query

"""The line to type instead: the one that was typed, with what it lacks."""

from __future__ import annotations

import traceback

import pandas as pd
import pytest
from support.frames import protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError
from pandas_dp.facts.call import Call
from pandas_dp.questions.frame import PricedColumn, PricedFrame
from pandas_dp.questions.group_statistics import GroupStatistics
from pandas_dp.questions.groups import PricedGroups
from pandas_dp.questions.keys import FoundGroups
from pandas_dp.questions.rows import PreparedFrame

GROUPS = "groupby('sex', keys=['f', 'm'])"


def grouped(d):
    return d.groupby("sex", keys=["f", "m"])


ADVICE = [
    (lambda d: d.mean("age"), "mean('age', bounds=(lower, upper)), or let part"),
    (lambda d: d.mean("age", method="trimmed"), "mean('age', method='trimmed', bounds=(lower, upper))"),
    (lambda d: d.mean(column="age"), "mean(column='age', bounds=(lower, upper))"),
    (lambda d: d["age"].mean(), "['age'].mean(bounds=(lower, upper))"),
    (lambda d: d["age"].quantile(0.9), "['age'].quantile(..., bounds=(lower, upper))"),
    (lambda d: d["age"].describe(), "['age'].describe(bounds=(lower, upper))"),
    (lambda d: d.describe(["age"]), "describe('age', bounds=(0, 120)) or describe(['age', 'cost'], bounds={"),
    (lambda d: grouped(d)["age"].mean(), GROUPS + "['age'].mean(bounds=(lower, upper))"),
    (lambda d: grouped(d).mean("age"), GROUPS + ".mean('age', bounds=(lower, upper))"),
    (lambda d: grouped(d)["age"].histogram(), GROUPS + "['age'].histogram(bins=range(0, 101, 10)); keys=[...] counts"),
    (lambda d: grouped(d)["city"].mode(), GROUPS + "['city'].mode(keys=['A', 'B'])"),
    (lambda d: d.agg({"age": "mean"}), "agg(..., bounds={'age': (lower, upper)})"),
    (lambda d: d.groupby_mean_sa("sex", "age"), "groupby_mean_sa('sex', 'age', keys=['A', 'B'])"),
    (
        lambda d: d.groupby_mean_sa("sex", "age", keys=["f", "m"]),
        "groupby_mean_sa('sex', 'age', keys=..., bounds=(lower, upper))",
    ),
    (lambda d: d.groupby_mean_sa("sex"), "groupby_mean_sa(by, column, *, keys=None, bounds=None"),
    (lambda d: d.top_k("sex", 2), "top_k('sex', ..., keys=['A', 'B'])"),
    (lambda d: d.histogram("sex", keys="f"), "histogram('sex', keys=['A', 'B'])"),
    (
        lambda d: d["sex"].value_counts(),
        "['sex'].value_counts(keys=['A', 'B']), or discover keys (needs a delta): "
        "df.dp(epsilon=1, delta=1e-6).value_counts('sex')",
    ),
    (lambda d: d["age"].ecdf(), "['age'].ecdf(bins=range(0, 101, 10))"),
    (lambda d: d["age"].ecdf([0, 9]), "['age'].ecdf(bins=range(0, 101, 10))"),
    (lambda d: d["age"].sum(bounds=("a", "b")), "['age'].sum(bounds=(0, 100))"),
    (lambda d: d.mean("age", bounds=(9, 1)), "mean('age', bounds=(lower, upper))"),
]


@pytest.mark.parametrize(("ask", "line"), ADVICE, ids=range(len(ADVICE)))
def test_the_line_is_the_one_that_was_typed_and_what_it_lacks(monkeypatch, ask, line):
    df = protected()
    with refused(monkeypatch, df, pandas_dp.PandasDPError) as caught:
        ask(df.dp(epsilon=1))
    assert f": {line}" in str(caught.value)


def test_a_query_that_is_asked_is_told_the_same():
    df = protected()
    with pytest.raises(ArgumentTypeError) as typed:
        df.dp(epsilon=1)["age"].mean(method="trimmed")
    with pytest.raises(ArgumentTypeError) as kept:
        pandas_dp.query(epsilon=1)["age"].mean(method="trimmed")(df)
    assert "['age'].mean(method='trimmed', bounds=(lower, upper))" in str(typed.value)
    assert str(kept.value) == str(typed.value)


def test_the_line_works():
    df = protected()
    for ask, end in ((lambda d: d["age"].mean(), "(0, 100)"), (lambda d: grouped(d)["age"].mean(), "(0, 100)")):
        with pytest.raises(ArgumentTypeError) as caught:
            ask(df.dp(epsilon=1))
        line = str(caught.value).partition("the data: ")[2].partition(", or let")[0].replace("(lower, upper)", end)
        dots = "" if line.startswith("[") else "."
        eval(f"df.dp(epsilon=1){dots}{line}")


def test_what_may_be_data_is_not_repeated():
    df = protected()
    for ask in (
        lambda d: d.quantile("age", "secret"),
        lambda d: d.mean("age", method="trimmed", trim="secret"),
        lambda d: d.groupby_mean_sa("sex", "age", keys=["secret"]),
        lambda d: d.histogram("age", keys="secret"),
        lambda d: d.sum("age", bounds="secret"),
    ):
        with pytest.raises(pandas_dp.PandasDPError) as caught:
            ask(df.dp(epsilon=1))
        assert "secret" not in str(caught.value)


def held(value, depth=0):
    """What is reached from the locals of a frame, as tools reach it that show them."""
    yield value
    if depth < 3 and isinstance(value, (tuple, list, dict)):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from held(entry, depth + 1)


@pytest.mark.parametrize(("ask", "line"), ADVICE, ids=range(len(ADVICE)))
def test_neither_the_record_nor_what_knows_it_outlives_a_refusal(ask, line):
    df = protected()
    with pytest.raises(pandas_dp.PandasDPError) as caught:
        ask(df.dp(epsilon=1))
    for frame, _ in traceback.walk_tb(caught.value.__traceback__):
        if "pandas_dp" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename:
            found = [*held(list(frame.f_locals.values()))]
            assert not any(isinstance(value, (Call, PreparedFrame, GroupStatistics, pd.DataFrame)) for value in found)


def test_a_frame_and_its_groups_know_no_call_after_one():
    df = protected(delta=1e-3)
    asking = df.dp(epsilon=1, delta=1e-6)
    listed, found = asking.groupby("sex", keys=["f", "m"]), asking.groupby("sex")
    for groups in (listed, found):
        groups["age"].mean(bounds=(0, 100))
        assert groups._call is None
        assert groups._frame._call is None
    asking.count()
    assert asking._call is None
    assert asking.query("age > 40")._call is None


def test_a_twin_has_all_that_found_groups_have():
    df = protected(delta=1e-3)
    groups = df.dp(epsilon=1, delta=1e-6).groupby("sex")
    assert str(groups["age"].sum(bounds=(0, 100)).query) == "groupby('sex')['age'].sum(bounds=(0, 100))"
    assert str(groups.size().query) == "groupby('sex').size()"


@pytest.mark.parametrize("cls", [PricedFrame, PricedColumn, PricedGroups, FoundGroups], ids=lambda cls: cls.__name__)
def test_every_method_says_what_to_type(cls):
    unwrapped = [
        name for name in dir(cls) if not name.startswith("_") and not hasattr(getattr(cls, name), "__wrapped__")
    ]
    assert unwrapped == []


@pytest.mark.parametrize("base", [PricedFrame, PricedGroups], ids=lambda cls: cls.__name__)
def test_questions_that_a_class_adds_are_recorded_and_take_public_arguments_alone(base, monkeypatch):
    class More(base):
        __slots__ = ()

        def rate(self, keys=None):
            return self._call[0]

    df = protected()
    made = grouped(df.dp(epsilon=1)) if base is PricedGroups else df.dp(epsilon=1)
    first = made._parts if base is PricedGroups else made._price
    asking = More(made._frame, first, *(() if base is PricedGroups else (False,)))
    assert asking.rate(keys=["f"]) == Call("rate", (), {"keys": ["f"]})
    with refused(monkeypatch, df, pandas_dp.ArgumentValueError, "keys must be public"):
        asking.rate(keys=df["sex"])

"""The line to type instead: the one that was typed, with what it lacks."""

from __future__ import annotations

import itertools
import linecache
import traceback

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError
from pandas_dp.facts.call import Call
from pandas_dp.questions.frame import PricedColumn, PricedFrame
from pandas_dp.questions.group_statistics import GroupStatistics
from pandas_dp.questions.groups import FoundGroups, PricedGroups
from pandas_dp.questions.rows import PreparedFrame


def grouped(d):
    return d.groupby("sex", keys=["f", "m"])


ADVICE = [
    (lambda d: d.mean("age"), "d.mean('age', bounds=(lower, upper)), or let part"),
    (lambda d: d.mean("age", method="trimmed"), "d.mean('age', method='trimmed', bounds=(lower, upper))"),
    (lambda d: d.mean(column="age"), "d.mean(column='age', bounds=(lower, upper))"),
    (lambda d: d["age"].mean(), "d['age'].mean(bounds=(lower, upper))"),
    (lambda d: d["age"].quantile(0.9), "d['age'].quantile(0.9, bounds=(lower, upper))"),
    (lambda d: d["age"].describe(), "d['age'].describe(bounds=(lower, upper))"),
    (lambda d: d.describe(["age"]), "d.describe(['age'], bounds={'age': (lower, upper)})"),
    (lambda d: grouped(d)["age"].mean(), "grouped(d)['age'].mean(bounds=(lower, upper))"),
    (lambda d: grouped(d).mean("age"), "grouped(d).mean('age', bounds=(lower, upper))"),
    (lambda d: grouped(d)["age"].histogram(), "grouped(d)['age'].histogram(bins=range(0, 101, 10)); keys=[...] counts"),
    (lambda d: grouped(d)["city"].mode(), "grouped(d)['city'].mode(keys=['A', 'B'])"),
    (lambda d: d.agg({"age": "mean"}), "d.agg({'age': 'mean'}, bounds={'age': (lower, upper)})"),
    (lambda d: d.groupby_mean_sa("sex", "age"), "d.groupby_mean_sa('sex', 'age', keys=['A', 'B'], bounds="),
    (
        lambda d: d.groupby_mean_sa("sex", "age", keys=["f", "m"]),
        "d.groupby_mean_sa('sex', 'age', keys=['f', 'm'], bounds=(lower, upper))",
    ),
    (
        lambda d: d.groupby_mean_sa("sex"),
        "d.groupby_mean_sa('sex', column='age', keys=['A', 'B'], bounds=(lower, upper))",
    ),
    (lambda d: d.top_k("sex", 2), "d.top_k('sex', 2, keys=['A', 'B'])"),
    (lambda d: d.histogram("sex", keys="f"), "d.histogram('sex', keys=['A', 'B'])"),
    (
        lambda d: d["sex"].value_counts(),
        "d['sex'].value_counts(keys=['A', 'B']), or discover keys, which needs a delta in the budget and in the price: "
        "df.dp.session.extend(",
    ),
    (lambda d: d["age"].ecdf(), "d['age'].ecdf(bins=range(0, 101, 10))"),
    (lambda d: d["age"].ecdf([0, 9]), "d['age'].ecdf(bins=[0, 9])"),
    (lambda d: d["age"].sum(bounds=("a", "b")), "d['age'].sum(bounds=(0, 100))"),
    (lambda d: d.mean("age", bounds=(9, 1)), "d.mean('age', bounds=(1, 9))"),
]


CELLS = itertools.count()
SOME = [  # bounds of one column of two
    "d.linear_regression('age', ['x'], bounds={})",
    "d.corr(['age', 'x'], bounds={})",
    "d.cov(['x', 'age'], bounds={})",
    "d.agg({{'age': 'mean', 'x': 'sum'}}, bounds={})",
    "d.describe(['x', 'age'], bounds={})",
    "d.kmeans(['x', 'age'], k=2, bounds={})",
    "d.linear_regression('age', ['x', 'sex'], bounds={}, keys={{'sex': ['f', 'm']}})",
]


def said(line, **variables):
    """What a line is refused with, typed in a cell of a notebook."""
    file = f"<cell {next(CELLS)}>"
    linecache.cache[file] = len(line), None, [line + "\n"], file
    with pytest.raises((pandas_dp.PandasDPError, AttributeError)) as caught:
        eval(compile(line, file, "eval"), {"pd": pd, **variables})
    return str(caught.value)


@pytest.mark.parametrize("ask", SOME, ids=range(len(SOME)))
def test_pairs_that_were_typed_stay_beside_those_that_lack(ask):
    df = protected(people().assign(x=1.0))
    for pair, told in (("(0, 100)", "(0, 100)"), ("(9, 1)", "(lower, upper)"), ("ends", "ends")):
        line = said(ask.format(f"{{'age': {pair}}}"), d=df.dp(epsilon=1), ends=(3.25, 64.713))
        assert f"bounds={{'age': {told}, 'x': (lower, upper)}}" in line
    held = said(ask.format("held"), d=df.dp(epsilon=1), held={"age": (3.25, 64.713)})
    assert "bounds=held | {'x': (lower, upper)}" in held


VALUES = {"cells": [42.75, 61.5], "low": 34.4108, "high": 64.713, "names": ["patient 7", "patient 9"]}
VALUES |= {"edges": [17.25, 61.5], "months": pd.period_range("1987-03", periods=7, freq="M"), "one": 61.5}
HELD = {  # a call with what variables hold, and what is told of it
    "d.quantile('age', cells, bounds=(0, 100))": "d.quantile('age', 0.9, bounds=(0, 100))",
    "d.quantile('age', tuple(cells), bounds=(0, 100))": "d.quantile('age', 0.9, bounds=(0, 100))",
    "d.quantile('age', pd.Index(cells).to_numpy(), bounds=(0, 100))": "d.quantile('age', 0.9, bounds=(0, 100))",
    "d.quantile('age', one, bounds=(0, 61.5))": "d.quantile('age', 0.9, bounds=(0, 61.5))",
    "d.groupby('sex', keys=['f'])['age'].quantile(q=cells, bounds=(0, 9))": "quantile(q=0.9, bounds=(0, 9))",
    "d.quantile('age', 61.5, bounds=(0, 100))": "d.quantile('age', 0.615, bounds=(0, 100))",
    "d.quantile('age', [25, 61.5], bounds=(0, 100))": "d.quantile('age', [0.25, 0.615], bounds=(0, 100))",
    "d.corr(['age', 'pay'], bounds=(low, high))": "bounds={'age': (low, high), 'pay': (low, high)}",
    "d[['age', 'pay']].mean(bounds=(low, high))": "bounds={'age': (low, high), 'pay': (low, high)}",
    "d.agg({'age': 'mean', 'pay': 'mean'}, **dict(bounds=(low, high)))": "'age': (lower, upper), 'pay': (lower, upper)",
    "d.groupby('sex', keys=names).ecdf": "query(\"sex == 'A'\")",
    "d.groupby('age', bins=edges).ecdf": "query('age >= 0 and age < 10')",
    "d.groupby('age', bins=[0, 18, 61.5]).ecdf": "query('age >= 0.0 and age < 18.0')",
    "d.groupby('age', bins=range(5, 30, 5)).ecdf": "query('age >= 5 and age < 10')",
    "d.crosstab('day', 'sex', keys={'day': months, 'sex': ['f']})": "bins={'day': months}",
    "d.groupby(['day', 'sex'], keys=dict(day=months, sex=['f'])).size()": "['day']}",
}


@pytest.mark.parametrize("call", HELD)
def test_what_variables_hold_is_in_no_refusal(call):
    df = protected(people().assign(day=pd.Timestamp("2024-05-06")))
    told = said(call, d=df.dp(epsilon=1), **VALUES)
    assert HELD[call] in told
    numbers = ("42.75", "0.4275", "34.41", "64.7", "patient", "17.25", "1987", "61.5", "0.615")
    assert not any(each in told for each in numbers if each not in call + HELD[call])


class Odd:
    """What can be compared with nothing."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("compared")


ODD = [
    np.array(["a", "b"]),
    np.arange(3.0),
    pd.NA,
    [pd.NA],
    pd.col("age") > 3,
    pd.IntervalIndex.from_breaks([0, 1]),
    Odd(),
]
ASKED = (
    "d[['age']].mean(by=odd)",
    "d.mean(by=odd)",
    "d.crosstab('sex', 'sex', values=odd)",
    "d.pivot_table('age', 'sex', odd)",
    "d.pivot_table(odd, 'sex', 'sex')",
    "d.mean(odd)",
    "d.mean('age', method=odd)",
    "d.agg({'age': 'mean'}, bounds=odd)",
    "d.quantile('age', odd)",
    "d.corr(odd)",
    "d.groupby(odd).size()",
)


@pytest.mark.parametrize("call", ASKED)
@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_advice_breaks_on_nothing_and_its_frames_hold_no_table(call, odd):
    d = protected().dp(epsilon=1)
    with pytest.raises(pandas_dp.PandasDPError) as caught:
        eval(call, {"d": d, "odd": odd})
    frames = [
        frame for frame, _ in traceback.walk_tb(caught.value.__traceback__) if "pandas_dp/" in frame.f_code.co_filename
    ]
    held = [
        (frame.f_code.co_name, name)
        for frame in frames
        for name, value in frame.f_locals.items()
        if hasattr(value, "_frame")
    ]
    assert not held


def test_a_line_that_cannot_be_encoded_leaves_the_refusal():
    line = "d.mean('age')"
    linecache.cache["<half>"] = 3, None, ["\ud800" * 80 + "\n"], "<half>"
    try:
        with pytest.raises(pandas_dp.PandasDPError, match="needs public bounds"):
            eval(compile(line, "<half>", "eval"), {"d": protected().dp(epsilon=1)})
    finally:
        del linecache.cache["<half>"]  # the report of a failure could not be written


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
    assert str(kept.value) == str(typed.value).replace("df.dp(epsilon=1)[", "[")


def test_code_that_cannot_be_read_is_told_with_examples_of_what_may_be_data():
    names = {"df": protected()}
    for typed, advised in (
        ("df.dp(1).quantile('age', 0.9)", "quantile('age', 0.9, bounds=(lower, upper))"),
        ("df.dp(1).quantile('age', [0.9, 0.1])", "quantile('age', ..., bounds=(lower, upper))"),
        (
            "df.dp(1).groupby_mean_sa('sex', 'age', keys=['f'])",
            "groupby_mean_sa('sex', 'age', keys=['A', 'B'], bounds=",
        ),
        (
            "df.dp(1).groupby('sex', keys=['f', 'm'])['age'].mean()",
            "groupby('sex', keys=['f', 'm'])['age'].mean(bounds=",
        ),
        ("df.dp(1).sample_and_aggregate(len)", "sample_and_aggregate(function, bounds=(lower, upper))"),
    ):
        with pytest.raises(ArgumentTypeError) as caught:
            eval(typed, names)
        assert f": {advised}" in str(caught.value)


HOLDING = [  # a variable of the user's, which may hold data
    "d.quantile('age', held)",
    "d.mean('age', method='trimmed', trim=held)",
    "d.groupby_mean_sa('sex', 'age', keys=[held])",
    "d.histogram('age', keys=held)",
    "d.sum('age', bounds=held)",
    "d.quantile('age', q=[held], bounds=(9, 1))",
]


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("typed", HOLDING)
def test_what_may_be_data_is_not_repeated(typed, readable):
    asking = protected().dp(epsilon=1)
    if readable:
        linecache.cache["<cell>"] = (len(typed), None, [typed], "<cell>")
    with pytest.raises(pandas_dp.PandasDPError) as caught:
        eval(compile(typed, "<cell>" if readable else "<no cell>", "eval"), {"d": asking, "held": "secret"})
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


def test_code_that_is_nested_deep_is_told_by_its_arguments():
    typed = f"d.sum('age', bounds=(0, {'+'.join(['1'] * 900)}), foo=3)"
    linecache.cache["<deep cell>"] = (len(typed), None, [typed], "<deep cell>")
    with pytest.raises(ArgumentTypeError, match=r"no foo="):
        eval(compile(typed, "<deep cell>", "eval"), {"d": protected().dp(epsilon=1)})


# -------------------------------------------------------------------------------------------------------- lines that work
WORKS = [  # what was typed, and the line that is named; both of d, and of groups that are found
    ("d.mean('age', 0, 120)", "d.mean('age', bounds=(0, 120))"),
    ("d.sum('age', 0, 120)", "d.sum('age', bounds=(0, 120))"),
    ("d.median('age', 0.5, 120)", "d.median('age', bounds=(0.5, 120))"),
    ("d.quantile('age', 0.9, 0, 120)", "d.quantile('age', 0.9, bounds=(0, 120))"),
    ("d.mean(0, 120)", "d.mean('age', bounds=(0, 120))"),
    ("d['age'].mean(0, 120)", "d['age'].mean(bounds=(0, 120))"),
    ("grouped(d)['age'].mean(0, 120)", "grouped(d)['age'].mean(bounds=(0, 120))"),
    ("d.mean(bounds=(0, 120))", "d.mean(bounds=(0, 120), column='age')"),
    ("d.mean((0, 120))", "d.mean('age', bounds=(0, 120))"),
    ("d.quantile('age', 0, 120)", "d.quantile('age', bounds=(0, 120))"),
    ("np.mean(d['age'])", "['age'].mean(bounds=(lower, upper))"),
    ("np.std(d['age'])", "['age'].std(ddof=0, bounds=(lower, upper))"),
]


@pytest.mark.parametrize(("typed", "line"), WORKS)
def test_the_line_works_when_it_is_typed(monkeypatch, typed, line):
    df = protected()
    names = {"d": df.dp(epsilon=1), "grouped": grouped, "np": np, "lower": 0, "upper": 120}
    linecache.cache["<line>"] = (len(typed), None, [typed], "<line>")
    with refused(monkeypatch, df, ArgumentTypeError) as caught:
        eval(compile(typed, "<line>", "eval"), names)
    told = str(caught.value).partition("; several with")[0]
    assert told.endswith(f": {line}")
    eval(line if line.startswith(("d", "grouped")) else f"d{line}", names)


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("d.mean('age', 120)", "d.mean('age', bounds=(lower, upper))"),
        ("d.max('age', 0.99, bounds=(0, None))", "d.max('age', bounds=(0, None))"),
        ("d.quantile('age', 0.9, 1, bounds=(0, 9))", "d.quantile('age', 0.9, bounds=(0, 9))"),
    ],
)
def test_numbers_that_fit_nowhere_are_left_out(monkeypatch, typed, line):
    df = protected()
    linecache.cache["<line>"] = (len(typed), None, [typed], "<line>")
    with refused(monkeypatch, df, ArgumentTypeError) as caught:
        eval(compile(typed, "<line>", "eval"), {"d": df.dp(epsilon=1)})
    assert str(caught.value).endswith(f"() takes nothing more by place: {line}")


def test_a_higher_total_is_named_alone():
    session = protected().dp.session
    for given in ({"epsilon": 9, "reason": "r"}, {"total": 9, "reason": "r"}, {"delta": 1e-6, "reason": "r"}):
        with pytest.raises(ArgumentTypeError) as caught:
            session.extend(**given)
        line = str(caught.value).partition(": ")[2]
        assert line.startswith("df.dp.session.extend(to")
        assert line.endswith(")")
        assert ": " not in line


def test_bounds_are_offered_for_sale_where_they_are_sold(monkeypatch):
    df = protected(delta=1e-4)
    with refused(monkeypatch, df, ArgumentTypeError, r"bounds='private'$"):
        df.dp(epsilon=1).mean("age")
    for ask in (
        lambda: df.dp(epsilon=1, delta=1e-6).groupby("sex")["age"].mean(),
        lambda: df.dp(epsilon=1, delta=1e-6).groupby("sex")["age"].sum(),
        lambda: df.dp(epsilon=1).mean("age", method="trimmed"),
    ):
        with refused(monkeypatch, df, ArgumentTypeError) as caught:
            ask()
        assert str(caught.value).endswith("bounds=(lower, upper))")


def test_lines_name_a_frame_that_is_not_protected_as_it_is_written(monkeypatch):
    df = protected()
    other = {"visits": df.copy()}
    visits = other["visits"]
    with pytest.raises(pandas_dp.UnverifiedFrameError, match=r"\nvisits\.dp\.protect\(") as caught:
        visits.dp(epsilon=1).count()
    assert "unrelated data: protect them under another name=" in str(caught.value)
    with pytest.raises(pandas_dp.UnverifiedFrameError, match=r"\nframe = other\['visits'\]; frame\.dp\.protect\("):
        other["visits"].dp(epsilon=1).count()


def test_a_plot_promises_error_bars_to_none_but_itself():
    with pytest.raises(ArgumentTypeError, match=r"with error bars; other kinds of plots .* have none"):
        protected().dp(epsilon=1).value_counts("sex", keys=["f", "m"]).plot(kind="bar")

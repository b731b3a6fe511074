"""A number that was computed from private rows and typed into a question is published in its text: NumPy's scalars are refused.

In every place where something is typed, before anything is charged; whole arrays of edges and keys stay what they were.
"""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people
from support.questions import EVERY, FOUND, table

import pandas_dp
from pandas_dp.facts import public_only
from pandas_dp.steps import trace

SCALARS: dict[str, Any] = {
    "np.float64": np.float64(40.5),
    "np.float32": np.float32(40),
    "np.int64": np.int64(40),
    "np.uint8": np.uint8(40),
    "np.bool": np.True_,
    "np.str_": np.str_("f"),
    "np.datetime64": np.datetime64("2013-01-15"),
    "np.timedelta64": np.timedelta64(3, "D"),
}
FORTY, DAY, TEXT, WEEK = np.float64(40), np.datetime64("2013-01-15"), np.str_("f"), np.timedelta64(7, "D")

IN_STEPS: dict[str, Callable[[Any], Any]] = {
    "mean of the table": lambda dp: dp.filter(lambda d: d.age > people()["age"].mean()),
    "on the left": lambda dp: dp.filter(lambda d: d.age > FORTY),
    "expression": lambda dp: dp.filter(pd.col("age") > FORTY),
    "expression of a sum": lambda dp: dp.assign(x=pd.col("age") * 2 - FORTY),
    "both": lambda dp: dp.filter(lambda d: (d.age > 3) & np.True_),
    "arithmetic": lambda dp: dp.assign(x=lambda d: (d.age - FORTY) / 2),
    "power": lambda dp: dp.assign(x=lambda d: d.age ** np.int64(2)),
    "date": lambda dp: dp.filter(lambda d: d.when > DAY),
    "date on the left": lambda dp: dp.filter(lambda d: d.when > DAY),
    "duration": lambda dp: dp.assign(x=lambda d: d.when - WEEK),
    "text": lambda dp: dp.filter(lambda d: d.sex == TEXT),
    "between": lambda dp: dp.filter(lambda d: d.age.between(0, FORTY)),
    "isin": lambda dp: dp.filter(lambda d: d.age.isin([31, np.int64(45)])),
    "isin a set": lambda dp: dp.filter(lambda d: d.age.isin({31, np.int64(45)})),
    "clip": lambda dp: dp.clip(0, FORTY, columns="age"),
    "clip of a column": lambda dp: dp.assign(x=lambda d: d.age.clip(0, FORTY)),
    "fillna": lambda dp: dp.fillna(FORTY),
    "fillna by column": lambda dp: dp.fillna({"pay": FORTY}),
    "fillna of a column": lambda dp: dp.assign(x=lambda d: d.pay.fillna(FORTY)),
    "where": lambda dp: dp.assign(x=lambda d: d.age.where(d.age > 3, FORTY)),
    "case_when": lambda dp: dp.assign(x=lambda d: d.age.case_when([(d.age > 3, FORTY)])),
    "map to": lambda dp: dp.assign(x=lambda d: d.sex.map({"f": FORTY})),
    "map from": lambda dp: dp.assign(x=lambda d: d.sex.map({TEXT: 1})),
    "cut": lambda dp: dp.assign(x=lambda d: d.age.cut([0, FORTY, 90], labels=["a", "b"])),
    "round": lambda dp: dp.assign(x=lambda d: d.age.round(np.int64(1))),
    "slice": lambda dp: dp.assign(x=lambda d: d.sex.str[: np.int64(1)]),
    "text method": lambda dp: dp.filter(lambda d: d.sex.str.startswith(TEXT)),
    "constant": lambda dp: dp.assign(x=FORTY),
    "constant of a function": lambda dp: dp.assign(x=lambda _: FORTY),
    "array of one": lambda dp: dp.filter(lambda d: d.age > np.array(40.0)),
    "ufunc": lambda dp: dp.assign(x=lambda d: np.add(d.age, FORTY)),
    "merge": lambda dp: dp.merge({"sex": ["f", "m"], "label": [1, FORTY]}, "sex"),
}


def refused(question: Callable[[], Any]) -> None:
    with pytest.raises(
        pandas_dp.ArgumentTypeError, match=r"NumPy scalar.*If it is public knowledge, type the value itself"
    ) as error:
        question()
    assert "40" not in str(error.value).replace("np.float64", "")


@pytest.mark.parametrize("step", IN_STEPS.values(), ids=IN_STEPS)
def test_constants_of_steps(step):
    df = people()
    session = df.dp.protect(epsilon=1, name=fresh())
    for dp in (df.dp, df.dp(epsilon=1), df.dp.preview(epsilon=1)):
        refused(lambda dp=dp: step(dp))
    assert session.spent == "epsilon=0"
    assert session.releases["kind"].tolist() == ["open"]


@pytest.mark.parametrize("name", SCALARS)
def test_every_kind_of_scalar_names_what_to_type(name):
    value = SCALARS[name]
    df = people()
    df.dp.protect(epsilon=1, name=fresh())
    for ask in (
        lambda: df.dp.assign(x=lambda d: d.age == value),
        lambda: df.dp(epsilon=1).histogram("sex", keys=["f", value]),
        lambda: df.dp(epsilon=1).mean("age", bounds=(0, value)),
        lambda: df.dp(epsilon=value),
    ):
        refused(ask)
    assert df.dp.session.spent == "epsilon=0"


class Odd:
    """Calls a question with each of its arguments in turn replaced by a scalar, or by a container that holds one."""

    def __init__(self, asked: Any, found: list[str]) -> None:
        self.asked, self.found = asked, found

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.asked, name)

        def call(*args: Any, **options: Any) -> Any:
            for place in [*range(len(args)), *options]:
                given = args[place] if isinstance(place, int) else options[place]
                held = deque([given, FORTY]), MappingProxyType({"a": UserList([TEXT])})
                for odd in (FORTY, [given, np.int64(3)], (TEXT, given), {"a": [DAY]}, *held):
                    placed = [odd if i == place else arg for i, arg in enumerate(args)]
                    named = {other: odd if other == place else value for other, value in options.items()}
                    refused(lambda placed=placed, named=named: method(*placed, **named))
                self.found.append(f"{name} {place}")
            return Odd(method(*args, **options), self.found) if name in ("groupby", "query", "assign") else None

        return call

    def __getitem__(self, column: str) -> Any:
        return Odd(self.asked[column], self.found)


@pytest.mark.slow
def test_every_argument_of_every_question():
    """Before anything is charged. A question that is added to those of the contract tests is swept with them."""
    df, found = table(), []
    session = df.dp.protect(epsilon=1000, delta=1e-3, unit="uid", max_rows=4, name=fresh())
    for ask in (EVERY | FOUND).values():
        ask(Odd(df.dp(epsilon=1, delta=1e-6), found))
    assert len(set(found)) > 80
    assert session.releases["kind"].tolist() == ["open"]


TYPED: dict[str, Callable[[pd.DataFrame], Any]] = {
    "epsilon": lambda df: df.dp(epsilon=np.float64(0.5)),
    "rho": lambda df: df.dp(rho=np.float64(0.5)),
    "within": lambda df: df.dp(within=np.int64(5)),
    "confidence": lambda df: df.dp(within=5, confidence=np.float64(0.9)),
    "rows of a preview": lambda df: df.dp.preview(epsilon=1, rows=np.int64(3000)),
    "level of a quantile": lambda df: df.dp(epsilon=1).quantile("age", np.float64(0.5), bounds=(0, 99)),
    "threshold": lambda df: df.dp(epsilon=1).above_threshold(np.int64(5)),
    "prices": lambda df: df.dp(epsilon=1).best_price("age", prices=[1, np.int64(2)]),
    "candidates": lambda df: df.dp(epsilon=1).select([1, np.int64(2)], score="age >= candidate"),
    "keys that go by once": lambda df: df.dp(epsilon=1).histogram("sex", keys=(np.str_(key) for key in "fm")),
    "keys in a deque": lambda df: df.dp(epsilon=1).histogram("sex", keys=deque(["f", np.str_("m")])),
    "edges that go by once": lambda df: df.dp(epsilon=1).histogram("age", bins=map(np.int64, [0, 50])),
    "bounds of several": lambda df: df.dp(epsilon=1).agg({"age": "mean"}, bounds={"age": (0, np.int64(99))}),
    "schema": lambda _: pandas_dp.Schema({"age": {"bounds": (0, np.int64(99))}}),
    "schema of what goes by once": lambda _: pandas_dp.Schema({"age": {"bounds": map(np.int64, [0, 99])}}),
    "schema of protect": lambda _: people().dp.protect(
        epsilon=1, name=fresh(), schema={"age": {"keys": [np.int64(9)]}}
    ),
    "total": lambda _: people().dp.protect(epsilon=np.float64(1), name=fresh()),
    "max_rows": lambda _: people().dp.protect(epsilon=1, unit="pid", max_rows=np.int64(3), name=fresh()),
    "plan": lambda _: people().dp.protect(epsilon=1, delta=1e-6, plan={np.float64(0.1): 3}, name=fresh()),
    "extend": lambda df: df.dp.session.extend(np.int64(9), reason="more"),
    "allot": lambda df: df.dp.allot("part", epsilon=np.float64(0.5)),
    "partition": lambda df: df.dp.partition("sex", ["f", np.str_("m")], epsilon=0.5),
    "explode": lambda df: df.dp.explode("sex", max=np.int64(2)),
    "recorded": lambda _: pandas_dp.query(epsilon=1).mean("age", bounds=(0, np.int64(99))),
    "recorded price": lambda _: pandas_dp.query(epsilon=np.float64(1)),
    "plan of queries": lambda df: pandas_dp.plan([pandas_dp.query(epsilon=1).count()], df, epsilon=np.float64(1)),
    "geometric prices": lambda _: pandas_dp.geometric_prices(np.int64(1), 4, ratio=1.1),
}


@pytest.mark.parametrize("ask", TYPED.values(), ids=TYPED)
def test_every_other_place_where_something_is_typed(ask):
    df = people()
    session = df.dp.protect(epsilon=1, delta=1e-6, name=fresh())
    refused(lambda: ask(df))
    assert session.spent == "epsilon=0"


def test_arrays_stay_allowed_and_dates_cannot_be_told():
    df = people()
    df.dp.protect(epsilon=100, name=fresh(), schema={"age": {"keys": np.arange(18, 80)}})
    asked = df.dp(epsilon=1)
    assert len(asked.histogram("age", bins=np.arange(0, 101, 10))) == 10
    assert len(asked.histogram("age", bins=np.linspace(0, 100, 5))) == 4
    assert len(asked.histogram("age", bins=pd.Index([0, 50, 100]))) == 2
    assert len(asked.histogram("age", bins=iter([0, 50, 100]))) == 2
    assert len(asked.histogram("when", bins=pd.date_range("2013-01-01", "2013-03-01", freq="MS"))) == 2
    assert len(asked.histogram("sex", keys=np.array(["f", "m"]))) == 2
    assert len(asked.histogram("sex", keys=pd.Index(["f", "m"]))) == 2
    assert len(asked["age"].histogram(keys=None, bins=range(0, 100, 10))) == 9
    assert len(asked.quantile("age", np.array([0.25, 0.5]), bounds=(0, 99))) == 2
    assert "label" in df.dp.merge(pd.DataFrame({"sex": ["f", "m"], "label": [1.5, 2.5]}), "sex")
    assert len(df.dp.filter(lambda d: d.when < df["when"].max()).columns) == df.shape[1]  # a Timestamp, as one types it
    assert len(df.dp.filter(lambda d: d.age > float(df["age"].mean())).columns) == df.shape[1]  # the owner's word


def test_bounds_are_typed_one_by_one():
    """An array of two numbers is no list of edges: ``np.percentile(df.age, [1, 99])`` is one."""
    df = people()
    df.dp.protect(epsilon=1, name=fresh())
    for bounds in (np.percentile(df["age"], [1, 99]), pd.Index([0, 99])):
        with pytest.raises(pandas_dp.ArgumentTypeError, match="bounds must be a pair of numbers"):
            df.dp(epsilon=1).mean("age", bounds=bounds)
        with pytest.raises(pandas_dp.ArgumentTypeError, match="two plain values"):
            pandas_dp.Schema({"age": {"bounds": bounds}})


def test_a_twin_that_looks_at_nothing_is_noticed(monkeypatch):
    monkeypatch.setattr(trace, "check_typed", lambda value: None)
    with pytest.raises(pytest.fail.Exception):
        test_constants_of_steps(IN_STEPS["mean of the table"])
    monkeypatch.setattr(public_only, "_scalar", lambda value: None)
    with pytest.raises(pytest.fail.Exception):
        test_every_other_place_where_something_is_typed(TYPED["threshold"])

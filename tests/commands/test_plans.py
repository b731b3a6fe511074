"""Plan files: whatever they hold, they are read or refused in the package's own words."""

from __future__ import annotations

import contextlib
import functools
import json
import operator
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import PLAN, visits

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.commands.dry_run import rehearse
from pandas_dp.commands.plans import PipelinePlan

EMPTY = visits(4).iloc[:0]


def look(said):
    """Everything that a dry run does."""
    plan = PipelinePlan.of(said)
    empty = EMPTY.copy()
    return rehearse(plan.terms, empty, plan.schema, (None, plan.table, plan.version), plan.priced)


def test_what_a_plan_says():
    plan = PipelinePlan.of(tomllib.loads(PLAN))
    assert (plan.terms.name, plan.table, plan.version) == ("visits", "visits", "2026-11-28")
    assert plan.schema["cost"].bounds == (0, 100)
    assert [*plan.queries.values()] == [
        pandas_dp.query(epsilon=0.5).count(),
        pandas_dp.query(epsilon=0.25).query("cost > 10").groupby("ward")["cost"].mean(),
        pandas_dp.query(epsilon=0.25)["cost"].median(),
    ]
    seen = look(tomllib.loads(PLAN))
    assert [question.preview.price for question in seen.questions] == ["epsilon=0.5", "epsilon=0.25", "epsilon=0.25"]
    assert (seen.left, seen.then, seen.paid) == ("epsilon=3", "epsilon=2", True)


def test_calls_are_what_a_query_writes():
    for query in (
        pandas_dp.query(epsilon=0.5).query("cost > 3").histogram("cost", bins=range(0, 101, 10)),
        pandas_dp.query(within=20).count("cost"),
    ):
        entry = {"name": "x"} | json.loads(json.dumps(query.to_dict()))
        said = tomllib.loads(PLAN) | {"queries": [entry]}
        assert PipelinePlan.of(said).queries["x"] == query


def test_a_question_asked_twice_is_paid_once():
    said = tomllib.loads(PLAN)
    said["queries"] = [said["queries"][0] | {"name": name} for name in "ab"]
    seen = look(said)
    assert [question.stored for question in seen.questions] == [False, True]
    assert seen.then == "epsilon=2.5"


def test_prices_are_planned_by_shares_or_by_errors():
    said = tomllib.loads(PLAN) | {"plan": {"epsilon": 1}}
    price = {"epsilon": 3}
    said["queries"] = [
        {"name": name, "ask": f"count('{column}')", "price": price} for name, column in (("a", "cost"), ("b", "ward"))
    ]
    assert [question.preview.price for question in look(said).questions] == ["epsilon=0.5"] * 2
    for query, error in zip(said["queries"], (10, 30), strict=True):
        query["price"] = {"within": error}
    fine, rough = (question.preview.epsilon for question in look(said).questions)
    assert 2.5 < fine / rough < 3.5
    assert fine + rough <= 1
    said["plan"] = {}
    alone = [question.preview.half_width for question in look(said).questions]
    assert alone == [10, 30]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda p: p.pop("queries"), "at least one query"),
        (lambda p: p.update(queries=[]), "at least one query"),
        (lambda p: p.update(queries={"a": 1}), "at least one query"),
        (lambda p: p.update(budget=3), r"budget of a plan is a table: \[budget\]"),
        (lambda p: p["budget"].pop("name"), 'a budget needs its name: name = "visits"'),
        (lambda p: p["budget"].pop("epsilon"), "a budget needs its epsilon"),
        (lambda p: p["budget"].update(rho=0.1), "a budget has one total, epsilon or rho: epsilon = 3"),
        (lambda p: p["budget"].update(epsilom=3), "did you mean 'epsilon'"),
        (lambda p: p["budget"].update(name="a::b"), "must be text without"),
        (lambda p: p["budget"].pop("max_rows"), "unit needs max_rows"),
        (lambda p: p["budget"].update(neighbors="both"), "neighbors must be"),
        (lambda p: p["table"].update(version=True), "must be a short text"),
        (lambda p: p["table"].update(version="a\nb"), "must be a short text"),
        (lambda p: p["queries"][0].update(name="../rows"), "a name that a file can have"),
        (lambda p: p["queries"][0].update(name=".rows"), "a name that a file can have"),
        (lambda p: p["queries"][0].update(name="Index"), "a name that a file can have"),
        (lambda p: p["queries"][0].update(name="middle"), "named 'middle' and 'middle'; each .*: name = \"middle_3\""),
        (lambda p: p["queries"][0].update(name="MIDDLE"), "named 'MIDDLE' and 'middle', which .*: name = \"middle_3\""),
        (lambda p: p["queries"][0].update(name="NUL"), "device on Windows .*: name = \"q_NUL\""),
        (lambda p: p["queries"][0].update(name="com1.costs"), "device on Windows .*: name = \"q_com1.costs\""),
        (lambda p: p["queries"][0].pop("price"), "query 'rows': it needs a price"),
        (lambda p: p["queries"][0].update(price=0.5), "query 'rows': "),
        (lambda p: p["queries"][0].update(price={"fresh": True}), "price takes epsilon, delta, rho, within, confidence"),
        (lambda p: p["queries"][0].pop("ask"), "query 'rows': it needs one of ask and calls"),
        (lambda p: p["queries"][0].update(calls=[]), "query 'rows': it needs one of ask and calls"),
        (lambda p: p["queries"][0].update(weight=1), "a query takes name, price, ask, calls, not 'weight'"),
        (lambda p: p.update(plan={"total": 1}), r"\[plan\] takes epsilon, delta, accountant, rows, not 'total'"),
        (lambda p: p["queries"][0].update(ask="above_threshold(5)"), "open it in code"),
        (lambda p: p["queries"][2].update(calls=[]), "no question yet"),
        (lambda p: p.update(split={"total": 1}), r"is now \[plan\] epsilon = 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(change, text):
    said = tomllib.loads(PLAN)
    change(said)
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=text):
        look(said)


SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 5) | st.integers() | st.floats() | st.text(max_size=6) | st.dates() | st.times()
    | st.datetimes()
    | st.sampled_from(["cost", "ward", "count()", "mean('cost')", "pid", "replace_one", "rdp", "mean", "groupby", "visits"])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["name", "price", "epsilon", "call", "args", "options", "column", "bounds", "keys", "range", "tuple",
                         "decimal", "period_range", "timestamp", "fraction", "dict"]) | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def places(said, path=()):
    """Paths of all entries of a plan."""
    yield path
    for key in said if isinstance(said, dict) else range(len(said)) if isinstance(said, list) else ():
        yield from places(said[key], (*path, key))


ALL = [path for path in places(tomllib.loads(PLAN)) if path]


@pytest.mark.slow
@settings(max_examples=1000)
@given(changes=st.lists(st.tuples(st.sampled_from(ALL), VALUES), min_size=1, max_size=3))
def test_any_plan_is_read_or_refused(changes):
    said = tomllib.loads(PLAN)
    for path, value in changes:
        with contextlib.suppress(KeyError, IndexError, TypeError):  # an earlier change took its place away
            functools.reduce(operator.getitem, path[:-1], said)[path[-1]] = value
    try:
        seen = look(said)
    except PandasDPError:
        return
    assert len(seen.questions) == len(said["queries"])
    assert list(seen.lines())


@settings(max_examples=200)
@given(content=st.binary(max_size=80) | st.text(max_size=80).map(str.encode) | st.just(b"a = " + b"[" * 5000))
def test_any_file_is_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    with pytest.raises((ArgumentTypeError, ArgumentValueError)):
        PipelinePlan.read(str(path))

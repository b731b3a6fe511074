"""Calls that Python would refuse in words of its own: what is wrong and what to type, nothing read or charged."""

from __future__ import annotations

import inspect
import warnings

import pandas as pd
import pytest
from support.frames import protected, refused

from pandas_dp import ArgumentTypeError
from pandas_dp.accessor import Accessor
from pandas_dp.calls import explain
from pandas_dp.priced.frame import PricedFrame

CALLS = [
    (lambda df: df.dp(eps=1), r"df\.dp\(\) takes epsilon=, not eps=: df\.dp\(\.\.\., epsilon=0\.5\)"),
    (lambda df: df.dp(budget=1), "takes epsilon=, not budget="),
    (lambda df: df.dp(epsilo=1), "takes no epsilo=; did you mean 'epsilon'"),
    (lambda df: df.dp.protect(epsilon=1, neighbours="add_remove"), r"protect\(\) takes neighbors=, not neighbours="),
    (lambda df: df.dp.query(), r"query\(\) needs expr: query\(expr\)"),
    (
        lambda df: df.dp.assign(3, more=lambda d: d.age),
        r"assign\(\) was given arguments that do not fit: assign\(\*\*columns\)",
    ),
    (lambda df: df.dp.session.extend(5), r"extend\(\) needs reason: extend\(to=None, to_delta=None, \*, reason\)"),
    (lambda df: df.dp(1).mean("age", (0, 9)), r"mean\(\) takes bounds by name: mean\('age', bounds=\(0, 100\)\)"),
    (lambda df: df.dp(1)["age"].mean((0, 9)), r"mean\(\) takes bounds by name: mean\(bounds=\(0, 100\)\)"),
    (lambda df: df.dp(1).mean(), r"mean\(\) needs column: mean\(column, \*, bounds=None"),
    (lambda df: df.dp(1).mean("age", epsilon=1), r"its price stands before it, df\.dp\(epsilon=0\.5\)\.mean\(\.\.\.\)"),
    (lambda df: df.dp(1).mean("age", range=(0, 9)), r"takes bounds=, not range=: mean\(\.\.\., bounds=\(0, 100\)\)"),
    (lambda df: df.dp(1).mean("age", column="age"), "arguments that do not fit"),
    (lambda df: df.dp(1).histogram("age", 10), r"histogram\('age', bins=range\(0, 101, 10\)\)"),
    (lambda df: df.dp(1).value_counts("sex", ["f"]), r"value_counts\('sex', keys=\['A', 'B'\]\)"),
    (lambda df: df.dp(1).groupby("sex", ["f"]), r"groupby\('sex', keys=\['A', 'B'\]\)"),
    (lambda df: df.dp(1).groupby("sex", keys=["f"])["age"].mean("age", (0, 9)), "takes bounds by name"),
    (lambda df: df.dp(1).kmeans(["age"], n_clusters=3), "takes k=, not n_clusters="),
    (lambda df: df.dp(1).count("age", "pay"), r"count\(column=None\)"),
    (lambda df: df.dp(1).count(secret42=1), r"takes no secret42=; it takes column="),
]


@pytest.mark.parametrize(("call", "match"), CALLS, ids=range(len(CALLS)))
def test_arguments_that_do_not_fit(monkeypatch, call, match):
    df = protected()
    with refused(monkeypatch, df, ArgumentTypeError, match) as caught:
        call(df)
    assert caught.value.__context__ is None


def test_values_are_not_repeated(monkeypatch):
    """They may come from the data."""
    df = protected()
    for bounds in ((0, 4242), df["age"], "4242"):
        with refused(monkeypatch, df, ArgumentTypeError) as caught:
            df.dp(1).mean("age", bounds)
        assert "4242" not in str(caught.value)


def test_errors_of_a_method_itself_are_left_alone():
    @explain
    class Fails:
        def adds(self):
            return len(3)

        def calls(self):
            return self.adds(1)

    for method in (Fails().adds, Fails().calls):
        with pytest.raises(TypeError) as caught:
            method()
        assert isinstance(caught.value, ArgumentTypeError) == (method.__name__ == "calls")


def test_help_shows_the_arguments():
    assert list(inspect.signature(PricedFrame.mean).parameters)[:4] == ["self", "column", "bounds", "method"]
    assert PricedFrame.count.__doc__.startswith("Count the rows")
    assert Accessor.protect.__name__ == "protect"


def test_the_warning_of_the_implicit_session_names_the_line_of_the_user(monkeypatch):
    from pandas_dp import opening

    monkeypatch.setattr(opening, "_ever", [])
    monkeypatch.setattr(opening, "_refusals", [])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pd.DataFrame({"x": [1]}).dp(epsilon=1).count()
    assert caught[0].filename == __file__

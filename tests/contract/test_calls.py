"""Calls that Python would refuse in words of its own: what is wrong and what to type, nothing read or charged."""

from __future__ import annotations

import inspect
import pickle
import warnings

import pandas as pd
import pytest
from support.frames import protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, accounting, local
from pandas_dp.accessor.accessor import Accessor
from pandas_dp.facts.argument_help import explain
from pandas_dp.questions.frame import PricedFrame

CALLS = [
    (lambda df: df.dp(eps=1), r"df\.dp\(epsilon=1\)"),
    (lambda df: df.dp(budget=1), "takes epsilon=, not budget="),
    (lambda df: df.dp(epsilo=1), "takes no epsilo=; did you mean 'epsilon'"),
    (lambda df: df.dp.protect(epsilon=1, neighbours="add_remove"), r"protect\(\) takes neighbors=, not neighbours="),
    (lambda df: df.dp.query(), r"df\.dp\.query\(expr=\.\.\.\)"),
    (
        lambda df: df.dp.assign(3, more=lambda d: d.age),
        r"assign\(\) was given arguments that do not fit: assign\(\*\*columns\)",
    ),
    (lambda df: df.dp.session.extend(5), r"df\.dp\.session\.extend\(5, reason='\.\.\.'\)"),
    (lambda df: df.dp.session.extend(to=5), r"df\.dp\.session\.extend\(to=5, reason='\.\.\.'\)"),
    (lambda df: df.dp(1).mean("age", (0, 9)), r"df\.dp\(1\)\.mean\('age', bounds=\(0, 9\)\)"),
    (lambda df: df.dp(1)["age"].mean((0, 9)), r"df\.dp\(1\)\['age'\]\.mean\(bounds=\(0, 9\)\)"),
    (lambda df: df.dp(1).mean(), r"df\.dp\(1\)\.mean\(column='age', bounds=\(lower, upper\)\)"),
    (
        lambda df: df.dp(1).mean("age", epsilon=1),
        r"the price comes first: df\.dp\(epsilon=1\)\.mean\('age', bounds=\(lower",
    ),
    (lambda df: df.dp(1).mean("age", range=(0, 9)), r"df\.dp\(1\)\.mean\('age', bounds=\(0, 9\)\)"),
    (lambda df: df.dp(1).mean("age", column="age"), "arguments that do not fit"),
    (lambda df: df.dp(1).histogram("age", 10), r"df\.dp\(1\)\.histogram\('age', bins=10, bounds=\(lower, upper\)\)"),
    (lambda df: df.dp(1).value_counts("sex", ["f"]), r"df\.dp\(1\)\.value_counts\('sex', keys=\['f'\]\)"),
    (lambda df: df.dp(1).groupby("sex", ["f"]), r"df\.dp\(1\)\.groupby\('sex', keys=\['f'\]\)"),
    (lambda df: df.dp(1).groupby("sex", keys=["f"])["age"].mean("age", (0, 9)), "takes bounds by name"),
    (lambda df: df.dp(1).kmeans(["age"], n_clusters=3), "takes k=, not n_clusters="),
    (lambda df: df.dp(1).count("age", "pay"), r"count\(column=None\)"),
    (lambda df: df.dp.session.extend(epsilon=6, reason="m"), r"not epsilon=: df\.dp\.session\.extend\(to="),
    (lambda df: df.dp.session.extend(total=6, reason="m"), r"not total=: df\.dp\.session\.extend\(to="),
    (
        lambda df: df.dp.session.extend(delta=1e-6, reason="m"),
        r"not delta=: df\.dp\.session\.extend\(to_delta=1e-6, reason=",
    ),
    (
        lambda df: df.dp(1).sum("age", bounds=(0, 9), fresh=True),
        r"price: df\.dp\(epsilon=1, fresh=True\)\.sum\(\.\.\.\)",
    ),
    (lambda df: df.dp(1).count(secret42=1), r"takes no secret42=; it takes column="),
]


FUNCTIONS = [
    (lambda: accounting.compose([0.1], 1e-6), r"compose() takes delta by name: compose([0.1, 0.5], delta=1e-6)"),
    (lambda: accounting.compose([0.1]), "compose() needs delta: compose([0.1, 0.5], delta=1e-6)"),
    (lambda: accounting.gaussian_sigma(1), "gaussian_sigma() needs delta: gaussian_sigma(1, 1e-6, sensitivity=1)"),
    (
        lambda: accounting.queries_for(0.1, epsilon=3, delta=1e-6),
        "queries_for() takes no delta=; it takes epsilon=, total=, rule=: queries_for(0.1, total=(3, 1e-6))",
    ),
    (lambda: accounting.queries_for(0.1, epsilon=3), "queries_for() needs total: queries_for(0.1, total=(3, 1e-6))"),
    (lambda: accounting.epsilon_for(epsilon=3), "epsilon_for() takes no epsilon=; it takes queries=, total="),
    (lambda: accounting.group_privacy(0.1), "group_privacy() needs size: group_privacy(0.1, 3)"),
    (lambda: accounting.subsampled(1, 0, 0.1), "subsampled() takes rate by name: subsampled(1, rate=0.01)"),
    (lambda: accounting.Gaussian(sigma=10), "Gaussian() takes no sigma=; it takes rho=: Gaussian(0.005), of rho = "),
    (lambda: accounting.Laplace(scale=10), "Laplace() takes no scale=; it takes epsilon=, delta=: Laplace(0.1), of"),
    (lambda: accounting.Exponential(), "Exponential() needs epsilon: Exponential(0.1)"),
    (lambda: accounting.Loss(), "Loss() needs epsilon: Loss(0.1)"),
    (
        lambda: pandas_dp.geometric_prices(1, 4),
        "geometric_prices() needs ratio: pandas_dp.geometric_prices(1, 4, ratio",
    ),
    (
        lambda: pandas_dp.plan([]),
        "plan() needs frame: pandas_dp.plan([pandas_dp.query(within=20).count(), pandas_dp.query(",
    ),
    (
        lambda: pandas_dp.plan([], None, 1),
        "plan() takes epsilon by name: pandas_dp.plan([pandas_dp.query(within=20).count()",
    ),
    (lambda: pandas_dp.query(eps=1), "query() takes epsilon=, not eps=: pandas_dp.query(epsilon=1)"),
    (lambda: local.randomize("no", ["no"], 1), "takes keys by name: randomize(answer, keys=['no', 'yes'], epsilon=1)"),
]


@pytest.mark.parametrize(("call", "said"), FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_arguments_that_do_not_fit_a_function(call, said):
    with pytest.raises(ArgumentTypeError) as caught:
        call()
    assert said in str(caught.value)


def test_functions_and_classes_stay_what_they_are():
    assert accounting.Laplace(0.1) == accounting.Laplace(epsilon=0.1) != accounting.Loss(0.1)
    assert repr(accounting.Laplace(0.1)) == "Laplace(0.1)"
    assert pickle.loads(pickle.dumps(accounting.Gaussian(0.1))) == accounting.Gaussian(0.1)
    assert str(inspect.signature(accounting.group_privacy)) == "(loss: 'Any', size: 'Any') -> 'Any'"
    assert "Total epsilon" in accounting.compose.__doc__


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
    from pandas_dp.session import registry
    from pandas_dp.session.session import implicits

    monkeypatch.setattr(registry, "_ever", [])
    monkeypatch.setattr(registry, "_refusals", [])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pd.DataFrame({"x": [1]}).dp(epsilon=1).count()
    implicits.clear()  # or its answer would be charged to all that follow
    assert caught[0].filename == __file__

"""A wanted error instead of a price: the epsilon is the least that buys it, and nothing is charged for a mistake."""

from __future__ import annotations

import re
import uuid
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people

import pandas_dp
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import Sensitivity
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, BudgetExceededError

FRAME = pd.DataFrame(
    {
        "uid": np.arange(40) // 4,
        "cost": np.linspace(0, 100, 40),
        "ward": ["A", "B"] * 20,
        "wait": pd.to_timedelta(np.arange(40), unit="min"),
    }
)
QUESTIONS = {
    "count": (lambda d: d.count(), 5),
    "histogram": (lambda d: d.histogram("cost", bins=range(0, 101, 10)), 3),
    "value_counts": (lambda d: d.value_counts("ward", keys=["A", "B"]), 7),
    "sum": (lambda d: d.sum("cost", bounds=(0, 100)), 250),
    "group sizes": (lambda d: d.groupby("ward", keys=["A", "B"]).size(), 4),
    "group sums": (lambda d: d.groupby("ward", keys=["A", "B"])["cost"].sum(bounds=(0, 100)), 300),
    "durations": (lambda d: d.sum("wait", bounds=(pd.Timedelta(0), pd.Timedelta("1h"))), pd.Timedelta("3h")),
}


@pytest.fixture(params=["rows", "units", "replace_one"])
def frame(request):
    made = FRAME.copy()
    more = {
        "rows": {},
        "units": {"unit": "uid", "max_rows": 3},
        "replace_one": {"neighbors": "replace_one", "unit": "uid", "max_rows": 2},
    }[request.param]
    made.dp.protect(epsilon=1000, delta=1e-6, name=f"accuracy {uuid.uuid4()}", **more)
    return made


def half(release):
    """Half of the (widest) interval."""
    known = release.interval()
    if isinstance(known, pd.DataFrame):
        return ((known["upper"] - known["lower"]) / 2).max()
    return (known.upper - known.lower) / 2


@pytest.mark.one_in(2)
@pytest.mark.parametrize("delta", [0, 1e-7])
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_price_is_the_least_that_is_accurate_enough(frame, name, delta):
    ask, within = QUESTIONS[name]
    bought = ask(frame.dp(within=within, delta=delta))
    assert half(bought) <= within
    cheaper = ask(frame.dp(epsilon=bought.epsilon * 0.99, delta=delta))
    assert half(cheaper) > within


def test_the_price_of_a_count_is_the_inverse_of_the_exact_tail():
    frame = FRAME.copy()
    frame.dp.protect(epsilon=10, name="inverse")
    price = Fraction(str(frame.dp(within=5, confidence=0.9).count().epsilon))
    one = Sensitivity(1, 1, 1)
    assert DiscreteLaplace.calibrate(price, one).half_width(0.9) == 5
    assert DiscreteLaplace.calibrate(price * Fraction(996, 1000), one).half_width(0.9) == 6


@pytest.mark.parametrize(
    "ask", [lambda d: d.median("cost", bounds=(0, 100)), lambda d: d.quantile("cost", [0.1, 0.5, 0.9], bounds=(0, 100))]
)
def test_the_price_of_a_median_is_the_least_for_its_rank(frame, ask):
    bought = ask(frame.dp(within=8, confidence=0.9))
    assert bought.interval(0.9).typical <= 8 < bought.interval(0.9).rows
    assert ask(frame.dp(epsilon=bought.epsilon * 0.99)).interval(0.9).typical > 8


def test_asking_again_is_free_and_the_price_is_charged():
    frame = FRAME.copy()
    session = frame.dp.protect(epsilon=1, name="accurate and stored")
    first = frame.dp(within=10).count()
    left = session.left
    assert frame.dp(within=10).count() == first
    assert session.left == left != "epsilon=1"
    with pytest.raises(BudgetExceededError):
        frame.dp(within=1).count()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"within": 0}, ArgumentValueError, "within must be positive"),
        ({"within": -1}, ArgumentValueError, "within must be positive"),
        ({"within": "5"}, ArgumentTypeError, "within must be a number"),
        ({"within": float("nan")}, ArgumentValueError, "within must be finite"),
        ({"within": 5, "confidence": 1}, ArgumentValueError, "confidence must lie between 0 and 1"),
        ({"within": 5, "confidence": 0}, ArgumentValueError, "confidence must lie between 0 and 1"),
        ({"within": 5, "confidence": 95}, ArgumentValueError, "confidence must lie between 0 and 1"),
        ({"within": 5, "epsilon": 1}, ArgumentValueError, "either within= or a price"),
        ({"within": 5, "rho": 1}, ArgumentValueError, "either within= or a price"),
        ({"within": 1e-9}, ArgumentValueError, "even epsilon=1e6"),
        ({"within": pd.Timedelta("1min")}, ArgumentTypeError, "within=5"),
    ],
)
def test_refused_before_anything_is_charged(arguments, error, text):
    frame = FRAME.copy()
    session = frame.dp.protect(epsilon=10**6, name="accuracy refused")
    with pytest.raises(error, match=text):
        frame.dp(**arguments).sum("cost", bounds=(0, 100))
    assert session.spent == "epsilon=0"
    session.close()


def test_a_mean_says_that_it_needs_a_price():
    frame = FRAME.copy()
    session = frame.dp.protect(epsilon=1, name="accuracy of a mean")
    with pytest.raises(ArgumentTypeError, match=r"(df|frame)\.dp\(epsilon=0\.5\)"):
        frame.dp(within=5).mean("cost", bounds=(0, 100))
    with pytest.raises(ArgumentTypeError, match="within='5min'"):
        frame.dp(within=5).sum("wait", bounds=(pd.Timedelta(0), pd.Timedelta("1h")))
    assert session.spent == "epsilon=0"


@pytest.mark.parametrize("wanted", ["1e-12", "'1ns'"])
@pytest.mark.parametrize("ask", ["dp", "plan"])
def test_an_error_that_no_epsilon_buys_is_told_with_one_that_fits(wanted, ask):
    df = pd.DataFrame({"cost": [1.5, 2.5] * 500, "wait": pd.to_timedelta([1, 2] * 500, unit="h")})
    df.dp.protect(epsilon=9, name=fresh())
    asked = "sum('cost', bounds=(0, 1e6))" if wanted == "1e-12" else "sum('wait', bounds=('0D', '9D'))"
    line = {
        "dp": f"df.dp(within={{}}).{asked}",
        "plan": f"pandas_dp.plan([pandas_dp.query(within={{}}).{asked}], frame=df)",
    }[ask]
    names = {"df": df, "pandas_dp": pandas_dp}
    with pytest.raises(
        ArgumentValueError, match=r"too small: even epsilon=1e6 .*; epsilon=[\d.e-]+ buys within="
    ) as caught:
        eval(line.format(wanted), names)
    epsilon, fits = re.search(r"epsilon=([\d.e-]+) buys within=(.*)$", str(caught.value)).groups()
    assert 0 < float(epsilon) <= 1
    eval(line.format(fits), names)
    if ask == "dp":
        assert df.dp.session.spent == f"epsilon={epsilon}"


def test_where_the_error_depends_on_the_data_the_whole_question_stands_with_a_price():
    df = people()
    df.dp.protect(epsilon=9, name=fresh())
    for asked in (
        "query('age > 3').mean('age', bounds=(0, 100))",
        "groupby('sex', keys=['F'])['age'].mean(bounds=(0, 100))",
    ):
        with pytest.raises(ArgumentTypeError) as caught:
            eval(f"df.dp(within=2).{asked}", {"df": df})
        line = str(caught.value).rpartition("give a price: ")[2]
        assert line == f"df.dp(epsilon=0.5).{asked}"
        eval(line, {"df": df})


def test_a_duration_is_typed_as_text():
    df = pd.DataFrame({"wait": pd.to_timedelta([1, 2] * 500, unit="h")})
    df.dp.protect(epsilon=900, name=fresh())
    with pytest.raises(ArgumentTypeError, match="within must be a duration: within='5min'"):
        df.dp(within=5).sum("wait", bounds=("0h", "9h"))
    text, typed = (df.dp.preview(within=w).sum("wait", bounds=("0h", "9h")) for w in ("5min", pd.Timedelta("5min")))
    assert text.price == typed.price
    for wrong in ("x", "5", [1]):
        with pytest.raises(
            ArgumentTypeError, match=r"within must be a number, or a duration with its unit: df\.dp\(within=20\)"
        ):
            df.dp(within=wrong)


def test_found_keys_keep_the_wanted_error():
    df = people()
    df.dp.protect(epsilon=9, delta=1e-3, name=fresh())
    with pytest.raises(
        ArgumentTypeError, match=r"discover keys: df\.dp\(within=20, delta=1e-4\)\.value_counts\('sex'\)$"
    ):
        eval("df.dp(within=20).value_counts('sex')", {"df": df})


def test_each_noise_is_named_once():
    df = people()
    df.dp.protect(epsilon=9, name=fresh())
    for ask in (
        lambda d: d.agg({"age": ["count", "max"], "sex": ["nunique"]}, bounds={"age": (0, 100)}),
        lambda d: d.describe("age", bounds=(0, 100)),
    ):
        for made in (ask(df.dp.preview(epsilon=1)), ask(df.dp(epsilon=1))):
            names = made.mechanism.split(", ")
            assert len(names) == len(set(names)) > 1

"""A wanted error instead of a price: the epsilon is the least that buys it, and nothing is charged for a mistake."""

from __future__ import annotations

import uuid
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_dp  # noqa: F401
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
        ({"within": float("nan")}, ArgumentValueError, "within must be a finite number"),
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
    with pytest.raises(ArgumentTypeError, match=r"pd\.Timedelta"):
        frame.dp(within=5).sum("wait", bounds=(pd.Timedelta(0), pd.Timedelta("1h")))
    assert session.spent == "epsilon=0"

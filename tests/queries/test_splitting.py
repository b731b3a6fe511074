"""A total over several queries: prices that sum to it, by weights or by wanted errors."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.frames import people, protected

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError

ASK, DELTA = pandas_dp.query(epsilon=1), pandas_dp.query(epsilon=1, delta=1e-8)
COUNT, OLDER = ASK.count(), ASK.query("age > 40").count()


def prices(df, queries):
    return [query.preview(df).charge.epsilon for query in queries]


def test_weights_are_shares():
    df = protected(people(), epsilon=3)
    assert prices(df, pandas_dp.split(1, [COUNT, OLDER], weights=[0.7, 0.3])) == [Fraction(7, 10), Fraction(3, 10)]
    assert prices(df, pandas_dp.split(2, [COUNT, OLDER])) == [1, 1]
    assert prices(df, pandas_dp.split(2, [COUNT, pandas_dp.query(epsilon=9, delta=0, rho=None).count()])) == [1, 1]
    assert prices(df, pandas_dp.split(1, [COUNT, OLDER, ASK.count("age")])) == [Fraction(1, 3)] * 3
    assert df.dp.session.spent == "epsilon=0"


@pytest.mark.parametrize("total", [0.01, 1, 20])
def test_wanted_errors_set_the_prices(total):
    df = protected(people(), epsilon=100)
    counts = pandas_dp.split(
        total, [COUNT, OLDER, ASK.histogram("age", bins=[0, 50, 100])], within=[10, 20, 40], frame=df
    )
    paid, exact = prices(df, counts), Fraction(str(total))
    assert exact * Fraction(99_999, 100_000) < sum(paid) <= exact
    errors = [query.preview(df).outlook.error for query in counts]
    assert paid[0] >= paid[1] >= paid[2], errors
    assert total > 1 or paid[0] > paid[1] > paid[2], errors  # at 20 no answer errs at all


def test_prices_for_an_error_are_the_least_ones():
    """Two counts of which one may err twice as much: the least factor is found, so one price is twice the other."""
    df = protected(people(), epsilon=100)
    paid = prices(df, pandas_dp.split(0.03, [COUNT, OLDER], within=[100, 200], frame=df))
    assert float(paid[0] / paid[1]) == pytest.approx(2, rel=0.02)
    assert sum(paid) == pytest.approx(0.03, rel=1e-5)


def test_split_queries_are_asked_and_planned():
    df = protected(people(), epsilon=3)
    answers = [query(df) for query in pandas_dp.split(1, [COUNT, OLDER], weights=[0.5, 0.5])]
    assert len(answers) == 2
    assert df.dp.session.spent == "epsilon=1"
    other = protected(people(), epsilon=3, delta=1e-6, plan=pandas_dp.split(2, [COUNT, OLDER]))
    assert "2 of 2 planned calls at epsilon=1" in other.dp.session.left


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"weights": [0.5, 0.6]}, ArgumentValueError, "add up to exactly 1"),
        ({"weights": [1, 0]}, ArgumentValueError, "positive"),
        ({"weights": [1]}, ArgumentValueError, "one for each query"),
        ({"weights": {0.5: 1, 0.2: 2}}, ArgumentTypeError, "one for each query"),
        ({"weights": ["a", 1]}, ArgumentTypeError, "weights"),
        ({"weights": [0.5, 0.5], "within": [1, 2]}, ArgumentTypeError, "not both"),
        ({"within": [-1, 2]}, ArgumentValueError, "within"),
        ({"within": [1e-9, 1e-9], "epsilon": 1e-9}, ArgumentValueError, "too small for errors.*pandas_dp.split"),
        ({"queries": [COUNT, "count"]}, ArgumentTypeError, "list of queries"),
        ({"within": [1, 2], "frame": None}, ArgumentTypeError, "frame=df"),
        ({"queries": []}, ArgumentValueError, "between 1 and"),
        (
            {"queries": [COUNT, DELTA.count()]},
            ArgumentTypeError,
            r"queries\[1\] has delta=.*pandas_dp.query\(epsilon=1\)",
        ),
        ({"queries": [DELTA.count(), COUNT], "within": [1, 2]}, ArgumentTypeError, r"queries\[0\] has delta="),
        ({"queries": [pandas_dp.query(rho=0.1).count()]}, ArgumentTypeError, r"queries\[0\] has rho="),
        (
            {"queries": [pandas_dp.query(within=20).count()]},
            ArgumentTypeError,
            r"has within=.*within=\[20, 5\], frame=df",
        ),
        ({"epsilon": 0}, ArgumentValueError, "epsilon"),
        ({"queries": [ASK.mean("age", bounds=(0, 100)), COUNT], "within": [1, 2]}, ArgumentTypeError, "price"),
    ],
)
def test_what_cannot_be_split_is_refused(options, error, says):
    df = protected(people(), epsilon=3)
    terms = {"epsilon": 1, "queries": [COUNT, OLDER], "frame": df} | options
    with pytest.raises(error, match=says):
        pandas_dp.split(**terms)
    assert df.dp.session.spent == "epsilon=0"


def test_a_public_number_takes_no_share():
    df = protected(people(), epsilon=3, neighbors="replace_one", rows=True)
    with pytest.raises(ArgumentValueError, match="costs nothing"):
        pandas_dp.split(1, [COUNT, OLDER], within=[1, 2], frame=df)

"""What a review of budgets, splits, schemas and intervals found, each as a test that failed before."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people, protected

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.numbers import positive_epsilon

ASK = pandas_dp.query(epsilon=1)
PLAIN = {"text": list("xy"), "date": pd.to_datetime(["2013-01-01"] * 2), "objects": [1, "x"]}


def test_a_small_delta_is_not_rounded_up_to_more_than_the_total():
    df = protected(people(), epsilon=3, delta=1e-15)
    df.dp(rho=0.001).count()
    spent, left = df.dp.session.spent, df.dp.session.left
    assert spent.delta == Decimal("9e-16")  # the part of delta that converts divergences
    assert spent.delta + left.delta == Decimal("1e-15")


def test_a_long_sum_is_told_as_no_less_than_it_is():
    df = protected(people(), epsilon=3)
    df.dp(epsilon=Fraction(2999, 1001)).count()  # 2.996...
    session = df.dp.session
    assert session.spent == "epsilon about 3"
    assert session.left == "epsilon about 0.00399"


@pytest.mark.parametrize("within", ["a", True, [1]])
def test_wanted_errors_that_are_no_numbers_are_refused_in_words(within):
    with pytest.raises(ArgumentTypeError, match="within must be a number"):
        pandas_dp.plan([pandas_dp.query(within=within).count()], protected(people(), epsilon=3))


@pytest.mark.parametrize("within", [10, Decimal(10), Fraction(1, 3)])
def test_prices_for_wanted_errors_sum_to_the_total(within):
    ask = pandas_dp.query(within=within)
    plan = pandas_dp.plan([ask.count(), ask.count("age")], protected(people(), epsilon=3))
    assert sum(positive_epsilon(query.plain_epsilon) for query in plan) == plan.epsilon


def test_a_plan_names_a_line_that_can_be_typed():
    df = protected(people(), epsilon=3)
    with pytest.raises(ArgumentTypeError) as caught:
        pandas_dp.plan(["count"], df)
    line = str(caught.value).partition(": ")[2]
    assert len(eval(line, {"pandas_dp": pandas_dp, "df": df})) == 2


@pytest.mark.parametrize("way", ["join", "adopt"])
@pytest.mark.parametrize("cells", PLAIN)
def test_facts_of_another_table_do_not_break_questions(way, cells):
    """A rule for missing numbers was applied to text: every question of that table was charged and failed."""
    df = pd.DataFrame({"age": [1.0, np.nan], "k": ["a", "b"]})
    facts = {"age": {"bounds": (0, 10), "nulls": 5}, "k": {"keys": ["a", "b"]}}
    session = df.dp.protect(epsilon=1000, name=fresh(), schema=facts)
    other = pd.DataFrame({"age": PLAIN[cells], "k": ["a", "b"]})
    if way == "join":
        other.dp.protect(session=session)
    else:
        session.adopt(other, reason="a test")
    assert other.dp(epsilon=100).count("age") == 2  # noise of scale 0.01: another number has a chance of e^-100
    assert other.dp(epsilon=100).histogram("k").tolist() == [1, 1]  # what fits is still known
    assert df.dp(epsilon=100).count("age") == 2  # and the rule still holds where it was said


def test_facts_with_a_dtype_of_another_kind_are_not_said_of_a_joined_table():
    df = pd.DataFrame({"age": [1, 2]})
    session = df.dp.protect(epsilon=1, name=fresh(), schema={"age": {"bounds": (0, 10), "dtype": "int64"}})
    other = pd.DataFrame({"age": [True, False]})
    other.dp.protect(session=session)
    assert list(session.schema) == []
    with pytest.raises(ArgumentTypeError, match="the column has dtype float64"):
        pd.DataFrame({"age": [1.0]}).dp.protect(session=session, schema={"age": {"dtype": "int64"}})


def test_the_largest_variance_lies_within_its_interval():
    """Cut to what a noisy number of rows allows, intervals missed a variance that is as large as bounds allow.

    Noise takes the number of rows above the true one half of the time: 40 intervals held the true variance by a chance of
    at most 2^-40. Now each holds it but for a chance of 1e-9.
    """
    df = pd.DataFrame({"x": [0, 100] * 500, "y": [0, 100] * 500})
    true = df.cov().to_numpy()
    df.dp.protect(epsilon=1000, name=fresh())
    bounds = {"x": (0, 100), "y": (0, 100)}
    for _ in range(40):
        ends = df.dp(epsilon=1, fresh=True).cov(["x", "y"], bounds=bounds).interval(1 - 1e-9)
        low, high = (ends.xs(end, axis=1, level=-1).to_numpy() for end in ("lower", "upper"))
        assert (low <= true).all()
        assert (true <= high).all()


def test_a_dict_of_protected_columns_is_no_lookup():
    df = protected(pd.DataFrame({"pid": [3, 1, 2], "pay": [10, 20, 30]}))
    with pytest.raises(ArgumentValueError, match="what it holds is private"):
        df.dp.merge({"pid": df["pid"], "label": df["pay"]}, on="pid")


def test_recorded_questions_do_not_write_protected_cells_into_plans():
    df = protected(people())
    with pytest.raises(ArgumentValueError, match="keys must be public"):
        ASK.histogram("sex", keys=df["sex"].drop_duplicates())


def test_what_was_made_of_a_protected_column_is_no_teaching_example():
    df = protected(people())
    for private in (df["age"].head(3), df["age"].sort_values(), df[["age"]]):
        with pytest.raises(ArgumentTypeError, match="these values are protected"):
            pandas_dp.teaching.sensitivities(private, bounds=(0, 100), beta=1)

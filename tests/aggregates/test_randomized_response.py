"""Randomised columns: what comes back, what it tells, what is refused; answers randomised at collection."""

from __future__ import annotations

import math
import uuid
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from pandas_dp import local
from pandas_dp.aggregates.count import Labels
from pandas_dp.aggregates.randomized_response import probabilities, proportions, standard_error
from pandas_dp.core.mechanisms.randomized_response import RandomizedResponse
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, BudgetExceededError

KEYS = ["no", "yes"]


def frame(rows: int = 400) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "smoker": (["no", "yes", "no", None] * rows)[:rows],
            "x": np.arange(rows) % 3,
            "b": (np.arange(rows) % 2).astype(bool),
            "d": pd.to_datetime(["2013-01-01", "2013-01-02"] * (rows // 2)),
            "u": np.arange(rows) // 2,
        },
        index=[f"person {i}" for i in range(rows)],
    )


def protected(**more):
    df = frame()
    df.dp.protect(epsilon=5, neighbors="replace_one", name=f"local {uuid.uuid4()}", **more)
    return df


@pytest.mark.parametrize("counts", [(0, 3, 1), (2, 1, 1), (4, 0, 0)])
def test_estimates_are_unbiased_and_their_variance_is_right(counts):
    """By enumeration of all outputs of four rows with three keys."""
    mechanism = RandomizedResponse.calibrate(Fraction(1), 3)
    p, q = probabilities(mechanism)
    rows = [part for part, count in enumerate(counts) for _ in range(count)]
    labels, n = Labels("x", ("a", "b", "c")), len(rows)
    mean, square = np.zeros(3), np.zeros(3)
    for output in product(range(3), repeat=n):
        chance = math.prod(p if a == b else q for a, b in zip(rows, output, strict=True))
        found = proportions(np.array(output), mechanism, labels, 0.95, False)["proportion"].to_numpy()
        mean += chance * found
        square += chance * found**2
    shares = np.array(counts) / n
    assert mean == pytest.approx(shares, abs=1e-12)
    errors = [standard_error(mechanism, share, n) for share in shares]
    assert np.sqrt(square - mean**2) == pytest.approx(errors, rel=1e-9)


def test_two_keys_have_the_same_variance_whatever_the_data():
    mechanism = RandomizedResponse.calibrate(Fraction(1), 2)
    alpha = math.tanh(0.5)
    for share in (0.0, 0.3, 1.0):
        assert standard_error(mechanism, share, 100) ** 2 == pytest.approx((1 - alpha**2) / (4 * alpha**2 * 100))


def test_one_answer_a_row_in_row_order_without_the_index():
    answers = protected().dp(epsilon=1).randomized_response("smoker", keys=KEYS)
    assert answers.index.equals(pd.RangeIndex(400))
    assert set(answers) <= set(KEYS)
    assert answers.isna().sum() == 0
    assert answers.name == "smoker"
    assert answers.interval() is None
    estimate = answers.estimate()
    assert estimate.index.tolist() == KEYS
    assert estimate["proportion"].sum() == pytest.approx(1)
    projected = answers.estimate(project=True)["proportion"]
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("column", "keys", "more"),
    [
        ("x", [0, 1, 2], {}),
        ("x", [2, 0], {"other": True}),
        ("b", None, {}),
        ("d", ["2013-01-01", "2013-01-02"], {}),
        ("smoker", KEYS, {"null": True, "other": True}),
    ],
)
def test_kinds_of_keys(column, keys, more):
    answers = protected().dp(epsilon=4).randomized_response(column, keys=keys, **more)
    estimate = answers.estimate()
    assert len(estimate) == (2 if keys is None else len(keys)) + sum(more.values())
    assert estimate["proportion"].sum() == pytest.approx(1)
    assert abs(float(estimate["proportion"].iloc[0]) - 0.5) < 0.5


def test_asking_again_is_free_and_costs_epsilon_once():
    df = protected()
    first = df.dp(epsilon=2).randomized_response("x", keys=[0, 1, 2])
    assert df.dp.session.spent == "epsilon=2"
    assert df.dp(epsilon=2).randomized_response("x", keys=[0, 1, 2]).equals(pd.Series(first.value))
    assert df.dp.session.spent == "epsilon=2"
    with pytest.raises(BudgetExceededError):
        df.dp(epsilon=4).randomized_response("x", keys=[0, 1, 2])


def test_a_wanted_error_finds_its_price():
    df = protected()
    bought = df.dp(within=0.1).randomized_response("smoker", keys=KEYS)
    wide = (bought.estimate()["upper"] - bought.estimate()["lower"]) / 2
    assert wide.max() <= 0.1
    cheaper = df.dp(epsilon=bought.epsilon * 0.99).randomized_response("smoker", keys=KEYS)
    assert ((cheaper.estimate()["upper"] - cheaper.estimate()["lower"]) / 2).max() > 0.1


def ask(df):
    return df.dp(epsilon=1).randomized_response("smoker", keys=KEYS)


def test_b66_refused_where_the_number_of_rows_is_private():
    """Under add_remove, with a unit, after a filter, on a table that joined: nothing is charged."""
    df = frame()
    session = df.dp.protect(epsilon=5, name="local add_remove")
    with pytest.raises(ArgumentValueError, match="neighbors='replace_one'"):
        ask(df)
    assert session.spent == "epsilon=0"
    df = protected(unit="u", max_rows=2)
    with pytest.raises(ArgumentValueError, match="one row a unit"):
        ask(df)
    assert df.dp.session.spent == "epsilon=0"
    df = protected()
    for part in (df.dp.query("x > 0"), df.dp.assign(y=1).dp.query("x >= 0")):
        with pytest.raises(ArgumentValueError, match="whole table"):
            ask(part)
    with pytest.raises(ArgumentValueError, match="whole table"):
        df.dp(epsilon=1).query("x > 0").randomized_response("smoker", keys=KEYS)
    other = frame(10)
    other.dp.protect(session=df.dp.session)
    with pytest.raises(ArgumentValueError, match="whole table"):
        ask(other)
    assert df.dp.session.spent == "epsilon=0"
    assert len(ask(df.dp.assign(y=1))) == 400


@pytest.mark.parametrize("keys", [["no"], []])
def test_b66_a_single_key_is_refused(keys):
    df = protected()
    with pytest.raises(ArgumentValueError, match="keys"):
        df.dp(epsilon=1).randomized_response("smoker", keys=keys)
    with pytest.raises(ArgumentValueError, match="keys"):
        local.randomize("no", keys=keys, epsilon=1)
    assert df.dp.session.spent == "epsilon=0"


def test_b66_gaussian_prices_and_probabilities_are_refused():
    df = protected()
    with pytest.raises(ArgumentValueError, match="plain epsilon"):
        df.dp(rho=1).randomized_response("smoker", keys=KEYS)
    with pytest.raises(TypeError):
        df.dp(epsilon=1).randomized_response("smoker", keys=KEYS, p=0.5)
    for alpha in (1, 1.5, -0.1, float("nan")):
        with pytest.raises(ArgumentValueError):
            local.randomize("no", keys=KEYS, alpha=alpha)
    with pytest.raises(ArgumentValueError, match="alpha=0"):
        local.estimate(["no"], keys=KEYS, alpha=0)
    with pytest.raises(ArgumentTypeError, match="either epsilon= or alpha="):
        local.randomize("no", keys=KEYS)
    with pytest.raises(ArgumentTypeError, match="either epsilon= or alpha="):
        local.randomize("no", keys=KEYS, epsilon=1, alpha=0.5)


def test_other_series_have_no_estimate():
    df = protected()
    with pytest.raises(ArgumentTypeError, match="randomized_response"):
        df.dp(epsilon=1).histogram("x", keys=[0, 1, 2]).estimate()
    with pytest.raises(ArgumentValueError, match="level"):
        ask(df).estimate(level=95)


def test_answers_randomised_at_collection_are_counted():
    truth = ["yes"] * 3000 + ["no"] * 7000
    answers = [local.randomize(answer, keys=KEYS, epsilon=2) for answer in truth]
    found = local.estimate(answers, keys=KEYS, epsilon=2)
    # six standard errors: false alarm 2e-9
    assert abs(found.loc["yes", "proportion"] - 0.3) < 6 * found.loc["yes", "standard_error"]
    with pytest.raises(ArgumentValueError, match="must all be keys"):
        local.estimate([*answers, "maybe"], keys=KEYS, epsilon=2)


def test_a_value_that_is_no_key_gives_a_random_key():
    drawn = {local.randomize(value, keys=[0, 1], epsilon=1) for value in ("x", None, True, 7) for _ in range(30)}
    assert drawn == {0, 1}


def test_a_key_named_other_is_not_taken_for_the_rest():
    with pytest.raises(ArgumentValueError, match="'other' already"):
        protected().dp(epsilon=1).randomized_response("smoker", keys=["no", "other"], other=True)

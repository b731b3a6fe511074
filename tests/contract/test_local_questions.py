"""Bad input B66: randomized response where one answer per row would tell, and chances that are no price."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, UnverifiedFrameError

KEYS = ["f", "m"]
HIDDEN = (
    "randomized_response() gives one answer per row, so it shows how many rows there are. That number must be public: the "
    "budget needs neighbors='replace_one' and rows=True, no unit=, and no query() or filter() may come before the question. "
    "The number of rows with each key can always be asked: "
)


def counts(asked: str) -> str:
    """The refusal, whose line asks the same frame with the same protection."""
    return f"^{re.escape(f'{HIDDEN}{asked}.value_counts(')}'sex', keys=(KEYS|\\['f', 'm'\\])\\)$"


def ask(frame: pd.DataFrame):
    return frame.dp(epsilon=1).randomized_response("sex", keys=KEYS)


@pytest.mark.parametrize("unit", [{}, {"unit": "pid", "max_rows": 1}, {"unit": "pid", "max_rows": 3}])
def test_b66_refused_under_add_remove(monkeypatch, unit):
    df = protected(neighbors="add_remove", **unit)
    with refused(monkeypatch, df, ArgumentValueError, counts("frame.dp(epsilon=1)")):
        ask(df)


@pytest.mark.parametrize("rows", [1, 3])
def test_b66_refused_with_a_unit_column(monkeypatch, rows):
    """Also with one row per unit: some have none."""
    df = protected(neighbors="replace_one", unit="pid", max_rows=rows)
    with refused(monkeypatch, df, ArgumentValueError, counts("frame.dp(epsilon=1)")):
        ask(df)


@pytest.mark.parametrize(
    "part",
    [
        lambda df: df.dp.query("age > 20"),
        lambda df: df.dp.query("age > 0"),
        lambda df: df.dp.assign(y=1).dp.query("y == 1"),
        lambda df: df.dp.filter(pd.col("age") > 20),
    ],
)
def test_b66_refused_after_a_filter(monkeypatch, part):
    """Also after one that keeps every row."""
    df = protected(neighbors="replace_one", rows=True)
    with refused(monkeypatch, df, ArgumentValueError, counts("frame.dp(epsilon=1)")):
        ask(part(df))


def test_b66_refused_after_a_filter_of_the_question(monkeypatch):
    df = protected(neighbors="replace_one", rows=True)
    with refused(monkeypatch, df, ArgumentValueError, counts("df.dp(epsilon=1).query('age > 20')")):
        df.dp(epsilon=1).query("age > 20").randomized_response("sex", keys=KEYS)
    with refused(monkeypatch, df, ArgumentValueError, counts("df.dp(within=0.1).query('age > 20')")):
        df.dp(within=0.1).query("age > 20").randomized_response("sex", keys=KEYS)


def test_b66_refused_for_a_table_that_joined(monkeypatch):
    df = protected(neighbors="replace_one", rows=True)
    other = people()
    other.dp.protect(session=df.dp.session)
    with refused(monkeypatch, other, ArgumentValueError, counts("frame.dp(epsilon=1)")):
        ask(other)


def test_b66_repeated_rows_are_another_table(monkeypatch):
    df = protected(neighbors="replace_one", rows=True)
    for part in (df.loc[[0, 0, 0]], df.head(3), pd.concat([df, df])):
        with pytest.raises(UnverifiedFrameError):
            ask(part)
    assert df.dp.session.spent == "epsilon=0"


def test_b66_rows_of_equal_people_and_labels_are_answered_one_by_one():
    """Equal rows are rows like any other; steps that keep every row leave their number public."""
    frame = pd.concat([people()] * 3)
    df = protected(frame, neighbors="replace_one", rows=True)
    for part in (df, df.dp.assign(y=1), df.dp.fillna({"pay": 0})):
        answers = ask(part)
        assert len(answers) == len(frame)
        assert answers.index.equals(pd.RangeIndex(len(frame)))


@pytest.mark.parametrize(
    ("keys", "error", "match"),
    [
        (["f"], ArgumentValueError, r"at least two keys: randomized_response\('sex', keys=\['no', 'yes'\]\)"),
        ([], ArgumentValueError, "keys must not be empty"),
        (["f", "f"], ArgumentValueError, "a value twice"),
        (["f", None], ArgumentValueError, "null=True"),
        (None, ArgumentTypeError, "must not come from the data"),
        ("fm", ArgumentTypeError, "keys must be a list"),
    ],
)
def test_b66_keys(monkeypatch, keys, error, match):
    df = protected(neighbors="replace_one", rows=True)
    with refused(monkeypatch, df, error, match):
        df.dp(epsilon=1).randomized_response("sex", keys=keys)


def test_b66_one_key_and_a_public_rest_are_two():
    answers = (
        protected(neighbors="replace_one", rows=True).dp(epsilon=1).randomized_response("sex", keys=["f"], other=True)
    )
    assert answers.dtype.categories.tolist() == ["f", "other"]


def test_a_key_named_other_is_not_taken_for_the_rest(monkeypatch):
    df = protected(neighbors="replace_one", rows=True)
    with refused(monkeypatch, df, ArgumentValueError, "already hold 'other'"):
        df.dp(epsilon=1).randomized_response("sex", keys=["f", "other"], other=True)


@pytest.mark.parametrize("name", ["p", "q", "probability"])
@pytest.mark.parametrize("value", [0.5, 1, 0, float("nan")])
def test_b66_a_chance_has_one_name(monkeypatch, name, value):
    df = protected(neighbors="replace_one", rows=True)
    with refused(monkeypatch, df, TypeError, name):
        df.dp(epsilon=1).randomized_response("sex", keys=KEYS, **{name: value})


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "costs epsilon=1.098613"), (1, "below 1"), (0, "above 0"), (float("nan"), "alpha")]
)
def test_b66_a_chance_that_the_price_does_not_pay(monkeypatch, value, text):
    df = protected(neighbors="replace_one", rows=True)
    with refused(monkeypatch, df, ArgumentValueError, text):
        df.dp(epsilon=1).randomized_response("sex", keys=KEYS, alpha=value)


@pytest.mark.parametrize(
    ("price", "told"),
    [
        ({"epsilon": 1, "delta": 1e-7}, ": df.dp(epsilon=1)"),
        ({"rho": 0.1}, "; this one costs at most rho=0.1: df.dp(epsilon=0.45)"),
    ],
)
def test_b66_a_price_that_is_no_epsilon(monkeypatch, price, told):
    df = protected(delta=1e-6, neighbors="replace_one", rows=True)
    text = f"randomized_response() takes a plain epsilon{told}.randomized_response('sex', keys=['A', 'B'])"
    with refused(monkeypatch, df, ArgumentValueError, f"^{re.escape(text)}$"):
        df.dp(**price).randomized_response("sex", keys=KEYS)


@pytest.mark.parametrize("terms", [{}, {"delta": 1e-6}])
def test_every_session_charges_the_price_as_it_was_typed(terms):
    df = protected(neighbors="replace_one", rows=True, epsilon=1, name=fresh(), **terms)
    answers = df.dp(epsilon=0.3).randomized_response("sex", keys=KEYS)
    assert answers.epsilon == 0.3
    assert answers.spent == "epsilon=0.3"

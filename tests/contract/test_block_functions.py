"""Mistakes in functions of blocks are told before they are paid, and what functions may see."""

from __future__ import annotations

import signal
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

from pandas_dp import ArgumentTypeError, PandasDPError
from pandas_dp.questions import function_trial

BOUNDS = {"age": (0, 120), "pay": (0, 5000)}


def ask(df, function=len, epsilon=1, **terms):
    return df.dp(epsilon=epsilon).sample_and_aggregate(function, **terms)


def typo(d):
    return d["no_such_column"].mean()


def close(d):
    return d["agee"].mean()


def method(d):
    return d["age"].men()


def global_name(d):
    return undefined_name(d)  # noqa: F821


def no_argument():
    return 3


def two_columns(d):
    return d[["age", "nope"]].mean().mean()


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (typo, "KeyError 'no_such_column'. Nothing was charged"),
        (close, "KeyError 'agee'; did you mean 'age'"),
        (method, "AttributeError 'men'"),
        (global_name, "NameError 'undefined_name'"),
        (no_argument, "TypeError"),
        (two_columns, "KeyError"),
    ],
)
def test_a_plain_mistake_is_told_before_it_is_paid(monkeypatch, function, match):
    df = protected()
    with refused(monkeypatch, df, TypeError, match) as caught:
        ask(df, function, bounds=(0, 120))
    assert caught.value.__context__ is None
    with refused(monkeypatch, df, TypeError, match):
        ask(df, function, keys=["a"], aggregator="vote")


@pytest.mark.parametrize("result", [["f"], pd.Series(["f"]), np.array(["f"])], ids=repr)
def test_a_vote_for_what_can_be_no_key_is_told_before_it_is_paid(monkeypatch, result):
    df = protected()
    with refused(monkeypatch, df, TypeError, r"which is not a key: return str\(\.\.\.\)"):
        ask(df, lambda d: result, keys=["f", "m"], aggregator="vote")


def test_a_failure_that_may_be_due_to_made_up_values_is_noted():
    df = protected(epsilon=100)  # its categories do not say what they hold: it is tried without rows, too
    divided = ask(df, lambda d: 1 / (len(d) - 4), bounds=(0, 1))
    note = "the function raised a ZeroDivisionError on a made-up table; blocks without result "
    assert f"{note}count as the middle of the bounds" in divided.notes
    assert "made-up" not in repr(divided)
    assert f"{note}have no vote" in ask(df, lambda d: 1 / (len(d) - 4), keys=["f"], aggregator="vote").notes
    assert not any("made-up" in text for text in ask(df, lambda d: 1.0, bounds=(0, 1)).notes)


@pytest.mark.parametrize("columns", [("age", "pay"), ("age", "city")], ids=["one table", "two tables"])
@pytest.mark.parametrize(
    ("function", "did"),
    [
        (lambda d: 1 / 0, "raised a ZeroDivisionError"),
        (lambda d: (_ for _ in ()).throw(RuntimeError("secret42")), "raised an error"),
        (lambda d: None, "returned no finite number"),
        (lambda d: float("nan"), "returned no finite number"),
        (lambda d: np.float64("inf"), "returned no finite number"),
        (lambda d: sys.exit("secret42"), "returned no finite number"),
    ],
)
def test_a_function_without_any_result_is_told_under_the_answer(columns, function, did):
    """The middle of the bounds would look like an answer."""
    df = protected(frame_of(*columns), epsilon=100)
    line = f"the function {did} on made-up rows with these columns; blocks without result count as the middle of the bounds"
    several = {"a": (0, 100), "b": (0, 1)}
    for more in ({}, {"aggregator": "median"}, {"aggregator": "winsorized"}, {"bounds": several}):
        given = {"bounds": (0, 100), "blocks": 100, "rows": 48_000, **more}
        asked = (lambda d: (function(d),) * 2) if given["bounds"] is several else function
        answer = df.dp(epsilon=5).sample_and_aggregate(asked, **given)
        assert f"\n  {line}" in repr(answer)
        assert f"note     {line}" in repr(df.dp.preview(epsilon=5).sample_and_aggregate(asked, **given))


def test_a_vote_and_a_score_without_any_result_are_told_under_the_answer():
    df = protected(frame_of("age", "pay"), epsilon=100)
    vote = df.dp(epsilon=5).sample_and_aggregate(lambda d: None, keys=["f"], aggregator="vote", blocks=100)
    assert (
        "\n  the function returned None on made-up rows with these columns; blocks without result have no vote"
        in repr(vote)
    )
    score = df.dp(epsilon=5).select([1, 2], score=lambda d, c: 1 / 0, sensitivity=1)
    assert "\n  score raised a ZeroDivisionError on made-up rows with these columns; without a result a score" in repr(
        score
    )


def test_several_numbers_of_which_one_is_missing_are_a_result():
    df = protected(frame_of("age", "pay"), epsilon=100)
    answer = df.dp(epsilon=5).sample_and_aggregate(
        lambda d: {"a": 1.0, "b": None}, bounds={"a": (0, 2), "b": (0, 1)}, blocks=50
    )
    assert "made-up" not in str(answer.notes)


def frame_of(*columns: str) -> pd.DataFrame:
    return people()[list(columns)]


ACCEPTED = [
    lambda d: d.groupby("sex")["age"].mean()["f"],  # a value, not a column
    lambda d: 1 / (len(d) - 4),
    lambda d: d["age"].iloc[100],
    lambda d: None,
    lambda d: (_ for _ in ()).throw(RuntimeError("secret42")),
    lambda d: sys.exit("secret42"),
]


@pytest.mark.parametrize("function", ACCEPTED)
def test_other_failures_are_not_held_against_a_function(function):
    df = protected(frame_of("age", "pay", "sex", "when"))
    assert 0 <= ask(df, function, bounds=(0, 120)) <= 120


def test_objects_and_categories_do_not_say_what_they_hold():
    """A function that works on their real values is accepted, one that fails on any is not."""
    df = people().assign(day=[pd.Timestamp("2013-01-01").date()] * 8)
    df["day"] = df["day"].astype(object)
    df = protected(df)
    assert ask(df, lambda d: float(d["day"].map(lambda day: day.year).mean()), bounds=(0, 3000)) >= 0
    with pytest.raises(ArgumentTypeError, match="KeyError 'dya'; did you mean 'day'"):
        ask(df, lambda d: d["dya"].count(), bounds=(0, 10))


SECRET = pd.DataFrame({"city": ["secret42"]})


def key_of_a_cell(d):
    return {}[SECRET["city"].iloc[0]]


def text_of_a_cell(d):
    raise TypeError(f"secret42 {SECRET}")


def attribute_of_a_cell(d):
    return getattr(d, SECRET["city"].iloc[0])


class Named(KeyError):
    name = "secret42"


def error_of_its_own(d):
    raise Named("".join(SECRET["city"]))


@pytest.mark.parametrize("function", [key_of_a_cell, attribute_of_a_cell, error_of_its_own])
def test_a_message_quotes_no_value_that_a_function_reached_by_other_ways(function):
    df = protected()
    with pytest.raises(ArgumentTypeError) as caught:
        ask(df, function, bounds=(0, 1))
    assert "secret42" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    with pytest.raises(ArgumentTypeError, match="columns: TypeError"):
        ask(df, text_of_a_cell, bounds=(0, 1))


def test_it_is_tried_on_no_row():
    """The same call on tables of other rows shows a function the same made-up table, and the kinds of blocks."""
    seen = []

    def look(d):
        seen.append(d)
        return 1.0

    for table in (people(), people().iloc[:1], people().iloc[:0]):
        tables = len(seen)
        assert function_trial.rehearse(look, table.dtypes, function_trial.no_number) == ()
        assert len(seen) == tables + 2  # with categories, also one without rows
    for other in seen[2::2]:
        pd.testing.assert_frame_equal(seen[0], other)
    ask(protected(), lambda d: seen.append(d), epsilon=4, bounds=(0, 1), blocks=1)
    assert seen[0].dtypes.to_dict() == seen[-1].dtypes.to_dict()  # of made-up rows and of a block
    assert set(seen[0]["city"]) == {"a", "b"}


def test_it_may_ask_no_question_while_it_is_tried():
    df = protected()
    priced, texts = df.dp(epsilon=1), []

    def nosy(block):
        try:
            priced.count()
        except PandasDPError as error:
            texts.append(str(error))
        return 1.0

    worker = threading.Thread(target=lambda: ask(df, nosy, bounds=(0, 1), blocks=3), daemon=True)
    worker.start()
    worker.join(300)
    assert not worker.is_alive()
    assert len(texts) == 2 + 3  # two made-up tables, three blocks
    assert set(texts) == {"pandas_dp was called from inside a query; ask, open and close before or after it"}
    assert df.dp.session.spent == "epsilon=1"


def test_an_interrupt_while_it_is_tried_costs_nothing():
    df = protected()

    def stop(block):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        ask(df, stop, bounds=(0, 1))
    assert df.dp.session.spent == "epsilon=0"
    assert df.dp(epsilon=1).count() is not None


def test_warnings_and_numpy_errors_of_a_trial_do_not_show(recwarn):
    df = protected()
    ask(
        df,
        lambda d: float(np.log(d["age"] - 1).to_numpy() @ np.array([1, 2, 3, 4])) if len(d) == 4 else 1.0,
        bounds=(0, 1),
    )
    assert not recwarn.list


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]", "Int64"])
def test_blocks_show_the_constants_that_stand_for_missing_values(dtype):
    """Half of the cells are 1 and half are missing, which count as 90: a mean of 45.5, in each of 20 blocks of 500 rows."""
    df = pd.DataFrame(
        {"x": pd.Series([1, None] * 5000, dtype=dtype), "when": pd.Series([pd.Timestamp("2024-01-01"), None] * 5000)}
    )
    rules = {"x": {"nulls": 90, "bounds": (0, 100)}, "when": {"nulls": pd.Timestamp("2024-01-03")}}
    df.dp.protect(epsilon=10**5, schema=rules, name=fresh())
    centres = df.dp(epsilon=10**4).kmeans(["x"], k=2, blocks=20)
    assert sorted(centres["x"]) == pytest.approx([1, 90], abs=0.01)
    answer = df.dp(epsilon=10**4).sample_and_aggregate(lambda d: float(d["x"].mean()), bounds=(0, 100), blocks=20)
    assert answer.value == pytest.approx(45.5, abs=8)  # a mean of 500 such cells has a deviation of 2
    later = df.dp(epsilon=10**4).sample_and_aggregate(
        lambda d: (d["when"] - pd.Timestamp("2024-01-01")).dt.days.mean(), bounds=(0, 2), blocks=20
    )
    assert later.value == pytest.approx(1, abs=0.2)
    assert df["x"].isna().sum() == 5000


def test_a_null_rule_of_the_unit_column_is_left_alone():
    df = pd.DataFrame({"who": [1, 2, None] * 1000, "x": [10.0, None, 70.0] * 1000})
    rules = {"who": {"nulls": 0}, "x": {"nulls": 30}}
    df.dp.protect(epsilon=10**5, unit="who", max_rows=1000, schema=rules, name=fresh())
    answer = df.dp(epsilon=10**4).sample_and_aggregate(lambda d: float(d["x"].isna().sum()), bounds=(0, 10), blocks=25)
    assert answer.value == pytest.approx(0, abs=0.01)

"""Arguments of streams, and how wide of the threshold their answers may be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused

from pandas_dp import (
    ArgumentTypeError,
    ArgumentValueError,
    UnverifiedFrameError,
)

SURE = 10**4  # an epsilon at which noise is 0 for certain (to 1e-2000)


# ------------------------------------------------------------------------------------------------------- arguments
@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (lambda dp: dp.above_threshold("many"), ArgumentTypeError, r"above_threshold\(1000\)"),
        (lambda dp: dp.above_threshold("1000"), ArgumentTypeError, r"above_threshold\(1000\)"),
        (lambda dp: dp.above_threshold(True), ArgumentTypeError, "threshold"),
        (lambda dp: dp.above_threshold(None), ArgumentTypeError, "threshold"),
        (lambda dp: dp.above_threshold([3]), ArgumentTypeError, "threshold"),
        (lambda dp: dp.above_threshold(float("nan")), ArgumentValueError, "threshold"),
        (lambda dp: dp.above_threshold(float("inf")), ArgumentValueError, "threshold"),
        (lambda dp: dp.above_threshold(1e16), ArgumentValueError, "1e15"),
        (lambda dp: dp.above_threshold(3, max_above=0), ArgumentValueError, "max_above=10"),
        (lambda dp: dp.above_threshold(3, max_above=-1), ArgumentValueError, "max_above"),
        (lambda dp: dp.above_threshold(3, max_above=1.5), ArgumentTypeError, "max_above"),
        (lambda dp: dp.above_threshold(3, max_above=None), ArgumentTypeError, "max_above"),
    ],
)
def test_refused_at_the_opening(call, error, line, monkeypatch):
    df = protected(epsilon=3, delta=1e-6)
    with refused(monkeypatch, df, error, match=line):
        call(df.dp(epsilon=1))


@pytest.mark.parametrize("price", [{"epsilon": 1, "delta": 1e-7}, {"rho": 0.1}, {"within": 5}])
def test_a_stream_takes_a_plain_epsilon(price, monkeypatch):
    df = protected(epsilon=3, delta=1e-6)
    with refused(monkeypatch, df, ArgumentTypeError, match=r"df.dp\(epsilon=(1|0.45)\).above_threshold\("):
        df.dp(**price).above_threshold(3)


@pytest.mark.parametrize(
    "condition",
    [
        "age >",
        "nobody > 3",
        "age",
        "age + 1",
        "age.mean() > 3",
        "@x > 3",
        "sex > 3",
        3,
        None,
        lambda d: d.age.mean() > 3,
    ],
)
def test_refused_questions_cost_no_answer(condition, monkeypatch):
    df = protected(epsilon=3)
    stream = df.dp(epsilon=1).above_threshold(10**6)
    left = stream.left
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), match="ask"):
        stream.ask(condition)
    assert stream.left == left
    assert stream.ask("age > 3") is False


def test_frames_that_are_not_protected():
    df = protected(epsilon=3)
    with pytest.raises(UnverifiedFrameError):
        df[df.age > 30].dp(epsilon=1).above_threshold(3)
    assert df.dp.session.spent == "epsilon=0"


def test_a_change_in_place_does_not_reach_an_open_stream():
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=SURE).above_threshold(3)
    df.loc[:, "age"] = 0
    assert stream.ask("age > 20") is True


def test_the_text_shows_public_facts_alone():
    stream = protected(epsilon=3).dp(epsilon=1).above_threshold(3, max_above=2)
    assert repr(stream) == "<stream above_threshold(3, max_above=2) at epsilon=1: left 2 of 2 True answers>"


# --------------------------------------------------------------------------------------------------------- accuracy
@pytest.mark.slow
@pytest.mark.parametrize(("relation", "most"), [("add_remove", 1), ("replace_one", 4)])
def test_margin_holds(relation, most):
    """In at most 5 % of streams any of 10 answers is wrong: 17 of 80 or more have a probability below 1e-6. At a quarter
    of the margin there are as many for certain, so it is not idle."""
    rows, threshold = 2000, 1000
    df = protected(pd.DataFrame({"x": np.arange(rows)}), epsilon=10**6, neighbors=relation)
    margin = df.dp(epsilon=1).above_threshold(threshold, max_above=most).margin(questions=10)

    def wrong(distance):
        stream = df.dp(epsilon=1).above_threshold(threshold, max_above=most)
        for _ in range(10 - most):
            if stream.ask(f"x < {threshold - distance}"):
                return True
        return not all(stream.ask(f"x < {threshold + distance}") for _ in range(most))

    assert sum(wrong(margin) for _ in range(80)) < 17
    assert sum(wrong(margin // 4) for _ in range(80)) >= 17

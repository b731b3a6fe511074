"""Answers randomised at collection."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest

from pandas_dp import local
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

KEYS = ["no", "yes"]
SURE = 10**5  # an epsilon at which an answer is always kept
DAYS = [pd.Timestamp("2013-01-01"), pd.Timestamp("2013-01-02")]


def test_answers_are_counted():
    truth = ["yes"] * 600 + ["no"] * 1400
    answers = [local.randomize(answer, keys=KEYS, epsilon=2) for answer in truth]
    found = local.estimate(answers, keys=KEYS, epsilon=2)
    # six standard errors: false alarm 2e-9
    assert abs(found.loc["yes", "proportion"] - 0.3) < 6 * found.loc["yes", "standard_error"]
    assert found["count"].sum() == pytest.approx(2000)


def test_frame_and_collection_estimate_alike():
    df = pd.DataFrame({"x": np.arange(300) % 3})
    df.dp.protect(epsilon=1, neighbors="replace_one", rows=True, name="collection and frame")
    answers = df.dp(epsilon=1).randomized_response("x", keys=[0, 1, 2])
    for project in (False, True):
        collected = local.estimate(answers, keys=[0, 1, 2], epsilon=1, level=0.9, project=project)
        pd.testing.assert_frame_equal(answers.estimate(0.9, project).rename_axis("answer"), collected)


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ("yes", KEYS),
        (np.str_("yes"), KEYS),
        (1, [0, 1]),
        (np.int8(1), [0, 1]),
        (1.0, [0, 1]),
        (True, [False, True]),
        (np.True_, [False, True]),
        (DAYS[1], DAYS),
        (np.datetime64("2013-01-02"), DAYS),
        (dt.datetime(2013, 1, 2), DAYS),
        ((1, 2), [(0, 0), (1, 2)]),
        ("a", [1, "a"]),
    ],
)
def test_a_key_is_kept_whatever_number_type_it_has(value, keys):
    assert local.randomize(value, keys=keys, epsilon=SURE) == keys[1]


@pytest.mark.parametrize("value", ["x", None, True, 7, float("nan"), (1,), pd.NA, "1", 1j])
def test_a_value_that_is_no_key_gives_a_random_key(value):
    """Sixty all alike: 2**-59."""
    assert {local.randomize(value, keys=[0, 1], epsilon=SURE) for _ in range(60)} == {0, 1}


@pytest.mark.parametrize(
    "values",
    [["yes", "no"], {"a": "yes"}, {"yes"}, np.array(["yes"]), pd.Series(["yes"]), pd.Index(["yes"]), pd.array([1])],
)
def test_several_answers_at_once_are_refused(values):
    with pytest.raises(ArgumentTypeError, match=r"\[randomize\(v, keys=\.\.\., epsilon=1\) for v in values\]"):
        local.randomize(values, keys=["yes", "no"], epsilon=1)


@pytest.mark.parametrize(
    ("answers", "keys"),
    [
        (["a", "b", "b"], ["a", "b"]),
        (np.array(["a", "b", "b"]), ["a", "b"]),
        (pd.Series(["a", "b", "b"], dtype="category"), ["a", "b"]),
        (iter(["a", "b", "b"]), ["a", "b"]),
        (np.array([5, 7, 7], dtype="uint8"), [5, 7]),
        (pd.Series([False, True, True]), [False, True]),
        (pd.Series([DAYS[0], DAYS[1], DAYS[1]]), DAYS),
        (np.array([DAYS[0], DAYS[1], DAYS[1]], dtype="datetime64[ns]"), DAYS),
    ],
)
def test_answers_in_every_container(answers, keys):
    found = local.estimate(answers, keys=keys, alpha=0.5)
    assert found["proportion"].tolist() == pytest.approx([1 / 6, 5 / 6])
    assert found.index.tolist() == keys


@pytest.mark.parametrize("answers", [["no", "maybe"], ["no", None], ["no", float("nan")], [["no"]], [1]])
def test_answers_that_are_no_keys_are_refused_and_not_shown(answers):
    with pytest.raises(ArgumentValueError, match=r"^answers must all be keys, as randomize\(\) returns them$"):
        local.estimate(answers, keys=KEYS, epsilon=2)


@pytest.mark.parametrize("answers", ["no", b"no", 5, None])
def test_answers_must_be_a_list(answers):
    with pytest.raises(ArgumentTypeError, match="answers must be a list"):
        local.estimate(answers, keys=KEYS, epsilon=2)


def test_no_answers_and_odd_levels():
    with pytest.raises(ArgumentValueError, match="no answers to estimate from"):
        local.estimate([], keys=KEYS, epsilon=2)
    with pytest.raises(ArgumentValueError, match=r"level=0\.95"):
        local.estimate(["no"], keys=KEYS, epsilon=2, level=95)


@pytest.mark.parametrize("keys", [["no"], []])
def test_a_single_key_is_refused(keys):
    with pytest.raises(ArgumentValueError, match="keys"):
        local.randomize("no", keys=keys, epsilon=1)


@pytest.mark.parametrize("alpha", [1, 1.5, -0.1, float("nan"), float("inf")])
def test_probabilities_that_hide_nothing_are_refused(alpha):
    for ask in (
        lambda: local.randomize("no", keys=KEYS, alpha=alpha),
        lambda: local.estimate(["no"], keys=KEYS, alpha=alpha),
        lambda: local.epsilon_of(alpha, keys=KEYS),
    ):
        with pytest.raises(ArgumentValueError, match="alpha"):
            ask()


@pytest.mark.parametrize("given", [{}, {"epsilon": 1, "alpha": 0.5}])
def test_either_epsilon_or_alpha(given):
    for ask in (lambda: local.randomize("no", keys=KEYS, **given), lambda: local.estimate(["no"], keys=KEYS, **given)):
        with pytest.raises(ArgumentTypeError, match="give either epsilon= or alpha="):
            ask()


@pytest.mark.parametrize("alpha", [0, 1e-20])
def test_answers_that_are_never_kept_tell_nothing(alpha):
    assert local.randomize("no", keys=KEYS, alpha=alpha) in KEYS
    assert local.epsilon_of(alpha, keys=KEYS) == 0
    with pytest.raises(ArgumentValueError, match="alpha is so small"):
        local.estimate(["no"], keys=KEYS, alpha=alpha)


@pytest.mark.parametrize("alpha", [0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("k", [2, 3, 50])
def test_alpha_costs_the_exact_epsilon(alpha, k):
    exact = local.epsilon_of(alpha, keys=range(k))
    assert exact == pytest.approx(math.log1p(k * alpha / (1 - alpha)), rel=1e-14)
    assert exact > 2 * alpha  # what two keys are often said to cost
    truth = local.estimate([0, 1], keys=range(k), alpha=alpha)
    pd.testing.assert_frame_equal(truth, local.estimate([0, 1], keys=range(k), epsilon=exact), rtol=1e-9)

"""What answers say of themselves for free: at an end of the bounds, no wider known than the bounds, counts of nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import protected

CUT = "perhaps the bounds cut the data"


@pytest.fixture(scope="module")
def dp():
    """Ages 20..79 of 6,000 rows, at prices where noise decides no choice and no count (beyond 1e-9)."""
    frame = pd.DataFrame(
        {"age": np.arange(6000) % 60 + 20.0, "sex": ["f", "m"] * 3000, "old": [True, False, False] * 2000}
    )
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["age"], unit="D")
    return protected(frame, epsilon=10**6).dp(epsilon=100, fresh=True)


@pytest.mark.parametrize(
    ("ask", "end"),
    [
        (lambda d: d.median("age", bounds=(0, 15)), "upper"),
        (lambda d: d.quantile("age", [0.1, 0.5], bounds=(30, 200)), "lower"),
        (lambda d: d.quantile("age", [0.1, 0.3, 0.5, 0.9], bounds=(30, 50)), "lower and upper"),
        (lambda d: d.sample_and_aggregate(lambda b: b["age"].mean(), bounds=(0, 15), blocks=100), "upper"),
        (lambda d: d.groupby_mean_sa("sex", "age", keys=["f", "m"], bounds=(90, 200), aggregator="median"), "lower"),
    ],
)
def test_answers_at_an_end_of_the_bounds_say_so(dp, ask, end):
    answer = ask(dp)
    assert f"at the {end} bound: {CUT}" in answer.notes
    assert repr(answer).splitlines()[-1] == f"  at the {end} bound: {CUT}"


@pytest.mark.parametrize(
    ("ask", "end"),
    [
        (lambda d: d.mean("age", bounds=(0, 15)), "upper"),
        (lambda d: d.mean("age", bounds=(90, 200)), "lower"),
        (lambda d: d.mean("day", bounds=("2021-01-01", "2022-01-01")), "lower"),
        (lambda d: d.groupby("sex", keys=["f", "m"])["age"].mean(bounds=(0, 15)), "upper"),
    ],
)
def test_means_at_an_end_of_the_bounds_say_so(dp, ask, end):
    """At any price the interval leaves out the end in 2.5 % of draws: in 11 of 30 with a chance below 1e-9."""
    answers = [ask(dp) for _ in range(30)]
    said = [f"at the {end} bound: {CUT}" in answer.notes for answer in answers]
    assert sum(said) >= 20
    assert [repr(answer).splitlines()[-1] == f"  at the {end} bound: {CUT}" for answer in answers] == said


def test_groups_of_noise_alone_say_nothing_of_the_bounds():
    """The sum of two draws is above four times ln(20) scales with probability below 3e-5.

    In 50 groups that is 2e-3 an answer, in 9 of 40 answers below 1e-12; without the rule most answers say so.
    """
    groups = protected(epsilon=10**6).dp(epsilon=1, fresh=True).groupby("sex", keys=[f"k{i}" for i in range(50)])
    said = sum(any(CUT in note for note in groups["age"].mean(bounds=(0, 100)).notes) for _ in range(40))
    assert said <= 8


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.mean("age", bounds=(0, 100)),
        lambda d: d.mean("day", bounds=("2020-01-01", "2022-01-01")),
        lambda d: d.mean("old"),
        lambda d: d.median("old"),
        lambda d: d.median("age", bounds=(0, 100)),
        lambda d: d.median("age", bounds=(0, None)),
        lambda d: d.quantile("age", [0, 1], bounds=(20, 79)),
        lambda d: d.groupby("sex", keys=["f", "m"])["age"].mean(bounds=(0, 100)),
        lambda d: d.histogram("sex", keys=["f", "x"]),
        lambda d: d.histogram("age", bins=[0, 10, 200], other=True),
    ],
)
def test_others_say_nothing(dp, ask):
    assert ask(dp).notes == ()


def test_a_mean_of_too_few_rows_says_that_its_interval_is_useless():
    """Eight rows, noise of scale 100: nine draws in ten; in less than 20 of 60 below 1e-12."""
    draw, said = protected().dp(epsilon=0.01, fresh=True), 0
    for _ in range(60):
        answer = draw.mean("age", bounds=(0, 120))
        whole = tuple(answer.interval()) == (0, 120)
        useless = "useless: the interval is the whole of the bounds; a larger epsilon, or narrower bounds"
        assert (useless in answer.notes) == whole
        said += whole
    assert said >= 20


def test_keys_of_another_type_and_bins_beside_the_data_are_told(dp):
    keys, bins = "perhaps the keys are spelt or typed otherwise in the column", "perhaps the bins lie beside the data"
    for ask in (
        lambda d: d.histogram("sex", keys=["F", "M"]),
        lambda d: d.histogram("sex", keys=[0, 1], other=True, null=True),
        lambda d: d.value_counts("sex", keys=["female", "male"]),
        lambda d: d.groupby("sex", keys=["F"]).size(),
    ):
        assert ask(dp).notes == (f"no count is above what noise alone makes of 0: {keys}",)
    assert dp.histogram("age", bins=[100, 110, 120], other=True).notes[0].endswith(bins)


def test_noise_alone_is_rarely_taken_for_rows():
    """20 parts without rows: some count is above the limit with probability at most 5 %, in 30 of 200 draws below 1e-6."""
    draw = protected(pd.DataFrame({"x": ["a"] * 10}), epsilon=10**6).dp(epsilon=0.1, fresh=True)
    silent = sum(not draw.histogram("x", keys=list("bcdefghijklmnopqrstu")).notes for _ in range(200))
    assert silent < 30

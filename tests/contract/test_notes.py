"""What answers say of themselves for free: at an end of the bounds, no wider known than the bounds, counts of nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import protected

from pandas_dp.aggregates.base import Caution

AT_END = (
    "within 1 % of the {} bound: values lie at this bound, or they lie beyond it and are clipped (intervals do not cover "
    "that), or the bounds are far too wide"
)


@pytest.fixture(scope="module")
def dp():
    """Ages 20..79 of 6,000 rows, at prices where noise decides no choice and no count (beyond 1e-9)."""
    frame = pd.DataFrame(
        {"age": np.arange(6000) % 60 + 20.0, "sex": ["f", "m"] * 3000, "old": [True, False, False] * 2000}
    )
    frame["whole"] = frame["age"].astype("Int64")
    frame["kind"] = frame["sex"].astype("category")  # text alone takes no keys of another type
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["age"], unit="D")
    return protected(frame, epsilon=10**6).dp(epsilon=100, fresh=True)


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
    """With 300,000 rows a unit of the noise each is found, but for a chance below 1e-9."""
    answer = ask(dp)
    assert answer.notes == (AT_END.format(end),)
    assert repr(answer).splitlines()[-1] == f"  {AT_END.format(end)}"


def test_groups_of_noise_alone_have_no_mean():
    """Of 50 empty groups one in a hundred has a value: more than 60 of 2,000 with a probability below 1e-9."""
    groups = protected(epsilon=10**6).dp(epsilon=1, fresh=True).groupby("sex", keys=[f"k{i}" for i in range(50)])
    answers = [groups["age"].mean(bounds=(0, 100)) for _ in range(40)]
    assert sum(int(answer.notna().sum()) for answer in answers) <= 60
    for answer in answers:
        note = "no value where a group has too few rows: 11 or more would have given one with 99 % probability"
        assert f"\n  {note}" in repr(answer)
        empty = answer.interval()[answer.isna()]
        assert ((empty["lower"] == 0) & (empty["upper"] == 100)).all()


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.mean("age", bounds=(0, 100)),
        lambda d: d.mean("day", bounds=("2020-01-01", "2022-01-01")),
        lambda d: d.mean("old"),
        lambda d: d.median("old"),
        lambda d: d.median("whole", bounds=(0, 100)),
        lambda d: d.quantile("whole", [0, 1], bounds=(20, 79)),
        lambda d: d.groupby("sex", keys=["f", "m"])["age"].mean(bounds=(0, 100)),
        lambda d: d.histogram("sex", keys=["f", "x"]),
        lambda d: d.histogram("age", bins=[0, 10, 200], other=True),
    ],
)
def test_others_say_nothing(dp, ask):
    assert ask(dp).notes == ()


@pytest.mark.parametrize(
    ("ask", "steps"),
    [
        (lambda d: d.median("age", bounds=(0, 100)), "of 0.000977; for whole numbers type step=1"),
        (lambda d: d.median("age", bounds=(0, 100), step=1), "of 1"),
        (lambda d: d.max("age", bounds=(0, None)), "growing from 0.01; for whole numbers type step=1"),
        (lambda d: d.median("day", bounds=("2020-01-01", "2022-01-01"), step=pd.Timedelta("1D")), "of 1 days"),
        (
            lambda d: d.groupby("sex", keys=["f", "m"])["age"].median(bounds=(0, 100), step=1, error_bar=False),
            "of 1",
        ),
    ],
)
def test_ranks_of_values_between_the_points_say_so(dp, ask, steps):
    note = f"values are first rounded to the possible answers, in steps {steps}"
    (found,) = (said for said in ask(dp).notes if "rounded" in said)
    assert found == note
    assert isinstance(found, Caution) == ("type step" in steps)  # who typed a step knows


def test_a_mean_of_no_rows_to_speak_of_is_missing():
    """Eight rows, noise of scale 100: in 99 draws of 100; in less than 45 of 60 below 1e-9."""
    draw, said = protected().dp(epsilon=0.01, fresh=True), 0
    for _ in range(60):
        answer = draw.mean("age", bounds=(0, 120))
        note = "too few rows for a value: 1,039 or more would have given one with 99 % probability"
        assert (note in answer.notes) == np.isnan(answer.value)
        assert note not in answer.notes or tuple(answer.interval()) == (0, 120)
        said += note in answer.notes
    assert said >= 45


def test_keys_of_another_type_and_bins_beside_the_data_are_told(dp):
    keys, bins = (
        "perhaps the keys are spelt differently or have another type in the column",
        "perhaps the bins miss the data",
    )
    for ask in (
        lambda d: d.histogram("sex", keys=["F", "M"]),
        lambda d: d.histogram("kind", keys=[0, 1], other=True, null=True),
        lambda d: d.value_counts("sex", keys=["female", "male"]),
        lambda d: d.groupby("sex", keys=["F"]).size(),
    ):
        assert ask(dp).notes == (f"all counts could be 0: {keys}",)
    assert dp.histogram("age", bins=[100, 110, 120], other=True).notes[0].endswith(bins)


def test_noise_alone_is_rarely_taken_for_rows():
    """20 parts without rows: some count is above the limit with probability at most 5 %, in 30 of 200 draws below 1e-6."""
    draw = protected(pd.DataFrame({"x": ["a"] * 10}), epsilon=10**6).dp(epsilon=0.1, fresh=True)
    silent = sum(not draw.histogram("x", keys=list("bcdefghijklmnopqrstu")).notes for _ in range(200))
    assert silent < 30

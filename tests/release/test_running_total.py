"""Running totals: sums of what was released, with the exact law of the summed noise, and of nothing that does not add up."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.aggregates.weighted_noise import CellNoise, Law
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.release.running_total import Added

DAY = 1440  # rows of one day
AT = pd.date_range("2026-11-01", periods=40 * DAY, freq="min")


@pytest.fixture(scope="module")
def df() -> pd.DataFrame:
    frame = pd.DataFrame({"at": AT, "cost": 0.5, "who": np.arange(len(AT))})
    frame.dp.protect(epsilon=10**4, period="D", time="at", name="running totals", table="visits", version="1")
    return frame


def ask(frame: pd.DataFrame, first: str, last: str | None = None, epsilon: float = 100) -> Any:
    return frame.dp.period(first, last).dp(epsilon=epsilon)


@pytest.fixture(scope="module")
def month(df) -> Any:
    return ask(df, "2026-11-01", "2026-11-30").count()


@pytest.fixture(scope="module")
def days(df) -> list[Any]:
    return [ask(df, f"2026-12-0{day}").count() for day in (1, 2, 3)]


def test_totals_are_the_sums_in_the_order_of_time(df, month, days):
    left = df.dp.session.left
    total = pandas_dp.running_total([days[2], month, days[0], days[1]])
    assert total.index.tolist() == ["2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03"]
    assert total.tolist() == np.cumsum([month, *days]).tolist()
    assert total.dtype == np.int64
    assert total.index.name == "day"
    assert total.name == "running_total"
    assert df.dp.session.left == left
    assert str(total.query) == "period('2026-11-01', '2026-12-03').count(), running total of 4 answers"
    assert (total.epsilon, total.rho) == (None, None)
    entries = ", ".join(str(one._provenance.entry) for one in (month, *days))
    assert total.spent == f"no cost beyond entries {entries}"
    assert total.notes[-1].startswith(f"the sums of entries {entries} of the ledger: nothing is charged")


def test_the_draws_that_an_answer_is_made_of_are_named(df, days):
    made = ask(df, "2026-12-01", epsilon=7).refine(days[0])
    entries = [one._provenance.entry for one in (days[0], days[1], made)]
    total = pandas_dp.running_total([made, days[1]])
    assert total.spent == f"no cost beyond entries {', '.join(map(str, sorted(entries)))}"


def test_sums_of_a_column_add_up_as_well(df):
    answers = [ask(df, f"2026-11-0{day}", epsilon=1000).sum("cost", bounds=(0, 1)) for day in (1, 2)]
    total = pandas_dp.running_total(answers)
    assert total.iloc[1] == pytest.approx(DAY, abs=1)
    assert total.iloc[1] == answers[0] + answers[1]
    ends = total.interval()
    assert (ends["upper"] - ends["lower"]).is_monotonic_increasing


@pytest.mark.parametrize(
    "question",
    [
        lambda d: d.value_counts("cost", keys=[0.5, 2.0]),
        lambda d: d.groupby("cost", keys=[0.5, 2.0])["who"].sum(bounds=(0, 10**6)),
        lambda d: d.histogram("who", bins=[0, 30 * DAY, 100 * DAY]),
    ],
)
def test_counts_and_sums_by_keys_have_a_column_for_each(df, question):
    answers = [question(ask(df, f"2026-12-0{day}", epsilon=0.5)) for day in (1, 2)]
    total, labels = pandas_dp.running_total(answers), answers[0].query.aggregate.labels.index()
    assert total.columns.tolist() == labels.tolist()
    for label in labels:
        assert total[label].tolist() == [answers[0][label], answers[0][label] + answers[1][label]]
    first, second = (total.table().iloc[place].xs("upper", level=1) - total.value.iloc[place] for place in (0, 1))
    assert (first < second).all()
    changed = question(ask(df, "2026-12-03", epsilon=0.5))
    changed.iloc[0] += 1  # another number, whatever was drawn
    with pytest.raises(ArgumentTypeError, match="answer 1 was changed since it was released"):
        pandas_dp.running_total([answers[0], changed])


def test_stored_and_pickled_answers_add_up_as_they_were(df, month, days):
    again = ask(df, "2026-12-01").count()
    assert again == days[0]
    old = pickle.loads(pickle.dumps([month, days[0]]))
    pd.testing.assert_frame_equal(pandas_dp.running_total(old).table(), pandas_dp.running_total([month, again]).table())


def test_a_missing_day_is_said(days, month):
    assert not any("leave them out" in note for note in pandas_dp.running_total([month, *days]).notes)
    assert (
        "no answer is about 2026-12-02: the totals leave them out" in pandas_dp.running_total([days[0], days[2]]).notes
    )
    assert any("2026-12-01 to 2026-12-02" in note for note in pandas_dp.running_total([month, days[2]]).notes)


def test_a_day_in_two_answers_is_refused(df, days, month):
    for answers in ([days[0], days[0]], [month, ask(df, "2026-11-30", "2026-12-01").count()]):
        with pytest.raises(ArgumentValueError, match=r"two answers are about '2026-1\d-\d\d', which would count twice"):
            pandas_dp.running_total(answers)


def test_what_does_not_add_up_is_refused(df, days):
    first, other = days[0], pd.DataFrame({"at": AT, "who": 1})
    other.dp.protect(epsilon=10**4, unit="who", max_rows=5, period="D", time="at", name="running totals of units")
    plain = pd.DataFrame({"at": AT})
    plain.dp.protect(epsilon=100, name="no periods")
    cases = [
        (plain.dp(epsilon=1).count(), "answer 1 does not say which periods it is about"),
        (ask(df, "2026-12-02").mean("cost", bounds=(0, 1)), "answer 1 cannot be added up"),
        (ask(df, "2026-12-02").groupby("cost", keys=[0.5]).size(), "answers another question than answer 0, count()"),
        (ask(df, "2026-12-02").value_counts("cost", keys=[0.5], normalize=True), "answer 1 cannot be added up"),
        (ask(df, "2026-12-02").nunique("who"), "answer 1 cannot be added up"),
        (pandas_dp.running_total(days[1:]), "answer 1 cannot be added up"),
        (ask(other, "2026-12-02").count(), "has a different budget, unit or schema"),
        (replaced(days[1], content=None), "has a different budget, unit or schema"),
        (ask(df, "2026-12-02").sum("cost", bounds=(0, 1)), "answers another question than answer 0, count()"),
        (ask(df, "2026-12-02").query("cost > 0").count(), "after different steps"),
    ]
    for one, said in cases:
        with pytest.raises(ArgumentTypeError) as error:
            pandas_dp.running_total([first, one])
        assert said in str(error.value)
    narrow, wide = (ask(df, f"2026-11-0{day}").sum("cost", bounds=(0, day)) for day in (1, 2))
    with pytest.raises(ArgumentTypeError, match="answers another question"):
        pandas_dp.running_total([narrow, wide])
    for other in (int(days[1]), days[1] + 0, pd.Series([1])):
        with pytest.raises(ArgumentTypeError, match=r"element 1 is not one: a file.*: pandas_dp\.running_total"):
            pandas_dp.running_total([first, other])
    for nothing in (first, [first], "days", None):
        with pytest.raises(ArgumentTypeError, match=r"takes a list of two answers or more: pandas_dp\.running_total"):
            pandas_dp.running_total(nothing)


def replaced(answer: Any, **changed: Any) -> Any:
    made = pickle.loads(pickle.dumps(answer))
    made._keep(answer.value, replace(answer._provenance, **changed))
    return made


def steps_of(scale: float, most: int = 4000) -> np.ndarray:
    """Probabilities of discrete Laplace noise from -most to most, by its definition."""
    p = math.exp(-1 / scale)
    return (1 - p) / (1 + p) * p ** np.abs(np.arange(-most, most + 1))


@pytest.mark.parametrize("scales", [[1], [10, 10], [2] * 7, [20] + [10] * 11, [20] * 12 + [10] * 30])
def test_intervals_cover_as_often_as_they_say(scales):
    """The exact law by convolution. Noise is whole, so an interval covers up to a step more; with one draw, two."""
    law = np.array([1.0])
    for scale in scales:
        law = np.convolve(law, steps_of(scale, most=30 * scale))
    places = np.arange(law.size) - law.size // 2
    known = Law.of(Counter((1.0, CellNoise.of(DiscreteLaplace(Fraction(scale)))) for scale in scales))
    half = Added(known).half_width(0.95)
    covered, step = law[np.abs(places) <= half].sum(), law[np.abs(places) == half].sum()
    assert 0.95 - 1e-4 <= covered <= 0.951 + 2 * step
    assert law @ places**2 == pytest.approx(known.variance, rel=1e-6)


def test_intervals_of_answers_follow_the_law_of_their_sum(df):
    answers = [ask(df, f"2026-12-0{day}", epsilon=1).count() for day in (4, 5, 6, 7)]
    total = pandas_dp.running_total(answers)
    one = CellNoise.of(answers[0]._provenance.error.noise)
    for place, (lower, upper) in enumerate(total.interval().itertuples(index=False), 1):
        assert upper - lower == 2 * Added(Law.of(Counter({(1.0, one): place}))).half_width(0.95)


def deviation(*noises: Any) -> float:
    return math.sqrt(Law.of(Counter((1.0, CellNoise.of(noise)) for noise in noises)).variance)


def test_days_and_months_are_closer_than_days_alone():
    """The figures of the documentation, in rows at epsilon=1 a day, and in deviations of one Gaussian answer."""
    day, half = DiscreteLaplace(Fraction(100)), DiscreteLaplace(Fraction(200))
    assert deviation(*[day] * 365) / 100 == pytest.approx(27.0, abs=0.05)
    assert deviation(*[half] * 12) / 100 == pytest.approx(9.8, abs=0.05)
    assert deviation(*[half] * 11, *[half] * 30) / 100 == pytest.approx(18.1, abs=0.05)
    one, at_half = DiscreteGaussian(Fraction(100) ** 2), DiscreteGaussian(2 * Fraction(100) ** 2)
    assert deviation(*[one] * 365) / 100 == pytest.approx(19.1, abs=0.05)
    assert deviation(*[at_half] * 12) / 100 == pytest.approx(4.9, abs=0.05)

"""Smooth medians and quantiles as questions: what they cost, what they say, and what is refused for free."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

from pandas_dp.core.mechanisms.smooth import DRAWS, NEED_DELTA

PAY = (0, 5000)


def many(**terms) -> pd.DataFrame:
    frame = pd.DataFrame({"cost": np.arange(20_000) % 1000, "kind": ["a", "b"] * 10_000})
    return protected(frame, epsilon=100, delta=1e-3, **terms)


NAMES = {
    "polynomial_laplace": "polynomial Laplace",
    "polynomial": "polynomial",
    "cauchy": "Cauchy",
    "student_t": "Student's t",
    "laplace": "Laplace",
    "gaussian": "Gaussian",
}


@pytest.mark.parametrize("noise", [None, *DRAWS])
def test_every_noise(noise):
    """One row moves the median by one step: all but Cauchy noise stays below 60 steps but once in a million."""
    df = many()
    delta = 1e-5 if noise in NEED_DELTA else 0
    before = df.dp.session.spent
    answer = df.dp(epsilon=10, delta=delta).median("cost", bounds=(0, 2000), step=1, method="smooth", noise=noise)
    assert before != df.dp.session.spent
    assert 0 <= answer <= 2000
    assert abs(answer - 499) < 60 or noise == "cauchy"
    assert answer.interval() is None
    assert any("an error bar has to be paid for" in note for note in answer.notes)
    law = NAMES[noise or "polynomial_laplace"]
    assert answer.mechanism == f"smooth sensitivity, {law} noise"
    shown = f", noise={noise!r}" if noise else ""
    assert answer.query.call == f"median('cost', bounds=(0, 2000), step=1, method='smooth'{shown})"


def test_delta_comes_out_of_the_reserve():
    df = many(delta_reserved=1e-4)
    for _ in range(2):
        df.dp(epsilon=1, delta=5e-5, fresh=True).median("cost", bounds=(0, 2000), method="smooth", noise="laplace")
    with pytest.raises(Exception, match="reserved"):
        df.dp(epsilon=1, delta=1e-6).median("cost", bounds=(0, 2000), method="smooth", noise="gaussian")


def test_several_levels_share_the_price():
    """Two levels are 400 steps apart; noise of scale 0.9 misses by 200 but once in three millions."""
    df = many()
    levels = [0.9, 0.1, 0.5]
    answer = df.dp(epsilon=9).quantile("cost", levels, bounds=(0, 2000), step=1, method="smooth")
    assert answer.index.tolist() == levels
    assert answer[0.1] <= answer[0.5] <= answer[0.9]
    assert np.abs(answer.to_numpy() - [899, 99, 499]).max() < 200
    assert df.dp.session.spent.startswith("epsilon=9")


def test_answers_are_stored_by_method_and_noise():
    df = many()
    ask = {"bounds": (0, 2000)}
    first = df.dp(epsilon=1).median("cost", method="smooth", noise="cauchy", **ask)
    assert df.dp(epsilon=1)["cost"].median(method="smooth", noise="cauchy", **ask) == first
    assert df.dp.session.spent.startswith("epsilon=1;")
    df.dp(epsilon=1)["cost"].quantile(0.5, method="smooth", noise="student_t", **ask)
    df.dp(epsilon=1).median("cost", **ask)
    assert df.dp.session.spent.startswith("epsilon=3;")


def test_dates():
    frame = pd.DataFrame({"when": pd.date_range("2013-01-01", periods=5000, freq="h")})
    df = protected(frame)
    answer = df.dp(epsilon=10).median("when", bounds=("2013-01-01", "2014-01-01"), method="smooth")
    assert abs(answer.value - pd.Timestamp("2013-04-15 03:00")) < pd.Timedelta("5 D")  # more with a chance of 2e-9


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_no_rows_and_no_values(relation):
    for values in ([], [np.nan, np.nan]):
        df = protected(pd.DataFrame({"x": np.array(values, dtype=float)}), neighbors=relation, name=fresh())
        assert 0 <= df.dp(epsilon=1).median("x", bounds=(0, 10), method="smooth") <= 10


@pytest.mark.parametrize("terms", [{}, {"unit": "pid", "max_rows": 2}])
def test_blocks(terms):
    frame = pd.DataFrame({"pid": np.arange(6000) // 2, "x": np.arange(6000) % 100, "g": ["a", "b", "b"] * 2000})
    df = protected(frame, epsilon=100, **terms)
    mean = df.dp(epsilon=10).sample_and_aggregate(
        lambda block: block["x"].mean(), bounds=(0, 200), blocks=60, aggregator="smooth"
    )
    assert abs(mean - 49.5) < 25
    assert mean.interval() is None
    assert any("60 blocks, smooth" in note for note in mean.notes)
    groups = df.dp(epsilon=20).groupby_mean_sa(
        "g", "x", keys=["a", "b"], bounds=(0, 200), blocks=60, aggregator="smooth"
    )
    assert np.abs(groups.to_numpy() - 49.5).max() < 50
    assert df.dp.session.spent == "epsilon=30"


def test_trimmed_means():
    df = protected(pd.DataFrame({"cost": np.append(np.arange(20_000) % 1000, [10**6] * 100)}))
    ask = {"bounds": (0, 10**6), "method": "trimmed"}
    answer = df.dp(epsilon=1).mean("cost", **ask)
    assert abs(answer - 499.5) < 60  # noise of about 0.2: beyond with a chance of 4e-8; the plain mean is 5,470
    assert answer.interval() is None
    assert answer.query.call == "mean('cost', bounds=(0, 1000000), method='trimmed', trim=0.1)"
    assert df.dp(epsilon=1)["cost"].mean(trim=0.1, **ask) == answer
    assert df.dp.session.spent == "epsilon=1"
    other = df.dp(epsilon=1).mean("cost", trim=0.25, noise="student_t", error_bar=True, **ask)
    assert other.query.call.endswith("trim=0.25, noise='student_t', error_bar=True)")
    assert 0 < other.interval().upper - other.interval().lower < 400


@pytest.mark.parametrize("noise", [None, *DRAWS])
def test_error_bars_that_are_paid_for(noise):
    df = many()
    delta = 1e-5 if noise in NEED_DELTA else 0
    how = {"bounds": (0, 2000), "method": "smooth", "noise": noise, "error_bar": True}
    answer = df.dp(epsilon=3, delta=delta).median("cost", **how)
    assert df.dp.session.spent.startswith("epsilon=3")
    lower, upper = answer.interval()
    assert lower <= answer <= upper
    assert answer.interval(0.5).upper - answer.interval(0.5).lower < 1000 or noise == "cauchy"
    assert any("two fifths of the price" in note for note in answer.notes)
    assert answer.query.call.endswith("error_bar=True)")
    dates = protected(pd.DataFrame({"when": pd.date_range("2013-01-01", periods=5000, freq="h")}), delta=1e-3)
    dated = dates.dp(epsilon=2, delta=delta).median("when", **how | {"bounds": ("2013-01-01", "2014-01-01")})
    ends = dated.interval(0.9999999)
    assert ends.lower < pd.Timestamp("2013-04-15") < ends.upper


def test_refusals(monkeypatch):
    df = protected(people(), delta=1e-3)

    def refuse(match, error=ValueError, name="median", epsilon=1, delta=0, **how):
        how = {"bounds": PAY, "method": "smooth"} | how
        with refused(monkeypatch, df, error, match):
            getattr(df.dp(epsilon=epsilon, delta=delta), name)("pay", **how)

    refuse("'exponential' or 'smooth'", method="smoothly")
    refuse("'exponential' or 'smooth'", method=["smooth"])
    refuse("method='smooth'", method="exponential", noise="cauchy")
    refuse("'polynomial_laplace'.*'gaussian'", noise="normal")
    refuse("'polynomial_laplace'.*'gaussian'", noise=["laplace"])
    refuse("delta=1e-7", noise="laplace")
    refuse("delta=1e-7", noise="gaussian", name="quantile")
    refuse(r"takes a plain epsilon: .*noise='cauchy'\)$", delta=1e-6, noise="cauchy")
    refuse("takes a plain epsilon", delta=1e-6)
    refuse("1e-5", epsilon=1e-6, delta=1e-6, noise="gaussian")
    refuse("one level", name="quantile", q=[0.1, 0.9], error_bar=True)
    refuse("True or False", error=TypeError, error_bar=1)
    refuse("method='trimmed'", name="mean", method="rotated", error_bar=True)
    for trim in (0, 0.5, -0.1, float("nan"), 1, 0.12345678):
        refuse("trim", name="mean", method="trimmed", trim=trim)
    refuse("trim", name="mean", method="trimmed", trim="a", error=TypeError)
    refuse("method='trimmed'", name="mean", method="rotated", trim=0.1)
    refuse("method='trimmed'", name="mean", method="winsorized", noise="cauchy")
    refuse("delta=1e-7", name="mean", method="trimmed", noise="laplace")
    refuse("no use", name="mean", method="trimmed", bounds="private")
    for bounds in ("private", (0, None), (None, None)):
        refuse(r"median\('pay', bounds=\(lower, upper\), method='smooth'\)", bounds=bounds)
    refuse("bounds", error=TypeError, bounds=None)
    with refused(monkeypatch, df, ValueError, "epsilon, not a rho"):
        df.dp(rho=0.1).median("pay", bounds=PAY, method="smooth")
    with refused(monkeypatch, df, TypeError, "give a price"):
        df.dp(within=5).median("pay", bounds=PAY, method="smooth")
    with refused(monkeypatch, df, ValueError, "'mean', 'smooth'"):
        df.dp(epsilon=1).sample_and_aggregate(len, bounds=PAY, aggregator="smoothed")


def test_a_session_without_delta_refuses_noise_that_needs_one():
    df = protected(people())
    with pytest.raises(Exception, match="delta"):
        df.dp(epsilon=1, delta=1e-6).median("pay", bounds=PAY, method="smooth", noise="laplace")
    assert df.dp.session.spent == "epsilon=0"

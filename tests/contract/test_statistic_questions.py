"""Ends of columns, several columns together and distinct values, as a user asks for them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.frames import people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, query
from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.extremes import Extreme
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.kinds import Kind
from pandas_dp.uncertainty import RankBound

ENOUGH = 10**4  # a price at which noise is far below what is compared


def spread(rows: int = 3000) -> pd.DataFrame:
    """Numbers 0..rows-1 in an order of no meaning."""
    return pd.DataFrame({"x": np.arange(rows) * 7 % rows, "y": np.arange(rows) % 10})


def test_min_and_max_lie_at_the_ends_and_not_beyond():
    """Rank 16 is asked for; the answer is a rank of 1..32 but for a chance of exp(-16): (ln N + t) / rate = r at t = 3."""
    df = protected(spread(), epsilon=10**6)
    low, high = df.dp(epsilon=100).min("x", bounds=(0, 3000)), df.dp(epsilon=100).max("x", bounds=(0, 3000))
    assert 0 <= low < 4
    assert 2996 < high <= 3000
    assert isinstance(low.interval(), RankBound)
    assert "not the smallest value" in low.notes[0]
    assert "10 % of the price" in low.notes[0]
    assert "not the largest value" in high.notes[0]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("bounds", [(-1000, 5000), (-1000, None), (None, None)])
def test_answers_are_inside_the_data(relation, bounds):
    """At epsilon = 1 an answer is beyond all rows with probability below exp(-3); of 40 fewer than 20 but for 1e-12."""
    df = protected(spread(), epsilon=10**6, neighbors=relation)
    answers = [df.dp(epsilon=1, fresh=True).min("x", bounds=bounds) for _ in range(40)]
    assert sum(-1 <= answer < 200 for answer in answers) > 20


def test_given_levels_are_quantiles():
    df = protected(spread(), epsilon=10**6)
    assert df.dp(epsilon=ENOUGH).min("x", bounds=(0, 3000), q=0.1) == pytest.approx(300, abs=2)
    assert df.dp(epsilon=ENOUGH)["x"].max(bounds=(0, 3000), q=0.9, step=1) == pytest.approx(2700, abs=2)
    assert df.dp(epsilon=ENOUGH).max("x", bounds="private", q=0.5) == pytest.approx(1500, abs=5)


def test_dates_and_steps():
    df = protected(pd.DataFrame({"d": pd.date_range("2013-01-01", periods=2000, freq="D")}), epsilon=10**6)
    last = df.dp(epsilon=1000).max("d", bounds=("2010-01-01", "2030-01-01"), step="1D")
    assert isinstance(last.value, pd.Timestamp)
    assert abs(last.value - df["d"].max()) < pd.Timedelta("3D")


def test_too_few_rows_are_said():
    df = protected(people())
    answer = df.dp(epsilon=0.1).max("pay", bounds=(0, 5000))
    assert any(note.startswith("useless: about") for note in answer.notes)
    assert "useless" in repr(answer)


def test_within_asks_for_ranks():
    df = protected(spread(), epsilon=10**6)
    answer = df.dp(within=50).min("x", bounds=(0, 3000))
    assert 40 < answer.interval()[0] <= 50


@settings(max_examples=200, deadline=None)
@given(
    rows=st.integers(-(10**6), 10**12),
    epsilon=st.fractions(Fraction(1, 10**6), 1000, max_denominator=10**6),
    k=st.integers(1, 9),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_no_noisy_count_leads_to_a_look_that_was_not_paid(rows, epsilon, k, relation):
    terms = Terms(PrivacyUnit("u", k, k, k, relation), Price(epsilon))
    asked = Extreme("x", Lattice(Fraction(1), 0, 1000), Kind("number"), largest=True)
    steps = asked.steps(terms)
    size = next(steps)
    quantile = steps.send([rows])
    losses = [look.mechanism.loss(look.statistic.sensitivity(terms.unit)) for look in (size, quantile)]
    assert asked.loss(terms) == losses[0] + losses[1]
    assert losses[0].epsilon + losses[1].epsilon == epsilon
    assert 0 < quantile.mechanism.q < 1


REFUSED = [
    (lambda d: d.min("pay"), ArgumentTypeError, r"min\('pay', bounds=\(lower, upper\)\)"),
    (lambda d: d.min("sex", bounds=(0, 1)), ArgumentTypeError, "needs a column of numbers"),
    (lambda d: d.max("pay", bounds=(0, 9), q=0.3), ArgumentValueError, r"max\('pay', q=0\.99\)"),
    (lambda d: d.min("pay", bounds=(0, 9), q=0.6), ArgumentValueError, r"min\('pay', q=0\.01\)"),
    (lambda d: d.min("pay", bounds=(0, 9), q=[0.1, 0.2]), ArgumentValueError, r"quantile\('pay', q\)"),
    (lambda d: d.max("pay", bounds="private"), ArgumentTypeError, r"max\('pay', bounds=\(None, None\)\)"),
    (lambda d: d.max("pya", bounds=(0, 1)), ArgumentValueError, "did you mean 'pay'"),
    (lambda d: d.min("pay", bounds=(5, 1)), ArgumentValueError, r"min\('pay', bounds=\(lower, upper\)\)"),
]


@pytest.mark.parametrize(("ask", "error", "match"), REFUSED, ids=range(len(REFUSED)))
def test_refusals_cost_nothing(monkeypatch, ask, error, match):
    df = protected()
    with refused(monkeypatch, df, error, match):
        ask(df.dp(epsilon=1))


def test_gaussian_prices_are_refused(monkeypatch):
    df = protected(delta=1e-6)
    with refused(monkeypatch, df, ArgumentValueError, "takes a plain epsilon"):
        df.dp(epsilon=1, delta=1e-7).min("pay", bounds=(0, 5000))


QUERIES = [
    query(epsilon=1).min("cost", bounds=(0, 100)),
    query(epsilon=1)["cost"].max(bounds=(0, 100), q=0.99),
]


@pytest.mark.parametrize("asked", QUERIES, ids=str)
def test_queries(asked):
    df = protected(pd.DataFrame({"cost": range(100), "age": np.arange(100.0), "ward": ["A", "B"] * 50}))
    assert asked.preview(df).affordable
    answer = asked(df)
    assert type(asked).from_dict(asked.to_dict()) == asked
    assert df.dp.session.spent == "epsilon=1"
    assert asked(df).notes == answer.notes  # stored
    assert df.dp.session.spent == "epsilon=1"

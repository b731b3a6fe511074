"""histogram(workload="ranges"), range_sum and ecdf: right where noise is small, stored, refused by their arguments."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.datasets import load_adult
from pandas_dp.facts import binning
from pandas_dp.facts.kinds import Kind, exact_number
from pandas_dp.release.values import FloatRelease, SeriesRelease

EPSILON = 10**5
EDGES = list(range(0, 101, 2))


@pytest.fixture(scope="module")
def adult():
    return load_adult()


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", [0, 1e-7])
@pytest.mark.parametrize("edges", [[0, 100], [0, 30, 60, 100], EDGES, np.linspace(0, 100, 401)], ids=len)
def test_counts_and_their_sums(adult, edges, delta, neighbors):
    df = protected(adult.copy(), epsilon=10**6, delta=0.01, neighbors=neighbors)
    counts = df.dp(epsilon=EPSILON, delta=delta).histogram("age", bins=edges, workload="ranges")
    exact = np.histogram(adult["age"], bins=edges)[0]
    assert isinstance(counts, SeriesRelease)
    assert counts.dtype == np.float64
    assert (counts.name, counts.index.name) == ("count", "age")
    assert isinstance(counts.index, pd.IntervalIndex)
    assert counts.to_numpy() == pytest.approx(exact, abs=2)
    middle = edges[len(edges) // 2]
    for left, right in ((None, None), (edges[0], middle), (middle, None), (edges[0], edges[-1])):
        total = counts.range_sum(left, right)
        below = -np.inf if left is None else left
        above = np.inf if right is None or right == edges[-1] else right
        assert isinstance(total, FloatRelease)
        assert total == pytest.approx(((adult["age"] >= below) & (adult["age"] < above)).sum(), abs=3)
        assert total.interval().lower <= total <= total.interval().upper
        assert total.epsilon == EPSILON
        assert "free" in total.notes[-1]
    assert counts.range_sum(middle, middle) == 0
    df.dp.session.close()


def test_ranges_are_free_and_leave_no_record(adult):
    df = protected(adult.copy(), epsilon=1)
    counts = df.dp(epsilon=1).histogram("age", bins=EDGES, workload="ranges")
    spent, records = df.dp.session.spent, len(df.dp.session.releases)
    counts.range_sum(20, 40)
    counts.to_simplex(len(adult))
    assert (df.dp.session.spent, len(df.dp.session.releases)) == (spent, records)
    with pytest.raises(BudgetExceededError):
        df.dp(epsilon=0.1).ecdf("age", bins=EDGES)


def test_long_ranges_are_more_accurate_than_sums_of_plain_counts(adult):
    edges = np.linspace(0, 100, 401)
    df = protected(adult.copy(), epsilon=10, delta=1e-5)
    for delta, gain in ((0, 1.2), (1e-6, 2)):
        made = df.dp(epsilon=1, delta=delta).histogram("age", bins=edges, workload="ranges")
        plain = df.dp(epsilon=1, delta=delta).histogram("age", bins=edges)
        known = made.range_sum(0, 50).interval()
        sigma = plain._provenance.error.noise.standard_deviation * np.sqrt(200)
        assert (known.upper - known.lower) / 2 < 1.96 * sigma / gain


def test_other_and_missing_rows_have_parts(adult):
    df = protected(pd.DataFrame({"x": [1.0, 2.0, 2.5, 99.0, np.nan, np.inf]}), epsilon=10**6, neighbors="replace_one")
    counts = df.dp(epsilon=EPSILON).histogram("x", bins=[0, 2, 4], other=True, null=True, workload="ranges")
    assert counts.to_numpy() == pytest.approx([1, 2, 2, 1], abs=0.1)
    assert list(counts.index)[2:] == ["other", None]
    assert counts.range_sum(2) == pytest.approx(2, abs=0.1)
    assert counts.range_sum() == pytest.approx(3, abs=0.1)


def test_dates():
    df = protected(pd.DataFrame({"when": pd.to_datetime(["2013-01-01", "2013-01-20", "2013-03-01"])}), epsilon=10**6)
    edges = pd.date_range("2013-01-01", periods=4, freq="MS")
    counts = df.dp(epsilon=EPSILON).histogram("when", bins=edges, workload="ranges")
    assert counts.range_sum("2013-01-01", edges[2]) == pytest.approx(2, abs=0.1)
    shares = df.dp(epsilon=EPSILON).ecdf("when", bins=edges)
    assert shares.index.equals(pd.DatetimeIndex(edges, name="when"))
    assert shares.to_numpy() == pytest.approx([0, 2 / 3, 2 / 3, 1], abs=0.01)


@pytest.mark.parametrize("delta", [0, 1e-7])
def test_shares(adult, delta):
    df = protected(adult.copy(), epsilon=10**6, delta=0.01)
    shares = df.dp(epsilon=EPSILON, delta=delta).ecdf("age", bins=EDGES)
    assert isinstance(shares, SeriesRelease)
    assert (shares.name, shares.index.name, list(shares.index)) == ("ecdf", "age", EDGES)
    assert shares.to_numpy() == pytest.approx([(adult["age"] < edge).mean() for edge in EDGES], abs=1e-3)
    noisy = df.dp(epsilon=0.01, delta=delta)["age"].ecdf(bins=EDGES)
    assert noisy.is_monotonic_increasing
    assert (noisy.iloc[0], noisy.iloc[-1]) == (0, 1)
    assert list(noisy.table().columns) == ["value", "lower", "upper"]
    assert noisy.interval().iloc[0].tolist() == [0, 0]
    assert noisy.interval().iloc[-1].tolist() == [1, 1]
    assert noisy.interval(0.5).loc[40, "upper"] < noisy.interval(0.99).loc[40, "upper"]


@pytest.mark.parametrize("delta", [0, 1e-7])
@pytest.mark.parametrize("edges", [[0, 30, 60, 100], EDGES, np.linspace(0, 100, 401)], ids=len)
def test_stored_answers_replay_identically(adult, edges, delta):
    df = protected(adult.copy(), epsilon=10, delta=1e-5)
    for ask in (
        lambda dp: dp.histogram("age", bins=edges, workload="ranges"),
        lambda dp: dp.ecdf("age", bins=edges),
    ):
        first = ask(df.dp(epsilon=0.5, delta=delta))
        spent = df.dp.session.spent
        again = ask(df.dp(epsilon=0.5, delta=delta))
        assert df.dp.session.spent == spent
        assert again.equals(first)
        assert again.interval().equals(first.interval())
        drawn = ask(df.dp(epsilon=0.5, delta=delta, fresh=True))
        assert df.dp.session.spent != spent
        # each noisy count is the same once more with probability at most 1/7, so ten are with at most 4e-9, three now and then
        assert len(edges) <= 10 or not drawn.equals(first)
    plain = df.dp(epsilon=0.5, delta=delta).histogram("age", bins=edges)  # another question
    assert plain.dtype == np.int64


def test_units_of_several_rows():
    frame = pd.DataFrame({"u": np.repeat(np.arange(300), 4), "x": np.tile([0.5, 1.5, 2.5, 3.5], 300)})
    for neighbors in ("add_remove", "replace_one"):
        df = protected(frame.copy(), epsilon=10**6, unit="u", max_rows=2, neighbors=neighbors)
        counts = df.dp(epsilon=EPSILON).histogram("x", bins=np.linspace(0, 4, 65), workload="ranges")
        assert counts.range_sum() == pytest.approx(600, abs=1)
        assert df.dp(epsilon=EPSILON).ecdf("x", bins=range(5)).iloc[2] == pytest.approx(0.5, abs=0.15)


def test_a_wanted_accuracy_buys_every_bin(adult):
    df = protected(adult.copy(), epsilon=100, delta=1e-4)
    for delta in (0, 1e-6):
        counts = df.dp(within=40, delta=delta).histogram("age", bins=np.linspace(0, 100, 401), workload="ranges")
        half = (counts.interval()["upper"] - counts).max()
        assert 0.98 * 40 < half <= 40
    with pytest.raises(ArgumentTypeError, match="depends on the data"):
        df.dp(within=0.01).ecdf("age", bins=EDGES)


def test_releases_travel(adult):
    df = protected(adult.copy(), epsilon=10)
    counts = df.dp(epsilon=1).histogram("age", bins=np.linspace(0, 100, 401), workload="ranges")
    for again in (pickle.loads(pickle.dumps(counts)), copy.deepcopy(counts)):
        assert again.range_sum(0, 50).interval() == counts.range_sum(0, 50).interval()
    assert json.loads(counts.to_json())["mechanism"].startswith("discrete Laplace on counts of runs of 1, ")
    assert json.loads(counts.range_sum(0, 50).to_json())["interval"]
    assert "workload='ranges'" in str(counts.query)
    assert "95 %" in repr(counts.range_sum(0, 50))
    counts.iloc[0] = 10**9
    assert counts.range_sum(0, 50) < 10**8


CALLS = [
    (lambda dp: dp.histogram("age", bins=[0, 9], workload="all"), ArgumentValueError, "workload"),
    (lambda dp: dp.histogram("age", bins=[0, 9], workload=None), ArgumentTypeError, "workload"),
    (lambda dp: dp.histogram("age", bins=[0, 9], workload=["ranges"]), ArgumentTypeError, "workload"),
    (lambda dp: dp.histogram("age", workload="ranges"), ArgumentTypeError, "bins=range"),
    (lambda dp: dp.histogram("sex", keys=["f"], workload="ranges"), ArgumentTypeError, "bins"),
    (lambda dp: dp.histogram("age", bins=[0, 9], keys=[1], workload="ranges"), ArgumentTypeError, "bins"),
    (lambda dp: dp.histogram("age", bins=5, workload="ranges"), ArgumentTypeError, "needs public bounds"),
    (lambda dp: dp.histogram("age", bins=[9, 0], workload="ranges"), ArgumentValueError, "ascending"),
    (lambda dp: dp.histogram("sex", bins=[0, 9], workload="ranges"), ArgumentTypeError, "numbers or dates"),
    (lambda dp: dp.ecdf("age", bins=10), ArgumentTypeError, r"ecdf\('age'"),
    (lambda dp: dp.ecdf("age", bins=[0]), ArgumentValueError, "two edges"),
    (lambda dp: dp.ecdf("age", bins=[0, np.inf]), (ArgumentTypeError, ArgumentValueError), "bins"),
    (lambda dp: dp.ecdf("sex", bins=[0, 9]), ArgumentTypeError, "numbers or dates"),
    (lambda dp: dp.ecdf("nobody", bins=[0, 9]), ArgumentValueError, "nobody"),
]


@pytest.mark.parametrize(("call", "error", "match"), CALLS)
def test_refused_questions_cost_nothing(monkeypatch, call, error, match):
    df = protected(people())
    with refused(monkeypatch, df, error, match):
        call(df.dp(epsilon=1))


@pytest.mark.parametrize("edges", [(1, 40), (40, 20), (20, "x"), ([20], 40), (np.nan, 40), (20, 41)])
def test_refused_ranges(edges):
    counts = protected(people()).dp(epsilon=1).histogram("age", bins=[0, 20, 40, 100], workload="ranges")
    with pytest.raises(ArgumentValueError, match=r"range_sum\(0, 100\)"):
        counts.range_sum(*edges)
    with pytest.raises(ArgumentTypeError, match="workload='ranges'"):
        protected(people()).dp(epsilon=1).histogram("age", bins=[0, 20, 40, 100]).range_sum(0, 20)


@pytest.mark.parametrize(
    "edges",
    [
        np.arange(5), np.arange(5, dtype=np.uint8), np.array([0.5, 1, 2.25]), np.array([-0.0, 1, 2]),
        pd.Index([0, 10**15, 2**62]), np.array([0.1, 0.7], dtype=np.float32), np.array([0, 2.0**60, 2.0**61]),
        pd.Series([0, 1.5]), [0, 0.5, 2.0],
    ],
)  # fmt: skip
def test_edges_of_arrays_are_those_that_their_decimals_say(edges):
    one = binning.bins(edges, False, False, Kind("number"), "histogram", "x")[0].edges
    exact = [exact_number(edge, "bins") for edge in edges]
    whole = all(edge.denominator == 1 for edge in exact)
    assert one == tuple(map(int if whole else float, exact))
    assert {type(edge) for edge in one} == {int if whole else float}
    assert not any(str(edge) == "-0.0" for edge in one)


def test_many_edges_cost_no_fraction_each(monkeypatch):
    monkeypatch.setattr(Kind, "number", None)
    for edges in (np.arange(20_000), np.linspace(0, 1, 20_000), list(range(20_000))):
        assert binning.bins(edges, False, False, Kind("number"), "histogram", "x")[0].bins == 19_999

"""Bad inputs B30-B60: odd columns, odd keys."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused

BIG = 10_000  # an epsilon at which noise is beyond the tolerances with a chance below exp(-100)


def column(values, dtype=None) -> pd.DataFrame:
    return protected(pd.DataFrame({"x": pd.Series(values, dtype=dtype)}), epsilon=10**6)


def every_answer(df, bounds=(-10, 10)):
    ask = lambda: df.dp(epsilon=BIG)  # noqa: E731
    return [
        ask().count(),
        ask().count("x"),
        ask().sum("x", bounds=bounds),
        ask().mean("x", bounds=bounds),
        ask().var("x", bounds=bounds),
        ask().median("x", bounds=bounds),
    ]


@pytest.mark.parametrize("rows", [pytest.param([], id="B30"), pytest.param([1.0], id="B31")])
def test_no_rows_and_one_row(rows):
    df = column(rows, dtype=float)
    count, _, total, mean, var, median = every_answer(df)
    assert count == len(rows)
    assert total == pytest.approx(sum(rows), abs=0.1)
    assert np.isfinite(median)
    for answer in (mean, var):  # without rows they are missing in 99 draws of 100
        assert np.isfinite(answer) or (not rows and "too few rows for a value" in repr(answer))
    histogram = df.dp(epsilon=BIG).histogram("x", bins=[-10, 0, 10])
    assert histogram.tolist() == [0, len(rows)]
    assert list(df.dp(epsilon=BIG).groupby("x", keys=[1.0, 2.0])["x"].mean(bounds=(0, 2)).index) == [1.0, 2.0]


def test_b32_sums_never_wrap():
    df = column([2**62] * 4, dtype="int64")
    assert df.dp(epsilon=BIG).sum("x", bounds=(-(2**62), 2**62)) == pytest.approx(4.0 * 2**62, rel=0.02)


def test_b33_uint64_is_clipped_exactly():
    df = column([2**63 + 5, 3], dtype="uint64")
    assert df.dp(epsilon=BIG).sum("x", bounds=(0, 10)) == pytest.approx(13, abs=0.1)
    assert df.dp(epsilon=BIG).mean("x", bounds=(2**63, 2**63 + 2**40)) == pytest.approx(2**63, rel=1e-3)


@pytest.mark.parametrize(
    ("values", "dtype", "exact"),
    [
        pytest.param([1] * 300, "int8", 300, id="B34"),
        pytest.param(np.broadcast_to(np.float32(1), 2**25), "float32", 2**25, id="B35", marks=pytest.mark.slow),
        pytest.param([1e308, -1e308, 1e-308], "float64", 0, id="B36"),
        pytest.param([-0.0, 0.0], "float64", 0, id="B37"),
    ],
)
def test_sums(values, dtype, exact):
    assert column(values, dtype).dp(epsilon=BIG).sum("x", bounds=(-10, 10)) == pytest.approx(exact, abs=1)


@pytest.mark.parametrize(
    ("values", "dtype", "total"),
    [
        ([1.0, np.nan], "float64", 1),
        ([np.nan, np.nan], "float64", 0),
        ([1.0, np.inf], "float64", 11),
        ([1.0, -np.inf], "float64", -9),
        ([1, pd.NA], "Int64", 1),
        ([1, None], "int64[pyarrow]", 1),
        ([1.0, None], "Float64", 1),
    ],
    ids=["nan", "all nan", "inf", "-inf", "NA", "None", "Float64"],
)
def test_b38_missing_and_infinite(values, dtype, total):
    """Missing values are left out, infinite ones are clipped; nothing warns (warnings are errors here)."""
    df = column(values, dtype)
    answers = every_answer(df)
    assert answers[2] == pytest.approx(total, abs=0.2)
    missing = [place for place, answer in enumerate(answers) if not np.isfinite(float(answer))]
    assert missing == [] if answers[1] else set(missing) <= {3, 4}  # mean and variance of no value


def test_b38_missing_times():
    df = protected(pd.DataFrame({"x": pd.to_datetime(["2013-01-01", None])}), epsilon=10**6)
    mean = df.dp(epsilon=BIG).mean("x", bounds=("2012-01-01", "2014-01-01")).value
    assert abs(mean - pd.Timestamp("2013-01-01")) < pd.Timedelta("10D")
    assert df.dp(epsilon=BIG).count("x") == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: pd.Series(pd.arrays.SparseArray([0.0, 1.0])),
        lambda: pd.Series(pd.arrays.IntervalArray.from_breaks([0, 1, 2])),
        lambda: pd.Series(pd.period_range("2013", periods=2, freq="M")),
        lambda: pd.Series([1 + 2j, 3j]),
    ],
    ids=["sparse", "interval", "period", "complex"],
)
def test_b40_dtypes_that_cannot_be_answered(monkeypatch, make):
    df = protected(pd.DataFrame({"x": make()}))
    for ask in (
        lambda: df.dp(epsilon=1).sum("x", bounds=(0, 1)),
        lambda: df.dp(epsilon=1).mean("x", bounds=(0, 1)),  # what holds a value can be counted all the same
        lambda: df.dp(epsilon=1).mode("x", keys=[1]),
    ):
        with refused(monkeypatch, df, TypeError, "dtype"):
            ask()


def test_b40_durations_are_answered():
    df = protected(pd.DataFrame({"x": pd.to_timedelta([1, 3], unit="h")}), epsilon=10**6)
    total = df.dp(epsilon=BIG).sum("x", bounds=("0h", "5h")).value
    assert abs(total - pd.Timedelta("4h")) < pd.Timedelta("5min")


class Spiteful:
    """A cell that tells its content to whoever converts it."""

    def __float__(self):
        raise ValueError("secret42")

    def __eq__(self, other):
        raise ValueError("secret42")

    def __hash__(self):
        raise ValueError("secret42")

    __repr__ = __float__


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "secret42"],
        [[1], {"secret42": 1}],
        [Spiteful(), 1],
        [pd.Timestamp("2013", tz="UTC"), pd.Timestamp("2013")],
    ],
    ids=["B41", "B42", "B43-44", "B46"],
)
def test_object_columns_serve_as_keys_only(monkeypatch, cells):
    df = protected(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), epsilon=10**6)
    for name in ("sum", "mean", "var", "median"):
        with refused(monkeypatch, df, TypeError, "keys") as caught:
            getattr(df.dp(epsilon=1), name)("x", bounds=(0, 1))
        assert "secret42" not in str(caught.value)
    counts = df.dp(epsilon=BIG).histogram("x", keys=["1", "2"], other=True)
    assert counts.sum() == 2


def test_b45_odd_texts():
    df = column(["\udc80", "\x00", "y" * 10**6, "a"], dtype=object)
    assert df.dp(epsilon=BIG).histogram("x", keys=["a", "\x00"], other=True).tolist() == [1, 1, 2]


def test_b47_b48_edges(monkeypatch):
    df = protected()
    endless = (i for i in range(10**9))
    for bins in (
        None,
        10,
        "auto",
        [0],
        [],
        [1, 0],
        [0, 0],
        [0, float("nan")],
        [0, float("inf")],
        range(10**9),
    ):
        with refused(monkeypatch, df, (TypeError, ValueError), "bins|keys"):
            df.dp(epsilon=1).histogram("age", bins=bins)
    del endless


def test_b49_values_on_and_outside_edges():
    df = column([0, 1, 2, 3, -5, 99], dtype="int64")
    assert df.dp(epsilon=BIG).histogram("x", bins=[0, 1, 3]).tolist() == [1, 2]
    assert df.dp(epsilon=BIG).histogram("x", bins=[0, 1, 3], other=True).tolist() == [1, 2, 3]


@pytest.mark.parametrize("ask", ["histogram", "mode", "value_counts", "groupby"])
def test_b50_b57_keys_are_needed(monkeypatch, ask):
    df = protected()
    with refused(monkeypatch, df, TypeError, "keys="):
        getattr(df.dp(epsilon=1), ask)("city")
    with refused(monkeypatch, df, TypeError, "keys="):
        df.dp(epsilon=1).groupby_mean_sa("city", "pay", bounds=(0, 1))


@pytest.mark.parametrize(
    "keys", [[], ["x", "x"], [["x"]], ["x", float("nan")], ["x", None], [{"a": 1}], "xyz", 7], ids=repr
)
def test_b51_b55_keys_that_are_refused(monkeypatch, keys):
    df = protected()
    for ask in ("histogram", "mode", "value_counts", "groupby"):
        with refused(monkeypatch, df, (TypeError, ValueError), "keys"):
            getattr(df.dp(epsilon=1), ask)("city", keys=keys)


def test_b52_unlisted_values_are_dropped_or_counted():
    df = protected(epsilon=10**6)
    assert df.dp(epsilon=BIG).histogram("city", keys=["x", "w"]).tolist() == [4, 0]
    assert df.dp(epsilon=BIG).histogram("city", keys=["x", "w"], other=True).tolist() == [4, 0, 4]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [10, 1e-6])
@pytest.mark.parametrize("extra", [[], [1]])
def test_b54_a_million_equal_values(epsilon, extra):
    df = column([0] * 10**6 + extra, dtype="int64")
    answer = df.dp(epsilon=epsilon).median("x", bounds=(-100, 100))
    assert -100 <= answer <= 100
    if epsilon == 10:
        assert answer == pytest.approx(0, abs=0.01)


@pytest.mark.slow
def test_b56_ties_are_broken_by_the_noise():
    """Two keys with one row each: 2,000 draws, each at probability 1/2; outside 800..1,200 below 1e-18."""
    firsts = 0
    for rows in (["a", "b"], ["b", "a"]):
        df = column(rows, dtype=object)
        firsts += sum(df.dp(epsilon=1, fresh=True).mode("x", keys=["a", "b"]) == "a" for _ in range(1000))
    assert 800 < firsts < 1200


def test_b58_keys_without_rows_and_with_one():
    df = protected(epsilon=10**6)
    means = df.dp(epsilon=BIG).groupby("city", keys=["z", "none"])["pay"].mean(bounds=(0, 5000))
    assert list(means.index) == ["z", "none"]
    assert np.isfinite(means["z"])
    assert np.isnan(means["none"]) or 0 <= means["none"] <= 5000  # of 1 %
    sa = df.dp(epsilon=BIG).groupby_mean_sa("city", "pay", keys=["z", "none"], bounds=(0, 5000))
    assert sa.isna().all()  # too few rows for 25 blocks


def test_b59_missing_keys_are_one_part():
    df = column(["a", None, float("nan"), pd.NA, "a"], dtype=object)
    assert df.dp(epsilon=BIG).histogram("x", keys=["a"], null=True).tolist() == [2, 3]
    assert df.dp(epsilon=BIG).histogram("x", keys=["a"]).tolist() == [2]


@pytest.mark.parametrize("blocks", [0, 2.5, -3, True, "9"])
def test_b60_blocks(monkeypatch, blocks):
    df = protected()
    with refused(monkeypatch, df, (TypeError, ValueError), "blocks"):
        df.dp(epsilon=1).groupby_mean_sa("city", "pay", keys=["x"], bounds=(0, 1), blocks=blocks)


def test_b60_more_blocks_than_rows_and_one_block():
    df = protected(epsilon=10**6)
    for blocks in (1, 500):
        answer = df.dp(epsilon=BIG).groupby_mean_sa(
            "city", "pay", keys=["x"], bounds=(0, 5000), blocks=blocks, aggregator="mean"
        )
        assert np.isnan(answer.iloc[0]) == (blocks == 500)

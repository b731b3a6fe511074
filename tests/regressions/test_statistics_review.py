"""Regressions: statistics of several columns, distinct values, several answers for one price."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp  # noqa: F401
from pandas_dp.aggregates.quantiles import level_of
from pandas_dp.core.statistics.sums import group_sum
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError


@pytest.fixture
def table() -> pd.DataFrame:
    frame = pd.DataFrame({"x": np.arange(300) % 10 * 1.0, "y": np.arange(300) % 7 * 1.0})
    frame.dp.protect(epsilon=10, name=fresh())
    return frame


def test_sums_of_many_groups_take_no_pass_over_the_groups_for_every_block_of_rows(monkeypatch):
    rows, groups, largest = 100_000, 50_000, 1 << 40  # 13 blocks
    codes, passes, bincount = np.arange(rows) // 2, [], np.bincount
    monkeypatch.setattr(np, "bincount", lambda *args, **options: (passes.append(1), bincount(*args, **options))[1])
    sums = group_sum(np.full(rows, largest), codes, groups, largest)
    assert sums.tolist() == [2 * largest] * groups
    assert len(passes) <= 1


def test_sums_stay_in_int64_where_no_group_can_leave_it_and_leave_it_where_one_does():
    rows, largest = 1 << 13, 1 << 50
    spread = group_sum(np.full(rows, largest), np.arange(rows) // 2, rows // 2, largest)
    assert spread.dtype == np.int64
    assert set(spread.tolist()) == {2 * largest}
    (heavy,) = group_sum(np.full(1 << 14, largest), np.zeros(1 << 14, dtype=np.int64), 1, largest).tolist()
    assert heavy == largest << 14  # beyond int64


@pytest.mark.parametrize(
    "ask",
    [
        lambda priced: priced.agg(low=(["x"], "mean"), bounds={"x": (0, 10)}),
        lambda priced: priced.agg(low=(None, "count")),
        lambda priced: priced.agg({1: "count"}),
        lambda priced: priced.describe([["x"]]),
        lambda priced: priced.describe(["x", None], bounds={"x": (0, 10)}),
    ],
)
def test_names_that_are_no_text_are_refused_for_nothing(table, ask):
    with pytest.raises(ArgumentTypeError, match="name"):
        ask(table.dp(epsilon=1))
    assert table.dp.session.left == "epsilon=10"


def test_the_same_ddof_written_another_way_is_the_same_question(table):
    bounds = {"x": (0, 10), "y": (0, 10)}
    first = table.dp(epsilon=1).cov(["x", "y"], bounds=bounds, ddof=0)
    again = table.dp(epsilon=1).cov(["x", "y"], bounds=bounds, ddof=0.0)
    assert again.to_numpy().tolist() == first.to_numpy().tolist()
    assert table.dp.session.left == "epsilon=9"


@pytest.mark.parametrize("ddof", [np.array([0, 1]), None, "1", True, 2, [1]])
def test_no_other_ddof(table, ddof):
    with pytest.raises(
        (ArgumentTypeError, ArgumentValueError),
        match=r"table\.dp\(epsilon=1\)\.cov\(\['x', 'y'\], bounds=\{'x': \(0, 10\), 'y': \(0, 10\)\}, ddof=1\)",
    ):
        table.dp(epsilon=1).cov(["x", "y"], bounds={"x": (0, 10), "y": (0, 10)}, ddof=ddof)


@pytest.mark.parametrize("rows", [-5, 0, 1, 36, 72, 100, 999_983, 25_000_000, 10**9])
def test_as_many_rows_lie_beyond_an_extreme_as_the_choice_needs(rows):
    q = level_of(36, rows)
    assert q * rows >= 36 or q == Fraction(1, 2)
    assert 0 < q <= Fraction(1, 2)
    assert (q * 10**6).denominator == 1

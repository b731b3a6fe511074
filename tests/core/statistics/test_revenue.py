"""Revenue at public prices: the examples of the literature, every dtype of bids, and how far one unit moves it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each
from support.views import table

from pandas_dp.aggregates.choices import on_one_unit
from pandas_dp.core import bounding
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.scores import Revenue
from pandas_dp.engines.pandas import PandasView
from pandas_dp.facts.kinds import exact_number


def statistic(prices, supply=None):
    return Revenue("x", *on_one_unit([exact_number(p, "prices").as_integer_ratio() for p in prices]), supply)


def revenues(bids, prices, supply=None, unit=None):
    asked = statistic(prices, supply)
    column = bids if isinstance(bids, pd.Series) else pd.Series(bids, dtype="float64")
    exact = asked.compute(PandasView(pd.DataFrame({"x": column}), {}), unit or PrivacyUnit()).open()
    return [steps * asked.step for steps in exact]


def test_one_rich_bidder():
    """Three bids of 100 and one of 401: one step above 401 all is lost."""
    assert revenues([100, 100, 100, 401], [100, 101, 401, 402]) == [400, 101, 401, 0]


def test_two_offers():
    """Without a limit both buy at 3; with one item for sale the second one cannot."""
    prices = [3, 3.01, 4, 4.01]
    assert revenues([3, 4], prices) == [6, Fraction("3.01"), 4, 0]
    assert revenues([3, 4], prices, supply=1) == [3, Fraction("3.01"), 4, 0]


def test_who_buys_nothing():
    assert revenues([np.nan, None, 0, -5, -np.inf, 1, np.inf], [1, 2]) == [2, 2]
    assert revenues([], [1, 2]) == [0, 0]


@pytest.mark.parametrize(
    "dtype",
    ["float64", "float32", "Float32", "Float64", "double[pyarrow]", "float[pyarrow]", "decimal128(9, 2)[pyarrow]"],
)
def test_a_bid_of_the_price_buys_in_every_float(dtype):
    bids = pd.Series([3.01, 0.1, None, 2.3], dtype="Float64").astype(
        pd.ArrowDtype(__import__("pyarrow").decimal128(9, 2)) if dtype.startswith("decimal") else dtype
    )
    assert revenues(bids, [0.1, 2.3, 3.01, 3.02]) == [Fraction("0.3"), Fraction("4.6"), Fraction("3.01"), 0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "Float32", "int8"])
def test_bids_of_0_buy_at_no_price_that_the_dtype_cannot_hold(dtype):
    """A price below the smallest float32 becomes that, not 0; one above the largest is bought by nobody finite."""
    bids = pd.Series([0, 0, 1, 2], dtype=dtype)
    asked = Revenue("x", (1, 2), Fraction(1, 10**60))
    assert asked.compute(PandasView(pd.DataFrame({"x": bids}), {}), PrivacyUnit()).open() == [2, 4]
    with np.errstate(over="ignore"):  # as behind the door
        assert revenues(bids, [1, 2]) == [2, 2]
        asked = Revenue("x", (1, 2), Fraction(10) ** 60)
        assert asked.compute(PandasView(pd.DataFrame({"x": bids}), {}), PrivacyUnit()).open() == [0, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "Int16", "int32[pyarrow]"])
def test_whole_bids(dtype):
    bids = pd.Series([1, 2, 100], dtype=dtype)
    prices = [0.5, 1.5, 100, 100.5, 70000]
    assert revenues(bids, prices) == [1.5, 3, 100, 0, 0]


def test_the_largest_integers_are_exact():
    bids = pd.Series([2**53 + 1, 2**63], dtype="uint64")
    unit = 2**33
    prices = [Fraction(2**53), Fraction(2**53 + unit), Fraction(2**63)]
    asked = Revenue("x", tuple(int(p / unit) for p in prices), Fraction(unit))
    exact = asked.compute(PandasView(pd.DataFrame({"x": bids}), {}), PrivacyUnit()).open()
    assert [int(x) * unit for x in exact] == [2 * 2**53, 2**53 + unit, 2**63]


def test_prices_on_one_unit():
    prices, unit = on_one_unit([(301, 100), (3, 1), (4, 1)])
    assert (prices, unit) == ((300, 301, 400), Fraction(1, 100))
    with pytest.raises(ValueError, match=r"round\(p, 2\)"):
        on_one_unit([(1, 10**10), (1, 1)])


BIDS = st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=5)
BASE = st.lists(st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=1, max_size=3), max_size=3)


@settings(max_examples=300, deadline=None)
@given(
    others=BASE,
    unit=BIDS,
    other=BIDS,
    prices=st.sets(st.integers(1, 5), min_size=1),
    supply=st.one_of(st.none(), st.integers(1, 4)),
    k=st.integers(1, 3),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_no_unit_moves_more_than_it_says(others, unit, other, prices, supply, k, relation):
    asked = Revenue("x", tuple(sorted(prices)), Fraction(1), supply)
    privacy = PrivacyUnit("u", k, 1, k, relation)
    second = other if relation is NeighboringRelation.REPLACE_ONE else []
    exact = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "keep_at_most", first_of_each)
        for content in (unit, second):
            rows = [(i, None, bid) for i, bids in enumerate([*others, content]) for bid in bids] or [(0, None, None)]
            exact.append(asked.compute(table(rows), privacy).open())
    moved = [b - a for a, b in zip(*exact, strict=True)]
    s = asked.sensitivity(privacy)
    assert max(moved) - min(moved) <= s.range
    assert max(map(abs, moved)) <= s.linf
    assert sum(map(abs, moved)) <= s.l1
    assert sum(d * d for d in moved) <= s.l2_squared


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize(("k", "supply", "sold"), [(1, None, 1), (3, None, 3), (3, 2, 2), (2, 9, 2)])
def test_the_range_is_that_of_the_largest_price_under_both_relations(relation, k, supply, sold):
    asked = Revenue("x", (1, 2, 7), Fraction(1, 2), supply)
    assert asked.sensitivity(PrivacyUnit("u", k, 1, k, relation)).score_range == 7 * sold


def test_counts_are_cut_where_int64_would_wrap():
    asked = Revenue("x", (1 << 31,), Fraction(1), 10**9)
    assert asked.sensitivity(PrivacyUnit()).linf == 1 << 31
    (exact,) = asked.compute(PandasView(pd.DataFrame({"x": [2.0**40] * 3}), {}), PrivacyUnit()).open()
    assert exact == 3 << 31

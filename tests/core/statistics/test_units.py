"""No unit moves the counts of units by more than they say, whatever it owns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.views import table

from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.counts import UnitSizes

ADD, REPLACE = NeighboringRelation
SIZES = st.lists(st.integers(0, 12), max_size=6)
EDGES = st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True).map(lambda edges: tuple(sorted(edges)))


def rows_of(sizes: list[int], without: int) -> list[tuple]:
    """Rows of units of these sizes, in an order that mixes them, and some without a unit."""
    rows = [(place if n < size else None,) for n in range(13) for place, size in enumerate(sizes) if n < size]
    return [*rows, *[(None,)] * (without + 1)]  # a table has rows


def moved(edges, before, after, unit, without):
    statistic = UnitSizes(edges)
    one, two = (np.array(statistic.compute(table(rows_of(s, without), "u"), unit).open()) for s in (before, after))
    return statistic.sensitivity(unit), two - one


@settings(max_examples=300, deadline=None)
@given(SIZES, st.integers(0, 12), st.integers(0, 12), EDGES, st.integers(1, 3), st.integers(0, 2))
def test_one_unit_moves_one_count_or_two(others, size, other, edges, rows, without):
    for relation, after in ((ADD, [*others]), (REPLACE, [*others, other])):
        unit = PrivacyUnit("u", rows, rows, rows, relation)
        sensitivity, change = moved(edges, [*others, size], after, unit, without)
        assert np.abs(change).sum() <= sensitivity.l1
        assert (change**2).sum() <= sensitivity.l2_squared
        assert np.abs(change).max() <= sensitivity.linf
        assert change.max() - change.min() <= sensitivity.score_range
        assert relation is REPLACE or (change <= 0).all()
        assert sensitivity.rising == (relation is ADD)


@pytest.mark.parametrize(("relation", "l1"), [(ADD, 1), (REPLACE, 2)])
def test_the_bounds_are_reached(relation, l1):
    after = [2] if relation is ADD else [2, 9]
    sensitivity, change = moved((1, 3), [2, 1], after, PrivacyUnit("u", 1, 1, 1, relation), 0)
    assert np.abs(change).sum() == sensitivity.l1 == l1
    assert (change**2).sum() == sensitivity.l2_squared == l1
    assert change.max() - change.min() == sensitivity.score_range == l1


@given(SIZES, EDGES, st.integers(0, 2))
def test_counted_by_hand(sizes, edges, without):
    ends = [0, *edges, 10**9]
    by_hand = [sum(a < size <= b for size in sizes) for a, b in itertools.pairwise(ends)]
    unit = PrivacyUnit("u", 1, 1, 1)
    assert UnitSizes(edges).compute(table(rows_of(sizes, without), "u"), unit).open() == by_hand


def test_without_a_unit_column_each_row_is_a_unit():
    assert UnitSizes((1, 2)).compute(table([("a",), ("a",), (None,)], "u"), PrivacyUnit()).open() == [3, 0, 0]

"""Trees and the Haar transform of counts: what they hold, and that no unit moves them by more than they say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each
from support.views import table

from pandas_dp.core import bounding
from pandas_dp.core.partition import Bins
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.strategies import Haar, Tree, Weighted

RELATIONS = list(NeighboringRelation)
BOUNDS = [(1, 1, 1), (2, 2, 1), (2, 2, 2), (3, 1, 3), (3, 2, 2), (4, 2, 3), (5, 3, 1), (3, 3, 1)]
SHAPES = [(2, 1), (2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (16, 2)]


def bins(parts: int, **more: bool) -> Bins:
    return Bins("x", tuple(range(parts + 1 - sum(more.values()))), **more)


def strategies(by: Bins):
    yield from (Tree(by, branching, levels) for branching, levels in SHAPES)
    yield Haar(by)
    weights = [[(3 * i + 2 * j) % 5 - 1 for j in range(by.count)] for i in range(3)]
    yield Weighted(by, tuple(map(tuple, weights)))
    yield Weighted(by, ((7,) * by.count, tuple(range(by.count))))


def matrix(statistic, unit: PrivacyUnit) -> np.ndarray:
    """A, column by column: what one row in each part gives; shape (entries, parts)."""
    parts = range(statistic.by.count)
    one_row = PrivacyUnit(relation=unit.relation)
    return np.array([statistic.compute(table([(0, "a", i)]), one_row).open() for i in parts]).T


@pytest.mark.parametrize("relation", RELATIONS)
def test_entries(relation):
    rows = [(i, "a", x) for i, x in enumerate([0, 0, 0, 1, 2, 2, 3, 4, 4, 4, 4, 5, None])]
    unit = PrivacyUnit(relation=relation)
    total = [11] if relation is NeighboringRelation.REPLACE_ONE else []
    by = bins(5)  # 5 and None lie in none
    counts = [3, 1, 2, 1, 4]
    assert Tree(by).compute(table(rows), unit).open() == counts + total
    assert Tree(by, 2, 3).compute(table(rows), unit).open() == [*counts, 4, 3, 4, 7, 4, *total]
    assert Tree(by, 3, 2).compute(table(rows), unit).open() == [*counts, 6, 5, *total]
    assert Haar(by).compute(table(rows), unit).open() == [2, 1, 1, 3, 11]
    assert Haar(bins(1)).compute(table(rows), unit).open() == [3]
    everything = bins(7, other=True, null=True)
    assert Tree(everything, 7, 1).compute(table(rows), unit).open()[:7] == [*counts, 1, 1]
    assert all(type(x) is int for x in Haar(by).compute(table(rows), unit).open())


def contributions(parts: int, unit: PrivacyUnit) -> np.ndarray:
    """All rows of one unit that can count, shape (choices, parts)."""
    k, m, c = unit.rows, unit.groups, unit.rows_per_group
    every = np.array(list(product(range(c + 1), repeat=parts)))
    return every[(every.sum(axis=1) <= k) & (np.count_nonzero(every, axis=1) <= m)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5])
def test_sensitivity_against_all_changes(parts, bounds, relation):
    """Every pair of contents of one unit, by the matrix's columns: never above; attained where all rows may share a part."""
    k, m, c = bounds
    unit = PrivacyUnit("u", k, m, c, relation)
    some = contributions(parts, unit)
    replaced = relation is NeighboringRelation.REPLACE_ONE
    changes = (some[:, None] - some[None]).reshape(-1, parts) if replaced else some
    changes = np.unique(changes, axis=0)
    for statistic in strategies(bins(parts)):
        moved = changes @ matrix(statistic, unit).T  # shape (changes, entries)
        stated = statistic.sensitivity(unit)
        l1, squared, largest = (
            int(x) for x in (np.abs(moved).sum(axis=1).max(), (moved**2).sum(axis=1).max(), np.abs(moved).max())
        )
        assert (l1 <= stated.l1, squared <= stated.l2_squared, largest <= stated.linf) == (True, True, True), statistic
        two_runs = isinstance(statistic, Weighted) or (
            statistic.branching ** (statistic.levels - 1) < parts if isinstance(statistic, Tree) else parts in (2, 4)
        )
        if k == c and two_runs:  # of each length at least, or Haar with a neighbour for every run
            assert (l1, squared) == (stated.l1, stated.l2_squared), statistic


@pytest.mark.parametrize(("relation", "k"), [(r, k) for r in RELATIONS for k in (1, 2)])
def test_known_constants(relation, k):
    """Trees: h levels. Haar: log2 n + 1, under replace-one 2 log2 n and 2 log2 n + 2; k times each for units of k rows."""
    unit = PrivacyUnit("u", k, k, k, relation)
    by, replaced = bins(64), relation is NeighboringRelation.REPLACE_ONE
    tree, haar = Tree(by, 4, 3).sensitivity(unit), Haar(by).sensitivity(unit)
    assert (tree.l1, tree.l2_squared) == ((6 * k, 6 * k * k) if replaced else (3 * k, 3 * k * k))
    assert (haar.l1, haar.l2_squared) == ((12 * k, 14 * k * k) if replaced else (7 * k, 7 * k * k))


VALUES = st.one_of(st.none(), st.sampled_from([float("nan"), float("inf"), -0.5, 4.5]), st.integers(-1, 6))
ROWS = st.tuples(st.just("a"), VALUES)


@settings(max_examples=150, deadline=None)
@given(
    others=st.lists(st.lists(ROWS, max_size=4), max_size=3),
    unit=st.lists(ROWS, max_size=6),
    other=st.lists(ROWS, max_size=6),
    bounds=st.sampled_from(BOUNDS),
    relation=st.sampled_from(RELATIONS),
    more=st.booleans(),
)
def test_units_of_several_rows(others, unit, other, bounds, relation, more):
    """Through the statistic itself, with nulls and rows in no bin; the unit's choice of rows falls alike in both tables."""
    privacy = PrivacyUnit("u", *bounds, relation)
    second = other if relation is NeighboringRelation.REPLACE_ONE else []
    before, after = (
        table([(i, *row) for i, rows in enumerate([[("a", 3)], *others, last]) for row in rows])
        for last in (unit, second)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "keep_at_most", first_of_each)
        for statistic in strategies(bins(7, other=True, null=True) if more else bins(5)):
            one, two = (np.array(statistic.compute(view, privacy).open()) for view in (before, after))
            stated = statistic.sensitivity(privacy)
            assert np.abs(two - one).sum() <= stated.l1
            assert ((two - one) ** 2).sum() <= stated.l2_squared
            assert np.abs(two - one).max() <= stated.linf


def test_weights_that_could_wrap_are_refused():
    by = bins(2)
    for weights in (((1 << 17, 0),), ((0, -(1 << 17)),), ((1, 1),) * 5000):
        with pytest.raises(ValueError, match="weights are of"):
            Weighted(by, weights)
    most = Weighted(by, ((1 << 16, -(1 << 16)),) * 4096)
    s = most.sensitivity(PrivacyUnit(relation=NeighboringRelation.REPLACE_ONE))
    assert (s.l1, s.l2_squared, s.linf) == (4096 << 17, 4096 << 34, 1 << 17)

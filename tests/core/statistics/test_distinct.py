"""Distinct values: by their definition, and no unit moves their number by more than it says."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each
from support.views import ArrayView

from pandas_dp.core import bounding
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.counts import Distinct

CELLS = st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=8)


def number(rows: list[tuple], unit: PrivacyUnit, column: str = "x") -> int:
    view = ArrayView({"u": [owner for owner, _ in rows], "x": [cell for _, cell in rows]})
    (found,) = Distinct(column).compute(view, unit).open()
    return found


@settings(max_examples=300, deadline=None)
@given(
    others=st.lists(CELLS, max_size=3),
    unit=CELLS,
    other=CELLS,
    bounds=st.sampled_from([None, (1, 1, 1), (3, 2, 1), (2, 5, 2), (5, 3, 3)]),
    relation=st.sampled_from(list(NeighboringRelation)),
    column=st.sampled_from("ux"),
)
def test_one_unit(others, unit, other, bounds, relation, column):
    replace = relation is NeighboringRelation.REPLACE_ONE
    if bounds is None:
        privacy = PrivacyUnit(relation=relation)
        base = [(0, cell) for cells in others for cell in cells] + [(0, None)]
        before, after = base + [(1, cell) for cell in unit[:1]], base + [(2, cell) for cell in other[:1] if replace]
    else:
        privacy = PrivacyUnit("u", *bounds, relation)
        base = [(i, cell) for i, cells in enumerate(others) for cell in cells] + [(8, None)]
        before, after = base + [(9, cell) for cell in unit], base + [(9, cell) for cell in other if replace]
    original = bounding.keep_at_most
    bounding.keep_at_most = first_of_each
    try:
        moved = number(before, privacy, column) - number(after, privacy, column)
    finally:
        bounding.keep_at_most = original
    stated = Distinct(column).sensitivity(privacy)
    assert abs(moved) <= stated.l1 == stated.linf
    assert moved**2 <= stated.l2_squared


@pytest.mark.parametrize(("column", "most"), [("x", 3), ("u", 1)])
@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_the_stated_number_is_attained(relation, column, most):
    unit = PrivacyUnit("u", 4, 3, 9, relation)
    base, heavy = [(0, 7)], [(1, cell) for cell in (1, 2, 3, 4, 5)]
    assert number(base + heavy, unit, column) - number(base, unit, column) == most
    assert Distinct(column).sensitivity(unit).l1 == most


def test_each_value_of_a_unit_is_drawn_alike():
    """Two of four values: 600 draws of each value's 1/2 stay within 240..360 but for a chance of 1e-6 times 4."""
    unit, drawn = PrivacyUnit("u", 2, 2, 2), Counter()
    for _ in range(600):
        for cell in range(4):  # a value is among those drawn if leaving it to another unit as well adds nothing
            rows = [(0, 0), (0, 1), (0, 2), (0, 3), (0, 3)]
            drawn[cell] += number([*rows, (1, cell)], unit) == 2
    assert all(235 <= times <= 365 for times in drawn.values())


def test_missing_values_and_owners_do_not_count():
    rows = [(0, 1), (0, None), (None, 5), (1, 1), (1, 2)]
    assert number(rows, PrivacyUnit("u", 9, 9, 9)) == 2
    assert number(rows, PrivacyUnit()) == 3
    assert number(rows, PrivacyUnit("u", 9, 9, 9), "u") == 2
    assert number([(None, None)], PrivacyUnit("u", 9, 9, 9)) == 0

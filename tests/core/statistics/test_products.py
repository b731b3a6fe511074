"""Sums of products: exact by their definition, and no unit moves them by more than they say."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.views import ArrayView

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.products import ONE, ROW_TOTAL, Products, _shares

VALUES = st.one_of(
    st.none(), st.sampled_from([float("nan"), float("inf"), -float("inf"), -0.0, 0.5, -3.0, 5.0]), st.integers(-9, 9)
)
ROWS = st.tuples(VALUES, VALUES, VALUES)
UNITS = st.lists(ROWS, max_size=6)
LATTICES = (
    Lattice.between(Fraction(-3), Fraction(5), 30),
    Lattice(Fraction(1, 7), -21, 56),
    Lattice(Fraction(1, 3), -2, 1),
)


def view(rows: list[tuple]) -> ArrayView:
    """Rows of (unit, x, y, z)."""
    return ArrayView({name: [row[i] for row in rows] for i, name in enumerate("uxyz")})


def products(columns: int) -> Products:
    return Products(tuple("xyz"[:columns]), LATTICES[:columns])


def moved(statistic: Products, before: list[tuple], after: list[tuple], unit: PrivacyUnit) -> list[int]:
    one, two = (statistic.compute(view(rows), unit).open() for rows in (before, after))
    return [b - a for a, b in zip(one, two, strict=True)]


def check(statistic: Products, before: list[tuple], after: list[tuple], unit: PrivacyUnit) -> None:
    change, stated = moved(statistic, before, after, unit), statistic.sensitivity(unit)
    assert sum(map(abs, change)) <= stated.l1
    assert sum(d * d for d in change) <= stated.l2_squared
    assert max(map(abs, change)) <= stated.linf


@settings(max_examples=150, deadline=None)
@given(
    others=st.lists(UNITS, max_size=3),
    unit=UNITS,
    other=UNITS,
    k=st.integers(1, 5),
    columns=st.sampled_from([2, 3]),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_one_unit_of_several_rows(others, unit, other, k, columns, relation):
    second = other if relation is NeighboringRelation.REPLACE_ONE else []
    before, after = (
        [(i, *row) for i, rows in enumerate([*others, unit_]) for row in rows or [(None, None, None)]]
        for unit_ in (unit, second)
    )
    check(products(columns), before, after, PrivacyUnit("u", k, k, k, relation))


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=4),
    row=ROWS,
    other=ROWS,
    columns=st.sampled_from([2, 3]),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_one_row(rows, row, other, columns, relation):
    base = [(0, *r) for r in rows]
    after = [(0, *other)] if relation is NeighboringRelation.REPLACE_ONE else []
    check(products(columns), [*base, (0, *row)], base + after, PrivacyUnit(relation=relation))


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("columns", [2, 3])
def test_the_stated_amounts_are_attained(relation, columns):
    """Halving any of them would fail."""
    k, low, high = 3, (-3, -3, Fraction(-2, 3)), (5, 5, Fraction(-1, 3))
    unit, statistic = PrivacyUnit("u", k, k, k, relation), products(columns)
    replace = relation is NeighboringRelation.REPLACE_ONE
    base, heavy = [(0, 1, 1, 0)], [(1, *map(float, high))] * 5
    change = moved(
        statistic, base + heavy, base + [(1, *map(float, low))] * 5 if replace else [*base, (1, None, None, None)], unit
    )
    stated = statistic.sensitivity(unit)
    assert sum(map(abs, change)) == stated.l1
    assert sum(d * d for d in change) == stated.l2_squared
    assert max(map(abs, change)) == stated.linf


@pytest.mark.parametrize("cells", [1, 2, 3, 1000, 2**20, 2**30, 2**31 - 1, 2**31])
def test_shares_are_not_negative_and_add_up_to_one(cells):
    lattice = Lattice(Fraction(1), 0, cells)
    values = np.unique(np.linspace(0, cells, min(cells, 5000) + 1).astype(np.int64))
    values = np.union1d(values, np.array([0, 1, cells - 1, cells]).clip(0))
    shares = _shares(lattice, values)
    assert (shares >= 0).all()
    assert (shares.sum(axis=0) == ONE).all()
    p = values / cells
    assert np.abs(shares / ONE - np.stack((p**2, (1 - p) ** 2, 2 * p * (1 - p)))).max() <= 1.5 / ONE


@pytest.mark.parametrize("k", [None, 1, 3])
def test_sums_follow_from_their_definition(k):
    """By Python's integers, in more rows than a block holds; units of six rows."""
    n = np.arange(10_000)
    rows = [
        (int(i // 6), (i % 9 - 4) / 0.9, None if i % 11 == 0 else (i * 7 % 13 - 5) / 1.7, float(i % 3))
        for i in n.tolist()
    ]
    statistic = products(3)
    shares = [
        _shares(lattice, np.array([row[1 + j] or 0.0 for row in rows])).astype(np.int64).tolist()
        for j, lattice in enumerate(LATTICES)
    ]
    unit = PrivacyUnit() if k is None else PrivacyUnit("u", k, k, k)
    wanted = []
    for i, j in combinations(range(3), 2):
        units: dict[int, list[list[int]]] = {}
        for place, row in enumerate(rows):
            if None not in row:
                features = [shares[i][a][place] * shares[j][b][place] for a in range(3) for b in range(3)]
                units.setdefault(row[0], []).append(features)
        total = [0] * 9
        for owned in units.values():
            sums = [sum(column) for column in zip(*owned, strict=True)]
            if k is not None and len(owned) > k:
                sums = [k * s // len(owned) for s in sums[:8]]
                sums.append(k * ROW_TOTAL - sum(sums))
            total = [t + s for t, s in zip(total, sums, strict=True)]
        wanted += total
    assert statistic.compute(view(rows), unit).open() == wanted


def test_nothing_wraps():
    """2**16 rows at the ends of the bounds in one unit: sums of 2**76, times k."""
    rows = 1 << 16
    columns = {"u": [0] * rows, "x": [5.0] * rows, "y": [-3.0] * rows}
    statistic = products(2)
    found = statistic.compute(ArrayView(columns), PrivacyUnit()).open()
    assert found[1] == rows * ROW_TOTAL
    assert sum(found) == rows * ROW_TOTAL
    heavy = statistic.compute(ArrayView(columns), PrivacyUnit("u", 10**6, 1, 1)).open()
    assert heavy == found
    assert sum(statistic.compute(ArrayView(columns), PrivacyUnit("u", 10, 10, 10)).open()) == 10 * ROW_TOTAL

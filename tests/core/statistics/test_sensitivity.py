"""No unit moves a statistic by more than it says: both relations, units of several rows, nulls, by part and in all.

Neighbours are coupled: each unit's choice of rows depends on its own rows only, so taking its first rows in order is one
way the random choice can fall, the same in both tables. Whether the real choice is independent is tested with bounding.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each
from support.views import table

from pandas_dp.core import bounding
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Bins, Cross, Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics import blocks as blocks_module
from pandas_dp.core.statistics import distinct
from pandas_dp.core.statistics.blocks import BlockMeans, BlockSums
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.core.statistics.sums import Moments, Total

KEYS = Keys("g", ("a", "b", "c"), other=True, null=True)
BINS = Bins("x", (-2, 0, 1, 5), other=True)
CROSS = Cross((KEYS, Bins("x", (-2, 0, 1, 5), null=True)))
SOME = Cross((Keys("g", ("a", "b", "c")), BINS), (6, 0, 9, 2, 11))
VALUES = st.one_of(
    st.none(), st.sampled_from([float("nan"), float("inf"), -float("inf"), -0.0, 0.5]), st.integers(-9, 9)
)
ROWS = st.tuples(st.sampled_from(["a", "b", "c", "d", None]), VALUES)
UNITS = st.lists(ROWS, max_size=6)


@pytest.fixture(autouse=True)
def coupled(monkeypatch):
    monkeypatch.setattr(bounding, "keep_at_most", first_of_each)
    # a unit's block depends on the unit alone: unit codes are the same in both tables (an emptied unit keeps a null row)
    monkeypatch.setattr(blocks_module, "_random_blocks", lambda count, blocks, fill: np.arange(count) * 7 % 3 % blocks)


def statistics(lattice: Lattice):
    yield RowCounts()
    yield RowCounts("x")
    yield RowCounts(by=KEYS)
    yield RowCounts("x", by=KEYS)
    yield RowCounts(by=BINS)
    yield RowCounts(by=CROSS)
    yield RowCounts("x", by=SOME)
    yield Total("x", lattice)
    yield Total("x", lattice, by=KEYS)
    yield Total("x", lattice, by=SOME)
    for degree in (1, 2) if lattice.cells <= 1 << 22 else (1,):
        yield Moments("x", lattice, degree)
        yield Moments("x", lattice, degree, by=KEYS)
        yield Moments("x", lattice, degree, by=CROSS)
    yield BlockSums(BlockMeans("x", lattice, KEYS, 3))


LATTICES = [
    Lattice.between(Fraction(-3), Fraction(5), 4),
    Lattice.between(Fraction(2), Fraction(7), 30),
    Lattice.between(Fraction(-7), Fraction(-2), 3),
    Lattice(Fraction(1), 0, 4),
    Lattice(Fraction(1, 3), -2, 1),
]
BOUNDS = [(1, 1, 1), (2, 2, 2), (3, 1, 3), (3, 2, 2), (4, 2, 3), (5, 3, 1)]


def rows_of(units: list[list[tuple]]) -> list[tuple]:
    return [(i, *row) for i, unit in enumerate(units) for row in (unit or [(None, None)])]


def change(statistic, view, other, unit):
    """Exact vectors of both tables, as Python ints."""
    one, two = (statistic.compute(v, unit).open() for v in (view, other))
    return [b - a for a, b in zip(one, two, strict=True)]


def check(statistic, before, after, unit):
    moved = change(statistic, table(before), table(after), unit)
    s = statistic.sensitivity(unit)
    assert sum(map(abs, moved)) <= s.l1
    assert sum(d * d for d in moved) <= s.l2_squared
    assert max(map(abs, moved)) <= s.linf or isinstance(statistic, Moments | BlockSums)
    if s.range is not None:
        assert max(moved) - min(moved) <= s.range


@settings(max_examples=120, deadline=None)
@given(
    others=st.lists(UNITS, max_size=3),
    unit=UNITS,
    other=UNITS,
    lattice=st.sampled_from(LATTICES),
    bounds=st.sampled_from(BOUNDS),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_units_of_several_rows(others, unit, other, lattice, bounds, relation):
    k, m, c = bounds
    privacy = PrivacyUnit("u", k, m, c, relation)
    second = other if relation is NeighboringRelation.REPLACE_ONE else []
    before, after = rows_of([*others, unit]), rows_of([*others, second])
    for statistic in statistics(lattice):
        # an absent unit and one whose only row is null in every column count alike, except in Count() of all rows
        if statistic in (RowCounts(), RowCounts(by=KEYS), RowCounts(by=BINS), RowCounts(by=CROSS)):
            before_, after_ = ([r for r in t if r[1:] != (None, None)] for t in (before, after))
            if not before_ or not after_:
                continue
            check(statistic, before_, after_, privacy)
        else:
            check(statistic, before, after, privacy)


@settings(max_examples=120, deadline=None)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=5),
    row=ROWS,
    other=ROWS,
    lattice=st.sampled_from(LATTICES),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_units_of_one_row(rows, row, other, lattice, relation):
    privacy = PrivacyUnit(relation=relation)
    base = [(0, *r) for r in rows]
    after = [(0, *other)] if relation is NeighboringRelation.REPLACE_ONE else []
    for statistic in statistics(lattice):
        check(statistic, [*base, (0, *row)], base + after, privacy)


@settings(max_examples=150, deadline=None)
@given(
    others=st.lists(UNITS, max_size=3),
    unit=UNITS,
    other=UNITS,
    bounds=st.sampled_from(BOUNDS),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_lattice_counts_move_every_rank_by_at_most_k(others, unit, other, bounds, relation):
    k, m, c = bounds
    privacy = PrivacyUnit("u", k, m, c, relation)
    lattice = Lattice(Fraction(1), -4, 8)
    statistic = LatticeCounts("x", lattice)
    second = other if relation is NeighboringRelation.REPLACE_ONE else []
    ranks = []
    for rows in (rows_of([*others, unit]), rows_of([*others, second])):
        (points,) = statistic.compute(table(rows), privacy).open()
        counts = np.zeros(9, dtype=int)
        counts[points.offsets] = points.counts
        ranks.append(np.cumsum(counts))
    moved = ranks[1] - ranks[0]
    s = statistic.sensitivity(privacy)
    assert np.abs(moved).max() <= s.linf == k
    assert moved.max() - moved.min() <= s.score_range
    if privacy.add_remove:
        assert s.score_range == k
        assert (moved >= 0).all() or (moved <= 0).all()


def tightest(make, lattice, privacy, before, after):
    statistic = make(lattice)
    moved = change(statistic, table(before), table(after), privacy)
    return sum(map(abs, moved)), statistic.sensitivity(privacy).l1


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_sensitivities_are_attained(relation):
    """Halving any of them would fail: a pair of tables moves the statistic by exactly the stated amount."""
    lattice = Lattice(Fraction(1), -4, 8)
    k = 3
    privacy = PrivacyUnit("u", k, 2, 2, relation)
    replace = relation is NeighboringRelation.REPLACE_ONE
    heavy = [(1, "a", 4)] * 2 + [(1, "b", 4)] * 2
    other = [(1, "c", -4)] * 2 + [(1, "d", -4)] * 2 if replace else [(1, None, None)]
    base = [(0, "a", 1)]
    for make in (
        lambda g: RowCounts("x"),
        lambda g: RowCounts("x", by=KEYS),
        lambda g: Total("x", g),
        lambda g: Total("x", g, by=KEYS),
        lambda g: Moments("x", g, 1),
        lambda g: Moments("x", g, 2),
        lambda g: Moments("x", g, 1, by=KEYS),
    ):
        after = [(1, None, None)] if isinstance(make(lattice), RowCounts) and make(lattice).by is None else other
        moved, stated = tightest(make, lattice, privacy, base + heavy, base + after)
        assert moved == stated, (make(lattice), moved, stated)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("cells", [10, 11])
def test_a_row_moves_a_block_mean_by_half_the_bounds(relation, cells):
    """All tables of up to three rows at the ends and the middle, one block a group: near the stated amount, never above."""
    lattice, unit = Lattice(Fraction(1), 0, cells), PrivacyUnit(relation=relation)
    statistic = BlockSums(BlockMeans("x", lattice, Keys("g", ("a", "b")), 1))
    stated, largest = statistic.sensitivity(unit), 0
    ends = [(g, x) for g in "ab" for x in (0, cells // 2, cells)]
    for n in range(3):
        for rows in combinations_with_replacement(ends, n):
            base = [(0, *row) for row in rows]
            for row in ends:
                for other in ends if relation is NeighboringRelation.REPLACE_ONE else [None]:
                    after = base if other is None else [*base, (0, *other)]
                    moved = change(statistic, table([*base, (0, *row)]), table(after or [(0, None, None)]), unit)
                    assert sum(map(abs, moved)) <= stated.l1
                    assert sum(d * d for d in moved) <= stated.l2_squared
                    largest = max(largest, sum(map(abs, moved)))
    assert largest >= 0.8 * stated.l1


def test_clipping_the_halves_of_a_mean_apart_would_break_the_bound():
    """The broken twin: a unit with 2k rows, half at each bound, moves (F1, F2) clipped apart by 2 k M, not k M."""
    lattice = Lattice(Fraction(1), 0, 10)
    privacy = PrivacyUnit("u", 2, 2, 2)
    statistic = Moments("x", lattice, 1)
    unit = [(1, "a", 0), (1, "a", 0), (1, "a", 10), (1, "a", 10)]
    honest = change(statistic, table([(0, "a", 5)]), table([(0, "a", 5), *unit]), privacy)
    assert sum(map(abs, honest)) == statistic.sensitivity(privacy).l1 == 20
    offsets = np.array([0, 0, 10, 10])
    clipped_apart = [min(offsets.sum(), 20), min((10 - offsets).sum(), 20)]
    assert sum(clipped_apart) == 40


@pytest.mark.parametrize(
    ("relation", "sides"), [(NeighboringRelation.ADD_REMOVE, 1), (NeighboringRelation.REPLACE_ONE, 2)]
)
def test_a_unit_counts_once_in_each_of_its_parts_where_units_are_counted(relation, sides):
    """So the noise of units by group follows from the groups of a unit, not from its rows: half to a tenth of what it was."""
    by = Keys("g", ("a", "b", "c"))
    unit = PrivacyUnit("u", rows=10, groups=2, rows_per_group=10, relation=relation)
    own, other = (distinct.DistinctBy(column, by).sensitivity(unit) for column in ("u", "x"))
    most = min(2 * sides, 3)  # of three parts each moves by one at most
    assert (own.l1, own.l2_squared, own.linf) == (most, most, 1)
    assert (other.l1, other.linf) == (10 * sides, 10)
    one = PrivacyUnit("u", rows=1, groups=1, rows_per_group=1, relation=relation)
    assert distinct.DistinctBy("u", by).sensitivity(one).l1 == sides


@pytest.mark.parametrize("relation", [NeighboringRelation.ADD_REMOVE, NeighboringRelation.REPLACE_ONE])
def test_units_by_group_move_by_the_number_of_parts_at_most(relation):
    """Two keys are listed and a unit may be in ten groups: the noise is that of two, under either relation, and is needed."""
    by = Keys("g", ("a", "b"))
    unit = PrivacyUnit("u", rows=10, groups=10, rows_per_group=10, relation=relation)
    statistic = distinct.DistinctBy("u", by)
    stated = statistic.sensitivity(unit)
    assert (stated.l1, stated.l2_squared, stated.linf) == (2, 2, 1)
    without, others = table([(0, "a", 5)]), [(1, "a", 0), (1, "b", 0), (1, "c", 0), (1, "a", 9)]
    left = [] if relation is NeighboringRelation.ADD_REMOVE else [(1, "c", 0)]
    moved = change(statistic, table([(0, "a", 5), *left]) if left else without, table([(0, "a", 5), *others]), unit)
    assert sum(map(abs, moved)) == stated.l1
    assert distinct.DistinctBy("x", by).sensitivity(unit).l1 == 10 * (1 if unit.add_remove else 2)

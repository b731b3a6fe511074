"""No unit moves counts by found keys by more than they say: both relations, units of several rows, nulls, units and rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each
from support.views import table

from pandas_dp.core import bounding
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.counts import WHOLE, KeyCounts

ROWS = st.tuples(st.sampled_from(["a", "b", "c", "d", "e", None]), st.sampled_from([None, 1, 2]))
UNITS = st.lists(ROWS, max_size=6)
BOUNDS = [(1, 1, 1), (2, 2, 2), (3, 1, 3), (3, 2, 2), (4, 2, 3), (5, 3, 1), (4, 4, 4)]
STATISTICS = [
    KeyCounts(("g",)),
    KeyCounts(("g",), "x"),
    KeyCounts(("g",), distinct=True),
    KeyCounts(("g",), distinct=True, shared=True),
    KeyCounts(("g", "x")),
    KeyCounts(("x", "g", "u"), "x"),
    KeyCounts(("g", "x"), distinct=True),
    KeyCounts(("g", "x"), distinct=True, shared=True),
    KeyCounts((Keys("g", ("a", "c"), other=True), "x")),
    KeyCounts(("g", Bins("x", (0, 2))), distinct=True),
]
CONVEX = [lambda v, c: 1.0, lambda v, c: v / c, lambda v, c: math.exp(v / c), lambda v, c: math.exp(9 * (v / c - 1))]


@pytest.fixture(autouse=True)
def coupled(monkeypatch):
    monkeypatch.setattr(bounding, "keep_at_most", first_of_each)


def counts_of(statistic: KeyCounts, rows: list[tuple], unit: PrivacyUnit) -> dict[str, int]:
    counts, names = statistic.compute(table(rows or [(None, None, None)]), unit).open()
    keys = [key[0] if len(key) == 1 else tuple(key) for key in names(np.arange(len(counts)))]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, counts, strict=True))


def check(statistic: KeyCounts, before: list[tuple], after: list[tuple], unit: PrivacyUnit) -> None:
    stated = statistic.sensitivity(unit)
    one, two = (counts_of(statistic, rows, unit) for rows in (before, after))
    assert all(n > 0 for n in (*one.values(), *two.values()))
    moved = [two.get(key, 0) - one.get(key, 0) for key in {*one, *two}]
    assert sum(map(abs, moved)) <= stated.l1
    assert sum(d * d for d in moved) <= stated.l2_squared
    assert max(map(abs, moved), default=0) <= stated.linf
    assert sum(d != 0 for d in moved) <= stated.touched
    for alone in ([two[key] for key in two.keys() - one.keys()], [one[key] for key in one.keys() - two.keys()]):
        assert max(alone, default=0) <= stated.linf
        for q in CONVEX:
            together = max(sum(n * q(v, stated.linf) for n, v in content) for content in stated.contents)
            assert sum(q(v, stated.linf) for v in alone) <= together * (1 + 1e-12)


@settings(max_examples=300, deadline=None)
@given(
    others=st.lists(UNITS, max_size=3),
    unit=UNITS,
    other=UNITS,
    bounds=st.sampled_from(BOUNDS),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_units_of_several_rows(others, unit, other, bounds, relation):
    privacy = PrivacyUnit("u", *bounds, relation)
    second = other if relation is NeighboringRelation.REPLACE_ONE else []
    ahead = [(i, *row) for i, rows in enumerate(others) for row in rows]
    before, after = ([*ahead, *((9, *row) for row in rows)] for rows in (unit, second))
    for statistic in STATISTICS:
        check(statistic, before, after, privacy)


@settings(max_examples=200, deadline=None)
@given(others=st.lists(ROWS, max_size=5), row=ROWS, other=ROWS, relation=st.sampled_from(list(NeighboringRelation)))
def test_rows_as_units(others, row, other, relation):
    after = [*others, other] if relation is NeighboringRelation.REPLACE_ONE else others
    for statistic in STATISTICS:
        tables = ([(i, *r) for i, r in enumerate(rows)] for rows in ([*others, row], after))
        check(statistic, *tables, PrivacyUnit(relation=relation))


def test_the_bounds_are_reached():
    """A twin that states less is found by some unit."""
    unit = PrivacyUnit("u", 5, 3, 2, NeighboringRelation.REPLACE_ONE)
    before = [(9, key, 1) for key in "aabbc"]
    after = [(9, key, 1) for key in "ddeef"]
    for statistic, l1, squared, contents in [
        (KeyCounts(("g",)), 10, 18, (((2, 2), (1, 1)),)),
        (KeyCounts(("g",), distinct=True), 6, 6, (((3, 1),),)),
    ]:
        one, two = (counts_of(statistic, table_, unit) for table_ in (before, after))
        stated = statistic.sensitivity(unit)
        assert sum(one.values()) + sum(two.values()) == l1 == stated.l1
        assert sum(n * n for n in (*one.values(), *two.values())) == squared == stated.l2_squared
        assert stated.contents == contents
        assert sorted(one.values()) == sorted(v for n, v in contents[0] for _ in range(n))
        assert max(one.values()) == stated.linf


def test_units_share_what_they_count():
    """The L2 norm is that of a unit in one key, whatever their number, up to what is cut to integers; likewise of rows."""
    for m in (1, 2, 3, 5, 40):
        rows = [(9, f"k{i:02d}", 1) for i in range(m)]
        unit, shares = PrivacyUnit("u", 40, 40, 1), KeyCounts(("g",), distinct=True, shared=True)
        counts = counts_of(shares, [*rows, (8, "k00", 1), *rows], unit)
        w, stated = math.isqrt(WHOLE**2 // m), shares.sensitivity(unit)
        assert counts.pop("k00") == w + WHOLE
        assert set(counts.values()) <= {w}
        assert stated.l2_squared * (1 - 1e-5) <= m * w**2 <= stated.l2_squared == WHOLE**2
        if m == 40:
            assert stated.l1 * (1 - 1e-5) <= m * w <= stated.l1
    assert counts_of(shares, [(8, "a", 1), (9, "a", 1)], PrivacyUnit()) == {"a": 2 * WHOLE}
    assert shares.sensitivity(PrivacyUnit()).linf == WHOLE


def test_combinations_reach_the_bounds_too():
    """Combinations that share a cell are different keys, also where each column alone has but two."""
    unit = PrivacyUnit("u", 5, 3, 2, NeighboringRelation.REPLACE_ONE)
    before = [(9, "a", 1), (9, "a", 1), (9, "b", 1), (9, "b", 1), (9, "a", 2)]
    after = [(9, "c", 1), (9, "c", 1), (9, "b", 2), (9, "b", 2), (9, "c", 2)]
    for statistic, total, keys in [(KeyCounts(("g", "x")), 10, 6), (KeyCounts(("x", "g"), distinct=True), 6, 6)]:
        one, two = (counts_of(statistic, table_, unit) for table_ in (before, after))
        assert not one.keys() & two.keys()
        assert len(one) + len(two) == keys == statistic.sensitivity(unit).touched
        assert sum(one.values()) + sum(two.values()) == total == statistic.sensitivity(unit).l1


def test_a_twin_that_bounds_units_by_column_is_caught():
    """Three keys of one column are nine combinations with three of another: it is combinations that are bounded."""
    unit = PrivacyUnit("u", 9, 3, 3)
    rows = [(9, g, x) for g in "abc" for x in (1, 2, 3)]
    statistic = KeyCounts(("g", "x"), distinct=True)
    assert len(counts_of(statistic, rows, unit)) == 3 == statistic.sensitivity(unit).touched
    kept = counts_of(KeyCounts(("g",), distinct=True), rows, unit)
    unbounded = counts_of(statistic, [row for row in rows if row[1] in kept], PrivacyUnit("u", 9, 9, 3))
    assert len(unbounded) > statistic.sensitivity(unit).touched


def test_rows_without_a_key_or_part_in_one_column_count_nowhere():
    rows = [(1, "a", 1), (2, "a", 1), (3, None, 1), (4, "a", None), (5, None, None), (6, "b", 3), (None, "b", 3)]
    assert counts_of(KeyCounts(("g", "x")), rows, PrivacyUnit()) == {("a", 1): 2, ("b", 3): 2}
    assert counts_of(KeyCounts(("x", "g")), rows, PrivacyUnit("u", 1, 1, 1)) == {(1, "a"): 2, (3, "b"): 1}
    listed = KeyCounts((Keys("g", ("b", "a")), "x"))
    assert counts_of(listed, rows, PrivacyUnit()) == {(1, 1): 2, (0, 3): 2}
    assert counts_of(KeyCounts((Keys("g", ("b",)), "x")), rows, PrivacyUnit()) == {(0, 3): 2}
    assert counts_of(KeyCounts(("g", Bins("x", (0, 2)))), rows, PrivacyUnit()) == {("a", 0): 2}


def test_units_are_counted_once_and_not_rows():
    rows = [(1, "a", 0)] * 4 + [(2, "a", 0), (2, "b", None), (None, "a", 0), (3, None, 0)]
    unit = PrivacyUnit("u", 4, 2, 3)
    assert counts_of(KeyCounts(("g",), distinct=True), rows, unit) == {"a": 2, "b": 1}
    assert counts_of(KeyCounts(("g",)), rows, unit) == {"a": 4, "b": 1}
    assert counts_of(KeyCounts(("g",), "x"), rows, unit) == {"a": 4}
    assert counts_of(KeyCounts(("g",)), rows, PrivacyUnit()) == {"a": 6, "b": 1}
    assert counts_of(KeyCounts(("g",)), [], unit) == {}

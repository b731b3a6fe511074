"""Counts by condition: how far one unit moves them, in which direction, under both relations."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
from support.views import table

from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.scores import CountWhere, DistanceFrom

ADD_REMOVE, REPLACE_ONE = NeighboringRelation
CONDITIONS = [
    lambda row: row["x"] is not None and row["x"] > 1,
    lambda row: None if row["x"] is None else row["x"] < 2,
    lambda row: True,
    lambda row: row["g"] == "a",
    lambda row: row["x"] is None,
]
NOBODY = (None, None, None)  # counts for no unit; keeps an empty table a table
cells = st.tuples(st.sampled_from([0.0, 1.0, 2.0, None]), st.sampled_from("ab"))


def rows_of(owner, contents):
    return [(owner, g, x) for x, g in contents]


def counts(rows, unit):
    view = table([NOBODY, *rows]) if unit.column else table(rows)
    return [CountWhere(condition).compute(view, unit).open()[0] for condition in CONDITIONS]


contents = st.lists(cells, max_size=4)


@settings(max_examples=150, deadline=None)
@given(contents, contents, contents, st.integers(1, 3))
def test_units_of_several_rows(rest, old, new, k):
    unit = PrivacyUnit("u", k, k, k)
    others = rows_of("other", rest) + rows_of(None, rest[:1])
    without, one, two = (counts(others + rows_of("z", mine), unit) for mine in ([], old, new))
    declared = CountWhere(CONDITIONS[0]).sensitivity(unit)
    assert declared.rising
    assert all(0 <= b - a <= declared.linf == k for a, b in zip(without, one, strict=True))
    replaced = CountWhere(CONDITIONS[0]).sensitivity(PrivacyUnit("u", k, k, k, REPLACE_ONE))
    assert not replaced.rising
    assert all(abs(a - b) <= replaced.linf == k for a, b in zip(one, two, strict=True))


@settings(max_examples=100, deadline=None)
@given(st.lists(cells, min_size=1, max_size=4), cells, cells)
def test_rows(rest, old, new):
    before, one, two = (counts(rows_of(None, mine), PrivacyUnit()) for mine in (rest, [*rest, old], [*rest, new]))
    assert all(0 <= b - a <= 1 for a, b in zip(before, one, strict=True))
    assert all(abs(a - b) <= 1 for a, b in zip(one, two, strict=True))


def test_replacing_a_row_moves_counts_both_ways():
    """So none of them may be called rising then."""
    one, two = (counts([(None, g, x)], PrivacyUnit(relation=REPLACE_ONE)) for g, x in (("a", 0.0), ("b", 2.0)))
    assert {b - a for a, b in zip(one, two, strict=True)} >= {-1, 1}


@settings(max_examples=100, deadline=None)
@given(contents, contents, st.integers(1, 3), st.integers(-3, 6))
def test_distances_move_as_far_as_counts_in_either_direction(rest, mine, k, expected):
    unit = PrivacyUnit("u", k, k, k)
    others = rows_of("other", rest)
    for condition in CONDITIONS:
        look = DistanceFrom(CountWhere(condition), expected)
        values = [look.compute(table([NOBODY, *others, *more]), unit).open()[0] for more in ([], rows_of("z", mine))]
        assert abs(values[1] - values[0]) <= look.sensitivity(unit).linf == k
        assert not look.sensitivity(unit).rising
    assert look.compute(table([NOBODY]), unit).open() == [abs(expected)]


def test_rows_count_where_the_condition_is_true_not_where_it_is_missing():
    view = table([(0, "a", 1.0), (0, "b", None), (0, "a", 3.0)])
    assert counts([(0, "a", 1.0), (0, "b", None), (0, "a", 3.0)], PrivacyUnit()) == [1, 1, 3, 2, 1]
    assert CountWhere(CONDITIONS[1]).compute(view, PrivacyUnit("u", 1, 1, 1)).open() == [1]


def test_public_arguments_alone_are_kept():
    assert pickle.loads(pickle.dumps(DistanceFrom(CountWhere("x"), 3))) == DistanceFrom(CountWhere("x"), 3)

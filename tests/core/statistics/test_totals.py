"""A sum counts the total of each unit, cut: as it is defined, in all and by part, and no unit moves it farther than is stated.

A unit is one of `unit.rows` rows at most, in `unit.groups` parts, `unit.rows_per_group` in each: k, m and c below.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.views import table

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.sums import Total

KEYS = Keys("g", ("a", "b", "c"))
SIGNED, MOSTLY_ABOVE, ABOVE, BELOW, FAR = (
    Lattice(Fraction(1), low, cells) for low, cells in ((-2, 4), (-1, 3), (1, 2), (-3, 2), (1 << 50, 4))
)
BOUNDS = [(1, 1, 1), (2, 2, 2), (3, 1, 3), (3, 2, 2), (4, 2, 3), (5, 3, 1), (3, 3, 3)]
ADD, REPLACE = NeighboringRelation


def by_definition(units, lattice, unit, keys=KEYS.keys):
    """Totals of units, lists of rows (key, offset or None), by part: in Python integers and fractions."""
    k, c = unit.rows, min(unit.rows, unit.rows_per_group)
    a, b = lattice.low, lattice.low + lattice.cells
    most = unit.rows_in_parts * max(abs(a), abs(b))
    total = dict.fromkeys(keys, 0)
    for rows in units:
        own = {key: sum(a + v for g, v in rows if g == key and v is not None) for key in keys}
        own = {key: min(max(t, c * min(a, 0)), c * max(b, 0)) for key, t in own.items()}
        size = sum(map(abs, own.values()))
        for key, t in own.items():
            total[key] += int(Fraction(t * most, size)) if size > most else t  # int() cuts towards 0
    alone = [sum(a + v for g, v in rows if v is not None) for rows in units]
    return [*total.values()], sum(min(max(t, k * min(a, 0)), k * max(b, 0)) for t in alone)


def computed(units, lattice, unit, by=KEYS):
    rows = [(i, g, None if v is None else lattice.low + v) for i, own in enumerate(units) for g, v in own]
    return Total("x", lattice, by).compute(table(rows or [(0, None, None)]), unit).open()


ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", "d", None]), st.none() | st.integers(0, 2)), max_size=7)


@settings(max_examples=150, deadline=None)
@given(
    units=st.lists(ROWS, max_size=4),
    lattice=st.sampled_from([SIGNED, MOSTLY_ABOVE, ABOVE, BELOW, FAR]),
    bounds=st.sampled_from(BOUNDS),
)
def test_it_is_what_it_is_said_to_be(units, lattice, bounds):
    """Also where 64 bits hold no product of two rows."""
    unit = PrivacyUnit("u", *bounds)
    units = [own or [(None, None)] for own in units]
    by_part, alone = by_definition(units, lattice, unit)
    assert computed(units, lattice, unit) == by_part
    assert computed(units, lattice, unit, None) == [alone]


def moves(lattice, unit, clipped=by_definition):
    """Largest L1, squared L2 and largest entry by which one unit with up to four rows moves the parts: all units, all pairs."""
    cells = [*product(KEYS.keys, range(lattice.cells + 1))]
    contents = [rows for n in range(5) for rows in combinations_with_replacement(cells, n)]
    found = np.array([clipped([rows], lattice, unit)[0] for rows in contents])
    found = np.unique(
        found, axis=0
    )  # shape (different contributions, parts); the first two axes below are pairs of them
    change = found[:, None] - (found if unit.relation is REPLACE else np.zeros((1, 3), int))
    return (
        np.abs(change).sum(axis=-1).max(),
        (change**2).sum(axis=-1).max(),
        np.abs(change).max(),
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("lattice", [SIGNED, MOSTLY_ABOVE, ABOVE, BELOW], ids=str)
def test_no_unit_in_several_parts_moves_it_farther_than_is_stated(lattice, bounds, relation):
    """In up to three parts, with signs that differ among them."""
    unit = PrivacyUnit("u", *bounds, relation)
    stated = Total("x", lattice, KEYS).sensitivity(unit)
    l1, l2_squared, linf = moves(lattice, unit)
    assert l1 <= stated.l1
    assert l2_squared <= stated.l2_squared
    assert linf <= stated.linf
    if bounds[0] <= 2:  # of up to four rows each of these can be full on both sides
        assert l1 == stated.l1
        assert l2_squared >= 0.8 * stated.l2_squared


def each_part_alone(units, lattice, unit):
    """The broken twin: parts are cut, what they add up to is not."""
    c, (a, b) = min(unit.rows, unit.rows_per_group), (lattice.low, lattice.low + lattice.cells)
    own = [sum(a + v for g, v in units[0] if g == key) for key in KEYS.keys]
    return [min(max(t, c * min(a, 0)), c * max(b, 0)) for t in own], None


def rounded_up(units, lattice, unit):
    """Another: entries made smaller are rounded away from 0."""
    exact, _ = each_part_alone(units, lattice, unit)
    most, size = unit.rows_in_parts * max(abs(lattice.low), abs(lattice.low + lattice.cells)), sum(map(abs, exact))
    return [-(-abs(t) * most // size) * (1 if t > 0 else -1) if size > most else t for t in exact], None


@pytest.mark.one_in(2)
@pytest.mark.parametrize("twin", [each_part_alone, rounded_up])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_broken_twins_move_farther(twin, relation):
    for bounds in ((3, 1, 3), (1, 1, 1), (2, 2, 2)):
        unit = PrivacyUnit("u", *bounds, relation)
        assert moves(SIGNED, unit)[0] <= Total("x", SIGNED, KEYS).sensitivity(unit).l1 < moves(SIGNED, unit, twin)[0]


@settings(max_examples=60, deadline=None)
@given(units=st.lists(ROWS, max_size=4), k=st.integers(1, 5), lattice=st.sampled_from([ABOVE, BELOW]))
def test_parts_add_up_to_the_whole(units, k, lattice):
    """Of values of one sign, where the parts hold all rows and c = m = k: but for what is rounded, a step a part and unit."""
    units = [[(g or "a", v) for g, v in own if g != "d"] for own in units]
    by_part, alone = by_definition(units, lattice, PrivacyUnit("u", k, k, k))
    assert abs(sum(by_part) - alone) <= sum(len({g for g, _ in own}) for own in units)


def test_of_light_rows_more_count_than_are_kept():
    """Ten rows of a tenth of the bounds are worth one row: nothing is left out, where one row of them would have been."""
    lattice, unit = Lattice(Fraction(1), 0, 10), PrivacyUnit("u", 1, 1, 1)
    assert computed([[("abc"[i % 3], 1) for i in range(10)]], lattice, unit) == [4, 3, 3]

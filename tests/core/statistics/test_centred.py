"""Centred sums move by no more than is stated, for all pairs of rows of small lattices, and by more in groups."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.views import table

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.sums import Centred, Moments

REPLACE = NeighboringRelation.REPLACE_ONE
ROW = PrivacyUnit(relation=REPLACE)


def exact(statistic, values, unit=ROW):
    return statistic.compute(table([(0, "a", v) for v in values]), unit).open()


def moved(statistic):
    """Changes of one row into any other, or into none, shape (pairs, numbers): all rows of the lattice."""
    rows = np.array([exact(statistic, [v]) for v in [None, *range(statistic.moments.lattice.cells + 1)]], dtype=object)
    return (rows[:, None] - rows).reshape(-1, rows.shape[1])


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 8, 9, 16, 31, 64])
@pytest.mark.parametrize("weights", [(1, 0), (1, 1), (7, 12), None])
def test_all_pairs_of_rows(cells, weights):
    moments = Moments("x", Lattice(Fraction(1), 0, cells), 1 if weights else 2)
    statistic = Centred(moments, weights or (1, 0))
    stated, change = statistic.sensitivity(ROW), moved(statistic)
    l1, l2_squared = np.abs(change).sum(axis=1).max(), (change**2).sum(axis=1).max()
    assert l1 <= stated.l1
    assert l2_squared <= stated.l2_squared
    assert np.abs(change).max() <= stated.linf
    if weights:
        assert (l1, l2_squared) == (stated.l1, stated.l2_squared)
    else:  # nothing is rounded on lattices of so few cells: the bound of the notes without its 4, which is met
        assert l1 <= 9 * moments.row_total // 4
        assert cells not in (4, 8, 16, 64) or l1 == 9 * moments.row_total // 4
        assert l2_squared == 4 * moments.row_total**2


def test_rounded_squares_stay_within_what_is_stated():
    """On the finest lattice: rows about those that move it farthest, at both ends and in the middle."""
    cells = (1 << 30) + 7
    statistic = Centred(Moments("x", Lattice(Fraction(1), 0, cells), 2))
    near = [abs(cells * at // 8 + more) for at in range(9) for more in (-2, -1, 0, 1, 2)]
    rows = [exact(statistic, [min(v, cells)]) for v in near] + [[0, 0]]
    largest = max(sum(abs(a - b) for a, b in zip(one, two, strict=True)) for one, two in product(rows, rows))
    stated = statistic.sensitivity(ROW).l1
    assert stated - 8 <= largest <= stated
    assert all(abs(q - Fraction(s * s, statistic.moments.row_total)) <= 2 for s, q in rows)


def test_a_heavy_unit_counts_as_many_rows_as_may():
    """Scaled as a whole: five rows of which three count, at their mean."""
    lattice = Lattice(Fraction(1), 0, 10)
    statistic, unit = Centred(Moments("x", lattice, 1), (1, 1)), PrivacyUnit("u", 3, 3, 3, REPLACE)
    assert exact(statistic, [10] * 5, unit) == [30, 30]
    assert exact(statistic, [0, 10, 0, 10, 5], unit) == [0, 30]
    assert exact(statistic, [10, None], unit) == [10, 10]


def test_in_groups_it_is_refused():
    with pytest.raises(ValueError, match="twice as far"):
        Centred(Moments("x", Lattice(Fraction(1), 0, 10), 1, Keys("g", ("a", "b"))), (1, 1))


def test_and_would_move_twice_as_far():
    """The broken twin: a row at the upper end that changes its group moves four numbers by T each."""
    lattice, by = Lattice(Fraction(1), 0, 10), Keys("g", ("a", "b"))
    grouped = Moments("x", lattice, 1, by)
    both = []
    for key in "ab":
        f = grouped.compute(table([(0, key, 10)]), ROW).open()
        both.append([x for at in (0, 2) for x in (f[at] - f[at + 1], f[at] + f[at + 1])])
    change = sum(abs(a - b) for a, b in zip(*both, strict=True))
    assert change == 2 * Centred(Moments("x", lattice, 1), (1, 1)).sensitivity(ROW).l1
    assert change > grouped.sensitivity(ROW).l1


def test_squares_of_units_are_refused():
    with pytest.raises(ValueError, match="no rows"):
        Centred(Moments("x", Lattice(Fraction(1), 0, 10), 2)).sensitivity(PrivacyUnit("u", 2, 2, 2, REPLACE))

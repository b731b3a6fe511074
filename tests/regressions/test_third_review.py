"""What a reviewer found in trimmed means, spanning trees, accountants, plans and previews."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np

from pandas_dp.core.plans import Plan
from pandas_dp.core.statistics.spanning_tree import Edges, Search


def test_probabilities_that_floats_cannot_hold_are_no_zeros():
    """All of 10,000 signs agree with probability 2**-10000: a promise of delta = 0 below the sum is not kept."""
    plan = Plan([(F(1, 1000), 10_000)])
    assert 0 < plan.delta(9.99) <= 1e-290
    assert plan.delta(10.001) == 0
    assert plan.beside(F(999, 100), F(1, 10**400)) is None
    assert plan.beside(F(11), F(1, 10**400)) <= 1


def test_trees_of_units_of_any_size():
    """A product of a distance and the rows of a unit wrapped around from 2**39 rows on, and the noise all but vanished."""
    edges = Edges(np.array([1, 2, 5]), np.array([5, 7, 1 << 23]))
    found = {Search(edges, 3, 1 << 24, rows, F(1, 10)).smooth() for rows in (10, 10**9, 1 << 40, 1 << 62)}
    assert len(found) == 1

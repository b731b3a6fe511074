"""What a reviewer found in trimmed means, spanning trees, accountants, plans and previews."""

from __future__ import annotations

from fractions import Fraction as F

from pandas_dp.core.plans import Plan


def test_probabilities_that_floats_cannot_hold_are_no_zeros():
    """All of 10,000 signs agree with probability 2**-10000: a promise of delta = 0 below the sum is not kept."""
    plan = Plan([(F(1, 1000), 10_000)])
    assert 0 < plan.delta(9.99) <= 1e-290
    assert plan.delta(10.001) == 0
    assert plan.beside(F(999, 100), F(1, 10**400)) is None
    assert plan.beside(F(11), F(1, 10**400)) <= 1

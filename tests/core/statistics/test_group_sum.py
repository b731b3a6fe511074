"""Sums by group are exact, also where float64 would round them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.features import features
from support.views import ArrayView

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.sums import Moments, Total, group_sum


@pytest.mark.parametrize("bits", [20, 40, 44, 52, 61])
@pytest.mark.parametrize("groups", [1, 3, 2000])
def test_they_are_those_of_python(bits, groups):
    rows = 5000
    largest = (1 << bits) - 1
    values = largest - np.arange(rows, dtype=np.int64) % 7 * 2  # odd, so that a rounded sum differs
    codes = np.arange(rows) % groups
    exact = [0] * groups
    for code, value in zip(codes.tolist(), values.tolist(), strict=True):
        exact[code] += value
    assert group_sum(values, codes, groups, largest).tolist() == exact


def test_products_of_a_heavy_unit_do_not_wrap():
    """100,000 rows at the upper bound, or in the middle, scaled to 60,000: 60,000 times their sums are above 2**63."""
    rows, kept, cells = 100_000, 60_000, 1 << 31
    unit = PrivacyUnit("u", kept, kept, kept)
    for degree in (1, 2):
        for v in (cells, cells // 2):
            view, lattice = ArrayView({"x": [float(v)] * rows, "u": ["a"] * rows}), Lattice(Fraction(1), 0, cells)
            moments = Moments("x", lattice, degree)
            assert moments.compute(view, unit).open() == [kept * f for f in features(v, lattice, degree)]


def test_totals_far_from_zero_do_not_wrap():
    """1000 rows of 2**55 steps are above 2**63; so is the sum to which they are clipped."""
    rows, low = 1000, 1 << 55
    view = ArrayView({"x": [float(low)] * rows, "u": ["a"] * rows})
    for kept in (500, rows):
        total = Total("x", Lattice(Fraction(1), low, 1 << 20)).compute(view, PrivacyUnit("u", kept, kept, kept))
        # all rows together are at most `kept` times the upper bound
        assert total.open() == [min(rows * low, kept * (low + (1 << 20)))]

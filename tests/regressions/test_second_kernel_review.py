"""Faults that a second review found in the kernels: what hid below a minus zero."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_dp.core.lattice import Lattice, within_bounds
from pandas_dp.core.offset_sum import offset_sum
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.sums import Total
from pandas_dp.engines.pandas import PandasView


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("other", [9.5, 60000.0, np.inf, np.nan])
def test_nothing_hides_below_minus_zero(kind, other):
    """Read as an unsigned integer -0.0 is the largest of these, and NaN and infinity counted as if they lay within."""
    lattice, values = Lattice.between(Fraction(0), Fraction(9), 20), np.array([-0.0, other, 2.0], dtype=kind)
    two = int(lattice.offsets(np.array([2.0]))[0])
    held, total = (2, two) if np.isnan(other) else (3, two + lattice.cells)
    second = two**2 + (held - 2) * lattice.cells**2
    assert not within_bounds(np.dtype(kind), 0, 9)(values)
    assert 0 <= lattice.offsets(values).min() <= lattice.offsets(values).max() <= lattice.cells
    for order in (values, values[::-1]):
        assert offset_sum(lattice, (order, None)) == [held, total]
        assert offset_sum(lattice, (order, None), 2) == [held, total, second]


@pytest.mark.parametrize("by", [None, Keys("g", ("a",))])
def test_a_row_beyond_the_bounds_moves_a_sum_by_no_more_than_stated(by):
    """One row of 1e300 moved the sum of a table with a minus zero by 1e9 times as much as its sensitivity."""
    total = Total("x", Lattice.between(Fraction(0), Fraction(10), 30), by)
    exact = [
        total.compute(PandasView(pd.DataFrame({"g": "a", "x": column}), {}), PrivacyUnit()).open()[0]
        for column in ([-0.0, 3.0], [-0.0, 3.0, 1e300])
    ]
    assert 0 <= exact[1] - exact[0] <= total.sensitivity(PrivacyUnit()).l1

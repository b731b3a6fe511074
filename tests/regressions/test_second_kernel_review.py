"""Faults that a second review found in the kernels: what hid below a minus zero, public arguments of odd kinds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.features import crossed
from support.frames import fresh

from pandas_dp.core.lattice import Lattice, within_bounds
from pandas_dp.core.offset_sum import offset_sum
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.sums import Total
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("other", [9.5, 60000.0, np.inf, np.nan])
def test_nothing_hides_below_minus_zero(kind, other):
    """Read as an unsigned integer -0.0 is the largest of these, and NaN and infinity counted as if they lay within."""
    lattice, values = Lattice.between(Fraction(0), Fraction(9), 20), np.array([-0.0, other, 2.0], dtype=kind)
    two = int(lattice.offsets(np.array([2.0]))[0])
    held, total = (2, two) if np.isnan(other) else (3, two + lattice.cells)
    second = crossed(two, lattice)
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


def test_public_arguments_that_pandas_makes_no_column_of():
    """A look at them as if they were a column failed with an error of pandas."""
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2], "d": pd.to_timedelta([1, 2], unit="D")})
    session = frame.dp.protect(epsilon=1, name=fresh())
    pairs, years = pd.MultiIndex.from_product([[1, 2], [1, 2]]), np.array([1, 10**18], dtype="m8[Y]")
    with pytest.raises(ArgumentTypeError, match="a dict by column"):
        frame.dp(epsilon=1).groupby(["a", "b"], keys=pairs).size()
    with pytest.raises(ArgumentValueError, match="at least two edges"):
        frame.dp(epsilon=1).histogram("a", bins=pairs[:1])
    with pytest.raises(ArgumentTypeError, match="durations with their unit"):
        frame.dp(epsilon=1).histogram("d", bins=years)
    assert session.spent == "epsilon=0"

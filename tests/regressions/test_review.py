"""Faults that a review found, each as the smallest example that showed it."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_dp  # noqa: F401 - registers the accessor
from pandas_dp.core.lattice import SUM_BITS, Lattice, power_sums
from pandas_dp.core.offset_sum import offset_sum
from pandas_dp.core.partition import Keys, decoded
from pandas_dp.engines.encode import stored


@pytest.mark.parametrize(
    ("dtype", "bounds", "cells"),
    [
        (np.float16, (0, 100_000), [np.inf]),
        (np.float16, (-100_000, 100_000), [-np.inf, 1]),
        (np.float32, (0, 10**39), [np.inf]),
        (np.float16, (0, Fraction("0.7001")), [0.7] * 1000),
        (np.float32, (0, Fraction("0.3")), [0.3] * 1000),
        (np.float32, (Fraction("-0.3"), 0), [-0.3] * 1000),
    ],
)
def test_a_narrow_float_beyond_a_bound_adds_no_more_than_the_bound(dtype, bounds, cells):
    # numpy rounded the bound to the column's dtype: an infinity passed for a value within the bounds, and its
    # bits were added up as an offset
    lattice = Lattice.between(Fraction(bounds[0]), Fraction(bounds[1]), SUM_BITS)
    raw = (np.array(cells, dtype=dtype), None)
    rows, total = offset_sum(lattice, raw)
    assert 0 <= total <= rows * lattice.cells
    assert [rows, total] == power_sums(lattice, raw, 1)


@pytest.mark.parametrize(
    ("odd", "cell", "key"),
    [
        ((1.0, float("nan")), (1.0, np.nan), (1.0, np.nan)),
        (np.datetime64("2020-01-01"), pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01").to_pydatetime()),
        (np.int8(1), 1, Decimal(1)),
    ],
)
def test_one_object_cell_does_not_move_the_others(odd, cell, key):
    # pandas finds odd and cell equal, Python does not find odd and key equal: the first row decided for all
    def positions(cells):
        column = np.empty(len(cells), dtype=object)
        for i, value in enumerate(cells):  # numpy would turn dates and tuples in a list into something else
            column[i] = value
        return decoded(*stored(pd.Series(column, dtype=object)).coded(Keys("x", (key,)))).tolist()

    assert positions([cell, cell]) == [0, 0]
    assert positions([odd, cell, cell])[1:] == [0, 0]
    assert positions([cell, cell, odd])[:2] == [0, 0]
    assert positions([odd, cell])[:1] == positions([odd])


@pytest.mark.parametrize(
    ("cell", "key"),
    [
        (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01").date()),
        (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01").to_pydatetime()),
        (np.float32(0.1), 0.1),
        (1, Decimal(1)),
        (2**53 + 1, 2**53 + 1),
    ],
)
def test_one_category_does_not_move_the_others(cell, key):
    # the category list was read in its own dtype, which one more row can change
    alone, mixed = (pd.Series(pd.Categorical([cell] * 3 + more)) for more in ([], ["text"]))
    assert alone.cat.categories.dtype != mixed.cat.categories.dtype
    one, both = (decoded(*stored(column).coded(Keys("x", (key,)))).tolist() for column in (alone, mixed))
    assert one == both[:3]


def test_tuples_serve_as_keys():
    # their labels became a MultiIndex, which failed after the charge
    df = pd.DataFrame({"k": pd.Series([("a", 1), ("b", 2), ("a", 1)], dtype=object)})
    df.dp.protect(epsilon=1000, name="review: tuples")
    counts = df.dp(epsilon=900).value_counts("k", keys=[("a", 1), ("b", 2)])
    assert counts.value.tolist() == [2, 1]
    assert counts.index.tolist() == [("a", 1), ("b", 2)]

"""Sums by group are exact, also where float64 would round them."""

from __future__ import annotations

import numpy as np
import pytest

from pandas_dp.core.statistics.sums import group_sum


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

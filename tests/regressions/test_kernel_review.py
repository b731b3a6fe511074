"""Faults that a review found in the kernels: wrapped products, crosses of one column, tables of unlisted categories."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Cross, Keys, cross_coded, decoded
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockMeans
from pandas_dp.engines.pandas import PandasView


@pytest.mark.parametrize("keys", [1, 125, 126, 127, 32765, 32766])
def test_a_cross_of_one_column_takes_any_number_of_codes(keys):
    """126 keys have 128 codes, which the byte that held their combinations could not be multiplied by."""
    column = np.arange(-2, keys).astype(np.int32), np.maximum(np.arange(-2, keys), -1)
    crossed = cross_coded(Cross((Keys("g", tuple(range(keys))),)), [column])
    assert decoded(*crossed).tolist() == [-1, -1, *range(keys)]


def test_means_of_blocks_need_no_room_for_unlisted_categories():
    """The tables of sums had a row for each category of the column: 160 MB here, and 16 GB for a million and 1000 blocks."""
    categories = [f"c{i}" for i in range(100_000)]
    codes = np.tile([0, 3, -1, 5, 99_999], 20)
    frame = pd.DataFrame(
        {"g": pd.Categorical.from_codes(codes, categories), "x": np.tile([1.0, 2.0, 3.0, 4.0, 7.0], 20)}
    )
    by = Keys("g", ("c3", "c0", "nobody"), other=True)
    means = BlockMeans("x", Lattice(Fraction(1), 0, 8), by, 100)
    view = PandasView(frame, {})
    view.coded(by)  # what is kept of the column
    tracemalloc.start()
    values = means.values(view, PrivacyUnit())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
    assert [set(row) - {4} for row in values[:3].tolist()] == [{2}, {1}, set()]  # 4 where no row is
    assert set(values[3].tolist()) <= {4, 6, 7, 5}
    one = BlockMeans("x", Lattice(Fraction(1), 0, 8), by, 1).values(view, PrivacyUnit())
    assert one.ravel().tolist() == [2, 1, 4, 6]  # 11 / 2, halves up

"""The view of a DataFrame where missing values count as a constant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.columns import NUMERIC, view

from pandas_dp.core.lattice import present_mask
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.engines.pandas import PandasView


@pytest.mark.parametrize(
    "name", [n for n, (column, _, _) in NUMERIC.items() if column.dtype.kind not in "mM" or "[" not in n]
)
def test_nulls_count_as_a_constant(name: str) -> None:
    column, cells, _ = NUMERIC[name]
    shown = view(column, {"x": 1})
    values, present = shown.column("x")
    assert present is None
    assert present_mask(values, present) is None
    assert shown.present("x") is None
    untouched, _ = view(column).column("x")
    for value, before, cell in zip(values.tolist(), untouched.tolist(), cells, strict=True):
        assert value == (1 if cell is None else before)


def test_a_constant_is_found_among_keys_and_bins() -> None:
    shown = view(pd.Series([3, None, 7], dtype="Int64"), {"x": 7})
    assert shown.parts(Keys("x", (3, 7), null=True)).tolist() == [0, 1, 1]
    assert shown.parts(Bins("x", (0, 5, 10), null=True)).tolist() == [0, 1, 1]
    assert shown.units("x")[0].tolist() == [0, -1, 1]
    dates = pd.Series(["2020-01-01", None], dtype="datetime64[us]")
    constant = pd.Timestamp("2020-01-01").as_unit("ns").value
    assert view(dates, {"x": constant}).parts(Keys("x", (pd.Timestamp("2020-01-01"),))).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("dtype", "constant"),
    [("Int64", 0.5), ("Int8", 1000), ("UInt64", -1), ("float32", 0.1), ("Float32", 0.1)],
)
def test_the_dtype_with_a_constant_does_not_depend_on_rows(dtype: str, constant: float) -> None:
    whole = view(pd.Series([3, 4], dtype=dtype), {"x": constant}).column("x")[0]
    holed = view(pd.Series([3, None], dtype=dtype), {"x": constant}).column("x")[0]
    assert whole.dtype == holed.dtype == np.float64
    assert holed.tolist() == [3, constant]


def test_one_cache_serves_views_with_and_without_a_constant() -> None:
    frame, cache, keys = pd.DataFrame({"x": [1.0, np.nan]}), {}, Keys("x", (1, 2), null=True)
    assert PandasView(frame, cache).parts(keys).tolist() == [0, 2]
    assert PandasView(frame, cache, {"x": 2}).parts(keys).tolist() == [0, 1]
    assert PandasView(frame, cache, {"x": 1}).parts(keys).tolist() == [0, 0]

"""Listed keys are converted to a column's own type once, not for each batch of a scan, and equal ones of other types again."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.engines import encode
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import ScannedView


def batches(dtype: Any, rows: int = 100, parts: int = 5) -> list[pd.DataFrame]:
    column = pd.Series((np.arange(rows) % 20 + 10_000).tolist()).astype(dtype)
    return [pd.DataFrame({"x": part}).reset_index(drop=True) for part in (column[at::parts] for at in range(parts))]


@pytest.mark.parametrize(
    ("dtype", "form"),
    [
        ("int64", "_rising"),
        ("float32", "_rising"),
        ("Int32", "_rising"),
        ("str", "_in_arrow"),
        (pd.ArrowDtype(pa.decimal128(30, 2)), "_in_arrow"),
        (object, "_by_key"),
    ],
)
def test_batches_share_the_converted_keys(dtype, form, monkeypatch):
    original, made = getattr(encode, form), []

    def counted(*given):
        made.append(given)
        return original(*given)

    monkeypatch.setattr(encode, form, counted)
    frames = batches(dtype)
    keys = (*range(10_019, 9_999, -1), 7)
    keys = tuple(map(str, keys)) if dtype == "str" else keys
    statistic = RowCounts(None, Keys("x", keys, other=True))
    scan = ScannedView(lambda: iter(frames), {})
    assert statistic.merge(scan.summaries(statistic, PrivacyUnit())).open() == [5] * 20 + [0, 0]
    assert len(made) == 1
    assert statistic.compute(PandasView(pd.concat(frames), {}), PrivacyUnit()).open() == [5] * 20 + [0, 0]
    assert len(made) == 1


def test_what_is_made_of_keys_does_not_travel_with_them():
    keys = Keys("x", (1, 2))
    plain = pickle.dumps(keys)
    RowCounts(None, keys).compute(PandasView(pd.DataFrame({"x": [1]}), {}), PrivacyUnit())
    assert pickle.dumps(keys) == plain
    assert pickle.loads(plain) == keys


def test_equal_keys_of_another_type_are_other_keys():
    frame = pd.DataFrame({"x": [1, 1, 0]})
    for keys, expected in (((1, 0), [2, 1]), ((1 + 0j, 0j), [0, 0]), ((True, False), [2, 1]), ((1.0, 0.0), [2, 1])):
        assert RowCounts(None, Keys("x", keys)).compute(PandasView(frame, {}), PrivacyUnit()).open() == expected


def test_what_one_dtype_holds_another_need_not():
    keys = Keys("x", (300, 1))
    for dtype, expected in (("int64", [1, 1]), ("uint8", [0, 1]), ("float16", [1, 1])):
        values = pd.Series([300, 1], dtype="int64") if dtype != "uint8" else pd.Series([44, 1])
        view = PandasView(pd.DataFrame({"x": values.astype(dtype)}), {})
        assert RowCounts(None, keys).compute(view, PrivacyUnit()).open() == expected

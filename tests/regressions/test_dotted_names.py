"""A flat column whose name looks like the path to a field of a structure beside it: each is what its own schema says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp.commands.data_files import empty_frame
from pandas_dp.facts.schema import Schema

FLAT = pa.array([10, 20, None])
STRUCT = pa.array([{"t": 1, "u": "x"}, {"t": 2, "u": "y"}, None])
REST = {"b": pa.array([1.5, 2.5, None])}
TABLES = {
    "after": {"a": STRUCT, "a.t": FLAT} | REST,
    "before": {"a.t": FLAT, "a": STRUCT} | REST,
    "of text": {"a": STRUCT, "a.u": pa.array(["p", "q", None]).dictionary_encode()} | REST,
    "deep": {"a.t.u": FLAT, "a": pa.array([{"t": {"u": 1}}, None, None]), "a.t": pa.array([5, 6, None])} | REST,
    "of a list": {"l": pa.array([[1], [2], None]), "l.list.element": FLAT} | REST,
    "of a map": {"m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())), "m.key_value.key": FLAT}
    | REST,
    "of numbers": {"a": pa.array([1, 2, 3]), "a.t": FLAT} | REST,
}


@pytest.mark.parametrize("name", TABLES)
def test_a_flat_column_is_read_beside_a_structure_with_a_field_of_that_name(name, tmp_path):
    table = pa.table(TABLES[name])
    path = str(tmp_path / "visits.parquet")
    pq.write_table(table, path)
    kept = [field.name for field in table.schema if not pa.types.is_map(field.type)]
    held = {column: table.column(column).to_pylist() for column in kept}

    def same(frame):
        assert frame.columns.tolist() == kept
        for column in kept:
            cells = [None if pd.api.types.is_scalar(cell) and pd.isna(cell) else cell for cell in frame[column]]
            assert [list(cell) if isinstance(cell, np.ndarray) else cell for cell in cells] == held[column], column

    assert empty_frame(path, Schema({})).columns.tolist() == kept
    same(pandas_dp.read_parquet(path, columns=kept))
    scan = pandas_dp.scan_parquet(path)
    scan.dp.protect(epsilon=10**6, name=fresh())
    for column in kept:
        if pa.types.is_integer(table.schema.field(column).type):
            asked = scan.dp(epsilon=10**4).sum(column, bounds=(0, 100))
            assert abs(asked - sum(cell or 0 for cell in held[column])) < 1

"""Parquet files name how wide the indices of their dictionaries are: how many values there are decides nothing that shows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp import ArgumentValueError
from pandas_dp.commands import data_files
from pandas_dp.facts.schema import Schema
from pandas_dp.tables.arrow_frames import dictionaries

NARROW = [pa.int8(), pa.uint8(), pa.int16(), pa.int64()]
ROOM = {pa.int8(): 2**7, pa.uint8(): 2**8, pa.int16(): 2**15}  # values that indices number
NO_TEXT = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff"]).buffers())


def part(words, held, ordered=False):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(words)), held), words, ordered=ordered)


def wards(held, rows):
    """As chunks with lists of their own, which Arrow writes into one group of rows: the last row has a value too many."""
    half = rows // 2
    words = pa.array([f"w{i}" for i in range(rows)])
    return pa.chunked_array([part(words[:half], held), part(words[half:], held)])


def listed(column):
    return pa.chunked_array(
        [pa.ListArray.from_arrays(pa.array(range(len(chunk) + 1), pa.int32()), chunk) for chunk in column.chunks]
    )


def tables(held):
    more = ROOM.get(held, 3)
    yield wards(held, more)
    yield wards(held, more + 1)
    yield pa.chunked_array([part(NO_TEXT, held)])


def seen(path):
    """What each way of reading shows beside its answer."""
    frame = pandas_dp.read_parquet(path)
    told = [str(frame["ward"].dtype)]
    for table in (frame, pandas_dp.scan_parquet(path), pandas_dp.scan_parquet(ds.dataset(path))):
        session = table.dp.protect(epsilon=10**6, name=fresh())
        value = table.dp(epsilon=10**5).count("ward")
        told += [type(value).__name__, session.spent]
        session.close()
    return [*told, str(data_files.empty_frame(str(path), Schema({})).dtypes["ward"])]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("held", NARROW, ids=str)
def test_every_reader_has_room_for_all_values(held, tmp_path):
    shown = []
    for place, column in enumerate(tables(held)):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({"ward": column}), path)
        shown.append(seen(path))
    assert shown[1:] == shown[:1] * 2


@pytest.mark.parametrize("held", NARROW[:2], ids=str)
def test_within_lists_they_are_not_read(held, tmp_path):
    for place, column in enumerate(tables(held)):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({"ward": listed(column), "x": range(len(column))}), path)
        with pytest.raises(ArgumentValueError, match=r"nothing can be asked of 'ward'.*columns=\['x'\]"):
            pandas_dp.read_parquet(path)
        frame = pandas_dp.read_parquet(path, columns=["x"])
        frame.dp.protect(epsilon=10**6, name=fresh())
        assert frame.dp(epsilon=10**5).count("x") == len(column)


def test_those_of_columns_are_named(tmp_path):
    text, held = pa.array(["a", "b"]), part(pa.array(["a", "b"]), pa.int8())
    columns = {"a.b": held, "a": pa.StructArray.from_arrays([text, held], ["b", "c"]), "text": text}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert dictionaries(pq.read_schema(tmp_path / "a.parquet")) == ["a.b"]
    assert pandas_dp.read_parquet(tmp_path / "a.parquet", columns=["a.b", "text"]).columns.tolist() == ["a.b", "text"]

"""Columns of Arrow of which nothing can be asked, without and with a cell on which Arrow, pandas or Python fail."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def _raw(cells, plain, held):
    return pa.array(cells, plain).view(held)


def _own(cells, plain, held):
    return pa.ExtensionArray.from_storage(held, _raw(cells, plain, held.storage_type))


TIMES = [_raw([1, last], pa.int32(), pa.time32("s")) for last in (1, 2**31 - 1)]
TEXTS = [_raw([b"a", last], pa.binary(), pa.string()) for last in (b"b", b"\xff")]
OFFSETS = pa.array([0, 1, 2], pa.int32())
INTERVALS = pd.IntervalIndex.from_tuples([(0, 1), (1, 2)])


def _intervals(last):
    made = pa.array(INTERVALS)
    return pa.ExtensionArray.from_storage(
        made.type, pa.StructArray.from_arrays([pa.array([0, last]), pa.array([1, 2])], ["left", "right"])
    )


UNREAD = {
    "bytes": [pa.array([b"a", last]) for last in (b"b", b"\xff")],
    "two bytes": [pa.array([b"aa", last], pa.binary(2)) for last in (b"bb", b"\xff\xff")],
    "time": TIMES,
    "structure of times": [pa.StructArray.from_arrays([times], ["a"]) for times in TIMES],
    "map": [pa.MapArray.from_arrays(OFFSETS, text, text) for text in TEXTS],
    "lists of times": [pa.ListArray.from_arrays(OFFSETS, times) for times in TIMES],
    "lists of lists": [pa.ListArray.from_arrays(OFFSETS, pa.ListArray.from_arrays(OFFSETS, text)) for text in TEXTS],
    "lists of categories": [pa.ListArray.from_arrays(OFFSETS, text.dictionary_encode()) for text in TEXTS],
    "pairs": [pa.FixedSizeListArray.from_arrays(pa.array([1, 2, 3, last]), 2) for last in (4, None)],
    "list view": [pa.array([[1], last], pa.list_view(pa.int64())) for last in ([2], None)],
    "categories of bytes": [pa.array([b"a", last]).dictionary_encode() for last in (b"b", b"\xff")],
    "categories of times": [
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([dt.time(1), dt.time(last)])) for last in (2, 1)
    ],
    "categories of views": [
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", last], pa.string_view()))
        for last in ("b", None)
    ],
    "runs": [pc.run_end_encode(pa.array([1, last])) for last in (1, None)],
    "json": [_own([b"{}", last], pa.binary(), pa.json_(pa.string())) for last in (b"{}", b"\xff")],
    "moments of others": [
        _own([0, last], pa.int64(), pa.opaque(pa.timestamp("us", "UTC"), "moment", "of others")) for last in (1, 2**62)
    ],
    "period": [pa.array(pd.PeriodIndex(["2026-11", last], freq="M")) for last in ("2026-12", None)],
    "interval": [_intervals(left) for left in (1, 3, None)],
    "bool8": [pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, last], pa.int8())) for last in (1, 5)],
    "decimal of a far scale": [
        _raw([b"\0" * 16, last], pa.binary(16), pa.decimal128(38, 100)) for last in (b"\1" * 16, b"\xff" * 16)
    ],
    "moments of an unknown zone": [
        _raw([0, last], pa.int64(), pa.timestamp("us", "Nowhere/Land")) for last in (1, 2**62)
    ],
}

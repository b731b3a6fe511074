"""Which keys a column holds: the same for every dtype, backend, chunking and order of categories; a row's own cell decides."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.columns import STR_ARROW, STR_PYTHON, arrow, arrow_slice, view
from support.frames import fresh

TEXT = ["b", None, "a", "b", "", "Zürich", None, "a", "b\0", "b"]
NUMBERS = [3, None, 1, 3, 0, -7, None, 1, 120, 3]


def counted(column, nulls=None) -> dict:
    """Rows of each key, by key."""
    codes, count, names = view(column, nulls).keys("x")
    assert codes.dtype == np.int64
    assert len(codes) == len(column)
    assert ((codes >= -1) & (codes < count)).all()
    here = np.unique(codes[codes >= 0])
    keys = names(here)
    assert json.loads(json.dumps(keys)) == keys  # as the ledger keeps them
    assert len(set(keys)) == len(keys)
    return {key: int((codes == code).sum()) for key, code in zip(keys, here, strict=True)}


EXPECTED = {"a": 2, "b": 3, "": 1, "Zürich": 1, "b\0": 1}
TEXTS = {
    "object": pd.Series(TEXT, dtype=object),
    "python": pd.Series(TEXT, dtype=STR_PYTHON),
    "arrow": pd.Series(TEXT, dtype=STR_ARROW),
    "string": pd.Series(TEXT, dtype="string"),
    "chunks": arrow(TEXT, pa.string()),
    "large chunks": arrow(TEXT, pa.large_string()),
    "dictionary": arrow(TEXT, pa.dictionary(pa.int8(), pa.string())),
    "categories": pd.Series(pd.Categorical(TEXT)),
    "categories in other order": pd.Series(pd.Categorical(TEXT, categories=["b\0", "x", "Zürich", "b", "", "a", "y"])),
    "categories of objects": pd.Series(pd.Categorical(pd.Series(TEXT, dtype=object))),
}


@pytest.mark.parametrize("column", TEXTS.values(), ids=TEXTS)
def test_texts(column):
    assert counted(column) == EXPECTED
    assert counted(column.iloc[::-1].reset_index(drop=True)) == EXPECTED
    assert counted(column.iloc[:0]) == {}


@pytest.mark.parametrize(
    "dtype", ["Int8", "Int64", "int16[pyarrow]", "int64[pyarrow]", "Float32", "float64", "double[pyarrow]"]
)
def test_numbers(dtype):
    column = pd.Series(NUMBERS, dtype=dtype)
    found = counted(column)
    assert found == {3: 3, 1: 2, 0: 1, -7: 1, 120: 1}
    assert {type(key) for key in found} == {int}  # a missing one makes float64 of int64, and the kind of key would tell
    assert counted(column.iloc[::-1].reset_index(drop=True)) == found
    assert counted(column.iloc[:0]) == {}


def test_numbers_that_are_equal_are_one_key_in_one_form():
    for cells in ([0.0, -0.0, 1.5], [-0.0, 0.0, 1.5]):
        for dtype in ("float64", "float32", "float16", "Float64", "double[pyarrow]"):
            found = counted(pd.Series(cells, dtype=dtype))
            assert found == {0.0: 2, 1.5: 1}
            assert {str(key) for key in found} == {"0", "1.5"}
    assert counted(pd.Series([np.nan, np.inf, -np.inf, np.inf])) == {np.inf: 2, -np.inf: 1}
    large = counted(pd.Series([2.0**53, 2.0**63, 2.0**64, -(2.0**70)]))
    assert {str(key) for key in large} == {str(2**53), str(2**63), str(2.0**64), str(-(2.0**70))}
    assert counted(pd.Series([2**64 - 1, 0], dtype="uint64")) == {2**64 - 1: 1, 0: 1}
    assert counted(pd.Series([True, False, True])) == {1: 2, 0: 1}
    assert counted(pd.Series([True, None, True], dtype="boolean")) == {1: 2}
    assert counted(arrow_slice([True, None, False, True], pa.bool_())) == {1: 2, 0: 1}
    assert counted(arrow([Decimal("1.50"), None, Decimal("0.10"), Decimal("1.50")], pa.decimal128(9, 2))) == {
        1.5: 2,
        0.1: 1,
    }


def test_missing_numbers_that_count_as_a_constant():
    assert counted(pd.Series(NUMBERS, dtype="Int64"), {"x": 3}) == {3: 5, 1: 2, 0: 1, -7: 1, 120: 1}


@pytest.mark.parametrize(
    "dtype", ["datetime64[s]", "datetime64[ns]", pd.ArrowDtype(pa.timestamp("us")), pd.ArrowDtype(pa.date32())]
)
def test_dates_are_nanoseconds(dtype):
    days = (
        pd.Series(pd.to_datetime(["2013-01-02", None, "1969-12-31", "2013-01-02"]))
        .astype("datetime64[s]")
        .astype(dtype)
    )
    assert counted(days) == {pd.Timestamp("2013-01-02").value: 2, pd.Timestamp("1969-12-31").value: 1}
    zoned = pd.Series(pd.to_datetime(["2013-01-02", None])).dt.tz_localize("Europe/Berlin")
    assert counted(zoned) == {pd.Timestamp("2013-01-01 23:00").value: 1}
    assert counted(pd.Series(pd.to_timedelta([1, None, 1], unit="s"))) == {10**9: 2}


class Odd(str):
    """A text that lies about itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return "other"


CELLS = [
    1,
    True,
    1.0,
    "1",
    np.int64(1),
    None,
    ("a",),
    ["a"],
    {1},
    b"a",
    2.5,
    pd.Timestamp("2013-01-01"),
    np.str_("a"),
    "a",
    10**30,
]


@pytest.mark.parametrize("turn", range(0, len(CELLS), 3))
def test_of_objects_only_texts_and_whole_numbers_are_keys(turn):
    cells = np.empty(len(CELLS), dtype=object)
    cells[:] = CELLS[turn:] + CELLS[:turn]
    assert counted(pd.Series(cells, dtype=object)) == {1: 4, "1": 1, "a": 2, 10**30: 1}
    assert counted(pd.Series([True, False, True], dtype=object)) == {1: 2, 0: 1}


def test_one_other_cell_changes_no_other_row():
    for cell in (1.5, None, b"x", ("t",), "new", 7, True):
        column = pd.Series(["a", "b", "a", cell], dtype=object)
        found = counted(column)
        assert {key: n for key, n in found.items() if key in ("a", "b")} == {"a": 2, "b": 1}
    found = counted(pd.Series([Odd("a"), Odd("a")], dtype=object))
    assert found == {"a": 2}
    assert type(next(iter(found))) is str


def test_categories_that_are_no_texts():
    assert counted(pd.Series(pd.Categorical([3, 1, 3, None]))) == {3: 2, 1: 1}
    assert counted(pd.Series(pd.Categorical([1.5, 2.5]))) == {}
    assert counted(pd.Series(pd.Categorical([True, False]))) == {1: 1, 0: 1}


def test_texts_that_utf8_cannot_hold():
    lone = ["\ud800", "a", "\ud800", "\\ud800"]
    assert counted(pd.Series(lone, dtype=object)) == {"\ud800": 2, "a": 1, "\\ud800": 1}
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 2, 3], dtype=np.int32)), pa.py_buffer(b"\xff\xfea")]
    )
    assert counted(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([broken])))) == {"\udcff\udcfe": 1, "a": 1}


FAR = ["0001-01-01", "9999-12-31 23:59:59", "2024-02-29"]


@pytest.mark.parametrize(
    "dtype", ["M8[s]", "M8[us]", pd.ArrowDtype(pa.timestamp("ms")), pd.ArrowDtype(pa.date32())], ids=str
)
def test_dates_of_every_year_are_keys(dtype):
    """Also those that nanoseconds do not count."""
    far = [day[:10] for day in FAR] if "date32" in str(dtype) else FAR
    df = pd.DataFrame({"d": pd.Series(np.array(far * 40, dtype="M8[s]")).astype(dtype)})
    df.dp.protect(epsilon=1e4, delta=1e-6, name=fresh())
    stamps = sorted(map(pd.Timestamp, far))
    found = df.dp(epsilon=100, delta=1e-9).value_counts("d").value.sort_index()
    assert (found.index.tolist(), found.tolist(), found.index.dtype.kind) == (stamps, [40] * 3, "M")
    assert sorted(df.dp(epsilon=100, delta=1e-9).unique("d").value) == stamps
    counted = df.dp(epsilon=100).value_counts("d", keys=far[:2]).value
    assert (counted.index.tolist(), counted.tolist()) == ([*map(pd.Timestamp, far[:2])], [40, 40])
    by_day = df.dp(epsilon=100).groupby("d", keys=far).size().value
    assert by_day.tolist() == [40] * 3

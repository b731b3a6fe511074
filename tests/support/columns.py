"""Columns of every dtype that pandas 3 has, beside the same cells in plain Python."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.engines.pandas import PandasView

DAY = 86_400 * 10**9  # nanoseconds
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NULLABLE = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
STR_PYTHON = pd.StringDtype("python", na_value=np.nan)
STR_ARROW = pd.StringDtype("pyarrow", na_value=np.nan)


def view(column: Any, nulls: dict[str, Any] | None = None) -> PandasView:
    """A view of a frame with the one column x."""
    return PandasView(pd.DataFrame({"x": column}), {}, nulls or {})


def arrow(cells: list[Any], kind: pa.DataType) -> pd.Series:
    """An Arrow column in several chunks, one of them a slice and one empty."""
    padded = pa.array([None, *cells, None], kind)
    cut = len(cells) // 2
    chunks = [padded[1 : 1 + cut], padded[1:1], padded[1 + cut : 1 + len(cells)]]
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks)))


def arrow_slice(cells: list[Any], kind: pa.DataType) -> pd.Series:
    """An Arrow column in one chunk that starts in the middle of its memory."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array([*cells[:3], *cells], kind)[3:]])))


def block(cells: list[float]) -> pd.Series:
    """A column that is every third number of a wide block."""
    return pd.DataFrame(np.stack((np.zeros(len(cells)), cells, np.ones(len(cells))), axis=1))[1]


def stamp(text: str | None) -> pd.Timestamp | None:
    return None if text is None else pd.Timestamp(text)


def nanoseconds(cell: Any) -> Any:
    """A date or duration in nanoseconds since the epoch, as a Python int; other numbers as they are."""
    if isinstance(cell, pd.Timestamp | dt.date):
        cell = pd.Timestamp(cell)
        return int(cell.timestamp()) * 10**9 + cell.microsecond * 1000 + cell.nanosecond
    return int(cell / pd.Timedelta(1, "ns")) if isinstance(cell, pd.Timedelta) else cell


WHOLE = [3, 0, 7, 3, 100, 1, 0]
HOLED = [3, None, 7, 3, 100, None, 0]
REAL = [1.5, -0.0, 0.0, 2.25, 1.5, 1e3, 0.1]
REAL_HOLED = [1.5, None, 0.0, 2.25, None, -0.0]
FLAGS = [True, False, True, True]
FLAGS_HOLED = [True, None, False, True, None]
DATES = [stamp(t) for t in ("2020-01-01", None, "1969-12-31", "2020-01-01", "2262-04-11")]
SPANS = [pd.Timedelta("90 min"), None, pd.Timedelta(0), pd.Timedelta("-3 days"), pd.Timedelta("90 min")]
DECIMALS = [Decimal("1.10"), None, Decimal("-2.25"), Decimal("1.1"), Decimal("0.00")]
NUMBER_KEYS = (3, 7.0, 100, -5, 0.0, 1.5, True, 2.25, "a", 10**30, 0.1)
DATE_KEYS = (
    stamp("2020-01-01"),
    stamp("1969-12-31"),
    stamp("2020-01-01 12:00"),
    stamp("9999-01-01"),
    0,
    "2020",
)
SPAN_KEYS = (pd.Timedelta("90 min"), dt.timedelta(days=-3), pd.Timedelta("1 ns"), 0)

NUMERIC: dict[str, tuple[Any, list[Any], tuple[Any, ...]]] = {
    **{name: (pd.Series(WHOLE, dtype=name), WHOLE, NUMBER_KEYS) for name in INTEGERS},
    **{name: (pd.Series(HOLED, dtype=name), HOLED, NUMBER_KEYS) for name in NULLABLE},
    **{f"{name} in Arrow": (arrow(HOLED, getattr(pa, name)()), HOLED, NUMBER_KEYS) for name in INTEGERS},
    "int64 in Arrow without nulls": (arrow(WHOLE, pa.int64()), WHOLE, NUMBER_KEYS),
    "slice of int32 in Arrow": (arrow_slice(HOLED, pa.int32()), HOLED, NUMBER_KEYS),
    "slice of bool in Arrow": (arrow_slice(FLAGS_HOLED, pa.bool_()), FLAGS_HOLED, (True, False)),
    "slice of dates in Arrow": (arrow_slice([c and c.date() for c in DATES], pa.date32()), DATES, DATE_KEYS),
    "slice of decimals": (arrow_slice(DECIMALS, pa.decimal128(10, 2)), DECIMALS, (Decimal("1.1"), 0)),
    "int64 made float by a null": (pd.Series(HOLED, dtype="float64"), HOLED, NUMBER_KEYS),
    "big-endian": (pd.Series(np.array(WHOLE, dtype=">i4")), WHOLE, NUMBER_KEYS),
    "float64": (pd.Series(REAL_HOLED, dtype="float64"), REAL_HOLED, NUMBER_KEYS),
    "float32": (pd.Series(REAL_HOLED, dtype="float32"), REAL_HOLED, NUMBER_KEYS),
    "float16": (pd.Series(REAL_HOLED, dtype="float16"), REAL_HOLED, NUMBER_KEYS),
    "Float64": (pd.Series(REAL_HOLED, dtype="Float64"), REAL_HOLED, NUMBER_KEYS),
    "Float32": (pd.Series(REAL_HOLED, dtype="Float32"), REAL_HOLED, NUMBER_KEYS),
    "float64 in a wide block": (block(REAL), REAL, NUMBER_KEYS),
    "double in Arrow": (arrow(REAL_HOLED, pa.float64()), REAL_HOLED, NUMBER_KEYS),
    "float in Arrow": (arrow(REAL_HOLED, pa.float32()), REAL_HOLED, NUMBER_KEYS),
    "halffloat in Arrow": (
        arrow([None if c is None else np.float16(c) for c in REAL_HOLED], pa.float16()),
        REAL_HOLED,
        NUMBER_KEYS,
    ),
    "bool": (pd.Series(FLAGS), FLAGS, (True, False)),
    "boolean": (pd.Series(FLAGS_HOLED, dtype="boolean"), FLAGS_HOLED, (False, True)),
    "bool in Arrow": (arrow(FLAGS_HOLED, pa.bool_()), FLAGS_HOLED, (1, 2, 0.0)),
    "decimal128": (
        arrow(DECIMALS, pa.decimal128(10, 2)),
        DECIMALS,
        (1.1, Decimal("-2.250"), 0, Decimal("1.101"), "a"),
    ),
    "decimal256": (arrow(DECIMALS, pa.decimal256(50, 5)), DECIMALS, (Decimal("1.1"), False, 7, 10**60)),
    **{
        f"datetime64[{unit}]": (pd.Series(DATES, dtype=f"datetime64[{unit}]"), DATES, DATE_KEYS)
        for unit in ("s", "ms", "us", "ns")
    },
    **{
        f"timestamp[{unit}] in Arrow": (arrow(DATES, pa.timestamp(unit)), DATES, DATE_KEYS)
        for unit in ("s", "ms", "us", "ns")
    },
    "datetime64[us, Berlin]": (
        pd.Series(DATES, dtype="datetime64[us]").dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
        [None if c is None else c.tz_localize("UTC") for c in DATES],
        (*DATE_KEYS, pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin")),
    ),
    "timestamp with zone in Arrow": (
        arrow(DATES, pa.timestamp("us", "Asia/Tokyo")),
        [None if c is None else c.tz_localize("UTC") for c in DATES],
        (pd.Timestamp("2020-01-01", tz="UTC"), stamp("2020-01-01")),
    ),
    "date32": (arrow([c and c.date() for c in DATES], pa.date32()), DATES, DATE_KEYS),
    "date64": (arrow([c and c.date() for c in DATES], pa.date64()), DATES, DATE_KEYS),
    **{
        f"timedelta64[{unit}]": (pd.Series(SPANS, dtype=f"timedelta64[{unit}]"), SPANS, SPAN_KEYS)
        for unit in ("s", "ms", "us", "ns")
    },
    "duration in Arrow": (arrow(SPANS, pa.duration("ms")), SPANS, SPAN_KEYS),
    "empty float": (pd.Series([], dtype="float64"), [], NUMBER_KEYS),
    "empty int": (pd.Series([], dtype="int64"), [], NUMBER_KEYS),
    "empty Arrow": (pd.Series([], dtype="int64[pyarrow]"), [], NUMBER_KEYS),
    "empty dates": (pd.Series([], dtype="datetime64[us]"), [], DATE_KEYS),
    "one row": (pd.Series([3]), [3], NUMBER_KEYS),
    "all null": (pd.Series([None, None], dtype="Int64"), [None, None], NUMBER_KEYS),
    "all nan": (pd.Series([np.nan, np.nan]), [None, None], NUMBER_KEYS),
    "all null in Arrow": (arrow([None, None], pa.float64()), [None, None], NUMBER_KEYS),
}

TEXT = ["b", None, "a", "", "b", "a\0b", "a\0c", "a", "zürich", "x" * 1_000_000]
TEXT_KEYS = ("a", "b", "a\0b", "x" * 1_000_000, "zürich", "nowhere", 1, "\ud800")
DICTIONARY = pd.Series(
    pd.arrays.ArrowExtensionArray(
        pa.chunked_array([pa.array(TEXT[:4]).dictionary_encode(), pa.array(TEXT[4:]).dictionary_encode()])
    )
)


def odd_dictionaries(times: int) -> tuple[pd.Series, list[Any], tuple[Any, ...]]:
    """The text so many times over; dictionaries list null, a text twice and texts that no row has, 15 entries in all."""
    chunks = [
        ([0, 1, 4, 2, 5], [*TEXT[:2], TEXT[3], "nowhere", TEXT[2], TEXT[0]]),
        ([], ["nowhere"]),
        ([1, 2, 0, 4, 6], [TEXT[7], *TEXT[5:7], None, TEXT[8], "a", TEXT[9], "nowhere"]),
    ]
    made = [
        pa.DictionaryArray.from_arrays(pa.array([0, *places * times], pa.uint8()), pa.array(texts, pa.large_string()))[
            1:
        ]
        for places, texts in chunks
    ]
    return (
        pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(made))),
        TEXT[:5] * times + TEXT[5:] * times,
        TEXT_KEYS,
    )


MIXED = ["a", 1, None, 2.5, np.nan, (1, 2), pd.NaT, pd.NA, "a", Decimal("NaN"), True, dt.date(2020, 1, 1)]
MIXED_TRUTH = ["a", 1, None, 2.5, None, (1, 2), None, None, "a", None, True, dt.date(2020, 1, 1)]

KEYED: dict[str, tuple[Any, list[Any], tuple[Any, ...]]] = {
    "str": (pd.Series(TEXT, dtype="str"), TEXT, TEXT_KEYS),
    "str in Python": (pd.Series(TEXT, dtype=STR_PYTHON), TEXT, TEXT_KEYS),
    "string[python]": (pd.Series(TEXT, dtype="string[python]"), TEXT, TEXT_KEYS),
    "string[pyarrow]": (pd.Series(TEXT, dtype="string[pyarrow]"), TEXT, TEXT_KEYS),
    "str in Arrow memory": (pd.Series(TEXT, dtype=STR_ARROW), TEXT, TEXT_KEYS),
    "Arrow string": (arrow(TEXT, pa.string()), TEXT, TEXT_KEYS),
    "slice of Arrow string": (arrow_slice(TEXT, pa.string()), TEXT, TEXT_KEYS),
    "Arrow large_string": (arrow(TEXT, pa.large_string()), TEXT, TEXT_KEYS),
    "Arrow string_view": (arrow(TEXT, pa.string_view()), TEXT, TEXT_KEYS),
    "Arrow dictionary": (DICTIONARY, TEXT, TEXT_KEYS),
    "odd dictionaries": odd_dictionaries(1),
    "short odd dictionaries": odd_dictionaries(3),
    "empty Arrow dictionary": (arrow([], pa.dictionary(pa.int8(), pa.string())), [], TEXT_KEYS),
    "dictionary of nothing": (arrow([None, None], pa.dictionary(pa.int8(), pa.string())), [None, None], TEXT_KEYS),
    "object": (pd.Series(TEXT, dtype=object), TEXT, TEXT_KEYS),
    "mixed objects": (pd.Series(MIXED, dtype=object), MIXED_TRUTH, ("a", 1.0, (1, 2), dt.date(2020, 1, 1))),
    "category of text": (pd.Series(TEXT, dtype="category"), TEXT, TEXT_KEYS),
    "category of numbers": (pd.Series(HOLED).astype("category"), HOLED, NUMBER_KEYS),
    "category of dates": (pd.Series(DATES).astype("category"), DATES, DATE_KEYS),
    "category of intervals": (
        pd.Series(pd.cut([1, 5, np.nan, 1], [0, 2, 9])),
        [pd.Interval(0, 2), pd.Interval(2, 9), None, pd.Interval(0, 2)],
        (pd.Interval(2, 9), pd.Interval(0, 2), 1),
    ),
    "category of objects": (
        pd.Series(pd.Categorical(["a", (1, 2), None], categories=pd.Index([(1, 2), "a"], tupleize_cols=False))),
        ["a", (1, 2), None],
        ((1, 2), "a"),
    ),
    "empty str": (pd.Series([], dtype="str"), [], TEXT_KEYS),
    "empty object": (pd.Series([], dtype=object), [], TEXT_KEYS),
    "empty category": (pd.Series([], dtype="category"), [], TEXT_KEYS),
    "empty Arrow string": (pd.Series([], dtype=pd.ArrowDtype(pa.string())), [], TEXT_KEYS),
}
ALL = {**NUMERIC, **KEYED}


def place(cell: Any, keys: tuple[Any, ...]) -> int:
    """Place of a cell among keys by Python's equality, -1 where it is not listed."""
    for i, key in enumerate(keys):
        if isinstance(cell, Decimal) and isinstance(key, float):
            key = Decimal(str(key))  # a float stands for its shortest decimal
        same_kind = isinstance(cell, dt.date | dt.timedelta | str) == isinstance(key, dt.date | dt.timedelta | str)
        if same_kind and key == cell:
            return i
    return -1


def same_groups(codes: list[int], cells: list[Any]) -> bool:
    """Whether codes are a renaming of the distinct cells, with -1 for None."""
    pairs = {(code, cell) for code, cell in zip(codes, cells, strict=True)}
    return len(pairs) == len({p[0] for p in pairs}) == len({p[1] for p in pairs}) and all(
        (code == -1) == (cell is None) for code, cell in pairs
    )

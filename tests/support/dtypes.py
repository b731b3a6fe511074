"""Every dtype that a column can have, and the same small cells in each."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ARROW = [f"{name}[pyarrow]" for name in [*INTEGERS, "float", "double", "bool"]]
NUMBERS = [*INTEGERS, "float32", "float64", "bool", "Int8", "Int64", "UInt32", "Float32", "Float64", "boolean", *ARROW]
DECIMALS = [pd.ArrowDtype(pa.decimal128(12, 2))]
TIMES = [f"datetime64[{u}]" for u in ("s", "ms", "us", "ns")] + [
    "datetime64[us, Europe/Berlin]",
    "timedelta64[s]",
    "timedelta64[ns]",
    pd.ArrowDtype(pa.timestamp("us")),
    pd.ArrowDtype(pa.duration("ms")),
    pd.ArrowDtype(pa.date32()),
]
TEXTS = ["str", "string", "category", "object", "string[pyarrow]"]


def column(cells: list[int | None], dtype: object) -> pd.Series:
    """The same small numbers in any dtype; where a dtype has no missing value, 0 stands for it."""
    name = str(dtype)
    if name in TEXTS:
        return pd.Series([None if c is None else f"k{c}" for c in cells], dtype=dtype)
    if "bool" in name:
        cells = [None if c is None else bool(c % 2) for c in cells]
    if name in [*INTEGERS, "bool"]:
        return pd.Series([0 if c is None else c for c in cells], dtype=dtype)
    if "decimal" in name:
        return pd.Series([None if c is None else Decimal(c) / 4 for c in cells], dtype=dtype)
    if "datetime" in name or "timestamp" in name or "date32" in name:
        stamps = pd.Series([None if c is None else pd.Timestamp("2013-01-01") + pd.Timedelta(days=c) for c in cells])
        stamps = stamps.astype("datetime64[us]")
        return stamps.dt.tz_localize(dtype.split()[1][:-1]) if "Berlin" in name else stamps.astype(dtype)
    if "timedelta" in name or "duration" in name:
        spans = pd.Series([None if c is None else pd.Timedelta(days=c) for c in cells])
        return spans.astype("timedelta64[s]").astype(dtype)
    return pd.Series(cells, dtype=dtype)

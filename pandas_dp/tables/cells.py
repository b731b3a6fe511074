"""Cells in the type that is declared: moments and spans as whole ticks of a unit, structures and lists of Arrow part by part.

Arrow takes the type of a part of a table from its cells. For all columns: whether a field or an entry is there follows from its
own row alone.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pandas_dp.core.interrupts import stop
from pandas_dp.engines.encode import NANOSECONDS
from pandas_dp.facts.kinds import DATE
from pandas_dp.steps.odd_cells import bare

MISSING, LARGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
# as pandas writes it, and Dask makes text of it
SPAN = re.compile(r"-?\d+ days( [+-]?\d{2}:\d{2}:\d{2}(\.\d{1,9})?)?", re.ASCII)
MOMENTS = (dt.date, np.datetime64)  # a timestamp is a date, too
SPANS = (dt.timedelta, np.timedelta64)


def moment_of(cell: Any, unit: str) -> int:
    """Ticks of a moment, one without a time zone being that of UTC; `MISSING` for whatever is none."""
    cell = bare(cell)
    if type(cell) is str:
        cell = cell.strip()
        if not DATE.fullmatch(cell):
            return MISSING
    elif not issubclass(type(cell), MOMENTS):
        return MISSING
    with contextlib.suppress(BaseException):  # out of range, or of a time zone with code of its own
        moment = pd.Timestamp(cell)
        return _ticks(moment if moment.tz is None else moment.tz_convert("UTC").tz_localize(None), unit)
    stop()
    return MISSING


def span_of(cell: Any, unit: str) -> int:
    """Ticks of a span; `MISSING` for whatever is none."""
    with contextlib.suppress(BaseException):  # out of range, or of a class with code of its own
        cell = bare(cell)
        written = type(cell) is str and SPAN.fullmatch(cell.strip())
        return _ticks(pd.Timedelta(cell), unit) if written or issubclass(type(cell), SPANS) else MISSING
    stop()
    return MISSING


def _ticks(moment: Any, unit: str) -> int:
    if moment is pd.NaT:
        return MISSING
    ticks = int(moment.asm8.view("i8")) * NANOSECONDS[moment.unit] // NANOSECONDS[unit]
    return ticks if abs(ticks) <= LARGEST else MISSING


Conform = Callable[["pd.Series[Any]", Any], "pd.Series[Any]"]


def by_parts(column: pd.Series[Any], dtype: Any, conform: Conform) -> pd.Series[Any] | None:
    """A column of structures or lists; None where it is none, or is declared to be none.

    Parameters
    ----------
    column : Series
    dtype : dtype
        The declared one.
    conform : callable
        Puts a column of fields or entries into a dtype, cell by cell.
    """
    held: Any = getattr(dtype, "pyarrow_dtype", None)
    own: Any = getattr(column.dtype, "pyarrow_dtype", None)
    if None in (held, own) or not any(kind(held) and kind(own) for kind in (is_list, pa.types.is_struct)):
        return None

    def part(cells: Any, wanted: pa.DataType) -> Any:
        column: Any = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([cells])))
        found: Any = conform(column, pd.ArrowDtype(wanted))
        return pa.chunked_array(found.array.__arrow_array__()).combine_chunks()

    array: Any = column.array
    cells = pa.chunked_array(array.__arrow_array__()).combine_chunks()
    if is_list(held):
        sizes = pc.list_value_length(cells).fill_null(0).to_numpy(zero_copy_only=False)
        ends = pa.array(np.append(0, np.cumsum(sizes)), pa.int64())
        entries = part(pc.list_flatten(cells), held.value_type)
        made = pa.LargeListArray.from_arrays(ends, entries, mask=cells.is_null()).cast(held)
    else:
        places = [own.get_field_index(field.name) for field in held]
        fields = [
            part(pc.struct_field(cells, [place]) if place >= 0 else pa.nulls(len(cells), field.type), field.type)
            for place, field in zip(places, held, strict=True)
        ]
        made = pa.StructArray.from_arrays(fields, fields=list(held), mask=cells.is_null())
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([made])))


def is_list(held: pa.DataType) -> bool:
    """Whether a type is that of lists, in a layout that has kernels."""
    return bool(pa.types.is_list(held) or pa.types.is_large_list(held))

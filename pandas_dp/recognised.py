"""Arguments that are private: tables and columns that are protected, or were made of what is, told by mark or memory.

This catches mistakes of people who may see the rows, before anything is charged. It decides nothing else: an argument that was
made of private cells is no public fact, whether or not it is recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.extensions import ExtensionArray

from pandas_dp.protected import ATTRIBUTE
from pandas_dp.public_arguments import GUARDS
from pandas_dp.session import Session
from pandas_dp.tables import held

TICKS = (("s", 1), ("ms", 1), ("us", 1), ("ns", 1))


def mark_of(frame: pd.DataFrame | pd.Series[Any]) -> str | None:
    """The mark that pandas hands on from a protected table to whatever is made of it."""
    return str(frame.attrs[ATTRIBUTE]) if ATTRIBUTE in frame.attrs else None


def is_protected(held: Any) -> bool:
    """Whether a table or column is protected or was made of what is, by its mark or its memory; see `lists`."""
    if not isinstance(held, pd.DataFrame | pd.Series):
        return lists(held)
    columns = [held] if isinstance(held, pd.Series) else (held.iloc[:, place] for place in range(held.shape[1]))
    return mark_of(held) is not None or any(map(holds, columns))


GUARDS.append(is_protected)


def holds(column: pd.Series[Any]) -> bool:
    """Whether a Series is a column of a protected table, by its memory; a copy with other values is not recognised."""
    return next(owners(column), None) is not None


def lists(values: pd.Index[Any] | np.ndarray[Any, Any] | ExtensionArray) -> bool:
    """Whether an array or index is the memory of a protected column, or its categories, which may be what it holds.

    Copies are not recognised, so neither is what ``unique`` made, but that of a column of categories keeps them.
    """
    named = getattr(values, "categories", values)  # of categories also as an index
    known = (table.column(name).dtype for table in held() for name in table.source.columns)
    if any(isinstance(dtype, pd.CategoricalDtype) and dtype.categories is named for dtype in known):
        return True
    if (
        values.ndim != 1
        or isinstance(values, pd.MultiIndex)
        or (isinstance(values, np.ndarray) and not _kept(values.dtype))
    ):
        return False
    return holds(pd.Series(values, dtype=object if values.dtype == object else None, copy=False))


def _kept(dtype: np.dtype[Any]) -> bool:
    """Whether pandas keeps numbers of a dtype as they are, which it does not texts, records, days and years."""
    return dtype.kind in "biufO" or (dtype.kind in "mM" and np.datetime_data(dtype) in TICKS)


def owners(column: pd.Series[Any]) -> Iterator[Session]:
    """Sessions with a table that a Series is a column of, by its memory."""
    for table in held():
        if any(same_storage(column.array, table.column(name).array) for name in table.source.columns):
            yield table.session


def same_storage(a: Any, b: Any) -> bool:
    """Whether two columns are the same memory: by address, never by content."""
    if type(a) is not type(b) or len(a) != len(b) or not len(a):  # nothing lies at the address of no cells
        return False
    if isinstance(a, np.ndarray):
        return _same_memory(a, b)
    if isinstance(a, pd.Categorical):
        return a.categories is b.categories and _same_memory(a.codes, b.codes)
    if isinstance(a, pd.arrays.IntervalArray):
        return (
            a.closed == b.closed
            and same_storage(a.left.array, b.left.array)
            and same_storage(a.right.array, b.right.array)
        )
    if isinstance(a, pd.arrays.SparseArray):
        return a.dtype == b.dtype and a.sp_index is b.sp_index and _same_memory(a.sp_values, b.sp_values)
    if isinstance(a, pd.arrays.DatetimeArray | pd.arrays.TimedeltaArray | pd.arrays.PeriodArray):
        return a.dtype == b.dtype and _same_memory(*(getattr(x, "asi8") for x in (a, b)))  # noqa: B009 - not in the stubs
    if hasattr(a, "_mask"):
        return _same_memory(a._data, b._data) and _same_memory(a._mask, b._mask)
    if hasattr(a, "_pa_array"):
        return _same_buffers(a._pa_array, b._pa_array)
    if isinstance(a, pd.arrays.NumpyExtensionArray) or hasattr(a, "_ndarray"):
        return _same_memory(a.to_numpy(copy=False), b.to_numpy(copy=False))
    return False


def _same_memory(a: Any, b: Any) -> bool:
    x, y = np.asarray(a).__array_interface__, np.asarray(b).__array_interface__
    # beside the address stands whether it may be written, which views of one memory do not agree on
    return x["data"][0] == y["data"][0] and all(x[part] == y[part] for part in ("shape", "strides", "typestr"))


def _same_buffers(a: pa.ChunkedArray, b: pa.ChunkedArray) -> bool:
    """Whether two Arrow columns lie in the same memory; before version 3.1 each view of pandas' wraps it anew."""
    return a is b or (a.type == b.type and _addresses(a.chunks) == _addresses(b.chunks))


def _addresses(chunks: Iterable[pa.Array]) -> list[Any]:
    """Where each chunk that holds rows begins and ends, and at what addresses its buffers and its dictionary lie."""
    return [
        (
            chunk.offset,
            len(chunk),
            [buffer and buffer.address for buffer in chunk.buffers()],
            _addresses([chunk.dictionary]) if pa.types.is_dictionary(chunk.type) else None,
        )
        for chunk in chunks
        if len(chunk)
    ]

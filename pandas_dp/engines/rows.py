"""Rows taken out of a table so that no cell, dictionary or chunk of Arrow decides whether that works."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray


def rows_at(frame: pd.DataFrame, places: NDArray[np.integer[Any]]) -> pd.DataFrame:
    """Rows at ascending places, which may repeat, shape (places, columns), as ``DataFrame.take`` has them.

    For all tables. ``take`` itself puts the chunks of an Arrow column together, which fails where their dictionaries are too
    long for one, as a row more can make them; and for types without a kernel it fails unless the rows are a range of them.
    """
    arrow = {
        place: frame.iloc[:, place].array.__arrow_array__()
        for place, dtype in enumerate(frame.dtypes)
        if isinstance(dtype, pd.ArrowDtype)
    }
    apart = {place: column for place, column in arrow.items() if column.num_chunks > 1 or not has_kernel(column.type)}
    if not apart:
        return frame.take(places)
    bare = frame.copy(deep=False)
    for place in apart:  # by place, for names may be of any type
        bare.isetitem(place, False)
    result = bare.take(places)
    for place, column in apart.items():
        result.isetitem(place, pd.arrays.ArrowExtensionArray(_taken(column, places)))
    return result


def has_kernel(dtype: pa.DataType) -> bool:
    """Whether Arrow can take entries of this type: of views and of run-end encoded ones it cannot."""
    try:
        pa.nulls(0, dtype).take(pa.array([], pa.int64()))
    except pa.ArrowNotImplementedError:
        return False
    return True


def _taken(column: pa.ChunkedArray, places: NDArray[np.integer[Any]]) -> pa.ChunkedArray:
    """Entries at ascending places, chunk by chunk; one by one where there is no kernel."""
    starts = np.cumsum([0, *map(len, column.chunks)])
    cuts = np.searchsorted(places, starts)
    known, pieces = has_kernel(column.type), []
    for chunk, start, first, last in zip(column.chunks, starts[:-1], cuts[:-1], cuts[1:], strict=True):
        own = places[first:last] - start
        pieces += [chunk.take(pa.array(own))] if known else [chunk.slice(place, 1) for place in own.tolist()]
    return pa.chunked_array(pieces, column.type)

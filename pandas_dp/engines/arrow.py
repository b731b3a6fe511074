"""Columns of Arrow, chunk by chunk: text in dictionaries, and rows taken out so that no cell or chunk decides whether it works.

For all inputs a dictionary is a way to store text and no more. Whatever it lists, null, a text twice or texts that no row has,
a row's value is what stands at its place, and missing where it has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MOST = 2**31 - 1  # bytes in a chunk of text


def is_text(held: pa.DataType) -> bool:
    """Whether a type is that of text, in a layout that Arrow has kernels for."""
    return bool(pa.types.is_string(held) or pa.types.is_large_string(held))


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values themselves, in more chunks where they are too long for one."""
    if not pa.types.is_dictionary(column.type):
        return column
    plain, chunks = column.type.value_type, []
    long = is_text(plain) or pa.types.is_binary(plain) or pa.types.is_large_binary(plain)
    for chunk in column.chunks:
        longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() if long else None
        rows = max(1, MOST // (longest or 1))
        chunks += [chunk.slice(at, rows).dictionary_decode() for at in range(0, len(chunk), rows)]
    return pa.chunked_array(chunks, plain)


def places_in(listed: pa.Array, column: pa.ChunkedArray, dtype: np.dtype[Any]) -> NDArray[np.signedinteger[Any]]:
    """Place of each value in a list that ends with null, -1 where it is not there, shape (rows,).

    Dictionaries that are together no longer than the column are all that is looked up.
    """
    parts = [chunk.dictionary for chunk in column.chunks] if pa.types.is_dictionary(column.type) else []
    short = 0 < sum(map(len, parts)) <= len(column)
    looked = pa.chunked_array(parts) if short else decoded(column)
    found = pc.index_in(looked, value_set=listed).fill_null(-1)
    codes: NDArray[np.signedinteger[Any]] = found.to_numpy().astype(dtype)  # narrow: they are kept
    if not short:
        return codes
    own = map(pa.array, np.split(codes, np.cumsum([*map(len, parts)])[:-1]))
    taken = [part.take(chunk.indices) for part, chunk in zip(own, column.chunks, strict=True)]
    return pa.chunked_array(taken).fill_null(len(listed) - 1).to_numpy()  # type: ignore[no-any-return]


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

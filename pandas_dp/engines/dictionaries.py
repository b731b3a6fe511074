"""Text whose cells are places in a dictionary, one for each chunk, as files mostly hold it.

For all inputs a dictionary is a way to store text and no more. Whatever it lists, null, a text twice or texts that no row has,
a row's value is what stands at its place, and missing where it has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
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


def places_in(listed: list[Any], column: pa.ChunkedArray, dtype: np.dtype[Any]) -> NDArray[np.signedinteger[Any]]:
    """Place of each value in a list that ends with null, -1 where it is not there, shape (rows,).

    Dictionaries that are together no longer than the column are all that is looked up.
    """
    parts = [chunk.dictionary for chunk in column.chunks] if pa.types.is_dictionary(column.type) else []
    short = 0 < sum(map(len, parts)) <= len(column)
    looked = pa.chunked_array(parts) if short else decoded(column)
    found = pc.index_in(looked, value_set=pa.array(listed, looked.type)).fill_null(-1)
    codes: NDArray[np.signedinteger[Any]] = found.to_numpy().astype(dtype)  # narrow: they are kept
    if not short:
        return codes
    own = map(pa.array, np.split(codes, np.cumsum([*map(len, parts)])[:-1]))
    taken = [part.take(chunk.indices) for part, chunk in zip(own, column.chunks, strict=True)]
    return pa.chunked_array(taken).fill_null(len(listed) - 1).to_numpy()  # type: ignore[no-any-return]

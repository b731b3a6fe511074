"""Columns of Arrow, chunk by chunk: text in dictionaries, and rows taken out so that no cell or chunk decides whether it works.

For all inputs a dictionary is a way to store text and no more. Whatever it lists, null, a text twice or texts that no row has,
a row's value is what stands at its place, and missing where it has none. What is read of a cell, and whether it is missing, is
that of its own cell, whatever the others are.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

DIGITS = 76  # of a decimal, which are as many as Arrow holds
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


def read_decimals(cells: pa.ChunkedArray, missing: Any) -> tuple[Any, int]:
    """Digits of each cell, put together of the words in which Arrow holds them, shape (n,), and how many are decimal places."""
    # narrow ones have no kernels
    held = cells.type if cells.type.bit_width >= 128 else pa.decimal128(38, cells.type.scale)
    words = held.bit_width // 64
    parts = [np.empty((0, words), np.int64)]
    for chunk in cells.cast(held).chunks:
        read = np.frombuffer(chunk.buffers()[1], np.int64)[chunk.offset * words : (chunk.offset + len(chunk)) * words]
        parts.append(read.reshape(-1, words))
    found = np.where(missing[:, None], 0, np.concatenate(parts))
    digits = found[:, -1].astype(object)
    for place in reversed(range(words - 1)):
        digits = digits * 2**64 + found[:, place].astype(np.uint64).astype(object)
    return digits * 10 ** max(-held.scale, 0), max(held.scale, 0)


def write_decimals(digits: Any, missing: Any, scale: int) -> Any:
    """An array of decimals of one width, whatever they are: what has more digits is missing."""
    cells = [
        None if gone or abs(cell) >= 10**DIGITS else Decimal(f"{cell}E-{scale}")
        for cell, gone in zip(digits, missing, strict=True)
    ]
    return pd.arrays.ArrowExtensionArray(pa.array(cells, pa.decimal256(DIGITS, scale)))


def nulls_in(cells: Any) -> NDArray[np.bool_]:
    """Which entries of an array are null, by the value that each stands for.

    For all arrays. Runs, unions and dictionaries may keep no nulls of their own: older versions of Arrow then call no entry
    null, whatever it stands for, and mistake the entries of a union that does not start at its first one. Of a dictionary that
    lists a null, pandas says what that is by whether another cell is missing.
    """
    held, first, last = cells.type, cells.offset, cells.offset + len(cells)
    if pa.types.is_dictionary(held):
        places = cells.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        listed = np.append(nulls_in(cells.dictionary), True)  # the last for entries without a place
        return np.asarray(listed.take(places.astype(np.int64), mode="wrap"))
    if pa.types.is_run_end_encoded(held):
        runs = np.searchsorted(cells.run_ends.to_numpy(), np.arange(first, last), side="right")
        return nulls_in(cells.values).take(runs)
    if not pa.types.is_union(held) or not len(cells):
        return np.asarray(cells.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    codes, *offsets = cells.buffers()[1 : 2 + (held.mode == "dense")]
    places = np.frombuffer(offsets[0], np.int32)[first:last] if offsets else np.arange(len(cells))
    missing, codes = np.empty(len(cells), dtype=bool), np.frombuffer(codes, np.int8)[first:last]
    for number, code in enumerate(held.type_codes):
        missing[codes == code] = nulls_in(cells.field(number)).take(places[codes == code])
    return missing

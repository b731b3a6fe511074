"""Odd cells, read one by one: text and numbers of classes of their own, decimals of Arrow, and what Arrow does not call null.

For all inputs: what is read of a cell, and whether it is missing, is that of its own cell, whatever the others are.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

DIGITS = 76  # of a decimal, which are as many as Arrow holds


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


BASES: dict[type, Any] = {str: str.__str__, int: int.__int__, float: float.__float__, complex: complex.__complex__}


def bare(cell: Any) -> Any:
    """Text or a number of a subclass, such as a member of an enumeration, as that of its base; any other cell as it is.

    Pandas makes columns of text and numbers of these, and of objects where one other cell is beside them. By the method of the
    base itself, so that no code of the subclass runs.
    """
    for base, plain in BASES.items():
        if issubclass(type(cell), base) and type(cell) is not bool:
            return plain(cell)
    return cell


Mask = npt.NDArray[np.bool_]


def nulls_in(cells: Any) -> Mask:
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

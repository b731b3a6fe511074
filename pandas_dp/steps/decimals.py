"""Decimals of Arrow as integers of Python and back.

For all inputs: each integer is that of its own cell, whatever the others are.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
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

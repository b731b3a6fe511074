"""Which values of a column can be listed as keys: codes for all rows, values only for those that are listed.

All of it depends on the values of cells alone; what codes there are, and their order, says nothing to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pandas_dp.core.lattice import present_mask
from pandas_dp.core.measurement import Names
from pandas_dp.engines.encode import NANOSECONDS, SECONDS_A_DAY, ArrowValues, Coded, Numbers, Stored
from pandas_dp.engines.numeric import dense, hashable_floats

Found = tuple[NDArray[np.int64], int, Names]
Places = NDArray[np.intp]
# classes one by one: numpy counts durations among its integers
NUMBERS = (int, float, bool, *(np.dtype(code).type for code in "?bhilqBHILQefdg"))
A_DAY = SECONDS_A_DAY * NANOSECONDS["s"]
MOST_BITS = 1024  # of a whole number that is a key: at no setting does Python refuse to write it


def found_keys(column: Stored) -> Found:
    """Code of each row (-1: no key), number of codes, and what they stand for.

    Numbers, the whole ones as integers whatever the dtype, bools as 0 and 1, dates and durations in nanoseconds, decimals as
    float64; text. Of objects and categories text and whole numbers are keys, and all else is none, whatever other rows hold:
    1.0 and True are the key 1. Of categories the forms are looked at, which the list decides as little (see `canonical`).
    Dates and durations that int64 cannot hold in nanoseconds are none: they would all become one key that no row holds. So are
    dates of the first and the last day that it holds: they have no label in some time zones.
    """
    if isinstance(column, Coded):
        return _of_objects(column)
    if isinstance(column, ArrowValues) and column.kind.name == "key":
        return _of_text(column)
    return _of_numbers(column.numbers())


def combined(columns: Sequence[Found]) -> Found:
    """Codes of the combinations of some columns, and lists of cells that they stand for; a row without a key in one has none.

    For all inputs: two rows have one code if and only if they have one code in every column, so no other row plays a part.
    Codes are dense again after each column, so none of the pairs below reaches the square of the number of rows or codes.
    """
    codes, count, _ = columns[0]
    for more, size, _ in columns[1:]:
        codes, count = dense(codes * size + more, (codes >= 0) & (more >= 0))

    def names(wanted: Places) -> list[Any]:
        rows = _rows(codes, count)[wanted]
        return [list(cells) for cells in zip(*(own(each[rows]) for each, _, own in columns), strict=True)]

    return codes, count, names


def _of_numbers(column: Numbers) -> Found:
    values, mask = column.raw()
    present = present_mask(values, mask)
    if column.unit is not None:
        last = np.iinfo(np.int64).max - (A_DAY if column.kind.name == "datetime" else 0)
        within: NDArray[np.bool_] = np.less(values, last) & np.greater(values, -last - 1)
        present = within if present is None else present & within
    codes, count = dense(hashable_floats(values), present)

    def names(wanted: Places) -> list[Any]:
        # whole ones as integers: a column of these is one of floats as soon as a row misses its own
        return [int(n) if n % 1 == 0 and abs(n) < 2**64 else n for n in values[_rows(codes, count)[wanted]].tolist()]

    return codes, count, names


def _of_text(column: ArrowValues) -> Found:
    codes, count = column.units()

    def names(wanted: Places) -> list[Any]:
        texts = column.column.take(pa.array(_rows(codes, count)[wanted])).cast(pa.large_string())
        # nobody checked that it is UTF-8: bytes that are not become surrogates, different ones for different bytes
        return [cell.decode("utf-8", "surrogateescape") for cell in texts.cast(pa.large_binary()).to_pylist()]

    return codes, count, names


def _of_objects(column: Coded) -> Found:
    """Cells become plain text and integers before they get codes: others may equal what they are not."""
    source = column.values.cells if column.cells is None else column.cells
    plain = np.empty(source.size + 1, dtype=object)  # the last stays None: see `Coded.of_objects`
    plain[:-1] = [_key(cell) for cell in source]
    codes, cells = pd.factorize(plain)  # shape (cells + 1,), shape (keys,)
    # the last is that of rows without a cell
    codes = codes[:-1] if column.cells is not None else codes.take(np.maximum(column.codes, -1), mode="wrap")

    def names(wanted: Places) -> list[Any]:
        return cells[wanted].tolist()  # type: ignore[no-any-return]

    return codes.astype(np.int64), len(cells), names


def _rows(codes: NDArray[np.int64], count: int) -> Places:
    """A row of each code; one place more takes the rows without."""
    rows = np.zeros(count + 1, dtype=np.intp)
    rows[codes] = np.arange(codes.size)
    return rows


def _key(cell: Any) -> str | int | None:
    """The key that an object cell is, in a class without code of its own; None for none."""
    kind = type(cell)
    if issubclass(kind, str):
        return str.__str__(cell)
    if not any(kind is known for known in NUMBERS):
        return None
    try:
        number = int(cell)
    except (ValueError, OverflowError):  # nan, infinity
        return None
    return number if number == cell and number.bit_length() <= MOST_BITS else None

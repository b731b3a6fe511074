"""Which values of a column can be listed as keys: codes for all rows, values only for those that are listed.

All of it depends on the values of cells alone; what codes there are, and their order, says nothing to anybody.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pandas_dp.core.lattice import present_mask
from pandas_dp.core.measurement import Names
from pandas_dp.engines.encode import ArrowValues, Coded, Numbers, Objects, Stored
from pandas_dp.engines.numeric import dense, hashable_floats

Found = tuple[NDArray[np.int64], int, Names]
Places = NDArray[np.intp]


def found_keys(column: Stored) -> Found:
    """Code of each row (-1: no key), number of codes, and what they stand for.

    Numbers, bools as 0 and 1, dates and durations in nanoseconds, decimals as float64; text. Of objects and categories text
    and whole numbers are keys, and all else is none, whatever other rows hold.
    """
    if isinstance(column, Coded):
        return _of_objects(column)
    if isinstance(column, ArrowValues) and column.kind.name == "key":
        return _of_text(column)
    return _of_numbers(column.numbers())


def _of_numbers(column: Numbers) -> Found:
    values, mask = column.raw()
    codes, count = dense(hashable_floats(values), present_mask(values, mask))

    def names(wanted: Places) -> list[Any]:
        return [number + 0 for number in values[_rows(codes, count)[wanted]].tolist()]  # -0.0 becomes its equal, 0.0

    return codes, count, names


def _of_text(column: ArrowValues) -> Found:
    codes, count = column.units()

    def names(wanted: Places) -> list[Any]:
        texts = column.column.take(pa.array(_rows(codes, count)[wanted])).cast(pa.large_string())
        return [
            cell.decode("utf-8", "replace") for cell in texts.cast(pa.large_binary()).to_pylist()
        ]  # nobody checked it

    return codes, count, names


def _of_objects(column: Coded) -> Found:
    if column.cells is None:
        codes, cells = column.codes, cast(Objects, column.values).cells
    else:  # cells that Python finds equal, such as 1 and True, are told apart before they get codes
        plain = np.empty(column.cells.size + 1, dtype=object)  # the last stays None: see `Coded.of_objects`
        plain[:-1] = [cell if _listable(cell) else None for cell in column.cells]
        codes, cells = pd.factorize(plain)
        codes = codes[:-1]
    cells = np.asarray(cells, dtype=object)
    listable = np.array([*map(_listable, cells), False], dtype=bool)  # the last for rows without a code
    codes = np.where(listable.take(np.maximum(codes, -1), mode="wrap"), codes, -1).astype(np.int64)

    def names(wanted: Places) -> list[Any]:
        return [str.__str__(cell) if isinstance(cell, str) else int(cell) for cell in cells[wanted]]

    return codes, cells.size, names


def _rows(codes: NDArray[np.int64], count: int) -> Places:
    """A row of each code; one place more takes the rows without."""
    rows = np.zeros(count + 1, dtype=np.intp)
    rows[codes] = np.arange(codes.size)
    return rows


def _listable(cell: Any) -> bool:
    """Whether an object cell is a key that can be listed; True would be an int, too."""
    return type(cell) is int or isinstance(cell, str | np.integer)

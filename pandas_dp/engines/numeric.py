"""Numbers of a column's dtype: which of them equals a key, and dense codes of distinct ones.

For all columns: a number equals a key or not by what it is itself, whatever stands in other rows. Codes say which rows hold
equal numbers and nothing else may be read from them: their order, and the way in which they are found, follow from the
whole column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.core.lattice import integer_info
from pandas_dp.core.partition import all_between

Mask = NDArray[np.bool_]


def as_dtype(dtype: np.dtype[Any], key: Any) -> float | None:
    """The number of a dtype that equals a key, or None; float dtypes round a fraction as == does, but to no whole number."""
    if dtype.kind != "f":
        info = integer_info(dtype)
        whole = int(key)
        return whole if whole == key and info.min <= whole <= info.max else None
    with np.errstate(over="ignore"):
        number = float(dtype.type(float(key)))
    return number if number == key or not (number.is_integer() or np.isinf(number) or np.isnan(number)) else None


def hashable_floats(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in a dtype that pandas can hash."""
    return values.astype(np.float32) if values.dtype == np.float16 else values


def dense(values: NDArray[Any], present: Mask | None) -> tuple[NDArray[np.int64], int]:
    """Codes 0..count-1 of distinct numbers, -1 where not present, and count: rows share one where their numbers are equal."""
    if present is not None:
        if not present.any():
            return np.full(values.size, -1, dtype=np.int64), 0
        values = np.where(present, values, values[present.argmax()])  # any value that is there anyway
    lattice = all_between(values, 4 * values.size)
    if lattice is not None:
        offsets = lattice.offsets(values)
        used = np.zeros(lattice.cells + 1, dtype=bool)
        used[offsets] = True
        ranks = np.cumsum(used, dtype=np.min_scalar_type(~values.size))  # narrow: four times as long as the column
        codes, count = ranks.take(offsets).astype(np.int64) - 1, int(ranks[-1])
    else:
        codes, distinct = pd.factorize(values)
        count = len(distinct)
    codes = codes.astype(np.int64, copy=False)
    if present is not None:
        np.copyto(codes, -1, where=~present)
    return codes, count

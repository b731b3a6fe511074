"""The sum of a column's lattice offsets, at about the speed of a plain sum, and of what `crossed` makes of them.

Where a whole chunk lies within the bounds and holds no NaN, which two reductions tell, no clip can change anything: then
one addition rounds every row to the lattice and the bits are added up as integers. Any other chunk goes the general
way. Both map each row to the same offset, so which way a chunk went cannot be seen in the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.lattice import Lattice, Raw, crossed, float_terms, integer_info, power_sums, shifted, within_bounds

CHUNK = 1 << 17  # rows handled at once: longer than elsewhere, as little is done to them
WRAP = 1 << 64

Inside = Callable[[NDArray[Any], NDArray[np.float64]], "list[int] | None"]


def offset_sum(lattice: Lattice, raw: Raw, degree: int = 1) -> list[int]:
    """Number of rows that hold a value, the sum of their offsets and, for degree 2, that of what `crossed` makes of them.

    Parameters
    ----------
    lattice : Lattice
    raw : (values, present)
    degree : {1, 2}

    Returns
    -------
    list of int
        For all inputs what `power_sums` returns.
    """
    values, present = raw
    quick = _quick(lattice, values.dtype, degree) if present is None else None
    sums, buffer = [0] * (degree + 1), np.empty(min(CHUNK, values.size))
    with np.errstate(all="ignore"):
        for at in range(0, values.size, CHUNK):
            part = values[at : at + CHUNK]
            found = None if quick is None else quick(part, buffer[: part.size])
            if found is None:
                found = power_sums(lattice, (part, None if present is None else present[at : at + CHUNK]), degree)
            sums = [total + more for total, more in zip(sums, found, strict=True)]
    return sums


@lru_cache(maxsize=256)
def _quick(lattice: Lattice, dtype: np.dtype[Any], degree: int) -> Inside | None:
    """Sums over a chunk that lies within the bounds, or None; no function where there is no quick way.

    It writes over a buffer of the chunk's size.
    """
    if dtype.kind in "iu" and dtype.itemsize > 1 and degree == 1:
        return _integers(lattice, dtype)
    terms = float_terms(lattice)
    if dtype.kind != "f" or terms is None:
        return None
    least, most, magic, origin = terms
    within, base = within_bounds(dtype, least, most), int(origin.view(np.int64))

    def quick(part: NDArray[Any], buffer: NDArray[np.float64]) -> list[int] | None:
        if not within(part):
            return None
        offsets, rows = shifted(part, magic, buffer).view(np.int64), part.size
        # int64 sums wrap modulo 2**64, and the true sum of offsets is below 2**17 * 2**31
        first = (int(np.add.reduce(offsets)) - rows * base) % WRAP
        if degree == 1:
            return [rows, first]
        offsets -= base
        return [rows, first, int(np.add.reduce(crossed(offsets, lattice)))]

    return quick


def _integers(lattice: Lattice, dtype: np.dtype[Any]) -> Inside | None:
    """For integers that are lattice points: offset = value / step - low, summed modulo 2**64."""
    info, steps = integer_info(dtype), 1 / lattice.step  # from one integer to the next
    first, last = max(-int(-lattice.lower // 1), int(info.min)), min(int(lattice.upper // 1), int(info.max))
    if steps.denominator != 1:
        return None
    factor, within = int(steps), within_bounds(dtype, first, last)

    def quick(part: NDArray[Any], _: NDArray[np.float64]) -> list[int] | None:
        if not within(part):
            return None
        total = int(np.add.reduce(part, dtype=np.uint64 if dtype.kind == "u" else np.int64))
        return [part.size, (total * factor - part.size * lattice.low) % WRAP]

    return quick

"""The sum of a column's lattice offsets, and of their squares, at about the speed of a plain sum.

Where a whole chunk lies within the bounds and holds no NaN, which two reductions tell, no clip can change anything: then
one addition rounds every row to the lattice and the bits are added up as integers. Any other chunk goes the general
way. Both map each row to the same offset, so which way a chunk went cannot be seen in the sum. Squares are added up in
floats, in runs of rows so short that every sum is a whole number of steps below 2**53: no order of adding them rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.lattice import Lattice, Raw, float_terms, integer_info, power_sums, shifted, within_bounds

CHUNK = 1 << 17  # rows handled at once: longer than elsewhere, as little is done to them
WRAP = 1 << 64
LONGEST_RUN = 1 << 12  # of squares: longer ones wake the threads of a BLAS

Inside = Callable[[NDArray[Any]], "list[int] | None"]


def offset_sum(lattice: Lattice, raw: Raw, degree: int = 1) -> list[int]:
    """Number of rows that hold a value, the sum of their offsets and, for degree 2, that of their squares.

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
    sums = [0] * (degree + 1)
    with np.errstate(all="ignore"):
        for at in range(0, values.size, CHUNK):
            part = values[at : at + CHUNK]
            found = None if quick is None else quick(part)
            if found is None:
                found = power_sums(lattice, (part, None if present is None else present[at : at + CHUNK]), degree)
            sums = [total + more for total, more in zip(sums, found, strict=True)]
    return sums


def _quick(lattice: Lattice, dtype: np.dtype[Any], degree: int) -> Inside | None:
    """Sums over a chunk that lies within the bounds, or None; no function where there is no quick way."""
    if dtype.kind in "iu" and dtype.itemsize > 1 and degree == 1:
        return _integers(lattice, dtype)
    terms = float_terms(lattice)
    if dtype.kind != "f" or terms is None:
        return None
    least, most, magic, origin = terms
    within, base, square = within_bounds(dtype, least, most), int(origin.view(np.int64)), float(lattice.step) ** -2
    buffer, run = np.empty(CHUNK), min((1 << 53) // lattice.cells**2, LONGEST_RUN)

    def quick(part: NDArray[Any]) -> list[int] | None:
        if not within(part):
            return None
        rounded = shifted(part, magic, buffer[: part.size])
        # int64 sums wrap modulo 2**64, and the true sum of offsets is below 2**17 * 2**31
        sums = [part.size, (int(np.add.reduce(rounded.view(np.int64))) - part.size * base) % WRAP]
        if degree == 2:
            rounded -= origin  # offset * step
            runs, rest = np.split(rounded, [part.size // run * run])
            # exact in floats, in any order: a run's sum is a whole number of steps squared, at most run * cells**2 <= 2**53
            squares = np.append(np.vecdot(*[runs.reshape(-1, run)] * 2), np.vecdot(rest, rest))  # shape (runs + 1,)
            sums.append(int((squares * square).astype(np.int64).sum()))
        return sums

    return quick


def _integers(lattice: Lattice, dtype: np.dtype[Any]) -> Inside | None:
    """For integers that are lattice points: offset = value / step - low, summed modulo 2**64."""
    first, last, factor = _integer_terms(lattice, dtype)
    if factor is None:
        return None
    within = within_bounds(dtype, first, last)

    def quick(part: NDArray[Any]) -> list[int] | None:
        if not within(part):
            return None
        total = int(np.add.reduce(part, dtype=np.uint64 if dtype.kind == "u" else np.int64))
        return [part.size, (total * factor - part.size * lattice.low) % WRAP]

    return quick


@lru_cache(maxsize=256)
def _integer_terms(lattice: Lattice, dtype: np.dtype[Any]) -> tuple[int, int, int | None]:
    """First and last integer within the bounds, and steps from one integer to the next if they are whole."""
    info, factor = integer_info(dtype), 1 / lattice.step
    first, last = max(-int(-lattice.lower // 1), int(info.min)), min(int(lattice.upper // 1), int(info.max))
    return first, last, int(factor) if factor.denominator == 1 else None

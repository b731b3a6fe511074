"""The sum of a column's lattice offsets, at about the speed of a plain sum.

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

from pandas_dp.core.lattice import FAR, Lattice, Raw, integer_info, power_sums

CHUNK = 1 << 16
WRAP = 1 << 64

Inside = Callable[[NDArray[Any]], "int | None"]


def offset_sum(lattice: Lattice, raw: Raw) -> tuple[int, int]:
    """Number of rows that hold a value, and the sum of their offsets.

    Parameters
    ----------
    lattice : Lattice
    raw : (values, present)

    Returns
    -------
    rows, total : int
        For all inputs what `power_sums` of degree 1 returns.
    """
    values, present = raw
    quick = _quick(lattice, values.dtype) if present is None else None
    rows = total = 0
    with np.errstate(all="ignore"):
        for at in range(0, values.size, CHUNK):
            part = values[at : at + CHUNK]
            offsets = None if quick is None else quick(part)
            if offsets is None:
                here = None if present is None else present[at : at + CHUNK]
                counted, offsets = power_sums(lattice, (part, here), 1)
                rows += counted
            else:
                rows += part.size
            total += offsets
    return rows, total


def _quick(lattice: Lattice, dtype: np.dtype[Any]) -> Inside | None:
    """Sum of offsets of a chunk that lies within the bounds, or None; no function where there is no quick way."""
    if dtype.kind in "iu" and dtype.itemsize > 1:
        return _integers(lattice, dtype)
    terms = _float_terms(lattice)
    if dtype.kind != "f" or terms is None:
        return None
    least, most, magic, base = terms
    buffer = np.empty(CHUNK)
    # bits of non-negative floats, as unsigned integers, are in the floats' order; signs and NaN lie above them all
    top = most.view(np.uint64) if least == 0 and dtype == np.float64 else None

    def quick(part: NDArray[Any]) -> int | None:
        if top is not None and part.flags.c_contiguous:
            inside = np.maximum.reduce(part.view(np.uint64)) <= top
        else:  # false for NaN
            inside = np.minimum.reduce(part) >= least and np.maximum.reduce(part) <= most
        if not inside:
            return None
        bits = np.add(part, magic, out=buffer[: part.size]).view(np.int64)
        # int64 sums wrap modulo 2**64, and the true sum of offsets is below 2**16 * 2**31
        return (int(np.add.reduce(bits)) - part.size * base) % WRAP

    return quick


@lru_cache(maxsize=256)
def _float_terms(lattice: Lattice) -> tuple[np.float64, np.float64, np.float64, int] | None:
    """Lower and upper end, what is added to round to the lattice, and the bits of offset 0.

    The ends are float64: numpy would round a Python float to a narrower column before it compares the two.
    """
    power_of_two = all(x & (x - 1) == 0 for x in lattice.step.as_integer_ratio())
    if not power_of_two or abs(lattice.low) >= FAR:
        return None
    # value + magic lies in [2**52, 2**53) steps, where float64 holds multiples of the step only
    magic = np.float64(((1 << 52) - lattice.low) * lattice.step)
    base = int(np.float64((1 << 52) * lattice.step).view(np.int64))
    return np.float64(lattice.lower), np.float64(lattice.upper), magic, base


def _integers(lattice: Lattice, dtype: np.dtype[Any]) -> Inside | None:
    """For integers that are lattice points: offset = value / step - low, summed modulo 2**64."""
    first, last, factor = _integer_terms(lattice, dtype)
    if factor is None:
        return None

    def quick(part: NDArray[Any]) -> int | None:
        if not (first <= int(np.minimum.reduce(part)) and int(np.maximum.reduce(part)) <= last):
            return None
        total = int(np.add.reduce(part, dtype=np.uint64 if dtype.kind == "u" else np.int64))
        return (total * factor - part.size * lattice.low) % WRAP

    return quick


@lru_cache(maxsize=256)
def _integer_terms(lattice: Lattice, dtype: np.dtype[Any]) -> tuple[int, int, int | None]:
    """First and last integer within the bounds, and steps from one integer to the next if they are whole."""
    info, factor = integer_info(dtype), 1 / lattice.step
    first, last = max(-int(-lattice.lower // 1), int(info.min)), min(int(lattice.upper // 1), int(info.max))
    return first, last, int(factor) if factor.denominator == 1 else None

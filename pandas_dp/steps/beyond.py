"""Whole numbers beyond 2**53, of which float64 holds some: the float next to one, and the rest of it.

NumPy's integers are floats as soon as some row misses its own. So what is said of a cell may follow from the number that it
holds, not from which of the two holds it: 10**18 is to give what 1e18 gives. A cell that a float does not hold is one of int64
or uint64, and stays what it is. **The rule**, for all inputs and for both:

* within an expression, operations on whole numbers are exact, and so are comparisons, up to ``FAR``;
* of NumPy's dtypes, what is written is the float next to what was computed, as is a constant; a cell that was chosen is
  written as it is, unless it stands beside cells of another column, whose dtype could turn all of them into floats.

So ``data`` of `Values` is what is written, and ``rest`` what the number has beyond it. Operations that know no ``rest`` take
the written number, which is as much a fact of the row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pandas_dp.steps.values import Mask, Nulls, Values, nulls_among, numbers

WHOLE = 2**53  # below, each float is next to one integer alone
FAR = 2.0**106  # up to here two floats hold each integer
LEAST = np.iinfo(np.int64).min
_INT = np.frompyfunc(int, 1, 1)

CHANGES: dict[str, Any] = {
    "negative": np.frompyfunc(lambda number: number if number == LEAST else -number, 1, 1),  # as int64 has it
    "abs": np.frompyfunc(lambda number: number if number == LEAST else abs(number), 1, 1),
    "floor": _INT,
    "ceil": _INT,
}


def wide(floats: Any) -> Mask:
    """Which numbers are from `WHOLE` on, up to `FAR`."""
    size = np.abs(floats)
    return np.asarray((size >= WHOLE) & (size <= FAR))


def reaches(held: Any) -> bool:
    """Whether some number is from `WHOLE` on, which decides how long it takes, and nothing else."""
    if held.dtype.kind in "iu":
        return bool(held.size and (held.max() >= WHOLE or held.min() <= -WHOLE))
    return bool(np.any(held >= WHOLE) or np.any(held <= -WHOLE))


def integers(value: Values, rows: Mask) -> Any:
    """Whole numbers of some rows as Python's."""

    def taken(part: Any) -> Any:
        return _INT(np.broadcast_to(part, rows.shape)[rows])

    found = taken(value.floats() if value.scale else value.data)
    if value.infinite is not None:
        far = taken(value.infinite)
        found = np.where(far != 0, far, found)
    return found if value.rest is None else found + taken(value.rest)


def rest(value: Values) -> npt.NDArray[np.int64]:
    """What each number has beyond the float next to it."""
    floats = value.floats()
    found = np.zeros(floats.shape, np.int64)
    if value.data.dtype.kind == "f":
        return found if value.rest is None else value.rest
    rows = wide(floats)
    found[rows] = integers(value, rows) - _INT(floats[rows])
    return found


def exactly(change: Callable[..., Any], operands: Sequence[Values], sides: Sequence[Any], result: Any) -> Values:
    """What float64 makes of some numbers, and from `WHOLE` on what Python's integers are, where all of them are whole."""
    found = numbers(np.asarray(result), nulls_among(*operands))
    held = [v.data if v.data.dtype.kind in "iu" else side for v, side in zip(operands, sides, strict=True)]
    if not any(map(reaches, (found.data, *held))):
        return found
    size, *sizes = (np.abs(part) for part in np.broadcast_arrays(result, *sides))
    rows = functools.reduce(np.logical_or, [part >= WHOLE for part in (size, *sizes)]) & np.isfinite(size)
    for part in sizes:
        rows = rows & (part <= FAR) & (part == np.floor(part))
    exact = change(*(integers(operand, rows) for operand in operands))
    near = exact.astype(np.float64)
    data, beyond = np.array(found.data), np.zeros(size.shape, np.int64)
    data[rows], beyond[rows] = near, np.where(np.abs(near) <= FAR, exact - _INT(near), 0)
    return replace(found, data=data, rest=beyond)


def written(found: Values, kept: Any = False) -> Values:
    """Integers as the floats next to them and the rest, but for kept cells."""
    if found.nulls is not Nulls.NEVER or found.data.dtype.kind == "O" or not reaches(found.data):
        return found
    floats, most = found.data.astype(np.float64), np.nextafter(float(np.iinfo(found.data.dtype).max), 0)
    rows = wide(floats) & ~np.asarray(kept)
    near = np.where(rows, np.minimum(floats, most).astype(found.data.dtype), found.data)
    return replace(found, data=near, rest=(found.data - near).view(np.int64))


def merged(value: Values) -> Values:
    """Integers with what they have beyond what is written of them."""
    if value.rest is None:
        return value
    return replace(value, data=value.data + value.rest.astype(value.data.dtype), rest=None)

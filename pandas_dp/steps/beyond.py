"""Whole numbers beyond 2**53, of which float64 holds some: the float next to one, and the rest of it.

NumPy's integers are floats as soon as some row misses its own, and unsigned as soon as one is from 2**63 on. So what is said of
a cell may follow from the number that it holds, not from which of the three holds it: 10**18 is to give what 1e18 gives. A cell
that a float does not hold is one of int64 or uint64, and stays what it is. **The rule**, for all inputs and for all three:

* within an expression, operations on whole numbers are exact, and so are comparisons, up to ``FAR``;
* of NumPy's dtypes, what is written is the float next to what was computed, as is a constant; a cell that was chosen is
  written as it is, unless it stands beside cells of another column, whose dtype could turn all of them into floats, or beside
  a constant that int64 and uint64 do not both hold.

So ``data`` of `Values` is what is written, and ``rest`` what the number has beyond it. Operations that know no ``rest`` take
the written number, which is as much a fact of the row. The float next to what has a ``rest`` is always one that its dtype
holds: results that may lie next to 2**63, or change their sign, are written as floats (``Nulls.NAN``) by all three.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pandas_dp.steps.values import Mask, Nulls, Values, nulls_among, numbers

WHOLE = 2**53  # below, each float is next to one integer alone
FAR = 2.0**106  # up to here two floats hold each integer
LEAST = np.iinfo(np.int64).min
MOST = 2**63 - 1024  # the largest float that int64 holds
_INT = np.frompyfunc(int, 1, 1)
_MACHINE = operator.methodcaller("astype", np.int64)

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


def fits_both(number: float) -> bool:
    """Whether the float next to a number is one that int64 and uint64 both hold."""
    return 0 <= number <= MOST


def reaches(held: Any) -> bool:
    """Whether some number is from `WHOLE` on, which decides how long it takes, and nothing else."""
    if held.dtype.kind in "iu":
        return bool(held.size and (held.max() >= WHOLE or held.min() <= -WHOLE))
    return bool(held.size and (np.fmax.reduce(held, axis=None) >= WHOLE or np.fmin.reduce(held, axis=None) <= -WHOLE))


def may_tie(*sides: Values) -> bool:
    """Whether unequal numbers may be next to one float; it decides how long a comparison takes."""
    small = any(side.constant and not wide(side.floats()) for side in sides)
    return not small and any(side.data.dtype.kind != "f" or side.rest is not None for side in sides)


def may_have_rest(operand: Values, constant: Values) -> bool:
    """Whether numbers beside a constant may be more than the floats next to them."""
    held = operand.data
    more = operand.rest is not None or held.dtype.kind == "O" or (held.dtype.kind in "iu" and reaches(held))
    return bool(np.ndim(operand.missing)) and (more or bool(wide(constant.floats())))


def integers(value: Values, rows: Mask, convert: Callable[[Any], Any] = _INT) -> Any:
    """Whole numbers of some rows as integers, Python's or those of the machine."""

    def taken(part: Any) -> Any:
        return convert(np.broadcast_to(part, rows.shape)[rows])

    found = taken(value.floats() if value.scale else value.data)
    if value.infinite is not None:
        far = taken(value.infinite)
        found = np.where(far != 0, far, found)
    return found if value.rest is None else found + taken(value.rest)


def rest(value: Values) -> npt.NDArray[np.int64]:
    """What each number has beyond the float next to it; zero once where none has."""
    if value.data.dtype.kind == "f":
        return np.zeros((), np.int64) if value.rest is None else value.rest
    floats = value.floats()
    rows = wide(floats)
    found = np.zeros(floats.shape if rows.any() else (), np.int64)
    if rows.any():
        found[rows] = integers(value, rows) - _INT(floats[rows])
    return found


def exactly(
    change: Callable[..., Any], operands: Sequence[Values], sides: Sequence[Any], result: Any, only: Any = True
) -> Values:
    """What float64 makes of some numbers, and from `WHOLE` on what Python's integers are, where all of them are whole."""
    found = numbers(np.asarray(result), nulls_among(*operands))
    held = [v.data if v.data.dtype.kind in "iu" else side for v, side in zip(operands, sides, strict=True)]
    broken = any(
        operand.constant and not float(side).is_integer() for operand, side in zip(operands, sides, strict=True)
    )
    if broken or not any(map(reaches, held if len(held) == 1 else (found.data, *held))):
        return found
    size, *sizes = (np.abs(part) for part in np.broadcast_arrays(result, *sides))
    rows = functools.reduce(np.logical_or, [part >= WHOLE for part in (size, *sizes)]) & (size <= FAR) & only
    for part in sizes:
        rows = rows & (part <= FAR) & (part == np.floor(part))
    fits = all(part[rows].max(initial=0) < 2.0**62 for part in (size, *sizes))  # the machine's, which take less time
    convert = _MACHINE if fits else _INT
    exact = change(*(integers(operand, rows, convert) for operand in operands))
    near = exact.astype(np.float64)
    data, beyond = np.array(found.data), np.zeros(size.shape, np.int64)
    data[rows], beyond[rows] = near, exact - convert(near)
    return replace(found, data=data, rest=beyond)


def written(found: Values, kept: Any = False) -> Values:
    """Integers as the floats next to them and the rest, but for kept cells."""
    if found.nulls is not Nulls.NEVER or not reaches(found.data):
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

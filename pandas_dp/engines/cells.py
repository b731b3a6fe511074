"""Python objects as cells: what they are keyed by, so that no cell can end a query, or the process, by what it is.

For all cells: whether one is keyed follows from itself alone. What its own code raises means that it is not, and so does being
nested too deep: Python hashes a tuple by calling itself, without a look at its stack, so that one a million deep would end the
process, and tell that it is there.
"""

from __future__ import annotations

import datetime as dt
import gc
import types
import uuid
import weakref
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.core.interrupts import stop

Mask = NDArray[np.bool_]
Span = TypeVar("Span", pd.Timestamp, pd.Timedelta)

DEEPEST = 50
MOST = 10_000  # objects within one: a tuple that holds another one twice, 50 deep, is hashed, and copied, 2**50 times
MOST_COPIED = 1_000_000
FLOATS = (float, complex, Decimal)
TEXT = {str, types.NoneType, float, type(pd.NA), type(pd.NaT)}  # of text and missing values
BARE = TEXT | {bool, int, complex, bytes, dt.date, dt.timedelta, pd.Timedelta}  # without code that could raise
FLAT = BARE | {*np.sctypeDict.values()} - {np.void}  # holding no other objects, as far as their hash looks
FLAT |= {Decimal, Fraction, uuid.UUID, dt.datetime, dt.time, pd.Timestamp, pd.Period}
NAMED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)  # may hold anything
HIDDEN = (np.void, weakref.ReferenceType)  # whose hash looks at what they do not show


def finest(value: Span) -> Span:
    """A date or a duration in the finest unit that holds it: equal ones have one hash, also in years that Python has not."""
    for unit in ("ns", "us", "ms"):
        with suppress(ValueError):  # out of reach
            return value.as_unit(unit, round_ok=False)  # type: ignore[arg-type]
    return value.as_unit("s", round_ok=False)


def instant(cell: Any) -> pd.Timestamp:
    """A date in UTC where it has a time zone: an hour that its clocks show twice has another hash there."""
    stamp = pd.Timestamp(cell)
    return finest(stamp if stamp.tz is None else stamp.tz_convert("UTC"))


_PLAIN = (np.bool_, bool), (np.integer, int), (np.floating, float), (np.complexfloating, complex)
BUILTIN: dict[type, Any] = {k: plain for base, plain in _PLAIN for k in np.sctypeDict.values() if issubclass(k, base)}
# numpy counts durations among its integers
BUILTIN |= {np.timedelta64: pd.Timedelta, np.datetime64: instant, dt.datetime: instant, pd.Timestamp: instant}


def shallow(cell: Any, copied: bool = False) -> bool:
    """Whether a cell is nested at most `DEEPEST` deep and holds few objects, as far as its hash, or a copy, looks at them."""
    kind, count = type(cell), 0
    if kind in FLAT or (kind is tuple and len(cell) < MOST and FLAT.issuperset(map(type, cell))):
        return True
    most, leaf, level = (MOST_COPIED, _shared, [cell]) if copied else (MOST, _by_identity, [cell])
    for _ in range(DEEPEST):
        level = [one for one in level if type(one) not in FLAT and not leaf(type(one))]
        if not level:
            return True
        if any(isinstance(one, HIDDEN) for one in level):
            return False
        arrays = [one for one in level if issubclass(type(one), np.ndarray) and one.dtype.hasobject]
        level = gc.get_referents(*level) + [inner for one in arrays for inner in np.ndarray.ravel(one).tolist()]
        count += len(level)
        if count > most:
            return False
    return False


def _by_identity(kind: type) -> bool:
    return issubclass(kind, NAMED) or kind.__hash__ is object.__hash__


def _shared(kind: type) -> bool:
    """Whether a copy is the very object."""
    return issubclass(kind, NAMED[:-1])


def plain_text(cells: NDArray[np.object_]) -> bool:
    """Whether all cells are text, of no class of its own with an equality of its own, or missing."""
    with suppress(BaseException):  # the class of a cell's class may raise anything
        return TEXT.issuperset(map(type, cells)) and pd.api.types.infer_dtype(cells, skipna=True) in ("string", "empty")
    stop()
    return False


class Own:
    """A cell that has code: asked for its hash once, and equal to nothing where its equality raises.

    Pandas asks whatever falls into one place of its table of hashes whether it is equal. One that says so to all would make one
    unit of many, so a class of the user's own is asked of its own kind alone, and only about equal hashes.
    """

    __slots__ = ("cell", "code")

    def __init__(self, cell: Any) -> None:
        self.cell, self.code = cell, hash(cell)

    def __hash__(self) -> int:
        return self.code

    def __eq__(self, other: object) -> bool:
        cell = other.cell if type(other) is Own else other
        try:
            kinds = type(self.cell), type(cell)
            known = kinds[0] is kinds[1] or FLAT.issuperset(kinds)
            return known and self.code == hash(other) and bool(self.cell == cell)
        except BaseException:  # noqa: BLE001 - a cell's own code may raise anything
            stop()
            return False


def comparable(cells: NDArray[np.object_]) -> tuple[NDArray[np.object_], Mask]:
    """Cells in forms that pandas can code, None for those that are missing or cannot be keyed, and which can, shape (cells,).

    Numbers and dates of numpy's own classes become Python's or pandas', also within tuples. Numpy rounds what it compares:
    float32(0.1) equals 0.1, but has another hash, and a day equals a date and a timestamp that differ; so does a timestamp
    equal two times of day in different zones. Whether a table of hashes finds such two equal is decided by the rows beside.
    """
    formed, keyed = np.empty(cells.size, dtype=object), np.ones(cells.size, dtype=bool)
    for place, cell in enumerate(cells):
        try:
            if not shallow(cell):
                keyed[place] = False
            elif not (issubclass(type(cell), FLOATS) and cell != cell):
                formed[place] = _formed(cell)
        except BaseException:  # noqa: BLE001 - a cell's own code may raise anything
            stop()
            keyed[place] = False
    return formed, keyed


def _formed(cell: Any) -> Any:
    kind = type(cell)
    if kind in BARE or (kind is tuple and BARE.issuperset(map(type, cell))):
        return cell
    if kind is tuple:
        return tuple(map(_formed, cell))
    if kind not in BUILTIN:
        return Own(cell)
    try:
        return BUILTIN[kind](cell)
    except Exception:  # noqa: BLE001 - beyond the dates that pandas has, in a time zone of one's own
        return Own(cell)

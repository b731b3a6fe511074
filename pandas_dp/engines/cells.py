"""Python objects as cells: what they are keyed by, so that no cell can end a query, or the process, by what it is.

For all cells: whether one is keyed follows from itself alone. What its own code raises means that it is not, and so does being
nested too deep: Python hashes a tuple by calling itself, without a look at its stack, so that one a million deep would end the
process, and tell that it is there.

Category columns: one form for all cells that are equal, whichever of them the list of categories holds, and in what dtype.

Pandas makes the list of all rows. Of cells that are equal and have one hash it lists the first, so 1 may stand as True, as
Decimal(1) or as a member of an enumeration, and "a" as text of another class. Then it finds a dtype for all of them: whole
numbers become floats or complex where one row lacks one, rounded from 2**53 on, and dates get the finest unit of all.

For all cells c, and whatever a list holds in place of c, `canonical` gives both one form, or none. Case by case: text, bytes,
tuples and intervals are made of equal parts again; numbers are float64, to which pandas rounds them at most, and none from
2**53 on, where one may be another one rounded; dates and durations are an instant or a length in the finest unit that holds
them, and a date without a time is its midnight, for numpy finds one and the same equal to both; NA within a tuple is None. A
date whose clocks show its hour twice is the first of both, the one that its hash is made of: Python finds dates equal that
differ in `fold` alone, and a timestamp equal to one of them. One with nanoseconds, which equals no other, stays what it is. So
what is said of a row by forms depends on its own cell. Objects of other classes are equal by their own code, and shown to
nobody.

No form helps where equality is none. Numpy finds float32(0.1) equal to 0.1, and some durations to numbers and tuples, with
other hashes: then it depends on their places in a table of hashes whether pandas lists one for the other, as it does for a
timestamp in the second one of such hours and that instant in another zone. That takes a column of Python objects that holds
such a scalar of numpy, timestamps of several zones, a dtype or an offset, which equal text, or an object of one's own class
that equals what it is not.
"""

from __future__ import annotations

import datetime as dt
import gc
import io
import pickle
import types
import uuid
import weakref
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
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
SHARED = NAMED[:-1]  # of which a copy is the very object
BY_IDENTITY: Any = object.__hash__
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
    kind, count, level = type(cell), 0, [cell]
    if kind in FLAT or (kind is tuple and len(cell) < MOST and FLAT.issuperset(map(type, cell))):
        return True
    most, whole = (MOST_COPIED, SHARED) if copied else (MOST, NAMED)
    for _ in range(DEEPEST):
        level = [one for one in level if type(one) not in FLAT and not issubclass(type(one), whole)]
        level = level if copied else [one for one in level if type(one).__hash__ is not BY_IDENTITY]
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


class _Writer(pickle.Pickler):
    def persistent_id(self: Any, one: Any) -> Any:  # a method: Python 3.13.0 lets an object have none of its own
        return id(self.held.setdefault(id(one), one)) if issubclass(type(one), SHARED) else None


class _Reader(pickle.Unpickler):
    def persistent_load(self: Any, place: int) -> Any:
        return self.held[place]


def copied(cell: Any) -> Any:
    """A copy of a cell and of all that is within it but `SHARED`, where `copy.deepcopy` leaves texts to both.

    What is shared is handed over, so that cells of classes are copied, too, that no name leads to.
    """
    writer: Any = _Writer(buffer := io.BytesIO(), pickle.HIGHEST_PROTOCOL)
    writer.held = {}
    writer.dump(cell)
    reader: Any = _Reader(io.BytesIO(buffer.getvalue()))
    reader.held = writer.held
    return reader.load()


def uniform(cell: Any) -> Any:
    """The same cell, with floats in its arrays of numbers, integers for whole numbers in its lists, tuples and dicts.

    Pandas makes such cells of lists and structures in a file, and in those of all rows floats of whole numbers, or objects of
    truth values, where an entry of any row is missing. Lists and dicts are written into.
    """
    kind = type(cell)
    if kind is np.ndarray and cell.dtype.kind == "O":
        return np.fromiter(map(uniform, cell.ravel().tolist()), np.dtype(object), cell.size).reshape(cell.shape)
    if kind is np.ndarray:
        return cell.astype({"b": object, "i": float, "u": float, "f": float}.get(cell.dtype.kind, cell.dtype))
    if kind is dict:
        cell.update({key: uniform(held) for key, held in cell.items()})
    if kind is list:
        cell[:] = map(uniform, cell)
    if kind is tuple:
        return tuple(map(uniform, cell))
    whole = kind is float and cell.is_integer() and abs(cell) < 2**53
    # a longer one may have been a float, rounded
    return int(cell) if whole else float(cell) if kind is int and 53 < cell.bit_length() <= 64 else cell


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
    if kind in BUILTIN:
        with suppress(Exception):  # beyond the dates that pandas has, in a time zone of one's own
            return BUILTIN[kind](cell)
    return Own(cell)


DEEPEST_TUPLE = 20  # of tuples within tuples
# by the method of the class itself: a subclass could run code of its own
NUMBERS: dict[type, Any] = {k: k.__float__ for k in (int, float, Decimal, Fraction)} | {complex: complex.__complex__}
# two tuples may have one hash, and then Python asks their cells whether they are equal: of NA that is no yes or no
PLAIN = {type(pd.NA): lambda _: None} | {k: plain for k, plain in BUILTIN.items() if not issubclass(k, dt.datetime)}


class Foreign:
    """A cell of a class without a form: it equals what its own code says, and is shown to nobody."""

    def __init__(self, cell: Any) -> None:
        self.cell = cell


def canonical(cell: Any) -> Any:
    """The form of a cell, safe to hash and to compare; None for a number that may be another one rounded, which equals none."""
    if type(cell) is str:
        return cell
    try:
        return _form(cell, 0)
    except OverflowError:
        return Foreign(cell) if issubclass(type(cell), tuple) else None  # in tuples nothing is rounded
    except BaseException:  # noqa: BLE001 - of another class, or a time zone whose own code raises
        stop()
        return Foreign(cell)


def listed(categories: pd.Index[Any]) -> list[Any]:
    """What a list holds; dates with a time zone in UTC, for a far one has no time in others, and takes all others with it."""
    dtype: Any = categories.dtype
    held = getattr(dtype, "pyarrow_dtype", getattr(dtype, "subtype", dtype))
    zone = getattr(held, "tz", None)
    if zone is None:
        return list(categories.astype(object))
    utc: Any = pd.DatetimeTZDtype(held.unit, "UTC")
    if isinstance(dtype, pd.ArrowDtype):
        utc = pd.ArrowDtype(pa.timestamp(held.unit, "UTC"))
    elif held is not dtype:  # intervals
        utc = pd.IntervalDtype(utc, dtype.closed)
    cells = list(categories.astype(utc).astype(object))
    for place, cell in enumerate(cells):
        with suppress(BaseException):  # missing, beyond the times of the zone, or a zone with code of its own
            cells[place] = instant(_unfolded(cell.tz_convert(zone)))
    stop()
    return cells


def forms(column: pd.Categorical) -> tuple[NDArray[np.signedinteger[Any]], NDArray[np.object_]]:
    """Code of each row, -1 where missing and -2 without a form, shape (rows,), and distinct forms, or `Foreign` cells."""
    places: dict[Any, int] = {}
    made = [*map(canonical, listed(column.categories))] if len(column) else []  # without a row none is looked at
    own = [-2 if form is None else places.setdefault(form, len(places)) for form in made]
    codes = column.codes if len(places) == len(made) else np.array([*own, -1])[column.codes]
    return codes, np.fromiter(places, np.dtype(object), len(places))  # which makes no array of tuples


def _form(cell: Any, depth: int) -> Any:
    cell = PLAIN.get(type(cell), lambda same: same)(cell)
    kind = type(cell)
    if cell is None or cell is pd.NaT or kind is pd.Period:
        return cell
    if issubclass(kind, str):
        return str.__str__(cell)
    for base, plain in NUMBERS.items():
        if issubclass(kind, base):
            return _number(complex(plain(cell)))
    if issubclass(kind, dt.timedelta):
        return finest(pd.Timedelta(cell))
    if issubclass(kind, dt.date):
        return _date(cell if issubclass(kind, dt.datetime) else dt.date.fromordinal(dt.date.toordinal(cell)))
    if issubclass(kind, bytes | memoryview):
        return bytes(memoryview(cell))
    if kind is pd.Interval:
        # of timestamps, never of datetimes, which alone equal others by the clock
        left, right = (instant(end) if type(end) is pd.Timestamp else end for end in (cell.left, cell.right))
        return pd.Interval(_form(left, depth), _form(right, depth), cell.closed)
    if depth < DEEPEST_TUPLE and issubclass(kind, tuple):
        return tuple(_form(part, depth + 1) for part in tuple.__iter__(cell))
    raise TypeError


def _number(number: complex) -> float | complex:
    """A number as float64, or complex, without the sign of a zero."""
    if number != number or (not number.imag and abs(number.real) >= 2**53):
        raise OverflowError
    real, imag = number.real + 0.0, number.imag + 0.0
    return complex(real, imag) if imag else real


def _date(cell: dt.date) -> Any:
    stamp = instant(_unfolded(cell))
    form = pd.Timestamp(stamp.asm8)
    return form if stamp.tz is None else form.tz_localize("UTC")


def _unfolded(cell: Any) -> Any:
    return cell.replace(fold=0) if getattr(cell, "fold", 0) and not getattr(cell, "nanosecond", 0) else cell

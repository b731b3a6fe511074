"""What the cells of a column mean to an expression, whatever stores them, and the public constants beside them.

Every dtype backend is read into the same few forms. The form is chosen by the dtype alone, never by the cells. A
missing cell is one thing however it is spelled: NaN, None, NaT, ``pd.NA`` and an Arrow null are all
``missing``; what a comparison with one says, `Nulls` tells, again by the dtype. A constant has one form in which it
stands in a tree, and becomes values of no dimension.
"""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from pandas_dp.engines.encode import stored
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.facts.public_only import legible
from pandas_dp.steps.odd_cells import bare, nulls_in, read_decimals, write_decimals

Mask = npt.NDArray[np.bool_]

NAT = np.iinfo(np.int64).min
LONGEST = 10_000  # characters of a text constant

# by number: the class of a cell's class has code of its own, which looking it up would run
_INEXACT = frozenset(map(id, {float, complex, *(k for k in np.sctypeDict.values() if issubclass(k, np.inexact))}))


class Kind(enum.Enum):
    """What a column holds, as the words an error message uses."""

    NUMBER = "numbers"
    BOOLEAN = "true/false values"
    TEXT = "text"
    OBJECT = "Python objects (dtype object), which are only comparable with text"
    DATE = "dates"
    ZONED = "dates with a time zone"
    DURATION = "durations"
    CATEGORY = "categories"
    OTHER = "values of a type no expression uses"


DATES = (Kind.DATE, Kind.ZONED)
TIMES = (*DATES, Kind.DURATION)


def family(kind: Kind) -> Kind:
    """The kind under which values are compared: numbers with true/false, which count as 1 and 0, text with objects."""
    return {Kind.BOOLEAN: Kind.NUMBER, Kind.OBJECT: Kind.TEXT}.get(kind, kind)


class Nulls(enum.IntEnum):
    """What a dtype says of missing cells; of several operands the largest counts.

    NumPy makes floats of a column of integers as soon as one of them is missing. So nothing that is said of a row may differ
    between ``NEVER`` and ``NAN``, but for the digits that a float does not have.
    """

    NEVER = 0  # there are none: NumPy's integers, truth values, and constants
    NAN = 1  # NaN, None and NaT, which equal nothing: a comparison with one is False, and != is True
    NA = 2  # unknown, as in Kleene's logic: nullable and Arrow dtypes, and ``string``


def nulls_of(dtype: Any) -> Nulls:
    """What a dtype says of missing cells."""
    if isinstance(dtype, pd.StringDtype):
        return Nulls.NA if dtype.na_value is pd.NA else Nulls.NAN
    if isinstance(dtype, pd.ArrowDtype) or hasattr(dtype, "numpy_dtype"):
        return Nulls.NA
    return Nulls.NEVER if isinstance(dtype, np.dtype) and dtype.kind in "iub" else Nulls.NAN


@dataclass(frozen=True)
class Values:
    """The cells of one column, or one constant, in a form that does not depend on storage.

    Attributes
    ----------
    kind : Kind
        What the cells are.
    data : object
        By kind. Numbers: int64, uint64 or float64 array (NaN where missing), or one of Python's integers, see ``scale``.
        True/false: bool array. Dates
        and durations: int64 array counting ``unit`` (dates since 1970 in UTC). Text, objects, categories and
        others: the pandas array itself. A constant has shape ``()``; a text constant is the ``str``. What
        stands at a missing position of an integer or bool array has no meaning.
    missing : ndarray of bool
        Which cells are missing; shape of ``data``.
    unit : str
        ``"s"``, ``"ms"``, ``"us"`` or ``"ns"`` for dates and durations.
    zone : object
        Time zone in which zoned dates are written back.
    constant : bool
        Whether this is a constant of the expression rather than a column.
    foreign : ndarray of bool or None
        Cells of an object column that are neither text nor missing; no comparison holds for them.
    nulls : Nulls
        What missing cells mean; truth values are missing with ``NA`` alone.
    scale : int
        How many decimal places the numbers have that Python's integers stand for.
    infinite : ndarray of float64 or None
        Infinities among whole numbers, where NumPy's are divided by zero, and what int64 does not hold; zero elsewhere.
    rest : ndarray of int64 or None
        What whole numbers have beyond ``data``, which is what is written of them: see `beyond`.
    """

    kind: Kind
    data: Any
    missing: Mask
    unit: str = ""
    zone: Any = None
    constant: bool = False
    foreign: Mask | None = None
    nulls: Nulls = Nulls.NEVER
    scale: int = 0
    infinite: npt.NDArray[np.float64] | None = None
    rest: npt.NDArray[np.int64] | None = None

    @property
    def incomparable(self) -> Mask:
        """Cells for which every comparison is False."""
        return self.missing if self.foreign is None else self.missing | self.foreign

    def floats(self) -> npt.NDArray[np.float64]:
        """Numbers or true/false values as float64 with NaN where missing, shape of ``data``.

        Columns are contiguous: numpy's functions differ in the last bit between memory read forwards and backwards.
        """
        if self.data.dtype.kind == "f":
            return np.asarray(self.data)
        # Python's division rounds once
        exact = self.data / 10**self.scale if self.data.dtype.kind == "O" else self.data
        floats = np.asarray(exact).astype(np.float64)
        if self.nulls is not Nulls.NEVER:
            np.copyto(floats, np.nan, where=self.missing)
        return floats if self.infinite is None else np.where(self.infinite == 0, floats, self.infinite)


def nulls_among(*operands: Values) -> Nulls:
    """What a missing result of some operands means."""
    return max(operand.nulls for operand in operands)


def numbers(data: npt.NDArray[np.float64], nulls: Nulls = Nulls.NAN) -> Values:
    """Float results; NaN is a missing number, infinities are ordinary ones."""
    return Values(Kind.NUMBER, data, np.isnan(data), nulls=max(nulls, Nulls.NAN))


def booleans(data: Mask, missing: Mask | None = None, nulls: Nulls = Nulls.NEVER) -> Values:
    """Truth values; those that are unknown are missing if missing cells mean that, and as they stand otherwise."""
    none = np.zeros((), dtype=bool)
    unknown = np.broadcast_to(none if missing is None or nulls is not Nulls.NA else missing, np.shape(data))
    return Values(Kind.BOOLEAN, data, unknown, nulls=nulls)


def times(
    kind: Kind, data: npt.NDArray[np.int64], missing: Mask, unit: str, zone: Any = None, nulls: Nulls = Nulls.NAN
) -> Values:
    """Dates or durations as counts of a unit; zero stands where one is missing."""
    return Values(kind, np.where(missing, 0, data), np.asarray(missing), unit, zone, nulls=max(nulls, Nulls.NAN))


def read_column(column: pd.Series[Any]) -> Values:
    """Cells of a column; which branch is taken depends on the dtype only.

    Parameters
    ----------
    column : Series, shape (n,)
        Any dtype. Nothing about the cells can make this raise.

    Returns
    -------
    Values
        ``data`` and ``missing`` of shape (n,).
    """
    dtype: Any = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return _read_objects(column)
    if isinstance(dtype, np.dtype) and dtype.kind == "f":  # also those that are wider than an answer may be
        return numbers(_wide_floats(column.to_numpy()))
    if isinstance(dtype, pd.ArrowDtype):
        return _read_arrow(column, dtype.pyarrow_dtype)
    missing: Mask = np.asarray(column.isna(), dtype=bool)
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        kind = Kind.TEXT if isinstance(dtype, pd.StringDtype) else Kind.CATEGORY
        return Values(kind, column.array, missing, nulls=nulls_of(dtype))
    return _read_numbers(column, missing)


def _read_numbers(column: pd.Series[Any], missing: Mask) -> Values:
    """Numbers, true and false, dates and durations, as the engine takes them out of their storage."""
    dtype, known = column.dtype, kind_or_none(column.dtype)
    nulls = nulls_of(dtype)
    if known is None or known.name == "key":
        return Values(Kind.OTHER, column.array, missing, nulls=nulls)
    held = stored(column).numbers()
    if known.name == "bool":
        return Values(Kind.BOOLEAN, held.values.astype(bool), missing, nulls=nulls)
    if known.name == "number" and held.values.dtype.kind == "f":
        return numbers(np.where(missing, np.nan, _wide_floats(held.values)), nulls)
    if known.name == "number":
        wide = np.uint64 if held.values.dtype == np.uint64 else np.int64  # a difference of narrow ones may be negative
        return Values(Kind.NUMBER, held.values.astype(wide, copy=False), missing, nulls=nulls)
    kind = Kind.DURATION if known.name == "timedelta" else Kind.DATE if known.tz is None else Kind.ZONED
    zone = dtype.tz if isinstance(dtype, pd.DatetimeTZDtype) else known.tz
    return times(kind, held.values, missing, held.unit or "", zone, nulls)


def _wide_floats(cells: Any) -> npt.NDArray[np.float64]:
    with np.errstate(all="ignore"):  # a signalling NaN is one like others, a long double too large becomes infinite
        return np.require(cells, np.float64, ["C", "A"])


def _read_objects(column: pd.Series[Any]) -> Values:
    """Text, also of subclasses, as Python's own: a subclass could run code of its own when it is compared."""
    cells: Any = column.to_numpy()
    text = np.fromiter((issubclass(type(cell), str) for cell in cells), bool, len(cells))
    odd = np.fromiter((type(cell) is not str for cell in cells), bool, len(cells)) & text
    if odd.any():
        cells = cells.copy()
        cells[odd] = [bare(cell) for cell in cells[odd]]
    missing = np.zeros(len(cells), dtype=bool)
    missing[~text] = [_is_missing(cell) for cell in cells[~text]]
    return Values(Kind.OBJECT, cells, missing, foreign=~text & ~missing, nulls=Nulls.NAN)


def _is_missing(cell: Any) -> bool:
    """What pandas counts as missing in an object column, without its exception for a signalling NaN.

    By exact type: a subclass could run code of its own.
    """
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return True
    kind = type(cell)
    if kind is Decimal:
        return bool(cell.is_nan())
    if kind is np.datetime64 or kind is np.timedelta64:
        return bool(np.isnat(cell))
    return id(kind) in _INEXACT and bool(cell != cell)


def _read_arrow(column: pd.Series[Any], held: Any) -> Values:
    array: Any = column.array
    cells = array.__arrow_array__()
    if pa.types.is_dictionary(held) and kind_or_none(column.dtype) is not None:  # a dictionary is storage only
        return read_column(column.astype(pd.ArrowDtype(held.value_type)))
    missing: Mask = np.concatenate([np.zeros(0, dtype=bool), *map(nulls_in, cells.chunks)])
    if pa.types.is_string(held) or pa.types.is_large_string(held):
        return Values(Kind.TEXT, array, missing, nulls=Nulls.NA)
    if pa.types.is_decimal(held) and kind_or_none(column.dtype) is not None:
        digits, scale = read_decimals(cells, missing)
        return Values(Kind.NUMBER, digits, missing, nulls=Nulls.NA, scale=scale)
    return _read_numbers(column, missing)


def truth(values: Values) -> Mask:
    """Which truth values are known to be true, as a plain array.

    Raises
    ------
    ArgumentTypeError
        If the values are no truth values.
    """
    if values.kind is not Kind.BOOLEAN:
        raise ArgumentTypeError(
            f"{values.kind.value} where a condition is needed: compare, as in x > 0, and put each comparison in "
            "parentheses beside & | ~"
        )
    return np.asarray(values.data & ~values.missing if values.nulls is Nulls.NA else values.data)


def advice(*operands: Values) -> str:
    """What to do about kinds that do not fit, to end an error message with."""
    kinds = {operand.kind for operand in operands}
    if Kind.OBJECT in kinds:
        return ": convert the column before it is protected, e.g. with pd.to_numeric or pd.to_datetime"
    if Kind.DATE in kinds and Kind.ZONED in kinds:
        return ": give both or neither a time zone, as in pd.Timestamp('2024-01-31', tz='UTC')"
    if Kind.DURATION in kinds and kinds & {Kind.NUMBER, Kind.BOOLEAN}:
        return ": divide a duration by pd.Timedelta('1 day') to get a number"
    return ""


_NULLABLE: dict[str, Any] = {
    "b": pd.arrays.BooleanArray,
    "i": pd.arrays.IntegerArray,
    "u": pd.arrays.IntegerArray,
    "f": pd.arrays.FloatingArray,
}


def write(values: Values, index: pd.Index[Any]) -> pd.Series[Any]:
    """Return values as a Series on ``index``, row by row in the order they stand (labels are never matched).

    Parameters
    ----------
    values : Values
        Of shape (n,), or a constant.
    index : Index, length n
        The labels of the result.

    Returns
    -------
    Series
        float64, int64, uint64, bool, str, datetime64 or timedelta64, or where missing cells are unknown their nullable
        or Arrow counterparts; text, object and category columns keep their dtype. The dtype depends on ``values.kind``,
        ``values.nulls`` and the form of ``values.data``, not on the cells.
    """
    rows = (len(index),)
    if isinstance(values.data, str):
        return pd.Series(values.data, index=index, dtype="str")
    if values.kind in (Kind.DATE, Kind.ZONED, Kind.DURATION):
        code = "m8" if values.kind is Kind.DURATION else "M8"
        counts = np.broadcast_to(np.where(values.missing, NAT, values.data).astype(np.int64), rows).copy()
        if values.nulls is Nulls.NA and isinstance(values.zone, str | None):
            held = pa.duration(values.unit) if code == "m8" else pa.timestamp(values.unit, values.zone)
            cells = pa.array(counts, mask=counts == NAT).cast(held)
            return pd.Series(pd.arrays.ArrowExtensionArray(cells), index=index)
        series: pd.Series[Any] = pd.Series(counts.view(f"{code}[{values.unit}]"), index=index)
        return series.dt.tz_localize("UTC").dt.tz_convert(values.zone) if values.kind is Kind.ZONED else series
    if values.kind in (Kind.NUMBER, Kind.BOOLEAN):
        if values.nulls is Nulls.NA and values.data.dtype.kind == "O":
            return pd.Series(write_decimals(values.data, values.missing, values.scale), index=index)
        lacking = values.data.dtype.kind == "O" or (values.data.dtype.kind in "iu" and values.nulls is Nulls.NAN)
        data = np.broadcast_to(values.floats() if lacking else values.data, rows).copy()  # floats as in pandas
        if values.nulls is Nulls.NA:
            missing = np.broadcast_to(values.missing, rows).copy()
            return pd.Series(_NULLABLE[data.dtype.kind](data, missing), index=index)
        return pd.Series(data, index=index)
    plain: pd.Series[Any] = pd.Series(values.data, index=index, dtype=values.data.dtype)
    return plain


ConstantValue = bool | int | float | str | pd.Timestamp | pd.Timedelta

_MISSING = "a missing value is not a constant: test for one with .isna() or .notna()"


def plain(value: Any) -> ConstantValue:
    """Return the one form in which a constant of this value and type stands in a tree."""
    if value is None or value is pd.NA or value is pd.NaT:
        raise ArgumentValueError(_MISSING)
    if isinstance(value, datetime.datetime | np.datetime64 | datetime.timedelta | np.timedelta64):
        return _plain_time(value)  # first: numpy counts its durations among the integers
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        if not -(2**63) <= value < 2**64:
            raise ArgumentValueError("an integer has to lie in [-2**63, 2**64): write a larger number as 1e30")
        return int(value)
    if isinstance(value, float | np.floating | Decimal):
        if value.is_nan() if isinstance(value, Decimal) else np.isnan(value):
            raise ArgumentValueError(_MISSING)
        return float(value)
    if isinstance(value, str):
        if not legible(value):
            raise ArgumentValueError("a text constant has to be valid Unicode")
        if len(value) > LONGEST:  # each row that gets it copies it: whether memory is enough would follow from one row
            raise ArgumentValueError(f"a text constant may have {LONGEST:,} characters")
        return str.__str__(value)
    raise ArgumentTypeError(
        f"{type(value).__name__} is not a constant: write True, False, a number, text, a pd.Timestamp or a "
        "pd.Timedelta. Data comes from columns of the table itself, in a function: lambda d: d['age'] + 1"
    )


def _plain_time(value: Any) -> pd.Timestamp | pd.Timedelta:
    duration = isinstance(value, datetime.timedelta | np.timedelta64)
    try:
        stamp: Any = pd.Timedelta(value) if duration else pd.Timestamp(value)
        if not duration and stamp.tz is not None:
            stamp = stamp.tz_convert("UTC")
        coarse = stamp.as_unit("us", round_ok=True)
        fine = coarse if coarse == stamp else stamp.as_unit("ns")
    except (ValueError, OverflowError):
        raise ArgumentValueError("the date or duration is outside the range of pandas") from None
    if fine is pd.NaT:
        raise ArgumentValueError(_MISSING)
    return fine  # type: ignore[no-any-return]


def read_constant(value: ConstantValue) -> Values:
    """Values of shape () of a constant in its plain form."""
    present = np.zeros((), dtype=bool)
    if isinstance(value, str):
        return Values(Kind.TEXT, value, present, constant=True)
    if isinstance(value, pd.Timestamp):
        kind = Kind.DATE if value.tz is None else Kind.ZONED
        return Values(kind, np.asarray(value.asm8.view("int64")), present, value.unit, value.tz, True)
    if isinstance(value, pd.Timedelta):
        return Values(Kind.DURATION, np.asarray(value.asm8.view("int64")), present, value.unit, None, True)
    if isinstance(value, bool):
        return Values(Kind.BOOLEAN, np.asarray(value), present, constant=True)
    dtype = np.float64 if isinstance(value, float) else np.uint64 if value >= 2**63 else np.int64
    return Values(Kind.NUMBER, np.asarray(value, dtype=dtype), present, constant=True)


def key(constant: Values) -> tuple[object, ...]:
    """Hashable form of a constant: equal for equal values, never for different kinds; true and false are 1 and 0."""
    if isinstance(constant.data, str):
        return (Kind.TEXT, constant.data)
    kind = constant.kind if constant.kind in TIMES else Kind.NUMBER
    return (kind, constant.unit, constant.data.item())

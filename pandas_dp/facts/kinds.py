"""Which kinds of columns can be answered, and how their values map to exact numbers and back.

A kind follows from the dtype alone, never from the cells: names and kinds of columns are public by contract.
Dates and durations are integers in nanoseconds here, whatever unit a column stores.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
import sys
import zoneinfo
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, told

FARTHEST = 2**62
DAY = 86_400 * 10**9
YEARS = -719_162 * DAY, 2_932_897 * DAY - 1  # from the first to the last nanosecond of Python's calendar
NEAR = 2**63 - DAY  # nanoseconds since 1970 that 64 bits count in every time zone
PARTS_OF_A_DAY = (
    *(10**power for power in range(9)),
    *(
        seconds * 10**9
        for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400)
    ),
)
# types of keys that are plain values of a column, of which there may be millions
OWN_KEYS: dict[str, set[type]] = {"key": {str, int}, "number": {int}, "bool": {int}}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
PLAIN = (float, int, np.float64, np.int64)
LARGEST_BOUND = Fraction(10) ** 300
# names of columns that say whose row it is, and hold no quantity
IDENTIFIER = r"(?i)(.*[_ ]|u|p)?id|(.*[_ ])?(no|nr|number|key)"
DATE = re.compile(  # 03/04/2013 is in March or in April
    r"\d{4}([-/]\d{1,2}([-/]\d{1,2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?)?)?", re.ASCII
)
DATES = {"bounds": "bounds=('2026-01-01', '2027-01-01')", "one": "'2026-01-31' or pd.Timestamp('2026-01-31 12:30')"}
DURATION = 'pd.Timedelta("90 min")'
DURATIONS = {"bounds": 'bounds=(pd.Timedelta("0h"), pd.Timedelta("5h"))'}
REFUSED = "columns of dtype {dtype} cannot be asked about{hint}"
ZONES = ", and its time zone has no name; convert it before df.dp.protect(...): df[column] = df[column].dt.tz_convert('UTC')"
SCALES = {32: 9, 64: 18, 128: 38, 256: 76}  # within which Arrow can write a decimal of so many bits, and read it again


def without_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Names and dtypes of columns; no category is listed, for which there are follows from the rows."""
    empty = frame.iloc[:0]
    for place, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, pd.CategoricalDtype):
            empty.isetitem(place, pd.Categorical([], ordered=dtype.ordered))
    return empty


@dataclass(frozen=True)
class Kind:
    """The kind of a column.

    Attributes
    ----------
    name : str
        ``"number"``, ``"bool"``, ``"datetime"``, ``"timedelta"`` or ``"key"`` (serves for keys only: text,
        categories, objects).
    tz : str or None
        Time zone of a datetime column.
    """

    name: str
    tz: str | None = None

    @property
    def numeric(self) -> bool:
        """Whether values can be added, averaged or ordered."""
        return self.name != "key"

    def number(self, value: Any, argument: str) -> Fraction:
        """Exact number for a public bound, edge or constant, in the raw unit of the column."""
        if self.name == "datetime":
            return Fraction(self._timestamp(value, argument).value)
        if self.name == "timedelta":
            return Fraction(self._duration(value, argument).value)
        return exact_number(value, argument)

    def _duration(self, value: Any, argument: str) -> pd.Timedelta:
        """Read a duration; a bare number could be hours as well as the nanoseconds that pandas takes it for."""
        bare = isinstance(value, numbers.Number | np.bool_) and not isinstance(value, np.timedelta64)
        bare = bare or (isinstance(value, str) and not any(c.isalpha() or c == ":" for c in value))
        try:
            duration = None if bare else pd.Timedelta(value)
            if isinstance(duration, pd.Timedelta):  # NaT is none
                return duration.as_unit("ns")
        except (ValueError, TypeError, OverflowError):
            pass
        raise ArgumentTypeError(f"{argument} must be durations with their unit: {DURATIONS.get(argument, DURATION)}")

    def key(self, value: Any, argument: str) -> Any:
        """A public key among dates or durations: also of a year that nanoseconds do not count, in microseconds."""
        if self.name == "timedelta":
            return self.value(self.number(value, argument))
        return self._timestamp(value, argument, far=True)

    @property
    def labelled(self) -> tuple[int, int]:
        """First and last dates or durations that can be labels, as counts of nanoseconds: facts of these, not of a unit.

        Of dates the years 1 to 9999, with a time zone but for the first and the last day; see `moment` for more that are none.
        """
        if self.name == "timedelta":
            return 1 - 2**63, 2**63 - 1
        around = DAY if self.tz else 0
        return YEARS[0] + around, YEARS[1] - around

    def moment(self, nanoseconds: int) -> pd.Timestamp:
        """The date at a count of nanoseconds, by the clocks of the zone: with one, from `NEAR` on, of whole microseconds."""
        near = abs(nanoseconds) < (NEAR if self.tz else 2**63)
        count = np.datetime64(nanoseconds if near else nanoseconds // 1000, "ns" if near else "us")
        stamp = pd.Timestamp(count, tz="UTC" if self.tz else None)
        return stamp.tz_convert(self.tz) if self.tz else stamp

    def _timestamp(self, value: Any, argument: str, far: bool = False) -> pd.Timestamp:
        if isinstance(value, pd.Period):
            raise ArgumentTypeError(
                f"{argument} must be single dates; periods are bins; type bins=pd.period_range('2026-01', '2026-12', freq='M')"
            )
        line = DATES.get(argument, DATES["one"])
        bare = isinstance(value, numbers.Number | np.bool_) and not is_missing(value)
        stamp = None
        try:
            if DATE.fullmatch(value) if isinstance(value, str) else not bare:
                with told(f"{argument}: "):
                    known = pd.Timestamp(value)
                    seconds = abs(int(known.asm8.astype("M8[s]").astype(np.int64)))
                    beyond = far and seconds * 10**9 >= NEAR and not known.nanosecond
                    stamp = placed(known.as_unit("us" if beyond else "ns"), self.tz)
        except PandasDPError:
            raise
        except pd.errors.OutOfBoundsDatetime:
            ends = "lie between '1677-09-22' and '2262-04-11', the range of nanoseconds"
            raise ArgumentValueError(f"{argument} must {ends}: {line}") from None
        except (ValueError, TypeError, OverflowError):
            if isinstance(value, str):
                raise ArgumentValueError(f"{argument}: {value!r} is not a calendar date: {line}") from None
        if stamp is None:
            raise ArgumentTypeError(f"{argument} must be dates with the year first: {line}")
        if pd.isna(stamp):
            raise ArgumentValueError(f"{argument} must be dates, and none of them missing: {line}")
        return stamp

    def ratio(self, numerator: int, denominator: int) -> Any:
        """Public value of a quotient of integers: `value` of it, without the way through a fraction for numbers."""
        if self.name in ("datetime", "timedelta"):
            return self.value(Fraction(numerator, denominator))
        try:
            return numerator / denominator  # of Python ints: the nearest float
        except OverflowError:
            return math.copysign(sys.float_info.max, 1 if numerator > 0 else -1)  # the integer may be no float

    def value(self, number: Fraction) -> Any:
        """Public value for an exact number in the raw unit: float, Timestamp or Timedelta."""
        if self.name == "datetime":
            within = min(max(round(number), pd.Timestamp.min.value), pd.Timestamp.max.value)
            stamp = pd.Timestamp(within, unit="ns", tz="UTC" if self.tz else None)
            return stamp.tz_convert(self.tz) if self.tz else stamp
        if self.name == "timedelta":
            if abs(number) < FARTHEST:
                return pd.Timedelta(round(number), unit="ns")
            seconds = min(max(round(number / 10**9), -FARTHEST), FARTHEST)  # beyond 292 years
            return pd.Timedelta(np.timedelta64(seconds, "s"))
        return float(number)


def placed(stamp: pd.Timestamp, zone: Any) -> pd.Timestamp:
    """A date as a column in this time zone, or in none, has it: without a zone of its own it is what clocks there show.

    Raises
    ------
    ArgumentTypeError
        For a date with a time zone beside a column without one.
    ArgumentValueError
        For what clocks in the zone show twice, or never.
    """
    if zone is None and stamp.tz is not None:
        bare = str(stamp.tz_localize(None))
        raise ArgumentTypeError(f"{str(stamp)!r} has a time zone and the column has none: leave it out, {bare!r}")
    if zone is None or stamp.tz is not None:
        return stamp if zone is None else stamp.tz_convert(zone)
    try:
        return stamp.tz_localize(zone)
    except pd.errors.OutOfBoundsDatetime:
        raise
    except ValueError:
        pass
    # PEP 495: of what is shown twice these are the first and the second; of what is skipped the later and the earlier
    rules: Any = pd.Timestamp(0, tz=zone).tzinfo
    clock = stamp.to_pydatetime(warn=False)
    moments = [
        (stamp - rules.utcoffset(clock.replace(fold=fold))).tz_localize("UTC").tz_convert(zone) for fold in (0, 1)
    ]
    once, again = (str(m) if DATE.fullmatch(str(m)) else str(m.tz_convert("UTC")) for m in sorted(moments))
    happens = "comes twice" if moments[0] < moments[1] else "does not exist"
    raise ArgumentValueError(f"{str(stamp)!r} {happens} on clocks of {zone}: write {once!r} or {again!r}")


def exact_number(value: Any, argument: str, behind: str = "") -> Fraction:
    """Exact rational of a number as the user wrote it: a float stands for its shortest decimal. A refusal ends with `behind`.

    Raises
    ------
    ArgumentTypeError
        For anything that is not one real number (bool, text, complex, arrays).
    ArgumentValueError
        For nan, infinities and magnitudes beyond 1e300.
    """
    return (_known if type(value) in PLAIN else _exact)(value, argument, behind)


def _exact(value: Any, argument: str, behind: str) -> Fraction:
    if isinstance(value, bool | np.bool_ | str | bytes) or not isinstance(value, numbers.Real | Decimal):
        raise ArgumentTypeError(f"{argument} must be a number{behind}")
    try:
        if isinstance(value, numbers.Rational):
            exact = Fraction(int(value.numerator), int(value.denominator))
        elif isinstance(value, Decimal):
            exact = Fraction(value)
        else:
            exact = Fraction(str(value))  # of any float width: numpy writes the shortest decimal too
    except (ValueError, OverflowError, TypeError):
        raise ArgumentValueError(f"{argument} must be finite{behind}") from None
    if abs(exact) > LARGEST_BOUND:
        raise ArgumentValueError(f"{argument} must lie between -1e300 and 1e300{behind}")
    return exact


_known = lru_cache(maxsize=1024, typed=True)(_exact)  # a notebook types the same few prices and bounds again and again

# of NumPy and pandas: what arrays of other packages hold may follow from one cell
OWN: tuple[Any, ...] = (np.dtype, pd.BooleanDtype, pd.Int64Dtype.__mro__[1], pd.Float64Dtype.__mro__[1])


def kind_of(dtype: Any) -> Kind:
    """Kind of a column from its dtype.

    Raises
    ------
    ArgumentTypeError
        For dtypes that cannot be answered: complex, sparse, interval, period, nested, and those of other packages.
    """
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype) or dtype == np.dtype(object):
        return Kind("key")
    if isinstance(dtype, pd.ArrowDtype):
        return _arrow_kind(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.DatetimeTZDtype):
        return Kind("datetime", _zone(dtype))
    if isinstance(dtype, pd.PeriodDtype):
        hint = "; make dates of it before df.dp.protect(...): df[column] = df[column].dt.to_timestamp()"
        raise ArgumentTypeError(REFUSED.format(dtype=type(dtype).__name__, hint=hint))
    letter = dtype.kind if isinstance(dtype, OWN) else "O"
    names = {"b": "bool", "i": "number", "u": "number", "f": "number", "M": "datetime", "m": "timedelta"}
    if letter in names and getattr(dtype, "itemsize", 8) <= 8:
        return Kind(names[letter])
    raise ArgumentTypeError(REFUSED.format(dtype=dtype if letter == "c" else type(dtype).__name__, hint=""))


def unit_of(dtype: Any) -> Fraction | None:
    """What all values of a dtype are multiples of, in the raw unit of its kind; None where it does not say.

    One missing value makes floats of NumPy's integers, and one text with nine decimals makes nanoseconds of pandas' dates:
    these dtypes follow from the rows, so they say no more than they would then.
    """
    if isinstance(dtype, np.dtype | pd.DatetimeTZDtype):
        return Fraction(1) if dtype.kind in "mM" else None
    if pd.api.types.is_integer_dtype(dtype):
        return Fraction(1)
    held = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else None
    if held is not None and pa.types.is_date(held):
        return Fraction(DAY)
    named: Any = getattr(held, "unit", None)
    return None if named is None else Fraction(pd.Timedelta(1, unit=named).value)


def kind_or_none(dtype: Any) -> Kind | None:
    """Kind of a column, or None where it cannot be answered."""
    try:
        return kind_of(dtype)
    except ArgumentTypeError:
        return None


@lru_cache(maxsize=256)
def _zone(dtype: pd.DatetimeTZDtype | str) -> str:
    """Name by which pandas finds the time zone of a dtype, or one that Arrow names, again.

    Others have rules of their own, which may fail for single dates.
    """
    name = dtype if isinstance(dtype, str) else str(dtype.tz)
    try:
        found = pd.DatetimeTZDtype("ns" if isinstance(dtype, str) else dtype.unit, name)
        if isinstance(found.tz, dt.timezone | zoneinfo.ZoneInfo) and (isinstance(dtype, str) or found == dtype):
            return name
    except (ValueError, TypeError, KeyError, OSError):
        pass
    raise ArgumentTypeError(REFUSED.format(dtype="datetime64", hint=ZONES))


def with_missing(dtype: Any) -> Any:
    """A dtype that holds the same and has missing values: of NumPy's integers beside a missing one pandas makes others."""
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return pd.api.types.pandas_dtype({"i": "Int", "u": "UInt"}[dtype.kind] + str(8 * dtype.itemsize))
    if isinstance(dtype, np.dtype):
        return pd.BooleanDtype() if dtype.kind == "b" else dtype.newbyteorder("=")
    return dtype


def _arrow_kind(dtype: pa.DataType) -> Kind:
    types = pa.types
    if types.is_boolean(dtype):
        return Kind("bool")
    if types.is_integer(dtype) or types.is_floating(dtype):
        return Kind("number")
    if types.is_decimal(dtype) and abs(dtype.scale) <= SCALES[dtype.bit_width]:
        return Kind("number")
    if types.is_timestamp(dtype):
        return Kind("datetime", None if dtype.tz is None else _zone(dtype.tz))
    if types.is_date(dtype):
        return Kind("datetime")
    if types.is_duration(dtype):
        return Kind("timedelta")
    if arrow_text(dtype) or (types.is_dictionary(dtype) and _castable(dtype.value_type)):
        return Kind("key")
    raise ArgumentTypeError(REFUSED.format(dtype=dtype, hint=""))


def arrow_text(dtype: pa.DataType) -> bool:
    """Whether a type of Arrow is text."""
    types = pa.types
    return bool(types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype))


def _castable(dtype: pa.DataType) -> bool:
    """Whether Arrow makes a plain column of dictionaries of this type, whose values can be read whatever they are."""
    types = pa.types
    if types.is_binary(dtype) or types.is_large_binary(dtype) or types.is_fixed_size_binary(dtype):
        return True
    return kind_or_none(pd.ArrowDtype(dtype)) is not None and not types.is_string_view(dtype)


def is_missing(value: Any) -> bool:
    """Whether a scalar is None, NaN, NaT or NA."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()  # a signalling one refuses to be compared
    return isinstance(value, float | np.floating | dt.date) and bool(value != value)

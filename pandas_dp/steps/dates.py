"""Dates and durations as exact counts of a unit, and the text that stands for one.

Pandas takes the unit of a column from the finest of its cells. So what is computed is in nanoseconds, whatever the unit, and
missing where these do not hold it; and no constant that they do not hold stands beside cells. Cells may lie anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.facts.kinds import PER_SECOND, placed
from pandas_dp.steps.values import (
    DATES,
    NAT,
    TIMES,
    Kind,
    Nulls,
    Values,
    advice,
    booleans,
    nulls_among,
    numbers,
    read_constant,
    times,
)

_DATE_TEXT = r"(?a)\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?"
_DURATION_TEXT = (
    r"(?a)[+-]?\d+(\.\d+)? ?(days?|hours?|minutes?|seconds?)|[+-]?(\d+ days? )?\d{1,2}:\d{2}:\d{2}(\.\d{1,9})?"
)

DAY = 86_400
# Python's time zones know the years 1 to 9999, and put no clock forward or back on the first or the last of these days.
_FIRST, _LAST = (int(np.datetime64(day, "s").astype(np.int64)) for day in ("0001-01-01", "10000-01-01"))


def _in(unit: str, days: Any) -> Any:
    """Days since 1970 as months or years since 1970."""
    return days.view("M8[D]").astype(f"M8[{unit}]").astype(np.int64)


def _since(unit: str, days: Any) -> Any:
    """Days since the start of their month or year."""
    return days - days.view("M8[D]").astype(f"M8[{unit}]").astype("M8[D]").astype(np.int64)


def _starts(unit: str, day: Any) -> Any:
    return _since(unit, day) == 0


def _ends(unit: str, day: Any) -> Any:
    return _since(unit, day + 1) == 0


# Each from the day, counted from 1970-01-01, a Thursday, the second of that day, and the nanosecond of that second.
PARTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "year": lambda day, *_: _in("Y", day) + 1970,
    "quarter": lambda day, *_: _in("M", day) % 12 // 3 + 1,
    "month": lambda day, *_: _in("M", day) % 12 + 1,
    "day": lambda day, *_: _since("M", day) + 1,
    "day_of_week": lambda day, *_: (day + 3) % 7,
    "day_of_year": lambda day, *_: _since("Y", day) + 1,
    "hour": lambda _, second, __: second // 3600,
    "minute": lambda _, second, __: second // 60 % 60,
    "second": lambda _, second, __: second % 60,
    "microsecond": lambda *parts: parts[2] // 1000,
    "nanosecond": lambda *parts: parts[2] % 1000,
    "days_in_month": lambda day, *_: 31 - _since("M", day - _since("M", day) + 31),
}
FLAGS: dict[str, Callable[[Any], Any]] = {
    "is_leap_year": lambda day: _since("Y", day - _since("Y", day) + 365) == 365,
    "is_month_start": lambda day: _starts("M", day),
    "is_month_end": lambda day: _ends("M", day),
    "is_quarter_start": lambda day: _starts("M", day) & (_in("M", day) % 3 == 0),
    "is_quarter_end": lambda day: _ends("M", day) & (_in("M", day) % 3 == 2),
    "is_year_start": lambda day: _starts("Y", day),
    "is_year_end": lambda day: _ends("Y", day),
}
SPANS: dict[str, Callable[[Any, Any, Any], Any]] = {  # of durations
    "days": lambda day, *_: day,
    "seconds": lambda _, second, __: second,
    "microseconds": lambda *parts: parts[2] // 1000,
    "nanoseconds": lambda *parts: parts[2] % 1000,
}


def part(name: str, values: Values) -> Values:
    """Year, month, hour and so on of dates, in float64; those with a time zone by the clocks there.

    Days count as in today's calendar, however far away they are. A missing date has missing parts, and so has one with a time
    zone outside the years 1 to 9999 of UTC: Python's time zones know no others.

    Raises
    ------
    ArgumentTypeError
        If the values are no dates.
    """
    parts, missing = shown(name, values)
    return numbers(np.where(missing, np.nan, PARTS[name](*parts).astype(np.float64)), values.nulls)


def shown(name: str, values: Values) -> tuple[tuple[Any, Any, Any], Any]:
    """Days, seconds of the day and nanoseconds of the second as clocks show them, and where they are missing."""
    seconds, rest = split_seconds(_dates(name, values))
    missing: Any = values.missing
    if values.kind is Kind.ZONED:
        shift, missing = _shift(values, _to_clocks(values.zone))
        seconds = seconds + shift
    return (*np.divmod(np.where(missing, 0, seconds), DAY), rest), missing


def flag(name: str, values: Values) -> Values:
    """Whether a date is the first or last of its month and the like; see `part`, and of missing ones `compare`.

    Raises
    ------
    ArgumentTypeError
        If the values are no dates.
    """
    (day, *_), missing = shown(name, values)
    return booleans(np.asarray(FLAGS[name](day) & ~missing), missing, values.nulls)


def span(name: str, values: Values) -> Values:
    """Days of a duration, seconds of what is left, and so on, in float64; days are rounded down, as in pandas.

    Raises
    ------
    ArgumentTypeError
        If the values are no durations.
    """
    if values.kind is not Kind.DURATION:
        raise ArgumentTypeError(f"dt.{name} needs durations, not {values.kind.value}{advice(values)}")
    seconds, rest = split_seconds(values)
    found = SPANS[name](*np.divmod(np.asarray(seconds), DAY), rest)
    return numbers(np.where(values.missing, np.nan, found.astype(np.float64)), values.nulls)


def clocks(name: str, values: Values) -> Values:
    """Dates without a time zone: those that clocks show in theirs.

    Raises
    ------
    ArgumentTypeError
        If the values are no dates.
    """
    if _dates(name, values).kind is Kind.DATE:
        return values
    return _moved(values, Kind.DATE, None, _to_clocks(values.zone))


def _to_clocks(zone: Any) -> Callable[[Any], Any]:
    return lambda moments: moments.tz_localize("UTC").tz_convert(zone).tz_localize(None)


def _dates(name: str, values: Values) -> Values:
    if values.kind not in DATES:
        text = f": .str.to_datetime('%Y-%m-%d').dt.{name} reads them" * (values.kind is Kind.TEXT)
        raise ArgumentTypeError(f"dt.{name} needs dates, not {values.kind.value}{text or advice(values)}")
    return values


def placed_in(values: Values, tz: str | None = None) -> Values:
    """Dates without a time zone as those of a zone, missing where clocks there show them twice or never; or `clocks` for None.

    Raises
    ------
    ArgumentTypeError
        If the values are no dates, or have a zone already.
    """
    if tz is None:
        return clocks("tz_localize", values)
    if values.kind is not Kind.DATE:
        raise ArgumentTypeError(f"dt.tz_localize needs dates without a time zone, not {values.kind.value}")

    def place(near: Any) -> Any:
        return near.tz_localize(tz, ambiguous="NaT", nonexistent="NaT").tz_convert("UTC").tz_localize(None)

    return _moved(values, Kind.ZONED, tz, place)


def converted(values: Values, tz: str) -> Values:
    """The same moments by the clocks of another time zone.

    Raises
    ------
    ArgumentTypeError
        If the values are no dates with a time zone.
    """
    if values.kind is not Kind.ZONED:
        raise ArgumentTypeError(f"dt.tz_convert needs dates with a time zone, not {values.kind.value}")
    return replace(values, zone=tz, constant=False)


def _moved(values: Values, kind: Kind, zone: Any, move: Callable[[Any], Any]) -> Values:
    """Dates moved from one zone to another, in nanoseconds."""
    values = rescale(values, "ns")
    shift, missing = _shift(values, move)
    shift, limit = shift * PER_SECOND["ns"], np.iinfo(np.int64)
    missing = (
        missing | (values.data > limit.max - np.maximum(shift, 0)) | (values.data <= limit.min - np.minimum(shift, 0))
    )
    data = np.where(missing, 0, values.data) + np.where(missing, 0, shift)
    return times(kind, data, missing, "ns", zone, values.nulls)


def _shift(values: Values, move: Callable[[Any], Any]) -> tuple[Any, Any]:
    """By how many seconds dates are moved, and where they are missing: outside the years 1 to 9999 of UTC, and where lost."""
    seconds, _ = split_seconds(values)
    missing = values.missing | (seconds < _FIRST) | (seconds >= _LAST)
    near = np.clip(np.where(missing, 0, seconds), _FIRST + DAY, _LAST - DAY - 1)  # Python's dates, on both sides
    moved: Any = move(pd.DatetimeIndex(np.ravel(near).view("M8[s]"))).to_numpy().astype("M8[s]").view(np.int64)
    moved = moved.reshape(near.shape)
    return np.where(moved == NAT, 0, moved - near), missing | (moved == NAT)


def as_time(values: Values, other: Values) -> Values:
    """Return a constant as the date or duration that ``other`` compares with: a text as pandas reads it.

    A date without a time zone, as text or not, is what clocks in the zone of ``other`` show, as in arguments. Only ISO dates
    and plain durations are read: ``"today"`` would mean something else each day. Anything else comes back as it is.

    Raises
    ------
    ArgumentValueError
        If the text is neither, or clocks show the date twice or never; depends on the constant and on the dtype of ``other``.
    """
    if values.constant and values.kind is Kind.DATE and other.kind is Kind.ZONED:
        return read_constant(placed(pd.Timestamp(values.data.item(), unit=values.unit), other.zone))
    if not isinstance(values.data, str) or other.kind not in TIMES:
        return values
    text = values.data.strip()
    try:
        if other.kind is Kind.DURATION and re.fullmatch(_DURATION_TEXT, text):
            return read_constant(pd.Timedelta(text))
        if other.kind in DATES and re.fullmatch(_DATE_TEXT, text):
            stamp = pd.Timestamp(text)
            return read_constant(stamp if other.kind is Kind.DATE else placed(stamp, other.zone))
    except PandasDPError:
        raise
    except (ValueError, OverflowError):
        pass  # a thirteenth month: the text below says what to write
    example = "'3 days' or '12:30:00'" if other.kind is Kind.DURATION else "'2024-01-31' or '2024-01-31 12:30'"
    raise ArgumentValueError(f"{text[:40]!r} is not understood beside {other.kind.value}: write it as {example}")


def alike(*values: Values) -> list[Values]:
    """Counts in one unit: the finest of theirs, or nanoseconds for several columns, as one has no say in what another holds.

    Raises
    ------
    ArgumentValueError
        Beside a column there is a constant that one in nanoseconds could not have.
    """
    if any(not one.constant for one in values) and any(one.constant and rescale(one, "ns").missing for one in values):
        raise ArgumentValueError(
            "a date or duration beyond what nanoseconds hold can be compared with cells, and no more: type one that they hold, "
            "such as '2262-04-10', '1677-09-22' or pd.Timedelta('106751 days')"
        )
    several = sum(not one.constant for one in values) > 1
    unit = "ns" if several else max((one.unit for one in values), key=PER_SECOND.__getitem__)
    return [rescale(one, unit) for one in values]


def rescale(values: Values, unit: str) -> Values:
    """Counts in a finer unit; what that unit cannot hold becomes missing."""
    factor = PER_SECOND[unit] // PER_SECOND[values.unit]
    limit = np.iinfo(np.int64).max // factor
    missing = values.missing | (values.data > limit) | (values.data < -limit)
    return times(values.kind, np.where(missing, 0, values.data) * factor, missing, unit, values.zone, values.nulls)


def result_kind(op: str, left: Kind, right: Kind) -> Kind | None:
    """Return the kind of ``left op right`` for dates and durations, or None where it has no meaning."""
    if left is right is Kind.DURATION:
        kinds = dict.fromkeys("+-%", Kind.DURATION) | dict.fromkeys(("/", "//"), Kind.NUMBER)
        return kinds.get(op)
    if right is Kind.DURATION and op in ("+", "-"):
        return left
    if left is Kind.DURATION and op == "+":
        return right
    return Kind.DURATION if left is right and op == "-" else None


def combine(op: str, left: Values, right: Values, kind: Kind) -> Values:
    """Sum, difference or ratio, of the kind ``result_kind`` gives; what leaves the range of nanoseconds is missing."""
    x, y = (rescale(one, "ns") for one in alike(left, right))
    if op in ("//", "%"):
        return _divided(op, x, y)
    if kind is Kind.NUMBER:
        return _ratio(x, y)
    zone = left.zone if left.kind is kind else right.zone
    second = y.data if op == "+" else -y.data
    with np.errstate(over="ignore"):
        result = np.asarray(x.data + second)  # wraps on overflow, which the signs then show
    missing = x.missing | y.missing | (((x.data ^ result) & (second ^ result)) < 0) | (result == NAT)
    return times(kind, result, missing, x.unit, zone, nulls_among(x, y))


def _divided(op: str, left: Values, right: Values) -> Values:
    """How often one goes into the other, or what is left then; missing where nothing divides."""
    found = np.divmod(left.data, np.where(right.data == 0, 1, right.data))[op == "%"]
    missing, nulls = left.missing | right.missing | (right.data == 0), max(nulls_among(left, right), Nulls.NAN)
    if op == "%":
        return times(Kind.DURATION, found, missing, "ns", nulls=nulls)
    return Values(Kind.NUMBER, found, missing, nulls=nulls)


def _ratio(left: Values, right: Values) -> Values:
    """One that is a whole number exactly, others as floats divide nanoseconds."""
    with np.errstate(all="ignore"):
        whole, rest = np.divmod(left.data, np.where(right.data == 0, 1, right.data))
        result = left.data.astype(np.float64) / right.data.astype(np.float64)
        result = np.where((rest == 0) & (right.data != 0), whole, result)
    return numbers(np.where(left.missing | right.missing, np.nan, result), nulls_among(left, right))


def split_seconds(values: Values) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Whole seconds, and the rest in nanoseconds: a form all units share, into which nothing overflows."""
    seconds, rest = np.divmod(values.data, PER_SECOND[values.unit])
    return seconds, rest * (PER_SECOND["ns"] // PER_SECOND[values.unit])

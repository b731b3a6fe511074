"""Dates and durations as exact counts of a unit, and the text that stands for one.

Pandas takes the unit of a column from the finest of its cells. So what is computed is in nanoseconds, whatever the unit, and
missing where these do not hold it; and no constant that they do not hold stands beside cells. Cells may lie anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.facts.kinds import placed
from pandas_dp.steps.values import (
    DATES,
    NAT,
    PER_SECOND,
    TIMES,
    Kind,
    Values,
    advice,
    nulls_among,
    numbers,
    read_constant,
    times,
)

_DATE_TEXT = re.compile(
    r"\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?", re.ASCII
)
_DURATION_TEXT = re.compile(
    r"[+-]?\d+(\.\d+)? ?(days?|hours?|minutes?|seconds?)|[+-]?(\d+ days? )?\d{1,2}:\d{2}:\d{2}(\.\d{1,9})?",
    re.ASCII,
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


# Each from the day, counted from 1970-01-01, a Thursday, and the second of that day.
PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "year": lambda day, _: _in("Y", day) + 1970,
    "quarter": lambda day, _: _in("M", day) % 12 // 3 + 1,
    "month": lambda day, _: _in("M", day) % 12 + 1,
    "day": lambda day, _: _since("M", day) + 1,
    "day_of_week": lambda day, _: (day + 3) % 7,
    "day_of_year": lambda day, _: _since("Y", day) + 1,
    "hour": lambda _, second: second // 3600,
    "minute": lambda _, second: second // 60 % 60,
    "second": lambda _, second: second % 60,
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
    if values.kind not in DATES:
        raise ArgumentTypeError(f"dt.{name} needs dates, not {values.kind.value}{advice(values)}")
    seconds, _ = split_seconds(values)
    zoned = values.kind is Kind.ZONED
    missing = values.missing | (zoned & ((seconds < _FIRST) | (seconds >= _LAST)))
    seconds = np.where(missing, 0, seconds)
    if zoned:
        near = np.clip(seconds, _FIRST + DAY, _LAST - DAY - 1)  # where the clocks there show a date of Python, too
        clocks: Any = pd.DatetimeIndex(np.ravel(near).view("M8[s]")).tz_localize("UTC").tz_convert(values.zone)
        seconds = seconds + (clocks.tz_localize(None).to_numpy().view(np.int64).reshape(near.shape) - near)
    found = PARTS[name](*np.divmod(np.asarray(seconds), DAY))
    return numbers(np.where(missing, np.nan, found.astype(np.float64)), values.nulls)


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
        if other.kind is Kind.DURATION and _DURATION_TEXT.fullmatch(text):
            return read_constant(pd.Timedelta(text))
        if other.kind in DATES and _DATE_TEXT.fullmatch(text):
            stamp = pd.Timestamp(text)
            return read_constant(stamp if other.kind is Kind.DATE else placed(stamp, other.zone))
    except PandasDPError:
        raise
    except (ValueError, OverflowError):
        pass  # a thirteenth month: the text below says what to write
    example = "'3 days' or '12:30:00'" if other.kind is Kind.DURATION else "'2024-01-31' or '2024-01-31 12:30'"
    raise ArgumentValueError(f"{text[:40]!r} is not understood beside {other.kind.value}: write it as {example}")


def alike(*values: Values) -> list[Values]:
    """Counts in the finest of their units; see `rescale`.

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
    unit = max((one.unit for one in values), key=PER_SECOND.__getitem__)
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
        return {"+": Kind.DURATION, "-": Kind.DURATION, "/": Kind.NUMBER}.get(op)
    if right is Kind.DURATION and op in ("+", "-"):
        return left
    if left is Kind.DURATION and op == "+":
        return right
    return Kind.DURATION if left is right and op == "-" else None


def combine(op: str, left: Values, right: Values, kind: Kind) -> Values:
    """Sum, difference or ratio, of the kind ``result_kind`` gives; what leaves the range of nanoseconds is missing."""
    x, y = (rescale(one, "ns") for one in alike(left, right))
    if kind is Kind.NUMBER:
        return _ratio(x, y)
    zone = left.zone if left.kind is kind else right.zone
    second = y.data if op == "+" else -y.data
    with np.errstate(over="ignore"):
        result = np.asarray(x.data + second)  # wraps on overflow, which the signs then show
    missing = x.missing | y.missing | (((x.data ^ result) & (second ^ result)) < 0) | (result == NAT)
    return times(kind, result, missing, x.unit, zone, nulls_among(x, y))


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

"""Dates and durations as exact counts of a unit, and the text that stands for one."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

from pandas_dp.errors import ArgumentValueError
from pandas_dp.steps.constants import read_constant
from pandas_dp.steps.values import DATES, NAT, PER_SECOND, TIMES, Kind, Values, numbers, times

_DATE_TEXT = re.compile(
    r"\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?", re.ASCII
)
_DURATION_TEXT = re.compile(
    r"[+-]?\d+(\.\d+)? ?(days?|hours?|minutes?|seconds?)|[+-]?(\d+ days? )?\d{1,2}:\d{2}:\d{2}(\.\d{1,9})?",
    re.ASCII,
)


def as_time(values: Values, other: Values) -> Values:
    """Return a text constant as the date or duration that ``other`` compares with, as pandas reads it.

    Only ISO dates and plain durations are read: ``"today"`` would mean something else each day. Anything but
    a text constant beside dates or durations comes back as it is.

    Raises
    ------
    ArgumentValueError
        If the text is neither; depends on the constant and on the dtype of ``other``.
    """
    if not isinstance(values.data, str) or other.kind not in TIMES:
        return values
    text = values.data.strip()
    try:
        if other.kind is Kind.DURATION and _DURATION_TEXT.fullmatch(text):
            return read_constant(pd.Timedelta(text))
        if other.kind in DATES and _DATE_TEXT.fullmatch(text):
            stamp = pd.Timestamp(text)
            if other.kind is Kind.ZONED and stamp.tz is None:
                stamp = pd.Timestamp(text, tz=other.zone)
            return read_constant(stamp)
    except (ValueError, OverflowError):
        pass  # a thirteenth month, an hour that the zone skips: the text below says what to write
    example = "'3 days' or '12:30:00'" if other.kind is Kind.DURATION else "'2024-01-31' or '2024-01-31 12:30'"
    raise ArgumentValueError(f"{text[:40]!r} is not understood beside {other.kind.value}: write it as {example}")


def finer(left: Values, right: Values) -> str:
    """Return the finer unit of two."""
    return max(left.unit, right.unit, key=PER_SECOND.__getitem__)


def rescale(values: Values, unit: str) -> Values:
    """Counts in a finer unit; what that unit cannot hold becomes missing."""
    factor = PER_SECOND[unit] // PER_SECOND[values.unit]
    limit = np.iinfo(np.int64).max // factor
    missing = values.missing | (values.data > limit) | (values.data < -limit)
    return times(values.kind, np.where(missing, 0, values.data) * factor, missing, unit, values.zone)


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
    """Sum, difference or ratio, of the kind ``result_kind`` gives; what leaves the range of the unit is missing."""
    if kind is Kind.NUMBER:
        return _ratio(left, right)
    unit = finer(left, right)
    zone = left.zone if left.kind is kind else right.zone
    x, y = rescale(left, unit), rescale(right, unit)
    second = y.data if op == "+" else -y.data
    with np.errstate(over="ignore"):
        result = np.asarray(x.data + second)  # wraps on overflow, which the signs then show
    missing = x.missing | y.missing | (((x.data ^ result) & (second ^ result)) < 0) | (result == NAT)
    return times(kind, result, missing, unit, zone)


def _ratio(left: Values, right: Values) -> Values:
    scale = PER_SECOND[right.unit] / PER_SECOND[left.unit]
    with np.errstate(all="ignore"):
        result = left.data.astype(np.float64) / right.data.astype(np.float64) * scale
    return numbers(np.where(left.missing | right.missing, np.nan, result))


def split_seconds(values: Values) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Whole seconds, and the rest in nanoseconds: a form all units share, into which nothing overflows."""
    seconds, rest = np.divmod(values.data, PER_SECOND[values.unit])
    return seconds, rest * (PER_SECOND["ns"] // PER_SECOND[values.unit])

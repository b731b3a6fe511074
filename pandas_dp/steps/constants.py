"""Public constants: the one form in which each stands in a tree, and the values it is computed with."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.values import TIMES, Kind, Values

ConstantValue = bool | int | float | str | pd.Timestamp | pd.Timedelta

_MISSING = "a missing value is no constant: test for one with .isna() or .notna()"


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
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ArgumentValueError("a text constant has to be valid Unicode") from None
        return str.__str__(value)
    raise ArgumentTypeError(
        f"{type(value).__name__} is no constant: that is true or false, a number, text, a pd.Timestamp or a "
        "pd.Timedelta. Data comes from columns of the table itself"
    )


def _plain_time(value: Any) -> pd.Timestamp | pd.Timedelta:
    duration = isinstance(value, datetime.timedelta | np.timedelta64)
    try:
        stamp: Any = pd.Timedelta(value) if duration else pd.Timestamp(value)
        if stamp is pd.NaT:
            raise ArgumentValueError(_MISSING)
        if not duration and stamp.tz is not None:
            stamp = stamp.tz_convert("UTC")
        coarse: pd.Timestamp | pd.Timedelta = stamp.as_unit("us", round_ok=True)
        fine: pd.Timestamp | pd.Timedelta = coarse if coarse == stamp else stamp.as_unit("ns")
    except (ValueError, OverflowError) as error:
        if isinstance(error, ArgumentValueError):
            raise
        raise ArgumentValueError("the date or duration is outside the range of pandas") from None
    return fine


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

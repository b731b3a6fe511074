"""The methods and attributes of ``.dt`` that an expression may use: their arguments, checked, as data."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.date_texts import DAYS, MONTHS, WRITTEN, pieces
from pandas_dp.steps.dates import FLAGS, PARTS, SPANS
from pandas_dp.steps.expression import Constant, Expression, Map, Operation
from pandas_dp.steps.text_functions import method, taking, text

_ALIASES = {"weekday": "day_of_week", "dayofweek": "day_of_week", "dayofyear": "day_of_year"}
_ALIASES |= {"daysinmonth": "days_in_month"}


def of_one(op: str, operand: Expression) -> Expression:
    """An operation without arguments: what ``call`` finds in this signature is all that may be given."""
    return Operation(op, (operand,))


def _name(part: str, names: list[str], first: int, operand: Expression) -> Expression:
    return Map((of_one(f"dt.{part}", operand),), tuple(enumerate(names, first)))


def _total_seconds(operand: Expression) -> Expression:
    return Operation("/", (operand, Constant(pd.Timedelta(seconds=1))))


def _format(name: str, value: Any) -> str:
    pieces(name, text(name, value), WRITTEN)
    return text(name, value)


def _frequency(name: str, value: Any) -> pd.Timedelta:
    try:
        with contextlib.suppress(ValueError):  # a duration, as one is written down
            value = pd.tseries.frequencies.to_offset(value) if isinstance(value, str) else value
        value = (
            pd.Timedelta(days=value.n) if isinstance(value, pd.offsets.Day) else value
        )  # of pandas 3.0 it is no Tick
        step: Any = pd.Timedelta(value).as_unit("ns")
    except (ValueError, TypeError, OverflowError):
        step = pd.NaT
    if step is pd.NaT or step <= pd.Timedelta(0):
        raise ArgumentValueError(
            f"{name} takes a step of one length, as in .{name}('h') or .{name}('15min'); of a month take "
            ".dt.strftime('%Y-%m')"
        )
    return step  # type: ignore[no-any-return]


def _zone(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name} takes the name of a time zone, as in .{name}('Europe/Berlin')")
    try:
        pd.DatetimeTZDtype("us", value)
    except (ValueError, KeyError, TypeError, OSError):  # ZoneInfoNotFoundError is a KeyError
        raise ArgumentValueError(
            f"{name}: {value[:40]!r} is no time zone: write one like 'UTC' or 'Europe/Berlin'"
        ) from None
    return value


def _placed(operand: Expression, tz: Any = None, ambiguous: Any = "NaT", nonexistent: Any = "NaT") -> Expression:
    if (ambiguous, nonexistent) != ("NaT", "NaT"):
        raise ArgumentValueError(
            "dt.tz_localize: hours that clocks show twice or never are missing: ambiguous and nonexistent are 'NaT'"
        )
    return method("dt.tz_localize", operand, tz=None if tz is None else _zone("dt.tz_localize", tz))


TIME_METHODS: dict[str, Callable[..., Expression]] = {
    "dt.month_name": functools.partial(_name, "month", MONTHS, 1),
    "dt.day_name": functools.partial(_name, "day_of_week", DAYS, 0),
    "dt.total_seconds": _total_seconds,
    "dt.strftime": taking("dt.strftime", date_format=_format),
    "dt.normalize": lambda operand: method("dt.floor", operand, freq=pd.Timedelta(days=1)),
    **{f"dt.{name}": taking(f"dt.{name}", freq=_frequency) for name in ("floor", "ceil", "round")},
    "dt.tz_localize": _placed,
    "dt.tz_convert": taking("dt.tz_convert", tz=_zone),
}
PROPERTIES: dict[str, Callable[[Expression], Expression]] = {  # attributes that are not called
    **{f"dt.{name}": functools.partial(of_one, f"dt.{name}") for name in (*PARTS, *FLAGS, *SPANS)},
    **{f"dt.{alias}": functools.partial(of_one, f"dt.{name}") for alias, name in _ALIASES.items()},
}

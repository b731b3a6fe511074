"""Dates written as text and read from it, and dates rounded to steps of a clock.

For all inputs: element i of a result depends on element i of the operand alone, and whether an operation is refused depends on
the dtype of the operand and on constants. What cannot be read or held is missing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.dates import PARTS, rescale, shown
from pandas_dp.steps.text import as_text, python_text, texts
from pandas_dp.steps.values import NAT, Kind, Nulls, Values, times

# Python's own names are those of the process's language
_NAMES = "January February March April May June July August September October November December"
MONTHS = _NAMES.split()
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST, _BEYOND = (int(np.datetime64(day, "D").astype(np.int64)) for day in ("0001-01-01", "10000-01-01"))


def _thursday(day: Any) -> Any:
    """Of a day's week: the year it lies in is that of the week."""
    return day - (day + 3) % 7 + 3


def _named(names: list[str], part: str, first: int) -> Callable[..., list[str]]:
    return lambda *parts: [names[place - first] for place in PARTS[part](*parts).tolist()]


def _numbered(function: Callable[..., Any], digits: int) -> Callable[..., list[str]]:
    return lambda *parts: [f"{number:0{digits}d}" for number in function(*parts).tolist()]


_AM = ["AM", "PM"]
WRITTEN: dict[str, Callable[..., list[str]]] = {
    "Y": _numbered(PARTS["year"], 4),
    "y": _numbered(lambda *parts: PARTS["year"](*parts) % 100, 2),
    "m": _numbered(PARTS["month"], 2),
    "d": _numbered(PARTS["day"], 2),
    "H": _numbered(PARTS["hour"], 2),
    "I": _numbered(lambda *parts: (PARTS["hour"](*parts) - 1) % 12 + 1, 2),
    "M": _numbered(PARTS["minute"], 2),
    "S": _numbered(PARTS["second"], 2),
    "f": _numbered(PARTS["microsecond"], 6),
    "j": _numbered(PARTS["day_of_year"], 3),
    "u": _numbered(lambda *parts: PARTS["day_of_week"](*parts) + 1, 1),
    "G": _numbered(lambda day, *_: PARTS["year"](_thursday(day), 0, 0), 4),
    "V": _numbered(lambda day, *_: (PARTS["day_of_year"](_thursday(day), 0, 0) - 1) // 7 + 1, 2),
    "B": _named(MONTHS, "month", 1),
    "b": _named([name[:3] for name in MONTHS], "month", 1),
    "A": _named(DAYS, "day_of_week", 0),
    "a": _named([name[:3] for name in DAYS], "day_of_week", 0),
    "p": lambda *parts: [_AM[hour // 12] for hour in PARTS["hour"](*parts).tolist()],
}
_SHORT = {name[:3].lower(): place for place, name in enumerate(MONTHS, 1)}
READ: dict[str, str] = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>1[0-2]|0?[1-9])",
    "d": r"(?P<d>3[01]|[12]\d|0?[1-9])",
    "H": r"(?P<H>2[0-3]|[01]?\d)",
    "I": r"(?P<I>1[0-2]|0?[1-9])",
    "M": r"(?P<M>[0-5]?\d)",
    "S": r"(?P<S>[0-5]?\d)",
    "f": r"(?P<f>\d{1,6})",
    "b": f"(?P<b>{'|'.join(name[:3] for name in MONTHS)})",
    "B": f"(?P<B>{'|'.join(MONTHS)})",
    "p": r"(?P<p>AM|PM)",
    "z": r"(?P<z>Z|[+-]\d{2}:?\d{2})",
}
_DIRECTIVE = r"(?s)%(.?)|[^%]+"
_ISO = r"(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)([T ](?P<H>\d\d):(?P<M>\d\d)(:(?P<S>\d\d)(\.(?P<f>\d{1,6}))?)?)?"


def pieces(function: str, text: str, known: Any) -> list[tuple[bool, str]]:
    """A format as directives (True, their letter) and the text between them.

    Raises
    ------
    ArgumentValueError
        If it has other directives.
    """
    found = []
    for match in re.finditer(_DIRECTIVE, text):
        letter = match.group(1)
        if letter is None or letter == "%":
            found.append((False, match.group() if letter is None else "%"))
        elif letter in known:
            found.append((True, letter))
        else:
            listed = " ".join(f"%{one}" for one in sorted(known, key=str.lower))
            raise ArgumentValueError(f"{function} has no %{letter}; it has {listed} and %%")
    return found


def strftime(operand: Values, date_format: str) -> Values:
    """Dates as text, by the clocks of their zone; missing outside the years 1 to 9999.

    Raises
    ------
    ArgumentTypeError
        If the values are no dates.
    """
    (day, second, rest), missing = shown("strftime", operand)
    missing = missing | (day < _FIRST) | (day >= _BEYOND)
    parts = (np.where(missing, 0, day), second, rest)
    found = pieces("dt.strftime", date_format, WRITTEN)
    columns = [WRITTEN[text](*parts) if known else [text] * len(day) for known, text in (*found, (False, ""))]
    return texts(list(map("".join, zip(*columns, strict=True))), np.asarray(missing), nulls=operand.nulls)


def pattern(text: str) -> re.Pattern[str]:
    """What a text of a format looks like; names of months in any case.

    Raises
    ------
    ArgumentValueError
        If the format has other directives, one of them twice, or no day.
    """
    if text == "ISO8601":
        return re.compile(_ISO, re.ASCII)
    found = pieces("str.to_datetime", text, READ)
    letters = [letter for known, letter in found if known]
    if len(letters) > len(set(letters)) or not {*letters} & {*"Yy"} or ("p" in letters) != ("I" in letters):
        raise ArgumentValueError(
            "str.to_datetime needs a format with a year, each part once, and %p beside %I, as in "
            ".str.to_datetime('%d.%m.%Y %H:%M')"
        )
    return re.compile("".join(READ[p] if known else re.escape(p) for known, p in found), re.ASCII | re.IGNORECASE)


def to_datetime(operand: Values, format: str) -> Values:
    """Dates that text says, in microseconds: of UTC where the format has ``%z``; missing where a text says none.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = as_text("to_datetime", operand)
    wanted = pattern(format)
    counts = np.fromiter(
        (_count(wanted.fullmatch(cell)) for cell in python_text(operand)), np.int64, len(operand.missing)
    )
    zoned = "z" in wanted.groupindex
    missing = operand.incomparable | (counts == NAT)
    nulls = max(operand.nulls, Nulls.NAN)
    return times(Kind.ZONED if zoned else Kind.DATE, counts, missing, "us", "UTC" if zoned else None, nulls)


def _count(match: re.Match[str] | None) -> int:
    """Microseconds since 1970, or what stands for none."""
    if match is None:
        return NAT
    part = {name: text for name, text in match.groupdict().items() if text is not None}
    year = int(part["Y"]) if "Y" in part else (int(part["y"]) + 31) % 100 + 1969
    month = _SHORT[name[:3].lower()] if (name := part.get("b") or part.get("B")) else int(part.get("m", 1))
    hour = int(part["I"]) % 12 + 12 * (part["p"].upper() == "PM") if "I" in part else int(part.get("H", 0))
    try:
        moment = datetime.datetime(
            year, month, int(part.get("d", 1)), hour, int(part.get("M", 0)), int(part.get("S", 0))
        )
        away = datetime.datetime.strptime(part["z"], "%z").utcoffset() if "z" in part else datetime.timedelta(0)
    except ValueError:  # a thirtieth of February
        return NAT
    micro = int(part.get("f", "0").ljust(6, "0"))
    return (moment - _EPOCH - (away or datetime.timedelta(0))) // datetime.timedelta(microseconds=1) + micro


def rounded(name: str, operand: Values, freq: pd.Timedelta) -> Values:
    """Dates without a zone, or durations, at the step of a clock below, above or next to them (half to even); in nanoseconds.

    Raises
    ------
    ArgumentTypeError
        If the operand is neither.
    """
    if operand.kind is Kind.ZONED:
        raise ArgumentTypeError(
            f"dt.{name} needs dates without a time zone, since local clocks show some hours twice: write "
            f"x.dt.tz_localize(None).dt.{name}('h') for local time, x.dt.tz_convert('UTC').dt.tz_localize(None).dt.{name}('h') "
            "for UTC"
        )
    if operand.kind not in (Kind.DATE, Kind.DURATION):
        raise ArgumentTypeError(f"dt.{name} needs dates or durations, not {operand.kind.value}")
    operand, size = rescale(operand, "ns"), freq.as_unit("ns").value
    down = operand.data // size
    rest = operand.data - down * size
    up = {"floor": rest < 0, "ceil": rest > 0}.get(
        name, (rest > size - rest) | ((rest == size - rest) & (down % 2 == 1))
    )
    with np.errstate(over="ignore"):
        found = np.asarray((down + up) * size)
    wrapped = np.where(up, found < operand.data, (found > operand.data) | (found == NAT))
    return times(operand.kind, found, operand.missing | wrapped, "ns", None, operand.nulls)

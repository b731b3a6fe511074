"""Expressions of the kinds that users of pandas report as wrong, against exact Python, in each dtype that holds the cells.

Integers beyond floats, division of negative ones, unknown values in filters, edges of the calendar, hours that clocks show
twice or never, and text that Arrow holds as dictionaries.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pandas_dp.steps.parse import parse_expression

Case = tuple[str, Callable[[Any], Any]] | tuple[str, Callable[[Any], Any], bool]
UTC = datetime.UTC
BIG = 10**18 + 9
INTEGERS = [-(2**63) + 5, -BIG, -(2**53) - 1, -7, -1, 0, 1, 2, 15, 25, 2**31, 2**53 + 1, BIG, 2**63 - 1]
# a condition, what it is of a cell, and whether a missing one is kept where comparisons with it are False
OF_INTEGERS: list[Case] = [
    ("x % 10 == 3", lambda x: x % 10 == 3),
    ("x % -10 == -3", lambda x: x % -10 == -3),
    ("x // 10 == -1", lambda x: x // 10 == -1),
    ("x // -4 == 1", lambda x: x // -4 == 1),
    ("x // 18014398509481983 == 55", lambda x: x // 18014398509481983 == 55),
    ("x // 9007199254740993 == 1", lambda x: x // 9007199254740993 == 1),
    ("x % 9007199254740993 == 0", lambda x: x % 9007199254740993 == 0),
    ("x == 1000000000000000009", lambda x: x == BIG),
    ("x == 1000000000000000000.0", lambda x: x == 10**18),
    ("x > 9007199254740992.0", lambda x: x > 2**53),
    ("x >= 9223372036854775807", lambda x: x >= 2**63 - 1),
    ("x < 9223372036854775808", lambda x: x < 2**63),
    ("x > -9223372036854775808", lambda x: x > -(2**63)),
    ("x <= 18446744073709551615", lambda x: True),
    ("x in [9007199254740993, 3]", lambda x: x in (2**53 + 1, 3)),
    ("x not in [9007199254740992, -7]", lambda x: x not in (2**53, -7), True),
    ("(x - 1000000000000000000) == 9", lambda x: x - 10**18 == 9),
    ("(x - 9007199254740992).abs() == 1", lambda x: abs(x - 2**53) == 1),
    ("x.clip(0, 1000000000000000000) == 1000000000000000000", lambda x: x >= 10**18),
    ("x.clip(9007199254740993) == 9007199254740993", lambda x: x <= 2**53 + 1),
    ("x.round(-1) == 20", lambda x: round(x, -1) == 20),
    ("x.round(-18) == 1000000000000000000", lambda x: round(x, -18) == 10**18),
    ("(-x) == 9007199254740993", lambda x: -x == 2**53 + 1),
    ("x.where(x > 0, 9007199254740993) == 9007199254740993", lambda x: x <= 0 or x == 2**53 + 1, True),
    ("x.fillna(0) == 0", lambda x: x == 0, True),
    ("not (x > 0)", lambda x: x <= 0, True),
    ("x != 15", lambda x: x != 15, True),
    ("not (x == 15 or x == 25)", lambda x: x not in (15, 25), True),
    ("x.isna()", lambda x: False, True),
    ("x.notna()", lambda x: True),
    ("x.astype('string') == '9007199254740993'", lambda x: x == 2**53 + 1),
    ("x.astype('string').str.len() == 19", lambda x: len(str(x)) == 19),
    ("x.astype('string').str.endswith('9')", lambda x: str(x).endswith("9")),
    ("x / 2 == 7.5", lambda x: x == 15),
    ("x / 0 > 0", lambda x: x > 0),
    ("x ** 2 == 49", lambda x: x * x == 49),
    ("x.between(-7, 9007199254740993)", lambda x: -7 <= x <= 2**53 + 1),
    ("0 < x < 9007199254740994", lambda x: 0 < x < 2**53 + 2),
]
# what 64 bits do not hold is missing in nullable dtypes, and goes on as it is in NumPy's
OVERFLOWING: list[Case] = [
    ("(x + 1) % 2 == 0", lambda x: -(2**63) <= x + 1 < 2**63 and (x + 1) % 2 == 0),
    ("(x * 2) // 2 == x", lambda x: -(2**63) <= x * 2 < 2**63),
    ("(x + x).isna()", lambda x: not -(2**63) <= x + x < 2**63, True),
]
ONGOING: list[Case] = [("(x + 1) % 2 == 0", lambda x: x % 2 == 1), ("(x * 2) // 2 == x", lambda x: True)]
TRUTHS: list[Case] = [
    ("x", lambda x: x),
    ("not x", lambda x: not x, True),
    ("x == True", lambda x: x),
    ("x != True", lambda x: not x, True),
    ("x + x == 2", lambda x: x),
    ("x or x.isna()", lambda x: x, True),
    ("not (x and x)", lambda x: not x, True),
    ("x | (x != x)", lambda x: x, True),
    ("x.astype('int64') == 0", lambda x: not x),
    ("x.where(x, False)", lambda x: x),
]
REAL = [-2.5, -0.5, -0.0, 0.5, 1.5, 2.5, 2.675, 1e16, 0.1 + 0.2, 2.0**53, 1e300, math.inf, -math.inf]
OF_FLOATS: list[Case] = [
    ("x.round() == 2", lambda x: math.isfinite(x) and round(x) == 2),
    ("x.round(2) == 2.67", lambda x: x in (2.67, 2.675)),  # NumPy multiplies, and 267.5 is rounded to 268
    ("x == 0.3", lambda x: x == 0.3),
    ("x == 0", lambda x: x == 0),
    ("x // 1 == -3", lambda x: x == -2.5),
    ("x % 1 == 0.5", lambda x: math.isfinite(x) and x % 1 == 0.5),
    ("x == 9007199254740993", lambda x: x == 2**53 + 1),
    ("x < 9007199254740993", lambda x: x < 2**53 + 1),
    ("x > 1e300", lambda x: x > 1e300),
    ("not (x > 0)", lambda x: not x > 0, True),
    ("x.astype('int64') == -2", lambda x: math.isfinite(x) and math.trunc(x) == -2),
    ("x.astype('int64').isna()", lambda x: not -(2**63) <= x < 2**63, True),
    ("x.astype('string') == '10000000000000000'", lambda x: x == 1e16),
    ("x.abs() == 0.5", lambda x: abs(x) == 0.5),
    ("x // 1 == -1", lambda x: math.isfinite(x) and math.floor(x) == -1),
]
REAL_CASES = [case for case in OF_FLOATS if "2.67" not in case[0]]
MOMENTS = [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59), datetime.datetime(2000, 2, 29)]
MOMENTS += [datetime.datetime(1900, 2, 28), datetime.datetime(2016, 1, 3), datetime.datetime(2019, 12, 30, 23, 59, 59)]
MOMENTS += [datetime.datetime(2021, 1, 3), datetime.datetime(2020, 12, 31), datetime.datetime(1969, 12, 31, 23, 59, 59)]
MOMENTS += [datetime.datetime(2024, 3, 31, 12), datetime.datetime(2023, 6, 30), datetime.datetime(1582, 10, 10)]
OF_DATES: list[Case] = [
    ("x.dt.year == 9999", lambda x: x.year == 9999),
    ("x.dt.day_of_week == 6", lambda x: x.weekday() == 6),
    ("x.dt.day_of_year == 366", lambda x: x.timetuple().tm_yday == 366),
    ("x.dt.quarter == 4", lambda x: (x.month + 2) // 3 == 4),
    ("x.dt.strftime('%G-%V') == '2020-01'", lambda x: x.isocalendar()[:2] == (2020, 1)),
    ("x.dt.strftime('%G-%V') == '2015-53'", lambda x: x.isocalendar()[:2] == (2015, 53)),
    ("x.dt.strftime('%G-%V') == '2020-53'", lambda x: x.isocalendar()[:2] == (2020, 53)),
    ("x.dt.strftime('%V').astype('int64') == 1", lambda x: x.isocalendar()[1] == 1),
    ("x.dt.is_leap_year", lambda x: x.year % 4 == 0 and (x.year % 100 != 0 or x.year % 400 == 0)),
    ("x.dt.is_month_end", lambda x: (x + datetime.timedelta(1)).day == 1 if x.year < 9999 else True),
    ("x.dt.is_quarter_end", lambda x: (x.month, x.day) in ((3, 31), (6, 30), (9, 30), (12, 31))),
    ("x.dt.is_year_end", lambda x: (x.month, x.day) == (12, 31)),
    ("x.dt.is_year_start", lambda x: (x.month, x.day) == (1, 1)),
    ("x.dt.days_in_month == 29", lambda x: x.month == 2 and x.day == 29),
    ("x.dt.second == 59", lambda x: x.second == 59),
    ("x.dt.day_name() == 'Sunday'", lambda x: x.weekday() == 6),
    ("x.dt.month_name() == 'February'", lambda x: x.month == 2),
    ("x < '1970-01-01'", lambda x: x < datetime.datetime(1970, 1, 1)),
    ("x >= '9999-12-31'", lambda x: x >= datetime.datetime(9999, 12, 31)),
    ("x == '2000-02-29'", lambda x: x == datetime.datetime(2000, 2, 29)),
    ("not (x > '2000-01-01')", lambda x: x <= datetime.datetime(2000, 1, 1), True),
    ("x != '2000-02-29'", lambda x: x != datetime.datetime(2000, 2, 29), True),
    ("x.dt.strftime('%Y-%m-%d') == '0001-01-01'", lambda x: x.year == 1),
    ("x.dt.strftime('%j') == '365'", lambda x: x.timetuple().tm_yday == 365),
]
SUMMER = datetime.datetime(2024, 10, 27, 0, 0, tzinfo=UTC)
ZONED = [SUMMER + datetime.timedelta(minutes=30 * step) for step in range(6)]
ZONED += [datetime.datetime(2024, 3, 31, 0, tzinfo=UTC) + datetime.timedelta(minutes=30 * step) for step in range(5)]
BERLIN = ZoneInfo("Europe/Berlin")


def local(x: datetime.datetime) -> datetime.datetime:
    return x.astimezone(BERLIN)


OF_ZONES: list[Case] = [
    ("x.dt.hour == 2", lambda x: local(x).hour == 2),
    ("x.dt.hour == 3", lambda x: local(x).hour == 3),
    ("x.dt.tz_convert('UTC').dt.hour == 1", lambda x: x.hour == 1),
    ("x.dt.tz_localize(None).dt.hour == 2", lambda x: local(x).hour == 2),
    ("x >= '2024-10-27 01:30+00:00'", lambda x: x >= datetime.datetime(2024, 10, 27, 1, 30, tzinfo=UTC)),
    ("x < '2024-10-27 03:00'", lambda x: x < datetime.datetime(2024, 10, 27, 2, tzinfo=UTC)),
    ("x >= '2024-03-31 03:00'", lambda x: x >= datetime.datetime(2024, 3, 31, 1, tzinfo=UTC)),
    ("x.dt.strftime('%d %H:%M') == '27 02:30'", lambda x: f"{local(x):%d %H:%M}" == "27 02:30"),
    (
        "x.dt.tz_localize(None).dt.tz_localize('Europe/Berlin').isna()",
        lambda x: (local(x).day, local(x).hour) == (27, 2),
        True,
    ),
    ("x.dt.day_of_year == 91", lambda x: local(x).timetuple().tm_yday == 91),
]
SPANS = [-1, -86_400_000_001, 0, 1, 999, 86_399_999_999, 86_400_000_000, 31_622_399_999_000, -31_536_000_000_000]
OF_SPANS: list[Case] = [
    ("x.dt.days == -1", lambda x: x // 86_400_000_000 == -1),
    ("x.dt.days == 365", lambda x: x // 86_400_000_000 == 365),
    ("x.dt.seconds == 86399", lambda x: x // 1_000_000 % 86_400 == 86_399),
    ("x.dt.microseconds == 999999", lambda x: x % 1_000_000 == 999_999),
    ("x.dt.total_seconds() < 0", lambda x: x < 0),
    ("x.dt.total_seconds() == 86400", lambda x: x == 86_400_000_000),
    ("x.abs() == '1 days'", lambda x: abs(x) == 86_400_000_000),
    ("(-x) > '0 days'", lambda x: x < 0),
    ("x > '1 days'", lambda x: x > 86_400_000_000),
    ("x.dt.floor('D') == '-1 days'", lambda x: x // 86_400_000_000 == -1),
    ("x.dt.ceil('D') == '1 days'", lambda x: -(-x // 86_400_000_000) == 1),
    ("not (x == '0 days')", lambda x: x != 0, True),
]
TEXT = ["", "a", "A", "b ", "ß", "é", "e\u0301", "a-b", "-7", "+7", " 12", "1_000", "٣", "1e3", "nan", "𝒜b", "a.b", "İ"]


def number(x: str) -> Fraction | None:
    return Fraction(x.strip()) if re.fullmatch(r"\s*[+-]?[0-9]+(\.[0-9]*)?(e[0-9]+)?\s*", x) else None


OF_TEXT: list[Case] = [
    ("x == 'a'", lambda x: x == "a"),
    ("x != 'a'", lambda x: x != "a", True),
    ("not (x == 'a')", lambda x: x != "a", True),
    ("x in ['a', 'b ', 'zz']", lambda x: x in ("a", "b ")),
    ("x not in ['a']", lambda x: x != "a", True),
    ("x.isna()", lambda x: False, True),
    ("x.fillna('a') == 'a'", lambda x: x == "a", True),
    ("x.str.len() == 2", lambda x: len(x) == 2),
    ("x.str.upper() == 'SS'", lambda x: x == "ß"),
    ("x.str.lower() == 'a'", lambda x: x in ("a", "A")),
    ("x.str.contains('.', regex=False)", lambda x: "." in x),
    ("x.str.contains('a.b', regex=True)", lambda x: x in ("a-b", "a.b")),
    ("x.str.contains('A', case=False)", lambda x: "a" in x.lower()),
    ("x.str.startswith('a')", lambda x: x.startswith("a")),
    ("not x.str.startswith('a')", lambda x: not x.startswith("a"), True),
    ("x.str.fullmatch('[0-9]+')", lambda x: bool(re.fullmatch("[0-9]+", x))),
    ("x.str.zfill(3) == '-07'", lambda x: x == "-7"),
    ("x.str.strip() == 'b'", lambda x: x == "b "),
    ("x.str.get(0) == '𝒜'", lambda x: x[:1] == "𝒜"),
    ("x.str.slice(None, None, -1) == 'b-a'", lambda x: x == "a-b"),
    ("x.str.split('-').str.get(1) == 'b'", lambda x: x == "a-b"),
    ("x.str.extract('([0-9])') == '7'", lambda x: "7" in x),
    ("x.astype('float64') == 7", lambda x: number(x) == 7),
    ("x.astype('float64') == 1000", lambda x: number(x) == 1000),
    ("x.astype('int64').isna()", lambda x: number(x) is None, True),
    ("x.str.isdigit()", lambda x: x.isdigit()),
    ("x + x == 'aa'", lambda x: x == "a"),
    ("x.map({'a': 1, 'A': 2}) == 1", lambda x: x == "a"),
    ("x.replace({'a': 'A'}) == 'A'", lambda x: x in ("a", "A")),
    ("x < 'a'", lambda x: x < "a"),
]


def held(cells: list[Any], dtype: str) -> pd.Series[Any]:
    """A column of cells, and a missing one at its end where the dtype can have one."""
    if dtype in ("int64", "bool"):
        return pd.Series(cells, dtype=dtype)
    if dtype == "category":
        return pd.Series(pd.Categorical([*cells, None]))
    if dtype == "dictionary":
        return in_arrow(pa.array([*cells, None]).dictionary_encode())
    if dtype == "dictionary with null":  # which a missing cell is an index of
        return in_arrow(pa.DictionaryArray.from_arrays(pa.array(range(len(cells) + 1), pa.int8()), [*cells, None]))
    if dtype.startswith("date32"):
        return in_arrow(pa.array([*(cell.date() for cell in cells), None]))
    counts, end = cells, datetime.datetime(1970, 1, 1, tzinfo=getattr(cells[0], "tzinfo", None))
    if isinstance(cells[0], datetime.datetime):
        counts = [(cell - end) // datetime.timedelta(microseconds=1) for cell in cells]
    ticks = pa.array([*counts, None], pa.int64()) if type(counts[0]) is int else None
    if dtype.startswith("timestamp"):
        return in_arrow(ticks.cast(pa.timestamp("us", "Europe/Berlin" if "Berlin" in dtype else None)))
    if dtype.startswith("duration"):
        return in_arrow(ticks.cast(pa.duration("us")))
    if dtype[:3] in ("dat", "tim"):
        column = pd.Series(np.array([*counts, -(2**63)]).view("m8[us]" if dtype.startswith("timed") else "M8[us]"))
        column = column.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin") if "Berlin" in dtype else column
        return column.astype(dtype)
    return pd.Series(pd.array([*cells, None], dtype=dtype))


def in_arrow(array: Any) -> pd.Series[Any]:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


KINDS: dict[str, tuple[list[Any], list[str], list[Case]]] = {
    "integers": (INTEGERS, ["Int64", "int64[pyarrow]"], OF_INTEGERS + OVERFLOWING),
    "integers of NumPy": (INTEGERS, ["int64"], OF_INTEGERS + ONGOING),
    "integers that are floats": ([x for x in INTEGERS if float(x) == x], ["float64", "Float64"], OF_INTEGERS),
    "truth": ([True, False], ["bool", "boolean", "bool[pyarrow]"], TRUTHS),
    "floats": (REAL, ["float64", "Float64", "double[pyarrow]"], REAL_CASES),
    "dates": (MOMENTS, ["datetime64[s]", "datetime64[us]", "timestamp[us][pyarrow]"], OF_DATES),
    "days": ([datetime.datetime(*x.timetuple()[:3]) for x in MOMENTS], ["date32[pyarrow]", "datetime64[ms]"], OF_DATES),
    "zoned": (ZONED, ["datetime64[us, Europe/Berlin]", "timestamp[us, Berlin][pyarrow]"], OF_ZONES),
    "durations": (SPANS, ["timedelta64[us]", "timedelta64[ns]", "duration[us][pyarrow]"], OF_SPANS),
    "text": (TEXT, ["str", "string", "object", "string[pyarrow]", "dictionary", "dictionary with null"], OF_TEXT),
    "category": (TEXT, ["category"], [case for case in OF_TEXT if "<" not in case[0]]),
}
ASKED = [pytest.param(kind, dtype, id=f"{kind}-{dtype}") for kind, (_, dtypes, _) in KINDS.items() for dtype in dtypes]
NOT_UNKNOWN = re.compile(r"isna|notna|\bin\b|fillna|where|notin")


@pytest.mark.parametrize(("kind", "dtype"), ASKED)
def test_a_condition_holds_where_python_says(kind, dtype):
    cells, _, cases = KINDS[kind]
    frame = pd.DataFrame({"x": held(cells, dtype)})
    gone = len(frame) - len(cells)
    unknown = dtype in ("Int64", "Float64", "boolean", "string") or "[pyarrow]" in dtype or "dictionary" in dtype
    wrong = []
    for text, holds, *kept in cases:
        # what is unknown is dropped, but where it is asked for
        kept_gone = bool(kept) and (not unknown or bool(NOT_UNKNOWN.search(text)))
        wanted = [bool(holds(cell)) for cell in cells] + [kept_gone] * gone
        found = parse_expression(text, ["x"]).condition(frame).tolist()
        wrong += [
            f"{text} of {cell!r} is {one}, not {other}"
            for cell, one, other in zip([*cells, None], found, wanted, strict=False)
            if one != other
        ]
    assert wrong == []


def test_there_are_several_hundred():
    assert sum(len(dtypes) * len(cases) for _, dtypes, cases in KINDS.values()) > 400

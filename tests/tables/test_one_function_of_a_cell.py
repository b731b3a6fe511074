"""A column of a partition becomes what is declared by one function of the cell, whatever dtype an odd cell gives the others."""

from __future__ import annotations

import contextlib
import datetime as dt
import enum
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.unitless import NO_DATE

from pandas_dp.tables import cells as single
from pandas_dp.tables import conforming
from pandas_dp.tables.conforming import conformed, settled


class Word(enum.StrEnum):
    A = "a"


class Digit(enum.StrEnum):
    ONE = "1"


class Level(enum.IntEnum):
    ONE = 1


class Own(str):
    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


class Moment(dt.datetime):
    pass


class Day(dt.date):
    pass


class Span(dt.timedelta):
    pass


MOMENT = pd.Timestamp("2020-01-02 12:00")
ZONED = MOMENT.tz_localize("Europe/Berlin")
DATES = """2020-01-02|2020/1/2|2020-1-2|2020-1-2 10:00|2020/01/02 10:00|2020-01/02|2020-01-02 10:00 UTC|2020-01-02T10:00Z|2020
2020-01-02 10:00 +01:00|2020/01|2020-1|2020-01-02 10:00:00+00:00|2020-01-02 10:00+0530|0001-01-01|9999-12-31 23:59:59.999999
2020-02-30|2021-02-29|2020-13-01|2020-01-02 24:00|2020-01-02 23:59:60|2020-01-02 10:00:00.1234567|2020-01-02 10:00:00.5
0000-01-01|1677-09-21|2020-01-02 10:00-24:00|2020-01-02 10:00+25:00|2020-01-31T10:00:00|no date| 2020-01-02 """
NUMBERS = """1|1.5|-0|+5|5.|.5|1e5|1E400| 7 |inf|nan|true|False|0.30000000000000004441|9007199254740993|12.50|0x10|1_000|\u0661
-2.5|007|1\t|1e-400|123456789012345.123456789012345|1111111111111111111111111111111111111111"""
CELLS: dict[str, list[Any]] = {
    "whole numbers": [1, 2, -3, 300, 2**53 - 1, 2**53, 2**53 + 1, 2**62],
    "small numbers": [1, 0, 1],
    "unsigned": [1, 2**63 + 1, 2**64 - 1],
    "larger than all": [1, 10**30],
    "floats": [1.0, 2.5, 0.1, 1e300, -0.0, 300.0],
    "floats and none": [1.0, math.nan, math.inf],
    "numpy": [np.int8(1), np.int64(2)],
    "numpy floats": [np.float32(0.1), np.float64(2)],
    "truth": [True, False],
    "numpy truth": [np.True_, np.False_],
    "complex": [1 + 0j, 2 + 1j],
    "text": ["a", "b", "", "\u00e9"],
    "text of numbers": re.split("[|\n]", NUMBERS),
    "text of dates": re.split("[|\n]", DATES),
    "text of spans": ["1 days", "2 days 01:02:03.5", "-1 days +23:59:59", "1d", "1"],
    "numpy text": [np.str_("a"), np.str_("1")],
    "words": [Word.A],
    "digits": [Digit.ONE],
    "own text": [Own("a"), Own("1"), Own("2020-01-02"), Own("1 days")],
    "levels": [Level.ONE],
    "own whole numbers": [Whole(1), Whole(2**53)],
    "own floats": [Real(1.5), Real(2)],
    "decimals": [Decimal(1), Decimal("2.50"), Decimal("1.125")],
    "fractions": [Fraction(1, 2)],
    "moments": [MOMENT, MOMENT + pd.Timedelta(1, "us")],
    "fine moments": [MOMENT.as_unit("ns") + pd.Timedelta(1, "ns")],
    "zoned moments": [ZONED, ZONED + pd.Timedelta(days=200)],
    "datetimes": [dt.datetime(2020, 1, 2), dt.datetime(1, 1, 1)],
    "own datetimes": [Moment(2020, 1, 2, 3)],
    "zoned datetimes": [dt.datetime(2020, 1, 2, tzinfo=dt.UTC)],
    "numpy moments": [np.datetime64("2020-01-02"), NO_DATE],
    "far moments": [np.datetime64("2020-01-02", "s"), np.datetime64("20000-01-01", "s")],
    "days": [dt.date(2020, 1, 2), dt.date(9999, 12, 31)],
    "own days": [Day(2020, 1, 2)],
    "spans": [pd.Timedelta(days=1), pd.Timedelta(1, "us")],
    "timedeltas": [dt.timedelta(days=1), dt.timedelta(microseconds=5)],
    "own timedeltas": [Span(days=1)],
    "numpy spans": [np.timedelta64(5, "s")],
    "periods": [pd.Period("2020")],
    "intervals": [pd.Interval(0, 1)],
    "bytes": [b"a", b"\xff"],
    "lists": [[1], []],
    "nothing": [None, None],
}
ODD: list[Any] = [
    None, math.nan, pd.NaT, pd.NA, 1, 1.5, 0.5, True, "a", "1", "", 2**53, float(2**53), -(2**63), 2**64, 10**400, math.inf,
    Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999"), 1j, b"\xff", (1, 2), [1], {"a": 1}, object(), 5,
    np.str_("a"), np.int8(1), np.float32(0.1), np.datetime64("2020-01-02"), np.datetime64("20000-01-01"), MOMENT,
    MOMENT.tz_localize("UTC"), ZONED, MOMENT.as_unit("ns") + pd.Timedelta(1, "ns"), dt.date(9999, 12, 31),
    dt.datetime(1, 1, 1), dt.timedelta(days=1), pd.Timedelta.max, np.timedelta64(10**15, "s"), pd.Period("2020"),
    pd.Interval(0, 1), pd.Interval(0.5, 1), "\ud800", "a\0", "9" * 400, "2020-01-02 00:00:00.123456789", "2020-01-02", Word.A,
    Level.ONE, Own("z"),
]  # fmt: skip
ARROW: list[Any] = [
    pa.int64(), pa.uint8(), pa.float32(), pa.bool_(), pa.string(), pa.date32(), pa.date64(), pa.timestamp("us", "UTC"),
    pa.timestamp("s"), pa.duration("us"), pa.decimal128(12, 2), pa.decimal256(40, 3), pa.decimal32(5, 1),
    pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int8(), pa.binary()),
]  # fmt: skip
KINDS = [
    "int64",
    "int8",
    "uint64",
    "Int64",
    "float64",
    "float32",
    "Float64",
    "bool",
    "boolean",
    "str",
    "string",
    "object",
]
DECLARED: dict[str, Any] = {
    **{name: name for name in [*KINDS, "category"]},
    **{f"datetime64[{unit}]": f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")},
    "text of Python": pd.StringDtype("python"),
    "zoned": "datetime64[us, Europe/Paris]",
    "durations": "timedelta64[us]",
    "durations in seconds": "timedelta64[s]",
    **{f"Arrow's {held}": pd.ArrowDtype(held) for held in ARROW},
}


def guessed(cells: list[Any]) -> pd.Series[Any]:
    """A column as pandas guesses it of cells, of objects where it cannot."""
    try:
        return pd.Series(cells)
    except Exception:  # too large for any dtype
        return pd.Series(cells, dtype=object)


def shown(column: pd.Series[Any]) -> list[Any]:
    """What there is to see of each cell, None of one that is missing."""
    array: Any = column.array
    if isinstance(column.dtype, pd.ArrowDtype):
        held = array.__arrow_array__()
        times = pa.types.is_temporal(held.type)
        width = pa.int32() if pa.types.is_date32(held.type) else pa.int64()
        cells = (held.cast(width) if times else held).to_pylist()
    elif column.dtype.kind in "mM":
        cells = [None if tick == conforming.MISSING else tick for tick in array.asi8.tolist()]
    else:
        cells = [None if none else cell for none, cell in zip(column.isna(), column.astype(object), strict=True)]
    return [None if cell is None else (type(cell).__name__, repr(cell)) for cell in cells]


def sources(cells: list[Any]) -> list[pd.Series[Any]]:
    """Columns that pandas makes of cells; of categories where it can list them."""
    made = [guessed(cells)]
    with contextlib.suppress(Exception):  # cells that have no hash
        made.append(pd.Series(cells).astype("category"))
    return made


def differences(cells: list[Any], odd: Any, dtype: Any) -> list[tuple[Any, ...]]:
    """Cells that become something else than as the only one of their column, or as objects among others."""
    wanted = settled(pd.api.types.pandas_dtype(dtype))
    expected = shown(conformed(pd.Series(cells, dtype=object), wanted))
    found = []
    for column in [*sources(cells), *sources([*cells, odd]), guessed(cells[:1])]:
        made = shown(conformed(column, wanted))
        found += [(cell, one, other) for cell, one, other in zip(cells, expected, made, strict=False) if one != other]
    return found


@pytest.mark.one_in(16)
@pytest.mark.parametrize("shift", range(3))
@pytest.mark.parametrize("name", DECLARED)
def test_what_becomes_of_a_cell_follows_from_the_cell_alone(name: str, shift: int) -> None:
    """By itself, among others and beside an odd one, in whatever dtype pandas finds for all of them."""
    at = 7 * [*DECLARED].index(name) + len(CELLS) * shift
    for place, (kind, cells) in enumerate(CELLS.items()):
        assert differences(cells, ODD[(at + place) % len(ODD)], DECLARED[name]) == [], kind


@pytest.mark.parametrize("kind", CELLS)
def test_objects_are_what_they_are_in_any_dtype(kind: str) -> None:
    """Beside each odd cell, in a column of objects, which hides nothing of what pandas made of the others."""
    for odd in ODD[::12]:
        assert differences(CELLS[kind], odd, object) == []


@pytest.mark.parametrize(
    ("fault", "cells", "odd", "declared"),
    [
        (("_read_as", lambda held: lambda cell: cell), [300], None, pd.ArrowDtype(pa.decimal128(12, 2))),
        (("bare", lambda cell: cell), [Level.ONE], "x", "str"),
        (("bare", lambda cell: cell), [Word.A], 5, "str"),
        (("bare", lambda cell: cell), [Word.A], 5, object),
        (("MOMENTS", (pd.Timestamp,)), [Moment(2020, 1, 2)], "x", "datetime64[us]"),
        (("_time", lambda cell: cell), [dt.datetime(2020, 1, 2)], "x", object),
        (("SIMPLE", ".*[0-9]"), ["1_000"], 5, "float64"),
    ],
)  # fmt: skip
def test_twins_that_read_a_cell_as_the_others_are_found(
    fault: tuple[str, Any], cells: list[Any], odd: Any, declared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert differences(cells, odd, declared) == []
    monkeypatch.setattr(conforming if hasattr(conforming, fault[0]) else single, *fault)
    with pytest.raises((AssertionError, pa.ArrowInvalid)):
        assert differences(cells, odd, declared) == []

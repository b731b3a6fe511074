"""Pandas takes the unit of dates from the finest of all cells: what steps say of the others does not follow from it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.frames import protected
from support.kept import Kept

from pandas_dp.errors import ArgumentValueError
from pandas_dp.steps.accessors import PROPERTIES
from pandas_dp.steps.expression import Column, Constant, Expression, Operation
from pandas_dp.steps.functions import METHODS

UNITS = ["s", "ms", "us", "ns"]
STAMPS = [
    "1677-09-22",
    "1700-01-01",
    "1969-12-31 23:59:59",
    "1970-01-01",
    "2024-02-27 02:13:20",
    "2200-01-01",
    "2262-04-11",
]
SPANS = ["0 days", "1 day", "-1 day", "36525 days", "3 s", "-106751 days", "106751 days"]
CONSTANTS: list[Any] = [*map(pd.Timestamp, ("1678-01-01", "1970-01-01", "2020-01-01 00:00:00.000000001", "2262-04-11"))]
CONSTANTS += [*map(pd.Timedelta, ("1ms", "1D", "36525D", "-7us", "106751D", "1ns", "3s", "0s"))]
T, S, U = Column("t"), Column("s"), Column("u")
KINDS = {"numpy": "", "zoned": "UTC", "arrow": "arrow"}


def frame(unit: str, kind: str) -> pd.DataFrame:
    pairs = [*itertools.product(STAMPS, SPANS)]
    t = pd.Series(pd.to_datetime([pair[0] for pair in pairs], format="ISO8601").astype(f"M8[{unit}]"))
    s = pd.Series(pd.to_timedelta([pair[1] for pair in pairs]).astype(f"m8[{unit}]"))
    u = pd.Series(t.to_numpy()[::-1].copy())
    if kind == "zoned":
        t, u = t.dt.tz_localize("UTC"), u.dt.tz_localize("UTC")
    made = pd.DataFrame({"t": t, "u": u, "s": s})
    return made if kind != "arrow" else made.convert_dtypes(dtype_backend="pyarrow")


def made(x: Expression) -> list[Expression]:
    found: list[Expression] = []
    for op, other in itertools.product("+-/", [*map(Constant, CONSTANTS), T, S, U]):
        found += [Operation(op, (x, other)), Operation(op, (other, x))]
    small = Operation(">", (S, Constant(pd.Timedelta("0s"))))
    for other in [*map(Constant, CONSTANTS), T, S, U]:
        found += [Operation("where", (x, small, other)), Operation("fillna", (Operation("where", (x, small)), other))]
    found += [Operation(f"dt.{name}", (x,)) for name in ("year", "second", "day")]
    found += [Operation(op, (x, y)) for op in ("<", "==", ">=") for y in (T, U, S, *map(Constant, CONSTANTS))]
    return [*found, *(Operation(name, (x,)) for name in ("negative", "abs"))]


def cells(expression: Expression, table: pd.DataFrame) -> list[Any] | str:
    try:
        column = expression.evaluate(table)
    except Exception as error:
        return type(error).__name__
    return [None if gone else cell for gone, cell in zip(column.isna().tolist(), column.tolist(), strict=True)]


def differing(expressions: list[Expression], kind: str) -> list[str]:
    tables, found = [frame(unit, kind) for unit in UNITS], []
    for expression in expressions:
        one, *others = (cells(expression, table) for table in tables)
        if any(one != other for other in others):
            found.append(str(expression))
    return found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
def test_every_operation_says_the_same_in_every_unit(kind):
    assert differing([*made(T), *made(S)], kind) == []


@pytest.mark.one_in(24)
@pytest.mark.parametrize("part", range(24))
def test_every_two_operations_say_the_same(part):
    first = [*made(T), *made(S)][part::24]
    assert differing([two for one in first for two in made(Kept(one))[part % 3 :: 3]], "numpy") == []


FINE = "2020-01-01 00:00:00.123456789"


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d.t + pd.Timedelta("36525D") > pd.Timestamp("2250-01-01"),
        lambda d: (d.t - pd.Timestamp("1800-01-01")).isna(),
        lambda d: ((d.t - pd.Timestamp("1970-01-01")) / pd.Timedelta("1ms")) % 1 == 0,
    ],
)
@pytest.mark.parametrize("text", ["2200-01-01", "2024-02-27T02:13:20.130"])
def test_one_cell_moves_no_count_by_more_than_one(step, text):
    counts = []
    for last in ([], [FINE]):
        df = pd.DataFrame({"t": pd.to_datetime([text] * 1000 + last, format="ISO8601")})
        counts.append(float(protected(df, epsilon=10**4).dp(epsilon=10**3).filter(step).count()))
    assert abs(counts[0] - counts[1]) < 1.5


def test_whole_ratios_are_whole():
    df = pd.DataFrame({"t": pd.to_datetime(["2024-02-27T02:13:20.130", "1901-01-01"], format="ISO8601")})
    since = Operation("-", (T, Constant(pd.Timestamp("1970-01-01"))))
    for unit, cells in (("1ms", [1709000000130, -2177452800000]), ("1D", [None, -25202])):
        found = Operation("/", (since, Constant(pd.Timedelta(unit)))).evaluate(df)
        assert all(cell is None or cell == own for cell, own in zip(cells, found, strict=True))
    assert Operation("/", (since, Constant(pd.Timedelta(0)))).evaluate(df).tolist() == [np.inf, -np.inf]


def test_a_constant_that_some_units_do_not_hold_is_refused_beside_dates_and_compared_as_ever():
    df = pd.DataFrame({"t": np.array(["9999-12-31", "2020-01-01", "NaT"], dtype="M8[us]")})
    far = Constant(pd.Timestamp("9999-12-31"))
    for unit in ("us", "s"):
        table = df.astype(f"M8[{unit}]")
        assert Operation("==", (T, far)).evaluate(table).tolist() == [True, False, False]
        with pytest.raises(ArgumentValueError, match=r"beyond .*'2262-04-10'"):
            Operation("fillna", (T, far)).evaluate(table)
        with pytest.raises(ArgumentValueError, match=r"beyond .*'2262-04-10'"):
            Operation("-", (T, far)).evaluate(table)
        found = Operation("fillna", (T, Constant(pd.Timestamp("2262-04-10")))).evaluate(table)
        assert found.tolist() == [pd.Timestamp("9999-12-31"), pd.Timestamp("2020-01-01"), pd.Timestamp("2262-04-10")]
    assert Operation("+", (T, Constant(pd.Timedelta("1D")))).evaluate(df).isna().tolist() == [True, False, True]


BARE = ("total_seconds", "day_name", "month_name", "normalize")


def on_clocks(x: Expression) -> list[Expression]:
    found = [METHODS[f"dt.{name}"](x, freq) for name in ("floor", "ceil", "round") for freq in ("h", "7D", "250ms")]
    found += [
        METHODS["dt.tz_localize"](x),
        METHODS["dt.tz_localize"](x, "Asia/Tokyo"),
        METHODS["dt.tz_convert"](x, "Asia/Tokyo"),
    ]
    found += [
        METHODS["dt.strftime"](x, "%Y-%m-%d %H:%M:%S.%f %G-%V"),
        METHODS["dt.total_seconds"](x),
        METHODS["dt.day_name"](x),
    ]
    return found + [build(x) for build in PROPERTIES.values()]


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_on_clocks_says_the_same_in_every_unit(kind):
    assert differing([*on_clocks(T), *on_clocks(S)], kind) == []


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo", "America/New_York"])
def test_which_dates_are_keys_does_not_follow_from_their_unit(zone):
    """At the ends of what nanoseconds count."""
    last, found = 2**63 - 1, []
    for unit, size in (("us", 1000), ("ns", 1)):
        cells = [count // 1000 * 1000 // size for count in (last, -last + 999, 0)]
        column = pd.Series(np.array(cells * 30).view(f"M8[{unit}]"))
        column = column if zone is None else column.dt.tz_localize("UTC").dt.tz_convert(zone)
        frame = protected(pd.DataFrame({"t": column}), epsilon=1e4, delta=1e-6)
        found.append(sorted(map(str, frame.dp(epsilon=100, delta=1e-9).unique("t").value)))
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_a_format_without_a_directive_is_a_text_for_each_row():
    """One without any letter gave a text less than there are rows, and failed where there was one."""
    for rows in (0, 3):
        table = pd.DataFrame({"t": pd.Series([pd.Timestamp("2024-01-01")] * rows, dtype="datetime64[ns]")})
        for form, text in (("", ""), ("x", "x"), ("%%", "%")):
            assert METHODS["dt.strftime"](T, form).evaluate(table).tolist() == [text] * rows


def test_what_is_made_of_far_dates_is_missing_whatever_their_unit():
    """Pandas takes seconds for days alone, and microseconds as soon as one of them has a time."""
    days = pd.Series([pd.Timestamp("9999-12-31").as_unit("s")] * 3)
    steps = [
        METHODS[f"dt.{name}"](T, step) for name in ("floor", "ceil", "round") for step in ("15ms", "1.5s", "h", "7D")
    ]
    steps += [
        Operation("+", (T, Constant(pd.Timedelta("1D")))),
        Operation("-", (T, Constant(pd.Timestamp("2000-01-01")))),
    ]
    for unit in ("s", "us"):
        table = pd.DataFrame({"t": days.astype(f"datetime64[{unit}]")})
        for step in steps:
            assert step.evaluate(table).isna().all(), (unit, step)


FAR = ["0001-01-01", "1677-09-21", "1969-12-31 23:59:59", "2024-02-27 02:13:20", "2262-04-12", "9999-12-31 23:59:59"]


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_what_is_chosen_from_two_columns_does_not_follow_from_the_unit_of_one_of_them(zone):
    """One fine cell gives its column nanoseconds; that moves no far date of the other one."""
    near, far = Operation("<", (T, Constant(pd.Timestamp("2000-01-01", tz=zone)))), Operation(">=", (U, T))
    chosen = [
        Operation("where", (T, far, U)),
        Operation("where", (T, near)),
        Operation("case_when", (T, near, U, far, Constant(pd.Timestamp("1999-01-01", tz=zone)))),
        Operation("fillna", (Operation("where", (U, far, T)), Constant(pd.Timestamp("2020-01-01", tz=zone)))),
        *(Operation(op, (T, U)) for op in ("-", "<", "==")),
    ]
    pairs = [pair for pair in itertools.product(FAR, FAR) if pair[1] in FAR[2:4]]
    seen: dict[str, list[Any]] = {}
    for first, second in itertools.product(UNITS[:3], UNITS):
        columns = [np.array([pair[place] for pair in pairs], f"M8[{u}]") for place, u in enumerate((first, second))]
        table = pd.DataFrame(dict(zip("tu", map(pd.Series, columns), strict=True)))
        if zone is not None:
            table = table.apply(lambda column: column.dt.tz_localize("UTC").dt.tz_convert(zone))
        for expression in chosen:
            found = cells(expression, table)
            assert seen.setdefault(str(expression), found) == found, (expression, first, second)
    assert any(cell is None for cell in seen[str(chosen[0])])

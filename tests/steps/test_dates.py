"""Parts of dates: pandas' own values, in every storage and time zone, and missing where no calendar reaches."""

from __future__ import annotations

import calendar
import runpy

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps import date_texts
from pandas_dp.steps.dates import PARTS
from pandas_dp.steps.expression import Column, Constant, Operation
from pandas_dp.steps.parse import parse_expression
from tests.steps.tables import DATE_STORAGE, floats, stored

NAN = np.nan
ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Pacific/Apia", "+05:45"]
STAMPS = [pd.Timestamp("2024-02-29 00:00"), None, pd.Timestamp("1969-12-31"), pd.Timestamp("2000-01-03")]
CASES = {
    "year": [2024.0, NAN, 1969.0, 2000.0],
    "quarter": [1.0, NAN, 4.0, 1.0],
    "month": [2.0, NAN, 12.0, 1.0],
    "day": [29.0, NAN, 31.0, 3.0],
    "day_of_week": [3.0, NAN, 2.0, 0.0],
    "day_of_year": [60.0, NAN, 365.0, 3.0],
    "hour": [0.0, NAN, 0.0, 0.0],
    "minute": [0.0, NAN, 0.0, 0.0],
    "second": [0.0, NAN, 0.0, 0.0],
    "microsecond": [0.0, NAN, 0.0, 0.0],
    "nanosecond": [0.0, NAN, 0.0, 0.0],
    "days_in_month": [29.0, NAN, 31.0, 31.0],
}
each_part = pytest.mark.parametrize("name", PARTS)


def part(name: str, column: pd.Series) -> pd.Series:
    return parse_expression(f"x.dt.{name}", ["x"]).evaluate(pd.DataFrame({"x": column}))


@each_part
@pytest.mark.parametrize("storage", DATE_STORAGE.values(), ids=DATE_STORAGE)
def test_parts_are_the_same_in_every_storage(name, storage):
    column = stored(STAMPS, storage)
    result = part(name, column)
    np.testing.assert_array_equal(floats(result), CASES[name])
    assert part(name, column.iloc[:0]).dtype == result.dtype


def test_a_condition_on_a_part_is_false_where_the_date_is_missing():
    frame = pd.DataFrame({"visit": stored(STAMPS, "datetime64[us]")})
    for source in ("visit.dt.year == 2024", lambda d: d.visit.dt.year == 2024, pd.col("visit").dt.year == 2024):
        assert parse_expression(source, ["visit"]).evaluate(frame).tolist() == [True, False, False, False]


_instants = st.integers(int(pd.Timestamp("0001-01-02").timestamp()), int(pd.Timestamp("9999-12-30").timestamp()))
_near = st.integers(-(2**32), 2**32)  # where clocks are put forward and back


@pytest.mark.one_in(2)
@pytest.mark.parametrize("zone", [None, *ZONES])
@given(st.lists(_instants | _near, max_size=8))
@settings(max_examples=30, deadline=None)
def test_parts_are_those_of_pandas(zone, seconds):
    column = pd.Series(np.array(seconds, dtype="int64").view("M8[s]"))
    if zone is not None:
        column = column.dt.tz_localize("UTC").dt.tz_convert(zone)
    for name in PARTS:
        expected = getattr(column.dt, name).astype("float64")
        pd.testing.assert_series_equal(part(name, column), expected, check_names=False)


@pytest.mark.parametrize("zone", ZONES[:5])
def test_the_storage_of_a_zoned_column_changes_nothing(zone):
    column = pd.Series(pd.to_datetime(["2024-03-31 00:59:59", None, "2024-10-27 01:30:00"])).dt.tz_localize("UTC")
    column = column.dt.tz_convert(zone)
    for name in PARTS:
        for unit in ("s", "us", "ns"):
            other = column.dt.as_unit(unit).astype(pd.ArrowDtype(pa.timestamp(unit, zone)))
            np.testing.assert_array_equal(floats(part(name, other)), floats(part(name, column)))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None)
def test_no_date_is_too_far_away(zone, unit, counts):
    column = pd.Series(np.array(counts, dtype="int64").view(f"M8[{unit}]"))
    column = column if zone is None else column.dt.tz_localize("UTC").dt.tz_convert(zone)
    for name in PARTS:
        whole = part(name, column)
        alone = [part(name, column.iloc[[row]]).iloc[0] for row in range(len(column))]
        np.testing.assert_array_equal(whole.to_numpy(), alone)
        if zone is not None:
            assert whole.dropna().between(0, 999_999 if name == "microsecond" else 10_000).all()
        elif unit != "s":  # pandas counts years in 32 bits
            np.testing.assert_array_equal(whole, getattr(column.dt, name))


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        (pd.Series([1, 2]), "needs dates, not numbers"),
        (pd.Series(["2024-01-01"], dtype=object), "pd.to_datetime"),
        (pd.Series(["2024-01-01"], dtype="str"), "needs dates, not text"),
        (pd.Series(pd.to_timedelta([1, 2])), "needs dates, not durations"),
        (pd.Series(pd.to_datetime(["2024-01-01"])).astype("category"), "needs dates, not categories"),
    ],
)
def test_what_is_no_date_is_refused_by_its_dtype(cells, advice):
    for column in (cells, cells.iloc[:0]):
        with pytest.raises(ArgumentTypeError, match=advice):
            part("year", column)


def test_a_part_is_an_operation_like_any_other():
    tree = parse_expression("(x.dt.hour // 6).isin([0, 3]) or x.dt.month > 6", ["x"])
    assert tree.columns() == {"x"}
    assert Operation("dt.month", (Column("x"),)) in tree.operands[1].operands
    assert parse_expression(str(tree), ["x"]) == tree


def test_ratios_of_durations_are_those_of_pandas():
    stay = pd.Series(pd.to_timedelta([5_548_888_800_000_000_001, -1, 1_500_000_001, 0, None], unit="ns"))
    frame = pd.DataFrame({"stay": stay, "bed": pd.to_timedelta([7, 2, 10**9, 3, 5], unit="ns")})
    for divisor, theirs in ((Constant(pd.Timedelta("1s")), pd.Timedelta("1s")), (Column("bed"), frame.bed)):
        for op, wanted in (("//", stay // theirs), ("%", stay % theirs)):
            found = Operation(op, (Column("stay"), divisor)).evaluate(frame)
            assert found.isna().tolist() == wanted.isna().tolist()
            assert found.dropna().tolist() == wanted.dropna().astype(found.dtype).tolist()
    nothing = Operation("-", (Column("bed"), Column("bed")))
    assert Operation("//", (Column("stay"), nothing)).evaluate(frame).isna().all()


@pytest.mark.parametrize(("step", "hours"), [("D", 24), ("2D", 48), ("h", 1), (pd.Timedelta("1D"), 24)], ids=str)
def test_days_are_a_step_of_one_length(step, hours):
    """Pandas 3.0 makes no duration of its own days."""
    same = [parse_expression(lambda d, one=one: d.x.dt.floor(one), ["x"]) for one in (step, pd.Timedelta(hours=hours))]
    assert repr(same[0]) == repr(same[1])


def test_names_of_months_and_days_are_english_in_every_language_of_the_process(monkeypatch):
    """Python's own follow the process, and a stored answer would mean another thing after a restart."""
    for name in ("month_name", "day_name", "month_abbr", "day_abbr"):
        monkeypatch.setattr(calendar, name, ["?"] * 13)
    made = runpy.run_path(date_texts.__file__)
    assert made["MONTHS"] == date_texts.MONTHS == [f"{pd.Timestamp(2024, month, 1):%B}" for month in range(1, 13)]
    assert made["DAYS"] == date_texts.DAYS == [f"{pd.Timestamp(2024, 1, day):%A}" for day in range(1, 8)]

"""Dates in arguments: each fault is told by its own name, with a line that works; naive times are those that clocks show."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.errors import PandasDPError
from pandas_dp.facts.kinds import Kind

TWICE = [
    ("America/Chicago", "2016-11-06 01:30"),
    ("Australia/Lord_Howe", "2016-04-03 01:45"),  # by half an hour
    ("Europe/Dublin", "2016-10-30 01:30"),  # where summer is standard time
    ("America/Havana", "2018-11-04"),  # at midnight
    ("America/Chicago", "1883-11-18 12:05"),  # by nine minutes and 24 seconds
]
NEVER = [
    ("America/Chicago", "2016-03-13 02:30"),
    ("America/Sao_Paulo", "2018-11-04"),  # at midnight
    ("Pacific/Apia", "2011-12-30"),  # a day
    ("Pacific/Apia", "2011-12-30 23:59:59.999999999"),
]


def said(zone: str | None, value: object, argument: str = "bounds") -> str:
    with pytest.raises(PandasDPError) as caught:
        Kind("datetime", zone).number(value, argument)
    return str(caught.value)


@pytest.mark.parametrize(("zone", "text"), TWICE + NEVER)
def test_what_clocks_show_twice_or_never_is_told_with_two_lines_that_work(zone, text):
    told = said(zone, text)
    assert told.startswith("bounds: ")
    assert zone in told
    assert ("comes twice" in told, "does not exist" in told) == ((zone, text) in TWICE, (zone, text) in NEVER)
    lines = re.findall(r"'([^']*)'", told.split("write ")[1])
    first, second = (Kind("datetime", zone).number(line, "bounds") for line in lines)
    assert first < second
    wall, naive = [Kind("datetime", zone).value(x).tz_localize(None) for x in (first, second)], pd.Timestamp(text)
    # PEP 495: what comes twice is there at both, and what is skipped lies between the two
    assert wall == [naive, naive] if (zone, text) in TWICE else wall[0] < naive < wall[1]


def test_hours_that_come_once_are_those_of_pandas():
    for zone, text in [
        ("America/Chicago", "2016-11-06 00:59"),
        ("Pacific/Apia", "2011-12-31"),
        ("+05:30", "2016-01-01"),
    ]:
        assert Kind("datetime", zone).number(text, "bounds") == pd.Timestamp(text, tz=zone).as_unit("ns").value


@pytest.mark.parametrize("zone", [None, "America/Chicago"])
@pytest.mark.parametrize("value", [pd.NaT, None, float("nan"), np.float64("nan"), pd.NA, np.datetime64("NaT", "s")])
def test_missing_dates_are_told_as_missing(zone, value):
    assert said(zone, value) == "bounds must be dates, and none of them missing: bounds=('2026-01-01', '2027-01-01')"


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo", "Etc/GMT+12"])
def test_dates_beyond_nanoseconds_are_told_with_the_ends_that_work(zone):
    ends = ("1677-09-22", "2262-04-11")
    for value in ("9999-12-31", "0001-01-01", np.datetime64("20000-01-01"), pd.Timestamp("9999-12-31")):
        assert said(zone, value).startswith(f"bounds must lie between {ends[0]!r} and {ends[1]!r}")
    for value in (pd.Timestamp.min, pd.Timestamp.max):  # in nanoseconds, and off by the hours of the zone
        if zone is not None and (value.year < 2000) == zone.startswith("Asia"):
            assert said(zone, value).startswith("bounds must lie between")
    lower, upper = (Kind("datetime", zone).number(end, "bounds") for end in ends)
    assert lower < 0 < upper


@pytest.mark.parametrize("text", ["2013-02-30", "2013-13-01", "2013-01-01 25:00", "2013-01-01 12:30+99:00"])
def test_days_that_no_calendar_has_are_told_as_such(text):
    assert said(None, text).startswith(f"bounds: {text!r} is not a calendar date: bounds=(")
    assert "'2026-01-31'" in said(None, text, "keys")


def test_a_time_zone_too_many_is_told_with_what_is_left():
    told = said(None, "2016-11-06 01:30+02:00")
    assert told.endswith("leave it out, '2016-11-06 01:30:00'")


def zoned() -> pd.DataFrame:
    return pd.DataFrame({"t": pd.date_range("2016-11-05", periods=720, freq="6min", tz="America/Chicago")})


def test_every_argument_tells_them_and_nothing_is_read_or_charged(monkeypatch):
    df = protected(zoned())
    twice, late = "2016-11-06 01:30", "2016-11-09"
    for ask in (
        lambda d: d.median("t", bounds=(twice, late)),
        lambda d: d.mean("t", bounds=(pd.Timestamp(twice), late)),
        lambda d: d.histogram("t", bins=["2016-11-05", twice, late]),
        lambda d: d.histogram("t", keys=[twice]),
    ):
        with refused(
            monkeypatch, df, ArgumentValueError, "01:30:00' comes twice on clocks of America/Chicago: write '2016"
        ):
            ask(df.dp(epsilon=0.1))
    with refused(monkeypatch, df, ArgumentTypeError, "year first"):
        df.dp(epsilon=0.1).median("t", bounds=(5, late))
    with pytest.raises(ArgumentValueError, match=r"^schema of 't': bounds: .* comes twice"):
        zoned().dp.protect(epsilon=1, name="hours", schema={"t": {"bounds": (twice, late)}})
    assert df.dp(epsilon=0.1).median("t", bounds=("2016-11-06 01:30-05:00", late)).value.tz is not None

"""Periods are intervals that cover all time once, whatever clocks do, and the table on record decides for ever."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import os
import shutil
import struct
import subprocess
import sys
import zoneinfo
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, LedgerError
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.periods import NONE, WORDS, Periods, offsets_of

LAST = {"h": 3_652_059 * 24 - 1, "D": 3_652_058, "W": 521_722, "M": 119_987, "Y": 9_998}
ZONES = [  # with an empty day, changes at midnight, at a minute past it, of half an hour and of other lengths
    "Pacific/Apia",
    "Pacific/Kiritimati",
    "America/St_Johns",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Asia/Beirut",
    "Africa/Casablanca",
]
HOUR = 3_600 * 10**6
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@functools.cache
def of_zone(zone: str | None, period: str = "D") -> Periods:
    return Periods.opened(period, "at", Kind("datetime", None if zone is None else "UTC"), zone)


def instant(text: str, zone: str, fold: int = 0) -> int:
    """Microseconds of what clocks show, by the rules of the standard library alone."""
    local = dt.datetime.fromisoformat(text).replace(tzinfo=zoneinfo.ZoneInfo(zone), fold=fold)
    return (local - EPOCH) // dt.timedelta(microseconds=1)


def hours(periods: Periods, name: str) -> float:
    start, stop = periods.edges(periods.number(name))
    return (stop - start) / HOUR


@pytest.mark.parametrize("period", WORDS)
def test_names_and_numbers_are_one_to_one_from_the_year_1_to_9999(period):
    periods = of_zone(None, period)
    for j in (0, 1, 2, LAST[period] // 3, LAST[period] - 1, LAST[period]):
        assert periods.number(periods.name(j)) == j
        start, stop = periods.edges(j)
        inside = periods.of(np.array([start - 1, start, stop - 1, stop]))
        assert inside.tolist() == [j - 1, j, j, j + 1 if j < LAST[period] else NONE]
    assert periods.edges(0)[0] == -62_135_596_800 * 10**6
    assert periods.edges(LAST[period])[1] == 253_402_300_800 * 10**6


@pytest.mark.parametrize(
    ("period", "name", "day"),
    [
        ("D", "1970-01-01", "1970-01-01"),
        ("W", "2026-W53", "2026-12-28"),
        ("W", "2027-W01", "2027-01-04"),
        ("M", "2024-02", "2024-02-01"),
        ("Y", "1900", "1900-01-01"),
        ("h", "2026-11-28T23", "2026-11-28 23:00"),
    ],
)
def test_names_mean_what_a_calendar_says(period, name, day):
    periods = of_zone(None, period)
    assert periods.edges(periods.number(name))[0] == pd.Timestamp(day).value // 1000


def test_a_date_stands_for_its_day_and_a_moment_for_what_begins_with_it():
    days, by_hour = of_zone(None), of_zone(None, "h")
    for typed in (dt.date(2026, 11, 28), dt.datetime(2026, 11, 28), pd.Timestamp("2026-11-28")):
        assert days.name(days.number(typed)) == "2026-11-28"
    assert by_hour.name(by_hour.number(pd.Timestamp("2026-11-28 07:00"))) == "2026-11-28T07"


@pytest.mark.parametrize(
    ("period", "typed", "said"),
    [
        ("D", "2026-11", "one month, and this budget is per day: df.dp.period('2026-11-01', '2026-11-30')"),
        ("D", "2026-W48", "df.dp.period('2026-11-23', '2026-11-29')"),
        ("D", "2026-11-28T07", "one hour, and this budget is per day: df.dp.period('2026-11-28')"),
        ("W", "2026-11-28", "df.dp.period('2026-W48')"),
        ("M", "2026-W05", "df.dp.period('2026-01', '2026-02')"),
        ("Y", "2026-11", "df.dp.period('2026')"),
        ("W", "9999", "df.dp.period('9998-W53', '9999-W52')"),
        ("D", "2026-02-29", "'2026-02-29' is not in the calendar"),
        ("D", "0000-01-01", "not in the calendar"),
        ("W", "2027-W53", "not in the calendar"),
        ("h", "2026-11-28T24", "not in the calendar"),
        ("D", "28.11.2026", "'28.11.2026' names no day: df.dp.period('2026-11-28')"),
        ("D", "٢٠٢٦-11-28", "names no day"),
        ("h", "now", "names no hour: df.dp.period('2026-11-28T07')"),
        ("D", 20261128, "a day is named by a text: df.dp.period('2026-11-28')"),
        ("h", dt.date(2026, 11, 28), "an hour is named by a text"),
        ("M", dt.date(2026, 11, 1), "a month is named by a text: df.dp.period('2026-11')"),
        ("D", pd.Timestamp("2026-11-28", tz="UTC"), "a day is named by a text"),
        ("D", pd.Timestamp("2026-11-28 07:00"), "a moment within a day: df.dp.period('2026-11-28')"),
        ("h", dt.datetime(2026, 11, 28, 7, 0, 0, 1), "a moment within an hour: df.dp.period('2026-11-28T07')"),
        ("D", pd.NaT, "a missing date names no day"),
        ("D", None, "a day is named by a text"),
    ],
)
def test_a_name_that_is_none_is_refused_with_the_line_to_type(period, typed, said):
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as error:
        of_zone(None, period).number(typed)
    assert said in str(error.value)


@given(
    st.sampled_from([None, *ZONES]),
    st.sampled_from(list(WORDS)),
    st.sampled_from(["s", "ms", "us", "ns"]),
    st.lists(st.integers(-(2**63) + 1, 2**63 - 1), max_size=8),
    st.integers(-62_140_000_000, 253_410_000_000),
)
def test_every_moment_of_the_calendar_lies_in_exactly_one_period(zone, period, unit, anywhere, second):
    periods = of_zone(zone, period)
    factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    near = [second * factor + more for more in (-1, 0, 1) if abs(second) * factor < 2**63 - 2]
    ticks = np.array([*anywhere, *near], np.int64)
    numbers = periods.of(ticks, unit=unit)
    start, stop = periods.edges(0)[0], periods.edges(LAST[period])[1]
    for tick, j in zip(ticks.tolist(), numbers.tolist(), strict=True):
        exact = tick * 10**6  # both sides times the factor: whole numbers, whatever the unit
        if j == NONE:
            assert exact < start * factor or exact >= stop * factor
        else:
            assert 0 <= j <= LAST[period]
            assert periods.edges(j)[0] * factor <= exact < periods.edges(j)[1] * factor


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("period", ["h", "D", "W"])
def test_periods_follow_each_other_without_gap_or_overlap(zone, period):
    periods = of_zone(zone, period)
    first = periods.number({"h": "2011-12-29T00", "D": "1985-01-01", "W": "1985-W01"}[period])
    edges = [periods.edges(j) for j in range(first, first + {"h": 100, "D": 1200, "W": 200}[period])]
    assert all(a <= b for a, b in edges)
    assert all(one[1] == two[0] for one, two in itertools.pairwise(edges))


def test_a_moment_that_is_missing_lies_in_no_period():
    ticks = pd.Series(["2026-11-28 12:00", None], dtype="datetime64[ns]").astype("int64").to_numpy()
    for unit in ("s", "ms", "us", "ns"):
        assert of_zone("UTC").of(ticks, np.array([False, False]), unit).tolist() == [NONE, NONE]
    assert of_zone(None).of(ticks, ticks > 0, "ns").tolist() == [of_zone(None).number("2026-11-28"), NONE]
    assert of_zone(None).of(np.array([], np.int64)).shape == (0,)


def test_an_edge_is_exact_in_nanoseconds():
    edge = pd.Timestamp("2026-11-28").value
    j = of_zone(None).number("2026-11-28")
    assert of_zone(None).of(np.array([edge - 1, edge, edge + 1]), unit="ns").tolist() == [j - 1, j, j]


def test_samoa_had_no_30_december_2011():
    days = of_zone("Pacific/Apia")
    assert [hours(days, f"2011-12-{day}") for day in (29, 30, 31)] == [24, 0, 24]
    before = instant("2011-12-29T23:59:59", "Pacific/Apia")
    assert [days.name(j) for j in days.of(np.array([before, before + 10**6]))] == ["2011-12-29", "2011-12-31"]


def test_kiritimati_skipped_new_year():
    days = of_zone("Pacific/Kiritimati")
    gone = [name for name in ("1994-12-30", "1994-12-31", "1995-01-01", "1995-01-02") if hours(days, name) == 0]
    assert len(gone) == 1


def test_in_st_johns_the_new_day_keeps_what_clocks_show_again_of_the_old_one():
    days = of_zone("America/St_Johns")
    assert (hours(days, "1990-10-27"), hours(days, "1990-10-28")) == (24, 25)
    again = instant("1990-10-27T23:30:00", "America/St_Johns", fold=1)
    first = instant("1990-10-27T23:30:00", "America/St_Johns", fold=0)
    assert again - first == HOUR
    assert [days.name(j) for j in days.of(np.array([first, again]))] == ["1990-10-27", "1990-10-28"]


def test_an_hour_that_comes_twice_is_one_period_and_one_that_is_skipped_is_empty():
    berlin, lord_howe = of_zone("Europe/Berlin", "h"), of_zone("Australia/Lord_Howe", "h")
    assert (hours(berlin, "2026-10-25T02"), hours(berlin, "2026-10-25T03")) == (2, 1)
    assert (hours(berlin, "2026-03-29T02"), hours(berlin, "2026-03-29T03")) == (0, 1)
    assert (hours(of_zone("Europe/Berlin"), "2026-10-25"), hours(of_zone("Europe/Berlin"), "2026-03-29")) == (25, 23)
    assert [hours(lord_howe, f"2026-04-05T0{hour}") for hour in (1, 2)] == [1.5, 1]
    assert [hours(lord_howe, f"2026-10-04T0{hour}") for hour in (1, 2, 3)] == [1, 0.5, 1]


def test_without_a_zone_clocks_are_taken_at_their_word():
    """An hour that came twice is one hour of wall time: nothing tells which of the two a row was written in."""
    days = of_zone(None)
    assert hours(days, "2026-10-25") == hours(days, "2026-03-29") == 24


def days_of_zone(zone: str, first: str, last: str) -> list[tuple[int, int]]:
    days = of_zone(zone)
    return [days.edges(j) for j in range(days.number(first), days.number(last) + 1)]


@pytest.mark.parametrize("zone", ZONES)
def test_days_have_22_to_26_hours_or_none(zone):
    lengths = {(stop - start) / HOUR for start, stop in days_of_zone(zone, "1985-01-01", "2013-12-31")}
    assert lengths <= {0, 22, 22.5, 23, 23.5, 24, 24.5, 25, 26}
    assert (0 in lengths) == (zone in ("Pacific/Apia", "Pacific/Kiritimati"))


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.slow
def test_a_day_is_the_one_that_clocks_show_but_for_what_they_show_again(zone):
    """Each minute of the two days around each change of clocks, by the rules of the standard library, which are asked alone."""
    rules, days = zoneinfo.ZoneInfo(zone), of_zone(zone)
    changes = [since for since, _ in days.offsets if 473_385_600 <= since < 1_388_534_400]
    seconds = np.unique(np.concatenate([np.arange(s - 86_400, s + 86_400, 60) for s in changes]))
    found = days.of(seconds, unit="s").tolist()
    odd = []
    for second, j in zip(seconds.tolist(), found, strict=True):
        shown = (EPOCH + dt.timedelta(seconds=second)).astimezone(rules).date().isoformat()
        if shown != days.name(j):
            assert dt.date.fromisoformat(days.name(j)) - dt.date.fromisoformat(shown) == dt.timedelta(1)
            odd.append(second)
    # only there did clocks go back after midnight: at 00:01, by an hour, and in 1988 by two
    if zone != "America/St_Johns":
        assert odd == []
        return
    by_change = [sum(since <= second < since + 7_200 for second in odd) for since in changes]
    assert sum(by_change) == len(odd)
    assert set(by_change) == {0, 59, 119}


def in_the_database(zone: str) -> list[tuple[int, int]]:
    """Since when its clocks are how far ahead, as the file of a zone says (RFC 9636), where that is a change."""
    content = next(path.read_bytes() for folder in zoneinfo.TZPATH if (path := Path(folder, zone)).exists())
    utc, standard, leaps, times, kinds, letters = struct.unpack(">6l", content[20:44])
    begin = 44 + times * 5 + kinds * 6 + letters + leaps * 8 + standard + utc  # behind the version of 32 bits
    times, kinds = struct.unpack(">2l", content[begin + 32 : begin + 40])
    begin += 44
    since = struct.unpack(f">{times}q", content[begin : begin + 8 * times])
    kind = content[begin + 8 * times : begin + 9 * times]
    begin += 9 * times
    ahead = [struct.unpack(">l", content[begin + 6 * place : begin + 6 * place + 4])[0] for place in range(kinds)]
    before = [ahead[0], *(ahead[place] for place in kind)]
    return [
        (second, ahead[place]) for second, place, old in zip(since, kind, before, strict=False) if ahead[place] != old
    ]


@pytest.mark.parametrize("zone", [*ZONES, "UTC", "Africa/Freetown", "Asia/Gaza", "America/Recife", "Antarctica/Troll"])
@pytest.mark.one_in(5)
def test_no_change_of_clocks_is_missed(zone):
    """Those that the file of the zone lists, and moments all over three centuries, at all hours and times of the year."""
    rules, table = zoneinfo.ZoneInfo(zone), offsets_of(zone)
    since, ahead = (np.array(column) for column in zip(*table, strict=True))
    assert (np.diff(since) > 0).all()
    listed = [change for change in in_the_database(zone) if change[0] > since[0]]
    assert list(table[1 : len(listed) + 1]) == listed
    for second in range(-2_208_988_800 + 4_321, 7_258_118_400, 40 * 86_400 + 5_413):
        offset = (EPOCH + dt.timedelta(seconds=second)).astimezone(rules).utcoffset()
        assert ahead[np.searchsorted(since, second, side="right") - 1] == offset.total_seconds()


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_the_ledger_has_it_in_exactly_one_form(zone):
    periods = of_zone(zone)
    assert Periods.from_text(periods.text()) == periods
    assert Periods.from_text(periods.text()).text() == periods.text()


def test_two_that_differ_in_one_offset_alone_are_told_apart_by_their_text():
    berlin = of_zone("Europe/Berlin")
    other = replace(berlin, offsets=((*berlin.offsets[0][:1], 3599), *berlin.offsets[1:]))
    assert len({berlin, other}) == len({repr(berlin), repr(other)}) == len({berlin.text(), other.text()}) == 2
    assert len(repr(berlin)) < 200


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text + " ",
        lambda text: text.replace('"D"', '"d"'),
        lambda text: text.replace("instant", "naive"),
        lambda text: text[:-1],
        lambda text: text.replace("3600", "3600.0", 1),
        lambda text: text.replace("[-1693706400,7200],", "[-2693706400,7200],"),
        lambda text: "[1,2]",
        lambda text: '{"period":"D"}',
    ],
)
def test_a_damaged_record_is_refused(change):
    text = of_zone("Europe/Berlin").text()
    assert change(text) != text
    with pytest.raises(LedgerError):
        Periods.from_text(change(text))


@pytest.mark.parametrize(
    ("typed", "kind", "said"),
    [
        (("day", "at"), Kind("datetime"), "type period='D'"),
        (("weeks", "at"), Kind("datetime"), "type period='W'"),
        (("H", "at"), Kind("datetime"), "type period='h'"),
        ((["D"], "at"), Kind("datetime"), "type period='D'"),
        ((1, "at"), Kind("datetime"), "type period='D'"),
        (("D", None), Kind("datetime"), "period= needs time=, the name of the column"),
        (("D", "at"), None, "a table without a column 'at' has no day"),
        (("D", "at"), Kind("number"), "'at' holds no dates"),
        (("D", "at"), Kind("key"), "pd.to_datetime(df['at'])"),
        (("D", "at", "Europe/Berlin"), Kind("datetime"), "dt.tz_localize('Europe/Berlin')"),
        (("D", "at", "Europe/Berlim"), Kind("datetime", "UTC"), "zone='Europe/Berlim' is no time zone"),
        (("D", "at", "../../etc"), Kind("datetime", "UTC"), "is no time zone"),
        (("D", "at", 1), Kind("datetime", "UTC"), "zone='Europe/Berlin'"),
    ],
)
def test_what_no_budget_can_be_opened_with(typed, kind, said):
    period, time, *zone = typed
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as error:
        Periods.opened(period, time, kind, *zone)
    assert said in str(error.value)


def test_a_table_of_the_other_kind_is_refused():
    of_zone(None).check(Kind("datetime"))
    of_zone("UTC").check(Kind("datetime", "Asia/Tokyo"))
    with pytest.raises(ArgumentTypeError, match="'at' has a time zone, and the days on record need none"):
        of_zone(None).check(Kind("datetime", "UTC"))
    with pytest.raises(ArgumentTypeError, match="'at' has no time zone, and the days on record need one"):
        of_zone("UTC").check(Kind("datetime"))


OPENED = "from pandas_dp.facts.periods import Periods; from pandas_dp.facts.kinds import Kind; {}"


def elsewhere(code: str, rules: Path) -> str:
    """What code prints in a process whose machine has other rules for time zones."""
    environment = os.environ | {"PYTHONTZPATH": str(rules)}
    done = subprocess.run(
        [sys.executable, "-c", OPENED.format(code)], check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip()


@pytest.mark.slow
def test_utc_needs_no_database_of_time_zones(tmp_path):
    code = "print(Periods.opened('D', 'at', Kind('datetime', 'UTC')).edges(0))"
    hidden = f"import sys; sys.modules['tzdata'] = None; {code}"
    assert elsewhere(hidden, tmp_path) == str(of_zone("UTC").edges(0))


@pytest.mark.slow
def test_what_is_on_record_decides_whatever_the_machine_says(tmp_path):
    """A machine gives Berlin the clocks of Tokyo: a budget opened there has those days, one on record keeps its own."""
    (tmp_path / "Europe").mkdir()
    tokyo = next(Path(folder, "Asia/Tokyo") for folder in zoneinfo.TZPATH if Path(folder, "Asia/Tokyo").exists())
    shutil.copy(tokyo, tmp_path / "Europe" / "Berlin")
    berlin = of_zone("Europe/Berlin")
    day = berlin.number("2026-11-28")
    fresh = "print(Periods.opened('D', 'at', Kind('datetime', 'UTC'), 'Europe/Berlin').edges({}))"
    stored = f"print(Periods.from_text({berlin.text()!r}).edges({day}))"
    assert elsewhere(stored, tmp_path) == str(berlin.edges(day))
    assert elsewhere(fresh.format(day), tmp_path) == str(of_zone("Asia/Tokyo").edges(day)) != str(berlin.edges(day))

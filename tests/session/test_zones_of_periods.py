"""Days of a zone, asked as users ask them, of frames, files and Dask. Noise at epsilon=1000 is 0 but with odds of e^-1000."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zoneinfo
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.frames import fresh

import pandas_dp

SURE = 1000


def minutes(first: str, days: int, zone: str | None) -> pd.DataFrame:
    """A row for each minute from a midnight on, as clocks there show it."""
    start = pd.Timestamp(first, tz=zone)
    at = pd.date_range(start, start + pd.DateOffset(days=days), freq="min", inclusive="left", unit="us")
    return pd.DataFrame({"at": at.tz_convert("UTC") if zone else at})


def protected(frame: Any, zone: str | None, period: str = "D", **options: Any) -> Any:
    frame.dp.protect(epsilon=10**6, period=period, time="at", zone=zone, name=fresh(), **options)
    return frame


def rows(frame: Any, *named: str) -> int:
    return int(frame.dp.period(*named).dp(epsilon=SURE).count())


def test_an_empty_day_has_no_rows_and_its_neighbours_have_theirs():
    frame = protected(minutes("2011-12-29", 3, "Pacific/Apia"), "Pacific/Apia")
    assert [rows(frame, f"2011-12-{day}") for day in (29, 30, 31)] == [1440, 0, 1440]
    assert rows(frame, "2011-12-29", "2011-12-31") == 2880


def test_days_have_as_many_rows_as_clocks_show_minutes():
    berlin = protected(minutes("2026-10-24", 4, "Europe/Berlin"), "Europe/Berlin")
    assert [rows(berlin, f"2026-10-{day}") for day in (24, 25, 26)] == [1440, 1500, 1440]
    st_johns = protected(minutes("1990-10-27", 3, "America/St_Johns"), "America/St_Johns")
    assert [rows(st_johns, f"1990-10-{day}") for day in (27, 28)] == [1440, 1500]
    naive = protected(minutes("2026-10-24", 4, None), None)
    assert [rows(naive, f"2026-10-{day}") for day in (24, 25, 26)] == [1440, 1440, 1440]


def test_the_zone_of_the_column_does_not_matter_and_utc_is_left_out():
    frame = minutes("2026-10-24", 4, "Europe/Berlin")
    tokyo = frame.assign(at=frame["at"].dt.tz_convert("Asia/Tokyo"))
    assert rows(protected(tokyo, "Europe/Berlin"), "2026-10-25") == 1500
    assert rows(protected(minutes("2026-10-24", 4, "Europe/Berlin"), None), "2026-10-25") == 1440


def test_hours_weeks_months_and_years():
    for period, name, expected in (
        ("h", "2026-10-25T02", 120),
        ("W", "2026-W43", 60 * 49),
        ("M", "2026-10", 60 * 97),
        ("Y", "2026", 60 * 97),
    ):
        frame = protected(minutes("2026-10-24", 4, "Europe/Berlin"), "Europe/Berlin", period)
        assert rows(frame, name) == expected


def test_years_1_and_9999_and_rows_without_a_time():
    far = [
        pd.Timestamp("0001-01-01 00:00").as_unit("us"),
        pd.Timestamp("9999-12-31 23:59:59.999999").as_unit("us"),
        None,
    ]
    frame = protected(pd.DataFrame({"at": pd.Series(far, dtype="M8[us]"), "x": 1}), None)
    assert rows(frame, "0001-01-01") == rows(frame, "9999-12-31") == 1
    assert rows(frame, "1970-01-01") == 0


def test_files_and_plans_without_a_frame_have_the_same_days(tmp_path):
    frame = minutes("2026-10-24", 4, "Europe/Berlin")
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet", row_group_size=500)
    scan = protected(pandas_dp.scan_parquet(tmp_path / "a.parquet"), "Europe/Berlin")
    assert [rows(scan, f"2026-10-{day}") for day in (24, 25, 26)] == [1440, 1500, 1440]
    kept = pandas_dp.query(epsilon=SURE).count()
    assert kept(protected(frame, "Europe/Berlin").dp.period("2026-10-25")) == 1500


def test_periods_are_named_before_the_price():
    frame = protected(minutes("2026-10-24", 1, None), None)
    for asked in (
        lambda: frame.dp(epsilon=1).period("2026-10-24"),
        lambda: pandas_dp.query(epsilon=1).period("2026-10-24"),
    ):
        with pytest.raises(AttributeError, match=r"it comes before the price: df\.dp\.period\('2026-11-28'\)\.dp"):
            asked()


@pytest.mark.slow
def test_dask_has_the_same_days_and_a_bound_for_each():
    import dask.dataframe as dd

    import pandas_dp.dask  # noqa: F401 - gives Dask DataFrames their accessor

    frame = minutes("2026-10-24", 4, "Europe/Berlin").assign(who=lambda d: d.index % 10)
    lazily = protected(dd.from_pandas(frame, npartitions=3), "Europe/Berlin", unit="who", max_rows=100)
    assert rows(lazily, "2026-10-25") == 10 * 100
    assert rows(lazily, "2026-10-24", "2026-10-26") == 3 * 10 * 100


OPEN = """
import pandas as pd, pandas_dp, sys
at = pd.to_datetime(["2026-11-27 22:59:59", "2026-11-27 23:00:00", "2026-11-28 22:59:59", "2026-11-28 23:00:00"], utc=True)
df = pd.DataFrame({"at": at, "x": 1})
df.dp.protect(epsilon=10**6, period="D", time="at", zone="Europe/Berlin", ledger="a.dpledger", name=sys.argv[1], table="t")
print(*(int(df.dp.period(day).dp(epsilon=1000, fresh=True).count()) for day in ("2026-11-27", "2026-11-28", "2026-11-29")))
"""


@pytest.mark.slow
def test_days_on_record_stay_where_another_machine_has_other_rules(tmp_path):
    """Elsewhere Berlin has the clocks of Tokyo: a budget opened here keeps its days there, a new one has those of Tokyo."""
    (tmp_path / "rules" / "Europe").mkdir(parents=True)
    tokyo = next(Path(folder, "Asia/Tokyo") for folder in zoneinfo.TZPATH if Path(folder, "Asia/Tokyo").exists())
    shutil.copy(tokyo, tmp_path / "rules" / "Europe" / "Berlin")

    def told(name: str, **changed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", OPEN, name],
            check=True,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | changed,
        )
        return done.stdout.strip()

    elsewhere = {"PYTHONTZPATH": str(tmp_path / "rules")}
    assert told("here") == "1 2 1"
    assert told("here", **elsewhere) == "1 2 1"
    assert told("there", **elsewhere) == "0 2 2"
    assert told("there") == "0 2 2"

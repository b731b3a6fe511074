"""The rows of some periods: exactly those whose time lies between the edges, however times are stored."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pandas_dp
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import PER_SECOND, Kind, kind_of
from pandas_dp.facts.periods import MOST, NONE, Periods
from pandas_dp.steps.periods import period
from pandas_dp.tables import frames
from pandas_dp.tables.parquet import pushed
from tests.support import steps

NAIVE = Periods.opened("D", "at", Kind("datetime"))
BERLIN = Periods.opened("D", "at", Kind("datetime", "UTC"), "Europe/Berlin")
MIDNIGHT = pd.Timestamp("2026-11-27 23:00").value // 10**9  # of 28 November 2026 in Berlin, in UTC
UNITS = list(PER_SECOND)
STORED: list[Any] = [
    *(np.dtype(f"M8[{unit}]") for unit in UNITS),
    *(pd.ArrowDtype(pa.timestamp(unit)) for unit in UNITS),
    *(pd.DatetimeTZDtype(unit, "Asia/Tokyo") for unit in UNITS),
    *(pd.ArrowDtype(pa.timestamp(unit, "America/New_York")) for unit in UNITS),
]


def held(ticks: list[int | None], dtype: Any) -> pd.DataFrame:
    """A table with these counts of the column's own unit, and missing times."""
    numbers = pa.array(ticks, pa.int64())
    if isinstance(dtype, pd.ArrowDtype):
        column: Any = pd.arrays.ArrowExtensionArray(pa.chunked_array([numbers.cast(dtype.pyarrow_dtype)]))
        return pd.DataFrame({"at": column, "row": range(len(ticks))})
    unit = dtype.unit if isinstance(dtype, pd.DatetimeTZDtype) else np.datetime_data(dtype)[0]
    plain = np.array([np.iinfo(np.int64).min if tick is None else tick for tick in ticks], np.int64).view(f"M8[{unit}]")
    at = pd.Series(plain)
    if isinstance(dtype, pd.DatetimeTZDtype):
        at = at.dt.tz_localize("UTC").dt.tz_convert(dtype.tz)
    return pd.DataFrame({"at": at, "row": range(len(ticks))})


def unit_of(dtype: Any) -> str:
    return str(getattr(getattr(dtype, "pyarrow_dtype", dtype), "unit", "")) or np.datetime_data(dtype)[0]


def rows(periods: Periods, frame: pd.DataFrame, first: Any, last: Any = None) -> list[int]:
    (step,) = period(periods, first, last, frame.iloc[:0])
    return step.apply(frame)["row"].tolist()


@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_edges_are_exact_in_every_storage(dtype):
    zoned = kind_of(dtype).tz is not None
    per = PER_SECOND[unit_of(dtype)]
    start = MIDNIGHT if zoned else MIDNIGHT + 3600
    ticks = [start * per - 1, start * per, None, (start + 86_400) * per - 1, (start + 86_400) * per]
    frame = held(ticks, dtype)
    assert rows(BERLIN if zoned else NAIVE, frame, "2026-11-28") == [1, 3]
    assert rows(BERLIN if zoned else NAIVE, frame, "2026-11-27", "2026-11-28") == [0, 1, 3]
    assert rows(BERLIN if zoned else NAIVE, frame, "0001-01-02", "0001-01-05") == []


@pytest.mark.parametrize("held_as", [pa.date32(), pa.date64()])
def test_columns_of_dates_count_as_their_midnights(held_as):
    days = pa.array([dt.date(2026, 11, 27), dt.date(2026, 11, 28), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)])
    at = pd.arrays.ArrowExtensionArray(pa.chunked_array([days.cast(held_as)]))
    frame = pd.DataFrame({"at": at, "row": range(5)})
    assert rows(NAIVE, frame, "2026-11-28") == [1]
    assert rows(NAIVE, frame, "0001-01-01") == [3]
    assert rows(NAIVE, frame, "9999-12-31") == [4]


@settings(max_examples=60)
@given(
    st.sampled_from(STORED),
    st.sampled_from("hDWMY"),
    st.integers(-62_135_596_800, 253_402_300_799),
    st.lists(st.one_of(st.none(), st.integers(-(2**63) + 1, 2**63 - 1), st.integers(-1, 1)), max_size=6),
    st.integers(0, 3),
)
def test_a_row_stays_exactly_where_its_period_is_asked(dtype, period_, second, ticks, more):
    zoned = kind_of(dtype).tz is not None
    periods = Periods.opened(period_, "at", kind_of(dtype), "Australia/Lord_Howe" if zoned else None)
    unit = unit_of(dtype)
    if zoned:  # what pandas has: it keeps moments in UTC, and shows no year beyond 9999
        ticks = [None if t is None or abs(t) > 10**4 else t for t in ticks]
    j = int(periods.of(np.array([second]), unit="s")[0])
    if j == NONE:
        return
    last = min(
        j + more,
        periods.number(
            {"h": "9999-12-31T23", "D": "9999-12-31", "W": "9999-W52", "M": "9999-12", "Y": "9999"}[period_]
        ),
    )
    edges = [edge * PER_SECOND[unit] // 10**6 for edge in (periods.edges(j)[0], periods.edges(last)[1])]
    near = [edge + step for edge in edges for step in (-1, 0, 1) if abs(edge) < 2**63 - 2]
    near = [tick for tick in near if not zoned or abs(tick) // PER_SECOND[unit] < 60_000_000_000]
    frame = held([*ticks, *near], dtype)
    known = frame["at"].notna().to_numpy()
    numbers = periods.of(np.array([0 if t is None else t for t in (*ticks, *near)], np.int64), known, unit)
    wanted = np.flatnonzero((numbers >= j) & (numbers <= last)).tolist()
    assert rows(periods, frame, periods.name(j), periods.name(last)) == wanted


@given(st.data())
def test_what_becomes_of_a_row_depends_on_its_own_time_alone(data):
    ticks = data.draw(st.lists(st.one_of(st.none(), st.integers(MIDNIGHT - 2, MIDNIGHT + 86_402)), max_size=12))
    some = data.draw(st.permutations(range(len(ticks))))[: data.draw(st.integers(0, len(ticks)))]
    for dtype in ("M8[s]", pd.DatetimeTZDtype("s", "UTC")):
        frame = held(ticks, np.dtype(dtype) if isinstance(dtype, str) else dtype)
        kept = rows(NAIVE if isinstance(dtype, str) else BERLIN, frame, "2026-11-28")
        assert rows(NAIVE if isinstance(dtype, str) else BERLIN, frame.iloc[some], "2026-11-28") == [
            r for r in some if r in kept
        ]


def test_labels_order_and_other_columns_stay():
    frame = pd.DataFrame(
        {"at": pd.to_datetime(["2026-11-28", "2026-11-27", "2026-11-28"]), "x": [1, 2, 3]}, index=[5, 5, 7]
    )
    (step,) = period(NAIVE, "2026-11-28", None, frame.iloc[:0])
    pd.testing.assert_frame_equal(step.apply(frame), frame.iloc[[0, 2]])
    assert step.apply(frame.iloc[:0]).dtypes.equals(frame.dtypes)
    assert step.is_filter
    assert step.factor == 1
    assert (step.reads, step.touches) == ({"at"}, frozenset())


def test_a_step_is_data_and_reads_as_it_is_typed():
    empty = held([], STORED[0])
    (one,), (several,) = period(NAIVE, "2026-11-28", None, empty), period(NAIVE, "2026-11-01", "2026-11-30", empty)
    assert (str(one), str(several)) == ("period('2026-11-28')", "period('2026-11-01', '2026-11-30')")
    assert pickle.loads(pickle.dumps(one)) == one
    assert (one == several) == (repr(one) == repr(several)) == (hash(one) == hash(several)) == False  # noqa: E712
    assert period(NAIVE, "2026-11-28", dt.date(2026, 11, 28), empty) == (one,)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ("2026-11-30", "2026-11-01"),
            "'2026-11-30' comes after '2026-11-01': df.dp.period('2026-11-01', '2026-11-30')",
        ),
        (
            ("2000-01-01", "2027-05-19"),
            "10,001 days, and one question may name at most 10,000: df.dp.period('2000-01-01', '2027-05-18')",
        ),
        (("2026-11",), "one month, and this budget is per day"),
        ((None,), "a day is named by a text"),
    ],
)
def test_ranges_that_are_none_are_refused(typed, said):
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as error:
        period(NAIVE, *typed, *([None] if len(typed) == 1 else []), held([], STORED[0]))
    assert said in str(error.value)


def test_the_longest_range_is_one_of_ten_thousand_periods():
    (step,) = period(NAIVE, "2000-01-01", "2027-05-18", held([], STORED[0]))
    assert step.last - step.first + 1 == MOST


def test_a_table_without_time_or_with_another_kind_of_it_is_refused():
    for frame, said in (
        (pd.DataFrame({"x": [1]}), "a table without a column 'at' has no day"),
        (pd.DataFrame({"at": ["2026-11-28"]}), "'at' holds no dates"),
        (pd.DataFrame({"at": [dt.date(2026, 11, 28)]}), "'at' holds no dates"),
        (pd.DataFrame({"at": pd.to_datetime(["2026-11-28"], utc=True)}), "the days on record need none"),
    ):
        with pytest.raises((ArgumentTypeError, ArgumentValueError)) as error:
            period(NAIVE, "2026-11-28", None, frame.iloc[:0])
        assert said in str(error.value)
    (step,) = period(NAIVE, "2026-11-28", None, held([], STORED[0]))
    with pytest.raises(ArgumentTypeError, match="'at' holds no dates"):
        step.apply(pd.DataFrame({"at": [1.0]}))


def scanned(path: Any, **options: Any) -> Any:
    found = frames.scan_of(pandas_dp.scan_parquet(path, **options)._carrier)
    assert found is not None
    return found


def condition(scan: Any, step: Any) -> str | None:
    found = pushed((step,), scan.files.empty)
    return None if found is None else str(found)


@pytest.mark.parametrize("stored_as", ["s", "ms", "us", "ns", "date"])
def test_groups_of_rows_of_other_days_are_not_read(tmp_path, stored_as):
    at = pd.Series(pd.date_range("2026-11-01", periods=60, freq="D"))
    column = pa.array(at.dt.date) if stored_as == "date" else pa.array(at).cast(pa.timestamp(stored_as))
    pq.write_table(pa.table({"at": column, "row": range(60)}), tmp_path / "a.parquet", row_group_size=2)
    scan = scanned(tmp_path / "a.parquet")
    (step,) = period(NAIVE, "2026-11-28", "2026-11-30", scan.files.empty)
    assert condition(scan, step) is not None
    found = pd.concat(list(scan.after((step,)).read(["at", "row"])))
    assert found["row"].tolist() == [27, 28, 29]
    kept = [piece.subset(filter=pushed((step,), scan.files.empty)) for piece in scan.files.pieces]
    assert sum(len(piece.row_groups) for piece in kept) == 2


def test_a_time_that_a_step_wrote_is_not_compared_in_files(tmp_path):
    pq.write_table(pa.table({"at": pa.array([0], pa.timestamp("us"))}), tmp_path / "a.parquet")
    scan = scanned(tmp_path / "a.parquet")
    moved = steps.assign(scan.files.empty, at=lambda d: d["at"] + pd.Timedelta("1 day"))
    (step,) = period(NAIVE, "1970-01-02", None, scan.files.empty)
    assert pushed((*moved, step), scan.files.empty) is None
    assert len(pd.concat(list(scan.after((*moved, step)).read(["at"])))) == 1


def test_folders_of_other_days_are_not_opened(tmp_path):
    for day in ("2026-11-27", "2026-11-28", "2026-11-29"):
        folder = Path(tmp_path, f"at={day}")
        folder.mkdir()
        pq.write_table(pa.table({"row": [int(day[-2:])]}), folder / "a.parquet")
    parted = ds.partitioning(pa.schema([("at", pa.date32())]), flavor="hive")
    parts = ds.dataset(tmp_path, format="parquet", partitioning=parted)
    scan = scanned(parts)
    (step,) = period(NAIVE, "2026-11-28", None, scan.files.empty)
    assert condition(scan, step) == "((at >= 2026-11-28) and (at < 2026-11-29))"
    found = pd.concat(list(scan.after((step,)).read(["row"])))
    assert found["row"].tolist() == [28]
    reached = [*parts.get_fragments(filter=pushed((step,), scan.files.empty))]
    assert len(reached) == 1


@pytest.fixture
def around() -> pd.DataFrame:
    """Rows next to both ends of a day in Berlin, and one without a time."""
    at = pd.Series([MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 86_399, MIDNIGHT + 86_400]).astype("M8[s]").dt.tz_localize("UTC")
    return pd.DataFrame({"at": [*at, pd.NaT], "row": range(5)})


def test_scanned_rows_are_those_of_memory(tmp_path, around):
    around.to_parquet(tmp_path / "a.parquet")
    scan = scanned(tmp_path / "a.parquet")
    (step,) = period(BERLIN, "2026-11-28", None, around.iloc[:0])
    assert step.apply(around)["row"].tolist() == [1, 2]
    assert period(BERLIN, "2026-11-28", None, scan.files.empty) == (step,)
    assert pd.concat(list(scan.after((step,)).read(["row"])))["row"].tolist() == [1, 2]


@pytest.mark.slow
def test_dask_keeps_the_same_rows_partition_by_partition(around):
    import dask.dataframe as dd

    from pandas_dp.tables.dask_chunks import Partitions

    (step,) = period(BERLIN, "2026-11-28", None, around.iloc[:0])
    lazily = Partitions.of(dd.from_pandas(around, npartitions=2)).after((step,)).lazily()
    assert lazily["row"].compute(scheduler="synchronous").tolist() == [1, 2]

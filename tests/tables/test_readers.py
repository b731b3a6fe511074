"""Frames that the package's readers make: dtypes follow from the file's schema, and the files are remembered."""

from __future__ import annotations

import io
import os
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.frames import fresh, people

import pandas_dp
from pandas_dp import ArgumentValueError
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.tables import frames

CELLS = {
    pa.bool_(): True,
    pa.int8(): 1,
    pa.uint64(): 2**63,
    pa.float32(): 0.5,
    pa.string(): "a",
    pa.binary(): b"a",
    pa.date32(): date(2026, 11, 29),
    pa.time64("us"): time(12),
    pa.timestamp("us"): datetime(2026, 11, 29),
    pa.timestamp("us", "UTC"): datetime(2026, 11, 29, tzinfo=UTC),
    pa.duration("us"): timedelta(1),
    pa.decimal128(5, 2): Decimal("1.50"),
    pa.list_(pa.bool_()): [True],
}


def write(array, path):
    """One column, in the format of the name."""
    table = pa.table({"c": array})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


def read(path, where=None):
    reader = pandas_dp.read_parquet if path.suffix == ".parquet" else pandas_dp.read_feather
    return reader(path if where is None else where(path))


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("held", CELLS, ids=str)
def test_no_cell_decides_on_the_kind_of_a_column(held, form, coded, tmp_path):
    if coded and pa.types.is_nested(held):
        coded = False
    kinds, dtypes = set(), set()
    for place, cells in enumerate(([CELLS[held]] * 3, [CELLS[held], None], [None, None], [])):
        array = pa.array(cells, held)
        array = array.dictionary_encode() if coded else array
        dtype = read(write(array, tmp_path / f"{place}.{form}"))["c"].dtype
        kind = kind_or_none(dtype)
        kinds.add(kind and kind.name)
        dtypes.add(str(dtype))
    assert len(kinds) == 1
    assert len(dtypes) == 1 or isinstance(dtype, pd.CategoricalDtype) or dtype == "object"


@pytest.mark.parametrize("where", [str, lambda path: io.BytesIO(path.read_bytes()), lambda path: [path]])
def test_bools_are_bools_wherever_they_are_read(where, tmp_path):
    for cells in ([True, False], [True, None]):
        path = write(pa.array(cells), tmp_path / "a.parquet")
        assert read(path, where)["c"].dtype == "boolean"
        assert read(path, where)["c"].tolist() == [cell if cell is not None else pd.NA for cell in cells]
    assert pandas_dp.read_parquet(path, dtype_backend="pyarrow")["c"].dtype == pd.ArrowDtype(pa.bool_())
    assert pandas_dp.read_parquet(path, columns=[]).columns.empty


@pytest.mark.parametrize(
    "names",
    [pd.Index([3, 4]), pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]), pd.date_range("2026-11-29", periods=2)],
)
def test_bools_of_other_names_than_text(names, tmp_path):
    frame = pd.DataFrame([[True, 1], [None, 2]])
    frame.columns = names
    frame.to_parquet(tmp_path / "a.parquet")
    read = pandas_dp.read_parquet(tmp_path / "a.parquet")
    assert read.dtypes.tolist() == ["boolean", "Int64"]
    assert read.columns.equals(names)


LARGE = 1_700_000_000_000_000_001


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("where", [str, lambda path: io.BytesIO(path.read_bytes())])
@pytest.mark.parametrize("held", [pa.int64(), pa.uint64()])
def test_one_missing_integer_changes_no_other_one(form, where, held, tmp_path):
    """Pandas makes floats of all, and takes a thousand ids for five."""
    ids = [LARGE + at for at in range(1000)]
    whole = read(write(pa.array([*ids, 7], held), tmp_path / f"a.{form}"), where)["c"]
    holed = read(write(pa.array([*ids, None], held), tmp_path / f"b.{form}"), where)["c"]
    assert whole.dtype == holed.dtype == ("Int64" if held == pa.int64() else "UInt64")
    assert whole.tolist()[:-1] == holed.tolist()[:-1] == ids
    assert holed.isna().tolist() == [False] * 1000 + [True]


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_one_missing_entry_of_a_list_changes_no_other_one(form, tmp_path):
    told = []
    for place, more in enumerate(([2**53 + 1], [None])):
        lists = pa.array([[2**53 + 1]] * 200 + [more], pa.list_(pa.int64()))
        frame = read(write(lists, tmp_path / f"{place}.{form}"))
        frame["u"] = range(201)
        frame.dp.protect(epsilon=10**6, unit="u", max_rows=1, name=fresh())
        ones = frame.dp(epsilon=10**4).explode("c", max=1)
        told.append(ones.value_counts("c", keys=[2**53, 2**53 + 1]).tolist())
        blocks = frame.dp(epsilon=10**4).sample_and_aggregate(
            lambda t: float(isinstance(t["c"].iloc[0][0], float)), bounds=(0, 1), rows=200, blocks=20
        )
        assert abs(blocks) < 0.01
    assert told == [[201, 0], [200, 0]]  # entries are floats, rounded by themselves


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_price_and_key_of_a_question_do_not_tell_that_a_cell_is_missing(form, tmp_path):
    told = set()
    for place, last in enumerate((50, None)):
        frame = read(write(pa.array([30, 40, last], pa.int64()), tmp_path / f"{place}.{form}"))
        frame.dp.protect(epsilon=3, name=fresh())
        told.add(frame.dp.preview(within=50).median("c", bounds=(0, None)).price)
    assert len(told) == 1


def test_a_directory_has_the_schema_that_arrow_reads(tmp_path):
    """Its first file may be another one for Arrow than by name."""
    pd.DataFrame({"flag": pd.Series([], dtype=object)}).to_parquet(tmp_path / "z.parquet")
    (tmp_path / "a").mkdir()
    dtypes = set()
    for cells in ([True, False], [True, None]):
        pq.write_table(pa.table({"flag": pa.array(cells, pa.bool_())}), tmp_path / "a" / "x.parquet")
        dtypes.add(str(pandas_dp.read_parquet(tmp_path)["flag"].dtype))
    assert len(dtypes) == 1


WAYS = {
    "path": lambda folder: folder / "b.parquet",
    "home": lambda folder: "~/b.parquet",
    "url": lambda folder: (folder / "b.parquet").as_uri(),
    "folder": str,
    "list": lambda folder: [str(folder / "b.parquet")],
}


@pytest.mark.parametrize("way", WAYS)
def test_files_are_remembered_however_they_are_named(way, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    path, named = tmp_path / "b.parquet", WAYS[way](tmp_path)
    people().drop(columns="city").to_parquet(path)
    first, again = (pandas_dp.read_parquet(named) for _ in range(2))
    assert frames.read_token(first) == frames.read_token(again) is not None
    session = first.dp.protect(epsilon=1, name=fresh())
    for other in (named, path, tmp_path):
        with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
            pandas_dp.read_parquet(other).dp.protect(epsilon=50, name=fresh())
    with pytest.raises(ArgumentValueError, match="already spends"):
        pandas_dp.scan_parquet(path).dp.protect(epsilon=50, name=fresh())
    (tmp_path / "c.parquet").write_bytes(path.read_bytes())
    changed = pandas_dp.read_parquet(named)
    assert (frames.read_token(changed) == frames.read_token(first)) == (way != "folder")
    os.utime(path)
    assert frames.read_token(pandas_dp.read_parquet(named)) not in (frames.read_token(first), None)


def test_what_is_not_remembered(tmp_path):
    """As the help says: open files, and text that is read in parts."""
    path = tmp_path / "a.csv"
    people()[["age"]].to_csv(path, index=False)
    with path.open() as file:
        frame = pandas_dp.read_csv(file)
    assert (frames.read_token(frame), frames._names(frame)) == (None, frozenset())
    for options in ({"chunksize": 10}, {"iterator": True}):
        with pandas_dp.read_csv(path, **options) as parts:
            frame = next(iter(parts))
        assert frames._names(frame) == frozenset()
    for words in ("an open file", "not remembered"):
        assert words in " ".join((pandas_dp.read_parquet.__doc__ or "").split())
    assert "``chunksize=``" in (pandas_dp.read_csv.__doc__ or "")


def test_a_file_that_is_gone_after_it_was_read_is_not_remembered(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    people()[["age"]].to_parquet(path)
    whole = pd.read_parquet

    def gone(name, **options):
        frame = whole(name, **options)
        Path(name).unlink()
        return frame

    monkeypatch.setattr(pd, "read_parquet", gone)
    assert frames._names(pandas_dp.read_parquet(path)) == frozenset()

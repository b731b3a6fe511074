"""Data files: dtypes follow from public facts alone, and no error tells what a file holds."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import traceback
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.commands import PLAN, SECRET, command, entries, visits
from support.unread import UNREAD

from pandas_dp import ArgumentTypeError, ArgumentValueError, Schema
from pandas_dp.commands import data_files
from pandas_dp.engines.encode import stored
from pandas_dp.errors import DataFileError
from pandas_dp.facts.kinds import kind_of
from pandas_dp.tables import arrow_frames
from pandas_dp.tables.conforming import fitted
from pandas_dp.tables.frames import scan_of

NOTHING = Schema({})
TYPES = {
    "int8": (pa.int8(), 1),
    "int64": (pa.int64(), 2**60 + 1),
    "uint64": (pa.uint64(), 2**63),
    "bool": (pa.bool_(), True),
    "float32": (pa.float32(), 0.5),
    "float64": (pa.float64(), 0.1),
    "text": (pa.string(), SECRET),
    "large text": (pa.large_string(), "b"),
    "day": (pa.date32(), dt.date(2013, 1, 31)),
    "moment": (pa.timestamp("us"), dt.datetime(2013, 1, 31, 12)),
    "zoned": (pa.timestamp("ns", "Europe/Paris"), pd.Timestamp("2013-01-31", tz="Europe/Paris")),
    "span": (pa.duration("ms"), dt.timedelta(seconds=1)),
    "decimal": (pa.decimal128(9, 2), Decimal("1.25")),
    "category": (pa.dictionary(pa.int8(), pa.string()), "c"),
    "null": (pa.null(), None),
    "list": (pa.list_(pa.int64()), [1]),
}


def whole(path, schema):
    """All rows of a file, also of one that is scanned."""
    frame = data_files.same_frame(path, schema, data_files.empty_frame(path, schema))
    scan = scan_of(frame)
    return frame if scan is None else pd.concat(scan.read(frame.columns), ignore_index=True)


def write(table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("name", TYPES)
def test_no_cell_decides_on_a_dtype(tmp_path, form, name):
    """With no row, with cells, with missing ones, and with missing ones alone the columns look the same."""
    (kind, cell), found = TYPES[name], []
    for cells in ([], [cell], [cell, None], [None]):
        path = tmp_path / form
        write(pa.table({"x": pa.array(cells, kind)}), path)
        read = whole(str(path), NOTHING)
        found += [data_files.empty_frame(str(path), NOTHING).dtypes["x"], read.dtypes["x"]]
        assert len(read) == len(cells)
        assert read["x"].isna().sum() == cells.count(None)
        assert isinstance(read.index, pd.RangeIndex)
    assert all(dtype == found[0] for dtype in found)
    if name != "list" and (name, form) != ("null", "a.parquet"):
        kind_of(found[0])
    if name == "int64":
        assert (
            str(whole(str(path), NOTHING).dtypes["x"])
            == {".feather": "Int64", ".parquet": "int64[pyarrow]"}[path.suffix]
        )


def test_the_index_of_pandas_is_a_column_and_its_metadata_aside(tmp_path):
    frame = visits(8).set_index("pid")
    frame.to_parquet(tmp_path / "a.parquet")
    read = whole(str(tmp_path / "a.parquet"), NOTHING)
    assert sorted(read.columns) == sorted(visits(8).columns)
    assert read["pid"].tolist() == visits(8)["pid"].tolist()


CSV = Schema(
    {
        "age": {"bounds": (0, 120)},
        "code": {"keys": [1, 2]},
        "ward": {"keys": ["A", "B"]},
        "day": {"bounds": (pd.Timestamp("2013-01-01"), pd.Timestamp("2014-01-01"))},
        "whole": {"dtype": "Int64"},
        "small": {"dtype": "Int8"},
        "yes": {"dtype": "boolean"},
        "when": {"dtype": "datetime64[us, UTC]"},
        "real": {"dtype": "float32"},
    }
)
TEXTS = {
    "age": ["31", " 4.5", "x", ""],
    "code": ["1", "2", "NA", "1.0"],
    "ward": ["A", "B", "", "C"],
    "day": ["2013-01-31", "2013-01-31 12:30:00.123456789", "31.1.2013", ""],
    "whole": ["3", "9007199254740992", "2.5", "1e30"],
    "small": ["127", "128", "-128", ""],
    "yes": ["true", "0", "maybe", ""],
    "when": ["2013-01-31T12:00:00Z", "2013-01-31 12:00:00+02:00", "soon", ""],
    "real": ["0.5", "1e3", "inf", ""],
    "other": ["001", "x", "", "2"],
}


def test_columns_of_csv_are_what_the_schema_says(tmp_path):
    path = str(tmp_path / "a.csv")
    pd.DataFrame(TEXTS).to_csv(path, index=False)
    read = whole(path, CSV)
    assert read.dtypes.equals(data_files.empty_frame(path, CSV).dtypes)
    missing = {name: read[name].isna().tolist() for name in read}
    assert read["age"].tolist()[:2] == [31, 4.5]
    assert missing["age"] == [False, False, True, True]
    assert read["code"].tolist()[::3] == [1, 1]
    assert read["ward"].tolist()[::3] == ["A", "C"]
    assert read["day"].tolist()[:2] == [pd.Timestamp("2013-01-31"), pd.Timestamp("2013-01-31 12:30:00.123456")]
    assert missing["day"] == [False, False, True, True]
    assert read["whole"].tolist()[0] == 3
    assert missing["whole"] == [False, True, True, True]  # as floats larger ones could be others, rounded
    assert missing["small"] == [False, True, False, True]
    assert read["yes"].tolist()[:2] == [True, False]
    assert missing["yes"] == [False, False, True, True]
    assert read["when"].tolist()[:2] == [
        pd.Timestamp("2013-01-31 12:00", tz="UTC"),
        pd.Timestamp("2013-01-31 10:00", tz="UTC"),
    ]
    assert read["real"].tolist()[:2] == [0.5, 1000]
    assert read["other"].tolist()[0] == "001"


ODD = ["2013-01", "2013-02-30", "9999-12-31", "0001-01-01 00:00:00.1234567", "18446744073709551615", "-1"]
LISTED = [cell for cells in TEXTS.values() for cell in cells] + ODD


def typed(text):
    """Cells of a CSV file in the dtypes that the schema says."""
    return fitted(text, pd.DataFrame({name: pd.Series([], dtype=data_files._wanted(name, CSV[name])) for name in text}))


def test_one_very_fine_moment_does_not_make_distant_days_missing():
    text = pd.DataFrame({"day": pd.Series(["9999-12-31", "2013-01-31 12:30:00.123456789"], dtype="str")})
    assert typed(text)["day"].tolist()[0] == pd.Timestamp("9999-12-31")


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(LISTED)


@settings(max_examples=150)
@given(column=st.lists(CELL, min_size=1, max_size=6), name=st.sampled_from([*CSV]))
def test_a_cell_of_csv_is_read_by_itself(tmp_path_factory, column, name):
    """Each cell becomes the same beside others as alone: neighbouring files stay neighbouring tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = pd.DataFrame({name: pd.Series(column, dtype="str")})
        together = typed(text)[name]
        for place in range(len(column)):
            alone = typed(text.iloc[place : place + 1])[name]
            assert alone.dtype == together.dtype
            pd.testing.assert_series_equal(alone, together.iloc[place : place + 1].reset_index(drop=True))


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a,b", ["a", "b"]),
        ("\ufeff\n \na,b", ["a", "b"]),
        ('"a""b""",c', ['a"b"', "c"]),
        (",a,a", ["Unnamed: 0", "a", "a.1"]),
    ],
)
def test_of_a_csv_file_without_its_rows_the_names_alone_are_read(tmp_path, header, names):
    rows = tmp_path / "rows.csv"
    rows.write_text(f"{header}\n" + "1,2,3\n"[: 2 * len(names)], encoding="utf-8", newline="")
    read = data_files.empty_frame(str(rows), Schema({}))
    assert whole(str(rows), Schema({})).dtypes.equals(read.dtypes)
    assert list(read.columns) == names
    assert len(read) == 0
    for row in (b'"open,2\n', b"1,2,3,4,5\n", b"\xff\0\n", b""):
        rows.write_bytes(f"{header}\n".encode() + row)
        assert data_files.empty_frame(str(rows), Schema({})).dtypes.equals(read.dtypes)


@pytest.mark.parametrize(
    "dtype", ["int64", "bool", "timedelta64[ns]", "category", "int64[pyarrow]", "no dtype", "period[D]"]
)
def test_dtypes_that_csv_has_not(tmp_path, dtype):
    path = str(tmp_path / "a.csv")
    pd.DataFrame({"x": ["1"]}).to_csv(path, index=False)
    with pytest.raises(ArgumentTypeError, match="schema of 'x': columns of CSV files have missing cells"):
        data_files.empty_frame(path, Schema({"x": {"dtype": dtype}}))


def damaged(path):
    """Files that are damaged, or none, where readers may quote cells."""
    frame = visits(40)
    frame.to_parquet(path / "cut.parquet")
    whole = (path / "cut.parquet").read_bytes()
    (path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (path / "flipped.parquet").write_bytes(whole[:100] + bytes(255 - byte for byte in whole[100:400]) + whole[400:])
    (path / "text.parquet").write_text(SECRET)
    frame.to_feather(path / "whole.feather", compression="uncompressed")
    whole = (path / "whole.feather").read_bytes()
    (path / "cut.feather").write_bytes(whole[:-200])
    (path / "text.feather").write_text(SECRET)
    (path / "empty.csv").write_text("")
    (path / "cut.csv.gz").write_bytes(gzip.compress(ROWS.encode())[:-40])


FILES = ["cut.parquet", "text.parquet", "cut.feather", "text.feather", "empty.csv", "cut.csv.gz"]


@pytest.mark.parametrize("name", FILES)
def test_no_error_tells_what_a_file_holds(tmp_path, name):
    damaged(tmp_path)
    with pytest.raises(DataFileError) as caught:
        whole(str(tmp_path / name), NOTHING)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "nothing was charged" in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_no_command_prints_a_cell(tmp_path, name):
    damaged(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    where = ("--data", tmp_path / name, "--ledger", tmp_path / "books", "--out", tmp_path / "out")
    done = command("run", tmp_path / "plan.toml", *where)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    for text in (done.stdout, done.stderr):
        assert SECRET not in text
        assert "40" not in text  # rows
        assert "Traceback" not in text
    assert not (tmp_path / "books").exists()


def test_damaged_rows_of_parquet_show_when_they_are_asked_for_and_no_cell_does(tmp_path):
    damaged(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    where = ("--data", tmp_path / "flipped.parquet", "--ledger", tmp_path / "books", "--out", tmp_path / "out")
    done = command("run", tmp_path / "plan.toml", *where)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "pandas-dp: query 'rows': the query could not be answered; its price stays spent\n"
    assert len(entries(tmp_path / "books")) == 2


def test_files_of_other_kinds_and_none(tmp_path):
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(ArgumentValueError, match=r"must end with \.parquet"):
        data_files.empty_frame(str(tmp_path / "a.xlsx"), NOTHING)
    with pytest.raises(DataFileError, match="there is no data file"):
        data_files.empty_frame(str(tmp_path / "a.parquet"), NOTHING)
    (tmp_path / "dir.parquet").mkdir()
    with pytest.raises(DataFileError, match="there is no data file"):
        data_files.empty_frame(str(tmp_path / "dir.parquet"), NOTHING)


def test_a_file_that_was_replaced_in_between_is_noticed(tmp_path):
    path = str(tmp_path / "a.feather")
    visits(8).to_feather(path)
    empty = data_files.empty_frame(path, NOTHING)
    assert len(data_files.same_frame(path, NOTHING, empty)) == 8
    visits(8).assign(cost=np.arange(8) / 2).to_feather(path)
    with pytest.raises(DataFileError, match="replaced"):
        data_files.same_frame(path, NOTHING, empty)


ROWS = "pid,cost,ward,note,day\n" + "".join(
    f"{n // 4},{n % 101},{'AB'[n % 2]},note {n},2013-01-31\n" for n in range(400)
)
LINES = {  # one more line, the same but for one cell or comma, and how many of its five cells are missing
    "as the others": (b"7,50,A,a note,2013-01-31", 0),
    "comma too many": (b"7,50,A,a, note,2013-01-31", 5),
    "cells too few": (b"7,50,A", 2),
    "Latin-1": (b"7,50,A,Andr\xe9,2013-01-31", 0),
    "UTF-16": ("7,50,A,a,2013-01-31".encode("utf-16"), None),
    "no text": (bytes(range(256)), None),
    "zero byte": (b"7,50,A,a\0note,2013-01-31", 0),
    "open quote": (b'7,50,A,"a note,2013-01-31', 1),
    "open quote first": (b'"7,50,A,a note,2013-01-31', 5),
    "quote inside": (b'7,50,A,a"note,2013-01-31', 0),
    "huge": (b"7,1" + b"0" * 400 + b",A,a note,2013-01-31", 0),
    "larger than a float holds": (b"9007199254740993,50,A,a note,2013-01-31", 1),
    "letters": (b"x,y,A,a note,soon", 3),
    "far away": (b"7,50,A,a note,99999-01-31", 1),
    "very fine": (b"7,50,A,a note,2013-01-31 00:00:00.123456789", 0),
    "long": (b"7,50,A," + b"x" * 200_000 + b",2013-01-31", 5),
    "half a pair": (b"7,50,A,\xed\xa0\x80,2013-01-31", 0),
    "nothing": (b",,,,", 5),
    "NA": (b"NA,NaN,null,None,n/a", 5),
    "line end of a Mac": (b"7,50,A,a\rnote,2013-01-31", None),
    "line end of Windows": (b"7,50,A,a note,2013-01-31\r", 0),
    "comment": (b"#7,50,A,a note,2013-01-31", 1),
    "formula": (b"=1+1,50,A,a note,2013-01-31", 1),
}
READ = Schema({"pid": {"dtype": "Int64"}, "cost": {"bounds": (0, 100)}, "day": {"dtype": "datetime64[us]"}})


@pytest.mark.one_in(6)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("name", LINES)
def test_no_line_of_csv_decides_on_others(tmp_path, name, place):
    (line, missing), rows = LINES[name], ROWS.encode().splitlines(keepends=True)
    at = {"first": 1, "middle": 200, "last": len(rows)}[place]
    path = tmp_path / "a.csv"
    path.write_bytes(ROWS.encode())
    plain = whole(str(path), READ)
    path.write_bytes(b"".join([*rows[:at], line, *([b"\n"] * (place != "last")), *rows[at:]]))
    read = whole(str(path), READ)
    assert read.dtypes.equals(plain.dtypes)
    more = len(read) - len(plain)
    assert more == 1 or missing is None
    pd.testing.assert_frame_equal(read.drop(range(at - 1, at - 1 + more)).reset_index(drop=True), plain)
    if missing is not None:
        assert read.iloc[at - 1].isna().sum() == missing


@pytest.mark.parametrize("size", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_csv_is_the_same_however_many_lines_are_read_together(tmp_path, size, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(ROWS)
    plain = whole(str(path), READ)
    monkeypatch.setattr(data_files, "LINES", size)
    pd.testing.assert_frame_equal(whole(str(path), READ), plain)


def raw(cells, kind):
    """Cells of a type as no writer of Arrow's makes them: of any bytes."""
    plain = pa.array(cells, arrow_frames._bare(kind))
    return plain.view(kind)


HOSTILE = {
    "text": (pa.string(), [b"a", b"Andr\xe9", None]),
    "large text": (pa.large_string(), [b"a", b"\xff\xfe\0", None]),
    "text views": (pa.string_view(), [b"a", b"Andr\xe9 who has a longer name", None]),
    "decimal": (pa.decimal128(3, 2), [(125).to_bytes(16, "little"), b"\xfe" * 16, None]),
    "day": (pa.date32(), [1, 2**31 - 1, None]),
    "moment of a day": (pa.date64(), [86_400_000, 2**63 - 1, None]),
    "moment": (pa.timestamp("s", "Europe/Paris"), [1, 2**63 - 1, None]),
    "span": (pa.duration("s"), [1, -(2**63), None]),
    "whole": (pa.int64(), [1, 2**63 - 1, None]),
    "list": (pa.list_(pa.string()), [[b"a"], [b"Andr\xe9"], None]),
    "list of days": (pa.large_list(pa.date64()), [[86_400_000], [1], None]),
    "list of decimals": (pa.list_(pa.decimal128(3, 2)), [[b"\0" * 16], [b"\xfe" * 16], None]),
}
UNWRITTEN = {
    "text views",
    "decimal",
    "moment of a day",
    "moment",
    "span",
    "list of days",
    "list of decimals",
}  # to Parquet


@pytest.mark.parametrize("form", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_cell_of_arrow_fails(tmp_path, form, name):
    """Whatever bytes a cell has the file is read, in the same dtypes, and the other cells are what they are without it."""
    kind, cells = HOSTILE[name]
    if form == "a.parquet" and name in UNWRITTEN:
        cells = [cells[0], cells[0], None]  # the writer refuses it
    path, found = str(tmp_path / form), []
    for several in (cells, [cells[0], cells[0], None]):
        write(pa.table({"x": raw(several, kind), "y": [1, 2, 3]}), tmp_path / form)
        found.append(whole(path, NOTHING))
        assert found[-1].dtypes.equals(data_files.empty_frame(path, NOTHING).dtypes)
    assert found[0]["y"].tolist() == [1, 2, 3]
    assert found[0]["x"].isna().tolist()[::2] == [False, True]
    if "list" not in name and name != "text views" and not (form == "a.parquet" and "text" in name):
        assert found[0]["x"].iloc[0] == found[1]["x"].iloc[0]
    for frame in found:
        stored(frame["y"])
    if name in ("text", "large text") and form == "a.feather":  # of a scan the engine sees to that
        assert found[0]["x"].tolist()[:2] == ["a", cells[1].decode("utf-8", "replace")]


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("form", ["a.parquet", "a.feather"])
def test_categories_of_anything_are_read(form, rows, tmp_path):
    moments = pd.to_datetime(["2026-11-29", "2026-11-30"])
    for listed in ([1, 2], [0.5, 1.5], [True, False], moments, moments.tz_localize("UTC"), ["a", "b"]):
        cells = pd.Categorical.from_codes([0, 1, -1][:rows], listed)
        write(pa.Table.from_pandas(pd.DataFrame({"x": cells, "y": [1, 2, 3][:rows]})), tmp_path / form)
        frame = whole(str(tmp_path / form), NOTHING)
        assert frame["x"].isna().tolist() == [False, False, True][:rows]
        assert frame.dtypes.equals(data_files.empty_frame(str(tmp_path / form), NOTHING).dtypes)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("name", UNREAD)
def test_columns_of_which_nothing_can_be_asked_are_none(tmp_path, form, name):
    """What Arrow and pandas make of them may depend on a cell, so none of them is looked at."""
    for cells in UNREAD[name]:
        try:
            write(pa.table({"x": cells, "y": [1, 2]}), tmp_path / form)
        except (pa.ArrowNotImplementedError, OSError):  # by Parquet
            return
        for read in (data_files.empty_frame, whole):
            assert read(str(tmp_path / form), NOTHING).columns.tolist() == ["y"]
        write(pa.table({"x": cells}), tmp_path / form)
        with pytest.raises(DataFileError, match="so nothing can be asked of it"):
            whole(str(tmp_path / form), NOTHING)


def test_no_line_decides_how_a_command_ends(tmp_path):
    """Exit code, both streams and the books are the same text but for the answers, whatever the line holds."""
    (tmp_path / "plan.toml").write_text(PLAN)
    seen = set()
    for place, (line, _) in enumerate(LINES[name] for name in ("as the others", *HARD)):
        (tmp_path / "a.csv").write_bytes(ROWS.encode() + line)
        books = tmp_path / f"books {place}"
        where = ("--data", tmp_path / "a.csv", "--ledger", books, "--out", tmp_path / f"out {place}")
        done = command("run", tmp_path / "plan.toml", *where)
        seen.add((done.returncode, done.stdout, done.stderr, tuple(entries(books))))
    assert len(seen) == 1
    assert next(iter(seen))[0] == 0


HARD = ("comma too many", "Latin-1", "zero byte", "open quote first", "huge", "letters")


@pytest.mark.parametrize("fault", ["too many", "quotes", "bytes"])
def test_the_tests_of_lines_find_planted_faults(tmp_path, monkeypatch, fault):
    """Lines that fail, that take the next one for their own, and bytes that are refused."""
    if fault == "too many":
        monkeypatch.setattr(data_files, "_row", lambda line, width: next(csv.reader([line])))
        name = "comma too many"
    elif fault == "bytes":
        monkeypatch.setattr(data_files, "_lines", lambda path: iter(Path(path).read_text("utf-8").splitlines()))
        name = "Latin-1"
    else:
        monkeypatch.setattr(data_files, "_lines", lambda path: iter(["pid,cost,ward,note,day", *quoted(path)]))
        name = "open quote"
    with pytest.raises((AssertionError, DataFileError)):
        test_no_line_of_csv_decides_on_others(tmp_path, name, "middle")


def quoted(path):
    with open(path, newline="") as file:
        return [",".join(row) + "\n" for row in csv.reader(file)][1:]

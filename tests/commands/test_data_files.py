"""Data files: dtypes follow from public facts alone, and no error tells what a file holds."""

from __future__ import annotations

import datetime as dt
import traceback
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.commands import PLAN, SECRET, command, visits

from pandas_dp import ArgumentTypeError, ArgumentValueError, Schema
from pandas_dp.commands import data_files
from pandas_dp.errors import DataFileError
from pandas_dp.kinds import kind_of

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
    "bytes": (pa.binary(), b"x"),
}


def write(table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)


@pytest.mark.parametrize("form", ["a.parquet", "a.feather"])
@pytest.mark.parametrize("name", TYPES)
def test_no_cell_decides_on_a_dtype(tmp_path, form, name):
    """With no row, with cells, with missing ones, and with missing ones alone the columns look the same."""
    (kind, cell), found = TYPES[name], []
    for cells in ([], [cell], [cell, None], [None]):
        path = tmp_path / form
        write(pa.table({"x": pa.array(cells, kind)}), path)
        whole = data_files.whole_frame(str(path), NOTHING)
        found += [data_files.empty_frame(str(path), NOTHING).dtypes["x"], whole.dtypes["x"]]
        assert len(whole) == len(cells)
        assert whole["x"].isna().sum() == cells.count(None)
        assert isinstance(whole.index, pd.RangeIndex)
    assert all(dtype == found[0] for dtype in found)
    if name not in ("null", "list", "bytes"):
        kind_of(found[0])
    if name == "int64":
        assert data_files.whole_frame(str(path), NOTHING).dtypes["x"] == "Int64"


def test_the_index_of_pandas_is_a_column_and_its_metadata_aside(tmp_path):
    frame = visits(8).set_index("pid")
    frame.to_parquet(tmp_path / "a.parquet")
    read = data_files.whole_frame(str(tmp_path / "a.parquet"), NOTHING)
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
    read = data_files.whole_frame(path, CSV)
    assert read.dtypes.equals(data_files.empty_frame(path, CSV).dtypes)
    missing = {name: read[name].isna().tolist() for name in read}
    assert read["age"].tolist()[:2] == [31, 4.5]
    assert missing["age"] == [False, False, True, True]
    assert read["code"].tolist()[::3] == [1, 1]
    assert read["ward"].tolist()[::3] == ["A", "C"]
    assert read["day"].tolist()[:2] == [pd.Timestamp("2013-01-31"), pd.Timestamp("2013-01-31 12:30:00.123456")]
    assert missing["day"] == [False, False, True, True]
    assert read["whole"].tolist()[:2] == [3, 2**53]
    assert missing["whole"] == [False, False, True, True]
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


def test_one_very_fine_moment_does_not_make_distant_days_missing():
    text = pd.DataFrame({"day": pd.Series(["9999-12-31", "2013-01-31 12:30:00.123456789"], dtype="str")})
    assert data_files._typed(text, CSV)["day"].tolist()[0] == pd.Timestamp("9999-12-31")


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8) | st.sampled_from(LISTED)


@settings(max_examples=150)
@given(column=st.lists(CELL, min_size=1, max_size=6), name=st.sampled_from([*CSV]))
def test_a_cell_of_csv_is_read_by_itself(tmp_path_factory, column, name):
    """Each cell becomes the same beside others as alone: neighbouring files stay neighbouring tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = pd.DataFrame({name: pd.Series(column, dtype="str")})
        together = data_files._typed(text, CSV)[name]
        for place in range(len(column)):
            alone = data_files._typed(text.iloc[place : place + 1], CSV)[name]
            assert alone.dtype == together.dtype
            pd.testing.assert_series_equal(alone, together.iloc[place : place + 1])


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a,b", ["a", "b"]),
        ("\ufeff\n \na,b", ["a", "b"]),
        ('"a\n""b""",c', ['a\n"b"', "c"]),
        (",a,a", ["Unnamed: 0", "a", "a.1"]),
    ],
)
def test_of_a_csv_file_without_its_rows_the_names_alone_are_read(tmp_path, header, names):
    rows = tmp_path / "rows.csv"
    rows.write_text(f"{header}\n" + "1,2,3\n"[: 2 * len(names)], encoding="utf-8", newline="")
    read = data_files.empty_frame(str(rows), Schema({}))
    assert data_files.whole_frame(str(rows), Schema({})).dtypes.equals(read.dtypes)
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
    """Files with a cell in them that cannot be read, and one for each way in which readers quote cells."""
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
    good = frame.to_csv(index=False)
    (path / "wide.csv").write_text(good + f"1,2,A,{SECRET},2013-01-01,{SECRET}\n")
    (path / "quote.csv").write_text(good + f'1,2,A,"{SECRET}\n')
    (path / "bytes.csv").write_bytes(good.encode() + SECRET.encode() + b"\xff\xfe,1\n")
    (path / "null.csv").write_bytes(good.encode() + b'"\x00' + SECRET.encode() + b"\n")
    (path / "empty.csv").write_text("")


FILES = [
    "cut.parquet", "flipped.parquet", "text.parquet", "cut.feather", "text.feather", "wide.csv", "quote.csv", "bytes.csv",
    "empty.csv", "null.csv",
]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_no_error_tells_what_a_file_holds(tmp_path, name):
    damaged(tmp_path)
    with pytest.raises(DataFileError) as caught:
        data_files.whole_frame(str(tmp_path / name), NOTHING)
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
    path = str(tmp_path / "a.parquet")
    visits(8).to_parquet(path)
    empty = data_files.empty_frame(path, NOTHING)
    assert len(data_files.same_frame(path, NOTHING, empty)) == 8
    visits(8).assign(cost=np.arange(8) / 2).to_parquet(path)
    with pytest.raises(DataFileError, match="replaced"):
        data_files.same_frame(path, NOTHING, empty)

"""Blocks of CSV that Dask reads: a cell is read by itself, a line decides on no other, what rows would decide is refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp.dask  # noqa: F401 - the accessor of Dask
from pandas_dp.errors import ArgumentValueError
from pandas_dp.tables import dask_checks
from pandas_dp.tables.dask_checks import unchecked

ROWS = 40


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    with dask.config.set(scheduler="sync"):
        yield


def frame(path: Path, lines: list[str], reader: Any = dd.read_csv, head: str = "id;x\n", **options: Any) -> Any:
    path.write_text(head + "".join(f"{line}\n" for line in lines))
    return reader(path, sep=";", **options)


def cells(read: Any) -> list[Any]:
    column = unchecked(read).compute()["x"]
    return [None if none else cell for none, cell in zip(column.isna(), column, strict=True)]


# how a cell is written, what it is, and how the reader is told so
SPELLINGS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "decimal": ("1,5", 1.5, {"decimal": ",", "dtype": {"x": "float64"}}),
    "decimal, in Arrow": ("1,5", 1.5, {"decimal": ",", "dtype": {"x": "float64[pyarrow]"}}),
    "thousands": ("1.500", 1500.0, {"decimal": ",", "thousands": ".", "dtype": {"x": "float64"}}),
    "thousands of whole numbers": ("1.500", 1500, {"decimal": ",", "thousands": ".", "dtype": {"x": "Int64"}}),
    "thousands alone": ("1,500.5", 1500.5, {"thousands": ",", "dtype": {"x": "float64"}}),
    "true": ("yes", True, {"true_values": ["yes"], "false_values": ["no"], "dtype": {"x": "boolean"}}),
    "false": ("no", False, {"true_values": ["yes"], "false_values": ["no"], "dtype": {"x": "bool"}}),
    "infinity": ("Infinity", None, {"dtype": {"x": "float64"}}),
    "exponent": ("1E5", 1e5, {"dtype": {"x": "float64"}}),
    "digits": ("0.30000000000000004441", 0.30000000000000004, {"dtype": {"x": "float64"}}),
    "plus": ("+5", 5, {"dtype": {"x": "Int64"}}),
    "a day": ("2020-12-31", pd.Timestamp("2020-12-31"), {"parse_dates": ["x"]}),
    "a day without marks": ("20201231", None, {"parse_dates": ["x"]}),
    "a day with a name": ("1 Jan 2020", None, {"parse_dates": ["x"]}),
    "guessed": ("12", 12, {}),
    "zeros of text": ("005", "005", {"dtype": {"x": "str"}}),
    "zeros of text, by Arrow": ("005", "005", {"dtype": {"x": "str"}, "engine": "pyarrow"}),
    "by Python": ("1,5", 1.5, {"decimal": ",", "dtype": {"x": "float64"}, "engine": "python"}),
    "missing": ("none", None, {"na_values": ["none"], "dtype": {"x": "float64"}}),
    "a table": ("1,5", 1.5, {"reader": dd.read_table, "decimal": ",", "dtype": {"x": "float64"}}),
    "a converter": ("1,5", 15, {"converters": {"x": lambda cell: int(cell.replace(",", "")) if cell != "x" else cell}}),
}
ODD = ["x", "", "1", "1.5", "yes", "TRUE", "2020-01-01", "99999-01-01", "1e999", "1,2,3"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", SPELLINGS)
def test_one_cell_decides_on_no_other(name: str, tmp_path: Path) -> None:
    written, value, options = SPELLINGS[name]
    lines = [f"{place};{written}" for place in range(ROWS)]
    assert cells(frame(tmp_path / "a.csv", lines, **options)) == [value] * ROWS
    for odd in ["x"] if "converters" in options else ODD:
        assert cells(frame(tmp_path / "a.csv", [*lines, f"z;{odd}"], **options))[:ROWS] == [value] * ROWS, odd


def test_a_point_is_none_where_commas_are_said(tmp_path: Path) -> None:
    lines = [f"{place};1,5" for place in range(ROWS)]
    options = {"decimal": ",", "dtype": {"x": "float64"}}
    assert cells(frame(tmp_path / "a.csv", [*lines, "z;1.5"], **options)) == [*[1.5] * ROWS, None]


def test_an_owner_s_own_work_sees_the_declared_dtypes(tmp_path: Path) -> None:
    lines = [f"{place};{place / 2}" for place in range(ROWS)]
    for more in ([], ["z;x"]):
        read = frame(tmp_path / "a.csv", lines + more, dtype={"x": "float64", "id": "str"})
        work = read[read.x >= 5].assign(x=lambda d: d.x * 2)
        assert cells(work) == [float(place) for place in range(10, ROWS)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("engine", ["c", "python"])
@pytest.mark.parametrize("options", [{}, {"names": ["id", "x"], "header": 0}, {"names": ["id", "x"], "header": None}])
def test_a_line_of_another_length_decides_on_no_other(options: dict[str, Any], engine: str, tmp_path: Path) -> None:
    """Also as the first one of a block, whose length the reader takes for that of all."""
    head = "" if options.get("header", 0) is None else "id;x\n"
    for odd in ("1;7", "1;7;9", "1;7;9;9", "1", ""):
        for place in (*range(14, 19), 24):
            lines = ["1;7"] * 32
            lines[place] = odd
            text = head + "".join(f"{one}\n" for one in lines)
            (tmp_path / "a.csv").write_text(text)
            read = dd.read_csv(
                tmp_path / "a.csv",
                sep=";",
                blocksize=len(text) // 2,
                sample=40,
                sample_rows=5,
                engine=engine,
                **options,
            )
            assert read.npartitions == 2
            found = cells(read)
            assert [cell for cell in found if cell is not None] == [7] * (31 + (odd.count(";") > 0))
            assert len(found) in (31, 32)


@pytest.mark.parametrize(
    ("reader", "options", "said"),
    [
        ("read_csv", {"parse_dates": ["x"], "date_format": "%d.%m.%Y"}, "str.to_datetime"),
        ("read_csv", {"parse_dates": ["x"], "dayfirst": True}, "dd.read_csv(..., dtype={'day': 'str'})"),
        ("read_csv", {"sep": None, "engine": "python"}, "sep=','"),
        ("read_csv", {"header": None}, "names=[...]"),
        ("read_csv", {"names": ["x"], "header": 0}, "names=[...], with one for each cell"),
        ("read_fwf", {}, "widths=[...]"),
        (
            "read_csv",
            {"encoding": "utf-7"},
            "say encoding='utf-8' in dd.read_csv, or another one of a byte for each letter",
        ),
        ("read_csv", {"encoding": "shift_jis"}, "say encoding='utf-8'"),
        ("read_csv", {"encoding": "unicode_escape"}, "say encoding='utf-8'"),
        ("read_csv", {"encoding_errors": "strict"}, "leave it out, or say encoding_errors='replace' in dd.read_csv"),
        ("read_csv", {"encoding_errors": "surrogateescape"}, "say encoding_errors='replace'"),
        ("read_csv", {"on_bad_lines": "error"}, "leave it out, or say on_bad_lines='skip'"),
        ("read_csv", {"on_bad_lines": "warn"}, "say on_bad_lines='skip'"),
    ],
)
def test_what_rows_would_decide_is_refused(reader: str, options: dict[str, Any], said: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x\n" + "1,01.02.2020\n" * 5)
    read = getattr(dd, reader)(tmp_path / "a.csv", **options)
    with pytest.raises(ArgumentValueError) as refused:
        read.dp.protect(epsilon=1, name=fresh())
    assert said in str(refused.value)
    with pytest.raises(ArgumentValueError):
        read[read.columns[:1]].dp(epsilon=1).count()


ENDS = ["x\\", "1;x\\", '"x', '1;"x', '1;"x\\"', '"""', "\\", '"\\', '1;"x\\\\', "'x", '1;"x\ny']
QUOTED: list[dict[str, Any]] = [{}, {"escapechar": "\\"}, {"escapechar": "\\", "doublequote": False}, {"quoting": 3}]
QUOTED += [{"escapechar": "\\", "quoting": 3}, {"quotechar": "'"}, {"encoding": "latin-1", "escapechar": "\\"}]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("engine", ["c", "python"])
@pytest.mark.parametrize("options", QUOTED, ids=str)
def test_the_end_of_a_block_makes_no_question_fail(options: dict[str, Any], engine: str, tmp_path: Path) -> None:
    """A quote that is never closed, or a letter that escapes what is no more, was an error, which told of one cell."""
    for odd in ENDS:
        (tmp_path / "a.csv").write_text("id;x\n" + "1;7\n" * 30 + odd)
        read = dd.read_csv(tmp_path / "a.csv", sep=";", dtype={"x": "Int64"}, engine=engine, sample=60, **options)
        assert [cell for cell in cells(read) if cell is not None][:30] == [7] * 30, odd


@pytest.mark.parametrize("encoding", ["latin-1", "UTF8", "utf-8-sig", "cp1252", "ascii"])
def test_other_encodings_are_read_byte_by_byte(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id;x\n" + b"1;7\n" * 30 + b"2;\xe9\n\xff\xfe\x81;1\n")
    read = dd.read_csv(tmp_path / "a.csv", sep=";", dtype={"x": "Int64"}, sample=60, encoding=encoding, blocksize="40B")
    assert cells(read) == [7] * 30 + [None, 1]


def test_letters_that_escape_and_what_is_no_text(tmp_path: Path) -> None:
    read = frame(tmp_path / "a.csv", ["1;a\\;b", '2;"c\\"d"'], dtype={"x": "str"}, escapechar="\\")
    assert cells(read) == ["a;b", 'c"d']
    (tmp_path / "a.csv").write_bytes(b"id;x\n" + b"1;k\n" * 30 + b"2;\xe9\n")
    for way, cell in ((None, "\ufffd"), ("replace", "\ufffd"), ("ignore", ""), ("backslashreplace", "\\xe9")):
        given = {} if way is None else {"encoding_errors": way}
        read = dd.read_csv(tmp_path / "a.csv", sep=";", dtype={"x": "str"}, sample=60, **given)
        assert cells(read) == ["k"] * 30 + [cell], way


def test_the_line_that_is_named_works(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,day\n" + "1,31.12.2020\n" * 5 + "2,x\n")
    read = dd.read_csv(tmp_path / "a.csv", dtype={"day": "str"})
    session = read.dp.protect(epsilon=10**6, name=fresh())
    made = read.dp.assign(day=lambda d: d.day.str.to_datetime("%d.%m.%Y"))
    assert made.dp(epsilon=10**5).count("day") == 5
    session.close()


def test_columns_of_fixed_widths(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("id x   \n" + "1  7   \n" * 15 + "2  none\n")
    read = dd.read_fwf(tmp_path / "a.txt", widths=[3, 4], dtype={"x": "float64"})
    session = read.dp.protect(epsilon=10**6, name=fresh())
    assert read.dp(epsilon=10**5).count("x") == 15
    session.close()


def test_the_test_finds_blocks_that_pandas_guesses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the reader's own rules, which are others for a block in which one cell is no number."""
    monkeypatch.setattr(dask_checks, "cell_by_cell", lambda function: partial(function, dtypes={}, enforce=False))
    lines = [f"{place};1,5" for place in range(ROWS)]
    read = frame(tmp_path / "a.csv", [*lines, "z;x"], decimal=",")
    assert cells(read)[:ROWS] != [1.5] * ROWS

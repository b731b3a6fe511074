"""Whatever the package writes: a file whole or not at all, and never what a link points to."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from support.frames import fresh, people, protected

import pandas_dp
from pandas_dp.__main__ import main
from pandas_dp.commands.answer_files import AnswerFiles
from pandas_dp.core.ledger import open_ledger
from pandas_dp.errors import ArgumentValueError
from pandas_dp.release import csv

PACKAGE = Path(pandas_dp.__file__).parent


def certificate(path: Path) -> None:
    protected().dp.session.report(path)


def number(path: Path) -> None:
    protected().dp(epsilon=1).count().to_csv(path)


def vector(path: Path) -> None:
    protected().dp(epsilon=1).histogram("age", bins=[0, 50, 100]).to_csv(str(path))


def changed_vector(path: Path) -> None:
    answer = protected().dp(epsilon=1).histogram("age", bins=[0, 50, 100])
    answer.iloc[0] = 0
    answer.to_csv(path)


def table(path: Path) -> None:
    keys = {"keys": ["f", "m"]}
    protected().dp(epsilon=1).groupby("sex", **keys).agg({"age": ["count", "mean"]}, bounds={"age": (0, 99)}).to_csv(
        path
    )


def answers(path: Path) -> None:
    made = AnswerFiles(str(path.parent), "csv")
    release = protected().dp(epsilon=1).count()
    made.add(path.stem, release, False)
    made.index()


def ledger_report(path: Path) -> None:
    books = path.parent / "books.dpledger"
    people().dp.protect(epsilon=1, name=fresh(), ledger=books).close()
    with pytest.raises(SystemExit) as done:
        main(["ledger", "report", str(books), "--out", str(path)])
    if done.value.code:
        raise pandas_dp.ArgumentValueError("refused")


WRITERS: dict[str, Callable[[Path], None]] = {
    writer.__name__: writer for writer in (certificate, number, vector, changed_vector, table, answers, ledger_report)
}


def named(write: Callable[[Path], None]) -> str:
    """A name that it takes."""
    return "out.html" if write in (certificate, ledger_report) else "out.csv"


def writes(tree: ast.AST) -> list[str]:
    """Calls that write files, as far as names tell."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        modes = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "mode")]
        if name in ("open", "os.open", "os.fdopen") and any(
            re.search("^'[wxa]|[+]|CREAT|WRONLY|RDWR", ast.unparse(mode)) for mode in modes
        ):
            found.append(name)
        last = name.rpartition(".")[2]
        if last in (
            "replace_file",
            "write_csv",
            "write_text",
            "write_bytes",
            "savefig",
            "mkstemp",
            "to_parquet",
            "to_feather",
        ):
            found.append(last)
    return sorted(found)


def test_one_function_writes_all_files():
    """Who calls it is among the writers tested here: certificates, CSV, files of answers."""
    found = {
        path.relative_to(PACKAGE).as_posix(): writes(ast.parse(path.read_text())) for path in PACKAGE.rglob("*.py")
    }
    assert {name: calls for name, calls in found.items() if calls} == {
        "core/database.py": ["os.open"],  # the ledger itself, never where something is
        "session/ledger_files.py": ["os.open"],  # how far ledgers were, never where something is
        "session/ledger_forms.py": ["open"] * 2,  # a ledger that is locked, and the journal beside it that is emptied
        "books/report.py": ["replace_file"],
        "release/csv.py": ["open", "replace_file"],
        "release/base.py": ["write_csv"],
        "release/values.py": ["write_csv"],
        # the file that keeps a second job out, answers, and the last two into memory
        "commands/answer_files.py": ["os.fdopen", "os.open"] + ["replace_file"] * 3 + ["to_parquet", "write_csv"],
        "commands/exits.py": ["os.open"],  # where output goes that nobody reads any more
    }
    assert writes(ast.parse("open(path, 'w')\npath.write_text('x')")) == ["open", "write_text"]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_nothing_is_written_through_a_link(write, tmp_path):
    kept, place = tmp_path / "kept", tmp_path / "answers" / named(write)
    place.parent.mkdir()
    kept.write_text("of somebody else")
    for link in (os.symlink, os.link):
        place.unlink(missing_ok=True)
        link(kept, place)
        write(place)
        assert kept.read_text() == "of somebody else"
        assert not place.is_symlink()
        assert place.stat().st_nlink == 1
        assert len(place.read_bytes()) > 20
    place.unlink()
    os.symlink(tmp_path / "not there", place)
    write(place)
    assert not (tmp_path / "not there").exists()
    assert [name for name in os.listdir(place.parent) if name.endswith(csv.UNFINISHED)] == []


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_ledger_a_folder_and_a_device_stay_what_they_are(write, tmp_path, capsys):
    place, books = tmp_path / named(write), tmp_path / "l.dpledger"
    people().dp.protect(epsilon=1, name=fresh(), ledger=books).close()
    links = [lambda: os.symlink(books, place), lambda: os.link(books, place), lambda: os.symlink("/dev/null", place)]
    for make in (*links, place.mkdir):
        make()
        before = place.lstat().st_ino, books.read_bytes()
        with pytest.raises(pandas_dp.PandasDPError):
            write(place)
        assert (place.lstat().st_ino, books.read_bytes()) == before
        place.rmdir() if place.is_dir() else place.unlink()
    assert os.path.exists("/dev/null")
    assert "Traceback" not in capsys.readouterr().err


def test_a_twin_that_opens_the_path_is_noticed(tmp_path, monkeypatch):
    """As CSV was written before."""
    monkeypatch.setattr("pandas_dp.release.csv.replace_file", lambda path, content: Path(path).write_bytes(content))
    with pytest.raises(AssertionError):
        test_nothing_is_written_through_a_link(number, tmp_path)


def test_a_file_that_cannot_be_written_is_as_it_was(tmp_path, monkeypatch):
    place = tmp_path / "out.csv"
    place.write_text("old")
    with pytest.raises(pandas_dp.PandasDPError, match=r"'.*nowhere.out\.csv' cannot be written \(No such file"):
        number(tmp_path / "nowhere" / "out.csv")
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        number(place)
    assert place.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_csv_goes_to_text_files_and_in_other_encodings(tmp_path):
    answer = protected().dp(epsilon=1).histogram("sex", keys=["f", "m"])
    answer.to_csv(tmp_path / "a.csv", encoding="utf-16")
    assert (tmp_path / "a.csv").read_text(encoding="utf-16") == answer.to_csv()
    with open(tmp_path / "b.csv", "w", newline="", encoding="utf-8") as file:
        answer.to_csv(file)
    assert (tmp_path / "b.csv").read_text(encoding="utf-8") == answer.to_csv()
    assert isinstance(answer.table(), pd.DataFrame)


def test_a_comment_stays_above_the_numbers_whatever_is_in_it():
    text = csv.write_csv(pd.Series([1], index=["a"]), ["of two\nlines,\r\n9,9", "x\u2028y"], None, {"header": False})
    assert text == "# of two lines, 9,9\n# x y\na,1\n"


def test_a_ledger_that_is_open_is_known_without_being_opened(tmp_path, monkeypatch):
    """Closing another handle of the file would drop SQLite's locks of this process."""
    path, opens = str(tmp_path / "visits.dpledger"), []
    ledger = open_ledger(path)
    monkeypatch.setattr(csv, "open", lambda *args: opens.append(args), raising=False)
    with pytest.raises(ArgumentValueError, match="path names a ledger"):
        csv.replace_file(path, b"")
    assert csv.is_ledger(path)
    assert opens == []
    ledger.close()
    monkeypatch.undo()
    assert csv.is_ledger(path)
    assert not csv.is_ledger(__file__)

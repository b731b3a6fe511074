"""Sameness never looks at content: programs show the same events on tables that differ in one cell or one row.

An event is whatever is visible but for the value of a fresh answer and what is said of that value: types and texts of errors
and warnings, what is spent, how many entries there are, texts of sessions and notes, and which answers equal each other. At
epsilon=0.001 two histograms of twelve bins that are drawn anew are equal with a probability below 1e-36: no false alarm.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
import pandas_dp.dask
from pandas_dp.aggregates.base import Caution
from pandas_dp.tables import frames as tables
from pandas_dp.tables import protected

PACKAGE = Path(pandas_dp.__file__).parent
SMALL = 0.001


def base() -> pd.DataFrame:
    return pd.DataFrame({"age": np.arange(200) % 80 + 10, "ward": ["A", "B"] * 100})


def one_cell(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age=frame["age"].where(frame.index != 17, 89))


def one_row_less(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[:-1].copy()


def one_missing(frame: pd.DataFrame) -> pd.DataFrame:
    """As readers of text make it: the column is of floats then."""
    return frame.assign(age=frame["age"].where(frame.index != 17))


def one_group(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(ward=frame["ward"].where(frame.index != 17, "A"))


CHANGES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    change.__name__: change for change in (one_cell, one_row_less, one_missing, one_group)
}


class Log:
    """The events of a program; answers are numbered in the order in which different ones came."""

    def __init__(self, name: str, folder: Path) -> None:
        self.told: list[str] = []
        self._name, self._folder, self._answers = name, str(folder), []

    def say(self, text: object) -> None:
        self.told.append(str(text).replace(self._name, "NAME").replace(self._folder, "DIR"))

    def see(self, work: Callable[[], Any]) -> Any:
        """Do something and note what is seen of it."""
        result = None
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                result = work()
            except Exception as error:
                self.say(f"{type(error).__name__}: {error}")
        for warning in seen:
            self.say(f"{warning.category.__name__}: {warning.message}")
        return result

    def ask(self, frame: Any) -> None:
        """Ask for a histogram, which is stored, and note all but its values."""
        answer = self.see(lambda: frame.dp(epsilon=SMALL).histogram("age", bins=range(0, 121, 10)))
        if answer is not None:
            values = answer.tolist()
            if values not in self._answers:
                self._answers.append(values)
            notes = [note for note in answer.notes if not isinstance(note, Caution)]  # of what came out
            self.say(f"answer {self._answers.index(values)}, {notes}, {answer.lineage}, {answer.index.dtype}")
        session = self.see(lambda: getattr(frame.dp, "session", None))
        if session is not None:
            self.say(f"{session.name} {session.spent}, {len(session._ledger.entries(session.name))} entries")


Program = Callable[[Log, str, pd.DataFrame, pd.DataFrame, Path], None]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


@program
def read_again(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    for frame in (first, second, first):
        log.see(lambda frame=frame: frame.dp.protect(epsilon=1, name=name))
        log.ask(frame)


@program
def a_version(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    for frame in (first, second):
        log.see(lambda frame=frame: frame.dp.protect(epsilon=1, name=name, table="t", version="1"))
        log.ask(frame)


@program
def a_version_after_a_restart(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    for frame in (first, second):
        terms = {"epsilon": 1, "name": name, "ledger": folder / "a.dpledger", "table": "t", "version": "1"}
        session = log.see(lambda frame=frame, terms=terms: frame.dp.protect(**terms))
        log.ask(frame)
        parts = log.see(lambda frame=frame: frame.dp.partition("ward", ["A", "B"], epsilon=0.1))
        log.say(f"{session.spent} {list(parts or ())}")
        session.close()


@program
def a_version_in_steps_and_parts(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    for frame in (first, second):
        session = log.see(lambda frame=frame: frame.dp.protect(epsilon=1, name=name, table="t", version="1"))
        log.ask(frame.dp.query("age > 20"))
        log.ask(frame.dp.allot("team", epsilon=0.2))
        for part in (log.see(lambda frame=frame: frame.dp.partition("ward", ["A", "B"], epsilon=0.1)) or {}).values():
            log.ask(part)
        log.say(session)


@program
def other_terms(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    log.see(lambda: first.dp.protect(epsilon=1, name=name))
    log.see(lambda: second.dp.protect(epsilon=2, name=name))
    log.ask(first)
    log.ask(second)


@program
def numbers_of_rows(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    session = log.see(lambda: first.dp.protect(epsilon=1, name=name, neighbors="replace_one"))
    log.ask(first)
    for typed in (200, None):
        log.see(lambda typed=typed: second.dp.protect(session=session, rows=typed))
        log.ask(second)


@program
def joined(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    session = log.see(lambda: first.dp.protect(epsilon=1, name=name))
    log.ask(first)
    log.see(lambda: second.dp.protect(session=session, table="more"))
    log.ask(second)
    log.see(lambda: session.adopt(second.copy(), reason="row by row"))


@program
def copies(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    session = log.see(lambda: second.dp.protect(epsilon=1, name=name))
    for made in (
        second.copy(),
        second[:],
        second[second.age > 0],
        second.dropna(),
        second[second.age != 89],
        second.fillna(0),
    ):
        log.see(lambda made=made: made.dp.protect(epsilon=50, name=name + "2"))
        log.see(lambda made=made: made.dp.protect(session=session))
        log.ask(made)
    log.see(lambda: second[second.age > 50].dp.protect(session=session, rows=True))


@program
def read_from_a_file(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    for frame in (first, second, None):
        if frame is not None:
            frame.to_parquet(folder / "a.parquet")
        read = pandas_dp.read_parquet(folder / "a.parquet")
        read["age"] = read["age"].fillna(0)
        log.see(lambda read=read: read.dp.protect(epsilon=1, name=name))
        log.ask(read)
        log.ask(read.dp.dropna())
        made = read.dropna()
        log.see(lambda made=made: made.dp.protect(epsilon=1, name=name))
        log.ask(made)


@program
def read_from_text(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    for frame in (first, second):
        frame.to_csv(folder / "a.csv", index=False)
        terms = {"epsilon": 1, "name": name, "ledger": folder / "a.dpledger", "table": "t", "version": "1"}
        read = pd.read_csv(folder / "a.csv")
        session = log.see(lambda read=read, terms=terms: read.dp.protect(**terms))
        log.ask(read)
        session.close()


@program
def scanned(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    path, kinds = folder / "a.parquet", {"age": "float64"}
    first.astype(kinds).to_parquet(path)
    os.utime(path, ns=(10**18, 10**18))
    scan = pandas_dp.scan_parquet(path)
    session = log.see(lambda: scan.dp.protect(epsilon=1, name=name))
    log.ask(scan)
    second.astype(kinds).to_parquet(path)
    os.utime(path, ns=(10**18, 10**18))
    log.ask(scan)
    again = pandas_dp.scan_parquet(path)
    log.see(lambda: again.dp.protect(session=session))
    log.ask(again)
    log.ask(scan)


@program
def dask_again(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    kinds = {"age": "float64"}
    for frame in (first, second, second):
        ddf = dd.from_pandas(frame.astype(kinds), npartitions=1)
        log.see(lambda ddf=ddf: ddf.dp.protect(epsilon=1, name=name))
        log.ask(ddf)
        ddf["age"] = ddf["age"].fillna(0)
        log.ask(ddf)


def written(frame: pd.DataFrame) -> list[Callable[[pd.DataFrame], Any]]:
    """Ordinary lines that write into a frame, many of which leave its memory as it was exactly if they change nothing."""
    numbers = pd.api.types.is_numeric_dtype(frame["age"])

    def put(column: str, made: Callable[[pd.Series], Any]) -> Callable[[pd.DataFrame], Any]:
        return lambda d: d.__setitem__(column, made(d[column]))

    def in_turn(d: pd.DataFrame) -> None:
        for label in d.index[d["age"] == 89]:
            d.at[label, "age"] = 0

    return [
        put("age", lambda s: s.fillna(0)),
        put("ward", lambda s: s.fillna("x")),
        put("age", lambda s: s.replace(89, 0)),
        put("age", lambda s: s.replace(np.nan, 0)),
        put("age", lambda s: s.where(s.notna(), 0)),
        put("age", lambda s: s.dropna()),
        put("age", lambda s: s.combine_first(pd.Series(0, index=s.index))),
        put("age", lambda s: s.astype(s.dtype)),
        put("age", lambda s: s.clip(0, 88)),
        put("age", lambda s: s.ffill()),
        put("ward", lambda s: s.where(s != "C", "A")),
        lambda d: d.fillna({"age": 0}, inplace=True),
        lambda d: d.loc.__setitem__((d["age"] == 89, "age"), 0),
        lambda d: d.iloc.__setitem__((np.flatnonzero(d["age"] == 89), 0), 0),
        in_turn,
        lambda d: d.update(pd.DataFrame({"age": d["age"].where(d["age"] == 89)})) if numbers else None,
        lambda d: d.drop(index=d.index[d["age"] == 89], inplace=True),
        lambda d: d.reset_index(drop=True, inplace=True),
    ]


@program
def written_into(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    for number in range(len(written(first))):
        frame = second.copy()
        log.see(lambda frame=frame, number=number: frame.dp.protect(epsilon=1, name=f"{name} {number}"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            written(frame)[number](frame)
        log.ask(frame)
        log.see(lambda frame=frame: frame.dp.query("age > 3"))
        log.see(lambda frame=frame, number=number: frame.dp.protect(epsilon=1, name=f"{name} {number}"))
        log.ask(frame)


@program
def written_before(log: Log, name: str, first: pd.DataFrame, second: pd.DataFrame, folder: Path) -> None:
    """Into what a reader returned, before it is protected."""
    second.to_parquet(folder / "a.parquet")
    for number in range(len(written(first))):
        for _ in range(2):
            frame = pandas_dp.read_parquet(folder / "a.parquet")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                written(frame)[number](frame)
            session = log.see(lambda frame=frame: frame.dp.protect(epsilon=1, name=name))
            log.ask(frame)
        session.close()


def events(program: Program, change: Callable[[pd.DataFrame], pd.DataFrame] | None, folder: Path) -> list[str]:
    """Run a program, on the second day on a changed table."""
    folder.mkdir()
    log, name, first = Log(name := fresh(), folder), name, base()
    second = base() if change is None else change(base())
    try:
        program(log, name, first, second, folder)
    finally:
        for session in {table.session.id: table.session for _, table in list(tables._tables.values())}.values():
            session.close()
    return log.told


@pytest.mark.one_in(3)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_shows_the_same_events(name, change, tmp_path, monkeypatch):
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    plain = events(PROGRAMS[name], None, tmp_path / "one")
    assert events(PROGRAMS[name], CHANGES[change], tmp_path / "two") == plain
    assert any(text.startswith("answer") for text in plain)


@pytest.mark.parametrize("program", [read_again, joined, dask_again])
def test_content_that_decides_is_found(program, tmp_path, monkeypatch):
    """The broken twin: what equals a table that is held has its name, as an earlier version had it."""

    def equal(frame: pd.DataFrame) -> str | None:
        source = tables.scan_of(frame)
        rows = frame if source is None else source.frame.compute()
        return f"content {rows.to_dict('list')}"

    monkeypatch.setattr(tables, "read_token", equal)
    assert events(program, None, tmp_path / "one") != events(program, one_cell, tmp_path / "two")


def test_memory_that_decides_is_found(tmp_path, monkeypatch):
    """The broken twin: a frame whose memory is not the protected one is refused."""
    original = protected.Table.check

    def check(self: protected.Table) -> None:
        original(self)
        frames = [reference() for reference, known in tables._tables.values() if known is self]
        for frame in frames:
            if frame is not None and not np.shares_memory(frame["age"].to_numpy(), self.source["age"].to_numpy()):
                raise pandas_dp.UnverifiedFrameError

    monkeypatch.setattr(protected.Table, "check", check)
    assert events(written_into, None, tmp_path / "one") != events(written_into, one_missing, tmp_path / "two")


def test_kinds_not_dtypes_are_in_names(monkeypatch, tmp_path):
    """The broken twin: a dtype in the name of an answer, which one missing value changes."""
    monkeypatch.setattr(protected, "_kind", str)
    assert events(a_version, None, tmp_path / "one") != events(a_version, one_missing, tmp_path / "two")


BANNED = (
    ".equals(",
    "array_equal",
    "hash_pandas_object",
    "tokenize",
    "_name ==",
    "st_size",
    "same_storage",
    "shares_memory",
)


ROOMS = PACKAGE / "session", PACKAGE / "tables"
IDENTITY = [*(path for room in ROOMS for path in room.glob("*.py")), PACKAGE / "accessor/scan.py", PACKAGE / "dask.py"]


@pytest.mark.parametrize("path", IDENTITY, ids=lambda path: path.stem)
def test_rooms_of_identity_compare_nothing_of_content(path):
    text = path.read_text()
    assert not [word for word in BANNED if word in text]


def test_answers_of_an_honest_nightly_job_differ_whether_or_not_the_table_does():
    """At epsilon=0.1 two draws are equal with probability 0.025: of 40 pairs at least 28 differ, but for 1 run in 10^10."""
    for changed in (False, True):
        differ = 0
        for _ in range(40):
            monday, name = base(), fresh()
            tuesday = one_row_less(base()) if changed else base()
            told = []
            for frame in (monday, tuesday):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    session = frame.dp.protect(epsilon=1, name=name)
                told.append(int(frame.dp(epsilon=0.1).count()))
            differ += told[0] != told[1]
            assert session.spent == "epsilon=0.2"
            session.close()
        assert differ >= 28


def test_a_file_is_one_table_until_it_is_written(tmp_path, monkeypatch):
    path, name = tmp_path / "a.parquet", fresh()
    base().to_parquet(path)
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 10**15)

    def spent() -> str:
        frame = pandas_dp.read_parquet(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = frame.dp.protect(epsilon=9, name=name)
        frame.dp(epsilon=1).count()
        return str(session.spent)

    assert [spent(), spent()] == ["epsilon=1", "epsilon=2"]  # written a moment ago: not remembered
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    assert [spent(), spent()] == ["epsilon=3", "epsilon=3"]
    stamps = path.stat()
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    assert [spent(), spent()] == ["epsilon=4", "epsilon=4"]


@pytest.mark.parametrize("options", [{"columns": ["age"]}, {"buffer_size": 1000}])
def test_options_are_part_of_what_was_read(tmp_path, monkeypatch, options):
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    base().to_parquet(tmp_path / "a.parquet")
    whole, some, again = (pandas_dp.read_parquet(tmp_path / "a.parquet", **given) for given in ({}, options, options))
    tokens = [tables.read_token(frame) for frame in (whole, some, again)]
    assert tokens[1] == tokens[2] != tokens[0]
    odd = pandas_dp.read_parquet(tmp_path / "a.parquet", columns=["age", np.str_("ward")])
    assert tables.read_token(odd) is None  # not of plain types: its text may not be all of it


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.value_counts("age"),
        lambda d: d["age"].unique(),
        lambda d: d.groupby("age").size(),
        lambda d: d.groupby(["age", "ward"]).size(),
    ],
)
def test_found_keys_do_not_tell_that_a_cell_is_missing(ask):
    """Readers make floats of whole numbers where one is missing."""

    def dtypes(frame: pd.DataFrame) -> list[Any]:
        frame.dp.protect(epsilon=10**5, delta=0.5, name=fresh())
        answer = ask(frame.dp(epsilon=10**4, delta=0.01))
        index = pd.Index(answer) if answer.name == "age" and not answer.index.name else answer.index
        return [level.dtype for level in getattr(index, "levels", [index])]

    whole = base().assign(age=lambda d: d["age"] % 5)
    assert one_missing(whole)["age"].dtype == "float64" != whole["age"].dtype
    assert dtypes(one_missing(whole)) == dtypes(whole)

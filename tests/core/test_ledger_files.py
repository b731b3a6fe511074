"""Files of a ledger: what is opened, what is refused and left untouched, locks. Crashes and forks: tests/faults."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from fractions import Fraction as F
from pathlib import Path

import pytest
from support.ledgers import ONE, UNIT, ask, older, pure

from pandas_dp.core import database, records
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.errors import ArgumentTypeError, LedgerBusyError, LedgerError
from pandas_dp.session import ledger_files, ledger_forms


def snapshot(folder):
    """Names, sizes, times and contents of everything below a folder."""
    return {
        p: (p.lstat().st_mtime_ns, p.lstat().st_mode, p.read_bytes() if p.is_file() else None)
        for p in sorted(folder.rglob("*"))
    }


def test_a_new_file_is_the_owners_and_complete(tmp_path):
    ledger = open_ledger(tmp_path / "visits.dpledger")
    ledger.open("data", ONE, UNIT)
    for _ in range(2):  # open and closed
        assert [(p.name, p.stat().st_mode & 0o777) for p in tmp_path.iterdir()] == [("visits.dpledger", 0o600)]
        ledger.close()


def test_the_canonical_path_decides(path, tmp_path, monkeypatch):
    monkeypatch.chdir(path.parent)
    (tmp_path / "link").symlink_to(path)
    ledger = open_ledger(path)
    for name in (str(path), "visits.dpledger", "./visits.dpledger", tmp_path / "link"):
        assert open_ledger(name) is ledger
    with pytest.raises(LedgerError, match="open already"):
        Ledger(path)
    os.link(path, tmp_path / "other name")  # as where upper and lower case are one
    with pytest.raises(LedgerError, match=f"open already: type ledger='{path}'"):
        open_ledger(tmp_path / "other name")
    (tmp_path / "other name").unlink()
    ledger.close()
    with pytest.raises(LedgerError, match="was closed"):
        ask(ledger, "0.1")
    again = open_ledger(path)
    assert again is not ledger
    assert again.state("data").epsilon == F(1, 10)
    again.close()


def test_a_process_has_one_ledger_in_memory():
    ledger = open_ledger(None)
    assert open_ledger() is ledger
    assert ledger.path is None
    other = Ledger(None)
    assert other is not ledger
    other.close()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/such/dir/x", "does not exist"),
        ("folder", "names a folder"),
        ("", "name of a file"),
        (":memory:", "name of a file"),
        ("file:x?mode=ro", "name of a file"),
        ("FILE:x", "name of a file"),
        ("../x", r"must not contain .*type the whole path, ledger=./.*/x"),
        ("folder/../x", "must not contain"),
        ("a\0b", "name of a file"),
        ("folder/visits.dpledger/x", "does not exist"),
    ],
)
def test_names_that_cannot_be_a_ledger(path, tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    for opening in (open_ledger, Ledger):
        with pytest.raises(LedgerError, match=said):
            opening(name)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", [3, b"x", ["x"]])
def test_what_is_not_a_path(name):
    with pytest.raises(ArgumentTypeError, match=r"visits\.dpledger"):
        open_ledger(name)


def foreign_database(path):
    path.unlink()
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE budgets (id); CREATE TABLE entries (id)")
    connection.close()


def newer(path):
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={records.PERIODS_VERSION + 1}")
    connection.close()


def unreleased(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=1")
    connection.close()


FOREIGN = {
    "text": (lambda p: p.write_text("age,pay\n1,2\n" * 99), "not a ledger"),
    "empty": (lambda p: p.write_bytes(b""), "not a ledger"),
    "short": (lambda p: p.write_bytes(p.read_bytes()[:60]), "not a ledger"),
    "database": (foreign_database, "not a ledger"),
    "newer": (newer, "newer pandas_dp"),
    "unreleased": (unreleased, "unreleased pandas_dp"),
    "log": (lambda p: p.with_name(f"{p.name}-wal").write_bytes(b"x"), "-wal' belongs to another ledger"),
    "hard link": (lambda p: os.link(p, p.parent / "second"), "second name"),
    "pipe": (lambda p: (p.unlink(), os.mkfifo(p)), "not an ordinary file"),
    "dangling": (lambda p: (p.unlink(), p.symlink_to(p.parent / "no" / "x")), "does not exist"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_that_are_not_our_ledger_are_left_untouched(path, tmp_path, kind):
    change, said = FOREIGN[kind]
    change(path)
    before = snapshot(tmp_path)
    with pytest.raises(LedgerError, match=said):
        open_ledger(path)
    assert snapshot(tmp_path) == before


def test_a_lock_held_elsewhere_is_reported_and_costs_nothing(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    ledger = open_ledger(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusyError, match="nothing was charged"):
        ask(ledger, "0.1")
    assert ledger.state("data").epsilon == F("0.1")  # readers do not wait
    other.close()
    ask(ledger, "0.1")
    assert ledger.state("data").epsilon == F("0.2")
    ledger.close()


def test_after_a_commit_whose_locks_were_lost_nothing_is_charged(path):
    """Closing any handle of the file drops them, and another process then takes the journal for one that a kill left."""
    ledger = open_ledger(path)

    def charge(connection):
        connection.execute("INSERT INTO results VALUES (1, 1, x'00', x'00')")
        os.unlink(f"{path}-journal")

    with pytest.raises(LedgerError, match="another program used the ledger in the middle of a charge"):
        ledger._store.transact(database.DURABLE, charge)
    with pytest.raises(LedgerError, match="type pandas-dp ledger backup"):
        ask(ledger, "0.1")
    ledger.close()


def test_a_lock_or_an_interrupt_while_connecting_is_no_reason_to_give_up(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    ledger = open_ledger(path)
    ledger._store.die("the disk did not confirm a charge")
    other = sqlite3.connect(path, isolation_level=None)
    other.executescript("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
    for call in (lambda: open_ledger(path), lambda: ask(ledger, "0.1")):
        with pytest.raises(LedgerBusyError):
            call()
    other.close()

    def interrupt(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(database.Store, "_look", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, "0.1")
    ask(ledger, "0.1")
    assert ledger.state("data").epsilon == F("0.2")
    ledger.close()


@pytest.mark.parametrize("version", [2, 3])
def test_x23_a_ledger_of_an_older_version_goes_on_with_every_charge_of_its_log(path, version):
    ledger = open_ledger(path)
    ledger.record("data", ask(ledger, "0.1", key="k"), "[1]")
    ledger.close()
    older(path, version)
    ledger = open_ledger(path)
    assert ledger.state("data").epsilon == F("0.3")
    assert [(e.kind, "is in it now" in e.query) for e in ledger.entries("data")[-2:]] == [
        ("query", False),
        ("converted", True),
    ]
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    assert path.read_bytes()[18:20] == b"\1\1"
    assert ledger.stored("data", "k") == (3, "[1]")
    sequence = ask(ledger, "0.2")
    ledger.record("data", sequence, None, "said")
    assert ledger.shown("data") == {sequence: "said"}
    ledger.verify()
    assert ledger_files.damaged(ledger) == []
    ledger.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (records.SCHEMA_VERSION,)
    ledger = open_ledger(path)
    assert [e.kind for e in ledger.entries("data")].count("converted") == 1
    ledger.close()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("state", ["here", "elsewhere", "begun"])
def test_x23_to_an_older_ledger_without_a_log_nothing_is_charged_before_somebody_says_what_it_held(
    path, tmp_path, version, state
):
    """A program that was killed left charges in the log; the file alone was a whole ledger that had less spent."""
    ledger = open_ledger(path)
    ledger.record("data", ask(ledger, "0.1", key="k"), "[1]")
    ledger.close()
    older(path, version, log=False)
    if state == "begun":  # the change, which first of all writes no log any more
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
    if state == "elsewhere":
        (tmp_path / "elsewhere").mkdir()
        path = path.rename(tmp_path / "elsewhere" / path.name)
    for _ in range(2):
        ledger = open_ledger(path)
        assert ledger.state("data").epsilon == F("0.2")
        assert "what one held is not known" in ledger.entries("data")[-1].query
        assert ledger.stored("data", "k") == (3, "[1]")
        ledger.verify()
        charges = (Ledger.open, "new", ONE, UNIT), (Ledger.note, "data", "n", ""), (ask, "0.1")
        for charge, *given in charges:
            with pytest.raises(LedgerError, match=r"its log was not here.* restore /\S+ --spent-since eps"):
                charge(ledger, *given)
        ledger.close()
    ledger = open_ledger(path)
    ledger_files.restore(ledger, pure("0.1"), "epsilon=0.1")
    ask(ledger, "0.1")
    assert ledger.state("data").epsilon == F("0.4")
    ledger.close()
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    ledger.verify()
    ledger.close()


@pytest.mark.parametrize("table", ["meta", "after"])
def test_x23_a_crash_in_the_middle_of_the_change_leaves_what_can_be_changed(path, monkeypatch, table):
    """Before the change is committed, and after it, when the file has still the older form."""
    older(path)
    migrate = ledger_forms.migrate

    def dies(*given):
        migrate(*given)
        if not given[0].execute("PRAGMA database_list").fetchone()[2]:  # the copy in memory that is looked at first
            return
        if table == "after":
            given[0].execute("COMMIT")
        raise sqlite3.OperationalError("died")

    with monkeypatch.context() as patch:
        patch.setattr(ledger_forms, "migrate", dies)
        with pytest.raises(LedgerError):
            open_ledger(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (3 if table == "meta" else 4,)
    ledger = open_ledger(path)
    assert ledger.state("data").epsilon == F("0.2")
    assert [e.kind for e in ledger.entries("data")].count("converted") == 1
    ledger.verify()
    ledger.close()


def test_x23_a_copy_of_the_older_form_that_is_put_back_after_the_change_is_noticed(path):
    older(path)
    copy = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    for _ in range(2):  # the same file goes on
        ledger = open_ledger(path)
        ask(ledger, "0.1")
        ledger.close()
    path.write_bytes(copy[0])
    Path(f"{path}-wal").write_bytes(copy[1])
    ledger = open_ledger(path)
    with pytest.raises(LedgerError, match="older than one that was open here"):
        ask(ledger, "0.1")
    ledger.close()


@pytest.mark.parametrize("version", [2, 3])
def test_x23_an_older_ledger_whose_budgets_were_all_in_its_log_is_no_empty_one(path, version):
    """A program that was killed early left all in the log; moved without it, the file had a fresh budget without a word."""
    older(path, version, log=False)
    with closing(sqlite3.connect(path)) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        for table in ("entries", "budgets"):
            connection.execute(f"DELETE FROM {table}")
        connection.commit()
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(LedgerError, match="-wal back beside it"):
            open_ledger(path)
    assert path.read_bytes() == before


def test_x23_an_older_ledger_that_is_in_use_is_not_changed(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    older(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM budgets").fetchall()
        with pytest.raises(LedgerBusyError, match="nothing was charged"):
            open_ledger(path)
    ledger = open_ledger(path)
    assert ledger.state("data").epsilon == F("0.2")
    ledger.close()


@pytest.mark.parametrize("suffix", ["-journal", "-wal"])
def test_what_is_left_of_another_ledger_is_no_way_to_a_new_one(tmp_path, suffix):
    left = tmp_path / f"visits.dpledger{suffix}"
    left.write_bytes(b"x")
    before = snapshot(tmp_path)
    with pytest.raises(LedgerError, match=f"'visits.dpledger{suffix}' belongs to another ledger: move it back"):
        open_ledger(tmp_path / "visits.dpledger")
    assert snapshot(tmp_path) == before
    for nothing in (b"", b"\0" * 512 * (suffix == "-journal")):  # as some systems leave it beside a ledger
        left.write_bytes(nothing)
        open_ledger(tmp_path / "visits.dpledger").close()
        (tmp_path / "visits.dpledger").unlink()


@pytest.mark.parametrize(("options", "mode"), [((), ("delete", 3)), (("DISABLE_DIRSYNC",), ("truncate", 2))])
def test_where_folders_cannot_be_synced_the_journal_is_emptied_and_synced(path, monkeypatch, options, mode):
    class Built(sqlite3.Connection):
        def execute(self, statement, *given):
            if statement == "PRAGMA compile_options":
                return [(option,) for option in options]
            return super().execute(statement, *given)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **b: connect(*a, **b, factory=Built))
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    held = [
        ledger._store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
    ]
    assert tuple(held) == mode
    beside = [(p.name, p.stat().st_size) for p in path.parent.iterdir() if p != path]
    assert beside == ([(f"{path.name}-journal", 0)] if options else [])
    ledger.close()
    ledger = open_ledger(path)
    assert ledger.state("data").epsilon == F("0.2")
    ledger.close()

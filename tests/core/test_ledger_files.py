"""Files of a ledger: what is opened, what is refused and left untouched, locks. Crashes and forks: tests/faults."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from fractions import Fraction as F

import pytest
from support.ledgers import ONE, UNIT, ask

from pandas_dp.core import records, store
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.errors import ArgumentTypeError, LedgerBusyError, LedgerError


def snapshot(folder):
    """Names, sizes, times and contents of everything below a folder."""
    return {
        p: (p.lstat().st_mtime_ns, p.lstat().st_mode, p.read_bytes() if p.is_file() else None)
        for p in sorted(folder.rglob("*"))
    }


def test_a_new_file_is_the_owners_and_complete(tmp_path):
    ledger = open_ledger(tmp_path / "visits.dpledger")
    ledger.open("data", ONE, UNIT)
    assert {p.name for p in tmp_path.iterdir()} == {f"visits.dpledger{s}" for s in ("", "-wal", "-shm")}
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in tmp_path.iterdir())
    ledger.close()
    assert [p.name for p in tmp_path.iterdir()] == ["visits.dpledger"]


def test_the_canonical_path_decides(path, tmp_path, monkeypatch):
    monkeypatch.chdir(path.parent)
    (tmp_path / "link").symlink_to(path)
    ledger = open_ledger(path)
    for name in (str(path), "visits.dpledger", "./visits.dpledger", tmp_path / "link"):
        assert open_ledger(name) is ledger
    with pytest.raises(LedgerError, match="open already"):
        Ledger(path)
    os.link(path, tmp_path / "other name")  # as where upper and lower case are one
    with pytest.raises(LedgerError, match="open already"):
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
        ("../x", r"climb .*type the whole path, ledger=./.*/x"),
        ("folder/../x", "climb"),
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
    connection.execute(f"PRAGMA user_version={records.SCHEMA_VERSION + 1}")
    connection.close()


def unreleased(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=1")
    connection.close()


def rollback_mode(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


FOREIGN = {
    "text": (lambda p: p.write_text("age,pay\n1,2\n" * 99), "not a ledger"),
    "empty": (lambda p: p.write_bytes(b""), "not a ledger"),
    "short": (lambda p: p.write_bytes(p.read_bytes()[:60]), "not a ledger"),
    "database": (foreign_database, "not a ledger"),
    "newer": (newer, "newer pandas_dp"),
    "unreleased": (unreleased, "unreleased pandas_dp"),
    "rollback": (rollback_mode, "damaged"),
    "read-only": (lambda p: p.chmod(0o400), "read-only"),
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
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.2)
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


def test_a_lock_or_an_interrupt_while_connecting_is_no_reason_to_give_up(path, monkeypatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
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
        patch.setattr(store.Store, "_look", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, "0.1")
    ask(ledger, "0.1")
    assert ledger.state("data").epsilon == F("0.2")
    ledger.close()


def older(path):
    """Make the file one of the version before, which did not keep what was said of answers."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TABLE answers; PRAGMA user_version = 2;")


def test_x23_a_ledger_of_the_version_before_goes_on(path):
    older(path)
    ledger = open_ledger(path)
    assert ledger.state("data").epsilon == F(1, 10)
    sequence = ask(ledger, "0.2")
    ledger.record("data", sequence, None, "said")
    assert ledger.shown("data") == {sequence: "said"}
    ledger.verify()
    ledger.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (records.SCHEMA_VERSION,)


def test_x23_a_crash_in_the_middle_of_the_change_leaves_the_old_file(path, monkeypatch):
    older(path)
    with monkeypatch.context() as patch:
        patch.setattr(records, "MIGRATIONS", {2: records.ANSWERS, 3: "nonsense"})  # the second of two steps fails
        patch.setattr(records, "SCHEMA_VERSION", 4)
        with pytest.raises(LedgerError):
            open_ledger(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    ledger = open_ledger(path)
    assert ledger.state("data").epsilon == F(1, 10)
    assert ledger.shown("data") == {}
    ledger.close()

"""Damage to the file of a ledger, while it is open and before: refused, never a fresh budget."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction as F

import pytest
from support.ledgers import ONE, UNIT, ask

from pandas_dp.core.ledger import open_ledger
from pandas_dp.errors import LedgerError
from pandas_dp.session import ledger_files


def spent_in(path):
    """Join a ledger file and ask for a tenth; return what is spent then, or None when the ledger is refused."""
    ledger = None
    try:
        ledger = open_ledger(path)
        assert not ledger.open("data", ONE, UNIT)  # never a fresh budget
        ask(ledger, "0.1")
        return ledger.state("data").epsilon
    except LedgerError:
        return None
    finally:
        if ledger is not None:
            ledger.close()
        path.with_name(f"{path.name}-journal").unlink(missing_ok=True)


def test_a_truncated_ledger_is_refused(path):
    whole = path.read_bytes()
    for size in range(0, len(whole), 2048):
        path.write_bytes(whole[:size])
        spent = spent_in(path)
        assert spent in (None, F("0.2"))
        assert spent is None or size > len(whole) - 4096  # the last page may be empty, and none is missed then


def removed(path):
    path.unlink()


def replaced_by_a_copy(path):
    shutil.copy(path, f"{path}.copy")
    os.replace(f"{path}.copy", path)


@pytest.mark.parametrize("change", [removed, replaced_by_a_copy])
def test_a_file_that_changes_under_us_is_refused_and_never_reset(path, change):
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    change(path)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"removed|replaced"):
            ask(ledger, "0.1")
    if change is removed:
        with pytest.raises(LedgerError, match="cannot be read"):
            open_ledger(path)
        assert not path.exists()
    else:  # opened again on purpose: the copy is complete
        assert open_ledger(path) is ledger
        assert ledger.state("data").epsilon == F("0.2")
    ledger.close()


def test_an_older_copy_is_noticed_by_whoever_saw_the_newer(path, tmp_path):
    shutil.copy(path, tmp_path / "old")
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    shutil.copy(tmp_path / "old", tmp_path / "new")
    os.replace(tmp_path / "new", path)
    with pytest.raises(LedgerError, match=r"replaced|removed"):
        ledger.state("data")
    ledger = open_ledger(path)  # opened again on purpose: the file is a sound ledger, but not the one we knew
    with pytest.raises(LedgerError, match="lost charges"):
        ask(ledger, "0.1")
    ledger.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE budgets SET state = '0 0 0 0'",
        "UPDATE budgets SET epsilon = '3'",
        "UPDATE budgets SET name = 'dat`'",
        "DELETE FROM budgets",
        "DELETE FROM entries WHERE sequence = 2",
        "UPDATE entries SET charge = '1/20 0 0' WHERE sequence = 2",
        "UPDATE entries SET price = 'epsilon=0' WHERE sequence = 2",
        "UPDATE entries SET budget = 'one' WHERE sequence = 2",
        "INSERT INTO entries SELECT 7, sequence, time, kind, query, price, charge, key, head FROM entries",
    ],
)
def test_damage_to_the_record_is_found(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="damaged"), closing(open_ledger(path)) as ledger:
        ledger.verify()
    refused = ["data"] * ("budgets" in statement) + ["new"] * ("entries SET" not in statement)  # entries are not read
    for name in refused:
        with pytest.raises(LedgerError, match=r"damaged|older than one"), closing(open_ledger(path)) as ledger:
            ledger.open(name, ONE, UNIT)


def test_a_damaged_result_is_never_drawn_anew_without_being_asked_for(path):
    ledger = open_ledger(path)
    ledger.record("data", ask(ledger, "0.1", key="k"), "[1]", "told")
    assert ledger_files.damaged(ledger) == []
    written = ledger._store._connection.execute("SELECT * FROM results").fetchone()
    damages = [f"result = {damaged}" for damaged in ("x'5b325d'", "x'5bff5d'", "'[1]'", "7")]
    for damage in (*damages, "digest = x'00'", "digest = 'no'"):
        ledger._store._connection.execute(f"UPDATE results SET {damage}")
        with pytest.raises(LedgerError, match=r"entry 3\) is damaged.*type fresh=True"):
            ledger.stored("data", "k")
        assert ledger_files.damaged(ledger) == [("data", 3)]
        ledger.verify()  # what was charged is whole
        ledger._store._connection.execute("DELETE FROM results")
        ledger._store._connection.execute("INSERT INTO results VALUES (?, ?, ?, ?)", written)
    ledger._store._connection.execute("UPDATE answers SET result = x'00'")
    assert (ledger_files.damaged(ledger), ledger.shown("data")) == ([("data", 3)], {})
    assert ledger.stored("data", "k") == (3, "[1]")
    ledger._store._connection.execute("UPDATE results SET result = '7'")
    ledger.record("data", ask(ledger, "0.1", key="k"), "[2]")  # bought
    assert ledger.stored("data", "k") == (4, "[2]")
    ledger.close()


def test_a_stored_text_under_another_entry_is_damaged(path):
    ledger = open_ledger(path)
    for _ in range(2):
        ledger.record("data", ask(ledger, "0.1", key="k"), "[1]", "told")
    connection = ledger._store._connection
    for table in ("results", "answers"):
        connection.execute(f"UPDATE {table} SET sequence = 7 - sequence + (sequence = 3) * 90")
        connection.execute(f"UPDATE {table} SET sequence = 4 WHERE sequence = 94")
    assert ledger_files.damaged(ledger) == [("data", 3), ("data", 4)]
    with pytest.raises(LedgerError, match="damaged"):
        ledger.stored("data", "k")
    for table in ("results", "answers"):
        connection.execute(f"UPDATE {table} SET budget = 9, sequence = sequence + 1")
    assert ledger_files.damaged(ledger) == [("?", 4), ("?", 5)]
    ledger.close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER UPDATE ON budgets BEGIN DELETE FROM entries; END",
        "CREATE VIEW v AS SELECT * FROM entries",
        "CREATE INDEX i ON entries (price)",
        "CREATE TABLE more (a)",
        "DROP INDEX entries_by_key",
        "DROP TABLE answers",
        "ALTER TABLE results ADD COLUMN more",
        "UPDATE meta SET id = 'x'",
        "UPDATE meta SET doubt = 'x'",
        "DELETE FROM meta",
        "INSERT INTO meta SELECT * FROM meta",
    ],
)
def test_tables_and_triggers_are_those_that_were_written(path, statement):
    ledger = open_ledger(path)
    ledger._store._connection.execute(statement)
    if "meta" not in statement:
        with pytest.raises(LedgerError, match="damaged"):
            ledger.verify()
    ledger.close()
    with pytest.raises(LedgerError, match="damaged"):
        open_ledger(path)


@pytest.mark.parametrize("damage", ["time = 'yesterday'", "time = x'00'", "charge = '1/0 0 0'", "charge = x'00'"])
def test_a_damaged_entry_is_not_shown(path, damage):
    ledger = open_ledger(path)
    ledger._store._connection.execute(f"UPDATE entries SET {damage}")
    with pytest.raises(LedgerError, match="damaged"):
        ledger.entries("data")
    ledger.close()


@pytest.mark.parametrize("word", [b"data", b"CREATE", b"budgets"])
def test_a_name_that_is_no_longer_found_is_not_a_new_budget(path, word):
    """In the table, in its index (where SQLite would simply miss the budget) and in the schema."""
    whole = path.read_bytes()
    places = [i for i in range(len(whole)) if whole.startswith(word, i)]
    assert len(places) >= 2
    for place in places:
        for bit in (1, 0x80):  # another letter, and no letter at all
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            assert spent_in(path) in (None, F("0.2"))


@pytest.mark.parametrize(
    "flips", [60, pytest.param(1000, marks=pytest.mark.slow), pytest.param(4096, marks=pytest.mark.nightly)]
)
def test_a_flipped_bit_never_lowers_what_is_spent(path, flips):
    """At sampled positions of the file: refused, or the sums are the true ones; never a fresh budget."""
    whole, choose = path.read_bytes(), random.Random(5)
    refused = 0
    for _ in range(flips):
        position = choose.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[position] ^= 1 << choose.randrange(8)
        path.write_bytes(damaged)
        spent = spent_in(path)
        assert spent in (None, F("0.2")), position
        refused += spent is None
    assert refused > 0

"""Commits that are cut short, in ledgers whose pages lie as those of a year do: done, undone or refused, never half.

SQLite writes the pages of a commit in the order of their numbers. In a small file rows of budgets and entries have the first
ones; once a ledger has many answers and parts, indexes and stored answers can come before them.
"""

from __future__ import annotations

import shutil
from contextlib import closing, suppress
from fractions import Fraction as F
from itertools import pairwise
from pathlib import Path

import pytest
from support.ledgers import UNIT, cut_short, journal_of, pure, unsynced

from pandas_dp.core import files
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.errors import LedgerError
from pandas_dp.session import ledger_files

LARGE = Budget.of(1000)
DAYS = PrivacyUnit("u", 2, 2, 2, NeighboringRelation.ADD_REMOVE, '["D", "t", "naive", null, []]')
TEXTS = ("results", "answers")


def charge(ledger, key, name="data", unit=UNIT, **more):
    return ledger.reserve(name, key, f"mean({key!r})", "epsilon=0.1", pure("0.1"), unit, **more)


def answer(ledger, key, name="data"):
    sequence = charge(ledger, key, name, waits=True)
    ledger.begin(name, sequence)
    ledger.record(name, sequence, f'{{"{"a" * 64}": [[1]]}}', "said")


def opened(path, answers, parts, questions):
    """A ledger with answers of an old budget, then parts of it, then some questions of a new one."""
    ledger = open_ledger(path)
    unsynced(ledger)
    ledger.open("old", LARGE, UNIT)
    for i in range(answers):
        answer(ledger, f"old {i}", "old")
    if parts:
        ledger.open("old::part", Budget.of(1), UNIT, also=[f"old::part::{i}" for i in range(1, parts)])
    for name, unit in (("data", UNIT), ("days", DAYS)):
        ledger.open(name, LARGE, unit)
    for i in range(questions):
        answer(ledger, f"data {i}")
        charge(ledger, f"day {i}", "days", DAYS, periods=(i, i + 3))
    return ledger


WORK = {
    "a charge that waits": lambda ledger: charge(ledger, "waits", waits=True),
    "the begin of its draw": lambda ledger: ledger.begin("data", waiting(ledger)),
    "its answer": lambda ledger: ledger.record("data", 1 + last(ledger, "query"), "[1]" * 3000, "said"),
    "a charge of a part": lambda ledger: charge(ledger, "part", once=True),
    "parts": lambda ledger: ledger.open("data::part", Budget.of(1), UNIT, also=[f"data::{i}" for i in range(50)]),
    "a difference": lambda ledger: charge(ledger, "refined", sole=True),
    "a charge of days": lambda ledger: charge(ledger, "days", "days", DAYS, periods=(2, 7)),
    "a charge at once": lambda ledger: charge(ledger, "plain"),
}


def last(ledger, kind):
    return max(i for i, entry in enumerate(ledger.entries("data")) if entry.kind == kind)


def waiting(ledger):
    return ledger.waiting("data", "waits", ledger.rule("data").charge(pure("0.1")))


def dump(ledger, table, columns="*", where="NOT INDEXED"):
    return ledger._store._connection.execute(f"SELECT {columns} FROM {table} {where} ORDER BY 1, 2").fetchall()


def charges(ledger):
    """All that decides on what was charged and on what may be drawn for it."""
    indexed = dump(ledger, "entries", "budget, sequence, key", "INDEXED BY entries_by_key WHERE key IS NOT NULL")
    return [dump(ledger, table) for table in ("budgets", "entries", "periods")], indexed, waiting(ledger)


def state(ledger):
    return charges(ledger), [dump(ledger, table) for table in TEXTS]


def sweep(path, layout, count=None):
    """Try each moment of each commit, with the journal beside the file and without it; count those that were refused."""
    ledger, moments, made = opened(path, *layout), [], []
    for work in (lambda ledger: None, *WORK.values()):
        work(ledger)
        made.append((path.read_bytes(), state(ledger)))
    ledger.close()
    seen = Path(f"{path}.state")
    shutil.rmtree(seen, ignore_errors=True)
    for what, ((before, old), (after, new)) in zip(WORK, pairwise(made), strict=True):
        for at, moment in enumerate(cut_short(before, after)):
            for journal in (journal_of(before, after), b""):
                path.write_bytes(moment)
                Path(f"{path}-journal").write_bytes(journal)
                moments.append((what, at, bool(journal), look(path, old, new, bool(journal))))
                shutil.rmtree(seen, ignore_errors=True)
    return moments


def look(path, old, new, journal):
    """What became of a file: as it was before a commit, as after it, or refused, which with its journal it never is."""
    with suppress(*[LedgerError] * (not journal)), closing(open_ledger(path)) as ledger:
        if ledger._store.refusal:
            assert not journal, ledger._store.refusal
            with pytest.raises(LedgerError, match="damaged"):
                charge(ledger, "another")
            return "refused"
        held, texts = state(ledger)
        assert held in (old[0], new[0])
        for text, one, other in zip(texts, old[1], new[1], strict=True):  # each may be lost without harm
            assert text in (one, other) if journal else {*text} <= {*one, *other}
        if journal:
            assert not files.left(f"{path}-journal")
            ledger.verify()
            assert ledger_files.damaged(ledger) == []
        for key, options in (("part", {"once": True}), ("waits", {"waits": True})):
            spent = ledger.state("data").epsilon
            known = ledger.waiting("data", key, ledger.rule("data").charge(pure("0.1"))) if key == "waits" else None
            paid = known or (key == "part" and any(e.query == "mean('part')" for e in ledger.entries("data")))
            charge(ledger, key, **options)
            assert ledger.state("data").epsilon == spent + (0 if paid else F("0.1"))
        return "before" if held == old[0] else "after"
    return "refused"


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "visits.dpledger.state"))
    return tmp_path / "visits.dpledger"


@pytest.mark.parametrize(
    "layout",
    [
        (5, 20, 0),
        *(
            pytest.param((answers, parts, questions), marks=pytest.mark.slow)
            for answers in (0, 105, 200)
            for parts in (0, 100, 150)
            for questions in (0, 12)
        ),
    ],
    ids=str,
)
def test_a_commit_that_is_cut_short_is_done_undone_or_refused(path, layout):
    moments = sweep(path, layout)
    found = {(journal, became) for _, _, journal, became in moments}
    assert found >= {(True, "before"), (True, "after"), (False, "before"), (False, "after"), (False, "refused")}
    assert len(moments) > 60


def test_an_index_that_is_ahead_of_its_entries_answers_nothing(path, monkeypatch):
    """Whatever may have left it so: what it points to is looked up, also once another entry is there."""
    ledger = opened(path, 5, 20, 0)
    before = path.read_bytes()
    charge(ledger, "part", once=True)
    after = path.read_bytes()
    ledger.close()
    monkeypatch.setattr(ledger_files, "_torn", lambda connection: "")
    ahead = 0
    for moment in list(cut_short(before, after))[1:-1]:
        path.write_bytes(moment)
        shutil.rmtree(f"{path}.state")
        with suppress(LedgerError), closing(open_ledger(path)) as ledger:
            indexed = dump(
                ledger, "entries", "budget, sequence, key", "INDEXED BY entries_by_key WHERE key IS NOT NULL"
            )
            if len(indexed) == len(dump(ledger, "entries", where="NOT INDEXED WHERE key IS NOT NULL")):
                continue
            assert ledger.stored("data", "part") is None
            charge(ledger, "another", waits=True)
            assert ledger.stored("data", "part") is None
            charge(ledger, "part", sole=True)
            assert [e.query for e in ledger.entries("data")[1:]] == ["mean('another')", "mean('part')"]
            ahead += 1
    assert ahead


def test_an_error_of_the_system_is_one_of_the_ledger(path):
    """A journal that cannot be opened, as one of another account: a folder is one that nobody can."""
    opened(path, 0, 0, 1).close()
    journal = Path(f"{path}-journal")
    journal.mkdir()
    with pytest.raises(LedgerError, match=r"could not be read or written .*; nothing was released"):
        open_ledger(path)
    journal.rmdir()
    with closing(open_ledger(path)) as ledger:
        ledger.verify()

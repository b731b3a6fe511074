"""Older copies of a ledger, copies of it that were used, back-ups: told by what is remembered outside the file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from fractions import Fraction as F
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.frames import people
from support.ledgers import ONE, UNIT, ask, cut_short, journal_of, pure

from pandas_dp.books import budget_words
from pandas_dp.core import database, files
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.errors import ArgumentTypeError, LedgerBusyError, LedgerError, PandasDPError
from pandas_dp.session import ledger_files

OLDER = "this ledger is older than one that was open here"
ANOTHER = "an old copy was put back, or two copies were used. Put the newer one here, or: pandas-dp ledger restore"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A ledger file with two tenths spent of "data", and a witness of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "visits.dpledger"
    charge(path, 2)
    return path


def charge(path, tenths=1, name="data"):
    """Open a ledger, charge to it and close it, as a job does; return what is spent then."""
    ledger = open_ledger(path)
    try:
        ledger.open(name, ONE, UNIT)
        for _ in range(tenths):
            ask(ledger, "0.1", name)
        return ledger.state(name).epsilon
    finally:
        ledger.close()


def refused(path):
    """Nothing can be charged to a ledger, neither by joining a budget nor otherwise; reading it is possible."""
    with pytest.raises(LedgerError) as caught:
        charge(path)
    ledger = open_ledger(path)
    with pytest.raises(LedgerError) as again:
        ask(ledger, "0.1")
    ledger.verify()
    assert ledger.entries("data")
    ledger.close()
    assert str(caught.value) == str(again.value)
    return str(caught.value)


def test_an_old_copy_put_back_is_refused_by_the_witness(path):
    old = shutil.copy(path, f"{path}.old")
    assert charge(path) == F("0.3")
    shutil.copy(old, path)
    for _ in range(2):
        text = refused(path)
        assert text.startswith(f"{OLDER} (budget 'data': 3 entries, 4 were seen): {ANOTHER}")


def test_a_copy_elsewhere_is_known_too_and_the_newer_one_goes_on(path, tmp_path):
    copy = shutil.copy(path, tmp_path / "copy.dpledger")
    assert charge(path) == F("0.3")
    assert "3 entries, 4 were seen" in refused(copy)
    assert charge(path) == F("0.4")
    os.rename(path, tmp_path / "moved.dpledger")
    assert charge(tmp_path / "moved.dpledger") == F("0.5")


def test_two_copies_that_were_both_used_are_told_apart(path, tmp_path, monkeypatch):
    copy = shutil.copy(path, tmp_path / "copy.dpledger")
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "another account"))
        assert charge(copy, 3) == F("0.5")
    ledger = open_ledger(path)
    for _ in range(2):
        ask(ledger, "0.05")  # other questions: entries alone tell copies apart
    ledger.close()
    assert f"{OLDER} (budget 'data': entry 5 differs): {ANOTHER}" in refused(copy)
    assert charge(path) == F("0.4")


def test_a_copy_without_a_budget_that_was_opened_since_is_refused(path):
    old = shutil.copy(path, f"{path}.old")
    charge(path, 1, "other")
    shutil.copy(old, path)
    assert "a budget that is not in it: 0 entries, 2 were seen" in refused(path)


def test_a_killed_process_leaves_what_was_seen_when_it_opened(path):
    """What it charged afterwards is in the file: more entries than were seen are no reason to refuse."""
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    ledger._store.close()  # tells nobody
    del ledger
    from pandas_dp.core import ledger as books

    books._ledgers.clear()
    assert charge(path) == F("0.4")


@pytest.mark.parametrize("state", ["", "relative", "/proc/none", "file", "nonsense", "folder"])
def test_where_nothing_can_be_remembered_nothing_is_refused_and_nothing_said(path, tmp_path, monkeypatch, state):
    old = shutil.copy(path, f"{path}.old")
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    if state in ("nonsense", "folder"):
        for place in (tmp_path / "state").rglob("1-3-*"):
            place.rename(place.with_name(f"1-9-{'f' * 65}"))
            (place.with_name("1-9") if state == "folder" else place.with_name("01-9-")).mkdir()
    else:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file") if state == "file" else state)
    before = sorted(p.name for p in tmp_path.iterdir())
    assert charge(path) == F("0.3")
    shutil.copy(old, path)
    if state in ("", "nonsense", "folder"):  # the home, or what is remembered again
        assert "3 entries, 4 were seen" in refused(path)
    else:
        assert charge(path) == F("0.3")
        assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_what_is_remembered_is_the_owners_and_no_name_of_a_file_leads_elsewhere(path, tmp_path):
    (place,) = (tmp_path / "state").rglob("*-*-*")
    modes = [each.stat().st_mode & 0o777 for each in (place, place.parent, place.parent.parent)]
    assert (modes, place.stat().st_size) == ([0o600, 0o700, 0o700], 0)
    assert [p.name for p in place.parent.parent.iterdir()] == [place.parent.name]
    for odd in ("../" * 8 + "a" * 8, ""):
        with pytest.raises(FileNotFoundError):
            ledger_files._place(odd)
    ledger_files._keep(str(place.parent), "1", (9, "/../../away"))  # as a ledger file from elsewhere may have it
    assert {p.name for p in place.parent.iterdir()} == {place.name, "1-9-"}


def test_restore_goes_on_with_an_old_copy_and_the_newer_one_is_refused_then(path, tmp_path):
    old = shutil.copy(path, tmp_path / "old.dpledger")
    charge(path, 3)
    ledger = open_ledger(old)
    with pytest.raises(LedgerError, match=OLDER):
        ledger.open("data", ONE, UNIT)
    ledger_files.restore(ledger, ledger_files.PrivacyLoss.pure(F("0.3")), "epsilon=0.3")
    assert ledger.state("data").epsilon == F("0.5")
    ledger.close()
    assert charge(old) == F("0.6")
    assert "differs" in refused(path)


def test_a_failed_restore_changes_nothing(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    shutil.copy(path, f"{path}.old")
    charge(path)
    shutil.copy(f"{path}.old", path)
    ledger = open_ledger(path)
    other = database.connect(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError):
        ledger_files.restore(ledger, None, "all")
    other.close()
    with pytest.raises(LedgerError, match=OLDER):
        ask(ledger, "0.1")
    ledger.close()


@pytest.mark.parametrize(
    "budget",
    [
        Budget.of(1),
        Budget.of(1, F("1e-6")),
        *(Budget.of(1, F("1e-6"), accountant=accountant) for accountant in ("rdp", "zcdp", "gdp")),
        Budget.of(3, F("1e-6")).planned([(F("0.1"), 4)]),
    ],
    ids=lambda budget: budget.accountant,
)
def test_all_that_was_left_is_charged_under_every_accountant(tmp_path, budget):
    ledger = open_ledger(tmp_path / "visits.dpledger")
    ledger.open("data", budget, UNIT)
    ledger_files.backup(ledger, tmp_path / "copy.dpledger")
    ledger.close()
    ledger = open_ledger(tmp_path / "copy.dpledger")
    ledger_files.restore(ledger, None, "all that was left")
    for price in ("1e-9", "0.1"):
        with pytest.raises(PandasDPError, match=r"over budget|Gaussian noise only"):
            ask(ledger, price)
    with pytest.raises(PandasDPError, match=r"over budget"):
        ledger.reserve("data", None, "q", "rho=1e-9", ledger_files.PrivacyLoss.gaussian(F("1e-9")), UNIT)
    assert budget_words.left(ledger.rule("data"), ledger.state("data"))
    ledger.verify()
    ledger.close()


def put(path, file, journal=b""):
    """A file as it lies there after a kill, with the journal beside it."""
    Path(path).write_bytes(file)
    Path(f"{path}-journal").write_bytes(journal)


def changes(path):
    """Transactions that are cut short, each as the file before and after it; 0.2 are spent before, and no more is known."""
    state, made = path.parent / "state", [path.read_bytes()]
    shutil.copytree(state, path.parent / "kept")
    ledger = open_ledger(path)
    for work in (
        lambda: ask(ledger, "0.1"),
        lambda: ledger.record("data", 2, "[1]" * 3000, "said"),
        lambda: ledger.open("other", ONE, UNIT, also=[f"other::{i}" for i in range(50)]),
        lambda: ask(ledger, "0.1"),
        lambda: ask(ledger, "0.1", "other::49"),
    ):
        work()
        made.append(Path(path).read_bytes())
    ledger.close()
    shutil.rmtree(state)
    shutil.move(path.parent / "kept", state)
    return list(pairwise(made))


@pytest.mark.parametrize("known", [True, False])
def test_a_charge_that_was_cut_short_is_whole_or_not_there_and_nothing_is_refused(path, tmp_path, monkeypatch, known):
    """At every moment, and for an account that never saw the ledger, too."""
    kept, moments, made = tmp_path / "at first", 0, changes(path)
    shutil.copytree(tmp_path / "state", kept)
    for before, after in made:
        for moment in cut_short(before, after):
            put(path, moment, journal_of(before, after))
            shutil.rmtree(tmp_path / "state")
            if known:
                shutil.copytree(kept, tmp_path / "state")
            ledger = open_ledger(path)
            ledger.verify()
            assert not files.left(f"{path}-journal")
            assert ledger_files.damaged(ledger) == []
            assert ledger.state("data").epsilon * 10 in (2, 3, 4)
            ask(ledger, "0.1")
            ledger.verify()
            ledger.close()
            moments += 1
    assert moments > 20


@pytest.mark.parametrize("charges", [1, 2, 5])
@pytest.mark.parametrize("done", [False, True])
def test_the_journal_of_a_charge_takes_nothing_back_that_was_charged_elsewhere_since(path, monkeypatch, charges, done):
    """A kill leaves it; the file alone is moved, charged by a job that is killed too, and moved back."""
    before, after = changes(path)[0]
    put(path, after if done else before)
    with monkeypatch.context() as patch:  # this account knows of nothing that was charged there
        patch.setenv("XDG_STATE_HOME", str(path.parent / "another account"))
        spent = charge(path, charges)
    assert spent == F("0.2") + F("0.1") * (charges + done)
    put(path, path.read_bytes(), journal_of(before, after))
    assert charge(path, 0) == spent
    assert charge(path) == spent + F("0.1")
    assert not files.left(f"{path}-journal")


@pytest.mark.parametrize("charges", [1, 2])
def test_a_journal_is_not_put_into_a_file_that_another_charge_tore(path, charges):
    before, after = changes(path)[0]
    put(path, before)
    charge(path, charges)
    later = Path(path).read_bytes()
    charge(path)
    moments = list(cut_short(later, Path(path).read_bytes()))[2:-1]
    assert moments
    for moment in moments:
        put(path, moment, journal_of(before, after))
        with pytest.raises(LedgerError, match="the journal beside it is from another time: nothing was changed"):
            open_ledger(path)
        assert Path(path).read_bytes() == moment
        assert Path(f"{path}-journal").read_bytes() == journal_of(before, after)


def test_an_answer_that_was_torn_takes_no_charge_with_it(path):
    """Moved away between the pages of a stored answer, charged there and moved back, the file has its charges and is whole."""
    tried, before, ledger = 0, path.read_bytes(), open_ledger(path)
    ledger.record("data", 2, "[1]", "said")
    after = path.read_bytes()
    ledger.close()
    for moment in list(cut_short(before, after))[1:-1]:
        put(path, moment)
        with closing(sqlite3.connect(path)) as connection:
            tried += connection.execute("PRAGMA integrity_check").fetchone() != ("ok",)
        spent = charge(path)
        put(path, path.read_bytes(), journal_of(before, after))
        ledger = open_ledger(path)
        ledger.verify()
        assert ledger.state("data").epsilon == spent == F("0.3")
        ledger.close()
        shutil.rmtree(path.parent / "state")
    assert tried


def test_a_file_that_is_torn_between_its_sums_and_its_entries_is_not_charged(path):
    """Moved without its journal; with it, it goes on."""
    before, after = changes(path)[0]
    moments = list(cut_short(before, after))[2:-1]
    assert moments
    for moment in moments:
        put(path, moment)
        ledger = open_ledger(path)
        with pytest.raises(LedgerError, match="the ledger is damaged"):
            ask(ledger, "0.1")
        ledger.close()
        assert path.read_bytes() == moment
        put(path, moment, journal_of(before, after))
        assert charge(path, 0) == F("0.2")


def test_a_journal_waits_for_whoever_is_at_work(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    before, after = changes(path)[0]
    put(path, after, journal_of(before, after))
    code = (
        "import os, sys; f = open(sys.argv[1], 'r+b'); f.seek(0x40000001); os.lockf(f.fileno(), os.F_LOCK, 1); "
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:  # has the lock of one who charges
        other.stdout.readline()
        with pytest.raises(LedgerBusyError):
            open_ledger(path)
        assert files.left(f"{path}-journal")
        other.communicate(b"\n")
    assert charge(path, 0) == F("0.3")


def test_a_restore_that_is_cut_short_leaves_the_doubt(path, tmp_path, monkeypatch):
    """Old pages are not put back into a whole file, so what a transaction over several budgets wrote may be there in part."""
    charge(path, 1, "other")
    ledger = open_ledger(path)
    ledger_files.backup(ledger, tmp_path / "copy.dpledger")
    ledger.close()
    ledger = open_ledger(tmp_path / "copy.dpledger")
    mark, texts = ledger_files.records.mark, []

    def dies(connection, doubt):
        texts.append(doubt)
        raise KeyboardInterrupt

    monkeypatch.setattr(ledger_files.records, "mark", dies)
    with pytest.raises(KeyboardInterrupt):
        ledger_files.restore(ledger, ledger_files.PrivacyLoss.pure(F("0.1")), "epsilon=0.1")
    ledger.close()
    monkeypatch.setattr(ledger_files.records, "mark", mark)
    assert texts == [""]
    ledger = open_ledger(tmp_path / "copy.dpledger")
    assert (ledger.state("data").epsilon, ledger.state("other").epsilon) == (F("0.3"), F("0.2"))
    with pytest.raises(LedgerError, match="this file is a back-up"):
        ask(ledger, "0.1")
    ledger.close()


def test_what_a_killed_process_charged_is_remembered(path, tmp_path):
    """A copy of the time when it opened the ledger is older, though it never closed it."""
    old = Path(path).read_bytes()
    pid = os.fork()
    if pid == 0:
        try:
            ledger = open_ledger(path)
            ask(ledger, "0.1")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    newer = Path(path).read_bytes()
    put(path, old)
    assert "3 entries, 4 were seen" in refused(path)
    put(path, newer)
    assert charge(path) == F("0.4")


def test_what_is_remembered_does_not_grow_with_charges(path, tmp_path, monkeypatch):
    (place,) = (tmp_path / "state" / "pandas_dp" / "ledgers").iterdir()
    ledger = open_ledger(path)
    held = []
    for _ in range(25):
        ask(ledger, "0.01")
        held.append(len(list(place.iterdir())))
    assert set(held) == {1}
    monkeypatch.setattr(ledger_files, "MOST", 30)
    for number in (5, 9, 17):  # of others, which were slower
        (place / f"1-{number}-").touch()
    ask(ledger, "0.01")
    ask(ledger, "0.01")
    assert len(list(place.iterdir())) == 1
    ledger.close()
    assert [kept.name.split("-")[:2] for kept in place.iterdir()] == [["1", "30"]]


def test_nothing_is_written_through_a_link(path, tmp_path):
    (place,) = (tmp_path / "state" / "pandas_dp" / "ledgers").iterdir()
    ledger, kept = open_ledger(path), tmp_path / "kept"
    kept.write_text("of somebody else")
    for number in range(1, 5):
        (place / f"1-{number}-").symlink_to(kept)
    ask(ledger, "0.1")
    ledger.close()
    assert kept.read_text() == "of somebody else"


class Told:
    """What a program knows of a ledger with one budget, of which it is told entries."""

    def __init__(self, identifier):
        self._store = SimpleNamespace(identifier=identifier, refusal="", transact=lambda begin, work: {})
        self._ids, self._seen = {"data": 1}, {"data": 1}

    def chains(self):
        raise LedgerBusyError("of another one")

    def charge(self, entry):
        ledger_files.tell(self, "data", entry)
        self._seen["data"] = max(entry, self._seen["data"])


def test_the_name_that_a_kill_left_of_a_new_ledger_goes(path, tmp_path):
    """A ledger is built under another name, and has both for an instant, in which nothing is charged to it."""
    left, other = (tmp_path / f"visits.dpledger.{letter * 32}.new" for letter in "ab")
    os.link(path, left)
    other.touch()  # another program builds one
    assert charge(path) == F("0.3")
    assert not left.exists()
    assert other.exists()
    os.link(path, tmp_path / "visits.dpledger.new")  # this one is somebody's
    with pytest.raises(LedgerError, match=r"second name \(a hard link\): remove one that has no '-journal'"):
        charge(path)
    assert path.exists()


@pytest.mark.parametrize("killed", [False, True])
def test_programs_that_remember_at_one_moment_lose_no_entry(killed, tmp_path, monkeypatch):
    """Of lines in a file that each of them writes anew some went into one that another had just replaced."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    identifiers, programs, forked = [f"{number:032x}" for number in range(100)], 4, get_context("fork")
    barrier = forked.Barrier(programs)
    told = [
        forked.Array("q", len(identifiers), lock=False) for _ in range(programs)
    ]  # a program that is killed holds no lock

    def program(first):
        for round_, identifier in enumerate(identifiers):
            ledger = Told(identifier)
            ledger_files.remember(ledger)
            barrier.wait(300)
            for entry in range(first + 2, 40, programs):
                ledger.charge(entry)
                told[first][round_] = entry
                ledger_files.remember(ledger)

    running = [forked.Process(target=program, args=(first,)) for first in range(programs)]
    for one in running:
        one.start()
    if killed:
        while told[0][50] < 20 and all(one.is_alive() for one in running):  # anywhere
            time.sleep(0.001)
        for one in running:
            one.kill()
    for one in running:
        one.join()
    known = [ledger_files._remembered(each).get(f"{each}/1", (0, ""))[0] for each in identifiers]
    last = [max(entries) for entries in zip(*told, strict=True)]
    assert [(entry, kept) for entry, kept in zip(last, known, strict=True) if kept < entry] == []
    assert last[40] == 39


def test_two_copies_that_are_open_at_one_time_do_not_both_go_on(path, tmp_path):
    """Each was as it had been seen when it was opened, so both were charged until one was opened again."""
    copy = shutil.copy(path, tmp_path / "copy.dpledger")
    ledgers = open_ledger(path), open_ledger(copy)
    for ledger in ledgers:
        ledger.open("data", ONE, UNIT)
    ask(ledgers[1], "0.05")  # two digests of one number
    with pytest.raises(LedgerError, match=r"entry 4 differs.*two copies were used"):
        ask(ledgers[0], "0.1")
    with pytest.raises(LedgerError, match="two copies were used"):
        ask(ledgers[0], "0.1")
    assert ledgers[0].state("data").epsilon == F("0.3")
    for ledger in ledgers:
        ledger.close()


def test_two_copies_that_do_the_same_in_one_second_do_not_both_go_on(path, tmp_path):
    """Their entries had the same digests, as two jobs of one version make them, and both spent the whole budget."""
    ledgers = open_ledger(path), open_ledger(shutil.copy(path, tmp_path / "copy.dpledger"))
    for ledger in ledgers:
        ledger.open("data", ONE, UNIT)
    told = []
    for _ in range(3):  # two of them at least lie within one second
        for ledger in ledgers:
            try:
                ask(ledger, "0.1")
            except LedgerError as error:
                told.append(str(error))
    assert len(told) >= 3
    assert all("two copies were used" in text for text in told)
    for ledger in ledgers:
        assert all(entry.time.microsecond == 0 for entry in ledger.entries("data"))
        ledger.verify()
        ledger.close()


def test_a_copy_that_is_behind_is_refused_at_its_next_charge(path, tmp_path):
    copy = shutil.copy(path, tmp_path / "copy.dpledger")
    ledger, behind = open_ledger(path), open_ledger(copy)
    for _ in range(3):
        ask(ledger, "0.1")
    with pytest.raises(LedgerError, match=r"4 entries, 6 were seen"):
        ask(behind, "0.1")
    ask(ledger, "0.1")  # the newer one goes on
    ledger.close()
    behind.close()
    assert charge(path) == F("0.7")


def test_what_a_killed_program_charged_is_told_from_as_many_entries_of_a_copy(path, tmp_path):
    copy = shutil.copy(path, tmp_path / "copy.dpledger")
    old = Path(copy).read_bytes()
    for each, price in ((path, "0.1"), (copy, "0.05")):
        pid = os.fork()
        if pid == 0:
            try:
                os.environ["XDG_STATE_HOME"] = str(tmp_path / ("state" if each == path else "another account"))
                ask(open_ledger(each), price)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
    assert "entry 4 differs" in refused(copy)
    put(copy, old)
    assert "3 entries, 4 were seen" in refused(copy)
    assert charge(path) == F("0.4")


def test_threads_and_programs_that_charge_one_ledger_are_no_copies(path):
    """The entries of one are looked up in the very file for the other."""
    ledger, start = open_ledger(path), time.monotonic()
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                mine = open_ledger(path)
                for _ in range(10):
                    ask(mine, "0.001")
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    for _ in range(10):
        ask(ledger, "0.001")
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    assert ledger.state("data").epsilon == F("0.24")
    ledger.close()
    assert time.monotonic() - start < 300


def test_restoring_forgets_what_was_remembered_before_and_nothing_that_came_since(path, tmp_path, monkeypatch):
    (place,) = (tmp_path / "state" / "pandas_dp" / "ledgers").iterdir()
    old = Path(path).read_bytes()
    charge(path, 4)
    put(path, old)
    ledger = open_ledger(path)
    chains = ledger.chains

    def meanwhile():
        held = chains()
        ledger_files._keep(str(place), "1", (5, ""))  # by another program, on the ledger that was put back
        return held

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "chains", meanwhile)
        ledger_files.restore(ledger, None, "all")
    assert {kept.name.split("-")[1] for kept in place.iterdir()} == {"4", "5"}
    ledger.close()


class Counter:
    def __init__(self):
        self.told, self.fails = {}, False

    def last(self, chain):
        return self.told.get(chain)

    def saw(self, chain, entries, head):
        if self.fails:
            raise ConnectionError("no counter")
        self.told[chain] = (entries, head)


def test_a_counter_outside_is_told_of_each_charge_before_it_is_drawn(path, tmp_path, monkeypatch):
    df, counter = people(), Counter()
    session = df.dp.protect(epsilon=1, ledger=path, name="counted", witness=counter)
    df.dp(epsilon=0.1).count()
    (chain,) = counter.told
    assert counter.told[chain] == session._ledger.chains()["counted"][1:] == (2, session._ledger.heads()["counted"])
    counter.fails = True
    with pytest.raises(ConnectionError):
        df.dp(epsilon=0.1, fresh=True).count()
    assert session.spent == "epsilon=0.2"
    assert [entry.recorded for entry in session._ledger.entries("counted")] == [False, True, False]
    counter.fails = False
    session._ledger.close()
    old = shutil.copy(path, tmp_path / "old.dpledger")
    df = people()
    df.dp.protect(epsilon=1, ledger=path, name="counted", witness=counter)
    df.dp(epsilon=0.1, fresh=True).count()
    df.dp.session._ledger.close()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another account"))
    with pytest.raises(LedgerError, match=r"budget 'counted': 3 entries, 4 were seen"):
        people().dp.protect(epsilon=1, ledger=old, name="counted", witness=counter)
    with pytest.raises(LedgerError, match=OLDER):  # this process knows it now
        people().dp.protect(epsilon=1, ledger=old, name="counted")
    open_ledger(old).close()


@pytest.mark.parametrize("witness", [3, "counter", object(), Counter])
def test_what_is_no_counter_is_refused(path, witness):
    if witness is Counter:
        with pytest.raises(ArgumentTypeError, match="needs a ledger file"):
            people().dp.protect(epsilon=1, witness=Counter())
        return
    with pytest.raises(ArgumentTypeError, match=r"last\(chain\) and saw"):
        people().dp.protect(epsilon=1, ledger=path, name="counted", witness=witness)
    open_ledger(path).close()


def test_a_counter_outside_is_told_of_every_entry(path):
    counter, ledger = Counter(), open_ledger(path)
    ledger_files.attach(ledger, counter)
    for work in (
        lambda: ask(ledger, "0.1"),
        lambda: ledger.carry("data", "answered elsewhere", [pure("0.1")]),
        lambda: ledger.note("data", "n", ""),
        lambda: ledger.amend("data", Budget.of(2), UNIT, "more"),
    ):
        work()
        assert counter.told == {chain: (n, head) for chain, n, head in ledger.chains().values()}
    counter.fails = True
    with pytest.raises(ConnectionError):
        ledger.carry("data", "answered elsewhere", [pure("0.1")])
    assert ledger.state("data").epsilon == F("0.5")
    ledger.close()


def test_nothing_is_remembered_of_a_ledger_in_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ledger = Ledger(None)
    ledger.open("data", ONE, UNIT)
    ledger.close()
    assert not (tmp_path / "state").exists()


def test_a_thousand_parts_are_opened_at_once(tmp_path):
    """With five syncs, see tests/faults, in less than a second of this thread; one after another they took twenty."""
    ledger = open_ledger(tmp_path / "visits.dpledger")
    names = [f"data::ward#{i}" for i in range(1000)]
    start = time.thread_time()
    ledger.open(names[0], ONE, UNIT, also=names[1:])
    for name in names:
        assert not ledger.open(name, ONE, UNIT)
    assert time.thread_time() - start < 1
    assert list(ledger.heads()) == names
    ledger.verify()
    ledger.close()

"""The one file that the owner named holds every charge: after kills, moved or copied alone, and while it is in use.

After every kill the file is copied without its journal. Opened there it has every charge that was confirmed, or is refused.
Then the file goes on where it is, or is moved, alone, and back: nothing is lost, and at most one charge for each kill has no
release.
"""

from __future__ import annotations

import os
import re

import pytest
from support.fault_scripts import script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


ALONE = """
import shutil
from contextlib import suppress
total, seen = 10**6, {"whole": 0, "refused": 0, "moved": 0, "copied": 0, "away": 0, "tried": 0}
home = os.path.dirname(path)

def ask(ledger):
    "With a key, as questions have one: of which there is an index."
    key = str(random.random())
    return ledger.reserve("data", key, "count()", "epsilon=0.1", PrivacyLoss.pure(F(1, 10)), PrivacyUnit())

def alone(at_least, where):
    "Open a copy of the file as it is, without its journal, as somebody who never saw it."
    folder = tempfile.mkdtemp(dir=home)
    there = os.path.join(folder, "elsewhere.dpledger")
    with open(path, "rb") as file:  # no tool that first asks how long it is
        data = b"".join(iter(lambda: file.read(4096), b""))
    with open(there, "wb") as file:
        file.write(data)
    state, os.environ["XDG_STATE_HOME"] = os.environ["XDG_STATE_HOME"], folder
    try:
        ledger = open_ledger(there)
        try:
            assert not ledger.open("data", Budget.of(F(total, 10)), PrivacyUnit())
            spent = ledger.state("data").epsilon * 10
            assert spent >= at_least, f"lost: {spent} of {at_least}"
            assert ask(ledger) > at_least, "lost"
            seen[where] += 1
        finally:
            ledger.close()
    except LedgerError:
        seen["refused"] += 1
    finally:
        os.environ["XDG_STATE_HOME"] = state
        shutil.rmtree(folder)

def confirmed():
    return os.path.getsize(released)

def away():
    "Move the file alone, charge it there in a job that SIGTERM ends, and move it back beside what a kill left."
    there = os.path.join(tempfile.mkdtemp(dir=home), "there.dpledger")
    os.rename(path, there)
    def job():
        with suppress(LedgerError):  # torn, and its journal is not there
            ledger = open_ledger(there)
            for _ in range(random.randint(1, 3)):
                ask(ledger)
                release()
            os.kill(os.getpid(), signal.SIGTERM)
    status = os.waitpid(child(job), 0)[1]
    assert status in (0, signal.SIGTERM), status
    os.rename(there, path)
    return status == signal.SIGTERM
"""

KILLS = (
    ALONE
    + """
FAULT
fresh().close()
hold, held = os.path.join(home, "hold"), os.path.join(home, "held")
def work():
    ledger = open_ledger(path)
    while True:
        ask(ledger)
        release()
        ledger.record("data", 2, "[1]", "said")
        if os.path.exists(hold):  # between two charges, with the ledger open, until it is killed
            open(held, "w").close()
            signal.pause()
for kill in range(KILLS):
    before, between = confirmed(), kill % 2
    if between:
        open(hold, "w").close()
    pid = child(work)
    while confirmed() == before or (between and not os.path.exists(held)):
        time.sleep(0.001)
    if kill % 3 == 0:  # while it is in use: between charges for certain whole, else perhaps torn
        refused = seen["refused"]
        for _ in range(1 if between else 3):
            seen["tried"] += 1
            alone(confirmed(), "copied")
        assert not between or seen["refused"] == refused, "refused between two charges"
    if not between:
        time.sleep(random.uniform(0, 0.03))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    refused = seen["refused"]
    alone(confirmed(), "whole")
    assert not between or seen["refused"] == refused, "refused after a kill between two charges"
    if kill % 3 == 1:  # moved alone, for good
        open_ledger(path).close()  # after which it needs no journal
        assert not files.left(path + "-journal")
        there = os.path.join(tempfile.mkdtemp(dir=home), "moved.dpledger")
        os.rename(path, there)
        path = there
        seen["moved"] += 1
    if kill % 3 == 2:
        charged = away()
        assert charged or not between, "not charged elsewhere after a kill between two charges"
        seen["away"] += charged
    for mark in (hold, held) if between else ():
        os.unlink(mark)
    ledger = open_ledger(path)
    out, charged = confirmed(), ledger.state("data").epsilon * 10
    assert out <= charged <= out + kill + 1, (out, charged, kill)
    ledger.close()
out, charged = check(KILLS)
print(out, charged, *seen.values())
"""
)


@pytest.mark.parametrize("kills", [20, pytest.param(1000, marks=pytest.mark.nightly)])
def test_the_file_alone_has_every_charge_after_kills_moves_and_copies(tmp_path, kills):
    """Every second process is killed between two charges: there the file is whole, whatever else the machine does.

    How many of the others leave a file that is torn without its journal, which is then refused, follows from that.
    """
    code = KILLS.replace("KILLS", str(kills)).replace("FAULT", "")
    out, charged, whole, refused, moved, copied, away, tried = map(
        int, script(tmp_path, code, 300 + 10 * kills).split()
    )
    assert kills <= out <= charged <= out + kills
    assert whole + copied + refused == kills + tried
    assert moved == (kills + 1) // 3
    assert whole >= kills // 2
    assert away >= kills // 6
    assert copied >= kills // 6


LOG = """
def settle(connection, path):
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
store._settle, store.check_file = settle, lambda path: True
"""


def test_a_ledger_with_a_log_loses_charges_and_is_found(tmp_path):
    with pytest.raises(AssertionError, match=r"lost|the log is not here"):
        script(tmp_path, KILLS.replace("KILLS", "20").replace("FAULT", LOG))


CALLS = (
    ALONE
    + """
shim = ctypes.CDLL(None)
fresh().close()
kills = 0
def work():
    ledger = open_ledger(path)
    shim.shim_kill_at_call(kills + 1)
    for _ in range(2):
        ask(ledger)
        release()
    ledger.record("data", 2, "[1]", "said")
    shim.shim_kill_at_call(0)
while True:
    status = os.waitpid(child(work), 0)[1]
    if status == 0:
        break
    assert status == signal.SIGKILL, status
    kills += 1
    alone(confirmed(), "whole")
    if AWAY:
        seen["away"] += away()
    out, charged = check(kills)
print(kills, seen["whole"], seen["refused"], seen["away"])
"""
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("moved", [False, True])
def test_the_file_alone_has_every_charge_after_death_at_every_call(tmp_path, shim, moved):
    """Also where it is charged elsewhere, and moved back beside the journal of the charge that was cut short."""
    kills, whole, refused, away = map(int, script(tmp_path, CALLS.replace("AWAY", str(moved)), LD_PRELOAD=shim).split())
    assert kills >= 40
    assert (away > kills / 2) == moved
    assert (whole + refused, whole > refused) == (kills, True)


ORDER = """
shim = ctypes.CDLL(None)
ledger = fresh()
names = {path: "file", path + "-journal": "journal", os.path.dirname(path): "folder"}
def order(work):
    file = os.open(path + ".told", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    shim.shim_tell(file)
    work()
    shim.shim_tell(-1)
    os.close(file)
    print(*(f"{what} {names[name]}," for what, name in (line.split() for line in open(path + ".told"))))
def charge():
    ask(ledger)
order(charge)
order(lambda: ledger.record("data", 2, "[1]", "said"))
order(lambda: ledger.note("data", "n", ""))
order(lambda: ledger.open("other", Budget.of(1), PrivacyUnit(), also=[f"part {i}" for i in range(50)]))
for mode in ("synchronous=FULL", "synchronous=OFF", "journal_mode=MEMORY"):
    ledger._store._disconnect()
    ledger.state("data")
    ledger._store._connection.execute(f"PRAGMA {mode}")
    order(charge)
"""
SYNCED = (
    r"(write journal, )+sync journal, sync folder, write journal, sync journal, (write file, )+sync file, "
    r"unlink journal, sync folder,"
)


def test_no_power_cut_takes_a_charge_back(tmp_path, shim):
    """The old pages are on the disk before new ones are written, and their journal's end is before the call returns.

    One charge, one answer with what is said of it, one note, and all parts of a partition: five syncs each. Where fewer are
    made, as planted in the last three, that is found.
    """
    told = script(tmp_path, ORDER, LD_PRELOAD=shim).splitlines()
    assert [bool(re.fullmatch(SYNCED, line)) for line in told] == [True] * 4 + [False] * 3
    assert [line.count("sync") for line in told[:4]] == [5] * 4
    assert [line.count("unlink journal") for line in told[4:]] == [1, 1, 0]

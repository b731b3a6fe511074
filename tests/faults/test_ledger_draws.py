"""Kills of jobs that go on: of each charge at most one draw, and none is made twice for one that was killed before it."""

from __future__ import annotations

import os

import pytest
from support.fault_scripts import script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

# a job of some questions: each is charged, begun, drawn for and recorded; what was recorded is free
JOB = """
fresh().close()
drawn = path + ".drawn"
open(drawn, "wb").close()
def job():
    ledger = open_ledger(path)
    for key in map(str, range(QUESTIONS)):
        if ledger.stored("data", key) is None:
            n = ledger.reserve("data", key, "count()", "epsilon=0.1", PrivacyLoss.pure(F(1, 10)), PrivacyUnit(), waits=True)
            ledger.begin("data", n)
            with open(drawn, "ab") as file:
                file.write(b"%d\\n" % n)
            ledger.record("data", n, "[1]")
    ledger.close()
def held():
    '''Charges, and those that wait; what was drawn for was begun, was drawn for once, and waits no more.'''
    ledger = open_ledger(path)
    ledger.verify()
    entries = ledger.entries("data")
    charges = [e.sequence for e in entries if e.kind == "query"]
    begun = {int(e.query.removeprefix("entry ")) for e in entries if e.kind == "draw"}
    told = {sequence for sequence, in ledger._store._connection.execute("SELECT sequence FROM results").fetchall()}
    draws, waits = list(map(int, open(drawn))), {e.sequence for e in entries if e.recorded} - told
    assert ledger.state("data").epsilon == F(len(charges), 10), "sums"
    assert len(set(draws)) == len(draws), draws
    assert set(draws) <= begun <= set(charges) and waits <= set(charges), (draws, begun, charges)
    assert not waits & set(draws), (waits, draws)
    ledger.close()
    return len(charges), len(waits), len(begun), len(draws)
"""
KILLS = """
shim = ctypes.CDLL(None)
def work():
    shim.SHIM(kills + 1)
    job()
kills = lost = 0
while True:
    os.path.exists(path) and os.unlink(path)
    fresh().close()
    open(drawn, "wb").close()
    status = os.waitpid(child(work), 0)[1]
    if status == 0:
        break
    assert status == signal.SIGKILL, status
    charges, waits, begun, draws = held()
    pid = child(job)  # the same command again
    assert os.waitpid(pid, 0)[1] == 0
    after, left, _, _ = held()
    assert left == 0 and QUESTIONS <= after <= QUESTIONS + 1, (after, charges, draws, waits)
    lost += after - QUESTIONS
    kills += STEP
print(kills, lost)
"""


@pytest.mark.parametrize(
    ("where", "questions", "step"),
    [
        ("shim_kill_at_call", 1, 7),
        pytest.param("shim_kill_at_call", 3, 1, marks=pytest.mark.slow),
        pytest.param("shim_kill_at_write", 3, 1, marks=pytest.mark.slow),
    ],
)
def test_death_at_every_call_of_a_job_that_goes_on(tmp_path, shim, where, questions, step):
    """At each write, sync and unlink of the three transactions of each question.

    Charged again is what was begun and is not on record: a sixth of all moments or so.
    """
    code = f"QUESTIONS, STEP = {questions}, {step}\n" + JOB + KILLS.replace("SHIM", where)
    kills, lost = map(int, script(tmp_path, code, LD_PRELOAD=shim).split())
    assert kills >= 20 * questions
    assert 0 < lost * step < kills / 2


RACES = """
def racing():
    ledger = open_ledger(path)
    for key in map(str, range(5)):
        n = ledger.reserve("data", key, "count()", "epsilon=0.1", PrivacyLoss.pure(F(1, 10)), PrivacyUnit(), waits=True)
        try:
            ledger.begin("data", n)
        except LedgerError:
            continue
        file = os.open(drawn, os.O_WRONLY | os.O_APPEND)
        os.write(file, b"%d\\n" % n)
        os.close(file)
    ledger.close()
pids = [child(racing) for _ in range(4)]
assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
charges, waits, begun, draws = held()
assert waits == 0 and charges == draws >= 5
print("done")
"""


def test_of_jobs_that_race_one_draws_for_each_charge(tmp_path):
    """No lock keeps them apart, as where the one beside the ledger fails."""
    assert script(tmp_path, "QUESTIONS = 0\n" + JOB + RACES) == "done"

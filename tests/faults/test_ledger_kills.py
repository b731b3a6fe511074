"""Kills of processes that charge: nothing is released that was not charged.

The invariant after every fault: released <= charged <= total, at most one charge without a release for each process
that was killed, and the ledger file is whole. Disks that fail, forks and races: the files beside this one.
"""

from __future__ import annotations

import os

import pytest
from support.fault_scripts import script

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


KILLS = """
total = 10**6
fresh().close()
def work():
    ledger = open_ledger(path)
    while True:
        ask(ledger)
        release()
for kill in range(KILLS):
    before = os.path.getsize(released)
    pid = child(work)
    while os.path.getsize(released) == before:
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.02))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if kill % EVERY == 0:
        check(kill + 1)
print(*check(KILLS))
"""


@pytest.mark.slow
def test_x1_kill_9_at_random_times(tmp_path):
    out, charged = map(int, script(tmp_path, KILLS.replace("KILLS", "100").replace("EVERY", "1")).split())
    assert 100 <= out <= charged <= out + 100


@pytest.mark.nightly
def test_x1_a_thousand_kills(tmp_path):
    out, charged = map(int, script(tmp_path, KILLS.replace("KILLS", "1000").replace("EVERY", "50")).split())
    assert 1000 <= out <= charged <= out + 1000


KILLS_AT = """
points = ["BEGIN", "SELECT", "INSERT", "UPDATE", "COMMIT", "charged", "released", "recorded"]
fresh().close()
kills = 0
for point in points * 3:
    def work():
        ledger = open_ledger(path)
        ask(ledger)
        release()
        def trace(text):
            if text.startswith(point):
                os.kill(os.getpid(), signal.SIGKILL)
        ledger._store._connection.set_trace_callback(trace)  # called before each statement
        sequence = ask(ledger)
        trace("charged")
        release()
        trace("released")
        ledger._store._connection.set_trace_callback(None)
        ledger.record("data", sequence, "[1]", "said")
        trace("recorded")
    pid = child(work)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL, point
    kills += point == "charged"  # the only point between a charge and its release
    check(kills)
out, charged = check(kills)
print(out, charged, kills)
"""


def test_x1_kill_9_at_each_named_point(tmp_path):
    assert script(tmp_path, KILLS_AT) == "30 33 3"


TORN_AT_BIRTH = """
shim = ctypes.CDLL(None)
kills = whole = 0
def work():
    shim.shim_kill_at_write(kills + 1)
    fresh()
    os._exit(0)
while True:
    status = os.waitpid(child(work), 0)[1]
    if status == 0:
        break
    assert status == signal.SIGKILL, status
    kills += 1
    if os.path.exists(path):  # complete, or it would not have its name
        whole += 1
        ledger = open_ledger(path)
        ledger.verify()
        assert list(ledger.heads()) in ([], ["data"])
        ledger.close()
        os.unlink(path)
print(kills, whole)
"""


def test_x23_death_in_the_middle_of_every_write_of_a_new_ledger(tmp_path, shim):
    """There is one schema, so nothing migrates; what could be half done is the making of a file."""
    kills, whole = map(int, script(tmp_path, TORN_AT_BIRTH, LD_PRELOAD=shim).split())
    assert kills >= 5
    assert 0 < whole < kills


TORN = """
shim = ctypes.CDLL(None)
fresh().close()
kills = 0
def work():
    shim.shim_kill_at_write(kills + 1)
    ledger = open_ledger(path)
    for _ in range(3):
        ask(ledger)
        release()
    ledger.close()
while True:
    status = os.waitpid(child(work), 0)[1]
    if status == 0:
        break
    assert status == signal.SIGKILL, status
    kills += 1
    check(kills)
check(kills)
print(kills)
"""


@pytest.mark.slow
def test_x2_death_in_the_middle_of_every_write(tmp_path, shim):
    assert int(script(tmp_path, TORN, LD_PRELOAD=shim)) >= 20

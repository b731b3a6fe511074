"""Forks, races, stopped processes and interrupts: every process pays from the one budget, and nothing stays locked."""

from __future__ import annotations

import gc
import os
import random
import signal
import time
from fractions import Fraction as F

import pytest
from support.fault_scripts import script

from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import LedgerError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


FORK_MEMORY = """
ledger = open_ledger(None)
ledger.open("data", Budget.of(1), PrivacyUnit())
ask(ledger)
def refused(work):
    try:
        work()
    except ForkedSessionError as error:
        assert "ledger='visits.dpledger'" in str(error)
        return
    raise SystemExit("answered")
def work():
    refused(lambda: ask(ledger))
    refused(lambda: ledger.state("data"))
    refused(lambda: ledger.stored("data", "key"))
    refused(lambda: ledger.entries("data"))
    refused(lambda: open_ledger(None).open("data", Budget.of(1), PrivacyUnit()))  # no second memory either
stop = threading.Event()
def charge():
    while not stop.is_set():
        ledger.note("data", "note", "")
busy = threading.Thread(target=charge)
busy.start()
codes = [os.waitpid(child(work), 0)[1] for _ in range(20)]  # forked in the middle of other threads' charges
stop.set()
busy.join()
ask(ledger)
print(codes == [0] * 20, ledger.state("data").epsilon)
"""


def test_x8_a_memory_ledger_is_refused_in_a_fork(tmp_path):
    assert script(tmp_path, FORK_MEMORY) == "True 1/5"


FORK_FILE = """
total = 40
ledger = fresh()
parent = ledger._store._connection
def spend():
    while True:
        try:
            ask(ledger)
        except BudgetExceededError:
            return
        release()
def work():
    assert ledger._store._connection is None  # the parent's was closed before the fork
    spend()
    assert ledger._store._connection is not None
thread = threading.Thread(target=spend)
thread.start()
pids = [child(work) for _ in range(5)]
spend()
thread.join()
codes = [os.waitpid(pid, 0)[1] for pid in pids]
assert ledger._store._connection is not parent
print(codes == [0] * 5, *check(0))
"""


def test_x8_a_file_ledger_is_opened_again_on_each_side_of_a_fork(tmp_path):
    assert script(tmp_path, FORK_FILE) == "True 40 40"


FORK_UNSEEN = """
ledger = fresh()
ask(ledger)
pid = ctypes.PyDLL(None).fork()  # a fork behind the interpreter's back carries the connection over
if pid == 0:
    code = 1
    try:
        ask(ledger)
    except ForkedSessionError:
        code = 0
    finally:
        os._exit(code)
print(os.waitpid(pid, 0)[1], ask(ledger))
"""


def test_x8_a_fork_that_carried_the_connection_over_is_refused(tmp_path):
    assert script(tmp_path, FORK_UNSEEN) == "0 3"


RACE = """
path = {path!r}  # the file is created in the race, too
def work():
    ledger = open_ledger(path)
    ledger.open("data", Budget.of(F({total}, 10)), PrivacyUnit())
    count = 0
    for _ in range({tries}):
        try:
            ask(ledger)
        except BudgetExceededError:
            continue
        count += 1
    ledger.close()
    os.write(answers, b"%d " % count)
start, gun = os.pipe()
heard, answers = os.pipe()
def wait_and_work():
    os.close(gun)
    os.read(start, 1)  # returns when the last process has been started
    work()
pids = [child(wait_and_work) for _ in range({processes})]
os.close(gun)
assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * {processes}
print(os.read(heard, 1000).decode())
"""


@pytest.mark.parametrize(
    ("processes", "tries", "total"),
    [
        pytest.param(4, 100, 10, marks=pytest.mark.slow),
        pytest.param(2, 1000, 500, marks=pytest.mark.slow),
        pytest.param(2, 10_000, 5000, marks=pytest.mark.nightly),
    ],
)
def test_x5_x6_processes_get_exactly_what_the_budget_pays(tmp_path, processes, tries, total):
    path = tmp_path / "shared.dpledger"
    counts = script(tmp_path, RACE.format(path=str(path), processes=processes, tries=tries, total=total)).split()
    assert len(counts) == processes
    assert sum(map(int, counts)) == total
    assert os.listdir(tmp_path) == ["shared.dpledger"]
    ledger = open_ledger(path)
    ledger.verify()
    assert [e.kind for e in ledger.entries("data")] == ["open"] + ["query"] * total
    assert ledger.state("data").epsilon == F(total, 10)
    ledger.close()


STOPPED = """
store.BUSY_SECONDS = 0.3
ledger = open_ledger(path)
ledger.open("data", Budget.of(1, F(1, 10**6)), PrivacyUnit())
class Stopping:
    epsilon, delta = F(1, 10), F(0)
    def renyi(self, order):
        os.kill(os.getpid(), signal.SIGSTOP)
        return F(1, 100)
pid = child(lambda: ask(ledger, Stopping()))
os.waitpid(pid, os.WUNTRACED)  # stopped in the middle of its charge, holding the lock
start = time.monotonic()
try:
    ask(ledger)
except LedgerBusyError:
    waited = time.monotonic() - start
before = ledger.state("data").epsilon
os.kill(pid, signal.SIGCONT)
code = os.waitpid(pid, 0)[1]
ask(ledger)
print(0.2 < waited < 60, before, code, ledger.state("data").epsilon)
"""


def test_x16_a_stopped_process_that_holds_the_lock(tmp_path):
    assert script(tmp_path, STOPPED) == "True 0 0 1/5"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_x17_ctrl_c_at_any_time_frees_the_lock_and_keeps_the_invariant(tmp_path, kind):
    ledger = Ledger(None) if kind == "memory" else open_ledger(tmp_path / "interrupted.dpledger")
    ledger.open("data", Budget.of(10**5, F(1, 10**6)), PrivacyUnit())
    loss, choose, released, interrupts = PrivacyLoss.pure(F(1, 10)), random.Random(3), 0, 0

    def interrupt(signum, frame):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # an interrupt in a callback of the collector is lost
    try:
        end = time.monotonic() + 1.5
        while interrupts <= 20 or (time.monotonic() < end and released < 3000):  # a slow disk takes longer
            try:
                signal.setitimer(signal.ITIMER_REAL, choose.uniform(1e-5, 2e-3 if kind == "memory" else 2e-2))
                while True:
                    ledger.reserve("data", None, "q", "p", loss, PrivacyUnit())
                    released += 1
            except KeyboardInterrupt:
                interrupts += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        gc.enable()
    charged = sum(e.kind == "query" for e in ledger.entries("data"))
    assert released <= charged <= released + interrupts
    assert ledger.state("data").epsilon == F(charged, 10)
    ledger.reserve("data", None, "q", "p", loss, PrivacyUnit())
    ledger.verify()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.state("data")

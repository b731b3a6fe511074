"""Worker processes that join one budget by its ledger: pools of every kind get together what the budget pays."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import interpreter

TESTS = Path(__file__).parents[1]
WORKER = """
import multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
sys.path[:0] = {path!r}
import pandas_dp
from support.frames import people
LEDGER = {ledger!r}

def patient(call):
    "A call that finds the ledger's lock taken for half a minute, as on a busy machine, has charged nothing: it asks again."
    while True:
        try:
            return call()
        except pandas_dp.errors.LedgerBusyError:
            pass

def work(task):
    df, tries = task  # a copy of the owner's frame, with the mark of its session
    try:
        df.dp(epsilon=0.1).count()
        raise SystemExit("answered")
    except pandas_dp.PandasDPError:
        pass
    patient(lambda: df.dp.protect(session=pandas_dp.open_session(LEDGER, name="shared")))
    answers = []
    for _ in range(tries):
        try:
            answers.append(int(patient(lambda: df.dp(epsilon=0.1, fresh=True).sum("pay", bounds=(0, 10**15)))))
        except pandas_dp.BudgetExceededError:
            pass
    return os.getpid(), answers

def shared(df, method, workers, tries):
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["worker"])
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        return list(pool.map(work, [(df, tries // workers)] * workers))

if __name__ == "__main__":
    df = people()
    df.dp.protect(epsilon=1, name="shared", ledger=LEDGER, unit="pid", max_rows=4)
    method, workers, tries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    done = shared(df, method, workers, tries)
    answers = [answer for _, given in done for answer in given]
    session = pandas_dp.open_session(LEDGER, name="shared")
    session._ledger.verify()
    assert os.getpid() not in [pid for pid, _ in done]
    print(len(answers), len(set(answers)), session.spent, session.unit, len(session.releases))
"""
METHODS = [method for method in ("fork", "forkserver", "spawn") if method in multiprocessing.get_all_start_methods()]
EXACTLY_TEN = "10 10 epsilon=1 all rows of one 'pid' (uses at most 4 of them) 11"


@pytest.fixture
def worker(tmp_path):
    """A program whose main part starts workers, and its folder; the ledger's name is in it."""
    code = WORKER.format(path=[str(TESTS.parent), str(TESTS)], ledger=str(tmp_path / "shared.dpledger"))
    (tmp_path / "worker.py").write_text(code)

    def run(*arguments: object) -> str:
        command = [sys.executable, "worker.py", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=500)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    return run


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_x5_pools_that_join_by_open_session_get_exactly_ten_answers(worker, method):
    """Noise of scale 10**16: that two of ten answers agree has probability below 1e-14."""
    told = worker(method, 8 if method == "fork" else 3, 80)
    # a fork knows the session whose mark the pickled frame bears, and notes that each of the eight is vouched for
    assert told == (EXACTLY_TEN.removesuffix("11") + "19" if method == "fork" else EXACTLY_TEN)


@pytest.mark.nightly
@pytest.mark.parametrize("method", METHODS)
def test_x5_eight_workers_and_800_tries(worker, method):
    assert worker(method, 8, 800) == EXACTLY_TEN


THREADS = """
import asyncio, sys
from concurrent.futures import ThreadPoolExecutor
import pandas_dp
from support.frames import people
people().dp.protect(epsilon=2, ledger={ledger!r})
def attempt():
    df = people()  # each has a frame of its own on the one session
    df.dp.protect(session=pandas_dp.open_session({ledger!r}))
    try:
        df.dp(epsilon=0.1, fresh=True).count()
    except pandas_dp.BudgetExceededError:
        return 0
    return 1
sys.setswitchinterval(1e-6)
async def many():
    return sum(await asyncio.gather(*(asyncio.to_thread(attempt) for _ in range(15))))
with ThreadPoolExecutor(8) as pool:
    print(asyncio.run(many()), sum(pool.map(lambda _: attempt(), range(30))))
"""


def test_threads_and_coroutines_that_join_by_open_session(tmp_path):
    assert python(THREADS.format(ledger=str(tmp_path / "l.dpledger"))) == "15 5\n"


MEMORY = """
import multiprocessing
import pandas_dp
from support.frames import people
df = people()
session = df.dp.protect(epsilon=1)
def refused(error, call):
    try:
        call()
    except error as caught:
        return str(caught)
    raise SystemExit("answered")
def work(pipe):
    pipe.send(refused(pandas_dp.ForkedSessionError, lambda: df.dp(epsilon=0.1).count()))
    refused(pandas_dp.ForkedSessionError, lambda: people().dp.protect(session=session).spent)
    refused(pandas_dp.ForkedSessionError, lambda: people().dp.protect(epsilon=1))
    refused(TypeError, lambda: pandas_dp.open_session(None))
    pipe.send("all")
ours, theirs = multiprocessing.Pipe()
child = multiprocessing.get_context("fork").Process(target=work, args=(theirs,))
child.start()
assert "ledger='visits.dpledger'" in ours.recv()
print(ours.recv(), session.spent)
child.join()
print(refused(TypeError, lambda: multiprocessing.get_context("spawn").Process(target=print, args=(session,)).start()))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_x5_workers_on_a_memory_ledger_are_refused():
    all_, told = python(MEMORY).splitlines()
    assert all_ == "all epsilon=0"
    assert "pandas_dp.open_session(" in told


HELD = """
import os, signal, threading, time
import pandas_dp
from pandas_dp.session import alone
from support.frames import people
people().dp.protect(epsilon=1, ledger={ledger!r})
held, done = threading.Event(), threading.Event()
def hold():
    with alone.lock:
        held.set()
        done.wait()
threading.Thread(target=hold).start()
held.wait()
pid = os.fork()  # the child has the lock, but not the thread that would free it
if pid == 0:
    signal.alarm(20)
    df = people()
    df.dp.protect(session=pandas_dp.open_session({ledger!r}))
    df.dp(epsilon=0.1).count()
    os._exit(0)
print(os.waitpid(pid, 0)[1])
done.set()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_x8_a_fork_while_a_thread_opens_a_session_is_no_deadlock(tmp_path):
    assert python(HELD.format(ledger=str(tmp_path / "l.dpledger"))) == "0\n"


def python(code: str) -> str:
    done = interpreter.run(code)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

"""Scripts that fork, so that the package is imported once and the test process itself never forks."""

from __future__ import annotations

import os
import subprocess
import sys

from support import interpreter

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRELUDE = """
import ctypes, os, random, resource, signal, sys, tempfile, threading, time
sys.path.insert(0, {root!r})
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what runs in its background ignore Ctrl-C
from fractions import Fraction as F
from pandas_dp.core import database as store, files
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import BudgetExceededError, ForkedSessionError, LedgerBusyError, LedgerError

path, released = {path!r}, {path!r} + ".released"
total = 1000

def ask(ledger, loss=PrivacyLoss.pure(F(1, 10))):
    return ledger.reserve("data", None, "count()", "epsilon=0.1", loss, PrivacyUnit())

def fresh():
    ledger = open_ledger(path)
    ledger.open("data", Budget.of(F(total, 10)), PrivacyUnit())
    open(released, "wb").close()
    return ledger

def release():
    file = os.open(released, os.O_WRONLY | os.O_APPEND)
    os.write(file, b"x")
    os.close(file)

def child(work):
    pid = os.fork()
    if pid == 0:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with the process that started it, however that ends
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid

def check(kills):
    "The invariant; returns how many were released and charged."
    ledger = open_ledger(path)
    ledger.verify()
    entries = [e for e in ledger.entries("data") if e.kind == "query"]
    out, charged = os.path.getsize(released), len(entries)
    assert ledger.state("data").epsilon == F(charged, 10), "sums"
    assert [e.sequence for e in entries] == list(range(2, charged + 2)), "sequence"
    assert out <= charged <= total and charged - out <= kills, (out, charged, kills)
    return out, charged
"""


def script(tmp_path, code, timeout=300, **environment):
    """Run a script with the prelude, in a new interpreter if it needs an environment; return what it printed."""
    code = PRELUDE.format(root=ROOT, path=str(tmp_path / "visits.dpledger")) + code
    if environment:
        command, environment = [sys.executable, "-c", code], {**os.environ, **environment}
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    else:
        done = interpreter.run(code, timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()

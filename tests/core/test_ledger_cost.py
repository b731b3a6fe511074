"""A charge costs at the end of a long record what it cost at its beginning, in memory and in a file."""

from __future__ import annotations

import statistics
import time
from fractions import Fraction

import pytest
from support.ledgers import DELTA, UNIT, ask, unsynced

from pandas_dp.core import records
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger, open_ledger

BATCH, BATCHES = 25, 40
FACTOR = 1.2


def opened(place: str, path) -> Ledger:
    ledger = Ledger(None) if place == "memory" else open_ledger(path)
    ledger.open("data", Budget.of(10**6, DELTA), UNIT)
    return ledger


def batch(ledger: Ledger) -> float:
    """Processor time of some charges of this thread, the operating system's for them included."""
    start = time.thread_time()
    for _ in range(BATCH):
        ask(ledger, "0.1", key="key")
    return time.thread_time() - start


def growth(old: Ledger, new: Ledger) -> float:
    """Ratio of medians over batches, taken in turn so that both meet the same machine."""
    times: dict[Ledger, list[float]] = {old: [], new: []}
    for number in range(BATCHES):
        for ledger in (old, new) if number % 2 else (new, old):
            times[ledger].append(batch(ledger))
    return statistics.median(times[old]) / statistics.median(times[new])


@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize(
    "charges", [pytest.param(10_000, marks=pytest.mark.slow), pytest.param(100_000, marks=pytest.mark.nightly)]
)
def test_a_late_charge_costs_what_an_early_one_did(charges, place, tmp_path):
    """The last 1,000 of so many against the first 1,000 of another ledger; in a file each is on the disk when it returns.

    Eight such ratios lay between 0.94 and 1.04. One of three attempts suffices: a charge that grows fails them all.
    """
    old, new = (opened(place, tmp_path / f"{name}.dpledger") for name in ("old", "new"))
    unsynced(old)
    for _ in range(charges - BATCH * BATCHES):
        ask(old, "0.1", key="key")
    old._store._disconnect() if place == "file" else None  # the next charge connects anew, and is synced
    attempts = [growth(old, new)]
    while min(attempts) > FACTOR and len(attempts) < 3:
        attempts.append(growth(old, new))
    assert min(attempts) <= FACTOR
    assert old.state("data").epsilon == Fraction(charges + BATCH * BATCHES * (len(attempts) - 1), 10)
    for ledger in (old, new):
        ledger.close()


@pytest.mark.slow
def test_a_charge_that_counts_the_entries_is_found(tmp_path, monkeypatch):
    """Already after 4,000 charges."""
    append = records.append

    def counting(connection, *entry, **more):
        connection.execute("SELECT count(*) FROM entries WHERE length(query) > 0").fetchone()
        return append(connection, *entry, **more)

    old, new = (opened("memory", tmp_path) for _ in range(2))
    for _ in range(4000):
        ask(old, "0.1", key="key")
    monkeypatch.setattr(records, "append", counting)
    assert growth(old, new) > FACTOR

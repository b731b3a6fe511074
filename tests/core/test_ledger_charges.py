"""Charges of the ledger: exact sums, atomic under threads and interrupts; what they cost: test_ledger_cost."""

from __future__ import annotations

import random
import sys
import threading
from contextlib import suppress
from fractions import Fraction as F

import pytest
from support.ledgers import DELTA, ONE, UNIT, ask, pure, unsynced

from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import BudgetExceededError, LedgerError


def test_ten_tenths_fit_and_nothing_more_does(ledger):
    assert ledger.open("data", ONE, UNIT)
    assert [ask(ledger, "0.1") for _ in range(10)] == list(range(2, 12))
    assert ledger.state("data") == State(F(1), False, F(0), F(0))
    for epsilon in ("0.1", "1e-9", "1e-12"):
        with pytest.raises(BudgetExceededError, match="nothing fits any more"):
            ask(ledger, epsilon)
    assert ledger.state("data").epsilon == 1
    ledger.verify()


def test_a_tenth_and_a_fifth_fit_three_tenths(ledger):
    ledger.open("data", Budget.of(F("0.3")), UNIT)
    ask(ledger, "0.1")
    with pytest.raises(BudgetExceededError) as caught:
        ask(ledger, "0.200000000001")
    assert (caught.value.spent, caught.value.left) == ("epsilon=0.1", "epsilon=0.2")
    assert caught.value.asked == "epsilon=0.200000000001"
    ask(ledger, "0.2")
    assert ledger.state("data").epsilon == F("0.3")


def test_a_refusal_leaves_no_trace(tmp_path):
    ledger = open_ledger(tmp_path / "a.dpledger")
    ledger.open("data", Budget.of(3, DELTA), UNIT)
    ask(ledger, 2)
    before = (ledger.entries("data"), ledger.state("data"), (tmp_path / "a.dpledger").read_bytes())
    for loss in (pure(2), PrivacyLoss.gaussian(F(1)), pure("0.1") + PrivacyLoss((), DELTA)):
        with pytest.raises(BudgetExceededError):
            ledger.reserve("data", "key", "count()", "price", loss, UNIT)
    assert (ledger.entries("data"), ledger.state("data")) == before[:2]
    assert (tmp_path / "a.dpledger").read_bytes() == before[2]
    assert ledger.stored("data", "key") is None
    ledger.close()


@pytest.mark.slow
def test_ten_thousand_random_charges_sum_exactly():
    ledger, choose = Ledger(None), random.Random(11)
    budget = Budget.of(10**6, F(1, 2))
    ledger.open("data", budget, UNIT)
    rule, sums = filter_for(budget), [F(0), F(0), F(0)]
    for _ in range(10_000):
        epsilon = F(choose.randrange(1, 10**6), 10 ** choose.randrange(4, 13))
        loss = pure(epsilon) + PrivacyLoss((), F(choose.randrange(10**3), 10**12))
        ledger.reserve("data", None, "q", "p", loss, UNIT)
        sums = [a + b for a, b in zip(sums, (epsilon, rule.charge(loss).renyi, loss.delta), strict=True)]
    assert ledger.state("data") == State(sums[0], False, sums[1], sums[2])
    ledger.verify()
    ledger.close()


@pytest.mark.parametrize("charges", [10_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_l7_tiny_charges_sum_exactly(charges):
    """As floats, 100,000 times 1e-5 is 0.9999999999980838."""
    ledger, tiny = Ledger(None), pure(F(1, charges))
    ledger.open("data", ONE, UNIT)
    for _ in range(charges):
        ledger.reserve("data", None, "q", "p", tiny, UNIT)
    assert ledger.state("data") == State(F(1), False, F(0), F(0))
    assert ledger.state("data").epsilon == sum([F(1, charges)] * charges)
    with pytest.raises(BudgetExceededError):
        ledger.reserve("data", None, "q", "p", pure("1e-12"), UNIT)
    ledger.verify()
    ledger.close()


def test_budgets_of_one_ledger_are_separate(ledger):
    ledger.open("a", ONE, UNIT)
    ledger.open("b", Budget.of(2, DELTA), PrivacyUnit())
    ask(ledger, 1, "a")
    ask(ledger, "0.5", "b", key="k", unit=PrivacyUnit())
    with pytest.raises(BudgetExceededError):
        ask(ledger, "0.1", "a")
    assert ledger.state("b").epsilon == F("0.5")
    assert ledger.budget("a") == (ONE, UNIT)
    assert ledger.budget("b") == (Budget.of(2, DELTA), PrivacyUnit())
    assert ledger.budget("c") is None
    with pytest.raises(LedgerError, match="no budget named 'c'"):
        ask(ledger, "0.1", "c")
    ledger.record("b", 2, "[1]")
    assert ledger.stored("b", "k") == (2, "[1]")
    assert ledger.stored("a", "k") is None
    ledger.verify()


def rounds_of_64_threads(make, rounds):
    """How many of 64 threads that start together were admitted, each asking for a tenth; by round."""
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    counts = []
    try:
        for _ in range(rounds):
            ledger, barrier, won = make(), threading.Barrier(64), []
            ledger.open("data", ONE, UNIT)

            def work(ledger=ledger, barrier=barrier, won=won):
                barrier.wait()
                with suppress(BudgetExceededError):
                    won.append(ask(ledger, "0.1"))

            threads = [threading.Thread(target=work) for _ in range(64)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(won) == list(range(2, 2 + len(won)))  # none lost, none twice
            assert ledger.state("data").epsilon == F(len(won), 10)
            ledger.verify()
            ledger.close()
            counts.append(len(won))
    finally:
        sys.setswitchinterval(switch)
    return counts


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=pytest.mark.nightly)])
def test_64_threads_get_exactly_ten_answers(rounds):
    assert rounds_of_64_threads(lambda: Ledger(None), rounds) == [10] * rounds


def test_64_threads_on_a_file_get_exactly_ten_answers(tmp_path):
    assert rounds_of_64_threads(lambda: open_ledger(tmp_path / "threads.dpledger"), 1) == [10]


def test_a_charge_reads_by_key_only_however_long_the_record(ledger):
    """O(1): the same statements after 10 and after 1,000 entries, and none of them scans a table."""
    ledger.open("data", Budget.of(1000, DELTA), UNIT)
    seen = []

    def statements():
        seen.clear()
        ledger._store._connection.set_trace_callback(seen.append)
        ask(ledger, "0.1", key="key")
        ledger.stored("data", "key")
        ledger._store._connection.set_trace_callback(None)
        return [text.split()[0] for text in seen], list(seen)

    unsynced(ledger)
    for _ in range(10):
        ask(ledger, "0.001")
    first, _ = statements()
    for _ in range(1000):
        ask(ledger, "0.001", key="other")
    later, texts = statements()
    assert first == later
    for text in texts:
        if text.split()[0] in ("SELECT", "UPDATE"):
            plan = [row[3] for row in ledger._store._connection.execute("EXPLAIN QUERY PLAN " + text)]
            assert plan
            assert not any("SCAN" in step and step != "SCAN CONSTANT ROW" for step in plan), plan  # of no table
    assert len(ledger.state("data").to_text()) < 200


class Meddling:
    """A loss whose computation does something in the middle of the charge."""

    def __init__(self, act):
        self.act, self.epsilon, self.delta = act, F(1, 10), F(0)

    def renyi(self, order):
        self.act()
        return F(1, 100)


def test_a_charge_inside_a_charge_is_refused_and_disturbs_nothing(ledger):
    ledger.open("data", Budget.of(1, DELTA), UNIT)
    caught = []

    def act():
        with pytest.raises(LedgerError, match="middle of another charge") as error:
            ask(ledger, "0.1")
        caught.append(error)

    ledger.reserve("data", None, "q", "p", Meddling(act), UNIT)
    assert caught
    assert ledger.state("data").epsilon == F(1, 10)
    ledger.verify()


def test_an_interrupt_rolls_back_and_frees_the_lock(ledger):
    ledger.open("data", Budget.of(1, DELTA), UNIT)

    def act():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.reserve("data", None, "q", "p", Meddling(act), UNIT)
    assert not ledger._store._connection.in_transaction  # at once: other processes wait for this lock
    assert ledger.state("data") == State.zero()
    thread = threading.Thread(target=ask, args=(ledger, "0.1"))
    thread.start()
    thread.join(300)
    assert ledger.state("data").epsilon == F(1, 10)
    ledger.verify()

"""The ledger: exact sums, atomic charges, terms that stay, files it refuses. Crashes and forks: tests/faults."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import statistics
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction as F

import pytest

from pandas_dp.core import records, store
from pandas_dp.core.filters import Budget, State, filter_for, renyi_limit
from pandas_dp.core.ledger import Ledger, open_ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, BudgetExceededError, LedgerBusyError, LedgerError

DELTA = F(1, 10**6)
UNIT = PrivacyUnit("patient_id", 10, 2, 8)
ONE = Budget.of(1)


def pure(epsilon):
    return PrivacyLoss.pure(F(epsilon))


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    opened = Ledger(None) if request.param == "memory" else open_ledger(tmp_path / "visits.dpledger")
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path):
    """A ledger file in a folder of its own, with one tenth spent of the budget "data"; closed."""
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "visits.dpledger"
    ledger = open_ledger(path)
    ledger.open("data", ONE, UNIT)
    ask(ledger, "0.1")
    ledger.close()
    return path


def ask(ledger, epsilon, name="data", key=None, unit=UNIT):
    return ledger.reserve(name, key, "count()", f"epsilon={epsilon}", pure(epsilon), unit)


# -- charges ----------------------------------------------------------------------------------------------------


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
    before = (ledger.entries("data"), ledger.state("data"), (tmp_path / "a.dpledger-wal").read_bytes())
    for loss in (pure(2), PrivacyLoss.gaussian(F(1)), pure("0.1") + PrivacyLoss((), DELTA)):
        with pytest.raises(BudgetExceededError):
            ledger.reserve("data", "key", "count()", "price", loss, UNIT)
    assert (ledger.entries("data"), ledger.state("data")) == before[:2]
    assert (tmp_path / "a.dpledger-wal").read_bytes() == before[2]
    assert ledger.stored("data", "key") is None
    ledger.close()


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
    assert ledger.stored("b", "k") == "[1]"
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


@pytest.mark.parametrize("rounds", [3, pytest.param(20, marks=pytest.mark.slow)])
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
            assert not any("SCAN" in step for step in plan), plan
    assert len(ledger.state("data").to_text()) < 200


@pytest.mark.slow
def test_the_20000th_charge_costs_what_the_first_did():
    """The last 2,000 of 20,000 against the first 2,000 of another ledger, in turn; some 70 microseconds each."""
    old, new, times = Ledger(None), Ledger(None), {}
    for ledger in (old, new):
        ledger.open("data", Budget.of(10**4, DELTA), UNIT)
        times[ledger] = []
    for _ in range(18_000):
        ask(old, "0.1", key="key")
    for _ in range(2000):
        for ledger, spent in times.items():
            start = time.perf_counter()
            ask(ledger, "0.1", key="key")
            spent.append(time.perf_counter() - start)
    assert old.state("data").epsilon == 2000
    assert statistics.median(times[old]) <= 1.5 * statistics.median(times[new])
    old.close()
    new.close()


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
        with pytest.raises(LedgerError, match="middle of a charge") as error:
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
    thread.join(10)
    assert ledger.state("data").epsilon == F(1, 10)
    ledger.verify()


# -- terms ------------------------------------------------------------------------------------------------------


def test_joining_goes_on_with_what_is_spent(path):
    ledger = open_ledger(path)
    assert not ledger.open("data", ONE, UNIT)
    assert ledger.state("data").epsilon == F(1, 10)
    assert ledger.open("other", ONE, UNIT)
    ledger.close()


@pytest.mark.parametrize(
    ("budget", "unit", "said"),
    [
        (Budget.of(5, DELTA), UNIT, r"epsilon=3, not 5: to raise it .*\(epsilon=3, \.\.\.\)\.extend\(to=5, reason="),
        (Budget.of(5, 2 * DELTA), UNIT, r"\.extend\(to=5, to_delta=0\.000002, reason="),
        (Budget.of(2, DELTA), UNIT, r"epsilon=3, not 2: a total can only be raised\. Type epsilon=3"),
        (Budget.of(3), UNIT, r"delta=0\.000001, not 0: a total can only be raised\. Type epsilon=3, delta=0\.000001"),
        (
            Budget.of(3, DELTA, DELTA / 2),
            UNIT,
            r"delta_reserved=0\.0000001, not 0\.0000005: .* Leave delta_reserved= out",
        ),
        (
            Budget.of(3, DELTA),
            PrivacyUnit("doctor_id", 10, 2, 8),
            "unit='patient_id', not 'doctor_id': of a used budget",
        ),
        (
            Budget.of(5, DELTA),
            PrivacyUnit("doctor_id", 10, 2, 8),
            "unit='patient_id', not 'doctor_id': of a used budget",
        ),
        (Budget.of(3, DELTA), PrivacyUnit("patient_id", 20, 2, 8), "max_rows=10, not 20"),
        (Budget.of(3, DELTA), PrivacyUnit("patient_id", 10, 3, 8), "max_groups=2, not 3"),
        (Budget.of(3, DELTA), PrivacyUnit("patient_id", 10, 2, 9), "max_rows_per_group=8, not 9"),
        (
            Budget.of(3, DELTA),
            PrivacyUnit("patient_id", 10, 2, 8, NeighboringRelation.REPLACE_ONE),
            "neighbors='add_remove', not 'replace_one'",
        ),
    ],
)
def test_other_terms_of_a_used_budget_are_refused_by_name(ledger, budget, unit, said):
    ledger.open("data", Budget.of(3, DELTA), UNIT)
    ask(ledger, "0.1")
    with pytest.raises(LedgerError, match=said) as caught:
        ledger.open("data", budget, unit)
    assert "name='...'" in str(caught.value)
    assert len(ledger.entries("data")) == 2


def test_a_file_opened_on_other_terms_is_left_untouched(path):
    before = (path.read_bytes(), path.stat().st_mtime_ns, os.listdir(path.parent))
    ledger = open_ledger(path)
    for budget, unit in ((Budget.of(2), UNIT), (Budget.of(1, DELTA), UNIT), (ONE, PrivacyUnit())):
        with pytest.raises(LedgerError, match="the budget 'data' has"):
            ledger.open("data", budget, unit)
    ledger.close()
    assert (path.read_bytes(), path.stat().st_mtime_ns, os.listdir(path.parent)) == before


def test_terms_on_which_nothing_was_asked_are_replaced_and_both_stay_on_record(ledger):
    assert ledger.open("data", Budget.of(3), PrivacyUnit())
    with pytest.raises(LedgerError):
        ledger.open("data", Budget.of(2, DELTA), UNIT)  # not by whoever opened it
    assert not ledger.open("data", Budget.of(2, DELTA), UNIT, mistaken=True)
    assert ledger.budget("data") == (Budget.of(2, DELTA), UNIT)
    assert ledger.rule("data").order == filter_for(Budget.of(2, DELTA)).order
    assert not ledger.open("data", Budget.of(2, DELTA), UNIT)  # the same again writes nothing
    first, second = ledger.entries("data")
    assert (first.kind, second.kind) == ("open", "open")
    assert first.query.startswith("unit=None, max_rows=1,")
    assert first.price == "epsilon=3, delta=0, delta_reserved=0, accountant='pure'"
    assert second.query.startswith("unit='patient_id', max_rows=10,")
    assert second.price.startswith("epsilon=2, delta=0.000001,")
    ask(ledger, "0.1")
    with pytest.raises(LedgerError, match="unit='patient_id', not None"):
        ledger.open("data", Budget.of(3), PrivacyUnit())
    ledger.verify()


@pytest.mark.parametrize("use", ["charge", "nothing", "note"])
def test_whatever_was_asked_or_noted_fixes_the_unit(ledger, use):
    """An answer for nothing, such as a public number of rows, was promised a unit, too."""
    ledger.open("data", ONE, UNIT)
    if use == "note":
        ledger.note("data", "adopt", "by hand")
    else:
        ledger.reserve("data", None, "q", "p", pure("0.1") if use == "charge" else PrivacyLoss(), UNIT)
    with pytest.raises(LedgerError, match="used budget"):
        ledger.open("data", ONE, PrivacyUnit())
    with pytest.raises(LedgerError, match="only be raised"):
        ledger.open("data", Budget.of(F("0.5")), UNIT)


def test_a_refused_charge_is_no_use(ledger):
    ledger.open("data", ONE, UNIT)
    with pytest.raises(BudgetExceededError):
        ask(ledger, 2)
    ledger.open("data", Budget.of(2), PrivacyUnit(), mistaken=True)
    assert ledger.budget("data") == (Budget.of(2), PrivacyUnit())


def test_a_charge_for_another_unit_than_the_one_on_record_is_refused(ledger):
    """Another process, or another thread, may have replaced it between the question and the charge."""
    ledger.open("data", ONE, PrivacyUnit())
    ledger.open("data", ONE, UNIT, mistaken=True)
    with pytest.raises(LedgerError, match="replaced: protect the frame again"):
        ledger.reserve("data", None, "q", "p", pure("0.1"), PrivacyUnit())
    assert ledger.state("data") == State.zero()
    ask(ledger, "0.1")


def test_an_extended_budget_is_joined_on_the_terms_it_had(ledger):
    ledger.open("data", Budget.of(9), PrivacyUnit())
    ledger.open("data", ONE, UNIT, mistaken=True)
    ask(ledger, "0.1")
    ledger.amend("data", Budget.of(2), UNIT, "extend: one")
    ledger.amend("data", Budget.of(3, DELTA), UNIT, "extend: two")
    for budget in (ONE, Budget.of(2), Budget.of(3, DELTA)):
        assert not ledger.open("data", budget, UNIT)
        with pytest.raises(LedgerError, match="used budget"):
            ledger.open("data", budget, PrivacyUnit())
    for budget in (Budget.of(9), Budget.of(F("0.5")), Budget.of(2, DELTA)):  # replaced before, or never had
        with pytest.raises(LedgerError):
            ledger.open("data", budget, UNIT)
    assert ledger.budget("data")[0] == Budget.of(3, DELTA)
    assert len(ledger.entries("data")) == 5


def test_a_takeover_replaces_the_total_of_a_used_budget_and_not_its_unit(ledger):
    ledger.open("data", Budget.of(5), UNIT)
    ask(ledger, 1)
    with pytest.raises(LedgerError, match="unit"):
        ledger.open("data", Budget.of(2), PrivacyUnit(), implicit=True)
    with pytest.raises(LedgerError, match="more is spent"):
        ledger.open("data", Budget.of(F("0.5")), UNIT, implicit=True)
    assert not ledger.open("data", Budget.of(2), UNIT, implicit=True)
    assert ledger.state("data").epsilon == 1
    with pytest.raises(LedgerError, match=r"\.extend\(to=5"):  # the total before was nobody's word
        ledger.open("data", Budget.of(5), UNIT)


def test_a_total_is_raised_on_record(ledger):
    ledger.open("data", ONE, UNIT)
    ask(ledger, 1)
    ledger.amend("data", Budget.of(2), UNIT, "extend: second wave")
    ask(ledger, 1)
    with pytest.raises(BudgetExceededError):
        ask(ledger, "0.1")
    assert ledger.budget("data") == (Budget.of(2), UNIT)
    entry = ledger.entries("data")[2]
    assert (entry.kind, entry.query, entry.charge) == ("amend", "extend: second wave", None)
    assert "epsilon=2" in entry.price
    ledger.verify()


def test_a_total_may_fall_to_what_is_spent_and_no_further(ledger):
    ledger.open("data", ONE, UNIT)
    ask(ledger, "0.5")
    ledger.amend("data", Budget.of(F("0.5")), UNIT, "less")
    before = ledger.entries("data")
    with pytest.raises(LedgerError, match=r"more is spent than the new total: epsilon=0\.5"):
        ledger.amend("data", Budget.of(F("0.4")), UNIT, "too little")
    with pytest.raises(LedgerError, match="unit='patient_id', not None"):
        ledger.amend("data", ONE, PrivacyUnit(), "another unit")
    assert ledger.entries("data") == before
    assert ledger.budget("data")[0] == Budget.of(F("0.5"))


def test_a_pure_budget_that_becomes_hybrid_counts_its_past_divergences(ledger):
    """The takeover of a session with delta=0 by one with delta > 0 must not forget what was answered before."""
    ledger.open("data", ONE, UNIT)
    ask(ledger, "0.5")
    ask(ledger, "0.25")
    hybrid = Budget.of(3, DELTA)
    ledger.amend("data", hybrid, UNIT, "takeover")
    rule = ledger.rule("data")
    charges = [rule.charge(pure("0.5")), rule.charge(pure("0.25"))]
    assert ledger.state("data") == State.zero().plus(charges[0]).plus(charges[1])
    rho = rule.limit / rule.order
    with pytest.raises(BudgetExceededError, match="Renyi"):  # all of it is no longer there
        ledger.reserve("data", None, "q", "p", PrivacyLoss.gaussian(rho), UNIT)
    rest = (rule.limit - charges[0].renyi - charges[1].renyi) / rule.order
    ledger.reserve("data", None, "q", "p", PrivacyLoss.gaussian(rest), UNIT)
    with pytest.raises(
        LedgerError, match=r"epsilon=0\.75 beside Gaussian noise"
    ):  # and Gaussian noise has no price in epsilon
        ledger.amend("data", Budget.of(100), UNIT, "back")
    ledger.verify()


def test_a_takeover_trusts_no_damaged_entry(ledger):
    ledger.open("data", ONE, UNIT)
    ask(ledger, "0.5")
    ledger._store._connection.execute("UPDATE entries SET charge = '1/1000 0 0' WHERE charge NOT NULL")
    with pytest.raises(LedgerError, match="damaged"):
        ledger.amend("data", Budget.of(3, DELTA), UNIT, "takeover")
    assert ledger.budget("data")[0] == ONE


def test_the_order_stays_when_the_total_changes(ledger):
    ledger.open("data", Budget.of(1, DELTA), UNIT)
    order = ledger.rule("data").order
    ledger.reserve("data", None, "q", "p", PrivacyLoss.gaussian(F(1, 100)), UNIT)
    spent = ledger.state("data")
    ledger.amend("data", Budget.of(10, DELTA), UNIT, "extend")
    rule = ledger.rule("data")
    assert rule.order == order != filter_for(Budget.of(10, DELTA)).order
    assert rule.limit == renyi_limit(F(10), DELTA * F(9, 10), order)
    assert ledger.state("data") == spent


# -- the record -------------------------------------------------------------------------------------------------


def test_entries_say_what_happened(ledger):
    start = datetime.now(UTC).replace(microsecond=0)
    ledger.open("data", ONE, UNIT)
    sequence = ask(ledger, "0.1", key="k")
    ledger.note("data", "adopt", "joined by hand, row by row")
    ask(ledger, "0.2")
    ledger.record("data", sequence, "[42]")
    entries = ledger.entries("data")
    assert [(e.sequence, e.kind, e.query, e.price, e.recorded) for e in entries] == [
        (1, "open", records.words(UNIT), records.words(ONE), False),
        (2, "query", "count()", "epsilon=0.1", True),
        (3, "adopt", "joined by hand, row by row", "", False),
        (4, "query", "count()", "epsilon=0.2", False),
    ]
    assert [e.charge and e.charge.epsilon for e in entries] == [None, F("0.1"), None, F("0.2")]
    assert all(start <= e.time <= datetime.now(UTC) for e in entries)


def test_the_latest_recorded_result_is_served(ledger):
    ledger.open("data", ONE, UNIT)
    first, second = ask(ledger, "0.1", key="k"), ask(ledger, "0.1", key="k")
    assert ledger.stored("data", "k") is None  # charged, but the result was lost: charge again
    ledger.record("data", first, "one")
    assert ledger.stored("data", "k") == "one"
    ledger.record("data", second, "two")
    ledger.record("data", second, "three")
    assert ledger.stored("data", "k") == "two"
    assert ledger.stored("data", "l") is None
    ledger.record("data", 1, "an opening has no result")
    ledger.record("data", 99, "nor has what is not there")
    assert [e.recorded for e in ledger.entries("data")] == [False, True, True]


@pytest.mark.parametrize(
    "text",
    ["'; DROP TABLE entries; --", '"; drop table', "a\nb", "nul\0nul", "\udc80 alone", "e\u0301ö€😀", "x" * 2**20],
    ids=["quote", "semicolon", "newline", "nul", "surrogate", "unicode", "megabyte"],
)
def test_texts_are_data(ledger, text):
    assert ledger.open(text, ONE, PrivacyUnit(text, 1))
    assert not ledger.open(text, ONE, PrivacyUnit(text, 1))
    sequence = ledger.reserve(text, text, text, text, pure("0.1"), PrivacyUnit(text, 1))
    ledger.record(text, sequence, text)
    ledger.note(text, "adopt", text)
    assert ledger.stored(text, text) == text
    assert ledger.budget(text) == (ONE, PrivacyUnit(text, 1))
    assert ledger.state(text).epsilon == F("0.1")
    assert ledger.entries(text)[1].query == records.plain(text)
    with pytest.raises(BudgetExceededError):
        ledger.reserve(text, text, text, text, pure(1), PrivacyUnit(text, 1))
    ledger.verify()


def test_order_is_by_sequence_whatever_the_clock_says(ledger, monkeypatch):
    times = [datetime(year, 1, 1, tzinfo=UTC) for year in (2031, 1970, 2038, 2026, 1, 9999)]

    class Clock:
        @staticmethod
        def now(zone):
            return times.pop()

    monkeypatch.setattr(records, "datetime", Clock)
    ledger.open("data", Budget.of(F("0.5")), UNIT)
    for _ in range(5):
        ask(ledger, "0.1")
    assert [e.sequence for e in ledger.entries("data")] == [1, 2, 3, 4, 5, 6]
    assert [e.time.year for e in ledger.entries("data")] == [9999, 1, 2026, 2038, 1970, 2031]
    with pytest.raises(BudgetExceededError):
        ask(ledger, "0.1")
    ledger.verify()


# -- files ------------------------------------------------------------------------------------------------------


def snapshot(folder):
    """Names, sizes, times and contents of everything below a folder."""
    return {
        p: (p.lstat().st_mtime_ns, p.lstat().st_mode, p.read_bytes() if p.is_file() else None)
        for p in sorted(folder.rglob("*"))
    }


def test_a_new_file_is_the_owners_and_complete(tmp_path):
    ledger = open_ledger(tmp_path / "visits.dpledger")
    ledger.open("data", ONE, UNIT)
    assert {p.name for p in tmp_path.iterdir()} == {f"visits.dpledger{s}" for s in ("", "-wal", "-shm")}
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in tmp_path.iterdir())
    ledger.close()
    assert [p.name for p in tmp_path.iterdir()] == ["visits.dpledger"]


def test_the_canonical_path_decides(path, tmp_path, monkeypatch):
    monkeypatch.chdir(path.parent)
    (tmp_path / "link").symlink_to(path)
    ledger = open_ledger(path)
    for name in (str(path), "visits.dpledger", "./visits.dpledger", tmp_path / "link"):
        assert open_ledger(name) is ledger
    with pytest.raises(LedgerError, match="open already"):
        Ledger(path)
    os.link(path, tmp_path / "other name")  # as where upper and lower case are one
    with pytest.raises(LedgerError, match="open already"):
        open_ledger(tmp_path / "other name")
    (tmp_path / "other name").unlink()
    ledger.close()
    with pytest.raises(LedgerError, match="was closed"):
        ask(ledger, "0.1")
    again = open_ledger(path)
    assert again is not ledger
    assert again.state("data").epsilon == F(1, 10)
    again.close()


def test_a_process_has_one_ledger_in_memory():
    ledger = open_ledger(None)
    assert open_ledger() is ledger
    assert ledger.path is None
    other = Ledger(None)
    assert other is not ledger
    other.close()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no/such/dir/x", "does not exist"),
        ("folder", "names a folder"),
        ("", "name of a file"),
        (":memory:", "name of a file"),
        ("file:x?mode=ro", "name of a file"),
        ("FILE:x", "name of a file"),
        ("../x", "climb"),
        ("folder/../x", "climb"),
        ("a\0b", "name of a file"),
        ("folder/visits.dpledger/x", "does not exist"),
    ],
)
def test_names_that_cannot_be_a_ledger(path, tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    for opening in (open_ledger, Ledger):
        with pytest.raises(LedgerError, match=said):
            opening(name)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", [3, b"x", ["x"]])
def test_what_is_not_a_path(name):
    with pytest.raises(ArgumentTypeError, match=r"visits\.dpledger"):
        open_ledger(name)


def foreign_database(path):
    path.unlink()
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE budgets (id); CREATE TABLE entries (id)")
    connection.close()


def newer(path):
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={records.SCHEMA_VERSION + 1}")
    connection.close()


def rollback_mode(path):
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


FOREIGN = {
    "text": (lambda p: p.write_text("age,pay\n1,2\n" * 99), "not a ledger"),
    "empty": (lambda p: p.write_bytes(b""), "not a ledger"),
    "short": (lambda p: p.write_bytes(p.read_bytes()[:60]), "not a ledger"),
    "database": (foreign_database, "not a ledger"),
    "newer": (newer, "newer pandas_dp"),
    "rollback": (rollback_mode, "damaged"),
    "read-only": (lambda p: p.chmod(0o400), "read-only"),
    "hard link": (lambda p: os.link(p, p.parent / "second"), "second name"),
    "pipe": (lambda p: (p.unlink(), os.mkfifo(p)), "not an ordinary file"),
    "dangling": (lambda p: (p.unlink(), p.symlink_to(p.parent / "no" / "x")), "does not exist"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_that_are_not_our_ledger_are_left_untouched(path, tmp_path, kind):
    change, said = FOREIGN[kind]
    change(path)
    before = snapshot(tmp_path)
    with pytest.raises(LedgerError, match=said):
        open_ledger(path)
    assert snapshot(tmp_path) == before


def spent_in(path):
    """Join a ledger file and ask for a tenth; return what is spent then, or None when the ledger is refused."""
    ledger = None
    try:
        ledger = open_ledger(path)
        assert not ledger.open("data", ONE, UNIT)  # never a fresh budget
        ask(ledger, "0.1")
        return ledger.state("data").epsilon
    except LedgerError:
        return None
    finally:
        if ledger is not None:
            ledger.close()
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def test_a_truncated_ledger_is_refused(path):
    whole = path.read_bytes()
    for size in range(0, len(whole), 2048):
        path.write_bytes(whole[:size])
        spent = spent_in(path)
        assert spent in (None, F("0.2"))
        assert spent is None or size > len(whole) - 4096  # the last page may be empty, and none is missed then


def test_a_lock_held_elsewhere_is_reported_and_costs_nothing(path, monkeypatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.2)
    ledger = open_ledger(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusyError, match="nothing was charged"):
        ask(ledger, "0.1")
    assert ledger.state("data").epsilon == F("0.1")  # readers do not wait
    other.close()
    ask(ledger, "0.1")
    assert ledger.state("data").epsilon == F("0.2")
    ledger.close()


def test_a_lock_or_an_interrupt_while_connecting_is_no_reason_to_give_up(path, monkeypatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.1)
    ledger = open_ledger(path)
    ledger._store.die("the disk did not confirm a charge")
    other = sqlite3.connect(path, isolation_level=None)
    other.executescript("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
    for call in (lambda: open_ledger(path), lambda: ask(ledger, "0.1")):
        with pytest.raises(LedgerBusyError):
            call()
    other.close()

    def interrupt(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "_look", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, "0.1")
    ask(ledger, "0.1")
    assert ledger.state("data").epsilon == F("0.2")
    ledger.close()


# -- damage while it is open, and before --------------------------------------------------------------------------


def removed(path):
    path.unlink()


def replaced_by_a_copy(path):
    shutil.copy(path, f"{path}.copy")
    os.replace(f"{path}.copy", path)


def log_removed(path):
    os.unlink(f"{path}-wal")


@pytest.mark.parametrize("change", [removed, replaced_by_a_copy, log_removed])
def test_a_file_that_changes_under_us_is_refused_and_never_reset(path, change):
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    change(path)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"removed|replaced"):
            ask(ledger, "0.1")
    if change is removed:
        with pytest.raises(LedgerError, match="cannot be read"):
            open_ledger(path)
        assert not path.exists()
    else:  # opened again on purpose: the log, or what SQLite wrote back from it on closing, completes the file
        assert open_ledger(path) is ledger
        assert ledger.state("data").epsilon == F("0.2")
    ledger.close()


def test_an_older_copy_is_noticed_by_whoever_saw_the_newer(path, tmp_path):
    shutil.copy(path, tmp_path / "old")
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    shutil.copy(tmp_path / "old", tmp_path / "new")
    os.replace(tmp_path / "new", path)
    log_removed(path)
    with pytest.raises(LedgerError, match=r"replaced|removed"):
        ledger.state("data")
    ledger = open_ledger(path)  # opened again on purpose: the file is a sound ledger, but not the one we knew
    with pytest.raises(LedgerError, match="lost charges"):
        ask(ledger, "0.1")
    ledger.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE budgets SET state = '0 0 0 0'",
        "UPDATE budgets SET epsilon = '3'",
        "UPDATE budgets SET name = 'dat`'",
        "DELETE FROM budgets",
        "DELETE FROM entries WHERE sequence = 2",
        "UPDATE entries SET charge = '1/20 0 0' WHERE sequence = 2",
        "UPDATE entries SET price = 'epsilon=0' WHERE sequence = 2",
        "INSERT INTO entries SELECT 7, sequence, time, kind, query, price, charge, key, head FROM entries",
    ],
)
def test_damage_to_the_record_is_found(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    ledger = open_ledger(path)
    with pytest.raises(LedgerError, match="damaged"):
        ledger.verify()
    with pytest.raises(LedgerError, match="damaged"):
        ledger.open("new", ONE, UNIT)
    if "budgets" in statement:
        with pytest.raises(LedgerError, match="damaged"):
            ledger.open("data", ONE, UNIT)
    ledger.close()


def test_a_damaged_result_is_asked_again(path):
    ledger = open_ledger(path)
    ledger.record("data", ask(ledger, "0.1", key="k"), "[1]")
    for damaged in ("x'5b325d'", "x'5bff5d'", "'[1]'", "7"):
        ledger._store._connection.execute(f"UPDATE results SET result = {damaged}")
        assert ledger.stored("data", "k") is None
    ledger.close()


@pytest.mark.parametrize("damage", ["time = 'yesterday'", "time = x'00'", "charge = '1/0 0 0'", "charge = x'00'"])
def test_a_damaged_entry_is_not_shown(path, damage):
    ledger = open_ledger(path)
    ledger._store._connection.execute(f"UPDATE entries SET {damage}")
    with pytest.raises(LedgerError, match="damaged"):
        ledger.entries("data")
    ledger.close()


@pytest.mark.parametrize("word", [b"data", b"CREATE", b"budgets"])
def test_a_name_that_is_no_longer_found_is_not_a_new_budget(path, word):
    """In the table, in its index (where SQLite would simply miss the budget) and in the schema."""
    whole = path.read_bytes()
    places = [i for i in range(len(whole)) if whole.startswith(word, i)]
    assert len(places) >= 2
    for place in places:
        for bit in (1, 0x80):  # another letter, and no letter at all
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            assert spent_in(path) in (None, F("0.2"))


@pytest.mark.parametrize(
    "flips", [60, pytest.param(1000, marks=pytest.mark.slow), pytest.param(4096, marks=pytest.mark.nightly)]
)
def test_a_flipped_bit_never_lowers_what_is_spent(path, flips):
    """At sampled positions of the file: refused, or the sums are the true ones; never a fresh budget."""
    whole, choose = path.read_bytes(), random.Random(5)
    refused = 0
    for _ in range(flips):
        position = choose.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[position] ^= 1 << choose.randrange(8)
        path.write_bytes(damaged)
        spent = spent_in(path)
        assert spent in (None, F("0.2")), position
        refused += spent is None
    assert refused > 0

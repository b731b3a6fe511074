"""The record of a ledger: entries, stored results, any text, any clock."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction as F

import pytest
from support.ledgers import ONE, UNIT, ask, pure

from pandas_dp.core import records
from pandas_dp.core.budget import Budget
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import BudgetExceededError, LedgerError


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
    assert ledger.stored("data", "k") == (first, "one")
    ledger.record("data", second, "two")
    ledger.record("data", second, "three")
    assert ledger.stored("data", "k") == (second, "two")
    assert ledger.stored("data", "l") is None
    ledger.record("data", 1, "an opening has no result")
    ledger.record("data", 99, "nor has what is not there")
    assert [e.recorded for e in ledger.entries("data")] == [False, True, True]


def test_of_an_unknown_budget_nothing_is_stored_and_that_is_said(ledger):
    ledger.open("data", ONE, UNIT)
    sequence = ask(ledger, "0.1", key="k")
    for kept in (("[1]", None), (None, "told"), ("[1]", "told")):
        with pytest.raises(LedgerError, match="no budget named 'date'"):
            ledger.record("date", sequence, *kept)
    assert ledger.stored("data", "k") is None
    assert ledger.shown("data") == {}
    ledger.record("data", sequence, "[1]")


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
    assert ledger.stored(text, text) == (sequence, text)
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

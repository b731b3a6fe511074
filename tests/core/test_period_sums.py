"""Sums of periods: all of a question's pay or none does; a row that is lost or altered is damage, never a fresh period."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction as F

import pytest

from pandas_dp.books.amounts import state_of
from pandas_dp.core import period_sums, records
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyLoss, PrivacyUnit
from pandas_dp.errors import BudgetExceededError, LedgerError

DAYS = '["D","t","naive",null,[]]'
UNIT = PrivacyUnit("u", 2, 2, 2, NeighboringRelation.ADD_REMOVE, DAYS)


def ask(ledger, price, first, last=None, key=None, name="data", **options):
    loss = PrivacyLoss.pure(F(price))
    span = first, first if last is None else last
    return ledger.reserve(name, key, "count()", f"epsilon={price}", loss, UNIT, periods=span, **options)


def spent(ledger, name="data"):
    return {period: state.epsilon for period, state in ledger.periods(name)[1].items()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "nights.dpledger"


@pytest.fixture
def ledger(path):
    made = Ledger(path)
    made.open("data", Budget.of(1), UNIT)
    yield made
    made.close()


def test_each_period_has_a_total_of_its_own(ledger):
    for night in range(30):
        ask(ledger, "1", night)
    assert spent(ledger) == dict.fromkeys(range(30), 1)
    with pytest.raises(BudgetExceededError, match="0001-01-08 cannot pay this; other days have budgets of their own"):
        ask(ledger, "0.1", 7)
    ledger.verify()


def test_all_periods_of_a_question_pay_or_none_does(ledger):
    ask(ledger, "0.75", 4)
    before, entries = spent(ledger), len(ledger.entries("data"))
    with pytest.raises(BudgetExceededError) as refused:
        ask(ledger, "0.5", 0, 29)
    assert "0001-01-05 cannot pay" in str(refused.value)
    assert spent(ledger) == before
    assert len(ledger.entries("data")) == entries
    ask(ledger, "0.25", 0, 29)
    assert spent(ledger) == {**dict.fromkeys(range(30), F(1, 4)), 4: F(1)}
    assert ledger.entries("data")[-1].charge.periods == (0, 29)
    ledger.verify()


def test_the_poorest_periods_are_named(ledger):
    for night, price in enumerate(["0.9", "0.7", "0.8", "0.6", "0.95"]):
        ask(ledger, price, night)
    with pytest.raises(BudgetExceededError) as refused:
        ask(ledger, "0.5", 0, 9)
    assert refused.value.where.startswith("0001-01-05, 0001-01-01, 0001-01-03 and 2 more days cannot pay this")


@pytest.mark.parametrize(("first", "last"), [(5, 4), (0, period_sums.MOST)])
def test_no_period_and_too_many_are_refused(ledger, first, last):
    with pytest.raises(LedgerError):
        ask(ledger, "0.1", first, last)
    assert spent(ledger) == {}


def test_a_question_without_periods_is_refused(ledger):
    with pytest.raises(LedgerError, match="is asked about 1 to 10,000 periods"):
        ledger.reserve("data", None, "count()", "epsilon=0.1", PrivacyLoss.pure(F("0.1")), UNIT)
    ledger.open("whole", Budget.of(1), PrivacyUnit())
    loss = PrivacyLoss.pure(F("0.1"))
    with pytest.raises(LedgerError, match="is asked about 1 to 10,000 periods"):
        ledger.reserve("whole", None, "count()", "epsilon=0.1", loss, PrivacyUnit(), periods=(0, 0))


def damaged(path, change):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()


LOST = "DELETE FROM periods WHERE period = 3"
CHANGES = {
    "one is lost": LOST,
    "all are lost": "DELETE FROM periods",
    "sums are lower": "UPDATE periods SET state = replace(state, '1/2', '1/4') WHERE period = 3",
    "the seal is another": "UPDATE periods SET seal = 7 WHERE period = 3",
    "one moved": "UPDATE periods SET period = 77 WHERE period = 3",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_row_that_is_lost_or_altered_is_damage(path, change):
    with closing(Ledger(path)) as ledger:
        ledger.open("data", Budget.of(1), UNIT)
        ask(ledger, "0.5", 0, 9)
    damaged(path, change)
    with closing(Ledger(path)) as ledger:
        with pytest.raises(LedgerError, match="damaged"):
            ledger.verify()
        with pytest.raises(LedgerError, match="damaged"):
            ask(ledger, "0.5", 3)


def test_a_row_that_is_lost_is_no_fresh_period(path):
    """Its own night is the first to notice: without a look at the others it would be inserted anew."""
    with closing(Ledger(path)) as ledger:
        ledger.open("data", Budget.of(1), UNIT)
        ask(ledger, "1", 3)
        ask(ledger, "1", 4)
        ledger._store._connection.execute(LOST)  # after it was opened, when all rows were counted
        with pytest.raises(LedgerError, match="damaged"):
            ask(ledger, "1", 3)
    with closing(Ledger(path)) as ledger, pytest.raises(LedgerError, match="damaged"):
        ask(ledger, "1", 3)


def test_a_twin_that_trusts_what_is_there_is_found(path, monkeypatch):
    """Without the comparison before a row is added, a lost one would be a fresh period."""
    with closing(Ledger(path)) as ledger:
        ledger.open("data", Budget.of(1), UNIT)
        ask(ledger, "1", 3)
    damaged(path, LOST)
    monkeypatch.setattr(period_sums, "check", lambda *given: None)
    with closing(Ledger(path)) as ledger:
        ask(ledger, "1", 3)  # a second epsilon for the same day


def test_an_entry_that_is_altered_is_found_in_the_sums(path):
    with closing(Ledger(path)) as ledger:
        ledger.open("data", Budget.of(1), UNIT)
        ask(ledger, "0.5", 0, 1)
    damaged(path, "UPDATE entries SET charge = replace(charge, ' 0 1', ' 0 0') WHERE sequence = 2")
    with closing(Ledger(path)) as ledger, pytest.raises(LedgerError, match="damaged"):
        ledger.verify()


def test_files_without_periods_are_as_they_were(path):
    with closing(Ledger(path)) as ledger:
        ledger.open("whole", Budget.of(1), PrivacyUnit())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (records.SCHEMA_VERSION,)
        assert '"periods"' not in connection.execute("SELECT unit FROM budgets").fetchone()[0]
    with closing(Ledger(path)) as ledger:
        ledger.open("data", Budget.of(1), UNIT)
        ask(ledger, "1", 3)
    with closing(Ledger(path)) as ledger:
        assert ledger.budget("data") == (Budget.of(1), UNIT)
        assert spent(ledger) == {3: 1}
        ledger.verify()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (records.PERIODS_VERSION,)


def test_a_raise_is_for_every_period(ledger):
    ask(ledger, "1", 3)
    ledger.amend("data", Budget.of(F("1.5")), UNIT, "extend: more")
    ask(ledger, "0.5", 3)
    ask(ledger, "1.5", 4)
    with pytest.raises(LedgerError, match="more is spent than the new total"):
        ledger.amend("data", Budget.of(1), UNIT, "less")
    ledger.verify()


def test_what_a_period_is_cannot_be_amended(ledger):
    with pytest.raises(LedgerError):
        ledger.amend("data", Budget.of(2), replace(UNIT, periods='["W","t","naive",null,[]]'), "other days")
    with pytest.raises(LedgerError):
        ledger.amend("data", Budget.of(2), replace(UNIT, periods=None), "no days")


def test_a_delta_that_comes_later_counts_the_divergences_of_every_period(ledger):
    for price, first, last in (("0.5", 3, 3), ("0.25", 3, 9), ("0.125", 5, 5)):
        ask(ledger, price, first, last)
    ledger.amend("data", Budget.of(1, F("1e-6")), UNIT, "extend: a delta")
    rule, (start, states, sums) = ledger.rule("data"), ledger.periods("data")
    half, quarter, eighth = (rule.charge(PrivacyLoss.pure(F(1, n))).renyi for n in (2, 4, 8))
    found = {period: (state.epsilon, state.renyi) for period, state in states.items()}
    usual = dict.fromkeys(range(3, 10), (F(1, 4), quarter))
    assert found == {**usual, 3: (F(3, 4), half + quarter), 5: (F(3, 8), quarter + eighth)}
    assert (start.renyi, sums.widest, sums.many) == (0, 7, 7)
    ledger.verify()
    with pytest.raises(BudgetExceededError, match="0001-01-04 cannot pay"):
        ask(ledger, "0.75", 3)
    gaussian = PrivacyLoss.gaussian(F(1, 1000))
    ledger.reserve("data", None, "count()", "rho=0.001", gaussian, UNIT, periods=(5, 5))
    ledger.verify()


def test_a_delta_is_refused_where_a_period_spent_more_than_it_can_count(ledger):
    ask(ledger, "1", 3)
    with pytest.raises(LedgerError, match="more is spent than the new total"):
        ledger.amend("data", Budget.of(F("0.5"), F("1e-6")), UNIT, "extend: a delta")
    assert ledger.periods("data")[1][3].renyi == 0
    ledger.verify()


def test_a_delta_after_charges_that_name_no_period(ledger):
    ask(ledger, "0.5", 3)
    ledger.carry("data", "answers before", [PrivacyLoss.pure(F("0.25"))])
    ledger.amend("data", Budget.of(1, F("1e-6")), UNIT, "extend: a delta")
    rule, (start, states, _) = ledger.rule("data"), ledger.periods("data")
    half, quarter = (rule.charge(PrivacyLoss.pure(F(1, n))).renyi for n in (2, 4))
    assert (start.renyi, states[3].renyi) == (quarter, half + quarter)
    ask(ledger, "0.5", 4)
    ledger.verify()


def test_other_terms_before_the_first_question(ledger):
    ledger.open("data", Budget.of(2), replace(UNIT, periods=None), mistaken=True)
    ledger.open("data", Budget.of(1), UNIT, mistaken=True)
    ask(ledger, "1", 3)
    with pytest.raises(LedgerError, match="period"):
        ledger.open("data", Budget.of(1), replace(UNIT, periods='["W","t","naive",null,[]]'), mistaken=True)


def test_charges_that_name_no_period_count_in_each(ledger):
    ask(ledger, "0.5", 3)
    ledger.carry("data", "answers before", [PrivacyLoss.pure(F("0.25"))])
    assert ledger.periods("data")[0].epsilon == F(1, 4)
    assert spent(ledger) == {3: F(3, 4)}
    ask(ledger, "0.25", 3)
    for price, night in (("0.1", 3), ("0.8", 4)):
        with pytest.raises(BudgetExceededError):
            ask(ledger, price, night)
    ask(ledger, "0.75", 4)
    ledger.verify()


def test_what_none_exceeds(ledger):
    ask(ledger, "0.5", 3)
    ask(ledger, "0.75", 5)
    assert state_of(ledger, "data").epsilon == F(3, 4)
    assert state_of(ledger, "data", (3, 4)).epsilon == F(1, 2)


def test_a_plan_holds_for_each_period(path):
    budget = Budget.of(1, F("1e-6")).planned([(F("0.25"), 3)])
    with closing(Ledger(path)) as ledger:
        ledger.open("data", budget, UNIT)
        for night in range(3):
            for _ in range(3):
                ask(ledger, "0.25", night)
        with pytest.raises(BudgetExceededError):
            ask(ledger, "0.5", 0, 9)
        ledger.verify()
    with closing(Ledger(path)) as ledger:
        assert {state.planned for state in ledger.periods("data")[1].values()} == {(3,)}


def test_a_charge_that_is_made_once(ledger):
    assert ask(ledger, "0.5", 0, 3, key="part", once=True) == ask(ledger, "0.5", 0, 3, key="part", once=True)
    assert spent(ledger) == dict.fromkeys(range(4), F(1, 2))

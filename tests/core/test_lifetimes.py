"""A cap on what a unit that is in every period may spend: kept whoever asks, sealed, and never taken for more than it is."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction as F
from functools import cache

import pytest

from pandas_dp.core import period_sums
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentValueError, BudgetExceededError, LedgerError
from pandas_dp.session import ledger_files

UNIT = PrivacyUnit("u", 2, 2, 2, NeighboringRelation.ADD_REMOVE, '["D","t","naive",null,[]]')
CAPPED = replace(Budget.of(1), lifetime=F(5, 2))


def ask(ledger, price, first, last=None, loss=None):
    span = first, first if last is None else last
    loss = PrivacyLoss.pure(F(price)) if loss is None else loss
    return ledger.reserve("data", None, "count()", f"epsilon={price}", loss, UNIT, periods=span)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "nights.dpledger"


@pytest.fixture
def ledger(path):
    made = Ledger(path)
    made.open("data", CAPPED, UNIT)
    yield made
    made.close()


def person(ledger):
    return ledger.periods("data")[2].person


def test_each_question_adds_its_epsilon_once_for_each_of_its_periods(ledger):
    ask(ledger, "1", 3)
    ask(ledger, "0.25", 4, 7)
    assert person(ledger) == 2
    before = ledger.periods("data"), len(ledger.entries("data"))
    for price, first, last in (("0.3", 8, 9), ("0.75", 100, 100), ("0.001", 100, 999)):
        with pytest.raises(BudgetExceededError, match=r"not enough lifetime: spent epsilon=2; left epsilon=0\.5"):
            ask(ledger, price, first, last)
    assert (ledger.periods("data"), len(ledger.entries("data"))) == before
    ask(ledger, "0.25", 8, 9)
    with pytest.raises(BudgetExceededError, match="the lifetime is used up"):
        ask(ledger, "0.001", 50)
    ledger.verify()


def test_a_period_that_cannot_pay_is_named_before_the_lifetime(ledger):
    ask(ledger, "1", 3)
    with pytest.raises(BudgetExceededError, match="0001-01-04 cannot pay this"):
        ask(ledger, "1", 3, 9)


@pytest.mark.parametrize(
    "loss", [PrivacyLoss.gaussian(F(1, 100)), replace(PrivacyLoss.pure(F(1, 10)), delta=F(1, 10**9))]
)
def test_what_is_not_a_plain_epsilon_is_refused(path, loss):
    with closing(Ledger(path)) as ledger:
        ledger.open("data", replace(Budget.of(1, F("1e-6")), lifetime=F(5, 2)), UNIT)
        with pytest.raises(ArgumentValueError, match="a budget with a lifetime counts plain epsilons"):
            ask(ledger, "", 3, loss=loss)
        ask(ledger, "1", 3)
        assert person(ledger) == 1


def test_the_cap_is_on_record_and_stays(path):
    with closing(Ledger(path)) as ledger:
        ledger.open("data", CAPPED, UNIT)
        ask(ledger, "1", 3)
    with closing(Ledger(path)) as ledger:
        assert ledger.budget("data")[0] == CAPPED
        for other in (Budget.of(1), replace(CAPPED, lifetime=F(30))):
            with pytest.raises(LedgerError, match=r"lifetime=2\.5, not (None|30)"):
                ledger.open("data", other, UNIT)
            with pytest.raises(LedgerError, match="set before the first answer"):
                ledger.amend("data", other, UNIT, "extend: more")
        ledger.amend("data", replace(CAPPED, epsilon=F(2)), UNIT, "extend: more")
        ask(ledger, "1", 3)
        assert person(ledger) == 2
        ledger.verify()


def test_a_sum_that_is_altered_is_damage(path):
    with closing(Ledger(path)) as ledger:
        ledger.open("data", CAPPED, UNIT)
        ask(ledger, "0.5", 3, 6)
    with closing(sqlite3.connect(path)) as connection:
        (state,) = connection.execute("SELECT state FROM budgets").fetchone()
        assert state.endswith(" 2")
        connection.execute("UPDATE budgets SET state = ?", (state[:-1] + "0",))
        connection.commit()
    with pytest.raises(LedgerError, match="damaged"), closing(Ledger(path)) as ledger:
        ask(ledger, "0.5", 7)


def test_verify_adds_up_the_entries(ledger, monkeypatch):
    """A planted fault: the lifetime is charged once for two periods. The sums of the periods are right, and this is not."""
    monkeypatch.setattr(period_sums, "capped", lambda cap, start, person, charge: person + charge.epsilon)
    ask(ledger, "0.5", 3, 4)
    monkeypatch.undo()
    assert person(ledger) == F(1, 2)
    with pytest.raises(LedgerError, match="damaged"):
        ledger.verify()


def test_an_older_copy_put_back_ends_the_lifetime(path, tmp_path):
    """What was answered since may have been about any number of days."""
    with closing(Ledger(path)) as ledger:
        ledger.open("data", CAPPED, UNIT)
        ask(ledger, "0.5", 3)
        ledger_files.backup(ledger, str(tmp_path / "copy.dpledger"))
    with closing(Ledger(tmp_path / "copy.dpledger")) as ledger:
        ledger_files.restore(ledger, PrivacyLoss.pure(F("0.25")), "epsilon=0.25")
        with pytest.raises(BudgetExceededError, match="used up, as an older copy of the ledger was put back"):
            ask(ledger, "0.1", 99)
        ledger.verify()


SPANS = ((0, 0), (1, 1), (0, 1))


def excess(lifetime, prices, rounds, once=False):
    """The most that any strategy over two periods gains on a unit in both, above exp of its lifetime.

    To a unit that is in k periods of a question its answer is at most a randomised response of k times the epsilon.
    """
    rule, limit = filter_for(replace(Budget.of(1), lifetime=lifetime)), math.exp(float(lifetime))

    @cache
    def paid(states, spent, span, price):
        charge = replace(rule.charge(PrivacyLoss.pure(price)), periods=span)
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(period_sums.TABLE)
            sums = period_sums._write(connection, 1, period_sums.Sums(), {}, dict(enumerate(states)))
            row = sums._replace(person=spent).behind(State.zero().to_text())
            made = period_sums.pay(connection, 1, row, rule, charge)
            if not isinstance(made, str):
                return None
            held = period_sums.read(connection, 1, made)
            return (held[0], held[1]), spent + price if once else period_sums.Sums.of(made).person

    @cache
    def best(states, spent, loss, left):
        ratio = math.exp(float(loss))
        found = max(ratio - limit, 0.0)
        for price in prices if left else ():
            for span in SPANS:
                made = paid(states, spent, span, price)
                if made is None:
                    continue
                step = price * (span[1] - span[0] + 1)
                likely = 1 / (1 + math.exp(float(step)))
                more, less = (best(*made, loss + sign * step, left - 1) for sign in (1, -1))
                found = max(found, likely * more + (1 - likely) * less)
        return found

    return best((State.zero(), State.zero()), F(0), F(0), rounds)


def test_no_strategy_gains_more_on_a_unit_than_its_lifetime():
    assert excess(F("1.25"), (F("0.25"), F("0.5")), 6) <= 1e-12


def test_a_lifetime_that_is_charged_once_for_two_periods_is_found():
    assert excess(F("1.25"), (F("0.25"), F("0.5")), 6, once=True) > 0.01

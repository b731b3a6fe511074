"""Terms of a budget on record: joined, replaced while unused, extended, taken over."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction as F

import pytest
from support.ledgers import DELTA, ONE, UNIT, ask, pure

from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for, renyi_limit
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyLoss, PrivacyUnit
from pandas_dp.errors import BudgetExceededError, LedgerError


def test_joining_goes_on_with_what_is_spent(path):
    ledger = open_ledger(path)
    assert not ledger.open("data", ONE, UNIT)
    assert ledger.state("data").epsilon == F(1, 10)
    assert ledger.open("other", ONE, UNIT)
    ledger.close()


@pytest.mark.parametrize(
    ("budget", "unit", "said"),
    [
        (Budget.of(5, DELTA), UNIT, r"epsilon=3, not 5: to raise it .*df\.dp\.session\.extend\(to=5, reason="),
        (Budget.of(5, 2 * DELTA), UNIT, r"\.extend\(to=5, to_delta=2e-6, reason="),
        (Budget.of(2, DELTA), UNIT, r"epsilon=3, not 2: a total can only be raised\."),
        (Budget.of(3), UNIT, r"delta=1e-6, not 0: a total can only be raised\."),
        (
            Budget.of(3, DELTA, DELTA / 2),
            UNIT,
            "delta_reserved=1e-7, not 5e-7: once something was asked, this cannot be changed",
        ),
        (
            Budget.of(3, DELTA),
            PrivacyUnit("doctor_id", 10, 2, 8),
            "unit='patient_id', not 'doctor_id': once something was asked",
        ),
        (
            Budget.of(5),
            PrivacyUnit("doctor_id", 20, 2, 8),
            "unit='patient_id', not 'doctor_id', max_rows=10, not 20, epsilon=3, not 5, delta=1e-6, not 0: once something",
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
    assert "name='data_2'" in str(caught.value)
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
    assert second.price.startswith("epsilon=2, delta=1e-6,")
    ask(ledger, "0.1")
    with pytest.raises(LedgerError, match="unit='patient_id', not None"):
        ledger.open("data", Budget.of(3), PrivacyUnit())
    ledger.verify()


@pytest.mark.parametrize("use", ["charge", "nothing", "note"])
def test_whatever_was_asked_or_noted_fixes_the_unit(ledger, use):
    """An answer for free, such as a public number of rows, was promised a unit, too."""
    ledger.open("data", ONE, UNIT)
    if use == "note":
        ledger.note("data", "adopt", "by hand")
    else:
        ledger.reserve("data", None, "q", "p", pure("0.1") if use == "charge" else PrivacyLoss(), UNIT)
    with pytest.raises(LedgerError, match="once something was asked"):
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
        with pytest.raises(LedgerError, match="once something was asked"):
            ledger.open("data", budget, PrivacyUnit())
    for budget in (Budget.of(9), Budget.of(F("0.5")), Budget.of(2, DELTA)):  # replaced before, or never had
        with pytest.raises(LedgerError):
            ledger.open("data", budget, UNIT)
    assert ledger.budget("data")[0] == Budget.of(3, DELTA)
    assert len(ledger.entries("data")) == 5


def test_what_was_answered_elsewhere_is_charged_beyond_the_total(ledger):
    ledger.open("data", Budget.of(5), UNIT)
    ledger.carry("data", "asked before", [PrivacyLoss.pure(F(3)), PrivacyLoss.pure(F("2.5"))])
    assert ledger.state("data").epsilon == F("5.5")
    with pytest.raises(BudgetExceededError):
        ask(ledger, F("0.1"))
    for budget in (Budget.of(6), Budget.of(5, DELTA)):
        with pytest.raises(LedgerError):
            ledger.open("data", budget, UNIT, mistaken=True)  # something was asked on these terms
    ledger.verify()
    ledger.amend("data", Budget.of(6), UNIT, "as much as was answered")
    ask(ledger, F("0.5"))


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
    with pytest.raises(LedgerError, match=r"more is spent than the new total, see session.spent"):
        ledger.amend("data", Budget.of(F("0.4")), UNIT, "too little")
    with pytest.raises(LedgerError, match="unit='patient_id', not None"):
        ledger.amend("data", ONE, PrivacyUnit(), "another unit")
    with pytest.raises(LedgerError, match="neighbors='add_remove', not 'replace_one'"):
        ledger.amend("data", ONE, replace(UNIT, relation=NeighboringRelation.REPLACE_ONE), "another relation")
    assert ledger.entries("data") == before
    assert ledger.budget("data")[0] == Budget.of(F("0.5"))


def test_another_bound_on_the_rows_of_a_unit_is_put_on_record(ledger):
    """Who still has the one before is told so, not answered."""
    ledger.open("data", ONE, UNIT)
    ask(ledger, "0.5")
    more = replace(UNIT, rows=UNIT.rows + 1)
    ledger.amend("data", ONE, more, "max_rows found")
    assert ledger.budget("data") == (ONE, more)
    with pytest.raises(LedgerError, match="terms of this budget were replaced"):
        ask(ledger, "0.1")
    ledger.reserve("data", None, "q", "p", pure("0.5"), more)
    with pytest.raises(BudgetExceededError):
        ledger.reserve("data", None, "q", "p", pure("0.1"), more)
    ledger.verify()


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
    with pytest.raises(LedgerError, match="more is spent than the new total"):  # Gaussian noise has no price in epsilon
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

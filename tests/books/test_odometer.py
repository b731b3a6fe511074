"""Amounts spent and left: never above the total, rounded against the reader, and with a promise in words."""

from __future__ import annotations

import copy
import math
import pickle
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from fractions import Fraction as F
from types import SimpleNamespace

import pandas as pd
import pytest

import pandas_dp  # noqa: F401
from pandas_dp.accounting import group_privacy
from pandas_dp.books import budget_words, odometer
from pandas_dp.books.odometer import group_text, left_text, more_calls, raised
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import best_order, filter_for, renyi_limit
from pandas_dp.core.mechanisms.gaussian import gaussian_delta
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentValueError
from pandas_dp.release.text import COUNTED
from tests.support.frames import fresh

DELTA = Fraction(1, 10**6)
ROW = PrivacyUnit()


def spend(rule, loss, most=10**4):
    """Every state from nothing spent to the last that the filter admits."""
    state = State.zero()
    for _ in range(most):
        yield state
        after = rule.admit(state, rule.charge(loss))
        if after is None:
            return
        state = after


@pytest.mark.one_in(4)
@pytest.mark.parametrize("accountant", ["hybrid", "rdp", "zcdp", "gdp", "pure"])
@pytest.mark.parametrize("total", [Fraction(1, 10), Fraction(3)])
@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1, 3)])
def test_amounts_rise_to_the_total_and_never_above(accountant, total, share):
    rule = filter_for(Budget.of(total, 0 if accountant == "pure" else DELTA, None, accountant))
    gaussian = accountant == "gdp"
    loss = PrivacyLoss.gaussian(rule.limit * share / 20) if gaussian else PrivacyLoss.pure(total * share / 10)
    before = Decimal(0)
    for state in spend(rule, loss):
        used, rest = odometer.spent(rule, state, ROW), odometer.left(rule, state, ROW, None)
        assert before <= used.epsilon <= total
        assert Fraction(used.epsilon) + Fraction(rest.epsilon) <= total
        assert total - Fraction(used.epsilon) - Fraction(rest.epsilon) <= Fraction(2, 10**12)
        assert 0 <= used.delta <= rule.budget.delta
        before = used.epsilon
    assert before > total * Fraction(4, 5)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("accountant", ["hybrid", "rdp", "zcdp"])
def test_the_epsilon_of_a_divergence_is_what_that_divergence_proves(accountant):
    """The limit of the shown epsilon, computed anew, covers the divergence: checked where the sum of epsilons is larger."""
    rule, checked = filter_for(Budget.of(3, DELTA, None, accountant)), 0
    slack = rule.budget.delta - rule.budget.delta_reserved
    for state in spend(rule, PrivacyLoss.pure(Fraction(1, 20))):
        epsilon = Fraction(odometer.spent(rule, state, ROW).epsilon)
        if epsilon < state.epsilon:
            if accountant == "zcdp":  # the divergence of every order a is at most a times the sum of the rhos
                orders = [1 + (best_order(epsilon, slack) - 1) * Fraction(n, 100) for n in range(50, 200)]
                assert any(renyi_limit(epsilon, slack, a) >= state.renyi * a for a in orders)
                assert not any(renyi_limit(epsilon * Fraction(99, 100), slack, a) >= state.renyi * a for a in orders)
            else:
                assert renyi_limit(epsilon, slack, rule.order) >= state.renyi
                assert renyi_limit(epsilon - Fraction(1, 10**9), slack, rule.order) < state.renyi
            checked += 1
    assert checked > 10


def test_the_epsilon_of_gaussian_noise_is_its_exact_curve():
    rule = filter_for(Budget.of(3, DELTA, None, "gdp"))
    for state in spend(rule, PrivacyLoss.gaussian(Fraction(1, 100))):
        epsilon, mu = float(odometer.spent(rule, state, ROW).epsilon), math.sqrt(state.renyi)
        if mu:
            assert gaussian_delta(epsilon, mu) <= 1e-6 < gaussian_delta(epsilon * (1 - 1e-4), mu)


def test_thirds_are_rounded_against_the_reader():
    rule = filter_for(Budget.of(1))
    state = State.zero().plus(rule.charge(PrivacyLoss.pure(Fraction(1, 3))))
    assert odometer.spent(rule, state, ROW).epsilon == Decimal("0.333333333334")
    assert odometer.left(rule, state, ROW, None).epsilon == Decimal("0.666666666666")


def test_a_session_says_what_it_promises_and_to_whom():
    df = pd.DataFrame({"who": [1, 2], "x": [1.0, 2.0]})
    session = df.dp.protect(3, 1e-6, unit="who", max_rows=2, neighbors="replace_one", name=fresh())
    promise = "all answers together: epsilon=3, delta=1e-6, for one unit of 'who' with other content"
    assert session.left.guarantee == promise + ", even if questions depend on earlier answers"
    assert session.spent.epsilon == session.spent.delta == 0
    df.dp(rho=0.001).count()
    assert 0.1 < session.spent.epsilon < 0.25  # of rhos alone the order that proves most is taken
    assert_one_number(session)
    assert session.spent.delta < Decimal("1e-6")
    assert session.spent.epsilon + session.left.epsilon <= 3  # what is left is counted at the order of the budget


def assert_one_number(session):
    told = session.spent.partition(";")[0]
    assert told + " of 3" in repr(session)
    assert told + " of 3" in session._repr_html_()
    assert f"{told}; counted" in session.report()
    line, _ = session.plot().get_lines()
    assert line.get_ydata()[-1] == pytest.approx(float(session.spent.epsilon))
    line = odometer.goes_on(session._ledger, session.name, session.unit)
    assert line.endswith(f"{told.removeprefix('epsilon=')} of 3 spent")


def test_an_amount_is_its_text_and_survives_copies():
    df = pd.DataFrame({"x": [1.0, 2.0]})
    spent = df.dp.protect(3, name=fresh()).spent
    for twin in (copy.deepcopy(spent), pickle.loads(pickle.dumps(spent))):
        assert twin == spent == "epsilon=0"
        assert (twin.epsilon, twin.delta, twin.guarantee) == (spent.epsilon, spent.delta, spent.guarantee)


def test_a_plan_spends_at_most_the_total():
    df = pd.DataFrame({"x": [1.0, 2.0]})
    session = df.dp.protect(3, 1e-6, plan={0.1: 46}, name=fresh())
    for i in range(46):
        df.dp(epsilon=0.1).histogram("x", bins=[0, i + 1])
    assert session.spent.epsilon == 3
    assert session.left.epsilon == session.left.delta == 0


# --- how much more it pays, and what groups are promised


DELTA = F(1, 10**6)
LOSSES = [
    PrivacyLoss.pure(F(1, 10)),
    PrivacyLoss.pure(F("0.7")),
    PrivacyLoss.pure(F(2)),
    PrivacyLoss.gaussian(F(1, 100)),
    PrivacyLoss.pure(F(1, 10)) + PrivacyLoss((), DELTA / 100),
]
BEFORE = [[], [PrivacyLoss.pure(F("2.9"))], [PrivacyLoss.gaussian(F(1, 50))], [LOSSES[4]] * 3, [LOSSES[0]] * 30]


BUDGETS = {
    "pure": Budget.of(3),
    "hybrid": Budget.of(3, DELTA),
    "plan": Budget.of(3, DELTA).planned([(F("0.1"), 10), (F("0.7"), 1)]),
    "plan beyond addition": Budget.of(3, DELTA).planned([(F("0.1"), 46)]),
    "plan of another price": Budget.of(3, DELTA).planned([(F("0.05"), 10)]),
}


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("loss", LOSSES, ids=range(len(LOSSES)))
@pytest.mark.parametrize("before", BEFORE, ids=range(len(BEFORE)))
def test_as_many_as_the_filter_admits(budget, loss, before):
    rule, state, count = filter_for(budget), State.zero(), 0
    for past in before:
        state = rule.admit(state, rule.charge(past)) or state
    said = more_calls(rule, state, loss)
    while (after := rule.admit(state, rule.charge(loss))) is not None:
        state, count = after, count + 1
    assert said == count


def test_amounts_of_more_digits_than_a_float_has_are_rounded_against_the_reader():
    rule, state = filter_for(Budget.of(10**6)), replace(State.zero(), epsilon=F("0.123456789012"))
    assert budget_words.left(rule, state) == "epsilon=999999.876543"
    assert budget_words.spent(rule, replace(state, epsilon=F("999999.876543210988"))) == "epsilon=999999.876544"


def test_words():
    hybrid = filter_for(Budget.of(3, DELTA))
    text = left_text(hybrid, State.zero(), None)
    first, theory = text.split(COUNTED)
    assert first == "about 40 more calls at epsilon=0.1, and delta=1e-7 for finding keys"
    assert re.fullmatch(r"epsilon=3 by addition or Renyi divergence about \S+ \(whichever allows more\)", theory)
    big = left_text(hybrid, State.zero(), ("rho=9", PrivacyLoss.gaussian(F(9))))
    assert big.startswith("too little for a call at rho=9, ")
    one = left_text(hybrid, State.zero(), ("epsilon=3", PrivacyLoss.pure(F(3))))
    assert one.startswith("about 1 more call at epsilon=3, ")
    gaussian = left_text(filter_for(Budget.of(3, DELTA, accountant="gdp")), State.zero(), None)
    assert re.fullmatch(r"about \d+ more calls at rho=0.01; counted: mu\^2 about \S+", gaussian)  # no delta for keys
    assert left_text(filter_for(Budget.of(3)), State.zero(), None) == "epsilon=3"


@pytest.mark.parametrize("written", ["1e-6", "0.000001"])  # as now, and as in ledgers of earlier versions
def test_a_delta_that_a_total_had_before_is_taken_for_a_cell_that_runs_again(written):
    terms = SimpleNamespace(kind="open", price=f"epsilon=3, delta={written}, delta_reserved=1e-7, accountant='hybrid'")
    assert raised("delta", "to_delta", 2 * DELTA, DELTA, [terms], "a line") == 2 * DELTA
    with pytest.raises(ArgumentValueError, match="can only be raised: a line"):
        raised("delta", "to_delta", 2 * DELTA, DELTA / 2, [terms], "a line")


def test_groups_of_units():
    unit = PrivacyUnit("pid", 4, 4, 4)
    assert group_text(Budget.of(F("0.5")), unit, 3) == "any 3 units of 'pid' together: epsilon=1.5"
    assert group_text(Budget.of(1, F(1, 10**6)), PrivacyUnit(), 1) == "any 1 rows together: epsilon=1, delta=1e-6"
    text = group_text(Budget.of(1, F(1, 10**6)), PrivacyUnit(), 3)
    assert text == "any 3 rows together: epsilon=3, delta=1.1108e-5"  # 1e-6 (1 + e + e^2) = 1.11073...e-5
    assert "too many for this budget to protect together" in group_text(Budget.of(3, F(1, 10**6)), PrivacyUnit(), 9)
    assert "too many for this budget to protect together" in group_text(Budget.of(900, F(1, 10**6)), PrivacyUnit(), 2)
    assert "too many for this budget to protect together" in group_text(
        Budget.of(F(1, 10), F(1, 10**6)), PrivacyUnit(), 10**9
    )


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("3", "1e-6"), ("0.001", "1.23456789e-9"), ("1/3", "1e-30"), ("1", "1e-5")]
)
def test_the_delta_of_a_group_is_the_calculators_rounded_up_once(epsilon, delta, size):
    text = group_text(Budget.of(F(epsilon), F(delta)), PrivacyUnit(), size)
    _, exact = group_privacy((F(epsilon), F(delta)), size)
    shown = F(text.split("delta=")[1])
    assert F(exact) * (1 - F(1, 10**14)) <= shown <= F(exact) * (1 + F(1, 10**4))
    assert shown >= F(delta)

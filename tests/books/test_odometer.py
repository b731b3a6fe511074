"""Amounts spent and left: never above the total, rounded against the reader, and with a promise in words."""

from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest

import pandas_dp  # noqa: F401
from pandas_dp.books import odometer
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for, renyi_limit
from pandas_dp.core.mechanisms.gaussian import gaussian_delta
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
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


@pytest.mark.parametrize("accountant", ["hybrid", "rdp", "zcdp"])
def test_the_epsilon_of_a_divergence_is_what_that_divergence_proves(accountant):
    """The limit of the shown epsilon, computed anew, covers the divergence: checked where the sum of epsilons is larger."""
    rule, checked = filter_for(Budget.of(3, DELTA, None, accountant)), 0
    slack = rule.budget.delta - rule.budget.delta_reserved
    for state in spend(rule, PrivacyLoss.pure(Fraction(1, 20))):
        epsilon = Fraction(odometer.spent(rule, state, ROW).epsilon)
        if epsilon < state.epsilon:
            factor = rule.order if accountant == "zcdp" else 1
            assert renyi_limit(epsilon, slack, rule.order) >= state.renyi * factor
            assert renyi_limit(epsilon - Fraction(1, 10**9), slack, rule.order) < state.renyi * factor
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
    promise = "all answers of this budget together: epsilon=3, delta=1e-6, for one unit of 'who' with other content"
    assert session.left.guarantee == promise + ", also where questions depend on answers"
    assert session.spent.epsilon == session.spent.delta == 0
    df.dp(rho=0.001).count()
    assert 1 < session.spent.epsilon < 1.5  # a divergence of one order converts to so much from the first answer on
    assert session.spent.delta < Decimal("1e-6")
    assert session.spent.epsilon + session.left.epsilon == 3


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

"""Totals and prices in rho: what a budget of zCDP pays, and the epsilon that is told of it."""

from __future__ import annotations

import copy
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from math import log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from support import questions
from support.frames import fresh, people, protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.books.amounts import ROUNDING, zcdp_epsilon
from pandas_dp.books.odometer import goes_on
from pandas_dp.core.budget import Budget
from pandas_dp.core.filters import ZCDPFilter
from pandas_dp.facts.numbers import of_total
from pandas_dp.session.opening import total_of_rho

RHOS = [Fraction("1e-4"), Fraction("0.01"), Fraction("0.5"), Fraction(3), Fraction(40)]
DELTAS = [Fraction("9e-11"), Fraction("9e-7"), Fraction("0.01")]


def at(order, rho, delta):
    return rho * order + log(1 / delta) / (order - 1) + log((order - 1) / order) - log(order) / (order - 1)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", RHOS)
def test_the_epsilon_of_a_rho_is_about_the_least_that_an_order_proves(rho, delta):
    r, d = float(rho), float(delta)
    best = minimize_scalar(lambda t: at(1 + np.exp(t), r, d), bounds=(-8, 14), method="bounded").fun
    told = float(zcdp_epsilon(rho, delta))
    assert max(best, 0) * (1 - 1e-9) <= told <= max(best, 0) * 1.01
    assert told <= r + 2 * sqrt(r * log(1 / d))  # the textbook's


def test_one_answer_in_rho_is_told_by_the_order_that_fits_it():
    df = protected(epsilon=3, delta=1e-6)
    df.dp(rho=0.01).count()
    assert 0.6 < df.dp.session.spent.epsilon < 0.756  # 1.44 at the order that fits the total
    df.dp(rho=0.01).count("age")
    assert df.dp.session.spent.epsilon < 1
    df.dp(epsilon=0.1, delta=1e-7).count("pay")  # of which no rho is on record
    assert df.dp.session.spent.epsilon > 1.4


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_total_in_rho_pays_that_much(monkeypatch, delta):
    df, name = people(), fresh()
    session = df.dp.protect(rho=0.5, delta=delta, name=name)
    for _ in range(5):
        df.dp(rho=0.1, fresh=True).count()
    with refused(monkeypatch, df, BudgetExceededError):
        df.dp(rho=0.001, fresh=True).count()
    assert session.budget.accountant == "zcdp"
    assert session.spent.epsilon <= session.budget.epsilon
    assert float(session._rule.limit) == pytest.approx(0.5, rel=1e-3)
    assert df.dp.protect(rho=0.5, delta=delta, name=name) is session


def test_what_does_not_go_with_a_total_in_rho():
    df = people()
    for terms, kind in (
        ({"rho": 0.5, "epsilon": 1}, ArgumentTypeError),
        ({"rho": 0.5, "accountant": "gdp"}, ArgumentValueError),
        ({"rho": 0.5, "plan": {0.1: 4}}, ArgumentTypeError),
        ({"rho": -1}, ArgumentValueError),
        ({}, ArgumentTypeError),
    ):
        with pytest.raises(kind):
            df.dp.protect(name=fresh(), **terms)


@pytest.mark.parametrize("terms", [{}, {"neighbors": "replace_one"}, {"unit": "uid", "max_rows": 3, "max_groups": 2}])
def test_no_answer_costs_more_than_its_rho(terms):
    df = protected(questions.table(), epsilon=50, delta=1e-6, accountant="zcdp", **terms)
    found = 0
    for name, ask in questions.EVERY.items():
        try:
            ahead = ask(df.dp.preview(rho=0.02))
        except pandas_dp.PandasDPError:
            continue  # it takes no rho, or needs other terms
        found += 1
        assert ahead.charge.renyi <= Fraction("0.02") * (1 + ROUNDING), name
    assert found > 30


def test_two_tables_have_budgets_of_their_own():
    first, second = people(), pd.DataFrame({"age": [31, 45, 62] * 10})
    one, other = first.dp.protect(rho=0.5, name=fresh()), second.dp.protect(epsilon=3, name=fresh())
    first.dp(rho=0.1).count()
    second.dp(epsilon=1).count()
    assert (second.dp.session, first.dp.session) == (other, one)
    assert other.spent == "epsilon=1"
    copied = second.copy()
    with pytest.raises(pandas_dp.UnverifiedFrameError) as caught:
        copied.dp(epsilon=1).count()
    for session in (one, other):
        assert f"name={session.name!r}" in str(caught.value)


def test_every_rho_has_a_total_that_admits_it():
    """Of rho=0.1 none was ever found: a step to the next epsilon was lost in rounding to six digits."""
    for rho in (*(Fraction(i, 100) for i in range(1, 101)), Fraction(1, 3), Fraction(1, 10**6), Fraction(20)):
        budget = total_of_rho(rho, 0, None, "auto")
        assert ZCDPFilter(budget).limit >= rho
        assert (
            ZCDPFilter(
                Budget.of(budget.epsilon * Fraction("0.9999"), budget.delta, budget.delta_reserved, "zcdp")
            ).limit
            < rho
        )


def test_nothing_reads_as_if_more_than_the_total_was_spent(tmp_path):
    """The session and the certificate said ``3.15 of 3.14483``."""
    df, file = people(), tmp_path / "budget.dpledger"
    session = df.dp.protect(rho=0.2, delta=1e-6, ledger=file, name="visits")
    df.dp(rho=0.1).count()
    assert "spent rho about 0.1 (with Gaussian noise); left rho=0.1 of 0.2" in repr(session)
    df.dp(rho=0.0999).count("age")
    for text in (repr(session), str(session.report())):
        told = re.findall(r"[sS]pent:? +epsilon[ =]([\d.]+) of ([\d.]+)", text)
        assert told
        assert all(Fraction(spent.strip(".")) <= Fraction(total.strip(".")) for spent, total in told)
    continues = re.findall(r"continues: ([\d.]+) of ([\d.]+) spent", goes_on(session._ledger, "visits", session.unit))
    assert all(Fraction(spent) <= Fraction(total) for spent, total in continues)
    assert continues
    assert of_total(Fraction("3.1441"), Fraction("3.1439")) == Fraction("3.15")  # an overdrawn one is told as such
    assert of_total(Fraction(1, 3), Fraction(1, 3)) == Fraction(1, 3)


def test_ten_tenths_of_a_rho_are_told_as_the_whole():
    """They were ``rho about 0.101`` of 0.1 with 5.52e-7 left, as sums are kept in steps of 2**-64, rounded up."""
    df = people()
    session = df.dp.protect(rho=0.1, name=fresh())
    assert session.left.rho == Decimal("0.1")
    df.dp(rho=0.01).count()
    assert "counted: rho about 0.01 (with Gaussian noise)" in session.spent
    assert (session.spent.rho, session.left.rho) == (Decimal("0.01"), Decimal("0.09"))
    for _ in range(9):
        df.dp(rho=0.01, fresh=True).count()
    assert "counted: rho about 0.1 (with Gaussian noise)" in session.spent
    assert session.left.endswith("counted: rho=0 of 0.1")
    assert (session.spent.rho, session.left.rho) == (Decimal("0.1"), Decimal(0))
    assert session.spent.rho == copy.copy(session.spent).rho == pickle.loads(pickle.dumps(session.spent)).rho
    rule, state = session._rule, session._state
    assert 0 <= state.renyi - Fraction(1, 10) < Fraction(1, 10**17)
    # the promise is an epsilon and a delta: what the limit admits converts to no more, by the formula of the conversion
    a, slack = float(rule.order), float(rule.budget.delta - rule.budget.delta_reserved)
    converted = float(rule.limit) * a + log((a - 1) / a) - log(a * slack) / (a - 1)
    assert converted <= float(rule.budget.epsilon) * (1 + 1e-12)
    assert 0 < rule.limit - Fraction(1, 10) < Fraction(1, 10**6)
    page = str(session.report())
    assert '<td class="number">0.1</td><td class="number">used up</td><td class="number">0.1</td>' in page
    with pytest.raises(AttributeError, match="the text tells what else is counted"):
        protected(epsilon=3, delta=1e-6).dp.session.spent.rho


def test_of_laplace_noise_beside_gaussian_no_sum_of_epsilons_is_told():
    """Of 0.494, of which Laplace noise was most, it was said ``(Gaussian noise)``."""
    df = people()
    session = df.dp.protect(rho=1, name=fresh())
    df.dp(epsilon=0.5).count()
    assert "counted: epsilon=0.5, rho about" in session.spent
    df.dp(rho=0.01).count()
    assert re.search(r"counted: rho about 0\.\d+ \(with Gaussian noise\)$", session.spent)
    assert float(session.spent.rho) == pytest.approx(
        0.01 + 0.5 * np.tanh(0.25), abs=1e-9
    )  # one step: randomized response

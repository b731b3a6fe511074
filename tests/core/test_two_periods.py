"""No strategy over two periods gains more on a pair of a unit and a period than the total of one: all of them, exactly.

A question names one period or both, at one of two prices. Those about the period of the pair answer by randomised response,
to which all pure mechanisms reduce; the others tell nothing of it. The strategy that distinguishes best is found by recursion
over the sums, by the very function that charges them. A question over both that only one of them pays is found.
"""

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
from pandas_dp.core.privacy import PrivacyLoss

PAIR, OTHER = 0, 1  # the period of the pair that neighbours differ in, and one in which it has nothing
SPANS = ((PAIR, PAIR), (OTHER, OTHER), (PAIR, OTHER))
Both = tuple[State, State]


def pays(rule, price):
    """What a question at a price makes of the sums of both periods; None where it is refused."""
    charge = rule.charge(PrivacyLoss.pure(price))

    @cache
    def after(states: Both, span: tuple[int, int]) -> Both | None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(period_sums.TABLE)
            sums = period_sums._write(connection, 1, period_sums.Sums(), {}, dict(enumerate(states)))
            row = sums.behind(State.zero().to_text())
            made = period_sums.pay(connection, 1, row, rule, replace(charge, periods=span))
            if not isinstance(made, str):
                return None
            held = period_sums.read(connection, 1, made)
            return held[PAIR], held[OTHER]

    return after


def one_of_two(after):
    """The planted fault: a question over both periods is charged to the other one alone."""
    return lambda states, span: after(states, (OTHER, OTHER) if span == (PAIR, OTHER) else span)


def excess(budget, prices, rounds, fault=None):
    """The most delta that any strategy reaches at the total epsilon of one period."""
    rule = filter_for(budget)
    charges = {price: pays(rule, price) if fault is None else fault(pays(rule, price)) for price in prices}
    limit = math.exp(float(budget.epsilon))

    @cache
    def best(states: Both, ups: tuple[int, ...], left: int) -> float:
        """Of all that may follow, where the answers so far are exp(sum of ups * price) times as likely with the pair."""
        ratio = math.exp(sum(n * float(price) for n, price in zip(ups, prices, strict=True)))
        found = max(ratio - limit, 0.0)
        for place, price in enumerate(prices) if left else ():
            for span in SPANS:
                made = charges[price](states, span)
                if made is None:
                    continue
                if span[0] != PAIR:
                    found = max(found, best(made, ups, left - 1))
                    continue
                more, less = (
                    best(made, (*ups[:place], ups[place] + step, *ups[place + 1 :]), left - 1) for step in (1, -1)
                )
                likely = 1 / (1 + math.exp(float(price)))  # without the pair, of the answer that speaks for it
                found = max(found, likely * more + (1 - likely) * less)
        return found

    return best((State.zero(), State.zero()), (0,) * len(prices), rounds)


def test_pure_totals_hold():
    assert excess(Budget.of(1), (F("0.25"), F("0.5")), 8) <= 1e-12


def test_hybrid_totals_hold():
    assert excess(Budget.of(1, F("0.1")), (F("0.25"), F("0.5")), 8) <= 0.1


@pytest.mark.parametrize("budget", [Budget.of(1), Budget.of(1, F("0.1"))], ids=["pure", "hybrid"])
def test_a_question_over_both_that_one_pays_is_found(budget):
    allowed = float(budget.delta)
    assert excess(budget, (F("0.25"), F("0.5")), 8, one_of_two) > allowed + 0.05

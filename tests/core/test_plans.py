"""Plans: what declared prices cost together, what they leave, and that no strategy gets more than was promised."""

from __future__ import annotations

import math
from fractions import Fraction as F
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused
from support.ledgers import DELTA, gaussian, pure

import pandas_dp
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import PlanFilter, filter_for
from pandas_dp.core.plans import DeclaredPlan
from pandas_dp.errors import ArgumentValueError, BudgetExceededError

TENTH = F(1, 10)


def direct_delta(epsilons, total) -> float:
    """All signs: the sum of P(v) (1 - e^(g - v)) over losses v > g."""
    delta = 0.0
    for signs in product((1, -1), repeat=len(epsilons)):
        loss = sum(s * e for s, e in zip(signs, epsilons, strict=True))
        chance = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
        delta += chance * max(0.0, -math.expm1(total - loss))
    return delta


@pytest.mark.parametrize(
    "epsilons", [[0.1] * 12, [0.5] * 6 + [0.1] * 5, [0.3, 0.07, 1.0, 2.5], [1 / 3, 1 / 7, 0.5, 0.5]]
)
def test_delta_against_all_signs(epsilons):
    exact = [F(str(e)) for e in epsilons]
    parts = [(e, exact.count(e)) for e in sorted(set(exact))]
    plan = DeclaredPlan(parts)
    for total in (-0.5, 0.0, 0.05, 0.3, 1.0, 2.0, float(sum(exact)) - 1e-3):
        found = plan.delta(total)  # epsilons are rounded up by less than 1e-4 in all
        assert direct_delta(epsilons, total) * (1 - 1e-12) <= found <= direct_delta(epsilons, total - 1e-4) + 1e-12
    assert plan.delta(float(sum(exact)) + 0.1) == 0


@pytest.mark.parametrize(("count", "left"), [(20, "1.21"), (30, "0.69"), (40, "0.27"), (46, "0.008")])
def test_what_a_plan_leaves(count, left):
    """Known values at (3, 1e-6); plain addition would leave 1.0 and nothing."""
    found = DeclaredPlan([(TENTH, count)]).beside(F(3), DELTA)
    assert F(left) <= found < F(left) + F(1, 100)


def test_plans_that_cost_too_much():
    assert DeclaredPlan([(TENTH, 47)]).beside(F(3), DELTA) is None
    assert DeclaredPlan([(F(1, 100), 4198)]).beside(F(3), DELTA) is not None
    assert DeclaredPlan([(F(1, 100), 4199)]).beside(F(3), DELTA) is None


SMALL = Budget.of(1, F(1, 50)).planned([(F(1, 5), 4), (F(2, 5), 1)])


def worst_delta(rule: PlanFilter) -> float:
    """The best that any order of planned and other questions reaches, chosen after each answer.

    Beside the plan the analyst may spend all at once, or halves and quarters of what there was.
    """
    sizes = {e for e, _ in rule.budget.plan} | {rule.beside / share for share in (1, 2, 4)}
    promised = float(rule.budget.epsilon)

    @cache
    def best(state, loss):
        value = max(0.0, -math.expm1(promised - loss))
        for size in sizes:
            after = rule.admit(state, rule.charge(pure(size)))
            if after is not None:
                e = float(size)
                up = 1 / (1 + math.exp(-e))
                value = max(value, up * best(after, round(loss + e, 9)) + (1 - up) * best(after, round(loss - e, 9)))
        return value

    return best(State.zero(), 0.0)


def test_no_strategy_exceeds_the_promise_and_one_reaches_it():
    reached = worst_delta(filter_for(SMALL))
    assert 0.99 * float(SMALL.delta) < reached <= float(SMALL.delta)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("fault", ["more beside the plan", "planned prices are free", "a price may change"])
def test_twins(fault):
    rule = PlanFilter(SMALL)
    if fault == "more beside the plan":
        rule.beside *= F(11, 10)
    elif fault == "planned prices are free":
        rule.budget = Budget(SMALL.epsilon, SMALL.delta, F(0), "plan", tuple((e, n + 2) for e, n in SMALL.plan))
    else:
        rule.budget = Budget(SMALL.epsilon, SMALL.delta, F(0), "plan", tuple((e * F(6, 5), n) for e, n in SMALL.plan))
    assert worst_delta(rule) > float(SMALL.delta)


def frame() -> pd.DataFrame:
    return pd.DataFrame({"age": np.arange(5000) % 90, "sex": ["F", "M"] * 2500})


def test_a_session_with_a_plan():
    df = protected(frame(), epsilon=3, delta=1e-6, plan={0.1: 40})
    session = df.dp.session
    assert session.left == "40 of 40 planned calls at epsilon=0.1, epsilon=0.274638 beside the plan"
    for _ in range(39):
        df.dp(epsilon=0.1, fresh=True).count()
    df.dp(epsilon=0.1).mean("age", bounds=(0, 100))
    df.dp(epsilon=0.2).above_threshold(100)
    assert session.spent == "40 of 40 planned calls at epsilon=0.1, epsilon=0.2 beside the plan"
    with pytest.raises(BudgetExceededError, match=r"epsilon=0.074638 would fit"):
        df.dp(epsilon=0.1, fresh=True).count()
    with pytest.raises(BudgetExceededError):
        df.dp(rho=0.0001).count()
    df.dp(epsilon=0.074638).count()


def test_queries_make_a_plan():
    queries = [pandas_dp.query(epsilon=0.3).count(), pandas_dp.query(epsilon=0.3).mean("age", bounds=(0, 100))]
    df = protected(frame(), epsilon=1, delta=1e-6, plan=queries)
    assert df.dp.session.left.startswith("2 of 2 planned calls at epsilon=0.3")
    for query in queries:
        df.dp.pipe(query)
    assert df.dp.session.left.startswith("0 of 2 planned calls")
    again = protected(frame(), epsilon=1, delta=1e-6, plan=[0.3, 0.3, 0.1])
    assert again.dp.session.left.startswith("1 of 1 planned calls at epsilon=0.1, 2 of 2 planned calls at epsilon=0.3")


def test_a_plan_is_kept_by_its_ledger(tmp_path):
    terms = {"epsilon": 3, "delta": 1e-6, "plan": {0.1: 40}, "ledger": tmp_path / "books.dpledger", "name": "people"}
    df = frame()
    session = df.dp.protect(**terms)
    for _ in range(3):
        df.dp(epsilon=0.1, fresh=True).count()
    left = session.left
    session._ledger.verify()
    session._ledger.close()
    again = frame().dp.protect(**terms)
    assert again.left == left
    assert left.startswith("37 of 40")
    other = frame()
    with pytest.raises(Exception, match="accountant"):
        other.dp.protect(**{name: value for name, value in terms.items() if name != "plan"})
    with pytest.raises(ArgumentValueError, match="total of a plan or of a part of a budget is fixed"):
        again.extend(to=5, reason="more")


def test_a_plan_comes_before_the_first_answer(tmp_path):
    df = frame()
    terms = {"epsilon": 3, "delta": 1e-6, "ledger": tmp_path / "books.dpledger", "name": "people"}
    df.dp.protect(**terms)
    df.dp.protect(**terms, plan={0.1: 30})  # nothing was asked: another plan is another mistake mended
    df.dp.protect(**terms, plan={0.1: 40})
    df.dp(epsilon=0.1).count()
    with pytest.raises(Exception, match=r"plan=\{0.1: 40\}"):
        df.dp.protect(**terms, plan={0.1: 41})


def test_bad_plans(monkeypatch):
    df = frame()

    def refuse(match, error=ValueError, **terms):
        with pytest.raises(error, match=match):
            df.dp.protect(**{"epsilon": 3, "delta": 1e-6, "plan": {0.1: 40}, "name": "bad"} | terms)

    refuse("needs a delta", delta=0)
    refuse("costs more.*queries_for", plan={0.1: 47})
    refuse("of its own", accountant="zcdp")
    refuse("positive prices", plan={})
    refuse("at most 10,000", plan={0.0001: 10_001})
    refuse("plan must lie", plan={0: 4})
    refuse("plan must lie", plan=[-0.1])
    refuse("count of plan", plan={0.1: 0})
    refuse("count of plan", TypeError, plan={0.1: 1.5})
    refuse("plan must be a dict", TypeError, plan="0.1")
    refuse("plan must be a dict", TypeError, plan=5)
    refuse("plain epsilon", TypeError, plan=[pandas_dp.query(rho=0.1).count()])
    refuse("plan", TypeError, plan={"a": 3})
    df.dp.protect(epsilon=3, delta=1e-6, plan={0.1: 40}, name="good")
    with refused(monkeypatch, df, BudgetExceededError, "epsilon=0.1 or epsilon=0.274638 would fit"):
        df.dp(epsilon=0.3).count()


def test_what_is_no_epsilon():
    rule = filter_for(SMALL)
    assert rule.admit(State.zero(), rule.charge(gaussian("0.001"))) is None

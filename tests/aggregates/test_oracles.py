"""Oracles: their public state, what one correction gains, and what the plan promises."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.oracles import (
    Asked,
    Axis,
    Candidates,
    Domain,
    MedianOracle,
    MultiplicativeWeights,
    Passed,
    Weights,
    window,
)
from pandas_dp.core.measurement import Measurement, Reply
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentValueError
from pandas_dp.steps.parse import parse_expression

AGE = Axis(Bins("age", (0, 30, 60, 90)), whole=True)
PAY = Axis(Bins("pay", (0.0, 0.5, 2.5)))
SEX, SMOKER = Axis(Keys("sex", ("F", "M"))), Axis(Keys("smoker", (False, True)))
DOMAIN = Domain((AGE, SEX, PAY, SMOKER))


# ---------------------------------------------------------------------------------------------------------- domains
def holding(text, domain=DOMAIN):
    return domain.holding(parse_expression(text, ["age", "sex", "pay", "smoker", "city"]))


def test_cells_of_a_condition():
    assert DOMAIN.cells == 3 * 2 * 2 * 2
    cells = list(product(range(3), "FM", range(2), (False, True)))
    for text, holds in {
        "age >= 30": lambda a, s, p, k: a >= 1,
        "age < 30 or age > 59": lambda a, s, p, k: a != 1,
        "sex == 'M' and smoker": lambda a, s, p, k: s == "M" and k,
        "pay < 0.5 and (sex in ['F'] or age >= 60)": lambda a, s, p, k: p == 0 and (s == "F" or a == 2),
        "not smoker and pay >= 0.5": lambda a, s, p, k: not k and p == 1,
        "age < 90": lambda *cell: True,
        "age > 1000": lambda *cell: False,
        "sex != 'X'": lambda *cell: True,
    }.items():
        assert holding(text).tolist() == [bool(holds(*cell)) for cell in cells], text


@pytest.mark.parametrize(
    "text", ["age > 30", "age < 29", "pay > 0.5", "pay <= 0.5", "age / 2 > 20 and sex == 'F'", "age < 89"]
)
def test_conditions_that_divide_a_bin(text):
    with pytest.raises(ArgumentValueError, match="splits a bin"):
        holding(text)


def test_conditions_on_other_columns():
    with pytest.raises(
        ArgumentValueError, match="'city' is not a column of the domain, which has age, sex, pay, smoker"
    ):
        holding("city == 'x' and age >= 30")


def test_bins_without_a_whole_number():
    axis = Axis(Bins("age", (0.0, 0.25, 0.5, 2.0)), whole=True)
    low, high = axis.ends()
    assert (low <= high).all()
    assert (low.iloc[0], high.iloc[0], low.iloc[2], high.iloc[2]) == (0, 0, 1, 1)


# ---------------------------------------------------------------------------------------------------------- weights
masks = st.lists(st.booleans(), min_size=5, max_size=5).filter(lambda m: any(m))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(masks, st.floats(-0.5, 1.5)), min_size=1, max_size=6),
    st.lists(st.integers(0, 20), min_size=6, max_size=6).filter(any),
)
def test_a_correction_gains_what_it_says(corrections, table):
    """The entropy of the table to the weights falls by kl(a, p) + (q - a) eta, and the weights then give a."""
    weights, true = Weights(5, 0.01), np.array(table) / sum(table)
    used = true > 0

    def entropy():
        return float((true[used] * (np.log(true[used]) - weights.logs[used])).sum())

    assert entropy() <= math.log(6) + 1e-9
    for mask, share in corrections:
        asked, before = Asked(None, np.array(mask)), entropy()
        p = weights.share(asked)
        weights.correct(asked, share)
        a, q = min(max(share, 0.01), 0.99), float(true[:-1][asked.shares].sum())
        assert weights.share(asked) == pytest.approx(a)
        assert weights.weights.sum() == pytest.approx(1)
        eta = math.log(a / p) - math.log((1 - a) / (1 - p))
        gain = a * math.log(a / p) + (1 - a) * math.log((1 - a) / (1 - p)) + (q - a) * eta
        assert before - entropy() == pytest.approx(gain, abs=1e-6)
        assert gain >= 2 * (a - p) ** 2 - abs(q - a) * abs(eta) - 1e-9


def test_a_condition_without_cells_teaches_nothing():
    weights = Weights(3, 0.01)
    before = weights.logs.copy()
    weights.correct(Asked(None, np.zeros(3, dtype=bool)), 0.7)
    assert weights.logs == pytest.approx(before)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(masks, st.floats(-0.9, 0.9)), min_size=1, max_size=8),
    st.lists(st.integers(0, 20), min_size=6, max_size=6).filter(any),
    st.sampled_from([0.001, 0.05, 0.2]),
)
def test_replays_gain_and_agree(corrections, table, margin):
    """With noise below the margin each replay is a projection: entropy falls by that of the new to the old weights."""
    weights, true = Weights(5, margin), np.array(table) / sum(table)
    plain = weights._move
    gains = []

    def entropy(of):
        used = of > 0
        return float((of[used] * (np.log(of[used]) - weights.logs[used])).sum())

    def move(asked, share):
        before, old = entropy(true), weights.logs.copy()
        plain(asked, share)
        gains.append(before - entropy(true) - float((weights.weights * (weights.logs - old)).sum()))

    for mask, noise in corrections:
        asked = Asked(None, np.array(mask))
        weights._move, gains[:] = move, []
        weights.learn(asked, float(true[:-1][asked.shares].sum()) + noise * margin)
        assert min(gains[1:], default=0) >= -1e-6  # the first is the correction, with a noise that nothing takes off
        assert weights.weights.sum() == pytest.approx(1)


def test_replays_mend_what_later_corrections_spoil():
    """Exact shares of two cells and of one of them, asked once each: both hold in the end."""
    weights, once = Weights(3, 1e-4), Weights(3, 1e-4)
    first, second = Asked(None, np.array([True, True, False])), Asked(None, np.array([False, True, False]))
    for asked, share in ((first, 0.9), (second, 0.1)):
        weights.learn(asked, share)
        once.correct(asked, share)
    assert abs(once.share(first) - 0.9) > 0.05
    assert abs(weights.share(first) - 0.9) < 0.01
    assert abs(weights.share(second) - 0.1) < 0.01


@pytest.mark.parametrize("share", [-5.0, 0.0, 1.0, 7.0])
@pytest.mark.parametrize("held", [True, False])
def test_replays_of_the_whole_and_of_nothing(held, share):
    """All or no cells, noisy shares out of reach and weights at their limit: still finite, still a distribution."""
    weights = Weights(9, 0)
    for _ in range(20):
        weights.learn(Asked(None, np.full(9, held)), share)
    assert np.isfinite(weights.logs).all()
    assert weights.weights.sum() == pytest.approx(1)
    assert weights.learnt[0][0].nbytes == 2


def test_many_corrections_do_not_underflow():
    weights, rng = Weights(50, 1e-9), np.random.default_rng(3)
    for _ in range(3000):
        weights.correct(Asked(None, rng.random(50) < 0.5), rng.random())
    assert np.isfinite(weights.logs).all()
    assert weights.weights.sum() == pytest.approx(1)


# ------------------------------------------------------------------------------------------------------- candidates
@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0, 1), st.floats(0.001, 0.2))
def test_a_far_median_loses_half_of_the_candidates(shares, share, width):
    state, asked = Candidates(len(shares), width), Asked(None, np.array(shares))
    far = abs(state.share(asked) - share) > width
    state.learn(asked, share)
    near = sum(abs(s - share) <= width for s in shares)
    assert state.left.size == (near or len(shares))
    if far and near:
        assert 2 * state.left.size <= len(shares)


# ------------------------------------------------------------------------------------------------------------ plans
ORACLES = [
    MultiplicativeWeights(None, None, DOMAIN),
    MultiplicativeWeights(7, 500, DOMAIN),
    MedianOracle(None, None, tuple(pd.DataFrame({"x": [i]}) for i in range(20))),
    MedianOracle(2, 10, (pd.DataFrame({"x": [1]}),)),
]
UNITS = [PrivacyUnit(), PrivacyUnit("u", 4, 4, 4), PrivacyUnit(relation=NeighboringRelation.REPLACE_ONE)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("oracle", ORACLES, ids=["pmw", "pmw 7", "median", "median 2"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3), Fraction(1000)])
def test_all_looks_together_cost_at_most_the_price(oracle, unit, epsilon):
    """Every question hard, asked until the corrections are used up: the price to the last digit, then no look at all."""
    terms = Terms(unit, Price(epsilon))
    recipe, spent, paid, replies = oracle.steps(terms), PrivacyLoss(), set(), 0
    shares = np.zeros(DOMAIN.cells, dtype=bool) if isinstance(oracle, MultiplicativeWeights) else np.full(20, 0.5)
    step = recipe.send(None)
    while replies < 400:
        if isinstance(step, Reply):
            replies += 1
            step = recipe.send(Asked(replies, shares))  # each another question
            continue
        assert isinstance(step, Measurement)
        if step.mechanism not in paid:
            spent += step.mechanism.loss(step.statistic.sensitivity(unit))
        if hasattr(step.mechanism, "most"):
            paid.add(step.mechanism)
            step = recipe.send([1])
        else:
            step = recipe.send([300])
    assert spent.epsilon == epsilon
    assert step.left.startswith("0 of ")
    assert "unverified" in step.left
    assert step.value.error is None
    assert oracle.loss(terms) == PrivacyLoss.pure(epsilon)


def test_default_corrections():
    terms = Terms(PrivacyUnit(), Price(Fraction(1)))
    oracle = MultiplicativeWeights(None, None, Domain((Axis(Keys("a", tuple(map(str, range(28_800))))),)))
    assert 100 < oracle.plan(terms, Fraction(1), 48_842).updates < 250
    assert oracle.plan(terms, Fraction(1, 10), 48_842).updates < 60
    assert oracle.plan(terms, Fraction(1, 10**6), 1).updates == 1
    four, nine = (oracle.plan(terms, Fraction(e), 48_842).updates for e in (4, 9))
    assert (four, nine) == (236, 354)  # grows with the root of epsilon
    two_rows = Terms(PrivacyUnit("u", 2, 2, 2), Price(Fraction(2)))
    assert oracle.plan(two_rows, Fraction(2), 48_842) == oracle.plan(terms, Fraction(1), 48_842)
    median = MedianOracle(None, None, tuple(pd.DataFrame({"x": [i]}) for i in range(20)))
    assert median.plan(terms, Fraction(1), 1000).updates == 5
    assert MedianOracle(None, None, (pd.DataFrame({"x": [1]}),)).plan(terms, Fraction(1), 1000).updates == 1


def test_the_median_is_tested_at_twice_the_window_and_more():
    terms = Terms(PrivacyUnit(), Price(Fraction(1)))
    oracle = MedianOracle(None, None, tuple(pd.DataFrame({"x": [i]}) for i in range(64)))
    plan = oracle.plan(terms, Fraction(1), 10_000)
    scale = float(plan.test.question_scale)
    assert plan.threshold >= 2 * window(plan) + scale * math.log(1000) - 2 * scale


def test_an_easy_answer_tells_how_far_off_it_may_be():
    plan = MultiplicativeWeights(10, None, DOMAIN).plan(Terms(PrivacyUnit(), Price(Fraction(1))), Fraction(1), 10_000)
    lower, upper = Passed(plan.test, plan.threshold).bounds(500, 0.95)
    assert upper - 500 == 500 - lower >= plan.threshold
    p = math.exp(-1 / float(plan.test.threshold_scale))
    # it passes at a distance d only if U > d - test.threshold
    assert (
        p ** (upper - 500 - plan.test.threshold)
        <= 0.05
        < p ** (upper - 500 - plan.test.threshold - 3 * float(plan.test.threshold_scale))
    )


def test_conditions_that_read_too_many_bins():
    """Each column of bins doubles the ends that are looked at: 2**20 of them for 20 columns of one bin."""
    columns = [f"c{i}" for i in range(27)]
    domain = Domain(tuple(Axis(Bins(column, (Fraction(0), Fraction(1)))) for column in columns))
    names = pd.Index(columns)
    few = parse_expression(" and ".join(f"{c} >= 0" for c in columns[:8]), names, argument="ask")
    assert domain.holding(few).tolist() == [True]
    with pytest.raises(ArgumentValueError, match="too many columns"):
        domain.holding(parse_expression(" and ".join(f"{c} >= 0" for c in columns), names, argument="ask"))

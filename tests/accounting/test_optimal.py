"""Optimal composition against direct rational evaluation and against all subsets; why it is not a filter."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import ceil, comb, prod

import numpy as np
import pytest
from accounting.digits import exp, ln
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pandas_dp.accounting import compose
from pandas_dp.accounting.losses import Loss, several
from pandas_dp.accounting.rules import RULES, is_exact, optimal_epsilon
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import HybridFilter
from pandas_dp.core.plans import grid_step
from pandas_dp.core.privacy import PrivacyLoss

TINY = F(1, 10**35)


def direct_delta(epsilon, times, total):
    """The formula of Kairouz, Oh and Viswanath in fractions."""
    w, g = exp(epsilon), exp(total)
    terms = (comb(times, k) * max(w**k - g * w ** (times - k), 0) for k in range(times + 1))
    return sum(terms) / (1 + w) ** times


@pytest.mark.one_in(5)
@pytest.mark.parametrize("times", [1, 2, 3, 7, 12, 30])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "0.5", "1", "3"])
@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 10**30), F(1, 10), F(9, 10)])
def test_equal_epsilons_are_solved_exactly(times, epsilon, delta):
    total = optimal_epsilon([(F(epsilon), times)], delta)
    assert 0 <= total <= F(epsilon) * times * (1 + TINY)
    assert direct_delta(F(epsilon), times, total) <= delta
    if total:
        assert direct_delta(F(epsilon), times, total - max(total, F(1)) * TINY) > delta


def subsets_epsilon(epsilons, delta):
    """Sort all sums of signed epsilons and solve between two of them."""
    laws = []
    for signs in product((1, -1), repeat=len(epsilons)):
        laws.append((sum(s * e for s, e in zip(signs, epsilons, strict=True)), signs))
    laws.sort(reverse=True)
    p_of = {(e, s): F(1) / (1 + exp(-s * e)) for e in set(epsilons) for s in (1, -1)}
    more_p = more_q = F(0)
    for loss, signs in laws:
        lower = max(loss, F(0))
        if more_p - exp(lower) * more_q > delta:
            return ln((more_p - delta) / more_q)
        if loss <= 0:
            return F(0)
        more_p += prod(p_of[e, s] for e, s in zip(epsilons, signs, strict=True))
        more_q += prod(p_of[e, -s] for e, s in zip(epsilons, signs, strict=True))
    raise AssertionError


MIXED = [
    ["0.1", "0.2"],
    ["0.1", "0.31", "1"],
    ["0.1", "0.1", "0.25", "0.77", "2"],
    ["0.013", "0.7654321", "0.31", "0.31", "0.05", "1.5"],
    ["0.01", "3"],
    ["0.123456789", "0.987654321", "0.55555", "0.777777", "0.31", "0.1", "0.1", "0.2718281828"],
]


@pytest.mark.parametrize("epsilons", MIXED)
@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 10**2), F(3, 10), F(1, 10**12)])
def test_different_epsilons_are_never_below_and_within_a_percent(epsilons, delta):
    check_against_subsets([F(e) for e in epsilons], delta)


def test_twelve_different_epsilons():
    check_against_subsets([F(100 + 37 * k * k, 3000) for k in range(12)], F(1, 10**4))


def check_against_subsets(epsilons, delta):
    parts = [(e, epsilons.count(e)) for e in dict.fromkeys(epsilons)]
    bound, truth = optimal_epsilon(parts, delta), subsets_epsilon(epsilons, delta)
    # each epsilon is rounded up by less than a step of the grid; of a bound near 0 that can be more than a percent
    assert truth <= bound <= max(truth * F("1.01"), truth + len(epsilons) * grid_step(parts)) + F(1, 10**9)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.fractions(F(1, 100), 2, max_denominator=1000), min_size=2, max_size=5),
    st.sampled_from([F(1, 10**9), F(1, 100), F(1, 2)]),
)
@example([F(38, 729), F(279, 545), F(505, 987), F(590, 719), F(527, 641)], F(1, 2))
def test_any_few_epsilons(epsilons, delta):
    check_against_subsets(epsilons, delta)


def test_the_grid_is_common_where_there_is_one_and_coarse_where_it_has_to_be():
    assert grid_step([(F("0.1"), 3), (F("0.25"), 2)]) == F("0.05")
    assert is_exact([(F("0.1"), 3), (F("0.25"), 2)])
    odd = [(F("0.1"), 3000), (F("0.123456789"), 7000)]
    assert not is_exact(odd)
    step = grid_step(odd)
    assert sum(times * ceil(epsilon / step) for epsilon, times in odd) <= 200_000
    assert is_exact([(F("0.123456789"), 7)])


def test_a_grid_and_the_exact_solution_agree():
    one, other = F("0.1"), F("0.1") + F(1, 10**12)
    exact = optimal_epsilon([(one, 46)], F(1, 10**6))
    assert exact <= optimal_epsilon([(one, 45), (other, 1)], F(1, 10**6)) <= exact * F("1.01")


def test_deltas_of_the_parts():
    """The total is 1 - (1 - d)^k (1 - delta(g)) by the theorem, and what the sum of deltas leaves is a little more."""
    part, slack, times = F(1, 100), F(1, 50), 5
    (row,) = [compose({(0.5, 0.01): times}, delta=0.02).loc["optimal"]]
    assert row["delta"] == 0.07
    reached = 1 - (1 - part) ** times * (1 - direct_delta(F("0.5"), times, F(str(row["epsilon"]))))
    assert reached <= slack + times * part
    below = 1 - (1 - part) ** times * (1 - direct_delta(F("0.5"), times, F(str(row["epsilon"])) - F(1, 10**9)))
    assert below > slack + times * part
    assert row["epsilon"] < compose({0.5: times}, delta=0.02).loc["optimal", "epsilon"]


# -- a natural filter is none -----------------------------------------------------------------------------------

TOTAL, DELTA = 3.0, 1e-6
FIRST = (20, 0.1)
PLANS = [(2, 0.5), (96, 0.05), (10, 0.17233), (8, 0.2), (3, 0.42942), (1, 1.21766)]


def law(times, epsilon):
    """Losses and probabilities of randomized responses; shape (times + 1,) each."""
    positive = np.arange(times + 1)
    p = np.array([comb(times, k) for k in positive], float) * np.exp(
        epsilon * positive - times * np.log1p(np.exp(epsilon))
    )
    return (2 * positive - times) * epsilon, p


def delta_given(losses, plan):
    """delta(3) of a plan that follows after each of these losses."""
    more, p = law(*plan)
    gap = TOTAL - losses[:, None] - more  # (losses, outcomes)
    return np.where(gap < -1e-12, -np.expm1(np.minimum(gap, 0)), 0) @ p


def test_choosing_epsilons_by_what_was_seen_breaks_the_optimal_rule():
    """Twenty queries of 0.1, then the plan that is worst for the loss so far; each plan alone passes the exact test.

    What each plan leaves of delta buys a query that reveals all with that probability, as (epsilon, delta) pays it.
    """
    losses, p = law(*FIRST)
    branches = []
    for times, epsilon in PLANS:
        fits = RULES["optimal"].epsilon((*several({0.1: 20}), (Loss(epsilon), times)), F(1, 10**6)).epsilon
        used = p @ delta_given(losses, (times, epsilon))
        assert fits <= 3 * F("1.0001")  # an upper bound: not all of these lie on one grid
        assert used <= DELTA
        reveal = DELTA - used
        branches.append(reveal + (1 - reveal) * delta_given(losses, (times, epsilon)))
        assert p @ branches[-1] <= DELTA * (1 + 1e-9)
    assert p @ np.max(branches, axis=0) == pytest.approx(3.68e-6, rel=0.02)


def test_the_filter_of_sessions_holds_against_the_same_strategy():
    rule, losses = HybridFilter(Budget.of(F(3), F(1, 10**6))), law(*FIRST)
    state = State.zero()
    for _ in range(FIRST[0]):
        state = rule.admit(state, rule.charge(PrivacyLoss.pure(F("0.1"))))
    branches = []
    for times, epsilon in PLANS:
        charge, after, count = rule.charge(PrivacyLoss.pure(F(str(epsilon)))), state, 0
        while count < 10 * times and (more := rule.admit(after, charge)) is not None:
            after, count = more, count + 1
        branches.append(delta_given(losses[0], (count, epsilon)))
    assert losses[1] @ np.max(branches, axis=0) <= DELTA

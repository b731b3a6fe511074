"""How many fit and how dear they may be: never too many, never too dear, and not much less."""

from __future__ import annotations

import math
from fractions import Fraction as F

import pytest
from accounting.digits import ln, sqrt

from pandas_dp.accounting import Exponential, Gaussian, Laplace, Loss, compose, epsilon_for, queries_for
from pandas_dp.accounting.rules import RULES
from pandas_dp.core.filters import Budget, HybridFilter, State
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

PURE = ["basic", "advanced", "fully_adaptive", "zcdp_simple", "zcdp", "rdp", "optimal"]
TOTALS = [(3, 1e-6), (0.5, 1e-9), (10, 0.3)]
LOSSES = [Loss(0.1), Laplace(0.03), Exponential(0.7), Loss(0.05, 1e-10)]
BY_TURNS = [(i, loss) for i in range(len(TOTALS)) for j, loss in enumerate(LOSSES) if (i + j) % 2 == 0]


def total_of(name, loss, times, delta):
    return RULES[name].epsilon(((loss, times),), F(str(delta))).epsilon


@pytest.mark.one_in(18)
@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("queries", [1, 7, 300])
@pytest.mark.parametrize("mechanism", [Loss, Exponential])
def test_the_largest_epsilon_fits_and_a_little_more_does_not(name, total, queries, mechanism):
    epsilon = epsilon_for(queries=queries, total=total, rule=name, mechanism=mechanism)
    assert total_of(name, mechanism(epsilon), queries, total[1]) <= F(str(total[0]))
    # the order is searched to about seven digits, so the turning point is known to about twelve
    assert total_of(name, mechanism(F(str(epsilon)) * F("1.0000001")), queries, total[1]) > F(str(total[0]))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize(("total", "loss"), [(TOTALS[i], loss) for i, loss in BY_TURNS])
def test_the_largest_number_fits_and_one_more_does_not(name, total, loss):
    count = queries_for(loss, total, rule=name)
    left = F(str(total[1]))

    def fits(times):
        rest = left - times * loss.delta
        if rest <= 0:
            return name == "basic" and rest == 0 and times * loss.epsilon <= total[0]
        answer = RULES[name].epsilon(((loss, times),), rest).epsilon
        return answer <= F(str(total[0]))

    assert count == 0 or fits(count)
    assert not fits(count + 1)


def test_laplace_noise_may_be_dearer():
    epsilon = epsilon_for(7, (3, 1e-6), rule="zcdp", mechanism=Laplace)
    assert total_of("zcdp", Laplace(epsilon), 7, 1e-6) <= 3
    assert total_of("zcdp", Laplace(epsilon * 1.0000001), 7, 1e-6) > 3
    assert epsilon > epsilon_for(7, (3, 1e-6), rule="zcdp")


def test_plain_division_is_exact():
    assert epsilon_for(30, (3, 1e-6), rule="basic") == 0.1
    assert epsilon_for(3, (1, 1e-6), rule="basic") == 0.333333333333333
    assert queries_for(0.1, (3, 1e-6), rule="basic") == 30
    assert queries_for((0.1, 2.5e-7), (3, 1e-6), rule="basic") == 4
    assert queries_for((0.1, 1e-7), (0.3, 1e-6), rule="basic") == 3


@pytest.mark.parametrize("total", [(0.9, 1e-6), (0.1, 0.5), (0.5, 1e-9)])
@pytest.mark.parametrize("queries", [1, 10, 1000])
def test_the_corollary_of_the_lecture_is_what_it_says_and_fits(total, queries):
    epsilon = epsilon_for(queries, total, rule="advanced_corollary")
    exact = F(str(total[0])) / (2 * sqrt(-2 * queries * ln(F(str(total[1])))))
    assert exact * (1 - F(1, 10**13)) <= F(str(epsilon)) <= exact
    assert total_of("advanced", Loss(epsilon), queries, total[1]) <= F(str(total[0]))
    assert epsilon <= epsilon_for(queries, total, rule="advanced")


def test_a_session_admits_what_the_hybrid_row_says():
    assert queries_for(0.1, (3, 1e-6), rule="hybrid") == 40
    epsilon = epsilon_for(100, (3, 1e-6), rule="hybrid")
    rule = HybridFilter(Budget.of(F(3), F(1, 10**6)))
    for price, expected in ((F(str(epsilon)), 100), (F(str(epsilon)) * F("1.000001"), 99)):
        state, count, charge = State.zero(), 0, rule.charge(PrivacyLoss.pure(price))
        while (after := rule.admit(state, charge)) is not None:
            state, count = after, count + 1
        assert count == expected


def test_all_rules_at_once():
    counts = queries_for(0.1, (3, 1e-6))
    assert counts["queries"].drop(["gaussian", "pld"]).to_dict() == {
        "basic": 30, "advanced": 26, "fully_adaptive": 29, "zcdp_simple": 29, "zcdp": 37, "rdp": 41, "optimal": 46,
        "hybrid": 40,
    }  # fmt: skip
    noise = queries_for(Gaussian(0.0025), (3, 1e-6))["queries"]
    assert noise.drop("pld").dropna().to_dict() == {
        "zcdp_simple": 58, "zcdp": 74, "rdp": 74, "gaussian": 83, "hybrid": 73,
    }  # fmt: skip
    prices = epsilon_for(100, (3, 1e-6))["epsilon"]
    assert prices["basic"] == 0.03
    assert math.isnan(prices["advanced_corollary"])
    assert prices["zcdp"] < prices["rdp"] < prices["optimal"]


def test_many_cheap_queries_are_not_counted_to_the_end():
    table = queries_for(1e-5, (3, 1e-6))
    assert table.loc["optimal", ["queries", "note"]].tolist() == [100_000, "at least 100,000; not counted further"]
    assert table.loc["zcdp", "queries"] > 3_000_000


def test_epsilons_too_small_to_be_asked_are_none():
    assert epsilon_for(10**9, (1e-9, 1e-100), rule="zcdp") == 0
    assert epsilon_for(1, (1e6, 1e-6), rule="optimal") == 1e6


LINE = "queries_for(epsilon=0.1, total=(3, 1e-6))"


@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (lambda: queries_for(0.1, 3), ArgumentTypeError, LINE),
        (lambda: queries_for(0.1, (3,)), ArgumentTypeError, LINE),
        (lambda: queries_for(0.1, (3, 0)), ArgumentValueError, LINE),
        (lambda: queries_for(0.1, (3, 1)), ArgumentValueError, LINE),
        (lambda: queries_for(0.1, (-3, 1e-6)), ArgumentValueError, LINE),
        (lambda: queries_for(0.1, (math.nan, 1e-6)), ArgumentValueError, LINE),
        (lambda: queries_for(0.1, ("3", 1e-6)), ArgumentTypeError, LINE),
        (lambda: queries_for(-0.1, (3, 1e-6)), ArgumentValueError, LINE),
        (lambda: queries_for("0.1", (3, 1e-6)), ArgumentTypeError, LINE),
        (lambda: queries_for(0.1, (3, 1e-6), rule="optimum"), ArgumentValueError, "did you mean 'optimal'"),
        (lambda: queries_for(0.1, (3, 1e-6), rule=3), ArgumentValueError, "rule='optimal'"),
        (lambda: queries_for(0.1, (3, 1e-6), rule="gaussian"), ArgumentValueError, "leave rule= out"),
        (lambda: epsilon_for(0, (3, 1e-6)), ArgumentValueError, "epsilon_for(queries=100, total=(3, 1e-6))"),
        (lambda: epsilon_for(2.5, (3, 1e-6)), ArgumentTypeError, "epsilon_for(queries=100, total=(3, 1e-6))"),
        (lambda: epsilon_for(100, None), ArgumentTypeError, "epsilon_for(queries=100, total=(3, 1e-6))"),
        (lambda: epsilon_for(100, (3, 1e-6), mechanism=Gaussian), ArgumentTypeError, "mechanism=Laplace"),
        (lambda: epsilon_for(100, (3, 1e-6), mechanism="laplace"), ArgumentTypeError, "mechanism=Laplace"),
        (lambda: epsilon_for(100, (3, 1e-6), rule="advanced_corollary"), ArgumentValueError, "leave rule= out"),
        (lambda: epsilon_for(100, (3, 1e-6), rule="gaussian"), ArgumentValueError, "leave rule= out"),
    ],
)
def test_bad_inputs_are_refused_with_the_line_to_type(call, error, line):
    with pytest.raises(error) as refused:
        call()
    assert line in str(refused.value)


def test_forwards_and_backwards_agree():
    for name in PURE:
        epsilon = epsilon_for(50, (2, 1e-6), rule=name)
        assert queries_for(epsilon, (2, 1e-6), rule=name) == 50
        assert compose({epsilon: 50}, delta=1e-6).loc[name, "epsilon"] <= 2

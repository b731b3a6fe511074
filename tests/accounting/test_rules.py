"""Each theorem against eighty digits, the lecture's example, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from accounting.digits import exp, gaussian_delta, ln, sqrt

from pandas_dp.accounting import Exponential, Gaussian, Laplace, Loss, compose
from pandas_dp.accounting.losses import float_above, float_below, several, total_of
from pandas_dp.accounting.rules import RULES, best_conversion
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

CASES = [
    ({0.1: 46}, "1e-6"),
    ({0.1: 10}, "1e-6"),
    ([1e-9], "1e-9"),
    ([0.5, 0.5, 3, 0.01], "0.1"),
    ({0.001: 100_000, 2: 1}, "1e-30"),
    ([20, 0.3], "0.9"),
]


def tanh(x):
    return 1 - 2 / (exp(2 * x) + 1)


def close_above(bound, truth, relative=F(1, 10**9)):
    return truth <= bound <= truth * (1 + relative) + F(1, 10**15)


def sizes(losses):
    return [(loss.epsilon, times) for loss, times in several(losses)]


@pytest.mark.parametrize(("losses", "delta"), CASES)
def test_the_formulas_to_eighty_digits(losses, delta):
    delta, parts = F(delta), sizes(losses)
    found = {name: RULES[name].epsilon(several(losses), delta).epsilon for name in RULES}
    log, squares = -ln(delta), sum(times * e**2 for e, times in parts)
    rho = sum(times * e * tanh(e / 2) for e, times in parts)
    assert found["basic"] == sum(times * e for e, times in parts)
    advanced = sqrt(2 * log * squares) + sum(times * e * (exp(e) - 1) for e, times in parts)
    assert close_above(found["advanced"], advanced)
    assert close_above(found["fully_adaptive"], sqrt(2 * log * squares) + squares / 2)
    assert close_above(found["zcdp_simple"], rho + 2 * sqrt(rho * log))
    shown = compose(losses, delta=float(delta))["epsilon"]
    for name in ("basic", "advanced", "zcdp", "rdp", "optimal"):
        if found[name] is None:  # too many different queries
            continue
        assert F(str(shown[name])) >= found[name]
        assert shown[name] == pytest.approx(float(found[name]), rel=1e-12)


def divergence(loss, a):
    """Of order a, by the two outcomes of randomized response, by Laplace's density, or a rho."""
    if isinstance(loss, Gaussian):
        return a * loss.rho
    e = loss.epsilon
    if isinstance(loss, Laplace):
        inner = a / (2 * a - 1) * exp((a - 1) * e) + (a - 1) / (2 * a - 1) * exp(-a * e)
        return ln(inner) / (a - 1)
    low = 1 / (1 + exp(e))
    outcomes = exp(a * ln(1 - low) + (1 - a) * ln(low)) + exp(a * ln(low) + (1 - a) * ln(1 - low))
    pure = ln(outcomes) / (a - 1)
    return min(pure, a * e**2 / 8) if isinstance(loss, Exponential) else pure


def converted(renyi, a, delta):
    return renyi + ln(1 - 1 / a) - ln(a * delta) / (a - 1)


ORDERS = [1 + F(round(2**20 * 2 ** (k / 8)), 2**20) for k in range(-48, 65)]
MIXTURES = [
    {0.1: 46},
    {Laplace(0.1): 46},
    {Exponential(0.1): 100},
    {Gaussian(0.0025): 83},
    [Laplace(1), Exponential(0.5), Gaussian(0.01), 0.2, (0.3, 1e-9)],
    {Laplace(0.001): 1000},
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("losses", MIXTURES)
@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 10**2)])
def test_renyi_divergences_are_converted_at_about_the_best_order(losses, delta):
    parts = several(losses)
    bound, order = best_conversion(total_of(parts), delta)

    def truth(a):
        return converted(sum(times * divergence(loss, a) for loss, times in parts), a, delta)

    assert close_above(bound, max(truth(order), F(0)))
    best = min(truth(a) for a in ORDERS)
    assert bound <= best * (1 + F(1, 10**6))
    rho = total_of(parts).rho
    tight, order = best_conversion(PrivacyLoss.gaussian(rho), delta)
    assert close_above(tight, converted(order * rho, order, delta))
    assert bound <= tight * (1 + F(1, 10**6))


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-5", "0.1", "1", "40"])
def test_laplace_reveals_no_more_than_a_pure_mechanism_and_is_rounded_up(epsilon):
    laplace, pure = Laplace(F(epsilon)).part, Loss(F(epsilon)).part
    e = F(epsilon)
    assert e - 1 + exp(-e) <= laplace.rho <= pure.rho
    for order in (F(1) + F(1, 2**20), F(2), F("8.93"), F(1000)):
        truth = divergence(Laplace(e), order)
        assert truth <= laplace.renyi(order) <= pure.renyi(order)
        if e > F(1, 1000):
            assert close_above(laplace.renyi(order), truth)


@pytest.mark.parametrize(("rho", "times"), [("0.0025", 1), ("0.0025", 83), ("0.5", 1), ("0.00001", 7)])
@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 10**2)])
def test_gaussian_noise_alone_is_counted_exactly(rho, times, delta):
    total = RULES["gaussian"].epsilon(several({Gaussian(F(rho)): times}), delta).epsilon
    mu = sqrt(2 * F(rho) * times)
    assert gaussian_delta(total, mu) <= delta
    if total:
        assert gaussian_delta(total * (1 - F(1, 10**4)), mu) > delta


def test_the_example_of_the_lecture():
    """Advanced composition of ten queries of 0.1: 1.77, worse than 1, and the row says so."""
    table = compose([0.1] * 10, delta=1e-6)
    assert table.loc["advanced", "epsilon"] == pytest.approx(
        0.1 * math.sqrt(20 * math.log(1e6)) + math.expm1(0.1), rel=1e-12
    )
    assert table.loc["advanced", "note"] == "worse than plain addition: 1.77 > 1"
    assert table.loc["basic", ["epsilon", "delta", "note"]].tolist() == [1.0, 0.0, ""]
    assert table.loc["zcdp", "note"].startswith("worse than plain addition: 1.47 > 1")
    assert table.loc["optimal", "note"] == ""


def test_it_pays_for_many_queries():
    table = compose({0.01: 3000}, delta=1e-6)
    assert (table["epsilon"].drop("basic").dropna() < table.loc["basic", "epsilon"]).all()


def test_which_rules_hold_when_epsilons_are_chosen_on_the_way():
    adaptive = compose([0.1], delta=1e-6)["adaptive"]
    assert adaptive[["basic", "fully_adaptive", "zcdp_simple", "zcdp"]].eq("yes").all()
    assert adaptive[["advanced", "optimal", "pld"]].eq("no").all()
    assert adaptive["rdp"] == "at an order fixed before"


def test_ways_to_write_losses():
    one = compose({0.1: 3, (0.2, 1e-8): 1}, delta=1e-6)
    for same in ([0.1, 0.1, 0.1, (0.2, 1e-8)], [Loss(0.1), F(1, 10), 0.1, Loss(0.2, 1e-8)]):
        pd.testing.assert_frame_equal(compose(same, delta=1e-6), one)
    assert one.loc["zcdp", "delta"] == 1.01e-6
    assert one.loc["basic", ["epsilon", "delta"]].tolist() == [0.5, 1e-8]
    three = compose([0.1] * 3, delta=1e-6)
    for same in (np.full(3, 0.1), pd.Series([0.1] * 3), {F(1, 10): 3}):
        pd.testing.assert_frame_equal(compose(same, delta=1e-6), three)
    assert three.loc["basic", "epsilon"] == 0.3


def test_gaussian_noise_has_rows_without_a_number():
    table = compose([Gaussian(0.01), 0.1], delta=1e-6)
    assert table.loc[["basic", "advanced", "fully_adaptive", "optimal", "gaussian"], "epsilon"].isna().all()
    assert table.loc["basic", "note"] == "Gaussian noise has no finite epsilon"
    assert table.loc["gaussian", "note"] == "for Gaussian noise alone"


def test_extremes_are_answered():
    table = compose([1e6, 1e-9], delta=1e-100)
    assert table.loc["basic", "epsilon"] == 1000000.00000001
    assert table.loc["advanced", "note"] == "far worse than plain addition"
    assert table.loc["rdp", "epsilon"] <= table.loc["basic", "epsilon"]
    assert table.loc["optimal", "epsilon"] <= table.loc["basic", "epsilon"]
    many = compose({0.1: 10**9}, delta=1e-6)
    assert many.loc["optimal", "note"] == "not computed for more than 100,000 queries"
    different = compose({0.1: 20_000, 0.2: 1}, delta=1e-6)
    assert different.loc["optimal", "note"] == "not computed for more than 20,000 queries"


@pytest.mark.parametrize("x", [F(3, 10), F(1, 3), F(2, 3) * 10**20, F(7), F(0), F(1, 10**90), F(123456789012345678)])
def test_floats_are_rounded_outwards_and_short_decimals_stay(x):
    up, down = float_above(x), float_below(x)
    assert F(str(down)) <= x <= F(str(up))
    assert up - down <= float(x) * 2e-14
    if x in (F(3, 10), F(7), F(0), F(1, 10**90)):
        assert up == down == float(x)
    else:
        assert F(down) <= x <= F(up)
    assert float_above(F(10) ** 400) == math.inf


@pytest.mark.parametrize(
    ("losses", "delta", "error", "line"),
    [
        ([], 1e-6, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ({}, 1e-6, ArgumentValueError, "compose({0.1: 46}, delta=1e-6)"),
        ((0.1, 1e-6), 1e-6, ArgumentTypeError, "compose([(0.1, 1e-8)], delta=1e-6)"),
        (0.1, 1e-6, ArgumentTypeError, "compose([0.1, 0.5], delta=1e-6)"),
        ("0.1", 1e-6, ArgumentTypeError, "compose([0.1, 0.5], delta=1e-6)"),
        (["0.1"], 1e-6, ArgumentTypeError, "compose([0.1, 0.5], delta=1e-6)"),
        ([True], 1e-6, ArgumentTypeError, "compose([0.1, 0.5], delta=1e-6)"),
        ([None], 1e-6, ArgumentTypeError, "compose([0.1, 0.5], delta=1e-6)"),
        ([[0.1, 1e-8]], 1e-6, ArgumentTypeError, "compose([(0.1, 1e-8)], delta=1e-6)"),
        (np.zeros((2, 2, 2)), 1e-6, ArgumentTypeError, "compose([0.1, 0.5], delta=1e-6)"),
        ([(0.1, 1e-8, 3)], 1e-6, ArgumentValueError, "compose([(0.1, 1e-8)], delta=1e-6)"),
        ([-0.1], 1e-6, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ([0], 1e-6, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ([math.nan], 1e-6, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ([math.inf], 1e-6, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ([(0.1, 1)], 1e-6, ArgumentValueError, "compose([(0.1, 1e-8)], delta=1e-6)"),
        ([(0.1, -1e-9)], 1e-6, ArgumentValueError, "compose([(0.1, 1e-8)], delta=1e-6)"),
        ({0.1: 0}, 1e-6, ArgumentValueError, "compose({0.1: 46}, delta=1e-6)"),
        ({0.1: 1.5}, 1e-6, ArgumentTypeError, "compose({0.1: 46}, delta=1e-6)"),
        ([0.1], 0, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ([0.1], 1, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ([0.1], -1e-6, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ([0.1], math.nan, ArgumentValueError, "compose([0.1, 0.5], delta=1e-6)"),
        ([0.1], "1e-6", ArgumentTypeError, "compose([0.1, 0.5], delta=1e-6)"),
        ({(0.1, 0.3): 3}, 0.2, ArgumentValueError, "smaller"),
    ],
)
def test_bad_inputs_are_refused_with_the_line_to_type(losses, delta, error, line):
    with pytest.raises(error) as refused:
        compose(losses, delta=delta)
    assert line in str(refused.value)


def test_how_losses_are_written():
    assert repr([Loss(0.1, 1e-8), Laplace(0.5), Exponential(1), Gaussian(0.25)]) == (
        "[Loss(0.1, 1e-8), Laplace(0.5), Exponential(1), Gaussian(0.25)]"
    )
    assert Laplace(0.1) != Loss(0.1)
    with pytest.raises(ArgumentValueError, match=r"rho=0\.5"):
        Gaussian(-1)

"""Gaussian calibration against eighty digits; groups and samples against enumeration."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, pairwise, product

import pytest
from accounting.digits import exp, gaussian_delta, ln

from pandas_dp.accounting import Exponential, Gaussian, Laplace, Loss, gaussian_sigma, group_privacy, subsampled
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

# -- Gaussian noise ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.0001", "0.1", "1", "5", "10"])
@pytest.mark.parametrize("delta", [F(1, 10**9), F(1, 10**5), F(1, 10), F(9, 10)])
def test_the_standard_deviation_is_enough_and_hardly_more(epsilon, delta):
    sigma = F(str(gaussian_sigma(F(epsilon), delta, sensitivity=3)))
    assert delta * (1 - F(3, 10**5)) <= gaussian_delta(F(epsilon), 3 / sigma) <= delta


def test_it_is_linear_in_the_sensitivity():
    assert gaussian_sigma(1, 1e-5, sensitivity=0.25) == pytest.approx(gaussian_sigma(1, 1e-5) / 4, rel=1e-13)
    assert gaussian_sigma(1, 1e-5) < math.sqrt(2 * math.log(1.25e5))


# -- laws with finitely many outcomes ---------------------------------------------------------------------------


def hockey_stick(p, q, epsilon):
    """Sum of the positive parts of p - e^epsilon q."""
    g = exp(epsilon) * (1 + F(1, 10**100))  # what is left of rounding at 120 digits
    return sum(max(p.get(z, F(0)) - g * q.get(z, F(0)), F(0)) for z in p)


def randomized_response(bit, epsilon):
    yes = 1 / (1 + exp(-epsilon))
    return {bit: yes, 1 - bit: 1 - yes}


def mixture(parts):
    law = {}
    for weight, part in parts:
        for z, p in part.items():
            law[z] = law.get(z, F(0)) + weight * p
    return law


def revealing(law, secret, delta):
    """With probability delta the secret itself, else a draw of the law."""
    return mixture([(1 - delta, law), (delta, {("revealed", secret): F(1)})])


def both_ways(p, q, epsilon):
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


# -- groups -----------------------------------------------------------------------------------------------------


def every_bit(bits, epsilon):
    laws = [randomized_response(bit, epsilon) for bit in bits]
    return {z: math.prod(law[b] for law, b in zip(laws, z, strict=True)) for z in product((0, 1), repeat=len(bits))}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_group_of_randomized_responses(size):
    """Changing k of the bits multiplies the epsilon by k exactly, and nothing less holds."""
    epsilon = F("0.7")
    p, q = every_bit([0] * size, epsilon), every_bit([1] * size, epsilon)
    total = F(str(group_privacy(0.7, size)))
    assert both_ways(p, q, total) == 0
    assert both_ways(p, q, total - F(1, 1000)) > 0


def staircase(x, epsilon, delta, top):
    """Neighbouring x use up (epsilon, delta) towards the left end: mass at 0 grows by e^epsilon and delta a step."""
    mass = F(0)
    for _ in range(x):
        mass = exp(epsilon) * mass + delta
    return {"low": mass, "high": 1 - mass} if x <= top else {}


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_delta_of_a_group_is_attained(size):
    epsilon, delta = F("0.5"), F(1, 100)
    laws = [staircase(x, epsilon, delta, size) for x in range(size + 1)]
    for one, two in pairwise(laws):
        assert both_ways(one, two, epsilon) <= delta * (1 + F(1, 10**50))
    total, slack = map(F, map(str, group_privacy((epsilon, delta), size)))
    reached = both_ways(laws[0], laws[-1], total)
    assert slack * (1 - F(1, 10**12)) <= reached <= slack


def test_groups_of_every_kind_of_loss():
    assert group_privacy(0.1, 3) == 0.3
    assert group_privacy((0.1, 0), 3) == (0.3, 0.0)
    assert group_privacy((5, 1e-6), 100) == (500.0, 1.0)
    assert group_privacy(Loss(0.5, 1e-6), 1) == Loss(0.5, 1e-6)
    assert group_privacy(Laplace(0.1), 3) == Laplace(0.3)
    assert group_privacy(Exponential(0.1), 3) == Exponential(0.3)
    assert group_privacy(Gaussian(0.01), 3) == Gaussian(0.09)
    with pytest.raises(ArgumentValueError, match="smaller size="):
        group_privacy(Loss(5, 1e-6), 100)
    with pytest.raises(ArgumentTypeError, match=r"group_privacy\(0.1, 3\)"):
        group_privacy(0.1, 1.5)
    with pytest.raises(ArgumentValueError, match=r"group_privacy\(0.1, 3\)"):
        group_privacy(-1, 3)


# -- samples ----------------------------------------------------------------------------------------------------


def presence(sample, epsilon, delta=F(0)):
    """Randomized response on whether unit 0 is in the sample: the worst that an (epsilon, delta) mechanism may do."""
    return revealing(randomized_response(int(0 in sample), epsilon), 0 in sample, delta)


def poisson(units, rate, epsilon, delta):
    parts = []
    for taken in product((0, 1), repeat=len(units)):
        weight = math.prod(rate if t else 1 - rate for t in taken)
        parts.append((weight, presence([u for u, t in zip(units, taken, strict=True) if t], epsilon, delta)))
    return mixture(parts)


@pytest.mark.parametrize("rate", ["0.01", "0.3", "1"])
@pytest.mark.parametrize("delta", [F(0), F(1, 50)])
def test_poisson_samples(rate, delta):
    """One unit more or less: the bound holds, and for pure mechanisms nothing less does."""
    epsilon = F("1.3")
    p, q = poisson([0, 1, 2], F(rate), epsilon, delta), poisson([1, 2], F(rate), epsilon, delta)
    check_tight(p, q, subsampled(1.3, delta, rate=float(rate)))


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("delta", [F(0), F(1, 50)])
def test_samples_of_fixed_size(size, delta):
    """Unit 0 replaced by unit 9."""
    epsilon, laws = F("1.3"), []
    for units in ([0, 1, 2, 3], [9, 1, 2, 3]):
        samples = list(combinations(units, size))
        laws.append(mixture([(F(1, len(samples)), presence(s, epsilon, delta)) for s in samples]))
    check_tight(*laws, subsampled(1.3, delta, rate=F(size, 4), sampling="without_replacement"))


def check_tight(p, q, bound):
    epsilon, delta = map(F, map(str, bound))
    assert both_ways(p, q, epsilon) <= delta
    if delta == 0:
        assert both_ways(p, q, epsilon - F(1, 10**6)) > 0


@pytest.mark.parametrize(("draws", "rows"), [(1, 4), (3, 3), (4, 2), (2, 1)])
def test_draws_with_replacement(draws, rows):
    """A noisy count of how often unit 0 was drawn: far out, the ratio is the mean of e^(epsilon count)."""
    samples = list(product(range(rows), repeat=draws))
    ratio = sum(exp(F("0.8") * s.count(0)) for s in samples) / len(samples)
    bound, delta = subsampled(0.8, sampling="with_replacement", draws=draws, rows=rows)
    assert delta == 0
    assert ln(ratio) <= F(str(bound)) <= ln(ratio) * (1 + F(1, 10**12))


def test_formulas_to_eighty_digits():
    for epsilon, rate in (("1e-9", "1e-9"), ("1", "0.01"), ("30", "0.001"), ("1e5", "0.5")):
        bound, _ = subsampled(F(epsilon), rate=F(rate))
        truth = ln(1 + F(rate) * (exp(F(epsilon)) - 1)) if F(epsilon) < 1000 else F(epsilon) + ln(F(rate))
        assert truth <= F(str(bound)) <= truth * (1 + F(1, 10**12))
    assert subsampled(1, 1e-6, rate=1) == (1.0, 1e-6)
    assert subsampled(1, 1e-6, rate=0.01, relation="add_remove")[1] == 1e-8


@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        (lambda: subsampled(1, rate=0.1, relation="replace_one"), ArgumentValueError, "'without_replacement'"),
        (
            lambda: subsampled(1, rate=0.1, sampling="without_replacement", relation="add_remove"),
            ArgumentValueError,
            "'poisson'",
        ),
        (lambda: subsampled(1, rate=0.1, sampling="with_replacement"), ArgumentValueError, "draws=100, rows=10_000"),
        (
            lambda: subsampled(1, 1e-6, sampling="with_replacement", draws=10, rows=100),
            ArgumentValueError,
            "delta=0 only",
        ),
        (lambda: subsampled(1, rate=0.1, draws=3), ArgumentValueError, "rate=0.01"),
        (lambda: subsampled(1), ArgumentValueError, "rate=0.01"),
        (lambda: subsampled(1, rate=0), ArgumentValueError, "rate=0.01"),
        (lambda: subsampled(1, rate=1.1), ArgumentValueError, "rate=0.01"),
        (lambda: subsampled(1, rate=math.nan), ArgumentValueError, "rate=0.01"),
        (lambda: subsampled(1, rate=0.1, sampling="bernoulli"), ArgumentValueError, "sampling='poisson'"),
        (lambda: subsampled(-1, rate=0.1), ArgumentValueError, "(1, "),
        (lambda: subsampled(1, 2, rate=0.1), ArgumentValueError, "(1, "),
        (lambda: gaussian_sigma(1, 0), ArgumentValueError, "gaussian_sigma(1, 1e-6, sensitivity=1)"),
        (lambda: gaussian_sigma(1, 1), ArgumentValueError, "(1, "),
        (lambda: gaussian_sigma(1e-9, 1e-6), ArgumentValueError, "gaussian_sigma(1, 1e-6, sensitivity=1)"),
        (lambda: gaussian_sigma("1", 1e-6), ArgumentTypeError, "(1, "),
        (lambda: gaussian_sigma(1, 1e-6, sensitivity=-1), ArgumentValueError, "sensitivity=1"),
        (lambda: gaussian_sigma(1, 1e-6, sensitivity=math.nan), ArgumentValueError, "sensitivity=1"),
    ],
)
def test_bad_inputs_are_refused_with_the_line_to_type(call, error, line):
    with pytest.raises(error) as refused:
        call()
    assert line in str(refused.value)

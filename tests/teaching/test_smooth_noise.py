"""Noise for smooth sensitivity as the lectures write it: densities, the largest loss, constants of lectures and ours."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from pandas_dp.core.mechanisms import smooth
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.teaching import admissible, sensitivities

PURE = ["cauchy", "polynomial", "student_t", "polynomial_laplace"]


def law(name: str, epsilon=1):
    return admissible(name, epsilon, 1e-6 if name in smooth.NEED_DELTA else 0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*PURE, "laplace", "gaussian"])
def test_densities_and_deviations(name):
    """By sums over z = sinh(u): one, and the variance where there is one."""
    u = np.linspace(-60, 60, 400_001)
    z, dz = np.sinh(u), np.cosh(u) * (u[1] - u[0])
    found = law(name)
    mass = found.density(z) * dz
    assert mass.sum() == pytest.approx(1, rel=1e-6)
    deviation = float(found.alpha) * found.deviation
    if name == "cauchy":
        assert deviation == math.inf
    else:
        assert math.sqrt(float((mass * z * z).sum())) == pytest.approx(deviation, rel=1e-4)


@pytest.mark.parametrize("gamma", [1.5, 3.5, 6])
def test_general_powers(gamma):
    u = np.linspace(-60, 60, 400_001)
    z, dz = np.sinh(u), np.cosh(u) * (u[1] - u[0])
    found = admissible("polynomial", 1, gamma=gamma)
    mass = found.density(z) * dz
    assert mass.sum() == pytest.approx(1, rel=1e-6)
    if gamma > 3.6:
        deviation = float(found.alpha) * found.deviation
        assert math.sqrt(float((mass * z * z).sum())) == pytest.approx(deviation, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.01, 1, 10])
@pytest.mark.parametrize("name", PURE)
def test_the_package_keeps_epsilon(name, epsilon):
    found = law(name, epsilon)
    assert (found.alpha, found.beta) == smooth.admissible(name, F(str(epsilon)), F(0))
    assert 0.4 * epsilon < found.loss <= epsilon * (1 + 1e-9)
    assert found.exact_delta == 0
    twin = admissible(name, epsilon, alpha=found.alpha * F(5, 2), beta=found.beta * F(5, 2))
    assert twin.loss > epsilon
    assert math.isnan(twin.exact_delta)


@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
@pytest.mark.parametrize("gamma", [1.1, 1.5, 2, 3, 4, 8, 20])
def test_any_power_keeps_epsilon(gamma, epsilon):
    assert admissible("polynomial", epsilon, gamma=gamma).loss <= epsilon


def lectured(gamma, epsilon) -> float:
    return (
        admissible("polynomial", epsilon, gamma=gamma, alpha=epsilon / (4 * gamma), beta=epsilon / gamma).loss / epsilon
    )


def test_constants_of_the_lectures():
    """Alpha = epsilon / 4 gamma, beta = epsilon / gamma: room at the usual powers, too much near 1 and from 8 on."""
    assert [round(lectured(gamma, 0.1), 2) for gamma in (2, 4)] == [0.51, 0.82]
    assert [round(lectured(gamma, 0.1), 3) for gamma in (1.1, 8, 12)] == [1.054, 1.005, 1.075]
    assert all(lectured(gamma, e) <= 1 for gamma in (1.3, 2, 4, 7) for e in (0.01, 1, 10))
    paper = [admissible("polynomial", 1, gamma=2, alpha=1 / 6, beta=1 / 6).loss, lectured(2, 1)]
    assert [round(loss, 2) for loss in paper] == [0.23, 0.51]


def test_two_steps_of_laplace_noise():
    """Beta = epsilon / (2 ln(2 / delta)): far below delta at 1, above it from about 15 on."""
    spent = [
        admissible("laplace", e, 1e-6, alpha=e / 2, beta=e / 2 / math.log(2e6)).exact_delta / 1e-6
        for e in (1, 10, 15, 20)
    ]
    assert [round(s, 3) for s in spent] == [0.004, 0.333, 1.449, 5.218]
    assert law("laplace").exact_delta <= 1e-6
    assert law("gaussian").exact_delta <= 1e-6
    assert law("laplace").loss == math.inf
    tails = 5 * math.sqrt(2 * math.log(2e6)), 4 * (1 + math.log(2e6))
    classic = admissible("gaussian", 1, 1e-6, alpha=1 / tails[0], beta=1 / tails[1])
    assert 4 < classic.deviation / law("gaussian").deviation < 10


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*PURE, "laplace", "gaussian"])
def test_answers_are_q_plus_scaled_noise(name):
    """Half of |A(d) - q(d)| alpha / S* lie below the median of |Z|: 500 +- 78 of 1000, beyond which P < 1e-6.

    A scale that is wrong by a factor of 3/2 puts fewer than 400 or more than 600 of them there.
    """
    found = law(name)
    data = sensitivities(range(1, 11), (0, 1000), beta=found.beta, relation="replace_one")
    u = np.linspace(0, 60, 200_001)
    z = np.sinh(u)
    below = np.cumsum(found.density(z) * np.cosh(u) * (u[1] - u[0]))
    middle = float(z[np.searchsorted(below, 0.25)])
    scale = data.smooth_sensitivity / float(found.alpha)
    near = sum(abs(found.answer(data) - 5) <= middle * scale for _ in range(1000))
    assert 422 <= near <= 578


def test_answers_of_other_noise_are_refused():
    found, data = admissible("polynomial", 1), sensitivities([1, 2], (0, 9), beta=1)
    with pytest.raises(ArgumentValueError, match="not smooth enough"):
        found.answer(data)
    smoother = sensitivities([1, 2], (0, 9), beta=0.1)
    with pytest.raises(ArgumentValueError, match="gamma=4"):
        admissible("polynomial", 1, gamma=3).answer(smoother)
    with pytest.raises(ArgumentTypeError, match=r"sensitivities\(\)"):
        found.answer(5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"law": "cauchi"},
        {"law": 3},
        {"delta": 1e-6},
        {"law": "laplace"},
        {"gamma": 1},
        {"law": "cauchy", "gamma": 2},
        {"alpha": 0, "beta": 1},
        {"epsilon": 0},
    ],
)
def test_what_is_refused(arguments):
    with pytest.raises(ArgumentValueError, match=r"admissible\("):
        admissible(**({"law": "polynomial", "epsilon": 1} | arguments))


def test_one_constant_alone_is_refused():
    with pytest.raises(ArgumentTypeError, match="both"):
        admissible("polynomial", 1, alpha=0.1)


def test_the_picture():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots(1, 3)
    found = admissible("student_t", 1)
    assert found.plot(axes) is axes
    losses = [line.get_ydata() for line in axes[2].lines[:2]]
    assert max(np.abs(values).max() for values in losses) <= 1 + 1e-9
    for ax in axes[:2]:
        still, moved = (line.get_ydata() for line in ax.lines)
        assert np.abs(np.log(still / moved)).max() <= 1

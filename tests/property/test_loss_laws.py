"""The evaluation that judges admitted sequences, against sums over the outputs of the mechanisms themselves."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from support.loss_laws import OFFSETS, Drawn, atoms, delta, gaussian_rho

HALF = F(1, 2)


def laplace_outputs(epsilon: float, steps: int) -> np.ndarray:
    """Probabilities of -150 ... 150 when the exact answer is 0 and when it is `steps`: shape (2, 301)."""
    z = np.arange(-150, 151)
    laws = np.exp(-np.abs(z[None] - np.array([[0], [steps]])) * epsilon / steps)
    return laws / laws.sum(axis=1, keepdims=True)


def gaussian_outputs(rho: float) -> np.ndarray:
    """Masses of fine cells under two normal laws of unit variance: shape (2, 20001)."""
    x = np.linspace(-9, 9, 20_001)
    laws = np.exp(-((x[None] - np.array([[0], [math.sqrt(2 * rho)]])) ** 2) / 2)
    return laws / laws.sum(axis=1, keepdims=True)


def together(*mechanisms: np.ndarray) -> np.ndarray:
    """Product laws of independent outputs."""
    joint = np.ones((2, 1))
    for laws in mechanisms:
        joint = (joint[:, :, None] * laws[:, None, :]).reshape(2, -1)
    return joint


def hockey_stick(laws: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(0, laws[0] - math.exp(epsilon) * laws[1]).sum())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("total", [0.1, 0.5, 1.0, 1.7])
def test_delta_against_sums_over_outputs(total):
    laplace = [Drawn("laplace", F(3, 5), 3), Drawn("laplace", F(1), 5)]
    outputs = together(*(laplace_outputs(float(d.epsilon), d.steps) for d in laplace))
    assert delta(laplace, total) == pytest.approx(hockey_stick(outputs, total), rel=1e-9, abs=1e-12)
    mixed = [laplace[0], Drawn("response", F(3, 10)), Drawn("gaussian", rho=0.05), Drawn("gaussian", rho=0.03)]
    response = np.array([[math.exp(0.3), 1], [1, math.exp(0.3)]]) / (1 + math.exp(0.3))
    outputs = together(laplace_outputs(0.6, 3), response, gaussian_outputs(0.08))
    assert delta(mixed, total) == pytest.approx(hockey_stick(outputs, total), rel=1e-4, abs=1e-9)


def test_reveals_and_bounded_ranges():
    """Revealed with probability t, the outputs are apart; the exponential mechanism chooses between two candidates."""
    assert delta([Drawn("response", HALF, reveal=F(1, 10))] * 2, 1.0) == pytest.approx(1 - 0.9**2)
    assert delta([Drawn("response", HALF)] * 2, 1.0) == 0
    draws, best = [Drawn("range", F(4, 5))] * 3, 0.0
    for (
        offset
    ) in OFFSETS:  # outcomes of weights w : 1 and w e^(4/5) : 1, whose losses are offset epsilon, and epsilon less
        high = atoms(draws[0], offset)
        laws = np.array([[p for _, p in high], [p * math.exp(-loss / 1200) for loss, p in high]])
        assert laws.sum(axis=1) == pytest.approx(1)
        odds = laws[:, 0] / laws[:, 1]
        assert odds[0] / odds[1] == pytest.approx(math.exp(0.8))
        best = max(best, hockey_stick(together(laws, laws, laws), 0.9))
    assert delta(draws, 0.9) == pytest.approx(best)
    assert 0 < best < delta([Drawn("response", F(4, 5))] * 3, 0.9)


def test_rho_of_a_calibration():
    for epsilon, target in ((F(1), F("1e-5")), (F("0.05"), F("1e-3")), (F(3), F("1e-6"))):
        rho = gaussian_rho(epsilon, target)
        reached = delta([Drawn("gaussian", rho=rho / 4)] * 4, float(epsilon))
        assert reached == pytest.approx(float(target), rel=1e-6)
    assert gaussian_rho(F(1), F("1e-5")) == pytest.approx(1 / (2 * 3.7306**2), rel=1e-4)  # a known sigma

"""Privacy loss distributions, by the optional package dp-accounting (Google, Apache 2.0), loaded when first needed."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

from pandas_dp.accounting.losses import Gaussian, Laplace, Losses

INSTALL = "needs dp-accounting: pip install 'pandas-dp[pld]'"
FAST_FOURIER_ERROR = Fraction(1, 10**12)  # the library's delta can be below the true one by about 1e-16
_FINEST, _POINTS, _CELLS = 1e-4, 500, 10**7


def pld_epsilon(losses: Losses, target: Fraction) -> Fraction | None:
    """Least epsilon at this delta on a grid of losses, all rounded up; None: the library is not installed.

    Laplace and Gaussian noise have their own laws; every other loss is counted as randomized response.
    """
    try:
        library = import_module("dp_accounting.pld.privacy_loss_distribution")
        common = import_module("dp_accounting.pld.common")
    except ImportError:
        return None
    grid = _grid(losses)
    composed: Any = None
    for loss, times in losses:
        if isinstance(loss, Gaussian):
            deviation = 1 / (2 * float(loss.rho)) ** 0.5 * (1 - 1e-12)
            law = library.from_gaussian_mechanism(deviation, value_discretization_interval=grid)
        elif isinstance(loss, Laplace) and not loss.delta:
            scale = 1 / float(loss.epsilon) * (1 - 1e-12)
            law = library.from_laplace_mechanism(scale, value_discretization_interval=grid)
        else:
            terms = common.DifferentialPrivacyParameters(float(loss.epsilon), float(loss.delta))
            law = library.from_privacy_parameters(terms, value_discretization_interval=grid)
        law = law.self_compose(times) if times > 1 else law
        composed = law if composed is None else composed.compose(law)
    epsilon = float(composed.get_epsilon_for_delta(float(target - FAST_FOURIER_ERROR)))
    return Fraction(epsilon) * (1 + Fraction(1, 10**12)) if epsilon < 1e300 else Fraction(10) ** 400


def _grid(losses: Losses) -> float:
    """Interval of the grid: the least epsilon over a power of two, so that floats divide it without a rest.

    The library rounds every loss up, +epsilon and -epsilon alike, and what that adds accumulates over the queries.
    """
    epsilons = [(2 * float(x.rho)) ** 0.5 if isinstance(x, Gaussian) else float(x.epsilon) for x, _ in losses]
    total = sum(epsilon * times for epsilon, (_, times) in zip(epsilons, losses, strict=True))
    finest = max(min(_FINEST, min(epsilons) / _POINTS), total / _CELLS)
    return min(epsilons) / 2.0 ** max(0, math.ceil(math.log2(min(epsilons) / finest)))

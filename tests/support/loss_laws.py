"""What fixed mechanisms give away together, from the laws of their losses; nothing of the package is used.

Losses of everything but Gaussian noise are whole numbers of units, so that their law is exact up to the rounding of floats.
Gaussian losses are not put on a grid: those of all draws together are normal, of mean rho and variance 2 rho, and
conditionally on the other losses summing to v their part of delta is the curve of one Gaussian mechanism at epsilon - v.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

UNIT = Fraction(1, 1200)
OFFSETS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))  # of a bounded range, where its losses may lie


@dataclass(frozen=True)
class Drawn:
    """One admitted draw.

    `kind` is "laplace" (discrete, for shifts by `steps`), "range" (an exponential mechanism with two outcomes), "response"
    (the worst of all pure mechanisms) or "gaussian", whose `rho` counts; with probability `reveal` it tells everything.
    """

    kind: str
    epsilon: Fraction = Fraction(0)
    steps: int = 1
    rho: float = 0.0
    reveal: Fraction = Fraction(0)


def atoms(draw: Drawn, offset: Fraction) -> list[tuple[int, float]]:
    """Losses in units and their probabilities."""
    e, whole = float(draw.epsilon), _units(draw.epsilon)
    if draw.kind == "range":
        high = float(offset * draw.epsilon)  # this loss, or epsilon less; under the other table they sum to 1, too
        often = (math.exp(e) - math.exp(high)) / math.expm1(e)
        return [(_units(offset * draw.epsilon), often), (_units(offset * draw.epsilon) - whole, 1 - often)]
    # P(z) = (1 - p) / (1 + p) p^|z| moved by `steps`: z <= 0, between, z >= steps
    steps = draw.steps if draw.kind == "laplace" else 1
    p, step = math.exp(-e / steps), _units(draw.epsilon / steps)
    between = [((steps - 2 * z) * step, (1 - p) / (1 + p) * p**z) for z in range(1, steps)]
    return [(whole, 1 / (1 + p)), *between, (-whole, p**steps / (1 + p))]


def delta(draws: Iterable[Drawn], epsilon: float) -> float:
    """Exact delta at a total epsilon, for the worst of some offsets of the bounded ranges."""
    draws = list(draws)
    kept = math.prod(1 - float(draw.reveal) for draw in draws)
    return 1 - kept * (1 - max(_without_reveals(draws, epsilon, offset) for offset in OFFSETS))


def _without_reveals(draws: list[Drawn], epsilon: float, offset: Fraction) -> float:
    law, least = np.ones(1), 0  # law[i]: probability that the losses sum to least + i units
    for draw in draws:
        if draw.kind == "gaussian":
            continue
        parts = atoms(draw, offset)
        low = min(loss for loss, _ in parts)
        longer = np.zeros(law.size + max(loss for loss, _ in parts) - low)
        for loss, chance in parts:
            longer[loss - low : loss - low + law.size] += chance * law
        law, least = longer, least + low
    losses = (least + np.arange(law.size)) * float(UNIT)
    return float(law @ gaussian_curve(epsilon - losses, sum(draw.rho for draw in draws)))


def gaussian_curve(epsilon: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Delta at each epsilon of Gaussian mechanisms whose rhos sum to this; of nothing at all where it is 0."""
    if rho == 0:
        return np.maximum(0, -np.expm1(np.minimum(epsilon + 1e-12, 0)))  # what rounding alone makes of 0 is 0
    deviation = math.sqrt(2 * rho)
    after = np.exp(epsilon + log_ndtr(-(epsilon + rho) / deviation))
    return np.maximum(0, ndtr(-(epsilon - rho) / deviation) - after)


@cache
def gaussian_rho(epsilon: Fraction, target: Fraction) -> float:
    """Rho of the least Gaussian noise for (epsilon, target), by bisection."""
    low, high = 1e-9, 1e3
    for _ in range(80):
        middle = math.sqrt(low * high)
        fits = gaussian_curve(np.array([float(epsilon)]), middle)[0] <= float(target)
        low, high = (middle, high) if fits else (low, middle)
    return high


def _units(loss: Fraction) -> int:
    units = loss / UNIT
    if units.denominator != 1:
        raise ValueError(f"{loss} is no whole number of units")
    return int(units)

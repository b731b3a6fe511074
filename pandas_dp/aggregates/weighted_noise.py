"""Sums of independent noise of released cells, each with a weight: the exact law, also of noise of few steps."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.noise import Noise

Floats = NDArray[np.float64]
HIGHEST = 0.999  # level above which the bound is taken that holds for all weights
CORRECTION_SHARE = 0.05  # of the error probability there, spent on what is discrete about the noise
FINE = 18.0  # variance of noise from which whole steps are small, as of Laplace noise of scale 3
ROUNDED = 3.0  # deviation of Gaussian noise from which its rounding only adds to the variance
ROUNDING = 1 / 12  # that much
MOST_OF_IT = 0.5  # of the variance of a sum
FEW = 1e-4  # of the variance of a sum: such a term counts as normal
FAST, SLOW = (1200, 90.0), (4500, 450.0)  # points of an integral over a characteristic function, and where it ends
BLUR, SLACK = 0.01, 2.5  # normal noise on top, in deviations, so that the integral ends; and how far it reaches
HALVINGS = 60
MANY = 1e12  # variance of noise of many small steps
LEAST_CHANCE = 1e-12  # of a step of noise that counts
LEAST = 1e-300  # below which nothing is told from 0


class CellNoise(NamedTuple):
    """Noise of one cell: its variance, whether it is Laplace noise, of little normal noise the deviation before rounding."""

    variance: float = 0.0
    laplace: bool = False
    deviation: float = 0.0

    @classmethod
    def of(cls, noise: Noise | None) -> CellNoise:
        """Of the mechanism of a table; of a number without noise there is none."""
        if noise is None:
            return cls()
        deviation = noise.standard_deviation
        if isinstance(noise, DiscreteLaplace):
            return cls(max(deviation**2, LEAST), laplace=True)
        if deviation >= ROUNDED:
            return cls(deviation**2 + ROUNDING)
        steps, chances = _rounded(deviation)
        return cls(max(float(steps**2 @ chances), LEAST), deviation=deviation)

    @property
    def excess(self) -> float:
        """Of a squared error over its variance: kurtosis less 1 (discrete Laplace noise has 6 + 1 / v)."""
        if self.deviation:
            steps, chances = _rounded(self.deviation)
            return float(steps**4 @ chances) / self.variance**2 - 1
        return 5 + 1 / self.variance if self.laplace else 2.0

    def logarithm(self, u: Floats) -> Floats:
        """Of the characteristic function."""
        if self.laplace:  # (1 - p)^2 / (1 - 2 p cos u + p^2), with v = 2 p / (1 - p)^2
            return -np.log1p(self.variance * (1 - np.cos(u)))
        if not self.deviation:
            return -self.variance * u**2 / 2
        steps, chances = _rounded(self.deviation)
        some = (steps > 0) & (chances > LEAST_CHANCE)  # it is symmetric
        waves: Floats = chances[steps == 0] + 2 * np.cos(np.outer(u, steps[some])) @ chances[some]
        return np.log(np.maximum(waves, LEAST))


@lru_cache(maxsize=64)
def _rounded(deviation: float) -> tuple[Floats, Floats]:
    """Normal noise as it is rounded: whole steps and their probabilities."""
    most = math.ceil(12 * deviation) + 1
    steps = np.arange(-most, most + 1)
    below = np.array([NormalDist().cdf((step - 0.5) / deviation) for step in [*steps.tolist(), most + 1]])
    return steps.astype(np.float64), np.diff(below)


class Law(NamedTuple):
    """Of a sum of weighted independent draws: weights from the largest part of the variance on, their noise, and how many."""

    terms: tuple[tuple[float, CellNoise, int], ...] = ()

    @property
    def variance(self) -> float:
        """Of the sum."""
        return sum(weight**2 * noise.variance * times for weight, noise, times in self.terms)

    @property
    def squares(self) -> float:
        """Sum of the squared weights."""
        return sum(weight**2 * times for weight, _, times in self.terms)

    @classmethod
    def of(cls, weights: Counter[tuple[float, CellNoise]]) -> Law:
        """Of the noisy cells of each weight."""
        found = [(abs(weight), noise, times) for (weight, noise), times in weights.items() if weight and noise.variance]
        return cls(tuple(sorted(found, key=lambda term: -(term[0] ** 2) * term[1].variance)))


@lru_cache(maxsize=4096)
def half_width(law: Law, level: float) -> float:
    """Within which the sum stays with this probability.

    By its characteristic function: P(|E| <= t) = 2/pi times the integral of sin(ut) / u phi(u). Where noise of few steps has a
    part in it, so that single values have a probability of their own, a hundredth of a deviation of normal noise is added, over
    which t then steps; where one draw of more steps makes most of the variance, t reaches half a step farther. At the highest
    levels by a bound for all weights, see `DiscreteLaplace.combined`: continuous noise has a variance that is larger by at
    most 1/6, and what is discrete moves a sum by no more than Hoeffding's bound.
    """
    variance = law.variance
    if variance <= 0:
        return 0.0
    if level > HIGHEST:
        spread = math.sqrt((variance + law.squares / 6) / 2)
        rounding = math.sqrt(law.squares * math.log(2 / (CORRECTION_SHARE * (1 - level))) / 2)
        return spread * DiscreteLaplace(Fraction(1)).combined(1 - (1 - level) * (1 - CORRECTION_SHARE)) + rounding
    deviation = math.sqrt(variance)
    coarse = any(noise.variance < FINE and h**2 * noise.variance > FEW * variance for h, noise, _ in law.terms)
    points, end = SLOW if coarse else FAST
    u = (np.arange(points) + 0.5) * (end / points) / deviation
    logs, small = np.zeros(points), (BLUR * deviation) ** 2 * coarse
    for weight, noise, times in law.terms:
        if (part := weight**2 * noise.variance) <= FEW * variance:
            small += part * times
        elif noise.laplace and not coarse:  # as if it were continuous, so without its period
            logs -= times * np.log1p(part * u**2 / 2)
        else:
            logs += times * noise.logarithm(np.multiply(u, weight))
    waves = np.exp(logs - small * u**2 / 2) / u * (2 / math.pi) * (u[1] - u[0])
    low, high = 0.0, 12 * deviation
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = float((np.sin(u * middle) * waves).sum())
        low, high = (middle, high) if inside < level else (low, middle)
    weight, noise, _ = law.terms[0]
    step = weight / 2 if weight**2 * noise.variance > MOST_OF_IT * variance else 0.0
    return high + (SLACK * BLUR * deviation if coarse else step)


def in_deviations(law: Law, level: float) -> float:
    """About how many deviations `half_width` is, as if all noise were of many small steps."""
    if not law.variance:
        return 0.0
    unit = MANY / law.variance
    terms = tuple((h, CellNoise(v * unit, laplace), times) for h, (v, laplace, _), times in law.terms)
    found: float = half_width(Law(terms), level) / math.sqrt(MANY)
    return found

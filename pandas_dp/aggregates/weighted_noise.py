"""Sums of independent noise of released cells, each with a weight: the exact law, also of noise of few steps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from pandas_dp.aggregates.rotated import Floats
from pandas_dp.aggregates.uncertainty import narrowed
from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.randomness import Fill, random_bytes

HIGHEST = 0.999  # level above which the bound is taken that holds for all weights
CORRECTION_SHARE = 0.05  # of the error probability there, spent on what is discrete about the noise
FINE = 18.0  # variance of noise from which whole steps are small, as of Laplace noise of scale 3
ROUNDED = 3.0  # deviation of Gaussian noise from which its rounding only adds to the variance
ROUNDING = 1 / 12  # that much
MOST_OF_IT = 0.5  # of the variance of a sum
FEW = 1e-4  # of the variance of a sum: such a term counts as normal
FAST, SLOW = (1200, 90.0), (4500, 450.0)  # points of an integral over a characteristic function, and where it ends
BLUR, SLACK = 0.01, 2.5  # normal noise on top, in deviations, so that the integral ends; and how far it reaches
MANY = 1e12  # variance of noise of many small steps
LEAST_CHANCE = 1e-12  # of a step of noise that counts
LEAST = 1e-300  # below which nothing is told from 0
WHOLE = 2**40  # of which weights of means are shares, and in which steps are small


class CellNoise(NamedTuple):
    """Noise of one cell: its variance, whether it is Laplace noise, of little normal noise the deviation before rounding."""

    variance: float = 0.0
    laplace: bool = False
    deviation: float = 0.0
    parts: tuple[tuple[float, CellNoise], ...] = ()  # of a mean of draws, with their weights

    @classmethod
    def of(cls, noise: Noise | None) -> CellNoise:
        """Of the mechanism of a table; of a number without noise there is none."""
        if noise is None:
            return cls()
        deviation = noise.standard_deviation
        if isinstance(noise, MeanNoise):
            return cls(deviation**2, parts=tuple((float(share), cls.of(each)) for share, each in noise.parts))
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
        if self.parts:
            return 2.0 + sum((h**2 * one.variance / self.variance) ** 2 * (one.excess - 2) for h, one in self.parts)
        return 5 + 1 / self.variance if self.laplace else 2.0

    def logarithm(self, u: Floats) -> Floats:
        """Of the characteristic function."""
        if self.laplace:  # (1 - p)^2 / (1 - 2 p cos u + p^2), with v = 2 p / (1 - p)^2
            return -np.log1p(self.variance * (1 - np.cos(u)))
        if self.parts:
            return sum((one.logarithm(u * h) for h, one in self.parts), -ROUNDING * u**2 / 2)
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
    levels by `for_all_weights`.
    """
    variance = law.variance
    if variance <= 0:
        return 0.0
    if level > HIGHEST:
        return for_all_weights(variance, law.squares, level)
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
    _, high = narrowed(lambda half: (np.sin(u * half) * waves).sum() >= level, 0.0, 12 * deviation)
    weight, noise, _ = law.terms[0]
    step = weight / 2 if weight**2 * noise.variance > MOST_OF_IT * variance else 0.0
    return high + (SLACK * BLUR * deviation if coarse else step)


def for_all_weights(variance: float, squares: float, level: float) -> float:
    """The same for all weights of this sum of squares, see `DiscreteLaplace.combined`.

    Continuous noise has a variance that is larger by at most 1/6, and what is discrete moves a sum by no more than Hoeffding's
    bound.
    """
    spread = math.sqrt((variance + squares / 6) / 2)
    rounding = math.sqrt(squares * math.log(2 / (CORRECTION_SHARE * (1 - level))) / 2)
    of_one = DiscreteLaplace(Fraction(WHOLE)).combined(1 - (1 - level) * (1 - CORRECTION_SHARE)) / WHOLE
    return spread * of_one + rounding


@dataclass(frozen=True)
class MeanNoise(Noise):
    """The noise of a mean of draws of one exact integer, weighted by precision and rounded to an integer: for display only.

    Attributes
    ----------
    parts : tuple of (Fraction, Noise)
        The weight of each draw, 1 in all, and its noise.
    """

    parts: tuple[tuple[Fraction, Noise], ...]

    @classmethod
    def of(cls, noises: Sequence[Noise]) -> MeanNoise:
        """Of draws with this noise, each weighted by 1 / variance."""
        precisions = [1 / Fraction(max(noise.standard_deviation**2, LEAST)) for noise in noises]
        shares = [Fraction(int(WHOLE * one / sum(precisions)), WHOLE) for one in precisions]
        largest = shares.index(max(shares))
        shares[largest] += 1 - sum(shares)
        return cls(tuple(zip(shares, noises, strict=True)))

    def mean(self, draws: Sequence[Sequence[int]]) -> list[int]:
        """The mean of what was drawn, rounded: that of an exact integer is as far off as its error is, rounded."""
        weights = [int(2 * WHOLE * share) for share, _ in self.parts]
        return [
            (sum(w * y for w, y in zip(weights, some, strict=True)) + WHOLE) // (2 * WHOLE)
            for some in zip(*draws, strict=True)
        ]

    @property
    def name(self) -> str:  # type: ignore[override]
        """How many draws of what."""
        return (
            f"mean of {len(self.parts)} draws of {' and '.join(dict.fromkeys(noise.name for _, noise in self.parts))}"
        )

    @property
    def _law(self) -> Law:
        return Law.of(Counter((float(share), CellNoise.of(noise)) for share, noise in self.parts))

    @property
    def standard_deviation(self) -> float:
        """See `Noise`."""
        return math.sqrt(self._law.variance + ROUNDING)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """Nothing is drawn from it."""
        raise TypeError("a mean of draws is made of draws")

    def half_width(self, level: float) -> int:
        """See `Noise`."""
        return max(0, math.ceil(half_width(self._law, level) - 1 / 2))

    def tail(self, level: float) -> float:
        """See `Noise`: a combination of means is one of draws, and its squared weights add up to 1 at most."""
        return min(max(noise.tail(level) for _, noise in self.parts) + 1 / 2, self.combined(level))

    def combined(self, level: float) -> float:
        """See `Noise`; each mean is rounded as well."""
        law = self._law
        return for_all_weights(law.variance, law.squares + 1, level)

    def half_widths(self, weights: Floats, level: float) -> Floats:
        """See `Noise`: draws of one kind of noise are those of the first one with other weights."""
        noises = [noise for _, noise in self.parts]
        if len({type(noise) for noise in noises}) > 1:
            return self.combined(level) * np.sqrt((weights**2).sum(axis=0))
        sizes = [float(share * Fraction(getattr(noise, noise.told))) for share, noise in self.parts]
        unit = float(getattr(noises[0], noises[0].told))
        of_one = noises[0].half_widths(np.concatenate([weights * (size / unit) for size in sizes]), level)
        rounding: Floats = np.abs(weights).sum(axis=0) / 2
        return of_one + rounding

    def lifting(self, steps: int, bits: int) -> Fraction:
        """See `Noise`: no threshold is made for it."""
        return Fraction(1)


def in_deviations(law: Law, level: float) -> float:
    """About how many deviations `half_width` is, as if all noise were of many small steps."""
    if not law.variance:
        return 0.0
    unit = MANY / law.variance
    terms = tuple((h, CellNoise(noise.variance * unit, noise.laplace), times) for h, noise, times in law.terms)
    return half_width(Law(terms), level) / math.sqrt(MANY)

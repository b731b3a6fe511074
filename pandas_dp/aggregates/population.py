"""Intervals that hold for a population of which the rows are a random sample: noise and sampling together, for free.

The law is that of a weighted sum of noise plus a normal error, whose size is computed from the noisy sums themselves. As with
every t-interval that is exact in many rows, and of few rows as good as the normal law is for their mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Answer, ExpectedError, SingleLook, Terms, as_question
from pandas_dp.aggregates.cross_tables import CellErrors
from pandas_dp.aggregates.forms import Made
from pandas_dp.aggregates.moments import Mean, Variance
from pandas_dp.aggregates.rotated import Floats, Law
from pandas_dp.aggregates.several import Cells, Columns
from pandas_dp.aggregates.shared_moments import RotatedMean, SharedMoments, shown
from pandas_dp.aggregates.uncertainty import ENOUGH, NUMBER, EachOf, Ends, ErrorModel, Ratio, normal, series_of
from pandas_dp.aggregates.weighted_noise import MeanNoise
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.facts.kinds import Kind

GAP, LEAST_OF_LARGEST = 1e-3, 1e-3  # of scales, so that partial fractions keep their digits
STEPS_OF_NEWTON = 4
DIRECT, TERMS = 5.0, 20  # up to where `erfc` has all its digits, and of its continued fraction beyond
MANY, REACH, POINTS = 100.0, 40.0, 801
REFITS = 5


def erfcx(x: Floats) -> Floats:
    """exp(x^2) erfc(x) for x >= 0: directly, then by its continued fraction."""
    near, far = np.minimum(x, DIRECT), np.maximum(x, DIRECT)
    tail = np.zeros_like(x)
    for k in range(TERMS, 0, -1):
        tail = (k / 2) / (far + tail)
    direct = np.exp(near**2) * np.array([math.erfc(v) for v in near.ravel().tolist()]).reshape(x.shape)
    return np.where(x < DIRECT, direct, 1 / (math.sqrt(math.pi) * (far + tail)))


@lru_cache(maxsize=1024)
def student(freedom: float, level: float) -> float:
    """The same for Student's t, with at least one degree of freedom.

    By the expansion of Cornish and Fisher from 100 degrees on. Below, t = sqrt(f) sinh(u / sqrt(f)) has the density
    c cosh(u / sqrt(f))^-f, which is log-concave: each of Newton's steps ends where the tail is small enough.
    """
    z = normal(level)
    if freedom >= MANY:
        first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return z + first / freedom + second / freedom**2 + third / freedom**3
    root, u = math.sqrt(freedom), z
    size = 2 * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / (root * math.sqrt(math.pi))
    step = REACH / (POINTS - 1)
    weights = np.where(np.arange(POINTS) % 2, 4, 2) * step / 3  # Simpson's
    weights[[0, -1]] = step / 3
    for _ in range(2 * STEPS_OF_NEWTON):
        v = (u + step * np.arange(POINTS)) / root
        density = size * np.exp(-freedom * (np.logaddexp(v, -v) - math.log(2)))
        chance = float(density @ weights)
        u += math.log(chance / (1 - level)) * chance / float(density[0])
    return root * math.sinh(u / root)


@np.errstate(under="ignore")
def with_normal(law: Law, weights: Floats, spread: Floats, level: float) -> Floats:
    """Half-widths of weighted sums of noise, weights of shape (draws, n), plus normal errors of deviations of shape (n,).

    Of continuous Laplace noise of different scales a_i the density is sum c_i exp(-|x| / a_i) / (2 a_i), see
    `DiscreteLaplace.half_widths`, and so with a normal error of standard deviation s the tail is 2 Phi(-x/s) + sum c_i (P_i -
    M_i) and its derivative -sum c_i (P_i + M_i) / a_i, where P_i, M_i = exp(-x^2 / 2s^2) / 2 times erfcx((s/a_i -+ x/s) /
    sqrt(2)). Of a negative argument, P_i = exp(s^2 / 2a_i^2 - x / a_i) less its mirror image, which is no large number. The
    tail is log-concave, so each of Newton's steps ends where it is small enough. Scales that are equal are moved apart upwards,
    as there, by so much that partial fractions keep their digits at every level. Gaussian noise has the root of the squares of
    both half-widths.
    """
    noise: Any = law
    if isinstance(law, Made):
        noise, weights = law.noise, law.released(weights)
    root: Floats = np.hypot(noise.half_widths(weights, level), normal(level) * spread)
    if not isinstance(noise, DiscreteLaplace):
        return root
    sizes = np.abs(weights)
    largest = np.where(sizes.max(axis=0) > 0, sizes.max(axis=0), 1)
    a = np.maximum(np.sort(sizes, axis=0) / largest, LEAST_OF_LARGEST)
    for i in range(1, len(a)):
        a[i] = np.maximum(a[i], a[i - 1] * (1 + GAP))
    shares = np.ones_like(a)
    for i, j in permutations(range(len(a)), 2):
        shares[i] *= a[i] ** 2 / (a[i] ** 2 - a[j] ** 2)
    unit = largest * float(noise.scale)
    s, x = np.maximum(spread / unit, 1e-6), root / unit
    for _ in range(STEPS_OF_NEWTON):
        common = np.exp(-((x / s) ** 2) / 2) / 2
        plus, minus, alone = (s / a + x / s) / math.sqrt(2), (s / a - x / s) / math.sqrt(2), x / s / math.sqrt(2)
        outer, inner, whole = np.split(erfcx(np.concatenate([plus, np.abs(minus), alone[None]])), [len(a), 2 * len(a)])
        mirrored = np.exp(np.minimum(s**2 / (2 * a**2) - x / a, 0)) - common * inner
        p, m = np.where(minus < 0, mirrored, common * inner), common * outer
        chance = 2 * (common * whole)[0] + (shares * (p - m)).sum(axis=0)
        x = x + np.log(chance / (1 - level)) * chance / (shares * (p + m) / a).sum(axis=0)
    return x * unit + sizes.sum(axis=0)


@dataclass(frozen=True)
class Sampled:
    """Means, of all rows or by group, as those of a sample: from three sums, or from two, which tell the spread of bools
    alone (`shares`).

    In units of the width a mean is theta = F1 + F3 / 2 over the number of rows n, with noise of weights 1 - theta, -theta and
    1/2 - theta over it. The variance of the rows is A / (n - 1), where A = Q - 2 t D + t^2 N as in `variances`, A not below 0,
    and half the standard deviation of its noise added: where noise drowns the spread, intervals hold for it. The degrees of
    freedom are n - 1. A share p has the variance p (1 - p), taken where the end lies, not at the answer.

    Ends are missing where the noisy number of rows is below six of its standard deviations. An interval never lies inside that
    of the noise.
    """

    error: ErrorModel
    law: Law
    features: tuple[tuple[int, ...], ...]
    row: int  # what the features of a row add up to
    lower: float
    width: float
    scalar: bool
    shares: bool = False
    kind: Kind = NUMBER

    @property
    def spread(self) -> bool:
        """Whether the look tells how far rows spread."""
        return self.shares or len(self.features[0]) == 3

    @property
    def _noise(self) -> Noise:
        return self.law.noise if isinstance(self.law, Made) else self.law  # type: ignore[return-value]

    def _deviation(self, weights: Floats) -> Floats:
        """Standard deviations of weighted sums of the noise."""
        released = self.law.released(weights) if isinstance(self.law, Made) else weights
        length: Floats = np.sqrt((released**2).sum(axis=0))
        return self._noise.standard_deviation * length

    def sums(self) -> tuple[Floats, Floats, Floats]:
        """Places of the means between the bounds, numbers of rows, and in which means these are enough."""
        exact = np.array(self.features, dtype=np.float64)
        total = exact.sum(axis=1)
        enough = (total > ENOUGH * self._deviation(np.ones(exact.shape[1]))) & (total >= 2 * self.row)
        total = np.where(enough, total, 2.0 * self.row)
        theta = exact[:, 0] + (exact[:, 2] / 2 if exact.shape[1] == 3 else 0)
        return np.clip(theta / total, 0, 1), total / self.row, enough

    def weights(self, theta: Floats) -> Floats:
        """Of the features in the noise of a mean times the number of rows, shape (features, means)."""
        return np.stack([1 - theta, -theta, 0.5 - theta][: len(self.features[0])])

    def variance(self, theta: Floats, rows: Floats) -> Floats:
        """Of one row, in squares of the width."""
        if self.shares:  # a row more on either side: no share of few rows is sure to be 0 (Agresti, Caffo 2000)
            share = (theta * rows + 1) / (rows + 2)
            return share * (1 - share)
        first, second, third = np.array(self.features, dtype=np.float64).T
        t = 2 * theta - 1
        spread = first + second - third - 2 * t * (first - second) + t**2 * rows * self.row
        noise = self._deviation(np.stack([(1 - t) ** 2, (1 + t) ** 2, t**2 - 1]))
        return (np.maximum(spread, 0) + noise / 2) / (4 * self.row * (rows - 1))

    def bounds(self, value: Any, level: float) -> Ends:
        """Ends for the means of the population."""
        theta, rows, enough = self.sums()
        low, high = self._shares(theta, rows, level) if self.shares else self._means(theta, rows, level)
        found = [shown(self.lower + self.width * np.clip(end, 0, 1), self.kind) for end in (low, high)]
        noise = [[end] if self.scalar else end.tolist() for end in self.error.bounds(value, level)]
        none = (math.nan,) * 2 if self.kind.name in ("number", "bool") else (pd.NaT,) * 2
        ends: Any = [
            (min(low, least), max(high, most)) if known else none
            for low, least, high, most, known in zip(
                found[0], noise[0], found[1], noise[1], enough.tolist(), strict=True
            )
        ]
        return ends[0] if self.scalar else series_of(ends, value)

    def _means(self, theta: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
        whole = np.where(rows < MANY, np.floor(rows), rows) - 1  # fewer degrees are wider, and known from other groups
        times = np.array([student(freedom, level) for freedom in whole.tolist()]) / normal(level)
        spread = times * np.sqrt(self.variance(theta, rows) * rows)
        half = with_normal(self.law, self.weights(theta) / self.row, spread, level) / rows
        return theta - half, theta + half

    def _shares(self, theta: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
        """All p within a half-width of the share, its square nearly k (h^2 + z^2 p (1 - p) / n) at p: after Wilson 1927."""
        z, found = normal(level), []
        for side in (-1, 1):
            p = theta
            for _ in range(REFITS):
                weights = self.weights(p) / self.row
                square = self.law.half_widths(weights, level) ** 2 / rows**2
                exact = with_normal(self.law, weights, np.sqrt(p * (1 - p) * rows), level) ** 2 / rows**2
                k = exact / np.maximum(square + z**2 * p * (1 - p) / rows, 1e-300)
                c, e = k * z**2 / rows, k * square
                middle = 2 * theta + c
                root = np.sqrt(np.maximum(middle**2 - 4 * (1 + c) * (theta**2 - e), 0))
                p = np.clip((middle + side * root) / (2 * (1 + c)), 0, 1)
            found.append(p)
        return found[0], found[1]


def sampled(error: Any) -> Sampled | None:
    """Means of one look as those of a sample."""
    if isinstance(error, RotatedMean) and error.row:
        size = error.middle - error.half, 2 * error.half
        scalar = isinstance(error.total, int)
        return Sampled(error, error.noise, error.features, error.row, *size, scalar, kind=error.kind)
    if isinstance(error, Ratio) and error.row and error.kind.name in ("number", "bool"):
        size = float(error.lattice.lower), float(error.lattice.width)
        shares = error.kind.name == "bool"
        return Sampled(error, error.noise, error.features, error.row, *size, error.scalar, shares)
    return None


def of_population(error: Any) -> ErrorModel | None:
    """What is known of the same statistics of the population; None where nothing is."""
    if isinstance(error, Cells | Columns):
        known = [(*one[:-1], of_population(one[-1])) for one in error.models]
        models: Any = tuple(one for one in known if one[-1] is not None)
        return replace(error, models=models) if models else None
    if isinstance(error, CellErrors):
        cells: Any = tuple(tuple(map(of_population, column)) for column in error.models)
        return None if any(None in column for column in cells) else replace(error, models=cells)
    if isinstance(error, EachOf):
        each = [of_population(one) for one in error.models]
        return EachOf(tuple(one for one in each if one is not None)) if None not in each else None
    law = getattr(error, "noise", None)
    mean = getattr(law, "noise", law)
    if isinstance(mean, MeanNoise) and not all(isinstance(noise, DiscreteGaussian) for _, noise in mean.parts):
        return None  # of sums of Laplace noise of several scales with a normal error no law is known here
    found = sampled(error)
    if found is None:
        return getattr(error, "population", None)
    return found if found.spread else None


@dataclass(frozen=True)
class MeanOfPopulation(SingleLook):
    """A mean from the three sums of a variance, so that its interval can hold for the population, too."""

    question: Mean

    by_rows, weighs = as_question("by_rows"), as_question("weighs")

    @cached_property
    def _shared(self) -> SharedMoments:
        mean = self.question
        return SharedMoments(
            (mean, Variance(mean.column, mean.lattice, mean.kind, 1, True, mean.by, mean.labels, mean.full))
        )

    def look(self, terms: Terms) -> Measurement:
        """The sums of the variance."""
        return self._shared.look(terms)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """The mean alone."""
        return self._shared.answer(noisy, look, terms).value[0]

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Of the noise."""
        return self._shared.each_expected(terms, rows)[0]

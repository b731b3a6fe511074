"""How the features of `Moments` come to be known: as they are, or under replace-one made of centred sums, which cost less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.rotated import Floats, Law
from pandas_dp.core.measurement import Measurement
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.statistics.sums import Centred, Moments

Weights = tuple[tuple[int, ...], ...]
LAPLACE, GAUSSIAN = (
    (1, 1),
    (7, 12),
)  # of sum and count: 12 / 7 is at most the root of 3, so that L2 is that of the sum alone


@dataclass(frozen=True)
class Made:
    """Noise of features that are weighted sums of what was released, weights of shape (features, numbers released)."""

    noise: Noise
    of: Weights

    def released(self, weights: Floats) -> Floats:
        """Weights of what was released in weighted sums of the features."""
        return np.tensordot(np.array(self.of, dtype=np.float64).T, weights, axes=1)

    def half_widths(self, weights: Floats, level: float) -> Floats:
        """See `Noise`."""
        return self.noise.half_widths(self.released(weights), level)

    def tail(self, level: float) -> float:
        """See `Noise`: half-widths are convex in the weights."""
        return float(self.half_widths(np.eye(len(self.of)), level).max())


@dataclass(frozen=True)
class Form:
    """What is released, and the features that are made of it: `rows` plus the weights `of` it, in units of 1 / `scale`.

    Without weights the features themselves are released. Of a public number of rows what they are is in `rows`, and only what
    remains of them has noise.
    """

    moments: Moments
    statistic: Moments | Centred
    of: Weights = ()
    rows: tuple[int, ...] = ()
    scale: int = 1

    @property
    def row(self) -> int:
        """What the features of one row add up to."""
        return self.scale * self.moments.row_total

    @property
    def step_of_sum(self) -> Fraction:
        """Steps of the lattice that a step of what is released stands for: S adds up twice what lies above the middle."""
        return Fraction(1, 2 * self.statistic.weights[0]) if isinstance(self.statistic, Centred) else Fraction(1)

    @property
    def public(self) -> bool:
        """Whether the number of rows is no noisy one."""
        return any(self.rows)

    def look(self, terms: Terms) -> Measurement:
        """The measurement."""
        return terms.noised(self.statistic)

    def features(self, noisy: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Noisy features, of each group."""
        if not self.of:
            return tuple(zip(*[iter(noisy)] * self.moments.features, strict=True))
        made = (sum(w * x for w, x in zip(weights, noisy, strict=True)) for weights in self.of)
        return (tuple(known + more for known, more in zip(self.rows, made, strict=True)),)

    def law(self, noise: Noise) -> Law:
        """Of the noise of the features."""
        return Made(noise, self.of) if self.of else noise

    def deviation(self, weights: Sequence[float], noise: Noise) -> float:
        """Standard deviation of a weighted sum of the features of a group."""
        length = math.hypot(*(np.array(weights) @ np.array(self.of) if self.of else weights))
        return length * noise.standard_deviation


def form_of(moments: Moments, terms: Terms, full: bool) -> Form:
    """The form in which means and variances have the least noise; in groups, and under add/remove, always features.

    Where the number of rows is public and all of them hold a value (`full`), nothing is spent on it: the sum S alone, or S and
    the sum of squares Q. Elsewhere S and the number of rows N, whose test of a mean t, S - t N, has less noise than that of two
    features by a factor of up to the root of 2. With squares three features have less.
    """
    if terms.unit.add_remove or moments.by is not None:
        return Form(moments, moments)
    total = (terms.public_rows or 0) * moments.row_total if full and terms.counted else 0
    if total and moments.degree == 2:  # F1 and F2 are (N + Q) / 4 and half of S more or less, F3 is (N - Q) / 2
        return Form(moments, Centred(moments), ((2, 1), (-2, 1), (0, -2)), (total, total, 2 * total), 4)
    if total:  # F1 and F2 are N / 2 and half of S more or less
        return Form(moments, Centred(moments), ((1,), (-1,)), (total, total), 2)
    if moments.degree == 2:
        return Form(moments, moments)
    a, b = GAUSSIAN if terms.price.gaussian else LAPLACE  # of a S and b N
    return Form(moments, Centred(moments, (a, b)), ((b, a), (-b, a)), (0, 0), 2 * a * b)

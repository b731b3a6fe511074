"""Sums and means of groups with bounds of their own: each is asked in the unit of its bounds, and scaled back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Aggregate, ExpectedError, Steps, Terms, as_question
from pandas_dp.aggregates.moments import Mean, Sum
from pandas_dp.aggregates.uncertainty import Ends, ErrorModel
from pandas_dp.core.privacy import PrivacyLoss

Pair = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Scaled:
    """The error of a vector whose entries were each scaled and shifted by public numbers of their own."""

    model: ErrorModel
    shifts: tuple[float, ...]
    scales: tuple[float, ...]

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends in the unit of each entry, which contain it."""
        shifts, scales = np.array(self.shifts), np.array(self.scales)
        lower, upper = (end * scales + shifts for end in self.model.bounds((value - shifts) / scales, level))
        return lower.where(value.isna() | (lower < value), value), upper.where(value.isna() | (upper > value), value)


@dataclass(frozen=True)
class InOwnBounds(Aggregate):
    """Sum or mean by listed key, each group clipped to public bounds [a_g, b_g] of its own.

    The rows that are asked hold y = (x - a_g) / (b_g - a_g) for a mean, and y = x / B_g with x clipped to [a_g, b_g] and
    B_g = max(|a_g|, |b_g|) for a sum: a step computes it of a row's own value and key, and public numbers. `question` is asked
    of y, and its answers are scaled by public numbers, at no price.

    So the sensitivity is that of `question`, as `Moments` and `Total` derive it for any column and any partition: on one
    lattice for all groups, [0, 1] of a mean, [min a_g / B_g, max b_g / B_g] within [-1, 1] of a sum. It holds whatever y is,
    as the lattice ends in a clip of integers: neither rounding in the step nor a key that it finds elsewhere than the
    partition does can move it. Add/remove: a row lies in one group and moves its features by one lattice, whichever group
    that is. Replace-one: a row may leave one group and enter another, each of which moves by its own y, at most 1; in the unit
    of x that is b_g - a_g in the one and b_h - a_h in the other. Noise in y is b_g - a_g (or B_g) times as large in x.
    """

    question: Mean | Sum
    ends: tuple[Pair, ...]

    @property
    def version(self) -> int:  # type: ignore[override]
        """That of its question, after 10 of its own."""
        return 10 + self.question.version

    sums, own_unit = as_question("sums"), as_question("own_unit")

    def loss(self, terms: Terms) -> PrivacyLoss:
        """As its question."""
        return self.question.loss(terms)

    def steps(self, terms: Terms) -> Steps:
        """Its question, and each answer in the unit of its group."""
        answer = yield from self.question.steps(terms)
        summed = isinstance(self.question, Sum)
        shifts = tuple(0.0 if summed else float(lower) for lower, _ in self.ends)
        scales = tuple(float(largest(pair) if summed else pair[1] - pair[0]) for pair in self.ends)
        value = answer.value * np.array(scales) + np.array(shifts)
        if not summed:
            lower, upper = (np.array([float(pair[side]) for pair in self.ends]) for side in (0, 1))
            value = value.clip(lower, upper)
        error = None if answer.error is None else Scaled(answer.error, shifts, scales)  # type: ignore[arg-type]  # no guarantee
        return replace(answer, value=value, error=error)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of its question, in the unit of the bounds of a group."""
        known = self.question.expected(terms, rows)
        what = "the larger of its bounds" if isinstance(self.question, Sum) else "the width of its bounds"
        return replace(known, scale=None, error=f"of each group, times {what}: {known.error}", half_width=None)


def largest(ends: Pair) -> Fraction:
    """The size of the bound that lies farther from 0."""
    return max(map(abs, ends))

"""Differences of the means of two groups of one look, whose noise is independent; and how likely they are by chance alone."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.population import Sampled, sampled, student, with_normal
from pandas_dp.aggregates.rotated import Law
from pandas_dp.aggregates.several import Columns
from pandas_dp.aggregates.uncertainty import Ends, narrowed, normal
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

MEANS = "groupby('sex', keys=[...])['age'].mean(bounds=(0, 120), population=True)"
LEAST, HALVINGS = 1e-12, 30  # of a p-value, and of the search for it
FEW = "too few rows in one of the groups to tell a difference"


@dataclass(frozen=True)
class Difference:
    """Of two means, from the weights of the noise at the means as they were released.

    Each error is a weighted sum of noise over a number of rows, for the population a normal error beside it, with as many
    degrees of freedom as Welch (1947) gives two variances. That the weights are taken at the answers instead of at all means
    that would be accepted is an approximation, checked by simulation from 8 scales of the noise in each group on.

    Attributes
    ----------
    law : Law
        Of the noise.
    weights : tuple of float
        Of all features of both groups.
    deviation : float
        Of the sampling; infinite where it is not known.
    freedom : float
    widest : float
        No difference is larger.
    enough : bool
        Whether both groups have enough rows to tell.
    of_sample : bool
        Whether the interval is that of the population.
    """

    law: Law
    weights: tuple[float, ...]
    deviation: float
    freedom: float
    widest: float
    enough: bool
    of_sample: bool = False

    @property
    def population(self) -> Difference | None:
        """The same for the population."""
        return replace(self, of_sample=True) if math.isfinite(self.deviation) else None

    def bounds(self, value: Any, level: float) -> Ends:
        """Ends around a difference; the whole range where there are too few rows."""
        half = self.half(level) if self.enough else math.inf
        middle = value if self.enough else 0.0
        return max(middle - half, -self.widest), min(middle + half, self.widest)

    def half(self, level: float) -> float:
        """Half the width of the interval."""
        spread = self.deviation * student(self.freedom, level) / normal(level) if self.of_sample else 0.0
        return float(with_normal(self.law, np.array([self.weights]).T, np.array([spread]), level)[0])

    def chance(self, value: float) -> float:
        """The p-value: 1 less the highest level at which 0 lies outside the interval."""
        if not self.enough:
            return math.nan
        return narrowed(lambda p: self.half(1 - p) < abs(value), LEAST, 1.0, HALVINGS, ratio=True)[1]


def difference_of(
    error: Any, value: Any, first: Hashable, second: Hashable, column: Hashable
) -> tuple[float, Difference]:
    """The difference of the means of two groups, and its error.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For other answers than means of numbers by group, and for what are no two groups, or no column of means.
    """
    if isinstance(error, Columns):
        known = {name: model for name, model in error.models if _means(model) is not None}
        name = next(iter(known)) if column is None and len(known) == 1 else column
        if known and name not in known:
            raise ArgumentValueError(
                f"column must be one of {', '.join(map(repr, known))}: .difference(..., column=...)"
            )
        error, value = known.get(name), value[name] if known else value
    elif column is not None:
        raise ArgumentValueError("column= is only for tables of several answers: .difference('f', 'm')")
    means = _means(error)
    if means is None or not isinstance(value, pd.Series):
        raise ArgumentTypeError(f"difference() needs means of numbers by group: {MEANS}.difference('f', 'm')")
    places = [_place(value.index, label) for label in (first, second)]
    if places[0] == places[1]:
        raise ArgumentValueError("difference() needs two groups: .difference('f', 'm')")
    theta, rows, enough = (part[places] for part in means.sums())
    weights = means.weights(theta) / (means.row * rows) * [[means.width, -means.width]]
    squares = np.full(2, math.inf)
    if means.spread:
        squares = replace(means, features=tuple(means.features[i] for i in places)).variance(theta, rows) / rows
    freedom = float(squares.sum() ** 2 / (squares**2 / (rows - 1)).sum()) if means.spread else math.inf
    told = (
        tuple(weights.T.ravel().tolist()),
        means.width * math.sqrt(squares.sum()),
        freedom,
        means.width,
        bool(enough.all()),
    )
    between = float(value.iloc[places[0]] - value.iloc[places[1]]) if enough.all() else math.nan
    return between, Difference(means.law, *told)


def _means(error: Any) -> Sampled | None:
    found = sampled(error)
    return None if found is None or found.scalar or found.kind.name not in ("number", "bool") else found


def _place(index: pd.Index[Any], label: Hashable) -> int:
    try:
        place = index.get_loc(label)
    except (KeyError, TypeError, ValueError, pd.errors.InvalidIndexError):
        place = None
    if not isinstance(place, int):
        raise ArgumentValueError("difference() takes two labels of groups, as .index shows them: .difference('f', 'm')")
    return place

"""Medians and quantiles with noise that fits the data at hand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import Aggregate, Answer, Steps, Terms, once
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement
from pandas_dp.core.mechanisms.smooth import NEED_DELTA, SmoothNoise
from pandas_dp.core.privacy import Price, PrivacyLoss, PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockPoints
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.core.statistics.smooth import SmoothOrder
from pandas_dp.errors import ArgumentValueError
from pandas_dp.kinds import Kind

BEST_NOISE = "polynomial_laplace"
NOTE = "the noise fits the data at hand: its size is as secret as they are, so no error bar is free"


@dataclass(frozen=True)
class SmoothQuantileOf(Aggregate):
    """One quantile of a column, or several at equal shares of the price, by noise scaled to smooth sensitivity."""

    column: str
    q: tuple[Fraction, ...]
    lattice: Lattice
    kind: Kind
    scalar: bool
    noise: str

    @once
    def _looks(self, terms: Terms) -> list[Measurement]:
        """One look for each level, by ascending level."""
        points, share = LatticeCounts(self.column, self.lattice), terms.price.share(Fraction(1, len(self.q)))
        return [smoothed(points, q, self.noise, share, terms.unit) for q in sorted(self.q)]

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Sum over the looks."""
        total = PrivacyLoss()
        for look in self._looks(terms):
            total += look.mechanism.loss(look.statistic.sensitivity(terms.unit))
        return total

    def steps(self, terms: Terms) -> Steps:
        """One look for each level; the answers are sorted."""
        offsets = []
        for look in self._looks(terms):
            offsets += yield look
        points = dict(zip(sorted(self.q), sorted(offsets), strict=True))
        values: list[Any] = [self.kind.value(clipped(self.lattice, points[q])) for q in self.q]
        name = SmoothNoise(self.noise, Fraction(1)).name
        if self.scalar:
            return Answer(values[0], name, None, (NOTE,))
        return Answer(pd.Series(values, index=[float(q) for q in self.q], name=self.column), name, None, (NOTE,))


def smoothed(
    points: LatticeCounts | BlockPoints, q: Fraction, noise: str, price: Price, unit: PrivacyUnit
) -> Measurement:
    """Measurement of one quantile of each part, with the least noise of a law that the price buys."""
    mechanism = bought(noise, price, points.sensitivity(unit).touched)
    return Measurement(SmoothOrder(points, q, mechanism.beta), mechanism)


def bought(noise: str, price: Price, touched: int) -> SmoothNoise:
    """Noise of a law for each part, where a unit touches so many of them.

    Raises
    ------
    ArgumentValueError
        The price is a rho, or has a delta where the law needs none, or none where it needs one.
    """
    if price.epsilon is None:
        raise ArgumentValueError("smooth sensitivity takes an epsilon, not a rho: df.dp(epsilon=1)")
    if noise in NEED_DELTA and not price.delta:
        raise ArgumentValueError(
            f"noise={noise!r} needs a delta, df.dp(epsilon=1, delta=1e-7), or leave noise= out for one that needs none"
        )
    if noise not in NEED_DELTA and price.delta:
        raise ArgumentValueError(
            f"noise={noise!r} takes a plain epsilon: df.dp(epsilon=1); with a delta type noise='laplace'"
        )
    return SmoothNoise(noise, price.epsilon / touched, price.delta / touched)


def clipped(lattice: Lattice, offset: int) -> Fraction:
    """Value of an offset, beyond the ends that of the end."""
    return lattice.point(min(max(offset, 0), lattice.cells))

"""Noise that fits the data at hand: medians, quantiles, trimmed means, the cost of a spanning tree, and its error bars."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import pandas as pd

from pandas_dp.aggregates.base import (
    BAR_NOTE,
    BAR_SHARE,
    ERROR_BAR,
    FITS,
    NO_SIZE,
    Aggregate,
    Answer,
    ExpectedError,
    Steps,
    Terms,
    noise_of,
    once,
)
from pandas_dp.aggregates.uncertainty import Additive, narrowed
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.mechanisms.smooth import NEED_DELTA, SmoothNoise
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import Price, PrivacyLoss, PrivacyUnit
from pandas_dp.core.samplers.smooth import POWER
from pandas_dp.core.statistics.blocks import BlockPoints
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.core.statistics.smooth import (
    LOG_BITS,
    SCALE_SHIFT,
    SmoothOrder,
    SmoothScale,
    SmoothStatistic,
    TrimmedMean,
)
from pandas_dp.core.statistics.spanning_tree import SpanningTreeCost
from pandas_dp.errors import ArgumentValueError, of_price
from pandas_dp.facts.kinds import Kind


@dataclass(frozen=True)
class BoughtScale:
    """Noise (S / alpha) Z in lattice steps, of which a noisy ln S was bought: another part of the price.

    With N the noise of ln S, |Z| S / alpha is above exp(ln S + N + c) / alpha where |Z| > exp(N + c), as likely whatever S is:
    c is the least at which that has probability 1 - level. Between two points of a grid N counts as the lower one, below all
    of them |Z| as larger, which makes it more likely.

    Parameters
    ----------
    law : str
        Of Z.
    alpha : float
    log_scale : int
        Noisy ln S in units of `UNIT`.
    noise : DiscreteLaplace or DiscreteGaussian
        Of `log_scale`.
    cells : int
        No two answers are farther apart.
    """

    law: str
    alpha: float
    log_scale: int
    noise: Noise
    cells: int

    def half_width(self, level: float) -> int:
        """Steps within which the answer lies with this probability, its rounding included."""
        log = min((self.log_scale + 1) * UNIT + factor_of(self.law, self.noise, level), MOST_LOG)
        return min(math.ceil(math.exp(log) / self.alpha) + 1, self.cells)


UNIT = 2.0 ** (SCALE_SHIFT - LOG_BITS)  # of a noisy logarithm
MOST_LOG = 100.0  # of what is cut to the number of cells afterwards
PARTS, BEYOND = 32, 1e-4  # of a standard deviation; what the ends of the grid may have of what may fail


@lru_cache(maxsize=256)
def factor_of(law: str, noise: Noise, level: float) -> float:
    """The c of `BoughtScale`, by bisection."""
    step, edge = max(1, int(noise.standard_deviation / PARTS)), 0
    while noise.lifting(edge, 64) > (1 - level) * BEYOND:
        edge += step
    edges = range(-edge, edge + 1, step)
    above = [float(noise.lifting(e, 64) if e > 0 else 1 - noise.lifting(1 - e, 64)) for e in edges]  # P(N >= e)
    cells = [(e * UNIT, p - q) for e, p, q in zip(edges, above, [*above[1:], 0.0], strict=True)]

    def failing(log: float) -> float:
        return 1 - above[0] + sum(p * min(TAILS[law](math.exp(log + e)), 1.0) for e, p in cells)

    return narrowed(lambda log: failing(log) <= 1 - level, -80.0, 200.0)[1]


TAILS: dict[str, Callable[[float], float]] = {
    "polynomial_laplace": lambda z: (1 + z) ** -POWER,
    "polynomial": lambda z: 2 * math.sqrt(2) / math.pi / (3 * z**3),  # a bound: 1 / (1 + z^4) < z^-4
    "cauchy": lambda z: 2 / math.pi * math.atan(1 / z),
    "student_t": lambda z: 2 / math.pi * (math.atan(math.sqrt(3) / z) - z / math.sqrt(3) / (1 + z * z / 3)),
    "laplace": lambda z: math.exp(-z),
    "gaussian": lambda z: math.erfc(z / math.sqrt(2)),
}


BEST_NOISE = "polynomial_laplace"
NOTE = "the size of this noise depends on the data and is private, so an error bar has to be paid for"


@dataclass(frozen=True)
class Smoothed(Aggregate):
    """Values at equal shares of the price, each with noise scaled to its smooth sensitivity.

    Parameters
    ----------
    lattice : Lattice
        Of the column.
    kind : Kind
    noise : str
        A key of `DRAWS`.
    error_bar : bool
        Whether `BAR_SHARE` of the price buys the scale of the noise; for one value.
    """

    lattice: Lattice
    kind: Kind
    noise: str
    error_bar: bool

    buying = NO_SIZE + ERROR_BAR

    @property
    def version(self) -> int:  # type: ignore[override]
        """The scale has had other shares of the price."""
        return 3 if self.error_bar else 1

    @abstractmethod
    def statistics(self, beta: Fraction) -> list[SmoothStatistic]:
        """One for each value, beta-smooth."""

    @property
    def values(self) -> Lattice:
        """Where the answers lie."""
        return self.lattice

    def shown(self, values: list[Any]) -> Any:
        """What is released: the one value there is."""
        return values[0]

    @once
    def _looks(self, terms: Terms) -> list[Measurement]:
        """The scale first, where it is bought, then one look for each value."""
        price, count = terms.price, len(self.statistics(Fraction(0)))
        epsilon = plain(price, self.noise)
        left = epsilon * (1 - BAR_SHARE) if self.error_bar else epsilon
        noise = SmoothNoise(self.noise, left / count, price.delta / count)
        statistics = self.statistics(noise.beta)
        looks = [Measurement(statistic, noise) for statistic in statistics]
        if self.error_bar:
            looks.insert(0, terms.at(epsilon - left).noised(SmoothScale(statistics[0])))
        return looks

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Nothing of its size."""
        more = "; two fifths of the price buy the error bar" if self.error_bar else ""
        return ExpectedError(SmoothNoise(self.noise, Fraction(1)).name, None, FITS + more)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Sum over the looks."""
        return sum((terms.loss(look) for look in self._looks(terms)), PrivacyLoss())

    def steps(self, terms: Terms) -> Steps:
        """One look after the other."""
        looks, noisy = self._looks(terms), []
        for look in looks:
            noisy += yield look
        name = SmoothNoise(self.noise, Fraction(1)).name
        values = [self.kind.value(clipped(self.values, offset)) for offset in noisy[int(self.error_bar) :]]
        if not self.error_bar:
            return Answer(self.shown(values), name, None, (NOTE,))
        alpha = float(cast("SmoothNoise", looks[1].mechanism).alpha)
        scale = BoughtScale(self.noise, alpha, noisy[0], noise_of(looks[0]), self.values.cells)
        error = Additive(scale, self.values.step, self.kind, (self.values.lower, self.values.upper))
        return Answer(self.shown(values), name, error, (BAR_NOTE,))


@dataclass(frozen=True)
class SmoothQuantileOf(Smoothed):
    """One quantile of a column, or several."""

    column: str
    q: tuple[Fraction, ...]
    scalar: bool

    def statistics(self, beta: Fraction) -> list[SmoothStatistic]:
        """One for each level, ascending."""
        points = LatticeCounts(self.column, self.lattice)
        return [SmoothOrder(points, q, beta) for q in sorted(self.q)]

    def shown(self, values: list[Any]) -> Any:
        """The value, or a Series by level, never falling."""
        if self.scalar:
            return values[0]
        points = dict(zip(sorted(self.q), sorted(values), strict=True))
        return pd.Series([points[q] for q in self.q], index=[float(q) for q in self.q], name=self.column)


@dataclass(frozen=True)
class TrimmedMeanOf(Smoothed):
    """Mean of a column without a share of its lowest and of its highest rows."""

    column: str
    trim: Fraction

    def statistics(self, beta: Fraction) -> list[SmoothStatistic]:
        """The one mean."""
        return [TrimmedMean(LatticeCounts(self.column, self.lattice), self.trim, beta)]


def smoothed(
    points: LatticeCounts | BlockPoints, q: Fraction, noise: str, price: Price, unit: PrivacyUnit
) -> Measurement:
    """Measurement of one quantile of each part, with the least noise of a law that the price buys."""
    touched = points.sensitivity(unit).touched
    mechanism = SmoothNoise(noise, plain(price, noise) / touched, price.delta / touched)
    return Measurement(SmoothOrder(points, q, mechanism.beta), mechanism)


def plain(price: Price, noise: str) -> Fraction:
    """Epsilon of a price that suits a law of noise.

    Raises
    ------
    ArgumentValueError
        The price is a rho, or has a delta where the law needs none, or none where it needs one.
    """
    if price.epsilon is None:
        raise of_price(ArgumentValueError("smooth sensitivity takes an epsilon, not a rho: df.dp(epsilon=1)"))
    if noise in NEED_DELTA and not price.delta:
        raise ArgumentValueError(
            f"noise={noise!r} needs a delta, df.dp(epsilon=1, delta=1e-7), or leave noise= out for one that needs none"
        )
    if noise not in NEED_DELTA and price.delta:
        text = f"noise={noise!r} takes a plain epsilon: df.dp(epsilon=1); with a delta type noise='laplace'"
        raise of_price(ArgumentValueError(text))
    return price.epsilon


def clipped(lattice: Lattice, offset: int) -> Fraction:
    """Value of an offset, beyond the ends that of the end."""
    return lattice.point(min(max(offset, 0), lattice.cells))


MOST_VERTICES = 63
COST_BITS = 24  # 62 edges of at most 2**25 steps each cost less than 2**31


@dataclass(frozen=True)
class SpanningTreeOf(Smoothed):
    """Cost of a minimum spanning tree of rows that are edges; the lattice is that of weights."""

    source: Keys
    target: Keys
    weight: str

    def statistics(self, beta: Fraction) -> list[SmoothStatistic]:
        """The one cost."""
        return [SpanningTreeCost(self.source, self.target, self.weight, self.lattice, beta)]

    @property
    def values(self) -> Lattice:
        """From 0 to the cost without any row."""
        return Lattice(self.lattice.step, 0, (self.source.count - 1) * self.lattice.cells)

"""Answers chosen from a public list: the most common key, medians and quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import Aggregate, Answer, Guarantee, SingleLook, Steps, Terms, pure_epsilon
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PermuteAndFlip, Quantile
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.core.statistics.counts import Count
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.kinds import Kind
from pandas_dp.uncertainty import RankBound, ScoreGap


@dataclass(frozen=True)
class Mode(SingleLook):
    """The most common of the listed keys.

    A session that counts pure epsilons uses permute-and-flip, never worse than the exponential mechanism; one with
    delta > 0 uses the exponential mechanism, whose Renyi divergence is four times smaller.
    """

    by: Keys

    def look(self, terms: Terms) -> Measurement:
        """One index."""
        statistic = Count(by=self.by)
        family = PermuteAndFlip if terms.pure else ExponentialMechanism
        epsilon = pure_epsilon(terms.price, "mode()")
        return Measurement(statistic, family.calibrate(epsilon, statistic.sensitivity(terms.unit)))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the key itself."""
        mechanism = look.mechanism
        if not isinstance(mechanism, PermuteAndFlip | ExponentialMechanism):
            raise TypeError("the mode is a selection")
        error = Guarantee(ScoreGap, math.log(self.by.count), float(mechanism.rate))
        return Answer(self.by.keys[noisy[0]], mechanism.name, error)


@dataclass(frozen=True)
class QuantileOf(Aggregate):
    """One quantile, or several, of a column between public bounds.

    Several share the price evenly. Their answers are sorted, which costs nothing and never hurts.
    """

    column: str
    q: tuple[Fraction, ...]
    lattice: Lattice
    kind: Kind
    scalar: bool

    def _mechanism(self, q: Fraction, terms: Terms) -> Quantile:
        epsilon = pure_epsilon(terms.price, "a quantile") / len(self.q)
        return Quantile.calibrate(q, self.lattice.cells, epsilon, self._statistic.sensitivity(terms.unit))

    @property
    def _statistic(self) -> LatticeCounts:
        return LatticeCounts(self.column, self.lattice)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Sum over the quantiles."""
        total = PrivacyLoss()
        for q in self.q:
            total += self._mechanism(q, terms).loss(self._statistic.sensitivity(terms.unit))
        return total

    def steps(self, terms: Terms) -> Steps:
        """One look for each quantile."""
        offsets, rates = [], []
        for q in self.q:
            mechanism = self._mechanism(q, terms)
            noisy = yield Measurement(self._statistic, mechanism)
            offsets.append(noisy[0])
            rates.append(float(mechanism.rate))
        values: list[Any] = [self.kind.value(self.lattice.point(i)) for i in sorted(offsets)]
        error = Guarantee(RankBound, math.log(self.lattice.cells + 1), min(rates))
        if self.scalar:
            return Answer(values[0], Quantile.name, error)
        wanted = sorted(range(len(self.q)), key=lambda i: self.q[i])
        by_q = [values[wanted.index(i)] for i in range(len(self.q))]
        series = pd.Series(by_q, index=[float(q) for q in self.q], name=self.column)
        return Answer(series, Quantile.name, error)

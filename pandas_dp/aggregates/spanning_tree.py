"""The cost of a minimum spanning tree, with noise that fits the data at hand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pandas_dp.aggregates.base import Aggregate, Answer, Steps, Terms, once
from pandas_dp.aggregates.smooth import NOTE, bought
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement
from pandas_dp.core.mechanisms.smooth import SmoothNoise
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.core.statistics.spanning_tree import SpanningTreeCost
from pandas_dp.kinds import Kind

MOST_VERTICES = 63
COST_BITS = 24  # 62 edges of at most 2**25 steps each cost less than 2**31


@dataclass(frozen=True)
class SpanningTreeOf(Aggregate):
    """Cost of a minimum spanning tree of rows that are edges, by noise scaled to smooth sensitivity."""

    source: Keys
    target: Keys
    weight: str
    lattice: Lattice
    kind: Kind
    noise: str

    @once
    def _look(self, terms: Terms) -> Measurement:
        mechanism = bought(self.noise, terms.price, 1)
        statistic = SpanningTreeCost(self.source, self.target, self.weight, self.lattice, mechanism.beta)
        return Measurement(statistic, mechanism)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Of the one look."""
        look = self._look(terms)
        return look.mechanism.loss(look.statistic.sensitivity(terms.unit))

    def steps(self, terms: Terms) -> Steps:
        """One look; the answer is cut off at 0 and at the cost without any row."""
        (cost,) = yield self._look(terms)
        most = (self.source.count - 1) * self.lattice.cells
        value = self.kind.value(min(max(cost, 0), most) * self.lattice.step)
        return Answer(value, SmoothNoise(self.noise, Fraction(1)).name, None, (NOTE,))

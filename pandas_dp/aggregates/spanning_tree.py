"""The cost of a minimum spanning tree, with noise that fits the data at hand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.smooth import Smoothed
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.statistics.smooth import SmoothStatistic
from pandas_dp.core.statistics.spanning_tree import SpanningTreeCost

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

    def shown(self, values: list[Any]) -> Any:
        """The value."""
        return values[0]

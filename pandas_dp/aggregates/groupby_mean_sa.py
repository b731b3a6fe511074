"""Grouped means by sample and aggregate: the mean of many small blocks, combined privately."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import (
    Aggregate,
    Answer,
    Guarantee,
    Steps,
    Terms,
    noise_of,
    noised,
    pure_epsilon,
)
from pandas_dp.aggregates.count import Labels, int64s
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.selection import Quantile
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.core.statistics.blocks import BlockMeans, BlockPoints, BlockSums
from pandas_dp.core.statistics.counts import Count
from pandas_dp.engines.kinds import Kind
from pandas_dp.uncertainty import Additive, RankBound

SIZES_SHARE = Fraction(1, 10)
FEW_BLOCKS = 25
ROWS_A_BLOCK = 5  # with fewer, empty blocks (which count as the middle of the bounds) pull the answer
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class GroupbyMeanSA(Aggregate):
    """Mean of a column in each listed group from block means.

    A tenth of the price buys the group sizes. With ``aggregator="auto"``, e the epsilon that is left for one group:
    where the median of the noisy sizes is at least 1000/e, ceil(100/e) blocks and their private median; otherwise
    25 blocks and their noisy mean. One rule and one number of blocks for all groups, from public numbers only.
    """

    column: str
    lattice: Lattice
    kind: Kind
    by: Partition
    labels: Labels
    blocks: int | None = None
    aggregator: str = "auto"

    def loss(self, terms: Terms) -> PrivacyLoss:
        """The whole price, as pure mechanisms."""
        epsilon = pure_epsilon(terms.price, "groupby_mean_sa()")
        return PrivacyLoss.pure(epsilon * SIZES_SHARE) + PrivacyLoss.pure(epsilon * (1 - SIZES_SHARE))

    def steps(self, terms: Terms) -> Steps:
        """Sizes first, then one look at the blocks."""
        look = noised(Count(self.column, self.by), terms.price.share(SIZES_SHARE), terms.unit)
        sizes = yield look
        epsilon = pure_epsilon(terms.price, "groupby_mean_sa()") * (1 - SIZES_SHARE)
        probe = BlockMeans(self.column, self.lattice, self.by, 1)
        each = epsilon / probe.sensitivity(terms.unit).touched
        blocks, aggregator = self._choose(each, median(sizes))
        means = BlockMeans(self.column, self.lattice, self.by, blocks)
        recipe = self._median if aggregator == "median" else self._mean
        values, mechanism, error = yield from recipe(means, epsilon, terms)
        index = self.labels.index()
        size = pd.Series(int64s(sizes), index=index, name="size")
        extras = (size, (size >= ROWS_A_BLOCK * blocks).rename("enough_rows"))
        note = f"{blocks} blocks a group, {aggregator} of the block means; sizes: {noise_of(look).name}, a tenth of the price"
        return Answer(pd.Series(values, index=index, name=self.column), mechanism, error, (note,), extras)

    def _choose(self, epsilon: Fraction, size: float) -> tuple[int, str]:
        """Number of blocks and aggregator, from public numbers."""
        many = math.ceil(100 / epsilon)
        aggregator = self.aggregator
        if aggregator == "auto":
            enough = self.blocks * epsilon >= 50 if self.blocks else size >= 10 * many
            aggregator = "median" if enough else "mean"
        return self.blocks or (many if aggregator == "median" else FEW_BLOCKS), aggregator

    def _mean(
        self, means: BlockMeans, epsilon: Fraction, terms: Terms
    ) -> Generator[Measurement, Noisy, tuple[list[Any], str, Additive]]:
        """Noisy mean of the block values."""
        price = type(terms.price)(epsilon)
        look = noised(BlockSums(means), price, terms.unit)
        noisy = yield look
        step = self.lattice.step / means.blocks
        inside = [min(max(total, 0), means.blocks * self.lattice.cells) for total in noisy]
        values = [self.kind.value(self.lattice.lower + total * step) for total in inside]
        return (
            values,
            f"sample and aggregate, {noise_of(look).name}",
            Additive(noise_of(look), step, self.kind),
        )

    def _median(
        self, means: BlockMeans, epsilon: Fraction, terms: Terms
    ) -> Generator[Measurement, Noisy, tuple[list[Any], str, Guarantee]]:
        """Private median of the block values."""
        points = BlockPoints(means)
        mechanism = Quantile.calibrate(HALF, self.lattice.cells, epsilon, points.sensitivity(terms.unit))
        noisy = yield Measurement(points, mechanism)
        values = [self.kind.value(self.lattice.point(i)) for i in noisy]
        error = Guarantee(RankBound, math.log(self.lattice.cells + 1), float(mechanism.rate))
        return values, f"sample and aggregate, {mechanism.name}", error

"""Sample and aggregate: an estimate on each of many small blocks, combined privately."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
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
from pandas_dp.aggregates.smooth import BEST_NOISE, NOTE, clipped, smoothed
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.quantiles import Quantile
from pandas_dp.core.mechanisms.smooth import SmoothNoise
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import Price, PrivacyLoss
from pandas_dp.core.statistics.blocks import BlockMeans, BlockPoints, BlockResults, BlockSums
from pandas_dp.core.statistics.counts import Count
from pandas_dp.kinds import Kind
from pandas_dp.uncertainty import Additive, RankBound

SIZES_SHARE = Fraction(1, 10)
FEW_BLOCKS, MOST_BLOCKS = 25, 100_000
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
        blocks, aggregator = choose(self.blocks, self.aggregator, each, median(sizes))
        means = BlockMeans(self.column, self.lattice, self.by, blocks)
        values, mechanism, error = yield from combine(means, aggregator, epsilon, self.kind, terms)
        index = self.labels.index()
        size = pd.Series(int64s(sizes), index=index, name="size")
        extras = (size, (size >= ROWS_A_BLOCK * blocks).rename("enough_rows"))
        note = f"{blocks} blocks a group, {aggregator} of the block means; sizes: {noise_of(look).name}, a tenth of the price"
        notes = (note,) if error else (note, NOTE)
        return Answer(pd.Series(values, index=index, name=self.column), mechanism, error, notes, extras)


@dataclass(frozen=True)
class SampleAndAggregate(Aggregate):
    """One number from a user's function on random blocks. The function has no identity: the answer is not stored."""

    function: Callable[[Any], Any]
    lattice: Lattice
    blocks: int | None = None
    aggregator: str = "auto"

    stored = False

    def loss(self, terms: Terms) -> PrivacyLoss:
        """The whole price, as one pure mechanism."""
        return PrivacyLoss.pure(pure_epsilon(terms.price, "sample_and_aggregate()"))

    def steps(self, terms: Terms) -> Steps:
        """One look at the blocks."""
        epsilon = pure_epsilon(terms.price, "sample_and_aggregate()")
        blocks, aggregator = choose(self.blocks, self.aggregator, epsilon, 0)
        results = BlockResults(self.function, self.lattice, blocks)
        values, mechanism, error = yield from combine(results, aggregator, epsilon, Kind("number"), terms)
        note = f"{blocks} blocks, {aggregator} of the results"
        return Answer(values[0], mechanism, error, (note,) if error else (note, NOTE))


def choose(blocks: int | None, aggregator: str, epsilon: Fraction, size: float) -> tuple[int, str]:
    """Number of blocks and aggregator, from public numbers."""
    many = min(math.ceil(100 / epsilon), MOST_BLOCKS)
    if aggregator == "auto":
        enough = blocks * epsilon >= 50 if blocks else size >= 10 * many
        aggregator = "median" if enough else "mean"
    return blocks or (FEW_BLOCKS if aggregator == "mean" else many), aggregator


def combine(
    means: BlockMeans | BlockResults, aggregator: str, epsilon: Fraction, kind: Kind, terms: Terms
) -> Generator[Measurement, Noisy, tuple[list[Any], str, Additive | Guarantee | None]]:
    """Noisy mean, private median or smooth median of the block values of each group."""
    lattice = means.lattice
    if aggregator == "mean":
        look = noised(BlockSums(means), Price(epsilon), terms.unit)
        noisy = yield look
        step = lattice.step / means.blocks
        inside = [min(max(total, 0), means.blocks * lattice.cells) for total in noisy]
        values = [kind.value(lattice.lower + total * step) for total in inside]
        noise = noise_of(look)
        return values, f"sample and aggregate, {noise.name}", Additive(noise, step, kind)
    points = BlockPoints(means)
    if aggregator == "smooth":
        look = smoothed(points, HALF, BEST_NOISE, Price(epsilon), terms.unit)
        noisy = yield look
        name = SmoothNoise(BEST_NOISE, epsilon).name
        return [kind.value(clipped(lattice, i)) for i in noisy], f"sample and aggregate, {name}", None
    mechanism = Quantile.calibrate(HALF, lattice.cells, epsilon, points.sensitivity(terms.unit))
    noisy = yield Measurement(points, mechanism)
    error = Guarantee(RankBound, math.log(lattice.cells + 1), float(mechanism.rate))
    values = [kind.value(lattice.point(i)) for i in noisy]
    return values, f"sample and aggregate, {mechanism.name}", error

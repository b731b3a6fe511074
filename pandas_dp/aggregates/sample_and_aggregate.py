"""Sample and aggregate: an estimate on each of many small blocks, combined privately."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import (
    Aggregate,
    Answer,
    Steps,
    Terms,
    noise_of,
    noised,
    pure_epsilon,
)
from pandas_dp.aggregates.blocks import (
    REMEDY,
    ROWS_A_BLOCK,
    TUKEY,
    FromBlocks,
    choose,
    combined,
    gap_of,
    known_rows,
    look_at,
    size_note,
)
from pandas_dp.aggregates.count import Labels, int64s
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PermuteAndFlip
from pandas_dp.core.partition import Keys, Partition
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.core.statistics.blocks import BlockMeans, BlockResults, BlockVotes
from pandas_dp.core.statistics.counts import Count
from pandas_dp.kinds import Kind

SIZES_SHARE = Fraction(1, 10)
NUMBER = Kind("number")
SAA = "sample_and_aggregate()"
NAMES = {"winsorized": "Winsorized mean"}


@dataclass(frozen=True)
class GroupbyMeanSA(Aggregate):
    """Mean of a column in each listed group from block means.

    A tenth of the price buys the group sizes. With the epsilon that is left for one group and the median of the noisy
    sizes `choose` finds the number of blocks and the aggregator: one rule and one number for all groups, from public
    numbers only.
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
        blocks, aggregator = choose(self.blocks, self.aggregator, each, max(int(median(sizes)), 0))
        means = BlockMeans(self.column, self.lattice, self.by, blocks)
        second = look_at(means, aggregator, epsilon, terms.unit)
        found = combined(means, second, (yield second), self.kind, "give more blocks or a larger epsilon")
        values = [self.kind.value(point) for point in found.points]
        index = self.labels.index()
        size = pd.Series(int64s(sizes), index=index, name="size")
        extras = (size, (size >= ROWS_A_BLOCK * blocks).rename("enough_rows"))
        note = f"{blocks} blocks a group, {aggregator} of the block means; sizes: {noise_of(look).name}, a tenth of the price"
        series = pd.Series(values, index=index, name=self.column)
        return Answer(series, found.mechanism, found.error, (note, *found.notes), extras)


@dataclass(frozen=True)
class SampleAndAggregate(FromBlocks):
    """One number from a user's function on random blocks. The function has no identity: the answer is not stored.

    Parameters
    ----------
    function : callable
    lattice : Lattice
    blocks, rows : int or None
    aggregator : {"auto", "median", "mean", "smooth", "winsorized"}
    widening : {"tukey", "smith"}
        How far beyond its quartiles a Winsorized mean counts values as they are: 1.5 times their distance w, or 4 w
        K^(13/30) around their middle for K blocks, as the theorem of Smith 2011 wants it. Both are public, so private.
    tried : tuple of str
        What a trial of the function on made-up rows showed.
    """

    function: Callable[[Any], Any]
    lattice: Lattice
    blocks: int | None = None
    aggregator: str = "auto"
    widening: str = "tukey"
    rows: int | None = None
    tried: tuple[str, ...] = ()

    name = "sample_and_aggregate"
    stored = False

    def number(self, terms: Terms) -> int:
        """How many blocks."""
        return self._chosen(terms)[0]

    def look(self, terms: Terms) -> Measurement:
        """One look at the blocks."""
        blocks, aggregator = self._chosen(terms)
        results = BlockResults(self.function, self.lattice, blocks)
        reach = TUKEY if self.widening == "tukey" else smith_reach(blocks)
        return look_at(results, aggregator, pure_epsilon(terms.price, SAA), terms.unit, reach)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a number within the bounds."""
        blocks, aggregator = self._chosen(terms)
        results = BlockResults(self.function, self.lattice, blocks)
        found = combined(results, look, noisy, NUMBER, REMEDY)
        notes = (f"{blocks:,} blocks, {NAMES.get(aggregator, aggregator)} of the results", *found.notes)
        sizes = size_note(blocks, known_rows(self.rows, terms))
        return Answer(NUMBER.value(found.points[0]), found.mechanism, found.error, (*notes, *sizes, *self.tried))

    def _chosen(self, terms: Terms) -> tuple[int, str]:
        epsilon = pure_epsilon(terms.price, SAA)
        return choose(self.blocks, self.aggregator, epsilon, known_rows(self.rows, terms))


def smith_reach(blocks: int) -> Fraction:
    """4 w K^(1/3 + 1/10) from the middle of the quartiles is this many w beyond them, up to a thousandth."""
    return Fraction(round(4000 * blocks ** (13 / 30)), 1000) - Fraction(1, 2)


@dataclass(frozen=True)
class VoteOfBlocks(FromBlocks):
    """The listed key that most blocks return, by the selection that `Mode` uses. Not stored, as no user's function is."""

    function: Callable[[Any], Any]
    keys: Keys
    blocks: int | None = None
    rows: int | None = None
    tried: tuple[str, ...] = ()

    name = "sample_and_aggregate"
    stored = False

    def look(self, terms: Terms) -> Measurement:
        """One index."""
        epsilon = pure_epsilon(terms.price, SAA)
        votes = BlockVotes(self.function, self.keys.keys, self.number(terms))
        family = PermuteAndFlip if terms.pure else ExponentialMechanism
        return Measurement(votes, family.calibrate(epsilon, votes.sensitivity(terms.unit)))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the key itself."""
        mechanism, blocks = look.mechanism, self.number(terms)
        if not isinstance(mechanism, PermuteAndFlip | ExponentialMechanism):
            raise TypeError("a vote is a selection")
        error = gap_of(mechanism, self.keys.count)
        notes = (*size_note(blocks, known_rows(self.rows, terms)), *self.tried)
        name = f"sample and aggregate, {mechanism.name}"
        return Answer(self.keys.keys[noisy[0]], name, error, (f"{blocks:,} blocks, vote of the results", *notes))

    def number(self, terms: Terms) -> int:
        """How many blocks."""
        epsilon = pure_epsilon(terms.price, SAA)
        return choose(self.blocks, "vote", epsilon, known_rows(self.rows, terms))[0]

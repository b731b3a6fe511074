"""Sample and aggregate: an estimate on each of many small blocks, combined privately.

Of groups, noisy numbers of rows say which have enough for their blocks: an empty block counts as the middle of the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import Any, cast

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import (
    ERROR_BAR,
    Aggregate,
    Answer,
    Caution,
    ExpectedError,
    Guarantee,
    Steps,
    Terms,
    Unit,
    noise_of,
)
from pandas_dp.aggregates.blocks import (
    IN_ONE_BLOCK,
    ROWS_A_BLOCK,
    TUKEY,
    WINSORIZED,
    Combined,
    FromBlocks,
    choose,
    combined,
    expected_of,
    for_medians,
    gap_of,
    look_at,
    middle,
    refuse_drowned,
    results_of,
    size_note,
)
from pandas_dp.aggregates.count import int64s
from pandas_dp.aggregates.uncertainty import LEVEL, NUMBER, Additive, EachOf
from pandas_dp.aggregates.winsorized_mean import WinsorizedMean as WinsorizedMean  # pickled answers name it here
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PermuteAndFlip
from pandas_dp.core.partition import Keys, Partition
from pandas_dp.core.privacy import PrivacyLoss, show
from pandas_dp.core.statistics.blocks import BlockMeans, BlockResults, BlockVotes
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import CrossLabels, Labels

LEAST_A_BLOCK = 3  # of means, from which the expected share of empty blocks, at most 5 %, is taken out


@dataclass(frozen=True)
class Sizes:
    """Noisy numbers of what fills the blocks of groups.

    Parameters
    ----------
    noisy : list of int
    unsure : int
        By how many one may be too large, with 2.5 %.
    what : str
        Rows, or units of several rows.
    """

    noisy: Noisy
    unsure: int
    what: str

    def have(self, least: int) -> list[bool]:
        """Which groups surely have so many."""
        return [size - self.unsure >= least for size in self.noisy]

    def known(self, found: Combined, values: BlockMeans | BlockResults) -> tuple[Combined, list[bool]]:
        """Take empty blocks out of means where their share is about known; say which groups have rows enough for a value.

        Of n rows a block has none with probability p = (1 - 1/K)^n. The rows of another are a random choice, whose mean is
        expected to be that of all. So of the mean z of all block means (z - p middle) / (1 - p) is expected to be that of the
        rows. What a function gives for an empty block nobody knows, nor how far it moves a median.
        """
        blocks, lattice, error = values.blocks, values.lattice, found.error
        means = isinstance(values, BlockMeans) and isinstance(error, Additive)
        least = (LEAST_A_BLOCK if means else ROWS_A_BLOCK) * blocks
        known, full = self.have(least), self.have(ROWS_A_BLOCK * blocks)
        if not all(known):
            few = f"no value where a group may have too few {self.what} for {blocks:,} block{'s' * (blocks > 1)}"
            note = Caution(f"{few}: {least + 2 * self.unsure:,} or more would have given one with 97.5 % probability")
            found = replace(found, notes=(*found.notes, note))
        if isinstance(error, Additive) and known != full:
            rest = [
                1 - Fraction((1 - 1 / blocks) ** size) if some > enough else Fraction(1)
                for size, some, enough in zip(self.noisy, known, full, strict=True)
            ]
            middle, ends = lattice.point(lattice.cells // 2), (lattice.lower, lattice.upper)
            spread = [middle + (point - middle) / share for point, share in zip(found.points, rest, strict=True)]
            points = [min(max(point, ends[0]), ends[1]) for point in spread]
            models = EachOf(tuple(replace(error, step=error.step / share) for share in rest))
            few = f"fewer than {ROWS_A_BLOCK * blocks:,} {self.what}"
            taken = f"in groups that may have {few} the mean is corrected for the expected share of empty blocks"
            found = replace(found, points=points, error=models, notes=(*found.notes, taken))
        return found, known


SIZES_SHARE = Fraction(1, 10)
MOST_IN_ALL = 1_000_000  # blocks of all groups of a call
ANY_ROWS = 10**13  # with as many rows a group gets the most blocks that there may be
SAA = "sample_and_aggregate()"
NAMES = {"winsorized": "Winsorized mean", "smooth": "smooth median"}


@dataclass(frozen=True)
class GroupsOfBlocks(Aggregate):
    """One number for each listed group: what its random blocks give, combined privately.

    A tenth of the price buys the group sizes. With the epsilon that is left for one group and the median of the noisy
    sizes `choose` finds the number of blocks and the aggregator: one rule and one number for all groups, from public
    numbers only. A group that may have too few rows for them has no value.

    Parameters
    ----------
    values : BlockMeans or BlockResults
        What one block gives: block means, where one unit moves little, or results of a function. Its groups and lattice
        hold, the number of blocks is chosen.
    kind : Kind
        Of the answers.
    labels : Labels
    blocks : int or None
        Of each group.
    aggregator : {"auto", "median", "mean", "smooth"}
    tried : tuple of str
        What a trial of the function on made-up rows showed.
    """

    values: BlockMeans | BlockResults
    kind: Kind
    labels: Labels | CrossLabels
    blocks: int | None = None
    aggregator: str = "auto"
    tried: tuple[str, ...] = ()
    error_bar: bool = False

    name = "groupby_mean_sa"
    in_blocks = f"{IN_ONE_BLOCK} of each of at most {{}} groups"

    @property
    def version(self) -> int:  # type: ignore[override]
        """Error bars have had another share of the price."""
        return 3 if self.error_bar else 2

    @property
    def column(self) -> str | None:
        """What a row must hold to count, if anything, and the name of the answer."""
        return self.values.column if isinstance(self.values, BlockMeans) else None

    @property
    def by(self) -> Partition:
        """The groups."""
        return cast("Partition", self.values.by)

    def check(self, terms: Terms) -> None:
        """Refuse more blocks in all than one call may have, as far as public numbers tell how many there will be.

        Raises
        ------
        ArgumentValueError
        """
        groups = self.by.count
        least = self.blocks or self._choose(None, terms, 0)[0]
        if groups * least > MOST_IN_ALL:
            raise ArgumentValueError(
                f"{groups:,} groups of {least:,} blocks are more than the {MOST_IN_ALL:,} blocks that one call may have: type "
                f"blocks={MOST_IN_ALL // groups} or fewer, or list fewer groups"
            )

    def loss(self, terms: Terms) -> PrivacyLoss:
        """The whole price, as pure mechanisms."""
        epsilon = terms.epsilon(f"{self.name}()")
        return PrivacyLoss.pure(epsilon * SIZES_SHARE) + PrivacyLoss.pure(epsilon * (1 - SIZES_SHARE))

    def plan(self, terms: Terms, rows: int) -> tuple[BlockMeans | BlockResults, str, Measurement]:
        """What the blocks give, the aggregator, and the look at them, where a group has about so many rows."""
        most = MOST_IN_ALL // max(self.by.count, 1)
        blocks, aggregator = self._choose(self.blocks, terms, rows)
        if blocks > most:
            blocks, aggregator = self._choose(most, terms, rows)
        values = replace(self.values, blocks=blocks)
        return values, aggregator, look_at(values, aggregator, self._left(terms), terms.unit, error_bar=self.error_bar)

    def read(
        self, values: BlockMeans | BlockResults, aggregator: str, look: Measurement, noisy: Noisy
    ) -> tuple[Combined, str]:
        """Read the integers of the look at the blocks, and say how it was done."""
        found = combined(values, look, noisy, self.kind, "give more blocks or a larger epsilon")
        found = replace(found, notes=(*found.notes, *self.tried))
        return found, f"{values.blocks:,} blocks a group, {aggregator} of the {results_of(values)}"

    def steps(self, terms: Terms) -> Steps:
        """Sizes first, then one look at the blocks."""
        first = terms.share(SIZES_SHARE).noised(RowCounts(self.column, self.by, units=True))
        noisy = yield first
        values, aggregator, look = self.plan(terms, max(int(median(noisy)), 0))
        found, how = self.read(values, aggregator, look, (yield look))
        sizes = Sizes(noisy, noise_of(first).half_width(LEVEL), "rows" if terms.unit.column is None else "units")
        found, known = sizes.known(found, values)
        index = self.labels.index()
        enough = pd.Series(sizes.have(ROWS_A_BLOCK * values.blocks), index=index, name="enough_rows")
        extras = (pd.Series(int64s(noisy), index=index, name="size"), enough)
        points = pd.Series([self.kind.value(point) for point in found.points], index=index, name=self.column)
        series = points.where(np.array(known))
        note = f"{how}; sizes: {noise_of(first).name}, a tenth of the price"
        return Answer(series, found.mechanism, found.error, (note, *found.notes), extras, found=found.of)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise of the look at the blocks, of a group with about so many rows."""
        missing = "a group that may have too few for its blocks has no value"
        notes = (f"{show(100 * SIZES_SHARE)} % of the price buys the sizes of the groups; {missing}",)
        if self.blocks is None and rows is None:
            unknown = "not known in advance: noisy sizes decide the number of blocks; rows= says about how many rows"
            return ExpectedError("sample and aggregate", None, f"{unknown} a group has", None, (*notes, *self.tried))
        values, aggregator, look = self.plan(terms, rows or 0)
        found, how = self.read(values, aggregator, look, middle(look, values.lattice, self.by.count))
        answer = Answer(None, found.mechanism, found.error, (how, *found.notes, *notes))
        return expected_of(answer, look, Unit.of(self.kind), "each ")

    def _left(self, terms: Terms) -> Fraction:
        """Epsilon of the look at the blocks."""
        return terms.epsilon(f"{self.name}()") * (1 - SIZES_SHARE)

    def _choose(self, blocks: int | None, terms: Terms, rows: int) -> tuple[int, str]:
        each = for_medians(self._left(terms), self.error_bar) / self.values.sensitivity(terms.unit).touched
        return choose(blocks, self.aggregator, each, rows)


@dataclass(frozen=True)
class GroupsOfFunction(GroupsOfBlocks):
    """The same from a user's function, which has no identity: the answer is not stored."""

    name = "sample_and_aggregate"
    stored = False

    def check(self, terms: Terms) -> None:
        """Refuse too many blocks, and noise as wide as the bounds however many rows the groups have.

        Raises
        ------
        ArgumentValueError
        """
        super().check(terms)
        given = "" if self.blocks is None else f" with {self.blocks:,} blocks a group"
        refuse_drowned(f"{self.name}(){given}", lambda at: self.plan(at, ANY_ROWS)[2], terms, "more blocks=")


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
    error_bar: bool = False

    name = "sample_and_aggregate"
    stored = False

    @property
    def buying(self) -> str:  # type: ignore[override]
        """Of a median."""
        return ERROR_BAR if self.aggregator in ("auto", "median") else ""

    def look(self, terms: Terms) -> Measurement:
        """One look at the blocks."""
        blocks, aggregator = self._chosen(terms)
        results = BlockResults(self.function, self.lattice, blocks, equal=terms.counted)
        reach = TUKEY if self.widening == "tukey" else smith_reach(blocks)
        return look_at(results, aggregator, terms.epsilon(SAA), terms.unit, reach, self.error_bar)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a number within the bounds."""
        blocks, aggregator = self._chosen(terms)
        results = BlockResults(self.function, self.lattice, blocks, equal=terms.counted)
        found = combined(results, look, noisy, NUMBER, self._remedy(terms))
        notes = (f"{blocks:,} blocks, {NAMES.get(aggregator, aggregator)} of the results", *found.notes)
        sizes = size_note(blocks, terms.about(self.rows))
        value, notes = NUMBER.value(found.points[0]), (*notes, *sizes, *self.tried)
        return Answer(value, found.mechanism, found.error, notes, found=found.of)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise of the combination."""
        if self._chosen(terms)[1] == "winsorized":
            return replace(WINSORIZED, notes=self.tried)
        look = self.look(terms)
        return expected_of(self.answer(middle(look, self.lattice), look, terms), look)

    def _chosen(self, terms: Terms) -> tuple[int, str]:
        epsilon = for_medians(terms.epsilon(SAA), self.error_bar)
        return choose(self.blocks, self.aggregator, epsilon, terms.about(self.rows))


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
        epsilon = terms.epsilon(SAA)
        votes = BlockVotes(self.function, self.keys.keys, self._chosen(terms)[0], terms.counted)
        family = PermuteAndFlip if terms.pure else ExponentialMechanism
        return Measurement(votes, family.calibrate(epsilon, votes.sensitivity(terms.unit)))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the key itself."""
        name, error, notes = self._known(look, terms)
        return Answer(self.keys.keys[noisy[0]], name, error, notes)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the gap of votes."""
        name, error, notes = self._known(self.look(terms), terms)
        return error.expected(name, Unit("votes"), notes)

    def _known(self, look: Measurement, terms: Terms) -> tuple[str, Guarantee, tuple[str, ...]]:
        """What is known of every answer: mechanism, error and notes."""
        mechanism, blocks = cast("PermuteAndFlip | ExponentialMechanism", look.mechanism), self._chosen(terms)[0]
        error = gap_of(mechanism, self.keys.count, blocks)
        sizes = size_note(blocks, terms.about(self.rows))
        notes = (f"{blocks:,} blocks, vote of the results", *sizes, *self.tried)
        return f"sample and aggregate, {mechanism.name}", error, notes

    def _chosen(self, terms: Terms) -> tuple[int, str]:
        return choose(self.blocks, "vote", terms.epsilon(SAA), terms.about(self.rows))

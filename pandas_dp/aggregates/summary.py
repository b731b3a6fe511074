"""What pandas' describe says of a column, from two looks: three sums, then five quantiles."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import AT, BAR_SHARE, Aggregate, Answer, Caution, ExpectedError, Steps, Terms, noise_of
from pandas_dp.aggregates.count import Count
from pandas_dp.aggregates.ladder import UNKNOWN, Rungs, held, rungs_around, told
from pandas_dp.aggregates.moments import Mean, Variance
from pandas_dp.aggregates.quantiles import INSIDE, level_of, recursive_errors
from pandas_dp.aggregates.several import Cells, Error, noted
from pandas_dp.aggregates.shared_moments import SharedMoments
from pandas_dp.aggregates.told import noises
from pandas_dp.aggregates.uncertainty import LEVEL, RankBound
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.quantiles import TIES, Ladder, RecursiveQuantiles
from pandas_dp.core.privacy import PrivacyLoss, show
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.facts.kinds import Kind

SUMS_SHARE = Fraction(1, 4)  # of the price, for count, mean and std
QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
OUTERMOST, TYPICAL = Fraction(1, 8), Fraction(1, 100)  # levels of the ends: at most, and for the size of their error
SHARED = f"{show(100 * SUMS_SHARE)} % of the price bought count, mean and std; the rest bought min, max and quartiles"
ROWS = ("count", "mean", "std", "min", "25%", "50%", "75%", "max")


@dataclass(frozen=True)
class Summary(Aggregate):
    """Count, mean, standard deviation, smallest and largest value and quartiles of a column of numbers.

    A quarter of the price buys the three sums of a variance, of which the count and the mean are made as well; the rest
    five quantiles, asked by recursion. The outermost are as near to the ends as the noise of the choice allows, see
    `Extreme`, at the levels r / n and 1 - r / n with n from the sums, r a public rank.

    Notes
    -----
    The recursion is calibrated to the same loss for all levels, so the declared loss holds whatever n was.
    """

    column: str
    squares: Lattice
    ranks: Lattice
    kind: Kind
    full: bool = False

    version = 3
    weighs, keeps_rows = True, True  # its sums, and its quantiles
    by_rows = True
    mixed = True
    counting = frozenset({"count"})

    def scale_of(self, row: Hashable) -> Hashable:
        """All but the count are in the unit of the column."""
        return super().scale_of(row) if row in self.counting else ""

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Both looks."""
        found = self._mechanism(terms, TYPICAL).loss(self._counts.sensitivity(terms.unit))
        return self.moments.loss(self._sums(terms)) + found

    def steps(self, terms: Terms) -> Steps:
        """Sums, then quantiles."""
        sums, rest = self._sums(terms), self._rest(terms)
        count, mean, std = (yield from self.moments.steps(sums)).value
        rank = math.ceil(self.rank_error(rest, TYPICAL, INSIDE, ends=True))
        q = min(level_of(rank, int(count.value)), OUTERMOST)
        mechanism = self._mechanism(terms, q)
        noisy = yield Measurement(self._counts, mechanism)
        moments = [(one.value, one.error) for one in (count, mean, std)]
        values, errors = zip(*moments, *self._told(noisy, mechanism), strict=True)
        whole = told(error for error in errors if isinstance(error, Rungs))
        return Answer(
            pd.Series(values, index=list(ROWS), name=self.column),
            noises([count.mechanism, mechanism.name]),
            Cells(tuple((name, self.column, error) for name, error in zip(ROWS, errors, strict=True))),
            (*whole, *self._notes(rest, rank, count.value, q), *noted("mean", mean)),
        )

    def _mechanism(self, terms: Terms, q: Fraction) -> RecursiveQuantiles | Ladder:
        """What draws the quantiles, of which q and 1 - q are the outermost."""
        return self._choices(self._rest(terms), q)

    def _told(self, noisy: Noisy, mechanism: Any) -> list[tuple[Any, Error]]:
        """Each quantile, and what is known of its error."""
        return [(float(self.ranks.point(offset)), None) for offset in noisy]

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Of count, mean and the ranks by the recursion."""
        count, mean, _ = self.moments.each_expected(self._sums(terms), rows)
        ranks = RankBound(self.rank_error(self._rest(terms), TYPICAL, LEVEL), LEVEL)
        of_count = count.error.removesuffix(AT).strip()
        share = SHARED.replace("bought", "buys")
        return ExpectedError(
            noises([count.mechanism, self._mechanism(terms, TYPICAL).name]),
            None,
            f"count {of_count}; mean {mean.error}; quantiles: {ranks.words}",
            notes=(share,),
        )

    def rank_error(self, rest: Terms, q: Fraction, level: float, ends: bool = False) -> float:
        """Rows within which each quantile is by itself with this probability, or the outermost ones; see `QuantileOf`."""
        choices = self._choices(rest, q)
        ways = TIES * math.log(2) + math.log(len(choices.levels).bit_length())
        errors = [error.largest for error in recursive_errors(choices)]
        worst = max(errors[0], errors[-1]) if ends else max(errors)
        return worst * (math.log(self.ranks.cells + 1) + ways - math.log(1 - level))

    def _notes(self, rest: Terms, rank: int, rows: float, q: Fraction) -> tuple[str, ...]:
        bound = RankBound(self.rank_error(rest, q, LEVEL), LEVEL)
        notes: tuple[str, ...] = (
            Caution(f"min and max are the quantiles {show(q)} and {show(1 - q)}; each quantile is {bound}"),
            SHARED,
        )
        if rank > rows * float(OUTERMOST):
            few = f"about {max(rows, 0):,.0f} rows are few for quantiles at this price: their ranks may be off by {rank:,}"
            notes = (Caution(few), *notes)
        return notes

    @cached_property
    def moments(self) -> SharedMoments:
        """What the sums are asked for."""
        spread = Variance(self.column, self.squares, self.kind, ddof=1, root=True, full=self.full)
        return SharedMoments((Count(self.column), Mean(self.column, self.squares, self.kind), spread))

    @property
    def _counts(self) -> LatticeCounts:
        return LatticeCounts(self.column, self.ranks)

    def _choices(self, rest: Terms, q: Fraction) -> RecursiveQuantiles:
        levels = (q, *QUARTILES, 1 - q)
        epsilon = rest.epsilon("describe()")
        return RecursiveQuantiles.calibrate(levels, self.ranks.cells, epsilon, self._counts.sensitivity(rest.unit))

    def _sums(self, terms: Terms) -> Terms:
        terms.epsilon("describe()")
        return terms.share(SUMS_SHARE)

    def _rest(self, terms: Terms) -> Terms:
        return terms.share(1 - SUMS_SHARE)


@dataclass(frozen=True)
class SummaryWithBars(Summary):
    """The same with counts around the quantiles, for `BAR_SHARE` of what these cost; of the ends see `ExtremeWithBar`."""

    unit: Fraction | None = None

    version = 2

    def _rest(self, terms: Terms) -> Terms:
        return super()._rest(terms).share(1 - BAR_SHARE)

    def _mechanism(self, terms: Terms, q: Fraction) -> Ladder:
        counts = super()._rest(terms).share(BAR_SHARE).noised(self._counts)
        return Ladder((self._choices(self._rest(terms), q),), noise_of(counts))

    def _told(self, noisy: Noisy, mechanism: Any) -> list[tuple[Any, Error]]:
        levels = (Fraction(0), *QUARTILES, Fraction(1))
        points, counts = noisy[: len(levels)], iter(noisy[len(levels) :])
        public = mechanism.noise, self.ranks, self.kind, held(self.unit, self.ranks)
        return [(rungs.shown(offset), rungs) for offset, rungs in rungs_around(points, counts, levels, *public)]

    def _notes(self, rest: Terms, rank: int, rows: float, q: Fraction) -> tuple[str, ...]:
        ends = Caution(
            "the smallest and the largest value belong to single rows, so the interval of min starts at a bound and that of "
            "max ends at one"
        )
        return ends, f"{SHARED}, two fifths of that rest their error bars"

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """As without error bars, and where there will be no value."""
        made = super().expected(terms, rows)
        return replace(made, notes=(*made.notes, f"quantiles have {UNKNOWN}"))

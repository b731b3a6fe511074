"""Answers chosen from a public list: the most common key, medians, quantiles, and the ends of a column."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import pandas as pd

from pandas_dp.aggregates.base import (
    ERROR_BAR,
    NO_SIZE,
    Answer,
    Caution,
    ExpectedError,
    Guarantee,
    Guaranteed,
    Steps,
    Terms,
    once,
)
from pandas_dp.aggregates.choices import AmongKeys, Gap
from pandas_dp.aggregates.uncertainty import RankBound
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.quantiles import FINEST, TIES, Quantile, RecursiveQuantiles
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PartByPart, PermuteAndFlip
from pandas_dp.core.partition import Cross, Keys, Partition
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.lattice_counts import Grid, LatticeCounts
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import CrossLabels, Labels, crossed

Levels = tuple[Fraction, ...]


@dataclass(frozen=True)
class Mode(AmongKeys):
    """The most common of the listed keys."""

    by: Keys

    name = "mode"

    @property
    def gap(self) -> Gap:
        """Of the key's count."""
        return Gap("count", self.by.count)

    def chosen(self, picks: Noisy) -> Hashable:
        """Return the key itself."""
        return self.by.keys[picks[0]]


@dataclass(frozen=True)
class GroupModes(AmongKeys):
    """The most common of the listed keys in each group.

    Parameters
    ----------
    by : Cross
        The groups' columns and then that of the keys.
    keys : Keys
    labels : Labels or CrossLabels
        Of the groups.
    """

    by: Cross
    keys: Keys
    labels: Labels | CrossLabels

    name = "mode"
    each = "each: "

    @property
    def gap(self) -> Gap:
        """Of the key's count, in each group by itself."""
        return Gap("count", self.keys.count)

    def look(self, terms: Terms) -> Measurement:
        """One place for each group."""
        epsilon, statistic = terms.epsilon("mode()"), self.statistic
        rate = epsilon / statistic.sensitivity(terms.unit).l1
        choice = PermuteAndFlip(rate) if terms.pure else ExponentialMechanism(rate)
        return Measurement(statistic, PartByPart(choice, self.by.count // self.keys.count))

    def chosen(self, picks: Noisy) -> pd.Series[Any]:
        """Return the keys; their dtype is that of all listed keys."""
        keys = Labels(None, self.keys.keys).index()
        return pd.Series(keys.take(picks), index=self.labels.index(), name=self.keys.column)


@dataclass(frozen=True)
class QuantileOf(Guaranteed):
    """One quantile, or several, of a column on a public lattice or grid, in all or by group.

    Several are asked one by one at equal shares of the price, or by the recursion of Kaplan, Schnapp, Stemmer 2022:
    whichever errs less by `recursive_errors`, from public facts alone. Their answers are sorted, which costs nothing
    and never hurts.

    Notes
    -----
    On a `Grid` of N points the rank error is at most (2 max(q, 1 - q) / epsilon) (ln N + t) rows with probability
    1 - exp(-t) under add/remove, ln N = 11.1 for floats, 8.5 for integers; 2 instead of 2 max(q, 1 - q) under replace-one.
    The threshold test of Durfee 2023, which visits the points in order, errs by at most (2 / epsilon) (ln i + t + q t)
    with probability 1 - 2 exp(-t), for q >= 1/3 and an answer at the i-th point. At t = 3 that is less where the answer of
    q = 0.9 lies within 7e6 first steps of the start (200 for integers), and of q = 0.5 within 14: the test wins close to
    the start, the exponential mechanism for medians and far away. On ages and amounts both err by a few 1 / epsilon.
    """

    column: str
    q: tuple[Fraction, ...]
    lattice: Lattice | Grid
    kind: Kind
    scalar: bool
    by: Partition | None = None
    labels: Labels | CrossLabels | None = None

    buying = NO_SIZE + ERROR_BAR

    @once
    def _mechanisms(self, terms: Terms) -> tuple[Quantile, ...] | tuple[RecursiveQuantiles]:
        """Return one mechanism for each level, or one for all."""
        epsilon = terms.epsilon("a quantile")
        cells, sensitivity = self.lattice.cells, self._statistic.sensitivity(terms.unit)
        alone = tuple(Quantile.calibrate(q, cells, epsilon / len(self.q), sensitivity) for q in self.q)
        if len(self.q) < 3:
            return alone
        together = RecursiveQuantiles.calibrate(tuple(sorted(self.q)), cells, epsilon, sensitivity)
        typical = max(error.typical for error in recursive_errors(together))
        return (together,) if typical < float(1 / min(m.rate for m in alone)) else alone

    @property
    def _statistic(self) -> LatticeCounts:
        return LatticeCounts(self.column, self.lattice, self.by)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Sum over the looks."""
        moved = self._statistic.sensitivity(terms.unit)
        return sum((mechanism.loss(moved) for mechanism in self._mechanisms(terms)), PrivacyLoss())

    def steps(self, terms: Terms) -> Steps:
        """One look for all quantiles, or one for each."""
        offsets, groups = [], 1 if self.by is None else self.by.count
        for mechanism in self._mechanisms(terms):
            noisy = yield Measurement(self._statistic, mechanism)
            each = len(noisy) // groups
            offsets.append([noisy[i * each : (i + 1) * each] for i in range(groups)])
        found = [sorted(chain.from_iterable(parts)) for parts in zip(*offsets, strict=True)]  # of each group
        points = [dict(zip(sorted(self.q), group, strict=True)) for group in found]
        values: list[Any] = [self.kind.value(self.lattice.point(group[q])) for group in points for q in self.q]
        name, error = mechanism.name, self.guarantee(terms)
        if self.scalar and self.labels is None:
            return Answer(values[0], name, error)
        return Answer(pd.Series(values, index=self._index(), name=self.column), name, error)

    def _index(self) -> pd.Index[Any]:
        """Groups, levels, or levels in groups, as pandas has them."""
        levels = Labels(None, tuple(float(q) for q in self.q))
        if self.labels is None:
            return levels.index()
        return self.labels.index() if self.scalar else crossed(self.labels, levels).index()

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the rank."""
        found = self.guarantee(terms).expected(self._mechanisms(terms)[-1].name)
        alone = self.scalar and self.labels is None
        return found if alone else replace(found, error=f"each: {found.error}")

    def guarantee(self, terms: Terms) -> Guarantee:
        """Return the bound on the rank of each answer by itself."""
        mechanisms, log_points = self._mechanisms(terms), math.log(self.lattice.cells + 1)
        if isinstance(mechanisms[0], RecursiveQuantiles):
            errors = recursive_errors(mechanisms[0])
            factor, typical = (max(sizes) for sizes in zip(*((e.largest, e.typical) for e in errors), strict=True))
            # each choice of at most bit_length() on the way to an answer keeps its bound for all of them to do
            ways = TIES * math.log(2) + math.log(len(self.q).bit_length())
            return Guarantee(RankBound, log_points + ways, 1 / factor, typical)
        rate = min(float(m.rate) for m in mechanisms)
        make = partial(RankBound, what="median") if self.q == (Fraction(1, 2),) else RankBound
        return Guarantee(make, log_points, rate, 1 / rate)


class RankError(NamedTuple):
    """Error of one answer of a recursion in units of (ln(points) + ln(1/a)) rows.

    ``largest`` holds when every choice on the way to the answer keeps its bound; ``typical`` adds independent errors.
    """

    typical: float
    largest: float


def recursive_errors(mechanism: RecursiveQuantiles) -> list[RankError]:
    """Rank error of each answer: its own choice errs by 1 / rate, and the answers next to it move its target.

    Between answers of ranks a n + A and b n + B a level of relative position r has the target rank
    q n + (1 - r) A + r B, so their errors come in with weights 1 - r and r.
    """

    def errors(levels: Levels, first: Fraction, last: Fraction, a: RankError, b: RankError) -> list[RankError]:
        if not levels:
            return []
        middle = len(levels) // 2
        level = levels[middle]
        choice = mechanism.choice(level, first, last, mechanism.cells)
        own, r = float(1 / choice.rate), float(choice.q)
        typical = math.hypot(own, (1 - r) * a.typical, r * b.typical)
        error = RankError(typical, own + (1 - r) * a.largest + r * b.largest)
        left = errors(levels[:middle], first, level, a, error)
        return [*left, error, *errors(levels[middle + 1 :], level, last, error, b)]

    exact = RankError(0, 0)
    return errors(mechanism.levels, Fraction(0), Fraction(1), exact, exact)


SIZE_SHARE = Fraction(1, 10)  # of the price, for the number of rows
INSIDE = 0.95  # chance that the answer is not beyond all rows


@dataclass(frozen=True)
class Extreme(Guaranteed):
    """The value with so many rows beyond it that the choice does not fall off the data, at either end of a column.

    A choice among N points errs by at most r = (ln N + ln(1 / 0.05)) 2 k / epsilon rows with probability 95 %, k the rows of
    a unit, so r is the rank nearest to the end that it can be asked for without answering a value beyond all rows. A
    tenth of the price buys the number n of non-null rows, the rest the quantile r / n (of the largest: 1 - r / n), between
    1e-6 and 1/2.

    Notes
    -----
    The level is a function of a noisy count, and a quantile is calibrated to the same pure, bounded-range loss for every
    level between 0 and 1: the two looks compose to the price, whatever the count was.
    """

    column: str
    lattice: Lattice | Grid
    kind: Kind
    largest: bool

    buying = ERROR_BAR

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Both looks."""
        return terms.loss(self._size(terms)) + self._quantile(Fraction(1, 2)).loss(terms.share(1 - SIZE_SHARE))

    def steps(self, terms: Terms) -> Steps:
        """The number of rows, then the quantile."""
        rest = terms.share(1 - SIZE_SHARE)
        (rows,) = yield self._size(terms)
        rank = nearest_rank(self.lattice, rest.epsilon("a quantile"), terms.unit)
        q = level_of(rank, rows)
        answer = yield from self._quantile(1 - q if self.largest else q).steps(rest)
        return replace(answer, error=self.guarantee(terms), notes=(*answer.notes, *self._notes(rank, rows, q)))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the rank."""
        (mechanism,) = self._quantile(Fraction(1, 2))._mechanisms(terms.share(1 - SIZE_SHARE))
        return self.guarantee(terms).expected(mechanism.name)

    def _size(self, terms: Terms) -> Measurement:
        terms.epsilon("a quantile")
        return terms.share(SIZE_SHARE).noised(RowCounts(self.column))

    def _quantile(self, q: Fraction) -> QuantileOf:
        return QuantileOf(self.column, (q,), self.lattice, self.kind, scalar=True)

    def guarantee(self, terms: Terms) -> Guarantee:
        """Return the bound on the rank."""
        epsilon = terms.share(1 - SIZE_SHARE).epsilon("a quantile")
        rate = float(epsilon) / (2 * terms.unit.rows)
        return Guarantee(RankBound, math.log(self.lattice.cells + 1), rate, 1 / rate)

    def _notes(self, rank: int, rows: int, q: Fraction) -> tuple[str, ...]:
        name, side = ("largest", "above") if self.largest else ("smallest", "below")
        if 2 * rank > rows:
            return (
                Caution(
                    f"useless: about {max(rows, 0):,} rows are too few for the noise, so this is near the median; "
                    "try a larger epsilon"
                ),
            )
        return (
            Caution(
                f"not the {name} value, which belongs to one row: the quantile {show(1 - q if self.largest else q)}, "
                f"with about {round(q * rows):,} of about {rows:,} rows {side} it; "
                f"{show(100 * SIZE_SHARE)} % of the price paid for the number of rows"
            ),
        )


def nearest_rank(lattice: Lattice | Grid, epsilon: Fraction, unit: PrivacyUnit) -> int:
    """The rank that a choice at this price misses by less than itself with probability `INSIDE`."""
    log_points = math.log(lattice.cells + 1)
    return math.ceil((log_points - math.log(1 - INSIDE)) * 2 * unit.rows / float(epsilon))


def level_of(rank: int, rows: int) -> Fraction:
    """The level of a rank among about so many rows, at most 1/2, in the fineness that ranks are computed with.

    Rounded up: fewer rows beyond it than the rank would let the choice fall off the data.
    """
    return min(Fraction(math.ceil(Fraction(rank * FINEST, max(rows, 1))), FINEST), Fraction(1, 2))

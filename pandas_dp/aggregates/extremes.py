"""The ends of a column: quantiles as near to the smallest or largest value as the noise of the choice allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from pandas_dp.aggregates.base import Caution, Guarantee, Guaranteed, Steps, Terms, noised, pure_epsilon
from pandas_dp.aggregates.expected import ExpectedError
from pandas_dp.aggregates.selections import QuantileOf
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement
from pandas_dp.core.mechanisms.quantiles import FINEST
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.core.statistics.counts import Count
from pandas_dp.core.statistics.lattice_counts import Grid
from pandas_dp.kinds import Kind
from pandas_dp.uncertainty import RankBound

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

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Both looks."""
        size = self._size(terms)
        return size.mechanism.loss(size.statistic.sensitivity(terms.unit)) + self._quantile(Fraction(1, 2)).loss(
            rest_of(terms)
        )

    def steps(self, terms: Terms) -> Steps:
        """The number of rows, then the quantile."""
        rest = rest_of(terms)
        (rows,) = yield self._size(terms)
        rank = nearest_rank(self.lattice, pure_epsilon(rest.price, "a quantile"), terms.unit)
        q = level_of(rank, rows)
        answer = yield from self._quantile(1 - q if self.largest else q).steps(rest)
        return replace(answer, error=self.guarantee(terms), notes=(*answer.notes, *self._notes(rank, rows, q)))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the rank."""
        (mechanism,) = self._quantile(Fraction(1, 2))._mechanisms(rest_of(terms))
        return self.guarantee(terms).expected(mechanism.name)

    def _size(self, terms: Terms) -> Measurement:
        pure_epsilon(terms.price, "a quantile")
        return noised(Count(self.column), terms.price.share(SIZE_SHARE), terms.unit)

    def _quantile(self, q: Fraction) -> QuantileOf:
        return QuantileOf(self.column, (q,), self.lattice, self.kind, scalar=True)

    def guarantee(self, terms: Terms) -> Guarantee:
        """Return the bound on the rank."""
        epsilon = pure_epsilon(rest_of(terms).price, "a quantile")
        return Guarantee(RankBound, math.log(self.lattice.cells + 1), float(epsilon) / (2 * terms.unit.rows))

    def _notes(self, rank: int, rows: int, q: Fraction) -> tuple[str, ...]:
        name, side = ("largest", "above") if self.largest else ("smallest", "below")
        if 2 * rank > rows:
            return (
                Caution(
                    f"useless: about {max(rows, 0):,} rows are too few for the noise, so this is near the median; "
                    "a larger epsilon"
                ),
            )
        return (
            f"not the {name} value, which is one row's: the quantile {show(1 - q if self.largest else q)}, "
            f"with about {round(q * rows):,} of about {rows:,} rows {side} it; "
            f"{show(100 * SIZE_SHARE)} % of the price bought their number",
        )


def rest_of(terms: Terms) -> Terms:
    """What the number of rows leaves of the price."""
    return replace(terms, price=terms.price.share(1 - SIZE_SHARE))


def nearest_rank(lattice: Lattice | Grid, epsilon: Fraction, unit: PrivacyUnit) -> int:
    """The rank that a choice at this price misses by less than itself with probability `INSIDE`."""
    log_points = math.log(lattice.cells + 1)
    return math.ceil((log_points - math.log(1 - INSIDE)) * 2 * unit.rows / float(epsilon))


def level_of(rank: int, rows: int) -> Fraction:
    """The level of a rank among about so many rows, at most 1/2, in the fineness that ranks are computed with.

    Rounded up: fewer rows beyond it than the rank would let the choice fall off the data.
    """
    return min(Fraction(math.ceil(Fraction(rank * FINEST, max(rows, 1))), FINEST), Fraction(1, 2))

"""Winsorized means of a column, for bounds that are very wide: of many block means, where there are rows enough for them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from pandas_dp.aggregates.base import Aggregate, Answer, Caution, ExpectedError, Steps, Terms, noise_of
from pandas_dp.aggregates.blocks import ENOUGH_ROWS, IN_ONE_BLOCK, WINSORIZED, choose, combined, look_at
from pandas_dp.aggregates.moments import Mean
from pandas_dp.aggregates.told import left_out
from pandas_dp.aggregates.uncertainty import LEVEL, Additive, HalfWidth, normal
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import PrivacyLoss, show
from pandas_dp.core.statistics.blocks import BlockMeans
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.kinds import Kind

SIZE_SHARE = Fraction(1, 20)  # of the price, for the number of rows
QUARTILES_APART = 1.349  # standard deviations of a normal law
WHAT = "a Winsorized mean"
REACHING = (
    "the interval is wide enough for the mean of all rows if block means are bell-shaped, but not if few rows hold much of "
    "the total"
)


@dataclass(frozen=True)
class Wider:
    """Noise with a normal deviation on top, in its steps: roots of squares are no bound below the usual level."""

    noise: HalfWidth
    deviation: float

    def half_width(self, level: float) -> int:
        """Steps within which both together stay with this probability."""
        at = max(level, LEVEL)
        both = math.hypot(self.noise.half_width(at), normal(at) * self.deviation)
        return math.ceil(min(both, self.noise.half_width(level) + normal(level) * self.deviation))


@dataclass(frozen=True)
class WinsorizedMean(Aggregate):
    """Mean of a column by the Winsorized mean, of Tukey's widening, of the means of ceil(810 / epsilon) random blocks.

    Both quartiles are among the block means with 95 % from 32/epsilon (ln(points of the lattice) + ln 40) blocks on, of at most
    2^31 points from 806/epsilon on. A mean over few rows is as unbiased as one over many, so only blocks without any row,
    which count as the middle of the bounds, ask for a least number of rows: ten times the blocks. Where the number of rows is
    public, and each holds a value (`full`), it decides before anything is charged. Otherwise a twentieth of the price buys the
    number of rows with a value, of units where these own several; unless there are surely enough, with 97.5 %, the rest buys
    the mean of two noisy sums.

    Notes
    -----
    What is asked second is a function of a noisy number, and either mechanism is pure at the rest of the price: adaptive
    composition. What is charged is the most that any two such mechanisms lose, before the number is known.
    """

    column: str
    lattice: Lattice
    kind: Kind
    full: bool = False

    by_rows = True
    bounded = False  # which rows of a unit count depends on what is asked second: the answer says so
    in_blocks = IN_ONE_BLOCK
    version = 3

    def check(self, terms: Terms) -> None:
        """Refuse where there are publicly too few rows.

        Raises
        ------
        ArgumentValueError
        """
        rows, least = terms.public_rows, self._needed(terms)
        if rows is not None and rows < least:
            raise ArgumentValueError(
                f"method='winsorized' needs {least:,} rows at this price, and there are {rows:,}: leave it out, "
                f"mean({self.column!r}, bounds=(lower, upper))"
            )

    def loss(self, terms: Terms) -> PrivacyLoss:
        """The whole price, as pure mechanisms: it does not tell which of them answers."""
        epsilon = terms.epsilon(WHAT)
        rest = PrivacyLoss.pure(self._rest(terms).epsilon(WHAT))
        return rest if self._known(terms) else PrivacyLoss.pure(epsilon * SIZE_SHARE) + rest

    def steps(self, terms: Terms) -> Steps:
        """The number of rows where it is not known, then quartiles and clipped mean in one look, or two sums."""
        rest, least = self._rest(terms), self._needed(terms)
        if self._known(terms):
            return (yield from self._winsorized(terms, terms.public_rows or 0, ()))
        size = terms.share(SIZE_SHARE).noised(RowCounts(self.column, units=True))
        (noisy,) = yield size
        rows, what = noisy - noise_of(size).half_width(LEVEL), "rows" if terms.unit.column is None else "units"
        bought = f"{show(100 * SIZE_SHARE)} % of the price bought the number of {what}"
        if rows >= least:
            return (
                yield from self._winsorized(
                    terms, rows, (f"at least {rows:,} {what} with 97.5 % confidence; {bought}",)
                )
            )
        mean = self._mean
        answer = yield from mean.steps(rest)
        few = f"not a Winsorized mean, as there may be fewer than the {least:,} {what} that it needs: method='rotated' was used"
        return replace(answer, notes=(Caution(f"{few}; {bought}"), *answer.notes, *left_out(terms.unit, mean)))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Nothing of its size; that of two sums where the caller knows of too few rows."""
        if self._known(terms):
            return WINSORIZED
        least, rest = self._needed(terms), self._rest(terms)
        share = f"{show(100 * SIZE_SHARE)} % of the price buys the number of rows"
        note = f"{share}; below about {least:,} method='rotated' answers"
        found = self._mean.expected(rest, rows) if rows is not None and rows < least else WINSORIZED
        return replace(found, notes=(*found.notes, note))

    @property
    def _mean(self) -> Mean:
        return Mean(self.column, self.lattice, self.kind, full=self.full)

    def _known(self, terms: Terms) -> bool:
        """Whether the number of rows that hold a value is public."""
        return terms.counted and self.full

    def _rest(self, terms: Terms) -> Terms:
        return terms if self._known(terms) else terms.share(1 - SIZE_SHARE)

    def _means(self, rest: Terms) -> BlockMeans:
        blocks, _ = choose(None, "winsorized", rest.epsilon(WHAT), rest.public_rows)
        return BlockMeans(self.column, self.lattice, None, blocks, rest.counted)

    def _needed(self, terms: Terms) -> int:
        return ENOUGH_ROWS * self._means(self._rest(terms)).blocks

    def _winsorized(self, terms: Terms, rows: int, notes: tuple[str, ...]) -> Steps:
        """Private quartiles and the clipped mean, where there are at least so many rows."""
        rest = self._rest(terms)
        means = self._means(rest)
        look = look_at(means, "winsorized", rest.epsilon(WHAT), rest.unit)
        noisy = yield look
        found = combined(means, look, noisy, self.kind, "give a larger epsilon, or leave method= out")
        notes = (
            f"Winsorized mean of {means.blocks:,} block means",
            "worse than method='rotated' unless the bounds are wider than about 15 sqrt(rows / blocks) standard deviations",
            *notes,
            *found.notes,
        )
        error = found.error
        if isinstance(error, Additive) and error.noise.half_width(LEVEL):
            notes += (f"method='rotated' has less noise from about {self._even(error, terms):,} rows on", REACHING)
            apart = uneven(rows, means.blocks) if self._known(terms) else 1 / math.sqrt(rows)
            error = wider(error, noisy[1] - noisy[0], means.blocks, apart)
        value = self.kind.value(found.points[0])
        return Answer(value, found.mechanism, error, (*notes, *left_out(rest.unit, self)), found=found.of)

    def _even(self, error: Additive, terms: Terms) -> int:
        """Rows at which the rotated mean has as much noise as this answer turned out to have: a fact of noisy numbers."""
        return math.ceil(self._mean.error_of_one_row(terms, LEVEL) / float(error.noise.half_width(LEVEL) * error.step))


def uneven(rows: int, blocks: int) -> float:
    """How far the mean of blocks that differ by a row is from that of all rows, in standard deviations of block means."""
    size, more = divmod(rows, blocks)
    weights = (size + 1) / rows - 1 / blocks, size / rows - 1 / blocks
    return math.sqrt(more * weights[0] ** 2 + (blocks - more) * weights[1] ** 2)


def wider(error: Additive, quartiles: int, blocks: int, apart: float) -> Additive:
    """The error of the mean of block means, wider by how far that may be from the mean of all rows.

    Random blocks hold different numbers of rows, so that these weigh unequally: of n rows both means differ by about
    1 / sqrt(n) standard deviations of block means, which are as of a normal law whose quartiles are so many steps apart.
    """
    return replace(error, noise=Wider(error.noise, quartiles / QUARTILES_APART * blocks * apart))

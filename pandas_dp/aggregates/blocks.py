"""What all answers from block results share: how many blocks, which aggregator, and what its noise means."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar, cast

from pandas_dp.aggregates.base import (
    BAR_SHARE,
    FITS,
    PLAIN,
    Answer,
    Caution,
    ExpectedError,
    Guarantee,
    SingleLook,
    Terms,
    Unit,
    least_epsilon,
    noise_of,
)
from pandas_dp.aggregates.ladder import Rungs, rungs_around
from pandas_dp.aggregates.smooth import BEST_NOISE, NOTE, clipped, smoothed
from pandas_dp.aggregates.uncertainty import LEVEL, Additive, EachOf, RankBound, ScoreGap, percent
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.quantiles import Ladder, Quantile, cuts
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PermuteAndFlip
from pandas_dp.core.mechanisms.smooth import SmoothNoise
from pandas_dp.core.mechanisms.winsorized import WinsorizedSum
from pandas_dp.core.privacy import Price, PrivacyUnit, show
from pandas_dp.core.statistics.blocks import BlockMeans, BlockPoints, BlockResults, BlockSums, BlockVotes
from pandas_dp.core.statistics.smooth import CentreOfAttention
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.kinds import Kind

FEW_BLOCKS, MORE_BLOCKS, MOST_BLOCKS = 25, 50, 100_000
ROWS_A_BLOCK = 5  # with fewer, empty blocks (which count as the middle of the bounds) pull the answer
ENOUGH_ROWS = 10  # in a block, for a private median instead of a noisy mean
LEAST_FOR_MEDIAN = 50  # blocks times epsilon
EACH_QUARTILE = (1 + LEVEL) / 2  # of two, which then hold together with `LEVEL`
WANTED = {"winsorized": 810}  # blocks times epsilon: what two quartiles among 2^31 points need
WANTED_ELSE = 100
HALF = Fraction(1, 2)
TUKEY = Fraction(3, 2)
REMEDY = "give rows=, more blocks or a larger epsilon"
MORE_OR_ROWS = "more blocks=, or rows= (about how many there are, if that is public)"
WORTH_A_NOTE = Fraction(1, 10)  # of the bounds
ALONE = "noise alone: "
IN_ONE_BLOCK = "in one block"
WINSORIZED = ExpectedError(
    f"sample and aggregate, {WinsorizedSum.name}",
    None,
    "not known in advance: it grows with the distance of two private quartiles",
)


class FromBlocks(SingleLook):
    """An answer from the results of blocks, refused before it is charged where public numbers show that it would be noise.

    ``rows`` is about how many there are, if the caller says so.
    """

    name: ClassVar[str]  # of the question, for errors
    rows: int | None
    by_rows = True
    in_blocks = IN_ONE_BLOCK

    def _remedy(self, terms: Terms) -> str:
        """What to try where the answer is useless: without what was said already."""
        return REMEDY if terms.about(self.rows) is None else REMEDY.replace("rows=, ", "")

    @abstractmethod
    def _chosen(self, terms: Terms) -> tuple[int, str]:
        """How many blocks, and how their results are combined."""

    def check(self, terms: Terms) -> None:
        """Refuse more blocks than rows, and noise as wide as the bounds.

        Raises
        ------
        ArgumentValueError
        """
        blocks, rows = self._chosen(terms)[0], terms.about(self.rows)
        if rows is not None and blocks > rows:
            raise ArgumentValueError(
                f"{self.name}() with {blocks:,} blocks of {rows:,} rows would leave most blocks without a row: type "
                f"blocks={max(rows // ENOUGH_ROWS, 1)} or fewer, or a larger epsilon where the number of blocks was left out"
            )
        refuse_drowned(f"{self.name}() with {blocks:,} blocks", self.look, terms, MORE_OR_ROWS)


def refuse_drowned(what: str, look: Callable[[Terms], Measurement], terms: Terms, remedy: str) -> None:
    """Refuse a look at blocks whose noise is as wide as the range of its answers, naming an epsilon that is enough.

    Raises
    ------
    ArgumentValueError
    """
    if not drowned(look(terms)):
        return
    least = least_epsilon(lambda epsilon: not drowned(look(terms.at(epsilon))))
    raise ArgumentValueError(
        f"{what} would return noise as wide as the range of its answers: type at least df.dp(epsilon={show(least)}), "
        f"preferably ten times that, or {remedy}"
    )


def drowned(look: Measurement) -> bool:
    """Whether the noise of a look at blocks, at 95 %, is surely the whole range of its answers: a public fact.

    Of a sum: as wide as the bounds. Of ranks: all the blocks. Of votes: all of them. Noise that fits the data is never surely
    so.
    """
    statistic, mechanism = look.statistic, look.mechanism
    if isinstance(statistic, BlockVotes) and isinstance(mechanism, PermuteAndFlip | ExponentialMechanism):
        return gap_of(mechanism, len(statistic.keys), statistic.blocks).within(LEVEL) >= statistic.blocks
    if isinstance(statistic, BlockSums):
        return noise_of(look).half_width(LEVEL) >= statistic.means.blocks * statistic.means.lattice.cells
    if isinstance(statistic, BlockPoints) and isinstance(mechanism, Quantile | WinsorizedSum | Ladder):
        return rank_of(mechanism, statistic.means).within(LEVEL) >= statistic.means.blocks
    return False


def rank_of(mechanism: Quantile | WinsorizedSum | Ladder, values: BlockMeans | BlockResults) -> Guarantee:
    """How far the rank of a median, or of the quartiles, among block results may be off."""
    if isinstance(mechanism, Ladder):
        return rank_of(medians(mechanism), values)
    rate = mechanism.rate if isinstance(mechanism, Quantile) else mechanism.epsilon / 8
    make = partial(RankBound, blocks=values.blocks, of=results_of(values), what="median")
    return Guarantee(make, math.log(values.lattice.cells + 1), float(rate))


def results_of(values: BlockMeans | BlockResults) -> str:
    """What blocks give, in words."""
    return "block means" if isinstance(values, BlockMeans) else "block results"


@dataclass(frozen=True)
class Combined:
    """Noisy aggregates of block values, one for each part: points between the ends of the lattice.

    ``error`` is in units of the lattice; ``notes`` say where public numbers alone show that the answer is useless. ``of`` says
    what an interval is about: no more than these blocks, whatever their size does to what they give.
    """

    points: list[Fraction]
    mechanism: str
    error: Additive | EachOf | Rungs | Guarantee | None
    notes: tuple[str, ...]
    of: str | None = None


def choose(blocks: int | None, aggregator: str, epsilon: Fraction, rows: int | None) -> tuple[int, str]:
    """Number of blocks and aggregator, from public numbers.

    With n about the number of rows, K = ceil(max(n^0.4, 100 / epsilon)) blocks and their private median where n >= 10 K;
    otherwise 50 blocks and their noisy mean, 25 where n is unknown or below 250. A median (smooth or not) or a vote that is
    asked for gets K blocks in any case, a Winsorized mean 810 / epsilon instead of 100 / epsilon.

    Parameters
    ----------
    blocks : int or None
        Wanted number.
    aggregator : {"auto", "mean", "median", "smooth", "winsorized", "vote"}
    epsilon : Fraction
        What is left for one output of one group.
    rows : int or None
        About how many there are; None: nothing is known.
    """
    known = 0 if rows is None else rows
    wanted = math.ceil(WANTED.get(aggregator, WANTED_ELSE) / epsilon)
    many = min(max(two_fifths(known), wanted), MOST_BLOCKS)
    if aggregator == "auto":
        enough = blocks is not None or known >= ENOUGH_ROWS * many
        aggregator = "median" if enough and (blocks or many) * epsilon >= LEAST_FOR_MEDIAN else "mean"
    few = MORE_BLOCKS if known >= ROWS_A_BLOCK * MORE_BLOCKS else FEW_BLOCKS
    return blocks or (few if aggregator == "mean" else many), aggregator


def two_fifths(rows: int) -> int:
    """Least whole number at least rows^0.4, by whole numbers alone so that every machine finds the same."""
    least = max(int(rows**0.4) - 1, 0)
    while least**5 < rows**2:
        least += 1
    return least


def for_medians(epsilon: Fraction, error_bar: bool) -> Fraction:
    """What of the price draws them."""
    return epsilon * (1 - BAR_SHARE) if error_bar else epsilon


def medians(mechanism: Quantile | Ladder) -> Quantile:
    """What draws them."""
    return cast("Quantile", mechanism.choices[0] if isinstance(mechanism, Ladder) else mechanism)


def look_at(
    values: BlockMeans | BlockResults,
    aggregator: str,
    epsilon: Fraction,
    unit: PrivacyUnit,
    reach: Fraction = TUKEY,
    error_bar: bool = False,
) -> Measurement:
    """Return the look that combines block values by their mean, median, smooth median or Winsorized mean.

    With an error bar `BAR_SHARE` of the price of a median counts the block values between cuts around it: of the K values,
    whose number is public, one changes, so it leaves one cell and enters another. Smooth vectors move as a whole: their
    central one is taken instead of medians.
    """
    if aggregator == "mean":
        return Terms(unit, Price(epsilon)).noised(BlockSums(values))
    if aggregator == "smooth" and isinstance(values, BlockResults) and values.outputs > 1:
        noise = SmoothNoise(BEST_NOISE, epsilon, dimension=values.outputs)
        return Measurement(CentreOfAttention(values, noise.beta), noise)
    points, cells = BlockPoints(values), values.lattice.cells
    sensitivity = points.sensitivity(unit)
    if aggregator == "smooth":
        return smoothed(points, HALF, BEST_NOISE, Price(epsilon), unit)
    if aggregator == "median":
        choice = Quantile.calibrate(HALF, cells, for_medians(epsilon, error_bar), sensitivity)
        if not error_bar:
            return Measurement(points, choice)
        counts = Terms(unit, Price(epsilon * BAR_SHARE)).noised(points)
        return Measurement(points, Ladder((choice,), noise_of(counts)))
    return Measurement(points, WinsorizedSum.calibrate(epsilon, reach, cells, sensitivity))


def combined(values: BlockMeans | BlockResults, look: Measurement, noisy: Noisy, kind: Kind, remedy: str) -> Combined:
    """Read the integers of a look made by `look_at`.

    Parameters
    ----------
    remedy : str
        What to try where the answer is useless.
    """
    if isinstance(look.mechanism, Quantile | Ladder):
        return _medians(values, look.mechanism, noisy, kind, remedy)
    if isinstance(look.mechanism, WinsorizedSum):
        return _winsorized(values, look.mechanism, noisy, kind, remedy)
    if isinstance(look.mechanism, SmoothNoise):
        inside = [clipped(values.lattice, offset) for offset in noisy]
        return Combined(inside, f"sample and aggregate, {look.mechanism.name}", None, (NOTE,))
    lattice, noise, blocks = values.lattice, noise_of(look), values.blocks
    step = lattice.step / blocks
    points = [lattice.lower + min(max(total, 0), blocks * lattice.cells) * step for total in noisy]
    error = Additive(noise, step, kind, (lattice.lower, lattice.upper))
    of = f"of the mean of {blocks:,} {results_of(values)}{'' if values.by is None else ' of each group'}"
    return Combined(points, f"sample and aggregate, {noise.name}", error, noise_note(error, remedy), of)


def _medians(
    values: BlockMeans | BlockResults, mechanism: Quantile | Ladder, noisy: Noisy, kind: Kind, remedy: str
) -> Combined:
    error, name = rank_of(mechanism, values), f"sample and aggregate, {mechanism.name}"
    note = rank_note(error, values.blocks, remedy)
    if isinstance(mechanism, Quantile):
        return Combined([values.lattice.point(offset) for offset in noisy], name, error, note)
    parts = 1 if values.by is None else values.by.count
    rest, about = iter(noisy[parts:]), (mechanism.noise, values.lattice, kind, False)
    found = [each for point in noisy[:parts] for each in rungs_around([point], rest, (HALF,), *about)]
    rungs = tuple(each for _, each in found)
    of = f"of the median of {values.blocks:,} {results_of(values)}{'' if values.by is None else ' of each group'}"
    notes = (
        *note,
        "two fifths of the price of medians paid for their error bars; of two middle results the lower one is taken",
    )
    points = [values.lattice.point(offset) for offset, _ in found]
    return Combined(points, name, rungs[0] if values.by is None else EachOf(rungs), notes, of)


def _winsorized(
    values: BlockMeans | BlockResults, mechanism: WinsorizedSum, noisy: Noisy, kind: Kind, remedy: str
) -> Combined:
    """Of one part: its noise depends on its quartiles."""
    lattice, blocks = values.lattice, values.blocks
    a, b, total = noisy
    low, high = mechanism.ends(a, b)
    step = lattice.step / blocks
    point = lattice.point(low) + min(max(total, 0), blocks * (high - low)) * step
    noise = mechanism.noise(a, b)
    off = rank_of(mechanism, values).within(EACH_QUARTILE)
    few: tuple[str, ...] = ()
    if off >= blocks / 4:
        known = f"whose ranks may be off by {math.ceil(off):,} of {blocks:,}"
        few = (Caution(f"no interval: too few blocks for their quartiles, {known}; {remedy}"),)
    name = f"sample and aggregate, {mechanism.name}"
    ends = (kind.value(lattice.point(end)) for end in (low, high))
    told = ", ".join(f"{end:.6g}" if isinstance(end, float) else str(end) for end in ends)
    of = f"of the mean of {blocks:,} {results_of(values)} clipped to about [{told}]"
    if noise is None:
        point_alone = Caution("both private quartiles are equal; their value is the answer")
        return Combined([point], name, None, (*few, point_alone), of)
    error = Additive(noise, step, kind, (lattice.lower, lattice.upper))
    notes = (*few, *noise_note(error, remedy), "half of the price paid for the range that results were clipped to")
    return Combined([point], name, None if few else error, notes, of)


def noise_note(error: Additive, remedy: str) -> tuple[str, ...]:
    """Say so where the noise alone is a large part of the public bounds."""
    lower, upper = error.within or (Fraction(0), Fraction(0))
    half = error.noise.half_width(LEVEL) * error.step
    if half < WORTH_A_NOTE * (upper - lower):
        return ()
    if half >= upper - lower:
        return (Caution(f"useless: the noise alone is wider than the bounds ({percent(LEVEL)}); {remedy}"),)
    return (
        Caution(
            f"the noise alone is ± {float(100 * half / (upper - lower)):.0f} % of the bounds ({percent(LEVEL)}); {remedy}"
        ),
    )


def rank_note(error: Guarantee, blocks: int, remedy: str) -> tuple[str, ...]:
    """Say so where the rank of a median among the blocks can be off by all that lie beyond it."""
    bound = error.within(LEVEL)
    if 2 * bound < blocks:
        return ()
    return (
        Caution(f"too few blocks for a median: its rank may be off by {math.ceil(bound):,} of {blocks:,}; {remedy}"),
    )


def size_note(blocks: int, rows: int | None) -> tuple[str, ...]:
    """Say so where blocks are known to be small, or nothing is known of it."""
    if rows is None:
        return (
            "the number of rows is not part of this answer: an empty block counts as what the function returns for no rows",
        )
    if rows >= ENOUGH_ROWS * blocks:
        return ()
    bias = "small blocks bias estimates, and empty ones say nothing about the rows"
    return (Caution(f"about {rows / blocks:.3g} rows a block: {bias}"),)


def gap_of(mechanism: PermuteAndFlip | ExponentialMechanism, keys: int, blocks: int) -> Guarantee:
    """How far the votes of the choice may be below the most."""
    make = partial(ScoreGap, best=f"the largest, of {blocks:,} votes")
    return Guarantee(make, math.log(keys), float(mechanism.rate))


def expected_of(answer: Answer, look: Measurement, unit: Unit = PLAIN, each: str = "") -> ExpectedError:
    """The noise of the combination of block results; what the blocks differ by comes on top."""
    if isinstance(look.mechanism, Ladder) and isinstance(look.statistic, BlockPoints):
        ranks = rank_of(look.mechanism, look.statistic.means).expected(answer.mechanism, Unit("blocks"), answer.notes)
        return replace(ranks, error=f"{each}{ranks.error}; in values not known in advance", half_width=None)
    if isinstance(answer.error, Guarantee):
        found = answer.error.expected(answer.mechanism, Unit("blocks"), answer.notes)
        return replace(found, error=f"{each}{found.error}")
    if isinstance(answer.error, Additive):
        found = unit.noisy(noise_of(look), answer.error.step, f"{ALONE}{each}")
        return replace(found, mechanism=answer.mechanism, notes=answer.notes)
    return ExpectedError(answer.mechanism, None, FITS, None, answer.notes)


def middle(look: Measurement, lattice: Lattice, parts: int = 1) -> list[int]:
    """Invented noisy integers of answers in the middle of their bounds, of which there is nothing to note."""
    blocks = look.statistic.means.blocks if isinstance(look.statistic, BlockSums) else 1
    points = [blocks * lattice.cells // 2] * parts
    cells = (len(cuts(points[:1], lattice.cells)) + 1) * parts if isinstance(look.mechanism, Ladder) else 0
    return points + [0] * cells

"""Several numbers from each block of rows, combined privately: vectors of estimates, and the centres of k-means."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import AT, PLAIN, Answer, ExpectedError, Terms, noise_of
from pandas_dp.aggregates.blocks import (
    ALONE,
    FromBlocks,
    choose,
    combined,
    expected_of,
    look_at,
    middle,
    size_note,
)
from pandas_dp.aggregates.rotated import Floats
from pandas_dp.aggregates.uncertainty import LEVEL, NUMBER, Additive, Ends, series_of
from pandas_dp.core.lattice import RANK_BITS, Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.statistics.blocks import BlockResults

Range = tuple[Fraction, Fraction]
UNIT = Lattice.between(Fraction(0), Fraction(1), RANK_BITS)
MOST_FOR_CENTRE = 2000  # blocks, whose distances are all compared


@dataclass(frozen=True)
class VectorOfBlocks(FromBlocks):
    """Numbers with bounds of their own, each combined at an equal share of the price, or all as one vector.

    One unit changes one block and so all numbers of that block: they are parts that are all touched.

    Parameters
    ----------
    names : tuple of str
    ranges : tuple of (lower, upper)
        Public bounds of what has that name.
    blocks, rows : int or None
    aggregator : {"auto", "median", "mean", "smooth"}
        "smooth" takes the block's vector that most others are near to, in units of the bounds, with noise scaled to its
        smooth sensitivity.
    """

    names: tuple[str, ...]
    ranges: tuple[Range, ...]
    blocks: int | None
    rows: int | None
    aggregator: str

    repeats: ClassVar[int] = 1  # numbers of each name that a block has
    shown_columns: ClassVar[tuple[str, ...] | None] = None  # what a block shows; None: all columns

    @abstractmethod
    def function(self, lower: tuple[float, ...], upper: tuple[float, ...]) -> Callable[[pd.DataFrame], Any]:
        """What makes a block a tuple: one number of each name, scaled to 0..1, then the next one of each."""

    @abstractmethod
    def shown(self, values: dict[str, list[Any]]) -> tuple[Any, tuple[str, ...]]:
        """What is released, and notes on it."""

    def look(self, terms: Terms) -> Measurement:
        """One look at the blocks."""
        return look_at(self._results(terms), self._chosen(terms)[1], terms.epsilon(WHAT), terms.unit)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Back to the bounds of each name."""
        blocks, aggregator = self._chosen(terms)
        found = combined(self._results(terms), look, noisy, NUMBER, self._remedy(terms))
        values = {}
        for i, (name, (lower, upper)) in enumerate(zip(self.names, self.ranges, strict=True)):
            scaled = [min(max(point, Fraction(0)), Fraction(1)) for point in found.points[i :: len(self.names)]]
            values[name] = [NUMBER.value(lower + (upper - lower) * point) for point in scaled]
        value, notes = self.shown(values)
        how = f"the {aggregator} of each number costs 1/{self._outputs} of the price"
        if aggregator == "smooth" and self._outputs > 1:
            how = "the central one, with noise that fits them"
        error = self._scaled(found.error) if isinstance(found.error, Additive) else found.error
        sizes = size_note(blocks, terms.about(self.rows))
        notes = (f"{blocks:,} blocks, {how}", *notes, *found.notes, *sizes)
        return Answer(value, found.mechanism, error, notes, found=found.of)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise of the combination, in the units of each name where it is added."""
        look = self.look(terms)
        answer = self.answer(middle(look, UNIT, self._outputs), look, terms)
        if not isinstance(answer.error, ByName):
            return expected_of(answer, look, each="each ")
        steps = {name: model.step for name, model in answer.error.models.items()}
        noise = noise_of(look)
        halves = {name: float(noise.half_width(LEVEL) * step) for name, step in steps.items()}
        scales = dict.fromkeys(PLAIN.scale(noise, step) for step in steps.values())
        words = ", ".join(f"{name} ± {PLAIN.text(half)}" for name, half in halves.items())
        return ExpectedError(answer.mechanism, ", ".join(scales), f"{ALONE}{words} {AT}", halves, answer.notes)

    @property
    def _outputs(self) -> int:
        return self.repeats * len(self.names)

    def _chosen(self, terms: Terms) -> tuple[int, str]:
        epsilon = terms.epsilon(WHAT) / self._outputs
        blocks, aggregator = choose(self.blocks, self.aggregator, epsilon, terms.about(self.rows))
        return (min(blocks, MOST_FOR_CENTRE) if aggregator == "smooth" else blocks), aggregator

    def _results(self, terms: Terms) -> BlockResults:
        lower, upper = (tuple(float(ends[side]) for ends in self.ranges) for side in (0, 1))
        function, blocks = self.function(lower, upper), self._chosen(terms)[0]
        return BlockResults(function, UNIT, blocks, self._outputs, self.shown_columns, equal=terms.counted)

    def _scaled(self, error: Additive) -> ByName:
        """The same noise in the units of each name."""
        return ByName(
            {
                name: replace(error, step=error.step * (ends[1] - ends[0]), within=ends)
                for name, ends in zip(self.names, self.ranges, strict=True)
            }
        )


WHAT = "an answer from blocks"


@dataclass(frozen=True)
class ByName:
    """Error of columns, or of entries, with units of their own."""

    models: dict[str, Additive]

    def bounds(self, value: pd.Series[float], level: float) -> Ends:
        """Ends of one column, known by its name, or of a Series with one entry for each name."""
        if value.name in self.models:
            return self.models[str(value.name)].bounds(value, level)
        ends = [self.models[str(name)].bounds(entry, level) for name, entry in value.items()]
        return series_of(ends, value)


@dataclass(frozen=True)
class Estimates(VectorOfBlocks):
    """Named numbers from a user's function, which has no identity: the answer is not stored.

    `tried` is what a trial of the function on made-up rows showed.
    """

    estimate: Callable[[pd.DataFrame], Any]
    tried: tuple[str, ...] = ()

    name = "sample_and_aggregate"
    stored = False
    mixed = True

    def function(self, lower: tuple[float, ...], upper: tuple[float, ...]) -> Callable[[pd.DataFrame], Any]:
        """See `Scaled`."""
        return Scaled(self.estimate, self.names, lower, upper)

    def shown(self, values: dict[str, list[Any]]) -> tuple[Any, tuple[str, ...]]:
        """Return a Series by name."""
        return pd.Series({name: numbers[0] for name, numbers in values.items()}), self.tried


@dataclass(frozen=True)
class Scaled:
    """A user's function whose named results are scaled to 0..1; run, and guarded, as the function itself.

    It returns a mapping or Series with these names, or as many numbers in their order.
    """

    estimate: Callable[[pd.DataFrame], Any]
    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __call__(self, block: pd.DataFrame) -> tuple[float, ...]:
        """Return one number for each name; no number for a block whose result has another form."""
        ends = zip(by_name(self.estimate(block), self.names), self.lower, self.upper, strict=False)
        return tuple((float(number) - low) / (high - low) for number, low, high in ends)


def by_name(result: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """What a user's function returned for each name, by name or in their order; nothing for a result of another form."""
    if isinstance(result, Mapping | pd.Series):
        return tuple(result[name] for name in names)
    found = tuple(result) if isinstance(result, Sequence) or hasattr(result, "tolist") else ()
    return found if len(found) == len(names) else ()


STARTS, ROUNDS = 8, 25


@dataclass(frozen=True)
class Centres:
    """The centres of one block by Lloyd's algorithm, from public starts: a function of its rows alone.

    Columns are clipped to their bounds and scaled to 0..1; rows with a missing value are left out. Lloyd's rounds run from
    `STARTS` public sets of centres at once, and the set with the least sum of squared distances is kept. A centre without
    rows stays where it is.

    Parameters
    ----------
    columns : tuple of str
    lower, upper : tuple of float
        Public bounds of each column.
    k : int
    """

    columns: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    k: int

    def __call__(self, block: pd.DataFrame) -> tuple[float, ...]:
        """Return k centres of d coordinates, sorted by the first, then the next; nothing for a block without rows."""
        points = block[list(self.columns)].to_numpy(dtype=np.float64)
        points = points[~np.isnan(points).any(axis=1)]  # shape (rows, d)
        if not len(points):
            return ()
        lower, upper = np.array(self.lower), np.array(self.upper)
        scaled = (np.clip(points, lower, upper) - lower) / (upper - lower)
        centres = lloyd(scaled, starts(self.k, len(self.columns)))
        return tuple(centres[np.lexsort(centres.T[::-1])].ravel().tolist())


def starts(k: int, d: int) -> Floats:
    """Sets of k public points spread evenly over the unit cube, shape (STARTS, k, d).

    The sequence of multiples of 1/g, 1/g^2, ... modulo 1, with g the positive root of g^(d + 1) = g + 1: the golden ratio's
    generalisation to d dimensions, whose points are well apart from each other.
    """
    g = 2.0
    for _ in range(60):
        g = (1 + g) ** (1 / (d + 1))
    steps = g ** -np.arange(1.0, d + 1)  # shape (d,)
    points: Floats = (0.5 + np.outer(np.arange(STARTS * k), steps)) % 1
    return points.reshape(STARTS, k, d)


def lloyd(points: Floats, centres: Floats) -> Floats:
    """Return the best centres, shape (k, d), that Lloyd's algorithm finds for points of shape (rows, d) from some starts."""
    clusters = np.arange(centres.shape[1])
    for _ in range(ROUNDS):
        nearest = _distances(points, centres).argmin(axis=2)
        member = (nearest[:, :, None] == clusters).astype(np.float64)  # shape (starts, rows, k)
        size = member.sum(axis=1)[:, :, None]  # shape (starts, k, 1)
        sums = np.matmul(member.transpose(0, 2, 1), points)  # shape (starts, k, d)
        moved = np.where(size > 0, sums / np.maximum(size, 1), centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    best = _distances(points, centres).min(axis=2).sum(axis=1).argmin()
    return centres[best]


def _distances(points: Floats, centres: Floats) -> Floats:
    """Squared distances, shape (starts, rows, k)."""
    squares: Floats = (points**2).sum(axis=1)[None, :, None] + (centres**2).sum(axis=2)[:, None, :]
    squares -= 2 * np.matmul(points, centres.transpose(0, 2, 1))
    return squares


@dataclass(frozen=True)
class KMeans(VectorOfBlocks):
    """k centres of some columns."""

    k: int

    name = "kmeans"

    @property
    def repeats(self) -> int:  # type: ignore[override]
        """One for each centre."""
        return self.k

    @property
    def shown_columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the centres alone."""
        return self.names

    def function(self, lower: tuple[float, ...], upper: tuple[float, ...]) -> Centres:
        """See `Centres`."""
        return Centres(self.names, lower, upper, self.k)

    def shown(self, values: dict[str, list[Any]]) -> tuple[Any, tuple[str, ...]]:
        """Return a table with one row for each centre."""
        note = (
            "centres of blocks are matched by their order in the first column: clusters that are close in that column may be "
            "mixed up"
        )
        return pd.DataFrame(values), (note,)

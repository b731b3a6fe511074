"""Several numbers from each block of rows, combined privately: what k-means and vectors of estimates share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import Answer, Terms, noise_of, pure_epsilon
from pandas_dp.aggregates.blocks import (
    ALONE,
    REMEDY,
    FromBlocks,
    choose,
    combined,
    expected_of,
    look_at,
    middle,
    size_note,
)
from pandas_dp.aggregates.expected import AT, PLAIN, ExpectedError, scale_of
from pandas_dp.core.lattice import RANK_BITS, Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.statistics.blocks import BlockResults
from pandas_dp.uncertainty import LEVEL, NUMBER, Additive, Ends

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

    @property
    def repeats(self) -> int:
        """How many numbers of each name a block has."""
        return 1

    @abstractmethod
    def function(self, lower: tuple[float, ...], upper: tuple[float, ...]) -> Callable[[pd.DataFrame], Any]:
        """What makes a block a tuple: one number of each name, scaled to 0..1, then the next one of each."""

    @abstractmethod
    def shown(self, values: dict[str, list[Any]]) -> tuple[Any, tuple[str, ...]]:
        """What is released, and notes on it."""

    def number(self, terms: Terms) -> int:
        """How many blocks."""
        return self._chosen(terms)[0]

    def look(self, terms: Terms) -> Measurement:
        """One look at the blocks."""
        return look_at(self._results(terms), self._chosen(terms)[1], pure_epsilon(terms.price, WHAT), terms.unit)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Back to the bounds of each name."""
        blocks, aggregator = self._chosen(terms)
        found = combined(self._results(terms), look, noisy, NUMBER, REMEDY)
        values = {}
        for i, (name, (lower, upper)) in enumerate(zip(self.names, self.ranges, strict=True)):
            scaled = [min(max(point, Fraction(0)), Fraction(1)) for point in found.points[i :: len(self.names)]]
            values[name] = [NUMBER.value(lower + (upper - lower) * point) for point in scaled]
        value, notes = self.shown(values)
        how = f"{aggregator} of each number at 1/{self._outputs} of the price"
        if aggregator == "smooth" and self._outputs > 1:
            how = "the central one, with noise that fits them"
        error = self._scaled(found.error) if isinstance(found.error, Additive) else found.error
        sizes = size_note(blocks, terms.about(self.rows))
        return Answer(value, found.mechanism, error, (f"{blocks:,} blocks, {how}", *notes, *found.notes, *sizes))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise of the combination, in the units of each name where it is added."""
        look = self.look(terms)
        answer = self.answer([middle(look, UNIT)] * self._outputs, look, terms)
        if not isinstance(answer.error, ByName):
            return expected_of(answer, look, each="each ")
        steps = {name: model.step for name, model in answer.error.models.items()}
        noise = noise_of(look)
        halves = {name: float(noise.half_width(LEVEL) * step) for name, step in steps.items()}
        scales = dict.fromkeys(scale_of(noise, step, PLAIN) for step in steps.values())
        words = ", ".join(f"{name} ± {PLAIN.text(half)}" for name, half in halves.items())
        return ExpectedError(answer.mechanism, ", ".join(scales), f"{ALONE}{words} {AT}", halves, answer.notes)

    @property
    def _outputs(self) -> int:
        return self.repeats * len(self.names)

    def _chosen(self, terms: Terms) -> tuple[int, str]:
        epsilon = pure_epsilon(terms.price, WHAT) / self._outputs
        blocks, aggregator = choose(self.blocks, self.aggregator, epsilon, terms.about(self.rows))
        return (min(blocks, MOST_FOR_CENTRE) if aggregator == "smooth" else blocks), aggregator

    def _results(self, terms: Terms) -> BlockResults:
        lower, upper = (tuple(float(ends[side]) for ends in self.ranges) for side in (0, 1))
        return BlockResults(
            self.function(lower, upper), UNIT, self._chosen(terms)[0], self._outputs, self.shown_columns
        )

    @property
    def shown_columns(self) -> tuple[str, ...] | None:
        """What a block shows; None: all columns."""
        return None

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
        lower, upper = (pd.Series([pair[side] for pair in ends], index=value.index) for side in (0, 1))
        return lower, upper


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
        result = self.estimate(block)
        if isinstance(result, Mapping | pd.Series):
            found = [result[name] for name in self.names]
        elif isinstance(result, Sequence) or hasattr(result, "tolist"):
            found = list(result)
        else:
            return ()
        if len(found) != len(self.names):
            return ()
        ends = zip(found, self.lower, self.upper, strict=True)
        return tuple((float(number) - low) / (high - low) for number, low, high in ends)

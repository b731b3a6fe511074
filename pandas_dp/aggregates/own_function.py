"""Noise on what a user's function makes of the whole table, as large as its sensitivity by the user's word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import PLAIN, Answer, ExpectedError, SingleLook, Terms, noise_of
from pandas_dp.aggregates.uncertainty import NUMBER, Additive
from pandas_dp.aggregates.vectors import by_name
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.privacy import show
from pandas_dp.core.statistics.scores import FrameNumbers
from pandas_dp.facts.numbers import Accuracy

FINENESS = 20  # bits: a step of one number is at most 2**-20 of the sensitivity


@dataclass(frozen=True)
class OwnFunction(SingleLook):
    """One number, or a Series of named ones. The function has no identity: the answer is not stored.

    Results are rounded to a power of two that follows from the sensitivity and the number of names, so that the noise is whole
    steps and last digits tell nothing. All roundings together add less than 2**-19 of the sensitivity.

    Parameters
    ----------
    function : callable
    sensitivity : Fraction
        Of one unit, by the user's word.
    names : tuple of str
        Of several numbers; empty for one.
    norm : {1, 2}
        In which the sensitivity of several is.
    tried : tuple of str
        What a trial of the function on made-up rows showed.
    """

    function: Callable[[pd.DataFrame], Any]
    sensitivity: Fraction
    names: tuple[str, ...] = ()
    norm: int = 1
    tried: tuple[str, ...] = ()

    name = "release"
    stored = False

    @property
    def step(self) -> Fraction:
        """What one step of the noise is worth: a power of two, from public numbers."""
        bits = FINENESS + (max(len(self.names), 1) - 1).bit_length()
        return Lattice.between(Fraction(0), self.sensitivity, bits).step

    def look(self, terms: Terms) -> Measurement:
        """One look at the whole table."""
        steps = -(-self.sensitivity // self.step)
        read = Named(self.function, self.names) if self.names else self.function
        statistic = FrameNumbers(read, self.step, int(steps), max(len(self.names), 1), self.norm)
        return terms.noised(statistic)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a float, or a Series by name."""
        points = [NUMBER.value(point * self.step) for point in noisy]
        value = pd.Series(points, index=list(self.names)) if self.names else points[0]
        noise = noise_of(look)
        return Answer(value, noise.name, Additive(noise, self.step), self.tried, assumes=self.assumed(terms))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise."""
        found = PLAIN.noisy(noise_of(self.look(terms)), self.step, "each " if self.names else "")
        return replace(found, notes=(*self.tried, f"assumes {self.assumed(terms)}"))

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the half-width of the noise of each number."""
        return terms.least(lambda offer: noise_of(self.look(offer)).half_width(wanted.level) * self.step, wanted)

    def assumed(self, terms: Terms) -> str:
        """The user's word; where rows are replaced a step may also filter the new ones, or only the old ones.

        With periods it is about a pair: what a unit does in one of two days may move a result by more than the whole unit does.
        """
        unit = terms.unit
        who, other = ("row", "changed") if unit.column is None else (repr(unit.column), "with other rows")
        who += f" in one {unit.period}" * bool(unit.period and unit.column)
        how = "more or fewer" if unit.add_remove else f"more, fewer or {other}"
        norm = f" in L{self.norm} norm" if len(self.names) > 1 else ""
        return f"one {who} {how} changes the result by at most {show(self.sensitivity)}{norm}"


@dataclass(frozen=True)
class Named:
    """A user's function of several named numbers; run, and guarded, as the function itself."""

    function: Callable[[pd.DataFrame], Any]
    names: tuple[str, ...]

    def __call__(self, table: pd.DataFrame) -> tuple[Any, ...]:
        """Return one number for each name; none where the result has another form."""
        return by_name(self.function(table), self.names)

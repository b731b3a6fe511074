"""Sums of clipped values, in all or by group."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import Answer, SingleLook, Terms, in_numbers, least_noised, noise_of, noised
from pandas_dp.aggregates.expected import ExpectedError, noisy, unit_of
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.partition import Partition
from pandas_dp.core.statistics.sums import Total
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.kinds import Kind
from pandas_dp.uncertainty import Additive, HalfWidth


@dataclass(frozen=True)
class Sum(SingleLook):
    """Sum of a column clipped to the public bounds; rows without a value add nothing.

    The answer is the noisy integer sum on the lattice, scaled back: a float (a Timedelta for durations).
    """

    column: str
    lattice: Lattice
    kind: Kind
    by: Partition | None = None
    labels: Labels | CrossLabels | None = None

    totals = True
    own_unit = True

    def look(self, terms: Terms) -> Measurement:
        """One integer, or one for each group."""
        return noised(Total(self.column, self.lattice, self.by), terms.price, terms.unit)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Scale the noisy integers back."""
        noise = noise_of(look)
        values, error = [self.of_cell([total]) for total in noisy], self.error_of_cell([], noise)
        if self.labels is None:
            return Answer(values[0], noise.name, error)
        return Answer(pd.Series(values, index=self.labels.index(), name=self.column), noise.name, error)

    def of_cell(self, cell: Noisy) -> Any:
        """The sum of one part."""
        top, bottom = self.lattice.step.as_integer_ratio()
        return self.kind.ratio(cell[0] * top, bottom)

    def error_of_cell(self, cell: Noisy, noise: HalfWidth) -> Additive:
        """That of every part alike."""
        return Additive(noise, self.lattice.step, self.kind)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise of each sum."""
        each = "" if self.labels is None else "each "
        return noisy(noise_of(self.look(terms)), self.lattice.step, unit_of(self.kind), each)

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the noise's half-width."""
        in_numbers(wanted, self.kind.name == "timedelta")
        step = self.lattice.step
        return least_noised(lambda offer: noise_of(self.look(offer)).half_width(wanted.level) * step, wanted, terms)

"""Total scores of public candidates: row by row, or by a user's function of the whole table."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_rows
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Additive, Exact, View
from pandas_dp.core.offset_sum import offset_sum
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.errors import ArgumentValueError

FARTHEST = 1 << 61


@dataclass(frozen=True)
class RowScores(Additive):
    """Sum over the rows of a score for each candidate, in steps of a lattice from 0 to a cap.

    Parameters
    ----------
    expressions : tuple
        The row-wise score of each candidate, in numbers.
    lattice : Lattice
        From 0; values beyond count at its ends, missing ones as 0.

    Notes
    -----
    Each unit keeps at most k random rows, the same for all candidates, and a row adds an integer in 0..cells to each
    total. Add/remove: all totals move one way, each by at most k cells. Replace-one: each total moves by at most k cells,
    but one may rise as another falls, so the changes of two differ by up to 2 k cells.
    """

    expressions: tuple[Any, ...]
    lattice: Lattice

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        largest = unit.rows * self.lattice.cells
        return Sensitivity(
            l1=len(self.expressions) * largest,
            l2_squared=len(self.expressions) * largest**2,
            linf=largest,
            range=(1 if unit.add_remove else 2) * largest,
        )

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact totals: a list of one Python int for each candidate, below 2**62 for up to 2**31 rows."""
        rows = None if unit.column is None else _rows_that_count(view, unit)
        totals = []
        for expression in self.expressions:
            values, present = view.computed(expression)
            if rows is not None:
                values, present = values[rows], None if present is None else present[rows]
            totals.append(offset_sum(self.lattice, (values, present))[1])
        return Exact(totals)


@dataclass(frozen=True)
class FrameScores:
    """What a user's function makes of the whole table and each candidate, rounded to steps.

    An exception, or a result that is no finite real number, counts as 0. What the function does beside returning a number
    cannot be controlled here.

    Parameters
    ----------
    function : callable of (table, candidate)
    candidates : tuple
    step : Fraction
    steps : int
        How many steps one row that comes, goes or is replaced moves a score by at most: the caller's word.

    Notes
    -----
    Each unit keeps at most k rows, and the function sees a copy rebuilt from these. Add/remove: at most k rows more or
    fewer, so the score moves by at most k ``steps``; rounding to the nearest step, after which the result is cut to
    2**61 steps, adds at most one, and so pays for the last digits of a score computed in floats. Scores may move either way.
    Replace-one is answered where a unit is one row.
    """

    function: Callable[[Any, Any], Any]
    candidates: tuple[Hashable, ...]
    step: Fraction
    steps: int

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        if unit.column is not None and not unit.add_remove:
            raise ArgumentValueError(
                "sensitivity= tells of one row, and a unit of several rows that is replaced changes their number too: "
                "give a score per row, such as select([10, 20], score='bid >= candidate', cap=1), or protect with "
                "neighbors='add_remove'"
            )
        largest = unit.rows * self.steps + 1
        count = len(self.candidates)
        return Sensitivity(l1=count * largest, l2_squared=count * largest**2, linf=largest)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact scores in steps: a list of one Python int of at most 2**61 for each candidate."""
        self.sensitivity(unit)
        block = np.zeros(view.rows, dtype=np.intp)
        if unit.column is not None:
            block -= 1
            block[_rows_that_count(view, unit)] = 0
        return Exact([self._score(view, block, candidate) for candidate in self.candidates])

    def _score(self, view: View, block: NDArray[np.intp], candidate: Hashable) -> int:
        # a result of a class of the user's own is read inside too: reading it runs that class's code
        (score,) = view.block_results(lambda frame: _exact(self.function(frame, candidate)) / self.step, block, 1)
        return 0 if score is None else min(max(int((2 * score + 1) // 2), -FARTHEST), FARTHEST)


def _exact(result: Any) -> Fraction:
    """A user's result as a fraction; whatever is not one finite real number raises."""
    if isinstance(result, bool | np.bool_) or not isinstance(result, int | float | np.integer | np.floating):
        raise TypeError
    if isinstance(result, int | np.integer):
        return Fraction(int(result))
    # plain integers whatever class a float of the user's own makes up its ratio from: none of its code runs later on
    top, bottom = result.as_integer_ratio()
    return Fraction(int(top), int(bottom))


def _rows_that_count(view: View, unit: PrivacyUnit) -> NDArray[np.intp]:
    """Positions of at most k random rows of each unit."""
    units, count = view.units(unit.column or "")
    positions = np.flatnonzero(units >= 0)
    return positions[bound_rows(units[positions], count, unit, view.fill)]

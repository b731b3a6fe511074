"""The rows of some periods, as a step: two comparisons of whole numbers for each row, which depend on its own time alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pandas_dp.engines.arrow import rows_at
from pandas_dp.engines.encode import stored
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.kinds import PER_SECOND, kind_or_none
from pandas_dp.facts.periods import MOST, Periods
from pandas_dp.steps.changes import Step
from pandas_dp.steps.values import Kind, Values


@dataclass(frozen=True)
class InPeriods(Step):
    """Keep the rows whose time lies in periods that follow each other; a row without a time lies in none.

    Stability 1: whether a row stays depends on its own time and on public numbers alone. For all rows that stay, `Periods.of`
    says one of ``first`` to ``last``, and for none that go: both compare with the same edges. The number of rows of the result
    is private under every relation.

    Attributes
    ----------
    periods : Periods
        Those on record for the budget.
    first, last : int
        Numbers of periods.
    """

    periods: Periods
    first: int
    last: int
    is_filter: ClassVar[bool] = True

    @property
    def reads(self) -> frozenset[str]:
        """The column of time."""
        return frozenset((self.periods.time,))

    @cached_property
    def _seconds(self) -> tuple[int, int]:
        """Of the first moment that counts, and of the first after the last: edges are whole seconds, so exact in every unit."""
        return self.periods.edges(self.first)[0] // 10**6, self.periods.edges(self.last)[1] // 10**6

    @property
    def edges(self) -> tuple[tuple[str, Values], ...]:
        """The two comparisons that a row has to fulfil, each an operator and a constant."""
        kind, zone = (Kind.DATE, None) if self.periods.kind == "naive" else (Kind.ZONED, "UTC")
        ends = zip((">=", "<"), self._seconds, strict=True)
        return tuple((op, Values(kind, np.asarray(at), np.zeros((), dtype=bool), "s", zone, True)) for op, at in ends)

    def __str__(self) -> str:
        names = dict.fromkeys(map(self.periods.name, (self.first, self.last)))
        return f"period({', '.join(map(repr, names))})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows of ``frame`` whose time is in the periods, in their order and with their labels."""
        self.periods.check(kind_or_none(frame[self.periods.time].dtype))
        held = stored(frame[self.periods.time]).numbers()
        start, stop = (second * PER_SECOND[str(held.unit)] for second in self._seconds)
        # of edges beyond 64 bits, where the unit has no moment, NumPy says what is true of the whole numbers
        within = (held.values >= start) & (held.values < stop)
        present = held.present()
        return rows_at(frame, np.flatnonzero(within if present is None else within & present))


def named(steps: Iterable[Any]) -> tuple[int, int] | None:
    """First and last of the periods that are in all those which some steps name; None where none of them names any."""
    found = [step for step in steps if isinstance(step, InPeriods)]
    return (max(step.first for step in found), min(step.last for step in found)) if found else None


def period(periods: Periods, first: Any, last: Any, empty: pd.DataFrame) -> tuple[InPeriods, ...]:
    """Rows of one period by its name, or of those from a first to a last. Returns one `InPeriods`.

    Parameters
    ----------
    periods : Periods
        Those on record for the budget.
    first, last : str or date
        See `Periods.number`; ``last=None`` is the first.
    empty : DataFrame
        The table without its rows.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For names of no period, ends the wrong way round, more than 10,000 periods, and a table without the column of time.
    """
    low = periods.number(first)
    high = low if last is None else periods.number(last)
    names = periods.name(low), periods.name(high)
    if high < low:
        raise ArgumentValueError(
            f"period: {names[0]!r} comes after {names[1]!r}: df.dp.period({names[1]!r}, {names[0]!r})"
        )
    if high - low >= MOST:
        raise ArgumentValueError(
            f"period: from {names[0]!r} to {names[1]!r} there are {high - low + 1:,} {periods.word}s, and one question may "
            f"name at most {MOST:,}: df.dp.period({names[0]!r}, {periods.name(low + MOST - 1)!r})"
        )
    periods.check(kind_or_none(empty[periods.time].dtype) if periods.time in empty else None)
    return (InPeriods(periods, low, high),)

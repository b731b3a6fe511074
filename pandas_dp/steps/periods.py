"""The rows of some periods, as a step: two comparisons of whole numbers for each row, which depend on its own time alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pandas_dp.engines.arrow import rows_at
from pandas_dp.engines.encode import stored
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import PER_SECOND, kind_of, kind_or_none
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
    column : str
        The time of a row.
    instant : bool
        Whether it has a time zone.
    first, last : int
        Numbers of the periods.
    start, stop : int
        Seconds since 1970, in UTC for instants: of the first moment that counts, and of the first one after it. All edges are
        whole seconds, so they are whole numbers in every unit of a column.
    names : tuple of str
        The one period, or the first and the last.
    """

    column: str
    instant: bool
    first: int
    last: int
    start: int
    stop: int
    names: tuple[str, ...]
    is_filter: ClassVar[bool] = True

    @property
    def reads(self) -> frozenset[str]:
        """The column of time."""
        return frozenset((self.column,))

    @property
    def touches(self) -> frozenset[str]:
        """None: what stays is as it was."""
        return frozenset()

    @property
    def edges(self) -> tuple[tuple[str, Values], ...]:
        """The two comparisons that a row has to fulfil, each an operator and a constant."""
        kind, present = Kind.ZONED if self.instant else Kind.DATE, np.zeros((), dtype=bool)
        zone = "UTC" if self.instant else None
        ends = ((">=", self.start), ("<", self.stop))
        return tuple((op, Values(kind, np.asarray(second), present, "s", zone, True)) for op, second in ends)

    def __str__(self) -> str:
        return f"period({', '.join(map(repr, self.names))})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows of ``frame`` whose time is in the periods, in their order and with their labels."""
        kind = kind_of(frame[self.column].dtype)
        if kind.name != "datetime" or (kind.tz is not None) != self.instant:
            raise ArgumentTypeError(f"{self.column!r} is no longer what the periods on record are made of")
        held = stored(frame[self.column]).numbers()
        per = PER_SECOND[str(held.unit)]
        # of edges beyond 64 bits, where the unit has no moment, NumPy says what is true of the whole numbers
        within = (held.values >= self.start * per) & (held.values < self.stop * per)
        present = held.present()
        return rows_at(frame, np.flatnonzero(within if present is None else within & present))


def period(periods: Periods, first: Any, last: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
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
            f"period: from {names[0]!r} to {names[1]!r} are {high - low + 1:,} {periods.word}s, and one question may name "
            f"{MOST:,}: df.dp.period({names[0]!r}, {periods.name(low + MOST - 1)!r})"
        )
    column = periods.time
    periods.check(kind_or_none(empty[column].dtype) if column in empty else None)
    start, stop = (edge // 10**6 for edge in (periods.edges(low)[0], periods.edges(high)[1]))
    instant = periods.kind == "instant"
    return (InPeriods(column, instant, low, high, start, stop, names[: 1 if low == high else 2]),)


def named(steps: Iterable[Step], periods: Periods) -> tuple[int, int] | None:
    """First and last of the periods whose rows are left after some steps, None where none of the steps names periods.

    Raises
    ------
    ArgumentValueError
        If no period is in all that were named.
    """
    found = [step for step in steps if isinstance(step, InPeriods)]
    if not found:
        return None
    first, last = max(step.first for step in found), min(step.last for step in found)
    if last < first:
        one = f"df.dp.period({periods.name(first)!r})"
        raise ArgumentValueError(
            f"period: no {periods.word} is in all that were named: name them once, from the protected table: {one}"
        )
    return first, last


def check_time(steps: Iterable[Step], periods: Periods) -> None:
    """Refuse steps that would move a row to another period.

    Raises
    ------
    ArgumentValueError
    """
    if any(periods.time in step.touches for step in steps):
        raise ArgumentValueError(
            f"steps must leave {periods.time!r} as it is, for it says to which {periods.word} a row belongs: give the new "
            f"column another name, df.dp.assign(other=lambda d: d[{periods.time!r}])"
        )

"""The rows of some periods: one and the same step says which rows a question reads, and which periods pay it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from pandas_dp.engines.arrow import rows_at
from pandas_dp.engines.encode import stored
from pandas_dp.facts.periods import Periods
from pandas_dp.steps.changes import Step


@dataclass(frozen=True)
class InPeriods(Step):
    """Keep the rows of the periods from the first to the last; a row without a time lies in none.

    Stability 1: whether a row stays depends on its own time alone.
    """

    periods: Periods
    first: int
    last: int
    is_filter: ClassVar[bool] = True

    @property
    def reads(self) -> frozenset[str]:
        """The column of times."""
        return frozenset((self.periods.time,))

    @property
    def touches(self) -> frozenset[str]:
        """None: what stays is as it was."""
        return frozenset()

    def __str__(self) -> str:
        names = dict.fromkeys(map(self.periods.name, (self.first, self.last)))
        return f"period({', '.join(map(repr, names))})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows of ``frame`` in these periods, in their order and with their labels."""
        times = stored(frame[self.periods.time]).numbers()
        found = self.periods.of(times.values, times.present(), times.unit or "ns")
        return rows_at(frame, np.flatnonzero((found >= self.first) & (found <= self.last)))

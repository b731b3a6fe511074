"""Frames that stay protected: what the accessor makes of its frame by row-wise steps."""

from __future__ import annotations

import pandas as pd

from pandas_dp import opening, tables
from pandas_dp.calls import uncopied
from pandas_dp.core import gate
from pandas_dp.errors import StepFailedError
from pandas_dp.steps.changes import Step, applied
from pandas_dp.steps.methods import RowSteps, take_steps


class Frames(RowSteps[pd.DataFrame]):
    """Steps of ``df.dp``: each returns a frame that can be asked like the first one."""

    __slots__ = ("_frame",)

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    __reduce__ = uncopied

    def _empty(self) -> pd.DataFrame:
        return opening.table_of(self._frame).empty

    def _given(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What the user gets for a frame: itself, but for a scanned table and a Dask DataFrame."""
        return frame

    def _then(self, more: tuple[Step, ...]) -> pd.DataFrame:
        return self._given(self._apply(more))

    def _apply(self, done: tuple[Step, ...]) -> pd.DataFrame:
        """Apply steps to the rows as they were protected and keep the result protected."""
        table = opening.table_of(self._frame)
        table.check_steps(done)
        table.check()
        rows = gate.guarded(lambda: applied(done, table.source), StepFailedError)
        return tables.derive(table.session, rows, table, done)


take_steps(Frames, pd.DataFrame)

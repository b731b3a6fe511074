"""An expression whose values in a table are computed once, however many operations are made of it."""

from __future__ import annotations

import pandas as pd

from pandas_dp.steps.expression import Expression
from pandas_dp.steps.values import Values


class Kept(Expression):
    """What an expression is, for tests that go through all operations on it; what is refused is computed again."""

    def __init__(self, of: Expression) -> None:
        self.operands, self._of = (of,), of
        self._known: dict[int, tuple[pd.DataFrame, Values]] = {}  # the table is held, so that its id is no other's

    def values(self, frame: pd.DataFrame) -> Values:
        """Value in every row, which no operation may change."""
        if id(frame) not in self._known:
            self._known[id(frame)] = frame, self._of.values(frame)
        return self._known[id(frame)][1]

    def __str__(self) -> str:
        return str(self._of)

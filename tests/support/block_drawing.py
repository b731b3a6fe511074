"""Drawing one answer from block results many times, for audits: blocks are drawn anew, results of equal blocks are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from support.drawing import Drawer, capture
from support.neighbours import protected

from pandas_dp.core import gate
from pandas_dp.core.statistics.blocks import BlockPoints, BlockSums, BlockVotes


class BlockDrawer(Drawer):
    """`Drawer` of one captured request whose every look is at random blocks of the whole table."""

    def __init__(self, request: gate.Request) -> None:
        super().__init__(request)
        self.view = _Remembering(self.view)

    def _random(self, statistic: Any) -> bool:
        return isinstance(statistic, BlockSums | BlockPoints | BlockVotes) or super()._random(statistic)

    def _exacts(self, statistic: Any, n: int) -> list[list[Any]]:
        return [self._exact(statistic).open() for _ in range(n)]


class _Remembering:
    """A view that runs a function once for each set of rows that a block can hold.

    One request has one function, and what a right one returns depends on its block alone.
    """

    def __init__(self, view: Any) -> None:
        self.view = view
        self.known: dict[bytes, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.view, name)

    def block_results(self, function: Callable[[Any], Any], block: np.ndarray, blocks: int, columns: Any) -> list[Any]:
        results: list[Any] = [self._of(function, np.zeros(block.size, dtype=bool), columns)] * blocks
        for i in set(block.tolist()) - {-1}:
            results[i] = self._of(function, block == i, columns)
        return results

    def _of(self, function: Callable[[Any], Any], rows: np.ndarray, columns: Any) -> Any:
        key = rows.tobytes()
        if key not in self.known:
            one = np.where(rows, 0, -1).astype(np.intp)
            (self.known[key],) = self.view.block_results(function, one, 1, columns)
        return self.known[key]


def block_drawer(table: pd.DataFrame, ask: Callable[[Any], Any], epsilon: Any = 1, **terms: Any) -> BlockDrawer:
    """Put one question through the public API and return what draws its answer again."""
    protected(table, **terms)
    return BlockDrawer(capture(lambda: ask(table.dp(epsilon=epsilon, fresh=True))))

"""Drawing one question many times on one table, for audits: the gate's own recipe and mechanisms, without its charge.

`capture` puts a question through the public API once and keeps the request that reached the gate; `Drawer` then drives the
same recipe again and again, computing each deterministic exact result once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pandas_dp.core import gate
from pandas_dp.core.statistics.blocks import BlockPoints, BlockSums


def capture(ask: Callable[[], Any]) -> gate.Request:
    """Return the request that a call of the public API sends to the gate."""
    requests = []
    original = gate.release

    def keep(request: gate.Request) -> Any:
        requests.append(request)
        return original(request)

    gate.release = keep
    try:
        ask()
    finally:
        gate.release = original
    return requests[-1]


class Drawer:
    """Draws the answer of one captured request as often as wanted."""

    def __init__(self, request: gate.Request) -> None:
        self.request = request
        self.view = request.view()
        self.exact: dict[Any, Any] = {}

    def __call__(self) -> Any:
        """Return one answer's value, drawn afresh."""
        recipe = self.request.recipe()
        try:
            look = next(recipe)
            while True:
                look = recipe.send(look.mechanism.draw(self._exact(look.statistic)))
        except StopIteration as stop:
            return stop.value.value

    def _exact(self, statistic: Any) -> Any:
        random = isinstance(statistic, BlockPoints | BlockSums) or self.request.unit.column is not None
        if random:  # rows or blocks are drawn at random: computed anew for each answer
            return statistic.compute(self.view, self.request.unit)
        if statistic not in self.exact:
            self.exact[statistic] = statistic.compute(self.view, self.request.unit)
        return self.exact[statistic]

"""Clocks: CPU time of calls in turns, in one process, so that a busy machine slows both sides alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from pandas_dp.tables import frames

Call = Callable[[], object]


@dataclass(frozen=True)
class Effort:
    """How long to measure one question: at least `turns` turns (fewer where that takes four times as long), at most
    `most`, and no new one after `seconds`."""

    turns: int
    most: int
    seconds: float


FULL = Effort(3, 25, 1.2)
QUICK = Effort(1, 3, 0.05)


@dataclass(frozen=True)
class Cost:
    """Least CPU and wall seconds of one call."""

    cpu: float
    wall: float


def forget(frame: pd.DataFrame) -> None:
    """Forget the encodings of the columns (codes of keys and units), as before the first question."""
    table = frames.lookup(frame)
    if table is not None:
        table.cache.clear()


def clock(call: Call) -> Cost:
    """Cost of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall)


def least(costs: list[Cost]) -> Cost:
    """Smallest CPU and smallest wall time: what else runs on the machine only adds."""
    return Cost(min(cost.cpu for cost in costs), min(cost.wall for cost in costs))


def in_turns(calls: Mapping[str, Call], effort: Effort) -> dict[str, Cost]:
    """Least cost of each call; all are called once in every turn, and once before the first."""
    found: dict[str, list[Cost]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    start = time.perf_counter()
    for turn in range(effort.most):
        for name, call in calls.items():
            found[name].append(clock(call))
        if turn + 1 >= effort.turns and time.perf_counter() - start > effort.seconds:
            break
    return {name: least(costs) for name, costs in found.items()}


def per_call(call: Call, calls: int) -> Cost:
    """Mean cost of a call in a batch: for calls that are shorter than the clock's step."""

    def batch() -> None:
        for _ in range(calls):
            call()

    cost = clock(batch)
    return Cost(cost.cpu / calls, cost.wall / calls)

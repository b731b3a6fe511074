"""CPU time of each question as a ratio to pandas' and to the fastest answer, all asked in turns in one process.

"cold" forgets the encodings of the columns (codes of keys and units) before the call, "warm" keeps them, as a session does
from the second question on. A short call is timed right after an untimed one of the same, so that none loses by what
ran before it: others leave neither its code nor its columns in the processor's caches. The least time of many turns counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from benchmarks.made_tables import KINDS, make
from benchmarks.questions import Question, questions
from benchmarks.rows import Row
from benchmarks.timing import Call, Cost, Effort, clock, forget, least

SHORT = 0.02  # seconds
JUDGED = 100_000  # below that many rows the fixed cost of a call rules, which has floors of its own


def measure(wanted: Callable[[str], bool], sizes: list[int], effort: Effort) -> Iterator[Row]:
    """All rows of the part."""
    for size in sizes:
        for kind in KINDS:
            frame = make(kind, size)
            for question in questions(frame, kind):
                if wanted(question.name):
                    yield from compare(question, frame, effort)


def compare(question: Question, frame: pd.DataFrame, effort: Effort) -> Iterator[Row]:
    """Cold and warm rows against every plain answer."""
    costs = _in_turns(question, frame, effort)
    best = min(question.fastest, key=lambda name: costs[f"fastest {name}"].cpu)
    fastest = costs[f"fastest {best}"]
    for state in ("cold", "warm"):
        ours = costs[state]
        for plain in question.plain:
            other = costs[f"plain {plain.name}"]
            yield Row(
                "ratios",
                question.name,
                state,
                len(frame),
                ours.cpu / other.cpu,
                "x",
                plain.name,
                plain.cold if state == "cold" else plain.warm,
                len(frame) >= JUDGED,
                {
                    "cpu_ms": ours.cpu * 1e3,
                    "wall_ms": ours.wall * 1e3,
                    "plain_cpu_ms": other.cpu * 1e3,
                    "plain_wall_ms": other.wall * 1e3,
                    "wall_x": ours.wall / other.wall,
                    "fastest": best,
                    "fastest_x": ours.cpu / fastest.cpu,
                    "fastest_wall_x": ours.wall / fastest.wall,
                },
            )


def _in_turns(question: Question, frame: pd.DataFrame, effort: Effort) -> dict[str, Cost]:
    """Least cost of every way, in turns: cold, warm right after it, then the others."""
    calls: dict[str, Call] = {"cold": question.ours, "warm": question.ours}
    calls |= {f"plain {plain.name}": plain.call for plain in question.plain}
    calls |= {f"fastest {name}": call for name, call in question.fastest.items()}
    found: dict[str, list[Cost]] = {name: [] for name in calls}
    for turn in range(effort.most + 1):
        for name, call in calls.items():
            if name != "warm" and (not found[name] or found[name][-1].cpu < SHORT):
                call()
            if name == "cold":
                forget(frame)
            found[name].append(clock(call))
        spent = sum(cost.wall for costs in found.values() for cost in costs[1:])
        if spent > effort.seconds and (turn >= effort.turns or spent > 4 * effort.seconds):
            break
    return {name: least(costs[1:]) for name, costs in found.items()}  # the first turn warms caches and imports

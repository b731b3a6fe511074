"""Wall-clock time with two cores: of one question, and of two asked at once by two threads over one after the other.

A figure of 0.5 means that both cores worked, 1 that the second thread waited. Questions of one process pass one door, so two
threads gain only where a question runs on several cores by itself or releases the interpreter's lock outside the door.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from benchmarks.made_tables import make
from benchmarks.questions import Question, questions
from benchmarks.rows import Row
from benchmarks.timing import Call, Effort, in_turns

ASKED = (
    "sum float", "mean float", "var float", "histogram, 50 float bins", "histogram, strings", "median", "five quantiles",
    "grouped mean, strings", "grouped mean, category",
)  # fmt: skip


def measure(wanted: Callable[[str], bool], rows: int, effort: Effort) -> Iterator[Row]:
    """All rows of the part."""
    size = min(rows, 1_000_000)
    frames = make("rows", size), make("rows", size)
    with ThreadPoolExecutor(2) as threads:
        for one, two in zip(*(questions(frame, "rows") for frame in frames), strict=True):
            if one.name in ASKED and wanted(one.name):
                yield _pair(one, two, size, threads, effort)


def _pair(one: Question, two: Question, size: int, threads: ThreadPoolExecutor, effort: Effort) -> Row:
    costs = in_turns(
        {
            "ours": one.ours,
            "in turn": _in_turn(one.ours, two.ours),
            "at once": _at_once(one.ours, two.ours, threads),
            "plain in turn": _in_turn(one.plain[0].call, two.plain[0].call),
            "plain at once": _at_once(one.plain[0].call, two.plain[0].call, threads),
        },
        effort,
    )
    ours = costs["ours"]
    return Row("cores", one.name, "warm", size, costs["at once"].wall / costs["in turn"].wall, "x", "wall of two in turn",
        None, True, {"cpu_ms": ours.cpu * 1e3, "wall_ms": ours.wall * 1e3, "cores": ours.cpu / ours.wall,
        "plain_x": costs["plain at once"].wall / costs["plain in turn"].wall})  # fmt: skip


def _in_turn(one: Call, two: Call) -> Call:
    return lambda: (one(), two())


def _at_once(one: Call, two: Call, threads: ThreadPoolExecutor) -> Call:
    def call() -> None:
        for job in (threads.submit(one), threads.submit(two)):
            job.result()

    return call

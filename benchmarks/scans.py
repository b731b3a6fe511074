"""Parquet files larger than what is held of them: each question beside pandas that reads the files and answers it.

The files are made for the run, in a folder for temporary files (`TMPDIR` says where): some of three columns, in groups of
1,048,576 rows. Pandas reads them whole, as people do (the floor is about that), and the question's column alone. CPU and
wall-clock time of all are taken in turns in one process. The peak is the most that a process of its own ever holds, with all
that is imported, as it asks the question once. Beside it stands what Arrow alone needs to read and unpack the column batch by
batch ("fastest"): no statistic over numbers in the file is quicker than that. Text of few values is left as codes here, so that
a question about it can be. A million groups lie in files of their own, and are counted beside Arrow, which reads the column and
groups it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

import pandas_dp
from benchmarks.made_tables import STATES, protect
from benchmarks.memory import HONEST, status
from benchmarks.questions import FINE, MONEY
from benchmarks.rows import Row
from benchmarks.timing import Call, Effort, in_turns

FILES = 10
RATIO, GROUPED, PEAK = 0.3, 2.0, 1.0  # floors: over pandas, over Arrow's own groups, and GB
GROUPS = 10**6


@dataclass(frozen=True)
class Question:
    """A question about one column of a scan, and pandas' answer once it has the column."""

    name: str
    column: str
    ours: Callable[[Any], object]
    plain: Callable[[pd.Series], object]
    arrow: Callable[[ds.Dataset], object] | None = None  # its own answer, which the floor is about
    files: str = "people"


QUESTIONS = (
    Question("mean", "income", lambda dp: dp.mean("income", bounds=MONEY), lambda s: s.mean()),
    Question("histogram, 50 float bins", "income", lambda dp: dp.histogram("income", bins=FINE),
        lambda s: pd.cut(s, FINE, right=False).value_counts()),
    Question("histogram, strings", "state", lambda dp: dp.histogram("state", keys=STATES), lambda s: s.value_counts()),
    Question("number of different strings", "state", lambda dp: dp.nunique("state"), lambda s: s.nunique()),
    Question("median", "income", lambda dp: dp.median("income", bounds=MONEY), lambda s: s.median()),
    Question("sizes of a million groups", "place", lambda dp: dp.groupby("place", keys=range(GROUPS)).size(),
        lambda s: s.groupby(s).size(),
        lambda files: files.to_table(["place"]).group_by("place").aggregate([([], "count_all")]), "places"),
)  # fmt: skip


def measure(wanted: Callable[[str], bool], rows: int, effort: Effort) -> Iterator[Row]:
    """All rows of the part."""
    asked = [question for question in QUESTIONS if wanted(question.name)]
    if not asked:
        return
    with tempfile.TemporaryDirectory() as folder:
        write(folder, rows)
        for question in asked:
            files = f"{folder}/{question.files}"
            yield from _times(question, protect(pandas_dp.scan_parquet(files)), files, rows, effort)
            if Path("/proc/self/clear_refs").exists():
                yield _peak(question, files, rows)


def write(folder: str, rows: int) -> None:
    """Make the files."""
    for files in ("people", "places"):
        Path(folder, files).mkdir()
    for place in range(FILES):
        rng, size = np.random.default_rng([7, place]), rows // FILES
        states = pd.Categorical.from_codes(rng.integers(0, len(STATES), size), STATES)
        made = {
            "age": rng.integers(0, 100, size),
            "income": np.minimum(rng.lognormal(10.5, 0.8, size), 500_000.0),
            "state": pd.Series(states).astype("str"),
        }
        pd.DataFrame(made).to_parquet(f"{folder}/people/{place}.parquet")
        pd.DataFrame({"place": rng.integers(0, GROUPS, size)}).to_parquet(f"{folder}/places/{place}.parquet")


def _times(question: Question, scan: Any, folder: str, rows: int, effort: Effort) -> Iterator[Row]:
    """CPU and wall-clock time over pandas'."""
    calls: dict[str, Call] = {
        "ours": lambda: question.ours(scan.dp(epsilon=1, fresh=True)),
        "table": lambda: question.plain(pd.read_parquet(folder)[question.column]),
        "column": lambda: question.plain(pd.read_parquet(folder, columns=[question.column])[question.column]),
        "arrow": lambda: _unpacked(folder, question.column),
    }
    grouped = question.arrow
    if grouped is not None:
        calls["grouped"] = lambda: grouped(ds.dataset(folder))
    costs = in_turns(calls, effort)
    ours, arrow = costs["ours"], costs["arrow"]
    figures = {
        "cpu_ms": ours.cpu * 1e3, "wall_ms": ours.wall * 1e3, "fastest": "arrow reads the column",
        "fastest_x": ours.cpu / arrow.cpu, "fastest_wall_x": ours.wall / arrow.wall,
    }  # fmt: skip
    judged = (
        ("table", "read its table, pandas", RATIO) if grouped is None else ("grouped", "Arrow's own answer", GROUPED)
    )
    for other, against, floor in (judged, ("column", "read its column, pandas", None)):
        plain = costs[other]
        more = figures | {"plain_cpu_ms": plain.cpu * 1e3, "plain_wall_ms": plain.wall * 1e3}
        for clock, ratio, most in (("CPU", ours.cpu / plain.cpu, floor), ("wall", ours.wall / plain.wall, None)):
            yield Row("scans", question.name, "cold", rows, ratio, "x", f"{against}, {clock}", most,
                rows >= 1_000_000, more)  # fmt: skip


def _unpacked(folder: str, column: str) -> None:
    for _ in ds.dataset(folder).to_batches(columns=[column]):
        pass


def _peak(question: Question, folder: str, rows: int) -> Row:
    """The most that a process of its own holds."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scans", folder, question.name],
        env={**os.environ, **HONEST}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    most, before = json.loads(done.stdout)
    return Row("scans", question.name, "peak", rows, most / 1e9, "GB", "whole process", PEAK, True,
        {"extra_mib": (most - before) / 2**20})  # fmt: skip


def ask_once(folder: str, name: str) -> tuple[int, int]:
    """Bytes that this process holds at most, and those before the question."""
    (question,) = [question for question in QUESTIONS if question.name == name]
    scan = protect(pandas_dp.scan_parquet(folder))
    before = status("VmRSS")
    question.ours(scan.dp(epsilon=1))
    return status("VmHWM"), before


if __name__ == "__main__":
    print(json.dumps(ask_once(sys.argv[1], sys.argv[2])))

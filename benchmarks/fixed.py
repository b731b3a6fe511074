"""What calls cost whatever the number of rows: on ten rows, with ledgers in files, late in a session, by block; the import."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.made_tables import SIZES, STATES, make, protect
from benchmarks.questions import MONEY, TENS, YEARS
from benchmarks.rows import Row
from benchmarks.timing import Call, Cost, clock, least, per_call

TEN = 10
MEMORY_BACKED = Path("/dev/shm")
STATEMENT = (
    "import time, pandas; start = time.process_time(), time.perf_counter(); import pandas_dp; "
    "print(time.process_time() - start[0], time.perf_counter() - start[1]); "
    "df = pandas.DataFrame({'a': [1]}); df.dp.protect(epsilon=9); df.dp(epsilon=1).count(); "
    "print(time.process_time() - start[0], time.perf_counter() - start[1])"
)


def measure(wanted: Callable[[str], bool], calls: int, quick: bool) -> Iterator[Row]:
    """All rows of the part."""
    batch, batches = (20, 2) if quick else (200, 7)
    yield from _ten_rows(wanted, batch, batches)
    yield from _ledgers(wanted, 20 if quick else 300)
    if wanted("last call over first"):
        yield _last_over_first(calls, 20 if quick else 500)
    if wanted("sample_and_aggregate, a block"):
        yield _blocks(200 if quick else 20_000)
    if wanted("import pandas_dp"):
        yield from _import(1 if quick else 5)


def _small(**terms: object) -> pd.DataFrame:
    plain = pd.DataFrame(make("rows", TEN))
    return protect(plain.copy(), **terms)


def _ten_rows(wanted: Callable[[str], bool], batch: int, batches: int) -> Iterator[Row]:
    df = _small()
    ask = lambda: df.dp(epsilon=1, fresh=True)  # noqa: E731
    cases: dict[str, tuple[Call, float | None]] = {
        "count": (lambda: ask().count(), 0.25),
        "sum": (lambda: ask().sum("income", bounds=MONEY), 0.25),
        "mean": (lambda: ask().mean("income", bounds=MONEY), 0.25),
        "median": (lambda: ask().median("income", bounds=MONEY), 0.5),
        "mode": (lambda: ask().mode("state", keys=STATES), 0.5),
        "top_k": (lambda: ask().top_k("state", 3, keys=STATES), 0.5),
        "best_price": (lambda: ask().best_price("age", prices=SIZES), 0.5),
        "var": (lambda: ask().var("income", bounds=MONEY), None),
        "histogram, 10 bins": (lambda: ask().histogram("age", bins=TENS), None),
        "histogram, 50 keys": (lambda: ask().histogram("state", keys=STATES), None),
        "grouped mean, 50 keys": (lambda: ask().groupby("state", keys=STATES)["age"].mean(bounds=YEARS), None),
    }
    for name, (call, floor) in cases.items():
        if wanted(f"ten rows: {name}"):
            call()
            costs = [per_call(call, batch) for _ in range(batches)]
            cpu, wall = min(cost.cpu for cost in costs) * 1e3, min(cost.wall for cost in costs) * 1e3
            yield Row("fixed", f"ten rows: {name}", "warm", TEN, cpu, "ms", "CPU", floor, True,
                {"cpu_ms": cpu, "wall_ms": wall})  # fmt: skip


def _ledgers(wanted: Callable[[str], bool], calls: int) -> Iterator[Row]:
    """A count on a budget in a file: where nothing waits for a disk by its CPU time, on a disk over one write with fsync."""
    if MEMORY_BACKED.is_dir() and wanted("ledger in memory-backed storage"):
        call, _ = _in_turns_with_fsync(MEMORY_BACKED, calls)
        yield Row("fixed", "ledger in memory-backed storage", "warm", TEN, call.cpu * 1e3, "ms", "CPU", 0.5, True,
            {"cpu_ms": call.cpu * 1e3, "wall_ms": call.wall * 1e3})  # fmt: skip
    if wanted("ledger on disk"):
        call, sync = _in_turns_with_fsync(Path.cwd(), calls)
        ruled = (
            sync.wall > 4 * call.cpu
        )  # where an fsync takes no longer than the work around it, it is not what is judged
        yield Row("fixed", "ledger on disk", "warm", TEN, call.wall / sync.wall, "x", "wall of 4 KiB and an fsync", 1.3, ruled,
            {"cpu_ms": call.cpu * 1e3, "wall_ms": call.wall * 1e3, "fsync_ms": sync.wall * 1e3})  # fmt: skip


def _in_turns_with_fsync(folder: Path, calls: int) -> tuple[Cost, Cost]:
    """Cost of a call, and of appending 4 KiB to a file of the same folder with an fsync."""
    asked, synced = [], []
    with tempfile.TemporaryDirectory(dir=folder) as place, (Path(place) / "other").open("ab", buffering=0) as other:
        df = _small(ledger=Path(place) / "benchmark.dpledger")
        for _ in range(calls):
            asked.append(clock(lambda: df.dp(epsilon=1, fresh=True).count()))
            synced.append(clock(lambda: (other.write(b"0" * 4096), os.fsync(other.fileno()))))
    return _quarter(asked), _quarter(synced)


def _quarter(costs: list[Cost]) -> Cost:
    """Lower quartiles: an fsync takes its time, what else runs on the machine only adds."""
    return Cost(*(statistics.quantiles(column, n=4)[0] for column in zip(*map(astuple, costs), strict=True)))


def _last_over_first(calls: int, batch: int) -> Row:
    """CPU time of the last calls of one session over that of the first ones, on another session's first calls in turns."""
    old, new = _small(), _small()
    first = lambda: new.dp(epsilon=1, fresh=True).count()  # noqa: E731
    last = lambda: old.dp(epsilon=1, fresh=True).count()  # noqa: E731
    for _ in range(max(calls - 3 * batch, 0)):
        last()
    first()
    costs = [(per_call(last, batch).cpu, per_call(first, batch).cpu) for _ in range(3)]
    late, early = min(cost[0] for cost in costs), min(cost[1] for cost in costs)
    return Row("fixed", "last call over first", "warm", calls, late / early, "x", "first calls of a session", 1.2, True,
        {"cpu_ms": late * 1e3, "first_cpu_ms": early * 1e3})  # fmt: skip


def _blocks(blocks: int) -> Row:
    """CPU time of a function of many blocks of ten rows, by sample and aggregate over a plain loop over groups."""
    df = make("rows", 10 * blocks)
    group = np.random.default_rng(3).integers(0, blocks, len(df))
    function = lambda block: block["income"].median()  # noqa: E731
    ask = df.dp(epsilon=1, fresh=True)
    calls = (
        lambda: ask.sample_and_aggregate(function, bounds=MONEY, blocks=blocks, aggregator="median"),
        lambda: [function(block) for _, block in df.groupby(group)],
    )
    ours, plain = (least([clock(call) for _ in range(2)]) for call in calls)
    ratio = ours.cpu / plain.cpu
    return Row("fixed", "sample_and_aggregate, a block", "warm", blocks, ratio, "x", "a loop over groups", 5, True,
        {"cpu_ms": ours.cpu / blocks * 1e3, "wall_ms": ours.wall / blocks * 1e3})  # fmt: skip


def _import(times: int) -> Iterator[Row]:
    """CPU seconds on top of pandas, in fresh processes: of the import, and until a first answer, which imports the rest."""
    found = []
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}
        for _ in range(times + 1):  # the first one compiles
            done = subprocess.run(
                [sys.executable, "-c", STATEMENT], env=env, capture_output=True, text=True, check=True
            )
            found.append([[float(seconds) for seconds in line.split()] for line in done.stdout.splitlines()])
    for i, (name, floor) in enumerate((("import pandas_dp", 0.10), ("import pandas_dp, first answer", None))):
        cpu, wall = (min(run[i][clock] for run in found[1:]) for clock in (0, 1))
        yield Row("fixed", name, "fresh", 1, cpu, "s", "CPU on top of pandas", floor, True,
            {"cpu_ms": cpu * 1e3, "wall_ms": wall * 1e3})  # fmt: skip

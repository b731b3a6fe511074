"""Dask on a cluster of two processes: each question beside plain Dask's answer to it, both in turns, by wall-clock time.

The table is one of made partitions that the workers keep. Workers escape the CPU clock of this process, so that wall-clock
time it is, on a machine that should have nothing else to do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.made_tables import STATES, protect
from benchmarks.questions import FINE, MONEY
from benchmarks.rows import Row
from benchmarks.timing import Call, Effort, in_turns

WORKERS, PARTITIONS = 2, 30
FLOOR = 2.0


@dataclass(frozen=True)
class Question:
    """One question: ours, and plain Dask's answer to it."""

    name: str
    ours: Callable[[Any], object]
    plain: Callable[[Any], object]


def _ours_by_group(dp: Any) -> object:
    return dp.groupby("state", keys=STATES)["income"].mean(bounds=MONEY)


def _plain_histogram(ddf: Any) -> object:
    import dask.array as da

    counts, _ = da.histogram(ddf["income"].to_dask_array(), bins=FINE)
    return counts.compute()


QUESTIONS = (
    Question("count", lambda dp: dp.count(), len),
    Question("mean", lambda dp: dp.mean("income", bounds=MONEY), lambda ddf: ddf["income"].mean().compute()),
    Question("grouped mean, strings", _ours_by_group, lambda ddf: ddf.groupby("state")["income"].mean().compute()),
    Question("histogram, 50 float bins", lambda dp: dp.histogram("income", bins=FINE), _plain_histogram),
    Question("median", lambda dp: dp.median("income", bounds=MONEY),
        lambda ddf: ddf["income"].median_approximate().compute()),
)  # fmt: skip


def measure(wanted: Callable[[str], bool], rows: int, effort: Effort) -> Iterator[Row]:
    """All rows of the part; none where Dask or its cluster is not installed."""
    asked = [question for question in QUESTIONS if wanted(question.name)]
    try:
        from distributed import Client, LocalCluster

        import pandas_dp.dask  # noqa: F401
    except ImportError:
        return
    if not asked:
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, local_directory=folder
        ) as cluster,
        Client(cluster),
    ):
        ddf = protect(table(rows))
        for question in asked:
            yield _beside(question, ddf, rows, effort)


def table(rows: int) -> Any:
    """A Dask DataFrame that the workers keep."""
    import dask.dataframe as dd
    from distributed import wait

    lazily = dd.from_map(made, range(PARTITIONS), rows=rows // PARTITIONS, meta=made(0, 2))
    kept = lazily.persist()
    wait(kept)
    return kept


def made(place: int, rows: int) -> pd.DataFrame:
    """One partition."""
    rng = np.random.default_rng([7, place])
    states = pd.Series(pd.Categorical.from_codes(rng.integers(0, len(STATES), rows), STATES)).astype("str")
    income = np.minimum(rng.lognormal(10.5, 0.8, rows), 500_000.0)
    return pd.DataFrame({"age": rng.integers(0, 100, rows), "income": income, "state": states})


def _beside(question: Question, ddf: Any, rows: int, effort: Effort) -> Row:
    calls: dict[str, Call] = {
        "ours": lambda: question.ours(ddf.dp(epsilon=1, fresh=True)),
        "plain": lambda: question.plain(ddf),
    }
    costs = in_turns(calls, effort)
    ours, plain = costs["ours"], costs["plain"]
    return Row("cluster", question.name, "warm", rows, ours.wall / plain.wall, "x", "plain Dask, wall", FLOOR,
        rows >= 1_000_000, {"wall_ms": ours.wall * 1e3, "plain_wall_ms": plain.wall * 1e3})  # fmt: skip

"""How cost grows by powers of ten of queries, rows, groups, bins and units: the slope of log cost over log size.

1 is proportional. Slopes from one size to the next are kept; the one of the last step is shown.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.made_tables import make, protect
from benchmarks.questions import MONEY
from benchmarks.rows import Row
from benchmarks.timing import Call, Cost, clock, forget, least


def measure(wanted: Callable[[str], bool], rows: int, quick: bool) -> Iterator[Row]:
    """All rows of the part."""
    turns = 1 if quick else 3
    most = 1000 if quick else min(rows, 1_000_000)
    for name, sizes, prepare in (
        ("queries", (10, 100, 1000) if quick else (10, 100, 1000, 10_000), _queries),
        ("nights: a count of the next one", (3, 36, 365) if quick else (3, 36, 365, 3650), _nights),
        ("rows: mean", powers(100, rows), lambda n: _rows(n, "mean")),
        ("rows: median", powers(100, rows), lambda n: _rows(n, "median")),
        ("rows: grouped mean", powers(100, rows), lambda n: _grouped(n, 50)),
        ("groups: mean", powers(10, most // 10), lambda n: _grouped(most, n)),
        ("bins: histogram", powers(10, most // 10), lambda n: _bins(most, n)),
        ("units: count", powers(10, most), lambda n: _units(most, n, "count")),
        ("units: mean", powers(10, most), lambda n: _units(most, n, "mean")),
    ):
        if wanted(name):
            yield _slope(name, list(sizes), prepare, turns)


def powers(low: int, high: int) -> list[int]:
    """Powers of ten from low to high, at least two of them."""
    found = [low, low * 10]
    while found[-1] * 10 <= high:
        found.append(found[-1] * 10)
    return found


def _slope(name: str, sizes: list[int], prepare: Callable[[int], tuple[pd.DataFrame, Call]], turns: int) -> Row:
    costs: list[Cost] = []
    for size in sizes:
        frame, call = prepare(size)
        call()
        found = []
        for _ in range(turns):
            forget(frame)
            found.append(clock(call))
        costs.append(least(found))
    seconds = [cost.cpu for cost in costs]
    steps = [math.log10(after / before) for before, after in itertools.pairwise(seconds)]
    return Row("growth", name, "cold", sizes[-1], steps[-1], "slope", f"from {sizes[-2]:,}", None, True, {
        "cpu_ms": seconds[-1] * 1e3, "wall_ms": costs[-1].wall * 1e3, "sizes": sizes,
        "all_cpu_ms": [1e3 * s for s in seconds], "slopes": steps,
    })  # fmt: skip


def _queries(calls: int) -> tuple[pd.DataFrame, Call]:
    df = make("rows", 10)

    def session() -> None:
        for _ in range(calls):
            df.dp(epsilon=1, fresh=True).count()

    return df, session


def _nights(nights: int) -> tuple[pd.DataFrame, Call]:
    """The next night's question where so many nights are on record, in a ledger file."""
    first = pd.Timestamp("2000-01-01")
    days = iter(first + pd.Timedelta(days=day) for day in itertools.count(nights))
    df = pd.DataFrame({"at": [first], "uid": [1]})
    df.dp.protect(
        epsilon=2, unit="uid", max_rows=1, period="D", time="at", name="nights",
        ledger=Path(tempfile.mkdtemp()) / "nights.dpledger",
    )  # fmt: skip
    df.dp.period(first, first + pd.Timedelta(days=nights - 1)).dp(epsilon=1).count()
    return df, lambda: df.dp.period(next(days)).dp(epsilon=1).count()


def _rows(rows: int, statistic: str) -> tuple[pd.DataFrame, Call]:
    df = make("rows", rows)
    return df, lambda: getattr(df.dp(epsilon=1, fresh=True), statistic)("income", bounds=MONEY)


def _grouped(rows: int, groups: int) -> tuple[pd.DataFrame, Call]:
    rng = np.random.default_rng(7)
    df = protect(pd.DataFrame({"key": rng.integers(0, groups, rows), "income": rng.uniform(*MONEY, rows)}))
    keys = list(range(groups))
    return df, lambda: df.dp(epsilon=1, fresh=True).groupby("key", keys=keys)["income"].mean(bounds=MONEY)


def _bins(rows: int, bins: int) -> tuple[pd.DataFrame, Call]:
    df, edges = make("rows", rows), np.linspace(*MONEY, bins + 1)
    return df, lambda: df.dp(epsilon=1, fresh=True).histogram("income", bins=edges)


def _units(rows: int, units: int, statistic: str) -> tuple[pd.DataFrame, Call]:
    rng = np.random.default_rng(7)
    plain = pd.DataFrame({"uid": rng.integers(0, units, rows), "income": rng.uniform(*MONEY, rows)})
    df = protect(plain, unit="uid", max_rows=5)
    ask = lambda: df.dp(epsilon=1, fresh=True)  # noqa: E731
    return df, (lambda: ask().count()) if statistic == "count" else (lambda: ask().mean("income", bounds=MONEY))

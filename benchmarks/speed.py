"""CPU time of each query as a ratio to plain pandas' answer to the same question, interleaved in one process.

    python benchmarks/speed.py [--rows 1000000] [--repeats 15]

Both sides answer in turns; the table shows the median of each and their ratio. "cold" queries forget the encodings of the
columns (codes of keys and units) before each call, "warm" ones keep them, as a session does from the second question on.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import pandas_dp  # noqa: F401
from pandas_dp import tables

STATES, KINDS = [f"S{i:02d}" for i in range(50)], ["a", "b", "c", "d", "e"]
LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]


def make(rows: int) -> pd.DataFrame:
    """A table of the usual kinds."""
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "uid": rng.integers(0, max(rows // 5, 1), rows),
            "age": rng.integers(0, 100, rows),
            "income": np.minimum(rng.lognormal(10.5, 0.8, rows), 500_000.0),
            "holes": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(50, 20, rows)),
            "state": pd.Series(rng.choice(STATES, rows), dtype="str"),
            "region": pd.Categorical(rng.choice(STATES, rows)),
            "kind": pd.Series(rng.choice(KINDS, rows), dtype="str"),
            "sort": pd.Categorical(rng.choice(KINDS, rows)),
            "narrow": np.minimum(rng.lognormal(10.5, 0.8, rows), 500_000.0).astype(np.float32),
        }
    )


def questions(df: pd.DataFrame, people: pd.DataFrame) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Name -> (ours, pandas')."""
    ask = lambda: df.dp(epsilon=1, fresh=True)  # noqa: E731
    user = lambda: people.dp(epsilon=1, fresh=True)  # noqa: E731
    money, years = (0, 500_000), (0, 100)
    edges, fine = list(range(0, 101, 10)), np.linspace(0, 500_000, 51)
    first = lambda: df[df.groupby("uid").cumcount().to_numpy() < 5]  # noqa: E731
    return {
        "count()": (lambda: ask().count(), lambda: df["age"].count()),
        "sum float": (lambda: ask().sum("income", bounds=money), lambda: df["income"].sum()),
        "mean float": (lambda: ask().mean("income", bounds=money), lambda: df["income"].mean()),
        "mean with nulls": (lambda: ask().mean("holes", bounds=years), lambda: df["holes"].mean()),
        "mean float32": (lambda: ask().mean("narrow", bounds=money), lambda: df["narrow"].mean()),
        "mean int": (lambda: ask().mean("age", bounds=years), lambda: df["age"].mean()),
        "var float": (lambda: ask().var("income", bounds=money), lambda: df["income"].var()),
        "std float": (lambda: ask().std("income", bounds=money), lambda: df["income"].std()),
        "median float": (lambda: ask().median("income", bounds=money), lambda: df["income"].median()),
        "quantile float": (
            lambda: ask().quantile("income", 0.9, bounds=money),
            lambda: df["income"].quantile(0.9),
        ),
        "five quantiles": (
            lambda: ask().quantile("income", LEVELS, bounds=money),
            lambda: df["income"].quantile(LEVELS),
        ),
        "histogram int bins": (
            lambda: ask().histogram("age", bins=edges),
            lambda: np.histogram(df["age"].to_numpy(), bins=edges)[0],
        ),
        "histogram 50 float bins": (
            lambda: ask().histogram("income", bins=fine),
            lambda: np.histogram(df["income"].to_numpy(), bins=fine)[0],
        ),
        "histogram strings": (
            lambda: ask().histogram("state", keys=STATES),
            lambda: df["state"].value_counts(),
        ),
        "histogram category": (
            lambda: ask().histogram("region", keys=STATES),
            lambda: df["region"].value_counts(),
        ),
        "mode strings": (
            lambda: ask().mode("state", keys=STATES),
            lambda: df["state"].value_counts().index[0],
        ),
        "grouped mean strings": (
            lambda: ask().groupby("state", keys=STATES)["income"].mean(bounds=money),
            lambda: df.groupby("state")["income"].mean(),
        ),
        "grouped count strings": (
            lambda: ask().groupby("state", keys=STATES).count("income"),
            lambda: df.groupby("state")["income"].count(),
        ),
        "grouped mean category": (
            lambda: ask().groupby("region", keys=STATES)["income"].mean(bounds=money),
            lambda: df.groupby("region", observed=True)["income"].mean(),
        ),
        "mean of two keys strings": (
            lambda: (
                ask().groupby(["state", "kind"], keys={"state": STATES, "kind": KINDS})["income"].mean(bounds=money)
            ),
            lambda: df.groupby(["state", "kind"])["income"].mean(),
        ),
        "mean of two keys category": (
            lambda: (
                ask().groupby(["region", "sort"], keys={"region": STATES, "sort": KINDS})["income"].mean(bounds=money)
            ),
            lambda: df.groupby(["region", "sort"], observed=True)["income"].mean(),
        ),
        "groupby_mean_sa strings": (
            lambda: ask().groupby_mean_sa("state", "income", keys=STATES, bounds=money),
            lambda: df.groupby("state")["income"].mean(),
        ),
        "unit mean, all rows": (
            lambda: user().mean("income", bounds=money),
            lambda: df.groupby("uid")["income"].sum(),
        ),
        "unit count": (lambda: user().count(), lambda: len(first())),
        "unit mean": (lambda: user().mean("income", bounds=money), lambda: first()["income"].mean()),
        "unit histogram": (
            lambda: user().histogram("age", bins=edges),
            lambda: np.histogram(first()["age"].to_numpy(), bins=edges)[0],
        ),
        "unit median": (lambda: user().median("income", bounds=money), lambda: first()["income"].median()),
    }


def clock(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def compare(
    frames: list[pd.DataFrame],
    ours: Callable[[], object],
    theirs: Callable[[], object],
    repeats: int,
    cold: bool,
) -> tuple[float, float]:
    """Median CPU seconds of both sides, in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        if cold:
            for frame in frames:
                table = tables.lookup(frame)
                if table is not None:
                    table.cache.clear()
        times[0].append(clock(ours))
        times[1].append(clock(theirs))
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    df = make(options.rows)
    people = df.copy()
    df.dp.protect(epsilon=10**6, name="rows")
    people.dp.protect(epsilon=10**6, unit="uid", max_rows=5, name="people")
    print(f"{options.rows:,} rows, medians of {options.repeats}; CPU milliseconds\n")
    print(f"{'query':<26}{'cold':>9}{'warm':>9}{'pandas':>9}{'cold x':>8}{'warm x':>8}")
    gc.disable()
    for name, (ours, theirs) in questions(df, people).items():
        cold, pandas_cold = compare([df, people], ours, theirs, options.repeats, cold=True)
        warm, pandas_warm = compare([df, people], ours, theirs, options.repeats, cold=False)
        plain = min(pandas_cold, pandas_warm)
        print(
            f"{name:<26}{cold * 1e3:>9.2f}{warm * 1e3:>9.2f}{plain * 1e3:>9.2f}"
            f"{cold / pandas_cold:>8.2f}{warm / pandas_warm:>8.2f}"
        )
    small = df.iloc[:10].copy()
    small.dp.protect(epsilon=10**6, name="small")
    print("\nfixed cost of a call (10 rows), CPU milliseconds, mean of 500:")
    for name, (ours, _) in questions(small, people).items():
        if name.startswith(("unit", "groupby_mean")):
            continue
        start = time.process_time()
        for _ in range(500):
            ours()
        print(f"{name:<26}{(time.process_time() - start) * 2:>9.3f}")


if __name__ == "__main__":
    main()

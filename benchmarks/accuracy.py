"""Error against epsilon and the number of rows, on columns of the census table, beside what theory promises.

    python benchmarks/accuracy.py [--samples 20] [--repeats 10]

Each line is one question, asked several times on each of several random samples of the table: the root of the mean squared
error (in the unit of the answer; in rows for medians, quantiles and the most common key; in revenue for prices), and the
bound of its theorem, where it has one. The last lines compare the mean by rotated moments with one whose price is split
between sum and count, and the median with the exponential mechanism at sensitivity 1.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import pandas_dp  # noqa: F401
from pandas_dp.core.lattice import RANK_BITS, Lattice
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.quantiles import Quantile
from pandas_dp.core.statistics.lattice_counts import Points
from pandas_dp.datasets import load_adult

EPSILONS = (0.1, 0.5, 1.0)
SIZES = (100, 1_000, 10_000)
BOUNDS = (0, 100)
WIDTH = 100
DECILES = [i / 10 for i in range(1, 10)]
EDUCATION = [
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college", "Assoc-voc",
    "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
]  # fmt: skip
PRICES = list(range(1, 100))
LATTICE = Lattice.between(Fraction(0), Fraction(100), RANK_BITS, Fraction(1))  # ages are whole years


class Line(NamedTuple):
    """One question: how to ask it, how far an answer is off, and what the theorem says of that."""

    name: str
    ask: Callable[[pd.DataFrame, float], Any]
    miss: Callable[[pd.DataFrame, Any], float]
    bound: Callable[[int, float], float] | None
    promise: str
    times: int = 1  # how much more often: where the rare misses make the error


def split_mean(df: pd.DataFrame, epsilon: float) -> float:
    """Half of the price for the sum, half for the count."""
    half = df.dp(epsilon=epsilon / 2, fresh=True)
    total, rows = half.sum("age", bounds=BOUNDS), half.count("age")
    return min(max(float(total) / max(int(rows), 1), BOUNDS[0]), BOUNDS[1])


def plain_median(df: pd.DataFrame, epsilon: float) -> float:
    """The exponential mechanism on ranks with the exponent for sensitivity 1: epsilon / 2."""
    offsets, counts = np.unique(LATTICE.offsets(df["age"].to_numpy()), return_counts=True)
    mechanism = Quantile(Fraction(1, 2), Fraction(str(epsilon)) / 2, LATTICE.cells)
    return float(LATTICE.point(mechanism.draw(Exact([Points(offsets, counts)]))[0]))


def rank_miss(df: pd.DataFrame, answer: float, q: float = 0.5) -> float:
    """Distance of q n from the rows below and at or below the answer."""
    values = df["age"].to_numpy()
    below, upto, target = (values < answer).sum(), (values <= answer).sum(), q * len(values)
    return float(max(below - target, target - upto, 0))


def revenue(df: pd.DataFrame, price: float) -> float:
    """Revenue if everybody who works at least that many hours buys."""
    return float(price * (df["hours_per_week"] >= price).sum())


def lines() -> list[Line]:
    """All questions."""
    mean_miss = lambda df, answer: float(answer) - df["age"].mean()  # noqa: E731
    points = math.log(LATTICE.cells + 1)
    return [
        Line(
            "mean, rotated",
            lambda df, e: df.dp(epsilon=e, fresh=True).mean("age", bounds=BOUNDS),
            mean_miss,
            lambda n, e: math.sqrt(2) * WIDTH / (n * e),
            "sqrt(2) width / (n epsilon)",
        ),
        Line(
            "mean, split",
            split_mean,
            mean_miss,
            lambda n, e: 2 * math.sqrt(2) * math.hypot(WIDTH, WIDTH) / (n * e),
            "sum and count at epsilon / 2 each",
        ),
        Line(
            "mean, winsorized",
            lambda df, e: df.dp(epsilon=e, fresh=True).mean("age", bounds=BOUNDS, method="winsorized"),
            mean_miss,
            None,
            "asymptotic only",
        ),
        Line(
            "mean, sample and aggregate",
            lambda df, e: df.dp(epsilon=e).sample_and_aggregate(lambda d: d["age"].mean(), bounds=BOUNDS),
            mean_miss,
            lambda n, e: math.sqrt(2) * WIDTH / (25 * e),
            "sqrt(2) width / (25 blocks epsilon), beside the blocks' bias",
        ),
        Line(
            "the same, size known",
            lambda df, e: df.dp(epsilon=e).sample_and_aggregate(lambda d: d["age"].mean(), bounds=BOUNDS, rows=len(df)),
            mean_miss,
            None,
            "blocks and aggregator from the number of rows",
        ),
        Line(
            "median",
            lambda df, e: df.dp(epsilon=e, fresh=True).median("age", bounds=BOUNDS, step=1),
            rank_miss,
            lambda n, e: (points + 1) / e,
            "(ln points + 1) / epsilon",
            10,
        ),
        Line(
            "median, sensitivity 1",
            plain_median,
            rank_miss,
            lambda n, e: 2 * (points + 1) / e,
            "2 (ln points + 1) / epsilon",
            10,
        ),
        Line(
            "most common key",
            lambda df, e: df.dp(epsilon=e, fresh=True).mode("education", keys=EDUCATION),
            lambda df, key: float(df["education"].value_counts().max() - (df["education"] == str(key)).sum()),
            lambda n, e: (math.log(len(EDUCATION)) + 1) / e,
            "(ln keys + 1) / epsilon",
        ),
        Line(
            "best price",
            lambda df, e: df.dp(epsilon=e, fresh=True).best_price("hours_per_week", prices=PRICES),
            lambda df, price: max(revenue(df, p) for p in PRICES) - revenue(df, float(price)),
            lambda n, e: max(PRICES) * (math.log(len(PRICES)) + 1) / e,
            "highest price (ln prices + 1) / epsilon",
        ),
        Line(
            "nine deciles",
            lambda df, e: df.dp(epsilon=e, fresh=True).quantile("age", DECILES, bounds=BOUNDS, step=1),
            lambda df, answer: math.sqrt(
                np.mean([rank_miss(df, v, q) ** 2 for q, v in zip(DECILES, answer.tolist(), strict=True)])
            ),
            lambda n, e: 4 * (points + 1) * 2 / e,
            "depth (ln points + 1) / (epsilon / depth), one answer",
        ),
    ]


def rmse(line: Line, samples: list[pd.DataFrame], epsilon: float, repeats: int) -> float:
    """Root of the mean squared error of many answers."""
    misses = [line.miss(df, line.ask(df, epsilon)) for df in samples for _ in range(repeats * line.times)]
    return math.sqrt(sum(miss**2 for miss in misses) / len(misses))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    adult, rng = load_adult(), np.random.default_rng(7)
    found: dict[tuple[str, int, float], float] = {}
    print(f"{'question':<28}{'n':>7}{'epsilon':>9}{'error':>12}{'bound':>12}")
    for n in SIZES:
        drawn = [rng.permutation(len(adult))[:n] for _ in range(options.samples)]
        samples = [adult.iloc[rows].reset_index(drop=True) for rows in drawn]
        for i, df in enumerate(samples):
            df.dp.protect(epsilon=10**6, name=f"accuracy {n}, {i}")
        for line in lines():
            for epsilon in EPSILONS:
                error = found[line.name, n, epsilon] = rmse(line, samples, epsilon, options.repeats)
                bound = "" if line.bound is None else f"{line.bound(n, epsilon):,.4g}"
                print(f"{line.name:<28}{n:>7,}{epsilon:>9}{error:>12,.4g}{bound:>12}", flush=True)
    print("\nbounds: " + "; ".join(f"{line.name}: {line.promise}" for line in lines()))
    for ours, theirs, limit in (
        ("mean, rotated", "mean, split", 0.75),
        ("median", "median, sensitivity 1", 0.6),
    ):
        for n in SIZES[1:]:
            for epsilon in EPSILONS:
                a, b = found[ours, n, epsilon], found[theirs, n, epsilon]
                ratio = a / b if b else 0.0
                print(f"{ours} / {theirs}: n={n:,}, epsilon={epsilon}: {ratio:.2f} (wanted {limit})")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        main()

"""When to open a stream: the same counting queries by single counts and by oracles, on the census table.

    python benchmarks/streams.py [--repeats 5] [--quick]

For each epsilon and number of queries: the largest and the mean absolute error in rows, and for oracles how many answers
were hard (noisy counts) and how many unverified (guesses after the corrections were used up); medians over the repeats.
`wins` is the pure method with the least largest error; `+delta` says whether single Gaussian counts at (epsilon, 1e-6)
would beat that. An oracle does not know how many queries will come, so one stream gives all its lines (the median oracle is
stopped after 500: nothing changes any more).

Queries: see `workload`. Candidates of the median oracle: see `invented_tables`; the last line of each epsilon gives it what
it is made for instead, a public table of the same kind: half of the rows are protected, the other half is public.
"""

from __future__ import annotations

import argparse
import math
import statistics
import warnings
from collections.abc import Sequence
from functools import cache
from itertools import combinations, count, product
from typing import Any

import numpy as np
import pandas as pd

import pandas_dp  # noqa: F401
from pandas_dp.datasets import load_adult
from pandas_dp.errors import BudgetExceededError

EPSILONS = (0.1, 0.3, 1.0, 3.0)
NUMBERS = (10, 30, 100, 500, 2000)
DELTA = 1e-6
HUGE = 10**6
MOST_MEDIAN = 500
MARITAL = (
    "Married-civ-spouse", "Never-married", "Divorced", "Separated", "Widowed", "Married-spouse-absent", "Married-AF-spouse",
)  # fmt: skip
DOMAIN: dict[str, list[Any]] = {  # 9,408 cells
    "age": list(range(15, 96, 5)),
    "sex": ["Female", "Male"],
    "education_num": [1, 9, 10, 11, 13, 14, 17],
    "marital_status": list(MARITAL),
    "hours_per_week": [1, 20, 35, 40, 41, 50, 60, 100],
}
ROOTS = {column: math.sqrt(prime) for column, prime in zip(DOMAIN, (2, 3, 5, 7, 11), strict=True)}
NAMES = ("Laplace", "Gaussian", "pmw", "median")
HALVES = "median, the other half of the rows is public"
Errors = Sequence[float]


def conditions(column: str) -> list[str]:
    """Conditions on one column: each key; or half-lines, then intervals, at the inner edges."""
    parts = DOMAIN[column]
    if isinstance(parts[0], str):
        return [f"{column} == '{key}'" for key in parts]
    inner = parts[1:-1]
    half_lines = [f"{column} {sign} {edge}" for edge in inner for sign in (">=", "<")]
    return half_lines + [f"{column} >= {low} and {column} < {high}" for low, high in combinations(inner, 2)]


def workload(n: int) -> list[str]:
    """The first n queries.

    Query i takes the columns of the (i mod 25)-th set of one, two or three of the five, and of each of them the condition
    number floor(frac(i sqrt(p)) m), m the number of its conditions and p = 2, 3, 5, 7, 11 in the order of DOMAIN; they are
    joined by "and". Repetitions are left out.
    """
    sets = [columns for size in (1, 2, 3) for columns in combinations(DOMAIN, size)]
    choices = {column: conditions(column) for column in DOMAIN}
    queries: dict[str, None] = {}
    for i in count():
        parts = [choices[c][int(i * ROOTS[c] % 1 * len(choices[c]))] for c in sets[i % len(sets)]]
        queries.setdefault(" and ".join(parts))
        if len(queries) == n:
            break
    return list(queries)


def invented_tables(rows: int = 500) -> list[pd.DataFrame]:
    """32 tables that somebody could invent who has never seen the data: independent columns, two guesses for each.

    Row i takes of each column the value at the level frac(i sqrt(p)) of its cumulative shares.
    """
    ages, hours = np.arange(17, 91), np.arange(1, 100)
    guesses = {
        "age": [(ages, np.exp(-(ages - 17) / scale)) for scale in (20, 40)],
        "sex": [(np.array(["Female", "Male"]), np.array([1 - men, men])) for men in (0.5, 0.65)],
        "education_num": [(np.arange(1, 17), np.exp(-(((np.arange(1, 17) - 10) / width) ** 2))) for width in (2, 5)],
        "marital_status": [
            (np.array(MARITAL), np.array([married, 0.7 - 0.7 * married, *[0.06 - 0.06 * married] * 5]))
            for married in (0.4, 0.6)
        ],
        "hours_per_week": [(hours, np.where(hours == 40, full * 98 / (1 - full), 1.0)) for full in (0.4, 0.6)],
    }
    levels = {column: np.arange(rows) * ROOTS[column] % 1 for column in DOMAIN}  # shape (rows,) each
    tables = []
    for chosen in product(*guesses.values()):
        places = [
            np.searchsorted(np.cumsum(shares / shares.sum()), levels[column]).clip(max=len(values) - 1)
            for column, (values, shares) in zip(guesses, chosen, strict=True)
        ]
        tables.append(pd.DataFrame({c: v.take(p) for c, (v, _), p in zip(guesses, chosen, places, strict=True)}))
    return tables


def census() -> pd.DataFrame:
    """Copy of the columns that are asked about."""
    return load_adult()[list(DOMAIN)]


@cache
def largest_rho(epsilon: float) -> float:
    """The largest rho that a session of this epsilon and DELTA pays, found by refusals; many calls may share it."""
    low, high = 0.0, epsilon
    for attempt in range(20):
        df = census()
        df.dp.protect(epsilon=epsilon, delta=DELTA, name=f"largest rho {epsilon} {attempt}")
        try:
            df.dp(rho=(low + high) / 2).count()
            low = (low + high) / 2
        except BudgetExceededError:
            high = (low + high) / 2
    return low * 0.999


def single_counts(df: pd.DataFrame, n: int, **price: float) -> Errors:
    """Absolute errors of n counts that share a price.

    Such an error is noise of a law that depends on the price alone. So all rows are counted each time, which is quick.
    """
    shared = {name: value / n for name, value in price.items()}
    return [abs(int(df.dp(**shared, fresh=True).count()) - len(df)) for _ in range(n)]


def stream(opened: Any, queries: list[str], true: list[int]) -> tuple[Errors, list[str]]:
    """Absolute error and kind (easy, hard, unverified) of each answer."""
    answers = [opened.ask(query) for query in queries]
    opened.close()
    return [abs(int(a) - t) for a, t in zip(answers, true, strict=True)], [a.notes[0].split(":")[0] for a in answers]


class Cell:
    """What the repeats of one method gave for one number of queries."""

    def __init__(self) -> None:
        self.largest: list[float] = []
        self.means: list[float] = []
        self.kinds: list[tuple[int, int]] = []

    def add(self, errors: Errors, kinds: list[str] | None = None) -> None:
        self.largest.append(max(errors))
        self.means.append(statistics.fmean(errors))
        if kinds is not None:
            self.kinds.append((kinds.count("hard"), kinds.count("unverified")))

    @property
    def most(self) -> float:
        return statistics.median(self.largest)

    def __str__(self) -> str:
        text = f"{self.most:>8,.0f} {statistics.median(self.means):>7,.0f}"
        for kind in zip(*self.kinds, strict=True):
            text += f"{statistics.median(kind):>6,.0f}"
        return text


def measure(
    df: pd.DataFrame, numbers: Sequence[int], repeats: int, epsilon: float, method: str, **public: Any
) -> dict[int, Cell]:
    """Cells of an oracle."""
    queries = workload(max(numbers))
    true = [len(df.query(query)) for query in queries]
    cells = {n: Cell() for n in numbers}
    for _ in range(repeats):
        errors, kinds = stream(df.dp(epsilon=epsilon).oracle(method, **public), queries, true)
        for n in numbers:
            cells[n].add(errors[:n], kinds[:n])
    return cells


def measure_single(df: pd.DataFrame, numbers: Sequence[int], repeats: int, **price: float) -> dict[int, Cell]:
    """Cells of single counts: another price of each for each number of them."""
    cells = {n: Cell() for n in numbers}
    for n in numbers:
        for _ in range(repeats):
            cells[n].add(single_counts(df, n, **price))
    return cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="epsilon 1, up to 500 queries")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    epsilons, numbers = ((1.0,), NUMBERS[:-1]) if given.quick else (EPSILONS, NUMBERS)
    df = census()
    df.dp.protect(epsilon=HUGE, name="streams")
    gaussian = census()
    gaussian.dp.protect(epsilon=HUGE, delta=DELTA, name="streams, Gaussian")
    halves = [census().iloc[start::2] for start in (0, 1)]
    halves[0].dp.protect(epsilon=HUGE, name="streams, half of the rows")
    tables = invented_tables()
    few = [n for n in numbers if n <= MOST_MEDIAN]
    print(f"{'':15} {'Laplace':>16} {'Gaussian':>16} {'pmw':>28} {'median':>28}")
    kinds = f"{'max':>8} {'mean':>7}{'hard':>6}{'unver':>6}"
    print(f"{'epsilon':>7} {'queries':>7} " + f"{'max':>8} {'mean':>7} " * 2 + f"{kinds} {kinds}  wins    +delta")
    for epsilon in epsilons:
        laplace = measure_single(df, numbers, given.repeats, epsilon=epsilon)
        normal = measure_single(gaussian, numbers, given.repeats, rho=largest_rho(epsilon))
        pmw = measure(df, numbers, given.repeats, epsilon, "pmw", domain=DOMAIN)
        median = measure(df, few, given.repeats, epsilon, "median", candidates=tables)
        for n in numbers:
            cells = [method.get(n) for method in (laplace, normal, pmw, median)]
            pure = {name: cell.most for name, cell in zip(NAMES, cells, strict=True) if cell and name != "Gaussian"}
            wins = min(pure, key=lambda name: pure[name])
            better = "Gaussian" if normal[n].most < pure[wins] else ""
            line = " ".join(str(cell or f"{'':28}") for cell in cells)
            print(f"{epsilon:>7} {n:>7,} {line}  {wins:<7} {better}".rstrip(), flush=True)
        last = measure(halves[0], few[-1:], given.repeats, epsilon, "median", candidates=halves[1:])
        print(f"{epsilon:>7} {few[-1]:>7,} {HALVES:>62} {last[few[-1]]}", flush=True)


if __name__ == "__main__":
    main()

"""Speed, memory and fixed costs in one table, each beside the most that it may be.

Usage: python -m benchmarks [--only WORD ...] [--rows N ...] [--calls N] [--quick] [--big [N]] [--out FILE]

Parts: `ratios` of CPU time to plain pandas (column "of") and to the fastest way by numpy or pyarrow ("fastest x"); `memory`,
the peak on top of the columns that are read; `fixed` costs of calls, ledgers and the import; `noise` per entry; `growth`, the
slope of cost in powers of ten; `cores`, two threads at once; `coverage`, whether intervals hold and are narrow. With --big
also `scans` of Parquet files beside pandas, and Dask on a `cluster` of two processes beside plain Dask: these take minutes and
some GB. "floor" is the most that "value" may be; verdicts are met, MISSED, or small: a ratio below 100,000 rows, where the
fixed cost of a call rules. With `--rows 1000000` all but these takes some ten minutes on two quiet cores, half of them
`coverage`.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import cluster, cores, coverage, fixed, growth, memory, noise, ratios, rows, scans
from benchmarks.timing import FULL, QUICK

PARTS = {
    "ratios": lambda wanted, options: ratios.measure(wanted, options.rows, options.effort),
    "memory": lambda wanted, options: memory.measure(wanted, max(options.rows)),
    "fixed": lambda wanted, options: fixed.measure(wanted, options.calls, options.quick),
    "noise": lambda wanted, options: noise.measure(wanted, options.effort, options.quick),
    "growth": lambda wanted, options: growth.measure(wanted, max(options.rows), options.quick),
    "cores": lambda wanted, options: cores.measure(wanted, max(options.rows), options.effort),
    "coverage": lambda wanted, options: coverage.measure(wanted, options.quick),
}
BIG = {
    "scans": lambda wanted, options: scans.measure(wanted, options.big, options.effort),
    "cluster": lambda wanted, options: cluster.measure(wanted, options.big, options.effort),
}


def parse() -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD",
        help=f"only lines whose part or name holds one of these words; parts: {', '.join(PARTS | BIG)}")  # fmt: skip
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 1_000_000, 10_000_000],
        help="sizes of the tables; the largest serves parts that take one (default: 1e4, 1e6 and 1e7)")  # fmt: skip
    parser.add_argument(
        "--calls", type=int, default=5_000, help="calls of the session whose last is held against its first"
    )
    parser.add_argument("--quick", action="store_true", help="few turns and small sizes: whether it runs, not how fast")
    parser.add_argument("--big", nargs="?", type=int, const=30_000_000, metavar="N",
        help=f"also the parts {' and '.join(BIG)}, with tables of N rows (default: 3e7)")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / f"{datetime.date.today()}.json",
        help="where the run is kept (default: benchmarks/results/<date>.json)")  # fmt: skip
    options = parser.parse_args()
    options.effort = QUICK if options.quick else FULL
    return options


def words(part: str, only: list[str]) -> Callable[[str], bool]:
    """Whether a line of a part is wanted."""
    return lambda name: not only or any(word in f"{part}: {name}" for word in only)


def run(options: argparse.Namespace) -> Iterator[rows.Row]:
    """Measure and print line by line."""
    print(rows.HEAD)
    for part, measure in (PARTS | BIG if options.big else PARTS).items():
        start, printed = time.perf_counter(), False
        for row in measure(words(part, options.only), options):
            if not printed:
                print(f"-- {part}")
                printed = True
            print(row.line(), flush=True)
            yield row
        if printed:
            print(f"   ({time.perf_counter() - start:.0f} s)")


def main() -> None:
    """Run, print, and keep line by line, so that an interrupted run is not lost."""
    options = parse()
    shown = {"only": options.only, "rows": options.rows, "calls": options.calls, "quick": options.quick}
    if options.big:
        shown["big"] = options.big
    found: list[rows.Row] = []
    gc.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in run(options):
            found.append(row)
            rows.keep(found, shown, options.out)
    print("\n" + rows.summary(found))


if __name__ == "__main__":
    main()

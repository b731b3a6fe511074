"""The package beside other libraries: the same questions, each library in its own environment.

    python benchmarks/peers.py --python diffprivlib=PATH opendp=PATH privjail=PATH pydp=PATH [--rows 100000 1000000]

PATH is the interpreter of an environment that has pandas and that library; this one runs the package itself. The libraries
take turns, each in a fresh process (`peer_answers.py`); of every turn's CPU times the least count. Prints tables in Markdown:
CPU time and its ratio to the package's, once with everything set up and once with the set-up and a first question together,
and the errors at epsilon 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OURS = "pandas_dp"
Runs = dict[str, dict[str, Any]]


def worker(library: str, python: str, rows: int, mode: str, seconds: float) -> dict[str, Any]:
    """One run of one library in a fresh process."""
    env = {**os.environ, "PYTHONPATH": str(HERE.parent) if library == OURS else ""}
    command = [python, str(HERE / "peer_answers.py"), library, str(rows), mode, str(seconds)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def least(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The least times of several runs of one library."""
    best = runs[0]
    for run in runs[1:]:
        best["prepared"] = min(best["prepared"], run["prepared"])
        for name, costs in run["found"].items():
            best["found"][name] = {kind: min(cost, best["found"][name][kind]) for kind, cost in costs.items()}
    return best


def shown_time(seconds: float) -> str:
    """Milliseconds with three digits."""
    return f"{seconds * 1e3:,.3g} ms" if seconds < 1 else f"{seconds:,.3g} s"


def times(ratio: float) -> str:
    """A ratio in bold, two digits."""
    return f"**{ratio:.2g}**" if ratio < 100 else f"**{ratio:,.0f}**"


def table(runs: Runs, cell: Any) -> str:
    """Questions down, libraries across."""
    names = list(runs[OURS]["found"])
    lines = ["| question | " + " | ".join(runs) + " |", "|---|" + "---|" * len(runs)]
    for name in names:
        cells = [cell(library, name) if name in run["found"] else "-" for library, run in runs.items()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def warm(runs: Runs) -> str:
    """CPU time of an answer when all is set up."""
    ours = runs[OURS]["found"]

    def cell(library: str, name: str) -> str:
        cost = runs[library]["found"][name]
        ratio = cost["cpu"] / (cost["plain"] if library == OURS else ours[name]["cpu"])
        beside = f"{ratio:.2g} pandas" if library == OURS else times(ratio)
        return f"{shown_time(cost['cpu'])}, {beside}"

    return table(runs, cell)


def with_set_up(runs: Runs) -> str:
    """CPU time of the set-up and one first answer, as a ratio to the package's."""
    total = lambda library, name: runs[library]["prepared"] + runs[library]["found"][name]["first"]  # noqa: E731
    return table(
        runs,
        lambda library, name: (
            shown_time(total(library, name))
            + ("" if library == OURS else f", {times(total(library, name) / total(OURS, name))}")
        ),
    )


def error_table(runs: Runs) -> str:
    """Errors at epsilon 1; the number of answers in brackets where it is under 100."""

    def cell(library: str, name: str) -> str:
        error, trials = (runs[library]["found"][name][key] for key in ("error", "trials"))
        few = f" [{trials}]" if trials < 100 else ""
        rows = "count" in name or name.startswith(("histogram", "unknown"))
        return (f"{error:.3g}" if rows else f"{100 * error:.3g} %") + few

    return table(runs, cell)


def missed(runs: Runs) -> list[str]:
    """Questions where another library is faster: any at all, or PrivJail, which sums and draws in floats, by over 1.5."""
    ours = runs[OURS]["found"]
    return [
        f"{library}: {name}: {cost['cpu'] / ours[name]['cpu']:.2f}"
        for library, run in runs.items()
        for name, cost in run["found"].items()
        if library != OURS and cost["cpu"] * (1.5 if library == "privjail" else 1) < ours[name]["cpu"]
    ]


def main() -> None:
    """Run all libraries and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", nargs="+", default=[], metavar="LIBRARY=PATH", help="interpreters of the others")
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--error-rows", type=int, default=10_000, help="size of the table of errors; 0: none")
    parser.add_argument("--turns", type=int, default=2, help="processes per library and size")
    parser.add_argument("--seconds", type=float, default=0.5, help="for the times of one question")
    parser.add_argument("--out", type=Path, help="keep the figures as JSON")
    options = parser.parse_args()
    pythons = {OURS: sys.executable} | dict(pair.split("=", 1) for pair in options.python)
    kept: dict[str, Runs] = {}
    for rows in options.rows:
        turns = [
            {library: worker(library, python, rows, "time", options.seconds) for library, python in pythons.items()}
            for _ in range(options.turns)
        ]
        runs = kept[f"time {rows}"] = {library: least([turn[library] for turn in turns]) for library in pythons}
        print(f"\n## {rows:,} rows: CPU time of an answer (bold: over {OURS}'s)\n\n{warm(runs)}")
        print(f"\n## {rows:,} rows: set-up and a first answer\n\n{with_set_up(runs)}")
        print("\nmissed: " + ("; ".join(missed(runs)) or "none"), flush=True)
    if options.error_rows:
        runs = {name: worker(name, python, options.error_rows, "error", 4) for name, python in pythons.items()}
        kept[f"error {options.error_rows}"] = runs
        print(f"\n## {options.error_rows:,} rows: error at epsilon 1\n\n{error_table(runs)}")
    if options.out:
        options.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""One line of the table, how the table is printed, and how a run is kept."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VERSIONS = ("pandas-dp", "pandas", "numpy", "pyarrow")
HEAD = (
    f"{'query':<37}{'state':<6}{'size':>11}{'value':>14} {'of':<31}"
    f"{'CPU ms':>10}{'wall ms':>10}{'fastest x':>10}{'floor':>7}  verdict"
)


@dataclass
class Row:
    """One figure.

    Attributes
    ----------
    part, name, state : str
        Part of the benchmark, what was asked, and in which state (cold, warm, ...).
    size : int
        Number of rows, entries or calls.
    value : float
        The figure that is judged.
    unit : str
        What `value` counts: "x" is a ratio.
    against : str
        What the ratio is to.
    floor : float or None
        The most that `value` may be.
    judged : bool
        Whether the floor is meant for this size.
    figures : dict
        What stands beside it: milliseconds of CPU and wall, other ratios.
    """

    part: str
    name: str
    state: str
    size: int
    value: float
    unit: str
    against: str = ""
    floor: float | None = None
    judged: bool = True
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Whether the floor is met; "small" where it is not and the fixed cost of a call rules the ratio."""
        if self.floor is None:
            return ""
        if self.value <= self.floor:
            return "met"
        return "MISSED" if self.judged else "small"

    def line(self) -> str:
        """Text of the row."""
        beside = [self.figures.get(key) for key in ("cpu_ms", "wall_ms", "fastest_x")]
        shown = "".join(
            f"{'' if x is None else format(x, '.3f' if i < 2 else '.2f'):>10}" for i, x in enumerate(beside)
        )
        floor = "" if self.floor is None else f"{self.floor:g}"
        value = f"{format(self.value, '.3g' if abs(self.value) < 1000 else ',.0f')} {self.unit}"
        head = f"{self.name:<37}{self.state:<6}{self.size:>11,}{value:>14} {self.against:<31}"
        return f"{head}{shown}{floor:>7}  {self.verdict}".rstrip()

    def record(self) -> dict[str, Any]:
        """Plain data for the file."""
        return {**vars(self), "verdict": self.verdict}


def summary(rows: Iterable[Row]) -> str:
    """Which floors are missed, in one line each."""
    judged = [row for row in rows if row.verdict in ("met", "MISSED")]
    missed = [row for row in judged if row.verdict == "MISSED"]
    lines = [f"{len(judged) - len(missed)} floors met, {len(missed)} missed"]
    lines += [
        f"  missed: {row.part}: {row.name}, {row.state}, {row.size:,}: {row.value:.3g} {row.unit}, floor {row.floor:g}"
        for row in missed
    ]
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    """Cores, CPU model and memory: nothing that tells whose machine it is."""
    facts: dict[str, Any] = {"cores": os.cpu_count(), "cpu": platform.processor() or platform.machine()}
    cpus, memory = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpus.exists():
        models = [
            line.split(":", 1)[1].strip() for line in cpus.read_text().splitlines() if line.startswith("model name")
        ]
        facts["cpu"] = models[0] if models else facts["cpu"]
    if memory.exists():
        facts["memory_gib"] = round(int(memory.read_text().split()[1]) / 2**20, 1)
    return facts


def versions() -> dict[str, str]:
    """Of Python and of the libraries in play."""
    found = {"python": platform.python_version()}
    for name in VERSIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # run from a checkout
            found[name] = "checkout"
    return found


def keep(rows: list[Row], options: dict[str, Any], path: Path) -> None:
    """Write a run as JSON."""
    run = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "options": options,
        "rows": [row.record() for row in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run, indent=1) + "\n")

"""Peak extra memory of a question over the bytes of the columns it reads.

Each question is asked in a fresh process whose allocator gives freed memory back at once, so that the kernel's peak of
resident memory, set back right before the call, holds what the call added: whatever allocated it, Python, numpy or Arrow.
A small table is asked first, so that imports and tables of noise are there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from benchmarks.made_tables import KINDS, make
from benchmarks.questions import questions
from benchmarks.rows import Row

MOST = 4_000_000
HONEST = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "NUMPY_MADVISE_HUGEPAGE": "0",
}


def measure(wanted: Callable[[str], bool], rows: int) -> Iterator[Row]:
    """All rows of the part; none where the kernel keeps no such peak."""
    if not Path("/proc/self/clear_refs").exists():
        return
    size = min(rows, MOST)
    for kind in KINDS:
        for question in questions(make(kind, 10), kind):
            if question.memory is not None and wanted(question.name):
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.memory", kind, question.name, str(size)],
                    env={**os.environ, **HONEST}, capture_output=True, text=True, check=True,
                )  # fmt: skip
                extra, touched = json.loads(done.stdout)
                yield Row(
                    "memory", question.name, "cold", size, extra / touched, "x", "bytes of its columns",
                    question.memory, size >= 100_000, {"extra_mib": extra / 2**20, "columns_mib": touched / 2**20},
                )  # fmt: skip


def status(field: str) -> int:
    """Bytes of a field of this process's status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def peak(kind: str, name: str, rows: int) -> tuple[int, int]:
    """Peak extra bytes of one question, and the bytes of its columns."""
    small, frame = make(kind, 1000), make(kind, rows)
    for table in (small, frame):
        (question,) = [question for question in questions(table, kind) if question.name == name]
        if table is frame:
            pa.default_memory_pool().release_unused()
            Path("/proc/self/clear_refs").write_text("5")
            before = status("VmRSS")
        question.ours()
    touched = frame[list(question.columns)].memory_usage(index=False, deep=True).sum()
    return status("VmHWM") - before, int(touched)


if __name__ == "__main__":
    print(json.dumps(peak(sys.argv[1], sys.argv[2], int(sys.argv[3]))))

"""Plant one fault after the other in a copy of the package and run its tests: ``python -m tests.mutants [name ...]``."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.faults import FAULTS, Fault, planted

ROOT = Path(__file__).parents[2]
LONGEST = 900  # seconds for the tests of one fault
FAILED = 1  # pytest's exit code where tests failed; others mean that it could not run them


def main(names: list[str]) -> int:
    """Run them; the exit code is 1 where a fault survives."""
    unknown = set(names) - {fault.name for fault in FAULTS}
    if unknown:
        print(f"no such fault: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    chosen = [fault for fault in FAULTS if not names or fault.name in names]
    survivors = []
    for fault in chosen:
        start = time.monotonic()
        found = _found(fault)
        survivors += [] if found else [fault.name]
        seconds = time.monotonic() - start
        print(f"{'killed  ' if found else 'SURVIVED'} {seconds:5.0f} s  {fault.name}: {fault.what}", flush=True)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} killed")
    return 1 if survivors else 0


def _found(fault: Fault) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("pandas_dp", "tests", "pyproject.toml", "README.md", "CONTRIBUTING.md", "docs"):
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, copy / part)
        file = copy / "pandas_dp" / fault.file
        file.write_text(planted(file.read_text(), fault))
        paths = [f"tests/{path}" for path in fault.tests]
        command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", *paths]
        return _run(command, copy) == FAILED


def _run(command: list[str], folder: Path) -> int:
    """Return the exit code; whatever the tests started ends with them, as a broken package may never."""
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as tests:
        try:
            shown, _ = tests.communicate(timeout=LONGEST)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(tests.pid, signal.SIGKILL)
    if tests.returncode not in (0, FAILED):
        raise RuntimeError(shown[-2000:])
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

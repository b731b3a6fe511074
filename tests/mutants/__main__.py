"""Plant one fault after the other in a copy of the package and run its tests: ``python -m tests.mutants [name ...]``.

First the tests run once without any fault: what fails there finds nothing, and a fault that names it does not count as killed.
Two faults are tried at a time, with the tests that plain ``pytest`` runs, all examples of their properties and the same ones
each time; the tests of a fault that is ``slow`` are marked so.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.faults import FAULTS, Fault, planted
from tests.mutants.forks import FAILED, ROOT, run

READ = ("pandas_dp", "tests", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")  # what tests read
AT_A_TIME = 2
FAST, SLOW = "not slow and not nightly", "slow and not nightly"


def main(names: list[str]) -> int:
    """Run them; the exit code is 1 where a fault survives."""
    unknown = set(names) - {fault.name for fault in FAULTS}
    if unknown:
        print(f"no such fault: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    chosen = [fault for fault in FAULTS if not names or fault.name in names]
    with tempfile.TemporaryDirectory() as folder:
        clean = Path(folder) / "clean"
        _copy(clean)
        broken = _control(clean, chosen)
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            killed = sum(pool.map(lambda fault: _shown(fault, clean, broken), chosen))
    print(f"{killed} of {len(chosen)} killed")
    return 0 if killed == len(chosen) else 1


def _copy(clean: Path) -> None:
    clean.mkdir()
    for part in READ:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, clean / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, clean / part)


def _control(clean: Path, chosen: list[Fault]) -> set[str]:
    """The tests that fail without a fault; running them leaves compiled files, which the copies share."""
    failing: set[str] = set()
    for mark in sorted({_mark(fault) for fault in chosen}):
        paths = sorted({path for fault in chosen if _mark(fault) == mark for path in fault.tests})
        code, shown = run(clean, mark, paths, "-n", str(AT_A_TIME))
        failing |= _failed(shown)
        if code == FAILED and not failing:
            raise RuntimeError(shown[-2000:])
    for test in sorted(failing):
        print(f"fails without a fault: {test}", flush=True)
    return failing


def _shown(fault: Fault, clean: Path, broken: set[str]) -> bool:
    """Try a fault and tell how it went, with the test that found it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=clean.parent) as folder:  # on one disk, so that files can be shared
        copy = Path(folder) / "copy"
        shutil.copytree(clean, copy, copy_function=os.link)
        file = copy / "pandas_dp" / fault.file
        text = file.read_text()
        file.unlink()  # of the copy alone
        file.write_text(planted(text, fault))
        code, shown = run(copy, _mark(fault), fault.tests, "-n", "0", "-x")
    found = _failed(shown)
    killed = code == FAILED and not any(_named(path, test) for test in broken for path in fault.tests)
    seconds = time.monotonic() - start
    by = f" by {'; '.join(sorted(found))}" if found else ""
    print(
        f"{'killed  ' if killed else 'SURVIVED'} {seconds:5.0f} s  {fault.name}: {fault.what.strip()}{by}", flush=True
    )
    return killed


def _named(path: str, test: str) -> bool:
    """Whether a path names a test, or the tests of its case, file or folder."""
    return test == path or test.startswith((f"{path}[", f"{path}::", f"{path}/"))


def _mark(fault: Fault) -> str:
    return SLOW if fault.slow else FAST


def _failed(shown: str) -> set[str]:
    """The tests, below ``tests/``, that pytest's summary names."""
    return set(re.findall(r"^(?:FAILED|ERROR) tests/(\S.*?)(?: - .*)?$", shown, re.MULTILINE))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

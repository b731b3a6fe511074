"""Runs tests of a copy of the package in forks of one process that has loaded pytest, pandas and what they need, once."""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 900  # seconds for the tests of one fault
PASSED, FAILED = 0, 1  # pytest's exit codes; others mean that it could not run the tests
LOADED = ["pytest", "pandas", "pyarrow.parquet", "scipy.stats"]  # nothing of the package, or that pytest rewrites
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(LOADED)


def run(folder: Path, mark: str, paths: list[str], *options: str) -> tuple[int, str]:
    """Return the exit code and what was printed; whatever the tests started ends with them, as a broken package may never."""
    os.environ |= {"PANDAS_DP_TESTS": "planted", "OPENBLAS_NUM_THREADS": "1"}  # for the server, before it starts
    with tempfile.NamedTemporaryFile("r+") as shown:
        words = ["-q", "-p", "no:cacheprovider", "-m", mark, *options, *(f"tests/{path}" for path in paths)]
        tests = SERVER.Process(target=_tests, args=(str(folder), words, shown.name))
        tests.start()
        try:
            tests.join(LONGEST)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(tests.pid, signal.SIGKILL)
        tests.join()
        text = shown.read()
    if tests.exitcode not in (PASSED, FAILED):
        raise RuntimeError(f"{paths}: {text[-2000:]}")
    return tests.exitcode, text


def _tests(folder: str, words: list[str], shown: str) -> None:
    os.setsid()
    file = os.open(shown, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.chdir(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.path[:] = [folder, *(path for path in sys.path if path not in ("", str(ROOT)))]
    os.environ["PYTHONPATH"] = folder  # tests start interpreters of their own
    import pytest

    code = pytest.main(words)
    sys.stdout.flush()
    atexit._run_exitfuncs()  # which a fork leaves out
    os._exit(code)

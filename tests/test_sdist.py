"""The source distribution holds all that its own tests need."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOME = ["tests/test_benchmarks.py", "tests/test_changes.py", "tests/test_marks.py", "tests/steps/test_dates.py"]


@pytest.mark.slow
def test_the_source_distribution_passes_its_own_tests(tmp_path):
    """It is the whole project, so all tests are found there, and some of those that read other folders than `tests` run."""
    made = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", tmp_path]
    subprocess.run([*map(str, made)], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    if (ROOT / ".git").exists():
        known = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        assert [name for name in known.splitlines() if not (folder / name).is_file()] == []
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    for tests in (["--collect-only", "-qq", "-m", ""], [*SOME, "-q"]):
        command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr

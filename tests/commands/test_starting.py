"""Ctrl-C while a command starts: no traceback, and no program that imports the package is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SENT = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


def interrupted(tmp_path, *line):
    """Run Python where whoever imports pandas gets an interrupt."""
    (tmp_path / "pandas.py").write_text(SENT)
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *line], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )


@pytest.mark.skipif(os.name == "nt", reason="there Ctrl-C is no signal of a process")
def test_a_command_ends_without_a_traceback(tmp_path):
    done = interrupted(tmp_path, "-m", "pandas_dp", "ledger", "show", "books")
    assert (done.returncode, done.stdout, done.stderr) == (-2, "", "")
    script = tmp_path / "pandas-dp"
    script.write_text("import sys\nfrom pandas_dp.__main__ import main\nmain()\n")
    assert interrupted(tmp_path, str(script), "demo").stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="there Ctrl-C is no signal of a process")
@pytest.mark.parametrize("more", [[], ["-m", "pandas_dp"], ["pandas-dp"]])
def test_a_program_gets_its_interrupt(tmp_path, more):
    code = "try:\n    import pandas_dp\nexcept KeyboardInterrupt:\n    print('caught')\n"
    assert interrupted(tmp_path, "-c", code, *more).stdout == "caught\n"


def test_a_command_that_has_started_gets_it_as_ever(tmp_path):
    code = "import signal\nfrom pandas_dp.facts import starting\nstarting._quiet = True\n"
    code += "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    code += "starting.started()\nprint(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("True\n", "")

"""Code for an interpreter of its own: one imports the package once, and each piece of code runs in a fork of it.

The fork knows no session and no ledger, as a new interpreter; it costs milliseconds where importing pandas costs a second.
What depends on a new interpreter as such (hashes of text, what is imported, options of the command line) starts one.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
SERVER = """
import gc, json, os, sys, traceback
sys.path[:0] = {path!r}
import pandas_dp, pandas_dp.__main__, pandas_dp.questions.frame, support.frames  # what the first question loads, too
import pyarrow.dataset  # and what reads its files
gc.collect()
gc.freeze()  # a fork that looked through all of it for garbage would copy it
def run(code):
    try:
        exec(compile(code, "<script>", "exec"), {{"__name__": "__main__"}})
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
for line in sys.stdin:
    task = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.chdir(task["at"])
        for stream, name in enumerate((os.devnull, task["out"], task["err"])):
            os.dup2(os.open(name, os.O_WRONLY if stream else os.O_RDONLY), stream)
        result = run(task["code"])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(result)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
_servers: list[subprocess.Popen[str]] = []


@dataclass(frozen=True)
class Done:
    """How a piece of code ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run(code: str, timeout: float = 300) -> Done:
    """Run code in an interpreter that has imported the package and knows no session."""
    if not hasattr(os, "fork"):
        new = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout)
        return Done(new.returncode, new.stdout, new.stderr)
    server = _server()
    with tempfile.NamedTemporaryFile("r+") as out, tempfile.NamedTemporaryFile("r+") as err:
        server.stdin.write(json.dumps({"code": code, "at": os.getcwd(), "out": out.name, "err": err.name}) + "\n")
        server.stdin.flush()
        if not select.select([server.stdout], [], [], timeout)[0]:
            _stop()
            raise TimeoutError(code)
        return Done(int(server.stdout.readline()), Path(out.name).read_text(), Path(err.name).read_text())


def _server() -> subprocess.Popen[str]:
    if not _servers:
        code = SERVER.format(path=[str(TESTS.parent), str(TESTS)])
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        _servers.append(subprocess.Popen([sys.executable, "-c", code], start_new_session=True, **pipes))
        atexit.register(_stop)
    return _servers[0]


def _stop() -> None:
    while _servers:
        server = _servers.pop()
        os.killpg(server.pid, signal.SIGKILL)
        server.communicate()

"""A ledger that may be read and not written, and output that cannot be written: no traceback, no silence."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support import interpreter
from support.frames import people
from support.ledgers import ONE, UNIT, ask, older

from pandas_dp.__main__ import main
from pandas_dp.core import database
from pandas_dp.core.ledger import open_ledger
from pandas_dp.errors import LedgerError

LOOKS = ["show", "verify", "export", "report"]
PLAN = """
[budget]
name = "visits"
epsilon = 3
[table]
name = "visits"
version = "1"
[[queries]]
name = "rows"
price = { epsilon = 0.5 }
ask = "count()"
"""


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([*map(str, arguments)])
    told = capsys.readouterr()
    return end.value.code, told.out, told.err


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A ledger with one answer, its table and a plan."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"age": [30, 40, 50] * 100}).to_parquet("visits.parquet")
    Path("plan.toml").write_text(PLAN)
    with pytest.raises(SystemExit) as end:
        main(["run", "plan.toml", "--data", "visits.parquet", "--ledger", "visits.dpledger", "--out", "answers"])
    assert end.value.code == 0
    open_ledger("visits.dpledger").close()
    yield tmp_path
    os.chmod("visits.dpledger", 0o600)
    open_ledger("visits.dpledger").close()


def held(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


@pytest.mark.parametrize("what", LOOKS)
def test_a_ledger_that_cannot_be_written_is_looked_at(capsys, files, what):
    more = ["--out", "-"] if what == "report" else []
    told = run(capsys, "ledger", what, "visits.dpledger", *more)
    assert told[0] == 0
    os.chmod("visits.dpledger", 0o400)
    before = held(files)
    open_ledger("visits.dpledger").close()
    assert run(capsys, "ledger", what, "visits.dpledger", *more)[::2] == (0, "")
    assert held(files) == before


def test_nothing_is_charged_to_it_and_what_was_answered_comes_again(capsys, files):
    os.chmod("visits.dpledger", 0o400)
    before = held(files)
    given = "visits.parquet", "--ledger", "visits.dpledger", "--name", "visits", "--table", "visits", "--version", "1"
    code, out, _ = run(capsys, "query", *given, "count()", "--epsilon", "0.5")
    assert (code, "answered before" in out or "±" in out) == (0, True)
    code, out, err = run(capsys, "query", *given, "count()", "--epsilon", "0.25")
    assert (code, out) == (1, "")
    assert "read-only: nothing can be charged to it" in err
    assert held(files) == before
    os.chmod("visits.dpledger", 0o600)  # and it goes on as soon as it may be written
    assert run(capsys, "query", *given, "count()", "--epsilon", "0.25")[0] == 0


def test_dry_runs_need_no_right_to_write(capsys, files):
    os.chmod("visits.dpledger", 0o400)
    before = held(files)
    given = "--ledger", "visits.dpledger", "--dry-run"
    code, out, err = run(capsys, "run", "plan.toml", "--data", "visits.parquet", *given)
    assert (code, err) == (0, "")
    assert "nothing, stored" in out
    named = "--name", "visits", "--table", "visits", "--version", "2"
    code, out, err = run(capsys, "query", "visits.parquet", "count()", "--epsilon", "0.25", *named, *given)
    assert (code, err) == (0, "")
    new = "--name", "other", "--total", "1"
    code, out, err = run(capsys, "query", "visits.parquet", "count()", "--epsilon", "0.25", *new, *given)
    assert (code, err) == (0, "")
    assert held(files) == before


def test_an_open_budget_of_it_says_what_is_left_and_pays_nothing(files):
    os.chmod("visits.dpledger", 0o400)
    df = people()
    session = df.dp.protect(epsilon=3, ledger="visits.dpledger", name="visits", table="visits", version="2")
    assert session.left == "epsilon=2.5"
    for _ in range(2):
        with pytest.raises(LedgerError, match="read-only: nothing can be charged to it"):
            df.dp(epsilon=0.1).count()
        assert session.left == "epsilon=2.5"
    with pytest.raises(LedgerError, match="read-only: nothing can be charged to it"):
        people().dp.protect(epsilon=3, ledger="visits.dpledger", name="another")


@pytest.mark.parametrize(
    "make", [lambda path: Path(f"{path}-journal").write_bytes(b"x" * 600), older], ids=["cut short", "older"]
)
def test_what_must_be_written_first_needs_somebody_who_may(tmp_path, monkeypatch, make):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    path = tmp_path / "visits.dpledger"
    ledger = open_ledger(path)
    ledger.open("data", ONE, UNIT)
    ledger.close()
    make(path)
    os.chmod(path, 0o400)
    before = held(tmp_path)
    with pytest.raises(LedgerError, match=r"read-only, and .*: open it once where it may be written"):
        open_ledger(path)
    assert held(tmp_path) == before
    os.chmod(path, 0o600)
    ledger = open_ledger(path)
    ask(ledger, "0.1")
    ledger.close()


OTHER = """
import os, sys
os.chdir({folder!r})
if os.getuid() == 0:
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
os.environ["XDG_STATE_HOME"] = "/nowhere"
sys.argv = ["pandas-dp", "ledger", *{words!r}]
pandas_dp.__main__.main()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("words", [["show"], ["verify"], ["export"]])
def test_somebody_else_looks_at_a_ledger_in_a_folder_of_its_owner(files, tmp_path_factory, words):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        Path(folder, "visits.dpledger").write_bytes(Path("visits.dpledger").read_bytes())
        os.chmod(Path(folder, "visits.dpledger"), 0o644)
        if os.getuid():
            os.chmod(folder, 0o555)
        code = "import pandas_dp.__main__\n" + OTHER.format(
            folder=folder, words=[words[0], "visits.dpledger", *words[1:]]
        )
        done = interpreter.run(code)
        os.chmod(folder, 0o755)
        assert (done.returncode, done.stderr) == (0, "")
        assert "visits" in done.stdout
        assert os.listdir(folder) == ["visits.dpledger"]


# Output that cannot be written


def command(*words, shell, folder):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    line = " ".join([sys.executable, "-m", "pandas_dp", *words]) + " " + shell
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, cwd=folder, timeout=100, env=environment
    )


LOST = "pandas-dp: standard output is closed or full: not all was written"
PAID = "; what was paid for is in the ledger: pandas-dp ledger export visits.dpledger"
ASKED = [
    '"count()"',
    "--epsilon",
    "0.25",
    "--ledger",
    "visits.dpledger",
    "--name",
    "visits",
    "--table",
    "visits",
    "--version",
    "1",
]


@pytest.mark.one_in(2)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device on this system")
@pytest.mark.parametrize(
    ("words", "shell", "said"),
    [
        (["ledger", "export", "visits.dpledger"], "> /dev/full", LOST),
        (["ledger", "show", "visits.dpledger"], "| (exec <&-; sleep 1)", LOST),
        (["query", "visits.parquet", *ASKED], "> /dev/full", LOST + PAID),
        (["query", "visits.parquet", *ASKED, "--dry-run"], "> /dev/full", LOST),
    ],
)
def test_output_that_is_lost_is_told_in_one_line(files, words, shell, said):
    shell += "; exit ${PIPESTATUS[0]}"
    done = command(*words, shell=shell, folder=files)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said + "\n")


def test_an_answer_that_has_nowhere_to_go_is_not_paid(files):
    done = command("query", "visits.parquet", *ASKED, shell=">&-", folder=files)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "pandas-dp: standard output is closed: nothing was asked\n"
    assert open_ledger("visits.dpledger").state("visits").epsilon == 0.5


def test_messages_that_cannot_be_written_change_no_exit_code(files):
    for shell in ("2> /dev/full", "2>&-"):
        done = command("ledger", "show", "no.dpledger", shell=shell, folder=files)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_a_demo_that_is_cut_short_shows_no_traceback(files):
    done = command("demo", shell="| head -1; exit ${PIPESTATUS[0]}", folder=files)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_lost_output_is_told_whatever_the_stream_raises(files, monkeypatch, capsys):
    class Closed(io.StringIO):
        def write(self, text):
            raise ValueError("I/O operation on closed file")

    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(SystemExit) as end:
        main(["ledger", "show", "visits.dpledger"])
    assert (end.value.code, capsys.readouterr().err) == (1, LOST + "\n")

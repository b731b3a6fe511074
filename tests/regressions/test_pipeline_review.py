"""Faults found by a review of the command line, the certificate and the audits; each test failed before its fix."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pandas as pd
import pytest
from support.commands import command

import pandas_dp
from pandas_dp.core.ledger import open_ledger
from pandas_dp.errors import ArgumentValueError
from pandas_dp.queries.texts import read_query

PLAN = """
[budget]
name = "visits"
epsilon = 100
[table]
version = "1"
[[queries]]
name = "visits"
price = { epsilon = 1 }
ask = "count()"
"""
CELLS = "age\n20\n20.0\n020\n2e1\n"  # one number, four texts


@pytest.fixture
def call(tmp_path, monkeypatch):
    """The command line in an empty directory, as a new process; one that is given an environment is started anew."""
    root = os.path.dirname(os.path.dirname(pandas_dp.__file__))

    def start(*words, **environment):
        if not environment:
            done = command(*words, before=f"import os; os.chdir({str(tmp_path)!r})")
            return subprocess.CompletedProcess(words, done.returncode, done.stdout.encode(), done.stderr.encode())
        paths = os.pathsep.join([root, *sys.path])
        full = os.environ | {"PYTHONPATH": paths} | environment
        return subprocess.run(
            [sys.executable, "-m", "pandas_dp", *words], capture_output=True, cwd=tmp_path, env=full, check=False
        )

    monkeypatch.chdir(tmp_path)
    return start


def asked(data, question, *more):
    return "query", data, question, "--epsilon", "50", "--ledger", "books", "--name", "n", "--total", "900", *more


@pytest.mark.parametrize(
    ("data", "ledger", "written"),
    [("visits.csv", "books", "."), ("Visits.CSV", "books", "."), ("a.csv", "visits.json", "."), ("a.csv", "l", "here")],
    ids=["data", "data in capitals", "ledger", "linked data"],
)
def test_answers_never_replace_the_data_or_the_ledger(call, tmp_path, data, ledger, written):
    if written == "here":
        (tmp_path / "here").mkdir()
        (tmp_path / "here" / "visits.csv").write_text(CELLS)
        os.symlink(tmp_path / "here" / "visits.csv", tmp_path / data)
    else:
        (tmp_path / data).write_text(CELLS)
    (tmp_path / "plan.toml").write_text(PLAN)
    done = call("run", "plan.toml", "--data", data, "--ledger", ledger, "--out", written)
    assert done.returncode == 2
    assert b"would replace" in done.stderr
    assert (tmp_path / data).read_text() == CELLS
    assert not (tmp_path / ledger).exists()  # nothing was charged


def test_answers_may_lie_beside_the_data(call, tmp_path):
    (tmp_path / "cells.csv").write_text(CELLS)
    (tmp_path / "plan.toml").write_text(PLAN)
    done = call("run", "plan.toml", "--data", "cells.csv", "--ledger", "books", "--out", ".")
    assert done.returncode == 0
    assert (tmp_path / "visits.csv").exists()


def test_a_certificate_never_replaces_its_ledger(call, tmp_path):
    (tmp_path / "cells.csv").write_text(CELLS)
    assert call(*asked("cells.csv", "count()")).returncode == 0
    books = (tmp_path / "books").read_bytes()
    done = call("ledger", "report", "books", "--out", "books")
    assert done.returncode == 2
    assert (tmp_path / "books").read_bytes() == books
    assert call("ledger", "report", "books", "--out", "page.html").returncode == 0
    assert call("ledger", "report", "books", "--out", "page.html").returncode == 0  # a page is replaced


def test_the_report_of_a_session_never_replaces_its_ledger(tmp_path):
    df = pd.DataFrame({"age": [20, 40]})
    df.dp.protect(epsilon=1, name="kept", ledger=tmp_path / "kept.html")
    df.dp(epsilon=0.5).count()
    with pytest.raises(ArgumentValueError, match="would be lost"):
        df.dp.session.report(tmp_path / "kept.html")
    assert open_ledger(tmp_path / "kept.html").state("kept").epsilon * 2 == 1


@pytest.mark.slow
def test_an_answer_that_was_paid_is_shown_whatever_letters_the_terminal_has(call, tmp_path):
    (tmp_path / "cells.csv").write_text("ward\nA\n\u03a9\n")
    question = "groupby('ward', keys=['A', '\u03a9']).size()"
    plain = call(*asked("cells.csv", question), PYTHONIOENCODING="ascii")
    assert (plain.returncode, plain.stderr) == (0, b"")
    assert b"\\u03a9" in plain.stdout
    whole = call(*asked("cells.csv", question, "--json"), PYTHONIOENCODING="ascii")
    assert whole.returncode == 0
    assert "\u03a9" in str(json.loads(whole.stdout))


def test_a_stored_answer_is_not_that_of_a_column_read_as_another_dtype(call, tmp_path):
    (tmp_path / "cells.csv").write_text(CELLS)
    found = {}
    for dtype in ("float64", "str", "float64"):
        (tmp_path / "facts.toml").write_text(f"[age]\ndtype = '{dtype}'\n")
        words = asked("cells.csv", "nunique('age')", "--version", "1", "--schema", "facts.toml", "--json")
        found[dtype] = round(json.loads(call(*words).stdout)["value"])  # at epsilon 50 off with probability 1e-21
    assert found == {"float64": 1, "str": 4}
    assert open_ledger(tmp_path / "books").state("n").epsilon == 100  # the third was stored


def test_numbers_that_cannot_be_written_are_refused_in_our_own_words():
    with pytest.raises(ArgumentValueError, match="too large"):
        read_query(f"histogram('age', bins=[0, 0x{'f' * 5000}])", {"epsilon": 1})

"""A night of jobs on one folder, with every signal at any moment: each answer once, no mixture, nothing paid for nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.commands import command, spent
from support.night import EARLY, PLAN, QUESTIONS, published, rows_of

from pandas_dp.commands.ledger import unanswered
from pandas_dp.core.ledger import Ledger

ANOTHER = "another job "
TESTS = os.path.dirname(os.path.dirname(__file__))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="jobs are forks")
@pytest.mark.parametrize(
    "jobs", [pytest.param(20, marks=pytest.mark.slow), pytest.param(200, marks=pytest.mark.nightly)]
)
def test_a_night_of_jobs_that_are_killed(tmp_path, jobs):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN)
    versions = range(1, 2 + jobs // 5)
    for version in versions:
        n = np.arange(rows_of(version))
        pd.DataFrame({"cost": n % 101, "ward": np.where(n % 3, "A", "B")}).to_parquet(folder / f"{version}.parquet")
    path = os.pathsep.join([os.path.dirname(TESTS), TESTS, os.environ.get("PYTHONPATH", "")])
    night = subprocess.run(
        [sys.executable, f"{TESTS}/support/night.py", str(folder), str(jobs), "1"],
        capture_output=True, text=True, timeout=1800, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert (night.returncode, night.stderr) == (0, "")
    ended = [json.loads(line) for line in night.stdout.splitlines()]
    values: dict[tuple[str, str], object] = {}

    def look(found):
        """In each directory the answers of one version alone, and each the same wherever and whenever it is seen."""
        for place, answers in found.items():
            assert len({version for version, _ in answers.values()}) <= 1, (place, answers)
            for name, (version, value) in answers.items():
                assert values.setdefault((version, name), value) == value, (version, name)

    for job in ended:
        allowed = {0, -(job["signal"] or 0)}
        if job["signal"] not in (None, 9):
            allowed |= {128 + job["signal"], EARLY}  # between two questions, or before the command began
        if ANOTHER in job["said"]:
            allowed |= {1}
        assert job["code"] in allowed, (job["code"], job["signal"], job["said"])
        assert all(line.startswith("pandas-dp: ") for line in job["said"].splitlines()), job["said"]
        look(job["found"] or {})

    for version in versions:  # the morning after: all that is left to do, undisturbed
        where = ("--data", folder / f"{version}.parquet", "--ledger", folder / "books", "--out", folder / "answers")
        done = command("run", folder / "plan.toml", *where, "--version", version)
        assert (done.returncode, done.stderr) == (0, "")
        look(published(folder))
        here = json.loads((folder / "answers" / "index.json").read_text())
        assert (here["version"], here["complete"], len(here["answers"])) == (str(version), True, QUESTIONS)
        # Laplace noise of scale 2 rows: beyond 400 with probability e^-200
        assert abs(json.loads((folder / "answers" / "rows.json").read_text())["value"] - rows_of(version)) < 400
        assert "wards.csv" in os.listdir(folder / "answers")
    assert len({key for key in values if key[1] != "index"}) == len(versions) * QUESTIONS
    assert not [name for name in os.listdir(folder) if name.endswith(".job")]

    ledger = Ledger(folder / "books")
    ledger.verify()
    lost = len(unanswered(ledger, "nights"))
    asked = [entry for entry in ledger.entries("nights") if entry.charge is not None]
    ledger.close()
    assert len(asked) - lost == len(versions) * QUESTIONS
    assert spent(folder / "books", "nights") == len(asked) / 2
    assert lost <= sum(job["code"] == -9 for job in ended)

"""A plan with a budget for each period: the job names the day, and the ledger has what each day paid."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from support.commands import command

import pandas_dp
from pandas_dp.core.ledger import Ledger

PLAN = """
[budget]
name = "visits"
epsilon = 1
unit = "who"
max_rows = 2
period = "D"
time = "at"

[[queries]]
name = "rows"
price = { epsilon = 0.5 }
ask = "count()"
"""


@pytest.fixture
def job(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    times = pd.date_range("2026-11-27", periods=300, freq="15min")
    pd.DataFrame({"at": times, "who": range(300)}).to_parquet(tmp_path / "visits.parquet")

    def start(*more, out="out"):
        where = ("--data", tmp_path / "visits.parquet", "--ledger", tmp_path / "books", "--out", tmp_path / out)
        return command("run", tmp_path / "plan.toml", *where, *more)

    start.path = tmp_path
    return start


def test_nights_one_after_the_other_and_one_again(job):
    for day in ("2026-11-27", "2026-11-28", "2026-11-27"):
        done = job("--period", day, out=day)
        assert done.returncode == 0, done.stderr
    assert "spent epsilon=1 for a 'who' present in every day asked (2); epsilon=0.5 in the day" in done.stdout
    written = json.loads((job.path / "2026-11-27" / "rows.json").read_text())
    assert written["query"] == "period('2026-11-27').count()"
    assert 60 < written["value"] < 140
    assert written["unit"]["period"] == "day"
    assert any(note.startswith("as of ") for note in written["notes"])
    ledger = Ledger(job.path / "books")
    assert [entry.kind for entry in ledger.entries("visits")] == ["open", *("query", "draw") * 2]
    ledger.verify()
    ledger.close()


def test_files_of_a_night_that_is_run_again_stay_as_they_are(job):
    job("--period", "2026-11-27")
    before = (job.path / "out" / "rows.json").read_bytes()
    job("--period", "2026-11-27")
    assert (job.path / "out" / "rows.json").read_bytes() == before


def test_a_night_over_budget_is_named_and_others_go_on(job):
    job("--period", "2026-11-27")
    plan = (job.path / "plan.toml").read_text()
    (job.path / "plan.toml").write_text(
        plan + plan[plan.index("[[queries]]") :].replace("rows", "more").replace("0.5", "0.75")
    )
    done = job("--period", "2026-11-27")
    assert done.returncode == 3
    assert "over budget: query 'more' asks for epsilon=0.75" in done.stderr
    assert "2026-11-27 cannot pay this; other days have budgets of their own" in done.stderr
    assert job("--period", "2026-11-28").returncode == 3  # more than the total of any day
    assert job("--period", "2026-11-27", "--dry-run").returncode == 3


def test_several_days_are_charged_to_each(job):
    done = job("--period", "2026-11-27", "2026-11-29")
    assert done.returncode == 0, done.stderr
    ledger = Ledger(job.path / "books")
    assert len(ledger.periods("visits")[1]) == 3
    ledger.close()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "this budget is per day: say which days count: --period 2026-11-28"),
        (("--period", "2026-11"), "is the name of one month"),
        (("--period", "yesterday"), "period: 'yesterday' names no day"),
        (("--period", "a", "b", "c"), "--period takes one period"),
    ],
)
def test_a_job_that_does_not_name_its_day_is_refused(job, more, told):
    done = job(*more)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (job.path / "books").exists()


def test_a_plan_without_periods_takes_none(job):
    (job.path / "plan.toml").write_text(PLAN.replace('period = "D"\ntime = "at"\n', '[table]\nversion = "1"\n'))
    done = job("--period", "2026-11-27")
    assert done.returncode == 2
    assert "--period needs a budget for each" in done.stderr


def test_the_ledger_command_says_first_what_somebody_in_all_nights_has_spent(job):
    for day in ("2026-11-27", "2026-11-28"):
        job("--period", day)
    told = command("ledger", "show", job.path / "books").stdout
    assert "spent    epsilon=1 for a 'who' present in every day asked (2)" in told
    assert command("ledger", "verify", job.path / "books").returncode == 0
    lines = [json.loads(line) for line in command("ledger", "export", job.path / "books").stdout.splitlines()]
    assert [line["charge"]["periods"] for line in lines if line["charge"]] == [["2026-11-27"] * 2, ["2026-11-28"] * 2]


def test_python_goes_on_where_the_job_was(job):
    job("--period", "2026-11-27")
    frame = pd.read_parquet(job.path / "visits.parquet")
    session = frame.dp.protect(session=pandas_dp.open_session(job.path / "books", "visits"))
    assert session.left.period("2026-11-27") == "epsilon=0.5"
    session.close()


def test_a_lifetime_ends_the_nights_and_the_job_says_so(job):
    (job.path / "plan.toml").write_text(PLAN.replace("epsilon = 1\n", "epsilon = 1\nlifetime = 1\n", 1))
    told = job("--period", "2026-11-27", "--dry-run").stdout
    assert "left now    epsilon=1; epsilon=1 of the lifetime of a 'who'" in told
    assert "left after  epsilon=0.5; epsilon=0.5 of the lifetime of a 'who'" in told
    for day in ("2026-11-27", "2026-11-28"):
        assert job("--period", day).returncode == 0
    assert job("--period", "2026-11-29", "--dry-run").returncode == 3
    done = job("--period", "2026-11-29")
    assert done.returncode == 3
    assert "the lifetime is used up" in done.stderr
    assert "spent    epsilon=1 of a lifetime of 1 for a 'who'" in command("ledger", "show", job.path / "books").stdout


def test_several_days_cannot_use_up_more_than_the_lifetime_leaves(job):
    (job.path / "plan.toml").write_text(PLAN.replace("epsilon = 1\n", "epsilon = 1\nlifetime = 1\n", 1))
    for dry in (("--dry-run",), ()):
        done = job("--period", "2026-11-27", "2026-11-29", *dry)
        assert done.returncode == 3, done.stdout

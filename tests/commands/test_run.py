"""Pipelines: steps of a plan file, what they cost, what they write, and how they end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from fractions import Fraction

import pandas as pd
import pytest
from support.commands import PLAN, SECRET, command, entries, spent, visits

import pandas_dp
from pandas_dp.commands.exits import AGAIN
from pandas_dp.commands.plans import PipelinePlan
from pandas_dp.commands.run import EXAMPLE
from pandas_dp.release.csv import BEGUN, UNFINISHED

KILLED = """
import os
from pandas_dp.commands import answer_files
add = answer_files.AnswerFiles.add
def dying(self, name, *more):
    add(self, name, *more)
    if name == {name!r}:
        os._exit(9)
answer_files.AnswerFiles.add = dying
"""


@pytest.fixture
def job(tmp_path):
    """A directory with plan and data, and its command."""
    (tmp_path / "plan.toml").write_text(PLAN)
    visits().to_parquet(tmp_path / "visits.parquet")

    def start(*more, before="", data="visits.parquet", plan="plan.toml"):
        where = ("--data", tmp_path / data, "--ledger", tmp_path / "books", "--out", tmp_path / "out")
        return command("run", tmp_path / plan, *where, *more, before=before)

    start.path = tmp_path
    start.where = ["--data", f"{tmp_path}/visits.parquet", "--ledger", f"{tmp_path}/books", "--out", f"{tmp_path}/out"]
    return start


def test_a_dry_run_shows_costs_and_errors_and_leaves_nothing_behind(job):
    done = job("--dry-run", "--rows", 400)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["query", "costs", "error"]
    assert lines[1].startswith("rows     epsilon=0.5   ± 24 rows (95 %)")
    assert "with 400 rows" in lines[2]
    assert lines[3].startswith("middle   epsilon=0.25  within ")
    assert lines[-2:] == ["left now    epsilon=3", "left after  epsilon=2"]
    assert sorted(os.listdir(job.path)) == ["plan.toml", "visits.parquet"]


def test_a_dry_run_reads_no_row(job):
    whole = "from pandas_dp.commands import data_files\ndata_files.same_frame = None"
    assert job("--dry-run", before=whole).returncode == 0
    assert job(before=whole).returncode == 1


def test_a_dry_run_of_what_is_stored_costs_nothing_and_writes_nothing(job):
    assert job().returncode == 0
    before = (job.path / "books").read_bytes()
    done = job("--dry-run")
    assert done.stdout.count("nothing, stored") == 3
    assert "left after  epsilon=2" in done.stdout
    assert (job.path / "books").read_bytes() == before
    assert job("--dry-run", "--version", "next").stdout.count("stored") == 0


def test_answers_and_index(job):
    done = job()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "3 answers; spent epsilon=1; left epsilon=2\n"
    out = job.path / "out"
    names = ["by_ward", "middle", "rows"]
    assert sorted(os.listdir(out)) == sorted(
        [f"{name}.{end}" for name in names for end in ("json", "csv")] + ["index.json"]
    )
    index = json.loads((out / "index.json").read_text())
    assert index["complete"] is True
    assert [entry["name"] for entry in index["answers"]] == ["rows", "by_ward", "middle"]
    assert [entry["price"]["epsilon"] for entry in index["answers"]] == [0.5, 0.25, 0.25]
    assert (index["spent"], index["left"], index["version"]) == ("epsilon=1", "epsilon=2", "2026-11-28")
    answer = json.loads((out / "rows.json").read_text())
    assert answer["value"] == index["answers"][0]["value"]
    # Laplace noise of scale 8 rows: beyond 250 with probability e^-31
    assert abs(answer["value"] - 400) < 250
    assert list(pd.read_csv(out / "by_ward.csv", comment="#").columns) == ["ward", "value", "lower", "upper"]


def test_parquet_and_json_answers(job):
    assert job("--format", "parquet").returncode == 0
    table = pd.read_parquet(job.path / "out" / "by_ward.parquet")
    assert table["ward"].tolist() == ["A", "B"]
    assert command(
        "run", job.path / "plan.toml", "--data", job.path / "visits.parquet", "--ledger", job.path / "books",
        "--out", job.path / "more", "--format", "json",
    ).returncode == 0  # fmt: skip
    assert sorted(os.listdir(job.path / "more")) == ["by_ward.json", "index.json", "middle.json", "rows.json"]


def test_a_killed_job_that_is_started_again_pays_as_one(job):
    assert job(before=KILLED.format(name="by_ward")).returncode == 9
    assert spent(job.path / "books") == Fraction(3, 4)
    assert json.loads((job.path / "out" / "index.json").read_text())["complete"] is False
    first = (job.path / "out" / "rows.json").read_bytes()
    assert job().returncode == 0
    assert spent(job.path / "books") == 1
    assert (job.path / "out" / "rows.json").read_bytes() == first
    index = json.loads((job.path / "out" / "index.json").read_text())
    assert [entry["stored"] for entry in index["answers"]] == [True, True, False]
    assert not [name for name in os.listdir(job.path / "out") if name.endswith(".part")]


def test_what_a_killed_job_had_begun_to_write_is_removed_later(job):
    """Not at once: it could be another job's that is at work in the same directory."""
    out = job.path / "out"
    dying = "import os\nmove = os.replace\nos.replace = lambda a, b: os._exit(9) if str(a).endswith('.part') else move(a, b)"
    assert job(before=dying).returncode == 9
    (left,) = (name for name in os.listdir(out) if name.endswith(".part"))
    (out / ".of-somebody-else.part").write_text("kept")
    assert job().stdout.startswith("3 answers; ")
    assert left in os.listdir(out)
    for name in (left, ".of-somebody-else.part"):
        os.utime(out / name, (10**9, 10**9))
    done = job()
    assert done.stdout.startswith("removed 1 file that a killed job had begun to write\n3 answers; ")
    assert [name for name in os.listdir(out) if name.endswith(".part")] == [".of-somebody-else.part"]


def test_a_ledger_of_such_a_name_stays(job):
    """Without it the next run would have the whole budget again."""
    out = job.path / "out"
    assert job().returncode == 0
    named = out / f"{BEGUN}y{UNFINISHED}"
    shutil.copy(job.path / "books", named)
    os.utime(named, (10**9, 10**9))
    assert job().returncode == 0
    assert named.read_bytes() == (job.path / "books").read_bytes()


@pytest.mark.parametrize("data", ["visits.csv", "visits.parquet", "visits.feather"])
def test_a_restart_pays_nothing_whatever_the_format_and_the_relation(job, data):
    plan = PLAN.replace('unit = "pid"\nmax_rows = 4', 'neighbors = "replace_one"')
    (job.path / "plan.toml").write_text(plan)
    visits().to_csv(job.path / "visits.csv", index=False)
    visits().to_feather(job.path / "visits.feather")
    assert job(data=data).returncode == 0
    books = entries(job.path / "books")
    assert job(data=data).returncode == 0
    assert entries(job.path / "books") == books
    assert spent(job.path / "books") == 1


def test_growing_data_under_new_versions_continues_the_budget(job):
    for night, rows in enumerate((400, 500, 600), 1):
        visits(rows).to_parquet(job.path / "visits.parquet")
        assert job("--version", f"night {night}").returncode == 0
        assert spent(job.path / "books") == night
    visits(700).to_parquet(job.path / "visits.parquet")
    done = job("--version", "night 4")
    assert done.returncode == 3
    assert done.stderr == (
        "pandas-dp: over budget: query 'rows' asks for epsilon=0.5; epsilon=0 is left. nothing fits any more; to "
        f"raise the total, on record and then in the plan: pandas-dp ledger extend {job.path}/books --name visits --to 3.5 "
        "--reason .... Are these other people or new events each night? One name for all nights and a "
        'budget for each: [budget] epsilon = 1, period = "D", time = "visited_at". No answer was written\n'
    )


def test_a_new_version_sets_the_answers_of_the_old_one_aside(job):
    assert job("--version", "1").returncode == 0
    (job.path / "out" / "mine.csv").write_text("not listed, so left alone")
    old = {file: (job.path / "out" / file).read_text() for file in ("rows.json", "rows.csv", "middle.json")}
    stop = "import pandas_dp.commands.answer_files as a, os\na.AnswerFiles.add = lambda *args: os._exit(9)"
    assert job("--version", "2", before=stop).returncode == 9
    out = job.path / "out"
    left = [".pandas-dp.job", "index.json", "mine.csv", "version 1"]
    assert sorted(os.listdir(out)) == left  # nothing of the first beside the second
    assert json.loads((out / "index.json").read_text())["complete"] is False
    assert {file: (out / "version 1" / file).read_text() for file in old} == old
    assert json.loads((out / "version 1" / "index.json").read_text())["version"] == "1"
    assert job("--version", "2").returncode == 0
    told = json.loads((out / "rows.json").read_text())
    assert (told["version"], told["package"]) == ("2", f"pandas_dp {pandas_dp.__version__}")
    assert json.loads((out / "index.json").read_text())["written"] > "2026"
    assert job("--version", "1").returncode == 0  # stored, so for free, and the second is set aside
    assert (out / "rows.csv").read_text() == old["rows.csv"]
    assert spent(job.path / "books") == 2


def test_an_answer_that_a_killed_job_did_not_come_to_list_is_set_aside(job):
    once = "import os\nimport pandas_dp.commands.answer_files as a\nadd = a.AnswerFiles.add\n"
    once += "a.AnswerFiles.add = lambda *args: (add(*args), os._exit(9))"
    assert job("--version", "1", before=once).returncode == 9
    assert json.loads((job.path / "out" / "index.json").read_text())["answers"] == []
    assert job("--version", "2", "--format", "json", before=once).returncode == 9
    assert {"rows.json", "rows.csv", "index.json"} <= {*os.listdir(job.path / "out" / "version 1")}
    assert "rows.csv" not in os.listdir(job.path / "out")


def test_a_killed_set_aside_goes_on(job):
    assert job("--version", "1/a").returncode == 0
    once = (
        "import os\nplace = os.replace\ndef dying(old, new):\n    place(old, new)\n    if 'version' in str(new):\n"
        "        os._exit(9)\nos.replace = dying"
    )
    assert job("--version", "2", before=once).returncode == 9
    assert "index.json" in os.listdir(job.path / "out")
    assert job("--version", "2").returncode == 0
    (aside,) = [name for name in os.listdir(job.path / "out") if name.startswith("version 1_a ")]
    assert {"index.json", "rows.json", "rows.csv"} <= {*os.listdir(job.path / "out" / aside)}


def test_answers_of_questions_that_are_gone_do_not_stay(job):
    assert job().returncode == 0
    plan = PLAN.replace('name = "rows"', 'name = "all_rows"')
    assert plan != PLAN
    (job.path / "plan.toml").write_text(plan)
    assert job().returncode == 0
    assert {"rows.json", "rows.csv"} & {*os.listdir(job.path / "out")} == set()
    assert (job.path / "out" / "all_rows.csv").exists()


def test_a_second_job_at_the_same_moment_is_told_who_runs(job):
    runs, go = job.path / "runs", job.path / "go"
    code = f"""
import pathlib, time
import pandas_dp.commands.run as r
from pandas_dp.__main__ import main
read = r.data_files.same_frame
def slow(*args):
    pathlib.Path({str(runs)!r}).touch()
    while not pathlib.Path({str(go)!r}).exists():
        time.sleep(0.01)
    return read(*args)
r.data_files.same_frame = slow
main({["run", *(str(job.path / name) for name in ("plan.toml",)), *job.where]!r})
"""
    first = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    try:
        while not runs.exists():
            assert first.poll() is None, first.stderr.read()
            time.sleep(0.01)
        second = job()
        other = job("--version", "other", "--out", job.path / "more")  # another version is no matter of it
        mixed = job("--version", "mixed")  # but in the same directory
    finally:
        go.touch()
        assert first.wait(300) == 0
        first.stderr.close()
    assert second.returncode == 1
    assert "another job runs version" in second.stderr
    assert re.search(rf"since 2\d{{3}}-\d\d-\d\d .*, process {first.pid}: when it has ended", second.stderr)
    assert other.returncode == 0
    assert mixed.returncode == 1
    assert f"another job writes to {job.path / 'out'}, since 2" in mixed.stderr
    assert job().stdout.endswith("answers; spent epsilon=2; left epsilon=1\n")  # both versions, once each
    assert not list(job.path.glob("*.job"))


def test_a_job_writes_through_no_link(job):
    (job.path / "mine").write_text("kept")
    stop = "import os\nimport pandas_dp.commands.run as r\nr.data_files.same_frame = lambda *args: os._exit(9)"
    job(before=stop)
    (held,) = job.path.glob("*.job")
    held.unlink()
    held.symlink_to(job.path / "mine")
    done = job()
    assert done.returncode == 1
    assert "no file can be written beside" in done.stderr
    assert (job.path / "mine").read_text() == "kept"


def test_a_job_that_was_killed_keeps_nobody_out(job):
    stop = "import os\nimport pandas_dp.commands.run as r\nr.data_files.same_frame = lambda *args: os._exit(9)"
    assert job(before=stop).returncode == 9
    assert len(list(job.path.glob("*.job"))) == 1
    assert job().returncode == 0
    assert not list(job.path.glob("*.job"))


def test_a_stored_answer_behind_one_that_is_not_paid_is_not_said_to_be_unpaid(job):
    assert job().returncode == 0
    price = re.search(r"price = \{ epsilon = ([0-9.]+) \}", PLAN)
    (job.path / "plan.toml").write_text(PLAN.replace(price[0], "price = { epsilon = 2.99 }", 1))
    told = job("--dry-run").stdout
    assert told.count("epsilon=2.99, NOT PAID") == 1
    assert told.count("nothing, stored, NOT ASKED") == 2


def test_a_budget_that_runs_dry_keeps_the_answers_before(job):
    """It would pay the last question, which nobody asks after one that it does not pay."""
    plan = PLAN.replace("epsilon = 3", "epsilon = 0.6").replace("epsilon = 0.25 }\ncalls", "epsilon = 0.1 }\ncalls")
    assert plan.count("0.1 }") == 1
    (job.path / "plan.toml").write_text(plan)
    dry = job("--dry-run")
    assert dry.returncode == 3
    assert dry.stdout.count("NOT PAID") == 2
    done = job()
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "query 'by_ward' asks for epsilon=0.25; epsilon=0.1 is left" in done.stderr
    assert "Answers before it that are written: 1" in done.stderr
    assert sorted(os.listdir(job.path / "out")) == ["index.json", "rows.csv", "rows.json"]
    assert list(pd.read_csv(job.path / "out" / "rows.csv", comment="#").columns) == ["value", "lower", "upper"]
    assert spent(job.path / "books") == Fraction(1, 2)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("bounds = [0, 100]", "", "query 'by_ward': "),
        ('call = "median"', 'call = "meadian"', "query 'middle': .dp has no 'meadian'; did you mean 'median'?"),
        ("['cost'].mean", "['coast'].mean", "query 'by_ward': no column named 'coast'; did you mean 'cost'"),
        ("cost > 10", "coast > 10", "query 'by_ward': "),
        ("[schema.cost]", "[schema.coast]", "schema names 'coast', which is not a column of this table; did you mean 'cost'"),
        ('unit = "pid"', 'unit = "pit"', "unit='pit' is not a column of this table; did you mean 'pid'"),
        ("epsilon = 0.25 }\ncalls", "epsilon = -1 }\ncalls", "query 'middle': epsilon must lie between"),
        ("version = 2026-11-28", "", "run needs --version: pandas-dp run "),
        ("[budget]", "[budgets]", "a plan takes budget, table, schema, plan, queries, not 'budgets'; did you mean 'budget'?"),
        ("epsilon = 3", "epsilon = [", "the plan is not TOML"),
        ("{ epsilon = 0.5 }", "0.5", "query 'rows': a price is a table: price = { epsilon = 0.5 }"),
        ('{ call = "median" }', "7", 'or with column: price = { epsilon = 0.5 }, calls = [{ call = "count", args = ["age"] }]'),
        ("max_rows = 4", "", '[budget]: unit needs max_rows: [budget] unit = "pid", max_rows = 10\n'),
        ("max_rows = 4", "max_rows = -4", "such as max_rows = "),
    ],
)  # fmt: skip
def test_a_wrong_plan_is_told_before_anything_is_charged(job, old, new, text):
    assert old in PLAN
    (job.path / "plan.toml").write_text(PLAN.replace(old, new))
    done = job()
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (job.path / "books").exists()
    assert not (job.path / "out").exists()


def test_unusable_files(job):
    assert "there is no data file" in job(data="none.parquet").stderr
    assert job(data="none.parquet").returncode == 1
    assert job(plan="none.toml").returncode == 2
    assert job(data="plan.toml").returncode == 2
    (job.path / "books").write_text("not a ledger")
    done = job()
    assert done.returncode == 1
    assert "not a ledger" in done.stderr
    (job.path / "books").unlink()
    (job.path / "out").write_text("a file")
    done = job()
    assert done.returncode == 1
    assert "--out DIR" in done.stderr
    assert not (job.path / "books").exists()


def test_other_terms_than_those_of_the_ledger(job):
    assert job().returncode == 0
    (job.path / "plan.toml").write_text(PLAN.replace("epsilon = 3", "epsilon = 9"))
    for more in ((), ("--dry-run",)):
        done = job(*more)
        assert done.returncode == 1
        assert "has epsilon=3, not 9" in done.stderr
    assert spent(job.path / "books") == 1


def test_progress_is_for_terminals_or_asked_for(job):
    assert job("--progress").stderr == "1/3 rows\n2/3 by_ward\n3/3 middle\n"
    assert job("--no-progress").stderr == ""


def test_what_fails_after_its_charge_ends_the_job_without_a_cell(job):
    broken = (
        "from pandas_dp.engines.pandas import PandasView\nimport pandas_dp.tables.protected as p\n"
        f"def broken(*args):\n    raise ValueError({SECRET!r})\np.open_view = broken\n"
    )
    done = job(before=broken)
    assert done.returncode == 1
    assert done.stderr == "pandas-dp: query 'rows': the query could not be answered; its price stays spent\n"
    assert spent(job.path / "books") == Fraction(1, 2)


def test_whatever_else_fails_is_told_in_a_fixed_text(job):
    broken = f"import pandas_dp.commands.run as r\ndef broken(*args):\n    raise ValueError({SECRET!r})\nr.rehearse = broken\n"
    done = job(before=broken)
    assert done.returncode == 1
    assert "failed unexpectedly; the details are left out" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_no_warning_is_printed(job):
    loud = (
        "import warnings\nimport pandas_dp.commands.run as r\nadd = r.AnswerFiles.add\n"
        f"def warn(*args):\n    warnings.warn({SECRET!r})\n    add(*args)\nr.AnswerFiles.add = warn\n"
    )
    done = job(before=loud)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupted_job_says_how_it_goes_on(job):
    stop = "def stop(*args):\n    raise KeyboardInterrupt\nimport pandas_dp.commands.run as r\nr.AnswerFiles.add = stop"
    done = job(before=stop)
    assert done.returncode == 130
    assert "the same command continues" in done.stderr
    assert job().returncode == 0
    assert spent(job.path / "books") == 1


def test_prices_are_planned_for_a_total_and_for_errors(job):
    plan = PLAN.replace("[[queries]]", "[plan]\nepsilon = 1\n\n[[queries]]", 1)
    shares = iter(["0.5", "0.3", "0.2"])
    lines = [
        f"price = {{ epsilon = {next(shares)} }}" if line.startswith("price") else line for line in plan.splitlines()
    ]
    (job.path / "plan.toml").write_text("\n".join(lines))
    shown = job("--dry-run").stdout
    assert [price in shown for price in ("epsilon=0.5 ", "epsilon=0.3 ", "epsilon=0.2 ")] == [True] * 3
    assert job().returncode == 0
    assert spent(job.path / "books") == 1
    within = [line.replace("epsilon = 1", "rows = 90") for line in lines]
    wanted = ["price = { within = 30 }" if line.startswith("price") else line for line in within]
    (job.path / "plan.toml").write_text("\n".join(wanted))
    done = job("--dry-run", "--rows", "90")
    assert done.returncode == 0, done.stderr
    assert "± 30" in done.stdout
    (job.path / "plan.toml").write_text("\n".join(line.replace("= 30", "= 1e-9") for line in wanted))
    done = job("--dry-run")
    assert done.returncode == 2
    assert done.stderr.startswith("pandas-dp: [plan]: ")
    assert "within= is too small: even epsilon=1e6 does not give this error; epsilon=" in done.stderr
    (job.path / "plan.toml").write_text(plan.replace("[plan]\nepsilon", "[split]\ntotal"))
    assert "[split] total = 1 is now [plan] epsilon = 1" in job("--dry-run").stderr


@pytest.mark.slow
def test_exit_codes_of_the_program_itself(job):
    def program(*arguments):
        line = [sys.executable, "-m", "pandas_dp", *map(str, arguments)]
        return subprocess.run(
            line, capture_output=True, text=True, cwd=os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        )

    run = ("run", job.path / "plan.toml", "--data", job.path / "visits.parquet")
    assert program(*run, "--dry-run").returncode == 0
    done = program(*run)
    assert (done.returncode, done.stdout) == (2, "")
    assert "run needs --ledger and --out: pandas-dp run " in done.stderr


def test_the_plan_that_help_shows_is_one(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(EXAMPLE, encoding="utf-8")
    assert [*PipelinePlan.read(plan).queries] == ["cost_by_ward"]


TOLD = """
import os, signal
import pandas_dp.core.gate as gate
answer = gate.release
def release(*args, **options):
    os.kill(os.getpid(), signal.{name})  # after it is asked, before its answer is there
    return answer(*args, **options)
gate.release = release
"""


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_job_that_is_told_to_end_finishes_its_question(job, name, code):
    done = job(before=TOLD.format(name=name))
    assert (done.returncode, done.stdout) == (code, "")
    line = f"pandas-dp: stopped by {name} between two questions; 1 of 3 answers are written: the same command goes on\n"
    assert done.stderr.removeprefix(AGAIN.decode() if name == "SIGINT" else "") == line
    assert spent(job.path / "books") == Fraction(1, 2)
    first = (job.path / "out" / "rows.json").read_bytes()
    assert json.loads((job.path / "out" / "index.json").read_text())["complete"] is False
    assert not list(job.path.glob("*.job"))
    assert job().returncode == 0
    assert spent(job.path / "books") == 1
    assert (job.path / "out" / "rows.json").read_bytes() == first


def test_a_second_interrupt_ends_the_question_at_once(job):
    twice = TOLD.format(name="SIGINT").replace("    return", "    os.kill(os.getpid(), signal.SIGINT)\n    return")
    done = job(before=twice)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.startswith(AGAIN.decode() + "pandas-dp: interrupted; ")
    assert len(done.stderr.splitlines()) == 2


def test_a_job_that_is_told_to_end_during_its_last_question_is_done(job):
    late = TOLD.format(name="SIGTERM").replace("    os.kill", "    if 'median' in repr(args): os.kill")
    assert "median" in (job.path / "plan.toml").read_text()
    assert job(before=late).returncode == 0
    assert json.loads((job.path / "out" / "index.json").read_text())["complete"] is True


def test_a_signal_that_was_ignored_stays_ignored(job):
    """As nohup does it."""
    ignored = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + TOLD.format(name="SIGHUP")
    assert job(before=ignored).returncode == 0


def test_a_charge_without_an_answer_is_told_and_its_plan_goes_on_with_a_larger_total(job):
    plan = PLAN.replace("epsilon = 3", "epsilon = 1")
    (job.path / "plan.toml").write_text(plan)
    dying = "import os\nfrom pandas_dp.core.ledger import Ledger\nLedger.record = lambda *args: os._exit(9)"
    assert job(before=dying).returncode == 9
    assert spent(job.path / "books") == Fraction(1, 2)
    shown = command("ledger", "show", job.path / "books").stdout
    assert "\n  lost     1 charged without an answer (" in shown
    assert "epsilon=0.5: asked again, it is charged again. A larger total" in shown
    assert f"on record: pandas-dp ledger extend {job.path}/books --name visits --to ... --reason ...\n" in shown
    assert len({*shown.splitlines()}) == len(shown.splitlines()) == 6
    done = job()
    assert done.returncode == 3
    assert "1 charged without an answer" in done.stderr
    assert f"pandas-dp ledger extend {job.path}/books --name visits --to ... --reason ..." in done.stderr
    more = command("ledger", "extend", job.path / "books", "--name", "visits", "--to", "1.5", "--reason", "a power cut")
    assert (more.returncode, more.stderr) == (0, "")
    assert more.stdout.endswith("; spent epsilon=1; left epsilon=0.5\n")
    (job.path / "plan.toml").write_text(PLAN.replace("epsilon = 3", "epsilon = 1.5"))
    done = job()
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()[1]
    assert told.startswith("in this budget 1 charged without an answer (")
    assert told.endswith("epsilon=0.5; answered since, in the same words")
    assert spent(job.path / "books") == Fraction(3, 2)


def test_what_was_charged_and_not_drawn_for_is_answered_for_that_charge(job):
    """Killed twice while it reads the rows for its first question, on a budget that pays each question once."""
    (job.path / "plan.toml").write_text(PLAN.replace("epsilon = 3", "epsilon = 1"))
    dying = "import os\nimport pandas_dp.core.gate as gate\ngate.computed = lambda *args: os._exit(9)"
    for _ in range(2):
        assert job(before=dying).returncode == 9
        assert spent(job.path / "books") == Fraction(1, 2)
    lines = job("--dry-run").stdout.splitlines()
    assert [line.split()[0] for line in lines if "nothing, charged before" in line] == ["rows"]
    assert "left after  nothing" in lines or "left after  epsilon=0" in lines
    done = job()
    assert (done.returncode, done.stderr) == (0, "")
    assert spent(job.path / "books") == 1
    assert [entry["stored"] for entry in json.loads((job.path / "out" / "index.json").read_text())["answers"]] == [
        False
    ] * 3
    shown = command("ledger", "show", job.path / "books").stdout
    assert "lost" not in shown
    assert "  entries  7, the last at" in shown  # opened, three times charged and drawn for
    assert command("ledger", "verify", job.path / "books").returncode == 0


@pytest.mark.parametrize(("total", "room"), [("1", False), ("1.49", False), ("1.5", True), ("3", True)])
def test_a_dry_run_says_where_no_answer_may_be_lost(job, total, room):
    """The dearest of the three questions costs 0.5, and all of them 1."""
    (job.path / "plan.toml").write_text(PLAN.replace("epsilon = 3", f"epsilon = {total}"))
    done = job("--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("left after" if room else "no room    if an answer is lost")
    assert job().returncode == 0
    assert "no room" not in job("--dry-run").stdout  # all is stored

"""A job of a day that is killed goes on the next morning, and jobs at once never spend more than the total of a day."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from fractions import Fraction as F

import pandas as pd
import pytest
from support.commands import command

from pandas_dp.core.ledger import Ledger

NAMES = ("rows", "cheap", "dear")
PLAN = """
[budget]
name = "visits"
epsilon = 1
unit = "who"
max_rows = 2
period = "D"
time = "at"
""" + "".join(
    f'\n[[queries]]\nname = "{name}"\nprice = {{ epsilon = 0.25 }}\nask = "{ask}"\n'
    for name, ask in zip(NAMES, ("count()", "query('cost < 10').count()", "query('cost >= 10').count()"), strict=True)
)
DAY, NEXT = "2026-11-27", "2026-11-28"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    times = pd.date_range(DAY, periods=288, freq="15min")
    pd.DataFrame({"at": times, "who": range(288), "cost": [n % 20 for n in range(288)]}).to_parquet(
        tmp_path / "v.parquet"
    )
    return tmp_path


def arguments(folder, *days, out=""):
    where = ("--data", folder / "v.parquet", "--ledger", folder / "books", "--out", folder / (out or days[0]))
    return ("run", folder / "plan.toml", *where, "--period", *days)


def paid(folder):
    """What each day has spent; the chain, the sums and the seals are whole."""
    ledger = Ledger(folder / "books")
    ledger.verify()
    spent = {period: state.epsilon for period, state in ledger.periods("visits")[1].items()}
    ledger.close()
    return list(spent.values())


def answers(folder, out=DAY):
    return {
        name: json.loads((folder / out / f"{name}.json").read_text())["value"]
        for name in NAMES
        if (folder / out / f"{name}.json").exists()
    }


# where in the plan the signal comes, at the second question of three: paid, not drawn; drawn, not stored; stored, not written
WHERE = {
    "charged": ("pandas_dp.core.ledger", "Ledger", "reserve", "after"),
    "drawn": ("pandas_dp.core.ledger", "Ledger", "record", "before"),
    "stored": ("pandas_dp.core.ledger", "Ledger", "record", "after"),
    "written": ("pandas_dp.commands.answer_files", "AnswerFiles", "add", "after"),
}
STRIKE = """
import importlib, os
owner = getattr(importlib.import_module({module!r}), {owner!r})
usual, times = getattr(owner, {method!r}), []
def struck(*given, **more):
    times.append(1)
    if {when!r} == "before" and len(times) == 2:
        os.kill(os.getpid(), {number})
    made = usual(*given, **more)
    if {when!r} == "after" and len(times) == 2:
        os.kill(os.getpid(), {number})
    return made
setattr(owner, {method!r}, struck)
"""


def struck(folder, moment, number, *days):
    module, owner, method, when = WHERE[moment]
    before = STRIKE.format(module=module, owner=owner, method=method, when=when, number=int(number))
    return command(*arguments(folder, *days), before=before)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "moment", [pytest.param(one, marks=[pytest.mark.slow] * (one in ("drawn", "stored"))) for one in WHERE]
)
def test_a_night_that_is_killed_goes_on_the_next_morning(folder, moment):
    killed = struck(folder, moment, signal.SIGKILL, DAY)
    assert killed.returncode == -signal.SIGKILL
    before, lost = answers(folder), moment == "drawn"  # what is not drawn yet is drawn for the same charge
    assert list(before) == list(NAMES[: 2 if moment == "written" else 1])
    assert paid(folder) == [F(1, 2)]
    morning = command(*arguments(folder, DAY))
    assert morning.returncode == 0, morning.stderr
    after = answers(folder)
    assert list(after) == list(NAMES)
    assert {name: after[name] for name in before} == before
    assert paid(folder) == [F(1) if lost else F(3, 4)]
    assert ("charged without an answer" in morning.stdout) == lost
    again = command(*arguments(folder, DAY))
    assert (again.returncode, answers(folder), paid(folder)) == (0, after, [F(1) if lost else F(3, 4)])
    assert command(*arguments(folder, NEXT)).returncode == 0  # whose budget is its own
    assert paid(folder)[1] == F(3, 4)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, getattr(signal, "SIGHUP", None)])
def test_a_night_that_is_told_to_end_writes_what_is_paid_and_goes_on_the_next_morning(folder, number):
    stopped = struck(folder, "charged", number, DAY)
    assert stopped.returncode == 128 + number
    assert f"stopped by {number.name} between two questions; 2 of 3 answers are written" in stopped.stderr
    before = answers(folder)
    assert (list(before), paid(folder)) == (list(NAMES[:2]), [F(1, 2)])
    assert command(*arguments(folder, DAY)).returncode == 0
    assert {name: answers(folder)[name] for name in before} == before
    assert paid(folder) == [F(3, 4)]


def test_a_night_that_was_killed_twice_is_refused_beyond_its_total_and_says_so(folder):
    for _ in range(2):
        struck(folder, "drawn", signal.SIGKILL, DAY)
    done = command(*arguments(folder, DAY))
    assert done.returncode == 3
    assert "2026-11-27 cannot pay this" in done.stderr
    assert paid(folder) == [1]
    raised = command(
        "ledger", "extend", folder / "books", "--name", "visits", "--to", "2", "--reason", "two power cuts"
    )
    assert raised.returncode == 0, raised.stderr
    (folder / "plan.toml").write_text(PLAN.replace("epsilon = 1\n", "epsilon = 2\n"))
    assert command(*arguments(folder, DAY)).returncode == 0
    assert list(answers(folder)) == list(NAMES)


def started(folder, *days, out):
    code = f"from pandas_dp.__main__ import main; main({list(map(str, arguments(folder, *days, out=out)))!r})"
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_jobs_at_once_about_a_day_and_about_two_days(folder):
    """Each pays 0.75 for each of its days; on the first day only four of their six questions fit."""
    jobs = [started(folder, DAY, out="one"), started(folder, DAY, NEXT, out="two")]
    told = [job.communicate(timeout=300) for job in jobs]
    assert {job.returncode for job in jobs} <= {0, 3}, told
    assert paid(folder)[0] == 1
    assert 3 in {job.returncode for job in jobs}
    assert len(answers(folder, "one")) + len(answers(folder, "two")) == 4


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_jobs_at_once_that_are_killed_at_any_moment(folder):
    """Twelve rounds of three jobs, each with a signal at a random moment; then a morning undisturbed.

    What a day spends is never above its total, an answer that was seen is the same ever after, and every day whose budget the
    killed jobs left alone is finished.
    """
    seen, jobs = {}, [((DAY,), "one"), ((DAY, NEXT), "two"), ((NEXT,), "three")]

    def look():
        for _, out in jobs:
            for name, value in answers(folder, out).items():
                assert seen.setdefault((out, name), value) == value

    for turn in range(12):
        running = [started(folder, *days, out=out) for days, out in jobs]
        for job in running:
            time.sleep(random.uniform(0, 1.5))
            job.send_signal(random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP]) if turn % 4 else 0)
        for job in running:
            job.communicate(timeout=300)
        look()
        if (folder / "books").exists():
            assert all(spent <= 1 for spent in paid(folder))
    for days, out in jobs:
        done = command(*arguments(folder, *days, out=out))
        assert done.returncode in (0, 3), done.stderr
    look()
    assert all(spent <= 1 for spent in paid(folder))
    fresh = command(*arguments(folder, "2026-11-29", out="later"))
    assert fresh.returncode == 0
    assert list(answers(folder, "later")) == list(NAMES)

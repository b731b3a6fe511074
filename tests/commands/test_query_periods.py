"""One question of a day from the command line, on the budget of that day."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from support.commands import command

from pandas_dp.core.ledger import Ledger

OPENED = ("--total", 1, "--unit", "who", "--max-rows", 2, "--each", "D", "--time", "at", "--lifetime", 2)
DAY = ("--period", "2026-11-28")


@pytest.fixture
def ask(tmp_path):
    times = pd.date_range("2026-11-27", periods=300, freq="15min")
    pd.DataFrame({"at": times, "who": range(300)}).to_parquet(tmp_path / "visits.parquet")

    def put(price, *more, name="visits"):
        where = ("--ledger", tmp_path / "books", "--name", name)
        return command("query", tmp_path / "visits.parquet", "count()", "--epsilon", price, *where, *more)

    put.path = tmp_path
    return put


def spent(ask):
    ledger = Ledger(ask.path / "books")
    ledger.verify()
    _, states, sums = ledger.periods("visits")
    ledger.close()
    return [float(state.epsilon) for state in states.values()], float(sums.person)


def test_a_day_is_opened_asked_again_and_others_with_it(ask):
    looked = ask("0.5", *OPENED, *DAY, "--dry-run")
    assert "enough; left afterwards: epsilon=0.5; epsilon=1.5 of the lifetime of a 'who'" in looked.stdout
    assert not (ask.path / "books").exists()
    first = ask("0.5", *OPENED, *DAY)
    assert (first.returncode, first.stderr) == (0, "")
    assert "epsilon 0.5 for one 'who' in one day" in first.stdout
    again = ask("0.5", *DAY)
    assert "answered before: costs nothing now" in again.stdout
    assert again.stderr == ""  # the name of the table alone says which answer comes back
    assert spent(ask) == ([0.5], 0.5)
    both = ask("0.25", "--period", "2026-11-27", "2026-11-28", "--json")
    assert json.loads(both.stdout)["query"] == "period('2026-11-27', '2026-11-28').count()"
    assert spent(ask) == ([0.25, 0.75], 1.0)


@pytest.mark.parametrize(
    ("more", "code", "told"),
    [
        ((*OPENED,), 2, "this budget is per day: say which days count: --period 2026-11-28"),
        (("--total", 1, *DAY), 2, "--period needs a budget for each period: --each D --time visited_at"),
        (("--total", 1, "--each", "D", *DAY), 2, "--total 1 --each D --time visited_at"),
        (
            ("--total", 1, "--each", "D", "--time", "at", "--lifetime", 5, *DAY),
            2,
            "it needs both: --total 1 --lifetime 30",
        ),
        ((*OPENED, "--period", "2026-11-27", "2026-11-30"), 3, "not enough lifetime"),
        ((*OPENED, "--period", "2026-11"), 2, "is the name of one month"),
    ],
)
def test_what_is_not_said_or_not_paid_is_refused(ask, more, code, told):
    done = ask("0.75", *more)
    assert done.returncode == code
    assert told in done.stderr
    assert not (ask.path / "books").exists() or spent(ask) == ([], 0)

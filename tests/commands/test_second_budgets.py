"""On the command line no second budget is opened by accident, and whoever wants one says why."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.commands import PLAN, entries, visits

from pandas_dp.__main__ import main


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits().to_parquet("visits.parquet")
    Path("plan.toml").write_text(PLAN)


def asked(capsys, line: str) -> tuple[int, str]:
    words = shlex.split(line.removeprefix("pandas-dp "))
    with pytest.raises(SystemExit) as end:
        main(["another town" if word == "..." else word for word in words])  # the dots are for words of one's own
    told = capsys.readouterr()
    assert (told.out == "") == (end.value.code != 0)
    return end.value.code, told.err


TERMS = "--total 3 --unit pid --max-rows 4 --version 1"
QUERY = 'query visits.parquet "count()" --epsilon 0.5 --name visits --ledger'
RUN = "run plan.toml --data visits.parquet --out answers --ledger"


@pytest.mark.parametrize("dry", ["", " --dry-run"])
@pytest.mark.parametrize("line", [f"{QUERY} {{}} {TERMS}", f"{QUERY}={{}} {TERMS}", f"{RUN} {{}}"])
def test_a_misspelt_ledger_is_not_made(capsys, line, dry):
    assert asked(capsys, line.format("hospital.db")) == (0, "")
    code, told = asked(capsys, line.format("hosptial.db") + dry)
    assert (code, Path("hosptial.db").exists()) == (2, False)
    new, right = re.fullmatch(
        "pandas-dp: there is no ledger hosptial.db, but there is hospital.db. For a new one, with a full budget, say why, on "
        "record: (.*). To use that one: (.*)\n",
        told,
    ).groups()
    assert shlex.split(right) == ["pandas-dp", *shlex.split(line.format("hospital.db") + dry)]
    assert asked(capsys, right) == (0, "")
    assert asked(capsys, new) == (0, "")
    kinds = [kind for kind, _ in entries(Path("hosptial.db"))]
    assert kinds[:2] == [] if dry else ["open", "claim"]
    assert asked(capsys, new) == (0, "")  # the same command, each night
    assert [kind for kind, _ in entries(Path("hosptial.db"))].count("claim") == (not dry)


@pytest.mark.parametrize("line", [f"{QUERY} books {TERMS}", f"{RUN} books"])
def test_a_misspelt_budget_is_not_opened(capsys, line):
    assert asked(capsys, line) == (0, "")
    Path("plan.toml").write_text(PLAN.replace('"visits"', '"vists"'))
    code, told = asked(capsys, line.replace("--name visits", "--name vists"))
    assert code == 2
    assert told.startswith(
        "pandas-dp: the ledger has no budget 'vists', but 'visits'. For a new one, which adds to it, "
    )
    new, right = re.search("say why, on record: (.*). To continue that one: (.*)\n", told).groups()
    if line.startswith("run"):
        assert right == 'name = "visits" in [budget]'
    else:
        assert asked(capsys, right)[0] == 0
    assert asked(capsys, new) == (0, "")


def test_a_budget_of_the_same_name_in_a_ledger_beside_is_told_once(capsys):
    line = f"{QUERY} old.dpledger {TERMS}"
    assert asked(capsys, line) == (0, "")
    code, told = asked(capsys, line.replace("old", "fresh"))
    assert code == 0
    assert told == (
        "pandas-dp: the ledger old.dpledger beside this one has a budget 'visits', too; for people who are in both, the two "
        "add up\n"
    )
    assert asked(capsys, line.replace("old", "fresh")) == (0, "")
    assert asked(capsys, line.replace("old", "third") + " --reason 'another town'") == (0, "")


def test_another_total_names_the_line_that_raises_it_and_the_one_that_goes_on(capsys):
    line = f"{QUERY} books {TERMS}"
    assert asked(capsys, line) == (0, "")
    code, told = asked(capsys, line.replace("--total 3", "--total 5"))
    assert code == 1
    raised, goes_on = re.search(r"on record, (.*)\. A fresh .* with the terms it has: (.*)\n", told).groups()
    assert shlex.split(goes_on) == ["pandas-dp", *shlex.split(f"{QUERY} books --version 1")]
    assert asked(capsys, goes_on) == (0, "")
    assert asked(capsys, raised) == (0, "")
    assert asked(capsys, line.replace("--total 3", "--total 5")) == (0, "")


def test_dots_are_no_reason(capsys):
    """They stand in the lines that are told, for words of one's own, and were on record for ever."""
    assert asked(capsys, f"{QUERY} books {TERMS}") == (0, "")
    for line in (f"{QUERY} others {TERMS} --reason '. . .'", "ledger extend books --name visits --to 9 --reason ..."):
        with pytest.raises(SystemExit) as end:
            main(shlex.split(line))
        assert (end.value.code, "reason" in capsys.readouterr().err) == (2, True)
    assert not Path("others").exists()


def test_a_question_that_a_new_budget_cannot_pay_makes_no_ledger(capsys):
    code, told = asked(capsys, f"{QUERY} books {TERMS} --delta 1e-6")
    assert (code, Path("books").exists()) == (3, False)
    total = re.search("give the budget a delta: (--total-delta [^ ]*)", told)[1]
    assert asked(capsys, f"{QUERY} books {TERMS} --delta 1e-6 {total}") == (0, "")


def test_a_larger_total_lacks_nothing_in_the_line_that_is_shown(capsys):
    assert asked(capsys, f"{QUERY} books {TERMS}") == (0, "")
    code, told = asked(capsys, "ledger extend books --to 5")
    assert code == 2
    line = re.search(r"required: --name, --reason: (pandas-dp ledger extend .*)\n", told)[1]
    assert asked(capsys, line) == (0, "")


def test_a_day_that_is_none_is_told_with_the_option(capsys):
    Path("plan.toml").write_text(PLAN.replace("max_rows = 4", 'max_rows = 4\nperiod = "D"\ntime = "day"'))
    for line in (
        f"{RUN} books --period yesterday",
        f"{QUERY} books {TERMS} --each D --time day --period yesterday",
    ):
        code, told = asked(capsys, line)
        assert (code, told) == (2, "pandas-dp: period: 'yesterday' names no day: --period 2026-11-28\n")


def test_a_budget_for_each_day_lacks_its_time_and_its_day_at_once(capsys):
    code, told = asked(capsys, f"{QUERY} books {TERMS} --each D")
    assert code == 2
    more = re.search(r"--time visited_at --period [\d-]+", told)[0].replace("visited_at", "day")
    assert asked(capsys, f"{QUERY} books {TERMS} --each D {more}") == (0, "")

"""One question of a file from the command line."""

from __future__ import annotations

import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from support.commands import SECRET, command, entries, spent, visits

import pandas_dp
from pandas_dp.__main__ import main
from pandas_dp.commands.query import in_shell
from pandas_dp.core.ledger import open_ledger
from pandas_dp.session.opening import total_of_rho

MEAN = "mean('cost', bounds=(0, 100))"
TOTAL = ("--total", 3, "--unit", "pid", "--max-rows", 4)


@pytest.fixture
def ask(tmp_path):
    """A file and its command."""
    visits().to_parquet(tmp_path / "visits.parquet")

    def put(question, *more, ledger=True, data="visits.parquet"):
        where = ("--ledger", tmp_path / "books", "--name", "visits") if ledger else ()
        return command("query", tmp_path / data, question, *where, *more)

    put.path = tmp_path
    return put


def test_the_first_call_opens_the_budget_and_the_next_go_on_with_it(ask):
    done = ask("count()", "--epsilon", "0.5", *TOTAL)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"\d+ ± 24 \(95 %\), epsilon 0\.5\n  at most 4 rows of each 'pid' are used", done.stdout)
    assert ask(MEAN, "--epsilon", "1").returncode == 0
    assert spent(ask.path / "books") == Fraction(3, 2)
    done = ask("count('cost')", "--epsilon", "2")
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        "asks for epsilon=2; epsilon=1.5 would fit and spend all that is left (not enough epsilon: spent "
        "epsilon=1.5; left epsilon=1.5)" in done.stderr
    )
    assert spent(ask.path / "books") == Fraction(3, 2)


def test_a_version_makes_asking_again_free(ask):
    first = ask(MEAN, "--epsilon", "0.5", "--version", "1", *TOTAL)
    again = ask(MEAN, "--epsilon", "0.5", "--version", "1")
    answer, *notes = first.stdout.splitlines()
    assert again.stdout.splitlines() == [answer, "  answered before: costs nothing now", *notes]
    assert spent(ask.path / "books") == Fraction(1, 2)
    assert ask(MEAN, "--epsilon", "0.5", "--version", "2").returncode == 0
    assert spent(ask.path / "books") == 1


def test_prices_are_exact_decimals(ask):
    for _ in range(3):
        assert ask("count()", "--epsilon", "0.1", "--total", "0.3").returncode == 0
    assert spent(ask.path / "books") == Fraction(3, 10)
    assert ask("count()", "--epsilon", "0.1").returncode == 3


def test_other_currencies(ask):
    more = ("--total", 3, "--total-delta", "1e-6", "--neighbors", "replace_one")
    assert ask(MEAN, "--rho", "0.01", *more).returncode == 0
    assert ask(MEAN, "--epsilon", "0.5", "--delta", "1e-8").returncode == 0
    done = ask("count('cost')", "--within", "30", "--confidence", "0.9")
    assert "± " in done.stdout
    assert len(entries(ask.path / "books")) == 4


def test_a_total_in_rho(ask):
    """``--total-rho`` was taken for a slip of ``--total``, and no refusal had the call that works."""
    refusal = ask("count()", "--rho", "0.01", "--total-rho", "0.1", "--total", "3").stderr
    assert "a budget has one total: --total 3, or --total-rho 0.5" in refusal
    for version in (1, 2):
        assert ask("count()", "--rho", "0.05", "--total-rho", "0.1", "--version", str(version)).returncode == 0
    assert ask("count()", "--rho", "0.001", "--version", "3").returncode == 3
    rule = open_ledger(ask.path / "books").rule("visits")
    assert rule.budget == total_of_rho(Fraction(1, 10), 0, None, "auto")


def test_json(ask):
    done = ask("count()", "--epsilon", "0.5", "--json", *TOTAL)
    assert json.loads(done.stdout)["price"]["epsilon"] == 0.5


def test_a_dry_run_neither_reads_nor_charges(ask):
    done = ask(MEAN, "--epsilon", "0.5", "--dry-run", *TOTAL)
    assert done.returncode == 0
    assert "say roughly how many rows: --rows 10000" in done.stdout
    done = ask(MEAN, "--epsilon", "0.5", "--dry-run", "--rows", "400", *TOTAL)
    assert "with 400 rows" in done.stdout
    assert not (ask.path / "books").exists()
    assert ask(MEAN, "--epsilon", "4", "--dry-run", *TOTAL).returncode == 3


def test_public_facts_of_a_csv_file(ask):
    visits().to_csv(ask.path / "visits.csv", index=False)
    done = ask("mean('cost', bounds=(0, 100))", "--epsilon", "0.5", *TOTAL, data="visits.csv")
    assert done.returncode == 2
    (name, line) = re.search(r"--schema (\S+), a file with the lines (.*?)\. There", done.stderr).groups()
    (ask.path / name).write_text(line.replace(" and ", "\n"))
    known = ("--epsilon", "0.5", "--schema", ask.path / name)
    assert ask("mean('cost', bounds=(0, 100))", *known, *TOTAL, data="visits.csv").returncode == 0
    done = ask("mean('cost')", "--epsilon", "0.5", "--schema", ask.path / name, *TOTAL, data="visits.csv")
    assert (done.returncode, "public bounds" in done.stderr, "CSV" in done.stderr) == (2, True, False)
    (ask.path / "schema.toml").write_text("[cost]\nbounds = [0, 100]\n")
    done = ask("mean('cost')", "--epsilon", "0.5", "--schema", ask.path / "schema.toml", *TOTAL, data="visits.csv")
    assert done.returncode == 0


MONTHS = "pd.period_range('2013-01', '2013-03', freq='M')"


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("mean('cost')", "[\"cost\"] and dtype = 'float64' and bounds = [0, 5000]"),
        ("mean('cost', bounds=(0, 100))", "[\"cost\"] and dtype = 'float64'"),
        (
            "groupby('ward', keys=['A', 'B'])['cost'].median()",
            "[\"cost\"] and dtype = 'float64' and bounds = [0, 5000]",
        ),
        (f"groupby('day', bins={MONTHS}).size()", "[\"day\"] and dtype = 'datetime64[us]'"),
        ("histogram('cost', bins=[0, 50])", "[\"cost\"] and dtype = 'float64'"),
        ("query('cost > 50').count()", "[\"cost\"] and dtype = 'float64'"),
    ],
)
def test_the_lines_that_a_csv_file_lacks_are_those_of_its_question(tmp_path, monkeypatch, capsys, question, lines):
    monkeypatch.chdir(tmp_path)
    visits().to_csv("visits.csv", index=False)
    typed = ["query", "visits.csv", question, *map("=".join, USUAL.items()), "--schema=schema.toml"]
    Path("schema.toml").write_text("")
    for code in (2, 0):
        with pytest.raises(SystemExit) as end:
            main(typed)
        assert end.value.code == code
        assert code == 0 or f"a file with the lines {lines}. There" in capsys.readouterr().err
        Path("schema.toml").write_text(lines.replace(" and ", "\n"))


@pytest.mark.parametrize(
    ("question", "more", "text"),
    [
        ("count()", (), "epsilon"),
        ("count()", ("--epsilon", "0.5"), "open it with its total: --total 3"),
        ("count()", ("--epsilon", "0.5", "--unit", "pid"), "add --total 3"),
        ("count()", ("--epsilon", "0.5", "--total", "3", "--unit", "pid"), "unit needs max_rows"),
        ("count()", ("--epsilon", "much", "--total", "3"), "--epsilon must be a number, such as --epsilon 0.5"),
        ("count()", ("--epsilon", "nan", "--total", "3"), "finite"),
        ("count()", ("--epsilon", "1e999999999", "--total", "3"), "--epsilon must be a number"),
        ("count()", ("--epsilon", "0.5", "--total", "-3"), "must lie between"),
        ("count(", ("--epsilon", "0.5", "--total", "3"), "this question cannot be read"),
        ("maen('cost')", ("--epsilon", "0.5", "--total", "3"), "did you mean 'mean'?"),
        ("mean('coast', bounds=(0, 1))", ("--epsilon", "0.5", "--total", "3"), "did you mean 'cost'"),
        ("mean('cost')", ("--epsilon", "0.5", "--total", "3"), "bounds"),
        ("oracle('pmw', domain={'cost': [1, 2]})", ("--epsilon", "0.5", "--total", "3"), "open it in code"),
        ("count()", ("--epsilon", "0.5", "--total", "3", "--version", ""), "--version must be a short text"),
        ("count()", ("--epsilon", "0.5", "--total", "3", "--schema", "none.toml"), "the schema none.toml cannot be read"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_line_and_costs_nothing(ask, question, more, text):
    done = ask(question, *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (ask.path / "books").exists()


@pytest.mark.parametrize("name", ["query", "run"])
def test_help_says_what_the_exit_codes_mean(name):
    done = command(name, "--help")
    assert done.returncode == 0
    assert "3 over budget" in done.stdout.replace("\n", " ")


def test_without_a_ledger_every_call_would_have_a_fresh_budget(ask):
    done = ask("count()", "--epsilon", "0.5", "--total", "3", ledger=False)
    assert done.returncode == 2
    assert "--total 3 --ledger=visits.dpledger --name=visits\n" in done.stderr


def test_all_that_is_missing_is_named_at_once(ask):
    for given, said in (
        ((), "'count()' --epsilon=0.5 --ledger=visits.dpledger --name=visits --total=3\n"),
        (("--within", "9", "--name", "a"), "--within 9 --name a --ledger=visits.dpledger --total=3\n"),
        (("--epsilon", "1", "--ledger", ask.path / "none"), "none --name=visits --total=3\n"),
    ):
        done = ask("count()", *given, ledger=False)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (ask.path / "none").exists()
    assert ask("count()", "--epsilon", "0.5", *TOTAL).returncode == 0
    done = ask("count()", "--epsilon", "0.5", "--ledger", ask.path / "books", ledger=False)
    assert "books --name=visits\n" in done.stderr


def test_other_terms_than_those_on_record(ask):
    assert ask("count()", "--epsilon", "0.5", *TOTAL).returncode == 0
    done = ask("count()", "--epsilon", "0.5", "--total", "30", "--unit", "pid", "--max-rows", "4")
    assert done.returncode == 1
    assert "has epsilon=3, not 30" in done.stderr
    assert spent(ask.path / "books") == Fraction(1, 2)


@pytest.mark.parametrize(
    "question",
    ["mean('note', bounds=(0, 1))", "query('note > 3').count()", "histogram('note', bins=[0, 1])", "sum('note')",
     "mode('note')", "groupby('note').size()", "eval('x = note * 2').mean('x', bounds=(0, 1))"],
)  # fmt: skip
def test_no_refused_question_prints_a_cell(ask, question):
    done = ask(question, "--epsilon", "0.5", *TOTAL)
    assert done.returncode == 2
    assert SECRET not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (ask.path / "books").exists()


def test_a_budget_with_a_delta_or_a_plan_goes_on_on_its_own_terms(ask):
    opened = (
        "import pandas as pd, pandas_dp\ndf = pd.read_parquet({data!r})\n"
        "df.dp.protect(epsilon=3, {terms}, ledger={books!r}, name='visits')\n"
    )
    data, books = str(ask.path / "visits.parquet"), ask.path / "books"
    terms = (
        "delta=1e-6, delta_reserved=3e-7",
        "delta=1e-6, accountant='gdp'",
        "delta=1e-6, plan={0.1: 10}",
        "unit='pid', max_rows=4, max_groups=2, max_rows_per_group=3, neighbors='replace_one'",
    )
    for place, term in enumerate(terms):
        path = ask.path / f"books{place}"
        price = ("--rho", "0.01") if "gdp" in term else ("--epsilon", "0.1")
        line = opened.format(data=data, terms=term, books=str(path))
        done = command(
            "query",
            data,
            "count('cost')",
            "--ledger",
            path,
            "--name",
            "visits",
            *price,
            "--version",
            "1",
            before=line + "df.dp.session.close()",
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert [kind for kind, _ in entries(path)] == ["open", "query"]
    assert not books.exists()


@pytest.mark.parametrize(
    ("code", "shell"),
    [
        ("a query needs a price: df.dp(epsilon=0.5)", "a query needs a price: --epsilon 0.5"),
        ("df.dp(epsilon=1, delta=1e-6).unique('sex')", "--epsilon 1 --delta 1e-6 with unique('sex')"),
        ("df.dp.protect(epsilon=3, unit='a b', max_rows=10)", "--total 3 --unit 'a b' --max-rows 10"),
        ("protect(epsilon=3, delta=1e-5)", "--total 3 --total-delta 1e-5"),
        ("df.dp(epsilon=...), df.dp(...) or protect(...)", "--epsilon ..., df.dp(...) or protect(...)"),
        ("another name, df.dp.protect(..., name='visits_2')", "another name, --name visits_2"),
        ("mean('cost', bounds=(0, 100))", "mean('cost', bounds=(0, 100))"),
    ],
)
def test_lines_of_code_are_told_as_options(code, shell):
    assert in_shell(code) == shell


def test_a_larger_total_is_a_command_to_type(ask, capsys):
    assert ask("count()", "--epsilon", "0.5", "--total", "0.5").returncode == 0
    refused = ask("count()", "--epsilon", "0.5"), ask("count()", "--epsilon", "0.5", "--total", "2")
    for done, total in zip(refused, ("1", "2"), strict=True):
        line = re.search(r"pandas-dp (ledger extend .*? --to (\S+) --reason ('.*?'|\.\.\.))", done.stderr)
        assert (line[2], "df.dp" in done.stderr.partition("A fresh")[0]) == (total, False)
        with pytest.raises(SystemExit) as end:
            main([word.replace("...", "more visits") for word in shlex.split(line[1])])
        assert end.value.code == 0, capsys.readouterr().err
    assert ask("count()", "--epsilon", "1").returncode == 0


def test_unlisted_keys_are_told_as_options(capsys, tmp_path):
    pd.DataFrame({"sex": ["f", "m"]}).to_parquet(tmp_path / "a.parquet")
    given = ["--epsilon", "0.5", "--ledger", str(tmp_path / "books"), "--name", "a", "--total", "3"]
    with pytest.raises(SystemExit) as end:
        main(["query", str(tmp_path / "a.parquet"), "value_counts('sex')", *given])
    assert end.value.code == 2
    line = capsys.readouterr().err.partition("discover keys, which needs a delta in the budget and in the price: ")[2]
    assert line.endswith("--total 3 --total-delta=1e-6 --delta=1e-7\n")
    with pytest.raises(SystemExit) as end:  # it makes the ledger, and answers
        main(shlex.split(line)[1:])
    assert end.value.code == 0
    capsys.readouterr()
    other = [
        "--epsilon",
        "0.5",
        "--ledger",
        str(tmp_path / "others"),
        "--name",
        "a",
        "--total",
        "3",
        "--total-delta",
        "1e-5",
    ]
    with pytest.raises(SystemExit):
        main(["query", str(tmp_path / "a.parquet"), "value_counts('sex')", *other])
    line = capsys.readouterr().err.partition("discover keys: ")[2]
    assert line.endswith("--total 3 --total-delta 1e-5 --delta=1e-6\n")
    with pytest.raises(SystemExit) as end:
        main(shlex.split(line)[1:])
    assert end.value.code == 0


USUAL = {"--epsilon": "0.5", "--ledger": "visits.dpledger", "--name": "visits", "--total": "3", "--total-delta": "1e-3"}
GIVEN = [*map("=".join, USUAL.items())]
QUESTION, OPTIONS = r"([\w]+\(.*\))", r"(--[a-z-]+[ =][^;,]+?)"
ADVISED = {  # a question, options beside the usual ones, and where the refusal says what to type
    "no price": ("count()", {"--epsilon": None}, f"a price: {OPTIONS}$"),
    "no name": ("count()", {"--name": None}, r"fresh budget(?: \(.*10\))?: pandas-dp query (.*)$"),
    "no ledger": ("count()", {"--ledger": None}, r"fresh budget(?: \(.*10\))?: pandas-dp query (.*)$"),
    "no budget": ("count()", dict.fromkeys(USUAL), r"fresh budget(?: \(.*10\))?: pandas-dp query (.*)$"),
    "no total": ("count()", {"--total": None, "--total-delta": None}, f"its total: {OPTIONS}, and"),
    "two questions": ("count().mean('age')", {}, f": {QUESTION}$"),
    "two prices": ("count()", {"--within": "5"}, f": {OPTIONS}$"),
    "a text as total": ("count()", {"--total": "much"}, f"such as {OPTIONS}$"),
    "a total below zero": ("count()", {"--total": "-1"}, f"such as {OPTIONS}$"),
    "a delta above one": ("count()", {"--total-delta": "3"}, f"such as {OPTIONS}$"),
    "a price below zero": ("count()", {"--epsilon": "-1"}, f"such as {OPTIONS}$"),
    "a delta of the question above one": ("count()", {"--delta": "3"}, f"such as {OPTIONS}$"),
    "rows below zero": ("count()", {"--rows": "-1"}, f"such as {OPTIONS}$"),
    "rows of a unit below zero": ("count()", {"--unit": "pid", "--max-rows": "-1"}, f"such as {OPTIONS}$"),
    "a unit alone": ("count()", {"--unit": "pid"}, f"needs max_rows: {OPTIONS}$"),
    "no unit": ("rows_per_unit()", {}, f"as its unit: {OPTIONS}$"),
    "an empty version": ("count()", {"--version": ""}, f"such as {OPTIONS}$"),
    "an empty table": ("count()", {"--table": ""}, f"such as {OPTIONS}$"),
    "a name of a part": ("count()", {"--name": "a::b"}, f"of a budget: {OPTIONS}$"),
    "a name with a space": ("count()", {"--name": " a"}, f", {OPTIONS}$"),
    "half a surrogate": ("count()", {"--name": "a\ud800"}, f", {OPTIONS}$"),
    "keys that nobody lists": ("value_counts('ward')", {}, f"the data: {QUESTION}, or discover"),
    "keys to find": ("value_counts('ward')", {}, r"discover keys: pandas-dp query (.*)$"),
    "found keys": ("unique('ward')", {}, r"needs a delta: pandas-dp query (.*)$"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", ADVISED)
def test_what_is_advised_can_be_typed(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    visits().rename(columns={"cost": "age"}).assign(patient_id=range(400)).to_parquet("visits.parquet")
    question, more, advised = ADVISED[case]

    given = USUAL | more
    typed = [f"{name}={value}" for name, value in given.items() if value is not None]
    with pytest.raises(SystemExit) as end:
        main(["query", "visits.parquet", question, *typed])
    told = capsys.readouterr().err.strip()
    assert end.value.code == 2
    line = re.search(advised, told)[1]
    if "pandas-dp query" in advised:
        whole = shlex.split(line)
    else:
        named = dict(re.findall(r"(--[a-z-]+)[ =]('.*?'|[^\s,]+)", line)) if line.startswith("--") else {}
        given = {name: value for name, value in (given | named).items() if value is not None}
        if "two prices" in case:
            del given["--epsilon"]
        whole = ["visits.parquet", question if line.startswith("--") else line]
        whole += [f"{name}={value}" for name, value in given.items()]
    with pytest.raises(SystemExit) as end:
        main(["query", *whole])
    err = capsys.readouterr().err
    assert end.value.code == 0
    assert err == "" or ("--unit" not in given and err.startswith("pandas-dp: this budget protects single rows"))


@pytest.mark.parametrize("question", ["__class__()", "count().__init__('x')", "_put()"])
def test_what_python_has_of_every_object_is_no_question(question, capsys, tmp_path):
    visits().to_parquet(tmp_path / "visits.parquet")
    with pytest.raises(SystemExit) as end:
        main(["query", str(tmp_path / "visits.parquet"), question, *map("=".join, USUAL.items())])
    assert end.value.code == 2
    assert re.search(r"(\.dp has no '\w+'|steps come before it): \w+\(.*\)$", capsys.readouterr().err.strip())


def test_a_question_that_shows_the_number_of_rows_is_for_code(ask):
    done = ask("randomized_response('ward', keys=['A', 'B'])", "--epsilon", "0.5", "--total", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ask it in code" in done.stderr
    assert "--rows" not in done.stderr


def test_asked_again_without_a_version_it_is_said_that_it_is_paid_again(ask):
    assert ask("count()", "--epsilon", "0.5", *TOTAL).stderr == ""
    again = ask("count()", "--epsilon", "0.5")
    assert again.returncode == 0
    assert "Is it the same table? Add --version 2026-11-28 to each call" in again.stderr
    assert ask("count()", "--epsilon", "0.5", "--version", "2026-11-28").stderr == ""
    assert spent(ask.path / "books") == Fraction(3, 2)


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert (end.value.code, capsys.readouterr().out) == (0, f"pandas-dp {pandas_dp.__version__}\n")


def test_a_question_that_is_told_to_end_is_answered(ask):
    told = (
        "import os, signal\nimport pandas_dp.core.gate as gate\nanswer = gate.release\n"
        "def release(*args, **options):\n    os.kill(os.getpid(), signal.SIGTERM)\n    return answer(*args, **options)\n"
        "gate.release = release"
    )
    where = ("--ledger", ask.path / "books", "--name", "visits", *TOTAL)
    done = command("query", ask.path / "visits.parquet", "count()", *where, "--epsilon", "0.5", before=told)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"\d+ ± 24 \(95 %\), epsilon 0\.5\n", done.stdout)
    assert spent(ask.path / "books") == Fraction(1, 2)


def asked(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(["query", "visits.parquet", "count()", "--epsilon", "0.5", "--ledger", "books", *arguments])
    return end.value.code, capsys.readouterr().err


def test_a_new_budget_of_single_rows_is_told_where_rows_seem_to_be_of_people(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    visits().rename(columns={"pid": "patient_id"}).to_parquet("visits.parquet")
    new = "--name", "a", "--total", "3"
    for more in (["--dry-run"], []):
        code, err = asked(capsys, *new, *more)
        assert code == 0
        assert "column 'patient_id' looks like a person identifier" in err
        assert err.endswith(": --total 3 --unit patient_id --max-rows 10\n")
    assert "person" not in asked(capsys, "--name", "a")[1]  # once
    assert asked(capsys, "--name", "b", "--total", "3", "--unit", "patient_id", "--max-rows", "10") == (0, "")


def test_a_misspelt_budget_is_told_by_those_that_there_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    visits().to_parquet("visits.parquet")
    missing = "pandas-dp: the ledger knows no budget {!r} yet; {}open it with its total: --total 3, and"
    assert asked(capsys, "--name", "visit")[1].startswith(missing.format("visit", ""))
    assert asked(capsys, "--name", "visits", "--total", "3") == (0, "")
    told = asked(capsys, "--name", "visit")[1]
    assert told.startswith(
        "pandas-dp: the ledger has no budget 'visit', but 'visits'. For a new one, which adds to it, say why, on record: "
    )
    assert "--name visit --total=3 --reason .... To continue that one: pandas-dp query " in told
    assert asked(capsys, "--name", "other")[1].startswith(missing.format("other", "it has 'visits'; or "))


def test_the_line_of_an_older_copy_is_one_to_type(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    visits().to_parquet("visits.parquet")
    assert asked(capsys, "--name", "a", "--total", "3") == (0, "")
    with pytest.raises(SystemExit):
        main(["ledger", "backup", "books", "a copy"])
    Path("a copy").replace("books again")
    code, err = asked(capsys, "--name", "a", "--ledger", "books again")
    line = re.search(r"type pandas-dp (ledger restore .* --spent-since epsilon=0\.5)\n", err)[1]
    assert code == 1
    with pytest.raises(SystemExit) as end:
        main(shlex.split(line))
    assert end.value.code == 0
    assert asked(capsys, "--name", "a", "--ledger", "books again")[0] == 0


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("query", "visits.parquet", "count()", "--legder", "a"), "arguments: --legder a; did you mean '--ledger'?"),
        (("querry", "visits.parquet"), "; did you mean 'query'?"),
        (("ledger", "shwo", "books"), "; did you mean 'show'?"),
        (("verify", "books"), "; did you mean 'ledger verify'?"),
        (("ledger", "extend", "books", "--epsilon", "5"), "there is no --epsilon; did you mean '--to'?"),
        (("run", "plan.toml", "visits.parquet"), "; did you mean --data visits.parquet?"),
        (("run", "plan.toml", "--month", "2013-01"), "--month 2013-01; did you mean '--period'?"),
        (("ledger", "report", "books", "--pdf"), "; did you mean '--out'?"),
        (("ledger", "report", "books", "--valuess"), "; did you mean '--values'?"),
        (("query", "visits.parquet", "mean(cost)", *GIVEN), "dp: names and texts are written in quotes: 'cost' in mean()"),
        (("query", "visits.parquet", "eval('m = note.str[:7]').count()", *GIVEN), "written as .str.slice(0, 7), not as"),
        (("query", "visits.parquet", "query('note.str[-1] == \"a\"').count()", *GIVEN), "written as .str.get(-1), not as"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_slips_are_told_with_what_was_meant(tmp_path, monkeypatch, capsys, typed, told):
    monkeypatch.chdir(tmp_path)
    visits().to_parquet("visits.parquet")
    with pytest.raises(SystemExit) as end:
        main([*typed])
    assert (end.value.code, told in capsys.readouterr().err) == (2, True)
    assert not Path("visits.dpledger").exists()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_steps_in_code_are_not_advised(form, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = visits().astype({"cost": "str"})
    table.to_csv("visits.csv", index=False) if form == "csv" else table.to_parquet("visits.parquet")
    for question in ("mean('cost', bounds=(0, 9))", "histogram('cost', bins=[0, 1])", "corr(['pid', 'cost'])"):
        with pytest.raises(SystemExit):
            main(["query", f"visits.{form}", question, *map("=".join, USUAL.items())])
        err = capsys.readouterr().err
        assert "column" in err
        assert "lambda" not in err
        assert ("--schema" in err) == (form == "csv")

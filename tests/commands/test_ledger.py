"""The books of a ledger file from the command line."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from fractions import Fraction

import pandas as pd
import pytest
from support.frames import people

from pandas_dp.__main__ import main
from pandas_dp.commands.ledger import unanswered
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import BudgetExceededError, LedgerError


@pytest.fixture
def books(tmp_path):
    path = tmp_path / "visits.dpledger"
    df = people()
    session = df.dp.protect(epsilon=3, unit="pid", max_rows=2, ledger=path, name="visits")
    df.dp(epsilon=0.5).count()
    df.dp(epsilon=0.25).query("age > 40").count()
    other = people()
    other.dp.protect(epsilon=1, delta=1e-6, ledger=path, name="rows")
    other.dp(rho=0.01).count()
    yield path
    session._ledger.close()


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(["ledger", *map(str, arguments)])
    told = capsys.readouterr()
    return end.value.code, told.out, told.err


def test_show_tells_what_is_protected_spent_and_left(capsys, books):
    code, out, err = run(capsys, "show", books)
    assert (code, err) == (0, "")
    assert "visits: protects all rows of each 'pid' (uses at most 2 of them; add/remove)" in out
    assert "spent    epsilon=0.75\n" in out
    assert "left     epsilon=2.25\n" in out
    assert "all answers together: epsilon=1, delta=1e-6, for one row more or less" in out


def table():
    """One with a name that looks like a call."""
    return pd.DataFrame(
        {"at": pd.to_datetime(["2013-01-01"] * 60), "age": [31, 45, 62] * 20, "a.oracle(": list("xyz") * 20}
    )


def test_what_opened_a_part_or_a_stream_is_no_charge_without_an_answer(capsys, tmp_path):
    """A part is paid once for good, and the answers of a stream are not stored."""
    path, rows, days = tmp_path / "visits.dpledger", table(), table()
    session = rows.dp.protect(epsilon=20, ledger=path, name="rows")
    rows.dp.allot("night (1)", epsilon=1)
    rows.dp.partition("a.oracle(", keys=["x", "y"], epsilon=1)
    rows.dp.query("age > 40").dp(epsilon=1).above_threshold(10, max_above=2)
    rows.dp(epsilon=1).oracle("pmw", domain={"a.oracle(": ["x", "y"]}, rows=60)
    rows.dp(epsilon=1).oracle("median", candidates=[pd.DataFrame({"age": [1, 2]})] * 2, rows=60)
    days.dp.protect(epsilon=20, ledger=path, name="days", period="D", time="at")
    days.dp.period("2013-01-01", "2013-01-03").dp.allot("three days", epsilon=1)
    ledger = session._ledger
    assert len(ledger.entries("rows")) == 6
    assert unanswered(ledger, "rows") == unanswered(ledger, "days") == []
    assert "lost" not in run(capsys, "show", path)[1]
    lost = "max('a.oracle(')", "query(\"city == '.above_threshold(1)'\").count()", "period('2013-01-01').count()"
    for text in lost:
        ledger.reserve("rows", text, text, "epsilon=1", PrivacyLoss.pure(Fraction(1)), PrivacyUnit())
    assert [entry.query for entry in unanswered(ledger, "rows")] == [*lost]
    ledger.close()


def test_verify_counts_the_chain_and_finds_a_changed_entry(capsys, books):
    code, out, _ = run(capsys, "verify", books)
    assert code == 0
    assert re.search(
        "^visits: 3 entries, none changed; chain [0-9a-f]{32}/1, its head [0-9a-f]{64}$", out, re.MULTILINE
    )
    assert "rows: 2 entries" in out
    assert out.endswith("no stored answer was changed; a removed one would not be noticed\n")
    with sqlite3.connect(books) as connection:
        connection.execute("UPDATE entries SET price = 'epsilon=0.1' WHERE budget = 1 AND sequence = 2")
    connection.close()
    for what in ("verify", "export"):
        code, out, err = run(capsys, what, books)
        assert (code, out) == (1, "")
        assert "damaged" in err


def test_export_writes_a_line_for_each_entry_with_what_was_answered(capsys, books):
    code, out, _ = run(capsys, "export", books)
    entries = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(e["budget"], e["kind"]) for e in entries] == [
        ("visits", "open"),
        ("visits", "query"),
        ("visits", "query"),
        ("rows", "open"),
        ("rows", "query"),
    ]
    assert entries[1]["charge"] == {"epsilon": "1/2", "renyi": "0", "delta": "0"}
    assert entries[4]["charge"]["epsilon"] is None
    assert all(set(e) == {"budget", "sequence", "time", "kind", "query", "price", "charge", "answer"} for e in entries)
    assert [e["answer"] is not None for e in entries] == [e["kind"] == "query" for e in entries]
    assert entries[1]["answer"]["text"].endswith("epsilon 0.5")


@pytest.mark.parametrize("table", ["results", "answers"])
def test_verify_finds_a_changed_answer(capsys, books, table):
    with sqlite3.connect(books) as connection:
        connection.execute(f"UPDATE {table} SET result = x'00' WHERE budget = 1 AND sequence = 2")
    connection.close()
    code, out, err = run(capsys, "verify", books)
    assert code == 1
    assert "visits: 3 entries, none changed" in out
    assert "'visits' 2" in err
    assert "fresh=True" in err


def test_verify_finds_a_trigger(capsys, books):
    with sqlite3.connect(books) as connection:
        connection.execute("CREATE TRIGGER t AFTER UPDATE ON budgets BEGIN DELETE FROM results; END")
    connection.close()
    code, out, err = run(capsys, "verify", books)
    assert (code, out, "damaged" in err) == (1, "", True)


def test_a_back_up_is_whole_and_cannot_be_charged_until_it_is_restored(capsys, books, tmp_path):
    to = tmp_path / "copy.dpledger"
    code, out, err = run(capsys, "backup", books, to)
    assert (code, err, to.stat().st_mode & 0o777) == (0, "", 0o600)
    assert "nothing can be charged to it until" in out
    code, out, _ = run(capsys, "show", to)
    assert (code, "spent    epsilon=0.75\n" in out) == (0, True)
    with pytest.raises(LedgerError, match=r"is a back-up of .*pandas-dp ledger restore"):
        people().dp.protect(epsilon=3, unit="pid", max_rows=2, ledger=to, name="visits")
    code, out, _ = run(capsys, "restore", to, "--spent-since", "epsilon=0.5")
    assert (code, "charged to each of its budgets (2): epsilon=0.5" in out) == (0, True)
    df = people()
    session = df.dp.protect(epsilon=3, unit="pid", max_rows=2, ledger=to, name="visits")
    assert session.spent == "epsilon=1.25"
    assert session.releases["kind"].tolist() == ["open", "query", "query", "restored"]
    df.dp(epsilon=0.5).count()
    session._ledger.verify()
    session._ledger.close()
    for name in (to, tmp_path / "link"):
        if not os.path.lexists(name):
            name.symlink_to(tmp_path / "elsewhere")
        code, _, err = run(capsys, "backup", books, name)
        assert (code, "exists already" in err) == (1, True)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("typed", "code", "spent"),
    [
        (["--all"], 0, "epsilon=3\n"),
        (["--spent-since", "epsilon=5"], 0, "epsilon=5.75"),
        (["--spent-since", "epsilon=2", "epsilon=3"], 0, "epsilon=5.75"),
        (["--spent-since", "epsilon=0"], 0, "epsilon=0.75"),
        (["--spent-since", "epsilon=0.5", "rho=0.1", "delta=1e-7"], 0, "epsilon=0.75 and Gaussian noise"),
        (["--spent-since", "0.5"], 2, None),
        (["--spent-since", "price=0.5"], 2, None),
        (["--spent-since", "epsilon=-1"], 2, None),
        ([], 2, None),
    ],
)
def test_restore_charges_what_is_typed_even_beyond_the_total(capsys, books, tmp_path, typed, code, spent):
    to = tmp_path / "copy.dpledger"
    run(capsys, "backup", books, to)
    assert run(capsys, "restore", to, *typed)[0] == code
    if spent is None:
        with pytest.raises(LedgerError, match="is a back-up"):
            people().dp.protect(epsilon=3, unit="pid", max_rows=2, ledger=to, name="visits")
        return
    assert f"spent    {spent}" in run(capsys, "show", to)[1]
    assert run(capsys, "verify", to)[0] == 0
    for name, terms in (
        ("visits", {"epsilon": 3, "unit": "pid", "max_rows": 2}),
        ("rows", {"epsilon": 1, "delta": 1e-6}),
    ):
        df = people()
        session = df.dp.protect(**terms, ledger=to, name=name)
        if typed != ["--spent-since", "epsilon=0"] and (name, len(typed)) != ("rows", 4):
            with pytest.raises(BudgetExceededError):
                df.dp(epsilon=0.001, fresh=True).count()
    session._ledger.close()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("report", "--out", "c.pdf"), "report {} --out c.html"),
        (("report", "--out", "c.html", "--values"), "report {} --out statement.json --about about.toml"),
        (("report", "--out", "c.yaml", "--values"), "report {} --out statement.json --values"),
        (("report", "--out", "c.yaml", "--name", "visits"), "knows: --about about.toml, a TOML file with"),
        (("extend", "--name", "visits", "--to", "2", "--reason", "a"), "extend {} --name visits --to 6 --reason ..."),
        (("extend", "--name", "visits", "--to", "-2", "--reason", "a"), "extend {} --name visits --to 6 --reason ..."),
    ],
)  # fmt: skip
def test_refusals_tell_what_is_typed_here(capsys, books, typed, told):
    code, out, err = run(capsys, typed[0], books, *typed[1:])
    assert (code, out) == (2, "")
    assert told.format(books) in err
    assert "session" not in err
    assert "={" not in err


@pytest.mark.parametrize("what", ["show", "verify", "export"])
def test_what_is_no_ledger_is_refused_and_none_is_made(capsys, tmp_path, what):
    code, out, err = run(capsys, what, tmp_path / "none.dpledger")
    assert (code, out) == (1, "")
    assert "no such file" in err
    assert not (tmp_path / "none.dpledger").exists()
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    code, _, err = run(capsys, what, tmp_path / "table.csv")
    assert code == 1
    assert "not a ledger" in err


def test_a_wrong_command_is_a_usage_error(capsys):
    code, _, err = run(capsys, "erase", "visits.dpledger")
    assert code == 2
    assert "invalid choice" in err


def test_report_prints_a_page_in_plain_ascii_or_writes_it(capsys, books, tmp_path, monkeypatch):
    code, out, err = run(capsys, "report", books, "--out", "-")
    assert (code, err) == (0, "")
    assert out.isascii()
    assert out.startswith("<!DOCTYPE html>")
    assert [
        out.count(f'<h2 id="budget-{i}">Budget &#x27;{name}&#x27;') for i, name in ((1, "visits"), (2, "rows"))
    ] == [1, 1]
    assert out.count("<article") == 3
    assert "epsilon=0.75" in out
    page = tmp_path / "report.html"
    code, out, err = run(capsys, "report", books, "--out", page, "--name", "rows")
    assert (code, out, err) == (0, f"the report is written to {page}\n", "")
    text = page.read_text(encoding="utf-8")
    assert text.count("<article") == 1
    assert text.count('class="answer"') == 1
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    code, out, err = run(capsys, "report", books)  # where nobody says where
    assert (code, out, err) == (0, "the report is written to visits.dpledger.html\n", "")
    assert (tmp_path / "here" / "visits.dpledger.html").read_text(encoding="utf-8").count("<article") == 3


def test_report_says_what_is_wrong_and_leaves_the_page_as_it_was(capsys, books, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("old")
    code, out, err = run(capsys, "report", books, "--out", page, "--name", "nobody")
    assert (code, out) == (1, "")
    assert "no budget named 'nobody'" in err
    code, _, err = run(capsys, "report", books, "--out", tmp_path)
    assert (code, "not of a folder" in err) == (2, True)
    code, _, err = run(capsys, "report", books, "--out", tmp_path / "nowhere" / "report.html")
    assert (code, "No such file" in err) == (1, True)
    with sqlite3.connect(books) as connection:
        connection.execute("UPDATE entries SET price = 'epsilon=0.1' WHERE budget = 1 AND sequence = 2")
    connection.close()
    code, out, err = run(capsys, "report", books, "--out", page, "--name", "rows")
    assert (code, out, "damaged" in err) == (1, "", True)
    assert page.read_text() == "old"


def test_extend_raises_a_total_on_record(capsys, books):
    code, out, err = run(capsys, "extend", books, "--name", "visits", "--to", "5", "--reason", "the follow-up study")
    assert (code, err) == (0, "")
    assert (
        out
        == "visits: all answers together: epsilon=5, for one unit of 'pid' more or less, even if questions depend on "
        "earlier answers; spent epsilon=0.75; left epsilon=4.25\n"
    )
    again = run(capsys, "extend", books, "--name", "visits", "--to", "5", "--reason", "the follow-up study")
    assert again == (code, out, err)
    assert run(capsys, "verify", books)[1].startswith("visits: 4 entries")
    assert "extend: the follow-up study" in run(capsys, "export", books)[1]
    code, out, err = run(capsys, "extend", books, "--name", "rows", "--to-delta", "1e-5", "--reason", "more keys")
    assert (code, err) == (0, "")
    assert "epsilon=1, delta=1e-5" in out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--name", "visit", "--to", "5"], "the ledger knows no budget 'visit'; it has 'visits', 'rows'"),
        (["--name", "visits", "--to", "2"], "can only be raised"),
        (["--name", "visits", "--to", "much"], "--to needs a number: --to 5"),
        (["--name", "visits"], "extend needs the new total: --to 5, or --to-delta 1e-6"),
    ],
)
def test_extend_refuses_in_one_line(capsys, books, options, text):
    before = books.read_bytes()
    code, out, err = run(capsys, "extend", books, *options, "--reason", "because")
    assert (code, out) == (2, "")
    assert text in err
    assert err.count("\n") == 1
    assert books.read_bytes() == before

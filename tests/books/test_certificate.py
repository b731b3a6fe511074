"""The certificate: every release once, the session's own numbers, nothing of the data, no page about a damaged ledger."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from html import unescape
from importlib.resources import files
from itertools import pairwise
from types import SimpleNamespace

import pandas as pd
import pytest
from support.frames import fresh, people, protected
from support.pages import Page

import pandas_dp
from pandas_dp.books import certificate_contents, certificate_drawings
from pandas_dp.books import views as books
from pandas_dp.books.report import report
from pandas_dp.core import ledger
from pandas_dp.core.budget import Budget
from pandas_dp.core.filters import filter_for
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, LedgerBusyError, LedgerError
from pandas_dp.release.html import visible

KEYS = ["x", "y", "z"]


def answers(page: str) -> list[str]:
    """The scalars on a page."""
    return [unescape(text) for text in re.findall(r'<p class="answer">(.*?)</p>', page)]


def facts(page: Page) -> dict[str, str]:
    """Terms and what is said of each; of a term that comes again the last."""
    return dict(zip(page.texts["dt"], page.texts["dd"], strict=True))


@pytest.fixture
def asked():
    """A session that was asked all kinds of things, and its releases."""
    df = protected(epsilon=20_000, delta=1e-6, schema={"age": {"bounds": (0, 120)}}, table="visits", version="7")
    session = df.dp.session
    small = df[["age"]].copy()
    session.adopt(small, reason="one column of it", table="small")
    released = [
        df.dp(epsilon=100).count(),
        df.dp(epsilon=100).query("age > 40").groupby("city", keys=KEYS).size(),
        df.dp(epsilon=100).mode("sex", keys=["f", "m"]),
        df.dp(rho=1000).groupby("city", keys=KEYS).agg(n=("age", "count"), m=("age", "mean")),
        small.dp(epsilon=100).mean("age"),
    ]
    session.extend(to=20_001, reason="agreed")
    part = df.dp.allot("nightly", epsilon=100)
    released.append(part.dp(epsilon=50).count())
    return SimpleNamespace(frame=df, session=session, part=part, released=released, page=session.report())


def test_its_numbers_are_those_of_the_odometer(asked):
    page, session = Page(asked.page), asked.session
    spent, left = session.spent, session.left
    cells = page.texts["td"]
    for amount in (spent.epsilon, spent.delta, left.epsilon, left.delta):
        assert show(Fraction(amount)) in cells
    assert str(spent) in page.texts["dd"]
    assert left.partition("counted: ")[2] in unescape(asked.page)
    # a small number is written in one way, wherever it comes from
    assert not re.search(r"0\.0000|e-0", asked.page)
    assert "delta=1e-6" in asked.page
    assert spent.guarantee[1:] in unescape(asked.page)
    assert str(asked.part.dp.session.spent) in page.texts["dd"]


def test_every_entry_and_every_release_stands_on_it_once(asked):
    page = Page(asked.page)
    entries = asked.session.releases
    headings = page.texts["h4"]
    queries = [f"{n}. {q}" for n, q in enumerate(entries.loc[entries["kind"] == "query", "query"], 1)]
    assert headings == [*queries, "1. count()"]
    times = [text for text in page.texts["dd"] if ", entry " in text]
    asked_at = [s for s, k in zip(entries["sequence"], entries["kind"], strict=True) if k == "query"]
    assert [int(text.rpartition(" ")[2]) for text in times] == [*asked_at, 2]
    others = [row for row in page.texts["th"] if row.startswith("entry ")]
    kinds = ["entry 1, opened", "entry 2, vouched for", "entry 8, terms replaced", "entry 1, opened"]
    assert [row.rpartition(",")[0] for row in others] == kinds
    scalars = [r for r in asked.released if not isinstance(r, pd.Series | pd.DataFrame)]
    assert answers(asked.page) == [r._text() for r in scalars]
    assert len(page.all("svg")) == 3  # one vector, and a table of two columns
    vector = asked.released[1]
    for value in vector.table()["value"]:
        assert f"{value:,}" in page.texts["td"]


def test_it_begins_with_who_is_protected_by_how_much_what_was_published_and_what_is_not_covered():
    df = protected(epsilon=1, delta=1e-6, unit="pid", max_rows=3, name=fresh())
    page = Page(df.dp.session.report())
    told = facts(page)
    terms = page.texts["dt"]
    first = ["Who is protected", "By how much", "What was published", "What is not covered", "", "", "", "Please read"]
    at = terms.index("Who is protected")
    assert terms[at : at + len(first)] == first
    assert "all rows with the same value of it, taken together. At most 3 of them count" in told["Who is protected"]
    assert "about whether one 'pid' is in the table is limited" in told["Who is protected"]
    assert "by a factor of at most 2.72 (epsilon 1)" in told["By how much"]
    assert told["By how much"].endswith("With a probability of at most 1e-6 this may fail (delta).")
    assert told["What was published"] == "Nothing yet. Left: epsilon 1."
    df.dp(epsilon=1).count()
    page = Page(df.dp.session.report())
    assert facts(page)["What was published"].startswith(
        "1 question, with its answer below. Spent: epsilon 1 of 1. Left: "
    )


def test_what_is_used_up_is_said_in_words():
    df = protected(epsilon=1)
    df.dp(epsilon=1).count()
    page = Page(df.dp.session.report())
    assert facts(page)["What was published"].endswith("Spent: epsilon 1 of 1. Left: used up.")
    assert facts(page)["Left"] == "used up"
    assert "used up" in page.texts["td"]


def test_facts_that_the_owner_stated_are_told_in_words(asked):
    assert "age: bounds (0, 120)" in Page(asked.page).texts["td"]


@pytest.mark.parametrize("name", ["h.pdf", "h", "h.txt"])
def test_no_page_is_written_under_another_suffix(tmp_path, name):
    with pytest.raises(ArgumentValueError, match=r"saves as PDF: session\.report\('h\.html'\)"):
        protected(epsilon=1).dp.session.report(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_only_the_latest_releases_are_kept(monkeypatch):
    monkeypatch.setattr(books, "MOST_KEPT", 2)
    df = protected(epsilon=100)
    released = [df.dp(epsilon=1, fresh=True).count() for _ in range(3)]
    _, *questions = df.dp.session.report().split("<article")
    assert [answers(question) for question in questions] == [[], [released[1]._text()], [released[2]._text()]]


def test_of_many_questions_the_latest_stand_on_it(monkeypatch, tmp_path):
    monkeypatch.setattr(certificate_contents, "MOST_QUESTIONS", 3)
    path = tmp_path / "many visits.dpledger"
    df = protected(epsilon=100, ledger=path)
    few = df.dp.session.report()
    for _ in range(5):
        df.dp(epsilon=1, fresh=True).count()
    for place in range(3):
        df.dp.session._ledger.note(df.dp.session.name, "claim", f"note {place}")
    page = Page(df.dp.session.report())
    assert page.texts["h4"] == [f"{place}. count()" for place in (3, 4, 5)]
    assert [row.partition(",")[0] for row in page.texts["th"] if row.startswith("entry ")] == [
        "entry 7",
        "entry 8",
        "entry 9",
    ]
    line = "<code>pandas-dp ledger export &#x27;many visits.dpledger&#x27;</code>"
    told = f"<p>The latest 3 of {{count}} stand here. All of them: {line}.</p>"
    assert [told.format(count=count) in df.dp.session.report() for count in (5, 4)] == [True, True]
    assert "stand here" not in few
    assert "5 questions, with the answers of the latest 3 below. Spent: epsilon 5 of 100" in df.dp.session.report()


def test_the_head_is_that_of_the_ledger(asked):
    page = Page(asked.page)
    heads = asked.session._ledger.heads()
    name = asked.session.name
    assert page.texts["code"][0::2] == [heads[name], heads[f"{name}::nightly"]]
    assert facts(page)["Entries"] == "2"


def test_a_part_reports_itself(asked):
    page = Page(asked.part.dp.session.report())
    assert page.texts["h4"] == ["1. count()"]
    assert asked.released[-1]._text() in page.texts["p"]
    assert asked.session.name in facts(page)["Part of"]
    assert "What is assumed" in page.texts["h3"]


def test_vouched_frames_and_raised_totals_are_warned_of(asked):
    warned = " ".join(Page(asked.page).texts["li"])
    for text in ("One table was vouched for", "one column of it", "The total was raised", "The total is large"):
        assert text in warned
    assert "version 7" in asked.page
    assert "small (vouched)" in asked.page


HOSTILE = "<script>alert(1)</script>\"'&\u202e\ud800\x07"


def test_texts_of_others_are_escaped(tmp_path):
    column = HOSTILE.replace("\ud800", "")  # of which no column's name can consist
    df = people().rename(columns={"city": column})
    session = df.dp.protect(epsilon=10, name=f"<script>alert(1)</script>\"'& {fresh()}", table=HOSTILE, version=HOSTILE)
    small = df.copy()
    session.adopt(small, reason=HOSTILE)
    df.dp(epsilon=1).groupby(column, keys=[column, "x"]).size()
    session.extend(to=11, reason=HOSTILE)
    path = tmp_path / "report.html"
    assert session.report(path) is None
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.all("script") == []
    assert "<script" not in text
    assert not {"\u202e", "\x07"} & set(text)
    assert any("\\u202e\\ud800\\x07" in reason for reason in page.texts["td"])
    assert visible("a\nb") == "a\\nb"
    assert len(page.all("svg")) == 1  # its release was found under the name as the ledger writes it


ROWS = 4871
TOKENS = re.compile(r"token\d|row\d|secretlevel|7,?65\d|4,?87\d")


def leaks(page: str) -> list[str]:
    """Traces of the table of the next test outside of released numbers and of digests, which may hold any digits."""
    numbers = r'<p class="answer">.*?</p>|<figure>.*?</figure>|<td class="number">.*?</td>'
    return TOKENS.findall(re.sub(r"[0-9a-f]{32,}", "", re.sub(numbers, "", unescape(page))))


def test_nothing_of_the_data_but_released_values_is_on_it(monkeypatch):
    """Tokens in cells and labels, an unusual number of rows and unusual numbers: none appears."""
    monkeypatch.setattr(
        ledger, "_memory", []
    )  # a page names other budgets of its ledger, and other tests' may hold any digits
    df = pd.DataFrame(
        {
            "name": [f"token{i:05d}" for i in range(ROWS)],
            "pay": [7654321.125 + i for i in range(ROWS)],
            "kind": pd.Categorical(["a", "secretlevel"] * (ROWS // 2) + ["a"]),
        },
        index=[f"row{i:05d}" for i in range(ROWS)],
    )
    session = df.dp.protect(epsilon=5, name="sentinels on a certificate", schema={"pay": {"bounds": (0, 10)}})
    df.dp(epsilon=0.001).count()
    df.dp(epsilon=1).mean("pay")
    df.dp(epsilon=1).groupby("kind", keys=["a"]).size()
    df.dp(epsilon=1).sample_and_aggregate(partial(one, people()), bounds=(0, 2), blocks=10)
    session.adopt(df.copy(), reason="a copy")
    assert leaks(session.report()) == []
    session.adopt(
        df.copy(), reason=f"the {ROWS} rows of {df['name'].iloc[0]}"
    )  # the owner's own words are told as they are
    assert leaks(session.report()) == ["4871", "token0"] * 2  # in a warning and in the record


def one(held: pd.DataFrame, table: pd.DataFrame) -> float:
    """Something to ask of blocks, whose text as a partial function shows a whole table."""
    return 1.0


def test_no_page_is_made_about_a_damaged_ledger(tmp_path):
    path, out = tmp_path / "visits.dpledger", tmp_path / "report.html"
    df = people()
    session = df.dp.protect(epsilon=5, ledger=path, name="visits")
    df.dp(epsilon=2).count()
    out.write_text("the page of yesterday")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE entries SET query = 'sum(1)' WHERE sequence = 2")
    connection.close()
    with pytest.raises(LedgerError, match="damaged"):
        session.report(out)
    assert out.read_text() == "the page of yesterday"
    session._ledger.close()


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    session = protected(epsilon=5).dp.session
    out = tmp_path / "report.html"
    out.write_text("old")
    session.report(str(out))
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(ArgumentValueError, match="not of a folder"):
        session.report(tmp_path)
    with pytest.raises(ArgumentTypeError, match=r"session\.report\('report.html'\)"):
        session.report(3)
    with pytest.raises(OSError, match="No such file"):
        session.report(tmp_path / "nowhere" / "report.html")
    out.write_text("old")
    monkeypatch.setattr("os.replace", lambda *names: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        session.report(out)
    assert out.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_one_budget_or_all(tmp_path):
    path = tmp_path / "visits.dpledger"
    first, second = people(), people()
    for frame, name in ((first, "a"), (second, "b")):
        frame.dp.protect(epsilon=5, ledger=path, name=name)
    first.dp.allot("nightly", epsilon=1)
    ledger = open_ledger(path)
    assert Page(report(ledger, None, None)).texts["h2"] == [
        "In short: budget 'a'",
        "In short: budget 'b'",
        "Budget 'a'",
        "Budget 'a::nightly'",
        "Budget 'b'",
    ]
    alone = Page(report(ledger, "b", None))
    assert alone.texts["h2"] == ["In short", "Budget 'b'"]
    assert facts(alone)["Also in the ledger"].startswith("'a', 'a::nightly': ")
    with pytest.raises(LedgerError, match="no budget named 'c'"):
        report(ledger, "c", None)
    ledger.close()


def test_a_ledger_that_is_charged_meanwhile_is_read_again(monkeypatch):
    session = protected(epsilon=5).dp.session
    true, heads = session._ledger.heads(), iter(range(100))
    calls = [{**true, "other": "1"}, true, true, true]
    monkeypatch.setattr(session._ledger, "heads", lambda: calls.pop(0))
    assert true[session.name] in session.report()
    assert calls == []
    monkeypatch.setattr(session._ledger, "heads", lambda: {**true, "other": str(next(heads))})
    with pytest.raises(LedgerBusyError, match="ask for the report again"):
        session.report()


def test_a_closed_session_still_reports(asked):
    asked.session.close()
    assert asked.released[0]._text() in asked.session.report()


# --- what is warned of, by rule


PERSON = PrivacyUnit("pid", 2, 2, 2)


def warned(budget: Budget, unit: PrivacyUnit = PERSON) -> str:
    return " ".join(short for short, _ in certificate_contents.warnings(filter_for(budget), unit, [], []))


def test_the_rules_of_warnings():
    delta = Fraction(1, 10**6)
    assert warned(Budget.of(10, delta)) == "Rows may be left out of answers"
    ((_, full),) = certificate_contents._of_terms(filter_for(Budget.of(1)), PrivacyUnit("pid", 1))
    assert (
        "In counts of rows, of each 'pid' at most 1 row counts; sums and means limit what all its rows add up to"
        in full
    )
    assert "left out" not in warned(Budget.of(1), PrivacyUnit())
    assert "The total is large: epsilon=10.01" in warned(Budget.of(Fraction("10.01")))
    assert "Delta is large" not in warned(Budget.of(1, Fraction(999, 10**6)))
    assert "Delta is large: delta=0.001" in warned(Budget.of(1, Fraction(1, 1000)))
    assert "not on a proof alone" in warned(Budget.of(1, delta, 0, "gdp"))
    assert "Rows are protected" in warned(Budget.of(1), PrivacyUnit())
    replaced = PrivacyUnit("pid", 2, 2, 2, NeighboringRelation.REPLACE_ONE)
    assert "Presence is not hidden" in warned(Budget.of(1), replaced)
    answers = [SimpleNamespace(assumes=text) for text in ("a total order", None, "a total order")]
    found = certificate_contents.of_uses([], answers)
    assert found == [("An answer rests on an assumption", "The guarantee of an answer below assumes a total order.")]


def test_each_sentence_of_warning_is_said_of_something():
    budgets = [Budget.of(11), Budget.of(3, Fraction(1, 100)), Budget.of(3, Fraction(1, 10**6), 0, "gdp")]
    units = [PrivacyUnit(), PERSON, PrivacyUnit(relation=NeighboringRelation.REPLACE_ONE)]
    kinds = ("adopt", "claim", "carried", "outside", "restored", "amend")
    entries = [
        ledger.LedgerEntry(
            i, datetime.now(UTC), kind, "extend: {why}" if kind == "amend" else "{why}", "epsilon=1", None, False
        )
        for i, kind in enumerate(kinds)
    ]
    answers = [SimpleNamespace(assumes="{a} total order")]
    found = [
        both
        for budget in budgets
        for unit in units
        for both in certificate_contents.warnings(filter_for(budget), unit, entries, answers)
    ]
    assert len({full for _, full in found}) == len(certificate_contents.WORDS["warning"])
    assert all("{why}" in full for short, full in found if "Answers were given that" in short)


@pytest.mark.parametrize(
    ("epsilon", "told"), [(11, "59,900"), (20, "4.86e+8"), (10**6, "3.04e+434294")], ids=["11", "20", "largest"]
)
def test_the_factor_of_a_large_epsilon(epsilon, told):
    (_, full), _ = certificate_contents._of_terms(filter_for(Budget.of(epsilon)), PrivacyUnit("pid", 1))
    assert f"e^epsilon = {told} times" in full


def test_each_accountant_names_its_theorem():
    names = {
        "hybrid": "hybrid filter",
        "rdp": "Rényi differential privacy",
        "zcdp": "Zero-concentrated",
        "gdp": "Gaussian differential privacy",
    }
    delta = Fraction(1, 10**6)
    for accountant, name in names.items():
        reserved = 0 if accountant == "gdp" else None
        assert (
            name
            in certificate_contents.theorem(filter_for(Budget.of(1, delta, reserved, accountant)), PrivacyUnit())[0]
        )
    assert "Pure" in certificate_contents.theorem(filter_for(Budget.of(1)), PrivacyUnit())[0]
    planned = Budget.of(3, delta).planned(((Fraction(1, 10), 5),))
    assert "declared beforehand" in certificate_contents.theorem(filter_for(planned), PrivacyUnit())[0]


@pytest.mark.parametrize(
    "terms", [{"plan": {0.1: 5}}, {"accountant": "zcdp"}, {"accountant": "gdp"}, {"neighbors": "replace_one"}]
)
def test_every_kind_of_budget_has_a_page(terms):
    delta = {} if "neighbors" in terms else {"delta": 1e-6}
    df = protected(epsilon=3, **delta, **terms)
    df.dp(**({"rho": 0.01} if terms.get("accountant") == "gdp" else {"epsilon": 0.1})).count()
    page = Page(df.dp.session.report())
    assert str(df.dp.session.spent) in page.texts["dd"]


# --- for whoever cannot see it, or reads it elsewhere


def test_headings_tables_and_drawings_are_accessible(asked):
    page = Page(asked.page)
    assert page.all("html")[0]["lang"] == "en"
    assert page.texts["title"][0].startswith("Privacy certificate of ")
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(head["scope"] in ("col", "row") for head in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table")) == asked.page.count("<table")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for drawing in page.all("svg"):
        assert drawing["role"] == "img"
        assert set(drawing["aria-labelledby"].split()) <= set(ids)
    assert len(page.all("desc")) == len(page.all("svg"))


def test_it_fetches_nothing_and_runs_nothing(asked):
    page = Page(asked.page)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & {
        tag for tag, _ in page.elements
    }
    for _, attributes in page.elements:
        assert not {"src", "href", "srcset", "data"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    style = asked.page.split("<style>")[1].split("</style>")[0]
    assert not re.search(r"url\(|@import|@font-face|http", style)
    assert {"default-src 'none'; style-src 'unsafe-inline'"} == {
        m["content"] for m in page.all("meta") if "http-equiv" in m
    }


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


STYLE = files("pandas_dp.books").joinpath("certificate.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--(\w+): (#\w{6});", block)) for block in re.findall(r":root \{([^{}]*--paper[^{}]*)\}", STYLE)
)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        ("ink", "paper"),
        ("ink", "panel"),
        ("ink", "warned"),
        ("muted", "paper"),
        ("warning", "warned"),
        ("warning", "paper"),
    ],
)
def test_texts_stand_out_from_their_ground(theme, ink, paper):
    """WCAG 2.2, level AA: 4.5 to 1."""
    low, high = sorted((luminance(theme[ink]), luminance(theme[paper])))
    assert (high + 0.05) / (low + 0.05) >= 4.5


# --- drawings


def test_the_package_names_it():
    assert "report" in dir(pandas_dp.Session)


def test_a_prompt_shows_a_page_in_one_line(asked):
    assert repr(asked.page) == (
        f"<certificate, {len(asked.page):,} characters of HTML; session.report('report.html') writes it, print() shows it>"
    )
    assert str(asked.page).startswith("<!DOCTYPE html>")


def test_labels_below_the_bars_tell_months_apart():
    """Labels that are cut are cut at the end which leaves more of them different."""
    days, months = pd.date_range("2023-01-01", periods=12, freq="MS"), pd.period_range("2023-01", periods=12, freq="M")
    words = [f"{letter}-a long name of a ward" for letter in "abcdefghijkl"]
    for labels in ([str(day.date()) for day in days], [*map(str, months)], words):
        drawn = re.findall(r">([^<]*)</text>", certificate_drawings._labels(labels))
        assert len(drawn) == len(set(drawn)) == 12
        assert all("…" in label for label in drawn)
    assert drawn[0] == "a-a l…"
    df = protected(pd.DataFrame({"date": pd.to_datetime(["2023-01-05", "2023-02-11"] * 200)}))
    answer = df.dp(epsilon=1).groupby("date", bins=months).size()
    assert answer.size == 12
    drawn = re.findall(r'text-anchor="middle">([^<]*)</text>', str(df.dp.session.report()))
    assert len(drawn) == len(set(drawn)) == 12


def test_a_budget_of_rhos_tells_what_is_left_as_rho(tmp_path):
    """Spent 2.49 of 5.24, left 2.76: epsilons of zCDP are no difference of each other. The statement had no rho."""
    df = people()
    session = df.dp.protect(rho=0.5, name=fresh())
    assert facts(Page(str(session.report())))["What was published"] == "Nothing yet. Left: rho 0.5."
    df.dp(rho=0.1).count()
    df.dp(rho=0.2).count("age")
    page = session.report()
    assert facts(Page(str(page)))["What was published"].endswith(
        "Spent: rho 0.3 (epsilon 5.2) of about 0.5 (epsilon 6.85558). Left: rho 0.2."
    )
    assert "as rho, below" in str(page)
    session.report(tmp_path / "told.json")
    told = json.loads((tmp_path / "told.json").read_text("utf-8"))["budgets"][0]
    assert 0 <= Fraction(told["total"]["rho"]) - Fraction("0.5") < Fraction("1e-5")
    assert Fraction(told["total"]["rho"]) == session._rule.limit
    assert told["spent"]["rho"] == "3/10"

"""The record of a budget: short on a screen, in full by its columns."""

from __future__ import annotations

import re
from html import escape

import pandas as pd
from support.frames import protected

from pandas_dp.books.views import ALL, Books


def asked():
    df = protected(epsilon=3)
    rows = df.dp(epsilon=0.5).query("age >= 18 and sex == 'f' and pay > 100")
    rows.groupby("city", keys=["x", "y", "z"])["pay"].mean(bounds=(0, 5000))
    df.dp(epsilon=0.1).count()
    return df.dp.session.releases


def test_it_prints_one_short_line_for_each_entry():
    books = asked()
    head, *entries, _, _, last = repr(books).splitlines()
    assert head.split() == ["time", "kind", "price", "query"]
    assert len(entries) == len(books) == 3
    assert max(map(len, [head, *entries])) < 120
    assert last == ALL
    assert entries[1].split()[3:5] == ["query", "epsilon=0.5"]
    assert 'query("age >= 18' in entries[1]
    assert entries[1].endswith("(bounds=(0, 5000))")
    assert entries[2].endswith("count()")
    html = books._repr_html_()
    assert html.count("<tr") == 4
    assert "&gt;= 18" in html
    assert "(bounds=(0, 5000))" in html


def test_terms_stand_below_in_full():
    df = protected(epsilon=4, delta=1e-5, unit="pid", max_rows=3, max_groups=2)
    session = df.dp.session
    df.dp(epsilon=0.1).count()
    session.extend(to=6, reason="another year, <b>agreed</b> with the board of the hospital and with both of its wards")
    books, full = session.releases, []
    for entry in (books.iloc[0], books.iloc[2]):
        full.append(f"{entry.sequence} {entry.kind}: {entry.price}, {entry.query}")
        assert "reserved=1e-6, accountant='hybrid'" in full[-1]
    assert "max_rows=3, max_groups=2, max_rows_per_group=3, neighbors='add_remove'" in full[0]
    lines = repr(books).splitlines()
    assert " ".join(" ".join(lines[4:-1]).split()) == " ".join(full)
    assert max(map(len, lines)) <= 120
    assert lines[1].endswith("unit='pid', max_rows=3, max_groups=2, ...")
    assert "epsilon=4, delta=1e-5, ..." in lines[1]
    html = books._repr_html_()
    assert all(escape(text) in html for text in full)
    assert "<b>" not in html
    assert "<td>" not in html  # texts begin at the left
    for total in range(7, 30):
        session.extend(to=total, reason="more")
    told = [line for line in repr(session.releases).splitlines() if re.match(r"\d+ (open|amend): ", line)]
    assert [line.split()[0] for line in told] == ["1", "23", "24", "25", "26"]


def test_columns_are_full_and_what_is_made_of_it_is_plain():
    books = asked()
    assert books["query"][1].startswith(
        "query(\"age >= 18 and sex == 'f' and pay > 100\").groupby('city', keys=['x', 'y', 'z'])"
    )
    assert books["query"][1] in books.to_string()
    assert list(books.columns) == ["sequence", "time", "kind", "query", "price"]
    for plain in (books.copy(), books[books.kind == "query"], books.head(1)):
        assert type(plain) is pd.DataFrame
    books["more"] = 1
    assert repr(books) == repr(pd.DataFrame(books))
    assert "more" in books._repr_html_()


def test_many_entries_are_cut_as_pandas_cuts_them():
    rows = [(i, pd.Timestamp("2020-01-01"), "query", "count()", "epsilon=1") for i in range(500)]
    books = Books(rows, columns=["sequence", "time", "kind", "query", "price"])
    assert len(repr(books).splitlines()) < 70
    assert repr(Books([], columns=list(books.columns))).endswith(ALL)

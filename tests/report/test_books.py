"""The record of a budget: short on a screen, in full by its columns."""

from __future__ import annotations

import pandas as pd
from support.frames import protected

from pandas_dp.report.books import ALL, Books


def asked():
    df = protected(epsilon=3)
    rows = df.dp(epsilon=0.5).query("age >= 18 and sex == 'f' and pay > 100")
    rows.groupby("city", keys=["x", "y", "z"])["pay"].mean(bounds=(0, 5000))
    df.dp(epsilon=0.1).count()
    return df.dp.session.releases


def test_it_prints_one_short_line_for_each_entry():
    books = asked()
    head, *entries, last = repr(books).splitlines()
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

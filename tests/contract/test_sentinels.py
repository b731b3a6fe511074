"""Nothing of the data leaves beside the release: a table full of recognisable cells, and everything that can be seen.

Cells are random texts and numbers of many digits; the number of rows is one that nothing else has. Texts of every kind are
searched for all of them, those without answers also for the number of rows. A release is noisy, so it may show any number.
"""

from __future__ import annotations

import copy
import io
import logging
import pickle
import re
import secrets
import sqlite3
import traceback
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh
from support.questions import EVERY, FOUND, KEYS, STREAMS

import pandas_dp
from pandas_dp.books.views import Books

ROWS = 7919
MARK = "q7x"  # in every token: what is searched for
LISTING = ("unique by column", "means of found combinations")  # costs and ages, openly
ASKED = EVERY | {name: ask for name, ask in FOUND.items() if name not in LISTING}
DIGITS = "123456"  # after the point of every number


def marked() -> pd.DataFrame:
    """The columns of the shared questions, full of tokens where texts stand, and one column more."""
    n = np.arange(ROWS)
    tokens = np.array([MARK + secrets.token_hex(16) for _ in range(ROWS)], dtype=object)
    listed = np.array(KEYS, dtype=object)
    return pd.DataFrame(
        {
            "uid": np.repeat(tokens[: ROWS // 2 + 1], 2)[:ROWS],
            "cost": n % 101 + float("0." + DIGITS),
            "age": 20 + n % 60 + float("0." + DIGITS),
            "ward": np.where(n % 3 == 0, tokens, listed[n % 3]),
            "to": np.where(n % 4 == 0, tokens, listed[n % 3]),
            "wait": pd.to_timedelta(n % 60, unit="min") + pd.Timedelta("0.123456ms"),
            "day": pd.Timestamp("2013-01-01") + pd.to_timedelta(n % 59, unit="D") + pd.Timedelta("0.123456ms"),
            "note": tokens,
        },
        index=pd.Index(tokens, name="who"),
    )


def seen_in(error: BaseException) -> Iterator[str]:
    """Everything that an error carries: its texts, its chain, and the locals of the package's frames."""
    yield from (str(error), repr(error), *map(repr, error.args), *getattr(error, "__notes__", ()))
    if error.__context__ is not None:
        yield from seen_in(error.__context__)
    yield "".join(traceback.format_exception(error))
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "pandas_dp" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename:
            yield from map(repr, frame.f_locals.values())


def shown(release: object) -> Iterator[str]:
    """Everything that a release shows or hands on."""
    yield from (repr(release), str(release), repr(dir(release)))
    if not hasattr(release, "ask"):  # a stream cannot be pickled
        yield from (repr(getattr(release, "__dict__", {})), repr(pickle.dumps(release)))
    yield from (getattr(release, name)() for name in ("_repr_html_", "to_json") if hasattr(release, name))
    yield repr(getattr(release, "attrs", {}))


def clean(texts: Iterator[str] | list[str], without_answers: bool = False) -> None:
    """Fail on a token, on the digits of a cell, and where no answer is shown on the number of rows."""
    for text in texts:
        assert MARK not in text
        assert not re.search(rf"\d\.{DIGITS}(?!\d{{6}})", text), text[:200]
        if without_answers:
            assert not re.search(rf"(?<![\d.]){ROWS // 1000},?{ROWS % 1000}(?!\d)", text), text[:200]


@pytest.fixture
def watched(tmp_path, capfd):
    """A protected table of tokens; what was printed, logged and warned while the test ran is searched as well."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    frame = marked()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame.dp.protect(
            epsilon=1000, delta=0.5, unit="uid", max_rows=2, ledger=tmp_path / "visits.dpledger", name=fresh()
        )
        yield frame
    logging.getLogger().removeHandler(handler)
    printed = capfd.readouterr()
    clean([printed.out, printed.err, stream.getvalue(), *(str(warning.message) for warning in caught)], True)


def test_the_search_finds_what_it_looks_for():
    frame = marked()
    for text in (repr(frame), repr(frame["cost"].iloc[0]), f"{frame.cost.iloc[7]:.6f} kg", frame["uid"].iloc[3]):
        with pytest.raises(AssertionError):
            clean([text])
    for text in ("7919 rows", f"{len(frame):,}", f"n={len(frame)}"):
        with pytest.raises(AssertionError):
            clean([text], True)
    clean(["1.2345", "0.79191", "17919"], True)


@pytest.mark.one_in(30)
@pytest.mark.parametrize("name", ASKED)
def test_no_answer_and_no_preview_shows_a_cell(name, watched):
    ask = ASKED[name]
    price = {"epsilon": 1, "delta": 1e-15} if name in FOUND else {"epsilon": 1}
    offered = watched.dp(**price)
    try:
        release = ask(offered)
    except pandas_dp.PandasDPError as error:  # some need a number of rows that is public
        clean(seen_in(error), True)
        return
    clean(shown(release))
    if name in STREAMS:
        clean(shown(release.ask("ward == 'A'")))
    asked = ask(watched.dp.preview(**price))
    clean([repr(asked), str(asked), asked._repr_html_() if hasattr(asked, "_repr_html_") else ""], True)


def test_nothing_around_the_table_shows_a_cell(watched, tmp_path):
    priced = watched.dp(epsilon=1)
    priced.count("cost")
    priced.value_counts("ward", keys=KEYS)
    session = watched.dp.session
    held = [
        session,
        watched.dp,
        priced,
        priced["cost"],
        priced.groupby("ward", keys=KEYS),
        watched.dp.preview(epsilon=1),
    ]
    for one in [*held, watched.attrs]:
        clean([repr(one), str(one), repr(dir(one)), getattr(one, "_repr_html_", str)()], True)
    books = session.releases
    assert isinstance(books, Books)
    clean([repr(books), books.to_csv(), books.to_json()], True)
    clean([repr(table) for table in session._tables.by_name.values()], True)
    for one in held:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(one)
        with pytest.raises(TypeError, match="cannot be pickled"):
            copy.copy(one)
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert MARK.encode() not in content
        assert f"0.{DIGITS}".encode() not in content
    with sqlite3.connect(tmp_path / "visits.dpledger") as connection:
        stored = [
            row
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for row in connection.execute(f'SELECT * FROM "{table}"')
        ]
    connection.close()
    clean([repr(row) for row in stored])


FAILURES = {
    "beyond the budget": lambda d: d.dp(epsilon=10**5).count(),
    "a copy": lambda d: d.copy().dp(epsilon=1).count(),
    "filtered by hand": lambda d: d[d.cost > 50].dp(epsilon=1).count(),
    "no bounds": lambda d: d.dp(epsilon=1).mean("cost"),
    "no keys": lambda d: d.dp(epsilon=1).histogram("ward"),
    "sum of texts": lambda d: d.dp(epsilon=1).sum("note", bounds=(0, 1)),
    "another row": lambda d: d.dp(epsilon=1).query("cost > cost.mean()").count(),
    "pandas' own mean": lambda d: d.dp(epsilon=1).assign(x=lambda t: t.cost / t.cost.max()).count(),
    "unknown column": lambda d: d.dp(epsilon=1).count("costs"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_no_refusal_shows_a_cell(name, watched):
    with pytest.raises(pandas_dp.PandasDPError) as caught:
        FAILURES[name](watched)
    clean(seen_in(caught.value), True)


def test_a_failure_after_the_charge_shows_nothing(watched, monkeypatch):
    """What pandas, numpy and Arrow say of cells is in the exceptions that the guard catches; here one is made to say it."""

    def fails(self, name):
        cells = self._frame[name].tolist()
        logging.getLogger(__name__).debug("reading a column")
        warnings.warn(f"strange cell {self._frame['note'].iloc[0]}", RuntimeWarning, stacklevel=1)
        raise ValueError(f"could not convert {self._frame['note'].iloc[0]} {cells[0]} of {len(cells)}")

    monkeypatch.setattr("pandas_dp.engines.pandas.PandasView.column", fails)
    with pytest.raises(pandas_dp.QueryFailedError) as caught:
        watched.dp(epsilon=1).sum("cost", bounds=(0, 200))
    clean(seen_in(caught.value), True)
    assert "1" in watched.dp.session.spent

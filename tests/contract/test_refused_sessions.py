"""A frame whose protect(...) was refused is answered by nobody: an implicit session has other terms than were typed."""

from __future__ import annotations

import pytest
from support import interpreter
from support.frames import fresh, protected

from pandas_dp import LedgerError

HEAD = """
import warnings, pandas as pd, pandas_dp
from pathlib import Path
warnings.simplefilter("error")
df = pd.DataFrame({"pid": [1, 1, 2] * 100, "x": [1.0, 2.0, 3.0] * 100})
def refused(act):
    try:
        act()
    except pandas_dp.PandasDPError as error:
        return f"{type(error).__name__}: {error}"
    raise SystemExit("not refused")
def nobody(act):
    text = refused(act)
    assert text.startswith("NoSessionError") and "df.dp.protect(epsilon=3, unit=" in text, text
"""
WAYS = {
    "a misspelt unit": "lambda: df.dp.protect(epsilon=3, unit='pidd', max_rows=10)",
    "no total": "lambda: df.dp.protect()",
    "a misspelt argument": "lambda: df.dp.protect(epsilom=3)",
    "a unit without a bound": "lambda: df.dp.protect(epsilon=3, unit='pid')",
    "a damaged ledger": "lambda: df.dp.protect(epsilon=3, ledger=str(damaged))",
    "a wrong schema": "lambda: df.dp.protect(epsilon=3, schema={'y': {}})",
    "no session": "lambda: df.dp.protect(session=3)",
}
FIRST = """
refused({act})
assert not hasattr(df.dp, "session")
for act in (
    lambda: df.dp(epsilon=0.5).count(),
    lambda: df.dp(epsilon=0.5).query("x > 1").mean("x", bounds=(0, 5)),
    lambda: df.dp.preview(epsilon=0.5).count(),
    lambda: df.dp.query("x > 1"),
    lambda: df.dp.assign(y=1),
    lambda: df.dp.allot("part", epsilon=1),
    lambda: df.dp.partition("x", [1, 2], epsilon=1),
    lambda: df.dp(epsilon=1).above_threshold(10),
    lambda: df.dp.pipe(pandas_dp.query(epsilon=0.5).count()),
    lambda: df[df.x > 1].dp(epsilon=0.5).count(),
    lambda: df.copy().dp(epsilon=0.5).count(),
):
    nobody(act)
    assert not hasattr(df.dp, "session")
session = df.dp.protect(epsilon=3, unit="pid", max_rows=10)
df.dp(epsilon=1).count()
assert session.spent == "epsilon=1" and session.unit.column == "pid"
"""


@pytest.mark.parametrize("way", WAYS)
def test_no_implicit_session_after_a_refused_protect(way, tmp_path):
    damaged = tmp_path / "damaged.dpledger"
    damaged.write_text("no ledger\n")
    done = interpreter.run(f"{HEAD}\ndamaged = Path({str(damaged)!r})\n{FIRST.format(act=WAYS[way])}")
    assert done.returncode == 0, done.stderr


LATER = """
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    df.dp(epsilon=0.5).count()
kept, part = df.dp.query("x > 1"), df.dp.allot("part", epsilon=1)
refused(lambda: df.dp.protect(epsilon=3, unit="pidd", max_rows=10, name="visits"))
for frame in (df, kept, part):
    nobody(lambda: frame.dp(epsilon=0.5).count())
    nobody(lambda: frame.dp.preview(epsilon=0.5).count())
    nobody(lambda: frame.dp.query("x > 1"))
df.dp.session.close()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    session = df.dp.protect(epsilon=3, unit="pid", max_rows=10, name="visits")
assert "came before this budget" in str(seen[0].message)
df.dp(epsilon=1).count()
assert session.spent == "epsilon=1"
"""


def test_an_implicit_session_waits_for_the_corrected_protect():
    done = interpreter.run(HEAD + LATER)
    assert done.returncode == 0, done.stderr


SAME = """
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    df.dp(epsilon=0.5).count()
refused(lambda: df.dp.protect(epsilon=3, unit="pidd", max_rows=10))
nobody(lambda: df.dp(epsilon=0.5).count())
df.dp.protect(epsilon=5)
df.dp(epsilon=0.25).count()
assert df.dp.session.spent == "epsilon=0.75"
"""


def test_protecting_on_the_terms_of_the_implicit_session_goes_on():
    done = interpreter.run(HEAD + SAME)
    assert done.returncode == 0, done.stderr


def test_a_session_on_stated_terms_stays():
    df = protected(epsilon=3, name=(name := fresh()))
    df.dp(epsilon=1).count()
    with pytest.raises(LedgerError):
        df.dp.protect(epsilon=2, name=name)
    df.dp(epsilon=1, fresh=True).count()
    assert df.dp.session.spent == "epsilon=2"

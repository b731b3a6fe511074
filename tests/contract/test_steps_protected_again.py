"""A frame that steps made and that is protected again, under a version or with other columns: the steps stay on record."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
import pandas_dp.dask
from pandas_dp import ArgumentValueError

STEP = "query('age > 40')"
SURE = 10**5  # at this epsilon a count is off with probability 2 exp(-10**5)


def people():
    return pd.DataFrame({"age": [31, 45, 62, 70] * 25, "ward": ["A", "B"] * 50})


def opened(**terms):
    df = people()
    return df, df.dp.protect(**({"epsilon": 10 * SURE, "name": fresh()} | terms))


def a_version(made, session):
    made.dp.protect(session=session, table="old", version="1")


def another_column(made, session):
    made["new"] = 1
    made.dp.protect(session=session)


def adopted(made, session):
    session.adopt(made, reason="rows by their own age")


def other_terms(made, session):
    """Protected on, after another object replaced the terms."""
    other = people()
    with pytest.warns(UserWarning, match="replaces the terms"):
        other.dp.protect(epsilon=9 * SURE, name=session.name)
    made.dp.protect(session=session)


@pytest.mark.parametrize("again", [a_version, another_column, adopted, other_terms])
def test_all_texts_say_the_steps(again):
    df, session = opened()
    made = df.dp.query("age > 40")
    again(made, session)
    answer = made.dp(epsilon=SURE).count()
    assert answer == 75
    then = made.dp.query("age < 65").dp(epsilon=SURE).count()
    assert then == 50
    told = [f"{STEP}.count()", f"{STEP}.query('age < 65').count()"]
    assert [str(answer.query), str(then.query)] == told
    assert session.releases["query"].tolist()[-2:] == told
    report = html.unescape(session.report())
    assert all(text in report for text in told)


def test_steps_are_part_of_what_a_version_of_them_means(tmp_path):
    """A program that is changed and keeps its version got what was answered about the rows of other steps."""
    ledger, told = tmp_path / "a.dpledger", []
    for least in (40, 40, 65):
        df, session = opened(ledger=ledger, name="nightly")
        made = df.dp.query(f"age > {least}")
        made.dp.protect(session=session, table="old", version="1")
        answer = made.dp(epsilon=SURE).count()
        told.append((int(answer), str(answer.query)))
        spent = session.spent
        session.close()
    assert told == [(75, "query('age > 40').count()")] * 2 + [(25, "query('age > 65').count()")]
    assert spent == f"epsilon={2 * SURE}"


def test_a_part_of_other_steps_under_a_version_is_paid_for(tmp_path):
    """A row would be in two parts that were paid for once."""
    ledger = tmp_path / "a.dpledger"
    for order in ("AB", "BA", "AB"):
        df, session = opened(ledger=ledger, name="nightly")
        made = df.dp.assign(ward=lambda d, order=order: d.ward.map(dict(zip("AB", order, strict=True))))
        made.dp.protect(session=session, table="old", version="1")
        made.dp.partition("ward", ["A", "B"], epsilon=1)
        spent = session.spent
        session.close()
    assert spent == "epsilon=2"


def test_one_version_means_the_steps_that_were_protected_first_under_it():
    df, session = opened()
    for least in (40, 65):
        made = df.dp.query(f"age > {least}")
        made.dp.protect(session=session, table="old", version="1")
    answer = made.dp(epsilon=SURE).count()
    assert (answer, str(answer.query)) == (75, f"{STEP}.count()")
    assert "this frame stands for version '1'" in answer.notes[0]


def test_facts_are_those_after_the_steps():
    """Of a column that a step replaced nobody said what the one before had."""
    df, session = opened(schema={"age": {"bounds": (0, 100)}})
    made = df.dp.assign(age=lambda d: d.age * 1000)
    made.dp.protect(session=session, table="old", version="1")
    with pytest.raises(pandas_dp.ArgumentTypeError, match="bounds"):
        made.dp(epsilon=1).mean("age")


def test_the_step_to_a_period_stays_too():
    df = people().assign(at=np.resize(pd.to_datetime(["2026-01-05", "2026-02-05"]), 100), pid=np.arange(100))
    session = df.dp.protect(epsilon=SURE, unit="pid", max_rows=1, period="M", time="at", name=fresh())
    made = df.dp.period("2026-01")
    made.dp.protect(session=session, table="january", version="1")
    assert made.dp(epsilon=SURE).count() == 50
    assert session.left.period("2026-02").epsilon == SURE


def test_rows_that_lists_made_are_units_of_nobody():
    """On terms for rows each would have counted as somebody of its own."""
    df = pd.DataFrame({"pid": [1, 2], "tags": [["a", "b"], ["c"]]})
    session = df.dp.protect(epsilon=1, unit="pid", max_rows=2, name=(name := fresh()))
    made = df.dp.explode("tags", max=2)
    with pytest.warns(UserWarning, match="replaces the terms"):
        pd.DataFrame({"x": [1]}).dp.protect(epsilon=2, name=name)
    made.dp.protect(session=session)
    with pytest.raises(ArgumentValueError, match="explode turns one row into several"):
        made.dp(epsilon=1).count()
    assert session.spent == "epsilon=0"


def test_a_number_of_rows_is_not_that_of_what_a_filter_left():
    """Under replace_one a row that changes may come or go there."""
    df, session = opened(neighbors="replace_one")
    made = df.dp.query("age > 40")
    made.dp.protect(session=session, table="old", version="1", rows=75)
    assert made.dp(epsilon=SURE).count() == 75
    assert session.spent == f"epsilon={SURE}"


@pytest.mark.parametrize("scan", ["files", "Dask"])
def test_scans_have_them_once(scan, tmp_path):
    people().to_parquet(tmp_path / "a.parquet")
    if scan == "files":
        table = pandas_dp.scan_parquet(tmp_path / "a.parquet")
    else:
        dd = pytest.importorskip("dask.dataframe")
        table = dd.from_pandas(people(), npartitions=2)
    session = table.dp.protect(epsilon=10 * SURE, name=fresh())
    made = table.dp.query("age > 40")
    made.dp.protect(session=session, table="old", version="1")
    answer = made.dp(epsilon=SURE).count()
    assert (answer, str(answer.query)) == (75, f"{STEP}.count()")

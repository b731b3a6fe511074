"""``pandas_dp.open_session``: the terms on record, nothing new, and what to type where there is nothing to join."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from support.frames import people

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, LedgerError

TERMS = {"unit": "pid", "max_rows": 4, "max_groups": 2, "neighbors": "replace_one", "delta": 1e-6}


@pytest.fixture
def ledger(tmp_path):
    """A ledger with one budget, "visits", of which a half is spent; its session is closed."""
    path, df = tmp_path / "visits.dpledger", people()
    session = df.dp.protect(epsilon=2, name="visits", ledger=path, **TERMS)
    df.dp(epsilon=0.5).count()
    session.close()
    yield path
    session._ledger.close()


def test_the_terms_are_those_on_record(ledger):
    session = pandas_dp.open_session(ledger, "visits")
    assert pandas_dp.open_session(str(ledger), name="visits") is session
    assert (session.budget.epsilon, session.budget.delta) == (2, Fraction(1, 10**6))
    assert str(session.unit) == "all rows of one 'pid' (uses at most 4 of them, in at most 2 groups, at most 4 in each)"
    assert (session.unit.groups, session.unit.relation) == (2, "replace_one")
    assert "epsilon=0.5" in session.spent
    df = people()
    assert df.dp.protect(session=session) is session
    assert df.dp.protect(epsilon=2, name="visits", ledger=ledger, **TERMS) is session
    df.dp(epsilon=0.25).count()
    assert "epsilon=0.75" in session.spent
    session.close()
    again = pandas_dp.open_session(ledger, "visits")
    assert again is not session
    assert again.spent != "epsilon=0"
    again.close()


def test_the_number_of_rows_is_not_public_on_a_joined_session(tmp_path):
    owner, worker = people(), people()
    session = owner.dp.protect(epsilon=2, neighbors="replace_one", rows=True, ledger=tmp_path / "rows.dpledger")
    assert owner.dp(epsilon=1).count() == 8
    session.close()
    worker.dp.protect(session=pandas_dp.open_session(tmp_path / "rows.dpledger"))
    worker.dp(epsilon=0.5).count()
    assert worker.dp.session.spent == "epsilon=0.5"
    worker.dp.session._ledger.close()


def test_a_total_that_was_raised_is_the_total(ledger):
    first = pandas_dp.open_session(ledger, "visits")
    first.extend(to=3, reason="a second year")
    first.close()
    assert pandas_dp.open_session(ledger, "visits").budget.epsilon == 3


@pytest.mark.parametrize(
    ("path", "name", "error", "said"),
    [
        ("nothing.dpledger", "data", LedgerError, r"makes none.*df\.dp\.protect\(epsilon=3, ledger='nothing.dpledger'"),
        ("no/folder.dpledger", "data", LedgerError, "the folder .*no' does not exist"),
        ("visits.dpledger", "visit", LedgerError, r"no budget named 'visit'; did you mean 'visits'\?.*name='visits'\)"),
        (
            "visits.dpledger",
            "data",
            LedgerError,
            r"holds 'visits': pandas_dp\.open_session\('visits.dpledger', name='visits'\)",
        ),
        ("visits.dpledger", "visits::nightly", ArgumentValueError, r"name='visits'.*df\.dp\.allot\('nightly'"),
        ("visits.dpledger", "", ArgumentTypeError, "name must be text"),
        ("visits.dpledger", 3, ArgumentTypeError, "name must be text"),
    ],
)
def test_what_is_not_there_is_never_made(ledger, path, name, error, said):
    entries = pandas_dp.open_session(ledger, "visits").releases
    with pytest.raises(error, match=said):
        pandas_dp.open_session(ledger.parent / path, name)
    assert list(ledger.parent.iterdir()) == [ledger]
    pd.testing.assert_frame_equal(pandas_dp.open_session(ledger, "visits").releases, entries)


@pytest.mark.parametrize("arguments", [(), (None,), (3,), ("a", "b", "c")])
def test_arguments_that_do_not_fit_are_told_the_line(arguments):
    with pytest.raises(ArgumentTypeError, match=r"visits\.dpledger"):
        pandas_dp.open_session(*arguments)


def test_other_terms_of_the_budget_are_refused_by_name(ledger):
    for terms, said in (
        ({**TERMS, "max_rows": 5}, "max_rows=4, not 5"),
        ({**TERMS, "neighbors": "add_remove"}, "neighbors='replace_one', not 'add_remove'"),
        ({**TERMS, "delta": 0}, "delta=1e-6|delta="),
    ):
        with pytest.raises(LedgerError, match=said):
            people().dp.protect(epsilon=2, name="visits", ledger=ledger, **terms)
    with pytest.raises(LedgerError, match="epsilon=2, not 3"):
        people().dp.protect(epsilon=3, name="visits", ledger=ledger, **TERMS)


def test_a_part_is_reached_through_its_whole(ledger):
    df = people()
    df.dp.protect(session=pandas_dp.open_session(ledger, "visits"))
    part = df.dp.allot("nightly", epsilon=0.5)
    part.dp(epsilon=0.25).count()
    df.dp.session.close()
    again = people()
    again.dp.protect(session=pandas_dp.open_session(ledger, "visits"))
    assert "epsilon=1" in again.dp.session.spent
    assert again.dp.allot("nightly", epsilon=0.5).dp.session.spent == "epsilon=0.25"
    assert "epsilon=1" in again.dp.session.spent

"""Restarted and second processes: budgets go on, stored answers stay free, and the record says how."""

from __future__ import annotations

import json
import os
from fractions import Fraction

import pytest
from support import interpreter
from support.frames import people, protected

import pandas_dp
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import BudgetExceededError, UnknownSessionError

PRELUDE = """
import json, os, sys
import pandas as pd, pandas_dp
from support.frames import people
from pandas_dp import BudgetExceededError, LedgerError, UnknownSessionError
folder = {folder!r}
books, parquet, derived = (os.path.join(folder, name) for name in ("visits.dpledger", "visits.parquet", "old.parquet"))
terms = dict(unit="pid", max_rows=4, ledger=books, table="visits")
def say(*values):
    print(json.dumps(values))
def refused(error, call):
    try:
        call()
    except error as caught:
        return str(caught)
    raise SystemExit("answered")
"""


@pytest.fixture
def process(tmp_path):
    """Run code as a process that knows no session; returns what it said."""

    def run(code: str) -> list[object]:
        done = interpreter.run(PRELUDE.format(folder=str(tmp_path)) + code)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    return run


OWNER = """
df = people()
session = df.dp.protect(epsilon=2, version="1", **terms)
answer = int(df.dp(epsilon=0.5).count())
df.to_parquet(parquet)
df.dp.query("age > 40").to_parquet(derived)
say(answer, session.spent, session.id)
"""
AGAIN = """
df = pd.read_parquet(parquet)
told = refused(UnknownSessionError, lambda: df.dp(epsilon=0.5).count())
told_of_steps = refused(UnknownSessionError, lambda: pd.read_parquet(derived).dp(epsilon=0.5).count())
mark = df.attrs["pandas_dp"]
session = {protect}
say(mark, told == told_of_steps, told, int(df.dp(epsilon=0.5).count()), session.spent, session.id != mark)
"""


@pytest.mark.parametrize(
    "protect",
    [
        "df.dp.protect(epsilon=2, version='1', **terms)",
        "df.dp.protect(session=pandas_dp.open_session(books), table='visits', version='1')",
    ],
)
def test_a_parquet_file_with_the_id_of_a_session_is_protected_again_by_its_ledger(process, protect):
    answer, spent, identity = process(OWNER)
    assert spent == "epsilon=0.5"
    mark, same, told, again, after, other = process(AGAIN.format(protect=protect))
    assert (mark, same, other) == (identity, True, True)
    assert "pandas_dp.open_session(" in told
    assert "protect(epsilon=..., ledger=" in told
    assert (again, after) == (answer, spent)  # a version keeps its answers across processes, for free


def test_without_its_ledger_a_parquet_file_is_a_new_memory_budget_and_no_stored_answer(process):
    process(OWNER)
    say = "df = pd.read_parquet(parquet)\nsay(df.dp.protect(epsilon=2).spent, repr(df.dp.session))"
    spent, shown = process(say)
    assert spent == "epsilon=0"
    assert "lost when Python stops" in shown


RESTARTED = """
df = people()
session = df.dp.protect(epsilon=2, version={version!r}, **terms)
answers = [int(df.dp(epsilon=0.5).count()), int(df.dp(epsilon=0.25).sum("pay", bounds=(0, 10**12)))]
steps = int(df.dp.query("age > 40").dp(epsilon=0.25).sum("pay", bounds=(0, 10**12)))
say(answers, steps, session.spent)
"""


def test_a_restart_pays_nothing_for_what_was_answered_and_growing_data_goes_on_with_the_budget(process):
    """Noise of scale 1.6e13: that an answer comes again by chance has probability below 1e-12."""
    first, again, free = (process(RESTARTED.format(version="1")) for _ in range(3))
    assert first == again == free
    assert first[2] == "epsilon=1"
    answers, steps, spent = process(RESTARTED.format(version="2"))
    assert spent == "epsilon=2"
    assert (answers[1], steps) != (first[0][1], first[1])
    grown = 'df = pd.concat([people(), people()], ignore_index=True)\ndf.dp.protect(epsilon=2, version="3", **terms)\n'
    say = "say(refused(BudgetExceededError, lambda: df.dp(epsilon=0.5).count()), int(df.dp.session.budget.epsilon))"
    told, total = process(grown + say)
    assert "nothing fits any more" in told
    assert total == 2


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "read",
    [
        "people().sample(frac=1, random_state=1)",
        "people().convert_dtypes(dtype_backend='pyarrow')",
        "pd.read_csv(folder + '/people.csv')",
        "people().iloc[:3].copy()",
        "people()",
    ],
)
def test_x9_x10_the_same_people_read_in_another_way_go_on_with_the_budget(process, read):
    process(OWNER + "df.to_csv(folder + '/people.csv', index=False)\n")
    code = f"df = {read}\ndf.dp.protect(epsilon=2, **terms)\ndf.dp(epsilon=0.5).count()\nsay(df.dp.session.spent)"
    assert process(code) == ["epsilon=1"]
    assert process(code) == ["epsilon=1.5"]  # without a version nothing is free in another process


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ("epsilon=3, **terms", "epsilon=2, not 3"),
        ("epsilon=2, **{**terms, 'max_rows': 5}", "max_rows=4, not 5"),
        ("epsilon=2, **{**terms, 'unit': 'city'}", "unit='pid', not 'city'"),
        ("epsilon=2, neighbors='replace_one', **terms", "neighbors='add_remove', not 'replace_one'"),
        ("epsilon=2, delta=1e-6, **terms", "delta=0, not "),
    ],
)
def test_other_terms_are_refused_by_name_in_a_restarted_process(process, terms, said):
    process(OWNER)
    code = (
        f"told = refused(LedgerError, lambda: people().dp.protect({terms}))\nsession = pandas_dp.open_session(books)\n"
    )
    told, spent, kinds = process(code + "say(told, session.spent, session.releases['kind'].tolist())")
    assert said in told
    assert (spent, kinds) == ("epsilon=0.5", ["open", "query"])


def test_whatever_changes_a_budget_is_an_entry_of_the_chain_and_closing_a_session_changes_none(tmp_path):
    """A closed session ends in this process alone: its budget is what it was, for the next one and for others."""
    path, df = tmp_path / "visits.dpledger", people()
    session = df.dp.protect(epsilon=2, ledger=path)
    df.dp(epsilon=0.5).count()
    session.extend(to=3, reason="a second year")
    session.adopt(df.sort_values("age"), reason="only sorted")
    part = df.dp.allot("nightly", epsilon=1)
    part.dp(epsilon=0.5).count()
    kinds = ["open", "query", "amend", "adopt", "query"]
    assert session.releases["kind"].tolist() == kinds
    assert part.dp.session.releases["kind"].tolist() == ["open", "query"]
    assert session.releases["query"].tolist()[2:] == [
        "extend: a second year",
        "only sorted",
        "allot('nightly', epsilon=1)",
    ]
    heads = session._ledger.heads()
    session.close()
    assert session._ledger.heads() == heads
    session._ledger.verify()
    again = people()
    again.dp.protect(epsilon=3, ledger=path)
    assert again.dp.session.releases["kind"].tolist() == kinds
    assert again.dp.session.spent == "epsilon=1.5"
    assert again.dp.allot("nightly", epsilon=1).dp.session.spent == "epsilon=0.5"
    assert session._ledger.heads() == heads
    session._ledger.close()


def test_a_session_is_closed_though_its_ledger_is_gone(tmp_path):
    df = people()
    session = df.dp.protect(epsilon=2, ledger=tmp_path / "visits.dpledger")
    session._ledger.close()
    session.close()
    with pytest.raises(pandas_dp.NoSessionError):
        df.dp(epsilon=1).count()


ALLOT = """
people().dp.protect(epsilon=5, ledger=books)
start, gun = os.pipe()
pids = []
for _ in range(6):
    pids.append(os.fork())
    if pids[-1] == 0:
        os.close(gun)
        df = people()
        df.dp.protect(session=pandas_dp.open_session(books))
        os.read(start, 1)  # returns when the last process has been started
        part, got = df.dp.allot("nightly", epsilon=1), 0
        while True:
            try:
                part.dp(epsilon=0.1, fresh=True).count()
                got += 1
            except BudgetExceededError:
                os._exit(got)
os.close(gun)
got = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
session = pandas_dp.open_session(books)
session._ledger.verify()
say(sum(got), session.spent, session.releases["kind"].tolist())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_processes_that_make_one_part_at_once_pay_it_once(process):
    assert process(ALLOT) == [10, "epsilon=1", ["open", "query"]]


def test_what_was_charged_once_is_not_charged_again():
    ledger = Ledger(None)
    ledger.open("data", Budget.of(1), PrivacyUnit())
    paid = ["data", "key", "q", "p", PrivacyLoss.pure(Fraction(1)), PrivacyUnit()]
    assert [ledger.reserve(*paid, once=True) for _ in range(3)] == [2, 2, 2]
    assert ledger.state("data").epsilon == 1
    with pytest.raises(BudgetExceededError):  # another key, or a draw that is bought anew
        ledger.reserve("data", "other", *paid[2:], once=True)
    with pytest.raises(BudgetExceededError):
        ledger.reserve(*paid)


def test_a_frame_of_no_known_session_is_told_what_to_type():
    frame = protected(epsilon=1).copy()
    frame.attrs["pandas_dp"] = "dp:another process"
    with pytest.raises(UnknownSessionError, match=r"open_session\('visits.dpledger'\)"):
        frame.dp(epsilon=1).count()

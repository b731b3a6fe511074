"""What reviewers found who attacked sameness, second budgets, cells and ledger files."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
from support import interpreter
from support.frames import fresh, people

import pandas_dp
from pandas_dp import ArgumentValueError, LedgerError


class Equal:
    """A cell that equals whatever shares its place in a table of hashes."""

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize("made", [lambda i: i << 21, lambda i: f"u{i}", lambda i: (i,), lambda i: i + 0.5])
def test_one_cell_makes_no_unit_of_many(made):
    """2,000 units were 1: pandas asks ``==`` of all that share a place, also where their hashes differ."""
    for more in ([], [Equal()]):
        df = pd.DataFrame({"u": pd.Series([*more, *(made(i) for i in range(1, 2001))], dtype=object)})
        df.dp.protect(epsilon=10**6, unit="u", max_rows=1, name=fresh())
        assert df.dp(epsilon=10**4).count() == 2000 + len(more)
        assert df.dp(epsilon=10**4).nunique("u") == 2000 + len(more)


def test_labels_that_may_not_repeat_decide_on_no_step():
    for tags in (["a"], ["a", "b"]):
        df = pd.DataFrame({"pid": range(9), "tags": [["a"]] * 8 + [tags]}).set_flags(allows_duplicate_labels=False)
        df.dp.protect(epsilon=9, unit="pid", max_rows=2, name=fresh())
        df.dp.explode("tags", max=2).dp(epsilon=1).count()


def test_a_frame_of_steps_is_no_whole_table_at_the_second_protect():
    df = people()
    df.dp.protect(epsilon=9, name=fresh())
    made = df.dp.query("age > 30")
    df.dp.session.close()
    name = fresh()
    made.dp.protect(epsilon=9, neighbors="replace_one", name=name)
    with pytest.raises(ArgumentValueError, match="is not public"):
        made.dp.protect(epsilon=9, neighbors="replace_one", rows=True, name=name)


def test_no_display_shows_rows_of_steps():
    df = people()
    df.dp.protect(epsilon=9, name=fresh())
    made = df.dp.query("age > 3")
    assert made._repr_latex_() is None
    assert made._repr_data_resource_() is None


HEAD = """
import warnings, pandas as pd, pandas_dp
from support.frames import people
warnings.simplefilter("ignore")
df = people()
"""
SEVERAL = """
df.dp(epsilon=5).count()
other = pd.DataFrame({"x": [1, 2]}).dp.protect(epsilon=9, name="b")
session = df.dp.protect(epsilon=3, name="a")
print(other.spent, session.spent, session.left, session.group(1))
"""
CLOSED = """
df.dp(epsilon=2).count()
df.dp.session.close()
session = df.dp.protect(epsilon=3)
print(session.spent)
"""
GDP = """
df.dp(epsilon=2).count()
try:
    df.dp.protect(epsilon=3, delta=1e-6, accountant="gdp")
except pandas_dp.ArgumentValueError as error:
    print("type accountant='hybrid'" in str(error))
print(df.dp.protect(epsilon=3, delta=1e-6, accountant="hybrid").spent.epsilon)
"""
COPIES = """
df.dp(epsilon=2).count()
copy = df.copy()
df.dp.protect(epsilon=3, name="a")
try:
    copy.dp.protect(epsilon=3, name="b")
except pandas_dp.ArgumentValueError as error:
    print("made from a table of the budget 'a'" in str(error))
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (SEVERAL, "epsilon=5 epsilon=5, above the total of 3 nothing any 1 rows together: epsilon=5\n"),
        (CLOSED, "epsilon=2\n"),
        (GDP, "True\n2\n"),
        (COPIES, "True\n"),
    ],
)
def test_answers_of_an_implicit_session_are_charged_wherever_they_may_belong(code, told):
    done = interpreter.run(HEAD + code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == told


def test_a_question_that_waits_is_not_paid_by_an_implicit_session_that_ended():
    code = """
import sys, threading, time
from pandas_dp.core import gate
df.dp(epsilon=0.5).count()
ledger = df.dp.session._ledger
table = df
out = []
held = threading.Event()
def hold():
    with gate.closed():
        held.set()
        release.wait()
release = threading.Event()
threading.Thread(target=hold).start()
held.wait()
waiting = threading.Thread(target=lambda: out.append(ask()))
def ask():
    try:
        return table.dp(epsilon=4).count()
    except pandas_dp.PandasDPError as error:
        return type(error).__name__
waiting.start()
while sys._current_frames()[waiting.ident].f_code.co_filename != gate.__file__:
    time.sleep(0.01)
time.sleep(0.3)
session = df.copy().dp.protect(epsilon=3)
release.set()
waiting.join()
print(out, session.spent)
"""
    done = interpreter.run(HEAD + code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['LedgerError'] epsilon=0.5\n"


def test_an_older_copy_that_a_process_noticed_is_noticed_by_the_next(tmp_path: Path):
    """What it had seen was not written down, since the file that it asked was the older one by then."""
    path, copy = tmp_path / "a.dpledger", tmp_path / "copy"
    code = f"""
import os, shutil
session = df.dp.protect(epsilon=3, ledger={str(path)!r})
shutil.copy({str(path)!r}, {str(copy)!r})
for _ in range(3):
    df.dp(epsilon=1, fresh=True).count()
os.replace({str(copy)!r}, {str(path)!r})
session._ledger.close()  # as at the end of a program
"""
    assert interpreter.run(HEAD + code).returncode == 0
    again = interpreter.run(HEAD + f"df.dp.protect(epsilon=3, ledger={str(path)!r})")
    assert "this ledger is older than one that was open here" in again.stderr


@pytest.mark.parametrize("suffix", ["-journal", "-wal"])
def test_reports_do_not_take_the_place_of_a_journal(tmp_path, suffix):
    df = people()
    session = df.dp.protect(epsilon=3, name=fresh())
    with pytest.raises(ArgumentValueError, match=r"must end with \.json"):
        session.report(tmp_path / f"a.dpledger{suffix}")
    assert not os.listdir(tmp_path)


def test_the_certificate_of_a_budget_above_its_total_says_so():
    code = "df.dp(epsilon=5).count()\nprint(df.dp.protect(epsilon=3).report())"
    page = interpreter.run(HEAD + code).stdout
    assert "The total does not hold" in page
    assert "Why the total holds" not in page
    assert "above the total of 3 of 3" not in page


def test_what_was_read_is_the_table_first_protected_of_the_file(tmp_path, monkeypatch):
    """A stored answer about rows that were prepared in one way came back for rows prepared in another."""
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    path, name = tmp_path / "a.parquet", fresh()
    pd.DataFrame({"age": [40.0] * 500}).to_parquet(path)
    first, second = pandas_dp.read_parquet(path), pandas_dp.read_parquet(path)
    first["age"] += 30
    first.dp.protect(epsilon=10**6, name=name)
    second.dp.protect(epsilon=10**6, name=name)
    for price in (10**4, 10**4 + 1):
        assert abs(second.dp(epsilon=price).mean("age", bounds=(0, 100)) - 70) < 1
    assert "stands for the file" in " ".join(second.dp(epsilon=1).count().notes)
    with pytest.raises(LedgerError):
        second.dp.protect(epsilon=1, name=name)

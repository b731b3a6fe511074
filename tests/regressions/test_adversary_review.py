"""Second budgets for the same rows, answers twice for one price, and stored answers read under other terms."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest
from support import interpreter
from support.frames import fresh, protected

import pandas_dp
from pandas_dp import ArgumentValueError, LedgerError
from pandas_dp.core import records

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def python(code: str) -> list[str]:
    done = interpreter.run(code)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"v": range(30)}).to_parquet(path)
    return path


def test_files_have_one_budget_though_the_object_that_was_protected_is_gone(file):
    """A session of one line, scan_parquet(...).dp.protect(...), forgot its files at once: they took any number of budgets."""
    session = pandas_dp.scan_parquet(file).dp.protect(epsilon=1, name=fresh())
    again = pandas_dp.scan_parquet(file)
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
        again.dp.protect(epsilon=1, name=fresh())
    assert again.dp.protect(session=session) is session
    session.close()
    pandas_dp.scan_parquet(file).dp.protect(epsilon=1, name=fresh())


def test_files_of_a_table_that_another_one_replaced_have_one_budget(file, tmp_path):
    other = tmp_path / "b.parquet"
    pd.DataFrame({"v": range(9)}).to_parquet(other)
    session = pandas_dp.scan_parquet(file).dp.protect(epsilon=1, name=fresh())
    pandas_dp.scan_parquet(other).dp.protect(session=session)
    for path in (file, other):
        with pytest.raises(ArgumentValueError, match="already spends"):
            pandas_dp.scan_parquet(path).dp.protect(epsilon=1, name=fresh())


def test_a_second_name_of_a_file_has_no_second_budget(file, tmp_path):
    try:
        os.link(file, tmp_path / "b.parquet")
    except OSError:
        pytest.skip("no hard links on this disk")
    session = pandas_dp.scan_parquet(file).dp.protect(epsilon=1, name=fresh())
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
        pandas_dp.scan_parquet(tmp_path / "b.parquet").dp.protect(epsilon=1, name=fresh())


@pytest.mark.parametrize("read", [pandas_dp.scan_parquet, pandas_dp.read_parquet])
def test_a_file_that_was_moved_is_known_and_a_new_one_with_its_number_is_another(read, tmp_path, file):
    """The number that a system gave to a file goes to the next one once the file is gone; a move leaves when it was written."""
    moved = tmp_path / "c.parquet"
    session = read(file).dp.protect(epsilon=1, name=fresh())
    number = os.stat(file).st_ino
    os.rename(file, moved)
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
        read(moved).dp.protect(epsilon=1, name=fresh())
    new = pd.DataFrame({"v": range(9)}).to_parquet()
    with open(moved, "r+b") as taken:  # what a new file with the number of one that is gone looks like
        taken.truncate(0)
        taken.write(new)
    os.rename(moved, tmp_path / "d.parquet")
    assert os.stat(tmp_path / "d.parquet").st_ino == number
    frame = read(tmp_path / "d.parquet")
    other = frame.dp.protect(epsilon=10**5, name=fresh())
    assert other is not session
    assert frame.dp(epsilon=10**4).count() == 9
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{other.name}'"):
        read(tmp_path / "d.parquet").dp.protect(epsilon=1, name=fresh())


def test_the_table_of_another_budget_is_not_adopted():
    """It then spent from the second budget, and the first one had no frame left."""
    df, other = protected(epsilon=1), protected(epsilon=1)
    first, second = df.dp.session, other.dp.session
    part = df.dp.allot("part", epsilon=0.5)
    for frame, owner in ((df, first.name), (part, f"{first.name}::part")):
        with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{owner}'"):
            second.adopt(frame, reason="a mistake")
    assert df.dp.session is first
    assert "adopt" not in set(second.releases["kind"])
    first.adopt(df.dp.query("age > 30"), reason="a step made it")


def test_one_version_is_one_content_where_tables_join_a_session():
    """The second table was given the answers of the first, and its rows the same parts: now it stands for the first."""
    first, other = (pd.DataFrame({"x": [cell] * 500, "g": ["u", "v"] * 250}) for cell in (0.0, 9.0))
    session = first.dp.protect(epsilon=1000, name=fresh(), table="t", version="1")
    answer = first.dp(epsilon=10).sum("x", bounds=(0, 9))
    other.dp.protect(session=session, table="t", version="1")
    assert other.dp(epsilon=10).sum("x", bounds=(0, 9)) == answer
    other.dp.protect(session=session, table="t", version="2")
    assert other.dp(epsilon=10).sum("x", bounds=(0, 9)) > 4000
    assert session.spent == "epsilon=20"


FORKED = """
import os, signal
import pandas as pd, pandas_dp
from pandas_dp.core import gate
df = pd.DataFrame({{"x": range(2000)}})
session = df.dp.protect(epsilon=9, ledger={ledger!r})
parent, forks = os.getpid(), []

def fork():
    if not forks:
        forks.append(None)
        os.fork()

def mean(block):
    if len(block) > 4:  # it is tried on a made-up table of four rows before it is paid
        fork()
    return float(block["x"].mean())

def handled(*_):
    fork()

def interrupted(question):
    "Ask it, and let a signal arrive as soon as its price is on record."
    signal.signal(signal.SIGUSR1, handled)
    reserve = session._ledger.reserve
    def reserved(*more, **options):
        sequence = reserve(*more, **options)
        signal.raise_signal(signal.SIGUSR1)
        return sequence
    session._ledger.reserve = reserved
    return question()

def asked(question):
    try:
        question()
        text = "answered"
    except pandas_dp.ForkedSessionError as error:
        text = "refused" if "fork of the process that asked" in str(error) else str(error)
    if os.getpid() != parent:
        os.write(1, ("child " + text + "\\n").encode())
        os._exit(0)
    os.wait()
    os.write(1, ("parent " + text + "\\n").encode())

{ask}
os.write(1, str(session.spent).encode())
"""
FORKING = {
    "a function": "asked(lambda: df.dp(epsilon=1).sample_and_aggregate(mean, bounds=(0, 2000)))",
    "a signal": "asked(lambda: interrupted(df.dp(epsilon=1).count))",
    "a stream that opens": "asked(lambda: interrupted(lambda: df.dp(epsilon=1).above_threshold(1000)))",
}


@fork
@pytest.mark.parametrize("ask", FORKING.values(), ids=list(FORKING))
def test_a_fork_in_the_middle_of_a_query_releases_one_answer(tmp_path, ask):
    """Both processes drew noise of their own, and released two answers for one charge."""
    told = python(FORKED.format(ledger=str(tmp_path / "l.dpledger"), ask=ask))
    assert told == ["child refused", "parent answered", "epsilon=1"]


def test_a_stored_answer_is_the_one_of_its_own_question(tmp_path):
    """A digest of the text alone let damage to an index serve what another question had been answered: one flipped bit did."""
    path = tmp_path / "l.dpledger"
    df = pd.DataFrame({"x": [0.0] * 200, "y": [9.0] * 200})
    session = df.dp.protect(epsilon=10**6, ledger=path, table="t", version="1")

    def ask(column):
        return df.dp(epsilon=10**4).sum(column, bounds=(0, 9))

    assert abs(ask("x")) < 1 < abs(ask("y")) - 1700
    store = session._ledger._store._connection
    swapped = "CASE sequence WHEN 2 THEN 3 ELSE 2 END"
    store.execute(f"CREATE TEMP TABLE other AS SELECT budget, {swapped} AS sequence, result, digest FROM results")
    store.execute("DELETE FROM results")
    store.execute("INSERT INTO results SELECT * FROM other")
    for said in ("damaged and cannot be given again", "incomplete"):
        for column in ("x", "y"):  # neither is served, and none is drawn anew before somebody asks for that
            with pytest.raises(LedgerError, match=f"{said}.*fresh=True"):
                ask(column)
        store.create_function("placed", 4, records.digest)  # as if the index alone were wrong
        store.execute("UPDATE results SET digest = placed('results', budget, sequence, result)")
    assert session.spent.epsilon == 2 * 10**4


def test_answers_stored_without_their_key_are_still_served(tmp_path):
    path = tmp_path / "l.dpledger"
    df = pd.DataFrame({"x": [9.0] * 200})
    session = df.dp.protect(epsilon=3, ledger=path, table="t", version="1")
    answer = df.dp(epsilon=1).count()
    ledger = session._ledger
    ((sequence, text),) = ledger._store._connection.execute("SELECT sequence, result FROM results").fetchall()
    (transcript,) = json.loads(text).values()
    ledger._store._connection.execute("DELETE FROM results")
    ledger.record(session.name, sequence, json.dumps(transcript))
    assert df.dp(epsilon=1).count() == answer
    assert session.spent == "epsilon=1"


PARTS = """
import pandas as pd, pandas_dp
df = pd.DataFrame({{"x": pd.Series(["01", "1"] * 50).astype({dtype!r})}})
session = df.dp.protect(epsilon=9, ledger={ledger!r}, table="t", version="1")
df.dp.assign(g=lambda d: d.x.astype("str")).dp.partition("g", ["1", "01"], epsilon=1)
print(session.spent)
"""


def test_rows_read_as_another_dtype_lie_in_other_parts(tmp_path):
    """Text of "01" is no "1", and its number is: such a row was in one part here and in the other there, at one price."""
    ledger = str(tmp_path / "l.dpledger")
    told = [python(PARTS.format(dtype=dtype, ledger=ledger)) for dtype in ("str", "int64", "str")]
    assert told == [["epsilon=1"], ["epsilon=2"], ["epsilon=2"]]


WINSORIZED = """
import pandas as pd, pandas_dp
df = pd.DataFrame({{"x": [50.0] * 10**6}})
if {first}:
    df.dp.protect(epsilon=9, neighbors="replace_one", rows=True, ledger={ledger!r}, table="t", version="1")
else:
    df.dp.protect(session=pandas_dp.open_session({ledger!r}), table="t", version="1")
answer = df.dp(epsilon=4).mean("x", bounds=(0, 1000), method="winsorized")
print(float(answer), df.dp.session.spent)
"""


def test_a_stored_answer_is_read_with_the_number_of_blocks_that_it_was_drawn_with(tmp_path):
    """A public number of rows chose 252 blocks; where a session was joined it is not public, and the sum was divided by 200."""
    ledger = str(tmp_path / "l.dpledger")
    told = [python(WINSORIZED.format(first=first, ledger=ledger))[0].split() for first in (True, False, True, False)]
    assert [spent for _, spent in told] == ["epsilon=4", "epsilon=8", "epsilon=8", "epsilon=8"]
    known, joined, *again = (number for number, _ in told)  # a quartile drawn far off, which happens, moves a number
    assert again == [known, joined]

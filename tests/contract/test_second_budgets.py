"""No second budget by accident: copies, files, answers before ``protect``, and what steps show of their rows."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from faults.test_fresh_budgets import ROUTES
from support import interpreter
from support.frames import fresh, people, protected

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, LedgerError
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.privacy import PrivacyUnit

UNMARKED = {"DataFrame(df)", "DataFrame(to_numpy)"}  # new frames, which nothing tells from others


@pytest.mark.parametrize("route", sorted(ROUTES.keys() - UNMARKED))
def test_what_pandas_makes_of_a_protected_frame_takes_no_other_budget(route, tmp_path):
    df = protected(epsilon=1)
    session, made = df.dp.session, ROUTES[route](df)
    with pytest.raises(ArgumentValueError, match=r"made from a table of the budget .*protect\(.*close\(\)") as caught:
        made.dp.protect(epsilon=50, name=fresh())
    assert f"{session.name!r}" in str(caught.value)
    with pytest.raises(ArgumentValueError, match="made from a table"):
        made.dp.protect(session=protected(epsilon=1).dp.session)
    assert made.dp.protect(session=session) is session
    assert made.dp(epsilon=0.25).count().lineage == "vouched"
    assert session.releases["kind"].tolist()[:2] == ["open", "adopt"]
    assert session.spent == "epsilon=0.25"
    session.close()
    ROUTES[route](df).dp.protect(epsilon=50, name=fresh())


@pytest.mark.parametrize("reason", ["", " ", 3, ["a"]])
def test_a_reason_is_a_text(reason):
    with pytest.raises(ArgumentTypeError, match="reason must say why"):
        protected().copy().dp.protect(epsilon=1, name=fresh(), reason=reason)


def test_the_claim_of_the_owner_is_on_record_and_on_the_certificate(tmp_path):
    df = protected(epsilon=1)
    other = df.assign(pid=df["pid"] + 100)
    session = other.dp.protect(epsilon=2, name=fresh(), ledger=tmp_path / "a.dpledger", reason="made up anew <b>")
    assert session.releases[["kind", "query"]].iloc[1].tolist() == ["claim", "made up anew <b>"]
    assert other.dp(epsilon=1).count().lineage == "source"
    page = session.report()
    assert "The owner says why a table has a budget of its own" in page
    assert "made up anew &lt;b&gt;" in page
    df.dp(epsilon=0.5).count()
    with pytest.raises(
        ArgumentValueError, match="already spends from the budget"
    ):  # no reason makes two budgets of one object
        df.dp.protect(epsilon=1, name=fresh(), reason="other people")


def test_a_pickle_and_a_file_carry_the_mark(tmp_path):
    df = protected(epsilon=1)
    df.to_parquet(tmp_path / "a.parquet")
    for made in (pickle.loads(pickle.dumps(df)), pd.read_parquet(tmp_path / "a.parquet")):
        with pytest.raises(ArgumentValueError, match="made from a table of the budget"):
            made.dp.protect(epsilon=50, name=fresh())


@pytest.mark.one_in(8)
@pytest.mark.parametrize("first", ["made", "read", "scanned"])
@pytest.mark.parametrize("route", sorted(ROUTES.keys() - UNMARKED))
def test_what_pandas_makes_of_a_file_that_was_read_takes_no_other_budget(route, first, tmp_path):
    """A program reads the file again and filters it by hand before it protects: nothing told that from a table of its own."""
    path = tmp_path / "a.parquet"
    people().to_parquet(path)
    frames = {
        "read": pandas_dp.read_parquet(path),
        "made": ROUTES[route](pandas_dp.read_parquet(path)),
        "scanned": pandas_dp.scan_parquet(path),
    }
    session = frames.pop(first).dp.protect(epsilon=1, name=fresh())
    for frame in frames.values():
        with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
            frame.dp.protect(epsilon=50, name=fresh())
    for name, frame in frames.items():
        frame.dp.protect(session=session, table=name)
        frame.dp(epsilon=0.25).count()
    assert session.spent == "epsilon=0.5"
    claimed = ROUTES[route](pandas_dp.read_parquet(path))
    session.close()
    claimed.dp.protect(epsilon=50, name=fresh())


def test_a_reason_gives_what_pandas_made_of_a_file_a_budget_of_its_own(tmp_path):
    path = tmp_path / "a.parquet"
    people().to_parquet(path)
    pandas_dp.read_parquet(path).query("sex == 'F'").dp.protect(epsilon=1, name=fresh())
    men = pandas_dp.read_parquet(path).query("sex == 'M'")
    assert men.dp.protect(epsilon=1, name=fresh(), reason="the other half").releases["kind"].tolist() == [
        "open",
        "claim",
    ]


@pytest.mark.parametrize(
    "way",
    {
        "file:": lambda path: pandas_dp.read_parquet(f"file:{path}"),
        "local://": lambda path: pandas_dp.read_parquet(f"local://{path}"),
        "capitals": lambda path: pandas_dp.read_csv(f"FILE://{path}".replace(".parquet", ".csv")),
        "no options": lambda path: pandas_dp.read_parquet(path, storage_options=None, filesystem=None),
    }.items(),
    ids=lambda way: way[0],
)
def test_a_file_has_one_budget_however_its_name_is_written(way, tmp_path):
    path = tmp_path / "a.parquet"
    people().to_parquet(path)
    people().to_csv(path.with_suffix(".csv"))
    for reader in (pandas_dp.read_parquet, pandas_dp.read_csv):
        reader(path if reader is pandas_dp.read_parquet else path.with_suffix(".csv")).dp.protect(
            epsilon=1, name=fresh()
        )
    with pytest.raises(ArgumentValueError, match="already spends from the budget"):
        way[1](path).dp.protect(epsilon=50, name=fresh())


def test_files_have_one_budget_however_they_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    people().drop(columns="city").to_parquet(path)
    scan = pandas_dp.scan_parquet(path)
    session = scan.dp.protect(epsilon=1, name=fresh())
    read = pandas_dp.read_parquet(path)
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
        read.dp.protect(epsilon=50, name=fresh())
    read.dp.protect(session=session, table="whole")
    session.close()
    session = read.dp.protect(epsilon=1, name=fresh())
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
        scan.dp.protect(epsilon=50, name=fresh())
    pandas_dp.scan_parquet(path).dp.protect(epsilon=2, name=fresh(), reason="other people of the same format")


HEAD = """
import warnings, pandas as pd, pandas_dp
from support.frames import people
warnings.simplefilter("ignore")
df = people()
"""


def lines(code: str, folder: Path) -> list[str]:
    done = interpreter.run(f"import os; os.chdir({str(folder)!r})\n{HEAD}{code}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


CARRIED = """
for _ in range(7):
    df.dp(epsilon=0.5, fresh=True).count()
session = (df if {same} else people()).dp.protect(epsilon=3, ledger="a.dpledger")
"""
AFTER = """
print(session.spent)
print(session.left.epsilon, session.spent.epsilon)
try:
    df.dp(epsilon=0.01).count()
except pandas_dp.PandasDPError as error:
    print(type(error).__name__)
page = session.report()
print("Answers were given before this budget was named" in page, "epsilon=3.5" in page)
print(session.spent.guarantee)
"""


@pytest.mark.parametrize("same", [True, False])
def test_what_an_implicit_session_spent_is_charged_beyond_the_total(tmp_path, same):
    first = lines(CARRIED.format(same=same) + AFTER, tmp_path)
    told = [
        "epsilon=3.5, above the total of 3",
        "0 3.5",
        "BudgetExceededError" if same else "NoSessionError",
        "True True",
    ]
    assert first[:4] == told
    assert first[4].startswith("all answers together: epsilon=3.5, for one row")
    later = lines('session = df.dp.protect(epsilon=3, ledger="a.dpledger")\n' + AFTER, tmp_path)
    assert later[:3] == ["epsilon=3.5, above the total of 3", "0 3.5", "BudgetExceededError"]


TERMS = """
df.dp(epsilon=0.5).count()
df.dp(epsilon=0.25).mean("age", bounds=(0, 100))
session = df.dp.protect({terms})
print(session.releases["kind"].tolist(), session.spent.epsilon)
df.dp(epsilon=0.5).count()
print(session.spent.epsilon)
print("does not cover" in session.report())
"""


@pytest.mark.parametrize(
    ("terms", "kind", "spent", "covered"),
    [
        ("epsilon=3", "carried", "0.75", True),
        ("epsilon=3, name='visits', ledger='a.dpledger'", "carried", "0.75", True),
        ("epsilon=3, neighbors='replace_one'", "carried", "1.5", True),
        ("epsilon=3, delta=1e-6", "carried", "0.75", True),
        ("epsilon=3, delta=1e-6, plan={0.1: 5}", "carried", "0.75", True),
        ("epsilon=3, unit='pid', max_rows=3", "outside", "0", False),
    ],
)
def test_answers_before_protect_are_on_the_record(tmp_path, terms, kind, spent, covered):
    first, after, page = lines(TERMS.format(terms=terms), tmp_path)
    assert first == f"['open', '{kind}'] {spent}"
    assert float(after) == float(spent) + 0.5
    assert page == str(not covered)


@pytest.mark.parametrize(("terms", "many"), [("unit='pid', max_rows=3", 1), ("delta=0", 0)])
def test_answers_that_a_budget_of_people_does_not_count_are_told(tmp_path, terms, many):
    """Only the record said it: on the screen nothing was spent."""
    code = f"""
import warnings
df.dp(epsilon=0.5).count()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(2):
        df.dp.protect(epsilon=3, {terms})
print(*[one.message for one in seen if "before this budget" in str(one.message)], sep="\\n")
"""
    said = "answers about rows (epsilon=0.5 each row) came before this budget; it does not limit what they tell about a 'pid'"
    assert lines(code, tmp_path) == [said * many]


def test_no_table_joins_a_session_that_a_first_call_opened(tmp_path):
    """It ended the session, and then said that a budget had been named."""
    code = """
df.dp(epsilon=1).count()
session = df.dp.session
try:
    people().dp.protect(session=session)
except pandas_dp.ArgumentValueError as error:
    print(error)
print(session.spent)
print(df.dp.protect(epsilon=3, name="named").spent)
"""
    first, *spent = lines(code, tmp_path)
    assert first == (
        "this session was opened automatically for a first question; set its total first: df.dp.protect(epsilon=3), with unit= "
        "and max_rows= where somebody may have several rows, with delta= where keys are to be found"
    )
    assert spent == ["epsilon=1", "epsilon=1"]


def test_one_filtered_first_call_locks_nothing_out(tmp_path):
    code = """
df[df.age > 30].dp(1).count()
df.dp.protect(epsilon=3)
df.dp(1).count()
print(df.dp.session.spent)
"""
    assert lines(code, tmp_path) == ["epsilon=2"]


def test_a_ledger_in_the_folder_waits_for_its_session(tmp_path):
    """The cells of a notebook run again before the one that protects: three more draws, of which no book said anything."""
    ask = "print(df.dp(epsilon=1).mean('age', bounds=(0, 100)).value, df.dp.session.spent)\n"
    protect = "df.dp.protect(epsilon=1, ledger='visits.dpledger', table='t', version='1')\n"
    first = lines(protect + ask, tmp_path)
    refused = """
for frame in (df, df[df.age > 30], pandas_dp.read_csv("a.csv", dtype={"age": "Int64"})):
    try:
        frame.dp(epsilon=1).count()
    except pandas_dp.NoSessionError as error:
        print(error)
"""
    (tmp_path / "a.csv").write_text("age\n31\n45\n")
    told = lines(refused, tmp_path)
    assert (
        told
        == [
            "this folder holds the ledger 'visits.dpledger', but no session is open: first continue its budget, and if the "
            "content is the same, add the table= and version= that it had: then stored answers are free",
            "df.dp.protect(epsilon=1, ledger='visits.dpledger')  # continues: 1 of 1 spent",
        ]
        * 3
    )
    assert lines(f"print({told[1].partition('  #')[0]}.left)", tmp_path) == ["epsilon=0"]
    assert lines(protect + ask, tmp_path) == first
    (tmp_path / "elsewhere").mkdir()
    os.rename(tmp_path / "a.csv", tmp_path / "elsewhere" / "a.csv")
    beside = """
import os
os.chdir("elsewhere")
os.rename("../visits.dpledger", "visits.dpledger")
os.chdir("/")
try:
    pandas_dp.read_csv({path!r}, dtype={{"age": "Int64"}}).dp(epsilon=1).count()
except pandas_dp.NoSessionError as error:
    print(str(error)[:28])
"""
    assert lines(beside.format(path=str(tmp_path / "elsewhere" / "a.csv")), tmp_path) == [
        "this folder holds the ledger"
    ]


def test_of_several_ledgers_in_the_folder_each_has_its_line(tmp_path):
    for i, name in enumerate("dcba", 1):
        people().dp.protect(epsilon=i, ledger=tmp_path / f"{name}.dpledger").close()
    shown = [f"df.dp.protect(epsilon={4 - i}, ledger='{name}.dpledger')" for i, name in enumerate("abc")]
    asked = """
try:
    pandas_dp.read_csv("a.csv", dtype={"age": "Int64"}).dp(epsilon=1).count()
except pandas_dp.NoSessionError as error:
    print(error)
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    df.dp.protect(epsilon=1)
print(*[one.message for one in seen], sep="\\n")
"""
    (tmp_path / "a.csv").write_text("age\n31\n45\n")
    told = [line.partition("  #")[0] for line in lines(asked, tmp_path)]
    assert told[0] == (
        "this folder holds the ledgers 'a.dpledger', 'b.dpledger', 'c.dpledger', but no session is open: first continue the "
        "budget of this table, and if the content is the same, add the table= and version= that it had: then stored "
        "answers are free"
    )
    assert told[1:4] == shown
    assert [line for line in told[4:] if line.startswith("df.")] == shown


def test_a_budget_in_memory_beside_a_ledger_says_what_it_does_not_count(tmp_path):
    """The argument ``ledger=`` left out after a restart: a fresh budget about the same people, of which no word was said."""
    protect = "df.dp.protect(epsilon=1, ledger='visits.dpledger', name='visits')\n"
    lines(protect + "df.dp(epsilon=1).count()", tmp_path)
    warned = """
import warnings
for _ in range(2):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        df.copy().dp.protect(epsilon=1, name="fresh")
    print(*[one.message for one in seen if "kept in memory" in str(one.message)], sep="\\n")
"""
    told = [
        "this budget is kept in memory and does not count what was spent in the ledger 'visits.dpledger' in this folder. To "
        "continue a budget of that ledger instead, type",
        "df.dp.protect(epsilon=1, ledger='visits.dpledger', name='visits')  # continues: 1 of 1 spent",
    ]
    assert lines(warned, tmp_path) == [*told, ""]  # once: the second time the budget is there
    (tmp_path / "visits.dpledger").write_text("no ledger")
    assert lines(warned, tmp_path) == ["", ""]


def test_who_has_the_ledger_open_is_not_told_of_it(tmp_path):
    opened = """
import warnings
df.dp.protect(epsilon=1, ledger="visits.dpledger", name="visits")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    people().dp.protect(epsilon=1, name="others")
print(["kept in memory" in str(one.message) for one in seen])
"""
    assert "True" not in lines(opened, tmp_path)[0]


MADE = """
df["pid"] = range(len(df))
session = df.dp.protect({terms}, ledger='visits.dpledger', name='visits')
df.dp({price}).count()
"""
RESTARTED = """
df["pid"] = range(len(df))
for protect in (
    lambda: df.dp.protect({terms}, ledger='visits.dpledger'),
    lambda: df.dp.protect({terms}, ledger='visits.dpledger', name='visits'),
    lambda: pandas_dp.open_session('visits.dpledger'),
):
    try:
        protect()
        print("opened")
    except pandas_dp.LedgerError as error:
        print(error)
"""
SPENT = """
df["pid"] = range(len(df))
session = {line}
print(session.name, session.spent.epsilon > 0, len(session.releases), list(session._ledger.heads()))
"""


@pytest.mark.parametrize(
    ("opened", "price", "again", "differ"),
    [
        (
            "epsilon=3, delta=1e-6, unit='pid', max_rows=30",
            "epsilon=0.5",
            "epsilon=2",
            ["unit='pid', not None", "max_rows=30, not 1", "epsilon=3, not 2", "delta=1e-6, not 0"],
        ),
        (
            "rho=0.5",
            "rho=0.1",
            "epsilon=10",
            ["epsilon=6.85558, not 10", "delta=1e-10, not 0", "accountant='zcdp', not 'pure'"],
        ),
        ("rho=0.5, delta=1e-6", "rho=0.1", "rho=0.4", ["epsilon="]),
        (
            "epsilon=3, delta=1e-6, delta_reserved=5e-7",
            "epsilon=0.5",
            "epsilon=3",
            ["delta=1e-6, not 0", "delta_reserved=5e-7"],
        ),
        (
            "epsilon=3, neighbors='replace_one'",
            "epsilon=0.5",
            "epsilon=4",
            ["neighbors='replace_one', not 'add_remove'"],
        ),
        (
            "epsilon=3, delta=1e-6, plan={0.1: 3}",
            "epsilon=0.1",
            "epsilon=3",
            ["delta=1e-6, not 0", "plan={0.1: 3}, not None"],
        ),
    ],
)
def test_a_restart_that_forgets_the_name_or_terms_opens_nothing_and_is_told_the_line(
    tmp_path, opened, price, again, differ
):
    """It had a second budget about the same people, and nothing said so."""
    lines(MADE.format(terms=opened, price=price), tmp_path)
    forgot, *rest = lines(RESTARTED.format(terms=again), tmp_path)
    assert forgot.startswith("the ledger 'visits.dpledger' has no budget named 'data'; it has 'visits'.")
    line, differs, same, session = rest
    assert line == same
    assert all(term in differs for term in differ)
    assert session.endswith("it holds 'visits': pandas_dp.open_session('visits.dpledger', name='visits')")
    assert lines(SPENT.format(line=line.partition("  #")[0]), tmp_path) == ["visits True 2 ['visits']"]


def test_a_total_that_is_higher_is_raised_by_the_two_lines_that_are_told(tmp_path):
    lines(MADE.format(terms="epsilon=3", price="epsilon=1"), tmp_path)
    told, line = lines(RESTARTED.format(terms="epsilon=4"), tmp_path)[2:4]
    assert "epsilon=3, not 4: to raise it on record, continue and then type df.dp.session.extend(to=4, reason=" in told
    assert lines(f"{line}\ndf.dp.session.extend(to=4, reason='more'); print(df.dp.session.left)", tmp_path) == [
        "epsilon=3"
    ]


def test_names_that_are_typed_and_budgets_in_memory_open_as_ever(tmp_path):
    """Parts of a budget are none of their own, and of many budgets the latest are named."""
    ledger = tmp_path / "many.dpledger"
    for i in range(15):
        people().dp.protect(epsilon=1, ledger=ledger, name=f"n{i}").close()
    people().dp.protect(epsilon=1, name=fresh())
    with pytest.raises(LedgerError, match=r"'n5', .*'n14' and 5 more\.") as caught:
        people().dp.protect(epsilon=1, ledger=ledger)
    assert [line.rpartition("name=")[2][:5] for line in str(caught.value).splitlines()[1:]] == [
        "'n12'",
        "'n13'",
        "'n14'",
    ]
    assert people().dp.protect(epsilon=1, ledger=tmp_path / "new.dpledger").name == "data"


def test_a_ledger_without_a_budget_says_so(tmp_path):
    """After a ``protect`` that was refused: it had to be continued, but there was no line, and nothing to continue."""
    Ledger(tmp_path / "a.dpledger")
    ask = "try:\n    df.dp(epsilon=1).count()\nexcept pandas_dp.NoSessionError as error:\n    print(error)"
    line = lines(ask, tmp_path)[-1]
    assert line == "df.dp.protect(epsilon=3, ledger='a.dpledger')  # opens one: the ledger holds none yet"
    assert lines(f"{line}\ndf.dp(epsilon=1).count()\nprint(df.dp.session.left)", tmp_path) == ["epsilon=2"]


def test_a_file_that_is_no_ledger_is_left_as_it_is(tmp_path):
    for content in ("", "no ledger"):
        (tmp_path / "a.dpledger").write_text(content)
        ask = "try:\n    df.dp(epsilon=1).count()\nexcept pandas_dp.NoSessionError as error:\n    print(error)"
        assert lines(ask, tmp_path) == [
            "this folder holds the ledger 'a.dpledger', but no session is open: first continue its budget"
        ]
        assert (tmp_path / "a.dpledger").read_text() == content


@pytest.mark.parametrize(("price", "total"), [("0.5", 3), ("2.9", 3), ("3", 4), ("4.5", 5)])
def test_the_total_that_is_advised_after_a_first_question_has_room_for_it_and_is_small(tmp_path, price, total):
    code = f"""
df.dp(epsilon={price}).count()
for refused in (lambda: df.dp.session.extend(to_delta=1e-6, reason="more"), lambda: df[df.age > 30].dp(1).count()):
    try:
        refused()
    except pandas_dp.PandasDPError as error:
        print(*[line for line in str(error).splitlines() if "df.dp.protect(epsilon={total})" in line])
print(df.dp.protect(epsilon={total}).left.epsilon > 0)
"""
    extend, other, left = lines(code, tmp_path)
    assert f"set its total first: df.dp.protect(epsilon={total}), with unit= and max_rows= where " in extend
    assert other.startswith(
        f"df.dp.protect(epsilon={total})  # with what was answered before; unit= and max_rows= where "
    )
    assert left == "True"


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d.dp.query("age > 20"),
        lambda d: d.dp.assign(older=lambda t: t.age > 40),
        lambda d: d.dp.allot("part", epsilon=1),
        lambda d: d.dp.partition("sex", ["f", "m"], epsilon=1)["f"],
        lambda d: d.dp.query("age > 20").dp.drop("pay"),
    ],
)
def test_frames_of_steps_show_no_rows(step):
    df = people().assign(pid=[987654] * 8)
    df.dp.protect(epsilon=10, name=fresh())
    made = step(df)
    for text in (repr(made), str(made), made._repr_html_(), f"{made}"):
        assert f"protected, {made.shape[1]} columns, rows not shown" in text
        assert "987654" not in text
        assert f"{len(made)} row" not in text
    for plain in (made.head(), made[["age"]], made.copy(), made.reset_index(), pickle.loads(pickle.dumps(made)).copy()):
        assert type(plain) is pd.DataFrame
    assert "987654" in repr(made.head())
    made.dp(epsilon=0.1).count()


def test_the_number_of_a_hand_filtered_frame_is_not_public():
    df = people()
    session = df.dp.protect(epsilon=3, neighbors="replace_one", rows=True, name=fresh())
    assert df.dp(epsilon=1).count() == 8
    for made in (df[df.age > 65], df.copy(), df.dp.query("age > 65")):
        with pytest.raises(ArgumentValueError, match="is not public: leave rows= out"):
            made.dp.protect(session=session, rows=True)
    assert session.spent == "epsilon=0"


def test_a_name_is_compared_while_nobody_else_can_open_one(tmp_path, monkeypatch):
    """Another program opens the budget under a name that looks alike, after this one has read the terms on record."""
    real = Ledger.budget

    def meanwhile(ledger: Ledger, name: str) -> Any:
        found = real(ledger, name)
        ledger.open("visits", Budget.of(1), PrivacyUnit())
        return found

    monkeypatch.setattr(Ledger, "budget", meanwhile)
    for where in ({"ledger": tmp_path / "a.dpledger"}, {}):
        with pytest.raises(ArgumentValueError, match="the budget 'visits' exists: type name='visits'"):
            people().dp.protect(epsilon=1, name="Visits", **where)

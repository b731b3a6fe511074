"""What a review found of names of files, numbers of rows and identities that were taken for more than they say."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import interpreter
from support.frames import fresh

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError, UnverifiedFrameError, teaching
from pandas_dp.tables import frames
from pandas_dp.tables.protected import ProtectedFrame

SURE = 10**4


def table() -> pd.DataFrame:
    return pd.DataFrame({"sex": ["F", "M", None] * 100, "age": [30.0, 40.0, 50.0] * 100})


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    table().to_parquet(tmp_path / "a.parquet")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*counts as new content")
        yield tmp_path / "a.parquet"


def cut(df: pd.DataFrame) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, which will not do it in place some day
        df.dropna(inplace=True)


def parts(df: pd.DataFrame) -> dict[Any, pd.DataFrame]:
    return df.dp.partition("sex", ["F", "M"], epsilon=1)


@pytest.mark.parametrize("read_again", [True, False])
@pytest.mark.parametrize("ledger", [True, False])
def test_a_part_is_not_paid_for_another_content_after_the_session(path, tmp_path, ledger, read_again):
    """Those whose sex is missing were in the part F on one night and in M on the next, and spent what both did."""
    terms = {"epsilon": 1, "name": fresh(), "ledger": tmp_path / "a.dpledger" if ledger else None}
    df = pandas_dp.read_parquet(path)
    df["sex"] = df["sex"].fillna("F")
    session = df.dp.protect(**terms)
    parts(df)
    session.close()
    df = pandas_dp.read_parquet(path) if read_again else df
    df["sex"] = "M"
    df.dp.protect(**terms)
    with pytest.raises(BudgetExceededError):
        parts(df)


FORKS = """
import os, warnings, pandas as pd, pandas_dp
warnings.simplefilter("ignore")
pandas_dp.tables.readers.SETTLED = 0
df = pandas_dp.read_parquet({path!r})
for sex in "FM":
    pid = os.fork()
    if pid == 0:
        df["sex"] = df["sex"].fillna(sex)
        df.dp.protect(epsilon=1, ledger={ledger!r})
        try:
            df.dp.partition("sex", ["F", "M"], epsilon=1)
            print("paid", df.dp.session.spent, flush=True)
        except pandas_dp.BudgetExceededError:
            print("refused", flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_part_is_not_paid_for_another_content_in_another_process(path, tmp_path):
    done = interpreter.run(FORKS.format(path=str(path), ledger=str(tmp_path / "a.dpledger")))
    assert (done.returncode, done.stdout) == (0, "paid epsilon=1\nrefused\n"), done.stderr


def test_an_answer_about_other_rows_does_not_come_back_after_the_session(path):
    first, later = pandas_dp.read_parquet(path), pandas_dp.read_parquet(path)
    name = fresh()
    session = first.dp.protect(epsilon=10**6, name=name)
    first.dp(epsilon=SURE).mean("age", bounds=(0, 100))
    session.close()
    later["age"] = 0.0
    session = later.dp.protect(epsilon=10**6, name=name)
    assert later.dp(epsilon=SURE).mean("age", bounds=(0, 100)) < 1
    assert session.spent == f"epsilon={2 * SURE}"


def test_an_adopted_frame_is_no_file(path):
    df, capped = pandas_dp.read_parquet(path), pandas_dp.read_parquet(path)
    session = df.dp.protect(epsilon=10**6, name=fresh())
    capped["age"] = capped["age"].clip(upper=35)
    session.adopt(capped, reason="ages capped at 35")
    assert abs(capped.dp(epsilon=SURE).mean("age", bounds=(0, 100)) - (30 + 35 + 35) / 3) < 1
    assert abs(df.dp(epsilon=SURE).mean("age", bounds=(0, 100)) - 40) < 1


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("version", [None, "1"])
def test_cells_that_run_again_are_free_however_often(path, version, hold):
    """A third run paid a partition again: the rows of the first one had gone with its frame."""
    name, runs, spent = fresh(), [], []
    for _ in range(4):
        df = pandas_dp.read_parquet(path)
        session = df.dp.protect(epsilon=9, name=name, table=version and "t", version=version)
        df.dp(epsilon=1).mean("age", bounds=(0, 100))
        parts(df)["F"].dp(epsilon=0.5).count()
        runs += [df] * hold
        spent.append((str(session.spent), len(session.releases)))
    assert spent == [("epsilon=2", 3)] * 4


def test_terms_typed_anew_leave_the_file_what_it_is(path):
    df, again, name = pandas_dp.read_parquet(path), pandas_dp.read_parquet(path), fresh()
    df.dp.protect(epsilon=1, name=name)
    session = df.dp.protect(epsilon=2, name=name)
    parts(df)
    again.dp.protect(epsilon=2, name=name)
    parts(again)
    assert session.spent == "epsilon=1"


def test_what_steps_made_of_a_scan_is_not_its_file(path):
    scan = pandas_dp.scan_parquet(path)
    session = scan.dp.protect(epsilon=1, name=fresh())
    old = scan.dp.query("age > 45")
    session.close()
    whole = pandas_dp.scan_parquet(path)
    session = whole.dp.protect(epsilon=10**6, name=fresh())
    old.dp.protect(session=session)
    assert old.dp(epsilon=SURE).count() == 100
    assert whole.dp(epsilon=SURE).count() == 300


ROWS = {"epsilon": 9, "neighbors": "replace_one"}
WAYS: dict[str, Callable[[pd.DataFrame, str], Any]] = {
    "after the session": lambda d, name: d.dp.session.close() or d.dp.protect(**ROWS, rows=True, name=name),
    "a new version": lambda d, name: d.dp.protect(**ROWS, rows=True, name=name, table="t", version="2"),
    "a version, then": lambda d, name: [
        d.dp.protect(**ROWS, name=name, table="t", version="2", rows=rows) for rows in (None, True)
    ],
    "columns": lambda d, name: [
        d.insert(0, "x", 1),
        d.dp.protect(**ROWS, name=name),
        d.pop("x"),
        d.dp.protect(**ROWS, name=name, rows=True),
    ],
    "joined": lambda d, name: d.dp.protect(session=d.dp.session, rows=True, table="t", version="2"),
}


@pytest.mark.parametrize("said", [True, None])
@pytest.mark.parametrize("way", WAYS)
def test_the_number_of_rows_left_in_a_protected_object_is_not_public(way, said):
    told = []
    for cell in (1.0, None):
        df, name = pd.DataFrame({"v": [1.0] * 299 + [cell]}), fresh()
        df.dp.protect(**ROWS, rows=said, name=name, table="t", version="1")
        cut(df)
        with pytest.raises(ArgumentValueError, match=r"was protected before.*rows=1000") as caught:
            WAYS[way](df, name)
        told.append(str(caught.value))
        if hasattr(df.dp, "session"):
            told.append(df.dp.preview(epsilon=1).count().price)
    assert told[: len(told) // 2] == told[len(told) // 2 :]


def test_a_version_of_rows_that_were_left_has_no_public_number_of_rows():
    """Nor has an object that was not protected before and stands for that version."""
    df, other, name = table(), table(), fresh()
    df.dp.protect(**ROWS, name=name)
    cut(df)
    for frame, rows in ((df, None), (other, True)):
        if rows:
            with pytest.raises(ArgumentValueError, match="nobody said that its number of rows is public"):
                frame.dp.protect(**ROWS, name=name, table="t", version="2", rows=rows)
        frame.dp.protect(**ROWS, name=name, table="t", version="2")
        assert frame.dp.preview(epsilon=1).count().price == "epsilon=1"
        with pytest.raises(ArgumentValueError, match="shows how many rows there are"):
            frame.dp(epsilon=1).randomized_response("sex", keys=["F", "M"])


def test_terms_typed_anew_leave_the_rows_as_they_were():
    """As for the same terms: of what was written into an object meanwhile nothing is seen."""
    for again in ({"epsilon": 2}, {"epsilon": 1}):
        df, name = table(), fresh()
        df.dp.protect(epsilon=1, neighbors="replace_one", rows=True, name=name)
        cut(df)
        df.dp.protect(**again, neighbors="replace_one", rows=True, name=name)
        assert df.dp(epsilon=1).count() == 300
        assert df.dp.session.spent == "epsilon=0"


def test_a_number_that_is_typed_is_taken_and_a_new_object_has_its_own():
    df, name = table(), fresh()
    df.dp.protect(**ROWS, rows=True, name=name).close()
    df.dp.protect(**ROWS, rows=300, name=name)
    assert df.dp(epsilon=1).count() == 300
    again = table()
    again.dp.protect(session=df.dp.session, rows=True)
    assert again.dp(epsilon=1).count() == 300


def test_an_implicit_session_leaves_no_number_of_rows():
    code = """
import warnings, pandas as pd, pandas_dp
warnings.simplefilter("ignore")
df = pd.DataFrame({"v": [1.0, None]})
df.dp(epsilon=1).count()
df.dropna(inplace=True)
try:
    df.dp.protect(epsilon=3, neighbors="replace_one", rows=True)
except pandas_dp.ArgumentValueError as error:
    print("protected before" in str(error))
"""
    done = interpreter.run(code)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.parametrize("age", [50.0, 77.0])
@pytest.mark.parametrize(
    "make",
    [
        lambda d: d.dp.query("age == 77").groupby("sex").sample(n=1),
        lambda d: (late := d.dp.assign(low=lambda t: t["age"].where(t["age"] == 77)).dp.drop("sex")).clip(
            lower=late["low"], axis=0
        ),
        lambda d: (late := d.dp.query("age == 77").dp.drop("sex")).clip(upper=late["age"].max()),
    ],
)
def test_whether_what_pandas_made_is_refused_does_not_follow_from_the_rows(make, age):
    """Where there is no row, or no bound, pandas gives back the very object that was grouped or clipped."""
    df = pd.DataFrame({"age": [30.0, age] * 10, "sex": ["F", "M"] * 10})
    session = df.dp.protect(epsilon=3, name=fresh())
    made = make(df)
    with pytest.raises(UnverifiedFrameError):
        made.dp(epsilon=1).count()
    made.dp.protect(session=session)
    assert session.releases["kind"].tolist() == ["open", "adopt"]


ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((lambda one: one,), {}),
    (("age",), {}),
    ((["age"],), {}),
    (({},), {}),
    ((), {"n": 1}),
]
OBJECTS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "frame": lambda d: d,
    "groups": lambda d: d.groupby("s"),
    "groups of lists": lambda d: d.groupby(["s"], as_index=False),
    "windows": lambda d: d[["age"]].rolling(2),
    "times": lambda d: d.resample("D", on="t"),
}
SHOWN = {"plot", "hist", "boxplot", "style", "info", "dp"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("place", OBJECTS)
def test_no_method_of_pandas_gives_back_a_protected_frame_because_of_its_rows(place):
    whole = pd.DataFrame({"age": [3, 1], "s": ["x", "y"], "t": pd.date_range("2020", periods=2)})

    def same(name: str, arguments: tuple[Any, ...], options: dict[str, Any], rows: int) -> bool | None:
        frame = ProtectedFrame(whole.iloc[:rows])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = getattr(OBJECTS[place](frame), name)
                return (made(*arguments, **options) if callable(made) else made) is frame
            except Exception:  # what pandas refuses
                return None

    names = [name for name in dir(OBJECTS[place](ProtectedFrame(whole))) if name[0] != "_" and name not in SHOWN]
    names = [name for name in names if not name.startswith("to_")]
    found = {(name, same(name, *given, rows)) for name in names for given in ARGUMENTS for rows in (0, 2)}
    assert len({name for name, told in found if told is False}) > 10
    assert not {name for name, told in found if told} & {name for name, told in found if told is False} - {"pipe"}


@pytest.mark.parametrize("cell", [5, None])
def test_facts_of_a_schema_go_on_whatever_the_dtype(cell):
    """One missing value makes floats of integers."""
    df = pd.DataFrame({"age": [1, 2, 3] * 100})
    session = df.dp.protect(epsilon=9, name=fresh(), schema={"age": {"bounds": (0, 10), "dtype": "int64"}})
    other = pd.DataFrame({"age": [1, 2, 3, cell]})
    other.dp.protect(session=session)
    other.dp(epsilon=1)["age"].mean()
    text = other.astype({"age": "str"})
    text.dp.protect(session=session)
    with pytest.raises(ArgumentTypeError):
        text.dp(epsilon=1)["age"].mean()


def test_nothing_that_shows_rows_takes_another_read_of_a_file_whose_session_is_open(path):
    df = pandas_dp.read_parquet(path)
    session = df.dp.protect(epsilon=1, name=fresh())
    again = pandas_dp.read_parquet(path)
    with pytest.raises(ArgumentValueError, match="made from one or of its files"):
        pandas_dp.audit.check(pandas_dp.query(epsilon=1).count(), again, again.iloc[:-1], samples=500)
    with pytest.raises(ArgumentTypeError, match="these values are protected"):
        teaching.sensitivities(again["age"][:9], bounds=(0, 100), beta=1)
    session.close()
    teaching.sensitivities(again["age"][:9], bounds=(0, 100), beta=1)


def test_the_refusal_says_that_what_is_written_later_is_not_seen():
    assert "protected again" not in UnverifiedFrameError.TEXT
    assert "Later changes to a protected frame do not affect its answers" in UnverifiedFrameError.MORE


def test_threads_that_ask_a_frame_first_are_all_answered():
    code = """
import threading, warnings, pandas as pd, pandas_dp
from pandas_dp.session import registry
warnings.simplefilter("ignore")
df, out, gate = pd.DataFrame({"a": [1] * 300}), [], threading.Barrier(4)
check = registry.check_frame
def late(*given):
    check(*given)
    gate.wait()
registry.check_frame = late
def ask():
    try:
        out.append(int(df.dp(epsilon=1).count()))
    except pandas_dp.PandasDPError as error:
        out.append(type(error).__name__)
threads = [threading.Thread(target=ask) for _ in range(4)]
[one.start() for one in threads]
[one.join() for one in threads]
print(len(out), len(set(out)), df.dp.session.spent, type(out[0]).__name__)
"""
    done = interpreter.run(code)
    assert (done.returncode, done.stdout) == (0, "4 1 epsilon=1 int\n"), done.stderr


def test_no_name_of_a_file_is_written_into_a_ledger(path):
    """So it means nothing to another session, nor to another process."""
    df = pandas_dp.read_parquet(path)
    df.dp.protect(epsilon=9, name=fresh())
    known = frames.lookup(df)
    assert known is not None
    assert frames.read_token(df) not in (None, known.token, known.content)
    assert np.unique([known.token, known.content]).size == 1

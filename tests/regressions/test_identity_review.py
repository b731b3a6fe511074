"""Budgets that a review opened for the same people, or for free: each way is closed, and says why."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support import interpreter
from support.frames import fresh

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.names import canonical

HEAD = """
import warnings
import pandas as pd, pandas_dp
warnings.simplefilter("ignore")
df = pd.DataFrame({"age": [31, 45, 62] * 100})
"""


def people() -> pd.DataFrame:
    return pd.DataFrame({"age": np.resize([31, 45, 62], 300), "ward": np.resize(["A", "B"], 300)})


def run(code: str) -> str:
    done = interpreter.run(HEAD + code)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_an_implicit_session_has_the_total_that_is_charged_for_it():
    """Raised, it answered with noise that nothing counted afterwards."""
    code = """
df.dp(epsilon=1).count()
try:
    df.dp.session.extend(to=100, to_delta=1e-3, reason="x")
except pandas_dp.ArgumentValueError as error:
    print("df.dp.protect(epsilon=3)" in str(error))
print(df.dp.protect(epsilon=3, name="b").spent)
"""
    assert run(code) == "True\nepsilon=1\n"


def test_a_ledger_that_is_opened_is_charged_what_was_answered_before(tmp_path):
    path = tmp_path / "books.dpledger"
    people().dp.protect(epsilon=9, ledger=path).close()
    code = f"""
df.dp(epsilon=2).count()
steps, copy = df.dp.query("age > 20"), df.copy()
session = pandas_dp.open_session({str(path)!r})
session.adopt(df, reason="today's rows")
print(session.spent)
for frame in (steps, copy):
    try:
        frame.dp(epsilon=3).count()
    except pandas_dp.PandasDPError as error:
        print(type(error).__name__)
try:
    copy.dp.protect(epsilon=3, name="b")
except pandas_dp.ArgumentValueError as error:
    print("made from a table of the budget 'data'" in str(error))
"""
    assert run(code) == "epsilon=2\nNoSessionError\nNoSessionError\nTrue\n"


def test_parts_of_an_implicit_session_follow_it():
    code = """
part = df.dp.allot("n", epsilon=1)
parts = df.dp.partition("age", keys=[31, 45], epsilon=1)
sub = part.dp.allot("m", epsilon=0.5)
df.dp.protect(epsilon=9, name="a")
for frame in (part, part.copy(), parts[31], parts[31].head(), sub, sub.head()):
    try:
        frame.dp.protect(epsilon=50, name="b")
        print("accepted")
    except pandas_dp.ArgumentValueError as error:
        print("made from a table of the budget 'a'" in str(error))
"""
    assert run(code) == "True\n" * 6


@pytest.mark.parametrize("take", ["adopted", "part of a scan"])
def test_files_of_adopted_frames_and_of_parts_of_scans_take_no_second_budget(take, tmp_path, monkeypatch):
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    path = tmp_path / "a.parquet"
    people().to_parquet(path)
    if take == "adopted":
        people().dp.protect(epsilon=1, name=(name := fresh())).adopt(
            pandas_dp.read_parquet(path), reason="the same people"
        )
    else:
        scan = pandas_dp.scan_parquet(path)
        whole = scan.dp.protect(epsilon=9, name=fresh())
        part = scan.dp.allot("x", epsilon=1)
        whole.close()
        part.dp.protect(epsilon=3, name=(name := fresh()))
    for read in (pandas_dp.read_parquet, pandas_dp.scan_parquet):
        with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{name}'"):
            read(path).dp.protect(epsilon=3, name=fresh())


def test_a_frame_that_was_cut_where_it_lies_has_no_public_number_of_rows():
    df, name = people(), fresh()
    terms = {"epsilon": 1, "neighbors": "replace_one", "rows": True, "name": name}
    df.dp.protect(**terms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas, which will not do it in place some day
        df.drop(df.index[df["age"] == 31], inplace=True)
    df["one"] = 1
    with pytest.raises(ArgumentValueError, match="this object was protected before"):
        df.dp.protect(**terms)


def test_what_was_put_in_anew_is_not_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    path, name = tmp_path / "a.parquet", fresh()
    pd.DataFrame({"a": [0.0] * 300}).to_parquet(path)
    df = pandas_dp.read_parquet(path)
    df.dp.protect(epsilon=10**6, name=name)
    df["a"], df["x"] = 5.0, 1
    with pytest.warns(UserWarning, match="counts as new content"):
        df.dp.protect(epsilon=10**6, name=name)
    del df["x"]
    df.dp.protect(epsilon=10**6, name=name)
    assert abs(df.dp(epsilon=10**4).mean("a", bounds=(0, 10)) - 5) < 0.1
    again = pandas_dp.read_parquet(path)
    again.dp.protect(epsilon=10**6, name=name)
    assert abs(again.dp(epsilon=10**4).mean("a", bounds=(0, 10))) < 0.1


def replaced():
    """A frame whose budget is open on other terms than those it was protected on, and a frame that steps made of it."""
    df, name = people(), fresh()
    df.dp.protect(epsilon=1, name=name)
    steps, copy = df.dp.query("age > 0"), df.copy()
    copy.dp.protect(epsilon=2, name=name)
    copy.dp(epsilon=2).count()
    return df, steps


@pytest.mark.parametrize("which", [0, 1])
def test_terms_typed_anew_leave_a_frame_on_its_budget(which):
    with pytest.warns(UserWarning, match="replaces the terms of another table"):
        frame = replaced()[which]
    with pytest.raises(ArgumentValueError, match="already spends from the budget"):
        frame.dp.protect(epsilon=50, name=fresh())
    other = pd.DataFrame({"x": [1, 2]}).dp.protect(epsilon=9, name=fresh())
    with pytest.raises(ArgumentValueError, match="already spends from the budget"):
        frame.dp.protect(session=other)


PARTS = [lambda d: d.dp.allot("x", epsilon=1), lambda d: d.dp.partition("ward", ["A"], epsilon=1)["A"]]


@pytest.mark.parametrize("take", PARTS)
@pytest.mark.parametrize("make", [lambda p: p, lambda p: p.copy(), lambda p: p.dp.query("age > 0")])
@pytest.mark.parametrize("later", [False, True])
def test_frames_of_a_part_that_is_closed_belong_to_the_whole(take, make, later):
    df = people()
    df.dp.protect(epsilon=9, name=(name := fresh()))
    part = take(df)
    made = make(part)
    part.dp.session.close()
    if later:  # what is closed is forgotten when another budget is opened
        pd.DataFrame({"x": [1, 2]}).dp.protect(epsilon=9, name=fresh())
    with pytest.raises(ArgumentValueError, match=f"made from a table of the budget '{name}'"):
        made.dp.protect(epsilon=50, name=fresh())
    df.dp.session.close()
    made.dp.protect(epsilon=50, name=fresh())  # now nothing is open


def test_a_frame_that_was_vouched_for_stays_so():
    df = people()
    session = df.dp.protect(epsilon=9, name=fresh())
    made = df[df["age"] > 30]
    session.adopt(made, reason="rows by their own age", table="t", version="1")
    first = made.dp(epsilon=1).count()
    made.dp.protect(session=session, table="t", version="1")
    again = made.dp(epsilon=1).count()
    made["z"] = 1
    made.dp.protect(session=session)
    later = made.dp(epsilon=1).count()
    assert (first.lineage, again.lineage, later.lineage) == ("vouched",) * 3
    assert (first == again, session.spent) == (True, "epsilon=2")


@pytest.mark.parametrize("unseen", [*"\u2065\ufff0\U000e0080\U000e0fff\U0001d159\U00013441\U00016fe4"], ids=ascii)
def test_names_with_characters_that_no_screen_shows_are_the_plain_ones(unseen):
    assert canonical(f"visits{unseen}") == canonical("visits")
    with pytest.raises(ArgumentValueError, match="without invisible characters"):
        people().dp.protect(epsilon=1, name=f"{fresh()}{unseen}")


def test_scalars_of_arrow_are_refused_like_those_of_numpy():
    df = people()
    df.dp.protect(epsilon=9, name=fresh())
    for ask in (
        lambda d: d.value_counts("ward", keys=[pa.scalar("A")]),
        lambda d: d.mean("age", bounds=(0, pa.scalar(100))),
        lambda d: d.select([pa.scalar(20)], score="age >= candidate"),
    ):
        with pytest.raises(ArgumentTypeError, match="is a pyarrow scalar, which may have been computed from the rows"):
            ask(df.dp(epsilon=1))
    assert df.dp.session.spent == "epsilon=0"


def test_a_refused_total_of_an_implicit_session_names_the_way(tmp_path):
    assert "set its total" in run(
        'df.dp(epsilon=1).count()\ntry:\n    df.dp.session.extend(to=6, reason="x")\n'
        "except pandas_dp.PandasDPError as error:\n    print(error)\n"
    )
    assert pandas_dp.__version__


def test_a_choice_is_not_found_again_as_another_mechanism_drew_it():
    """With a delta the exponential mechanism picks; the stored pick was permute-and-flip's, and said so no more."""
    code = """
session = df.dp.protect(epsilon=9, name="a")
first = df.dp(epsilon=1).mode("age", keys=[31, 45, 62])
assert df.dp(epsilon=1).mode("age", keys=[31, 45, 62]).mechanism == first.mechanism == "permute-and-flip"
print(session.spent)
session.extend(to_delta=1e-6, reason="more")
print(df.dp(epsilon=1).mode("age", keys=[31, 45, 62]).mechanism)
spent = session.spent
print(df.dp(epsilon=1).mode("age", keys=[31, 45, 62]).mechanism, session.spent == spent)
"""
    assert run(code).splitlines() == ["epsilon=1", "exponential mechanism", "exponential mechanism True"]

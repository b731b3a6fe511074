"""What newcomers tripped over in their frames: rows that no answer counts, columns added since they protected."""

from __future__ import annotations

import inspect

import pandas as pd
import pytest
from support.frames import fresh, people, protected

from pandas_dp import ArgumentValueError
from pandas_dp.accessor.accessor import Accessor

EXACT = 10**5  # noise is 0 but for a probability below e**-1000
REST = "rows without 'pid' are not used; intervals do not cover dropped rows"
LEFT_OUT = f"at most 2 rows of each 'pid' are used; {REST}"
WEIGHED = "all rows of each 'pid' count, together as at most 2 rows; rows without 'pid' are not used; "
WEIGHED += "intervals do not cover this"
BLOCK = f"all rows of each 'pid' are used, in one block; {REST}"
CUT = "in a sum the total of each 'pid' is clipped to the total of 2 rows at a bound; rows without 'pid' are not used; "
CUT += "intervals do not cover what is clipped or left out"


@pytest.fixture(scope="module")
def owned():
    """Three rows of one unit, two of another, one of nobody."""
    df = pd.DataFrame({"pid": [1, 1, 1, 2, 2, None], "x": [1.0] * 6, "sex": list("ffmmmm")})
    return protected(df, epsilon=10**6, unit="pid", max_rows=2)


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.count(),
        lambda d: d.sum("x", bounds=(0, 2)),
        lambda d: d.sum("x", bounds="private"),
        lambda d: d.histogram("sex", keys=["f", "m"]),
        lambda d: d.groupby("sex", keys=["f", "m"]).size(),
        lambda d: d.groupby("sex", keys=["f", "m"])["x"].sum(bounds=(0, 2)),
        lambda d: d.mean("x", bounds=(0, 2)),
        lambda d: d.median("x", bounds=(0, 2)),
        lambda d: d.sample_and_aggregate(lambda b: b["x"].mean(), bounds=(0, 2), blocks=2),
    ],
)
def test_answers_say_which_rows_of_a_unit_do_not_count(owned, ask):
    answer = ask(owned.dp(epsilon=EXACT))
    asked = str(answer.query)
    note = CUT if "sum(" in asked else BLOCK if "sample_and" in asked else WEIGHED if "mean(" in asked else LEFT_OUT
    assert answer.notes[-1] == note
    assert f"\n  {note}" in repr(answer)


def test_rows_beyond_the_bound_and_rows_of_nobody_do_not_count(owned):
    assert owned.dp(epsilon=EXACT).count() == 4
    one = protected(people(), epsilon=10**6, unit="pid", max_rows=1)
    assert one.dp(epsilon=EXACT).count().notes[-1].startswith("at most 1 row of each 'pid' is used")
    assert protected().dp(epsilon=1).count().notes == ()


def test_help_says_it():
    text = " ".join(inspect.getdoc(Accessor.protect).split())
    assert "Rows with a missing value in it are in no answer" in text
    assert (
        "Further rows of a unit are in no answer, so counts are too small. In a sum, the total of all rows of a unit"
        in text
    )


# -- columns added since -------------------------------------------------------------------------------------------


def test_protecting_again_takes_new_columns():
    df, name = pd.DataFrame({"a": range(1000)}), fresh()
    session = df.dp.protect(epsilon=10**6, name=name)
    count = df.dp(epsilon=1).count()
    df["new"] = 1
    with pytest.raises(
        ArgumentValueError,
        match=r"after it was protected.*df\.dp\(.*\)\.assign.*df\.dp\.protect\(session=df\.dp\.session\)",
    ):
        df.dp(epsilon=EXACT).mean("new", bounds=(0, 2))
    with pytest.warns(UserWarning, match="counts as new content"):
        assert df.dp.protect(epsilon=10**6, name=name) is session
    assert abs(df.dp(epsilon=EXACT).mean("new", bounds=(0, 2)) - 1) < 0.01
    assert session.spent == "epsilon=100001"
    assert count.query.call == "count()"
    df["new"] = 2
    df.dp.protect(epsilon=10**6, name=name)  # of the same names it stays what it was
    assert abs(df.dp(epsilon=EXACT).mean("new", bounds=(0, 2)) - 1) < 0.01
    assert session.spent == "epsilon=100001"
    df.dp.protect(epsilon=10**6, name=name, table="t", version="2")  # unless the owner says that it is another version
    assert abs(df.dp(epsilon=EXACT).mean("new", bounds=(0, 2)) - 2) < 0.01


def test_two_frames_of_one_content_differ_once_columns_are_added():
    """They shared a name for their content; answers and parts about the new columns must not be shared."""
    one, two, name = people(), people(), fresh()
    session = one.dp.protect(epsilon=10**6, name=name)
    two.dp.protect(session=session)
    for value, frame in enumerate((one, two)):
        frame["new"] = value
        frame.dp.protect(session=session)
        assert abs(frame.dp(epsilon=EXACT).mean("new", bounds=(0, 2)) - value) < 0.01
    assert session.spent == "epsilon=200000"
    for frame in (one, two):
        frame.dp.partition("new", [0, 1], epsilon=1)
    assert session.spent == "epsilon=200002"


def test_columns_added_under_replace_one_leave_the_number_of_rows_public_where_the_owner_says_so():
    df, name = people(), fresh()
    session = df.dp.protect(epsilon=3, neighbors="replace_one", rows=True, name=name)
    kept = df.dp.query("age > 30")
    other = people().iloc[1:]
    for frame in (df, kept, other):
        frame["new"] = 1
        frame.dp.protect(session=session)
    for spent, frame in enumerate((df, kept, other), 1):
        frame.dp(epsilon=1).count()
        assert session.spent == f"epsilon={spent}"
    with pytest.raises(ArgumentValueError, match="was protected before and may hold other rows"):
        df.dp.protect(session=session, rows=True)
    df.dp.protect(session=session, rows=8)
    assert df.dp(epsilon=1).count() == 8
    assert session.spent == "epsilon=3"

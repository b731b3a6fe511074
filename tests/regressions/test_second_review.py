"""What a reviewer found after the classical mechanisms were in."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd
import pytest

from pandas_dp import local
from pandas_dp.errors import ArgumentTypeError, LedgerError, UnverifiedFrameError
from pandas_dp.kinds import exact_number


def fresh() -> str:
    return uuid.uuid4().hex


def protected(**more) -> pd.DataFrame:
    df = pd.DataFrame({"n": [1, 2, 3, 4] * 25, "x": [0.5] * 100, "t": pd.to_timedelta(range(100), unit="min")})
    df.dp.protect(epsilon=100, name=fresh(), **more)
    return df


@pytest.mark.parametrize("value", [-1, 2, 1, 0, "yes", None])
@pytest.mark.parametrize("argument", ["other", "null"])
@pytest.mark.parametrize("workload", ["bins", "ranges"])
def test_other_and_null_are_bools_or_refused(argument, value, workload):
    """A number of parts that does not fit the labels fails or not by whether a row lies outside the edges."""
    df = protected()
    for ask in (
        lambda d: d.histogram("x", bins=[0, 1, 2], workload=workload, **{argument: value}),
        lambda d: d.value_counts("n", keys=[1, 2], **{argument: value}),
    ):
        with pytest.raises(ArgumentTypeError, match=f"{argument}=True"):
            ask(df.dp(epsilon=1))
    assert df.dp.session.spent == "epsilon=0"
    assert len(df.dp(epsilon=1).histogram("x", bins=[0, 1], **{argument: np.True_})) == 2


def test_a_frame_made_by_a_step_is_no_whole_table_when_protected_anew():
    df = protected(neighbors="replace_one")
    part = df.dp.query("n > 1")
    same = df.dp.assign(z=1).dp.query("z == 1")
    df.dp.session.close()
    for made in (part, same):
        session = made.dp.protect(epsilon=1, neighbors="replace_one", name=fresh())
        made.dp(epsilon=1).count()
        assert session.spent == "epsilon=1"
    session = df.dp.protect(epsilon=1, neighbors="replace_one", name=fresh())
    assert df.dp(epsilon=1).count() == 100
    assert session.spent == "epsilon=0"


def test_the_frame_that_opened_an_implicit_session_can_be_protected_with_public_rows():
    df = protected()
    df.dp.protect(epsilon=100, neighbors="replace_one", name=df.dp.session.name)
    assert df.dp(epsilon=1).count() == 100


def test_labels_of_an_answer_can_be_changed_without_changing_those_of_the_next():
    df = protected()
    for column, keys, other in (("n", [1, 2], 9), ("x", [0.5, 1.5], 7.5)):
        answer = df.dp(epsilon=1).value_counts(column, keys=keys, sort=False)
        np.asarray(answer.index)[0] = other
        assert df.dp(epsilon=2).value_counts(column, keys=keys, sort=False).index.tolist() == keys


def test_a_duration_is_no_number_of_rows():
    df = protected()
    hour, five = (pd.Timedelta("0h"), pd.Timedelta("2h")), pd.Timedelta("5min")
    for ask in (
        lambda d: d.median("t", bounds=hour),
        lambda d: d.quantile("x", [0.1, 0.5, 0.9], bounds=(0, 1)),
        lambda d: d.histogram("x", bins=[0, 1], workload="ranges"),
        lambda d: d.mode("n", keys=[1, 2]),
        lambda d: d.count(),
    ):
        with pytest.raises(ArgumentTypeError, match="within=5"):
            ask(df.dp(within=five))
    assert df.dp.session.spent == "epsilon=0"


def test_a_renamed_column_is_still_checked():
    df = protected()
    df["x"] = 5.0
    df["q"] = 3.0
    for rename in ({"x": "y"}, {"q": "y"}):
        with pytest.raises(UnverifiedFrameError):
            df.dp(epsilon=1).rename(rename).mean("y", bounds=(0, 10))
    assert df.dp.session.spent == "epsilon=0"


def test_a_public_count_of_a_versioned_table_is_answered_again(tmp_path):
    ledger, name = tmp_path / "rows.dpledger", fresh()
    for _ in range(2):
        df = pd.DataFrame({"n": [1, 2, 3]})
        terms = {"epsilon": 1, "neighbors": "replace_one", "ledger": ledger, "name": name}
        session = df.dp.protect(**terms, table="t", version="1")
        answer = df.dp(epsilon=0.5).count()
        session.close()
    assert session.spent in ("epsilon=0", "epsilon=0.5")  # reopened, the number of rows is not known to be the same
    assert isinstance(answer.value, int)


def test_numpy_answers_at_collection_are_keys():
    for answers, keys in ((np.array([1] * 60), [0, 1]), (np.array([True] * 60), [False, True])):
        kept = sum(local.randomize(answer, keys=keys, epsilon=20) == keys[1] for answer in answers)
        assert kept >= 58  # each is lost with probability e^-20


@pytest.mark.parametrize("first", [2**60, float(2**60)])
def test_numbers_that_are_equal_but_written_otherwise_do_not_share_a_cache(first):
    exact_number(first, "x")
    assert exact_number(2**60, "x") == 2**60
    assert exact_number(float(2**60), "x") == 1_152_921_504_606_847_000  # the decimal that Python writes for it


def test_terms_are_not_changed_by_another_frame_of_the_same_name():
    one, two, name = protected(), pd.DataFrame({"n": [1]}), fresh()
    one.dp.session.close()
    one.dp.protect(epsilon=1, name=name)
    with pytest.raises(LedgerError):
        two.dp.protect(epsilon=100, name=name)
    assert one.dp.session.left == "epsilon=1"

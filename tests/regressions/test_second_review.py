"""What a reviewer found after the classical mechanisms were in."""

from __future__ import annotations

import copy
import datetime as dt
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pandas_dp import local
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.scores import FrameScores
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import exact_number


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
    with pytest.raises(ArgumentTypeError, match=r"type the value itself"):  # such as df.x.isna().any()
        df.dp(epsilon=1).histogram("x", bins=[0, 1], **{argument: np.True_})
    assert len(df.dp(epsilon=1).histogram("x", bins=[0, 1], **{argument: True})) == 2


def test_a_frame_made_by_a_step_is_no_whole_table_when_protected_anew():
    df = protected(neighbors="replace_one", rows=True)
    part = df.dp.query("n > 1")
    same = df.dp.assign(z=1).dp.query("z == 1")
    df.dp.session.close()
    for made in (part, same):
        with pytest.raises(ArgumentValueError, match="its number of rows is not public"):
            made.dp.protect(epsilon=1, neighbors="replace_one", rows=True, name=fresh())
        session = made.dp.protect(epsilon=1, neighbors="replace_one", name=fresh())
        made.dp(epsilon=1).count()
        assert session.spent == "epsilon=1"
    session = df.dp.protect(epsilon=1, neighbors="replace_one", rows=100, name=fresh())
    assert df.dp(epsilon=1).count() == 100
    assert session.spent == "epsilon=0"


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
    df["x"] = 500.0
    df["q"] = 3.0
    with pytest.raises(ArgumentValueError, match="'q' was put into this frame after"):
        df.dp(epsilon=1).rename({"q": "y"}).mean("y", bounds=(0, 10))
    with pytest.raises(ArgumentValueError, match="'q' was put into this frame after it was protected"):
        df.dp(epsilon=1).mean("q", bounds=(0, 10))
    assert df.dp.session.spent == "epsilon=0"
    assert df.dp(epsilon=1).rename({"x": "y"}).mean("y", bounds=(0, 1000)) < 100  # the column that was protected


def test_a_public_count_of_a_versioned_table_is_answered_again(tmp_path):
    ledger, name = tmp_path / "rows.dpledger", fresh()
    for _ in range(2):
        df = pd.DataFrame({"n": [1, 2, 3]})
        terms = {"epsilon": 1, "neighbors": "replace_one", "rows": True, "ledger": ledger, "name": name}
        session = df.dp.protect(**terms, table="t", version="1")
        answer = df.dp(epsilon=0.5).count()
        session.close()
    assert session.spent == "epsilon=0"
    assert answer.value == 3


def test_numpy_answers_at_collection_are_keys():
    for answers, keys in ((np.array([1] * 60), [0, 1]), (np.array([True] * 60), [False, True])):
        kept = sum(local.randomize(answer, keys=keys, epsilon=20) == keys[1] for answer in answers)
        assert kept >= 58  # each is lost with probability e^-20


@pytest.mark.parametrize("first", [2**60, float(2**60)])
def test_numbers_that_are_equal_but_written_otherwise_do_not_share_a_cache(first):
    exact_number(first, "x")
    assert exact_number(2**60, "x") == 2**60
    assert exact_number(float(2**60), "x") == 1_152_921_504_606_847_000  # the decimal that Python writes for it


class Uncopied:
    """A cell that cannot be copied or compared."""

    def __deepcopy__(self, memo):
        raise ValueError

    def __eq__(self, other):
        raise ValueError

    __hash__ = None


ODD = {
    "a date beyond nanoseconds": pd.Series(np.array(["9999-12-31"], dtype="M8[us]")),
    "a date far back": pd.Series(np.array(["-9999-12-31"], dtype="M8[s]")),
    "a date in a time zone": pd.Series(np.array(["9999-12-31"], dtype="M8[s]")).dt.tz_localize("UTC"),
    "a long duration": pd.Series(np.array([10**13], dtype="m8[s]")),
    "a signalling NaN": pd.Series([Decimal("sNaN")], dtype=object),
    "half a character": pd.Series(["\ud800"], dtype=object),
    "a cell that cannot be copied": pd.Series([Uncopied()], dtype=object),
    "an arrow date": pd.Series([dt.date(9999, 12, 31)], dtype=pd.ArrowDtype(pa.date32())),
}


@pytest.mark.parametrize("name", ODD)
def test_no_cell_keeps_a_score_of_the_whole_table_from_being_asked(name):
    """Odd rows count like others: one of them does not make all scores 0."""
    scores = FrameScores(lambda frame, candidate: candidate * len(frame), (0, 1), Fraction(1), 1)
    before, after = (pd.DataFrame({"t": pd.concat([ODD[name]] * rows, ignore_index=True)}) for rows in (3, 4))
    one, two = (scores.compute(PandasView(frame, {}), PrivacyUnit()).open() for frame in (before, after))
    assert (one, two) == ([0, 3], [0, 4])


@pytest.mark.parametrize("dtype", [pd.ArrowDtype(pa.date32()), pd.ArrowDtype(pa.date64()), "M8[us]"])
def test_functions_run_beside_every_kind_of_dates(dtype):
    days = pd.Series([dt.date(9999, 12, 31)] * 5000, dtype=pd.ArrowDtype(pa.date32()))
    times = days.astype(dtype) if dtype != "M8[us]" else pd.Series(np.array(["9999-12-31"] * 5000, dtype=dtype))
    df = pd.DataFrame({"t": times, "y": 1.0})
    df.dp.protect(epsilon=1000, name=fresh())
    answer = df.dp(epsilon=100).sample_and_aggregate(lambda d: d.y.mean(), bounds=(0, 10), blocks=50)
    assert answer.value == pytest.approx(1, abs=0.01)


def test_a_single_centre_of_a_single_column_is_found():
    """A mean of 25 blocks with noise of scale 0.008: it misses by 1 with a chance of exp(-125)."""
    df = pd.DataFrame({"x": np.full(2000, 3.0)})
    df.dp.protect(epsilon=1000, name=fresh())
    centre = df.dp(epsilon=500).kmeans(["x"], k=1, bounds={"x": (0, 100)})
    assert float(centre["x"].iloc[0]) == pytest.approx(3, abs=1)


@pytest.mark.parametrize("delta", [0.01, 0.001, 1e-6])
@pytest.mark.parametrize("epsilon", [1, 30, 45, 1000])
def test_smooth_noise_at_large_prices_is_drawn(epsilon, delta):
    df = pd.DataFrame({"x": np.linspace(0, 100, 1000)})
    df.dp.protect(epsilon=10**6, delta=0.5, delta_reserved=0.4, name=fresh())
    for noise in ("gaussian", "laplace"):
        answer = df.dp(epsilon=epsilon, delta=delta).median("x", bounds=(0, 100), method="smooth", noise=noise)
        assert 0 <= answer.value <= 100


def test_a_winsorized_mean_without_noise_is_answered():
    """One block at epsilon 2,000: its quartiles miss its only value with a chance of 2**31 cells e^-62, below 1e-17."""
    for _ in range(20):
        df = pd.DataFrame({"x": np.random.default_rng().choice([0, 2**-30, 2**-29, -(2**-29)], 20)})
        df.dp.protect(epsilon=3000, name=fresh())
        answer = df.dp(epsilon=2000).mean("x", bounds=(-0.5, 0.5), method="winsorized")
        assert abs(answer) <= 2**-20


def test_a_function_that_changes_what_a_cell_holds_does_not_change_the_table():
    df = pd.DataFrame({"tags": [["a"] for _ in range(500)]})
    before = copy.deepcopy(df)
    df.dp.protect(epsilon=1000, name=fresh())

    def grow(block):
        for tags in block["tags"]:
            tags.append("b")
        return float(block["tags"].map(len).mean())

    answers = [df.dp(epsilon=100).sample_and_aggregate(grow, bounds=(0, 10), blocks=50).value for _ in range(2)]
    assert answers == pytest.approx([2, 2], abs=0.01)
    pd.testing.assert_frame_equal(df, before)


def test_an_error_whose_attributes_raise_does_not_escape_the_trial():
    class Odd(KeyError):
        @property
        def args(self):
            raise RuntimeError("of the function's own")

    def fails(block):
        raise Odd

    df = protected()
    with pytest.raises(ArgumentTypeError):
        df.dp(epsilon=1).sample_and_aggregate(fails, bounds=(0, 1))
    assert df.dp.session.spent == "epsilon=0"

"""Releases drop into any code, and lose their error bars with their value."""

from __future__ import annotations

import copy
import decimal
import json
import math
import operator
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_dp.aggregates.uncertainty import Additive, NoError
from pandas_dp.core.privacy import Price
from pandas_dp.release.values import (
    FloatRelease,
    FrameRelease,
    IntRelease,
    ObjectRelease,
    Release,
    SeriesRelease,
    TextRelease,
)
from tests.support.releases import (
    EVERY,
    NOISE,
    NUMBERS,
    RANKS,
    VECTORS,
    a_frame,
    a_series,
    release,
    same,
)

# The kind of a release ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "form", "plain"),
    [
        (1.5, FloatRelease, float),
        (np.float64(1.5), FloatRelease, float),
        (np.float32(1.5), FloatRelease, float),
        (7, IntRelease, int),
        (np.int64(7), IntRelease, int),
        (2**80, IntRelease, int),
        ("x", TextRelease, str),
        (pd.Series([1]), SeriesRelease, pd.Series),
        (pd.DataFrame({"a": [1]}), FrameRelease, pd.DataFrame),
        (True, ObjectRelease, bool),
        (pd.Timestamp("2013"), ObjectRelease, pd.Timestamp),
        (pd.Timedelta(1, "D"), ObjectRelease, pd.Timedelta),
        (decimal.Decimal(1), ObjectRelease, decimal.Decimal),
        (("a", 1), ObjectRelease, tuple),
        (None, ObjectRelease, type(None)),
    ],
)
def test_kind_follows_the_value(value, form, plain):
    made = release(value)
    assert type(made) is form
    assert isinstance(made, Release)
    assert type(made.value) is plain
    assert same(made.value, value)


@EVERY
def test_provenance_is_there(make):
    made = make()
    assert (made.epsilon, made.delta, made.rho, made.spent) == (0.2, 0.0, None, "epsilon 0.2")
    assert made.mechanism == "discrete Laplace"
    assert made.unit.column == "pid"
    assert made.neighbors == "replace_one"
    assert type(made.neighbors) is str
    assert (made.lineage, made.assumes, made.notes) == ("source", None, ("a note",))
    assert made.query.call == "count()"


def test_prices_in_other_currencies():
    gaussian = release(1, price=Price(Fraction(1), Fraction(1, 10**6)))
    assert (gaussian.epsilon, gaussian.delta, gaussian.rho) == (1.0, 1e-6, None)
    concentrated = release(1, price=Price(rho=Fraction(1, 4)))
    assert (concentrated.epsilon, concentrated.delta, concentrated.rho) == (None, None, 0.25)
    public = release(1, NoError(), spent="nothing")
    assert (public.epsilon, public.delta, public.rho) == (0.0, 0.0, None)


# Scalars are numbers and texts ----------------------------------------------------------------------------

CHECKS = {
    "v + 1": lambda v: v + 1,
    "v / 2": lambda v: v / 2,
    "-v": operator.neg,
    "+v": operator.pos,
    "abs(v)": abs,
    "round(v, 1)": lambda v: round(v, 1),
    "int(v)": int,
    "f'{v:.1f}'": lambda v: f"{v:.1f}",
    "f'{v:,.0f}'": lambda v: f"{v:,.0f}",
    "f'{v}'": lambda v: f"{v}",
    "str(v)": str,
    "v > 1000": lambda v: v > 1000,
    "math.sqrt(v)": math.sqrt,
    "np.isclose": lambda v: bool(np.isclose(v, float(v))),
    "np.sqrt(v)": np.sqrt,
    "np.array([v])": lambda v: np.array([v]),
    "pd.Series([v])": lambda v: pd.Series([v]),
    "assign(m=v)": lambda v: pd.DataFrame({"x": [1, 2]}).assign(m=v)["m"],
    "Series > v": lambda v: pd.Series([1, 2_000_000]) > v,
    "json.dumps": json.dumps,
    "sum([v, v])": lambda v: sum([v, v]),
    "hash": lambda v: {v: 1}[v],
    "isinstance": lambda v: isinstance(v, int | float),
    "range(int(v))": lambda v: len(range(int(v))),
    "max with a plain number": lambda v: max([v, 10**9]),
    "divmod": lambda v: divmod(v, 7),
}


@NUMBERS
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_numbers_act_as_plain_numbers(make, check):
    """The result and its type (for arrays the dtype) are those of the plain number: no error bar survives."""
    got, wanted = check(make()), check(make().value)
    assert type(got) is type(wanted)
    if isinstance(wanted, np.ndarray | pd.Series):
        assert got.dtype == wanted.dtype
        got, wanted = got.tolist(), wanted.tolist()
        assert [type(x) for x in got] == [type(x) for x in wanted]
    assert got == wanted


@NUMBERS
def test_numbers_sort(make):
    assert sorted([make(), make().value - 1])[0] == make().value - 1


@pytest.mark.parametrize(
    "check",
    [
        lambda v: v + "",
        lambda v: v.strip(),
        lambda v: v[:],
        lambda v: f"{v:>5}",
        lambda v: f"{v}",
        str,
        json.dumps,
        lambda v: {v: 1}[str(v)],
        lambda v: pd.Series([v, "x"]).dtype,
        lambda v: v == "ICU",
        lambda v: "".join([v]),
    ],
)
def test_text_acts_as_plain_text(check):
    got, wanted = check(release("ICU")), check("ICU")
    assert type(got) is type(wanted)
    assert got == wanted


def test_objects_do_not_deceive():
    assert not release(False)
    assert release(True)
    assert release(pd.Timestamp("2013")) == pd.Timestamp("2013")
    assert release(pd.Timestamp("2013")) == release(pd.Timestamp("2013"))
    assert release(pd.Timestamp("2013")) != pd.Timestamp("2014")
    assert {release(("a", 1)): 5}[("a", 1)] == 5
    assert str(release(decimal.Decimal("1.50"))) == "1.50"
    assert f"{release(pd.Timestamp('2013-01-31')):%d.%m.%Y}" == "31.01.2013"


# Vectors are pandas objects -------------------------------------------------------------------------------


def _itruediv(v):
    v /= v.sum()
    return v


def _iadd(v):
    v += 1
    return v


DERIVED = {
    "v / v.sum()": lambda v: v / v.sum(),
    "v + 1": lambda v: v + 1,
    "v /= v.sum()": _itruediv,
    "v += 1": _iadd,
    "v[mask]": lambda v: v[v > 1],
    "iloc": lambda v: v.iloc[:2],
    "loc": lambda v: v.loc[["a"]],
    "np.log": np.log,
    "copy": lambda v: v.copy(),
    "reset_index": lambda v: v.reset_index(drop=True),
    "reindex": lambda v: v.reindex(["a", "z"]),
    "astype": lambda v: v.astype(float),
    "where": lambda v: v.where(v > 1),
    "cumsum": lambda v: v.cumsum(),
    "clip": lambda v: v.clip(0, 5),
    "rename": lambda v: v.rename({"a": "A"}),
    "map": lambda v: v.map(lambda x: x),
    "groupby": lambda v: v.groupby(level=0).sum(),
    "concat rows": lambda v: pd.concat([v, v]),
    "concat columns": lambda v: pd.concat([v, v], axis=1),
    "describe": lambda v: v.describe(),
    "unary minus": operator.neg,
}


@VECTORS
@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_derived_vectors_are_plain(make, derive):
    made = make()
    got, wanted = derive(made), derive(made.value)
    assert type(got) is type(wanted)
    assert type(got) in (pd.Series, pd.DataFrame)
    assert got.equals(wanted)
    assert got.attrs == {}
    assert not hasattr(got, "_provenance")
    assert make().value.equals(made.value)


def test_series_to_frame_and_frame_to_series_are_plain():
    series, frame = a_series(), a_frame()
    assert type(series.to_frame()) is pd.DataFrame
    assert type(series.reset_index()) is pd.DataFrame
    assert type(pd.DataFrame({"n": series})) is pd.DataFrame
    assert type(frame["x"]) is pd.Series
    assert type(frame.loc["a"]) is pd.Series
    assert type(frame.sum()) is pd.Series
    assert type(frame.T) is pd.DataFrame
    assert (series["a"], series.sum(), series.name, series.index.name) == (10, 60, "n", "ward")


@VECTORS
def test_attrs_are_empty_and_metadata_is_pandas_own(make):
    made = make()
    assert made.attrs == {}
    assert made.value.attrs == {}
    assert made.table().attrs == {}
    assert type(made)._metadata == type(made.value)._metadata


def test_attrs_of_the_answer_are_dropped():
    series = pd.Series([1, 2])
    series.attrs["pandas_dp"] = "session-id"
    made = release(series, Additive(NOISE))
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["pandas_dp"] = "session-id"
    for vector in (made, release(frame)):
        assert vector.attrs == vector.value.attrs == vector.table().attrs == {}
        assert b"session-id" not in pickle.dumps(vector)
    assert series.attrs  # the caller's own object is left alone


def test_changed_in_place_shows_no_error_bar():
    made = a_series()
    made["a"] = 99
    assert made["a"] == 99
    assert repr(made) == repr(pd.Series(made))
    assert made._repr_html_() is None
    assert made.value["a"] == 10
    assert made.table()["value"].tolist() == [10, 20, 30]
    for copied in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert type(copied) is pd.Series
        assert copied["a"] == 99
    named = a_series()
    named.name = "other"
    assert pickle.loads(pickle.dumps(named)).name == "other"
    frame = a_frame()
    frame.loc["a", "x"] = 99
    assert "epsilon" not in repr(frame)
    assert "epsilon" not in frame._repr_html_()
    frame = a_frame()
    frame.pop("x")
    assert repr(frame) == repr(pd.DataFrame(frame))


def test_what_is_handed_out_is_not_shared():
    extra = pd.Series([1, 2, 3], name="size")
    made = a_series(extras=(extra,))
    plain, known, table = made.value, made.interval(), made.table()
    plain["a"] = 99
    known.loc["a"] = 99
    table.loc["a"] = 99
    assert made.value["a"] == 10
    assert made.interval().loc["a", "lower"] == -140
    assert made.table().loc["a"].tolist() == [10, -140, 160, 1]
    assert extra.tolist() == [1, 2, 3]


# Copies and pickles keep everything -----------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize(
    "duplicate",
    [lambda r: pickle.loads(pickle.dumps(r)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deep"],
)
def test_duplicates_keep_everything(make, duplicate):
    made = make()
    twin = duplicate(made)
    assert type(twin) is type(made)
    assert same(twin.value, made.value)
    assert repr(twin) == repr(made)
    assert twin.to_json() == made.to_json()
    assert twin.table().equals(made.table())
    assert twin.unit == made.unit
    assert twin.query == made.query


def test_extras_and_assumption_survive_a_pickle():
    made = a_series(extras=(pd.Series([1, 2, 3], name="size"),), assumes="sensitivity 3")
    twin = pickle.loads(pickle.dumps(made))
    assert twin.assumes == "sensitivity 3"
    assert twin.table()["size"].tolist() == [1, 2, 3]


FIRST_STEPS = {
    "head": lambda v: v.head(2),
    "tail": lambda v: v.tail(1),
    "head of the last": lambda v: v.tail(2).head(-1),
    "round": lambda v: v.round(),
    "built-in round": lambda v: round(v, 1),
    "tens": lambda v: v.round(-1),
}


def ends_of(made):
    return made.interval(0.9)


@VECTORS
@pytest.mark.parametrize("step", FIRST_STEPS.values(), ids=FIRST_STEPS)
def test_first_steps_keep_error_bars(make, step):
    made = make()
    got, wanted = step(made), step(made.value)
    assert type(got) is type(made)
    assert got.value.equals(wanted)
    assert got.equals(wanted)
    before, ends = ends_of(made).loc[got.index], ends_of(got)
    assert ends.index.equals(got.index)
    assert (ends.to_numpy()[:, ::2] <= before.to_numpy()[:, ::2]).all()
    assert (ends.to_numpy()[:, 1::2] >= before.to_numpy()[:, 1::2]).all()
    if step in (FIRST_STEPS["head"], FIRST_STEPS["tail"]):
        assert ends.equals(before)
    assert abs(ends.to_numpy() - before.to_numpy()).max() < 10
    assert got.notes[-1].startswith("free: .")
    assert got.spent == made.spent
    assert pickle.loads(pickle.dumps(got)).interval(0.9).equals(ends)
    assert json.loads(got.to_json())["interval"] is not None
    assert len(got.to_csv().splitlines()[-1].split(",")) > made.ndim
    assert type(got + 1) is type(wanted)


def test_sorted_answers_keep_error_bars():
    series, frame = a_series(), a_frame()
    for made, options in ((series, {"ascending": False}), (frame, {"by": "n", "ascending": False})):
        got, wanted = made.sort_values(**options), made.value.sort_values(**options)
        assert got.value.equals(wanted)
        assert got.interval().equals(made.interval().loc[wanted.index])
        assert "ascending=False" in got.notes[-1]
    assert type(series.sort_values(ignore_index=True)) is pd.Series
    assert type(frame.rename_axis("k").sort_values("k")) is pd.DataFrame


def test_answers_in_the_order_of_their_labels_keep_error_bars():
    for made in (a_series(), a_frame()):
        for options in ({}, {"ascending": False}):
            got, wanted = made.sort_index(**options), made.value.sort_index(**options)
            assert got.value.equals(wanted)
            assert type(got) is type(made)
            assert got.interval().equals(made.interval().loc[wanted.index])
            assert got.notes[-1].startswith("free: .sort_index(")
    assert type(a_series().sort_index(ignore_index=True)) is pd.Series
    twice = release(pd.Series([3, 1, 2], index=["b", "a", "b"], name="n"), Additive(NOISE))
    assert twice.sort_index().interval()["lower"].tolist() == [twice.interval()["lower"].iloc[i] for i in (1, 0, 2)]


def test_an_answer_in_columns_keeps_error_bars():
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2, None]], names=["ward", "year"])
    made = release(pd.Series(range(10, 70, 10), index=index, name="n"), Additive(NOISE))
    for level in (-1, 0, "ward", "year"):
        got, wanted = made.unstack(level), made.value.unstack(level)
        assert type(got) is FrameRelease
        assert got.value.equals(wanted)
        ends = made.interval()
        for part, place in (("lower", 0), ("upper", 1)):
            assert got.interval().iloc[:, place::2].to_numpy().tolist() == ends[part].unstack(level).to_numpy().tolist()
        assert got.table().shape[1] == 3 * wanted.shape[1]
    assert type(made.unstack(fill_value=0)) is pd.DataFrame


def test_first_steps_of_a_changed_answer_and_of_ranks():
    made = a_series()
    made.iloc[0] = 7
    assert type(made.head(2)) is type(made.round()) is pd.Series
    ranks = release(pd.Series([1.25, 2.5], index=[0.5, 0.9]), RANKS)
    assert ranks.head(1).interval() == ranks.interval()  # each entry by itself
    assert type(ranks.round()) is pd.Series  # whose rank is another one
    assert type(release(pd.Series([1.25, 2.5])).round(1)) is pd.Series  # nothing is known of it

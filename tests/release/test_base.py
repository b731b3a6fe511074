"""Intervals and tables of releases."""

from __future__ import annotations

import copy
import json
import pickle

import pandas as pd
import pytest

from pandas_dp.aggregates.base import Caution
from pandas_dp.aggregates.uncertainty import Additive, Interval
from pandas_dp.errors import ArgumentValueError
from tests.support.releases import (
    NOISE,
    RANKS,
    SCORES,
    a_date,
    a_float,
    a_frame,
    a_series,
    an_int,
    release,
)


def test_intervals_of_scalars():
    assert an_int().interval() == Interval(48063, 48363, 0.95)
    low, high = a_float().interval(0.5)
    assert high - 1234.56 == pytest.approx(3.5)
    assert 1234.56 - low == pytest.approx(3.5)
    assert a_float().interval(0.5).level == 0.5


def test_an_interval_is_a_pair_that_knows_its_level():
    interval = an_int().interval(0.5)
    assert interval == (interval.lower, interval.upper)
    for copied in (pickle.loads(pickle.dumps(interval)), copy.copy(interval), copy.deepcopy(interval)):
        assert (copied, copied.level) == (interval, 0.5)
        assert repr(copied) == repr(interval)


def test_what_is_known_instead_of_an_interval():
    assert release("ICU", SCORES).interval(0.9) == SCORES.at(0.9)
    assert release(1.5, RANKS).interval() == RANKS.at(0.95)
    assert release(1.5).interval() is None
    assert isinstance(a_date().interval().lower, pd.Timestamp)


def test_intervals_of_vectors():
    known = a_series().interval()
    assert known.to_dict("list") == {"lower": [-140, -130, -120], "upper": [160, 170, 180]}
    assert known.index.equals(a_series().index)
    assert type(known) is pd.DataFrame
    assert release(pd.Series([1.5]), RANKS).interval() == RANKS.at(0.95)
    assert release(pd.Series([1.5])).interval() is None
    frame = a_frame().interval()
    assert frame.columns.tolist() == [("x", "lower"), ("x", "upper"), ("n", "lower"), ("n", "upper")]
    assert frame[("n", "upper")].tolist() == [153, 154]


@pytest.mark.parametrize("level", [0, 1, -1, 95, float("nan")])
def test_level_must_be_a_probability(level):
    for made in (an_int(), a_series(), release(1.5), release("ICU", SCORES)):
        with pytest.raises(ArgumentValueError, match=r"level=0\.95"):
            made.interval(level)


def test_tables():
    assert an_int().table().to_dict("list") == {"value": [48213], "lower": [48063], "upper": [48363]}
    assert release("ICU", SCORES).table().to_dict("list") == {"value": ["ICU"]}
    assert release(("a", 1)).table().to_dict("list") == {"value": [("a", 1)]}
    size = pd.Series([100, 200, 300], name="size")  # in the order of the vector, whatever its own index
    table = a_series(extras=(size,)).table(0.5)
    assert table.columns.tolist() == ["value", "lower", "upper", "size"]
    assert table.loc["b"].tolist() == [20, -15, 55, 200]
    assert table.index.name == "ward"
    ranks = release(pd.Series([1.5, 2.5]), RANKS, extras=(pd.Series([3, 4], name="size"),)).table()
    assert ranks.columns.tolist() == ["value", "size"]
    frame = a_frame().table()
    assert frame[("x", "value")].tolist() == [1.5, 2.5]
    assert frame[("x", "lower")].tolist() == [-148.5, -147.5]
    assert release(pd.DataFrame({"a": ["x"]})).table().equals(pd.DataFrame({"a": ["x"]}))


def test_vectors_without_entries():
    for made in (release(pd.Series([], dtype="int64"), Additive(NOISE)), release(pd.DataFrame({"a": []}))):
        assert len(made.table()) == 0
        assert "epsilon 0.2" in repr(made)
        assert json.loads(made.to_json())["value"]["index"] == []


def test_tables_with_repeated_labels():
    series = pd.Series([1, 2], index=["a", "a"])
    assert release(series, Additive(NOISE)).table()["upper"].tolist() == [151, 152]
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert release(frame, Additive(NOISE)).table().shape == (1, 6)
    deep = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    assert release(deep, Additive(NOISE)).table().columns.tolist()[1] == ("a", "b", "lower")


@pytest.mark.parametrize(
    "value", [1.5, 3, "ICU", pd.Timestamp("2013-01-31"), pd.Series([1.5]), pd.DataFrame({"a": [1]})]
)
def test_what_would_make_a_number_misleading_stands_under_it(value):
    notes = ("25 blocks", Caution("useless: the noise alone is wider than the bounds"), Caution("two"))
    shown = release(value, notes=notes)
    for made in (shown, pickle.loads(pickle.dumps(shown))):
        lines = repr(made).splitlines()
        assert lines[-2:] == ["  useless: the noise alone is wider than the bounds", "  two"]
        assert "25 blocks" not in repr(made)
    html = shown._repr_html_()
    assert all(html.count(f"<br>{note}") == 1 for note in notes)
    assert json.loads(shown.to_json())["notes"] == list(notes)
    assert repr(shown.notes) == repr(tuple(map(str, notes)))

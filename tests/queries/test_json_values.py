"""Arguments in plan files: what is written is read again, by type and value, and nothing else is written."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.queries import json_values

STAMP = pd.Timestamp("2013-01-31 12:30:00.123456789")
VALUES = [
    None,
    True,
    3,
    -0.5,
    1e300,
    "text",
    [1, 2.5, None],
    {"age": [0, 100], "cost": [0, None]},
    {"date": [0, 1]},  # a column of that name
    {"tuple": "x"},
    {},
    [("a", 1), ("b", ("c", 2))],
    STAMP,
    pd.Timestamp("2013-01-31", tz="UTC"),
    dt.date(2013, 1, 31),
    pd.Timedelta("90min"),
    pd.Timedelta(1, unit="ns"),
    Decimal("0.10"),
    Fraction(1, 3),
    range(0, 101, 10),
    {"state": ["CA", "NY"], "age": range(0, 101, 10)},
    {"range": ["A"]},  # keys of a column of that name
]
CHANGED = [
    ((0, 100), [0, 100]),
    ({"age": (0, 100)}, {"age": [0, 100]}),
    (np.float64(0.5), 0.5),
    (np.datetime64("2013-01-31"), pd.Timestamp("2013-01-31")),
    (dt.datetime(2013, 1, 31, 5), pd.Timestamp("2013-01-31 05:00")),
    (dt.timedelta(hours=2), pd.Timedelta("2h")),
    (np.array([1, 2]), [1, 2]),
    (pd.Index(["a", "b"]), ["a", "b"]),
    (pd.date_range("2013-01-01", periods=2), [pd.Timestamp("2013-01-01"), pd.Timestamp("2013-01-02")]),
]


def through_json(value):
    return json_values.decoded(json.loads(json.dumps(json_values.encoded(value, "bounds="), allow_nan=False)))


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value):
    again = through_json(value)
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value) or isinstance(value, pd.Timestamp)  # whose repr tells its resolution


@pytest.mark.parametrize(("value", "again"), CHANGED, ids=repr)
def test_what_is_as_good_comes_back_plain(value, again):
    assert through_json(value) == again


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (lambda d: d, "a function"),
        (float("nan"), "a number that is not finite"),
        ([float("inf")], "a number that is not finite"),
        (pd.NaT, "a missing date"),
        (pd.DataFrame(), "a DataFrame"),
        ({1: 2}, "a dict"),
        (b"x", "a bytes"),
        (1j, "a complex"),
        ({"a", "b"}, "a set"),
    ],
    ids=["function", "nan", "inf", "nat", "frame", "number key", "bytes", "complex", "set"],
)
def test_what_no_plan_holds(value, what):
    with pytest.raises(ArgumentTypeError, match=f"and bounds= of mean\\(\\): {what} is none"):
        json_values.encoded(value, "bounds= of mean(): ")


@pytest.mark.parametrize(
    "plan",
    [
        {"timestamp": "tomorrow at ten"},
        {"timedelta": [1]},
        {"decimal": "x"},
        {"fraction": "1/0"},
        {"range": 5},
        {"range": ["a"]},
        {"range": [0, 10**9]},  # what would fill the memory, or take hours to be written out as a fraction
        {"range": [0, 10**30]},
        {"period_range": ["2013-01-01", 10**9, "D"]},
        {"decimal": "1e999999999"},
        {"fraction": "1e999999999"},
        {"fraction": "1e-999999999"},
        {"tuple": 3},
        {"dict": [1]},
    ],
    ids=str,
)
def test_damaged_values_are_refused(plan):
    with pytest.raises(ArgumentValueError, match="cannot be read"):
        json_values.decoded(plan)

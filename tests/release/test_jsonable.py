"""Releases as JSON."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from pandas_dp.aggregates.uncertainty import Additive
from pandas_dp.release.values import (
    Release,
)
from tests.support.releases import (
    EVERY,
    EXAMPLES,
    NOISE,
    RANKS,
    SCORES,
    a_date,
    a_series,
    an_int,
    release,
)


@EVERY
def test_json_is_strict_and_complete(make):
    record = json.loads(make().to_json(), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert record["price"] == {"spent": "epsilon 0.2", "epsilon": 0.2, "delta": 0.0, "rho": None}
    assert record["unit"] == {"column": "pid", "rows": 3, "groups": 2, "rows_per_group": 2}
    assert record["neighbors"] == "replace_one"
    assert record["lineage"] == "source"
    assert record["mechanism"] == "discrete Laplace"
    assert record["query"] == "count()"
    assert record["notes"] == ["a note"]


def test_json_of_values_and_intervals():
    def parts(made: Release):
        record = json.loads(made.to_json())
        return record["value"], record["interval"]

    assert parts(an_int()) == (48213, {"level": 0.95, "lower": 48063, "upper": 48363})
    assert parts(release("ICU", SCORES))[1].keys() == {"level", "score_within"}
    assert parts(release(1.5, RANKS))[1].keys() == {"level", "rank_within"}
    assert parts(release(float("inf"))) == (None, None)
    date, ends = parts(a_date())
    assert date.startswith("2015-01-")
    assert ends["lower"] < date < ends["upper"]
    assert parts(EXAMPLES["duration"]())[0] == "P0DT1H30M0S"
    bins = pd.IntervalIndex.from_breaks([0, 10, 20], closed="left")
    value, ends = parts(release(pd.Series([1, 2], index=bins, name="n"), Additive(NOISE)))
    assert value == {"index": ["[0, 10)", "[10, 20)"], "name": "n", "values": [1, 2]}
    assert ends["columns"] == ["lower", "upper"]
    assert ends["values"] == [[-149, -148], [151, 152]]
    stamps = pd.Series(pd.to_datetime(["2013-01-31", None]), index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    assert parts(release(stamps))[0] == {
        "index": [["a", 1], ["b", 2]],
        "name": None,
        "values": ["2013-01-31T00:00:00", None],
    }


def test_json_has_the_extras():
    extras = (pd.Series([1, 2, 3], name="size"), pd.Series([True, False, True], name="enough_rows"))
    assert json.loads(a_series(extras=extras).to_json())["extras"] == {
        "size": [1, 2, 3],
        "enough_rows": [True, False, True],
    }

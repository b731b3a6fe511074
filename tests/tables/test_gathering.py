"""Before rows that are elsewhere all come to this process it says so, from public facts, and before anything is charged."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import pytest
from support.frames import fresh
from support.parquet import write

import pandas_dp

FRAME = pd.DataFrame({"uid": [1, 1, 2, 3], "ward": ["A", "B", "A", "B"], "cost": [1.0, 2.0, 3.0, 4.0]})
PARTS: dict[str, Any] = {
    "count": lambda d: d.count(),
    "median": lambda d: d.median("cost", bounds=(0, 9)),
    "found keys": lambda d: d.value_counts("ward"),
    "nunique": lambda d: d.nunique("ward"),
    "block means": lambda d: d.groupby_mean_sa("ward", "cost", keys=["A", "B"], bounds=(0, 9), blocks=2),
}
WHOLE: dict[str, Any] = {
    "own function": lambda d: d.sample_and_aggregate(lambda b: b["cost"].mean(), bounds=(0, 9), blocks=2),
    "nunique by group": lambda d: d.groupby("ward", keys=["A", "B"]).nunique("cost"),
}


def said(held: Any, ask: Any, **terms: Any) -> list[str]:
    held.dp.protect(100, 1e-3, name=fresh(), **terms)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ask(held.dp(epsilon=8, delta=1e-6) if ask is PARTS["found keys"] else held.dp(epsilon=8))
    return [str(one.message) for one in heard if "all rows at once" in str(one.message)]


@pytest.mark.parametrize("name", PARTS)
def test_what_is_worked_out_part_by_part_says_nothing(name, tmp_path):
    assert said(pandas_dp.scan_parquet(write(FRAME, tmp_path, (2,))), PARTS[name]) == []


@pytest.mark.parametrize("name", WHOLE)
def test_what_needs_all_rows_says_which_columns_come(name, tmp_path):
    (text,) = said(pandas_dp.scan_parquet(write(FRAME, tmp_path, (2,))), WHOLE[name])
    assert "'cost'" in text
    assert said(FRAME.copy(), WHOLE[name]) == []  # in memory they are here


def test_the_text_does_not_follow_from_the_rows(tmp_path):
    texts = [
        said(pandas_dp.scan_parquet(write(pd.concat([FRAME] * n), tmp_path / str(n))), WHOLE["nunique by group"])
        for n in (1, 50)
    ]
    assert texts[0] == texts[1] != []


def test_found_keys_of_units_of_several_rows_say_so(tmp_path):
    scan = pandas_dp.scan_parquet(write(FRAME, tmp_path, (2,)))
    (text,) = said(scan, PARTS["found keys"], unit="uid", max_rows=2)
    assert "the columns 'ward', 'uid' of all rows come to this process, where a row takes about 100 bytes" in text


def test_it_is_said_before_the_charge(tmp_path):
    scan = pandas_dp.scan_parquet(write(FRAME, tmp_path, (2,)))
    session = scan.dp.protect(100, 1e-3, name=fresh())
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "this question needs")
        with pytest.raises(UserWarning, match="all rows at once"):
            WHOLE["own function"](scan.dp(epsilon=8))
    assert session.spent.epsilon == 0

"""Pairs made of one table are neighbours, and hold the rows that stand out."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.audit import check, pairs
from pandas_dp.audit.neighbors import check_pair
from pandas_dp.session.opening import privacy_unit

TABLE = pd.DataFrame(
    {
        "u": ["a", "b", "b", "c", None],
        "x": [5.0, np.nan, 9.0, 1.0, 5.0],
        "n": pd.array([2, 1, None, 3, 2], dtype="Int64"),
        "day": pd.date_range("2020-01-01", periods=5),
        "text": list("vwxyz"),
        "empty": [np.nan] * 5,
    }
)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("unit", [None, "u"])
def test_they_are_neighbours(unit: str | None, relation: str):
    made = pairs(TABLE, unit=unit, neighbors=relation)
    terms = privacy_unit(unit, None if unit is None else 2, None, None, relation)
    assert len(made) >= 3
    for table, neighbor in made.values():
        assert table is TABLE
        check_pair(table, neighbor, terms)


def test_what_is_removed_and_replaced():
    removed = pairs(TABLE)
    assert list(removed) == ["first row", "last row", "least 'x'", "largest 'x'", "least 'n'"]
    assert removed["largest 'x'"][1]["text"].tolist() == list("vwyz")
    assert pairs(TABLE, unit="u")["largest 'x'"][1]["u"].tolist()[:2] == ["a", "c"]
    replaced = pairs(TABLE, neighbors="replace_one")
    assert replaced["largest 'x'"][1]["text"].tolist() == list("vwxyx")
    units = pairs(TABLE.iloc[:-2], unit="u", neighbors="replace_one")["first row"][1]
    assert units["text"].tolist() == list("vvv")
    assert units["u"].tolist() == ["a", "b", "b"]


@pytest.mark.slow
def test_every_pair_can_be_checked():
    """Accused with probability at most 1e-6 in all."""
    table = TABLE[["x"]].dropna()
    for one, other in pairs(table).values():
        assert check(pandas_dp.query(epsilon=0.5).count(), one, other, samples=120, confidence=1 - 1e-7).passed


def test_refused():
    with pytest.raises(ArgumentTypeError, match="table must be a DataFrame"):
        pairs([1, 2])
    with pytest.raises(ArgumentValueError, match="table must have rows"):
        pairs(TABLE.iloc[:0])
    df = TABLE.copy()
    df.dp.protect(epsilon=1, name="pairs of a protected table")
    with pytest.raises(ArgumentValueError, match=r"pandas_dp\.mock\(schema, rows=20\)"):
        pairs(df)


def test_the_room_opens_without_scipy():
    code = "import sys; sys.modules['scipy'] = None; import pandas_dp; print(dir(pandas_dp.audit))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "pairs" in done.stdout

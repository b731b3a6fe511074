"""Frames that steps made have pandas' own methods, which say where a question is asked."""

from __future__ import annotations

import pandas as pd
import pytest
from support.frames import fresh

from pandas_dp import ArgumentTypeError


def made(age: int) -> pd.DataFrame:
    df = pd.DataFrame({"age": [30, 45, age] * 100})
    df.dp.protect(epsilon=30, name=fresh())
    return df.dp.query("age > 40")


@pytest.mark.parametrize("age", [3, 62])
@pytest.mark.parametrize("name", ["count", "mean", "describe", "value_counts", "max"])
def test_a_method_of_pandas_answers_as_before(name, age):
    frame = made(age)
    assert getattr(frame, name)().equals(getattr(pd.DataFrame(frame), name)())


@pytest.mark.parametrize(
    ("name", "typed"), [("count", {"epsilon": 1}), ("mean", {"bounds": (0, 100)}), ("sum", {"rho": 1})]
)
def test_a_price_or_bounds_in_a_method_of_pandas_name_the_place_of_a_question(name, typed):
    with pytest.raises(ArgumentTypeError, match=rf"ask \.dp\(epsilon=0\.5\)\.{name}\("):
        getattr(made(62), name)(**typed)

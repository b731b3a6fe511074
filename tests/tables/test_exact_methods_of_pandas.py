"""Frames that steps made have pandas' own methods, which are exact: they say so, once, whatever the rows are."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest
from support.frames import fresh

from pandas_dp import ArgumentTypeError


def made(age: int) -> pd.DataFrame:
    df = pd.DataFrame({"age": [30, 45, age] * 100})
    df.dp.protect(epsilon=30, name=fresh())
    return df.dp.query("age > 40")


@pytest.mark.parametrize("age", [3, 62])
@pytest.mark.parametrize("name", ["count", "mean", "describe", "head", "value_counts", "max"])
def test_a_method_of_pandas_says_once_that_it_is_exact(name, age):
    frame = made(age)
    with pytest.warns(
        UserWarning, match=rf"own {name}\(\) is exact and not protected: .* \.dp\(epsilon=0\.5\)"
    ) as told:
        exact = getattr(frame, name)()
    assert len(told) == 1
    assert exact.equals(getattr(pd.DataFrame(frame), name)())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame.count()
        frame.dp(epsilon=1).count()
        frame.dp.query("age > 50").dp(epsilon=1).mean("age", bounds=(0, 100))


@pytest.mark.parametrize(
    ("name", "typed"), [("count", {"epsilon": 1}), ("mean", {"bounds": (0, 100)}), ("sum", {"rho": 1})]
)
def test_a_price_or_bounds_in_a_method_of_pandas_name_the_place_of_a_question(name, typed):
    with pytest.raises(ArgumentTypeError, match=rf"ask \.dp\(epsilon=0\.5\)\.{name}\("):
        getattr(made(62), name)(**typed)

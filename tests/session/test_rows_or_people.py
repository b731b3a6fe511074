"""Rows or people: a column whose name says whose a row is, in a budget that protects rows."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest
from support.frames import fresh


def frame(column: str) -> pd.DataFrame:
    return pd.DataFrame({column: [1, 1, 2], "age": [31, 45, 62]})


@pytest.mark.parametrize("column", ["id", "ID", "user", "userid", "user_id", "patient_id", "Patient No", "customers"])
def test_it_is_said_once(column):
    df, name = frame(column), fresh()
    with pytest.warns(UserWarning, match=rf"name=name, unit='{column}', max_rows=10\)") as caught:
        df.dp.protect(epsilon=3, name=name)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        df.dp.protect(epsilon=3, name=name)
        df.dp.protect(epsilon=3, name=name, unit=column, max_rows=10)  # which is what it says to type


@pytest.mark.parametrize("column", ["idle", "age_id", "width", "useful", "plan", "identity", "ward"])
def test_other_names_say_nothing(column):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame(column).dp.protect(epsilon=3, name=fresh())


def test_a_budget_of_units_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame("user").dp.protect(epsilon=3, unit="user", max_rows=2, name=fresh())

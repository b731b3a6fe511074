"""Quotes that are missing in a condition: the refusal shows the condition with them, and that one is answered."""

from __future__ import annotations

import ast
from contextlib import suppress

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.parse import parse_expression
from pandas_dp.steps.quotes import in_quotes

COLUMNS = ["ward", "day", "stay", "ok", "a b"]
TYPED = [
    ("day > 2023-06-01", "day > '2023-06-01'"),
    ("2023-06-01 <= day", "'2023-06-01' <= day"),
    ("day >= 2023-01", "day >= '2023-01'"),
    ("day > 2023/06/1", "day > '2023-06-01'"),
    ("day > 2023-06-01 12:30 and ok", "day > '2023-06-01 12:30' and ok"),
    ("stay > 2 days", "stay > '2 days'"),
    ("ward == General Surgery and ok", "ward == 'General Surgery' and ok"),
    ('ward == "Surgery" & day < 2023-02-01', 'ward == "Surgery" & day < "2023-02-01"'),
    ("`a b` != Ward East or day < 2023-02-01", "`a b` != 'Ward East' or day < '2023-02-01'"),
]


@pytest.mark.parametrize(("typed", "meant"), TYPED)
def test_a_condition_that_cannot_be_read_is_shown_with_quotes(typed, meant):
    with pytest.raises(ArgumentValueError) as caught:
        parse_expression(typed, COLUMNS, argument="query")
    told, line = str(caught.value).split("quotes: ")
    assert told == "query: dates and text are written in "
    assert ast.literal_eval(line) == meant
    parse_expression(meant, COLUMNS)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("ward == Surgery", "there is no column 'Surgery'; text is written in quotes: ward == 'Surgery'"),
        ("ok and ward == Surgery", "text is written in quotes: ward == 'Surgery'"),
        ("ward in [Surgery, 'ICU']", "text is written in quotes: ward in ['Surgery', 'ICU']"),
        ("ward not in [Surgery]", "text is written in quotes: ward not in ['Surgery']"),
        ("`a b` != Surgery", "text is written in quotes: `a b` != 'Surgery'"),
        ("ok == true", "there is no column 'true'; write ok == True"),
    ],
)
def test_a_value_that_is_no_column_is_shown_in_quotes(typed, told):
    with pytest.raises(ArgumentValueError) as caught:
        parse_expression(typed, COLUMNS, argument="query")
    assert str(caught.value).endswith(told)
    parse_expression(told.partition("quotes: ")[2] or told.partition("write ")[2], COLUMNS)


@pytest.mark.parametrize(
    "typed", ["waard == ward", "ward == waard", "xyzzy > 3", "ward ==", "ward == 'Surgery", "day > 06/01/2023x"]
)
def test_nothing_is_said_of_quotes_elsewhere(typed):
    with pytest.raises(ArgumentValueError) as caught:
        parse_expression(typed, COLUMNS, argument="query")
    assert "quotes" not in str(caught.value)


def test_a_date_that_is_read_as_a_difference_is_told():
    frame = pd.DataFrame({"day": pd.date_range("2023-01-01", periods=9), "ok": True})
    for typed in ("day > 2023-12-10", "day == 2023"):
        with pytest.raises(ArgumentTypeError, match=r"a date is written in quotes, as in when > '2024-01-31'"):
            parse_expression(typed, frame.columns).evaluate(frame)


@given(st.text(alphabet="ab12-/: '\"`=!<>[]()&|\n", max_size=40))
def test_whatever_is_typed_is_refused_or_read(text):
    with suppress(ArgumentValueError, ArgumentTypeError):
        parse_expression(text, COLUMNS)
    assert in_quotes(in_quotes("day > 2023-06-01")) == "day > '2023-06-01'"

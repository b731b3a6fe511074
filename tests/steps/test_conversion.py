"""astype: what can be converted is, what cannot is missing, whatever stores it and whatever else is in the column."""

from __future__ import annotations

import decimal
import enum
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandas_dp.steps.parse import parse_expression
from pandas_dp.steps.text import number
from tests.steps.tables import BOOLEAN_STORAGE, NUMBER_STORAGE, TEXT_STORAGE, floats, nullable, plain, stored

NAN = np.nan
CELLS = ["12", " -3.75 ", None, "", "1e3", ".5", "7.", "1_0", "0x1", "nan", "inf", "3 4", "\u0663", "ward", "+1e-2"]
FLOATS = [12.0, -3.75, NAN, NAN, 1000.0, 0.5, 7.0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0.01]


def converted(column: pd.Series, dtype: str) -> pd.Series:
    result = parse_expression(f"x.astype({dtype!r})", ["x"]).evaluate(pd.DataFrame({"x": column}))
    empty = parse_expression(f"x.astype({dtype!r})", ["x"]).evaluate(pd.DataFrame({"x": column.iloc[:0]}))
    assert empty.dtype == result.dtype
    return result


@pytest.mark.parametrize("storage", [*TEXT_STORAGE.values(), "category"], ids=[*TEXT_STORAGE, "category"])
def test_text_becomes_numbers_and_missing_where_it_is_none(storage):
    column = stored(CELLS, storage)
    np.testing.assert_array_equal(floats(converted(column, "float64")), FLOATS)
    np.testing.assert_array_equal(floats(converted(column, "int64")), np.trunc(FLOATS))
    assert converted(column, "string").dropna().tolist() == [cell for cell in CELLS if cell is not None]


@pytest.mark.parametrize("storage", NUMBER_STORAGE.values(), ids=NUMBER_STORAGE)
def test_numbers_stay_what_they_are(storage):
    column = stored([1, 0, None, -4], storage)
    assert converted(column, "float64").tolist()[:2] == [1.0, 0.0]
    np.testing.assert_array_equal(floats(converted(column, "int64")), [1.0, 0.0, NAN, -4.0])
    missing = None if nullable(storage) else False
    assert plain(converted(column, "bool")) == [True, False, missing, True]
    whole = converted(column, "string")
    assert whole.isna().tolist() == [False, False, True, False]
    assert [float(cell) for cell in whole.dropna()] == [1.0, 0.0, -4.0]


def test_numbers_are_written_as_pandas_writes_them():
    for column in (pd.Series([1, -20], dtype="int64"), pd.Series([0.1, 1e300, -2.5, np.inf]), pd.Series([True, False])):
        assert converted(column, "string").tolist() == column.astype(str).tolist()


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "Float32", "int8", "double[pyarrow]"])
def test_whole_numbers_are_written_the_same_whatever_stores_them(dtype):
    """One missing value makes floats of integers: the text of all others would change with it."""
    assert converted(pd.Series([1, -20, 0]).astype(dtype), "string").tolist() == ["1", "-20", "0"]


@pytest.mark.parametrize("storage", BOOLEAN_STORAGE.values(), ids=BOOLEAN_STORAGE)
def test_truth_becomes_one_and_zero(storage):
    column = stored([True, None, False], storage)
    np.testing.assert_array_equal(floats(converted(column, "int64")), [1.0, NAN, 0.0])
    assert plain(converted(column, "bool")) == [True, None, False]
    assert converted(column, "string").fillna("-").tolist() == ["True", "-", "False"]


def test_what_int64_cannot_hold_is_missing():
    column = pd.Series([2.0**63, -(2.0**63), np.inf, -1.9, 1e300, NAN, 2.0**62])
    np.testing.assert_array_equal(floats(converted(column, "int64")), [NAN, -(2.0**63), NAN, -1.0, NAN, NAN, 2.0**62])


def test_objects_become_numbers_by_the_methods_of_their_base():
    class Sly(float):
        def __float__(self) -> float:
            raise RuntimeError

    cells = [
        3,
        2**2000,
        -(10**400),
        0.5,
        True,
        np.int8(7),
        Decimal("1.25"),
        Decimal("sNaN"),
        "4",
        np.str_("5"),
        Sly(6),
        None,
    ]
    odd = [pd.NA, pd.NaT, [1], b"6", 1j, np.complex64(1), np.timedelta64(1, "s"), object(), "\ud800"]
    column = pd.Series([*cells, *odd], dtype=object)
    expected = [3.0, np.inf, -np.inf, 0.5, 1.0, 7.0, 1.25, NAN, 4.0, 5.0, 6.0, NAN, *[NAN] * len(odd)]
    np.testing.assert_array_equal(converted(column, "float64"), expected)
    assert converted(column, "string").dropna().tolist() == ["4", "5", "\ud800"]


@pytest.mark.parametrize(
    "expression", ["x == 'a'", "x.str.upper() == 'A'", "x.str.len() == 1", "x.isin(['a'])", "x < 'b'"]
)
def test_text_of_a_subclass_is_text_whatever_is_beside_it(expression):
    """Pandas makes a column of text of it, and of objects where one cell is none."""

    class Word(enum.StrEnum):
        A = "a"

    class Sly(str):
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = str.__hash__

    for cell in (Word.A, Sly("a"), np.str_("a"), "a"):
        column = pd.Series([cell, 5, None], dtype=object)
        found = parse_expression(expression, ["x"]).evaluate(pd.DataFrame({"x": column}))
        assert found.fillna(False).tolist() == [True, False, False]


def test_the_list_of_a_category_column_changes_no_number():
    for others in ([], [0.5], ["a"], [True, "b"]):
        column = pd.Series(pd.Categorical([1, "2", None, *others]))
        np.testing.assert_array_equal(converted(column, "float64").iloc[:3], [1.0, 2.0, NAN])


def pythons(text):
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@given(st.text(max_size=6) | st.text("0123456789+-.eE \n_", max_size=8) | st.floats().map(str))
@settings(max_examples=300, deadline=None)
def test_every_text_is_a_number_or_missing(text):
    result = number(text)
    if not math.isnan(result):
        assert result == float(text)
        assert not math.isnan(pd.to_numeric(text.strip()))
    elif text.isascii():
        other = pd.to_numeric(pd.Series([text.strip()]), errors="coerce").iloc[0]  # it reads "+0E 0", and not "0E 0"
        known = text.strip().lower().lstrip("+-") in ("inf", "infinity") or "_" in text
        assert math.isnan(other) or known or not pythons(text)


def test_what_a_program_does_with_its_own_decimals_fails_no_conversion():
    """An exponent of more digits than Python reads is no number, and where nothing traps that it is a decimal that is none."""
    cells = pd.Series(["7", "1e-99999999999999999999999", "2"], dtype=object)
    for context in (decimal.ExtendedContext, decimal.BasicContext):
        with decimal.localcontext(context):
            np.testing.assert_array_equal(floats(converted(cells, "int64")), [7.0, 0.0, 2.0])

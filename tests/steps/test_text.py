"""Text methods: pandas' values of a column of text, the same in every storage, and missing for cells that are no text."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandas_dp.steps.parse import parse_expression
from tests.steps.tables import TEXT_STORAGE, nullable, plain, stored

NAN = np.nan
CELLS = [" Ward A", "ß\x1f", None, "", "\u0130stanbul"]
CASES = {
    "x.str.lower()": [" ward a", "ß\x1f", NAN, "", "i\u0307stanbul"],
    "x.str.upper()": [" WARD A", "SS\x1f", NAN, "", "\u0130STANBUL"],
    "x.str.strip()": ["Ward A", "ß", NAN, "", "\u0130stanbul"],
    "x.str.lstrip(' W')": ["ard A", "ß\x1f", NAN, "", "\u0130stanbul"],
    "x.str.rstrip('A ')": [" Ward", "ß\x1f", NAN, "", "\u0130stanbul"],
    "x.str.slice(1, 3)": ["Wa", "\x1f", NAN, "", "st"],
    "x.str.slice(step=-1)": ["A draW ", "\x1fß", NAN, "", "lubnats\u0130"],
    "x.str.len()": [7.0, 2.0, NAN, 0.0, 8.0],
    "x.str.contains('ard')": [True, False, False, False, False],
    "x.str.contains('a', case=False)": [True, False, False, False, True],
    "x.str.contains('')": [True, True, False, True, True],
    "not x.str.contains('a')": [False, True, True, True, False],
    "x.str.startswith(' ')": [True, False, False, False, False],
    "x.str.startswith(('ß', ' '))": [True, True, False, False, False],
    "x.str.endswith('A')": [True, False, False, False, False],
    "x.str.strip().str.lower() == 'ward a'": [True, False, False, False, False],
    "x.str.lower().isna()": [False, False, True, False, False],
    "x.str.lower() in ['ß\x1f', '']": [False, True, False, True, False],
    "x.str.lower().fillna('none')": [" ward a", "ß\x1f", "none", "", "i\u0307stanbul"],
}


def evaluated(text: str, column: pd.Series) -> pd.Series:
    return parse_expression(text, ["x"]).evaluate(pd.DataFrame({"x": column}))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("storage", [*TEXT_STORAGE.values(), "category"], ids=[*TEXT_STORAGE, "category"])
@pytest.mark.parametrize("text", CASES)
def test_text_has_the_same_value_in_every_storage(text, storage):
    column = stored(CELLS, storage)
    result = evaluated(text, column)
    expected = [None if cell is NAN else cell for cell in CASES[text]]
    if nullable(storage) and isinstance(expected[0], bool) and not re.search("isna| in ", text):
        expected[2] = None
    assert plain(result) == expected
    assert evaluated(text, column.iloc[:0]).dtype == result.dtype


def test_cells_that_are_no_text_count_as_missing():
    class Name(str):
        def upper(self) -> str:
            raise RuntimeError

    cells = pd.Series(["a", 3, NAN, None, Name("b"), b"c", ["d"], np.str_("e"), "\ud800f"], dtype=object)
    assert evaluated("x.str.upper()", cells).dropna().tolist() == ["A", "B", "E", "\ud800F"]
    assert evaluated("x.str.contains('')", cells).tolist() == [True, *[False] * 3, True, False, False, True, True]
    assert evaluated("x.str.len()", cells).dropna().tolist() == [
        1.0,
        1.0,
        1.0,
        1.0,
        2.0,
    ]  # of a list its entries, as in pandas
    mixed = pd.Categorical(["a", 3, None, 3.5, "b"])
    assert evaluated("x.str.upper()", pd.Series(mixed)).dropna().tolist() == ["A", "B"]


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=5), st.data())
@settings(max_examples=60, deadline=None)
def test_text_is_that_of_pandas_on_python_text(cells, data):
    column = pd.Series(cells, dtype=pd.StringDtype("python", na_value=NAN))
    pat = data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=2))
    for text, expected in {
        "x.str.lower()": column.str.lower(),
        "x.str.upper()": column.str.upper(),
        "x.str.strip()": column.str.strip(),
        "x.str.slice(1, -1)": column.str.slice(1, -1),
        "x.str.len()": column.str.len(),
        f"x.str.contains({pat!r}, regex=False)": column.str.contains(pat, regex=False, na=False),
        f"x.str.contains({pat!r}, case=False, regex=False)": column.str.contains(pat, False, regex=False, na=False),
        f"x.str.startswith({pat!r})": column.str.startswith(pat, na=False),
        f"x.str.endswith({pat!r})": column.str.endswith(pat, na=False),
    }.items():
        result = evaluated(text, column)
        pd.testing.assert_series_equal(result, expected.astype(result.dtype), check_names=False)

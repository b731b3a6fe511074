"""Outputs as numbers and codes: what is equal to a caller is equal here, and nothing else is."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.auditor import structure
from support.unitless import NO_DATE

from pandas_dp.audit.outputs import FEATURES, Raised, Seen, encode, observe, output_of, shown
from pandas_dp.audit.search import weigh


def numbers(*outputs: Any) -> list[list[float]]:
    return encode(list(outputs), []).numbers.tolist()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (True, [1]),
        (3, [3]),
        (np.float32(0.5), [0.5]),
        (Decimal("1.5"), [1.5]),
        (Fraction(1, 4), [0.25]),
        (2**53 + 1, [2**53, 1]),
        (2**1100, [0]),
        (math.nan, [0]),
        ("text", []),
        (None, []),
        (pd.NA, []),
        (pd.NaT, []),
        (NO_DATE, []),
        ([1, (2, {"a": 3})], [1, 2, 3]),
        (pd.Timestamp("1970-01-01 00:00:01.000000002"), [1, 2]),
        (dt.date(1970, 1, 2), [86400, 0]),
        (dt.date(9999, 1, 2), []),
        (pd.Timedelta("1s"), [1, 0]),
        (np.timedelta64(1, "s"), [1, 0]),
        (pd.Series([1, 2]), [1, 2]),
        (pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}), [1, 2, 3, 4]),
        (pd.Index([1, 2]), [1, 2]),
        (pd.Categorical([5, 6]), [5, 6]),
        (np.array([[1, 2], [3, 4]]), [1, 2, 3, 4]),
        (pd.Series([1, None], dtype="Int64"), [1, 0]),
    ],
)
def test_numbers(output: Any, expected: list[float]):
    assert numbers(output) == [expected]


PAIRS = [
    (1, 1.0),
    (1, True),
    ("1", 1),
    (None, math.nan),
    (math.inf, -math.inf),
    (2**1100, 2**1101),
    (pd.NA, None),
    ([1], (1,)),
    (pd.Series([1], index=["a"]), pd.Series([1], index=["b"])),
    (pd.Series([1], name="a"), pd.Series([1], name="b")),
    (pd.Index([1]), np.array([1])),
    ({1}, {1, 2}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC")),
    (Raised("ValueError: a"), "ValueError: a"),
    (Seen(1, [], ""), Seen(1, ["UserWarning: a"], "")),
    (Seen(1, [], ""), Seen(1, [], "printed")),
    (2**53 + 1, 2**53),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=range(len(PAIRS)))
def test_what_differs_is_told_apart(one: Any, other: Any):
    samples = encode([one], [other])
    assert (samples.structure[0] != samples.structure[1]) or (samples.numbers[0] != samples.numbers[1]).any()


def test_sets_have_no_order():
    assert structure({"a", "b", "c"}) == structure({"c", "b", "a"})


def test_arrays_count_as_rows_of_numbers():
    samples = encode(np.array([[1.0, math.nan]]), np.array([[1.0, math.inf]]))
    assert samples.numbers.tolist() == [[1, 0], [1, 0]]
    assert samples.structure[0] != samples.structure[1]


def test_of_many_numbers_the_first_are_compared_and_the_result_says_so():
    late = weigh([[0] * FEATURES + [0]] * 100, [[0] * FEATURES + [9]] * 100, 1, 1e-6)
    assert late.passed
    assert "of 65 numbers the first 64 were compared" in late.event
    assert weigh([[0] * (FEATURES - 1) + [0]] * 200, [[0] * (FEATURES - 1) + [9]] * 200, 1, 1e-6).violated


def test_huge_numbers_are_added_up_without_a_warning():
    outputs = [[1.7e308, 1.7e308, float(k)] for k in range(100)]
    assert weigh(outputs, outputs[::-1], 1, 1e-6).passed


def test_an_exception_counts_with_its_cause_once():
    def fails() -> None:
        try:
            {}["a"]
        except KeyError as error:
            raise ValueError("none") from error

    assert output_of(fails) == Raised("ValueError: none < KeyError: 'a'")
    assert observe(fails)() == Seen(Raised("ValueError: none < KeyError: 'a'"), [], "")


def test_an_output_is_shown_in_one_short_line():
    assert shown(pd.Series([1.0] * 100)).endswith("...")
    assert "\n" not in shown(pd.DataFrame({"a": [1, 2]}))
    assert shown(Seen(Raised("KeyError: 'a'"), ["UserWarning: b"], "c\n")) == "raises KeyError: 'a'; UserWarning: b; c"

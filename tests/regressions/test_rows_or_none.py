"""Whether there is a row is told by no failure: what a step refuses of constants it refuses without a row, and nothing else."""

from __future__ import annotations

import itertools
import warnings

import pandas as pd
import pyarrow as pa
import pytest

from pandas_dp.errors import ArgumentValueError
from pandas_dp.steps.expression import Column
from pandas_dp.steps.functions import METHODS

COLUMNS = {
    "t": pd.Series([pd.Timestamp("2024-01-01 03:04:05")]),
    "z": pd.Series([pd.Timestamp("2024-01-01", tz="Europe/Berlin")]),
    "s": pd.Series(["a-b"], dtype="str"),
    "o": pd.Series(["x1"], dtype=object),
    "i": pd.Series([3]),
    "f": pd.Series([1.5]),
    "b": pd.Series([True]),
    "I": pd.Series([3], dtype="Int64"),
    "d": pd.Series([pd.Timedelta("1h")]),
    "c": pd.Series(["a"], dtype="category"),
    "l": pd.Series([["a", "b"]], dtype=pd.ArrowDtype(pa.list_(pa.string()))),
    "st": pd.Series([{"x": 1}], dtype=pd.ArrowDtype(pa.struct([("x", pa.int64())]))),
}
TABLE = pd.DataFrame(COLUMNS)
TABLES = [TABLE.iloc[:0], TABLE, pd.concat([TABLE] * 3, ignore_index=True)]
ODD = [
    *(
        "",
        " ",
        "%",
        "%%",
        "(",
        "()",
        "(a)",
        "(?P<x>b)",
        "a|",
        ".*",
        "[",
        "h",
        "D",
        "0h",
        "1ns",
        "UTC",
        "\ud800",
        "\x00",
        "x",
    ),
    *("NFC", "float64", "int64", "boolean", "datetime64[ns]"),
    *(0, -1, 1, 5, 10**6, 1.5, float("nan"), None, True),
    *([], {}, {"a": "b"}, ["a"], [0, 1]),
    *(pd.Timestamp("2024-01-01"), pd.Timedelta(0), pd.Timedelta("1h"), Column("s"), Column("i")),
]


def outcome(tree, table):
    try:
        found = tree.evaluate(table)
    except Exception as error:
        return type(error).__name__, str(error)
    return str(found.dtype), len(found) == len(table)


@pytest.mark.one_in(40)
@pytest.mark.parametrize("name", METHODS)
def test_no_constant_makes_a_step_fail_for_a_row(name):
    tried = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args in [(), *((one,) for one in ODD), *itertools.product(ODD[::2], ODD[::3])]:
            for column in COLUMNS:
                try:
                    tree = METHODS[name](Column(column), *args)
                except Exception:
                    continue
                found = {outcome(tree, table) for table in TABLES}
                tried += 1
                assert len(found) == 1, (args, column)
                assert all(told is not False for _, told in found), (args, column)
    assert tried or name == "case_when"  # which takes a list of pairs


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    ("name", "case"), [*itertools.product(["contains", "match", "fullmatch"], [True, False]), ("extract", None)]
)
def test_a_pattern_is_compiled_ahead_as_it_runs(name, case):
    """Larger than RE2 takes with any case of letters, or in brackets, but not as it was typed: refused, or it works."""
    table = pd.DataFrame({"s": pd.Series(["a"], dtype="str")})
    options = {} if case is None else {"case": case} | ({"regex": True} if name == "contains" else {})
    refused = 0
    for size in (1, 100, 174, 200, 300, 349, 360):
        for pattern in (
            "(" + "ä{1000}" * size + ")",
            "([a-zä]{1000})" if size == 1 else "(" + "[a-zä]{1000}" * size + ")",
        ):
            try:
                tree = METHODS[f"str.{name}"](Column("s"), pattern, **options)
            except ArgumentValueError:
                refused += 1
                continue
            assert len({outcome(tree, part) for part in (table.iloc[:0], table)}) == 1
    assert refused


@pytest.mark.parametrize(
    ("name", "constant"), [("str.extract", "[[:alpha:](b)]"), ("str.match", "(?u)(?a)"), ("dt.floor", "106752D")]
)
def test_odd_constants_are_refused_in_own_words(name, constant):
    with pytest.raises(ArgumentValueError):
        METHODS[name](Column("x"), constant)

"""Filters that are pushed down to files: the rows that come back are those of the same steps in memory, to the last cell."""

from __future__ import annotations

import datetime as dt
import functools
import operator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pandas_dp
from pandas_dp.steps.operations import COMPARISONS
from pandas_dp.tables import frames, parquet
from pandas_dp.tables.parquet import pushed
from tests.support import steps

DAY = dt.datetime(2020, 1, 1)
FLOATS = [None, np.nan, -0.0, 0.0, 0.1, 1.0, 16777216.0, -np.inf, np.inf, 1e300]
CELLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "small": (pa.int8(), [None, -128, -1, 0, 1, 127]),
    "whole": (pa.int64(), [None, -(2**63), -1, 0, 7, 2**53, 2**53 + 1, 2**63 - 1]),
    "natural": (pa.uint64(), [None, 0, 1, 2**63, 2**64 - 1]),
    "single": (pa.float32(), FLOATS),
    "double": (pa.float64(), FLOATS),
    "when": (pa.timestamp("us"), [None, DAY, DAY + dt.timedelta(microseconds=1), DAY + dt.timedelta(days=3)]),
    "fine": (pa.timestamp("ns", "UTC"), [None, DAY, DAY + dt.timedelta(seconds=1)]),
    "coarse": (pa.timestamp("s"), [None, DAY, DAY + dt.timedelta(seconds=1)]),
    "day": (pa.date32(), [None, DAY.date(), DAY.date() + dt.timedelta(days=1)]),
    "text": (pa.string(), [None, "", "a", "é", "a" * 200]),
    "coded": (pa.dictionary(pa.int8(), pa.string()), [None, "a", "b"]),
    "truth": (pa.bool_(), [None, True, False]),
    "exact": (pa.decimal128(9, 2), [None, Decimal("0.10"), Decimal("7.00")]),
    "span": (pa.duration("us"), [None, dt.timedelta(0), dt.timedelta(hours=1)]),
}
ROWS = 60
NUMBERS = [-129, -1, 0, 1, 127, 128, 2**53, 2**53 + 1, 2**64 - 1, 0.1, 0.5, -0.0, 16777217.0, 1e300]
DATES = ["2020-01-01", "2020-01-02", "2020-01-01 00:00:00.000001", "2020-01-01 00:00:00.0000001"]
CONSTANTS: dict[str, list[Any]] = {
    **dict.fromkeys(("small", "whole", "natural", "single", "double", "exact"), NUMBERS),
    **{name: [*DATES, *(pd.Timestamp(date) for date in DATES)] for name in ("when", "coarse", "day")},
    "fine": [*DATES, *(pd.Timestamp(date, tz="Europe/Berlin") for date in DATES)],
    "text": ["", "a", "b"],
    "coded": ["", "a", "b"],
    "truth": [True, False],
    "span": ["1 hour", pd.Timedelta(0)],
}


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> parquet.Scan:
    """Groups of two rows, many of which hold one value alone, so that most are skipped."""
    path = tmp_path_factory.mktemp("files") / "a.parquet"
    columns = {
        name: pa.array([values[row // (3 + place % 4) % len(values)] for row in range(ROWS)], held)
        for place, (name, (held, values)) in enumerate(CELLS.items())
    }
    pq.write_table(pa.table(columns), path, row_group_size=2)
    found = frames.scan_of(pandas_dp.scan_parquet(path)._carrier)
    if found is None:
        raise LookupError
    return found


@pytest.fixture(scope="module")
def memory(scan: parquet.Scan) -> pd.DataFrame:
    """The same rows, and the dtypes of the scanned ones."""
    return pd.concat(list(scan.read(CELLS)), ignore_index=True)


TERM = st.sampled_from(list(CELLS)).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from(list(COMPARISONS)), st.sampled_from(CONSTANTS[name]))
)


def condition(terms: list[tuple[str, str, Any]]) -> Any:
    """A function of a table that is true where all terms are."""
    return lambda d: functools.reduce(operator.and_, (COMPARISONS[op](d[name], value) for name, op, value in terms))


@settings(max_examples=150)
@given(st.lists(TERM, min_size=1, max_size=3))
def test_the_rows_are_those_of_memory(scan, memory, terms):
    done = steps.filter_(condition(terms), scan.files.empty)
    wanted = memory
    for step in done:
        wanted = step.apply(wanted)
    found = pd.concat(list(scan.after(done).read(CELLS)), ignore_index=True)
    pd.testing.assert_frame_equal(found, wanted.reset_index(drop=True))


def text_of(scan: parquet.Scan, *expressions: str) -> str | None:
    """What is pushed down of some filters, as Arrow writes it."""
    done: tuple[Any, ...] = ()
    empty = scan.files.empty
    for expression in expressions:
        more = (steps.eval_ if " = " in expression else steps.query)(expression, empty)
        for step in more:
            empty = step.apply(empty)
        done += more
    found = pushed(done, scan.files.empty)
    return None if found is None else str(found)


def test_what_is_pushed_down(scan):
    assert text_of(scan, "whole > 3") == "(whole > 3)"
    assert text_of(scan, "3 < whole", "double <= 0.5") == "((whole > 3) and (double <= 0.5))"
    assert text_of(scan, "1 <= small < 100 and text == 'a'") == "((small >= 1) and (small < 100))"
    assert "2020-01-01" in str(text_of(scan, "when >= '2020-01-01'"))
    assert text_of(scan, "single == 0.5") == "(single == 0.5)"
    assert text_of(scan, "double = double + 1", "double > 3 and small > 3") == "(small > 3)"
    assert text_of(scan, "small > 3", "small = small * 2", "small > 9") == "(small > 3)"


@pytest.mark.parametrize(
    "expression",
    [
        "small > 200",  # no int8
        "natural > -1",
        "whole > 0.5",  # steps compare in float64
        "single > 0.1",  # no float32
        "double == 9007199254740993",
        "when == '2020-01-01 00:00:00.0000001'",  # finer than the column
        "text > 'a'",
        "truth == True",
        "exact > 1",
        "whole > 3 or small > 3",
        "not whole > 3",
        "whole != 3",
        "whole > small",
        "whole + 1 > 3",
    ],
)
def test_what_is_not(scan, expression):
    assert text_of(scan, expression) is None


def test_a_wrong_filter_would_be_noticed(scan, memory, monkeypatch):
    """The twin: a constant is rounded to the type of the column, which holds 0.1 as a little more than that."""
    done = steps.query("single > 0.1 and single < 0.5", scan.files.empty)
    rows = len(done[0].apply(memory))
    assert sum(map(len, scan.after(done).read(["single"]))) == rows > 0

    def rounded(constant, column, stored):
        return pa.scalar(float(np.float32(constant.data)), stored)

    monkeypatch.setattr(parquet, "_as_stored", rounded)
    assert sum(map(len, scan.after(done).read(["single"]))) == 0

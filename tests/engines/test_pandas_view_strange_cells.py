"""The view of a DataFrame whose cells are hostile, out of range or of a dtype that is refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.columns import DAY, STR_PYTHON, arrow, same_groups, view

from pandas_dp.core.partition import Keys
from pandas_dp.errors import ArgumentTypeError


class Hostile:
    """A cell whose own code raises, with the cell in the text."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __float__(self) -> float:
        raise ValueError("secret42")

    def __eq__(self, other: object) -> bool:
        if self.name == "eq":
            raise ValueError("secret42")
        return self is other

    def __hash__(self) -> int:
        if self.name == "hash":
            raise ValueError("secret42")
        return hash("a")


STRANGE = [[1], {"k": 1}, Hostile("hash"), lambda: 1, np.array([1, 2]), Decimal("sNaN"), {1, 2}]


def test_cells_that_cannot_be_keys_are_in_no_key() -> None:
    for cells in ([*STRANGE, "a", None, Hostile("eq")], [Hostile("eq"), "a", "a", 1.0]):
        shown = view(pd.Series(cells, dtype=object))
        places = shown.parts(Keys("x", ("a", 1), other=True, null=True)).tolist()
        assert places == [
            {"a": 0, 1.0: 1}.get(c, 2) if isinstance(c, str | float) else 3 if c is None else 2 for c in cells
        ]
        present = shown.present("x")
        assert [c is not None for c in cells] == ([True] * len(cells) if present is None else present.tolist())


def test_cells_that_cannot_be_units_have_none() -> None:
    codes, count = view(pd.Series([*STRANGE, "a", None, "b", "a"], dtype=object)).units("x")
    unhashable = [not callable(cell) for cell in STRANGE]
    assert [code == -1 for code in codes[: len(STRANGE)]] == unhashable
    assert codes[-3] == -1
    assert count == 3
    assert codes[-1] == codes[-4] != codes[-2]


@pytest.mark.parametrize("dtype", [object, STR_PYTHON, "string[python]", "category"])
def test_a_lone_surrogate_is_a_text_of_its_own(dtype: Any) -> None:
    cells = ["\ud800", repr("\ud800"), "a\0b", "a\0c", "a", "\ud800"]
    if dtype == "category":
        categories = pd.Index(cells[:5], dtype=object)
        column = pd.Series(pd.Categorical.from_codes([0, 1, 2, 3, 4, 0], categories=categories))
    else:
        column = pd.Series(cells, dtype=dtype)
    shown = view(column)
    assert same_groups(shown.units("x")[0].tolist(), cells)
    assert shown.parts(Keys("x", ("\ud800", "a", "a\0c"))).tolist() == [0, -1, -1, 2, 1, 0]


def test_other_rows_do_not_decide_what_is_equal() -> None:
    # one number among texts must not make pandas compare the texts in another way
    cells = ["\ud800", repr("\ud800"), "a"]
    for more in ([], [1], [None], [[1]]):
        codes = view(pd.Series(cells + more, dtype=object)).units("x")[0].tolist()
        assert len(set(codes[:3])) == 3


def test_errors_do_not_quote_cells() -> None:
    for column in (
        pd.Series(["secret42"], dtype=object),
        pd.Series(["secret42"]),
        pd.Series(["secret42"], dtype="category"),
    ):
        with pytest.raises(ArgumentTypeError) as caught:
            view(column).column("x")
        assert "secret42" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1 + 2j]),
        pd.Series(pd.arrays.SparseArray([0, 1])),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series([b"x"], dtype=pd.ArrowDtype(pa.binary())),
        pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    ],
    ids=lambda column: str(column.dtype),
)
def test_dtypes_that_are_refused(column: pd.Series) -> None:
    with pytest.raises(ArgumentTypeError):
        view(column).present("x")


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_dates_beyond_nanoseconds_are_held_at_the_ends(unit: str) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6}[unit]
    largest = 2**63 - 1
    ticks = [
        2**62,
        -(2**62),
        largest // 10**9 * per_second,
        (largest // 10**9 + 1) * per_second,
        2**63 - 1,
        -(2**63) + 1,
    ]
    factor = 10**9 // per_second
    expected = [min(max(tick * factor, -(2**63)), largest) for tick in ticks]
    column = pd.Series(np.array(ticks).view(f"datetime64[{unit}]"))
    values, present = view(column).column("x")
    assert present is None
    assert values.tolist() == expected
    in_arrow = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(ticks).view(pa.duration(unit))])))
    assert view(in_arrow).column("x")[0].tolist() == expected
    # keys are compared in the unit of the column, where nothing is held at an end
    key = pd.Timestamp("3000-01-01")
    dates = pd.Series([key, pd.Timestamp("4000-01-01")], dtype=f"datetime64[{unit}]")
    assert view(dates).parts(Keys("x", (key,))).tolist() == [0, -1]


def test_days_beyond_nanoseconds() -> None:
    dates = arrow([dt.date(9999, 12, 31), dt.date(1, 1, 1), dt.date(2000, 1, 1)], pa.date32())
    assert view(dates).column("x")[0].tolist() == [2**63 - 1, -(2**63), 10957 * DAY]

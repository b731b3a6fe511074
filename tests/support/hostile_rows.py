"""Columns of every dtype with hostile cells beside others, and all that can be told of these others."""

from __future__ import annotations

import contextlib
import datetime as dt
import enum
import uuid
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from support.dtypes import DECIMALS, NUMBERS, TEXTS, TIMES

from pandas_dp.engines.pandas import PandasView
from tests.steps.tables import BOOLEAN_STORAGE, DATE_STORAGE, NUMBER_STORAGE, TEXT_STORAGE, stored

DAY, HUGE, BERLIN = pd.Timestamp("2020-01-01"), 2**53, "Europe/Berlin"
DTYPES = {
    str(dtype): dtype
    for registry in (NUMBERS, DECIMALS, TIMES, TEXTS, *map(dict.values, (NUMBER_STORAGE, TEXT_STORAGE)))
    for dtype in registry
} | {str(dtype): dtype for registry in (BOOLEAN_STORAGE, DATE_STORAGE) for dtype in registry.values()}
WIDTHS = {  # these differ from another one in width or unit alone
    *("int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "Int8", "Int16", "Float32", "float[pyarrow]"),
    *(f"{sign}int{bits}[pyarrow]" for sign in ("", "u") for bits in (8, 16, 32)),
    *("datetime64[s]", "datetime64[ms]", "timedelta64[s]", "timestamp[ms][pyarrow]"),
}


def each(names: Iterable[str]) -> list[Any]:
    """Names of dtypes as cases of a test, slow where another one differs in width or unit alone."""
    return [pytest.param(name, marks=[pytest.mark.slow] if name in WIDTHS else []) for name in names]


class Text(enum.StrEnum):
    A = "a"


class Number(enum.IntEnum):
    ONE = 1


class Named(str):
    __slots__ = ()


class Pair(NamedTuple):
    number: Any
    text: Any


class Same:
    """Equal to the number one by code of its own."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)

    def __hash__(self) -> int:
        return hash(1)


ID = uuid.UUID(int=1)
# what the other rows of a category column hold: lists to which pandas gives a dtype, and one of objects
BASES: dict[str, list[Any]] = {
    "whole": [0, 1, 2, 5, 1, HUGE + 1, HUGE, 2**63],
    "truth": [True, False, True],
    "days": [DAY, DAY + pd.Timedelta(1, "D"), DAY],
    "spans": [pd.Timedelta(1, "D"), pd.Timedelta(1, "h")],
    "texts": ["a", "b", "", "a", None],
    "objects": [
        *(1, "a", "1", 0.5, 0.1, DAY, None, pd.Timedelta(1, "D"), (1, "a"), (0, ("b", 1.0)), (HUGE + 1, "a"), HUGE + 1),
        *(DAY.tz_localize("UTC"), dt.date(2020, 1, 2), frozenset({1, "a"}), b"a", ID, pd.Interval(0, 1), 2**70),
        *(1j, Decimal("0.1"), Fraction(1, 3), 0, "b", pd.Period("2020", "Y")),
    ],
}
CELLS = [*BASES.values(), [0.5, 1.0, 0.0]]  # of other columns, the first that a dtype can hold
HOSTILE: list[Any] = [
    *(
        None,
        float("nan"),
        pd.NA,
        pd.NaT,
        float("inf"),
        -0.0,
        0.25,
        -1,
        300,
        HUGE,
        HUGE + 1,
        2**63 - 1,
        -(2**63),
        2**64 - 1,
    ),
    *(2**70, 1e300, 1j, True, Number.ONE, Decimal(1), Decimal("0.5"), Fraction(1), np.int64(1), np.bool_(False)),
    *(np.float64(1), np.uint8(5), complex(1), np.longdouble("0.1"), Decimal("0.10"), Same()),
    *(Text.A, np.str_("a"), Named("b"), "", "zz", "\ud800", "1", b"a", np.bytes_(b"a"), memoryview(b"a")),
    *(dt.datetime(2020, 1, 1), dt.date(2020, 1, 1), np.datetime64("2020-01-01", "ns"), dt.datetime(9999, 12, 31)),
    *(
        dt.datetime(2020, 1, 1, fold=1),
        pd.Timestamp(2020, 1, 1, nanosecond=1),
        pd.Timestamp("2020-01-01 01:00", tz=BERLIN),
    ),
    *(dt.datetime(2020, 1, 1, 1, tzinfo=ZoneInfo(BERLIN)), dt.timedelta(1), np.timedelta64(24, "h"), dt.timedelta.max),
    *((True, "a"), Pair(1.0, np.str_("a")), (np.int64(1), Text.A), (False, ("b", Number.ONE)), (float("nan"), True)),
    *(frozenset({True, "a"}), frozenset({"a", Decimal(1)}), pd.Interval(0.0, 1.5), [1], {"k": 1}),
]


def objects(cells: list[Any]) -> np.ndarray:
    listed = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        listed[place] = cell
    return listed


def columns(dtype: Any, cells: list[Any]) -> Iterator[tuple[Any, list[Any], pd.Series]]:
    """Hostile cells, which rows are the others, and a column of both: of lists one at a time, first or last, else all.

    Where a dtype has no list of its values, no more than their number and what fits beside them could follow from a cell.
    """
    if dtype == "category":
        alone = [[cell] for cell in HOSTILE]
    else:
        alone = [[cell for cell in HOSTILE if column(dtype, objects([cell, *cells])) is not None]]
    plain = column(dtype, objects(cells))
    for more in alone:
        for first, last in [(more, []), ([], more)] if dtype == "category" else [(more, more)]:
            made = column(dtype, objects([*first, *cells, *last]))
            others = np.repeat([False, True, False], [len(first), len(cells), len(last)])
            # what is made of objects may be another column, where pandas reads all of them in another way
            if made is not None and (dtype == "category" or cells_of(made.array[others]) == cells_of(plain.array)):
                yield more, others, made


def column(dtype: Any, cells: Any) -> pd.Series | None:
    """A column of cells, or None where pandas makes none of this dtype; a list is read in another way than objects are."""
    ways = [lambda: stored(cells, dtype), lambda: pd.Series(pd.Categorical(list(cells)))]
    for made in ways if dtype == "category" else ways[:1]:
        with contextlib.suppress(Exception):  # before anything is protected
            found = made()
            return found if dtype == "category" or found.dtype == stored(cells[:0], dtype).dtype else None
    return None


def told(column: pd.Series, others: np.ndarray) -> Any:
    """What can be told of some rows of a column: of categories what a block shows of them, and what is missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return seen(pd.DataFrame({"x": column}), others), column.isna().to_numpy()[others].tolist()
    return str(column.dtype), cells_of(column.array[others])


def seen(frame: pd.DataFrame, others: np.ndarray) -> list[Any]:
    """All that a function can see of the cells of a block of some rows; the rest are in another one, rebuilt beside it."""
    blocks: list[Any] = []

    def look(block: pd.DataFrame) -> None:
        blocks.append([(name, str(block[name].dtype), cells_of(block[name].array)) for name in block])

    PandasView(frame, {}).block_results(look, np.where(others, 0, 1), 2)
    return blocks[:1]


def cells_of(cells: Any) -> list[Any]:
    return [(type(cell).__name__, repr(cell)) for cell in cells]


def facts(column: pd.Series, others: np.ndarray) -> str:
    """What pandas keeps for some rows of a category column: the dtype of the list, and what it holds for them."""
    listed = column.cat.categories
    return repr((listed.dtype, [None if c < 0 else (type(listed[c]), listed[c]) for c in column.cat.codes[others]]))

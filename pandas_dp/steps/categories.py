"""Category columns, by the form of each cell alone.

The list of a category column, its order, its dtype and which of several equal cells it holds are made from all rows. So none of
them decides an error, a kind or a dtype here, and cells are what `canonical` makes of them: see there why that is theirs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pandas_dp.engines.cells import Foreign, forms
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.values import TIMES, Kind, Mask, Nulls, Values, key, plain, read_constant


def equals_category(left: Values, right: Values) -> Mask:
    """Whether cells of two category columns are equal; shape (n,)."""
    numbered: dict[object, int] = {}

    def number(form: Any, unequal: int) -> int:
        wanted = _key(form)
        return unequal if wanted is None else numbered.setdefault(wanted, len(numbered))

    return np.asarray(_each(lambda form: number(form, -1), left, -1) == _each(lambda form: number(form, -2), right, -2))


def objects(column: Values) -> Values:
    """The cells as Python objects, of which text is comparable; those without a form are missing."""
    codes, listed = forms(column.data)
    missing = _pick([isinstance(form, Foreign) for form in listed], codes, True)
    text = _pick([type(form) is str for form in listed], codes, False)
    cells = np.append(listed, [None, None])[codes]
    cells[missing] = None
    return Values(Kind.OBJECT, cells, missing, foreign=~text & ~missing, nulls=Nulls.NAN)


def fill(column: Values, constant: Values) -> Values:
    """Missing cells, and those without a form, replaced, as a column of Python objects: the list could lack the constant.

    Raises
    ------
    ArgumentTypeError
        If the constant is a date or a duration.
    """
    if constant.kind in TIMES:
        raise ArgumentTypeError("categories are filled with text or numbers")
    filled = objects(column)
    text = isinstance(constant.data, str)
    filled.data[filled.missing] = constant.data if text else constant.data.item()
    foreign = filled.incomparable & ~filled.missing | (filled.missing & (not text))
    return Values(Kind.OBJECT, filled.data, np.zeros(len(filled.missing), dtype=bool), foreign=foreign, nulls=Nulls.NAN)


def positions(column: Values, keys: Iterable[tuple[object, ...]]) -> npt.NDArray[np.int64]:
    """Position of the key that each cell equals, -1 where it equals none; shape (n,)."""
    table: dict[object, int] = {}
    for position, wanted in enumerate(keys):
        table.setdefault(wanted, position)
    return _each(lambda form: table.get(_key(form), -1), column, -1).astype(np.int64)


def each(function: Callable[[Any], float], column: Values) -> npt.NDArray[np.float64]:
    """A number made from each cell's own category, NaN where it is missing; shape (n,)."""
    return _each(function, column, np.nan).astype(np.float64)


def _key(form: Any) -> tuple[object, ...] | None:
    """What a form is equal by; None for one that equals no constant, such as an interval."""
    if type(form) is str:
        return (Kind.TEXT, form)
    if type(form) not in (float, pd.Timestamp, pd.Timedelta):
        return None
    try:
        return key(read_constant(plain(form)))
    except (ArgumentTypeError, ArgumentValueError):
        return None


def _each(function: Callable[[Any], Any], column: Values, rest: Any) -> npt.NDArray[Any]:
    """What a function makes of the form of each cell, ``rest`` where there is none; shape (n,)."""
    codes, listed = forms(column.data)
    return _pick([function(form) for form in listed], codes, rest)


def _pick(table: list[Any], codes: npt.NDArray[Any], rest: Any) -> npt.NDArray[Any]:
    """Entry of each code; the last two are those of cells without a form, -2, and of missing ones, -1."""
    return np.asarray(np.array([*table, rest, rest])[codes])

"""Category columns, by the value of each cell alone.

The list of a category column, its order and its dtype are made from all rows. So none of them decides an error, a kind or
a dtype here, and cells are equal by their own value and kind whatever else is in the list.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.constants import key, plain, read_constant
from pandas_dp.steps.values import TIMES, Kind, Mask, Values

# Types whose values a constant can equal. A subclass could run code of its own when it is read.
_PLAIN = frozenset(
    map(
        id,
        {bool, int, float, Decimal, pd.Timestamp, pd.Timedelta, datetime.datetime, datetime.timedelta}
        | {kind for kind in np.sctypeDict.values() if issubclass(kind, np.bool_ | np.number | np.datetime64 | np.str_)},
    )
)
_ZONES = (type(None), datetime.timezone, zoneinfo.ZoneInfo)


def equals_any(column: Values, constants: Iterable[Values]) -> Mask:
    """Whether each cell equals one of the constants; shape (n,)."""
    wanted = {key(constant) for constant in constants}
    table = np.array([level in wanted for level in _keys(column)], dtype=bool)
    return _pick(table, column) & ~column.missing


def equals_category(left: Values, right: Values) -> Mask:
    """Whether cells of two category columns are equal; shape (n,)."""
    numbered: dict[object, int] = {}
    ids = []
    for column, unequal in ((left, -1), (right, -2)):
        table = [unequal if level is None else numbered.setdefault(level, len(numbered)) for level in _keys(column)]
        ids.append(_pick(np.array(table, dtype=np.int64), column))
    return np.asarray((ids[0] == ids[1]) & ~left.missing & ~right.missing)


def objects(column: Values) -> Values:
    """The cells as Python objects, of which text is comparable."""
    levels = column.data.categories.astype(object).to_numpy()
    text = np.array([type(level) is str for level in levels], dtype=bool)
    cells = _pick(levels, column)
    cells[column.missing] = None
    return Values(Kind.OBJECT, cells, column.missing, foreign=~_pick(text, column) & ~column.missing)


def fill(column: Values, constant: Values) -> Values:
    """Missing cells replaced, as a column of Python objects: the category list could lack the constant.

    Raises
    ------
    ArgumentTypeError
        If the constant is a date or a duration.
    """
    if constant.kind in TIMES:
        raise ArgumentTypeError("categories are filled with text or numbers")
    filled = objects(column)
    text = isinstance(constant.data, str)
    filled.data[column.missing] = constant.data if text else constant.data.item()
    present = np.zeros(len(column.missing), dtype=bool)
    foreign = filled.incomparable & ~column.missing | (column.missing & (not text))
    return Values(Kind.OBJECT, filled.data, present, foreign=foreign)


def positions(column: Values, keys: Iterable[tuple[object, ...]]) -> npt.NDArray[np.int64]:
    """Position of the key that each cell equals, -1 where it equals none; shape (n,)."""
    table: dict[object, int] = {}
    for position, wanted in enumerate(keys):
        table.setdefault(wanted, position)
    found = np.array([-1 if level is None else table.get(level, -1) for level in _keys(column)], dtype=np.int64)
    return np.where(column.missing, -1, _pick(found, column))


def each(function: Callable[[Any], float], column: Values) -> npt.NDArray[np.float64]:
    """A number made from each cell's own category, NaN where it is missing; shape (n,)."""
    table = np.array([function(level) for level in column.data.categories.astype(object)], dtype=np.float64)
    return np.where(column.missing, np.nan, _pick(table, column))


def _keys(column: Values) -> list[tuple[object, ...] | None]:
    """What each category is equal by; None for one that equals nothing, such as an interval."""
    return [_key(level) for level in column.data.categories.astype(object)]


def _key(level: Any) -> tuple[object, ...] | None:
    if type(level) is str:
        return (Kind.TEXT, level)
    if id(type(level)) not in _PLAIN or type(getattr(level, "tzinfo", None)) not in _ZONES:
        return None
    try:
        return key(read_constant(plain(level)))
    except (ArgumentTypeError, ArgumentValueError):
        return None


def _pick(table: npt.NDArray[Any], column: Values) -> npt.NDArray[Any]:
    """Entry of each cell's category; what stands at a missing cell has no meaning."""
    codes = column.data.codes
    return table[codes] if len(table) else np.zeros(len(codes), dtype=table.dtype)

"""``astype``: conversions that no cell can make fail, since what cannot be converted counts as missing.

For all inputs: element i of a result depends on element i of the operand alone, and whether a conversion is refused
depends on the kind of the operand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps import categories
from pandas_dp.steps.text import python_text, texts
from pandas_dp.steps.values import NUMERIC, TEXTUAL, Kind, Values, advice, booleans, numbers

# Decimal notation, read from left to right in one pass; \d is 0-9 alone here.
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_NUMPY = {kind for kind in np.sctypeDict.values() if issubclass(kind, np.bool_ | np.integer | np.floating)}
_NUMBER_TYPES = frozenset(map(id, {bool, int, float} | (_NUMPY - {np.timedelta64})))


def astype(operand: Values, dtype: str) -> Values:
    """Cells as ``"float64"``, ``"int64"``, ``"bool"`` or ``"string"``.

    Numbers are in float64 whatever the target, with NaN where missing; ``"int64"`` cuts them toward zero, and those
    that int64 cannot hold are missing. Text, objects and categories become numbers cell by cell, missing where
    a cell is none. Truth is that of ``x != 0`` where x is present. Text is made of numbers, true and false; that of a whole
    number has no point, also where pandas stores it as a float.

    Raises
    ------
    ArgumentTypeError
        If values of this kind are never converted to the target.
    """
    return TARGETS[dtype](operand)


def _float(operand: Values) -> Values:
    if operand.kind in NUMERIC:
        return numbers(np.asarray(operand.floats()))
    if operand.kind is Kind.CATEGORY:
        return numbers(categories.each(number, operand))
    if operand.kind not in TEXTUAL:
        raise _refused("numbers", operand)
    cells = python_text(operand) if operand.kind is Kind.TEXT else operand.data
    return numbers(np.fromiter(map(number, cells), np.float64, len(operand.missing)))


def _int(operand: Values) -> Values:
    with np.errstate(all="ignore"):  # a signalling NaN is one like others
        whole = np.trunc(_float(operand).floats())
    return numbers(np.where(np.abs(whole) < 2.0**63, whole, np.nan))


def _bool(operand: Values) -> Values:
    if operand.kind not in NUMERIC:
        raise ArgumentTypeError(f"{operand.kind.value} are no truth values: compare, as in d.x == 'yes'")
    return booleans(np.asarray((operand.data != 0) & ~operand.missing))


def _string(operand: Values) -> Values:
    if operand.kind is Kind.CATEGORY:
        operand = categories.objects(operand)
    if operand.kind in TEXTUAL:
        return texts(python_text(operand), operand.incomparable, operand)
    if operand.kind not in NUMERIC:
        raise _refused("text", operand)
    cells = np.where(operand.missing, 0, operand.data).astype(operand.data.dtype)
    return texts([_digits(cell) for cell in cells.tolist()], operand.missing)


def _digits(cell: bool | int | float) -> str:
    """A whole number without a point, whatever stores it: one missing value makes floats of a column of integers."""
    return str(int(cell)) if type(cell) is float and cell.is_integer() and abs(cell) < 2**53 else str(cell)


TARGETS: dict[str, Callable[[Values], Values]] = {"float64": _float, "int64": _int, "bool": _bool, "string": _string}


def number(cell: Any) -> float:
    """A cell as a float, NaN where it is no number; it is looked at by exact type, so that no code of its own runs."""
    kind = type(cell)
    if kind is str or kind is np.str_:
        cell = str.__str__(cell)
        return float(cell) if _NUMBER.fullmatch(cell) else math.nan
    if kind is Decimal and not cell.is_nan():
        return float(cell)
    if id(kind) not in _NUMBER_TYPES:
        return math.nan
    try:
        return float(cell)
    except OverflowError:  # of an integer, which Python keeps exact; text as long gives an infinity too
        return math.inf if cell > 0 else -math.inf


def _refused(target: str, operand: Values) -> ArgumentTypeError:
    hint = advice(operand) or ": of dates take parts, as in d.visit.dt.year, or differences / pd.Timedelta('1 day')"
    return ArgumentTypeError(f"{operand.kind.value} do not become {target}{hint}")

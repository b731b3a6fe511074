"""Arithmetic and comparison of ``Values``: one meaning for every storage, and no cell makes any of it raise.

For all inputs: element i of a result depends on element i of the operands and on constants only; the kind of
the result, and whether the operation is refused, depend on the kinds of the operands and on constants only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps import categories, dates
from pandas_dp.steps.dates import as_time, split_seconds
from pandas_dp.steps.text import arrow_text, python_text
from pandas_dp.steps.values import (
    NUMERIC,
    TEXTUAL,
    TIMES,
    Kind,
    Mask,
    Values,
    advice,
    booleans,
    family,
    numbers,
    times,
)

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "negative": np.negative,
    "abs": np.absolute,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "floor": np.floor,
    "ceil": np.ceil,
}


def arithmetic(op: str, left: Values, right: Values) -> Values:
    """``left op right`` in float64; a missing operand makes a missing result.

    Division by zero and overflow give infinities or missing numbers, as in numpy. Of dates and durations, the
    differences, the sums and the ratio of two durations exist; what leaves the range of dates is missing.

    Raises
    ------
    ArgumentTypeError
        If the kinds of the operands do not fit.
    """
    if left.kind in NUMERIC and right.kind in NUMERIC:
        x, y = left.floats(), right.floats()
        with np.errstate(all="ignore"):
            result = OPERATORS[op](x, y)
        if op == "**":  # numpy has 1 ** nan == nan ** 0 == 1; here a missing operand always decides
            result = np.where(np.isnan(x) | np.isnan(y), np.nan, result)
        return numbers(np.asarray(result))
    if left.kind in TIMES and right.kind in TIMES:
        kind = dates.result_kind(op, left.kind, right.kind)
        if kind is not None:
            return dates.combine(op, left, right, kind)
    raise ArgumentTypeError(f"'{op}' does not work on {left.kind.value} and {right.kind.value}{advice(left, right)}")


def function(name: str, operand: Values) -> Values:
    """``-x``, ``abs(x)`` and a few mathematical functions, in float64; outside their domain the result is missing."""
    if operand.kind in NUMERIC:
        with np.errstate(all="ignore"):
            return numbers(np.asarray(FUNCTIONS[name](operand.floats())))
    if operand.kind is Kind.DURATION and name in (
        "negative",
        "abs",
    ):  # NaT is excluded, so no count overflows
        return times(Kind.DURATION, FUNCTIONS[name](operand.data), operand.missing, operand.unit)
    raise ArgumentTypeError(f"'{name}' does not work on {operand.kind.value}{advice(operand)}")


def clip(limit: Callable[..., Any], operand: Values, bound: Values) -> Values:
    """Numbers clipped by ``np.maximum`` from below or ``np.minimum`` from above; in float64, missing where one is missing."""
    for values in (operand, bound):
        if values.kind is not Kind.NUMBER:
            raise ArgumentTypeError(f"clip needs numbers, not {values.kind.value}{advice(values)}")
    return numbers(np.asarray(limit(operand.floats(), bound.floats())))


def round_half_even(operand: Values, decimals: Values) -> Values:
    """Numbers rounded half to even at a constant decimal place, in float64."""
    if operand.kind not in NUMERIC:
        raise ArgumentTypeError(f"round needs numbers, not {operand.kind.value}{advice(operand)}")
    x = operand.floats()
    with np.errstate(all="ignore"):
        result = np.round(x, int(decimals.data))
    # numpy multiplies by 10**decimals first; where that overflows, the number has no such decimals to round.
    return numbers(np.where(np.isfinite(result), result, x))


def fill(operand: Values, constant: Values) -> Values:
    """Missing cells replaced by a constant of the same kind.

    Integers filled with an integer of their range stay integers; other numbers become float64. Text keeps its
    dtype, dates take the finer unit of column and constant. A category column becomes one of objects, since its list
    could lack the constant.

    Raises
    ------
    ArgumentTypeError
        If the constant is of another kind than the column.
    """
    if operand.kind is Kind.CATEGORY:
        return categories.fill(operand, constant)
    constant = dates.as_time(constant, operand)
    mixed = Kind.BOOLEAN in (operand.kind, constant.kind) and operand.kind is not constant.kind
    if mixed or family(operand.kind) is not family(constant.kind):
        raise ArgumentTypeError(f"{operand.kind.value} cannot be filled with {constant.kind.value}{advice(operand)}")
    if operand.kind in TIMES:
        return _fill_times(operand, constant)
    if operand.kind in TEXTUAL:
        return _fill_text(operand, constant)
    if operand.kind is Kind.BOOLEAN or _stays_integer(operand, constant):
        data = np.where(operand.missing, constant.data.astype(operand.data.dtype), operand.data)
        return Values(operand.kind, data, np.zeros(np.shape(data), dtype=bool))
    return numbers(np.where(operand.missing, constant.floats(), operand.floats()))


def _stays_integer(operand: Values, constant: Values) -> bool:
    if "f" in (operand.data.dtype.kind, constant.data.dtype.kind):
        return False
    limits = np.iinfo(operand.data.dtype)
    return bool(limits.min <= int(constant.data) <= limits.max)


def _fill_times(operand: Values, constant: Values) -> Values:
    unit = dates.finer(operand, constant)
    x, y = dates.rescale(operand, unit), dates.rescale(constant, unit)
    missing = np.where(operand.missing, y.missing, x.missing)  # a date that left the range is not filled
    return times(operand.kind, np.where(operand.missing, y.data, x.data), missing, unit, operand.zone)


def _fill_text(operand: Values, constant: Values) -> Values:
    if isinstance(operand.data, str):
        return operand
    present = np.zeros(np.shape(operand.missing), dtype=bool)
    if operand.kind is Kind.OBJECT:
        cells = np.where(operand.missing, np.asarray(constant.data, dtype=object), operand.data)
        return Values(Kind.OBJECT, cells, present, foreign=operand.foreign)
    return Values(Kind.TEXT, operand.data.fillna(constant.data), present)


COMPARISONS: dict[str, Callable[..., Any]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARROW_OPERATORS: dict[str, Callable[..., Any]] = {
    "==": pc.equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compare(op: str, left: Values, right: Values) -> Values:
    """``left op right`` for each row; False where either is missing, except that ``!=`` is then True.

    Two integers are compared exactly, other numbers in float64, text by code points, dates and durations
    exactly whatever their units. Categories are compared by value, for equality only: their order is a list
    that other rows shape.

    Raises
    ------
    ArgumentTypeError
        If the kinds do not fit. Never for ``==`` and ``!=`` between a category column and a constant.
    ArgumentValueError
        If a text constant beside dates or durations cannot be read as one.
    """
    return booleans(~_holds("==", left, right) if op == "!=" else _holds(op, left, right))


def _holds(op: str, left: Values, right: Values) -> Mask:
    if Kind.CATEGORY in (left.kind, right.kind):
        if op != "==":
            raise ArgumentTypeError(
                f"'{op}' does not work on categories, whose order is not a fact of the row: list the "
                "values, as in "
                ".isin(['b', 'c']), or turn the column into text or numbers before it is protected"
            )
        return _equals_category(left, right)
    left, right = as_time(left, right), as_time(right, left)
    common = family(left.kind)
    if common is not family(right.kind) or common is Kind.OTHER:
        raise ArgumentTypeError(
            f"'{op}' does not work on {left.kind.value} and {right.kind.value}{advice(left, right)}"
        )
    if common is Kind.TEXT:
        holds = _compare_text(op, left, right)
    elif common is Kind.NUMBER:
        holds = _compare_numbers(op, left, right)
    else:
        holds = _compare_times(op, left, right)
    return np.asarray(holds & ~left.incomparable & ~right.incomparable)


def isin(constants: Sequence[Values], operand: Values) -> Values:
    """Whether each row equals one of the constants; a missing cell equals none.

    Raises
    ------
    ArgumentTypeError
        If a constant is of another kind than the column. Never for a category column.
    """
    if operand.kind is Kind.CATEGORY:
        return booleans(categories.equals_any(operand, constants))
    constants = [as_time(constant, operand) for constant in constants]
    common = family(operand.kind)
    for constant in constants:
        if family(constant.kind) is not common:
            raise ArgumentTypeError(
                f"{constant.kind.value} cannot be looked for in {operand.kind.value}{advice(operand)}"
            )
    if common is Kind.TEXT:
        found = _text_isin(operand, [constant.data for constant in constants])
    elif common is Kind.NUMBER:
        found = _number_isin(operand, constants)
    else:
        found = np.zeros(np.shape(operand.missing), dtype=bool)
        for constant in constants:
            found = found | _compare_times("==", operand, constant)
    return booleans(np.asarray(found & ~operand.incomparable))


def _equals_category(left: Values, right: Values) -> Mask:
    if left.kind is not Kind.CATEGORY:
        left, right = right, left
    if right.constant:
        return categories.equals_any(left, [right])
    if right.kind is Kind.CATEGORY:
        return categories.equals_category(left, right)
    return _holds("==", categories.objects(left), right)


# Numbers and dates


def _compare_numbers(op: str, left: Values, right: Values) -> Mask:
    x, y = left.data, right.data
    if "f" in (x.dtype.kind, y.dtype.kind):
        x, y = x.astype(np.float64), y.astype(np.float64)
    return np.asarray(COMPARISONS[op](x, y))  # int64 against uint64 is exact in numpy


def _number_isin(operand: Values, constants: Sequence[Values]) -> Mask:
    """Constants are split by form, so that every match is what ``==`` would say."""
    whole = [int(constant.data) for constant in constants if constant.data.dtype.kind != "f"]
    floats = [float(constant.data) for constant in constants if constant.data.dtype.kind == "f"]
    data = operand.data.astype(np.uint8) if operand.kind is Kind.BOOLEAN else operand.data
    if data.dtype.kind == "f":
        return np.isin(data, np.array(floats + [float(value) for value in whole], dtype=np.float64))
    limits = np.iinfo(data.dtype)
    whole = [value for value in whole if limits.min <= value <= limits.max]
    found = np.isin(data, np.array(whole, dtype=data.dtype))
    return found | np.isin(data.astype(np.float64), np.array(floats, dtype=np.float64)) if floats else found


def _compare_times(op: str, left: Values, right: Values) -> Mask:
    if left.unit == right.unit:
        return np.asarray(COMPARISONS[op](left.data, right.data))
    (x, x_rest), (y, y_rest) = split_seconds(left), split_seconds(right)
    if op == "==":
        return np.asarray((x == y) & (x_rest == y_rest))
    return np.asarray(np.where(x == y, COMPARISONS[op](x_rest, y_rest), COMPARISONS[op](x, y)))


# Text


def _compare_text(op: str, left: Values, right: Values) -> Mask:
    if isinstance(left.data, str) and isinstance(right.data, str):
        return np.asarray(COMPARISONS[op](left.data, right.data))
    x, y = arrow_text(left), arrow_text(right)
    if x is not None and y is not None:  # UTF-8 sorts as its code points do, so both paths agree
        return np.asarray(_ARROW_OPERATORS[op](x, y).fill_null(False).to_numpy(zero_copy_only=False))
    return np.asarray(COMPARISONS[op](python_text(left), python_text(right)), dtype=bool)


def _text_isin(operand: Values, wanted: list[str]) -> Mask:
    if isinstance(operand.data, str):
        return np.asarray(operand.data in wanted)
    cells = arrow_text(operand)
    if cells is None:
        known = set(wanted)
        return np.fromiter((cell in known for cell in python_text(operand)), bool, len(operand.missing))
    return np.asarray(pc.is_in(cells, value_set=pa.array(wanted, pa.large_string())).to_numpy(zero_copy_only=False))

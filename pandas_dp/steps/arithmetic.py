"""Arithmetic on ``Values``: one meaning for every storage, and no cell makes any of it raise.

For all inputs: element i of a result depends on element i of the operands and on constants only; the kind of
the result, and whether the operation is refused, depend on the kinds of the operands and on constants only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps import categories, dates
from pandas_dp.steps.values import (
    NUMERIC,
    TEXTUAL,
    TIMES,
    Kind,
    Values,
    advice,
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


def at_least(operand: Values, lower: Values) -> Values:
    """Numbers clipped from below, in float64; a missing operand makes a missing result."""
    return _clip(np.maximum, operand, lower)


def at_most(operand: Values, upper: Values) -> Values:
    """Numbers clipped from above, in float64; a missing operand makes a missing result."""
    return _clip(np.minimum, operand, upper)


def _clip(limit: Callable[..., Any], operand: Values, bound: Values) -> Values:
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

"""Arithmetic and comparison of ``Values``: one meaning for every storage, and no cell makes any of it raise.

For all inputs: element i of a result depends on element i of the operands and on constants only; the kind of
the result, and whether the operation is refused, depend on the kinds of the operands and on constants only.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps import beyond, categories, dates, exact
from pandas_dp.steps.dates import as_time, split_seconds
from pandas_dp.steps.text import arrow_text, joined, python_text
from pandas_dp.steps.values import (
    TIMES,
    Kind,
    Mask,
    Nulls,
    Values,
    advice,
    booleans,
    family,
    key,
    nulls_among,
    numbers,
    times,
    truth,
)

OPERATORS: dict[str, Callable[..., Any]] = {**exact.UFUNCS, "/": np.true_divide, "**": np.power}
_OF_NUMPY = "negative abs sqrt exp log log2 log10 log1p expm1 floor ceil"
FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(np, name) for name in _OF_NUMPY.split()}


DATES = ": a date is written in quotes, as in when > '2024-01-31', and its year is when.dt.year"
QUOTES = ": text is typed in quotes, as in ward == '1', numbers are not, as in age > 65; .astype('float64') makes them of text"
WHOLE: dict[str, Callable[[Values], Values | None]] = {
    "negative": exact.negative,
    "abs": exact.absolute,
    "floor": functools.partial(exact.cut, up=False),
    "ceil": functools.partial(exact.cut, up=True),
}


def arithmetic(op: str, left: Values, right: Values) -> Values:
    """``left op right``; a missing operand makes a missing result. Whole numbers and decimals are exact, see `exact`.

    Others are in float64, as is ``/``, and what ``**`` writes. There division by zero and overflow give infinities or
    missing numbers, as in numpy, and no zero gets a sign that whole numbers do not have: one divided by it would tell. Of
    dates and durations, the differences, the sums and the ratios of two durations exist; what leaves the range of dates is
    missing. Text is joined by ``+``.

    Raises
    ------
    ArgumentTypeError
        If the kinds of the operands do not fit.
    """
    if family(left.kind) is Kind.NUMBER and family(right.kind) is Kind.NUMBER:
        whole = exact.arithmetic(op, left, right)
        if whole is not None:
            return whole
        x, y = left.floats(), right.floats()
        with np.errstate(all="ignore"):
            result = OPERATORS[op](x, y)
        if op == "**":  # numpy has 1 ** nan == nan ** 0 == 1; here a missing operand always decides
            result = np.where(np.isnan(x) | np.isnan(y), np.nan, result)
        if op in ("*", "//", "%"):
            result = result + 0.0
        if op == "/":
            return numbers(np.asarray(result), nulls_among(left, right))
        return beyond.exactly(OPERATORS[op], (left, right), (x, y), result, op != "**" or y >= 0)
    if left.kind in TIMES and right.kind in TIMES:
        kind = dates.result_kind(op, left.kind, right.kind)
        if kind is not None:
            return dates.combine(op, left, right, kind)
    if op == "+" and {family(left.kind), family(right.kind)} <= {Kind.TEXT, Kind.CATEGORY}:
        return joined(left, right)
    raise ArgumentTypeError(f"'{op}' does not work on {left.kind.value} and {right.kind.value}{advice(left, right)}")


def function(name: str, operand: Values) -> Values:
    """``-x``, ``abs(x)`` and a few mathematical functions, in float64 but for `WHOLE`; outside their domain it is missing."""
    if family(operand.kind) is Kind.NUMBER:
        whole = WHOLE[name](operand) if name in WHOLE else None
        if whole is not None:
            return whole
        with np.errstate(all="ignore"):
            found = np.asarray(FUNCTIONS[name](operand.floats()))
        found = found + 0.0 if name == "negative" else found
        if name in WHOLE:
            change = FUNCTIONS[name] if operand.nulls is Nulls.NA else beyond.CHANGES[name]
            return beyond.exactly(change, (operand,), (operand.floats(),), found)
        return numbers(found, operand.nulls)
    if operand.kind is Kind.DURATION and name in ("negative", "abs"):  # NaT is excluded, so no count overflows
        return times(Kind.DURATION, FUNCTIONS[name](operand.data), operand.missing, operand.unit, nulls=operand.nulls)
    raise ArgumentTypeError(f"'{name}' does not work on {operand.kind.value}{advice(operand)}")


def round_half_even(operand: Values, decimals: Values) -> Values:
    """Numbers rounded half to even at a constant decimal place."""
    if family(operand.kind) is not Kind.NUMBER:
        raise ArgumentTypeError(f"round needs numbers, not {operand.kind.value}{advice(operand)}")
    whole = exact.rounded(operand, int(decimals.data))
    if whole is not None:
        return whole
    x = operand.floats()
    with np.errstate(all="ignore"):
        result = np.round(x, int(decimals.data)) + 0.0
    # numpy multiplies by 10**decimals first; where that overflows or is rounded itself, there may be no such decimals to round
    if decimals.data:
        kept = ~np.isfinite(result)
        kept = kept | (x == np.floor(x)) if decimals.data > 0 else kept
        result = np.where(kept, x + 0.0, result) if kept.any() else result
    change = np.frompyfunc(lambda number: round(number, min(int(decimals.data), 0)), 1, 1)
    return beyond.exactly(change, (operand,), (x,), result)


# of each comparison its name in Python, in NumPy and Arrow, and in a syntax tree
COMPARED: dict[str, tuple[str, str, type[ast.cmpop]]] = {
    "==": ("eq", "equal", ast.Eq),
    "!=": ("ne", "not_equal", ast.NotEq),
    "<": ("lt", "less", ast.Lt),
    "<=": ("le", "less_equal", ast.LtE),
    ">": ("gt", "greater", ast.Gt),
    ">=": ("ge", "greater_equal", ast.GtE),
}
COMPARISONS: dict[str, Callable[..., Any]] = {  # but for !=, which is what == is not
    op: getattr(operator, name) for op, (name, *_) in COMPARED.items() if op != "!="
}
_ARROW_OPERATORS: dict[str, Callable[..., Any]] = {op: getattr(pc, name) for op, (_, name, _) in COMPARED.items()}


def compare(op: str, left: Values, right: Values) -> Values:
    """``left op right`` for each row. Where either is missing it is unknown, if `Nulls.NA` stands in one of the columns;
    otherwise False, and for ``!=`` True.

    Whole numbers are compared exactly, floats among them too, decimals beside floats in float64, text by code points,
    dates and durations exactly whatever their units. Categories are compared by value, for equality only: their order is a list
    that other rows shape.

    Raises
    ------
    ArgumentTypeError
        If the kinds do not fit. Never for ``==`` and ``!=`` between a category column and a constant.
    ArgumentValueError
        If a text constant beside dates or durations cannot be read as one.
    """
    holds = ~_holds("==", left, right) if op == "!=" else _holds(op, left, right)
    nulls = nulls_among(left, right)
    return booleans(holds, left.missing | right.missing if nulls is Nulls.NA else None, nulls)


def _holds(op: str, left: Values, right: Values) -> Mask:
    if Kind.CATEGORY in (left.kind, right.kind):
        if op != "==":
            raise ArgumentTypeError(
                f"'{op}' does not work on categories, whose order is not part of a row: list the values, as in "
                ".isin(['b', 'c']), or turn the column into text or numbers before it is protected"
            )
        return _equals_category(left, right)
    left, right = as_time(left, right), as_time(right, left)
    common = family(left.kind)
    if common is not family(right.kind) or common is Kind.OTHER:
        kinds = {left.kind, right.kind}
        dated = Kind.NUMBER in kinds and kinds & {Kind.DATE, Kind.ZONED}
        told = advice(left, right) or QUOTES * (kinds == {Kind.TEXT, Kind.NUMBER}) or DATES * bool(dated)
        raise ArgumentTypeError(f"'{op}' does not work on {left.kind.value} and {right.kind.value}{told}")
    if common is Kind.TEXT:
        holds = _compare_text(op, left, right)
    elif common is Kind.NUMBER:
        holds = _compare_numbers(op, left, right)
    else:
        holds = _compare_times(op, left, right)
    return np.asarray(holds & ~left.incomparable & ~right.incomparable)


def _equals_category(left: Values, right: Values) -> Mask:
    if left.kind is not Kind.CATEGORY:
        left, right = right, left
    if right.constant:
        return np.equal(categories.positions(left, [key(right)]), 0)
    if right.kind is Kind.CATEGORY:
        return categories.equals_category(left, right)
    return _holds("==", categories.objects(left), right)


# Numbers and dates


def _compare_numbers(op: str, left: Values, right: Values) -> Mask:
    compared, kinds = COMPARISONS[op], {left.data.dtype.kind, right.data.dtype.kind}
    both = exact.alike(left, right) if "O" in kinds else None
    if both is not None:
        return np.asarray(compared(both[0].data, both[1].data)).astype(bool)
    # int64 against uint64 is exact in numpy
    if not kinds & {"f", "O"} and left.infinite is None and right.infinite is None:
        return np.asarray(compared(beyond.merged(left).data, beyond.merged(right).data))
    x, y = left.floats(), right.floats()
    found = np.asarray(compared(x, y))
    if not beyond.may_tie(left, right):
        return found
    alike = (x == y) & beyond.wide(x)  # different floats stand in the order of the numbers that they are next to
    if alike.any():
        found = np.array(found)
        found[alike] = compared(*(beyond.integers(side, alike) for side in (left, right)))
    return found


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


# Truth


def negated(condition: Values) -> Values:
    """``not`` of a condition: unknown where that is."""
    if condition.kind is not Kind.BOOLEAN or condition.nulls is not Nulls.NA:
        return booleans(~truth(condition))
    return booleans(~(condition.data | condition.missing), condition.missing, condition.nulls)


def logical(decisive: bool, *conditions: Values) -> Values:
    """What Kleene's logic has: decided as soon as one condition decides, otherwise unknown as soon as one is."""
    found = [truth(condition) == decisive for condition in conditions]
    nulls = nulls_among(*conditions)
    if nulls is not Nulls.NA:
        return booleans(functools.reduce(np.logical_or, found) == decisive)
    decided = functools.reduce(np.logical_or, [f & ~c.missing for f, c in zip(found, conditions, strict=True)])
    unknown = functools.reduce(np.logical_or, [condition.missing for condition in conditions]) & ~decided
    return booleans((decided == decisive) & ~unknown, unknown, nulls)

"""The row-wise functions an expression may call, by pandas' names, and what to type instead of the others."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.accessors import PROPERTIES, TEXT_METHODS, TIME_METHODS, of_one
from pandas_dp.steps.choices import CHOICES
from pandas_dp.steps.expression import Constant, Expression, IsIn, Method, Operation, lift, shorten
from pandas_dp.steps.operations import COMPARED
from pandas_dp.steps.refusals import INTERNAL, NOT_TRACED, REASONS, WHOLE_COLUMN, said

_DTYPES: dict[str, tuple[Any, ...]] = {  # what pandas calls each, and Python
    "float64": ("float64", "Float64", "float", float, np.float64),
    "int64": ("int64", "Int64", "int", int, np.int64),
    "bool": ("bool", "boolean", bool, np.bool_),
    "string": ("string", "str", str),
}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(op: str, left: Any, right: Any) -> Expression:
    """``left op right`` with a constant always on the right: ``3 < x`` and ``x > 3`` are the same question."""
    left, right = lift(left), lift(right)
    if isinstance(left, Constant) and not isinstance(right, Constant):
        op, left, right = _MIRRORED[op], right, left
    return Operation(op, (left, right))


def logical(op: str, *conditions: Any) -> Expression:
    """``and`` / ``or`` of conditions, flattened: ``(a & b) & c`` and ``a & b & c`` are the same question."""
    flat: list[Expression] = []
    for condition in map(lift, conditions):
        same = isinstance(condition, Operation) and condition.op == op
        flat.extend(condition.operands if same else (condition,))
    return Operation(op, tuple(flat))


def operation(op: str, *operands: Any) -> Expression:
    """Return one operation on expressions and constants."""
    return Operation(op, tuple(map(lift, operands)))


negate = functools.partial(operation, "not")


def _notna(operand: Expression) -> Expression:
    return negate(operation("isna", operand))


def _isin(operand: Expression, values: Any) -> Expression:
    if not isinstance(values, list | tuple | set | frozenset | range):
        raise ArgumentTypeError("isin needs a list of public constants, as in .isin(['a', 'b'])")
    if any(isinstance(value, Expression) and not isinstance(value, Constant) for value in values):
        raise ArgumentTypeError("isin needs constants: compare columns with ==, joined by |")
    return IsIn((operand,), tuple(lift(value) for value in values))  # type: ignore[misc]


def _between(operand: Expression, left: Any, right: Any, inclusive: str = "both") -> Expression:
    if inclusive not in ("both", "left", "right", "neither"):
        raise ArgumentValueError("inclusive has to be 'both', 'left', 'right' or 'neither'")
    above = compare(">=" if inclusive in ("both", "left") else ">", operand, left)
    return logical("and", above, compare("<=" if inclusive in ("both", "right") else "<", operand, right))


def _round(operand: Expression, decimals: Any = 0) -> Expression:
    places = lift(decimals)
    value = places.value if isinstance(places, Constant) else None
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 30:
        raise ArgumentValueError("decimals has to be an integer between -30 and 30")
    return Operation("round", (operand, places))


def _clip(operand: Expression, lower: Any = None, upper: Any = None) -> Expression:
    low, high = (None if bound is None else _constant(bound, "clip") for bound in (lower, upper))
    if low is None and high is None:
        raise ArgumentValueError("clip needs lower, upper or both, as in .clip(0, 100)")
    for bound in (low, high):
        if bound is not None and (isinstance(bound.value, bool) or not isinstance(bound.value, int | float)):
            raise ArgumentTypeError("clip's lower and upper have to be numbers")
    if low is not None and high is not None and low.value > high.value:  # type: ignore[operator]
        raise ArgumentValueError("clip's lower has to be at most upper")
    if low is not None:
        operand = Operation("at_least", (operand, low))
    return operand if high is None else Operation("at_most", (operand, high))


def _fillna(operand: Expression, value: Any) -> Expression:
    filled = lift(value)
    if isinstance(filled, Constant):
        return Operation("fillna", (operand, filled))
    return Operation("where", (operand, _notna(operand), filled))


def _combine_first(operand: Expression, other: Any) -> Expression:
    return _fillna(operand, other)


ARITHMETIC = {"add": "+", "sub": "-", "subtract": "-", "mul": "*", "multiply": "*", "div": "/", "divide": "/"}
ARITHMETIC |= {"truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
SHORT = "add sub mul div truediv floordiv mod pow"  # of which there is a name for the operands the other way round


def _named(build: Callable[..., Expression], op: str, operand: Expression, other: Any) -> Expression:
    """An operator by its name."""
    return build(op, operand, other)


def _reflected(op: str, operand: Expression, other: Any) -> Expression:
    return operation(op, other, operand)


def _constant(value: Any, function: str) -> Constant:
    constant = lift(value)
    if not isinstance(constant, Constant):
        raise ArgumentTypeError(f"{function} needs constants here, not another column")
    return constant


def _astype(operand: Expression, dtype: Any) -> Expression:
    for target, names in _DTYPES.items():
        if any(dtype is name or (isinstance(dtype, str | np.dtype) and dtype == name) for name in names):
            return Method("astype", (operand,), (("dtype", target),))
    raise ArgumentValueError(
        "astype takes 'float64', 'int64', 'bool' or 'string'; categories are not needed, since text and numbers can be "
        "keys as they are; dates are made from text by x.str.to_datetime('%Y-%m-%d')"
    )


METHODS: dict[str, Callable[..., Expression]] = {
    "isna": functools.partial(of_one, "isna"),
    "isnull": functools.partial(of_one, "isna"),
    "notna": _notna,
    "notnull": _notna,
    "isin": _isin,
    "between": _between,
    "abs": functools.partial(of_one, "abs"),
    "round": _round,
    "clip": _clip,
    "fillna": _fillna,
    "astype": _astype,
    "combine_first": _combine_first,
    **{name: functools.partial(_named, operation, op) for name, op in ARITHMETIC.items()},
    **{f"r{name}": functools.partial(_reflected, ARITHMETIC[name]) for name in SHORT.split()},
    **{name: functools.partial(_named, compare, op) for op, (name, *_) in COMPARED.items()},
    **CHOICES,
    **TEXT_METHODS,
    **TIME_METHODS,
}

ACCESSORS = ("dt", "str", "list", "struct")


def call(name: str, operand: Expression, args: Any, kwargs: Any) -> Expression:
    """Call one of ``METHODS``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the arguments do not fit its signature, or are no public constants where it needs them.
    """
    try:
        inspect.signature(METHODS[name]).bind(operand, *args, **kwargs)
    except TypeError as error:
        raise ArgumentTypeError(f"{name}(): {error}") from None
    return METHODS[name](operand, *args, **kwargs)


def refusal(name: str) -> str:
    """Why a method or attribute that is none of ``METHODS`` is refused, and what to type instead."""
    if name in INTERNAL or name.startswith("_"):  # what pandas' own functions ask a column first
        return said(WHOLE_COLUMN)
    space = name.partition(".")[0]
    offered = sorted(n for n in (*METHODS, *PROPERTIES) if n.startswith(f"{space}.") or space not in ACCESSORS)
    close = next((other for other in (f"dt.{name}", f"str.{name}") if other in METHODS or other in PROPERTIES), "")
    known = (
        f"is none of a column; did you mean .{close}?"
        if close
        else f"{NOT_TRACED}. Those that can: {', '.join(offered)}"
    )
    reason = REASONS.get(name, known)
    return f".{shorten(name, 40)} {said(reason)}"

"""The row-wise functions an expression may call, by pandas' names, and what to type instead of the others."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.choices import CHOICES
from pandas_dp.steps.dates import PARTS
from pandas_dp.steps.expression import Constant, Expression, IsIn, Method, Operation, Option, lift, shorten
from pandas_dp.steps.refusals import INTERNAL, NOT_TRACED, REASONS, WHOLE_COLUMN
from pandas_dp.steps.values import plain

NOT_GIVEN: Any = pd.api.extensions.no_default
_SPECIAL = frozenset("\\.^$*+?{}[]|()")
_PLAIN_TEXT = "plain text is looked for, as in .str.contains('ICU'); several are joined by |"


def _method(name: str, operand: Expression, **options: Option) -> Expression:
    return Method(f"str.{name}", (operand,), tuple(options.items()))


def _bare(name: str, operand: Expression) -> Expression:
    """A method without options: what ``call`` finds in this signature is all that may be given."""
    return _method(name, operand)


def _strip(name: str, operand: Expression, to_strip: Any = None) -> Expression:
    return _method(name, operand) if to_strip is None else _method(name, operand, to_strip=_text(name, to_strip))


def _slice(operand: Expression, start: Any = None, stop: Any = None, step: Any = None) -> Expression:
    given = {"start": start, "stop": stop, "step": step}
    for bound in given.values():
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise ArgumentTypeError("str.slice takes integers, as in .str.slice(0, 3)")
        if bound is not None and not -(2**63) <= bound < 2**63:
            raise ArgumentValueError("str.slice takes integers in [-2**63, 2**63)")
    given = {name: None if bound is None else int(bound) for name, bound in given.items()}
    if step == 0:
        raise ArgumentValueError("str.slice: step cannot be 0")
    return _method("slice", operand, **given)


def _contains(
    operand: Expression, pat: Any, case: Any = True, flags: Any = 0, na: Any = NOT_GIVEN, regex: Any = None
) -> Expression:
    pat = _text("contains", pat)
    if regex not in (None, False) or flags != 0:
        raise ArgumentValueError(
            f"str.contains: regular expressions are not read, since a cell could make one run for ever; {_PLAIN_TEXT}"
        )
    if regex is None and _SPECIAL & set(pat):
        raise ArgumentValueError(
            "str.contains: pandas would read this pat as a regular expression: write regex=False to look for this very "
            f"text; {_PLAIN_TEXT}"
        )
    if not isinstance(case, bool):
        raise ArgumentTypeError("str.contains: case has to be True or False")
    return _missing("contains", na, _method("contains", operand, pat=pat, case=case, regex=False))


def _ends(name: str, operand: Expression, pat: Any, na: Any = NOT_GIVEN) -> Expression:
    several = isinstance(pat, list | tuple)
    found = tuple(sorted({_text(name, one) for one in pat})) if several else _text(name, pat)
    return _missing(name, na, _method(name, operand, pat=found))


def _missing(name: str, na: Any, found: Expression) -> Expression:
    """What is found; where ``na=False`` is given a missing cell is False in every dtype, also in those where it is unknown."""
    if na is NOT_GIVEN:
        return found
    if na is not False:
        raise ArgumentValueError(f"str.{name}: na has to be False where it is given: add | d.x.isna() for True")
    return Operation("fillna", (found, Constant(False)))


def _text(name: str, value: Any) -> str:
    value = plain(value) if isinstance(value, str) else value
    if not isinstance(value, str):
        raise ArgumentTypeError(f"str.{name} takes public text, as in .str.{name}('a')")
    return value


TEXT_METHODS: dict[str, Callable[..., Expression]] = {
    **{f"str.{name}": functools.partial(_bare, name) for name in ("lower", "upper", "len")},
    **{f"str.{name}": functools.partial(_strip, name) for name in ("strip", "lstrip", "rstrip")},
    **{f"str.{name}": functools.partial(_ends, name) for name in ("startswith", "endswith")},
    "str.contains": _contains,
    "str.slice": _slice,
}


_ALIASES = {"weekday": "day_of_week", "dayofweek": "day_of_week", "dayofyear": "day_of_year"}
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


def _of_one(op: str, operand: Expression) -> Expression:
    """An operation without arguments, as `_bare` is a method without options."""
    return Operation(op, (operand,))


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
    return Operation("fillna", (operand, _constant(value, "fillna")))


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
        "astype takes 'float64', 'int64', 'bool' or 'string'; categories are not needed, since text and numbers serve as "
        "keys as they are, and a date comes from pd.to_datetime before the table is protected"
    )


METHODS: dict[str, Callable[..., Expression]] = {
    "isna": functools.partial(_of_one, "isna"),
    "isnull": functools.partial(_of_one, "isna"),
    "notna": _notna,
    "notnull": _notna,
    "isin": _isin,
    "between": _between,
    "abs": functools.partial(_of_one, "abs"),
    "round": _round,
    "clip": _clip,
    "fillna": _fillna,
    "astype": _astype,
    **CHOICES,
    **TEXT_METHODS,
}

# Attributes that are not called.
PROPERTIES: dict[str, Callable[[Expression], Expression]] = {
    **{f"dt.{name}": functools.partial(_of_one, f"dt.{name}") for name in PARTS},
    **{f"dt.{alias}": functools.partial(_of_one, f"dt.{name}") for alias, name in _ALIASES.items()},
}
ACCESSORS = ("dt", "str")


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
        return WHOLE_COLUMN
    space = name.partition(".")[0]
    offered = sorted(n for n in (*METHODS, *PROPERTIES) if n.startswith(f"{space}.") or space not in ACCESSORS)
    reason = REASONS.get(name, f"{NOT_TRACED}. Those that can: {', '.join(offered)}")
    return f".{shorten(name, 40)} {reason.replace('{name}', name)}"

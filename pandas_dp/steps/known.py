"""What is publicly known of a computed column: all values it can hold, where constants or the calendar say so."""

from __future__ import annotations

from collections.abc import Iterable

from pandas_dp.steps.constants import ConstantValue
from pandas_dp.steps.expression import Constant, Expression, Map, Method, Operation

Known = tuple[ConstantValue, ...] | None

_CALENDAR = {
    "dt.quarter": range(1, 5),
    "dt.month": range(1, 13),
    "dt.day": range(1, 32),
    "dt.day_of_week": range(7),
    "dt.day_of_year": range(1, 367),
    "dt.hour": range(24),
    "dt.minute": range(60),
    "dt.second": range(60),
}


def known_values(expression: Expression) -> Known:
    """All numbers or texts that rows of an expression can hold besides missing ones; None where nobody can tell.

    Facts of the expression alone, so that they may serve as keys of a question.
    """
    match expression:
        case Constant(value=value):
            return (value,) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
        case Map(pairs=pairs):
            found = _union(known_values(Constant(value)) for _, value in pairs)
            return None if found is None else tuple(sorted(found))  # of one kind, without an order of their own
        case Method(name="cut", options=options):
            return _union(known_values(Constant(label)) for label in dict(options)["labels"])  # type: ignore[union-attr]
        case Operation(op=op) if op in _CALENDAR:
            return tuple(_CALENDAR[op])
        case Operation(op="fillna", operands=operands):
            return _union(map(known_values, operands))
        case Operation(op="where", operands=(first, _, *other)):
            return _union(map(known_values, (first, *other)))
        case Operation(op="case_when", operands=(first, *cases)):
            return _union(map(known_values, _outcomes(first, cases)))
    return None


def _outcomes(first: Expression, cases: list[Expression]) -> list[Expression]:
    values = []
    for condition, value in zip(cases[::2], cases[1::2], strict=True):
        values.append(value)
        if condition == Constant(True):
            return values
    return [*values, first]


def _union(parts: Iterable[Known]) -> Known:
    found: dict[ConstantValue, None] = {}
    for part in parts:
        if part is None:
            return None
        found.update(dict.fromkeys(map(_chosen, part)))
    return tuple(found)


def _chosen(value: ConstantValue) -> ConstantValue:
    """A value as choices hold it: numbers are in float64, so of whole numbers beyond 2**53 some become one."""
    return float(value) if isinstance(value, int) and int(float(value)) != value else value

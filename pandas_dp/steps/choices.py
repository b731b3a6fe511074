"""Values chosen from public ones: ``where``, ``case_when``, ``cut``, ``map``, lookup tables; and all that may come out."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterable, Mapping
from decimal import InvalidOperation
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import is_missing
from pandas_dp.facts.public_only import is_private
from pandas_dp.steps.expression import Column, Constant, Expression, IsIn, Map, Method, Operation, lift, quote
from pandas_dp.steps.selection import common_kind
from pandas_dp.steps.values import ConstantValue, key, plain, read_constant


def check_public(lookup: Any) -> None:
    """Refuse a protected table, and what was made from one, where public data is asked for."""
    if is_private(lookup):
        raise ArgumentValueError(
            "merge: the lookup is a protected table, or was made from one, and what it holds is private. A lookup is public, "
            "such as the labels of codes: {'code': ['a', 'b'], 'label': ['first', 'second']}. Join two tables of people "
            "before df.dp.protect"
        )


def lookup_maps(lookup: Any, on: str) -> dict[str, Map]:
    """Maps of a lookup table by the names of its columns, from the column of keys; missing values are left out.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If it is no table, keys are missing or repeated, or a column has no values or some that are no constants.
    """
    table = _table(lookup)
    # among dates a part of one would be in it, too, and NA is neither equal to a text nor another one
    if not any(isinstance(name, str) and name == on for name in table.columns):
        first = next(
            (f": lookup.rename(columns={{{name!r}: {on!r}}}) gives {quote(name)} that name" for name in table), ""
        )
        raise ArgumentValueError(f"merge: the lookup has no column {quote(on)}, which on= names{first}")
    if not table.columns.is_unique or len(table.columns) < 2:
        raise ArgumentValueError(f"merge: the lookup needs columns besides {quote(on)}, each with a different name")
    keys, missing = _cells(table[on])
    if any(missing):
        raise ArgumentValueError(f"merge: a key of the lookup is missing: lookup.dropna(subset=[{on!r}])")
    maps = {}
    for name in table.columns:
        if isinstance(name, str) and name == on:
            continue
        cells, absent = _cells(table[name])
        pairs = [(key, cell) for key, cell, gone in zip(keys, cells, absent, strict=True) if not gone]
        if not pairs:
            raise ArgumentValueError(f"merge: the column {quote(name)} of the lookup has no values")
        try:
            make_map(Column(on), keys, keys)  # refuses repeated keys of rows without a value, too
            maps[name] = make_map(Column(on), *map(list, zip(*pairs, strict=True)))
        except (ArgumentTypeError, ArgumentValueError) as error:
            text = str(error).replace("map: two keys are equal", f"two keys are equal: lookup.drop_duplicates({on!r})")
            raise type(error)(f"merge: column {quote(name)} of the lookup: {text}") from None
    return maps


def _table(lookup: Any) -> pd.DataFrame:
    if isinstance(lookup, pd.DataFrame):
        return lookup
    if isinstance(lookup, Mapping):
        try:
            return pd.DataFrame(dict(lookup))
        except (ValueError, TypeError, InvalidOperation):  # lists of different lengths, or no lists
            pass
    raise ArgumentTypeError(
        "merge: takes a public DataFrame, or lists of equal length by name: {'code': ['a', 'b'], 'label': ['first', 'second']}"
    )


def _cells(column: pd.Series[Any]) -> tuple[list[Any], list[bool]]:
    """Cells as Python's and pandas' own values, and which are missing."""
    cells = column.astype(object).tolist()
    dates = [pd.Timestamp(cell) if type(cell) is datetime.date else cell for cell in cells]
    return dates, [is_missing(cell) for cell in cells]


_CASES = "case_when takes pairs of a condition and a value, as in .case_when([(d.x < 18, 'young'), (True, 'old')])"
_EDGES = "cut takes public edges in ascending order, as in .cut([0, 18, 65, 120], labels=['child', 'adult', 'senior'])"
_REPLACED = "replace takes public values and what replaces them, as in .replace({'a': 'b'}) or .replace(-9, np.nan)"
_PAIRS = "map takes public keys and their values, as in .map({'a': 'first', 'b': 'second'})"


NOT_GIVEN: Any = pd.api.extensions.no_default


def _where(operand: Expression, cond: Any, other: Any = None) -> Expression:
    rest = () if other is None else (lift(other),)
    return Operation("where", (operand, lift(cond), *rest))


def _mask(operand: Expression, cond: Any, other: Any = None) -> Expression:
    return _where(operand, Operation("not", (lift(cond),)), other)


def _case_when(operand: Expression, caselist: Any) -> Expression:
    if not isinstance(caselist, list | tuple) or not caselist:
        raise ArgumentTypeError(_CASES)
    parts: list[Expression] = []
    for case in caselist:
        if not isinstance(case, list | tuple) or len(case) != 2:
            raise ArgumentTypeError(_CASES)
        parts.extend(map(lift, case))
    return Operation("case_when", (operand, *parts))


def _cut(
    operand: Expression, bins: Any, right: Any = True, labels: Any = None, *, include_lowest: Any = False
) -> Expression:
    if not isinstance(bins, list | tuple | range) or len(bins) < 2:
        raise ArgumentTypeError(_EDGES)
    if not (isinstance(right, bool) and isinstance(include_lowest, bool)):
        raise ArgumentTypeError("cut: right and include_lowest have to be True or False")
    edges = _constants(bins, _EDGES)
    if labels is None:
        named: tuple[ConstantValue, ...] = _intervals(edges, right, include_lowest)
    else:
        named = tuple(range(len(edges) - 1)) if labels is False else _constants(labels, "cut: labels has to be a list")
    if len(named) != len(edges) - 1 or len({key(read_constant(label)) for label in named}) < len(named):
        raise ArgumentValueError(f"cut: {len(edges)} edges need {len(edges) - 1} labels, each a different one")
    common_kind([read_constant(label) for label in named])
    options = (("bins", edges), ("right", right), ("labels", named), ("include_lowest", include_lowest))
    return Method("cut", (operand,), options)


def _intervals(edges: tuple[ConstantValue, ...], right: bool, include_lowest: bool) -> tuple[str, ...]:
    def text(low: ConstantValue, high: ConstantValue, closed: bool) -> str:
        return f"{'[' if closed else '('}{low}, {high}{']' if right else ')'}"

    pairs = itertools.pairwise(edges)
    return tuple(text(*pair, not right or (include_lowest and pair[0] == edges[0])) for pair in pairs)


def _map(operand: Expression, arg: Any, na_action: Any = None) -> Expression:
    if not isinstance(arg, Mapping) or not arg:
        raise ArgumentTypeError(f"{_PAIRS}: a function or a Series could hold anything")
    if na_action not in (None, "ignore"):
        raise ArgumentValueError("map: na_action has to be None or 'ignore', which are the same here")
    return make_map(operand, arg, arg.values())


def _replace(operand: Expression, to_replace: Any, value: Any = NOT_GIVEN, *, regex: Any = False) -> Expression:
    """Values in place of listed ones, the others as they are."""
    if regex is not False or isinstance(value, Mapping) or (isinstance(to_replace, Mapping) != (value is NOT_GIVEN)):
        raise ArgumentTypeError(_REPLACED)
    if isinstance(to_replace, Mapping):
        keys, values = list(to_replace), list(to_replace.values())
    else:
        keys = list(to_replace) if isinstance(to_replace, list | tuple) else [to_replace]
        values = list(value) if isinstance(value, list | tuple) else [value] * len(keys)
    if len(keys) != len(values) or not keys:
        raise ArgumentTypeError(_REPLACED)
    gone = [
        wanted for wanted, new in zip(keys, values, strict=True) if not isinstance(new, Expression) and is_missing(new)
    ]
    cases = [(wanted, new) for wanted, new in zip(keys, values, strict=True) if not any(wanted is one for one in gone)]
    wanted = _constants(keys, _REPLACED)
    if len({key(read_constant(one)) for one in wanted}) < len(wanted):
        raise ArgumentValueError("replace: two keys are equal")
    pairs = [(Operation("==", (operand, lift(one))), lift(new)) for one, new in cases]
    found = Operation("case_when", (operand, *itertools.chain(*pairs))) if pairs else operand
    kept = IsIn((operand,), tuple(map(Constant, _constants(gone, _REPLACED))))
    return Operation("where", (found, Operation("not", (kept,)))) if gone else found


def make_map(operand: Expression, keys: Any, values: Any) -> Map:
    """The node that maps keys, each of them once, to values of one kind.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If a key or value is no public constant, two keys are equal, or the values are of several kinds.
    """
    pairs = tuple(zip(_constants(keys, _PAIRS), _constants(values, _PAIRS), strict=True))
    if len({key(read_constant(wanted)) for wanted, _ in pairs}) < len(pairs):
        raise ArgumentValueError("map: two keys are equal")
    common_kind([read_constant(value) for _, value in pairs])
    return Map((operand,), pairs)


def _constants(values: Any, advice: str) -> tuple[ConstantValue, ...]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ArgumentTypeError(advice)
    opened = [value.value if isinstance(value, Constant) else value for value in values]
    if any(isinstance(value, Expression) for value in opened):
        raise ArgumentTypeError(f"{advice}: constants, not columns")
    return tuple(map(plain, opened))


CHOICES: dict[str, Callable[..., Expression]] = {
    "where": _where,
    "mask": _mask,
    "case_when": _case_when,
    "cut": _cut,
    "map": _map,
    "replace": _replace,
}


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
    parts = _chosen(expression)
    return _union(map(known_values, parts), _whole(expression)) if parts else None


def _whole(expression: Expression) -> bool:
    """Whether all that is chosen from are whole constants, which are held as integers: a map gives floats."""
    match expression:
        case Constant(value=value):
            return isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 2**63)
        case Operation(op="where", operands=(_, _)):  # missing elsewhere
            return False
    parts = _chosen(expression)
    return bool(parts) and all(map(_whole, parts))


def _chosen(expression: Expression) -> list[Expression]:
    """What a choice chooses from; nothing of other expressions."""
    match expression:
        case Operation(op="fillna", operands=operands):
            return [*operands]
        case Operation(op="where", operands=(first, _, *other)):
            return [first, *other]
        case Operation(op="case_when", operands=(first, *cases)):
            return _outcomes(first, cases)
    return []


def _outcomes(first: Expression, cases: list[Expression]) -> list[Expression]:
    values = []
    for condition, value in zip(cases[::2], cases[1::2], strict=True):
        values.append(value)
        if condition == Constant(True):
            return values
    return [*values, first]


def _union(parts: Iterable[Known], whole: bool = False) -> Known:
    found: dict[ConstantValue, None] = {}
    for part in parts:
        if part is None:
            return None
        found.update(dict.fromkeys(part if whole else map(_rounded, part)))
    return tuple(found)


def _rounded(value: ConstantValue) -> ConstantValue:
    """A value as float64 holds it: of whole numbers beyond 2**53 some become one."""
    return float(value) if isinstance(value, int) and int(float(value)) != value else value

"""Choices among values: ``where``, ``case_when``, ``cut`` and ``map``.

For all inputs: element i of a result depends on element i of the operands and on constants only; its kind, and whether
the choice is refused, depend on the kinds of the operands and on constants only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import PER_SECOND
from pandas_dp.steps import beyond, categories, dates, exact
from pandas_dp.steps.operations import compare
from pandas_dp.steps.text import arrow_text, python_text, texts
from pandas_dp.steps.values import (
    TIMES,
    ConstantValue,
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
    read_constant,
    times,
    truth,
)

Codes = npt.NDArray[np.int64]


def where(operand: Values, condition: Values, *other: Values) -> Values:
    """The operand where a condition holds; elsewhere the other value, or missing where none is given.

    Raises
    ------
    ArgumentTypeError
        If the condition is none, or the two values are of different kinds.
    """
    return _choose([truth(condition)], [operand, *other])


def case_when(operand: Values, *cases: Values) -> Values:
    """The value of the first condition that holds, the operand where none does; conditions and values by turns.

    A condition that is the constant True ends the list: then neither what follows nor the operand is used.

    Raises
    ------
    ArgumentTypeError
        If a condition is none, or the values are of different kinds.
    """
    conditions: list[Mask] = []
    values: list[Values] = []
    for condition, value in zip(cases[::2], cases[1::2], strict=True):
        if condition.constant and truth(condition):
            return _choose(conditions, [*values, value])
        conditions.append(truth(condition))
        values.append(value)
    try:
        return _choose(conditions, [*values, operand])
    except ArgumentTypeError as error:
        raise ArgumentTypeError(
            f"{error}; end the list with (True, value) if other rows should not keep the value of the column"
        ) from None


def clip(limit: Callable[..., Any], operand: Values, bound: Values) -> Values:
    """Numbers clipped by ``np.maximum`` from below or ``np.minimum`` from above; missing where one is missing."""
    for values in (operand, bound):
        if values.kind is not Kind.NUMBER:
            raise ArgumentTypeError(f"clip needs numbers, not {values.kind.value}{advice(values)}")
    whole = exact.limited(limit, operand, bound)
    if whole is not None:
        return whole
    if beyond.may_have_rest(operand, bound):
        chosen = _choose([~compare("<" if limit is np.maximum else ">", operand, bound).data], [operand, bound])
        unsigned = chosen.data.dtype.kind == "f" and not bound.data  # as below
        return replace(chosen, data=chosen.data + 0.0) if unsigned else chosen
    found = np.asarray(limit(operand.floats(), bound.floats()))
    return numbers(found if bound.data else found + 0.0, operand.nulls)


def cut(operand: Values, bins: Any, labels: Any, right: bool, include_lowest: bool) -> Values:
    """The label of the interval in which a number, date or duration lies; missing where it lies in none.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the operand has no order, or the edges are of another kind or not in order.
    """
    if operand.kind is not Kind.NUMBER and operand.kind not in TIMES:
        raise ArgumentTypeError(f"cut needs numbers, dates or durations, not {operand.kind.value}{advice(operand)}")
    edges = [dates.as_time(read_constant(edge), operand) for edge in bins]
    if not all(compare("<", low, high).data for low, high in itertools.pairwise(edges)):
        raise ArgumentValueError("cut takes its edges in ascending order, as in .cut([0, 18, 65, 120])")
    signs = [">" if right else ">="] * len(bins)
    signs[0] = ">=" if include_lowest else signs[0]
    passed = np.zeros(len(operand.missing), dtype=np.int64)  # edges; none where missing, since no comparison holds
    for sign, edge in zip(signs, edges, strict=True):
        passed += compare(sign, operand, edge).data
    return take(labels, np.where(passed == len(bins), 0, passed) - 1, operand)


def fill(operand: Values, constant: Values) -> Values:
    """Missing cells replaced by a constant of the same kind.

    Integers and decimals filled with one stay what they are; other numbers become float64. Text keeps its
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
    if operand.nulls is Nulls.NEVER if np.ndim(operand.missing) else family(operand.kind) is not Kind.NUMBER:
        return operand
    numeric = operand.kind is constant.kind is Kind.NUMBER
    if operand.kind in TIMES or operand.kind is Kind.OBJECT or (numeric and beyond.may_have_rest(operand, constant)):
        return _choose([~operand.missing], [operand, constant])
    if operand.kind is Kind.TEXT:
        none = np.zeros(np.shape(operand.missing), dtype=bool)
        return Values(Kind.TEXT, operand.data.fillna(constant.data), none, nulls=operand.nulls)
    if family(operand.kind) is not Kind.NUMBER:
        raise ArgumentTypeError(f"{operand.kind.value} cannot be filled{advice(operand)}")
    both = [operand, constant] if operand.kind is Kind.BOOLEAN else exact.alike(operand, constant, chosen=True)
    if both is None:
        return numbers(np.where(operand.missing, constant.floats(), operand.floats()), operand.nulls)
    data = np.where(operand.missing, both[1].data, both[0].data)
    return replace(both[0], kind=operand.kind, data=data, missing=np.zeros(np.shape(data), dtype=bool))


def isin(constants: Sequence[ConstantValue], operand: Values) -> Values:
    """Whether each row equals one of the constants; a missing cell equals none, of no dtype: so says pandas' ``isin``.

    Raises
    ------
    ArgumentTypeError
        If a constant is of another kind than the column. Never for a category column.
    """
    if isinstance(operand.data, str):
        found = np.asarray(operand.data in [constant.data for constant in _sought(operand, constants)])
    elif family(operand.kind) is Kind.NUMBER:
        found = _number_isin(operand, _sought(operand, constants))
    else:
        found = positions(operand, constants) >= 0
    return booleans(np.asarray(found & ~operand.incomparable))


def take(constants: Sequence[ConstantValue], codes: Codes, operand: Values) -> Values:
    """The constant at each position, which follows from an operand; missing at -1.

    Parameters
    ----------
    constants : sequence of constants of one kind, length k >= 1
    codes : ndarray of int64, shape (n,)
    """
    table = [read_constant(constant) for constant in constants]
    missing, nulls = codes < 0, operand.nulls
    match common_kind(table):
        case Kind.NUMBER:
            listed, rest = np.array([*(float(v.data) for v in table), np.nan]), np.array([*map(beyond.rest, table), 0])
            chosen = numbers(listed[codes], nulls)  # the last where there is none
            return replace(chosen, rest=rest[codes]) if rest.any() else chosen
        case Kind.BOOLEAN:
            return booleans(np.array([bool(value.data) for value in table])[codes] & ~missing, missing, nulls)
        case Kind.TEXT:
            return texts(np.array(constants, dtype=object)[codes], missing, nulls=nulls)
        case kind:
            counts = dates.alike(*table)
            found = np.array([int(value.data) for value in counts])[codes]
            outside = np.array([bool(value.missing) for value in counts])[codes]
            return times(kind, found, missing | outside, counts[0].unit, table[0].zone, nulls)


def positions(operand: Values, keys: Sequence[ConstantValue]) -> Codes:
    """Position of the key that each cell equals, -1 where it equals none; shape (n,).

    Raises
    ------
    ArgumentTypeError
        If a key is of another kind than the column. Never for a category column.
    """
    if operand.kind is Kind.CATEGORY:
        return categories.positions(operand, [key(read_constant(constant)) for constant in keys])
    constants = _sought(operand, keys)
    if family(operand.kind) is Kind.TEXT:
        found = _text_positions(operand, [constant.data for constant in constants])
    elif operand.kind is Kind.NUMBER and _compared(operand):
        found = np.full(np.shape(operand.missing), -1, dtype=np.int64)
        for position, constant in reversed([*enumerate(constants)]):
            found = np.where(compare("==", operand, constant).data, position, found)
    else:
        found = _number_positions(operand, [_count(constant, operand) for constant in constants])
    return np.where(operand.incomparable, -1, found)


def _sought(operand: Values, constants: Sequence[ConstantValue]) -> list[Values]:
    """Constants as they are compared with a column."""
    sought = [dates.as_time(read_constant(constant), operand) for constant in constants]
    for constant in sought:
        if family(constant.kind) is not family(operand.kind):
            raise ArgumentTypeError(
                f"{constant.kind.value} cannot be looked for in {operand.kind.value}{advice(operand)}"
            )
    return sought


def common_kind(values: Sequence[Values]) -> Kind:
    """The kind of all values.

    Raises
    ------
    ArgumentTypeError
        If there are several: a column holds values of one kind.
    """
    kinds = list(dict.fromkeys(value.kind for value in values))
    if len(kinds) > 1 or kinds[0] is Kind.OTHER:
        listed = " and ".join(kind.value for kind in kinds)
        raise ArgumentTypeError(f"a column holds values of one kind, not {listed}{advice(*values)}")
    return kinds[0]


def _choose(conditions: list[Mask], values: list[Values]) -> Values:
    """Of each row the value of the first condition that holds, else the last one, or missing where there is none."""
    shapes = [np.shape(part) for part in (*conditions, *(value.missing for value in values))]
    (rows,) = np.broadcast_shapes(*shapes) or (None,)
    if rows is None:
        raise ArgumentTypeError("needs a column, not a constant: change the constant itself")
    codes = np.full(rows, len(conditions), dtype=np.int64)
    for position in reversed(range(len(conditions))):
        codes = np.where(conditions[position], position, codes)
    column = next((value for value in values if value.kind in TIMES), None)
    values = values if column is None else [dates.as_time(value, column) for value in values]
    values = [categories.objects(value) if value.kind is Kind.CATEGORY else value for value in values]
    textual = all(family(value.kind) is Kind.TEXT for value in values)
    kind = Kind.TEXT if textual else common_kind(values)
    missing, nulls = _pick(codes, [value.missing for value in values], True), nulls_among(*values)
    if textual:
        return _chosen_text(codes, values, missing)
    if kind is Kind.NUMBER:
        whole = exact.alike(*values, chosen=True)
        if whole is None:
            found, rests = (
                numbers(_pick(codes, [v.floats() for v in values], np.nan), nulls),
                [*map(beyond.rest, values)],
            )
            if not any(map(np.any, rests)):
                return found
            return replace(found, rest=_pick(codes, rests, np.zeros((), np.int64)))
        data = _pick(codes, [value.data for value in whole], np.zeros((), whole[0].data.dtype))
        columns = [place for place, value in enumerate(values) if not value.constant]
        # as the dtype of another column may be one of floats, and that of this one hold no such constant
        floats = len(values) == len(conditions) or len(columns) > 1
        floats |= any(v.constant and not beyond.fits_both(v.data.item()) for v in values)
        found = Values(kind, data, missing, nulls=max(nulls, Nulls(floats)), scale=whole[0].scale)
        own = values[columns[0]].rest if columns else None
        return beyond.written(found, (codes == columns[0]) & (own is None or own == 0)) if columns else found
    if kind is Kind.BOOLEAN:
        return booleans(_pick(codes, [truth(value) for value in values], False), missing, nulls)
    counts = dates.alike(*values)
    missing = _pick(codes, [value.missing for value in counts], True)
    zone = next((value.zone for value in values if not value.constant), values[0].zone)
    return times(kind, _pick(codes, [value.data for value in counts], 0), missing, counts[0].unit, zone, nulls)


def _pick(codes: Codes, parts: Sequence[Any], rest: Any) -> Any:
    """Row by row the part that its code names, and ``rest`` where there is none such; shape (n,)."""
    chosen = np.broadcast_to(np.asarray(rest), codes.shape)
    for position, part in enumerate(parts):
        chosen = np.where(codes == position, part, chosen)
    return chosen


def _chosen_text(codes: Codes, values: list[Values], missing: Mask) -> Values:
    if all(value.kind is Kind.TEXT for value in values):
        return texts(_pick(codes, [python_text(value) for value in values], ""), missing, *values)
    cells = np.full(len(codes), None, dtype=object)
    for position, value in enumerate(values):  # np.where would look into cells that are lists
        rows = codes == position
        cells[rows] = value.data if isinstance(value.data, str) else np.asarray(value.data, dtype=object)[rows]
    cells[missing] = None
    none = np.zeros((), dtype=bool)
    foreign = _pick(codes, [none if value.foreign is None else value.foreign for value in values], False)
    return Values(Kind.OBJECT, cells, missing, foreign=foreign, nulls=max(nulls_among(*values), Nulls.NAN))


def _text_positions(operand: Values, keys: list[str]) -> Codes:
    cells = arrow_text(operand)
    if cells is None:
        table = {text: position for position, text in enumerate(keys)}
        return np.fromiter((table.get(cell, -1) for cell in python_text(operand)), np.int64, len(operand.missing))
    found = pc.index_in(cells, value_set=pa.array(keys, pa.large_string())).fill_null(-1)
    codes: Codes = found.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return codes


def _count(constant: Values, operand: Values) -> int | float | None:
    """A key as a number of the column's own, or None where no cell can equal it."""
    if operand.kind not in TIMES:
        return constant.data.item()  # type: ignore[no-any-return]
    count = int(constant.data) * PER_SECOND[operand.unit]
    whole, rest = divmod(count, PER_SECOND[constant.unit])
    return None if rest else whole


def _number_isin(operand: Values, constants: Sequence[Values]) -> Mask:
    """As ``==`` would say."""
    if _compared(operand):
        none = np.zeros(np.shape(operand.missing), dtype=bool)
        return np.asarray(np.any([none, *(compare("==", operand, constant).data for constant in constants)], axis=0))
    data = operand.data.astype(np.uint8) if operand.kind is Kind.BOOLEAN else operand.data
    fits = [_fitting(constant.data.item(), data.dtype) for constant in constants]
    return np.isin(data, np.array([one for one in fits if one is not None], dtype=data.dtype))


def _compared(operand: Values) -> bool:
    """Whether numbers are more than the array that holds them."""
    return operand.data.dtype.kind == "O" or operand.infinite is not None or operand.rest is not None


def _number_positions(operand: Values, keys: Sequence[int | float | None]) -> Codes:
    data = operand.data.astype(np.int64) if operand.kind is Kind.BOOLEAN else operand.data
    table: dict[int | float, int] = {}
    for position, wanted in enumerate(keys):
        fits = _fitting(wanted, data.dtype)
        if fits is not None:
            table.setdefault(fits, position)
    if not table:
        return np.full(len(data), -1, dtype=np.int64)
    ordered = sorted(table)
    edges = np.array(ordered, dtype=data.dtype)
    codes = np.array([table[wanted] for wanted in ordered], dtype=np.int64)
    nearest = np.minimum(np.searchsorted(edges, data), len(edges) - 1)
    return np.where(edges[nearest] == data, codes[nearest], -1)


def _fitting(wanted: int | float | None, dtype: np.dtype[Any]) -> int | float | None:
    """A key in the form of the column, or None where no number of that form equals it."""
    if wanted is None or dtype.kind == "f":
        return None if wanted is None or float(wanted) != wanted else float(wanted)
    if isinstance(wanted, float) and not wanted.is_integer():
        return None
    limits = np.iinfo(dtype)
    return int(wanted) if limits.min <= wanted <= limits.max else None

"""Filters that a reader of files may apply before the steps do: only such that keep every row which the steps keep.

The steps are applied again to what is read, so what is pushed down decides how much is read and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.facts.kinds import PER_SECOND
from pandas_dp.steps.changes import Filter, Step
from pandas_dp.steps.dates import DAY, as_time
from pandas_dp.steps.expression import Column, Constant, Expression, Operation
from pandas_dp.steps.operations import COMPARISONS
from pandas_dp.steps.periods import InPeriods
from pandas_dp.steps.values import Kind, Values, read_column, read_constant

DATES = (Kind.DATE, Kind.ZONED)


def pushed(steps: Iterable[Step], empty: pd.DataFrame) -> Any:
    """What can be pushed down of the filters among some steps.

    Parameters
    ----------
    steps : iterable of Step
        In their order.
    empty : DataFrame
        Names and dtypes of the columns in the files, `ArrowDtype` all of them.

    Returns
    -------
    pyarrow.compute.Expression or None
        For all rows: where the steps make any row of it, this is true. It is a conjunction of comparisons, each of a column
        that no step before has written with a constant of exactly the column's own type, so that Arrow compares the very
        numbers that the step compares; a missing value and NaN fulfil no such comparison on either side.
    """
    import pyarrow.dataset as ds  # only to read files: importing the package shall cost little

    written: set[str] = set()
    found = None
    for step in steps:
        for name, op, scalar in _of_step(step, empty, written):
            condition = COMPARISONS[op](ds.field(name), scalar)
            found = condition if found is None else found & condition
        written |= step.touches
    return found


def _of_step(step: Step, empty: pd.DataFrame, written: set[str]) -> Iterator[tuple[str, str, pa.Scalar]]:
    """Comparisons of columns that all rows which a step keeps fulfil."""
    if isinstance(step, Filter):
        yield from _comparisons(step.expression, empty, written)
    if isinstance(step, InPeriods):
        for op, edge in step.edges:
            yield from _comparison(step.periods.time, op, edge, empty, written)


def _comparisons(node: Expression, empty: pd.DataFrame, written: set[str]) -> Iterator[tuple[str, str, pa.Scalar]]:
    """Those among the terms of a conjunction that compare a column with a constant."""
    if not isinstance(node, Operation):
        return
    if node.op == "and":
        for operand in node.operands:
            yield from _comparisons(operand, empty, written)
        return
    if node.op not in COMPARISONS:
        return
    left, right = node.operands  # an expression compares a column with a constant, never the other way round
    if isinstance(left, Column) and isinstance(right, Constant):
        yield from _comparison(left.name, node.op, read_constant(right.value), empty, written)


def _comparison(
    name: str, op: str, constant: Values, empty: pd.DataFrame, written: set[str]
) -> Iterator[tuple[str, str, pa.Scalar]]:
    """One of a column of the files with a constant, where it is the same there."""
    if name in empty and name not in written:
        dtype: Any = empty[name].dtype
        scalar = _as_stored(constant, read_column(empty[name]), dtype.pyarrow_dtype)
        if scalar is not None:
            yield name, op, scalar


def _as_stored(constant: Values, column: Values, stored: pa.DataType) -> pa.Scalar | None:
    """The constant in the column's own type where it is exactly that there; else None.

    Text is left out: files may hold shortened bounds of it. So are decimals, beside which a constant is the one that was
    typed, and durations.
    """
    constant = as_time(constant, column)
    if constant.kind is Kind.NUMBER and pa.types.is_integer(stored):
        limits = np.iinfo(stored.to_pandas_dtype())
        exact = constant.data.dtype.kind != "f" and limits.min <= int(constant.data) <= limits.max
        return pa.scalar(int(constant.data), stored) if exact else None
    if constant.kind is Kind.NUMBER and (pa.types.is_float32(stored) or pa.types.is_float64(stored)):
        with np.errstate(over="ignore"):
            rounded = stored.to_pandas_dtype()(constant.data)
        exact = np.isfinite(rounded) and _exactly(rounded) == _exactly(constant.data)
        return pa.scalar(float(rounded), stored) if exact else None
    if constant.kind is column.kind and column.kind in DATES and pa.types.is_timestamp(stored):
        ticks, rest = divmod(int(constant.data) * PER_SECOND[stored.unit], PER_SECOND[constant.unit])
        if rest == 0 and abs(ticks) < 1 << 63:
            return pa.scalar(ticks, pa.int64()).cast(stored)
    if constant.kind is column.kind is Kind.DATE and pa.types.is_date32(stored):
        days, rest = divmod(int(constant.data), DAY * PER_SECOND[constant.unit])
        if rest == 0 and abs(days) < 1 << 31:
            return pa.scalar(days, pa.int32()).cast(stored)
    return None


def _exactly(number: Any) -> int | float:
    """A number of numpy as Python's, which compares an int with a float without rounding either."""
    plain: int | float = number.item()
    return plain

"""``explode``: a row for each of the first entries of a list."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pandas_dp.engines.rows import rows_at
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.schema import ColumnFacts
from pandas_dp.steps.changes import Step
from pandas_dp.steps.expression import quote

Counts = NDArray[np.int64]
EXACT = 2**53  # from here on a float may be another whole number, rounded
LONGEST = 2**31 - 1  # entries that a list of Arrow holds


@dataclass(frozen=True)
class Explode(Step):
    """Make of each row one row for each of the first ``max`` entries of its list, all else of it repeated.

    Let f(R) be the rows that this makes of the rows R, in their order. What becomes of a row depends on that row alone, so f
    of a table is f of the rows of each unit, put together; and since the unit's column is another one (a session refuses
    steps that touch it), they are rows of that same unit. Under add_remove two tables that differ in the rows R of one unit
    become tables that differ in the rows f(R) of that unit; under replace_one those in which it has R and R' become those
    in which it has f(R) and f(R'). Either way they are neighbours again: counted in units the stability is 1, however long
    lists are. A unit has more rows than before, which is no part of the claim: each statistic keeps at most ``max_rows`` of
    the rows of a unit that steps give. Where each row is its own unit the stability would be ``factor``, and
    `check_units` refuses the step.

    The number of rows of the result is private under every relation, but for ``max=1``, which keeps it.

    Parameters
    ----------
    column : str
        Of objects, or of lists in Arrow.
    max : int
        From 1 to 2**31 - 1.
    """

    column: str
    max: int

    @property
    def factor(self) -> int:
        """As many as entries count."""
        return self.max

    @property
    def reads(self) -> frozenset[str]:
        """The column."""
        return frozenset((self.column,))

    @property
    def touches(self) -> frozenset[str]:
        """The column."""
        return frozenset((self.column,))

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """No list is a key: what was said of the column is said of the entries."""
        return dict(facts)

    def __str__(self) -> str:
        return f"explode({self.column!r}, max={self.max})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows of the entries, in their order, each with the label of the row it comes from.

        Objects stay objects, but for numbers in arrays of NumPy, see `_numbers`; lists of Arrow become a column of the type of
        their entries.
        """
        array, dtype = frame[self.column].array, frame[self.column].dtype
        if not holds_lists(dtype):
            raise ArgumentTypeError(
                f"{quote(self.column)} has dtype {dtype}, which holds no lists. Of text they are made before the table is "
                f"protected: df[{quote(self.column)}] = df[{quote(self.column)}].str.split(',')"
            )
        arrow = isinstance(array, pd.arrays.ArrowExtensionArray)
        entries, counts = (_of_arrow if arrow else _of_objects)(array, self.max)
        bare = frame.copy(deep=False)
        bare[self.column] = False  # the lists themselves need not be repeated
        result = rows_at(bare, np.repeat(np.arange(len(frame)), counts))  # shape (entries, columns)
        # a Series of the very index, so that rows are matched by position and no dtype is guessed from cells
        result[self.column] = pd.Series(entries, index=result.index, dtype=entries.dtype)
        return result


def check_units(steps: Iterable[Step], column: str | None) -> None:
    """Refuse steps that make several rows of one where there is no column of units.

    Raises
    ------
    ArgumentValueError
    """
    factor = math.prod(step.factor for step in steps)
    if column is None and factor > 1:
        raise ArgumentValueError(
            "explode makes several rows of one, and here each row is a unit of its own, of which one counts. Say before the "
            "table is protected whose rows they are: df['id'] = range(len(df)), then "
            f"df.dp.protect(epsilon=3, unit='id', max_rows={factor})"
        )


def holds_lists(dtype: Any) -> bool:
    """Whether a dtype is that of objects, which may be lists, or of lists in Arrow of any layout."""
    if not isinstance(dtype, pd.ArrowDtype):
        return bool(dtype == np.dtype(object))
    types, held = pa.types, dtype.pyarrow_dtype
    kinds = types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view
    return any(kind(held) for kind in kinds)


def _of_objects(array: Any, most: int) -> tuple[NDArray[np.object_], Counts]:
    """Entries of objects, shape (entries,), and how many each row has, shape (rows,)."""
    lists = [_first(cell, most) for cell in np.asarray(array, dtype=object)]
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    # numpy puts what it takes from an iterator into its place without a look at it
    return np.fromiter(chain.from_iterable(lists), np.dtype(object), int(counts.sum())), counts


def _first(cell: Any, most: int) -> Any:
    """The first entries of a cell: itself where it is no list, a missing value where it holds none.

    Exact types decide, so that no code which a cell brings along is run.
    """
    kind = type(cell)
    if kind is list or kind is tuple:
        found = cell[:most]
    elif kind is np.ndarray and cell.ndim:
        plain = cell.ndim == 1 and cell.dtype.kind in "biuf"
        found = _numbers(cell[:most]).tolist() if plain else list(cell[:most])
    else:
        found = [cell]
    return found or [np.nan]


def _numbers(entries: NDArray[Any]) -> NDArray[Any]:
    """Entries of an array of numbers or bools, the same whether it is of integers or of floats.

    Pandas makes such arrays of the lists in a file, and all of them of floats where any row's list lacks an entry. A number
    from 2**53 on, which as a float may be another one rounded, is missing in either; lists of Python and of Arrow hold it.
    """
    if entries.dtype.kind == "b":
        return entries
    with np.errstate(all="ignore"):  # a long double above the range of float64 becomes infinite
        wide = entries.astype(np.float64)
    return np.where(np.isfinite(wide) & (np.abs(wide) >= EXACT), np.nan, wide)


def _of_arrow(array: Any, most: int) -> tuple[Any, Counts]:
    """Entries of lists in Arrow, and how many each row has; see `_of_objects`.

    Chunk by chunk: put together, their dictionaries may be too long for one.
    """
    column = array.__arrow_array__()
    pieces = [_of_chunk(chunk, most) for chunk in column.chunks]
    entries = pa.chunked_array([taken for taken, _ in pieces], column.type.value_type)
    return pd.arrays.ArrowExtensionArray(entries), np.concatenate([np.empty(0, np.int64), *(own for _, own in pieces)])


def _of_chunk(chunk: Any, most: int) -> tuple[Any, Counts]:
    held = pc.list_value_length(chunk).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)  # shape (rows,)
    entries = pc.list_flatten(chunk)  # shape (all entries,): none of a missing list, whatever lies behind it
    counts = np.clip(held, 1, most)  # shape (rows,)
    places = np.arange(counts.sum()) + np.repeat(np.cumsum(held) - held - (np.cumsum(counts) - counts), counts)
    taken = entries.take(pa.array(places, mask=np.repeat(held == 0, counts)))  # shape (entries that count,)
    return taken, counts

"""Row-wise changes of a table, as frozen data.

A step turns each row into at most one row (``explode`` into several), which depends on that row alone. So a table with
one person's rows left out becomes the same table with that person's rows left out: stability 1. What a step does to names
and dtypes shows on a table without rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pandas_dp.engines.arrow import rows_at
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.schema import ColumnFacts
from pandas_dp.steps.choices import known_values
from pandas_dp.steps.expression import VERSION, Column, Constant, Expression, Operation, quote
from pandas_dp.steps.functions import METHODS


class Step:
    """A row-wise change of a table.

    Steps are frozen, hashable and picklable, and equal exactly when their ``repr`` is. Their ``str`` is what one types.

    Attributes
    ----------
    factor : int
        Rows that one row can become.
    is_filter : bool
        Whether rows can vanish.
    reads : frozenset of str
        Columns whose cells decide the result.
    touches : frozenset of str
        Columns that are written, removed or renamed.
    """

    is_filter: ClassVar[bool] = False

    @property
    def factor(self) -> int:
        """Rows that one row can become."""
        return 1

    @property
    def reads(self) -> frozenset[str]:
        """Columns whose cells decide the result."""
        return frozenset()

    @property
    def touches(self) -> frozenset[str]:
        """Columns that are written, removed or renamed: of a filter none, else those that are read, unless a step says it."""
        return frozenset() if self.is_filter else self.reads

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """Public facts by column after the step: nothing of what it writes, unless the step says what is known."""
        return {name: said for name, said in facts.items() if name not in self.touches}

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the changed table, shape (at most factor n, columns); the given one is left as it is.

        No cell makes this raise, and none decides a dtype: a table without rows shows both.
        """
        raise NotImplementedError


def applied(steps: Iterable[Step], frame: pd.DataFrame) -> pd.DataFrame:
    """A table after steps; the given one is left as it is."""
    for step in steps:
        frame = step.apply(frame)
    return frame


@dataclass(frozen=True)
class Filter(Step):
    """Keep the rows for which a condition holds; a row whose condition is missing goes.

    Stability 1: whether a row stays depends on that row alone. The number of rows of the result is private
    under every neighbouring relation.
    """

    expression: Expression
    is_filter: ClassVar[bool] = True

    @property
    def reads(self) -> frozenset[str]:
        """Columns of the condition."""
        return self.expression.columns()

    def __str__(self) -> str:
        return f"query({str(self.expression)!r})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows of ``frame`` whose condition holds, in their order and with their labels."""
        return rows_at(frame, np.flatnonzero(self.expression.condition(frame)))


@dataclass(frozen=True)
class Assign(Step):
    """Add a column, or replace it, by an expression.

    Stability 1: each new cell depends on its own row alone, and the number of rows stays.
    """

    name: str
    expression: Expression

    @property
    def reads(self) -> frozenset[str]:
        """Columns of the expression."""
        return self.expression.columns()

    @property
    def touches(self) -> frozenset[str]:
        """The column written."""
        return frozenset((self.name,))

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """All values that rows of the new column can hold besides missing ones are its keys, where they are public."""
        values = known_values(self.expression)
        return super().follow(facts) | ({} if values is None else {self.name: ColumnFacts.of_values(values)})

    def __str__(self) -> str:
        return f"eval({f'{Column(self.name)} = {self.expression}'!r})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """``frame`` with the column; a new one comes last."""
        return _with_columns(frame, {self.name: self.expression})


@dataclass(frozen=True)
class Clip(Step):
    """Limit columns of numbers to public bounds.

    Stability 1: each new cell depends on the old one alone, and the number of rows stays.
    """

    columns: tuple[str, ...]
    lower: Constant | None
    upper: Constant | None
    version: int = field(default=VERSION, init=False)

    @property
    def reads(self) -> frozenset[str]:
        """The columns."""
        return frozenset(self.columns)

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """The ends may be new values."""
        return super().follow(facts) | {name: replace(facts[name], keys=None) for name in self.columns if name in facts}

    def __str__(self) -> str:
        return f"clip({self.lower}, {self.upper}, columns={list(self.columns)})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """``frame`` with the columns limited; missing cells stay missing."""
        clip = METHODS["clip"]
        return _with_columns(frame, {name: clip(Column(name), self.lower, self.upper) for name in self.columns})


@dataclass(frozen=True)
class FillNA(Step):
    """Replace missing cells by public constants, column by column.

    Stability 1: each new cell depends on the old one alone, and the number of rows stays.
    """

    values: tuple[tuple[str, Constant], ...]
    version: int = field(default=VERSION, init=False)

    @property
    def reads(self) -> frozenset[str]:
        """The columns."""
        return frozenset(name for name, _ in self.values)

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """The constant may be one key more."""
        filled = {name: facts[name].filled(value.value) for name, value in self.values if name in facts}
        return super().follow(facts) | filled

    def __str__(self) -> str:
        return f"fillna({{{', '.join(f'{name!r}: {value}' for name, value in self.values)}}})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """``frame`` with the columns filled."""
        filled = {name: Operation("fillna", (Column(name), value)) for name, value in self.values}
        return _with_columns(frame, filled)


@dataclass(frozen=True)
class Drop(Step):
    """Leave columns out.

    Stability 1: rows keep what is left of them, and their number stays.
    """

    columns: tuple[str, ...]

    @property
    def touches(self) -> frozenset[str]:
        """The columns that go."""
        return frozenset(self.columns)

    def __str__(self) -> str:
        return f"drop({list(self.columns)})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """``frame`` without the columns; of a scanned table they were never read."""
        return frame.drop(columns=list(self.columns), errors="ignore")


@dataclass(frozen=True)
class Rename(Step):
    """Rename columns.

    Stability 1: no cell changes.
    """

    names: tuple[tuple[str, str], ...]

    @property
    def reads(self) -> frozenset[str]:
        """The old names: their columns are read, under the new ones."""
        return frozenset(old for old, _ in self.names)

    @property
    def touches(self) -> frozenset[str]:
        """Old and new names."""
        return frozenset(name for pair in self.names for name in pair)

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """Those of a column go with it."""
        return super().follow(facts) | {new: facts[old] for old, new in self.names if old in facts}

    def __str__(self) -> str:
        return f"rename({dict(self.names)})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """``frame`` with the new names."""
        return frame.rename(columns=dict(self.names))


def _with_columns(frame: pd.DataFrame, expressions: Mapping[str, Expression]) -> pd.DataFrame:
    """``frame`` with columns computed from it, all of them from the columns as they were."""
    # Every Series has the index object of the table itself, so pandas matches rows by position even where labels
    # repeat. (Of a bare array of objects it would infer another dtype from the cells.)
    cells = {name: expression.evaluate(frame) for name, expression in expressions.items()}
    result = frame.copy(deep=False)
    added = {name: column for name, column in cells.items() if name not in frame.columns}
    for name in cells.keys() - added.keys():
        result[name] = cells[name]
    if added:  # inserted one by one, the hundredth would make pandas warn
        result = pd.concat([result, pd.DataFrame(added, index=frame.index)], axis=1)
        result.attrs = dict(frame.attrs)
    return result


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
                f"the dtype of {quote(self.column)} holds no lists. Make lists from text before the table is "
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
            "explode turns one row into several, and here each row is a unit of its own, of which only one row counts. Say "
            "before the table is protected whose rows they are: df['id'] = range(len(df)), then "
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

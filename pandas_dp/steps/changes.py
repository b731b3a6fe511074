"""Row-wise changes of a table, as frozen data.

A step turns each row into at most one row (``explode`` into several), which depends on that row alone. So a table with
one person's rows left out becomes the same table with that person's rows left out: stability 1. What a step does to names
and dtypes shows on a table without rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from pandas_dp.engines.rows import rows_at
from pandas_dp.schema import ColumnFacts
from pandas_dp.steps.constants import ConstantValue
from pandas_dp.steps.expression import Column, Constant, Expression, Operation
from pandas_dp.steps.functions import METHODS
from pandas_dp.steps.known import known_values


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
    renames : dict
        New names by old ones.
    known : dict
        All values that rows of a new column can hold besides missing ones, by its name, where they are public.
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
        """Columns that are written, removed or renamed."""
        return frozenset()

    @property
    def renames(self) -> dict[str, str]:
        """New names by old ones."""
        return {}

    @property
    def known(self) -> dict[str, tuple[ConstantValue, ...]]:
        """Public values by column."""
        return {}

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """Public facts by column after the step: nothing said of what it writes, but for values that are known."""
        made = {name: ColumnFacts.of_values(values) for name, values in self.known.items()}
        return {name: said for name, said in facts.items() if name not in self.touches} | made

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


def touches(step: Step) -> frozenset[str]:
    """Columns a step writes, removes or renames (under the old and the new name)."""
    return step.touches


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

    @property
    def known(self) -> dict[str, tuple[ConstantValue, ...]]:
        """Labels, mapped values or parts of the calendar."""
        values = known_values(self.expression)
        return {} if values is None else {self.name: values}

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

    @property
    def reads(self) -> frozenset[str]:
        """The columns."""
        return frozenset(self.columns)

    @property
    def touches(self) -> frozenset[str]:
        """The columns."""
        return frozenset(self.columns)

    def follow(self, facts: Mapping[str, ColumnFacts]) -> dict[str, ColumnFacts]:
        """The ends may be new values."""
        return super().follow(facts) | {name: replace(facts[name], keys=None) for name in self.columns if name in facts}

    def __str__(self) -> str:
        return f"clip({self.lower}, {self.upper}, columns={list(self.columns)})"

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        """``frame`` with the columns limited, in float64; missing cells stay missing."""
        clip = METHODS["clip"]
        return _with_columns(frame, {name: clip(Column(name), self.lower, self.upper) for name in self.columns})


@dataclass(frozen=True)
class FillNA(Step):
    """Replace missing cells by public constants, column by column.

    Stability 1: each new cell depends on the old one alone, and the number of rows stays.
    """

    values: tuple[tuple[str, Constant], ...]

    @property
    def reads(self) -> frozenset[str]:
        """The columns."""
        return frozenset(name for name, _ in self.values)

    @property
    def touches(self) -> frozenset[str]:
        """The columns."""
        return self.reads

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
    """Give columns other names.

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

    @property
    def renames(self) -> dict[str, str]:
        """New names by old ones."""
        return dict(self.names)

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

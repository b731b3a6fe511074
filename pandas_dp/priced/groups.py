"""Groups of a priced frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pandas_dp.aggregates.base import Aggregate
from pandas_dp.aggregates.count import CountBy, Labels
from pandas_dp.aggregates.moments import Mean
from pandas_dp.aggregates.sums import Sum
from pandas_dp.calls import explain
from pandas_dp.core.lattice import SUM_BITS
from pandas_dp.core.partition import Keys
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.priced.bounds import asked, bounded
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.priced.text import ONE_COLUMN, bounds_text, listing, missing_question, refuse_dates
from pandas_dp.release import Release


@explain
class PricedGroups:
    """Groups of a priced frame: one answer for each listed key, all for the price of one call."""

    __slots__ = ("_column", "_frame", "_keys", "_labels")

    def __init__(self, frame: PreparedFrame, keys: Keys, labels: Labels, column: str | None = None) -> None:
        self._frame, self._keys, self._labels, self._column = frame, keys, labels, column

    def __repr__(self) -> str:
        """Say what one call costs."""
        selected = "" if self._column is None else f"[{self._column!r}]"
        return f"{self._frame!r}.groupby({self._keys.column!r}){selected}"

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what can be asked, for a name of pandas that cannot."""
            if name.startswith("_"):
                raise AttributeError(name)
            if self._column is None and name in self._frame._empty():
                by = self._keys.column
                raise AttributeError(f"{name!r} is a column; select it: .groupby({by!r}, keys=[...])[{name!r}]")
            column = "'column'" if self._column is None else repr(self._column)
            raise AttributeError(missing_question(type(self), name, f"{column}, ", self._keys.column))

    def __getitem__(self, column: str) -> PricedGroups:
        """Select one column, as in pandas."""
        if not isinstance(column, str):
            raise ArgumentTypeError(ONE_COLUMN.replace("{by}", self._keys.column))
        self._frame._kind(column)
        return PricedGroups(self._frame, self._keys, self._labels, column)

    def size(self) -> Release:
        """Count the rows of each group."""
        return self._ask("size", CountBy(self._keys, self._labels, name="size"), None)

    def count(self, column: str | None = None) -> Release:
        """Count the non-null rows of a column in each group; without a column, the rows."""
        column = column or self._column
        name = "size" if column is None else column
        return self._ask("count", CountBy(self._keys, self._labels, column, name), column)

    def sum(self, column: str | None = None, *, bounds: Any = None) -> Release:
        """Sum of a column in each group; see `PricedFrame.sum`. Rows beyond a unit's bounds are dropped at random."""
        column = self._named(column, "sum")
        kind, lattice = bounded(self._frame, "sum", column, bounds, SUM_BITS)
        refuse_dates(kind, "sum", column)
        question = Sum(column, lattice, kind, self._keys, self._labels)
        return self._ask("sum", asked(self._frame, question, bounds, SUM_BITS), column, bounds)

    def mean(self, column: str | None = None, *, bounds: Any = None) -> Release:
        """Mean of a column in each group; see `PricedFrame.mean`. Rows beyond a unit's bounds are dropped at random."""
        column = self._named(column, "mean")
        kind, lattice = bounded(self._frame, "mean", column, bounds, SUM_BITS)
        question = Mean(column, lattice, kind, self._keys, self._labels)
        return self._ask("mean", asked(self._frame, question, bounds, SUM_BITS), column, bounds)

    def _named(self, column: str | None, name: str) -> str:
        named = column or self._column
        if named is None:
            raise ArgumentTypeError(f"{name}() needs a column: .groupby({self._keys.column!r})['cost'].{name}()")
        return named

    def _ask(self, name: str, aggregate: Aggregate, column: str | None, bounds: Any = None) -> Release:
        selected = "" if column is None else f"[{column!r}]"
        needed = (self._keys.column,) if column is None else (self._keys.column, column)
        groups = f"groupby({self._keys.column!r}, keys={listing(self._keys.keys)}){selected}"
        return self._frame._ask(f"{groups}.{name}({bounds_text(bounds).rstrip(', ')})", aggregate, needed)

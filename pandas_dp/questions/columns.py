"""Several columns of a priced frame or its groups: one question about each of them, as of pandas' DataFrame, for one price."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean
from pandas_dp.facts.advice import show_line
from pandas_dp.facts.argument_help import explain, uncopied
from pandas_dp.questions.wanted import FUNCTIONS

if TYPE_CHECKING:
    from pandas_dp.questions.frame import PricedFrame
    from pandas_dp.questions.groups import PricedGroups

TOGETHER = ("describe", "cov", "corr")  # questions of the frame that take a list of columns
LINE = "df.dp(epsilon=0.5)[['age', 'cost']].mean(bounds={'age': (0, 120), 'cost': (0, 5000)})"


@explain
class PricedColumns:
    """Selected columns of a priced frame: ``df.dp(epsilon=1)[["age", "cost"]].mean(bounds={...})`` is an ``agg`` of them.

    Of groups likewise: ``df.dp(epsilon=1).groupby("sex", keys=["f", "m"])[["age", "cost"]].mean(bounds={...})``.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000, "cost": [10, 20, 60] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="priced columns example")
    >>> means = df.dp(epsilon=2)[["age", "cost"]].mean(bounds={"age": (0, 100), "cost": (0, 100)})
    >>> means.round(-1).to_dict()
    {'age': 50.0, 'cost': 30.0}
    """

    __slots__ = ("_asked", "_columns", "_frame")

    __reduce__ = uncopied

    def __init__(self, asked: PricedFrame | PricedGroups, frame: PricedFrame, columns: list[Any]) -> None:
        if not columns or not all(isinstance(column, str) for column in columns) or len(set(columns)) != len(columns):
            raise ArgumentTypeError(f"select columns by a list of different names: {LINE}")
        for column in columns:
            frame._dtype(column)
        self._asked, self._frame, self._columns = asked, frame, tuple(columns)

    @property
    def _before(self) -> str:
        """What stands before the call of a question."""
        return f"{self._asked._before.removesuffix('.')}[{list(self._columns)!r}]."

    def __repr__(self) -> str:
        """Say what one call costs."""
        return f"{self._asked!r}[{list(self._columns)!r}]"

    def __dir__(self) -> list[str]:
        """What can be asked."""
        return [*super().__dir__(), *FUNCTIONS, *TOGETHER, "agg"]

    def __getattr__(self, name: str) -> Any:
        """A question about each of the columns, which share the price equally."""
        if name in FUNCTIONS:
            return partial(self._each, name)
        if name in TOGETHER:
            return partial(getattr(self._asked, name), list(self._columns))
        if name.startswith("_"):
            raise AttributeError(name)
        close = did_you_mean(name, (*FUNCTIONS, *TOGETHER)) or f"; there are {', '.join((*FUNCTIONS, *TOGETHER))}"
        raise AttributeError(f"several columns have no {name!r}{close}: {LINE}")

    def _each(self, name: str, **options: Any) -> Any:
        """One function of each column; a refusal shows this call, not that of `agg`."""
        try:
            return self.agg(name, **options)
        except (ArgumentTypeError, ArgumentValueError) as error:
            show_line(error, name, inspect.signature(type(self).agg).parameters, self, (), options)
            raise

    def agg(self, func: Any, *, bounds: Any = None, **options: Any) -> Any:
        """Ask one function or a list of them of each column; see `PricedFrame.agg`."""
        alone = len(self._columns) == 1 and bounds is not None and not isinstance(bounds, Mapping)
        given = {self._columns[0]: bounds} if alone else bounds
        return self._asked.agg(dict.fromkeys(self._columns, func), bounds=given, **options)

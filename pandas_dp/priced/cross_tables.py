"""Tables by two columns: counts of their combinations, and sums and means of a third column."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pandas_dp.aggregates.count import CountBy
from pandas_dp.aggregates.cross_tables import ALL, CrossTable
from pandas_dp.aggregates.moments import Mean
from pandas_dp.aggregates.sums import Sum
from pandas_dp.calls import example
from pandas_dp.core.lattice import SUM_BITS
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.priced.bounds import bounded, is_private
from pandas_dp.priced.parts import Parts, parts_of
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.priced.text import refuse_dates
from pandas_dp.recorded import LEFT_OUT
from pandas_dp.release import Release

SHARES = ("all", "index", "columns")
FUNCTIONS = ("mean", "sum", "count")
PIVOT = (
    "pivot_table('cost', 'ward', 'sex', aggfunc='mean', keys={'ward': [...], 'sex': [...]}, bounds=(0, 100)); by one column "
    "alone it is groupby('ward', keys=[...])['cost'].mean(bounds=(0, 100))"
)


class TableQuestions(PreparedFrame):
    """The questions of a priced frame that are answered with a table by two columns."""

    __slots__ = ()

    def crosstab(
        self,
        index: str,
        columns: str,
        *,
        keys: Any = None,
        bins: Any = None,
        margins: bool = False,
        normalize: bool | str = False,
        other: bool = False,
        null: bool = False,
    ) -> Release:
        """Count rows by the combinations of two columns, as ``pandas.crosstab``; with ``bins`` a histogram in two dimensions.

        Parameters
        ----------
        index, columns : str
            What gives the rows and the columns of the table.
        keys : dict, optional
            Listed values by column, in the order wanted; from the schema where left out.
        bins : dict, optional
            In place of keys, by column: edges as ``histogram`` takes them, or consecutive periods of a column of dates.
        margins : bool
            One more row and column, ``All``: the sums of the noisy counts.
        normalize : {False, True, "all", "index", "columns"}
            Shares of all noisy counts, of those of the row, or of the column.
        other, null : bool
            One more part for unlisted values, and for missing ones, of each of the two columns.

        Returns
        -------
        Release
            An integer DataFrame, of floats for shares; every combination is there, noise may take counts and shares below
            zero. ``interval`` has bounds for each cell by itself, in sums and shares for the noise of all cells in them.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The counts of ``groupby([index, columns]).size()``, at the same price and with the same noise: a row moves one count
        by 1 under add_remove, two of them under replace_one. Margins and shares are computed from them. A share of a sum
        that is not positive is NaN.
        Source: Dwork, McSherry, Nissim, Smith 2006; intervals of shares: Fieller 1954.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"state": ["NY", "CA"] * 1500, "sex": ["f", "m", "m"] * 1000})
        >>> session = df.dp.protect(epsilon=2, name="crosstab example")
        >>> keys = {"state": ["CA", "NY"], "sex": ["f", "m"]}
        >>> df.dp(epsilon=2).crosstab("state", "sex", keys=keys, normalize="index").round(1).to_numpy().tolist()
        [[0.3, 0.7], [0.3, 0.7]]
        """
        head = f"crosstab({index!r}, {columns!r}"
        margins = numbers.flag(margins, "margins")
        if not (isinstance(normalize, bool) or (isinstance(normalize, str) and normalize in SHARES)):
            raise ArgumentValueError(
                f"normalize must be 'all', 'index', 'columns' or False: {head}, normalize='index')"
            )
        shares = "all" if normalize is True else normalize or None
        parts = _two(self, head, index, columns, keys, bins, other, null, margins)
        return self._table(parts, CountBy(parts.by, parts.labels, name="size"), margins, shares)

    @example(PIVOT)
    def pivot_table(
        self,
        values: str,
        index: str,
        columns: str,
        *,
        aggfunc: str = "mean",
        keys: Any = None,
        bins: Any = None,
        bounds: Any = None,
        margins: bool = False,
        other: bool = False,
        null: bool = False,
    ) -> Release:
        """Mean, sum or count of a column by the combinations of two others, as ``pandas.pivot_table``.

        Parameters
        ----------
        values : str
        index, columns : str
            What gives the rows and the columns of the table.
        aggfunc : {"mean", "sum", "count"}
        keys, bins : dict, optional
            See ``crosstab``.
        bounds : (lower, upper), optional
            In the unit of ``values``; from the schema where left out. Never from the data.
        margins : bool
            One more row and column, ``All``, computed from the noisy numbers behind the cells.
        other, null : bool
            See ``crosstab``.

        Returns
        -------
        Release
            A DataFrame over all combinations; ``interval`` has bounds for each cell by itself.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The answers of ``groupby([index, columns])[values]``, at the same price and with the same noise, in another shape. A row
        is in one cell, so all cells cost epsilon once under add_remove; under replace_one it may leave one and enter another,
        and the noise is twice as large. Source: McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 3000, "sex": ["f", "m", "m"] * 2000, "cost": [10, 40] * 3000})
        >>> session = df.dp.protect(epsilon=2, name="pivot example")
        >>> keys = {"ward": ["A", "B"], "sex": ["f", "m"]}
        >>> df.dp(epsilon=2).pivot_table("cost", "ward", "sex", keys=keys, bounds=(0, 50)).round(0).to_numpy().tolist()
        [[10.0, 10.0], [40.0, 40.0]]
        """
        head = f"pivot_table({values!r}, {index!r}, {columns!r}"
        margins = numbers.flag(margins, "margins")
        if not isinstance(aggfunc, str) or aggfunc not in FUNCTIONS:
            raise ArgumentValueError(f"aggfunc must be 'mean', 'sum' or 'count': {head}, aggfunc='sum')")
        self._kind(values)
        parts = _two(self, head, index, columns, keys, bins, other, null, margins)
        by, labels = parts.by, parts.labels
        if aggfunc == "count":
            if bounds is not None:
                raise ArgumentTypeError(f"counts have no bounds: leave bounds= out of {head}, aggfunc='count')")
            return self._table(parts, CountBy(by, labels, values, values), margins, None, values, aggfunc=aggfunc)
        if is_private(bounds):
            by_groups = f"groupby([{index!r}, {columns!r}], keys=...)[{values!r}].{aggfunc}(bounds='private').unstack()"
            raise ArgumentValueError(f"{head}) needs bounds=(lower, upper); bounds are bought by {by_groups}")
        kind, lattice = bounded(self, aggfunc, values, bounds, SUM_BITS)
        if aggfunc == "sum":
            refuse_dates(kind, aggfunc, values)
        question = (Sum if aggfunc == "sum" else Mean)(values, lattice, kind, by, labels)
        return self._table(parts, question, margins, None, values, aggfunc=aggfunc)

    def _table(
        self,
        parts: Parts,
        question: CountBy | Sum | Mean,
        margins: bool,
        shares: str | None,
        values: str | None = None,
        **resolved: Any,
    ) -> Release:
        listed = {"keys": LEFT_OUT, "bins": LEFT_OUT} | parts.given
        needed = parts.columns if values is None else (*parts.columns, values)
        return self._ask(self._text(**listed, **resolved), CrossTable(question, margins, shares), needed)


def _two(
    frame: PreparedFrame,
    head: str,
    index: Any,
    columns: Any,
    keys: Any,
    bins: Any,
    other: bool,
    null: bool,
    margins: bool,
) -> Parts:
    """All combinations of two columns."""
    if not isinstance(index, str) or not isinstance(columns, str):
        call = head.partition("(")[0]
        raise ArgumentTypeError(
            f"{call}() takes one column for its rows and one for its columns, by name; with fewer or more of them ask "
            "groupby(['state', 'sex', 'age'], ...) and unstack() the answer"
        )
    if isinstance(keys, pd.DataFrame):
        raise ArgumentTypeError(
            f"a table has all combinations; give keys= as a dict: {head}, keys={{{index!r}: [...]}})"
        )
    parts = parts_of(frame, head, [index, columns], keys, bins, other, null)
    if margins and isinstance(parts.labels, CrossLabels):
        for labels in parts.labels.factors:
            if isinstance(labels, Labels) and ALL in labels.values:
                raise ArgumentValueError(
                    "keys hold 'All' already, which is what margins=True names the sums: rename the key"
                )
    return parts

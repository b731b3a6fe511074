"""Groups of a priced frame: what stands beside the statistics of each, choices, functions and several questions at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import pandas as pd

from pandas_dp.aggregates.count import CountBy
from pandas_dp.aggregates.quantiles import GroupModes
from pandas_dp.aggregates.sample_and_aggregate import GroupsOfFunction
from pandas_dp.aggregates.several import SeveralOfGroups
from pandas_dp.core.lattice import RANK_BITS
from pandas_dp.core.partition import Cross
from pandas_dp.core.statistics.blocks import BlockResults
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import checks, numbers
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.schema import ColumnFacts
from pandas_dp.questions.function_trial import no_number, rehearse
from pandas_dp.questions.group_statistics import GroupStatistics
from pandas_dp.questions.partition import parts_of
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.several import composed
from pandas_dp.questions.unknown_names import BOUNDED, LACKING
from pandas_dp.questions.wanted import PricedColumns, wanted_of
from pandas_dp.release.values import FrameRelease, SeriesRelease

BY_GROUP = ("count", "nunique", "sum", "mean", "var", "std", "median")  # what agg knows of groups


class PricedGroups(GroupStatistics):
    """Groups of a priced frame: one answer for each listed key, all for the price of one call.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
    >>> session = df.dp.protect(epsilon=3, name="priced groups example")
    >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
    >>> groups["cost"].mean(bounds=(0, 50)).index.tolist(), session.left
    (['A', 'B'], 'epsilon=2')
    """

    __slots__ = ()

    if TYPE_CHECKING:  # of overloads notebooks complete nothing

        @overload
        def __getitem__(self, column: str) -> PricedGroups: ...
        @overload
        def __getitem__(self, column: list[str]) -> PricedColumns: ...
        def __getitem__(self, column: Any) -> Any: ...

    else:

        def __getitem__(self, column: str | list[str]) -> PricedGroups:
            """Select one column, or several by their list, as in pandas."""
            if isinstance(column, list):
                return PricedColumns(self, self._frame, column)
            return self._by_column(self._selected(column))

    def _by_column(self, column: str) -> PricedGroups:
        """The same groups, of one column."""
        return PricedGroups(self._frame, self._parts, column)

    def mode(self, column: str | None = None, *, keys: Any = None) -> SeriesRelease:
        """Return the most common of the listed keys of a column in each group; see `PricedFrame.mode`.

        Parameters
        ----------
        column : str, optional
        keys : list, optional
            Listed values; from the schema if left out. Other values are ignored.

        Returns
        -------
        Release
            A Series of keys. ``interval`` says how far the count of each may be below the largest of its group: a group
            of fewer rows than that may be given any key.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A choice as by `PricedFrame.mode` in each group by itself, at rate epsilon / r under add_remove and epsilon / (2 r)
        under replace_one, r the rows of a unit that count: ``max_groups`` bounds the pairs of group and key that a unit is in.
        Source: McKenna, Sheldon 2020; McSherry, Talwar 2007; McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group mode example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups["cost"].mode(keys=[10, 40]).tolist()
        [10, 40]
        """
        self._check_listed("mode(...)")
        column = self._named(column, "mode")
        keyed, labels = self._frame._keys("mode", column, keys, False, False)
        crossed = self._parts.crossed((keyed, labels))
        if not isinstance(crossed.by, Cross):
            raise TypeError("groups and keys are a cross partition")
        question = GroupModes(crossed.by, keyed, self._parts.labels)
        return self._ask(question, column, keys=keyed.keys)

    def histogram(
        self, column: str | None = None, *, bins: Any = None, keys: Any = None, other: bool = False, null: bool = False
    ) -> SeriesRelease:
        """Count rows by bin or listed key of a column in each group; see `PricedFrame.histogram`.

        Parameters
        ----------
        column : str, optional
        bins : sequence of numbers or dates, or PeriodIndex, optional
        keys : list, optional
            Listed values; from the schema if left out.
        other, null : bool
            One more part of this column for other values, and for missing ones.

        Returns
        -------
        Release
            An integer Series by group and part, the parts of the column in the last level of the index.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row counts in one part of one group: one price for all of them together, with the noise of `PricedFrame.histogram`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group histogram example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups["cost"].histogram(bins=[0, 20, 50]).round(-3).tolist()  # two bins of A, two of B
        [2000, 0, 0, 2000]
        """
        self._check_listed("histogram(...)")
        column = self._named(column, "histogram")
        more = parts_of(self._frame, f"histogram({column!r}", [column], keys, bins, other, null)
        crossed = self._parts.crossed(more.factors[0])
        question = CountBy(crossed.by, crossed.labels, name="count")
        return self._ask(question, column, **more.given)

    def sample_and_aggregate(
        self,
        function: Callable[[pd.DataFrame], Any],
        *,
        bounds: Any = None,
        blocks: int | None = None,
        aggregator: str = "auto",
        error_bar: bool = True,
    ) -> SeriesRelease:
        """One number for each group that a function of yours computes from a table, by sample and aggregate.

        Each group is split into random blocks, the function runs on each block, and the results of each group are combined
        privately.

        Parameters
        ----------
        function : callable
            As in `PricedFrame.sample_and_aggregate`, of one number: it takes a DataFrame with this table's columns and some
            rows of one group. An exception, or a result that is no finite number, counts as the middle of the bounds.
        bounds : (lower, upper)
            Public range of the results, the same for all groups.
        blocks : int, optional
            Of each group, at most 1,000,000 in all; chosen from the noisy sizes where left out.
        aggregator : {"auto", "median", "mean", "smooth"}
            How results are combined; see `PricedFrame.sample_and_aggregate`.
        error_bar : bool
            Two fifths of what medians cost buy an interval of each, of the median of the block results; they err more then,
            and take more blocks.

        Returns
        -------
        Release
            A Series over all listed groups, within the bounds; a group that may have fewer than 5 rows a block has no value.
            It is not stored: asking again is charged again. ``table()`` adds the noisy sizes (of units, where these own
            several rows), bought with a tenth of the price, and whether a group has enough rows for its blocks.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentValueError
        ArgumentTypeError
            Also where a trial on a made-up table fails; see `PricedFrame.sample_and_aggregate`.

        Notes
        -----
        A row of no listed group is in no block. A unit with several rows is in one block of each of at most ``max_groups``
        groups, all its rows of a group in the same one. So with m groups a unit changes at most m block results under
        add_remove and 2 m under replace_one, never more than one of each group, and each group is answered at an equal share
        of nine tenths of epsilon: all of them with one row per unit under add_remove, half under replace_one.
        Source: Nissim, Raskhodnikova, Smith 2007, Section 4; McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 4000, "cost": [10, 40] * 4000})
        >>> session = df.dp.protect(epsilon=2, name="group function example")
        >>> groups = df.dp(epsilon=2).groupby("ward", keys=["A", "B"])
        >>> typical = groups.sample_and_aggregate(lambda d: d["cost"].median(), bounds=(0, 100), blocks=100)
        >>> typical.round().tolist()
        [10.0, 40.0]
        """
        self._check_listed(BOUNDED)
        line = f".groupby({self._by}, keys=[...]).{BOUNDED}"
        if self._column is not None:
            raise ArgumentTypeError(f"the function takes all columns, so select none: {line}")
        if not callable(function):
            raise ArgumentTypeError("function must be callable")
        if isinstance(bounds, Mapping):
            raise Line(line, LACKING).refuse("of groups the function returns one number; ask for each by itself")
        if isinstance(aggregator, str) and aggregator in ("vote", "winsorized"):
            raise Line(line, (("aggregator", ""),)).refuse(
                f"aggregator={aggregator!r} takes no groups", ArgumentValueError
            )
        count = numbers.blocks(blocks, aggregator, ("auto", "median", "mean", "smooth"))
        number, facts, bar = Kind("number"), ColumnFacts(), numbers.flag(error_bar, "error_bar")
        lattice = checks.lattice(
            bounds, None, RANK_BITS, number, facts, "sample_and_aggregate", "function", Line(line, LACKING)
        )
        empty = self._frame._empty()
        tried = rehearse(function, empty.dtypes, no_number)
        results = BlockResults(function, lattice, 1, by=self._parts.by)
        question = GroupsOfFunction(results, number, self._parts.labels, count, aggregator, tried, bar)
        text, every = self._text(None, blocks=blocks, aggregator=aggregator), tuple(empty.columns)
        return self._frame._filled(every)._ask(text, question, every)

    def agg(
        self,
        func: Any = None,
        *,
        bounds: Any = None,
        weights: Any = None,
        within: Any = None,
        error_bar: bool = True,
        **named: Any,
    ) -> FrameRelease:
        """Ask several questions about each group for one price, as pandas' agg; see `PricedFrame.agg`.

        Parameters
        ----------
        func : dict of str to str or list of str, or list of str
            By column: "count", "sum", "mean", "var", "std" or "median", or a list of them; of a selected column the list alone.
        bounds : dict of str to (lower, upper), or (lower, upper) of a selected column, optional
        weights : list of numbers, optional
            Share of the price of each answer, in the order written; they add up to 1. Equal if left out.
        within : list of numbers or Timedeltas, optional
            Instead: the error wanted of each answer of a group; see `PricedFrame.agg`. None is known in advance for means.
        error_bar : bool
            Two fifths of the share of a median buy an interval of each; see `quantile`.
        **named : (column, function)
            Names of columns, as in pandas: ``agg(typical=("cost", "median"))``.

        Returns
        -------
        Release
            A DataFrame with a row for each group and a column for each answer.

        Notes
        -----
        Moments of one column are made of the same noisy sums of each group, and agree, as in `PricedFrame.agg`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group agg example")
        >>> found = df.dp(epsilon=2).groupby("ward", keys=["A", "B"]).agg({"cost": ["count", "mean"]}, bounds={"cost": (0, 50)})
        >>> found.columns.tolist()
        [('cost', 'count'), ('cost', 'mean')]
        >>> bool(9 < found.loc["A", ("cost", "mean")] < 11)
        True
        """
        self._check_listed("agg(...)")
        selected = self._column is not None and not named and not isinstance(func, Mapping)
        if selected:
            func, bounds = {self._column: func}, None if bounds is None else {self._column: bounds}
        wanted, single = wanted_of(self._frame, func, named, BY_GROUP)
        split = weights, within, error_bar
        try:
            parts, text = composed(self._frame, self._of, wanted, bounds, split, bool(named))
        except (ArgumentTypeError, ArgumentValueError) as error:
            if selected and error._needs is not None and error._needs[1][0][0] == "bounds":
                error._needs = error._needs[0], LACKING, error._needs[2]
            raise
        if named or selected:
            parts = tuple(replace(part, column=None) for part in parts)
        columns = (*self._parts.columns, *dict.fromkeys(cell.column for cell in wanted))
        return self._frame._ask(f"{self._groups}.{text}", SeveralOfGroups(parts, single and not selected), columns)

    def _check_listed(self, call: str) -> None:
        """Refuse what answers for listed keys alone: these are."""

    def _of(self, frame: PreparedFrame) -> PricedGroups:
        """The same groups of the same rows at another price."""
        return PricedGroups(frame, self._parts)

"""Counts by the bins and keys of one column, made for ranges of them, and tables by two columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.count import CountBy
from pandas_dp.aggregates.cross_tables import ALL, CrossTable
from pandas_dp.aggregates.keys import FoundCounts, KeyColumn
from pandas_dp.aggregates.moments import Mean, Sum
from pandas_dp.aggregates.ranges import Ecdf, RangeCounts
from pandas_dp.aggregates.workloads import WorkloadAnswers
from pandas_dp.core.lattice import SUM_BITS
from pandas_dp.core.partition import Partition
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import binning, numbers
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.call import LEFT_OUT, argument_text
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.questions.found_keys import finds
from pandas_dp.questions.partition import Parts, parts_of
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.unknown_bounds import bounded, is_private
from pandas_dp.questions.unknown_names import refuse_dates
from pandas_dp.questions.workload import ANY, as_typed, queries_of
from pandas_dp.release.values import FrameRelease, SeriesRelease

SHARES = ("all", "index", "columns")
FUNCTIONS = ("mean", "sum", "count")


def last_edge(bins: Any, labels: Labels) -> tuple[str, ...]:
    """Say of equal bins that nobody listed where the last of them ends."""
    whole = isinstance(bins, int | np.integer)
    return (f"values at {argument_text(labels.edges[-1])}, the end of the last bin, are in no bin",) if whole else ()


class TableQuestions(PreparedFrame):
    """The questions of a priced frame about counts between edges and by the values of two columns."""

    __slots__ = ()

    def histogram(
        self,
        column: str,
        *,
        bins: Any = None,
        keys: Any = None,
        other: bool = False,
        null: bool = False,
        workload: Any = "bins",
        bounds: Any = None,
        range: Any = None,
    ) -> SeriesRelease:
        """Count rows by bin of a numeric column, or by listed key of any column.

        Parameters
        ----------
        column : str
        bins : sequence of numbers or dates, or int, optional
            Edges, or the index of another histogram. Each bin contains its left edge but not its right one, as in
            ``pandas.cut(..., right=False)``; values at the last edge are in no bin. A number makes that many equal bins
            between ``bounds``.
        keys : list, optional
            Listed values, in the order wanted; from the schema if left out. Never from the data: see ``unique``. For text
            without listed keys, and with a ``delta`` in the price, keys are discovered as in ``value_counts``.
        other, null : bool
            An additional part for values outside the bins or keys, and one for missing values.
        workload : {"bins", "ranges"} or list, dict or matrix of queries
            What shall be accurate: each count ("bins"); sums over neighbouring bins ("ranges", see ``range_sum``); or a public
            list of your own sums over at most 512 bins or keys, each of which is answered. A query is a pair of edges
            ``(0, 18)`` (None for an open end), a set of keys, a function that tells for a bin (a ``pd.Interval``) or key
            whether it counts, or a row with a weight for each bin or key. A dict gives names to queries.
        bounds, range : (lower, upper), optional
            Ends of equal bins, in the column's unit (``range`` is NumPy's name for it); from the schema if left out.

        Returns
        -------
        Release
            An integer Series over all bins or keys, also the empty ones, in the public order; floats for ranges. With your own
            queries, a Series of floats over these, each with its interval.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row counts in one part. So all parts together cost epsilon once, with noise of scale 1/epsilon under add_remove and
        2/epsilon under replace_one, times max_rows if units have several rows (further rows are dropped at random). For
        ranges, counts of longer runs of bins are measured as well. Of plain counts, trees with 2 to 16 children and the Haar
        transform, the strategy with the least mean variance over all ranges is chosen from public facts. The bins are
        least-squares estimates. With few bins and Laplace noise, plain counts are best. For your own queries, one more
        strategy is tried: with Gaussian noise, integer weights rounded from the best real ones; with Laplace noise, plain
        counts and weighted sums. The strategy with the least total variance is used, so it is never worse than plain counts, a
        tree or the Haar transform. All answers are consistent with one table. A preview tells the error, and what it would be
        with plain counts. Source: Dwork, McSherry, Nissim, Smith 2006; Hay, Rastogi, Miklau, Suciu 2010; Xiao, Wang, Gehrke
        2011; Li, Hay, Rastogi, Miklau, McGregor 2010; Qardaji, Yang, Li 2013; McKenna, Miklau, Hay, Machanavajjhala 2018.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="histogram example")
        >>> ages = df.dp(epsilon=0.5).histogram("age", bins=[0, 40, 100])
        >>> ages.round(-3).tolist()
        [1000, 2000]
        >>> asked = {"under 40": (None, 40), "30 to 60": lambda bin: bin.left >= 30 and bin.right <= 60}
        >>> some = df.dp(epsilon=0.5).histogram("age", bins=range(0, 101, 10), workload=asked)
        >>> some.round(-3).to_dict()
        {'under 40': 1000.0, '30 to 60': 2000.0}
        """
        own = not isinstance(workload, str)
        if own and (other or null):
            raise ArgumentValueError("a workload of your own is about bins or keys alone: leave other= and null= out")
        if not own and workload not in ("bins", "ranges"):
            raise ArgumentValueError(f"workload must be 'bins', 'ranges' or a list of queries: {ANY}")
        if not own and workload == "ranges" and (bins is None or keys is not None):
            line = Line("bins=range(0, 101, 10)", (("keys", ""), ("bins", "range(0, 101, 10)")))
            raise line.refuse("workload='ranges' needs bins, which have neighbours")
        if bins is not None and keys is not None:
            raise Line("leave keys= out", (("keys", ""),)).refuse("give either bins= or keys=, not both")
        if bounds is not None and range is not None:
            raise Line("leave range= out", (("range", ""),)).refuse("bounds= and range= are two names of one argument")
        bounds = range if bounds is None else bounds
        if keys is not None and bounds is not None:
            raise Line("leave bounds= out", binning.NO_BOUNDS).refuse(
                "bounds= goes with a number of equal bins, not with keys"
            )
        edges = self._edges("histogram", column, bins, bounds)
        if edges is None:
            if not own and self._kind(column).name == "key" and finds(self, "histogram", column, keys, other, null):
                question: FoundCounts | RangeCounts | CountBy = FoundCounts(
                    (KeyColumn(column, self._kind(column)),), sort=False
                )
                return self._ask(self._text(), question, (column,))
            keyed, labels = self._keys("histogram", column, keys, other, null)
            told: dict[str, Any] = {"keys": keyed.keys, "bounds": LEFT_OUT}
            if own:
                return self._workload(self, keyed, labels, workload, column, told)
            return self._ask(self._text(**told), CountBy(keyed, labels, name="count"), (column,))
        binned, labels = binning.bins(edges, other, null, self._kind(column), "histogram", column)
        told, asked = (
            {"bins": labels.edges, "bounds": LEFT_OUT, "range": LEFT_OUT},
            self._noting(last_edge(bins, labels)),
        )
        if own:
            return self._workload(asked, binned, labels, workload, column, told)
        question = RangeCounts(binned, labels) if workload == "ranges" else CountBy(binned, labels, name="count")
        return asked._ask(self._text(**told), question, (column,))

    def _workload(
        self, asked: PreparedFrame, by: Partition, labels: Labels, workload: Any, column: str, told: dict[str, Any]
    ) -> SeriesRelease:
        names, queries = queries_of(workload, labels)
        text = self._text(**told, workload=as_typed(workload, names))
        return asked._ask(text, WorkloadAnswers(by, names, queries), (column,))

    def _edges(self, name: str, column: str, bins: Any, bounds: Any) -> Any:
        return binning.equal(bins, bounds, self._kind(column), self._facts(column), name, column)

    def ecdf(self, column: str, *, bins: Any, bounds: Any = None) -> SeriesRelease:
        """Cumulative distribution of a column at public edges.

        Parameters
        ----------
        column : str
        bins : sequence of numbers or dates, or int
            Edges, as for ``histogram``, or a number of equal bins between ``bounds``.
        bounds : (lower, upper), optional
            Of a number of bins, in the column's unit; from the schema if left out.

        Returns
        -------
        Release
            A Series by edge, increasing from 0 at the first to 1 at the last: of the rows within the edges, the share below
            each edge. ``interval`` gives the ends for each share separately.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The whole price buys the counts of the bins, of which a row moves one under add_remove and two under replace_one. Rows
        outside the edges and missing values do not count; use ``clip`` first if rows outside should count at the ends. The
        bins are counted as by ``histogram(..., workload="ranges")``, with the strategy that has the least mean variance over
        the sums up to each edge. A monotone least-squares fit of these sums is divided by the last one. Source: Hay, Rastogi,
        Miklau, Suciu 2010; Xiao, Wang, Gehrke 2011.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="ecdf example")
        >>> df.dp(epsilon=0.5).ecdf("age", bins=range(0, 101, 20)).round(1).tolist()
        [0.0, 0.0, 0.3, 0.7, 1.0, 1.0]
        """
        kind = self._kind(column)
        binned, labels = binning.bins(self._edges("ecdf", column, bins, bounds), False, False, kind, "ecdf", column)
        text, question = self._text(bins=labels.edges, bounds=LEFT_OUT), Ecdf(binned, Labels(column, labels.edges))
        return self._noting(last_edge(bins, labels))._ask(text, question, (column,))

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
    ) -> FrameRelease:
        """Count rows by the combinations of two columns, as ``pandas.crosstab``; with ``bins`` a histogram in two dimensions.

        Parameters
        ----------
        index, columns : str
            What gives the rows and the columns of the table.
        keys : dict, optional
            Listed values by column, in the order wanted; from the schema if left out.
        bins : dict, optional
            In place of keys, by column: edges as ``histogram`` takes them, or consecutive periods of a column of dates.
        margins : bool
            One more row and column, ``All``: the sums of the noisy counts.
        normalize : {False, True, "all", "index", "columns"}
            Shares of all noisy counts, of those of the row, or of the column.
        other, null : bool
            An additional part of each of the two columns for unlisted values, and one for missing values.

        Returns
        -------
        Release
            An integer DataFrame with all combinations; floats for shares. Noise may take counts and shares below zero.
            ``interval`` gives the ends for each cell separately; for margins and shares they cover the noise of all cells
            involved.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The counts of ``groupby([index, columns]).size()``, at the same price and with the same noise: a row moves one count by
        1 under add_remove, and two counts under replace_one. Margins and shares are computed from these counts. A share of a
        sum that is not positive is NaN. Source: Dwork, McSherry, Nissim, Smith 2006; intervals of shares: Fieller 1954.

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
            raise ArgumentValueError("normalize must be 'all', 'index', 'columns' or False: normalize='index'")
        shares = "all" if normalize is True else normalize or None
        parts = self._two(head, index, columns, keys, bins, other, null, margins)
        return self._table(parts, CountBy(parts.by, parts.labels, name="size"), margins, shares)

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
    ) -> FrameRelease:
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
            In the unit of ``values``; from the schema if left out. Never from the data.
        margins : bool
            One more row and column, ``All``, computed from the noisy numbers behind the cells.
        other, null : bool
            See ``crosstab``.

        Returns
        -------
        Release
            A DataFrame with all combinations; ``interval`` gives the ends for each cell separately.

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
            raise ArgumentValueError("aggfunc must be 'mean', 'sum' or 'count': aggfunc='sum'")
        self._kind(values)
        parts = self._two(head, index, columns, keys, bins, other, null, margins)
        by, labels = parts.by, parts.labels
        if aggfunc == "count":
            if bounds is not None:
                raise Line("leave bounds= out", (("bounds", ""),)).refuse("counts have no bounds")
            return self._table(parts, CountBy(by, labels, values, values), margins, None, values, aggfunc=aggfunc)
        if is_private(bounds):
            by_groups = f"groupby([{index!r}, {columns!r}], keys=...)[{values!r}].{aggfunc}(bounds='private').unstack()"
            raise ArgumentValueError(f"{head}) needs bounds=(lower, upper); bounds are bought by {by_groups}")
        kind, lattice = bounded(self, aggfunc, values, bounds, SUM_BITS)
        if aggfunc == "sum":
            refuse_dates(kind, aggfunc, values)
        question = (Sum if aggfunc == "sum" else Mean)(values, lattice, kind, by, labels)
        known = self._bounds(values, bounds)
        return self._table(parts, question, margins, None, values, aggfunc=aggfunc, bounds=known)

    def _two(
        self, head: str, index: Any, columns: Any, keys: Any, bins: Any, other: bool, null: bool, margins: bool
    ) -> Parts:
        """Parts of two columns."""
        if not isinstance(index, str) or not isinstance(columns, str):
            wrong = {name: one for name, one in (("index", index), ("columns", columns)) if not isinstance(one, str)}
            alone = [isinstance(one, list) and len(one) == 1 and isinstance(one[0], str) for one in wrong.values()]
            needs = tuple((name, repr(one[0])) for name, one in wrong.items()) if all(alone) else ()
            if not any(isinstance(one, list | tuple) for one in wrong.values()):
                said = [*(keys if isinstance(keys, dict) else ()), *(bins if isinstance(bins, dict) else ())]
                numeric, others = self._examples()
                known = dict.fromkeys(of for of in (*said, *others, *numeric) if of in self._empty())
                needs = tuple(zip(wrong, [repr(of) for of in known if of not in (index, columns)], strict=False))
            raise Line("groupby(['state', 'sex', 'age'], ...), and unstack() the answer", needs).refuse(
                f"{next(iter(wrong))} must be one column, by name; with fewer or more of them ask groups"
            )
        if isinstance(keys, pd.DataFrame):
            raise ArgumentTypeError(
                f"a table has all combinations; give keys= as a dict: {head}, keys={{{index!r}: [...]}})"
            )
        parts = parts_of(self, head, [index, columns], keys, bins, other, null)
        if margins and isinstance(parts.labels, CrossLabels):
            for labels in parts.labels.factors:
                if isinstance(labels, Labels) and ALL in labels.values:
                    raise ArgumentValueError(
                        "keys already hold 'All', the name that margins=True gives to the sums: rename that key"
                    )
        return parts

    def _table(
        self,
        parts: Parts,
        question: CountBy | Sum | Mean,
        margins: bool,
        shares: str | None,
        values: str | None = None,
        **resolved: Any,
    ) -> FrameRelease:
        listed = {"keys": LEFT_OUT, "bins": LEFT_OUT} | parts.given
        needed = parts.columns if values is None else (*parts.columns, values)
        return self._ask(self._text(**listed, **resolved), CrossTable(question, margins, shares), needed)

"""Questions about bins and keys of one column: counts, those made for sums of neighbours, and cumulative shares."""

from __future__ import annotations

from typing import Any

from pandas_dp import arguments
from pandas_dp.aggregates.count import CountBy
from pandas_dp.aggregates.ranges import Ecdf, RangeCounts
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.labels import Labels
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.release import Release


class RangeQuestions(PreparedFrame):
    """The questions of a priced frame that are answered from counts of bins and of runs of them."""

    __slots__ = ()

    def histogram(
        self,
        column: str,
        *,
        bins: Any = None,
        keys: Any = None,
        other: bool = False,
        null: bool = False,
        workload: str = "bins",
    ) -> Release:
        """Count rows by bin of a numeric column, or by listed key of any column.

        Parameters
        ----------
        column : str
        bins : sequence of numbers or dates, optional
            Edges, as numpy.histogram takes them: each bin holds its left edge, the last one both.
        keys : list, optional
            Listed values, in the order wanted; from the schema where left out. Never from the data: see ``unique``.
        other, null : bool
            One more part for values outside the bins or keys, and for missing ones.
        workload : {"bins", "ranges"}
            What shall be accurate: each count, or sums over neighbouring bins, which ``range_sum`` then gives.

        Returns
        -------
        Release
            An integer Series over every bin or key, also the empty ones, in the public order; of floats for ranges.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row counts in one part: all parts together cost epsilon once, with noise of scale 1/epsilon under add_remove
        and 2/epsilon under replace_one, times max_rows for units of several rows (rows beyond are dropped at random).
        For ranges the counts of longer runs of bins are measured as well, in the form (plain counts, a tree of 2 to 16
        children, the Haar transform) that has the least mean variance over all ranges by public facts alone, and the bins
        are their least-squares estimates. With few bins and Laplace noise the plain counts win.
        Source: Dwork, McSherry, Nissim, Smith 2006; Hay, Rastogi, Miklau, Suciu 2010; Xiao, Wang, Gehrke 2011;
        Li, Hay, Rastogi, Miklau, McGregor 2010; Qardaji, Yang, Li 2013.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="histogram example")
        >>> ages = df.dp(epsilon=0.5).histogram("age", bins=[0, 40, 100])
        >>> ages.round(-3).tolist()
        [1000, 2000]
        """
        if not isinstance(workload, str) or workload not in ("bins", "ranges"):
            raise ArgumentValueError("workload must be 'bins' or 'ranges'")
        if workload == "ranges":
            return self._ranges(column, bins, keys, other, null)
        if bins is not None and keys is not None:
            raise ArgumentTypeError("give either bins= or keys=, not both")
        if bins is None:
            keyed, labels = self._keys("histogram", column, keys, other, null)
            return self._ask(self._text(keys=keyed.keys), CountBy(keyed, labels, name="count"), (column,))
        kind = self._kind(column)
        binned, labels = arguments.bins(bins, other, null, kind, "histogram", column)
        return self._ask(self._text(bins=labels.edges), CountBy(binned, labels, name="count"), (column,))

    def ecdf(self, column: str, *, bins: Any) -> Release:
        """Cumulative distribution of a column at public edges.

        Parameters
        ----------
        column : str
        bins : sequence of numbers or dates
            Edges, as for ``histogram``.

        Returns
        -------
        Release
            A Series by edge, from 0 at the first to 1 at the last, never falling: the share of the rows within the edges
            that lie below the edge. ``interval`` gives bounds for each share by itself.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The whole price buys the bins, of which a row moves one under add_remove and two under replace_one. Rows outside the
        edges and missing values do not count; ``clip`` first for them to count at the ends. The bins are
        counted as by ``histogram(..., workload="ranges")``, in the form that has the least mean variance over the sums up
        to each edge; a monotone least-squares fit of these sums is divided by the last one.
        Source: Hay, Rastogi, Miklau, Suciu 2010; Xiao, Wang, Gehrke 2011.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="ecdf example")
        >>> df.dp(epsilon=0.5).ecdf("age", bins=range(0, 101, 20)).round(1).tolist()
        [0.0, 0.0, 0.3, 0.7, 1.0, 1.0]
        """
        kind = self._kind(column)
        binned, labels = arguments.bins(bins, False, False, kind, "ecdf", column)
        return self._ask(self._text(bins=labels.edges), Ecdf(binned, Labels(column, labels.edges)), (column,))

    def _ranges(self, column: str, bins: Any, keys: Any, other: bool, null: bool) -> Release:
        if bins is None or keys is not None:
            raise ArgumentTypeError(
                f"workload='ranges' needs bins, which have neighbours: "
                f"histogram({column!r}, bins=range(0, 101, 10), workload='ranges')"
            )
        binned, labels = arguments.bins(bins, other, null, self._kind(column), "histogram", column)
        return self._ask(self._text(bins=labels.edges), RangeCounts(binned, labels), (column,))

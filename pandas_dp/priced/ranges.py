"""Questions about ranges of neighbouring bins: counts made for their sums, and cumulative shares."""

from __future__ import annotations

from typing import Any

from pandas_dp import arguments
from pandas_dp.aggregates.count import Labels
from pandas_dp.aggregates.ranges import Ecdf, RangeCounts
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.priced.text import call_text, more_parts
from pandas_dp.release import Release


class RangeQuestions(PreparedFrame):
    """The questions of a priced frame that are answered from counts of runs of bins."""

    __slots__ = ()

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
        Rows outside the edges and missing values do not count; ``clip`` first for them to count at the ends. The bins are
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
        text = call_text("ecdf", column, None, bins=labels.edges)
        return self._ask(text, Ecdf(binned, Labels(column, labels.edges)), (column,))

    def _ranges(self, column: str, bins: Any, keys: Any, other: bool, null: bool) -> Release:
        if bins is None or keys is not None:
            raise ArgumentTypeError(
                f"workload='ranges' needs bins, which have neighbours: "
                f"histogram({column!r}, bins=range(0, 101, 10), workload='ranges')"
            )
        binned, labels = arguments.bins(bins, other, null, self._kind(column), "histogram", column)
        more = {"workload": "ranges", **more_parts(other, null)}
        text = call_text("histogram", column, None, bins=labels.edges, **more)
        return self._ask(text, RangeCounts(binned, labels), (column,))

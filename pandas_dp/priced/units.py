"""Questions about the units themselves."""

from __future__ import annotations

from pandas_dp.aggregates.units import RowsPerUnit, widening_edges
from pandas_dp.facts import numbers
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.release import Release


class UnitQuestions(PreparedFrame):
    """The questions of a priced frame that count units, not rows."""

    __slots__ = ()

    def rows_per_unit(self, limit: int = 1000) -> Release:
        """Count units by their number of rows (1, 2, 3, 4-5, 6-10, 11-20 and so on): what to choose ``max_rows`` by.

        Parameters
        ----------
        limit : int
            End of the last bin but one; units with more rows are counted together.

        Returns
        -------
        Release
            A Series by interval of rows, open on the left. Under it, and in ``.notes``, stand for each end of a bin as
            ``max_rows`` about what share of the units keeps all rows, and the least one under which 95 % of them do with 95 %
            confidence: computed from the noisy counts, so both are free.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Every unit counts once, whatever it owns, so ``max_rows`` of the session changes nothing here: any will do to ask this.
        Rows without a unit are left out, and so are units of which steps leave no row. The noise is that of a histogram of
        one row a unit: one unit moves one count by 1 under add_remove, two of them under replace_one.
        Source: Dwork, McSherry, Nissim, Smith 2006.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"patient_id": [*range(900), *range(900, 1000)] + list(range(900, 1000)) * 3})
        >>> session = df.dp.protect(epsilon=1000, unit="patient_id", max_rows=10, name="rows per unit example")
        >>> df.dp(epsilon=500).rows_per_unit(limit=10).tolist()
        [900, 0, 0, 100, 0, 0]
        """
        whole = numbers.positive_int(limit, "limit")
        return self._ask(self._text(limit=whole), RowsPerUnit(widening_edges(whole)), ())

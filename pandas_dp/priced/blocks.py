"""Questions answered by sample and aggregate: an estimate on many random blocks, combined privately."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from pandas_dp import arguments
from pandas_dp.aggregates.sample_and_aggregate import GroupbyMeanSA, SampleAndAggregate
from pandas_dp.core.lattice import RANK_BITS
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.kinds import Kind
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.priced.text import bounds_text, listing
from pandas_dp.release import Release
from pandas_dp.schema import ColumnFacts


class BlockQuestions(PreparedFrame):
    """The questions of a priced frame that are answered from block results."""

    __slots__ = ()

    def groupby_mean_sa(
        self,
        by: str,
        column: str,
        *,
        keys: Any = None,
        bounds: Any = None,
        blocks: int | None = None,
        aggregator: str = "auto",
    ) -> Release:
        """Mean of a column in each listed group by sample and aggregate.

        Each group is split into random blocks and the block means are combined privately: by their median where groups
        are large, by their noisy mean otherwise.

        Parameters
        ----------
        by, column : str
        keys : list, optional
            Listed groups; from the schema where left out.
        bounds : (lower, upper), optional
            Of the block means, and of each value; from the schema where left out.
        blocks : int, optional
            Blocks a group; chosen from the noisy sizes where left out.
        aggregator : {"auto", "median", "mean", "smooth"}

        Returns
        -------
        Release
            A Series over all listed groups. ``table()`` adds the noisy sizes, bought with a tenth of the price, and
            whether a group has enough rows for its blocks.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A unit lies in one block of each of at most max_groups groups, so the price holds once for all groups with one
        row a unit under add_remove; twice the groups can change under replace_one.
        For a plain mean ``groupby(by)[column].mean()`` is usually better: its noise is (upper - lower) / (rows epsilon)
        instead of (upper - lower) / (blocks epsilon). Sample and aggregate wins where the bounds are very wide and the
        values narrow.
        Source: Nissim, Raskhodnikova, Smith 2007; Smith 2011; McSherry 2009.
        """
        count = arguments.blocks(blocks, aggregator)
        keyed, labels = self._keys("groupby_mean_sa", by, keys, False, False)
        kind, lattice = self._lattice("groupby_mean_sa", column, bounds, None, RANK_BITS)
        aggregate = GroupbyMeanSA(column, lattice, kind, keyed, labels, count, aggregator)
        given = f"keys={listing(keyed.keys)}, {bounds_text(bounds)}blocks={blocks}, aggregator={aggregator!r}"
        text = f"groupby_mean_sa({by!r}, {column!r}, {given})"
        return self._ask(text, aggregate, (by, column))

    def sample_and_aggregate(
        self,
        function: Callable[[pd.DataFrame], float],
        *,
        bounds: Any,
        blocks: int | None = None,
        aggregator: str = "auto",
    ) -> Release:
        """One number that a function of yours computes from a table, by sample and aggregate.

        The rows are split into random blocks (all rows of a unit into one), the function runs on each block, and its
        results are combined privately.

        Parameters
        ----------
        function : callable
            Takes a DataFrame with this table's columns and some of its rows, returns a number. Numbers come as float64.
            An exception, or a result that is no finite number, counts as the middle of the bounds.
        bounds : (lower, upper)
            Public range of the results.
        blocks : int, optional
            Where left out 25 for the mean, 100 / epsilon for a median.
        aggregator : {"auto", "median", "mean", "smooth"}
            ``auto`` takes the median where blocks times epsilon is at least 50. ``smooth``: their median with noise scaled to
            its smooth sensitivity, see ``median``.

        Returns
        -------
        Release
            A float within the bounds. It is not stored: asking again is charged again.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        One unit changes one block's result, whatever the function returns. What else it does (printing, writing files,
        taking its time) cannot be stopped. Source: Nissim, Raskhodnikova, Smith 2007, Section 4.
        """
        if not callable(function):
            raise ArgumentTypeError(
                "function must be callable: sample_and_aggregate(lambda d: d['cost'].mean(), bounds=(0, 9))"
            )
        count = arguments.blocks(blocks, aggregator)
        number = Kind("number")
        name = "sample_and_aggregate"
        lattice = arguments.lattice(bounds, None, RANK_BITS, number, ColumnFacts(), name, "function")
        text = f"sample_and_aggregate(function, {bounds_text(bounds)}blocks={blocks}, aggregator={aggregator!r})"
        aggregate = SampleAndAggregate(function, lattice, count, aggregator)
        return self._ask(text, aggregate, tuple(self._empty().columns))

"""Answers that are randomised row by row."""

from __future__ import annotations

from typing import Any

from pandas_dp.aggregates.randomized_response import RandomizedAnswers
from pandas_dp.errors import ArgumentValueError
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.release import Release


class LocalQuestions(PreparedFrame):
    """The question of a priced frame that releases one randomised answer a row."""

    __slots__ = ()

    def randomized_response(self, column: str, *, keys: Any = None, other: bool = False, null: bool = False) -> Release:
        """Release a column in which every row keeps its key with some probability and takes a random one otherwise.

        Parameters
        ----------
        column : str
        keys : list, optional
            At least two listed values; from the schema where left out. A bool column has False and True.
        other, null : bool
            One more key for unlisted values, and for missing ones. Without it such a row always takes a random key: in the
            estimate it counts as 1 / (number of keys) of a row for each, and the interval is for the proportions after
            that choice.

        Returns
        -------
        Release
            A Series of dtype category over the keys, one for each row, sorted: the order of a table may tell of its rows.
            ``estimate()`` gives the proportion of each key with its interval; whatever else is computed is free.

        Raises
        ------
        ArgumentValueError
            Under add_remove, with a unit column, after a filter, for a table that joined a session, or with a single key.
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError

        Notes
        -----
        With k keys a row keeps its key with probability a = (e^epsilon - 1) / (e^epsilon + k - 1), rounded down, and takes
        a uniform one otherwise, maybe the same: any answer is at most e^epsilon times as likely from one value as from
        another, and the loss is exactly ln(1 + k a / (1 - a)) <= epsilon. Rows are drawn independently.
        One answer a row shows the number of rows, which only replace_one with one row a unit leaves public.

        The estimated proportions are unbiased. With n rows, p = a + (1 - a)/k and q = (1 - a)/k that of a key that a share
        s of the rows has has the variance (s p (1 - p) + (1 - s) q (1 - q)) / (n a^2). For two keys it is
        (1 - a^2) / (4 a^2 n), about 1 / (epsilon^2 n), whatever the data; a noisy histogram has 8 / (epsilon n)^2.
        ``df.dp(within=0.01)`` finds the epsilon at which every proportion is that close.
        Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"smoker": ["no", "yes", "no", "no"] * 2500})
        >>> session = df.dp.protect(epsilon=2, neighbors="replace_one", rows=True, name="randomized response")
        >>> answers = df.dp(epsilon=1).randomized_response("smoker", keys=["no", "yes"])
        >>> answers.value_counts().index.sort_values().tolist()
        ['no', 'yes']
        >>> answers.estimate()["proportion"].between(0.15, 0.85).tolist()
        [True, True]
        """
        keyed, labels = self._keys("randomized_response", column, keys, other, null)
        if keyed.count < 2:
            raise ArgumentValueError(
                f"randomized response needs at least two keys: randomized_response({column!r}, keys=['no', 'yes'])"
            )
        return self._ask(self._text(keys=keyed.keys), RandomizedAnswers(keyed, labels), (column,))

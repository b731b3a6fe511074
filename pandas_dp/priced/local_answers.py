"""Answers that are randomised row by row."""

from __future__ import annotations

from typing import Any

from pandas_dp.aggregates.randomized_response import RandomizedAnswers
from pandas_dp.errors import ArgumentValueError
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.priced.text import call_text
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
            At least two listed values; from the schema where left out.
        other, null : bool
            One more key for unlisted values, and for missing ones. Without it such a row always takes a random key, and
            counts as 1 / (number of keys) of a row for each.

        Returns
        -------
        Release
            A Series of keys, one for each row in row order. ``estimate()`` gives the proportion of each key with its
            interval; whatever else is computed from the Series is free.

        Raises
        ------
        ArgumentValueError
            Under add_remove, with several rows a unit, after a filter, or with a single key.
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError

        Notes
        -----
        With k keys a row keeps its key with probability a = (e^epsilon - 1) / (e^epsilon + k - 1), rounded down, and takes
        a uniform one otherwise: the loss is ln(1 + k a / (1 - a)) <= epsilon, for each row by itself, so it is also
        private towards whoever runs the query. One answer a row shows the number of rows, which only replace_one with one
        row a unit leaves public.
        The estimated proportion of a key is unbiased; for two keys its variance is (1 - a^2) / (4 a^2 n), about
        1 / (epsilon^2 n), where a noisy histogram has 8 / (epsilon n)^2.
        Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"smoker": ["no", "yes", "no", "no"] * 250})
        >>> session = df.dp.protect(epsilon=2, neighbors="replace_one", name="randomized response")
        >>> answers = df.dp(epsilon=1).randomized_response("smoker", keys=["no", "yes"])
        >>> len(answers), list(answers.estimate().columns)
        (1000, ['proportion', 'standard_error', 'lower', 'upper'])
        """
        keyed, labels = self._keys("randomized_response", column, keys, other, null)
        if keyed.count < 2:
            raise ArgumentValueError(
                f"randomized response needs at least two keys: randomized_response({column!r}, keys=['no', 'yes'])"
            )
        text = call_text("randomized_response", column, None, keys=keyed.keys)
        return self._ask(text, RandomizedAnswers(keyed, labels), (column,))

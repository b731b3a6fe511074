"""Streams of questions for one price."""

from __future__ import annotations

import math
from typing import Any

from pandas_dp import arguments
from pandas_dp.aggregates.above_threshold import AboveThreshold
from pandas_dp.aggregates.base import Accuracy
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.kinds import exact_number
from pandas_dp.opening import table_of
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.query import Query
from pandas_dp.streams import ThresholdStream

FARTHEST = 10**15


class StreamQuestions(PreparedFrame):
    """The calls of a priced frame that open a stream."""

    __slots__ = ()

    def above_threshold(self, threshold: Any, max_above: int = 1) -> ThresholdStream:
        """Open a stream that says, count after count, whether it is at least a threshold.

        Parameters
        ----------
        threshold : number
            In rows; public.
        max_above : int
            How often it may say True. Answers False are free, and there may be any number of them.

        Returns
        -------
        ThresholdStream
            ``.ask("age > 30 and sex == 'F'")`` gives True or False, ``.left`` what is left, ``.margin(questions=100)`` how
            near the threshold a count must be for a wrong answer.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Sparse vector technique: geometric noise on the threshold, drawn once, and on every count, both kept secret. The
        whole price is charged here. With max_rows = k the noise of a count has scale about 2 k max_above / epsilon, under
        add_remove, where a unit moves all counts in one direction, half that. No noisy count is ever released: ask
        ``count()`` for one, at a price of its own.
        Source: Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="above threshold example")
        >>> stream = df.dp(epsilon=1).above_threshold(1500)
        >>> stream.ask("age > 50"), stream.ask("age > 40")
        (False, True)
        >>> stream.left
        'nothing'
        """
        if isinstance(threshold, bool | str):
            raise ArgumentTypeError("threshold must be a number of rows: above_threshold(1000)")
        exact = exact_number(threshold, "threshold")
        if abs(exact) > FARTHEST:
            raise ArgumentValueError("threshold may be at most 1e15: above_threshold(1000)")
        least, most = math.ceil(exact), arguments.positive_int(max_above, "max_above")  # counts are whole
        query = self._stream_query(f"above_threshold({least}, max_above={most})", AboveThreshold(least, most))
        table = table_of(self._frame)
        return ThresholdStream(table.session, query, table, self._frame)

    def _stream_query(self, call: str, aggregate: Any) -> Query:
        if isinstance(self._price, Accuracy):
            raise ArgumentTypeError(f"a stream takes a price, not within=: df.dp(epsilon=1).{call}")
        return Query(call, aggregate, self._steps, self._price)

"""Streams of questions for one price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pandas_dp.aggregates.above_threshold import AboveThreshold
from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.oracles import Axis, Domain, MedianOracle, MultiplicativeWeights, Oracle
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import binning, checks, numbers
from pandas_dp.facts.kinds import Kind, exact_number
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.facts.public_only import is_private, listed
from pandas_dp.questions.plain_prices import plainly
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.session.registry import table_of
from pandas_dp.session.streams import OracleStream, Stream, ThresholdStream

S = TypeVar("S", bound=Stream)
FARTHEST = 10**15
MOST_CELLS, MOST_CANDIDATES = 10**6, 10**5


class StreamQuestions(PreparedFrame):
    """The calls of a priced frame that open a stream."""

    __slots__ = ()

    def above_threshold(self, threshold: Any, max_above: int = 1) -> ThresholdStream:
        """Open a stream that says for one count after the other whether it is at least a threshold.

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
        whole price is charged here. With max_rows = k the noise of a count has scale about 2 k max_above / epsilon under
        replace_one, and half that under add_remove, where a unit moves all counts in one direction. No noisy count is ever
        released: ask ``count()`` for one, at a price of its own.
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
            raise ArgumentTypeError("threshold must be a number of rows: threshold=1000")
        exact = exact_number(threshold, "threshold", ": threshold=1000")
        if abs(exact) > FARTHEST:
            raise ArgumentValueError("threshold may be at most 1e15: threshold=1000")
        least, most = math.ceil(exact), numbers.positive_int(max_above, "max_above")  # counts are whole
        text = self._text(threshold=least, max_above=most)
        return self._stream(ThresholdStream, text, AboveThreshold(least, most))

    def oracle(
        self,
        method: str = "pmw",
        *,
        domain: Mapping[str, Any] | None = None,
        candidates: Sequence[pd.DataFrame] | None = None,
        updates: int | None = None,
        rows: int | None = None,
    ) -> OracleStream:
        """Open a stream that answers many counts for one price, most of them from earlier answers.

        Parameters
        ----------
        method : {"pmw", "median"}
            Private multiplicative weights on a public domain, or the median over public candidate tables.
        domain : dict of str to list, for "pmw"
            For each column that questions may read: edges of bins for numbers, as ``histogram`` takes them, listed keys for
            text and bool columns. At most 1,000,000 combinations. Conditions should not divide a bin. They are evaluated at
            the ends of bins, and refused if the ends differ. If a condition changes between the ends of a bin, guesses are
            poor.
        candidates : list of DataFrame, for "median"
            Public tables with the columns that questions read, such as the same table of other years or places.
        updates : int, optional
            How many noisy counts the price pays for; by default it is chosen by the number of rows.
        rows : int, optional
            A public upper bound on the number of rows. By default it is the number that is public in this budget; otherwise it
            is bought with 5 % of the price.

        Returns
        -------
        OracleStream
            ``.ask("age >= 30 and sex == 'F'")`` gives a count, ``.left`` what is left.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A guess is made from public weights or candidates, and tested by the sparse vector technique. If it is near the truth,
        it is the answer. If not, the answer is a noisy count, which also improves later guesses. The whole price is charged
        here. A unit moves each count by at most max_rows under both relations. When all corrections are used up, answers are
        untested guesses, and say so. For few questions (on 49,000 rows fewer than about 100 at epsilon 0.1, 250 at 1), single
        counts are more accurate. If you can use a delta, single counts with Gaussian noise are more accurate for up to
        thousands of questions. Source: Hardt, Rothblum 2010; Roth, Roughgarden 2010; Gupta, Roth, Ullman 2012.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62, 70] * 10_000, "sex": ["F", "M", "F", "F"] * 10_000})
        >>> session = df.dp.protect(epsilon=2, name="oracle example")
        >>> stream = df.dp(epsilon=1).oracle("pmw", domain={"age": [0, 30, 50, 100], "sex": ["F", "M"]})
        >>> 28_000 < stream.ask("sex == 'F'") < 32_000
        True
        """
        if not isinstance(method, str) or method not in ("pmw", "median"):
            raise ArgumentValueError("method must be 'pmw' or 'median'")
        corrections = None if updates is None else numbers.positive_int(updates, "updates")
        most = None if rows is None else numbers.positive_int(rows, "rows")
        aggregate: Oracle
        if method == "pmw":
            if candidates is not None:
                raise ArgumentTypeError(
                    "candidates= is for method='median', and 'pmw' takes domain= instead: method='median'"
                )
            aggregate = MultiplicativeWeights(corrections, most, self._domain(domain))
            call = f"oracle('pmw', domain of {aggregate.domain.cells:,} cells)"
        else:
            if domain is not None:
                raise ArgumentTypeError(
                    "domain= is for method='pmw', and 'median' takes candidates= instead: method='pmw'"
                )
            aggregate = MedianOracle(corrections, most, public_tables(candidates))
            call = f"oracle('median', {len(aggregate.candidates):,} candidates)"
        return self._stream(OracleStream, call, aggregate)

    def _domain(self, domain: Any) -> Domain:
        """Axes of the listed columns."""
        if not isinstance(domain, Mapping) or not domain:
            raise ArgumentTypeError("domain must be public keys or edges by column, never from the data")
        axes, cells = [], 1
        for column, given in domain.items():
            kind = self._kind(column)
            if kind.name in ("datetime", "timedelta"):
                raise ArgumentTypeError(f"domain may hold numbers, bools and text, and {column!r} holds dates")
            if not listed(given) or not isinstance(given, Sequence | np.ndarray | pd.Index):
                raise ArgumentTypeError(f"domain must have a list for each column, and has none for {column!r}")
            cells *= max(1, len(given) - (kind.name == "number"))
            if cells > MOST_CELLS:
                raise ArgumentValueError("a domain may have at most 1,000,000 combinations: fewer bins or columns")
            try:
                axes.append(self._axis(column, given, kind))
            except (ArgumentTypeError, ArgumentValueError) as error:
                raise type(error)(f"domain of {column!r}: {str(error).rsplit(': ', 1)[0]}") from None
        return Domain(tuple(axes))

    def _axis(self, column: str, given: Any, kind: Kind) -> Axis:
        if kind.name == "number":
            whole = self._unit(column) is not None
            return Axis(binning.bins(given, False, False, kind, "oracle", column)[0], whole)
        parts, _ = checks.keys(given, False, False, kind, self._facts(column), "oracle", column)
        wanted = bool if kind.name == "bool" else str
        if not all(type(key) is wanted for key in parts.keys):
            raise ArgumentTypeError(f"keys must be {'True and False' if wanted is bool else 'text'}")
        return Axis(parts)

    def _stream(self, kind: type[S], call: str, aggregate: Any) -> S:
        """Open a stream, or preview it."""
        if isinstance(self._price, Accuracy):
            line = f"df.dp(epsilon=1).{call.split('(')[0]}(...)"
            raise ArgumentTypeError(f"a stream takes a price, not within=: {line}")
        query, table = AskedQuery(call, aggregate, self._steps, self._price, groups=self._groups), table_of(self._frame)
        self._check_kept(table)
        with plainly(table, self._price, aggregate, self._steps, self._groups):
            if self._ahead is not None:
                return self._ahead(table, query, tuple(table.source.columns), False)
            return kind(table.session, query, table)


def public_tables(candidates: Any) -> tuple[pd.DataFrame, ...]:
    """Candidate tables, none of them empty."""
    line = "oracle('median', candidates=[last_year, other_town])"
    if isinstance(candidates, str | pd.DataFrame | Mapping) or not isinstance(candidates, Sequence):
        raise ArgumentTypeError(
            f"candidates must be a list of public tables, which must not come from the data: {line}"
        )
    if not 1 <= len(candidates) <= MOST_CANDIDATES:
        raise ArgumentValueError(f"candidates must be at least one and at most 100,000 public tables: {line}")
    if not all(isinstance(table, pd.DataFrame) for table in candidates):
        raise ArgumentTypeError(f"candidates must be DataFrames: {line}")
    if any(len(table) == 0 or not table.columns.is_unique for table in candidates):
        raise ArgumentValueError(f"candidates must have rows, and columns with different names: {line}")
    if any(map(is_private, candidates)):  # pandas hands the mark on to what is made from a table
        raise ArgumentValueError(f"candidates must be public: one is a protected table, or was made from one: {line}")
    return tuple(table.copy(deep=False) for table in candidates)

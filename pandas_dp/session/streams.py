"""Streams: many questions for one price, asked one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from pandas_dp.aggregates import above_threshold
from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Answer, Terms
from pandas_dp.core import gate
from pandas_dp.errors import Spelled, StreamClosedError, told
from pandas_dp.facts.argument_help import explain
from pandas_dp.facts.numbers import checked_level, positive_int
from pandas_dp.release.values import Release
from pandas_dp.session.periods import fitting
from pandas_dp.session.session import Session
from pandas_dp.steps.changes import Filter, applied
from pandas_dp.steps.expression import Expression
from pandas_dp.steps.parse import parse_expression
from pandas_dp.tables.protected import Table

CLOSED = "this stream was closed, by itself or with its session; what it cost stays spent"
ENDED = "this stream has given the answers that its price pays for; open another one: df.dp({price}).{call}"


@explain
class Stream(Spelled):
    """What ``df.dp(epsilon=...)`` opens for many questions at one price: all of it is charged at the opening.

    ``ask`` is free. Other questions and streams may come in between. A stream lives in the process that opened it, as long
    as its session, and cannot be pickled or copied; its answers are not stored.

    Attributes
    ----------
    query : AskedQuery
        What was opened, at which price.
    """

    def __init__(self, session: Session, query: AskedQuery, table: Table) -> None:
        aggregate = query.aggregate
        if not isinstance(aggregate, above_threshold.StreamRecipe):
            raise TypeError("this query is no stream")
        self.query, self._aggregate = query, aggregate
        self._session = session
        # not cut from the rows, whose memory it would keep
        empty = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in table.empty.dtypes.items()})
        self._table = replace(table, source=empty, cache={}, _columns={})  # public facts alone
        self._empty = applied(query.steps, empty)
        request = table.request(query, table.source.columns, fresh=False)
        with fitting(session):
            self._inner = gate.OpenRecipe(request)
        session._streams.add(self._inner)
        if session._closed:  # by another thread meanwhile, which did not find the stream
            self._inner.close()

    @property
    def left(self) -> str:
        """What is left of the stream, in words."""
        return self._inner.reply.left if self._inner.open else "nothing"

    def close(self) -> None:
        """End the stream and free its memory; what it cost stays spent.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="closed stream example")
        >>> stream = df.dp(epsilon=1).above_threshold(1500)
        >>> stream.close()
        >>> stream.left, session.left
        ('nothing', 'epsilon=2')
        """
        self._inner.close()

    def _answer(self, condition: Expression) -> Answer:
        """Send one question through the gate."""
        self._session._open()
        question = self._aggregate.question(condition, self._empty)
        try:
            # the gate alone knows: in here another thread may be asking
            answer: Answer = self._inner.ask(question).value
        except StreamClosedError:
            ended = ENDED.format(price=self.query.price, call=self.query.call)
            raise StreamClosedError(ended if self._inner.reply.last else CLOSED) from None
        return answer

    def _condition(self, condition: Any) -> Expression:
        """The expression tree of a condition; what it refuses depends on names and dtypes alone."""
        made = Filter(parse_expression(condition, self._empty.columns, argument="ask"))
        with told("ask: "):
            made.apply(self._empty)
        return made.expression

    def __repr__(self) -> str:
        """Say what was opened and what is left of it; nothing of the data."""
        return f"<stream {self.query.call} at {self.query.price}: left {self.left}>"

    def __reduce__(self) -> Any:
        """Refuse: a copy would give all the answers that were paid once again."""
        raise TypeError("a stream cannot be pickled or copied; open another one")


@explain
class ThresholdStream(Stream):
    """Says for one count after the other whether it is at least the threshold; see ``above_threshold``.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="threshold stream example")
    >>> stream = df.dp(epsilon=1).above_threshold(1500, max_above=2)
    >>> stream.left
    '2 of 2 True answers'
    """

    _aggregate: above_threshold.AboveThreshold

    def ask(self, condition: Any) -> bool:
        """Whether at least the threshold of rows fulfil a condition, up to noise.

        Parameters
        ----------
        condition : str, callable or pd.col expression
            Of each row by itself, as ``query`` and ``filter`` take it: ``"age > 30 and sex == 'F'"``.

        Returns
        -------
        bool
            The last True that was paid for ends the stream.

        Raises
        ------
        StreamClosedError
            All True answers were given, the stream or its session was closed, or a question failed.
        QueryFailedError, NoSessionError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Free: the opening paid for all answers, which are one mechanism of its price under the session's relation and unit. The
        sparse vector technique; see ``above_threshold``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="threshold ask example")
        >>> stream = df.dp(epsilon=1).above_threshold(1500)
        >>> stream.ask("age > 50"), stream.ask("age > 40"), stream.left
        (False, True, 'nothing')
        """
        return bool(self._answer(self._condition(condition)).value)

    def margin(self, questions: int = 100, level: float = 0.95) -> int:
        """How near the threshold a count must be for a wrong answer. Public and free; the same before and after asking.

        Parameters
        ----------
        questions : int
            How many are asked in total; each may depend on earlier answers.
        level : float

        Returns
        -------
        int
            With probability `level`, the following holds for all these answers: if it says True, the count is above threshold
            - margin; if it says False, it is below threshold + margin. At most max_rows rows of each unit count.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="threshold margin example")
        >>> stream = df.dp(epsilon=1).above_threshold(1500)
        >>> stream.margin(questions=10) < stream.margin(questions=1000) < 500
        True
        """
        terms = Terms(self._inner.unit, self.query.price)
        return self._aggregate.margin(terms, positive_int(questions, "questions"), checked_level(level))


@explain
class OracleStream(Stream):
    """Answers one count after the other, most of them by a guess that is only tested; see ``oracle``.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="oracle stream example")
    >>> stream = df.dp(epsilon=1).oracle("pmw", domain={"age": [0, 30, 50, 100]}, updates=3)
    >>> stream.left
    '3 of 3 corrections'
    """

    def ask(self, condition: Any) -> Release:
        """Count the rows that fulfil a condition, up to noise.

        Parameters
        ----------
        condition : str, callable or pd.col expression
            Of each row by itself, as ``query`` and ``filter`` take it: ``"age >= 30 and sex == 'F'"``.

        Returns
        -------
        Release
            An int. Its notes say how it was made. *Easy*: guessed from earlier answers, and tested. *Hard*: a noisy count that
            uses up one correction; if the same is asked again, it is returned again. *Unverified*: a guess that was not
            tested, because all corrections are used up; no interval is known. The price also pays for showing which of these
            it is.

        Raises
        ------
        StreamClosedError
            The stream or its session was closed, or a question failed.
        QueryFailedError, NoSessionError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Free: the opening paid for all answers, which are one mechanism of its price under the session's relation and unit; see
        ``oracle``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62, 70] * 10_000, "sex": ["F", "M", "F", "F"] * 10_000})
        >>> session = df.dp.protect(epsilon=2, name="oracle ask example")
        >>> stream = df.dp(epsilon=1).oracle("pmw", domain={"age": [0, 30, 50, 100], "sex": ["F", "M"]})
        >>> 28_000 < stream.ask("sex == 'F'") < 32_000
        True
        """
        asked = self._condition(condition)
        query = replace(self.query, call=f"{self.query.call}.ask({str(asked)!r})")
        return self._session._wrap(self._answer(asked), query, self._table, self._inner.unit, "nothing")

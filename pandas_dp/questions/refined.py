"""Answers that are drawn once more, better, for the difference of the prices."""

from __future__ import annotations

from typing import TypeVar, cast

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.release.values import Release
from pandas_dp.session.refining import refine
from pandas_dp.session.registry import table_of

Answered = TypeVar("Answered", bound=Release)
LINE = "answer = df.dp(epsilon=0.5).count(), then df.dp(epsilon=0.5).refine(answer)"


class Refining(PreparedFrame):
    """What a priced frame makes of answers that were paid for."""

    __slots__ = ()

    def refine(self, answer: Answered) -> Answered:
        """Pay more for an answer: it is drawn once more, as precise as one that had cost both prices together.

        A new question at a higher price throws the first answer away. This one does not: the new answer is drawn so that
        the two together tell no more than the new one alone, and only the difference is charged. Where that cannot be, the
        question is drawn anew at the price offered and the answer is the mean of all draws, weighted by their precision: the
        notes of the answer say which it was, and why.

        Parameters
        ----------
        answer : Release
            A count, sum, mean, variance, histogram or table of counts or sums, of listed keys, that this session answered
            for this frame; or what ``refine`` made of one. Each is refined once: go on with the last. With ``within=`` what is
            missing to that error is paid; where nothing is, the answer itself comes back.

        Returns
        -------
        Release
            The same question, with the noise of the sum of the prices, or with that of the mean. Run again it costs nothing.

        Raises
        ------
        LedgerError
            It is a choice, a quantile or an answer of several looks; of another session, frame or table; it was refined before
            at another price; or the ledger holds a newer draw.
        ArgumentTypeError, ArgumentValueError
            Not an answer; steps, ``fresh=True`` or a preview.
        BudgetExceededError
            The budget cannot pay.

        Notes
        -----
        Refined are answers with Laplace noise in a budget without a delta and without a plan, of rows in memory that this
        process drew them from, where a unit is a row. With prices e and f the charge is e + f, and both answers together
        have a privacy loss of at most e + f, under ``add_remove`` and under ``replace_one``, as one answer at e + f has.
        The answer at e is exactly the answer at e + f plus noise that no data touch. Whoever refines only answers that look
        surprising should know that an interval covers in 95 % of all answers, not of those. The rows are those that were
        protected: never write into their memory past pandas. A mean is that of all draws of the question that this process
        knows, of the same rows, rounded to steps of the noise; each draw is charged in full. In a budget for each period, with
        ``table=`` and no version, it is that of the answer given, its own draws and a new one. Source: Koufogiannis, Han,
        Pappas 2016.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="refine example")
        >>> rough = df.dp(epsilon=0.1).count()
        >>> better = df.dp(epsilon=0.9).refine(rough)
        >>> better.epsilon, better.spent, session.spent
        (1.0, 'epsilon=0.9 (epsilon=1 in all)', 'epsilon=1')
        """
        if not isinstance(answer, Release):
            raise ArgumentTypeError(f"refine needs an answer: {LINE}")
        price = self._price
        if self._ahead or self._fresh or self._steps or (isinstance(price, Accuracy) and price.delta):
            raise ArgumentValueError(f"refine takes a price or within=, no preview, no fresh=True and no steps: {LINE}")
        table = table_of(self._frame)
        self._check_kept(table)
        return cast(Answered, refine(answer, table, price))

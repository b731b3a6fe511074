"""The question about a function of the user's own, with the user's own sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from pandas_dp.aggregates.own_function import OwnFunction
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.call import LEFT_OUT
from pandas_dp.facts.public_only import legible, listed
from pandas_dp.questions.blocks import MOST_OUTPUTS
from pandas_dp.questions.choices import positive
from pandas_dp.questions.function_trial import WHOLE_ZERO, no_number, no_vector, rehearse
from pandas_dp.questions.rows import PreparedFrame


class OwnQuestions(PreparedFrame):
    """The question of a priced frame about a function that moves little, as its owner says."""

    __slots__ = ()

    def release(
        self,
        function: Callable[[pd.DataFrame], Any],
        sensitivity: Any,
        *,
        names: Sequence[str] | None = None,
        norm: int = 1,
    ) -> Any:
        """One number, or several, that a function of yours computes from the whole table, with noise for its sensitivity.

        The definition that differential privacy starts from: what one unit can move, you say, and the noise hides it.

        Parameters
        ----------
        function : callable
            Takes a DataFrame with this table's columns and the rows that count, at most ``max_rows`` of each unit, and returns
            a number. Columns come as ``sample_and_aggregate`` hands them out. An exception, or a result that is no finite
            number, counts as 0. It should compute from its argument alone. It is tried on made-up rows first, as the function
            of ``sample_and_aggregate`` is.
        sensitivity : number
            Your word that one unit more or fewer (under replace_one also one whose rows are others) moves what the function
            returns by at most this much, whatever the tables are. In a budget for each period it is about what a unit does in
            one of them: of several that are asked its other rows stay. Where the function may fail, your word holds for the 0
            as well. Nothing checks it: the answer and the certificate say so in ``assumes``.
        names : list of str, optional
            Of several numbers, at most 1,000: the function returns a dict or Series with these names, or as many numbers in
            their order. Where it returns anything else all count as 0.
        norm : {1, 2}
            Of several numbers: whether the sensitivity is the sum of how far each moves (L1), or the root of the sum of their
            squares (L2).

        Returns
        -------
        Release
            A float, or a Series by name. ``interval`` is around what the function returned. It is not stored: asking again
            is charged again.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentValueError
        ArgumentTypeError
            Also where the function makes a TypeError, NameError, AttributeError or KeyError, returns what is no number or asks
            a question, on a made-up table with the columns of this one: before anything is read or charged.

        Notes
        -----
        Discrete Laplace noise of scale sensitivity / epsilon at a plain epsilon, discrete Gaussian noise with a ``delta`` or
        ``rho``, under add_remove and replace_one alike, as the sensitivity is that of the budget's own relation and unit. The
        noise fits either norm: of d numbers L1 is at most the root of d times L2, and L2 at most L1. Results are rounded to a
        power of two of at most sensitivity / 2**20 (of several, over their number) and cut to 2**61 steps. Rounding one number
        costs nothing, rounding several some millionths more noise. A sum of floats errs in its last digits and moves by as much
        more: where that matters, say a little more than the sensitivity. For what a call of its own answers (counts, sums,
        means) ask that one: it needs no such word, and clips values. What a function does beside returning numbers cannot be
        stopped.
        Source: Dwork, McSherry, Nissim, Smith 2006.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=2, name="own function example")
        >>> seniors = df.dp(epsilon=1).release(lambda d: (d["age"] >= 60).sum(), sensitivity=1)
        >>> 950 < seniors < 1050
        True
        >>> seniors.assumes
        'one row more or fewer moves what the function returns by at most 1'
        >>> halves = df.dp(epsilon=1).release(
        ...     lambda d: [(d["age"] < 40).sum(), (d["age"] >= 40).sum()], sensitivity=1, names=["young", "old"]
        ... )
        >>> halves.index.tolist()
        ['young', 'old']
        """
        if not callable(function):
            raise ArgumentTypeError("function must be callable: release(lambda d: len(d), sensitivity=1)")
        exact = positive(sensitivity, "sensitivity")
        if isinstance(norm, bool) or norm not in (1, 2):
            raise ArgumentValueError("norm is 1, of the sum of how far each number moves, or 2: norm=1")
        of = () if names is None else _names(names)
        wrong = no_vector(of) if of else no_number
        tried = rehearse(function, self._empty().dtypes, wrong, without=WHOLE_ZERO)
        every = tuple(self._empty().columns)
        text = self._text(names=of or LEFT_OUT)
        return self._filled(every)._ask(text, OwnFunction(function, exact, of, norm, tried), every)


def _names(given: Any) -> tuple[str, ...]:
    """Distinct names of several numbers."""
    line = "names=['low', 'high']"
    if isinstance(given, str) or not listed(given) or not isinstance(given, Sequence | pd.Index):
        raise ArgumentTypeError(f"names must be a public list of text: {line}")
    names = tuple(given)
    if not all(isinstance(name, str) and legible(name) for name in names):
        raise ArgumentTypeError(f"names must be a public list of text: {line}")
    if not 1 <= len(names) <= MOST_OUTPUTS or len(set(names)) != len(names):
        raise ArgumentValueError(f"names must be 1 to {MOST_OUTPUTS:,} different ones: {line}")
    return names

"""Statistics that pandas has by name: ends of a column, several columns together, distinct values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pandas_dp import arguments
from pandas_dp.aggregates.extremes import Extreme
from pandas_dp.core.lattice import RANK_BITS, Lattice
from pandas_dp.core.statistics.lattice_counts import Grid
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.priced.bounds import grid, is_private, open_ended
from pandas_dp.priced.quantiles import QuantileQuestions
from pandas_dp.priced.text import call_text
from pandas_dp.release import Release


class StatisticQuestions(QuantileQuestions):
    """The questions of a priced frame that pandas has as methods of a DataFrame, beyond sums, means and counts."""

    __slots__ = ()

    def min(self, column: str, *, bounds: Any = None, q: Any = None, step: Any = None) -> Release:
        """Return a value near the smallest one of a column: a low quantile, since the smallest value is one row's.

        Parameters
        ----------
        column : str
        bounds : (lower, upper), (lower, None), (None, upper) or (None, None), optional
            As for ``quantile``; with ``q`` also "private".
        q : float, optional
            The quantile to answer, at most 0.5 (0.01: one row in a hundred lies below it). Where left out, the one that the
            noise allows.
        step : number, optional
            Distance of the possible answers; see ``quantile``.

        Returns
        -------
        Release
            A float (Timestamp or Timedelta for dates and durations). ``interval`` says how far its rank may be off, the notes
            which quantile it is.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        No private answer can be the smallest value itself: whether the row that holds it is there would show. With N possible
        answers and k rows a unit the exponential mechanism errs by up to r = (ln N + 3) 2 k / epsilon rows (95 %), about
        32 / epsilon for one row a unit, and one that asks for a rank nearer to the end than that answers values that lie
        beyond all rows. So r is the rank that is asked for: a tenth of the price buys the number n of non-null rows, the
        rest the quantile r / n, at most the median. A few rare values beyond it are not seen.
        Source: Smith 2011; McSherry, Talwar 2007.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [20, 40, 60, 80] * 1000})
        >>> session = df.dp.protect(epsilon=2, name="min example")
        >>> df.dp(epsilon=1).min("cost", bounds=(0, 100), step=1).value
        20.0
        >>> df.dp(epsilon=1).max("cost", bounds=(0, 100), step=1).value
        80.0
        """
        return self._extreme("min", column, bounds, q, step)

    def max(self, column: str, *, bounds: Any = None, q: Any = None, step: Any = None) -> Release:
        """Return a value near the largest one of a column: a high quantile; see ``min``.

        Parameters
        ----------
        column : str
        bounds, step : optional
            See ``min``.
        q : float, optional
            The quantile to answer, at least 0.5, such as 0.99.
        """
        return self._extreme("max", column, bounds, q, step)

    def _extreme(self, name: str, column: str, bounds: Any, q: Any, step: Any) -> Release:
        if q is not None:
            (level, *_), scalar = arguments.quantiles(q)
            low, high = (Fraction(0), Fraction(1, 2)) if name == "min" else (Fraction(1, 2), Fraction(1))
            if not scalar or not low <= level <= high:
                example = "0.01" if name == "min" else "0.99"
                raise ArgumentValueError(
                    f"q of {name}() must be one level between {float(low):g} and {float(high):g}, such as "
                    f"{name}({column!r}, q={example}); any others: quantile({column!r}, q)"
                )
            return self._quantile(name, column, q, bounds, step, "exponential", None, False)
        kind, facts = self._kind(column), self._facts(column)
        given = facts.bounds if bounds is None else bounds
        if is_private(given):
            raise ArgumentTypeError(
                f"{name}() goes without bounds='private': type {name}({column!r}, bounds=(None, None)), where nothing is known"
            )
        if open_ended(given):
            lattice: Lattice | Grid = grid(self, name, column, given, facts.step if step is None else step)
        else:
            kind, lattice = self._lattice(name, column, bounds, step, RANK_BITS)
        shown = {} if step is None else {"step": step}
        question = Extreme(column, lattice, kind, largest=name == "max")
        return self._ask(call_text(name, column, bounds, **shown), question, (column,))

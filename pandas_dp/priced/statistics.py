"""Statistics that pandas has by name: ends of a column, several columns together, distinct values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any

import pandas as pd

from pandas_dp import arguments
from pandas_dp.aggregates.covariance import Correlation, Covariance
from pandas_dp.aggregates.distinct import DistinctCount
from pandas_dp.aggregates.extremes import Extreme
from pandas_dp.aggregates.regression import LinearRegression
from pandas_dp.calls import Line
from pandas_dp.core.lattice import RANK_BITS, SQUARE_BITS, Lattice
from pandas_dp.core.statistics.lattice_counts import Grid
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.priced.bounds import grid, is_private, open_ended
from pandas_dp.priced.quantiles import QuantileQuestions
from pandas_dp.public_arguments import listed
from pandas_dp.release import Release

MOST_COLUMNS = 30
WIDEST = 10**150


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
        answers and k rows a unit, which move a rank by k at most under both relations, the exponential mechanism errs by up
        to r = (ln N + 3) 2 k / epsilon rows (95 %), about 32 / epsilon for one row a unit, and one that asks for a rank
        nearer to the end than that answers values that lie beyond all rows. So r is the rank that is asked for: a tenth of
        the price buys the number n of non-null rows, the rest the quantile r / n, at most the median. A few rare values
        beyond it are not seen.
        Source: Smith 2011; McSherry, Talwar 2007.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [20, 40, 60, 80] * 1000})
        >>> session = df.dp.protect(epsilon=2, name="min example")
        >>> df.dp(epsilon=1).min("cost", bounds=(0, 100), step=1) <= 20  # seldom below
        True
        >>> df.dp(epsilon=1).max("cost", bounds=(0, 100), step=1) >= 80
        True
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

        Returns
        -------
        Release
            As of ``min``.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The mechanism of ``min`` from the other end, at the same price and with the same sensitivity.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="max example")
        >>> df.dp(epsilon=1).max("age", bounds=(0, 100), q=0.9, step=1).value
        62.0
        """
        return self._extreme("max", column, bounds, q, step)

    def _extreme(self, name: str, column: str, bounds: Any, q: Any, step: Any) -> Release:
        if q is not None:
            (level, *_), scalar = numbers.quantiles(q)
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
        question = Extreme(column, lattice, kind, largest=name == "max")
        return self._ask(self._text(), question, (column,))

    def nunique(self, column: str) -> Release:
        """Count the distinct values of a column; of the unit's own column, the units.

        Parameters
        ----------
        column : str
            Of any dtype. Missing values are none, also where the schema says what they count as.

        Returns
        -------
        Release
            An int; noise may take it below zero.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row brings or takes at most one distinct value, under both relations; a unit at most min(max_rows, max_groups), of
        which a random choice counts where it holds more, so with units that hold many values the answer is too small. One
        unit is one value of the unit's column, however many rows it has: ``nunique("patient_id")`` has noise 1 / epsilon.
        Source: Dwork, McSherry, Nissim, Smith 2006.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"patient": [i // 3 for i in range(3000)]})
        >>> session = df.dp.protect(epsilon=1, unit="patient", max_rows=2, name="nunique example")
        >>> 900 < df.dp(epsilon=1).nunique("patient") < 1100
        True
        """
        self._kind(column)
        mixed = self._empty()[column].dtype == object
        return self._ask(self._text(), DistinctCount(column, mixed), (column,))

    def cov(self, columns: Any, *, bounds: Any = None, ddof: int = 1) -> Release:
        """Covariance matrix of two or more columns of numbers, each value clipped to public bounds.

        Parameters
        ----------
        columns : list of str
            Rows with a missing value in any of them are left out (pandas leaves out rows pair by pair).
        bounds : dict of str to (lower, upper), optional
            Of each column, in its unit; from the schema where left out.
        ddof : {0, 1}

        Returns
        -------
        Release
            A DataFrame with these columns as index and columns: symmetric, without negative eigenvalues, no variance above
            what the bounds allow. ``interval`` gives ends for each entry.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The whole price buys nine sums for each pair of columns, which a row moves by 1 in all in each pair under
        add_remove, by 2 under replace_one: with d columns the noise of a covariance grows as d (d - 1) / 2, with Gaussian
        noise as its root; so ask for the columns you need. Intervals are those of the first order in the noise, and the
        whole range of possible values where the rows are fewer than 20 times the error of their number.
        Source: the squares of Fitzsimons, Honaker, Shoemate, Singhal 2024, for pairs.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [20, 30, 40, 50] * 2000, "cost": [1.0, 2.0, 3.0, 4.0] * 2000})
        >>> session = df.dp.protect(epsilon=4, name="cov example")
        >>> found = df.dp(epsilon=2).cov(["age", "cost"], bounds={"age": (0, 100), "cost": (0, 10)})
        >>> bool(10 < found.loc["age", "cost"] < 15)  # without noise 12.5
        True
        """
        if not isinstance(ddof, Real) or isinstance(ddof, bool) or ddof not in (0, 1):
            raise ArgumentValueError("ddof must be 0 or 1")
        names, lattices, given = self._together("cov", columns, bounds)
        return self._ask(self._text(columns=names, bounds=given), Covariance(names, lattices, int(ddof)), names)

    def corr(self, columns: Any, *, bounds: Any = None) -> Release:
        """Return the correlation matrix (Pearson) of two or more columns of numbers; see ``cov``.

        Parameters
        ----------
        columns : list of str
        bounds : dict of str to (lower, upper), optional

        Returns
        -------
        Release
            A DataFrame within [-1, 1], 1 on the diagonal; NaN where noise leaves a column no variance. Intervals are those
            of the first order in the noise, and [-1, 1] where it is too large for that.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Each entry is a covariance over the root of two variances, all of them those of ``cov`` at its price, with its
        sensitivity under either relation.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [20, 30, 40, 50] * 2000, "cost": [1.0, 2.0, 3.0, 4.0] * 2000})
        >>> session = df.dp.protect(epsilon=4, name="corr example")
        >>> found = df.dp(epsilon=2).corr(["age", "cost"], bounds={"age": (0, 100), "cost": (0, 10)})
        >>> found.columns.tolist()
        ['age', 'cost']
        >>> bool(found.loc["age", "cost"] > 0.8)  # without noise 1
        True
        """
        names, lattices, given = self._together("corr", columns, bounds)
        return self._ask(self._text(columns=names, bounds=given), Correlation(names, lattices), names)

    def linear_regression(self, y: str, x: Any, *, bounds: Any = None) -> Release:
        """Least-squares coefficients of one column of numbers on others, with an intercept.

        Parameters
        ----------
        y : str
            The column that is explained.
        x : str or list of str
            The columns that explain it. Rows with a missing value in any of them or in `y` are left out.
        bounds : dict of str to (lower, upper), optional
            Of each column, also `y`, in its unit; from the schema where left out. Values are clipped to them.

        Returns
        -------
        Release
            A Series named `y`: ``intercept``, then a coefficient for each column of `x`. ``interval`` gives ends for each,
            infinite ones where the noise is too large to tell; they cover the noise, not the sampling of the rows.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Solved on the noisy covariances of ``cov``, at its price, with its sensitivity under either relation. Where the
        columns of `x` vary less in some direction than the noise does, its eigenvalue is raised to the noise's size, which
        pulls slopes to 0: a note says so.
        Source: sufficient statistics with noise: Vu, Slavkovic 2009; Wang 2018.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [20, 30, 40, 50] * 2000, "cost": [1.0, 2.0, 3.0, 4.0] * 2000})
        >>> session = df.dp.protect(epsilon=4, name="regression example")
        >>> line = df.dp(epsilon=2).linear_regression("cost", ["age"], bounds={"age": (0, 100), "cost": (0, 10)})
        >>> bool(0.05 < line["age"] < 0.15)  # without noise 0.1
        True
        """
        line = "linear_regression('cost', ['age'], bounds={'age': (0, 120), 'cost': (0, 5000)})"
        explaining = [x] if isinstance(x, str) else x
        named = listed(explaining) and isinstance(explaining, Sequence | pd.Index)
        if not isinstance(y, str) or not named or not all(isinstance(name, str) for name in explaining):
            raise ArgumentTypeError(f"y must be the name of a column and x a list of names: {line}")
        if "intercept" in explaining:
            raise ArgumentValueError(
                "the constant is called 'intercept': .rename({'intercept': 'start'}) the column first"
            )
        names, lattices, given = self._together("linear_regression", (y, *explaining), bounds, line)
        return self._ask(self._text(x=names[1:], bounds=given), LinearRegression(names, lattices), names)

    def _together(
        self, name: str, columns: Any, bounds: Any, line: str | None = None
    ) -> tuple[tuple[str, ...], tuple[Lattice, ...], dict[str, Any]]:
        """Names and lattices of several columns of numbers, and the bounds that were given."""
        line = line or f"{name}(['age', 'cost'], bounds={{'age': (0, 120), 'cost': (0, 5000)}})"
        if isinstance(columns, str | bytes) or not isinstance(columns, Sequence | pd.Index):
            raise ArgumentTypeError(f"columns must be a list of column names: {line}")
        if bounds is not None and not isinstance(bounds, Mapping):
            raise ArgumentTypeError(f"bounds must be a dict with a pair for each column: {line}")
        names, given = tuple(columns), {} if bounds is None else dict(bounds)
        kinds = {column: self._kind(column) for column in names}
        for column, kind in kinds.items():
            if kind.name not in ("number", "bool"):
                raise ArgumentTypeError(f"{name}() needs columns of numbers; {column!r} holds something else")
        if len(kinds) != len(names) or set(given) - set(names):
            raise ArgumentValueError(f"columns must differ, and bounds be of these columns alone: {line}")
        if not 2 <= len(names) <= MOST_COLUMNS:
            raise ArgumentValueError(f"{name}() takes 2 to {MOST_COLUMNS} columns: {line}")
        lattices = tuple(
            arguments.lattice(given.get(c), None, SQUARE_BITS, kinds[c], self._facts(c), name, c, Line(line))
            for c in names
        )
        if any(lattice.width > WIDEST for lattice in lattices):
            raise ArgumentValueError(f"bounds of {name}() may be at most 1e150 apart, for a square to be a float")
        return names, lattices, given

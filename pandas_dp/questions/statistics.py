"""Further statistics: ends of a column, several columns together, distinct values, units, graphs, randomised answers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from numbers import Real
from types import MappingProxyType
from typing import Any

import pandas as pd

from pandas_dp.aggregates.count import RowsPerUnit, widening_edges
from pandas_dp.aggregates.covariance import Correlation, Covariance
from pandas_dp.aggregates.distinct import DistinctCount
from pandas_dp.aggregates.quantiles import Extreme
from pandas_dp.aggregates.randomized_response import AnswersByAlpha, RandomizedAnswers, keeping
from pandas_dp.aggregates.regression import LinearRegression
from pandas_dp.aggregates.smooth import COST_BITS, MOST_VERTICES, SpanningTreeOf
from pandas_dp.core.lattice import RANK_BITS, SUM_BITS, Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.statistics.lattice_counts import Grid
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, told
from pandas_dp.facts import checks, numbers
from pandas_dp.facts.as_text import of_text
from pandas_dp.facts.call import LEFT_OUT
from pandas_dp.facts.kinds import Kind, exact_number, is_missing
from pandas_dp.facts.public_only import listed
from pandas_dp.questions.dummies import with_dummies
from pandas_dp.questions.lacking import by_column
from pandas_dp.questions.quantiles import QuantileQuestions, of_rounded, smooth_noise, with_bar
from pandas_dp.questions.unknown_bounds import grid, is_private, open_ended
from pandas_dp.release.values import FloatRelease, FrameRelease, IntRelease, SeriesRelease

MOST_COLUMNS = 30
WIDEST = 10**150
LINE = "mst_cost({}, {}, {}, vertices=['A', 'B', 'C'], max_weight=10)"


class StatisticQuestions(QuantileQuestions):
    """The questions of a priced frame beyond sums, means and counts: most are methods of a DataFrame in pandas."""

    __slots__ = ()

    def min(
        self, column: str, *, bounds: Any = None, q: Any = None, step: Any = None, error_bar: bool = False
    ) -> FloatRelease:
        """Return a value near the smallest one of a column: a low quantile, since the smallest value belongs to one row.

        Parameters
        ----------
        column : str
        bounds : (lower, upper), (lower, None), (None, upper) or (None, None), optional
            As for ``quantile``; with ``q`` also "private".
        q : float, optional
            The quantile to answer, at most 0.5 (0.01: one row in a hundred lies below it). By default as low as the noise
            allows.
        step : number, optional
            Distance of the possible answers; see ``quantile``.
        error_bar : bool
            Two fifths of the price buy an interval. With ``q`` it is for the quantile, otherwise for the smallest value
            itself: it begins at the lower bound, because a single row decides how low the smallest value is.

        Returns
        -------
        Release
            A float (Timestamp or Timedelta for dates and durations). Without error bar, ``interval`` says how far its rank may
            be off, and the notes say which quantile it is.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        No private answer can be the smallest value itself, because it would show whether the row with this value is there.
        With N possible answers and k rows per unit, which move a rank by at most k under both relations, the exponential
        mechanism is off by up to r = (ln N + 3) 2 k / epsilon rows (95 %), about 32 / epsilon with one row per unit. If a rank
        nearer to the end were asked for, the answer could lie beyond all rows. So the answer is the value of rank r: a tenth
        of the price buys the number n of non-null rows, and the rest the quantile r / n, or the median if that is less. A few
        rare values below it are not seen. Source: Smith 2011; McSherry, Talwar 2007.

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
        return self._extreme("min", column, bounds, q, step, error_bar)

    def max(
        self, column: str, *, bounds: Any = None, q: Any = None, step: Any = None, error_bar: bool = False
    ) -> FloatRelease:
        """Return a value near the largest one of a column: a high quantile; see ``min``.

        Parameters
        ----------
        column : str
        bounds, step, error_bar : optional
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
        return self._extreme("max", column, bounds, q, step, error_bar)

    def _extreme(self, name: str, column: str, bounds: Any, q: Any, step: Any, error_bar: bool) -> FloatRelease:
        if q is not None:
            (level, *_), scalar = numbers.quantiles(q)
            low, high = (Fraction(0), Fraction(1, 2)) if name == "min" else (Fraction(1, 2), Fraction(1))
            if not scalar or not low <= level <= high:
                example = "0.01" if name == "min" else "0.99"
                raise ArgumentValueError(
                    f"q of {name}() must be one level between {float(low):g} and {float(high):g}, such as q={example}; any "
                    f"others: quantile({column!r}, q)"
                )
            return self._quantile(name, column, q, bounds, step, "exponential", None, error_bar)
        kind, facts = self._kind(column), self._facts(column)
        given = facts.bounds if bounds is None else bounds
        if is_private(given):
            raise ArgumentTypeError(f"{name}() takes no bounds='private'; if you know no bound: bounds=(None, None)")
        if open_ended(given):
            lattice: Lattice | Grid = grid(self, name, column, given, facts.step if step is None else step)
        else:
            kind, lattice = self._lattice(name, column, bounds, step, RANK_BITS, held=True)
        question = with_bar(self, Extreme(column, lattice, kind, largest=name == "max"), error_bar)
        return self._noting(of_rounded(self, question, step))._ask(self._text(), question, (column,))

    def nunique(self, column: str) -> IntRelease:
        """Count the distinct values of a column; of the unit's own column, the units.

        Parameters
        ----------
        column : str
            Of any dtype. Missing values do not count as a value, even if the schema replaces them.

        Returns
        -------
        Release
            An int; noise may take it below zero.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row changes the number by at most 1 under both relations, and a unit by at most min(max_rows, max_groups). If a unit
        has more values, a random choice of them counts, so the answer may be too small. In the unit's own column, a unit is
        one value, however many rows it has: ``nunique("patient_id")`` has noise of scale 1 / epsilon. Source: Dwork, McSherry,
        Nissim, Smith 2006.

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

    def cov(self, columns: Any, *, bounds: Any = None, ddof: int = 1) -> FrameRelease:
        """Covariance matrix of two or more columns of numbers, each value clipped to public bounds.

        Parameters
        ----------
        columns : list of str
            Rows with a missing value in any of them are left out (pandas leaves out rows pair by pair).
        bounds : dict of str to (lower, upper), optional
            Of each column, in its unit; from the schema if left out.
        ddof : {0, 1}

        Returns
        -------
        Release
            A DataFrame with these columns as index and columns. It is symmetric, has no negative eigenvalues, and no variance
            above what the bounds allow. ``interval`` gives the ends for each entry.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The whole price buys nine sums for each pair of columns. In each pair, a row moves them by 1 in total under add_remove,
        and by 2 under replace_one. With d columns, the noise of a covariance grows as d (d - 1) / 2, or as the root of that
        with Gaussian noise, so ask only for the columns that you need. Intervals are first-order approximations in the noise.
        If there are fewer rows than 20 times the error of their number, an interval is the whole range of possible values.
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

    def corr(self, columns: Any, *, bounds: Any = None) -> FrameRelease:
        """Return the correlation matrix (Pearson) of two or more columns of numbers; see ``cov``.

        Parameters
        ----------
        columns : list of str
        bounds : dict of str to (lower, upper), optional

        Returns
        -------
        Release
            A DataFrame within [-1, 1], with 1 on the diagonal; NaN if no variance of a column is left above the noise.
            Intervals are first-order approximations in the noise, or [-1, 1] if the noise is too large for that.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Each entry is a covariance divided by the root of two variances. All are those of ``cov``, at its price and with its
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

    def linear_regression(self, y: str, x: Any, *, bounds: Any = None, keys: Any = None) -> SeriesRelease:
        """Least-squares coefficients of one column of numbers on others, with an intercept.

        Parameters
        ----------
        y : str
            The column that is explained.
        x : str or list of str
            The columns that explain it. Rows with a missing value in any of them or in `y` are left out.
        bounds : dict of str to (lower, upper), optional
            Of each column of numbers, also `y`, in its unit; from the schema if left out. Values are clipped to them.
        keys : dict of str to list, optional
            For each column of text or categories, the public values that it can have; from the schema if left out. Each value
            except the first has a coefficient, as with ``pandas.get_dummies(..., drop_first=True)``: how much larger `y` is
            than for the first. Rows with another value are left out. A column of numbers that is named here is treated as
            categories.

        Returns
        -------
        Release
            A Series named `y`: ``intercept``, then a coefficient for each column of `x`, of one with keys ``sex_male`` and
            so on. ``interval`` gives ends for each,
            infinite ones where the noise is too large to tell; they cover the noise, not the sampling of the rows.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Solved from the noisy covariances of ``cov``, at its price and with its sensitivity under either relation. If the
        columns of `x` vary less than the noise in some direction, the eigenvalue of this direction is raised to the size of
        the noise. This pulls slopes towards 0; a note says so. Each key is a column of 0 and 1, with these as public bounds,
        and counts as one column. Source: sufficient statistics with noise: Vu, Slavkovic 2009; Wang 2018.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [20, 30, 40, 50] * 2000, "cost": [1.0, 2.0, 3.0, 4.0] * 2000})
        >>> session = df.dp.protect(epsilon=4, name="regression example")
        >>> line = df.dp(epsilon=2).linear_regression("cost", ["age"], bounds={"age": (0, 100), "cost": (0, 10)})
        >>> bool(0.05 < line["age"] < 0.15)  # without noise 0.1
        True
        >>> df = pd.DataFrame({"ward": ["a", "b"] * 4000, "cost": [1.0, 3.0] * 4000})
        >>> session = df.dp.protect(epsilon=4, name="regression on categories")
        >>> line = df.dp(epsilon=2).linear_regression("cost", "ward", bounds={"cost": (0, 10)}, keys={"ward": ["a", "b"]})
        >>> line.index.tolist(), bool(1.5 < line["ward_b"] < 2.5)  # without noise 2
        (['intercept', 'ward_b'], True)
        """
        explaining = [x] if isinstance(x, str) else x
        named = listed(explaining) and isinstance(explaining, Sequence | pd.Index)
        if not isinstance(y, str) or not named or not all(isinstance(name, str) for name in explaining):
            raise ArgumentTypeError("y must be the name of a column and x a list of names")
        if "intercept" in explaining:
            raise ArgumentValueError(
                "the constant is called 'intercept': .rename({'intercept': 'start'}) the column first"
            )
        made, names, more = with_dummies(self, y, list(explaining), keys)
        names, lattices, given = made._together("linear_regression", (y, *names), bounds, more)
        text = self._text(x=names[1:], bounds=given, keys=LEFT_OUT)  # beside the steps that make the dummies
        return made._ask(text, LinearRegression(names, lattices), names)

    def _together(
        self, name: str, columns: Any, bounds: Any, made: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[tuple[str, ...], tuple[Lattice, ...], Any]:
        """Names, lattices and bounds of several columns of numbers, beside those of columns that were `made`."""
        own = [column for column in columns if column not in made] if made else columns
        own, typed = by_column(self, name, own, bounds, ("number", "bool"))
        names, given = tuple(columns), {**typed, **made}
        if not 2 <= len(names) <= MOST_COLUMNS:
            raise ArgumentValueError(f"columns must name 2 to {MOST_COLUMNS} columns")
        line = self._bounds_line(name, own, typed)
        lattices = tuple(
            checks.lattice(given.get(c), None, SUM_BITS, self._kind(c), self._facts(c), name, c, line) for c in names
        )
        if any(lattice.width > WIDEST for lattice in lattices):
            raise ArgumentValueError(f"bounds of {name}() may be at most 1e150 apart, for a square to fit into a float")
        return names, lattices, self._bounds(names, given)

    def mst_cost(
        self,
        source: str,
        target: str,
        weight: str,
        *,
        vertices: Any = None,
        max_weight: Any = None,
        noise: str | None = None,
        error_bar: bool = False,
    ) -> FloatRelease:
        """Cost of a minimum spanning tree: what it takes to connect all vertices by the cheapest edges.

        Parameters
        ----------
        source, target : str
            Columns with the two ends of each row's edge. Edges have no direction, and several may connect the same two
            vertices.
        weight : str
            Column of numbers or durations; weights are clipped to 0..max_weight. Rows with an unlisted vertex, a missing
            value or two equal ends do not count.
        vertices : list
            Public vertices, 2 to 63; from the schema's keys of the source column where left out. Never from the data.
        max_weight : number or Timedelta
            Public and positive. Any two vertices count as connected at this weight, even without a row. So if a table has no
            edge of some vertex, the cost is higher, and nothing fails.
        noise, error_bar : optional
            As in ``quantile`` with ``method="smooth"``.

        Returns
        -------
        Release
            A float (a Timedelta for durations) from 0 to (vertices - 1) max_weight. No error bar is free.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Protected are rows, or units of up to max_rows rows, with their weights and ends. The vertices are public. Adding or
        removing a row changes one weight of the complete graph from or to max_weight, so one row may move the cost by
        max_weight. The noise is scaled to S = max over k of exp(-beta k) m A(m (k + 1) - 1), where m is the number of rows of
        a unit, and A(k) the most by which one row could move the cost at distance k from this table. A(k) is the maximum, over
        all cuts of the vertices into two sets, of w_(k+1) and w_(k+2) - w_1, where w_j is the j-th lightest weight across the
        cut. S bounds how far a unit moves the cost, and changes by at most a factor exp(beta) between neighbours, under
        add_remove and replace_one alike: replacing a row is removing one, which can only raise the cost, and adding one, which
        can only lower it. The noise is small if every cut has many light edges. It is up to a small multiple of max_weight /
        epsilon if a few edges hold the graph together. Weights are rounded to steps of at most max_weight / 2**24. Source:
        Nissim, Raskhodnikova, Smith 2007, Section 3.2; smallest cuts: Gusfield 1990.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> stops = list(range(61))
        >>> df = pd.DataFrame([(i, i + 1, 1.0) for i in stops[:-1]] * 100, columns=["start", "end", "km"])
        >>> session = df.dp.protect(epsilon=5, name="mst_cost example")
        >>> 40 < df.dp(epsilon=5).mst_cost("start", "end", "km", vertices=stops, max_weight=10) < 80
        True
        """
        kinds = [self._kind(column) for column in (source, target, weight)]
        if len({source, target, weight}) < 3:
            raise ArgumentValueError("mst_cost() needs three columns: mst_cost('source', 'target', 'weight', ...)")
        if kinds[2].name not in ("number", "timedelta"):
            raise ArgumentTypeError(
                f"mst_cost() needs weights that are numbers or durations, and {weight!r} holds none{of_text(kinds[2], weight)}"
            )
        line = LINE.format(repr(source), repr(target), repr(weight))
        given = self._facts(source).keys if vertices is None else vertices
        listed = _vertices(given, kinds[:2], line)
        lattice = Lattice.between(Fraction(0), _max_weight(max_weight, kinds[2], line), COST_BITS)
        law = smooth_noise(noise, error_bar)
        columns = (source, target, weight)
        ends = Keys(source, listed), Keys(target, listed)
        question = SpanningTreeOf(lattice, kinds[2], law, error_bar, *ends, weight)
        return self._ask(self._text(vertices=listed), question, columns)

    def rows_per_unit(self, limit: int = 1000) -> SeriesRelease:
        """Count units by their number of rows (1, 2, 3, 4-5, 6-10, 11-20 and so on), to choose ``max_rows``.

        Parameters
        ----------
        limit : int
            Upper end of the last bin but one; units with more rows are counted in one bin.

        Returns
        -------
        Release
            A Series by interval of rows, open on the left. Below it, and in ``.notes``, are two things that are computed from
            the noisy counts, so they are free: for each ``max_rows``, about what share of the units keeps all rows, and the
            smallest one that keeps all rows of 95 % of the units, with 95 % confidence.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Every unit counts once, however many rows it has, so ``max_rows`` of the session does not matter here. Rows without a
        unit are left out, and so are units of which steps keep no row. The noise is that of a histogram with one row per unit:
        one unit moves one count by 1 under add_remove, and two counts under replace_one. Source: Dwork, McSherry, Nissim,
        Smith 2006.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"patient_id": [*range(900), *range(900, 1000)] + list(range(900, 1000)) * 3})
        >>> session = df.dp.protect(epsilon=1000, unit="patient_id", max_rows=10, name="rows per unit example")
        >>> df.dp(epsilon=500).rows_per_unit(limit=10).tolist()
        [900, 0, 0, 100, 0, 0]
        """
        whole = numbers.positive_int(limit, "limit")
        return self._ask(self._text(limit=whole), RowsPerUnit(widening_edges(whole)), ())

    def randomized_response(
        self, column: str, *, keys: Any = None, other: bool = False, null: bool = False, alpha: Any = None
    ) -> SeriesRelease:
        """Release a column in which every row keeps its key with some probability and takes a random one otherwise.

        Parameters
        ----------
        column : str
        keys : list, optional
            At least two listed values; from the schema if left out. A bool column has False and True.
        other, null : bool
            An additional key for unlisted values, and one for missing values. Without these, such a row always takes a random
            key: in the estimate it counts as 1 / (number of keys) of a row for each key, and the interval is for these
            proportions.
        alpha : number, optional
            Probability, in (0, 1), of keeping the key. With k keys it costs ln(1 + k alpha / (1 - alpha)), and the price must
            be at least that; otherwise the error message says how much it is. The price is charged as typed. By default, keys
            are kept as often as the price allows.

        Returns
        -------
        Release
            A Series of dtype category over the keys, one for each row. It is sorted, because the order of a table may depend
            on its rows. ``estimate()`` gives the proportion of each key with its interval. Whatever else is computed from it
            is free.

        Raises
        ------
        ArgumentValueError
            Under add_remove, with a unit column, after a filter, for a table that joined a session, or with a single key.
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError

        Notes
        -----
        With k keys, a row keeps its key with probability a = (e^epsilon - 1) / (e^epsilon + k - 1), rounded down. Otherwise it
        takes a uniformly random key, possibly the same. So any answer is at most e^epsilon times as likely from one value as
        from another, and the loss is exactly ln(1 + k a / (1 - a)) <= epsilon. Rows are drawn independently. One answer per
        row shows the number of rows, so this number must be public: replace_one, with one row per unit.

        The estimated proportions are unbiased. Let n be the number of rows, p = a + (1 - a)/k and q = (1 - a)/k. If a share s
        of the rows has a key, its estimate has the variance (s p (1 - p) + (1 - s) q (1 - q)) / (n a^2). For two keys it is (1
        - a^2) / (4 a^2 n), about 1 / (epsilon^2 n), whatever the data; a noisy histogram has 8 / (epsilon n)^2.
        ``df.dp(within=0.01)`` finds the epsilon at which every proportion is within 0.01. Source: Warner 1965; Kairouz,
        Bonawitz, Ramage 2016.

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
        if alpha is None:
            return self._ask(self._text(keys=keyed.keys), RandomizedAnswers(keyed, labels), (column,))
        line = f"randomized_response({column!r}, keys=['no', 'yes'], alpha=0.5)"
        kept = numbers.typed(line, exact_number, alpha, "alpha")
        if not (0 < kept < 1 and keeping(kept, keyed.count).keep):
            raise ArgumentValueError(f"alpha must be above 0 and below 1: {line}")
        asked = AnswersByAlpha(keyed, labels, kept)
        return self._ask(self._text(keys=keyed.keys), asked, (column,))


def _vertices(given: Any, kinds: list[Kind], line: str) -> tuple[Hashable, ...]:
    """Public vertices as keys of both columns."""
    if given is None:
        raise ArgumentTypeError("vertices must be a public list, which must not come from the data")
    if not listed(given):
        raise ArgumentTypeError(f"vertices must be a list: {line}")
    vertices = list(islice(given, MOST_VERTICES + 1))
    if not 2 <= len(vertices) <= MOST_VERTICES:
        raise ArgumentValueError(f"vertices must be at least 2 and {MOST_VERTICES} at most: {line}")
    if any(is_missing(vertex) for vertex in vertices):
        raise ArgumentValueError(f"vertices must not hold a missing value: {line}")
    try:
        source, target = (tuple(checks.plain(vertex, kind) for vertex in vertices) for kind in kinds)
    except ArgumentTypeError:
        source, target = (), (None,)
    if source != target:
        raise ArgumentTypeError(f"vertices must be values of the columns of both ends, which are of one kind: {line}")
    if len(set(source)) != len(source):
        raise ArgumentValueError(f"vertices must not hold a value twice: {line}")
    return source


def _max_weight(given: Any, kind: Kind, line: str) -> Fraction:
    """Exact largest weight."""
    if given is None:
        raise ArgumentTypeError("max_weight must be the public largest weight, which must not come from the data")
    with told(behind=f": {line}"):
        exact = kind.number(given, "max_weight")
    if exact < checks.NARROWEST:
        raise ArgumentValueError(f"max_weight must be positive: {line}")
    return exact

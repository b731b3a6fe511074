"""Releases: public values that know their price and their error.

A number is also a float (a count: an int), a text a str, a vector a Series, a table a DataFrame, so releases
drop into any code. Whatever is computed from them is plain: an error bar never outlives its value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from pandas_dp.aggregates import tidy
from pandas_dp.aggregates.base import Answer, Caution
from pandas_dp.aggregates.uncertainty import LEVEL, ErrorModel
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.argument_help import example, explained
from pandas_dp.facts.call import shown as written
from pandas_dp.facts.numbers import checked_level
from pandas_dp.release.along import Along, FirstSteps, Unstacked, columns_of
from pandas_dp.release.base import BESIDE
from pandas_dp.release.base import Release as Release
from pandas_dp.release.csv import CSV, write_csv
from pandas_dp.release.html import table_html
from pandas_dp.release.plots import Column, Curve, draw_vector, plotting
from pandas_dp.release.provenance import Provenance
from pandas_dp.release.text import named, side_by_side, wide


def _with_origin(given: tuple[Any, ...]) -> bool:
    """Whether a value comes with its provenance: code that calls ``type(x)``, as `statistics` does, knows of none."""
    return len(given) == 2 and isinstance(given[1], Provenance)


class Scalar(Release):
    """A release that is one of Python's own numbers or texts as well."""

    _plain: ClassVar[Any]

    def __new__(cls, *value: Any, **options: Any) -> Any:
        """Make a value that knows its provenance; without one a plain value."""
        if not _with_origin(value):
            return cls._plain(*value, **options)
        self = super().__new__(cls, value[0])  # type: ignore[call-arg]  # of Python's class, the next one at run time
        self._keep(cls._plain(value[0]), value[1])
        return self

    def __str__(self) -> str:
        """Return the plain value."""
        return str(self._released)


class FloatRelease(Scalar, float):
    """A number."""

    _plain = float


class DifferenceRelease(FloatRelease):
    """A difference of two means."""

    @property
    def p_value(self) -> float:
        """How likely so large a difference is where the means of the population are equal: noise and sampling together."""
        known: Any = self._population()
        return known.chance(self._released)


class IntRelease(Scalar, int):
    """A count."""

    _plain = int


class TextRelease(Scalar, str):
    """A text, such as a key."""

    _plain = str


class ObjectRelease(Release):
    """Any other value, such as a date: compare and compute with ``.value``.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"visit": pd.date_range("2013-01-01", periods=300).repeat(10)})
    >>> session = df.dp.protect(epsilon=3, name="object release example")
    >>> typical = df.dp(epsilon=1).median("visit", bounds=("2013-01-01", "2014-01-01"))
    >>> type(typical.value).__name__, typical.value.year
    ('Timestamp', 2013)
    """

    def __init__(self, value: Any, provenance: Provenance) -> None:
        self._keep(value, provenance)

    def __str__(self) -> str:
        """Return the plain value as text."""
        return str(self._released)

    def __format__(self, spec: str) -> str:
        """Format the plain value."""
        return format(self._released, spec)

    def __bool__(self) -> bool:
        """Truth of the value, so that a False never passes for True."""
        return bool(self._released)

    def __eq__(self, other: object) -> bool:
        """Compare values."""
        return bool(self._released == (other.value if isinstance(other, ObjectRelease) else other))

    def __hash__(self) -> int:
        """Hash of the value."""
        return hash(self._released)


if TYPE_CHECKING:
    from pandas_dp.aggregates.independence import Independence

    Series = pd.Series[Any]
else:
    Series = pd.Series


class Vector(FirstSteps, Release):
    """What releases of Series and DataFrames share.

    pandas objects can be changed in place, and a released value cannot: the value as it was released is
    kept beside (copy-on-write makes that free), ``.value``, ``.interval`` and ``.table`` speak of it, and a
    changed object shows itself without error bars.
    """

    _each = "each "
    _plain: ClassVar[Any]  # the class that pandas makes of this object, and that is kept beside it

    def __new__(cls, *value: Any, **options: Any) -> Any:
        """Make a release; without its provenance the plain class."""
        return super().__new__(cls) if _with_origin(value) else cls._plain(*value, **options)

    def __init__(self, value: Any, provenance: Provenance) -> None:
        plain = self._constructor(value)
        plain.attrs = {}
        super().__init__(plain)  # type: ignore[call-arg]  # of pandas' class, the next one at run time
        self._keep(plain, provenance)

    @property
    def value(self) -> Any:
        """The plain value as it was released."""
        return self._released.copy(deep=False)

    @property
    def _constructor(self) -> Any:
        return self._plain

    def _current(self) -> Any:
        """The plain content, with whatever was done to it in place."""
        return self._constructor(self)

    @plotting
    def plot(self, ax: Any = None, level: float = LEVEL, y: Any = None) -> Any:
        """Draw bars (points for dates), the steps of an ecdf or the heat map of a crosstab; see `Release.plot`.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, optional
            A new figure is made without one; each column of a table and each unit has a panel of its own.
        level : float
        y : label or list of labels, optional
            Of tables alone: ``y="mean"`` draws one column, ``y=[...]`` some of them.

        Returns
        -------
        matplotlib Axes or array of them

        Raises
        ------
        ImportError, ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="vector plot example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> from matplotlib.figure import Figure
        >>> ax = ages.plot(ax=Figure().subplots())
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('age', 'count')
        """
        known = self.interval(level)
        line = Curve(self._price_line(level, known, drawn=True), self._cautions())
        asked = self.query.aggregate
        scales = asked.scale_of if asked.mixed else None
        shown = self._released.set_axis(asked.labelled(self._released.index))
        return draw_vector(asked.drawing, self._drawn(known), shown, line, ax, y, scales)

    def difference(self, first: Any, second: Any, column: Any = None) -> DifferenceRelease:
        """Difference of the means of two groups: free, with an interval and a p-value of its own.

        Parameters
        ----------
        first, second : label of a group
            As in the index; the mean of the second is subtracted from that of the first.
        column : label, optional
            For tables of several answers with more than one mean.

        Returns
        -------
        Release
            A float; NaN if one of the groups has too few rows to tell. It is computed from this answer, and is as private.
            ``interval(of="population")`` and ``p_value`` need ``population=True``, or "std" beside "mean" in ``agg``.

        Raises
        ------
        ArgumentTypeError
            For any answer except means of numbers by group.
        ArgumentValueError
            If the labels are not two groups.

        Notes
        -----
        The noise of different groups is independent, and groups have no rows in common. Intervals and p-values are
        approximate, and were checked by simulation. See `interval` for when the population interval holds. Of many pairs of
        equal groups, one in twenty has a p-value below 0.05 by chance alone.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40, 20, 50] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="difference example")
        >>> costs = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])["cost"].mean(bounds=(0, 100), population=True)
        >>> more = costs.difference("B", "A")
        >>> bool(29 < more < 31), more.p_value < 0.001  # without noise 30
        (True, True)
        """
        error: Any = self._provenance.error
        value = self._released
        while isinstance(error, Along) and not isinstance(error.step, Unstacked):
            error, value = error.error, error.value
        from pandas_dp.aggregates import differences  # here, so that importing the package costs little

        between, known = differences.difference_of(error, value, first, second, column)
        few = () if known.enough else (Caution(differences.FEW),)
        notes = (*self.notes, "free: a difference of means that were paid for", *few)
        named = "" if column is None else f", column={written(column)}"
        asked = replace(self.query, call=f"{self.query.call}.difference({written(first)}, {written(second)}{named})")
        origin = replace(self._provenance, query=asked, error=known, notes=notes, extras=())
        return DifferenceRelease(between, origin)

    def _changed(self) -> bool:
        return not self._current().equals(self._released)

    def __repr__(self) -> str:
        """Show the table, one line with the price, and what would make it misleading."""
        if self._changed():
            return repr(self._current())
        known = self.interval()
        return f"{wide(self._legible(known))}\n{self._price_line(LEVEL, known)}{self._caution_lines()}"

    def _repr_html_(self) -> str | None:
        if self._changed():
            plain = getattr(self._current(), "_repr_html_", None)
            return None if plain is None else plain()
        known = self.interval()
        facts = [self._price_line(LEVEL, known), *self._stored(), *self._facts()]
        charted = () if self.query.aggregate.mixed else self._drawn(known)  # a chart has one scale for all rows
        return table_html(self._legible(known), facts, charted)

    @example(CSV)
    def to_csv(self, path: Any = None, level: float = LEVEL, **options: Any) -> str | None:
        """Write the table as it is shown, below comments; see `Release.to_csv`. A changed object is written as pandas does.

        Parameters
        ----------
        path : str, path or text file, optional
            None: the text is returned.
        level : float
            Of the intervals.
        **options
            Of ``DataFrame.to_csv``, such as ``sep``, but for those that say how a file is opened.

        Returns
        -------
        str or None

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="to_csv example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> print(ages.to_csv().splitlines()[0])
        # 95 % intervals, epsilon 1, discrete Laplace
        """
        if self._changed():
            return write_csv(self._current(), [], path, options)
        return super().to_csv(path, level, **options)

    def _legible(self, known: Any, level: float = LEVEL) -> pd.DataFrame:
        shown = super()._legible(known, level)
        return shown.set_axis(self.query.aggregate.labelled(shown.index))

    def __reduce__(self) -> Any:
        """Pickle the release; a changed object goes as the plain data it is."""
        return (_itself, (self._current(),)) if self._changed() else super().__reduce__()

    def __copy__(self) -> Any:
        """Copy the release; of a changed object the plain content."""
        return self._current() if self._changed() else type(self)(self.value, self._provenance)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Copy the release; of a changed object the plain content."""
        return self.__copy__()  # copy-on-write keeps the two apart


def _itself(value: Any) -> Any:
    return value


def _by_value(operator: str) -> Callable[[Any, Any], Any]:
    def compute(self: Any, other: Any) -> Any:
        return getattr(self, operator)(other)

    return compute


# s /= s.sum() shall rebind s to a plain result, as s = s / s.sum() does
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(Vector, f"__i{_name}__", _by_value(f"__{_name}__"))


class FrameRelease(Vector, pd.DataFrame):  # type: ignore[misc]  # also query
    """A table. Selections, copies and results of arithmetic are plain; what ``head``, ``tail``, ``sort_values`` and ``round``
    return has error bars.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="frame release example")
    >>> found = df.dp(epsilon=1).agg({"age": ["count", "mean"]}, bounds={"age": (0, 100)})
    >>> found.index.tolist(), type(2 * found).__name__
    (['count', 'mean'], 'DataFrame')
    """

    _plain = pd.DataFrame

    def _ends(self, error: ErrorModel, level: float) -> pd.DataFrame:
        return side_by_side(
            [
                (name, end, series)
                for name, values in self._columns()
                for end, series in zip(("lower", "upper"), error.bounds(values, level), strict=True)
            ]
        )

    def _columns(self) -> list[tuple[Any, Series]]:
        return [(name, self._released.iloc[:, i]) for i, name in enumerate(self._released.columns)]

    def table(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the columns, each with its ends where an interval is known, then the extras.

        Parameters
        ----------
        level : float
            Of the intervals.

        Returns
        -------
        DataFrame
            Plain, on the same index, with two levels of columns if intervals are known. Those for the population come after
            all others.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="frame table example")
        >>> found = df.dp(epsilon=1).agg({"age": ["count", "mean"]}, bounds={"age": (0, 100)})
        >>> found.table().columns.tolist()
        [('age', 'value'), ('age', 'lower'), ('age', 'upper')]
        """
        return self._table(self.interval(level), level)

    def _table(self, known: Any, level: float) -> pd.DataFrame:
        if not isinstance(known, pd.DataFrame):
            return self._with_extras(self.value)
        parts = []
        for i, (name, values) in enumerate(self._columns()):
            lower, upper = known.iloc[:, 2 * i], known.iloc[:, 2 * i + 1]
            parts += [(name, "value", values), (name, "lower", lower), (name, "upper", upper)]
        if (sampled := self._beside()) is not None:
            ends, known_of = self._ends(sampled, level), columns_of(sampled, self._released.columns)
            for i, name in enumerate(self._released.columns):
                both = zip(BESIDE, (2 * i, 2 * i + 1), strict=True) if name in known_of else ()
                parts += [(name, end, ends.iloc[:, place]) for end, place in both]
        return self._with_extras(side_by_side(parts))

    def independence(self) -> Independence:
        """Test whether rows and columns of a crosstab are independent, by chi-square: free.

        Returns
        -------
        Independence
            ``statistic, p_value``. If the two are independent, a p-value below 0.05 comes in 5 of 100 cases. It is simulated,
            so a second call may give slightly different digits.

        Raises
        ------
        ArgumentTypeError
            For any answer except a crosstab of counts as it was released, and if a unit may have several rows, because these
            are not independent.
        ArgumentValueError
            For tables of one row or column, or of more than 1,000 cells, and if there are too few rows for the noise.

        Notes
        -----
        The statistic takes the noise of the cells into account, and so do the simulated tables with which it is compared: they
        have both noise and sampling error, and are computed from released counts alone. The test is right if there are, per
        cell, at least 3 times as many rows as the scale of the noise (of independent tables, 3 to 7 in 100 have p-values below
        0.05). With fewer rows it is refused. Source: Gaboardi, Lim, Rogers, Vadhan 2016; Kifer, Rogers 2017.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"state": ["NY", "CA"] * 1500, "sex": ["f", "m", "m", "f", "f", "m"] * 500})
        >>> session = df.dp.protect(epsilon=2, name="independence example")
        >>> found = df.dp(epsilon=2).crosstab("state", "sex", keys={"state": ["CA", "NY"], "sex": ["f", "m"]})
        >>> statistic, p_value = found.independence()
        >>> statistic > 100, p_value < 0.001  # two of three in NY are women
        (True, True)
        """
        asked, error = self.query.aggregate, self._provenance.error
        from pandas_dp.aggregates import cross_tables, independence  # here, so that importing the package costs little

        table = isinstance(asked, cross_tables.CrossTable) and not isinstance(error, Along)
        known = asked.cells(self._released, error) if table else None  # type: ignore[attr-defined]  # of a CrossTable
        if known is None:
            raise ArgumentTypeError(
                "independence() is of counts by two columns, as they were released: crosstab('state', 'sex', keys={...})"
            )
        self._check_draws()
        return independence.chi_square(*known)

    def _drawn(self, known: Any) -> list[Column]:
        bars = isinstance(known, pd.DataFrame)
        return [
            (named(name), values, *((known.iloc[:, 2 * i], known.iloc[:, 2 * i + 1]) if bars else (None, None)))
            for i, (name, values) in enumerate(self._columns())
        ]


class SeriesRelease(Vector, Series):  # type: ignore[misc]  # plot, to_json: the release's own
    """A vector. Slices, copies and results of arithmetic are plain Series; what ``head``, ``tail``, ``sort_values``, ``round``
    and ``unstack`` return has error bars.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="series release example")
    >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 100])
    >>> bool(ages.sum() == ages.value.sum()), type(ages / ages.sum()).__name__
    (True, 'Series')
    """

    _plain = pd.Series

    def _ends(self, error: ErrorModel, level: float) -> pd.DataFrame:
        lower, upper = error.bounds(self._released, level)
        return pd.DataFrame({"lower": lower, "upper": upper})

    def unstack(self, level: Any = -1, *args: Any, **options: Any) -> Any:
        """Turn a level of the index into columns, as pandas does; each keeps its error bars.

        Parameters
        ----------
        level : int or str
            The last one where left out.
        *args, **options
            Of ``unstack`` of pandas: what comes of them is plain.

        Returns
        -------
        Release
            A table; plain where nothing is known of the error.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "sex": ["f", "m", "m", "f"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="unstack example")
        >>> sizes = df.dp(epsilon=1).groupby(["ward", "sex"], keys={"ward": ["A", "B"], "sex": ["f", "m"]}).size()
        >>> sizes.unstack().table().columns.tolist()[:3]
        [('f', 'value'), ('f', 'lower'), ('f', 'upper')]
        """
        made = self._current().unstack(level, *args, **options)
        plain = args or options or not isinstance(made, pd.DataFrame)
        return made if plain else self._after(made, "unstack()", Unstacked(level), FrameRelease)

    def range_sum(self, left: Any = None, right: Any = None) -> Release:
        """Sum of the bins from one edge to another: free, with an interval of its own.

        Parameters
        ----------
        left, right : edge of a bin, optional
            From the first and to the last edge where left out.

        Returns
        -------
        Release
            A float. It is computed from this answer, and is as private.

        Raises
        ------
        ArgumentTypeError
            For any answer except those of ``histogram(..., workload="ranges")``.
        ArgumentValueError
            For something that is not an edge.

        Notes
        -----
        The variance of a sum of least-squares estimates is public. With Gaussian noise, the interval is the normal one. With
        Laplace noise, it holds for every symmetric log-concave distribution with this variance. For long sums it is a fifth
        wider than needed (two fifths if the noise has a scale of two rows).

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="range_sum example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=range(0, 101, 5), workload="ranges")
        >>> 1800 < ages.range_sum(40, 100) < 2200
        True
        >>> session.left
        'epsilon=2'
        """
        error = self._provenance.error
        from pandas_dp.aggregates import ranges  # here, so that importing the package costs little

        if not isinstance(error, ranges.PartsError):
            raise ArgumentTypeError(
                "range_sum() needs counts made for it: histogram('age', bins=..., workload='ranges')"
            )
        first, last = ranges.places_between(self._released.index, left, right)
        answer = Answer(float(self._released.iloc[first:last].sum()), self.mechanism, error.between(first, last))
        notes = (*self.notes, "free: a sum of bins of an answer that was paid for")
        return make_release(answer, replace(self._provenance, error=answer.error, notes=notes, extras=()))

    @explained
    def estimate(self, level: float = LEVEL, project: bool = False) -> pd.DataFrame:
        """Estimate the proportion of each key among the exact answers: free, for `randomized_response` alone.

        Parameters
        ----------
        level : float
            Of the intervals.
        project : bool
            Move the proportions to the nearest ones that are not negative and add up to 1: closer, but no longer unbiased.

        Returns
        -------
        DataFrame
            A row for each key; columns proportion, standard_error, lower, upper and count. See `local.estimate`.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            For any answer except those of ``randomized_response``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"smoker": ["no", "yes", "no", "no"] * 2500})
        >>> session = df.dp.protect(epsilon=2, neighbors="replace_one", rows=True, name="estimate example")
        >>> answers = df.dp(epsilon=1).randomized_response("smoker", keys=["no", "yes"])
        >>> answers.estimate().columns.tolist()
        ['proportion', 'standard_error', 'lower', 'upper', 'count']
        """
        aggregate = self.query.aggregate
        from pandas_dp.aggregates.randomized_response import RandomizedAnswers  # see above

        if not isinstance(aggregate, RandomizedAnswers):
            raise ArgumentTypeError("estimate() needs randomised answers: randomized_response('sex', keys=[...])")
        return aggregate.estimate(self.value, self.query.price, checked_level(level), project)

    def nonnegative(self) -> Series:
        """Return the values clipped at 0, for free. For sums, use the released values. See `aggregates.tidy.nonnegative`.

        Returns
        -------
        Series
            Plain, on the same index, without error bars. Free, and as private as this answer.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series nonnegative example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> bool((ages.nonnegative() >= 0).all())
        True
        """
        return tidy.nonnegative(self.value)

    def to_simplex(self, total: float | None = None) -> Series:
        """Return the nearest values, none negative, that add up to a public total. See `aggregates.tidy.to_simplex`.

        Parameters
        ----------
        total : float, optional
            At least 0; the sum of the values where left out.

        Returns
        -------
        Series
            Plain, on the same index, without error bars. Free, and as private as this answer.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series to_simplex example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> float(ages.to_simplex(3000).sum().round(6))
        3000.0
        """
        return tidy.to_simplex(self.value, total)

    def round_to_total(self, total: int | None = None) -> Series:
        """Return the nearest whole numbers that add up to a public total. See `aggregates.tidy.round_to_total`.

        Parameters
        ----------
        total : int, optional
            The rounded sum of the values where left out.

        Returns
        -------
        Series
            Plain, on the same index, without error bars. Free, and as private as this answer.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series round_to_total example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> int(ages.round_to_total(3000).sum())
        3000
        """
        return tidy.round_to_total(self.value, total)

    def isotonic(self, increasing: bool = True) -> Series:
        """Return the nearest values that never fall, or never rise. See `aggregates.tidy.isotonic`.

        Parameters
        ----------
        increasing : bool
            False: values that never rise.

        Returns
        -------
        Series
            Plain, on the same index, without error bars. Free, and as private as this answer.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series isotonic example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> ages.isotonic().is_monotonic_increasing
        True
        """
        return tidy.isotonic(self.value, increasing)

    def table(self, level: float = LEVEL) -> pd.DataFrame:
        """Return value, lower, upper and the extras as columns; value alone where no interval is known.

        Parameters
        ----------
        level : float
            Of the intervals.

        Returns
        -------
        DataFrame
            Plain, on the same index. Where the interval for the population is known, too, with ``population_lower`` and
            ``population_upper``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series table example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> ages.table().columns.tolist(), len(ages.table())
        (['value', 'lower', 'upper'], 3)
        """
        return self._table(self.interval(level), level)

    def _table(self, known: Any, level: float) -> pd.DataFrame:
        parts = [self._released.to_frame("value")]
        if isinstance(known, pd.DataFrame):
            parts.append(known)
        if (sampled := self._beside()) is not None:
            parts.append(self._ends(sampled, level).set_axis([*BESIDE], axis=1))
        return self._with_extras(pd.concat(parts, axis=1))

    def _changed(self) -> bool:
        return super()._changed() or bool(self.name != self._released.name)

    def _drawn(self, known: Any) -> list[Column]:
        ends = (known["lower"], known["upper"]) if isinstance(known, pd.DataFrame) else (None, None)
        return [("value" if self._released.name is None else str(self._released.name), self._released, *ends)]


def make_release(answer: Answer, provenance: Provenance) -> Release:
    """Wrap the value of an answer in the release of its kind.

    Parameters
    ----------
    answer : Answer
        Its value decides the kind: int, float, text, Series and DataFrame have their own, anything else
        (dates, durations, bools, decimals, tuples, None) is an `ObjectRelease`.
    provenance : Provenance

    Examples
    --------
    >>> from fractions import Fraction
    >>> from pandas_dp.aggregates.count import Count
    >>> from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
    >>> from pandas_dp.core.privacy import Price, PrivacyUnit
    >>> from pandas_dp.aggregates.asked import AskedQuery
    >>> from pandas_dp.aggregates.uncertainty import Additive
    >>> query = AskedQuery("count()", Count(), (), Price(Fraction(1, 50)))
    >>> noise = DiscreteLaplace(Fraction(50))
    >>> error = Additive(noise)
    >>> origin = Provenance(query, noise.name, PrivacyUnit(), "source", error, (), (), "epsilon 0.02")
    >>> rows = make_release(Answer(48213, noise.name, error), origin)
    >>> rows
    48,210 ± 150 (95 %), epsilon 0.02
    >>> rows.interval()
    Interval(lower=48063, upper=48363, level=0.95)
    >>> f"{rows / 1000:.1f} thousand"
    '48.2 thousand'
    """
    value = answer.value
    if not isinstance(value, bool):  # a bool is an int, and is none here
        for types, form in FORMS:
            if isinstance(value, types):
                return form(value, provenance)
    return ObjectRelease(value, provenance)


FORMS: tuple[tuple[tuple[type[Any], ...], Any], ...] = (  # types of values and the releases they become
    ((int, np.integer), IntRelease),
    ((float, np.floating), FloatRelease),
    ((str,), TextRelease),
    ((pd.Series,), SeriesRelease),
    ((pd.DataFrame,), FrameRelease),
)

"""Releases of many values, with error bars as they were released: what vectors and tables share, and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.calls import example
from pandas_dp.report.base import Release
from pandas_dp.report.csv_text import CSV, write_csv
from pandas_dp.report.html import table_html
from pandas_dp.report.plots import PLOT, Column, Line, draw_vector
from pandas_dp.report.provenance import Provenance
from pandas_dp.report.text import named, side_by_side, wide
from pandas_dp.uncertainty import LEVEL, ErrorModel

if TYPE_CHECKING:
    Series = pd.Series[Any]
else:
    Series = pd.Series


class Vector(Release):
    """What releases of Series and DataFrames share.

    pandas objects can be changed in place, and a released value cannot: the value as it was released is
    kept beside (copy-on-write makes that free), ``.value``, ``.interval`` and ``.table`` speak of it, and a
    changed object shows itself without error bars.
    """

    _each = "each "

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
        """The plain class: what pandas makes of this object, and what is kept beside it."""
        raise NotImplementedError

    def _current(self) -> Any:
        """The plain content, with whatever was done to it in place."""
        return self._constructor(self)

    @example(PLOT)
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
        line = Line(self._price_line(level, known), self._cautions())
        asked = self.query.aggregate
        scales = asked.scale_of if asked.mixed else None
        shown = self._released.set_axis(asked.labelled(self._released.index))
        return draw_vector(asked.drawing, self._drawn(known), shown, line, ax, y, scales)

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
        # each interval 95 %, epsilon 1, discrete Laplace
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
    """A table. Selections, copies and results of arithmetic are plain.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="frame release example")
    >>> found = df.dp(epsilon=1).agg({"age": ["count", "mean"]}, bounds={"age": (0, 100)})
    >>> found.index.tolist(), type(2 * found).__name__
    (['count', 'mean'], 'DataFrame')
    """

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

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
            Plain, on the same index, of two levels of columns where intervals are known.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="frame table example")
        >>> found = df.dp(epsilon=1).agg({"age": ["count", "mean"]}, bounds={"age": (0, 100)})
        >>> found.table().columns.tolist()
        [('age', 'value'), ('age', 'lower'), ('age', 'upper')]
        """
        known = self.interval(level)
        if not isinstance(known, pd.DataFrame):
            return self._with_extras(self.value)
        parts = []
        for i, (name, values) in enumerate(self._columns()):
            lower, upper = known.iloc[:, 2 * i], known.iloc[:, 2 * i + 1]
            parts += [(name, "value", values), (name, "lower", lower), (name, "upper", upper)]
        return self._with_extras(side_by_side(parts))

    def _drawn(self, known: Any) -> list[Column]:
        bars = isinstance(known, pd.DataFrame)
        return [
            (named(name), values, *((known.iloc[:, 2 * i], known.iloc[:, 2 * i + 1]) if bars else (None, None)))
            for i, (name, values) in enumerate(self._columns())
        ]

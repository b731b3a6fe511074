"""Releases: public values that know their price and their error.

A number is also a float (a count: an int), a text a str, a vector a Series, a table a DataFrame, so releases
drop into any code. Whatever is computed from them is plain: an error bar never outlives its value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_dp import postprocess
from pandas_dp.aggregates.base import Answer
from pandas_dp.calls import example
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.report.base import LEVEL, Provenance, Release, checked_level
from pandas_dp.report.csv_text import CSV, write_csv
from pandas_dp.report.html import table_html
from pandas_dp.report.plots import PLOT, Column, Line, draw_vector
from pandas_dp.report.text import legible, named, side_by_side, wide
from pandas_dp.uncertainty import ErrorModel

if TYPE_CHECKING:
    Series = pd.Series[Any]
else:
    Series = pd.Series

__all__ = [
    "FloatRelease",
    "FrameRelease",
    "IntRelease",
    "ObjectRelease",
    "Provenance",
    "Release",
    "SeriesRelease",
    "TextRelease",
    "make_release",
]


class FloatRelease(Release, float):
    """A number."""

    def __new__(cls, value: float, provenance: Provenance) -> FloatRelease:
        """Make a float that knows its provenance."""
        self = super().__new__(cls, value)
        self._keep(float(value), provenance)
        return self

    def __str__(self) -> str:
        """Return the plain number."""
        return float.__repr__(self)


class IntRelease(Release, int):
    """A count."""

    def __new__(cls, value: int, provenance: Provenance) -> IntRelease:
        """Make an int that knows its provenance."""
        self = super().__new__(cls, value)
        self._keep(int(value), provenance)
        return self

    def __str__(self) -> str:
        """Return the plain number."""
        return int.__repr__(self)


class TextRelease(Release, str):
    """A text, such as a key."""

    def __new__(cls, value: str, provenance: Provenance) -> TextRelease:
        """Make a str that knows its provenance."""
        self = super().__new__(cls, value)
        self._keep(str(value), provenance)
        return self


class ObjectRelease(Release):
    """Any other value, such as a date: compare and compute with ``.value``."""

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


class _Vector(Release):
    """What releases of Series and DataFrames share.

    pandas objects can be changed in place, and a released value cannot: the value as it was released is
    kept beside (copy-on-write makes that free), ``.value``, ``.interval`` and ``.table`` speak of it, and a
    changed object shows itself without error bars.
    """

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

        Each column of a table has a panel, and ``ax`` is an array; ``y="mean"`` draws one column, ``y=[...]`` some of them.
        """
        known = self.interval(level)
        line = Line(self._price_line(level, known), self._cautions())
        return draw_vector(self.query.aggregate.drawing, self._drawn(known), self._released, line, ax, y)

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
        """Write the table as it is shown, below lines that begin with ``#``: error and price, question, cautions and notes.

        ``path`` is a name, a text file, or None for a text; the rest are options of ``DataFrame.to_csv``, such as ``sep``.
        Digits that noise made are left out; ``.table().to_csv()`` has all of them and no comments.
        ``pandas.read_csv(path, comment="#")`` reads it, where no cell has that sign. See `write_csv`.
        """
        if self._changed():
            plain: str | None = self._current().to_csv(path, **options)
            return plain
        known = self.interval(level)
        comments = [self._price_line(level, known), *self._facts()]
        return write_csv(self._legible(known, level), comments, path, options)

    def _legible(self, known: Any, level: float = LEVEL) -> pd.DataFrame:
        asked = self.query.aggregate
        return legible(self.table(level), self._drawn(known), asked.counting, asked.mixed)

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
    setattr(_Vector, f"__i{_name}__", _by_value(f"__{_name}__"))


class SeriesRelease(_Vector, Series):  # type: ignore[misc]  # plot, to_json: the release's own
    """A vector. Slices, copies and results of arithmetic are plain Series."""

    @property
    def _constructor(self) -> Any:
        return pd.Series

    def _ends(self, error: ErrorModel, level: float) -> pd.DataFrame:
        lower, upper = error.bounds(self._released, level)
        return pd.DataFrame({"lower": lower, "upper": upper})

    def range_sum(self, left: Any = None, right: Any = None) -> Release:
        """Sum of the bins from one edge to another: free, with an interval of its own.

        Parameters
        ----------
        left, right : edge of a bin, optional
            From the first and to the last edge where left out.

        Returns
        -------
        Release
            A float. Its privacy is that of this answer: it is computed from it.

        Raises
        ------
        ArgumentTypeError
            For any release but those of ``histogram(..., workload="ranges")``.
        ArgumentValueError
            For what is no edge.

        Notes
        -----
        The variance of a sum of least-squares estimates is a public number. With Gaussian noise the interval is the normal
        one. With Laplace noise it is that of the worst symmetric log-concave law of this variance, for long sums a fifth
        wider than needed (two fifths where the noise has a scale of two rows).
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

    def estimate(self, level: float = LEVEL, project: bool = False) -> pd.DataFrame:
        """Estimate the proportion of each key among the exact answers: free, for `randomized_response` alone.

        ``project`` moves the proportions to the nearest ones that are not negative and add up to 1: closer, but no longer
        unbiased. Returns a DataFrame with columns proportion, standard_error, lower, upper, count. See `local.estimate`.
        """
        aggregate = self.query.aggregate
        from pandas_dp.aggregates.randomized_response import RandomizedAnswers  # see above

        if not isinstance(aggregate, RandomizedAnswers):
            raise ArgumentTypeError("estimate() needs randomised answers: randomized_response('sex', keys=[...])")
        return aggregate.estimate(self.value, self.query.price, checked_level(level), project)

    def nonnegative(self) -> Series:
        """Return the values cut at 0: free; sums should use the released values. See `postprocess.nonnegative`."""
        return postprocess.nonnegative(self.value)

    def to_simplex(self, total: float | None = None) -> Series:
        """Return the nearest values, none negative, that add up to a public total. See `postprocess.to_simplex`."""
        return postprocess.to_simplex(self.value, total)

    def round_to_total(self, total: int | None = None) -> Series:
        """Return the nearest whole numbers that add up to a public total. See `postprocess.round_to_total`."""
        return postprocess.round_to_total(self.value, total)

    def isotonic(self, increasing: bool = True) -> Series:
        """Return the nearest values that never fall, or never rise. See `postprocess.isotonic`."""
        fitted: Series = postprocess.isotonic(self.value, increasing)
        return fitted

    def table(self, level: float = LEVEL) -> pd.DataFrame:
        """Return value, lower, upper and the extras as columns; value alone where no interval is known."""
        table = self._released.to_frame("value")
        known = self.interval(level)
        if isinstance(known, pd.DataFrame):
            for end in known.columns:
                table[end] = known[end].array
        return self._with_extras(table)

    def _changed(self) -> bool:
        return super()._changed() or bool(self.name != self._released.name)

    def _drawn(self, known: Any) -> list[Column]:
        ends = (known["lower"], known["upper"]) if isinstance(known, pd.DataFrame) else (None, None)
        name = self.query.call if self._released.name is None else str(self._released.name)
        return [(name, self._released, *ends)]


class FrameRelease(_Vector, pd.DataFrame):  # type: ignore[misc]  # also query
    """A table. Selections, copies and results of arithmetic are plain."""

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
        """Return the columns, each with its ends where an interval is known, then the extras."""
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
    >>> from pandas_dp.asked import AskedQuery
    >>> from pandas_dp.uncertainty import Additive
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
                release: Release = form(value, provenance)
                return release
    return ObjectRelease(value, provenance)


FORMS: tuple[tuple[tuple[type[Any], ...], Any], ...] = (  # types of values and the releases they become
    ((int, np.integer), IntRelease),
    ((float, np.floating), FloatRelease),
    ((str,), TextRelease),
    ((pd.Series,), SeriesRelease),
    ((pd.DataFrame,), FrameRelease),
)

"""Releases: public values that know their price and their error.

A number is also a float (a count: an int), a text a str, a vector a Series, a table a DataFrame, so releases
drop into any code. Whatever is computed from them is plain: an error bar never outlives its value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Answer
from pandas_dp.report.base import LEVEL, Provenance, Release
from pandas_dp.report.html import table_html
from pandas_dp.report.plots import Column, draw
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

    pandas objects can be changed in place, and a released value cannot: the value as it was released is kept beside
    (copy-on-write makes that free), ``.value``, ``.interval`` and ``.table`` speak of it, and a changed object shows
    itself without error bars.
    """

    @property
    def value(self) -> Any:
        """The plain value as it was released."""
        return self._released.copy(deep=False)

    def _current(self) -> Any:
        """The plain content, with whatever was done to it in place."""
        raise NotImplementedError

    def _changed(self) -> bool:
        current = self._current()
        same_name = getattr(current, "name", None) == getattr(self._released, "name", None)
        return not (same_name and current.equals(self._released))

    def __repr__(self) -> str:
        """Show the table and one line with the price."""
        if self._changed():
            return repr(self._current())
        return f"{self.table()!r}\n{self._price_line(LEVEL, self.interval())}"

    def _repr_html_(self) -> str | None:
        if self._changed():
            plain = getattr(self._current(), "_repr_html_", None)
            return None if plain is None else plain()
        return table_html(self.table(), [self._price_line(LEVEL, self.interval()), *self._facts()])

    def __reduce__(self) -> Any:
        """Pickle the release; a changed object goes as the plain data it is."""
        return self._current().__reduce_ex__(4) if self._changed() else super().__reduce__()

    def __copy__(self) -> Any:
        """Copy the release; of a changed object the plain content."""
        return self._current() if self._changed() else type(self)(self.value, self._provenance)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Copy the release; of a changed object the plain content."""
        return self._current().copy() if self._changed() else type(self)(self._released.copy(), self._provenance)


def _by_value(operator: str) -> Callable[[Any, Any], Any]:
    def compute(self: Any, other: Any) -> Any:
        return getattr(self, operator)(other)

    return compute


# s /= s.sum() shall rebind s to a plain result, as s = s / s.sum() does
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(_Vector, f"__i{_name}__", _by_value(f"__{_name}__"))


class SeriesRelease(_Vector, Series):
    """A vector. Slices, copies and results of arithmetic are plain Series."""

    def __init__(self, value: Series, provenance: Provenance) -> None:
        plain = pd.Series(value)
        plain.attrs = {}
        super().__init__(plain)
        self._keep(plain, provenance)

    @property
    def _constructor(self) -> Any:
        return pd.Series

    def _current(self) -> Any:
        return pd.Series(self)

    def _ends(self, error: ErrorModel, level: float) -> pd.DataFrame:
        lower, upper = error.bounds(self._released, level)
        return pd.DataFrame({"lower": lower, "upper": upper})

    def table(self, level: float = LEVEL) -> pd.DataFrame:
        """Return value, lower and upper as columns (value alone where no interval is known), then the extras."""
        table = self._released.to_frame("value")
        known = self.interval(level)
        if isinstance(known, pd.DataFrame):
            for end in known.columns:
                table[end] = known[end].array
        return self._with_extras(table)

    def plot(self, ax: Any = None, level: float = LEVEL) -> Any:
        known = self.interval(level)
        ends = [known["lower"], known["upper"]] if isinstance(known, pd.DataFrame) else [None, None]
        labels = [str(label) for label in self._released.index]
        name = str(self._released.name) if self._released.name is not None else self.query.call
        ax = draw([(name, self._released, *ends)], labels, self._price_line(level, known), ax)
        ax.set_xlabel(str(self._released.index.name or ""))
        return ax


class FrameRelease(_Vector, pd.DataFrame):
    """A table. Selections, copies and results of arithmetic are plain."""

    def __init__(self, value: pd.DataFrame, provenance: Provenance) -> None:
        plain = pd.DataFrame(value)
        plain.attrs = {}
        super().__init__(plain)
        self._keep(plain, provenance)

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def _current(self) -> Any:
        return pd.DataFrame(self)

    def _ends(self, error: ErrorModel, level: float) -> pd.DataFrame:
        return _side_by_side(
            {
                (name, end): series
                for name, values in self._columns()
                for end, series in zip(("lower", "upper"), error.bounds(values, level), strict=True)
            }
        )

    def _columns(self) -> list[tuple[Any, Series]]:
        return [(name, self._released.iloc[:, i]) for i, name in enumerate(self._released.columns)]

    def table(self, level: float = LEVEL) -> pd.DataFrame:
        """Return the columns, each with its lower and upper end where an interval is known, then the extras."""
        known = self.interval(level)
        if not isinstance(known, pd.DataFrame):
            return self._with_extras(self.value)
        parts = {}
        for i, (name, values) in enumerate(self._columns()):
            parts |= {(name, "value"): values}
            parts |= {(name, end): known.iloc[:, 2 * i + side] for side, end in enumerate(("lower", "upper"))}
        return self._with_extras(_side_by_side(parts))

    def _drawn(self, known: Any) -> list[Column]:
        bars = isinstance(known, pd.DataFrame)
        return [
            (str(name), values, *((known.iloc[:, 2 * i], known.iloc[:, 2 * i + 1]) if bars else (None, None)))
            for i, (name, values) in enumerate(self._columns())
        ]

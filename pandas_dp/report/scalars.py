"""Releases of one value: a number is a float, a count an int, a text a str, anything else stands behind ``.value``."""

from __future__ import annotations

from typing import Any

from pandas_dp.report.base import Release
from pandas_dp.report.provenance import Provenance


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

"""Names that an answer has not: those under which other packages keep an error bar, and misspelt ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pandas_dp.errors import did_you_mean

SLIP = 0.8  # how alike a misspelt name is: labels of pandas are any
ENDS = (
    *("lower", "upper", "error", "error_bar", "ci", "conf_int", "confidence_interval", "margin", "moe"),
    *("std_error", "stderr", "std_err", "se", "sem"),
)


def _own(kind: type) -> Iterator[str]:
    """What an answer has beside what pandas gives it."""
    classes = (one for one in kind.__mro__ if one.__module__.startswith("pandas_dp."))
    return (name for one in classes for name in vars(one) if not name.startswith("_"))


class ErrorBarNames:
    """Says of these names where an error bar is found."""

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Return a label, where the release is an object of pandas."""
            try:
                return super().__getattr__(name)
            except AttributeError:
                told = ": an error bar is .interval(), and .table() shows it" if name in ENDS else ""
                told = told or did_you_mean(name, _own(type(self)) if not name.startswith("_") else (), SLIP)
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{told}") from None

"""Names under which other packages keep an error bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

ENDS = ("lower", "upper", "error", "ci", "conf_int", "std_error", "stderr")


class ErrorBarNames:
    """Says of these names where an error bar is found."""

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Return a label, where the release is an object of pandas."""
            try:
                return super().__getattr__(name)
            except AttributeError:
                told = ": an error bar is .interval(), and .table() shows it" if name in ENDS else ""
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{told}") from None

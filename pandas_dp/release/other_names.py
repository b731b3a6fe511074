"""Names that an answer has not: those under which other packages keep an error bar, and misspelt ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandas_dp.errors import Spelled

ENDS = (
    *("lower", "upper", "error", "error_bar", "ci", "conf_int", "confidence_interval", "margin", "moe"),
    *("std_error", "stderr", "std_err", "se", "sem"),
)
NOISE = ("variance", "var", "std", "sd", "scale", "sigma", "noise", "noise_scale", "noise_std")


class ErrorBarNames(Spelled):
    """Says of these names where an error bar is found."""

    if not TYPE_CHECKING:  # see `Spelled`

        def _spelt(self, name):
            """Say where an error bar is, or which name is close."""
            if name in NOISE:
                return ": .mechanism tells the noise, and .interval() is an error bar"
            return ": an error bar is .interval(), and .table() shows it" if name in ENDS else super()._spelt(name)

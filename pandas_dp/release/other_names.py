"""Names that an answer has not: those under which other packages keep an error bar, and misspelt ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandas_dp.errors import Spelled

ENDS = (
    *("lower", "upper", "error", "error_bar", "ci", "conf_int", "confidence_interval", "margin", "moe"),
    *("std_error", "stderr", "std_err", "se", "sem"),
)
NOISE = ("variance", "var", "std", "sd", "scale", "sigma", "noise", "noise_scale", "noise_std")
_ELSEWHERE = {  # what is done with answers, but is no method of one
    "consistent reconcile make_consistent": "answers are made consistent, for free, by pandas_dp.reconcile([this, that])",
    "refine average combine": "a second draw, better or averaged with this one, is df.dp(epsilon=0.5).refine(answer)",
    "params coef coef_ coefficients intercept intercept_ summary predict": (
        "the answer of linear_regression() is a Series of its coefficients, by name: answer['intercept'], answer.table()"
    ),
}
ELSEWHERE = {name: hint for names, hint in _ELSEWHERE.items() for name in names.split()}


class ErrorBarNames(Spelled):
    """Says of these names where an error bar is found."""

    if not TYPE_CHECKING:  # see `Spelled`

        def _spelt(self, name):
            """Say where an error bar is, or which name is close."""
            if name in NOISE:
                return ": .mechanism names the noise, .interval() is an error bar, and .scale of a preview is how large it is"
            if name in ELSEWHERE:
                return f": {ELSEWHERE[name]}"
            return ": an error bar is .interval(), and .table() shows it" if name in ENDS else super()._spelt(name)

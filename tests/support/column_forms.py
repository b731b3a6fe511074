"""The questions of one column, ``df.dp(epsilon=1)["age"].mean(...)``, made of those of the frame, ``mean("age", ...)``.

``python -m tests.support.column_forms`` writes them into a module, for editors and type checkers read no other form; a test
says where it is not fresh. A question becomes one of columns by its name in `NAMES`.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sysconfig
import textwrap
from pathlib import Path

import pandas_dp
from pandas_dp.questions.frame import PricedFrame

FILE = Path(pandas_dp.__file__).parent / "questions" / "column_forms.py"
SETTINGS = Path(__file__).parents[2] / "pyproject.toml"  # the package may be installed elsewhere
NAMES = (
    *("sum", "mean", "var", "std", "median", "quantile", "min", "max", "histogram", "ecdf", "value_counts", "describe"),
    *("nunique", "unique", "mode", "top_k", "best_price"),
)
HEAD = '''"""The questions of one column, as its frame has them: made by tests/support/column_forms.py, not to be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pandas_dp.facts.argument_help import explain
from pandas_dp.release.values import FloatRelease, IntRelease, SeriesRelease

if TYPE_CHECKING:
    from pandas_dp.questions.frame import PricedFrame


@explain
class ColumnForms:
    """Questions of a frame about a column that is selected; their help is that of the frame's."""

    __slots__ = ("_column", "_frame")

    def __init__(self, frame: PricedFrame, column: str) -> None:
        self._frame, self._column = frame, column
'''


def form(name: str) -> str:
    """One method: the frame's, but for its column."""
    source = inspect.getsource(inspect.unwrap(getattr(PricedFrame, name)))
    (method,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(method, ast.FunctionDef)
    assert method.args.args[1].arg in ("column", "columns")
    if len(method.args.defaults) == len(method.args.args) - 1:  # the column has one, too
        del method.args.defaults[0]
    del method.args.args[1]
    by_place = [other.arg for other in method.args.args[1:]]
    given = ["self._column", *by_place, *(f"{other.arg}={other.arg}" for other in method.args.kwonlyargs)]
    return (
        f"\n    def {name}({ast.unparse(method.args)}) -> {ast.unparse(method.returns)}:\n"
        f'        """See `PricedFrame.{name}`."""\n'
        f"        return self._frame.{name}({', '.join(given)})\n"
    )


def made() -> str:
    """The module, as ruff formats it."""
    text = HEAD + "".join(map(form, NAMES))  # `count` counts something else without a column, and is written by hand
    ruff = Path(sysconfig.get_path("scripts")) / "ruff"
    command = [ruff, "format", "--config", SETTINGS, "--stdin-filename", FILE, "-"]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    FILE.write_text(made())

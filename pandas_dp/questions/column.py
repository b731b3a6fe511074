"""One column of a priced frame."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from pandas_dp.facts.argument_help import explain, uncopied
from pandas_dp.questions.column_forms import ColumnForms
from pandas_dp.questions.unknown_names import missing_question
from pandas_dp.release.values import Release


@explain
class PricedColumn(ColumnForms):
    """One column of a priced frame, with the questions of a pandas Series.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="priced column example")
    >>> print(df.dp(epsilon=0.5)["age"].mean(bounds=(0, 100)).query)
    mean('age', bounds=(0, 100))
    """

    __slots__ = ()

    __reduce__ = uncopied

    @property
    def _before(self) -> str:
        """What stands before the call of a question."""
        return f"[{self._column!r}]."

    def __repr__(self) -> str:
        """Say what one call costs."""
        return f"{self._frame!r}[{self._column!r}]"

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what can be asked, for a name of pandas that cannot."""
            raise AttributeError(name if name.startswith("_") else missing_question(type(self), name, ""))

    def count(self) -> Release:
        """Count the non-null rows; see `PricedFrame.count`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column count example")
        >>> 3900 < df.dp(epsilon=0.5)["cost"].count() < 4100
        True
        """
        return self._frame.count(self._column)


def tell(frame: type) -> None:
    """Give the questions of a column the help of the frame's, as they are typed where the column is selected."""
    for name, method in vars(ColumnForms).items():
        told = None if name.startswith("_") else inspect.getdoc(getattr(frame, name))
        if told is not None:  # python -OO has none
            told = re.sub(r"^columns? : .*\n(?: +.*\n)*", "", told, flags=re.MULTILINE)
            told = told.replace("Parameters\n----------\n\n", "").replace('name="', 'name="column ')
            told = re.sub(rf'\.{name}\("(\w+)"(?:, )?', rf'["\1"].{name}(', told)
            method.__doc__ = f"{method.__doc__}\n\n{told}"

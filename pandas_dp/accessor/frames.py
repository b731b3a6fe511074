"""Frames that stay protected: what the accessor makes of its frame by row-wise steps, and those that spend a portion."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

from pandas_dp.core import gate
from pandas_dp.errors import StepFailedError
from pandas_dp.facts.argument_help import explain, uncopied
from pandas_dp.session import portions, registry
from pandas_dp.steps.changes import Step, applied
from pandas_dp.steps.steps import RowSteps, take_steps
from pandas_dp.tables import frames


class Frames(RowSteps[pd.DataFrame]):
    """Steps of ``df.dp``: each returns a frame that can be asked like the first one."""

    __slots__ = ("_frame",)

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def _late(self, name: object) -> str | None:
        """See `frames.late`."""
        return frames.late(self._frame, name)

    __reduce__ = uncopied

    def _empty(self) -> pd.DataFrame:
        return registry.table_of(self._frame).empty

    def _given(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What the user gets for a frame: itself, but for a scanned table and a Dask DataFrame."""
        return frame

    def _then(self, more: tuple[Step, ...]) -> pd.DataFrame:
        return self._given(self._apply(more))

    def _apply(self, done: tuple[Step, ...]) -> pd.DataFrame:
        """Apply steps to the rows as they were protected and keep the result protected."""
        table = registry.table_of(self._frame)
        table.check_steps(done)
        table.check()
        rows = gate.guarded(lambda: applied(done, table.source), StepFailedError)
        return frames.derive(table.session, rows, table, done)


take_steps(Frames, pd.DataFrame)


@explain
class Portions(Frames):
    """Portions of the budget of ``df.dp``: each returns a frame, or several, that can be asked like the first one."""

    __slots__ = ()

    def allot(self, name: str, epsilon: Any) -> pd.DataFrame:
        """Set a part of the budget aside, for a team or a report, and give the frame that spends it.

        Parameters
        ----------
        name : str
            Of the part. The same name and amount again give the same part, for nothing.
        epsilon : number
            Charged here, as a whole and at once; questions asked of the new frame are paid out of it.

        Returns
        -------
        DataFrame
            The same rows. Its ``.dp.session`` says what is left of the part.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        All that a part ever answers is one mechanism with this epsilon, under the session's relation and unit. What is left
        of it is not given back.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="allot example")
        >>> nightly = df.dp.allot("nightly", epsilon=1)
        >>> count = nightly.dp(epsilon=0.25).count()
        >>> nightly.dp.session.left, session.left
        ('epsilon=0.75', 'epsilon=2')
        """
        return self._given(portions.allot(self._frame, name, epsilon))

    def partition(self, by: str, keys: Any = None, *, epsilon: Any) -> dict[Hashable, pd.DataFrame]:
        """Split the rows by the listed values of a column: all parts together cost what one of them may spend.

        Parameters
        ----------
        by : str
            Column of text, bools or numbers; no objects and no categories, of which a cell could equal two keys.
        keys : list, optional
            Listed values; from the schema where left out. Rows with other values belong to no part.
        epsilon : number
            What each part may spend, at prices and on questions that may depend on answers about all parts. For more later, ask
            for another total: that opens another set of the same parts, charged beside the first.

        Returns
        -------
        dict of key to DataFrame
            In the listed order. The same partition of the same table again is the same one, for nothing, across restarts where
            the table has a version. That version must stand for one content: give corrected rows another one, or a row
            could lie in one part before and in another after, and twice epsilon would be spent on it.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row lies in one part at most. Under add_remove one row more or less changes one part, so epsilon is charged once;
        under replace_one a row may leave one part and enter another, so it is charged twice. Where units own several rows they
        may lie in all parts: ask ``groupby``, which bounds in how many. Source: McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000, "sex": ["F", "M", "F"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="partition example")
        >>> parts = df.dp.partition("sex", ["F", "M"], epsilon=1)
        >>> 1900 < parts["F"].dp(epsilon=0.5).count() < 2100, 900 < parts["M"].dp(epsilon=1).count() < 1100
        (True, True)
        >>> session.left, parts["F"].dp.session.left
        ('epsilon=2', 'epsilon=0.5')
        """
        parts = portions.partition(self._frame, by, keys, epsilon, self._apply)
        return {key: self._given(frame) for key, frame in parts.items()}

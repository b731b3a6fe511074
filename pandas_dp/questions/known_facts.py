"""What is public of the columns of a frame: now, and once a session answers for it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from pandas_dp.facts.schema import Schema
from pandas_dp.session.registry import table_of
from pandas_dp.tables.protected import Table

if TYPE_CHECKING:
    from pandas_dp.questions.rows import PreparedFrame


class Unprotected:
    """Facts of a column of a frame that no session answers for, which is told once a call needs what a schema says.

    So what is wrong with an argument is told first.
    """

    dtype = step = None

    def __init__(self, frame: PreparedFrame, column: str) -> None:
        self._frame, self._column = frame, column

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frame._of(table_of(self._frame._frame)).schema[self._column], name)


class Known(NamedTuple):
    """What is public of a table's rows after the first of some steps."""

    table: weakref.ref[Table]
    given: Schema  # the table's then: protected again, it may have another one
    steps: int
    empty: pd.DataFrame  # names and dtypes
    schema: Schema

"""A table larger than memory as the statistics see it: batch by batch where they can add up, else as one frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import pandas as pd

from pandas_dp.core.measurement import Batched
from pandas_dp.engines.pandas import PandasView

Read = Callable[[], Iterator[pd.DataFrame]]


class ScannedView(PandasView, Batched):
    """`PandasView` of the rows of all batches together, which are read when it is first looked at, and of each by itself.

    Parameters
    ----------
    read : callable
        Reads the frames of the batches, at least one, all with the same names and dtypes: those of no rows.
    nulls : mapping
        See `PandasView`.

    Notes
    -----
    What a `PandasView` says of a row depends on that row alone (codes of units and of found keys up to a renaming, which is
    why these are asked of all batches together), so batches say of their rows what the whole says of them.
    """

    def __init__(self, read: Read, nulls: Mapping[str, int | float]) -> None:
        self._read, self._cache, self._nulls = read, {}, dict(nulls)

    def batches(self) -> Iterator[PandasView]:
        """A view of each batch, without what was kept of the others."""
        return (PandasView(frame, {}, self._nulls) for frame in self._read())

    @cached_property
    def _frame(self) -> pd.DataFrame:  # type: ignore[override]
        return pd.concat(list(self._read()), ignore_index=True)

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return len(self._frame)

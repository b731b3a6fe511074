"""A table whose rows are held by other processes: each part is summarised where it is, and only summaries come back.

The processes that work on parts, their disks and the network between them are trusted as this process is: they hold the
rows, and what they send are exact integers. Noise is drawn here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, Statistic
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.randomness import expanded, random_bytes
from pandas_dp.engines.encode import ArrowValues, Numbers, stored
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import Read, ScannedView, buckets


@dataclass(frozen=True)
class Summary:
    """What a worker makes of a part of a table, and how two of these become one; it is sent to workers.

    This is the one place where exact integers are opened to travel. For all inputs, `total` of what `of` gives for parts
    between which no unit is split has the law that the statistic has for the whole table: they are the same integers but for
    the random choice among rows of heavy units, which is made in each part by itself from the secret. A part that is lost
    and worked on again gives the same integers again.
    """

    statistic: Any
    unit: PrivacyUnit
    nulls: Mapping[str, int | float]
    secret: bytes = field(repr=False)

    def of(self, frame: pd.DataFrame, number: int) -> Any:
        """Exact integers of part `number`."""
        view = PandasView(frame, {}, self.nulls)
        view.fill = expanded(self.secret, number)
        return self.statistic.compute(view, self.unit).open()

    def total(self, parts: list[Any]) -> Any:
        """Exact integers of several parts together."""
        return self.statistic.merge(map(Exact, parts)).open()


class PartitionedView(ScannedView):
    """`ScannedView` of rows that other processes hold: those of all parts are read only where they cannot be added up.

    Parameters
    ----------
    read, nulls
        See `ScannedView`.
    add : callable
        Works a `Summary` out on all parts and adds them up, where units own several rows after those of each were brought
        together: None where that is not possible. It raises where that fails.
    """

    def __init__(self, read: Read, nulls: Mapping[str, int | float], add: Callable[[Summary], Any]) -> None:
        super().__init__(read, nulls)
        self._add = add

    def summaries(self, statistic: Statistic, unit: PrivacyUnit) -> Iterator[Exact]:
        """One summary, that of all parts; else the one part that is the whole."""
        total = self._add(Summary(statistic, unit, self._nulls, random_bytes(32)))
        return super().summaries(statistic, unit) if total is None else iter([Exact(total)])


def places(column: pd.Series[Any], count: int) -> NDArray[np.int64] | None:
    """Part where the rows of each unit belong, -1 where the unit is missing, shape (rows,).

    Returns
    -------
    ndarray of int64, or None
        For all rows and processes: two of one dtype whose units `View.units` takes for one have the same place. None for
        dtypes whose cells other rules of equality than that of numbers and of text decide: objects, categories, decimals.
    """
    units = stored(column)
    same = isinstance(units, Numbers) or (isinstance(units, ArrowValues) and units.kind.name == "key")
    return buckets(units, count) if same else None

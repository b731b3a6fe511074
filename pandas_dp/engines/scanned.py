"""A table larger than memory as the statistics see it: part by part where they can add up, else as one frame.

The processes that work on parts, their disks and the network between them are trusted as this process is: they hold the
rows, and what they send are exact integers. Noise is drawn here alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pandas_dp.core.measurement import Batched, Exact, Statistic
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.randomness import expanded, random_bytes
from pandas_dp.engines.arrow import rows_at
from pandas_dp.engines.encode import ArrowValues, Coded, Stored, stored
from pandas_dp.engines.pandas import PandasView

Read = Callable[[], Iterator[pd.DataFrame]]
ODD = np.uint64(0x9E3779B97F4A7C15)


class ScannedView(PandasView, Batched):
    """`PandasView` of the rows of all batches together, which are read when it is first looked at, and of parts of them.

    Parameters
    ----------
    read : callable
        Reads the frames of the batches, at least one, all with the same names and dtypes: those of no rows.
    nulls : mapping
        See `PandasView`.
    passes : int
        How often to read them for parts that hold whole units, each time for those of one bucket; 1: all are one part.

    Notes
    -----
    What a `PandasView` says of a row depends on that row alone (codes of units and of found keys up to a renaming, which is
    why these are asked of rows that hold whole units together), so parts say of their rows what the whole says of them.
    """

    def __init__(self, read: Read, nulls: Mapping[str, int | float], passes: int = 1) -> None:
        self._read, self._cache, self._nulls, self._passes = read, {}, dict(nulls), passes

    def batches(self, unit: str | None) -> Iterator[PandasView]:
        """A view of each batch, or of each bucket of units, without what was kept of the others."""
        if unit is None:
            return (PandasView(frame, {}, self._nulls) for frame in self._read())
        return iter([self]) if self._passes == 1 else (self._bucket(unit, place) for place in range(self._passes))

    def _bucket(self, unit: str, place: int) -> PandasView:
        """A view of all rows of the units in one bucket."""
        passes = self._passes
        kept = (rows_at(f, np.flatnonzero(buckets(stored(f[unit]), passes) == place)) for f in self._read())
        return PandasView(pd.concat(kept, ignore_index=True), {}, self._nulls)

    @cached_property
    def _frame(self) -> pd.DataFrame:  # type: ignore[override]
        return pd.concat(list(self._read()), ignore_index=True)

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return len(self._frame)


def buckets(column: Stored, count: int) -> NDArray[np.int64]:
    """Bucket 0..count-1 of each row's unit, -1 without one, shape (rows,).

    For all inputs: rows that `units` of their column gives one code have one bucket, in whatever batch each of them lies, for
    it is a function of the value alone that gives equal values the same: of text its bytes, of numbers the nearest float (0.0
    and -0.0 are one), of dates and durations that of their nanoseconds, held at the ends of int64. Different units that fall
    together share a bucket, no more; of objects, which may equal whatever they like, all do.
    """
    if isinstance(column, Coded):
        words = np.zeros(column.codes.size, dtype=np.uint64)
    elif isinstance(column, ArrowValues) and column.kind.name == "key":
        texts = column.column.cast(pa.large_binary()).fill_null(b"").to_pylist()
        words = np.array([*map(zlib.crc32, texts)], dtype=np.uint64)
    else:
        words = (column.numbers().raw()[0].astype(np.float64) + 0.0).view(np.uint64)
    words, present = words * ODD, column.present()  # shape (rows,)
    words = (words ^ words >> np.uint64(32)) * ODD >> np.uint64(32)
    found = (words * np.uint64(count) >> np.uint64(32)).astype(np.int64)
    return found if present is None else np.where(present, found, -1)


@dataclass(frozen=True)
class ChunkSummary:
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
        return self.statistic.compute(view, self.unit).held()

    def total(self, parts: list[Any]) -> Any:
        """Exact integers of several parts together."""
        return self.statistic.merge(map(Exact, parts)).held()


class PartitionedView(ScannedView):
    """`ScannedView` of rows that other processes hold: those of all parts are read only where they cannot be added up.

    Parameters
    ----------
    read, nulls
        See `ScannedView`.
    add : callable
        Works a `ChunkSummary` out on all parts and adds them up, where units own several rows after those of each were brought
        together: None where that is not possible. It raises where that fails.
    """

    def __init__(self, read: Read, nulls: Mapping[str, int | float], add: Callable[[ChunkSummary], Any]) -> None:
        super().__init__(read, nulls)
        self._add = add

    def summaries(self, statistic: Statistic, unit: PrivacyUnit) -> Iterator[Exact]:
        """One summary, that of all parts; else the one part that is the whole."""
        total = self._add(ChunkSummary(statistic, unit, self._nulls, random_bytes(32)))
        return super().summaries(statistic, unit) if total is None else iter([Exact(total)])

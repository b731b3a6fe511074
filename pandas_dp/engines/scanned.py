"""A table larger than memory as the statistics see it: part by part where they can add up, else as one frame."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pandas_dp.core.lattice import present_mask
from pandas_dp.core.measurement import Batched
from pandas_dp.engines.encode import ArrowValues, Coded, Stored, stored
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.rows import rows_at

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

    def __init__(
        self, read: Callable[[], Iterator[pd.DataFrame]], nulls: Mapping[str, int | float], passes: int = 1
    ) -> None:
        self._read, self._cache, self._nulls, self._passes = read, {}, dict(nulls), passes

    def batches(self, unit: str | None) -> Iterator[PandasView]:
        """A view of each batch, or of each bucket of units, without what was kept of the others."""
        if unit is None:
            return (PandasView(frame, {}, self._nulls) for frame in self._read())
        if self._passes == 1:
            return iter([self])
        return (self._bucket(unit, place) for place in range(self._passes))

    def _bucket(self, unit: str, place: int) -> PandasView:
        """A view of all rows of the units in one bucket."""
        frames = [
            rows_at(frame, np.flatnonzero(buckets(stored(frame[unit]), self._passes) == place))
            for frame in self._read()
        ]
        return PandasView(pd.concat(frames, ignore_index=True), {}, self._nulls)

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
    it is a function of the value alone that gives equal values the same: of text its bytes, of numbers the number (0.0 and
    -0.0 are one), of decimals the nearest float, of dates and durations nanoseconds, held at the ends. Different units that
    fall together share a bucket, no more; of objects, which may equal whatever they like, all do.
    """
    if isinstance(column, Coded):
        words, present = np.zeros(column.codes.size, dtype=np.uint64), column.present()
    elif isinstance(column, ArrowValues) and column.kind.name == "key":
        encoded = column.column.dictionary_encode().combine_chunks()
        sums = [*map(zlib.crc32, encoded.dictionary.cast(pa.large_binary()).to_pylist()), 0]
        words, present = np.array(sums, np.uint64)[encoded.indices.fill_null(-1).to_numpy()], column.present()
    else:
        values, mask = column.numbers().raw()
        present = present_mask(values, mask)
        # shape (rows,); whole numbers wrap
        words = (
            (values.astype(np.float64) + 0.0).view(np.uint64) if values.dtype.kind == "f" else values.astype(np.uint64)
        )
    words = words * ODD
    words = ((words ^ words >> np.uint64(32)) * ODD) >> np.uint64(32)
    found = (words * np.uint64(count) >> np.uint64(32)).astype(np.int64)
    return found if present is None else np.where(present, found, -1)

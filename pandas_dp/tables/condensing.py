"""One row of each class in place of all rows, for statistics that ask how many rows of each class there are, or which.

So what a process holds of a table larger than memory grows with the number of classes, not with that of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.core.measurement import ByClass
from pandas_dp.engines.arrow import rows_at
from pandas_dp.engines.encode import ArrowValues, Numbers, stored
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import buckets

Rows = tuple[pd.DataFrame, NDArray[np.int64]]  # some, and how many each one stands for


@dataclass(frozen=True)
class Condensing:
    """What is made of a part of a table for a statistic, and how several of these become one; it is sent to workers.

    For all inputs `total` of what `of` gives for parts holds one row of each class that the table has, and the number of rows
    of each: of which class a row is follows from its own cells, so two rows are of one class wherever they meet.
    """

    statistic: ByClass
    nulls: Mapping[str, int | float]

    def of(self, frame: pd.DataFrame) -> Rows:
        """Of the rows of one part."""
        return self.total([(frame, np.ones(len(frame), dtype=np.int64))])

    def total(self, parts: list[Rows]) -> Rows:
        """Of several parts together."""
        frame, weights = _joined(parts)
        codes, *_ = self.statistic.classes(PandasView(frame, {}, self.nulls))
        counts = np.zeros(codes.max(initial=-1) + 2, dtype=np.int64)  # the last one: of rows that count nowhere
        np.add.at(counts, codes, weights)
        some = np.zeros(counts.size, dtype=np.intp)  # a row of each class
        some[codes] = np.arange(codes.size)
        kept = np.zeros(codes.size, dtype=bool)
        kept[some[:-1][counts[:-1] > 0]] = True
        rows = np.flatnonzero(kept)
        return rows_at(frame, rows), counts[codes[rows]]

    def view(self, *parts: Rows) -> PandasView:
        """Of the rows of some parts."""
        frame, weights = _joined(parts)
        view = PandasView(frame, {}, self.nulls)
        view.weights = weights
        return view

    def one_by_one(self, frames: Iterable[pd.DataFrame]) -> PandasView:
        """Of batches, at least one: beside a batch at most four rows of each class are held."""
        held: list[Rows] = []
        for frame in frames:
            held.append((frame, np.ones(len(frame), dtype=np.int64)))
            if len(held) == 1 or sum(counts.size for _, counts in held) >= 4 * held[0][1].size:
                held = [self.total(held)]
        return self.view(*held)


def _joined(parts: Sequence[Rows]) -> Rows:
    frames, weights = zip(*parts, strict=True)
    return parts[0] if len(parts) == 1 else (pd.concat(frames, ignore_index=True), np.concatenate(weights))


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

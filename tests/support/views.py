"""A view over plain arrays, so that the core is tested without pandas."""

from __future__ import annotations

import numpy as np

from pandas_dp.core.lattice import present_mask
from pandas_dp.core.partition import Bins, Cross, Keys, uncoded
from pandas_dp.core.randomness import random_bytes


class ArrayView:
    """Columns as lists; None is missing."""

    weights, fill = None, staticmethod(random_bytes)

    def __init__(self, columns: dict[str, list]) -> None:
        self.columns = columns
        self.rows = len(next(iter(columns.values())))

    def column(self, name):
        cells = self.columns[name]
        present = np.array([c is not None for c in cells], dtype=bool)
        values = np.array([0.0 if c is None else c for c in cells], dtype=float)
        return values, None if present.all() else present

    def present(self, name):
        return np.array([c is not None for c in self.columns[name]], dtype=bool)

    def computed(self, expression):
        """What a function makes of each row, a dict of its cells; None is missing."""
        names = list(self.columns)
        made = [expression(dict(zip(names, cells, strict=True))) for cells in zip(*self.columns.values(), strict=True)]
        present = np.array([m is not None for m in made], dtype=bool)
        return np.array([bool(m) for m in made], dtype=np.uint8), None if present.all() else present

    def parts(self, partition):
        if isinstance(partition, Cross):
            return partition.codes([self.parts(factor) for factor in partition.factors])
        if isinstance(partition, Bins):
            values, present = self.column(partition.column)
            return partition.codes(values, present_mask(values, present))
        if not isinstance(partition, Keys):
            raise TypeError
        cells = self.columns[partition.column]
        place = {key: i for i, key in enumerate(partition.keys)}
        return partition.codes(
            np.array([place.get(c, -1) for c in cells], dtype=np.intp), self.present(partition.column)
        )

    def coded(self, partition):
        return uncoded(self.parts(partition), partition.count)

    def units(self, column):
        cells = self.columns[column]
        names = sorted({c for c in cells if c is not None})
        place = {name: i for i, name in enumerate(names)}
        return np.array([-1 if c is None else place[c] for c in cells], dtype=np.int64), len(names)

    def combinations(self, columns):
        cells = [self._cells_of(column) for column in columns]
        rows = [None if None in row else list(row) for row in zip(*cells, strict=True)]
        names = sorted({repr(row) for row in rows if row is not None})[::-1]
        codes = [-1 if row is None else names.index(repr(row)) for row in rows]
        made = [rows[codes.index(code)] for code in range(len(names))]
        return np.array(codes, dtype=np.int64), len(names), lambda wanted: [made[place] for place in wanted]

    def _cells_of(self, column):
        """Cells of a column, or parts of a partition; None for none."""
        if isinstance(column, str):
            return self.columns[column]
        return [None if part < 0 else int(part) for part in self.parts(column)]


def table(rows: list[tuple], names: str = "u g x") -> ArrayView:
    """Rows of (unit, group, value)."""
    return ArrayView({name: [row[i] for row in rows] for i, name in enumerate(names.split())})

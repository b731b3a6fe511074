"""Counts on the public lattice: what every quantile needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_rows
from pandas_dp.core.lattice import Lattice, present_mask
from pandas_dp.core.measurement import Exact, View
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity

SKEW = 7


class Points(NamedTuple):
    """Occupied lattice points of one part, ascending, and the rows at each."""

    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class LatticeCounts:
    """Rows at each lattice point of a column; rows without a value count nowhere.

    Notes
    -----
    Each unit keeps at most k random rows. Any count of rows at, below or above a point moves by at most k; under
    add/remove all of them move in one direction (`linf` and `range` say so).
    """

    column: str
    lattice: Lattice

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        k, sides = unit.rows, 1 if unit.add_remove else 2
        return Sensitivity(l1=sides * k, l2_squared=sides * k * k, linf=k, range=sides * k)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact counts, as a list with the `Points` of the one part."""
        values, present = view.column(self.column)
        mask = present_mask(values, present)
        if unit.column is not None:
            units, count = view.units(unit.column)
            kept = units >= 0 if mask is None else (units >= 0) & mask
            positions = np.flatnonzero(kept)
            values = values[positions[bound_rows(units[positions], count, unit)]]
        elif mask is not None:
            values = values[mask]
        offsets = self.lattice.offsets(values)  # shape (rows that count,)
        if offsets.size * 4 < self.lattice.cells:  # few rows: sorting beats a table of all points
            occupied, counts = np.unique(offsets, return_counts=True)
            return Exact([Points(occupied, counts.astype(np.int64))])
        # whole numbers meet a fine lattice at a power-of-two stride, where all points share one set of the
        # processor's cache: o + o // 128 rises with o and breaks the stride
        offsets *= (1 << SKEW) + 1
        offsets >>= SKEW
        table = np.bincount(offsets)  # shape (at most cells * 129 / 128 + 1,)
        skewed = np.flatnonzero(table)
        return Exact([Points(skewed - skewed // ((1 << SKEW) + 1), table[skewed])])

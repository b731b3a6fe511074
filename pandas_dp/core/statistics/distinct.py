"""How many distinct values a column holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core import bounding
from pandas_dp.core.measurement import AddsUp, ByClass, Exact, View
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.counts import RowCounts, rows_in_parts


@dataclass(frozen=True)
class Distinct(AddsUp, ByClass):
    """Number of distinct values; missing ones are none, and cells that cannot be hashed are none.

    Notes
    -----
    For all tables: values are told apart by an equality that sorts cells into classes. A unit with several rows holds a
    random choice of at most s = min(k, m) distinct values, k its rows and m its parts, drawn for each unit by itself:
    a set A of size at most s. The answer is the size of the union of all these sets. Add/remove: the union with A is
    larger by 0 to s. Replace-one:
    with U the union of the others, |U + A'| - |U + A| lies between -s and s. One row a unit: s = 1. Where the column is the
    unit's own, a unit holds one value, so s = 1 and nothing is drawn: the number of units. That alone adds up over parts of
    whole units: any other value may be held in several. Where each row is a unit, one row of a value is as good as all of it.
    """

    column: str

    def adds_up(self, unit: PrivacyUnit) -> bool:
        """Where units are counted; see the class notes."""
        return unit.column == self.column

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        most = self._most(unit)
        return Sensitivity(l1=most, l2_squared=most**2, linf=most)

    def classes(self, view: View) -> tuple[NDArray[np.int64], int]:
        """Values."""
        return view.units(self.column)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """The exact number: a list of one int."""
        codes, count = self.classes(view)
        if unit.column is None or unit.column == self.column:
            return Exact([_held(codes[codes >= 0])])
        units, owners = bounding.owners(view, unit)
        kept = (codes >= 0) & (units >= 0)
        pairs = bounding.different(units[kept] * count + codes[kept])  # shape (pairs of a unit and a value,)
        pairs = pairs[bounding.keep_at_most(pairs // max(count, 1), owners, self._most(unit))]
        return Exact([_held(pairs % max(count, 1))])

    def _most(self, unit: PrivacyUnit) -> int:
        return 1 if unit.column in (None, self.column) else min(unit.rows, unit.groups)


@dataclass(frozen=True)
class DistinctBy(AddsUp):
    """Number of distinct values in each part of a partition.

    Notes
    -----
    Rows are sampled as for counts by part, so a unit's rows hold at most v_i distinct values in part i, where v has the
    bounds that `RowCounts` states for its contribution. The answer of a part is the size of the union of the sets of all units.
    Add/remove: it grows by 0 to v_i. Replace-one: it changes by d_i with -v_i <= d_i <= v'_i, so |d_i| <= v_i + v'_i,
    d_i^2 <= v_i^2 + v'_i^2 and no |d_i| exceeds the largest v_i. These are the bounds of counts by part, under both relations.
    Numbers of units add up over parts of the table that hold whole units; those of other values do not.
    """

    column: str
    by: Partition

    def adds_up(self, unit: PrivacyUnit) -> bool:
        """Where units are counted."""
        return unit.column == self.column

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """That of counts by part; see the class notes."""
        return RowCounts(self.column, self.by).sensitivity(unit)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact numbers: int64s, one for each part."""
        codes, count = view.units(self.column)
        parts, positions = rows_in_parts(view, unit, self.by, codes >= 0)
        pairs = bounding.different(parts * count + (codes if positions is None else codes[positions]))
        return Exact(np.bincount(pairs // max(count, 1), minlength=self.by.count))


def _held(codes: NDArray[np.int64]) -> int:
    """How many different codes there are: a view may number values that no row holds."""
    return int(np.count_nonzero(np.bincount(codes)))

"""How many distinct values a column holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pandas_dp.core import bounding
from pandas_dp.core.measurement import Exact, View
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity


@dataclass(frozen=True)
class Distinct:
    """Number of distinct values; missing ones are none, and cells that cannot be hashed are none.

    Notes
    -----
    Values are told apart by an equality that sorts cells into classes. A unit with several rows holds a random choice of at
    most s = min(k, m) distinct values, k its rows and m its parts, drawn for each unit by itself: a set A of size at most s.
    The answer is the size of the union of all these sets. Add/remove: the union with A is larger by 0 to s. Replace-one:
    with U the union of the others, |U + A'| - |U + A| lies between -s and s. One row a unit: s = 1. Where the column is the
    unit's own, a unit holds one value, so s = 1 and nothing is drawn: the number of units.
    """

    column: str

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        most = self._most(unit)
        return Sensitivity(l1=most, l2_squared=most**2, linf=most)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """The exact number: a list of one int."""
        codes, count = view.units(self.column)
        if unit.column is None or unit.column == self.column:
            return Exact([int(np.unique(codes[codes >= 0]).size)])
        units, owners = view.units(unit.column)
        kept = (codes >= 0) & (units >= 0)
        pairs = np.unique(units[kept] * count + codes[kept])  # shape (pairs of a unit and a value,)
        pairs = pairs[bounding.keep_at_most(pairs // max(count, 1), owners, self._most(unit))]
        return Exact([int(np.unique(pairs % max(count, 1)).size)])

    def _most(self, unit: PrivacyUnit) -> int:
        return 1 if unit.column in (None, self.column) else min(unit.rows, unit.groups)

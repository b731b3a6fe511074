"""The part of every row by itself: what randomized response takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, View
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.errors import ArgumentValueError


@dataclass(frozen=True)
class Codes:
    """Part 0..count-1 of each row, -1 for a row in no part; one entry a row, in row order.

    Notes
    -----
    For all tables there is one entry for each row, so the number of rows shows. That is private under add/remove, and
    where a unit may own several rows: both are refused. A filter makes it private too; that the rows are those of a
    whole table is for the caller to see to, who alone knows (`Terms.public_rows`). Replacing a unit with one row
    changes one entry, to any other.
    """

    by: Partition

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """One entry changes; see the class notes."""
        if unit.add_remove or unit.column is not None:
            raise ArgumentValueError("one answer per row shows how many rows there are, which this session hides")
        return Sensitivity(l1=self.by.count, l2_squared=self.by.count**2, linf=self.by.count)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact codes, an array of shape (rows,)."""
        self.sensitivity(unit)
        codes: NDArray[np.intp] = view.parts(self.by)
        return Exact(codes)

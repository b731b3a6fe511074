"""Counts of rows for which a row-wise condition holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Additive, Exact, View, computed
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity


@dataclass(frozen=True)
class CountWhere(Additive):
    """Number of rows for which a condition holds; where its truth is missing it does not hold.

    Parameters
    ----------
    condition : Expression
        Frozen; what it makes of a row depends on that row alone.

    Notes
    -----
    A unit with c such rows counts min(c, k) times, in 0..k whatever its rows are: its presence adds at most k and never
    takes anything away, so under add/remove all such counts rise together; its content moves a count by at most k.
    """

    condition: Any

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        k = unit.rows
        return Sensitivity(l1=k, l2_squared=k * k, linf=k, rising=unit.add_remove)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact count, a list of one int."""
        values, present = view.computed(self.condition)
        holds: NDArray[np.bool_] = values != 0  # shape (rows,)
        if present is not None:
            holds &= present
        if unit.column is None:
            return Exact([int(np.count_nonzero(holds))])
        units, count = view.units(unit.column)
        counts = np.bincount(units[holds & (units >= 0)], minlength=count)  # shape (units,)
        return Exact([int(np.minimum(counts, unit.rows).sum())])


@dataclass(frozen=True)
class DistanceFrom:
    """How far a count of such rows lies from a public number, |count - expected|.

    Notes
    -----
    It moves by at most as much as the count, in either direction whatever the relation.
    """

    count: CountWhere
    expected: int

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """That of the count, but not rising."""
        k = unit.rows
        return Sensitivity(l1=k, l2_squared=k * k, linf=k)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact distance, a list of one int."""
        (count,) = computed(self.count, view, unit).open()
        return Exact([abs(count - self.expected)])

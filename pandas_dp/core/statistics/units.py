"""How many units own how many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pandas_dp.core import bounding
from pandas_dp.core.measurement import AddsUp, Exact, View
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity


@dataclass(frozen=True)
class UnitSizes(AddsUp):
    """Number of units with at most ``edges[0]`` rows, with more than that and at most ``edges[1]``, ..., with more than all.

    Units without rows do not count, nor do rows without a unit. The edges rise and are public.

    Notes
    -----
    A unit counts once, in the part of its number of rows, however many they are: no bound on its rows is needed. Add/remove:
    one entry moves by 1, those of other units depend on their own rows only. Replace-one: a unit leaves one part and comes
    into another, so two entries move by 1, in opposite directions (one, where it had no row that counts, or has none then).
    Both hold for every table, whatever the bounds of the session.
    """

    edges: tuple[int, ...]

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        sides = 1 if unit.add_remove else 2
        return Sensitivity(l1=sides, l2_squared=sides, linf=1, range=sides, rising=unit.add_remove)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact counts, a list of one int more than edges; without a unit column each row is a unit."""
        sizes = np.ones(view.rows, dtype=np.intp)
        if unit.column is not None:
            units, count = bounding.owners(view, unit)
            sizes = np.bincount(units[units >= 0], minlength=count)  # shape (units,)
        parts = np.searchsorted(np.array(self.edges), sizes[sizes > 0], side="left")  # shape (units with rows,)
        return Exact(np.bincount(parts, minlength=len(self.edges) + 1).tolist())

"""Counts of rows, in all or by public part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_parts
from pandas_dp.core.measurement import Additive, Exact, View
from pandas_dp.core.partition import Partition, code_counts
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity


@dataclass(frozen=True)
class Count(Additive):
    """Number of rows, or of non-null rows of a column, in all or in each part of a partition.

    Notes
    -----
    Without a partition a unit with c rows counts min(c, k) times, so its presence moves the count by at most k
    under add/remove; under replace-one both contributions lie in 0..k, so the count moves by at most k as well.

    By part, rows are sampled so that a unit has at most c rows in each of at most m parts and k in all. Its
    contribution is then a non-negative vector with L1 norm at most min(k, m c), squared L2 norm at most
    `PrivacyUnit.squared_rows_in_parts` and entries at most min(c, k). Add/remove: the change is that vector, all
    entries in one direction. Replace-one: the change is v' - v with v, v' >= 0, so L1 at most doubles, and
    |v' - v|^2 <= |v|^2 + |v'|^2 doubles the squared L2; no entry exceeds min(c, k); directions may differ.
    """

    column: str | None = None
    by: Partition | None = None

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        if self.by is None:
            k = unit.rows
            return Sensitivity(l1=k, l2_squared=k * k, linf=k)
        sides = 1 if unit.add_remove else 2
        largest = min(unit.rows_per_group, unit.rows)
        return Sensitivity(
            l1=sides * unit.rows_in_parts,
            l2_squared=sides * unit.squared_rows_in_parts,
            linf=largest,
            range=sides * largest,
        )

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact counts: a list of one int, or one for each part."""
        present = None if self.column is None else view.present(self.column)
        if self.by is not None:
            return Exact(count_parts(view, unit, self.by, present).tolist())
        if unit.column is None:
            return Exact([view.rows if present is None else int(np.count_nonzero(present))])
        units, count = view.units(unit.column)
        kept = units >= 0 if present is None else (units >= 0) & present
        counts = np.bincount(units[kept], minlength=count)  # shape (units,)
        return Exact([int(np.minimum(counts, unit.rows).sum())])  # int64: at most the number of rows


def count_parts(view: View, unit: PrivacyUnit, by: Partition, present: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Rows of each part that count, shape (parts,), after contribution bounding."""
    if unit.column is not None:
        return np.bincount(rows_in_parts(view, unit, by, present)[0], minlength=by.count)
    codes, parts = view.coded(by)
    counts = np.zeros(by.count + 1, dtype=np.int64)  # the last: in no part
    np.add.at(counts, parts, code_counts(codes if present is None else codes[present], parts.size))
    return counts[:-1]


def rows_in_parts(
    view: View, unit: PrivacyUnit, by: Partition, present: NDArray[np.bool_] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Parts of the rows that count, and their positions (None: all rows), after contribution bounding.

    Returns
    -------
    parts : ndarray of intp, shape (rows that count,)
    positions : ndarray of intp of the same shape, or None
        For all inputs: the rows of any unit among them satisfy the unit's three bounds.
    """
    parts = view.parts(by)
    counted = parts >= 0
    if present is not None:
        counted &= present
    if unit.column is None:
        if counted.all():
            return parts, None
        positions = np.flatnonzero(counted)
        return parts[positions], positions
    units, count = view.units(unit.column)
    counted &= units >= 0
    positions = np.flatnonzero(counted)
    parts = parts[positions]  # the longer one is not needed any more
    kept = bound_parts(units[positions], count, parts, by.count, unit, view.fill)
    return parts[kept], positions[kept]

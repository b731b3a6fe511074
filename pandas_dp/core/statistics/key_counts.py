"""Counts by keys that nobody listed: which keys there are is as private as the counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pandas_dp.core import bounding
from pandas_dp.core.measurement import Exact, View
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity


@dataclass(frozen=True)
class KeySensitivity(Sensitivity):
    """How far one unit moves counts by keys: over all keys there could be, those without rows count 0.

    Attributes
    ----------
    keys, rows : int
        One unit has at most `rows` rows (or units) in at most `keys` keys, at most `linf` in each. `touched` counts the keys of
        both neighbours.
    """

    keys: int = 1
    rows: int = 1


@dataclass(frozen=True)
class KeyCounts:
    """Number of rows, or of units, of every key of some columns that has any: a key is a combination of their cells.

    Parameters
    ----------
    columns : tuple of str or Partition
        Columns whose keys nobody listed, and public parts beside them. A row counts where it has a key in each column and
        lies in a part of each partition.
    counted : str or None
        Count rows with a value in this column only.
    distinct : bool
        Count units instead of rows.

    Notes
    -----
    A row has one combination or none, whatever other rows hold, so combinations are keys like any others. By unit k rows, m
    keys and c rows a key count, as by listed part, or at most min(m, k) keys where units are counted. With
    j = min(m, k) a unit's contribution is a non-negative vector with at most j entries, none above min(c, k) (1 for units),
    of L1 norm at most min(k, m c) (j) and squared L2 norm at most `PrivacyUnit.squared_rows_in_parts` (j). Add/remove: the
    change is that vector. Replace-one: it is v' - v with both non-negative, so L1 and squared L2 norm at most double, no
    entry moves by more than before, and up to j keys lose rows while up to j others gain some.
    A unit's rows are chosen from its own rows alone, so neighbours can be coupled to choose alike for all other units: the
    bounds hold for each choice, hence a mechanism that keeps (epsilon, delta) for them keeps it for the mixture.
    """

    columns: tuple[str | Partition, ...]
    counted: str | None = None
    distinct: bool = False

    def sensitivity(self, unit: PrivacyUnit) -> KeySensitivity:
        """See the class notes."""
        sides, keys = 1 if unit.add_remove else 2, min(unit.groups, unit.rows)
        l1, squared, most = unit.rows_in_parts, unit.squared_rows_in_parts, min(unit.rows_per_group, unit.rows)
        if self.distinct:
            l1, squared, most = keys, keys, 1
        return KeySensitivity(sides * l1, sides * squared, most, touched=sides * keys, keys=keys, rows=l1)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Positive counts, and what their keys are: (list of int, positions -> list of keys)."""
        codes, count, names = view.combinations(self.columns)
        kept = codes >= 0
        if self.counted is not None:
            present = view.present(self.counted)
            kept &= True if present is None else present
        if unit.column is None:
            parts = codes[kept]
        else:
            units, owners = view.units(unit.column)
            rows = np.flatnonzero(kept & (units >= 0))
            owner, parts = units[rows], codes[rows]  # shape (rows with unit and key,)
            if self.distinct:
                owner, parts = np.divmod(bounding.different(owner * count + parts), max(count, 1))  # shape (pairs,)
                parts = parts[bounding.keep_at_most(owner, owners, min(unit.groups, unit.rows))]
            else:
                parts = parts[bounding.bound_parts(owner, owners, parts.astype(np.intp), count, unit)]
        counts = np.bincount(parts, minlength=1)
        found = np.flatnonzero(counts)  # shape (keys that are there,)
        return Exact((counts[found].tolist(), lambda places: names(found[places])))

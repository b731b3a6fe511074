"""Counts of rows by part, and of the keys that units have: the sensitivity of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core import bounding
from pandas_dp.core.bounding import bound_parts
from pandas_dp.core.measurement import AddsUp, ByClass, Exact, Names, View
from pandas_dp.core.partition import Partition, code_counts
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity

Contents = tuple[tuple[tuple[Fraction | int, int], ...], ...]
WHOLE = 1 << 20  # what a unit in one key counts there, where units share theirs


@dataclass(frozen=True)
class RowCounts(AddsUp):
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
    With `once` a unit counts with one row, chosen at random among its own that count: k = m = c = 1. With `units` with one in
    each of its parts, of which there are at most k: c = 1 and k = min(k, m), 1 without a partition.
    """

    column: str | None = None
    by: Partition | None = None
    once: bool = False
    units: bool = False

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        unit = self._bounded(unit)
        if self.by is None:
            k = unit.rows
            return Sensitivity(l1=k, l2_squared=k * k, linf=k)
        sides = 1 if unit.add_remove else 2
        largest = min(unit.rows_per_group, unit.rows)
        l1, squared = sides * unit.rows_in_parts, sides * unit.squared_rows_in_parts
        return Sensitivity(l1=l1, l2_squared=squared, linf=largest, range=sides * largest)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact counts: a list of one int, or int64s, one for each part."""
        unit = self._bounded(unit)
        present = None if self.column is None else view.present(self.column)
        if self.by is not None:
            return Exact(count_parts(view, unit, self.by, present))
        if unit.column is None:
            return Exact([view.rows if present is None else int(np.count_nonzero(present))])
        units, count = bounding.owners(view, unit)
        kept = units >= 0 if present is None else (units >= 0) & present
        counts = np.bincount(units[kept], minlength=count)  # shape (units,)
        return Exact([int(np.minimum(counts, unit.rows).sum())])  # int64: at most the number of rows

    def _bounded(self, unit: PrivacyUnit) -> PrivacyUnit:
        most = 1 if self.once or self.by is None else min(unit.rows, unit.groups)
        return replace(unit, rows=most, groups=most, rows_per_group=1) if self.once or self.units else unit


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
    units, count = bounding.owners(view, unit)
    counted &= units >= 0
    positions = np.flatnonzero(counted)
    parts = parts[positions]  # the longer one is not needed any more
    kept = bound_parts(units[positions], count, parts, by.count, unit, view.fill)
    return parts[kept], positions[kept]


Count = RowCounts  # the name in answers that earlier versions pickled


@dataclass(frozen=True)
class KeySensitivity(Sensitivity):
    """How far one unit moves counts by keys: over all keys there could be, those without rows count 0.

    Attributes
    ----------
    contents : Contents
        What the keys that one unit alone holds count, as numbers of keys and the count of each: for all q that are convex
        and never fall up to `linf`, the sum of q over such keys is at most that over one of these. `touched` counts the keys of
        both neighbours.
    """

    contents: Contents = (((1, 1),),)


@dataclass(frozen=True)
class KeyCounts(ByClass):
    """Number of rows, or of units, of every key of some columns that has any: a key is a combination of their cells.

    Parameters
    ----------
    columns : tuple of str or Partition
        Columns whose keys are unknown, and public parts beside them. A row counts where it has a key in each column and
        lies in a part of each partition.
    counted : str or None
        Count rows with a value in this column only.
    distinct : bool
        Count units instead of rows.
    shared : bool
        Of these, let a unit in i keys count `WHOLE` / sqrt(i) in each, cut to an integer, so that its L2 norm is that of a unit
        in one. Source: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin 2020.

    Notes
    -----
    A row has one combination or none, whatever other rows hold, so combinations are keys like any others. By unit k rows, m
    keys and c rows a key count, as by listed part, or at most min(m, k) keys where units are counted. With
    j = min(m, k) a unit's contribution is a non-negative vector with at most j entries, none above min(c, k) (1 for units),
    of L1 norm at most min(k, m c) (j) and squared L2 norm at most `PrivacyUnit.squared_rows_in_parts` (j). Of shares,
    w(i) = floor(WHOLE / sqrt(i)) in each of i <= j keys, none is above WHOLE, the L1 norm is an integer and at most
    WHOLE sqrt(j), and the squared L2 norm i w(i)^2 at most WHOLE^2. Add/remove: the
    change is that vector. Replace-one: it is v' - v with both non-negative, so L1 and squared L2 norm at most double, no
    entry moves by more than before, and up to j keys lose rows while up to j others gain some.
    A unit's rows are chosen from its own rows alone, so neighbours can be coupled to choose alike for all other units: the
    bounds hold for each choice, hence a mechanism that keeps (epsilon, delta) for them keeps it for the mixture. What a share
    is, too, follows from the unit's own rows that count.

    *Contents.* Of rows: K = min(k, m c) lie in i <= j keys, 1 to c in each. q is at most its chord q(1) + (v - 1) d,
    d = (q(c) - q(1)) / (c - 1), so their sum is at most i q(1) + (K - i) d. That is linear in i, and fewer than K / c keys hold
    fewer rows: the larger of the values at j and at K / c, rounded up, bounds it. Of shares: where p <= i < 2 p, at most
    min(2 p - 1, j) keys count w(p) at most each.
    """

    columns: tuple[str | Partition, ...]
    counted: str | None = None
    distinct: bool = False
    shared: bool = False

    def sensitivity(self, unit: PrivacyUnit) -> KeySensitivity:
        """See the class notes."""
        unit = replace(unit, rows_per_group=1) if self.distinct else unit
        sides, keys = 1 if unit.add_remove else 2, min(unit.groups, unit.rows)
        l1, squared, most = unit.rows_in_parts, unit.squared_rows_in_parts, min(unit.rows_per_group, unit.rows)
        contents: Contents = (((keys, 1),),)
        if self.shared:
            powers = [1 << i for i in range(keys.bit_length())]
            contents = tuple(((min(2 * p - 1, keys), math.isqrt(WHOLE**2 // p)),) for p in powers)
            l1, squared, most = math.isqrt(WHOLE**2 * keys), WHOLE**2, WHOLE
        elif most > 1:  # some keys of c rows, and others of one
            heavy = {i: Fraction(l1 - i, most - 1) for i in (keys, -(-l1 // most))}
            contents = tuple(((n, most), (i - n, 1)) for i, n in heavy.items())
        return KeySensitivity(sides * l1, sides * squared, most, touched=sides * keys, contents=contents)

    def classes(self, view: View) -> tuple[NDArray[np.int64], int, Names]:
        """Combinations, of rows that count, and what they stand for."""
        codes, count, names = view.combinations(self.columns)
        present = None if self.counted is None else view.present(self.counted)
        return (codes if present is None else np.where(present, codes, -1)), count, names

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Positive counts, and what their keys are: (list of int, positions -> list of keys)."""
        codes, count, names = self.classes(view)
        kept, shares = codes >= 0, None if view.weights is None else view.weights.astype(np.float64)
        if unit.column is None:
            parts, shares = codes[kept], None if shares is None else shares[kept]
        else:
            units, owners = bounding.owners(view, unit)
            rows = np.flatnonzero(kept & (units >= 0))
            owner, parts = units[rows], codes[rows]  # shape (rows with unit and key,)
            if self.distinct:
                owner, parts = np.divmod(bounding.different(owner * count + parts), max(count, 1))  # shape (pairs,)
                chosen = bounding.keep_at_most(owner, owners, min(unit.groups, unit.rows))
                owner, parts = owner[chosen], parts[chosen]
            else:
                parts = parts[bounding.bound_parts(owner, owners, parts.astype(np.intp), count, unit)]
        if self.shared:  # exact: floats round roots of integers to 2**40 by less than what tells their floors apart
            of = np.ones(parts.size, dtype=np.int64) if unit.column is None else np.bincount(owner)[owner]
            shares = np.floor(np.sqrt(WHOLE**2 // of)) * (1 if shares is None else shares)
        counts = np.bincount(parts, shares, minlength=1).astype(
            np.int64
        )  # exact below 2**53 rows, of shares 2**33 units
        found = np.flatnonzero(counts)  # shape (keys that are there,)
        return Exact((counts[found].tolist(), lambda places: names(found[places])))

"""Counts of rows by part, of keys of units, of units by their rows, and of distinct values: the sensitivity of each."""

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
        # exact below 2**53 rows, of shares 2**33 units
        counts = np.bincount(parts, shares, minlength=1).astype(np.int64)
        found = np.flatnonzero(counts)  # shape (keys that are there,)
        return Exact((counts[found].tolist(), lambda places: names(found[places])))


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
    Where the column is the unit's own, all rows of a unit hold one value: v_i is 0 or 1 in every part, and 1 in at most
    min(k, m) of them, as the k sampled rows lie in at most m parts. So v is bounded as where a unit counts with one row in each
    of its parts. In a part the answer moves by at most 1, under replace-one as well: one value goes and another comes. So L1
    and squared L2 norm are no larger than the number of parts.
    Numbers of units add up over parts of the table that hold whole units; those of other values do not.
    """

    column: str
    by: Partition

    def adds_up(self, unit: PrivacyUnit) -> bool:
        """Where units are counted."""
        return unit.column == self.column

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """That of counts by part, of units where the column is theirs; see the class notes."""
        own = self.adds_up(unit)
        bounds, parts = RowCounts(self.column, self.by, units=own).sensitivity(unit), self.by.count
        return replace(bounds, l1=min(bounds.l1, parts), l2_squared=min(bounds.l2_squared, parts)) if own else bounds

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact numbers: int64s, one for each part."""
        codes, count = view.units(self.column)
        parts, positions = rows_in_parts(view, unit, self.by, codes >= 0)
        pairs = bounding.different(parts * count + (codes if positions is None else codes[positions]))
        return Exact(np.bincount(pairs // max(count, 1), minlength=self.by.count))


def _held(codes: NDArray[np.int64]) -> int:
    """How many different codes there are: a view may number values that no row holds."""
    return int(np.count_nonzero(np.bincount(codes)))

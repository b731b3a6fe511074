"""Sums on the public lattice: totals, and the rotated moments behind means and variances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.lattice import CHUNK, Lattice, Raw, present_mask
from pandas_dp.core.measurement import AddsUp, Exact, View
from pandas_dp.core.offset_sum import offset_sum
from pandas_dp.core.partition import Partition, places, uncoded
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.counts import rows_in_parts

MOST_SQUARED_CELLS = 1 << 22

Ints = NDArray[Any]  # int64, or object holding Python ints where int64 could wrap


@dataclass(frozen=True)
class Total(AddsUp):
    """Sum of a column in lattice steps, in all or by part; rows without a value add nothing.

    Notes
    -----
    In lattice steps a row adds an integer in [a, b], a = low, b = low + cells. Without a partition the integer total
    of each unit is clipped to [k min(a, 0), k max(b, 0)], which contains 0, the contribution of an absent unit or one
    whose rows are all null. Add/remove: at most k max(|a|, |b|). Replace-one: at most k (max(b, 0) - min(a, 0)), not
    k (b - a), because a row may turn into a null.

    By part a unit adds, after sampling, a vector t with |t_g| <= n_g B, B = max(|a|, |b|), sum n_g <= min(k, m c).
    Add/remove: L1 <= min(k, m c) B, L2^2 <= B^2 sum n_g^2. Replace-one: L1 at most doubles. If a and b have one
    sign, |t - t'|^2 <= |t|^2 + |t'|^2; otherwise, entry by entry, (t_g - t'_g)^2 <= c^2 W^2 for a part that both
    touch, W = max(b, 0) - min(a, 0), and 2 c^2 B^2 for a pair of parts touched once each, hence
    L2^2 <= m c^2 max(W^2, 2 B^2); the squared L1 bound is taken where it is smaller.
    """

    column: str
    lattice: Lattice
    by: Partition | None = None

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        a, b = self.lattice.low, self.lattice.low + self.lattice.cells
        largest, width = max(abs(a), abs(b)), max(b, 0) - min(a, 0)
        if self.by is None:
            l1 = unit.rows * (largest if unit.add_remove else width)
            return Sensitivity(l1=l1, l2_squared=l1 * l1, linf=l1)
        c = min(unit.rows_per_group, unit.rows)
        if unit.add_remove:
            l1, l2_squared = unit.rows_in_parts * largest, unit.squared_rows_in_parts * largest**2
        else:
            l1 = 2 * unit.rows_in_parts * largest
            one_signed = a >= 0 or b <= 0
            mixed = unit.groups * c * c * max(width**2, 2 * largest**2)
            l2_squared = 2 * unit.squared_rows_in_parts * largest**2 if one_signed else min(mixed, l1 * l1)
        return Sensitivity(l1=l1, l2_squared=l2_squared, linf=c * (largest if unit.add_remove else width))

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact totals in lattice steps: a list of one Python int, or one for each part."""
        if self.by is not None:
            rows, firsts = _sums_in_parts(view, unit, self.by, self, 1)
            return Exact([s + n * self.lattice.low for s, n in zip(firsts, rows, strict=True)])
        if unit.column is None:
            held, total = offset_sum(self.lattice, view.column(self.column))
            return Exact([total + held * self.lattice.low])
        owner, offsets, units = _offsets_by_unit(view, unit, self.column, self.lattice)
        a, b = self.lattice.low, self.lattice.low + self.lattice.cells
        counts = np.bincount(owner, minlength=units)  # shape (units,)
        largest = max(abs(a), abs(b)) * max(unit.rows, offsets.size)
        totals = _wide(group_sum(offsets, owner, units, self.lattice.cells), largest) + _wide(counts, largest) * a
        clipped = np.clip(totals, unit.rows * min(a, 0), unit.rows * max(b, 0))
        return Exact([int(exact_sum(clipped, unit.rows * max(abs(a), abs(b))))])


@dataclass(frozen=True)
class Moments(AddsUp):
    """Rotated moments: non-negative features of a row that add up to exactly 1 (in units of cells**degree).

    With offset v in 0..M, M = cells: degree 1 has (v, M - v), degree 2 has (v^2, (M - v)^2, 2 v (M - v)), which add
    to M and M^2. Sums, counts and second moments are linear in them.

    Notes
    -----
    Each row adds a non-negative vector of L1 norm M^degree = T. A unit with c > k rows is scaled as a whole by k/c with
    integer floors, so its vector stays non-negative with L1 norm exactly k T (clipping the features one by one would
    allow k T in *each* of them). Add/remove: L1 <= k T and L2 <= k T. Replace-one: L1 <= 2 k T, L2^2 <= 2 (k T)^2.
    By part rows are sampled: a part with n_g rows of the unit has L1 norm n_g T, so L1 <= min(k, m c) T and
    L2^2 <= T^2 sum n_g^2 under add/remove; both double under replace-one, all entries being non-negative.
    Source: Kulesza, Suresh, Wang 2024 (mean); Fitzsimons, Honaker, Shoemate, Singhal 2024 (simplex).
    """

    column: str
    lattice: Lattice
    degree: int
    by: Partition | None = None

    def __post_init__(self) -> None:
        """Refuse lattices on which a chunk of squares could wrap in int64."""
        if self.degree == 2 and self.lattice.cells > MOST_SQUARED_CELLS:
            raise ValueError("a lattice for squares has at most 2**22 cells")

    @property
    def features(self) -> int:
        """Number of features of a row."""
        return self.degree + 1

    @property
    def row_total(self) -> int:
        """What the features of one row add up to."""
        return int(self.lattice.cells**self.degree)

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        sides = 1 if unit.add_remove else 2
        rows = unit.rows if self.by is None else unit.rows_in_parts
        squared = unit.rows**2 if self.by is None else unit.squared_rows_in_parts
        return Sensitivity(
            l1=sides * rows * self.row_total,
            l2_squared=sides * squared * self.row_total**2,
            linf=rows * self.row_total,
        )

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact feature sums, Python ints: shape (features,), or (parts * features,) part after part."""
        if self.by is not None:
            return Exact(self._by_part(view, unit, self.by))
        if unit.column is None:
            return Exact(self._features(*offset_sum(self.lattice, view.column(self.column), self.degree)))
        return Exact(self._by_unit(view, unit))

    def _features(self, rows: int, first: int, second: int = 0) -> list[int]:
        """Sums of the features from the sums of 1, v and v^2."""
        m = self.lattice.cells
        if self.degree == 1:
            return [first, rows * m - first]
        return [second, rows * m * m - 2 * m * first + second, 2 * m * first - 2 * second]

    def _by_part(self, view: View, unit: PrivacyUnit, by: Partition) -> list[int]:
        sums = _sums_in_parts(view, unit, by, self, self.degree)
        return [feature for part in zip(*sums, strict=True) for feature in self._features(*part)]

    def _by_unit(self, view: View, unit: PrivacyUnit) -> list[int]:
        owner, offsets, units = _offsets_by_unit(view, unit, self.column, self.lattice)
        k, m, t = unit.rows, self.lattice.cells, self.row_total
        rows = np.bincount(owner, minlength=units)  # shape (units,)
        heavy = rows > k
        largest = 2 * t * (k + 1) * max(k, offsets.size)
        count, scale = _wide(rows, largest), _wide(np.maximum(rows, 1), largest)
        first = _wide(group_sum(offsets, owner, units, m), largest)
        if self.degree == 1:
            f1 = np.where(heavy, (2 * k * first + scale) // (2 * scale), first)  # floor(k S / c + 1/2)
            f2 = np.where(heavy, k * m - f1, count * m - first)
            return [int(exact_sum(f, k * t)) for f in (f1, f2)]
        second = _wide(group_sum(offsets * offsets, owner, units, m * m), largest)
        mirrored = count * (m * m) - 2 * m * first + second
        f1 = np.where(heavy, k * second // scale, second)
        f2 = np.where(heavy, k * mirrored // scale, mirrored)
        f3 = np.where(heavy, k * t - f1 - f2, 2 * m * first - 2 * second)
        return [int(exact_sum(f, k * t)) for f in (f1, f2, f3)]


def group_sum(values: NDArray[np.int64], codes: NDArray[Any], groups: int, largest: int) -> Ints:
    """Exact sums of integers 0..largest by group.

    Parameters
    ----------
    values, codes : ndarray of int64, shape (rows,)
    groups : int
    largest : int
        Upper bound of the values.

    Returns
    -------
    ndarray, shape (groups,), int64, or object with Python ints where int64 could wrap
        For all inputs the exact sums: float64 holds the partial sums of a block, all integers below 2**53, without
        rounding; where blocks are too short to pay, or shorter than the list of groups, integers are added one by one.
    """
    block = (1 << 53) // max(largest, 1)
    if block >= values.size:
        return np.bincount(codes, weights=values, minlength=groups).astype(np.int64)
    wide = largest * values.size >= 1 << 62 and largest * int(np.bincount(codes).max()) >= 1 << 62
    total = np.zeros(groups, dtype=object if wide else np.int64)
    if block < max(groups, 1 << 10):
        np.add.at(total, codes, values.astype(total.dtype))
        return total
    for at in range(0, values.size, block):
        part = slice(at, at + block)
        sums = np.bincount(codes[part], weights=values[part], minlength=groups)
        total += sums.astype(np.int64)
    return total


def exact_sum(values: Ints, largest: int) -> int:
    """Sum of integers of absolute value at most `largest`, in int64 pieces that cannot wrap, then in Python ints."""
    if values.dtype == object:
        return sum(values.tolist())
    block = max(1, ((1 << 62) - 1) // max(largest, 1))
    if block >= values.size:
        return int(values.sum())  # int64
    if block < isqrt(values.size) + 1:
        return sum(values.tolist())
    return sum(int(values[at : at + block].sum()) for at in range(0, values.size, block))


def _wide(values: Ints, largest: int) -> Ints:
    """The same integers with room for products up to `largest`: Python ints where int64 could wrap."""
    return values.astype(object) if largest >= 1 << 62 else values.astype(np.int64, copy=False)


def _sums_in_parts(view: View, unit: PrivacyUnit, by: Partition, of: Total | Moments, degree: int) -> list[list[int]]:
    """Exact `lattice.power_sums` of each part, after contribution bounding: for each power a list with one entry a part."""
    values, present = view.column(of.column)
    if unit.column is None:
        codes, parts = view.coded(by)
    else:
        kept, positions = rows_in_parts(view, unit, by, present_mask(values, present))
        (codes, parts), values, present = uncoded(kept, by.count), values[positions], None
    sums = sums_by_place(of.lattice, (values, present), lambda rows: places(codes[rows]), parts.size, degree)
    totals = np.zeros((by.count + 1, degree + 1), dtype=sums.dtype)  # the last: in no part
    np.add.at(totals, parts, sums.T)
    return totals[:-1].T.tolist()  # type: ignore[no-any-return]


def sums_by_place(lattice: Lattice, raw: Raw, place: Callable[[slice], Ints], size: int, degree: int) -> Ints:
    """Exact `lattice.power_sums` of the rows that have each place 0..size - 1, shape (degree + 1, size).

    `place` says which places a slice of rows has, in a new array. Rows are handled in chunks; a chunk is no shorter than the
    list of places, so that adding the lists costs little. Where a chunk's number of rows and sum of offsets fit in 64 bits
    side by side, one addition a row finds both. What the chunks add up to fits in int64, or Python ints are added.
    """
    (values, present), chunk, cells = raw, max(2 * CHUNK, size), lattice.cells
    shift = (chunk * cells).bit_length()  # the digits of a chunk's sum of offsets
    paired = chunk.bit_length() + shift <= 64
    wide = cells**degree * values.size >= 1 << 62
    sums = np.zeros((degree + 1, size + 1), dtype=object if wide else np.int64)  # the last place: no value
    write, buffer = lattice.rule(values.dtype), np.empty(min(chunk, values.size), dtype=np.int64)
    for at in range(0, values.size, chunk):
        rows = slice(at, min(at + chunk, values.size))
        places_, offsets = place(rows), buffer[: rows.stop - at]  # shape (rows of the chunk,)
        with np.errstate(all="ignore"):
            write(values[rows], offsets)
        mask = present_mask(values[rows], None if present is None else present[rows])
        if mask is not None:
            np.copyto(places_, size, where=~mask)
        if degree == 2:
            sums[2] += group_sum(offsets * offsets, places_, size + 1, cells**2)
        if paired:
            found = np.zeros(size + 1, dtype=np.uint64)
            offsets += 1 << shift
            np.add.at(found.view(np.int64), places_, offsets)  # wraps modulo 2**64, as the sums in `found` do not
            sums[:2] += np.stack((found >> shift, found & ((1 << shift) - 1))).astype(np.int64)
        else:
            sums[0] += np.bincount(places_, minlength=size + 1)
            sums[1] += group_sum(offsets, places_, size + 1, cells)
    return sums[:, :size]


def _offsets_by_unit(
    view: View, unit: PrivacyUnit, column: str, lattice: Lattice
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Unit and lattice offset of each row that counts, and the number of units."""
    values, present = view.column(column)
    units, count = view.units(unit.column or "")
    kept = units >= 0
    mask = present_mask(values, present)
    if mask is not None:
        kept &= mask
    if kept.all():
        return units, lattice.offsets(values), count
    return units[kept], lattice.offsets(values[kept]), count

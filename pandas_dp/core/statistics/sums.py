"""Sums on the public lattice: totals, and the rotated moments behind means and variances.

Centred sums are of positions from the middle of the bounds: under replace-one they move by less than the features of `Moments`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core import bounding
from pandas_dp.core.lattice import CHUNK, Lattice, Raw, crossed, present_mask
from pandas_dp.core.measurement import AddsUp, Exact, View
from pandas_dp.core.offset_sum import offset_sum
from pandas_dp.core.partition import Partition, places, uncoded
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.counts import rows_in_parts

Ints = NDArray[Any]  # int64, or object holding Python ints where int64 could wrap


@dataclass(frozen=True)
class Total(AddsUp):
    """Sum of a column in lattice steps, in all or by part; rows without a value add nothing.

    Of a unit all rows are added up, and what they come to is cut: of light rows a unit may have more than k. Both forms are one
    statistic: with c = k the sum of a part that holds all rows is the sum in all.

    Notes
    -----
    In lattice steps a row adds an integer in [a, b], a = low, b = low + cells. Without a partition the integer total
    of each unit is clipped to [k min(a, 0), k max(b, 0)], which contains 0, the contribution of an absent unit or one
    whose rows are all null. Add/remove: at most k max(|a|, |b|). Replace-one: at most k (max(b, 0) - min(a, 0)), not
    k (b - a), because a row may turn into a null.

    By part a unit adds a vector t, its total in each part: first each entry is clipped to [c min(a, 0), c max(b, 0)], then,
    where their sizes add up to more than T = R B, R = min(k, m c), B = max(|a|, |b|), all entries are made smaller in
    proportion, T / sum |t_g| with each rounded towards 0, so that |t|_1 <= T, whatever rows the unit has, in however many
    parts they lie. An entry keeps its sign and |t_g| <= c B. Hence |t|^2 <= B^2 times the largest sum of squares of numbers
    of at most c that add up to R, see `PrivacyUnit.squared_rows_in_parts`: a convex function is largest where they are
    filled to the brim.
    Add/remove: L1 <= T, L2^2 as above. Replace-one: L1 at most doubles. If a and b have one sign, t and t' have it and
    |t - t'|^2 <= |t|^2 + |t'|^2; otherwise no entry of t - t' is above c W, W = max(b, 0) - min(a, 0), and their sizes add up
    to 2 T at most, so L2^2 is at most that of entries c W filled to the brim of 2 T. A unit that is a row lies in one part:
    (t - t')^2 <= W^2 in the one that both touch, or 2 B^2 for two.
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
        l1, l2_squared, linf = unit.rows_in_parts * largest, unit.squared_rows_in_parts * largest**2, c * largest
        if not unit.add_remove:
            l1, l2_squared, linf = 2 * l1, 2 * l2_squared, c * width
            if a < 0 < b:
                full, rest = divmod(l1, linf)
                l2_squared = max(width**2, l2_squared) if unit.column is None else full * linf**2 + rest**2
        return Sensitivity(l1=l1, l2_squared=l2_squared, linf=linf)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact totals in lattice steps: a list of one Python int, or an array of one for each part."""
        if unit.column is not None:
            return Exact(self._by_unit(view, unit))
        if self.by is not None:
            largest = view.rows * max(abs(self.lattice.low), abs(self.lattice.low + self.lattice.cells))
            rows, firsts = (_wide(sums, largest) for sums in _sums_in_parts(view, unit, self.by, self, 1))
            return Exact(firsts + rows * self.lattice.low)
        held, total = offset_sum(self.lattice, view.column(self.column))
        return Exact([total + held * self.lattice.low])

    def _by_unit(self, view: View, unit: PrivacyUnit) -> Ints:
        """Totals of each unit in each part that it has rows in, cut, and added up by part."""
        owners, units = bounding.owners(view, unit)
        c, parts = (unit.rows, 1) if self.by is None else (min(unit.rows_per_group, unit.rows), self.by.count)
        if self.by is not None:
            part = view.parts(self.by)
            owners = np.where((owners >= 0) & (part >= 0), owners * parts + part, -1)
        codes, offsets = _coded_offsets(view, owners, self.column, self.lattice)
        pairs, place = (np.arange(units), codes) if self.by is None else np.unique(codes, return_inverse=True)
        a, b = self.lattice.low, self.lattice.low + self.lattice.cells
        largest = max(abs(a), abs(b)) * max(unit.rows, offsets.size)  # of any sum below
        rows = _wide(np.bincount(place, minlength=pairs.size), largest)
        totals = _wide(group_sum(offsets, place, pairs.size, self.lattice.cells), largest) + rows * a
        held = np.clip(totals, c * min(a, 0), c * max(b, 0))  # shape (pairs of a unit and a part,)
        if self.by is not None:
            most, sizes = unit.rows_in_parts * max(abs(a), abs(b)), np.zeros(units, dtype=held.dtype)
            np.add.at(sizes, pairs // parts, abs(held))
            sizes = sizes[pairs // parts]
            over = sizes > most
            sign, size = np.where(held < 0, -1, 1)[over], _wide(abs(held[over]), most * c * max(abs(a), abs(b)))
            held[over] = sign * (size * most // sizes[over])
        total = np.zeros(parts, dtype=held.dtype)
        np.add.at(total, pairs % parts, held)
        return total


@dataclass(frozen=True)
class Moments(AddsUp):
    """Rotated moments: non-negative features of a row that add up to exactly 1 (in units of `row_total`).

    With offset v in 0..M, M = cells, degree 1 has (v, M - v), which add up to T = M. Degree 2 has F v - q, F (M - v) - q and
    2 q, which add up to T = F M, with F parts a step and q = F v (M - v) / M, rounded: see `lattice.crossed`. These are T times
    (v / M)^2, (1 - v / M)^2 and 2 v / M (1 - v / M), none off by more than 1, and the first less the second is F (2 v - M)
    exactly. Sums, counts and second moments are linear in them.

    Notes
    -----
    Each row adds a non-negative vector of L1 norm T, as q is at most F v and F (M - v). A unit with c > k rows is scaled as a
    whole by k/c with integer floors, the last feature taking up what is left, so its vector stays non-negative with L1 norm
    exactly k T (clipping the features one by one would allow k T in *each* of them). Add/remove: L1 <= k T and L2 <= k T.
    Replace-one: L1 <= 2 k T, L2^2 <= 2 (k T)^2.
    By part rows are sampled: a part with n_g rows of the unit has L1 norm n_g T, so L1 <= min(k, m c) T and
    L2^2 <= T^2 sum n_g^2 under add/remove; both double under replace-one, all entries being non-negative.
    Source: Kulesza, Suresh, Wang 2024 (mean); Fitzsimons, Honaker, Shoemate, Singhal 2024 (simplex).
    """

    column: str
    lattice: Lattice
    degree: int
    by: Partition | None = None

    @property
    def features(self) -> int:
        """Number of features of a row."""
        return self.degree + 1

    @property
    def row_total(self) -> int:
        """What the features of one row add up to."""
        return self.lattice.cells * (self.lattice.parts if self.degree == 2 else 1)

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        sides = 1 if unit.add_remove else 2
        rows = unit.rows if self.by is None else unit.rows_in_parts
        squared = unit.rows**2 if self.by is None else unit.squared_rows_in_parts
        t = self.row_total
        return Sensitivity(l1=sides * rows * t, l2_squared=sides * squared * t**2, linf=rows * t)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact feature sums: a list of Python ints, shape (features,), or an array, shape (parts * features,)."""
        if self.by is not None:
            sums = _wide(_sums_in_parts(view, unit, self.by, self, self.degree), view.rows * self.row_total)
            return Exact(np.stack(self._features(*sums), axis=1).ravel())
        if unit.column is None:
            return Exact(self._features(*offset_sum(self.lattice, view.column(self.column), self.degree)))
        return Exact(self._by_unit(view, unit))

    def _features(self, rows: Any, first: Any, second: Any = 0) -> list[Any]:
        """Sums of the features from those of 1, v and q."""
        risen = first * (self.row_total // self.lattice.cells)
        return [risen - second, rows * self.row_total - risen - second, 2 * second][: self.features]

    def _by_unit(self, view: View, unit: PrivacyUnit) -> list[int]:
        codes, units = bounding.owners(view, unit)
        owner, offsets = _coded_offsets(view, codes, self.column, self.lattice)
        k, t = unit.rows, self.row_total
        largest = (k + 1) * t * max(k, offsets.size)  # of any product below
        rows = _wide(np.bincount(owner, minlength=units), largest)  # shape (units,)
        columns = (offsets, crossed(offsets, self.lattice))[: self.degree]
        sums = (_wide(group_sum(values, owner, units, t), largest) for values in columns)
        *features, _ = self._features(rows, *sums)
        counted = [np.where(rows > k, k * f // np.maximum(rows, 1), f) for f in features]
        counted.append(np.minimum(rows, k) * t - sum(counted))
        return [int(exact_sum(f, k * t)) for f in counted]


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
    block = max(1, ((1 << 62) - 1) // max(largest, 1))
    if values.dtype == object or block < isqrt(values.size):
        return sum(values.tolist())
    return sum(int(values[at : at + block].sum()) for at in range(0, values.size, block))


def _wide(values: Ints, largest: int) -> Ints:
    """The same integers with room for products up to `largest`: Python ints where int64 could wrap."""
    return values.astype(object) if largest >= 1 << 62 else values.astype(np.int64, copy=False)


def _sums_in_parts(view: View, unit: PrivacyUnit, by: Partition, of: Total | Moments, degree: int) -> Ints:
    """Exact `lattice.power_sums` of each part, after contribution bounding: shape (degree + 1, parts)."""
    values, present = view.column(of.column)
    if unit.column is None:
        codes, parts = view.coded(by)
    else:
        kept, positions = rows_in_parts(view, unit, by, present_mask(values, present))
        (codes, parts), values, present = uncoded(kept, by.count), values[positions], None
    sums = sums_by_place(of.lattice, (values, present), lambda rows: places(codes[rows]), parts.size, degree)
    totals = np.zeros((by.count + 1, degree + 1), dtype=sums.dtype)  # the last: in no part
    np.add.at(totals, parts, sums.T)
    return totals[:-1].T


def sums_by_place(lattice: Lattice, raw: Raw, place: Callable[[slice], Ints], size: int, degree: int) -> Ints:
    """Exact `lattice.power_sums` of the rows that have each place 0..size - 1, shape (degree + 1, size).

    `place` says which places a slice of rows has, in a new array. Rows are handled in chunks; a chunk is no shorter than the
    list of places, so that adding the lists costs little. Where a chunk's number of rows and sum of offsets fit in 64 bits
    side by side, one addition a row finds both. What the chunks add up to fits in int64, or Python ints are added.
    """
    (values, present), chunk, cells = raw, max(2 * CHUNK, size), lattice.cells
    top = cells * lattice.parts  # of what is added up for degree 2
    shift = (chunk * cells).bit_length()  # the digits of a chunk's sum of offsets
    paired = chunk.bit_length() + shift <= 64
    wide = top * values.size >= 1 << 62
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
            sums[2] += group_sum(crossed(offsets, lattice), places_, size + 1, top)
        if paired:
            found = np.zeros(size + 1, dtype=np.uint64)
            offsets += 1 << shift
            np.add.at(found.view(np.int64), places_, offsets)  # wraps modulo 2**64, as the sums in `found` do not
            sums[:2] += np.stack((found >> shift, found & ((1 << shift) - 1))).astype(np.int64)
        else:
            sums[0] += np.bincount(places_, minlength=size + 1)
            sums[1] += group_sum(offsets, places_, size + 1, cells)
    return sums[:, :size]


def _coded_offsets(
    view: View, codes: NDArray[np.int64], column: str, lattice: Lattice
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Code and lattice offset of each row that holds a value and has a code from 0 on."""
    values, present = view.column(column)
    kept, mask = codes >= 0, present_mask(values, present)
    if mask is not None:
        kept &= mask
    return (codes, lattice.offsets(values)) if kept.all() else (codes[kept], lattice.offsets(values[kept]))


@dataclass(frozen=True)
class Centred(AddsUp):
    """S = F1 - F2 of the features of `Moments`, with what goes with it: for weights (a, b) a S and b N, or a S alone for b = 0.

    N = F1 + F2 counts rows in units of T = `Moments.row_total`, and S adds up the positions y of -1 to 1 between the bounds,
    times T. Of degree 2 S and Q = F1 + F2 - F3, the sum of T y^2, rounded; weights stand for nothing there.

    Notes
    -----
    For all inputs a unit that counts j <= k rows adds s to S and j T to N, |s| <= j T, as its features are non-negative and add
    up to j T; an absent one, and one of nulls, adds 0. So neighbours, under either relation, differ by s - s' and (j - j') T
    with |s - s'| <= (j + j') T. Both norms are convex in j and j', hence largest where these are 0 or k: at j = j' = k the
    change is 2 a k T at most, at j' = 0 its entries are a k T and b k T. So L1 <= max(2 a, a + b) k T and
    L2^2 <= max(4 a^2, a^2 + b^2) (k T)^2.

    Of degree 2 a unit is a row, with y and y^2: |y - y'| (1 + |y + y'|) is at most 9/4, at y = 1 and y' = -1/2, and
    (y - y')^2 (1 + (y + y')^2) at most 4, as d^2 (1 + (2 - d)^2) rises in d from 0 to 2; a row that counts nowhere is one with
    y = 0. F3 is within 1 of T (1 - y^2) / 2, so Q is off by 2 at most: L1 <= 9/4 T + 4, L2 <= 2 T + 4.

    In groups a row that leaves one for another moves both: up to twice as far, which is more than `Moments` do. Refused.
    """

    moments: Moments
    weights: tuple[int, int] = (1, 0)

    def __post_init__(self) -> None:
        """Refuse groups: see the class notes."""
        if self.moments.by is not None:
            raise ValueError("in groups one unit moves centred sums twice as far")

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        t, (a, b) = unit.rows * self.moments.row_total, self.weights
        if self.moments.degree == 1:
            return Sensitivity(max(2 * a, a + b) * t, max(4 * a * a, a * a + b * b) * t * t, max(2 * a, b) * t)
        if unit.column is not None:
            raise ValueError("squares of units that are no rows")
        return Sensitivity(9 * t // 4 + 4, (2 * t + 4) ** 2, 2 * t)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """One or two Python ints."""
        first, second, *rest = self.moments.compute(view, unit).open()
        if rest:
            return Exact([first - second, first + second - rest[0]])
        return Exact([w * x for w, x in zip(self.weights, (first - second, first + second), strict=True) if w])

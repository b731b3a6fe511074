"""Sums behind the covariances of several columns: for each pair of them a table of shares that add up to one a row."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core import bounding
from pandas_dp.core.lattice import Lattice, present_mask
from pandas_dp.core.measurement import AddsUp, Exact, View
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.sums import Ints, group_sum

DIGITS = 15  # bits of each half of a share
ONE = 1 << 2 * DIGITS  # what the three shares of a value add up to
ROW_TOTAL = ONE**2  # what the nine features of a row and a pair add up to
BLOCK = 1 << 13  # rows: sums of so many products of halves are at most 2**43, so float64 holds them without rounding


@dataclass(frozen=True)
class Products(AddsUp):
    """Rotated second moments of every pair of columns: nine non-negative features that add up to `ROW_TOTAL` a row.

    A value at offset v of 0..M has the shares p^2, q^2 and 2 p q of `ONE`, p = v / M, q = 1 - p, rounded to integers that add
    up to `ONE`. The features of a row and a pair are the products of the shares of the one column with those of the other:
    p1^2 p2^2, p1^2 q2^2, 2 p1^2 p2 q2, q1^2 p2^2, ... With y = p - q the position in [-1, 1] between the bounds, 1, y1, y2,
    y1^2, y2^2 and y1 y2 are sums and differences of them. A row counts where all columns hold a value.

    Notes
    -----
    Let P be the number of pairs and T = `ROW_TOTAL`. Each row adds to each pair a non-negative vector of L1 norm exactly T
    (one that lacks a value adds nothing). A unit with c > k rows that count is scaled as a whole by k / c with integer
    floors, the last feature taking up what is left, so its vector for a pair stays non-negative with L1 norm exactly k T.
    Add/remove: L1 <= k P T; in each pair L2 <= L1 <= k T, so L2^2 <= P (k T)^2. Replace-one: the change is the difference of
    two such vectors, so L1 <= 2 k P T, and as all entries are non-negative L2^2 <= 2 P (k T)^2. No entry moves by more
    than k T.
    Source: the moments of `Moments`, multiplied; Fitzsimons, Honaker, Shoemate, Singhal 2024 (simplex).
    """

    columns: tuple[str, ...]
    lattices: tuple[Lattice, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Places of the two columns of each pair."""
        return list(combinations(range(len(self.columns)), 2))

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        sides, pairs, one = 1 if unit.add_remove else 2, len(self.pairs), unit.rows * ROW_TOTAL
        return Sensitivity(l1=sides * pairs * one, l2_squared=sides * pairs * one**2, linf=one)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact feature sums, Python ints, shape (pairs * 9,), pair after pair."""
        raw = [view.column(name) for name in self.columns]
        kept = np.ones(view.rows, dtype=bool)
        for values, present in raw:
            mask = present_mask(values, present)
            if mask is not None:
                kept &= mask
        if unit.column is None:
            return Exact(self._sums([values if kept.all() else values[kept] for values, _ in raw]))
        owner, units = bounding.owners(view, unit)
        kept &= owner >= 0
        return Exact(self._by_unit([values[kept] for values, _ in raw], owner[kept], units, unit.rows))

    def _sums(self, values: list[NDArray[Any]]) -> list[int]:
        total = np.zeros((len(self.pairs), 6, 6), dtype=object)  # of upper halves of shares, then of lower ones
        for at in range(0, values[0].size, BLOCK):
            halves = []
            for lattice, v in zip(self.lattices, values, strict=True):
                shares = _shares(lattice, v[at : at + BLOCK])
                upper = np.floor(shares / (1 << DIGITS))
                halves.append(np.concatenate((upper, shares - upper * (1 << DIGITS))))  # shape (6, rows of the block)
            for sums, (i, j) in zip(total, self.pairs, strict=True):
                sums += (halves[i] @ halves[j].T).astype(np.int64).astype(object)  # exact, see BLOCK; then Python ints
        (first, mixed), (other, last) = total.reshape(-1, 2, 3, 2, 3).transpose(1, 3, 0, 2, 4)
        found: list[int] = ((first << 2 * DIGITS) + (mixed + other << DIGITS) + last).ravel().tolist()
        return found

    def _by_unit(self, values: list[NDArray[Any]], owner: NDArray[np.int64], units: int, k: int) -> list[int]:
        """Rows of light units as they are, and of each heavy one its sums, scaled in Python ints."""
        rows = np.bincount(owner, minlength=units)
        heavy = rows > k
        scaled, scale = heavy[owner], rows[heavy].astype(object)
        sums = iter(self._sums([v[~scaled] for v in values]))
        shares = [
            _shares(lattice, v[scaled]).astype(np.int64) for lattice, v in zip(self.lattices, values, strict=True)
        ]
        place, found = (np.cumsum(heavy) - 1)[owner[scaled]], []
        for i, j in self.pairs:
            left: Ints = np.full(scale.size, k * ROW_TOTAL, dtype=object)  # what a unit adds to the pair in all
            for a, b in np.ndindex(3, 3):
                halves = np.divmod(shares[i][a] * shares[j][b], ONE)
                upper, lower = (group_sum(half, place, scale.size, ONE).astype(object) for half in halves)
                counted = k * (upper * ONE + lower) // scale if (a, b) != (2, 2) else left
                left = left - counted
                found.append(next(sums) + int(counted.sum()))
        return found


def _shares(lattice: Lattice, values: NDArray[Any]) -> NDArray[np.float64]:
    """p^2, q^2 and 2 p q of each value in units of 1 / `ONE`: shape (3, rows).

    For all inputs non-negative whole numbers that add up to `ONE` in each column: p lies in [0, 1], and the second is cut to
    what the first leaves. What float64 rounds is far below the half by which they are rounded.
    """
    p = lattice.offsets(values) / lattice.cells
    q, shares = 1 - p, np.empty((3, p.size))
    np.rint(p * p * ONE, out=shares[0])
    left = ONE - shares[0]
    np.minimum(np.rint(q * q * ONE), left, out=shares[1])
    np.subtract(left, shares[1], out=shares[2])
    return shares

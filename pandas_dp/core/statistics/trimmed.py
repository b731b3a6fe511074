"""Trimmed means with their smooth sensitivity: a share of the rows is left out at either end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Exact, View, computed
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.lattice_counts import LatticeCounts, Points
from pandas_dp.core.statistics.smooth import (
    DENSE,
    GAP,
    LOG_BITS,
    Ranked,
    SmoothSensitivity,
    cost_of,
    largest_of_windows,
    log_bound,
)

LEAST = 32  # lattice steps: no smooth sensitivity is below, so rounding the mean to the lattice moves it by a share
ROUNDING = (1 << LOG_BITS) // LEAST  # at least ln(1 + 1 / LEAST)
OF_SIZES = Fraction(1, 8)  # of beta


@dataclass(frozen=True)
class TrimmedMean:
    """Mean of the rows without the floor(trim n) lowest and highest ones, with its beta-smooth sensitivity.

    One part: the mean, rounded to the lattice, and the integer L of `SmoothOrder`. Without rows the mean is the lowest
    point.

    Notes
    -----
    Write n for the rows, m = floor(trim n), N = n - 2 m, x_i for the i-th smallest offset (0 for i < 1, cells for i > n)
    and s for the rows of a unit.

    *One row*, added, removed or replaced, moves the mean by at most B = (x_(n-m+1) - x_m) / max(1, N - 1): what is averaged
    changes by one value within these ends, or by three where m changes with n.

    *Farther away.* Let f = trim n - m and e = j - i - (N + 1) for a window [x_i, x_j] with i <= m, j >= n - m + 1. Say
    that it costs e + ceil(f / (1 - trim)) rows; the shortest one costs 0, 1 or 2. Every window of a table lies within one
    of its neighbour by one row that costs at most one row more: where m stays, an added or replaced row widens by at most
    one rank and f rises, and a removed row shortens e by as much as it may widen; where m rises, f falls by 1 - trim and
    the window need not widen; where m falls, f rises by 1 - trim and the window widens by at most two ranks. And N - 1 is at
    least max(1, ceil((1 - 2 trim) (n - w)) - 1) at w rows' distance, which falls as n - w does.

    So with beta split into two parts, 7/8 and 1/8, the largest exp(-7/8 beta (cost - (s + 1)) / s) times the length of a
    window, times the largest exp(-beta w / (8 s)) over that bound of N - 1, is beta-smooth, whatever relation moves s rows
    at once; and s times it bounds the s steps of a unit, none of which meets a table more than s - 1 rows away, with windows
    that cost s + 1 at most. It is cut at `cells`. Both maxima are found in integers with log_bound, as in `SmoothOrder`.

    *Rounding* the mean adds at most one lattice step, 1/32 of a sensitivity of at least 32 steps.
    Source: Nissim, Raskhodnikova, Smith 2007; Bun, Steinke 2019 (a fixed n, one row replaced).
    """

    points: LatticeCounts
    trim: Fraction
    beta: Fraction

    def sensitivity(self, unit: PrivacyUnit) -> SmoothSensitivity:
        """See the class notes."""
        cells = self._lattice.cells
        return SmoothSensitivity(l1=cells, l2_squared=cells**2, linf=cells, beta=self.beta)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact (mean, L) of the one part."""
        (part,) = computed(self.points, view, unit).open()
        return Exact([trimmed(part, self._lattice.cells, self.trim, self.beta, unit.rows)])

    @property
    def _lattice(self) -> Lattice:
        if not isinstance(self.points.lattice, Lattice):
            raise TypeError("a trimmed mean needs points at equal distances")
        return self.points.lattice


def trimmed(points: Points, cells: int, trim: Fraction, beta: Fraction, s: int) -> tuple[int, int]:
    """Rounded mean and L, see `TrimmedMean`."""
    rows = Ranked(points, cells)
    n = rows.n
    m = int(trim * n)
    kept = n - 2 * m
    mean = 0 if n == 0 else (2 * kept_sum(points, rows, m) + kept) // (2 * kept)
    start = math.ceil((trim * n - m) / (1 - trim))
    windows = largest_of_windows(rows, m, n - m + 1, kept + 1 + s + 1 - start, cost_of(beta * (1 - OF_SIZES), s))
    sizes = inverse_size(n, trim, s, cost_of(beta * OF_SIZES, s))
    most, least, steps = (int(x) for x in log_bound(np.array([cells, LEAST, s])))
    return mean, max(min(windows + sizes + steps + 2 * GAP, most + GAP), least + GAP) + ROUNDING


def kept_sum(points: Points, rows: Ranked, m: int) -> int:
    """Sum of the offsets of ranks m + 1 to n - m."""
    kept = np.clip(rows.last, m, rows.n - m) - np.clip(rows.first - 1, m, rows.n - m)  # shape (occupied,)
    return int((kept * points.offsets).sum())  # int64: rows * cells < 2**63


def inverse_size(n: int, trim: Fraction, s: int, cost: int) -> int:
    """Largest -log_bound(size) - cost max(0, w - (s - 1)), size = max(1, ceil((1 - 2 trim) (n - w)) - 1), over w >= s - 1."""
    share, worst = 1 - 2 * trim, -int(log_bound(np.array([max(1, n)]))[0])
    last = s - 1 + min(n, -worst // cost if cost else n)  # beyond it the cost alone is worse, or the size is 1
    best = worst
    for start in range(s - 1, last + 1, DENSE):
        w = np.arange(start, min(start + DENSE, last + 1))  # shape (at most DENSE,)
        sizes = -((w - n) * share.numerator // share.denominator) - 1
        best = max(best, int((-log_bound(np.maximum(sizes, 1)) - cost * (w - (s - 1))).max()))
        if -cost * (start + DENSE - (s - 1)) <= best:
            break
    return best

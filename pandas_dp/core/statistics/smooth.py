"""Order statistics with their smooth sensitivity: by how much one unit could move them, near the data at hand.

Everything is an integer. Distances enter through a concave integer function close to the logarithm, so the fast
algorithm finds the very maximum that its definition names, and smoothness holds without any rounding error.

Trimmed means, which leave out a share of the rows at either end, have one, too; and so has, of vectors of block results, the
one that most others are near to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Exact, View, computed
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.blocks import BlockPoints, BlockResults
from pandas_dp.core.statistics.lattice_counts import LatticeCounts, Points

LOG_BITS = 50  # logarithms are counted in units of 2**-50
FLOOR = -14 << LOG_BITS  # no smooth sensitivity is below exp(-14) lattice steps: keeps searches and integers short
GAP = 1 << LOG_BITS - 13  # at least ln(d) - log_bound(d), see there
SCALE_SHIFT = 30  # a scale that is released is known to 2**-20 of itself
MOST_BETA = 8  # what is 8-smooth is smooth for every larger beta
DENSE = 1 << 14  # candidates that are simply all compared

Ints = NDArray[np.int64]

_PIECES = 8  # log2 of the straight pieces in each doubling of the distance
_SLOPES = (1 << 28) // np.arange(513, 1025, 2, dtype=np.int64)  # shape (256,)
_CORNERS = np.concatenate(([0], np.cumsum(np.tile(_SLOPES << 23, 32))))  # values where pieces meet


@dataclass(frozen=True)
class SmoothSensitivity(Sensitivity):
    """A `Sensitivity` whose results carry, beside each value, a beta-smooth bound on how far one unit moves it.

    Attributes
    ----------
    beta : Fraction
        The bounds of neighbouring tables differ by at most a factor exp(beta), rounding included.
    dimension : int
        Number of coordinates of a value that moves as a whole: the bound is one of its L1 distance.
    """

    beta: Fraction = Fraction(0)
    dimension: int = 1


class SmoothStatistic(Protocol):
    """A statistic whose results carry smooth bounds: a dataclass with a field `beta`."""

    @property
    def beta(self) -> Fraction:
        """How smooth the bounds are."""

    def sensitivity(self, unit: PrivacyUnit) -> SmoothSensitivity:
        """With this beta."""

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact (value, L) of each part, see `SmoothOrder`."""


@dataclass(frozen=True)
class SmoothOrder:
    """The order statistic of rank ceil(q n) of each part, at least 1, and its beta-smooth sensitivity.

    The sensitivity is carried as the integer L that stands for S = exp(L / 2**LOG_BITS) lattice steps. Without rows the
    value is the lowest point.

    Notes
    -----
    Write x_i for the i-th smallest offset, x_i = 0 for i < 1 and x_i = cells for i > n, r(n) for the rank and s for the
    rows of a unit (`linf` of the counts). Let c = beta 2**LOG_BITS / s - 1, rounded down. Then

        L = GAP + max(FLOOR, max of log_bound(D) - c * max(0, w - s)) over the allowed (D, w):

    * *replace-one:* D = x_j - x_i and w = j - i for 0 <= i <= r(n) <= j <= n + 1;
    * *add/remove:* D is the range of the value over all tables at most w >= s added or removed rows away. That is
      x_h - x_l with l = r(n - w), h = r(n + w) for q >= 1/2, and l = r(n + w) - w, h = r(n - w) + w otherwise: a rows added
      and b removed reach ranks r(n + a - b) - a to r(n + a - b) + b, and these are their extremes, for
      ceil(y + 2 q t) >= ceil(y) + t for q >= 1/2 and whole t, and <= for q < 1/2.

    *Bound.* A neighbour moves the value by at most a D with w <= s, and S >= D since log_bound + GAP >= ln. For
    replace-one take a chain of s steps that each replace, add or remove one row. A step moves no order statistic past
    its neighbours in rank and r by at most 1, so every window [x_i, x_j] around the value after it lies within one around
    the value before it with w larger by 1; s such steps enlarge the degenerate window at the new value to w = s.
    *Smoothness.* The same inclusion, and for add/remove that of balls, turns every (D, w) of one table into (D', w + s)
    of its neighbour with D' >= D. log_bound never falls, so L moves by at most c s, whatever its rounding.
    The mechanism's rounding of exp(L / 2**LOG_BITS) is paid by the - 1 in c, so beta holds with it. The chains change the
    number of rows, so rows without a value and units of fewer rows are covered.
    For s = 1 this is, but for GAP and FLOOR, the smallest beta-smooth bound under replace-one and for the median under
    add/remove; otherwise it is larger by little.
    Source: Nissim, Raskhodnikova, Smith 2007, Section 3.1 (replace-one).
    """

    points: LatticeCounts | BlockPoints
    q: Fraction
    beta: Fraction

    @property
    def lattice(self) -> Any:
        """Where the values lie."""
        return self.points.means.lattice if isinstance(self.points, BlockPoints) else self.points.lattice

    def sensitivity(self, unit: PrivacyUnit) -> SmoothSensitivity:
        """See the class notes."""
        cells, touched = self.lattice.cells, self.points.sensitivity(unit).touched
        return SmoothSensitivity(touched * cells, touched * cells**2, cells, touched=touched, beta=self.beta)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact (value, L) of each part."""
        counts, lattice = self.points.sensitivity(unit), self.lattice
        if not isinstance(lattice, Lattice):
            raise TypeError("smooth sensitivity needs points at equal distances")
        one_way = counts.score_range == counts.linf  # add/remove: all counts of rows move up, or all down
        parts = computed(self.points, view, unit).open()
        return Exact([smooth(part, lattice.cells, self.q, self.beta, counts.linf, one_way) for part in parts])


@dataclass(frozen=True)
class SmoothScale:
    """The smooth sensitivity of each part itself: L / 2**SCALE_SHIFT, rounded down.

    Notes
    -----
    L of neighbouring tables differs by less than beta 2**LOG_BITS, so what is left of it by a whole number that is not
    larger than beta 2**(LOG_BITS - SCALE_SHIFT), rounded up. Source: Nissim, Raskhodnikova, Smith 2007.
    """

    of: SmoothStatistic

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        step, touched = math.ceil(self.of.beta * (1 << LOG_BITS - SCALE_SHIFT)), self.of.sensitivity(unit).touched
        return Sensitivity(l1=touched * step, l2_squared=touched * step**2, linf=step, touched=touched)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact integers, one for each part."""
        return Exact([log_scale >> SCALE_SHIFT for _, log_scale in self.of.compute(view, unit).open()])


def smooth(points: Points, cells: int, q: Fraction, beta: Fraction, s: int, one_way: bool) -> tuple[int, int]:
    """Value and L of one part, see `SmoothOrder`; `one_way` stands for add/remove."""
    rows = Ranked(points, cells)
    r = int(rank(q, np.array([rows.n]))[0])
    cost = cost_of(beta, s)
    best = _largest_of_balls(rows, q, s, cost) if one_way else largest_of_windows(rows, r, r, s, cost)
    return int(rows.at(np.array([r]))[0]), max(FLOOR, best) + GAP


def cost_of(beta: Fraction, s: int) -> int:
    """What one row costs, in units of log_bound: s rows less than beta, by as much as the mechanism's rounding takes."""
    return max(int(min(beta, Fraction(MOST_BETA)) * (1 << LOG_BITS) / s) - 1, 0)


def log_bound(distance: Ints) -> Ints:
    """A concave, never falling integer function of whole numbers up to 2**31 with 0 <= ln - log_bound <= GAP.

    In units of 2**-LOG_BITS; for 0 it is -2**60, as low as nothing else gets.

    Notes
    -----
    Linear between 2**e m / 256, m = 256..511, with slope C_m 2**(31 - e), C_m = floor(2**28 / (2 m + 1)). Slopes fall
    within an octave, and from 2 * 262400 to 523264 into the next: concave. 2 / (2 m + 1) < ln((m + 1) / m) by less than
    1.3e-6 of it and the floor takes less than 3.9e-6: below ln, by at most 3.6e-6 an octave. A chord lies below ln by at
    most 2e-6. In all less than 31 * 3.6e-6 + 2e-6 < 2**-13. Every value is an integer: a distance below 256 lies on
    a corner, others are whole multiples of 2**(e - 8) / 2**(e - 8) beyond one.
    """
    bits = distance.astype(np.float64).view(np.int64)  # exact: exponent and leading digits of the distance
    piece = np.maximum((bits >> 52 - _PIECES) - (1023 << _PIECES), 0)
    rest = (bits & (1 << 52 - _PIECES) - 1) >> 21
    return np.where(distance > 0, _CORNERS[piece] + _SLOPES[piece & 255] * rest, -1 << 60)


def rank(q: Fraction, n: Ints) -> Ints:
    """ceil(q n), at least 1; 0 for n = 0."""
    top, bottom = q.numerator, q.denominator
    return np.maximum((top * n + bottom - 1) // bottom, np.minimum(n, 1))


class Ranked:
    """The rows of one part in ascending order."""

    def __init__(self, points: Points, cells: int) -> None:
        self.offsets, self.cells = points.offsets, cells
        self.last = np.cumsum(points.counts)  # last rank at each occupied point, shape (occupied,)
        self.first = self.last - points.counts + 1
        self.n = int(self.last[-1]) if self.last.size else 0

    def at(self, ranks: Ints) -> Ints:
        """Offsets of these ranks, the ends of the lattice beyond 1..n."""
        found = np.append(self.offsets, self.cells)[np.searchsorted(self.last, ranks)]
        return np.where(ranks < 1, 0, found).astype(np.int64, copy=False)

    def reach(self, free: int, cost: int) -> int:
        """Windows with more ranks than this, `free` of which cost nothing, score below the floor."""
        spare = int(log_bound(np.array([self.cells]))[0]) - FLOOR
        return free + (spare // cost if cost else self.n + 1)


def _largest_of_balls(rows: Ranked, q: Fraction, s: int, cost: int) -> int:
    """Go through all w until not even the whole lattice could win; from n + 1 on the range is the whole lattice."""
    best, span = FLOOR, int(log_bound(np.array([rows.cells]))[0])
    last = max(s, min(rows.reach(s, cost), rows.n + 1))
    for start in range(s, last + 1, DENSE):
        if span - cost * (start - s) <= best:
            break
        w = np.arange(start, min(start + DENSE, last + 1))  # shape (at most DENSE,)
        fewer, more = rank(q, np.maximum(rows.n - w, 0)), rank(q, rows.n + w)
        low, high = (fewer, more) if 2 * q >= 1 else (more - w, fewer + w)
        scores = log_bound(rows.at(high) - rows.at(low)) - cost * (w - s)
        best = max(best, int(scores.max()))
    return best


def largest_of_windows(rows: Ranked, a: int, b: int, free: int, cost: int) -> int:
    """Largest log_bound(x_j - x_i) - cost max(0, j - i - free) over the ranks i <= a <= b <= j: O(n log n).

    Of several ranks at one point the one closest to a or b is best. The best right end moves right with the left end:
    log_bound is concave, so going from j to a farther j' gains no less seen from closer by, and costs no more,
    max(0, j - i - free) being convex. So the best right end of the middle left end splits the search in two.
    """
    own, other = (int(np.searchsorted(rows.last, end)) for end in (a, b))
    left, low = np.append(0, np.minimum(rows.last[: own + 1], a)), np.append(0, rows.offsets[: own + 1])
    right = np.append(np.maximum(rows.first[other:], b), rows.n + 1)
    high = np.append(rows.offsets[other:], rows.cells)
    reach = rows.reach(free, cost)
    near = np.searchsorted(left, b - reach)
    left, low = left[near:], low[near:]
    near = np.searchsorted(right, a + reach, side="right")
    right, high = right[:near], high[:near]

    def score(i: slice, j: slice) -> Ints:
        width = right[j] - left[i, None]  # shape (left ends, right ends)
        return np.asarray(log_bound(high[j] - low[i, None]) - cost * np.maximum(width - free, 0))

    def most(top: int, bottom: int, start: int, stop: int) -> int:
        """A bound on all scores of some left ends and some right ends: the largest distance at the least width."""
        width = max(int(right[start] - left[bottom - 1]) - free, 0)
        return int(log_bound(high[stop - 1 : stop] - low[top])[0]) - cost * width

    best, todo = FLOOR, [(0, left.size, 0, right.size)]
    while todo:
        top, bottom, start, stop = todo.pop()
        if top == bottom or most(top, bottom, start, stop) <= best:
            continue
        if (bottom - top) * (stop - start) <= DENSE:
            best = max(best, int(score(slice(top, bottom), slice(start, stop)).max()))
            continue
        middle = (top + bottom) // 2
        scores = score(slice(middle, middle + 1), slice(start, stop))[0]
        turn = start + int(np.argmax(scores))
        best = max(best, int(scores[turn - start]))
        todo += [(top, middle, start, turn + 1), (middle + 1, bottom, turn, stop)]
    return best


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


@dataclass(frozen=True)
class CentreOfAttention:
    """The block result with the most others close to it, and a beta-smooth bound on how far (L1) one unit moves it.

    Each coordinate is one entry (value, L) with the L of `SmoothOrder`; they share it.

    Notes
    -----
    Of K results z_1, ..., z_K one changes (see `BlockResults`), under either relation. Let t = floor((K + 1) / 2) + 1, r_c(u)
    the distance from z_c to its u-th nearest result, itself included, and rho_j(u) the j-th smallest of r_1(u), ..., r_K(u).
    The answer is the z_c of least r_c(t), the first of equals. Then

        L = GAP + max(FLOOR, max over k >= 0 of log_bound(rho_(1+k)(t + k) + rho_(2+k)(t + 1 + k)) - c k),

    c = beta 2**LOG_BITS - 1 rounded down, with the diameter of all results wherever it is less, or an index exceeds K.

    *Bound.* The ball of radius rho_1(t) around the one answer, and that of radius rho'_1(t) around the other, each hold at
    least t - 1 of the K - 1 results that did not change. 2 (t - 1) >= K, so both hold one of them, and the answers are at most
    rho_1(t) + rho'_1(t) apart. rho'_1(t) <= rho_2(t + 1): of the two results with the least r(t + 1) one is still there,
    and so are at least t of the t + 1 near it.
    *Smoothness.* Likewise rho'_j(u) <= rho_(j+1)(u + 1) for all j and u, so the term k of one table is at most the term k + 1
    of its neighbour, and log_bound never falls.
    Source: Nissim, Raskhodnikova, Smith 2007, Section 5, with order statistics instead of their averages.
    """

    results: BlockResults
    beta: Fraction

    def sensitivity(self, unit: PrivacyUnit) -> SmoothSensitivity:
        """All coordinates move together."""
        cells, outputs = self.results.lattice.cells, self.results.outputs
        return SmoothSensitivity(outputs * cells, outputs * cells**2, cells, beta=self.beta, dimension=outputs)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact (value, L) of each coordinate."""
        values = self.results.values(view, unit)
        place, log_scale = centre(values, self.results.outputs * self.results.lattice.cells, self.beta)
        return Exact([(int(value), log_scale) for value in values[:, place]])


def centre(values: Ints, diameter: int, beta: Fraction) -> tuple[int, int]:
    """Place of the central one among results of shape (outputs, blocks), and its L; see `CentreOfAttention`."""
    blocks = values.shape[1]
    distances = np.zeros((blocks, blocks), dtype=np.int64)
    for row in values:
        distances += np.abs(row[:, None] - row)
    radius = np.sort(distances, axis=1)  # shape (blocks, blocks): r_c(u) at [c, u - 1]
    t = (blocks + 1) // 2 + 1
    if t > blocks:  # one result, or two
        return 0, max(FLOOR, int(log_bound(np.array([diameter]))[0])) + GAP
    place = int(np.argmin(radius[:, t - 1]))
    rho = np.sort(radius[:, t - 1 :], axis=0)  # shape (blocks, blocks - t + 1): rho_j(t + k) at [j - 1, k]
    near = np.append(np.diagonal(rho), diameter)  # k-th: rho_(1+k)(t + k), shape (blocks - t + 2,)
    moved = np.minimum(near + np.append(np.diagonal(rho[1:, 1:]), [diameter, diameter]), diameter)
    cost = cost_of(beta, 1)
    spare = int(log_bound(np.array([diameter]))[0]) - FLOOR  # terms that cost more are below the floor
    moved = moved[: spare // cost + 2] if cost else moved
    return place, max(FLOOR, int((log_bound(moved) - cost * np.arange(moved.size)).max())) + GAP

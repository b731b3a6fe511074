"""Draws from a law on 0, 1, 2, ... by a table of integer thresholds, thousands at a time and exact.

A draw counts the k with F(k) <= U, for the distribution function F and a uniform U. Sixteen bits of U nearly
always settle it by a look-up; 64 bits settle nearly all of the rest by a binary search; the about 2**-50 that
are left go on with more bits of the same U in Python integers, as do draws beyond the end of the table. Only
integers are ever compared.

For all laws whose enclosures hold, and fair independent bits, draws are independent and P(draw <= k) = P(U < F(k)) = F(k),
exactly. A threshold t of F(k) is a whole number with t <= 2**full F(k) < t + 2, and u the leading bits of U: u <= 2**full U <=
u + 1. So t > u means that U is below F(k), and t <= u - 2 that it is not, up to events of probability 0. What is left, t = u or
t = u - 1, is decided from more bits of this U and a closer enclosure of F(k), until they lie apart. The look-up answers for
cells of u alone in which neither some t nor some t + 1 lies: all its u have the same number of thresholds below.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.randomness import Bits, Fill, Lazy, random_words
from pandas_dp.core.samplers.scalar import exp_bounds

CHUNK = 1 << 16  # most draws at once: temporaries stay in the second-level cache

Law = Callable[[int, int], tuple[int, int]]
"""(k, bits) -> integers around 2**bits * F(k), closing in on it as bits grows."""

Enclosure = tuple[int, int, int, int]
"""(a, b, c, d) with a/b <= F(k) <= c/d."""


class CodeTable:
    """Thresholds of one law, to draw from.

    Parameters
    ----------
    law : Law
        The distribution function, for the draws the table leaves open.
    enclosures : iterable of Enclosure
        F(0), F(1), ... A law on finitely many values leaves out its last one, where F is 1; any other goes on
        until F is within 2**-full of 1.
    limit : int
        Largest value that whoever uses the draw can hold.
    guide, full : int
        Bits of U for the look-up and for the search: 16 and 64. Tests make them small, so that the exact path
        is common.
    """

    def __init__(self, law: Law, enclosures: Iterable[Enclosure], limit: int, guide: int = 16, full: int = 64) -> None:
        self._law = law
        self._limit = limit
        self._guide_bits = guide
        self._full_bits = full
        # shape (values,), rising; thresholds[k] <= 2**full * F(k) < thresholds[k] + 2
        self.thresholds = np.array([_threshold(around, full) for around in enclosures], dtype=np.uint64)
        self._listed: list[int] = self.thresholds.tolist()
        self._guide: NDArray[np.int16] | None = None
        # A uniform above the last threshold gives the last value or, if the law has none, the exact path.
        end = self.thresholds.size
        if int(self.thresholds[-1]) < (1 << full) - 2 and law(end, full)[0] < 1 << full:
            raise ArithmeticError("the table ends before its law does")

    def draw(self, n: int, fill: Fill) -> NDArray[np.int64]:
        """Return n independent draws, n <= CHUNK, shape (n,)."""
        full, guide_bits = self._full_bits, self._guide_bits
        if n < 256 or (self._guide is None and n < 8192):  # too few to pay for the look-up
            return self._search(random_words(n, fill) >> np.uint64(64 - full), fill)
        if self._guide is None:
            self._guide = self._make_guide()
        lead = random_words(n, fill, np.uint16) >> np.uint16(16 - guide_bits)
        found = self._guide.take(lead)
        unsure = np.flatnonzero(found < 0)
        draws = found.astype(np.int64)
        if unsure.size:
            rest = full - guide_bits
            u = lead[unsure].astype(np.uint64) << np.uint64(rest)
            u |= random_words(unsure.size, fill) >> np.uint64(64 - rest)
            draws[unsure] = self._search(u, fill)
        return draws

    def pick(self, bits: Bits) -> int:
        """Return one draw, by a word as long as the table's thresholds."""
        u = bits.word()
        k = bisect_right(self._listed, u)
        return self._exact(u, bits) if k and u - self._listed[k - 1] <= 1 else k

    def _make_guide(self) -> NDArray[np.int16]:
        """Return draws by the leading bits of U, shape (2**guide,); -1 for cells with a threshold."""
        cells = 1 << self._guide_bits
        cut = np.uint64(self._full_bits - self._guide_bits)
        first = (self.thresholds >> cut).astype(np.int64)
        counts = np.bincount(first, minlength=cells)
        guide = (np.cumsum(counts) - counts).astype(np.int16)  # thresholds in earlier cells
        last = ((self.thresholds + np.uint64(1)) >> cut).astype(np.int64)
        guide[first] = -1
        guide[last[last < cells]] = -1
        return guide

    def _search(self, u: NDArray[np.uint64], fill: Fill) -> NDArray[np.int64]:
        """Return the draws of uniforms in [u, u + 1] / 2**full, shape (n,)."""
        draws = np.searchsorted(self.thresholds, u, side="right")
        # Thresholds above u are above U. Those at most u - 2 are below U. Between them the last one passed
        # may be wrong.
        near = (u - self.thresholds[np.maximum(draws, 1) - 1] <= 1) & (draws > 0)
        for i in np.flatnonzero(near):
            draws[i] = self._exact(int(u[i]), Bits(fill, size=2))
        return draws

    def _exact(self, leading: int, bits: Bits) -> int:
        """Return the draw whose uniform begins with `leading`, from further bits of this uniform."""
        u = Lazy(bits, leading, self._full_bits)
        k = int(np.searchsorted(self.thresholds, np.uint64(max(leading - 1, 0)), side="left"))
        while not self._passes(u, k):
            k += 1
            if k > self._limit:
                raise OverflowError("noise beyond 64-bit integers")
        return k

    def _passes(self, u: Lazy, k: int) -> bool:
        """Return whether u < F(k)."""
        while True:
            bits = u.n + 64
            low, high = self._law(k, bits)
            if (u.a + 1) << bits <= low << u.n:
                return True
            if u.a << bits >= high << u.n:
                return False
            u.extend()


def _threshold(around: Enclosure, full: int) -> int:
    a, b, c, d = around
    low = (a << full) // b
    if (c << full) // d - low > 1:
        raise ArithmeticError("a distribution function is not enclosed closely enough for its table")
    return min(max(low, 0), (1 << full) - 1)


def power_bounds(numerator: int, denominator: int, count: int, bits: int) -> list[tuple[int, int]]:
    """Return integers around 2**bits * exp(-k numerator/denominator) for k = 0, ..., count.

    Each step multiplies by the lower end of the first power and cuts: it adds the first power's gap, and at
    most 2.
    """
    first, high = exp_bounds(-numerator, denominator, bits)
    step = high - first + 2
    low, powers = 1 << bits, []
    for k in range(count + 1):
        powers.append((low, min(low + k * step, 1 << bits)))
        low = low * first >> bits
    return powers

"""Randomized response: each entry keeps its part or takes a random one."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import Fill, random_bytes, random_words
from pandas_dp.core.samplers.scalar import exp_bounds

WORD = 1 << 64


@dataclass(frozen=True)
class RandomizedResponse:
    """Keeps an entry with probability keep / 2**64, otherwise replaces it by a uniform one of `parts` (maybe the same).

    An entry of -1 is always replaced.

    Notes
    -----
    With a = keep / 2**64 and k parts an entry comes out as itself with probability p = a + (1 - a)/k and as any other one
    with q = (1 - a)/k; an entry of -1 gives each part with 1/k, which lies in [q, p], and 1/k / q <= p / q,
    p / (1/k) <= p / q. So for all pairs of inputs and every output the ratio of probabilities is at most
    p / q = (1 + (k - 1) a) / (1 - a), and the loss of an entry is pure ln(p / q). Entries are drawn independently.
    For two parts that is 2 artanh(a), not 2 a, which lies below.
    The answers come sorted, so that the order of the entries does not matter: in a table that is sorted by a private column
    replacing one unit moves the rows of others to other places.
    Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016.
    """

    parts: int
    keep: int

    name = "randomized response"

    @classmethod
    def calibrate(cls, epsilon: Fraction, parts: int) -> RandomizedResponse:
        """Return the largest a multiple of 2**-64 allows whose loss is at most epsilon: a = (1 - x) / (1 + (k - 1) x)."""
        one = 1 << 128
        x = exp_bounds(-epsilon.numerator, epsilon.denominator, 128)[1]  # 2**128 e**-epsilon, rounded up
        made = cls(parts, min((one - min(x, one)) * WORD // (one + (parts - 1) * x), WORD - 1))
        while made.epsilon > epsilon:  # the bound below is rounded up
            made = cls(parts, made.keep - 1)
        return made

    @property
    def epsilon(self) -> Fraction:
        """ln(p / q), rounded up: 60 digits, of which the slack gives away ten."""
        with localcontext(Context(prec=60)):
            odds = Decimal(WORD + (self.parts - 1) * self.keep) / Decimal(WORD - self.keep)
            return Fraction(odds.ln() + Decimal("1e-50")) if self.keep else Fraction(0)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Pure ln(p / q) for each entry that one unit can change."""
        return PrivacyLoss.pure(self.epsilon).times(sensitivity.touched)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One part for each entry, sorted."""
        out: Noisy = np.sort(self.answers(np.asarray(exact.held()), fill)).tolist()
        return out

    def answers(self, codes: NDArray[np.intp], fill: Fill) -> NDArray[np.int64]:
        """Part of each entry, in their order; which and how many random words are read does not depend on the entries."""
        kept = happens(self.keep, codes.size, fill) & (codes >= 0)
        return np.where(kept, codes, uniform_parts(codes.size, self.parts, fill)).astype(np.int64)


def happens(threshold: int, count: int, fill: Fill) -> NDArray[np.bool_]:
    """`count` independent events, each of probability exactly threshold / 2**64.

    A uniform word of 64 bits lies below the threshold. Its first 16 bits tell, unless they equal the threshold's: then the
    other 48 are drawn as well.
    """
    first, rest = threshold >> 48, threshold & ((1 << 48) - 1)
    words = random_words(count, fill, np.uint16)
    below: NDArray[np.bool_] = words < first
    tied = np.flatnonzero(words == first)
    below[tied] = random_words(tied.size, fill) >> np.uint64(16) < rest
    return below


def uniform_parts(count: int, parts: int, fill: Fill) -> NDArray[np.uint32]:
    """`count` independent parts, each exactly uniform on 0..parts-1, for parts < 2**32.

    Words at or beyond the last multiple of `parts` are drawn again.
    """
    last = (1 << 32) - (1 << 32) % parts - 1
    words = random_words(count, fill, np.uint32).copy()
    while (again := np.flatnonzero(words > last)).size:
        words[again] = random_words(again.size, fill, np.uint32)
    words %= np.uint32(parts)
    return words

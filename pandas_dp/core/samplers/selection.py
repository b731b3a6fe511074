"""Exact selection of one candidate by integer scores: permute-and-flip and the exponential mechanism.

Scores and counts are exact data. What is drawn has exactly the stated law; run time depends a little on how
many candidates are close to the best one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.randomness import Bits, Fill, Lazy, random_bytes, random_words
from pandas_dp.core.samplers.scalar import below_exp, draw_below, draw_bernoulli_exp, exp_bounds, positive_ratio
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

CHUNK = 1 << 14  # candidates handled at once: temporaries stay in the second-level cache
FEW = 64  # below this many candidates Python integers are faster
COINS = 1 << 12  # entries of the table of coins

# A candidate this many units of 1/rate below the best has weight exp(-200) < 2**-288: farther ones may share
# its bound.
REACH = 200
# 10**36 log2(e), rounded down.
LOG2_E = 1442695040888963407359924681001892137


def _checked(values: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    if values.dtype != np.int64 or values.ndim != 1:
        raise ArgumentTypeError(f"{name} is not a 1-d int64 array; type np.array({name}, dtype='int64')")
    if values.size == 0:
        raise ArgumentValueError(f"{name} is empty; there must be a candidate to choose")
    return values


def _distances(scores: NDArray[np.int64], best: int) -> NDArray[np.uint64]:
    """Return best - scores, exact for all scores up to `best`: below 2**64, where uint64 wraps."""
    return np.subtract(np.int64(best), scores).view(np.uint64)


# ------------------------------------------------------------------------------------------- permute-and-flip
def permute_and_flip(scores: NDArray[np.int64], rate: Fraction, *, fill: Fill = random_bytes) -> int:
    """Return the index chosen by permute-and-flip.

    Candidates are visited in random order; one is returned with probability exp(-(max(scores) - score) *
    rate), else it is put aside and the next one is visited.

    Parameters
    ----------
    scores : ndarray of int64, shape (candidates,)
        At least one; any values.
    rate : Fraction
        Any positive fraction: epsilon over (twice) the sensitivity, per unit of score.
    fill : Fill
        Source of random bytes.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        scores is not int64 or empty; rate is not a Fraction or not positive.

    Notes
    -----
    The law is exact for all scores and rates: P(r) = p_r * integral over 0..1 of prod over s != r of (1 - p_s
    t) dt, with p_s the probability that candidate s is returned when visited. McKenna, Sheldon 2020.
    """
    numerator, denominator = positive_ratio(rate, "rate")
    if _checked(scores, "scores").size < FEW:
        return _flip_few(scores.tolist(), numerator, denominator, Bits(fill, size=32))
    return _flip_many(scores, numerator, denominator, fill)


def _flip_few(scores: list[int], numerator: int, denominator: int, bits: Bits) -> int:
    best, order = max(scores), list(range(len(scores)))
    while True:  # ends at the latest with the best candidate
        j = draw_below(len(order), bits)
        i, order[j] = order[j], order[-1]
        order.pop()  # visited once
        if draw_bernoulli_exp((best - scores[i]) * numerator, denominator, bits):
            return i


@lru_cache(maxsize=16)
def _coins(numerator: int, denominator: int) -> tuple[int, NDArray[np.uint16]]:
    """Return h, and 16-bit floors of exp(-k 2**h rate) for k = 0, 1, ... until below exp(-12), then 0.

    entry <= 2**16 exp(-k 2**h rate) < entry + 2: lower ends of powers are multiplied and cut, which makes the
    last of at most 4096 entries too low by less than 4096 * 4 units of 2**-64, far less than a unit of
    2**-16. exp(-12) < 2**-17.
    """
    reach = 12 * denominator // numerator + 1
    h = min((reach // COINS).bit_length(), 63)
    first = exp_bounds(-numerator << h, denominator, 64)[0]
    power, entries = 1 << 64, []
    for _ in range(min((reach >> h) + 1, COINS)):  # h = 63: distances have only two leading parts
        entries.append(min(power >> 48, 65535))
        power = power * first >> 64
    return h, np.array([*entries, 0], dtype=np.uint16)


def _flip_many(scores: NDArray[np.int64], numerator: int, denominator: int, fill: Fill) -> int:
    """Toss all coins and take a random one of the heads: the same law, as no coin depends on the order.

    With d = 2**h high + low a coin is two: exp(-d rate) = exp(-2**h high rate) * exp(-low rate). Sixteen bits
    of the first one's uniform are drawn for everyone; those that may be heads are visited in random order and
    their coins finished.
    """
    h, table = _coins(numerator, denominator)
    upper = np.minimum(table, 65534) + np.uint16(1)  # largest leading bits that can still be heads
    beyond = np.uint64(table.size - 1)
    best = int(scores.max())
    found, leading = [], []
    for at in range(0, scores.size, CHUNK):
        high = _distances(scores[at : at + CHUNK], best) >> np.uint64(h)
        np.minimum(high, beyond, out=high)
        words = random_words(high.size, fill, np.uint16)
        maybe = np.flatnonzero(words <= upper.take(high.view(np.int64)))
        found.append(maybe + at)
        leading.append(words[maybe])
    # index, words: shape (candidates that may be heads,)
    index, words = np.concatenate(found), np.concatenate(leading)
    bits = Bits(fill, size=32)
    left = index.size
    while True:  # ends at the latest with the best candidate
        j = draw_below(left, bits)
        i, word = int(index[j]), int(words[j])
        left -= 1
        index[j], words[j] = index[left], words[left]  # visited once
        distance = best - int(scores[i])
        low = distance & (1 << h) - 1
        if not below_exp(Lazy(bits, word, 16), (distance - low) * numerator, denominator):
            continue
        if low == 0 or draw_bernoulli_exp(low * numerator, denominator, bits):
            return i


# -------------------------------------------------------------------------------------- exponential mechanism
def exponential_mechanism(
    scores: NDArray[np.int64], rate: Fraction, counts: NDArray[np.int64] | None = None, *, fill: Fill = random_bytes
) -> int:
    """Return index i with probability proportional to counts[i] * exp(scores[i] * rate).

    Parameters
    ----------
    scores : ndarray of int64, shape (groups,)
        At least one; any values.
    rate : Fraction
        Any positive fraction: epsilon over (twice) the sensitivity, per unit of score.
    counts : ndarray of int64, shape (groups,), optional
        How many candidates share the score; 0 or more, not all 0. None: one each.
    fill : Fill
        Source of random bytes.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        scores or counts is not int64, empty, negative or without candidate; rate is not a Fraction or not
        positive.

    Notes
    -----
    The law is exact for all scores, rates and counts. Every group gets a power of two that is at least its
    weight; groups are drawn in proportion to these powers, whose sum is an integer below 2**62, and accepted
    with weight over power, by an enclosure of exp: rejection sampling, exact whatever the bounds are. About
    half of the proposals are accepted. McSherry, Talwar 2007.
    """
    numerator, denominator = positive_ratio(rate, "rate")
    _checked(scores, "scores")
    best = int(scores.max()) if counts is None else _best_present(scores, _checked(counts, "counts"))
    bounds = _Bounds(scores, best, numerator, denominator, counts)
    return _reject(bounds, scores, best, numerator, denominator, counts, Bits(fill))


def _reject(
    bounds: _Bounds,
    scores: NDArray[np.int64],
    best: int,
    numerator: int,
    denominator: int,
    counts: NDArray[np.int64] | None,
    bits: Bits,
) -> int:
    """Draw groups by their bounds until one is accepted with probability weight / bound."""
    while True:
        i = bounds.propose(bits)
        count = 1 if counts is None else int(counts[i])
        if count and _accept(count, (best - int(scores[i])) * numerator, denominator, bounds.level(i), bits):
            return i


def _best_present(scores: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """Return the best score among groups with candidates."""
    if counts.size != scores.size:
        raise ArgumentValueError("counts and scores differ in length; type one count for each score")
    least = int(counts.min())
    if least > 0:
        return int(scores.max())
    if least < 0 or not counts.any():
        raise ArgumentValueError("counts has a negative entry, or none above 0; type counts=None for one each")
    return int(scores[counts > 0].max())


class _Bounds:
    """Powers of two that bound all weights, and proposals in proportion to them.

    A weight is counts[i] * exp(-(best - scores[i]) * rate), at most 2**-(level + offset). The bound of a
    group is 2**(last - level), or 1 for levels beyond `last`.
    """

    def __init__(
        self, scores: NDArray[np.int64], best: int, numerator: int, denominator: int, counts: NDArray[np.int64] | None
    ) -> None:
        self._levels = np.empty(scores.size, dtype=np.int16)
        shift, reach, slope, bits = _slope(numerator, denominator)
        for at in range(0, scores.size, CHUNK):
            distance = _distances(scores[at : at + CHUNK], best)
            distance >>= np.uint64(shift)
            # Groups without candidates may lie above the best one: wrapped, so far away.
            np.minimum(distance, np.uint64(reach), out=distance)
            level = distance.view(np.int64)
            level *= slope
            level >>= bits  # floor: exp(-distance * rate) <= 2**-level
            if counts is not None:
                # The exponent field of a count as float64 counts its bits: count <= 2**(field - 1022),
                # whatever way the conversion rounds. It only bounds the weight; 0 has field 0, the highest
                # level and so the bound 1.
                field = counts[at : at + CHUNK].astype(np.float64).view(np.int64)
                field >>= 52
                level -= field
            self._levels[at : at + CHUNK] = level
        self._offset = 0 if counts is None else 1022
        # n groups of at most 2**(61 - bits of n): the sum is below 2**62.
        self._last = int(self._levels.min()) + 62 - scores.size.bit_length()
        self._sums = [int(self._chunk(at).sum()) for at in range(0, self._levels.size, CHUNK)]
        self._total = sum(self._sums)

    def _chunk(self, at: int) -> NDArray[np.int64]:
        """Bounds of the groups from `at`, shape (up to CHUNK,)."""
        level = np.minimum(self._levels[at : at + CHUNK], np.int16(self._last))
        return np.left_shift(np.int64(1), (np.int16(self._last) - level).astype(np.int64))

    def level(self, i: int) -> int:
        """Return l with weight of group i <= 2**-l, as used by `propose`."""
        return min(int(self._levels[i]), self._last) + self._offset

    def propose(self, bits: Bits) -> int:
        """Return a group with probability proportional to its bound."""
        r, chunk = draw_below(self._total, bits), 0
        while r >= self._sums[chunk]:
            r -= self._sums[chunk]
            chunk += 1
        at = chunk * CHUNK
        return at + int(np.searchsorted(np.cumsum(self._chunk(at)), r, side="right"))


def _slope(numerator: int, denominator: int) -> tuple[int, int, int, int]:
    """Return (shift, reach, slope, bits): min(d >> shift, reach) * slope / 2**bits <= d * rate * log2(e).

    All products stay below 2**62, for every rate: rates above REACH are taken as REACH (distances are
    integers), and for tiny ones trailing bits of the distance are left out. Either only raises the bounds.
    """
    if numerator > REACH * denominator:
        numerator, denominator = REACH, 1
    reach = REACH * denominator // numerator + 1
    shift = min(max(0, reach.bit_length() - 48), 63)
    reach = min(reach >> shift, 1 << 48)
    # reach * 2**shift * rate * log2(e) <= (REACH + 2**shift * rate) * 1.45 <= 2 * REACH * 1.45 < 2**10
    bits = 52
    slope = (numerator * LOG2_E << bits + shift) // (denominator * 10**36)
    return shift, reach, slope, bits


def _accept(count: int, numerator: int, denominator: int, level: int, bits: Bits) -> bool:
    """Return True with probability count * exp(-numerator/denominator) * 2**level, which is at most 1."""
    u = Lazy.uniform(bits)
    while True:
        precision = max(u.n + level, 0) + 16 + count.bit_length()
        low, high = exp_bounds(-numerator, denominator, precision)
        cut = precision - level  # at least u.n + 16
        if (u.a + 1) << cut <= count * low << u.n:
            return True
        if u.a << cut >= count * high << u.n:
            return False
        u.extend()

"""Which keys are there? Selections that list a key only where many units hold it, so that no unit shows by a key of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pandas_dp.core.measurement import Exact, Listing
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.privacy import PrivacyLoss, PureLoss, Sensitivity
from pandas_dp.core.randomness import Bits, Fill, Lazy, random_bytes, random_words
from pandas_dp.core.samplers.scalar import exp_bounds
from pandas_dp.core.statistics.counts import KeySensitivity

WORD = 64


@dataclass(frozen=True)
class NoisyThreshold:
    """Adds noise to each positive count, and lists the keys whose noisy count reaches a threshold, with that count.

    Parameters
    ----------
    noise : Noise
    threshold : int
    delta : Fraction
        At least the probability that any of the keys that one unit alone holds is listed.

    Notes
    -----
    Let x and x' be neighbours, A the keys that only x' has, A' those that only x has, B the common ones. The unit in which they
    differ owns all rows of A in x', and of A' in x. A key of v rows is listed with chance q(v) = P(noise >= threshold - v),
    so any of A is with probability t, at most the sum of q(v) over A, and any of A' with t' likewise. Keys have noise of their
    own: where nothing of A is listed, x' gives what its counts of B alone give, call it U', and where nothing of A' is,
    x gives U. So for every delta >= t, t' there are V and V' with

        law of x = (1 - delta) U + delta V,    law of x' = (1 - delta) U' + delta V',

    and U, U' are noisy counts of the same keys, which one unit moves by at most the stated L1 and L2 norms, cut at a
    threshold. All that the noise guarantees for them, pure, Renyi or zCDP, thus holds outside an event of probability delta,
    under add/remove (A or A' is empty) as under replace-one, whose doubled norms enter the noise, not t. In particular
    law of x (S) <= e^epsilon law of x' (S) + delta. Keys without rows are never looked at and cannot be listed.

    q is convex below the threshold and never falls, so t is at most the sum of n q(v) over one of the `contents`, pairs of n
    keys and the v that each of them counts. Nothing above asks what is counted: of shares, see `KeyCounts`, the L2 norm and
    so the Gaussian noise are those of units in one key, however many keys a unit is in.

    Computed are upper bounds of q, in integers: `lifting` of the noise.
    The order of codes, which may follow the rows, enters nothing: equal noise for each, and what is listed is sorted by key.
    Source: Korolova, Kenthapadi, Mishra, Ntoulas 2009; Gaussian: Wilkins, Kifer, Zhang, Karrer 2024.
    """

    noise: Noise
    threshold: int
    delta: Fraction

    @classmethod
    def calibrate(cls, noise: Noise, sensitivity: KeySensitivity, delta: Fraction) -> NoisyThreshold:
        """Return the lowest threshold that delta pays for."""
        return cls(noise, _least_threshold(noise, sensitivity, delta), delta)

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return that of the noise, and delta; see the class notes."""
        if not isinstance(sensitivity, KeySensitivity):
            raise TypeError("this selection needs counts by key")
        if not _rarely(self.noise, self.threshold, sensitivity, self.delta):
            raise TypeError("this threshold is too low for its delta")
        return self.noise.loss(sensitivity) + PrivacyLoss(delta=self.delta)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Listing:
        """Listed keys with their noisy counts."""
        counts, names = exact.open()
        noisy = self.noise.draw(Exact(counts), fill)
        listed = [place for place, count in enumerate(noisy) if count >= self.threshold]
        keys = names(np.array(listed, dtype=np.intp))
        return _in_order([[*key, noisy[place]] for key, place in zip(keys, listed, strict=True)])


def _in_order(listing: Listing) -> Listing:
    """Sort by key, cell by cell: numbers, then texts, by code point."""
    return sorted(listing, key=lambda entry: [(isinstance(cell, str), cell) for cell in entry])


@lru_cache(maxsize=256)
def _least_threshold(noise: Noise, sensitivity: KeySensitivity, delta: Fraction) -> int:
    """Least threshold, no lower than the rows of one unit in a key, that `_rarely` finds high enough."""
    return least(lambda threshold: _rarely(noise, threshold, sensitivity, delta), sensitivity.linf - 1)


def least(fits: Callable[[int], bool], above: int = 0) -> int:
    """Least number above another that fits, for all tests that stay true once they are."""
    span = 1
    while not fits(above + span):
        span *= 2
    low, high = above + span // 2, above + span
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _rarely(noise: Noise, threshold: int, sensitivity: KeySensitivity, delta: Fraction) -> bool:
    """Whether keys of one unit are listed with probability at most delta: for all inputs a True is true."""
    bits = int(sensitivity.touched / delta).bit_length() + WORD
    counts = {count for content in sensitivity.contents for _, count in content}
    chance = {count: noise.lifting(threshold - count, bits) for count in counts}
    return all(sum(keys * chance[count] for keys, count in content) <= delta for content in sensitivity.contents)


@dataclass(frozen=True)
class OptimalSelection:
    """Lists each key with the largest probability that (epsilon, delta) allows for the number of units that hold it.

    Parameters
    ----------
    epsilon, delta : Fraction
        Of each key.

    Notes
    -----
    A key of n units is listed with probability pi(n), pi(0) = 0, independently of all others. Its decision is
    (epsilon, delta)-private for counts that differ by 1 if and only if

        pi(n + 1) <= e^epsilon pi(n) + delta  and  1 - pi(n) <= e^epsilon (1 - pi(n + 1)) + delta

    (the other two follow where pi does not fall), and pi takes the largest value that both allow. The first binds up to the
    least n with pi(n) >= (1 - delta) / (e^epsilon + 1), call it s: pi(n) = delta (e^(n epsilon) - 1) / (e^epsilon - 1) for
    n <= s. The second binds from there on, so 1 - pi(s + i) = e^(-i epsilon) (1 - pi(s) + g) - g with
    g = delta / (e^epsilon - 1), until that is 0.
    Any pair of laws that is (epsilon, delta)-close both ways arises from one draw of (1 - delta) U + delta V and of
    (1 - delta) U' + delta V' with |ln dU/dU'| <= epsilon (Kairouz, Oh, Viswanath 2015), so the loss of a key is a pure epsilon
    outside an event of probability delta. A unit touches `touched` keys, each count by 1: that many such losses.
    Both sides of every comparison are integers that close in on the real numbers until it is decided.
    Source: Desfontaines, Voss, Gipson, Mandayam 2022, Theorem 1.
    """

    epsilon: Fraction
    delta: Fraction

    name = "optimal selection of keys"

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Epsilon and delta for each key that one unit can touch."""
        if not isinstance(sensitivity, KeySensitivity) or sensitivity.linf > 1:
            raise TypeError("this selection needs the number of units by key")
        return PrivacyLoss(((PureLoss(self.epsilon), 1),), self.delta).times(sensitivity.touched)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Listing:
        """Listed keys, without a count."""
        counts, names = exact.open()
        different, which = np.unique(np.array(counts, dtype=np.int64), return_inverse=True)
        bounds = [chance_bounds(self.epsilon, self.delta, n, WORD) for n in different.tolist()]
        # a uniform in [w, w + 1] / 2**64 is below pi where w < low, not below it where w >= high; 0 < low for n >= 1
        last = [np.array([max(end[side], 1) - 1 for end in bounds], dtype=np.uint64) for side in (0, 1)]
        sure = np.array([low > 0 for low, _ in bounds], dtype=bool)
        words = random_words(which.size, fill)
        listed = (words <= last[0].take(which)) & sure.take(which)  # shape (keys that are there,)
        bits = Bits(fill)
        for place in np.flatnonzero(~listed & (words <= last[1].take(which))).tolist():
            listed[place] = self._below(Lazy(bits, int(words[place]), WORD), counts[place])
        return _in_order(names(np.flatnonzero(listed)))

    def _below(self, u: Lazy, n: int) -> bool:
        """Whether u < pi(n), with more bits of the same u until that is certain."""
        while True:
            low, high = chance_bounds(self.epsilon, self.delta, n, u.n)
            if u.a < low:
                return True
            if u.a >= high:
                return False
            u.extend()


Ends = tuple[Fraction, Fraction]


def _power(epsilon: Fraction, n: int, bits: int) -> Ends:
    """Ends around e^(-n epsilon)."""
    low, high = exp_bounds(-n * epsilon.numerator, epsilon.denominator, bits)
    return Fraction(low, 1 << bits), Fraction(min(high, 1 << bits), 1 << bits)


def _room(epsilon: Fraction, delta: Fraction) -> int:
    """Bits that differences and quotients below lose: those of 1 / epsilon, delta / epsilon and 1 / delta."""
    return (epsilon.denominator // epsilon.numerator).bit_length() + 2 * (1 / delta).__ceil__().bit_length() + 16


@lru_cache(maxsize=256)
def switch(epsilon: Fraction, delta: Fraction) -> int:
    """Least n with pi(n) >= (1 - delta) / (e^epsilon + 1), where delta (1 - x) (1 + y) >= (1 - delta) (1 - y) x.

    Here x = e^(-n epsilon) and y = e^(-epsilon), transcendental: the two sides are never equal.
    """
    return least(lambda n: _past(epsilon, delta, n))


def _past(epsilon: Fraction, delta: Fraction, n: int) -> bool:
    bits = _room(epsilon, delta) + WORD
    while True:
        x, y = _power(epsilon, n, bits), _power(epsilon, 1, bits)
        if delta * (1 - x[1]) * (1 + y[0]) > (1 - delta) * (1 - y[0]) * x[1]:
            return True
        if delta * (1 - x[0]) * (1 + y[1]) < (1 - delta) * (1 - y[1]) * x[0]:
            return False
        bits *= 2


@lru_cache(maxsize=1 << 14)
def chance_bounds(epsilon: Fraction, delta: Fraction, n: int, bits: int) -> tuple[int, int]:
    """Integers low <= 2**bits pi(n) <= high, for n >= 1; see `OptimalSelection`."""
    work = bits + _room(epsilon, delta)
    s = switch(epsilon, delta)
    y = _power(epsilon, 1, work)
    ends = _rising(delta, y, _power(epsilon, min(n, s), work), _power(epsilon, min(n, s) - 1, work))
    if n > s:
        power = _power(epsilon, n - s, work)
        g = delta * y[0] / (1 - y[0]), delta * y[1] / (1 - y[1])
        ends = 1 + g[0] - power[1] * (1 - ends[0] + g[1]), 1 + g[1] - power[0] * (1 - ends[1] + g[0])
    low, high = (min(max(end, Fraction(0)), Fraction(1)) for end in ends)
    return int(low * (1 << bits)), -int(-high * (1 << bits) // 1)


def _rising(delta: Fraction, y: Ends, x: Ends, before: Ends) -> Ends:
    """Ends around delta (1 - x) / (before (1 - y)), x = e^(-n epsilon) and before = e^(-(n - 1) epsilon)."""
    if before[0] == 1:
        return delta, delta
    return delta * (1 - x[1]) / (before[1] * (1 - y[0])), delta * (1 - x[0]) / (before[0] * (1 - y[1]))

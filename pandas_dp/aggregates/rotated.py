"""Intervals for means and variances made of noisy sums: all values under which the noise would have to be no larger than it is.

For the true mean or variance a fixed combination of the noisy sums is noise alone. So the values for which that combination
stays within the half-width of just this noise hold the true one with the wanted probability (Fieller 1954). No interval of
any other quantity is needed, none is ever of zero width, and each contains the value that is shown. Everything is counted in
steps of the noise: a row adds features that add up to `row`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
HALVINGS = 30
EMPTY = 0.98  # two-sided: without a row the noisy number of rows is above its half-width with half of the rest, 1 %
FEW, SHARE_OF_FEW = 2, 0.1  # below so many thresholds intervals are taken at a tenth of the error probability
SHARE_OF_MEAN = 0.05  # of the error probability of a variance, for the mean it is taken around
NEAR = 0.01  # of the bounds: means that surely lie so near to one say that the bounds are wrong, or far too wide
PLACES = np.linspace(0, 1, 9)  # of means in their interval at which variances are tried


class Law(Hashable, Protocol):
    """What of a `Noise` is needed here."""

    def tail(self, level: float) -> float:
        """See `Noise`."""

    def within(self, weights: Floats, distance: Floats, level: float) -> Bools:
        """See `Noise`."""


def half_widths(weights: Floats, noise: Law, level: float) -> Floats:
    """Steps within which weighted sums of draws stay with this probability; weights of shape (sums, draws) give (sums,)."""
    low: Floats = np.zeros(len(weights))
    high: Floats = (noise.tail(level) + 1) * np.abs(weights).sum(axis=-1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = noise.within(weights, middle, level)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


@lru_cache(maxsize=256)
def threshold(noise: Law, features: int) -> float:
    """Steps that the noisy sum of all features must exceed, or there are no rows to speak of.

    Without a row it does with 1 %; with twice as many rows it does not with at most 1 %.
    """
    return float(half_widths(np.ones((1, features)), noise, EMPTY)[0])


class Test:
    """Which positions are accepted: those under which a combination of the sums would be no larger than its noise.

    The combination is 0 at `middle` and falls linearly, and half-widths are convex in weights that are affine in the
    position. So beyond `middle` they differ by a convex function, which is negative on an interval: where an end is accepted
    it is the outermost, else there is one crossing.

    Parameters
    ----------
    away, weights : callable
        The combination and its weights, of positions of shape (n,).
    middle : array, shape (n,)
    ends : pair of float or array
        Of all positions.
    few : array of bool, shape (n,)
        Where there are few rows the level is higher. A number is shown only where the noisy number of rows is above the
        threshold; of those more than the wanted share would be wrong at the level itself, as large noise carries them there.
    """

    def __init__(
        self,
        noise: Law,
        away: Callable[[Floats], Floats],
        weights: Callable[[Floats], Floats],
        middle: Floats,
        ends: tuple[float | Floats, float | Floats],
        few: Bools,
    ) -> None:
        self._noise, self._away, self._weights, self.middle, self._few = noise, away, weights, middle, few
        self._ends = tuple(np.broadcast_to(np.asarray(end, dtype=np.float64), middle.shape) for end in ends)

    def accepts(self, position: Floats, level: float) -> Bools:
        """Whether each position is accepted."""
        distance, weights = np.abs(self._away(position)), self._weights(position)
        inside = self._noise.within(weights, distance, level)
        if self._few.any():
            higher = self._noise.within(weights[self._few], distance[self._few], 1 - (1 - level) * SHARE_OF_FEW)
            inside[self._few] = higher
        return inside

    def bounds(self, level: float) -> tuple[Floats, Floats]:
        """The outermost accepted positions, or ones just beyond."""
        found = []
        for outer in self._ends:
            inner, beyond = self.middle, outer
            for _ in range(HALVINGS):
                between = (inner + beyond) / 2
                inside = self.accepts(between, level)
                inner, beyond = np.where(inside, between, inner), np.where(inside, beyond, between)
            found.append(np.where(self.accepts(outer, level), outer, beyond))
        return found[0], found[1]


def mean_of_two(features: Floats, noise: Law) -> Test:
    """Test of the position theta in [0, 1], of features F1 = sum theta and F2 = sum (1 - theta), shape (means, 2).

    (1 - theta) F1 - theta F2 is noise of weights 1 - theta and -theta. Negative features count as 0: where F1 < 0 < F2 both
    terms had one sign and one vanishes, so the combination never grows, for any theta, and the confidence stays.
    """
    first, second = np.maximum(features, 0).T
    total = first + second
    middle = np.divide(first, total, out=np.full(len(total), 0.5), where=total > 0)
    return Test(
        noise,
        lambda theta: first - theta * total,
        lambda theta: np.stack([1 - theta, theta], axis=-1),
        middle,
        (0.0, 1.0),
        few_rows(features, noise),
    )


def mean_of_three(features: Floats, noise: Law) -> Test:
    """Test of the position t in [-1, 1], of the features of `variances`, shape (means, 3).

    F1 - F2 - t N is noise of weights 1 - t, -1 - t and -t. The difference is cut to [-N, N]: beyond it, cutting makes the
    combination smaller, and of one sign for every t.
    """
    total = features.sum(axis=-1)
    known = total > 0
    difference = np.clip(features[:, 0] - features[:, 1], -np.abs(total), np.abs(total))
    return Test(
        noise,
        lambda t: np.where(known, difference - t * total, 0),
        lambda t: np.stack([1 - t, -1 - t, -t], axis=-1),
        np.divide(difference, total, out=np.zeros(len(total)), where=known),
        (-1.0, 1.0),
        few_rows(features, noise),
    )


def at_ends(features: Sequence[Sequence[int]], noise: Law, level: float) -> tuple[Bools, Bools, Bools]:
    """Which means surely lie within `NEAR` of the lower end, or of the upper one, and of which nothing is known.

    Each of the first two is wrong with (1 - level) / 2 at most, whatever the data are. Where the noise is far too small for any
    of the three, nothing is computed.
    """
    most = noise.tail(1 - (1 - level) * SHARE_OF_FEW) + 1
    size, of_two = len(features[0]), len(features[0]) == 2
    found = np.zeros((3, len(features)), dtype=bool)
    open_: list[int] = []
    for place, one in enumerate(features):
        total = sum(one)
        inside = min(one[0], one[1]) + (one[2] / 2 if size == 3 else 0)  # of the rows, counted from the nearer end
        if inside - NEAR * total <= most:
            open_.append(place)
    if open_:
        chosen = np.array([features[place] for place in open_], dtype=np.float64)
        test = (mean_of_two if of_two else mean_of_three)(chosen, noise)
        least, near, far, largest = (np.full(len(open_), x if of_two else 2 * x - 1) for x in (0, NEAR, 1 - NEAR, 1))
        found[0, open_] = (test.middle <= near) & ~test.accepts(near, level)
        found[1, open_] = (test.middle >= far) & ~test.accepts(far, level)
        found[2, open_] = test.accepts(least, level) & test.accepts(largest, level)
    return found[0], found[1], found[2]


def variances(features: Floats, row: float, ddof: int, noise: Law, level: float) -> tuple[Floats, Floats]:
    """Ends for true variances in units of (width / 2)^2, of features of shape (variances, 3).

    Of y in [-1, 1] the features are F1 = sum (1+y)^2/4, F2 = sum (1-y)^2/4 and F3 = sum (1-y^2)/2. For the true mean t and
    the true variance v, A = Q - 2 t D + t^2 N less v (N - ddof), with Q = F1 + F2 - F3, D = F1 - F2 and N = F1 + F2 + F3, is
    noise of weights (1-t)^2 - v, (1+t)^2 - v and t^2 - 1 - v, as n v' = (n - ddof) v for the variance v' of n rows with
    ddof = 0. With all but a share of the error probability t lies in its own interval, and the rest is for that test (a
    union of two events). A is cut to what is possible, which brings it no further from v (N - ddof): v' <= 1 - t^2, and with
    ddof = 1 v (N - 1) = v' n / (n - 1) (N - 1) <= (1 - t^2) top (N - 1), where top is n / (n - 1) for the fewest rows that
    there can be (a third event). Tried at nine means of the interval and at the likeliest: computed, not proved, that these suffice.
    """
    spent = SHARE_OF_MEAN * (1 - level)
    mean = mean_of_three(features, noise)
    least, most = mean.bounds(1 - spent)
    around = np.stack([np.clip(mean.middle, least, most), *(least + place * (most - least) for place in PLACES)])
    tried, t = len(around), around.ravel()  # shape (tried * variances,)
    first, second, third = np.tile(features.T, tried)
    few = np.tile(few_rows(features, noise), tried)
    total, top = first + second + third, np.ones(len(t))
    if ddof:
        halves = [half_widths(np.ones((1, 3)), noise, 1 - spent * share)[0] for share in (SHARE_OF_FEW, 1)]
        fewest = np.maximum(2 * row, total - np.where(few, *halves))
        top = fewest / (fewest - row)
    rest = total - ddof * row
    known = rest > 0
    possible = np.maximum((1 - t**2) * (rest * top if ddof else total), 0)
    spread = np.clip(first + second - third - 2 * t * (first - second) + t**2 * total, 0, possible)
    test = Test(
        noise,
        lambda v: np.where(known, spread - v * rest, 0),
        lambda v: np.stack([(1 - t) ** 2 - v, (1 + t) ** 2 - v, t**2 - 1 - v], axis=-1),
        np.clip(np.divide(spread, rest, out=np.zeros(len(t)), where=known), 0, top),
        (0.0, top),
        few,
    )
    low, high = test.bounds(level + (1 + ddof) * spent)
    low, high = np.where(known, low, 0), np.where(known, high, 1.0 + ddof)
    return low.reshape(tried, -1).min(axis=0), high.reshape(tried, -1).max(axis=0)


def few_rows(features: Floats, noise: Law) -> Bools:
    """Where the noisy number of rows is below a multiple of the threshold."""
    few: Bools = features.sum(axis=-1) < FEW * threshold(noise, features.shape[-1])
    return few

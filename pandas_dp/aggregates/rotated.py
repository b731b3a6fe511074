"""Intervals for means and variances made of noisy sums: all values under which the noise would have to be no larger than it is.

For the true mean or variance a fixed combination of the noisy sums is noise alone. So the values for which that combination
stays within the half-width of just this noise hold the true one with the wanted probability (Fieller 1954). No interval of
any other quantity is needed, none is ever of zero width, and each contains the value that is shown. Everything is counted in
steps of the noise: a row adds features that add up to `row`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
# of the search for an end: what is left is less than a thousandth of the width, but where there are few rows. Their number is
# fixed, so that an answer which a ledger keeps has the same interval to the last digit whenever it is told
ROUNDS = 4
EMPTY = 0.98  # two-sided: without a row the noisy number of rows is above its half-width with half of the rest, 1 %
FEW, SHARE_OF_FEW = 2, 0.1  # below so many thresholds intervals are taken at a tenth of the error probability
SHARE_OF_MEAN = 0.05  # of the error probability of a variance, for the mean it is taken around
NEAR = 0.01  # of the bounds: means that surely lie so near to one say that the bounds are wrong, or far too wide
PLACES = np.linspace(0, 1, 9)  # of means in their interval at which variances are tried


class Law(Hashable, Protocol):
    """What of a `Noise` is needed here."""

    def tail(self, level: float) -> float:
        """See `Noise`."""

    def half_widths(self, weights: Floats, level: float) -> Floats:
        """See `Noise`."""


@lru_cache(maxsize=1024)
def half_width(weights: tuple[float, ...], noise: Law, level: float) -> float:
    """Steps within which a weighted sum of draws stays with this probability."""
    return float(noise.half_widths(np.array(weights), level))


def threshold(noise: Law, features: int) -> float:
    """Steps that the noisy sum of all features must exceed, or there are too few rows.

    Without a row it does with 1 %; with twice as many rows it does not with at most 1 %.
    """
    return half_width((1.0,) * features, noise, EMPTY)


def known(features: Sequence[Sequence[int]], noise: Law) -> Bools:
    """Of which means or variances there are rows to speak of."""
    least = threshold(noise, len(features[0])) if features else 0.0
    return np.array([sum(one) > least for one in features], dtype=bool)


def level_of_few(total: float, least: float, level: float) -> float:
    """That of an interval of what is shown where a noisy total exceeds `least`, or the level itself: see `Accepted`."""
    return 1 - (1 - level) * SHARE_OF_FEW if total < FEW * least else level


def least_seen(noise: Law, features: int, row: int) -> int:
    """Rows that are taken for none with a probability of at most 1 %."""
    return math.ceil(FEW * threshold(noise, features) / row)


class Accepted:
    """The positions that a test accepts: under which a combination of the sums would be no larger than its noise.

    The combination is (middle - position) * slope; where the slope is not positive, nothing is known. Half-widths are convex
    in weights that are affine in the position. So on each side of `middle` what is left of the half-width is a convex
    function, positive at `middle`: where it is not negative at the end, that is the outermost accepted position, else there
    is one crossing.

    Parameters
    ----------
    middle, slope : array, shape (n,)
    weights : callable
        Of positions of shape (..., n): shape (draws, ..., n).
    ends : pair of float or array
        Of all positions.
    few : array of bool, shape (n,)
        Where there are few rows the level is higher. A number is shown only where the noisy number of rows is above the
        threshold; of those more than the wanted share would be wrong at the level itself, as large noise carries them there.
    """

    def __init__(
        self,
        noise: Law,
        middle: Floats,
        slope: Floats,
        weights: Callable[[Floats], Floats],
        ends: tuple[float, float | Floats],
        few: Bools,
    ) -> None:
        self.noise, self.middle, self.slope, self.weights, self.few = noise, middle, np.maximum(slope, 0), weights, few
        self.ends = np.empty((2, *middle.shape))
        self.ends[0], self.ends[1] = ends
        self._shares = [(rows, share) for rows, share in ((~few, 1.0), (few, SHARE_OF_FEW)) if rows.any()]

    def left(self, positions: Floats, level: float) -> Floats:
        """What is left of the half-width at positions of shape (..., n): they are accepted where it is not negative."""
        distance, weights = np.abs(self.middle - positions) * self.slope, self.weights(positions)
        half: Floats = np.empty(positions.shape)
        for chosen, share in self._shares:
            half[..., chosen] = self.noise.half_widths(weights[..., chosen], 1 - (1 - level) * share)
        return half - distance

    def bounds(self, level: float) -> Floats:
        """The outermost accepted positions, or ones just beyond, shape (2, n).

        The crossing of a convex function lies inwards of where a chord between both sides of it meets 0, and outwards of where
        a chord on its far side, made longer, does. No end depends on the others that are searched beside it.
        """
        inner, outer = np.array([self.middle, self.middle]), self.ends
        beyond = np.minimum(self.left(outer, level), 0)
        for _ in range(ROUNDS):
            nearer = outer + (inner - outer) * _share(beyond, beyond - self.left(inner, level))
            left = np.minimum(self.left(nearer, level), 0)
            longer = (nearer - outer) * _share(left, beyond - left)
            inner = nearer + (inner - nearer) * np.minimum(_share(longer, inner - nearer), 1)
            outer, beyond = nearer, left
        return outer


def _share(part: Floats, whole: Floats) -> Floats:
    """The quotient; 0 where the end is found already."""
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole != 0)


def mean_of_two(features: Any, noise: Law) -> Accepted:
    """Positions theta in [0, 1], of features F1 = sum theta and F2 = sum (1 - theta), shape (means, 2).

    (1 - theta) F1 - theta F2 is noise of weights 1 - theta and -theta. Negative features count as 0: where F1 < 0 < F2 both
    terms had one sign and one vanishes, so the combination never grows, for any theta, and the confidence stays.
    """
    exact = np.array(features, dtype=np.float64)
    first, second = np.maximum(exact, 0).T
    total = first + second
    middle = np.divide(first, total, out=np.full(len(total), 0.5), where=total > 0)
    few = few_rows(exact, noise)
    return Accepted(noise, middle, total, lambda theta: np.array([1 - theta, -theta]), (0, 1), few)


def mean_of_three(features: Any, noise: Law) -> Accepted:
    """Positions t in [-1, 1], of the features of `variances`, shape (means, 3).

    F1 - F2 - t N is noise of weights 1 - t, -1 - t and -t. The difference is cut to [-N, N]: beyond it, cutting makes the
    combination smaller, and of one sign for every t.
    """
    exact = np.array(features, dtype=np.float64)
    total = exact.sum(axis=-1)
    middle = np.divide(exact[:, 0] - exact[:, 1], total, out=np.zeros(len(total)), where=total > 0)
    few = few_rows(exact, noise)
    return Accepted(noise, np.clip(middle, -1, 1), total, lambda t: np.array([1 - t, -1 - t, -t]), (-1, 1), few)


def at_ends(features: Sequence[Sequence[int]], noise: Law, level: float) -> tuple[Bools, Bools, Bools]:
    """Which means surely lie within `NEAR` of the lower end, or of the upper one, and of which nothing is known.

    Of means that lie at `NEAR` or more from both ends, one or more are said to with probability (1 - level) / 2 at most,
    whatever the data are: each is tested at its part of it. Where a mean is at an end and the noise of one draw has scale b,
    that is found from some 330 b rows on: with 400 b rows of two sums it was in 82 of 100 cases, of three in 72. Where the
    noise is far too small for any of the three, nothing is computed.
    """
    each = 1 - (1 - level) / max(len(features), 1)
    most = noise.tail(1 - (1 - each) * SHARE_OF_FEW) + 1
    size, of_two = len(features[0]), len(features[0]) == 2
    found = np.zeros((3, len(features)), dtype=bool)
    open_: list[int] = []
    for place, one in enumerate(features):
        total = sum(one)
        inside = min(one[0], one[1]) + (one[2] / 2 if size == 3 else 0)  # of the rows, counted from the nearer end
        if inside - NEAR * total <= most:
            open_.append(place)
    if open_:
        mean = (mean_of_two if of_two else mean_of_three)([features[place] for place in open_], noise)
        least, near, far, largest = (np.full(len(open_), x if of_two else 2 * x - 1) for x in (0, NEAR, 1 - NEAR, 1))
        for end, (beyond, position) in enumerate(((mean.middle <= near, near), (mean.middle >= far, far))):
            if beyond.any():  # hardly ever, and a half-width takes longer than all else here
                found[end, open_] = beyond & (mean.left(position, each) < 0)
        found[2, open_] = (mean.left(np.array([least, largest]), level) >= 0).all(axis=0)
    return found[0], found[1], found[2]


def variances(features: Any, row: float, ddof: int, noise: Law, level: float) -> Floats:
    """Ends for true variances in units of (width / 2)^2, of features of shape (variances, 3): shape (2, variances).

    Of y in [-1, 1] the features are F1 = sum (1+y)^2/4, F2 = sum (1-y)^2/4 and F3 = sum (1-y^2)/2. For the true mean t and
    the true variance v, A = Q - 2 t D + t^2 N less v (N - ddof), with Q = F1 + F2 - F3, D = F1 - F2 and N = F1 + F2 + F3, is
    noise of weights (1-t)^2 - v, (1+t)^2 - v and t^2 - 1 - v, as n v' = (n - ddof) v for the variance v' of n rows with
    ddof = 0. With all but a share of the error probability t lies in its own interval, and the rest is for that test (a
    union of two events). A is cut to what is possible, which brings it no further from v (N - ddof): v' <= 1 - t^2, and with
    ddof = 1 v (N - 1) = v' n / (n - 1) (N - 1) <= (1 - t^2) top (N - 1), where top is n / (n - 1) for the fewest rows that
    there can be (a third event). Tried at nine means of the interval and at the likeliest: that these suffice is computed,
    not proved.
    """
    exact = np.array(features, dtype=np.float64)
    spent = SHARE_OF_MEAN * (1 - level)
    mean = mean_of_three(exact, noise)
    least, most = mean.bounds(1 - spent)
    around = [np.clip(mean.middle, least, most), *(least + place * (most - least) for place in PLACES)]
    t, tried = np.concatenate(around), len(around)  # shape (tried * variances,)
    few, (first, second, third) = np.tile(mean.few, tried), np.tile(exact.T, tried)
    total, top = first + second + third, np.ones(len(t))
    if ddof:
        halves = [half_width((1.0,) * 3, noise, 1 - spent * share) for share in (SHARE_OF_FEW, 1)]
        fewest = np.maximum(2 * row, total - np.where(few, *halves))
        top = fewest / (fewest - row)
    rest = total - ddof * row
    possible = np.maximum((1 - t**2) * (rest * top if ddof else total), 0)
    spread = np.clip(first + second - third - 2 * t * (first - second) + t**2 * total, 0, possible)
    likely = np.clip(np.divide(spread, rest, out=np.zeros(len(t)), where=rest > 0), 0, top)

    def weights(v: Floats) -> Floats:
        return np.array([(1 - t) ** 2 - v, (1 + t) ** 2 - v, t**2 - 1 - v])

    variance = Accepted(noise, likely, rest, weights, (0, top), few)
    low, high = variance.bounds(level + (1 + ddof) * spent).reshape(2, tried, -1)
    return np.stack([low.min(axis=0), high.max(axis=0)])


def few_rows(features: Floats, noise: Law) -> Bools:
    """Where the noisy number of rows is below a multiple of the threshold."""
    return features.sum(axis=-1) < FEW * threshold(noise, features.shape[-1])

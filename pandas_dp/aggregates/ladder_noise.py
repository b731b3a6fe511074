"""The law of what the counts of a ladder's cells say of a quantile: half-widths of weighted sums of their noise."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from pandas_dp.aggregates.rotated import Floats
from pandas_dp.aggregates.uncertainty import LEVEL, normal
from pandas_dp.core.mechanisms.noise import Noise

MANY = 100  # cells, beyond which the law of their sums is nearly normal
FINE = 16  # steps in a standard deviation
NOTHING, LEFT_OUT = 1e-15, 1e-6  # chances, and shares of them, that are left out
HIGHEST, CLOSE = 1 - 1e-9, 1e-3  # level of half-widths by convolution, and how close they are, in steps


@lru_cache(maxsize=1024)
def half_widths(q: Fraction, cells: int, noise: Noise, level: float) -> Floats:
    """Of the noise of D at each cut: 1 - q times each cell up to it, -q times each one beyond; shape (cells - 1,).

    By the law of single draws, convolved; of many cells by the normal law, a hundredth wider (computed, not proved: for levels
    up to 95 % and no draw that dominates); otherwise by a bound for all weighted sums.
    """
    bound, weights = widest(q, cells, noise, level), weights_of(q, cells)
    if level <= HIGHEST and cells <= MANY:
        found = by_convolution(q, cells, noise, level, bound)
    elif level <= LEVEL:
        length = np.sqrt((weights**2).sum(axis=0))
        near = 1.01 * normal(level) * noise.standard_deviation * length
        found = np.where(np.abs(weights).max(axis=0) <= length / 4, near, bound)
    else:
        return bound
    return np.asarray(np.minimum(found, bound))


@lru_cache(maxsize=1024)
def widest(q: Fraction, cells: int, noise: Noise, level: float) -> Floats:
    """Bounds of the same, a fifth too wide and quickly computed."""
    return noise.half_widths(weights_of(q, cells), level)


def weights_of(q: Fraction, cells: int) -> Floats:
    """Of each cell in D at each cut, shape (cells, cells - 1)."""
    upto = np.arange(cells)[:, None] < np.arange(1, cells)
    return np.where(upto, float(1 - q), float(-q))


def by_convolution(q: Fraction, cells: int, noise: Noise, level: float, bound: Floats) -> Floats:
    """Half-widths of (1 - q) X - q Y, X and Y sums of the draws up to each cut and beyond it, by bisection of all at once."""
    step, sums = laws_of_sums(noise, cells)
    before = np.arange(1, cells)
    (most, ones), (least, others) = sorted(
        ((float(1 - q), before), (float(q), before[::-1])), key=lambda pair: pair[0], reverse=True
    )
    beyond = np.cumsum(sums[ones, ::-1], axis=1)[:, ::-1]  # P(X >= x), x from the lowest one on
    size, row = sums.shape[1], np.arange(cells - 1)[:, None]
    likely = np.flatnonzero(sums[others].max(axis=0) > (1 - level) * LEFT_OUT / size)
    chances = sums[others][:, likely]
    rest = (likely - size // 2) * least
    low, high = np.zeros(cells - 1), bound / step + 1
    while (high - low > np.maximum(CLOSE, CLOSE / 10 * high)).any():
        tried = (low + high) / 2
        above = np.floor((tried[:, None] - rest) / most).astype(np.int64) + 1 + size // 2
        found = np.where(above < size, beyond[row, above.clip(0, size - 1)], 0)
        more = (chances * found).sum(axis=1) > (1 - level) / 2
        low, high = np.where(more, tried, low), np.where(more, high, tried)
    return (high + CLOSE) * step


@lru_cache(maxsize=8)
def laws_of_sums(noise: Noise, cells: int) -> tuple[int, Floats]:
    """A step, and the laws of sums of 0, 1, ... draws in such steps, with 0 in the middle: shape (cells, 2**bits).

    A step is one of the noise, or so many of them that a standard deviation has `FINE`: then draws are rounded to the nearest
    one. That the tails of sums are no smaller for it is computed, not proved.
    """
    step = max(1, int(noise.standard_deviation / FINE))
    tails = [1.0]  # P(|Z| >= k steps)
    while tails[-1] > NOTHING:
        tails.append(min(2 * float(noise.lifting(((2 * len(tails) - 1) * step + 1) // 2, 64)), 1.0))
    law = np.zeros(1 << (8 * len(tails)).bit_length())  # where sums of `MANY` draws lie, but for less than `NOTHING`
    each = -np.diff(tails)  # |Z| = 0, 1, ...
    law[0] = each[0]
    law[1 : len(each)] = law[-1 : -len(each) : -1] = each[1:] / 2
    transforms = np.fft.rfft(law) ** np.arange(cells)[:, None]
    return step, np.fft.fftshift(np.fft.irfft(transforms, axis=1), axes=1)

"""Whether two columns are independent, from the noisy counts of a table: a chi-square test whose law is simulated."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.randomness import random_words
from pandas_dp.errors import ArgumentValueError

Floats = NDArray[np.float64]
DRAWS, FEWEST, AT_ONCE = 9999, 999, 1 << 20  # simulated tables, of large ones fewer, and cells at once
MOST_CELLS = 1000
ROWS_A_CELL = 3  # scales of the noise, below which the test errs
ALL_BUT_NORMAL = 10_000  # expected rows from which counts are rounded normal numbers
REACH = 12  # standard deviations of a count


class Independence(NamedTuple):
    """What a test of independence found: ``statistic, p_value = table.independence()``."""

    statistic: float
    p_value: float


def chi_square(counts: NDArray[np.int64], noise: Noise) -> Independence:
    """Test the independence of the rows and columns of noisy counts, shape (rows, columns).

    The statistic is the sum of (X - E)^2 / (E + v), v the variance of the noise, where E are products of the margins, each cut
    at 0 and scaled to the total of the counts as they are. (Counts cut at 0 cell by cell would make empty cells too full, and
    many a table look dependent.) The p-value is its place among those of simulated tables, of counts with these expectations
    and fresh noise of the same law, computed alike. Rows are drawn one by one, so counts are independent Poisson numbers; that
    their total varies does not matter, since the margins are computed anew. From `ROWS_A_CELL` scales of the noise a cell on 3
    to 7 of 100 independent tables have a p-value below 0.05, also where margins are skew; below, more, and it is refused.
    Source: Gaboardi, Lim, Rogers, Vadhan 2016; Kifer, Rogers 2017.
    """
    cells, variance = counts.size, noise.standard_deviation**2
    if min(counts.shape) < 2 or cells > MOST_CELLS:
        raise ArgumentValueError(
            f"independence() needs a table of at least two rows and two columns, and at most {MOST_CELLS:,} cells"
        )
    least = math.ceil(ROWS_A_CELL * cells * noise.standard_deviation / math.sqrt(2))
    if counts.sum() < least:
        raise ArgumentValueError(
            f"too few rows for a table of this size: at this price p-values are reliable from {least:,} rows on; ask with "
            "fewer keys, or at a larger epsilon"
        )
    found = float(_statistics(counts.astype(np.float64)[None], variance)[0])
    expected, higher = _expected(counts.astype(np.float64)[None])[0].ravel(), 0
    draws = min(DRAWS, max(FEWEST, AT_ONCE // cells))
    for start in range(0, draws, max(AT_ONCE // cells, 1)):
        some = min(draws - start, max(AT_ONCE // cells, 1))
        tables = np.stack([_poisson(float(e), some) for e in expected], axis=-1)
        tables += np.array(noise.draw(Exact([0] * tables.size)), dtype=np.float64).reshape(tables.shape)
        higher += int((_statistics(tables.reshape(some, *counts.shape), variance) >= found).sum())
    return Independence(found, (1 + higher) / (1 + draws))


def _expected(tables: Floats) -> Floats:
    """Products of the margins, shape (tables, rows, columns), for every total."""
    total = tables.sum(axis=(1, 2))
    sides: list[Any] = []
    for axis in (2, 1):
        side = np.maximum(tables.sum(axis=axis), 0)
        whole = side.sum(axis=1, keepdims=True)
        sides.append(np.divide(side, whole, out=np.zeros(side.shape), where=whole > 0))
    return np.maximum(total, 0)[:, None, None] * sides[0][:, :, None] * sides[1][:, None, :]


def _statistics(tables: Floats, variance: float) -> Floats:
    expected = _expected(tables)
    # a count that is exact has no variance, and in an empty row or column no cell differs
    size = np.maximum(expected + variance, 1e-9)
    return ((tables - expected) ** 2 / size).sum(axis=(1, 2))


def _uniform(size: int) -> Floats:
    """Numbers above 0 and below 1."""
    return ((random_words(size) >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def _poisson(mean: float, size: int) -> Floats:
    """Poisson numbers, by their distribution function; of large means rounded normal ones."""
    if mean > ALL_BUT_NORMAL:
        radius, angle = np.sqrt(-2 * np.log(_uniform(size))), 2 * math.pi * _uniform(size)
        return np.rint(mean + math.sqrt(mean) * radius * np.cos(angle))
    first = max(0, math.floor(mean - REACH * math.sqrt(mean)))
    steps = np.arange(first + 1, math.ceil(mean + REACH * math.sqrt(mean)) + 30)
    logs = np.concatenate([[0.0], np.cumsum(np.log(max(mean, 1e-300)) - np.log(steps))])
    chances = np.exp(logs - logs.max())
    below = np.cumsum(chances) / chances.sum()
    return first + np.searchsorted(below[:-1], _uniform(size)).astype(np.float64)

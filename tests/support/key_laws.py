"""Exact laws of selections of keys, and how far two of them are apart, by summing over everything that can be listed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from scipy import stats

Law = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
"""(count, count of the neighbour) -> probabilities of all outcomes of one key under both."""


def tail(p: float, reach: int) -> float:
    """P(Z >= reach) of discrete Laplace noise."""
    return p**reach / (1 + p) if reach >= 0 else 1 - p ** (1 - reach) / (1 + p)


@lru_cache(maxsize=64)
def laplace_listing(scale: float, threshold: int) -> Law:
    """Not listed, listed with each count below `most`, listed with more: all those have one ratio of probabilities."""
    p = math.exp(-1 / scale)

    @lru_cache(maxsize=4096)
    def law(count: int, other: int) -> tuple[np.ndarray, np.ndarray]:
        most = max(threshold, count, other)
        both = []
        for n in (count, other):
            if n == 0:  # the key does not exist
                both.append(np.array([1.0] + [0.0] * (most - threshold + 1)))
                continue
            shown = [(1 - p) / (1 + p) * p ** abs(y - n) for y in range(threshold, most)]
            both.append(np.array([1 - tail(p, threshold - n), *shown, tail(p, most - n)]))
        return both[0], both[1]

    return law


@lru_cache(maxsize=64)
def gaussian_listing(deviation: float, threshold: int) -> Law:
    """Not listed, listed with a count in each of some steps of a quarter of a deviation, or beyond them."""
    edges = threshold - 0.5 + deviation * np.arange(21) / 4

    @lru_cache(maxsize=4096)
    def law(count: int, other: int) -> tuple[np.ndarray, np.ndarray]:
        both = []
        for n in (count, other):
            below = stats.norm.cdf((edges - n) / deviation) if n else np.ones(edges.size)  # no key of no unit exists
            both.append(np.diff(below, prepend=0, append=1))
        return both[0], both[1]

    return law


def chance_listing(chance: Callable[[int], float]) -> Law:
    """Listed or not."""

    def law(count: int, other: int) -> tuple[np.ndarray, np.ndarray]:
        one, two = (np.array([1 - chance(n), chance(n)]) for n in (count, other))
        return one, two

    return law


def least_delta(counts: Sequence[int], others: Sequence[int], law: Law, epsilon: float) -> float:
    """Largest P(E) - e^epsilon P'(E) over all events of what is listed, and the same with the tables exchanged."""
    one = two = np.ones(1)
    for n, m in zip(counts, others, strict=True):
        if n != m:  # keys with equal counts have equal laws and tell nothing
            a, b = law(n, m)
            one, two = np.outer(one, a).ravel(), np.outer(two, b).ravel()
    factor = math.exp(epsilon)
    return float(max(np.maximum(one - factor * two, 0).sum(), np.maximum(two - factor * one, 0).sum()))

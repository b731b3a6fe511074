"""Smallest cuts between all pairs are those that going through all cuts finds."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from pandas_dp.core.statistics.scores import cut_sizes, smallest_cut


def all_cuts(capacity) -> np.ndarray:
    """The smallest of all cuts between every two vertices, by going through them."""
    n = len(capacity)
    best = np.full((n, n), np.iinfo(np.int64).max)
    for size in range(1, n):
        for side in combinations(range(n), size):
            other = [v for v in range(n) if v not in side]
            across = capacity[np.ix_(side, other)].sum()
            for u in side:
                best[u, other] = np.minimum(best[u, other], across)
    return np.minimum(best, best.T)


def random_capacity(rng, n, most) -> np.ndarray:
    capacity = np.zeros((n, n), dtype=np.int64)
    for u, v in combinations(range(n), 2):
        capacity[u, v] = capacity[v, u] = rng.choice([0, 0, rng.randint(0, most)])
    return capacity


@pytest.mark.parametrize("most", [1, 3, 10**9])
def test_all_pairs(most):
    """Hundreds of graphs, with every kind of limit."""
    rng = random.Random(most)
    for _ in range(200):
        n = rng.randint(2, 7)
        capacity = random_capacity(rng, n, most)
        right = all_cuts(capacity)
        apart = ~np.eye(n, dtype=bool)
        for limit in (0, 1, rng.randint(1, 3 * most), 10**12):
            found = cut_sizes(capacity, limit)
            assert (found[apart] == np.minimum(right, limit)[apart]).all()
            assert (np.diag(found) == limit).all()


def test_the_side_of_a_smallest_cut():
    """The side holds the source, not the sink, and what crosses it is the size."""
    rng = random.Random(5)
    for _ in range(200):
        capacity = random_capacity(rng, 6, 4)
        rows = capacity.tolist()
        links = [sum(1 << v for v in range(6) if row[v]) for row in rows]
        size, side = smallest_cut(rows, links, 2, 4, 10**9)
        members = [v for v in range(6) if side >> v & 1]
        others = [v for v in range(6) if not side >> v & 1]
        assert 2 in members
        assert 4 in others
        assert capacity[np.ix_(members, others)].sum() == size
        assert rows == capacity.tolist()  # nothing was written into
        assert smallest_cut(rows, links, 2, 4, size) == (size, 0)

"""The central block result moves by at most its bound, and the bound is smooth to the last bit."""

from __future__ import annotations

import math
import random
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics import smooth as module
from pandas_dp.core.statistics.blocks import BlockResults
from pandas_dp.core.statistics.smooth import FLOOR, GAP, LOG_BITS, CentreOfAttention, centre

UNIT = 1 << LOG_BITS
BETAS = [F(1, 10), F(1), F(50)]


def columns(points) -> np.ndarray:
    return np.array(points, dtype=np.int64).T.reshape(len(points[0]), len(points))


def faults(points, other, diameter, beta) -> list[str]:
    """What is wrong between two lists of results that differ in one."""
    (place, first), (new, second) = centre(columns(points), diameter, beta), centre(columns(other), diameter, beta)
    moved = sum(abs(a - b) for a, b in zip(points[place], other[new], strict=True))
    found = ["rough"] if abs(first - second) >= beta * UNIT else []
    return found + (["small"] if moved and min(first, second) < UNIT * math.log(moved) * (1 + 1e-12) else [])


@pytest.mark.one_in(6)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("points", "blocks"), [([(0,), (1,), (4,), (9,)], 5), ([(0, 0), (0, 3), (5, 0)], 5)])
def test_all_small_tables(points, blocks, beta):
    diameter = 9 * len(points[0])
    for k in range(1, blocks + 1):
        for results in product(points, repeat=k):
            for new in points:
                assert not faults(results, (new, *results[1:]), diameter, beta)


def random_faults(rounds: int) -> list[str]:
    rng, found = random.Random(5), []
    for _ in range(rounds):
        d, k, beta = rng.randint(1, 4), rng.randint(1, 14), F(rng.choice([0.02, 0.2, 1]))
        size = rng.choice([1, 3, 100, 1000])
        results = [tuple(rng.randint(0, size) for _ in range(d)) for _ in range(k)]
        at = rng.randrange(k)
        new = rng.choice([(0,) * d, (1000,) * d, *results])
        found += faults(results, [*results[:at], new, *results[at + 1 :]], 1000 * d, beta)
    return found


@pytest.mark.slow
def test_random_tables():
    assert not random_faults(3000)


def test_twin_with_balls_that_need_not_meet(monkeypatch):
    sort = np.sort

    def fewer(x, axis):
        """The distance to the second nearest less."""
        return np.roll(sort(x, axis=1), 2, axis=1) if axis else sort(x, axis=0)

    monkeypatch.setattr(module.np, "sort", fewer)
    assert "small" in random_faults(1000)


def test_twin_whose_terms_fall_too_fast(monkeypatch):
    original = module.cost_of
    monkeypatch.setattr(module, "cost_of", lambda beta, s: 3 * original(beta, s))
    assert "rough" in random_faults(1000)


def test_ends():
    one = columns([(3, 4)])
    assert centre(one, 18, F(1, 10)) == (0, pytest.approx(math.log(18) * UNIT, rel=1e-3))
    same = columns([(3, 4)] * 2000)
    assert centre(same, 18, F(1, 10)) == (0, FLOOR + GAP)
    near = columns([(3, 4)] * 3 + [(9, 9)])
    assert centre(near, 18, F(1, 10))[0] == 0


def test_through_the_statistic():
    results = BlockResults(len, Lattice(F(1), 0, 100), 7, 3)
    declared = CentreOfAttention(results, F(1, 4)).sensitivity(PrivacyUnit())
    assert (declared.beta, declared.dimension, declared.linf, declared.touched) == (F(1, 4), 3, 100, 1)

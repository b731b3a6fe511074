"""Smooth sensitivity equals its definition, is found as fast as promised, and is smooth to the last bit."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction as F
from functools import cache, partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from support.views import table

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics import smooth as module
from pandas_dp.core.statistics.lattice_counts import Grid, LatticeCounts, Points
from pandas_dp.core.statistics.smooth import FLOOR, GAP, LOG_BITS, SmoothOrder, SmoothScale, log_bound, rank, smooth

RELATIONS = list(NeighboringRelation)
UNIT = 1 << LOG_BITS
BETAS = [F(1, 20), F(1, 3), F(1)]
VALUES, CELLS = (0, 1, 4, 9), 9  # four values, the ends among them
LEVELS = [F(1, 100), F(1, 5), F(1, 3), F(1, 2), F(3, 5), F(4, 5), F(1)]  # at n = 5 every order statistic


def points(rows) -> Points:
    offsets, counts = np.unique(np.array(sorted(rows), dtype=np.int64), return_counts=True)
    return Points(offsets, counts.astype(np.int64))


def scale(rows, q, beta, s, one_way, cells=CELLS) -> int:
    return smooth(points(rows), cells, q, beta, s, one_way)[1]


def value(rows, q) -> int:
    return sorted(rows)[max(1, math.ceil(q * len(rows))) - 1] if rows else 0


TABLES = [t for n in range(8) for t in combinations_with_replacement(VALUES, n)]
BY_SIZE = {n: [t for t in TABLES if len(t) == n] for n in range(8)}


@cache
def distance(one, other) -> int:
    """Rows that were added or removed, and those that were replaced, between two tables."""
    common = sum(min(one.count(v), other.count(v)) for v in VALUES)
    return len(one) + len(other) - 2 * common


@cache
def local(rows, q, one_way) -> int:
    """Local sensitivity for one row."""
    if one_way:
        others = [rows[:i] + rows[i + 1 :] for i in range(len(rows))] + [(*rows, v) for v in range(CELLS + 1)]
    else:
        others = [(*rows[:i], *rows[i + 1 :], v) for i in range(len(rows)) for v in range(CELLS + 1)]
    return max((abs(value(rows, q) - value(other, q)) for other in others), default=0)


@cache
def farthest(rows, q, one_way) -> dict[int, int]:
    """The largest local sensitivity of the tables at each distance; one row per unit."""
    found: dict[int, int] = {}
    for other in TABLES if one_way else BY_SIZE[len(rows)]:
        d = distance(rows, other) // (1 if one_way else 2)
        found[d] = max(found.get(d, 0), local(other, q, one_way))
    return found


def definition(rows, q, beta, one_way) -> float:
    """The largest local sensitivity of any table, times exp(-beta) for each row it is away."""
    return max(most * math.exp(-float(beta) * d) for d, most in farthest(rows, q, one_way).items())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("q", LEVELS)
def test_replace_one_is_the_definition(q, beta):
    for n in range(1, 6):
        for rows in BY_SIZE[n]:
            least = definition(rows, q, beta, False)
            assert least <= math.exp(scale(rows, q, beta, 1, False) / UNIT) <= least * (1 + 2 * GAP / UNIT)


@pytest.mark.parametrize("beta", BETAS)
def test_the_median_under_add_remove_is_the_definition(beta):
    """Tables of up to 7 rows serve as the far ones: farther ones count for less than the whole range two rows away."""
    for n in range(5):
        for rows in BY_SIZE[n]:
            least = definition(rows, F(1, 2), beta, True)
            found = math.exp(scale(rows, F(1, 2), beta, 1, True) / UNIT)
            assert least <= found
            if n <= 3:  # n + 1 rows away the sensitivity is the whole range: within reach
                assert found <= least * (1 + 2 * GAP / UNIT)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("q", LEVELS)
def test_other_levels_under_add_remove_are_bounds(q):
    for rows in (rows for n in range(5) for rows in BY_SIZE[n]):
        for beta in BETAS:
            least = definition(rows, q, beta, True)
            found = math.exp(scale(rows, q, beta, 1, True) / UNIT)
            assert least <= found
            assert found <= 2.2 * least or len(rows) > 3


def units_apart(k, one_way, most=5):
    """Pairs of tables of up to `most` rows that differ in one unit of up to k rows, rows without a value left out."""
    contents = [c for size in range(k + 1) for c in combinations_with_replacement(VALUES, size)]
    for n in range(most + 1 - k):
        for base, old, new in product(BY_SIZE[n], contents, contents):
            if old < new and (not old or not one_way):
                yield base + old, base + new


@pytest.mark.one_in(8)
@pytest.mark.parametrize("one_way", [True, False])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("q", [F(0), *LEVELS])
def test_smooth_bounds_for_units(q, k, one_way):
    """Both demands, in integers: the bound is at least the move, and moves by less than beta."""
    for beta in (F(1, 20), F(1)):
        known = cache(lambda rows, beta=beta: scale(rows, q, beta, k, one_way))
        for one, other in units_apart(k, one_way):
            first, second = known(tuple(sorted(one))), known(tuple(sorted(other)))
            assert abs(first - second) < beta * UNIT
            moved = abs(value(one, q) - value(other, q))
            if moved:
                assert min(first, second) >= UNIT * math.log(moved) * (1 + 1e-12)


@pytest.mark.parametrize("q", [F(1, 4), F(1, 2), F(9, 10)])
def test_units_of_two_rows_by_definition(q):
    """The definition for units: never below it, above it by less than exp(beta)."""
    beta = F(1, 3)
    for rows in BY_SIZE[4]:
        best = 0.0
        for other in BY_SIZE[4]:
            d = math.ceil(distance(rows, other) / 2 / 2)
            near = [t for t in BY_SIZE[4] if distance(other, t) <= 4]
            best = max(best, max(abs(value(other, q) - value(t, q)) for t in near) * math.exp(-float(beta) * d))
        found = math.exp(scale(rows, q, beta, 2, False) / UNIT)
        assert best <= found <= best * math.exp(float(beta)) * (1 + 2 * GAP / UNIT)


def quadratic(rows, cells, q, beta, s) -> int:
    """All pairs of ranks."""
    x = [0, *sorted(rows), cells]
    r = int(rank(q, np.array([len(rows)]))[0])
    cost = max(int(min(beta, 8) * UNIT / s) - 1, 0)
    best = FLOOR
    for i, j in product(range(r + 1), range(r, len(rows) + 2)):
        if i < j:
            best = max(best, int(log_bound(np.array([x[j] - x[i]]))[0]) - cost * max(0, j - i - s))
    return best + GAP


@pytest.mark.slow
def test_the_fast_search_finds_the_maximum(monkeypatch):
    """A thousand tables with ties; halved down to single rows, so that the fast way decides alone."""
    monkeypatch.setattr(module, "DENSE", 1)
    rng = random.Random(15)
    for _ in range(1000):
        cells, s = rng.choice([1, 5, 40, 1000, 2**31]), rng.choice([1, 1, 2, 5])
        rows = [rng.randint(0, cells) for _ in range(rng.randint(0, 25))]
        q, beta = F(rng.randint(0, 10), 10), F(rng.choice([1e-9, 0.001, 0.03, 0.1, 0.5, 2, 20]))
        assert scale(rows, q, beta, s, False, cells) == quadratic(rows, cells, q, beta, s)


def test_balls_in_chunks_of_any_size(monkeypatch):
    rng = random.Random(16)
    cases = []
    for _ in range(300):
        cells, s = rng.choice([1, 40, 2**31]), rng.choice([1, 3])
        rows = [rng.randint(0, cells) for _ in range(rng.randint(0, 40))]
        case = rows, F(rng.randint(0, 10), 10), F(rng.choice([1e-9, 0.01, 0.1, 1])), s, True, cells
        cases.append((case, scale(*case)))
    monkeypatch.setattr(module, "DENSE", 1)
    for case, found in cases:
        assert scale(*case) == found


@pytest.mark.parametrize("dense", [1, module.DENSE])
def test_pairs_that_are_looked_at(monkeypatch, dense):
    """Fewer than 2 n log2(n), for small and large beta, on gaps of many kinds."""
    looked = [0]

    def counting(distance):
        looked[0] += distance.size
        return log_bound(distance)

    monkeypatch.setattr(module, "log_bound", counting)
    monkeypatch.setattr(module, "DENSE", dense)
    n, end = 20_000, 2**31
    closer = np.geomspace(1, end // 2, n // 2)
    shapes = [np.arange(n) * (end // n), end * (1 - 0.9997 ** np.arange(n)), end // 2 + np.append(-closer, closer)]
    for shape, beta in product(shapes, (1e-3, 1e-5, 1e-8)):
        looked[0] = 0
        scale(shape.astype(np.int64).tolist(), F(1, 2), F(beta), 1, False, end)
        assert looked[0] < 2 * n * math.log2(n)


def test_log_bound():
    edges = [2**e + d for e in range(1, 31) for d in (-1, 0, 1)]
    distances = np.unique([*range(1, 3000), *edges, *np.random.default_rng(1).integers(1, 2**31, 100_000), 2**31])
    exact = np.log(distances.astype(np.longdouble)) * UNIT
    below = exact - log_bound(distances)
    assert below.min() >= -1e-3  # long doubles resolve this much
    assert below.max() <= GAP
    small = np.arange(1 << 16)
    for first in (0, (1 << 20) - 100, (1 << 31) - (1 << 16)):
        slopes = np.diff(log_bound(first + small))
        assert slopes.min() >= 0
        assert np.diff(slopes).max() <= 0


def test_example_of_the_ten_numbers():
    """1, ..., 10 within 0..1000 at beta = 2: S* = 1."""
    found = scale(range(1, 11), F(1, 2), F(2), 1, False, 1000)
    assert 1 <= math.exp(found / UNIT) <= 1 + 2 * GAP / UNIT


def adjacent_gaps(rows, cells, beta) -> float:
    """A bound that is found in lecture notes: gaps of neighbours in rank within k of the median, then the whole range."""
    x, r = [0, *sorted(rows), cells], (len(rows) + 1) // 2
    best = 0.0
    for k in range(len(rows)):
        near = range(max(0, r - k - 1), min(len(x) - 1, r + k + 1))
        span = cells if k >= min(r, len(rows) + 1 - r) else max(x[i + 1] - x[i] for i in near)
        best = max(best, span * math.exp(-beta * k))
    return best


def test_adjacent_gaps_are_not_smooth():
    """41 values, one of which moves: the bound from adjacent gaps doubles, ours stays within exp(beta)."""
    even = [10 * i for i in range(1, 42)]
    moved = [*even[:20], 0, *even[21:]]  # the 21st value leaves a gap of 20
    beta = 0.3
    assert adjacent_gaps(moved, 420, beta) / adjacent_gaps(even, 420, beta) > 1.9 > math.exp(beta)
    one, other = (scale(rows, F(1, 2), F(beta), 1, False, 420) for rows in (even, moved))
    assert abs(one - other) < beta * UNIT
    assert math.exp(one / UNIT) == pytest.approx(16.46, rel=2e-3)


def test_many_equal_rows_and_none():
    floor = FLOOR + GAP
    assert scale([5] * 20_000, F(1, 2), F(1, 10), 1, False) == floor
    assert scale([5] * 20_000, F(1, 2), F(1, 10), 1, True) == floor
    for one_way in (True, False):
        assert math.exp(scale([], F(1, 2), F(1, 10), 1, one_way) / UNIT) == pytest.approx(CELLS, rel=2e-4)


@pytest.mark.parametrize("relation", RELATIONS)
def test_through_the_statistic(relation):
    """Rows of units beyond k and rows without a value do not count."""
    statistic = SmoothOrder(LatticeCounts("x", Lattice(F(1), 0, CELLS)), F(1, 2), F(1, 3))
    unit = PrivacyUnit("u", 2, 2, 2, relation)
    view = table([("a", "g", 1.0)] * 7 + [("b", "g", 4.0), ("c", "g", None), ("d", "g", 9.0)])
    (found,) = statistic.compute(view, unit).open()
    assert found == smooth(points([1, 1, 4, 9]), CELLS, F(1, 2), F(1, 3), 2, unit.add_remove)
    declared = statistic.sensitivity(unit)
    assert (declared.beta, declared.linf, declared.touched) == (F(1, 3), CELLS, 1)
    scale = SmoothScale(statistic)
    assert scale.compute(view, unit).open() == [found[1] >> 30]
    assert scale.sensitivity(unit).linf == math.ceil(2**20 / 3)


def test_a_grid_without_equal_distances_is_refused():
    grid = Grid(F(0), F(1, 100), below=False, above=True, bits=64)
    with pytest.raises(TypeError, match="equal distances"):
        SmoothOrder(LatticeCounts("x", grid), F(1, 2), F(1)).compute(table([("a", "g", 1.0)]), PrivacyUnit())


@pytest.mark.slow
@pytest.mark.parametrize("one_way", [True, False])
def test_a_million_rows_cost_at_most_three_sorts(one_way):
    """Counted on the default lattice and on the finest; epsilon down to 0.001. One of six attempts in turns suffices.

    Stable sorts: on some processors numpy sorts otherwise with vector instructions, ten times faster.
    """
    rng = np.random.default_rng(3)
    numbers = rng.random(10**6)

    def seconds(work) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    for cells in (1 << 16, 1 << 31):
        part = points((numbers * cells).astype(np.int64))
        for beta in (F(1, 10), F(1, 100), F(1, 10_000)):
            work = partial(smooth, part, cells, F(1, 2), beta, 1, one_way)
            assert any(seconds(work) <= 3 * seconds(lambda: np.sort(numbers, kind="stable")) for _ in range(6))

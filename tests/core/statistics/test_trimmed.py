"""The sensitivity of trimmed means is at least that of its definition, and smooth to the last bit."""

from __future__ import annotations

import math
import random
from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats
from support.views import table

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics import smooth as module
from pandas_dp.core.statistics.lattice_counts import Grid, LatticeCounts, Points
from pandas_dp.core.statistics.smooth import LEAST, LOG_BITS, TrimmedMean, inverse_size, log_bound, trimmed

UNIT = 1 << LOG_BITS
TRIMS = [F(1, 20), F(1, 5), F(1, 3), F(9, 20)]
CELLS = 1 << 20  # coarse values on a fine lattice: rounding and the floor stay small beside them
VALUES = tuple(CELLS * share // 9 for share in (0, 1, 4, 9))


def points(rows) -> Points:
    offsets, counts = np.unique(np.array(sorted(rows), dtype=np.int64), return_counts=True)
    return Points(offsets, counts.astype(np.int64))


def mean(rows, trim) -> F:
    """The definition, not rounded."""
    m = math.floor(trim * len(rows))
    kept = sorted(rows)[m : len(rows) - m]
    return F(sum(kept), len(kept)) if kept else F(0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("trim", TRIMS)
def test_means(trim):
    rng = random.Random(1)
    for _ in range(200):
        rows = [rng.choice((rng.randint(0, 1000), 7)) for _ in range(rng.randint(0, 30))]
        found, _ = trimmed(points(rows), 1000, trim, F(1), 1)
        assert found == math.floor(mean(rows, trim) + F(1, 2))
        if rows:
            assert float(mean(rows, trim)) == pytest.approx(stats.trim_mean(rows, float(trim)))


def units_apart(k, one_way, most):
    """Pairs of tables that differ in one unit of up to k rows, rows without a value left out."""
    contents = [c for size in range(k + 1) for c in combinations_with_replacement(VALUES, size)]
    for n in range(most + 1 - k):
        for base in combinations_with_replacement(VALUES, n):
            for old, new in product(contents, contents):
                if old < new and (not old or not one_way):
                    yield base + old, base + new


@pytest.mark.one_in(8)
@pytest.mark.parametrize("one_way", [True, False])
@pytest.mark.parametrize(("k", "most"), [(1, 8), (2, 6)])
@pytest.mark.parametrize("trim", TRIMS)
def test_bound_and_smoothness(trim, k, most, one_way):
    """All tables of four values: no unit moves the rounded mean further than the bound, nor the bound by beta."""
    for beta in (F(1, 20), F(1)):
        known = cache(lambda rows, beta=beta: trimmed(points(rows), CELLS, trim, beta, k))
        for one, other in units_apart(k, one_way, most):
            (f, first), (g, second) = known(tuple(sorted(one))), known(tuple(sorted(other)))
            assert abs(first - second) < beta * UNIT
            if f != g:
                assert min(first, second) >= UNIT * math.log(abs(f - g)) * (1 + 1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("one_way", [True, False])
def test_smoothness_of_larger_tables(one_way):
    """Random tables with ties, gaps of all sizes, units of up to five rows."""
    rng = random.Random(2)
    for _ in range(1000):
        s, trim, beta = rng.choice([1, 2, 5]), rng.choice(TRIMS), F(rng.choice([0.003, 0.03, 0.3, 2, 60]))
        base = [rng.choice((rng.randint(0, CELLS), int(CELLS ** rng.random()))) for _ in range(rng.randint(0, 40))]
        base += base[: rng.randint(0, 20)]
        ends = (0, CELLS, *base[:3])
        old = [] if one_way else [rng.choice(ends) for _ in range(rng.randint(0, s))]
        new = [rng.choice(ends) for _ in range(rng.randint(0, s))]
        (f, first), (g, second) = (trimmed(points(base + unit), CELLS, trim, beta, s) for unit in (old, new))
        assert abs(first - second) < beta * UNIT
        assert f == g or min(first, second) >= UNIT * math.log(abs(f - g)) * (1 + 1e-12)


@cache
def neighbours(rows, one_way):
    if one_way:
        return [rows[:i] + rows[i + 1 :] for i in range(len(rows))] + [(*rows, v) for v in VALUES]
    return [(*rows[:i], *rows[i + 1 :], v) for i in range(len(rows)) for v in VALUES]


@pytest.mark.parametrize("one_way", [True, False])
def test_never_below_the_definition(one_way):
    """max of local sensitivity times exp(-beta d) over all tables."""
    trim, beta = F(1, 5), F(1, 3)

    @cache
    def local(rows):
        return float(max((abs(mean(rows, trim) - mean(t, trim)) for t in neighbours(rows, one_way)), default=F(0)))

    def apart(one, other):
        d = len(one) + len(other) - 2 * sum(min(one.count(v), other.count(v)) for v in VALUES)
        return d if one_way else d / 2

    tables = [t for n in range(9) for t in combinations_with_replacement(VALUES, n)]
    for rows in (t for t in tables if len(t) <= 6):
        others = tables if one_way else [t for t in tables if len(t) == len(rows)]
        least = max(local(t) * math.exp(-float(beta) * apart(rows, t)) for t in others)
        found = math.exp(trimmed(points(rows), CELLS, trim, beta, 1)[1] / UNIT)
        assert least <= found


def test_many_rows_are_close_to_the_known_formula():
    """With a fixed n: the largest exp(-beta k) (x_(n-m+1+k-l) - x_(m+1-l)) / (n - 2 m) over k and l (Bun, Steinke 2019)."""
    rng = np.random.default_rng(3)
    n, cells, beta = 1000, 1 << 30, 0.1
    rows = np.sort((rng.beta(2, 8, n) * cells).astype(np.int64))
    m = n // 10
    x = np.concatenate([np.zeros(n, np.int64), rows, np.full(n, cells)])  # rank i at index n + i - 1
    known = 0.0
    for k in range(300):
        low = np.arange(k + 2)
        spans = x[n + n - m + k - low] - x[n + m - low]
        known = max(known, math.exp(-beta * k) * float(spans.max()) / (n - 2 * m))
    found = math.exp(trimmed(points(rows.tolist()), cells, F(1, 10), F(beta), 1)[1] / UNIT)
    assert known <= found <= 1.25 * known


def test_sizes(monkeypatch):
    """All w at once, in chunks of any length."""
    for dense in (1, 7, module.DENSE):
        monkeypatch.setattr(module, "DENSE", dense)
        for n, trim, s, cost in product((0, 1, 2, 50), TRIMS, (1, 3), (0, 1 << 40, 1 << 48, 1 << 52)):
            share = 1 - 2 * trim
            direct = [
                -int(log_bound(np.array([max(1, math.ceil(share * (n - w)) - 1)]))[0]) - cost * max(0, w - s + 1)
                for w in range(s - 1, n + 60)
            ]
            assert inverse_size(n, trim, s, cost) == max(direct)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_through_the_statistic(relation):
    """Rows of units beyond k and rows without a value do not count."""
    statistic = TrimmedMean(LatticeCounts("x", Lattice(F(1), 0, 1000)), F(1, 4), F(1, 3))
    unit = PrivacyUnit("u", 2, 2, 2, relation)
    view = table([("a", "g", 1.0)] * 7 + [("b", "g", 4.0), ("c", "g", None), ("d", "g", 900.0)])
    assert statistic.compute(view, unit).open() == [trimmed(points([1, 1, 4, 900]), 1000, F(1, 4), F(1, 3), 2)]
    declared = statistic.sensitivity(unit)
    assert (declared.beta, declared.linf, declared.touched) == (F(1, 3), 1000, 1)


def test_ends():
    """Equal rows reach the floor, no rows the whole lattice."""
    floor = math.log(LEAST) + 1 / LEAST
    assert trimmed(points([5] * 20_000), CELLS, F(1, 10), F(1, 10), 1)[1] / UNIT == pytest.approx(floor, abs=2e-4)
    assert trimmed(points([]), CELLS, F(1, 10), F(1, 10), 1)[1] / UNIT == pytest.approx(
        math.log(CELLS) + 1 / 32, abs=2e-4
    )
    grid = Grid(F(0), F(1, 100), below=False, above=True, bits=64)
    with pytest.raises(TypeError, match="equal distances"):
        TrimmedMean(LatticeCounts("x", grid), F(1, 4), F(1)).compute(table([("a", "g", 1.0)]), PrivacyUnit())

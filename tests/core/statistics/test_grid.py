"""The grid that grows without bounds: public points, and a map of rows that is monotone and knows one row at a time."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each
from support.views import table

from pandas_dp.core import bounding
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.lattice_counts import Grid, LatticeCounts

GRIDS = [
    Grid(F(0), F(1, 100), below=False, above=True, bits=997),
    Grid(F(-7, 3), F(1), below=False, above=True, bits=64),
    Grid(F(100), F(1, 2), below=True, above=False, bits=997),
    Grid(F(0), F(1), below=True, above=True, bits=64),
    Grid(F(10**18), F(1, 100), below=True, above=True, bits=63),  # the first points round to one float
    Grid(F(0), F(1, 10**250), below=True, above=True, bits=997),
    Grid(F(10) ** 300, F(1), below=False, above=True, bits=997),
]
FINEST = 5  # which has by far the most points
FLOATS = st.floats(allow_nan=False)
DTYPES = ["int8", "int64", "uint8", "uint64", "float16", "float32", "float64", "bool"]


@pytest.mark.parametrize(
    "grid",
    [pytest.param(grid, marks=[pytest.mark.slow] if i == FINEST else []) for i, grid in enumerate(GRIDS)],
    ids=range(len(GRIDS)),
)
def test_points(grid):
    points = grid.candidates
    assert (np.diff(points) > 0).all()
    assert np.isfinite(points).all()
    assert grid.cells + 1 == points.size == len({grid.point(i) for i in range(points.size)})
    assert float(grid.start) in points
    for wanted, end in ((grid.above, points[-1]), (grid.below, points[0])):
        far = abs(F(float(end)) - F(float(grid.start)))
        assert far >= 2**grid.bits * F(999, 1000) if wanted else far == 0


def test_distances_grow_by_one_percent():
    points = GRIDS[0].candidates[:2000]
    exact = [(F(101, 100) ** i - 1) for i in range(0, 2000, 100)]
    assert points[::100] == pytest.approx([float(x) for x in exact], rel=1e-12)
    assert GRIDS[0].cells < 70_000
    assert Grid(F(0), F(1, 100), False, True, 64).cells < 5_000


@pytest.mark.parametrize("grid", GRIDS, ids=range(len(GRIDS)))
@settings(max_examples=30, deadline=None)
@given(values=st.lists(FLOATS, min_size=1, max_size=8), wide=st.booleans())
def test_map_is_monotone_and_looks_at_one_row(grid, values, wide):
    with np.errstate(over="ignore"):
        array = np.sort(np.array(values).astype(np.float64 if wide else np.float32))
    offsets = grid.offsets(array)
    assert (np.diff(offsets) >= 0).all()
    assert offsets.dtype == np.int64
    assert set(offsets.tolist()) <= set(range(grid.cells + 1))
    assert offsets.tolist() == [int(grid.offsets(array[i : i + 1])[0]) for i in range(array.size)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("grid", GRIDS, ids=range(len(GRIDS)))
def test_every_dtype_is_mapped_to_the_nearest_point(grid, dtype):
    if dtype == "bool":
        values = np.array([False, True])
    elif "int" in dtype:
        info = np.iinfo(dtype)
        some = [info.min, info.min + 1, -1, 0, 1, 2, 99, 101, 2**53 + 1, 10**18 + 1, info.max - 1, info.max]
        values = np.array([v for v in some if info.min <= v <= info.max], dtype=dtype)
    else:
        values = np.array([-np.inf, -1e4, -1, -0.0, 0, 0.005, 0.5, 100, 1e4, np.inf], dtype=dtype)
    points = [grid.point(0), grid.point(grid.cells)]
    for value, offset in zip(values.tolist(), grid.offsets(values).tolist(), strict=True):
        if isinstance(value, float) and math.isinf(value):
            assert offset == (grid.cells if value > 0 else 0)
            continue
        inside = min(max(F(value), points[0]), points[1])
        near = [grid.point(i) for i in range(max(offset - 1, 0), min(offset + 2, grid.cells + 1))]
        gap = max((b - a for a, b in pairwise(near)), default=F(0))
        # the middles are rounded to floats
        assert (
            abs(grid.point(offset) - inside) <= min(abs(p - inside) for p in near) + gap / 2**20 + abs(inside) / 2**50
        )
    for i in (0, 1, 5, grid.cells):
        if dtype == "float64" and grid.start < 10**300:  # where no two points are neighbours among the floats
            assert grid.offsets(np.array([float(grid.point(i))])).tolist() == [i]


ROWS = st.tuples(st.just("a"), st.one_of(st.none(), FLOATS, st.integers(-5, 200).map(float)))
UNITS = st.lists(ROWS, max_size=4)


@settings(max_examples=100, deadline=None)
@given(
    others=st.lists(UNITS, max_size=3),
    unit=UNITS,
    other=UNITS,
    k=st.integers(1, 3),
    grid=st.sampled_from(GRIDS[1:4]),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_no_unit_moves_a_rank_further_than_stated(others, unit, other, k, grid, relation):
    privacy = PrivacyUnit("u", k, k, k, relation)
    statistic, ranks = LatticeCounts("x", grid), []
    original, bounding.keep_at_most = bounding.keep_at_most, first_of_each
    try:
        for last in (unit, other if relation is NeighboringRelation.REPLACE_ONE else []):
            rows = [(i, *row) for i, rows in enumerate([*others, last]) for row in (rows or [(None, None)])]
            (points,) = statistic.compute(table(rows), privacy).open()
            ranks.append(np.bincount(points.offsets, weights=points.counts, minlength=grid.cells + 1))
    finally:
        bounding.keep_at_most = original
    moved, stated = ranks[1] - ranks[0], statistic.sensitivity(privacy)
    assert np.abs(moved).sum() <= stated.l1
    assert np.abs(np.cumsum(moved)).max() <= stated.linf == k

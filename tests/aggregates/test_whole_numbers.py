"""Whole numbers near consistent tables: sums, margins and signs for random sets of tables; sets that promise nothing."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pandas_dp.aggregates.whole_numbers import whole

SIZES = (3, 4, 2, 3)
SETS = {
    "alone": [(0, 1)],
    "one column": [(2,)],
    "the total": [(), (0,)],
    "pairs": list(combinations(range(4), 2)),
    "a tree": [(), (0,), (0, 1), (0, 1, 2)],
    "two cubes": [(0, 1, 2), (1, 2, 3)],
    "a cube and two pairs of it": [(0, 1, 2), (0, 1), (1, 2)],
    "a cube and its columns": [(0, 1, 2), (0,), (1,), (2,)],
    "all columns and three of them": [(0, 1, 2, 3), (0, 1), (2,), (3,)],
}
RINGS = {
    "a cube and all its pairs": [(0, 1, 2), (0, 1), (1, 2), (0, 2)],
    "four columns around": [(0, 1, 2, 3), (0, 1), (1, 2), (2, 3), (0, 3)],
}


def some(columns: list[tuple[int, ...]], seed: int) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Margins of one table with real cells, many of them 0."""
    random = np.random.default_rng(seed)
    finest = random.gamma(0.3, 5, SIZES) * (random.random(SIZES) < 0.5)
    return [(own, finest.sum(axis=tuple(axis for axis in range(4) if axis not in own))) for own in columns]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", SETS)
def test_margins_agree_and_nothing_is_far_away(name, seed):
    tables = some(SETS[name], seed)
    made = whole(tables)
    total = round(float(tables[0][1].sum()))
    for (_, cells), found in zip(tables, made, strict=True):
        assert found.shape == cells.shape
        assert np.array_equal(found, np.round(found))
        assert found.min() >= 0
        assert found.sum() == total
        assert np.abs(found - cells).max() < 4
    for (one, first), (other, second) in combinations(zip(SETS[name], made, strict=True), 2):
        margins = [
            cells.sum(axis=tuple(axis for axis, column in enumerate(own) if column not in {*one} & {*other}))
            for own, cells in ((one, first), (other, second))
        ]
        assert np.array_equal(*margins)


@pytest.mark.parametrize("name", RINGS)
def test_columns_in_a_ring_promise_nothing(name):
    assert whole(some(RINGS[name], 1)) is None


def test_there_are_whole_margins_without_a_whole_table():
    """Three tables of two columns, whole and consistent, of a table of halves: no whole one has them, as all cells show."""
    halves = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]) / 2 + 0.0
    pairs = [halves.sum(axis=axis) * 2 for axis in range(3)]  # all of ones
    whole_tables = [np.array(bits).reshape(2, 2, 2) for bits in np.ndindex(*(2,) * 8)]
    assert any(all(np.array_equal(t.sum(axis=k), pairs[k]) for k in range(3)) for t in whole_tables)
    odd = [np.array([[1, 0], [0, 1]]), np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])]
    assert not any(all(np.array_equal(t.sum(axis=k), odd[k]) for k in range(3)) for t in whole_tables)


def test_whole_numbers_stay_and_negative_totals_are_none():
    tables = [((0,), np.array([3.0, 0.0, 5.0])), ((), np.array(8.0))]
    assert [found.tolist() for found in whole(tables)] == [[3.0, 0.0, 5.0], 8.0]
    assert whole([((0,), np.array([0.2, 0.1]))])[0].tolist() == [0.0, 0.0]


def test_zeros_that_rule_a_sum_out_are_left():
    """The margins round to what cells above 0 cannot add up to."""
    cells = np.diag([0.6, 0.6, 0.6, 0.2])
    found, rows, columns = whole([((0, 1), cells), ((0,), cells.sum(axis=1)), ((1,), cells.sum(axis=0))])
    assert found.sum() == 2
    assert np.array_equal(found.sum(axis=1), rows)
    assert np.array_equal(found.sum(axis=0), columns)

"""Each unit keeps a uniformly random part of its rows, whatever the other units own."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from pandas_dp.core import bounding
from pandas_dp.core.bounding import bound_groups, bound_parts, keep_at_most
from pandas_dp.core.privacy import PrivacyUnit


def uniform(counts: Counter, cells: list, draws: int) -> None:
    """Chi-squared against equal probabilities; false alarm 1e-6."""
    observed = [counts[cell] for cell in cells]
    assert sum(observed) == draws
    assert chisquare(observed).pvalue > 1e-6


@pytest.mark.slow
def test_every_subset_is_equally_likely():
    """20,000 draws see a probability that is off by a fifth with probability above 0.999."""
    owner = np.array([0, 1, 0, 2, 0, 1, 0])
    counts = Counter()
    for _ in range(20_000):
        kept = keep_at_most(owner, 3, 2)
        assert kept.tolist() == sorted(kept.tolist())
        counts[tuple(i for i in kept.tolist() if owner[i] == 0)] += 1
        assert {1, 3, 5} <= set(kept.tolist())
    uniform(counts, list(combinations([0, 2, 4, 6], 2)), 20_000)


@pytest.mark.parametrize("n", [4000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_ties_of_short_random_keys_are_shuffled(monkeypatch, n):
    """With one random bit nearly every pair ties: without the shuffle row order would decide."""

    def one_bit(count, fill, dtype):
        return (np.frombuffer(fill(count), dtype=np.uint8) & 1).astype(dtype) << dtype(31)

    monkeypatch.setattr(bounding, "random_words", one_bit)
    owner = np.zeros(4, dtype=np.int64)
    counts = Counter(tuple(keep_at_most(owner, 1, 2).tolist()) for _ in range(n))
    uniform(counts, list(combinations(range(4), 2)), n)
    monkeypatch.setattr(bounding, "_shuffle_ties", lambda order, tied, fill: None)
    broken = Counter(tuple(keep_at_most(owner, 1, 2).tolist()) for _ in range(n))
    assert chisquare([broken[c] for c in combinations(range(4), 2)]).pvalue < 1e-6


def test_wide_keys_sort_by_two_columns():
    """Codes too wide for one 64-bit key give the same law."""
    owner = np.repeat(np.array([0, (1 << 46) - 1]), 4)
    counts = Counter()
    for _ in range(20_000):
        order = bounding._first_in_random_order(owner, 1, bounding.random_bytes)
        first, second = sorted(order.tolist())
        counts[first, second - 4] += 1
    uniform(counts, [(i, j) for i in range(4) for j in range(4)], 20_000)


@pytest.mark.slow
def test_one_units_choice_is_independent_of_the_others():
    """The joint law of two units' choices is the product of the two."""
    owner = np.array([0, 0, 0, 1, 1, 1])
    counts = Counter(tuple(keep_at_most(owner, 2, 1).tolist()) for _ in range(18_000))
    uniform(counts, [(i, j) for i in range(3) for j in range(3, 6)], 18_000)


@pytest.mark.slow
def test_groups_of_a_unit_are_equally_likely_whatever_their_size():
    units = np.zeros(6, dtype=np.int64)
    parts = np.array([0, 0, 0, 0, 1, 2])
    unit = PrivacyUnit("u", 6, 1, 6)
    counts = Counter(int(parts[bound_groups(units, 1, parts, 3, unit)][0]) for _ in range(15_000))
    uniform(counts, [0, 1, 2], 15_000)


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=40),
    bounds=st.sampled_from([(1, 1, 1), (2, 2, 2), (3, 1, 2), (4, 2, 2), (5, 2, 3), (6, 3, 2), (3, 3, 3)]),
)
def test_bounds_hold_and_nothing_is_dropped_without_need(rows, bounds):
    units = np.array([u for u, _ in rows], dtype=np.int64)
    parts = np.array([p for _, p in rows], dtype=np.intp)
    k, m, c = bounds
    kept = bound_parts(units, 4, parts, 5, PrivacyUnit("u", k, m, c))
    assert len(set(kept.tolist())) == kept.size
    for u in range(4):
        mine = parts[kept[units[kept] == u]].tolist()
        by_part = Counter(mine)
        assert len(mine) <= k
        assert len(by_part) <= m
        assert max(by_part.values(), default=0) <= c
        own = Counter(p for v, p in rows if v == u)
        if len(own) <= m and all(n <= c for n in own.values()) and sum(own.values()) <= k:
            assert by_part == own


@pytest.mark.parametrize("bounds", [(1, 1, 1), (2, 2, 2), (7, 7, 7)])
def test_default_caps_still_bound_rows(bounds):
    """With m = c = k the bound on rows is the only one that binds: it must be drawn also for k = 1."""
    units, parts = np.zeros(50, dtype=np.int64), np.arange(50) % 9
    assert bound_parts(units, 1, parts, 9, PrivacyUnit("u", *bounds)).size == bounds[0]


@pytest.mark.parametrize("values", [[], [3], [2, 2, 2], [5, -1, 5, 2**62, -1, 0, -(2**62)]], ids=str)
def test_different_values_rise_and_are_found_by_a_sort(monkeypatch, values):
    expected = sorted(set(values))
    monkeypatch.setattr(np, "unique", None)  # hashes: with ten million different values that takes minutes
    given = np.array(values, dtype=np.int64)
    found = bounding.different(given)
    assert (found.tolist(), found.dtype, given.tolist()) == (expected, np.int64, values)

"""Estimates from trees of counts are those of least squares, and their variances those of exact linear algebra."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pandas_dp.aggregates.hierarchy import Hierarchy
from pandas_dp.aggregates.ranges import hierarchy_of, strategy
from pandas_dp.core.partition import Bins
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.strategies import Haar, Tree

ADD_REMOVE, REPLACE_ONE = (PrivacyUnit(relation=relation) for relation in NeighboringRelation)
SIZES = [1, 2, 3, 5, 8, 13, 16, 37, 64]


def bins(parts: int) -> Bins:
    return Bins("x", tuple(range(parts + 1)))


def matrix(shape: Hierarchy) -> np.ndarray:
    """A of a hierarchy, built run by run; shape (entries, parts)."""
    n, rows = shape.size, []
    for level in range(shape.levels):
        length = shape.branching**level
        runs = [[float(first <= i < first + length) for i in range(n)] for first in range(0, n, length)]
        if shape.differences:
            runs = [np.subtract(left, right) for left, right in zip(runs[::2], runs[1::2], strict=False)]
        rows += list(runs)
    return np.array([*rows, np.ones(n)] if shape.root or shape.differences else rows)


def covariance(shape: Hierarchy) -> np.ndarray:
    a = matrix(shape)
    return np.linalg.inv(a.T @ a)


def mean_over_ranges(covariance: np.ndarray) -> float:
    """Mean of Var(P_j - P_i) over all i < j, P the sums of the first parts."""
    n = len(covariance)
    prefixes = np.tri(n + 1, n, -1)
    products = prefixes @ covariance @ prefixes.T  # shape (n + 1, n + 1)
    own = np.diag(products)
    return float((own[:, None] + own - 2 * products)[np.triu_indices(n + 1, 1)].mean())


def shapes():
    for size in SIZES:
        for branching, levels in ((2, 1), (2, 2), (2, 4), (3, 2), (3, 3), (7, 2), (16, 3)):
            yield from (Hierarchy(size, branching, levels, root) for root in (False, True))
        yield Hierarchy(size, 2, (size - 1).bit_length(), root=True, differences=True)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", [shape for shape in shapes() if shape.levels], ids=repr)
def test_estimates_and_variances(shape):
    a, exact = matrix(shape), covariance(shape)
    noisy = np.random.default_rng(shape.size).integers(-100, 100, len(a)).tolist()
    assert shape.estimates(noisy) == pytest.approx(np.linalg.lstsq(a, np.array(noisy, dtype=float), rcond=None)[0])
    assert shape.variances == pytest.approx(np.diag(exact))
    weights = np.random.default_rng(1).normal(size=shape.size)
    assert shape.variance(weights) == pytest.approx(weights @ exact @ weights)
    assert shape.mean_variances["ranges"] == pytest.approx(mean_over_ranges(exact))
    prefixes = np.tri(shape.size)
    assert shape.mean_variances["prefixes"] == pytest.approx(np.diag(prefixes @ exact @ prefixes.T).mean())
    inner, share = shape.prefixes(np.arange(1, shape.size))
    for f in (0, 0.3, 1):
        taken = prefixes[:-1] - f  # the sum of all parts, f times, taken off
        assert inner + (share - f) ** 2 * shape.root_variance == pytest.approx(np.diag(taken @ exact @ taken.T))
    again = pickle.loads(pickle.dumps(shape))
    assert again == shape
    assert "spreads" not in vars(again)


def error(statistic: Tree | Haar, unit: PrivacyUnit = ADD_REMOVE, gaussian: bool = False) -> float:
    """Mean variance over all ranges for epsilon = 1, or for Gaussian noise of standard deviation 1 a unit of L2."""
    moved = statistic.sensitivity(unit)
    variance = hierarchy_of(statistic, unit).mean_variances["ranges"]
    return variance * (moved.l2_squared if gaussian else 2 * moved.l1**2)


@pytest.mark.parametrize(
    ("size", "form", "laplace", "gaussian"),
    [
        (64, "identity", 44, 22),
        (64, (2, 7), 127, 9.1),
        (64, (4, 4), 74, 9.3),
        (64, "haar", 102, 7.3),
        (256, "identity", 172, 86),
        (256, (2, 9), None, 14.7),
        (256, (4, 5), 154, None),
        (256, (16, 3), 135, None),
        (256, "haar", 221, 12.3),
    ],
)
def test_published_errors_under_add_remove(size, form, laplace, gaussian):
    """Full trees count all parts as well: one level more than those that are chosen."""
    by = bins(size)
    statistic = Haar(by) if form == "haar" else Tree(by) if form == "identity" else Tree(by, *form)
    if laplace is not None:
        assert error(statistic) == pytest.approx(laplace, abs=0.5)
    if gaussian is not None:
        assert error(statistic, gaussian=True) == pytest.approx(gaussian, abs=0.06)


@pytest.mark.parametrize(
    ("size", "form", "laplace", "gaussian"),
    [
        (16, "identity", None, 5.6),
        (16, "haar", None, 5.6),
        (64, "identity", 87, 22),
        (64, (4, 3), 158, None),
        (64, "haar", 250, 12.2),
        (256, "identity", 343, None),
        (256, (16, 2), 236, None),
        (256, (4, 4), 378, None),
    ],
)
def test_published_errors_under_replace_one(size, form, laplace, gaussian):
    """There the count of all parts is public. It is measured here, for free, which comes close to that."""
    by = bins(size)
    statistic = Haar(by) if form == "haar" else Tree(by) if form == "identity" else Tree(by, *form)
    shape = hierarchy_of(statistic, REPLACE_ONE)
    exact = covariance(shape)
    known = exact - np.outer(exact.sum(axis=1), exact.sum(axis=1)) / exact.sum()
    moved = statistic.sensitivity(REPLACE_ONE)
    for published, factor, is_gaussian in ((laplace, 2 * moved.l1**2, False), (gaussian, moved.l2_squared, True)):
        if published is not None:
            assert factor * mean_over_ranges(known) == pytest.approx(published, rel=0.02)
            assert error(statistic, REPLACE_ONE, is_gaussian) <= published + factor / 6 * 1.1 + 0.5


def best(size: int, unit: PrivacyUnit, gaussian: bool) -> Tree | Haar:
    return strategy(bins(size), unit, gaussian, "ranges")


def test_laplace_noise_counts_few_bins_plainly_and_many_by_trees():
    for size in (1, 2, 8, 16, 32):
        assert best(size, ADD_REMOVE, False) == Tree(bins(size))
        assert best(size, REPLACE_ONE, False) == Tree(bins(size))
    for size in (64, 100, 256, 1000, 5000):
        chosen = best(size, ADD_REMOVE, False)
        assert isinstance(chosen, Tree)
        assert chosen.levels in (2, 3, 4)
        assert 4 <= chosen.branching <= 16
    # leaving the count of all bins out makes them pay much earlier than full trees do
    full = min(error(Tree(bins(256), b, levels)) for b, levels in ((2, 9), (4, 5), (16, 3)))
    assert error(best(256, ADD_REMOVE, False)) == pytest.approx(79.1, abs=0.1)
    assert full > 134


def test_gaussian_noise_takes_the_haar_transform_or_a_tree_as_good():
    for size in (4, 8, 16, 64, 256, 1024):
        assert best(size, ADD_REMOVE, True) == Haar(bins(size))
    assert error(best(64, ADD_REMOVE, True), gaussian=True) == pytest.approx(7.3, abs=0.05)
    for size in (16, 64, 100, 256):
        chosen = error(best(size, REPLACE_ONE, True), REPLACE_ONE, True)
        assert chosen < error(Tree(bins(size)), REPLACE_ONE, True)
        assert chosen <= error(Haar(bins(size)), REPLACE_ONE, True)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("unit", [ADD_REMOVE, REPLACE_ONE, PrivacyUnit("u", 6, 3, 2)], ids=str)
@pytest.mark.parametrize("size", [3, 20, 100, 300])
def test_the_choice_has_the_least_error_of_all_candidates(size, unit, gaussian):
    by, workload = bins(size), ("ranges", "prefixes")[size % 2]

    def value(statistic):
        moved = statistic.sensitivity(unit)
        return hierarchy_of(statistic, unit).mean_variances[workload] * (moved.l2_squared if gaussian else moved.l1**2)

    others = [Tree(by, b, levels) for b in (2, 3, 4, 8, 16) for levels in (1, 2, 3, 5) if b ** (levels - 1) < size]
    least = min(value(statistic) for statistic in [*others, *([Haar(by)] if gaussian else [])])
    assert value(strategy(by, unit, gaussian, workload)) <= least * (1 + 1e-9)


def test_a_hundred_thousand_bins_are_planned_quickly_and_sampled_well():
    exact = Hierarchy(5000, 9, 4)
    every = np.arange(1, 5000)
    inner, share = exact.prefixes(every)
    mean = (float((inner + share**2 * exact.root_variance).sum()) + exact.root_variance) / 5000
    assert exact.mean_variances["prefixes"] == pytest.approx(mean, rel=0.01)
    chosen = best(100_000, ADD_REMOVE, False)
    assert isinstance(chosen, Tree)
    assert chosen.branching in (8, 16)
    assert hierarchy_of(chosen, ADD_REMOVE).mean_variances["ranges"] > 0

"""Consistent tables: against dense least squares, against simulated noise, and twins that are wrong."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from pandas_dp.aggregates import consistent, weighted_noise
from pandas_dp.aggregates.consistent import Equations, Noisy, Residuals
from pandas_dp.aggregates.weighted_noise import CellNoise, Law
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import Sensitivity


def matrix(table, sizes):
    """Which finest cells each cell of a table counts, shape (cells, finest cells)."""
    where = np.array(list(itertools.product(*map(range, sizes)))).reshape(math.prod(sizes), len(sizes))
    place = np.zeros(len(where), dtype=int)
    for axis, column in enumerate(table.columns):
        place = place * table.counts.shape[axis] + table.groups[axis][where[:, column]]
    found = np.zeros((table.counts.size, len(where)))
    found[place, np.arange(len(where))] = 1
    return found


def dense(tables, sizes):
    """Fitted cells, their variances, and the rank of all tables, by one least squares problem of the full table."""
    cells = np.vstack([matrix(table, sizes) for table in tables])
    noisy = np.concatenate([table.counts.ravel() for table in tables])
    variances = np.concatenate([np.full(table.counts.size, table.noise.variance) for table in tables])
    weights = 1 / np.sqrt(variances)
    hat = cells @ np.linalg.pinv(cells * weights[:, None], rcond=1e-12) * weights
    return hat @ noisy, ((hat**2) * variances).sum(axis=1), np.linalg.matrix_rank(cells)


def made(seed, grouped, tables=None):
    """Some tables of one random full table, with noise of very different sizes."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(1, 5))
    sizes = tuple(int(n) for n in rng.integers(1, 5, columns))
    full = rng.integers(0, 50, sizes).astype(float)
    found = []
    for _ in range(tables or int(rng.integers(2, 5))):
        own = tuple(sorted(rng.choice(columns, int(rng.integers(0, columns + 1)), replace=False).tolist()))
        counts, groups = full.sum(axis=tuple(j for j in range(columns) if j not in own)), []
        for axis, column in enumerate(own):
            group = np.arange(sizes[column])
            if grouped and sizes[column] > 1 and rng.random() < 0.6:
                group = rng.permutation(np.arange(sizes[column]) % 2)
                wide = np.moveaxis(counts, axis, 0)
                counts = np.moveaxis(np.stack([wide[group == 0].sum(axis=0), wide[group == 1].sum(axis=0)]), 0, axis)
            groups.append(group)
        variance = float(10 ** rng.uniform(-3, 4))
        noise = rng.normal(0, math.sqrt(variance), counts.shape)
        found.append(Noisy(own, counts + noise, tuple(groups), CellNoise(variance, bool(rng.random() < 0.5))))
    return tuple(found), sizes


def laplace(*variances):
    """The law of a sum of continuous Laplace noise."""
    return Law(tuple((math.sqrt(variance) / 1e5, CellNoise(1e10, True), 1) for variance in variances))


def flat(arrays):
    return np.concatenate([array.ravel() for array in arrays])


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_as_dense_least_squares(seed, grouped):
    tables, sizes = made(seed, grouped)
    fit = consistent.fit(tables, sizes)
    cells, variances, rank = dense(tables, sizes)
    assert np.abs(flat(fit.fitted) - cells).max() < 1e-8 * max(1.0, np.abs(cells).max())
    told = [law.variance for place, table in enumerate(tables) for law in fit.laws(place, table.columns)]
    np.testing.assert_allclose(told, variances, rtol=1e-6, atol=1e-9)
    assert fit.freedom == len(cells) - rank


@pytest.mark.parametrize("seed", range(6))
def test_margins_of_a_table_are_told_as_well(seed):
    tables, sizes = made(100 + seed, grouped=seed % 2 == 1)
    fit = consistent.fit(tables, sizes)
    for place, table in enumerate(tables):
        for kept in consistent.subsets(table.columns):
            beside = tuple(axis for axis, column in enumerate(table.columns) if column not in kept)
            margin = Noisy(
                kept,
                table.counts.sum(axis=beside),
                tuple(group for group, column in zip(table.groups, table.columns, strict=True) if column in kept),
                CellNoise(1e12),  # so that it decides nothing, and the oracle still tells its variance
            )
            cells, variances, _ = dense((*tables, margin), sizes)
            size = margin.counts.size
            np.testing.assert_allclose(fit.fitted[place].sum(axis=beside).ravel(), cells[-size:], atol=1e-4, rtol=1e-5)
            told = [law.variance for law in fit.laws(place, kept)]
            np.testing.assert_allclose(told, variances[-size:], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_the_closed_form_and_the_equations_agree(seed):
    tables, sizes = made(200 + seed, grouped=False)
    closed, general = Residuals(tables, sizes), Equations(tables, sizes)
    np.testing.assert_allclose(flat(closed.fitted), flat(general.fitted), atol=1e-6)
    assert closed.freedom == general.freedom
    for place, table in enumerate(tables):
        one, other = (fit.laws(place, table.columns)[0] for fit in (closed, general))
        assert one.variance == pytest.approx(other.variance, rel=1e-6, abs=1e-9)
        assert one.squares == pytest.approx(other.squares, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_equations_of_bins_are_those_of_eigenvectors(seed, monkeypatch):
    """Bins of one column, whose equations a faster decomposition finds: they span the same."""
    rng = np.random.default_rng(seed)
    full, found = rng.integers(0, 50, 12).astype(float), []
    for parts in (12, 7, 5, 1):
        group = np.sort(np.concatenate([np.arange(parts), rng.integers(0, parts, 12 - parts)]))
        noise = CellNoise(float(10 ** rng.uniform(-2, 3)), True)
        counts = np.bincount(group, full) + rng.normal(0, math.sqrt(noise.variance), parts)
        found.append(Noisy((0,), counts, (group,), noise))
    fast = Equations(tuple(found), (12,))
    assert fast._equations().shape == (13, 25)
    with monkeypatch.context() as patch:
        patch.setattr(consistent.math, "prod", lambda sizes: 10**9)
        slow = Equations(tuple(found), (12,))._equations()
    np.testing.assert_allclose(fast._equations().T @ fast._equations(), slow.T @ np.linalg.pinv(slow).T, atol=1e-8)


def test_an_exact_number_is_kept():
    total, sex = np.array(100.0), np.array([40.0, 52.0])
    tables = (Noisy((), total, (), CellNoise()), Noisy((0,), sex, (np.arange(2),), CellNoise(9.0, True)))
    for fit in (Residuals(tables, (2,)), Equations(tables, (2,))):
        assert float(fit.fitted[0]) == pytest.approx(100)
        np.testing.assert_allclose(fit.fitted[1], [44, 56])
        assert fit.laws(0, ())[0].variance == pytest.approx(0)
        assert fit.laws(1, (0,))[0].variance == pytest.approx(4.5)
        assert fit.freedom == 1


WRONG = {  # each a mistake that is easily made
    "variance taken for a deviation": lambda t: t._replace(noise=CellNoise(math.sqrt(t.noise.variance))),
    "cells not counted": lambda t: t._replace(noise=CellNoise(t.noise.variance / t.counts.size)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_twins_with_other_weights_are_worse(wrong):
    """The variance of the best weights, told for the twin's: it claims less than it has."""
    tables, sizes = made(7, grouped=False, tables=4)
    twin = consistent.fit([WRONG[wrong](table) for table in tables], sizes)
    cells, variances, _ = dense(tables, sizes)
    assert np.abs(flat(twin.fitted) - cells).max() > 1e-3
    told = [law.variance for place, table in enumerate(tables) for law in twin.laws(place, table.columns)]
    assert np.abs(np.array(told) / variances - 1).max() > 0.05


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shares", [(1.0,), (0.9, 0.1), (0.5, 0.5), (0.3, 0.3, 0.2, 0.2), (0.05,) * 20])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_half_widths_of_sums_of_laplace_noise(shares, level):
    """400,000 sums of continuous noise: the share outside is off by more than five deviations with less than 1e-6."""
    rng, draws = np.random.default_rng(3), 400_000
    sums = sum(rng.laplace(0, math.sqrt(share / 2), draws) for share in shares)
    half = weighted_noise.half_width(laplace(*shares), level)
    inside = float((np.abs(sums) <= half).mean())
    assert abs(inside - level) < 5 * math.sqrt(level * (1 - level) / draws)
    normal = weighted_noise.half_width(Law(((1.0, CellNoise(1.0), 1),)), level)
    if len(shares) == 1 and level > 0.95:  # the test tells a Laplace tail from a normal one
        assert float((np.abs(sums) <= normal).mean()) < level - 0.005


LAWS = {  # probabilities of whole steps: what the half-widths of sums of noise of few steps must cover, and how exactly
    "epsilon 1, 0.01": (1, 0.01),
    "epsilon 1": (1, 1),
    "epsilon 1, 0.1": (1, 0.1),
    "epsilon 2": (2, 2),
    "epsilon 3, 1": (3, 1),
    "epsilon 5": (5, 5),
    "epsilon 0.3, 0.1": (0.3, 0.1),
}


def mechanism(epsilon):
    return DiscreteLaplace(1 / Fraction(str(epsilon)))


@pytest.mark.parametrize("level", [0.6, 0.85, 0.95, 0.99])
@pytest.mark.parametrize("name", LAWS)
def test_means_of_two_counts_are_covered_as_enumerated(name, level):
    """At least as wanted, and not with a step less."""
    noises = [CellNoise.of(mechanism(epsilon)) for epsilon in LAWS[name]]
    fit = consistent.fit([Noisy((), np.array(0.0), (), noise) for noise in noises], ())
    (law,) = fit.laws(0, ())
    weights = np.array([1 / noise.variance for noise in noises]) / sum(1 / noise.variance for noise in noises)
    laws = []
    for epsilon in LAWS[name]:
        p, steps = math.exp(-epsilon), np.arange(-int(60 / epsilon) - 20, int(60 / epsilon) + 21)
        laws.append((steps, (1 - p) / (1 + p) * p ** np.abs(steps)))
    away = np.abs(weights[0] * laws[0][0][:, None] + weights[1] * laws[1][0])
    chances = laws[0][1][:, None] * laws[1][1]
    half = weighted_noise.half_width(law, level)
    assert chances[away <= half].sum() > level - 0.003
    step = max(0.07 * math.sqrt(law.variance), max(weights))
    assert chances[away < half - step].sum() < level + 0.003


@pytest.mark.parametrize("rho", [0.01, 0.5, 2, 8, 50])
def test_rounded_gaussian_noise_has_the_variance_of_its_steps(rho):
    noise = DiscreteGaussian.calibrate(Sensitivity(1, 1, 1), None, Fraction(0), Fraction(str(rho)))
    told = CellNoise.of(noise)
    draws = np.array(noise.draw(Exact([0] * 400_000)))
    squares = draws.astype(float) ** 2
    assert abs(squares.mean() - told.variance) < 5.5 * squares.std() / math.sqrt(draws.size) + 1e-4
    half = weighted_noise.half_width(Law(((1.0, told, 1),)), 0.95)
    assert (np.abs(draws) <= half).mean() > 0.95 - 5 * math.sqrt(0.95 * 0.05 / draws.size)


def test_at_high_levels_it_is_a_bound_for_all_weights():
    one = laplace(2 * 50.0**2)  # of scale 50
    assert weighted_noise.half_width(one, 0.9999) >= 50 * math.log(1e4)
    assert weighted_noise.half_width(Law(), 0.95) == 0


def test_tables_of_very_different_noise_agree():
    """Bins that refine each other unevenly, at prices from 1 to a hundred millionth: no equation is lost."""
    parts = {"fine": [0, 1, 2], "left": [0, 0, 1], "right": [0, 1, 1]}
    tables = []
    for name, epsilon in zip(parts, (1, 1, 1e-8), strict=True):
        group = np.array(parts[name])
        noise = CellNoise.of(mechanism(epsilon))
        counts = np.bincount(group, weights=[100.0, 200.0, 300.0]) + np.random.default_rng(3).normal(
            0, math.sqrt(noise.variance), group.max() + 1
        )
        tables.append(Noisy((0,), counts, (group,), noise))
    fit = consistent.fit(tables, (3,))
    assert isinstance(fit, Equations)
    assert fit.freedom == 7 - 3
    fine, left, right = fit.fitted
    assert fine[:2].sum() == pytest.approx(left[0], abs=1e-5)
    assert fine[0] == pytest.approx(right[0], abs=1e-5)


@pytest.mark.parametrize("grouped", [False, True])
def test_without_negative_cells_nothing_else_changes(grouped):
    rng = np.random.default_rng(5)
    full = np.array([[30.0, 0, 0], [0, 25, 1]])
    groups = (np.arange(2), np.array([0, 1, 1]) if grouped else np.arange(3))
    counts = np.stack([full[:, 0], full[:, 1:].sum(axis=1)], axis=1) if grouped else full
    tables = [
        Noisy((0, 1), counts + rng.laplace(0, 6, counts.shape), groups, CellNoise(72.0, True)),
        Noisy((1,), full.sum(axis=0) + rng.laplace(0, 6, 3), (np.arange(3),), CellNoise(72.0, True)),
    ]
    fit = consistent.fit(tables, (2, 3))
    assert min(table.min() for table in fit.fitted) < -1  # there is something to do
    cells, found = consistent.without_negative(fit)
    assert found
    assert min(table.min() for table in cells) >= 0
    assert cells[0].sum() == pytest.approx(fit.fitted[0].sum(), abs=1e-4)
    whole = cells[0].sum(axis=0)
    by_column = np.array([cells[1][0], cells[1][1:].sum()]) if grouped else cells[1]
    np.testing.assert_allclose(whole, by_column, atol=1e-4)
    again = type(fit)(tuple(t._replace(counts=c) for t, c in zip(tables, cells, strict=True)), (2, 3))
    np.testing.assert_allclose(flat(again.fitted), flat(cells), atol=1e-3)


def test_the_misfit_of_tables_of_other_rows():
    """Of one's own rows the sum is far below the limit (its mean is the freedom); of others far above."""
    rng, sizes = np.random.default_rng(11), (6, 5, 4)
    full = rng.integers(20, 80, sizes).astype(float)
    pairs = [(0, 1), (0, 2), (1, 2)]

    def tables(lost):
        for place, pair in enumerate(pairs):
            axis = next(j for j in range(3) if j not in pair)
            counts = full.sum(axis=axis) * (1 - lost * (place == 2))
            yield Noisy(
                pair,
                counts + rng.laplace(0, 10, counts.shape),
                tuple(np.arange(sizes[j]) for j in pair),
                CellNoise(200.0, True),
            )

    sums = np.array([consistent.misfit(consistent.fit(tuple(tables(0.0)), sizes))[0] for _ in range(300)])
    fit = consistent.fit(tuple(tables(0.0)), sizes)
    limit = consistent.misfit(fit)[2]
    deviation = math.sqrt(sum(t.counts.size * t.noise.excess for t in fit.tables))
    # the mean of 300 is within five of its deviations with more than 1 - 1e-6
    assert abs(sums.mean() - fit.freedom) < 5 * deviation / math.sqrt(300)
    assert (sums > limit).mean() < 0.05
    others = [consistent.misfit(consistent.fit(tuple(tables(0.2)), sizes))[0] for _ in range(20)]
    assert min(others) > limit

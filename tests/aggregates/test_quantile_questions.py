"""Quantiles as questions: which way several are asked, what their error bound says, and who errs less."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from support.frames import protected

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.quantiles import QuantileOf, recursive_errors
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.quantiles import Quantile, RecursiveQuantiles
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.core.statistics.lattice_counts import LatticeCounts, Points
from pandas_dp.datasets import load_adult
from pandas_dp.facts.kinds import Kind

ADD_REMOVE, REPLACE_ONE = NeighboringRelation


def even(m: int) -> tuple[F, ...]:
    return tuple(F(i, m + 1) for i in range(1, m + 1))


def question(levels: tuple[F, ...]) -> QuantileOf:
    return QuantileOf("x", levels, Lattice(F(1), 0, 2**16), Kind("number"), False)


def mechanisms(levels: tuple[F, ...], relation: NeighboringRelation):
    return question(levels)._mechanisms(Terms(PrivacyUnit(relation=relation), Price(F(1))))


HIGH = (F(9, 10), F(95, 100), F(98, 100), F(99, 100))


@pytest.mark.parametrize(
    ("levels", "relation", "together"),
    [
        (even(2), ADD_REMOVE, False),  # two levels cost two shares either way
        (even(2), REPLACE_ONE, False),
        *((even(m), relation, True) for m in (3, 5, 9, 19, 99) for relation in NeighboringRelation),
        (HIGH, ADD_REMOVE, False),  # each is an extreme of what its neighbour leaves, at the higher sensitivity
        (HIGH, REPLACE_ONE, False),
    ],
)
def test_the_way_that_errs_less(levels, relation, together):
    found = mechanisms(levels, relation)
    assert isinstance(found[0], RecursiveQuantiles) == together
    terms = Terms(PrivacyUnit(relation=relation), Price(F(1)))
    assert question(levels).loss(terms).epsilon == 1
    # the choice is made from public facts, not by the order in which levels are written
    assert isinstance(mechanisms(levels[::-1], relation)[0], RecursiveQuantiles) == together


def test_errors_of_three_medians():
    """The outer ones: their own error, and half of the middle one's."""
    (mechanism,) = mechanisms(even(3), ADD_REMOVE)
    assert mechanism.rate == F(1, 2)
    left, middle, right = recursive_errors(mechanism)
    assert (middle.typical, middle.largest) == (2, 2)
    assert left == right
    assert left == pytest.approx((math.hypot(2, 1), 3))


def rank_errors(values: list[int], levels: tuple[F, ...], rows: np.ndarray) -> list[float]:
    """Rows between each wanted rank and the ranks of a value; `rows` rises."""
    below, through = (np.searchsorted(rows, values, side=side) for side in ("left", "right"))
    wanted = np.array([float(level) for level in levels]) * rows.size
    return np.maximum(np.maximum(below - wanted, wanted - through), 0).tolist()


def gain(column: str, top: int, levels: tuple[F, ...], epsilon: F, slower: F = F(1)) -> float:
    """How far the mean rank error of recursion lies below 0.9 of that of one by one, at one total price.

    In units of its standard error; `slower` divides the rate of the recursion.
    """
    lattice, draws = Lattice.between(F(0), F(top), 16), max(50, 1000 // len(levels))
    rows = np.sort(lattice.offsets(load_adult()[column].to_numpy()))
    offsets, counts = np.unique(rows, return_counts=True)
    exact, s = Exact([Points(offsets, counts)]), LatticeCounts("x", lattice).sensitivity(PrivacyUnit())
    together = RecursiveQuantiles.calibrate(levels, lattice.cells, epsilon, s)
    alone = [Quantile.calibrate(level, lattice.cells, epsilon / len(levels), s) for level in levels]
    assert together.loss(s).epsilon == epsilon == sum(q.loss(s).epsilon for q in alone)
    together = replace(together, rate=together.rate / slower)
    by_recursion, one_by_one = (
        np.array([np.mean(rank_errors(draw(), levels, rows)) for _ in range(draws)])
        for draw in (lambda: together.draw(exact), lambda: sorted(q.draw(exact)[0] for q in alone))
    )
    margin = 0.9 * one_by_one.mean() - by_recursion.mean()
    return margin / math.hypot(0.9 * one_by_one.std(), by_recursion.std()) * math.sqrt(draws)


AGES = ("age", 128, even, F(1, 10))
GAINS = ("capital_gain", 100_000, lambda m: tuple(F(9, 10) + level / 10 for level in even(m)), F(1))  # most are 0


@pytest.mark.slow
@pytest.mark.parametrize(("table", "m"), [(table, m) for table in (AGES, GAINS) for m in (5, 9, 19)])
def test_recursion_errs_less(table, m):
    """By a tenth at least. The margin lies 6.5 to 30 standard errors above 0, so a false alarm is rarer than 1e-6."""
    column, top, levels, epsilon = table
    assert gain(column, top, levels(m), epsilon) > 0


@pytest.mark.slow
def test_recursion_without_the_saving_is_seen():
    """The broken twin: a share of the price for each level instead of each depth, 15 and more standard errors below 0."""
    column, top, levels, epsilon = GAINS
    assert gain(column, top, levels(19), epsilon, slower=F(19, 5)) < 0


def test_the_stated_rank_error_holds():
    """Of 50 answers by recursion no rank misses by more than the bound at 1 - 1e-9."""
    df = protected(load_adult()[["age"]].copy(), epsilon=10**6)
    levels, ages = even(7), np.sort(df["age"].to_numpy())
    for _ in range(50):
        answer = df.dp(epsilon=F(1, 10), fresh=True).quantile(
            "age", [float(q) for q in levels], bounds=(0, 100), step=1
        )
        assert "recursive" in answer.mechanism
        assert max(rank_errors(answer.tolist(), levels, ages)) <= answer.interval(1 - 1e-9).rows


def test_open_ends():
    adult = load_adult()[["age", "capital_gain"]]
    df = protected(adult, epsilon=10**6)
    dp = df.dp(epsilon=10**3)
    assert dp.quantile("capital_gain", 0.95, bounds=(0, None)) == pytest.approx(5013, rel=0.006)
    assert dp.quantile("capital_gain", 0.95, bounds=(None, None)) == pytest.approx(5013, rel=0.006)
    assert dp.median("capital_gain", bounds=(0, None)) == 0
    assert dp.median("age", bounds=(None, 100)) == pytest.approx(37, abs=0.5)
    assert dp.median("age", bounds=(None, 100), step=0.001) == pytest.approx(37, abs=0.5)
    several = dp.quantile("age", [0.1, 0.5, 0.9], bounds=(0, None))
    assert several.to_numpy() == pytest.approx([22, 37, 58], rel=0.006)
    assert several.is_monotonic_increasing

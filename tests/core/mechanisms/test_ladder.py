"""Points, and noisy counts of the rows around them: the cells of the code itself, and the joint law of both, by enumeration.

The noise is left out of the draws, so that an output is the points with the exact counts of their cells. Of noise of scale b
the largest ratio of chances is exp(distance / b) for counts that are so far apart in L1, attained by some output: with the
exact law of the points that gives the largest ratio of the joint law, output by output.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction as F
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

import pytest
from core.mechanisms.test_quantiles import RELATIONS, Every, unit_of
from support.coupling import first_of_each
from support.views import table

from pandas_dp.core import bounding
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.quantiles import Ladder, Quantile, RecursiveQuantiles, cuts, spread_of_row
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation
from pandas_dp.core.statistics.lattice_counts import LatticeCounts

CELLS = 6
VALUES = (0, 1, 5)
GROUPS = Keys("g", ("a", "b"))


class Nothing(DiscreteLaplace):
    """Noise that is left out."""

    def draw(self, exact, fill=None):
        return exact.open()


def test_cuts():
    """Each point, the one before it, and steps that double on both sides: all within the lattice, and few."""
    assert cuts([10], 100) == [1, 5, 7, 8, 9, 10, 11, 12, 14, 18, 26, 42, 74]
    assert cuts([0], 1) == cuts([1], 1) == [0]
    assert cuts([0, 100], 100) == sorted({*cuts([0], 100), *cuts([100], 100)})
    for cells in (1, 2, 5, 100, 2**16, 2**20):
        for o in {0, 1, cells // 3, cells - 1, cells}:
            found = cuts([o], cells)
            assert found == sorted(set(found))
            assert set(found) <= set(range(cells))
            assert len(found) <= 2 * (cells.bit_length() + 1) + 2
            assert {o, o - 1} & set(range(cells)) <= set(found)


@pytest.fixture(autouse=True)
def coupled(monkeypatch):
    """Each unit keeps its first rows: neighbours are coupled to choose alike for all other units."""
    monkeypatch.setattr(bounding, "keep_at_most", first_of_each)


def neighbours(relation: NeighboringRelation, k: int, by: bool, most: int):
    """Pairs of tables that differ in one row, or in one unit of several rows, up to one more than count."""
    places = [(g, x) for g in ("ab" if by else "a") for x in VALUES]
    contents = [c for size in range(k + 1 + (k > 1)) for c in combinations_with_replacement(places, size)]
    if k > 1:
        contents = contents[:: 3 if by else 1]
    for n in range(most + 1):
        for base in combinations_with_replacement(places, n):
            others = [(i, *place) for i, place in enumerate(base)] or [(8, None, None)]
            for old, new in product(contents, contents):
                if old < new and (not old or relation is NeighboringRelation.REPLACE_ONE):
                    yield tuple([*others, *((9, *c) for c in rows)] for rows in (old, new))


def worst(monkeypatch, mechanism, statistic, relation, k, most):
    """Largest loss of any pair, L1 and squared L2 moved by the cells around the same points."""
    unit, every = unit_of(k, relation), Every(monkeypatch, ties=0)

    @cache
    def law(rows):
        exact = statistic.compute(table(list(rows)), unit)
        return every.law(lambda: mechanism.draw(exact))

    parts = 1 if statistic.by is None else statistic.by.count
    size = parts * sum(1 if isinstance(c, Quantile) else len(c.levels) for c in mechanism.choices)
    found = defaultdict(F)
    for pair in neighbours(relation, k, parts > 1, most):
        one, two = ({out[:size]: (out[size:], p) for out, p in law(tuple(rows)).items()} for rows in pair)
        assert one.keys() == two.keys()
        for points, (before, p) in one.items():
            after, q = two[points]
            assert len(before) == len(after)
            moved = [b - a for a, b in zip(before, after, strict=True)]
            l1 = sum(map(abs, moved))
            found["l1"] = max(found["l1"], l1)
            found["l2_squared"] = max(found["l2_squared"], sum(x * x for x in moved))
            steps = l1 / mechanism.noise.scale  # the noise's own loss, in units of ln 2
            found["ratio"] = max(found["ratio"], max(p / q, q / p) * 2 ** int(steps))
    return found


@pytest.mark.one_in(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("by", [None, GROUPS])
def test_joint_law_and_how_far_the_cells_move(monkeypatch, by, k, relation):
    """Both draws together lose no more than is stated, and more than either alone; the cells move as far as the points do."""
    statistic, unit = LatticeCounts("x", Lattice(F(1), 0, CELLS), by), unit_of(k, relation)
    s, q = statistic.sensitivity(unit), F(1, 2)
    mechanism = Ladder((Quantile(q, F(2), CELLS),), Nothing(F(1)))  # both rates in units of ln 2
    found = worst(monkeypatch, mechanism, statistic, relation, k, most=2 if by is None else 1)
    assert (found["l1"], found["l2_squared"]) == (s.l1, s.l2_squared)
    choice, noise = 2 * spread_of_row(q) * s.l1, s.l1
    assert mechanism.loss(s).epsilon == mechanism.choices[0].loss(s).epsilon + noise <= choice + noise
    assert 2**noise < found["ratio"] <= 2 ** int(mechanism.loss(s).epsilon)
    assert found["ratio"] ** 2 > 2 ** int(mechanism.loss(s).epsilon)  # half of the claim would be wrong


def test_joint_law_of_several_levels(monkeypatch):
    statistic, relation = LatticeCounts("x", Lattice(F(1), 0, 3)), NeighboringRelation.REPLACE_ONE
    s = statistic.sensitivity(unit_of(1, relation))
    mechanism = Ladder((RecursiveQuantiles((F(1, 4), F(1, 2), F(3, 4)), F(2), 3),), Nothing(F(1)))
    found = worst(monkeypatch, mechanism, statistic, relation, 1, most=1)
    assert 2**2 < found["ratio"] <= 2 ** int(mechanism.loss(s).epsilon)


def test_counts_at_the_price_of_one_relation_too_few_are_found(monkeypatch):
    """The broken twin: noise for a row that comes or goes, where one is replaced."""
    statistic, relation = LatticeCounts("x", Lattice(F(1), 0, CELLS)), NeighboringRelation.REPLACE_ONE
    claim = Ladder((Quantile(F(1, 2), F(2), CELLS),), Nothing(F(1))).loss(
        statistic.sensitivity(unit_of(1, NeighboringRelation.ADD_REMOVE))
    )
    mechanism = Ladder((Quantile(F(1, 2), F(1), CELLS),), Nothing(F(1)))
    found = worst(
        monkeypatch, replace(mechanism, choices=(Quantile(F(1, 2), F(2), CELLS),)), statistic, relation, 1, most=2
    )
    assert found["ratio"] > 2 ** int(claim.epsilon)


@pytest.mark.parametrize("by", [None, GROUPS])
def test_cells_are_the_rows_between_cuts(by):
    """Counted one by one around the points that were drawn, with and without rows."""
    statistic, unit = LatticeCounts("x", Lattice(F(1), 0, 100), by), unit_of(1, NeighboringRelation.ADD_REMOVE)
    choices = Quantile(F(1, 2), F(1), 100), Quantile(F(9, 10), F(1), 100)
    for rows in ([], [(i, "ab"[i % 3 == 0], i * i % 101) for i in range(40)]):
        exact = statistic.compute(table(rows or [(0, None, None)]), unit)
        out = Ladder(choices, Nothing(F(1))).draw(exact)
        groups = ["ab"] if by is None else ["a", "b"]
        points, cells = out[: 2 * len(groups)], out[2 * len(groups) :]
        for place, names in enumerate(groups):
            own = points[2 * place : 2 * place + 2]
            assert own == sorted(own)
            edges = [-1, *cuts(own, 100), 100]
            wanted = [sum(low < x <= high and g in names for _, g, x in rows) for low, high in pairwise(edges)]
            assert cells[: len(wanted)] == wanted
            cells = cells[len(wanted) :]
        assert cells == []


def test_both_draws_see_the_same_rows_of_a_unit(monkeypatch):
    """Of 40 rows of one unit 3 count: in a fresh choice for the counts they would hardly ever all lie at the points again."""
    statistic, unit = LatticeCounts("x", Lattice(F(1), 0, 100)), unit_of(3, NeighboringRelation.ADD_REMOVE)
    monkeypatch.undo()  # a random choice
    exact = statistic.compute(table([(0, "a", x) for x in range(40)]), unit)
    mechanism = Ladder((Quantile(F(1, 2), F(10**6), 100),), Nothing(F(1)))
    (point, *cells) = mechanism.draw(exact)
    edges = [-1, *cuts([point], 100), 100]
    at = next(i for i, (low, high) in enumerate(pairwise(edges)) if low < point <= high)
    assert sum(cells) == 3
    assert cells[at] >= 1

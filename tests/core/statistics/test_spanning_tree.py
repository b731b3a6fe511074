"""The cost of a spanning tree is Kruskal's, its smooth sensitivity that of the definition, and smooth to the last bit."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction as F
from functools import cache
from itertools import chain, combinations, combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each
from support.views import ArrayView

from pandas_dp.core import bounding
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.smooth import FLOOR, GAP, LOG_BITS, log_bound
from pandas_dp.core.statistics.spanning_tree import Edges, Search, SpanningTreeCost, tree_cost

RELATIONS = list(NeighboringRelation)
UNIT = 1 << LOG_BITS
ROUNDED = 1 + 2 * GAP / UNIT
L = 9
BETAS = [F(1, 20), F(1, 3), F(1)]


def edges(rows, n) -> Edges:
    """Rows (u, v, weight) as the search takes them."""
    ordered = sorted(rows, key=lambda row: row[2])
    pair = [min(u, v) * n + max(u, v) for u, v, _ in ordered]
    return Edges(np.array(pair, dtype=np.int64), np.array([w for *_, w in ordered], dtype=np.int64))


def scale(rows, n, beta, units=1, cells=L) -> int:
    return Search(edges(rows, n), n, cells, units, beta).smooth()


def cost(rows, n, cells=L) -> int:
    return tree_cost(Search(edges(rows, n), n, cells, 1, F(1)).lightest)


def kruskal(rows, n, cells=L) -> int:
    """All rows, and an edge of the largest weight between every two vertices, lightest first."""
    group, total = list(range(n)), 0
    for u, v, w in sorted([*rows, *((u, v, cells) for u, v in combinations(range(n), 2))], key=lambda row: row[2]):
        if group[u] != group[v]:
            total += w
            group = [group[v] if g == group[u] else g for g in group]
    return total


def by_all_cuts(rows, n, beta, r, cells) -> int:
    """L from its definition by cuts, all of them gone through; beyond the last row all weights are `cells`."""
    a = [0] * (len(rows) + 2)
    for side in chain.from_iterable(combinations(range(1, n), k) for k in range(1, n)):
        across = sorted(w for u, v, w in rows if (u in side) != (v in side))
        across += [cells] * (len(a) + 2 - len(across))
        a = [max(known, across[k], across[k + 1] - across[0]) for k, known in enumerate(a)]
    per_unit = max(int(min(beta, 8) * UNIT) - 1, 0)
    best = FLOOR
    for k in range(len(a) // r + 2):
        distance = min(r * (a[r * (k + 1) - 1] if r * (k + 1) <= len(a) else cells), (n - 1) * cells)
        best = max(best, int(log_bound(np.array([distance]))[0]) - per_unit * k)
    return best + GAP


def random_rows(rng, n, most, cells):
    heavy = min(rng.choice([1, 3, cells]), cells)  # few weights: ties
    return [
        (*rng.sample(range(n), 2), rng.choice([rng.randint(0, heavy), rng.randint(0, cells)]))
        for _ in range(rng.randint(0, most))
    ]


def test_costs_by_hand():
    assert cost([], 4) == 3 * L
    assert cost([(u, v, L) for u, v in combinations(range(4), 2)], 4) == 3 * L
    one_at_zero = [(0, 1, 0), *((u, v, L) for u, v in combinations(range(4), 2) if (u, v) != (0, 1))]
    assert cost(one_at_zero, 4) == 2 * L
    assert cost([(0, 1, 5), (1, 0, 2), (0, 1, 7)], 2) == 2  # several edges between two vertices
    assert cost([(0, 1, 4), (1, 2, 4), (0, 2, 4)], 3) == 8  # ties
    assert cost([(0, 1, 1), (1, 2, 2), (0, 2, 3)], 4) == 3 + L  # an isolated vertex
    assert cost([(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 0, 4), (0, 2, 1)], 4) == 5


def test_costs_are_those_of_kruskal():
    rng = random.Random(1)
    for _ in range(500):
        n = rng.randint(2, 8)
        rows = random_rows(rng, n, 25, 40)
        assert cost(rows, n, 40) == kruskal(rows, n, 40)


@pytest.mark.slow
def test_the_search_finds_what_all_cuts_give():
    """A thousand graphs with several edges a pair and ties, units of 1, 2 and 5 rows."""
    rng = random.Random(2)
    for _ in range(1000):
        n, cells, r = rng.randint(2, 6), rng.choice([1, 5, 40, 1000, 2**28]), rng.choice([1, 1, 2, 5])
        rows = random_rows(rng, n, rng.choice([4, 12, 40]), cells)
        beta = F(rng.choice([1e-16, 1e-9, 0.001, 0.03, 0.1, 0.5, 2, 20]))
        assert scale(rows, n, beta, r, cells) == by_all_cuts(rows, n, beta, r, cells)


class Tables:
    """All tables of up to `most` rows with weights among some levels, as counts of each kind of row."""

    def __init__(self, n, levels, most) -> None:
        self.n = n
        self.kinds = [(u, v, w) for u, v in combinations(range(n), 2) for w in levels]
        several = (combinations_with_replacement(range(len(self.kinds)), size) for size in range(most + 1))
        self.all = list(chain.from_iterable(several))
        counts = np.zeros((len(self.all), len(self.kinds)), dtype=np.int16)
        for i, table in enumerate(self.all):
            np.add.at(counts[i], list(table), 1)
        self.more = np.stack([np.maximum(counts - one, 0).sum(axis=1) for one in counts])  # rows of j that i lacks
        self.costs = np.array([kruskal(self.rows(i), n) for i in range(len(self.all))])

    def rows(self, i):
        return [self.kinds[kind] for kind in self.all[i]]

    def local(self, r, relation) -> np.ndarray:
        """Largest move of each table by one unit, among tables of the list."""
        near = self.steps(r, relation) <= 1
        return np.where(near, np.abs(self.costs[:, None] - self.costs), 0).max(axis=1)

    def steps(self, r, relation) -> np.ndarray:
        """Units of up to r rows that are changed between every two tables."""
        came, went = -(-self.more // r), -(-self.more.T // r)
        return came + went if relation is NeighboringRelation.ADD_REMOVE else np.maximum(came, went)


@cache
def tables(n) -> Tables:
    return {2: Tables(2, (0, 2, 5, L), 6), 3: Tables(3, (0, 2, 5), 4), 4: Tables(4, (0, 4), 3)}[n]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_one_row_under_add_remove_is_the_definition(n):
    """A row of weight 0 that is added moves the cost most of all that are: every table has its neighbours in the list."""
    known, most = tables(n), max(map(len, tables(n).all))
    relation = NeighboringRelation.ADD_REMOVE
    local, steps = known.local(1, relation), known.steps(1, relation)
    inner = [i for i, table in enumerate(known.all) if len(table) < most]
    for beta in BETAS:
        # full tables lack neighbours of one more row: they serve as starting points of none
        least = (local * np.exp(-float(beta) * steps)).max(axis=1)
        for i in inner:
            found = math.exp(scale(known.rows(i), n, beta) / UNIT)
            assert least[i] <= found <= least[i] * ROUNDED


@pytest.mark.one_in(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("r", [1, 2])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_smooth_bounds_for_units(n, r, relation):
    """Both demands for all neighbours, in integers: at least the move, and moving by less than beta."""
    known = tables(n)
    near = known.steps(r, relation) == 1
    moved = np.abs(known.costs[:, None] - known.costs)
    enough = np.array([0, *(math.ceil(UNIT * math.log(d) * (1 + 1e-12)) for d in range(1, 3 * L + 1))])
    for beta in (F(1, 20), F(1)):
        scales = np.array([scale(known.rows(i), n, beta, r) for i in range(len(known.all))])
        apart = np.abs(scales[:, None] - scales)
        assert apart[near].max() < beta * UNIT
        bounded = np.minimum(scales[:, None], scales) >= enough[moved]
        assert bounded[near & (moved > 0)].all()


@pytest.mark.one_in(8)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("r", [1, 2])
def test_never_below_the_definition_for_units(r, relation):
    known = tables(3)
    local, steps = known.local(r, relation), known.steps(r, relation)
    for beta in BETAS:
        least = (local * np.exp(-float(beta) * steps)).max(axis=1)
        found = [math.exp(scale(known.rows(i), 3, beta, r) / UNIT) for i in range(len(known.all))]
        assert (least <= found).all()
        assert max(found) <= min(r, 2) * L * ROUNDED


def test_local_sensitivity_is_not_smooth():
    """Two edges of weight 0, then one: what one row can move jumps from nothing to everything, ours by exp(beta)."""
    beta = F(1, 3)
    both, one = scale([(0, 1, 0)] * 2, 2, beta), scale([(0, 1, 0)], 2, beta)
    assert math.exp(one / UNIT) == pytest.approx(L, rel=2e-4)
    assert 0 < one - both < beta * UNIT
    assert scale([(0, 1, 0)] * 2, 2, F(10**4)) < 2 * UNIT  # all but local


def test_many_rows_on_every_pair_reach_the_floor():
    rows = [(u, v, 0) for u, v in combinations(range(4), 2)] * 400
    assert scale(rows, 4, F(1, 10)) == FLOOR + GAP
    assert math.exp(scale([], 4, F(1, 10)) / UNIT) == pytest.approx(L, rel=2e-4)
    assert math.exp(scale([], 4, F(1, 10), 50) / UNIT) == pytest.approx(3 * L, rel=2e-4)


KEYS = ("a", "b", "c")
STATISTIC = SpanningTreeCost(Keys("from", KEYS), Keys("to", KEYS), "x", Lattice(F(1), 0, L), F(1, 3))
ENDS = st.sampled_from(["a", "b", "c", "z", None])
WEIGHTS = st.one_of(st.none(), st.sampled_from([float("nan"), float("inf"), -1.0, 0.4]), st.integers(0, L))
UNITS = st.lists(st.lists(st.tuples(ENDS, ENDS, WEIGHTS), max_size=6), max_size=5)


def view(units) -> ArrayView:
    """Units as lists of rows; one without rows keeps a row that does not count, so that the codes of the others stay."""
    rows = [(str(i), *row) for i, unit in enumerate(units) for row in (unit or [(None, None, None)])]
    columns = zip(*rows, strict=True) if rows else [()] * 4
    return ArrayView(dict(zip(("u", "from", "to", "x"), map(list, columns), strict=True)))


@given(
    UNITS, st.lists(st.tuples(ENDS, ENDS, WEIGHTS), max_size=6), st.sampled_from([1, 2, 4]), st.sampled_from(RELATIONS)
)
@settings(max_examples=300, deadline=None)
def test_through_the_statistic(units, content, k, relation):
    """Units with more rows than count, missing values, unlisted vertices, loops: bound and smoothness hold."""
    unit = PrivacyUnit("u", k, k, k, relation)
    before = [
        *units,
        [] if relation is NeighboringRelation.ADD_REMOVE else [("a", "b", 0), ("b", "c", 1), ("a", "b", 3)],
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "keep_at_most", first_of_each)
        sides = [STATISTIC.compute(view(units), unit).open() for units in (before, [*units, content])]
    ((one, first),), ((other, second),) = sides
    assert abs(first - second) < F(1, 3) * UNIT
    if one != other:
        assert min(first, second) >= UNIT * math.log(abs(one - other)) * (1 + 1e-12)
    assert abs(one - other) <= STATISTIC.sensitivity(unit).linf
    assert 0 <= min(one, other) <= max(one, other) <= 2 * L


@pytest.mark.parametrize("relation", RELATIONS)
def test_rows_that_count(relation):
    """Weights are clipped and rounded; rows without an end or a weight, loops and rows of no unit stay away."""
    rows = [("a", "b", -3.0), ("b", "c", 2.4), ("a", "c", 99.0), ("c", "c", 0.0), ("a", "z", 0.0), (None, "c", 0.0)]
    table = ArrayView(
        {
            "u": ["p", "q", "r", "s", "t", "v", "w", None],
            "from": [row[0] for row in rows] + ["b", "b"],
            "to": [row[1] for row in rows] + ["c", "c"],
            "x": [row[2] for row in rows] + [None, 0.0],
        }
    )
    for unit, expected in ((PrivacyUnit(relation=relation), 0), (PrivacyUnit("u", 3, 3, 3, relation), 2)):
        (found,) = STATISTIC.compute(table, unit).open()
        counted = [(0, 1, 0), (1, 2, 2), (0, 2, L)] + ([(1, 2, 0)] if unit.column is None else [])
        assert found == (expected, scale(counted, 3, F(1, 3), unit.rows))
        declared = STATISTIC.sensitivity(unit)
        assert (declared.beta, declared.touched, declared.linf) == (F(1, 3), 1, min(unit.rows, 2) * L)


def test_rows_in_any_order():
    rng = random.Random(7)
    for _ in range(50):
        rows = random_rows(rng, 3, 20, L)
        columns = {"u": [None] * len(rows), "x": [w for *_, w in rows]}
        table = ArrayView(columns | {name: [KEYS[row[i]] for row in rows] for i, name in enumerate(("from", "to"))})
        assert STATISTIC.compute(table, PrivacyUnit()).open() == [(kruskal(rows, 3), scale(rows, 3, F(1, 3)))]


def test_loops_take_no_place_of_the_rows_that_count():
    rows = 200
    columns = {"u": ["p"] * rows, "from": ["a"] * rows, "to": ["b", *["a"] * (rows - 1)], "x": [0.0] * rows}
    ((value, _),) = STATISTIC.compute(ArrayView(columns), PrivacyUnit("u")).open()
    assert value == L  # of 2 L


@pytest.mark.slow
@pytest.mark.parametrize("beta", [F(1, 4), F(1, 4000)])
def test_sixty_three_vertices_take_seconds(beta):
    rng = np.random.default_rng(3)
    u = rng.integers(0, 63, 2000)
    v = (u + rng.integers(1, 63, 2000)) % 63
    rows = list(zip(u.tolist(), v.tolist(), rng.integers(0, 1 << 25, 2000).tolist(), strict=True))
    start = time.process_time()
    scale(rows, 63, beta, 1, 1 << 25)
    assert time.process_time() - start < 20

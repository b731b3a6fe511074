"""Equal blocks: one of them changes where a row is replaced, by exact laws over all orders of a few rows."""

from __future__ import annotations

import os
from collections import Counter
from fractions import Fraction as F
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.stats import chi2
from support.frames import protected

from pandas_dp.core import gate
from pandas_dp.core.bounding import random_order
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics import blocks as module
from pandas_dp.core.statistics.blocks import BlockMeans, BlockPoints, BlockResults, BlockSums, BlockVotes, dealt
from pandas_dp.engines.pandas import PandasView

LATTICE, NAN = Lattice(F(1), 0, 2**20), float("nan")
ADD, REPLACE = (PrivacyUnit(relation=relation) for relation in NeighboringRelation)
ROWS = (1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0)
WITH_NULL = (1.0, 10.0, 100.0, NAN, 10_000.0, 100_000.0)
ORDERS = np.array([*permutations(range(6))])
# a row is replaced by one that sorts elsewhere, is missing, or holds what another one does; the others are listed elsewhere
NEIGHBOURS = [
    (ROWS, (5.0, *ROWS[:5])),
    (ROWS, (*ROWS[:5], NAN)),
    (ROWS, (NAN, *ROWS[:5])),
    (ROWS, (10.0, *ROWS[:5][::-1])),
    (WITH_NULL, (WITH_NULL[5], *WITH_NULL[:5])),
    (WITH_NULL, (NAN, *WITH_NULL[:5])),
]


def total(block: pd.DataFrame) -> float:
    return float(block["x"].sum()) + len(block) / 100


def statistics(blocks: int) -> list[BlockMeans | BlockResults]:
    return [BlockMeans("x", LATTICE, None, blocks, True), BlockResults(total, LATTICE, blocks, equal=True)]


def law(of, rows: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[int, ...]]:
    """How many of all orders of the rows give each vector of block values."""
    view, found = PandasView(pd.DataFrame({"x": rows}), {}), Counter()
    for order in ORDERS if len(rows) == 6 else np.array([*permutations(range(len(rows)))]):
        monkeypatch.setattr(module, "random_order", lambda items, order=order: order)
        found[tuple(of.values(view, REPLACE)[0].tolist())] += 1
    return found


def changed(one: Counter, other: Counter) -> int:
    """The fewest blocks in which two laws can always be made to differ at most, by pairing their outcomes one to one."""
    sides = [np.array([*law.elements()]) for law in (one, other)]
    copies = np.lcm(len(sides[0]), len(sides[1])) // np.array([len(side) for side in sides])
    sides = [np.repeat(side, copy, axis=0) for side, copy in zip(sides, copies, strict=True)]
    apart = (sides[0][:, None] != sides[1][None]).sum(axis=2)  # shape (outcomes, outcomes)
    for most in range(apart.max() + 1):
        pairs = maximum_bipartite_matching(csr_array(apart <= most), perm_type="column")
        if (pairs >= 0).all():
            return most
    raise AssertionError("some pairing always exists")


# ---------------------------------------------------------------------------------------------------------- the proof
@pytest.mark.one_in(6)
@pytest.mark.parametrize("blocks", [2, 3, 4])
@pytest.mark.parametrize("neighbours", NEIGHBOURS, ids=range(len(NEIGHBOURS)))
def test_one_block_changes_over_all_orders(neighbours, blocks, monkeypatch):
    """All 720 orders of 6 rows: the laws can be coupled so that one block differs at most, whatever the row is replaced by."""
    of = statistics(blocks)[0]
    one, other = (law(of, rows, monkeypatch) for rows in neighbours)
    assert changed(one, other) <= 1
    assert of.sensitivity(REPLACE).touched == 1


def test_one_result_of_a_function_changes_over_all_orders(monkeypatch):
    of = statistics(2)[1]
    assert changed(*(law(of, rows, monkeypatch) for rows in (ROWS[:5], (NAN, *ROWS[:4])))) == 1
    assert of.sensitivity(REPLACE).touched == 1


def test_every_partition_into_blocks_of_these_sizes_is_as_likely(monkeypatch):
    for blocks, partitions in ((2, 20), (3, 90), (4, 180)):
        found = law(statistics(blocks)[0], ROWS, monkeypatch)
        assert len(found) == partitions
        assert set(found.values()) == {720 // partitions}


# ------------------------------------------------------------------------------------------------------------ twins
def test_twin_under_add_remove_is_caught(monkeypatch):
    """One row fewer moves others to other blocks: no pairing of outcomes leaves all but one block as they were."""
    of = statistics(3)[0]
    assert changed(law(of, ROWS, monkeypatch), law(of, ROWS[:5], monkeypatch)) >= 2


def test_twin_that_deals_rows_with_a_value_alone_is_caught(monkeypatch):
    """The fault: missing values are left out before rows are dealt, so one that is replaced by a missing one moves others."""
    of = statistics(3)[0]
    assert changed(law(of, ROWS, monkeypatch), law(of, tuple(x for x in WITH_NULL if x == x), monkeypatch)) >= 2


def test_twin_whose_order_looks_at_values_is_caught(monkeypatch):
    """The fault: rows are dealt in the order of their values, from a random first one."""
    of = statistics(3)[0]

    def by_value(rows):
        view, found = PandasView(pd.DataFrame({"x": rows}), {}), Counter()
        for first in range(6):
            ranks = (np.argsort(np.argsort(rows)) + first) % 6
            monkeypatch.setattr(module, "random_order", lambda items, ranks=ranks: ranks)
            found[tuple(of.values(view, REPLACE)[0].tolist())] += 1
        return found

    one, other = (by_value(rows) for rows in NEIGHBOURS[0])
    assert changed(one, other) >= 2


def test_twin_of_one_fixed_order_of_positions_is_caught(monkeypatch):
    """The fault: an order that is not drawn anew. Neighbours may list their rows in another order."""
    monkeypatch.setattr(module, "random_order", np.arange)
    of = statistics(3)[0]
    one, other = (of.values(PandasView(pd.DataFrame({"x": rows}), {}), REPLACE)[0] for rows in NEIGHBOURS[0])
    assert (one != other).sum() >= 2


# ------------------------------------------------------------------------------------------- where there is no proof
def test_they_are_refused_where_there_is_no_proof():
    units = PrivacyUnit("u", 2, 2, 2, NeighboringRelation.REPLACE_ONE)
    for blocks in (2, 3):
        of = [*statistics(blocks), BlockVotes(total, (1.0,), blocks, True)]
        of += [wrapped(means) for means, wrapped in product(statistics(blocks), (BlockSums, BlockPoints))]
        for statistic, unit in product(of, (ADD, units)):
            with pytest.raises(ValueError, match="equal blocks are for all rows"):
                statistic.sensitivity(unit)
        for statistic in of:
            statistic.sensitivity(REPLACE)
    grouped = [
        BlockMeans("x", LATTICE, Keys("g", ("a",)), 2, True),
        BlockResults(len, LATTICE, 2, by=Keys("g", ("a",)), equal=True),
    ]
    for statistic in grouped:
        with pytest.raises(ValueError, match="equal blocks are for all rows"):
            statistic.sensitivity(REPLACE)


def frame(rows: int = 400) -> pd.DataFrame:
    return pd.DataFrame({"u": np.arange(rows), "g": ["a", "b"] * (rows // 2), "x": np.arange(rows, dtype=float)})


QUESTIONS = {
    "mean": lambda d: d.sample_and_aggregate(lambda b: float(len(b)), bounds=(0, 100), blocks=20, aggregator="mean"),
    "several": lambda d: d.sample_and_aggregate(lambda b: {"n": len(b)}, bounds={"n": (0, 100)}, blocks=50),
    "vote": lambda d: d.sample_and_aggregate(lambda b: len(b) % 3, keys=[0, 1, 2], blocks=20, aggregator="vote"),
    "kmeans": lambda d: d.kmeans(["x"], k=1, bounds={"x": (0, 400)}, blocks=20),
    "winsorized": lambda d: d.mean("x", bounds=(0, 10**6), method="winsorized"),
    "grouped": lambda d: d.groupby("g", keys=["a", "b"]).sample_and_aggregate(lambda b: 1.0, bounds=(0, 2), blocks=4),
    "grouped means": lambda d: d.groupby_mean_sa("g", "x", keys=["a", "b"], bounds=(0, 400), blocks=4),
}
WAYS = {
    "all rows": ({"neighbors": "replace_one", "rows": True}, lambda d: d, True),
    "a column made": ({"neighbors": "replace_one", "rows": True}, lambda d: d.assign(y=lambda t: t.x), True),
    "a filter": ({"neighbors": "replace_one", "rows": True}, lambda d: d.query("x >= 0"), False),
    "nulls dropped": ({"neighbors": "replace_one", "rows": True}, lambda d: d.dropna(), False),
    "a number that was typed": ({"neighbors": "replace_one", "rows": 400}, lambda d: d, False),
    "a number that is not public": ({"neighbors": "replace_one"}, lambda d: d, False),
    "add_remove": ({}, lambda d: d, False),
    "units": ({"neighbors": "replace_one", "unit": "u", "max_rows": 1}, lambda d: d, False),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_blocks_are_equal_for_all_rows_of_a_public_number_alone(name, way, monkeypatch):
    terms, steps, equal = WAYS[way]
    seen, computed = [], gate.computed

    def watched(statistic, *more):
        inner = statistic.means if hasattr(statistic, "means") else statistic
        if isinstance(inner, BlockMeans | BlockResults | BlockVotes):
            seen.append(inner.equal)
        return computed(statistic, *more)

    monkeypatch.setattr(gate, "computed", watched)
    df = protected(frame(), epsilon=10**6, **terms)
    QUESTIONS[name](steps(df.dp(epsilon=60)))
    assert seen == [equal and "grouped" not in name]


# ------------------------------------------------------------------------------------------------------------ the draw
def test_sizes_differ_by_one_row_at_most():
    for rows, blocks in product((0, 1, 5, 6, 7, 100, 1001), (1, 2, 3, 7, 200)):
        sizes = np.bincount(dealt(rows, blocks), minlength=blocks)
        assert sizes.sum() == rows
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("bits", [64, 2])
def test_all_orders_are_as_likely(bits):
    """24 orders of 4 items, 4,800 draws, also where nearly all keys tie: chi-square refused by chance with 1e-9. An order that
    is twice as likely as others adds 180 to a statistic of 23 degrees of freedom, whose point is 100."""

    def fill(count: int) -> bytes:
        drawn = os.urandom(count)
        return drawn if bits == 64 or count != 16 else bytes(0 if i % 4 else drawn[i] & 3 for i in range(count))

    draws = Counter(tuple(random_order(4, fill).tolist()) for _ in range(4800))
    assert len(draws) == 24
    assert sum((count - 200) ** 2 / 200 for count in draws.values()) < chi2.ppf(1 - 1e-9, 23)

"""Exactly one block result changes when one unit changes, whatever a function looks at: numbers, vectors and votes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.block_facts import CELLS, facts, frame

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.randomness import random_bytes
from pandas_dp.core.statistics import blocks as module
from pandas_dp.core.statistics.blocks import BlockMeans, BlockPoints, BlockResults, BlockSums, BlockVotes
from pandas_dp.engines import pandas as engine
from pandas_dp.engines.pandas import PandasView

BLOCKS, OUTPUTS = 4, 3
LATTICE = Lattice(Fraction(1), 0, 2**30)
RELATIONS = list(NeighboringRelation)
RANDOM_BLOCKS = module._random_blocks  # which a fixture replaces


def number(block: pd.DataFrame) -> int:
    return hash(facts(block)) % 2**30


def vector(block: pd.DataFrame) -> tuple[int, ...]:
    return tuple(hash((i, facts(block))) % 2**30 for i in range(OUTPUTS))


def key(block: pd.DataFrame) -> int:
    return hash(facts(block)) % 7


KEYS = (3, 0, 1, 2, 4)  # 5 and 6 count nowhere


@pytest.fixture(autouse=True)
def coupled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The random blocks of shared rows, and of shared units, are the same in both tables."""
    monkeypatch.setattr(module, "_random_blocks", lambda count, blocks, fill: np.arange(count) * 5 % 7 % blocks)


def pair(others, one, two, relation):
    """Neighbours: the last unit comes with all its rows, or has other ones."""
    last = len(others)
    base = [(i, *row) for i, unit in enumerate(others) for row in unit]
    first = base + [(last, *row) for row in one]
    second = base + [(last, *row) for row in two] if relation is NeighboringRelation.REPLACE_ONE else base
    return frame(first, "first"), frame(second, "second")


def values(statistic, table: pd.DataFrame, unit: PrivacyUnit) -> np.ndarray:
    return statistic.values(PandasView(table, {}), unit)


def opened(statistic, table: pd.DataFrame, unit: PrivacyUnit):
    return statistic.compute(PandasView(table, {}), unit).open()


TABLES = {
    "others": st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=5),
    "one": st.lists(CELLS, min_size=1, max_size=3),
    "two": st.lists(CELLS, min_size=1, max_size=3),
    "relation": st.sampled_from(RELATIONS),
    "owned": st.booleans(),
}


def sides(others, one, two, relation, owned):
    """Two neighbours and their unit: rows, or owners of up to three rows."""
    if not owned:  # one row per unit
        others, one, two = [unit[:1] for unit in others], one[:1], two[:1]
    unit = PrivacyUnit("unit", 3, 3, 3, relation) if owned else PrivacyUnit(relation=relation)
    return *pair(others, one, two, relation), unit


@settings(max_examples=60, deadline=None)
@given(**TABLES)
def test_one_block_changes(others, one, two, relation, owned):
    first, second, unit = sides(others, one, two, relation, owned)
    rows = (one, two) if owned else (one[:1], two[:1])
    same = relation is NeighboringRelation.REPLACE_ONE and repr(rows[0]) == repr(rows[1])
    for function, outputs in ((number, 1), (vector, OUTPUTS)):
        statistic = BlockResults(function, LATTICE, BLOCKS, outputs)
        moved = values(statistic, first, unit) - values(statistic, second, unit)  # shape (outputs, blocks)
        changed = moved.any(axis=0)
        assert moved.shape == (outputs, BLOCKS)
        assert changed.sum() == (0 if same else 1)
        said = statistic.sensitivity(unit)
        assert np.abs(moved).sum() <= said.l1
        assert (moved.astype(float) ** 2).sum() <= said.l2_squared
        assert np.abs(moved).max() <= said.linf
        assert np.abs(moved).any(axis=1).sum() <= said.touched == outputs


@settings(max_examples=30, deadline=None)
@given(**TABLES)
def test_one_vote_moves(others, one, two, relation, owned):
    first, second, unit = sides(others, one, two, relation, owned)
    votes = BlockVotes(key, KEYS, BLOCKS)
    before, after = (np.array(opened(votes, table, unit)) for table in (first, second))
    moved, said = before - after, votes.sensitivity(unit)
    assert before.shape == (len(KEYS),)
    assert before.sum() <= BLOCKS
    assert np.abs(moved).sum() <= said.l1 == 2
    assert (moved**2).sum() <= said.l2_squared
    assert np.abs(moved).max() <= said.linf
    assert moved.max() - moved.min() <= said.score_range == 2


@settings(max_examples=30, deadline=None)
@given(**TABLES)
def test_ranks_move_by_one_in_each_output(others, one, two, relation, owned):
    first, second, unit = sides(others, one, two, relation, owned)
    statistic = BlockPoints(BlockResults(vector, LATTICE, BLOCKS, OUTPUTS))
    said, touched = statistic.sensitivity(unit), 0
    for before, after in zip(*(opened(statistic, table, unit) for table in (first, second)), strict=True):
        places = np.union1d(before.offsets, after.offsets)
        below = [
            np.array([points.counts[points.offsets <= place].sum() for place in places]) for points in (before, after)
        ]
        moved = np.abs(below[0] - below[1]).max()
        assert moved <= said.linf == 1
        assert before.counts.sum() == after.counts.sum() == BLOCKS
        touched += moved > 0
    assert touched <= said.touched


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_stated_amounts_are_attained(relation: NeighboringRelation):
    """All outputs of one block go from one end of the lattice to the other; a vote goes from one key to another."""
    low, high = pd.DataFrame({"x": [0.0]}), pd.DataFrame({"x": [9.0]})
    if relation is NeighboringRelation.ADD_REMOVE:
        low = low.iloc[:0]
    unit, ends = PrivacyUnit(relation=relation), (0.0, float(LATTICE.cells))

    def extreme(block: pd.DataFrame) -> tuple[float, ...]:
        return (ends[int((block["x"] > 5).any())],) * OUTPUTS

    sums = BlockSums(BlockResults(extreme, LATTICE, BLOCKS, OUTPUTS))
    moved = np.array(opened(sums, high, unit)) - np.array(opened(sums, low, unit))
    said = sums.sensitivity(unit)
    assert moved.tolist() == [LATTICE.cells] * OUTPUTS
    assert (moved.sum(), (moved.astype(object) ** 2).sum()) == (said.l1, said.l2_squared)
    votes = BlockVotes(lambda block: bool((block["x"] > 5).any()), (False, True), BLOCKS)
    assert [opened(votes, table, unit) for table in (low, high)] == [[BLOCKS, 0], [BLOCKS - 1, 1]]


@pytest.mark.parametrize("result", [None, 3.0, (1.0, 2.0), (1.0, 2.0, 3.0, 4.0), [1.0, 2.0, 3.0], "abc", {1, 2, 3}])
def test_what_is_no_tuple_of_that_many_numbers_is_the_middle(result):
    statistic = BlockResults(lambda block: result, LATTICE, 2, OUTPUTS)
    got = values(statistic, pd.DataFrame({"x": [1.0, 2.0]}), PrivacyUnit())
    assert got.tolist() == [[LATTICE.cells // 2] * 2] * OUTPUTS


def test_one_odd_number_of_a_vector_is_the_middle_alone():
    statistic = BlockResults(lambda block: (1, np.nan, 10**40), LATTICE, 1, OUTPUTS)
    got = values(statistic, pd.DataFrame({"x": [1.0]}), PrivacyUnit())
    assert got.ravel().tolist() == [1, LATTICE.cells // 2, LATTICE.cells]


@pytest.mark.parametrize("result", [[1], {}, np.array([1, 2]), pd.NA, np.nan, None, "unlisted", 10**30])
def test_results_that_are_no_listed_key_count_nowhere(result):
    votes = BlockVotes(lambda block: result, ("a", 1, True + 1), 3)
    assert opened(votes, pd.DataFrame({"x": [1.0]}), PrivacyUnit()) == [0, 0, 0]


@pytest.mark.parametrize("result", ["a", np.str_("a"), pd.Timestamp("2013-01-01"), np.int64(1), 1.0])
def test_results_equal_to_a_key_vote_for_it(result):
    votes = BlockVotes(lambda block: result, ("a", 1, pd.Timestamp("2013-01-01")), 3)
    assert sorted(opened(votes, pd.DataFrame({"x": [1.0]}), PrivacyUnit())) == [0, 0, 3]


class Odd:
    def __hash__(self):
        raise SystemExit("secret42")


def test_a_result_that_ends_programs_when_it_is_looked_up_counts_nowhere():
    votes = BlockVotes(lambda block: Odd(), ("a",), 3)
    assert opened(votes, pd.DataFrame({"x": [1.0]}), PrivacyUnit()) == [0]


def test_means_of_the_whole_table_are_those_of_one_group():
    table = pd.DataFrame(
        {"g": ["a"] * 6 + ["b"], "x": [1.0, 2.0, np.nan, 4.0, 50.0, 6.0, 7.0], "u": [1, 1, 2, 3, 3, 4, 4]}
    )
    lattice = Lattice.between(Fraction(0), Fraction(10), 16)
    for unit in (PrivacyUnit(), PrivacyUnit("u", 2, 2, 2)):
        got = values(BlockMeans("x", lattice, None, 3), table, unit)
        everything = table.assign(g="all")
        same = values(BlockMeans("x", lattice, Keys("g", ("all",)), 3), everything, unit)
        assert got.shape == (1, 3)
        assert got.tolist() == same.tolist()
        assert BlockMeans("x", lattice, None, 3).sensitivity(unit).touched == 1


# ------------------------------------------------------------------------------------------------------------ twins
def changed_blocks(relation: NeighboringRelation = NeighboringRelation.ADD_REMOVE) -> int:
    rows = [[(i, 0.5, "a", "x", pd.NaT, True)] for i in range(8)]
    first, second = pair(rows, [(2**40, np.inf, "new", "only here", pd.NaT, None)], [], relation)
    statistic, unit = BlockResults(vector, LATTICE, BLOCKS, OUTPUTS), PrivacyUnit(relation=relation)
    return int((values(statistic, first, unit) != values(statistic, second, unit)).any(axis=0).sum())


def test_twin_blocks_by_row_order_is_caught(monkeypatch: pytest.MonkeyPatch):
    assert changed_blocks() == 1
    monkeypatch.setattr(module, "_random_blocks", lambda count, blocks, fill: np.arange(count) * blocks // count)
    assert changed_blocks() > 1


def test_twin_slices_that_are_not_rebuilt_are_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "_rebuilt", lambda table, rows: table.take(rows))
    assert changed_blocks() == BLOCKS


@pytest.mark.parametrize("blocks", [1, 2, 3, 20, 1000, 1 << 20, 999_999])
@pytest.mark.parametrize("count", [0, 1, 7, 100])
def test_every_item_has_random_bits_of_its_own(monkeypatch, blocks, count):
    """Each takes bits of a word that no other takes, and its block is the share of the range that they show."""
    drawn = []

    def words(number, fill):
        drawn.append(np.random.default_rng(7).integers(0, 2**64 - 1, number, dtype=np.uint64, endpoint=True))
        return drawn[-1]

    monkeypatch.setattr(module, "random_words", words)
    found = RANDOM_BLOCKS(count, blocks, random_bytes)
    bits = module.FAIR_BITS + (blocks - 1).bit_length()
    each = 64 // bits
    fields = [word >> bits * i & (1 << bits) - 1 for i in range(each) for word in drawn[0].tolist()]
    assert found.dtype == np.intp
    assert found.tolist() == [field * blocks >> bits for field in fields[:count]]
    assert len(drawn[0]) == -(-count // each)


def test_blocks_are_about_equally_likely():
    """Of all values of an item's bits each block has as many as any other, to 1 in 16."""
    for blocks in range(1, 200):
        bits = module.FAIR_BITS + (blocks - 1).bit_length()
        shares = np.bincount(np.arange(1 << bits) * blocks >> bits, minlength=blocks)
        assert shares.max() - shares.min() <= shares.max() / 16 + 1e-9

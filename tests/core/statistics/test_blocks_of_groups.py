"""One unit changes one block result of each group that it is in, of at most max_groups, whatever a function looks at."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.block_facts import CELLS, facts, frame
from support.coupling import first_of_each

from pandas_dp.core import bounding
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Bins, Cross, Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics import blocks as module
from pandas_dp.core.statistics.blocks import BlockPoints, BlockResults, BlockSums
from pandas_dp.engines.pandas import PandasView

BLOCKS, MOST = 3, 2  # blocks a group, groups a unit
LATTICE = Lattice(Fraction(1), 0, 2**30)
RELATIONS = list(NeighboringRelation)
GROUPS = Keys("text", ("a", "b", "c", "d"))
OUTPUTS = 2


def number(block: pd.DataFrame) -> int:
    return hash(facts(block)) % 2**30


def vector(block: pd.DataFrame) -> tuple[int, ...]:
    return tuple(hash((i, facts(block))) % 2**30 for i in range(OUTPUTS))


FUNCTIONS = [(number, 1), (vector, OUTPUTS)]


@pytest.fixture(autouse=True)
def coupled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared rows have the same random blocks in both tables, and shared units, which also keep the same groups."""
    monkeypatch.setattr(module, "_random_blocks", lambda count, blocks, fill: np.arange(count) * 5 % 7 % blocks)
    monkeypatch.setattr(bounding, "keep_at_most", first_of_each)


def grouped(group: str | None, cells: tuple) -> tuple:
    """Cells of a row of this group; `frame` calls the column of groups "text"."""
    return (*cells[:2], group, *cells[3:])


ROWS = st.builds(grouped, st.sampled_from([None, "a", "b", "c", "d", "unlisted"]), CELLS)
UNITS = st.lists(ROWS, min_size=1, max_size=5)
TABLES = {
    "others": st.lists(UNITS, min_size=1, max_size=4),
    "one": UNITS,
    "two": UNITS,
    "relation": st.sampled_from(RELATIONS),
    "owned": st.booleans(),
}


def sides(others, one, two, relation, owned):
    """Two neighbours and their unit, whose rows come last: a row, or all rows of an owner."""
    if not owned:
        others, one, two = [unit[:1] for unit in others], one[:1], two[:1]
    unit = PrivacyUnit("unit", 4, MOST, 1, relation) if owned else PrivacyUnit(relation=relation)
    last = len(others)
    base = [(i, *row) for i, rows in enumerate(others) for row in rows]
    tables = [base + [(last, *row) for row in one]]
    tables.append(base + [(last, *row) for row in two] if relation is NeighboringRelation.REPLACE_ONE else base)
    return [frame(rows, name) for rows, name in zip(tables, ("first", "second"), strict=True)], unit


def in_groups(rows, owned) -> list[str]:
    """Listed groups that the coupled choice keeps of a unit's rows."""
    found = [group for group in GROUPS.keys if group in {row[2] for row in (rows if owned else rows[:1])}]
    return found[: MOST if owned else 1]


def values(statistic, table: pd.DataFrame, unit: PrivacyUnit) -> np.ndarray:
    return statistic.values(PandasView(table, {}), unit)


def moved_by(statistic, tables, unit: PrivacyUnit) -> np.ndarray:
    """Difference of the block values, shape (groups, outputs, blocks)."""
    before, after = (values(statistic, table, unit) for table in tables)
    return (before - after).reshape(GROUPS.count, statistic.outputs, statistic.blocks)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(**TABLES)
def test_one_block_of_each_group_of_a_unit_changes(others, one, two, relation, owned):
    tables, unit = sides(others, one, two, relation, owned)
    for function, outputs in FUNCTIONS:
        statistic = BlockResults(function, LATTICE, BLOCKS, outputs, by=GROUPS)
        moved, said = moved_by(statistic, tables, unit), statistic.sensitivity(unit)
        changed = moved.any(axis=1)  # shape (groups, blocks)
        assert changed.sum(axis=1).max() <= 1
        touched = {group for group, row in zip(GROUPS.keys, changed, strict=True) if row.any()}
        if relation is NeighboringRelation.ADD_REMOVE:
            assert touched == set(in_groups(one, owned))  # no other group, and no row of no listed group, shows
        else:
            assert touched <= {*in_groups(one, owned), *in_groups(two, owned)}
            assert touched >= {*in_groups(one, owned)} ^ {*in_groups(two, owned)}
        assert np.abs(moved).sum() <= said.l1
        assert (moved.astype(float) ** 2).sum() <= said.l2_squared
        assert np.abs(moved).max() <= said.linf
        assert moved.any(axis=2).sum() <= said.touched


@settings(max_examples=30, deadline=None)
@given(**TABLES)
def test_ranks_move_by_one_in_each_touched_part(others, one, two, relation, owned):
    tables, unit = sides(others, one, two, relation, owned)
    statistic = BlockPoints(BlockResults(vector, LATTICE, BLOCKS, OUTPUTS, by=GROUPS))
    said, touched = statistic.sensitivity(unit), 0
    parts = [statistic.compute(PandasView(table, {}), unit).open() for table in tables]
    assert len(parts[0]) == GROUPS.count * OUTPUTS
    for before, after in zip(*parts, strict=True):
        places = np.union1d(before.offsets, after.offsets)
        below = [[points.counts[points.offsets <= place].sum() for place in places] for points in (before, after)]
        moved = np.abs(np.subtract(*below)).max()
        assert moved <= said.linf == 1
        assert before.counts.sum() == after.counts.sum() == BLOCKS
        touched += moved > 0
    assert touched <= said.touched


def stated(relation: NeighboringRelation, owned: bool):
    """Sums of blocks of which one goes from end to end in each group of a unit, and the unit in as many as it may be."""

    def extreme(block: pd.DataFrame) -> float:
        return float(LATTICE.cells) * bool((block["number"] > 0.6).any())

    def rows(groups: str, high: float) -> list[tuple]:
        return [(0, high, group, None, pd.NaT, None) for group in groups]

    others = [rows("abcd", 0.5)] if owned else [rows(group, 0.5) for group in "abcd"]
    one, two = rows("abcd"[: 2 if owned else 1], np.inf), rows("cd" if owned else "b", np.inf)
    tables, unit = sides(others, one, two, relation, owned)
    sums = BlockSums(BlockResults(extreme, LATTICE, BLOCKS, by=GROUPS))
    before, after = (np.array(sums.compute(PandasView(t, {}), unit).open(), dtype=object) for t in tables)
    return before - after, sums.sensitivity(unit)


@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_stated_amounts_are_attained(relation, owned):
    moved, said = stated(relation, owned)
    assert np.abs(moved).sum() == said.l1
    assert (moved**2).sum() == said.l2_squared
    assert np.abs(moved).max() == said.linf == LATTICE.cells
    assert np.count_nonzero(moved) == said.touched == (1 if relation is RELATIONS[0] else 2) * (MOST if owned else 1)


@pytest.mark.parametrize(
    ("unit", "touched"),
    [
        (PrivacyUnit(), 1),
        (PrivacyUnit(relation=NeighboringRelation.REPLACE_ONE), 2),
        (PrivacyUnit("u", 3, 2, 1), 2),
        (PrivacyUnit("u", 2, 9, 9), 2),  # k rows lie in at most k groups
        (PrivacyUnit("u", 9, 9, 9), 4),
        (PrivacyUnit("u", 3, 3, 1, NeighboringRelation.REPLACE_ONE), 4),
    ],
)
def test_groups_that_a_unit_can_touch(unit, touched):
    results = BlockResults(len, LATTICE, BLOCKS, OUTPUTS, by=GROUPS)
    assert results.sensitivity(unit).touched == touched * OUTPUTS
    assert replace(results, by=None).sensitivity(unit).touched == OUTPUTS
    assert replace(results, by=Keys("text", ("a",))).sensitivity(unit).touched == OUTPUTS


def test_blocks_of_a_group_hold_its_rows_and_no_others():
    table = pd.DataFrame({"g": [*"aabbcz"], "x": [0.0, 9.0, 0.0, np.nan, 1.0, 0.0], "u": [1, 1, 1, 2, 3, 3]})
    by = Cross((Keys("g", ("c", "b", "a"), null=True), Bins("x", (0, 5, 10), null=True)))
    for unit in (PrivacyUnit(), PrivacyUnit("u", 6, 6, 6)):
        held = BlockResults(lambda block: len(block), LATTICE, BLOCKS, by=by)
        sums = BlockSums(held).compute(PandasView(table, {}), unit).open()
        assert sums == [1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0]
        alone = replace(held, function=lambda block: 1 + block["g"].nunique() + block["g"].isin(["z"]).sum())
        assert set(values(alone, table, unit).ravel().tolist()) == {
            1,
            2,
        }  # no block holds two keys, or the unlisted one


def test_all_rows_of_a_unit_in_a_group_are_in_one_block():
    table = pd.DataFrame({"g": [*"ab"] * 50, "u": np.repeat(np.arange(10), 10)})
    held = BlockResults(lambda block: block["u"].nunique(), LATTICE, BLOCKS, by=Keys("g", ("a", "b")))
    sums = BlockSums(held).compute(PandasView(table, {}), PrivacyUnit("u", 10, 2, 1)).open()
    assert sums == [10, 10]  # a unit in two blocks of a group would count twice


# ------------------------------------------------------------------------------------------------------------ twins
def test_twin_units_in_all_their_groups_are_caught(monkeypatch: pytest.MonkeyPatch):
    row = (0, 0.5, "a", "x", pd.NaT, True)
    tables, unit = sides([[row]], [grouped(group, row) for group in "abcd"], [], RELATIONS[0], True)
    statistic = BlockResults(number, LATTICE, BLOCKS, by=GROUPS)
    assert moved_by(statistic, tables, unit).any(axis=(1, 2)).sum() == statistic.sensitivity(unit).touched == MOST
    monkeypatch.setattr(module, "bound_groups", lambda units, *more: np.arange(units.size))
    assert moved_by(statistic, tables, unit).any(axis=(1, 2)).sum() == 4 > statistic.sensitivity(unit).touched


@pytest.mark.parametrize("owned", [False, True])
def test_twin_replacing_counted_on_one_side_is_caught(owned, monkeypatch: pytest.MonkeyPatch):
    original = module._touched
    one_sided = NeighboringRelation.ADD_REMOVE
    monkeypatch.setattr(module, "_touched", lambda unit, *more: original(replace(unit, relation=one_sided), *more))
    moved, said = stated(NeighboringRelation.REPLACE_ONE, owned)
    assert np.abs(moved).sum() == 2 * said.l1

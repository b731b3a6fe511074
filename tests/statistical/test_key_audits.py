"""What found keys give away: the whole way from the public call to the noise, both relations, rows and units.

Each audit accuses a right question with probability at most 1e-6. The twins' events have probability
0.09 and above on one side and none on the other, where 0.05 is claimed: 20 standard deviations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.auditor import audit
from support.drawing import Drawer, capture
from support.frames import protected
from support.neighbours import ADD_REMOVE, RELATIONS, REPLACE_ONE, Pair, Rows, added, replaced, several

from pandas_dp.core import bounding
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms import key_selection
from pandas_dp.core.statistics.counts import KeyCounts

ALPHA, SAMPLES, FEW, DELTA, EPSILON = 1e-6, 20_000, 600, 0.05, 1
OWN = "ABCDEFGHIJKLMNOPQRST"
NAMES = [(name,) for name in "abcyz" + OWN] + list(itertools.product("abz", (1.0, 2.0)))  # of one column, and of two

pytestmark = pytest.mark.slow

SOME: Rows = several(1, 3, "a", "p") + several(1, 2, "b", "q")
TWO = [("z", 1.0, "y"), ("z", 1.0, "z")]  # a unit with two keys of its own
TWICE = several(1, 2, "z", "z")  # and one with two rows in one
PAIRS = {
    ADD_REMOVE: [
        added("a key of one row", several(1, 1, "z"), SOME),
        added("a key of other rows", several(1, 1, "b"), SOME),
        added("two keys of one unit", TWO, SOME, max_rows=2),
        added("two rows of one unit", TWICE, SOME, max_rows=2),
    ],
    REPLACE_ONE: [
        replaced("one key becomes another", several(1, 1, "y"), several(1, 1, "z"), SOME),
        replaced("a key of others becomes one of its own", several(1, 1, "a"), several(1, 1, "z"), SOME),
        replaced("two rows move", TWICE, several(1, 2, "a", "z"), SOME, max_rows=2),
    ],
}
APART = [("z", 2.0, "a"), ("z", 1.0, "b")]  # cells that others have, in combinations that nobody else has
MIXED: Rows = several(1, 3, "a", "p") + several(2, 2, "b", "q")
TOGETHER = {
    ADD_REMOVE: [
        added("common cells, rare together", APART[:1], MIXED),
        added("a combination of others", several(2, 1, "b"), MIXED),
        added("two combinations that share no cell", APART, MIXED, max_rows=2),
        added("two that share one", [*APART[:1], ("z", 2.0, "z")], MIXED, max_rows=2),
    ],
    REPLACE_ONE: [
        replaced("one combination becomes another", APART[:1], APART[1:], MIXED),
        replaced("two become a common one", APART, several(1, 2, "a", "z"), MIXED, max_rows=2),
    ],
}
TWENTY: Rows = [("z", 1.0, key) for key in OWN]  # a unit with so many keys of its own, each of which counts little
MANY = {
    ADD_REMOVE: [
        added("twenty keys of one unit", TWENTY, SOME, max_rows=20),
        added("a key of one unit", TWENTY[:1], SOME, max_rows=20),
        added(
            "keys of others", [("z", 1.0, "a"), ("z", 1.0, "b")], several(1, 30, "a") + several(1, 27, "b"), max_rows=20
        ),
    ],
    REPLACE_ONE: [
        replaced("ten keys become ten others", TWENTY[:10], TWENTY[10:], SOME, max_rows=20),
        replaced("one key becomes twenty", several(1, 1, "y"), TWENTY, SOME, max_rows=20),
    ],
}
MANY_CASES = [(relation, pair) for relation in RELATIONS for pair in MANY[relation]]
CASES = [(relation, pair) for relation in RELATIONS for pair in PAIRS[relation]]
TOGETHER_CASES = [(relation, pair) for relation in RELATIONS for pair in TOGETHER[relation]]
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "value_counts": lambda dp: dp.value_counts("g"),
    "unique": lambda dp: dp.unique("g"),
}
OF_TWO: dict[str, Callable[[Any], Any]] = {
    "sizes": lambda dp: dp.groupby(["g", "x"]).size(),
    "unique of two": lambda dp: dp.unique(["g", "x"]),
}


def draws(pair: Pair, relation: str, name: str, **more: Any) -> list[Drawer]:
    """One for each table, which has a budget of its own: a question takes much of the delta that one has for keys."""
    made = []
    for one in pair.frames():
        table = protected(one, 10, delta=0.9, delta_reserved=0.5, **pair.terms(relation), **more)
        made.append(
            Drawer(capture(lambda table=table: (QUESTIONS | OF_TWO)[name](table.dp(epsilon=EPSILON, delta=DELTA))))
        )
    return made


def listed(one: Drawer) -> Callable[[int], np.ndarray]:
    """Count of each key there could be, -99 where it is not listed: all that is released, as numbers.

    No unit here has more rows than count, so no random choice of rows enters: the mechanism draws for n copies at once.
    """
    look = next(one.request.recipe())
    counts, names = look.statistic.compute(one.view, one.request.unit).open()
    keys = [NAMES.index(tuple(key)) for key in names(np.arange(len(counts)))]

    def draw(n: int) -> np.ndarray:
        found = np.full((n, len(NAMES)), -99.0)
        for place, *count in look.mechanism.draw(Exact((counts * n, lambda places: places[:, None].tolist()))):
            found[place // len(counts), keys[place % len(counts)]] = count[0] if count else 1
        return found

    return draw


def found(pair: Pair, relation: str, name: str, **more: Any) -> Any:
    sides = map(listed, draws(pair, relation, name, **more))
    return audit(*sides, SAMPLES, EPSILON, ALPHA, delta=DELTA, batch=True)


@pytest.mark.parametrize(("relation", "pair"), CASES, ids=str)
@pytest.mark.parametrize("name", QUESTIONS)
def test_keys_and_counts_spend_no_more_than_epsilon_and_delta(name, relation, pair):
    result = found(pair, relation, name)
    assert not result.violated, str(result)


@pytest.mark.parametrize(("relation", "pair"), TOGETHER_CASES, ids=str)
@pytest.mark.parametrize("name", OF_TWO)
def test_combinations_spend_no_more_than_epsilon_and_delta(name, relation, pair):
    result = found(pair, relation, name)
    assert not result.violated, str(result)


@pytest.mark.parametrize(("relation", "pair"), MANY_CASES, ids=str)
def test_keys_of_units_with_many_spend_no_more_than_epsilon_and_delta(relation, pair):
    """By Gaussian noise on what the keys of a unit share: both that they are listed and the noisy sums of shares."""
    (side, _) = draws(pair, relation, "unique")
    assert "Gaussian" in next(side.request.recipe()).mechanism.noise.name
    result = found(pair, relation, "unique")
    assert not result.violated, str(result)


def test_a_unit_that_counts_whole_in_each_of_many_keys_is_caught(monkeypatch):
    monkeypatch.setattr(np, "sqrt", lambda n: np.full(n.shape, 1 << 20))
    result = found(MANY[ADD_REMOVE][0], ADD_REMOVE, "unique")
    assert result.violated, str(result)


def test_the_delta_is_used():
    """Without it the claim is not kept: a key of one row shows, at times."""
    sides = map(listed, draws(PAIRS[ADD_REMOVE][0], ADD_REMOVE, "unique"))
    assert audit(*sides, SAMPLES, EPSILON, ALPHA, batch=True).violated


def test_the_order_of_rows_does_not_show():
    """Neither what is listed nor its order: one law on both tables, so every claim holds, also that of 0.01."""
    rows = several(1, 9, "b") + several(1, 9, "a") + several(1, 2, "z")
    pair = Pair("order", (rows, rows[::-1]))
    sides = draws(pair, ADD_REMOVE, "value_counts")
    result = audit(*(lambda side=side: tuple(map(str, side.draw()[1])) for side in sides), FEW, 0.01, ALPHA)
    assert not result.violated, str(result)


# --------------------------------------------------------------------------------------------------------------- twins
def test_a_threshold_that_is_one_too_low_is_caught(monkeypatch):
    right = key_selection._rarely
    monkeypatch.setattr(key_selection, "_rarely", lambda noise, at, *given: right(noise, at + 1, *given))
    monkeypatch.setattr(key_selection, "_least_threshold", key_selection._least_threshold.__wrapped__)
    result = found(PAIRS[ADD_REMOVE][0], ADD_REMOVE, "value_counts")
    assert result.violated, str(result)


def test_counting_rows_for_units_is_caught(monkeypatch):
    """The twin hands the number of rows to the rule for units."""
    right = KeyCounts.compute
    monkeypatch.setattr(KeyCounts, "compute", lambda self, view, unit: right(KeyCounts(self.columns), view, unit))
    pair = added("six rows", several(1, 6, "z", "z"), SOME, max_rows=6)
    result = found(pair, ADD_REMOVE, "unique", max_groups=1)
    assert result.violated, str(result)


def test_a_unit_that_is_not_bounded_in_combinations_is_caught(monkeypatch):
    """The twin lets a unit into all its four combinations, each of which is listed with the delta of one."""
    four = [("z", x, g) for g in "bz" for x in (1.0, 2.0)]
    pair = added("four combinations", four, several(1, 3, "a", "p"), max_rows=4)
    result = found(pair, ADD_REMOVE, "unique of two", max_groups=1)
    assert not result.violated, str(result)
    monkeypatch.setattr(bounding, "keep_at_most", lambda owner, owners, most: np.arange(owner.size))
    result = found(pair, ADD_REMOVE, "unique of two", max_groups=1)
    assert result.violated, str(result)


def test_listing_in_the_order_of_rows_is_caught(monkeypatch):
    monkeypatch.setattr(key_selection, "_in_order", lambda listing: listing)
    rows = several(1, 9, "b") + several(1, 9, "a")
    sides = draws(Pair("order", (rows, rows[::-1])), ADD_REMOVE, "value_counts")
    result = audit(*(lambda side=side: [key for key, _ in side.draw()[1]] for side in sides), FEW, EPSILON, ALPHA)
    assert result.violated, str(result)

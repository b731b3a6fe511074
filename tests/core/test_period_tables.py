"""All tables of three units and two days: a question over both days tells a pair of a unit and a day by e^epsilon, and no more.

Each pair has no row, one of either kind, or one of both, of which one counts, drawn for the pair by itself. The law of the
counts comes from the statistic itself, run once for every way to draw; noise of the declared scale is added exactly.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from core.test_every_period import DAYS, Daily
from support.sensitivities import GROUPS

from pandas_dp.core import bounding
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics import counts
from pandas_dp.core.statistics.counts import RowCounts

UNIT = replace(PrivacyUnit("u", 1, 1, 1), periods=DAYS)
CONTENTS = ((), ("a",), ("b",), ("a", "b"))
PAIRS = [(unit, day) for unit in range(3) for day in range(2)]
EPSILON = 0.75
OUTPUTS = range(-4, 11)


def law(table: tuple[tuple[str, ...], ...], monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, ...], float]:
    """How probable each vector of exact counts is."""
    rows = [(unit, kind, 0, day) for (unit, day), kinds in zip(PAIRS, table, strict=True) for kind in kinds]
    if not rows:
        return {(0, 0): 1.0}
    heavy = [place for place, kinds in enumerate(table) if len(kinds) > 1]
    found: dict[tuple[int, ...], float] = {}
    for drawn in product((0, 1), repeat=len(heavy)):
        turns = iter(drawn)

        def keep(owner: Any, owners: int, most: int, fill: Any = None, turns: Any = turns) -> Any:
            places = [np.flatnonzero(owner == one) for one in range(owners)]
            return np.sort([held[next(turns) if held.size > most else 0] for held in places if held.size])

        monkeypatch.setattr(bounding, "keep_at_most", keep)
        vector = tuple(RowCounts(by=GROUPS).compute(Daily(rows), UNIT).open())
        found[vector] = found.get(vector, 0.0) + 0.5 ** len(heavy)
    return found


def densities(laws: dict[tuple[int, ...], float]) -> np.ndarray:
    """How probable each answer is, but for a factor that all laws share; shape (outputs, outputs)."""
    answers = np.array(list(OUTPUTS))
    noise = {n: np.exp(-EPSILON * np.abs(answers - n)) for n in range(7)}
    return sum(share * np.multiply.outer(noise[a], noise[b]) for (a, b), share in laws.items())  # type: ignore[return-value]


def worst(monkeypatch: pytest.MonkeyPatch) -> float:
    """The largest log-ratio of two tables that differ in one pair, whatever the others hold."""
    assert RowCounts(by=GROUPS).sensitivity(UNIT).l1 == 1
    found = 0.0
    for others in product(CONTENTS, repeat=5):
        without = densities(law(((), *others), monkeypatch))
        for content in CONTENTS[1:]:
            with_it = densities(law((content, *others), monkeypatch))
            found = max(found, float(np.abs(np.log(with_it / without)).max()))
    return found


@pytest.mark.slow
def test_a_pair_is_told_by_epsilon_and_no_more(monkeypatch):
    assert 0.9 * EPSILON < worst(monkeypatch) <= EPSILON * (1 + 1e-9)


@pytest.mark.slow
def test_rows_of_a_pair_that_are_not_bounded_are_found(monkeypatch):
    """The planted fault: all rows of a pair count."""
    monkeypatch.setattr(counts, "bound_parts", lambda units, *rest: np.arange(units.size))
    assert math.isclose(worst(monkeypatch), 2 * EPSILON)

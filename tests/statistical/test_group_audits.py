"""Audits of questions by combinations of columns and in each group, and broken twins that are caught.

Each audit accuses a right method with probability at most 1e-6. The twins spend nearly twice their epsilon on their pair, so
that the bound lies five standard deviations above the claim. Of a quantile that forgets a factor 2 no samples can tell: the
exact laws in core/mechanisms decide on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.auditor import Result, audit
from support.neighbours import (
    ADD_REMOVE,
    BINS,
    BOUNDS,
    HIGH,
    KEYS,
    LOW,
    REPLACE_ONE,
    Pair,
    added,
    drawer,
    replaced,
    several,
)

from pandas_dp.core.mechanisms.selection import PartByPart
from pandas_dp.core.privacy import NeighboringRelation
from pandas_dp.core.statistics.counts import RowCounts

ALPHA, SAMPLES = 1e-6, 4000


def combinations(dp: Any) -> Any:
    return dp.groupby(["g", "x"], keys={"g": KEYS}, bins={"x": BINS}, null=True).size()


def table(dp: Any) -> Any:
    return dp.crosstab("g", "x", keys={"g": KEYS}, bins={"x": BINS}, margins=True)


def medians(dp: Any) -> Any:
    return dp.groupby("g", keys=KEYS)["x"].median(bounds=BOUNDS, step=5)


def modes(dp: Any) -> Any:
    return dp.groupby("g", keys=KEYS)["x"].mode(keys=[float(LOW), float(HIGH)])


def spreads(dp: Any) -> Any:
    return dp.groupby("g", keys=KEYS)["x"].var(bounds=BOUNDS)


HEAVY = [*several(LOW, 3, "a", "z"), *several(HIGH, 3, "b", "z")]
CASES = [
    (ADD_REMOVE, added("empty, one row", several(HIGH, 1), [])),
    (ADD_REMOVE, added("unit of many groups", HEAVY, max_rows=2)),
    (REPLACE_ONE, replaced("to another group", several(LOW, 1, "a"), several(HIGH, 1, "b"))),
    (REPLACE_ONE, replaced("many rows to others", HEAVY, several(HIGH, 5, "c", "z"), max_rows=2)),
]
QUESTIONS = [combinations, table, medians, modes, spreads]


def audited(pair: Pair, relation: str, ask: Callable[[Any], Any], samples: int = SAMPLES) -> Result:
    sides = [drawer(frame, ask, **pair.terms(relation)) for frame in pair.frames()]
    return audit(*(side.transcripts for side in sides), samples, 1, ALPHA, batch=True)


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "pair"), CASES, ids=str)
@pytest.mark.parametrize("ask", QUESTIONS)
def test_pair(ask, relation, pair):
    result = audited(pair, relation, ask)
    assert not result.violated, str(result)


def one_side(patch: pytest.MonkeyPatch) -> None:
    """The sensitivity of add_remove, whatever the relation."""
    original = RowCounts.sensitivity
    patch.setattr(
        RowCounts,
        "sensitivity",
        lambda self, unit: original(self, replace(unit, relation=NeighboringRelation.ADD_REMOVE)),
    )


def one_row_a_unit(patch: pytest.MonkeyPatch) -> None:
    original = RowCounts.sensitivity
    patch.setattr(RowCounts, "sensitivity", lambda self, unit: original(self, replace(unit, rows=1)))


def one_group(patch: pytest.MonkeyPatch) -> None:
    """Every group pays, but as if the others cost nothing."""
    patch.setattr(PartByPart, "loss", lambda self, s, of=PartByPart.loss: of(self, replace(s, l1=1)))
    original = RowCounts.sensitivity
    patch.setattr(RowCounts, "sensitivity", lambda self, unit: replace(original(self, unit), l1=1))


MOVED = replaced("to another group", several(LOW, 1, "a"), several(HIGH, 1, "b"), [])
MANY = added(
    "many groups", [*several(LOW, 2, "a", "z"), *several(LOW, 2, "b", "z"), *several(LOW, 2, "c", "z")], [], max_rows=6
)
TWINS = [
    (one_side, combinations, REPLACE_ONE, MOVED),
    (one_row_a_unit, combinations, ADD_REMOVE, MANY),
    (one_group, modes, ADD_REMOVE, MANY),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "ask", "relation", "pair"), TWINS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_twin(fault, ask, relation, pair, monkeypatch):
    with monkeypatch.context() as patch:
        fault(patch)
        broken = audited(pair, relation, ask, 4 * SAMPLES)
    assert broken.violated, str(broken)
    right = audited(pair, relation, ask)
    assert not right.violated, str(right)

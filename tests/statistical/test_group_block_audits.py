"""Audits of a user's function on blocks of each group, and broken twins that are caught.

Each audit accuses a right method with probability at most 1e-6. The twin that keeps all groups of a unit spends 5.5 times
its epsilon on its pair, the one that counts one side of a replacement 1.9 times: their bounds lie five standard deviations
or more above the claim.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.auditor import audit
from support.block_drawing import block_drawer
from support.neighbours import ADD_REMOVE, BOUNDS, HIGH, LOW, REPLACE_ONE, Rows, frame, several

from pandas_dp.aggregates.sample_and_aggregate import GroupsOfFunction
from pandas_dp.core.privacy import NeighboringRelation
from pandas_dp.core.statistics import blocks

ALPHA, SAMPLES, MANY = 1e-6, 4000, 12_000
KEYS = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture(autouse=True)
def _noise_is_what_is_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few blocks tell most of one unit; the package refuses them, since nobody else has a use for such answers."""
    monkeypatch.setattr(GroupsOfFunction, "check", lambda self, terms: None)


def top(block: Any) -> float:
    return float(block["x"].max())


def mean(dp: Any) -> Any:
    return dp.groupby("g", keys=KEYS).sample_and_aggregate(top, bounds=BOUNDS, blocks=1, aggregator="mean")


def mean_of_two(dp: Any) -> Any:
    return dp.groupby("g", keys=["a", "b"]).sample_and_aggregate(top, bounds=BOUNDS, blocks=1, aggregator="mean")


def median_of_two(dp: Any) -> Any:
    how = {"blocks": 2, "aggregator": "median", "error_bar": False}
    return dp.groupby("g", keys=["a", "b"]).sample_and_aggregate(top, bounds=BOUNDS, **how)


QUIET: Rows = [(f"q{key}", LOW, key) for key in KEYS]  # one row of each group
EVERYWHERE: Rows = [("z", HIGH, key) for key in KEYS]
TABLES = {
    ADD_REMOVE: (QUIET, QUIET + EVERYWHERE),
    REPLACE_ONE: (QUIET + several(HIGH, 2, "a", "z"), QUIET + several(HIGH, 2, "b", "z")),
}
ROW = (QUIET + several(HIGH, 1, "a"), QUIET + several(HIGH, 1, "b"))  # a row leaves one group and enters another
OWNERS = {"unit": "u", "max_rows": 6, "max_groups": 1}


def sides(ask: Any, tables: tuple[Rows, Rows], **terms: Any) -> list[Any]:
    return [block_drawer(frame(rows), ask, **terms).transcripts for rows in tables]


def name(x: Any) -> str | None:
    return getattr(x, "__name__", None)


@pytest.mark.slow
@pytest.mark.parametrize("relation", TABLES)
def test_a_unit_of_several_groups(relation: str):
    result = audit(*sides(mean, TABLES[relation], neighbors=relation, **OWNERS), SAMPLES, 1, ALPHA, batch=True)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(("ask", "samples"), [(mean_of_two, SAMPLES), (median_of_two, SAMPLES // 2)], ids=name)
def test_a_row_that_changes_its_group(ask: Any, samples: int):
    result = audit(*sides(ask, ROW, neighbors=REPLACE_ONE), samples, 1, ALPHA, batch=True)
    assert not result.violated, str(result)


# ------------------------------------------------------------------------------------------------------------ twins
@pytest.mark.slow
def test_twin_that_keeps_all_groups_of_a_unit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blocks, "bound_groups", lambda units, *more: np.arange(units.size))
    broken = audit(*sides(mean, TABLES[ADD_REMOVE], neighbors=ADD_REMOVE, **OWNERS), SAMPLES, 1, ALPHA, batch=True)
    assert broken.violated, str(broken)


@pytest.mark.slow
def test_twin_that_counts_one_side_of_a_replacement(monkeypatch: pytest.MonkeyPatch):
    original, one_sided = blocks._touched, NeighboringRelation.ADD_REMOVE
    monkeypatch.setattr(blocks, "_touched", lambda unit, *more: original(replace(unit, relation=one_sided), *more))
    broken = audit(*sides(mean_of_two, ROW, neighbors=REPLACE_ONE), MANY, 1, ALPHA, batch=True)
    assert broken.violated, str(broken)

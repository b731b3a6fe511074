"""Counts of units keep their epsilon whatever a unit owns, and counts whose noise forgets the second bin are caught.

Each audit accuses a right method with probability at most 1e-6. The twin pays once and moves two bins: it spends 2 epsilon
and its bound lies five standard deviations or more above the claim.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.auditor import Result, audit
from support.neighbours import ADD_REMOVE, REPLACE_ONE, Pair, added, drawer, replaced, several

from pandas_dp.core.privacy import Sensitivity
from pandas_dp.core.statistics.counts import UnitSizes

ALPHA, SAMPLES = 1e-6, 4000
PAIRS = {
    ADD_REMOVE: [
        added("unit of one row", several(1, 1, unit="z"), max_rows=1),
        added("unit of more rows than count", several(1, 40, unit="z"), max_rows=2),
    ],
    REPLACE_ONE: [
        replaced("more rows", several(1, 1, unit="z"), several(1, 2, unit="z"), max_rows=1),
        replaced("many more rows", several(1, 1, unit="z"), several(1, 40, unit="z"), max_rows=2),
    ],
}


def ask(dp: Any) -> Any:
    return dp.rows_per_unit(limit=3)


def audited(pair: Pair, relation: str, samples: int = SAMPLES) -> Result:
    sides = [drawer(table, ask, **pair.terms(relation)) for table in pair.frames()]
    return audit(*(side.transcripts for side in sides), samples, 1, ALPHA, batch=True)


@pytest.mark.parametrize(
    ("relation", "pair"),
    [pytest.param(relation, pair, id=f"{relation}: {pair}") for relation, pairs in PAIRS.items() for pair in pairs],
)
def test_epsilon_holds(relation, pair):
    result = audited(pair, relation)
    assert not result.violated, str(result)


def test_noise_for_one_bin_is_caught_where_two_move(monkeypatch):
    monkeypatch.setattr(UnitSizes, "sensitivity", lambda self, unit: Sensitivity(1, 1, 1))
    result = audited(PAIRS[REPLACE_ONE][1], REPLACE_ONE)
    assert result.violated, str(result)

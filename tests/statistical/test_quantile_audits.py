"""Audits of many quantiles and of private bounds, and broken twins that are caught.

Each audit accuses a right method with probability at most 1e-6. Every twin spends twice its epsilon or more on its pair.
A recursion that forgets a factor 2 is beyond what samples can show: no event is both likely and far from even. The exact
laws in core/mechanisms decide on those, and on the shares of private bounds the declared losses in aggregates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.auditor import audit
from support.neighbours import ADD_REMOVE, HIGH, LOW, REPLACE_ONE, Pair, added, drawer, replaced, several

from pandas_dp.aggregates.private_bounds import PrivateBounds
from pandas_dp.core.measurement import Measurement
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.statistics.lattice_counts import LatticeCounts

ALPHA, SAMPLES = 1e-6, 4000
QUARTILES = 2000  # have no vector form; their twin is caught by as many
FAR = 2.0**41  # the end of the widest bounds


def quartiles(dp: Any) -> Any:
    return dp.quantile("x", [0.25, 0.5, 0.75], bounds=(LOW, HIGH), step=5)


def private_sum(dp: Any) -> Any:
    return dp.sum("x", bounds="private")


PAIRS = [
    (ADD_REMOVE, added("empty, one row", several(FAR, 1), [])),
    (ADD_REMOVE, added("unit of many rows", several(FAR, 5, "a", "z"), several(LOW, 1), max_rows=2)),
    (REPLACE_ONE, replaced("low to high", several(LOW, 1), several(FAR, 1), several(5, 1))),
    (REPLACE_ONE, replaced("many rows", several(-FAR, 5, "a", "z"), several(FAR, 5, "a", "z"), max_rows=2)),
]


def sides(pair: Pair, ask: Callable[[Any], Any], relation: str) -> list[Callable[[int], Any]]:
    drawers = [drawer(table, ask, **pair.terms(relation)) for table in pair.frames()]
    return [lambda n, d=d: d.transcripts(n, adaptive=True) for d in drawers]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ask", "relation", "pair"),
    [*((private_sum, *case) for case in PAIRS), (quartiles, *PAIRS[1]), (quartiles, *PAIRS[2])],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_pair(ask, relation, pair):
    samples = QUARTILES if ask is quartiles else SAMPLES
    result = audit(*sides(pair, ask, relation), samples, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)


def one_row_a_unit(patch: pytest.MonkeyPatch) -> None:
    original = LatticeCounts.sensitivity
    patch.setattr(LatticeCounts, "sensitivity", lambda self, unit: original(self, replace(unit, rows=1)))


class Peek(DiscreteLaplace):
    """Declares its noise and adds none."""

    def draw(self, exact, fill=None):
        return exact.open()


def bounds_for_free(patch: pytest.MonkeyPatch) -> None:
    """Bounds from the data themselves."""

    original = PrivateBounds._look

    def look(self, terms):
        measurement = original(self, terms)
        return Measurement(measurement.statistic, Peek(measurement.mechanism.scale))

    patch.setattr(PrivateBounds, "_look", look)


ONE_FAR = added("one far", several(FAR, 1), [])
HEAVY = added("heavy", several(HIGH, 40, "a", "z"), [(f"p{i}", LOW, "a") for i in range(20)], max_rows=40)
TWINS = [
    (one_row_a_unit, quartiles, HEAVY),
    (bounds_for_free, private_sum, ONE_FAR),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "ask", "pair"), TWINS, ids=lambda x: getattr(x, "__name__", None))
def test_twin(fault, ask, pair, monkeypatch):
    with monkeypatch.context() as patch:
        fault(patch)
        broken = audit(*sides(pair, ask, ADD_REMOVE), QUARTILES, 1, ALPHA, batch=True)
    assert broken.violated, str(broken)
    right = audit(*sides(pair, ask, ADD_REMOVE), QUARTILES // 2, 1, ALPHA, batch=True)
    assert not right.violated, str(right)

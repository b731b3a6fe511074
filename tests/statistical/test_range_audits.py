"""Counts made for ranges keep their epsilon in every form, and forms with too little noise are caught.

Each audit accuses a right method with probability at most 1e-6. The twins spend nearly twice their epsilon or more on
their pair, so their bounds lie five standard deviations or more above the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from support.auditor import Result, audit
from support.neighbours import ADD_REMOVE, RELATIONS, REPLACE_ONE, Pair, added, drawer, replaced, several

from pandas_dp.aggregates import ranges
from pandas_dp.core.partition import Bins
from pandas_dp.core.privacy import NeighboringRelation
from pandas_dp.core.statistics import strategies
from pandas_dp.core.statistics.strategies import Haar, Tree

ALPHA = 1e-6
SAMPLES = 4000
DELTA = 0.05  # large, so that few samples show that it is needed
EDGES = tuple(range(9))
FORMS: dict[str, Callable[[Bins], Tree | Haar]] = {
    "plain": Tree,
    "tree": lambda by: Tree(by, 2, 3),
    "wide tree": lambda by: Tree(by, 4, 2),
    "haar": Haar,
}
PAIRS = {
    ADD_REMOVE: [
        added("first row", several(0, 1), []),
        added("row in the middle", several(3, 1), several(3, 2) + several(7, 1)),
        added("row in no bin", several(20, 1)),
        added("unit of many rows", several(1, 5, unit="z"), max_rows=2),
        added("unit of two bins", several(1, 2, unit="z") + several(6, 2, unit="z"), max_rows=2),
    ],
    REPLACE_ONE: [
        replaced("across all bins", several(0, 1), several(8, 1)),
        replaced("to the neighbour", several(2, 1), several(3, 1)),
        replaced("across the middle", several(3, 1), several(4, 1), []),
        replaced("out of the bins", several(2, 1), several(20, 1)),
        replaced("unit of many rows", several(0, 5, unit="z"), several(7, 5, unit="z"), max_rows=2),
    ],
}


def histogram(dp: Any) -> Any:
    return dp.histogram("x", bins=EDGES, workload="ranges")


def ecdf(dp: Any) -> Any:
    return dp.ecdf("x", bins=EDGES)


def forced(patch: pytest.MonkeyPatch, form: str) -> None:
    patch.setattr(ranges, "strategy", lambda by, unit, gaussian, workload: FORMS[form](by))


def audited(pair: Pair, relation: str, samples: int, ask: Any = histogram, delta: float = 0) -> Result:
    terms = pair.terms(relation) | ({"delta": 0.9, "price_delta": delta} if delta else {})
    sides = [drawer(table, ask, **terms) for table in pair.frames()]
    return audit(*(side.transcripts for side in sides), samples, 1, ALPHA, delta, batch=True)


CASES = [
    pytest.param(form, relation, pair, id=f"{form}, {relation}: {pair}")
    for form in ("plain", "tree", "haar")
    for relation in RELATIONS
    for pair in PAIRS[relation]
    if form != "plain" or pair.max_rows is None  # counts by part of heavy units are audited elsewhere
]


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("form", "relation", "pair"), CASES)
def test_pair(form: str, relation: str, pair: Pair, monkeypatch: pytest.MonkeyPatch):
    forced(monkeypatch, form)
    result = audited(pair, relation, SAMPLES)
    assert not result.violated, str(result)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("ask", [histogram, ecdf])
def test_gaussian_noise_and_shares(ask: Any, relation: str):
    """As chosen, without being told the form."""
    pair = PAIRS[relation][0]
    result = audited(pair, relation, SAMPLES, ask, DELTA)
    assert not result.violated, str(result)
    result = audited(pair, relation, SAMPLES, ask)
    assert not result.violated, str(result)


@dataclass(frozen=True)
class Twin:
    """A form, how it is broken, and the pair on which that shows."""

    form: str
    fault: str
    apply: Callable[[pytest.MonkeyPatch], None]
    relation: str
    pair: Pair

    def __str__(self) -> str:
        return f"{self.form}, {self.fault}, {self.relation}"


def noise_of_plain_counts(patch: pytest.MonkeyPatch) -> None:
    """The sensitivity of the counts alone, whatever is released beside them."""
    plain = Tree.sensitivity
    patch.setattr(Tree, "sensitivity", lambda self, unit: plain(replace(self, levels=1), unit))
    patch.setattr(Haar, "sensitivity", lambda self, unit: plain(Tree(self.by), unit))


def added_only(patch: pytest.MonkeyPatch) -> None:
    """The sensitivity under add_remove, whatever the relation."""
    for form in (Tree, Haar):
        original = form.sensitivity
        patch.setattr(
            form,
            "sensitivity",
            lambda self, unit, of=original: of(self, replace(unit, relation=NeighboringRelation.ADD_REMOVE)),
        )


def keeps_all_rows(patch: pytest.MonkeyPatch) -> None:
    def count(view: Any, unit: Any, by: Any, present: None) -> Any:
        return np.bincount(view.parts(by)[view.parts(by) >= 0], minlength=by.count)

    patch.setattr(strategies, "count_parts", count)


FIRST, ACROSS = PAIRS[ADD_REMOVE][0], PAIRS[REPLACE_ONE][0]
TWINS = [
    Twin("tree", "noise of the plain counts", noise_of_plain_counts, ADD_REMOVE, FIRST),
    Twin("tree", "noise of the plain counts", noise_of_plain_counts, REPLACE_ONE, ACROSS),
    Twin("wide tree", "noise of the plain counts", noise_of_plain_counts, ADD_REMOVE, FIRST),
    Twin("haar", "noise of the plain counts", noise_of_plain_counts, ADD_REMOVE, FIRST),
    Twin("haar", "noise of the plain counts", noise_of_plain_counts, REPLACE_ONE, ACROSS),
    Twin("plain", "sensitivity of add_remove", added_only, REPLACE_ONE, ACROSS),
    Twin("wide tree", "sensitivity of add_remove", added_only, REPLACE_ONE, ACROSS),
    Twin("tree", "rows beyond the bound", keeps_all_rows, ADD_REMOVE, PAIRS[ADD_REMOVE][3]),
    Twin("haar", "rows beyond the bound", keeps_all_rows, ADD_REMOVE, PAIRS[ADD_REMOVE][3]),
]


def marks(twin: Twin) -> list[pytest.MarkDecorator]:
    """Rows of heavy units are drawn one answer after the other."""
    return [pytest.mark.slow] if twin.pair.max_rows is not None else []


@pytest.mark.one_in(9)
@pytest.mark.parametrize("twin", [pytest.param(twin, id=str(twin), marks=marks(twin)) for twin in TWINS])
def test_twin(twin: Twin, monkeypatch: pytest.MonkeyPatch):
    forced(monkeypatch, twin.form)
    with monkeypatch.context() as patch:
        twin.apply(patch)
        broken = audited(twin.pair, twin.relation, (5 if twin.pair.max_rows is None else 3) * SAMPLES)
    assert broken.violated, str(broken)

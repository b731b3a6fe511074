"""Audits of statistics of several columns and of distinct values, and a broken twin of each that is caught.

Each audit accuses a right method with probability at most 1e-6; every twin spends twice its epsilon or more on its pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.auditor import audit
from support.neighbours import (
    ADD_REMOVE,
    HIGH,
    LOW,
    PAIRS,
    RELATIONS,
    REPLACE_ONE,
    Pair,
    added,
    drawer,
    replaced,
    several,
)

from pandas_dp.aggregates import several as several_answers
from pandas_dp.core import bounding
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import NeighboringRelation
from pandas_dp.core.statistics import products
from pandas_dp.core.statistics.counts import Distinct
from pandas_dp.core.statistics.products import Products
from pandas_dp.core.statistics.sums import Moments

ALPHA, SAMPLES = 1e-6, 4000
BOUNDS = {"x": (LOW, HIGH), "y": (LOW, 2 * HIGH)}


def cov(dp: Any) -> Any:
    return dp.assign(y=lambda t: 2 * t.x).cov(["x", "y"], bounds=BOUNDS)


def agg(dp: Any) -> Any:
    """Four moments of one column, which are made of one look."""
    return dp.agg({"x": ["count", "sum", "mean", "std"]}, bounds={"x": (LOW, HIGH)})


def agg_of_groups(dp: Any) -> Any:
    return dp.groupby("g", keys=["a", "b"]).agg({"x": ["count", "mean"]}, bounds={"x": (LOW, HIGH)})


ASKED: dict[str, Callable[[Any], Any]] = {
    "cov": cov,
    "agg": agg,
    "nunique": lambda dp: dp.nunique("g"),
    "nunique of numbers": lambda dp: dp.nunique("x"),
}
OFTEN = (
    "key seen once",
    "missing key",
    "unit of many rows and keys",
    "many rows become one",
    "one row",
    "duplicate row",
    "NaN added",
    "becomes NaN",
    "unit of many rows",
    "values go missing",
    "empty, one row",
)
CASES = [
    pytest.param(name, relation, pair, id=f"{name}, {relation}: {pair.name}")
    for name in ASKED
    for relation in RELATIONS
    for pair in PAIRS[relation]
    if pair.name in OFTEN
]


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("name", "relation", "pair"), CASES)
def test_pair(name: str, relation: str, pair: Pair):
    sides = [drawer(table, ASKED[name], **pair.terms(relation)) for table in pair.frames()]
    result = audit(*(side.transcripts for side in sides), SAMPLES, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    original = DiscreteLaplace.calibrate
    patch.setattr(DiscreteLaplace, "calibrate", lambda epsilon, sensitivity: original(2 * epsilon, sensitivity))


def assumes(statistic: type, **changes: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """The sensitivity of another unit or relation."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        original = statistic.sensitivity
        patch.setattr(statistic, "sensitivity", lambda self, unit: original(self, replace(unit, **changes)))

    return apply


def measured_from_the_wrong_centre(patch: pytest.MonkeyPatch) -> None:
    """Shares of values measured from an end with the middle taken for the other one: they add up to 4, 9, ..., not to 1."""
    original = products._shares

    def shares(lattice: Any, values: Any) -> Any:
        return original(lattice, values) * (1 + (values > (LOW + HIGH) / 2))

    patch.setattr(products, "_shares", shares)


ADDED_ONLY = {"relation": NeighboringRelation.ADD_REMOVE}


def keeps_all_values(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bounding, "keep_at_most", lambda owner, *rest: np.arange(owner.size))


def each_at_the_whole_price(patch: pytest.MonkeyPatch) -> None:
    """Nothing shared, and no share of the price either."""
    patch.setattr(several_answers, "sharing", lambda asked, terms: ())
    lot = several_answers.Several._lot
    patch.setattr(several_answers.Several, "_lot", lambda self, *rest: replace(lot(self, *rest), terms=rest[-1]))


NEW_KEYS = [("z", LOW, key) for key in "abcde"]
TWINS = {
    "nunique, half the noise": (
        ASKED["nunique"],
        half_the_noise,
        REPLACE_ONE,
        replaced("a to b", several(5, 1, "a"), several(5, 1, "b"), several(5, 1, "b")),
    ),
    "nunique, values beyond the bound": (
        ASKED["nunique"],
        keeps_all_values,
        ADD_REMOVE,
        added("unit of many keys", NEW_KEYS, [], max_rows=2),
    ),
    "nunique, one value a unit": (
        ASKED["nunique"],
        assumes(Distinct, rows=1),
        ADD_REMOVE,
        added("unit of two keys", NEW_KEYS[:2], [], max_rows=2),
    ),
    "agg, half the noise": (agg, half_the_noise, ADD_REMOVE, added("high", several(HIGH, 1), [])),
    "agg, sensitivity of add_remove": (
        agg,
        assumes(Moments, **ADDED_ONLY),
        REPLACE_ONE,
        replaced("low to high", several(LOW, 1), several(HIGH, 1), []),
    ),
    "agg, one row per unit": (
        agg,
        assumes(Moments, rows=1),
        ADD_REMOVE,
        added("unit of five rows", several(HIGH, 5, "a", "z"), max_rows=2),
    ),
    "agg, the whole price for each": (
        lambda dp: dp.agg({"x": ["count", "mean"]}, bounds={"x": (LOW, HIGH)}),
        each_at_the_whole_price,
        ADD_REMOVE,
        added("high", several(HIGH, 1), []),
    ),
    "agg of groups, sensitivity of add_remove": (
        agg_of_groups,
        assumes(Moments, **ADDED_ONLY),
        REPLACE_ONE,
        replaced("a to b", several(HIGH, 1, "a"), several(HIGH, 1, "b"), []),
    ),
    "cov, half the noise": (cov, half_the_noise, ADD_REMOVE, added("high", several(HIGH, 1), [])),
    "cov, sensitivity of add_remove": (
        cov,
        assumes(Products, **ADDED_ONLY),
        REPLACE_ONE,
        replaced("low to high", several(LOW, 1), several(HIGH, 1), []),
    ),
    "cov, wrong centre": (cov, measured_from_the_wrong_centre, ADD_REMOVE, added("high", several(HIGH, 1), [])),
    "cov, one row per unit": (
        cov,
        assumes(Products, rows=1),
        ADD_REMOVE,
        added("unit of five rows", several(HIGH, 5, "a", "z"), max_rows=2),
    ),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("twin", TWINS)
def test_twin(twin: str, monkeypatch: pytest.MonkeyPatch):
    ask, apply, relation, pair = TWINS[twin]

    def sides() -> list[Any]:
        return [drawer(table, ask, **pair.terms(relation)).transcripts for table in pair.frames()]

    with monkeypatch.context() as patch:
        apply(patch)
        broken = audit(*sides(), 5 * SAMPLES, 1, ALPHA, batch=True)
    assert broken.violated, str(broken)
    right = audit(*sides(), SAMPLES, 1, ALPHA, batch=True)
    assert not right.violated, str(right)

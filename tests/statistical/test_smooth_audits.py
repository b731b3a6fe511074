"""Audits of noise scaled to smooth sensitivity, and of broken twins, which are caught.

Each audit accuses a right method with probability at most 1e-6. Every twin is all but certain to be caught: on its pair
an answer that is nearly certain on one side is rare on the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import pytest
from support.auditor import audit
from support.neighbours import (
    ADD_REMOVE,
    BOUNDS,
    HIGH,
    LOW,
    METHOD,
    PAIRS,
    REPLACE_ONE,
    Pair,
    added,
    drawer,
    replaced,
    several,
    suits,
)

from pandas_dp.core.mechanisms.smooth import DRAWS, NEED_DELTA, SmoothNoise
from pandas_dp.core.statistics import smooth
from pandas_dp.core.statistics import smooth as trimmed_module
from pandas_dp.core.statistics.lattice_counts import LatticeCounts

ALPHA, SAMPLES, DELTA = 1e-6, 4000, 1e-3

Ask = Callable[[Any], Any]


def asking(noise: str) -> Ask:
    return lambda dp: dp.median("x", bounds=BOUNDS, method="smooth", noise=noise)


median = asking("polynomial_laplace")


def high_quantile(dp: Any) -> Any:
    return dp.quantile("x", 0.9, bounds=BOUNDS, step=0.5, method="smooth")


def blocks(dp: Any) -> Any:
    return dp.sample_and_aggregate(lambda block: block["x"].max(), bounds=BOUNDS, blocks=3, aggregator="smooth")


def accused(pair: Pair, ask: Ask, relation: str, samples: int = SAMPLES, delta: float = 0) -> Any:
    terms = pair.terms(relation) | ({"delta": 0.9} if delta else {})
    drawers = [drawer(table, ask, price_delta=delta, **terms) for table in pair.frames()]
    sides = [lambda n, d=d: d.transcripts(n) for d in drawers]
    return audit(*sides, samples, claim=1, alpha=ALPHA, delta=delta, batch=True)


def trimmed(dp: Any) -> Any:
    return dp.mean("x", bounds=BOUNDS, method="trimmed", trim=0.45)


def with_error_bar(dp: Any) -> Any:
    """The answer and its interval."""
    answer = dp.median("x", bounds=BOUNDS, method="smooth", error_bar=True)
    lower, upper = answer.interval()
    return [answer.value, upper - lower]


SUITED = [(r, pair) for r, pairs in PAIRS.items() for pair in pairs if suits(pair, METHOD["median"])]
ONE_JUMP = added("one row decides", several(HIGH, 1), several(LOW, 6) + several(HIGH, 5))
ONE_MOVES = replaced("one row decides", several(LOW, 1), several(HIGH, 1), several(LOW, 5) + several(HIGH, 5))
SIX_OF_TEN = replaced("six of ten low", several(LOW, 1), several(HIGH, 1), several(LOW, 5) + several(HIGH, 4))
NINE_LOW = added("nine low", several(HIGH, 1), several(LOW, 9) + several(HIGH, 4))
EIGHT_STAY = replaced("eight low", several(LOW, 1), several(HIGH, 1), several(LOW, 7) + several(HIGH, 5))
HEAVY = added("heavy unit", several(HIGH, 20, "a", "z"), [(f"p{i}", LOW, "a") for i in range(30)], max_rows=20)


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "pair"), SUITED, ids=str)
def test_pair(relation, pair):
    """The median where units own one row, a high quantile where they own several: two formulas in turn."""
    ask = median if pair.max_rows is None else high_quantile
    result = accused(pair, ask, relation, samples=1000)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "pair"), [(ADD_REMOVE, ONE_JUMP), (REPLACE_ONE, ONE_MOVES)], ids=str)
@pytest.mark.parametrize("noise", DRAWS)
def test_every_noise_where_one_row_decides(noise, relation, pair):
    result = accused(pair, asking(noise), relation, delta=DELTA if noise in NEED_DELTA else 0)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("relation", "pair"), [*SUITED[::4], (ADD_REMOVE, NINE_LOW), (REPLACE_ONE, EIGHT_STAY)], ids=str
)
def test_trimmed(relation, pair):
    result = accused(pair, trimmed, relation, samples=1000)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "pair"), [(ADD_REMOVE, ONE_JUMP), (REPLACE_ONE, SIX_OF_TEN)], ids=str)
def test_error_bars(relation, pair):
    result = accused(pair, with_error_bar, relation, samples=2000)
    assert not result.violated, str(result)


@pytest.mark.slow
def test_blocks():
    result = accused(ONE_JUMP, blocks, ADD_REMOVE, samples=500)
    assert not result.violated, str(result)


def changed_beta(factor: F) -> Callable[[pytest.MonkeyPatch], None]:
    """Smoothness that is declared for one beta and computed with another."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        original = smooth.smooth
        patch.setattr(smooth, "MOST_BETA", 10**3)
        patch.setattr(
            smooth, "smooth", lambda points, cells, q, beta, *rest: original(points, cells, q, beta * factor, *rest)
        )

    return apply


def trimmed_by_local(patch: pytest.MonkeyPatch) -> None:
    """Windows further away count for nothing."""
    original = trimmed_module.cost_of
    patch.setattr(trimmed_module, "cost_of", lambda beta, s: 10**3 * original(beta, s))


def cheap_scale(patch: pytest.MonkeyPatch) -> None:
    """The scale is sold as if it moved by a fiftieth of beta."""
    original = smooth.SmoothScale.sensitivity

    def sensitivity(self: smooth.SmoothScale, unit: Any) -> Any:
        right = original(self, unit)
        return replace(right, l1=right.l1 // 50, linf=right.linf // 50)

    patch.setattr(smooth.SmoothScale, "sensitivity", sensitivity)


def one_row_a_unit(patch: pytest.MonkeyPatch) -> None:
    original = LatticeCounts.sensitivity
    patch.setattr(LatticeCounts, "sensitivity", lambda self, unit: original(self, replace(unit, rows=1)))


def shows_its_scale(patch: pytest.MonkeyPatch) -> None:
    """The answer is a multiple of S."""
    original = SmoothNoise.draw

    def draw(self: SmoothNoise, exact: Any, *fill: Any) -> list[int]:
        ((_, log_scale),) = exact.open()
        step = round(math.exp(log_scale / 2**smooth.LOG_BITS))
        return [step * round(x / step) for x in original(self, exact, *fill)]

    patch.setattr(SmoothNoise, "draw", draw)


TWINS = {
    "local sensitivity": (changed_beta(F(10**4)), ONE_JUMP, ADD_REMOVE),
    "local sensitivity, replaced": (changed_beta(F(10**4)), SIX_OF_TEN, REPLACE_ONE),
    "forty times the beta": (changed_beta(F(40)), ONE_JUMP, ADD_REMOVE),
    "one row per unit": (one_row_a_unit, HEAVY, ADD_REMOVE),
    "a lattice that follows the scale": (shows_its_scale, ONE_JUMP, ADD_REMOVE),
    "trimmed, local sensitivity": (trimmed_by_local, NINE_LOW, ADD_REMOVE),
    "a cheap scale": (cheap_scale, ONE_JUMP, ADD_REMOVE),
}
ASKED = {"trimmed, local sensitivity": trimmed, "a cheap scale": with_error_bar}


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_twin(name, monkeypatch):
    fault, pair, relation = TWINS[name]
    with monkeypatch.context() as patch:
        fault(patch)
        broken = accused(pair, ASKED.get(name, median), relation)
    assert broken.violated, str(broken)
    right = accused(pair, ASKED.get(name, median), relation, samples=1000)
    assert not right.violated, str(right)

"""Audits of all that is answered from block results, and broken twins that are caught.

Each audit accuses a right method with probability at most 1e-6. Every twin spends three times its epsilon or more on its
pair, so that its bound lies far above the claim. Faults that samples cannot show, such as quartiles at twice their rate,
are decided by the exact laws in core/mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.auditor import audit, observe
from support.block_drawing import BlockDrawer, block_drawer
from support.drawing import capture
from support.frames import fresh
from support.neighbours import ADD_REMOVE, HIGH, LOW, REPLACE_ONE, Pair, added, protected, replaced, several

from pandas_dp.aggregates import winsorized_mean as of_columns
from pandas_dp.aggregates.blocks import FromBlocks
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.selection import PermuteAndFlip
from pandas_dp.core.mechanisms.smooth import SmoothNoise
from pandas_dp.core.mechanisms.winsorized import WinsorizedSum
from pandas_dp.core.statistics import blocks

ALPHA, SAMPLES = 1e-6, 4000


@pytest.fixture(autouse=True)
def _noise_is_what_is_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few blocks tell most of one unit; the package refuses them, since nobody else has a use for such answers."""
    monkeypatch.setattr(FromBlocks, "check", lambda self, terms: None)
    monkeypatch.setattr(of_columns, "ENOUGH_ROWS", -(10**9))
    monkeypatch.setattr(of_columns, "wider", lambda error, *more: error)


BOUNDS = (LOW, HIGH)
Ask = Callable[[Any], Any]


def top(block: Any) -> float:
    return float(block["x"].max())


def last_key(block: Any) -> str:
    return str(block["g"].iloc[-1])


def mean(dp: Any) -> Any:
    return dp.sample_and_aggregate(top, bounds=BOUNDS, blocks=1, aggregator="mean")


def median(dp: Any) -> Any:
    return dp.sample_and_aggregate(top, bounds=BOUNDS, blocks=2, aggregator="median")


def winsorized_mean(dp: Any) -> Any:
    return dp.sample_and_aggregate(top, bounds=BOUNDS, blocks=2, aggregator="winsorized")


def smith(dp: Any) -> Any:
    return dp.sample_and_aggregate(top, bounds=BOUNDS, blocks=1, aggregator="winsorized", widening="smith")


def vote(dp: Any) -> Any:
    return dp.sample_and_aggregate(last_key, keys=["a", "b"], blocks=1, aggregator="vote")


def column_mean(dp: Any) -> Any:
    return dp.mean("x", bounds=BOUNDS, method="winsorized")


def kmeans(dp: Any) -> Any:
    """Both coordinates of the one centre move together."""
    return dp.eval("y = x + 0").kmeans(["x", "y"], k=1, bounds={"x": BOUNDS, "y": BOUNDS}, blocks=1)


def kmeans_by_medians(dp: Any) -> Any:
    return dp.kmeans(["x"], k=1, bounds={"x": BOUNDS}, blocks=50)


def central(dp: Any) -> Any:
    """Two numbers that move together, the central one of a single block's: noise fitted to all of the bounds."""
    return dp.sample_and_aggregate(
        lambda block: (top(block), top(block)), bounds={"a": BOUNDS, "b": BOUNDS}, blocks=1, aggregator="smooth"
    )


JOINS = added("unit of many rows", several(HIGH, 6, "b", "z"), several(LOW, 2, "a"), max_rows=2)
CHANGES = replaced("low to high", several(LOW, 1, "a"), several(HIGH, 1, "b"), [])
PAIRS = {ADD_REMOVE: JOINS, REPLACE_ONE: CHANGES}
CASES = [
    *((ask, relation) for ask in (mean, median, winsorized_mean, vote, kmeans, central) for relation in PAIRS),
    (column_mean, ADD_REMOVE),
    (kmeans_by_medians, REPLACE_ONE),
]


def name(x: Any) -> str | None:
    return getattr(x, "__name__", None)


def sides(pair: Pair, ask: Ask, relation: str) -> list[Callable[[int], np.ndarray]]:
    return [block_drawer(table, ask, **pair.terms(relation)).transcripts for table in pair.frames()]


@pytest.mark.slow
@pytest.mark.parametrize(("ask", "relation"), CASES, ids=name)
def test_pair(ask: Ask, relation: str):
    result = audit(*sides(PAIRS[relation], ask, relation), SAMPLES, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)


# ------------------------------------------------------------------------------------------------------------ twins
def a_quarter_of_the_noise(patch: pytest.MonkeyPatch) -> None:
    original = DiscreteLaplace.calibrate
    patch.setattr(DiscreteLaplace, "calibrate", lambda epsilon, sensitivity: original(4 * epsilon, sensitivity))


def one_output_pays_for_all(patch: pytest.MonkeyPatch) -> None:
    """All of epsilon for each of two coordinates that move together, and half the noise."""
    original = blocks.BlockResults.sensitivity
    patch.setattr(blocks.BlockResults, "sensitivity", lambda self, unit: original(replace(self, outputs=1), unit))
    half = DiscreteLaplace.calibrate
    patch.setattr(DiscreteLaplace, "calibrate", lambda epsilon, sensitivity: half(2 * epsilon, sensitivity))


def a_tenth_of_the_clipped_noise(patch: pytest.MonkeyPatch) -> None:
    original = WinsorizedSum.noise

    def noise(self: Any, a: int, b: int) -> DiscreteLaplace | None:
        right = original(self, a, b)
        return None if right is None else DiscreteLaplace(right.scale / 10)

    patch.setattr(WinsorizedSum, "noise", noise)


def votes_at_four_times_the_rate(patch: pytest.MonkeyPatch) -> None:
    original = PermuteAndFlip.calibrate
    patch.setattr(PermuteAndFlip, "calibrate", lambda epsilon, sensitivity: original(4 * epsilon, sensitivity))


def one_value_alone(patch: pytest.MonkeyPatch) -> None:
    """Each value gets noise as if it moved alone, and by all of the bounds, at four times the price."""
    original = SmoothNoise.draw
    patch.setattr(
        SmoothNoise, "draw", lambda self, *more: original(replace(self, epsilon=4 * self.epsilon, dimension=1), *more)
    )


TWINS = [
    (one_value_alone, central, REPLACE_ONE, SAMPLES),
    (a_quarter_of_the_noise, mean, ADD_REMOVE, SAMPLES),
    (a_quarter_of_the_noise, mean, REPLACE_ONE, SAMPLES),
    (a_tenth_of_the_clipped_noise, smith, REPLACE_ONE, SAMPLES // 2),
    (votes_at_four_times_the_rate, vote, ADD_REMOVE, SAMPLES),
    (one_output_pays_for_all, kmeans, REPLACE_ONE, SAMPLES),
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "ask", "relation", "samples"), TWINS, ids=name)
def test_twin(fault: Any, ask: Ask, relation: str, samples: int, monkeypatch: pytest.MonkeyPatch):
    fault(monkeypatch)
    broken = audit(*sides(PAIRS[relation], ask, relation), samples, 1, ALPHA, batch=True)
    assert broken.violated, str(broken)


PATTERN = [("p", value, "a") for _ in range(30) for value in (LOW, LOW, HIGH, HIGH)]
WITHOUT_FIRST = Pair("first row removed", (PATTERN, PATTERN[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("aggregator", ["mean", "median", "winsorized"])
def test_blocks_by_order_of_rows(aggregator: str, monkeypatch: pytest.MonkeyPatch):
    """The twin that cuts the rows into blocks in their order: without the first one every other block result changes."""

    def ask(dp: Any) -> Any:
        return dp.sample_and_aggregate(top, bounds=BOUNDS, blocks=60, aggregator=aggregator)

    monkeypatch.setattr(blocks, "_random_blocks", lambda count, number, fill: np.arange(count) * number // count)
    broken = audit(*sides(WITHOUT_FIRST, ask, ADD_REMOVE), 1000, 1, ALPHA, batch=True)
    assert broken.violated, str(broken)


OBSERVED = 150  # what is seen on one side alone gives a bound of 1.5


@pytest.mark.slow
@pytest.mark.parametrize("relation", PAIRS)
def test_public_call(relation: str):
    """All a caller sees of a function that fails on some rows: value, type, notes, warnings, what is printed."""

    def fails(block: Any) -> float:
        return 1 / 0 if block["x"].max() >= HIGH and len(block) < 4 else 2.0

    tables = [protected(table, **PAIRS[relation].terms(relation)) for table in PAIRS[relation].frames()]
    calls = [
        observe(lambda t=table: t.dp(epsilon=1).sample_and_aggregate(fails, bounds=BOUNDS, blocks=1))
        for table in tables
    ]
    result = audit(*calls, OBSERVED, claim=1, alpha=ALPHA)
    assert not result.violated, str(result)


FOUR = [("p", value, "a") for value in (LOW, LOW, HIGH, HIGH)]
REPLACED = Pair("first row replaced", (FOUR, [("p", HIGH, "a"), *FOUR[1:]]))


@pytest.mark.slow
@pytest.mark.parametrize("aggregator", ["mean", "median", "winsorized"])
def test_equal_blocks(aggregator: str):
    """Of a public number of rows, of which the first is replaced: two in each of 2 blocks."""

    drawers = []
    for table in REPLACED.frames():
        table.dp.protect(epsilon=10, name=fresh(), neighbors=REPLACE_ONE, rows=True)
        dp, how = table.dp(epsilon=1), {"bounds": BOUNDS, "blocks": 2, "aggregator": aggregator}
        drawers.append(BlockDrawer(capture(lambda dp=dp, how=how: dp.sample_and_aggregate(top, **how))))
        assert next(drawers[-1].request.recipe()).statistic.means.equal
    result = audit(*(drawer.transcripts for drawer in drawers), SAMPLES, 1, ALPHA, batch=True)
    assert not result.violated, str(result)

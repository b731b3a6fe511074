"""A broken twin of every method is caught by the audit that the method itself passes.

Each audit accuses the right method with probability at most 1e-6; every twin spends nearly twice its
epsilon or more on its pair, so that its bound lies five standard deviations or more above the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from support.auditor import audit
from support.breaks import one_end_only
from support.neighbours import (
    ADD_REMOVE,
    BOUNDS,
    HIGH,
    KEYS,
    LOW,
    METHOD,
    REPLACE_ONE,
    Pair,
    added,
    drawer,
    replaced,
    several,
)

from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.quantiles import Quantile
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics import blocks, counts
from pandas_dp.core.statistics.blocks import BlockMeans
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.sums import Moments, Total, _coded_offsets

ALPHA = 1e-6
SAMPLES = 20_000

Break = Callable[[pytest.MonkeyPatch], None]


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    original = DiscreteLaplace.calibrate
    patch.setattr(DiscreteLaplace, "calibrate", lambda epsilon, sensitivity: original(2 * epsilon, sensitivity))


def assumes(statistic: type, **changes: Any) -> Break:
    """The sensitivity of another unit or relation."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        original = statistic.sensitivity
        patch.setattr(statistic, "sensitivity", lambda self, unit: original(self, replace(unit, **changes)))

    return apply


def added_only(statistic: type) -> Break:
    """The sensitivity under add_remove, whatever the relation; for selections: all scores move one way."""
    return assumes(statistic, relation=NeighboringRelation.ADD_REMOVE)


def clips_halves(patch: pytest.MonkeyPatch) -> None:
    """Each half of a heavy unit's moments is cut by itself: together they may reach twice the declared total."""

    def by_unit(self: Moments, view: Any, unit: PrivacyUnit) -> list[int]:
        codes, units = view.units(unit.column)
        owner, offsets = _coded_offsets(view, codes, self.column, self.lattice)
        most = unit.rows * self.lattice.cells
        halves = [np.bincount(owner, weights=half, minlength=units) for half in (offsets, self.lattice.cells - offsets)]
        return [int(np.minimum(half, most).sum()) for half in halves]

    patch.setattr(Moments, "_by_unit", by_unit)


def without_the_factor_two(patch: pytest.MonkeyPatch) -> None:
    original = Quantile._ranges
    patch.setattr(Quantile, "_ranges", lambda self, sensitivity: tuple(one / 2 for one in original(self, sensitivity)))


def keeps_all_rows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(counts, "bound_parts", lambda units, *rest: np.arange(units.size))


def keeps_all_groups(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(blocks, "bound_groups", lambda units, *rest: np.arange(units.size))


@dataclass(frozen=True)
class Twin:
    """A method, how it is broken, and the pair on which that shows."""

    name: str
    fault: str
    apply: Break
    relation: str
    pair: Pair
    ask: Callable[[Any], Any] | None = None

    def __str__(self) -> str:
        return f"{self.name}, {self.fault}"

    def sides(self) -> list[Any]:
        ask = self.ask or METHOD[self.name].ask
        return [drawer(table, ask, **self.pair.terms(self.relation)) for table in self.pair.frames()]


def two_keys(dp: Any) -> Any:
    return dp.mode("g", keys=["a", "b"])


def one_block(dp: Any) -> Any:
    return dp.groupby_mean_sa("g", "x", keys=KEYS, bounds=BOUNDS, blocks=1, aggregator="mean")


def coarse_median(dp: Any) -> Any:
    return dp.median("x", bounds=BOUNDS, step=0.5)


HIGH_ROW, LOW_ROW = added("high", several(HIGH, 1), []), added("low", several(LOW, 1), [])
LOW_TO_HIGH = replaced("low to high", several(LOW, 1), several(HIGH, 1), [])
ONE_TO_OTHER = replaced("a to b", several(5, 1, "a"), several(5, 1, "b"), several(5, 1, "b"))
FIVE = several(HIGH, 5, "a", "z")
FIVE_ROWS = added("unit of five rows", FIVE, max_rows=2)
HALF_AND_HALF = added("low and high", several(LOW, 5, "a", "z") + FIVE, max_rows=2)
LIGHT = [(f"light {key}", LOW, key) for key in KEYS]
HEAVY = [several(HIGH, 50, key, "z") for key in KEYS]
MANY_GROUPS = added("unit of many groups", HEAVY[0] + HEAVY[1] + HEAVY[2], LIGHT, max_rows=1)
HEAVY_MOVES = replaced("heavy unit", HEAVY[0], HEAVY[1], LIGHT, max_rows=1)
TO_THE_END = replaced("end", several(LOW, 1), several(HIGH, 1), several(1, 1))

TWINS = [
    Twin("count", "half the noise", half_the_noise, ADD_REMOVE, HIGH_ROW),
    Twin("count", "one row per unit", assumes(RowCounts, rows=1), ADD_REMOVE, FIVE_ROWS),
    Twin(
        "count column",
        "half the noise",
        half_the_noise,
        REPLACE_ONE,
        replaced("NaN", FIVE[:1], [("p", np.nan, "a")]),
    ),
    Twin("sum", "half the noise", half_the_noise, ADD_REMOVE, HIGH_ROW),
    Twin(
        "sum",
        "sensitivity of add_remove",
        added_only(Total),
        REPLACE_ONE,
        replaced("ends", several(-10, 1), FIVE[:1]),
    ),
    Twin("mean", "half the noise", half_the_noise, ADD_REMOVE, LOW_ROW),
    Twin("mean", "sensitivity of one end", one_end_only, REPLACE_ONE, LOW_TO_HIGH),
    Twin("mean", "clipped halves", clips_halves, ADD_REMOVE, HALF_AND_HALF),
    Twin("var", "half the noise", half_the_noise, ADD_REMOVE, LOW_ROW),
    Twin("var", "sensitivity of add_remove", added_only(Moments), REPLACE_ONE, LOW_TO_HIGH),
    Twin("histogram bins", "half the noise", half_the_noise, ADD_REMOVE, HIGH_ROW),
    Twin("histogram bins", "sensitivity one", added_only(RowCounts), REPLACE_ONE, LOW_TO_HIGH),
    Twin("histogram keys", "sensitivity one", added_only(RowCounts), REPLACE_ONE, ONE_TO_OTHER),
    Twin("histogram keys", "rows beyond the bound", keeps_all_rows, ADD_REMOVE, FIVE_ROWS),
    Twin("median", "no factor 2", without_the_factor_two, REPLACE_ONE, TO_THE_END, coarse_median),
    Twin("mode", "one way only", added_only(RowCounts), REPLACE_ONE, ONE_TO_OTHER, two_keys),
    Twin("mode", "rows beyond the bound", keeps_all_rows, ADD_REMOVE, FIVE_ROWS, two_keys),
    Twin("groupby mean", "sensitivity of add_remove", added_only(Moments), REPLACE_ONE, LOW_TO_HIGH),
    Twin("groupby mean", "rows beyond the bound", keeps_all_rows, ADD_REMOVE, FIVE_ROWS),
    Twin("groupby_mean_sa", "groups beyond the bound", keeps_all_groups, ADD_REMOVE, MANY_GROUPS, one_block),
    Twin("groupby_mean_sa", "one group of two", added_only(BlockMeans), REPLACE_ONE, HEAVY_MOVES, one_block),
]


def marks(twin: Twin) -> list[pytest.MarkDecorator]:
    """A quantile has no vector form."""
    return [pytest.mark.slow] if twin.name == "median" else []


@pytest.mark.one_in(9)
@pytest.mark.parametrize("twin", [pytest.param(twin, id=str(twin), marks=marks(twin)) for twin in TWINS])
def test_twin(twin: Twin, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        twin.apply(patch)
        broken = audit(*(side.transcripts for side in twin.sides()), SAMPLES, 1, ALPHA, batch=True)
    assert broken.violated, str(broken)
    right = audit(*(side.transcripts for side in twin.sides()), SAMPLES // 4, 1, ALPHA, batch=True)
    assert not right.violated, str(right)


BLOCKS = 60
PATTERN = [("p", value, "a") for _ in range(BLOCKS // 2) for value in (LOW, LOW, HIGH, HIGH)]


@pytest.mark.slow
def test_blocks_by_order_of_rows(monkeypatch: pytest.MonkeyPatch):
    """Without its first row every pair of neighbouring rows is another one: all block means change, not one."""

    def ask(dp: Any) -> Any:
        how = {"blocks": BLOCKS, "aggregator": "median", "error_bar": False}
        return dp.groupby_mean_sa("g", "x", keys=["a"], bounds=BOUNDS, **how)

    sides = [drawer(table, ask) for table in Pair("first row removed", (PATTERN, PATTERN[1:])).frames()]
    draws = [lambda side=side: side.draw()[1] for side in sides]
    right = audit(*draws, 1000, 1, ALPHA)
    assert not right.violated, str(right)
    monkeypatch.setattr(blocks, "_random_blocks", lambda count, number, fill: np.arange(count) * number // count)
    broken = audit(*draws, 1000, 1, ALPHA)
    assert broken.violated, str(broken)


def test_twins_cover_every_method():
    assert {twin.name for twin in TWINS} == set(METHOD)

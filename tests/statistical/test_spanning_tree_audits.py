"""Audits of the cost of a spanning tree as a whole question, and of broken twins, which are caught.

Each audit accuses a right method with probability at most 1e-6. Four twins are all but certain to be caught: on their pair
an answer that is nearly certain on one side is rare on the other. Half the sensitivity is the narrow one: an answer
beyond the true one has probability 1/2 on one side and (1 + 2 alpha)**-4 / 2 on the other; its power is computed below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.auditor import audit, expected_bound
from support.neighbours import ADD_REMOVE, REPLACE_ONE, drawer

from pandas_dp.core.mechanisms.smooth import DRAWS, NEED_DELTA, admissible
from pandas_dp.core.samplers.smooth import POWER
from pandas_dp.core.statistics import spanning_tree
from pandas_dp.core.statistics.smooth import LOG_BITS
from pandas_dp.core.statistics.spanning_tree import Search

ALPHA, SAMPLES, FEW, DELTA = 1e-6, 4000, 1000, 1e-3
MANY, NARROW = 7000, 60_000
VERTICES, LONG = ["a", "b", "c", "d"], 8
Row = tuple[str, Any, Any, Any]  # unit, ends, weight


@dataclass(frozen=True)
class Pair:
    name: str
    rows: tuple[list[Row], list[Row]]
    relation: str
    max_rows: int | None = None
    vertices: int = 4

    def __str__(self) -> str:
        return self.name

    def drawers(self, noise: str | None = None, delta: float = 0) -> list[Any]:
        """What draws the answer on either side."""
        unit = {} if self.max_rows is None else {"unit": "u", "max_rows": self.max_rows}
        terms = {"neighbors": self.relation} | unit | ({"delta": 0.9} if delta else {})
        listed = VERTICES[: self.vertices]

        def ask(dp: Any) -> Any:
            return dp.mst_cost("x", "g", "w", vertices=listed, max_weight=LONG, noise=noise)

        return [drawer(frame(rows), ask, price_delta=delta, **terms) for rows in self.rows]


def frame(rows: list[Row]) -> pd.DataFrame:
    units, sources, targets, weights = ([row[i] for row in rows] for i in range(4))
    text = {name: pd.Series(cells, dtype="str") for name, cells in (("u", units), ("x", sources), ("g", targets))}
    return pd.DataFrame(text | {"w": np.array(weights, dtype="float64")})


def edge(ends: str, weight: float = 0, times: int = 1, unit: str = "p") -> list[Row]:
    return [(unit, ends[0], ends[1], weight)] * times


PATH = edge("ab") + edge("bc") + edge("cd")
RING = PATH + edge("da", 2)
STAR = edge("ab", unit="z") + edge("ac", unit="z") + edge("ad", unit="z")

ONE_JUMP = Pair("the last edge but one", (edge("ab", times=2), edge("ab")), ADD_REMOVE, vertices=2)
ONE_MOVES = Pair("the same, replaced", (edge("ab", times=2), edge("ab") + edge("ab", LONG)), REPLACE_ONE, vertices=2)
ALL_OR_NOTHING = Pair("no row, one row", ([], edge("ab")), ADD_REMOVE, vertices=2)
UNIT = Pair("a unit holds all together", ([], STAR), ADD_REMOVE, max_rows=3)
PAIRS = [
    ONE_JUMP,
    ALL_OR_NOTHING,
    UNIT,
    Pair("bridge", (PATH, PATH[:-1]), ADD_REMOVE),
    Pair("ring", (RING, RING[1:]), ADD_REMOVE),
    Pair("heavy unit", (RING, RING + edge("ac", 0, 30, "z") + STAR), ADD_REMOVE, max_rows=3),
    ONE_MOVES,
    Pair("bridge goes elsewhere", (PATH, PATH[:-1] + edge("ac")), REPLACE_ONE),
    Pair("row moves to a bridge", (PATH[:-1] + edge("ab"), PATH), REPLACE_ONE),
    Pair("row stops to count", (RING, RING[1:] + edge("aa")), REPLACE_ONE),
    Pair("weight goes missing", (PATH, PATH[:-1] + edge("cd", np.nan)), REPLACE_ONE),
    Pair("unit from here to there", (edge("ab") + STAR, edge("ab") + edge("ab", 8, 3, "z")), REPLACE_ONE, max_rows=3),
]


def accused(pair: Pair, samples: int = SAMPLES, noise: str | None = None) -> Any:
    delta = DELTA if noise in NEED_DELTA else 0
    sides = [lambda n, d=d: d.transcripts(n) for d in pair.drawers(noise, delta)]
    return audit(*sides, samples, claim=1, alpha=ALPHA, delta=delta, batch=True)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_pair(pair):
    result = accused(pair, FEW if pair.max_rows else SAMPLES)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [ONE_JUMP, ONE_MOVES], ids=str)
@pytest.mark.parametrize("noise", DRAWS)
def test_every_noise(noise, pair):
    result = accused(pair, FEW, noise)
    assert not result.violated, str(result)


Patch = Callable[[pytest.MonkeyPatch], None]


def changed_beta(factor: int) -> Patch:
    """Smoothness that is declared for one beta and computed with another; a large one leaves local sensitivity."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        original = Search.__init__
        patch.setattr(spanning_tree, "MOST_BETA", 10**3)
        patch.setattr(Search, "__init__", lambda self, *terms: original(self, *terms[:-1], terms[-1] * factor))

    return apply


def half(patch: pytest.MonkeyPatch) -> None:
    original = Search.smooth
    patch.setattr(Search, "smooth", lambda self: original(self) - round(math.log(2) * (1 << LOG_BITS)))


def one_row_a_unit(patch: pytest.MonkeyPatch) -> None:
    original = Search.__init__
    patch.setattr(Search, "__init__", lambda self, *terms: original(self, *terms[:3], 1, terms[-1]))


TWINS = {
    "local sensitivity": (changed_beta(10**4), ONE_JUMP, SAMPLES),
    "local sensitivity, replaced": (changed_beta(10**4), ONE_MOVES, SAMPLES),
    "forty times the beta": (changed_beta(40), ONE_JUMP, SAMPLES),
    "half the sensitivity": (half, ALL_OR_NOTHING, NARROW),
    "one row per unit": (one_row_a_unit, UNIT, MANY),
}


def test_power_against_half_the_sensitivity():
    """At its expected counts the twin's bound is above the claim by seven standard deviations."""
    alpha = float(admissible("polynomial_laplace", F(1), F(0))[0])
    rare = (1 + 2 * alpha) ** -POWER / 2
    spread = math.sqrt((1 / 0.5 - 1 + 1 / rare - 1) / (NARROW / 2))
    assert expected_bound(0.5, rare, NARROW, ALPHA) > 1 + 7 * spread


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_twin(name, monkeypatch):
    fault, pair, samples = TWINS[name]
    with monkeypatch.context() as patch:
        fault(patch)
        broken = accused(pair, samples)
    assert broken.violated, str(broken)

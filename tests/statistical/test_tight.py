"""50,000 samples a side, every night 100,000, on the pair that moves each answer most: no more than the epsilon of the call
is found, and hardly less, so neither is privacy given away nor accuracy.

A right method is accused with probability at most 1e-6 (`ALPHA`). Its bound must reach a share of the one that the best
event gets at its expected counts; the share lies at least five standard deviations of the bound below, so that chance
alone falls short of it with probability below 1e-6. Noise for half the epsilon falls short of it for certain, half the
noise is found for certain to give away more; both are shown.

Additive noise is tight on one coordinate: an event of probability 1/2 has exp(-1)/2 on the other side (`tight_bound`).
Where two coordinates share the price the best event has probability 1/4; twice the samples are drawn.
Permute-and-flip is tight between two keys. Two methods cannot be tight, and their best events say how far they get:

* An exponential mechanism has a normalising constant that moves too: P0(A) / P1(A) = exp(1) - (exp(1) - 1) P0(A) for
  the best choice of scores, which reaches exp(1) only for events that never happen.
* `groupby_mean_sa` pays for block values that move from bound to bound. A unit of many rows in a block with one other
  row comes close; a unit of one row moves no block by more than half the bounds. Sizes and sums share the price, and
  under replace_one those of two groups do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.auditor import audit, expected_bound, tight_bound
from support.neighbours import (
    ADD_REMOVE,
    BOUNDS,
    HIGH,
    LOW,
    METHOD,
    RELATIONS,
    REPLACE_ONE,
    Pair,
    added,
    drawer,
    replaced,
    several,
)

from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

ALPHA = 1e-6
SAMPLES, NIGHTLY = 50_000, 100_000
MEDIAN_SAMPLES = 40_000
REACHED = 0.9  # of the expected bound
SHARED = 0.8  # the same where several coordinates share the price: standard deviation 0.03
RARE = 0.7  # and for events of small probability: standard deviation 0.03

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Tight:
    """One question, the pair that moves its answer most, and the bound that must be reached there."""

    name: str
    relation: str
    pair: Pair
    ask: Callable[[Any], Any]
    twice: bool = False  # the samples: two coordinates share the price
    best: tuple[float, float] | None = None  # probabilities of the best event on both sides, where it is another one

    def least(self, samples: int) -> float:
        if self.best is not None:
            return SHARED * expected_bound(*self.best, samples, ALPHA)
        if self.twice and samples < 2 * NIGHTLY:
            return SHARED * expected_bound(1 / 4, math.exp(-1) / 4, samples, ALPHA)
        return REACHED * tight_bound(1, samples, ALPHA)

    def __str__(self) -> str:
        return f"{self.name}, {self.relation}"


def case(name: str, relation: str, pair: Pair, twice: bool = False) -> Tight:
    return Tight(name, relation, pair, METHOD[name].ask, twice)


def two_keys(dp: Any) -> Any:
    return dp.mode("g", keys=["a", "b"])


def mean_of_one_group(dp: Any) -> Any:
    return dp.groupby("g", keys=["a"])["x"].mean(bounds=BOUNDS)


def one_block(keys: list[str]) -> Callable[[Any], Any]:
    return lambda dp: dp.groupby_mean_sa("g", "x", keys=keys, bounds=BOUNDS, blocks=1, aggregator="mean")


ONE_HIGH = added("high", several(HIGH, 1), [])
ONE_LOW = added("low", several(LOW, 1), [])
LOW_TO_HIGH = replaced("low to high", several(LOW, 1), several(HIGH, 1), [])
HEAVY = [several(HIGH, 100, key, "z") for key in "ab"]
LIGHT = several(LOW, 1, "a", "p") + several(HIGH, 1, "b", "q")
HEAVY_MOVES = Pair("heavy unit", (LIGHT + HEAVY[0], LIGHT + several(LOW, 100, "b", "z")), max_rows=1)
BLOCK = 0.9 * 100 / 101  # nine tenths of the price, and a block value that moves by 100/101 of the bounds

CASES = [
    case("count", ADD_REMOVE, ONE_HIGH),
    case("count", REPLACE_ONE, replaced("five rows or none", HEAVY[0][:5], [], max_rows=5)),
    case("count column", ADD_REMOVE, ONE_HIGH),
    case("count column", REPLACE_ONE, replaced("becomes NaN", several(HIGH, 1), several(math.nan, 1), [])),
    case("sum", ADD_REMOVE, ONE_HIGH),
    case("sum", REPLACE_ONE, replaced("low to high", several(-HIGH, 1), several(HIGH, 1), [])),
    case("mean", ADD_REMOVE, ONE_LOW),
    case("mean", REPLACE_ONE, LOW_TO_HIGH, twice=True),
    case("var", ADD_REMOVE, ONE_LOW),
    case("var", REPLACE_ONE, LOW_TO_HIGH, twice=True),
    case("histogram bins", ADD_REMOVE, ONE_HIGH),
    case("histogram bins", REPLACE_ONE, LOW_TO_HIGH, twice=True),
    case("histogram keys", ADD_REMOVE, ONE_HIGH),
    case(
        "histogram keys",
        REPLACE_ONE,
        replaced("a to b", several(5, 1, "a"), several(5, 1, "b"), []),
        twice=True,
    ),
    Tight("groupby mean", ADD_REMOVE, ONE_LOW, mean_of_one_group),
    Tight("groupby mean", REPLACE_ONE, LOW_TO_HIGH, mean_of_one_group, twice=True),
    Tight("mode", ADD_REMOVE, added("a", several(5, 1, "a"), []), two_keys),
    Tight(
        "mode",
        REPLACE_ONE,
        replaced("a to b", several(5, 1, "a"), several(5, 1, "b"), several(5, 1, "b")),
        two_keys,
    ),
    Tight(
        "groupby_mean_sa",
        ADD_REMOVE,
        added("heavy unit", HEAVY[0], LIGHT, max_rows=1),
        one_block(["a"]),
        best=(1 / 4, math.exp(-0.1 - BLOCK) / 4),  # its size and its sum
    ),
    Tight(
        "groupby_mean_sa",
        REPLACE_ONE,
        HEAVY_MOVES,
        one_block(["a", "b"]),
        best=(1 / 4, math.exp(-BLOCK) / 4),  # the two sums alone
    ),
]


def audited(tight: Tight, samples: int) -> Any:
    sides = [drawer(table, tight.ask, **tight.pair.terms(tight.relation)) for table in tight.pair.frames()]
    return audit(*(side.transcripts for side in sides), samples, claim=1, alpha=ALPHA, batch=True)


@pytest.mark.parametrize("samples", [SAMPLES, pytest.param(NIGHTLY, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("tight", CASES, ids=str)
def test_tight(tight: Tight, samples: int):
    samples *= 1 + tight.twice
    result, least = audited(tight, samples), tight.least(samples)
    assert not result.violated, str(result)
    assert result.epsilon_lower >= least, f"{result}, to be reached: {least:.3f}"


@pytest.mark.parametrize("tight", [CASES[0], CASES[7]], ids=str)
@pytest.mark.parametrize("factor", [2, Fraction(1, 2)], ids=["half the noise", "twice the noise"])
def test_noise_for_another_epsilon_is_found(tight: Tight, factor: Fraction, monkeypatch: pytest.MonkeyPatch):
    """By a bound above the claim, or below the one to be reached."""
    right, samples = DiscreteLaplace.calibrate, SAMPLES * (1 + tight.twice)
    monkeypatch.setattr(DiscreteLaplace, "calibrate", lambda epsilon, moved: right(factor * epsilon, moved))
    result = audited(tight, samples)
    assert result.violated if factor == 2 else result.epsilon_lower < tight.least(samples), str(result)


POINTS = 21  # of the lattice 0, 0.5, ..., 10


def median_law(values: list[float], relation: str) -> np.ndarray:
    """Law on the lattice points by the definition: probability proportional to exp(rate score), shape (points,)."""
    offsets = 2 * np.array(values)
    points = np.arange(POINTS)
    below = (offsets[:, None] < points).sum(axis=0)
    up_to = (offsets[:, None] <= points).sum(axis=0)
    target = len(values) / 2
    distance = np.maximum(np.maximum(below - target, target - up_to), 0)
    rate = 1 if relation == ADD_REMOVE else 0.5  # epsilon / (2 times how far a score can move)
    weights = np.exp(-rate * distance)
    return weights / weights.sum()


def best_event(law0: np.ndarray, law1: np.ndarray, samples: int) -> float:
    """Largest bound expected of a set of points."""
    bounds = []
    for p, q in ((law0, law1), (law1, law0)):
        order = np.argsort(q / p)
        inside = zip(np.cumsum(p[order]), np.cumsum(q[order]), strict=True)
        bounds += [expected_bound(min(1, a), min(1, b), samples, ALPHA) for a, b in inside]
    return max(bounds)


MEDIANS = {ADD_REMOVE: ([1.5], [1.5, 10.0]), REPLACE_ONE: ([0.0, 1.0], [1.0, 10.0])}


@pytest.mark.parametrize("samples", [MEDIAN_SAMPLES, pytest.param(NIGHTLY, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("relation", RELATIONS)
def test_median_is_as_tight_as_its_law(relation: str, samples: int):
    columns = MEDIANS[relation]
    pair = Pair("a value moves to the end", tuple([("p", x, "a") for x in column] for column in columns))
    ask: Callable[[Any], Any] = lambda dp: dp.median("x", bounds=BOUNDS, step=0.5)  # noqa: E731
    sides = [drawer(table, ask, neighbors=relation) for table in pair.frames()]
    expected = best_event(*(median_law(list(column), relation) for column in columns), samples=samples)
    result = audit(*(side.transcripts for side in sides), samples, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)
    assert result.epsilon_lower >= RARE * expected, f"{result}, expected {expected:.3f}"

"""Several answers of one session together spend no more than the sum of their charges, also when a later question is
chosen by an earlier answer.

Answers are drawn one after the other from the operating system's entropy, as the gate draws them. Each
audit accuses a right session with probability at most 1e-6; the bounds of the broken twins lie five
standard deviations or more above the claim.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from support.auditor import audit
from support.drawing import Drawer
from support.neighbours import (
    ADD_REMOVE,
    BINS,
    BOUNDS,
    HIGH,
    KEYS,
    LOW,
    METHOD,
    MIXED,
    RELATIONS,
    Pair,
    added,
    drawer,
    frame,
    protected,
    replaced,
    session,
    several,
)

from pandas_dp.core import randomness

ALPHA = 1e-6
SAMPLES = 6000

pytestmark = pytest.mark.slow

ASKED: list[tuple[Any, Callable[[Any], Any]]] = [
    (0.2, lambda dp: dp.count("x")),
    (0.3, lambda dp: dp.sum("x", bounds=BOUNDS)),
    (0.5, lambda dp: dp.mean("x", bounds=BOUNDS)),
]
PAIRS = {
    "add_remove": added("high", several(HIGH, 1)),
    "replace_one": replaced("low to high", several(LOW, 1), several(HIGH, 1)),
}


def drawers(pair: Pair, relation: str, asked: list[tuple[Any, Callable[[Any], Any]]]) -> list[list[Drawer]]:
    """Of each side, one for each question."""
    return [[drawer(table, ask, epsilon, neighbors=relation) for epsilon, ask in asked] for table in pair.frames()]


def charged(side: list[Drawer]) -> float:
    """Sum of the charges."""
    return float(sum(one.request.loss.epsilon or 0 for one in side))


@pytest.mark.parametrize("relation", RELATIONS)
def test_count_sum_and_mean_of_one_session(relation: str):
    sides = drawers(PAIRS[relation], relation, ASKED)
    claim = charged(sides[0])
    assert claim == pytest.approx(1)
    draws = [lambda side=side: [one.draw()[1] for one in side] for side in sides]
    result = audit(*draws, SAMPLES, claim, ALPHA)
    assert not result.violated, str(result)


def test_the_answers_together_spend_more_than_the_largest_charge():
    """The twin that pays once for two answers."""
    sides = drawers(PAIRS[ADD_REMOVE], ADD_REMOVE, [(0.5, ask) for _, ask in ASKED[:2]])
    draws = [lambda side=side: [one.draw()[1] for one in side] for side in sides]
    result = audit(*draws, 4 * SAMPLES, claim=0.5, alpha=ALPHA)
    assert result.violated, str(result)


def test_one_seed_for_two_answers_is_caught(monkeypatch: pytest.MonkeyPatch):
    """The twin whose every question starts the same generator: differences of answers are free of noise."""
    asked: list[tuple[Any, Callable[[Any], Any]]] = [
        (0.5, lambda dp: dp.count()),
        (0.5, lambda dp: dp.count("x")),
    ]
    sides = drawers(added("NaN", several(float("nan"), 1)), ADD_REMOVE, asked)
    seeds = random.SystemRandom()
    generator = random.Random(0)
    monkeypatch.setattr(randomness.os, "urandom", lambda count: generator.randbytes(count))

    def draw(side: list[Drawer]) -> list[Any]:
        seed, answers = seeds.getrandbits(64), []
        for one in side:
            generator.seed(seed)
            answers += one.draw()[1]
        return answers

    result = audit(lambda: draw(sides[0]), lambda: draw(sides[1]), 500, charged(sides[0]), ALPHA)
    assert result.violated, str(result)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_question_that_depends_on_an_answer(relation: str):
    """Two counts decide between a histogram, and a sum whose bounds are taken from the first answer."""
    asked: list[tuple[Any, Callable[[Any], Any]]] = [
        (0.4, lambda dp: dp.count("x")),
        (0.6, lambda dp: dp.histogram("x", bins=BINS)),
        (0.6, lambda dp: dp.sum("x", bounds=(0, 1))),
        (0.6, lambda dp: dp.sum("x", bounds=BOUNDS)),
    ]
    sides = drawers(PAIRS[relation], relation, asked)
    claim = charged(sides[0][:2])

    def draw(side: list[Drawer]) -> list[Any]:
        first = side[0].draw()[1]
        chosen = 1 if first[0] > len(MIXED) else 2 if first[0] > 0 else 3
        return [first, chosen, side[chosen].draw()[1]]

    result = audit(lambda: draw(sides[0]), lambda: draw(sides[1]), SAMPLES, claim, ALPHA)
    assert not result.violated, str(result)


def test_public_calls_of_one_session_charge_the_sum():
    """The same three questions through the ledger: what is audited is what is paid."""
    table = protected(frame(MIXED), neighbors=ADD_REMOVE)
    before = session(neighbors=ADD_REMOVE).releases.shape[0]
    releases = [ask(table.dp(epsilon=epsilon, fresh=True)) for epsilon, ask in ASKED]
    assert sum(release.epsilon for release in releases) == pytest.approx(1)
    assert session(neighbors=ADD_REMOVE).releases.shape[0] == before + len(releases)


DELTA = 0.05  # large, so that few samples show that it is needed
GAUSSIAN = ["count column", "sum", "mean", "var", "histogram bins", "groupby mean"]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_noise_keeps_epsilon_and_delta(name: str, relation: str):
    sides = [
        drawer(table, METHOD[name].ask, price_delta=DELTA, neighbors=relation, delta=0.9)
        for table in PAIRS[relation].frames()
    ]
    result = audit(*(side.transcripts for side in sides), SAMPLES, 1, ALPHA, delta=DELTA, batch=True)
    assert not result.violated, str(result)
    if name == "mean":  # the delta is used: without it the claim is not kept
        pure = audit(*(side.transcripts for side in sides), 30 * SAMPLES, 1, ALPHA, batch=True)
        assert pure.violated, str(pure)


@pytest.mark.parametrize("relation", RELATIONS)
def test_mode_of_a_session_with_delta(relation: str):
    """The exponential mechanism in the place of permute-and-flip."""
    pairs = {
        "add_remove": added("c", several(HIGH, 1, "c")),
        "replace_one": replaced("a to c", several(LOW, 1), several(LOW, 1, "c")),
    }
    sides = [
        drawer(table, lambda dp: dp.mode("g", keys=KEYS), neighbors=relation, delta=0.9)
        for table in pairs[relation].frames()
    ]
    result = audit(*(side.transcripts for side in sides), SAMPLES, 1, ALPHA, batch=True)
    assert not result.violated, str(result)

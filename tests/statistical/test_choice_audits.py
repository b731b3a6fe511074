"""Audits of choices (top_k, best_price, select), and broken twins that are caught.

Each audit accuses a right method with probability at most 1e-6. A twin draws at twice the rate that it declares: on its
pair it spends 1.7 times its epsilon or more, and with its samples the bound is expected at 1.3 or more, five standard
deviations above the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.auditor import Result, audit
from support.neighbours import ADD_REMOVE, HIGH, KEYS, LOW, REPLACE_ONE, Pair, added, drawer, replaced, several

from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PermuteAndFlip

ALPHA, SAMPLES = 1e-6, 4000


def top_k(dp: Any) -> Any:
    return dp.top_k("g", 2, keys=KEYS)


def best_price(dp: Any) -> Any:
    return dp.best_price("x", prices=[1, 4, 5, HIGH])


def one_for_sale(dp: Any) -> Any:
    return dp.best_price("x", prices=[1, 4, 5, HIGH], supply=1)


def select(dp: Any) -> Any:
    return dp.select([LOW, HIGH], score="x == candidate")


def base_measure(dp: Any) -> Any:
    return dp.select([LOW, 5, HIGH], score="(x - candidate).abs()", cap=5, weights=[0.25, 0.5, 0.25])


def whole_table(dp: Any) -> Any:
    return dp.select([-1, 1], score=lambda d, c: c * (d["x"] > 5).sum(), sensitivity=1)


HEAVY = several(HIGH, 5, "c", "z")
CASES = [
    (ADD_REMOVE, added("empty, one row", several(HIGH, 1, "c"), [])),
    (ADD_REMOVE, added("one row more", several(HIGH, 1, "c"))),
    (REPLACE_ONE, replaced("low to high", several(LOW, 1, "a"), several(HIGH, 1, "c"), [])),
]
HEAVY_CASES = [
    (ADD_REMOVE, added("unit of many rows", HEAVY, [], max_rows=2)),
    (REPLACE_ONE, replaced("many rows", several(LOW, 5, "a", "z"), HEAVY, [], max_rows=2)),
]
QUESTIONS = [top_k, best_price, one_for_sale, select, base_measure, whole_table]
SAMPLED = [top_k, best_price, one_for_sale, select]  # one for each way in which rows are bounded


def audited(pair: Pair, relation: str, ask: Callable[[Any], Any], samples: int = SAMPLES) -> Result:
    sides = [drawer(table, ask, **pair.terms(relation)) for table in pair.frames()]
    return audit(*(side.transcripts for side in sides), samples, 1, ALPHA, batch=True)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("relation", "pair"), CASES, ids=str)
@pytest.mark.parametrize("ask", QUESTIONS)
def test_pair(ask, relation, pair):
    result = audited(pair, relation, ask)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "pair"), HEAVY_CASES, ids=str)
@pytest.mark.parametrize("ask", SAMPLED)
def test_units_of_many_rows(ask, relation, pair):
    result = audited(pair, relation, ask)
    assert not result.violated, str(result)


def twice_the_rate(patch: pytest.MonkeyPatch) -> None:
    """Draws as if half of the sensitivity were enough."""
    for family in (PermuteAndFlip, ExponentialMechanism):
        original = family.calibrate
        patch.setattr(
            family,
            "calibrate",
            lambda epsilon, sensitivity, *more, of=original, **named: of(2 * epsilon, sensitivity, *more, **named),
        )
        loss = family.loss
        patch.setattr(
            family, "loss", lambda self, sensitivity, of=loss: of(type(self)(self.rate / 2, self.picks), sensitivity)
        )


def two_prices(dp: Any) -> Any:
    return dp.best_price("x", prices=[0.1, HIGH])


def one_of_two(dp: Any) -> Any:
    return dp.best_price("x", prices=[0.1, HIGH], supply=1)


EMPTY = CASES[0]
TWINS = [
    (top_k, *EMPTY),
    (two_prices, *EMPTY),
    (one_of_two, *EMPTY),
    (select, *EMPTY),
    (select, *CASES[2]),
    (whole_table, *EMPTY),
]


@pytest.mark.slow
@pytest.mark.parametrize(("ask", "relation", "pair"), TWINS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_twin(ask, relation, pair, monkeypatch):
    with monkeypatch.context() as patch:
        twice_the_rate(patch)
        broken = audited(pair, relation, ask, 4 * SAMPLES)
    assert broken.violated, str(broken)


def test_a_word_on_the_sensitivity_that_is_not_true_is_caught():
    """Replacing a row moves this score by 2, not by 1 as the question says."""

    def lying(dp: Any) -> Any:
        return dp.select([-1, 1], score=lambda d, c: c * ((d["x"] > 5).sum() - (d["x"] <= 5).sum()), sensitivity=1)

    relation, pair = CASES[2]
    result = audited(pair, relation, lying, 2 * SAMPLES)
    assert result.violated, str(result)

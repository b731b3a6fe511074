"""Audits of noise on a user's own function, and broken twins that are caught.

Each audit accuses a right method with probability at most 1e-6. A twin draws with half of the noise that it declares: on its
pair it spends twice its epsilon, and a false word of twice as far is caught alike; with their samples the bound is expected
five standard deviations above the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.auditor import Result, audit
from support.neighbours import ADD_REMOVE, HIGH, LOW, REPLACE_ONE, Pair, added, drawer, replaced, several

from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

ALPHA, SAMPLES, DELTA = 1e-6, 4000, Fraction(1, 100)


def one(dp: Any) -> Any:
    return dp.release(lambda d: (d["x"] > 5).sum(), sensitivity=1)


def shares(dp: Any) -> Any:
    """Rounded up in every entry; a row moves the L1 norm by 1."""
    return dp.release(lambda d: [(d["x"] > 5).sum() / 4] * 4, sensitivity=1, names=list("abcd"))


def together(dp: Any) -> Any:
    return dp.release(lambda d: {n: (d["x"] > 5).sum() / 2 for n in "abcd"}, sensitivity=1, names=list("abcd"), norm=2)


def failing(dp: Any) -> Any:
    """Raises for some tables: what counts as 0 is within the word."""

    def function(d: Any) -> float:
        if (d["x"] > 5).any():
            raise ValueError(d["x"].max())
        return 0.25

    return dp.release(function, sensitivity=0.25)


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
QUESTIONS = [one, shares, together, failing]


def audited(pair: Pair, relation: str, ask: Callable[[Any], Any], samples: int = SAMPLES, delta: Any = 0) -> Result:
    terms = pair.terms(relation) | ({"delta": 0.5} if delta else {})
    sides = [drawer(table, ask, price_delta=delta, **terms) for table in pair.frames()]
    return audit(*(side.transcripts for side in sides), samples, 1, ALPHA, float(delta), batch=True)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("relation", "pair"), CASES, ids=str)
@pytest.mark.parametrize("delta", [0, DELTA], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("ask", QUESTIONS)
def test_pair(ask, delta, relation, pair):
    result = audited(pair, relation, ask, delta=delta)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "pair"), HEAVY_CASES, ids=str)
def test_units_of_many_rows(relation, pair):
    """The word is of all rows of a unit that count: two."""
    result = audited(pair, relation, lambda dp: dp.release(lambda d: (d["x"] > 5).sum(), sensitivity=2), 1000)
    assert not result.violated, str(result)


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    """Draws as if half of the sensitivity were enough, and declares all of it."""
    draws = {family: family.draw for family in (DiscreteLaplace, DiscreteGaussian)}
    less = {DiscreteLaplace: ("scale", 2), DiscreteGaussian: ("variance", 4)}
    for family, draw in draws.items():
        name, times = less[family]

        def drawn(self: Any, *args: Any, draw: Any = draw, name: str = name, times: int = times) -> Any:
            return draw(replace(self, **{name: getattr(self, name) / times}), *args)

        patch.setattr(family, "draw", drawn)


TWINS = [(one, *CASES[0], 0), (one, *CASES[2], 0), (shares, *CASES[0], 0), (together, *CASES[0], DELTA)]


@pytest.mark.slow
@pytest.mark.parametrize(("ask", "relation", "pair", "delta"), TWINS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_twin(ask, relation, pair, delta, monkeypatch):
    with monkeypatch.context() as patch:
        half_the_noise(patch)
        broken = audited(pair, relation, ask, 4 * SAMPLES, delta)
    assert broken.violated, str(broken)


@pytest.mark.parametrize(("relation", "pair"), [CASES[1], CASES[2]], ids=str)
def test_a_word_that_is_not_true_is_caught(relation, pair):
    """One row moves this by 2, not by 1 as the question says."""
    result = audited(
        pair, relation, lambda dp: dp.release(lambda d: 2 * (d["x"] > 5).sum(), sensitivity=1), 2 * SAMPLES
    )
    assert result.violated, str(result)

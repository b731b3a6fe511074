"""The auditor accuses mechanisms that are known to be broken and leaves right ones alone.

Each right mechanism is accused with probability at most 1e-6. Each broken one is caught with probability above
1 - 1e-6: its bound lies many standard deviations above the claim.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.auditor import Result, audit, expected_bound, observe, structure, tight_bound

RNG = np.random.default_rng()  # any seed: no test depends on it
ALPHA = 1e-6


def geometric(scale: float, size: Any = None) -> Any:
    """Discrete Laplace noise, good enough to test an auditor."""
    p = -math.expm1(-1 / scale)
    return RNG.geometric(p, size) - RNG.geometric(p, size)


def batch(mechanism: Callable[[int, int], Any], n: int, claim: float = 1, delta: float = 0) -> Result:
    """Audit mechanism(side, n)."""
    sides = [lambda n, side=side: mechanism(side, n) for side in (0, 1)]
    return audit(*sides, n, claim, ALPHA, delta, batch=True)


def histogram(scale: float) -> Callable[[int, int], Any]:
    """A row moves from the first part to the second."""
    return lambda side, n: np.array([3 - side, 3 + side, 5]) + geometric(scale, (n, 3))


def response(keep: float) -> Callable[[int, int], Any]:
    return lambda side, n: np.where(RNG.random(n) < keep, side, 1 - side)


def softmax(factor: float) -> Callable[[int, int], Any]:
    """Exponential mechanism on two scores that move by one in opposite directions."""

    def draw(side: int, n: int) -> Any:
        weights = np.exp(np.array([-1, 2] if side else [0, 1]) / factor)
        return RNG.choice(2, size=n, p=weights / weights.sum())

    return draw


def gaussian(sigma: float) -> Callable[[int, int], Any]:
    return lambda side, n: np.round(1000 * (side + RNG.normal(0, sigma, n)))


RIGHT = {
    "count": lambda side, n: side + geometric(1, n),
    "histogram": histogram(2),
    "randomized response": response(math.e / (1 + math.e)),
    "exponential mechanism": softmax(2),
    "noise on a grid": lambda side, n: (2**10 * side + geometric(2**10, n)) / 2**10,
    "nothing": lambda side, n: np.empty((n, 0)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanisms_pass(name: str):
    result = batch(RIGHT[name], 4000)
    assert not result.violated, str(result)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["count", "randomized response", "noise on a grid"])
def test_right_and_tight_mechanisms_get_what_is_expected(name: str):
    result = batch(RIGHT[name], 100_000)
    assert 0.9 * result.expected < result.epsilon_lower <= 1, str(result)
    assert result.expected == tight_bound(1, 100_000, ALPHA)


BROKEN = {
    "half the noise": lambda side, n: side + geometric(0.5, n),
    "histogram of sensitivity one": histogram(1),
    "randomized response": response(0.85),
    "exponential mechanism without the half": softmax(1),
    "Laplace noise in floats": lambda side, n: side + RNG.laplace(0, 1, n),
    "cut at the private size": lambda side, n: np.clip(4 + side + geometric(1, n), 0, 4 + side),
    "NaN passes through": lambda side, n: geometric(1, n) + (math.nan if side else 0.0),
    "infinity passes through": lambda side, n: geometric(1, n) + (math.inf if side else 0.0),
    "two answers for one charge": lambda side, n: side + geometric(1, (n, 2)),
    "one seed for two answers": lambda side, n: np.array([side, 0]) + geometric(2, (n, 1)),
    "noise scale from the data": lambda side, n: np.round(2**20 * RNG.laplace(0, 1 + 9 * side, n)),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", BROKEN)
def test_broken_mechanisms_are_caught(name: str):
    result = batch(BROKEN[name], 20_000)
    assert result.violated, str(result)


def test_a_fifth_of_the_noise_too_little_is_caught():
    result = batch(lambda side, n: side + geometric(0.8, n), 60_000)
    assert result.violated, str(result)


def test_delta():
    """Gaussian noise breaks every pure claim, and keeps one with the delta it was calibrated to."""
    sigma = 2.0  # of sensitivity 1: delta(1) = 0.0077...
    assert batch(gaussian(0.7), 40_000, claim=1).violated
    assert not batch(gaussian(sigma), 40_000, claim=1, delta=0.008).violated
    assert batch(gaussian(sigma / 3), 40_000, claim=1, delta=0.008).violated


def noisy_count(table: list[Any]) -> int:
    return len(table) + int(geometric(1))


def keys_from_the_data(table: list[Any]) -> Any:
    keys = sorted(set(table))
    return pd.Series([table.count(key) + geometric(1) for key in keys], index=keys)


def dtype_from_the_data(table: list[Any]) -> Any:
    return pd.Series([noisy_count(table)], dtype="float64" if "b" in table else "int64")


def warns(table: list[Any]) -> int:
    if "b" in table:
        warnings.warn("clipped", UserWarning, stacklevel=1)
    return noisy_count(table)


def prints(table: list[Any]) -> int:
    print("a" * len(table))
    return noisy_count(table)


def raises(table: list[Any]) -> int:
    if "b" in table:
        raise ValueError("cannot convert")
    return noisy_count(table)


def quotes(table: list[Any]) -> int:
    raise ValueError(f"{len(table)} rows")


def chains(table: list[Any]) -> int:
    try:
        {"a": 1}[table[-1]]
    except KeyError as error:
        raise ValueError("failed") from error
    raise ValueError("failed")


def error_from_the_data(table: list[Any]) -> Any:
    return {"value": noisy_count(table), "rows": len(table)}


ALL_SEEN = [
    keys_from_the_data,
    dtype_from_the_data,
    warns,
    prints,
    raises,
    quotes,
    chains,
    error_from_the_data,
    lambda table: pd.Series([noisy_count(table)], name=table[-1]),
    lambda table: pd.DataFrame({table[-1]: [noisy_count(table)]}),
    lambda table: np.float32(noisy_count(table)) if "b" in table else float(noisy_count(table)),
    lambda table: (noisy_count(table), 2**70 + len(table)),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("leak", ALL_SEEN)
def test_everything_a_caller_sees_is_part_of_the_output(leak: Callable[[list[Any]], Any]):
    tables = ["a", "a"], ["a", "a", "b"]
    result = audit(*(observe(lambda table=table: leak(table)) for table in tables), 250, claim=1, alpha=ALPHA)
    assert result.violated, str(result)


def test_a_right_call_passes_when_everything_is_seen():
    tables = ["a", "a"], ["a", "a", "b"]

    def right(table: list[Any]) -> Any:
        warnings.warn("public", UserWarning, stacklevel=1)
        return pd.Series([noisy_count(table)], index=["rows"])

    result = audit(*(observe(lambda table=table: right(table)) for table in tables), 250, claim=1, alpha=ALPHA)
    assert not result.violated, str(result)


def test_structure_is_what_is_no_number():
    assert structure((1, 2.5, "a")) == structure((7, 0.0, "a"))
    for other in [(1, 2, "a"), (1, 2.5, "b"), (1, math.nan, "a"), [1, 2.5, "a"], (1, 2.5), (True, 2.5, "a")]:
        assert structure((1, 2.5, "a")) != structure(other)


def test_bounds_are_those_of_clopper_and_pearson():
    """Against textbook values: all of 10 successes, 95 % two-sided, gives [0.6915, 1]; none gives [0, 0.3085]."""
    assert expected_bound(1, 0, 20, 0.05) == pytest.approx(math.log(0.6915 / 0.3085), abs=1e-3)
    assert expected_bound(1, 0, 20, 0.05, delta=0.2) == pytest.approx(math.log(0.4915 / 0.3085), abs=1e-3)
    assert expected_bound(1, 0, 20, 0.05, delta=0.5) == 0
    assert expected_bound(0.5, 0.5, 10**6, 0.05) == 0


def test_false_alarms_of_the_bound_are_as_rare_as_stated():
    """At alpha = 0.05 at most 1 in 20; with 300 audits more than 38 happen with probability below 1e-6."""
    alarms = 0
    for _ in range(300):
        sides = [lambda n, side=side: side + geometric(1, n) for side in (0, 1)]
        alarms += audit(*sides, 600, claim=1, alpha=0.05, batch=True).violated
    assert alarms <= 38


def test_numbers_that_are_always_the_same_disturb_nothing():
    """As the ends of intervals at the bounds, beside a value that is missing or not; warnings are errors here."""
    for constant in np.linspace(0.1, 60, 60):

        def mechanism(side, n, constant=constant):
            return np.column_stack([RNG.choice([np.nan, 0], n), np.full(n, constant)])

        assert not batch(mechanism, 150).violated

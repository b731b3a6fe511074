"""What an expression says of a row does not depend on the dtype that other rows gave its columns, nor on those rows."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support import storages
from support.storages import DTYPES, NUMPY, difference, frames, tree

from pandas_dp.steps import beyond, exact
from pandas_dp.steps.expression import OPERATIONS


def differences(seed: int, trees: int, depth: int) -> list[str]:
    """Of random expressions, each of a few of the dtypes."""
    choose, found = random.Random(seed), []
    for number in range(trees):
        if number % 25 == 0:
            numpy = choose.random() < 0.4
            held = frames("int64", "int64") if numpy else frames(choose.choice(DTYPES), choose.choice(DTYPES))
        expression = tree(choose, depth)
        found.append(difference(expression, choose.sample(held, min(len(held), 4))))
    return [line for line in found if line]


def test_random_expressions_say_the_same():
    assert differences(1, 120, 4) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 10))
def test_many_random_expressions_say_the_same(seed):
    assert differences(seed, 1500, 2 + seed % 5) == []


def test_rows_are_held_by_several_dtypes():
    held = frames("int64", "int64")
    assert {name[0] for name, *_ in held} == {*NUMPY}
    common = set.intersection(*(set(rows) for (*_, part), rows, _ in held if part == "all"))
    assert len(common) > 20
    assert all(frame.x.dtype == name[0] for name, _, frame in held)


@pytest.mark.parametrize("fault", ["written as it is", "any constant fits", "unsigned ones stay"])
def test_faults_are_found(monkeypatch, fault):
    """Results that stay integers, constants that one of the dtypes does not hold, and limits of signed ones alone."""
    if fault == "written as it is":
        monkeypatch.setattr(exact, "written", lambda found: found)
        monkeypatch.setattr(beyond, "written", lambda found, kept: found)
    elif fault == "any constant fits":
        monkeypatch.setattr(beyond, "fits_both", lambda number: True)
    else:
        clip = OPERATIONS["at_least"]
        monkeypatch.setitem(OPERATIONS, "at_least", lambda x, y: clip(x, y) if x.data.dtype != np.uint64 else x)
    monkeypatch.setattr(storages, "CONSTANTS", [-1, 3, 2**63 - 1, -(2**63) + 1, 2**53 + 1])
    assert differences(1, 100, 3) != []

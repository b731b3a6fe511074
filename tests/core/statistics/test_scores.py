"""Scores of candidates: exact totals, how far one unit moves them, and user functions that misbehave."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.coupling import first_of_each

from pandas_dp.core import bounding
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.scores import FARTHEST, FrameNumbers, FrameScores, RowScores
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentValueError
from pandas_dp.steps.parse import parse_expression

CANDIDATES = (1, 2, 3)
UNIT_STEP = Lattice(Fraction(1), 0, 4)


def expressions(text, columns=("u", "x"), candidates=CANDIDATES):
    return tuple(parse_expression(text, columns, constants={"candidate": c}) for c in candidates)


def frame(rows):
    """Rows of (unit, x); None is missing."""
    units, values = zip(*rows, strict=True) if rows else ((), ())
    return pd.DataFrame({"u": np.array(units, dtype=np.int64), "x": pd.Series(values, dtype="float64")})


def totals(statistic, rows, unit=None):
    return statistic.compute(PandasView(frame(rows), {}), unit or PrivacyUnit()).open()


def test_totals_are_exact_cut_and_blind_to_nulls():
    rows = [(0, x) for x in (1, 2, 2, None, 7, float("inf"), -float("inf"))]
    assert totals(RowScores(expressions("x >= candidate"), Lattice(Fraction(1), 0, 1)), rows) == [5, 4, 2]
    # 4 - |x - candidate| cut to 0..4; of infinities it is -inf
    assert totals(RowScores(expressions("4 - (x - candidate).abs()"), UNIT_STEP), rows) == [
        4 + 3 + 3,
        3 + 4 + 4,
        2 + 3 + 3,
    ]
    assert totals(RowScores(expressions("x * 1e300 * candidate"), UNIT_STEP), rows) == [20, 20, 20]
    assert totals(RowScores(expressions("x >= candidate"), UNIT_STEP), []) == [0, 0, 0]


def test_a_unit_keeps_the_same_rows_for_all_candidates():
    statistic = RowScores(expressions("x == candidate"), Lattice(Fraction(1), 0, 1))
    unit = PrivacyUnit("u", 1, 1, 1)
    seen = {tuple(totals(statistic, [(0, 1), (0, 2), (0, 3)], unit)) for _ in range(60)}
    assert seen == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}  # each misses with probability (2/3)^60 < 1e-10


ROWS = st.lists(st.one_of(st.none(), st.integers(0, 5), st.just(float("inf"))), max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    others=st.lists(ROWS, max_size=3),
    unit=ROWS,
    other=ROWS,
    text=st.sampled_from(["x >= candidate", "x == candidate", "x * candidate", "4 - (x - candidate).abs()"]),
    k=st.integers(1, 3),
    relation=st.sampled_from(list(NeighboringRelation)),
)
def test_no_unit_moves_more_than_it_says(others, unit, other, text, k, relation):
    statistic = RowScores(expressions(text), UNIT_STEP)
    privacy = PrivacyUnit("u", k, 1, k, relation)
    second = other if relation is NeighboringRelation.REPLACE_ONE else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding, "keep_at_most", first_of_each)
        exact = [
            totals(statistic, [(i, x) for i, rows in enumerate([*others, content]) for x in rows], privacy)
            for content in (unit, second)
        ]
    moved = [b - a for a, b in zip(*exact, strict=True)]
    s = statistic.sensitivity(privacy)
    assert max(moved) - min(moved) <= s.range
    assert max(map(abs, moved)) <= s.linf
    assert sum(map(abs, moved)) <= s.l1
    assert sum(d * d for d in moved) <= s.l2_squared


def test_the_range_is_attained_and_doubles_under_replace_one():
    statistic = RowScores(expressions("x == candidate"), Lattice(Fraction(1), 0, 1))
    moved = np.subtract(totals(statistic, [(0, 1)]), totals(statistic, [(0, 2)]))
    both = [statistic.sensitivity(PrivacyUnit(relation=relation)).score_range for relation in NeighboringRelation]
    assert both == [1, 2]
    assert np.ptp(moved) == 2


def whole(function, rows, unit=None, step=Fraction(1, 4), steps=4):
    return totals(FrameScores(function, CANDIDATES, step, steps), rows, unit)


class Lying(float):
    def as_integer_ratio(self):
        raise ValueError("secret42")


@pytest.mark.parametrize(
    ("result", "steps"),
    [
        (2, 8),
        (2.1, 8),
        (2.125, 9),
        (-2.125, -8),
        (np.float32(0.5), 2),
        (np.int8(3), 12),
        (10**17 + 1, 4 * (10**17 + 1)),
        (10**400, FARTHEST),
        (-1e300, -FARTHEST),
        (np.nan, 0),
        (np.inf, 0),
        (True, 0),
        ("7", 0),
        (None, 0),
        ([1], 0),
        (1j, 0),
        (pd.Series([1.0]), 0),
        (Lying(3), 0),
    ],
    ids=repr,
)
def test_results_of_a_function(result, steps):
    assert whole(lambda frame, candidate: result, [(0, 1)]) == [steps] * 3


def test_no_arithmetic_of_a_result_is_computed_by_its_own_class():
    """The guard around the function is left before the score is rounded: its code must not run there."""
    ran = []

    class Late(int):
        numerator = property(lambda self: self)
        denominator = 1

        def _itself(self, other):
            ran.append(other)
            return self

        __mul__ = __rmul__ = __add__ = __radd__ = __floordiv__ = _itself

    class Made(float):
        def as_integer_ratio(self):
            return Late(3), 1

    assert whole(lambda frame, candidate: Made(7), [(0, 1)]) == [12] * 3
    assert ran == []


def test_a_function_sees_a_copy_of_the_rows_that_count():
    seen = []

    def look(frame, candidate):
        seen.append((candidate, frame["x"].tolist(), frame.index.tolist()))
        frame["x"] = 99.0
        return len(frame)

    rows = [(0, 1), (0, 1), (1, 5)]
    assert whole(look, rows, PrivacyUnit("u", 1, 1, 1)) == [8, 8, 8]
    assert seen == [(c, [1.0, 5.0], [0, 1]) for c in CANDIDATES]


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError, RecursionError])
def test_a_function_that_raises_for_one_row(error):
    def raises(frame, candidate):
        if (frame["x"] == 2).any() and candidate == 2:
            raise error("secret42")
        return 1

    assert whole(raises, [(0, 1), (1, 2)]) == [4, 0, 4]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-5, 5), max_size=4), st.lists(st.floats(-5, 5), max_size=2))
def test_rounding_costs_at_most_one_step(base, more):
    """A score that adds up to sensitivity 1 for each of up to 2 rows more."""

    def score(frame, candidate):
        return float(np.clip(frame["x"] * candidate, -1, 1).sum())

    unit = PrivacyUnit("u", 2, 1, 2)
    statistic = FrameScores(score, CANDIDATES, Fraction(1, 1 << 20), 1 << 20)
    one = totals(statistic, [(i, x) for i, x in enumerate(base)], unit)
    two = totals(statistic, [*enumerate(base), *((9, x) for x in more)], unit)
    s = statistic.sensitivity(unit)
    assert max(abs(a - b) for a, b in zip(one, two, strict=True)) <= s.linf == 2 * (1 << 20) + 1
    assert s.score_range == 2 * s.linf


def test_units_under_replace_one_are_refused():
    statistic = FrameScores(lambda frame, candidate: 1, CANDIDATES, Fraction(1), 1)
    relation = NeighboringRelation.REPLACE_ONE
    assert statistic.sensitivity(PrivacyUnit(relation=relation)).linf == 2
    with pytest.raises(ArgumentValueError, match="score per row"):
        statistic.sensitivity(PrivacyUnit("u", 2, 1, 2, relation))


# --------------------------------------------------------------------------------------------- numbers of the whole table
def numbers_of(result, outputs=2, step=Fraction(1, 4)):
    return totals(FrameNumbers(lambda frame: result, step, 4, outputs), [(0, 1)], None)


@pytest.mark.parametrize(
    ("result", "steps"),
    [
        ((2, -2.125), [8, -8]),
        ((10**400, -1e300), [FARTHEST, -FARTHEST]),
        ((np.float32(0.5), np.int8(3)), [2, 12]),
        ((1, np.nan), [0, 0]),
        ((1, None), [0, 0]),
        ((1, True), [0, 0]),
        ((1, Lying(3)), [0, 0]),
        ((1,), [0, 0]),
        ((1, 2, 3), [0, 0]),
        ((), [0, 0]),
        ([1, 2], [0, 0]),
        (None, [0, 0]),
        (7, [0, 0]),
    ],
    ids=repr,
)
def test_several_results_of_a_function(result, steps):
    assert numbers_of(result) == steps


@pytest.mark.parametrize("error", [ValueError, SystemExit, MemoryError, RecursionError, KeyboardInterrupt])
def test_numbers_of_a_function_that_raises(error):
    def raises(frame):
        raise error("secret42")

    assert totals(FrameNumbers(raises, Fraction(1), 1, 3), [(0, 1)], None) == [0, 0, 0]


WORDS = [(d, norm, far) for d in (1, 2, 3, 5) for norm in (1, 2) for far in (1, 2, 7)]


@pytest.mark.parametrize(("outputs", "norm", "steps"), WORDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_rounded_numbers_move_by_no_more_than_is_stated(outputs, norm, steps, data):
    """Any two results as far apart as the word allows, also where each lies just beside the middle of two steps."""
    near = st.floats(-3, 3) | st.sampled_from([-0.5, 0.5, 1.5, np.nextafter(0.5, 0), np.nextafter(1.5, 0)])
    base, move = (np.array(data.draw(st.lists(near, min_size=outputs, max_size=outputs))) for _ in range(2))
    size = np.linalg.norm(move, norm)
    both = base, base + (move * (steps / size) if size > steps else move)
    exact = [abs(Fraction(y) - Fraction(x)) for x, y in zip(*both, strict=True)]
    assume(sum(exact) <= steps if norm == 1 else sum(x * x for x in exact) <= steps**2)
    moved = np.subtract(*(numbers_of(tuple(map(float, at)), outputs, Fraction(1)) for at in both))
    s = FrameNumbers(len, Fraction(1), steps, outputs, norm).sensitivity(PrivacyUnit())
    assert abs(moved).sum() <= s.l1
    assert (moved**2).sum() <= s.l2_squared
    assert abs(moved).max() <= s.linf == steps


@pytest.mark.parametrize(
    ("norm", "steps", "move"), [(1, 2, 0.5), (2, 1, 0.5), (2, 10, 5.0), (2, 11, 5.5), (1, 22, 5.5)], ids=str
)
def test_the_norms_of_four_numbers(norm, steps, move):
    """In each case the sum is more than the word, by rounding or as the word is about the other norm."""
    moved = np.subtract(numbers_of((move,) * 4, 4, Fraction(1)), numbers_of((0.0,) * 4, 4, Fraction(1)))
    s = FrameNumbers(len, Fraction(1), steps, 4, norm).sensitivity(PrivacyUnit())
    assert abs(moved).sum() > steps
    assert abs(moved).sum() <= s.l1
    assert (moved**2).sum() <= s.l2_squared


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_what_rounding_adds_is_attained(outputs):
    """Each number moves by a half of a step and crosses the middle of two steps: without the addition too little is paid.

    Far out in all entries the probabilities of what is released differ by exp(moved / scale), exactly.
    """
    statistic = FrameNumbers(len, Fraction(1), -(-outputs // 2), outputs)
    one, two = (numbers_of((x,) * outputs, outputs, Fraction(1)) for x in (0.0, 0.5))
    moved, s = sum(two) - sum(one), statistic.sensitivity(PrivacyUnit())
    epsilon = Fraction(1, 3)
    spent = moved / DiscreteLaplace.calibrate(epsilon, s).scale
    assert spent <= epsilon
    assert spent == epsilon if outputs != 5 else spent > epsilon / 2
    unpaid = replace(s, l1=statistic.steps)  # the twin
    assert (moved / DiscreteLaplace.calibrate(epsilon, unpaid).scale > epsilon) == (outputs > 1)


def test_the_sensitivity_of_numbers_is_of_one_unit_whatever_the_relation():
    statistic = FrameNumbers(len, Fraction(1), 3)
    units = [PrivacyUnit(*u, relation=r) for r in NeighboringRelation for u in ((), ("u", 4, 1, 4))]
    assert {statistic.sensitivity(unit).l1 for unit in units} == {3}


def test_numbers_are_of_the_rows_that_count():
    statistic = FrameNumbers(lambda frame: (len(frame), int(frame["x"].sum())), Fraction(1), 1, 2)
    assert totals(statistic, [(0, 1), (0, 1), (0, 1), (1, 5)], PrivacyUnit("u", 2, 1, 2)) == [3, 7]

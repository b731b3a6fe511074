"""Chances of keys: the bits that decide them and the ends that enclose them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.key_selection import (
    OptimalSelection,
    _power,
    _rising,
    switch,
)
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.samplers.scalar import exp_bounds
from pandas_dp.core.statistics.counts import KeyCounts


def test_a_first_word_that_decides_nothing_is_extended():
    """At a chance far below 2**-64 the first word of zeros may be below it or not: the bits after it say."""
    exact, selection = (
        Exact(([1], lambda places: [["a"]] * len(places))),
        OptimalSelection(Fraction(1), Fraction(1, 10**30)),
    )
    asked = []

    def zeros_then(rest: bytes):
        def fill(size: int) -> bytes:
            asked.append(size)
            return (b"\0" if len(asked) == 1 else rest) * size

        return fill

    assert selection.draw(exact, zeros_then(b"\0")) == [["a"]]
    asked.clear()
    assert selection.draw(exact, zeros_then(b"\xff")) == []


@pytest.mark.parametrize("delta", [Fraction(1, 10**4), Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 2), Fraction(4)])
def test_switch_is_where_the_second_limit_starts_to_bind(epsilon, delta):
    e, d = math.exp(epsilon), float(delta)
    chance, n = 0.0, 0
    while chance < (1 - d) / (e + 1):
        chance, n = e * chance + d, n + 1
    assert switch(epsilon, delta) == n


@pytest.mark.parametrize("n", [2, 3, 7])
def test_ends_of_rising_chances_enclose_them_at_any_precision(n):
    epsilon, delta = Fraction(1, 2), Fraction(1, 100)

    def ends(bits):
        return _rising(delta, *(_power(epsilon, times, bits) for times in (1, n, n - 1)))

    low, high = ends(500)
    for bits in range(6, 20):
        assert ends(bits)[0] <= low <= high <= ends(bits)[1]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(20)])
@pytest.mark.parametrize("bits", [8, 64])
def test_tail_bounds_are_never_below_the_tail(scale, bits):
    above, below = scale.as_integer_ratio()
    p = Fraction(exp_bounds(-below, above, 400)[1], 1 << 400)  # rounded up: below the tail is below it by far more
    for reach in range(6):
        power = Fraction(exp_bounds(-reach * below, above, 400)[0], 1 << 400)
        assert DiscreteLaplace(scale).lifting(reach, bits) >= power / (1 + p)


def test_the_optimal_selection_refuses_two_rows_a_key():
    selection = OptimalSelection(Fraction(1), Fraction(1, 100))
    two = KeyCounts("x").sensitivity(PrivacyUnit("uid", 2, 1, 2))
    with pytest.raises(TypeError, match="number of units"):
        selection.loss(two)

"""exp_bounds encloses exp, as evaluated by the standard library's decimal with far more digits."""

from __future__ import annotations

import random
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest

from pandas_dp.core.samplers.scalar import exp_bounds

WIDE = Context(prec=400, Emin=-(10**9), Emax=10**9, traps=[])


def scaled_exp(numerator: int, denominator: int, bits: int) -> tuple[Decimal, Decimal]:
    """2**bits * exp(numerator/denominator), too low and too high by 1e-390 of itself."""
    with localcontext(WIDE):
        value = (Decimal(numerator) / Decimal(denominator)).exp() * Decimal(2) ** bits
        return value * (1 - Decimal(10) ** -390), value * (1 + Decimal(10) ** -390)


def arguments(count: int) -> list[tuple[int, int, int]]:
    choose = random.Random(7)
    found = []
    for _ in range(count):
        denominator = choose.randrange(1, 10 ** choose.randrange(1, 40))
        numerator = choose.randrange(-90 * denominator, 60 * denominator)
        if choose.random() < 0.2:  # tiny arguments
            numerator, denominator = choose.choice([-3, -1, 1, 2]), denominator * 10**20
        found.append((numerator, denominator, choose.choice([0, 1, 16, 64, 80, 200, 1000])))
    return found


def test_encloses_and_is_narrow() -> None:
    for numerator, denominator, bits in arguments(800):
        low, high = exp_bounds(numerator, denominator, bits)
        least, most = scaled_exp(numerator, denominator, bits)
        assert low <= least, (numerator, denominator, bits)
        assert most <= high, (numerator, denominator, bits)
        assert high - low <= 3, (numerator, denominator, bits)


@pytest.mark.parametrize("error", [-4, 4])
def test_a_slipped_enclosure_is_noticed(error: int) -> None:
    slipped = 0
    for numerator, denominator, bits in arguments(20):
        low, high = exp_bounds(numerator, denominator, bits)
        least, most = scaled_exp(numerator, denominator, bits)
        slipped += not (low + error <= least and most <= high + error)
    assert slipped == 20


def test_more_bits_stay_within_fewer() -> None:
    for bits in range(0, 300, 7):
        low, high = exp_bounds(-355, 113, bits)
        inner_low, inner_high = exp_bounds(-355, 113, bits + 500)
        assert Fraction(low) <= Fraction(inner_low, 2**500) <= Fraction(inner_high, 2**500) <= Fraction(high)


@pytest.mark.parametrize("bits", [0, 1, 64, 1000])
def test_ends_of_the_range(bits: int) -> None:
    assert exp_bounds(0, 5, bits) == (1 << bits, 1 << bits)
    assert exp_bounds(-(10**30), 1, bits) == (0, 1)  # without a huge computation
    low, high = exp_bounds(-1, 10**80, bits)
    assert low < 1 << bits <= high or high - low <= 3

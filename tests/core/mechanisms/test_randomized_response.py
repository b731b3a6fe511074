"""Randomized response: the exact law, its privacy, the exactness of the draws."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.randomized_response import WORD, RandomizedResponse, uniform_parts
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.randomness import random_bytes
from pandas_dp.core.samplers.enclosure import exp_bounds
from pandas_dp.core.statistics.codes import Codes
from pandas_dp.errors import ArgumentValueError

EPSILONS = [
    Fraction(1, 10**9),
    Fraction(1, 100),
    Fraction(1, 2),
    Fraction(1),
    Fraction(7, 3),
    Fraction(10),
    Fraction(50),
]


def law(mechanism: RandomizedResponse, code: int) -> list[Fraction]:
    """Exact probabilities of all outputs for one entry."""
    kept = Fraction(mechanism.keep, WORD) if code >= 0 else Fraction(0)
    return [(1 - kept) / mechanism.parts + kept * (part == code) for part in range(mechanism.parts)]


@pytest.mark.parametrize("parts", [2, 3, 5, 1000])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_ratio_is_above_the_claim_and_nearly_all_of_it_is_used(parts, epsilon):
    mechanism = RandomizedResponse.calibrate(epsilon, parts)
    laws = [law(mechanism, code) for code in (-1, 0, 1)]
    largest = max(a / b for one, two in product(laws, laws) for a, b in zip(one[:3], two[:3], strict=True))
    least_claim = Fraction(exp_bounds(epsilon.numerator, epsilon.denominator, 200)[0], 1 << 200)
    assert largest <= least_claim
    assert mechanism.epsilon <= epsilon
    if 10**-3 < epsilon < 40:  # below and above, a probability of 64 bits is too coarse for it
        assert mechanism.epsilon > epsilon * Fraction(999_999, 1_000_000)


@pytest.mark.parametrize("parts", [2, 3])
def test_loss_of_all_small_tables(parts):
    """All tables of up to three rows over all keys and one value that is no key; one row replaced."""
    mechanism = RandomizedResponse.calibrate(Fraction(1), parts)
    claim, reached = Fraction(exp_bounds(1, 1, 200)[0], 1 << 200), Fraction(0)
    laws = {code: law(mechanism, code) for code in range(-1, parts)}
    for n in (1, 2, 3):
        for rows in product(range(-1, parts), repeat=n):
            for other in range(-1, parts):
                pair = (rows, (other, *rows[1:]))
                for output in product(range(parts), repeat=n):
                    one, two = (math.prod(laws[c][o] for c, o in zip(t, output, strict=True)) for t in pair)
                    assert one <= claim * two
                    reached = max(reached, one / two)
    assert reached > claim * Fraction(999_999, 1_000_000)


def test_twice_alpha_is_no_bound():
    """A frequent claim is that the loss is about 2 alpha: it lies below the exact one."""
    for alpha, exact in ((0.5, 1.0986), (0.9, 2.9444)):
        loss = float(RandomizedResponse(2, int(alpha * WORD)).epsilon)
        assert loss == pytest.approx(math.log((1 + alpha) / (1 - alpha)), abs=1e-12)
        assert loss == pytest.approx(exact, abs=1e-4)
        assert loss > 2 * alpha


def test_replaced_entries_are_uniform_without_the_last_words():
    words = iter([WORD - 1, WORD - 1, 4, 5])  # 2**64 - 1 is beyond the last multiple of 3... it is 3 * 0x5555...: kept
    assert WORD % 3 == 1
    drawn = uniform_parts(2, 3, lambda count: b"".join(next(words).to_bytes(8, "little") for _ in range(count // 8)))
    assert drawn.tolist() == [4 % 3, 5 % 3]


DRAWS = 1_000_000
ENTRIES = np.arange(DRAWS) % 4 - 1  # -1, 0, 1, 2


def p_value(mechanism: RandomizedResponse, claimed: RandomizedResponse) -> float:
    """Smallest p-value over the four kinds of entries."""
    out = np.array(mechanism.draw(Exact(ENTRIES)))
    counts = [np.bincount(out[code == ENTRIES], minlength=3) for code in range(-1, 3)]
    expected = [[float(p) * DRAWS / 4 for p in law(claimed, code)] for code in range(-1, 3)]
    return min(float(chisquare(c, e).pvalue) for c, e in zip(counts, expected, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_draws_have_the_exact_law(epsilon):
    """False alarm 4e-6 / 4 a kind of entry. Keeping one in fifty too often is seen (next test)."""
    mechanism = RandomizedResponse.calibrate(epsilon, 3)
    assert p_value(mechanism, mechanism) > 2.5e-7


@pytest.mark.slow
def test_keeping_a_little_too_often_is_seen():
    mechanism = RandomizedResponse.calibrate(Fraction(1), 3)
    assert p_value(RandomizedResponse(3, mechanism.keep + mechanism.keep // 50), mechanism) < 2.5e-7


def test_codes_are_refused_where_the_number_of_rows_is_private():
    codes = Codes(Keys("x", ("a", "b")))
    replace_one = NeighboringRelation.REPLACE_ONE
    assert codes.sensitivity(PrivacyUnit(relation=replace_one)).touched == 1
    for unit in (PrivacyUnit(), PrivacyUnit("u", 1, 1, 1, replace_one)):
        with pytest.raises(ArgumentValueError):
            codes.sensitivity(unit)


def test_large_codes_stay_in_range():
    out = RandomizedResponse.calibrate(Fraction(1), 1000).draw(Exact(np.full(5000, -1)), random_bytes)
    assert 0 <= min(out) < 50
    assert 950 < max(out) < 1000

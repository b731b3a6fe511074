"""Randomized response: the exact law, its privacy, the exactness of the draws."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.randomized_response import WORD, RandomizedResponse, happens, uniform_parts
from pandas_dp.core.randomness import random_bytes
from pandas_dp.core.samplers.scalar import exp_bounds

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


def words(*parts: tuple[list[int], int]):
    """A source that hands out given words, each a list of numbers and their bytes."""
    given = iter(parts)

    def fill(count: int) -> bytes:
        numbers, size = next(given)
        assert count == len(numbers) * size
        return b"".join(number.to_bytes(size, "little") for number in numbers)

    return fill


@pytest.mark.parametrize("threshold", [0, 1, (5 << 48) + 7, 9 << 48, WORD - 1])
def test_events_compare_one_word_of_64_bits_with_the_threshold(threshold):
    """All leading bits at once; those that tie get a tail just below, at and above the threshold's."""
    first, rest = threshold >> 48, threshold & (2**48 - 1)
    for tail in {max(rest - 1, 0), rest, min(rest + 1, 2**48 - 1)}:
        source = words((list(range(1 << 16)), 2), ([tail << 16 | 0xFFFF], 8))  # the last 16 bits are not used
        expected = [(lead << 48) + tail < threshold if lead == first else lead < first for lead in range(1 << 16)]
        assert happens(threshold, 1 << 16, source).tolist() == expected


def test_replaced_entries_are_uniform_without_the_last_words():
    """2**32 - 1 is the last multiple of 3: as a word it is drawn again, the one before is not."""
    assert (2**32 - 1) % 3 == 0
    source = words(([2**32 - 1, 4, 2**32 - 1, 2**32 - 2], 4), ([2**32 - 1, 5], 4), ([3], 4))
    assert uniform_parts(4, 3, source).tolist() == [0, 1, 2, 2]
    assert uniform_parts(3, 4, words(([2**32 - 1, 4, 1], 4))).tolist() == [3, 0, 1]


def test_random_words_do_not_depend_on_the_entries():
    """Neither how many nor which: a missing answer cannot be told by what was drawn for it."""
    mechanism = RandomizedResponse.calibrate(Fraction(1), 3)
    asked: list[list[int]] = []
    for entries in ([-1] * 50, [0] * 50, [2] * 50):
        asked.append([])

        def fill(count: int, log: list[int] = asked[-1]) -> bytes:
            log.append(count)
            return bytes(range(7, 7 + count)) if count <= 100 else bytes(count)

        mechanism.draw(Exact(np.array(entries)), fill)
    assert asked[0] == asked[1] == asked[2]


def test_large_codes_stay_in_range():
    out = RandomizedResponse.calibrate(Fraction(1), 1000).draw(Exact(np.full(5000, -1)), random_bytes)
    assert 0 <= min(out) < 50
    assert 950 < max(out) < 1000


def test_answers_come_sorted():
    """Of any order of the entries: the draw speaks of a bag of rows."""
    mechanism = RandomizedResponse.calibrate(Fraction(50), 3)
    for entries in ([2, 0, 1, 0], [0, 0, 1, 2], [1, 2, 0, 0]):
        assert mechanism.draw(Exact(np.array(entries))) == [0, 0, 1, 2]


def test_no_rows():
    assert RandomizedResponse.calibrate(Fraction(1), 2).draw(Exact(np.zeros(0, dtype=np.intp))) == []


DRAWS = 1_000_000
ENTRIES = np.arange(DRAWS) % 4 - 1  # -1, 0, 1, 2
LEVEL = 2.5e-7  # of each of the four kinds of entries: false alarm 1e-6 in all


def p_value(drawn: np.ndarray, claimed: RandomizedResponse) -> float:
    """Smallest p-value over the four kinds of entries."""
    counts = [np.bincount(drawn[code == ENTRIES], minlength=3) for code in range(-1, 3)]
    expected = [[float(p) * DRAWS / 4 for p in law(claimed, code)] for code in range(-1, 3)]
    return min(float(chisquare(c, e).pvalue) for c, e in zip(counts, expected, strict=True))


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_draws_have_the_exact_law(epsilon):
    """False alarm 1e-6. The twins below are missed with probability below 1e-9: they are off by 12 deviations."""
    mechanism = RandomizedResponse.calibrate(epsilon, 3)
    assert p_value(mechanism.answers(ENTRIES, random_bytes), mechanism) > LEVEL


def test_twins_of_another_law_are_seen():
    """One keeps one answer in twenty too often, one replaces by another key only, one never replaces what is missing."""
    mechanism = RandomizedResponse.calibrate(Fraction(1), 3)
    often = RandomizedResponse(3, mechanism.keep + mechanism.keep // 20).answers(ENTRIES, random_bytes)
    kept = happens(mechanism.keep, DRAWS, random_bytes)
    another = (ENTRIES + 1 + uniform_parts(DRAWS, 2, random_bytes)) % 3
    missing = np.where(ENTRIES < 0, 0, mechanism.answers(ENTRIES, random_bytes))
    for twin in (often, np.where(kept & (ENTRIES >= 0), ENTRIES, another), missing):
        assert p_value(twin, mechanism) < LEVEL

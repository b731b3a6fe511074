"""Permute-and-flip and the exponential mechanism follow their laws, for any number of candidates and rate.

Every test of a law rejects a right sampler with probability below 1e-6; the broken twins below are refused with p <
1e-8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F

import numpy as np
import pytest

from pandas_dp.core.randomness import Bits, random_bytes
from pandas_dp.core.samplers import scalar, selection
from pandas_dp.core.samplers.selection import exponential_mechanism, permute_and_flip
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

from .laws import (
    FALSE_ALARM,
    chi_squared,
    exact_exp,
    exponential_mechanism_law,
    permute_and_flip_law,
    seeded,
)

SCORES = [3, 0, 7, 7, 5, -20]
FAR = [0, -3000, -10_000, -20_000, -1]
EXTREME = [-(2**63), 2**63 - 1, 0, 2**62]
TINY = F(1, 2**63)
OFTEN = 60_000  # draws that refuse a rate five percent off, as shown below

Choose = Callable[[], int]


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def repeat(choose: Choose, times: int) -> np.ndarray:
    return np.fromiter((choose() for _ in range(times)), dtype=np.int64, count=times)


def short_words(width: int) -> Bits:
    return Bits(seeded(width), width=width, size=1024)


def flip_few(scores: list[int], rate: F, width: int) -> Choose:
    bits = short_words(width)
    return lambda: selection._flip_few(scores, rate.numerator, rate.denominator, bits)


def flip_many(scores: list[int], rate: F) -> Choose:
    """The vector form, whatever the number of candidates."""
    array, fill = ints(scores), seeded(3)
    return lambda: selection._flip_many(array, rate.numerator, rate.denominator, fill)


def grouped(scores: list[int], rate: F, counts: list[int] | None, width: int) -> Choose:
    """The exponential mechanism on short words."""
    array, counted, bits = ints(scores), None if counts is None else ints(counts), short_words(width)
    best = max(s for i, s in enumerate(scores) if counts is None or counts[i])
    bounds = selection._Bounds(array, best, rate.numerator, rate.denominator, counted)
    return lambda: selection._reject(bounds, array, best, rate.numerator, rate.denominator, counted, bits)


# ------------------------------------------------------------------------------------------- permute-and-flip
CASES = [
    (SCORES, F(2, 5)),
    (SCORES, F(1, 10**9)),
    (SCORES, F(1000)),
    (FAR, F(1, 5000)),
    (EXTREME, TINY),
    (EXTREME, F(1, 10**30)),
    ([0], F(1)),
    ([10**9 * s for s in SCORES], F(10**60 + 7, 10**69 * 3)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("scores", "rate"), CASES)
def test_permute_and_flip(scores: list[int], rate: F) -> None:
    law = permute_and_flip_law(scores, rate)
    assert chi_squared(repeat(flip_few(scores, rate, 1), 10_000), law) > FALSE_ALARM
    assert chi_squared(repeat(flip_many(scores, rate), 10_000), law) > FALSE_ALARM


@pytest.mark.slow
def test_permute_and_flip_with_the_bytes_of_the_system() -> None:
    scores, law = ints(SCORES), permute_and_flip_law(SCORES, F(2, 5))
    assert chi_squared(repeat(lambda: permute_and_flip(scores, F(2, 5)), OFTEN), law) > FALSE_ALARM


def test_permute_and_flip_quickly() -> None:
    law = permute_and_flip_law(SCORES, F(2, 5))
    assert chi_squared(repeat(flip_few(SCORES, F(2, 5), 1), 10_000), law) > FALSE_ALARM
    assert chi_squared(repeat(flip_many(SCORES, F(2, 5)), 10_000), law) > FALSE_ALARM


@pytest.mark.parametrize("twin", [False, True])
def test_the_second_coin_of_a_distance_decides(twin: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a table of four coins the low part of a distance, below 8, has weights down to exp(-14/5); without it refused."""
    monkeypatch.setattr(selection, "COINS", 4)
    selection._coins.cache_clear()
    try:
        if twin:
            monkeypatch.setattr(selection, "draw_bernoulli_exp", lambda *low: True)
        choose = flip_many(SCORES, F(2, 5))
        p = chi_squared(repeat(choose, 10_000), permute_and_flip_law(SCORES, F(2, 5)))
    finally:
        selection._coins.cache_clear()
    assert p < FALSE_ALARM if twin else p > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1, 40, 100_003])
def test_one_best_among_many_of_rare_weight(distance: int) -> None:
    """The 16 bits looked at first cannot tell p = exp(-11.8) from 0: the exact path must.

    For m others of weight p, P(best) = (1 - (1 - p)**(m + 1)) / ((m + 1) p).
    """
    others, rate = 40_000, F(59, 5) / distance
    scores = np.full(others + 1, -distance, dtype=np.int64)
    scores[777] = 0
    p = math.exp(-11.8)
    best = -math.expm1((others + 1) * math.log1p(-p)) / ((others + 1) * p)
    chosen = repeat(lambda: permute_and_flip(scores, rate), 2000)
    assert chi_squared(chosen == 777, {1: best, 0: 1 - best}) > FALSE_ALARM
    assert best < 0.87  # without the rare ones it would be 1: refused for sure


@pytest.mark.slow
def test_many_candidates_of_all_distances() -> None:
    """Scores falling by 1: the law of the 40 best, as the others have weight below exp(-13)."""
    scores = -np.arange(20_000)[::-1].astype(np.int64)
    law = permute_and_flip_law([-k for k in range(40)], F(1, 3))
    chosen = 19_999 - repeat(lambda: permute_and_flip(scores, F(1, 3)), 3000)
    assert chi_squared(chosen, law) > FALSE_ALARM


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", [1, 2, selection.FEW - 1, selection.FEW, selection.CHUNK + 1])
@pytest.mark.parametrize("choose", [permute_and_flip, exponential_mechanism])
def test_huge_rates_choose_the_best_and_equal_scores_are_fair(n: int, choose: Callable[..., int]) -> None:
    scores = np.zeros(n, dtype=np.int64)
    scores[n // 2] = 1
    assert {choose(scores, F(1000)) for _ in range(20)} == {n // 2}
    scores[:] = -(2**63)
    chosen = repeat(lambda: choose(scores, F(1000)) * 5 // n, 1000)
    law = {k: len([i for i in range(n) if i * 5 // n == k]) / n for k in range(5)}
    assert chi_squared(chosen, law) > FALSE_ALARM


# -------------------------------------------------------------------------------------- exponential mechanism
GROUPS = [
    (SCORES, F(2, 5), None),
    (SCORES, F(2, 5), [1, 5, 0, 2, 17, 10**9]),
    (SCORES, F(1, 10**9), [3, 1, 4, 1, 5, 0]),
    (SCORES, F(1000), [1, 1, 1, 3, 2**62, 2**63 - 1]),
    (FAR, F(1, 5000), None),
    ([0, -29, -20, -1, -28, -44, 50], F(1), [1, 2**40, 3 * 2**30, 17, 10**12 + 1, 2**62 + 1, 0]),
    ([1000, 0, -1], F(10), [0, 3, 40_000]),  # the best group present is far below one without candidates
    (EXTREME, TINY, None),
    (EXTREME, TINY, [3, 0, 2, 1]),
    (EXTREME, F(1, 10**30), [3, 0, 2, 1]),
    ([0, -(10**15)], F(1, 10**15), [1, 2]),
    ([0, -(2**49)], F(3, 2**50), [2**53 - 1, 2**53 + 1]),
    ([10**9 * s for s in SCORES], F(10**60 + 7, 10**69 * 3), None),
]


@pytest.mark.slow
@pytest.mark.parametrize(("scores", "rate", "counts"), GROUPS)
def test_exponential_mechanism(scores: list[int], rate: F, counts: list[int] | None) -> None:
    law = exponential_mechanism_law(scores, rate, counts)
    for width in (1, 64):
        assert chi_squared(repeat(grouped(scores, rate, counts, width), 4000), law) > FALSE_ALARM


@pytest.mark.slow
def test_exponential_mechanism_with_the_bytes_of_the_system() -> None:
    scores, law = ints(SCORES), exponential_mechanism_law(SCORES, F(2, 5))
    assert chi_squared(repeat(lambda: exponential_mechanism(scores, F(2, 5)), 20_000), law) > FALSE_ALARM
    counts = [1, 5, 0, 2, 17, 10**9]
    law = exponential_mechanism_law(SCORES, F(2, 5), counts)
    assert chi_squared(repeat(grouped(SCORES, F(2, 5), counts, 64), OFTEN), law) > FALSE_ALARM


def test_exponential_mechanism_quickly() -> None:
    for scores, rate, counts in GROUPS:
        law = exponential_mechanism_law(scores, rate, counts)
        assert chi_squared(repeat(grouped(scores, rate, counts, 2), 1000), law) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("denominator", [3, 3000])
def test_exponential_mechanism_over_many_chunks(denominator: int) -> None:
    """Scores falling by 1: the geometric law in eighths of 1/rate; empty groups in between change nothing."""
    distance = np.arange(80_000, dtype=np.int64) // 2
    counts = np.tile(np.array([0, 3], dtype=np.int64), 40_000)
    q = math.exp(-1 / denominator)
    edges = [-(-denominator * c // 8) for c in range(60)]
    law = {c: q ** edges[c] - q ** edges[c + 1] for c in range(59)}
    for given in (None, counts):
        draws = repeat(lambda g=given: exponential_mechanism(-distance, F(1, denominator), g), 1500)
        if given is not None:
            assert (draws % 2 == 1).all()
        assert chi_squared(distance[draws] * 8 // denominator, law) > FALSE_ALARM


def test_no_rate_makes_it_slow() -> None:
    """Proposals are accepted as often for every rate: 20 draws need few words of entropy."""
    scores, counts = ints([5, 4, 0, -(10**18)] * 50), ints([0, 1, 2**40, 2**62] * 50)
    for exponent in range(-40, 4):
        used = 0

        def counting(count: int) -> bytes:
            nonlocal used
            used += count
            return random_bytes(count)

        for _ in range(20):
            exponential_mechanism(scores, F(10) ** exponent, counts, fill=counting)
        assert used <= 20 * 8 * 64


# ----------------------------------------------------------------------------------------------- broken twins
def test_permute_and_flip_with_replacement_is_refused() -> None:
    """A rejected candidate that stays in the pool: this is the exponential mechanism."""
    bits, best, rate = short_words(64), max(SCORES), F(2, 5)

    def choose() -> int:
        while True:
            i = scalar.draw_below(len(SCORES), bits)
            if scalar.draw_bernoulli_exp((best - SCORES[i]) * rate.numerator, rate.denominator, bits):
                return i

    assert chi_squared(repeat(choose, 30_000), permute_and_flip_law(SCORES, rate)) < FALSE_ALARM


def test_permute_and_flip_without_the_permutation_is_refused() -> None:
    bits, best = short_words(64), max(SCORES)

    def choose() -> int:
        return next(i for i, s in enumerate(SCORES) if scalar.draw_bernoulli_exp((best - s) * 2, 5, bits))

    assert chi_squared(repeat(choose, 10_000), permute_and_flip_law(SCORES, F(2, 5))) < FALSE_ALARM


@pytest.mark.slow
def test_a_rate_five_percent_too_high_is_refused() -> None:
    law = permute_and_flip_law(SCORES, F(2, 5))
    assert chi_squared(repeat(flip_few(SCORES, F(42, 100), 64), OFTEN), law) < FALSE_ALARM
    law = exponential_mechanism_law(SCORES, F(2, 5))
    assert chi_squared(repeat(grouped(SCORES, F(42, 100), None, 64), OFTEN), law) < FALSE_ALARM


def test_accepting_every_proposal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "_accept", lambda *arguments: True)
    law = exponential_mechanism_law(SCORES, F(2, 5))
    assert chi_squared(repeat(grouped(SCORES, F(2, 5), None, 64), 10_000), law) < FALSE_ALARM


# -------------------------------------------------------------------------------------------------- the parts
def test_coins_and_levels_are_bounds() -> None:
    for rate in (F(1000), F(13), F(12), F(1), F(1, 7), F(1, 300), F(1, 10**9), F(1, 10**25)):
        h, table = selection._coins(rate.numerator, rate.denominator)
        for k in {0, 1, 2, table.size // 2, table.size - 2, table.size - 1}:
            coin = exact_exp(-k * 2**h * rate) * 2**16
            assert table[k] <= coin < int(table[k]) + 2 or (k == table.size - 1 and h == 63)
        shift, reach, slope, bits = selection._slope(rate.numerator, rate.denominator)
        assert reach * slope < 2**62
        for distance in (0, 1, 2, 5, 1000, 10**12, 2**62, 2**64 - 1):
            level = min(distance >> shift, reach) * slope >> bits
            assert exact_exp(-distance * rate) <= F(1, 2**level)


def test_the_law_agrees_with_all_orders() -> None:
    """The closed form of permute-and-flip against the sum over all outcomes of the coins."""
    scores, rate = [2, 0, 1, 2], F(1, 2)
    keep = [exact_exp((s - max(scores)) * rate) for s in scores]
    law = dict.fromkeys(range(4), F(0))
    for outcome in range(1, 16):
        heads = [i for i in range(4) if outcome >> i & 1]
        p = math.prod(keep[i] if i in heads else 1 - keep[i] for i in range(4))
        for i in heads:
            law[i] += p / len(heads)
    closed = permute_and_flip_law(scores, rate)
    assert all(abs(closed[i] - float(law[i])) < 1e-15 for i in range(4))


# -------------------------------------------------------------------------------------------------- arguments
@pytest.mark.parametrize("choose", [permute_and_flip, exponential_mechanism])
def test_arguments_that_cannot_be_used(choose: Callable[..., int]) -> None:
    for scores in (np.array([1.0, 2.0]), np.array([1, 2], dtype=np.int32), np.array([[1, 2]])):
        with pytest.raises(ArgumentTypeError, match="int64"):
            choose(scores, F(1))
    with pytest.raises(ArgumentValueError, match="empty"):
        choose(ints([]), F(1))
    with pytest.raises(ArgumentTypeError, match="Fraction"):
        choose(ints([1]), 0.5)
    for rate in (F(0), F(-1)):
        with pytest.raises(ArgumentValueError, match="positive"):
            choose(ints([1]), rate)


@pytest.mark.parametrize("counts", [[0, 0], [1, -1]])
def test_counts_must_hold_a_candidate(counts: list[int]) -> None:
    with pytest.raises(ArgumentValueError, match="counts"):
        exponential_mechanism(ints([1, 2]), F(1), ints(counts))


def test_counts_must_match() -> None:
    with pytest.raises(ArgumentValueError, match="length"):
        exponential_mechanism(ints([1, 2]), F(1), ints([1]))
    with pytest.raises(ArgumentTypeError, match="counts"):
        exponential_mechanism(ints([1, 2]), F(1), np.array([1.0, 2.0]))


def test_scores_and_counts_are_left_alone() -> None:
    scores, counts = np.arange(100, dtype=np.int64), np.ones(100, dtype=np.int64)
    scores.flags.writeable = counts.flags.writeable = False
    permute_and_flip(scores, F(1, 10))
    exponential_mechanism(scores, F(1, 10), counts)
    assert scores.tolist() == list(range(100))

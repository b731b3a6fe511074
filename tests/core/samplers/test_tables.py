"""Table thresholds against high-precision decimals, and the exact path against the bits it drew."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction as F
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from pandas_dp.core.randomness import Bits
from pandas_dp.core.samplers import vector
from pandas_dp.core.samplers.tables import CodeTable, power_bounds

from .laws import exact_exp, seeded

Cdf = Callable[[int], F]


def digit_cdf(rate: F, size: int) -> Cdf:
    """F(d) for P(d) proportional to exp(-d rate), d < size."""
    bottom = 1 - exact_exp(-size * rate)
    return lambda k: (1 - exact_exp(-(k + 1) * rate)) / bottom


def geometric_cdf(rate: F) -> Cdf:
    return lambda k: 1 - exact_exp(-(k + 1) * rate)


def cut_cdf(cuts: tuple[int, ...], denominator: int) -> Cdf:
    """F(k) of the place among the cuts of an exponential variable that is below the last one."""
    bottom = 1 - exact_exp(F(-cuts[-1], denominator))
    return lambda k: (1 - exact_exp(F(-cuts[k], denominator))) / bottom


def half_gaussian_cdf(rate: F, double: bool, values: int) -> Cdf:
    # The rest has a weight far below the slack of the comparisons.
    weights = [exact_exp(-k * k * rate) * (2 if double and k else 1) for k in range(3 * values // 2 + 40)]
    sums = list(accumulate(weights))
    return lambda k: sums[k] / sums[-1]


def ratio(x: F) -> tuple[int, int]:
    return x.numerator, x.denominator


@cache
def digits(rate: F, size: int) -> tuple[CodeTable, Cdf]:
    first = rate.numerator
    return vector.cut_table(range(first, size * first + 1, first), rate.denominator), digit_cdf(rate, size)


@cache
def geometric(rate: F) -> tuple[CodeTable, Cdf]:
    return vector._geometric_table(*ratio(rate), 99, 16, 64), geometric_cdf(rate)


@cache
def places(cuts: tuple[int, ...], denominator: int) -> tuple[CodeTable, Cdf]:
    return vector.cut_table(cuts, denominator), cut_cdf(cuts, denominator)


@cache
def gaussian(rate: F, double: bool) -> tuple[CodeTable, Cdf]:
    table, _ = vector._gaussian_table(*ratio(rate), double, 10**6, 16, 64)
    return table, half_gaussian_cdf(rate, double, table.thresholds.size)


TABLES = [
    *((digits, *case) for case in ((F(1, 10**12), 256), (F(1, 3), 256), (F(7, 2), 16), (F(1, 999), 32), (F(100), 2))),
    *((geometric, rate) for rate in (F(1), F(17, 5), F(1000))),
    *(
        (places, *case)
        for case in (((2, 3, 4), 2), ((2, 10**9, 10**12), 10**12), ((1, 2, 3), 10**15), ((1, 60, 90), 1))
    ),
    *((gaussian, rate, double) for rate in (F(1, 20_000), F(1, 3), F(40)) for double in (False, True)),
]
each_table = pytest.mark.parametrize(
    ("made", "case"), [(made, case) for made, *case in TABLES], ids=[f"{t[0].__name__} {t[1]} {t[-1]}" for t in TABLES]
)


@each_table
def test_thresholds_and_laws_enclose_the_distribution_function(made: Any, case: list[Any]) -> None:
    table, cdf = made(*case)
    slack = F(1, 10**50)
    for k, threshold in enumerate(table.thresholds.tolist()):
        scaled = cdf(k) * 2**64
        assert threshold <= scaled + slack
        assert scaled < threshold + 2
    for k in {0, 1, 2, table.thresholds.size // 2, table.thresholds.size - 1}:
        if k < table.thresholds.size:
            low, high = table._law(k, 120)
            assert F(low, 2**120) <= cdf(k) + slack
            assert cdf(k) - slack <= F(high, 2**120)
            assert high - low <= 4


@each_table
def test_uniforms_beside_a_threshold_are_settled_by_their_own_bits(made: Any, case: list[Any]) -> None:
    """The draw is #{k : F(k) <= U} for the U whose first 64 bits were given and whose next the fill gave."""
    table, cdf = made(*case)
    for at in {0, table.thresholds.size // 2}:
        threshold = int(table.thresholds[at])
        for leading in (threshold, threshold + 1):
            if leading >= 1 << 64:
                continue
            for seed in range(4):
                got = table._exact(leading, Bits(seeded(seed), size=2))
                further = np.frombuffer(seeded(seed)(16), dtype=np.uint64)[-1]  # words are used last one first
                u = F((leading << 64) + int(further), 1 << 128)
                assert got == 0 or cdf(got - 1) <= u + F(1, 2**128)
                assert got >= table.thresholds.size or u < cdf(got) + F(1, 10**50)


def third(k: int, bits: int) -> tuple[int, int]:
    """F(0) = 1/3, F(1) = 1."""
    return ((1 << bits) // 3, (1 << bits) // 3 + 1) if k == 0 else (1 << bits, 1 << bits)


def drawn(table: CodeTable, u: int, further: int) -> int:
    """The draw of the uniform whose first eight bits and the next 64 are these."""
    draws = table._search(
        np.array([u], dtype=np.uint64), lambda count: further.to_bytes(8, sys.byteorder) * (count // 8)
    )
    return int(draws[0])


def picked(table: CodeTable, u: int, further: int) -> int:
    """The same of a draw by itself."""
    words = iter([u, further])

    class Given(Bits):
        def word(self) -> int:
            return next(words)

    return table.pick(Given(width=64))


@pytest.mark.parametrize("low", [84, 85])
def test_all_uniforms_about_a_loose_threshold(low: int) -> None:
    """256/3 is 85.33: a threshold of 84 or of 85 encloses it, and either gives 1 from 1/3 on, bit for bit."""
    table = CodeTable(third, [(low, 256, 86, 257)], 1, 4, 8)
    assert table.thresholds.tolist() == [low]
    at = (1 << 64) // 3  # of the further bits, where u is 85
    for u in range(256):
        for further in (0, at - 1, at, at + 1, 2**64 - 1):
            if (u, further) != (85, at):  # whose interval holds 1/3: its next bits decide
                assert drawn(table, u, further) == (F((u << 64) + further, 1 << 72) >= F(1, 3)), (u, further)
                assert picked(table, u, further) == drawn(table, u, further)
    twin = int(np.searchsorted(table.thresholds, np.uint64(85), side="right"))
    assert twin == 1 != drawn(table, 85, 0)  # the table alone


@pytest.mark.one_in(2)
@pytest.mark.parametrize("full", [8, 64])
def test_look_up_and_search_agree(full: int) -> None:
    """Every cell the look-up answers has this one answer at both of its ends."""
    guide = min(full - 4, 16)
    for table in (
        vector.cut_table(range(1, 17), 3, guide, full),
        vector.cut_table((1, 4, 9), 5, guide, full),
        vector._geometric_table(3, 2, 99, guide, full),
        vector._gaussian_table(1, 50, True, 999, guide, full)[0],
    ):
        answers = table._make_guide()
        rest = full - guide
        for cell, answer in enumerate(answers.tolist()):
            ends = np.array([cell << rest, ((cell + 1) << rest) - 1], dtype=np.uint64)
            if answer >= 0:
                assert table._search(ends, seeded(1)).tolist() == [answer, answer]
        assert (answers >= 0).any()


def test_beyond_the_end_the_law_goes_on() -> None:
    """The last cell of an unbounded law takes the exact path: there is no largest value."""
    table = vector._geometric_table(1, 1, 10**6, 4, 8)
    draws = np.concatenate([table._search(np.full(2000, 255, dtype=np.uint64), seeded(i)) for i in range(2)])
    assert draws.max() > 10  # P(G > 10) is 2e-5, in the last cell of 256 it is 0.4 %
    with pytest.raises(OverflowError, match="64-bit"):
        vector._geometric_table(1, 1, 6, 4, 8)._search(np.full(2000, 255, dtype=np.uint64), seeded(1))


def test_a_table_that_ends_early_or_is_too_vague_is_refused() -> None:
    def law(k: int, bits: int) -> tuple[int, int]:
        return (1 << bits) - 1, 1 << bits

    with pytest.raises(ArithmeticError, match="ends before"):
        CodeTable(law, [(1, 2, 1, 2)], 99)
    with pytest.raises(ArithmeticError, match="closely enough"):
        CodeTable(law, [(1, 2, 2, 3)], 99)


def test_power_bounds_enclose() -> None:
    for k, (low, high) in enumerate(power_bounds(1, 30, 300, 90)):
        power = exact_exp(F(-k, 30)) * 2**90
        assert low <= power + F(1, 10**20)
        assert power <= high + F(1, 10**20)
        assert high - low <= 5 * k + 1

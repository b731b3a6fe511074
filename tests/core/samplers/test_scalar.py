"""The scalar samplers follow their laws, also when words are so short that ties decide most draws.

Every test of a law rejects a right sampler with probability below 1e-6. At 2e5 draws a scale that is 3 % off is
refused with p < 1e-8 (shown below), as are the other broken twins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F

import numpy as np
import pytest

from pandas_dp.core.randomness import Bits, Lazy, random_bytes
from pandas_dp.core.samplers import scalar
from pandas_dp.core.samplers.scalar import bernoulli_exp, discrete_gaussian, discrete_laplace, uniform_below
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

from .laws import (
    FALSE_ALARM,
    chi_squared,
    discrete_gaussian_law,
    discrete_laplace_law,
    exact_exp,
    seeded,
)

MANY = 200_000
HUGE = F(10**60 + 7, 10**59 + 9)  # about 10, in 60 digits


def short_words(width: int) -> Bits:
    return Bits(seeded(width), width=width, size=4096)


def below(numerator: int, denominator: int, bits: Bits) -> bool:
    return not scalar.exceeds(Lazy.uniform(bits), numerator, denominator)


def repeat(draw: Callable[[], int], times: int) -> np.ndarray:
    return np.fromiter((draw() for _ in range(times)), dtype=np.int64, count=times)


# --------------------------------------------------------------------------------------------- fair decisions
@pytest.mark.parametrize("width", [1, 3, 64])
def test_below_a_fraction(width: int) -> None:
    bits = short_words(width)
    draws = repeat(lambda: below(3, 7, bits), 50_000)
    assert chi_squared(draws, {1: 3 / 7, 0: 4 / 7}) > FALSE_ALARM


@pytest.mark.parametrize("width", [1, 3, 64])
def test_uniform_below(width: int) -> None:
    bits = short_words(width)
    draws = repeat(lambda: scalar.draw_below(11, bits), 50_000)
    assert chi_squared(draws, dict.fromkeys(range(11), 1 / 11)) > FALSE_ALARM


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("width", "x"), [(1, F(2, 3)), (2, F(1)), (3, F(7, 3)), (64, F(1, 3)), (64, F(9, 4))])
def test_bernoulli_exp(width: int, x: F) -> None:
    bits, p = short_words(width), float(exact_exp(-x))
    draws = repeat(lambda: scalar.draw_bernoulli_exp(x.numerator, x.denominator, bits), 50_000)
    assert chi_squared(draws, {1: p, 0: 1 - p}) > FALSE_ALARM


@pytest.mark.slow
def test_decisions_with_the_bytes_of_the_system() -> None:
    p = float(exact_exp(F(-2, 3)))
    assert chi_squared(repeat(lambda: bernoulli_exp(F(2, 3)), MANY), {1: p, 0: 1 - p}) > FALSE_ALARM
    assert chi_squared(repeat(lambda: uniform_below(100), MANY), dict.fromkeys(range(100), 0.01)) > FALSE_ALARM


def test_certain_decisions() -> None:
    assert all(bernoulli_exp(F(0)) and uniform_below(1) == 0 for _ in range(200))
    assert not any(bernoulli_exp(F(10**40)) for _ in range(200))
    assert {uniform_below(10**40) // (10**40 // 3 + 1) for _ in range(200)} == {0, 1, 2}


# ------------------------------------------------------------------------------------------------ exponential
@pytest.mark.one_in(2)
@pytest.mark.parametrize("width", [1, 3, 64])
def test_exponential(width: int) -> None:
    bits = short_words(width)
    law = {k: math.exp(-k / 16) * -math.expm1(-1 / 16) for k in range(16 * 12)}
    draws = repeat(lambda: scalar.floor_times(scalar.exponential(bits), 16, 1), 30_000)
    assert chi_squared(draws, law) > FALSE_ALARM


def test_whole_part_agrees_with_the_bits_it_was_made_of() -> None:
    """Words beside a power of 1/e take the exact path; the answer is that of a high-precision evaluation."""
    for k in range(1, 46):
        power = scalar._POWERS[45 - k]
        for word in {max(power + step, 0) for step in range(-3, 8)}:
            fill = iter([word, *range(12345, 12445)]).__next__
            bits = Bits(lambda count: fill().to_bytes(8, "little"), size=1)  # noqa: B023
            got = scalar._whole_part(bits)
            u = F(word << 64 | 12345, 1 << 128)
            assert exact_exp(F(-got - 1)) <= u
            assert got == 0 or u < exact_exp(F(-got))


# ---------------------------------------------------------------------------------------------- integer noise
LAPLACE = [(1, F(17, 5)), (2, F(1, 2)), (3, F(40)), (64, F(10)), (64, HUGE)]
GAUSSIAN = [(1, F(7, 2)), (3, F(1, 5)), (3, F(400)), (64, F(100)), (64, HUGE)]


def laplace_draws(width: int, scale: F, times: int) -> np.ndarray:
    bits = short_words(width)
    return repeat(lambda: scalar.draw_discrete_laplace(scale.numerator, scale.denominator, bits), times)


def gaussian_draws(width: int, variance: F, times: int) -> np.ndarray:
    bits = short_words(width)
    return repeat(lambda: scalar.draw_discrete_gaussian(variance.numerator, variance.denominator, bits), times)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scale"), LAPLACE)
def test_discrete_laplace(width: int, scale: F) -> None:
    draws = laplace_draws(width, scale, MANY if width == 64 else MANY // 4)
    assert chi_squared(draws, discrete_laplace_law(scale)) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(("width", "variance"), GAUSSIAN)
def test_discrete_gaussian(width: int, variance: F) -> None:
    draws = gaussian_draws(width, variance, MANY if width == 64 else MANY // 4)
    assert chi_squared(draws, discrete_gaussian_law(variance)) > FALSE_ALARM


@pytest.mark.slow
def test_noise_with_the_bytes_of_the_system() -> None:
    laplace = repeat(lambda: discrete_laplace(F(7, 3)), MANY)
    assert chi_squared(laplace, discrete_laplace_law(F(7, 3))) > FALSE_ALARM
    gaussian = repeat(lambda: discrete_gaussian(F(7, 3)), MANY)
    assert chi_squared(gaussian, discrete_gaussian_law(F(7, 3))) > FALSE_ALARM


def test_noise_in_short_words_quickly() -> None:
    assert chi_squared(laplace_draws(1, F(17, 5), 10_000), discrete_laplace_law(F(17, 5))) > FALSE_ALARM
    assert chi_squared(gaussian_draws(1, F(7, 2), 10_000), discrete_gaussian_law(F(7, 2))) > FALSE_ALARM


def test_very_wide_noise() -> None:
    """Scale 1e30: 64 cells of equal probability, to 1e-20, and the lowest six bits."""
    times, scale = 20_000, 10**30
    draws = [discrete_laplace(F(scale), fill=seeded(30 + i)) for i in range(times)]
    sides = [math.exp(-abs(z) / scale) / 2 for z in draws]
    cells = [int(64 * (u if z < 0 else 1 - u)) for z, u in zip(draws, sides, strict=True)]
    assert chi_squared(cells, dict.fromkeys(range(64), 1 / 64)) > FALSE_ALARM
    assert chi_squared([z & 63 for z in draws], dict.fromkeys(range(64), 1 / 64)) > FALSE_ALARM
    draws = [discrete_gaussian(F(scale**2), fill=seeded(30 + i)) for i in range(times)]
    cells = [int(64 * (1 + math.erf(z / scale / math.sqrt(2))) / 2) for z in draws]
    assert chi_squared(cells, dict.fromkeys(range(64), 1 / 64)) > FALSE_ALARM
    assert chi_squared([z & 63 for z in draws], dict.fromkeys(range(64), 1 / 64)) > FALSE_ALARM


def test_very_narrow_noise_is_zero() -> None:
    """At 1e-9 anything else has probability below exp(-1e8)."""
    assert {discrete_laplace(F(1, 10**9)) for _ in range(500)} == {0}
    assert {discrete_gaussian(F(1, 10**18)) for _ in range(500)} == {0}


def test_results_are_plain_ints_even_for_fractions_of_numpy_integers() -> None:
    scale = F(np.int64(2**62 + 1), np.int64(3))  # its products overflow 64 bits
    assert type(discrete_laplace(scale)) is int
    assert type(discrete_gaussian(scale)) is int
    assert type(uniform_below(np.int64(5))) is int


# ----------------------------------------------------------------------------------------------- broken twins
@pytest.mark.slow
def test_a_scale_three_percent_off_is_refused() -> None:
    draws = laplace_draws(64, F(10) * F(97, 100), MANY)
    assert chi_squared(draws, discrete_laplace_law(F(10))) < FALSE_ALARM
    draws = gaussian_draws(64, F(100) * F(97, 100) ** 2, MANY)
    assert chi_squared(draws, discrete_gaussian_law(F(100))) < FALSE_ALARM


def test_a_new_number_in_place_of_more_bits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def redraw(x: Lazy) -> None:
        x.a, x.n = x.bits.word(), x.bits.width

    monkeypatch.setattr(Lazy, "extend", redraw)
    bits = short_words(3)
    draws = repeat(lambda: below(5, 13, bits), 50_000)  # 3/7 then
    assert chi_squared(draws, {1: 5 / 13, 0: 8 / 13}) < FALSE_ALARM


def test_a_tie_taken_for_an_order_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scalar, "less", lambda x, y: x.a < y.a)
    draws = laplace_draws(1, F(17, 5), 30_000)
    assert chi_squared(draws, discrete_laplace_law(F(17, 5))) < FALSE_ALARM


def test_a_kept_minus_zero_and_a_cut_tail_are_refused() -> None:
    law = discrete_laplace_law(F(17, 5))
    bits = short_words(64)
    sizes = repeat(lambda: scalar.floor_times(scalar.exponential(bits), 17, 5), 30_000)
    signs = np.array([1, -1])[repeat(lambda: bits.word() & 1, 30_000)]
    assert chi_squared(sizes * signs, law) < FALSE_ALARM
    cut = np.clip(laplace_draws(64, F(17, 5), 50_000), -17, 17)  # P(|Z| > 17) is 0.006
    assert chi_squared(cut, law) < FALSE_ALARM


# -------------------------------------------------------------------------------------------------- arguments
@pytest.mark.parametrize("draw", [bernoulli_exp, discrete_laplace, discrete_gaussian])
@pytest.mark.parametrize("value", [0.5, "1/2", np.float64(0.5), np.int64(1)])
def test_what_is_not_exact_is_refused(draw: Callable[..., int], value: object) -> None:
    with pytest.raises(ArgumentTypeError, match="Fraction"):
        draw(value)


@pytest.mark.parametrize(
    ("draw", "value"),
    [
        (bernoulli_exp, F(-1)),
        (discrete_laplace, F(0)),
        (discrete_laplace, F(-1)),
        (discrete_gaussian, F(0)),
        (discrete_gaussian, F(-1)),
        (uniform_below, 0),
    ],
)
def test_values_out_of_range_are_refused(draw: Callable[..., int], value: F) -> None:
    with pytest.raises(ArgumentValueError, match="type"):
        draw(value)


@pytest.mark.parametrize("fill", [seeded(1), random_bytes])
def test_any_fill_will_do(fill: Callable[[int], bytes]) -> None:
    assert isinstance(discrete_laplace(F(3), fill=fill), int)
    same = [discrete_gaussian(F(10**9), fill=seeded(5)) for _ in range(2)]
    assert same[0] == same[1]  # a function of the bytes and nothing else

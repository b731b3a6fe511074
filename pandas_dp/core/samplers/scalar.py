"""Exact samplers of one number at a time, in Python integers: discrete Laplace and Gaussian noise, and exponential laws.

All the numerical analysis that they need is the exponential function of a rational number, enclosed by two integers: no float,
no libm, no decimal.

Everything rests on one lazy number: an exponential variable by von Neumann's comparison of uniforms (1951),
whose fraction is a uniform accepted after a few comparisons and can be given more bits whenever they are
needed. So every output is a function of an infinite sequence of fair bits, the very function that defines the
law: nothing is rounded, no tail is cut off, and the scale may be any positive fraction.

The `draw_` functions take integers and a stream of bits, for use inside other samplers; the public ones take
fractions.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import isqrt

from pandas_dp.core.randomness import Bits, Fill, Lazy, less, random_bytes
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError


def exp_bounds(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return integers low <= 2**bits * exp(numerator / denominator) <= high.

    Parameters
    ----------
    numerator, denominator : int
        The argument, in any terms; denominator > 0.
    bits : int
        Precision wanted, at least 0.

    Returns
    -------
    tuple of int
        For all arguments an enclosure; high - low is at most 3 while the result has fewer than 5000 bits.

    Notes
    -----
    The argument is halved `halvings` times until it is below 2**-7, Taylor's series is summed with every term
    cut down to a multiple of 2**-work, and the sum is squared back with outward rounding. In units of
    2**-work the sum is off by at most: 1.01 for cutting the argument (the slope is below 1.01); for each term
    1 for cutting the product, 1 for cutting the quotient and the previous term's error over 128, so below 3;
    and 1 for the rest of the series, whose first term is below 2**-7 * (1 + 3). So 3 * terms + 5 is safe.
    """
    if numerator == 0:
        return 1 << bits, 1 << bits
    whole = abs(numerator) // denominator
    if numerator < 0 and whole > bits + 1:  # exp(-x) < 2**-x <= 2**-(bits + 2)
        return 0, 1
    halvings = whole.bit_length() + 7
    integer_bits = whole * 3 // 2 + 2 if numerator > 0 else 0  # exp(x) < 2**(3x/2 + 2)
    work = bits + integer_bits + halvings + 12
    y = (numerator << work) // (denominator << halvings)
    total = term = 1 << work
    terms = 0
    while term > 1 or term < -1:
        terms += 1
        term = (term * y >> work) // terms
        total += term
    error = 3 * terms + 5
    low, high = total - error, total + error
    for _ in range(halvings):
        low = low * low >> work
        high = (high * high >> work) + 1
    cut = work - bits
    return low >> cut, (high >> cut) + 1


def ratio(value: Fraction, name: str) -> tuple[int, int]:
    """Return numerator and denominator as plain ints; whatever is not exact is refused."""
    if not isinstance(value, (Fraction, int)):
        raise ArgumentTypeError(f"{name} is not exact; type {name}=Fraction('0.1')")
    # A Fraction made from numpy integers keeps them, and they overflow: int() makes them plain.
    return int(value.numerator), int(value.denominator)


def positive_ratio(value: Fraction, name: str) -> tuple[int, int]:
    """Return numerator and denominator of a positive fraction."""
    numerator, denominator = ratio(value, name)
    if numerator <= 0:
        raise ArgumentValueError(f"{name} is not positive; type {name}=Fraction('0.1')")
    return numerator, denominator


# --------------------------------------------------------------------------------------------- fair decisions
def draw_below(count: int, bits: Bits) -> int:
    """Return an integer uniform on [0, count): floor(count * U)."""
    return floor_times(Lazy.uniform(bits), count, 1)


def exceeds(x: Lazy, numerator: int, denominator: int) -> bool:
    """Return whether x > numerator/denominator."""
    while True:
        low, cut = x.a * denominator, numerator << x.n
        if low >= cut:
            return True
        if low + denominator <= cut:
            return False
        x.extend()


def floor_times(x: Lazy, numerator: int, denominator: int) -> int:
    """Return floor(x * numerator/denominator)."""
    while True:
        low, unit = x.a * numerator, denominator << x.n
        floor = low // unit
        # The upper end of the interval has probability zero.
        if (low + numerator - 1) // unit == floor:
            return floor
        x.extend()


def below_exp(u: Lazy, numerator: int, denominator: int) -> bool:
    """Return whether u < exp(-numerator/denominator), numerator >= 0."""
    while True:
        precision = u.n + 16  # the enclosure is far narrower than u's interval
        low, high = exp_bounds(-numerator, denominator, precision)
        if (u.a + 1) << precision <= low << u.n:
            return True
        if u.a << precision >= high << u.n:
            return False
        u.extend()


# --------------------------------------------------------------------------------------- exponential variable
# entry <= 2**64 exp(-k) <= entry + 3 for k = 45, ..., 1, so rising; the first entry is 0.
_POWERS = [exp_bounds(-k, 1, 64)[0] for k in range(45, 0, -1)]


def _whole_part(bits: Bits) -> int:
    """Return K with P(K >= k) = exp(-k): the number of k >= 1 with U < exp(-k).

    One search in a table: unlike a loop that counts up to K its time does not tell K.
    """
    u = Lazy.uniform(bits)
    if u.n == 64:
        at = bisect_right(_POWERS, u.a)  # at least 1
        if u.a - _POWERS[at - 1] > 3:  # above exp(-k) of all entries before `at`, and above exp(-46), ...
            return len(_POWERS) - at
    k = 0
    while below_exp(u, k + 1, 1):  # the same u throughout
        k += 1
    return k


def exponential(bits: Bits) -> Lazy:
    """Return an exponential variable of mean 1.

    Notes
    -----
    Whole part and fraction of an exponential variable are independent. The fraction has density proportional
    to exp(-x): take the longest descending run x > u1 > ... > un of uniforms; n >= j has probability x**j /
    j!, so n is even with probability exp(-x), and x is accepted then. Only a prefix of x was looked at, its
    further bits are still uniform. Von Neumann counts rejected rounds to get the whole part; then run time
    tells the size of the noise.
    """
    word, width = bits.word, bits.width
    while True:
        first = last = word()
        run, x = 0, None
        while True:
            new = word()
            if new < last:
                last = new
                run += 1
            elif new > last:
                break
            else:
                x = Lazy(bits, first, width)
                run = _run_after_tie(x if run == 0 else Lazy(bits, last, width), Lazy(bits, new, width), run)
                break
        if not run & 1:
            x = x or Lazy(bits, first, width)
            x.a += _whole_part(bits) << x.n
            return x


def _run_after_tie(last: Lazy, new: Lazy, run: int) -> int:
    """Return the length of a descending run of uniforms whose last two have the same known bits."""
    while less(new, last):
        last, run = new, run + 1
        new = Lazy.uniform(new.bits)
    return run


def draw_bernoulli_exp(numerator: int, denominator: int, bits: Bits) -> bool:
    """Return True with probability exp(-numerator/denominator), numerator >= 0."""
    if numerator > denominator:
        return exceeds(exponential(bits), numerator, denominator)
    first = Lazy.uniform(bits)  # one round of von Neumann's test with x = numerator/denominator known
    if exceeds(first, numerator, denominator):
        return True
    return _run_after_tie(first, Lazy.uniform(bits), 1) & 1 == 0


# ---------------------------------------------------------------------------------------------- integer noise
def draw_geometric(numerator: int, denominator: int, bits: Bits) -> int:
    """Return Z >= 0 with P(Z >= z) = exp(-z denominator/numerator): an exponential variable, rounded down."""
    return floor_times(exponential(bits), numerator, denominator)


def draw_discrete_laplace(numerator: int, denominator: int, bits: Bits) -> int:
    """Return Z with P(Z = z) proportional to exp(-|z| denominator/numerator)."""
    while True:
        size = draw_geometric(numerator, denominator, bits)
        if bits.word() & 1:
            return size
        if size:  # minus zero is drawn again
            return -size


def draw_discrete_gaussian(numerator: int, denominator: int, bits: Bits) -> int:
    """Return Z with P(Z = z) proportional to exp(-z**2 denominator / (2 numerator)).

    A discrete Laplace variable of integer scale t, accepted with probability exp(-(|z| - variance/t)**2 / (2
    variance)).
    """
    t = isqrt(numerator // denominator) + 1
    bottom = 2 * numerator * denominator * t * t
    while True:
        z = draw_discrete_laplace(t, 1, bits)
        if draw_bernoulli_exp((abs(z) * denominator * t - numerator) ** 2, bottom, bits):
            return z


# ----------------------------------------------------------------------------------------------------- public
def uniform_below(count: int, *, fill: Fill = random_bytes) -> int:
    """Return an integer uniform on 0, ..., count - 1, exactly, for every count >= 1.

    Raises
    ------
    ArgumentValueError
        count is less than 1.
    """
    if count < 1:
        raise ArgumentValueError("count is less than 1; type uniform_below(2) for a fair bit")
    return draw_below(int(count), Bits(fill, size=1))


def bernoulli_exp(x: Fraction, *, fill: Fill = random_bytes) -> bool:
    """Return True with probability exp(-x), exactly, for every fraction x >= 0.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        x is not a Fraction, or negative.
    """
    numerator, denominator = ratio(x, "x")
    if numerator < 0:
        raise ArgumentValueError("x is negative, so exp(-x) is no probability; type bernoulli_exp(abs(x))")
    return draw_bernoulli_exp(numerator, denominator, Bits(fill))


def discrete_laplace(scale: Fraction, *, fill: Fill = random_bytes) -> int:
    """Return one discrete Laplace variable: P(Z = z) proportional to exp(-|z| / scale).

    Parameters
    ----------
    scale : Fraction
        In units of the integers; any positive fraction.
    fill : Fill
        Source of random bytes.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        scale is not a Fraction, or not positive.

    Notes
    -----
    The law is exact for every scale. Run time depends a little on the noise and on the length of the
    fraction, and on nothing else. Law: Ghosh, Roughgarden, Sundararajan 2009. Fraction of the exponential
    variable: von Neumann 1951.
    """
    numerator, denominator = positive_ratio(scale, "scale")
    return draw_discrete_laplace(numerator, denominator, Bits(fill))


def discrete_gaussian(variance: Fraction, *, fill: Fill = random_bytes) -> int:
    """Return one discrete Gaussian variable: P(Z = z) proportional to exp(-z**2 / (2 variance)).

    Parameters
    ----------
    variance : Fraction
        sigma**2, in squared units of the integers; any positive fraction.
    fill : Fill
        Source of random bytes.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        variance is not a Fraction, or not positive.

    Notes
    -----
    The law is exact for every variance. Canonne, Kamath, Steinke 2020, Algorithm 3.
    """
    numerator, denominator = positive_ratio(variance, "variance")
    return draw_discrete_gaussian(numerator, denominator, Bits(fill, size=32))

"""Exact samplers of continuous noise, rounded to whole numbers: floor(scale Z + 1/2) to the last bit.

The scale may be any positive fraction, also one that must stay secret: what comes out is always a whole number, and
no tail is cut off. Z is never a float; it is a function of lazy numbers, and bits are added to them until all of
what is left of them rounds to one whole number. Run time follows the lengths of the scale's integers a little.

For all positive scales, and fair independent bits, a draw has exactly the law of scale |Z| rounded to the nearest whole number,
with a fair sign. A lazy number stands for the interval of all its continuations. A test is answered only where all points
of the intervals give one answer, which their corners tell, both sides being monotone in each number; a result is given only
where both ends round to it. So every answer is that of the real number itself. What no finite number of bits decides, the
edges of the regions and the halves, has probability 0: every draw ends. The laws are proved at each function.
Source: Kinderman, Monahan 1977 (ratio of uniforms); von Neumann 1951 (the normal law of exponential ones).
"""

from __future__ import annotations

from collections.abc import Callable

from pandas_dp.core.randomness import Bits, Lazy
from pandas_dp.core.samplers.scalar import exp_bounds, exponential

POWER = 3  # draw_polynomial_laplace: density proportional to (1 + |z|)**-(POWER + 1)


def draw_polynomial(gamma: int, numerator: int, denominator: int, bits: Bits) -> int:
    """Z with density proportional to 1 / (1 + |z|**gamma), for even and odd gamma >= 2; 2 is Cauchy's law.

    Ratio of uniforms: (u, v) uniform where 0 <= u**2 <= h(v/u) makes v/u have a density proportional to h, as (u, v/u) has
    the density u there. Here u**2 (1 + (v/u)**gamma) <= 1, and all such (u, v) lie in the unit square.
    """
    return _ratio(
        lambda u, v, small, n: u**gamma + v**gamma <= small ** (gamma - 2) << 2 * n, numerator, denominator, bits
    )


def draw_student3(numerator: int, denominator: int, bits: Bits) -> int:
    """Student's t with 3 degrees of freedom, density proportional to (1 + z**2 / 3)**-2: ratio of uniforms.

    |Z| = v/u given u (1 + (v/u)**2 / 3) <= 1, that is u**2 + v**2 / 3 <= u, where v is at most sqrt(3) / 2.
    """
    return _ratio(lambda u, v, small, n: 3 * u * u + v * v <= 3 * small << n, numerator, denominator, bits)


def _ratio(inside: Callable[[int, int, int, int], bool], numerator: int, denominator: int, bits: Bits) -> int:
    """Rounded scale v/u with a fair sign, (u, v) uniform in the part of the unit square where an inequality holds.

    inside(u, v, small, n) compares a left side that rises in u and v with a right side in `small`, another bound of u,
    both in units of 2**-n: true at the far corner with the near u means inside, false the other way round outside.
    """
    while True:
        u, v = Lazy.uniform(bits), Lazy.uniform(bits)
        while not (within := inside(u.a + 1, v.a + 1, u.a, u.n)) and inside(u.a, v.a, u.a + 1, u.n):
            u.extend()
            v.extend()
        if within:
            return _signed(_rounded_ratio(v, u, numerator, denominator), bits)


def draw_polynomial_laplace(numerator: int, denominator: int, bits: Bits) -> int:
    """Z with density POWER/2 (1 + |z|)**-(POWER + 1): |Z| = exp(E / POWER) - 1, E exponential.

    For |Z| > z where E > POWER ln(1 + z), which has probability (1 + z)**-POWER.
    """
    x = exponential(bits)
    while True:
        unit = POWER << x.n
        low, high = exp_bounds(x.a, unit, x.n)
        high += 2 * high // unit + 1  # exp(t) <= 1 + 2 t for t = 1 / unit: as far as x may be from x.a
        one = 1 << x.n
        ends = {_rounded(numerator * (end - one), denominator << x.n) for end in (low, high)}
        if len(ends) == 1:
            return _signed(ends.pop(), bits)
        x.extend()


def draw_laplace(numerator: int, denominator: int, bits: Bits) -> int:
    """Z with density exp(-|z|) / 2."""
    return _signed(_rounded_lazy(exponential(bits), numerator, denominator), bits)


def draw_gaussian(numerator: int, denominator: int, bits: Bits) -> int:
    """Standard normal Z: |Z| = E1 given (E1 - 1)**2 < 2 E2, both exponential.

    E1 = x stays with probability exp(-(x - 1)**2 / 2), and exp(-x) exp(-(x - 1)**2 / 2) is exp(-x**2 / 2) up to a constant.
    """
    while True:
        x, y = exponential(bits), exponential(bits)
        while True:
            while x.n < y.n:
                x.extend()
            while y.n < x.n:
                y.extend()
            one = 1 << x.n
            ends = sorted((abs(x.a - one), abs(x.a + 1 - one)))  # 1 is never strictly between both ends
            if ends[1] ** 2 <= y.a << x.n + 1:
                return _signed(_rounded_lazy(x, numerator, denominator), bits)
            if ends[0] ** 2 >= y.a + 1 << x.n + 1:
                break
            x.extend()
            y.extend()


def _rounded(numerator: int, denominator: int) -> int:
    """Floor of a fraction plus 1/2."""
    return (2 * numerator + denominator) // (2 * denominator)


def _rounded_lazy(x: Lazy, numerator: int, denominator: int) -> int:
    while (low := _rounded(x.a * numerator, denominator << x.n)) != _rounded((x.a + 1) * numerator, denominator << x.n):
        x.extend()
    return low


def _rounded_ratio(v: Lazy, u: Lazy, numerator: int, denominator: int) -> int:
    while True:
        if u.a:
            low = _rounded(v.a * numerator, (u.a + 1) * denominator)
            if low == _rounded((v.a + 1) * numerator, u.a * denominator):
                return low
        u.extend()
        v.extend()


def _signed(size: int, bits: Bits) -> int:
    """A fair sign: the law of Z is symmetric, and halves have probability zero."""
    return size if bits.word() & 1 else -size

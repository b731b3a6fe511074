"""The exponential function of a rational number, enclosed by two integers.

This is all the numerical analysis that exact sampling needs. Integers only: no float, no libm, no decimal.
"""

from __future__ import annotations


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

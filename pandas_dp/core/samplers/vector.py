"""Exact vectors of discrete Laplace and discrete Gaussian noise, by tables of integer thresholds.

Scale, variance and n must be public: tables are kept by scale, and the run time follows scale and n.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.randomness import Bits, Fill, Lazy, random_bytes, random_words
from pandas_dp.core.samplers.scalar import below_exp, exp_bounds, positive_ratio
from pandas_dp.core.samplers.tables import CHUNK, CodeTable, power_bounds
from pandas_dp.errors import ArgumentValueError

WIDEST = 1 << 50  # lattice units: wider noise is for the scalar samplers
ROOM = 1 << 62  # all noise is below this; wider draws have probability below exp(-4000) and raise
Tables = tuple[CodeTable, list[CodeTable]]


def _extra_bits(numerator: int, denominator: int) -> int:
    """Return about log2(denominator/numerator), at least 0: bits lost in 1 - exp(-numerator/denominator)."""
    return max(0, denominator.bit_length() - numerator.bit_length())


# ------------------------------------------------------------------------------------------- discrete Laplace
@lru_cache(maxsize=64)
def cut_table(cuts: Sequence[int], denominator: int, guide: int = 16, full: int = 64) -> CodeTable:
    """Table of k where an exponential variable that is below the last of rising cuts/denominator lies just below cut k.

    P(draw <= k) is (1 - exp(-cuts[k]/denominator)) / (1 - exp(-cuts[-1]/denominator)). Cuts that lie equally far apart, the
    first one as far from 0, are a range: then P(k) is proportional to exp(-k cuts[0]/denominator).
    """
    extra = _extra_bits(cuts[0], denominator)

    def law(k: int, bits: int) -> tuple[int, int]:
        if k >= len(cuts) - 1:
            return 1 << bits, 1 << bits
        work = bits + 8 + extra
        one = 1 << work
        top, bottom = (exp_bounds(-cut, denominator, work) for cut in (cuts[k], cuts[-1]))
        return (one - top[1] << bits) // (one - bottom[0]), (one - top[0] << bits) // (one - bottom[1]) + 1

    bits = full + 32 + extra
    one, equal = 1 << bits, isinstance(cuts, range)
    some = power_bounds(cuts[0], denominator, len(cuts), bits)[1:] if equal else ()
    powers = some or [exp_bounds(-cut, denominator, bits) for cut in cuts]
    least, most = one - powers[-1][1], one - powers[-1][0]
    return CodeTable(law, ((one - high, most, one - low, least) for low, high in powers[:-1]), len(cuts), guide, full)


def _geometric_table(numerator: int, denominator: int, limit: int, guide: int, full: int) -> CodeTable:
    """Table of P(G >= k) = exp(-k numerator/denominator), for numerator >= denominator: few values matter."""

    def law(k: int, bits: int) -> tuple[int, int]:
        low, high = exp_bounds(-(k + 1) * numerator, denominator, bits)
        return (1 << bits) - high, (1 << bits) - low

    bits = full + 16
    one = 1 << bits
    count = (full + 3) * denominator // numerator + 1  # exp(-full - 3) is below 2**-full
    powers = power_bounds(numerator, denominator, count, bits)
    around = ((one - high, one, one - low, one) for low, high in powers[1:])
    return CodeTable(law, around, limit, guide, full)


@lru_cache(maxsize=32)
def _geometric_tables(numerator: int, denominator: int, digit_bits: int, guide: int = 16, full: int = 64) -> Tables:
    """Tables of the leading part and of the digits, leading digit first."""
    digits, step = [], denominator
    while step < numerator:  # until the leading part has scale at most 1
        digits.append(cut_table(range(step, (step << digit_bits) + 1, step), numerator, guide, full))
        step <<= digit_bits
    return _geometric_table(step, numerator, ROOM * denominator // step - 1, guide, full), digits[::-1]


def geometric_vector(
    numerator: int, denominator: int, n: int, fill: Fill, digit_bits: int = 0, guide: int = 16, full: int = 64
) -> NDArray[np.int64]:
    """Return n <= CHUNK independent G with P(G >= k) = exp(-k denominator/numerator), a scale below 2**50; all below 2**62.

    exp(-g/scale) is a product over the base-B digits of g, so for all scales the digits of G are independent: digit i has P(d)
    proportional to exp(-d B**i / scale), and what is left is geometric of scale at most 1. One table a digit, no rejection: the
    number of passes depends on scale and n alone.
    """
    digit_bits = digit_bits or (8 if n >= 32768 else 5)  # fewer and larger tables when they pay
    leading, digits = _geometric_tables(numerator, denominator, digit_bits, guide, full)
    noise = leading.draw(n, fill)
    for table in digits:
        noise <<= digit_bits
        noise |= table.draw(n, fill)
    return noise


def discrete_laplace_vector(scale: Fraction, n: int, *, fill: Fill = random_bytes) -> NDArray[np.int64]:
    """Return n independent discrete Laplace variables: P(Z = z) proportional to exp(-|z| / scale).

    Parameters
    ----------
    scale : Fraction
        In units of the integers; positive and below 2**50. Public.
    n : int
        Number of draws. Public.
    fill : Fill
        Source of random bytes.

    Returns
    -------
    ndarray of int64, shape (n,)
        Below 2**62 in magnitude.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        scale is not a Fraction, not positive, or 2**50 and more (use `discrete_laplace`); n is negative.
    OverflowError
        A draw of 2**62 or more: probability below exp(-4000).

    Notes
    -----
    The law is exact for all scales. With p = exp(-1/scale) and P(G >= k) = p**k, Z is G with probability 1/(1 + p), else
    -1 - G.
    """
    numerator, denominator = positive_ratio(scale, "scale")
    if numerator >= denominator * WIDEST:
        raise ArgumentValueError("scale is 2**50 or more; type discrete_laplace(scale) for each draw")
    noise = np.empty(_size(n), dtype=np.int64)
    sign = cut_table(range(denominator, 2 * denominator + 1, denominator), numerator)
    for at in range(0, n, CHUNK):
        part = noise[at : at + CHUNK]
        part[:] = geometric_vector(numerator, denominator, part.size, fill)
        part ^= -sign.draw(part.size, fill)  # x ^ -1 is -1 - x
    return noise


def _size(n: int) -> int:
    if n < 0:
        raise ArgumentValueError("n is negative; type n=0 for no draws")
    return n


# ------------------------------------------------------------------------------------------ discrete Gaussian
class _HalfGaussian:
    """Enclosures of the law P(k) proportional to exp(-k**2 numerator/denominator) on k = 0, 1, ...

    With `double` every k >= 1 has twice this weight, as |z| has. All numbers are in units of 2**-bits.

    Notes
    -----
    Powers e_k = exp(-k**2 a) and ratios r_k = exp(-(2k + 1) a), a = numerator/denominator, follow from
    e_(k+1) = e_k r_k and r_(k+1) = r_k exp(-2a). Lower ends are multiplied and cut; as all factors are at
    most 1, each step adds the factors' gaps and at most 2. The sums stop at e_k <= 2**-stop; what is left is
    at most 2 e_k r_k / (1 - r_k), because the ratios fall.
    """

    def __init__(self, numerator: int, denominator: int, double: bool, bits: int, stop: int) -> None:
        ratio, high = exp_bounds(-numerator, denominator, bits)
        ratio_gap = high - ratio
        fall, high = exp_bounds(-2 * numerator, denominator, bits)
        fall_gap = high - fall
        power, gap, times = 1 << bits, 0, 1
        low = high = 0
        self.sums: list[tuple[int, int]] = []  # around the weights of 0, ..., k
        self.ratios: list[int] = []  # lower ends
        while True:
            low, high = low + times * power, high + times * (power + gap)
            self.sums.append((low, high))
            self.ratios.append(ratio)
            if power <= 1 << bits - stop:
                break
            power, gap = power * ratio >> bits, gap + ratio_gap + 2
            ratio, ratio_gap = ratio * fall >> bits, ratio_gap + fall_gap + 2
            times = 2 if double else 1
        ratio += ratio_gap
        tail = 2 * ((power + gap) * ratio // ((1 << bits) - ratio) + 1)
        self.total = low, high + tail


def _gaussian_table(
    numerator: int, denominator: int, double: bool, limit: int, guide: int, full: int
) -> tuple[CodeTable, NDArray[np.int32]]:
    """Table of the half Gaussian; floors of 2**16 exp(-(2k + 1) numerator/denominator), the last one 0."""
    extra = _extra_bits(numerator, denominator)

    @lru_cache(maxsize=2)
    def sums(bits: int) -> _HalfGaussian:
        return _HalfGaussian(numerator, denominator, double, bits + 64 + 2 * extra, bits + 8 + extra)

    def law(k: int, bits: int) -> tuple[int, int]:
        half = sums(bits)
        least, most = half.total
        low = (half.sums[min(k, len(half.sums) - 1)][0] << bits) // most
        if k >= len(half.sums):
            return low, 1 << bits
        return low, (half.sums[k][1] << bits) // least + 1

    bits = full + 40 + 2 * extra
    half = _HalfGaussian(numerator, denominator, double, bits, full + 8 + extra)
    least, most = half.total
    table = CodeTable(law, ((low, most, high, least) for low, high in half.sums), limit, guide, full)
    floors = np.array([ratio >> bits - 16 for ratio in half.ratios] + [0], dtype=np.int32)
    return table, floors


@lru_cache(maxsize=16)
def _gaussian_tables(
    numerator: int, denominator: int, cells: int, guide: int = 16, full: int = 64
) -> tuple[int, CodeTable, NDArray[np.int32]]:
    """Cell width as a power j of two, and the table of cells of |z|: 2**j is about sigma/cells.

    j = 0 when sigma is at most `cells`: then the table is the law of |z| itself.
    """
    sigma = isqrt(numerator // denominator)
    j = 0 if sigma <= cells else (sigma // cells).bit_length()
    return j, *_gaussian_table(denominator << 2 * j, 2 * numerator, j == 0, (ROOM >> j) - 1, guide, full)


def discrete_gaussian_vector(variance: Fraction, n: int, *, fill: Fill = random_bytes) -> NDArray[np.int64]:
    """Return n independent discrete Gaussian variables: P(Z = z) proportional to exp(-z**2 / (2 variance)).

    Parameters
    ----------
    variance : Fraction
        sigma**2, in squared units of the integers; positive and below 2**100. Public.
    n : int
        Number of draws. Public.
    fill : Fill
        Source of random bytes.

    Returns
    -------
    ndarray of int64, shape (n,)
        Below 2**62 in magnitude.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        variance is not a Fraction, not positive, or 2**100 and more (use `discrete_gaussian`); n is negative.
    OverflowError
        A draw of 2**62 or more: probability below exp(-4000).

    Notes
    -----
    The law is exact for all variances. Sigma up to 128: |z| from one table, and a fair sign. Wider: |z| =
    2**j h + l with h from a table with weight exp(-(2**j h)**2 / (2 variance)), l uniform below 2**j, kept
    with probability exp(-(2**(j+1) h l + l**2) / (2 variance)); the product is the weight of |z|. Sixteen
    bits below a lower bound of this probability, exp(-(2h + 1) 4**j / (2 variance)), keep about 99 % at once;
    the others are compared exactly.
    """
    numerator, denominator = positive_ratio(variance, "variance")
    if numerator >= denominator * WIDEST**2:
        raise ArgumentValueError("variance is 2**100 or more; type discrete_gaussian(variance) for each draw")
    return _fill_gaussian(np.empty(_size(n), np.int64), numerator, denominator, 32 if n < 8192 else 128, fill)


def _fill_gaussian(
    noise: NDArray[np.int64], numerator: int, denominator: int, cells: int, fill: Fill, guide: int = 16, full: int = 64
) -> NDArray[np.int64]:
    j, table, floors = _gaussian_tables(numerator, denominator, cells, guide, full)
    for at in range(0, noise.size, CHUNK):
        part = noise[at : at + CHUNK]
        if j == 0:
            part[:] = _with_signs(table.draw(part.size, fill), fill)
            continue
        part[:], keep = _propose(numerator, denominator, j, table, floors, part.size, fill)
        todo = np.flatnonzero(~keep)
        while todo.size:
            part[todo], keep = _propose(numerator, denominator, j, table, floors, todo.size, fill)
            todo = todo[~keep]
    return noise


def _propose(
    numerator: int, denominator: int, j: int, table: CodeTable, floors: NDArray[np.int32], n: int, fill: Fill
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return n proposals and which of them to keep, each of shape (n,)."""
    cell = table.draw(n, fill)
    word = np.uint16 if j <= 16 else np.uint32 if j <= 32 else np.uint64
    within = random_words(n, fill, word) >> word(8 * np.dtype(word).itemsize - j)
    coin = random_words(n, fill, np.uint16)
    keep = coin < floors.take(cell, mode="clip")
    unsure = np.flatnonzero(~keep)
    if unsure.size:
        bits = Bits(fill, size=64)
        columns = (a[unsure].tolist() for a in (cell, within, coin))
        for i, h, rest, leading in zip(unsure.tolist(), *columns, strict=True):
            gap = ((h << j + 1) + rest) * rest * denominator
            keep[i] = below_exp(Lazy(bits, leading, 16), gap, 2 * numerator)
    noise = (cell << j) | within.astype(np.int64)
    zero = np.flatnonzero(noise == 0)
    keep[zero] &= random_words(zero.size, fill, np.uint8) < 128  # minus zero is drawn again
    return _with_signs(noise, fill), keep


def _with_signs(noise: NDArray[np.int64], fill: Fill) -> NDArray[np.int64]:
    """Multiply by fair signs, in place."""
    signs = np.unpackbits(random_words((noise.size + 7) // 8, fill, np.uint8), count=noise.size)
    mask = -signs.astype(np.int64)  # 0 or -1; (x ^ -1) - -1 is -x
    noise ^= mask
    noise -= mask
    return noise

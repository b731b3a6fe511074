"""The public lattice on which every number is an integer before anything is added up.

A column never enters a sum as a float: each row is mapped, by itself, to an offset 0..cells on a lattice that
follows from the public bounds alone. That map ends in a clip of integers, so the sensitivity of a sum of
offsets is exact whatever rounding happens before it (Casacuberta, Shoemate, Vadhan, Wagaman 2022 show what
goes wrong otherwise).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 15  # rows handled at once: the buffers stay in the second-level cache
MOST_CELLS = 1 << 31
FAR = 1 << 51  # float64 resolves a quarter of a step up to here
FINEST, COARSEST = Fraction(1, 1 << 400), 1 << 400  # steps whose squares are floats

# Fineness by use: 2**30 cells for sums, also of products, 2**16 for ranks.
SUM_BITS, RANK_BITS = 30, 16

Rule = Callable[[NDArray[np.generic], NDArray[np.int64]], None]
Raw = tuple[NDArray[np.generic], "NDArray[np.bool_] | None"]


@dataclass(frozen=True)
class Lattice:
    """Points (low + i) * step for i = 0..cells, fixed by public bounds.

    Attributes
    ----------
    step : Fraction
        Distance of neighbouring points, in the column's unit.
    low : int
        Index of the lowest point: the lower bound is low * step after rounding.
    cells : int
        Number of steps between the lowest and the highest point; at least 1.
    """

    step: Fraction
    low: int
    cells: int

    @classmethod
    @lru_cache(maxsize=256)
    def between(cls, lower: Fraction, upper: Fraction, bits: int, step: Fraction | None = None) -> Lattice:
        """Lattice for bounds lower < upper: a power of two for 2**bits to 2**(bits+1) cells, or a given step.

        The step is never finer than float64 resolves at the larger bound, where finer cells would be empty.
        """
        if step is None:
            exponent = max(_log2_floor(upper - lower) - bits, _log2_floor(max(abs(lower), abs(upper))) - 52)
            step = Fraction(2) ** exponent
        low, high = (_round(bound / step) for bound in (lower, upper))
        return cls(step, low, high - low)

    @cached_property
    def lower(self) -> Fraction:
        """The lowest point."""
        return self.low * self.step

    @cached_property
    def upper(self) -> Fraction:
        """The highest point."""
        return (self.low + self.cells) * self.step

    @cached_property
    def width(self) -> Fraction:
        """Distance between the lowest and the highest point."""
        return self.cells * self.step

    @cached_property
    def parts(self) -> int:
        """Into how many parts `crossed` cuts a step: M on lattices of few cells, so that it is exact, else 2**31 / M."""
        return max(1, min(self.cells, MOST_CELLS // self.cells))

    def point(self, i: int) -> Fraction:
        """The value of offset i."""
        return (self.low + i) * self.step

    def offsets(self, values: NDArray[np.generic]) -> NDArray[np.int64]:
        """Map raw values to integer offsets 0..cells, row by row.

        Parameters
        ----------
        values : ndarray of bool, int, uint or float, shape (rows,)
            NaN is mapped to an arbitrary offset; the caller masks it.

        Returns
        -------
        ndarray of int64, shape (rows,)
            For all inputs every entry lies in 0..cells, depends on its own row only and never falls as the
            value rises. Integers that are lattice points are mapped exactly, other values less than one step
            off (at bounds beyond 2**51 steps: as far as float64 resolves there).
        """
        out = np.empty(values.size, dtype=np.int64)
        write = self.rule(values.dtype)
        with np.errstate(all="ignore"):
            for at in range(0, values.size, CHUNK):
                write(values[at : at + CHUNK], out[at : at + CHUNK])
        return out

    def rule(self, dtype: np.dtype[np.generic]) -> Rule:
        """How values of one dtype are mapped; all rational arithmetic is done here, once for a column.

        Returns
        -------
        callable (values, out)
            Writes the offsets of `values`; the caller silences overflow, which depends on the data.
        """
        if dtype.kind == "f":
            return self._float_rule(dtype, self.lower)
        info = integer_info(dtype)
        first, last = int(self.lower // 1), -int(-self.upper // 1)
        first, last = min(max(first, info.min), info.max), min(max(last, info.min), info.max)
        factor = 1 / self.step
        ends = [end * factor - self.low for end in (first, last)]
        if factor.denominator == 1 and all(abs(end) < 1 << 63 for end in ends):
            within = ends[0] >= 0 and ends[1] <= self.cells
            return self._whole_rule(info.dtype, first, last, int(factor), within)
        if abs(self.low) < FAR:  # float64 drops digits worth a quarter of a step at most
            return self._float_rule(dtype, self.lower)
        from_distance = self._float_rule(dtype, self.lower - first)
        least, most = info.dtype.type(first), info.dtype.type(last)

        def rule(values: NDArray[np.generic], out: NDArray[np.int64]) -> None:
            # clipped first, so nothing wraps and nothing loses digits: 0 <= value - first < 2**64
            distance = np.clip(values.view(info.dtype), least, most).astype(np.uint64)
            distance -= np.uint64(first % (1 << 64))
            from_distance(distance if last - first >= 1 << 63 else distance.view(np.int64), out)

        return rule

    def _whole_rule(self, dtype: np.dtype[Any], first: int, last: int, factor: int, within: bool) -> Rule:
        """For integers when 1 is a multiple of the step: value * factor - low, all in integers.

        `within` says that first and last themselves have offsets in 0..cells.
        """
        # two's complement arithmetic is exact modulo 2**64, and the caller checked that results fit in int64
        wrapped_factor, wrapped_low = (np.uint64(x % (1 << 64)).view(np.int64) for x in (factor, self.low))
        least, most, cells = dtype.type(first), dtype.type(last), np.int64(self.cells)
        inside = within_bounds(dtype, first, last)

        def rule(values: NDArray[np.generic], out: NDArray[np.int64]) -> None:
            target, whole = out.view(np.uint64) if dtype == np.uint64 else out, values.view(dtype)
            if whole.size and inside(whole):  # the clip would change none
                np.copyto(target, whole)
            else:
                np.clip(whole, least, most, out=target)
            if factor != 1:
                out *= wrapped_factor
            if self.low != 0:
                out -= wrapped_low
            if not within:  # bounds need not be integers, nor values of the dtype
                np.clip(out, 0, cells, out=out)

        return rule

    def _float_rule(self, dtype: np.dtype[Any], lower: Fraction) -> Rule:
        """For numbers measured from an origin in which the lower bound is `lower`.

        From 2**52 on float64 holds whole numbers only, so adding 2**52 rounds to the nearest, and the bits of
        the sum, read as an integer, count from those of 2**52. The order of bits is that of the numbers, so a
        clip of the bits is a clip of the numbers, and NaN and infinities are clipped like any other bits.

        Where the step is a power of two, numbers need not be counted in steps: multiples of it are added as they are, in
        which floats have the same digits. And where all numbers lie within the bounds the clip would change none.
        """
        terms = float_terms(self) if lower == self.lower else None
        if terms is not None:
            return self._rounding_rule(dtype, *terms)
        scale, shift = np.float64(1 / self.step), np.float64((1 << 52) - lower / self.step)
        bits = int(np.float64(1 << 52).view(np.int64))
        low, high = np.int64(bits), np.int64(bits + self.cells)

        def rule(values: NDArray[np.generic], out: NDArray[np.int64]) -> None:
            x = out.view(np.float64)
            np.multiply(values, scale, out=x)
            x += shift
            np.clip(out, low, high, out=out)
            out -= low

        return rule

    def _rounding_rule(
        self, dtype: np.dtype[Any], least: np.float64, most: np.float64, magic: np.float64, origin: np.float64
    ) -> Rule:
        """For numbers whose lower bound has the bits of `origin` once `magic` is added; see `_float_rule`."""
        within, low = within_bounds(dtype, least, most), origin.view(np.int64)
        high = np.int64(int(low) + self.cells)

        def rule(values: NDArray[np.generic], out: NDArray[np.int64]) -> None:
            shifted(values, magic, out.view(np.float64))
            if values.size and not within(values):
                np.clip(out, low, high, out=out)
            out -= low

        return rule


@lru_cache(maxsize=256)
def float_terms(lattice: Lattice) -> tuple[np.float64, np.float64, np.float64, np.float64] | None:
    """Lower and upper end, what is added to round to the lattice, and what offset 0 becomes.

    The ends are float64: numpy would round a Python float to a narrower column before it compares the two.
    """
    power_of_two = all(x & (x - 1) == 0 for x in lattice.step.as_integer_ratio())
    if not power_of_two or abs(lattice.low) >= FAR or not FINEST <= lattice.step <= COARSEST:
        return None
    # value + magic lies in [2**52, 2**53) steps, where float64 holds multiples of the step only
    magic = np.float64(((1 << 52) - lattice.low) * lattice.step)
    return np.float64(lattice.lower), np.float64(lattice.upper), magic, np.float64((1 << 52) * lattice.step)


def within_bounds(dtype: np.dtype[Any], least: float, most: float) -> Callable[[NDArray[Any]], bool]:
    """Whether all numbers of a chunk lie in least..most, so that none is NaN; in one pass over it where least is 0."""

    def inside(part: NDArray[Any]) -> bool:
        return bool(least <= np.minimum.reduce(part).item() and np.maximum.reduce(part).item() <= most)

    if least != 0 or not dtype.isnative or dtype.itemsize > 8:
        return inside
    unsigned = np.dtype(f"u{dtype.itemsize}")

    def inside_from_zero(part: NDArray[Any]) -> bool:
        # read as unsigned integers, numbers from 0 on keep their order, and all with a sign, and NaN, lie above them
        largest = np.maximum.reduce(part.view(unsigned)).view(dtype).item()
        return inside(part) if largest == 0 else bool(0 < largest <= most)  # below -0.0 any number may hide

    return inside_from_zero


def shifted(values: NDArray[Any], magic: np.float64, out: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of values and `magic`, which lies on the lattice; see `float_terms`."""
    if values.dtype == np.float64:
        np.add(values, magic, out=out)
    else:  # a plain copy widens faster than an addition does
        np.copyto(out, values)
        out += magic
    return out


def crossed(offsets: NDArray[np.int64], lattice: Lattice) -> NDArray[np.int64]:
    """F v (M - v) / M of offsets v in 0..M, F parts a step, rounded to the nearest integer, halves up, in a new array.

    For all inputs an integer from 0 to F times the smaller of v and M - v, as F v is whole and at least
    floor(F v - F v^2 / M + 1/2). Exact where F = M. With M <= 2**32 cells nothing wraps: the product is at most F M^2 / 4,
    which is M^2 / 4 <= 2**62 or, with F M <= 2**31, at most 2**60, and what is added is below 2**32. A common factor of F and
    M is left out, as floor((g a + b) / (g m)) = floor((a + floor(b / g)) / m).
    """
    parts, cells = Fraction(lattice.parts, lattice.cells).as_integer_ratio()
    out = lattice.cells - offsets
    out *= offsets
    if parts > 1:
        out *= parts
    out += cells // 2
    whole = out.view(np.uint64)  # not negative: divided at twice the speed
    whole //= np.uint64(cells)
    return out


def power_sums(lattice: Lattice, raw: Raw, degree: int) -> list[int]:
    """Number of rows that hold a value, sum of their offsets and, for degree 2, sum of what `crossed` makes of them.

    Parameters
    ----------
    lattice : Lattice
    raw : (values, present)
        At most 2**17 rows. `present` is None when no row is missing; NaN counts as missing in any case.
    degree : {1, 2}

    Returns
    -------
    list of int
        Exact for all inputs: the sums stay below 2**17 * 2**31 in int64.
    """
    values, present = raw
    offsets, mask = lattice.offsets(values), present_mask(values, present)
    if mask is not None:
        offsets *= mask  # a missing row adds nothing
    sums = [values.size if mask is None else int(np.count_nonzero(mask)), int(np.add.reduce(offsets))]
    return sums if degree == 1 else [*sums, int(np.add.reduce(crossed(offsets, lattice)))]


def present_mask(values: NDArray[np.generic], present: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Which rows hold a value: not null and not NaN; None when all do."""
    if values.dtype.kind == "f" and values.size and np.isnan(np.maximum.reduce(values)):  # a NaN is passed on
        number: NDArray[np.bool_] = np.equal(values, values)
        return number if present is None else present & number
    return present


@lru_cache
def integer_info(dtype: np.dtype[Any]) -> np.iinfo[Any]:
    """Limits of an integer dtype; bool is uint8."""
    return np.iinfo(np.uint8 if dtype.kind == "b" else dtype)


def _log2_floor(x: Fraction) -> int:
    """Largest e with 2**e <= x, for x > 0."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def _round(x: Fraction) -> int:
    """floor(x + 1/2)."""
    return int((2 * x + 1) // 2)

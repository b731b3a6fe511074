"""Adding independent integer noise to integers of any size, and what every such noise says of itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, Mechanism, Noisy, added
from pandas_dp.core.randomness import Bits, Fill, random_bytes

FEWEST_FOR_TABLES = 32
WIDEST_FOR_TABLES = Fraction(2**49)
CHUNK = 1 << 18  # entries handled at once: temporaries stay small beside the answer


class Noise(Mechanism):
    """A mechanism that adds independent symmetric noise of one law, in whole steps, to every entry.

    Its floats are for display: they decide no draw.
    """

    name: str
    told = "standard_deviation"  # which of its attributes tells people how large it is

    @property
    @abstractmethod
    def standard_deviation(self) -> float:
        """Of one draw, at most this."""

    @abstractmethod
    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One noisy integer for each entry."""

    @abstractmethod
    def half_width(self, level: float) -> int:
        """Steps within which one draw stays with this probability."""

    @abstractmethod
    def tail(self, level: float) -> float:
        """Distance within which a convex combination of draws stays with this probability, fractions of steps aside."""

    @abstractmethod
    def combined(self, level: float) -> float:
        """Half-width t for weighted sums S = sum a_i Z_i with |a|_2 = 1, for all weights: P(|S| > t) <= 1 - level."""

    @abstractmethod
    def half_widths(self, weights: NDArray[np.float64], level: float) -> NDArray[np.float64]:
        """Half-widths of weighted sums of draws: farther from 0 they are with probability 1 - level at most, and nearly.

        Weights of shape (draws, ...) give shape (...).
        """

    @abstractmethod
    def lifting(self, steps: int, bits: int) -> Fraction:
        """At least the probability that one draw is `steps` or more, for all steps; about `bits` bits of it are right."""


def add_noise(
    exact: list[int] | NDArray[Any],
    parameter: Fraction,
    width: Fraction,
    scalar: Callable[..., int],
    vector: Callable[..., NDArray[np.int64]],
    fill: Fill,
    refine: int = 0,
) -> Noisy:
    """Add one independent draw, rounded from units of 2**-refine to the next integer (halves up), to each integer.

    Parameters
    ----------
    exact : list of int, or array of int64 or of Python ints
    parameter : Fraction
        What both samplers take.
    width : Fraction
        About the noise's standard deviation: beyond 2**49 the vector sampler's int64 would not hold it.
    scalar, vector : callable
        Two samplers of one law, scalar(numerator, denominator, bits) and vector(parameter, n, fill=); which one draws
        depends on the length and the width, both public.
    refine : int
        0 to 62.

    Notes
    -----
    For all integers x, z and r >= 0: x 2**r + z rounds to x + (z, rounded), as x 2**r is a multiple of the unit. So
    this is x on the finer lattice plus z, rounded after the draw. For r >= 1, z + 2**(r-1) over 2**r, floored, is
    floor(z / 2**(r-1)) + 1 over 2, floored: the second form needs no more bits than z.
    """
    if len(exact) < FEWEST_FOR_TABLES or width > WIDEST_FOR_TABLES:
        bits = Bits(fill, size=min(16 * len(exact), 512))  # words fetched at once for all entries
        numerator, denominator = parameter.as_integer_ratio()
        return [x + _rounded(scalar(numerator, denominator, bits), refine) for x in Exact(exact).open()]
    noisy: Noisy = []
    for at in range(0, len(exact), CHUNK):
        part = exact[at : at + CHUNK]
        noise = _rounded(vector(parameter, len(part), fill=fill), refine)
        noisy += Exact(added(part, noise.tolist() if isinstance(part, list) else noise)).open()
    return noisy


def _rounded(noise: Any, refine: int) -> Any:
    """Round an int, or int64s, as `add_noise` says."""
    return (noise >> refine - 1) + 1 >> 1 if refine else noise

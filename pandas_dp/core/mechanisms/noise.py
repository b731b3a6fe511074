"""Adding independent integer noise to integers of any size."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Noisy
from pandas_dp.core.randomness import Bits, Fill

FEWEST_FOR_TABLES = 32
WIDEST_FOR_TABLES = Fraction(2**49)


def add_noise(
    exact: list[int],
    parameter: Fraction,
    width: Fraction,
    scalar: Callable[..., int],
    vector: Callable[..., NDArray[np.int64]],
    fill: Fill,
) -> Noisy:
    """Add one independent draw to each integer.

    Parameters
    ----------
    exact : list of int
    parameter : Fraction
        What both samplers take.
    width : Fraction
        About the noise's standard deviation: beyond 2**49 the vector sampler's int64 would not hold it.
    scalar, vector : callable
        Two samplers of one law, scalar(numerator, denominator, bits) and vector(parameter, n, fill=); which one draws
        depends on the length and the width, both public.
    """
    if len(exact) < FEWEST_FOR_TABLES or width > WIDEST_FOR_TABLES:
        bits = Bits(fill, size=min(16 * len(exact), 512))  # words fetched at once for all entries
        numerator, denominator = parameter.as_integer_ratio()
        return [x + scalar(numerator, denominator, bits) for x in exact]
    noise = vector(parameter, len(exact), fill=fill).tolist()
    return [x + z for x, z in zip(exact, noise, strict=True)]

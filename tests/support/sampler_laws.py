"""The law of every public function of the core that takes random bytes: one without an entry here fails the suite."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.laws import UPPER, _quartic, rounded

from pandas_dp.core import bounding, randomness
from pandas_dp.core.mechanisms import noise, quantiles, randomized_response
from pandas_dp.core.mechanisms.quantiles import Intervals
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.randomness import Bits, random_bytes
from pandas_dp.core.samplers import scalar, tables, vector
from pandas_dp.core.samplers import selection as selecting
from pandas_dp.core.samplers import smooth as smooth_samplers
from tests.core.samplers.laws import (
    discrete_gaussian_law,
    discrete_laplace_law,
    exact_exp,
    exponential_mechanism_law,
    permute_and_flip_law,
)

Drawn = NDArray[np.int64]


@dataclass(frozen=True)
class Draws:
    """A sampler with known arguments.

    Attributes
    ----------
    draw : callable
        n draws, as integers.
    law, twin : dict
        The law that they have, and one that is a little off, which they must be told from.
    """

    draw: Callable[[int], Drawn]
    law: dict[int, float]
    twin: dict[int, float]


def each(draw: Callable[[], int]) -> Callable[[int], Drawn]:
    """One after the other."""
    return lambda n: np.fromiter((draw() for _ in range(n)), dtype=np.int64, count=n)


def from_bits(draw: Callable[..., int], *args: Any) -> Callable[[int], Drawn]:
    """One after the other, from one stream of the system's bits."""
    bits = Bits(random_bytes, size=4096)
    return each(partial(draw, *args, bits))


def uniform(count: int) -> dict[int, float]:
    return dict.fromkeys(range(count), 1 / count)


def geometric(scale: F) -> dict[int, float]:
    p = float(exact_exp(-1 / scale))
    return {z: (1 - p) * p**z for z in range(int(60 * scale))}


def tails(upper: Callable[[float], float], scale: float) -> dict[int, float]:
    """Rounded noise, farther draws left to the pool of all others."""
    law = rounded(upper, scale)
    return {z: p for z, p in law.items() if abs(z) < max(law)}


def kept(bound: Callable[..., NDArray[np.intp]], *args: Any) -> Callable[[int], Drawn]:
    """Which rows of each of many units are kept, as a number: each unit has three rows, in parts 0, 0 and 1."""

    def draw(n: int) -> Drawn:
        units, parts = np.repeat(np.arange(n), 3), np.tile([0, 0, 1], n)
        place = {"units": units, "count": n, "parts": parts, "part_count": 2}
        found = bound(*(place.get(arg, arg) if isinstance(arg, str) else arg for arg in args))
        chosen = np.zeros(3 * n, dtype=np.int64)
        chosen[found] = 1
        return chosen.reshape(n, 3) @ np.array([4, 2, 1])

    return draw


def orders(n: int) -> Drawn:
    """Orders of three items, each as the number of its digits."""
    return np.array([bounding.random_order(3) @ np.array([100, 10, 1]) for _ in range(n)])


TWO_ROWS, ONE_GROUP = PrivacyUnit("u", 2, 2, 2), PrivacyUnit("u", 3, 1, 3)
SINGLE = PrivacyUnit("u", 2, 2, 1)  # one row a part, so that one of the first two stays, and the third
PAIRS = {6: 1 / 3, 5: 1 / 3, 3: 1 / 3}
UNEVEN = {6: 0.4, 5: 0.3, 3: 0.3}


def cells(n: int) -> Drawn:
    """Places of one row of a cell of eight points."""
    eight = Intervals(np.arange(n) * 8, np.full(n, 8), np.ones(n, dtype=np.int64))
    return quantiles.placed(eight, 0, n, random_bytes).starts % 8


def table(n: int) -> Drawn:
    """A table of thresholds of a geometric law, as the vectors have them."""
    made = vector._geometric_table(1, 2, 1 << 40, 16, 64)
    return np.concatenate([made.draw(min(n - at, tables.CHUNK), random_bytes) for at in range(0, n, tables.CHUNK)])


def geometrics(n: int) -> Drawn:
    """Vectors of geometric draws, as many at once as tables give."""
    parts = [min(n - at, tables.CHUNK) for at in range(0, n, tables.CHUNK)]
    return np.concatenate([vector.geometric_vector(7, 2, size, random_bytes) for size in parts])


def softmax(rate: F) -> dict[int, float]:
    return exponential_mechanism_law([5, 3, 3, 0], rate)


def flips(rate: F) -> dict[int, float]:
    return permute_and_flip_law([5, 3, 3, 0], rate)


FOUR = np.array([5, 3, 3, 0])
RATE, SCALE, WIDER = F(2, 7), F(7, 2), F(5)
GAUSS, WIDE = discrete_gaussian_law(F(9)), discrete_gaussian_law(F(14))
LAP, OFF = discrete_laplace_law(SCALE), discrete_laplace_law(WIDER)
THIRD, COIN = {1: 1 / 3, 0: 2 / 3}, {1: 0.42, 0: 0.58}
FALLEN, OTHER = {1: math.exp(-0.5), 0: -math.expm1(-0.5)}, {1: math.exp(-0.7), 0: -math.expm1(-0.7)}

SAMPLERS: dict[Callable[..., Any], list[Draws]] = {
    scalar.bernoulli_exp: [Draws(each(lambda: scalar.bernoulli_exp(F(1, 2))), FALLEN, OTHER)],
    scalar.draw_bernoulli_exp: [Draws(from_bits(scalar.draw_bernoulli_exp, 1, 2), FALLEN, OTHER)],
    scalar.uniform_below: [Draws(each(lambda: scalar.uniform_below(7)), uniform(7), uniform(8))],
    scalar.draw_below: [Draws(from_bits(scalar.draw_below, 7), uniform(7), uniform(8))],
    scalar.exponential: [
        Draws(
            from_bits(lambda bits: scalar.floor_times(scalar.exponential(bits), 7, 2)),
            geometric(SCALE),
            geometric(WIDER),
        )
    ],
    scalar.draw_geometric: [Draws(from_bits(scalar.draw_geometric, 7, 2), geometric(SCALE), geometric(WIDER))],
    scalar.discrete_laplace: [Draws(each(lambda: scalar.discrete_laplace(SCALE)), LAP, OFF)],
    scalar.draw_discrete_laplace: [Draws(from_bits(scalar.draw_discrete_laplace, 7, 2), LAP, OFF)],
    scalar.discrete_gaussian: [Draws(each(lambda: scalar.discrete_gaussian(F(9))), GAUSS, WIDE)],
    scalar.draw_discrete_gaussian: [Draws(from_bits(scalar.draw_discrete_gaussian, 9, 1), GAUSS, WIDE)],
    vector.geometric_vector: [Draws(geometrics, geometric(SCALE), geometric(WIDER))],
    vector.discrete_laplace_vector: [Draws(partial(vector.discrete_laplace_vector, SCALE), LAP, OFF)],
    vector.discrete_gaussian_vector: [Draws(partial(vector.discrete_gaussian_vector, F(9)), GAUSS, WIDE)],
    selecting.permute_and_flip: [
        Draws(each(lambda: selecting.permute_and_flip(FOUR, RATE)), flips(RATE), flips(F(1, 9)))
    ],
    selecting.exponential_mechanism: [
        Draws(each(lambda: selecting.exponential_mechanism(FOUR, RATE)), softmax(RATE), softmax(F(1, 9)))
    ],
    smooth_samplers.draw_polynomial: [
        Draws(from_bits(smooth_samplers.draw_polynomial, gamma, 9, 2), tails(upper, 4.5), tails(upper, 6.5))
        for gamma, upper in ((2, UPPER["cauchy"]), (4, _quartic))
    ],
    smooth_samplers.draw_student3: [
        Draws(
            from_bits(smooth_samplers.draw_student3, 9, 2),
            tails(UPPER["student_t"], 4.5),
            tails(UPPER["student_t"], 6.5),
        )
    ],
    smooth_samplers.draw_polynomial_laplace: [
        Draws(
            from_bits(smooth_samplers.draw_polynomial_laplace, 9, 1),
            tails(UPPER["polynomial_laplace"], 9),
            tails(UPPER["polynomial_laplace"], 13),
        )
    ],
    smooth_samplers.draw_laplace: [
        Draws(from_bits(smooth_samplers.draw_laplace, 9, 2), tails(UPPER["laplace"], 4.5), tails(UPPER["laplace"], 6.5))
    ],
    smooth_samplers.draw_gaussian: [
        Draws(
            from_bits(smooth_samplers.draw_gaussian, 9, 2), tails(UPPER["gaussian"], 4.5), tails(UPPER["gaussian"], 6.5)
        )
    ],
    noise.add_noise: [
        Draws(
            lambda n, size=size: np.concatenate(
                [
                    np.array(
                        noise.add_noise(
                            [5] * size,
                            SCALE,
                            SCALE,
                            scalar.draw_discrete_laplace,
                            vector.discrete_laplace_vector,
                            random_bytes,
                        )
                    )
                    - 5
                    for _ in range(n // size)
                ]
            ),
            LAP,
            OFF,
        )
        for size in (10, 1000)  # one by one, and from tables
    ],
    randomized_response.happens: [
        Draws(lambda n: randomized_response.happens((1 << 64) // 3, n, random_bytes).astype(np.int64), THIRD, COIN)
    ],
    randomized_response.uniform_parts: [
        Draws(lambda n: randomized_response.uniform_parts(n, 7, random_bytes).astype(np.int64), uniform(7), uniform(8))
    ],
    quantiles.placed: [Draws(cells, uniform(8), uniform(9))],
    randomness.random_words: [
        Draws(lambda n: (randomness.random_words(n) >> np.uint64(60)).astype(np.int64), uniform(16), uniform(17))
    ],
    bounding.keep_at_most: [Draws(kept(bounding.keep_at_most, "units", "count", 2), PAIRS, UNEVEN)],
    bounding.random_order: [
        Draws(
            orders,
            dict.fromkeys((12, 21, 102, 120, 201, 210), 1 / 6),
            {12: 0.25, 21: 0.15} | dict.fromkeys((102, 120, 201, 210), 0.15),
        )
    ],
    bounding.bound_rows: [Draws(kept(bounding.bound_rows, "units", "count", TWO_ROWS), PAIRS, UNEVEN)],
    bounding.bound_groups: [
        Draws(
            kept(bounding.bound_groups, "units", "count", "parts", "part_count", ONE_GROUP),
            {6: 0.5, 1: 0.5},
            {6: 2 / 3, 1: 1 / 3},
        )
    ],
    bounding.bound_parts: [
        Draws(
            kept(bounding.bound_parts, "units", "count", "parts", "part_count", SINGLE),
            {5: 0.5, 3: 0.5},
            {5: 0.55, 3: 0.45},
        )
    ],
}
TABLES = [Draws(table, geometric(F(2)), geometric(F(3)))]  # of `Table`, which is a class

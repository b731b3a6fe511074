"""Differences of means of two groups: coverage over fresh samples and noise, p-values, and what has none.

Coverage is compared with 0.935 (the noise alone with 0.94), see `enough`: with new seeds right intervals fail this file with
probability below 1e-7. Power: of 300 draws a coverage of 0.75 has too few hits with probability 0.99.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.coverage import LEVEL, drawn, enough
from support.frames import fresh

import pandas_dp
from pandas_dp.aggregates.differences import difference_of
from pandas_dp.aggregates.population import sampled
from pandas_dp.aggregates.shared_moments import RotatedMean
from pandas_dp.aggregates.uncertainty import Ratio
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.statistics.sums import Moments
from pandas_dp.facts.kinds import Kind

FINE = Lattice(Fraction(1, 2**30), 0, 2**30)  # from 0 to 1
ROW = int(Moments("x", FINE, 2).row_total)
DRAWS, KEYS = 300, pd.Index(["a", "b"])
SHAPES = {
    "normal": lambda rng, size: np.clip(rng.normal(0.4, 0.1, size), 0, 1),
    "skew": lambda rng, size: np.clip(rng.lognormal(-3, 0.8, size), 0, 1),
    "zeros": lambda rng, size: np.where(rng.random(size) < 0.8, 0, rng.random(size)),
    "bools": lambda rng, size: (rng.random(size) < 0.2).astype(float),
}
SETTINGS = [(40, 60, 1 / 3), (500, 300, 1), (2000, 500, 20)]


def noise_of(law: str, scale: float, row: int):
    steps = Fraction(scale) * row
    return DiscreteLaplace(steps) if law == "Laplace" else DiscreteGaussian(steps**2)


def look(shapes, samples, noise):
    """What a look at two groups says of their means."""
    values, parts = [], []
    for shape, sample, z in zip(shapes, samples, noise, strict=True):
        if shape == "bools":
            exact = np.array([sample.sum(), (1 - sample).sum()]) * FINE.cells
        else:
            y = 2 * sample - 1
            double, square = 2 * y.sum(), (y**2).sum()
            exact = np.array([len(y) + double + square, len(y) - double + square, 2 * (len(y) - square)]) / 4 * ROW
        parts.append(tuple(int(x) for x in exact + z[: len(exact)]))
        f = parts[-1]
        values.append(min(max((f[0] + (f[2] / 2 if len(f) == 3 else 0)) / max(sum(f), 1), 0.0), 1.0))
    return pd.Series(values, index=KEYS), tuple(parts)


def error_of(parts, noise):
    if len(parts[0]) == 2:
        return Ratio(parts, noise, FINE, Kind("bool"), False, FINE.cells)
    return RotatedMean(noise, tuple(f[0] - f[1] for f in parts), tuple(map(sum, parts)), 0.5, 0.5, 0.0, parts, ROW)


def covered(shapes, sizes, scale, law, seed=1):
    """How often the interval holds for the population, and that of the noise for the rows."""
    rng = np.random.default_rng(seed)
    truth = np.subtract(*(SHAPES[shape](np.random.default_rng(2), 10**6).mean() for shape in shapes))
    noise = noise_of(law, scale, FINE.cells if shapes[0] == "bools" else ROW)
    of_all = of_rows = 0
    for z in drawn(noise, (DRAWS, 2, 3), seed):
        samples = [SHAPES[shape](rng, size) for shape, size in zip(shapes, sizes, strict=True)]
        values, parts = look(shapes, samples, z)
        value, known = difference_of(error_of(parts, noise), values, "a", "b", None)
        of_all += np.greater_equal(*known.population.bounds(value, LEVEL)[::-1]) and inside(
            known.population, value, truth
        )
        of_rows += inside(known, value, samples[0].mean() - samples[1].mean())
    return of_all, of_rows


def inside(error, value, truth) -> bool:
    lower, upper = error.bounds(value, LEVEL)
    return bool(lower <= truth <= upper)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("shapes", [("normal", "normal"), ("skew", "normal"), ("zeros", "zeros"), ("bools", "bools")])
@pytest.mark.parametrize("law", ["Laplace", "Gaussian"])
@pytest.mark.parametrize(("first", "second", "scale"), SETTINGS)
def test_differences_are_covered_of_the_population_and_of_the_rows(shapes, first, second, scale, law):
    of_all, of_rows = covered(shapes, (first, second), scale, law)
    assert of_all >= enough(DRAWS, 0.935)
    assert of_rows >= enough(DRAWS, 0.94)


def two(rows=400, t=(0.4, 0.45), scale=2):
    noise = noise_of("Laplace", scale, ROW)
    parts = tuple(
        tuple(int(x * rows * ROW) for x in (theta**2 + 0.01, (1 - theta) ** 2 + 0.01, 2 * theta * (1 - theta) - 0.02))
        for theta in t
    )
    return pd.Series(t, index=KEYS), error_of(parts, noise)


def test_without_the_sampling_the_test_fails():
    """The twin: an interval of the noise alone, where that is small."""
    rng, noise, hits = np.random.default_rng(1), noise_of("Laplace", 1, ROW), 0
    for z in drawn(noise, (DRAWS, 2, 3)):
        values, parts = look(("normal", "normal"), [SHAPES["normal"](rng, 500) for _ in range(2)], z)
        hits += inside(difference_of(error_of(parts, noise), values, "a", "b", None)[1], values["a"] - values["b"], 0.0)
    assert hits < enough(DRAWS, 0.935)


def test_a_p_value_is_where_the_interval_ends_at_zero():
    values, error = two()
    value, known = difference_of(error, values, "a", "b", None)
    assert value == pytest.approx(-0.05)
    chance = known.population.chance(value)
    lower, upper = known.population.bounds(value, 1 - chance)
    assert lower < upper == pytest.approx(0, abs=1e-7)
    assert known.population.chance(0.0) == pytest.approx(1)
    assert known.population.chance(1.0) == pytest.approx(1e-12, rel=1e-3)
    back = difference_of(error, values, "b", "a", None)
    assert back[0] == -value
    assert back[1].population.chance(-value) == pytest.approx(chance)
    assert known.bounds(value, LEVEL)[0] > known.population.bounds(value, LEVEL)[0]


def test_of_too_few_rows_nothing_is_told():
    values, error = two(rows=25)  # some 12 scales of the noise
    value, known = difference_of(error, values, "a", "b", None)
    assert math.isnan(value)
    assert math.isnan(known.population.chance(value))
    assert known.bounds(value, LEVEL) == known.population.bounds(value, LEVEL) == (-1, 1)


def test_as_students_t_where_noise_is_nothing():
    """Welch's degrees of freedom."""
    values, error = two(rows=30, scale=1e-6)
    known = difference_of(error, values, "a", "b", None)[1]
    means = sampled(error)
    squares = means.variance(*means.sums()[:2]) / 30
    assert known.deviation == pytest.approx(math.sqrt(squares.sum()))
    assert known.freedom == pytest.approx(squares.sum() ** 2 / (squares**2 / 29).sum())
    assert replace(known, freedom=1e6, of_sample=True).half(LEVEL) < known.population.half(LEVEL)


# -------------------------------------------------------------------------------------------------------------- as is typed
@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(4)
    df = pd.DataFrame({"ward": np.resize(["A", "B"], 4000), "uid": np.arange(4000) // 2})
    df["age"] = rng.integers(20, 80, 4000) + 5 * (df["ward"] == "B")
    df["old"] = df["age"] > 60
    df.dp.protect(epsilon=1000, name=fresh())
    yield df.dp(epsilon=1).groupby("ward", keys=["A", "B", "C"])
    df.dp.session.close()


def test_two_groups_are_compared_for_nothing(groups):
    bounds, left = (0, 100), groups._frame._frame.dp.session
    means = groups["age"].mean(bounds=bounds, population=True)
    before = str(left.left)
    more = means.difference("B", "A")
    assert more == means["B"] - means["A"]
    assert more.interval().lower < more < more.interval().upper
    of = more.interval(of="population")
    assert (of.upper - of.lower) / 2 == pytest.approx(1.96 * 17.3 * math.sqrt(2 / 2000), rel=0.05)
    assert 0 <= more.p_value < 1e-9
    assert "free: a difference of means" in more.notes[-1]
    assert str(more.query).endswith("mean(bounds=(0, 100), population=True).difference('B', 'A')")
    assert means.sort_values().round(1).difference("B", "A") == more
    assert type(more + 1) is float
    assert str(left.left) == before
    for other in (groups["age"].agg(["mean", "std"], bounds=bounds), groups["old"].mean()):
        assert other.difference("B", "A").p_value < 1e-3
    both = groups.agg(a=("age", "mean"), b=("age", "std"), c=("old", "mean"), bounds={"age": bounds})
    assert both.difference("A", "B", column="a") < 0
    none = means.difference("A", "C")
    assert math.isnan(none)
    assert math.isnan(none.p_value)
    assert "too few rows in one of the groups" in repr(none)


def test_of_others_it_is_refused(groups):
    bounds = (0, 100)
    alone = groups["age"].mean(bounds=bounds)
    apart = alone.difference("A", "B")
    assert apart.interval().lower < apart
    for ask in (lambda: apart.p_value, lambda: apart.interval(of="population")):
        with pytest.raises(pandas_dp.ArgumentTypeError, match="population=True"):
            ask()
    for other in (
        groups.size(),
        groups["age"].median(bounds=bounds),
        groups._frame.agg({"age": ["mean", "std"]}, bounds={"age": bounds}),
    ):
        with pytest.raises(pandas_dp.ArgumentTypeError, match=r"means of numbers by group: groupby"):
            other.difference("A", "B")
    for labels in (("A", "D"), ("A", ["B"]), ("A", slice("A", "B")), (0, 1)):
        with pytest.raises(pandas_dp.ArgumentValueError, match="takes two labels"):
            alone.difference(*labels)
    with pytest.raises(pandas_dp.ArgumentValueError, match="needs two groups"):
        alone.difference("A", "A")
    with pytest.raises(pandas_dp.ArgumentValueError, match="tables of several answers"):
        alone.difference("A", "B", column="age")
    table = groups.agg({"age": ["mean", "std"], "old": "mean"}, bounds={"age": bounds})
    for column in (None, ("age", "std")):
        with pytest.raises(
            pandas_dp.ArgumentValueError, match=r"column must be one of \('age', 'mean'\), \('old', 'mean'\)"
        ):
            table.difference("A", "B", column=column)

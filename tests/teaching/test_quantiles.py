"""Sensitivities for teaching: by their definition, as the package uses them, and never of a protected table."""

from __future__ import annotations

import math
import random
import time
from fractions import Fraction as F
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest

from pandas_dp.core.statistics.lattice_counts import Points
from pandas_dp.core.statistics.smooth import GAP, LOG_BITS, smooth
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.teaching import sensitivities
from pandas_dp.teaching.public import MOST_VALUES

RELATIONS = ["add_remove", "replace_one"]
LEVELS = [0, 0.01, 0.2, 0.5, 0.6, 0.9, 1]
VALUES, END = (0, 1, 4, 9), 9  # four values, the ends among them
NEARLY = 1 + 2 * GAP / 2**LOG_BITS  # how far above S* the package's integer logarithm may lie


def quantile(rows, q) -> int:
    return sorted(rows)[max(1, math.ceil(F(str(q)) * len(rows))) - 1] if rows else 0


def neighbours(rows, relation) -> list[tuple[int, ...]]:
    without = [rows[:i] + rows[i + 1 :] for i in range(len(rows))]
    if relation == "replace_one":
        return [tuple(sorted((*rest, v))) for rest in without for v in VALUES]
    return without + [tuple(sorted((*rows, v))) for v in VALUES]


def local(rows, q, relation) -> int:
    return max(abs(quantile(rows, q) - quantile(other, q)) for other in neighbours(rows, relation))


def by_distance(rows, q, relation, most) -> list[int]:
    """Largest local sensitivity of the tables 0, 1, ..., most steps away, found by walking there."""
    ring, seen, found = {rows}, {rows}, []
    for _ in range(most + 1):
        found.append(max([local(r, q, relation) for r in ring if r or relation == "add_remove"], default=0))
        ring = {other for r in ring for other in neighbours(r, relation)} - seen
        seen |= ring
    return np.maximum.accumulate(found).tolist()  # fewer steps than allowed may be best


@pytest.mark.one_in(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("q", LEVELS)
def test_the_definition(q, relation):
    """Every table of up to 3 values; A(k) by walking k steps, S* from it."""
    for rows in (t for n in range(1, 4) for t in combinations_with_replacement(VALUES, n)):
        found = sensitivities(rows, (0, END), q, beta=0.4, relation=relation)
        walked = by_distance(rows, q, relation, len(rows))
        assert found.value == quantile(rows, q)
        assert found.local_sensitivity == walked[0]
        least = max(a * math.exp(-0.4 * k) for k, a in enumerate(walked))
        assert found.exact == (relation == "replace_one" or q == 0.5)
        if found.exact:
            assert list(found.largest) == walked
            assert found.smooth_sensitivity == pytest.approx(least, rel=1e-12)
        assert all(a >= b for a, b in zip(found.largest, walked, strict=True))
        assert least <= found.smooth_sensitivity * (1 + 1e-12) <= 2.2 * least


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_package_uses_the_same(relation):
    rng = random.Random(18)
    for _ in range(400):
        end = rng.choice([3, 50, 10**6])
        rows = [rng.randint(0, end) for _ in range(rng.randint(1, 30))]
        q, beta = rng.choice(LEVELS), rng.choice([0.01, 0.1, 0.5, 2])
        found = sensitivities(rows, (0, end), q, beta=beta, relation=relation)
        offsets, counts = np.unique(np.array(rows), return_counts=True)
        value, scale = smooth(Points(offsets, counts), end, F(str(q)), F(str(beta)), 1, relation == "add_remove")
        assert found.value == value
        used = math.exp(scale / 2**LOG_BITS)
        assert found.smooth_sensitivity * (1 - 1e-12) <= used
        floor = 1e-6  # below, the package takes exp(-14)
        assert used <= max(found.smooth_sensitivity * NEARLY, floor)


def test_example_of_the_ten_numbers():
    """1, ..., 10 within 0..1000 at beta = 2: S* = 1 at k = 0; windows of k + 1 gaps, from k = 5 on up to 1000."""
    found = sensitivities(range(1, 11), (0, 1000), beta=2, relation="replace_one")
    assert (found.value, found.local_sensitivity, found.smooth_sensitivity, found.k) == (5, 1, 1, 0)
    assert list(found.largest) == [1, 2, 3, 4, 5, 995, 996, 997, 998, 999, 1000]
    assert found.global_sensitivity == 1000
    table = found.table()
    assert table["A(k)"].tolist() == [float(a) for a in found.largest]
    assert table["exp(-beta k) A(k)"].tolist() == pytest.approx(
        [a * math.exp(-2 * k) for k, a in enumerate(table["A(k)"])]
    )
    assert (table["to"] - table["from"]).tolist() == table["A(k)"].tolist()


def test_local_sensitivity_jumps_from_nothing_to_everything():
    """Six values 0 and four L, and its neighbour: no noise at all against noise of size L."""
    one, other = (
        sensitivities([0] * (10 - many) + [100] * many, (0, 100), beta=0.5, relation="replace_one") for many in (4, 5)
    )
    assert (one.local_sensitivity, other.local_sensitivity) == (0, 100)
    assert one.value == other.value == 0
    assert other.smooth_sensitivity / one.smooth_sensitivity == pytest.approx(math.exp(0.5))


def adjacent_gaps(found) -> float:
    """The formula of a lecture: only gaps of neighbours in rank within k of the median, then the whole range."""
    x = [found.bounds[0], *found.values, found.bounds[1]]
    r, n, best = (len(found.values) + 1) // 2, len(found.values), 0.0
    for k in range(n):
        near = range(max(0, r - k - 1), min(n + 1, r + k + 1))
        span = found.global_sensitivity if k >= min(r, n + 1 - r) else max(x[i + 1] - x[i] for i in near)
        best = max(best, float(span) * math.exp(-float(found.beta) * k))
    return best


def test_gaps_between_neighbours_alone_are_not_smooth():
    """41 equal distances, one value of which moves: that formula doubles where exp(0.3) = 1.35, S* keeps to it."""
    even = [10 * i for i in range(1, 42)]
    moved = [*even[:20], 0, *even[21:]]  # the 21st value leaves a gap of 20
    one, other = (sensitivities(rows, (0, 420), beta=0.3, relation="replace_one") for rows in (even, moved))
    assert (adjacent_gaps(one), adjacent_gaps(other)) == (10, 20)
    assert one.smooth_sensitivity == pytest.approx(16.46, abs=0.005)
    assert (one.k, one.largest[2]) == (2, 30)
    assert other.smooth_sensitivity / one.smooth_sensitivity <= math.exp(0.3)


def test_values_are_exact_and_clipped():
    found = sensitivities(np.array([0.1, 0.2, 7.0]), (0, 1), beta=0.1)
    assert found.values == (F(1, 10), F(1, 5), F(1))
    assert found.local_sensitivity == F(1, 10)
    assert sensitivities(pd.Series([1, 2, 3]), (0, 9), beta=1) == sensitivities([3, 1, 2], [0, 9], beta=1)


def test_everything_shown_is_marked():
    found = sensitivities(range(100), (0, 100), 0.9, beta=0.1)
    assert repr(found).startswith("NOT PRIVATE")
    assert "upper bound" in repr(found)
    assert "0, 1, 2" in repr(found)
    assert ", ...\n" in repr(found)
    assert "upper bound" not in repr(sensitivities([1], (0, 2), beta=1))
    assert str(found.table()).startswith("NOT PRIVATE")


def test_what_underflows_is_told_by_its_logarithm():
    found = sensitivities([5] * 499, (0, 9), beta=20, relation="replace_one")
    assert found.smooth_sensitivity == 0
    assert f"exp({math.log(5) - 20 * 249:.6g}) at k = 249" in repr(found)


def test_as_many_values_as_allowed_take_seconds():
    start = time.process_time()
    sensitivities(range(MOST_VALUES), (0, MOST_VALUES), beta=0.1, relation="replace_one")
    assert time.process_time() - start < 10


def test_protected_tables_and_their_columns_are_refused():
    df = pd.DataFrame({"x": [1.0, 2.0, 3.0], "name": ["a", "b", "c"]})
    same = df["x"].tolist()
    df.dp.protect(epsilon=1, name="no teaching")
    kept = df.dp.query("x > 0")
    for values in (df, df["x"], df.x, kept, kept["x"]):
        with pytest.raises(ArgumentTypeError, match=r"protected.*sensitivities\(\[1, 2, 3\]"):
            sensitivities(values, (0, 9), beta=1)
    assert sensitivities(same, (0, 9), beta=1).value == 2  # a list tells nothing of where it came from


@pytest.mark.parametrize(
    "values",
    ["123", 5, None, {1: 2}, {1, 2}, pd.DataFrame({"x": [1]}), [1, None], [1, float("nan")], [1, "2"], [True], [1j]],
)
def test_values_that_are_no_numbers(values):
    with pytest.raises(ArgumentTypeError, match=r"sensitivities\(\[1, 2, 3\]"):
        sensitivities(values, (0, 9), beta=1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"values": []},
        {"values": [1] * (MOST_VALUES + 1)},
        {"values": np.ones((2, 2))},
        {"values": [[1, 2], [3, 4]]},
        {"bounds": (9, 0)},
        {"bounds": (0, 5, 9)},
        {"bounds": (0, float("inf"))},
        {"beta": 0},
        {"beta": -1},
        {"beta": 1e7},
        {"q": 1.5},
        {"relation": "replace"},
    ],
)
def test_values_of_arguments(arguments):
    with pytest.raises(ArgumentValueError):
        sensitivities(**({"values": [1, 2], "bounds": (0, 9), "beta": 1} | arguments))


@pytest.mark.parametrize("arguments", [{"bounds": 9}, {"bounds": "09"}, {"beta": "1"}, {"q": [0.1, 0.9]}, {"q": "a"}])
def test_types_of_arguments(arguments):
    with pytest.raises(ArgumentTypeError):
        sensitivities(**({"values": [1, 2], "bounds": (0, 9), "beta": 1} | arguments))


@pytest.fixture
def figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_picture(figures, relation):
    found = sensitivities([3, 3, 3, 7, 8], (0, 100), beta=0.3, relation=relation)
    line, distances = found.plot()
    line.figure.canvas.draw()
    assert "NOT PRIVATE" in line.get_title()
    assert line.lines[0].get_xydata().tolist() == [[3, 0], [3, 1], [3, 2], [7, 0], [8, 0]]
    (window,) = line.patches
    i, j = found.windows[found.k]
    x = [0, *found.values, 100]
    assert (window.get_x(), window.get_width()) == (x[i], x[j] - x[i])
    assert [bar.get_height() for bar in distances.patches] == found.table()["exp(-beta k) A(k)"].tolist()
    top, local_line, whole = distances.lines
    assert top.get_xydata().tolist() == [[found.k, found.smooth_sensitivity]]
    assert (local_line.get_ydata()[0], whole.get_ydata()[0]) == (found.local_sensitivity, 100)


@pytest.mark.slow
def test_the_picture_into_given_axes_and_of_extremes(figures):
    _, axes = figures.subplots(2, 1)
    found = sensitivities([5] * 499, (0, 9), beta=20, relation="replace_one")
    assert found.plot(axes) is axes
    axes[0].figure.canvas.draw()

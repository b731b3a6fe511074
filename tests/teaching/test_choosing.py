"""The exponential mechanism in the open: against orders of visits, the package's own laws, neighbours and the theorem."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.teaching import selection

EXPONENTIAL, FLIP = "exponential mechanism", "permute-and-flip"


def visited(scores, rate) -> list[float]:
    """Chances of permute-and-flip, order by order."""
    found, best = [0.0] * len(scores), max(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            kept = math.exp(-rate * (best - scores[i]))
            found[i] += left * kept / len(orders)
            left *= 1 - kept
    return found


@pytest.mark.parametrize("scores", [[3], [3, 3], [5, 4, 0], [0, 1, 7, 7, 2, -4]])
@pytest.mark.parametrize("monotonic", [False, True])
def test_both_laws(scores, monotonic):
    found = selection(scores, epsilon=1, sensitivity=2, monotonic=monotonic)
    rate = 1 / 2 / (1 if monotonic else 2)
    assert found.rate == F(str(rate))
    weights = np.exp(rate * np.array(scores, dtype=float))
    assert found.chances[EXPONENTIAL] == pytest.approx(weights / weights.sum(), rel=1e-12)
    assert found.chances[FLIP] == pytest.approx(visited(scores, rate), rel=1e-12)


def test_many_candidates_add_up():
    found = selection([-i % 17 for i in range(500)], epsilon=0.3)
    assert [chances.sum() for chances in found.chances.values()] == pytest.approx([1, 1], rel=1e-10)
    assert all((chances > 0).all() for chances in found.chances.values())


def losses(scores, other, **terms) -> float:
    one, two = (selection(s, **terms).chances for s in (scores, other))
    return max(float(np.abs(np.log(one[name] / two[name])).max()) for name in one)


def test_no_neighbour_tells_more_than_epsilon():
    """Counts of all tables of up to 3 rows over 3 keys: one more row with c = epsilon, a replaced one with half of it."""
    tables = [counts for counts in product(range(4), repeat=3) if sum(counts) <= 3]
    worst = {"more": 0.0, "replaced": 0.0, "replaced without the half": 0.0}
    for one, two in product(tables, repeat=2):
        change = sorted(b - a for a, b in zip(one, two, strict=True))
        if change == [0, 0, 1]:
            worst["more"] = max(worst["more"], losses(one, two, epsilon=1, monotonic=True))
        if change == [-1, 0, 1]:
            worst["replaced"] = max(worst["replaced"], losses(one, two, epsilon=1))
            wrong = losses(one, two, epsilon=1, monotonic=True)
            worst["replaced without the half"] = max(worst["replaced without the half"], wrong)
    assert worst["more"] <= 1 + 1e-12
    assert worst["replaced"] <= 1 + 1e-12
    assert worst["replaced without the half"] > 1.3


@pytest.mark.parametrize("measure", [None, [1, 5, 0, 2]])
def test_the_bound_holds(measure):
    found = selection([10, 9, 30 if measure else 10, 2], epsilon=0.7, measure=measure)
    assert found.best == 10
    for t in (0.1, 1, 3):
        told = found.chance_below(found.shortfall(t))
        assert told["bound"] == pytest.approx(math.exp(-t))
        assert (told <= told["bound"]).all()


def test_a_measure_tilts_and_has_no_permute_and_flip():
    found = selection({"a": 1, "b": 1}, epsilon=2, measure={"b": 3, "a": 1})
    assert found.table().columns.tolist() == ["score", "measure", EXPONENTIAL]
    assert found.chances[EXPONENTIAL].tolist() == [0.25, 0.75]
    assert selection([1, 5], epsilon=9, measure=[1, 0]).chances[EXPONENTIAL].tolist() == [1, 0]


def test_examples_of_the_lectures():
    """Hair colour: the bound 4 exp(-5), and what is true; four nations: 8.77 / epsilon at t = 3, 6.77 / epsilon at t = 2."""
    told = [
        selection([500, 400, low, low], epsilon=0.1, monotonic=rising).chance_below(100)
        for low, rising in ((0, False), (400, False), (0, True))
    ]
    assert [round(each["bound"], 5) for each in told[:2]] == [round(4 * math.exp(-5), 5)] * 2
    assert [round(each[EXPONENTIAL], 6) for each in told] == [0.006693, 0.019813, 0.000045]
    nations = selection([4, 3, 2, 1], epsilon=1)
    assert [round(nations.shortfall(t), 2) for t in (2, 3)] == [6.77, 8.77]


def test_labels_come_from_an_index_or_a_dict():
    scores = pd.Series([3, 4], index=["x", "y"])
    assert selection(scores, epsilon=1).candidates == selection({"x": 3, "y": 4}, epsilon=1).candidates == ("x", "y")
    assert repr(selection(scores, epsilon=1)).startswith("NOT PRIVATE")


def test_what_is_refused():
    df = pd.DataFrame({"x": [1.0, 2.0]})
    df.dp.protect(epsilon=1, name="no scores")
    for scores in (df["x"], df, {"a": df["x"]}):
        with pytest.raises(ArgumentTypeError, match=r"selection\("):
            selection(scores, epsilon=1)
    for arguments in ({"scores": []}, {"epsilon": 0}, {"sensitivity": -1}, {"measure": [1]}, {"measure": [0, 0]}):
        with pytest.raises(ArgumentValueError):
            selection(**({"scores": [1, 2], "epsilon": 1} | arguments))
    twice = pd.Series([1, 2], index=["x", "x"])
    with pytest.raises(ArgumentValueError, match="once"):
        selection(twice, epsilon=1)
    with pytest.raises(ArgumentTypeError, match="monotonic"):
        selection([1, 2], epsilon=1, monotonic=1)
    with pytest.raises(ArgumentValueError, match="shortfall"):
        selection([1, 2], epsilon=1).chance_below(0)


def test_the_picture():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    found = selection({"a": 2, "b": 1}, epsilon=1)
    ax = found.plot(figure.subplots())
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == [*found.chances[EXPONENTIAL], *found.chances[FLIP]]
    assert ax.get_title().startswith("NOT PRIVATE")

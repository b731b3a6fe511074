"""Post-processing of released vectors: known answers, brute force, and what holds for any numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.releases import a_series, release

from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.aggregates import tidy
from pandas_dp.aggregates.tidy import isotonic, nonnegative, round_to_total, to_simplex
from pandas_dp.release.values import SeriesRelease

NUMBERS = st.lists(st.one_of(st.integers(-1000, 1000), st.floats(-1000, 1000, width=32)), min_size=1, max_size=12)
TOTALS = st.one_of(st.none(), st.integers(0, 3000))


def series(values, dtype=float) -> pd.Series:
    return pd.Series(values, index=[f"k{i}" for i in range(len(values))], name="count", dtype=dtype)


def same_labels(result: pd.Series, given: pd.Series) -> bool:
    return type(result) is pd.Series and result.index.equals(given.index) and result.name == given.name


def test_known_answers():
    assert nonnegative(series([3, -2, 0], int)).tolist() == [3, 0, 0]
    assert nonnegative(series([3, -2], int)).dtype == np.int64
    assert to_simplex(series([5, 3, -2])).tolist() == [4, 2, 0]
    assert to_simplex(series([5, 3, -2]), total=10).tolist() == [6, 4, 0]
    assert to_simplex(series([5, 3, -2]), total=0).tolist() == [0, 0, 0]
    assert to_simplex(series([-5, -3])).tolist() == [0, 0]
    assert to_simplex(series([-5, -3]), total=1).tolist() == [0, 1]
    assert to_simplex(series([1, 1, 1]), total=1).tolist() == pytest.approx([1 / 3] * 3)
    assert round_to_total(series([1.4, 1.4, 1.2])).tolist() == [2, 1, 1]
    assert round_to_total(series([-0.5, 0.5])).tolist() == [0, 0]
    assert round_to_total(series([10, 20]), total=33).tolist() == [12, 21]
    assert round_to_total(series([])).dtype == np.int64
    assert isotonic(series([1, 3, 2, 5])).tolist() == [1, 2.5, 2.5, 5]
    assert isotonic(series([4, 3, 2, 1])).tolist() == [2.5] * 4
    assert isotonic(series([1, 3, 2]), increasing=False).tolist() == [2, 2, 2]
    assert isotonic(np.array([2.0, 1.0])).tolist() == [1.5, 1.5]
    assert isotonic(series([])).size == 0


@given(values=NUMBERS, total=TOTALS)
def test_simplex(values, total):
    """The nearest point: it lies there, and x - projection is one amount where positive and at most that elsewhere."""
    x = series(values)
    y = to_simplex(x, total)
    wanted = max(0.0, x.sum()) if total is None else total
    assert same_labels(y, x)
    assert (y >= 0).all()
    assert y.sum() == pytest.approx(wanted, abs=1e-6)
    taken, positive = (x - y).to_numpy(), y.to_numpy() > 1e-9  # conditions of Karush, Kuhn and Tucker
    if positive.any():
        amount = taken[positive].mean()
        assert taken[positive] == pytest.approx(np.full(positive.sum(), amount), abs=1e-6)
        assert (taken[~positive] <= amount + 1e-6).all()


@given(values=NUMBERS, total=TOTALS)
def test_rounding_keeps_the_total(values, total):
    x = series(values)
    y = round_to_total(x, total)
    assert same_labels(y, x)
    assert y.dtype == np.int64
    wanted = round(x.sum()) if total is None else total
    assert abs(y.sum() - wanted) <= (abs(x.sum() % 1 - 0.5) < 1e-6)  # a half may go either way
    shifted = x + (wanted - x.sum()) / x.size
    assert (y - shifted).abs().max() < 1 + 1e-6


@given(values=st.lists(st.floats(-2, 2, width=16), min_size=1, max_size=3), total=st.integers(-3, 3))
def test_rounding_is_nearest_by_brute_force(values, total):
    y = round_to_total(series(values), total)
    others = [c for c in product(range(-8, 9), repeat=len(values)) if sum(c) == total]
    nearest = min(((np.array(c) - values) ** 2).sum() for c in others)
    assert ((y - values) ** 2).sum() <= nearest + 1e-6


def slow_isotonic(x: np.ndarray) -> list[float]:
    """max over starts of min over ends of the mean: the formula of the fit."""
    n = len(x)
    return [max(min(x[a : b + 1].mean() for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


@given(values=NUMBERS)
def test_isotonic(values):
    x = series(values)
    y = isotonic(x)
    assert same_labels(y, x)
    assert y.to_numpy() == pytest.approx(np.array(slow_isotonic(np.array(values, dtype=float))), abs=1e-6)
    assert (np.diff(y) >= -1e-9).all()
    falling = isotonic(x, increasing=False)
    assert falling.to_numpy() == pytest.approx(isotonic(x[::-1]).to_numpy()[::-1], abs=1e-6)


@given(values=NUMBERS)
def test_a_second_time_changes_nothing(values):
    x = series(values)
    for function in (nonnegative, to_simplex, isotonic):
        once = function(x)
        assert function(once).to_numpy() == pytest.approx(once.to_numpy(), abs=1e-6)
    assert round_to_total(round_to_total(x)).equals(round_to_total(x))


def test_a_million_bins():
    x = pd.Series(np.random.default_rng(0).normal(size=10**6))
    for result in (to_simplex(x, 10**6), round_to_total(x * 100), isotonic(x)):
        assert len(result) == 10**6


def test_methods_of_a_release_are_plain_and_leave_it_alone():
    made = release(pd.Series([5, -1, 2], index=["a", "b", "c"], name="n"))
    results = {
        "nonnegative": made.nonnegative(),
        "to_simplex": made.to_simplex(),
        "round_to_total": made.round_to_total(total=9),
        "isotonic": made.isotonic(),
    }
    for name, result in results.items():
        assert type(result) is pd.Series, name
        assert result.index.equals(made.index)
    assert results["to_simplex"].tolist() == [4.5, 0, 1.5]
    assert results["round_to_total"].tolist() == [6, 0, 3]
    assert made.isotonic(increasing=False).tolist() == [5, 0.5, 0.5]
    assert made.tolist() == [5, -1, 2]
    assert isinstance(made, SeriesRelease)
    made["a"] = 100  # what was released stays
    assert made.to_simplex().sum() == pytest.approx(6)
    assert tidy.round_to_total(made.to_simplex()).tolist() == [5, 0, 1]


REFUSED = [
    (lambda r: r.to_simplex(-1), ArgumentValueError, "negative"),
    (lambda r: r.to_simplex("many"), ArgumentTypeError, "to_simplex"),
    (lambda r: r.to_simplex(True), ArgumentTypeError, "total"),
    (lambda r: r.to_simplex(float("nan")), ArgumentValueError, "finite"),
    (lambda r: r.to_simplex(float("inf")), ArgumentValueError, "finite"),
    (lambda r: r.to_simplex(10**400), ArgumentValueError, "finite"),
    (lambda r: r.round_to_total(1.5), ArgumentValueError, "whole"),
    (lambda r: r.round_to_total([1]), ArgumentTypeError, "round_to_total"),
    (lambda r: r.range_sum(0, 1), ArgumentTypeError, "workload='ranges'"),
]


@pytest.mark.parametrize(("call", "error", "match"), REFUSED)
def test_refused_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call(a_series())


@pytest.mark.parametrize("name", ["nonnegative", "to_simplex", "round_to_total", "isotonic"])
def test_refused_values(name):
    for values in ([pd.Timestamp("2013")], ["a"], [True], [1.0, np.nan]):
        with pytest.raises(ArgumentTypeError, match=name):
            getattr(release(pd.Series(values)), name)()


def test_values_without_fractions_are_not_rounded():
    with pytest.raises(ArgumentValueError, match=r"2\*\*53"):
        round_to_total(series([2.0**60, 1]))

"""Integers of parts are added up exactly, whatever they are held in: in int64 where no sum can wrap, else as Python ints."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import AddsUp, Exact, added, computed
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.sums import Moments, Total
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import ChunkSummary, ScannedView

ENDS = [sign * (1 << power) + more for sign in (1, -1) for power in (60, 61, 62) for more in (-1, 0, 1)]
INTEGERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([*ENDS, 2**63 - 1, -(2**63), 0]))
LARGE = st.one_of(INTEGERS, st.integers(-(2**90), 2**90))
PAIRS = st.lists(st.tuples(INTEGERS, INTEGERS), min_size=1, max_size=6)


def held(integers: list[int], form: str) -> object:
    return integers if form == "list" else np.array(integers, dtype=form)


@given(PAIRS, st.sampled_from(["int64", "object"]), st.sampled_from(["int64", "object"]))
def test_sums_of_arrays_are_those_of_python(pairs, first, second):
    one, other = ([pair[i] for pair in pairs] for i in (0, 1))
    sums = added(held(one, first), held(other, second))
    opened = Exact(sums).open()
    assert opened == [a + b for a, b in pairs]
    assert {*map(type, opened)} == {int}
    assert sums.dtype == object or (2 * sums).tolist() == [2 * (a + b) for a, b in pairs]


@given(st.lists(LARGE, min_size=1, max_size=6))
def test_lists_hold_integers_of_any_size(integers):
    assert added(integers, integers) == [2 * x for x in integers]


def test_the_twin_that_adds_int64s_alone_wraps():
    one = np.array([2**62, -(2**62) - 1])
    assert (one + one).tolist() != [2**63, -(2**63) - 2] == added(one, one).tolist()


@given(st.lists(st.lists(INTEGERS, min_size=3, max_size=3), min_size=1, max_size=8))
def test_any_number_of_parts_is_added_up_and_none_is_changed(parts):
    arrays = [np.array(part) for part in parts]
    expected = [sum(column) for column in zip(*parts, strict=True)]
    assert AddsUp().merge(map(Exact, arrays)).open() == expected
    assert [array.tolist() for array in arrays] == parts
    assert AddsUp().merge(map(Exact, parts)).open() == expected


KEYS = Keys("g", (1, 0, -5))


@pytest.mark.parametrize("low", [-(1 << 60), (1 << 60) - 8, -4])
@pytest.mark.parametrize("unit", [PrivacyUnit(), PrivacyUnit("uid", 40, 40, 40)])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9, 40])
def test_sums_by_part_do_not_depend_on_the_batches(low, unit, size):
    rng = np.random.default_rng(5)
    values = low + rng.integers(0, 8, 40)
    frame = pd.DataFrame({"uid": np.arange(40) // 2 * 2, "g": rng.integers(0, 2, 40), "x": values.astype("int64")})
    expected = [int(frame.x[frame.g == key].astype(object).sum()) for key in KEYS.keys]
    statistic = Total("x", Lattice(Fraction(1), low, 8), KEYS)
    assert statistic.compute(PandasView(frame, {}), unit).open() == expected
    parts = [frame.iloc[at : at + size] for at in range(0, 40, size if unit.column is None else 2 * size)]
    if unit.column is None:
        view = ScannedView(lambda: iter(parts), {})
        assert computed(statistic, view, unit).open() == expected
        summary = pickle.loads(pickle.dumps(ChunkSummary(statistic, unit, {}, bytes(32))))
        made = [pickle.loads(pickle.dumps(summary.of(part, i))) for i, part in enumerate(parts)]
        assert Exact(summary.total([summary.total(made[:1]), *made[1:]])).open() == expected
        assert not isinstance(made[0], list)  # a million Python ints take five times as long on their way
    else:
        view = ScannedView(lambda: iter([frame]), {}, passes=3)
        assert computed(statistic, view, unit).open() == expected


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("cells", [1, 7, 1 << 20, (1 << 31) - 1])
def test_moments_by_part_are_those_of_each_part(degree, cells):
    frame = pd.DataFrame({"g": [1, 0, 1, 3, 0, 1], "x": [0.0, 5.0, 1e9, 2.0, np.nan, 3.0]})
    lattice = Lattice(Fraction(1), 0, cells)
    exact = Moments("x", lattice, degree, KEYS).compute(PandasView(frame, {}), PrivacyUnit()).open()
    alone = [
        Moments("x", lattice, degree).compute(PandasView(frame[frame.g == key], {}), PrivacyUnit()).open()
        for key in KEYS.keys
    ]
    assert exact == [feature for part in alone for feature in part]
    assert {*map(type, exact)} == {int}

"""Parts of rows, compared with exact comparisons in Python and with pandas.cut."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pandas_dp.core.lattice import CHUNK, present_mask
from pandas_dp.core.partition import FEW_ROWS, Bins, Cross, Keys, _parts_between, match

MANY = FEW_ROWS + 50


def bin_of(value: int | float, edges: tuple[int | float, ...]) -> int:
    """Bin of a value by exact comparison; -1 outside."""
    if isinstance(value, float) and not math.isfinite(value):
        return -1
    place = bisect_right([Fraction(edge) for edge in edges], Fraction(value)) - 1
    return place if 0 <= place < len(edges) - 1 else -1


whole_edges = st.one_of(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=30, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=10, unique=True),
    st.integers(-(2**62), 2**62).flatmap(
        lambda at: st.lists(st.integers(at, at + 50), min_size=2, max_size=10, unique=True)
    ),
).map(lambda edges: tuple(sorted(edges)))

float_edges = st.one_of(
    st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=20),
    st.lists(st.floats(-100, 100), min_size=2, max_size=20),
    st.builds(
        lambda a, w, n: list(np.linspace(a, a + w, n)),
        st.floats(-1e6, 1e6),
        st.floats(1e-3, 1e6),
        st.integers(2, 60),
    ),
    st.builds(lambda n: [10.0**i for i in range(n)], st.integers(2, 12)),
).map(lambda edges: tuple(sorted(float(edge) for edge in set(edges))))
float_edges = float_edges.filter(lambda edges: len(edges) >= 2)


@example((0.0, 5e-324), [], "float64")
@given(float_edges, st.lists(st.floats(allow_nan=False), max_size=20), st.sampled_from(["float64", "float32"]))
@settings(max_examples=120, deadline=None)
def test_float_bins_are_exact(edges: tuple[float, ...], cells: list[float], dtype: str) -> None:
    at = np.array(edges)
    with np.errstate(over="ignore"):
        between = np.linspace(at[0] / 2, at[-1] / 2, MANY) * 2
        values = np.concatenate((cells, at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), between)).astype(dtype)
    codes = Bins("x", edges).codes(values, None)
    assert codes.dtype == np.int8
    assert codes.tolist() == [bin_of(value, edges) for value in values.tolist()]
    if dtype == "float64" and np.abs(at[at != 0]).min() > 1e-300 < np.diff(at).min():  # pandas has no labels for others
        assert codes.tolist() == pd.cut(values, np.array(edges), right=False).codes.tolist()


@given(
    st.one_of(whole_edges, float_edges),
    st.sampled_from(["int8", "uint8", "int32", "int64", "uint64"]),
    st.data(),
)
@settings(max_examples=400, deadline=None)
def test_integer_bins_are_exact(edges: tuple[int | float, ...], dtype: str, data: st.DataObject) -> None:
    info = np.iinfo(dtype)
    near = [math.floor(edge) + i for edge in edges for i in (-1, 0, 1, 2)]
    cells = data.draw(st.lists(st.integers(int(info.min), int(info.max)), max_size=20))
    cells += [value for value in near if info.min <= value <= info.max] + [int(info.min), int(info.max)]
    values = np.resize(np.array(cells, dtype=dtype), MANY)
    expected = [bin_of(value, edges) for value in cells]
    assert Bins("x", edges).codes(values, None).tolist() == np.resize(expected, MANY).tolist()
    assert Bins("x", edges).codes(values[: len(cells)], None).tolist() == expected  # few rows take another way


def test_uneven_and_even_edges_over_several_chunks() -> None:
    values = np.random.default_rng(0).normal(50, 30, 2 * CHUNK + 7)
    values[::100] = 10.0
    for edges in (tuple(range(0, 101, 2)), (0, 18, 65, 70.5, 100), (0.1, 0.2, 0.30000000000000004, 99)):
        codes = Bins("x", edges).codes(values, None)
        assert codes.tolist() == pd.cut(values, edges, right=False).codes.tolist()


def test_edges_that_float64_does_not_resolve() -> None:
    start = 2**62
    values = np.arange(start, start + 2000)
    codes = Bins("x", (start, start + 1, start + 2, start + 1999)).codes(values, None)
    assert codes.tolist() == [0, 1] + [2] * 1997 + [-1]


@pytest.mark.parametrize("rows", [9, 9 * MANY])
def test_bins_outside_and_missing(rows: int) -> None:
    values = np.resize([-1.0, 0.0, 1.0, 5.0, 10.0, 10.5, np.nan, np.inf, -np.inf], rows)
    present = present_mask(values, None)
    for other, null, expected in [
        (False, False, [-1, 0, 0, 1, -1, -1, -1, -1, -1]),
        (True, False, [2, 0, 0, 1, 2, 2, -1, 2, 2]),
        (False, True, [-1, 0, 0, 1, -1, -1, 2, -1, -1]),
        (True, True, [2, 0, 0, 1, 2, 2, 3, 2, 2]),
    ]:
        bins = Bins("x", (0, 5, 10), other, null)
        assert bins.codes(values, present).tolist() == np.resize(expected, rows).tolist()
        assert bins.count == 2 + other + null


def test_bool_bins() -> None:
    values = np.resize([True, False], MANY)
    assert Bins("x", (0, 1, 2)).codes(values, None).tolist() == np.resize([1, 0], MANY).tolist()


def test_key_codes() -> None:
    position = np.array([0, 1, -1, -1, 0])
    present = np.array([True, True, True, False, False])
    for other, null, expected in [
        (False, False, [0, 1, -1, -1, -1]),
        (True, False, [0, 1, 2, -1, -1]),
        (False, True, [0, 1, -1, 2, 2]),
        (True, True, [0, 1, 2, 3, 3]),
    ]:
        keys = Keys("x", ("a", "b"), other, null)
        assert keys.codes(position, present).tolist() == expected
        assert keys.count == 2 + other + null
    assert Keys("x", ("a", "b")).codes(position, None).tolist() == [0, 1, -1, -1, 0]


CITY, SIZE = Keys("city", ("a", "b"), other=True), Bins("size", (0, 5, 10), null=True)


def test_combinations_in_row_major_order() -> None:
    cross = Cross((CITY, SIZE))
    pairs = [(i, j) for i in range(-1, 3) for j in range(-1, 3)]
    codes = cross.codes([np.array(side) for side in zip(*pairs, strict=True)])
    assert codes.dtype == np.intp
    assert codes.tolist() == [3 * i + j if min(i, j) >= 0 else -1 for i, j in pairs]
    assert cross.count == cross.combinations == 9


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_combinations_of_any_number_of_columns(sizes: list[int], data: st.DataObject) -> None:
    """Compared with a dict of the combinations in the order of itertools.product."""
    factors = tuple(Keys(f"c{i}", tuple(range(size))) for i, size in enumerate(sizes))
    every = list(product(*map(range, sizes)))
    allowed = data.draw(st.none() | st.lists(st.sampled_from(range(len(every))), min_size=1, unique=True).map(tuple))
    rows = data.draw(st.lists(st.tuples(*(st.integers(-1, size - 1) for size in sizes)), max_size=30))
    listed = every if allowed is None else [every[place] for place in allowed]
    cross = Cross(factors, allowed)
    columns = [np.array([row[i] for row in rows], dtype=np.intp) for i in range(len(sizes))]
    before = [column.copy() for column in columns]
    places = {combination: place for place, combination in enumerate(listed)}
    assert cross.codes(columns).tolist() == [places.get(row, -1) for row in rows]
    assert cross.count == len(listed)
    assert all(map(np.array_equal, columns, before))  # codes of a column are kept from question to question


def test_what_64_bits_cannot_number_is_no_partition() -> None:
    wide = tuple(Keys(name, tuple(range(1 << 16))) for name in "abcd")
    assert Cross(wide[:3]).count == 1 << 48
    for factors, allowed in ((wide, None), (wide, (0,)), (wide[:2], ())):
        with pytest.raises(ValueError, match="combinations"):
            Cross(factors, allowed)


@pytest.mark.parametrize("bins", [1, 124, 125, 126, 127, 128, 254, 255, 256, 32_765, 32_766, 32_767])
@pytest.mark.parametrize("rows", [1, 2 * FEW_ROWS])
def test_codes_take_few_bytes_and_fit_at_every_number_of_bins(bins: int, rows: int) -> None:
    partition = Bins("x", tuple(range(bins + 1)), other=True, null=True)
    values = np.resize(np.array([-1.0, 0.0, bins - 0.5, bins, bins + 1, 0.0]), max(rows, 6))
    present = np.resize([True, True, True, True, True, False], values.size)
    codes = partition.codes(values, present)
    assert codes[:6].tolist() == [bins, 0, bins - 1, bins, bins, bins + 1]
    assert (codes == np.resize(codes[:6], codes.size)).all()
    assert codes.itemsize == (1 if bins + 2 <= 127 else 2 if bins + 2 <= 32_767 else 4)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", ">u2", "?"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_table_of_close_integers_says_what_a_search_says(dtype: str, data: st.DataObject) -> None:
    """Around the ends of the dtype, too: every integer near the cuts, and the least and the largest."""
    kind = np.dtype(dtype)
    info = np.iinfo("u1" if kind.kind == "b" else kind.newbyteorder("="))
    base = data.draw(st.sampled_from([0, 5, int(info.min), int(info.min) + 3, int(info.max), int(info.max) - 3]))
    near = st.integers(max(base - 12, int(info.min)), min(base + 12, int(info.max)))
    cuts = np.array(sorted(data.draw(st.sets(near, min_size=1, max_size=6))), dtype=info.dtype)
    cells = np.array([*data.draw(st.lists(near, max_size=30)), info.min, info.max], dtype=info.dtype)
    values = (cells % 2).astype(kind) if kind.kind == "b" else cells.astype(kind)
    parts, plain = np.arange(-1, cuts.size, dtype=np.int8), values.astype(info.dtype)
    searched = np.searchsorted(cuts, plain, side="right") - 1
    between = _parts_between(np.resize(values, FEW_ROWS + values.size), cuts, parts)
    assert between[: values.size].tolist() == searched.tolist()
    matched = match(values, cuts, parts[::-1])
    assert matched is not None
    equal = cuts[np.maximum(searched, 0)] == plain
    assert matched.tolist() == np.where(equal & (searched >= 0), parts[::-1][np.maximum(searched, 0)], -1).tolist()


def test_as_many_integers_as_are_listed_need_no_search() -> None:
    """A million keys lie farther apart than the grid of few ones reaches."""
    listed = np.arange(0, 400_000, 2) - 2**40
    places = np.append(np.arange(listed.size)[::-1], -1)
    values = np.array([-(2**40), 1 - 2**40, 399_998 - 2**40, 399_999 - 2**40, 0, -(2**63), 2**63 - 1])
    found = match(values, listed, places)
    assert found is not None
    assert found.tolist() == [listed.size - 1, -1, 0, -1, -1, -1, -1]
    assert match(values, listed * 10, places) is None

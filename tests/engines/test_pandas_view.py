"""The view of a DataFrame, compared with plain Python over every dtype that pandas 3 has."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.columns import ALL, DAY, INTEGERS, NULLABLE, NUMERIC, arrow, nanoseconds, place, same_groups, view

from pandas_dp.core.lattice import present_mask
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.engines.pandas import PandasView


@pytest.mark.parametrize("name", NUMERIC)
def test_column(name: str) -> None:
    column, cells, _ = NUMERIC[name]
    shown = view(column)
    values, present = shown.column("x")
    assert shown.rows == values.size == len(cells)
    assert values.dtype.kind in "iuf"
    assert values.dtype.isnative
    mask = present_mask(values, present)
    assert [c is not None for c in cells] == (mask.tolist() if mask is not None else [True] * len(cells))
    for value, cell in zip(values.tolist(), cells, strict=True):
        if cell is not None:
            exact = values.dtype.type(nanoseconds(cell)) if values.dtype.kind == "f" else nanoseconds(cell)
            assert value == exact


@pytest.mark.parametrize("name", ALL)
def test_present(name: str) -> None:
    column, cells, _ = ALL[name]
    present = view(column).present("x")
    expected = [c is not None for c in cells]
    assert all(expected) if present is None else present.tolist() == expected


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("other", "null"), [(False, False), (True, False), (False, True), (True, True)])
def test_parts_by_keys(name: str, other: bool, null: bool) -> None:
    column, cells, keys = ALL[name]
    if column.dtype in ("float16", "float32", "Float32") or str(column.dtype).startswith(("float[", "halffloat")):
        keys = tuple(k for k in keys if k != 0.1)  # rounded to the column: see below
    partition = Keys("x", keys, other, null)
    expected = [place(c, keys) if c is not None else None for c in cells]
    if other:
        expected = [len(keys) if p == -1 else p for p in expected]
    expected = [(partition.count - 1 if null else -1) if p is None else p for p in expected]
    shown = view(column)
    codes = shown.parts(partition)
    assert codes.dtype == np.intp
    assert codes.tolist() == expected
    assert shown.parts(partition).tolist() == expected  # from the cache


@pytest.mark.parametrize("name", NUMERIC)
def test_parts_by_bins(name: str) -> None:
    column, cells, _ = NUMERIC[name]
    edges = (-3 * DAY, 0, 1, 3, 50 * 365 * DAY + 12 * DAY)
    expected = []
    for cell in cells:
        number = None if cell is None else nanoseconds(cell)
        inside = number is not None and edges[0] <= number < edges[-1]
        place = sum(number >= e for e in edges) - 1 if inside else 4
        expected.append(5 if number is None else place)
    assert view(column).parts(Bins("x", edges, other=True, null=True)).tolist() == expected


@pytest.mark.parametrize("name", ALL)
def test_units(name: str) -> None:
    column, cells, _ = ALL[name]
    codes, count = view(column).units("x")
    assert codes.dtype == np.int64
    known = [code for code in codes.tolist() if code >= 0]
    assert sorted(set(known)) == list(range(count))
    if name != "mixed objects":  # there 1 and True are equal
        assert same_groups(codes.tolist(), cells)


def test_units_of_a_wide_range_and_of_real_numbers() -> None:
    cells = [10**18, 5, -(10**18), 5, 10**18]
    assert same_groups(view(pd.Series(cells)).units("x")[0].tolist(), cells)
    cells = [2**64 - 1, 0, 2**64 - 2, 2**64 - 1]
    assert same_groups(view(pd.Series(cells, dtype="uint64")).units("x")[0].tolist(), cells)
    codes, count = view(pd.Series([0.0, -0.0, np.nan, 0.1, math.inf])).units("x")
    assert (codes.tolist(), count) == ([0, 0, -1, 1, 2], 3)


def test_units_of_decimals_are_not_rounded() -> None:
    cells = [Decimal(10**30), Decimal(10**30 + 1), Decimal(10**30)]
    shown = view(arrow(cells, pa.decimal128(38, 0)))
    assert same_groups(shown.units("x")[0].tolist(), cells)
    assert shown.parts(Keys("x", (10**30 + 1, 10**30))).tolist() == [1, 0, 1]


def test_codes_of_units_are_kept() -> None:
    cache: dict[Any, Any] = {}
    shown = PandasView(pd.DataFrame({"x": ["a", "b", "a"]}), cache)
    assert shown.units("x")[0] is PandasView(pd.DataFrame({"x": ["a", "b", "a"]}), cache).units("x")[0]
    assert all(isinstance(key[0], str) and key[0] in ("units", "keys", "objects", "series") for key in cache)


def test_float_keys_take_the_precision_of_the_column() -> None:
    for dtype in ("float16", "float32", "Float32", "float32[pyarrow]"):
        column = pd.Series([0.1, 0.5], dtype="float32").astype(dtype)
        assert view(column).parts(Keys("x", (0.1, 0.5))).tolist() == [0, 1]
    # a key that is too large for the column is not infinite
    assert view(pd.Series([np.inf], dtype="float32")).parts(Keys("x", (1e300,))).tolist() == [-1]
    assert view(pd.Series([np.inf, -np.inf])).parts(Keys("x", (math.inf,))).tolist() == [0, -1]


@pytest.mark.parametrize("dtype", [*INTEGERS, *NULLABLE, "float64", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_keys_far_apart(dtype: str) -> None:
    largest = 100 if "8" in dtype else 30_000 if "16" in dtype else 2**31 - 1
    column = pd.Series([0, largest, 5, 0, largest - 1], dtype=dtype)
    assert view(column).parts(Keys("x", (largest, 0, -1, 2**70))).tolist() == [1, 0, -1, 1, -1]


def test_integers_at_the_end_of_their_range() -> None:
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        cells = [int(info.min), int(info.max), 1]
        shown = view(pd.Series(cells, dtype=dtype))
        assert shown.parts(Keys("x", (int(info.max), int(info.min), int(info.max) + 1))).tolist() == [
            1,
            0,
            -1,
        ]
        assert shown.parts(Keys("x", (int(info.max),))).tolist() == [-1, 0, -1]
        assert same_groups(shown.units("x")[0].tolist(), cells)


# Properties ------------------------------------------------------------

cells = {
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    "Int8": st.none() | st.integers(-128, 127),
    "float64": st.floats() | st.sampled_from([0.0, -0.0, 1.0]),
    "str": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=2),
    "object": st.none() | st.text(max_size=2) | st.integers(-2, 2) | st.floats() | st.lists(st.integers(), max_size=1),
    "category": st.none() | st.sampled_from(["a", "b", "c"]),
    "string[pyarrow]": st.none() | st.sampled_from(["a", "b", "c"]),
}
keys_of = {
    "int64": (0, 1, 2**63 - 1, -2),
    "Int8": (-128, 0, 1),
    "float64": (0, 1.0, math.inf),
    "object": ("", "a", 1, 0.5),
}


@given(st.data(), st.sampled_from(sorted(cells)))
@settings(max_examples=200, deadline=None)
def test_permuting_rows_permutes_the_codes(data: st.DataObject, dtype: str) -> None:
    rows = data.draw(st.lists(cells[dtype], max_size=20))
    order = data.draw(st.permutations(range(len(rows))))
    column = pd.Series(rows, dtype=dtype)
    shuffled = pd.Series([rows[i] for i in order], dtype=dtype)
    if dtype == "category":
        shuffled = shuffled.cat.set_categories(["c", "unused", "b", "a"])
    keys = Keys("x", keys_of.get(dtype, ("", "a", "b")), other=True, null=True)
    first, second = view(column), view(shuffled)
    assert first.parts(keys)[list(order)].tolist() == second.parts(keys).tolist()
    before, count = first.units("x")
    after, count_after = second.units("x")
    pairs = set(zip(before[list(order)].tolist(), after.tolist(), strict=True))
    assert count == count_after
    assert len(pairs) == len({p[0] for p in pairs}) == len({p[1] for p in pairs})


arrow_cells = {
    pa.int64(): st.none() | st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.none() | st.floats(allow_nan=False),
    pa.bool_(): st.none() | st.booleans(),
    pa.string(): st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=2),
    pa.date32(): st.none() | st.dates(),
    pa.timestamp("us"): st.none() | st.datetimes(),
    pa.decimal128(10, 2): st.none() | st.decimals(-1000, 1000, places=2),
}


@given(st.data(), st.sampled_from(sorted(arrow_cells, key=str)))
@settings(max_examples=200, deadline=None)
def test_chunks_change_nothing(data: st.DataObject, dtype: pa.DataType) -> None:
    rows = data.draw(st.lists(arrow_cells[dtype], max_size=20))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    array = pa.array(rows, dtype)
    pieces = [array[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    whole, cut = (
        view(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks, dtype)))) for chunks in ([array], pieces)
    )
    keys = Keys("x", tuple({row for row in rows[:5] if row is not None}), other=True, null=True)
    assert whole.parts(keys).tolist() == cut.parts(keys).tolist()
    assert whole.units("x")[0].tolist() == cut.units("x")[0].tolist()
    assert whole.units("x")[1] == cut.units("x")[1]
    if dtype != pa.string():
        values, present = whole.column("x")
        values_cut, present_cut = cut.column("x")
        known = slice(None) if present is None else present
        assert values[known].tolist() == values_cut[known].tolist()
        assert (present is None) == (present_cut is None)
        assert present is None or present.tolist() == present_cut.tolist()


def test_a_function_runs_on_one_block_without_rows_only():
    """All of them are alike, and get the result it has there."""
    sizes = []

    def count(block):
        sizes.append(len(block))
        return len(block) + 10

    block = np.array([3, 3, 7, -1])
    results = PandasView(pd.DataFrame({"x": [1, 2, 3, 4]}), {}).block_results(count, block, 9)
    assert results == [10, 10, 10, 12, 10, 10, 10, 11, 10]
    assert sorted(sizes) == [0, 1, 2]
    assert (
        PandasView(pd.DataFrame({"x": []}), {}).block_results(lambda b: 1 / len(b), np.array([], int), 3) == [None] * 3
    )

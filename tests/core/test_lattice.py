"""Offsets on the public lattice, compared with exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.features import crossed

from pandas_dp.core.lattice import CHUNK, RANK_BITS, SUM_BITS, Lattice, power_sums, present_mask

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
STRANGE = [
    math.nan,
    -math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.3e-308,
    1.7e308,
    -1.7e308,
    1e-308,
]

ends = st.one_of(
    st.integers(-(2**64), 2**64).map(Fraction),
    st.floats(-1e300, 1e300).map(Fraction),
    st.decimals(-1000, 1000, places=3).map(Fraction),
)


@st.composite
def lattices(draw: st.DrawFn) -> Lattice:
    """Any lattice that the arguments of a query can make."""
    lower = draw(ends)
    width = draw(st.one_of(st.integers(1, 2**64).map(Fraction), st.fractions(Fraction(1, 10**6), 10**6)))
    width = max(width, abs(lower) / 2**39)
    upper = lower + width
    bits = draw(st.sampled_from([RANK_BITS, 20, SUM_BITS]))
    step = draw(st.sampled_from([None, None, Fraction(1), Fraction(1, 100), Fraction(7, 3)]))
    if step is not None and not 1 <= width / step <= 2**31:
        step = None
    made = Lattice.between(lower, upper, bits, step)
    return made if made.cells >= 1 else Lattice.between(lower, upper, bits)


def distance(lattice: Lattice, value: Fraction, offset: int) -> Fraction:
    """How far an offset is from the clipped value, in steps."""
    inside = min(max(value, lattice.lower), lattice.upper)
    return abs(inside / lattice.step - lattice.low - offset)


@given(lattices(), st.lists(st.floats(), min_size=1, max_size=20), st.sampled_from(FLOATS))
@settings(max_examples=400)
def test_floats_fall_less_than_a_step_off_and_inside(lattice: Lattice, cells: list[float], dtype: str) -> None:
    near = [float(lattice.point(i)) for i in (0, 1, lattice.cells // 2, lattice.cells)]
    with np.errstate(over="ignore"):
        values = np.array(cells + near + STRANGE).astype(dtype)
    offsets = lattice.offsets(values)
    assert offsets.dtype == np.int64
    # float64 does not resolve points farther than 2**51 steps from 0
    slack = max(Fraction(1), Fraction(max(abs(lattice.low), abs(lattice.low + lattice.cells)), 2**51))
    for value, offset in zip(values.tolist(), offsets.tolist(), strict=True):
        assert 0 <= offset <= lattice.cells
        if math.isfinite(value):
            assert distance(lattice, Fraction(value), offset) < slack
        elif math.isinf(value):
            assert offset == (lattice.cells if value > 0 else 0)


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.lists(st.floats(-2e6, 2e6), min_size=1))
def test_floats_take_the_nearest_point_of_a_power_of_two(lower: int, width: int, cells: list[float]) -> None:
    lattice = Lattice.between(Fraction(lower), Fraction(lower + width), 20)
    for value, offset in zip(cells, lattice.offsets(np.array(cells)).tolist(), strict=True):
        assert distance(lattice, Fraction(value), offset) <= Fraction(1, 2)


@st.composite
def integer_cells(draw: st.DrawFn) -> tuple[str, list[int]]:
    dtype = draw(st.sampled_from(INTEGERS))
    info = np.iinfo(dtype)
    cells = draw(st.lists(st.integers(int(info.min), int(info.max)), min_size=1, max_size=20))
    return dtype, [*cells, int(info.min), int(info.max), 0, 1]


@given(lattices(), integer_cells())
@settings(max_examples=400)
def test_integers_fall_less_than_a_step_off_and_inside(lattice: Lattice, case: tuple[str, list[int]]) -> None:
    dtype, cells = case
    offsets = lattice.offsets(np.array(cells, dtype=dtype))
    for value, offset in zip(cells, offsets.tolist(), strict=True):
        assert 0 <= offset <= lattice.cells
        assert distance(lattice, Fraction(value), offset) < 1


@given(integer_cells(), st.data())
@settings(max_examples=400)
def test_integers_are_exact_on_integer_lattices(case: tuple[str, list[int]], data: st.DataObject) -> None:
    dtype, cells = case
    info = np.iinfo(dtype)
    lower = data.draw(st.integers(int(info.min) - 1000, int(info.max) + 1000))
    width = data.draw(st.integers(1, 2**31))
    denominator = data.draw(st.sampled_from([1, 1, 2, 8, 100]))
    lattice = Lattice(Fraction(1, denominator), lower * denominator, width)
    near = [lower + i for i in range(-2, 3) if info.min <= lower + i <= info.max]
    far = [int(lattice.upper) + i for i in range(-2, 3) if info.min <= int(lattice.upper) + i <= info.max]
    values = cells + near + far
    exact = [min(max(value * denominator - lattice.low, 0), lattice.cells) for value in values]
    assert lattice.offsets(np.array(values, dtype=dtype)).tolist() == exact


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_far_from_zero_keep_their_digits(dtype: str) -> None:
    start = 2**62 + 1 if dtype == "int64" else 2**63 + 1
    lattice = Lattice.between(Fraction(start), Fraction(start + 2**24), SUM_BITS, step=Fraction(3))
    values = [start + i for i in (-5, 0, 1, 2, 3, 4, 1000, 2**24 - 1, 2**24, 2**24 + 9)]
    for value, offset in zip(values, lattice.offsets(np.array(values, dtype=dtype)).tolist(), strict=True):
        assert distance(lattice, Fraction(value), offset) < 1


@given(lattices(), st.lists(st.floats(allow_nan=False), min_size=2))
def test_offsets_never_fall_as_the_value_rises(lattice: Lattice, cells: list[float]) -> None:
    rising = np.sort(np.array(cells))
    assert (np.diff(lattice.offsets(rising)) >= 0).all()


@given(lattices(), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2))
def test_offsets_of_integers_never_fall_as_the_value_rises(lattice: Lattice, cells: list[int]) -> None:
    assert (np.diff(lattice.offsets(np.array(sorted(cells)))) >= 0).all()


def test_an_offset_depends_on_its_own_row_only() -> None:
    lattice = Lattice.between(Fraction(-3), Fraction(100), SUM_BITS)
    values = np.tile(np.array([*STRANGE, 1.5, 99.999, 100.0, 1e9]), CHUNK // 5)
    assert values.size > 2 * CHUNK
    alone = {value.tobytes(): int(lattice.offsets(value.reshape(1))[0]) for value in values[:16]}
    assert lattice.offsets(values).tolist() == [alone[value.tobytes()] for value in values]
    assert (lattice.offsets(values[::-3]) == lattice.offsets(values)[::-3]).all()  # a column of a wide block


@settings(max_examples=300, deadline=None)
@given(
    low=st.integers(-(2**52), 2**52) | st.integers(-9, 9),
    cells=st.integers(1, 20) | st.integers(1, 2**31),
    exponent=st.sampled_from([-402, -400, -30, -1, 0, 1, 40, 400, 402]),
    steps=st.lists(st.fractions(-1, 2, max_denominator=64), min_size=1, max_size=9),
    dtype=st.sampled_from(["float64", "float32", "int64", "int8", "uint64", "bool"]),
)
def test_a_row_keeps_its_offset_whatever_its_chunk_holds(low, cells, exponent, steps, dtype) -> None:
    """Chunks within the bounds are not clipped: rows inside must come out as beside others that are outside."""
    lattice = Lattice(Fraction(2) ** exponent, low, cells)
    kind = np.dtype(dtype)
    info = np.iinfo("uint8" if kind.kind == "b" else kind) if kind.kind != "f" else np.finfo(kind)
    with np.errstate(all="ignore"):
        near = [
            min(max((low + s * cells) * lattice.step, Fraction(float(info.min))), int(float(info.max))) for s in steps
        ]
        values = np.array([float(x) for x in near]).astype(kind)
        values = values[(values >= float(lattice.lower)) & (values <= float(lattice.upper))]
        outside = np.array([info.min, info.max]).astype(kind)
        strange = np.array(STRANGE).astype(kind) if kind.kind == "f" else outside
    alone = lattice.offsets(values)
    beside = lattice.offsets(np.concatenate((values, outside, strange)))
    assert alone.tolist() == [int(lattice.offsets(values[i : i + 1])[0]) for i in range(values.size)]
    assert beside[: values.size].tolist() == alone.tolist()
    assert 0 <= beside.min() <= beside.max() <= cells
    if kind == np.float64 and abs(low) < 2**51 and abs(exponent) <= 400:  # nearest point, ties as 2**52 has them
        exact = [round(Fraction(x) / lattice.step - low + 2**52) - 2**52 for x in values.tolist()]
        assert alone.tolist() == exact


def test_minus_zero_is_zero() -> None:
    for lower in (-1, 0):
        lattice = Lattice.between(Fraction(lower), Fraction(1), SUM_BITS)
        assert lattice.offsets(np.array([-0.0])).tolist() == lattice.offsets(np.array([0.0])).tolist()


def test_bool_is_zero_and_one() -> None:
    lattice = Lattice.between(Fraction(0), Fraction(1), SUM_BITS)
    assert lattice.offsets(np.array([False, True])).tolist() == [0, lattice.cells]


@st.composite
def columns(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray | None]:
    dtype = draw(st.sampled_from(["float64", "float32", "int64", "uint8", "uint64"]))
    size = draw(st.sampled_from([0, 1, 5, CHUNK, CHUNK + 1, 2 * CHUNK + 3]))
    base = draw(st.lists(st.integers(0, 120), min_size=1, max_size=30))
    values = np.resize(np.array(base, dtype=dtype), size)
    if dtype.startswith("float") and size:
        values[draw(st.lists(st.integers(0, size - 1), max_size=5))] = np.nan
    present = np.resize(np.array(draw(st.lists(st.booleans(), min_size=1, max_size=30))), size)
    return values, present if draw(st.booleans()) else None


@given(columns(), st.sampled_from([1, 2]))
@settings(max_examples=60, deadline=None)
def test_power_sums_are_exact(raw: tuple[np.ndarray, np.ndarray | None], degree: int) -> None:
    values, present = raw
    lattice = Lattice.between(Fraction(0), Fraction(100), 20)
    known = ~np.isnan(values.astype(float))
    if present is not None:
        known &= present
    offsets = lattice.offsets(values)[known].tolist()
    expected = [len(offsets), sum(offsets), sum(crossed(o, lattice) for o in offsets)]
    assert power_sums(lattice, raw, degree) == expected[: degree + 1]


def test_power_sums_at_the_largest_offset_do_not_wrap() -> None:
    lattice = Lattice(Fraction(1), 0, 2**31)
    assert power_sums(lattice, (np.full(3 * CHUNK, 2.0**40), None), 1) == [3 * CHUNK, 3 * CHUNK * 2**31]
    exact = [3 * CHUNK, 3 * CHUNK * 2**30, 3 * CHUNK * 2**29]  # the largest product is that of the middle
    assert power_sums(lattice, (np.full(3 * CHUNK, 2**30), None), 2) == exact


@pytest.mark.parametrize(
    ("values", "bounds", "total"),
    [
        (np.array([2**62] * 4), (-(2**62), 2**62), 4 * 2**62),
        (np.array([2**63, 5], dtype=np.uint64), (0, 10), 15),
        (np.array([2**64 - 1] * 3, dtype=np.uint64), (0, 2**64), 3 * 2**64),
        (np.ones(300, dtype=np.int8), (0, 1), 300),
        (np.broadcast_to(np.float32(1), 2**25), (0, 1), 2**25),
        (np.array([1e308, -1e308, 1e-308]), (-1, 1), 0),
    ],
    ids=["int64 near its end", "uint64 beyond int64", "uint64 at its end", "int8", "float32", "huge floats"],
)
def test_sums_neither_wrap_nor_stall(values: np.ndarray, bounds: tuple[int, int], total: int) -> None:
    lattice = Lattice.between(Fraction(bounds[0]), Fraction(bounds[1]), SUM_BITS)
    rows, offsets = power_sums(lattice, (values, None), 1)
    assert abs((offsets + rows * lattice.low) * lattice.step - total) <= rows * lattice.step


@given(columns())
@settings(max_examples=40, deadline=None)
def test_present_mask_knows_nulls_and_nans(raw: tuple[np.ndarray, np.ndarray | None]) -> None:
    values, present = raw
    known = ~np.isnan(values.astype(float))
    if present is not None:
        known &= present
    mask = present_mask(values, present)
    assert known.all() if mask is None else (mask == known).all()
    if present is None and not np.isnan(values.astype(float)).any():
        assert mask is None

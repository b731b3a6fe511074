"""The quick sum is the general sum, to the last step, whatever mixture of chunks a column has."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.features import crossed

from pandas_dp.core import offset_sum as module
from pandas_dp.core.lattice import Lattice, power_sums, within_bounds
from pandas_dp.core.offset_sum import offset_sum

BOUNDS = [(0, 500_000), (-3, 5), (2, 7), (-7, -2), (0, 1), (-(2**40), 2**41), (10**6, 10**6 + 1), (0.5, 10.5)]
LATTICES = [Lattice.between(Fraction(a), Fraction(b), bits) for a, b in BOUNDS for bits in (30, 16)] + [
    Lattice(Fraction(1), -5, 12),
    Lattice(Fraction(1, 10), 0, 100),
    Lattice(Fraction(4), -3, 7),
]


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 4)


@settings(max_examples=400, deadline=None)
@given(
    lattice=st.sampled_from(LATTICES),
    shares=st.lists(
        st.one_of(
            st.floats(0, 1),
            st.sampled_from([0, 1, 0.5, -0.5, 2.0, float("nan"), float("inf"), -float("inf")]),
        ),
        max_size=14,
    ),
    dtype=st.sampled_from(["float64", "float32", "int64", "int16", "uint64", "uint8", "bool"]),
    missing=st.booleans(),
)
def test_equals_the_general_sum(lattice, shares, dtype, missing):
    with np.errstate(all="ignore"):
        real = float(lattice.lower) + np.array(shares, dtype=float) * float(lattice.width)
        if np.dtype(dtype).kind != "f":
            info = np.iinfo(dtype if dtype != "bool" else "uint8")
            real = np.clip(np.nan_to_num(real), info.min, info.max / 2)
        values = real.astype(dtype)
    present = np.arange(values.size) % 3 != 0 if missing else None
    for degree in (1, 2):
        assert offset_sum(lattice, (values, present), degree) == power_sums(lattice, (values, present), degree)


def test_ties_round_the_same_way_in_both():
    """A row's offset may not depend on whether another row of its chunk is out of bounds."""
    for low in (-4, -3, 0, 1, 5):
        lattice = Lattice(Fraction(1), low, 9)
        ties = low + np.array([0.5, 1.5, 2.5])
        alone = offset_sum(lattice, (ties, None))[1]
        beside = offset_sum(lattice, (np.append(ties, [float(low - 9)]), None))[1]
        assert alone == beside


def test_integers_at_the_ends_of_their_range():
    lattice = Lattice.between(Fraction(-(2**62)), Fraction(2**62), 30)
    values = np.array([-(2**63), 2**63 - 1, 0, 2**62], dtype=np.int64)
    assert list(offset_sum(lattice, (values, None))) == power_sums(lattice, (values, None), 1)


@pytest.mark.parametrize("cells", [1 << 32, (1 << 31) - 1, (1 << 30) + 7, (1 << 21) + 1, 46340, 46341, 1000, 2, 1])
def test_products_of_offsets_are_those_of_whole_numbers(monkeypatch, cells):
    """In the middle, where they are largest, at both ends and between: what wraps in 64 bits, or is rounded twice, differs."""
    monkeypatch.setattr(module, "CHUNK", 1 << 16)
    lattice = Lattice(Fraction(1, 8), -5, cells)
    rows = (1 << 16) + 500
    offsets = np.unique([abs(cells * at // 8 + more) for at in range(9) for more in (-1, 0, 1)]).clip(0, cells)
    offsets = np.resize(offsets, rows)
    values = (lattice.low + offsets) * float(lattice.step)
    second = {int(v): crossed(int(v), lattice) for v in np.unique(offsets)}
    exact = [rows, int(offsets.sum()), sum(second[v] for v in offsets.tolist())]
    assert offset_sum(lattice, (values, None), 2) == power_sums(lattice, (values, None), 2) == exact
    assert all(0 <= q <= lattice.parts * min(v, cells - v) for v, q in second.items())
    if cells <= 46340:  # nothing is rounded
        assert second == {v: v * (cells - v) for v in second}


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4", ">f8", "<i2", "<i8", ">i8", "<u2", "<u4", ">u8"])
@pytest.mark.parametrize("lattice", [Lattice.between(Fraction(0), Fraction(1000), 16), Lattice(Fraction(1), 0, 1000)])
def test_one_pass_tells_whether_a_chunk_from_zero_on_is_inside(dtype, lattice):
    """At the ends, one step beyond them, and where a sign or NaN makes the bits the largest of all."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        step = np.spacing(np.array(1000, dtype=kind))
        odd = [-0.0, 1000.0, 1000 + step, 1000 - step, -np.spacing(kind.type(0)), np.nan, -np.nan, np.inf, -np.inf]
    else:
        info = np.iinfo(kind)
        odd = [0, 1000, 1001, 999, info.min, info.max, -1 if info.min else info.max - 1]
    for cell in odd:
        values = np.array([3, cell, 7], dtype=kind)
        assert offset_sum(lattice, (values, None)) == power_sums(lattice, (values, None), 1), cell


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", "i8", "u2", "u4", "u8"])
def test_no_number_hides_another_that_is_outside(dtype):
    """All pairs of odd numbers: a chunk called inside has none outside, for what is outside would not be clipped."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        odd = [-0.0, 0.0, 1, 9, np.nextafter(kind.type(9), kind.type(10)), -1, *np.array([1, -1]) * np.inf]
        odd += [np.nan, np.copysign(np.nan, -1), np.finfo(kind).max, np.finfo(kind).tiny, -np.finfo(kind).tiny]
    else:
        odd = [0, 1, 9, 10, np.iinfo(kind).max, np.iinfo(kind).min]
    lattice = Lattice(Fraction(1), 0, 9)
    for one in odd:
        for other in odd:
            values = np.array([one, other], dtype=kind)
            outside = not ((values >= 0) & (values <= 9)).all()
            assert not (within_bounds(kind, 0, 9)(values) and outside), values
            offsets = lattice.offsets(values)
            assert 0 <= offsets.min() <= offsets.max() <= 9, values
            assert offsets.tolist() == [int(lattice.offsets(values[i : i + 1])[0]) for i in range(2)], values
            assert offset_sum(lattice, (values, None)) == power_sums(lattice, (values, None), 1), values


def test_which_chunks_are_inside():
    """Chunks that reach the ends themselves go the quick way; one step more does not."""
    for kind, beyond in (
        ("f8", np.nextafter(9.0, 10)),
        ("f4", np.float32(9.000001)),
        ("i8", 10),
        ("u2", 10),
        ("i4", -1),
    ):
        within = within_bounds(np.dtype(kind), 0, 9)
        assert within(np.array([0, 9], dtype=kind))
        assert not within(np.array([0, beyond], dtype=kind))
    assert not within_bounds(np.dtype("f8"), 0, 9)(np.array([1.0, np.copysign(np.nan, -1)]))

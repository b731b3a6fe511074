"""Counts and sums from codes of few bytes are those of the parts of the rows, whatever the width of codes and chunks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.features import features

from pandas_dp.core import partition
from pandas_dp.core.lattice import CHUNK, Lattice
from pandas_dp.core.partition import LEAST_CODE, Cross, Keys, code_counts, cross_coded, decoded
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics import sums
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.sums import Moments, Total

RNG = np.random.default_rng(5)
FIVE = Keys("g", (0, 1, 2, 3, 4))


class CodedView:
    """Codes, and what they stand for, beside one column."""

    def __init__(self, codes, parts, values, mask):
        self.codes, self.table, self.values, self.mask, self.rows = codes, parts, values, mask, codes.size

    def column(self, name):
        return self.values, self.mask

    def present(self, name):
        return self.mask

    def coded(self, by):
        return self.codes, self.table


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64])
@pytest.mark.parametrize("rows", [0, 1, 7, (1 << 17) + 5])
@pytest.mark.parametrize("most", [3, 126])
def test_counts_of_codes(dtype, rows, most):
    codes = RNG.integers(LEAST_CODE, most, rows, endpoint=True).astype(dtype)
    codes = np.repeat(codes, 2)[::2]  # not contiguous
    expected = [np.count_nonzero(codes == code) for code in range(LEAST_CODE, most + 1)]
    assert code_counts(codes, most + 1 - LEAST_CODE).tolist() == expected


def test_all_codes_of_a_byte_have_a_count():
    """The largest code and the two negative ones are neighbours as bytes."""
    codes = np.tile(np.arange(-2, 128).astype(np.int8), 1100)
    assert set(code_counts(codes, 130).tolist()) == {1100}


@pytest.mark.parametrize("size", [partition.MOST_PAIRED - 1, partition.MOST_PAIRED, partition.MOST_PAIRED + 1])
def test_counts_where_pairs_begin_and_cease_to_have_a_table(size):
    for rows in (size * size - 1, size * size, 2 * partition.AT_ONCE + 3):
        codes = RNG.integers(LEAST_CODE, size + LEAST_CODE, rows).astype(np.int16)
        codes[-3:] = size - 1 + LEAST_CODE
        assert code_counts(codes, size).tolist() == np.bincount(codes.astype(int) - LEAST_CODE, minlength=size).tolist()


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-2, 9), st.sampled_from([-1.0, 0.0, 0.3, 1.0, 7.5, 8.0, 99.0, float("nan")]))),
    table=st.lists(st.integers(-1, 4), min_size=12, max_size=12),
    dtype=st.sampled_from([np.int8, np.int16, np.int64]),
    masked=st.booleans(),
    lattice=st.sampled_from([Lattice(Fraction(1, 4), -4, 36), Lattice(Fraction(1, 1 << 18), 0, 1 << 21)]),
)
def test_sums_by_part_are_those_of_the_rows(rows, table, dtype, masked, lattice):
    codes = np.array([code for code, _ in rows], dtype=dtype)
    values, parts = np.array([x for _, x in rows], dtype=float), np.array(table, dtype=np.intp)
    mask = np.arange(len(rows)) % 3 != 0 if masked else None
    view, part = CodedView(codes, parts, values, mask), parts[codes.astype(int) - LEAST_CODE]
    held = ~np.isnan(values) if mask is None else ~np.isnan(values) & mask
    offsets, unit = lattice.offsets(values).tolist(), PrivacyUnit()
    lists = [[v for v, p, h in zip(offsets, part, held, strict=True) if h and p == place] for place in range(5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "CHUNK", 2)
        total = Total("x", lattice, FIVE).compute(view, unit).open()
        first = Moments("x", lattice, 1, FIVE).compute(view, unit).open()
        second = Moments("x", lattice, 2, FIVE).compute(view, unit).open()
    assert total == [sum(own) + len(own) * lattice.low for own in lists]
    for degree, found in ((1, first), (2, second)):
        rows_ = [[features(v, lattice, degree) for v in own] or [[0] * (degree + 1)] for own in lists]
        assert found == [sum(column) for own in rows_ for column in zip(*own, strict=True)]
    counted = part if mask is None else part[mask]
    assert RowCounts("x", FIVE).compute(view, unit).open() == [np.count_nonzero(counted == place) for place in range(5)]


@pytest.mark.parametrize("cells", [(1 << 31) - 1, 1 << 31])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_sums_of_products_by_part_do_not_wrap(cells, at):
    """Where chunks of 2**16 rows of the largest offsets, or of the largest products, are added up."""
    lattice, rows, v = Lattice(Fraction(1), 0, cells), (1 << 18) + 3, cells * at // 2
    view = CodedView(np.zeros(rows, np.int8), np.array([-1, -1, 2]), np.full(rows, float(v)), None)
    found = Moments("x", lattice, 2, FIVE).compute(view, PrivacyUnit()).open()
    assert found == [0] * 6 + [rows * f for f in features(v, lattice, 2)] + [0] * 6


@pytest.mark.parametrize(
    "cells", [(1 << 31) - 1, 1 << 31]
)  # rows and sum of a chunk fit in 64 bits side by side, or not
@pytest.mark.parametrize("least", [0, 1])
def test_sums_by_place_where_rows_and_offsets_fill_a_word(cells, least):
    """Whole chunks of one place whose rows all have the largest offset, or all but one do."""
    lattice, rows = Lattice(Fraction(1), 0, cells), 4 * CHUNK + 3
    for place in (0, 6):
        values = np.full(rows, float(cells))
        values[5] -= least
        found = sums.sums_by_place(
            lattice, (values, None), lambda at, own=place: np.full(at.stop - at.start, own), 7, 1
        )
        assert found[:, place].tolist() == [rows, rows * cells - least]
        assert found.sum() == rows + rows * cells - least


def test_sums_by_place_with_more_places_than_a_chunk_has_rows():
    lattice, size = Lattice(Fraction(1), 0, 1 << 30), 2 * CHUNK + 9
    codes, values = np.arange(2 * size) % size, (np.arange(2 * size) * 7919.0) % (1 << 30)
    found = sums.sums_by_place(lattice, (values, None), lambda at: codes[at].copy(), size, 1)
    assert (found[0] == 2).all()
    assert found[1].tolist() == (values[:size] + values[size:]).astype(int).tolist()


@pytest.mark.parametrize("most", [partition.MOST_COMBINED, 0])
@pytest.mark.parametrize("allowed", [None, (5, 0, 3)])
@pytest.mark.parametrize("wide", [np.int8, np.int64])
def test_crossed_codes_are_the_crossed_parts(monkeypatch, most, allowed, wide):
    monkeypatch.setattr(partition, "MOST_COMBINED", most)
    cross = Cross((Keys("a", (1, 2), null=True), Keys("b", (1,), other=True)), allowed)
    one = RNG.integers(-2, 60, 500, endpoint=True).astype(np.int8), RNG.integers(-1, 3, 63).astype(np.intp)
    two = RNG.integers(-2, 4, 500, endpoint=True).astype(wide), RNG.integers(-1, 2, 7).astype(np.intp)
    expected = cross.codes([decoded(*one), decoded(*two)])
    codes, parts = cross_coded(cross, [one, two])
    assert decoded(codes, parts).tolist() == expected.tolist()
    assert code_counts(codes, parts.size).sum() == 500
    if most:
        assert codes.itemsize == 2

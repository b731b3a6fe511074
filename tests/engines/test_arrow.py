"""Text in dictionaries is the text, whatever the dictionaries list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.frames import fresh

from pandas_dp.engines import arrow
from pandas_dp.engines.arrow import decoded, is_text, places_in

TEXTS = st.none() | st.sampled_from(["", "a", "b", "ab", "zürich", "x" * 40])


@st.composite
def columns(draw: Any) -> pa.ChunkedArray:
    """Chunks that are slices, with dictionaries of their own, which list null and texts twice."""
    text, index = (
        draw(st.sampled_from([pa.string(), pa.large_string()])),
        draw(st.sampled_from([pa.int8(), pa.uint32()])),
    )
    chunks = []
    for listed in draw(st.lists(st.lists(TEXTS, max_size=6), max_size=4)):
        place = st.none() | st.integers(0, len(listed) - 1) if listed else st.none()
        array = pa.DictionaryArray.from_arrays(pa.array(draw(st.lists(place)), index), pa.array(listed, text))
        chunks.append(array[draw(st.integers(0, 2)) :])
    return pa.chunked_array(chunks, pa.dictionary(index, text))


TWO = pa.chunked_array([  # of two chunks with dictionaries of their own
    pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1], pa.int8()), pa.array(listed)) for listed in (["a", "b"], ["b", "ab"])
])  # fmt: skip


@example(TWO, ["a", "b", "ab"])
@given(columns(), st.lists(TEXTS.filter(lambda text: text is not None), unique=True))
def test_places_are_those_of_the_text(column, keys):
    cells, listed = [cell for chunk in column.chunks for cell in chunk.to_pylist()], [*keys, None]
    expected = [listed.index(cell) if cell in listed else -1 for cell in cells]
    plain = pa.chunked_array([pa.array(cells, pa.string())])
    for one in (column, plain):
        found = places_in(
            pa.array(listed, column.type.value_type if one is column else pa.string()), one, np.dtype("int16")
        )
        assert (found.dtype, found.tolist()) == ("int16", expected)


@pytest.mark.parametrize("most", [1, 50, 2**31 - 1])
@given(columns())
def test_text_that_is_too_long_for_one_chunk_has_more_of_them(most, column):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "MOST", most)
        plain = decoded(column)
    assert plain.type == column.type.value_type
    assert plain.to_pylist() == [cell for chunk in column.chunks for cell in chunk.to_pylist()]
    assert all(len(chunk) == 1 or sum(map(len, filter(None, chunk.to_pylist()))) <= most for chunk in plain.chunks)


def test_only_dictionaries_are_looked_up_where_they_are_short(monkeypatch):
    """Text of three million rows is not unfolded, and a dictionary that is longer than the rows not looked up."""
    looked: list[int] = []
    original = arrow.pc.index_in

    def index_in(values, **options):
        looked.append(len(values))
        return original(values, **options)

    monkeypatch.setattr(arrow.pc, "index_in", index_in)
    texts = pa.array([str(number) for number in range(50)])
    for rows in (3_000_000, 7):
        places = np.arange(rows, dtype=np.int32) % 50
        column = pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(places), texts)])
        assert places_in(pa.array([*texts.to_pylist(), None]), column, np.dtype("int8")).tolist() == places.tolist()
    assert looked == [50, 7]


def test_what_is_text():
    assert [is_text(kind) for kind in (pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.int64())] == [
        True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("rows", [2040, 2049])
def test_text_beyond_two_gibibytes(rows, coded):
    """In one chunk of Arrow's text there is no room for it: one row more decided whether keys were found."""
    chunks = [
        pa.array([f"{row:06d}" + "a" * (1 << 20) for row in range(at, min(at + 256, rows))])
        for at in range(0, rows, 256)
    ]
    column = pa.chunked_array([chunk.dictionary_encode() if coded else chunk for chunk in chunks])
    frame = pd.DataFrame({"c": pd.arrays.ArrowExtensionArray(column)})
    frame.dp.protect(epsilon=10**6, delta=0.1, name=fresh())
    assert frame.dp(epsilon=10**4).nunique("c") == rows
    assert frame.dp(epsilon=10**4, delta=0.01).unique("c").str.len().eq(2**20 + 6).all()

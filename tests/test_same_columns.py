"""Whether two columns are the same memory, however pandas wraps it; never whether they hold the same."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from pandas_dp.recognised import same_storage

TEXTS = pa.chunked_array([["a", "b", None], [], ["c"]], pa.large_string())
NUMBERS = pa.chunked_array([[1, None, 3]], pa.int64())
LISTS = pa.chunked_array([[[1, 2], None, [3]]])
CODED = pa.chunked_array([pa.array(["a", "b", "a"]).dictionary_encode()])


def wrapped(column: pa.ChunkedArray) -> pd.arrays.ArrowExtensionArray:
    """A column in new wrappers over the same buffers, as views are in pandas 3.0."""
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([chunk.slice(0) for chunk in column.chunks], column.type))


def copied(column: pa.ChunkedArray) -> pd.arrays.ArrowExtensionArray:
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(column.to_pylist(), column.type)]))


@pytest.mark.parametrize("column", [TEXTS, NUMBERS, LISTS, CODED])
def test_new_wrappers_are_the_same_column_and_equal_values_are_not(column):
    array = pd.arrays.ArrowExtensionArray(column)
    assert same_storage(array, wrapped(column))
    assert not same_storage(array, copied(column))


def test_another_part_of_the_same_buffers_is_another_column():
    values = pa.array(list(range(10)))
    first, second = (pd.arrays.ArrowExtensionArray(pa.chunked_array([values.slice(at, 5)])) for at in (0, 5))
    assert not same_storage(first, second)


def test_the_same_codes_of_another_dictionary_are_another_column():
    codes = pa.array([0, 1, 0], pa.int32())
    one, other = (
        pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(words))]))
        for words in (["a", "b"], ["b", "a"])
    )
    assert one._pa_array.chunk(0).buffers()[1].address == other._pa_array.chunk(0).buffers()[1].address
    assert not same_storage(one, other)


def test_the_same_bytes_of_another_type_are_another_column():
    numbers = pa.array([1, 2, 3], pa.int64())
    moments = pa.Array.from_buffers(pa.timestamp("s"), 3, numbers.buffers())
    one, other = (pd.arrays.ArrowExtensionArray(pa.chunked_array([values])) for values in (numbers, moments))
    assert not same_storage(one, other)


def test_columns_without_rows_are_the_same():
    """Nothing can differ in them, and pandas drops chunks that hold nothing."""
    one, other = (
        pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks, pa.int64()))
        for chunks in ([], [pa.array([], pa.int64())])
    )
    assert same_storage(one, other)

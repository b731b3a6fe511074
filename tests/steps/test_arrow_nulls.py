"""Which entries of Arrow's runs, unions and dictionaries are null: what their values say, from any row to any other one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from pandas_dp.steps.odd_cells import nulls_in

PLAIN = pa.int64(), pa.string(), pa.null(), pa.uuid()
OTHERS = (
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint64(), pa.list_(pa.int8())),
    pa.run_end_encoded(pa.int32(), pa.int64()),
    pa.dense_union([pa.field("a", pa.int64())]),
    pa.sparse_union([pa.field("a", pa.int64()), pa.field("b", pa.string())]),
)


@pytest.mark.parametrize("held", [*PLAIN, *OTHERS], ids=str)
def test_nulls_alone_are_null(held: pa.DataType) -> None:
    for rows in range(4):
        assert nulls_in(pa.nulls(rows, held)).tolist() == [True] * rows
        assert nulls_in(pa.nulls(rows + 2, held).slice(2)).tolist() == [True] * rows


def arrays(rng: np.random.Generator) -> Iterator[tuple[pa.Array, list[bool]]]:
    rows = int(rng.integers(1, 12))
    numbers = [None if x < 0 else int(x) for x in rng.integers(-3, 5, rows)]
    texts = [None if x < 0 else str(x) for x in rng.integers(-3, 5, rows)]
    parts, of = [pa.array(numbers, pa.int64()), pa.array(texts, pa.string())], (numbers, texts)
    code, place, length = rng.integers(0, 2, rows), rng.integers(0, rows, rows), rng.integers(1, 4, rows)
    sparse = pa.UnionArray.from_sparse(pa.array(code * 3 + 2, pa.int8()), parts, type_codes=[2, 5])
    expected = [of[c][i] is None for i, c in enumerate(code)]
    yield sparse, expected
    yield (
        pa.RunEndEncodedArray.from_arrays(pa.array(np.cumsum(length), pa.int16()), sparse),
        np.repeat(expected, length).tolist(),
    )
    dense = pa.UnionArray.from_dense(pa.array(code, pa.int8()), pa.array(place, pa.int32()), parts)
    yield dense, [of[c][i] is None for c, i in zip(code, place, strict=True)]
    indices = pa.array([None if i % 4 == 0 else int(i) for i in place], pa.uint8())
    listed = pa.array([None if x is None else [x] for x in numbers], pa.list_(pa.int64()))
    yield pa.DictionaryArray.from_arrays(indices, listed), [i % 4 == 0 or numbers[i] is None for i in place]


@pytest.mark.parametrize("seed", range(20))
def test_an_entry_is_null_where_its_value_is(seed: int) -> None:
    for array, expected in arrays(np.random.default_rng(seed)):
        assert len(array) == len(expected)
        for first, last in combinations(range(len(array) + 1), 2):
            assert nulls_in(array.slice(first, last - first)).tolist() == expected[first:last]

"""Structures and lists of partitions whose type Arrow took from one cell."""

from __future__ import annotations

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pytest
from support.frames import fresh

import pandas_dp.dask  # noqa: F401 - the accessor of Dask
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.tables.conforming import conformed

ROWS = {"struct": [{"f": 1}, {"f": 2}, None, {"f": None}] * 50, "list": [[1, 2], [2], None, []] * 50}
ODD = {
    "struct": [{"f": 1.5}, {"f": 1, "g": 2}, {"f": None}, {"g": "x"}, None],
    "list": [[1.5], [None], [1, 2.5], [], None],
}
ASK = {
    "struct": [lambda r: r.x.struct.field("f") == 1, lambda r: r.x.struct.field("f").isna()],
    "list": [lambda r: r.x.list[0] == 1, lambda r: r.x.list.len() == 1],
}


def part(cells):
    return pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(cells)]))})


@pytest.mark.parametrize("kind", ROWS)
def test_one_cell_changes_no_other_row_of_its_partition(kind):
    def counts(more):
        parts = [part(ROWS[kind]), part(ROWS[kind] + more)]
        frame = dd.from_map(lambda i: parts[i], [0, 1], meta=parts[0].iloc[:0])
        session = frame.dp.protect(epsilon=10**6, name=fresh())
        found = [int(frame.dp(epsilon=1000).filter(ask).count()) for ask in ASK[kind]]
        session.close()
        return found

    plain = counts([])
    for cell in ODD[kind]:
        assert all(0 <= other - one <= 1 for one, other in zip(plain, counts([cell]), strict=True)), cell


@pytest.mark.parametrize("kind", ROWS)
def test_cells_that_fit_are_what_they_were(kind):
    declared = pd.ArrowDtype(pa.array(ROWS[kind]).type)
    mixed = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(ROWS[kind] + [ODD[kind][0]])])))
    found = conformed(mixed, declared)
    assert found.dtype == declared
    assert found.array.__arrow_array__().to_pylist()[:-1] == ROWS[kind]
    nested = pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array([[{"a": [1, 2]}], [{"a": [3.5]}], None])]))
    )
    inner = pd.ArrowDtype(pa.array([[{"a": [1]}]]).type)
    assert conformed(nested, inner).array.__arrow_array__().to_pylist() == [[{"a": [1, 2]}], [{"a": [None]}], None]


def test_what_is_no_structure_is_missing():
    declared = pd.ArrowDtype(pa.struct([("f", pa.int64())]))
    assert conformed(pd.Series([1, 2]), declared).isna().all()
    lists = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array([[1]])])))
    assert conformed(lists, declared).isna().all()


def test_dictionaries_within_structures_that_are_all_missing():
    held = pa.struct([("a", pa.dictionary(pa.int8(), pa.string())), ("b", pa.int64())])
    declared = pd.ArrowDtype(pa.struct([("a", pa.string()), ("b", pa.int64())]))
    for cells in ([None] * 5, [None] * 5 + [{"a": "q", "b": 1}]):
        column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(cells, held)])))
        assert conformed(column, declared).array.__arrow_array__().to_pylist() == cells


@pytest.mark.parametrize("held", [pa.string_view(), pa.binary_view(), pa.run_end_encoded(pa.int32(), pa.int64())])
def test_entries_that_arrow_cannot_take_are_refused_without_a_row(held):
    lists = pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.nulls(2, pa.list_(held))]))})
    lists.dp.protect(epsilon=1, name=fresh())
    with pytest.raises(ArgumentTypeError, match=r"astype\(pd.ArrowDtype\(pa.list_\(pa.string"):
        lists.dp.filter(lambda d: d.x.list[0].isna())
    lists.dp.session.close()

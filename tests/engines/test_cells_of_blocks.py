"""Cells that hold others: what a function of a block sees of one follows from its own row, whatever a reader made of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pandas_dp.engines import pandas as engine
from pandas_dp.engines.pandas import _rebuilt


def struct(held: pa.DataType) -> pa.DataType:
    return pa.struct([("a", held)])


PLAIN: dict[str, tuple[pa.DataType, Any]] = {
    "int64": (pa.int64(), 1), "int8": (pa.int8(), 1), "uint64": (pa.uint64(), 2**63 + 1), "exact": (pa.int64(), 2**53 + 1),
    "float32": (pa.float32(), 0.1), "float64": (pa.float64(), 2.5), "bool": (pa.bool_(), True), "text": (pa.string(), "a"),
    "moments": (pa.timestamp("us"), 1), "zoned": (pa.timestamp("us", "UTC"), 1), "days": (pa.date32(), 1),
    "spans": (pa.duration("us"), 1), "decimals": (pa.decimal128(5, 2), 1), "bytes": (pa.binary(), b"a"),
    "dictionary": (pa.dictionary(pa.int8(), pa.int64()), 1),
}  # fmt: skip
# a type that holds another one, and a cell of it with one entry
NESTED: dict[str, tuple[Any, Any]] = {
    "list": (pa.list_, lambda cell: [cell]),
    "large list": (pa.large_list, lambda cell: [cell, cell]),
    "list of one": (lambda held: pa.list_(held, 1), lambda cell: [cell]),
    "structure": (struct, lambda cell: {"a": cell}),
    "map": (lambda held: pa.map_(pa.string(), held), lambda cell: [("k", cell)]),
    "list of lists": (lambda held: pa.list_(pa.list_(held)), lambda cell: [[cell], []]),
    "list of structures": (lambda held: pa.list_(struct(held)), lambda cell: [{"a": cell}]),
    "structure of lists": (lambda held: struct(pa.list_(held)), lambda cell: {"a": [cell]}),
    "map to lists": (lambda held: pa.map_(pa.string(), pa.list_(held)), lambda cell: [("k", [cell])]),
}


def seen(cell: Any) -> Any:
    """A cell with its class, dtypes and parts."""
    if isinstance(cell, np.ndarray):
        return "array", str(cell.dtype), [*map(seen, cell)]
    if isinstance(cell, dict):
        return {key: seen(held) for key, held in cell.items()}
    if isinstance(cell, list | tuple):
        return type(cell).__name__, [*map(seen, cell)]
    return type(cell).__name__, repr(cell)


def blocks(cells: list[Any], held: pa.DataType, arrow: bool) -> list[Any]:
    column = pa.chunked_array([pa.array(cells, held)])
    table = pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(column) if arrow else column.to_pandas()})
    return [seen(_rebuilt(table, np.array([row]))["x"].iloc[0]) for row in range(len(cells))]


def differ(name: str, nest: str) -> bool:
    (held, cell), (outer, put) = PLAIN[name], NESTED[nest]
    rows = [put(cell), put(cell), put(None), None]
    for arrow in (False, True):
        for odd in (put(None), None):
            plain = blocks(rows[:2], outer(held), arrow)
            if blocks([*rows[:2], odd], outer(held), arrow)[:2] != plain or plain[0] != plain[1]:
                return True
            if blocks(rows, outer(held), arrow)[2:3] != blocks([put(None)], outer(held), arrow):
                return True
    return False


@pytest.mark.one_in(16)
@pytest.mark.parametrize("nest", NESTED)
@pytest.mark.parametrize("name", PLAIN)
def test_what_is_within_a_cell_follows_from_its_row(name: str, nest: str) -> None:
    assert not differ(name, nest)


@pytest.mark.parametrize("nest", NESTED)
def test_twin_that_leaves_cells_as_they_were_read_is_found(nest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "uniform", lambda cell: cell)
    assert differ("int64", nest)
    assert differ("bool", "list")


def test_numbers_within_cells_have_one_form_and_all_else_is_what_it_was() -> None:
    cells = [
        [1, "a", True, None, 10**30],
        (1.0, {2: 3.5}),
        {"a": [2**60 + 1]},
        {1, 2},
        np.array([[1, 2]]),
        np.array([True]),
        5,
    ]
    table = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    found = [_rebuilt(table, np.array([row]))["x"].iloc[0] for row in range(len(cells))]
    expected = [[1, "a", True, None, 10**30], (1, {2: 3.5}), {"a": [2.0**60]}, {1, 2}, np.array([[1.0, 2.0]])]
    assert [*map(seen, found)] == [*map(seen, [*expected, np.array([True], dtype=object), 5])]

"""Combinations of keys: for every pair of dtypes those of a plain groupby, and no row's cells change another row's."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.columns import STR_PYTHON, arrow, arrow_slice, nanoseconds

from pandas_dp.core.partition import Bins, Keys
from pandas_dp.engines.pandas import PandasView, combined

TEXT = ["b", None, "a", "b", "", "Zürich", None, "a", "b\0", "b"]
WHOLE = [3, None, 1, 3, 0, -7, 1, None, 120, 3]
REAL = [0.0, 1.5, -0.0, None, 1.5, float("inf"), 1.5, 0.0, None, 2.0]
FLAGS = [True, False, None, True, True, False, False, None, True, True]
DAYS = [None if n is None else pd.Timestamp("2013-01-01") + pd.Timedelta(n, "D") for n in WHOLE]
SPANS = [None if n is None else pd.Timedelta(n, "min") for n in WHOLE]
MONEY = [None if n is None else Decimal(n) / 4 for n in WHOLE]


def form(number):
    """The form of a key that is a number, in which the kind of memory has no part."""
    return number if number is None or number == float("inf") or number % 1 else int(number)


class Equal(str):
    """Text that equals everything it is compared with."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("a")


class Unhashable(str):
    """Text whose hash raises."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise ValueError("a cell")


ODD = [1, True, 1.0, "1", (1,), b"a", Equal("z"), Unhashable("a"), "a", 2.5]
ODD_KEYS = [1, 1, 1, "1", None, None, "z", "a", "a", None]


def objects(cells: list) -> pd.Series:
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.Series(column, dtype=object)


def plain(cells: list) -> list:
    """Keys of cells: dates and durations in nanoseconds."""
    return [nanoseconds(cell) for cell in cells]


COLUMNS = {
    "text": (pd.Series(TEXT, dtype=STR_PYTHON), TEXT),
    "text in Arrow": (arrow(TEXT, pa.string()), TEXT),
    "objects": (objects(ODD), ODD_KEYS),
    "categories": (pd.Series(pd.Categorical(TEXT, categories=["b\0", "x", "Zürich", "b", "", "a"])), TEXT),
    "whole numbers": (pd.Series(WHOLE, dtype="Int16"), WHOLE),
    "floats": (pd.Series(REAL, dtype="float64"), [*map(form, REAL)]),
    "floats of half a word": (pd.Series(REAL, dtype="float16"), [*map(form, REAL)]),
    "flags": (
        arrow_slice(FLAGS, pa.bool_()),
        [None if f is None else int(f) for f in FLAGS],
    ),
    "dates": (pd.Series(DAYS, dtype="datetime64[s]"), plain(DAYS)),
    "zoned dates": (pd.Series(DAYS, dtype="datetime64[us]").dt.tz_localize("UTC"), plain(DAYS)),
    "durations": (pd.Series(SPANS, dtype="timedelta64[ms]"), plain(SPANS)),
    "decimals": (arrow(MONEY, pa.decimal128(9, 2)), [*map(form, (n and float(n) for n in MONEY))]),
}


def of_rows(frame: pd.DataFrame, columns: tuple) -> list:
    """Combination of each row, None for none; the ledger keeps it as it is."""
    codes, count, names = PandasView(frame, {}).combinations(columns)
    assert codes.dtype == np.int64
    assert len(codes) == len(frame)
    here = np.unique(codes[codes >= 0])
    assert not here.size or here[-1] < count
    keys = names(here)
    assert json.loads(json.dumps(keys)) == keys
    assert len({repr(key) for key in keys}) == len(keys)
    at = dict(zip(here.tolist(), keys, strict=True))
    return [at.get(code) for code in codes.tolist()]


def grouped(*columns: list) -> dict:
    """Rows of each combination by a plain groupby of the keys, by what they look like: 1, True and "1" are not one."""
    seen = pd.DataFrame({i: [None if key is None else repr(key) for key in keys] for i, keys in enumerate(columns)})
    return seen.groupby(list(seen.columns)).size().to_dict()


@pytest.mark.one_in(7)
@pytest.mark.parametrize(("one", "two"), list(itertools.product(COLUMNS, repeat=2)))
def test_a_pair_of_columns_has_the_combinations_of_a_plain_groupby(one, two):
    (first, keys), (second, more) = COLUMNS[one], COLUMNS[two]
    for order in (slice(None), slice(None, None, -1), slice(0), slice(3)):
        frame = pd.DataFrame({"x": first, "y": second}).iloc[order].reset_index(drop=True)
        rows = of_rows(frame, ("x", "y"))
        expected = [None if None in pair else list(pair) for pair in zip(keys[order], more[order], strict=True)]
        assert repr(rows) == repr(expected)
        counted = pd.Series([tuple(map(repr, row)) for row in rows if row is not None], dtype=object).value_counts()
        assert counted.to_dict() == (grouped(keys[order], more[order]) if len(frame) else {})


def test_many_columns_at_once():
    frame = pd.DataFrame({name: column for name, (column, _) in COLUMNS.items()})
    names = tuple(name for name in COLUMNS if name not in ("objects", "flags"))
    rows = of_rows(frame, names)
    for place, row in enumerate(rows):
        cells = [COLUMNS[name][1][place] for name in names]
        assert row == (None if None in cells else cells)
    assert sum(row is not None for row in rows) == 5


@pytest.mark.parametrize("cell", ODD, ids=[f"{type(cell).__name__} {i}" for i, cell in enumerate(ODD)])
@pytest.mark.parametrize("column", ["x", "y"])
def test_an_odd_cell_of_one_row_changes_no_other_rows_combination(cell, column):
    cells = {"x": ["a", "z", 1, "a", 1, "a"], "y": [1, "a", "1", 1, "z", "b"]}
    before = of_rows(pd.DataFrame({name: objects(own) for name, own in cells.items()}), ("x", "y"))
    for place in (0, 3, 6):
        changed = {name: [*own[:place], cell if name == column else "b", *own[place:]] for name, own in cells.items()}
        after = of_rows(pd.DataFrame({name: objects(own) for name, own in changed.items()}), ("x", "y"))
        assert after[:place] + after[place + 1 :] == before


def test_pairs_of_cells_that_look_alike_together_are_different():
    frame = pd.DataFrame({"x": ["a", "ab", "a\0", "a"], "y": ["bc", "c", "bc", "\0bc"]})
    rows = of_rows(frame, ("x", "y"))
    assert rows == frame.to_numpy().tolist()


def test_public_parts_beside_keys():
    frame = pd.DataFrame({"x": ["a", "b", None, "a"], "y": [1.0, 5.0, 1.0, np.nan], "z": ["p", "q", "q", "p"]})
    assert of_rows(frame, ("x", Bins("y", (0, 2, 9)))) == [["a", 0], ["b", 1], None, None]
    assert of_rows(frame, (Keys("x", ("c", "b")), "z")) == [None, [1, "q"], None, None]
    assert of_rows(frame, ("z", Keys("x", ("b",), other=True, null=True))) == [["p", 1], ["q", 0], ["q", 2], ["p", 1]]


def test_codes_of_many_columns_stay_exact():
    """Sixteen columns of a thousand values: numbers of combinations that no 64 bits hold never arise."""
    rng = np.random.default_rng(7)
    table = rng.integers(0, 1000, (1000, 16))
    table[500:] = table[:500]  # each row twice
    table[500:, 15] ^= np.arange(500) % 2  # but half of them differ in the last column
    frame = pd.DataFrame(table, columns=[f"c{i}" for i in range(16)])
    rows = of_rows(frame, tuple(frame.columns))
    assert rows == table.tolist()
    codes, count, _ = PandasView(frame, {}).combinations(tuple(frame.columns))
    assert count == 750 == np.unique(codes).size


def test_codes_of_sparse_columns_do_not_overflow():
    """Codes may be fewer than their number says: as many categories as rows could have, on a few rows."""
    many = 2**31
    columns = [(np.array([many - 1, 0, many - 1, -1]), many, lambda places: places.tolist()) for _ in range(4)]
    codes, count, _ = combined(columns)
    assert count == 2
    assert codes[0] == codes[2] != codes[1]
    assert codes[3] == -1
    assert dict(enumerate(np.bincount(codes[:3]).tolist())) == {int(codes[0]): 2, int(codes[1]): 1}

"""Blocks of a user's function are rebuilt many at once, and each is what it would be alone, in memory of its own."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pandas_dp.engines import pandas as engine
from pandas_dp.engines.pandas import PandasView


def table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    whole = rng.integers(0, 9, rows)
    words = pd.Series(whole).map(lambda n: None if n == 3 else "é" * n)
    days = pd.Timestamp("2024-10-20") + pd.to_timedelta(whole * 30, unit="h")
    nested = np.empty(rows, dtype=object)
    nested[:] = [[n, [str(n)]] for n in whole.tolist()]
    return pd.DataFrame(
        {
            "whole": whole * 1.0,
            "holes": np.where(whole == 4, np.nan, whole / 7),
            "nullable": pd.array(whole, dtype="Int64"),
            "yes": whole > 4,
            "perhaps": pd.array(np.where(whole == 2, None, whole > 4), dtype="boolean"),
            "text": words,
            "objects": words.astype(object),
            "arrow": words.astype("string[pyarrow]"),
            "category": pd.Categorical(words),
            "numbers": pd.Categorical(whole),
            "day": days,
            "zone": pd.Series(days).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
            "time": pd.to_timedelta(whole, unit="min"),
            "nested": nested,
            "decimal": pd.Series(whole.tolist(), dtype="int64[pyarrow]"),
        }
    ).set_axis(pd.Index(np.arange(rows) * 10, name="label"))


def rebuilt(frame: pd.DataFrame, block: np.ndarray, blocks: int, columns: Any = None) -> list[pd.DataFrame]:
    held: list[pd.DataFrame] = []
    PandasView(frame, {}).block_results(held.append, block.astype(np.intp), blocks, columns)
    return held


@pytest.mark.parametrize("together", [1, 7, 10**6])
def test_a_block_is_what_it_is_alone_and_in_the_order_of_its_rows(together, monkeypatch):
    monkeypatch.setattr(engine, "TOGETHER", together)
    frame = table()
    block = np.random.default_rng(1).integers(-1, 12, len(frame))
    block[block == 5] = 6  # one without rows
    held = rebuilt(frame, block, 12)
    assert len(held) == 12
    for place, found in enumerate(held):
        rows = frame[block == place]
        alone = rebuilt(rows, np.zeros(len(rows)), 1)[0]
        pd.testing.assert_frame_equal(found, alone)
        assert found["whole"].tolist() == rows["whole"].tolist()
        assert [*map(repr, found["nested"])] == [*map(repr, rows["nested"])]
        assert type(found.index) is pd.RangeIndex
        assert (found.index.start, found.index.stop, found.index.name) == (0, len(rows), None)
        assert found.attrs == {}


def buffers(frame: pd.DataFrame) -> list[np.ndarray]:
    """The memory that a block leads to, but that of the places of columns, which pandas shares and no row decides."""
    found, seen, level = [], set(), [frame._mgr, frame.columns, frame.index]
    while level:
        one = level.pop()
        if id(one) in seen or isinstance(one, type) or getattr(type(one), "__module__", "").startswith("pyarrow"):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray) and one.dtype != np.intp:
            found.append(one)
        if type(one).__module__.split(".")[0] in ("pandas", "numpy", "builtins") and not callable(one):
            level += gc.get_referents(one) + (
                [one.base] if isinstance(one, np.ndarray) and one.base is not None else []
            )
            level += [getattr(one, name) for name in ("_ndarray", "_data", "_mask", "values") if hasattr(one, name)]
    return found


def test_no_block_holds_memory_of_another_one():
    frame = table()
    held = rebuilt(frame, np.arange(len(frame)) % 6, 6)
    owned = [buffers(block) for block in held]
    assert all(len(found) > len(frame.columns) // 2 for found in owned)
    for place, found in enumerate(owned):
        assert all(array.size <= 10 * len(frame.columns) for array in found)  # its ten rows, not all sixty
        for other in owned[:place]:
            assert not any(np.shares_memory(a, b) for a in found for b in other)
        assert not any(np.shares_memory(a, frame[name].to_numpy()) for a in found for name in ("whole", "holes", "yes"))


def test_what_a_function_does_to_its_block_reaches_no_other():
    frame = pd.DataFrame(np.arange(240).reshape(60, 4), columns=pd.Index(list("abcd"), dtype=object))
    seen, done = [], []

    def spoils(block):
        seen.append((block.columns.tolist(), block.columns.name, dict(block.attrs), block.to_numpy().sum()))
        block.attrs["x"] = 1
        block.columns.name = "mark"
        block.iloc[:, :] = 0
        for array in (block.columns.to_numpy(), *(block[name].to_numpy() for name in "abcd")):
            while array is not None:
                array.flags.writeable = True
                array[...] = 0
                array = array.base
        done.append(block)

    PandasView(frame, {}).block_results(spoils, np.arange(60) % 6, 6)
    assert len(done) == 6
    assert seen == [(list("abcd"), None, {}, frame.iloc[place::6].to_numpy().sum()) for place in range(6)]


def test_columns_are_rebuilt_once_for_many_blocks(monkeypatch):
    """2 ms a block where each was rebuilt by itself."""
    calls = []
    plain = engine._plain
    monkeypatch.setattr(engine, "_plain", lambda column: calls.append(1) or plain(column))
    rows = 4 * engine.TOGETHER
    frame = pd.DataFrame({"x": np.arange(rows), "y": np.arange(rows) / 2})
    results = PandasView(frame, {}).block_results(len, np.arange(rows) % 1000, 1000)
    assert results == [rows // 1000 + (place < rows % 1000) for place in range(1000)]
    assert len(calls) <= 2 * 6


@pytest.mark.parametrize("name", ["text", "objects", "arrow", "category", "nested"])
def test_no_cell_is_the_same_object_in_two_blocks(name):
    """Python keeps the UTF-8 form of a text inside it once somebody asked for it. Of single letters there is one in all."""
    held = rebuilt(table()[[name]], np.arange(60) % 6, 6)
    cells = [
        cell for block in held for cell in block[name] if isinstance(cell, list) or (cell is not None and len(cell) > 1)
    ]
    assert len({*map(id, cells)}) == len(cells) > 30

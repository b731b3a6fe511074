"""Every question on a table in memory and in partitions: the same exact integers, however the partitions are cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from support.elsewhere import SAME, answer, with_nulls
from support.looks import record_looks
from support.questions import ROW_BY_ROW, table

import pandas_dp.dask  # noqa: F401 - for the accessor

CUTS = (0, 7, 7, 64, 200)  # the first, the third and the last part are empty
FAST = [name for name in SAME if name not in ("medians of a function of groups", "function of groups by noisy size")]
ADDED = ["count", "count of values", "sum", "mean", "std", "cov", "median", "quantiles of groups", "histogram of days"]
ADDED += ["ranges", "crosstab", "group sums", "group means", "select", "smooth median", "nunique"]


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the looks of the question asked last hand to their mechanisms."""
    return record_looks(monkeypatch)


def cut(frame: pd.DataFrame, cuts: tuple[int, ...] = CUTS) -> Any:
    """A Dask DataFrame of the rows between cuts."""
    text = {name: "str" for name, dtype in frame.dtypes.items() if dtype.kind == "O"}
    parts = [frame.astype(text).iloc[first:last] for first, last in pairwise([0, *cuts, len(frame)])]
    return dd.from_map(lambda place: parts[place], range(len(parts)), meta=frame.astype(text).iloc[:0])


@pytest.mark.parametrize("name", FAST)
def test_partitions_give_the_integers_of_memory(name, looks):
    first, exact = answer(name, with_nulls(), steps=name not in ROW_BY_ROW), looks[0]
    assert type(answer(name, cut(with_nulls()), steps=name not in ROW_BY_ROW)) is type(first)
    assert looks[0] == exact


@pytest.mark.parametrize("name", ADDED)
def test_rows_of_units_in_several_partitions(name, looks):
    first, exact = answer(name, with_nulls(), unit=True, steps=True), looks[0]
    assert type(answer(name, cut(with_nulls()), unit=True, steps=True)) is type(first)
    assert looks[0] == exact


@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row(rows, looks):
    frame = table().iloc[:rows]
    for name in ("count", "mean", "histogram of keys", "median", "nunique", "cov"):
        first, exact = answer(name, frame.copy()), looks[0]
        again = answer(name, cut(frame, (0, 0) if rows else ()))
        assert looks[0] == exact, name
        assert type(again) is type(first), name

"""A cell that cannot go to another process is missing, wherever tasks are done, and ends no question."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import cloudpickle
import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from dask.local import get_async, synchronous_executor
from support.frames import fresh

import pandas_dp.dask
from pandas_dp.tables import dask_chunks
from pandas_dp.tables.conforming import objects
from pandas_dp.tables.dask_chunks import portable

SURE = 10**5


def in_processes(graph: Any, keys: Any, **options: Any) -> Any:
    """Dask's scheduler of processes, in this one: what goes between tasks is pickled as there."""
    submit, workers = synchronous_executor.submit, synchronous_executor._max_workers
    return get_async(submit, workers, graph, keys, dumps=cloudpickle.dumps, loads=cloudpickle.loads)


class Stays:
    """It can be sent, and not be received."""

    def __reduce__(self) -> Any:
        return int, ("x",)


class Zone(dt.tzinfo):
    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> Any:
        raise SystemExit


def nested(depth: int) -> list[Any]:
    cell: list[Any] = []
    for _ in range(depth):
        cell = [cell]
    return cell


ODD = {
    "view": lambda: memoryview(b"x"),
    "deep": lambda: nested(900),
    "deepest": lambda: nested(10**5),
    "generator": lambda: (n for n in range(3)),
    "no way back": Stays,
    "in a list": lambda: [Stays()],
    "a zone": lambda: dt.datetime(2020, 1, 1, tzinfo=Zone("x")),
    "text": lambda: "c",
}


@pytest.fixture(autouse=True)
def plain() -> Iterator[None]:
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def load(part: int, name: str) -> pd.DataFrame:
    cells = ["a", "b", ODD[name]() if part else "b"]
    return pd.DataFrame({"pid": range(3 * part, 3 * part + 3), "x": pd.Series(cells, dtype=object)})


def table(name: str) -> Any:
    meta = pd.DataFrame({"pid": pd.Series([], dtype="int64"), "x": pd.Series([], dtype=object)})
    return dd.from_map(load, [0, 1], name=name, meta=meta)


def answers(ddf: Any) -> list[int]:
    session = ddf.dp.protect(epsilon=10 * SURE, unit="pid", max_rows=2, name=fresh())
    asked = (
        ddf.dp(epsilon=SURE).count(),
        ddf.dp(epsilon=SURE).value_counts("x", keys=["a"]).iloc[0],
        ddf.dp.filter(lambda d: d.x == "a").dp(epsilon=SURE).count(),
        ddf.dp(epsilon=SURE).sample_and_aggregate(lambda d: (d["x"] == "a").sum(), bounds=(0, 6), rows=6, blocks=1),
    )
    session.close()
    return [round(float(one)) for one in asked]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("scheduler", [in_processes, "sync"])
def test_a_cell_that_cannot_travel_ends_no_question(name: str, scheduler: Any) -> None:
    with dask.config.set(scheduler=scheduler):
        assert answers(table(name))[:3] == [6, 2, 2]


def test_rows_that_dask_moves_itself() -> None:
    """Between tasks of the owner's own, too."""
    with dask.config.set(scheduler=in_processes):
        moved = table("generator").shuffle("pid", shuffle_method="tasks")
        assert answers(moved)[:3] == [6, 2, 2]


def test_what_can_travel_is_what_it_was() -> None:
    cells = ["a", None, 1, (1, [2]), {"a": b"x"}, pd.Timestamp(0, tz="UTC"), len, Stays, "\ud800"]
    rows = pd.DataFrame({"x": objects(cells), "n": range(len(cells))}, index=list("abcdefghi"))
    pd.testing.assert_frame_equal(portable(rows), rows)
    assert portable([rows["x"]])[0].tolist() == cells
    assert portable({0: (ODD, 5)}) == {0: (ODD, 5)}  # no rows


def test_twin_that_sends_every_cell_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_chunks, "_travels", lambda cell: True)
    with dask.config.set(scheduler=in_processes), pytest.raises(pandas_dp.errors.QueryFailedError):
        answers(table("generator"))

"""Dask DataFrames on a cluster of two processes: lost workers, failures, kept partitions; and what is refused."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from support.frames import fresh
from support.slowly import CELL, broken, rows_of, slow_rows_of

import pandas_dp.dask
from pandas_dp import ArgumentValueError, NoSessionError, PandasDPError, QueryFailedError
from pandas_dp.tables import dask_chunks

SURE = 10**5  # at this epsilon a count is off with probability 2 exp(-10**5)
META = rows_of(0).iloc[:0]


def on_cluster(test: Any) -> Any:
    """Mark a test as slow, in which connections to killed workers may end without being closed."""
    test = pytest.mark.filterwarnings("ignore::ResourceWarning")(test)
    return pytest.mark.slow(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")(test))


def visits(make: Any = rows_of, parts: int = 6) -> Any:
    return dd.from_map(make, range(parts), meta=META)


def protected(ddf: Any, **terms: Any) -> Any:
    ddf.dp.protect(**({"epsilon": 10 * SURE, "name": fresh()} | terms))
    return ddf


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    options = {"distributed.comm.timeouts.connect": "6s", "distributed.worker.memory.terminate": False}
    with (
        dask.config.set(options),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as made,
    ):
        yield made
    gc.collect()  # what a killed worker left behind is not told of in another test


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster, timeout="300s") as made:
        made.wait_for_workers(2, timeout=300)  # on a machine that is busy, too
        yield made


@pytest.fixture
def here() -> Iterator[None]:
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


@on_cluster
def test_a_cluster_answers(client):
    whole = pd.concat(map(rows_of, range(6)))
    ddf = protected(visits())
    assert ddf.dp(epsilon=SURE).count() == 600
    assert ddf.dp.query("cost > 30").dp(epsilon=SURE).count() == int((whole.cost > 30).sum())
    by = ddf.dp(epsilon=SURE).groupby("sex", keys=["F", "M"])["cost"].mean(bounds=(0, 100))
    assert by.value.tolist() == pytest.approx(
        whole.groupby("sex").cost.mean().tolist(), abs=0.01
    )  # the noise is 10**-5
    assert ddf.dp(epsilon=SURE).nunique("pid") == 30
    units = protected(visits(), unit="pid", max_rows=3)
    assert units.dp(epsilon=SURE).count() == 90
    assert units.dp(epsilon=SURE).histogram("sex", keys=["F", "M"]).value.sum() == 90
    kept = ddf.persist()
    kept.dp.protect(session=ddf.dp.session)
    assert kept.dp(epsilon=SURE).count() == 600
    for before in (
        visits().shuffle("pid", shuffle_method="p2p"),
        visits().merge(META.assign(new=0), on="pid", how="left"),
    ):
        before.dp.protect(session=ddf.dp.session)
        assert before.dp(epsilon=SURE).count() == 600


@on_cluster
@pytest.mark.parametrize("terms", [{}, {"unit": "pid", "max_rows": 3}])
def test_a_worker_killed_at_work_changes_neither_answer_nor_charge(terms, client, tmp_path):
    ddf = protected(visits(partial(slow_rows_of, folder=str(tmp_path)), 8), **terms)

    def kill() -> None:
        """End the process that began the third partition that was begun."""
        while len(begun := sorted(tmp_path.iterdir(), key=os.path.getmtime)) < 3:
            time.sleep(0.01)
        os.kill(int(begun[-1].name.split()[1]), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    assert ddf.dp(epsilon=SURE).count() == (90 if terms else 800)
    killer.join(300)
    assert len(list(tmp_path.iterdir())) > 8  # a partition was read by two processes
    assert str(ddf.dp.session.spent) == f"epsilon={SURE}"


@on_cluster
def test_failures_show_no_cell_anywhere(cluster, client):
    ddf = protected(visits().map_partitions(broken, meta=META))
    for ask in (lambda: ddf.dp(epsilon=1).count(), lambda: ddf.dp(epsilon=1).nunique("pid")):
        with pytest.raises(QueryFailedError) as caught:
            ask()
        assert str(caught.value) == QueryFailedError.TEXT
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert str(ddf.dp.session.spent) == "epsilon=2"
    assert CELL not in str(cluster.get_logs())
    with pytest.raises(ValueError, match=CELL):  # so do the logs show it where Dask itself computes
        ddf.compute()
    assert CELL in str(cluster.get_logs())
    assert protected(visits()).dp(epsilon=SURE).count() == 600


def test_everything_that_a_frame_can_do(here):
    ddf, frame = protected(visits()), pd.concat(map(rows_of, range(6)), ignore_index=True)
    ask = pandas_dp.query(epsilon=SURE).query("cost > 65").count()
    old = int((frame.cost > 65).sum())
    assert ask(ddf) == ddf.dp.pipe(ask) == ddf.dp.query("cost > 65").dp(epsilon=SURE).count() == old
    assert ask.preview(ddf).error == ddf.dp.preview(epsilon=SURE).query("cost > 65").count().error
    parts = ddf.dp.partition("sex", ["F", "M"], epsilon=SURE)
    assert [part.dp(epsilon=SURE).count() for part in parts.values()] == [300, 300]
    assert ddf.dp.allot("nightly", epsilon=SURE).dp(epsilon=SURE).count() == 600
    assert len(pandas_dp.plan([pandas_dp.query(within=20).count(), ask], frame=ddf)(ddf)) == 2
    assert "protects each row" in repr(ddf.dp)


def test_steps_stay_lazy_and_give_dask_frames(here):
    read: list[int] = []

    def watched(part: int) -> pd.DataFrame:
        read.append(part)
        return rows_of(part)

    ddf = protected(visits(watched))
    some = ddf.dp.query("cost > 30").dp.assign(half=pd.col("cost") / 2).dp.drop("sex")
    assert read == []
    assert isinstance(some, dd.DataFrame)
    assert list(some.columns) == ["pid", "cost", "half"]
    assert some.dp.session is ddf.dp.session
    plain = some.compute()  # as any Dask DataFrame: its rows, which no session protects
    whole = pd.concat(map(rows_of, range(6)), ignore_index=True)
    assert plain.half.tolist() == (whole.cost[whole.cost > 30] / 2).tolist()
    assert not hasattr(pandas_dp.dp(plain), "session")
    assert some.dp(epsilon=SURE).count() == len(plain)


def test_only_columns_that_are_read_are_read(here, tmp_path, monkeypatch):
    rows_of(0).to_parquet(tmp_path / "0.parquet")
    seen, original = [], dask_chunks.Preparation.__call__

    def call(self: Any, rows: pd.DataFrame) -> pd.DataFrame:
        seen.append(list(rows.columns))
        return original(self, rows)

    monkeypatch.setattr(dask_chunks.Preparation, "__call__", call)
    ddf = protected(dd.read_parquet(tmp_path))
    for ask, columns in [
        (lambda d: d.count(), ["pid"]),
        (lambda d: d.query("pid > 3").count("sex"), ["pid", "sex"]),
        (lambda d: d.mean("cost", bounds=(0, 9)), ["cost"]),
        (lambda d: d.nunique("sex"), ["sex"]),
    ]:
        seen.clear()
        ask(ddf.dp(epsilon=1))
        assert seen
        assert all(names == columns for names in seen)


def test_one_budget_for_dask_frames_and_others(here):
    ddf, frame = protected(visits()), rows_of(0)
    frame.dp.protect(session=ddf.dp.session, table="frame")
    other = visits(parts=2)
    other.dp.protect(session=frame.dp.session, table="other")
    assert other.dp(epsilon=SURE).count() == 200
    assert frame.dp(epsilon=SURE).count() == 100
    assert str(ddf.dp.session.spent) == f"epsilon={2 * SURE}"


def test_another_object_is_another_table_also_of_the_same_work(here):
    """What Dask calls an expression may follow from the cells: a version says that it is the same table."""
    ddf = protected(visits(), table="visits", version="1")
    session = ddf.dp.session
    first = ddf.dp(epsilon=1).mean("cost", bounds=(0, 9))
    again = visits()
    again.dp.protect(session=session)
    again.dp(epsilon=1).mean("cost", bounds=(0, 9))
    assert str(session.spent) == "epsilon=2"
    again = visits()
    again.dp.protect(session=session, table="visits", version="1")
    assert again.dp(epsilon=1).mean("cost", bounds=(0, 9)).value == first.value
    assert str(session.spent) == "epsilon=2"


def test_frames_that_no_session_protects_are_refused_at_no_price(here):
    ddf = visits()
    with pytest.raises(NoSessionError, match=r"ddf\.dp\.protect\(session=session\)"):
        ddf.dp(epsilon=1).count()
    session = protected(ddf).dp.session
    for made in (ddf[ddf.cost > 3], ddf.persist(), ddf.copy(), copy.copy(ddf), pickle.loads(pickle.dumps(ddf))):
        for ask in (lambda d: d.dp(epsilon=1).count(), lambda d: d.dp.query("cost > 3"), lambda d: d.dp.allot("a", 1)):
            with pytest.raises(NoSessionError, match="this Dask DataFrame object is not protected"):
                ask(made)
    kept = ddf.dp(epsilon=SURE)
    ddf["cost"] = 0.0
    with pytest.raises(NoSessionError, match="this Dask DataFrame object is not protected"):
        ddf.dp(epsilon=1).count()
    assert not hasattr(ddf.dp, "session")
    assert str(session.spent) == "epsilon=0"
    assert round(kept.mean("cost", bounds=(0, 100))) == 43  # what was protected is still what it was
    session.close()
    with pytest.raises(NoSessionError, match="is closed"):
        kept.count()


def test_refused_arguments(here):
    ddf = protected(visits())
    for wrong, text in [
        (lambda: ddf.dp(epsilon=1).mean("costs", bounds=(0, 9)), "did you mean 'cost'"),
        (lambda: ddf.dp(epsilon=1).mean("sex", bounds=(0, 9)), "holds text"),
        (lambda: visits().dp.protect(1, unit="id", max_rows=3, name=fresh()), "not a column"),
        (lambda: ddf.dp.session.adopt(visits(), reason="it is no frame"), "takes a pandas DataFrame"),
        (
            lambda: pandas_dp.query(epsilon=1).count()(dd.from_map(rows_of, [1])["cost"]),
            "asked of a protected DataFrame",
        ),
    ]:
        with pytest.raises(PandasDPError, match=text):
            wrong()
    assert str(ddf.dp.session.spent) == "epsilon=0"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("odd", [{"cost": "float32"}, {"pid": "float64"}, {"pid": "str"}, "columns", "no frame"])
def test_partitions_that_differ_are_fitted_to_what_is_declared(here, odd):
    def make(part: int) -> Any:
        rows = rows_of(part)
        if part < 3 or isinstance(odd, dict):
            return rows if part < 3 else rows.astype(odd)
        return rows.rename(columns={"cost": "price"}) if odd == "columns" else None

    ddf = protected(dd.from_map(make, range(4), meta=META, enforce_metadata=False))
    rows, values = {"columns": (400, 300), "no frame": (300, 300)}.get(odd if isinstance(odd, str) else "", (400, 400))
    assert ddf.dp(epsilon=SURE).count() == rows
    assert ddf.dp(epsilon=SURE).query("pid < 9").count() == (126 if rows == 400 else 90)
    assert ddf.dp(epsilon=SURE).count("cost") == values
    assert ddf.dp(epsilon=SURE).nunique("pid") == 30
    assert {str(dtype) for dtype in ddf.dp.query("pid < 9").dtypes} == {"float64", "string"}


def test_the_number_of_rows_is_public_where_it_is_for_a_frame(here):
    ddf = protected(visits(), neighbors="replace_one", rows=True)
    assert ddf.dp(epsilon=1).count() == 600
    assert str(ddf.dp.session.spent) == "epsilon=0"
    broke = protected(visits().map_partitions(broken, meta=META), neighbors="replace_one", rows=True)
    with pytest.raises(ArgumentValueError, match="could not be counted") as caught:
        broke.dp(epsilon=1).count()
    assert caught.value.__cause__ is caught.value.__context__ is None

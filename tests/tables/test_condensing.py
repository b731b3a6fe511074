"""One row of each class in place of all: the same integers, however the rows are cut, and few rows are held."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.elsewhere import AGES, COST, ROWS, WARDS, chunked, frame_of
from support.parquet import write

import pandas_dp
from pandas_dp.core.measurement import ByClass, computed
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockMeans, BlockSums, BlockTotals
from pandas_dp.core.statistics.counts import Distinct, KeyCounts
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import ChunkSummary, ScannedView
from pandas_dp.tables import parquet
from pandas_dp.tables.condensing import Condensing

STATISTICS: list[Any] = [
    *(Distinct(name) for name in ("cost", "age", "ward")),
    *(KeyCounts((name,)) for name in ("cost", "age", "ward")),
    KeyCounts(("ward", "age"), "cost"),
    KeyCounts(("age", AGES), "ward"),
    KeyCounts(("ward",), distinct=True, shared=True),
]
UNIT = PrivacyUnit()


def plain(exact: Any) -> Any:
    """Counts by what their keys are: the order of codes says nothing."""
    if isinstance(exact, list):
        return exact
    counts, names = exact
    return sorted(zip(map(repr, names(np.arange(len(counts)))), counts, strict=True))


def parts_of(frame: pd.DataFrame, cuts: list[int]) -> list[pd.DataFrame]:
    return [chunked(frame.iloc[first:last]) for first, last in pairwise([0, *sorted(cuts), 10**6])]


def test_every_statistic_of_classes_is_among_them():
    found = {one for one in ByClass.__subclasses__() if one.__module__.startswith("pandas_dp.")}
    assert found == {type(statistic) for statistic in STATISTICS}


@settings(max_examples=25)
@given(ROWS, st.lists(st.integers(0, 20)), st.randoms(use_true_random=False))
def test_batches_are_condensed_to_the_integers_of_memory(rows, cuts, order):
    frame, nulls = frame_of(rows), {"age": 20}
    parts = parts_of(frame, cuts)
    order.shuffle(parts)
    for statistic in STATISTICS:
        whole = statistic.compute(PandasView(frame, {}, nulls), UNIT).open()
        view = ScannedView(lambda: iter(parts), nulls)
        view.condense = lambda of: Condensing(of, nulls).one_by_one(parts)
        assert plain(computed(statistic, view, UNIT).open()) == plain(whole), statistic
        assert "_frame" not in vars(view), statistic  # all rows were never held together


@settings(max_examples=25)
@given(ROWS, st.lists(st.integers(0, 20)))
def test_workers_condense_to_the_integers_of_memory(rows, cuts):
    frame = frame_of(rows)
    for statistic in STATISTICS:
        work = pickle.loads(pickle.dumps(Condensing(statistic, {})))
        made = [pickle.loads(pickle.dumps(work.of(part))) for part in parts_of(frame, cuts)]
        while len(made) > 1:
            made = [work.total(made[at : at + 3]) for at in range(0, len(made), 3)]
        kept, counts = made[0]
        classes = statistic.classes(PandasView(frame, {}))[0]
        assert len(kept) == len({*classes.tolist()} - {-1})
        assert counts.sum() == np.count_nonzero(classes >= 0)
        whole = statistic.compute(PandasView(frame, {}), UNIT).open()
        assert plain(statistic.compute(work.view(*made), UNIT).open()) == plain(whole), statistic


def test_rows_that_stand_for_others_count_as_many():
    """The twin: without their numbers each key would count once for each part it is in."""
    frame = pd.DataFrame({"ward": pd.Series(["A", "B", "A", "A"] * 50, dtype="string[pyarrow]")})
    work = Condensing(KeyCounts(("ward",)), {})
    view = work.one_by_one([frame.iloc[at : at + 4].reset_index(drop=True) for at in range(0, 200, 4)])
    assert view.rows <= 10  # of 200
    assert plain(work.statistic.compute(view, UNIT).open()) == [("['A']", 150), ("['B']", 50)]
    view.weights = None
    assert plain(work.statistic.compute(view, UNIT).open()) != [("['A']", 150), ("['B']", 50)]


@settings(max_examples=15)
@given(ROWS, st.lists(st.integers(0, 20)))
def test_sums_of_blocks_add_up(rows, cuts):
    """Of one block, where nothing is random."""
    frame = frame_of(rows)
    parts = parts_of(frame, cuts)
    for by in (None, WARDS, AGES):
        statistic = BlockSums(BlockMeans("cost", COST, by, 1))
        view = ScannedView(lambda: iter(parts), {})
        assert computed(statistic, view, UNIT).open() == statistic.compute(PandasView(frame, {}), UNIT).open()
        assert "_frame" not in vars(view)


@pytest.mark.parametrize("unit", [UNIT, PrivacyUnit("uid", 3, 2, 3)])
def test_blocks_of_workers_follow_from_the_secret_alone(unit):
    frame = pd.DataFrame({"uid": np.arange(300) // 4, "ward": ["A", "B", "C"] * 100, "cost": np.arange(300.0) % 97})
    totals_of = BlockTotals(BlockMeans("cost", COST, WARDS, 20))

    def totals(secret: int, number: int) -> Any:
        return ChunkSummary(totals_of, unit, {}, secret.to_bytes(32)).of(frame, number).tolist()

    assert totals(7, 1) == totals(7, 1)  # a task that is done again
    assert len({str(totals(secret, number)) for secret in range(3) for number in range(3)}) == 9


def test_totals_of_blocks_cannot_be_released():
    assert not hasattr(BlockTotals, "sensitivity")


def test_no_question_about_keys_holds_the_rows_of_files(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "BATCH", 40)
    frame = pd.DataFrame({"ward": ["A", "B", "C", "A"] * 250, "cost": np.arange(1000) % 7})
    scan = pandas_dp.scan_parquet(write(frame, tmp_path, (300, 500), group=40))
    scan.dp.protect(10**6, 0.5, name="keys of files")

    def refuse(view: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(ScannedView, "_frame", property(refuse))
    dp = scan.dp(epsilon=10**5, delta=1e-6)
    assert dp.value_counts("ward").value.to_dict() == {"A": 500, "B": 250, "C": 250}
    assert dp.groupby(["ward", "cost"]).size().value.sum() == 1000
    assert scan.dp(epsilon=10**5).nunique("cost").value == 7
    means = scan.dp(epsilon=10**5).groupby_mean_sa("ward", "cost", keys=["A", "B"], bounds=(0, 6), blocks=10).value
    assert means.between(2, 4).all()


def test_no_question_about_keys_brings_partitions_here(monkeypatch):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    import pandas_dp.dask  # noqa: F401 - for the accessor
    from pandas_dp.tables import dask_chunks

    def refuse(*given: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(dask_chunks, "gathered", refuse)
    frame = pd.DataFrame({"ward": pd.Series(["A", "B", "C", "A"] * 250, dtype="str"), "cost": np.arange(1000) % 7})
    with dask.config.set(scheduler="sync"):
        held = dd.from_pandas(frame, npartitions=5)
        held.dp.protect(10**6, 0.5, name="keys of partitions")
        dp = held.dp(epsilon=10**5, delta=1e-6)
        assert dp.value_counts("ward").value.to_dict() == {"A": 500, "B": 250, "C": 250}
        assert held.dp(epsilon=10**5).nunique("cost").value == 7
        means = held.dp(epsilon=10**5).groupby_mean_sa("ward", "cost", keys=["A", "B"], bounds=(0, 6), blocks=10).value
        assert means.between(2, 4).all()

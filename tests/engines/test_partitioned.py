"""Every question on a table in memory and in partitions: the same exact integers, however the partitions are cut."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import each_kind
from support.elsewhere import ADDITIVE, ROWS, SAME, answer, chunked, frame_of, same_form, with_nulls
from support.looks import plain
from support.questions import ROW_BY_ROW, table

import pandas_dp.dask  # noqa: F401 - for the accessor
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import computed
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.core.statistics.scores import RowScores
from pandas_dp.core.statistics.strategies import Haar, Tree
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import ChunkSummary, PartitionedView
from pandas_dp.tables import dask_chunks
from pandas_dp.tables.condensing import places

CUTS = (0, 7, 7, 64, 200)  # the first, the third and the last part are empty
FAST = [name for name in SAME if name not in ("medians of a function of groups", "function of groups by noisy size")]
ADDED = ["count", "count of values", "sum", "mean", "std", "cov", "median", "quantiles of groups", "histogram of days"]
ADDED += ["ranges", "crosstab", "group sums", "group means", "select", "smooth median", "nunique"]


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


def cut(frame: pd.DataFrame, cuts: tuple[int, ...] = CUTS) -> Any:
    """A Dask DataFrame of the rows between cuts."""
    text = {name: "str" for name, dtype in frame.dtypes.items() if dtype.kind == "O"}
    parts = [frame.astype(text).iloc[first:last] for first, last in pairwise([0, *cuts, len(frame)])]
    return dd.from_map(lambda place: parts[place], range(len(parts)), meta=frame.astype(text).iloc[:0])


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", each_kind.questions(FAST))
def test_partitions_give_the_integers_of_memory(name, looks):
    first, exact = answer(name, with_nulls(), steps=name not in ROW_BY_ROW), looks[0]
    assert same_form(answer(name, cut(with_nulls()), steps=name not in ROW_BY_ROW), first)
    assert looks[0] == exact


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", ADDED)
def test_rows_of_units_in_several_partitions(name, looks):
    first, exact = answer(name, with_nulls(), unit=True, steps=True), looks[0]
    assert same_form(answer(name, cut(with_nulls()), unit=True, steps=True), first)
    assert looks[0] == exact


@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row(rows, looks):
    frame = table().iloc[:rows]
    for name in ("count", "mean", "histogram of keys", "median", "nunique", "cov"):
        first, exact = answer(name, frame.copy()), looks[0]
        again = answer(name, cut(frame, (0, 0) if rows else ()))
        assert looks[0] == exact, name
        assert same_form(again, first), name


def summed(statistic: Any, unit: PrivacyUnit, parts: list[pd.DataFrame], nulls: dict[str, int]) -> Any:
    """What workers and the driver make of parts between which no unit is split, sent as workers are sent things."""
    summary = pickle.loads(pickle.dumps(ChunkSummary(statistic, unit, nulls, bytes(32))))
    made = [summary.of(part, number) for number, part in enumerate(parts)]
    while len(made) > 1:
        made = [summary.total(made[at : at + 3]) for at in range(0, len(made), 3)]
    return plain(pickle.loads(pickle.dumps(made[0])))


@settings(max_examples=25)
@given(ROWS, st.lists(st.integers(0, 20)), st.randoms(use_true_random=False))
def test_parts_of_any_sizes_in_any_order_add_up_to_the_whole(rows, cuts, order):
    frame, nulls = frame_of(rows), {"cost": 2}
    parts = [chunked(frame.iloc[first:last]) for first, last in pairwise([0, *sorted(cuts), 10**6])]
    order.shuffle(parts)
    for statistic in ADDITIVE:
        whole = statistic.compute(PandasView(frame, {}, nulls), PrivacyUnit()).open()
        assert summed(statistic, PrivacyUnit(), parts, nulls) == plain(whole), statistic


@pytest.mark.parametrize("column", ["ward", "age", "cost"])
@settings(max_examples=25)
@given(ROWS, st.integers(1, 5), st.lists(st.integers(0, 20)))
def test_rows_brought_together_by_unit_add_up_to_the_whole(column, rows, count, cuts):
    """Each part says by itself where its rows belong; heavy units are cut, where no choice among their rows is random."""
    frame = frame_of(rows)
    parts = [frame.iloc[first:last] for first, last in pairwise([0, *sorted(cuts), 10**6])]
    by_place = [pd.concat([part[places(part[column], count) == place] for part in parts]) for place in range(count)]
    for statistic in ADDITIVE:
        random = isinstance(statistic, LatticeCounts | RowScores | Tree | Haar) or getattr(statistic, "by", None)
        unit = PrivacyUnit(column, *([10**6] if random else [2]) * 3)
        whole = statistic.compute(PandasView(frame, {}), unit).open()
        assert summed(statistic, unit, by_place, {}) == plain(whole), statistic


def test_units_that_are_one_have_one_place_in_all_partitions():
    numbers = pd.Series([0.0, -0.0, 1.0, 2.0**60, np.nan, -3.0, 1.0, np.inf])
    days = pd.Series(pd.to_datetime(["2013-01-01", None, "2013-01-01", "1910-02-03"]))
    text = pd.Series(["a", "b", None, "a", "", "\U0001f600", "aa"])
    columns = [numbers, numbers.astype("float32"), numbers.iloc[:3].astype("int8"), numbers.iloc[2:4].astype("uint64")]
    columns += [numbers.astype("double[pyarrow]"), numbers.iloc[:3].astype("Int64"), numbers.iloc[:3] > 0, days]
    columns += [days.dt.tz_localize("UTC"), days - days.min(), days.astype("date32[pyarrow]"), text.astype("str")]
    columns += [text.astype(pd.ArrowDtype(kind)) for kind in (pa.string(), pa.large_string(), pa.string_view())]
    for column in columns:
        units = PandasView(column.to_frame("unit"), {}).units("unit")[0]
        alone = np.concatenate([places(column.iloc[row : row + 1], 1000) for row in range(len(column))])
        assert (places(column, 1000) == alone).all()
        assert ((alone == -1) == (units == -1)).all()
        assert len({*zip(units, alone, strict=True)}) == len({*units})
        assert len({*alone}) > min(2, len({*units}) - 1)  # they are spread
        assert places(column.iloc[:0], 1000).tolist() == []
    spread = np.bincount(places(pd.Series(np.arange(10**5) * 1000), 100), minlength=100)
    assert spread.max() < 2 * spread.min()


@pytest.mark.parametrize("dtype", [object, "category", pd.ArrowDtype(pa.decimal128(30, 2))])
def test_units_of_other_dtypes_come_to_the_driver(dtype, looks):
    assert places(pd.Series([1, 2]).astype(dtype), 10) is None
    frame = table()
    frame["uid"] = frame["uid"].astype(dtype)
    answer("mean", frame.copy(), unit=True)
    exact = looks[0]
    answer("mean", cut(frame, (70,)), unit=True)
    assert looks[0] == exact


def test_the_choice_among_rows_follows_from_the_secret_alone():
    frame = pd.DataFrame({"uid": np.arange(300) // 3, "cost": np.arange(300) % 3})
    unit, statistic = PrivacyUnit("uid", 1, 1, 1), LatticeCounts("cost", Lattice(F(1), 0, 2))

    def chosen(secret: int, number: int) -> list[int]:
        (points,) = ChunkSummary(statistic, unit, {}, secret.to_bytes(32)).of(frame, number)
        return [int(points.counts[points.offsets == place].sum()) for place in range(3)]

    for number in range(3):
        assert chosen(7, number) == chosen(7, number)  # a task that is tried again
    assert len({tuple(chosen(secret, number)) for secret in range(5) for number in range(5)}) > 15
    # each row of a unit is as likely as the others; secrets are fixed, so this passes always or never: 30,000 choices,
    # and by Hoeffding one in 10^6 lists of secrets has a share that is off by 0.0158 or more
    shares = np.sum([chosen(secret, 0) for secret in range(300)], axis=0) / 30_000
    assert np.abs(shares - 1 / 3).max() < 0.0158


def test_a_secret_is_asked_of_the_system_for_each_question(monkeypatch):
    asked: list[bytes] = []

    def add(summary: ChunkSummary) -> list[int]:
        asked.append(summary.secret)
        assert "secret" not in repr(summary)
        return [3]

    view = PartitionedView(lambda: iter(()), {}, add)
    assert [computed(RowCounts(), view, PrivacyUnit()).open() for _ in range(2)] == [[3], [3]]
    assert len({*asked}) == 2
    assert {*map(len, asked)} == {32}


def test_rows_of_one_unit_are_never_added_up_by_the_partitions_they_came_in():
    """The twin: each partition would keep max_rows of a unit's rows, and the sum more of them."""
    frame = pd.DataFrame({"uid": [1, 1, 1, 2], "cost": [1.0, 1.0, 1.0, 1.0]})
    source = dask_chunks.Partitions.of(cut(frame, (1, 2, 3)))
    unit, view = PrivacyUnit("uid", 1, 1, 1), source.view(frozenset({"uid", "cost"}), {})
    assert computed(RowCounts(), view, unit).open() == [2]
    assert summed(RowCounts(), unit, [frame.iloc[[row]] for row in range(4)], {}) == [4]


def test_a_shuffle_and_a_join_before_the_table_is_protected(looks):
    frame = table()
    labels = dd.from_pandas(pd.DataFrame({"ward": ["A", "B", "C"], "label": [1, 2, 3]}), npartitions=2)
    joined = cut(frame).merge(labels, on="ward").shuffle("cost")
    answer("mean", joined)
    exact = looks[0]
    answer("mean", frame)
    assert looks[0] == exact

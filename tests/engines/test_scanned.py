"""Every question on a table in memory and in files: the same exact integers, however the files are cut."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import each_kind
from support.elsewhere import (
    ADDITIVE,
    DRAWN,
    HOLDS,
    QUESTIONS,
    RANKS,
    ROWS,
    SAME,
    WARDS,
    answer,
    chunked,
    frame_of,
    same_form,
    with_nulls,
)
from support.frames import fresh
from support.looks import plain
from support.parquet import write
from support.questions import ROW_BY_ROW, table

import pandas_dp
from pandas_dp.core.measurement import AddsUp, computed
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockTotals
from pandas_dp.core.statistics.counts import Distinct, DistinctBy, RowCounts
from pandas_dp.core.statistics.scores import CountWhere, DistanceFrom
from pandas_dp.core.statistics.smooth import SmoothOrder, TrimmedMean
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import ScannedView
from pandas_dp.tables import parquet


@pytest.fixture
def looks(looks: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Here batches and buckets of units have few rows."""
    monkeypatch.setattr(parquet, "BATCH", 40)
    monkeypatch.setattr(parquet, "WHOLE", 3500)
    return looks


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The table in files, and that with missing values in one and in several."""
    folder = tmp_path_factory.mktemp("files")
    cuts = (0, 7, 7, 64, 200)  # the first, the third and the last are empty
    return [
        write(table(), folder / "whole", cuts, group=200),
        write(with_nulls(), folder / "one", group=23),
        write(with_nulls(), folder / "several", cuts, group=23),
    ]


WAYS = ("as it is", "after steps", "by unit after steps")  # the last two with missing values
ONCE = {*DRAWN, *ROW_BY_ROW}  # integers are random, or steps refused
CODED = {"text": 0, "dictionaries": 10**6}  # none comes in dictionaries, and all of it


def cases() -> Iterator[Any]:
    """By turns: each question meets both forms of text, and so does each way."""
    for number, name in enumerate(QUESTIONS):
        ways = WAYS[:1] if name in ONCE else WAYS[:2] if name.endswith("of a population") else WAYS
        for way in ways:
            form = [*CODED][(number // 4 + WAYS.index(way)) % 2]  # so that every fourth case meets both, too
            slow = name not in ONCE and way != WAYS[2]
            yield each_kind.case(name, way, CODED[form], slow=slow, id=f"{name}-{way}-{form}")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("name", "way", "coded"), [*cases()])
def test_files_give_the_integers_of_memory(name, way, coded, looks, patterns, monkeypatch):
    at = WAYS.index(way)
    held = (
        with_nulls() if at else table().astype({"cost": "Int64"})
    )  # as of files, whole numbers of dtypes with missing values
    first, exact = answer(name, held, at == 2, at > 0), looks[0]
    monkeypatch.setattr(parquet, "CODED", coded)
    scan = pandas_dp.scan_parquet(patterns[at])
    assert same_form(answer(name, scan, at == 2, at > 0), first)
    if name not in DRAWN and not (at == 2 and "private" in name):  # whose first look takes a random row of each unit
        assert looks[0] == exact


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row(rows, looks, tmp_path):
    frame = (
        table().iloc[:rows].astype({"cost": "Int64"})
    )  # files have dtypes with missing values, which private bounds follow
    pattern = write(frame, tmp_path, (0, 0) if rows else ())
    for name in SAME:
        first, exact = answer(name, frame.copy()), looks[0]
        again = answer(name, pandas_dp.scan_parquet(pattern))
        assert looks[0] == exact, name
        assert same_form(again, first), name


def test_streams_ask_files(tmp_path):
    scan = pandas_dp.scan_parquet(write(table(), tmp_path, (7, 64)))
    scan.dp.protect(10**6, 0.5, name=fresh())
    above = scan.dp(epsilon=10**5).above_threshold(50, max_above=2)
    assert [above.ask("cost > 1000"), above.ask("age > 20"), above.ask("uid < 3")] == [False, True, False]
    oracle = scan.dp(epsilon=10**5).oracle("median", candidates=[table(), table()], updates=3)
    assert abs(oracle.ask("ward == 'A'") - int((table().ward == "A").sum())) < 3


COMPOSED = [DistanceFrom(CountWhere(HOLDS), 7), SmoothOrder(RANKS, F(1, 2), F(1, 3)), TrimmedMean(RANKS, F(1, 5), F(1))]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("nulls", [{}, {"cost": 2, "age": 20}])
@settings(max_examples=25)
@given(ROWS, st.lists(st.integers(0, 20)), st.randoms(use_true_random=False))
def test_parts_of_any_sizes_in_any_order_add_up_to_the_whole(relation, nulls, rows, cuts, order):
    frame, unit = frame_of(rows), PrivacyUnit(relation=NeighboringRelation(relation))
    ends = [0, *sorted(min(cut, len(frame)) for cut in cuts), len(frame)]
    parts = [chunked(frame.iloc[first:last]) for first, last in pairwise(ends)]
    order.shuffle(parts)
    for statistic in [*ADDITIVE, *COMPOSED]:
        whole = statistic.compute(PandasView(frame, {}, nulls), unit).open()
        view = ScannedView(lambda: iter(parts), nulls)
        assert plain(computed(statistic, view, unit).open()) == plain(whole), statistic
        assert "_frame" not in vars(view), statistic  # all of them were never held together


def test_every_additive_statistic_is_among_them():
    classes = {found for found in AddsUp.__subclasses__() if found.__module__.startswith("pandas_dp.")}
    assert classes - {Distinct, DistinctBy, BlockTotals} == {type(statistic) for statistic in ADDITIVE}
    assert not any(
        s.adds_up(PrivacyUnit()) for s in (Distinct("age"), DistinctBy("age", WARDS))
    )  # only numbers of units do


@pytest.mark.parametrize("passes", [1, 2, 9])
def test_rows_of_one_unit_are_never_added_up_by_parts(passes):
    """The twin: each part would keep max_rows of a unit's rows, and the sum more of them."""
    frame = pd.DataFrame({"uid": [1, 1, 1, 2], "cost": [1.0, 1.0, 1.0, 1.0]})
    unit, view = PrivacyUnit("uid", 1, 1, 1), ScannedView(lambda: (frame.iloc[i : i + 1] for i in range(4)), {}, passes)
    assert computed(RowCounts(), view, unit).open() == [2]
    twin = RowCounts().merge(RowCounts().compute(batch, unit) for batch in view.batches(None))
    assert twin.open() == [4]


def test_what_cannot_be_added_up_is_asked_of_all_batches_together():
    frames = [pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [2, 5]})]
    view = ScannedView(lambda: iter(frames), {})
    assert computed(Distinct("x"), view, PrivacyUnit()).open() == [3]
    assert view.rows == 4
    assert view.column("x")[0].tolist() == [1, 2, 2, 5]

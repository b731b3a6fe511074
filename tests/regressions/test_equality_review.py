"""Cells that numpy finds equal to several others which differ: whose row is whose must not depend on the rows beside it."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from support.unitless import NO_DATE, NO_DURATION

from pandas_dp import local
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.counts import Distinct
from pandas_dp.engines.encode import Coded
from pandas_dp.engines.pandas import PandasView

WHOLE = 2**54  # of which a float holds every fourth number
PAIRS = [cell for k in range(100) for cell in (WHOLE + 4 * k + 1, np.float64(WHOLE + 4 * k))]
DAY = "2020-01-01"


def objects(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def units(cells: list[Any]) -> list[int]:
    return Coded.of_objects(objects(cells)).units()[0].tolist()


def test_one_row_more_moves_the_number_of_distinct_values_by_one_at_most():
    """An int and the float beside it were one value or two by where the table of hashes had put them: it moved by three."""
    statistic, unit = Distinct("x"), PrivacyUnit()
    views = (PandasView(pd.DataFrame({"x": objects(PAIRS[:n])}), {}) for n in range(201))
    exact = [statistic.compute(view, unit).open()[0] for view in views]
    assert exact == list(range(201))
    assert max(abs(b - a) for a, b in pairwise(exact)) <= statistic.sensitivity(unit).l1


@pytest.mark.parametrize("others", range(0, 200, 7))
def test_units_stay_apart_whatever_other_rows_hold(others):
    more = PAIRS[:others]
    apart = [WHOLE + 4000 + 1, np.float64(WHOLE + 4000), np.float32(0.1), 0.1, (np.float32(0.1), "a"), (0.1, "a")]
    codes = units([*more, *apart])
    assert len(set(codes[others:])) == len(apart)
    dates = units([*more, np.datetime64(DAY), dt.date.fromisoformat(DAY), pd.Timestamp(DAY)])[others:]
    assert dates[0] == dates[2] != dates[1]


@pytest.mark.parametrize("others", range(0, 200, 7))
def test_an_instant_is_one_unit_in_whatever_zone(others):
    """The second of two hours that the clocks show: equal timestamps have different hashes, equal instants are unequal."""
    second = dt.datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))
    same = [second, second.astimezone(dt.UTC), pd.Timestamp(second), pd.Timestamp(second.astimezone(dt.UTC))]
    first = pd.Timestamp(second.replace(fold=0))
    codes = units([*(pd.Timestamp(DAY, tz="UTC") + pd.Timedelta(n, "h") for n in range(others)), *same, first])
    assert len(set(codes[others:-1])) == 1
    assert codes[-1] != codes[-2]


@pytest.mark.parametrize("longer", [np.longdouble(1), np.clongdouble(1), np.int8(1), np.bool_(True), np.uint64(1)])
def test_equal_numbers_are_one_unit_in_whatever_class(longer):
    assert len(set(units([1, longer, 1.0, True]))) == 1


def test_what_has_no_counterpart_stays_what_it_is():
    far, missing = (
        np.datetime64("1000000-01-01"),
        [NO_DATE, np.float32("nan"), NO_DURATION, None],
    )
    deep: tuple[Any, ...] = ()
    for _ in range(40):
        deep = (deep,)
    assert units([far, far, deep, *missing])[:3] == [0, 0, 1]
    assert set(units([far, far, deep, *missing])[3:]) == {-1}
    assert (
        units([np.timedelta64(1, "D"), pd.Timedelta("1D"), np.timedelta64(24, "h"), np.timedelta64(1, "M")])[:3]
        == [0] * 3
    )


class Nowhere(dt.tzinfo):
    """A time zone whose own code raises."""

    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        raise SystemExit


def test_code_of_a_time_zone_that_raises_makes_no_unit():
    strange = dt.datetime(2020, 1, 1, tzinfo=Nowhere())
    assert units([strange, 1, (strange, 1), 1])[1::2] == [0, 0]


def test_nested_cells_of_one_length_are_cells_as_well():
    assert units([(0.5, "a"), (np.float64(0.5), "a"), (0.5, "b")]) == [0, 0, 1]
    assert units([[1], [2]]) == [-1, -1]  # no list has a hash
    assert units([np.array([1]), np.array([2])]) == [-1, -1]


class Silent:
    """An answer whose own code raises."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        return hash((False, "yes"))


class Unhashed:
    def __hash__(self) -> int:
        raise RuntimeError


class Text(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = str.__hash__


@pytest.mark.parametrize("answer", [Silent(), Unhashed(), Text("yes")])
def test_an_answer_that_cannot_be_compared_is_randomised_like_any_other(answer):
    """An error would tell that it is no key, or which one."""
    assert local.randomize(answer, keys=["no", "yes"], epsilon=1) in ("no", "yes")

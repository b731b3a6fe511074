"""Faults that a review of tables in partitions found, each with the test that failed before."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import dask
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp.dask  # noqa: F401 - gives Dask DataFrames their accessor
from pandas_dp import ArgumentValueError, QueryFailedError
from pandas_dp.core import interrupts
from pandas_dp.tables.dask_chunks import Failed, Guarded, Preparation, by_unit

SURE = 10**5  # at this epsilon a count is off with probability 2 exp(-10**5)
HUGE = 2**53


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


def protected(frame: Any, **terms: Any) -> Any:
    frame.dp.protect(**({"epsilon": 10 * SURE, "name": fresh()} | terms))
    return frame


def listed(lists: list[list[Any]]) -> Any:
    """A Dask DataFrame whose partitions hold lists of categories of their own."""

    def make(part: int) -> pd.DataFrame:
        cells = pd.Series([cell for cell in lists[part] if cell is not None]).astype("category")
        cells = cells.reindex(range(len(lists[part])))  # missing ones last: they decide nothing of the list
        return pd.DataFrame({"pid": np.arange(len(lists[part])), "c": cells})

    meta = make(0).iloc[:0]
    return dd.from_map(make, range(len(lists)), meta=meta.assign(c=meta.c.cat.set_categories([])))


@pytest.mark.parametrize("last", [[7, 8], [7, 8, None]])
@pytest.mark.parametrize("terms", [{}, {"unit": "pid", "max_rows": 3}, {"unit": "c", "max_rows": 3}])
def test_a_missing_category_does_not_round_those_of_other_partitions(last, terms):
    """Numbers that may be rounded are no values in any partition; those below are, each by itself."""
    ddf = protected(listed([[HUGE, HUGE + 1], [HUGE - 2, HUGE - 1], last]), **terms)
    assert ddf.dp(epsilon=SURE).nunique("c") == 4


def test_categories_of_several_dtypes_are_those_of_a_frame():
    lists: list[list[Any]] = [[1, 2, None], [1.5, 2.0, 1.0], ["a", "b"], [(1, 2), (3, 4)]]
    for terms in ({}, {"unit": "pid", "max_rows": 9}):
        ddf = protected(listed(lists), **terms)
        assert ddf.dp(epsilon=SURE).histogram("c", keys=[1, 2, "a"]).value.tolist() == [2, 2, 1]
        assert ddf.dp(epsilon=SURE).nunique("c") == 7


@pytest.mark.parametrize("unit", ["pid", "_partitions"])
def test_a_column_may_have_the_name_that_a_shuffle_uses(unit):
    df = pd.DataFrame({"_partitions": np.arange(40) % 7, "pid": np.arange(40) % 5})
    ddf = protected(dd.from_pandas(df, npartitions=5), unit=unit, max_rows=40)
    assert ddf.dp(epsilon=SURE).nunique(unit) == df[unit].nunique()
    assert ddf.dp(epsilon=SURE).histogram("_partitions", keys=range(7)).value.tolist() == [6] * 5 + [5] * 2


class Panic(BaseException):
    """What readers written in other languages raise."""


def test_no_exception_of_any_class_leaves_a_task():
    def panic() -> None:
        raise Panic("a cell of Alice")

    assert isinstance(Guarded(panic)(), Failed)
    frame = pd.DataFrame({"a": [1]})

    def read(part: int) -> pd.DataFrame:
        raise Panic("a cell of Alice")

    ddf = protected(dd.from_map(read, range(2), meta=frame.iloc[:0]))
    with pytest.raises(QueryFailedError) as caught:
        ddf.dp(epsilon=1).count()
    assert str(caught.value) == QueryFailedError.TEXT


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_no_warning_leaves_a_task(scheduler):
    """Dask runs tasks in threads of its own, whose warnings the door does not hear."""
    frame = pd.DataFrame({"a": [1, 2]})

    def read(part: int) -> pd.DataFrame:
        warnings.warn(f"a cell of Alice in part {part}", UserWarning, stacklevel=1)
        return frame

    ddf = protected(dd.from_map(read, range(2), meta=frame.iloc[:0]))
    with warnings.catch_warnings(record=True) as seen, dask.config.set(scheduler=scheduler):
        warnings.simplefilter("always")
        assert ddf.dp(epsilon=SURE).count().value == 4
        warnings.warn("not of data", UserWarning, stacklevel=1)  # which this thread says as ever
    assert [str(one.message) for one in seen] == ["not of data"]


@pytest.mark.parametrize("module", [None, "distributed", "distributed.worker"])
def test_what_a_class_says_of_its_module_leaves_no_task(module):
    told = type("Told", (Exception,), {"__module__": module})

    def tell() -> None:
        raise told("a cell of Alice")

    def again() -> None:
        raise distributed.Reschedule

    assert isinstance(Guarded(tell)(), Failed)
    with pytest.raises(distributed.Reschedule):  # which the scheduler needs
        Guarded(again)()


def test_an_interrupt_leaves_a_task_only_where_a_signal_brought_it(monkeypatch):
    """Any other one is that of a cell or a function: a worker of `distributed` would log it, and never answer."""

    def interrupted() -> None:
        raise KeyboardInterrupt("a cell of Alice")

    def made() -> Any:
        try:
            return Guarded(interrupted)()
        except KeyboardInterrupt as error:  # which would end all tests
            return str(error)

    assert isinstance(made(), Failed)
    monkeypatch.setattr(interrupts._here, "brought", KeyboardInterrupt)
    assert made() == ""


@pytest.mark.parametrize("upstream", ["sort_values", "set_index"])
def test_rows_that_cannot_be_counted_show_no_cell_where_dask_looks_for_divisions(upstream):
    def read(part: int) -> pd.DataFrame:
        raise ValueError("a cell of Alice")

    frame = getattr(dd.from_map(read, range(3), meta=pd.DataFrame({"a": [1], "b": [2]}).iloc[:0]), upstream)("a")
    ddf = protected(frame, neighbors="replace_one", rows=True)
    with pytest.raises(ArgumentValueError, match="could not be counted") as caught:
        ddf.dp(epsilon=1).count()
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert str(ddf.dp.session.spent) == "epsilon=0"


def test_no_warning_leaves_where_rows_are_counted():
    def read(part: int) -> pd.DataFrame:
        warnings.warn("a cell of Alice", stacklevel=1)
        return pd.DataFrame({"a": [1, 2]})

    ddf = protected(
        dd.from_map(read, range(3), meta=pd.DataFrame({"a": [1]}).iloc[:0]), neighbors="replace_one", rows=True
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert ddf.dp(epsilon=1).count() == 6
    assert not caught


class Failing:
    """A step that fails."""

    reads = frozenset({"a"})

    def apply(self, rows: pd.DataFrame) -> pd.DataFrame:
        raise ValueError("a cell of Alice")


def test_a_shuffle_shows_no_cell_where_its_tasks_have_no_guard_as_after_one_by_messages():
    frame = dd.from_pandas(pd.DataFrame({"a": range(9)}), npartitions=3)
    empty = frame._meta
    together = by_unit(frame, Preparation(empty, (Failing(),)), empty, "a")  # type: ignore[arg-type]
    with pytest.raises(Exception) as caught:  # of whatever class: workers log it
        together.compute()
    assert "Alice" not in "".join(traceback.format_exception(caught.value))

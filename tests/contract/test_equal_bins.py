"""A number of bins makes equal ones between public bounds: the very question that its edges ask."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError

DAYS = ("2013-01-01", "2013-04-11")


def table() -> pd.DataFrame:
    n = np.arange(101)
    return pd.DataFrame(
        {
            "age": n,
            "share": n / 100,
            "day": pd.date_range(*DAYS),
            "zoned": pd.date_range(*DAYS, tz="Europe/Berlin"),
            "wait": pd.to_timedelta(n, unit="min"),
            "ward": "A",
        }
    )


CASES = {
    "age": ((0, 100), 10, range(0, 101, 10)),
    "share": (
        (0, 1),
        10,
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    ),  # of decimals, not of sums of floats
    "day": (DAYS, 100, pd.date_range(*DAYS)),
    "zoned": (
        DAYS,
        2,
        ["2013-01-01", "2013-02-19 23:30", "2013-04-11"],
    ),  # equal as time passes, over the turn of clocks
    "wait": (("0 min", "100 min"), 4, pd.timedelta_range("0 min", "100 min", periods=5)),
}


@pytest.mark.parametrize("column", CASES)
def test_a_number_of_bins_asks_what_its_edges_ask(column):
    bounds, count, edges = CASES[column]
    df = protected(table(), epsilon=10**6)
    listed = df.dp(epsilon=1).histogram(column, bins=edges)
    for asked in (
        df.dp(epsilon=1).histogram(column, bins=count, bounds=bounds),
        df.dp(epsilon=1).histogram(column, bins=count, range=bounds),
        df.dp(epsilon=1)[column].histogram(bins=count, bounds=bounds),
    ):
        assert asked.equals(listed)
        assert asked.query.call == listed.query.call
    with_schema = protected(table(), epsilon=10**6, schema={column: {"bounds": bounds}})
    known = with_schema.dp(epsilon=10**4).histogram(column, bins=count)
    assert list(known.index) == list(listed.index)
    assert known.sum() == 100  # all but the last row
    assert with_schema.dp(epsilon=10**4).ecdf(column, bins=count).query.call.startswith(f"ecdf({column!r}, bins=")
    assert df.dp(epsilon=10**4).ecdf(column, bins=count, bounds=bounds).iloc[-1] == 1
    assert len(df.dp.session.releases) == 3  # protecting, and two questions


def test_where_the_last_bin_ends_is_said_of_equal_bins_alone():
    df = protected(table(), epsilon=10**6)
    said = "values at 100, the end of the last bin, are in no bin"
    assert said in str(df.dp(epsilon=1).histogram("age", bins=10, bounds=(0, 100)).notes)
    assert said in str(df.dp(epsilon=1).ecdf("age", bins=5, bounds=(0, 100)).notes)
    assert said not in str(df.dp(epsilon=1, fresh=True).histogram("age", bins=range(0, 101, 10)).notes)


@pytest.mark.parametrize(
    ("asked", "error", "match"),
    [
        (lambda d: d.histogram("age", bins=10), ArgumentTypeError, r"histogram\('age', bins=10, bounds=\(lower"),
        (lambda d: d.ecdf("age", bins=10), ArgumentTypeError, r"needs public bounds"),
        (lambda d: d.histogram("age", bins=10, bounds=(0, None)), ArgumentTypeError, "both bounds"),
        (lambda d: d.histogram("age", bins=10, bounds="private"), ArgumentTypeError, "needs public bounds"),
        (
            lambda d: d.histogram("age", bins=10, bounds=(9, 1)),
            ArgumentValueError,
            r"lower end first: .*bounds=\(1, 9\)",
        ),
        (lambda d: d.histogram("age", bins=10, bounds=(0, 9), range=(0, 9)), ArgumentTypeError, "two names"),
        (
            lambda d: d.histogram("age", bins=[0, 9], bounds=(0, 9)),
            ArgumentTypeError,
            "goes with a number of equal bins",
        ),
        (lambda d: d.histogram("age", keys=[1], range=(0, 9)), ArgumentTypeError, "goes with a number of equal bins"),
        (lambda d: d.histogram("age", bins=0, bounds=(0, 9)), ArgumentValueError, "at least 1"),
        (lambda d: d.histogram("age", bins=-3, bounds=(0, 9)), ArgumentValueError, "at least 1"),
        (lambda d: d.histogram("age", bins=10_001, bounds=(0, 9)), ArgumentValueError, "list the edges"),
        (lambda d: d.histogram("age", bins=True, bounds=(0, 9)), ArgumentTypeError, "number of equal bins"),
        (lambda d: d.histogram("age", bins=1.5, bounds=(0, 9)), ArgumentTypeError, "number of equal bins"),
        (lambda d: d.histogram("age", bins=9, bounds=(1, 1 + 1e-15)), ArgumentValueError, "too narrow to tell apart"),
        (lambda d: d.histogram("ward", bins=9, bounds=(0, 9)), ArgumentTypeError, "numbers or dates"),
        (lambda d: d.groupby("age", bins=9).size(), ArgumentTypeError, "not their number"),
    ],
)
def test_what_is_refused(monkeypatch, asked, error, match):
    df = protected(table())
    with refused(monkeypatch, df, error, match):
        asked(df.dp(epsilon=1))

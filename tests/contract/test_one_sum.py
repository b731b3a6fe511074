"""One word, one number: whoever asks for a sum of one table gets the same statistic, the totals of its units, cut.

Noise is a few units at these prices, and beyond 200 with probability below 1e-8: the answers that rows of a random choice would
give are 1,000 away and more.
"""

from __future__ import annotations

import json

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from support.commands import command
from support.frames import protected

import pandas_dp
import pandas_dp.dask

HEAVY, ROWS, KEPT, LIGHT = 10, 300, 100, 990
TOTAL = HEAVY * ROWS + LIGHT  # of values of 1, so a unit's rows come to less than 100 rows at the bound of 10
BOUNDS, KEYS = (0, 10), ["a", "b", "c"]
WITHIN = 200


def visits() -> pd.DataFrame:
    """10 people with 300 rows of value 1 in three groups, 990 with one; a hundred rows of one person count."""
    ids = np.r_[np.repeat(np.arange(HEAVY), ROWS), np.arange(HEAVY, HEAVY + LIGHT)]
    place = np.arange(len(ids))
    return pd.DataFrame({"id": ids, "x": 1.0, "g": np.take(KEYS, place % 3), "h": np.take(["y", "n"], place % 2)})


@pytest.fixture(autouse=True)
def here():
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """The table in memory, in a file and in partitions."""
    path = tmp_path_factory.mktemp("sums") / "visits.parquet"
    visits().to_parquet(path)
    shuffled = visits().sample(frac=1, random_state=1)
    made = {
        "memory": visits(),
        "file": pandas_dp.scan_parquet(path),
        "partitions": dd.from_pandas(shuffled, npartitions=3),
    }
    return {kind: protected(frame, epsilon=10**5, unit="id", max_rows=KEPT) for kind, frame in made.items()}


ASKS = {
    "sum": lambda d: d.sum("x", bounds=BOUNDS),
    "sum of a selected column": lambda d: d["x"].sum(bounds=BOUNDS),
    "agg": lambda d: d.agg({"x": "sum"}, bounds={"x": BOUNDS})["x"],
    "agg of several": lambda d: d.agg({"x": ["count", "sum", "mean", "std"]}, bounds={"x": BOUNDS}).loc["sum", "x"],
    "groups": lambda d: d.groupby("g", keys=KEYS)["x"].sum(bounds=BOUNDS).sum(),
    "agg of groups": lambda d: (
        d.groupby("g", keys=KEYS).agg({"x": ["mean", "sum"]}, bounds={"x": BOUNDS})["x", "sum"].sum()
    ),
    "combinations": lambda d: d.groupby(["g", "h"], keys={"g": KEYS, "h": ["y", "n"]})["x"].sum(bounds=BOUNDS).sum(),
    "pivot table": lambda d: (
        d.pivot_table("x", "g", "h", aggfunc="sum", keys={"g": KEYS, "h": ["y", "n"]}, bounds=BOUNDS).sum().sum()
    ),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("kind", ["memory", "file", "partitions"])
def test_every_sum_is_the_same_statistic(frames, kind, name):
    answer = float(ASKS[name](frames[kind].dp(epsilon=300)))
    assert abs(answer - TOTAL) < WITHIN


def test_a_count_and_a_mean_beside_it_are_of_rows_that_are_kept(frames):
    """Each note says of which answer it is."""
    found = frames["memory"].dp(epsilon=900).agg({"x": ["count", "sum", "mean"]}, bounds={"x": BOUNDS})
    assert abs(found.loc["count", "x"] - (HEAVY * KEPT + LIGHT)) < 50
    assert abs(found.loc["mean", "x"] - 1) < 0.1
    sums, weights, rows = found.notes[-3:]
    assert sums.startswith(
        "in a sum the total of each 'id' is clipped to the total of 100 rows at a bound; rows without"
    )
    assert weights.startswith("all rows of each 'id' count, together as at most 100 rows; rows without")
    assert rows.startswith("at most 100 rows of each 'id' are used; rows without")


def test_bounds_of_groups_are_told_and_kept():
    """Each of ten heavy units has 100 rows of 1 in each of three groups: as much as ten rows at the bound, of which two groups
    are as many as count."""
    terms = {"unit": "id", "max_rows": 30, "max_groups": 2, "max_rows_per_group": 10, "neighbors": "replace_one"}
    frame = protected(visits(), epsilon=10**4, **terms)
    groups = frame.dp(epsilon=300).groupby("g", keys=KEYS)["x"].sum(bounds=BOUNDS)
    assert (
        "is clipped to the total of 30 rows at a bound (in groups 20, at most 10 in one); rows without"
        in groups.notes[-1]
    )
    assert abs(float(groups.sum()) - (HEAVY * 20 * 10 + LIGHT)) < WITHIN


@pytest.mark.parametrize(
    "question", ["sum('x', bounds=(0, 10))", f"groupby('g', keys={KEYS})['x'].sum(bounds=(0, 10))"]
)
def test_the_command_line_asks_the_same(tmp_path, question):
    visits().to_parquet(tmp_path / "visits.parquet")
    terms = ("--total", 900, "--unit", "id", "--max-rows", KEPT, "--ledger", tmp_path / "books", "--name", "visits")
    done = command("query", tmp_path / "visits.parquet", question, "--epsilon", 300, "--json", *terms)
    assert done.stderr == ""
    value = json.loads(done.stdout)["value"]
    assert abs(np.sum(value["values"] if isinstance(value, dict) else value) - TOTAL) < WITHIN

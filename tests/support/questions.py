"""Every question there is, on one small table: what each may be compared with is the same question put in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

KEYS = ["A", "B", "C"]
NUMBERS = {"cost": (0, 100), "age": (0, 120)}
DAYS = (pd.Timestamp("2013-01-01"), pd.Timestamp("2013-03-01"))
MONTHS = pd.period_range("2013-01", periods=2, freq="M")
HOUR = (pd.Timedelta(0), pd.Timedelta("1h"))


def table() -> pd.DataFrame:
    """200 rows of 50 units."""
    n = np.arange(200)
    return pd.DataFrame(
        {
            "uid": n // 4,
            "cost": n % 101,
            "age": 20.0 + n % 60,
            "ward": np.array(KEYS, dtype=object)[n % 3],
            "to": np.array(KEYS, dtype=object)[(n + 1) % 3],
            "wait": pd.to_timedelta(n % 60, unit="min"),
            "day": pd.Timestamp("2013-01-01") + pd.to_timedelta(n % 59, unit="D"),
        }
    )


def middle(block: Any) -> float:
    """A user's function."""
    return float(block["cost"].median())


def ends(block: Any) -> dict[str, float]:
    """A user's function of several numbers."""
    return {"low": float(block["cost"].min()), "high": float(block["cost"].max())}


def ward(block: Any) -> str:
    """A user's function whose results are voted on."""
    return str(block["ward"].mode()[0])


def fit(whole: Any, candidate: int) -> float:
    """A score of the whole table."""
    return float(-abs(whole["cost"].mean() - candidate))


def dear(whole: Any) -> int:
    """A user's function of the whole table that one row moves by 1 at most."""
    return int((whole["cost"] > 50).sum())


def dear_and_cheap(whole: Any) -> list[int]:
    """A user's function of two numbers."""
    return [dear(whole), len(whole) - dear(whole)]


Question = Callable[[Any], Any]

ADDITIVE: dict[str, Question] = {  # noise whose size is public is added to each entry
    "count": lambda d: d.count(),
    "size": lambda d: d.size(),
    "count of values": lambda d: d.count("cost"),
    "count by column": lambda d: d["cost"].count(),
    "after steps": lambda d: d.query("age > 30").assign(half=lambda t: t.cost / 2).count("half"),
    "nunique": lambda d: d.nunique("ward"),
    "nunique of units": lambda d: d["uid"].nunique(),
    "sum": lambda d: d.sum("cost", bounds=(0, 100)),
    "sum by column": lambda d: d["age"].sum(bounds=(0, 120)),
    "sum of durations": lambda d: d.sum("wait", bounds=HOUR),
    "histogram": lambda d: d.histogram("cost", bins=range(0, 101, 10), other=True, null=True),
    "histogram of keys": lambda d: d["ward"].histogram(keys=KEYS),
    "histogram of days": lambda d: d.histogram("day", bins=pd.date_range(*DAYS, freq="7D")),
    "value_counts": lambda d: d.value_counts("ward", keys=KEYS),
    "ranges": lambda d: d.histogram("cost", bins=range(101), workload="ranges"),
    "few ranges": lambda d: d.histogram("cost", bins=[0, 50, 101], workload="ranges"),
    "sums of bins": lambda d: d.histogram("cost", bins=[0, 50, 75, 101], workload=[(0, 75), (75, None), [1, 1, 0]]),
    "sums of keys": lambda d: d["ward"].histogram(keys=KEYS, workload={"both": ["A", "B"], "C": [0, 0, 1]}),
    "group sizes": lambda d: d.groupby("ward", keys=KEYS).size(),
    "group counts": lambda d: d.groupby("ward", keys=KEYS)["cost"].count(),
    "group nunique": lambda d: d.groupby("ward", keys=KEYS)["to"].nunique(),
    "group sums": lambda d: d.groupby("ward", keys=KEYS)["cost"].sum(bounds=(0, 100)),
    "sizes of combinations": lambda d: d.groupby(["ward", "day"], keys={"ward": KEYS}, bins={"day": MONTHS}).size(),
    "crosstab": lambda d: d.crosstab("ward", "to", keys={"ward": KEYS, "to": KEYS}, null=True),
    "pivot table of sums": lambda d: d.pivot_table(
        "cost", "ward", "to", aggfunc="sum", keys={"ward": KEYS, "to": KEYS}, bounds=(0, 100)
    ),
    "histogram of groups": lambda d: d.groupby("ward", keys=KEYS)["cost"].histogram(bins=[0, 50, 101], null=True),
    "own function": lambda d: d.release(dear, sensitivity=4),
    "own numbers": lambda d: d.release(dear_and_cheap, 4, names=["dear", "cheap"], norm=2),
}
FROM_BLOCKS: dict[str, Question] = {  # noise of public size on what blocks give, cut to the bounds
    "mean of blocks": lambda d: d.sample_and_aggregate(middle, bounds=(0, 100), aggregator="mean"),
    "means of blocks": lambda d: d.sample_and_aggregate(
        ends, bounds={"low": (0, 9), "high": (0, 200)}, aggregator="mean"
    ),
    "kmeans": lambda d: d.kmeans(["age", "cost"], k=2, bounds=NUMBERS, aggregator="mean"),
    "group means of blocks": lambda d: d.groupby_mean_sa(
        "ward", "cost", keys=KEYS, bounds=(0, 100), blocks=5, aggregator="mean"
    ),
    "means of a function of groups": lambda d: d.groupby("ward", keys=KEYS).sample_and_aggregate(
        middle, bounds=(0, 100), blocks=25, aggregator="mean"
    ),
}
GUARANTEED: dict[str, Question] = {  # ranks and gaps of scores
    "median": lambda d: d.median("cost", bounds=(0, 100)),
    "median by column": lambda d: d["wait"].median(bounds=HOUR),
    "quantile": lambda d: d.quantile("cost", 0.9, bounds=(0, None)),
    "quantile by column": lambda d: d["cost"].quantile(0.9, bounds=(0, 100)),
    "quantiles": lambda d: d.quantile("age", [0.1, 0.25, 0.5, 0.75, 0.9], bounds=(0, 120), step=1),
    "ranks of groups": lambda d: d.groupby("ward", keys=KEYS)["cost"].median(bounds=(0, 100), error_bar=False),
    "mode of groups": lambda d: d.groupby(["ward"], keys=KEYS)["to"].mode(keys=KEYS),
    "min": lambda d: d.min("cost", bounds=(0, 100)),
    "min by column": lambda d: d["cost"].min(bounds=(0, 100)),
    "max by column": lambda d: d["day"].max(bounds=DAYS),
    "max of open bounds": lambda d: d.max("age", bounds=(0, None), q=0.99),
    "mode": lambda d: d.mode("ward", keys=KEYS),
    "mode by column": lambda d: d["ward"].mode(keys=KEYS),
    "top_k": lambda d: d.top_k("ward", 2, keys=KEYS),
    "top_k by column": lambda d: d["ward"].top_k(2, keys=KEYS),
    "best_price": lambda d: d.best_price("cost", prices=[20, 40, 60]),
    "best_price by column": lambda d: d["cost"].best_price(prices=[20, 40, 60]),
    "select": lambda d: d.select([20, 40], score="cost >= candidate"),
    "select by table": lambda d: d.select([20, 40], score=fit, sensitivity=1),
    "vote": lambda d: d.sample_and_aggregate(ward, keys=KEYS, aggregator="vote"),
    "median of blocks": lambda d: d.sample_and_aggregate(middle, bounds=(0, 100), aggregator="median"),
}
BY_ROWS: dict[str, Question] = {  # the error shrinks with the number of rows
    "mean": lambda d: d.mean("cost", bounds=(0, 100)),
    "mean day": lambda d: d["day"].mean(bounds=DAYS),
    "mean of a population": lambda d: d.mean("cost", bounds=(0, 100), population=True),
    "group means of a population": lambda d: d.groupby("ward", keys=KEYS)["cost"].mean(
        bounds=(0, 100), population=True
    ),
    "group means": lambda d: d.groupby("ward", keys=KEYS)["cost"].mean(bounds=(0, 100)),
    "var": lambda d: d.var("cost", bounds=(0, 100)),
    "var by column": lambda d: d["age"].var(bounds=(0, 120)),
    "std of cost": lambda d: d.std("cost", bounds=(0, 100)),
    "std": lambda d: d["age"].std(bounds=(0, 120)),
    "var of groups": lambda d: d.groupby("ward", keys=KEYS)["cost"].var(bounds=(0, 100)),
    "std of groups": lambda d: d.groupby("ward", keys=KEYS)["cost"].std(bounds=(0, 100)),
    "value_counts as shares": lambda d: d.value_counts("ward", keys=KEYS, normalize=True),
    "pivot table of means by group": lambda d: d.pivot_table(
        "cost", "ward", "age", keys={"ward": KEYS}, bins={"age": [0, 200]}, bounds=(0, 100)
    ),
    "ecdf": lambda d: d.ecdf("cost", bins=range(0, 101, 10)),
    "ecdf by column": lambda d: d["cost"].ecdf(bins=range(0, 101, 10)),
}
BY_DATA: dict[str, Question] = {  # not known in advance
    "private bounds": lambda d: d.mean("cost", bounds="private"),
    "median in private bounds": lambda d: d.median("cost", bounds="private"),
    "median of groups": lambda d: d.groupby("ward", keys=KEYS)["cost"].median(bounds=(0, 100)),
    "quantiles of groups": lambda d: d.groupby("ward", keys=KEYS)["age"].quantile([0.2, 0.5, 0.8], bounds=(0, None)),
    "min with error bar": lambda d: d.min("cost", bounds=(0, 100), error_bar=True),
    "median with error bar": lambda d: d["cost"].median(bounds=(0, 100), error_bar=True),
    "quantiles with error bars": lambda d: d.quantile("age", [0.9, 0.2], bounds=(0, None), error_bar=True),
    "smooth median": lambda d: d.median("cost", bounds=(0, 100), method="smooth"),
    "smooth error bar": lambda d: d.quantile("cost", 0.9, bounds=(0, 100), method="smooth", error_bar=True),
    "trimmed mean": lambda d: d.mean("cost", bounds=(0, 100), method="trimmed", trim=0.2),
    "winsorized mean": lambda d: d.mean("cost", bounds=(0, 10**6), method="winsorized"),
    "smooth blocks": lambda d: d.sample_and_aggregate(
        ends, bounds={"low": (0, 9), "high": (0, 200)}, blocks=9, aggregator="smooth"
    ),
    "winsorized blocks": lambda d: d.sample_and_aggregate(middle, bounds=(0, 9), blocks=200, aggregator="winsorized"),
    "groups by noisy size": lambda d: d.groupby_mean_sa("ward", "cost", keys=KEYS, bounds=(0, 100)),
    "function of groups by noisy size": lambda d: d.groupby(["ward"], keys=KEYS).sample_and_aggregate(
        middle, bounds=(0, 100)
    ),
    "medians of a function of groups": lambda d: d.groupby("ward", keys=KEYS).sample_and_aggregate(
        middle, bounds=(0, 100), blocks=200, aggregator="median"
    ),
    "mst_cost": lambda d: d.mst_cost("ward", "to", "cost", vertices=KEYS, max_weight=100),
}
OWN = {"A": (0, 50), "B": (10, 100), "C": (-20, 101)}
IN_OWN_BOUNDS: dict[str, Question] = {  # in the unit of the bounds of each group
    "group means in own bounds": lambda d: d.groupby("ward", keys=KEYS)["cost"].mean(bounds=OWN),
    "group sums in own bounds": lambda d: d.groupby("ward", keys=KEYS)["cost"].sum(bounds=OWN),
}
TOGETHER: dict[str, Question] = {  # several columns, with an interval for each entry
    "cov": lambda d: d.cov(["age", "cost"], bounds=NUMBERS),
    "cov of three": lambda d: d.cov(["age", "cost", "uid"], bounds=NUMBERS | {"uid": (0, 50)}, ddof=0),
    "corr": lambda d: d.corr(["age", "cost"], bounds=NUMBERS),
    "regression": lambda d: d.linear_regression("cost", ["age"], bounds=NUMBERS),
    "regression on categories": lambda d: d.linear_regression(
        "cost", ["age", "ward"], bounds=NUMBERS, keys={"ward": KEYS}
    ),
}
SEVERAL: dict[str, Question] = {  # several answers for one price
    "agg": lambda d: d.agg({"cost": ["count", "sum", "mean", "max"], "ward": "nunique"}, bounds={"cost": (0, 100)}),
    "agg by column": lambda d: d.agg({"cost": "std", "day": "median"}, bounds={"cost": (0, 100), "day": DAYS}),
    "agg of a column": lambda d: d["cost"].agg(["count", "mean"], bounds=(0, 100)),
    "agg by name": lambda d: d.agg(
        typical=("age", "median"), low=("cost", "min"), bounds=NUMBERS, weights=[0.75, 0.25]
    ),
    "agg of groups": lambda d: d.groupby("ward", keys=KEYS).agg(
        {"cost": ["count", "sum", "std"], "age": ["median"]}, bounds=NUMBERS, weights=[0.25, 0.25, 0.25, 0.25]
    ),
    "agg of ranks": lambda d: d.agg({"cost": "median", "age": "max"}, bounds=NUMBERS, error_bar=False),
    "describe ranks": lambda d: d["cost"].describe(bounds=(0, 100), error_bar=False),
    "describe": lambda d: d["cost"].describe(bounds=(0, 100)),
    "describe two": lambda d: d.describe(["age", "cost"], bounds=NUMBERS),
}
STREAMS: dict[str, Question] = {
    "above_threshold": lambda d: d.above_threshold(50, max_above=2),
    "pmw": lambda d: d.oracle("pmw", domain={"ward": KEYS}),
    "median oracle": lambda d: d.oracle("median", candidates=[table(), table()], updates=3),
}
ROW_BY_ROW: dict[str, Question] = {  # under replace_one alone
    "randomized_response": lambda d: d.randomized_response("ward", keys=KEYS),
    "randomized_response alpha": lambda d: d.randomized_response("ward", keys=KEYS, alpha=0.003),
}
BY_UNIT: dict[str, Question] = {  # where a column names the units
    "rows_per_unit": lambda d: d.rows_per_unit(limit=10),
}
FOUND: dict[str, Question] = {  # with a delta in the price alone
    "unique": lambda d: d.unique("ward"),
    "unique by column": lambda d: d["cost"].unique(),
    "found counts": lambda d: d.value_counts("ward"),
    "found histogram": lambda d: d.histogram("ward"),
    "found mode": lambda d: d.mode("ward"),
    "found top_k": lambda d: d.top_k("ward", 2),
    "means of blocks of found groups": lambda d: d.groupby_mean_sa("ward", "cost", bounds=(0, 100), blocks=5),
    "found dates": lambda d: d["day"].value_counts(),
    "sizes of found groups": lambda d: d.groupby("ward").size(),
    "counts of found groups": lambda d: d.groupby("ward").count("cost"),
    "sums of found groups": lambda d: d.groupby("ward")["cost"].sum(bounds=(0, 100)),
    "means of found groups": lambda d: d.groupby("ward")["cost"].mean(bounds=(0, 100)),
    "unique combinations": lambda d: d.unique(["ward", "to"]),
    "sizes of found combinations": lambda d: d.groupby(["ward", "day"]).size(),
    "means of found combinations": lambda d: d.groupby(["to", "ward", "age"])["cost"].mean(bounds=(0, 100)),
    "sums of combinations partly listed": lambda d: d.groupby(["ward", "to"], keys={"to": KEYS})["cost"].sum(
        bounds=(0, 100)
    ),
}
FEW_BLOCKS: dict[
    str, Question
] = {  # those with the most calls of a function, for prices at which few blocks are enough
    "vote": lambda d: d.sample_and_aggregate(ward, keys=KEYS, blocks=10, aggregator="vote"),
    "means of a function of groups": lambda d: d.groupby("ward", keys=KEYS).sample_and_aggregate(
        middle, bounds=(0, 100), blocks=10, aggregator="mean"
    ),
    "medians of a function of groups": lambda d: d.groupby("ward", keys=KEYS).sample_and_aggregate(
        middle, bounds=(0, 100), blocks=12, aggregator="median"
    ),
    "winsorized blocks": lambda d: d.sample_and_aggregate(middle, bounds=(0, 9), blocks=40, aggregator="winsorized"),
}
NO_QUESTION = {"refine"}  # it draws an answer once more: tests/session/test_refine.py
EVERY = (
    ADDITIVE
    | FROM_BLOCKS
    | GUARANTEED
    | BY_ROWS
    | BY_DATA
    | IN_OWN_BOUNDS
    | TOGETHER
    | SEVERAL
    | STREAMS
    | ROW_BY_ROW
    | BY_UNIT
)

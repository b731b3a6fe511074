"""One question for each kind of statistic, of partition and of column, for tests that ask every question in every form.

What they compare are the integers of statistics, of which there are fewer kinds than questions: plain ``pytest`` asks one
of each kind, the slow tests ask all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

ONE = {
    "after steps",
    "agg of groups",
    "best_price",
    "count",
    "cov",
    "ecdf by column",
    "found dates",
    "function of groups by noisy size",
    "group means of blocks",
    "group nunique",
    "groups by noisy size",
    "histogram of days",
    "histogram of groups",
    "kmeans",
    "max by column",
    "mean",
    "mean day",
    "means of a function of groups",
    "means of found combinations",
    "median of blocks",
    "median of groups",
    "mode of groups",
    "mst_cost",
    "nunique of units",
    "own function",
    "pivot table of means by group",
    "private bounds",
    "quantile",
    "quantiles of groups",
    "randomized_response",
    "rows_per_unit",
    "select",
    "select by table",
    "smooth blocks",
    "smooth error bar",
    "sum of durations",
    "sums of bins",
    "sums of combinations partly listed",
    "sums of found groups",
    "sums of keys",
    "trimmed mean",
    "vote",
    "winsorized mean",
}


def questions(names: Iterable[str]) -> list[Any]:
    """The names as cases of a test."""
    return [case(name) for name in names]


def case(name: str, *more: Any, slow: bool = False, **options: Any) -> Any:
    """A case that asks a question: slow where another one asks the same of its statistic, or where the test says so."""
    marks = (pytest.mark.slow,) if slow or name not in ONE else ()
    return pytest.param(name, *more, marks=marks, **options)

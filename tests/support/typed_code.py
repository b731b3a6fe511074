"""What people type, with the types that checkers have to find: read by mypy and pyright, never run."""

from __future__ import annotations

from typing import assert_type

import pandas as pd

import pandas_dp
from pandas_dp.release.values import FloatRelease, FrameRelease, IntRelease, SeriesRelease

df = pd.DataFrame({"age": [1, 2], "sex": ["f", "m"]})
pandas_dp.dp(df).protect(epsilon=3)
ask = pandas_dp.dp(df)(epsilon=0.2)

assert_type(ask.count(), IntRelease)
assert_type(ask.count() + 1.5, float)
assert_type(ask.count() + 1, int)
assert_type(ask["age"].count(), IntRelease)
assert_type(ask.size(), IntRelease)
assert_type(ask.nunique("sex"), IntRelease)
assert_type(ask.sum("age", bounds=(0, 100)), FloatRelease)
assert_type(ask.mean("age", bounds=(0, 100)), FloatRelease)
assert_type(ask["age"].mean(bounds=(0, 100)) / 2, float)
assert_type(ask.std("age", bounds=(0, 100)), FloatRelease)
assert_type(ask.median("age", bounds=(0, 100)), FloatRelease)
assert_type(ask.max("age", bounds=(0, 100)), FloatRelease)
assert_type(ask.histogram("age", bins=[0, 18, 65]), SeriesRelease)
assert_type(ask["sex"].value_counts(keys=["f", "m"]), SeriesRelease)
assert_type(ask.cov(["age", "age"], bounds={"age": (0, 100)}), FrameRelease)
assert_type(ask.groupby("sex", keys=["f", "m"]).size(), SeriesRelease)
assert_type(ask.groupby("sex", keys=["f", "m"])["age"].mean(bounds=(0, 100)), SeriesRelease)
assert_type(ask.groupby("sex", keys=["f", "m"])["age"].agg(["count", "mean"], bounds=(0, 100)), FrameRelease)

number: float = ask.mean("age", bounds=(0, 100))
whole: int = ask.count()
counts: pd.Series = ask.histogram("age", bins=[0, 18, 65])
table: pd.DataFrame = ask.groupby("sex", keys=["f", "m"])["age"].agg(["count", "mean"], bounds=(0, 100))
later = ask.max("day", bounds=("2024-01-01", "2024-12-31")).value.year  # of a date: the plain value may be anything

if ask.count() > 100 and 5 - ask.count() < number:
    print(round(ask.count()), round(number, 1), f"{number:.1f}", ask.count().spent, ask.mean("age").interval(0.95))
for key, value in counts.items():
    print(key, value)
print((counts / whole).sum(), counts.sort_values(), table["mean"].max())

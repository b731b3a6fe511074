"""Any argument of another kind than wanted is refused in the package's own words, whatever the question."""

from __future__ import annotations

import contextlib

import pytest
from support.frames import protected
from support.questions import table

import pandas_dp

ODD = [[], {}, (), set(), [[]], {"a": []}, 3, 2.5, None, b"cost", object(), float("nan"), [None], "", "cost\x00"]
BOUNDED = ["sum", "mean", "var", "std", "median", "min", "max", "describe"]
NAMED = [
    *BOUNDED,
    "nunique",
    "count",
    "value_counts",
    "histogram",
    "mode",
    "unique",
    "groupby",
    "cov",
    "corr",
    "quantile",
]
PARTS = ["bins", "keys"]


def refusal_or_answer(ask) -> None:
    """Either is fine (None is a count of rows, for one); an error that is not the package's is none."""
    with contextlib.suppress(pandas_dp.PandasDPError):
        ask()


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("name", NAMED)
def test_columns(name, odd):
    df = protected(table(), epsilon=1000)
    more = {"bounds": (0, 1)} if name in BOUNDED else {}
    refusal_or_answer(lambda: getattr(df.dp(epsilon=1), name)(odd, **more))


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("name", BOUNDED)
def test_bounds(name, odd):
    df = protected(table(), epsilon=1000)
    refusal_or_answer(lambda: getattr(df.dp(epsilon=1), name)("cost", bounds=odd))
    refusal_or_answer(lambda: getattr(df.dp(epsilon=1)["cost"], name)(bounds=odd))
    refusal_or_answer(lambda: df.dp(epsilon=1).agg({"cost": [name]}, bounds={"cost": odd}))


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("part", PARTS)
def test_parts(part, odd):
    df = protected(table(), epsilon=1000)
    refusal_or_answer(lambda: df.dp(epsilon=1).histogram("cost", **{part: odd}))
    refusal_or_answer(lambda: df.dp(epsilon=1).groupby("ward", **{part: odd}).size())
    refusal_or_answer(lambda: df.dp(epsilon=1).groupby(["ward", "to"], **{part: odd}).size())
    refusal_or_answer(lambda: df.dp(epsilon=1).crosstab("ward", "to", **{part: odd}))


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_levels_weights_and_functions(odd):
    df = protected(table(), epsilon=1000)
    refusal_or_answer(lambda: df.dp(epsilon=1).quantile("cost", odd, bounds=(0, 9)))
    refusal_or_answer(lambda: df.dp(epsilon=1).agg({"cost": odd}))
    refusal_or_answer(lambda: df.dp(epsilon=1).agg(odd))
    refusal_or_answer(lambda: df.dp(epsilon=1).agg({"cost": ["count", "nunique"]}, weights=odd))
    refusal_or_answer(lambda: df.dp(epsilon=1).agg({"cost": ["count", "nunique"]}, within=odd))
    refusal_or_answer(lambda: df.dp(epsilon=odd).count())
    refusal_or_answer(lambda: df.dp(within=odd).count())
    refusal_or_answer(lambda: df.dp.query(odd))
    refusal_or_answer(lambda: df.dp.filter(odd))
    refusal_or_answer(lambda: df.dp.assign(x=odd))
    refusal_or_answer(lambda: df.dp(epsilon=1).sample_and_aggregate(odd, bounds=(0, 1)))
    refusal_or_answer(lambda: df.dp(epsilon=1).best_price("cost", prices=odd))
    refusal_or_answer(lambda: df.dp(epsilon=1).select(odd, score="cost > candidate"))

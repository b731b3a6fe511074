"""Columns of text that hold dates, as files give them: the advice leads to months, and nothing is charged on the way."""

from __future__ import annotations

import re
from datetime import date

import pandas as pd
import pytest
from support.frames import protected, refused

from pandas_dp import ArgumentTypeError

MONTHS, DAYS = pd.period_range("2024-01", "2024-02", freq="M"), pd.date_range("2024-01-01", "2024-03-01", freq="MS")
MADE = r"""\w+ = (?:df\.dp|\w+)(\.assign\(.*\.str\.to_datetime\("%Y-%m-%d"\)\}?\))"""
STEP = re.compile(f"if the text holds dates, convert it first: {MADE}")
BINNED = {
    "periods": lambda d, name: d.groupby(name, bins=MONTHS).size(),
    "dates": lambda d, name: d.groupby(name, bins=DAYS).size(),
    "list": lambda d, name: d.groupby(name, bins=[date(2024, 1, 1), date(2024, 3, 1)]).size(),
    "histogram": lambda d, name: d.histogram(name, bins=DAYS),
    "with another": lambda d, name: d.groupby([name, "ok"], bins={name: MONTHS}).size(),
}
DTYPES = ["str", "object", "category", "string[pyarrow]", "large_string[pyarrow]"]


def visits(dtype: str = "str") -> pd.DataFrame:
    texts = pd.Series(["2024-01-05", "2024-02-11"] * 500, dtype=dtype)
    return protected(pd.DataFrame({"date": texts, "first day": texts, "ok": True, "nr": ["1", "2"] * 500}))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["date", "first day"])
@pytest.mark.parametrize("ask", BINNED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_refusal_names_the_step_and_the_step_works(monkeypatch, dtype, ask, name):
    ask = BINNED[ask]
    df = visits(dtype)
    asked = df.dp(epsilon=1)
    with refused(monkeypatch, df, ArgumentTypeError) as caught:
        ask(asked, name)
    found = STEP.search(str(caught.value))
    assert found, str(caught.value)
    ask(eval(f"asked{found[1]}", {"asked": asked}), name)


@pytest.mark.parametrize("name", ["date", "first day"])
def test_a_mean_of_dates_that_are_text_names_the_step_too(monkeypatch, name):
    df = visits()
    asked, dated = df.dp(epsilon=1), {"bounds": ("2024-01-01", "2024-12-31")}
    either = re.compile(
        f"; if it holds dates: {MADE}; other text becomes missing; what is written into df after protect is not seen$"
    )
    for bounds, step in ((dated, STEP), ({}, either)):
        with refused(monkeypatch, df, ArgumentTypeError) as caught:
            asked.mean(name, **bounds)
        found = step.search(str(caught.value))
        assert found, str(caught.value)
        assert eval(f"asked{found[1]}", {"asked": asked}).mean(name, **dated).value.year == 2024
        converted = eval(f"df.dp{found[1]}", {"df": df})
        assert converted.dp(epsilon=1).mean(name, **dated).value.year == 2024


@pytest.mark.parametrize("dtype", DTYPES)
def test_keys_of_another_kind_are_answered_whatever_the_dtype(dtype):
    """Pandas holds a column as text until one cell is none: a refusal by dtype would tell of that cell."""
    df = visits(dtype)
    asks = (
        lambda d: d.value_counts("date", keys=[1, 2]),
        lambda d: d.histogram("date", keys=[1.5]),
        lambda d: d.mode("date", keys=[True, False]),
        lambda d: d.groupby("date", keys=pd.DataFrame({"date": [1]})["date"]).size(),
        lambda d: d.crosstab("date", "ok", keys={"date": ["2024-01-05", 7]}),
        lambda d: d.top_k("date", 1, keys=["2024-01-05", pd.Period("2024-01")]),
    )
    for ask in asks:
        ask(df.dp(epsilon=1))


def test_dates_are_grouped_by_periods(monkeypatch):
    """Not by keys, of which there are as many as days; ``freq=`` and a grouper lead there, too."""
    df = protected(pd.DataFrame({"when": pd.to_datetime(["2013-01-05", "2013-02-11"] * 500)}))
    d = df.dp(epsilon=1)
    line = "d.groupby('when', bins=pd.period_range('2026-01', '2026-12', freq='M'))"
    for ask in (lambda: d.groupby("when"), lambda: d.groupby("when", freq="M")):
        with refused(monkeypatch, df, ArgumentTypeError) as caught:
            ask()
        assert f": {line}" in str(caught.value)
        assert "discover" not in str(caught.value)
    eval(line, {"d": d, "pd": pd}).size()
    with refused(
        monkeypatch,
        df,
        ArgumentTypeError,
        r"groups need the name of a column: d\.groupby\('when', bins=pd.period_range\(.*\)\)$",
    ):
        d.groupby(pd.Grouper(key="when", freq="ME"))

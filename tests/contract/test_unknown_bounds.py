"""Bounds that nobody knows: what is refused costs nothing, reads nothing and names the line to type."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused, watching

from pandas_dp.aggregates import private_bounds

NUMERIC = ["sum", "mean", "var", "std", "median", "quantile"]


def ask(df: pd.DataFrame, name: str, column: str, **how):
    return getattr(df.dp(epsilon=1), name)(column, **how)


@pytest.mark.parametrize("name", NUMERIC)
def test_missing_bounds_name_the_way_out(monkeypatch, name):
    df = protected()
    with refused(monkeypatch, df, TypeError, "bounds='private'"):
        ask(df, name, "pay")
    with refused(monkeypatch, df, TypeError, "bounds=") as caught:
        ask(df, name, "when")
    assert "private" not in str(caught.value)


def test_calls_that_cannot_buy_bounds_do_not_name_it(monkeypatch):
    df = protected()
    with refused(monkeypatch, df, TypeError, "bounds") as caught:
        df.dp(epsilon=1).groupby_mean_sa("sex", "pay", keys=["f", "m"])
    assert "private" not in str(caught.value)
    with refused(monkeypatch, df, TypeError, "needs public bounds"):
        df.dp(epsilon=1).groupby_mean_sa("sex", "pay", keys=["f", "m"], bounds="private")
    with refused(monkeypatch, df, TypeError, "needs public bounds"):
        df.dp(epsilon=1).sample_and_aggregate(len, bounds="private")


@pytest.mark.parametrize("name", NUMERIC)
def test_private_bounds_of_what_is_no_number(monkeypatch, name):
    frame = people().assign(old=[True] * 8, waited=pd.to_timedelta(range(8), unit="min"))
    df = protected(frame)
    for column in ("when", "waited", "old", "sex", "city"):
        with refused(monkeypatch, df, TypeError, rf"{name}\('{column}', bounds=\(lower, upper\)\)"):
            ask(df, name, column, bounds="private")
    with refused(monkeypatch, df, ValueError, "nope"):
        ask(df, name, "nope", bounds="private")


@pytest.mark.parametrize("bounds", ["Private", "auto", "privat", b"private", ["private"], ("private", "private")])
def test_other_words(monkeypatch, bounds):
    df = protected()
    for name in NUMERIC:
        with refused(monkeypatch, df, (TypeError, ValueError), "bounds"):
            ask(df, name, "pay", bounds=bounds)


def test_private_bounds_take_no_step(monkeypatch):
    df = protected()
    for name in ("median", "quantile"):
        with refused(monkeypatch, df, ValueError, "leave step= out"):
            ask(df, name, "pay", bounds="private", step=1)


def test_private_bounds_of_selections_take_a_plain_epsilon(monkeypatch):
    df = protected(delta=1e-5)
    for bounds in ("private", (0, None)):
        with refused(monkeypatch, df, ValueError, "plain epsilon"):
            df.dp(epsilon=1, delta=1e-6).median("pay", bounds=bounds)


def test_a_wanted_error_needs_bounds_that_are_known(monkeypatch):
    df = protected()
    with refused(monkeypatch, df, TypeError, "give a price"):
        df.dp(within=5).sum("pay", bounds="private")


@pytest.mark.parametrize("bounds", [(0, None), (None, 0), (None, None)])
def test_open_ends_are_for_ranks_only(monkeypatch, bounds):
    df = protected()
    for name in ("sum", "mean", "var", "std"):
        with refused(monkeypatch, df, TypeError, rf"needs both bounds.*{name}\('pay', bounds=\(lower, upper\)\)"):
            ask(df, name, "pay", bounds=bounds)


@pytest.mark.parametrize("bounds", [(np.nan, None), (None, np.inf), ("a", None), (0, None, None), (None,), {0: None}])
def test_open_ends_that_are_refused(monkeypatch, bounds):
    df = protected()
    for name in ("median", "quantile"):
        with refused(monkeypatch, df, (TypeError, ValueError), "bounds"):
            ask(df, name, "pay", bounds=bounds)


@pytest.mark.parametrize("step", [0, -1, np.nan, 1e300, "1 s", True])
def test_steps_of_open_ends(monkeypatch, step):
    df = protected()
    with refused(monkeypatch, df, (TypeError, ValueError), "step"):
        ask(df, "median", "pay", bounds=(0, None), step=step)


def test_open_ends_of_other_kinds(monkeypatch):
    df = protected(people().assign(waited=pd.to_timedelta(range(8), unit="min")))
    with refused(monkeypatch, df, TypeError, r"bounds=\('2026-01-01', None\)"):
        ask(df, "median", "when", bounds=(None, None))
    with refused(monkeypatch, df, TypeError, "text or objects"):
        ask(df, "median", "sex", bounds=(0, None))
    with watching(monkeypatch) as watch:
        assert isinstance(ask(df, "median", "when", bounds=("2013-01-01", None)).value, pd.Timestamp)
        assert isinstance(ask(df, "median", "when", bounds=(None, "2014-01-01"), step="1 D").value, pd.Timestamp)
        assert isinstance(ask(df, "median", "waited", bounds=("0 s", None)).value, pd.Timedelta)
        assert isinstance(ask(df, "median", "waited", bounds=(None, None)).value, pd.Timedelta)
    assert watch.opened == 4


def test_open_ends_from_the_schema(monkeypatch):
    df = protected(schema={"pay": {"bounds": (0, None), "step": 10}})
    with watching(monkeypatch) as watch:
        assert ask(df, "median", "pay") >= 0
    assert watch.opened == 1
    with refused(monkeypatch, df, TypeError, "needs both bounds"):
        ask(df, "mean", "pay")


def test_answers_of_an_empty_table_keep_their_form(monkeypatch):
    monkeypatch.setattr(private_bounds, "CHANCE", 1e-12)  # of bounds that are found without a row
    df = protected(people().iloc[:0])
    full = protected()
    for how in ({"bounds": (0, None)}, {"bounds": "private"}, {"bounds": (0, 100)}):
        for name in ("median", "quantile"):
            assert type(ask(df, name, "pay", **how)) is type(ask(full, name, "pay", **how))
        several = ask(df, "quantile", "pay", q=[0.9, 0.1, 0.5, 0.2, 0.3], **how)
        assert list(several.index) == [0.9, 0.1, 0.5, 0.2, 0.3]
        assert several.sort_index().dropna().is_monotonic_increasing
        assert several.isna().all() == (how["bounds"] == "private")

"""Releases go wherever pandas objects go, as the plain data they hold; what they know of their error goes in ``.table()``."""

from __future__ import annotations

import io
import json
import pickle

import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp.release.csv import one_name


@pytest.fixture(scope="module")
def releases():
    df = pd.DataFrame(
        {
            "state": ["a", "b"] * 500,
            "sex": ["f", "m", "m", "f"] * 250,
            "age": range(1000),
            "day": pd.date_range("2024-01-01", periods=1000, freq="h"),
        }
    )
    df.dp.protect(epsilon=1000, name=fresh())
    ask, keys = df.dp(epsilon=1), {"state": ["a", "b"], "sex": ["f", "m"]}
    return {
        "bins": ask.histogram("age", bins=range(0, 1001, 250)),
        "keys": ask.histogram("state", keys=["a", "b"], other=True, null=True),
        "months": ask.groupby("day", bins=pd.period_range("2024-01", "2024-02", freq="M")).size(),
        "cells": ask.groupby(["state", "sex"], keys=keys).size(),
        "groups": ask.groupby("state", keys=["a", "b"])["age"].agg(["mean", "std"], bounds=(0, 1000)),
        "crosstab": ask.crosstab("state", "sex", keys=keys, margins=True),
        "quantiles": ask.quantile("age", [0.25, 0.75], bounds=(0, 1000)),
    }


NAMES = ("bins", "keys", "months", "cells", "groups", "crosstab", "quantiles")


def plain(release) -> pd.DataFrame:
    value = release.value
    return value.to_frame("value") if isinstance(value, pd.Series) else value


@pytest.mark.parametrize("name", NAMES)
def test_to_csv_and_back(releases, name):
    for table in (plain(releases[name]), releases[name].table()):
        text = table.to_csv()
        head, labels = list(range(table.columns.nlevels)), list(range(table.index.nlevels))
        back = pd.read_csv(io.StringIO(text), header=head, index_col=labels)
        assert back.to_numpy(float) == pytest.approx(table.to_numpy(float))


@pytest.mark.parametrize("name", NAMES)
def test_a_release_as_csv_is_what_is_shown_below_its_cautions(releases, name, tmp_path):
    release, path = releases[name], tmp_path / "answer.csv"
    text = release.to_csv()
    above = [line for line in text.splitlines() if line.startswith("# ")]
    assert text.splitlines()[: len(above)] == above
    assert "epsilon 1" in above[0]
    assert all(f"# {note}" in above for note in release.notes)
    shown = release._legible(release.interval())
    back = pd.read_csv(io.StringIO(text), index_col=list(range(shown.index.nlevels)), comment="#")
    assert back.columns.tolist() == [str(one_name(column)) for column in shown.columns]
    assert back.to_numpy(float) == pytest.approx(shown.to_numpy(float), nan_ok=True)
    assert release.to_csv(path, sep=";") is None
    assert path.read_text(encoding="utf-8").splitlines()[: len(above)] == above
    assert ";" in path.read_text(encoding="utf-8").splitlines()[-1]
    with path.open("w", newline="", encoding="utf-8") as file:
        release.to_csv(file)
    assert path.read_bytes().decode() == text


KEYS = {
    "numbers": ["01", "1", "1e3", " 7"],
    "truth values": ["True", "false"],
    "texts": ["01", "x", "#1", "NA"],
    "signs": ["+1", "-01"],
    "whole numbers": [1, 2, 3],
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("several", [False, True])
def test_keys_are_read_back_as_they_were(keys, several):
    """By the line of the README, or by the one in the head of the file where there is one."""
    df = pd.DataFrame({"k": keys * 60, "g": (["a"] * len(keys) + ["b"] * len(keys)) * 30})
    df.dp.protect(epsilon=1000, name=fresh())
    ask = df.dp(epsilon=1)
    answer = (
        ask.groupby(["g", "k"], keys={"g": ["a", "b"], "k": keys}).size() if several else ask.histogram("k", keys=keys)
    )
    text = answer.to_csv()
    lines = [line for line in text.splitlines() if "pd.read_csv(" in line]
    assert bool(lines) == (keys in (KEYS["numbers"], KEYS["truth values"], KEYS["signs"]))
    line = lines[0].partition("pd.")[2] if lines else 'read_csv(path, comment="#", keep_default_na=False, na_values="")'
    back = eval(f"pd.{line}", {"pd": pd, "path": io.StringIO(text), "str": str})
    assert back["k"].tolist() == (keys * 2 if several else keys)


NUMBERS = {
    "count": lambda d: d.count(),
    "mean": lambda d: d.mean("age", bounds=(0, 1000)),
    "rank": lambda d: d.median("age", bounds=(0, 1000)),
    "text": lambda d: d.mode("state", keys=["a", "b"]),
    "date": lambda d: d.mean("day", bounds=("2024-01-01", "2024-03-01")),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_single_answer_as_csv_is_a_table_of_one_row(name, tmp_path):
    df = pd.DataFrame(
        {"age": range(1000), "state": ["a", "b"] * 500, "day": pd.date_range("2024", periods=1000, freq="h")}
    )
    df.dp.protect(epsilon=1000, name=fresh())
    release = NUMBERS[name](df.dp(epsilon=1))
    text = release.to_csv()
    above = [line for line in text.splitlines() if line.startswith("# ")]
    assert text.startswith(f"# {release._price_line(0.95, release.interval())}\n# ")
    assert "each" not in above[0]
    assert f"# {release.query}" in above
    back = pd.read_csv(io.StringIO(text), index_col=0, comment="#")
    assert back.index.tolist() == [str(release.query)]
    assert back.columns.tolist() == release.table().columns.tolist()
    if name in ("count", "mean"):
        assert back.loc[str(release.query)].tolist() == pytest.approx(release.table().iloc[0].tolist(), rel=1e-3)
    if name == "mean":
        assert all(len(cell) < 8 for cell in text.splitlines()[-1].split(",")[-3:])
    release.to_csv(tmp_path / "answer.csv", level=0.5)
    assert (tmp_path / "answer.csv").read_bytes().decode() == release.to_csv(level=0.5)


def test_csv_has_no_digits_that_noise_made(releases):
    rows = [line.split(",") for line in releases["groups"].to_csv().splitlines()[-2:]]
    assert all(len(cell) <= 8 for row in rows for cell in row)
    with pytest.raises(pandas_dp.errors.ArgumentTypeError, match=r"without compression: .to_csv\(path\).*\.table\(\)"):
        releases["groups"].to_csv("x.csv.gz", compression="gzip")
    changed = releases["groups"].copy()
    assert not changed.to_csv().startswith("#")


@pytest.mark.parametrize("name", NAMES)
def test_to_parquet_and_back(releases, name):
    for table in (plain(releases[name]), releases[name].table()):
        held = io.BytesIO()
        table.to_parquet(held)
        back = pd.read_parquet(io.BytesIO(held.getvalue()))
        assert back.shape == table.shape
        assert back.to_numpy().tolist() == table.to_numpy().tolist()
        assert not back.attrs.get("pandas_dp")


@pytest.mark.parametrize("name", NAMES)
def test_json_pickle_and_copies(releases, name):
    release = releases[name]
    told = json.loads(release.to_json())
    assert told["price"]["epsilon"] == 1
    twin = pickle.loads(pickle.dumps(release))
    assert twin.spent == "epsilon=1"
    assert twin.value.equals(release.value)
    assert type(pd.concat([release, release])) in (pd.Series, pd.DataFrame)
    assert pd.concat([plain(release)] * 2).shape[0] == 2 * len(release)


@pytest.mark.parametrize("name", NAMES)
def test_styling(releases, name):
    pytest.importorskip("jinja2")
    release = releases[name]
    styled = (release if isinstance(release, pd.DataFrame) else release.to_frame()).style.format(precision=1).to_html()
    assert "<table" in styled
    assert "<table" in release.table().style.to_html()


def test_numbers_are_numbers_and_queries_are_steps_of_a_pipe():
    df = pd.DataFrame({"age": range(1000)})
    df.dp.protect(epsilon=1000, name=fresh())
    mean = df.dp(epsilon=100).mean("age", bounds=(0, 1000))
    assert json.loads(json.dumps({"mean": mean})) == {"mean": float(mean)}
    assert pd.DataFrame({"mean": [mean, mean]})["mean"].dtype == "float64"
    assert f"{mean:.1f}" == f"{float(mean):.1f}"
    assert df.dp.pipe(pandas_dp.query(epsilon=1).count()).spent == "epsilon=1"

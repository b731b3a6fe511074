"""What is printed and published of means says which interval covers the noise, and which the population."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.frames import fresh

import pandas_dp

BESIDE = ["population_lower", "population_upper"]
BOTH = "(lower, upper: noise; population_lower, population_upper: population)"
BOUNDS = (0, 100)


def people(**terms):
    df = pd.DataFrame({"ward": np.resize(["A", "B"], 4000), "age": np.resize(np.arange(20, 80), 4000)})
    df["old"], df["uid"] = df["age"] > 60, np.arange(4000) // 2
    df.dp.protect(epsilon=1000, name=fresh(), **terms)
    return df.dp(epsilon=1)


@pytest.fixture(scope="module")
def asked():
    made = people()
    yield made
    made._frame.dp.session.close()


@pytest.fixture(scope="module")
def groups(asked):
    return asked.groupby("ward", keys=["A", "B", "C"])


NUMBER = r"-?[0-9.]+"
TOLD = rf"{NUMBER} \[({NUMBER}), ({NUMBER})\] noise, \[({NUMBER}), ({NUMBER})\] population \(95 %\), epsilon 1"


def test_of_a_number_both_are_printed_by_name(asked):
    for mean in (asked.mean("age", bounds=BOUNDS, population=True), asked.mean("old")):
        lower, upper, least, most = map(float, re.fullmatch(TOLD, repr(mean).split("\n")[0]).groups())
        assert least < lower < upper < most
        noise, of = mean.interval(), mean.interval(of="population")
        assert lower <= noise.lower < noise.upper <= upper  # rounded outwards
        assert least <= of.lower < of.upper <= most
        assert "noise, [" in mean._repr_html_()
        assert json.loads(mean.to_json())["population"]["lower"] == of.lower
        assert mean.table(0.9).columns.tolist() == ["value", "lower", "upper", *BESIDE]
        assert mean.table(0.9)[BESIDE].to_numpy().tolist() == [list(mean.interval(0.9, of="population"))]
        assert mean.to_csv().startswith(f"# 95 % interval {BOTH}, epsilon 1")
    few = asked._frame.dp(epsilon=0.001).mean("age", bounds=BOUNDS, population=True)
    assert "] noise, too few rows for the population (95 %), epsilon 0.001" in repr(few)


def test_of_groups_too_and_columns_keep_to_their_digits(groups):
    means = groups["age"].mean(bounds=BOUNDS, population=True)
    assert f"\n95 % intervals {BOTH}, epsilon 1" in repr(means)
    assert means.table().columns.tolist() == ["value", "lower", "upper", *BESIDE]
    read = pd.read_csv(io.StringIO(means.to_csv()), comment="#", index_col="ward", keep_default_na=False, na_values="")
    assert read.columns.tolist() == ["value", "lower", "upper", *BESIDE]
    assert read.loc["C", BESIDE].isna().all()
    exact = means.interval(of="population").loc[["A", "B"]].to_numpy()
    assert read.loc[["A", "B"], BESIDE].to_numpy() == pytest.approx(exact, abs=0.0006)
    assert (read[BESIDE] == read[BESIDE].round(3)).loc[["A", "B"]].all(axis=None)  # three digits of 0.769
    assert means.head(1).table().columns.tolist() == ["value", "lower", "upper", *BESIDE]
    assert means.plot(ax=Figure().subplots()).get_title() == "95 % intervals of the noise, epsilon 1, discrete Laplace"
    turned = groups["age"].mean(bounds=BOUNDS, population=True).to_frame().unstack()
    assert type(turned) is pd.Series


def test_of_several_answers_the_means_have_it_alone(asked, groups):
    many = groups.agg({"age": ["mean", "std"], "old": ["count"]}, bounds={"age": BOUNDS})
    names = many.table().columns.tolist()
    assert names[-2:] == [("age", "mean", name) for name in BESIDE]
    assert len(names) == 3 * 3 + 2
    assert f"95 % intervals {BOTH}" in repr(many)
    assert "age mean population_lower" in many.to_csv()
    wards = asked.groupby(["ward", "old"], keys={"ward": ["A", "B"], "old": [True, False]})
    turned = wards["age"].mean(bounds=BOUNDS, population=True).unstack()
    assert [name for _, name in turned.table().columns].count("population_lower") == 2


def test_of_rows_about_different_functions_the_line_says_it(asked):
    for several in (asked.agg({"age": ["mean", "std"]}, bounds={"age": BOUNDS}), asked.describe("age", bounds=BOUNDS)):
        assert "\n95 % intervals of the noise, epsilon 1" in repr(several)
        assert not any("population" in str(name) for name in several.table().columns)


def test_where_nothing_is_known_of_the_population_nothing_is_said_of_it(asked):
    owned = people(unit="uid", max_rows=2)
    for mean in (
        asked.mean("age", bounds=BOUNDS),
        owned.mean("old"),
        owned.mean("age", bounds=BOUNDS),
    ):
        assert "noise" not in repr(mean).split("\n")[0]
        assert mean.table().columns.tolist() == ["value", "lower", "upper"]
        assert mean.to_csv().startswith("# 95 % interval, epsilon 1")
        assert "population" not in json.loads(mean.to_json())
    owned._frame.dp.session.close()


def test_nor_where_the_data_chose_the_bounds(asked, groups):
    alone = asked.median("age", bounds="private", error_bar=True)
    many = groups.agg({"age": ["mean", "median"]}, bounds={"age": "private"})
    for made in (alone, many, asked.agg({"age": ["median"]}, bounds={"age": "private"})):
        assert "noise" not in repr(made)
        assert "population" not in json.loads(made.to_json())
        with pytest.raises(pandas_dp.ArgumentTypeError):
            made.interval(of="population")


def test_medians_with_error_bars_have_it_too(asked, groups):
    for median in (asked.median("age", bounds=BOUNDS, error_bar=True), groups["age"].median(bounds=BOUNDS)):
        assert median.table().columns.tolist() == ["value", "lower", "upper", *BESIDE]
        found = median.table().dropna()
        assert (found["population_lower"] <= found["lower"]).all()
        assert (found["upper"] <= found["population_upper"]).all()
    assert asked.median("age", bounds=BOUNDS).table().columns.tolist() == ["value"]


def test_a_difference_says_both(groups):
    more = groups["old"].mean().difference("A", "B")
    assert re.match(TOLD, repr(more))
    assert more.table().columns.tolist() == ["value", "lower", "upper", *BESIDE]


def test_a_pivot_table_of_shares_has_it_cell_by_cell(asked):
    keys = {"ward": ["A", "B"], "third": [True, False]}
    asked = asked.assign(third=lambda d: d["age"] % 3 == 0)
    pivot = asked.pivot_table("old", "ward", "third", keys=keys)
    noise, whole = pivot.interval(), pivot.interval(of="population")
    for cell in pivot.columns:
        assert (whole[cell, "lower"] < noise[cell, "lower"]).all()
        assert (noise[cell, "upper"] < whole[cell, "upper"]).all()
    assert [name for _, name in pivot.table().columns].count("population_upper") == 2
    with pytest.raises(pandas_dp.ArgumentTypeError, match=r"population=True\)\.unstack\(\)"):
        asked.pivot_table("age", "ward", "third", keys=keys, bounds=BOUNDS).interval(of="population")


def test_a_line_says_it_of_the_population_where_its_residuals_are_said_to_be_constant(asked):
    bounds = {"age": BOUNDS, "place": (0, 1)}
    line = asked.assign(place=lambda d: d["age"] / 100).linear_regression("place", "age", bounds=bounds)
    with pytest.raises(pandas_dp.ArgumentTypeError, match="only if residuals spread equally everywhere") as caught:
        line.interval(of="population")
    written = re.search(r"\.(interval\(.*\))$", str(caught.value))[1]
    noise, both = line.interval(0.95), eval(f"line.{written}")
    assert both.columns.tolist() == ["lower", "upper"]
    assert (both["lower"] < noise["lower"]).all()
    assert (noise["upper"] < both["upper"]).all()
    assert line.table().columns.tolist() == ["value", "lower", "upper"]  # nothing that nobody claimed
    for wrong, refused in (("none", "must be 'constant'"), ("constant", "is about a population")):
        with pytest.raises(pandas_dp.PandasDPError, match=refused):
            line.interval(residuals=wrong)
    for other in (asked.mean("old"), asked.count()):
        with pytest.raises(pandas_dp.ArgumentTypeError, match="goes with an interval of linear_regression"):
            other.interval(of="population", residuals="constant")
    owned = people(unit="uid", max_rows=2)
    of_units = owned.assign(place=lambda d: d["age"] / 100).linear_regression("place", "age", bounds=bounds)
    with pytest.raises(pandas_dp.ArgumentTypeError, match="several rows of one 'uid' are not independent"):
        of_units.interval(of="population", residuals="constant")
    owned._frame.dp.session.close()

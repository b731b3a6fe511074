"""Groups with too few rows for their blocks have no value, by noisy sizes alone; what asks for no size says so."""

from __future__ import annotations

import inspect
from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.coverage import enough
from support.frames import protected
from support.questions import KEYS, middle, table

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.blocks import combined, look_at
from pandas_dp.aggregates.distinct import Proportions, SumOf
from pandas_dp.aggregates.rotated import threshold
from pandas_dp.aggregates.sample_and_aggregate import GroupsOfBlocks, GroupsOfFunction, Sizes
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import Price, PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockMeans, BlockResults
from pandas_dp.engines.pandas import PandasView
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import Labels
from pandas_dp.tables import protected as module

ONE, NUMBER = PrivacyUnit(), Kind("number")
GROUPS, LATTICE = Keys("g", ("a", "b", "c")), Lattice(F(1), 0, 1 << 20)
SURE = 10**4


def months(rows: int = 4500) -> pd.DataFrame:
    return pd.DataFrame({"month": np.arange(rows) % 3 + 1, "cost": np.random.default_rng(0).gamma(2, 1000, rows)})


def ask(df, epsilon=1, **how):
    return df.dp(epsilon=epsilon).groupby_mean_sa(
        "month", "cost", **({"keys": range(1, 7), "bounds": (0, 20_000)} | how)
    )


# ------------------------------------------------------------------------------------------------------ what is shown
def test_a_month_without_rows_has_no_value_and_says_why():
    """Of 50 blocks, by a size known to 30 rows with 97.5 %: an empty group seems to have 180 or more with 8e-9."""
    df = protected(months(), epsilon=100)
    answer = ask(df, blocks=50)
    assert answer.notna().tolist() == [True] * 3 + [False] * 3
    why = "no value where a group may have too few rows for 50 blocks: 210 or more would have given one with 97.5 %"
    assert f"\n  {why}" in repr(answer)
    shown = answer.table()
    assert shown["enough_rows"].tolist() == [True] * 3 + [False] * 3
    assert shown.loc[4:, ["lower", "upper"]].to_numpy().tolist() == [[0, 20_000]] * 3
    assert len(shown["size"]) == 6
    assert not any("too few rows" in note for note in ask(df, keys=[1, 2, 3], blocks=50).notes)


@pytest.mark.parametrize("aggregator", ["auto", "median", "mean", "smooth"])
def test_functions_and_medians_of_groups_without_rows_have_no_value(aggregator):
    df = protected(months(), epsilon=10**6)
    groups = df.dp(epsilon=20).groupby("month", keys=[1, 9])
    found = groups.sample_and_aggregate(
        lambda d: float(d["cost"].mean()), bounds=(0, 9000), blocks=40, aggregator=aggregator
    )
    means = ask(df, 20, keys=[1, 9], blocks=40, aggregator=aggregator)
    for answer in (found, means):
        assert answer.notna().tolist() == [True, False]
        assert "no value where a group may have too few rows for 40 blocks" in repr(answer)


def test_dates_of_groups_without_rows_are_missing():
    frame = pd.DataFrame({"g": ["a"] * 500, "day": pd.date_range("2020-01-01", periods=500)})
    df = protected(frame, epsilon=10**6)
    answer = df.dp(epsilon=50).groupby_mean_sa(
        "g", "day", keys=["a", "b"], bounds=("2019-01-01", "2022-01-01"), blocks=50
    )
    assert answer["b"] is pd.NaT
    assert answer["a"].year == 2020
    assert str(answer.dtype).startswith("datetime64")
    lower, upper = answer.interval().loc["b"]  # to the nearest points of the lattice, 24 minutes apart
    assert abs(lower - pd.Timestamp("2019-01-01")) < pd.Timedelta("24min")
    assert abs(upper - pd.Timestamp("2022-01-01")) < pd.Timedelta("24min")
    assert "NaT" in repr(answer)


def test_units_fill_blocks_not_rows():
    """The fault: 20 units of 50 rows, all of them 10, in 100 blocks: 1,000 rows seemed enough, and 42 was printed."""
    frame = pd.DataFrame({"u": np.arange(1000) // 50, "g": "a", "x": 10.0})
    df = protected(frame, epsilon=10**6, unit="u", max_rows=50, max_groups=1)
    answer = df.dp(epsilon=SURE).groupby_mean_sa("g", "x", keys=["a"], bounds=(0, 100), blocks=100)
    assert answer.isna().all()
    assert answer.table()["size"].tolist() == [20]
    assert "may have too few units for 100 blocks" in repr(answer)
    four = df.dp(epsilon=SURE).groupby_mean_sa("g", "x", keys=["a"], bounds=(0, 100), blocks=4)
    assert four["a"] == pytest.approx(10, abs=0.1)


def test_a_unit_counts_in_each_of_its_groups():
    columns = {"u": np.repeat(np.arange(100), 6), "g": list("aabbcc") * 100, "x": [1.0, np.nan] * 300}
    df = protected(pd.DataFrame(columns), epsilon=10**6, unit="u", max_rows=6, max_groups=3)
    answer = df.dp(epsilon=SURE).groupby_mean_sa("g", "x", keys=["a", "b", "c"], bounds=(0, 100), blocks=4)
    assert answer.table()["size"].tolist() == [100, 100, 100]
    two = protected(pd.DataFrame(columns), epsilon=10**6, unit="u", max_rows=6, max_groups=2)
    sizes = (
        two.dp(epsilon=SURE).groupby_mean_sa("g", "x", keys=["a", "b", "c"], bounds=(0, 100), blocks=4).table()["size"]
    )
    assert sizes.sum() == 200


# ----------------------------------------------------------------------------------------- noisy numbers alone decide
@pytest.mark.parametrize("function", [False, True])
def test_the_true_size_is_read_in_the_measurement_alone(function):
    """The recipe is driven without any table: whether a group has a value follows from the integers that it receives."""
    terms = Terms(ONE, Price(F(1)))
    if function:
        question = GroupsOfFunction(
            BlockResults(middle, LATTICE, 1, by=GROUPS), NUMBER, Labels("g", GROUPS.keys), 25, "mean"
        )
    else:
        question = GroupsOfBlocks(BlockMeans("x", LATTICE, GROUPS, 1), NUMBER, Labels("g", GROUPS.keys), 25, "mean")
    for sizes in ([500, 0, 104], [0, 500, 105], [155, 154, -5]):
        recipe = question.steps(terms)
        first = next(recipe)
        assert type(first.statistic).__name__ == "RowCounts"
        unsure = first.mechanism.half_width(0.95)
        recipe.send(sizes)
        with pytest.raises(StopIteration) as end:
            recipe.send([25 * 1000] * 3)
        known = end.value.value.value.notna().tolist()
        assert known == [size - unsure >= (125 if function else 75) for size in sizes]


def test_recipes_of_blocks_never_ask_how_many_rows_a_view_has(monkeypatch):
    """Between two looks nothing is read: every access of the number of rows comes from a statistic's own computation."""
    read = []

    class Watched(PandasView):
        @property
        def rows(self):
            read.append({frame.function for frame in inspect.stack()[1:8]} & {"compute", "values"})
            return self.__dict__["rows"]

        @rows.setter
        def rows(self, number):
            self.__dict__["rows"] = number

    monkeypatch.setattr(module, "PandasView", Watched)
    dp = protected(table(), epsilon=1000).dp(epsilon=5)
    dp.groupby_mean_sa("ward", "cost", keys=KEYS, bounds=(0, 100))
    dp.sample_and_aggregate(middle, bounds=(0, 100))
    dp.mean("cost", bounds=(0, 10**6), method="winsorized")
    assert read
    assert all(read)


# -------------------------------------------------------------------------------------------------------- few rows
def drawn(value: float, rows: int, blocks: int = 25, draws: int = 2000) -> tuple[float, float]:
    """Means of the block means of equal values over random assignments, as they are and with empty blocks taken out."""
    view, values = PandasView(pd.DataFrame({"x": np.full(rows, value)}), {}), BlockMeans("x", LATTICE, None, blocks)
    look, sums = look_at(values, "mean", F(100), ONE), []
    for _ in range(draws):
        found = combined(values, look, [int(values.values(view, ONE).sum())], NUMBER, "")
        sums.append((found.points[0], Sizes([rows], 0, "rows").known(found, values)[0].points[0]))
    return tuple(float(mean) for mean in np.mean(np.array(sums, dtype=np.float64), axis=0))


@pytest.mark.slow
@pytest.mark.parametrize(("each", "share"), [(3, 0.047), (4, 0.017)])
def test_the_expected_share_of_empty_blocks_is_taken_out(each, share):
    """Of 25 blocks with 3 or 4 rows each, values 0.22 of the bounds below their middle: pulled by the share of empty blocks
    there, unbiased without it, but for 6 standard errors of 0.22 sqrt(share / 25 / 2000)."""
    value, middle_ = 300_000.0, LATTICE.cells / 2
    plain, corrected = drawn(value, 25 * each)
    error = 6 * (middle_ - value) * np.sqrt(share / 25 / 2000)
    assert plain - value == pytest.approx(share * (middle_ - value), abs=error)
    assert corrected == pytest.approx(value, abs=1.1 * error)


@pytest.mark.slow
def test_a_mean_at_a_bound_is_pulled_from_it_by_less_than_a_hundredth():
    """There the answer is cut to the bounds: at 3 rows a block, the fewest, by 0.008 of them, an error of 2e-4."""
    plain, corrected = drawn(0.0, 75)
    assert plain > 0.02 * LATTICE.cells
    assert 0 < corrected < 0.01 * LATTICE.cells


def test_an_interval_with_empty_blocks_taken_out_is_that_of_all_blocks_seen_through_the_same_line():
    """It covers the mean of the exact blocks, from which the same share is taken out; refused by chance with 1e-9."""
    rng, blocks, rows, draws = np.random.default_rng(3), 25, 100, 1000
    values, sizes = BlockMeans("x", LATTICE, GROUPS, blocks), Sizes([rows, 1000, rows], 5, "rows")
    look = look_at(values, "mean", F(2), ONE)
    total, share, half = 25 * 500_000 + 12_345, 1 - (1 - 1 / blocks) ** rows, LATTICE.cells // 2
    truth = half + (total / blocks - half) / share
    covered = 0
    for error in np.rint(rng.laplace(0, float(look.mechanism.scale), draws)).astype(int).tolist():
        found, known = sizes.known(combined(values, look, [total + error] * 3, NUMBER, ""), values)
        lower, upper = found.error.bounds(pd.Series([float(point) for point in found.points]), 0.95)
        covered += lower[0] - 1e-6 <= truth <= upper[0] + 1e-6
    assert known == [True] * 3
    wide, narrow = (model.noise.half_width(0.95) * model.step for model in found.error.models[:2])
    assert float(wide) == pytest.approx(float(narrow) / share)
    assert covered >= enough(draws)
    told = "in groups that may have fewer than 125 rows the mean is corrected for the expected share of empty blocks"
    assert found.notes[-1] == told


# ------------------------------------------------------------------------------------------------ shares of few rows
def wards() -> pd.DataFrame:
    return pd.DataFrame({"ward": ["a", "b"] * 500, "sex": ["f", "m", "m", "m"] * 250})


SHARED = {"ward": ["a", "b", "empty"], "sex": ["f", "m"]}


def test_shares_of_a_row_without_rows_have_no_value():
    """Printed were 1.00000 and 0.00000. At this price an empty row shows a number with less than 1e-9."""
    df = protected(wards(), epsilon=10**6)
    table = df.dp(epsilon=40).crosstab("ward", "sex", keys=SHARED, normalize="index")
    assert table.loc[["a", "b"]].notna().all(axis=None)
    assert table.loc["empty"].isna().all()
    assert "\n  no value where a group has too few rows: " in repr(table)
    assert table.interval()["f"].loc["empty"].tolist() == [0, 1]
    over_all = df.dp(epsilon=40).crosstab("ward", "sex", keys=SHARED, normalize="all")
    assert over_all.notna().all(axis=None)
    assert "too few" not in repr(over_all)
    of_columns = df.dp(epsilon=40).crosstab("sex", "ward", keys=SHARED, normalize="columns", margins=True)
    assert of_columns["empty"].isna().all()
    assert of_columns[["a", "b", "All"]].notna().all(axis=None)


def test_shares_of_no_rows_have_no_value():
    df = protected(wards(), epsilon=10**6)
    none = df.dp.query("ward == 'c'").dp(epsilon=40)
    for answer in (
        none.value_counts("sex", keys=["f", "m"], normalize=True),
        none.crosstab("ward", "sex", keys=SHARED, normalize=True),
    ):
        assert np.isnan(answer.to_numpy()).all()
        assert "\n  too few rows for a value: " in repr(answer)
        ends = answer.interval().to_numpy()
        assert set(ends.ravel()) == {0.0, 1.0}
    some = df.dp(epsilon=40).value_counts("sex", keys=["f", "m"], normalize=True)
    assert some.notna().all()
    assert "too few" not in repr(some)


def test_covariances_lines_and_cumulated_shares_of_no_rows_have_no_value():
    """At any price no rows show a number in one of a hundred draws, as they say: five of ten do with 3e-8."""
    df = protected(table(), epsilon=10**6)
    none, some = df.dp.query("cost > 10 ** 6").dp(epsilon=40, fresh=True), df.dp(epsilon=40)
    bounds = {"cost": (0, 100), "age": (0, 120)}
    for ask in (
        lambda d: d.cov(["cost", "age"], bounds=bounds),
        lambda d: d.corr(["cost", "age"], bounds=bounds),
        lambda d: d.linear_regression("cost", ["age"], bounds=bounds),
        lambda d: d.ecdf("cost", bins=[0, 10, 50, 101]),
    ):
        full = ask(some)
        assert full.notna().all(axis=None)
        assert "too few rows" not in repr(full)
        drawn = [ask(none) for _ in range(10)]
        empty = [a for a in drawn if (a.iloc[1:-1] if getattr(a, "name", None) == "ecdf" else a).isna().all(axis=None)]
        assert len(empty) > 5
        assert all("\n  too few rows for a value: " in repr(answer) for answer in empty)
    assert none.ecdf("cost", bins=[0, 101]).tolist() == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("noise", [DiscreteLaplace(F(1, 5)), DiscreteLaplace(F(4)), DiscreteGaussian(F(25))], ids=str)
@pytest.mark.parametrize("cells", [2, 3, 20])
def test_shares_of_few_rows_that_are_shown_hold(noise, cells):
    """Of no rows shares are shown with 1 %; with few, 5 % of those that are shown miss; refused by chance with 1e-6."""
    draws, least = 1500, threshold(SumOf(noise, cells), 1)
    for rows, share in product((0, int(least / 2) + 1, int(least) + 1, int(2 * least)), (0, 0.5)):
        first = round(share * rows)
        noisy = np.array(noise.draw(Exact([first, *[0] * (cells - 2), rows - first] * draws))).reshape(draws, cells)
        shown = [one for one in (Proportions(noise, tuple(row)) for row in noisy.tolist()) if one.known]
        if rows == 0:
            assert stats.binom.sf(len(shown) - 1, draws, 0.01) > 1e-7
            continue
        missed = 0
        for one in shown:
            value = pd.Series([min(max(count / sum(one.counts), 0), 1) for count in one.counts])
            lower, upper = one.bounds(value, 0.95)
            missed += not lower[0] - 1e-9 <= first / rows <= upper[0] + 1e-9
        assert stats.binom.sf(missed - 1, max(len(shown), 1), 0.055) > 1e-7


# ---------------------------------------------------------------------------------------------------- row count not included
def test_lists_and_groups_that_ask_for_no_size_say_so_too():
    dp = protected(months(300), epsilon=1000).dp(epsilon=1)
    for answer in (
        dp.quantile("cost", [0.1, 0.9], bounds=(0, 9000)),
        dp.groupby("month", keys=[1, 12])["cost"].median(bounds=(0, 9000), error_bar=False),
        dp.groupby("month", keys=[1, 12]).mode("month", keys=[1, 12]),
        dp.top_k("month", 2, keys=[1, 2, 12]),
    ):
        assert "; the number of rows is not part of this answer" in repr(answer)
        assert "; the number of rows is not part of this answer" in answer.to_csv()
    known = dp.groupby("month", keys=[1, 12])["cost"].median(bounds=(0, 9000))
    assert "the number of rows is not part of this answer" not in repr(known)


def test_what_asks_for_no_size_says_so():
    df = protected(months(30), epsilon=1000)
    dp = df.dp(epsilon=1).query("month == 12")
    for answer in (
        dp.median("cost", bounds=(0, 9)),
        dp.mode("month", keys=[1, 2]),
        dp.median("cost", bounds=(0, 9), method="smooth"),
    ):
        assert "; the number of rows is not part of this answer" in repr(answer)
    buys = df.dp(epsilon=1).min("cost", bounds=(0, 9))
    assert "the number of rows is not part of this answer" not in repr(buys)
    block = df.dp(epsilon=1).sample_and_aggregate(lambda d: 1.0, bounds=(0, 9))
    assert (
        "the number of rows is not part of this answer: an empty block counts as what the function returns for no rows"
        in block.notes
    )
    told = df.dp(epsilon=1).sample_and_aggregate(lambda d: 1.0, bounds=(0, 9), rows=3000)
    assert not any("the number of rows is not part of this answer" in note for note in told.notes)

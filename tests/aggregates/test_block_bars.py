"""Intervals of medians of block results: a share of the price counts the results between cuts around the drawn one."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
from support.coverage import enough
from support.frames import protected, refused
from support.questions import middle, table

from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.aggregates.base import BAR_SHARE, Terms
from pandas_dp.aggregates.blocks import combined, look_at
from pandas_dp.aggregates.sample_and_aggregate import GroupsOfBlocks, SampleAndAggregate
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.quantiles import cuts
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockMeans, BlockPoints, BlockResults
from pandas_dp.core.statistics.lattice_counts import Points
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import Labels

NUMBER, LATTICE = Kind("number"), Lattice(F(1), 0, 1 << 16)
RELATIONS = [PrivacyUnit(relation=relation) for relation in NeighboringRelation]
GROUPS = Keys("g", ("a", "b", "c"))


def points(values) -> Points:
    offsets, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
    return Points(offsets, counts.astype(np.int64))


# ---------------------------------------------------------------------------------------------------------- coverage
SHAPES = {
    "spread": lambda k: np.random.default_rng(2).gamma(9, 1000, k).astype(np.int64),
    "ties": lambda k: np.random.default_rng(2).gamma(9, 1, k).astype(np.int64) * 1000,
    "half at either bound": lambda k: np.repeat([0, LATTICE.cells], [k // 2, k - k // 2]),
    "one value": lambda k: np.full(k, 31_000),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("blocks", "epsilon"), [(200, 1), (101, 2), (1000, 1)])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_interval_covers_the_median_of_the_block_results(shape, blocks, epsilon):
    """Of 700 draws of noise on fixed results as few are covered with 1e-9 where 0.5 % fewer than the level are."""
    results = np.sort(SHAPES[shape](blocks))
    median = int(results[-(-blocks // 2) - 1])  # the smallest with at least half of them at or below it
    values, draws, covered = BlockResults(len, LATTICE, blocks), 700, {0.8: 0, 0.95: 0}
    look = look_at(values, "median", F(epsilon), RELATIONS[0], error_bar=True)
    exact = Exact([points(results)])
    for _ in range(draws):
        found = combined(values, look, look.mechanism.draw(exact), NUMBER, "")
        for level in covered:
            lower, upper = found.error.bounds(float(found.points[0]), level)
            assert 0 <= lower <= found.points[0] <= upper <= LATTICE.cells
            covered[level] += lower <= median <= upper
    assert all(hits >= enough(draws, level - 0.005) for level, hits in covered.items()), covered


def test_an_interval_is_narrower_than_the_results_are_spread():
    """800 results at epsilon 1: a width above 0.6 of the distance of their quartiles is drawn with less than 5 %, the median of
    30 widths with less than 1e-9; at a quarter of the price they are wider."""
    results = SHAPES["spread"](800)
    values, apart, exact = (
        BlockResults(len, LATTICE, 800),
        np.subtract(*np.quantile(results, [0.75, 0.25])),
        points(results),
    )
    for epsilon, narrow in ((F(1), True), (F(1, 4), False)):
        look, widths = look_at(values, "median", epsilon, RELATIONS[0], error_bar=True), []
        for _ in range(30):
            found = combined(values, look, look.mechanism.draw(Exact([exact])), NUMBER, "")
            lower, upper = found.error.bounds(float(found.points[0]), 0.95)
            widths.append(upper - lower)
        assert (np.median(widths) < 0.6 * apart) == narrow


# ------------------------------------------------------------------------------------------------------------- price
def test_one_result_moves_from_one_cell_to_another():
    """All tables of three results on five points, all of their neighbours, all points that cells are made around."""
    small = BlockPoints(BlockResults(len, Lattice(F(1), 0, 4), 3))
    said = small.sensitivity(RELATIONS[0])
    for rest, one, other, point in product(product(range(5), repeat=2), range(5), range(5), range(5)):
        edges = [-1, *cuts([point], 4), 4]
        cells = [np.histogram([*rest, result], bins=np.array(edges) + 0.5)[0] for result in (one, other)]
        moved = cells[0] - cells[1]
        assert np.abs(moved).sum() <= said.l1 == 2
        assert (moved**2).sum() <= said.l2_squared == 2
        assert np.abs(moved).max() <= said.linf == 1


@pytest.mark.parametrize("unit", [*RELATIONS, PrivacyUnit("u", 4, 2, 3)], ids=str)
def test_the_loss_is_the_price(unit):
    terms = Terms(unit, Price(F(1)))
    assert SampleAndAggregate(len, LATTICE, 200, "median", error_bar=True).loss(terms).epsilon == 1
    of = GroupsOfBlocks(BlockMeans("x", LATTICE, GROUPS, 1), NUMBER, Labels("g", GROUPS.keys), 200, "median", (), True)
    recipe = of.steps(terms)
    looks = [next(recipe), recipe.send([5000] * 3)]
    spent = [look.mechanism.loss(look.statistic.sensitivity(unit)).epsilon for look in looks]
    assert spent == [F(1, 10), F(9, 10)]
    assert of.loss(terms).epsilon == 1


def test_books_and_stored_prices():
    df = protected(table(), epsilon=10)
    answer = df.dp(epsilon=2).sample_and_aggregate(
        middle, bounds=(0, 100), blocks=200, aggregator="median", error_bar=True
    )
    assert df.dp.session.spent == "epsilon=2"
    assert answer.query.call.endswith("blocks=200, aggregator='median', error_bar=True)")


# -------------------------------------------------------------------------------------------------------- what is said
def test_a_median_with_an_error_bar():
    df = protected(table(), epsilon=100)
    dp = df.dp(epsilon=2)
    answer = dp.sample_and_aggregate(middle, bounds=(0, 100), aggregator="median", error_bar=True)
    lower, upper = answer.interval()
    assert 0 <= lower <= answer <= upper <= 100
    assert (
        repr(answer).splitlines()[0].endswith("] (95 %), epsilon 2, of the median of 84 block results")
    )  # 50 without it
    assert (
        "two fifths of the price of medians paid for their error bars; of two middle results the lower one is taken"
        in answer.notes
    )
    alone = dp.sample_and_aggregate(middle, bounds=(0, 100), aggregator="median")
    assert "of the 50 sorted block results" in repr(alone)
    assert "; error_bar=True buys an interval for the value itself)" in repr(alone)
    smooth = dp.sample_and_aggregate(middle, bounds=(0, 100), blocks=20, aggregator="smooth")
    assert "buys" not in repr(smooth)
    few = dp.sample_and_aggregate(middle, bounds=(0, 100), error_bar=True)  # too few rows are known of: a mean
    assert few.interval() is not None
    assert "of the mean of 25 block results" in repr(few)


def test_groups_have_error_bars_unless_told_otherwise():
    frame = pd.DataFrame({"g": np.arange(12_000) % 3, "x": np.random.default_rng(0).gamma(9, 4.3, 12_000)})
    df = protected(frame, epsilon=1000)
    dp = df.dp(epsilon=16)
    true = frame.groupby("g")["x"].mean()
    ask = {"keys": [0, 1, 2, 7], "bounds": (0, 1000), "blocks": 200, "aggregator": "median"}
    barred, plain = dp.groupby_mean_sa("g", "x", **ask), dp.groupby_mean_sa("g", "x", **ask, error_bar=False)
    shown = barred.table()
    assert list(shown.columns) == ["value", "lower", "upper", "size", "enough_rows"]
    assert shown.loc[7, ["lower", "upper"]].tolist() == [0, 1000]
    assert barred.isna().tolist() == [False, False, False, True]
    assert (shown.loc[:2, "upper"] - shown.loc[:2, "lower"]).max() < 5
    assert np.abs(shown.loc[:2, "value"] - true).max() < 3
    assert ", of the median of 200 block means of each group, " in repr(barred)
    assert "places of the median of the 200 sorted block means" in repr(plain)
    functions = dp.groupby("g", keys=[0, 1]).sample_and_aggregate(
        lambda d: float(d["x"].mean()), bounds=(0, 1000), blocks=100, aggregator="median"
    )
    assert "of the median of 100 block results of each group" in repr(functions)


def test_what_an_error_bar_is_not_for_is_refused(monkeypatch):
    df = protected()
    line = r"sample_and_aggregate\(function, bounds=\(0, 9\), aggregator='median', error_bar=True\)"
    for how in (
        {"aggregator": "mean"},
        {"aggregator": "smooth"},
        {"aggregator": "winsorized"},
        {"bounds": {"a": (0, 9)}},
    ):
        with refused(monkeypatch, df, ArgumentValueError, line):
            df.dp(epsilon=1).sample_and_aggregate(lambda d: 1.0, **({"bounds": (0, 9)} | how), error_bar=True)
    with refused(monkeypatch, df, ArgumentValueError, line):
        df.dp(epsilon=1).sample_and_aggregate(lambda d: "a", keys=["a"], aggregator="vote", error_bar=True)
    for ask in (
        lambda d: d.sample_and_aggregate(lambda b: 1.0, bounds=(0, 9), error_bar="yes"),
        lambda d: d.groupby_mean_sa("sex", "age", keys=["f"], bounds=(0, 9), error_bar=1),
        lambda d: d.groupby("sex", keys=["f"]).sample_and_aggregate(lambda b: 1.0, bounds=(0, 9), error_bar=None),
    ):
        with refused(monkeypatch, df, ArgumentTypeError, "error_bar must be True or False"):
            ask(df.dp(epsilon=1))


def test_medians_that_would_be_noise_alone_are_refused_with_an_error_bar_at_a_higher_price(monkeypatch):
    df = protected(epsilon=10)
    how = {"bounds": (0, 9), "blocks": 20, "aggregator": "median"}
    named = []
    for error_bar in (False, True):
        with refused(monkeypatch, df, ArgumentValueError, "with 20 blocks would return noise as wide") as caught:
            df.dp(epsilon=0.5).sample_and_aggregate(lambda d: 1.0, **how, error_bar=error_bar)
        named.append(float(str(caught.value).split("epsilon=")[1].split(")")[0]))
    assert named[1] == pytest.approx(named[0] / float(1 - BAR_SHARE), rel=0.01)


def test_previews():
    df = protected(table(), epsilon=10)
    ahead = df.dp.preview(epsilon=2).sample_and_aggregate(
        middle, bounds=(0, 100), blocks=200, aggregator="median", error_bar=True
    )
    assert "places of the median of the 200 sorted block results" in ahead.error
    assert ahead.error.endswith("; in values not known in advance")
    assert ahead.half_width is None
    answer = df.dp(epsilon=2).sample_and_aggregate(
        middle, bounds=(0, 100), blocks=200, aggregator="median", error_bar=True
    )
    assert ahead.mechanism == answer.mechanism
    groups = df.dp.preview(epsilon=20).groupby_mean_sa("ward", "cost", keys=["A", "B"], bounds=(0, 100), blocks=100)
    assert "places of the median of the 100 sorted block means" in groups.error

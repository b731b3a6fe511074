"""Answers from block results: how many blocks, what notes say, k-means, and which aggregator errs less on real columns."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, protected

from pandas_dp.aggregates.blocks import MOST_BLOCKS, choose, combined, look_at, two_fifths
from pandas_dp.aggregates.sample_and_aggregate import SampleAndAggregate, smith_reach
from pandas_dp.aggregates.vectors import STARTS, Centres, KMeans, starts
from pandas_dp.core.lattice import RANK_BITS, SUM_BITS, Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.quantiles import Quantile
from pandas_dp.core.mechanisms.winsorized import WinsorizedSum
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.blocks import BlockMeans, BlockResults
from pandas_dp.datasets import load_adult
from pandas_dp.engines.pandas import PandasView
from pandas_dp.facts.kinds import Kind

ONE = PrivacyUnit()


# --------------------------------------------------------------------------------------------------------- the rule
@pytest.mark.parametrize(
    ("blocks", "aggregator", "epsilon", "rows", "chosen"),
    [
        (None, "auto", 1, None, (25, "mean")),  # nothing is known
        (None, "auto", 1, 100, (25, "mean")),
        (None, "auto", 1, 999, (50, "mean")),
        (None, "auto", 1, 1000, (100, "median")),
        (None, "auto", 1, 10**6, (252, "median")),  # 10**6 ** 0.4 = 251.2
        (None, "auto", 0.1, 1000, (50, "mean")),
        (None, "median", 1, None, (100, "median")),
        (None, "winsorized", 1, None, (810, "winsorized")),
        (None, "vote", 2, None, (50, "vote")),
        (49, "auto", 1, None, (49, "mean")),
        (50, "auto", 1, None, (50, "median")),
        (7, "winsorized", 1, 10**6, (7, "winsorized")),
        (None, "median", 1e-9, None, (MOST_BLOCKS, "median")),
        (None, "auto", 1e-9, 10**9, (50, "mean")),
    ],
)
def test_choose(blocks, aggregator, epsilon, rows, chosen):
    assert choose(blocks, aggregator, F(str(epsilon)), rows) == chosen


def test_the_number_of_blocks_is_the_same_on_every_machine():
    for rows in [*range(2000), 10**5, 10**10, 3**25, 3**25 + 1]:
        least = two_fifths(rows)
        assert least**5 >= rows**2
        assert rows == 0 or (least - 1) ** 5 < rows**2


def test_public_rows_are_used_where_there_are_some():
    table = pd.DataFrame({"x": np.arange(2000.0)})
    hidden, public = protected(table.copy()), protected(table.copy(), neighbors="replace_one", rows=True)
    first = [
        df.dp(epsilon=1).sample_and_aggregate(lambda d: d["x"].mean(), bounds=(0, 2000)).notes[0]
        for df in (hidden, public)
    ]
    assert first == ["25 blocks, mean of the results", "100 blocks, median of the results"]


# ------------------------------------------------------------------------------------------------------------ notes
def notes(epsilon, **how):
    df = protected(epsilon=10**6)
    release = df.dp(epsilon=epsilon).sample_and_aggregate(lambda d: 5.0, bounds=(0, 10), **how)
    return release, " | ".join(release.notes)


def test_a_useless_mean_says_so():
    """Laplace noise of scale width / (25 epsilon) is within ln(20) of these with 95 %."""
    release, text = notes(1)
    assert "the noise alone is ± 12 % of the bounds (95 %); give rows=, more blocks or a larger epsilon" in text
    assert "(95 %); give more blocks or a larger epsilon" in notes(0.6, rows=200)[1]  # rows= is there already
    assert 0 <= release.interval().lower <= release <= release.interval().upper <= 10
    assert "the noise alone is ± 92 % of the bounds" in notes(0.13)[1]
    assert "noise" not in notes(10)[1]


def test_other_useless_answers_say_so():
    assert "too few blocks for a median: its rank may be off by 29 of 50" in notes(1, blocks=50)[1]
    assert "too few" not in notes(1, blocks=100, aggregator="median")[1]
    assert "too few blocks for their quartiles" in notes(2, blocks=100, aggregator="winsorized")[1]
    assert "too few" not in notes(8, blocks=100, aggregator="winsorized")[1]
    assert "about 2 rows a block" in notes(1, rows=50, blocks=25)[1]
    df = protected()
    vote = df.dp(epsilon=1).sample_and_aggregate(lambda d: "a", keys=["a", "b"], blocks=8, aggregator="vote")
    assert vote.notes[0] == "8 blocks, vote of the results"
    assert not any("too few" in note for note in vote.notes)
    few = df.dp(epsilon=1).kmeans(["age"], k=3, bounds={"age": (0, 120)})
    assert any("the noise alone is ± 36 % of the bounds" in note for note in few.notes)


def test_intervals_are_cut_to_the_bounds_and_hold_the_answer():
    df = protected(epsilon=10**6)
    for epsilon, how in ((0.13, {}), (1, {}), (4, {"blocks": 50, "aggregator": "winsorized"})):
        release = df.dp(epsilon=epsilon).sample_and_aggregate(lambda d: len(d) / 2, bounds=(0, 10), **how)
        ends = release.interval()
        assert ends is None or 0 <= ends.lower <= release <= ends.upper <= 10
    ends = df.dp(epsilon=0.25).kmeans(["age"], k=2, bounds={"age": (20, 30)}).interval()
    assert ends.to_numpy().min() >= 20
    assert ends.to_numpy().max() <= 30


# ------------------------------------------------------------------------------------------------- Winsorized means
def test_a_winsorized_mean_of_equal_results_is_that_result():
    """At epsilon = 10**5 both quartiles are the one point, with chance above 1 - 1e-300."""
    df = protected(epsilon=10**6)
    release = df.dp(epsilon=10**5).sample_and_aggregate(
        lambda d: 7.0, bounds=(0, 10), aggregator="winsorized", blocks=20
    )
    assert release == pytest.approx(7, abs=1e-6)
    assert release.interval() is None
    assert "both private quartiles are equal; their value is the answer" in release.notes


def test_smiths_widening_is_that_of_the_paper():
    """l = mu - 4 rad w with rad = K^(1/3 + 1/10), against Tukey's 1.5 w beyond each quartile."""
    mechanism = WinsorizedSum(F(1), smith_reach(100), 10**6)
    low, high = mechanism.ends(500_000, 500_100)
    radius = 100 ** (13 / 30)
    assert (low, high) == (pytest.approx(500_050 - 400 * radius, abs=1), pytest.approx(500_050 + 400 * radius, abs=1))
    df = protected(pd.DataFrame({"x": np.arange(4000) % 7}), epsilon=10**4)
    halves = []
    for widening in ("tukey", "smith"):
        how = {"aggregator": "winsorized", "blocks": 40, "widening": widening}
        ends = df.dp(epsilon=1000).sample_and_aggregate(lambda d: d["x"].mean(), bounds=(0, 100), **how).interval()
        halves.append(ends.upper - ends.lower)
    assert halves[1] > 3 * halves[0]  # clipped 8 K^(13/30) w wide instead of 4 w, where the bounds leave room


def test_a_note_on_where_a_mean_was_clipped_has_few_digits():
    df = protected(pd.DataFrame({"x": np.arange(4000) % 7}), epsilon=10**4)
    how = {"bounds": (0, 100), "aggregator": "winsorized", "blocks": 40}
    answer = df.dp(epsilon=1000).sample_and_aggregate(lambda d: d["x"].mean(), **how)
    told = re.search(r", of the mean of 40 block results clipped to about \[(.*), (.*)\]$", repr(answer))
    assert all(len(end) <= 7 and 2 < float(end) < 4 for end in told.groups())
    smooth = df.dp(epsilon=1000).sample_and_aggregate(lambda d: 3.0, bounds=(0, 9), blocks=40, aggregator="smooth")
    assert smooth.notes[0] == "40 blocks, smooth median of the results"


def simulated(values, bounds, n, epsilon, method, repeats):
    """Errors of a mean, drawn through the public API on one table."""
    table = pd.DataFrame({"x": values[:n]})
    table.dp.protect(epsilon=10**6, name=fresh())
    dp = table.dp(epsilon=epsilon, fresh=True)
    return np.array([dp.mean("x", bounds=bounds, method=method) - table["x"].mean() for _ in range(repeats)])


@pytest.mark.slow
def test_a_winsorized_mean_wins_in_very_wide_bounds_alone():
    """Normal data, sd 1, 20,000 rows in 810 blocks: the two meet near bounds 15 sqrt(25) = 75 wide.

    At 100,000 and 8 the true ratios of root mean squares are above 100 and below 1/5, so a ratio of 40 runs, whose
    logarithm has a standard deviation below 0.25, crosses 1 with probability below 1e-9.
    """
    values = np.random.default_rng(7).normal(size=20_000)
    for width, better in ((50_000, "winsorized"), (4, "rotated")):
        rms = {
            method: float(np.sqrt((simulated(values, (-width, width), 20_000, 1, method, 40) ** 2).mean()))
            for method in ("winsorized", "rotated")
        }
        assert min(rms, key=lambda method: rms[method]) == better, rms


# ---------------------------------------------------------------------------------- where papers and folklore disagree
ONE_VALUE = Sensitivity(l1=2, l2_squared=2, linf=1)


def test_smiths_private_quantile_without_the_half_costs_twice_its_epsilon():
    """Its exponent epsilon |rank - q K| is a rate of epsilon; replacing one of K values moves a rank by 1 either way."""
    assert Quantile(F(1, 4), F(1), 100).loss(ONE_VALUE).epsilon == 2
    assert Quantile.calibrate(F(1, 4), 100, F(1), ONE_VALUE).rate == F(1, 2)


def test_noise_of_winsorized_means_found_in_circulation():
    """Of the scales (u - l) / (2 eps K) and 2 (u - l) / (eps K) the second pays eps / 2 and the first 2 eps."""
    width, epsilon, blocks = 40, F(1), 10  # sums of K values have K times the scale of means
    moved = Sensitivity(l1=width, l2_squared=width**2, linf=width)
    scales = {"found": width / (2 * epsilon * blocks), "right": 2 * width / (epsilon * blocks)}
    paid = {name: DiscreteLaplace(blocks * scale).loss(moved).epsilon for name, scale in scales.items()}
    assert paid == {"found": 2 * epsilon, "right": epsilon / 2}
    mechanism = WinsorizedSum(epsilon, F(0), 100)
    assert mechanism.noise(10, 50) == DiscreteLaplace(blocks * scales["right"])
    assert mechanism.loss(ONE_VALUE).epsilon == epsilon


# ---------------------------------------------------------------------------------------------------------- k-means
def three_clusters(rows: int, centres: np.ndarray, seed: int, sd: float = 0.3) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    points = centres[generator.integers(0, 3, rows)] + generator.normal(0, sd, (rows, 2))
    return pd.DataFrame(points, columns=["a", "b"])


TRUE = np.array([[2.0, 4.0], [5.0, 1.0], [8.0, 3.0]])
FUNCTION = Centres(("a", "b"), (0.0, 0.0), (10.0, 5.0), 3)


def test_starts_are_public_and_apart():
    for k, d in product((1, 2, 5), (1, 2, 3)):
        points = starts(k, d)
        assert points.shape == (STARTS, k, d)
        assert ((points >= 0) & (points < 1)).all()
        flat = points.reshape(-1, d)
        gaps = np.abs(flat[:, None] - flat[None]).max(axis=2) + np.eye(len(flat))
        assert gaps.min() > 0.4 * len(flat) ** (-1 / d)


def test_centres_of_a_block_are_sorted_and_scaled():
    table = three_clusters(300, TRUE, 1)
    found = np.array(FUNCTION(table)).reshape(3, 2) * [10, 5]
    assert found == pytest.approx(TRUE, abs=0.15)
    shuffled = table.sample(frac=1, random_state=2)
    assert FUNCTION(shuffled) == pytest.approx(FUNCTION(table), abs=1e-9)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_centres_of_small_blocks(rows):
    """Values beyond the bounds are clipped, rows with a missing one left out; a block without rows has no centres."""
    table = pd.DataFrame({"a": [99.0, np.nan, 1.0][:rows], "b": [-np.inf, 1.0, 1.0][:rows]})
    found = FUNCTION(table)
    assert len(found) == (6 if rows else 0)
    assert all(0 <= x <= 1 for x in found)
    if rows:
        assert (1.0, 0.0) in zip(found[::2], found[1::2], strict=True)


def test_kmeans_finds_clusters_that_are_well_apart():
    """600 blocks of 20 rows: a median errs by a few hundredths; 0.5 is beyond its bound on the rank with 1 - 1e-9."""
    df = protected(three_clusters(12_000, TRUE, 3), epsilon=100)
    bounds = {"a": (0, 10), "b": (0, 5)}
    release = df.dp(epsilon=4).kmeans(["a", "b"], k=3, bounds=bounds, rows=12_000)
    assert list(release.columns) == ["a", "b"]
    assert release.to_numpy() == pytest.approx(TRUE, abs=0.5)
    assert release.notes[0] == "150 blocks, the median of each number costs 1/6 of the price"
    again = df.dp(epsilon=4).kmeans(["a", "b"], k=3, bounds=bounds, rows=12_000)
    pd.testing.assert_frame_equal(pd.DataFrame(again), pd.DataFrame(release))  # stored: asked twice, paid once
    assert df.dp.session.spent == "epsilon=4"


def test_smooth_kmeans_finds_clusters_that_are_well_apart():
    """The central one of 150 vectors, so close that its noise is 1/5,000 of the bounds: 0.5 is beyond all six below 1e-6."""
    df = protected(three_clusters(12_000, TRUE, 3, sd=0.03), epsilon=100)
    bounds = {"a": (0, 10), "b": (0, 5)}
    release = df.dp(epsilon=100).kmeans(["a", "b"], k=3, bounds=bounds, blocks=150, aggregator="smooth")
    assert release.to_numpy() == pytest.approx(TRUE, abs=0.5)
    assert release.interval() is None
    assert release.notes[0] == "150 blocks, the central one, with noise that fits them"
    assert df.dp.session.spent == "epsilon=100"


def test_kmeans_shares_epsilon_between_coordinates():
    results = BlockResults(FUNCTION, Lattice.between(F(0), F(1), RANK_BITS), 10, 6, ("a", "b"))
    for relation, aggregator in product(NeighboringRelation, ("mean", "median")):
        look = look_at(results, aggregator, F(3), PrivacyUnit(relation=relation))
        sensitivity = look.statistic.sensitivity(PrivacyUnit(relation=relation))
        assert look.mechanism.loss(sensitivity).epsilon == 3
    assert look.mechanism.rate == F(3, 6) / 2


def test_everything_public_is_in_the_canonical_text():
    one = KMeans(("a",), ((F(0), F(1)),), None, None, "auto", 2)
    others = [
        replace(one, **change)
        for change in (
            {"names": ("b",)},
            {"ranges": ((F(0), F(2)),)},
            {"k": 3},
            {"blocks": 9},
            {"rows": 9},
            {"aggregator": "smooth"},
        )
    ]
    assert len({repr(x) for x in (one, *others)}) == 7
    assert not SampleAndAggregate.stored


# -------------------------------------------------------------------------------- which aggregator errs less, on Adult
REPEATS = 200
COLUMNS = [("age", (0, 200)), ("hours_per_week", (0, 200)), ("education_num", (0, 100))]


def error(view: PandasView, column: str, bounds: tuple[int, int], blocks: int, aggregator: str) -> float:
    """Root mean square error of one aggregator of block means, at epsilon = 1 and the noise that any function needs."""
    lattice = Lattice.between(F(bounds[0]), F(bounds[1]), SUM_BITS if aggregator == "winsorized" else RANK_BITS)
    values = BlockMeans(column, lattice, None, blocks)  # what the function d[column].mean() gives, but faster
    look = look_at(BlockResults(len, lattice, blocks), aggregator, F(1), ONE)
    statistic = replace(look.statistic, means=values)
    true, squares = float(view.column(column)[0].mean()), []
    for _ in range(REPEATS):
        noisy = look.mechanism.draw(statistic.compute(view, ONE))
        (point,) = combined(values, look, noisy, Kind("number"), "").points
        squares.append((float(point) - true) ** 2)
    return math.sqrt(sum(squares) / REPEATS)


@pytest.mark.slow
@pytest.mark.parametrize(("column", "bounds"), COLUMNS, ids=str)
def test_the_rule_on_adult(column: str, bounds: tuple[int, int]):
    """Below K epsilon = 50 the noisy mean errs less than the median, from 100 on the median less than the mean.

    The ratios are 3 and 17 or more. Such a root of a mean of 200 squares has a relative standard deviation of at most
    0.1 (fourth moments of Laplace and uniform laws), a ratio 0.14, so one below 1 is further than five of them.
    """
    view = PandasView(load_adult().head(20_000), {})
    few = {aggregator: error(view, column, bounds, 10, aggregator) for aggregator in ("mean", "median")}
    many = {aggregator: error(view, column, bounds, 150, aggregator) for aggregator in ("mean", "median", "winsorized")}

    assert few["mean"] < few["median"], few
    assert many["median"] < many["mean"], many
    assert many["median"] < many["winsorized"], many

"""What an answer from blocks says is of its blocks: ranks among them, intervals of what is made of them, never of rows."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction as F

import numpy as np
import pytest
from support.coverage import enough
from support.frames import protected
from support.questions import KEYS, NUMBERS, ends, middle, table, ward

from pandas_dp.aggregates.blocks import choose, combined, look_at, rank_of
from pandas_dp.aggregates.uncertainty import RankBound
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Exact
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockResults
from pandas_dp.core.statistics.lattice_counts import Points
from pandas_dp.facts.kinds import Kind

BIG = {"bounds": (0, 100), "blocks": 100}


def ask(epsilon=1, unit=None, **how):
    owned = {} if unit is None else {"unit": unit, "max_rows": 4, "max_groups": 2}
    return protected(table(), **owned).dp(epsilon=epsilon).sample_and_aggregate(middle, **({"bounds": (0, 100)} | how))


def test_the_rank_of_a_median_is_one_among_the_blocks():
    """The rank bound of 100 blocks at epsilon 1 is (ln(100 * 2^10 + 1) + ln 20) * 2 = 29.1, whatever the number of rows."""
    answer = ask(**BIG, aggregator="median")
    assert "(within 30 places of the median of the 100 sorted block results, 95 %; error_bar" in repr(answer)
    known = answer.interval()
    assert (known.blocks, round(known.rows, 1)) == (100, 29.1)
    assert known.places == "rank: position among the 100 sorted block results; a median between percentiles 20 and 80"
    assert json.loads(answer.to_json())["interval"] == {"level": 0.95, "rank_within": known.rows, "of_blocks": 100}
    assert known.places in answer._repr_html_()
    assert RankBound(60.5, 0.95, blocks=100).places.endswith("between percentiles 0 and 100")


def test_ranks_of_medians_of_groups_and_of_several_numbers_are_ones_among_blocks():
    dp = protected(table(), epsilon=100).dp(epsilon=10)
    groups = dp.groupby_mean_sa(
        "ward", "cost", keys=KEYS, bounds=(0, 100), blocks=60, aggregator="median", error_bar=False
    )
    several = dp.sample_and_aggregate(ends, bounds={"low": (0, 9), "high": (0, 200)}, blocks=60, aggregator="median")
    clusters = dp.kmeans(["age", "cost"], k=2, bounds=NUMBERS, blocks=120, aggregator="median")
    for answer, what in (
        (groups, "60 sorted block means"),
        (several, "60 sorted block results"),
        (clusters, "120 sorted block results"),
    ):
        assert f"places of the median of the {what}" in repr(answer)


def test_an_interval_is_of_what_is_made_of_the_blocks():
    assert repr(ask(aggregator="mean")).splitlines()[0].endswith("epsilon 1, of the mean of 25 block results")
    dp = protected(table(), epsilon=100).dp(epsilon=10)
    clusters = dp.kmeans(["age"], k=2, bounds={"age": (0, 120)}, aggregator="mean")
    assert "95 % intervals, epsilon 10, of the mean of 25 block results, sample and aggregate" in repr(clusters)
    groups = dp.groupby_mean_sa("ward", "cost", keys=KEYS, bounds=(0, 100), blocks=50, aggregator="mean")
    assert "95 % intervals, epsilon 10, of the mean of 50 block means of each group, sample" in repr(groups)
    assert ", of the mean of 50 block means of each group, " in groups.to_csv().splitlines()[0]


def test_the_gap_of_a_vote_is_one_of_votes():
    vote = protected(table()).dp(epsilon=1).sample_and_aggregate(ward, keys=KEYS, aggregator="vote")
    assert f"(its count is within {np.ceil(2 * np.log(60)):.0f} of the largest, of 100 votes, 95 %)" in repr(vote)


# -------------------------------------------------------------------------------------------------- Winsorized means
def test_a_winsorized_interval_is_of_results_cut_and_of_enough_blocks():
    """8 / 8 (ln(100 * 2^24 + 1) + ln 40) is 24.9 for two quartiles: less than a quarter of 100 blocks, not of 99."""
    many, few = (ask(8, aggregator="winsorized", blocks=blocks) for blocks in (100, 99))
    if many.interval() is not None:  # otherwise both quartiles are one point
        assert ", epsilon 8, of the mean of 100 block results clipped to about [" in repr(many).splitlines()[0]
    assert few.interval() is None
    assert "(no interval known)" in repr(few)
    assert "of the mean of 99 block results clipped to about [" in repr(few).splitlines()[0]
    (why,) = (note for note in few.notes if "too few blocks for their quartiles" in note)
    assert why.startswith("no interval: too few blocks for their quartiles, whose ranks may be off by 25 of 99; ")
    assert f"\n  {why}" in repr(few)
    assert not any("too few blocks" in note for note in many.notes)


@pytest.mark.parametrize("width", [2.0**30, 2.0**31 - 1])
def test_blocks_of_a_winsorized_mean_are_enough_for_its_quartiles_on_every_lattice(width):
    lattice = Lattice(F(1), 0, int(width))
    blocks, _ = choose(None, "winsorized", F(1), None)
    look = look_at(BlockResults(len, lattice, blocks), "winsorized", F(1), PrivacyUnit())
    assert rank_of(look.mechanism, BlockResults(len, lattice, blocks)).within(0.975) < blocks / 4


def test_a_winsorized_interval_covers_the_mean_of_what_was_cut():
    """The mean of the block results, cut to the ends that are told: refused by chance with 1e-9, passed so at 80 %."""
    results = np.random.default_rng(1).gamma(2, 1000, 400).astype(np.int64)
    values = BlockResults(len, Lattice(F(1), 0, 2**16), 400)
    look, exact = (
        look_at(values, "winsorized", F(2), PrivacyUnit()),
        Exact([Points(*np.unique(results, return_counts=True))]),
    )
    covered, draws = 0, 800
    for _ in range(draws):
        noisy = look.mechanism.draw(exact)
        found = combined(values, look, noisy, Kind("number"), "")
        low, high = look.mechanism.ends(*noisy[:2])
        truth = results.clip(low, high).mean()
        lower, upper = found.error.bounds(float(found.points[0]), 0.95)
        covered += lower - 1e-6 <= truth <= upper + 1e-6
        assert found.of == f"of the mean of 400 block results clipped to about [{low:.6g}, {high:.6g}]"
    assert covered >= enough(draws)


# --------------------------------------------------------------------------------------------------------- whose rows
def test_of_units_all_rows_are_told_to_count():
    """Blocks hold whole units: no row of a unit with more than max_rows is left out."""
    told = "all rows of each 'uid' are used, in one block; rows without 'uid' are not used; intervals do not cover dropped rows"
    assert told in ask(unit="uid").notes
    df = protected(table(), unit="uid", max_rows=4, max_groups=2)
    for answer in (
        df.dp(epsilon=1).sample_and_aggregate(ward, keys=KEYS, aggregator="vote"),
        df.dp(epsilon=1).kmeans(["age"], k=1, bounds={"age": (0, 120)}),
    ):
        assert told in answer.notes
        assert not any("at most 4 rows" in note for note in answer.notes)
    groups = df.dp(epsilon=1).groupby_mean_sa("ward", "cost", keys=KEYS, bounds=(0, 100))
    assert told.replace("in one block", "in one block of each of at most 2 groups") in groups.notes
    assert "at most 4 rows" not in str(df.dp.preview(epsilon=1).kmeans(["age"], k=1, bounds={"age": (0, 120)}))


def test_pickled_bounds_of_earlier_days_are_of_rows():
    kept = RankBound(280.0, 0.95)
    state = pickle.loads(pickle.dumps(kept))
    del state.__dict__["blocks"]
    assert state.words == "within 280 rows of the true quantile"
    assert state.places == kept.places


@pytest.mark.one_in(2)
@pytest.mark.parametrize("aggregator", ["median", "mean", "vote", "winsorized"])
def test_no_text_of_blocks_speaks_of_ranks_of_rows(aggregator):
    function, how = (ward, {"keys": KEYS}) if aggregator == "vote" else (middle, {"bounds": (0, 100)})
    dp = protected(table(), epsilon=10).dp(epsilon=5)
    answer = dp.sample_and_aggregate(function, aggregator=aggregator, blocks=200, **how)
    text = repr(answer) + answer._repr_html_() + answer.to_csv()
    assert "of the true" not in text
    assert "among the sorted rows" not in text
    assert "200 " in repr(answer)

"""What a reviewer found in groups by several columns, in tables by two and in questions of each group."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected

from pandas_dp.aggregates.base import Answer, Terms
from pandas_dp.aggregates.count import listed
from pandas_dp.aggregates.cross_tables import Share
from pandas_dp.aggregates.quantiles import GroupModes, QuantileOf
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.quantiles import TIES, spread_of_row
from pandas_dp.core.partition import Bins, Cross, Keys
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import Labels

BIG = 10**4  # at this price a count is off by one with probability below 1e-4000
LATTICE = Lattice.between(F(0), F(100), 16, F(1))
TERMS = Terms(PrivacyUnit(), Price(F(1)))
WHOLE = [2**53, 2**53 + 1]  # one float


def many() -> pd.DataFrame:
    """Account numbers that no float tells apart, in an object column."""
    cells = [*WHOLE, WHOLE[1], 0.5]
    frame = pd.DataFrame({"id": pd.Series(cells, dtype=object), "sex": ["f", "m", "f", "f"], "age": [1, 2, 3, 4]})
    return protected(frame, epsilon=10**6)


@pytest.mark.parametrize("beside", [{"keys": [*WHOLE, 0.5]}, {"keys": WHOLE, "null": True}])
def test_large_whole_numbers_beside_floats_keep_their_labels(beside):
    """As floats two labels became one: single levels had it twice, several levels failed when the price was spent."""
    df = many()
    sizes = df.dp(BIG).groupby("id", **beside).size()
    assert sizes.index.tolist()[:2] == WHOLE
    assert [type(label) for label in sizes.index[:2]] == [int, int]
    assert sizes.tolist() == [1, 2, 1 if "null" not in beside else 0]
    both = {"keys": {"id": beside["keys"], "sex": ["f", "m"]}, "null": "null" in beside}
    pairs = df.dp(BIG).groupby(["id", "sex"], **both).size()
    assert pairs[WHOLE[1], "f"] == pairs[WHOLE[1], "m"] == 1
    table = df.dp(BIG).crosstab("sex", "id", margins=True, **both)
    assert table.columns.tolist()[:2] == WHOLE
    assert table.interval().shape[1] == 2 * table.shape[1]
    modes = df.dp(BIG).groupby("sex", keys=["f", "m"]).mode("id", keys=[*WHOLE, 0.5])
    assert modes["m"] == WHOLE[1]


def test_small_whole_numbers_beside_floats_are_floats_as_ever():
    labels = many().dp(BIG).groupby("id", keys=[1, 2, 0.5]).size().index
    assert labels.dtype == "float64"
    assert many().dp(BIG).groupby("id", keys=WHOLE).size().index.dtype == "int64"


@pytest.mark.parametrize(
    ("zone", "days"),
    [
        (
            "America/Sao_Paulo",
            pd.period_range("2013-10-18", "2013-10-22", freq="D"),
        ),  # 20 October starts at one o'clock
        ("America/Sao_Paulo", pd.period_range("2013-10-18", "2013-10-19", freq="D")),  # ends where that hour is skipped
        ("America/Sao_Paulo", pd.period_range("2013-02-15", "2013-02-16", freq="D")),  # the last hour comes twice
        ("Europe/Berlin", pd.period_range("2013-03-30", "2013-04-01", freq="D")),
    ],
)
def test_days_whose_first_hour_the_clocks_skip(zone, days):
    stamps = pd.date_range(days[0].start_time - pd.Timedelta("2D"), periods=400, freq="30min", tz="UTC").tz_convert(
        zone
    )
    df = protected(pd.DataFrame({"when": stamps}), epsilon=10**6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas: periods have no time zone
        exact = stamps.tz_localize(None).to_period("D").value_counts()
    sizes = df.dp(BIG).groupby("when", bins=days).size()
    assert sizes.tolist() == [exact.get(day, 0) for day in days]


@pytest.mark.parametrize(
    ("frequency", "first", "zone", "match"),
    [
        ("B", "2013-01-01", None, "follow one another without gaps: df.dp.0.1..groupby"),
        ("M", "3013-01", None, "between 1678 and 2261: df.dp.0.1..groupby"),
        ("M", "2261-12", None, "between 1678 and 2261"),
        ("h", "2013-11-03 00:00", "America/New_York", "clocks of 'America/New_York' show twice"),
        ("h", "2013-03-10 00:00", "America/New_York", "strictly ascending order"),
    ],
)
def test_periods_that_are_no_bins_cost_nothing(frequency, first, zone, match):
    """Business days counted the weekend as Friday; far ones ended in an error of pandas."""
    df = protected(pd.DataFrame({"when": pd.Series(dtype=f"datetime64[ns, {zone}]" if zone else "datetime64[ns]")}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas: business days will go
        periods = pd.period_range(first, periods=6, freq=frequency)
        with pytest.raises(ArgumentValueError, match=match):
            df.dp(0.1).groupby("when", bins=periods).size()
    assert df.dp.session.spent == "epsilon=0"


def test_a_table_of_few_groups_among_very_many_combinations_is_counted():
    """A note about the counts went through all 27e9 combinations: no memory holds them, and the price was spent."""
    most = 3000
    frame = pd.DataFrame({"a": range(most), "b": range(most), "c": range(most)})
    df = protected(frame.copy(), epsilon=10**6)
    sizes = df.dp(BIG).groupby(["a", "b", "c"], keys=frame).size()
    assert sizes.tolist() == [1] * most


def test_which_parts_of_a_cross_are_listed():
    sex, age = Keys("sex", ("f", "m"), null=True), Bins("age", (0, 1), other=True)
    assert listed(Cross((sex, age))).tolist() == [True, False, True, False, False, False]
    assert listed(Cross((sex, age), (5, 2, 3, 0))).tolist() == [False, True, False, True]


def test_many_levels_of_many_groups_are_refused_at_no_cost():
    """A hundred thousand groups by a hundred levels: what no memory holds must not be paid first."""
    df = protected(pd.DataFrame({"a": [1, 2], "b": [1, 2], "v": [1.0, 2.0]}))
    groups = df.dp(0.1).groupby(["a", "b"], keys={"a": range(1000), "b": range(100)})
    with pytest.raises(ArgumentValueError, match="10,000,000 combinations are more than"):
        groups["v"].quantile([level / 100 for level in range(100)], bounds=(0, 1))
    assert df.dp.session.spent == "epsilon=0"


def question(*levels: str) -> QuantileOf:
    groups = Keys("g", ("a", "b"))
    return QuantileOf("x", tuple(map(F, levels)), LATTICE, Kind("number"), False, groups, Labels("g", ("a", "b")))


def answered(asked: QuantileOf, *draws: list[int]) -> Answer:
    """The answer to what the looks are said to have drawn."""
    steps = asked.steps(TERMS)
    next(steps)
    try:
        for drawn in draws:
            steps.send(drawn)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it looks more often than that")


def test_two_levels_of_each_group_rise():
    """Two looks may cross: their answers are sorted within each group, and stand beside the levels in the asked order."""
    found = answered(question("0.9", "0.2"), [10, 30], [20, 5])  # of groups a and b, for 0.9 and then for 0.2
    assert found.value.index.tolist() == [("a", 0.9), ("a", 0.2), ("b", 0.9), ("b", 0.2)]
    assert found.value.tolist() == [20.0, 10.0, 30.0, 5.0]


def test_the_bound_on_ranks_is_that_of_the_worst_level():
    """Of two levels that are asked one by one, 0.9 has the lower rate: rows count 1.8 times as much as for 0.5."""
    found = answered(question("0.5", "0.9"), [1, 2], [1, 2]).error
    assert found.rate == pytest.approx(0.5 / 1.8)
    assert found.log_candidates == pytest.approx(math.log(LATTICE.cells + 1))


def test_the_bound_on_ranks_of_a_recursion_holds_for_all_choices_on_the_way():
    levels = [str(i / 10) for i in range(1, 10)]
    found = answered(question(*levels), list(range(18)))
    assert found.mechanism == "exponential mechanism on ranks, recursive"
    ways = TIES * math.log(2) + math.log(4)  # nine levels are at most four choices deep
    assert found.error.log_candidates == pytest.approx(math.log(LATTICE.cells + 1) + ways)
    assert found.error.rate < 1 / 4 / max(spread_of_row(F(1, 2)), 1)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_a_group_holds_no_more_rows_of_a_unit_than_count_in_all(relation):
    """Otherwise a bound of rows in a group above that of all rows would buy noise for rows that cannot be."""
    unit = PrivacyUnit("u", rows=2, groups=2, rows_per_group=5, relation=relation)
    found = LatticeCounts("x", LATTICE, Keys("g", ("a", "b", "c"))).sensitivity(unit)
    assert found.linf == 2
    assert found.score_range == (2 if unit.add_remove else 4)


@pytest.mark.parametrize("cells", [(1, 2), (1, 12), (4, 12)])
def test_the_ends_of_a_share_are_where_its_distance_is_that_of_the_noise(cells):
    """At either end p the noise C - p T, of length sqrt(n (1 - p)^2 + (m - n) p^2), is as large as it gets."""
    (n, m), noise = cells, DiscreteLaplace(F(20))
    share = Share(3000, 10_000, cells, noise)
    t = noise.combined(0.9) / 10_000
    for p in share.bounds(share.value, 0.9):
        assert 0 < p < 1
        assert abs(share.value - p) == pytest.approx(t * math.sqrt(n * (1 - p) ** 2 + (m - n) * p**2))


KEYS = {"sex": ["f", "m"], "city": ["x", "y", "z"]}
OF_PAY = [
    lambda d: d.groupby(["sex", "city"], keys=KEYS)["pay"].mean(bounds=(0, 1)),
    lambda d: d.groupby(["sex", "city"], keys=KEYS)["pay"].var(bounds=(0, 1)),
    lambda d: d.groupby(["sex", "city"], keys=KEYS)["pay"].median(bounds=(0, 1)),
    lambda d: d.groupby(["sex", "city"], keys=KEYS)["pay"].mode(keys=[0, 1]),
    lambda d: d.groupby(["sex", "city"], keys=KEYS)["pay"].histogram(bins=[0, 1]),
    lambda d: d.groupby(["sex", "city"], keys=KEYS).count("pay"),
    lambda d: d.pivot_table("pay", "sex", "city", keys=KEYS, bounds=(0, 1)),
    lambda d: d.pivot_table("pay", "sex", "city", keys=KEYS, aggfunc="count"),
]


@pytest.mark.parametrize("ask", OF_PAY[:2] + OF_PAY[4:])  # of empty groups a median and a mode are drawn at random
@pytest.mark.parametrize("changed", ["sex", "city", "pay"])
def test_groups_of_a_changed_column_are_those_that_were_protected(ask, changed):
    """What the frame holds by now is not looked at: whether it is the same is private."""
    df = protected(people(), epsilon=10**6)
    before = ask(df.dp(10**4))
    df[changed] = df[changed].to_numpy()[::-1].copy()
    after = ask(df.dp(10**4, fresh=True))
    pd.testing.assert_index_equal(before.index, after.index)
    both = np.stack([np.asarray(frame, dtype=float) for frame in (before, after)])
    assert np.nanmax(np.abs(both[0] - both[1]), initial=0) < 1e-2


def test_one_column_of_the_frame_makes_a_table_of_its_rows():
    df = protected(people())
    for own in ("sex", "city"):
        public = df[["sex", "city"]].assign(**{own: list("abcdefgh")})
        with pytest.raises(ArgumentValueError, match="keys must be public"):
            df.dp(0.1).groupby(["sex", "city"], keys=public)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("bounds", [(1, 1, 1), (2, 2, 1), (3, 2, 2), (6, 2, 2)])
@pytest.mark.parametrize("pure", [True, False])
def test_questions_of_groups_cost_what_was_offered(relation, bounds, pure):
    """Not a part of it, nor more: the loss of a choice follows from its rate, so a wrong rate would be charged as such."""
    terms = Terms(PrivacyUnit("u", *bounds, relation=relation), Price(F(1)), pure)
    groups, keys = Keys("g", ("a", "b", "c")), Keys("x", (1, 2))
    assert GroupModes(Cross((groups, keys)), keys, Labels("g", groups.keys)).loss(terms).epsilon == 1
    for levels in (("0.5",), ("0", "1"), ("0.1", "0.9"), tuple(str(i / 10) for i in range(1, 10))):
        assert question(*levels).loss(terms).epsilon == 1


def test_modes_of_groups_err_as_modes_of_as_many_keys():
    """Of three groups, each chooses among its two keys: 1 / rate times ln 2 + ln 20 rows."""
    frame = pd.DataFrame({"g": list("abc"), "x": [1, 2, 1]})
    modes = protected(frame).dp(1).groupby("g", keys=list("abc")).mode("x", keys=[1, 2])
    assert modes.interval(0.95).score == pytest.approx(math.log(2) + math.log(20))


def test_more_combinations_with_a_further_column_than_can_be_numbered_are_refused():
    columns = list("abcdef")
    df = protected(pd.DataFrame({**{name: [1, 2] for name in columns}, "x": [1, 2]}))
    groups = df.dp(0.1).groupby(columns, keys=pd.DataFrame({name: range(1000) for name in columns}))
    for ask in (lambda: groups.mode("x", keys=range(10)), lambda: groups.histogram("x", bins=range(11))):
        with pytest.raises(ArgumentValueError, match="combinations of its values"):
            ask()
    assert df.dp.session.spent == "epsilon=0"

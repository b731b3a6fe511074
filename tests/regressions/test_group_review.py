"""What a reviewer found in groups by several columns, in tables by two and in questions of each group."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest
from support.frames import protected

from pandas_dp.errors import ArgumentValueError

BIG = 10**4  # at this price a count is off by one with probability below 1e-4000
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
        ("B", "2013-01-01", None, "follow one upon another, without gaps"),
        ("M", "3013-01", None, "between 1678 and 2261: groupby"),
        ("M", "2261-12", None, "between 1678 and 2261"),
        ("h", "2013-11-03 00:00", "America/New_York", "clocks of 'America/New_York' show twice"),
        ("h", "2013-03-10 00:00", "America/New_York", "rise from edge to edge"),
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

"""Regressions: what an answer says of itself: its labels, its file, its error bar, its cautions."""

from __future__ import annotations

import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp.errors import ArgumentTypeError

SURE = {"epsilon": 200}  # Laplace noise of a count is 0 but with a chance of e^-200


def protected(data: dict[str, object], **terms: object) -> pd.DataFrame:
    frame = pd.DataFrame(data)
    frame.dp.protect(epsilon=10**6, name=fresh(), **terms)
    return frame


# ------------------------------------------------------------------------------------------------------------- the last bin
@pytest.mark.parametrize("ages", [[70.0] * 100 + [90.0] * 55, [70] * 100 + [90] * 55], ids=["float", "int"])
def test_the_last_bin_counts_what_its_label_says(ages):
    frame = protected({"age": ages})
    asked = frame.dp(**SURE)
    found = asked.histogram("age", bins=[0, 65, 90])
    assert found.tolist() == [0, 100]
    assert (
        found.to_dict()
        == frame["age"].groupby(pd.cut(frame["age"], [0, 65, 90], right=False), observed=False).size().to_dict()
    )
    assert all(found[bin_] == sum(age in bin_ for age in ages) for bin_ in found.index)
    assert asked.groupby("age", bins=[0, 65, 90]).size().tolist() == [0, 100]
    assert asked.histogram("age", bins=[0, 65, 90], other=True).tolist() == [0, 100, 55]


def test_the_index_of_a_histogram_is_bins_of_another():
    days = pd.date_range("2024-01-01", periods=90, tz="Europe/Berlin")
    frame = protected({"age": [70.5] * 90, "day": days})
    asked = frame.dp(**SURE)
    for column, edges in (("age", [0, 65.5, 90]), ("day", pd.to_datetime(["2024-01-01", "2024-03-01"]))):
        found = asked.histogram(column, bins=edges if column == "age" else edges.tz_localize(days.tz))
        again = asked.histogram(column, bins=found.index)
        assert again.equals(found)
        assert str(again.query) == str(found.query)
        planned = pandas_dp.query(**SURE).histogram(column, bins=found.index)
        assert type(planned).from_dict(planned.to_dict())(frame).equals(found)
    ages = asked.groupby("age", bins=pd.IntervalIndex.from_breaks([0, 65, 90], closed="left")).size()
    assert ages.tolist() == [0, 90]


@pytest.mark.parametrize(
    "bins",
    [
        pd.IntervalIndex.from_breaks([0, 65, 90]),
        pd.IntervalIndex.from_tuples([(0, 10), (20, 30)], closed="left"),
        pd.IntervalIndex.from_tuples([(0, 10), None, (10, 30)], closed="left"),
        pd.IntervalIndex.from_breaks([0], closed="left"),
    ],
    ids=["closed on the right", "with gaps", "missing", "empty"],
)
def test_other_intervals_are_refused_with_the_line(bins):
    frame = protected({"age": [70.0] * 100})
    with pytest.raises(ArgumentTypeError, match=r"each begins where the one before it ends.*bins=range"):
        frame.dp(**SURE).histogram("age", bins=bins)
    assert frame.dp.session.left == "epsilon=1000000"


def test_months_hold_the_last_instant_and_not_the_next():
    frame = protected({"t": pd.to_datetime(["2013-02-28 23:59:59.999999999", "2013-03-01"], format="ISO8601")})
    months = frame.dp(**SURE).groupby("t", bins=pd.period_range("2013-01", "2013-02", freq="M")).size()
    assert months.tolist() == [0, 1]

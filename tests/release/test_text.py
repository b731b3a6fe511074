"""The words and digits of a release, in the terminal and in a notebook."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.count import Count
from pandas_dp.aggregates.uncertainty import Additive, Interval, NoError, RankBound
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import Price, PrivacyUnit
from pandas_dp.release.text import describe
from tests.support.frames import fresh
from tests.support.releases import (
    EVERY,
    EXAMPLES,
    NOISE,
    RANKS,
    SCORES,
    a_float,
    a_series,
    an_int,
    release,
)

CUT = Additive(DiscreteLaplace(Fraction(1)), within=(Fraction(0), Fraction(10)))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (an_int, "48,210 ± 150 (95 %), epsilon 0.2"),
        (a_float, "1,235 ± 15 (95 %), epsilon 0.2"),
        (lambda: release(7, NoError(), spent="nothing"), "7 (exact), nothing spent"),
        (lambda: release(37.0, RANKS), "37 (within 280 rows of the true quantile, 95 %), epsilon 0.2"),
        (lambda: release("ICU", SCORES), "'ICU' (its count is within 20 of the largest, 95 %), epsilon 0.2"),
        (lambda: release(1234.5678), "1,234.57 (no interval known), epsilon 0.2"),
        (lambda: release(True), "True (no interval known), epsilon 0.2"),
        (lambda: release(3, Additive(DiscreteLaplace(Fraction(1)))), "3 ± 3 (95 %), epsilon 0.2"),
        (lambda: release(3, Additive(DiscreteLaplace(Fraction(1, 99)))), "3 ± 0 (95 %), epsilon 0.2"),
        (lambda: release(5.0, CUT), "5.0 ± 3.0 (95 %), epsilon 0.2"),
        (lambda: release(9.0, CUT), "9.0 [6.0, 10.0] (95 %), epsilon 0.2"),
        (lambda: release(0.0, CUT), "0.0 [0.0, 3.0] (95 %), epsilon 0.2"),
        (
            lambda: release(12.3456, Additive(NOISE, Fraction(1, 10**5)), spent="epsilon=0.2, delta=0.1"),
            "12.3456 ± 0.0015 (95 %), epsilon 0.2, delta 0.1",
        ),
        (
            lambda: release(0.001, Additive(NOISE), lineage="vouched"),
            "0 ± 150 (95 %), epsilon 0.2, on the owner's word",
        ),
        (lambda: release(5, assumes="L1 = 3"), "5 (no interval known), epsilon 0.2, assumes L1 = 3"),
    ],
)
def test_repr_of_scalars(made, text):
    assert repr(made()) == text


@pytest.mark.parametrize(
    ("value", "ends", "text"),
    [
        (38.441, (37.849, 39.051), "38.44 [37.84, 39.06]"),
        (0.05, (0.0, 0.123), "0.050 [0.000, 0.123]"),
        (1e20, (0.9e20, 1.1e20), "1e+20 [9e+19, 1.1e+20]"),
        (2.5, (2.5, 2.5), "2.5 [2.5, 2.5]"),
        (-0.001, (-90.0, 90.0), "0 [-90, 90]"),
    ],
)
def test_digits_follow_the_noise_and_ends_round_outward(value, ends, text):
    assert describe(value, Interval(*ends, 0.95), None) == f"{text} (95 %)"


def test_repr_of_dates_and_durations():
    day = pd.Timestamp("2013-03-05 10:22:31", tz="Europe/Berlin")
    shown = {
        "30 days": "2013-03-05 [2013-02-03, 2013-04-04]",
        "2 h": "2013-03-05 10:22+01:00 [2013-03-05 08:22+01:00, 2013-03-05 12:22+01:00]",
    }
    for half, text in shown.items():
        ends = (day - pd.Timedelta(half), day + pd.Timedelta(half))
        assert describe(day, Interval(*ends, 0.95), None) == f"{text} (95 %)"
    assert repr(EXAMPLES["duration"]()) == "1.500 ± 0.042 h (95 %), epsilon 0.2"


def test_repr_of_vectors():
    lines = repr(a_series()).splitlines()
    assert lines[0].split() == ["value", "lower", "upper"]
    assert lines[2].split() == ["a", "10", "-140", "160"]
    assert lines[-1] == "95 % intervals, epsilon 0.2, discrete Laplace"
    assert repr(release(pd.Series([1]), NoError(), spent="nothing")).endswith("exact, nothing spent, discrete Laplace")
    assert "each: within 280 rows of the true quantile (95 %), epsilon" in repr(release(pd.Series([1]), RANKS))
    assert "no interval known, epsilon 0.2" in repr(release(pd.Series([1.5])))
    assert len(repr(release(pd.Series(range(10_000)), Additive(NOISE)))) < 10_000


@EVERY
def test_html_is_there(make):
    html = make()._repr_html_()
    assert html.startswith("<div>")
    assert "epsilon 0.2" in html
    assert "a note" in html


def test_html_escapes_everything():
    evil = "<script>alert(1)</script>"
    index = pd.Index([evil, "b"], name=f"{evil}index")
    series = pd.Series([evil, "x"], index=index, name=evil)
    releases = [
        release(evil, SCORES, notes=(evil,), assumes=evil, mechanism=evil),
        release((evil, 1)),
        release(series, notes=(evil,)),
        release(pd.Series([1, 2], index=index), Additive(NOISE), extras=(pd.Series([evil] * 2, name=evil),)),
        release(series.to_frame(), unit=PrivacyUnit(evil, 2)),
        release(5, query=AskedQuery(f"mean('{evil}')", Count(), (), Price(Fraction(1)))),
        release(pd.Series([1, 2], index=pd.MultiIndex.from_tuples([(evil, 1), ("b", 2)], names=[evil, None]))),
    ]
    for made in releases:
        html = made._repr_html_()
        assert "<script" not in html
        assert "&lt;script" in html


def test_a_rank_is_told_in_percentiles_of_a_made_up_number_of_rows():
    html = release(50.0, RANKS)._repr_html_()
    assert RANKS.at(0.95).places in html
    assert RankBound(412, 0.95).places.startswith("rank: position among the sorted rows; of 10,000 rows 412 are 4.12 %")
    assert RankBound(412, 0.95).places.endswith("between percentiles 45.9 and 54.1")


def test_found_keys_say_what_is_known_of_them():
    df = pd.DataFrame({"city": ["x"] * 500})
    df.dp.protect(epsilon=1, delta=1e-5, name=fresh())
    shown = repr(df.dp(epsilon=0.5, delta=1e-6).unique("city"))
    assert "every listed key occurs in the data; rare keys may be missing, epsilon 0.5" in shown

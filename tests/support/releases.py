"""Releases of every kind, built by hand."""

from __future__ import annotations

import decimal
from fractions import Fraction

import pandas as pd
import pytest

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Answer, Guarantee
from pandas_dp.aggregates.count import Count
from pandas_dp.aggregates.uncertainty import Additive, RankBound, Ratio, ScoreGap
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.facts.kinds import Kind
from pandas_dp.release.values import (
    FloatRelease,
    FrameRelease,
    IntRelease,
    ObjectRelease,
    Provenance,
    Release,
    SeriesRelease,
    make_release,
)

NOISE = DiscreteLaplace(Fraction(50))  # half-width 150 at 95 %
RANKS = Guarantee(RankBound, 11.0, 0.05)
SCORES = Guarantee(ScoreGap, 3.0, 0.3)


def release(value, error=None, price=Price(Fraction(1, 5)), **changes) -> Release:  # noqa: B008 - frozen
    facts = {
        "query": AskedQuery("count()", Count(), (), price),
        "mechanism": "discrete Laplace",
        "unit": PrivacyUnit("pid", 3, 2, 2, NeighboringRelation.REPLACE_ONE),
        "lineage": "source",
        "error": error,
        "notes": ("a note",),
        "extras": (),
        "spent": "epsilon 0.2",
    }
    answer = Answer(value, "discrete Laplace", error)
    return make_release(answer, Provenance(**(facts | changes)))


def a_float() -> FloatRelease:
    return release(1234.56, Additive(NOISE, Fraction(1, 10)))


def an_int() -> IntRelease:
    return release(48213, Additive(NOISE))


def a_series(**changes) -> SeriesRelease:
    series = pd.Series([10, 20, 30], index=pd.Index(["a", "b", "c"], name="ward"), name="n")
    return release(series, Additive(NOISE), **changes)


def a_frame() -> FrameRelease:
    return release(pd.DataFrame({"x": [1.5, 2.5], "n": [3, 4]}, index=["a", "b"]), Additive(NOISE))


def a_date() -> ObjectRelease:
    lattice = Lattice.between(Fraction(pd.Timestamp("2013-01-01").value), Fraction(10**18 * 2), 20)
    error = Ratio(((10**5, 9 * 10**5),), DiscreteLaplace(Fraction(10)), lattice, Kind("datetime"))
    return release(Kind("datetime").value(lattice.lower + lattice.width / 10), error)


EXAMPLES = {
    "float": a_float,
    "int": an_int,
    "text": lambda: release("ICU", SCORES),
    "series": a_series,
    "frame": a_frame,
    "date": a_date,
    "duration": lambda: release(pd.Timedelta("90 min"), Additive(NOISE, Fraction(10**9), Kind("timedelta"))),
    "bool": lambda: release(True),
    "decimal": lambda: release(decimal.Decimal("1.50")),
    "key": lambda: release(("ICU", 3), SCORES),
    "nothing": lambda: release(None),
}
EVERY = pytest.mark.parametrize("make", EXAMPLES.values(), ids=EXAMPLES)
NUMBERS = pytest.mark.parametrize("make", [a_float, an_int], ids=["float", "int"])
VECTORS = pytest.mark.parametrize("make", [a_series, a_frame], ids=["series", "frame"])


def same(a, b) -> bool:
    return a.equals(b) if isinstance(a, pd.Series | pd.DataFrame) else a == b

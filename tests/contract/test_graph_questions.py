"""The cost of a spanning tree as a question: what it answers and costs, and what is refused for free."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, protected, refused

from pandas_dp.core.mechanisms.smooth import DRAWS, NEED_DELTA

TOWNS = [f"town {i}" for i in range(20)]
SURE = 50  # at this epsilon noise is below S / 500 but once in a million answers, that of Cauchy aside


def roads(times: int = 50) -> pd.DataFrame:
    """A line of towns, 1.5 km from each to the next: 28.5 km in all."""
    rows = [(*ends, 1.5) for ends in pairwise(TOWNS)] * times
    return pd.DataFrame(rows, columns=["start", "end", "km"])


def ask(df, vertices=TOWNS, max_weight=10, epsilon=SURE, delta=0, **more):
    priced = df.dp(epsilon=epsilon, delta=delta)
    return priced.mst_cost("start", "end", "km", vertices=vertices, max_weight=max_weight, **more)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_answer(relation):
    df = protected(roads(), epsilon=100, neighbors=relation)
    answer = ask(df)
    assert answer == pytest.approx(28.5, abs=0.1)
    assert type(answer.value) is float
    assert answer.interval() is None
    assert any("an error bar has to be paid for" in note for note in answer.notes)
    assert answer.mechanism == "smooth sensitivity, polynomial Laplace noise"
    assert df.dp.session.spent == "epsilon=50"
    assert ask(df) == answer  # stored
    assert df.dp.session.spent == "epsilon=50"
    assert answer.query.call.startswith("mst_cost('start', 'end', 'km', vertices=[")
    assert answer.query.call.endswith(", max_weight=10)")


@pytest.mark.parametrize("noise", DRAWS)
def test_every_noise(noise):
    df = protected(roads(), epsilon=100, delta=1e-3)
    answer = ask(df, noise=noise, delta=1e-5 if noise in NEED_DELTA else 0)
    assert 0 <= answer <= 190
    assert abs(answer - 28.5) < 20 or noise == "cauchy"  # but once in a million
    assert answer.query.call.endswith(f", max_weight=10, noise={noise!r})")


def test_vertices_that_no_row_names_and_no_rows():
    df = protected(roads(), epsilon=1000)
    assert ask(df, [*TOWNS, "island"]) == pytest.approx(38.5, abs=0.5)
    assert ask(df, TOWNS[:2], 1) == pytest.approx(1, abs=0.1)  # clipped
    empty = protected(roads().iloc[:0], epsilon=1000, name=fresh())
    assert ask(empty, TOWNS[:4]) == pytest.approx(30, abs=0.5)


def test_rows_that_do_not_count():
    """A missing end or weight, a loop, an unlisted town; a road of 0 km would save 1.5 km or more."""
    more = pd.DataFrame(
        {
            "start": [None, TOWNS[0], TOWNS[3], "elsewhere"] * 300,
            "end": [TOWNS[2], TOWNS[9], TOWNS[3], TOWNS[5]] * 300,
            "km": [0.0, np.nan, 0.0, 0.0] * 300,
        }
    )
    df = protected(pd.concat([roads(), more]).reset_index(drop=True), epsilon=100)
    assert ask(df) == pytest.approx(28.5, abs=0.1)
    assert ask(df.dp.query("km < 1"), TOWNS[:4]) == pytest.approx(30, abs=0.5)


def test_units_durations_and_numbers_as_vertices():
    frame = pd.DataFrame([(i % 4, (i + 1) % 4, i) for i in range(4000)], columns=["a", "b", "who"])
    frame["time"] = pd.Timedelta("30 min")
    df = protected(frame, epsilon=100, unit="who", max_rows=2, schema={"a": {"keys": [0, 1, 2, 3]}})
    answer = df.dp(epsilon=SURE).mst_cost("a", "b", "time", max_weight=pd.Timedelta("2h"))
    assert abs(answer.value - pd.Timedelta("90 min")) < pd.Timedelta("1 min")
    assert answer.query.call == "mst_cost('a', 'b', 'time', vertices=[0, 1, 2, 3], max_weight='0 days 02:00:00')"


def test_refusals(monkeypatch):
    frame = roads(2).assign(number=1, when=pd.Timestamp("2013-01-01"))
    df = protected(frame, delta=1e-3)
    line = r"mst_cost\(.*vertices=.*, max_weight=10\)"

    def refuse(match, error=ValueError, columns=("start", "end", "km"), epsilon=1, delta=0, **how):
        with refused(monkeypatch, df, error, match):
            how = {"vertices": TOWNS, "max_weight": 10} | how
            df.dp(epsilon=epsilon, delta=delta).mst_cost(*columns, **how)

    refuse("vertices must be a public list.*" + line, TypeError, vertices=None)
    for vertices in ("start", b"start", 5):
        refuse("must be a list.*" + line, TypeError, vertices=vertices)
    for vertices in ([], ["a"], range(64), iter(range(10**9))):
        refuse("at least 2 and 63 at most.*" + line, vertices=vertices)
    refuse("a value twice.*" + line, vertices=["a", "b", "a"])
    for missing in (None, np.nan, pd.NA):
        refuse("missing value.*" + line, vertices=["a", missing])
    refuse("of one kind.*" + line, TypeError, vertices=[["a"], ["b"]])
    refuse("of one kind.*" + line, TypeError, columns=("start", "number", "km"))
    refuse("the public largest weight.*" + line, TypeError, max_weight=None)
    for wrong in ("ten", True, [10], pd.Timedelta("1h")):
        refuse("max_weight must be a number.*" + line, TypeError, max_weight=wrong)
    for wrong in (np.nan, np.inf, -np.inf):
        refuse("must be finite.*" + line, max_weight=wrong)
    for wrong in (0, -1, -1e-300, 1e-299):
        refuse("positive.*" + line, max_weight=wrong)
    refuse("between -1e300 and 1e300.*" + line, max_weight=1e301)
    refuse("three columns", columns=("start", "start", "km"))
    refuse("three columns", columns=("start", "km", "km"))
    refuse("no column named", columns=("start", "end", "miles"))
    refuse("as text", TypeError, columns=("start", "end", 3))
    refuse("numbers or durations", TypeError, columns=("km", "start", "end"), vertices=[1, 2])
    refuse("numbers or durations", TypeError, columns=("start", "end", "when"))
    refuse("'polynomial_laplace'.*'gaussian'", noise="normal")
    refuse("'polynomial_laplace'.*'gaussian'", noise=["laplace"])
    for noise in NEED_DELTA:
        refuse("delta=1e-7", noise=noise)
    refuse("'polynomial_laplace' takes a plain epsilon", delta=1e-6)
    refuse("1e-5", epsilon=1e-6, delta=1e-6, noise="gaussian")
    with refused(monkeypatch, df, ValueError, "epsilon, not a rho"):
        df.dp(rho=0.1).mst_cost("start", "end", "km", vertices=TOWNS, max_weight=10)
    with refused(monkeypatch, df, TypeError, "give a price"):
        df.dp(within=5).mst_cost("start", "end", "km", vertices=TOWNS, max_weight=10)


@pytest.mark.parametrize("largest", [1e-250, 1e-9, 0.1, 10**9, 1e300])
def test_largest_weights_of_any_size(largest):
    df = protected(pd.DataFrame({"start": ["a", "a"], "end": ["b", "c"], "km": [0.0, largest]}), epsilon=1000)
    answer = ask(df, ["a", "b", "c"], largest)
    assert answer == pytest.approx(largest, rel=0.05)


def test_error_bar():
    df = protected(
        pd.DataFrame([(i, i + 1, 1.0) for i in range(60)] * 100, columns=["start", "end", "km"]), epsilon=100
    )
    ask = {"vertices": list(range(61)), "max_weight": 10}
    answer = df.dp(epsilon=30).mst_cost("start", "end", "km", error_bar=True, **ask)
    lower, upper = answer.interval(0.9999999)
    assert 0 <= lower <= 60 <= upper <= 600
    assert answer.interval(0.5).upper - answer.interval(0.5).lower < 60
    assert answer.query.call.endswith("max_weight=10, error_bar=True)")

"""rows_per_unit: right where noise is small, the same whatever max_rows says, free notes, refused without a unit column."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from support.frames import protected

from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.release.values import SeriesRelease

EPSILON = 100  # noise is 0 but for a chance of 1e-21 a count under replace_one
UNIT = {"unit": "u", "max_rows": 2}


def visits() -> pd.DataFrame:
    """60 units of one row, 30 of four, 10 of 25; five rows without a unit."""
    sizes = np.repeat([1, 4, 25], [60, 30, 10])
    units = [*np.repeat(np.arange(100.0), sizes), *[np.nan] * 5]
    return pd.DataFrame({"u": units, "x": np.arange(len(units)) % 2})


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("max_rows", [1, 2, 1000])
def test_units_by_their_rows(neighbors, max_rows):
    df = protected(visits(), epsilon=EPSILON, neighbors=neighbors, unit="u", max_rows=max_rows)
    counts = df.dp(epsilon=EPSILON).rows_per_unit(limit=20)
    assert isinstance(counts, SeriesRelease)
    assert (counts.name, counts.index.name) == ("units", "rows")
    assert isinstance(counts.index, pd.IntervalIndex)
    assert counts.index.closed == "right"
    assert counts.index.right.tolist() == [1, 2, 3, 5, 10, 20, np.inf]
    assert counts.tolist() == [60, 0, 0, 30, 0, 0, 10]
    read = ["1", "2", "3", "4 to 5", "6 to 10", "11 to 20", "more than 20"]  # as people read them
    assert [line.split("  ")[0] for line in repr(counts).splitlines()[2:9]] == read
    assert [line.split(",")[0] for line in counts.to_csv().splitlines()[-7:]] == read
    assert "<th>4 to 5</th>" in counts._repr_html_()
    shares = "1: 60 %, 2: 60 %, 3: 60 %, 5: 90 %, 10: 90 %, 20: 90 %"
    kept = f"share of units that keep all rows, by max_rows: {shares}"
    none = (
        "no max_rows up to 20 is certain to keep all rows of 95 % of the units; a larger limit= or epsilon may find one"
    )
    assert counts.notes == (kept, none)  # no row was left out
    assert repr(counts).endswith(f"\n  {kept}\n  {none}")
    assert json.loads(counts.to_json())["notes"] == list(counts.notes)


@pytest.mark.parametrize(("large", "bound"), [(0, 5), (3, 5), (10, 50)])
def test_the_least_bound_that_keeps_nearly_all_is_suggested(large, bound):
    units = np.repeat(np.arange(100 + large), [4] * 100 + [25] * large)
    df = protected(pd.DataFrame({"u": units}), epsilon=EPSILON, **UNIT)
    notes = df.dp(epsilon=EPSILON).rows_per_unit(limit=50).notes
    assert notes[-1] == f"max_rows={bound} keeps all rows of at least 95 % of the units, with 95 % confidence"


def test_only_rows_that_steps_leave_count():
    df = protected(visits(), epsilon=EPSILON, **UNIT)
    assert df.dp(epsilon=EPSILON).query("x > 1").rows_per_unit(limit=2).tolist() == [0, 0, 0]


def test_a_total_of_noise_says_so():
    df = protected(visits().iloc[:0], epsilon=1, **UNIT)
    notes = df.dp(epsilon=0.001).rows_per_unit().notes
    # false alarm of a count at most 0.05 by design, so what may come is either of the two; both say what they are
    assert len(notes) in (1, 2)
    assert notes[0].startswith(("useless: all counts could be 0", "share of units that keep"))


@pytest.mark.parametrize(("neighbors", "scale"), [("add_remove", 4), ("replace_one", 8)])
def test_the_noise_is_that_of_one_row_a_unit(neighbors, scale):
    df = protected(visits(), epsilon=1, neighbors=neighbors, unit="u", max_rows=50)
    preview = df.dp.preview(epsilon=0.25).rows_per_unit()
    assert preview.scale == f"scale {scale} units"
    assert preview.half_width == df.dp.preview(epsilon=0.25).rows_per_unit(limit=3).half_width
    counts = df.dp(epsilon=0.25).rows_per_unit()
    known = counts.interval()
    assert ((known["upper"] - known["lower"]) == 2 * preview.half_width).all()
    assert df.dp.session.spent.epsilon == 0.25


def test_an_error_buys_it():
    df = protected(visits(), epsilon=EPSILON, **UNIT)
    counts = df.dp(within=3).rows_per_unit()
    assert counts.interval()["upper"].iloc[0] - counts.iloc[0] == 3
    assert 0.8 < counts.epsilon < 0.9


def test_asked_again_it_is_the_same_answer():
    df = protected(visits(), epsilon=1, **UNIT)
    once = df.dp(epsilon=0.5).rows_per_unit()
    assert df.dp(epsilon=0.5).rows_per_unit(limit=1000).equals(once)
    assert df.dp.session.spent.epsilon == 0.5


def test_a_session_of_rows_has_no_units():
    df = protected(visits(), epsilon=1)
    line = re.escape("df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)")
    for priced in (df.dp(epsilon=0.5), df.dp(within=10), df.dp.preview(epsilon=0.5)):
        with pytest.raises(ArgumentTypeError, match=line):
            priced.rows_per_unit()
    assert df.dp.session.spent.epsilon == 0


@pytest.mark.parametrize("limit", [0, -1, 1.5, "10", True, None, 10**10])
def test_a_limit_is_a_whole_number(limit):
    df = protected(visits(), epsilon=1, **UNIT)
    with pytest.raises(
        (ArgumentTypeError, ArgumentValueError), match=r"df\.dp\(epsilon=0\.5\)\.rows_per_unit\(limit=10\)"
    ):
        df.dp(epsilon=0.5).rows_per_unit(limit=limit)
    assert df.dp.session.spent.epsilon == 0

"""What is said of a release: kept in a ledger file, read back with care, drawn and listed."""

from __future__ import annotations

import gc
import json
import re
import sqlite3
import weakref
from contextlib import closing
from html import unescape

import pandas as pd
import pytest
from support.frames import people, protected
from support.pages import Page

from pandas_dp.aggregates.uncertainty import Additive
from pandas_dp.books.certificate_drawings import plot
from pandas_dp.books.report import report
from pandas_dp.core.ledger import open_ledger
from pandas_dp.release import summary
from pandas_dp.release.values import (
    Release,
)
from tests.support.releases import (
    EVERY,
    EXAMPLES,
    NOISE,
    RANKS,
    SCORES,
    a_date,
    a_series,
    an_int,
    release,
)

KEYS = ["x", "y", "z"]


def test_a_file_keeps_what_was_said_of_its_answers(tmp_path):
    path = tmp_path / "visits.dpledger"
    df = people()
    df.dp.protect(epsilon=50, ledger=path, name="visits", table="visits", version="1")
    number = df.dp(epsilon=2).count()
    df.dp(epsilon=2).histogram("age", bins=[0, 40, 120])
    session = df.dp.session
    live = unescape(session.report())
    session.close()
    session._ledger.close()
    ledger = open_ledger(path)
    page = unescape(report(ledger, "visits", None))
    assert number._text() in page
    assert page.count("<svg") == 1
    assert page[page.index("<h3>Questions") :] == live[live.index("<h3>Questions") :]
    ledger.close()


@pytest.mark.parametrize(
    "ask",
    [
        lambda dp: dp.groupby("city", keys=["x", "y"])["age"].mean(bounds=(0, 120)),
        lambda dp: dp.cov(["age", "pay"], bounds={"age": (0, 120), "pay": (0, 5000)}),
    ],
    ids=["series", "table"],
)
def test_the_intervals_of_an_answer_are_computed_once_for_all_that_is_said_of_it(ask):
    answer, asked = ask(protected(people()).dp(epsilon=9)), []
    ends = answer._ends
    answer.__dict__["_ends"] = lambda *given: asked.append(given) or ends(*given)
    for say in (summary.shown, repr, type(answer).to_csv):
        say(answer)
    assert len(asked) == 4  # a file's head has them as well


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answers SET result = CAST('x' AS BLOB)",
        "UPDATE answers SET digest = CAST('x' AS BLOB)",
        "DELETE FROM answers",
    ],
)
def test_what_was_said_and_is_damaged_is_left_out(tmp_path, damage):
    path = tmp_path / "visits.dpledger"
    df = people()
    df.dp.protect(epsilon=5, ledger=path, name="visits")
    released = df.dp(epsilon=2).count()
    df.dp.session._ledger.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    ledger = open_ledger(path)
    page = unescape(report(ledger, "visits", None))
    assert released._text() not in page
    assert "not on this page" in page
    ledger.close()


BARS = {"name": "n", "unit": "", "values": [1], "lower": None, "upper": None}
ODD = {
    "no dict": "[]",
    "no JSON": "{",
    "deep": "[" * 10**5,
    "a name more": {"html": ""},
    "numbers for texts": {"text": 3},
    "a longer row": {"head": ["a"], "rows": [["x", "y"]]},
    "a drawing of texts": {"labels": ["a"], "drawings": [BARS | {"values": ["<svg>"]}]},
    "a drawing of nothing": {"labels": ["a"], "drawings": [BARS | {"values": [None]}]},
    "a bool": {"labels": ["a"], "drawings": [BARS | {"values": [True]}]},
    "ends of another length": {"labels": ["a"], "drawings": [BARS | {"lower": [], "upper": [1]}]},
    "bars of another length": {"labels": ["a", "b"], "drawings": [BARS]},
}


@pytest.mark.parametrize("name", ODD)
def test_a_text_that_was_never_written_is_not_read(name):
    sound = {"text": "", "mechanism": "", "lineage": "", "computed": None, "assumes": None, "notes": [], "cautions": []}
    sound |= {"labels": [], "drawings": [], "head": [], "rows": []}
    odd = ODD[name]
    assert summary.read(json.dumps(sound | {"labels": ["a"], "drawings": [BARS]})) is not None
    assert summary.read(odd if isinstance(odd, str) else json.dumps(sound | odd)) is None
    assert summary.read(None) is None


def drawn(values, lower=None, upper=None, labels=None):
    ends = [None if end is None else pd.Series(end) for end in (lower, upper)]
    labels = [str(i) for i in range(len(values))] if labels is None else labels
    drawing = summary.drawing(("n", pd.Series(values), *ends))
    return "" if drawing is None else plot(drawing, labels, "1")


def test_bars_and_whiskers_lie_where_their_values_are():
    svg = drawn([10.0, -10.0], [5.0, -10.0], [10.0, -5.0])
    assert re.findall(r'<rect [^>]* y="([\d.]+)"', svg) == ["12.0", "89.0"]  # from the top, and from the middle down
    assert re.findall(r'height="([\d.]+)"', svg) == ["77.0", "77.0"]
    assert svg.count('class="whisker"') == 2
    assert "from -10 to 10, with their intervals as whiskers" in svg


@pytest.mark.parametrize("values", [[float("nan")], [float("inf"), float("nan")], [pd.Timestamp("2013")], ["a"], []])
def test_what_cannot_be_drawn_is_left_out(values):
    assert drawn(values, labels=["x"] * len(values)) == ""


@pytest.mark.parametrize("values", [[0.0], [0.0, 0.0], [1e308, -1e308], [5e-324], [1.0, float("inf")], [-3.0]])
def test_drawings_of_odd_values_hold_finite_numbers(values):
    svg = drawn(values)
    assert svg
    assert not re.search(r'="-?(nan|inf)', svg)


def test_durations_and_missing_ends_are_drawn():
    assert "(h)" in drawn(pd.to_timedelta(["1h", "2h"]), pd.to_timedelta(["1h", "1h"]), pd.to_timedelta(["2h", "3h"]))
    assert (
        drawn(pd.array([1, 2], "Int64"), pd.array([1, None], "Int64"), pd.array([1, None], "Int64")).count("whisker")
        == 2
    )


def test_vectors_of_every_kind_have_their_tables():
    df = protected(epsilon=1000)
    df.dp(epsilon=100).groupby("city", keys=KEYS).median("when", bounds=("2013-01-01", "2014-01-01"))
    df.dp(epsilon=100).groupby("city", keys=KEYS).mode("sex", keys=["f", "m"])
    df.dp(epsilon=100).median("when", bounds=("2013-01-01", "2014-01-01"))
    long = df.dp(epsilon=100).histogram("age", bins=range(281))
    text = df.dp.session.report()
    page = Page(text)
    assert len(long) == 280
    assert "80 more entries are not shown" in text
    assert len(page.all("svg")) == 1


def test_the_function_of_a_user_is_let_go():
    held = pd.DataFrame({"x": [1.0]})
    alive = weakref.ref(held)

    def function(block, more=held):
        return float(more["x"].iloc[0])

    df = protected(epsilon=1000)
    released = df.dp(epsilon=100).sample_and_aggregate(function, bounds=(0, 9), blocks=5, aggregator="mean")
    text = released._text()
    del function, held, released
    gc.collect()
    assert alive() is None
    assert text in unescape(df.dp.session.report())


# --- as JSON


@EVERY
def test_json_is_strict_and_complete(make):
    record = json.loads(make().to_json(), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert record["price"] == {"spent": "epsilon 0.2", "epsilon": 0.2, "delta": 0.0, "rho": None}
    assert record["unit"] == {"column": "pid", "rows": 3, "groups": 2, "rows_per_group": 2}
    assert record["neighbors"] == "replace_one"
    assert record["lineage"] == "source"
    assert record["mechanism"] == "discrete Laplace"
    assert record["query"] == "count()"
    assert record["notes"] == ["a note"]


def test_json_of_values_and_intervals():
    def parts(made: Release):
        record = json.loads(made.to_json())
        return record["value"], record["interval"]

    assert parts(an_int()) == (48213, {"level": 0.95, "lower": 48063, "upper": 48363})
    assert parts(release("ICU", SCORES))[1].keys() == {"level", "score_within"}
    assert parts(release(1.5, RANKS))[1].keys() == {"level", "rank_within"}
    assert parts(release(float("inf"))) == (None, None)
    date, ends = parts(a_date())
    assert date.startswith("2015-01-")
    assert ends["lower"] < date < ends["upper"]
    assert parts(EXAMPLES["duration"]())[0] == "P0DT1H30M0S"
    bins = pd.IntervalIndex.from_breaks([0, 10, 20], closed="left")
    value, ends = parts(release(pd.Series([1, 2], index=bins, name="n"), Additive(NOISE)))
    assert value == {"index": ["[0, 10)", "[10, 20)"], "name": "n", "values": [1, 2]}
    assert ends["columns"] == ["lower", "upper"]
    assert ends["values"] == [[-149, -148], [151, 152]]
    stamps = pd.Series(pd.to_datetime(["2013-01-31", None]), index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    assert parts(release(stamps))[0] == {
        "index": [["a", 1], ["b", 2]],
        "name": None,
        "values": ["2013-01-31T00:00:00", None],
    }


def test_json_has_the_extras():
    extras = (pd.Series([1, 2, 3], name="size"), pd.Series([True, False, True], name="enough_rows"))
    assert json.loads(a_series(extras=extras).to_json())["extras"] == {
        "size": [1, 2, 3],
        "enough_rows": [True, False, True],
    }

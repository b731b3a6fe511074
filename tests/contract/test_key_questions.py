"""Unknown keys: what comes back, in which order, at which price, and what is refused.

At (50, 1e-9) noise changes a count with probability below 1e-21, and a threshold of two rows keeps delta: answers are
known there, and tests with them fail by chance less often than once in 1e15 runs.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support import interpreter
from support.frames import fresh, protected, refused, watching
from support.questions import FOUND, table

import pandas_dp
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.release.values import Release

SURE = {"epsilon": 50, "delta": 1e-9}
SESSIONS = {
    "rows": {},
    "units": {"unit": "uid", "max_rows": 3},
    "rows replaced": {"neighbors": "replace_one"},
    "units replaced": {
        "neighbors": "replace_one",
        "unit": "uid",
        "max_rows": 4,
        "max_groups": 2,
        "max_rows_per_group": 2,
    },
}
each_session = pytest.mark.parametrize("terms", SESSIONS.values(), ids=SESSIONS)
each_question = pytest.mark.parametrize("name", FOUND)


def opened(cells, **terms) -> pd.DataFrame:
    """A table of one column x beside numbers."""
    column = pd.Series(cells)
    frame = pd.DataFrame({"x": column, "cost": np.arange(len(column)) % 50})
    return protected(frame, epsilon=10**4, delta=1e-4, **terms)


def small(**terms) -> pd.DataFrame:
    return protected(table(), epsilon=10**4, delta=1e-2, **terms)


CITIES = ["Ulm"] * 20 + ["Bonn"] * 30 + ["Rust"] + [None] * 40 + ["Aalen"] * 20


def test_keys_that_many_hold_come_back_with_their_counts():
    q = opened(CITIES).dp(**SURE)
    counts = q.value_counts("x")
    assert counts.to_dict() == {"Bonn": 30, "Aalen": 20, "Ulm": 20}
    assert list(counts.index) == ["Bonn", "Aalen", "Ulm"]  # equal counts by key
    assert (counts.name, counts.index.name, counts.dtype) == ("count", "x", np.int64)
    assert list(q.value_counts("x", sort=False).index) == ["Aalen", "Bonn", "Ulm"]
    assert list(q["x"].value_counts().index) == list(counts.index)
    assert q.groupby("x").size().to_dict() == {"Aalen": 20, "Bonn": 30, "Ulm": 20}
    assert list(q.groupby("x").size().index) == ["Aalen", "Bonn", "Ulm"]
    assert q.groupby("x")["cost"].count().name == "cost"
    assert q.groupby("x").count("x").to_dict() == {"Aalen": 20, "Bonn": 30, "Ulm": 20}
    found = q.unique("x")
    assert list(found) == ["Aalen", "Bonn", "Ulm"]
    assert found.name == "x"
    assert list(q["x"].unique()) == list(found)


def test_sums_and_means_of_found_groups():
    frame = opened(["b"] * 500 + ["a"] * 500 + ["rare"])
    q = frame.dp(epsilon=100, delta=1e-9)
    exact = frame.iloc[:1000].groupby("x")["cost"]
    for answer, truth in (
        (q.groupby("x")["cost"].mean(bounds=(0, 50)), exact.mean()),
        (q.groupby("x").sum("cost", bounds=(0, 50)), exact.sum()),
    ):
        assert list(answer.index) == ["a", "b"]
        assert np.allclose(answer, truth, atol=40 * 50 / 50)  # 40 scales of the noise of a sum
        assert any("50 % of epsilon and the whole delta" in note for note in answer.notes)


def test_found_keys_are_public_keys():
    frame = opened(CITIES)
    keys = frame.dp(**SURE).unique("x")
    assert list(frame.dp(epsilon=50).groupby("x", keys=keys).size().index) == ["Aalen", "Bonn", "Ulm"]


def test_keys_that_are_listed_are_not_looked_for():
    frame = opened(CITIES, schema={"x": {"keys": ["Ulm", "Rom"]}})
    assert list(frame.dp(**SURE).value_counts("x", sort=False).index) == ["Ulm", "Rom"]
    assert list(frame.dp(**SURE).value_counts("x", keys=["Rust"]).index) == ["Rust"]
    flags = opened([True] * 9)
    assert list(flags.dp(**SURE).value_counts("x", sort=False).index) == [False, True]  # a bool column has no others
    assert list(flags.dp(**SURE).unique("x")) == [True]


DAY = pd.Timestamp("2013-01-31")
KINDS = {
    "whole numbers": ([3, 1, -(2**62)], "int64", [-(2**62), 1, 3]),
    "small numbers": ([3, 1], "Int8", [1, 3]),
    "large numbers": ([2**64 - 1, 1], "uint64", [1, 2**64 - 1]),
    "floats": ([0.5, -0.0, float("inf"), 1e-300], "float64", [0.0, 1e-300, 0.5, float("inf")]),
    "dates": ([DAY, DAY - pd.Timedelta("1D")], "datetime64[us]", [DAY - pd.Timedelta("1D"), DAY]),
    "zoned": ([DAY.tz_localize("Europe/Berlin")], None, [DAY.tz_localize("Europe/Berlin")]),
    "days": ([date(2013, 1, 31)], pd.ArrowDtype(pa.date32()), [DAY]),
    "durations": ([pd.Timedelta("90 min"), pd.Timedelta("5 s")], None, [pd.Timedelta("5 s"), pd.Timedelta("90 min")]),
    "texts": (["é", "Z", "a", "日本", "z\0"], None, ["Z", "a", "z\0", "é", "日本"]),
    "objects": ([1, "a", 10**30, "\ud800"], object, [1, 10**30, "a", "\ud800"]),
    "categories": (["b", "a"], "category", ["a", "b"]),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("cells", "dtype", "expected"), KINDS.values(), ids=KINDS)
def test_a_ledger_gives_the_same_keys_again_after_a_restart(cells, dtype, expected, tmp_path):
    column = pd.Series(cells * 20, dtype=dtype)
    frame = pd.DataFrame({"x": column, "cost": 1})
    terms = {"epsilon": 10**4, "delta": 1e-4, "ledger": tmp_path / "books.dpledger", "version": "1", "name": "keys"}
    asked = [
        lambda q: q.value_counts("x"),
        lambda q: q.groupby("x").size(),
        lambda q: q.unique("x"),
        lambda q: q.groupby("x")["cost"].sum(bounds=(0, 9)),
    ]
    session = frame.dp.protect(**terms)
    first = [ask(frame.dp(**SURE)) for ask in asked]
    spent = session.spent
    session.close()
    again = pd.DataFrame({"x": column, "cost": 1})
    session = again.dp.protect(**terms)
    second = [ask(again.dp(**SURE)) for ask in asked]
    assert session.spent == spent
    for one, two in zip(first, second, strict=True):
        assert one.value.equals(two.value)
        assert one.index.dtype == two.index.dtype
    assert list(first[2]) == expected
    assert list(first[1].index) == expected
    assert first[1].tolist() == [20] * len(expected)


def test_neither_the_order_of_rows_nor_of_categories_nor_the_backend_shows():
    rng = np.random.default_rng(1)
    orders = [CITIES, CITIES[::-1], *(list(rng.permutation(np.array(CITIES, dtype=object))) for _ in range(3))]
    columns = [pd.Series(order, dtype=dtype) for order in orders for dtype in ("str", object, "string", "category")]
    columns.append(pd.Series(pd.Categorical(CITIES, categories=["Ulm", "Rom", "Rust", "Bonn", "Aalen"])))
    for ask in (lambda q: q.value_counts("x"), lambda q: q.unique("x"), lambda q: q.groupby("x").size()):
        answers = {ask(opened(column).dp(**SURE)).to_json() for column in columns}
        assert len(answers) == 1


def test_nothing_is_said_of_keys_that_are_left_out():
    common = ["a"] * 50 + ["b"] * 40
    for name, ask in FOUND.items():
        if name in ("unique", "found counts", "sizes of found groups"):
            said = set()
            for rare in ([], ["x"], [f"x{i}" for i in range(100)], [None] * 7):
                frame = pd.DataFrame({"ward": pd.Series(common + rare, dtype="str")})
                release = ask(protected(frame, epsilon=100, delta=1e-4).dp(**SURE))
                said.add((release.to_json(), repr(release), release._repr_html_()))
            assert len(said) == 1


def test_no_rows_and_no_keys():
    for cells in (pd.Series([], dtype="str"), pd.Series([None, None], dtype="str"), pd.Series(["a"], dtype="str")):
        q = opened(cells).dp(**SURE)
        for answer in (
            q.value_counts("x"),
            q.groupby("x").size(),
            q.unique("x"),
            q.groupby("x").mean("cost", bounds=(0, 9)),
        ):
            assert len(answer) == 0
            repr(answer)
            answer.to_json()
        assert "no key has a noisy count of at least 2 rows" in repr(q.value_counts("x"))


# --------------------------------------------------------------------------------------------------------------- price
def test_the_price_is_charged_as_it_stands():
    frame = opened(CITIES)
    session = frame.dp.session
    frame.dp(epsilon=1, delta=1e-7).value_counts("x")
    assert (session._state.epsilon, session._state.delta) == (1, Fraction(1, 10**7))
    frame.dp(epsilon=1, delta=1e-7).value_counts("x")  # stored
    frame.dp(epsilon=0.5, delta=1e-7).unique("x")
    assert (session._state.epsilon, session._state.delta) == (Fraction(3, 2), Fraction(2, 10**7))
    frame.dp(epsilon=1, delta=1e-7).groupby("x")["cost"].mean(bounds=(0, 9))
    assert (session._state.epsilon, session._state.delta) == (Fraction(5, 2), Fraction(3, 10**7))
    assert not session._state.unbounded


def test_units_with_many_keys_get_gaussian_noise_where_the_threshold_is_lower_with_it():
    few, many = ({"unit": "uid", "max_rows": rows, "max_rows_per_group": 1} for rows in (2, 60))
    few, many = (small(**terms).dp(epsilon=1, delta=1e-6) for terms in (few, many))
    assert few.value_counts("ward").mechanism == "discrete Laplace, keys by threshold"
    release = many.value_counts("ward")
    assert release.mechanism == "discrete Gaussian, keys by threshold"
    state = many._frame.dp.session._state
    assert state.unbounded
    assert state.delta == Fraction(1, 2 * 10**6)  # the other half is in the noise


def test_within_finds_a_price():
    frame = opened(CITIES)
    counts = frame.dp(within=1, delta=1e-7).value_counts("x")
    assert len(counts) == 3  # at an epsilon of 3 it takes noise of 12 rows to hide one
    assert (counts.table()["upper"] - counts.value).max() <= 1
    with pytest.raises(ArgumentTypeError, match="depends on the data"):
        frame.dp(within=10, delta=1e-7).unique("x")


@pytest.mark.one_in(3)
@each_session
@each_question
def test_a_preview_says_what_is_charged(name, terms):
    frame, ask = small(**terms), FOUND[name]
    session = frame.dp.session
    preview = ask(frame.dp.preview(epsilon=1, delta=1e-5))
    before = session._state
    answer = ask(frame.dp(epsilon=1, delta=1e-5))
    assert isinstance(answer, Release)
    assert preview.affordable
    assert session._state == before.plus(preview.charge)
    assert preview.left == session.left
    assert preview.mechanism == answer.mechanism or not len(answer)
    assert any("threshold" in text or "listed" in text for text in (*preview.notes, preview.error))
    assert ask(frame.dp.preview(epsilon=1, delta=1e-5)).stored


@each_question
def test_a_preview_reads_nothing(name, monkeypatch):
    frame = small()
    with watching(monkeypatch) as watch:
        repr(FOUND[name](frame.dp.preview(epsilon=1, delta=1e-5, rows=100)))
    assert watch.opened == 0


@each_question
def test_questions_without_a_frame(name):
    query = FOUND[name](pandas_dp.query(epsilon=1, delta=1e-5))
    frame = small()
    assert isinstance(query(frame), Release)
    assert pandas_dp.Query.from_dict(query.to_dict()) == query
    assert query.preview(frame).stored


# ------------------------------------------------------------------------------------------------------------ refusals
def test_a_price_without_delta_is_refused_with_the_line_to_type(monkeypatch):
    frame = opened(CITIES)
    cases = [
        (
            lambda q: q.value_counts("x"),
            r"keys=\['A', 'B'\]\), or discover .*: df.dp\({price}, delta=1e-5\).value_counts\('x'\)",
        ),
        (lambda q: q.groupby("x"), r"groupby\('x', keys=\['A', 'B'\]\), or discover .* delta=1e-5\).groupby\('x'\)"),
        (lambda q: q.groupby("cost"), r"keys=\[0, 1, 2\]"),
        (
            lambda q: q.unique("x"),
            r"unique\(\) needs a delta: df.dp\({epsilon}, delta=1e-5\).unique\('x'\)",
        ),
    ]
    for ask, line in cases:
        for price in ({"epsilon": 1}, {"rho": 1}, {"within": 5}):
            epsilon = "epsilon=1.54" if "rho" in price else "epsilon=1"  # the same rho, e tanh(e / 2)
            kept = "within=5" if "within" in price else epsilon
            text = line.replace("{price}", kept).replace("{epsilon}", epsilon)
            with refused(monkeypatch, frame, ArgumentTypeError, text):
                ask(frame.dp(**price))


@pytest.mark.parametrize(
    ("ask", "error", "match"),
    [
        (lambda q: q.value_counts("x", other=True), ArgumentTypeError, "go with listed keys"),
        (lambda q: q.groupby("x", null=True), ArgumentTypeError, "go with listed keys"),
        (lambda q: q.value_counts("y"), ArgumentValueError, "no column named 'y'"),
        (lambda q: q.unique(["x"]), ArgumentTypeError, "the name of one column"),
        (lambda q: q.groupby("x")["cost"].mean(), ArgumentTypeError, "public bounds"),
        (lambda q: q.groupby("x")["cost"].mean(bounds="private"), ArgumentTypeError, "needs bounds"),
        (lambda q: q.groupby("x").sum(bounds=(0, 9)), ArgumentTypeError, "needs a column"),
        (lambda q: q.groupby("x").median("cost", bounds=(0, 9)), ArgumentTypeError, "discovered ones take size"),
        (lambda q: q.value_counts("x", normalize=True), ArgumentTypeError, "normalize= goes with listed"),
        (lambda q: q.groupby("x").var("cost", bounds=(0, 9)), ArgumentTypeError, "discovered ones take size"),
    ],
)
def test_what_does_not_fit_is_refused(ask, error, match, monkeypatch):
    frame = opened(CITIES)
    with refused(monkeypatch, frame, error, match):
        ask(frame.dp(**SURE))


@pytest.mark.parametrize("ask", [lambda q: q.value_counts("x"), lambda q: q.unique("x")])
def test_a_session_must_have_a_delta_for_it(ask, monkeypatch):
    pure = protected(pd.DataFrame({"x": CITIES}), epsilon=5)
    with refused(monkeypatch, pure, BudgetExceededError, "this budget has no delta, so there is no"):
        ask(pure.dp(epsilon=1, delta=1e-6))
    little = protected(pd.DataFrame({"x": CITIES}), epsilon=5, delta=1e-6, name=fresh())
    with refused(monkeypatch, little, BudgetExceededError, "reserved for finding keys"):
        ask(little.dp(epsilon=1, delta=1e-6))
    ask(little.dp(epsilon=1, delta=1e-7))


def test_keys_of_a_schema_are_said_to_stand_in_for_those_that_would_be_found():
    df = protected(
        pd.DataFrame({"sex": ["f", "m"] * 500, "age": [20, 30] * 500}),
        epsilon=50,
        delta=1e-4,
        schema={"sex": {"keys": ["f"]}},
    )
    note = "keys of 'sex' taken from the schema or a step: ['f']"
    plain, finding = df.dp(epsilon=1), df.dp(epsilon=1, delta=1e-7)
    assert plain.value_counts("sex").notes == (note,)
    assert plain.groupby("sex")["age"].mean(bounds=(0, 100)).notes[-1] == note
    assert plain.groupby(["sex", "age"], bins={"age": [0, 25, 50]}).size().notes == (note,)
    assert df.dp.preview(epsilon=1).groupby("sex").size().notes == (note,)
    for found in (finding.value_counts("sex"), finding.groupby("sex").size(), finding.groupby(["sex", "age"]).size()):
        assert f"{note}; none were discovered; unique('sex') finds" in repr(found)  # under the numbers
    assert plain.value_counts("sex", keys=["f"]).notes == ()  # the stored answer, asked for with typed keys
    assert plain.groupby(["sex", "age"], keys={"sex": ["f"], "age": [20]}).size().notes == ()
    assert plain.groupby("sex", keys=["f", "m"]).size().notes == ()


def test_a_table_that_joins_has_the_schema_before_it_unless_it_brings_one():
    first = protected(pd.DataFrame({"sex": ["f", "m"] * 500}), epsilon=9, delta=1e-4, schema={"sex": {"keys": ["f"]}})
    for schema, listed in ((None, ["f"]), ({}, ["f", "m"])):  # found, without any
        other = pd.DataFrame({"sex": ["f", "m"] * 400})
        other.dp.protect(session=first.dp.session, schema=schema)
        assert sorted(other.dp(epsilon=1, delta=1e-6).value_counts("sex").index) == listed


def wards():
    return protected(
        pd.DataFrame({"x": ["A"] * 900 + ["B"] * 500 + ["C"] * 200 + ["rare"], "n": 1.0}), 10**5, delta=1e-4
    )


def test_the_most_common_of_keys_that_nobody_listed():
    df = wards()
    asking = df.dp(epsilon=100, delta=1e-7)
    assert asking.mode("x").value == "A"
    assert asking.top_k("x", 2).tolist() == ["A", "B"]
    assert asking.top_k("x", 2).index.tolist() == [1, 2]
    assert asking["x"].top_k(9).tolist() == ["A", "B", "C"]
    assert any("fewer than 9" in note for note in asking.top_k("x", 9).notes)
    assert asking.histogram("x").to_dict() == {"A": 900, "B": 500, "C": 200}


def test_no_key_is_found():
    df = protected(pd.DataFrame({"x": ["A", "B"]}), 10**5, delta=1e-4)
    asking = df.dp(epsilon=1, delta=1e-7)
    assert asking.mode("x").value is None
    assert asking.top_k("x", 3).tolist() == []
    assert asking.histogram("x").tolist() == []
    assert any("no key has" in note for note in asking.mode("x").notes)


def test_a_found_mode_costs_what_found_counts_cost():
    df = wards()
    ahead = df.dp.preview(epsilon=0.5, delta=1e-7)
    assert ahead.mode("x").charge == ahead.top_k("x", 3).charge == ahead.value_counts("x").charge


def test_block_means_of_found_groups():
    df = wards()
    means = df.dp(epsilon=1000, delta=1e-7).groupby_mean_sa("x", "n", bounds=(0, 2), blocks=20)
    assert means.index.tolist() == ["A", "B", "C"]
    assert means.round(3).tolist() == [1, 1, 1]


def test_a_delta_that_the_reserve_still_pays_is_named():
    df = protected(pd.DataFrame({"x": ["A"] * 90}), 10**5, delta=1e-6)
    for most in ("1e-7", "1e-8"):
        with pytest.raises(ArgumentTypeError, match=rf"df\.dp\(epsilon=1, delta={most}\)\.mode\('x'\)"):
            df.dp(epsilon=1).mode("x")
        df.dp(epsilon=1, delta=5e-8).mode("x")
    assert df.dp(epsilon=1, delta=1e-8).mode("x").value == "A"


def test_a_budget_without_delta_is_told_how_it_gets_one():
    df = protected(pd.DataFrame({"x": ["A"] * 90}), 10)
    with pytest.raises(ArgumentTypeError, match=r"df\.dp\.session\.extend\(to_delta=1e-6, reason='\.\.\.'\)"):
        df.dp(epsilon=1).mode("x")
    df.dp.session.extend(to_delta=1e-6, reason="to find keys")
    with pytest.raises(ArgumentTypeError, match=r"df\.dp\(epsilon=1, delta=1e-7\)\.mode\('x'\)"):
        df.dp(epsilon=1).mode("x")
    assert df.dp(epsilon=1, delta=1e-7).mode("x").value == "A"


# ------------------------------------------------------------------------------------------------- a delta for finding keys
def asked_for_keys(df):
    """What is told of keys that nobody listed, and the line in it that raises a total."""
    with pytest.raises(pandas_dp.ArgumentTypeError) as caught:
        df.dp(epsilon=0.5).value_counts("g")
    with pytest.raises(pandas_dp.ArgumentTypeError) as also:
        df.dp(epsilon=0.5).unique("g")
    found = re.search(r"df\.dp\.(?:session\.extend|protect)\([^;]*\)", told := str(caught.value))
    assert found is None or found[0] in str(also.value)
    return told, found and found[0]


@pytest.mark.parametrize("delta", [0, "1e-6", "1e-5", "3e-4"])
def test_where_the_delta_for_keys_is_used_up_the_line_raises_the_total(delta):
    df = pd.DataFrame({"g": ["a", "b"] * 5000})
    df.dp.protect(epsilon=9, delta=Decimal(delta), name=fresh())
    for epsilon in (0.5, 0.6, 0.7):
        if left := df.dp.session._rule.budget.delta_reserved - df.dp.session._state.delta:
            answer = df.dp(epsilon=epsilon, delta=left).value_counts("g")
            told, line = asked_for_keys(df)
            assert "used up: those found before are public, keys=answer.index, or raise the total" in told
            df.dp(epsilon=0.1).value_counts("g", keys=answer.index)
        told, line = asked_for_keys(df)
        before = df.dp.session.budget.delta
        eval(line.replace("'...'", "'more wards'"), {"df": df})
        assert df.dp.session.budget.delta > before
        assert "discover keys: df.dp(epsilon=0.5, delta=" in asked_for_keys(df)[0]
    df.dp.session.close()


def test_no_total_is_raised_that_cannot_be():
    """A part, and Gaussian noise alone, get no delta for keys."""
    df = pd.DataFrame({"g": ["a", "b"] * 5000})
    session = df.dp.protect(epsilon=9, delta=1e-5, name=fresh())
    part = df.dp.allot("keyless", epsilon=1)
    other = pd.DataFrame({"g": ["a", "b"] * 5000})
    other.dp.protect(epsilon=9, delta=1e-6, accountant="gdp", name=fresh())
    for asked in (part.dp(epsilon=0.5), other.dp(epsilon=0.5)):
        with pytest.raises(pandas_dp.ArgumentTypeError) as caught:
            asked.value_counts("g")
        assert str(caught.value).endswith("asked.value_counts('g', keys=['A', 'B'])")
        with pytest.raises(pandas_dp.ArgumentTypeError, match=r"needs a delta, and this budget has none for that$"):
            asked.unique("g")
    session.close()


def test_where_nobody_named_a_total_the_line_names_one():
    """In a process of its own: after `protect` none is opened for a first question."""
    script = """
import warnings; warnings.simplefilter("ignore")
import pandas as pd, pandas_dp
df = pd.DataFrame({"g": ["a", "b"] * 5000})
line = "df.dp.protect(epsilon=5, delta=1e-6); df.dp(epsilon=0.5, delta=1e-7).value_counts('g')"
try:
    df.dp(epsilon=0.5).value_counts("g")
except pandas_dp.ArgumentTypeError as error:
    assert str(error).endswith(": " + line), error
    exec(line)
print("done")
"""
    ran = interpreter.run(script)
    assert ran.stdout == "done\n", ran.stderr

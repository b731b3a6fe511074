"""Public facts taken from a protected table are refused by argument, before anything is read, in one constant text."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, Schema
from pandas_dp.facts import public_only
from tests.support.frames import people, protected, refused

SAYS = "must be public, and a table or column that is protected, or was made from one, is not"
# what pandas makes of a column, by name: each carries the mark of its table
TAKEN = {
    "column": lambda s: s,
    "head": lambda s: s.head(2),
    "distinct": lambda s: s.drop_duplicates(),
    "sorted": lambda s: s.sort_values(),
    "copy": lambda s: s.copy(),
    "text": lambda s: s.astype(str),
}
QUESTIONS = {
    "keys": lambda dp, d: dp.histogram("sex", keys=d["sex"]),
    "keys of value_counts": lambda dp, d: dp.value_counts("sex", keys=d["sex"]),
    "keys of a selected column": lambda dp, d: dp["sex"].mode(keys=d["sex"]),
    "keys of groups": lambda dp, d: dp.groupby("sex", keys=d["sex"]).size(),
    "keys in a dict": lambda dp, d: dp.groupby(["sex", "city"], keys={"sex": ["f"], "city": d["city"]}).size(),
    "keys within groups": lambda dp, d: dp.groupby("sex", keys=["f", "m"])["city"].mode(keys=d["city"]),
    "keys of two ways": lambda dp, d: dp.crosstab("sex", "city", keys={"sex": d["sex"], "city": ["x"]}),
    "keys of top_k": lambda dp, d: dp.top_k("city", 1, keys=d["city"]),
    "bins": lambda dp, d: dp.histogram("age", bins=d["age"]),
    "bins of ecdf": lambda dp, d: dp.ecdf("age", bins=d["age"]),
    "bins in a dict": lambda dp, d: dp.groupby(["sex", "age"], keys={"sex": ["f"]}, bins={"age": d["age"]}).size(),
    "bounds": lambda dp, d: dp.mean("age", bounds=d["age"]),
    "bounds of groups": lambda dp, d: dp.groupby("sex", keys=["f", "m"])["age"].sum(bounds=d["age"]),
    "bounds in a dict": lambda dp, d: dp.agg({"age": "mean"}, bounds={"age": d["age"]}),
    "bounds in a pair": lambda dp, d: dp.mean("age", bounds=(d["age"], d["age"])),
    "levels": lambda dp, d: dp.quantile("age", d["age"], bounds=(0, 100)),
    "prices": lambda dp, d: dp.best_price("pay", prices=d["pay"]),
    "candidates": lambda dp, d: dp.select(d["age"], score="age >= candidate"),
    "candidates by name": lambda dp, d: dp.select(candidates=d["age"], score="age >= candidate"),
    "vertices": lambda dp, d: dp.mst_cost("sex", "city", "age", vertices=d["city"], max_weight=10),
    "domain": lambda dp, d: dp.oracle("pmw", domain={"age": d["age"]}),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("question", QUESTIONS)
def test_columns_of_a_protected_table_are_no_public_lists(monkeypatch, question, taken):
    df = protected(people(), delta=1e-6)
    given = {name: TAKEN[taken](df[name]) for name in df}
    with refused(monkeypatch, df, ArgumentValueError, SAYS) as caught:
        QUESTIONS[question](df.dp(epsilon=1), given)
    other = protected(pd.concat([people().tail(3)] * 2, ignore_index=True), delta=1e-6)  # other cells, the same text
    with refused(monkeypatch, df, ArgumentValueError, SAYS) as again:
        QUESTIONS[question](df.dp(epsilon=1), {name: TAKEN[taken](other[name]) for name in other})
    assert str(caught.value) == str(again.value)
    with refused(monkeypatch, df, ArgumentValueError, SAYS):
        QUESTIONS[question](df.dp.preview(epsilon=1), given)
    with refused(monkeypatch, df, ArgumentValueError, SAYS):
        QUESTIONS[question](pandas_dp.query(epsilon=1), given)


@pytest.mark.parametrize("made", ["drop_duplicates", "head", "copy"])
def test_tables_made_of_a_protected_one_list_no_groups(monkeypatch, made):
    df = protected(people())
    with refused(monkeypatch, df, ArgumentValueError, SAYS):
        df.dp(epsilon=1).groupby(["sex", "city"], keys=getattr(df[["sex", "city"]], made)()).size()


def test_parts_schemas_and_lookups_take_none(monkeypatch):
    df = protected(people(), epsilon=10)
    for act in (
        lambda: df.dp.partition("sex", df["sex"].drop_duplicates(), epsilon=1),
        lambda: Schema({"sex": {"keys": df["sex"]}}),
        lambda: Schema({"age": {"bounds": df["age"]}}),
        lambda: pandas_dp.mock({"sex": {"keys": df["sex"].drop_duplicates()}}),
    ):
        with refused(monkeypatch, df, ArgumentValueError, SAYS):
            act()
    with refused(monkeypatch, df, ArgumentValueError, "the lookup is a protected table"):
        df.dp.merge({"age": df["age"].drop_duplicates(), "label": list("abcde")}, on="age")
    with refused(monkeypatch, df, ArgumentValueError, "this one is protected"):
        Schema.from_public_sample(df.head())


def test_the_mark_outlives_the_session():
    df, other = protected(people()), protected(people())
    df.dp.session.close()
    with pytest.raises(ArgumentValueError, match=SAYS):
        other.dp(epsilon=1).histogram("sex", keys=df["sex"].drop_duplicates())


def test_public_columns_and_answers_are_accepted():
    df = protected(people(), epsilon=100, delta=1e-3)
    codes = pd.DataFrame({"sex": ["f", "m"], "city": ["x", "y"], "edge": [0, 100]})
    assert list(df.dp(epsilon=1).histogram("sex", keys=codes["sex"]).index) == ["f", "m"]
    assert len(df.dp(epsilon=1).histogram("age", bins=codes["edge"])) == 1
    assert len(df.dp(epsilon=1).groupby(["sex", "city"], keys=codes[["sex", "city"]]).size()) == 2
    found = df.dp(epsilon=30, delta=1e-4).unique("sex")  # is public; whatever was found
    assert found.attrs == {}
    assert pandas_dp.query(epsilon=1).histogram("sex", keys=codes["sex"])(df).sum() is not None
    assert Schema({"sex": {"keys": codes["sex"]}})["sex"].keys == ("f", "m")


# lines after which a column that came from a public one is that very memory, or is not, as a cell decides
LINES = {
    "dropna": lambda d: d.dropna(),
    "drop_duplicates": lambda d: d.drop_duplicates("x"),
    "query": lambda d: d.query("not x > 50"),
    "mask": lambda d: d[~(d["x"] > 50)],
    "loc": lambda d: d.loc[~(d["x"] > 50)],
    "sort_values": lambda d: d.sort_values("x"),
    "set_index": lambda d: d.set_index("x").sort_index().reset_index(),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("given", ["Series", "array", "values", "categories"])
def test_memory_decides_nothing(line, given):
    """Whether a column still is the memory of a public one follows from the rows: both are taken for public, or neither."""
    told = set()
    for cell in (5.0, 60.0, 4.0, float("nan"), 0.5):
        days = pd.Series([1, 2, 3, 4, 5], dtype="category" if given == "categories" else "int64")
        df = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, cell]})
        df["day"] = days
        df = protected(LINES[line](df))
        keys = {"Series": days, "array": days.array, "values": days.to_numpy(copy=False)}
        try:
            df.dp(epsilon=0.1).value_counts("day", keys=keys[given] if given != "categories" else days.cat.categories)
            told.add("answered")
        except ArgumentValueError as error:
            told.add(str(error))
    assert told == {"answered"}


@pytest.mark.parametrize("codes", [[1, 2, 3, 4], [1, 2, 3, 4, 4]])
def test_memory_decides_of_no_lookup(codes):
    lookup = pd.DataFrame({"code": [1, 2, 3, 4], "label": list("abcd")})
    visits = pd.DataFrame({"code": codes, "pay": [10.0] * len(codes)})
    df = protected(lookup[["code"]].merge(visits, on="code", how="left"))
    assert list(df.dp.merge(lookup, on="code").columns) == ["code", "pay", "label"]


@pytest.mark.parametrize(
    "values",
    [np.array(["f", "m"]), np.array([["f"], ["m"]]), np.zeros(2, "i4,i4"), np.zeros(2, "M8[D]"), pd.RangeIndex(5)],
)
def test_odd_arrays_are_no_columns(values):
    protected(people())
    assert not public_only.is_private(values)


def test_plain_lists_and_arrays_cannot_be_recognised():
    """They carry no mark: whoever types them says that they are public."""
    df = protected(people())
    for keys in (df["sex"].unique(), sorted(set(df["sex"])), df["sex"].drop_duplicates().array):
        assert list(df.dp(epsilon=1).histogram("sex", keys=keys).index) == ["f", "m"]


def test_what_the_page_about_bounds_says_of_columns_holds():
    """Refused are tables and columns and what pandas made of them; lists, indexes and arrays are not recognised."""
    df = pd.DataFrame({"ward": pd.Series(["A", "B"] * 200)})
    df["kind"] = df["ward"].astype("category")
    df = protected(df, epsilon=100)
    for keys in (df["ward"], df["ward"].drop_duplicates(), df.head(2)["ward"], [df["ward"]]):
        with pytest.raises(ArgumentValueError, match="must be public"):
            df.dp(epsilon=1).value_counts("ward", keys=keys)
    for keys in (df["ward"].unique(), df["ward"].value_counts().index, df["kind"].cat.categories):
        assert sorted(df.dp(epsilon=1).value_counts("ward", keys=keys).index) == ["A", "B"]


@pytest.mark.parametrize("of", [lambda x: pd.Interval(0, x), lambda x: pd.Interval(x, x + 1), Fraction])
@pytest.mark.parametrize("listed", [lambda one: [one], lambda one: [3, (one,)], lambda one: {"sex": [one]}])
def test_a_number_of_numpy_is_found_in_intervals_and_fractions(monkeypatch, of, listed):
    df = protected()
    with refused(monkeypatch, df, ArgumentTypeError, r"np\.int64 is a NumPy scalar"):
        df.dp(epsilon=1).value_counts("sex", keys=listed(of(df["age"].max())))
    for own in (of(3), Fraction(1, 2)):
        public_only.check_typed([own])

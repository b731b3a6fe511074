"""Unknown combinations of several columns: what comes back, how it may be used, and what is refused.

At (50, 1e-9) noise changes a count with probability below 1e-21, and a threshold of two rows keeps delta: answers are
known there, and tests with them fail by chance less often than once in 1e15 runs.
"""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

SURE = {"epsilon": 50, "delta": 1e-9}
DAY = pd.Timestamp("2013-01-31")


def table() -> pd.DataFrame:
    """Combinations of 40, 30, 20 and 10 rows, one of a single row, and rows without a cell."""
    states = ["NY"] * 40 + ["CA"] * 30 + ["CA"] * 20 + ["NY"] * 10 + ["RI"] + [None] * 9 + ["NY"] * 9
    sexes = ["m"] * 40 + ["m"] * 30 + ["f"] * 20 + ["f"] * 10 + ["f"] + ["f"] * 9 + [None] * 9
    frame = pd.DataFrame({"state": states, "sex": sexes})
    return frame.assign(cost=np.arange(len(frame)) % 50, day=DAY, uid=range(len(frame)), old=np.arange(119) % 2 == 0)


def opened(**terms) -> pd.DataFrame:
    return protected(table(), epsilon=10**4, delta=1e-4, **terms)


FOUND = {("CA", "f"): 20, ("CA", "m"): 30, ("NY", "f"): 10, ("NY", "m"): 40}


# ------------------------------------------------------------------------------------------------- what comes back
@pytest.mark.parametrize("terms", [{}, {"unit": "uid", "max_rows": 1}], ids=["rows", "units"])
def test_combinations_that_many_hold_come_back_sorted(terms):
    q = opened(**terms).dp(**SURE)
    sizes = q.groupby(["state", "sex"]).size()
    assert sizes.to_dict() == FOUND
    assert list(sizes.index) == list(FOUND)
    assert isinstance(sizes.index, pd.MultiIndex)
    assert (list(sizes.index.names), sizes.name, sizes.dtype) == (["state", "sex"], "size", np.int64)
    assert [list(level) for level in sizes.index.levels] == [["CA", "NY"], ["f", "m"]]
    turned = q.groupby(["sex", "state"]).count()
    assert list(turned.index) == [("f", "CA"), ("f", "NY"), ("m", "CA"), ("m", "NY")]
    assert q.groupby(["state", "sex"])["cost"].count().name == "cost"
    assert sizes.unstack().loc["CA", "m"] == 30


def test_sums_and_means_of_them():
    frame = opened()
    exact = frame.groupby(["state", "sex"])["cost"].agg(["mean", "sum"]).drop(index=("RI", "f"))
    q = frame.dp(epsilon=1000, delta=1e-9)
    groups = q.groupby(["state", "sex"])
    for answer, truth in (
        (groups["cost"].mean(bounds=(0, 50)), exact["mean"]),
        (groups.sum("cost", bounds=(0, 50)), exact["sum"]),
    ):
        assert list(answer.index) == list(truth.index)
        assert answer.index.names == truth.index.names
        assert np.allclose(answer, truth, atol=50 * 50 / 500)  # 50 scales of the noise of a sum
        assert any("50 % of epsilon and the whole delta" in note for note in answer.notes)


def test_every_kind_of_column_has_a_level_of_its_dtype():
    frame = opened()
    sizes = frame.dp(**SURE).groupby(["day", "state", "old", "sex"]).size()
    assert list(sizes.index)[:2] == [(DAY, "CA", False, "f"), (DAY, "CA", False, "m")]
    assert sizes.index.dtypes.astype(str).to_dict() == {
        "day": "datetime64[ns]",
        "state": "str",
        "old": "bool",
        "sex": "str",
    }
    assert sizes.sum() == 100


def test_listed_columns_beside_found_ones():
    """A row whose listed column holds another value counts nowhere; only combinations that are found come back."""
    q = opened().dp(**SURE)
    sizes = q.groupby(["state", "sex"], keys={"sex": ["x", "m"]}).size()
    assert sizes.to_dict() == {("CA", "m"): 30, ("NY", "m"): 40}
    both = q.groupby(["sex", "state"], keys={"sex": ["m", "f"]}).size()
    assert list(both.index) == [("m", "CA"), ("m", "NY"), ("f", "CA"), ("f", "NY")]  # in the listed order
    binned = q.groupby(["state", "cost"], bins={"cost": [0, 25, 49]}).size()
    exact = table().groupby(["state", pd.cut(table()["cost"], [-1, 24, 48])], observed=True).size()
    assert binned.tolist() == [n for n in exact if n > 1]
    assert binned.index[0] == ("CA", pd.Interval(0, 25, closed="left"))
    months = q.groupby(["state", "day"], bins={"day": pd.period_range("2013-01", "2013-02", freq="M")}).size()
    assert months.to_dict() == {("CA", pd.Period("2013-01")): 50, ("NY", pd.Period("2013-01")): 59}
    known = protected(table(), epsilon=10**4, delta=1e-4, schema={"sex": {"keys": ["f"]}}).dp(**SURE)
    assert known.groupby(["state", "sex"]).size().to_dict() == {("CA", "f"): 20, ("NY", "f"): 10}
    mean = known.groupby(["state", "sex"])["cost"].mean(bounds=(0, 50))
    assert list(mean.index) == [("CA", "f"), ("NY", "f")]


def test_listed_columns_are_not_looked_for():
    q = opened().dp(**SURE)
    keys = {"state": ["NY", "TX"], "sex": ["f"]}
    assert list(q.groupby(["state", "sex"], keys=keys).size().index) == [("NY", "f"), ("TX", "f")]
    allowed = pd.DataFrame({"state": ["TX"], "sex": ["f"]})
    assert list(q.groupby(["state", "sex"], keys=allowed).size().index) == [("TX", "f")]
    assert len(q.groupby(["old", "state"], keys={"state": ["NY"]}).size()) == 2  # a bool column has no other keys


def test_unique_gives_a_public_table_of_combinations():
    frame = opened()
    found = frame.dp(**SURE).unique(["state", "sex"])
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == ["state", "sex"]
    assert list(found.itertuples(index=False, name=None)) == list(FOUND)
    sizes = frame.dp(epsilon=50).groupby(["state", "sex"], keys=found).size()
    assert sizes.to_dict() == FOUND
    same = frame.dp(epsilon=50).groupby(["sex", "state"], keys=found).size()
    assert same["f", "CA"] == 20
    assert json.loads(found.to_json())["value"]["columns"] == ["state", "sex"]
    assert isinstance(repr(found) + found._repr_html_(), str)
    kinds = frame.dp(**SURE).unique(["old", "day", "sex"])
    assert kinds.dtypes.astype(str).tolist() == ["bool", "datetime64[ns]", "str"]
    again = frame.dp(epsilon=50).groupby(["old", "day", "sex"], keys=kinds).size()
    assert len(again) == 4
    assert again.sum() == 110


def odd_columns() -> pd.DataFrame:
    mixed = np.empty(120, dtype=object)
    mixed[:] = ["a", 1, 10**30, "\ud800"] * 30
    days = pd.to_datetime(["2013-01-01 00:00", "2013-07-02 03:04"] * 60)
    return pd.DataFrame(
        {
            "objects": mixed,
            "zoned": pd.Series(days).dt.tz_localize("Europe/Berlin"),
            "floats": [0.5, -0.0, 2.5] * 40,
            "categories": pd.Categorical([1, 2, None] * 40),
            "durations": pd.to_timedelta([1, 2] * 60, unit="h"),
            "large": pd.array([2**64 - 1, 1] * 60, dtype="UInt64"),
        }
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("one", "two"), list(itertools.permutations(odd_columns().columns, 2)))
def test_found_combinations_of_odd_columns_are_found_again_as_public_ones(one, two):
    frame = protected(odd_columns(), epsilon=10**4, delta=1e-4)
    sizes = frame.dp(**SURE).groupby([one, two]).size()
    listed = frame.dp(epsilon=50).groupby([one, two], keys=frame.dp(**SURE).unique([one, two])).size()
    assert sizes.index.equals(listed.index)
    assert sizes.tolist() == listed.tolist()
    assert sizes.sum() == (80 if "categories" in (one, two) else 120)


def test_no_rows_and_no_combinations():
    for rows in (slice(0), slice(1), slice(101, None)):
        frame = protected(table().iloc[rows].reset_index(drop=True), epsilon=10**4, delta=1e-4)
        groups = frame.dp(**SURE).groupby(["state", "sex"])
        for answer in (groups.size(), groups.count("cost"), groups["cost"].mean(bounds=(0, 9))):
            assert len(answer) == 0
            assert list(answer.index.names) == ["state", "sex"]
            assert isinstance(answer.index, pd.MultiIndex)
        assert groups.size().dtype == np.int64
        found = frame.dp(**SURE).unique(["state", "sex"])
        assert (found.shape, found.columns.tolist()) == ((0, 2), ["state", "sex"])
        for answer in (groups.size(), found):
            assert isinstance(repr(answer) + answer.to_json() + answer._repr_html_(), str)
        with pytest.raises(ArgumentValueError, match="needs rows"):
            frame.dp(epsilon=1).groupby(["state", "sex"], keys=found)


def test_nothing_is_said_of_combinations_that_are_left_out():
    """Rare ones may have cells of their own, or common cells that are rare together."""
    said = set()
    for rare in ([], [("RI", "f")], [("NY", "x")], [("RI", None)] * 9, [(f"s{i}", f"t{i}") for i in range(99)]):
        common = [("NY", "m")] * 50 + [("CA", "f")] * 40
        frame = pd.DataFrame([*rare, *common], columns=["state", "sex"], dtype="str").assign(cost=1)
        q = protected(frame, epsilon=10**4, delta=1e-4).dp(**SURE)
        for release in (q.groupby(["state", "sex"]).size(), q.unique(["state", "sex"])):
            said.add((release.to_json(), repr(release), release._repr_html_()))
    crossed = pd.DataFrame([*common, ("NY", "f"), ("CA", "m")], columns=["state", "sex"], dtype="str").assign(cost=1)
    q = protected(crossed, epsilon=10**4, delta=1e-4).dp(**SURE)
    for release in (q.groupby(["state", "sex"]).size(), q.unique(["state", "sex"])):
        said.add((release.to_json(), repr(release), release._repr_html_()))
    assert len(said) == 2


def test_a_ledger_gives_them_again_after_a_restart(tmp_path):
    terms = {"epsilon": 10**4, "delta": 1e-4, "ledger": tmp_path / "books.dpledger", "version": "1", "name": "keys"}
    asked = [
        lambda q: q.groupby(["day", "state", "old"]).size(),
        lambda q: q.unique(["day", "sex", "old"]),
        lambda q: q.groupby(["sex", "state"], keys={"sex": ["m", "f"]})["cost"].sum(bounds=(0, 9)),
    ]
    answers = []
    for _ in range(2):
        frame = table()
        session = frame.dp.protect(**terms)
        answers.append([ask(frame.dp(**SURE)).value for ask in asked])
        assert str(session.spent).startswith("epsilon=150;")
        session.close()
    assert all(one.equals(two) for one, two in zip(*answers, strict=True))


def test_more_combinations_of_cells_than_64_bits_number():
    """Twelve columns of 40 values each have 40**12 combinations, of which 40 are there."""
    names = [f"c{i}" for i in range(12)]
    frame = pd.DataFrame({name: np.repeat(np.arange(40) * (i + 1) % 41, 5) for i, name in enumerate(names)})
    frame["cost"] = np.repeat(np.arange(40), 5)
    q = protected(frame, epsilon=10**4, delta=1e-4).dp(epsilon=200, delta=1e-9)
    for answer, truth in (
        (q.groupby(names).size(), frame.groupby(names).size()),
        (q.groupby(names)["cost"].sum(bounds=(0, 40)), frame.groupby(names)["cost"].sum()),
    ):
        assert list(answer.index) == list(truth.index)
        assert np.allclose(answer, truth, atol=40 * 40 / 100)  # 40 scales of the noise
    assert list(q.unique(names).itertuples(index=False, name=None)) == list(truth.index)


# ------------------------------------------------------------------------------------------------------------ refusals
def test_a_price_without_delta_is_refused_with_the_line_to_type(monkeypatch):
    frame = opened()
    finding = (
        r", or discover .*: df.dp\((epsilon=1(.54)?|within=5), delta=1e-5\).groupby\(\['state', 'sex'\](, keys=.*)?\)"
    )
    cases = [
        (lambda q: q.groupby(["state", "sex"]), r"'state': .*keys=\{'state': \['A', 'B'\], 'sex'.*" + finding),
        (lambda q: q.groupby(["state", "sex"], keys={"sex": ["f"]}), "'state': .*" + finding),
        (
            lambda q: q.unique(["state", "sex"]),
            r"delta: df.dp\(epsilon=1(.54)?, delta=1e-5\).unique\(\['state', 'sex'\]\)",
        ),
    ]
    for ask, line in cases:
        for price in ({"epsilon": 1}, {"rho": 1}, {"within": 5}):
            with refused(monkeypatch, frame, ArgumentTypeError, line):
                ask(frame.dp(**price))


GROUPS = ["state", "sex"]


@pytest.mark.parametrize(
    ("ask", "error", "match"),
    [
        (
            lambda q: q.groupby(GROUPS, other=True),
            ArgumentTypeError,
            r"of every column: groupby\(\['state', 'sex'\], keys=",
        ),
        (lambda q: q.groupby(GROUPS, keys={"sex": ["f"]}, null=True), ArgumentTypeError, "of every column"),
        (lambda q: q.groupby(GROUPS, keys={"city": ["f"]}), ArgumentValueError, r"that groupby\(\) does not use"),
        (lambda q: q.groupby(GROUPS, keys={"sex": []}), ArgumentValueError, "'sex': keys must not be empty"),
        (lambda q: q.groupby(GROUPS, keys=["f"]), ArgumentTypeError, "a dict by column"),
        (lambda q: q.groupby(["state", "state"]), ArgumentValueError, "must differ"),
        (lambda q: q.groupby(["state", "city"]), ArgumentValueError, "no column named 'city'"),
        (lambda q: q.groupby(GROUPS)["cost"].mean(), ArgumentTypeError, "public bounds"),
        (
            lambda q: q.groupby(GROUPS, keys={"sex": ["f"]})["cost"].mean(bounds="private"),
            ArgumentTypeError,
            r"needs bounds: .groupby\(\['state', 'sex'\], keys=\{'sex': \['f'\]\}\)\['cost'\].mean\(bounds=",
        ),
        (
            lambda q: q.groupby(GROUPS).median("cost", bounds=(0, 9)),
            ArgumentTypeError,
            r"keys=\{...\}\): discovered ones",
        ),
        (lambda q: q.groupby(GROUPS).nunique("cost"), ArgumentTypeError, "discovered ones take size"),
        (lambda q: q.groupby(GROUPS).agg({"cost": ["mean"]}), ArgumentTypeError, r"keys=\{...\}\).agg"),
        (lambda q: q.groupby(GROUPS).mode("cost", keys=[1]), ArgumentTypeError, "mode.. of groups needs listed keys"),
        (lambda q: q.groupby("state").mode("cost", keys=[1]), ArgumentTypeError, "mode.. of groups needs listed keys"),
        (lambda q: q.groupby("state").histogram("cost", bins=[0, 1]), ArgumentTypeError, "histogram.. of groups needs"),
        (lambda q: q.unique(["state"]), ArgumentTypeError, "a list of several that differ"),
        (lambda q: q.unique([]), ArgumentTypeError, "several that differ"),
        (lambda q: q.unique(["sex", "sex"]), ArgumentTypeError, "several that differ"),
        (lambda q: q.unique(["sex", ["state"]]), ArgumentTypeError, "column name first"),
        (lambda q: q.unique(["sex", "city"]), ArgumentValueError, "no column named 'city'"),
    ],
)
def test_what_does_not_fit_is_refused(ask, error, match, monkeypatch):
    frame = opened()
    with refused(monkeypatch, frame, error, match):
        ask(frame.dp(**SURE))


def test_a_hundred_columns_are_found_together_and_no_more(monkeypatch):
    names = [f"c{i}" for i in range(101)]
    frame = protected(pd.DataFrame(dict.fromkeys(names, [1] * 30)), epsilon=10**4, delta=1e-4)
    for ask in (lambda q: q.groupby(names), lambda q: q.unique(names)):
        with refused(monkeypatch, frame, ArgumentValueError, "at most 100 columns"):
            ask(frame.dp(**SURE))
    assert frame.dp(**SURE).unique(names[:100]).shape == (1, 100)
    assert frame.dp(**SURE).groupby(names[:100]).sum("c100", bounds=(0, 1)).index.tolist() == [(1,) * 100]

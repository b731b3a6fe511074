"""Bad inputs B67-B72: odd frames, odd ledgers, seeds that there are not."""

from __future__ import annotations

import copy
import pickle
import warnings

import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

import pandas_dp
from pandas_dp import LedgerError, UnverifiedFrameError

BIG = 1000  # an epsilon at which noise is far below the tolerance


@pytest.mark.parametrize("name", ["seed", "random_state"])
def test_b67_no_seeds(monkeypatch, name):
    df = protected()
    for ask in (
        lambda: df.dp(epsilon=1, **{name: 0}),
        lambda: df.dp(epsilon=1).count(**{name: 0}),
        lambda: df.dp(epsilon=1).mean("pay", bounds=(0, 1), **{name: 0}),
        lambda: df.dp.protect(epsilon=1, **{name: 0}),
    ):
        with refused(monkeypatch, df, TypeError, name):
            ask()


def test_b68_frames_that_changed(monkeypatch):
    def assign_beside(df):
        df["new"] = 1

    def overwrite(df):
        df.loc[0, "pay"] += 1

    def sort(df):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            df.sort_values("pay", inplace=True)

    def swap_index(df):
        df.index = df.index[::-1]

    def replace(df):
        df["pay"] = df["pay"] * 1

    for change in (
        overwrite,
        sort,
        swap_index,
        replace,
    ):  # not looked at: whether anything is new is private
        df = protected(epsilon=10**6)
        change(df)
        assert abs(df.dp(epsilon=10**5).sum("pay", bounds=(0, 5000)) - people()["pay"].sum()) < 1
    df = protected()
    assign_beside(df)
    df.dp(epsilon=1).mean("pay", bounds=(0, 1))
    with refused(
        monkeypatch, df, pandas_dp.ArgumentValueError, r"'new' was put into this frame after .*assign\(new=lambda"
    ):
        df.dp(epsilon=1).mean("new", bounds=(0, 1))


DATED = [
    pd.to_datetime(["2026-01-01", "2026-01-02"]),
    pd.PeriodIndex(["2026-01", "2026-02"], freq="M"),
    pd.to_timedelta(["1 days", "1 days 02:00:00"]),
]


@pytest.mark.parametrize("names", DATED, ids=lambda names: type(names).__name__)
def test_columns_named_by_dates_are_refused_as_a_part_of_one_names_several(monkeypatch, names):
    part = "1 days" if isinstance(names, pd.TimedeltaIndex) else "2026"
    table, text = pd.DataFrame([[1, 2], [3, 4]], columns=names), r"(df|table)\.columns\.astype\('str'\)"
    for terms in ({}, {"unit": part, "max_rows": 1}, {"schema": {part: {"bounds": (0, 1)}}}):
        with pytest.raises(pandas_dp.ArgumentTypeError, match=text):
            table.copy().dp.protect(epsilon=1, name=fresh(), **terms)
    with pytest.raises(pandas_dp.ArgumentTypeError, match=text):
        table.dp.preview(epsilon=1).count(part)
    renamed = protected(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "b"]))
    renamed.columns = names
    renamed.dp(epsilon=1)["a"].mean(bounds=(0, 1))  # as it was protected
    plain = protected(table.set_axis(names.astype("str"), axis=1))
    plain.dp(epsilon=1).count(plain.columns[0])
    lookup = pd.DataFrame([[1, 2], [3, 4]], columns=names)
    labelled = protected(pd.DataFrame({part: [1, 2]}))
    with refused(monkeypatch, labelled, pandas_dp.ArgumentValueError, "the lookup has no column"):
        labelled.dp.merge(lookup, on=part)


def test_b69_multiplied_rows_are_refused_and_bounded_once_adopted(monkeypatch):
    df = protected(epsilon=10**6, unit="pid", max_rows=2)
    made = [df.merge(df, on="pid"), pd.concat([df, df]), df.loc[[0, 0, 0]], df.reindex([0, 0, 1])]
    for frame in made:
        with refused(monkeypatch, df, UnverifiedFrameError):
            frame.dp(epsilon=1).count()
    twice = pd.concat([df, df], ignore_index=True)
    df.dp.session.adopt(twice, reason="every row stands twice")
    release = twice.dp(epsilon=BIG).count()
    assert release == 2 * df["pid"].nunique()
    assert release.lineage == "vouched"
    with pytest.raises(ValueError, match="pid"):
        df.dp.session.adopt(df[["pay"]].copy(), reason="without its unit")
    with pytest.raises(TypeError, match="reason"):
        df.dp.session.adopt(twice.copy(), reason="")


def test_b70_filtered_frames(monkeypatch):
    df = protected()
    texts = set()
    for frame in (
        df[df.age > 40],
        df[df.age > -1],
        df.head(1),
        df.head(100),
        df.query("age > -1"),
        df.iloc[:],
        df[:],
    ):
        with refused(monkeypatch, df, UnverifiedFrameError) as caught:
            frame.dp(epsilon=1).count()
        texts.add(str(caught.value))
    with refused(monkeypatch, df, UnverifiedFrameError):
        df.groupby("sex").apply(lambda g: g.dp(epsilon=1).count())
    assert len(texts) == 1
    assert texts.pop().startswith(f"{UnverifiedFrameError.TEXT}\n")
    kept = df.dp.query("age >= 18")
    kept.dp(epsilon=1).count()
    df.dp(epsilon=1).count()
    assert df.dp.session.spent == "epsilon=2"
    assert kept.dp.session is df.dp.session


@pytest.mark.parametrize("name", ["nodir/x.dpledger", "", ":memory:", "file:x?mode=ro", "../x.dpledger"])
def test_b71_ledger_paths(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keep").mkdir()
    before = sorted(p.name for p in tmp_path.parent.iterdir())
    with pytest.raises(LedgerError):
        people().dp.protect(epsilon=1, name=fresh(), ledger=name or tmp_path / "keep")
    assert [p.name for p in tmp_path.iterdir()] == ["keep"]
    assert sorted(p.name for p in tmp_path.parent.iterdir()) == before


def test_b71_files_that_are_no_ledger_of_these_terms(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a ledger")
    with pytest.raises(LedgerError):
        people().dp.protect(epsilon=1, ledger=text)
    assert text.read_text() == "not a ledger"
    file = tmp_path / "a.dpledger"
    used = people()
    used.dp.protect(epsilon=1, ledger=file)
    used.dp(epsilon=0.1).count()
    for terms in (
        {"epsilon": 2},
        {"epsilon": 1, "neighbors": "replace_one"},
        {"epsilon": 1, "unit": "pid", "max_rows": 2},
    ):
        with pytest.raises(LedgerError):
            people().dp.protect(**terms, ledger=file)


TOKENS = ["tok1aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "tok2bbbbbbbbbbbbbbbbbbbbbbbbbbbb"]


def test_b72_nothing_of_the_data_shows():
    df = pd.DataFrame({"name": TOKENS * 1723, "pay": [123456.5, 654321.25] * 1723})
    protected(df, epsilon=10**6)
    df.dp(epsilon=1).histogram("name", keys=["x"])  # none near 3446, which noise could make
    df.dp(epsilon=1).mean("pay", bounds=(0, 1))
    priced = df.dp(epsilon=1)
    objects = [
        df.dp,
        priced,
        priced["pay"],
        priced.groupby("name", keys=["x"]),
        df.dp.session,
        df.dp.session.releases,
    ]
    for thing in objects:
        html = getattr(thing, "_repr_html_", lambda: "")()
        shown = [repr(thing), str(thing), html or "", repr(dir(thing)), repr(getattr(thing, "__dict__", ""))]
        for text in shown:
            assert not any(token in text for token in [*TOKENS, "3446", "123456.5", "654321.25"])
    assert "epsilon=2" in repr(df.dp.session)
    for copier in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            copier(df.dp.session)
    assert isinstance(pandas_dp.dp(df), type(df.dp))


LONG = (
    "range(10**9)",
    "range(10**20)",
)  # of which a list would take all memory, and which have no length that Python tells


@pytest.mark.parametrize("long", LONG)
@pytest.mark.parametrize(
    "call",
    [
        "df.dp(epsilon=1).groupby('ok', keys={}).size()",
        "df.dp(epsilon=1).crosstab('ok', 'age', keys={{'age': {}}})",
        "df.dp(epsilon=1).histogram('age', bins={})",
        "df.dp(epsilon=1).quantile('age', {}, bounds=(0, 90))",
        "df.dp(epsilon=1).select({}, score='age >= candidate')",
        "df.dp(epsilon=1)[['age']].mean(bounds={})",
        "df.dp(epsilon=1).agg({{'age': {}}})",
        "df.dp(epsilon=1).assign(z=lambda d: d.age.isin({})).count()",
        "df.dp.partition('age', {}, epsilon=1)",
        "df.dp.protect(epsilon=3, name='long', schema={{'age': {{'keys': {}}}}})",
        "df.dp.protect(epsilon=3, name='long', plan={})",
    ],
)
def test_a_range_that_no_memory_holds_is_refused_before_a_list_is_made_of_it(call, long):
    df = pd.DataFrame({"age": [31, 45, 62], "ok": [True, False, True]})
    df.dp.protect(epsilon=3, name=fresh())
    with pytest.raises(pandas_dp.ArgumentValueError, match="no call takes a range of more than 10,000,001 numbers"):
        eval(call.format(long))
    assert df.dp.session.spent == "epsilon=0"

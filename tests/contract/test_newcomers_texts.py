"""What newcomers tripped over when asking: texts that say what to type, nothing read or charged."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, LedgerError

# -- arguments --------------------------------------------------------------------------------------------------


def days() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "stay": pd.to_timedelta([1, 2, 3], unit="h"),
            "day": pd.to_datetime(["2013-01-31", "2013-02-01", "2013-03-01"]),
            "ok": [True, False, True],
            "income": [1.0, 2.0, 3.0],
            "ward": ["a", "b", "a"],
        }
    )


@pytest.mark.parametrize("bound", [5, 5.0, True, "5", "5.5", 5j])
def test_durations_need_their_unit(monkeypatch, bound):
    df = protected(days())
    line = r'bounds=\(pd\.Timedelta\("0h"\), pd\.Timedelta\("5h"\)\)'
    for ask in (df.dp(epsilon=1).mean, df.dp(epsilon=1).sum, df.dp(epsilon=1).median):
        with refused(monkeypatch, df, ArgumentTypeError, line):
            ask("stay", bounds=("0h", bound))
    with refused(monkeypatch, df, ArgumentTypeError, r'pd\.Timedelta\("90 min"\)'):
        df.dp(epsilon=1).histogram("stay", bins=[0, 1, 2])
    df.dp(epsilon=1).mean("stay", bounds=("0 min", pd.Timedelta("5h")))


@pytest.mark.parametrize("bound", ["03/04/2013", "3.4.2013", "Jan 3 2013", "today", "now", "04-03-2013", "13.2013"])
def test_dates_have_the_year_first(monkeypatch, bound):
    df = protected(days())
    with refused(monkeypatch, df, ArgumentTypeError, r"year first: .*, bounds=\('2026-01-01', '2027-01-01'\)"):
        df.dp(epsilon=1).mean("day", bounds=(bound, "2014-01-01"))
    with refused(monkeypatch, df, ArgumentTypeError, "year first: '2026-01-31'"):
        df.dp(epsilon=1).histogram("day", keys=[bound])


@pytest.mark.parametrize(
    "bound", ["2013", "2013-01", "2013-01-05", "2013/1/5", "2013-01-05 12:30", "2013-01-05T12:30:00.25"]
)
def test_dates_that_are_plain(bound):
    df = protected(days(), epsilon=10**6)
    answer = df.dp(epsilon=10**5).mean("day", bounds=(bound, "2014-01-01"))
    assert abs(answer.value - pd.Timestamp("2013-02-10")) < pd.Timedelta("1 h")  # noise of a minute
    assert bound in answer.query.call


def test_text_is_no_key_of_true_and_false(monkeypatch):
    df = protected(days(), epsilon=10**6)
    with refused(monkeypatch, df, ArgumentTypeError, r"True and False, not text: .*, keys=\[False, True\]"):
        df.dp(epsilon=1).histogram("ok", keys=["True", "False"])
    assert df.dp(epsilon=10**4).histogram("ok").tolist() == [1, 2]


def test_durations_are_keys_in_any_spelling():
    df = protected(days(), epsilon=10**6)
    assert df.dp(epsilon=10**4).histogram("stay", keys=["1h", pd.Timedelta("2h"), "5h"]).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("column", "facts", "match"),
    [
        ("income", {"bounds": (10, 0)}, "lower end and a larger upper one"),
        ("income", {"bounds": (0, 1, 2)}, "pair"),
        ("income", {"bounds": ("a", "b")}, "pair of numbers, not of text"),
        ("income", {"bounds": (0, float("nan"))}, "finite"),
        ("income", {"bounds": (0, 10), "step": 0}, "step"),
        ("income", {"step": -1}, "step"),
        ("income", {"keys": ["a"]}, "numbers, not text"),
        ("income", {"keys": [1, 1]}, "twice"),
        ("income", {"nulls": "zero"}, "nulls"),
        ("stay", {"bounds": (0, 5)}, "Timedelta"),
        ("day", {"bounds": ("01/02/2013", "2014-01-01")}, "year first"),
        ("day", {"step": 1}, "step"),
        ("ok", {"keys": ["yes"]}, "True and False"),
        ("ward", {"bounds": (0, 1)}, r"numbers or dates; .*'keys': \['A', 'B'\]"),
        ("ward", {"step": 1}, "numbers or dates"),
        ("ward", {"keys": []}, "empty"),
        ("ward", {"nulls": "a"}, "nulls"),
    ],
)
def test_facts_of_a_schema_are_checked_when_protecting(column, facts, match):
    df, name = days(), fresh()
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=match) as caught:
        df.dp.protect(epsilon=1, name=name, schema={column: facts})
    assert str(caught.value).startswith(f"schema of {column!r}: ")
    assert not hasattr(df.dp, "session")
    session = df.dp.protect(epsilon=2, name=name)  # nothing was opened
    assert len(session.releases) == 1
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=match):
        days().dp.protect(session=session, schema={column: facts})


def test_facts_that_fit_are_taken():
    schema = {
        "income": {"bounds": (0, None), "step": 1, "nulls": 0, "keys": [1.0, 2.0]},
        "stay": {"bounds": ("0h", "5h"), "step": pd.Timedelta("1h")},
        "day": {"bounds": ("2013-01-01", pd.Timestamp("2014-01-01"))},
        "ok": {"bounds": (0, 1)},
        "ward": {"keys": ["a", 3]},
    }
    df = protected(days(), schema=schema)
    df.dp(epsilon=1).mean("stay")
    with pytest.raises(ArgumentValueError, match=r"'incme'.*did you mean 'income'"):
        days().dp.protect(epsilon=1, name=fresh(), schema={"incme": {}})
    with pytest.raises(ArgumentValueError, match="did you mean 'ward'"):
        days().dp.protect(epsilon=1, name=fresh(), unit="wards", max_rows=1)


def test_a_histogram_of_numbers_asks_for_bins(monkeypatch):
    df = protected(days())
    lines = {"income": r"bins=range\(0, 101, 10\)", "day": r"bins=pd\.date_range", "stay": r"bins=pd\.timedelta_range"}
    for column, line in lines.items():
        with refused(monkeypatch, df, ArgumentTypeError, rf"histogram\(column, {line}"):
            df.dp(epsilon=1).histogram(column)
    with refused(monkeypatch, df, ArgumentTypeError, r"value_counts\('income', keys=\[0, 1, 2\]\)"):
        df.dp(epsilon=1).value_counts("income")
    with refused(monkeypatch, df, ArgumentTypeError, r"histogram\('ward', keys=\['A', 'B'\]\)"):
        df.dp(epsilon=1).histogram("ward")


def test_a_misspelt_column_is_told_the_closest(monkeypatch):
    df = protected(days())
    said = r"no column named 'incme'; did you mean 'income'\?"
    for ask in (
        lambda: df.dp(epsilon=1).mean("incme", bounds=(0, 1)),
        lambda: df.dp(epsilon=1)["incme"],
        lambda: df.dp(epsilon=1).count("incme"),
        lambda: df.dp(epsilon=1).groupby("incme", keys=[1]),
    ):
        with refused(monkeypatch, df, ArgumentValueError, said):
            ask()
    for step in (
        lambda: df.dp.query("incme > 1"),
        lambda: df.dp.drop("incme"),
        lambda: df.dp(epsilon=1).filter(lambda d: d.incme > 1),
        lambda: df.dp.rename({"incme": "x"}),
    ):
        with refused(monkeypatch, df, ArgumentValueError, r"there is no column 'incme'; did you mean 'income'\?"):
            step()
    with refused(monkeypatch, df, ArgumentValueError, "no column named 'xyzzy'$"):
        df.dp(epsilon=1).count("xyzzy")


# -- names that pandas has --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("aggregate", r"\.agg\(\{'pay': \['mean', 'std'\]\}"),
        ("hist", r"\.histogram\('age', bins=\[0, 50, 100\]\)"),
        ("head", "rows are never released"),
        ("iloc", "rows are never released"),
        ("values", "rows are never released"),
        ("apply", r"sample_and_aggregate\(function"),
        ("join", r"before df\.dp\.protect"),
        ("shift", r"before df\.dp\.protect"),
        ("dt", r"\.assign\(month=lambda d: d\.when\.dt\.month\)"),
        ("cut", r"\.assign\(band=lambda d: d\.age\.cut\("),
        ("skew", r"your own function: \.sample_and_aggregate\(function"),
        ("value_count", r"did you mean 'value_counts'\?"),
        ("age", r"'age' is a column; select it: df\.dp\(epsilon=0\.5\)\['age'\]"),
    ],
)
def test_names_of_pandas_are_answered_with_what_there_is(monkeypatch, name, said):
    df = protected()
    with refused(monkeypatch, df, AttributeError, said):
        getattr(df.dp(epsilon=1), name)
    assert not hasattr(df.dp(epsilon=1), name)
    if name != "age":
        with refused(monkeypatch, df, AttributeError, said):
            getattr(df.dp, name)


def test_names_of_pandas_on_a_column_and_on_groups(monkeypatch):
    df = protected()
    with refused(
        monkeypatch, df, ArgumentTypeError, r": df\.dp\(epsilon=1\)\['age'\]\.agg\('mean', bounds=\(lower, upper\)\)$"
    ):
        df.dp(epsilon=1)["age"].agg("mean")
    with refused(
        monkeypatch, df, AttributeError, r"\.query\(\"sex == 'f'\"\)\.corr\(\['age', 'pay'\], bounds=\{'age': \("
    ):
        _ = df.dp(epsilon=1).groupby("sex", keys=["f"]).corr
    with refused(monkeypatch, df, AttributeError, r"a question needs a price: df\.dp\(epsilon=0\.5\)\.mean"):
        df.dp.mean("age", bounds=(0, 1))


def test_names_with_underscores_are_simply_missing():
    df = protected()
    for thing in (df.dp, df.dp(epsilon=1), df.dp(epsilon=1)["age"], df.dp(epsilon=1).groupby("sex", keys=["f"])):
        for name in ("__dataframe__", "_repr_html_", "__deepcopy__", "_nothing"):
            with pytest.raises(AttributeError) as caught:
                getattr(thing, name)
            assert str(caught.value) == name


def test_groups_show_their_column():
    groups = protected().dp(epsilon=1).groupby("sex", keys=["f"])
    assert repr(groups).endswith(".groupby('sex')")
    assert repr(groups["age"]).endswith(".groupby('sex')['age']")


# -- steps ------------------------------------------------------------------------------------------------------


def test_a_step_that_touches_the_unit_column_is_refused_where_it_is_written(monkeypatch):
    df = protected(unit="pid", max_rows=3)
    for step in (
        lambda p: p.drop("pid"),
        lambda p: p.assign(pid=1),
        lambda p: p.rename({"pid": "who"}),
        lambda p: p.eval("pid = age"),
        lambda p: p.query("age > 1").fillna({"pid": 0}),
    ):
        with refused(monkeypatch, df, ArgumentValueError, "steps must leave the unit column 'pid'"):
            step(df.dp(epsilon=1))


def test_facts_follow_a_column_to_its_new_name():
    df = pd.DataFrame({"x": [1.0, None, 3.0, None], "y": [1.0, 1.0, 2.0, 2.0]})
    schema = {"x": {"bounds": (0, 10), "nulls": 5}, "y": {"bounds": (-5, 5)}}
    protected(df, epsilon=10**6, schema=schema)
    ask = lambda frame: frame.dp(epsilon=10**4)  # noqa: E731
    true = pytest.approx(3.5, abs=0.01)
    before, after = ask(df).rename({"x": "z"}).mean("z"), ask(df.dp.rename({"x": "z"})).mean("z")
    assert before == after == true
    assert df.dp.session.spent == "epsilon=10000"  # one question, however it is spelled
    swapped = df.dp.rename({"x": "y", "y": "x"})
    assert ask(swapped).mean("y") == true
    assert ask(swapped).mean("x") == pytest.approx(1.5, abs=0.01)
    assert ask(swapped.dp.rename({"y": "x", "x": "y"})).mean("x") == true
    assert ask(df).rename({"x": "y", "y": "w"}).mean("y") == true
    with pytest.raises(ArgumentTypeError, match="bounds"):
        ask(df).rename({"x": "z"}).assign(x=1.0).mean("x")


# -- answers ----------------------------------------------------------------------------------------------------


def test_an_interval_unpacks_into_its_ends():
    answer = protected().dp(epsilon=1).count()
    lower, upper = answer.interval()
    assert lower < answer < upper
    assert answer.interval(0.5).level == 0.5


def test_bounds_of_text_are_told_how_numbers_are_typed(monkeypatch):
    df = protected(days())
    with refused(
        monkeypatch,
        df,
        ArgumentTypeError,
        r"pair of numbers, not of text: df\.dp\(epsilon=1\)\.mean\('income', bounds=\(0, 100\)\)",
    ):
        df.dp(epsilon=1).mean("income", bounds=("0", "100"))


def test_columns_without_a_name_in_text_are_renamed_first(monkeypatch):
    df = protected(pd.DataFrame({1: [1.0, 2.0], "a": [1, 2]}))
    for ask in (lambda d: d.mean(1, bounds=(0, 1)), lambda d: d.median(1, bounds=(0, 1))):
        with refused(
            monkeypatch, df, ArgumentTypeError, r"rename the columns first: df\.columns = df\.columns\.astype"
        ):
            ask(df.dp(epsilon=1))
    df.columns = df.columns.astype("str")
    df = protected(pd.DataFrame(df))
    df.dp(epsilon=1).mean("1", bounds=(0, 1))


def test_a_level_of_the_index_is_no_column(monkeypatch):
    df = protected(days().set_index("ward"))
    for ask in (lambda d: d.groupby("ward", keys=["a", "b"]), lambda d: d.histogram("ward", keys=["a"])):
        with refused(
            monkeypatch, df, ArgumentValueError, r"'ward' is a level of the index.*df = df\.reset_index\(\) before"
        ):
            ask(df.dp(epsilon=1))


def test_periods_are_made_dates_first(monkeypatch):
    df = protected(days().assign(month=lambda d: d["day"].dt.to_period("M")))
    with refused(monkeypatch, df, ArgumentTypeError, r"df\[column\] = df\[column\]\.dt\.to_timestamp\(\)"):
        df.dp(epsilon=1).mean("month", bounds=("2013-01-01", "2014-01-01"))


def test_a_column_of_groups_is_selected_in_brackets(monkeypatch):
    df = protected(days(), delta=1e-6)
    said = r"'income' is a column; select it: \.groupby\('ward', keys=\[\.\.\.\]\)\['income'\]"
    with refused(monkeypatch, df, AttributeError, said):
        df.dp(epsilon=1).groupby("ward", keys=["a", "b"]).income
    with refused(monkeypatch, df, AttributeError, "There are: agg, count, .*mean, median"):
        _ = df.dp(epsilon=1).groupby("ward", keys=["a", "b"])["income"].skewed


def test_a_damaged_ledger_says_what_to_do(tmp_path):
    path = tmp_path / "a.dpledger"
    session = days().dp.protect(epsilon=1, name="a", ledger=path)
    session._ledger.close()
    path.write_bytes(path.read_bytes()[:4096] + b"x" * 4096)
    with pytest.raises(LedgerError, match=r"Restore the file from a back-up.*or ask under another ledger.*stays spent"):
        days().dp.protect(epsilon=1, name="a", ledger=path)


def test_periods_as_keys_are_told_that_they_are_bins():
    df = people()
    session = df.dp.protect(epsilon=1, name=fresh())
    months = r"pd\.period_range\('2013-01', '2013-02', freq='M'\)"
    line = rf"periods are bins: df\.dp\(epsilon=1\)\.groupby\('when', bins={months}\)\.size\(\)$"
    with pytest.raises(ArgumentTypeError, match=line):
        df.dp(epsilon=1).groupby("when", keys=pd.period_range("2013-01", "2013-02", freq="M")).size()
    assert session.spent == "epsilon=0"


def test_tables_say_which_rows_do_not_count():
    """A mean of some rows of each person is not that of all rows, nor is a share."""
    df = people()
    df.dp.protect(epsilon=1000, unit="pid", max_rows=2, name=fresh())
    ask, keys = df.dp(epsilon=5), {"sex": ["f", "m"], "city": ["x", "y"]}
    grouped = ask.groupby("sex", keys=["f", "m"])
    answers = [
        grouped.agg(mean=("age", "mean"), n=("age", "count"), bounds={"age": (0, 100)}),
        grouped.agg({"age": ["count"]}),
        ask.agg({"age": ["sum", "mean"]}, bounds={"age": (0, 100)}),
        ask.crosstab("sex", "city", keys=keys, margins=True),
        grouped.agg({"age": ["mean"]}, bounds={"age": (0, 100)}),
        ask.crosstab("sex", "city", keys=keys, normalize="index"),
    ]
    for answer in answers:
        assert re.search(
            r"\n  (at most 2 rows of each|all rows of each 'pid' count, together as at most 2)", repr(answer)
        )


@pytest.mark.parametrize("name", ["budget", "spent", "left", "releases", "report", "extend"])
def test_what_belongs_to_the_session_is_said_to(name):
    df = protected()
    with pytest.raises(AttributeError, match=rf"belongs to the session: df\.dp\.session\.{name}($|\()"):
        getattr(df.dp, name)
    with pytest.raises(AttributeError, match=rf"df\.dp\.protect\(epsilon=3\), then df\.dp\.session\.{name}$"):
        getattr(people().dp, name)


def test_a_protected_frame_shows_every_bound_on_a_unit():
    some = {"epsilon": 3, "unit": "pid", "max_rows": 10}
    assert "(uses at most 10 of them; add/remove)" in repr(protected(**some).dp)
    shown = "(uses at most 10 of them, in at most 3 groups, at most 5 in each; add/remove)"
    assert shown in repr(protected(**some, max_groups=3, max_rows_per_group=5).dp)


def test_size_in_agg_is_told_from_count():
    df = protected()
    for frame in (df.dp(epsilon=1), df.dp(epsilon=1).groupby("sex", keys=["f", "m"])):
        with pytest.raises(ArgumentValueError, match=r"to count all rows, ask \.size\(\)"):
            frame.agg({"age": ["size", "mean"]}, bounds={"age": (0, 100)})


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (lambda d: d.dp(epsilon=1).value_counts("sex", keys=[...]), "value_counts('sex', keys=['A', 'B'])"),
        (lambda d: d.dp(epsilon=1).histogram("age", bins=[0, ..., 100]), "histogram('age', bins=range(0, 101, 10))"),
        (lambda d: d.dp(epsilon=1).mean("age", bounds=(0, ...)), "mean('age', bounds=(0, 100))"),
        (lambda d: d.dp(epsilon=1).median("age", candidates=[1, ...]), "candidates=[10, 20]"),
        (lambda d: d.dp(epsilon=...), "epsilon=0.5"),
        (lambda d: d.dp.protect(epsilon=...), "epsilon=3"),
        (lambda d: d.dp.protect(epsilon=3, name="..."), "name='visits'"),
        (lambda d: d.dp.session.extend(9, reason="..."), "the value itself: why, in your own words"),
        (lambda d: d.dp.session.adopt(d.copy(), reason=" . . . "), "the value itself: why, in your own words"),
        (
            lambda d: d.dp.assign(x=lambda t: t.age.isin([...])),
            "assign: 'x': ... is a placeholder; type the value itself",
        ),
    ],
)
def test_dots_of_advice_are_no_argument(typed, line):
    """Keys of ``...`` were counted, at their price, and a reason of dots was on record for ever."""
    df = protected(epsilon=3)
    session = df.dp.session
    with pytest.raises(ArgumentTypeError, match="is a placeholder; type the value itself") as caught:
        typed(df)
    assert str(caught.value).endswith(line)
    assert (session.spent, len(session.releases)) == ("epsilon=0", 1)


def test_warnings_are_told_at_the_line_that_was_typed_and_each_time_that_something_is_charged_again():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        name = fresh()
        for _ in range(3):  # the same cell, run again
            df = people()
            df.dp.protect(epsilon=3, name=name, table="visits", version="a" * 32)
            df = people()
            df.dp.protect(epsilon=3, name=name)
    assert {warned.filename for warned in caught} == {__file__}
    told = [str(warned.message)[:30] for warned in caught]
    assert len([text for text in told if text.startswith("this version looks like")]) == 3
    assert len([text for text in told if text.startswith(f"{name!r} answers")]) == 2


def test_the_package_warns_by_one_helper_alone():
    """Another place would have to know how many of its frames stand above the user's."""
    folder = Path(pandas_dp.__file__).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    assert [name for name, text in texts.items() if re.search(r"warnings\.warn(_explicit)?\(", text)] == ["written.py"]

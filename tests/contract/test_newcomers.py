"""What newcomers tripped over: mistakes that can be undone, texts that say what to type, nothing read or charged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, LedgerError, NoSessionError, UnverifiedFrameError

ROOT = Path(pandas_dp.__file__).parent.parent


# -- the session ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    """Name and ledger of a budget of its own."""
    return {"name": fresh(), "ledger": None if request.param == "memory" else tmp_path / "a.dpledger"}


def test_a_forgotten_unit_can_be_added_while_nothing_was_asked(place):
    df = people()
    session = df.dp.protect(epsilon=3, **place)
    assert df.dp.protect(epsilon=3, unit="pid", max_rows=5, **place) is session
    assert session.unit.column == "pid"
    df.dp(epsilon=10**-3).count()
    assert session.releases["kind"].tolist() == ["open", "open", "query"]
    assert session.releases["query"][0].startswith("unit=None")
    assert session.releases["query"][1].startswith("unit='pid', max_rows=5")
    with pytest.raises(LedgerError, match="unit='pid', not None: of a used budget it stays what it is"):
        df.dp.protect(epsilon=3, **place)


def test_a_wrong_total_can_be_corrected_while_nothing_was_asked(place):
    df = people()
    session = df.dp.protect(epsilon=30, **place)
    kept = df.dp.query("age > 20")
    df.dp.protect(epsilon=3, **place)
    assert session.left == "epsilon=3"
    kept.dp(epsilon=1).count()  # frames of the same unit stay protected
    df.dp.protect(epsilon=3, **place)
    for terms in ({"epsilon": 2}, {"epsilon": 30, "delta": 1e-6}, {"epsilon": 3, "neighbors": "replace_one"}):
        with pytest.raises(LedgerError):
            df.dp.protect(**terms, **place)
    assert session.left == "epsilon=2"


def test_an_answer_for_nothing_fixes_the_terms():
    """The number of rows was public under replace_one: under add_remove it would not have been."""
    df = people()
    name = fresh()
    df.dp.protect(epsilon=3, neighbors="replace_one", name=name)
    assert df.dp(epsilon=1).count() == len(df)
    with pytest.raises(LedgerError, match="neighbors='replace_one'"):
        df.dp.protect(epsilon=3, name=name)


def test_frames_made_under_another_unit_are_not_answered():
    """A step may have written the column that became the unit."""
    df = people()
    name = fresh()
    session = df.dp.protect(epsilon=10**6, name=name)
    forged, other = df.dp.assign(pid=lambda d: d.age * 0), people()
    other.dp.protect(session=session)
    df.dp.protect(epsilon=10**6, unit="pid", max_rows=1, name=name)
    for frame in (forged, other):
        with pytest.raises(UnverifiedFrameError):
            frame.dp(epsilon=1).count()
    assert df.dp(epsilon=10**5).count() == df["pid"].nunique()


def test_only_one_table_has_a_public_number_of_rows_however_often_terms_are_replaced():
    df = pd.DataFrame({"name": ["bob", "carl"] * 50})
    name = fresh()
    df.dp.protect(epsilon=3, neighbors="replace_one", name=name)
    kept = df[df.name != "bob"]
    with pytest.raises(LedgerError):  # another table than the one that opened the budget does not change its terms
        kept.dp.protect(epsilon=4, neighbors="replace_one", name=name)
    kept.dp.protect(epsilon=3, neighbors="replace_one", name=name)
    kept.dp(epsilon=1).count()
    assert df.dp.session.spent == "epsilon=1"
    assert df.dp(epsilon=1).count() == 100
    again = people()
    session = again.dp.protect(epsilon=3, name=fresh())
    again.dp.protect(epsilon=3, neighbors="replace_one", name=session.name)
    assert again.dp(epsilon=1).count() == len(again)  # the table that opened the budget still opened it
    assert session.spent == "epsilon=0"


TWO_PROCESSES = """
import sys
sys.path.insert(0, {root!r})
import pandas as pd, pandas_dp
df = pd.DataFrame({{"pid": [1, 1, 2], "x": [1.0, 2.0, 3.0]}})
df.dp.protect(epsilon=3, unit="pid", max_rows=1, name="shared", ledger={ledger!r})
"""


def test_another_process_does_not_replace_the_terms(tmp_path):
    """Whoever typed the terms may have promised them to somebody: only the same table in the same process corrects them."""
    ledger = str(tmp_path / "shared.dpledger")
    df = people()
    session = df.dp.protect(epsilon=3, name="shared", ledger=ledger)
    code = TWO_PROCESSES.format(root=str(ROOT), ledger=ledger)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "LedgerError" in done.stderr
    assert df.dp(epsilon=1).count().unit.column is None
    assert session.spent == "epsilon=1"


def test_another_table_does_not_raise_the_total():
    one, two, name = people(), pd.DataFrame({"x": [1.0, 2.0]}), fresh()
    one.dp.protect(epsilon=1, name=name)
    with pytest.raises(LedgerError):
        two.dp.protect(epsilon=100, name=name)
    assert one.dp.session.left == "epsilon=1"
    read_again = people()
    read_again.dp.protect(epsilon=2, unit="pid", max_rows=3, name=name)  # the same cell, typed right
    assert read_again.dp.session.left == "epsilon=2"


AFTER_A_SLIP = """
import sys
sys.path.insert(0, {root!r})
import warnings, pandas as pd, pandas_dp
warnings.simplefilter("ignore")
df = pd.DataFrame({{"pid": [1, 1, 2], "x": [1.0, 2.0, 3.0]}})
try:
    df.dp(epsilon=1).mean("x")
except pandas_dp.ArgumentTypeError:
    print(df.dp.session.unit.column, end=" ")
df.dp.protect(epsilon=3, unit="pid", max_rows=2)
print(df.dp.session.unit.column, df.dp.session.left)
"""


def test_a_first_question_that_was_refused_leaves_the_terms_open():
    """It opened the implicit session, of which nothing was asked."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER_A_SLIP.format(root=str(ROOT))], capture_output=True, text=True, check=True
    )
    assert done.stdout == "None pid epsilon=3\n"


def test_once_used_the_error_says_what_can_be_done():
    df = protected(epsilon=3, name=(name := fresh()))
    df.dp(epsilon=1).count()
    with pytest.raises(LedgerError) as caught:
        df.dp.protect(epsilon=3, unit="pid", max_rows=5, name=name)
    for said in ("unit=None, not 'pid'", "df.dp.session.close()", "df.dp.protect(..., name='...')", "adds up"):
        assert said in str(caught.value)
    df.dp.session.close()  # the way out that it names
    df.dp.protect(epsilon=3, unit="pid", max_rows=5, name=fresh())
    df.dp(epsilon=1).count()


def test_a_lower_total_is_not_told_to_extend():
    df = protected(epsilon=3, name=(name := fresh()))
    df.dp(epsilon=1).count()
    with pytest.raises(
        LedgerError, match=r"a total can only be raised\. Type epsilon=3.*name, df.dp.session.close\(\)"
    ) as caught:
        df.dp.protect(epsilon=2, name=name)
    assert "extend" not in str(caught.value)
    with pytest.raises(LedgerError, match=r"protect\(epsilon=3, \.\.\.\)\.extend\(to=4, reason='\.\.\.'\)"):
        df.dp.protect(epsilon=4, name=name)
    df.dp.protect(epsilon=3, name=name).extend(to=4, reason="as the error says")
    assert df.dp.session.left == "epsilon=3"


def test_cells_that_protect_and_extend_can_be_run_again(place):
    for _ in range(3):  # read, protect, ask, extend, ask, extend: the whole notebook
        df = people()
        session = df.dp.protect(epsilon=1, **place)
        df.dp(epsilon=1).count()
        session.extend(to=2, reason="second wave")
        df.dp(epsilon=1).mean("age", bounds=(0, 100))
        session.extend(to=2.5, reason="third wave")
    assert (session.spent, session.left) == ("epsilon=2", "epsilon=0.5")
    assert session.releases["kind"].tolist() == ["open", "query", "amend", "query", "amend"]
    df.dp.protect(epsilon=2, **place)
    assert session.left == "epsilon=0.5"


@pytest.mark.parametrize(
    ("terms", "error", "match"),
    [
        ({"to": 2}, ArgumentValueError, r"epsilon=3 and can only be raised.*name='other'"),
        ({"to": "5"}, ArgumentTypeError, "to must be a number"),
        ({"to": -1}, ArgumentValueError, "to must lie"),
        ({"to_delta": 1}, ArgumentValueError, "to_delta"),
        ({}, ArgumentTypeError, r"extend\(to=5, reason='\.\.\.'\)"),
        ({"to": 5, "reason": " "}, ArgumentTypeError, "reason"),
        ({"to": 5, "reason": None}, ArgumentTypeError, "reason"),
    ],
)
def test_extend_refuses(monkeypatch, terms, error, match):
    df = protected(epsilon=3)
    with refused(monkeypatch, df, error, match):
        df.dp.session.extend(**{"reason": "why", **terms})
    assert df.dp.session.left == "epsilon=3"


def test_a_pure_budget_can_be_given_a_delta_and_then_pays_gaussian_noise():
    df = protected(epsilon=3, name=(name := fresh()))
    df.dp(epsilon=0.5).count()
    with pytest.raises(pandas_dp.BudgetExceededError, match=r"session\.extend\(to_delta=1e-6, reason='\.\.\.'\)"):
        df.dp(rho=0.01).count()
    with pytest.raises(LedgerError, match=r"extend\(to_delta=0\.000001, reason='\.\.\.'\)"):
        df.dp.protect(epsilon=3, delta=1e-6, name=name)
    session = df.dp.session
    for _ in range(2):
        session.extend(to_delta=1e-6, reason="as the error says")
    assert session.budget.accountant == "hybrid"
    assert session.spent.startswith("epsilon=0.5")
    df.dp(rho=0.01).count()
    df.dp.protect(epsilon=3, delta=1e-6, name=name)
    df.dp.protect(epsilon=3, name=name)
    session.extend(to=4, to_delta=3e-6, reason="more")
    assert session.budget == pandas_dp.core.filters.Budget.of(4, pandas_dp.kinds.exact_number(3e-6, ""))
    assert len(session.releases) == 5


def test_completion_shows_what_a_user_may_type():
    session = protected().dp.session
    shown = [name for name in dir(session) if not name.startswith("_")]
    assert " ".join(shown) == "adopt budget close extend id left name releases schema spent unit"
    session.close()
    with pytest.raises(NoSessionError):
        session.extend(to=11, reason="too late")


def test_what_is_spent_is_exact_or_says_that_it_is_not():
    from fractions import Fraction

    df = protected(epsilon=2)
    df.dp(epsilon=Fraction(1, 3)).count()
    assert (df.dp.session.spent, df.dp.session.left) == ("epsilon=1/3", "epsilon=5/3")
    df.dp(epsilon=Fraction(1, 10007)).count()
    assert df.dp.session.spent == "epsilon about 0.333"


def test_left_says_how_many_more_calls_fit_where_divergences_are_counted():
    df = protected(epsilon=3, delta=1e-6)
    session = df.dp.session
    assert session.spent == "epsilon=0"
    assert session.left.endswith("about 40 more calls at epsilon=0.1")
    df.dp(epsilon=0.3).count()
    calls = int(session.left.split("about ")[-1].split()[0])
    assert session.left.endswith(f"about {calls} more calls at epsilon=0.3")
    df.dp(epsilon=0.3).count()  # the stored answer
    assert session.left.endswith(f"about {calls} more calls at epsilon=0.3")
    for _ in range(calls):
        df.dp(epsilon=0.3, fresh=True).count()
    with pytest.raises(pandas_dp.BudgetExceededError):
        df.dp(epsilon=0.3, fresh=True).count()
    assert session.left.endswith("about 0 more calls at epsilon=0.3")
    assert len(session.spent) < 60


def test_the_record_shows_questions_as_they_are_typed():
    df = protected(epsilon=100, schema={"city": {"keys": ["x", "y"]}})
    priced = df.dp(epsilon=1)
    calls = {
        "query(\"age > 20 and sex == 'f'\").count()": lambda: priced.query("age > 20 and (sex == 'f')").count(),
        "eval('rate = pay / (age + 1)').mean('rate', bounds=(0, 100))": lambda: priced.assign(
            rate=lambda d: d.pay / (d.age + 1)
        ).mean("rate", bounds=(0, 100)),
        "histogram('age', bins=[0, 50, 100])": lambda: priced.histogram("age", bins=range(0, 101, 50)),
        "histogram('age', bins=[... 101 values])": lambda: priced.histogram("age", bins=range(101)),
        "histogram('when', bins=['2013-01-01', '2013-01-31 12:00:00'])": lambda: priced.histogram(
            "when", bins=[pd.Timestamp("2013-01-01"), "2013-01-31 12:00"]
        ),
        "mode('city', keys=['x', 'y'])": lambda: priced.mode("city"),
        "value_counts('sex', keys=['f', 'm'])": lambda: priced.value_counts("sex", keys=["f", "m"]),
        "groupby('sex', keys=['f', 'm'])['age'].mean(bounds=(0, 100))": lambda: priced.groupby("sex", keys=["f", "m"])[
            "age"
        ].mean(bounds=(0, 100)),
        "mean('when', bounds=('2013-01-01', '2014-01-01'))": lambda: priced.mean(
            "when", bounds=("2013-01-01", pd.Timestamp("2014-01-01"))
        ),
    }
    for ask in calls.values():
        ask()
    assert df.dp.session.releases["query"].tolist()[1:] == list(calls)


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


@pytest.mark.parametrize("bound", ["03/04/2013", "3.4.2013", "Jan 3 2013", "today", "now", "04-03-2013", "2013-13-01"])
def test_dates_have_the_year_first(monkeypatch, bound):
    df = protected(days())
    with refused(monkeypatch, df, ArgumentTypeError, r"year first: bounds=\('2013-01-01', '2014-01-01'\)"):
        df.dp(epsilon=1).mean("day", bounds=(bound, "2014-01-01"))
    with refused(monkeypatch, df, ArgumentTypeError, "year first: '2013-01-31'"):
        df.dp(epsilon=1).histogram("day", keys=[bound])


@pytest.mark.parametrize(
    "bound", ["2013", "2013-01", "2013-01-05", "2013/1/5", "2013-01-05 12:30", "2013-01-05T12:30:00.25"]
)
def test_dates_that_are_plain(bound):
    df = protected(days())
    df.dp(epsilon=1).mean("day", bounds=(bound, "2014-01-01"))


def test_text_is_no_key_of_true_and_false(monkeypatch):
    df = protected(days(), epsilon=10**6)
    with refused(monkeypatch, df, ArgumentTypeError, r"True and False, not text: keys=\[False, True\]"):
        df.dp(epsilon=1).histogram("ok", keys=["True", "False"])
    assert df.dp(epsilon=10**4).histogram("ok").tolist() == [1, 2]


def test_durations_are_keys_in_any_spelling():
    df = protected(days(), epsilon=10**6)
    assert df.dp(epsilon=10**4).histogram("stay", keys=["1h", pd.Timedelta("2h"), "5h"]).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("column", "facts", "match"),
    [
        ("income", {"bounds": (10, 0)}, "lower end first"),
        ("income", {"bounds": (0, 1, 2)}, "pair"),
        ("income", {"bounds": ("a", "b")}, "bounds must be a number"),
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
    assert df.dp.session is None
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
        with refused(monkeypatch, df, ArgumentTypeError, rf"histogram\('{column}', {line}"):
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
        ("min", r"\.quantile\('column', 0\.01, bounds=\(lower, upper\)\)"),
        ("max", r"\.quantile\('column', 0\.99, bounds=\(lower, upper\)\)"),
        ("describe", r"\.mean\(.*\.std\(.*\.quantile\("),
        ("nunique", r"\.histogram\('column', keys=\[\.\.\.\]\)"),
        ("hist", r"\.histogram\('column', bins=\[\.\.\.\]\)"),
        ("head", "rows are never released"),
        ("iloc", "rows are never released"),
        ("values", "rows are never released"),
        ("apply", r"sample_and_aggregate\(function"),
        ("dropna", "missing values are left out"),
        ("dt", r"before df\.dp\.protect"),
        ("corr", "There are: .*count, .*mean, .*median"),
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
    with refused(monkeypatch, df, AttributeError, r"\.quantile\(0\.99, bounds"):
        df.dp(epsilon=1)["age"].max()
    with refused(monkeypatch, df, AttributeError, "There are: .*count, mean"):
        _ = df.dp(epsilon=1).groupby("sex", keys=["f"]).corr
    with refused(monkeypatch, df, AttributeError, r"a question needs a price: df\.dp\(epsilon=0\.5\)\.mean"):
        df.dp.mean("age", bounds=(0, 1))


def test_names_with_underscores_are_simply_missing():
    df = protected()
    for thing in (df.dp, df.dp(epsilon=1), df.dp(epsilon=1)["age"], df.dp(epsilon=1).groupby("sex", keys=["f"])):
        for name in ("__array__", "_repr_html_", "__deepcopy__", "_nothing"):
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

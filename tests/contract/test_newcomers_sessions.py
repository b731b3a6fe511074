"""What newcomers tripped over in a session: mistakes that can be undone, totals that can be raised, the record."""

from __future__ import annotations

import pandas as pd
import pytest
from support import interpreter
from support.frames import fresh, people, protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError, LedgerError, NoSessionError


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
    with pytest.raises(
        LedgerError, match="unit='pid', not None, max_rows=5, not 1: once something was asked, this cannot be changed"
    ):
        df.dp.protect(epsilon=3, **place)


def test_a_wrong_total_can_be_corrected_while_nothing_was_asked(place):
    df = people()
    session = df.dp.protect(epsilon=30, **place)
    kept = df.dp.query("age > 20")
    df.dp.protect(epsilon=3, **place)
    assert session.left == "epsilon=3"
    with pytest.raises(NoSessionError, match="the terms of this budget were replaced: protect the frame again"):
        kept.dp(epsilon=1).count()  # nobody is answered on terms that were not typed for the frame
    df.dp.query("age > 20").dp(epsilon=1).count()
    df.dp.protect(epsilon=3, **place)
    for terms in ({"epsilon": 2}, {"epsilon": 30, "delta": 1e-6}, {"epsilon": 3, "neighbors": "replace_one"}):
        with pytest.raises(LedgerError):
            df.dp.protect(**terms, **place)
    assert session.left == "epsilon=2"


def test_an_answer_for_nothing_fixes_the_terms():
    """The number of rows was public under replace_one: under add_remove it would not have been."""
    df = people()
    name = fresh()
    df.dp.protect(epsilon=3, neighbors="replace_one", rows=True, name=name)
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
        with pytest.raises(NoSessionError, match="were replaced"):
            frame.dp(epsilon=1).count()
    assert df.dp(epsilon=10**5).count() == df["pid"].nunique()


@pytest.mark.parametrize("rows", [True, 99])
def test_a_number_of_rows_is_public_by_the_word_of_the_owner_alone(rows):
    df = pd.DataFrame({"name": ["bob", "carl"] * 50})
    session = df.dp.protect(epsilon=3, neighbors="replace_one", name=fresh())
    assert df.dp.preview(epsilon=1).count().price == "epsilon=1"
    df.dp.protect(session=session, rows=rows)
    assert df.dp(epsilon=1).count() == (100 if rows is True else 99)  # what is typed is never compared
    assert session.spent == "epsilon=0"
    kept = df[df.name != "bob"]
    with pytest.raises(ArgumentValueError, match="made from a protected table, so its number of rows is not public"):
        kept.dp.protect(session=session, rows=True)
    kept.dp.protect(session=session)
    assert kept.dp(epsilon=1).count().lineage == "vouched"
    assert session.spent == "epsilon=1"
    session.close()
    with pytest.raises(ArgumentValueError, match="is not public"):
        kept.dp.protect(epsilon=3, neighbors="replace_one", rows=True, name=fresh())
    with pytest.raises(ArgumentValueError, match=r"was protected before.*rows=1000"):
        df.dp.protect(epsilon=3, neighbors="replace_one", rows=True, name=fresh())
    df.dp.protect(epsilon=3, neighbors="replace_one", rows=100, name=fresh())
    assert df.dp(epsilon=1).count() == 100


@pytest.mark.parametrize(
    "terms", [{}, {"unit": "pid", "max_rows": 2}, {"unit": "pid", "max_rows": 2, "neighbors": "replace_one"}]
)
@pytest.mark.parametrize("rows", [True, False, 5])
def test_where_a_number_of_rows_cannot_be_public(terms, rows):
    whole = (
        r"leave it out$" if "unit" in terms else r"leave it out, or .* add neighbors='replace_one'$"
    )  # never without the unit
    with pytest.raises(ArgumentValueError, match=whole):
        people().dp.protect(epsilon=3, rows=rows, name=fresh(), **terms)


@pytest.mark.parametrize("rows", [0, -1, 2.5, "all", [1]])
def test_a_number_of_rows_is_a_whole_number(rows):
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match="rows"):
        people().dp.protect(epsilon=3, neighbors="replace_one", rows=rows, name=fresh())


TWO_PROCESSES = """
import pandas as pd, pandas_dp
df = pd.DataFrame({{"pid": [1, 1, 2], "x": [1.0, 2.0, 3.0]}})
df.dp.protect(epsilon=3, unit="pid", max_rows=1, name="shared", ledger={ledger!r})
"""


def test_another_process_does_not_replace_the_terms(tmp_path):
    """Whoever typed the terms may have promised them to somebody: only the same table in the same process corrects them."""
    ledger = str(tmp_path / "shared.dpledger")
    df = people()
    session = df.dp.protect(epsilon=3, name="shared", ledger=ledger)
    done = interpreter.run(TWO_PROCESSES.format(ledger=ledger))
    assert "since another process opened it, this cannot be changed" in done.stderr
    assert df.dp(epsilon=1).count().unit.column is None
    assert session.spent == "epsilon=1"


def test_another_table_with_other_terms_switches_the_first_one_off():
    """It does not get more than was typed for it, and whether the two are equal decides nothing."""
    for two in (people(), pd.DataFrame({"x": [1.0, 2.0]})):
        one, name = people(), fresh()
        one.dp.protect(epsilon=1, name=name)
        with pytest.warns(UserWarning, match="replaces the terms of another table"):
            two.dp.protect(epsilon=100, name=name)
        with pytest.raises(NoSessionError, match="were replaced"):
            one.dp(epsilon=1).count()
        assert not hasattr(one.dp, "session")
        with pytest.warns(UserWarning, match="answers for another table already"):
            one.dp.protect(epsilon=100, name=name)
        one.dp(epsilon=1).count()
    read_again = people()
    session = read_again.dp.protect(epsilon=2, unit="pid", max_rows=3, name=(name := fresh()))
    read_again = people()
    # the same cell, typed right: whether the first object is still there is nothing that may be told
    with pytest.warns(UserWarning, match="replaces the terms of another table"):
        read_again.dp.protect(epsilon=1, unit="pid", max_rows=3, name=name)
    assert session.left == "epsilon=1"


def test_the_terms_of_another_table_are_not_replaced_silently_and_the_line_that_is_told_keeps_its_unit(
    tmp_path, monkeypatch
):
    """The name left out twice: the second table took the budget of the first, which was then advised to drop its unit."""
    df, adult = people(), pd.DataFrame({"age": [31, 45]})
    monkeypatch.chdir(tmp_path)
    session = df.dp.protect(epsilon=3, unit="pid", max_rows=10, ledger="a.dpledger")
    line = "df.dp.protect(epsilon=3, unit='pid', max_rows=10, ledger='a.dpledger', name='other', reason='...')"
    with pytest.warns(UserWarning, match="another table") as seen:
        adult.dp.protect(epsilon=3, ledger="a.dpledger")
    assert [str(one.message).partition("under another name: ")[2] for one in seen] == [line]
    with pytest.raises(NoSessionError) as caught:
        df.dp(epsilon=1).count()
    assert f"type {line}; else df.dp.protect(epsilon=3, ledger='a.dpledger')" in str(caught.value)
    eval(line.replace("...", "other people"), {"df": df})
    assert df.dp(epsilon=1).count().unit.column == "pid"
    assert (adult.dp.session, session.left, df.dp.session.left) == (session, "epsilon=3", "epsilon=2")
    assert df.dp.session.releases["kind"].tolist() == ["open", "claim", "query"]
    with pytest.warns(UserWarning, match="name='second'"):  # as 'other' is taken
        people().dp.protect(epsilon=2, ledger="a.dpledger")
    df.dp.session.close()
    session.close()


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_closed_session_shows_the_line_of_its_terms(place, forgotten, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    df = people()
    terms = {"epsilon": 3, "delta": 1e-6, "unit": "pid", "max_rows": 5, "neighbors": "replace_one"}
    session = df.dp.protect(**terms, **place)
    df.dp(epsilon=1).count()
    spent = session.spent
    session.close()
    if forgotten:  # by all but its id, once another session is opened
        people().dp.protect(epsilon=1, name=fresh())
    with pytest.raises(NoSessionError, match="closed; protect it again: ") as caught:
        df.dp(epsilon=1).count()
    with pytest.raises(NoSessionError, match=r"closed; .*unit='pid', max_rows=5"):
        session.extend(to=4, reason="more")
    again = eval(str(caught.value).partition("again: ")[2], {"df": df})
    assert (again.unit, again.budget, again.spent, again.name) == (session.unit, session.budget, spent, session.name)


def test_a_forgotten_ledger_is_told_the_line_that_continues_before_the_one_that_begins_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    df = people()
    session = df.dp.protect(epsilon=3, unit="pid", max_rows=5, ledger="a.dpledger")
    df.dp(epsilon=1).count()
    with pytest.raises(ArgumentValueError, match="already spends from") as caught:
        df.dp.protect(epsilon=3, unit="pid", max_rows=5)
    line, _, other = str(caught.value).partition("To continue it: ")[2].partition(". For another budget: ")
    assert other.startswith("df.dp.session.close()")
    assert eval(line, {"df": df}) is session
    session.close()


@pytest.mark.parametrize("terms", [{"epsilon": 3}, {"epsilon": 3, "delta": 1e-6}, {"rho": 0.5, "delta": 1e-7}])
@pytest.mark.parametrize("asked", [False, True])
def test_the_line_for_a_forgotten_unit_has_the_total_that_was_typed_and_works(terms, asked, place):
    df = people()
    opened = df.dp.protect(**terms, **place)
    if asked:  # of people whose identifiers had another name at first
        df.dp(epsilon=0.1).count()
    df = df.rename(columns={"pid": "patient_id"})
    with pytest.warns(UserWarning, match="protects single rows, and column 'patient_id' looks like") as seen:
        people().rename(columns={"pid": "patient_id"}).dp.protect(**terms, **place)
    (line,) = (str(one.message).partition(", type ")[2] for one in seen if "single rows" in str(one.message))
    assert line.startswith("df.dp.session.close(), since the unit") is asked
    assert line.endswith(", before anything is asked") is not asked
    if asked:
        opened.close()
    session = eval(line.partition("and then ")[2] or line.rpartition(", before")[0], {"df": df})
    assert (session.unit.column, session.unit.rows, session.budget) == ("patient_id", 10, opened.budget)
    session.close()


def test_a_first_table_that_takes_its_budget_back_says_so_too():
    one, two = people(), people()
    one.dp.protect(epsilon=1, name=(name := fresh()))
    for frame, total in ((two, 2), (one, 1)):
        with pytest.warns(UserWarning, match=f"replaces .*epsilon={3 - total}, "):
            frame.dp.protect(epsilon=total, name=name)
    with pytest.raises(NoSessionError, match="epsilon=2, name='"):
        two.dp(epsilon=1).count()


AFTER_A_SLIP = """
import warnings, pandas as pd, pandas_dp
warnings.simplefilter("ignore")
df = pd.DataFrame({"pid": [1, 1, 2], "x": [1.0, 2.0, 3.0]})
try:
    df.dp(epsilon=1).mean("x")
except pandas_dp.ArgumentTypeError:
    print(df.dp.session.unit.column, end=" ")
df.dp.protect(epsilon=3, unit="pid", max_rows=2)
print(df.dp.session.unit.column, df.dp.session.left)
"""


def test_a_first_question_that_was_refused_leaves_the_terms_open():
    """It opened the implicit session, of which nothing was asked."""
    done = interpreter.run(AFTER_A_SLIP)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "None pid epsilon=3\n"


def test_once_used_the_error_says_what_can_be_done():
    df = protected(epsilon=3, name=(name := fresh()))
    df.dp(epsilon=1).count()
    with pytest.raises(LedgerError) as caught:
        df.dp.protect(epsilon=3, unit="pid", max_rows=5, name=name)
    for said in (
        "unit=None, not 'pid'",
        f"after df.dp.session.close(): df.dp.protect(epsilon=3, unit='pid', max_rows=5, name='{name}_2'); the two",
        f"To continue, type\ndf.dp.protect(epsilon=3, name='{name}')",
        "the two budgets add up",
    ):
        assert said in str(caught.value)
    with pytest.raises(LedgerError, match=rf"another name: people\(\)\.dp\.protect\(epsilon=3, .*, name='{name}_2'\)"):
        people().dp.protect(epsilon=3, unit="pid", max_rows=5, name=name)
    df.dp.session.close()  # the way out that it names
    df.dp.protect(epsilon=3, unit="pid", max_rows=5, name=f"{name}_2")
    df.dp(epsilon=1).count()


def test_a_lower_total_is_not_told_to_extend():
    df = protected(epsilon=3, name=(name := fresh()))
    df.dp(epsilon=1).count()
    with pytest.raises(
        LedgerError,
        match=r"(?s)only be raised\..*close\(\): df\.dp\.protect\(epsilon=2, name=.*type\ndf\.dp\.protect\(epsilon=3, name=",
    ) as caught:
        df.dp.protect(epsilon=2, name=name)
    assert "extend" not in str(caught.value)
    with pytest.raises(LedgerError, match=r"df\.dp\.session\.extend\(to=4, reason='\.\.\.'\)"):
        df.dp.protect(epsilon=4, name=name)
    df.dp.protect(epsilon=3, name=name).extend(to=4, reason="as the error says")
    assert df.dp.session.left == "epsilon=3"


def test_cells_that_protect_and_extend_can_be_run_again(place):
    for _ in range(3):  # read, protect, ask, extend, ask, extend: the whole notebook
        df = people()
        session = df.dp.protect(epsilon=1, table="people", version="1", **place)
        df.dp(epsilon=1).count()
        session.extend(to=2, reason="second wave")
        df.dp(epsilon=1).mean("age", bounds=(0, 100))
        session.extend(to=2.5, reason="third wave")
    assert (session.spent, session.left) == ("epsilon=2", "epsilon=0.5")
    assert session.releases["kind"].tolist() == ["open", "query", "amend", "query", "amend"]
    df.dp.protect(epsilon=2, **place)
    assert session.left == "epsilon=0.5"


@pytest.mark.parametrize("plan", [{"0.1": 46}, [(0.1, 46)], ["count"], 0.5, "0.1", {0.1: "46"}, {-1: 3}, [None]])
def test_a_plan_that_is_none_is_told_what_to_type(plan):
    df, name = people(), fresh()
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=r"plan=\{0\.1: 40\}") as caught:
        df.dp.protect(epsilon=3, delta=1e-6, plan=plan, name=name)
    assert "plan=0.5" not in str(caught.value)


@pytest.mark.parametrize(
    ("terms", "error", "match"),
    [
        ({"to": 2}, ArgumentValueError, r"epsilon=3 and can only be raised.*name='other'"),
        ({"to": "5"}, ArgumentTypeError, "to must be a number"),
        ({"to": -1}, ArgumentValueError, "to must lie"),
        ({"to_delta": 1}, ArgumentValueError, "to_delta"),
        ({}, ArgumentTypeError, r"extend\(to=6, reason='\.\.\.'\)"),
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
    with pytest.raises(LedgerError, match=r"extend\(to_delta=1e-6, reason='\.\.\.'\)"):
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
    assert session.budget == pandas_dp.core.budget.Budget.of(4, pandas_dp.facts.kinds.exact_number(3e-6, ""))
    assert len(session.releases) == 5


def test_completion_shows_what_a_user_may_type():
    session = protected().dp.session
    shown = [name for name in dir(session) if not name.startswith("_")]
    assert (
        " ".join(shown)
        == "adopt budget close extend group id left name plot reconcile releases report schema spent unit"
    )
    session.close()
    with pytest.raises(NoSessionError):
        session.extend(to=11, reason="too late")


def test_what_is_spent_is_exact_or_says_that_it_is_not():
    from fractions import Fraction

    df = protected(epsilon=2)
    df.dp(epsilon=Fraction(1, 3)).count()
    assert (df.dp.session.spent, df.dp.session.left) == ("epsilon=1/3", "epsilon=5/3")
    df.dp(epsilon=Fraction(1, 10007)).count()
    assert df.dp.session.spent == "epsilon about 0.334"  # 0.33343: never less than it is


def test_left_says_how_many_more_calls_fit_where_divergences_are_counted():
    df = protected(epsilon=3, delta=1e-6)
    session = df.dp.session
    assert session.spent == "epsilon=0"
    assert session.left.startswith("about 40 more calls at epsilon=0.1, ")
    df.dp(epsilon=0.3).count()
    calls = int(session.left.split("about ")[1].split()[0])
    assert session.left.startswith(f"about {calls} more calls at epsilon=0.3, ")
    df.dp(epsilon=0.3).count()  # the stored answer
    assert session.left.startswith(f"about {calls} more calls at epsilon=0.3, ")
    for _ in range(calls):
        df.dp(epsilon=0.3, fresh=True).count()
    with pytest.raises(pandas_dp.BudgetExceededError):
        df.dp(epsilon=0.3, fresh=True).count()
    assert session.left.startswith("too little for a call at epsilon=0.3, ")
    assert all(len(part) < 60 for part in session.spent.split("; "))


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


OF_OTHERS = {  # terms of the literature that no price and no total has, and the line that is told, which is answered
    "df.dp(zcdp=0.01).count()": "df.dp(rho=0.01)",
    "df.dp(mu=0.1).count()": "df.dp(rho=0.005)",
    "df.dp(sigma=10).count()": "df.dp(within=20)",
    "df.dp(0.5, scale=10).count()": "df.dp(within=20)",
    "df.dp(epsilon=0.1, mechanism='gaussian').count()": "df.dp(rho=0.01)",
    "df.dp(epsilon=0.1, noise='gaussian').count()": "df.dp(rho=0.01)",
}


@pytest.mark.parametrize("typed", OF_OTHERS)
def test_a_price_in_other_terms_is_told_the_one_to_type(typed, monkeypatch):
    df = protected(epsilon=9, delta=1e-6)
    with refused(monkeypatch, df, ArgumentTypeError) as caught:
        eval(typed)
    assert str(caught.value).endswith(OF_OTHERS[typed])
    assert eval(f"{OF_OTHERS[typed]}.count()").mechanism.startswith("discrete")


def test_a_total_in_other_terms_is_told_as_a_rho():
    df = people()
    for typed, rho in (("zcdp=0.5", "0.5"), ("zcdp=0.02", "0.02")):
        with pytest.raises(ArgumentTypeError, match=rf"takes rho=, not \w+=: (df\.dp\.)?protect\(rho={rho}\)$"):
            eval(f"df.dp.protect({typed})")
    with pytest.raises(ArgumentTypeError, match=r"df\.dp\.protect\(epsilon=3, delta=1e-6, accountant='zcdp'\)$"):
        df.dp(epsilon=0.1, accountant="zcdp")
    with pytest.raises(ArgumentTypeError, match=r"df\.dp\.period\('2026-11'\)\.dp\(epsilon=0\.5\)$"):
        df.dp(epsilon=0.1, period="2026-11")


@pytest.mark.parametrize("odd", [0.95, 0.5, 0.1])
@pytest.mark.parametrize("price", [{"epsilon": 0.01}, {"within": 20}], ids=str)
def test_a_confidence_is_not_paid_as_a_delta(price, odd, monkeypatch):
    """At epsilon 0.01 and a delta of 0.95 the noise of a count had a deviation of a quarter of a row."""
    df = protected(epsilon=10**4, delta=0.5)
    for ask in (df.dp, df.dp.preview, pandas_dp.query):
        with refused(
            monkeypatch, df, ArgumentValueError, r"must be below 0\.1.*afterwards, for free: \.interval\(0\.95\)"
        ):
            ask(**price, delta=odd)
    assert df.dp(epsilon=1, delta=0.09).count() is not None


def test_a_part_is_not_told_to_raise_its_total_which_it_cannot():
    df = protected(epsilon=3)
    part = df.dp.allot("team", epsilon=1)
    told = [part.dp.preview(rho=0.01).count().refusal]
    with pytest.raises(BudgetExceededError) as caught:
        part.dp(rho=0.01).count()
    assert [str(caught.value)] == told
    part.dp(epsilon=1).count()
    with pytest.raises(
        BudgetExceededError, match=r"fixed; another part: df\.dp\.allot\('more', epsilon=1\)$"
    ) as caught:
        part.dp(epsilon=1).count("age")
    told += [str(caught.value), part.dp.preview(epsilon=1).count("age").refusal]
    assert not any("extend" in text for text in told)
    with pytest.raises(BudgetExceededError, match=r"df\.dp\.session\.extend\(to_delta=1e-6, reason="):
        df.dp(rho=0.01).count()
    assert df.dp.allot("more", epsilon=1).dp(epsilon=1).count("age") is not None


def test_a_partition_of_units_is_refused_before_its_price_is_asked_for():
    df = protected(epsilon=3, unit="pid", max_rows=3)
    with pytest.raises(ArgumentValueError, match="needs one row per unit"):
        df.dp.partition("sex", ["f", "m"])
    rows = protected(epsilon=3)
    with pytest.raises(
        ArgumentTypeError, match=r"needs epsilon: rows\.dp\.partition\('sex', \['f', 'm'\], epsilon=0\.5\)$"
    ):
        rows.dp.partition("sex", ["f", "m"])


def test_answers_that_a_session_is_to_reconcile_are_told_where_they_go():
    df = protected(epsilon=3)
    one, other = df.dp(epsilon=1).count(), df.dp(epsilon=1).value_counts("sex", keys=["f", "m"])
    for given in ((one, other), ([one, other],)):
        with pytest.raises(ArgumentTypeError, match=r"some alone go into pandas_dp\.reconcile\(\["):
            df.dp.session.reconcile(*given)


def test_the_total_of_a_period_stands_beside_what_is_spent_of_it():
    """It read ``in the day that spent most of 1``."""
    df = pd.DataFrame({"who": ["a", "b"], "when": pd.to_datetime(["2013-01-01", "2013-01-02"])})
    for terms in ({}, {"unit": "who", "max_rows": 1}):
        session = df.dp.protect(epsilon=1, period="D", time="when", name=fresh(), **terms)
        df.dp.period("2013-01-01").dp(epsilon=0.5).count()
        assert "epsilon=0.5 of 1 in the day that spent most" in repr(session)
        assert "most of 1" not in repr(session)
        session.close()

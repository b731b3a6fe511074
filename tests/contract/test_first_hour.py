"""What stopped people in their first hour: one refusal, or none, and then an answer."""

from __future__ import annotations

import re
import shlex
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError, NoSessionError, StreamClosedError
from pandas_dp.__main__ import main
from pandas_dp.aggregates.moments import CUT, Mean
from pandas_dp.core import gate
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.facts.kinds import Kind
from pandas_dp.session import registry

LINE = re.compile(r"df\.dp(?:\.\w+)*\((?:[^()]|\([^()]*\))*\)(?:\.\w+\((?:[^()]|\([^()]*\))*\))*")


def visits() -> pd.DataFrame:
    return pd.DataFrame({"patient_id": np.arange(4000) % 800, "ward": ["A", "B"] * 2000, "cost": 10.0})


def typed(text: str, df: pd.DataFrame, place: int = -1) -> object:
    """Type a line that a text names, by default the last one, with a reason of one's own."""
    return eval(
        LINE.findall(text)[place].replace("reason='...'", "reason='more visits'"), {"df": df, "pandas_dp": pandas_dp}
    )


# ------------------------------------------------------------------------------------------- a budget that nothing was asked on
@pytest.mark.parametrize("ledger", [False, True])
def test_a_budget_in_memory_makes_room_while_nothing_was_asked_on_it(ledger, tmp_path):
    """The line that a warning named, and any other terms, were refused as a second budget."""
    df = visits()
    first = df.dp.protect(epsilon=3, name=fresh())
    place = {"ledger": tmp_path / "a.dpledger"} if ledger else {}
    second = df.dp.protect(epsilon=5, unit="patient_id", max_rows=10, name=fresh(), **place)
    assert df.dp.session is second
    with pytest.raises(NoSessionError, match="this session is closed"):
        first.extend(to=4, reason="more")
    df.dp(epsilon=1).count()
    assert second.spent == "epsilon=1"
    with pytest.raises(ArgumentValueError, match="already spends from the budget"):
        df.dp.protect(epsilon=3, name=fresh())


def test_the_line_for_a_ledger_beside_a_new_budget_is_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = people()
    other.dp.protect(epsilon=2, ledger="visits.dpledger").close()
    df = people()
    with pytest.warns(UserWarning, match="kept in memory") as told:
        df.dp.protect(epsilon=3, name=fresh())
    typed(str(told[0].message), df)
    df.dp(epsilon=1).count()
    assert df.dp.session.left == "epsilon=1"


def test_a_unit_that_is_no_column_is_told_before_what_lacks_beside_it():
    """The line repeated the wrong name, and was refused again."""
    df = visits()
    for lacking in ({"epsilon": 3}, {"max_rows": 5}):
        with pytest.raises(
            ArgumentValueError, match=r"unit='patient' is not a column of this table; did you mean 'patient_id'"
        ):
            df.dp.protect(**lacking, unit="patient", name=fresh())


def test_a_total_that_is_missing_is_named_with_the_ledger_that_was(tmp_path, monkeypatch):
    """The line lost ``ledger=`` and ``name=``: typed, it answered from a second budget, in memory and by rows."""
    monkeypatch.chdir(tmp_path)
    df, place = visits(), {"ledger": "l.dpledger", "name": "visits"}
    with pytest.raises(ArgumentTypeError, match="needs the total") as caught:
        df.dp.protect(**place, unit="patient_id", max_rows=5)
    typed(str(caught.value), df)
    df.dp(epsilon=1).count()
    df.dp.session.close()
    again = visits()
    for said in (place, {"ledger": tmp_path / "l.dpledger"}):
        with pytest.raises(ArgumentTypeError, match=r"# continues: 1 of 3 spent$") as caught:
            again.dp.protect(**said)
    typed(str(caught.value), again)
    assert again.dp.session.left == "epsilon=2"
    assert again.dp.session.unit.rows == 5
    with pytest.raises(ArgumentTypeError, match="needs the total"):
        again.dp.protect(ledger="no\0file")


@pytest.mark.parametrize("how", ["asked", "adopted", "a part", "refused"])
def test_a_budget_that_has_more_to_lose_stays(how, tmp_path):
    """Nothing is let go that was asked, or that answers for another table, nor where the new terms are refused."""
    df = people()
    session = df.dp.protect(epsilon=3, name=fresh())
    held = {
        "asked": lambda: df.dp(epsilon=1).count(),
        "adopted": lambda: session.adopt(df.copy(), reason="a copy"),
        "a part": lambda: df.dp.allot("nightly", epsilon=1),
        "refused": lambda: None,
    }[how]()
    with pytest.raises(ArgumentValueError):
        df.dp.protect(epsilon=5, name=fresh(), **({"unit": "nobody", "max_rows": 3} if how == "refused" else {}))
    assert df.dp.session is session
    assert not session._closed
    del held


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("made", [lambda d: d.copy(), lambda d: d[d.age > 40], lambda d: d.dp.query("age > 40")])
def test_what_pandas_made_of_a_table_goes_with_it_to_the_budget_that_takes_its_place(made, times):
    """It bore the mark of a session that was let go in silence, and got a budget of its own beside that of its people."""
    df = people()
    df.dp.protect(epsilon=3, name=fresh())
    other = made(df)
    for _ in range(times):
        session = df.dp.protect(epsilon=3, name=fresh())
    df.dp(epsilon=3).count()
    with pytest.raises(ArgumentValueError, match=f"made from a table of the budget {session.name!r}"):
        other.dp.protect(epsilon=3, name=fresh())
    with pytest.raises(NoSessionError, match=f"protect it again: .*{session.name!r}"):
        other.dp(epsilon=1).count()
    other.dp.protect(epsilon=3, name=session.name)  # joins it, and is said to be made of its rows
    assert other.dp.session is session
    session.close()
    assert df.copy().dp.protect(epsilon=3, name=fresh()).left == "epsilon=3"  # as whatever its owner closed


def test_files_of_a_budget_that_makes_room_stay_behind_the_one_that_takes_its_place(tmp_path):
    path = tmp_path / "a.parquet"
    people().to_parquet(path)
    df = pandas_dp.read_parquet(path).assign(one=1)
    df.dp.protect(epsilon=3, name=fresh())
    df.attrs.clear()  # where it stood which files it was read from
    df.dp.protect(epsilon=3, name=(name := fresh()))
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{name}'"):
        pandas_dp.read_parquet(path).dp.protect(epsilon=3, name=fresh())


def test_a_budget_that_had_another_table_makes_no_room_even_if_that_is_gone():
    """When it went would show, and Python decides that by the cells of other tables, too."""
    gone, df = people(), people()
    session = df.dp.protect(session=gone.dp.protect(epsilon=3, name=fresh()))
    del gone
    with pytest.raises(ArgumentValueError, match="already spends from the budget"):
        df.dp.protect(epsilon=3, name=fresh())
    assert df.dp.session is session


@pytest.mark.parametrize("asked", [lambda d: d.count(), lambda d: d.above_threshold(5).ask("age > 0")])
def test_a_question_of_another_thread_is_not_answered_beside_the_budget_that_took_the_place_of_its_own(
    asked, monkeypatch
):
    """It had found its session open, waited at the door, and was answered while the table had another budget already."""
    df, release = people(), gate._reserve
    first = df.dp.protect(epsilon=3, name=fresh())

    def meanwhile(*request):
        monkeypatch.undo()
        thread = threading.Thread(target=lambda: df.dp.protect(epsilon=3, name=fresh()))
        thread.start()
        thread.join()
        return release(*request)

    monkeypatch.setattr(gate, "_reserve", meanwhile)
    with pytest.raises((NoSessionError, StreamClosedError), match="closed"):
        asked(df.dp(epsilon=3))
    assert df.dp.session is not first


def test_a_budget_that_another_thread_asks_while_it_makes_room_stays(monkeypatch):
    df = people()
    first = df.dp.protect(epsilon=3, name=fresh())
    monkeypatch.setattr(
        registry, "unasked", lambda session: False
    )  # this look comes after the mark that questions heed
    with pytest.raises(ArgumentValueError, match="another thread is using this budget"):
        df.dp.protect(epsilon=3, name=fresh())
    assert df.dp.session is first
    assert df.dp(epsilon=1).count().spent == "epsilon=1"


def test_a_budget_that_has_a_public_number_of_rows_keeps_its_table():
    """A preview shows the number, and the terms that took their place hid it."""
    df = people()
    session = df.dp.protect(epsilon=3, neighbors="replace_one", rows=True, name=fresh())
    assert "exact" in str(pandas_dp.query(epsilon=1).count().preview(df))
    with pytest.raises(ArgumentValueError, match="already spends from the budget"):
        df.dp.protect(epsilon=3, name=fresh())
    assert df.dp.session is session


def test_another_whole_table_on_the_budget_keeps_it():
    df, other = people(), people()
    session = df.dp.protect(epsilon=3, name=fresh())
    other.dp.protect(session=session)
    with pytest.raises(ArgumentValueError, match="already spends from the budget"):
        df.dp.protect(epsilon=5, name=fresh())
    assert df.dp.session is other.dp.session is session


# ------------------------------------------------------------------------------------------------------- sessions and totals
def test_a_frame_without_a_session_is_told_the_line_that_gives_it_one():
    """It was None, of which Python says that it has no close()."""
    df = people()
    session = df.dp.protect(epsilon=3, name=fresh())
    copied = df.dropna()
    for close in (lambda: copied.dp.session.close(), lambda: copied.dp.session):
        with pytest.raises(AttributeError, match=r"not the one that was protected") as caught:
            close()
        assert session._terms() in str(caught.value)
    session.close()
    with pytest.raises(AttributeError) as caught:
        _ = df.dp.session.left
    assert str(caught.value) == f"the session of this frame is closed; protect it again: {session._terms()}"
    typed(str(caught.value), df)
    assert df.dp.session.left == "epsilon=3"


EXTENDED = [
    lambda s: s.extend(),
    lambda s: s.extend(reason="more"),
    lambda s: s.extend(epsilon=5, reason="more"),
    lambda s: s.extend(delta=1e-6),
    lambda s: s.extend(delta_reserved=1e-7),
    lambda s: s.extend(rho=3),
    lambda s: s.extend(to=2, reason="less"),
    lambda s: s.extend(to="five", reason="more"),
    lambda s: s.extend(to=40, reason=""),
    lambda s: s.extend(to_delta=2, reason="more"),
    lambda s: s.extend(to=40, to_delta=1e-5, reason=None),
]


@pytest.mark.parametrize("delta", [0, 1e-6, 0.7])
@pytest.mark.parametrize("ask", EXTENDED, ids=range(len(EXTENDED)))
def test_what_extend_says_is_typed_and_raises_the_total(ask, delta):
    df = protected(epsilon=11, delta=delta)
    before = df.dp.session.budget
    with pytest.raises(pandas_dp.PandasDPError) as caught:
        ask(df.dp.session)
    typed(str(caught.value), df, 0)
    after = df.dp.session.budget
    assert (after.epsilon, after.delta) > (before.epsilon, before.delta)


@pytest.mark.parametrize(
    ("terms", "used", "price"),
    [
        ({"epsilon": 1}, {"epsilon": 1}, {"epsilon": 0.5}),
        ({"epsilon": 1, "delta": 1e-6}, {"epsilon": 1}, {"epsilon": 0.5}),
        ({"epsilon": 1, "delta": 1e-6, "accountant": "zcdp"}, {"rho": Decimal("0.016")}, {"rho": 1}),
        ({"epsilon": 1, "delta": 1e-6, "accountant": "rdp"}, {"epsilon": "0.2"}, {"rho": 2}),
        ({"epsilon": 3}, {}, {"epsilon": 1, "delta": 1e-5}),
        ({"epsilon": 3, "delta": 1e-6}, {"epsilon": "0.1", "delta": 1e-7}, {"epsilon": 1, "delta": 1e-7}),
    ],
)
def test_what_a_budget_cannot_pay_is_paid_once_the_line_is_typed(terms, used, price):
    df = protected(pd.DataFrame({"g": ["a", "b"] * 5000}), **terms)
    if used:
        df.dp(**used).value_counts("g", **({} if "delta" in used else {"keys": ["a", "b"]}))
    listed = {} if "delta" in price else {"keys": ["b", "a"]}
    for _ in range(40):  # so that nothing at all fits
        try:
            df.dp(**price, fresh=True).value_counts("g", **listed)
        except BudgetExceededError as error:
            if "extend(" in str(error):
                typed(str(error), df)
                break
            fits = re.search(r"(rho|epsilon)=([\d.e-]+)", error.fits)
            df.dp(**{fits[1]: Decimal(fits[2])}, fresh=True).count()
    df.dp(**price, fresh=True).value_counts("g", **listed)


# ------------------------------------------------------------------------------------------------------------- prices and keys
@pytest.mark.parametrize("total", [0, 1e-6])
@pytest.mark.parametrize("delta", [0.09, 0.05])
def test_a_delta_that_promises_nothing_is_not_paid_by_a_larger_total(total, delta):
    """The sentence ended in ``or give it a delta:`` and nothing behind it, or proposed a total delta of 0.5."""
    df = protected(epsilon=3, delta=total)
    with pytest.raises(BudgetExceededError, match=r"delta=1e-7( would fit)? ") as caught:
        df.dp(epsilon=1, delta=delta).unique("sex")
    assert "extend" not in str(caught.value)
    assert ": (" not in " ".join(str(caught.value).split())


def test_what_is_left_once_the_delta_for_keys_is_spent_is_told_without_one():
    """It said that too little is left for a call, though two thirds of the epsilon were."""
    df = protected(epsilon=3, delta=1e-6)
    df.dp(epsilon=1, delta=1e-7).unique("sex")
    assert df.dp.session.left.startswith("about 2 more calls at epsilon=1, and delta=0 for finding keys")
    for _ in range(2):
        df.dp(epsilon=1, fresh=True).count()
    assert df.dp.session.left.startswith("too little for a call at epsilon=1, ")


def test_a_preview_without_a_price_names_a_preview():
    df = protected()
    for ask in (lambda: df.dp.preview(), lambda: df.dp.preview(rho=1, epsilon=1), lambda: df.dp.preview(within=-1)):
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match=r"df\.dp\.preview\(") as caught:
            ask()
        typed(str(caught.value), df).count()
    assert df.dp.session.spent == "epsilon=0"


KEYLESS = [
    lambda d: d.value_counts("ward"),
    lambda d: d["ward"].value_counts(),
    lambda d: d.unique("ward"),
    lambda d: d.mode("ward"),
    lambda d: d.top_k("ward", k=1),
    lambda d: d.histogram("ward"),
    lambda d: d.groupby("ward").size(),
]


@pytest.mark.parametrize("delta", [0, 1e-6, 5e-8])
@pytest.mark.parametrize("ask", KEYLESS, ids=range(len(KEYLESS)))
def test_keys_that_nobody_listed_are_found_after_one_refusal(ask, delta):
    """A budget without a delta took three: one for the budget, one for the price, one for what is reserved of it."""
    df = protected(visits(), epsilon=30, delta=delta, unit="patient_id", max_rows=5)
    with pytest.raises(ArgumentTypeError) as caught:
        ask(df.dp(epsilon=9))
    more = re.search(r"df\.dp\.session\.extend\([^)]*\)", str(caught.value))
    assert (more is None) == (delta > 0)
    if more:
        eval(more[0].replace("...", "to find keys"), {"df": df})
    price = re.findall(r"delta=([\de-]+)\)", str(caught.value))[-1]
    ask(df.dp(epsilon=9, delta=float(price)))


# ------------------------------------------------------------------------------------------------------------ files and schemas
FILES = {
    "latin": ("id,name\n1,M\xfcller\n".encode("latin-1"), {"encoding": "latin-1"}),
    "ragged": (b"id,name\n1,a\n2,b,SECRET,7\n", {"names": list("abcd"), "skiprows": 1}),
    "quote": (b'id,name\n1,"SECRET\n2,b\n', {"quoting": 3}),
    "zip": (b"PK\x03\x04\x00\xff\xfe\x00", None),
    "a dtype": (b"id,name\n1,SECRET\n", {"dtype": {"name": "str"}}),
    "a converter": (b"id,name\n1,SECRET\n", {}),
}
OPTIONS = {"a dtype": {"dtype": {"name": "float64"}}, "a converter": {"converters": {"name": int}}}


@pytest.mark.parametrize("engine", ["c", "pyarrow"])
@pytest.mark.parametrize("name", FILES)
def test_a_csv_file_that_cannot_be_read_is_told_without_a_cell(name, engine, tmp_path):
    """pandas said which cell, in which line, and which byte where."""
    path = tmp_path / "visits.csv"
    content, right = FILES[name]
    path.write_bytes(content)
    if engine == "pyarrow" and name != "ragged":
        return
    with pytest.raises(ArgumentValueError, match=r"cannot be read with these options; it may need encoding=") as caught:
        pandas_dp.read_csv(path, engine=engine, **OPTIONS.get(name, {}))
    assert not re.search(r"SECRET|line \d|position|byte|0x", str(caught.value))
    assert caught.value.__cause__ is caught.value.__context__ is None
    if right is not None:
        assert len(pandas_dp.read_csv(path, **right))


@pytest.mark.parametrize(("key", "what", "freq"), [("2013-01", "month", "M"), ("2013", "year", "Y")])
def test_a_month_is_no_key_among_days(key, what, freq, monkeypatch):
    """It was answered for its first day alone."""
    df = protected(people())
    line = f"bins=pd.period_range({key!r}, {key!r}, freq={freq!r})"
    for ask in (
        lambda d: d.groupby("when", keys=[key]).size(),
        lambda d: d.mode("when", keys=["2013-02-01", key]),
        lambda d: d.crosstab("when", "sex", keys={"when": [key], "sex": ["f"]}),
    ):
        with refused(monkeypatch, df, ArgumentValueError) as caught:
            ask(df.dp(epsilon=1))
        assert f"{key!r} is a {what}, and keys are single days: type '2013-01-01', or" in str(caught.value)
        assert line in str(caught.value)
    eval(f"df.dp(epsilon=1).groupby('when', {line}).size()", {"df": df, "pd": pd})


def test_a_crosstab_of_values_is_told_as_a_pivot_table(monkeypatch):
    """The line that was shown kept the argument that the next refusal was about."""
    df, told = protected(people()), "crosstab() counts rows; for means or sums of a column type "
    keys = {"sex": ["f", "m"], "city": ["x", "y"]}
    for ask in (
        lambda d: d.crosstab("sex", "city", keys=keys, values="age", aggfunc="mean"),
        lambda d: d.crosstab(index="sex", columns="city", keys=keys, values="age", aggfunc="count"),
        lambda d: d.crosstab("sex", "city", keys=keys, values="age", bounds=(0, 100)),
    ):
        with refused(monkeypatch, df, ArgumentTypeError) as caught:
            ask(df.dp(epsilon=1))
        line = str(caught.value).removeprefix(told).replace("(lower, upper)", "(0, 100)")
        assert line.startswith("d.pivot_table('age', ")
        assert eval(line, {"d": df.dp(epsilon=1), "keys": keys}).shape[0] == 2
    with refused(monkeypatch, df, ArgumentTypeError) as caught:
        eval("d.crosstab('sex', 'city', values='age')", {"d": df.dp(epsilon=1)})  # no code to read
    keys = "keys={'sex': ['A', 'B'], 'city': ['A', 'B']}"
    assert str(caught.value) == f"{told}pivot_table('age', 'sex', 'city', {keys}, bounds=(lower, upper))"


def test_a_preview_of_groups_also_tells_the_error_where_the_rows_are_those_of_all():
    """Rows of the table were typed, and read as those of each group."""
    df = protected(people())
    asked = df.dp.preview(epsilon=1, rows=5000).groupby("city", keys=["x", "y", "z", "w"])
    each = df.dp.preview(epsilon=1, rows=1250).groupby("city", keys=["x", "y", "z", "w"])
    for ask in (
        lambda g: g.mean("age", bounds=(0, 100)),
        lambda g: g.std("age", bounds=(0, 100)),
        lambda g: g.agg(m=("age", "mean"), s=("age", "var"), n=("age", "count"), bounds={"age": (0, 100)}),
    ):
        of_one = re.search(r"± [\d,.]+", ask(each).error)[0]
        text = ask(asked).error
        assert text.split("± ")[2].startswith(of_one.removeprefix("± ")), text
        assert "with 5,000 in 4 equal groups" in text
    assert "equal groups" not in df.dp.preview(epsilon=1, rows=5000).mean("age", bounds=(0, 100)).error


def test_slips_with_an_answer_are_told_the_line_to_type():
    """Python's own errors were shown, and of a list with a published file that it was no list."""
    df = protected(people())
    count, sizes = df.dp(epsilon=1).count(), df.dp(epsilon=1).groupby("sex", keys=["f", "m"]).size()
    for answer in (count, sizes):
        with pytest.raises(ArgumentTypeError, match=r"\.interval\(0\.95, of='population'\)$"):
            answer.interval(population=True)
        with pytest.raises(ArgumentTypeError, match=r"write_text\(answer\.to_json\(\)\)$"):
            answer.to_json("a.json")
        for kind in (answer.plot.bar, answer.plot.line):
            with pytest.raises(ArgumentTypeError, match=r"are drawn by \.plot\(\), with error bars"):
                kind()
    with pytest.raises(ArgumentTypeError, match=r"element 1 is not one: a file of an answer, .* pandas_dp\.reconcile"):
        pandas_dp.reconcile([sizes, sizes * 2])


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda d: d.dp(epsilon=1).groupby("sex", keys=["f"], max_groups=4), "d.dp(epsilon=1, max_groups=4).groupby("),
        (lambda d: d.dp.query("sex = 'f'"), "; for equality write =="),
        (lambda d: d.dp.query("sex == 1"), "text is typed in quotes, as in ward == '1'"),
        (lambda d: d.dp(epsilon=1).mean("age", bounds="auto"), "estimate them: bounds='private'"),
        (
            lambda d: d.dp(epsilon=1).quantile(0.5, "age"),
            "takes the column first: d.dp(epsilon=1).quantile('age', 0.5, bounds=(lower, upper))",
        ),
    ],
    ids=["max_groups", "=", "text and number", "auto", "q first"],
)
def test_what_is_typed_of_habit_is_told_what_to_type(ask, told, monkeypatch):
    df = protected(people())
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError)) as caught:
        ask(df)
    assert told in str(caught.value)
    with pytest.raises(ArgumentValueError, match="cannot be read") as caught:
        df.dp.query("sex == 'f' and and age >= 3")
    assert "equal is" not in str(caught.value)


def test_a_column_that_came_later_is_protected_by_the_line_that_is_told():
    df = protected(people())
    df["new"] = 1
    with pytest.raises(ArgumentValueError, match=r"df\.dp\.protect\(session=df\.dp\.session\)") as caught:
        df.dp(epsilon=1).count("new")
    typed(str(caught.value), df)
    df.dp(epsilon=1).count("new")


def test_a_mean_that_noise_moved_to_an_end_of_the_bounds_is_told():
    """It was shown as 0, and so it would be published."""
    lattice, law = Lattice.between(Fraction(0), Fraction(100), 16), DiscreteLaplace(Fraction(10**6))
    mean, row = Mean("cost", lattice, Kind("number")), lattice.cells
    plenty = 400 * row  # of which the noise is a few hundredths
    cases = ((-1, plenty), True), ((plenty, 0), True), ((row, plenty), False), ((10, plenty, -20), True)
    for features, cut in cases:
        assert mean.notes([features, (plenty, plenty, 0)[: len(features)]], row, law, [True, True]) == (CUT,) * cut, (
            features
        )


def test_bins_in_a_schema_are_told_where_they_go():
    with pytest.raises(ArgumentValueError, match=r"not 'bins'; bins go into the question: df\.dp\(") as caught:
        people().dp.protect(epsilon=3, schema={"age": {"bins": [0, 50, 100]}})
    assert "did you mean" not in str(caught.value)
    df = protected(people())
    typed(str(caught.value), df)


# ---------------------------------------------------------------------------------------------------------------- command line
PLAN = """
[budget]
name = "visits"
epsilon = 3

[[queries]]
name = "rows"
price = { epsilon = 0.5 }
ask = "count()"
"""
RUN = ["plan.toml", "--data", "--ledger", "--out", "--version"]
QUERY = ["visits.parquet", "count()", "--epsilon", "--ledger", "--name", "--total"]
VALUES = {"--data": "visits.parquet", "--ledger": "a.dpledger", "--out": "answers", "--version": "1"}
VALUES |= {"--epsilon": "0.5", "--name": "visits", "--total": "3"}


@pytest.mark.parametrize(
    ("command", "given"),
    [
        (command, given)
        for command, known in (("run", RUN), ("query", QUERY))
        for given in ([], *([one] for one in known), *([other for other in known if other != one] for one in known))
        # a price or a total alone that is missing is told as ever, with the one option
        if {*known} - {*given} not in ({"--epsilon"}, {"--total"})
    ],
)
def test_a_command_that_lacks_something_names_all_of_it_in_a_line_that_works(
    command, given, tmp_path, monkeypatch, capsys
):
    """Options that were missing were refused one by one."""
    monkeypatch.chdir(tmp_path)
    visits().to_parquet("visits.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(SystemExit) as end:
        main([command, *(text for one in given for text in ([one, VALUES[one]] if one in VALUES else [one]))])
    told = capsys.readouterr().err
    assert (end.value.code, told.count(f"{command} needs ")) == (2, 1)
    line = told[told.index("pandas-dp " + command) :].partition("; with a version")[0]
    with pytest.raises(SystemExit) as end:
        main(shlex.split(line)[1:])
    assert end.value.code == 0, capsys.readouterr().err


def test_words_that_stand_apart_are_read_and_other_commands_get_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    visits().to_parquet("visits.parquet")
    with pytest.raises(SystemExit) as end:
        main(shlex.split("query visits.parquet --epsilon 1 'count()' --ledger a.dpledger --name a --total 3"))
    assert end.value.code == 0
    with pytest.raises(SystemExit) as end:
        main(["ledger", "show"])
    assert end.value.code == 2
    assert "the following arguments are required: FILE" in capsys.readouterr().err

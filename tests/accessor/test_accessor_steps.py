"""Steps through ``df.dp`` and ``df.dp(epsilon=...)``: one budget, one snapshot, one question however it is spelled."""

from __future__ import annotations

import inspect
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused

import pandas_dp
from pandas_dp.accessor.accessor import Accessor
from pandas_dp.core import gate
from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    UnverifiedFrameError,
)
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.steps import changes
from pandas_dp.steps.steps import RowSteps

TOTAL = 10**6
EXACT = TOTAL // 10  # so large an epsilon that the noise is 0 but for a chance below 1e-1000

TOWNS = pd.DataFrame({"city": ["x", "y", "w"], "town": ["Xanten", "Ystad", "Wien"], "size": [1, 2, 3]})
STEPS = {
    "query": lambda x: x.query("age >= 31 and sex == 'f'"),
    "filter": lambda x: x.filter(pd.col("age") >= 31),
    "assign": lambda x: x.assign(rate=lambda d: d.pay / d.age, wave=2),
    "eval": lambda x: x.eval("rate = pay / age\ntwice = rate * 2"),
    "clip": lambda x: x.clip(20, 60, columns=["age", "pay"]),
    "fillna": lambda x: x.fillna({"pay": 0.0, "city": "nowhere"}),
    "drop": lambda x: x.drop(["city", "sex"]),
    "rename": lambda x: x.rename({"age": "years", "sex": "gender"}),
    "dropna": lambda x: x.dropna(["pay", "age"]),
    "merge": lambda x: x.merge(TOWNS, on="city"),
    "computed": lambda x: x.assign(
        month=lambda d: d.when.dt.month,
        band=lambda d: d.age.cut([0, 30, 99], labels=["young", "old"]),
        initial=lambda d: d.city.str.upper().str[:1],
        paid=lambda d: d.pay.case_when([(d.pay.isna(), -1)]).astype(int),
    ),
}
PLAIN = {
    "query": lambda d: d.query("age >= 31 and sex == 'f'"),
    "filter": lambda d: d[d.age >= 31],
    "assign": lambda d: d.assign(rate=lambda d: d.pay / d.age, wave=2),
    "eval": lambda d: d.eval("rate = pay / age\ntwice = rate * 2"),
    "clip": lambda d: d.assign(age=d.age.clip(20, 60), pay=d.pay.clip(20, 60)),
    "fillna": lambda d: d.assign(pay=d.pay.fillna(0.0), city=d.city.astype(object).fillna("nowhere")),
    "drop": lambda d: d.drop(columns=["city", "sex"]),
    "rename": lambda d: d.rename(columns={"age": "years", "sex": "gender"}),
    "dropna": lambda d: d.dropna(subset=["pay", "age"]),
    "merge": lambda d: d.merge(TOWNS, on="city", how="left").assign(city=d.city),
    "computed": lambda d: d.assign(
        month=d.when.dt.month.astype(float),
        band=pd.cut(d.age, [0, 30, 99], labels=["young", "old"]).astype("str"),
        initial=d.city.astype(object).str.upper().astype(pd.StringDtype("python", na_value=np.nan)),
        paid=np.trunc(d.pay.fillna(-1)).astype("Int64"),
    ),
}
FOUR_STEPS = (
    ("query", ("age > 30",)),
    ("query", ("age < 90",)),
    ("eval", ("half = age / 2",)),
    ("filter", (pd.col("half") > 1,)),
)
each_step = pytest.mark.parametrize("name", STEPS)


@each_step
def test_the_result_is_the_plain_frame_of_pandas_and_still_protected(name):
    df = protected(unit="pid", max_rows=3)
    before = df.copy()
    made = STEPS[name](df.dp)
    assert type(made[:]) is pd.DataFrame
    pd.testing.assert_frame_equal(pd.DataFrame(made), PLAIN[name](people()))
    pd.testing.assert_frame_equal(df, before)
    assert made.dp.session is df.dp.session
    assert df.dp.session.spent == "epsilon=0"


@each_step
def test_a_step_before_and_after_the_price_is_one_question(name):
    df = protected(unit="pid", max_rows=3)
    first = STEPS[name](df.dp).dp(epsilon=0.001).count()
    again = [STEPS[name](df.dp(epsilon=0.001)).count(), STEPS[name](df.dp).dp(epsilon=0.001).count()]
    assert again == [first, first]
    assert df.dp.session.spent == "epsilon=0.001"
    assert list(df.dp.session.releases.kind) == ["open", "query"]
    df.dp(epsilon=0.001).count()  # without the step it is another question
    assert df.dp.session.spent == "epsilon=0.002"


@each_step
def test_releases_say_that_steps_were_declared(name):
    df = protected(epsilon=TOTAL)
    assert df.dp(epsilon=EXACT).count().lineage == "source"
    assert STEPS[name](df.dp).dp(epsilon=EXACT).count().lineage == "declared"
    assert STEPS[name](df.dp(epsilon=EXACT)).count().lineage == "declared"
    adopted = people()
    df.dp.session.adopt(adopted, reason="the same rows")
    assert STEPS[name](adopted.dp).dp(epsilon=EXACT).count().lineage == "vouched"
    assert STEPS[name](adopted.dp(epsilon=EXACT)).count().lineage == "vouched"


def test_a_chain_may_be_cut_anywhere_by_the_price():
    df = protected()
    condition, change = "age > 20", {"rate": lambda d: d.pay / d.age}

    def ask(priced):
        return priced.mean("rate", bounds=(0, 100))

    answers = [
        ask(df.dp(epsilon=0.01).query(condition).assign(**change).fillna({"rate": 0})),
        ask(df.dp.query(condition).dp(epsilon=0.01).assign(**change).fillna({"rate": 0})),
        ask(df.dp.query(condition).dp.assign(**change).dp(epsilon=0.01).fillna({"rate": 0})),
        ask(df.dp.query(condition).dp.assign(**change).dp.fillna({"rate": 0}).dp(epsilon=0.01)),
    ]
    assert len({answer.interval() for answer in answers}) == 1
    assert len(set(map(str, answers))) == 1  # of eight rows most are missing
    assert df.dp.session.spent == "epsilon=0.01"
    ask(df.dp(epsilon=0.01).assign(**change).query(condition).fillna({"rate": 0}))  # the order is part of a question
    assert df.dp.session.spent == "epsilon=0.02"


def test_text_functions_and_pandas_expressions_spell_one_question():
    df = protected()
    limit = 30
    spelled = [
        df.dp(epsilon=0.01).query("age > 30 and sex == 'f'"),
        df.dp(epsilon=0.01).query('30 < age & `sex` == "f"'),
        df.dp(epsilon=0.01).filter(lambda d: (d.age > limit) & (d["sex"] == "f")),
        df.dp(epsilon=0.01).filter((pd.col("age") > 30) & (pd.col("sex") == "f")),
        df.dp.filter(lambda d: (d["age"] > 30) & (d.sex == "f")).dp(epsilon=0.01),
    ]
    assert len({priced.count() for priced in spelled}) == 1
    assert df.dp.session.spent == "epsilon=0.01"
    df.dp(epsilon=0.01).query("age > 30.0 and sex == 'f'").count()
    assert df.dp.session.spent == "epsilon=0.02"


def test_answers_are_about_the_rows_the_steps_give():
    df = protected(epsilon=TOTAL)
    assert df.dp.query("age >= 31").dp(epsilon=EXACT).count() == 5
    assert df.dp(epsilon=EXACT).query("pay.isna()").count() == 1
    rate = df.dp(epsilon=EXACT).fillna({"pay": 0}).assign(rate=pd.col("pay") / 100).mean("rate", bounds=(0, 50))
    assert rate == pytest.approx((people().pay.fillna(0) / 100).mean(), abs=1e-3)
    sizes = df.dp.rename({"city": "town"}).dp(epsilon=EXACT).histogram("town", keys=["x", "y", "z"])
    assert list(sizes) == [4, 2, 2]


# The unit column


TOUCHES = {
    "drop": lambda x: x.drop("pid"),
    "drop among others": lambda x: x.drop(["age", "pid"]),
    "rename": lambda x: x.rename({"pid": "who"}),
    "rename another to it": lambda x: x.rename({"pid": "age", "age": "pid"}),
    "rename all": lambda x: x.rename(str.upper),
    "assign": lambda x: x.assign(pid=1),
    "assign among others": lambda x: x.assign(k=1, pid=lambda d: d.age),
    "eval": lambda x: x.eval("pid = age"),
    "clip": lambda x: x.clip(0, 3, columns="pid"),
    "fillna": lambda x: x.fillna({"pid": 0}),
}
READS = {
    "dropna": lambda x: x.dropna(),
    "merge by it": lambda x: x.merge({"pid": [1, 2], "site": ["a", "b"]}, on="pid"),
}


@pytest.mark.parametrize("name", TOUCHES)
def test_the_unit_column_may_not_be_touched(monkeypatch, name):
    df = protected(unit="pid", max_rows=3)
    kept = df.dp.query("age > 1")
    for frame in (df, kept):
        with refused(monkeypatch, frame, ArgumentValueError, "unit column 'pid'"):
            TOUCHES[name](frame.dp)
        with refused(monkeypatch, frame, ArgumentValueError, "unit column 'pid'"):
            TOUCHES[name](frame.dp(epsilon=1)).count()


def test_the_unit_column_does_not_come_back_under_its_name(monkeypatch):
    df = protected(unit="pid", max_rows=3)
    with refused(monkeypatch, df, ArgumentValueError, "unit column 'pid'"):
        df.dp(epsilon=1).drop("pid").rename({"age": "pid"}).count()


@pytest.mark.parametrize("name", READS)
def test_a_step_may_look_at_the_unit_column(name):
    df = protected(epsilon=TOTAL, unit="pid", max_rows=3)
    assert READS[name](df.dp).dp(epsilon=EXACT).count() == READS[name](df.dp(epsilon=EXACT)).count()


def test_the_unit_column_may_be_read_and_still_bounds_each_unit():
    df = protected(epsilon=TOTAL, unit="pid", max_rows=1)
    assert df.dp.query("pid == 4").dp(epsilon=EXACT).count() == 1  # three rows of one unit
    assert df.dp(epsilon=EXACT).assign(twice=lambda d: d.pid * 2).query("twice >= 6").count() == 3


# The snapshot


@each_step
def test_a_step_starts_from_the_protected_snapshot(name):
    df = protected()
    made = STEPS[name](df.dp)
    df.loc[0, "age"] = 99
    pd.testing.assert_frame_equal(pd.DataFrame(made), PLAIN[name](people()))
    made.dp(epsilon=0.1).count()
    pd.testing.assert_frame_equal(pd.DataFrame(STEPS[name](df.dp)), PLAIN[name](people()))
    assert df.dp.session.spent == "epsilon=0.1"


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("age", d["age"] * 2),
        lambda d: d.__setitem__("age", d["age"].copy()),
        lambda d: setattr(d, "index", d.index[::-1]),
        lambda d: setattr(d, "index", d.index.copy()),
        lambda d: setattr(d, "columns", ["pid", "pay", "age", "sex", "city", "when"]),
    ],
)
def test_a_frame_changed_in_place_answers_as_it_was(change):
    """Whether a change changed anything is private, so none is looked at."""
    df = protected(epsilon=TOTAL)
    change(df)
    assert df.dp.query("age > 40").dp(epsilon=EXACT).count() == 3
    assert df.dp(epsilon=EXACT).query("age > 40").count() == 3
    assert df.dp.fillna({"pay": 0}).dp(epsilon=EXACT).count("pay") == 8


def test_a_column_added_in_place_is_not_part_of_the_table(monkeypatch):
    df = protected()
    df["share"] = df.pay / df.pay.max()
    made = df.dp.query("age > 40")
    assert "share" not in made.columns
    for ask in (lambda: df.dp.query("share > 0.5"), lambda: df.dp(epsilon=1).query("share > 0.5").count()):
        with refused(monkeypatch, df, ArgumentValueError, "share"):
            ask()


def test_a_column_deleted_in_place_is_there():
    df = protected()
    del df["city"]
    assert list(df.dp.query("age > 40").columns) == ["pid", "age", "pay", "sex", "city", "when"]


def test_plain_operations_on_the_result_of_a_step_are_refused():
    df = protected()
    made = df.dp.query("age > 20")
    for derived in (made[made.pay > made.pay.mean()], made.head(2), made.copy(), pickle.loads(pickle.dumps(made))):
        for attempt in (lambda d=derived: d.dp(epsilon=1).count(), lambda d=derived: d.dp.query("age > 30")):
            with pytest.raises(UnverifiedFrameError):
                attempt()
    assert df.dp.session.spent == "epsilon=0"


def test_repeated_labels_and_empty_results_are_ordinary():
    df = protected(people().set_index(pd.Index([0] * 8)), epsilon=TOTAL)
    assert df.dp.query("age > 40").dp(epsilon=EXACT).count() == 3
    none = df.dp.query("age > 400").dp.assign(k=lambda d: d.age * 2)
    assert none.dtypes["k"] == "float64"  # as it would be if a row lacked its age
    assert none.dp(epsilon=EXACT).count() == 0
    answer = none.dp(epsilon=EXACT).query("k > 1").mean("k", bounds=(0, 10))
    assert "too few rows for a value" in repr(answer) or 0 <= answer <= 10


# Lookup tables


def test_a_lookup_is_copied_and_its_content_is_part_of_the_question():
    df, lookup = protected(epsilon=TOTAL), TOWNS.copy()
    before = df.dp(epsilon=EXACT).merge(lookup, on="city")
    query = pandas_dp.query(epsilon=EXACT).merge(lookup, on="city").dropna("town").count()
    again = pandas_dp.query(epsilon=EXACT).merge(TOWNS, on="city").dropna("town").count()
    lookup.loc[0, "town"] = "Xi'an"
    assert list(before.histogram("town").index) == ["Wien", "Xanten", "Ystad"]
    assert list(df.dp(epsilon=EXACT).merge(lookup, on="city").histogram("town").index) == ["Wien", "Xi'an", "Ystad"]
    assert query == again
    spent = df.dp.session.spent
    assert query(df) == 6
    assert again(df) == query(df) == df.dp.merge(TOWNS, on="city").dp(epsilon=EXACT).dropna(["town"]).count() == 6
    assert df.dp.session.spent != spent


def test_keys_and_bounds_of_new_columns_are_known():
    df = protected(epsilon=TOTAL)
    labelled = df.dp.merge(TOWNS, on="city")
    assert list(labelled.dp(epsilon=EXACT).histogram("town")) == [0, 4, 2]
    assert labelled.dp(epsilon=EXACT).mean("size") == pytest.approx(8 / 6, abs=1e-3)
    months = df.dp(epsilon=EXACT).assign(month=lambda d: d.when.dt.month).value_counts("month")
    assert months.tolist()[:3] == [7, 1, 0]
    banded = df.dp(epsilon=EXACT).assign(band=lambda d: d.age.cut([0, 30, 99], labels=["young", "old"]))
    assert list(banded.groupby("band").count()) == [3, 5]


def test_a_plan_keeps_lookups_that_are_dicts():
    asked = pandas_dp.query(epsilon=EXACT).merge({"city": ["x"], "town": ["Xanten"]}, on="city").dropna("town").count()
    plan = pandas_dp.Query.from_dict(json.loads(json.dumps(asked.to_dict())))
    assert plan == asked
    assert plan(protected(epsilon=TOTAL)) == 4
    with pytest.raises(ArgumentTypeError, match="keep this query in code"):
        pandas_dp.query(epsilon=1).merge(TOWNS, on="city").count().to_dict()


def test_a_protected_table_is_no_lookup(monkeypatch):
    df, other = protected(), protected(TOWNS.copy())
    for private in (df, other, other[["city", "town"]], other.dp.dropna("town"), other.copy()):
        for start in (df.dp, df.dp(epsilon=1)):
            with refused(monkeypatch, df, ArgumentValueError, "the lookup is a protected table"):
                start.merge(private, on="city")


# What is refused


def test_a_kept_price_knows_the_table_that_its_frame_stands_for_now():
    df = protected(epsilon=TOTAL)
    p = df.dp(epsilon=EXACT)
    older = p.query("age > 30")
    assert older.assign(x=1).count() == older.count()
    df["w"] = 1.0
    with pytest.raises(ArgumentValueError, match="'w'"):
        older.query("w > 0")
    session = df.dp.session
    df.dp.protect(session=session)
    assert older.query("w > 0").count() == older.count() == (df["age"] > 30).sum()
    assert older.sum("w", bounds=(0, 1)) == pytest.approx(older.count(), abs=0.01)
    del df["w"]
    df.dp.protect(session=session)
    with pytest.raises(ArgumentValueError, match="'w'"):
        older.query("w > 0")


def test_a_kept_price_knows_the_facts_that_were_given_last():
    df = protected(epsilon=TOTAL, schema={"age": {"bounds": (0, 40)}})
    session, older = df.dp.session, df.dp(epsilon=EXACT).query("age > 30").eval("old = age > 60")
    assert older.mean("age") == pytest.approx(np.minimum(df["age"][df["age"] > 30], 40).mean(), abs=0.01)
    df.dp.protect(session=session, schema={"age": {"bounds": (0, 200)}})
    assert older.mean("age") == pytest.approx(df["age"][df["age"] > 30].mean(), abs=0.01)
    df.dp.protect(session=session, schema={})
    with pytest.raises(ArgumentTypeError, match="bounds"):
        older.mean("age")


def test_names_and_dtypes_are_those_of_the_frame_until_it_is_protected():
    df = pd.DataFrame({"age": [31, 45, 62]})
    p = df.dp(epsilon=1)
    step = p.query("age > 40")
    df["w"] = 1.0
    step.query("w > 0")
    del df["w"]
    with pytest.raises(ArgumentValueError, match="'w'"):
        step.query("w > 0")


@pytest.mark.parametrize("table", [FOUR_STEPS, FOUR_STEPS[:1]], ids=["four", "one"])
def test_what_a_step_makes_of_names_and_dtypes_is_worked_out_twice(table, monkeypatch):
    """When its arguments are checked, and once more where somebody asks for it; and its rows are made once."""
    df, sizes = protected(epsilon=TOTAL), []
    for kind in (changes.Filter, changes.Assign):
        made = kind.apply

        def apply(step, frame, made=made):
            sizes.append(len(frame))
            return made(step, frame)

        monkeypatch.setattr(kind, "apply", apply)
    p = df.dp(epsilon=1)
    for name, args in table:
        p = getattr(p, name)(*args)
    p.groupby("sex", keys=["f", "m"])["age"].mean(bounds=(0, 100))
    assert sizes.count(0) == 2 * len(table)
    assert len(sizes) == 3 * len(table)


@pytest.mark.parametrize("name", sorted(name for name in vars(RowSteps) if not name.startswith("_")))
def test_a_step_behind_a_price_is_that_of_a_frame(name):
    for kind in (Accessor, PreparedFrame):
        own, shared = vars(kind)[name], vars(RowSteps)[name]
        assert own.__code__ is shared.__code__  # with the checks of arguments around it
        assert own.__qualname__ == f"{kind.__name__}.{name}"
        assert own.__doc__.partition("\n")[2] == shared.__doc__.partition("\n")[2]
        assert inspect.signature(own).parameters == inspect.signature(shared).parameters
    assert f"see ``df.dp.{name}``." in PreparedFrame.__dict__[name].__doc__


def test_rows_are_read_by_the_schema_that_the_answer_is_kept_under(monkeypatch):
    df = protected(pd.DataFrame({"x": [1.0, np.nan, 3.0, np.nan]}), TOTAL, schema={"x": {"nulls": 5}})
    session, release = df.dp.session, gate.release

    def meanwhile(request):
        df.dp.protect(session=session, schema={})
        return release(request)

    with monkeypatch.context() as patch:
        patch.setattr(gate, "release", meanwhile)
        assert round(df.dp(epsilon=EXACT).sum("x", bounds=(0, 10))) == 14
    assert round(df.dp(epsilon=EXACT).sum("x", bounds=(0, 10))) == 4

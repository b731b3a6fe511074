"""One missing value makes floats of NumPy's integers: nothing that a question shows may follow from which of both they are."""

import numpy as np
import pandas as pd
import pytest

import pandas_dp
from tests.support.frames import fresh
from tests.support.questions import BY_UNIT, EVERY, FOUND, ROW_BY_ROW, table

WHOLE, MISSING = list(range(1, 41)), [*range(1, 40), None]
ASKED = [
    lambda d: d.median("age", bounds=(0, 100)),
    lambda d: d.median("age", bounds=(0, 100), error_bar=True),
    lambda d: d.quantile("age", [0.1, 0.9], bounds=(0.5, 99.5)),
    lambda d: d.median("age", bounds=(0, None)),
    lambda d: d.median("age", bounds="private"),
    lambda d: d.mean("age", bounds="private"),
    lambda d: d.var("age", bounds="private"),
    lambda d: d.sum("age", bounds="private"),
    lambda d: d.mean("age", bounds=(0, 100)),
    lambda d: d.max("age", bounds=(0, 100)),
    lambda d: d.min("age", bounds=(0, 100), error_bar=True),
    lambda d: d.max("age", bounds=(None, 100)),
    lambda d: d.quantile("age", 0.25, bounds=(0, 100)),
    lambda d: d.describe("age", bounds=(0, 100)),
    lambda d: d.describe("age", bounds=(0, 100), error_bar=False),
    lambda d: d.groupby("sex", keys=["F", "M"])["age"].median(bounds=(0, 100)),
    lambda d: d.groupby("sex", keys=["F", "M"])["age"].quantile(0.9, bounds=(0, 100), error_bar=False),
    lambda d: d.agg({"age": ["median", "mean"]}, bounds={"age": (0, 100)}),
    lambda d: d.median("age", bounds=(0, 100), method="smooth"),
    lambda d: d.assign(age=lambda t: t.age + 1).median("age", bounds=(0, 100)),
    lambda d: d.assign(age=lambda t: t.age // 2).median("age", bounds=(0, 100)),
    lambda d: d.assign(age=lambda t: -t.age).median("age", bounds=(-100, 0)),
    lambda d: d.assign(age=lambda t: t.age.abs()).median("age", bounds=(0, 100)),
    lambda d: d.assign(age=lambda t: t.age.round()).median("age", bounds=(0, 100)),
    lambda d: d.assign(age=lambda t: t.age.astype("int64")).median("age", bounds=(0, 100)),
    lambda d: d.assign(age=lambda t: t.age.where(t.age > 3, 7)).median("age", bounds=(0, 100)),
    lambda d: d.clip(3, 9, columns="age").median("age", bounds=(0, 100)),
    lambda d: d.fillna({"age": 3}).median("age", bounds=(0, 100)),
    lambda d: d.dropna().median("age", bounds=(0, 100)),
    lambda d: d.query("age > 3").median("age", bounds=(0, 100)),
    lambda d: d.rename(columns={"age": "years"}).median("years", bounds=(0, 100)),
    lambda d: d.oracle("pmw", domain={"age": [0, 30, 50, 100]}, updates=1),
]


def shown(column, ask, **told):
    """What is decided before a row is read: the recipe, the text and the preview of a question to a table with this column."""
    df = pd.DataFrame({"age": column, "sex": ["F", "M"] * 20})
    df.dp.protect(epsilon=1000, name=fresh(), **told)
    query = ask(df.dp(epsilon=2)).query
    return query.aggregate, str(query), repr(ask(df.dp.preview(epsilon=2)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("at", range(len(ASKED)))
def test_integers_and_floats_of_numpy_are_asked_alike(at):
    """The lattice, the text, the notes and the expected error are those of floats: whether a cell is missing shows in none."""
    assert shown(np.array(WHOLE), ASKED[at]) == shown(np.array(MISSING, dtype=float), ASKED[at])


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", EVERY | FOUND)
def test_every_question_is_asked_alike(name):
    """Of a table whose integers are floats beside one missing value; keys of stored answers hold nothing else of a question."""
    told = {"neighbors": "replace_one", "rows": True} if name in ROW_BY_ROW else {}
    told |= {"unit": "uid", "max_rows": 4} if name in BY_UNIT else {}
    price = {"epsilon": 5} | ({"delta": 1e-6} if name in FOUND else {})
    asked = []
    for cost in (table().cost, table().cost.where(table().index != 199)):
        df = table().assign(cost=cost)
        df.dp.protect(epsilon=1000, delta=1e-3, name=fresh(), **told)
        query = (EVERY | FOUND)[name](df.dp(**price)).query
        asked.append((query.aggregate, str(query)))
    assert asked[0] == asked[1]


@pytest.mark.parametrize("condition", ["age > 29", "age >= 30", "age == 30", "age <= 49 and sex == 'F'"])
def test_conditions_on_a_domain_are_read_alike(condition):
    told = []
    for column in (np.array(WHOLE), np.array(MISSING, dtype=float)):
        df = pd.DataFrame({"age": column, "sex": ["F", "M"] * 20})
        df.dp.protect(epsilon=1000, name=fresh())
        oracle = df.dp(epsilon=1).oracle("pmw", domain={"age": [0, 30, 50, 100], "sex": ["F", "M"]}, updates=1)
        try:
            told.append(oracle.ask(condition) is None)
        except pandas_dp.ArgumentValueError as error:
            told.append(str(error))
    assert told[0] == told[1]


def test_units_of_dates_are_alike():
    """Pandas stores nanoseconds if one text among all has nine decimals, and microseconds otherwise."""
    bounds = ("2013-01-01 00:00:00", "2013-01-01 00:00:00.05")
    asked = [
        shown(
            pd.Series(pd.to_datetime(["2013-01-01 00:00:00.010000"] * 39 + [last])),
            lambda d: d.median("age", bounds=bounds),
        )
        for last in ("2013-01-01 00:00:00.010000", "2013-01-01 00:00:00.010000001")
    ]
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pd.array(MISSING, dtype="Int64"), {}),
        (pd.array(WHOLE, dtype="int32[pyarrow]"), {}),
        (np.array(WHOLE), {"schema": {"age": {"bounds": (0, 100), "dtype": "int64"}}}),
    ],
)
def test_whole_numbers_by_a_dtype_with_missing_values_or_by_the_schema_go_one_by_one(column, told):
    for ask in (
        lambda d: d.median("age", bounds=(0, 100)),
        lambda d: d.query("sex == 'F'").median("age", bounds=(0, 100)),
    ):
        assert shown(column, ask, **told)[0].lattice.step == 1


def test_a_schema_says_nothing_of_what_a_step_writes():
    told = {"schema": {"age": {"bounds": (0, 100), "dtype": "int64"}}}
    for ask in (
        lambda d: d.clip(2.5, 9.5, columns="age").median("age", bounds=(0, 100)),
        lambda d: d.assign(age=lambda t: t.age / 2).median("age", bounds=(0, 100)),
    ):
        assert shown(np.array(WHOLE), ask, **told)[0].lattice.step < 1

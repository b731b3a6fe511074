"""Regressions on columns of categories: what numpy finds of dummies, and no row moves the sums by more than they say."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused
from support.views import ArrayView

from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.products import Products
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.steps.changes import applied

KEYS = {"sex": ["f", "m"], "ward": ["c", "a", "b"]}
BOUNDS = {"cost": (-10, 20), "age": (20, 80)}


def visits(rows: int = 2000) -> pd.DataFrame:
    """The cost follows from all columns and a little from nothing."""
    n = np.arange(rows)
    table = pd.DataFrame({"age": 20.0 + n * 7 % 61, "sex": np.array(["m", "f"])[n * 5 % 11 % 2]})
    table["ward"] = pd.Categorical(np.array(["a", "b", "c"])[n * 3 % 13 % 3], ["b", "c", "a"])
    effect = table["ward"].astype(object).map({"a": 1.5, "b": -0.5, "c": 0.0})
    table["cost"] = table.age / 10 + (table.sex == "m") * 2 + effect + n % 7 / 10
    return table


def by_hand(table: pd.DataFrame, names: list[str]) -> pd.Series:
    """Least squares on dummies as pandas makes them, keys in the order of `KEYS`."""
    listed = {name: pd.Categorical(table[name], keys) for name, keys in KEYS.items()}
    dummies = pd.get_dummies(table.assign(**listed)[names], drop_first=True, dtype=float)
    design = np.column_stack([np.ones(len(table)), dummies])
    found = np.linalg.lstsq(design, table["cost"].to_numpy(), rcond=None)[0]
    return pd.Series(found, ["intercept", *dummies])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("stored", ["object", "str", "string", "category"])
@pytest.mark.parametrize("names", [["age", "sex", "ward"], ["ward"]])
def test_coefficients_are_those_of_dummies(names, stored):
    """A noise of 1e-5 of a row moves no coefficient by 1e-3."""
    table = visits()
    df = protected(table.astype({"sex": stored, "ward": stored}), epsilon=10**6)
    keys = {name: KEYS[name] for name in names if name in KEYS}
    bounds = {name: pair for name, pair in BOUNDS.items() if name in ("cost", *names)}
    found = df.dp(epsilon=10**5).linear_regression("cost", names, bounds=bounds, keys=keys)
    exact = by_hand(table, names)
    assert sorted(found.index) == sorted(exact.index)
    assert list(found.index)[-2:] == ["ward_a", "ward_b"]
    assert np.abs(found.to_numpy() - exact[found.index].to_numpy()).max() < 1e-3
    ends = df.dp(epsilon=100).linear_regression("cost", names, bounds=bounds, keys=keys).interval(1 - 1e-7)
    assert ((ends["lower"] <= exact[found.index]) & (exact[found.index] <= ends["upper"])).all()
    assert (ends["upper"] - ends["lower"]).max() < 2


def test_keys_come_from_the_schema_and_numbers_may_be_categories():
    schema = {"sex": {"keys": KEYS["sex"]}, "cost": {"bounds": BOUNDS["cost"]}}
    df = protected(visits(), epsilon=10**6, schema=schema)
    assert list(df.dp(epsilon=10).linear_regression("cost", "sex").index) == ["intercept", "sex_m"]
    assert "keys of 'sex' taken from the schema" in str(df.dp(epsilon=10).linear_regression("cost", "sex").notes)
    coded = protected(visits().assign(code=lambda d: d.sex.map({"f": 1, "m": 2})), epsilon=10**6)
    found = coded.dp(epsilon=10**5).linear_regression(
        "cost", ["code"], bounds={"cost": (-10, 20)}, keys={"code": [1, 2]}
    )
    assert found["code_2"] == pytest.approx(by_hand(visits(), ["sex"])["sex_m"], abs=1e-3)


def test_rows_of_other_keys_are_left_out():
    table = visits()
    table.loc[::5, "sex"] = "x"
    table.loc[1::5, "sex"] = None
    df = protected(table, epsilon=10**6)
    found = df.dp(epsilon=10**5).linear_regression("cost", "sex", bounds={"cost": (-10, 20)}, keys={"sex": ["f", "m"]})
    kept = table[table.sex.isin(["f", "m"])]
    assert found["sex_m"] == pytest.approx(by_hand(kept, ["sex"])["sex_m"], abs=2e-3)


def test_the_books_have_a_call_that_can_be_typed_again():
    df = protected(visits(), epsilon=10)
    first = df.dp(epsilon=1).linear_regression("cost", ["age", "sex"], bounds=BOUNDS, keys={"sex": ["f", "m"]})
    df.dp(epsilon=1).linear_regression("cost", ["age", "sex"], bounds=BOUNDS, keys={"sex": ["f", "m"]})
    eval(f"df.dp(epsilon=1).{first.query}")
    assert df.dp.session.spent == "epsilon=1"


@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_no_row_moves_the_sums_by_more_than_they_say(relation, monkeypatch):
    """All tables of up to two rows, and all that one row makes of them."""
    cells = [*itertools.product([0.0, 3.0, None], [0.0, 9.0], ["f", "m", "u", "x", None])]
    caught = []
    monkeypatch.setattr(
        PreparedFrame, "_ask", lambda self, call, asked, columns, own=0: caught.append((self._steps, asked))
    )
    df = protected(pd.DataFrame(cells, columns=["y", "z", "sex"]), epsilon=10)
    df.dp(epsilon=1).linear_regression(
        "y", ["z", "sex"], bounds={"y": (0, 2), "z": (0, 9)}, keys={"sex": ["f", "m", "u"]}
    )
    (steps, asked), unit = caught[0], PrivacyUnit(relation=relation)
    statistic = Products(asked.columns, asked.lattices)
    stated = statistic.sensitivity(unit)
    found = applied(steps, pd.DataFrame(cells, columns=["y", "z", "sex"]))[list(asked.columns)].astype(object)
    rows = found.where(found.notna(), None).to_numpy()
    alone = [
        statistic.compute(ArrayView(dict(zip(asked.columns, row[:, None], strict=True))), unit).open() for row in rows
    ]
    both = statistic.compute(ArrayView({name: rows[:, i] for i, name in enumerate(asked.columns)}), unit).open()
    assert both == [sum(sums) for sums in zip(*alone, strict=True)]  # so one row is all that there is to look at
    others = [[0] * len(both)] if relation is NeighboringRelation.ADD_REMOVE else alone
    moves = [[a - b for a, b in zip(one, other, strict=True)] for one, other in itertools.product(alone, others)]
    assert max(sum(map(abs, move)) for move in moves) <= stated.l1
    assert max(sum(step * step for step in move) for move in moves) <= stated.l2_squared
    assert max(max(map(abs, move)) for move in moves) <= stated.linf


COST = {"cost": (-10, 20)}


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda d: d.linear_regression("cost", "sex", bounds=COST), ArgumentTypeError, r"keys=\{'sex': \['A', 'B'\]\}"),
        (
            lambda d: d.linear_regression("cost", ["sex"], bounds=COST, keys=["f", "m"]),
            ArgumentTypeError,
            "keys= is a dict",
        ),
        (
            lambda d: d.linear_regression("cost", ["sex"], bounds=COST, keys={"sexx": ["f", "m"]}),
            ArgumentValueError,
            "not in x; did you mean 'sex'",
        ),
        (
            lambda d: d.linear_regression("cost", "sex", bounds=COST, keys={"sex": ["f"]}),
            ArgumentValueError,
            "two keys",
        ),
        (
            lambda d: d.linear_regression("cost", "sex", bounds=COST, keys={"sex": "fm"}),
            ArgumentTypeError,
            "must be a list",
        ),
        (lambda d: d.linear_regression("sex", "age", bounds=BOUNDS), ArgumentTypeError, "needs columns of numbers"),
        (
            lambda d: d.linear_regression("cost", "ward", bounds=COST | {"ward": (0, 1)}, keys={"ward": ["a", "b"]}),
            ArgumentValueError,
            "bounds= may name only these columns",
        ),
        (
            lambda d: d.linear_regression("cost", ["sex", "sex_m"], bounds=COST, keys={"sex": ["f", "m"]}),
            ArgumentValueError,
            r"\.rename\(\{'sex_m'",
        ),
        (
            lambda d: d.linear_regression("cost", "sex", bounds=COST, keys={"sex": [*map(str, range(40))]}),
            ArgumentValueError,
            "2 to 30",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_for_nothing(ask, error, message, monkeypatch):
    df = protected(visits().assign(sex_m=1.0), epsilon=10)
    with refused(monkeypatch, df, error, message):
        ask(df.dp(epsilon=1))

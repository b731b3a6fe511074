"""Bounds by key: each group is clipped to its own, its noise is in proportion to them, and one row moves what is claimed."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.frames import protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.aggregates.base import Terms
from pandas_dp.core.measurement import computed
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.engines.pandas import PandasView
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.steps.changes import applied

KEYS = ["glucose", "ph", "base excess"]
BOUNDS = {"ph": (7, 7.5), "glucose": (50, 500), "base excess": (-30, 10)}
SURE = 10**5


def readings(n: int = 300) -> pd.DataFrame:
    """Long format: values of each key within its bounds, beyond them, and missing."""
    i = np.arange(n)
    key = np.array([*KEYS, "other"], dtype=object)[i % 4]
    value = np.select([key == "glucose", key == "ph"], [40.0 + i % 500, 6.9 + i % 7 / 10], i % 50 - 40.0)
    return pd.DataFrame({"test": key, "value": np.where(i % 11 == 0, np.nan, value), "u": i // 3})


def right(df: pd.DataFrame, name: str) -> list[float]:
    groups = [df.value[df.test == key].clip(*BOUNDS[key]) for key in KEYS]
    return [getattr(group, name)() for group in groups]


def ask(df: pd.DataFrame, name: str, epsilon: Any = SURE, **options: Any) -> Any:
    return getattr(df.dp(epsilon=epsilon).groupby("test", keys=KEYS)["value"], name)(bounds=BOUNDS, **options)


STORAGE = {
    "object": lambda keys: keys,
    "str": lambda keys: keys.astype("str"),
    "category": lambda keys: keys.astype("category"),
    "Arrow": lambda keys: keys.astype(pd.ArrowDtype(pa.string())),
    "dictionary": lambda keys: keys.astype(pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
}


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("name", ["mean", "sum"])
def test_each_group_is_clipped_to_its_own_bounds(name, storage):
    df = readings()
    wanted = right(df, name)
    df = protected(df.assign(test=STORAGE[storage](df.test)), epsilon=10**6)
    answer = ask(df, name)
    assert list(answer.index) == KEYS
    assert answer.tolist() == pytest.approx(wanted, rel=1e-5, abs=0.01)
    lower, upper = (answer.interval()[end] for end in ("lower", "upper"))
    assert ((lower <= answer) & (answer <= upper)).all()


@pytest.mark.parametrize("name", ["mean", "sum"])
@pytest.mark.parametrize(("keys", "kind"), [([1, 2], "int64"), ([1, 2], "Float64"), ([True, False], "bool")])
def test_keys_that_are_numbers(name, keys, kind):
    df = protected(pd.DataFrame({"k": pd.array(keys * 50, dtype=kind), "x": [1.0, 300.0] * 50}), epsilon=10**6)
    bounds = {keys[0]: (0, 2), keys[1]: (100, 1000)}
    answer = getattr(df.dp(epsilon=SURE).groupby("k", keys=keys)["x"], name)(bounds=bounds)
    assert answer.tolist() == pytest.approx([1, 300] if name == "mean" else [50, 15_000], rel=1e-5)


def test_noise_is_in_proportion_to_the_bounds_of_the_group():
    df = protected(readings(), epsilon=10**6)
    lower, upper = (ask(df, "sum", 1).interval()[end] for end in ("lower", "upper"))
    assert ((upper - lower) / [500, 7.5, 30]).tolist() == pytest.approx([(upper - lower).iloc[0] / 500] * 3)
    lower, upper = (ask(df, "mean").interval()[end] for end in ("lower", "upper"))
    assert (upper - lower).iloc[0] > 100 * (upper - lower).iloc[1]
    told = ask_ahead(df, "sum").error, ask_ahead(df, "mean").error
    assert told[0].startswith("of each group, times the larger of its bounds: each ± 3.00")
    assert told[1].startswith("of each group, times the width of its bounds: at most about ± 3.00 / rows")


def ask_ahead(df: pd.DataFrame, name: str) -> Any:
    return getattr(df.dp.preview(epsilon=1).groupby("test", keys=KEYS)["value"], name)(bounds=BOUNDS)


def test_the_line_in_the_books_asks_the_same_question():
    df = protected(readings(), epsilon=10**6)
    answer = ask(df, "mean")
    line = "groupby('test', keys=['glucose', 'ph', 'base excess'])['value'].mean("
    assert str(answer.query) == line + "bounds={'glucose': (50, 500), 'ph': (7, 7.5), 'base excess': (-30, 10)})"
    assert eval(f"asked.{answer.query}", {"asked": df.dp(epsilon=SURE)}).equals(answer)
    query = pandas_dp.query(epsilon=SURE).groupby("test", keys=KEYS)["value"].mean(bounds=BOUNDS)
    assert pandas_dp.Query.from_dict(query.to_dict())(df).equals(answer)
    other = df.dp(epsilon=SURE).groupby("test", keys=KEYS)["value"].mean(bounds={**BOUNDS, "ph": (7, 8)})
    assert not other.equals(answer)
    assert len(df.dp.session.releases) == 3  # protecting, this question and the other one
    steps = df.dp(epsilon=SURE).query("value > 7").groupby("test", keys=KEYS)["value"].sum(bounds=BOUNDS)
    assert str(steps.query).startswith("query('value > 7').groupby('test', ")
    assert "assign" not in str(steps.query)


def test_a_constant_for_missing_values_counts():
    df = readings()
    wanted = right(df.fillna({"value": 300.0}), "mean")
    df = protected(df, epsilon=10**6, schema={"value": {"nulls": 300}})
    assert ask(df, "mean").tolist() == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    ("asked", "error", "match"),
    [
        (
            lambda d, b: d.groupby("test", keys=KEYS)["value"].mean(bounds={"ph": (7, 8)}),
            ArgumentValueError,
            "each of the",
        ),
        (
            lambda d, b: d.groupby("test", keys=KEYS)["value"].sum(bounds=b | {"x": (0, 1)}),
            ArgumentValueError,
            "no others",
        ),
        (
            lambda d, b: d.groupby("test", keys=KEYS)["value"].sum(bounds=b | {"ph": (8, 7)}),
            ArgumentValueError,
            "of 'ph'",
        ),
        (
            lambda d, b: d.groupby("test", keys=KEYS)["value"].sum(bounds=b | {"ph": (8, None)}),
            ArgumentTypeError,
            "both",
        ),
        (
            lambda d, b: d.groupby("test", keys=KEYS)["value"].sum(bounds=b | {"ph": "private"}),
            ArgumentTypeError,
            "bounds of 'ph': .*needs public bounds",
        ),
        (
            lambda d, b: d.groupby("test", keys=KEYS, null=True)["value"].mean(bounds=b),
            ArgumentTypeError,
            "without other=",
        ),
        (
            lambda d, b: d.groupby("value", bins=[0, 1])["u"].mean(bounds=b),
            ArgumentTypeError,
            "listed keys of one column",
        ),
        (
            lambda d, b: d.groupby(["test", "u"], keys={"test": KEYS, "u": [1]})["value"].mean(bounds=b),
            ArgumentTypeError,
            "of one column",
        ),
        (
            lambda d, b: d.groupby("u", keys=[1, 2])["test"].mean(bounds={1: (0, 1), 2: (0, 1)}),
            ArgumentTypeError,
            "numbers",
        ),
        (lambda d, b: d.groupby("u", keys=[1, 2])["u"].mean(bounds={1: (0, 1), 2: (0, 1)}), ArgumentValueError, "key"),
        (
            lambda d, b: d.groupby("test", keys=KEYS)["value"].mean(bounds={"ph": (7, np.float64(8))}),
            ArgumentTypeError,
            ".",
        ),
    ],
)
def test_what_is_refused(monkeypatch, asked, error, match):
    df = protected(readings())
    with refused(monkeypatch, df, error, match):
        asked(df.dp(epsilon=1), BOUNDS)


def test_keys_that_are_found_have_no_bounds_of_their_own(monkeypatch):
    df = protected(readings(), delta=1e-3)
    with refused(monkeypatch, df, ArgumentTypeError, "listed keys"):
        df.dp(epsilon=1, delta=1e-6).groupby("test")["value"].mean(bounds=BOUNDS)


# -- how far one row, and one unit, moves what is measured: all tables of a few rows, all their neighbours --------------

SMALL = {"a": (0, 4), "b": (-3, 1), "c": (100, 101)}
CELLS = [
    ("a", 9.0),
    ("a", -1.0),
    ("b", -5.0),
    ("b", 0.9),
    ("c", 100.5),
    ("c", np.inf),
    ("d", 3.0),
    (None, 1.0),
    ("a", np.nan),
]
REPLACE = NeighboringRelation.REPLACE_ONE
UNITS = {
    "row": PrivacyUnit(),
    "row replaced": PrivacyUnit(relation=REPLACE),
    "units": PrivacyUnit("u", 2, 1, 2),
    "units replaced": PrivacyUnit("u", 2, 2, 1, relation=REPLACE),
}


def measured(monkeypatch: pytest.MonkeyPatch, name: str) -> tuple[Any, Any]:
    """The steps and the recipe of the question."""
    seen: list[Any] = []
    df = protected(pd.DataFrame({"g": ["a"], "x": [1.0], "u": [1]}))
    monkeypatch.setattr(PreparedFrame, "_ask", lambda self, text, made, *_: seen.append((self._steps, made)))
    getattr(df.dp(epsilon=1).groupby("g", keys=list(SMALL))["x"], name)(bounds=SMALL)
    monkeypatch.undo()
    return seen[0]


def test_groups_without_rows_to_speak_of(monkeypatch):
    """The recipe is driven by integers alone: without rows the noise of a look gives a value with 1 % by design."""
    _, made = measured(monkeypatch, "mean")
    recipe = made.steps(Terms(PrivacyUnit(), Price(Fraction(1, 10))))
    row = made.question.lattice.cells
    next(recipe)
    with pytest.raises(StopIteration) as end:
        recipe.send([*(0, 0), *(-5 * row, 3 * row), *(750 * row, 250 * row)])
    value = end.value.value.value
    assert value.isna().tolist() == [True, True, False]
    assert value["c"] == pytest.approx(100.75)
    lower, upper = end.value.value.error.bounds(value, 0.95)
    assert list(zip(lower, upper, strict=True))[:2] == [SMALL["a"], SMALL["b"]]
    assert 100 < lower["c"] < 100.75 < upper["c"] < 101


def exact(steps: Any, statistic: Any, unit: PrivacyUnit, rows: Any) -> np.ndarray:
    frame = pd.DataFrame(
        {
            "g": pd.array([g for (g, _), _ in rows], dtype="str"),
            "x": np.array([x for (_, x), _ in rows], dtype=float),
            "u": np.array([u for _, u in rows], dtype=np.int64),
        }
    )
    return np.array(computed(statistic, PandasView(applied(steps, frame), {}), unit).open(), dtype=object)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", ["mean", "sum"])
def test_one_unit_moves_what_is_claimed_and_no_more(monkeypatch, name, unit):
    steps, made = measured(monkeypatch, name)
    unit = UNITS[unit]
    terms = Terms(unit, Price(1))
    statistic = made.question.look(terms).statistic
    claimed = statistic.sensitivity(unit)
    assert made.loss(terms) == made.question.loss(terms)
    sets = [((cell, 1),) for cell in CELLS]
    if unit.column is not None:
        sets += [tuple((cell, 1) for cell in pair) for pair in combinations_with_replacement(CELLS, 2)]
    rest = ((("a", 2.0), 2), (("c", 50.0), 3))
    found = {one: exact(steps, statistic, unit, (*rest, *one)) for one in [(), *sets]}
    pairs = [((), one) for one in sets] if unit.add_remove else list(product(sets, sets))
    moves = [np.abs(found[one] - found[other]) for one, other in pairs]
    l1, l2, linf = (max(f(move) for move in moves) for f in (np.sum, lambda move: sum(move**2), np.max))
    assert l1 <= claimed.l1
    assert l2 <= claimed.l2_squared
    assert linf <= claimed.linf
    assert l1 >= 0.8 * claimed.l1  # so the tables try it

"""What people reported of other libraries, ten telling cases: each one is shown not to happen here."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError

ALL = {"age": (0, 120), "pay": (0, 5000)}


def test_every_question_costs_what_was_typed_whatever_it_is_made_of():
    """An average that costs two prices, a variance three, and a second column that changes the price of the first."""
    df = protected(people(), epsilon=100)
    spent = 0
    for ask in (
        lambda d: d.mean("pay", bounds=(0, 5000)),
        lambda d: d.var("pay", bounds=(0, 5000)),
        lambda d: d.mean("age", bounds=(0, 120)),
        lambda d: d.groupby("sex", keys=["f", "m"])["pay"].mean(bounds=(0, 5000)),
        lambda d: d.describe("pay", bounds=(0, 5000)),
        lambda d: d.cov(["age", "pay"], bounds=ALL),
    ):
        ask(df.dp(epsilon=0.5))
        spent += 0.5
        assert float(df.dp.session.spent.epsilon) == spent


def test_a_spent_budget_raises():
    """A huge negative number with a line in a log instead of an error."""
    df = protected(people(), epsilon=1)
    df.dp(epsilon=1).count()
    for _ in range(2):
        with pytest.raises(BudgetExceededError, match="nothing fits any more"):
            df.dp(epsilon=0.5).count("age")


def test_a_cell_that_runs_again_costs_nothing():
    """A second release and a second price for the same notebook cell."""
    df = protected(people(), epsilon=1)
    answers = {df.dp(epsilon=0.5).mean("pay", bounds=(0, 5000)).value for _ in range(5)}
    assert len(answers) == 1
    assert df.dp.session.spent == "epsilon=0.5"


def test_a_quantile_of_a_million_equal_integers():
    """Weights of the exponential mechanism that underflow where all values tie."""
    df = protected(pd.DataFrame({"x": np.full(1_000_000, 7)}), epsilon=20)
    assert df.dp(epsilon=10).median("x", bounds=(0, 1000)) == 7
    assert list(df.dp(epsilon=10).quantile("x", [0.1, 0.5, 0.9], bounds=(0, 1000))) == [7, 7, 7]


NONE = re.compile("too few rows for a value|has too few rows|too few rows to tell")


@pytest.mark.parametrize("name", ["median", "mean", "std"])
def test_every_listed_group_comes_back_whatever_is_asked(name):
    """Grouped medians that release nothing where grouped means do; what too few rows cannot tell is missing, and says so."""
    df = protected(people(), epsilon=10)
    groups = df.dp(epsilon=1).groupby("sex", keys=["x", "m", "f", "y"])["age"]
    answer = getattr(groups, name)(bounds=(0, 120))
    assert list(answer.index) == ["x", "m", "f", "y"]
    assert np.isfinite(answer.value).all() == (not any(NONE.search(note) for note in answer.notes))


@pytest.mark.parametrize("missing", [float("nan"), None, pd.NA, pd.NaT])
def test_missing_values_cannot_be_filled_with_missing_ones(missing, monkeypatch):
    """Nulls that are filled with NaN and then count as numbers."""
    df = protected(people(), epsilon=10)
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), "fillna"):
        df.dp(epsilon=1).fillna({"pay": missing})


@pytest.mark.parametrize("cells", [[], [1.5, 2.5], ["a", "b"], [None, 3]])
def test_what_cells_hold_never_decides_what_can_be_asked(cells, monkeypatch):
    """A dtype that is inferred from the data says what the data are."""
    df = protected(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), epsilon=10)
    with refused(monkeypatch, df, ArgumentTypeError, "needs a column of numbers or dates; 'x' holds text or objects"):
        df.dp(epsilon=1).mean("x", bounds=(0, 10))
    assert df.dp(epsilon=1).value_counts("x", keys=["a", 3]).value.dtype == "int64"


def test_a_forgotten_price_is_told_with_the_line_to_type(monkeypatch):
    """A TypeError about the length of a tuple."""
    df = protected(people(), epsilon=10)
    with refused(monkeypatch, df, AttributeError, r"a question needs a price: df\.dp\(epsilon=0\.5\)\.mean"):
        df.dp.mean("pay", bounds=(0, 5000))
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), r"epsilon"):
        df.dp().count()


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "median", "min", "max", "describe"])
def test_without_bounds_nothing_is_answered(name, monkeypatch):
    """A sum without any noise, since its column had no bounds."""
    df = protected(people(), epsilon=10)
    with refused(monkeypatch, df, ArgumentTypeError, "bounds"):
        getattr(df.dp(epsilon=1), name)("pay")


def test_it_is_asked_of_a_plain_data_frame():
    """A wish for an interface like that of data frames: the answer is one, too."""
    df = protected(people(), epsilon=10)
    table = df.dp(epsilon=5).crosstab("sex", "city", keys={"sex": ["f", "m"], "city": ["x", "y", "z"]})
    exact = pd.crosstab(df["sex"], df["city"])
    assert table.value.shape == exact.shape
    assert list(table.columns) == list(exact.columns)
    assert list(table.index) == list(exact.index)

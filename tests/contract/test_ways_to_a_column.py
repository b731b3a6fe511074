"""Ways in which pandas reaches columns: those that work, and the line that stands for each of the others."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, UnverifiedFrameError

BOUNDS = {"age": (0, 100), "cost": (0, 50)}


def table() -> pd.DataFrame:
    n = np.arange(300)
    return pd.DataFrame({"age": n % 90, "cost": n % 40 + 0.5, "ward": np.array(["a", "b", "c"])[n % 3]})


@pytest.mark.parametrize("function", ["sum", "mean", "std", "median", "max"])
def test_a_question_of_selected_columns_is_an_agg_of_them(function):
    df = protected(table(), epsilon=10**6)
    answer = getattr(df.dp(epsilon=10**4)[["age", "cost"]], function)(bounds=BOUNDS)
    asked = df.dp(epsilon=10**4).agg({"age": function, "cost": function}, bounds=BOUNDS)
    assert answer.equals(asked)
    assert list(answer.index) == ["age", "cost"]
    assert len(df.dp.session.releases) == 2  # protecting, and one question
    assert answer.query.call == asked.query.call


def test_questions_of_lists_of_columns():
    df = protected(table(), epsilon=10**6)
    both = df.dp(epsilon=10**4)[["age", "cost"]]
    assert both.count().tolist() == [300, 300]
    assert df.dp(epsilon=10**4)[["ward", "age"]].nunique().tolist() == [3, 90]
    assert both.agg(["mean", "sum"], bounds=BOUNDS).shape == (2, 2)
    assert both.describe(bounds=BOUNDS).loc["count"].round().tolist() == [300, 300]
    assert both.corr(bounds=BOUNDS).equals(df.dp(epsilon=10**4).corr(["age", "cost"], bounds=BOUNDS))
    alone = df.dp(epsilon=10**4)[["age"]].mean(bounds=(0, 100))
    assert alone.index.tolist() == ["age"]
    assert alone["age"] == pytest.approx(table().age.mean(), abs=0.01)
    assert repr(both).endswith("['age', 'cost']]")
    assert {"mean", "corr", "agg"} <= set(dir(both))


def test_several_columns_of_groups_are_an_agg_of_them(monkeypatch):
    df = protected(table(), epsilon=10**6, delta=1e-4)
    groups = df.dp(epsilon=10**4).groupby("ward", keys=["A", "B"])
    answer = groups[["age", "cost"]].mean(bounds=BOUNDS)
    assert answer.equals(groups.agg({"age": "mean", "cost": "mean"}, bounds=BOUNDS))
    assert len(df.dp.session.releases) == 2
    assert "interval" not in dir(groups[["age"]])
    with refused(
        monkeypatch, df, ArgumentTypeError, r"\[\['age', 'cost'\]\]\.mean\(bounds=\{'age': \(lower, upper\), 'cost'"
    ):
        groups[["age", "cost"]].mean()
    with refused(monkeypatch, df, ArgumentValueError, "did you mean 'age'"):
        groups[["agee"]]
    with refused(monkeypatch, df, ArgumentTypeError, "list of different names"):
        groups[[]]
    with refused(monkeypatch, df, ArgumentTypeError, r"columns of the groups by name.*\['cost'\]\.mean"):
        groups[3]
    found = df.dp(epsilon=1, delta=1e-6).groupby("ward")
    with refused(monkeypatch, df, ArgumentTypeError, "needs listed keys"):
        found[["age", "cost"]].mean(bounds=BOUNDS)


def test_what_is_no_list_of_columns_is_refused(monkeypatch):
    df = protected(table())
    for wrong in ([], ["age", "age"], ["age", 3], [True, False]):
        with refused(
            monkeypatch, df, ArgumentTypeError, r"list of different names: df\.dp\(epsilon=0\.5\)\[\['age', 'cost'\]\]"
        ):
            df.dp(epsilon=1)[wrong]
    with refused(monkeypatch, df, ArgumentValueError, "did you mean 'age'"):
        df.dp(epsilon=1)[["agee"]]
    with refused(
        monkeypatch, df, ArgumentTypeError, r"df\.dp\(epsilon=1\)\[\['age', 'cost'\]\]\.mean\(bounds=\{'age': "
    ):
        df.dp(epsilon=1)[["age", "cost"]].mean()
    with refused(monkeypatch, df, ArgumentTypeError, "bounds"):
        df.dp(epsilon=1)[["age", "cost"]].mean(bounds=(0, 100))
    with refused(monkeypatch, df, ArgumentTypeError):
        df.dp(epsilon=1)[["age"]].mean(bounds=(0, table().age.max()))
    with pytest.raises(AttributeError, match=r"no 'meen'; did you mean 'mean'"):
        df.dp(epsilon=1)[["age"]].meen(bounds=(0, 100))
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(df.dp(epsilon=1)[["age"]])


def test_the_others_name_the_line():
    df = protected(table())
    with pytest.raises(AttributeError, match=r"ask the protected frame.*df\.dp\(epsilon=0\.5\)\['age'\]\.mean"):
        _ = df["age"].dp
    assert not hasattr(df["age"], "dp")
    assert "dp" not in dir(df["age"])
    with pytest.raises(AttributeError, match=r"'age' is a column; select it: df\.dp\(epsilon=1\)\['age'\]"):
        _ = df.dp(epsilon=1).age
    with pytest.raises(AttributeError, match=r"function\(df\.dp\(epsilon=1\)\)"):
        df.dp(epsilon=1).pipe(len)
    with pytest.raises(UnverifiedFrameError, match="not the one that was protected"):
        df.pipe(lambda d: d.dp(epsilon=1).count())
    assert isinstance(df.dp.pipe(lambda d: d.dp(epsilon=1).count()).value, int)

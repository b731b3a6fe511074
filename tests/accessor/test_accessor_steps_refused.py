"""Steps that are refused cost nothing and say nothing of the rows."""

from __future__ import annotations

import pandas as pd
import pytest
from support.frames import people, protected, refused

from pandas_dp.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    BudgetExceededError,
    StepFailedError,
    UnverifiedFrameError,
)
from pandas_dp.steps.changes import Filter

TOWNS = pd.DataFrame({"city": ["x", "y", "w"], "town": ["Xanten", "Ystad", "Wien"], "size": [1, 2, 3]})
BAD = {
    "share of the maximum": (ArgumentValueError, "public number", lambda x: x.assign(z=lambda d: d.pay / d.pay.max())),
    "mean in text": (ArgumentValueError, "public number", lambda x: x.query("pay > pay.mean()")),
    "rank": (ArgumentValueError, "other rows", lambda x: x.eval("r = age.rank()")),
    "foreign mask": (ArgumentTypeError, "pd.col", lambda x: x.filter(people().age > 40)),
    "foreign column": (ArgumentTypeError, "columns of the table", lambda x: x.assign(z=people().age)),
    "foreign in a function": (ArgumentTypeError, "from outside", lambda x: x.filter(lambda d: d.age > people().age)),
    "@": (ArgumentValueError, "'@'", lambda x: x.query("age > @limit")),
    "no condition": (ArgumentTypeError, "condition", lambda x: x.query("age + 1")),
    "no such column": (ArgumentValueError, "no column 'agee'", lambda x: x.query("agee > 3")),
    "text as number": (ArgumentTypeError, "'>' does not work on text", lambda x: x.query("sex > 3")),
    "not text": (ArgumentTypeError, r"\.filter", lambda x: x.query(pd.col("age") > 3)),
    "text to filter": (ArgumentTypeError, r"\.query", lambda x: x.filter("age > 3")),
    "no assignment": (ArgumentValueError, "name = expression", lambda x: x.eval("age * 2")),
    "bounds in disorder": (ArgumentValueError, "at most upper", lambda x: x.clip(9, 1, columns="age")),
    "clip everything": (ArgumentTypeError, "columns=", lambda x: x.clip(0, 1)),
    "fill with nothing": (ArgumentValueError, "missing", lambda x: x.fillna({"pay": None})),
    "fill with data": (ArgumentTypeError, "constant", lambda x: x.fillna({"pay": people().pay})),
    "drop nothing there": (ArgumentValueError, "no column 'agee'", lambda x: x.drop("agee")),
    "drop missing of nothing": (ArgumentValueError, "name a column", lambda x: x.dropna([])),
    "drop missing of no column": (ArgumentValueError, "no column 'agee'", lambda x: x.dropna("agee")),
    "merge by rows": (ArgumentValueError, r"how='left'.*\.dropna", lambda x: x.merge(TOWNS, on="city", how="inner")),
    "merge by no column": (ArgumentValueError, "no column 'town'", lambda x: x.merge(TOWNS, on="town")),
    "merge by another": (ArgumentValueError, "lookup has no column 'age'", lambda x: x.merge(TOWNS, on="age")),
    "merge by two": (ArgumentTypeError, "has to be text", lambda x: x.merge(TOWNS, on=["city", "town"])),
    "merge twice the key": (
        ArgumentValueError,
        r"two keys are equal: lookup\.drop_duplicates\('city'\)",
        lambda x: x.merge(pd.concat([TOWNS, TOWNS]), on="city"),
    ),
    "merge a column again": (
        ArgumentValueError,
        "'age' already",
        lambda x: x.merge(TOWNS.rename(columns={"town": "age"}), on="city"),
    ),
    "merge no key": (
        ArgumentValueError,
        r"lookup\.dropna\(subset=\['city'\]\)",
        lambda x: x.merge({"city": ["x", None], "town": ["X", "Y"]}, on="city"),
    ),
    "merge nothing": (ArgumentValueError, "columns besides 'city'", lambda x: x.merge(TOWNS[["city"]], on="city")),
    "merge empty": (ArgumentValueError, "has no values", lambda x: x.merge({"city": ["x"], "town": [None]}, on="city")),
    "assign a long text": (
        ArgumentValueError,
        "may have 10,000 characters",
        lambda x: x.assign(z=lambda d: d.city.where(d.age > 30, "a" * 10_001)),
    ),
    "merge a long text": (
        ArgumentValueError,
        "may have 10,000 characters",
        lambda x: x.merge({"city": ["x"], "town": ["a" * 10_001]}, on="city"),
    ),
    "merge lists": (
        ArgumentTypeError,
        "is not a constant",
        lambda x: x.merge({"city": ["x"], "town": [[1]]}, on="city"),
    ),
    "merge odd lists": (ArgumentTypeError, "equal length", lambda x: x.merge({"city": ["x"], "town": []}, on="city")),
    "merge no table": (ArgumentTypeError, "public DataFrame", lambda x: x.merge(3, on="city")),
    "merge numbers to text": (
        ArgumentTypeError,
        "numbers cannot be looked for in text",
        lambda x: x.merge({"sex": [1], "k": [1]}, on="sex"),
    ),
    "rename into another": (ArgumentValueError, "same name", lambda x: x.rename({"age": "pay"})),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", BAD)
def test_a_bad_step_costs_nothing_and_opens_nothing(monkeypatch, name):
    error, match, step = BAD[name]
    df = protected()
    for start in (df.dp, df.dp(epsilon=1), df.dp.query("age > 20").dp, df.dp(epsilon=1).query("age > 20")):
        with refused(monkeypatch, df, error, match) as caught:
            step(start)
        for other in {"pid", "when", "4999", "1200"}:
            assert other not in str(caught.value)


def test_a_step_on_an_unprotected_frame_is_refused_whatever_it_says():
    protected()
    stranger = people()
    bad = [ask for name, (*_, ask) in BAD.items() if name != "not text"]  # refused before the frame is looked at
    for step in (lambda d: d.query("age > 1"), lambda d: d.drop("age"), *bad):
        with pytest.raises(UnverifiedFrameError):
            step(stranger.dp)


def test_a_step_cannot_be_asked_on_a_closed_or_overspent_budget():
    df = protected(epsilon=1)
    made = df.dp.query("age > 20")
    made.dp(epsilon=1).count()
    with pytest.raises(BudgetExceededError):
        df.dp.query("age > 30").dp(epsilon=0.5).count()
    df.dp.session.close()
    for frame in (df, made):
        with pytest.raises(Exception, match="closed") as caught:
            frame.dp.query("age > 20")
        assert "protect" in str(caught.value)


def test_a_step_that_fails_on_rows_says_nothing_of_them(monkeypatch):
    df = protected()
    original = Filter.apply

    def broken(self, frame):
        if len(frame):
            raise ValueError(f"cell {frame.pay.max()}")
        return original(self, frame)

    monkeypatch.setattr(Filter, "apply", broken)
    with pytest.raises(StepFailedError) as caught:
        df.dp.query("age > 20")
    assert str(caught.value) == StepFailedError.TEXT
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert df.dp.session.spent == "epsilon=0"

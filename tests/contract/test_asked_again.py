"""What a question does not do again that was done for the one before, or that its arguments do not need."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pandas_dp.facts import argument_help, public_only
from tests.support.frames import protected

QUESTIONS = {
    "count": lambda d: d.count("age"),
    "sum": lambda d: d.sum("age", bounds=(0, 100)),
    "mean": lambda d: d["age"].mean(bounds=(0, 100)),
    "var": lambda d: d.var("age", bounds=(0, 100)),
    "median": lambda d: d.median("age", bounds=(0, 100)),
    "quantiles": lambda d: d.quantile("visits", [0.1, 0.5, 0.9], bounds=(0, 100)),
    "private bounds": lambda d: d.median("age", bounds="private"),
    "histogram": lambda d: d.histogram("age", bins=[0, 50, 100]),
    "keys": lambda d: d.histogram("age", keys=[31.0, 45.0]),
    "top_k": lambda d: d.top_k("city", 2, keys=["x", "y", "z"]),
    "grouped mean": lambda d: d.groupby("city", keys=["x", "y"])["age"].mean(bounds=(0, 100)),
}


def table() -> pd.DataFrame:
    made = pd.DataFrame({"age": [31.0, 45.0, 62.0] * 100, "city": ["x", "y", "z"] * 100})
    return protected(made.assign(visits=made["age"].astype("Int64")), epsilon=10**4)


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_column_is_taken_out_of_the_frame_again(monkeypatch, name):
    """It takes longer than the noise of a count."""
    df = table()
    QUESTIONS[name](df.dp(epsilon=1, fresh=True))
    taken, take = [], pd.DataFrame.__getitem__
    monkeypatch.setattr(pd.DataFrame, "__getitem__", lambda frame, key: taken.append(key) or take(frame, key))
    QUESTIONS[name](df.dp(epsilon=1, fresh=True))
    assert taken == []


def test_the_questions_themselves_are_no_arguments(monkeypatch):
    asked, check = [], public_only.check_all_typed

    def checked(call, arguments):
        asked.extend((call, name) for name, _ in arguments)
        return check(call, arguments)

    monkeypatch.setattr(argument_help, "check_all_typed", checked)
    table().dp(epsilon=1, fresh=True).sum("age", bounds=(0, 100))
    assert [asked[-4:]] == [[("df.dp", "epsilon"), ("df.dp", "fresh"), ("sum", "column"), ("sum", "bounds")]]


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("value", [1, 0.5, "x", True, None, [], (0, 1), ["a", None, 2.5], (True,)], ids=repr)
def test_plain_values_and_lists_of_them_need_no_second_look(monkeypatch, value):
    monkeypatch.setattr(public_only, "isinstance", lambda *_: pytest.fail("a second look"), raising=False)
    assert not public_only.is_private(value)
    assert public_only._scalar(value) is None


@pytest.mark.parametrize(
    "value",
    [
        np.int64(1),
        [1, np.int64(1)],
        ([1, np.float64(1)],),
        (1, ...),
        [Text("x"), np.str_("x")],
        {"a": [np.bool_(True)]},
    ],
    ids=repr,
)
def test_others_get_it(value):
    assert public_only._scalar(value) is not None


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"a": x}, lambda x: (1, "x", x)])
def test_columns_are_found_beside_plain_values(wrap):
    assert public_only.is_private(wrap(table()["age"]))

"""Columns of text that hold numbers: each question that refuses them names the step that makes numbers, and it works."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest
from support import questions
from support.frames import protected, refused

from pandas_dp import ArgumentTypeError

ASKED = questions.EVERY | questions.FOUND
STEP = re.compile(
    r'if the text holds numbers, convert it first: \w+ = (?:df\.dp|\w+)(\.assign\(.*\.astype\("float64"\)\}?\))'
)
OWN = {  # steps and functions of the caller's own say it themselves; the rest needs another kind of session
    *questions.FROM_BLOCKS.keys() - {"kmeans", "group means of blocks"},
    *questions.STREAMS,
    *questions.ROW_BY_ROW,
    *questions.BY_UNIT,
    *("select", "select by table", "after steps", "own function", "own numbers"),
    *(name for name in ASKED if re.search("vote|blocks$|function of groups", name)),
}
TAKE_TEXT = """count|size|count of values|count by column|nunique|nunique of units|sum of durations|histogram of keys
histogram of days|value_counts|group sizes|group counts|group nunique|sizes of combinations|crosstab|median by column
mode of groups|max by column|mode|mode by column|top_k|top_k by column|mean day|value_counts as shares|unique
unique by column|found counts|found dates|found histogram|found mode|found top_k
sizes of found groups|counts of found groups|unique combinations
sizes of found combinations|sums of keys"""
FREE = re.split(r"[|\n]", TAKE_TEXT)
REFUSED = [name for name in ASKED if name not in OWN | set(FREE)]


def as_text() -> pd.DataFrame:
    df = questions.table()
    return df.assign(cost=df.cost.astype("str"), age=df.age.astype("str").astype("category"))


def preview(df: pd.DataFrame, name: str) -> Any:
    return df.dp.preview(epsilon=1, **({"delta": 1e-6} if name in questions.FOUND else {}))


def test_the_others_need_no_numbers():
    df = protected(as_text(), delta=0.1)
    for name in FREE:
        ASKED[name](preview(df, name))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", REFUSED)
def test_the_refusal_names_the_step_and_the_step_works(monkeypatch, name):
    df = protected(as_text(), delta=0.1)
    asked = preview(df, name)
    for _ in range(2):  # two columns of text, one after the other
        with refused(monkeypatch, df, ArgumentTypeError) as caught:
            ASKED[name](asked)
        found = STEP.search(str(caught.value))
        assert found, str(caught.value)
        asked = eval(f"asked{found[1]}", {"asked": asked})  # what it says to type
        try:
            ASKED[name](asked)
        except ArgumentTypeError:
            continue
        return
    pytest.fail("numbers were made of both columns, and it is refused still")

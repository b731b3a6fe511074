"""A frame that is not the protected object: what is said of it, and that the line to type works."""

from __future__ import annotations

import linecache
import re

import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

from pandas_dp import ArgumentValueError, UnverifiedFrameError

MADE = {
    "dropna": lambda df: df.dropna(),
    "sort_values": lambda df: df.sort_values("age"),
    "set_index": lambda df: df.set_index("sex"),
    "copy": lambda df: df.copy(),
    "assign": lambda df: df.assign(x=1),
    "concat": lambda df: pd.concat([df, df]),
    "merge": lambda df: df.merge(pd.DataFrame({"sex": ["f", "m"], "share": [0.5, 0.5]}), on="sex"),
    "rows": lambda df: df[df["age"] > 20],
    "all rows": lambda df: df[df["age"] > 0],
    "no rows": lambda df: df[df["age"] < 0],
    "reload": lambda df: people(),
    "groups": lambda df: df.groupby("sex")[["age"]].apply(lambda g: g).reset_index(),
}
TERMS = {
    "plain": {},
    "delta": {"delta": 1e-6},
    "reserved": {"delta": 1e-6, "delta_reserved": 5e-7, "accountant": "rdp"},
    "unit": {"unit": "pid", "max_rows": 3, "max_groups": 2, "max_rows_per_group": 1},
    "replace": {"neighbors": "replace_one", "delta": 1e-6, "accountant": "zcdp"},
    "plan": {"delta": 1e-6, "plan": {0.1: 4}},
}


def typed(line: str, **names: object) -> object:
    """Run a cell, whose text can be read."""
    linecache.cache["<cell>"] = (len(line), None, [line], "<cell>")
    exec(compile(line, "<cell>", "exec"), names)
    return names


def refusal(line: str, **names: object) -> UnverifiedFrameError:
    with pytest.raises(UnverifiedFrameError) as caught:
        typed(line, **names)
    return caught.value


def to_type(text: str, name: str) -> str:
    (line,) = (line for line in text.splitlines() if f"name='{name}'" in line)
    return line


@pytest.mark.one_in(12)
@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_the_line_to_type_goes_on_with_the_budget(made, terms):
    df, name = people(), fresh()
    session = df.dp.protect(epsilon=20, name=name, **terms)
    df.dp(epsilon=2.5).count()
    other = made(df)
    line = to_type(str(refusal("other.dp(epsilon=1).count()", other=other)), name)
    assert line.endswith(f"# continues: {session.spent.epsilon.normalize():.3g} of 20 spent")
    if terms.get("unit", "age") not in other.columns:
        with pytest.raises(ArgumentValueError, match="is not a column of this table"):
            typed(line, other=other)
        return
    typed(f"{line}\nother.dp(epsilon=1).count()", other=other)
    assert other.dp.session is session
    assert len(session.releases[session.releases["kind"] == "query"]) == 2


@pytest.mark.slow
def test_nothing_but_the_name_of_the_variable_differs():
    df = protected()
    texts = {str(refusal("other.dp(epsilon=1).count()", other=made(df))) for made in MADE.values()}
    assert len(texts) == 1
    first, *lines, last = texts.pop().splitlines()
    assert first == UnverifiedFrameError.TEXT
    assert all(
        re.fullmatch(r"other\.dp\.protect\(epsilon=.*\)  # continues: [\d.]+ of [\d.]+ spent", line) for line in lines
    )
    assert "df.dp.query(" in last


def test_a_ledger_is_named_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    df, name = people(), fresh()
    for folder in (tmp_path, tmp_path / "books"):
        folder.mkdir(exist_ok=True)
        df.dp.protect(epsilon=20, name=name, ledger=folder / "a.dpledger")
        other = df.copy()
        line = to_type(str(refusal("other.dp(epsilon=1).count()", other=other)), name)
        assert f"ledger={str((folder / 'a.dpledger').relative_to(tmp_path))!r}" in line
        typed(line, other=other)
        assert other.dp.session is df.dp.session
        df.dp.session.close()


def test_a_frame_without_a_name_gets_one():
    df, name = people(), fresh()
    df.dp.protect(epsilon=20, name=name)
    line = to_type(str(refusal("df.dropna().dp(epsilon=1)['age'].mean(bounds=(0, 9))", df=df)), name)
    assert line.startswith("frame = df.dropna(); frame.dp.protect(epsilon=20, name=")
    typed(f"{line}\nframe.dp(epsilon=1).count()", df=df)
    assert df.dp.session.spent == "epsilon=1"


def test_steps_and_queries_say_it_too():
    df, name = people(), fresh()
    df.dp.protect(epsilon=20, name=name)
    other = df.copy()
    for line in (
        "other.dp.query('age > 20')",
        "other.dp(epsilon=1).groupby('sex', keys=['f'])['age'].median(bounds=(0, 9))",
        "other.dp(epsilon=1)['age'].mean()",
    ):
        assert to_type(str(refusal(line, other=other)), name).startswith("other.dp.protect(")


@pytest.mark.parametrize(
    "ask",
    [
        lambda d: d.mean("age", bounds=[100, 0]),
        lambda d: d["age"].median(bounds=[100, 0]),
        lambda d: d.quantile("age", 2, bounds=(0, 100)),
        lambda d: d.histogram("sex", keys=["f", "f"]),
        lambda d: d.groupby("sex", keys=["f"])["age"].mean(bounds=[100, 0]),
        lambda d: d.mean("agee", bounds=(0, 100)),
    ],
)
def test_arguments_are_checked_first(monkeypatch, ask):
    df = protected(schema={"age": {"bounds": (0, 120)}})
    other = df.copy()
    with refused(monkeypatch, df, ArgumentValueError):
        ask(other.dp(epsilon=1))
    with refused(monkeypatch, df, UnverifiedFrameError):  # what the schema says is not asked for
        other.dp(epsilon=1).mean("age")


def test_no_budget_is_open():
    df = protected()
    df.dp.session.close()
    assert "protect" in str(refusal("other.dp(epsilon=1).count()", other=people()))

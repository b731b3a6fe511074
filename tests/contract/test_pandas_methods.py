"""All that pandas has for a column and a table is taken, or refused with a line that works: nothing is left unsaid."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support import pandas_methods
from support.frames import fresh, protected

import pandas_dp
from pandas_dp.errors import ArgumentValueError
from pandas_dp.questions.unknown_names import HINTS, OTHERS
from pandas_dp.steps.accessors import PROPERTIES
from pandas_dp.steps.functions import METHODS
from pandas_dp.steps.parse import parse_expression
from pandas_dp.steps.refusals import REASONS, WHOLE_COLUMN

ROWS = 60
TABLE = pd.DataFrame(
    {
        "x": np.arange(ROWS) % 7,
        "y": np.arange(ROWS) / 2,
        "g": ["a", "b", None] * (ROWS // 3),
        "when": pd.date_range("2013-01-01", periods=ROWS, freq="7h"),
        "tags": pd.Series([["u"], [], None] * (ROWS // 3), dtype=pd.ArrowDtype(pa.list_(pa.string()))),
        "place": pd.Series([{"city": "p"}] * ROWS, dtype=pd.ArrowDtype(pa.struct([("city", pa.string())]))),
        "person": np.arange(ROWS),
        "age": np.arange(ROWS) % 90,
        "hours": np.arange(ROWS) % 60,
        "cost": np.arange(ROWS) * 1.5,
        "visit": pd.date_range("2013-01-01", periods=ROWS, freq="D"),
        "ward": ["A", "B"] * (ROWS // 2),
        "sex": ["f", "f", "m"] * (ROWS // 3),
    }
)
LOOKUP = {"g": ["a", "b"], "label": ["first", "second"]}
ALL_NAMES = [name for space in pandas_methods.SPACES for name in pandas_methods.names(space)]


def unsaid() -> list[str]:
    """Methods of columns that are neither traced nor refused with a reason, and accessors that nobody looked into."""
    listed = [name for space in pandas_methods.SPACES for name in pandas_methods.names(space)]
    found = [name for name in listed if not pandas_methods.traced(name) and name not in REASONS]
    return found + sorted(pandas_methods.accessors() - pandas_methods.SPACES.keys() - {"plot", "dp"})


def test_every_method_of_a_column_is_traced_or_refused_with_a_reason():
    """A new one of pandas fails this until it is written down what becomes of it."""
    assert unsaid() == []
    assert all(len(pandas_methods.names(space)) > 1 for space in pandas_methods.SPACES)


@pytest.mark.parametrize("space", pandas_methods.SPACES)
def test_a_method_that_pandas_gains_is_found(monkeypatch, space):
    owner = pandas_methods.SPACES[space]
    monkeypatch.setattr(owner, "gained", lambda self: self, raising=False)
    assert unsaid() == [f"{space}.gained" if space else "gained"]


def test_an_accessor_that_pandas_gains_is_found(monkeypatch):
    kind = type(inspect.getattr_static(pd.Series, "str"))
    monkeypatch.setattr(pd.Series, "tensor", kind("tensor", pd.Series.str), raising=False)
    assert unsaid() == ["tensor", "tensor"]


def test_what_values_of_each_kind_have_is_listed():
    """Not what a class has alone: pandas gives dates, durations, periods and Arrow's dtypes accessors of their own."""
    held = [
        ("dt", pd.Series(pd.to_datetime(["2024-01-01"]))),
        ("dt", pd.Series(pd.to_datetime(["2024-01-01"], utc=True))),
        ("dt", pd.Series(pd.to_timedelta(["1D"]))),
        ("dt", pd.Series(pd.period_range("2024", periods=1, freq="D"))),
        ("dt", pd.Series(pd.array([None], pd.ArrowDtype(pa.timestamp("us"))))),
        ("str", pd.Series(["a"])),
        ("cat", pd.Series(["a"], dtype="category")),
        ("list", TABLE.tags),
        ("struct", TABLE.place),
        ("", TABLE.x),
    ]
    for space, series in held:
        names = pandas_methods.public(getattr(series, space) if space else series)
        assert {f"{space}.{name}" if space else name for name in names} - set(ALL_NAMES) == set()


def test_every_method_of_a_table_is_a_step_or_a_question_or_refused_with_a_reason():
    known = [
        *HINTS,
        *filter(pandas_methods.stepped, dir(pd.DataFrame)),
        *filter(pandas_methods.asked, dir(pd.DataFrame)),
    ]
    assert set(pandas_methods.public(pd.DataFrame)) - set(known) - {"T"} == set()


def test_reasons_are_of_what_pandas_and_numpy_have():
    """Nothing that is traced is refused as well, and no reason is of a name that nobody types."""
    assert {name for name in ALL_NAMES if name in METHODS or name in PROPERTIES} & REASONS.keys() - {"where"} == set()
    numpys = {name for name in REASONS if name in dir(np) or name in dir(pd)}
    of_tables = {name for name in REASONS if hasattr(pd.DataFrame, name)}
    once = {
        "first",
        "last",
        "pad",
        "backfill",
        "applymap",
        "len",
        "sort",
        "cat",
        "str",
    }  # of pandas as it was, and of Python
    assert REASONS.keys() - set(ALL_NAMES) - numpys - of_tables - once == set()


@pytest.mark.parametrize(
    "name", ["rank", "apply", "cat.codes", "str.partition", "dt.isocalendar", "list.flatten", "struct.explode"]
)
def test_a_message_says_the_reason_without_its_backticks(name):
    source = f"x.{name} > 1"
    with pytest.raises(ArgumentValueError, match=re.escape(REASONS[name].replace("`", ""))):
        parse_expression(source, TABLE.columns)


def typed(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


ADVICE = {line: name for name, reason in REASONS.items() for line in typed(reason)}
ADVICE |= dict.fromkeys(typed(WHOLE_COLUMN), "whole column")
ADVICE |= {line: name for name in HINTS | OTHERS for line in typed(pandas_methods.hint(name))}
# what people know, which no advice can
KNOWN = {"lower": 0, "upper": 100, "first": "2013-01", "last": "2013-12", "largest_change": 5, "edges": [0, 50, 100]}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("line", ADVICE, ids=ADVICE.values())
def test_what_is_advised_can_be_typed(line):
    """In an expression, or of a protected table; nothing may be wrong with it but that there are few rows."""
    scope: dict[str, Any] = {"pd": pd, "np": np, "pandas_dp": pandas_dp, "lookup": LOOKUP, **KNOWN}
    if line.startswith("df.dp.protect"):
        scope["df"] = TABLE.copy() if "unit=" in line else TABLE.drop(columns="person")
        eval(line.replace(")", f", name={fresh()!r})"), scope)
        return
    if line.startswith(("df", ".")):
        df = scope["df"] = protected(TABLE.copy(), epsilon=1000, unit="person", max_rows=5)
        scope["function"] = lambda table: float(table.x.sum())
        result = eval(f"df.dp(epsilon=0.5){line}" if line.startswith(".") else line, scope)
        assert result is not None
        assert df.dp.session.left is not None
        return
    build: Any = eval(f"lambda d: {line}", scope) if re.search(r"\bd\.", line) else line
    if "pd." in line:
        build = eval("lambda d: " + re.sub(r"\bwhen\b", "d.when", line), scope)
    expression = parse_expression(build, TABLE.columns)
    pd.testing.assert_series_equal(expression.evaluate(TABLE).iloc[:0], expression.evaluate(TABLE.iloc[:0]))


def test_the_page_is_what_the_package_says():
    """``python -m tests.support.pandas_methods`` writes it again."""
    assert pandas_methods.PAGE.read_text() == pandas_methods.page()

"""Audits that would show real data, could not fail, or ask nothing: refused, with the line to type."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd
import pytest
from support.frames import protected

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError
from pandas_dp.audit import check
from pandas_dp.audit.search import weigh
from pandas_dp.core import gate

TABLE = pd.DataFrame({"age": [20.0, 40.0, 90.0], "pid": ["a", "b", "c"]})
NEIGHBOR = TABLE.iloc[:-1]
COUNT = pandas_dp.query(epsilon=1).count()


def count(df: pd.DataFrame) -> Any:
    return df.dp(epsilon=1).count()


def raises(df: pd.DataFrame) -> Any:
    raise KeyError("a mistake")


REFUSED = [
    ((COUNT, TABLE), {}, ArgumentTypeError, "check() needs neighbor"),
    (("count", TABLE, NEIGHBOR), {}, ArgumentTypeError, "question must be a query or a function of a DataFrame"),
    ((COUNT, TABLE["age"], NEIGHBOR), {}, ArgumentTypeError, "table must be a DataFrame"),
    ((COUNT, TABLE, [1, 2]), {}, ArgumentTypeError, "neighbor must be a DataFrame"),
    (
        (COUNT, TABLE, NEIGHBOR),
        {"neighbours": "add_remove"},
        ArgumentTypeError,
        "check() takes neighbors=, not neighbours=",
    ),
    ((COUNT, TABLE, NEIGHBOR), {"neighbors": "both"}, ArgumentValueError, "'add_remove' or 'replace_one'"),
    ((COUNT, TABLE, NEIGHBOR), {"unit": "pid"}, ArgumentTypeError, "unit needs max_rows"),
    ((COUNT, TABLE, NEIGHBOR), {"unit": "pie", "max_rows": 1}, ArgumentValueError, "did you mean 'pid'"),
    ((COUNT, TABLE, NEIGHBOR), {"samples": 99}, ArgumentValueError, "samples must be at least 100"),
    ((COUNT, TABLE, NEIGHBOR), {"samples": 1e3}, ArgumentTypeError, "samples must be"),
    ((COUNT, TABLE, NEIGHBOR), {"confidence": 1}, ArgumentValueError, "confidence=0.999999"),
    ((COUNT, TABLE, NEIGHBOR), {"epsilon": -1}, ArgumentValueError, "epsilon must lie between"),
    ((count, TABLE, NEIGHBOR), {"delta": 0.1}, ArgumentTypeError, "a claim with a delta names its epsilon"),
    ((COUNT, TABLE, NEIGHBOR), {"schema": {"pie": {"keys": ["a"]}}}, ArgumentValueError, "did you mean 'pid'"),
    ((COUNT, TABLE, TABLE.copy()), {}, ArgumentValueError, "hold the same rows"),
    ((COUNT, TABLE, TABLE.iloc[:1]), {}, ArgumentValueError, "differ in exactly one row that one of them lacks"),
    ((COUNT, TABLE, NEIGHBOR), {"neighbors": "replace_one"}, ArgumentValueError, "differ in the content of one row"),
    ((COUNT, TABLE, NEIGHBOR[["pid", "age"]]), {}, ArgumentTypeError, "neighbor[table.columns].astype(table.dtypes)"),
    (
        (COUNT, TABLE, NEIGHBOR.astype({"age": int})),
        {},
        ArgumentTypeError,
        "neighbor[table.columns].astype(table.dtypes)",
    ),
    ((pandas_dp.query(rho=1).count(), TABLE, NEIGHBOR), {}, ArgumentTypeError, "rho is not an epsilon"),
    ((COUNT, TABLE, NEIGHBOR), {"epsilon": 5}, ArgumentValueError, "take samples=64000, or ask"),
    (
        (count, TABLE, NEIGHBOR),
        {"epsilon": 50},
        ArgumentValueError,
        "50 is claimed: ask the question at a smaller price",
    ),
    ((raises, TABLE, NEIGHBOR), {"epsilon": 1}, ArgumentValueError, "the question raises KeyError: 'a mistake'"),
    ((lambda df: df.dp.protect(epsilon=1), TABLE, NEIGHBOR), {}, ArgumentValueError, "leave df.dp.protect out"),
    ((lambda df: df.dp(epsilon=1), TABLE, NEIGHBOR), {}, ArgumentTypeError, "PricedFrame, which is not an answer yet"),
    ((pandas_dp.query(epsilon=1), TABLE, NEIGHBOR), {}, ArgumentValueError, "this query has no question yet"),
    ((pandas_dp.query(epsilon=1).above_threshold(2), TABLE, NEIGHBOR), {}, ArgumentTypeError, "not the stream"),
    ((lambda df: iter([1]), TABLE, NEIGHBOR), {"epsilon": 1}, ArgumentTypeError, "list(answers(df))"),
    ((lambda df: object(), TABLE, NEIGHBOR), {"epsilon": 1}, ArgumentTypeError, "in which no answer can be seen"),
    ((lambda df: 3, TABLE, NEIGHBOR), {}, ArgumentTypeError, "was charged nothing: name what it claims"),
    ((lambda df: df.dp(rho=1).count(), TABLE, NEIGHBOR), {}, ArgumentValueError, "the question raises"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("given", "options", "error", "said"), REFUSED, ids=range(len(REFUSED)))
def test_refused(monkeypatch: pytest.MonkeyPatch, given: Any, options: dict[str, Any], error: type, said: str):
    monkeypatch.setattr("pandas_dp.audit.checking.weigh", None)  # nothing is found out
    with pytest.raises(error) as caught:
        check(*given, **{"samples": 1000, **options})
    assert said in str(caught.value)


def closed() -> pd.DataFrame:
    df = protected()
    df.dp.session.close()
    return df


def foreign() -> pd.DataFrame:
    made = TABLE.copy()
    made.attrs["pandas_dp"] = "dp:of another process"
    return made


@pytest.mark.parametrize(
    "make",
    [
        protected,
        lambda: protected().iloc[:-1],
        lambda: protected().copy(),
        lambda: protected().dp.query("age > 30"),
        closed,
        foreign,
    ],
)
def test_protected_tables_are_never_audited(monkeypatch: pytest.MonkeyPatch, make: Any):
    """Neither on their own budget nor on one that is thrown away; whichever of the two tables it is."""
    df = make()
    monkeypatch.setattr(gate, "release", None)
    for pair in ((df, df.iloc[:-1]), (pd.DataFrame(df.to_dict("list")), df)):
        with pytest.raises(
            ArgumentValueError, match=r"an audit shows what it holds.*pandas_dp\.mock\(schema, rows=20\)"
        ):
            check(COUNT, *pair)


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    for ask in (lambda: check(COUNT, TABLE, NEIGHBOR), lambda: weigh([1] * 10, [2] * 10, 1, 0.01)):
        with pytest.raises(ImportError, match=r"pip install 'pandas-dp\[audit\]'"):
            ask()


def test_the_public_names_are_few():
    assert dir(pandas_dp.audit) == ["AuditResult", "__doc__", "__name__", "check", "pairs"]

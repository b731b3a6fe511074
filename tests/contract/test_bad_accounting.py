"""Bad inputs of the accountants: refused at price 0 with the data untouched, and with a line to type."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.core.ledger import open_ledger

INF, NAN = float("inf"), float("nan")
COUNTING = ["hybrid", "rdp", "zcdp", "gdp"]  # divergences


def unopened(monkeypatch, error, match, **terms):
    """A budget that must not come into being: neither in the ledger nor for the frame."""
    df, name = people(), fresh()
    with refused(monkeypatch, df, error, match):
        df.dp.protect(**{"epsilon": 1, "name": name} | terms)
    assert open_ledger().budget(name) is None
    assert not hasattr(df.dp, "session")
    df.dp.protect(epsilon=1, name=name)  # the frame and the name are still free


@pytest.mark.one_in(2)
@pytest.mark.parametrize("delta", [-1e-6, -INF, 1, 1.5, INF, NAN, 1e-101])
@pytest.mark.parametrize("terms", [{}, *({"accountant": name} for name in COUNTING), {"plan": {0.1: 3}}], ids=str)
def test_delta_beyond_0_and_1(monkeypatch, delta, terms):
    unopened(monkeypatch, ArgumentValueError, "^delta must .* such as delta=1e-6", delta=delta, **terms)


@pytest.mark.parametrize("delta", ["1e-6", True, 1 + 0j, None, [1e-6]], ids=repr)
def test_delta_of_another_type(monkeypatch, delta):
    unopened(monkeypatch, ArgumentTypeError, "^delta must be a number, such as delta=1e-6", delta=delta)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("epsilon", [0, -1, -INF, INF, NAN, 1e-10, 1e7])
@pytest.mark.parametrize("accountant", ["auto", "pure", *COUNTING])
def test_totals_that_are_not_positive_numbers(monkeypatch, epsilon, accountant):
    delta = 1e-6 if accountant in COUNTING else 0
    match = "^epsilon must .* such as epsilon=0.5"
    unopened(monkeypatch, ArgumentValueError, match, epsilon=epsilon, delta=delta, accountant=accountant)


@pytest.mark.parametrize(
    ("terms", "line"),
    [
        ({"accountant": "pld"}, "type 'auto' or one of 'pure', 'hybrid'"),
        ({"accountant": None}, "type 'auto' or one of 'pure', 'hybrid'"),
        ({"accountant": "pure"}, "type delta=0, or 'hybrid'"),
        *(({"accountant": name, "delta": 0}, "type delta=1e-6, or 'pure'") for name in COUNTING),
        ({"accountant": "gdp", "delta_reserved": 1e-7}, "leave delta_reserved= out"),
        ({"delta_reserved": 1e-6}, "type delta_reserved=1e-7"),
        ({"delta_reserved": 0}, "type delta_reserved=1e-7"),
        ({"delta_reserved": 2}, "such as delta_reserved=1e-6"),
        ({"delta_reserved": NAN}, "such as delta_reserved=1e-6"),
        ({"delta": 0, "delta_reserved": 1e-7}, "type delta=1e-6"),
        ({"plan": {0.1: 3}, "delta_reserved": 1e-7}, "leave delta_reserved= out"),
        ({"plan": {0.1: 3}, "accountant": "zcdp"}, "leave accountant= out"),
        ({"plan": {0.1: 3}, "delta": 0}, "type delta=1e-6"),
        ({"plan": {0.1: 30}}, "plan fewer questions or lower prices"),
    ],
    ids=str,
)
def test_terms_that_do_not_fit_together(monkeypatch, terms, line):
    unopened(monkeypatch, ArgumentValueError, line, **{"delta": 1e-6} | terms)


# -- calls that the accountant cannot pay -----------------------------------------------------------------------

PURE = {
    "count": lambda df: df.dp(epsilon=0.1).count(),
    "accuracy": lambda df: df.dp(within=50, confidence=0.95).count(),
    "mean": lambda df: df.dp(epsilon=0.1).mean("age", bounds=(0, 100)),
    "choice": lambda df: df.dp(epsilon=0.1).mode("sex", keys=["f", "m"]),
    "stream": lambda df: df.dp(epsilon=0.1).above_threshold(3),
    "filtered": lambda df: df.dp(epsilon=0.1).query("age > 30").count(),
    "piped": lambda df: df.dp.pipe(pandas_dp.query(epsilon=0.1).count()),
}
WITH_DELTA = {
    "rho": lambda df: df.dp(rho=0.001).count(),
    "delta": lambda df: df.dp(epsilon=0.1, delta=1e-8).count(),
    "histogram": lambda df: df.dp(rho=0.001).histogram("age", bins=[0, 50, 100]),
    "accuracy": lambda df: df.dp(within=50, confidence=0.95, delta=1e-8).count(),
    "smooth": lambda df: smooth(df),
}


def smooth(df: pd.DataFrame, delta: float = 1e-8) -> object:
    price = df.dp(epsilon=0.1, delta=delta)
    return price.quantile("age", 0.5, bounds=(0, 100), method="smooth", noise="laplace")


@pytest.mark.parametrize("call", [*PURE.values(), smooth], ids=[*PURE, "smooth"])
def test_gdp_pays_nothing_but_gaussian_noise(monkeypatch, call):
    df = protected(epsilon=1, delta=1e-6, accountant="gdp")
    with refused(monkeypatch, df, ArgumentValueError, r"accountant='gdp'.*such as df\.dp\(rho=0\.01\)"):
        call(df)
    assert int(df.dp(rho=0.01).count()) is not None


@pytest.mark.parametrize("terms", [{}, {"accountant": "pure"}], ids=str)
@pytest.mark.parametrize("call", WITH_DELTA.values(), ids=WITH_DELTA)
def test_pure_pays_neither_rho_nor_delta(monkeypatch, call, terms):
    df = protected(epsilon=1, **terms)
    with refused(
        monkeypatch,
        df,
        BudgetExceededError,
        r"leave out delta= and rho= \(epsilon=1 would fit and spend all that is left\)",
    ) as caught:
        call(df)
    assert caught.value.currency == "delta"
    assert "df.dp.session.extend(to_delta=1e-6, reason='...')" in str(caught.value)
    df.dp(epsilon=1).count()


@pytest.mark.parametrize("call", WITH_DELTA.values(), ids=WITH_DELTA)
def test_a_plan_pays_neither_rho_nor_delta(monkeypatch, call):
    df = protected(epsilon=1, delta=1e-6, plan={0.1: 3})
    line = r"leave out delta= and rho= \(epsilon=0\.1 or epsilon=0\.70001 would fit\)"
    with refused(monkeypatch, df, BudgetExceededError, line) as caught:
        call(df)
    assert caught.value.currency == "delta"
    df.dp(epsilon=0.1).count()


@pytest.mark.parametrize("accountant", ["hybrid", "rdp", "zcdp"])
def test_more_delta_than_is_reserved(monkeypatch, accountant):
    df = protected(epsilon=1, delta=1e-6, accountant=accountant)
    with refused(monkeypatch, df, BudgetExceededError, r"of the delta reserved .* 1e-7 is left") as caught:
        smooth(df, 2e-7)
    assert caught.value.currency == "delta"
    assert "would fit in a query that needs no delta" in str(caught.value)
    smooth(df, 1e-7)


# -- steps of a plan, nothing being left beside it --------------------------------------------------------------

FULL = {Fraction(1, 2): 2}  # of epsilon = 1: what this leaves is less than 1e-5


@pytest.mark.parametrize("epsilon", [0.1, 0.4, 0.49999, 0.50001, 0.6, 1, Fraction("0.5000000001")], ids=str)
@pytest.mark.parametrize("name", ["count", "mean", "choice", "stream"])
def test_what_a_full_plan_did_not_declare(monkeypatch, epsilon, name):
    """Other prices than the declared one, lower or higher, for questions of any kind."""
    df = protected(epsilon=1, delta=1e-6, plan=FULL)
    ask = {
        "count": lambda dp: dp.count(),
        "mean": lambda dp: dp.mean("age", bounds=(0, 100)),
        "choice": lambda dp: dp.mode("sex", keys=["f", "m"]),
        "stream": lambda dp: dp.above_threshold(3),
    }[name]
    with refused(monkeypatch, df, BudgetExceededError, r"epsilon=0\.5 or epsilon=5e-6 would fit") as caught:
        ask(df.dp(epsilon=epsilon))
    assert caught.value.currency == "epsilon"
    ask(df.dp(epsilon=0.5))  # the line it names


def test_a_plan_that_is_used_up(monkeypatch):
    df = protected(epsilon=1, delta=1e-6, plan=FULL)
    for _ in range(2):
        df.dp(epsilon=0.5, fresh=True).count()
    with refused(monkeypatch, df, BudgetExceededError, r"; epsilon=5e-6 would fit .*left 0 of 2 planned calls"):
        df.dp(epsilon=0.5, fresh=True).count()
    df.dp(epsilon=5e-6).count()
    with refused(monkeypatch, df, BudgetExceededError, "nothing fits any more"):
        df.dp(epsilon=1e-9).count()
    df.dp(epsilon=0.5).count()  # stored: for free


def test_a_step_of_a_plan_whose_price_was_changed(monkeypatch):
    """Queries make the plan; one of them at another price is not in it."""
    planned = [pandas_dp.query(epsilon=0.5).count(), pandas_dp.query(epsilon=0.5).mean("age", bounds=(0, 100))]
    df = protected(epsilon=1, delta=1e-6, plan=planned)
    with refused(monkeypatch, df, BudgetExceededError, r"epsilon=0\.5 or epsilon=5e-6 would fit"):
        df.dp.pipe(pandas_dp.query(epsilon=0.6).count())
    for query in planned:
        df.dp.pipe(query)
    assert df.dp.session.left.startswith("0 of 2 planned calls")

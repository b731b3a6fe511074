"""Bad inputs B1-B29: prices, budgets, bounds, names. A refusal names the argument, costs nothing and reads nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused, watching

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("epsilon", "error"),
    [
        pytest.param(0, ValueError, id="B1"),
        pytest.param(-1, ValueError, id="B2"),
        pytest.param(NAN, ValueError, id="B3"),
        pytest.param(INF, ValueError, id="B4"),
        pytest.param(1e-320, ValueError, id="B5"),
        pytest.param(1e308, ValueError, id="B6"),
        pytest.param("one", TypeError, id="B7"),
        pytest.param("1_0", TypeError, id="B7 as Python reads it"),
        pytest.param("1e999999999", TypeError, id="B7 too long"),
        pytest.param(True, TypeError, id="B8"),
        pytest.param(1 + 0j, TypeError, id="B9 complex"),
        pytest.param(np.array([1, 2]), TypeError, id="B9 array"),
        pytest.param(None, TypeError, id="B11"),
    ],
)
def test_prices_that_are_refused(monkeypatch, epsilon, error):
    df = protected()
    with refused(monkeypatch, df, error, "epsilon"):
        df.dp(epsilon=epsilon).count()
    if epsilon is not None:
        with refused(monkeypatch, df, error, "epsilon"):
            people().dp.protect(epsilon=epsilon, name=fresh())


NUMBERS = {  # and text that pandas or NumPy would read as one
    "protect epsilon": lambda odd: people().dp.protect(epsilon=odd, name=fresh()),
    "protect delta": lambda odd: people().dp.protect(epsilon=1, delta=odd, name=fresh()),
    "protect delta_reserved": lambda odd: people().dp.protect(epsilon=1, delta=0.1, delta_reserved=odd, name=fresh()),
    "protect max_rows": lambda odd: people().dp.protect(epsilon=1, unit="sex", max_rows=odd, name=fresh()),
    "protect max_groups": lambda odd: people().dp.protect(
        epsilon=1, unit="sex", max_rows=2, max_groups=odd, name=fresh()
    ),
    "protect rows": lambda odd: people().dp.protect(epsilon=1, neighbors="replace_one", rows=odd, name=fresh()),
    "plan price": lambda odd: people().dp.protect(epsilon=9, delta=0.1, plan=[odd], name=fresh()),
    "plan count": lambda odd: people().dp.protect(epsilon=9, delta=0.1, plan={0.1: odd}, name=fresh()),
    "schema bound": lambda odd: people().dp.protect(epsilon=1, schema={"age": {"bounds": (-5, odd)}}, name=fresh()),
    "schema nulls": lambda odd: people().dp.protect(epsilon=1, schema={"age": {"nulls": odd}}, name=fresh()),
    "delta": lambda odd: protected(delta=0.1).dp(epsilon=1, delta=odd),
    "rho": lambda odd: protected(delta=0.1).dp(rho=odd),
    "within": lambda odd: protected().dp(within=odd).count(),
    "confidence": lambda odd: protected().dp(within=9, confidence=odd).count(),
    "preview rows": lambda odd: protected().dp.preview(epsilon=1, rows=odd).count(),
    "allot": lambda odd: protected().dp.allot("part", epsilon=odd),
    "partition": lambda odd: protected().dp.partition("sex", ["F", "M"], epsilon=odd),
    "extend to": lambda odd: protected().dp.session.extend(to=odd, reason="more"),
    "extend to_delta": lambda odd: protected().dp.session.extend(to_delta=odd, reason="more"),
    "group": lambda odd: protected().dp.session.group(odd),
    "query epsilon": lambda odd: pandas_dp.query(epsilon=odd),
    "query within": lambda odd: pandas_dp.query(within=odd),
    "lower bound": lambda odd: protected().dp(epsilon=1).mean("age", bounds=(odd, 100)),
    "upper bound": lambda odd: protected().dp(epsilon=1).mean("age", bounds=(-5, odd)),
    "quantile": lambda odd: protected().dp(epsilon=1).quantile("age", odd, bounds=(0, 100)),
    "edge of a bin": lambda odd: protected().dp(epsilon=1).histogram("age", bins=[-5, odd, 100]),
    "threshold": lambda odd: protected().dp(epsilon=1).above_threshold(odd),
    "top": lambda odd: protected().dp(epsilon=1).top_k("sex", odd, keys=["F", "M"]),
    "clip": lambda odd: protected().dp.clip(odd, 100),
    "explode": lambda odd: protected().dp.explode("age", max=odd),
    "interval": lambda odd: protected().dp(epsilon=1).count().interval(odd),
}


PRICES = ["protect epsilon", "allot", "partition", "query epsilon"]


@pytest.mark.parametrize("place", PRICES)
def test_a_price_may_be_a_decimal_in_quotes(place):
    NUMBERS[place]("0.5")


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "odd", ["1", " 1 ", "0x1", b"1", True, np.True_, np.str_("1"), 1 + 0j, np.array(1), pd.NA], ids=repr
)
@pytest.mark.parametrize("place", NUMBERS)
def test_b7_b8_b9_wherever_a_number_is_typed(place, odd):
    if place == "protect rows" and odd is True:
        return  # that their number is public
    if place in PRICES and type(odd) is str and odd == "1":
        odd = "-1"
    with pytest.raises((ArgumentTypeError, ArgumentValueError)):
        NUMBERS[place](odd)


@pytest.mark.parametrize("epsilon", [Decimal("0.1"), Fraction(1, 10), 0.1, "0.1", "1e-1", "0.10"], ids=repr)
def test_b10_one_exact_rational_is_charged_and_calibrates(epsilon):
    df = protected()
    release = df.dp(epsilon=epsilon).count()
    assert df.dp.session.spent == "epsilon=0.1"
    assert release.query.price.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("delta", [-1e-9, 1, NAN, 1.5, "1", True])
def test_b12_delta(monkeypatch, delta):
    df = protected(delta=1e-6)
    with refused(monkeypatch, df, (ValueError, TypeError), "delta"):
        df.dp(epsilon=1, delta=delta).count()


def test_b13_ten_tenths_are_one():
    df = protected(epsilon=1.0)
    for _ in range(10):
        df.dp(epsilon=0.1, fresh=True).count()
    assert df.dp.session.spent == "epsilon=1"
    for epsilon in (0.1, 1e-9):
        with pytest.raises(BudgetExceededError):
            df.dp(epsilon=epsilon, fresh=True).count()


def test_b14_no_float_drift():
    df = protected(epsilon=0.3)
    df.dp(epsilon=0.1).count()
    df.dp(epsilon=0.2).count()
    assert df.dp.session.left == "epsilon=0"


def test_b15_b16_above_the_rest(monkeypatch):
    df = protected(epsilon=1)
    df.dp(epsilon=0.5).count()
    for asked in (0.6, Decimal("0.500000000001")):
        with refused(monkeypatch, df, BudgetExceededError) as caught:
            df.dp(epsilon=asked).count()
        assert caught.value.currency == "epsilon"
        assert "0.5" in caught.value.left
        assert "0.5 would fit" in str(caught.value)
    df.dp(epsilon=0.5).mean("age", bounds=(0, 100))


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "median"])
def test_b17_b53_no_bounds(monkeypatch, name):
    df = protected()
    with refused(monkeypatch, df, TypeError, "bounds") as caught:
        getattr(df.dp(epsilon=1), name)("pay")
    other = protected(people().iloc[:2].copy())
    with refused(monkeypatch, other, TypeError, "bounds") as again:
        getattr(other.dp(epsilon=1), name)("pay")
    assert str(caught.value) == str(again.value)
    assert f"{name}('pay', bounds=(lower, upper))" in str(caught.value)


@pytest.mark.parametrize(
    "bounds",
    [
        pytest.param((10, 0), id="B18"),
        pytest.param((5, 5), id="B19"),
        pytest.param((NAN, 1), id="B20 nan"),
        pytest.param((0, INF), id="B20 inf"),
        pytest.param((-INF, 0), id="B20 -inf"),
        pytest.param((0,), id="B21 one"),
        pytest.param((0, 1, 2), id="B21 three"),
        pytest.param("ab", id="B21 text"),
        pytest.param(("a", "b"), id="B21 texts"),
        pytest.param((-1e308, 1e308), id="B22"),
        pytest.param((0, 1e-320), id="B23"),
        pytest.param(7, id="number"),
        pytest.param({0, 1}, id="set"),
    ],
)
def test_bounds_that_are_refused(monkeypatch, bounds):
    df = protected()
    for name in ("sum", "mean", "var", "median"):
        with refused(monkeypatch, df, (ValueError, TypeError), "bounds"):
            getattr(df.dp(epsilon=1), name)("pay", bounds=bounds)


def test_b24_bounds_are_never_compared_with_the_data():
    """Bounds that happen to be the data's own pass like any other: telling them apart would itself leak."""
    df = protected()
    release = df.dp(epsilon=1).sum("pay", bounds=(float(df.pay.min()), float(df.pay.max())))
    assert isinstance(release, float)
    assert df.dp.session.spent == "epsilon=1"


def test_b25_unknown_column(monkeypatch):
    df = protected()
    with refused(monkeypatch, df, ValueError, "'nope'") as caught:
        df.dp(epsilon=1).sum("nope", bounds=(0, 1))
    assert not any(name in str(caught.value) for name in ("age", "pay", "sex", "city"))


def test_b26_several_columns_with_one_bound(monkeypatch):
    df = protected()
    with refused(monkeypatch, df, TypeError, "selected in brackets"):
        df.dp(epsilon=1).sum(["pay", "age"], bounds=(0, 1))


def test_b27_b28_column_names(monkeypatch):
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(ArgumentValueError, match="unique"):
        twice.dp.protect(epsilon=1, name=fresh())
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    with pytest.raises(ArgumentTypeError, match="one level"):
        levels.dp.protect(epsilon=1, name=fresh())


@pytest.mark.parametrize("name", ["; drop table entries; --", "line\nbreak", "x" * 10**6, "\udc80", "\x00"])
def test_b29_odd_column_names_are_data_to_the_ledger(name, tmp_path):
    df = pd.DataFrame([[1.0], [2.0]], columns=pd.Index([name], dtype=object))
    df.dp.protect(epsilon=1, name=fresh(), ledger=tmp_path / "odd.dpledger")
    df.dp(epsilon=0.5).mean(name, bounds=(0, 5))
    df.dp(epsilon=0.5).histogram(name, bins=[0, 1, 2])
    assert df.dp.session.spent == "epsilon=1"
    assert len(df.dp.session.releases) == 3


def test_implausible_arguments_of_protect(monkeypatch):
    for terms, match in [
        ({"unit": "pid"}, "max_rows"),
        ({"max_rows": 3}, "unit"),
        ({"unit": "nope", "max_rows": 3}, "nope"),
        ({"unit": 7, "max_rows": 3}, "unit"),
        ({"unit": "pid", "max_rows": 0}, "max_rows"),
        ({"unit": "pid", "max_rows": 2.5}, "max_rows"),
        ({"unit": "pid", "max_rows": 3, "max_groups": -1}, "max_groups"),
        ({"neighbors": "swap"}, "neighbors"),
        ({"accountant": "magic"}, "accountant"),
        ({"delta": 2}, "delta"),
        ({"delta": 1e-6, "delta_reserved": 1e-5}, "delta_reserved"),
        ({"schema": {"nope": {"bounds": (0, 1)}}}, "nope"),
        ({"schema": {"age": {"limits": (0, 1)}}}, "limits"),
        ({"schema": "age"}, "schema"),
        ({"name": ""}, "name"),
    ]:
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match=match):
            people().dp.protect(epsilon=1, **{"name": fresh(), **terms})


def test_a_refusal_says_what_to_type():
    df = protected()
    with pytest.raises(pandas_dp.PandasDPError, match=r"df\.dp\(epsilon=0\.5\)"):
        df.dp().count()
    with pytest.raises(pandas_dp.PandasDPError, match="epsilon="):
        df.dp(epsilon=1, rho=1).count()


def test_the_watch_sees_an_answered_call(monkeypatch):
    """The refusal tests could fail: an answered call opens the data once."""
    df = protected()
    with watching(monkeypatch) as watch:
        df.dp(epsilon=1).count()
    assert watch.opened == 1


def test_a_query_with_a_price_in_quotes_is_one_of_a_plan():
    query = pandas_dp.query(epsilon="0.1").count()
    session = people().dp.protect(epsilon=3, delta=1e-6, plan=[query, query], name=fresh())
    assert "2 of 2 planned calls at epsilon=0.1" in session.left
    assert pandas_dp.Query.from_dict(query.to_dict()) == query

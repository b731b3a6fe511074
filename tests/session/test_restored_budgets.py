"""After an older copy is put back the books tell no less than was spent; what cannot be counted promises nothing."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction as F
from html import unescape

import pandas as pd
import pytest

from pandas_dp import ArgumentValueError, BudgetExceededError
from pandas_dp.books import amounts, odometer
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import LedgerError
from pandas_dp.session import ledger_files

TERMS = {
    "pure": {"epsilon": 1},
    "hybrid": {"epsilon": 1, "delta": 1e-6},
    "zcdp": {"epsilon": 1, "delta": 1e-6, "accountant": "zcdp"},
    "rdp": {"epsilon": 1, "delta": 1e-6, "accountant": "rdp"},
    "gdp": {"epsilon": 1, "delta": 1e-6, "accountant": "gdp"},
    "plan": {"epsilon": 3, "delta": 1e-6, "plan": {0.1: 5}},
}
TEN = PrivacyLoss.gaussian(F(10))
BEYOND = {
    "rho": (TEN, "rho=10"),
    "delta": (PrivacyLoss((), F(1, 2)), "delta=0.5"),
    "all": (TEN + PrivacyLoss.pure(F(1, 2)) + PrivacyLoss((), F(1, 2)), "epsilon=0.5, rho=10, delta=0.5"),
}


def restored(tmp_path, terms, loss, price):
    """A session on a copy that was put back."""
    path, copy = tmp_path / "v.dpledger", tmp_path / "copy.dpledger"
    df = pd.DataFrame({"age": [1, 2, 3] * 100, "g": ["a", "b", "c"] * 100})
    session = df.dp.protect(**terms, ledger=path, name="visits")
    df.dp(rho=0.001).count() if terms.get("accountant") == "gdp" else df.dp(epsilon=0.1).count()
    ledger_files.backup(session._ledger, copy)
    session._ledger.close()
    ledger = open_ledger(copy)
    ledger_files.restore(ledger, loss, price)
    df = pd.DataFrame({"age": [1, 2, 3] * 100, "g": ["a", "b", "c"] * 100})
    df.dp.protect(**terms, ledger=copy, name="visits")
    return df


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("beyond", BEYOND)
def test_what_the_budget_cannot_count_promises_nothing(tmp_path, name, beyond):
    df = restored(tmp_path, TERMS[name], *BEYOND[beyond])
    session = df.dp.session
    spent, left = session.spent, session.left
    assert (spent.epsilon, spent.delta) == (Decimal("Infinity"), 1)
    assert (left.epsilon, left.delta) == (0, 0)
    assert str(left) == "nothing"
    assert odometer.NOTHING in spent.guarantee
    assert odometer.NOTHING in session.group(2)
    page = unescape(session.report())
    assert "Nothing is promised." in page
    assert "An older copy of the ledger was put back" in page
    assert "by a factor of at most" not in page
    session.report(tmp_path / "s.json")
    told = json.loads((tmp_path / "s.json").read_text())["budgets"][0]
    assert (told["total"]["holds"], told["spent"]["epsilon"]) == (False, None)
    with pytest.raises(BudgetExceededError, match="nothing fits any more"):
        df.dp(rho=1e-9).count() if name == "gdp" else df.dp(epsilon=1e-9).count()
    assert "spent" in repr(session)
    session._ledger.close()


@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("name", ["pure", "gdp"])
def test_it_is_not_forgotten_by_another_total(tmp_path, name, beyond):
    df = restored(tmp_path, TERMS[name], *BEYOND[beyond])
    session = df.dp.session
    before = session.spent
    with pytest.raises(LedgerError, match=r"name= opens another one|more is spent than the new total"):
        session.extend(to=100, to_delta=1e-5, reason="more")
    assert session.spent == before
    session._ledger.verify()
    session._ledger.close()


def test_a_price_that_is_not_gaussian_stays_beyond_a_budget_of_gaussian_noise(tmp_path):
    df = restored(tmp_path, TERMS["gdp"], PrivacyLoss.pure(F(100)), "epsilon=100")
    with pytest.raises(LedgerError, match="more was put on record than this budget can count"):
        df.dp.session.extend(to=800, reason="more")
    with pytest.raises(BudgetExceededError, match="nothing fits"):
        df.dp(rho=1e-9).count()
    df.dp.session._ledger.close()


@pytest.mark.parametrize("name", TERMS)
def test_a_finite_epsilon_beyond_the_total_is_added_to_it(tmp_path, name):
    df = restored(tmp_path, TERMS[name], PrivacyLoss.pure(F(5)), "epsilon=5")
    spent = df.dp.session.spent
    assert spent.epsilon >= 5
    if name == "pure":
        assert spent.epsilon == F("5.1")
    df.dp.session._ledger.close()


@pytest.mark.parametrize("name", TERMS)
def test_all_that_was_left_is_all_and_keeps_the_total(tmp_path, name):
    df = restored(tmp_path, TERMS[name], None, "all that was left")
    session = df.dp.session
    for price in ({"rho": 1e-9}, {"epsilon": 1e-9}, {"epsilon": 0.1}):
        if (name == "gdp") == ("rho" in price):
            with pytest.raises((BudgetExceededError, ArgumentValueError)):
                df.dp(**price).count()
    if name != "plan":
        assert session.spent.epsilon <= 1
        assert session.spent.guarantee.startswith("all answers together: epsilon=1")
    session._ledger.close()


@pytest.mark.parametrize("name", ["pure", "hybrid", "zcdp", "rdp", "gdp"])
def test_a_budget_of_which_all_was_left_is_not_raised(tmp_path, name):
    """What was answered may have had any divergence, and the total may have been raised after the copy was made."""
    df = restored(tmp_path, TERMS[name], None, "all that was left")
    session = df.dp.session
    before = session.spent
    if name != "pure" and name != "gdp":
        assert before.delta == Decimal("1e-6")  # also that for finding keys
    with pytest.raises(LedgerError, match="so its total cannot be raised"):
        session.extend(to=5, reason="more")
    price = {"rho": 0.1} if name == "gdp" else {"epsilon": 0.1}
    with pytest.raises(BudgetExceededError) as caught:
        df.dp(**price).count()
    assert "extend" not in f"{caught.value} {df.dp.preview(**price).count().refusal}"
    assert session.spent == before
    assert "If the total was raised after the copy was made" in unescape(session.report())
    session._ledger.verify()
    session._ledger.close()


def test_a_finite_price_that_was_restored_leaves_a_pure_budget_pure(tmp_path):
    """It may have been the difference of two draws, which has another divergence than one mechanism of that epsilon."""
    df = restored(tmp_path, TERMS["pure"], PrivacyLoss.pure(F(1, 2)), "epsilon=0.5")
    session = df.dp.session
    with pytest.raises(LedgerError, match="does not tell its divergences"):
        session.extend(to=3, to_delta=1e-6, reason="keys")
    assert session.extend(to=3, reason="more").budget.epsilon == 3
    session._ledger.close()


@pytest.mark.parametrize("prices", ["rho=1e-9, epsilon=0.9", "rho=0.001, rho=0.05"])
def test_prices_of_a_restored_copy_are_all_counted(tmp_path, prices):
    loss = PrivacyLoss()
    for price in prices.split(", "):
        name, _, value = price.partition("=")
        loss += PrivacyLoss.pure(F(value)) if name == "epsilon" else PrivacyLoss.gaussian(F(value))
    terms = {"epsilon": 3, "delta": 1e-6}
    path = tmp_path / "first"
    path.mkdir()
    df = restored(path, terms, loss, prices)
    spent = df.dp.session.spent
    state, rule = df.dp.session._state, df.dp.session._rule
    assert F(spent.epsilon) >= amounts.proved(rule, state)[0]  # as the books of the file alone say
    df.dp.session._ledger.close()

"""What is told of a budget, in whatever text: never less spent, never more left than the exact sums.

The texts are read back as numbers and compared with the rationals that the ledger holds.
"""

from __future__ import annotations

import re
from decimal import localcontext
from fractions import Fraction as F

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.frames import fresh

import pandas_dp
from pandas_dp.books import budget_words, certificate, odometer
from pandas_dp.books.amounts import deciding, proved, told_amount
from pandas_dp.books.certificate_contents import Account
from pandas_dp.core import filters
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.filters import GDPFilter, PlanFilter, PureFilter, filter_for
from pandas_dp.core.privacy import Price, PrivacyLoss, PrivacyUnit, show
from pandas_dp.facts.numbers import as_float
from pandas_dp.release.preview import Preview

NUMBER = r"(-?[0-9][0-9.,]*(?:e-?[0-9]+)?(?:/[0-9]+)?)"
ACCOUNTANTS = ("pure", "hybrid", "rdp", "zcdp", "gdp", "plan")
PLAN = ((F(1, 20), 10), (F("0.0123456789012345678"), 3), (F(1, 7), 2))
ROW = PrivacyUnit()
PRICES = st.one_of(
    st.fractions(F(1, 10**9), 2, max_denominator=10**15),
    st.decimals("1e-9", "2", places=14).map(F),
    st.floats(1e-9, 2).map(F),
    st.sampled_from([price for price, _ in PLAN]),
)
LOSSES = st.one_of(
    PRICES.map(PrivacyLoss.pure),
    PRICES.map(lambda rho: PrivacyLoss.gaussian(rho / 40)),
    st.tuples(PRICES, PRICES).map(lambda p: PrivacyLoss(PrivacyLoss.pure(p[0]).parts, p[1] / 10**8)),
)


def rule_of(accountant: str) -> filters.Filter:
    if accountant == "pure":
        return filter_for(Budget.of(F("5.00000000000000000001")))
    if accountant == "plan":
        return filter_for(Budget.of(F(5), F(1, 10**5)).planned(dict(PLAN).items()))
    return filter_for(Budget.of(F(5), F(1, 10**5) + F(1, 10**22), None, accountant))


def number(text: str) -> F:
    return F(text.replace(",", "").rstrip("."))


def amounts(name: str, text: str) -> list[F]:
    return [number(found) for found in re.findall(rf"{re.escape(name)}(?:=| about | ){NUMBER}", text)]


def spend(rule, losses):
    """What the filter admits of them, one after another."""
    state = State.zero()
    for loss in losses:
        charge = rule.charge(loss)
        after = rule.admit(state, charge)
        state = after or state
    return state


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@settings(max_examples=60, deadline=None)
@given(losses=st.lists(LOSSES, max_size=12), asked=LOSSES)
def test_sums_in_words(accountant, losses, asked):
    rule = rule_of(accountant)
    state = spend(rule, losses)
    refusal = str(budget_words.refusal(rule, state, "this", rule.charge(asked)))
    refused_spent, _, refused_left = refusal.partition("; left ")
    known = isinstance(rule, GDPFilter) and "ran out" not in refusal  # such a refusal tells no sums
    for spent in [budget_words.spent(rule, state), *([] if known else [refused_spent.rpartition("spent ")[2]])]:
        told_spent(rule, state, spent)
    for left in [budget_words.left(rule, state), *([] if known else [refused_left])]:
        told_left(rule, state, left)


def told_spent(rule, state, text):
    if isinstance(rule, PlanFilter):
        told = F(0)
        for used, price in re.findall(rf"([0-9,]+) of [0-9,]+ planned calls at epsilon={NUMBER}", text):
            told += number(used) * number(price)
        told += amounts("epsilon", text)[-1]
        assert told >= state.epsilon
        return
    if not state.unbounded:  # with Gaussian noise no sum of epsilons counts
        assert amounts("epsilon", text)[0] >= state.epsilon
    if state.renyi:
        assert amounts(rule.currency, text)[0] >= state.renyi * (1 - budget_words.STEPS)  # by which it was rounded up
    if state.delta:
        assert amounts("delta", text)[0] >= state.delta


def told_left(rule, state, text):
    budget = rule.budget
    if isinstance(rule, PlanFilter):
        assert amounts("epsilon", text)[-1] <= rule.beside - rule.others(state)
    elif isinstance(rule, PureFilter):
        assert amounts("epsilon", text)[0] <= budget.epsilon - state.epsilon
    else:
        assert amounts(rule.currency, text)[0] <= max(rule.limit - state.renyi, 0)
        by_sum = rule.by_sum(state)
        if by_sum is not None:
            assert amounts("epsilon", text)[0] <= max(by_sum, 0)
        if budget.delta_reserved:
            assert amounts("delta", text)[0] <= budget.delta_reserved - state.delta


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@settings(max_examples=30, deadline=None)
@given(losses=st.lists(LOSSES, max_size=8))
@example(
    losses=[PrivacyLoss.pure(F(1)), PrivacyLoss.pure(F(2))]
)  # paid by the sum of epsilons, above that of divergences
def test_odometer_and_certificate(accountant, losses):
    rule = rule_of(accountant)
    state, budget = spend(rule, losses), rule.budget
    epsilon, delta = proved(rule, state)
    with localcontext() as narrow:  # what the caller's decimals are rounded to plays no part
        narrow.prec = 3
        spent, left = odometer.spent(rule, state, ROW), odometer.left(rule, state, ROW, None)
    assert F(spent.epsilon) >= epsilon
    assert F(left.epsilon) <= budget.epsilon - epsilon
    assert F(spent.delta) >= delta
    assert F(left.delta) <= budget.delta - delta
    if not isinstance(rule, PureFilter):
        assert amounts("epsilon", spent)[0] >= epsilon
    if state != State.zero():
        told_spent(rule, state, spent.partition("; counted: ")[2] or spent)
    promised = amounts("epsilon", spent.guarantee)[0]
    assert promised >= budget.epsilon
    assert not budget.delta or amounts("delta", spent.guarantee)[0] >= budget.delta

    account = Account("data", rule, state, ROW, [], "", {})
    page = certificate._books(account)
    page = page.replace('<td class="number">used up</td>', '<td class="number">0</td>')
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>' + rf'<td class="number">(?:about )?{NUMBER}</td>' * 3, page)
    exact = {
        "Epsilon spent, as proved": (epsilon, budget.epsilon - epsilon, budget.epsilon),
        "Delta at that epsilon": (delta, budget.delta - delta, budget.delta),
    }
    if accountant == "zcdp":  # of whose epsilons no difference is told
        assert '<td class="number">as rho, below</td>' in page
        del exact["Epsilon spent, as proved"]
    # a hybrid budget pays while one of its two sums does, so the other may be above its limit: then nothing of it is left
    sums = deciding(rule, state)
    exact |= {name: (used, max(total - used, F(0)), total) for name, used, total in sums}
    assert len(rows) == len(exact) - (not budget.delta)
    for name, *told in rows:
        used, rest, total = map(number, told)
        assert used >= exact[name][0]
        assert rest <= exact[name][1]
        assert total >= exact[name][2]


@settings(max_examples=200, deadline=None)
@given(amount=PRICES | st.fractions(F(1, 10**12), 10**6))
def test_prices(amount):
    """Of a price: the text in ledger, CSV and answers, and the floats of previews and releases."""
    assert number(str(Price(epsilon=amount)).partition("=")[2]) >= amount
    assert number(str(Price(rho=amount)).partition("=")[2]) >= amount
    assert F(repr(as_float(amount))) >= amount
    assert number(told_amount(amount).removeprefix("about ")) >= amount
    ahead = Preview("", "", None, False, None, "", None, Charge(amount, amount / 7, amount / 10**7), "rho", F(3))
    assert F(repr(ahead.epsilon)) >= amount
    assert F(repr(ahead.delta)) >= amount / 10**7
    assert F(repr(ahead.share)) >= amount / 21
    assert amounts("epsilon", ahead.loss)[0] >= amount
    assert amounts("delta", ahead.loss)[0] >= amount / 10**7
    assert amounts("rho", ahead.loss)[0] >= amount / 7
    assert number(re.findall(rf"\({NUMBER} % of", ahead.loss)[0]) >= 100 * amount / 21


def test_what_floats_have_is_told_exactly():
    """A price is told to the digit that was typed, where one types at most a float."""
    for typed in ("0.30000000000000004", "0.1", "1e-6", "2", "12.5", "1.2345678901234567e-7", "999999.99999999"):
        assert F(show(F(typed))) == F(typed)
    assert show(F("0.1234567890123456789")) == "0.123456789013"
    assert show(F(1, 3)) == "1/3"


@pytest.mark.parametrize("accountant", ["hybrid", "rdp", "zcdp", "gdp"])
def test_a_session_tells_divergences_rounded_up(accountant):
    """The sums that were told to be 0.0247 where they were 0.02478."""
    df = pd.DataFrame({"a": range(1000)})
    session = df.dp.protect(epsilon=3, delta=1e-5, accountant=accountant, name=fresh())
    df.dp(rho=0.01239).count()
    df.dp(rho=0.01239, fresh=True).count()
    currency = session._rule.currency
    least = session._state.renyi * (1 - budget_words.STEPS)
    assert amounts(currency, session.spent)[0] >= least
    with pytest.raises(pandas_dp.BudgetExceededError) as refused:
        df.dp(rho=50).count()
    assert amounts(currency, str(refused.value).rpartition("spent ")[2])[0] >= least
    assert f"{currency} about" in repr(session)

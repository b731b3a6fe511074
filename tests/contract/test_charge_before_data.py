"""The order of every call: the charge is in the ledger before any data is opened, and a refused call opens none."""

from __future__ import annotations

import pytest
from support.frames import protected, refused

import pandas_dp
from pandas_dp.tables import protected as protected_module

CALLS = {
    "one look": lambda priced: priced.count(),
    "two looks": lambda priced: priced.groupby_mean_sa("city", "age", keys=["a", "b"], bounds=(0, 120)),
    "several answers": lambda priced: priced.describe("age", bounds=(0, 120)),
    "a function": lambda priced: priced.sample_and_aggregate(
        lambda d: d["age"].mean(), bounds=(0, 120), blocks=5, aggregator="mean"
    ),
    "a stream": lambda priced: priced.above_threshold(10),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_the_budget_does_not_pay_opens_no_data(call, monkeypatch):
    df = protected(epsilon=1)
    with refused(monkeypatch, df, pandas_dp.BudgetExceededError):
        CALLS[call](df.dp(epsilon=1.5))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("place", ["memory", "file"])
def test_the_charge_is_written_when_data_is_opened(call, place, monkeypatch, tmp_path):
    df = protected(epsilon=2, **({} if place == "memory" else {"ledger": tmp_path / "visits.dpledger"}))
    session, original, spent = df.dp.session, protected_module.open_view, []

    def opened(*given):
        spent.append(session.spent.epsilon)
        return original(*given)

    monkeypatch.setattr(protected_module, "open_view", opened)
    CALLS[call](df.dp(epsilon=1.5))
    assert spent
    assert {str(epsilon.normalize()) for epsilon in spent} == {"1.5"}

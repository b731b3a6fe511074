"""What tests of the ledger and of its filters share: budgets, losses, a charge."""

from __future__ import annotations

from fractions import Fraction as F

from pandas_dp.core.budget import Budget
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit

DELTA = F(1, 10**6)
UNIT = PrivacyUnit("patient_id", 10, 2, 8)
ONE = Budget.of(1)


def pure(epsilon):
    return PrivacyLoss.pure(F(epsilon))


def gaussian(rho):
    return PrivacyLoss.gaussian(F(rho))


def spend(rule, state, *losses):
    """Charge one after the other; all must be admitted."""
    for loss in losses:
        state = rule.admit(state, rule.charge(loss))
        assert state is not None
    return state


def ask(ledger, epsilon, name="data", key=None, unit=UNIT):
    return ledger.reserve(name, key, "count()", f"epsilon={epsilon}", pure(epsilon), unit)

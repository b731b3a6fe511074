"""What one process of a race does; a spawned process finds it here under whatever name pytest runs."""

from __future__ import annotations

from fractions import Fraction as F

from pandas_dp.core.filters import Budget
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import BudgetExceededError


def worker(path, barrier, tries, total, answers):
    """One of many processes on one ledger file; the file is created in the race too."""
    barrier.wait()
    ledger = open_ledger(path)
    ledger.open("data", Budget.of(F(total, 10)), PrivacyUnit())
    count = 0
    for _ in range(tries):
        try:
            ledger.reserve("data", None, "count()", "epsilon=0.1", PrivacyLoss.pure(F(1, 10)), PrivacyUnit())
        except BudgetExceededError:
            continue
        count += 1
    ledger.close()
    answers.put(count)

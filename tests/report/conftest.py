"""Pages are about a whole ledger: each test of them has one in memory of its own."""

from __future__ import annotations

import pytest

from pandas_dp.core import ledger


@pytest.fixture(autouse=True, scope="module")
def own_memory():
    """A report verifies every budget of its ledger, also those that other tests left in the ledger of this process."""
    before = list(ledger._memory)
    ledger._memory[:] = []
    yield
    ledger._memory[:] = before

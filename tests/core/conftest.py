"""Ledgers in memory and on file."""

from __future__ import annotations

import pytest
from support.ledgers import ONE, UNIT, ask

from pandas_dp.core.ledger import Ledger, open_ledger


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    opened = Ledger(None) if request.param == "memory" else open_ledger(tmp_path / "visits.dpledger")
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path):
    """A ledger file in a folder of its own, with one tenth spent of the budget "data"; closed."""
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "visits.dpledger"
    ledger = open_ledger(path)
    ledger.open("data", ONE, UNIT)
    ask(ledger, "0.1")
    ledger.close()
    return path

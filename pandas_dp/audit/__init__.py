"""Audits of anything that gives out answers, your own functions included: how large epsilon is at least, by samples.

``pandas_dp.audit.check(question, table, neighbor)`` asks the same question of two made-up tables that differ in one unit,
thousands of times, and looks for what tells the answers apart. What it finds above the claim is a violation; that it finds
nothing proves nothing by itself. Needs scipy: ``pip install 'pandas-dp[audit]'``.
"""

from __future__ import annotations

from pandas_dp.audit.checking import check
from pandas_dp.audit.neighbors import pairs
from pandas_dp.audit.search import AuditResult
from pandas_dp.errors import misspelt

__all__ = ["AuditResult", "check", "pairs"]
__getattr__ = misspelt(__name__, __all__)


def __dir__() -> list[str]:
    """Names that users may type."""
    return [*__all__, "__doc__", "__name__"]

"""The package's own auditor on pairs of draws, one by one or in batches: how the tests audit what is inside a question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pandas_dp.audit import AuditResult as Result
from pandas_dp.audit.checking import turns
from pandas_dp.audit.outputs import _flatten, observe, output_of
from pandas_dp.audit.search import expected_bound, tight_bound, weigh

__all__ = ["Result", "audit", "expected_bound", "observe", "structure", "tight_bound"]


def structure(value: Any) -> str:
    """All of an output but its numbers, as text: equal for all outputs of a method whose answers only differ there."""
    return "".join(_flatten(value, []))


def audit(
    draw0: Callable[..., Any],
    draw1: Callable[..., Any],
    n: int,
    claim: float,
    alpha: float = 1e-6,
    delta: float = 0.0,
    batch: bool = False,
) -> Result:
    """Bound the epsilon of a mechanism from below by `n` samples on each of two neighbours; see `weigh`.

    Parameters
    ----------
    draw0, draw1 : callable
        One output a call; an exception is an output. With ``batch``, draw(n) returns n outputs: a list, or an array of
        shape (n,) or (n, d).
    n, claim, alpha, delta
    """
    sides: tuple[Any, Any] = (draw0(n), draw1(n)) if batch else ([], [])
    for side in () if batch else turns(n):
        sides[side].append(output_of((draw0, draw1)[side]))
    return weigh(*sides, claim, alpha, delta)

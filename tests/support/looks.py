"""What the looks at the data that a question takes hand to its mechanisms: exact integers, which decide its law."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from pandas_dp.core import gate


def plain(exact: Any) -> Any:
    """Exact integers as lists that compare; the keys behind codes in a public order, for codes may follow the rows."""
    if isinstance(exact, np.ndarray):
        return exact.tolist()
    if is_dataclass(exact) and not isinstance(exact, type):
        return [plain(getattr(exact, field.name)) for field in fields(exact)]
    if isinstance(exact, tuple) and len(exact) == 2 and callable(exact[1]):
        counts, names = exact
        return sorted(zip(map(str, names(np.arange(len(counts)))), counts, strict=True))
    return [plain(part) for part in exact] if isinstance(exact, list | tuple) else exact


def record_looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that holds, after each question, the exact integers of its looks in turn."""
    seen: list[Any] = []
    original, compute = gate._Run._look, gate.computed

    def look(run: Any, measurement: Any) -> Any:
        if not run.transcript:
            seen.clear()
        return original(run, measurement)

    def computed(*look: Any) -> Any:
        exact = compute(*look)
        seen.append(plain(exact.open()))
        return exact

    monkeypatch.setattr(gate._Run, "_look", look)
    monkeypatch.setattr(gate, "computed", computed)
    return seen

"""Golden transcripts: for every question that is stored, noisy integers of some day and the answer that they gave on it.

A ledger keeps noisy integers, and the installed version makes an answer of them. One that reads them otherwise must not find
them: its recipe has another `version`, which is part of the key. ``python -m tests.support.golden`` writes what is missing
or is under another key by now; an answer that changed under its key it leaves alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.core import gate

from .frames import fresh
from .questions import ADDITIVE, BY_ROWS, BY_UNIT, EVERY, FOUND, ROW_BY_ROW, STREAMS, TOGETHER, table

FILE = Path(__file__).parent.parent / "aggregates" / "golden_transcripts.json"
PURE, GAUSSIAN = {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}
PUBLIC = {"value", "interval", "extras"}  # of an answer in JSON; notes and names of mechanisms may be worded anew
Ask = Callable[[], Any]


def _ways() -> dict[str, tuple[dict[str, Any], dict[str, Any], Callable[[Any], Any]]]:
    """Every question at one price and under one promise: terms, price, question."""
    stored = {name: ask for name, ask in EVERY.items() if name not in STREAMS}
    ways: dict[str, tuple[dict[str, Any], dict[str, Any], Callable[[Any], Any]]] = {}
    for name, ask in stored.items():
        terms = {"neighbors": "replace_one", "rows": True} if name in ROW_BY_ROW else {}
        ways[name] = terms | ({"unit": "uid", "max_rows": 4} if name in BY_UNIT else {}), PURE, ask
    ways |= {name: ({"delta": 1e-4}, GAUSSIAN, ask) for name, ask in FOUND.items()}
    # several rows of a unit are no sample of a population
    noisy = {name: ask for name, ask in (ADDITIVE | BY_ROWS | TOGETHER).items() if not name.endswith("of a population")}
    ways |= {
        f"{name}, Gaussian": ({"delta": 1e-4, "unit": "uid", "max_rows": 4}, GAUSSIAN, noisy[name]) for name in noisy
    }
    shrinking = BY_ROWS | TOGETHER  # what is public under replace_one decides how these are read
    return ways | {
        f"{name}, replaced": ({"neighbors": "replace_one", "rows": True}, PURE, shrinking[name]) for name in shrinking
    }


WAYS = _ways()


def ask(way: str, given: Callable[[gate.Request], gate.Given]) -> tuple[Any, AskedQuery | None, str | None]:
    """Ask a question whose answer comes from `given`; return it with the query and its key, both None where none is stored."""
    terms, price, question = WAYS[way]
    seen: list[tuple[AskedQuery, str | None]] = []
    key = AskedQuery.key

    def noted(query: AskedQuery, content: str, unit: Any, steps: tuple[Any, ...]) -> str | None:
        seen.append((query, key(query, "golden", unit, steps)))  # the same on every table
        return seen[-1][1]

    frame = table()
    frame.dp.protect(epsilon=10, name=fresh(), **terms)
    with mock.patch.object(AskedQuery, "key", noted), mock.patch.object(gate, "release", given):
        release = question(frame.dp(**price))
    frame.dp.session.close()
    return release, *(seen[-1] if seen else (None, None))


def told(release: Any) -> Any:
    """The numbers of an answer."""
    return {name: value for name, value in json.loads(release.to_json()).items() if name in PUBLIC}


def replayed(way: str, transcript: Any) -> tuple[Any, AskedQuery | None, str | None]:
    """The answer that the recipe of today makes of noisy integers, with its query and key."""
    release, query, key = ask(way, lambda request: gate.Given(gate._replay(request.recipe(), transcript), 1, False))
    return told(release), query, key


def drawn(way: str) -> dict[str, Any] | None:
    """A golden transcript, drawn now; None where the question is never stored."""
    kept: list[Any] = []

    def draw(request: gate.Request) -> gate.Given:
        answer, transcript = gate._answer(request, 0)
        kept.append(json.loads(json.dumps(transcript)))
        return gate.Given(answer, 1, True)

    release, _, key = ask(way, draw)
    return None if key is None else {"key": key, "transcript": kept[-1], "answer": told(release)}


def same(one: Any, other: Any) -> bool:
    """Whether two answers are one, but for the last digits of floats, which differ among machines."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def verdict(way: str, golden: dict[str, Any]) -> str | None:
    """What is wrong with a golden transcript; None where it still gives its answer."""
    answer, query, key = replayed(way, golden["transcript"])
    if key != golden["key"]:
        return f"{way}: the key is another one, no ledger has an answer under it: python -m tests.support.golden"
    if not same(answer, golden["answer"]):
        name = type(query.aggregate).__name__ if query is not None else way
        return f"{way}: answers in ledgers would be replayed as other ones: raise version of {name}"
    return None


def main() -> None:
    """Write what is missing or has another key."""
    golden = json.loads(FILE.read_text()) if FILE.exists() else {}
    for way in WAYS:
        try:
            wrong = verdict(way, golden[way]) if way in golden else "new"
        except Exception:  # a recipe that cannot read it: right only if its key is another one
            wrong = "unreadable"
        if wrong is not None and "raise version" in wrong:
            print(wrong)
        elif wrong is not None:
            made = drawn(way)
            if wrong == "unreadable" and made is not None and made["key"] == golden[way]["key"]:
                print(f"{way}: answers in ledgers could not be replayed: raise version")
            elif made is not None:
                golden[way] = made
    kept = {way: golden[way] for way in WAYS if way in golden}
    lines = ",\n".join(f"{json.dumps(way)}: {json.dumps(kept[way], separators=(',', ':'))}" for way in kept)
    FILE.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()

"""Streams: the whole transcript is the output. No audit refutes the price; the classical wrong variants are caught.

Each audit accuses a right stream with probability at most 1e-6. The variants (Lyu, Su, Li 2017, Figure 1) spend far more
than their price on the pairs below; an event of probability 0.1 that is three times as likely as it may be is found for
certain in 3,000 samples a side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pytest
from support.auditor import audit, observe
from support.neighbours import ADD_REMOVE, REPLACE_ONE, frame, protected
from support.streaming import Streamer

from pandas_dp.aggregates import above_threshold
from pandas_dp.aggregates.oracles import Oracle
from pandas_dp.core import gate
from pandas_dp.core.mechanisms import sparse_vector
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.sparse_vector import StartedSparseVector
from pandas_dp.core.statistics.scores import CountWhere
from pandas_dp.errors import QueryFailedError

ALPHA = 1e-6
SAMPLES = 3000
OBSERVED = 150  # through the public call; what is seen on one side alone gives a bound of 1.5
EVERY, A, B = "x >= 0", "g == 'a'", "g == 'b'"
FIVE = [("p", 1.0, "a"), ("q", 1.0, "a"), ("r", 1.0, "a"), ("s", 1.0, "a"), ("t", 1.0, "a")]
TWO_ROWS = [("z", 1.0, "a")] * 2


@dataclass(frozen=True)
class Case:
    """Two neighbouring tables and what is asked of them."""

    relation: str
    rows: tuple[list, list]
    conditions: list[str]
    threshold: int
    most: int = 1
    max_rows: int | None = None

    def sides(self) -> list[Streamer]:
        terms: dict[str, Any] = {"neighbors": self.relation}
        if self.max_rows is not None:
            terms |= {"unit": "u", "max_rows": self.max_rows}
        return [
            Streamer(frame(rows), lambda dp: dp.above_threshold(self.threshold, self.most), self.conditions, **terms)
            for rows in self.rows
        ]


ADDED = (FIVE, [*FIVE, ("z", 1.0, "a")])
MOVED = ([*FIVE, ("z", 1.0, "b")], [*FIVE, ("z", 1.0, "a")])
CASES = {
    "one row, all questions move": Case(ADD_REMOVE, ADDED, [EVERY] * 5, 6),
    "one row, one question moves": Case(ADD_REMOVE, (FIVE, [*FIVE, ("z", 1.0, "b")]), [A, A, EVERY], 6),
    "three positive answers": Case(ADD_REMOVE, ADDED, [EVERY] * 6, 6, most=3),
    "far above": Case(ADD_REMOVE, ADDED, [EVERY] * 3, 0, most=3),
    "replaced, both ways": Case(REPLACE_ONE, MOVED, [A, A, B, A], 5),
    "replaced, both ways, near": Case(REPLACE_ONE, MOVED, [B, B, B, A], 1, most=2),
    "unit of two rows": Case(ADD_REMOVE, (FIVE, FIVE + TWO_ROWS), [EVERY] * 4, 6, most=2, max_rows=2),
    "unit of three rows, two count": Case(
        ADD_REMOVE, (FIVE, [*FIVE, *TWO_ROWS, ("z", 1.0, "b")]), [A, EVERY, A, EVERY], 7, max_rows=2
    ),
    "unit of two rows replaced": Case(
        REPLACE_ONE, (FIVE + [("z", 1.0, "b")] * 2, FIVE + TWO_ROWS), [A, B, A], 6, max_rows=2
    ),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_above_threshold(case: Case):
    result = audit(*(side.transcripts for side in case.sides()), SAMPLES, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)


# ------------------------------------------------------------------------------------------------- wrong variants
def no_threshold_noise(patch: pytest.MonkeyPatch) -> None:
    original = StartedSparseVector.__init__

    def start(self: Any, terms: Any, paid: Any, fill: Any) -> None:
        original(self, terms, paid, fill)
        self._threshold = terms.threshold

    patch.setattr(StartedSparseVector, "__init__", start)


def no_question_noise(patch: pytest.MonkeyPatch) -> None:
    def draw(self: Any, exact: Any, fill: Any) -> list[int]:
        return [int(exact.open()[0] >= self._threshold)]

    patch.setattr(StartedSparseVector, "draw", draw)


def noise_not_refreshed(patch: pytest.MonkeyPatch) -> None:
    """One draw for all questions of a stream."""
    original, kept = sparse_vector._geometric, {}

    def start(self: Any, terms: Any, paid: Any, fill: Any) -> None:
        self._terms, self._paid, self._left = terms, paid, terms.most
        self._threshold = terms.threshold + original(terms.threshold_scale, fill)
        kept["v"] = original(terms.question_scale, fill)

    patch.setattr(StartedSparseVector, "__init__", start)
    patch.setattr(sparse_vector, "_geometric", lambda scale, fill: kept["v"])


def noisy_value_shown(patch: pytest.MonkeyPatch) -> None:
    """The very number that was compared."""

    def draw(self: Any, exact: Any, fill: Any) -> list[int]:
        noisy = exact.open()[0] + sparse_vector._geometric(self._terms.question_scale, fill)
        return [1, noisy] if noisy >= self._threshold else [0]

    patch.setattr(StartedSparseVector, "draw", draw)


def cutoff_ignored(patch: pytest.MonkeyPatch) -> None:
    """Noise for one positive answer, and five are given."""
    original = above_threshold.calibrate
    patch.setattr(above_threshold, "calibrate", lambda *given: replace(original(*given[:-1], 1), most=5))


def one_row_a_unit(patch: pytest.MonkeyPatch) -> None:
    original = CountWhere.sensitivity
    patch.setattr(CountWhere, "sensitivity", lambda self, unit: original(self, replace(unit, rows=1)))


TWINS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Case]] = {
    "no noise on the threshold": (no_threshold_noise, CASES["one row, all questions move"]),
    "no noise on questions": (no_question_noise, CASES["one row, one question moves"]),
    "noise not refreshed": (noise_not_refreshed, CASES["one row, one question moves"]),
    "noisy value shown": (noisy_value_shown, CASES["far above"]),
    "cutoff ignored": (cutoff_ignored, Case(ADD_REMOVE, ADDED, [EVERY] * 5, 6, most=5)),
    "one row per unit": (
        one_row_a_unit,
        Case(ADD_REMOVE, (FIVE, [*FIVE, *[("z", 1.0, "b")] * 3]), [EVERY, A], 6, max_rows=3),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TWINS)
def test_wrong_variant(name: str, monkeypatch: pytest.MonkeyPatch):
    broken, case = TWINS[name]
    with monkeypatch.context() as patch:
        broken(patch)
        result = audit(*(side.transcripts for side in case.sides()), SAMPLES, claim=1, alpha=ALPHA, batch=True)
    assert result.violated, str(result)
    if case not in CASES.values():  # those are audited above
        right = audit(*(side.transcripts for side in case.sides()), SAMPLES, claim=1, alpha=ALPHA, batch=True)
        assert not right.violated, str(right)


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_public_call(relation: str):
    """All a caller sees of a stream: answers, what is left, texts, exceptions, warnings and what is printed."""
    tables = [protected(frame(rows), neighbors=relation) for rows in {ADD_REMOVE: ADDED, REPLACE_ONE: MOVED}[relation]]

    def whole(table: Any) -> Any:
        stream = table.dp(epsilon=1).above_threshold(5)
        seen: list[Any] = [repr(stream), stream.margin()]
        for condition in (B, A, A, EVERY):
            seen += [stream.ask(condition), stream.left, repr(stream)]
        return seen

    result = audit(*(observe(lambda table=table: whole(table)) for table in tables), OBSERVED, claim=1, alpha=ALPHA)
    assert not result.violated, str(result)


# ---------------------------------------------------------------------------------------------------------- oracles
CANDIDATES = [pd.DataFrame({"x": [1.0] * 4, "g": list(keys)}) for keys in ("aaaa", "aabb", "bbbb", "abbb")]
OPEN = {
    "pmw": lambda dp: dp.oracle("pmw", domain={"g": ["a", "b"]}, updates=2, rows=8),
    "pmw, rows bought": lambda dp: dp.oracle("pmw", domain={"g": ["a", "b"]}, updates=1),
    "median": lambda dp: dp.oracle("median", candidates=CANDIDATES, rows=8),
}


MIXED = [A, B, A, "g in ['a', 'b']"]


SIXTEEN = [f"g in ['a', {n!r}]" for n in "ABCDEFGHIJKLMNOP"]  # counts of one size: the same question is answered once


def oracle_sides(
    name: str, relation: str, max_rows: int | None = None, conditions: list[str] = MIXED
) -> list[Streamer]:
    rows = {ADD_REMOVE: ADDED, REPLACE_ONE: MOVED}[relation] if max_rows is None else (FIVE, FIVE + TWO_ROWS)
    terms = {"neighbors": relation} | ({} if max_rows is None else {"unit": "u", "max_rows": max_rows})
    return [Streamer(frame(side), OPEN[name], conditions, **terms) for side in rows]


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "max_rows"), [(ADD_REMOVE, None), (REPLACE_ONE, None), (ADD_REMOVE, 2)])
@pytest.mark.parametrize("name", OPEN)
def test_oracle(name: str, relation: str, max_rows: int | None):
    sides = oracle_sides(name, relation, max_rows)
    result = audit(*(side.transcripts for side in sides), 1500, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)


def hard_answers_without_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DiscreteLaplace, "draw", lambda self, exact, fill: exact.open())


def corrections_beyond_those_paid(patch: pytest.MonkeyPatch) -> None:
    """Noise for one, and sixteen are given."""
    original = Oracle._spend

    def spend(self: Any, terms: Any, epsilon: Any, rows: int, updates: int, factor: float) -> Any:
        plan = original(self, terms, epsilon, rows, 1, factor)
        return replace(plan, updates=16, test=replace(plan.test, threshold=-1000, most=16))

    patch.setattr(Oracle, "_spend", spend)


@pytest.mark.slow
def test_hard_answers_without_noise_are_found(monkeypatch: pytest.MonkeyPatch):
    """An event without noise is seen in some 130 of 200 samples against none, and 75 suffice."""
    hard_answers_without_noise(monkeypatch)
    sides = oracle_sides("pmw", REPLACE_ONE, conditions=SIXTEEN)
    result = audit(*(side.transcripts for side in sides), 400, claim=1, alpha=ALPHA, batch=True)
    assert result.violated, str(result)


def test_corrections_beyond_those_paid_are_refused(monkeypatch: pytest.MonkeyPatch):
    """The gate adds up what the looks cost."""
    corrections_beyond_those_paid(monkeypatch)
    side = oracle_sides("pmw", REPLACE_ONE, conditions=SIXTEEN)[0]
    with pytest.raises(QueryFailedError):
        side.transcript()


@pytest.mark.nightly
def test_corrections_beyond_those_paid_are_found(monkeypatch: pytest.MonkeyPatch):
    """Where the gate looks away: an event of 0.6 against 0.15."""
    corrections_beyond_those_paid(monkeypatch)
    monkeypatch.setattr(gate, "covers", lambda *charges: True)
    sides = oracle_sides("pmw", REPLACE_ONE, conditions=SIXTEEN)
    result = audit(*(side.transcripts for side in sides), 1500, claim=1, alpha=ALPHA, batch=True)
    assert result.violated, str(result)

"""Every method on every kind of pair of neighbours: no audit refutes the epsilon of the call.

Each audit accuses a right method with probability at most 1e-6 (`ALPHA`). With 4,000 samples a side a method with half
the noise is caught for certain on the pairs that move its answer most; `test_twins` shows it for a broken twin of each.
Audited are the noisy integers, of which an answer is a function, in batches; that answers themselves, drawn one by
one, have the same law and carry nothing else, is tested here too.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.auditor import audit, observe, structure
from support.neighbours import (
    ADD_REMOVE,
    HIGH,
    LOW,
    METHOD,
    METHODS,
    PAIRS,
    RELATIONS,
    REPLACE_ONE,
    SHUFFLED,
    SHUFFLED_UNITS,
    Method,
    Pair,
    drawer,
    frame,
    protected,
    several,
    suits,
)

ALPHA = 1e-6
SAMPLES = 4000
OBSERVED = 150  # samples through the public call; what is seen on one side alone gives a bound of 1.5

MEDIAN_OFTEN = ("empty, one row", "one row", "around the median", "NaN added", "becomes NaN")
MEDIAN_RARELY = (  # others of their kind are audited each day: the other end, edge, sign or row
    *("all high, one low", "at the edge 0", "at the edge 10", "across the edge 0", "across the edge 10", "-inf added"),
    *("becomes -inf", "first row removed", "first row", "duplicate row", "two rows, one moved", "one row, two"),
)
GROUPED = ("groupby mean", "groupby_mean_sa")
GROUPED_OFTEN = (*MEDIAN_OFTEN, "missing key", "key seen once", "unlisted key", "unit of many rows and keys")


def marks(method: Method, pair: Pair) -> list[pytest.MarkDecorator]:
    """A quantile has no vector form: most of its pairs wait for the whole suite, and further ones of a kind for the night.

    So do pairs for means of groups that say nothing of keys.
    """
    if method.name in GROUPED and pair.name not in GROUPED_OFTEN:
        return [pytest.mark.slow]
    if method.name == "median" and pair.name in MEDIAN_RARELY:
        return [pytest.mark.nightly]
    return [pytest.mark.slow] if method.name == "median" and pair.name not in MEDIAN_OFTEN else []


CASES = [
    pytest.param(method, relation, pair, id=f"{method.name}, {relation}: {pair.name}", marks=marks(method, pair))
    for method in METHODS
    for relation in RELATIONS
    for pair in PAIRS[relation]
    if suits(pair, method)
]


@cache
def sampled(
    name: str, relation: str, max_rows: int | None, side: int, rows: tuple[Any, ...]
) -> tuple[np.ndarray, set[str]]:
    """Transcripts of one table, and all of its answers but the numbers; drawn once for the pairs that share the table.

    Whether a number is missing, for want of rows to speak of, is a function of the noisy integers like the number itself.
    Each side has samples of its own: no audit compares a sample with itself.
    """
    terms = Pair("", ([], []), max_rows=max_rows).terms(relation)
    draws = drawer(frame(list(rows)), METHOD[name].ask, **terms)
    return draws.transcripts(SAMPLES), {structure(draws()).replace(" nan", "") for _ in range(3)}


@pytest.mark.one_in(18)
@pytest.mark.parametrize(("method", "relation", "pair"), CASES)
def test_pair(method: Method, relation: str, pair: Pair):
    both = [sampled(method.name, relation, pair.max_rows, side, tuple(rows)) for side, rows in enumerate(pair.rows)]
    draws = [lambda n, transcripts=transcripts: transcripts for transcripts, _ in both]
    result = audit(*draws, SAMPLES, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)
    if method.name != "mode":  # its answer is a text; all others differ in numbers alone
        assert len(both[0][1] | both[1][1]) == 1


def blocks(dp: Any, **how: Any) -> Any:
    return dp.groupby_mean_sa("g", "x", keys=["a"], bounds=(LOW, HIGH), error_bar=False, **how)


EDGE = several(HIGH, 1120)  # where "auto" takes the median of blocks as often as their mean
VARIANTS = {
    "median": (lambda dp: blocks(dp, blocks=6, aggregator="median"), several(HIGH, 3) + several(LOW, 3)),
    "auto, few rows": (blocks, several(HIGH, 3)),
    "auto, number of blocks depends on the noisy size": (blocks, EDGE),
}


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_groupby_mean_sa_variants(variant: str, relation: str):
    ask, rows = VARIANTS[variant]
    more = {ADD_REMOVE: [], REPLACE_ONE: several(HIGH, 1, "a")}[relation]
    tables = frame(rows + more), frame(rows + several(LOW, 1, "a"))
    sides = [drawer(table, ask, neighbors=relation) for table in tables]
    draws = [lambda n, side=side: side.transcripts(n, adaptive=True) for side in sides]
    result = audit(*draws, SAMPLES, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)


@pytest.mark.one_in(18)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("pair", [SHUFFLED, SHUFFLED_UNITS], ids=str)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_order_of_rows_does_not_matter(method: Method, pair: Pair, relation: str):
    sides = [drawer(table, method.ask, **pair.terms(relation)) for table in pair.frames()]
    result = audit(*(side.transcripts for side in sides), SAMPLES // 2, claim=0, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_batches_have_the_law_of_single_answers(method: Method, relation: str):
    """Also where rows and blocks are drawn at random, in a session with units of several rows."""
    pair = SHUFFLED_UNITS
    side = drawer(pair.frames()[0], method.ask, **pair.terms(relation))

    def one_by_one(n: int) -> np.ndarray:
        return np.array([side.draw()[1] for _ in range(n)], dtype=np.int64)

    result = audit(side.transcripts, one_by_one, 1500, claim=0, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_public_call(method: Method, relation: str):
    """All a caller sees: value, type, interval, notes, price, warnings and what is printed, through the ledger."""
    tables = [protected(table, neighbors=relation) for table in PAIRS[relation][0].frames()]
    calls = [observe(lambda table=table: method.ask(table.dp(epsilon=1, fresh=True))) for table in tables]
    result = audit(*calls, OBSERVED, claim=1, alpha=ALPHA)
    assert not result.violated, str(result)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["count", "count column", "sum", "mean", "var", "median"])
def test_float32_where_a_running_sum_stops(name: str):
    """2**24 rows of float32: one more is lost by a float32 sum, and must not show more than its epsilon."""
    values = np.ones(2**24 + 1, dtype=np.float32)
    sides = []
    for rows in (2**24, 2**24 + 1):
        sides.append(drawer(pd.DataFrame({"x": values[:rows]}), METHOD[name].ask))
    result = audit(*(side.transcripts for side in sides), SAMPLES, claim=1, alpha=ALPHA, batch=True)
    assert not result.violated, str(result)

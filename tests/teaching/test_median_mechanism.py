"""The median mechanism step by step: candidates, r, what a hard question drops, and the constants."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.teaching import candidate_tables, median_mechanism, median_thresholds

KINDS = list("abcd")
QUESTIONS = [f"kind in {list(some)}" for size in (1, 2) for some in itertools.combinations(KINDS, size)]
SURE = 10**5  # noise of less than a hundredth of a row


def table(*counts: int) -> pd.DataFrame:
    return pd.DataFrame({"kind": [kind for kind, count in zip(KINDS, counts, strict=True) for _ in range(count)]})


UNIVERSE = pd.DataFrame({"kind": KINDS})
TABLES = candidate_tables(UNIVERSE, rows=4)


def test_candidates_are_all_tables_of_so_many_rows():
    assert len(TABLES) == math.comb(7, 3)
    found = {tuple(t["kind"].value_counts().reindex(KINDS, fill_value=0)) for t in TABLES}
    assert found == {counts for counts in itertools.product(range(5), repeat=4) if sum(counts) == 4}
    assert all(t.index.tolist() == [0, 1, 2, 3] for t in TABLES)


def test_a_run_without_noise():
    """The first hard question leaves the candidates that agree with it; all questions are answered right."""
    data = table(200, 100, 0, 100)
    trace = median_mechanism(data, QUESTIONS, candidates=TABLES, epsilon=SURE)
    shares = {q: [float(t.eval(q).mean()) for t in TABLES] for q in QUESTIONS}
    left = list(range(len(TABLES)))
    for step in trace.steps:
        assert step.before == tuple(left)
        truth = int(data.eval(step.condition).sum())
        here = np.array([shares[step.condition][i] for i in left]) * 400
        assert step.true == truth
        assert step.median == round(np.sort(here)[(len(left) - 1) // 2])
        assert step.r == pytest.approx(np.exp(-np.abs(here - truth) / trace.threshold).mean())
        assert step.hard == (step.median != truth)
        assert step.answer == truth
        left = [i for i, value in zip(left, here, strict=True) if not step.hard or value == truth]
        assert step.after == tuple(left)
    assert 1 <= sum(step.hard for step in trace.steps) <= trace.updates == 6
    assert trace.steps[-1].r > 0.99
    assert len(trace.steps[-1].after) == 1
    assert repr(trace).startswith("NOT PRIVATE")


def test_a_table_that_no_candidate_is_near_uses_up_all_corrections():
    """It then answers unverified guesses, which are wrong: plain noise would have been better."""
    data = table(150, 50, 150, 50)
    trace = median_mechanism(data, QUESTIONS, candidates=TABLES[:3], epsilon=SURE)
    assert sum(step.hard for step in trace.steps) == trace.updates == 2
    wrong = max(abs(step.answer - step.true) for step in trace.steps)
    assert wrong >= 100 > trace.plain_error(len(QUESTIONS))


def test_when_it_beats_plain_noise():
    """Its error does not grow with the questions, that of plain counts does: from about a hundred questions on."""
    trace = median_mechanism(table(2, 1, 0, 1), ["kind == 'a'"], candidates=TABLES, epsilon=1)
    assert trace.plain_error(10) < trace.error() < trace.plain_error(1000)
    slower = median_mechanism(table(2, 1, 0, 1), ["kind == 'a'"], candidates=TABLES, epsilon=0.5)
    assert slower.error() == pytest.approx(2 * trace.error(), rel=0.02)
    assert trace.plain_error(1) == 3


def test_a_bound_of_the_error_is_kept():
    """Ten runs at level 1 - 1e-9, each of which fails with a probability of a few billionths."""
    data = table(2000, 1000, 0, 1000)
    for _ in range(10):
        trace = median_mechanism(data, QUESTIONS[:6], candidates=TABLES, epsilon=1)
        assert all(abs(s.answer - s.true) <= trace.error(1 - 1e-9) for s in trace.steps)


def test_constants_of_the_paper():
    found = median_thresholds(1, accuracy=0.1, queries=100, universe=16, rows=10**5)
    assert found["m"] == pytest.approx(160_000 * math.log(100) * math.log(10) / 0.01)
    assert found["m"] == pytest.approx(1.7e8, rel=0.01)
    assert found["noise of an answer"] == pytest.approx(3.4e6, rel=0.01)  # of a share
    assert found["gamma"] > 1  # no second threshold fits below 9/10
    assert found["highest threshold"] == 0.75
    assert found["practical m"] == math.ceil(math.log(200) / 0.02)
    assert 10 ** found["practical candidates"] == pytest.approx(math.comb(265 + 15, 15), rel=1e-6)
    many = median_thresholds(1, accuracy=0.1, queries=100, universe=16, rows=10**15)
    assert 0.75 < many["highest threshold"] <= 0.9
    assert many["practical threshold"] < 1e-8


def test_what_is_refused():
    df = pd.DataFrame({"kind": KINDS})
    df.dp.protect(epsilon=1, name="no trace")
    with pytest.raises(ArgumentTypeError, match=r"protected.*candidate_tables"):
        candidate_tables(df, rows=2)
    with pytest.raises(ArgumentTypeError, match=r"protected.*median_mechanism"):
        median_mechanism(df, QUESTIONS, candidates=TABLES, epsilon=1)
    with pytest.raises(ArgumentTypeError, match=r"protected.*median_mechanism"):
        median_mechanism(UNIVERSE, QUESTIONS, candidates=[UNIVERSE, df], epsilon=1)
    with pytest.raises(ArgumentValueError, match="5,000"):
        candidate_tables(UNIVERSE, rows=100)
    with pytest.raises(ArgumentValueError, match="columns"):
        median_mechanism(UNIVERSE, QUESTIONS, candidates=[pd.DataFrame({"x": [1]})], epsilon=1)
    with pytest.raises(ArgumentValueError, match="questions"):
        median_mechanism(UNIVERSE, ["kinds == 'a'"], candidates=TABLES, epsilon=1)
    for wrong in ({"accuracy": 1}, {"queries": 1}, {"universe": 1}, {"rows": 0}):
        with pytest.raises(ArgumentValueError):
            median_thresholds(1, **({"accuracy": 0.1, "queries": 9, "universe": 4, "rows": 100} | wrong))

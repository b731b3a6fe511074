"""What a user's audit finds: nothing in right questions, violations in broken ones, whatever their outputs are.

Each right question is accused with probability at most 1e-6. Broken ones are caught with probability above 1 - 1e-6: either
every output tells the tables apart, or the bound lies above the claim where both counts are five standard deviations off.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pandas_dp
from pandas_dp.audit import check
from pandas_dp.session import registry

RNG = np.random.default_rng()  # any seed: no test depends on it
TABLE = pd.DataFrame({"age": [20.0, 40.0, 90.0], "pid": ["a", "b", "c"], "sex": ["f", "m", "f"]})
NEIGHBOR = TABLE.iloc[:-1]
FEW = 120  # samples that show what tells the tables apart in every output
COUNT = pandas_dp.query(epsilon=3).count()


def noise(scale: float) -> int:
    """Discrete Laplace noise, good enough to test an auditor."""
    p = -math.expm1(-1 / scale)
    return int(RNG.geometric(p) - RNG.geometric(p))


@pytest.mark.slow
def test_a_right_query_passes_at_what_it_costs_and_most_of_it_shows():
    found = check(COUNT, TABLE, NEIGHBOR, samples=600)
    assert found.passed
    assert not found.violated
    assert (found.claimed, found.delta, found.samples, found.false_alarm) == (3, 0, 600, 1e-6)
    assert 1 < found.epsilon_lower <= 3
    assert found.confidence == pytest.approx(0.999999)
    assert found.verdict.startswith("no violation found: at least ")


def test_a_claim_below_the_price_is_a_violation():
    found = check(pandas_dp.query(epsilon=4).count(), TABLE, NEIGHBOR, samples=600, epsilon=1)
    assert found.violated
    assert not found.passed
    assert found.verdict.startswith("VIOLATION: at least ")
    assert found.verdict.endswith(" where 1 was claimed, false alarm at most 1e-06")


@pytest.mark.slow
def test_a_function_is_held_to_the_most_that_a_call_was_charged():
    def counts(df: pd.DataFrame) -> Any:
        return [df.dp(epsilon=0.25).count(), df.dp.query("age > 30").dp(epsilon=0.5).count()]

    found = check(counts, TABLE, NEIGHBOR, samples=FEW)
    assert found.claimed == 0.75
    assert found.passed


def test_stored_answers_are_met_in_one_call_and_not_in_the_next():
    """Without fresh=True a session gives the same answer twice: within a call for one price, and never across calls."""
    found = check(lambda df: [df.dp(epsilon=1).count(), df.dp(epsilon=1).count()], TABLE, NEIGHBOR, samples=FEW)
    assert found.claimed == 1
    assert found.passed


UNITS = pd.DataFrame({"pid": ["a", "b", "b", "c", "c", "c", "c"], "x": [0.0, 10, 0, 10, 10, 10, 10]})
WITHOUT_C = UNITS[UNITS["pid"] != "c"]
C_AT_LOW = UNITS.assign(x=UNITS["x"].where(UNITS["pid"] != "c", 0.0))
SUM = pandas_dp.query(epsilon=3).sum("x", bounds=(0, 10))


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "neighbor"), [("add_remove", WITHOUT_C), ("replace_one", C_AT_LOW)])
def test_units_of_several_rows_under_both_relations(relation: str, neighbor: pd.DataFrame):
    found = check(SUM, UNITS, neighbor, samples=600, unit="pid", max_rows=3, neighbors=relation)
    assert found.passed
    assert found.epsilon_lower > 0.5  # the pair that moves the answer most


def test_noise_for_one_row_is_too_little_for_a_unit_of_four():
    found = check(lambda df: len(df) + noise(1), UNITS, WITHOUT_C, epsilon=1, samples=600, unit="pid", max_rows=4)
    assert found.violated


def test_a_delta():
    """Gaussian noise at the claim of its query, and held to a pure one."""
    query = pandas_dp.query(epsilon=1, delta=1e-2).sum("age", bounds=(0, 90))
    found = check(query, TABLE, NEIGHBOR, samples=FEW, confidence=0.99)
    assert (found.claimed, found.delta) == (1, 0.01)
    assert found.false_alarm == 0.01
    named = check(lambda df: query(df), TABLE, NEIGHBOR, samples=FEW, epsilon=1, delta=0.1)
    assert (named.claimed, named.delta) == (1, 0.1)
    assert named.passed


@pytest.mark.slow
def test_a_schema_serves_questions_that_lean_on_it():
    query = pandas_dp.query(epsilon=1).mean("age")
    assert check(query, TABLE, NEIGHBOR, samples=FEW, schema={"age": {"bounds": (0, 100)}}).claimed == 1


def changes_its_frame(df: pd.DataFrame) -> int:
    rows = len(df)
    df["age"] = 0.0
    df.drop(index=df.index, inplace=True)
    return rows + noise(1)


def test_a_function_that_changes_its_frame_meets_the_table_as_it_was():
    before = TABLE.copy()
    assert check(changes_its_frame, TABLE, NEIGHBOR, epsilon=1, samples=FEW).passed
    assert check(
        lambda df: (changes_its_frame(df), df["age"].size, len(TABLE)), TABLE, NEIGHBOR, epsilon=1, samples=FEW
    ).passed
    pd.testing.assert_frame_equal(TABLE, before)


def test_an_audit_leaves_nothing_behind():
    sessions = {name: session for name, session in registry._sessions.items() if not session._closed}

    def parts(df: pd.DataFrame) -> Any:
        df.dp.allot("part", epsilon=0.5)
        return df.dp(epsilon=0.5).count()

    assert check(parts, TABLE, NEIGHBOR, samples=FEW).claimed == 1
    assert registry._sessions == sessions
    assert registry.owners(TABLE) == []
    assert "pandas_dp" not in TABLE.attrs


def clipped_too_late(df: pd.DataFrame) -> int:
    """Noise for ages up to 5 on ages up to 90."""
    return round(df["age"].sum()) + noise(5)


def raises(df: pd.DataFrame) -> Any:
    if len(df) == 3:
        raise ValueError("odd number of rows")
    return noise(1)


def warns(df: pd.DataFrame) -> int:
    if df["age"].max() > 50:
        warnings.warn("clipped", UserWarning, stacklevel=1)
    return noise(1)


def prints(df: pd.DataFrame) -> int:
    print(df)
    return noise(1)


LEAKS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "exact value": lambda df: df["age"].max(),
    "exact value beside a noisy one": lambda df: (len(df) + noise(1), df["age"].max()),
    "sensitivity of another bound": clipped_too_late,
    "None": lambda df: None if len(df) == 3 else noise(1),
    "NaN": lambda df: math.nan if len(df) == 3 else float(noise(1)),
    "infinity": lambda df: math.inf if len(df) == 3 else float(noise(1)),
    "NA": lambda df: pd.NA if len(df) == 3 else noise(1),
    "exception": raises,
    "warning": warns,
    "printed": prints,
    "keys of the data": lambda df: pd.Series({pid: noise(1) for pid in df["pid"]}),
    "column of the data": lambda df: pd.DataFrame({df["pid"].iloc[-1]: [noise(1)]}),
    "text": lambda df: f"{noise(1)} of {df['pid'].iloc[-1]}"[-1],
    "dict": lambda df: {"noisy": noise(1), "age": df["age"].iloc[-1]},
    "set": lambda df: set(df["pid"]),
    "date": lambda df: pd.Timestamp("2020-01-01") + pd.Timedelta(days=len(df)),
    "large number": lambda df: 2**70 + len(df),
    "array": lambda df: np.array([noise(1), len(df)]),
    "index": lambda df: pd.Index([noise(1), len(df)]),
    "whole table": lambda df: df,
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("leak", LEAKS)
def test_broken_functions_are_violations(leak: str):
    # what half of the outputs choose as event must hold in a seventh of the others at least, not in nine tenths of a few
    samples = 5 * FEW if leak == "sensitivity of another bound" else FEW
    found = check(LEAKS[leak], TABLE, NEIGHBOR, epsilon=1, samples=samples)
    assert found.violated, repr(found)


RIGHT: dict[str, Callable[[pd.DataFrame], Any]] = {
    "nothing": lambda df: None,
    "empty text": lambda df: "",
    "at times None": lambda df: None if RNG.random() < 0.3 else len(df) + noise(1),
    "at times NaN": lambda df: [math.nan, len(df) + noise(1)][RNG.integers(2)],
    "what a session says": lambda df: df.dp.session.spent,
    "books of a session": lambda df: df.dp.session.releases[["query", "price"]],
    "text of noise": lambda df: f"{len(df) + noise(1)} rows",
    "objects of their own": lambda df: [object()],
    "at times an exception": lambda df: [1 / int(RNG.integers(2)), len(df) + noise(1)],
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", RIGHT)
def test_odd_outputs_that_tell_nothing_are_no_violation(name: str):
    assert check(RIGHT[name], TABLE, NEIGHBOR, epsilon=1, samples=FEW).passed


@pytest.mark.slow
def test_half_the_noise_is_a_violation():
    found = check(lambda df: len(df) + noise(0.5), TABLE, NEIGHBOR, epsilon=1, samples=5000)
    assert found.violated
    assert 1 < found.epsilon_lower <= 2  # it spends 2


@pytest.mark.slow
def test_a_third_of_the_noise_in_floats_is_a_violation():
    found = check(lambda df: len(df) + RNG.laplace(0, 1 / 3), TABLE, NEIGHBOR, epsilon=1, samples=3000)
    assert found.violated


def test_practice_tables_may_be_audited_as_they_are():
    table = pandas_dp.mock({"age": {"bounds": (0, 100)}}, rows=5)
    assert check(pandas_dp.query(epsilon=1).count(), table, table.iloc[1:], samples=FEW).passed
    assert 0 < table.dp(epsilon=50).count() < 10  # still protected as it was

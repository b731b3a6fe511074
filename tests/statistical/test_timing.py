"""X11: how long an answer takes, as an output. It is reported and gates nothing; that the audit would see a person in it does.

A query reads whole columns, so its time depends on the number of rows and on what the columns hold; whoever sees times on a
clock learns of them what no noise hides. The documentation says so. ``-s`` shows the bounds.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from support.auditor import audit, tight_bound
from support.frames import protected

EPSILON = 0.1


def timed(df, clock, extra=0.0):
    """How long a sum takes on a clock; `extra` seconds of work more where the person is in the table."""

    def run() -> float:
        start = clock()
        df.dp(epsilon=EPSILON, fresh=True).sum("age", bounds=(0, 100))
        while clock() - start < extra:
            pass
        return clock() - start

    return run


def neighbours(rows):
    """A table with and without its last row, each with a budget of its own."""
    frame = pd.DataFrame({"age": np.arange(rows) % 100})
    return [protected(part, epsilon=10**5) for part in (frame, frame.iloc[:-1].copy())]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "pairs"),
    [
        (10, 500),
        pytest.param(10, 20_000, marks=pytest.mark.nightly),
        pytest.param(10**6, 5000, marks=pytest.mark.nightly),
    ],
)
def test_x11_what_the_clock_tells_is_reported(rows, pairs, record_property):
    with_person, without = neighbours(rows)
    result = audit(timed(with_person, time.perf_counter), timed(without, time.perf_counter), pairs, EPSILON)
    record_property("timing", str(result))
    print(f"\n{rows} rows: {result}")
    assert result.samples == pairs
    assert 0 <= result.expected == tight_bound(EPSILON, pairs, 1e-6)


@pytest.mark.slow
def test_x11_a_person_that_costs_time_is_found():
    """Five milliseconds of work, by the clock of this thread so that others' work does not count; certain to be found."""
    with_person, without = neighbours(10)
    slow = timed(with_person, time.thread_time, extra=0.005)
    result = audit(slow, timed(without, time.thread_time), 200, EPSILON)
    assert result.violated

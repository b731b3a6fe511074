"""A confidence in a price would be forgotten: it is refused before anything is charged."""

from __future__ import annotations

import pandas as pd
import pytest

from pandas_dp import ArgumentValueError


@pytest.mark.parametrize("typed", [0.99, "0.99", 99, None])
def test_a_confidence_without_within_is_refused_for_nothing(typed):
    df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    session = df.dp.protect(epsilon=30, name=f"confidence of a price {typed!r}")
    for offer in (df.dp, df.dp.preview):
        with pytest.raises(ArgumentValueError, match=r"confidence goes with within=.*\.count\(\)\.interval\(0\.99\)"):
            offer(epsilon=1, confidence=typed)
    assert session.left == "epsilon=30"
    low, high = df.dp(epsilon=0.5).count().interval(0.99)
    assert low < high

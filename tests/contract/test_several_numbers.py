"""Several named numbers from blocks of rows: what functions may return, what is refused, and how it is answered."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused


def coefficients(block):
    """Mean and spread, by name."""
    return {"centre": block["age"].mean(), "spread": block["age"].std()}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "function",
    [
        coefficients,
        lambda b: pd.Series(coefficients(b)),
        lambda b: tuple(coefficients(b).values()),
        lambda b: np.array(list(coefficients(b).values())),
    ],
)
@pytest.mark.parametrize("aggregator", ["auto", "mean", "median", "smooth"])
def test_several_named_numbers(function, aggregator):
    frame = pd.DataFrame({"age": np.arange(40_000) % 100})
    df = protected(frame, epsilon=100)
    bounds = {"centre": (0, 200), "spread": (0, 100)}
    answer = df.dp(epsilon=20).sample_and_aggregate(function, bounds=bounds, aggregator=aggregator, rows=40_000)
    assert list(answer.index) == ["centre", "spread"]
    assert abs(answer["centre"] - 49.5) < 20
    assert abs(answer["spread"] - 28.9) < 20
    assert df.dp.session.spent == "epsilon=20"
    assert answer.query.call.startswith(
        "sample_and_aggregate(function, bounds={'centre': (0, 200), 'spread': (0, 100)}, blocks"
    )
    if aggregator == "mean":
        ends = answer.interval()
        assert (ends["lower"] <= answer.to_numpy()).all()
        width = ends["upper"] - ends["lower"]
        assert width["centre"] == pytest.approx(2 * width["spread"])


def test_results_of_another_form(monkeypatch):
    """Refused where a made-up table of four rows shows it, the middle of the bounds where only blocks do."""
    df = protected(pd.DataFrame({"age": np.arange(4000)}), epsilon=10**4)
    terms = {"bounds": {"a": (0, 10), "b": (2, 4)}, "aggregator": "mean", "blocks": 40}
    for wrong in ((1.0,), {"a": 1.0}, pd.Series({"b": 1.0}), "text", 5.0, {"a": 1}.keys()):
        with refused(monkeypatch, df, TypeError, r"return \{'a': ..., 'b': ...\}"):
            df.dp(epsilon=1000).sample_and_aggregate(lambda block, wrong=wrong: wrong, **terms)
        answer = df.dp(epsilon=1000).sample_and_aggregate(
            lambda block, wrong=wrong: wrong if len(block) > 4 else None, **terms
        )
        assert answer.tolist() == pytest.approx([5, 3], abs=0.1)
    answer = df.dp(epsilon=1000).sample_and_aggregate(lambda block: (np.nan, np.inf), **terms)
    assert answer.tolist() == pytest.approx([5, 3], abs=0.1)


def test_arguments_of_several_numbers(monkeypatch):
    df = protected()

    def refuse(match, error=ValueError, **terms):
        with refused(monkeypatch, df, error, match):
            df.dp(epsilon=1).sample_and_aggregate(
                coefficients, **{"bounds": {"centre": (0, 1), "spread": (0, 1)}} | terms
            )

    refuse("names 1 to 1,000 numbers", bounds={})
    refuse("names 1 to 1,000 numbers", bounds={3: (0, 1)})
    refuse("names 1 to 1,000 numbers", bounds={str(i): (0, 1) for i in range(1001)})
    refuse("bounds", bounds={"centre": (1, 0)})
    refuse(r"bounds=\{'centre': \(lower", bounds={"centre": 5}, error=TypeError)
    refuse("one number", aggregator="winsorized")
    refuse("a vote takes keys=", aggregator="vote", error=TypeError)
    refuse("at most 2,000 blocks", aggregator="smooth", blocks=2001)
    with refused(monkeypatch, df, ValueError, "at most 2,000 blocks"):
        df.dp(epsilon=1).kmeans(["age"], k=2, bounds={"age": (0, 120)}, blocks=2001, aggregator="smooth")
    with refused(monkeypatch, df, ValueError, "'auto', 'median', 'mean' or 'smooth'"):
        df.dp(epsilon=1).kmeans(["age"], k=2, bounds={"age": (0, 120)}, aggregator="vote")

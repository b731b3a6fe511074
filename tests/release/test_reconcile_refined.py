"""Reconciling an answer and what refines it: the worse one is the better one with more noise, so it counts no second time."""

from __future__ import annotations

import pandas as pd
import pytest
from support.frames import protected

import pandas_dp
from pandas_dp.release.reconcile import latest


def test_a_refined_answer_takes_the_place_of_those_that_it_refines():
    df = protected(pd.DataFrame({"sex": ["f", "m"] * 500, "age": list(range(100)) * 10}), epsilon=100)
    sizes = df.dp(epsilon=1).groupby("sex", keys=["f", "m"], other=True, null=True).size()
    better = df.dp(epsilon=1).refine(sizes)
    best = df.dp(epsilon=1).refine(better)
    count = df.dp(epsilon=1).count()
    with_all = pandas_dp.reconcile([sizes, better, best, count])
    alone = pandas_dp.reconcile([best, count])
    for place in (0, 1, 2):
        pd.testing.assert_frame_equal(with_all[place].table(), alone[0].table())
    assert with_all[3] == alone[1]
    assert with_all[3].interval() == alone[1].interval()


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_draws_that_an_answer_is_made_of_are_named(delta):
    """Privacy is that of the first draw, too: the last entry paid the difference alone, or for one draw of the mean."""
    df = protected(pd.DataFrame({"sex": ["f", "m"] * 500}), epsilon=100, delta=delta)
    base = df.dp(epsilon=5).count()
    better = df.dp(epsilon=0.1).refine(base)
    best = df.dp(epsilon=0.2).refine(better)
    sizes = df.dp(epsilon=0.3).groupby("sex", keys=["f", "m"], other=True, null=True).size()
    entries = [one._provenance.entry for one in (base, better, best, sizes)]
    assert len({*entries}) == 4
    told = ", ".join(map(str, sorted(entries)))
    for made in pandas_dp.reconcile([best, sizes]):
        assert made.spent == f"no cost beyond entries {told}"
        assert (
            made.notes[-1]
            == f"reconciled from entries {told} of the ledger: its privacy is that of these entries together"
        )


def test_answers_of_other_budgets_are_not_taken_for_it():
    one, two = (protected(pd.DataFrame({"sex": ["f", "m"] * 500}), epsilon=100) for _ in range(2))
    base = one.dp(epsilon=1).groupby("sex", keys=["f", "m"]).size()
    other = two.dp(epsilon=1).groupby("sex", keys=["f", "m"]).size()
    better = two.dp(epsilon=1).refine(other)
    assert base._provenance.entry == other._provenance.entry
    kept = latest([base, better, other])
    assert [answer is made for answer, made in zip(kept, (base, better, better), strict=True)] == [True] * 3

"""Stored noisy integers give the answer that they gave when they were stored, or are not found any more."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from support import golden

import pandas_dp
from pandas_dp.aggregates.moments import Mean
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace

GOLDEN = json.loads(golden.FILE.read_text())


def test_every_stored_question_has_one():
    """Those without are never stored: streams, and what holds functions of users."""
    missing = set(golden.WAYS) - set(GOLDEN)
    assert {way for way in missing if golden.drawn(way) is not None} == set()
    assert set(GOLDEN) <= set(golden.WAYS)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("way", GOLDEN)
def test_the_answer_changes_with_the_version_of_the_recipe_alone(way):
    assert golden.verdict(way, GOLDEN[way]) is None


def test_a_recipe_that_reads_in_another_order_is_noticed(monkeypatch):
    """The fault: a release that stores its numbers in another order replays what an earlier one stored."""
    answer = Mean.answer
    monkeypatch.setattr(Mean, "answer", lambda self, noisy, look, terms: answer(self, noisy[::-1], look, terms))
    assert golden.verdict("mean", GOLDEN["mean"]) == (
        "mean: answers in ledgers would be replayed as other ones: raise version of Mean"
    )
    monkeypatch.setattr(Mean, "version", Mean.version + 1)
    assert "no ledger has an answer under it" in golden.verdict("mean", GOLDEN["mean"])


def test_an_error_bar_of_another_width_is_noticed(monkeypatch):
    half_width = DiscreteLaplace.half_width
    monkeypatch.setattr(DiscreteLaplace, "half_width", lambda self, *level: half_width(self, *level) * 2)
    assert "raise version of Count" in golden.verdict("count", GOLDEN["count"])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: [*t, t[-1]], lambda t: []], ids=["less", "more", "none"]
)
def test_what_cannot_be_replayed_gives_no_answer(change):
    """Of another number of looks than the recipe takes: it is not answered from a part of them."""
    for way in GOLDEN:
        with pytest.raises(pandas_dp.LedgerError, match="fresh=True"):
            golden.replayed(way, change(GOLDEN[way]["transcript"]))


def test_what_cannot_be_read_is_told_in_one_text():
    for unreadable in ([["x"]], [None], [{}], {}, "x", None):
        with pytest.raises(pandas_dp.LedgerError, match="fresh=True"):
            golden.replayed("mean", unreadable)


def test_an_upgrade_asks_anew(tmp_path, monkeypatch):
    """On a ledger file: the release with the other order pays for its own draw, and goes on finding that."""
    path = tmp_path / "l.dpledger"

    def mean():
        df = pd.DataFrame({"age": np.resize([31, 45, 62], 3000)})
        session = df.dp.protect(epsilon=3, ledger=path, table="t", version="1", name="x")
        answer = df.dp(epsilon=0.5).mean("age", bounds=(0, 100))
        spent = str(session.spent)
        session.close()
        return float(answer), spent

    first, spent = mean()
    assert mean() == (first, "epsilon=0.5") == (first, spent)
    answer = Mean.answer
    monkeypatch.setattr(Mean, "version", Mean.version + 1)
    monkeypatch.setattr(Mean, "answer", lambda self, noisy, look, terms: answer(self, noisy[:], look, terms))
    other, spent = mean()
    assert spent == "epsilon=1"
    assert other != first
    assert mean() == (other, "epsilon=1")

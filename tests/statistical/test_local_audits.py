"""Audits of randomized response, and of twins that keep answers too often or leave a missing one as it is."""

from __future__ import annotations

import uuid
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.auditor import audit
from support.drawing import Drawer, capture

from pandas_dp.core.mechanisms import randomized_response
from pandas_dp.core.mechanisms.randomized_response import WORD, RandomizedResponse

KEYS = ["a", "b", "c"]
PAIRS = {"another key": ("a", "b"), "a key is lost": ("a", None), "unlisted": ("z", "c")}
SAMPLES, CLAIM = 8_000, 1.0


def outputs(first, count, others=("b", None, "c")):
    """Many answers about a table of a few rows from one exact summary."""
    df = pd.DataFrame({"x": pd.Series([first, *others], dtype=object)})
    df.dp.protect(epsilon=10**6, neighbors="replace_one", rows=True, name=uuid.uuid4().hex)
    drawer = Drawer(capture(lambda: df.dp(epsilon=CLAIM).randomized_response("x", keys=KEYS)))
    return drawer.transcripts(count)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_claim_holds(pair):
    """False alarm 1e-6 each."""
    one, two = PAIRS[pair]
    found = audit(lambda n: outputs(one, n), lambda n: outputs(two, n), SAMPLES, CLAIM, batch=True)
    assert not found.violated, found


def test_a_single_row_spends_nearly_all_of_it():
    """The sorted answers of other rows hide some of what one row's answer tells; without others all of it shows."""
    found = audit(lambda n: outputs("a", n, ()), lambda n: outputs("b", n, ()), SAMPLES, CLAIM, batch=True)
    assert 0.9 * found.expected < found.epsilon_lower <= CLAIM, found


def test_keeping_twice_as_often_is_caught(monkeypatch):
    original = RandomizedResponse.calibrate
    monkeypatch.setattr(
        RandomizedResponse,
        "calibrate",
        lambda epsilon, parts: RandomizedResponse(parts, min(2 * original(epsilon, parts).keep, WORD - 1)),
    )
    monkeypatch.setattr(RandomizedResponse, "epsilon", Fraction(1))
    found = audit(lambda n: outputs("a", n), lambda n: outputs("b", n), SAMPLES, CLAIM, batch=True)
    assert found.violated, found


def test_a_missing_answer_that_is_never_randomised_is_caught(monkeypatch):
    """A twin that writes the first key for every missing answer shows which answers are missing."""
    monkeypatch.setattr(
        randomized_response, "uniform_parts", lambda count, parts, fill: np.zeros(count, dtype=np.int64)
    )
    found = audit(lambda n: outputs(None, n), lambda n: outputs("b", n), SAMPLES, CLAIM, batch=True)
    assert found.violated, found

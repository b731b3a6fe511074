"""Sparse vector: the exact law of whole transcripts, by rational arithmetic, and that the code draws this law.

With exp(-1 / scale) = 2**-a every probability is rational and so is the claim, so the largest ratio of two laws is
computed, not estimated. Broken variants go through the same computation and exceed it.
"""

from __future__ import annotations

import copy
import math
import pickle
from collections import Counter
from fractions import Fraction as F
from itertools import product

import pytest
from scipy.stats import chi2
from support.laws import sparse_law as law

from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms import sparse_vector
from pandas_dp.core.mechanisms.sparse_vector import SparseVector
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import random_bytes
from pandas_dp.errors import QueryFailedError

QUESTIONS = 3


def worst(most, k, rising, p, q, span=2):
    """Largest ratio over all pairs of neighbouring results in -span..span around the threshold."""
    ratio = F(0)
    moves = range(k + 1) if rising else range(-k, k + 1)
    laws = {}
    for x in product(range(-span, span + 1), repeat=QUESTIONS):
        laws[x] = law(x, most, p, q)
    for x, one in laws.items():
        for move in product(moves, repeat=QUESTIONS):
            other = laws.get(tuple(a + b for a, b in zip(x, move, strict=True)))
            if other is not None:
                ratio = max(ratio, *(max(one[t] / other[t], other[t] / one[t]) for t in one))
    return ratio


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rising", [True, False], ids=["add_remove", "replace_one"])
@pytest.mark.parametrize(("most", "k"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_exact_law_keeps_the_declared_loss_and_reaches_it(most, k, rising):
    # scales 1 / ln 2 and 1 / (2 ln 2): the declared loss is a whole number of ln 2, here written as whole scales
    terms = SparseVector(0, F(1), F(1, 2), most)
    declared = terms.loss(Sensitivity(k, k * k, k, rising=rising)).epsilon
    assert declared == k + most * k * 2 * (1 if rising else 2)
    found = worst(most, k, rising, F(1, 2), F(1, 4), span=1 if k == 1 else 2)
    assert found <= 2**declared
    assert found == 2**declared  # with one-sided noise nothing is given away


def test_noise_for_rising_counts_is_too_little_for_others():
    terms = SparseVector(0, F(1), F(1), 1)
    declared = terms.loss(Sensitivity(1, 1, 1, rising=True)).epsilon
    assert worst(1, 1, True, F(1, 2), F(1, 2), span=1) <= 2**declared
    assert worst(1, 1, False, F(1, 2), F(1, 2), span=1) > 2**declared


def draw(terms, x, sensitivity=None):
    """One transcript of the code."""
    started = terms.start(sensitivity or Sensitivity(1, 1, 1), random_bytes)
    bits = []
    for xi in x:
        bits += started.draw(Exact([xi]), random_bytes)
        if sum(bits) == terms.most:
            break
    return tuple(bits)


CASES = [
    pytest.param(SparseVector(1, F(2), F(3), 2), (0, 2, 1, 3), marks=pytest.mark.slow),
    (SparseVector(0, F(1, 2), F(5, 3), 1), (-1, 0, 1)),
]
DRAWS = 12_000


def rejected(terms, x, shift=0):
    """Whether a chi-square test at level 1e-7 tells the code's transcripts from the law, threshold moved by `shift`."""
    p, q = (F(math.exp(-1 / s)) for s in (terms.threshold_scale, terms.question_scale))
    expected = law(x, terms.most, p, q, terms.threshold + shift)
    seen = Counter(draw(terms, x) for _ in range(DRAWS))
    assert set(seen) <= set(expected)
    statistic = sum((seen[t] - DRAWS * float(e)) ** 2 / (DRAWS * float(e)) for t, e in expected.items())
    return statistic > chi2.isf(1e-7, len(expected) - 1)


@pytest.mark.parametrize(("terms", "x"), CASES)
def test_the_code_draws_this_law(terms, x):
    """False alarms 1e-7; a threshold off by one, such as > for >=, is caught for certain."""
    assert not rejected(terms, x)
    assert rejected(terms, x, shift=1)


def test_calibrated_loss_is_additive_in_its_two_parts():
    terms = SparseVector(0, F(3), F(7), 4)
    assert terms.loss(Sensitivity(2, 4, 2)) == PrivacyLoss.pure(F(2, 3) + 4 * F(2 * 2, 7))
    assert terms.loss(Sensitivity(2, 4, 2, rising=True)) == PrivacyLoss.pure(F(2, 3) + 4 * F(2, 7))


def test_no_positive_answer_beyond_those_paid():
    started = SparseVector(0, F(1), F(1), 2).start(Sensitivity(1, 1, 1), random_bytes)
    assert [started.draw(Exact([10**6]), random_bytes) for _ in range(2)] == [[1], [1]]
    for x in (10**6, -(10**6)):
        with pytest.raises(QueryFailedError):
            started.draw(Exact([x]), random_bytes)


def test_nothing_but_what_was_paid():
    rising, free = Sensitivity(2, 4, 2, rising=True), Sensitivity(2, 4, 2)
    paid = SparseVector(0, F(1), F(1), 1).start(rising, random_bytes)
    assert paid.loss(rising) == paid.loss(Sensitivity(1, 1, 1, rising=True)) == PrivacyLoss()
    for other in (free, Sensitivity(1, 1, 1), Sensitivity(3, 9, 3, rising=True)):
        with pytest.raises(QueryFailedError):
            paid.loss(other)
    general = SparseVector(0, F(1), F(1), 1).start(free, random_bytes)
    assert general.loss(rising) == general.loss(free) == PrivacyLoss()


def test_the_secret_does_not_leave():
    started = SparseVector(0, F(10**9), F(1), 1).start(Sensitivity(1, 1, 1), random_bytes)
    assert repr(started) == "<started sparse vector>"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            leave(started)


def test_noise_is_fresh_for_every_question_and_drawn_once_for_the_threshold(monkeypatch):
    drawn = []
    original = sparse_vector._geometric
    monkeypatch.setattr(sparse_vector, "_geometric", lambda scale, fill: drawn.append(scale) or original(scale, fill))
    started = SparseVector(10**9, F(2), F(3), 1).start(Sensitivity(1, 1, 1), random_bytes)
    for _ in range(5):
        started.draw(Exact([0]), random_bytes)
    assert drawn == [F(2)] + [F(3)] * 5

"""The margin of a threshold stream, against the exact probability of a wrong answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pandas_dp.aggregates.above_threshold import AboveThreshold
from pandas_dp.aggregates.base import Terms
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit

THRESHOLD = 1000


def wrong(test, distance, questions):
    """Probability that any of so many counts `distance` below the threshold is called above, and the worst of the two for
    counts as far above it, of which one is called below: for any number of questions, the noise of one of them being 0."""
    p, q = (math.exp(-1 / float(scale)) for scale in (test.threshold_scale, test.question_scale))
    u = np.arange(math.ceil(40 * float(test.threshold_scale)))  # shape (values of the threshold's noise,)
    law = (1 - p) * p**u
    needed = np.maximum(0, test.threshold + u - (THRESHOLD - distance))
    above = float(law @ -np.expm1(questions * np.log1p(-np.minimum(q**needed, 1 - 1e-15))))
    return above, p ** max(0, THRESHOLD + distance - test.threshold + 1)


@pytest.mark.parametrize("relation", NeighboringRelation)
@pytest.mark.parametrize(("most", "questions", "level"), [(1, 1, 0.9), (1, 1000, 0.9), (10, 1, 0.1), (10, 50, 0.95)])
@pytest.mark.parametrize(("rows", "epsilon"), [(1, Fraction(1, 10)), (3, Fraction(1, 2))])
def test_margin_holds_and_is_not_idle(relation, most, questions, level, rows, epsilon):
    """Either kind of wrong answer has at most half of the probability that is left, and at 0.7 of the margin one has more."""
    unit = PrivacyUnit("u" if rows > 1 else None, rows, rows, rows, relation)
    terms, stream = Terms(unit, Price(epsilon)), AboveThreshold(THRESHOLD, most)
    margin, half = stream.margin(terms, questions, level), (1 - level) / 2
    assert max(wrong(stream.test(terms), margin, questions)) <= half
    assert max(wrong(stream.test(terms), int(0.7 * margin), questions)) > half

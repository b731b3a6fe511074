"""Streams of counting questions, and the one that says whether a count is above a threshold."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import AT, IN_ROWS, Aggregate, Answer, ExpectedError, Steps, Terms
from pandas_dp.aggregates.uncertainty import LEVEL
from pandas_dp.core.measurement import Measurement, Reply
from pandas_dp.core.mechanisms.sparse_vector import SparseVector
from pandas_dp.core.privacy import Price, PrivacyLoss, Sensitivity
from pandas_dp.core.statistics.scores import CountWhere
from pandas_dp.errors import ArgumentTypeError, of_price
from pandas_dp.steps.expression import Expression

ANY = CountWhere(None)  # all conditions have one sensitivity
ASKED = 100  # questions, in the example of a margin that a preview gives


class StreamRecipe(Aggregate):
    """A recipe that goes on: it yields a `Reply` for each question and is never stored."""

    stored = False

    @abstractmethod
    def question(self, condition: Expression, empty: pd.DataFrame) -> Any:
        """What the recipe is sent for a condition on the rows; `empty` has their names and dtypes.

        Raises
        ------
        ArgumentValueError
            For conditions that this stream cannot answer. Nothing is asked then.
        """


@dataclass(frozen=True)
class AboveThreshold(StreamRecipe):
    """Whether counts are at least a threshold, until that was so `max_above` times.

    Parameters
    ----------
    threshold : int
    max_above : int
    """

    threshold: int
    max_above: int

    def test(self, terms: Terms) -> SparseVector:
        """The sparse vector that the price buys."""
        epsilon = plain_epsilon(terms.price, f"above_threshold({self.threshold})")
        return calibrate(epsilon, ANY.sensitivity(terms.unit), self.threshold, self.max_above)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Of all answers together."""
        return self.test(terms).loss(ANY.sensitivity(terms.unit))

    def steps(self, terms: Terms) -> Steps:
        """One look a question."""
        test, left = self.test(terms), self.max_above
        question = yield Reply(None, self._words(left))
        while True:
            noisy = yield Measurement(CountWhere(question), test)
            left -= noisy[0]
            answer = Answer(bool(noisy[0]), test.name)
            if not left:
                return answer
            question = yield Reply(answer, self._words(left))

    def question(self, condition: Expression, empty: pd.DataFrame) -> Expression:
        """Return the condition itself."""
        return condition

    def _words(self, left: int) -> str:
        return f"{left:,} of {self.max_above:,} True answers"

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The margin of an example of so many questions."""
        test, margin = self.test(terms), self.margin(terms, ASKED, LEVEL)
        of_question, of_threshold = (IN_ROWS.text(scale) for scale in (test.question_scale, test.threshold_scale))
        scale = f"scale {of_question} for a question, {of_threshold} for the threshold"
        error = f"with {ASKED} questions no answer is wrong for counts at least {margin:,} rows from the threshold {AT}"
        return ExpectedError(test.name, scale, error, margin)

    def margin(self, terms: Terms, questions: int, level: float) -> int:
        """Rows by which a count may lie on the other side of the threshold; see `ThresholdStream.margin`.

        With centred noise, V - E V of a question and U - E U of the threshold, a wrong True at a distance of t needs
        V >= t + E V - E U, a wrong False U > t - E V + E U; V is geometric, so P(V >= x) <= exp(-x / scale), and so is U.
        """
        test, half = self.test(terms), (1 - level) / 2
        of_threshold, of_question = float(test.threshold_scale), float(test.question_scale)
        between = mean(test.question_scale) - mean(test.threshold_scale)
        wrong_true = of_question * math.log(questions / half) - between
        wrong_false = of_threshold * math.log(1 / half) + between
        return math.ceil(max(wrong_true, wrong_false, 0))


def calibrate(epsilon: Fraction, sensitivity: Sensitivity, threshold: int, most: int) -> SparseVector:
    """Return the sparse vector with the least noise whose loss is epsilon.

    The noise of the threshold gets 1 part and that of questions (sides * most)^(2/3) parts of epsilon, which makes the
    variance of their difference least (Lyu, Su, Li 2017, Section 4.2); both are centred by moving the public threshold.
    """
    sides = 1 if sensitivity.rising else 2
    share = Fraction(1 / (1 + (sides * most) ** (2 / 3))).limit_denominator(10**9)
    of_threshold = Fraction(sensitivity.linf) / (epsilon * share)
    of_question = Fraction(sides * most * sensitivity.linf) / (epsilon * (1 - share))
    return SparseVector(threshold + mean(of_question) - mean(of_threshold), of_threshold, of_question, most)


def mean(scale: Fraction) -> int:
    """Mean of geometric noise, 1 / (e^(1/scale) - 1), rounded."""
    x = 1 / float(scale)
    return 0 if x > 100 else round(1 / math.expm1(x))


def plain_epsilon(price: Price, call: str) -> Fraction:
    """Epsilon of a price that must be pure."""
    if price.gaussian or price.epsilon is None:
        text = f"a stream takes a plain epsilon: df.dp(epsilon=1).{call}, without delta= and rho="
        raise of_price(ArgumentTypeError(text))
    return price.epsilon

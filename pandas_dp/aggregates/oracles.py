"""Streams that answer counts from public guesses, and look at the data only to test and correct them.

What an oracle guesses with, weights or candidates, is public: it is made of its answers. A guess is tested by the sparse
vector technique at no price for those that are near enough; for the others a noisy count is bought, which also corrects
the guesses to come. What may be asked is a condition on a public domain: all combinations of the bins and keys of columns.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.above_threshold import StreamRecipe, calibrate, mean, plain_epsilon
from pandas_dp.aggregates.base import AT, IN_ROWS, SAY, Answer, Caution, ExpectedError, Steps, Terms
from pandas_dp.aggregates.uncertainty import LEVEL, Additive, Ends
from pandas_dp.core.measurement import Measurement, Reply
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.sparse_vector import SparseVector
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.core.privacy import PrivacyLoss, show
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.scores import CountWhere, DistanceFrom
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.expression import Expression

MOST_CHECKED = 1 << 26  # ends of cells at which one condition is evaluated


@dataclass(frozen=True)
class Axis:
    """Parts of one column.

    Parameters
    ----------
    parts : Bins or Keys
        Without parts for other and missing values. Keys are all text or all bool.
    whole : bool
        Whether the column holds whole numbers.
    """

    parts: Keys | Bins
    whole: bool = False

    def ends(self) -> list[pd.Series[Any]]:
        """One value of each part; for bins the smallest, and the largest: shape (parts,) each."""
        if not isinstance(self.parts, Bins):
            text = isinstance(self.parts.keys[0], str)
            return [pd.Series(list(self.parts.keys), dtype="str" if text else "bool")]
        edges = self.parts.edges
        if self.whole:
            whole = np.array([math.ceil(edge) for edge in edges])
            return [pd.Series(whole[:-1]), pd.Series(np.maximum(whole[:-1], whole[1:] - 1))]
        exact = np.array(edges, dtype=np.float64)
        return [pd.Series(exact[:-1]), pd.Series(np.nextafter(exact[1:], -np.inf))]


@dataclass(frozen=True)
class Domain:
    """All combinations of the parts of some columns, its cells, in row-major order."""

    axes: tuple[Axis, ...]

    @property
    def cells(self) -> int:
        """Number of combinations."""
        return math.prod(axis.parts.count for axis in self.axes)

    def holding(self, condition: Expression) -> NDArray[np.bool_]:
        """Which cells fulfil a condition, shape (cells,).

        Raises
        ------
        ArgumentValueError
            The condition reads another column, or holds at one end of a bin and not at the other.
        """
        known = [axis.parts.column for axis in self.axes]
        foreign = sorted(condition.columns().difference(known))
        if foreign:
            raise ArgumentValueError(f"ask: {foreign[0]!r} is not a column of the domain, which has {', '.join(known)}")
        used = [axis for axis in self.axes if axis.parts.column in condition.columns()]
        counts = [axis.parts.count for axis in used]
        if 2 ** sum(isinstance(axis.parts, Bins) for axis in used) * math.prod(counts) > MOST_CHECKED:
            raise ArgumentValueError(
                "ask: the condition reads too many columns of bins at once; ask about fewer of them"
            )
        places = np.indices(counts).reshape(len(used), math.prod(counts))  # shape (used, combinations)
        found: NDArray[np.bool_] | None = None
        for corner in product(*(axis.ends() for axis in used)):
            columns = {
                axis.parts.column: values.take(place).array
                for axis, values, place in zip(used, corner, places, strict=True)
            }
            holds = condition.condition(pd.DataFrame(columns, index=pd.RangeIndex(places.shape[1])))
            if found is not None and not np.array_equal(found, holds):
                raise ArgumentValueError(
                    "ask: the condition splits a bin of the domain; compare with its edges, such as age >= 30 where 30 is an "
                    "edge, or give the domain more edges"
                )
            found = holds
        shape = [axis.parts.count if axis in used else 1 for axis in self.axes]
        every = tuple(axis.parts.count for axis in self.axes)
        return np.broadcast_to(np.asarray(found).reshape(shape), every).ravel()


SIZE_SHARE = Fraction(1, 20)  # of epsilon, for the number of rows where it is not public
SIZE_LEVEL = 0.999
REPLAYS = 3  # more of them gain nothing on census data
QUESTIONS, FAILURE = 1000, 0.05  # so many questions the thresholds are made for, with this probability to fail
EASY = "easy: guessed from earlier answers, and tested"
HARD = "hard: answered by a noisy count of its own"
UNVERIFIED = Caution(
    "unverified: all corrections are used up, so this is predicted from earlier answers and not checked against the data"
)


@dataclass(frozen=True, eq=False)
class Asked:
    """One question: a condition, and the share of rows that fulfil it in each public guess (cell or candidate)."""

    condition: Expression
    shares: NDArray[Any]


@dataclass(frozen=True)
class OraclePlan:
    """How an oracle spends its price; public.

    Attributes
    ----------
    rows : int
        A public number of rows, at least the true one for certain or very likely.
    updates : int
        Noisy counts that are paid for.
    test : SparseVector
    threshold : int
        Distance in rows at which a guess counts as wrong.
    noise : DiscreteLaplace
        Of each noisy count.
    """

    rows: int
    updates: int
    test: SparseVector
    threshold: int
    noise: DiscreteLaplace


@dataclass(frozen=True)
class Passed:
    """A guess that passed its test.

    It passes at a distance of threshold + t only if U - V > t - E V + E U, U the noise of the threshold and V >= 0 that of
    the question. U is drawn once, so at one level this holds for all guesses of a stream at once:
    P(U > x) <= exp(-x / scale).
    """

    test: SparseVector
    threshold: int

    def bounds(self, value: Any, level: float) -> Ends:
        """Value minus and plus the largest distance that passes at this level."""
        between = mean(self.test.question_scale) - mean(self.test.threshold_scale)
        t = -float(self.test.threshold_scale) * math.log(1 - level) + between
        half = self.threshold + max(0, math.ceil(t))
        return value - half, value + half


@dataclass(frozen=True)
class Oracle(StreamRecipe):
    """A stream of counts.

    Parameters
    ----------
    updates : int or None
        Noisy counts to pay for; None: by the size of the table and of the guesses.
    rows : int or None
        A public upper bound of the number of rows; None: public anyway, or bought.
    """

    updates: int | None = None
    rows: int | None = None

    name = "oracle"

    @abstractmethod
    def plan(self, terms: Terms, epsilon: Fraction, rows: int) -> OraclePlan:
        """Spend epsilon on tests and noisy counts."""

    @abstractmethod
    def guesses(self, plan: OraclePlan) -> Weights | Candidates:
        """The state before the first question."""

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Epsilon as a whole: tests, noisy counts and, where it is bought, the number of rows."""
        return PrivacyLoss.pure(plain_epsilon(terms.price, "oracle(...)"))

    def steps(self, terms: Terms) -> Steps:
        """Test a guess; where it fails, buy a noisy count and learn from it."""
        epsilon, rows = plain_epsilon(terms.price, "oracle(...)"), self.rows or terms.public_rows
        if rows is None:
            noise = DiscreteLaplace.calibrate(epsilon * SIZE_SHARE, RowCounts().sensitivity(terms.unit))
            noisy = yield Measurement(RowCounts(), noise)
            epsilon, rows = epsilon * (1 - SIZE_SHARE), noisy[0] + noise.half_width(SIZE_LEVEL)
        plan = self.plan(terms, epsilon, max(rows, 1))
        guesses, left = self.guesses(plan), plan.updates
        asked, bought = (yield Reply(None, words(left, plan))), dict[Expression, Answer]()
        while True:
            if asked.condition in bought:  # released already: no second look, which would err more
                asked = yield Reply(bought[asked.condition], words(left, plan))
                continue
            guess = round(guesses.share(asked) * plan.rows)
            count, answer = CountWhere(asked.condition), Answer(guess, self.name, None, (UNVERIFIED,))
            if left:
                far = yield Measurement(DistanceFrom(count, guess), plan.test)
                answer = Answer(guess, self.name, Passed(plan.test, plan.threshold), (EASY,))
                if far[0]:
                    left -= 1
                    noisy = yield Measurement(count, plan.noise)
                    guesses.learn(asked, noisy[0] / plan.rows)
                    answer = bought[asked.condition] = Answer(noisy[0], plan.noise.name, Additive(plan.noise), (HARD,))
            asked = yield Reply(answer, words(left, plan))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """How far a guess that passes its test, and a correction, may be off."""
        epsilon, known = plain_epsilon(terms.price, "oracle(...)"), self.rows or terms.public_rows
        notes: tuple[str, ...] = ()
        if known is None:
            notes = (f"{show(100 * SIZE_SHARE)} % of the price buys the number of rows",)
            epsilon, known = epsilon * (1 - SIZE_SHARE), rows
        if known is None:
            words = f"not known in advance: it depends on the number of rows; {SAY}"
            return ExpectedError(self.name, None, words, None, notes)
        plan = self.plan(terms, epsilon, known)
        passed = Passed(plan.test, plan.threshold).bounds(0, LEVEL)[1]
        scale = f"scale {IN_ROWS.text(plan.test.question_scale)} for a test, {IN_ROWS.text(plan.noise.scale)} for a correction"
        hard = plan.noise.half_width(LEVEL)
        error = f"± {passed:,} rows where a guess passes its test, ± {hard:,} for {plan.updates:,} corrections {AT}"
        return ExpectedError(self.name, scale, error, passed, notes)

    def _spend(self, terms: Terms, epsilon: Fraction, rows: int, updates: int, factor: float) -> OraclePlan:
        """Half of epsilon for tests and half for noisy counts; the threshold is `factor` noise scales of a test."""
        sensitivity = DistanceFrom(CountWhere(None), 0).sensitivity(terms.unit)
        noise = DiscreteLaplace(Fraction(updates * sensitivity.l1) / (epsilon / 2))
        scale = calibrate(epsilon / 2, sensitivity, 0, updates).question_scale
        threshold = max(1, math.ceil(factor * float(scale)))
        return OraclePlan(rows, updates, calibrate(epsilon / 2, sensitivity, threshold, updates), threshold, noise)


def words(left: int, plan: OraclePlan) -> str:
    """What is left of an oracle."""
    return f"{left:,} of {plan.updates:,} corrections" + ("" if left else ": unverified guesses")


@dataclass(frozen=True)
class MultiplicativeWeights(Oracle):
    """Counts guessed from weights on the cells of a public domain.

    Notes
    -----
    Weights start equal, on the cells and on one more for all rows elsewhere (and those by which `rows` is too large). A
    noisy share a of a condition whose weights sum to p multiplies these by exp(eta), eta = logit(a) - logit(p), after which
    they sum to a. For the true share q the relative entropy of the table to the weights falls by kl(a, p) + (q - a) eta,
    kl(a, p) >= 2 (a - p)^2: by something wherever the noise is less than about half the correction. a is kept one noise
    scale away from 0 and 1. The entropy starts at ln(cells + 1) at most and never falls below 0, so few large corrections
    are possible; how many a table needs is not known beforehand.

    What a correction spoils of earlier ones is then mended: each noisy share that the weights miss by more than one noise
    scale is moved to that distance, all in turn, three times over. This is made of released answers alone. It is a
    projection in relative entropy, so the entropy of the table to the weights falls by at least that of the new weights to
    the old whenever the noise of that share is at most one scale (Csiszar 1975).

    By default updates = sqrt(epsilon rows ln(cells) / max_rows) / 6 and the threshold is two noise scales of a test. That
    served best or nearly so for epsilon 0.1 to 3, 5,000 and 48,842 rows of census data, 64 to 9,408 cells, and
    conjunctions of ranges, keys and sets of keys; worst-case theory has the power 2/3 instead of 1/2.
    Source: Hardt, Rothblum 2010; Gupta, Roth, Ullman 2012.
    """

    domain: Domain = field(default_factory=lambda: Domain(()))

    name = "multiplicative weights"

    def plan(self, terms: Terms, epsilon: Fraction, rows: int) -> OraclePlan:
        """See the class notes."""
        size = math.sqrt(float(epsilon) * rows / terms.unit.rows * math.log(self.domain.cells + 1))
        return self._spend(terms, epsilon, rows, self.updates or min(max(1, round(size / 6)), rows), 2)

    def guesses(self, plan: OraclePlan) -> Weights:
        """Equal weights."""
        return Weights(self.domain.cells, float(plan.noise.scale) / plan.rows)

    def question(self, condition: Expression, empty: pd.DataFrame) -> Asked:
        """Find the cells that fulfil the condition."""
        return Asked(condition, self.domain.holding(condition))


class Weights:
    """Weights of the cells and, last, of everything else; logarithms, which do not underflow."""

    def __init__(self, cells: int, margin: float) -> None:
        self.logs = np.full(cells + 1, -math.log(cells + 1))
        self.weights = np.exp(self.logs)
        self.margin = min(margin, 0.25)
        self.learnt: list[tuple[NDArray[np.uint8], float]] = []  # cells, as bits: there may be many; and a noisy share

    def share(self, asked: Asked) -> float:
        """Sum of the weights of the cells that fulfil the condition."""
        return float(self.weights[:-1][asked.shares].sum())

    def learn(self, asked: Asked, share: float) -> None:
        """Correct by this share, then by all that were learnt and are missed by more than the margin."""
        self.learnt.append((np.packbits(asked.shares), share))
        self.correct(asked, share)
        for _ in range(REPLAYS):
            consistent = True
            for bits, known in self.learnt:
                again = Asked(asked.condition, np.unpackbits(bits, count=asked.shares.size).astype(bool))
                p, low, high = self.share(again), min(known, 1) - self.margin, max(known, 0) + self.margin
                if not low <= p <= high:
                    self._move(again, low if p < low else high)
                    consistent = False
            if consistent:
                return

    def correct(self, asked: Asked, share: float) -> None:
        """Make this sum the given one, kept away from 0 and 1."""
        self._move(asked, min(max(share, self.margin), 1 - self.margin))

    def _move(self, asked: Asked, share: float) -> None:
        p, a = (min(max(value, 1e-12), 1 - 1e-12) for value in (self.share(asked), share))
        self.logs[:-1][asked.shares] += math.log(a / p) - math.log((1 - a) / (1 - p))
        self.logs -= self.logs.max()
        self.logs -= math.log(float(np.exp(self.logs).sum()))
        self.weights = np.exp(self.logs)


@dataclass(frozen=True, eq=False)
class MedianOracle(Oracle):
    """Counts guessed as the median over public candidate tables.

    Notes
    -----
    With W = (noise scale) ln(2 updates / 0.05) a guess is tested at twice W plus the tests' own error. Then, with probability
    0.9 for 1,000 questions, a guess that fails lies more than 2 W from the truth, hence more than W from the noisy count a;
    candidates further than W from a are dropped, and these are the median and all on its far side: at least half. So
    log2(candidates) corrections are enough, as long as one candidate is that near to the truth; where all would be dropped
    all are kept.
    Source: Roth, Roughgarden 2010, in the sparse vector form of Gupta, Roth, Ullman 2012.
    """

    candidates: tuple[pd.DataFrame, ...] = field(default=(), repr=False)

    name = "median mechanism"

    def plan(self, terms: Terms, epsilon: Fraction, rows: int) -> OraclePlan:
        """See the class notes."""
        updates = self.updates or max(1, math.ceil(math.log2(len(self.candidates))))
        plain = self._spend(terms, epsilon, rows, updates, 0)
        scale = float(plain.test.question_scale)
        of_tests = scale * math.log(2 * QUESTIONS / FAILURE) - mean(plain.test.question_scale)
        of_tests += mean(plain.test.threshold_scale)
        return self._spend(terms, epsilon, rows, updates, (2 * window(plain) + max(of_tests, 0) + 1) / scale)

    def guesses(self, plan: OraclePlan) -> Candidates:
        """All candidates."""
        return Candidates(len(self.candidates), window(plan) / plan.rows)

    def question(self, condition: Expression, empty: pd.DataFrame) -> Asked:
        """Share of the rows of each candidate that fulfil the condition."""
        try:
            return Asked(condition, np.array([float(condition.condition(table).mean()) for table in self.candidates]))
        except (ArgumentTypeError, ArgumentValueError) as error:
            raise ArgumentValueError(f"ask: a candidate does not fit: {error}") from None


def window(plan: OraclePlan) -> float:
    """Distance within which all noisy counts lie from the truth with probability 0.95, in rows."""
    return float(plan.noise.scale) * math.log(2 * plan.updates / FAILURE)


class Candidates:
    """The candidates that are left."""

    def __init__(self, count: int, window: float) -> None:
        self.left = np.arange(count)
        self.window = window

    def share(self, asked: Asked) -> float:
        """Lower median."""
        shares = np.sort(asked.shares[self.left])
        return float(shares[(shares.size - 1) // 2])

    def learn(self, asked: Asked, share: float) -> None:
        """Drop those that are far off, unless all are."""
        near = self.left[np.abs(asked.shares[self.left] - share) <= self.window]
        self.left = near if near.size else self.left

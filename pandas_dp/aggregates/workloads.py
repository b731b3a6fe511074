"""Answers to a public list of sums over parts, from the counts that are best for them: the matrix mechanism.

Which counts are best is found from public numbers. The queries are a matrix W, a row for each; what is measured is A x, with
independent noise of one variance on each entry; the answers are the least-squares ones, W (A'A)^-1 A'y. Their variances add
up to tr(G (A'A)^-1) times that of the noise, with G = W'W, and the noise grows with the sensitivity of A: the largest L1 norm
of its columns for Laplace noise, the largest L2 norm for Gaussian noise.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.base import AT, IN_ROWS, Answer, ExpectedError, SingleLook, Terms, noise_of
from pandas_dp.aggregates.ranges import fixed, hierarchy_of, moved, shapes
from pandas_dp.aggregates.uncertainty import LEVEL, Ends
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Bins, Partition
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.strategies import Haar, Tree, Weighted
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.numbers import Accuracy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Run = tuple[int, float]
Query = tuple[Run, ...]
"""A row of W: (first part, weight) of each run of parts with one weight, the first one from part 0 on."""
Strategy = Tree | Haar | Weighted

WHOLE = 1 << 12  # of the largest weight of an optimised strategy, which is whole numbers
WORTH = 0.99  # of the error of the best fixed form: less is worth another one, whose weights are floats' work
RIDGE = 1e-6  # of the mean of G's diagonal, so that what no query asks about is measured a little: A keeps all of its columns
LEAST = 1.0  # square of the smallest singular value of whole weights: below, rounding might have lost a column
ROUNDS, CLOSE = 100, 1e-3  # of the search for the L2 optimum; and how far from it weights may be
DESCENTS, ENOUGH, SMALLEST = 150, 1e-5, 1e-12  # of the search for L1


def rows_of(queries: tuple[Query, ...], parts: int) -> Floats:
    """W, shape (queries, parts)."""
    rows = np.zeros((len(queries), parts))
    for row, query in zip(rows, queries, strict=True):
        for first, weight in query:
            row[first:] = weight
    return rows


def measured(statistic: Strategy, unit: PrivacyUnit) -> Floats:
    """A, shape (entries, parts): what one row in each part adds to each entry."""
    if isinstance(statistic, Weighted):
        return np.array(statistic.weights, dtype=np.float64)
    form, parts = hierarchy_of(statistic, unit), np.eye(statistic.by.count)
    levels = [parts]
    while len(levels) < form.levels:
        levels.append(np.add.reduceat(levels[-1], np.arange(0, len(levels[-1]), form.branching), axis=0))
    if form.differences:
        levels = [level[: len(level) // 2 * 2 : 2] - level[1::2] for level in levels]
    return np.concatenate([*levels, parts.sum(axis=0, keepdims=True)] if form.root else levels)


def inverse(strategy: Floats) -> Floats:
    """(A'A)^-1 where columns of A that are equal, or zero, are one: of what A tells of, and 0 for the rest."""
    values, vectors = np.linalg.eigh(strategy.T @ strategy)
    kept = vectors[:, values > LEAST / 2]
    return (kept / values[values > LEAST / 2]) @ kept.T


@lru_cache(maxsize=16)
def least(by: Partition, unit: PrivacyUnit, gaussian: bool, queries: tuple[Query, ...]) -> Strategy:
    """The strategy with the least total variance of all queries, from public facts alone.

    Candidates are the plain counts, trees, the Haar transform, and what is made for the queries. Parts that all queries weigh
    alike are one there, and parts that none asks about are left out. Of what remains the plain counts are one candidate, and
    an optimised form another: with Gaussian noise the best there is under add/remove, with Laplace noise the plain counts with
    weighted sums above them that a descent from the best tree finds. These are taken where they save a hundredth. So the choice
    is never worse than any other candidate; the first of equals is taken.
    """
    rows = rows_of(queries, by.count)
    gram = rows.T @ rows
    forms = fixed(by)

    def error(candidate: Strategy, variance: float) -> float:
        return variance * moved(candidate, unit, gaussian)

    errors = []
    for form in forms:
        known = measured(form, unit)
        errors.append(error(form, float(np.trace(np.linalg.solve(known.T @ known, gram)))))
    best = int(np.argmin(errors))
    chosen: Strategy = forms[best]
    least_error = errors[best] * WORTH
    joined, spread = joined_parts(rows)
    small = joined.T @ joined
    ridged = small + RIDGE * np.trace(small) / len(small) * np.eye(len(small))
    optimum = gaussian_optimum(ridged) if gaussian else laplace_optimum(ridged, best_tree(small))
    for made in (np.eye(len(small), dtype=np.int64), whole(optimum)):
        weights = with_total(made, unit, gaussian)
        if np.linalg.eigvalsh(weights.T @ weights)[0] >= LEAST:
            candidate = Weighted(by, tuple(map(tuple, (weights @ spread).tolist())))
            found = error(candidate, float((inverse(weights.astype(np.float64)) * small).sum()))
            if found < least_error:
                chosen, least_error = candidate, found
    return chosen


def joined_parts(rows: Floats) -> tuple[Floats, Ints]:
    """W of groups of parts that all queries weigh alike, and which parts are in each group, shape (groups, parts)."""
    groups: dict[bytes, list[int]] = {}
    for part, column in enumerate(np.ascontiguousarray(rows.T)):
        if column.any():
            groups.setdefault(column.tobytes(), []).append(part)
    spread = np.zeros((len(groups), rows.shape[1]), dtype=np.int64)
    for row, parts in zip(spread, groups.values(), strict=True):
        row[parts] = 1
    return rows[:, [parts[0] for parts in groups.values()]], spread


def best_tree(gram: Floats) -> Floats:
    """The sums above the single parts in the tree with the least error under Laplace noise, shape (sums, parts)."""
    size, one = len(gram), PrivacyUnit()
    trees = [Tree(Bins("", tuple(range(size + 1))), *shape) for shape in shapes(size)]
    if not trees:
        return np.ones((1, size))
    known = [measured(tree, one) for tree in trees]
    errors = [np.trace(np.linalg.solve(a.T @ a, gram)) * tree.levels**2 for a, tree in zip(known, trees, strict=True)]
    return known[int(np.argmin(errors))][size:]


def whole(strategy: Floats) -> Ints:
    """Nearly proportional whole weights; the sensitivity is that of these."""
    rounded = np.rint(strategy * (WHOLE / np.abs(strategy).max())).astype(np.int64)
    return rounded[rounded.any(axis=1)]


def with_total(weights: Ints, unit: PrivacyUnit, gaussian: bool) -> Ints:
    """Under replace-one the sum of all as well, as heavy as costs nothing: most replacements leave it as it is."""
    if unit.add_remove:
        return weights
    apart = [np.abs(weights - other[:, None]) for other in weights.T]
    if gaussian:
        spare = max(int((d**2).sum(axis=0).max()) for d in apart) - int((weights**2).sum(axis=0).max())
        weight = math.isqrt(max(spare, 0))
    else:
        weight = max(int(d.sum(axis=0).max()) for d in apart) - int(np.abs(weights).sum(axis=0).max())
    return np.append(weights, np.full((1, weights.shape[1]), weight), axis=0) if weight > 0 else weights


def gaussian_optimum(gram: Floats) -> Floats:
    """A with the least tr(G (A'A)^-1) among those whose columns have an L2 norm of at most 1.

    With X = A'A and multipliers u of its diagonal, the optimum is X = U^-1/2 (U^1/2 G U^1/2)^1/2 U^-1/2 where that has a
    diagonal of ones, U the diagonal matrix of u. So u is the diagonal of the root, which is repeated until it stands.
    Source: Li, Hay, Rastogi, Miklau, McGregor 2010; Denisov, McMahan, Rush, Smith, Thakurta 2022 (the iteration).
    """
    u = np.sqrt(np.diag(gram))
    for _ in range(ROUNDS):
        root = _root(gram, u)
        held, u = u, np.diag(root).copy()
        if np.abs(u / held - 1).max() < CLOSE:
            break
    half = np.sqrt(u)
    root = _root(_root(gram, u) / np.outer(half, half), np.ones(len(u)))
    return root / np.linalg.norm(root, axis=0).max()


def _root(gram: Floats, u: Floats) -> Floats:
    half = np.sqrt(u)
    values, vectors = np.linalg.eigh(half[:, None] * gram * half)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def laplace_optimum(gram: Floats, above: Floats) -> Floats:
    """A local optimum among the plain counts with sums T x on top, all columns scaled to an L1 norm of 1; T is not negative.

    A = [I; T] D^-1 with D = diag(1 + sums of the columns of T), so (A'A)^-1 = D (I + T'T)^-1 D. A projected descent with
    steps of Barzilai and Borwein, of which each makes the error less.
    Source: McKenna, Miklau, Hay, Machanavajjhala 2018.
    """
    top, (error, slope) = above.copy(), _slope(above, gram)
    step = 1 / max(float(np.abs(slope).max()), SMALLEST)
    for _ in range(DESCENTS):
        while True:
            tried = np.maximum(top - step * slope, 0)
            less, other = _slope(tried, gram)
            if less < error or step * np.abs(slope).max() < SMALLEST:
                break
            step /= 2
        if less >= error:
            break
        change, turned, gained = tried - top, other - slope, error - less
        bend = float((change * turned).sum())
        step = float((change**2).sum()) / bend if bend > 0 else 2 * step
        top, error, slope = tried, less, other
        if gained < ENOUGH * error:
            break
    return np.concatenate([np.eye(len(gram)), top]) / (1 + top.sum(axis=0))


def _slope(top: Floats, gram: Floats) -> tuple[float, Floats]:
    """tr(G (A'A)^-1) and its gradient with respect to T."""
    scale = 1 + top.sum(axis=0)
    inverse = np.eye(len(gram)) - top.T @ np.linalg.solve(np.eye(len(top)) + top @ top.T, top)
    seen = (scale[:, None] * gram * scale) @ inverse
    along = 2 * ((gram * scale) * inverse).sum(axis=1)
    return float(np.trace(seen)), along - 2 * (top @ inverse) @ seen


DIGITS = 9  # of answers and of their weights: what is beyond is floats' work, and another machine's may differ
ONE_DRAW = 1 - 1e-9  # share of the length of an answer's weights from which it is of one draw


@dataclass(frozen=True)
class QueriesError:
    """Answers that are weighted sums of independent noise: of each the length of its weights, and whether it is of one draw."""

    noise: Noise
    lengths: tuple[float, ...]
    single: tuple[bool, ...]

    def half_widths(self, level: float) -> Floats:
        """Of each answer; see `Noise.combined`."""
        unit = np.where(self.single, self.noise.half_width(level), self.noise.combined(level))
        return unit * np.array(self.lengths)

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each answer."""
        half = self.half_widths(level)
        return value - half, value + half


@dataclass(frozen=True)
class WorkloadAnswers(SingleLook):
    """Weighted sums of the numbers of rows in the parts, as a Series of floats: least-squares answers that fit each other.

    Parameters
    ----------
    by : Partition
    labels : Labels
        Of the queries.
    queries : tuple of Query
    """

    by: Partition
    labels: Labels
    queries: tuple[Query, ...]

    counting = frozenset({"count"})

    def look(self, terms: Terms) -> Measurement:
        """Noisy integers in the form of the chosen strategy."""
        return terms.noised(self._strategy(terms))

    def drawn(self, terms: Terms) -> tuple[str, ...]:
        """An optimised strategy is floats' work: noisy integers are read again by the very strategy that they were drawn by."""
        chosen = self._strategy(terms)
        if not isinstance(chosen, Weighted):
            return ()
        return (hashlib.sha256(repr(chosen.weights).encode()).hexdigest(),)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a Series over the queries."""
        error, strategy, rows = (
            self._error(look, terms),
            self._measured(look, terms),
            rows_of(self.queries, self.by.count),
        )
        parts = inverse(strategy) @ (strategy.T @ np.array(noisy, dtype=np.float64))
        series = pd.Series(np.round(rows @ parts, DIGITS), index=self.labels.index(), name="count")
        return Answer(series, self._name(look, terms), error)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The widest interval, and the error of all queries together, beside that of sums of noisy counts."""
        look, plain = self.look(terms), terms.noised(Tree(self.by))
        error = self._error(look, terms)
        half = float(error.half_widths(LEVEL).max())
        after, before = (
            noise_of(one).standard_deviation * math.sqrt(float(np.mean(np.square(self._error(one, terms).lengths))))
            for one in (look, plain)
        )
        together = (
            f"all queries: standard deviation {IN_ROWS.text(after)} on average, {IN_ROWS.text(before)} by counts alone"
        )
        largest = max(map(max, look.statistic.weights)) if isinstance(look.statistic, Weighted) else 1
        words = f"each at most ± {IN_ROWS.text(half)} {AT}"
        scale = IN_ROWS.scale(noise_of(look), Fraction(1, largest))  # of the largest weight
        return ExpectedError(self._name(look, terms), scale, words, half, (together,))

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the widest of the half-widths."""
        return terms.least(lambda at: float(self._error(self.look(at), at).half_widths(wanted.level).max()), wanted)

    def _strategy(self, terms: Terms) -> Strategy:
        return least(self.by, terms.unit, terms.price.gaussian, self.queries)

    def _measured(self, look: Measurement, terms: Terms) -> Floats:
        return measured(cast("Strategy", look.statistic), terms.unit)

    def _error(self, look: Measurement, terms: Terms) -> QueriesError:
        strategy, rows = self._measured(look, terms), rows_of(self.queries, self.by.count)
        weights = np.abs(rows @ inverse(strategy) @ strategy.T)  # shape (queries, entries)
        lengths = np.round(np.sqrt((weights**2).sum(axis=1)), DIGITS)
        single = weights.max(axis=1) >= lengths * ONE_DRAW
        return QueriesError(noise_of(look), tuple(lengths.tolist()), tuple(single.tolist()))

    def _name(self, look: Measurement, terms: Terms) -> str:
        chosen = cast("Strategy", look.statistic)
        if isinstance(chosen, Weighted):
            return f"{noise_of(look).name} on {len(chosen.weights):,} weighted sums made for the queries"
        return f"{noise_of(look).name} on {hierarchy_of(chosen, terms.unit)}"

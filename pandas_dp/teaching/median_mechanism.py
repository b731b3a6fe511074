"""NOT PRIVATE: the median mechanism step by step, with its candidates and the r of every question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.oracles import Asked, MedianOracle, OraclePlan, Passed, window
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit, Sensitivity
from pandas_dp.core.randomness import random_bytes
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, told
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.numbers import checked_level, positive_epsilon, positive_int, typed
from pandas_dp.steps.changes import Filter
from pandas_dp.steps.parse import parse_expression
from pandas_dp.teaching.public import MARK, positive, refuse_protected

LINE = "median_mechanism(data, ['x == 1'], candidates=candidate_tables(data.drop_duplicates(), rows=3), epsilon=1)"
TABLES = "candidate_tables(pd.DataFrame({'x': [0, 1]}), rows=3)"
THRESHOLDS = "median_thresholds(1, accuracy=0.1, queries=100, universe=16, rows=10**5)"
MOST_CANDIDATES, MOST_ROWS = 5_000, 100_000


@dataclass(frozen=True)
class Step:
    """One question: what the candidates say, what is true, and what was answered."""

    condition: str
    r: float
    median: int
    true: int
    hard: bool
    answer: int
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class MedianTrace:
    """NOT PRIVATE: one run of the median mechanism.

    Attributes
    ----------
    epsilon : Fraction
    rows, updates : int
        n, and how many hard questions are paid for: log2 of the number of candidates.
    threshold, window : int, float
        Distances in rows: a median farther from the truth makes a question hard, and a hard answer drops the candidates that
        are farther from it.
    noise, test_noise : Fraction
        Scales in rows, of a hard answer and of a test.
    steps : tuple
        Of each question condition, r, median, true, hard, answer, and the candidates before and after it by their numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from pandas_dp import teaching
    >>> data = pd.DataFrame({"x": [1] * 30_000 + [0] * 10_000})
    >>> tables = teaching.candidate_tables(pd.DataFrame({"x": [0, 1]}), rows=4)
    >>> trace = teaching.median_mechanism(data, ["x == 1"], candidates=tables, epsilon=10)
    >>> trace.table().loc[0, ["question", "true", "before", "after"]].to_dict()
    {'question': 'x == 1', 'true': 30000, 'before': 5, 'after': 1}
    """

    epsilon: Fraction
    rows: int
    updates: int
    threshold: int
    window: float
    noise: Fraction
    test_noise: Fraction
    steps: tuple[Step, ...]

    def table(self) -> pd.DataFrame:
        """NOT PRIVATE: one row for each question.

        Returns
        -------
        DataFrame
            Columns: question; r, the mean over candidates S of exp(-abs(f(d) - f(S)) / threshold); median, of the candidates;
            true; hard; answer; before and after, how many candidates are left.

        Examples
        --------
        >>> import pandas as pd
        >>> from pandas_dp import teaching
        >>> data = pd.DataFrame({"x": [1] * 30_000 + [0] * 10_000})
        >>> tables = teaching.candidate_tables(pd.DataFrame({"x": [0, 1]}), rows=4)
        >>> trace = teaching.median_mechanism(data, ["x == 1", "x == 0"], candidates=tables, epsilon=10)
        >>> trace.table()[["question", "r", "hard"]].round(2)
        NOT PRIVATE question    r   hard
        0             x == 1  0.2   True
        1             x == 0  1.0  False
        """
        table = pd.DataFrame(list(self.steps)).rename(columns={"condition": "question"}).rename_axis(columns=MARK)
        return table.assign(before=table["before"].map(len), after=table["after"].map(len))

    def error(self, level: Any = 0.95) -> int:
        """Rows by which an answer may be off at this level: tested medians, and hard answers all together.

        Parameters
        ----------
        level : float

        Returns
        -------
        int

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd
        >>> from pandas_dp import teaching
        >>> data, tables = pd.DataFrame({"x": [1, 0]}), [pd.DataFrame({"x": [1, 0]})]
        >>> teaching.median_mechanism(data, ["x == 1"], candidates=tables, epsilon=1).error()
        101
        """
        chosen = checked_level(level)
        tested = Passed(_plan(self.epsilon, self.rows, self.updates).test, self.threshold)
        hard = DiscreteLaplace(self.noise).half_width(1 - (1 - chosen) / self.updates)
        return max(int(tested.bounds(0, chosen)[1]), hard)

    def plain_error(self, questions: Any, level: Any = 0.95) -> int:
        """The largest error, in rows, of so many plain noisy counts that share epsilon evenly.

        Parameters
        ----------
        questions : int
        level : float

        Returns
        -------
        int

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd
        >>> from pandas_dp import teaching
        >>> data, tables = pd.DataFrame({"x": [1, 0]}), [pd.DataFrame({"x": [1, 0]})]
        >>> trace = teaching.median_mechanism(data, ["x == 1"], candidates=tables, epsilon=1)
        >>> [trace.plain_error(k) for k in (1, 10, 100)]
        [3, 53, 760]
        """
        count, chosen = positive_int(questions, "questions"), checked_level(level)
        return DiscreteLaplace(count / self.epsilon).half_width(1 - (1 - chosen) / count)

    def __repr__(self) -> str:
        """The table and the terms, marked."""
        hard = sum(step.hard for step in self.steps)
        return (
            f"{MARK}: median mechanism at epsilon {float(self.epsilon):g}, {len(self.steps)} questions, {hard} of them hard "
            f"({self.updates} are paid for)\n{self.table().round(3).to_string()}\nthreshold {self.threshold} rows, window "
            f"{self.window:.0f} rows, noise of a hard answer {float(self.noise):.3g} rows"
        )


@example(TABLES)
def candidate_tables(universe: Any, rows: Any) -> list[pd.DataFrame]:
    """All tables of so many rows over a small public universe: the candidates C_0 of the median mechanism.

    Parameters
    ----------
    universe : DataFrame
        One row for each kind of row that there may be. Public: a codebook, not the rows of a table.
    rows : int
        m; there are (m + kinds - 1 choose m) tables, of which at most 5,000 are made. Counting questions are shares, so
        tables of m rows come as near as 1/m to any table.

    Returns
    -------
    list of DataFrame
        Also for ``df.dp(epsilon=1).oracle("median", candidates=...)``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also for a protected frame.

    Notes
    -----
    Every set of k counting questions has a table of m = ln(2 k) / (2 accuracy^2) rows that answers all of them within
    `accuracy`: a random sample does with positive probability (Hoeffding). So C_0 has to hold no larger tables.
    Source: Blum, Ligett, Roth 2008; Roth, Roughgarden 2010.

    Examples
    --------
    >>> import pandas as pd
    >>> from pandas_dp import teaching
    >>> tables = teaching.candidate_tables(pd.DataFrame({"x": [0, 1]}), rows=3)
    >>> [table["x"].tolist() for table in tables]
    [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
    """
    _check_tables([universe], "universe", "candidate_tables", TABLES)
    size, kinds = typed(TABLES, positive_int, rows, "rows"), len(universe)
    if math.comb(min(size, MOST_ROWS) + kinds - 1, kinds - 1) > MOST_CANDIDATES or size > MOST_ROWS:
        raise ArgumentValueError(f"that makes more than {MOST_CANDIDATES:,} tables: fewer rows or kinds: {TABLES}")
    chosen = combinations_with_replacement(range(kinds), size)
    return [universe.iloc[list(places)].reset_index(drop=True) for places in chosen]


@example(LINE)
def median_mechanism(data: Any, questions: Any, *, candidates: Any, epsilon: Any) -> MedianTrace:
    """NOT PRIVATE: run the median mechanism on a PUBLIC table, and show what it keeps secret.

    Parameters
    ----------
    data : DataFrame
        Public: toy rows, never a table that is to be protected.
    questions : list of str
        Conditions, as ``.query()`` takes them; each asks how many rows fulfil it.
    candidates : list of DataFrame
        C_0, such as `candidate_tables` makes.
    epsilon : number
        For all questions together.

    Returns
    -------
    MedianTrace

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also for a protected frame.

    Notes
    -----
    r_i is the mean over S in C_(i-1) of exp(-abs(f_i(d) - f_i(S)) / a), a the threshold as a share of rows: near 1 where
    nearly all candidates are right. The lectures decide by a noisy r_i. Here, and in ``oracle("median", ...)``, the distance
    of the median from the truth is tested by a sparse vector with epsilon / 2, whose constants are practical. The answer to an
    easy question is the median of the candidates. The answer to a hard one is f_i(d) + Laplace noise; log2 of the number of
    candidates such answers share epsilon / 2, and candidates farther than the window from that answer are dropped. Each run
    draws new noise. For the guarantee under add_remove and replace_one see ``oracle``: n is public here. Source: Roth,
    Roughgarden 2010; Gupta, Roth, Ullman 2012.

    Examples
    --------
    >>> import pandas as pd
    >>> from pandas_dp import teaching
    >>> data = pd.DataFrame({"x": [1] * 30_000 + [0] * 10_000})
    >>> tables = teaching.candidate_tables(data.drop_duplicates(), rows=4)
    >>> trace = teaching.median_mechanism(data, ["x == 1", "x == 0"], candidates=tables, epsilon=10)
    >>> [step.hard for step in trace.steps], abs(trace.steps[1].answer - 10_000) < trace.error()
    ([True, False], True)
    """
    _check_tables([data], "data", "median_mechanism", LINE)
    if not isinstance(candidates, list | tuple) or not candidates:
        raise ArgumentTypeError(f"candidates must be a list of DataFrames: {LINE}")
    _check_tables(candidates, "candidates", "median_mechanism", LINE)
    if not isinstance(questions, list | tuple) or not questions or not all(isinstance(q, str) for q in questions):
        raise ArgumentTypeError(f"questions must be a list of conditions: {LINE}")
    if len(candidates) > MOST_CANDIDATES or len(data) > MOST_ROWS:
        raise ArgumentValueError(f"data may have {MOST_ROWS:,} rows and {MOST_CANDIDATES:,} candidates at most: {LINE}")
    price, rows = typed(LINE, positive_epsilon, epsilon), len(data)
    updates = max(1, math.ceil(math.log2(len(candidates))))
    plan = _plan(price, rows, updates)
    oracle = MedianOracle(updates, rows, tuple(candidates))
    columns = data.columns
    if not columns.is_unique or not all(columns.equals(table.columns) for table in candidates):
        raise ArgumentValueError(f"data and candidates must have the same columns, each once: {LINE}")
    whole: pd.DataFrame = pd.concat(list(candidates), ignore_index=True)
    asked = {question: _asked(question, data, whole, [len(table) for table in candidates]) for question in questions}
    steps = _run([(question, asked[question]) for question in questions], data, oracle, plan)
    noise, test = plan.noise.scale, plan.test.question_scale
    return MedianTrace(price, rows, updates, plan.threshold, window(plan), noise, test, tuple(steps))


def _run(asked: Sequence[tuple[str, Asked]], data: pd.DataFrame, oracle: MedianOracle, plan: OraclePlan) -> list[Step]:
    guesses, left, steps = oracle.guesses(plan), plan.updates, list[Step]()
    moved = Sensitivity(l1=1, l2_squared=1, linf=1)
    test = plan.test.start(moved, random_bytes)
    kept: NDArray[np.intp] = np.arange(len(oracle.candidates))
    for text, question in asked:
        true = int(question.condition.condition(data).sum())
        near = np.exp(-np.abs(question.shares[kept] * plan.rows - true) / plan.threshold)
        median = answer = round(guesses.share(question) * plan.rows)
        hard = bool(left) and bool(test.draw(Exact([abs(true - median)]), random_bytes)[0])
        before = kept
        if hard:
            left -= 1
            (answer,) = plan.noise.draw(Exact([true]))
            guesses.learn(question, answer / plan.rows)
            kept = guesses.left
        steps.append(
            Step(
                text, float(near.mean()), median, true, hard, int(answer), tuple(before.tolist()), tuple(kept.tolist())
            )
        )
    return steps


def _plan(epsilon: Fraction, rows: int, updates: int) -> OraclePlan:
    """What `MedianOracle` spends on a table of so many rows, each of them a unit."""
    terms = Terms(PrivacyUnit(relation=NeighboringRelation.REPLACE_ONE), Price(epsilon), True, rows)
    return MedianOracle(updates, rows).plan(terms, epsilon, rows)


def _asked(question: str, data: pd.DataFrame, whole: pd.DataFrame, sizes: list[int]) -> Asked:
    """A condition, and its share in each candidate: all of them are looked at in one go."""
    empty = data.head(0)
    with told("questions: "):
        made = Filter(parse_expression(question, empty.columns, argument="questions"))
        made.apply(empty)
    try:
        holds = made.expression.condition(whole)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise ArgumentValueError(f"questions: a candidate does not fit: {error}") from None
    starts = np.cumsum([0, *sizes[:-1]])
    return Asked(made.expression, np.add.reduceat(holds.astype(float), starts) / sizes)


def _check_tables(tables: Sequence[Any], argument: str, call: str, line: str) -> None:
    if not all(isinstance(table, pd.DataFrame) and len(table) for table in tables):
        raise ArgumentTypeError(f"{argument} must be made of DataFrames with rows: {line}")
    refuse_protected(list(tables), call, line)


@example(THRESHOLDS)
def median_thresholds(epsilon: Any, *, accuracy: Any, queries: Any, universe: Any, rows: Any) -> pd.Series[float]:
    """Constants of the median mechanism as Roth and Roughgarden state it, and of the one that can be run.

    Parameters
    ----------
    epsilon : number
        The lectures' alpha, the privacy of all answers together.
    accuracy : number
        In (0, 1), of shares.
    queries, universe, rows : int
        k, the kinds of rows there may be, and n.

    Returns
    -------
    Series
        m, the rows of a candidate; candidates, log10 of how many there are; alpha', which each noise may spend; noise of r and
        noise of an answer, Laplace scales; gamma, the step of thresholds; lowest and highest threshold of r; hard, the
        questions after which it halts; and, of the test by distance with candidates of ln(2 k) / (2 accuracy^2) rows: practical
        m, practical candidates (log10), practical hard, and practical threshold, as a share of rows.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    m = 160,000 ln k ln(1/a) / a^2; alpha' = epsilon / (720 m ln(universe)); gamma = 4 ln(2 k / epsilon) / (alpha' a n). The
    threshold of each question is 3/4 + j gamma, j = 0, 1, ..., up to 3/20 in all, with probability proportional to 2^-j:
    drawn anew, it hides how near r is. r moves by at most 1 - exp(-1/(a n)) <= 1/(a n), and gets Laplace noise of scale
    2 / (a n alpha').
    A hard answer gets noise of scale 1 / (alpha' n), and candidates farther than a / 50 are dropped.
    Source: Roth, Roughgarden 2010.

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> found = teaching.median_thresholds(1, accuracy=0.1, queries=100, universe=16, rows=10**5)
    >>> f"{found['m']:.2g} rows a candidate, noise of an answer {found['noise of an answer']:.2g}"
    '1.7e+08 rows a candidate, noise of an answer 3.4e+06'
    """
    price, a = float(typed(THRESHOLDS, positive_epsilon, epsilon)), float(positive(accuracy, "accuracy", THRESHOLDS, 1))
    if a == 1:
        raise ArgumentValueError(f"accuracy must be below 1: {THRESHOLDS}")
    k, kinds = (
        typed(THRESHOLDS, positive_int, value, name) for value, name in ((queries, "queries"), (universe, "universe"))
    )
    n = math.ceil(positive(rows, "rows", THRESHOLDS, 10**30))  # theory asks for more than any table has
    if k < 2 or kinds < 2:
        raise ArgumentValueError(f"queries and universe must be at least 2: {THRESHOLDS}")
    m = 160_000 * math.log(k) * math.log(1 / a) / a**2
    each = price / (720 * m * math.log(kinds))
    gamma = 4 * max(math.log(2 * k / price), 0.0) / (each * a * n)
    small = math.ceil(math.log(2 * k) / (2 * a**2))
    tables = _log10_tables(small, kinds)
    hard = max(1, math.ceil(tables / math.log10(2)))
    practical = _plan(Fraction(str(price)), n, hard)
    return pd.Series(
        {
            "m": m,
            "candidates": _log10_tables(m, kinds),
            "alpha'": each,
            "noise of r": 2 / (a * n * each),
            "noise of an answer": 1 / (each * n),
            "gamma": gamma,
            "lowest threshold": 0.75,
            "highest threshold": 0.75 + gamma * (0.15 // gamma) if gamma else 0.9,
            "hard": 20 * m * math.log(kinds),
            "practical m": small,
            "practical candidates": tables,
            "practical hard": hard,
            "practical threshold": practical.threshold / n,
        }
    )


def _log10_tables(rows: float, kinds: int) -> float:
    """Logarithm of (rows + kinds - 1 choose kinds - 1), which no integer could hold for the rows of theory."""
    return (math.lgamma(rows + kinds) - math.lgamma(rows + 1) - math.lgamma(kinds)) / math.log(10)

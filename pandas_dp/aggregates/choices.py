"""One or several of listed candidates, chosen by exact scores: the most common keys, and scores of one's own."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import pandas as pd

from pandas_dp.aggregates.base import (
    IN_ROWS,
    NO_SIZE,
    Answer,
    ExpectedError,
    Guarantee,
    Guaranteed,
    SingleLook,
    Terms,
    Unit,
    pure_epsilon,
)
from pandas_dp.aggregates.uncertainty import ScoreGap
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy, Statistic
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PartByPart, PermuteAndFlip
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import show
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.scores import FrameScores, RowScores
from pandas_dp.facts.labels import Labels

Weights = tuple[int, ...]
UNITS = {"count": IN_ROWS, "score": Unit("in score"), "revenue": Unit("of revenue")}
FINENESS = 1 << 20  # steps of a score of the whole table within its sensitivity


@dataclass(frozen=True)
class Gap:
    """What the guarantee of a choice is about.

    Attributes
    ----------
    what, best : str
        Words of a `ScoreGap`.
    candidates : float
        1 / the smallest share that the base measure gives to a candidate: their number where all are alike.
    step : Fraction
        What one step of the statistic's scores is worth.
    """

    what: str
    candidates: float
    step: Fraction = Fraction(1)
    best: str = "the largest"


class Choice(SingleLook, Guaranteed):
    """Picks by permute-and-flip, or by the exponential mechanism.

    A session that counts pure epsilons uses permute-and-flip, never worse than the exponential mechanism; one with
    delta > 0 uses the exponential mechanism, whose Renyi divergence is four times smaller, and so does a base measure.

    Notes
    -----
    A pick of score s out of candidates whose best has score OPT satisfies P(s < OPT - (ln(1/m) + t) / rate) <= exp(-t), m
    the share of the base measure that the best candidate has: McSherry, Talwar 2007, Lemma 7; permute-and-flip has the
    same tail with m = 1 / candidates: McKenna, Sheldon 2020. For k picks t grows by ln k (union bound), each compared
    with the best of those not picked before, which is at least the true one of its rank.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The question, for errors."""

    @property
    @abstractmethod
    def statistic(self) -> Statistic:
        """Exact integer scores, one for each candidate."""

    @property
    @abstractmethod
    def gap(self) -> Gap:
        """What the guarantee is about."""

    @abstractmethod
    def chosen(self, picks: Noisy) -> Any:
        """Return the answer from the places of the picks."""

    picks = 1
    each = ""  # of several "each: "
    weights: Weights | None = None

    def drawn(self, terms: Terms) -> tuple[str, ...]:
        """By another mechanism where a budget counts more than pure epsilons."""
        return () if terms.pure else ("not pure",)

    def assumed(self, terms: Terms) -> str | None:
        """Return what the guarantee takes on the caller's word."""
        return None

    def notes(self, error: Guarantee) -> tuple[str, ...]:
        """Return what else is known of the choice, from public facts."""
        return ()

    def look(self, terms: Terms) -> Measurement:
        """One place for each pick."""
        statistic = self.statistic
        epsilon, sensitivity = pure_epsilon(terms.price, f"{self.name}()"), statistic.sensitivity(terms.unit)
        if terms.pure and self.weights is None:
            return Measurement(statistic, PermuteAndFlip.calibrate(epsilon, sensitivity, self.picks))
        return Measurement(statistic, ExponentialMechanism.calibrate(epsilon, sensitivity, self.picks, self.weights))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return what was picked."""
        error = self._error(look)
        return Answer(self.chosen(noisy), _picking(look).name, error, self.notes(error), assumes=self.assumed(terms))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The bound on the gap."""
        look, assumed = self.look(terms), self.assumed(terms)
        error = self._error(look)
        notes = self.notes(error) if assumed is None else (*self.notes(error), f"assumes {assumed}")
        found = error.expected(_picking(look).name, UNITS[self.gap.what], notes)
        return replace(found, error=self.each + found.error)

    def guarantee(self, terms: Terms) -> Guarantee:
        """The bound on the gap."""
        return self._error(self.look(terms))

    def _error(self, look: Measurement) -> Guarantee:
        gap = self.gap
        make = partial(ScoreGap, what=gap.what, best=gap.best)
        log_candidates = math.log(gap.candidates) + math.log(self.picks)
        return Guarantee(make, log_candidates, float(_picking(look).rate / gap.step))


def _picking(look: Measurement) -> PermuteAndFlip | ExponentialMechanism:
    mechanism = look.mechanism.choice if isinstance(look.mechanism, PartByPart) else look.mechanism
    if not isinstance(mechanism, PermuteAndFlip | ExponentialMechanism):
        raise TypeError("this measurement is no choice")
    return mechanism


@dataclass(frozen=True)
class TopK(Choice):
    """The k most common of the listed keys, the most common first."""

    by: Keys
    labels: Labels
    k: int

    name = "top_k"
    each = "each: "
    buying = NO_SIZE

    @property
    def picks(self) -> int:  # type: ignore[override]  # a number where it is no argument
        """One pick for each rank."""
        return self.k

    @property
    def statistic(self) -> RowCounts:
        """Rows of each key."""
        return RowCounts(by=self.by)

    @property
    def gap(self) -> Gap:
        """Of each key's count, below that of its rank."""
        return Gap("count", self.by.count, best="the true one of its rank")

    def chosen(self, picks: Noisy) -> pd.Series[Any]:
        """Keys by rank; their dtype is that of all listed keys."""
        ranks = pd.RangeIndex(1, self.k + 1, name="rank")
        return pd.Series(self.labels.index().take(picks), index=ranks, name=self.by.column)


@dataclass(frozen=True)
class SelectByRows(Choice):
    """A candidate with a high total of scores per row."""

    candidates: tuple[Hashable, ...]
    expressions: tuple[Any, ...]
    lattice: Lattice
    weights: Weights | None = None

    name = "select"

    @property
    def statistic(self) -> RowScores:
        """Total score of each candidate."""
        return RowScores(self.expressions, self.lattice)

    @property
    def gap(self) -> Gap:
        """Of totals of scores, each cut to its range and rounded to the lattice."""
        return Gap("score", _least_share(self.candidates, self.weights), self.lattice.step)

    def chosen(self, picks: Noisy) -> Hashable:
        """Return the candidate itself."""
        return self.candidates[picks[0]]


@dataclass(frozen=True)
class SelectByFrame(Choice):
    """A candidate with a high score that a user's function gives it. The function has no identity: nothing is stored."""

    candidates: tuple[Hashable, ...]
    score: Callable[[Any, Any], Any]
    sensitivity: Fraction
    weights: Weights | None = None
    tried: tuple[str, ...] = ()

    name = "select"
    stored = False

    @property
    def statistic(self) -> FrameScores:
        """Score of each candidate."""
        return FrameScores(self.score, self.candidates, self.sensitivity / FINENESS, FINENESS)

    @property
    def gap(self) -> Gap:
        """Of scores rounded to 2**-20 of their sensitivity."""
        return Gap("score", _least_share(self.candidates, self.weights), self.sensitivity / FINENESS)

    def assumed(self, terms: Terms) -> str:
        """The caller's word; where rows are replaced a step may also filter the new one, or only the old one."""
        rows = "one row more or fewer" if terms.unit.add_remove else "one row more, fewer or changed"
        return f"{rows} moves each score by at most {show(self.sensitivity)}"

    def notes(self, error: Guarantee) -> tuple[str, ...]:
        """What a trial of the function on made-up rows showed."""
        return self.tried

    def chosen(self, picks: Noisy) -> Hashable:
        """Return the candidate itself."""
        return self.candidates[picks[0]]


def _least_share(candidates: tuple[Hashable, ...], weights: Weights | None) -> float:
    return len(candidates) if weights is None else sum(weights) / min(weights)

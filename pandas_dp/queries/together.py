"""Prices of tables of counts whose answers will be reconciled: less noise is needed where tables tell of each other.

A `Design` finds how precise tables of the same rows have to be so that, made consistent, each errs by no more than is wanted.
The precision of a table is 1 / variance of a cell. By `Residuals` a cell of the consistent table S has the variance

    V_S = sum over U in S of prod (1 - 1/n) / (W_U N^2),    W_U = sum over tables t of precision_t / N_t,

which is convex in the precisions, and falls to V_S / k where all are k times as large.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from pandas_dp.aggregates.base import IN_ROWS, noise_of
from pandas_dp.aggregates.consistent import Columns, Floats, Noisy, Residuals, subsets
from pandas_dp.aggregates.count import Count
from pandas_dp.aggregates.uncertainty import LEVEL, percent
from pandas_dp.aggregates.weighted_noise import CellNoise, Law, half_width, in_deviations
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.core.privacy import Price, Sensitivity
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.queries.pricing import Choice, Put, up
from pandas_dp.release.count_tables import MOST_COLUMNS, factors_of, incomplete, parts_of, promised_of, question_of

MENDED = 12  # rounds in which all prices are raised until the exact law of each error is within what is wanted
BEYOND = 1.0005  # more than the missing share: prices are rounded
LEAST_SHARE = 1e-3  # of the largest price: what others tell enough of needs none at all
ROUNDING = 1 / 12  # variance of the rounding of Gaussian noise


@dataclass(frozen=True, eq=False)
class Together:
    """Tables of the same rows, by the same keys or bins wherever they share a column.

    Attributes
    ----------
    places : tuple of int
        Of their queries in the plan.
    puts : tuple of Put
    tables : tuple of tuple of int
        Numbers of the columns of each, rising.
    sizes : tuple of int
        Parts of each column.
    complete : tuple of str
        Columns of theirs that are promised to be complete.
    """

    places: tuple[int, ...]
    puts: tuple[Put, ...]
    tables: tuple[Columns, ...]
    sizes: tuple[int, ...]
    complete: tuple[str, ...]

    def laws(self, chosen: Sequence[Choice]) -> list[Law]:
        """Of the error of a cell of each table once they are consistent."""
        noisy = [
            Noisy(columns, np.zeros([self.sizes[j] for j in columns]), (), self._noise(put, one))
            for put, columns, one in zip(self.puts, self.tables, chosen, strict=True)
        ]
        fit = Residuals(tuple(noisy), self.sizes)
        return [fit.laws(place, columns)[0] for place, columns in enumerate(self.tables)]

    @property
    def levels(self) -> list[float]:
        """The probability that each query wants for its error."""
        return [put.offer.level if isinstance(put.offer, Accuracy) else LEVEL for put in self.puts]

    def half_widths(self, chosen: Sequence[Choice]) -> Floats:
        """Within which each cell stays then, with that probability."""
        return np.array([half_width(law, level) for law, level in zip(self.laws(chosen), self.levels, strict=True)])

    def _deviations(self, chosen: Sequence[Choice], exactly: bool) -> Floats:
        """The same in deviations, which depends on the weights of the noise."""
        laws = self.laws(chosen)
        if exactly:
            return self.half_widths(chosen) / np.sqrt([law.variance or 1.0 for law in laws])
        return np.array([in_deviations(law, level) for law, level in zip(laws, self.levels, strict=True)])

    def errors(self, chosen: Sequence[Choice]) -> list[str]:
        """The same in words."""
        told = zip(self.tables, self.half_widths(chosen).tolist(), self.levels, strict=True)
        return [  # a count of all rows is one number
            f"{'each ' if by else ''}± {IN_ROWS.text(half)} ({percent(level)}) reconciled" for by, half, level in told
        ]

    def cheapest(self, alone: Sequence[Choice], gaussian: bool) -> list[Choice] | None:
        """Prices at which the consistent tables err by no more than is wanted, of the least epsilons together, or rhos.

        Parameters
        ----------
        alone : sequence of Choice
            Prices at which each does so by itself, all with the same kind of noise where an error is wanted.
        gaussian : bool
            Whether that is Gaussian.

        Returns
        -------
        list of Choice or None
            None where they are not found: noise of few steps has errors that no price comes near to.
        """
        free = [
            place for place, put in enumerate(self.puts) if isinstance(put.offer, Accuracy) and alone[place].loss.parts
        ]
        if not free:
            return None
        fixed = [place for place in range(len(self.puts)) if place not in free]
        given = [(self.tables[place], _precision(self._noise(self.puts[place], alone[place]))) for place in fixed]
        design = Design.of([self.tables[place] for place in free], self.sizes, given)
        offers = [self.puts[place].offer for place in free]
        errors = np.array([float(one.within) for one in offers if isinstance(one, Accuracy)])
        chosen, amounts = list(alone), np.zeros(len(free))
        start = 2 * np.array([_precision(self._noise(self.puts[place], alone[place])) for place in free])
        for exactly in (False, True):  # the quantile that goes with prices, before prices are found that go with it
            most = (errors / self._deviations(chosen, exactly)[free]) ** 2
            start = np.maximum(start, 2 / most)
            amounts = self._amounts(design, most, start, free, gaussian)
            amounts = np.maximum(amounts, amounts.max() * LEAST_SHARE)
            chosen = self._at(alone, free, amounts, gaussian)
        for _ in range(MENDED):
            worst = float((self.half_widths(chosen)[free] / errors).max())
            if worst <= 1:
                return chosen
            amounts = amounts * (worst * BEYOND) ** (2 if gaussian else 1)
            chosen = self._at(alone, free, amounts, gaussian)
        return None

    def _amounts(self, design: Design, most: Floats, start: Floats, free: list[int], gaussian: bool) -> Floats:
        """The least rhos, or epsilons: the variance of discrete Laplace noise of scale s is 1 / (2 sinh^2(1 / 2s))."""
        moved = np.array([float(s.l2_squared if gaussian else s.l1) for s in (self._sensitivities[at] for at in free)])
        if gaussian:
            precisions = design.least(moved / 2, most, start)
            return moved / 2 / np.maximum(1 / precisions - ROUNDING, ROUNDING)
        return _epsilons(moved, concave_least(design, moved, most, start))

    def _at(self, alone: Sequence[Choice], free: list[int], amounts: Floats, gaussian: bool) -> list[Choice]:
        chosen = list(alone)
        for place, amount in zip(free, amounts.tolist(), strict=True):
            exact = up(Fraction(amount))
            chosen[place] = self.puts[place].at(Price(rho=exact) if gaussian else Price(exact))
        return chosen

    @cached_property
    def _sensitivities(self) -> list[Sensitivity]:
        return [put.look(Price(Fraction(1))).statistic.sensitivity(put.terms.unit) for put in self.puts]

    def _noise(self, put: Put, one: Choice) -> CellNoise:
        return CellNoise.of(noise_of(put.look(one.price)) if one.loss.parts else None)


def _precision(noise: CellNoise) -> float:
    return 1 / noise.variance if noise.variance else math.inf


def groups_of(puts: Sequence[Put], complete: Any) -> list[Together]:
    """The tables that `reconcile` makes consistent, two or more together.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For columns that cannot be promised to be complete.
    """
    tables = {place: by for place, put in enumerate(puts) if (by := _columns(put)) is not None}
    promised = promised_of(complete, list(tables.values()))
    by_rows: dict[Any, list[int]] = {}
    for place, by in tables.items():
        rows = puts[place].asked.steps, incomplete(by, promised, puts[place].table.schema.null_rules)
        by_rows.setdefault(rows, []).append(place)
    made = (_group(puts, {place: tables[place] for place in places}, promised) for places in by_rows.values())
    return [group for group in made if group is not None]


def _columns(put: Put) -> dict[str, Keys | Bins] | None:
    """The columns of a table of counts of rows, one of each unit; None of all else, and of what wants another noise.

    Nor of a number of rows that was typed, which counts none.
    """
    question = question_of(put.aggregate)
    wants = isinstance(put.offer, Accuracy) and put.offer.delta
    typed = put.terms.public_rows is not None and not put.terms.counted and isinstance(question, Count)
    alone = question is None or wants or typed or put.terms.unit.column is not None
    factors = None if question is None or alone else factors_of(question)
    names = {factor.column: factor for factor in factors or ()}
    return None if factors is None or len(names) < len(factors) or len(factors) > MOST_COLUMNS else names


def _group(puts: Sequence[Put], tables: dict[int, dict[str, Keys | Bins]], promised: Iterable[str]) -> Together | None:
    """Those with the same parts wherever they share a column: the others are asked as if they stood alone.

    So is a question that stands there already: at one price both would be one draw.
    """
    known: dict[str, frozenset[Any]] = {}
    asked = set[str]()
    kept: list[int] = []
    for place, by in tables.items():
        parts = {name: frozenset(parts_of(factor)) for name, factor in by.items()}
        question = repr(puts[place].aggregate)
        if question not in asked and all(known.get(name, own) == own for name, own in parts.items()):
            asked.add(question)
            known |= parts
            kept.append(place)
    if len(kept) < 2:
        return None
    numbers = {name: number for number, name in enumerate(known)}
    columns = tuple(tuple(sorted(numbers[name] for name in tables[place])) for place in kept)
    sizes = tuple(next(by[name].count for by in tables.values() if name in by) for name in known)
    complete = tuple(name for name in known if name in promised)
    return Together(tuple(kept), tuple(puts[at] for at in kept), columns, sizes, complete)


ENOUGH = 1e-7  # share of the least cost by which the search may miss it
SHARPER = 12.0  # times as much cost counts against the barrier in each round
NEWTON, ROUNDS = 60, 40  # steps of one round; rounds of tangents
SETTLED = 1e-5  # share by which a round has to lower a cost that is not convex


@dataclass(frozen=True, eq=False)
class Design:
    """Which residuals tables tell of, and which each consistent table is made of.

    Attributes
    ----------
    told : array
        1 / N of a table for each residual, 0 where it has not all columns; shape (tables, residuals).
    made : array
        What 1 / W of each residual adds to the variance of a cell of a table.
    given : array
        What tables tell whose precision is given, shape (residuals,).
    """

    told: Floats
    made: Floats
    given: Floats

    @classmethod
    def of(cls, tables: Sequence[Columns], sizes: Sequence[int], given: Sequence[tuple[Columns, float]] = ()) -> Design:
        """Of tables by their columns, which have so many parts; and of some with their precision."""
        every = [*tables, *(columns for columns, _ in given)]
        residuals = list(dict.fromkeys(part for columns in every for part in subsets(columns)))
        told, made = np.zeros((len(every), len(residuals))), np.zeros((len(every), len(residuals)))
        for place, columns in enumerate(every):
            for part in subsets(columns):
                beside = math.prod(sizes[j] for j in columns if j not in part)
                told[place, residuals.index(part)] = 1 / beside
                made[place, residuals.index(part)] = math.prod(1 - 1 / sizes[j] for j in part) / beside**2
        count = len(tables)
        known = np.zeros(len(residuals))
        for row, (_, precision) in zip(told[count:], given, strict=True):
            known[row > 0] += row[row > 0] * precision
        return cls(told[:count], made[:count], known)

    def variances(self, precisions: Floats) -> Floats:
        """Of a cell of each consistent table."""
        return self.made @ (1 / (precisions @ self.told + self.given))

    def least(self, costs: Floats, most: Floats, start: Floats) -> Floats:
        """Precisions of the least cost, a sum weighted by `costs`, with variances of at most `most`.

        By Newton's method with logarithms as barriers, from precisions that are large enough. With m barriers and the cost
        counted t times, its minimum costs m / t more than the least at most. (Boyd, Vandenberghe 2004.)
        """
        told: Floats = self.told * start[:, None]  # in multiples of the start
        x: Floats = np.ones(len(start))
        price: Floats = costs * start
        barriers = len(start) + len(most)
        times = barriers / float(price.sum())
        while True:
            for _ in range(NEWTON):
                weights = x @ told + self.given
                slack = most - self.made @ (1 / weights)
                falls = -(self.made / weights**2) @ told.T  # how variances fall in precisions
                bent = told * (2 * ((1 / slack) @ self.made) / weights**3)
                hessian = falls.T @ (falls / slack[:, None] ** 2) + bent @ told.T + np.diag(1 / x**2)
                slope = times * price + (1 / slack) @ falls - 1 / x
                step: Floats = -np.linalg.solve(hessian, slope).astype(np.float64)
                gain = -float(slope @ step)
                if gain < ENOUGH:
                    break
                x = self._moved(x, step, told, most, times * price, gain)
            if barriers / times < ENOUGH * float(price @ x):
                return x * start
            times *= SHARPER

    def _moved(self, x: Floats, step: Floats, told: Floats, most: Floats, price: Floats, gain: float) -> Floats:
        """As far along a step as lowers cost and barriers together."""

        def barrier(at: Floats) -> float:
            if at.min() <= 0:
                return math.inf
            slack = most - self.made @ (1 / (at @ told + self.given))
            return math.inf if slack.min() <= 0 else float(price @ at - np.log(slack).sum() - np.log(at).sum())

        before, length = barrier(x), 1.0
        while barrier(x + length * step) > before - length * gain / 4 and length > ENOUGH:
            length /= 2
        return x + length * step if length > ENOUGH else x


def _epsilons(moved: Floats, precisions: Floats) -> Floats:
    return 2 * moved * np.arcsinh(np.sqrt(precisions / 2))


def concave_least(design: Design, moved: Floats, most: Floats, start: Floats) -> Floats:
    """The same for the epsilons of Laplace noise, a sum of concave costs: none dearer than the start.

    Each round minimises the tangents, which lie above the costs: so no round is dearer than the one before.
    """
    found, known = start, float(_epsilons(moved, start).sum())
    for _ in range(ROUNDS):
        slope = moved / (np.sqrt(2 * found) * np.sqrt(1 + found / 2))
        trial = design.least(slope, most, start)
        now = float(_epsilons(moved, trial).sum())
        if now > known * (1 - SETTLED):
            break
        found, known = trial, now
    return found

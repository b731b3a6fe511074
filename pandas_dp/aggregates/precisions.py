"""How precise tables of the same rows have to be so that, made consistent, each errs by no more than is wanted.

The precision of a table is 1 / variance of a cell. By `Residuals` a cell of the consistent table S has the variance

    V_S = sum over U in S of prod (1 - 1/n) / (W_U N^2),    W_U = sum over tables t of precision_t / N_t,

which is convex in the precisions, and falls to V_S / k where all are k times as large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pandas_dp.aggregates.consistent import Columns, Floats, subsets

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
        found: Floats = self.made @ (1 / (precisions @ self.told + self.given))
        return found

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


def concave_least(
    design: Design, cost: Callable[[Floats], Floats], slope: Callable[[Floats], Floats], most: Floats, start: Floats
) -> Floats:
    """The same for a sum of concave costs, such as the epsilons of Laplace noise: none dearer than the start.

    Each round minimises the tangents, which lie above the costs: so no round is dearer than the one before.
    """
    found, known = start, float(cost(start).sum())
    for _ in range(ROUNDS):
        trial = design.least(slope(found), most, start)
        now = float(cost(trial).sum())
        if now > known * (1 - SETTLED):
            break
        found, known = trial, now
    return found

"""The words everything else is written in: unit, neighbouring relation, sensitivity, privacy loss, price.

All of them are public facts: nothing in this module ever sees data.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal, Inexact
from enum import StrEnum
from fractions import Fraction

LARGEST_EPSILON = Fraction(10**6)
SMALLEST_EPSILON = Fraction(1, 10**9)
PERIODS = {"h": "hour", "D": "day", "W": "week", "M": "month", "Y": "year"}
# epsilon from which floats tell the divergence of Laplace noise from that of any pure mechanism
LEAST_OF_ITS_OWN = 1e-3


class NeighboringRelation(StrEnum):
    """Which two tables must look alike."""

    ADD_REMOVE = "add_remove"
    REPLACE_ONE = "replace_one"


@dataclass(frozen=True)
class PrivacyUnit:
    """Whose presence is hidden, and how much of it can count.

    Parameters
    ----------
    column : str or None
        The column that identifies the unit; None: every row is a unit of its own.
    rows : int
        At most this many rows of a unit count (k).
    groups : int
        At most this many released parts (bins, keys) hold rows of one unit (m).
    rows_per_group : int
        At most this many rows of a unit count in one part (c).
    relation : NeighboringRelation
        ``add_remove``: tables differ by the presence of one unit; ``replace_one``: by its content.
    periods : str or None
        What tells the period of a row, as the ledger has it; the unit is then what one unit does in one period, and all bounds
        are for each period by itself.
    """

    column: str | None = None
    rows: int = 1
    groups: int = 1
    rows_per_group: int = 1
    relation: NeighboringRelation = NeighboringRelation.ADD_REMOVE
    # not in the repr, which is in the keys of stored answers: these stay, and with periods the steps of each question have them
    periods: str | None = field(default=None, repr=False)

    @property
    def period(self) -> str:
        """What one period is called, an empty text where there is none."""
        return "" if self.periods is None else PERIODS[json.loads(self.periods)[0]]

    @property
    def add_remove(self) -> bool:
        """Whether neighbours differ by the presence of one unit."""
        return self.relation is NeighboringRelation.ADD_REMOVE

    @property
    def rows_in_parts(self) -> int:
        """Rows of one unit that can count in a partition: min(k, m c)."""
        return min(self.rows, self.groups * self.rows_per_group)

    @property
    def squared_rows_in_parts(self) -> int:
        """Largest sum over parts of (rows of one unit)^2, each part at most c rows, m parts, k rows in all.

        Filling parts to the brim maximises a sum of squares (it is convex), so with k < m c the worst unit
        fills floor(k/c) parts and puts the rest into one more.
        """
        c = min(self.rows_per_group, self.rows)
        full, rest = divmod(self.rows_in_parts, c)
        return full * c * c + rest * rest

    def __str__(self) -> str:
        """Say it in words."""
        where = f" in one {self.period}" if self.period else ""
        if self.column is None:
            return f"one row{where}"
        if self.groups == self.rows == self.rows_per_group:
            return f"all rows of one {self.column!r}{where} (uses at most {self.rows} of them)"
        inside = f"in at most {self.groups} groups, at most {self.rows_per_group} in each"
        return f"all rows of one {self.column!r}{where} (uses at most {self.rows} of them, {inside})"


@dataclass(frozen=True)
class Sensitivity:
    """How far one unit moves an exact integer result, in lattice units, already for this unit and relation.

    Attributes
    ----------
    l1, l2_squared, linf : int
        Bounds on the L1 norm, the squared L2 norm and the largest entry of the change.
    range : int or None
        Bound on the largest difference between the changes of two entries: `linf` where all entries move in one
        direction (all up or all down) between any two neighbours; None: nothing better than 2 linf is known.
    touched : int
        For results that consist of independent parts (blocks of groups): how many parts one unit can change.
    rising : bool
        Whether neighbours differ by the presence of one unit and no entry falls when it is added: the entries of all
        such results then move in one direction between two neighbours.
    """

    l1: int
    l2_squared: int
    linf: int
    range: int | None = None
    touched: int = 1
    rising: bool = False

    @property
    def score_range(self) -> int:
        """`range`, or what follows from `linf`."""
        return 2 * self.linf if self.range is None else self.range


@dataclass(frozen=True)
class PureLoss:
    """One pure epsilon-DP mechanism; ``bounded_range`` when it is also epsilon-bounded-range (exponential mechanism)."""

    epsilon: Fraction
    bounded_range: bool = False

    def renyi(self, order: Fraction) -> Fraction:
        """Upper bound of the Renyi divergence of the given order, rounded up.

        Every epsilon-DP mechanism is a post-processing of randomized response, whose divergence of order a is
        log1p(2 sinh(a e/2) sinh((a-1) e/2) / cosh(e/2)) / (a-1), never above e. A bounded-range mechanism is
        moreover (e^2/8)-zCDP (Dong, Durfee, Rogers 2020), so a e^2/8 bounds it too.
        """
        e, a = float(self.epsilon), float(order)
        if a * e > 600:  # sinh would overflow; epsilon itself is a bound
            bound = self.epsilon
        else:
            inner = 2 * math.sinh(a * e / 2) * math.sinh((a - 1) * e / 2) / math.cosh(e / 2)
            bound = min(self.epsilon, round_up(math.log1p(inner) / (a - 1)))
        if self.bounded_range:
            bound = min(bound, order * self.epsilon**2 / 8)
        return bound

    @property
    def rho(self) -> Fraction:
        """Upper bound of the zCDP parameter: e tanh(e/2), or e^2/8 for bounded range if smaller."""
        e = float(self.epsilon)
        bound = round_up(e * math.tanh(e / 2))
        return min(bound, self.epsilon**2 / 8) if self.bounded_range else bound


@dataclass(frozen=True)
class LaplaceLoss(PureLoss):
    """Discrete Laplace noise by its own law, P(z) proportional to exp(-|z| epsilon / steps), for shifts of up to `steps`.

    Notes
    -----
    With p = exp(-epsilon / steps) and w = p^(2 a - 1) the divergence of order a of a shift by all steps is

        ln( (e^((a-1) epsilon) (1 + (1 - p) w (1 - w^(steps-1)) / (1 - w)) + e^(-a epsilon)) / (1 + p) ) / (a - 1),

    the sums over z <= 0, z >= steps and between; its limit at a = 1, the mean loss, is
    epsilon - (epsilon / steps) (1 - e^(-epsilon)) / sinh(epsilon / steps), and the divergence is at most a times that.
    Smaller shifts, and shifts split among coordinates, diverge less. For one step both are those of randomized response,
    for very many those of continuous Laplace noise. Floats lose digits below epsilon = 1/1000, where the bound of any pure
    mechanism is as good.
    """

    steps: int = 1

    def renyi(self, order: Fraction) -> Fraction:
        """Upper bound of the Renyi divergence of the given order, rounded up."""
        general, e, a = super().renyi(order), float(self.epsilon), float(order)
        if not e >= LEAST_OF_ITS_OWN or a * e > 600:
            return general
        step = e / self.steps
        rest = -math.expm1(-(2 * a - 1) * step)  # 1 - w
        between = -math.expm1(-step) * (1 - rest) * -math.expm1(-(2 * a - 1) * step * (self.steps - 1)) / rest
        total = (math.exp((a - 1) * e) * (1 + between) + math.exp(-a * e)) / (1 + math.exp(-step))
        slack = 1e-15 * (4 + a * e)  # of the logarithm: exponentials carry the rounding of their arguments
        return min(general, round_up((math.log(total) + slack) / (a - 1)))

    @property
    def rho(self) -> Fraction:
        """Upper bound of the zCDP parameter, rounded up."""
        general, e = super().rho, float(self.epsilon)
        if not e >= LEAST_OF_ITS_OWN or e > 600:
            return general
        step = e / self.steps
        return min(general, round_up(e + math.expm1(-e) * (step / math.sinh(step)), 1e-9))


@dataclass(frozen=True)
class GaussianLoss:
    """One Gaussian mechanism on integers with discrete noise: exactly rho-zCDP, no finite epsilon."""

    rho: Fraction

    @property
    def epsilon(self) -> None:
        """No finite pure epsilon."""
        return None

    def renyi(self, order: Fraction) -> Fraction:
        """Renyi divergence of the given order: order * rho (Canonne, Kamath, Steinke 2020, Thm 4)."""
        return order * self.rho


@dataclass(frozen=True)
class PrivacyLoss:
    """What one release costs: the mechanisms it is composed of, each with its own parameter and how often it is used.

    Losses add by ``+`` (adaptive sequential composition); ``times`` is the only place where parallel parts
    are multiplied. Accountants read ``epsilon``, ``rho``, ``renyi`` and ``delta``.
    """

    parts: tuple[tuple[PureLoss | GaussianLoss, int], ...] = ()
    delta: Fraction = field(default=Fraction(0))

    @classmethod
    def pure(cls, epsilon: Fraction, bounded_range: bool = False) -> PrivacyLoss:
        """Loss of one pure epsilon-DP mechanism."""
        return cls(((PureLoss(epsilon, bounded_range), 1),))

    @classmethod
    def gaussian(cls, rho: Fraction) -> PrivacyLoss:
        """Loss of one discrete Gaussian release."""
        return cls(((GaussianLoss(rho), 1),))

    @property
    def epsilon(self) -> Fraction | None:
        """Sum of the pure epsilons; None when a part has no finite one."""
        total = Fraction(0)
        for part, times in self.parts:
            if part.epsilon is None:
                return None
            total += times * part.epsilon
        return total

    @property
    def rho(self) -> Fraction:
        """Sum of the zCDP parameters, rounded up."""
        return sum((times * part.rho for part, times in self.parts), Fraction(0))

    def renyi(self, order: Fraction) -> Fraction:
        """Sum of the Renyi divergences of one order, rounded up."""
        return sum((times * part.renyi(order) for part, times in self.parts), Fraction(0))

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        """Adaptive sequential composition; a part like the last one only counts, so that long sums stay short."""
        parts, more = self.parts, other.parts
        if not parts and not self.delta:
            return other
        if parts and len(more) == 1 and parts[-1][0] == more[0][0]:
            parts, more = parts[:-1], ((more[0][0], parts[-1][1] + more[0][1]),)
        return PrivacyLoss(parts + more, self.delta + other.delta)

    def times(self, parts: int) -> PrivacyLoss:
        """Loss when one unit can touch `parts` disjoint parts, each answered at this loss."""
        return PrivacyLoss(tuple((part, times * parts) for part, times in self.parts), self.delta * parts)


@dataclass(frozen=True)
class Price:
    """What the caller offers for one query: epsilon, or (epsilon, delta), or rho.

    ``epsilon`` alone buys pure mechanisms; ``epsilon`` with ``delta``, or ``rho``, buys Gaussian noise where the
    query can use it.
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @property
    def gaussian(self) -> bool:
        """Whether Gaussian noise is asked for."""
        return self.rho is not None or bool(self.delta)

    def share(self, weight: Fraction) -> Price:
        """The part of this price that a weight in (0, 1] buys."""
        epsilon, rho = (None if of is None else of * weight for of in (self.epsilon, self.rho))
        return Price(epsilon, self.delta * weight, rho)

    def __str__(self) -> str:
        """Say it as a user would type it."""
        if self.rho is not None:
            return f"rho={show(self.rho)}"
        return f"epsilon={show(self.epsilon or Fraction(0))}" + (f", delta={show(self.delta)}" if self.delta else "")


def round_up(x: float, relative: float = 1e-12) -> Fraction:
    """A rational at least the true value of a float formula whose relative error is below `relative`."""
    return Fraction(math.nextafter(x * (1 + relative), math.inf))


def show(x: Fraction, rounding: str = ROUND_CEILING) -> str:
    """Write a rational as an exact decimal (a small one as 1e-6) if it has one, else as a fraction.

    Of more digits than a float has, 12 are kept, rounded up where nothing else is said: no price is told smaller than it is.
    """
    if x.denominator == 1 or pow(10, x.denominator.bit_length(), x.denominator):
        return str(x)
    exact, number = Context(prec=17), (Decimal(x.numerator), Decimal(x.denominator))
    told = exact.divide(*number)
    if exact.flags[Inexact]:
        told = Context(prec=12, rounding=rounding).divide(*number)
    return f"{exact.normalize(told):{'f' if abs(x) >= Fraction(1, 10**4) else 'e'}}"
